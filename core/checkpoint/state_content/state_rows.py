"""The rows of the state as values, read from the files: what a store holds after a batch, one key of it, its
largest rows, the rows that a watermark has passed, or what some batches changed. No JVM.

Which rows these are was compared with Spark's state reader (4.3), store by store.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

from core.checkpoint import Checkpoint
from core.checkpoint.asked import committed_batch, find_operator
from core.checkpoint.conf import ROW_CHECKSUM_KEY
from core.checkpoint.model import OffsetEntry, OperatorState
from core.checkpoint.operator_metadata import StateSchema
from core.checkpoint.restore_chain import expected_partition_ids
from core.checkpoint.state import committed_ids, read_schemas
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
from core.checkpoint.state_content.row_layout import RowLayout, family_prefix, row_layout, split_list
from core.checkpoint.state_content.row_target import Choice, Target, choices, choose_target
from core.checkpoint.state_content.unsafe_row import Json, NotDecodedError, column_types, write_row
from core.errors import FileNotRead, UsageError
from core.messages import say

ENCODING_KEY = "spark.sql.streaming.stateStore.encodingFormat"
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
    question for changes."""

    partition_id: int
    key: Mapping[str, Json]
    value: Json
    key_bytes: int
    value_bytes: int
    batch_id: int | None = None
    change: str | None = None


@dataclass(frozen=True, slots=True)
class RowColumn:
    """A column of the rows: its name, and its type as Spark writes it in SQL."""

    part: Literal["key", "value"]
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class RowsAnswer:
    """``rows``: those asked for, up to the limit. ``total``: how many there are, None when not all partitions
    were gone through. ``is_truncated``: there may be more than are given. ``is_stopped``: it was cancelled
    before all were gone through. ``not_read``: partitions whose rows cannot be told, with the reason.
    ``partitions_read``: how many were."""

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


def row_choices(ck: Checkpoint, operator: OperatorState) -> dict[str, Choice]:
    """What there is to choose from in an operator, by name; empty without a schema that can be read. Raises
    StorageError where one could not be read."""
    return choices(_schemas(ck, operator))


def _schemas(ck: Checkpoint, operator: OperatorState) -> list[StateSchema]:
    """The schemas of an operator; one that is damaged is left out. Raises StorageError for one that could not
    be read: what rows there are rests on it."""
    found = []
    for schema in read_schemas(ck, operator.operator_id):
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
    batch_id = _batch(ck, question)
    ck.load([batch_id])
    operator = find_operator(ck, question.operator_id)
    schemas = _schemas(ck, operator)
    target = choose_target(
        operator, schemas, question.store, question.side, question.variable, question.is_timers
    )
    conf = _conf(ck, batch_id)
    if conf.get(ENCODING_KEY, "unsaferow").lower() != "unsaferow" and target.schema.format_version == 3:
        raise UsageError(say("state_rows.avro", encoding=conf[ENCODING_KEY]))
    has_row_checksums = conf.get(ROW_CHECKSUM_KEY) == "true"
    try:
        layout = row_layout(
            target.schema,
            is_rocksdb=operator.provider == "rocksdb",
            has_row_checksums=has_row_checksums,
            is_list=target.is_list and not target.is_flat,
            prefix_columns=target.prefix_columns,
        )
    except NotDecodedError as error:
        raise UsageError(say("state_rows.layout", store=target.name, reason=error)) from error
    asked = Asked(operator, target.store, batch_id + 1, committed_ids(ck), has_row_checksums)
    scan = _Scan(
        target, layout, _wanted_key(target, layout, question.key), _passed(ck, batch_id, question, target)
    )
    chosen = _partitions(operator, target, question, conf)
    first = batch_id if question.is_of_batch else question.changes[0] if question.changes else None
    parts: Iterable[Contents | PartitionChanges | NotRead] = (
        read_contents(ck.door, asked, chosen)
        if first is None
        else read_changes(ck.door, asked, chosen, first + 1)
    )
    pick = _Pick(question.limit, question.largest, is_cancelled)
    not_read: list[NotRead] = []
    for part in parts:
        if isinstance(part, NotRead):
            not_read.append(part)
            continue
        try:
            found = scan.rows(part) if isinstance(part, Contents) else scan.changes(part)
            pick.take(part.partition_id, found)
        except NotDecodedError as error:
            not_read.append(NotRead(part.partition_id, str(error)))
        if pick.is_full or pick.is_stopped:
            break
    rows = _decoded(pick, target, layout, not_read)
    is_whole = len(pick.read) + len(not_read) == len(chosen) and not (pick.is_full or pick.is_stopped)
    return RowsAnswer(
        batch_id=batch_id,
        operator=operator,
        target=target,
        columns=tuple(_columns(target)),
        rows=tuple(rows),
        total=pick.seen if is_whole and not not_read else None,
        is_truncated=not is_whole or bool(not_read) or pick.seen > len(rows),
        is_stopped=pick.is_stopped,
        is_past_watermark=question.is_past_watermark,
        partitions_read=len(pick.read),
        not_read=tuple(sorted(not_read, key=lambda part: part.partition_id)),
    )


@dataclass(frozen=True, slots=True)
class _Raw:
    """A row as bytes, without the number of its column family."""

    key: bytes
    pieces: list[bytes] | None
    batch_id: int | None = None
    change: str | None = None

    @property
    def value_bytes(self) -> int:
        return sum(map(len, self.pieces or ()))


@dataclass(frozen=True, slots=True)
class _Scan:
    """Chooses the rows of the target, and of those the ones that are asked for. ``key``: the asked key, as
    bytes where keys are one row, else its values. ``passed_ms``: only rows whose time is not after it."""

    target: Target
    layout: RowLayout
    key: bytes | Mapping[str, Json] | None
    passed_micros: int | None

    def rows(self, part: Contents) -> Iterator[_Raw]:
        prefix = self._prefix(part.families, part.has_families)
        for key, pieces in part.rows:
            if not key.startswith(prefix):
                continue
            parts = (
                [[row] for piece in pieces for row in split_list(piece)] if self.target.is_flat else [pieces]
            )
            for found in parts:
                raw = _Raw(key[len(prefix) :], found)
                if self._is_asked(raw):
                    yield raw

    def changes(self, part: PartitionChanges) -> Iterator[_Raw]:
        prefix = self._prefix(part.families, part.has_families)
        for change in part.changes:
            if change.kind == "delete_range":
                raise NotDecodedError(say("state_rows.range_deleted", batch=change.batch_id))
            if change.key.startswith(prefix):
                value, key = change.value, change.key[len(prefix) :]
                parts = [None if value is None else [value]]
                if self.target.is_flat and value is not None:
                    parts = [[row] for row in split_list(value)]
                for pieces in parts:
                    raw = _Raw(key, pieces, change.batch_id, _CHANGES[change.kind])
                    if self._is_asked(raw):
                        yield raw

    def _prefix(self, families: Mapping[str, int], has_families: bool) -> bytes:
        if not has_families:
            return b""
        number = families.get(self.target.family)
        if number is None:
            raise NotDecodedError(say("state_rows.family_number", family=self.target.family))
        return family_prefix(number)

    def _is_asked(self, raw: _Raw) -> bool:
        if isinstance(self.key, bytes):
            if raw.key != self.key:
                return False
        elif self.key is not None and _visible(self.target, self.layout.key(raw.key)) != self.key:
            return False
        if self.passed_micros is None:
            return True
        if raw.pieces is None:
            return False
        expires = self.target.expires(self.layout.key(raw.key), self.layout.value(raw.pieces))
        return expires is not None and expires <= self.passed_micros


class _Pick:
    """The rows to show: the first so many, or the largest so many. Only of partitions that could be read to
    their end, or as far as they were needed."""

    def __init__(self, limit: int, largest: Largest | None, is_cancelled: Callable[[], bool]) -> None:
        self._limit, self._largest, self._is_cancelled = limit, largest, is_cancelled
        self.is_stopped = False
        self.rows: list[tuple[int, _Raw]] = []
        self.seen = 0
        self.read: set[int] = set()

    @property
    def is_full(self) -> bool:
        """Whether what follows changes nothing but the number of rows."""
        return self._largest is None and self.seen > self._limit

    def take(self, partition_id: int, rows: Iterator[_Raw]) -> None:
        """The rows of one partition. Raises NotDecodedError where they cannot be read; none of them counts
        then."""
        seen = 0

        def counted() -> Iterator[tuple[int, _Raw]]:
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

    def _size(self, item: tuple[int, _Raw]) -> int:
        return len(item[1].key) if self._largest == "keys" else item[1].value_bytes


def _decoded(pick: _Pick, target: Target, layout: RowLayout, not_read: list[NotRead]) -> list[StateRow]:
    """The picked rows as values. A partition with one that is no row of the schema is moved to
    ``not_read``."""
    found: list[StateRow] = []
    for partition_id, raw in pick.rows:
        if partition_id not in pick.read:
            continue
        try:
            found.append(_row(partition_id, raw, target, layout))
        except NotDecodedError as error:
            pick.read.remove(partition_id)
            not_read.append(NotRead(partition_id, say("state_rows.layout", store=target.name, reason=error)))
    return [row for row in found if row.partition_id in pick.read]


def _row(partition_id: int, raw: _Raw, target: Target, layout: RowLayout) -> StateRow:
    key = {k: v for k, v in layout.key(raw.key).items() if k not in target.hidden_key_columns}
    value = None if raw.pieces is None else target.without_hidden(layout.value(raw.pieces))
    return StateRow(partition_id, key, value, len(raw.key), raw.value_bytes, raw.batch_id, raw.change)


def _columns(target: Target) -> Iterator[RowColumn]:
    for name, kind in column_types(target.schema.key).items():
        if name not in target.hidden_key_columns:
            yield RowColumn("key", name, kind)
    for name, kind in column_types(target.schema.value).items():
        if name not in target.hidden_value_columns:
            yield RowColumn("value", name, kind)


_CHANGES = {"put": "update", "merge": "append", "delete": "delete"}


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
    """The asked key as bytes where keys are one row, else as the values it is read with. Raises UsageError
    where its columns are not those of the key."""
    if key is None:
        return None
    names = [name for name in layout.key_columns if name not in target.hidden_key_columns]
    if set(names) != key.keys():
        raise UsageError(say("state_rows.key_columns", columns=names))
    if layout.plain_key is None or target.hidden_key_columns:
        return key
    try:
        return layout.plain_key(key)
    except NotDecodedError as error:
        raise UsageError(say("state_rows.key_value", reason=error)) from error


def _visible(target: Target, key: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in key.items() if name not in target.hidden_key_columns}


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
