"""The log steps of the start: metadata, offsets/N, commits/C, number of sources, offsets/N-1. All are read
before any batch is picked up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.fresh_start import FROM_SCRATCH, from_scratch, what_blocks_batch_zero
from core.analysis.forecast.model import EXACT, RUN_AGAIN, UNKNOWN, DataEffect, Risk
from core.analysis.forecast.pinned_values import PARTITIONS, check_pinned_values
from core.analysis.forecast.step_verdict import Verdict, failed, first_line, unread, version_number
from core.analysis.forecast.upgrade import check_named_sources
from core.analysis.forecast.versions import V40, V41, V42, V43, Version
from core.checkpoint.logs import java_uuid_trouble
from core.checkpoint.model import CommitEntry, OffsetEntry
from core.checkpoint.state import state_inventory
from core.messages import say
from core.sparklogs.evidence import Certainty, Evidence, Problem
from core.sparklogs.json_text import first_value, has_control_character, parse_json
from core.sparklogs.versioned import split_lines

_BAD_IDS = {
    "too_long": "metadata_long_id",
    "no_groups": "metadata_bad_id",
    "no_number": "metadata_id_no_number",
}
FORMAT_CONF = "spark.sql.streaming.stateStore.checkpointFormatVersion"


def highest_offset_version(version: Version) -> int:
    """The newest offset log version that this Spark reads."""
    return 2 if version >= V42 else 1


def highest_commit_version(version: Version) -> int:
    """The newest commit log version that this Spark reads. 4.0 and 4.1 read exactly the one of the session's
    state format (default 1)."""
    return 3 if version >= V42 else 1


def check_metadata(s: RestartContext) -> Verdict:
    """``metadata``: read inside ``start()``, before any log file."""
    problem = s.checkpoint.metadata_problem
    if problem is not None and problem.is_read_failure:
        return unread(problem)
    if problem is not None:
        why = say("forecast_steps.metadata_unreadable", clause=problem.clause)
        query_id = s.checkpoint.query_id or _id_as_java_reads_it(problem) or first_line(problem)
        refused = java_uuid_trouble(query_id)
        details = {"id": query_id}
        if refused is not None:
            details |= {"at": str(refused.at), "group": refused.group}
        return failed(
            s, _metadata_error(s, problem), "METADATA_UNREADABLE", why, problem.evidence, details=details
        )
    if s.checkpoint.query_id is not None:
        return Verdict(evidence=(Evidence("metadata", 1),))
    if s.n is None and s.c is None:
        return _new_metadata(s, Verdict(note=say("forecast_steps.no_metadata_and_no_logs")))
    gone = Evidence("metadata")
    if s.version >= V42:
        why = say("forecast_steps.metadata_missing")
        return failed(s, "metadata_missing", "METADATA_MISSING", why, gone)
    # A log that knows no query skips the planned batch as before.
    is_again = s.runs_again and not (s.sink is not None and s.sink.skips_any_query)
    if is_again:
        sentence = say("forecast_steps.metadata_missing_risk", spark=s.version)
        risk = Risk("METADATA_MISSING", sentence, (gone,), DataEffect(skip="duplicates").may())
    else:
        sentence = say("forecast_steps.metadata_missing_unused", spark=s.version)
        risk = Risk("METADATA_MISSING", sentence, (gone,), EXACT, weight="attention")
    note = say("forecast_steps.metadata_replaced", spark=s.version)
    return _new_metadata(s, Verdict(evidence=(gone,), note=note, risks=(risk,)))


def _new_metadata(s: RestartContext, verdict: Verdict) -> Verdict:
    """Spark writes ``metadata``; the hidden checksum file of the lost one stops that (local file system only,
    seen with 3.5)."""
    path = ".metadata.crc"
    if not s.is_local or path not in {item.path for item in s.checkpoint.leftovers}:
        return verdict
    why = say("forecast_steps.stale_metadata_checksum", path=path)
    details = {"directory": "metadata"}
    return failed(s, "stale_crc", "STALE_CHECKSUM_FILE", why, Evidence(path), details=details)


def _id_as_java_reads_it(problem: Problem) -> str | None:
    """The id in a ``metadata`` that is not UTF-8: its reader puts a replacement character for such a byte,
    which no other log file's reader does."""
    if problem.condition != "not_text":
        return None
    try:
        value = parse_json(first_value(problem.raw.decode("utf-8", "replace")))
    except ValueError:
        return None
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def _metadata_error(s: RestartContext, problem: Problem) -> str:
    if problem.condition in ("empty", "truncated"):
        return {"empty": "metadata_empty", "truncated": "json_cut"}[problem.condition]
    query_id = s.checkpoint.query_id or _id_as_java_reads_it(problem)
    if query_id is not None:
        refused = java_uuid_trouble(query_id)
        return "metadata_bad_id" if refused is None else _BAD_IDS[refused.what]
    try:
        value = parse_json(first_value(problem.raw.decode("utf-8", "replace")))
    except ValueError:
        return "json_bad"
    if value is None:
        return "metadata_null"
    has_null = isinstance(value, dict) and "id" in value and value["id"] is None
    return "metadata_null_id" if has_null else "metadata_without_id"


def check_newest_offset(s: RestartContext) -> Verdict:
    """``offsets/N``, or what happens when there is none."""
    if s.n is None:
        return _no_offsets(s)
    entry = s.offset(s.n)
    if isinstance(entry, Problem):
        return _unreadable(s, entry, "offset")
    if entry is None:
        return _went_away(s.checkpoint.offset_files[s.n].path)
    return _readable_offset(s, entry)


def _readable_offset(s: RestartContext, entry: OffsetEntry) -> Verdict:
    path = entry.evidence.path
    highest = highest_offset_version(s.version)
    if entry.format_version > highest:
        why = say(
            "forecast_steps.log_version",
            path=path,
            version=entry.format_version,
            spark=s.version,
            highest=highest,
        )
        details = {"highest": highest, "version": entry.format_version}
        return failed(s, "offset_version", "LOG_VERSION_UNKNOWN", why, Evidence(path, 1), details=details)
    if _has_no_metadata(s, entry):
        is_compared = _is_after_the_newest_commit(s) and s.version >= V42
        if s.runs_again and not is_compared:
            return _run_without_metadata(s, entry)
        return _no_metadata(s, entry, "offset_no_metadata_compared" if is_compared else "offset_no_metadata")
    compared = _repartition(s, entry) if _is_after_the_newest_commit(s) and s.version >= V42 else None
    return compared or check_pinned_values(s, entry) or Verdict(evidence=(Evidence(path, 1),))


def _has_no_metadata(s: RestartContext, entry: OffsetEntry) -> bool:
    """Whether the metadata line is empty; that of continuous processing always is."""
    return not split_lines(entry.raw)[1].strip() and not s.checkpoint.is_continuous


def _no_metadata(s: RestartContext, entry: OffsetEntry, error: str) -> Verdict:
    path, batch = entry.evidence.path, {"batch": entry.batch_id}
    why = say("forecast_steps.empty_metadata_line", path=path)
    return failed(s, error, "LOG_FILE_UNREADABLE", why, Evidence(path, 2), details=batch)


def _run_without_metadata(s: RestartContext, entry: OffsetEntry) -> Verdict:
    """The pending batch is run, and its watermark is asked for when the sink has its rows (seen with 3.5 and
    4.0, and with 4.3 where there is no commit)."""
    verdict = _no_metadata(s, entry, "offset_no_metadata_pending")
    return replace(verdict, fails_at="batch", delivered=RUN_AGAIN, then=say("forecast.then_each_start"))


def _is_after_the_newest_commit(s: RestartContext) -> bool:
    """Whether Spark 4.2 and newer compare offsets/N with offsets/N-1 for a repartition, before anything else
    asks for offsets/N-1: with a commit, and a batch N after it (seen with 4.3)."""
    return s.n is not None and s.c is not None and s.c < s.n


def _repartition(s: RestartContext, entry: OffsetEntry) -> Verdict | None:
    """offsets/N pins another number of state partitions than the entry before: all that Spark looks at when
    it calls a pending batch a repartition, before it looks at the number itself (seen with 4.3)."""
    before, at = s.offset_entry(s.previous), Evidence(entry.evidence.path, 2)
    was = before.conf.get(PARTITIONS) if before is not None else None
    now = entry.conf.get(PARTITIONS)
    if was is None or now is None or was == now:
        return None
    if not re.fullmatch(r"[+-]?[0-9]+", now):
        why = say("forecast_steps.value_refused", at=str(at), key=PARTITIONS, value=now[:60])
        return failed(s, "partitions_no_number", "SETTINGS_CHANGED", why, at, details={"value": now})
    why = say("forecast_steps.repartition", path=entry.evidence.path)
    last = {"batch": s.n, "committed": s.c}
    return failed(s, "unfinished_repartition", "UNFINISHED_REPARTITION", why, at, details=last)


def _no_offsets(s: RestartContext) -> Verdict:
    if s.c is not None:
        return _only_commits(s, s.c)
    blocker = what_blocks_batch_zero(s)
    if blocker is not None and s.version >= V41:
        why = say("forecast_steps.not_empty", directory=blocker)
        details = {"directory": f"{s.location}/{blocker}"}
        return failed(
            s, "location_not_empty", "OLD_FILES_BEFORE_BATCH_0", why, Evidence(blocker), details=details
        )
    return from_scratch(s)


def _only_commits(s: RestartContext, newest: int) -> Verdict:
    ids = sorted(s.checkpoint.commit_files)
    why = say("forecast_steps.only_commits", ids=ids)
    evidence = (Evidence("offsets"), Evidence(s.checkpoint.commit_files[newest].path))
    if s.version >= V41:
        details = {"directory": f"{s.location}/commits"}
        return failed(s, "no_offsets_but_commits", "OFFSETS_LOST", why, *evidence, details=details)
    if 0 in s.checkpoint.commit_files:
        delivered = DataEffect("duplicates", "unknown", "exact")
        commit = s.commit_entry(s.c)
        has_watermark = commit is not None and bool(commit.next_watermark_ms)
        if s.is_stateful or has_watermark:  # the first batch of a stateful query may hand out nothing
            delivered = delivered.may()
        verdict = failed(
            s, "no_offsets_but_commits", "OFFSETS_LOST", why, *evidence, fails_at="batch", delivered=delivered
        )
        s.from_scratch = True
        return verdict
    risk = Risk(
        "OFFSETS_LOST",
        say("forecast_steps.only_commits_risk", ids=ids),
        evidence,
        FROM_SCRATCH,
    )
    return Verdict(
        evidence=evidence, note=say("forecast_steps.scratch"), risks=(risk,), starts_from_scratch=True
    )


def check_newest_commit(s: RestartContext) -> Verdict:
    """``commits/C``: the highest one only."""
    if s.c is None:
        return Verdict(evidence=(Evidence("commits"),), note=say("forecast_steps.no_commit"))
    entry = s.commit(s.c)
    if isinstance(entry, Problem):
        return _unreadable(s, entry, "commit")
    if entry is None:
        return _went_away(s.checkpoint.commit_files[s.c].path)
    return _readable_commit(s, entry)


def _readable_commit(s: RestartContext, entry: CommitEntry) -> Verdict:
    highest, at = highest_commit_version(s.version), Evidence(entry.evidence.path, 1)
    if entry.format_version == 3 <= highest and not entry.sink_metadata:
        why = say("forecast_steps.commit_3_without_sink", path=entry.evidence.path)
        return failed(s, "commit_without_sink", "LOG_FILE_UNREADABLE", why, Evidence(entry.evidence.path, 2))
    if V40 <= s.version < V42 and entry.format_version <= 2:
        return _exact_commit(s, entry, at)
    if entry.format_version <= highest:
        if entry.state_unique_ids and s.version < V43:
            note = say("forecast_steps.state_format", conf=FORMAT_CONF, spark=s.version)
            return Verdict(evidence=(at,), note=note, certainty="needs_input", not_checked=(note,))
        return Verdict(evidence=(at,))
    return _other_commit_version(s, entry, at, highest)


def _exact_commit(s: RestartContext, entry: CommitEntry, at: Evidence) -> Verdict:
    """4.0 and 4.1 read only commits of the version that is the session's state format, which the state files
    tell."""
    expected = _state_format(s, entry)
    if expected is not None and expected != entry.format_version:
        return _other_commit_version(s, entry, at, expected, "inferred")
    if entry.format_version == 1:
        return Verdict(evidence=(at,))
    note = say("forecast_steps.commit_format", conf=FORMAT_CONF, spark=s.version, path=entry.evidence.path)
    return Verdict(
        "cannot_be_judged", evidence=(at,), note=note, certainty="needs_input", not_checked=(note,)
    )


def _state_format(s: RestartContext, entry: CommitEntry) -> int | None:
    """The state format that the query was run with: whether its state files carry ids, else the version of
    the commit before."""
    if s.checkpoint.has_state and s.with_state:
        return max((op.format_version for op in state_inventory(s.checkpoint).operators), default=None)
    before = s.commit(entry.batch_id - 1) if entry.format_version > 1 else None
    return before.format_version if isinstance(before, CommitEntry) else None


def _other_commit_version(
    s: RestartContext, entry: CommitEntry, at: Evidence, readable: int, certainty: Certainty = "certain"
) -> Verdict:
    why = say(
        "forecast_steps.log_version_only" if V40 <= s.version < V42 else "forecast_steps.log_version",
        path=entry.evidence.path,
        version=entry.format_version,
        spark=s.version,
        highest=readable,
    )
    details = {"highest": readable, "version": entry.format_version}
    return failed(s, "commit_version", "LOG_VERSION_UNKNOWN", why, at, details=details, certainty=certainty)


def check_source_count(s: RestartContext) -> Verdict:
    """The number of source lines in offsets/N, and in N-1, against the query's number of sources (offset log
    version 1). Where Spark looks for a repartition, it asks for offsets/N-1 before (seen with 4.3)."""
    if _is_after_the_newest_commit(s) and s.version >= V42:
        earlier = check_previous_offset(s)
        if earlier.ok is False:
            return earlier
    refused = check_named_sources(s)
    if refused is not None:
        return refused
    entries = [e for e in (s.newest, s.offset_entry(s.previous)) if e is not None]
    if not entries:
        return Verdict("cannot_be_judged", note=say("forecast_steps.no_offsets"))
    newest = entries[0]
    unnamed = _names_of_another_query(s, newest)
    if unnamed is not None:
        return unnamed
    if any(entry.format_version >= 2 for entry in entries):
        return _named_sources(s, newest)
    asked = s.query.sources
    wanted, proof = (asked, None) if asked is not None else _assumed_count(s, entries)
    for entry in entries:
        if len(entry.sources) != wanted:
            path, count = entry.evidence.path, len(entry.sources)
            why = (
                say("forecast_steps.source_count", path=path, count=count, wanted=wanted)
                if proof is None
                else say(
                    "forecast_steps.source_count_log", path=path, count=count, other=proof, wanted=wanted
                )
            )
            details = {"in_log": count, "in_query": wanted}
            certainty: Certainty = "certain" if asked is not None and s.newest is not None else "inferred"
            return failed(
                s, "source_count", "SOURCE_COUNT", why, entry.evidence, details=details, certainty=certainty
            )
    note = "" if asked is not None else say("forecast_steps.sources_assumed", count=wanted)
    return Verdict(evidence=(newest.evidence,), note=note)


def _assumed_count(s: RestartContext, entries: Sequence[OffsetEntry]) -> tuple[int, str | None]:
    """How many sources the query has, and the file that says so when not every entry agrees.

    Spark never writes an entry with another number: it stops first. So an entry that differs was edited, and
    the one before the two that Spark compares decides; directories below ``sources/`` only raise the doubt.
    """
    counts = [len(entry.sources) for entry in entries]
    logs = sum(kind.has_own_log for kind in s.kinds.values())
    if not any(counts):
        # Commit files in the place of offset files have a metadata line and no source line.
        return max(1, len(s.source_directories)), "sources/"
    doubtful = len(set(counts)) > 1 or (logs == counts[0] and len(s.source_directories) != logs)
    if not doubtful:
        return counts[0] or counts[-1], None
    oldest = entries[-1].batch_id
    earlier = s.offset_entry(s.checkpoint.previous_offset_id(oldest))
    if earlier is not None and earlier.format_version == 1 and earlier.sources:
        return len(earlier.sources), earlier.evidence.path
    newest, other = entries[0], entries[-1]
    judge = newest if len(newest.sources) == len(s.source_directories) else other
    return len(judge.sources), judge.evidence.path


def _names_of_another_query(s: RestartContext, newest: OffsetEntry) -> Verdict | None:
    """Names in offsets/N although the logs of the file sources have numbers: a query whose sources have no
    names does not start with it (seen with 4.3)."""
    names = {line.key for line in newest.sources}
    directories = {path.removeprefix("sources/") for path in s.source_directories}
    if newest.format_version < 2 or not directories or any(key.isdecimal() for key in names):
        return None
    kinds = [s.kind(key) for key in names]
    if not names or not all(key.isdecimal() for key in directories) or not all(k.has_own_log for k in kinds):
        return None
    at = newest.evidence
    why = say("forecast_steps.names_of_another_query", path=at.path, names=sorted(names))
    found = (at, Evidence(s.source_directories[0]))
    return failed(s, "sources_not_named", "SOURCE_COUNT", why, *found, certainty="inferred")


def _named_sources(s: RestartContext, newest: OffsetEntry) -> Verdict:
    """Offset log version 2 knows sources by name: their number may change."""
    if s.query.sources is None or s.query.sources == len(newest.sources):
        note = say("forecast_steps.sources_named", count=len(newest.sources))
        return Verdict(evidence=(newest.evidence,), note=note)
    if s.query.sources < len(newest.sources):
        sentence = say("forecast_steps.source_dropped")
        effect = EXACT
    else:
        sentence = say("forecast_steps.source_added")
        effect = UNKNOWN
    risk = Risk("SOURCES_CHANGED", sentence, (newest.evidence,), effect)
    return Verdict(evidence=(newest.evidence,), note=say("forecast_steps.sources_change"), risks=(risk,))


def check_previous_offset(s: RestartContext) -> Verdict:
    """``offsets/N-1`` must be there and readable whenever N > 0, also when N is committed; continuous
    processing does without it (seen with 4.3)."""
    if not s.n:
        return Verdict("does_not_apply", note=say("forecast_steps.no_previous"))
    if s.checkpoint.is_continuous:
        return Verdict("does_not_apply", note=say("forecast_steps.previous_continuous"))
    previous = s.previous
    if previous is None or previous not in s.checkpoint.offset_files:
        missing = s.n - 1 if previous is None else previous
        is_compared = _is_after_the_newest_commit(s)
        error = "previous_missing_pending" if is_compared else "previous_missing_committed"
        why = say(
            "forecast_steps.previous_missing"
            if s.runs_again
            else "forecast_steps.previous_missing_committed",
            missing=missing,
            newest=s.n,
        )
        return failed(
            s, error, "OFFSET_GAP", why, Evidence(f"offsets/{missing}"), details={"previous": missing}
        )
    entry = s.offset(previous)
    if isinstance(entry, Problem):
        return _unreadable(s, entry, "offset")
    if entry is None:
        return _went_away(s.checkpoint.offset_files[previous].path)
    if entry.format_version > highest_offset_version(s.version):
        return _readable_offset(s, entry)
    if _is_after_the_newest_commit(s) and s.version >= V42 and _has_no_metadata(s, entry):
        return _no_metadata(s, entry, "previous_no_metadata")
    if s.checkpoint.is_async and previous != s.n - 1:
        note = say("forecast_steps.previous_async", missing=s.n - 1)
        open_end = say("forecast_steps.open_async")
        again = DataEffect(
            "duplicates", "unknown", "unknown"
        ).may()  # batches that ran and were not logged are planned again, cut differently
        return Verdict(
            evidence=(entry.evidence,), note=note, certainty="inferred", not_checked=(open_end,), data=again
        )
    return Verdict(evidence=(entry.evidence,))


def _unreadable(s: RestartContext, problem: Problem, log: str) -> Verdict:
    """A log file that is damaged, in this version's words; one that could not be read is not."""
    if problem.is_read_failure:
        return unread(problem)
    path, condition = problem.evidence.path, problem.condition
    why = say("forecast_steps.log_unreadable", path=path, clause=problem.clause)
    highest = highest_offset_version(s.version) if log == "offset" else highest_commit_version(s.version)
    details = {
        "path": path,
        "text": first_line(problem),
        "highest": highest,
        "version": version_number(problem),
        "log": f"{log}s",
        "file": f"{s.location}/{path}",
    }
    if condition == "not_an_id":
        batch = int(path.rsplit("/", 1)[-1])
        why = say("forecast_steps.log_name", path=path, batch_id=batch, log=f"{log}s")
        return failed(s, "log_name", "LOG_FILE_NAME", why, problem.evidence, details={**details, "id": batch})
    if condition == "unknown_version":
        return failed(s, f"{log}_version", "LOG_VERSION_UNKNOWN", why, problem.evidence, details=details)
    errors = {
        "empty": f"{log}_empty",
        "truncated": "json_cut",
        "bad_json": "json_bad",
        "no_version": "log_no_version",
        "not_text": "log_not_text",
        "bad_shape": "log_field",
    }
    key = errors.get(condition, "json_bad")
    line = problem.evidence.line or 1
    if condition == "bad_shape" and line > 2:
        key, details["text"] = "offset_no_name", _text_of(problem, line)
    if key == "json_bad" and has_control_character(problem.raw):
        key = "json_control"
    if log == "offset" and condition == "truncated" and problem.evidence.line is None:
        key = "offset_only_version"
    return failed(s, key, "LOG_FILE_UNREADABLE", why, problem.evidence, details=details)


def _text_of(problem: Problem, line: int) -> str:
    """A line of the file that has the problem; "" for an empty one at its end."""
    lines = split_lines(problem.raw.decode("utf-8", "replace"))
    return lines[line - 1][:60] if line <= len(lines) else ""


def _went_away(path: str) -> Verdict:
    return Verdict(
        "cannot_be_judged",
        evidence=(Evidence(path),),
        note=say("forecast_steps.log_removed"),
        certainty="needs_input",
    )
