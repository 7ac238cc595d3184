"""Positions of a Kafka source that only an editor writes, and what Spark makes of them (observed: 4.3)."""

from __future__ import annotations

import json

from core.analysis.forecast.context import Range, RestartContext
from core.analysis.forecast.model import DUPLICATES, UNKNOWN, DataEffect, Risk
from core.analysis.forecast.step_verdict import Verdict, failed
from core.checkpoint.model import OffsetEntry, SourceOffset
from core.checkpoint.sources.forms import parse
from core.checkpoint.sources.kafka import as_read, is_refused, positions_read
from core.connectors.answers import BrokerAnswer
from core.connectors.kafka.judgement import Positions
from core.messages import say
from core.messages.words import listed
from core.sparklogs.evidence import Evidence

EARLIEST = -2  # as a position: Spark reads from the earliest record
SHOWN = 3  # names in a sentence; how many more there are is said


def batch_start(s: RestartContext, part: Range) -> tuple[Positions, Evidence | None]:
    """Where batch N begins: the line in offsets/N-1, for batch 0 ``sources/<n>/0``; where that stands."""
    if part.start_text is not None and part.start is not None:
        return positions_read(part.start_text), part.start.evidence
    return _initial(s, part) if s.n == 0 else ({}, None)


def before_start(s: RestartContext, part: Range) -> tuple[Positions, Evidence | None]:
    """Where batch N-1 began: the line in offsets/N-2, for batch 0 ``sources/<n>/0``; where that stands, or
    None where nothing tells."""
    if s.previous is None:
        return {}, None
    earlier = s.checkpoint.previous_offset_id(s.previous)
    entry = s.offset_entry(earlier) if earlier is not None else None
    line = entry.source(part.key) if isinstance(entry, OffsetEntry) else None
    if line is not None and line.raw is not None:
        return positions_read(line.raw), line.evidence
    return _initial(s, part) if s.previous == 0 else ({}, None)


def _initial(s: RestartContext, part: Range) -> tuple[Positions, Evidence | None]:
    source = s.checkpoint.source(part.key)
    if source is None or source.context.initial is None:
        return {}, None
    return positions_read(source.context.initial), Evidence(f"{source.directory or f'sources/{part.key}'}/0")


# ------------------------------------------------------------------------------------ what Spark refuses


def negative_position(s: RestartContext, part: Range) -> Verdict | None:
    """A position below 0 in the newest offset: the next batch reads from the earliest record for -2, and dies
    in its tasks for any other, whatever failOnDataLoss says."""
    if part.end is None:
        return None
    for topic, ps in positions_read(part.end_text).items():
        for p, position in ps.items():
            if position < 0 and position != EARLIEST:
                return _negative(s, part.end.evidence, f"{topic}-{p}", position)
    return None


def negative_start(s: RestartContext, part: Range) -> Verdict | None:
    """The same where planned batch N begins, of a partition of which it reads something."""
    start, at = batch_start(s, part)
    end = positions_read(part.end_text)
    for topic, ps in start.items():
        for p, position in ps.items():
            is_read = end.get(topic, {}).get(p, position) > position
            if at is not None and is_read and position < 0 and position != EARLIEST:
                return _negative(s, at, f"{topic}-{p}", position)
    return None


def _negative(s: RestartContext, at: Evidence, name: str, position: int) -> Verdict:
    why = say("forecast_steps.kafka_negative", at=str(at), partition=name, position=position)
    details = {"position": position}
    return failed(
        s,
        "kafka_negative",
        "SOURCE_OFFSET_UNREADABLE",
        why,
        at,
        details=details,
        fails_at="batch",
        certainty="inferred",
    )


def refused_positions(s: RestartContext, part: Range) -> Verdict | None:
    """An offset that is no object of topics, partitions and numbers: met while the batch is planned. Of a
    committed batch only the end is read."""
    for line in (part.end, part.start) if s.runs_again else (part.end,):
        if line is None or line.raw is None or as_read(parse(line.raw)) is not None:
            continue
        bad = _first_refused(parse(line.raw))
        why = (
            say("forecast_steps.kafka_positions_refused", at=str(line.evidence), partition=bad)
            if bad is not None
            else say("forecast_steps.kafka_no_positions", at=str(line.evidence))
        )
        return failed(
            s,
            "kafka_line_bad",
            "SOURCE_OFFSET_UNREADABLE",
            why,
            line.evidence,
            details={"text": line.raw},
            fails_at="batch",
            certainty="inferred",
        )
    return None


def _first_refused(offset: object) -> str | None:
    topics = offset.values() if isinstance(offset, dict) else ()
    entries = [item for ps in topics if isinstance(ps, dict) for item in ps.items()]
    return next((entry[0] for entry in entries if is_refused(entry)), None)


# ------------------------------------------------------------------------------------ what is read again


def positions_lost(s: RestartContext, part: Range, answer: BrokerAnswer | None) -> list[Risk]:
    """Partitions without a position where the next batch begins (or the planned one) that an earlier entry
    has: Spark takes them for new and reads them from their first record, without an error. A partition whose
    topic was recreated with fewer of them is gone from the broker; a topic that is missing beside others may
    be one that the query no longer reads."""
    if s.runs_again:
        before, (now, at) = before_start(s, part), batch_start(s, part)
        read = positions_read(part.end_text)
    else:
        before = batch_start(s, part)
        now, at, read = (
            positions_read(part.end_text),
            part.end.evidence if part.end is not None else None,
            None,
        )
    known, where = before
    if at is None or (s.runs_again and s.n == 0):
        return []
    names = [
        f"{topic}-{p}"
        for topic, ps in known.items()
        for p, position in ps.items()
        if p not in now.get(topic, {}) and (not now or position > 0 or s.runs_again)
        if (topic in now or not now)
        if read is None or p in read.get(topic, {})
        if answer is None or topic not in answer.topics or (topic, p) in answer.partitions
    ]
    if not names or where is None:
        return []
    sentence = say(
        "forecast_kafka.partitions_read_again",
        previous=str(where),
        names=listed(names, SHOWN),
        at=str(at),
        count=len(names),
    )
    effect = _read_again(s)
    return [Risk("KAFKA_TOPIC_READ_AGAIN", sentence, (at, where), effect, "inferred")]


def start_went_back(s: RestartContext, part: Range) -> list[Risk]:
    """The planned batch begins before the place where the batch before it began: rows are read again."""
    (known, where), (now, at) = before_start(s, part), batch_start(s, part)
    if not s.runs_again or where is None or at is None:
        return []
    lower = [
        say("findings_checks.position_back_partition", name=f"{t}-{p}", before=known[t][p], after=position)
        for t, ps in now.items()
        for p, position in ps.items()
        if position < known.get(t, {}).get(p, position)
    ]
    if not lower:
        return []
    sentence = say("findings_checks.position_back", batch_id=s.previous, key=part.key, partitions=lower)
    return [Risk("OFFSET_WENT_BACK", sentence, (at,), _read_again(s))]


def named_twice(s: RestartContext, part: Range) -> list[Risk]:
    """A partition that stands twice where the next batch begins (or the planned one): the last one counts,
    and a higher one that was meant as well means that rows are read again."""
    line = part.start if s.runs_again else part.end
    if line is None or line.raw is None:
        return []
    taken = positions_read(line.raw)
    for (topic, p), highest in _highest(line).items():
        position = taken.get(topic, {}).get(p, 0)
        if position < highest:
            name = f"{topic}-{p}"
            values = {"at": str(line.evidence), "name": name, "taken": position, "highest": highest}
            sentence = say("forecast_kafka.named_twice", **values)
            return [Risk("OFFSET_WENT_BACK", sentence, (line.evidence,), _read_again(s), "inferred")]
    return []


def _highest(line: SourceOffset) -> dict[tuple[str, int], int]:
    """The highest position of each partition, of all that the text gives."""
    text, taken = line.raw or "", positions_read(line.raw)
    if text.count(":") <= len(taken) + sum(map(len, taken.values())):
        return {}  # nothing stands twice
    try:
        topics = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return {}
    found: dict[tuple[str, int], int] = {}
    for topic, partitions in topics if isinstance(topics, list) else ():
        for entry in partitions if isinstance(partitions, list) else ():
            for p, position in (as_read({topic: dict([entry])}) or {}).get(topic, {}).items():
                found[topic, p] = max(position, found.get((topic, p), position))
    return found


def _read_again(s: RestartContext) -> DataEffect:
    """A stateful query puts these rows into a state that has them: its results are others, also fewer."""
    return UNKNOWN if s.runs_again and s.is_stateful else DUPLICATES.may()
