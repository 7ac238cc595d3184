"""Rows of one store of one partition, counted by following its changes from version to version.

A count is exact from the empty state on, or from an HDFS-backed snapshot, which holds all rows. A RocksDB zip
only says how many rows there are, not which; what follows it gives bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from core.checkpoint.state_content.key_runs import KeyRun
from core.checkpoint.state_content.records import Record

How = Literal["recorded", "replayed", "bounds", "unknown"]

_CHECKSUM_BYTES = 4


@dataclass(frozen=True, slots=True)
class KeyCount:
    """How many rows a store of a partition holds, as far as its files tell. ``keys`` is exact or None; the
    bounds are None when unknown."""

    keys: int | None
    at_least: int | None
    at_most: int | None
    how: How

    @classmethod
    def exact(cls, keys: int, how: How) -> KeyCount:
        """A known number."""
        return cls(keys, keys, keys, how)


UNKNOWN = KeyCount(None, None, None, "unknown")


class Replay:
    """The rows as they are after the changes that were applied.

    ``has_row_checksums`` (``spark.sql.streaming.stateStore.rowChecksum.enabled``, Spark 4.1+): the key of a
    delete begins with four bytes of checksum. ``adds_up``: the values are numbers, which
    :attr:`sum_of_values` adds up.
    """

    def __init__(self, has_row_checksums: bool = False, adds_up: bool = False) -> None:
        self._has_row_checksums = has_row_checksums
        self._mark = _number if adds_up and not has_row_checksums else _mark
        self._adds_up = self._mark is _number
        self._base: int | None = 0  # rows of which only the number is known; None when not even that is
        self._rows: dict[bytes, int] = {}  # rows that are known to be there, with a mark of their value
        self._removed: set[bytes] | None = (
            set()
        )  # rows of the base that may be gone; None after a deletion of a whole range

    @property
    def is_exact(self) -> bool:
        """Whether every row is known."""
        return self._base == 0

    @property
    def rows(self) -> Collection[bytes]:
        """The keys that are known to be there."""
        return self._rows.keys()

    @property
    def sum_of_values(self) -> int | None:
        """The sum of all values; None where they are no numbers, or not every row is known."""
        numbers = self.numbers
        return None if numbers is None else sum(numbers.values())

    @property
    def numbers(self) -> Mapping[bytes, int] | None:
        """The value of each row; None where they are no numbers, or not every row is known."""
        return self._rows if self._adds_up and self.is_exact else None

    def forget(self) -> None:
        """A version is missing or damaged: what was there before is not known any more."""
        self.start_from(None)

    def start_from(self, keys: int | None) -> None:
        """All that is known is the number of rows (a RocksDB zip), or nothing."""
        self._base, self._rows, self._removed = keys, {}, set()

    def start_with(self, records: Iterable[Record]) -> None:
        """All rows are known (a snapshot)."""
        self.start_from(0)
        self._rows = self._rows_of(records)

    def holds(self, records: Iterable[Record]) -> bool:
        """Whether the rows are exactly these. True as well when not every row is known."""
        return not self.is_exact or self._rows == self._rows_of(records)

    def apply(self, records: Iterable[Record]) -> None:
        """The changes of the next version."""
        rows, removed, mark = self._rows, self._removed, self._mark
        for kind, key, value in records:
            if kind == "put" or kind == "merge":
                rows[key] = mark(value)
            elif kind == "delete":
                plain = key[_CHECKSUM_BYTES:] if self._has_row_checksums else key
                rows.pop(plain, None)
                if removed is not None and not self.is_exact:
                    removed.add(plain)
            else:
                end = value or b""
                for gone in [row for row in rows if key <= row < end]:
                    del rows[gone]
                self._removed = removed = None

    def apply_keys(self, runs: Iterable[KeyRun]) -> None:
        """The changes of the next version without their values, for who only counts: :meth:`holds` and
        :attr:`sum_of_values` are not to be asked afterwards."""
        rows, removed = self._rows, self._removed
        for run in runs:
            if run.is_put:
                put = dict.fromkeys(run.keys, 0)
                if rows:
                    rows.update(put)
                else:
                    self._rows = rows = put
                continue
            plain = [key[_CHECKSUM_BYTES:] for key in run.keys] if self._has_row_checksums else run.keys
            for key in plain:
                rows.pop(key, None)
            if removed is not None and not self.is_exact:
                removed.update(plain)

    def _rows_of(self, records: Iterable[Record]) -> dict[bytes, int]:
        return {key: self._mark(value) for _, key, value in records}

    def count(self, internal: Collection[int] | None = None) -> KeyCount:
        """The number of rows. ``internal``: the column families that Spark keeps for itself, for a store with
        column families."""
        known = len(self._rows)
        if internal is not None:
            known = sum(_family(key) not in internal for key in self._rows)
        if self._base == 0:
            return KeyCount.exact(known, "replayed")
        if self._base is None:
            return KeyCount(None, known, None, "bounds") if known else UNKNOWN
        removed = None if self._removed is None else len(self._removed)
        fewest = known if removed is None else max(known, self._base - removed)
        most = self._base + known
        return KeyCount.exact(most, "replayed") if fewest == most else KeyCount(None, fewest, most, "bounds")


class ListLengths:
    """How many elements the lists of some column families have, by following their changes: a put is a whole
    list, a merge adds to it."""

    def __init__(self, families: Collection[int]) -> None:
        self._families = families
        self._lengths: dict[bytes, int] | None = {}

    @property
    def elements(self) -> int | None:
        """Of all lists together; None when a change could not be followed."""
        return None if self._lengths is None else sum(self._lengths.values())

    def apply(self, records: Iterable[Record]) -> None:
        """The changes of the next version."""
        for kind, key, value in records:
            lengths = self._lengths
            if lengths is None or _family(key) not in self._families:
                continue
            if kind == "delete":
                lengths.pop(key, None)
                continue
            count = _elements(value or b"") if kind in ("put", "merge") else None
            if count is None:
                self._lengths = None
            else:
                lengths[key] = count + (lengths.get(key, 0) if kind == "merge" else 0)


def _elements(value: bytes) -> int | None:
    """How many rows a list holds: each is preceded by its length. None when the bytes are no such list."""
    at = count = 0
    while at < len(value):
        at += 4 + int.from_bytes(value[at : at + 4], "little")
        count += 1
    return count if at == len(value) else None


def _family(key: bytes) -> int:
    """RocksDB keys begin with the number of their column family where there are any."""
    return int.from_bytes(key[:2], "little", signed=True)


def _mark(value: bytes | None) -> int:
    # Spark 2.1 and 2.2 wrote four bytes too many, and dropped them when they were read: rows are multiples of
    # eight.
    return hash(value[: len(value) & ~7]) if value else 0


def _number(value: bytes | None) -> int:
    """The last column of a row, a long."""
    return int.from_bytes(value[-8:], "little", signed=True) if value else 0
