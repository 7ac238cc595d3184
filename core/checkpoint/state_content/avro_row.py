"""Rows that Spark encoded as Avro, read by the schema of the state (StructType as JSON): bytes in, JSON
values out, the same as :mod:`unsafe_row` gives.

transformWithState alone keeps its state so, where ``spark.sql.streaming.stateStore.encodingFormat`` is
``avro``; Spark refuses it for every other operator (seen with 4.3). No file holds the Avro schema: Spark
derives it from the StructType. Each column is a union of null and its type, and so is what is nested in
arrays and maps; simple elements are none, so that Spark refuses nulls there. Two bytes before a row, the
lower one first, name the schema it was written with, but for the part of a key that it can be scanned by; a
row of an older schema is shown by the newest one (:mod:`avro_change`). Read from files of Spark 4.0 and 4.3
and compared with Spark's state reader.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from types import MappingProxyType

from core.checkpoint.operator_metadata import column_fields
from core.checkpoint.state_content.avro_change import Show, shown_as
from core.checkpoint.state_content.simple_values import Json, decimal_text
from core.checkpoint.state_content.unsafe_row import (
    DECIMAL,
    NotDecodedError,
    column_labels,
    is_text,
    map_of,
    slot_reader,
)
from core.messages import say

_Read = Callable[[bytes, int], tuple[Json, int]]
"""Bytes and where a value begins; the value, and where it ends."""
_ReadStruct = Callable[[bytes, int], tuple[dict[str, Json], int]]
NO_OTHER: Mapping[int, Mapping[str, object]] = MappingProxyType({})

_ID_BYTES = 2
_DEEPEST = 32
_LARGEST_SHIFT = 63
_FIXED_BYTES: Mapping[str, int] = {"boolean": 1, "float": 4, "double": 8}
_NUMBERS = ("byte", "short", "integer", "long", "date", "timestamp", "timestamp_ntz")


class AvroReader:
    """Reads rows as one schema shows them. ``schema_id``: the id that stands before a row, None where none
    does. ``older``: the other schemas that rows may have been written with, by id. Raises
    :class:`NotDecodedError` for a type that is not read here."""

    def __init__(
        self,
        schema: Mapping[str, object],
        schema_id: int | None,
        older: Mapping[int, Mapping[str, object]] = NO_OTHER,
    ) -> None:
        self._schema, self._older = schema, older
        self._read = _struct_reader(schema, 0)
        self._id = schema_id
        self._of_older: dict[int, tuple[_ReadStruct, Show]] = {}
        self.names = column_labels(schema)

    def read(self, row: bytes) -> dict[str, Json]:
        """The values by column. Raises :class:`NotDecodedError` for bytes that are no such row, and for a row
        that was written with a schema that is not known."""
        if self._id is None:
            return self._values(self._read, row, 0)
        found = int.from_bytes(row[:_ID_BYTES], "little", signed=True)
        if found == self._id:
            return self._values(self._read, row, _ID_BYTES)
        if found not in self._of_older:
            if found not in self._older:
                raise NotDecodedError(say("state_rows.avro_schema", found=found))
            written = self._older[found]
            self._of_older[found] = _struct_reader(written, 0), shown_as(written, self._schema)
        read, show = self._of_older[found]
        return show(self._values(read, row, _ID_BYTES))

    def _values(self, read: _ReadStruct, row: bytes, at: int) -> dict[str, Json]:
        try:
            values, end = read(row, at)
        except (IndexError, ValueError, OverflowError) as error:
            raise NotDecodedError(say("state_rows.no_row", size_bytes=len(row))) from error
        if end != len(row):
            raise NotDecodedError(say("state_rows.no_row", size_bytes=len(row)))
        return values


def ordered_parts(row: bytes, count: int) -> list[tuple[bytes, bytes | None]]:
    """The part of a key that sorts as its values do: for each column a marker, and its big-endian bytes, None
    where there are none. Raises :class:`NotDecodedError`."""
    found: list[tuple[bytes, bytes | None]] = []
    at = 0
    try:
        for _ in range(count):
            marker, at = _nullable_bytes(row, at)
            value, at = _nullable_bytes(row, at)
            found.append((marker or b"", value))
    except (IndexError, ValueError) as error:
        raise NotDecodedError(say("state_rows.no_row", size_bytes=len(row))) from error
    if at != len(row):
        raise NotDecodedError(say("state_rows.no_row", size_bytes=len(row)))
    return found


def _struct_reader(schema: Mapping[str, object], depth: int) -> _ReadStruct:
    fields = [field.get("type") for field in column_fields(schema)]
    columns = [
        (label, None if kind in ("void", "null") else _reader(kind, depth + 1))
        for label, kind in zip(column_labels(schema), fields, strict=True)
    ]

    def read(data: bytes, at: int) -> tuple[dict[str, Json], int]:
        found: dict[str, Json] = {}
        for label, value in columns:
            # a column of nothing has no bytes
            found[label], at = (None, at) if value is None else _nullable(value, data, at)
        return found, at

    return read


def _nullable(read: _Read, data: bytes, at: int) -> tuple[Json, int]:
    branch, at = _number(data, at)
    if branch == 0:
        return None, at
    if branch != 1:
        raise ValueError  # no branch of the union
    return read(data, at)


def _element_reader(kind: object, depth: int) -> _Read:
    read = _reader(kind, depth + 1)
    if isinstance(kind, dict):
        return lambda data, at: _nullable(read, data, at)
    return read


def _reader(kind: object, depth: int) -> _Read:
    if depth > _DEEPEST:
        raise NotDecodedError(say("state_rows.too_deep"))
    if isinstance(kind, str):
        return _simple_reader(kind)
    name = kind.get("type") if isinstance(kind, dict) else None
    if name == "struct" and isinstance(kind, dict):
        return _struct_reader(kind, depth)
    if name == "array" and isinstance(kind, dict):
        return _items_reader(_element_reader(kind.get("elementType"), depth))
    if name == "map" and isinstance(kind, dict):
        value = _element_reader(kind.get("valueType"), depth)
        pairs = _items_reader(lambda data, at: _pair(value, data, at))
        return lambda data, at: _map(*pairs(data, at))
    raise NotDecodedError(say("state_rows.type", type=str(name or kind)[:60]))


def _simple_reader(kind: str) -> _Read:
    if kind in _FIXED_BYTES:
        size, slot = _FIXED_BYTES[kind], slot_reader(kind)
        return lambda data, at: (slot(_piece(data, at, size)), at + size)
    if kind in _NUMBERS:
        slot = slot_reader(kind)

        def number(data: bytes, at: int) -> tuple[Json, int]:
            value, at = _number(data, at)
            return slot(value.to_bytes(8, "little", signed=True)), at

        return number
    decimal = DECIMAL.fullmatch(kind)
    if decimal is not None:
        scale, size = int(decimal[2]), _decimal_bytes(int(decimal[1]))
        return lambda data, at: (
            decimal_text(int.from_bytes(_piece(data, at, size), "big", signed=True), scale),
            at + size,
        )
    if is_text(kind):
        return _text
    if kind == "binary":
        return _binary
    raise NotDecodedError(say("state_rows.type", type=kind[:60]))


def _decimal_bytes(digits: int) -> int:
    """The fewest bytes that hold every number of so many digits."""
    largest: int = 10**digits - 1
    return largest.bit_length() // 8 + 1


def _text(data: bytes, at: int) -> tuple[Json, int]:
    raw, at = _bytes(data, at)
    return raw.decode("utf-8", "replace"), at


def _binary(data: bytes, at: int) -> tuple[Json, int]:
    raw, at = _bytes(data, at)
    return base64.b64encode(raw).decode("ascii"), at


def _items_reader(read: _Read) -> Callable[[bytes, int], tuple[list[Json], int]]:
    """Blocks of items, each behind how many there are; an empty one ends them. A negative number is followed
    by the size of the block."""

    def items(data: bytes, at: int) -> tuple[list[Json], int]:
        found: list[Json] = []
        while True:
            count, at = _number(data, at)
            if count == 0:
                return found, at
            if count < 0:
                count = -count
                _, at = _number(data, at)
            if count > len(data):
                raise ValueError("more elements than bytes")
            for _ in range(count):
                value, at = read(data, at)
                found.append(value)

    return items


def _pair(read: _Read, data: bytes, at: int) -> tuple[Json, int]:
    key, at = _text(data, at)
    value, at = read(data, at)
    return [key, value], at


def _map(pairs: list[Json], at: int) -> tuple[Json, int]:
    return map_of([(pair[0], pair[1]) for pair in pairs if isinstance(pair, list)]), at


def _nullable_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    branch, at = _number(data, at)
    if branch == 0:
        return None, at
    return _bytes(data, at)


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = _number(data, at)
    return _piece(data, at, size), at + size


def _piece(data: bytes, at: int, size: int) -> bytes:
    if size < 0 or at + size > len(data):
        raise ValueError("outside the row")
    return data[at : at + size]


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A signed number: seven bits in each byte, the lowest first, the sign in the lowest of all."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value >> 1 ^ -(value & 1), at
        shift += 7
        if shift > _LARGEST_SHIFT:
            raise ValueError  # a number of too many bytes
