"""The answer of ``python -m core forecast``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.analysis.forecast.model import (
    DataEffect,
    Effect,
    FailsAt,
    Outcome,
    SparkError,
    StepStatus,
)
from core.documents.base import Document, Part, Texts, paths
from core.documents.connectors import SinkPart, SourcePart, sink_part, source_part
from core.judgement import Judgement
from core.recovery.deletion_impact import DeletionImpact, Start
from core.sparklogs.evidence import Certainty


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorPart(Part):
    """The error that the user will see."""

    condition: str | None
    """Spark's error condition; null for a plain Java exception."""
    class_: str | None
    message: str
    sqlstate: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class DataPart(Part):
    """What happens to the rows, compared with an undisturbed run."""

    append: Effect
    """In a sink that appends all it gets."""
    overwrite: Effect
    """In a sink that overwrites by batch ID."""
    skip: Effect
    """In a sink that skips batch IDs it has seen (file sink, Delta)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSurePart(Part):
    """Whether the effect will come (true) or can come, because the files cannot tell (false)."""

    append: bool
    overwrite: bool
    skip: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class StepPart(Part):
    """One step of the start."""

    id: str
    what: str
    ok: bool | None
    """null where there is no such answer: ``status`` says why."""
    status: StepStatus
    evidence: Texts
    note: str
    certainty: Certainty


@dataclass(frozen=True, kw_only=True, slots=True)
class RiskPart(Part):
    """Something that Spark accepts without an error. ``id`` is that of a finding."""

    id: str
    sentence: str
    evidence: Texts
    certainty: Certainty
    data: DataPart
    data_sure: DataSurePart


@dataclass(frozen=True, kw_only=True, slots=True)
class ImpactPart(Part):
    """What one way of starting again after deleting the checkpoint repeats and loses."""

    start: Start
    repeats_rows: int | None
    """null when the logs do not record a number."""
    loses_rows: int | None
    at_most: bool
    """The numbers are upper bounds: they count Kafka offsets."""
    certainty: Certainty
    """How sure the numbers are."""
    sentence: str
    skipped_by_file_sink: int = 0
    """Nobody said what the sink is: a file sink skips so many batches of a new checkpoint instead."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForecastDocument(Document):
    """What Spark does at the next start, and why."""

    spark: str
    """The version whose rules were applied."""
    spark_why: str
    outcome: Outcome
    batch_id: int | None
    """The first batch that is run or attempted; null when the start fails before, or nothing runs."""
    fails_at: FailsAt | None
    error: ErrorPart | None
    data: DataPart
    data_sure: DataSurePart
    """"exact" is always sure, "unknown" never."""
    certainty: Certainty
    evidence: Texts
    steps: tuple[StepPart, ...]
    sentence: str
    because: str
    then: str | None
    """What is known to stop a later batch."""
    risks: tuple[RiskPart, ...]
    reason: str | None
    """The ID of the finding behind a failure."""
    not_checked: Texts
    sources: tuple[SourcePart, ...]
    """The sources that were asked (``--kafka``, ``--source``)."""
    sink: SinkPart | None
    """The sink, when it was named (``--sink``)."""
    price_of_deleting: tuple[ImpactPart, ...]
    """The impact of deleting the checkpoint; empty when no batch was planned."""


def forecast_document(judgement: Judgement) -> ForecastDocument:
    """The forecast, what the sources and the sink said, and the impact of deleting the checkpoint."""
    answer = judgement.forecast
    return ForecastDocument(
        location=judgement.ck.location.url,
        spark=answer.spark,
        spark_why=answer.spark_why,
        outcome=answer.outcome,
        batch_id=answer.batch_id,
        fails_at=answer.fails_at,
        error=_error(answer.error),
        data=_data(answer.data),
        data_sure=_data_sure(answer.data),
        certainty=answer.certainty,
        evidence=paths(answer.evidence),
        steps=tuple(
            StepPart(
                id=step.id,
                what=step.what,
                ok=step.ok,
                status=step.status,
                evidence=paths(step.evidence),
                note=step.note,
                certainty=step.certainty,
            )
            for step in answer.steps
        ),
        sentence=answer.sentence,
        because=answer.because,
        then=answer.then,
        risks=tuple(
            RiskPart(
                id=risk.id,
                sentence=risk.sentence,
                evidence=paths(risk.evidence),
                certainty=risk.certainty,
                data=_data(risk.data),
                data_sure=_data_sure(risk.data),
            )
            for risk in answer.risks
        ),
        reason=answer.reason,
        not_checked=answer.not_checked,
        sources=tuple(source_part(source) for source in judgement.sources),
        sink=sink_part(answer.sink),
        price_of_deleting=impact_parts(judgement.impacts),
    )


def impact_parts(impacts: Sequence[DeletionImpact]) -> tuple[ImpactPart, ...]:
    """The impact of deleting the checkpoint, one part for each way of starting again."""
    return tuple(
        ImpactPart(
            start=impact.start,
            repeats_rows=impact.repeats_rows,
            loses_rows=impact.loses_rows,
            at_most=impact.is_at_most,
            certainty=impact.certainty,
            sentence=impact.sentence,
            skipped_by_file_sink=impact.skipped_by_file_sink,
        )
        for impact in impacts
    )


def _error(error: SparkError | None) -> ErrorPart | None:
    if error is None:
        return None
    return ErrorPart(
        condition=error.condition, class_=error.error_class, message=error.message, sqlstate=error.sqlstate
    )


def _data(data: DataEffect) -> DataPart:
    return DataPart(append=data.append, overwrite=data.overwrite, skip=data.skip)


def _data_sure(data: DataEffect) -> DataSurePart:
    return DataSurePart(
        append=data.is_sure("append"), overwrite=data.is_sure("overwrite"), skip=data.is_sure("skip")
    )
