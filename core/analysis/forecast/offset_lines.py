"""The lines of the two newest offset files against each other: a source without an offset, and offsets that
were set back by hand (to skip or to repeat a batch).

Observed with Spark 3.5 and 4.3: a source without an offset falls back or starts from scratch, without an
error. A query without state whose newest offset equals the one before starts; what the newest batch held is
read again by the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.analysis.forecast.context import Range, RestartContext
from core.analysis.forecast.model import DUPLICATES, SINK_KINDS, UNKNOWN, DataEffect, Risk
from core.analysis.forecast.versions import V40
from core.checkpoint.model import OffsetEntry
from core.checkpoint.sources.files import FILES
from core.checkpoint.sources.forms import parse
from core.messages import say


def no_offset(s: RestartContext, part: Range, newest: OffsetEntry) -> Risk | None:
    """``-`` in offsets/N, or no line there for a source that the entry before knows. None for a source that
    has never delivered anything, as an empty directory beside another source of a union."""
    if _never_had_one(s, part):
        return None
    at = part.end.evidence if part.end is not None else newest.evidence
    scratch = _scratch(s, part)
    text, key = str(at), part.key
    if not s.runs_again and part.start_text is None:
        sentence, effect = say("forecast.no_offset", at=text, key=key), scratch
    elif not s.runs_again:
        sentence = say("forecast.no_offset_committed", at=text, key=key, previous=s.previous, batch_id=s.n)
        effect = s.handed_out_again(*SINK_KINDS)
    elif s.version < V40 and part.start_text is not None:
        sentence = say("forecast.no_offset_pending_old", at=text, key=key, batch_id=s.n, previous=s.previous)
        effect = DataEffect("duplicates", "exact", "duplicates").may()
    else:
        sentence, effect = say("forecast.no_offset_pending", at=text, key=key, batch_id=s.n), scratch
    return Risk("SOURCE_WITHOUT_OFFSET", sentence, (at,), effect)


def _never_had_one(s: RestartContext, part: Range) -> bool:
    log = s.file_logs.get(part.key)
    if part.start_text is not None or (log is not None and log.newest_id is not None):
        return False
    return s.kind(part.key).has_own_log or not _had_offset(s, part)


def _scratch(s: RestartContext, part: Range) -> DataEffect:
    """What starting from scratch does. Behind a batch that runs again, rows come into a state that has
    them."""
    if s.runs_again and s.is_stateful:
        return UNKNOWN
    return s.handed_out_again(*SINK_KINDS)


def start_without_offset(s: RestartContext, part: Range) -> Risk | None:
    """``-`` or no line in offsets/N-1 for a source that had an offset before: pending batch N reads it from
    the beginning up to its end. A batch N that is committed, or that the sink has, is not asked for it."""
    before = s.offset_entry(s.previous)
    if not s.hands_out or before is None or part.start_text is not None or part.end_text is None:
        return None
    if not _had_offset(s, part):
        return None
    at = part.start.evidence if part.start is not None else before.evidence
    sentence = say("forecast.no_start_offset", at=str(at), key=part.key, batch_id=s.n)
    # A stateful query puts these rows into a state that has them: its results are others, also fewer.
    effect = UNKNOWN if s.is_stateful else DUPLICATES.may(("skip",))
    return Risk("SOURCE_WITHOUT_OFFSET", sentence, (at,), effect)


def _had_offset(s: RestartContext, part: Range) -> bool:
    """Whether the source had an offset before offsets/N-1: a file source that ends beyond its first log
    entry, any other whose line in the entry before that is there."""
    end = FILES.value(parse(part.end_text or ""))
    if s.kind(part.key).has_own_log and end is not None:
        return end > 0
    earlier = s.offset_entry(s.checkpoint.previous_offset_id(s.previous)) if s.previous is not None else None
    line = earlier.source(part.key) if earlier is not None else None
    return line is not None and line.raw is not None


def set_back(s: RestartContext, parts: Sequence[Range]) -> Risk | None:
    """The newest offset equals the one before, and a query without state has written both: it never plans
    such a batch."""
    newest = s.newest
    if s.is_stateful or s.was_written_stateful or newest is None or not s.n or not _may_be_by_hand(s):
        return None
    if not s.checkpoint.is_no_data(s.n):
        return None
    effect = DUPLICATES
    is_seen = any(_is_behind_its_log(s, part) for part in parts)
    if s.runs_again:  # batch N runs without rows, the batch after it takes what N held before
        effect = DataEffect("duplicates", "exact", "duplicates").may()
    if s.runs_again and not is_seen:  # offsets/N-1 may be the one that was edited: moved forward
        effect = UNKNOWN
    sentence = say(
        "forecast.set_back_committed"
        if not s.runs_again
        else "forecast.set_back_pending"
        if is_seen
        else "forecast.set_back_or_forward",
        at=str(newest.evidence),
        previous=f"offsets/{s.previous}",
        batch_id=s.n,
        next=s.n + 1,
    )
    return Risk(
        "SET_BACK", sentence, (newest.evidence,), effect, "certain" if is_seen else "inferred", "data_risk"
    )


def _may_be_by_hand(s: RestartContext) -> bool:
    """Modes that log batches without data for queries without state: continuous, real-time (commits of
    version 2), asynchronous progress; and the repair of a Delta source whose log was cleaned."""
    commit = s.commit_entry(s.c)
    if (
        s.checkpoint.is_continuous
        or s.checkpoint.is_async
        or (commit is not None and commit.format_version > 1)
    ):
        return False
    return not any(kind.asks == "table" for kind in s.kinds.values())


def _is_behind_its_log(s: RestartContext, part: Range) -> bool:
    log, end = s.file_logs.get(part.key), part.end_text
    at = FILES.value(parse(end)) if end is not None else None
    return log is not None and log.newest_id is not None and at is not None and log.newest_id > at


def without_one_ahead(risks: Iterable[Risk]) -> list[Risk]:
    """The risks, without the entry of a source log that offsets which were set back explain."""
    return [risk for risk in risks if risk.id != "SOURCE_LOG_ONE_AHEAD"]


def is_foreign_name(s: RestartContext, part: Range) -> bool:
    """Whether a name in offsets/N is of no source of this query (offset log version 2): a file source without
    a log of its own and without a line in the entry before. Spark drops such a line without an error."""
    newest = s.newest
    if newest is None or newest.format_version < 2 or part.start is not None or part.end_text is None:
        return False
    is_there = f"sources/{part.key}" in s.source_directories or part.key in s.file_logs
    return s.kind(part.key).has_own_log and not is_there


def lost_name(s: RestartContext) -> Risk | None:
    """A source that has a directory of its own below ``sources/`` and an offset in the entry before the two
    that Spark reads, but in neither of these (offset log version 2): a query that still has it starts it from
    scratch."""
    newest, before = s.newest, s.offset_entry(s.previous)
    if newest is None or before is None or min(newest.format_version, before.format_version) < 2:
        return None
    known = {line.key for entry in (newest, before) for line in entry.sources}
    names = [path.removeprefix("sources/") for path in s.source_directories]
    rest = [name for name in names if name not in known]
    earlier = s.offset_entry(s.checkpoint.previous_offset_id(before.batch_id)) if rest else None
    lost = [name for name in rest if earlier is not None and earlier.source(name) is not None]
    if not lost or earlier is None:
        return None
    sentence = say(
        "forecast.lost_name",
        at=str(newest.evidence),
        keys=lost,
        count=len(lost),
        earlier=str(earlier.evidence),
    )
    return Risk("SOURCE_WITHOUT_OFFSET", sentence, (newest.evidence,), DUPLICATES, "needs_input")
