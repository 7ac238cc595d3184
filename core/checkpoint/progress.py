"""The positions of one source over many batches as int64 matrices, batch x partition."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.checkpoint.amounts import plain_positions
from core.checkpoint.sources.base import Advance, SourceKind
from core.checkpoint.sources.forms import parse, parsed
from core.sparklogs.json_text import kept_counts

Ints = NDArray[np.int64]
AdvanceOf = Callable[[int, object | None, object], Advance | None]

NOT_KNOWN = -1  # also: not there
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class SourceProgress:
    """Read-only arrays. ``positions`` and ``advance`` have one row per batch and one column per partition.

    ``positions``: the logged position (the end of the batch), -1 where the partition is not in the offset.
    ``advance``: how far it moved in this batch, in ``unit``, -1 where that is not known. ``total``: the
    amount of the whole batch, -1 where it is not known.
    """

    key: str
    unit: str
    partitions: tuple[str, ...]
    batch_ids: Ints
    positions: Ints
    advance: Ints
    total: Ints


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """The columns that an offset fills, and its numbers. ``is_nested``: topic -> partition -> number, as
    Kafka writes it."""

    columns: Ints
    numbers: Ints
    is_nested: bool


_EMPTY = _Row(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), False)


def build_progress(
    key: str,
    kind: SourceKind,
    batch_ids: Sequence[int],
    texts: Sequence[tuple[str | None, str | None]],
    advance_of: AdvanceOf,
) -> SourceProgress:
    """``texts``: the start and end text of each batch; ``advance_of(batch id, start, end)`` answers for one
    batch.

    It is not asked where a difference of two rows says the same: offsets of the form topic -> partition ->
    number (Kafka, Event Hubs) with the same partitions at both ends, none of which went down. Thousands of
    batches take a fraction of a second that way.
    """
    rows = _Rows(kind)
    starts = [rows.of(start) for start, _ in texts]
    ends = [rows.of(end) for _, end in texts]
    before, positions = rows.matrix(starts), rows.matrix(ends)
    there = positions >= 0
    difference = np.where(there, positions - before, 0)
    simple = np.fromiter(
        (a.is_nested and b.is_nested for a, b in zip(starts, ends, strict=True)),
        dtype=np.bool_,
        count=len(texts),
    )
    simple &= (there == (before >= 0)).all(axis=1) & (difference >= 0).all(axis=1)
    advance = np.where(simple[:, None] & there, difference, NOT_KNOWN)
    total = np.where(simple, difference.sum(axis=1), NOT_KNOWN)
    unit = ""
    for at, batch_id in enumerate(batch_ids):
        if simple[at] and unit:
            continue
        start, end = texts[at]
        answer = (
            None
            if end is None
            else advance_of(batch_id, None if start is None else parsed(start), parsed(end))
        )
        if answer is None:
            continue
        if answer.amount is not None or not unit:
            unit = answer.unit
        total[at] = NOT_KNOWN if answer.amount is None else _within_64_bits(answer.amount)
        for name, amount in answer.by_partition.items():
            advance[at, rows.column(name)] = NOT_KNOWN if amount is None else _within_64_bits(amount)
    order = rows.order(texts[-1][1] if texts else None)
    arrays = (np.array(batch_ids, dtype=np.int64), positions[:, order], advance[:, order], total)
    for array in arrays:
        array.flags.writeable = False
    return SourceProgress(key, unit, tuple(rows.names[at] for at in order), *arrays)


class _Rows:
    """Turns offset texts into rows of one matrix. Equal texts and equal structures are looked at once."""

    def __init__(self, kind: SourceKind) -> None:
        self.names: list[str] = []
        self._kind = kind
        self._columns: dict[str, int] = {}
        self._by_text: dict[str, _Row] = {}
        self._by_shape: dict[tuple[object, ...], Ints | None] = {}

    def column(self, name: str) -> int:
        at = self._columns.get(name)
        if at is None:
            at = self._columns[name] = len(self.names)
            self.names.append(name)
        return at

    def of(self, text: str | None) -> _Row:
        if text is None:
            return _EMPTY
        row = self._by_text.get(text)
        if row is None:
            row = self._by_text[text] = self._nested(text) or self._any(parse(text))
        return row

    def matrix(self, rows: Sequence[_Row]) -> Ints:
        filled = np.full((len(rows), len(self.names)), NOT_KNOWN, dtype=np.int64)
        for at, row in enumerate(rows):
            filled[at, row.columns] = row.numbers
        return filled

    def order(self, newest: str | None) -> list[int]:
        """The columns: those of the newest offset in its kind's order, then partitions that are gone."""
        present = (
            [self.column(name) for name in self._kind.partitions(parse(newest))] if newest is not None else []
        )
        gone = sorted(set(range(len(self.names))) - set(present), key=lambda at: _natural(self.names[at]))
        return list(dict.fromkeys(present)) + gone

    def _any(self, value: object) -> _Row:
        found = self._kind.positions(value)
        for name in self._kind.partitions(value):
            self.column(name)
        columns = np.fromiter((self.column(name) for name in found), dtype=np.int64, count=len(found))
        numbers = (_within_64_bits(number) for number in found.values())
        return _Row(columns, np.fromiter(numbers, dtype=np.int64, count=len(found)), False)

    def _nested(self, text: str) -> _Row | None:
        value = kept_counts(text)
        if value is None:
            return None
        shape = tuple((topic, tuple(parts)) for topic, parts in value.items())
        if shape not in self._by_shape:
            self._by_shape[shape] = self._shape_columns(value)
        columns = self._by_shape[shape]
        numbers = [number for parts in value.values() for number in parts.values()]
        if columns is None:
            return None
        try:
            return _Row(columns, np.array(numbers, dtype=np.int64), True)
        except OverflowError:
            return None

    def _shape_columns(self, value: dict[str, dict[str, int]]) -> Ints | None:
        """The columns of this structure, when the kind reads it as it stands."""
        plain = plain_positions(self._kind, value)
        if plain is None:
            return None
        return np.fromiter((self.column(name) for name in plain), dtype=np.int64, count=len(plain))


def _within_64_bits(number: int) -> int:
    """A position or an amount as the matrices keep it; one that Spark could not have is not known."""
    return number if -_LARGEST <= number <= _LARGEST else NOT_KNOWN


def _natural(name: str) -> list[tuple[int, str]]:
    return [
        (int(part), "") if part.isdecimal() and len(part) < 19 else (-1, part)
        for part in re.split(r"([0-9]+)", name)
    ]
