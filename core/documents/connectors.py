"""What the sources and the sink said, as it stands in answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.connectors.model import DeltaSourceState, PartitionState, Safety, SinkState
from core.connectors.sink_history import SinkHistory, Writer
from core.documents.base import Part, Texts
from core.judgement import KafkaSourceState, SourceState
from core.sparklogs.evidence import Certainty


@dataclass(frozen=True, kw_only=True, slots=True)
class KafkaTopicPart(Part):
    """One topic of a Kafka source, as the broker has it now."""

    name: str
    exists: bool
    retention: str
    is_recreated: bool
    """It was deleted and recreated since the query read it."""
    sentence: str
    similar: Texts
    """Topics of the broker whose name is close to this one, when it does not exist."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KafkaPartitionPart(Part):
    """One partition of a Kafka source. All numbers are offsets."""

    name: str
    state: PartitionState
    earliest: int | None
    """The oldest offset that is still there."""
    position: int | None
    """The next offset to read after the last committed batch; null for a partition that is new on the
    broker."""
    planned: int | None
    """The end offset of the pending batch; null when no batch is pending."""
    latest: int | None
    """The next offset that will be written."""
    lag: int | None
    """``latest`` - ``position``: an upper bound of records."""
    lost: int
    """Offsets after the position that can no longer be read."""
    safety: Safety
    safe_until_ms: int | None
    """The record at the position does not expire before this time."""
    sentence: str
    """Empty when there is nothing to say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KafkaSourcePart(Part):
    """A Kafka source whose broker was asked."""

    key: str
    kind: Literal["kafka"] = "kafka"
    servers: str
    asked_at_ms: int
    seconds: float
    requests: int
    trouble: str | None
    """Why the broker could not be asked."""
    topics: tuple[KafkaTopicPart, ...]
    partitions: tuple[KafkaPartitionPart, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class DeltaSourcePart(Part):
    """A Delta source whose table log was read. The numbers are table versions."""

    key: str
    kind: Literal["delta"] = "delta"
    partitions: tuple[()] = ()
    table_id: str | None
    same_table: bool | None
    oldest: int | None
    newest: int | None
    position: int | None
    needed_from: int | None
    """The version from which Spark needs the log of the table."""
    is_available: bool | None
    """Whether the log still has that version."""
    lag_versions: int | None
    lag_files: int | None
    lag_bytes: int | None
    lag_rows: int | None
    sentence: str
    certainty: Certainty
    trouble: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedSourcePart(Part):
    """A source that was named and could not be asked."""

    key: str
    kind: str
    partitions: tuple[()] = ()
    trouble: str


SourcePart = KafkaSourcePart | DeltaSourcePart | FailedSourcePart


@dataclass(frozen=True, kw_only=True, slots=True)
class SinkPart(Part):
    """What the log of the sink says about this query."""

    kind: Literal["delta", "file", "plain"]
    holds_up_to_batch: int | None
    """The newest batch of this query in the log of the sink."""
    pending: Literal["written", "skipped"] | None
    """What the sink does with the batch that runs next."""
    skips_up_to: int | None
    """The sink skips batch IDs up to this one, whatever they contain."""
    sentence: str
    certainty: Certainty
    warnings: Texts
    evidence: Texts
    trouble: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SinkRunPart(Part):
    """Batches of one writer in the log of the sink, their IDs ascending."""

    writer: Writer
    """``query``: a streaming query; ``application``: a foreachBatch sink with transaction IDs; ``log``: a
    file sink, whose log names nobody."""
    writer_id: str | None
    is_own: bool
    """The writer is the query of this checkpoint."""
    first_batch: int
    last_batch: int
    batches: int
    missing: tuple[int, ...]
    """Batch IDs between the first and the last that the log does not have."""
    first_version: int | None
    last_version: int | None
    rows: int | None
    first_ms: int | None
    last_ms: int | None


def sink_runs(history: SinkHistory | None) -> tuple[SinkRunPart, ...] | None:
    """The history of the sink, oldest first; None when it was not asked or keeps no log."""
    if history is None:
        return None
    return tuple(
        SinkRunPart(
            writer=run.writer,
            writer_id=run.writer_id or None,
            is_own=run.is_own,
            first_batch=run.first_batch,
            last_batch=run.last_batch,
            batches=run.batches,
            missing=run.missing,
            first_version=run.first_version,
            last_version=run.last_version,
            rows=run.rows,
            first_ms=run.first_ms,
            last_ms=run.last_ms,
        )
        for run in history.runs
    )


def source_part(source: SourceState) -> SourcePart:
    """One source that was asked; one that could not be asked says why."""
    if isinstance(source, KafkaSourceState):
        return _kafka(source)
    if isinstance(source, DeltaSourceState):
        return _delta(source)
    return FailedSourcePart(key=source.key, kind=source.kind, trouble=source.trouble)


def sink_part(sink: SinkState | None) -> SinkPart | None:
    """The sink; None when it was not asked."""
    if sink is None:
        return None
    return SinkPart(
        kind=sink.kind,
        holds_up_to_batch=sink.holds_up_to_batch,
        pending=sink.pending,
        skips_up_to=sink.skips_up_to,
        sentence=sink.sentence,
        certainty=sink.certainty,
        warnings=sink.warnings,
        evidence=sink.evidence,
        trouble=sink.trouble,
    )


def _kafka(source: KafkaSourceState) -> KafkaSourcePart:
    broker = source.broker
    return KafkaSourcePart(
        key=source.key,
        servers=broker.servers,
        asked_at_ms=broker.asked_at_ms,
        seconds=round(broker.seconds, 3),
        requests=broker.requests,
        trouble=broker.trouble,
        topics=tuple(
            KafkaTopicPart(
                name=topic.name,
                exists=topic.exists,
                retention=topic.retention_words,
                is_recreated=topic.is_recreated,
                sentence=topic.sentence,
                similar=topic.similar,
            )
            for topic in source.topics
        ),
        partitions=tuple(
            KafkaPartitionPart(
                name=row.name,
                state=row.state,
                earliest=row.earliest,
                position=row.position,
                planned=row.planned,
                latest=row.latest,
                lag=row.lag,
                lost=row.lost,
                safety=row.safety,
                safe_until_ms=row.safe_until_ms,
                sentence=row.sentence,
            )
            for row in source.partitions
        ),
    )


def _delta(state: DeltaSourceState) -> DeltaSourcePart:
    return DeltaSourcePart(
        key=state.key,
        table_id=state.table_id,
        same_table=state.same_table,
        oldest=state.oldest,
        newest=state.newest,
        position=state.position,
        needed_from=state.needed_from,
        is_available=state.is_available,
        lag_versions=state.lag_versions,
        lag_files=state.lag_files,
        lag_bytes=state.lag_bytes,
        lag_rows=state.lag_rows,
        sentence=state.sentence,
        certainty=state.certainty,
        trouble=state.trouble,
    )
