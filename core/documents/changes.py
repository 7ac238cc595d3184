"""The answer of ``python -m core changes``."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis.changes import ChangesReport, Judged, SinkName, What
from core.analysis.changes.model import Column, FailsAt, Recipe, Verdict
from core.checkpoint import Checkpoint
from core.documents.base import Document, Part, Texts, paths
from core.sparklogs.evidence import Certainty


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnPart(Part):
    """A column of the state."""

    name: str
    type: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenSourcePart(Part):
    """A source of the query that wrote the checkpoint, in the order of the plan."""

    key: str
    kind: str
    place: Texts
    """Directories of the files that were read, topics, or the id of the table; empty where the files do not
    tell."""
    named: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenOperatorPart(Part):
    """A stateful operator with the columns that Spark compares."""

    id: int
    name: str | None
    keys: tuple[ColumnPart, ...]
    values: tuple[ColumnPart, ...]
    window: bool
    """Whether a column of the key is a time window."""
    schema_read: bool
    """False: no schema could be read, keys and values are not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WasPart(Part):
    """The query that wrote the checkpoint, as far as its files tell."""

    sources: tuple[WrittenSourcePart, ...]
    operators: tuple[WrittenOperatorPart, ...]
    partitions: int | None
    """The shuffle partitions that the checkpoint pins."""
    provider: str | None
    watermark_delay_ms: int | None
    """null where no column of the state carries a watermark."""
    output_mode: str | None
    """null where the files do not tell: they do for transformWithState alone."""
    offset_log_version: int | None
    state_format: int | None
    """1 or 2 (state checkpoint format); null without state."""
    state_encoding: str | None
    sink: SinkName | None
    """What was said with ``--set sink=...``; a checkpoint does not name its sink."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangePart(Part):
    """One change and what it does."""

    what: What
    value: str
    """What it becomes, as it was asked or one of the plain values."""
    verdict: Verdict
    fails_at: FailsAt | None
    condition: str | None
    """Spark's error condition; null for a plain Java exception and where nothing fails."""
    sentence: str
    action: str
    recipe: Recipe | None
    """The recovery option that fits (``recover --option ...``)."""
    rule: str
    """A row of ``docs/changes.md``."""
    certainty: Certainty
    rollback: str
    """What the old query meets when it is started again afterwards."""
    evidence: Texts
    was: str | None
    """In the old query file, in short; null without --old and --new."""
    becomes: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangesDocument(Document):
    """What a changed query does to this checkpoint, before it is deployed."""

    spark: str
    spark_why: str
    was: WasPart
    changes: tuple[ChangePart, ...]
    worst: Verdict
    today: str
    """What the query as it is does at its next start."""
    checklist: Texts
    """A safe deployment, step by step, with the values of this checkpoint."""
    not_checked: Texts
    compared_files: bool
    """Whether the changes come out of two query files (--old, --new)."""
    remarks: Texts
    """What is to be known about the two files, such as an old one that did not write this checkpoint."""


def changes_document(ck: Checkpoint, report: ChangesReport) -> ChangesDocument:
    """What was judged."""
    query = report.query
    return ChangesDocument(
        location=ck.location.url,
        spark=report.spark,
        spark_why=report.spark_why,
        was=WasPart(
            sources=tuple(
                WrittenSourcePart(key=each.key, kind=each.kind, place=each.place, named=each.is_named)
                for each in query.sources
            ),
            operators=tuple(
                WrittenOperatorPart(
                    id=each.id,
                    name=each.name,
                    keys=_columns(each.keys),
                    values=_columns(each.values),
                    window=each.has_window,
                    schema_read=each.has_schema,
                )
                for each in query.operators
            ),
            partitions=query.partitions,
            provider=query.provider,
            watermark_delay_ms=query.watermark_delay_ms,
            output_mode=query.output_mode,
            offset_log_version=query.offset_log_version,
            state_format=query.state_format,
            state_encoding=query.state_encoding,
            sink=query.sink,
        ),
        changes=tuple(_change(each, report) for each in report.changes),
        worst=report.worst,
        today=report.today,
        checklist=report.checklist,
        not_checked=report.not_checked,
        compared_files=report.compared is not None,
        remarks=report.compared.remarks if report.compared is not None else (),
    )


def _columns(found: tuple[Column, ...]) -> tuple[ColumnPart, ...]:
    return tuple(ColumnPart(name=column.name, type=column.type) for column in found)


def _change(change: Judged, report: ChangesReport) -> ChangePart:
    difference = report.difference(change)
    return ChangePart(
        what=change.what,
        value=change.value,
        verdict=change.verdict,
        fails_at=change.fails_at,
        condition=change.condition,
        sentence=change.sentence,
        action=change.action,
        recipe=change.recipe,
        rule=change.rule,
        certainty=change.certainty,
        rollback=change.rollback,
        evidence=paths(change.evidence),
        was=None if difference is None else difference.old,
        becomes=None if difference is None else difference.new,
    )
