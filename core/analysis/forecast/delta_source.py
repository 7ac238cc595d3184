"""A Delta source with the log of its table at hand: does the restart still find what it asks for, and what
waits behind the position?

Rules observed with Delta 4.4 on Spark 4.2. Spark asks for the range of batch N again when offsets N-1 and N
differ, also when batch N is committed, so the log is needed from the version of offset N-1. The next batch is
planned from offset N. ``core/connectors/delta/judgement.py`` judges both; this module says what Spark makes
of it.
"""

from __future__ import annotations

from dataclasses import replace

from core.analysis.forecast.context import Range, RestartContext
from core.analysis.forecast.delta_columns import new_columns
from core.analysis.forecast.delta_errors import delta_error, delta_failure
from core.analysis.forecast.delta_files import check_files_of_batch, check_files_that_wait
from core.analysis.forecast.delta_offsets import (
    edited_positions,
    index_beyond,
    position_of,
    refused_offset,
)
from core.analysis.forecast.model import LOSS, FailsAt, Risk, least_sure
from core.analysis.forecast.reader_options import is_set, number, option
from core.analysis.forecast.step_verdict import Verdict, behind_skipped
from core.checkpoint.model import SourceOffset
from core.checkpoint.sources.delta import TablePosition
from core.connectors.delta.judgement import (
    JudgedRange,
    is_same_table,
    judge_position,
    judge_range,
    trailing_version,
)
from core.connectors.delta.log import DeltaLog
from core.messages import say
from core.messages.words import spanned
from core.sparklogs.evidence import Certainty, Evidence

SCHEMA_CHANGES = ("RENAME COLUMN", "DROP COLUMNS")
PASSED_VERSIONS = 20  # so many versions before the position are looked at for what the query lets pass
REFILL_SECONDS = 60  # how far the clocks of two writers may differ
CLOSE_SECONDS = 1  # so much also clocks differ that are kept alike


def check_delta_range(s: RestartContext, part: Range, phase: FailsAt) -> Verdict:
    """The range of batch N asked again. ``ok`` False: Spark fails there. What follows from the offsets alone
    is judged without a table."""
    found = _asked_again(s, part, phase)
    question = new_columns(s, part) if found.ok is not False else None
    if question is None:
        return found
    return replace(found, certainty="needs_input", not_checked=(*found.not_checked, question))


def _asked_again(s: RestartContext, part: Range, phase: FailsAt) -> Verdict:
    refused = refused_offset(part, phase)
    if refused is not None:
        return refused
    log, start, end = s.connectors.tables.get(part.key), position_of(part.start), position_of(part.end)
    back = Verdict(risks=edited_positions(s, part))
    if log is None:
        return back
    if not log.can_rebuild(log.newest):
        return _not_contiguous(log, part)
    renamed = _renamed(s, part, log, end or start)
    if renamed is not None:
        return renamed
    if end is None:
        return back
    for position, line in ((end, part.end), (start, part.start)):
        if position is not None and (other := _other_table(log, line, position, phase)) is not None:
            return other  # the id is compared also where the offsets are equal and nothing is read
    if not part.differs:
        return back
    found = _range(s, part, log, start, end, phase)
    if found.ok is not False and s.hands_out:
        begin = start if part.start_text is not None else _first_position(s, part, end)
        seen = check_files_of_batch(s, part, log, begin, end)
        if seen.ok is False:
            return replace(seen, risks=(*found.risks, *back.risks))
        beyond = index_beyond(log, part.start)
        found = replace(
            found, risks=(*found.risks, *beyond), not_checked=(*found.not_checked, *seen.not_checked)
        )
    return replace(found, risks=(*found.risks, *back.risks))


def _first_position(s: RestartContext, part: Range, end: TablePosition) -> TablePosition | None:
    """Where batch 0 begins; None where only the code of the query tells."""
    if end.in_first_snapshot:
        return replace(end, index=-1)
    version = number(s, part.key, "startingVersion")
    return None if version is None else TablePosition(end.table_id, version, -1, False)


def _not_contiguous(log: DeltaLog, part: Range) -> Verdict:
    error = "not_contiguous"
    if log.gaps:
        first, last = log.gaps[-1]
        why = say(
            "forecast_delta.log_gap",
            missing=spanned(first, last, "version"),
            count=last - first + 1,
            url=log.url,
            key=part.key,
        )
    else:
        error = "truncated"
        why = say("forecast_delta.log_truncated", url=log.url, oldest=log.oldest, key=part.key)
    return delta_failure(delta_error(error), "DELTA_LOG_GAP", why, part.evidence, "start")


def _other_table(
    log: DeltaLog, line: SourceOffset | None, position: TablePosition, phase: FailsAt
) -> Verdict | None:
    if line is None or is_same_table(position, log) is not False:
        return None
    why = say(
        "forecast_delta.other_table",
        url=log.url,
        table_id=log.table_id,
        at=line.evidence,
        read_id=position.table_id,
    )
    return delta_failure(
        delta_error("other_table", now=log.table_id), "DELTA_TABLE_DIFFERS", why, (line.evidence,), phase
    )


def _range(
    s: RestartContext,
    part: Range,
    log: DeltaLog,
    start: TablePosition | None,
    end: TablePosition,
    phase: FailsAt,
) -> Verdict:
    """The range of batch N as judged. Batch 0 (``start`` None) begins where today's start option says, or at
    the snapshot before its end (also when it is committed).

    failOnDataLoss=false forgives holes, as long as the end of the range, or the version of the position, is
    still there.
    """
    starting_version = number(s, part.key, "startingVersion") if start is None else None
    judged = judge_range(log, start, end, starting_version)
    if judged.state == "start_gone":
        why = say(
            "forecast_delta.start_gone",
            key=part.key,
            first=judged.first,
            url=log.url,
            oldest=log.oldest,
        )
        error = delta_error("version_not_found", version=judged.first, oldest=log.oldest, newest=log.newest)
        return delta_failure(error, "DELTA_LOG_CLEANED", why, part.evidence, phase)
    if judged.state == "snapshot_gone":
        if start is not None:
            return _snapshot_gone(log, part, start.version, phase)
        return _first_snapshot_gone(log, part, judged, end, phase)
    hole = judged.hole
    if hole is not None and hole.next_one is not None and s.query.stops_on_loss(part.key):
        why = say(
            "forecast_delta.range_cleaned",
            n=_batch(part),
            url=log.url,
            first=hole.first,
            next_one=hole.next_one,
        )
        return _cleaned(part, hole.first, hole.next_one, phase, why)
    if judged.is_end_missing:
        return _end_missing(log, part, judged, phase)
    if start is None and starting_version is None:
        return Verdict(not_checked=_start_option_not_known(s, part, log))
    if judged.lost is None or not s.runs_again:
        return Verdict()
    first, last = judged.lost
    sentence = say(
        "forecast_delta.rows_skipped_by_batch",
        versions=spanned(first, last, "version"),
        count=last - first + 1,
        key=part.key,
        n=s.n,
    )
    return Verdict(risks=(Risk("DELTA_ROWS_SKIPPED", sentence, part.evidence, LOSS),))


def _start_option_not_known(s: RestartContext, part: Range, log: DeltaLog) -> tuple[str, ...]:
    if s.runs_again:
        return (say("forecast_delta.start_option_decides", key=part.key),)
    if log.oldest:
        return (say("forecast_delta.start_option_may_fail", key=part.key, oldest=log.oldest),)
    return ()


def _first_snapshot_gone(
    log: DeltaLog, part: Range, judged: JudgedRange, end: TablePosition, phase: FailsAt
) -> Verdict:
    values = {"key": part.key, "version": judged.snapshot, "url": log.url, "oldest": log.oldest}
    why = (
        say("forecast_delta.first_snapshot_gone", **values)
        if end.in_first_snapshot
        else say("forecast_delta.first_snapshot_gone_without_option", **values)
    )
    certainty: Certainty = "certain" if end.in_first_snapshot else "inferred"
    return delta_failure(
        delta_error("snapshot_gone"), "DELTA_SNAPSHOT_GONE", why, part.evidence, phase, certainty
    )


def _snapshot_gone(log: DeltaLog, part: Range, version: int, phase: FailsAt) -> Verdict:
    why = say("forecast_delta.snapshot_gone", key=part.key, version=version, url=log.url, oldest=log.oldest)
    return delta_failure(delta_error("snapshot_gone"), "DELTA_SNAPSHOT_GONE", why, part.evidence, phase)


def _end_missing(log: DeltaLog, part: Range, judged: JudgedRange, phase: FailsAt) -> Verdict:
    error = delta_error("trailing_missing", last=judged.last, after=judged.seen)
    if judged.last > log.newest:
        why = say(
            "forecast_delta.range_beyond_table",
            at=part.evidence[0],
            last=judged.last,
            url=log.url,
            newest=log.newest,
        )
        return delta_failure(error, "DELTA_TABLE_OLDER", why, part.evidence, phase)
    why = say(
        "forecast_delta.end_of_range_gone",
        url=log.url,
        oldest=log.oldest,
        n=_batch(part),
        versions=spanned(judged.seen + 1, judged.last, "version"),
    )
    return delta_failure(error, "DELTA_LOG_CLEANED", why, part.evidence, phase)


def _batch(part: Range) -> str:
    return part.end.evidence.path.rsplit("/", 1)[-1] if part.end is not None else "N"


def _cleaned(part: Range, first: int, next_one: int, phase: FailsAt, why: str) -> Verdict:
    error = delta_error("log_cleaned", first=first, found=next_one)
    return delta_failure(error, "DELTA_LOG_CLEANED", why, part.evidence, phase)


def _renamed(s: RestartContext, part: Range, log: DeltaLog, position: TablePosition | None) -> Verdict | None:
    """A column that was renamed or dropped (column mapping) after the position stops every start, unless the
    schema is tracked."""
    if (
        position is None
        or log.table_id != position.table_id
        or option(s, part.key, "schemaTrackingLocation")
        or option(s, part.key, "schemaLocation")
    ):
        return None
    for commit in log.commits(range(position.version, log.newest + 1)).commits[::-1]:
        if commit.operation in SCHEMA_CHANGES and commit.metadata_changed:
            if _tracks_schema(s):
                return None
            why = say(
                "forecast_delta.schema_change",
                version=commit.version,
                key=part.key,
                operation=commit.operation,
            )
            return delta_failure(
                delta_error("schema_change"), "DELTA_SCHEMA_WAITS", why, part.evidence, "start"
            )
    return None


def _tracks_schema(s: RestartContext) -> bool:
    """Whether the checkpoint holds a schema log of a Delta source: ``_schema_log_<table id>``, in it or one
    directory below."""
    root = s.checkpoint.door.list([""])[""]
    others = [path for path in root.directories if path not in ("offsets", "commits", "sources", "state")]
    below = (
        [path for listing in s.checkpoint.door.list(others).values() for path in listing.directories]
        if others
        else []
    )
    return any(path.rsplit("/", 1)[-1].startswith("_schema_log_") for path in (*others, *below))


def check_delta_plan(s: RestartContext, part: Range) -> Verdict:
    """How the source goes on from offsets/N. After a batch that runs again, a failure here is one of the
    batch after it: what then follows, or the outcome where the sink skips the batch."""
    s = s.loading
    log, end = s.connectors.tables.get(part.key), position_of(part.end)
    if log is None or end is None:
        return Verdict()
    found = _plan(s, part, log, end)
    refilled = _refilled(s, log, part, end)
    if found.ok is False and s.runs_again:
        then = say("forecast_delta.batch_after_fails", why=found.why)
        found = Verdict(then=then, not_checked=found.not_checked, risks=found.risks)
    with_both = replace(
        found,
        risks=(*found.risks, *refilled.risks),
        not_checked=(*refilled.not_checked, *found.not_checked),
        certainty=found.certainty if found.ok is False else least_sure(found.certainty, refilled.certainty),
    )
    return behind_skipped(s, with_both)


def _plan(s: RestartContext, part: Range, log: DeltaLog, end: TablePosition) -> Verdict:
    if (other := _other_table(log, part.end, end, "batch")) is not None:
        return other
    judged = judge_position(log, end)
    if not judged.can_rebuild:
        return _snapshot_gone(log, part, end.version, "batch")
    first = end.version + end.in_first_snapshot
    risks: list[Risk] = []
    if judged.is_table_older:
        sentence = say(
            "forecast_delta.table_older",
            at=part.evidence[0],
            version=end.version,
            url=log.url,
            newest=log.newest,
            first=log.newest + 1,
            last=end.version - 1,
        )
        risks.append(Risk("DELTA_TABLE_OLDER", sentence, part.evidence, LOSS))
    hole = judged.hole
    if (
        hole is not None
        and hole.next_one is not None
        and (hole.next_one > 0 or s.query.stops_on_loss(part.key))
    ):
        lost_from, next_one = hole.first, hole.next_one
        if s.query.stops_on_loss(part.key):
            why = say(
                "forecast_delta.next_range_cleaned",
                key=part.key,
                version=first,
                url=log.url,
                first=lost_from,
                next_one=next_one,
            )
            return _cleaned(part, lost_from, next_one, "batch", why)
        sentence = say(
            "forecast_delta.rows_skipped_by_query",
            versions=spanned(lost_from, next_one - 1, "version"),
            count=next_one - lost_from,
            key=part.key,
            next_one=next_one,
        )
        risks.append(Risk("DELTA_ROWS_SKIPPED", sentence, part.evidence, LOSS))
    risks += [] if s.hands_out else index_beyond(log, part.end)  # else the batch reads the whole commit
    waiting = _waiting(s, part, log, end, first)
    not_checked = waiting.not_checked
    waits = end.in_first_snapshot or log.newest >= first or end.files_done > 0
    if waits and waiting.ok is not False and s.n is not None:
        seen = check_files_that_wait(s, part, log, end)
        if seen.ok is False:
            return replace(seen, risks=tuple(risks), not_checked=(*seen.not_checked, *not_checked))
        waiting = replace(waiting, then=waiting.then or seen.then)
        not_checked = (*not_checked, *(() if s.runs_again else seen.not_checked))
    return replace(waiting, risks=(*waiting.risks, *risks), not_checked=not_checked)


def _refilled(s: RestartContext, log: DeltaLog, part: Range, end: TablePosition) -> Verdict:
    """A version that counts as read and was written after the batch that read it was planned: the table was
    rolled back, and new commits took its version numbers.

    With one clock there is no such version: Spark takes the time of a batch after it has looked for the
    newest version (seen with Delta 4.4 under a writer that commits all the time: the version was at least
    0.1 s older). Up to a minute later, or before the offset file was written again, it is left open.
    """
    version = trailing_version(end)
    is_read_here = 0 <= version <= log.newest and is_same_table(end, log) is not False
    if s.n is None or s.newest is None or not is_read_here:
        return Verdict()
    commit = log.files_of([version]).get(version)
    written = s.checkpoint.offset_files[s.n].modified_ms or 0
    planned = s.newest.timestamp_ms or written
    at = None if commit is None else commit.commit.timestamp_ms
    if at is None or not planned or at <= planned + CLOSE_SECONDS * 1000:
        return Verdict()
    values = {"version": version, "key": part.key, "n": s.n}
    if at <= max(planned, written) + REFILL_SECONDS * 1000:
        close = say("forecast_delta.close_in_time", later_ms=at - planned, **values)
        return Verdict(not_checked=(close,), certainty="inferred")
    sentence = say("forecast_delta.table_refilled", **values)
    evidence = (Evidence(s.checkpoint.offset_files[s.n].path),)
    risk = Risk("DELTA_TABLE_REFILLED", sentence, evidence, LOSS, "inferred")
    return Verdict(risks=(risk,), certainty="inferred")


def _waiting(s: RestartContext, part: Range, log: DeltaLog, end: TablePosition, first: int) -> Verdict:
    """The commits that the next batches read: one that deletes or changes rows stops the query, unless an
    option says otherwise."""
    if end.files_done and not end.in_first_snapshot:
        first += 1  # the rest of a commit that was let through before
    if first > log.newest or is_set(s, part.key, "skipChangeCommits", "readChangeFeed", "readChangeData"):
        return Verdict()
    read = log.commits(range(first, log.newest + 1))
    open_ends = (
        (say("forecast_delta.waiting_commits_not_read", key=part.key, limit=read.limit_words),)
        if read.limit_words
        else ()
    )
    before = 0
    for commit in reversed(read.commits):
        if not commit.removes:
            before += commit.adds
            continue
        deletes_only = commit.adds == 0
        if is_set(s, part.key, "ignoreChanges") or (deletes_only and is_set(s, part.key, "ignoreDeletes")):
            continue
        passed = None if part.key in s.query.options else _passed_before(s, part, log, end, deletes_only)
        if passed is not None:
            what = say(
                "forecast_delta.whether_change_passes",
                key=part.key,
                version=commit.version,
                operation=commit.operation or "unknown",
                passed=passed,
            )
            return Verdict(not_checked=(what, *open_ends))
        file = log.files_of([commit.version])[commit.version].removed[0]
        values = {
            "version": commit.version,
            "key": part.key,
            "operation": commit.operation or "unknown",
        }
        why = (
            say("forecast_delta.deletes_wait", **values)
            if deletes_only
            else say("forecast_delta.changes_wait", **values)
        )
        if before:
            why = say("forecast_delta.after_files_before_it", why=why, files=before)
        error = (
            delta_error("ignore_delete", file=file, version=commit.version)
            if deletes_only
            else delta_error("ignore_changes", operation=commit.operation or "")
        )
        certainty: Certainty = "certain" if part.key in s.query.options and not before else "inferred"
        return replace(
            delta_failure(error, "DELTA_CHANGES_WAIT", why, part.evidence, "batch", certainty),
            not_checked=open_ends,
        )
    return Verdict(not_checked=open_ends)


def _passed_before(
    s: RestartContext, part: Range, log: DeltaLog, end: TablePosition, deletes_only: bool
) -> int | None:
    """A version of the same kind that this query has already read past: then an option lets such commits
    through. Looks at the newest ones."""
    oldest = s.offset_entry(s.checkpoint.offset_ids[0])
    line = oldest.source(part.key) if oldest is not None else None
    begin = position_of(line)
    if begin is None or begin.table_id != end.table_id:
        return None
    first = begin.version + 1 if begin.in_first_snapshot else begin.version
    for commit in log.commits(range(first, end.version), limit=PASSED_VERSIONS).commits:
        if commit.removes and (commit.adds or deletes_only):
            return commit.version
    return None
