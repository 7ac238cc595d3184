"""The positions of a Kafka source against its broker, per partition and per topic, worst first. Nobody is
asked here.

Rules (observed with Spark 4.3, a broker 4.3.1 and connector 4.2.0): the offset log holds the NEXT offset to
read, so a log start above it means lost records and a log end below it a topic that was created anew (or cut
short). Retention removes whole segments from the oldest on, each when its newest timestamp + retention.ms is
past. So a position is safe at least until the newest time at or before it + retention.ms.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from core.checkpoint.model import OffsetEntry
from core.checkpoint.sources.forms import parse
from core.checkpoint.sources.kafka import topics_of
from core.connectors.model import KafkaPartitionState, KafkaTopicState, PartitionState, Safety
from core.sparklogs.evidence import Certainty

if TYPE_CHECKING:
    from core.checkpoint import Checkpoint
    from core.connectors.answers import BrokerAnswer, BrokerPartition, BrokerTopic

Positions = dict[str, dict[int, int]]

SOON_MS = 24 * 3_600_000  # "soon" is what the next shift still has to deal with ...
SOON_SHARE = 4  # ... or the last quarter of the retention, when that is shorter
# the clocks of broker, producers and driver may differ by this much without a topic being called younger
CLOCKS_MS = 60_000

ASK_AGAIN = "A batch was planned since the broker was asked: ask again."

_DANGER: Mapping[PartitionState, int] = {
    "deleted": 1000,
    "beyond_end": 950,
    "behind_log_start": 900,
    "unknown": 300,
    "new": 200,
    "ok": 0,
}
_SAFETY_DANGER: Mapping[Safety, int] = {
    "lost": 0,
    "edge": 700,
    "soon": 500,
    "until": 100,
    "unknown": 60,
    "never_by_time": 10,
}


@dataclass(frozen=True, slots=True)
class _Kept:
    """How long a position is kept: the judgement, the moment and the words."""

    safety: Safety
    until_ms: int | None
    words: str


def kafka_positions(ck: Checkpoint, key: str) -> Positions:
    """Where the source goes on: the end of the last committed batch, else where batch 0 began; {} when the
    files do not tell."""
    committed, end = ck.last_committed_batch, None
    if committed is not None:
        end = ck.source_texts(committed, key)[1]
    source = ck.source(key)
    if end is None and source is not None:
        end = source.context.initial
    return _topics(end)


def planned_positions(ck: Checkpoint, key: str) -> Positions | None:
    """The end of the planned batch that is not committed; None when none is pending."""
    if ck.pending_batch is None:
        return None
    return _topics(ck.source_texts(ck.pending_batch, key)[1])


def is_outdated(ck: Checkpoint, answer: BrokerAnswer) -> bool:
    """Whether a batch was planned after the broker was asked: its positions may lie beyond an end that was
    true then.

    A page keeps an answer until someone asks again, and a running query writes on.
    """
    newest = ck.offset_files[ck.offset_ids[-1]].modified_ms if ck.offset_ids else None
    return (
        ck.read_at_ms > answer.asked_at_ms and newest is not None and newest + CLOCKS_MS > answer.asked_at_ms
    )


def kafka_partition_states(ck: Checkpoint, key: str, answer: BrokerAnswer) -> tuple[KafkaPartitionState, ...]:
    """One row for every partition that the checkpoint or the broker knows of the source's topics, worst
    first.

    When the broker could not be asked every row has the state "unknown" and the numbers of the checkpoint. A
    row whose position lies beyond the end, or that the broker has not, is "unknown" too when a batch was
    planned since the broker was asked.
    """
    is_old = is_outdated(ck, answer)
    committed, planned = kafka_positions(ck, key), planned_positions(ck, key)
    names = {(topic, p) for topic, ps in committed.items() for p in ps}
    names |= {(topic, p) for topic, ps in (planned or {}).items() for p in ps}
    names |= {(topic, p) for topic, p in answer.partitions if topic in committed or topic in (planned or {})}
    rows = [
        _row(
            answer,
            topic,
            p,
            committed.get(topic, {}).get(p),
            None if planned is None else planned.get(topic, {}).get(p),
            is_old,
        )
        for topic, p in names
    ]
    never = 2**63
    order = sorted(
        rows,
        key=lambda r: (
            -r.danger,
            -r.lost,
            never if r.safe_until_ms is None else r.safe_until_ms,
            r.topic,
            r.partition,
        ),
    )
    return tuple(order)


def _row(
    answer: BrokerAnswer, topic: str, partition: int, position: int | None, planned: int | None, is_old: bool
) -> KafkaPartitionState:
    here, settings = answer.partitions.get((topic, partition)), answer.topics.get(topic)
    start = here.log_start if here is not None else None
    end = here.log_end if here is not None else None
    is_past = is_old and (end is None or max(position or 0, planned or 0) > end)
    state = "unknown" if is_past else _state(answer, topic, here, position)
    lost = (
        start - position if state == "behind_log_start" and start is not None and position is not None else 0
    )
    lag = end - (position if position is not None else start or 0) if end is not None else None
    record_ms = here.record_ms if here is not None and here.asked_position == position else None
    kept = _kept(answer, settings, here, position, state, record_ms)
    return KafkaPartitionState(
        name=f"{topic}-{partition}",
        topic=topic,
        partition=partition,
        state=state,
        earliest=start,
        position=position,
        planned=planned,
        latest=end,
        lag=lag,
        lost=lost,
        record_ms=record_ms,
        safety=kept.safety,
        safe_until_ms=kept.until_ms,
        safety_words=kept.words,
        danger=max(_DANGER[state], _SAFETY_DANGER[kept.safety]),
        sentence=(
            ASK_AGAIN
            if is_past
            else _sentence(answer, topic, partition, state, here, position, planned, kept)
        ),
        record_to_ms=here.record_to_ms if here is not None and record_ms is not None else None,
    )


def _state(
    answer: BrokerAnswer, topic: str, here: BrokerPartition | None, position: int | None
) -> PartitionState:
    if answer.trouble is not None:
        return "unknown"
    if topic in answer.absent or (here is None and topic in answer.topics):
        return "deleted"
    if here is None or here.log_start is None or here.log_end is None:
        return "unknown"
    if position is None:
        return "new"
    if position > here.log_end:
        return "beyond_end"
    return "behind_log_start" if position < here.log_start else "ok"


def _kept(
    answer: BrokerAnswer,
    topic: BrokerTopic | None,
    here: BrokerPartition | None,
    position: int | None,
    state: PartitionState,
    record_ms: int | None,
) -> _Kept:
    if state == "behind_log_start":
        return _Kept("lost", None, "the log start has passed the position")
    if (
        topic is None
        or here is None
        or state in ("deleted", "unknown", "beyond_end")
        or topic.cleanup_policy is None
    ):
        return _Kept("unknown", None, "not known")
    if "delete" not in topic.cleanup_policy:
        return _Kept(
            "never_by_time",
            None,
            "compacted, never removed by time; a newer record of the same key may replace it",
        )
    by_size = topic.retention_bytes is not None and topic.retention_bytes >= 0
    size = "; may go earlier by size" if by_size else ""
    if topic.retention_ms is None:
        return _Kept("unknown", None, f"not known{size}")
    if topic.retention_ms < 0:
        return _Kept("never_by_time", None, "never by time" + ("; may go by size" if by_size else ""))
    now = answer.asked_at_ms
    waits_from = here.log_start if position is None else position
    if waits_from == here.log_end:
        until = now + topic.retention_ms
        return _Kept(
            "until",
            until,
            f"nothing waits; a record of now would expire not before {clock(until, now)}{size}",
        )
    time_ms = here.first_record_ms if position is None else record_ms
    at_edge = position is not None and position == here.log_start and position > 0
    if time_ms is None:
        return (
            _Kept("edge", None, f"the next to expire{size}")
            if at_edge
            else _Kept("unknown", None, f"not known{size}")
        )
    until = time_ms + topic.retention_ms
    if until <= now:
        return _Kept("edge", until, f"due since {clock(until, now)}: goes with its segment at any moment")
    first = "the next to expire, " if at_edge else ""
    is_soon = until - now < min(SOON_MS, topic.retention_ms // SOON_SHARE)
    return _Kept(
        "edge" if at_edge else "soon" if is_soon else "until",
        until,
        f"{first}expires not before {clock(until, now)}{size}",
    )


def _sentence(
    answer: BrokerAnswer,
    topic: str,
    partition: int,
    state: PartitionState,
    here: BrokerPartition | None,
    position: int | None,
    planned: int | None,
    kept: _Kept,
) -> str:
    name = f"{topic}-{partition}"
    if here is not None and here.trouble is not None:
        return f"{name}: the broker does not tell its offsets ({here.trouble})."
    if state == "deleted":
        gone = f"topic {topic} is" if topic in answer.absent else "the partition is"
        return (
            f"{name}: {gone} not on the broker; what was after offset"
            f" {position if position is not None else planned} cannot be read."
        )
    if here is None or here.log_start is None or here.log_end is None or state == "unknown":
        return ""
    start, end = here.log_start, here.log_end
    if state == "behind_log_start" and position is not None:
        since = (
            f"; the oldest that is left is of {clock(here.first_record_ms, answer.asked_at_ms)}"
            if here.first_record_ms
            else ""
        )
        return (
            f"{name}: offsets {position:,} to {start - 1:,} have expired unread"
            f" ({_many(start - position)}){since}."
        )
    if state == "beyond_end":
        return (
            f"{name}: ends at {end:,}, before the position {position:,}: the topic was created anew, or the"
            " broker lost records."
        )
    if state == "new":
        begins = (
            "it is read from 0"
            if start == 0
            else f"it begins at {start:,}, and with failOnDataLoss=true the query stops at it"
        )
        return f"{name}: new since the checkpoint; {begins}, whatever startingOffsets says."
    if planned is not None and planned > end:
        return (
            f"{name}: the planned batch reads up to {planned:,}, but the partition ends at {end:,}: the topic"
            " was created anew."
        )
    if kept.safety in ("edge", "soon"):
        return f"{name}: the record at position {position:,}: {kept.words}."
    return ""


def kafka_topic_states(ck: Checkpoint, key: str, answer: BrokerAnswer) -> tuple[KafkaTopicState, ...]:
    """One row per topic, those with something wrong first."""
    if answer.trouble is not None:
        return ()
    committed, planned = kafka_positions(ck, key), planned_positions(ck, key) or {}
    rows = [_topic(ck, answer, name, committed, planned) for name in sorted({*committed, *planned})]
    return tuple(sorted(rows, key=lambda row: (row.exists, not row.is_recreated, not row.sentence, row.name)))


def _topic(
    ck: Checkpoint, answer: BrokerAnswer, name: str, committed: Positions, planned: Positions
) -> KafkaTopicState:
    here = answer.topics.get(name)
    if here is None and name not in answer.absent:
        why = next(
            (p.trouble for (topic, _), p in answer.partitions.items() if topic == name and p.trouble),
            "no reason given",
        )
        return KafkaTopicState(
            name,
            True,
            "not known",
            None,
            False,
            f"The broker does not tell about topic {name}: {why}.",
            "needs_input",
        )
    if here is None:
        similar = similar_names(name, answer.all_topics)
        looks_like = f" Topics with a similar name: {', '.join(similar)}." if similar else ""
        return KafkaTopicState(
            name,
            False,
            "not known",
            None,
            False,
            f"Topic {name} is not on the broker.{looks_like}",
            similar=similar,
        )
    words = retention_words(here)
    found = (
        None
        if is_outdated(ck, answer)
        else recreated(answer, name, committed.get(name, {}), planned.get(name, {}), batch_time_ms(ck))
    )
    if found is not None:
        return KafkaTopicState(name, True, words, here.topic_id, True, found.sentence, found.certainty)
    known = {*committed.get(name, {}), *planned.get(name, {})}
    new = [p for p in here.partitions if p not in known]
    gone = sorted(p for p in known if p not in here.partitions)
    parts = [f"new partitions: {_numbers(new)}"] if new else []
    parts += [f"partitions that are not on the broker any more: {_numbers(gone)}"] if gone else []
    sentence = f"Topic {name} has {'; '.join(parts)}." if parts else ""
    return KafkaTopicState(name, True, words, here.topic_id, False, sentence)


@dataclass(frozen=True, slots=True)
class Recreated:
    """That a topic was created anew, how that is known, and how sure it is."""

    sentence: str
    certainty: Certainty
    partitions: tuple[int, ...]
    ends_below: bool = False


def recreated(
    answer: BrokerAnswer,
    topic: str,
    committed: Mapping[int, int],
    planned: Mapping[int, int],
    batch_ms: int | None,
) -> Recreated | None:
    """Whether the topic of this name is another one than the query read; None when nothing shows it.

    Certain: an end below a position that was read (``ends_below``), or another topic id than in an earlier
    look. Inferred: the record at offset 0 is younger than the batch that had already read past it (producers
    may set times as they like).
    """
    short = [
        p
        for p, position in {**planned, **committed}.items()
        if _ends_below(answer, topic, p, max(position, planned.get(p, 0)))
    ]
    if short:
        sentence = (
            f"Topic {topic} ends before positions of the checkpoint in partition {_numbers(short)}: it was"
            " created anew."
        )
        return Recreated(sentence, "certain", tuple(short), ends_below=True)
    here, noted = answer.topics.get(topic), answer.earlier_topic_ids.get(topic)
    if here is not None and here.topic_id is not None and noted is not None and noted != here.topic_id:
        read = tuple(
            p for p, position in committed.items() if position > 0 and (topic, p) in answer.partitions
        )
        sentence = (
            f"Topic {topic} was created anew since an earlier look: its id was {noted} and is {here.topic_id}"
            " now."
        )
        return Recreated(sentence, "certain", read)
    if batch_ms is None:
        return None
    young = [
        p
        for p, position in committed.items()
        if position > 0
        and (at := answer.partitions.get((topic, p))) is not None
        and at.log_start == 0
        and at.first_record_ms is not None
        and at.first_record_ms > batch_ms + CLOCKS_MS
    ]
    if not young:
        return None
    first = min(answer.partitions[topic, p].first_record_ms or 0 for p in young)
    sentence = (
        f"Topic {topic} seems to be younger than the checkpoint: its record 0 is of"
        f" {clock(first, answer.asked_at_ms)}, after the batch of {clock(batch_ms, answer.asked_at_ms)} that"
        " had read past it. Spark would not notice."
    )
    return Recreated(sentence, "inferred", tuple(young))


def batch_time_ms(ck: Checkpoint) -> int | None:
    """When the last committed batch was planned."""
    entry = ck.offset(ck.last_committed_batch) if ck.last_committed_batch is not None else None
    return entry.timestamp_ms if isinstance(entry, OffsetEntry) else None


def similar_names(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Topics of the broker whose name is close: another spelling, another stage in front or behind."""
    candidates = [n for n in names if not n.startswith("__")]
    by_lower = {n.lower().replace("_", "-").replace(".", "-"): n for n in candidates}
    close = difflib.get_close_matches(
        name.lower().replace("_", "-").replace(".", "-"), by_lower, n=3, cutoff=0.75
    )
    return tuple(by_lower[n] for n in close)


def retention_words(topic: BrokerTopic) -> str:
    """What becomes of the records of a topic, in words."""
    if topic.cleanup_policy is None:
        return "not known"
    compacted = "compact" in topic.cleanup_policy
    if "delete" not in topic.cleanup_policy:
        return "compacted: the newest record of each key is kept"
    parts = []
    if topic.retention_ms is not None:
        parts.append(
            "kept without a limit of time"
            if topic.retention_ms < 0
            else f"kept {duration(topic.retention_ms)}"
        )
    if topic.retention_bytes is not None and topic.retention_bytes >= 0:
        parts.append(f"at most {topic.retention_bytes:,} bytes in each partition")
    return ", ".join([*(["compacted"] if compacted else []), *parts]) or "not known"


def duration(ms: int) -> str:
    """``7 days``, ``36 hours``, ``90 seconds``: in the largest unit that comes out even."""
    for unit, size in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000)):
        if ms >= size and ms % size == 0:
            return f"{ms // size:,} {unit}{'' if ms == size else 's'}"
    return f"{ms:,} ms"


def clock(ms: int, now_ms: int) -> str:
    """``14:05 UTC`` on the day of ``now_ms``, else with the date."""
    try:
        moment, now = (datetime.fromtimestamp(value / 1000, UTC) for value in (ms, now_ms))
    except (OverflowError, OSError, ValueError):
        return "a time beyond the calendar"
    return moment.strftime("%H:%M UTC" if moment.date() == now.date() else "%Y-%m-%d %H:%M UTC")


def _ends_below(answer: BrokerAnswer, topic: str, partition: int, position: int) -> bool:
    here = answer.partitions.get((topic, partition))
    return here is not None and here.log_end is not None and here.log_end < position


def _topics(text: str | None) -> Positions:
    return (topics_of(parse(text)) or {}) if text is not None else {}


def _many(offsets: int) -> str:
    return f"{offsets:,} offset{'' if offsets == 1 else 's'}"


def _numbers(partitions: Iterable[int]) -> str:
    every = sorted(partitions)
    more = f" and {len(every) - 10:,} more" if len(every) > 10 else ""
    return ", ".join(map(str, every[:10])) + more
