"""The judged positions of a Kafka source as rows for a person, per partition and per topic, worst first, with
how long each position is retained. Nobody is asked here; ``judgement`` judges.

Retention removes whole segments from the oldest on, each when its newest timestamp + retention.ms is past
(observed with a broker 4.3.1). So a position is safe at least until the newest time at or before it +
retention.ms.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.checkpoint.model import OffsetEntry
from core.checkpoint.sources.forms import parse
from core.checkpoint.sources.kafka import topics_of
from core.connectors.kafka.judgement import (
    CLOCKS_MS,
    Age,
    JudgedPartition,
    Positions,
    Recreated,
    judge_partition,
    judge_partitions,
    recreated,
)
from core.connectors.model import KafkaPartitionState, KafkaTopicState, PartitionState, Safety
from core.messages import say
from core.messages.words import even_duration, near_moment

if TYPE_CHECKING:
    from core.checkpoint import Checkpoint
    from core.connectors.answers import BrokerAnswer, BrokerPartition, BrokerTopic

SOON_MS = 24 * 3_600_000  # "soon" is what the next shift still has to deal with ...
SOON_SHARE = 4  # ... or the last quarter of the retention, when that is shorter

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
    """Where the source resumes: the end of the last committed batch, else where batch 0 began; {} when the
    files do not tell."""
    committed, end = ck.last_committed_batch, None
    if committed is not None:
        end = ck.source_texts(committed, key)[1]
    source = ck.source(key)
    if end is None and source is not None:
        end = source.context.initial
    return _topics(end)


def entries_at_hand(ck: Checkpoint) -> Iterator[OffsetEntry]:
    """The readable offset entries that are loaded, with the first and the last of the log, newest first."""
    ids = {*ck.loaded_ids, *ck.offset_ids[:1], *ck.offset_ids[-1:]}
    ck.load(ids)
    entries = (ck.offset(batch_id) for batch_id in sorted(ids, reverse=True))
    return (entry for entry in entries if isinstance(entry, OffsetEntry))


def positions_before(ck: Checkpoint, key: str, newest: Positions) -> Positions:
    """Of the partitions that ``newest`` lacks in its topics: the positions that an older batch has for them,
    while a start takes them for new ones."""
    found: Positions = {}
    for entry in entries_at_hand(ck):
        line = entry.source(key)
        for topic, read in (_topics(line.raw) if line is not None else {}).items():
            for partition, position in read.items():
                is_absent = topic in newest and partition not in newest[topic]
                if is_absent and position > 0:
                    found.setdefault(topic, {}).setdefault(partition, position)
    return found


def planned_positions(ck: Checkpoint, key: str) -> Positions | None:
    """The end of the planned batch that is not committed; None when none is pending."""
    if ck.pending_batch is None:
        return None
    return _topics(ck.source_texts(ck.pending_batch, key)[1])


def topics_recreated_by_plan(
    ck: Checkpoint, key: str, answer: BrokerAnswer, read: Positions, batch_ms: int | None
) -> frozenset[str]:
    """The topics that the planned batch would read backwards from the positions ``read``, which a batch of
    ``batch_ms`` had reached: a start that failed leaves such a plan where the topic was recreated, also when
    it has grown since. None that still has records from before that batch."""

    def ages(topic: str) -> set[Age | None]:
        known = read[topic].items()
        return {judge_partition(answer, topic, p, at, batch_ms=batch_ms).age for p, at in known}

    return frozenset(
        topic
        for topic, ends in (planned_positions(ck, key) or {}).items()
        if any(end < read.get(topic, {}).get(partition, end) for partition, end in ends.items())
        and "older" not in ages(topic)
    )


def is_outdated(ck: Checkpoint, answer: BrokerAnswer) -> bool:
    """Whether a batch was planned after the broker was asked: its positions may lie beyond an end that was
    true then.

    A page keeps an answer until someone asks again, and a running query writes on. A second look at the same
    batches does not make an answer older.
    """
    newest = ck.offset_files[ck.offset_ids[-1]].modified_ms if ck.offset_ids else None
    return (
        ck.newest_plan_seen_ms > answer.asked_at_ms
        and newest is not None
        and newest + CLOCKS_MS > answer.asked_at_ms
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
    rows = [_row(answer, judged, is_old) for judged in judge_partitions(answer, committed, planned)]
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


def _row(answer: BrokerAnswer, judged: JudgedPartition, is_old: bool) -> KafkaPartitionState:
    here = answer.partitions.get((judged.topic, judged.partition))
    is_past = is_old and (
        judged.latest is None or max(judged.position or 0, judged.planned or 0) > judged.latest
    )
    state = "unknown" if is_past else judged.state
    record_ms = here.record_ms if here is not None and here.asked_position == judged.position else None
    kept = _kept(answer, answer.topics.get(judged.topic), here, judged.position, state, record_ms)
    return KafkaPartitionState(
        name=judged.name,
        topic=judged.topic,
        partition=judged.partition,
        state=state,
        earliest=judged.earliest,
        position=judged.position,
        planned=judged.planned,
        latest=judged.latest,
        lag=judged.lag,
        lost=judged.lost,
        record_ms=record_ms,
        safety=kept.safety,
        safe_until_ms=kept.until_ms,
        safety_words=kept.words,
        danger=max(_DANGER[state], _SAFETY_DANGER[kept.safety]),
        sentence=say("kafka.ask_again") if is_past else _sentence(answer, judged, kept),
        record_to_ms=here.record_to_ms if here is not None and record_ms is not None else None,
    )


def _kept(
    answer: BrokerAnswer,
    topic: BrokerTopic | None,
    here: BrokerPartition | None,
    position: int | None,
    state: PartitionState,
    record_ms: int | None,
) -> _Kept:
    if state == "behind_log_start":
        return _Kept("lost", None, say("kafka.log_start_passed"))
    if (
        topic is None
        or here is None
        or state in ("deleted", "unknown", "beyond_end")
        or topic.cleanup_policy is None
    ):
        return _Kept("unknown", None, say("kafka.not_known"))
    if "delete" not in topic.cleanup_policy:
        return _Kept("never_by_time", None, say("kafka.compacted_only"))
    by_size = topic.retention_bytes is not None and topic.retention_bytes >= 0

    def kept(safety: Safety, until_ms: int | None, words: str) -> _Kept:
        return _Kept(safety, until_ms, say("kafka.or_earlier_by_size", words=words) if by_size else words)

    if topic.retention_ms is None:
        return kept("unknown", None, say("kafka.not_known"))
    if topic.retention_ms < 0:
        words = say("kafka.never_by_time_but_size") if by_size else say("kafka.never_by_time")
        return _Kept("never_by_time", None, words)
    now = answer.asked_at_ms
    waits_from = here.log_start if position is None else position
    if waits_from == here.log_end:
        until = now + topic.retention_ms
        return kept("until", until, say("kafka.caught_up_until", until=near_moment(until, now)))
    time_ms = here.first_record_ms if position is None else record_ms
    at_edge = position is not None and position == here.log_start and position > 0
    if time_ms is None:
        if at_edge:
            return kept("edge", None, say("kafka.next_to_expire"))
        return kept("unknown", None, say("kafka.not_known"))
    until = time_ms + topic.retention_ms
    if until <= now:
        return _Kept("edge", until, say("kafka.past_retention_since", since=near_moment(until, now)))
    if at_edge:
        return kept("edge", until, say("kafka.next_to_expire_not_before", until=near_moment(until, now)))
    is_soon = until - now < min(SOON_MS, topic.retention_ms // SOON_SHARE)
    return kept(
        "soon" if is_soon else "until", until, say("kafka.expires_not_before", until=near_moment(until, now))
    )


def _sentence(answer: BrokerAnswer, judged: JudgedPartition, kept: _Kept) -> str:
    """What there is to say about one partition; empty for nothing."""
    name = judged.name
    if judged.reason is not None:
        return say("kafka.offsets_not_known", name=name, reason=judged.reason)
    if judged.state == "deleted":
        at = judged.position if judged.position is not None else judged.planned
        if judged.topic in answer.absent:
            return say("kafka.topic_of_partition_absent", name=name, topic=judged.topic, position=at)
        return say("kafka.partition_absent", name=name, position=at)
    if judged.bounds is None or judged.state == "unknown":
        return ""
    start, end = judged.bounds
    if judged.state == "behind_log_start" and judged.missing is not None:
        first, last = judged.missing
        if not judged.first_record_ms:
            return say("kafka.expired_unread", name=name, first=first, last=last, lost=judged.lost)
        oldest = near_moment(judged.first_record_ms, answer.asked_at_ms)
        return say(
            "kafka.expired_unread_oldest_left",
            name=name,
            first=first,
            last=last,
            lost=judged.lost,
            oldest=oldest,
        )
    if judged.state == "beyond_end":
        return say("kafka.ends_before_position", name=name, end=end, position=judged.position)
    if judged.state == "new":
        return (
            say("kafka.new_from_0", name=name)
            if start == 0
            else say("kafka.new_but_not_from_0", name=name, start=start)
        )
    if judged.ends_before_plan:
        return say("kafka.ends_before_plan", name=name, end=end, planned=judged.planned)
    if kept.safety in ("edge", "soon"):
        return say("kafka.record_at_position", name=name, position=judged.position, words=kept.words)
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
    here, unknown = answer.topics.get(name), say("kafka.not_known")
    if here is None and name not in answer.absent:
        reason = next(
            (p.trouble for (topic, _), p in answer.partitions.items() if topic == name and p.trouble),
            "no reason given",
        )
        sentence = say("kafka.topic_not_known", topic=name, reason=reason)
        return KafkaTopicState(name, True, unknown, None, False, sentence, "needs_input")
    if here is None:
        similar = similar_names(name, answer.all_topics)
        sentence = (
            say("kafka.topic_absent_but_similar", topic=name, similar=", ".join(similar))
            if similar
            else say("kafka.topic_absent", topic=name)
        )
        return KafkaTopicState(name, False, unknown, None, False, sentence, similar=similar)
    words = retention_words(here)
    proof = (
        None
        if is_outdated(ck, answer)
        else recreated(answer, name, committed.get(name, {}), planned.get(name, {}), batch_time_ms(ck))
    )
    if proof is not None:
        about = recreated_sentence(proof, answer)
        is_other = proof.shown_by != "cut_short"
        return KafkaTopicState(name, True, words, here.topic_id, is_other, about, proof.certainty)
    judged = [
        judge_partition(answer, name, p, committed.get(name, {}).get(p), planned.get(name, {}).get(p))
        for p in sorted({*committed.get(name, {}), *planned.get(name, {}), *here.partitions})
    ]
    new = [each.partition for each in judged if each.position is None and each.planned is None]
    gone = [each.partition for each in judged if each.partition not in here.partitions]
    return KafkaTopicState(name, True, words, here.topic_id, False, _partitions_changed(name, new, gone))


def _partitions_changed(topic: str, new: list[int], gone: list[int]) -> str:
    if new and gone:
        return say("kafka.partitions_new_and_gone", topic=topic, new=_numbers(new), gone=_numbers(gone))
    if new:
        return say("kafka.partitions_new", topic=topic, new=_numbers(new))
    return say("kafka.partitions_gone", topic=topic, gone=_numbers(gone)) if gone else ""


def recreated_sentence(proof: Recreated, answer: BrokerAnswer) -> str:
    """That a topic was deleted and recreated, or cut short, and what shows it."""
    if proof.shown_by == "ends_below":
        return say("kafka.recreated_ends_below", topic=proof.topic, partitions=_numbers(proof.partitions))
    if proof.shown_by == "lacks":
        return say("kafka.recreated_lacks", topic=proof.topic, partitions=_numbers(proof.partitions))
    if proof.shown_by == "cut_short":
        return say("kafka.cut_short", topic=proof.topic, partitions=_numbers(proof.partitions))
    if proof.shown_by == "other_id":
        return say(
            "kafka.recreated_other_id", topic=proof.topic, earlier=proof.earlier_id, now=proof.topic_id
        )
    now = answer.asked_at_ms
    return say(
        "kafka.recreated_younger",
        topic=proof.topic,
        first=near_moment(proof.first_ms or 0, now),
        batch=near_moment(proof.batch_ms or 0, now),
    )


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
    """How long the records of a topic are retained, in words."""
    if topic.cleanup_policy is None:
        return say("kafka.not_known")
    if "delete" not in topic.cleanup_policy:
        return say("kafka.retains_newest_of_each_key")
    parts = [say("kafka.retains_compacted")] if "compact" in topic.cleanup_policy else []
    if topic.retention_ms is not None:
        parts.append(
            say("kafka.retains_without_limit")
            if topic.retention_ms < 0
            else say("kafka.retains_for", length=even_duration(topic.retention_ms))
        )
    if topic.retention_bytes is not None and topic.retention_bytes >= 0:
        parts.append(say("kafka.retains_bytes", amount=topic.retention_bytes))
    return ", ".join(parts) or say("kafka.not_known")


def _topics(text: str | None) -> Positions:
    return (topics_of(parse(text)) or {}) if text is not None else {}


def _numbers(partitions: Iterable[int]) -> str:
    every = sorted(partitions)
    more = f" and {len(every) - 10:,} more" if len(every) > 10 else ""
    return ", ".join(map(str, every[:10])) + more
