"""The answer of ``python -m core rehearse``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from core.checkpoint import Checkpoint
from core.checkpoint.state_content.simple_values import Json
from core.documents.base import Document, Part, Texts
from core.documents.rows import masked
from core.rehearsal import (
    Against,
    Compared,
    Example,
    Failure,
    PlaceCompared,
    QueryRun,
    Rehearsal,
    RehearsalQuestion,
    RehearsedBatch,
)
from core.rehearsal.model import Outcome, SinkForm, Stopped


@dataclass(frozen=True, kw_only=True, slots=True)
class RehearsedErrorPart(Part):
    """The error that stopped the query."""

    at: Literal["start", "batch"]
    batch: int | None
    output_rows: int | None
    """Rows of that batch that had reached the sink before; null where that is not known."""
    name: str | None
    """As ``explain`` recognises it; null for an error that it does not know."""
    condition: str | None
    """Spark's error condition; null for a plain Java exception."""
    class_: str | None
    message: str
    text: str
    """In full, with its causes."""
    means: str
    action: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StateRowsPart(Part):
    """The rows of a stateful operator after a batch, as Spark reports them."""

    batch: int
    operator: int
    """The position in Spark's report, which is the number of the operator."""
    name: str
    rows: int | None
    updated: int | None
    removed: int | None
    dropped_as_late: int | None = None
    """Rows below the watermark, which it left out; in an aggregation one may stand for many input rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RehearsedBatchPart(Part):
    """A batch that was completed."""

    id: int
    input_rows: int
    output_rows: int | None
    seconds: float
    watermark: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SaidPart(Part):
    """The forecast for the query as it is."""

    outcome: Outcome
    batch_id: int | None
    condition: str | None
    sentence: str
    then: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RehearsedSinkPart(Part):
    """What stood in for the sink."""

    kind: str | None
    """What the query writes to, where it was said or seen."""
    written_as: SinkForm
    note: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CopiedPart(Part):
    """What was copied."""

    files: int
    bytes: int
    left_out: int
    """State files of older versions that the start does not load."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedRowsPart(Part):
    """The rows of a batch of the output, or of a store of the state."""

    batch: int | None
    place: str | None
    """Of the state: operator and store; null for the output."""
    rows_old: int
    rows_new: int
    only_old: int
    only_new: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ExamplePart(Part):
    """Rows of one key that differ."""

    where: Literal["output", "state"]
    batch: int | None
    place: str | None
    key: Mapping[str, object]
    """Empty where rows of both queries could not be paired."""
    old: Mapping[str, object] | None
    new: Mapping[str, object] | None
    differs: Texts
    """The columns that differ."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OldRunPart(Part):
    """What today's query did on its copy."""

    outcome: Outcome
    batch_id: int | None
    error: RehearsedErrorPart | None
    batches: tuple[RehearsedBatchPart, ...]
    rows_written: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AgainstPart(Part):
    """Both queries on two copies. ``only_old`` and ``only_new`` count rows of the output."""

    query_file: str
    equal: bool
    """The same outcome, the same rows in output and state, nothing left out; false where no batch ran."""
    only_old: int
    only_new: int
    old: OldRunPart
    output: tuple[ComparedRowsPart, ...]
    state: tuple[ComparedRowsPart, ...]
    """After the last batch that both completed."""
    examples: tuple[ExamplePart, ...]
    revealed: bool
    input_differs: tuple[int, ...]
    """Batches that did not read the same input."""
    not_compared: Texts


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacePart(Part):
    """A place before and after the rehearsal."""

    place: str
    how: str
    files: int | None
    """null: it was not compared."""
    changed: Texts
    """Files that are gone or differ."""
    added: Texts


@dataclass(frozen=True, kw_only=True, slots=True)
class RehearseDocument(Document):
    """What a query did on a copy of this checkpoint."""

    spark: str
    query_file: str
    outcome: Outcome
    batch_id: int | None
    error: RehearsedErrorPart | None
    forecast: SaidPart
    as_forecast: bool
    differs: Texts
    """In what it was not as forecast."""
    stopped: Stopped
    batches: tuple[RehearsedBatchPart, ...]
    rows_written: int
    state_rows: tuple[StateRowsPart, ...]
    sink: RehearsedSinkPart
    against: AgainstPart | None
    copied: CopiedPart
    original_unchanged: bool
    """The checkpoint is as it was, and nothing that was at source and sink has changed."""
    places: tuple[PlacePart, ...]
    not_checked: Texts
    kept: str | None
    seconds: float
    skipped_by_sink: tuple[int, ...] = ()
    """Of the completed batches those that the sink had before: no row of them went through the query."""


def rehearse_document(
    ck: Checkpoint, question: RehearsalQuestion, found: Rehearsal, *, is_revealed: bool
) -> RehearseDocument:
    """The answer; keys and values hidden unless ``is_revealed``."""
    said, run = found.forecast, found.run
    return RehearseDocument(
        location=ck.location.url,
        spark=found.spark,
        query_file=str(question.query_file),
        outcome=run.outcome,
        batch_id=run.batch_id,
        error=_error(run.failure),
        forecast=SaidPart(
            outcome=said.outcome,
            batch_id=said.batch_id,
            condition=said.error.condition if said.error is not None else None,
            sentence=said.sentence,
            then=said.then,
        ),
        as_forecast=found.as_forecast,
        differs=found.differs,
        stopped=run.stopped,
        batches=_batches(run),
        rows_written=run.rows_written,
        state_rows=tuple(row for batch in run.batches for row in _state_rows(batch)),
        sink=RehearsedSinkPart(kind=found.sink.kind, written_as=found.sink.form, note=found.sink.note),
        against=None if found.against is None else _against(question, found, found.against, is_revealed),
        copied=CopiedPart(
            files=found.copied.files, bytes=found.copied.size_bytes, left_out=found.copied.left_out
        ),
        original_unchanged=found.original_unchanged,
        places=tuple(_place(each) for each in found.places),
        not_checked=found.not_checked,
        kept=None if found.kept is None else str(found.kept),
        seconds=round(found.seconds, 3),
        skipped_by_sink=run.skipped,
    )


def is_equal(found: Rehearsal) -> bool:
    """Whether both queries did the same, as far as they were compared; True where no other was asked for,
    False where no batch ran that could be compared."""
    against = found.against
    if against is None:
        return True
    rows = (*against.output, *against.state)
    return (
        found.run.has_tried
        and against.old.outcome == found.run.outcome
        and (against.old.failure is None) == (found.run.failure is None)
        and not any(each.only_old or each.only_new for each in rows)
    )


def _against(
    question: RehearsalQuestion, found: Rehearsal, against: Against, is_revealed: bool
) -> AgainstPart:
    old = against.old
    return AgainstPart(
        query_file=str(question.against),
        equal=is_equal(found),
        only_old=against.only_old,
        only_new=against.only_new,
        old=OldRunPart(
            outcome=old.outcome,
            batch_id=old.batch_id,
            error=_error(old.failure),
            batches=_batches(old),
            rows_written=old.rows_written,
        ),
        output=tuple(_compared(each) for each in against.output),
        state=tuple(_compared(each) for each in against.state),
        examples=tuple(_example(each, is_revealed) for each in against.examples),
        revealed=is_revealed,
        input_differs=against.input_differs,
        not_compared=against.not_compared,
    )


def _error(failure: Failure | None) -> RehearsedErrorPart | None:
    if failure is None:
        return None
    meaning = failure.explanation
    return RehearsedErrorPart(
        at=failure.at,
        batch=failure.batch,
        output_rows=failure.rows,
        name=meaning.name,
        condition=meaning.condition or failure.condition,
        class_=meaning.error_class,
        message=meaning.message,
        text=failure.text,
        means=meaning.means,
        action=meaning.action,
    )


def _batches(run: QueryRun) -> tuple[RehearsedBatchPart, ...]:
    return tuple(
        RehearsedBatchPart(
            id=each.id,
            input_rows=each.input_rows,
            output_rows=each.output_rows,
            seconds=each.seconds,
            watermark=each.watermark,
        )
        for each in run.batches
    )


def _state_rows(batch: RehearsedBatch) -> list[StateRowsPart]:
    return [
        StateRowsPart(
            batch=batch.id,
            operator=number,
            name=each.name,
            rows=each.rows,
            updated=each.updated,
            removed=each.removed,
            dropped_as_late=each.dropped_as_late,
        )
        for number, each in enumerate(batch.operators)
    ]


def _compared(each: Compared) -> ComparedRowsPart:
    return ComparedRowsPart(
        batch=each.batch,
        place=each.place,
        rows_old=each.rows_old,
        rows_new=each.rows_new,
        only_old=each.only_old,
        only_new=each.only_new,
    )


def _example(each: Example, is_revealed: bool) -> ExamplePart:
    return ExamplePart(
        where=each.where,
        batch=each.batch,
        place=each.place,
        key=_shown(each.key, is_revealed) or {},
        old=_shown(each.old, is_revealed),
        new=_shown(each.new, is_revealed),
        differs=each.differs,
    )


def _shown(row: Mapping[str, Json] | None, is_revealed: bool) -> Mapping[str, object] | None:
    if row is None or is_revealed:
        return row
    return {name: masked(value) for name, value in row.items()}


def _place(each: PlaceCompared) -> PlacePart:
    return PlacePart(place=each.place, how=each.how, files=each.files, changed=each.changed, added=each.added)
