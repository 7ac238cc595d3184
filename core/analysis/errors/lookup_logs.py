"""Looking an error up in metadata, offset log and commit log, and in the files that the text names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

from core.analysis.errors.lookup_context import Looking, batch_evidence, full_stop, number
from core.analysis.errors.model import Statement
from core.analysis.errors.particular import OF_CONTINUOUS
from core.checkpoint.model import CommitEntry, OffsetEntry
from core.checkpoint.state_names import plain_number
from core.messages import say
from core.sparklogs.evidence import Evidence, Problem
from core.sparklogs.names import batch_id_of

_SHOWN = 4


def look_metadata(look: Looking) -> Iterator[Statement]:
    """Is the file metadata there and readable?"""
    ck = look.ck
    evidence = (Evidence("metadata"),)
    is_subject = "METADATA" in look.main.name
    if ck.metadata_problem is not None:
        yield Statement(full_stop(ck.metadata_problem.reason), evidence, shows_fault=True)
    elif ck.query_id is None:
        yield Statement(say("errors_lookup.no_metadata"), evidence, shows_fault=True)
    elif look.meaning.in_files:
        yield Statement(
            say("errors_lookup.metadata_readable", query_id=ck.query_id),
            evidence,
            shows_fault=False if is_subject else None,
        )


def look_mode(look: Looking) -> Iterator[Statement]:
    """Whether the log is one of continuous processing, which no other trigger can use; or has the position
    that continuous processing did not read."""
    ck, newest = look.ck, look.newest
    if newest is None:
        return
    if look.main.name == "CONTINUOUS_ON_MICRO_BATCHES":
        position = look.value("position")
        if not ck.is_continuous and position in [source.raw for source in newest.sources]:
            said = say("errors_lookup.micro_batch_position", path=newest.evidence.path, position=position)
            yield Statement(said, (newest.evidence,), "inferred", shows_fault=True)
        return
    if not ck.is_continuous:
        return
    look.particular = OF_CONTINUOUS
    sentence = say("errors_lookup.continuous_log", path=newest.evidence.path)
    yield Statement(sentence, (newest.evidence,), "inferred", shows_fault=True)


def look_logs(look: Looking) -> Iterator[Statement]:
    """The log files that Spark reads at start: the newest offset, the one before it, the newest commit; and
    the batch that the error names."""
    ck = look.ck
    if not ck.offset_ids:
        if ck.commit_ids:
            sentence = say(
                "errors_lookup.no_offsets_but_commits",
                count=len(ck.commit_ids),
                first=ck.commit_ids[0],
                last=ck.commit_ids[-1],
            )
        else:
            sentence = say("errors_lookup.no_offsets_no_commits")
        yield Statement(
            sentence,
            (Evidence("offsets"), Evidence("commits")),
            shows_fault=bool(ck.commit_ids) or None,
        )
        return
    newest = ck.offset_ids[-1]
    named = number(look.value("batch", "previous", "batchId"))
    if look.says_missing:
        yield from _missing_before(look, newest, named)
        return
    faults = list(_unreadable(look, newest))
    yield from faults
    unread = {item.path for item in ck.not_read}
    if (
        not faults
        and not unread & {f"offsets/{newest}", f"offsets/{newest - 1}", f"commits/{ck.last_committed_batch}"}
        and look.main.name.startswith(("LOG_FILE", "MALFORMED", "INVALID_LOG"))
        and look.main.name != "LOG_FILE_NO_METADATA"
    ):
        names = [f"offsets/{newest}", *([f"offsets/{newest - 1}"] if newest - 1 in ck.offset_files else [])]
        names += [f"commits/{ck.last_committed_batch}"] if ck.last_committed_batch is not None else []
        evidence = tuple(Evidence(name) for name in names)
        yield Statement(say("errors_lookup.start_files_readable", names=names), evidence, shows_fault=False)
    last = ck.last_committed_batch
    if last is not None and last > newest:
        yield Statement(
            say("errors_lookup.commit_ahead", commit=last, newest=newest),
            (batch_evidence(ck, last, "commits"), batch_evidence(ck, newest)),
            shows_fault=True,
        )


def _missing_before(look: Looking, newest: int, named: int | None) -> Iterator[Statement]:
    ck = look.ck
    if ck.is_async:
        yield Statement(
            say("errors_lookup.async_gaps", why=ck.tracking.why, needed=newest - 1),
            (batch_evidence(ck, newest),),
            ck.tracking.certainty,
            shows_fault=True if newest - 1 not in ck.offset_files else None,
        )
        return
    wanted = newest - 1 if named is None else named
    if wanted < 0:
        return
    present = wanted in ck.offset_files
    if not present and wanted == newest - 1:
        yield Statement(
            say(
                "errors_lookup.previous_missing_committed"
                if newest in ck.commit_files
                else "errors_lookup.previous_missing_uncommitted",
                wanted=wanted,
                newest=newest,
            ),
            (Evidence(f"offsets/{wanted}"), batch_evidence(ck, newest)),
            shows_fault=True,
        )
    elif not present:
        yield Statement(
            say("errors_lookup.missing_not_needed", wanted=wanted, newest=newest, previous=newest - 1),
            (Evidence(f"offsets/{wanted}"),),
            shows_fault=False,
        )
    else:
        yield Statement(
            say("errors_lookup.is_there", path=f"offsets/{wanted}"),
            (batch_evidence(ck, wanted),),
            shows_fault=False,
        )


def _unreadable(look: Looking, newest: int) -> Iterator[Statement]:
    ck = look.ck
    commit = ck.last_committed_batch
    read_at_start = {
        f"offsets/{newest}",
        f"offsets/{newest - 1}",
        *([f"commits/{commit}"] if commit is not None else []),
    }
    entries: list[OffsetEntry | CommitEntry | Problem | None] = [ck.offset(newest), ck.offset(newest - 1)]
    entries += [ck.commit(commit)] if commit is not None else []
    problems = [entry for entry in entries if isinstance(entry, Problem)]
    problems += [p for p in ck.problems if p not in problems and p.evidence.path in read_at_start]
    look.not_checked += [problem.reason for problem in problems if problem.is_read_failure]
    for problem in (problem for problem in problems if not problem.is_read_failure):
        yield Statement(full_stop(problem.reason), (problem.evidence,), shows_fault=True)
    others = [
        p
        for p in ck.problems
        if p not in problems
        and not p.is_read_failure
        and p.evidence.path.startswith(("offsets/", "commits/"))
    ]
    if others:
        names = ", ".join(p.evidence.path for p in others[:_SHOWN])
        yield Statement(
            say("errors_lookup.older_unreadable", count=len(others), names=names),
            tuple(p.evidence for p in others[:_SHOWN]),
        )


def look_checksums(look: Looking) -> Iterator[Statement]:
    """Hidden checksum files whose log file is gone: they block the name."""
    found = False
    logs: tuple[Literal["offsets", "commits"], ...] = ("offsets", "commits")
    for log in logs:
        ids = sorted(look.ck.stale_checksums(log))
        if ids:
            found = True
            paths = [f"{log}/.{i}.crc" for i in ids]
            yield Statement(
                say("errors_lookup.stale_checksums", paths=paths, count=len(ids)),
                tuple(Evidence(path) for path in paths[:_SHOWN]),
                shows_fault=True,
            )
    if not found:
        yield Statement(say("errors_lookup.no_stale_checksums"))


def look_batch(look: Looking) -> Iterator[Statement]:
    """Where the batch that the error names stands in the logs."""
    ck, batch = look.ck, number(look.value("batchId", "batch"))
    if batch is None:
        return
    planned, committed = batch in ck.offset_files, batch in ck.commit_files
    evidence = tuple(
        batch_evidence(ck, batch, log)
        for log, there in (("offsets", planned), ("commits", committed))
        if there
    )
    if planned and committed:
        yield Statement(say("errors_lookup.batch_committed", batch=batch), evidence)
    elif planned:
        yield Statement(say("errors_lookup.batch_uncommitted", batch=batch), evidence)
    elif committed:
        yield Statement(say("errors_lookup.batch_without_offset", batch=batch), evidence)
    else:
        sentence = say("errors_lookup.batch_unknown", batch=batch)
        if ck.offset_ids:
            first, last = ck.offset_ids[0], ck.offset_ids[-1]
            sentence = say("errors_lookup.batch_unknown_range", batch=batch, first=first, last=last)
        yield Statement(sentence, (Evidence("offsets"), Evidence("commits")))


def look_pending(look: Looking) -> Iterator[Statement]:
    """The batch that a start runs again, and whether it is the one of the error."""
    ck = look.ck
    pending, last = ck.uncommitted_batch, ck.last_committed_batch
    if pending is not None:
        is_same = _planned_there(look, pending)
        yield Statement(
            say("errors_lookup.pending_same" if is_same else "errors_lookup.pending", batch=pending),
            (batch_evidence(ck, pending),),
        )
    elif last is not None:
        yield Statement(
            say("errors_lookup.all_committed", batch=last), (batch_evidence(ck, last, "commits"),)
        )


def _planned_there(look: Looking, batch: int) -> bool:
    """Whether the text's "Current Available Offsets" are those of the batch."""
    entry = look.ck.offset(batch)
    if not isinstance(entry, OffsetEntry):
        return False
    planned = [_parsed(source.raw) for source in entry.sources if source.raw is not None]
    stated = [_parsed(raw) for raw in look.text.offsets("Available")]
    return bool(stated) and all(offset is not None and offset in planned for offset in stated)


def _parsed(raw: str) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def look_named_files(look: Looking) -> Iterator[Statement]:
    """Each file of a checkpoint that the text names: is it here, and with how many bytes?"""
    for path in look.paths[:_SHOWN]:
        yield from _named_file(look, path)


def _named_file(look: Looking, path: str) -> Iterator[Statement]:
    ck = look.ck
    parent, _, name = path.rpartition("/")
    missing = look.says_missing
    if parent in ("offsets", "commits"):
        batch = batch_id_of(name)
        files = ck.offset_files if parent == "offsets" else ck.commit_files
        if batch is None:
            return
        entry = (ck.offset(batch) if parent == "offsets" else ck.commit(batch)) if batch in files else None
        if batch not in files:
            yield _not_there(path, missing)
        elif isinstance(entry, Problem) and entry.is_read_failure:
            look.not_checked.append(entry.reason)
        elif isinstance(entry, Problem):
            yield Statement(full_stop(entry.reason), (entry.evidence,), shows_fault=True)
        else:
            yield Statement(
                say("errors_lookup.file_readable", path=path, size_bytes=files[batch].size_bytes),
                (Evidence(path),),
                shows_fault=False,
            )
        return
    if not name or parent == "" or (parent.startswith("state") and plain_number(name) is not None):
        return  # a directory: the look-ups of state and sources say more
    listing = ck.door.list([parent])[parent]
    if not listing.exists and parent in ck.door.list([above := parent.rpartition("/")[0]])[above].directories:
        listing = ck.door.list([parent], known_there=True)[parent]
    info = listing.names().get(name)
    if info is None and path in listing.directories:
        return
    expected = number(look.value("expectedSize")) if path.endswith(".sst") else None
    evidence = (Evidence(path),)
    if info is None:
        yield _not_there(path, missing)
        return
    size_bytes = info.size_bytes
    if expected is not None and size_bytes == expected:
        sentence = say("errors_lookup.size_as_expected", path=path, size_bytes=size_bytes)
        yield Statement(sentence, evidence, shows_fault=False)
    elif expected is not None and size_bytes is not None:
        sentence = say("errors_lookup.size_unexpected", path=path, size_bytes=size_bytes, expected=expected)
        yield Statement(sentence, evidence, shows_fault=True)
    elif size_bytes == 0:
        yield Statement(say("errors_lookup.empty_file", path=path), evidence, shows_fault=True)
    else:
        sentence = say("errors_lookup.file_there", path=path, size_bytes=size_bytes)
        yield Statement(sentence, evidence, shows_fault=False if missing else None)


def _not_there(path: str, says_missing: bool) -> Statement:
    sentence = say("errors_lookup.not_there", path=path)
    return Statement(sentence, (Evidence(path),), shows_fault=True if says_missing else None)


def look_version(look: Looking) -> Iterator[Statement]:
    """Which Spark wrote the newest files, and the versions of both logs."""
    ck, writer = look.ck, look.ck.written_by
    versions = " to ".join(dict.fromkeys(v for v in (writer.at_least, writer.at_most) if v))
    if versions:
        sentence = say("errors_lookup.written_by", versions=versions, why=writer.why)
    else:
        sentence = say("errors_lookup.written_by_unknown", why=writer.why)
    yield Statement(sentence, certainty=writer.certainty)
    newest = look.newest
    commit = ck.commit(ck.last_committed_batch) if ck.last_committed_batch is not None else None
    entries = [entry for entry in (newest, commit) if isinstance(entry, OffsetEntry | CommitEntry)]
    known = [
        say("errors_lookup.log_version", path=entry.evidence.path, version=entry.format_version)
        for entry in entries
    ]
    if known:
        yield Statement(
            say("errors_lookup.log_versions", versions=known), tuple(entry.evidence for entry in entries)
        )


def look_async(look: Looking) -> Iterator[Statement]:
    """Whether the log is one of asynchronous progress tracking."""
    tracking = look.ck.tracking
    yield Statement(
        say(
            "errors_lookup.async_log" if tracking.mode == "async" else "errors_lookup.sync_log",
            why=tracking.why,
        ),
        (Evidence("offsets"),),
        tracking.certainty,
    )
