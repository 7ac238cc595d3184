"""Whether the broker still has what was read: what a checkpoint that is rolled back to an older batch reads
again, and everything from the beginning of the query on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from core.checkpoint.model import OffsetEntry
from core.checkpoint.sources.kafka import positions_read
from core.connectors.kafka.judgement import JudgedPartition, Positions, judge_partition, recreated
from core.connectors.kafka.partitions import (
    batch_time_ms,
    is_outdated,
    kafka_positions,
    recreated_sentence,
    topics_recreated_by_plan,
)
from core.messages import Sentence, say
from core.messages.words import listed

if TYPE_CHECKING:
    from core.checkpoint import Checkpoint
    from core.connectors import ConnectorAnswers
    from core.connectors.answers import BrokerAnswer

_SHOWN = 3  # names in a sentence


def why_not_read_again(ck: Checkpoint, connectors: ConnectorAnswers, batch_id: int) -> Sentence | None:
    """Why the batches after ``batch_id`` cannot read again what they read, by the brokers that were asked;
    None where they can, as far as anybody was asked. A start fails at records that have expired (seen with
    4.3: KAFKA_DATA_LOSS), and reads other records of a topic that was recreated."""
    entry = ck.offset(batch_id)
    for key, answer in _asked(ck, connectors):
        line = entry.source(key) if isinstance(entry, OffsetEntry) else None
        if line is None or line.raw is None:
            continue
        why = _why_not(ck, key, answer, batch_id, positions_read(line.raw))
        if why is not None:
            return why
    return None


def why_not_from_start(ck: Checkpoint, connectors: ConnectorAnswers) -> Sentence | None:
    """Why the brokers that were asked can no longer deliver every record that the query has read; None where
    they can, or nobody knows."""
    for key, answer in _asked(ck, connectors):
        source = ck.source(key)
        initial = source.context.initial if source is not None else None
        if initial is None:
            continue
        began, newest = positions_read(initial), kafka_positions(ck, key)
        absent = [topic for topic in newest if topic in answer.absent]
        if absent:
            return say("kafka.not_complete_gone", names=listed(absent, _SHOWN))
        about = _other_topic(ck, answer, newest)
        if about is not None:
            return say("kafka.not_complete_other_topic", about=about)
        judged = [
            judge_partition(answer, topic, partition, max(began.get(topic, {}).get(partition, 0), 0))
            for topic, read in newest.items()
            for partition, position in read.items()
            if position > max(began.get(topic, {}).get(partition, 0), 0)
        ]
        gone = [each for each in judged if each.state in ("deleted", "behind_log_start")]
        if gone:
            return say("kafka.not_complete_expired", names=_names(gone))
    return None


def _asked(ck: Checkpoint, connectors: ConnectorAnswers) -> Iterator[tuple[str, BrokerAnswer]]:
    """The sources whose broker answered, and has been asked since the newest plan."""
    for key, answer in connectors.brokers.items():
        if answer.trouble is None and not is_outdated(ck, answer):
            yield key, answer


def _other_topic(ck: Checkpoint, answer: BrokerAnswer, newest: Positions) -> str | None:
    """That a topic is not the one that was read, and what shows it; None where nothing does."""
    batch_ms = batch_time_ms(ck)
    proofs = (recreated(answer, topic, read, {}, batch_ms) for topic, read in newest.items())
    proof = next((proof for proof in proofs if proof is not None), None)
    return None if proof is None else recreated_sentence(proof, answer)


def _why_not(
    ck: Checkpoint, key: str, answer: BrokerAnswer, batch_id: int, positions: Positions
) -> Sentence | None:
    newest = kafka_positions(ck, key)
    about = _other_topic(ck, answer, newest)
    if about is not None:
        return say("kafka.not_again_other_topic", about=about)
    by_plan = topics_recreated_by_plan(ck, key, answer, newest, batch_time_ms(ck))
    if by_plan:
        return say("kafka.not_again_planned_back", topic=min(by_plan), planned=ck.pending_batch)
    judged = [
        judge_partition(answer, topic, partition, positions.get(topic, {}).get(partition))
        for topic in positions
        for partition in sorted({*positions[topic], *newest.get(topic, {})})
    ]
    gone = [each for each in judged if each.state == "deleted"]
    if gone:
        return say("kafka.not_again_gone", names=_names(gone), batch=batch_id)
    expired = [each for each in judged if each.missing is not None]
    if not expired:
        return None
    count = sum(last - first + 1 for first, last in filter(None, (each.missing for each in expired)))
    return say("kafka.not_again_expired", names=_names(expired), batch=batch_id, offsets=count)


def _names(judged: list[JudgedPartition]) -> str:
    return listed((each.name for each in judged), _SHOWN)
