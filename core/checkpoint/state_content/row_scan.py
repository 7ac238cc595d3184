"""The rows of one target among everything that a store of a partition holds, as bytes: those of its column
family, of one key, or past a watermark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from core.checkpoint.state_content.contents import Contents, PartitionChanges
from core.checkpoint.state_content.row_layout import RowLayout, family_prefix
from core.checkpoint.state_content.row_target import Target
from core.checkpoint.state_content.simple_values import Json
from core.checkpoint.state_content.unsafe_row import NotDecodedError
from core.messages import say

CHANGES = {"put": "update", "merge": "append", "delete": "delete"}
"""How a record changes a row, as Spark's change feed calls it."""


@dataclass(frozen=True, slots=True)
class RawRow:
    """A row as bytes, without the number of its column family."""

    key: bytes
    pieces: list[bytes] | None
    batch_id: int | None = None
    change: str | None = None

    @property
    def value_bytes(self) -> int:
        """As Spark stored it, all pieces of a list together."""
        return sum(map(len, self.pieces or ()))


@dataclass(frozen=True, slots=True)
class RowScan:
    """Chooses the rows of the target, and of those the ones that are asked for. ``key``: the asked key, as
    bytes where keys are one row, else its values. ``passed_micros``: only rows whose time is not after it."""

    target: Target
    layout: RowLayout
    key: bytes | Mapping[str, Json] | None
    passed_micros: int | None

    def rows(self, part: Contents) -> Iterator[RawRow]:
        """Of what a partition holds. Iterating raises NotDecodedError where the files are damaged."""
        prefix = self._prefix(part.families, part.has_families)
        for key, pieces in part.rows:
            if not key.startswith(prefix):
                continue
            parts = [[row] for row in self.layout.rows_of(pieces)] if self.target.is_flat else [pieces]
            for found in parts:
                raw = RawRow(key[len(prefix) :], found)
                if self._is_asked(raw):
                    yield raw

    def changes(self, part: PartitionChanges) -> Iterator[RawRow]:
        """Of what versions changed in it. Iterating raises NotDecodedError for a range that was deleted."""
        prefix = self._prefix(part.families, part.has_families)
        for change in part.changes:
            if change.kind == "delete_range":
                raise NotDecodedError(say("state_rows.range_deleted", batch=change.batch_id))
            if change.key.startswith(prefix):
                value, key = change.value, change.key[len(prefix) :]
                parts = [None if value is None else [value]]
                if self.target.is_flat and value is not None:
                    parts = [[row] for row in self.layout.rows_of([value])]
                for pieces in parts:
                    raw = RawRow(key, pieces, change.batch_id, CHANGES[change.kind])
                    if self._is_asked(raw):
                        yield raw

    def _prefix(self, families: Mapping[str, int], has_families: bool) -> bytes:
        if not has_families:
            return b""
        number = families.get(self.target.family)
        if number is None:
            raise NotDecodedError(say("state_rows.family_number", family=self.target.family))
        return family_prefix(number)

    def _is_asked(self, raw: RawRow) -> bool:
        if isinstance(self.key, bytes):
            if raw.key != self.key:
                return False
        elif self.key is not None and visible(self.target, self.layout.key(raw.key)) != self.key:
            return False
        if self.passed_micros is None:
            return True
        if raw.pieces is None:
            return False
        expires = self.target.expires(self.layout.key(raw.key), self.layout.value(raw.pieces))
        return expires is not None and expires <= self.passed_micros


def visible(target: Target, key: Mapping[str, Json]) -> dict[str, Json]:
    """The key without the columns that Spark keeps for itself."""
    return {name: value for name, value in key.items() if name not in target.hidden_key_columns}
