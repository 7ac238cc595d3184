"""Whether the broker still has what was read: what a checkpoint that is rolled back to an older batch reads
again, and everything from the beginning of the query on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.checkpoint.model import OffsetEntry
from core.checkpoint.sources.kafka import positions_read
from core.connectors.kafka.judgement import JudgedPartition, Positions, judge_partition, recreated
from core.connectors.kafka.partitions import (
    batch_time_ms,
    is_outdated,
    kafka_positions,
    recreated_sentence,
    topics_planned_back,
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
    for key, answer in connectors.brokers.items():
        line = entry.source(key) if isinstance(entry, OffsetEntry) else None
        if line is None or line.raw is None or answer.trouble is not None or is_outdated(ck, answer):
            continue
        why = _why_not(ck, key, answer, batch_id, positions_read(line.raw))
        if why is not None:
            return why
    return None


def why_not_from_start(ck: Checkpoint, connectors: ConnectorAnswers) -> Sentence | None:
    """Why the brokers that were asked can no longer deliver every record that the query has read; None where
    they can, or nobody knows."""
    for key, answer in connectors.brokers.items():
        source = ck.source(key)
        initial = source.context.initial if source is not None else None
        if initial is None or answer.trouble is not None or is_outdated(ck, answer):
            continue
        began, newest = positions_read(initial), kafka_positions(ck, key)
        absent = [topic for topic in newest if topic in answer.absent]
        if absent:
            return say("kafka.not_complete_gone", names=listed(absent, _SHOWN))
        for topic, read in newest.items():
            proof = recreated(answer, topic, read, {}, batch_time_ms(ck))
            if proof is not None:
                return say("kafka.not_complete_other_topic", about=recreated_sentence(proof, answer))
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


def _why_not(
    ck: Checkpoint, key: str, answer: BrokerAnswer, batch_id: int, positions: Positions
) -> Sentence | None:
    newest, batch_ms = kafka_positions(ck, key), batch_time_ms(ck)
    for topic, read in newest.items():
        proof = recreated(answer, topic, read, {}, batch_ms)
        if proof is not None:
            return say("kafka.not_again_other_topic", about=recreated_sentence(proof, answer))
    for topic in topics_planned_back(ck, key, newest):
        ages = {
            judge_partition(answer, topic, p, at, batch_ms=batch_ms).age for p, at in newest[topic].items()
        }
        if "older" not in ages:
            return say("kafka.not_again_planned_back", topic=topic, planned=ck.pending_batch)
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
