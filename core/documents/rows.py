"""The answer of ``python -m core rows``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, cast

from core.checkpoint import Checkpoint
from core.checkpoint.state_content.simple_values import Json
from core.checkpoint.state_content.state_rows import Difference, RowsAnswer, StateRow
from core.checkpoint.state_names import DEFAULT_STORE
from core.documents.base import Document, Part
from core.messages import say
from core.spark import StateAnswer, StateQuestion


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnPart(Part):
    """A column of the rows, in its place."""

    part: Literal["key", "value"]
    name: str
    """A name that stands twice is numbered: ``max``, ``max#2``."""
    type: str
    """As Spark writes types in SQL."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowPart(Part):
    """One row, or one change of a row."""

    partition: int
    key: Mapping[str, object]
    """By column. Times are ISO texts in UTC, decimals texts, bytes base64.
    Without ``--reveal`` every value is ``***``."""
    value: object
    """By column; a list of such objects where the row holds a list; null for a deletion."""
    key_bytes: int | None
    """As Spark stored it, without the number of the column family; null when Spark read the rows."""
    value_bytes: int | None
    batch: int | None
    """Of a change: the batch that made it."""
    change: str | None
    """Of a change: update, append (to a list) or delete. Of a difference: added, changed or removed."""
    before: object = None
    """Of a difference: the value at the earlier batch, where there was one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DifferencePart(Part):
    """How many rows differ from those after an earlier batch. A row of a join is added or removed, never
    changed."""

    since_batch: int
    added: int
    changed: int
    removed: int
    unchanged: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedPart(Part):
    """How many rows Spark read in a partition, and whether the files say the same."""

    partition: int
    rows: int
    compared: str
    """How the files tell the number, which is the same: recorded, replayed, or within bounds. unknown: they
    tell none, nothing was compared."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultPart(Part):
    """What a query over the view ``state`` gave."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[Mapping[str, object], ...]
    """Without ``--reveal`` every value is ``***``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowsDocument(Document):
    """Rows of the state after a batch."""

    batch: int
    state_version: int
    operator: int
    store: str
    side: str | None
    variable: str | None
    """The column family, where the store has some."""
    engine: Literal["files", "spark"]
    """What read the rows."""
    revealed: bool
    """Whether keys and values are shown."""
    columns: tuple[ColumnPart, ...]
    rows: tuple[RowPart, ...]
    rows_total: int | None
    """How many rows are asked for; null when not all partitions were gone through."""
    truncated: bool
    """There are more rows, or there may be."""
    partitions_read: int
    partitions_not_read: tuple[int, ...]
    """Their rows are in no number here; ``not_read`` has the reasons."""
    files_read: tuple[str, ...] = ()
    """The state files that the rows were read from, below the location. Empty for the engine spark."""
    difference: DifferencePart | None = None
    """With ``--difference``; of the partitions that could be read at both batches."""
    spark_read: tuple[ComparedPart, ...] = ()
    """Empty for the engine files. A difference is no answer but an error."""
    result: ResultPart | None = None
    """With ``--sql``: what the query gave; ``rows`` is empty then."""


def rows_document(ck: Checkpoint, found: RowsAnswer, side: str | None, *, is_revealed: bool) -> RowsDocument:
    """The rows; keys and values hidden unless ``is_revealed``."""
    target = found.target
    return RowsDocument(
        location=ck.location.url,
        batch=found.batch_id,
        state_version=found.batch_id + 1,
        operator=found.operator.operator_id,
        store=target.store,
        side=side,
        variable=target.family if target.has_families and side is None else None,
        engine="files",
        revealed=is_revealed,
        columns=tuple(ColumnPart(part=c.part, name=c.name, type=c.type) for c in found.columns),
        rows=tuple(_row(row, is_revealed) for row in found.rows),
        rows_total=found.total,
        truncated=found.is_truncated,
        partitions_read=found.partitions_read,
        partitions_not_read=tuple(part.partition_id for part in found.not_read),
        files_read=found.files,
        difference=_difference(found.difference),
    )


def _difference(found: Difference | None) -> DifferencePart | None:
    if found is None:
        return None
    return DifferencePart(
        since_batch=found.since_batch,
        added=found.added,
        changed=found.changed,
        removed=found.removed,
        unchanged=found.unchanged,
    )


def spark_document(
    ck: Checkpoint, question: StateQuestion, found: StateAnswer, *, is_revealed: bool
) -> RowsDocument:
    """The rows that Spark read; all values hidden unless ``is_revealed``."""
    is_query = question.sql is not None
    shown = found.rows if is_revealed else spark_rows_hidden(found, is_query)
    return RowsDocument(
        location=ck.location.url,
        batch=question.batch_id,
        state_version=question.batch_id + 1,
        operator=question.operator,
        store=question.store or DEFAULT_STORE,
        side=question.side,
        variable=question.variable,
        engine="spark",
        revealed=is_revealed,
        columns=(),
        rows=() if is_query else tuple(map(_spark_row, shown)),
        rows_total=found.rows_total,
        truncated=found.is_truncated,
        partitions_read=len(found.rows_per_partition),
        partitions_not_read=(),
        spark_read=tuple(
            ComparedPart(partition=i, rows=rows, compared=found.compared.get(i, "unknown"))
            for i, rows in sorted(found.rows_per_partition.items())
        ),
        result=ResultPart(
            columns=tuple(name for name, _ in found.columns),
            types=tuple(kind for _, kind in found.columns),
            rows=shown,
        )
        if is_query
        else None,
    )


_ABOUT = ("partition_id", "batch_id", "change_type", "key")


def _spark_row(row: Mapping[str, object]) -> RowPart:
    rest = {name: value for name, value in row.items() if name not in _ABOUT}
    batch, change, key = row.get("batch_id"), row.get("change_type"), row.get("key")
    return RowPart(
        partition=cast("int", row.get("partition_id")),
        key=key if isinstance(key, Mapping) else {},
        value=rest["value"] if rest.keys() == {"value"} else rest,
        key_bytes=None,
        value_bytes=None,
        batch=batch if isinstance(batch, int) else None,
        change=change if isinstance(change, str) else None,
    )


def spark_rows_hidden(found: StateAnswer, is_query: bool) -> tuple[Mapping[str, object], ...]:
    """The rows with all values hidden but where a row lies and which batch changed it. A query can give
    anything these names, so that all of its columns are hidden."""
    kept = () if is_query else tuple(name for name in _ABOUT if name != "key")
    hide = masked if is_query else masked_row
    return tuple(
        {name: value if name in kept else hide(cast("Json", value)) for name, value in row.items()}
        for row in found.rows
    )


def masked(value: Json) -> Json:
    """A value hidden as a whole, but for what is null: the keys of a map and the names in a variant are data,
    as values are."""
    return None if value is None else "***"


def masked_row(row: Json) -> Json:
    """The columns of a row, or of a list of rows, with every value hidden."""
    if isinstance(row, dict):
        return {name: masked(value) for name, value in row.items()}
    return [masked_row(each) for each in row] if isinstance(row, list) else masked(row)


def _row(row: StateRow, is_revealed: bool) -> RowPart:
    shown = row if is_revealed else hidden(row)
    return RowPart(
        partition=row.partition_id,
        key=shown.key,
        value=shown.value,
        key_bytes=row.key_bytes,
        value_bytes=row.value_bytes,
        batch=row.batch_id,
        change=row.change,
        before=shown.before,
    )


def hidden(row: StateRow) -> StateRow:
    """The row with all of its values hidden."""
    key = {name: masked(value) for name, value in row.key.items()}
    return replace(row, key=key, value=masked_row(row.value), before=masked_row(row.before))


def count_text(found: RowsAnswer) -> str:
    """How many rows there are, and how many of them are shown."""
    shown = len(found.rows)
    if found.is_stopped:
        return say("state_rows.stopped", shown=shown)
    if found.difference is not None:
        return _difference_text(found, found.difference)
    if found.not_read:
        return say("state_rows.part", shown=shown, partitions=found.partitions_read)
    return shown_of_all(shown, found.total)


def _difference_text(found: RowsAnswer, difference: Difference) -> str:
    counted = {
        "since": difference.since_batch,
        "added": difference.added,
        "changed": difference.changed,
        "removed": difference.removed,
        "unchanged": difference.unchanged,
    }
    if found.not_read:
        text = say("state_rows.difference_part", partitions=found.partitions_read, **counted)
    else:
        text = say("state_rows.difference", **counted)
    if len(found.rows) == difference.added + difference.changed + difference.removed:
        return text
    return f"{text} {say('state_rows.difference_shown', shown=len(found.rows))}"


def shown_of_all(shown: int, total: int | None) -> str:
    """How many rows are shown, of how many; None: there are more than were counted."""
    if total is None:
        return say("state_rows.first", shown=shown)
    if total == shown:
        return say("state_rows.all", total=total)
    return say("state_rows.some", shown=shown, total=total)
