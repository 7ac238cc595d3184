"""Looking an error up in metadata, the offset log and the commit log, and in the files that the text names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

from core.analysis.errors.lookup_context import Looking, batch_evidence, be, full_stop, number
from core.analysis.errors.model import Statement
from core.checkpoint.model import CommitEntry, OffsetEntry
from core.checkpoint.state_names import plain_number
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
        yield Statement("There is no file metadata.", evidence, shows_fault=True)
    elif look.meaning.in_files:
        yield Statement(
            f"metadata can be read; the query's id is {ck.query_id}.",
            evidence,
            shows_fault=False if is_subject else None,
        )


def look_logs(look: Looking) -> Iterator[Statement]:
    """The log files that Spark reads at start: the newest offset, the one before it, the newest commit; and
    the batch that the error names."""
    ck = look.ck
    if not ck.offset_ids:
        commits = (
            f"commits/ has {len(ck.commit_ids):,} ({ck.commit_ids[0]} to {ck.commit_ids[-1]})"
            if ck.commit_ids
            else "commits/ has none either"
        )
        yield Statement(
            f"offsets/ has no batch; {commits}.",
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
    if (
        not faults
        and look.main.name.startswith(("LOG_FILE", "MALFORMED", "INVALID_LOG"))
        and look.main.name != "LOG_FILE_NO_METADATA"
    ):
        names = [f"offsets/{newest}", *([f"offsets/{newest - 1}"] if newest - 1 in ck.offset_files else [])]
        names += [f"commits/{ck.last_committed_batch}"] if ck.last_committed_batch is not None else []
        evidence = tuple(Evidence(name) for name in names)
        yield Statement(
            f"The files that a start reads can be read: {', '.join(names)}.", evidence, shows_fault=False
        )
    last = ck.last_committed_batch
    if last is not None and last > newest:
        yield Statement(
            f"The newest commit is {last} and the newest offset is {newest}: batches {newest} and later are"
            " run again, and their rows reach the sink again.",
            (batch_evidence(ck, last, "commits"), batch_evidence(ck, newest)),
            shows_fault=True,
        )


def _missing_before(look: Looking, newest: int, named: int | None) -> Iterator[Statement]:
    ck = look.ck
    if ck.is_async:
        yield Statement(
            f"The gaps in offsets/ are those of asynchronous progress tracking ({ck.tracking.why}); a start"
            f" without it needs offsets/{newest - 1}.",
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
        committed = "is committed" if newest in ck.commit_files else "has no commit"
        yield Statement(
            f"offsets/{wanted} is missing. The newest batch is {newest} and {committed}; Spark reads the"
            " entry before it at every start.",
            (Evidence(f"offsets/{wanted}"), batch_evidence(ck, newest)),
            shows_fault=True,
        )
    elif not present:
        yield Statement(
            f"offsets/{wanted} is missing, but the next start reads only offsets/{newest} and"
            f" offsets/{newest - 1}.",
            (Evidence(f"offsets/{wanted}"),),
            shows_fault=False,
        )
    else:
        yield Statement(f"offsets/{wanted} is there.", (batch_evidence(ck, wanted),), shows_fault=False)


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
    for problem in problems:
        yield Statement(full_stop(problem.reason), (problem.evidence,), shows_fault=True)
    others = [
        p for p in ck.problems if p not in problems and p.evidence.path.startswith(("offsets/", "commits/"))
    ]
    if others:
        names = ", ".join(p.evidence.path for p in others[:_SHOWN])
        yield Statement(
            f"{len(others)} older log file{'s' * (len(others) > 1)} cannot be read ({names}); the next start"
            f" does not read {'it' if len(others) == 1 else 'them'}.",
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
            shown = [f"{log}/.{i}.crc" for i in ids[:_SHOWN]]
            more = f" and {len(ids) - len(shown)} more" if len(ids) > len(shown) else ""
            yield Statement(
                f"{', '.join(shown)}{more} {be(len(ids))} there without the log file: Spark cannot write that"
                " name.",
                tuple(Evidence(path) for path in shown),
                shows_fault=True,
            )
    if not found:
        yield Statement(
            "Every checksum file in offsets/ and commits/ has its log file now. A start that failed so leaves"
            " the log file behind, so a left-over .crc file can have been the cause all the same; if the"
            " error comes back, look for a second query."
        )


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
        yield Statement(f"Batch {batch} is planned and committed.", evidence)
    elif planned:
        yield Statement(f"Batch {batch} is planned and not committed.", evidence)
    elif committed:
        yield Statement(f"Batch {batch} has a commit and no offset file.", evidence)
    else:
        known = f"; the logs go from {ck.offset_ids[0]} to {ck.offset_ids[-1]}" if ck.offset_ids else ""
        yield Statement(f"The logs have no batch {batch}{known}.", (Evidence("offsets"), Evidence("commits")))


def look_pending(look: Looking) -> Iterator[Statement]:
    """The batch that a start runs again, and whether it is the one of the error."""
    ck = look.ck
    pending, last = ck.uncommitted_batch, ck.last_committed_batch
    if pending is not None:
        same = (
            " It is the batch that was running when the error came." if _planned_there(look, pending) else ""
        )
        yield Statement(
            f"Batch {pending} has no commit: every start runs it again with the range planned in"
            f" offsets/{pending}.{same}",
            (batch_evidence(ck, pending),),
        )
    elif last is not None:
        yield Statement(
            f"Every planned batch is committed; the newest is {last}.", (batch_evidence(ck, last, "commits"),)
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
            yield Statement(f"{path} is not there.", (Evidence(path),), shows_fault=True if missing else None)
        elif isinstance(entry, Problem):
            yield Statement(full_stop(entry.reason), (entry.evidence,), shows_fault=True)
        else:
            yield Statement(
                f"{path} is there and can be read ({files[batch].size_bytes:,} bytes).",
                (Evidence(path),),
                shows_fault=False,
            )
        return
    if not name or parent == "" or (parent.startswith("state") and plain_number(name) is not None):
        return  # a directory: the look-ups of state and sources say more
    listing = ck.door.list([parent])[parent]
    info = listing.names().get(name)
    if info is None and path in listing.directories:
        return
    expected = number(look.value("expectedSize")) if path.endswith(".sst") else None
    if info is None:
        yield Statement(f"{path} is not there.", (Evidence(path),), shows_fault=True if missing else None)
    elif expected is not None:
        fits = "as Spark expects" if info.size_bytes == expected else f"and Spark expects {expected:,}"
        yield Statement(
            f"{path} has {info.size_bytes:,} bytes, {fits}.",
            (Evidence(path),),
            shows_fault=info.size_bytes != expected,
        )
    elif info.size_bytes == 0:
        yield Statement(f"{path} is there with 0 bytes.", (Evidence(path),), shows_fault=True)
    else:
        yield Statement(
            f"{path} is there ({info.size_bytes:,} bytes).",
            (Evidence(path),),
            shows_fault=False if missing else None,
        )


def look_version(look: Looking) -> Iterator[Statement]:
    """Which Spark wrote the newest files, and the versions of both logs."""
    ck, writer = look.ck, look.ck.written_by
    span = (
        " to ".join(dict.fromkeys(v for v in (writer.at_least, writer.at_most) if v))
        or "a version that the files do not tell"
    )
    yield Statement(
        f"The newest files were written by Spark {span} ({writer.why}).", certainty=writer.certainty
    )
    newest = look.newest
    commit = ck.commit(ck.last_committed_batch) if ck.last_committed_batch is not None else None
    versions = (
        [f"offsets/{newest.batch_id} has version {newest.format_version}"] if newest is not None else []
    )
    versions += (
        [f"commits/{commit.batch_id} has version {commit.format_version}"]
        if isinstance(commit, CommitEntry)
        else []
    )
    if versions:
        evidence = [newest.evidence] if newest is not None else []
        evidence += [commit.evidence] if isinstance(commit, CommitEntry) else []
        yield Statement(f"{' and '.join(versions)}.", tuple(evidence))


def look_async(look: Looking) -> Iterator[Statement]:
    """Whether the log is one of asynchronous progress tracking."""
    tracking = look.ck.tracking
    mode = "asynchronous" if tracking.mode == "async" else "ordinary"
    yield Statement(
        f"The log was written with {mode} progress tracking ({tracking.why}).",
        (Evidence("offsets"),),
        tracking.certainty,
    )
