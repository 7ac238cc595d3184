"""The rows of the state as values, read from the files: what a store holds after a batch, one key of it, its
largest rows, the rows that a watermark has passed, or what some batches changed. No JVM.

Which rows these are was compared with Spark's state reader (4.3), store by store.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Literal

from core.checkpoint import Checkpoint
from core.checkpoint.asked import committed_batch, find_operator
from core.checkpoint.conf import ENCODING_KEY, ROW_CHECKSUM_KEY
from core.checkpoint.model import OffsetEntry, OperatorState
from core.checkpoint.operator_metadata import StateSchema
from core.checkpoint.restore_chain import expected_partition_ids
from core.checkpoint.state import committed_ids, operator_outline, read_all_schemas, schemas_of
from core.checkpoint.state_content.avro_row import NO_OTHER
from core.checkpoint.state_content.contents import (
    Asked,
    Contents,
    NotRead,
    PartitionChanges,
    read_changes,
    read_contents,
)
from core.checkpoint.state_content.partitioning import hashable_columns, partition_ids
from core.checkpoint.state_content.placement import STRICT_DISTRIBUTION_KEY
from core.checkpoint.state_content.row_layout import RowLayout, row_layout
from core.checkpoint.state_content.row_scan import RawRow, RowScan, visible
from core.checkpoint.state_content.row_target import Choice, Target, choices, choose_target
from core.checkpoint.state_content.simple_values import Json
from core.checkpoint.state_content.unsafe_row import NotDecodedError, can_write, column_types, write_row
from core.errors import FileNotRead, UsageError
from core.messages import say

CANCEL_EVERY = 1_000
"""Rows between two looks at whether somebody cancelled."""
Largest = Literal["keys", "values"]


@dataclass(frozen=True, slots=True)
class RowsQuestion:
    """What is asked of the state after ``batch_id`` (default: the last committed batch).

    ``store``, ``side`` (of a join) and ``variable`` (of transformWithState, or any column family) say which
    rows; ``is_timers`` those of the registered timers. ``key``: the values of the key's columns.
    ``changes``: first and last batch, instead of what is there after one; ``is_of_batch``: what that one
    batch changed. ``is_past_watermark``: only rows whose
    event time the watermark of the batch has passed. ``largest``: the largest by bytes first. ``limit``: so
    many rows at most.
    """

    batch_id: int | None = None
    operator_id: int = 0
    store: str | None = None
    side: str | None = None
    variable: str | None = None
    is_timers: bool = False
    partition_id: int | None = None
    key: Mapping[str, Json] | None = None
    changes: tuple[int, int] | None = None
    is_of_batch: bool = False
    is_past_watermark: bool = False
    largest: Largest | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class StateRow:
    """One row. ``value`` is a list where a row holds one, None for a deletion. ``key_bytes`` and
    ``value_bytes`` are as Spark stored them. ``batch_id`` and ``change`` ("update", "append", "delete"): of a
    question for changes. Of a difference ``change`` is "added", "changed" or "removed", and ``before`` the
    value at the earlier version."""

    partition_id: int
    key: Mapping[str, Json]
    value: Json
    key_bytes: int
    value_bytes: int
    batch_id: int | None = None
    change: str | None = None
    before: Json = None


@dataclass(frozen=True, slots=True)
class RowColumn:
    """A column of the rows: its name, and its type as Spark writes it in SQL."""

    part: Literal["key", "value"]
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Difference:
    """How many rows were added, changed and removed since the earlier version, that of ``since_batch``, and
    how many are the same. None of them counts in partitions that could not be read."""

    since_batch: int
    added: int
    changed: int
    removed: int
    unchanged: int


@dataclass(frozen=True, slots=True)
class RowsAnswer:
    """``rows``: those asked for, up to the limit. ``total``: how many there are, None when not all partitions
    were gone through. ``is_truncated``: there may be more than are given. ``is_stopped``: it was cancelled
    before all were gone through. ``not_read``: partitions whose rows cannot be told, with the reason.
    ``partitions_read``: how many were. ``files``: the paths of what the rows were read from. ``difference``:
    what the comparison with an earlier version counted, where that was asked for."""

    batch_id: int
    operator: OperatorState
    target: Target
    columns: tuple[RowColumn, ...]
    rows: tuple[StateRow, ...]
    total: int | None
    is_truncated: bool
    is_stopped: bool
    is_past_watermark: bool
    partitions_read: int
    not_read: tuple[NotRead, ...] = ()
    files: tuple[str, ...] = ()
    difference: Difference | None = None


@dataclass(frozen=True, slots=True)
class RowPlan:
    """A question that fits the checkpoint: what is read, and which of its rows are asked for.
    ``partitions``: those to read, ascending."""

    batch_id: int
    operator: OperatorState
    target: Target
    layout: RowLayout
    asked: Asked
    scan: RowScan
    partitions: tuple[int, ...]


def row_choices(ck: Checkpoint, operator: OperatorState) -> dict[str, Choice]:
    """What there is to choose from in an operator, by name; empty without a schema that can be read. Raises
    StorageError where one could not be read."""
    return choices(_schemas(ck, operator))


def _schemas(ck: Checkpoint, operator: OperatorState, batch_id: int | None = None) -> list[StateSchema]:
    """The schemas of an operator as they were at a batch (default: the newest); one that is damaged is left
    out. Raises StorageError for one that could not be read: what rows there are rests on it."""
    found = []
    for schema in schemas_of(ck, operator, batch_id):
        if isinstance(schema, StateSchema):
            found.append(schema)
        elif schema.is_read_failure:
            reason = schema.clause or schema.reason
            raise FileNotRead(
                say("state_rows.schema_not_read", path=schema.evidence, reason=reason.rstrip(".")),
                ck.location.url,
            )
    return found


def read_rows(
    ck: Checkpoint, question: RowsQuestion, is_cancelled: Callable[[], bool] = lambda: False
) -> RowsAnswer:
    """The rows that are asked for, by the files.

    Raises UsageError for a question that does not fit the checkpoint, StorageError when the store cannot be
    read at all. A partition that cannot be read is in ``not_read``; its rows are in no other number.
    """
    plan = plan_rows(ck, question)
    batch_id, target, chosen = plan.batch_id, plan.target, plan.partitions
    first = batch_id if question.is_of_batch else question.changes[0] if question.changes else None
    parts: Iterable[Contents | PartitionChanges | NotRead] = (
        read_contents(ck.door, plan.asked, chosen)
        if first is None
        else read_changes(ck.door, plan.asked, chosen, first + 1)
    )
    pick = _Pick(question.limit, question.largest, is_cancelled)
    not_read: list[NotRead] = []
    files: list[str] = []
    for part in parts:
        if isinstance(part, NotRead):
            not_read.append(part)
            continue
        try:
            rows_of = plan.scan.rows(part) if isinstance(part, Contents) else plan.scan.changes(part)
            pick.take(part.partition_id, rows_of)
            files += part.files
        except NotDecodedError as error:
            not_read.append(NotRead(part.partition_id, str(error)))
        if pick.is_full or pick.is_stopped:
            break
    rows = _decoded(pick, target, plan.layout, not_read)
    is_whole = len(pick.read) + len(not_read) == len(chosen) and not (pick.is_full or pick.is_stopped)
    return RowsAnswer(
        batch_id=batch_id,
        operator=plan.operator,
        target=target,
        columns=tuple(row_columns(target)),
        rows=tuple(rows),
        total=pick.seen if is_whole and not not_read else None,
        is_truncated=not is_whole or bool(not_read) or pick.seen > len(rows),
        is_stopped=pick.is_stopped,
        is_past_watermark=question.is_past_watermark,
        partitions_read=len(pick.read),
        not_read=tuple(sorted(not_read, key=lambda part: part.partition_id)),
        files=tuple(files),
    )


def plan_rows(ck: Checkpoint, question: RowsQuestion) -> RowPlan:
    """What a question means in a checkpoint. Raises UsageError and StorageError as :func:`read_rows`
    does."""
    batch_id = _batch(ck, question)
    ck.load([batch_id])
    conf = _conf(ck, batch_id)
    operator, is_whole = _operator(ck, question)
    schemas = _schemas(ck, operator, batch_id)
    target = choose_target(
        operator, schemas, question.store, question.side, question.variable, question.is_timers
    )
    encoding = conf.get(ENCODING_KEY, "unsaferow").lower() if target.has_families else "unsaferow"
    if encoding not in ("unsaferow", "avro"):
        raise UsageError(say("state_rows.encoding", encoding=encoding[:60]))
    has_row_checksums = conf.get(ROW_CHECKSUM_KEY) == "true"
    try:
        layout = row_layout(
            target.schema,
            is_rocksdb=operator.provider == "rocksdb",
            has_row_checksums=has_row_checksums,
            is_list=target.is_list and not target.is_flat,
            is_flat=target.is_flat,
            is_avro=encoding == "avro",
            prefix_columns=target.prefix_columns,
            older_values=_older_values(ck, operator, target) if encoding == "avro" else NO_OTHER,
        )
    except NotDecodedError as error:
        raise UsageError(say("state_rows.layout", store=target.name, reason=error)) from error
    asked = Asked(operator, target.store, batch_id + 1, committed_ids(ck), has_row_checksums)
    scan = RowScan(
        target, layout, _wanted_key(target, layout, question.key), _passed(ck, batch_id, question, target)
    )
    chosen = tuple(_partitions(operator, target, question, conf))
    if not is_whole:
        only = chosen[0] if len(chosen) == 1 else None
        found = None if only is None else operator_outline(ck, question.operator_id, only)
        operator = found or find_operator(ck, question.operator_id)
        asked = replace(asked, operator=operator)
    return RowPlan(batch_id, operator, target, layout, asked, scan, chosen)


def _operator(ck: Checkpoint, question: RowsQuestion) -> tuple[OperatorState, bool]:
    """The operator, and whether all of its partitions were listed: for one partition or one key the others
    are not, where it is known how many there are."""
    if ck.has_state and (question.partition_id is not None or question.key is not None):
        outline = operator_outline(ck, question.operator_id)
        if outline is not None and outline.expected_partitions is not None:
            return outline, False
    return find_operator(ck, question.operator_id), True


def _older_values(ck: Checkpoint, operator: OperatorState, target: Target) -> dict[int, Mapping[str, object]]:
    """The schemas that values of the target were ever written with, by their ids."""
    return {
        schema.value_id: schema.value
        for schema in read_all_schemas(ck, operator)
        if (schema.store, schema.column_family) == (target.store, target.family)
    }


class _Pick:
    """The rows to show: the first so many, or the largest so many. Only of partitions that could be read to
    their end, or as far as they were needed."""

    def __init__(self, limit: int, largest: Largest | None, is_cancelled: Callable[[], bool]) -> None:
        self._limit, self._largest, self._is_cancelled = limit, largest, is_cancelled
        self.is_stopped = False
        self.rows: list[tuple[int, RawRow]] = []
        self.seen = 0
        self.read: set[int] = set()

    @property
    def is_full(self) -> bool:
        """Whether what follows changes nothing but the number of rows."""
        return self._largest is None and self.seen > self._limit

    def take(self, partition_id: int, rows: Iterator[RawRow]) -> None:
        """The rows of one partition. Raises NotDecodedError where they cannot be read; none of them counts
        then."""
        seen = 0

        def counted() -> Iterator[tuple[int, RawRow]]:
            nonlocal seen
            for raw in rows:
                seen += 1
                yield partition_id, raw
                if not seen % CANCEL_EVERY and self._is_cancelled():
                    self.is_stopped = True
                    return

        if self._largest is None:
            room = self._limit - self.seen
            found = list(islice(counted(), room + 1))
            self.rows += found[:room]
        else:
            self.rows = heapq.nlargest(self._limit, chain(self.rows, counted()), key=self._size)
        self.seen += seen
        self.read.add(partition_id)
        self.is_stopped = self.is_stopped or self._is_cancelled()

    def _size(self, item: tuple[int, RawRow]) -> int:
        return len(item[1].key) if self._largest == "keys" else item[1].value_bytes


def _decoded(pick: _Pick, target: Target, layout: RowLayout, not_read: list[NotRead]) -> list[StateRow]:
    """The picked rows as values. A partition with one that is no row of the schema is moved to
    ``not_read``."""
    found: list[StateRow] = []
    for partition_id, raw in pick.rows:
        if partition_id not in pick.read:
            continue
        try:
            found.append(decoded_row(partition_id, raw, target, layout))
        except NotDecodedError as error:
            pick.read.remove(partition_id)
            not_read.append(NotRead(partition_id, say("state_rows.layout", store=target.name, reason=error)))
    return [row for row in found if row.partition_id in pick.read]


def decoded_row(partition_id: int, raw: RawRow, target: Target, layout: RowLayout) -> StateRow:
    """A row as values. Raises NotDecodedError for bytes that are no row of the schema."""
    key = visible(target, layout.key(raw.key))
    value = None if raw.pieces is None else target.without_hidden(layout.value(raw.pieces))
    return StateRow(partition_id, key, value, len(raw.key), raw.value_bytes, raw.batch_id, raw.change)


def row_columns(target: Target) -> Iterator[RowColumn]:
    """The columns of the rows, those of the key first."""
    for name, kind in column_types(target.schema.key).items():
        if name not in target.hidden_key_columns:
            yield RowColumn("key", name, kind)
    for name, kind in column_types(target.schema.value).items():
        if name not in target.hidden_value_columns:
            yield RowColumn("value", name, kind)


def _batch(ck: Checkpoint, question: RowsQuestion) -> int:
    if question.changes is None:
        return committed_batch(ck, question.batch_id)
    first, last = question.changes
    if first > last:
        raise UsageError(say("state_rows.changes_order", first=first, last=last))
    committed_batch(ck, first)
    return committed_batch(ck, last)


def _conf(ck: Checkpoint, batch_id: int) -> Mapping[str, str]:
    entry = ck.offset(batch_id)
    return entry.conf if isinstance(entry, OffsetEntry) else ck.conf


def _partitions(
    operator: OperatorState, target: Target, question: RowsQuestion, conf: Mapping[str, str]
) -> list[int]:
    """The partitions to read: all, the asked one, or the one that the asked key belongs to."""
    expected = expected_partition_ids(operator)
    if question.partition_id is not None:
        if question.partition_id not in expected:
            raise UsageError(
                say("state_rows.no_partition", partition=question.partition_id, last=len(expected) - 1)
            )
        return [question.partition_id]
    home = None if question.key is None else key_partition(operator, target, question.key, conf)
    return list(expected) if home is None or home not in expected else [home]


def key_partition(
    operator: OperatorState, target: Target, key: Mapping[str, Json], conf: Mapping[str, str]
) -> int | None:
    """The partition in which Spark keeps a key; None where that cannot be computed: keys with columns whose
    hash is not known here, rows that are spread by a part of the key, Spark before 3.3."""
    spread_by = target.spread_by
    if (
        spread_by is None
        or operator.expected_partitions is None
        or conf.get(STRICT_DISTRIBUTION_KEY) != "true"
    ):
        return None
    columns = hashable_columns(spread_by)
    if columns is None:
        return None
    try:
        row = write_row(spread_by, {name: key[name] for name in target.spread_columns})
    except (KeyError, NotDecodedError):
        return None
    found = partition_ids([row], columns, operator.expected_partitions)
    return None if found is None else int(found[0])


def _wanted_key(
    target: Target, layout: RowLayout, key: Mapping[str, Json] | None
) -> bytes | Mapping[str, Json] | None:
    """The asked key as bytes where keys are one row of types that can be written, else as the values it is
    read with. Raises UsageError where its columns are not those of the key."""
    if key is None:
        return None
    names = [name for name in layout.key_columns if name not in target.hidden_key_columns]
    if set(names) != key.keys():
        raise UsageError(say("state_rows.key_columns", columns=names))
    if layout.plain_key is None or target.hidden_key_columns or not can_write(target.schema.key):
        return key
    try:
        return layout.plain_key(key)
    except NotDecodedError as error:
        raise UsageError(say("state_rows.key_value", reason=error)) from error


def _passed(ck: Checkpoint, batch_id: int, question: RowsQuestion, target: Target) -> int | None:
    """The watermark of the batch in microseconds, where only rows it has passed are asked for."""
    if not question.is_past_watermark:
        return None
    if not target.has_event_time:
        raise UsageError(say("state_rows.no_event_time", store=target.name))
    entry = ck.offset(batch_id)
    watermark_ms = entry.watermark_ms if isinstance(entry, OffsetEntry) else None
    if not watermark_ms:
        raise UsageError(say("state_rows.no_watermark", batch=batch_id))
    return watermark_ms * 1000
