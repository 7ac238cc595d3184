"""Spark's UnsafeRow, read by a schema (StructType as JSON): bytes in, JSON values out, and back for keys.

A row is a bit per column for null, in words of 8 bytes, then 8 bytes per column, then what has no fixed size.
All of it is little-endian, but for decimals of more than 18 digits. An array has its number of elements, bits
for null, the elements, and what has no fixed size; a map is the length of its array of keys, that array, and
the array of its values. Read from ``UnsafeRow``, ``UnsafeArrayData`` and ``UnsafeMapData`` of Spark 2.1 to
4.3, and compared with Spark's state reader.

The values are those of Spark's ``to_json``: times as ISO texts in UTC, bytes in base64. Decimals are texts,
so that no digit is lost; a map whose keys are no texts or whole numbers is a list of ``key`` and ``value``.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from struct import Struct
from struct import error as StructError  # noqa: N812

from core.checkpoint.state_content.simple_values import (
    Json,
    calendar_text,
    date_text,
    decimal_text,
    micros_text,
    moment_text,
    months_text,
    real_value,
    time_text,
)
from core.checkpoint.state_content.variant import variant_value
from core.messages import say

_Struct = Mapping[str, object]
_Read = Callable[[bytes, int, int], Json]
"""Row, where the row (or array) begins, where the slot of the value begins."""

_WORD, _PAIR = Struct("<Q"), Struct("<II")
_EPOCH, _DAY_0 = datetime(1970, 1, 1, tzinfo=UTC), date(1970, 1, 1)
DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_LONG_DECIMAL_DIGITS = 18
_LONG_DECIMAL_BYTES = 16
_MOST_DIGITS = 38
_DEEPEST = 32
_MOST_ELEMENTS = 10_000_000
_TEXTS = re.compile(r"string( collate .*)?|(char|varchar)\(\d+\)")
_MONTHS = re.compile(r"interval (year|month)( to month)?")
_MICROS = re.compile(r"interval (day|hour|minute|second)( to (hour|minute|second))?")
_TIME = re.compile(r"time\(\d\)")


class NotDecodedError(Exception):
    """Why bytes are no row of the schema, or why the schema is not read here; one clause."""


class RowReader:
    """Reads rows of one schema. Raises :class:`NotDecodedError` for a type that is not read here."""

    def __init__(self, schema: _Struct) -> None:
        self._read = _struct_reader(schema, 0)
        self.names = column_labels(schema)

    def read(self, row: bytes) -> dict[str, Json]:
        """The values by column. Raises :class:`NotDecodedError` for bytes that are no such row."""
        try:
            if len(row) % 8 or len(row) < _fixed_bytes(len(self.names)):
                raise NotDecodedError(say("state_rows.no_row", size_bytes=len(row)))
            return self._read(row, 0, len(row))
        except (StructError, IndexError, ValueError, OverflowError) as error:
            raise NotDecodedError(say("state_rows.no_row", size_bytes=len(row))) from error


def write_row(schema: _Struct, values: Mapping[str, Json]) -> bytes:
    """The UnsafeRow of these values, for schemas that :func:`can_write`. Raises :class:`NotDecodedError`
    where a value or a type is not written here."""
    fields, names = _fields(schema), column_labels(schema)
    unknown = sorted(values.keys() - set(names)) + [name for name in names if name not in values]
    if unknown:
        raise NotDecodedError(say("state_rows.other_columns", columns=names))
    null_bytes = -(-len(fields) // 64) * 8
    row = bytearray(null_bytes + 8 * len(fields))
    for i, field in enumerate(fields):
        value, at = values[names[i]], null_bytes + 8 * i
        room = _LONG_DECIMAL_BYTES if _is_long_decimal(field.get("type")) else 0
        if value is None:
            row[i // 8] |= 1 << (i % 8)
            if room:
                _WORD.pack_into(row, at, len(row) << 32)
                row += bytes(room)
            continue
        try:
            written = _written(field.get("type"), value)
        except (TypeError, ValueError, StructError, OverflowError, ArithmeticError):
            raise NotDecodedError(say("state_rows.no_value", column=names[i], type=_name(field))) from None
        if len(written) == 8 and not _is_variable(field.get("type")):
            row[at : at + 8] = written
            continue
        _WORD.pack_into(row, at, len(row) << 32 | len(written))
        row += written + bytes(room - len(written) if room else -len(written) % 8)
    return bytes(row)


def can_write(schema: _Struct) -> bool:
    """Whether :func:`write_row` knows every type of a schema: numbers, texts, bytes, dates, timestamps, and
    structs of them."""
    return all(_can_write(field.get("type")) for field in _fields(schema))


def _can_write(kind: object) -> bool:
    if isinstance(kind, dict):
        return kind.get("type") == "struct" and can_write(kind)
    text = str(kind)
    is_number = text in _FIXED or DECIMAL.fullmatch(text) is not None
    return is_number or text == "binary" or is_text(text)


def accounted_bytes(schema: _Struct, row: bytes) -> int:
    """How long a row of this schema is by its own columns. Spark refuses the first row of a state file that
    is longer or shorter (``UnsafeRowUtils``, Spark 3.3 to 4.3)."""
    fields = _fields(schema)
    null_bytes, total = -(-len(fields) // 64) * 8, _fixed_bytes(len(fields))
    if len(row) < total:
        return total
    for i, field in enumerate(fields):
        if _is_long_decimal(field.get("type")):
            total += _LONG_DECIMAL_BYTES
        elif _is_variable(field.get("type")) and not row[i // 8] >> (i % 8) & 1:
            total += -(-_PAIR.unpack_from(row, null_bytes + 8 * i)[0] // 8) * 8
    return total


def column_labels(schema: _Struct) -> tuple[str, ...]:
    """The names of the columns, each once: the buffers of two maxima are both called ``max``, and the second
    is ``max#2`` here."""
    seen: Counter[str] = Counter()
    labels = []
    for field in _fields(schema):
        name = str(field.get("name"))
        seen[name] += 1
        labels.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return tuple(labels)


def column_types(schema: _Struct) -> dict[str, str]:
    """Label -> type of each column as Spark writes it in SQL, ``struct<start: timestamp, ...>``."""
    return dict(
        zip(column_labels(schema), (_sql_type(field.get("type")) for field in _fields(schema)), strict=True)
    )


def _sql_type(kind: object) -> str:
    if not isinstance(kind, dict):
        return {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}.get(
            str(kind), str(kind)
        )
    if kind.get("type") == "struct":
        return f"struct<{', '.join(f'{name}: {type_}' for name, type_ in column_types(kind).items())}>"
    if kind.get("type") == "array":
        return f"array<{_sql_type(kind.get('elementType'))}>"
    if kind.get("type") == "map":
        return f"map<{_sql_type(kind.get('keyType'))}, {_sql_type(kind.get('valueType'))}>"
    return str(kind.get("type"))


def _fields(schema: _Struct) -> list[_Struct]:
    fields = schema.get("fields")
    if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
        raise NotDecodedError(say("state_rows.no_schema"))
    return fields


def _fixed_bytes(columns: int) -> int:
    return -(-columns // 64) * 8 + 8 * columns


def _name(field: _Struct) -> str:
    kind = field.get("type")
    return str(kind.get("type")) if isinstance(kind, dict) else str(kind)


def _struct_reader(schema: _Struct, depth: int) -> Callable[[bytes, int, int], dict[str, Json]]:
    labels = column_labels(schema)
    columns = [
        (i // 8, 1 << (i % 8), labels[i], _reader(field.get("type"), depth + 1))
        for i, field in enumerate(_fields(schema))
    ]
    first = -(-len(columns) // 64) * 8
    fixed = _fixed_bytes(len(columns))
    has_variable = any(_is_variable(field.get("type")) for field in _fields(schema))
    surplus_bits = first * 8 - len(columns)

    def read(data: bytes, base: int, size: int) -> dict[str, Json]:
        if size < fixed or (size != fixed and not has_variable):
            raise ValueError  # not the size of such a row
        if surplus_bits and int.from_bytes(data[base : base + first], "little") >> len(columns):
            raise ValueError  # more columns are null than there are
        found: dict[str, Json] = {}
        at = base + first
        for byte, bit, name, value in columns:
            found[name] = None if data[base + byte] & bit else value(data, base, at)
            at += 8
        return found

    return read


def _reader(kind: object, depth: int) -> _Read:
    if depth > _DEEPEST:
        raise NotDecodedError(say("state_rows.too_deep"))
    if isinstance(kind, str):
        return _simple_reader(kind)
    name = kind.get("type") if isinstance(kind, dict) else None
    if name == "struct" and isinstance(kind, dict):
        inner = _struct_reader(kind, depth)
        return lambda data, base, at: inner(data, *_place(data, base, at))
    if name == "array" and isinstance(kind, dict):
        elements = _array_reader(kind.get("elementType"), depth)
        return lambda data, base, at: elements(data, _place(data, base, at)[0])
    if name == "map" and isinstance(kind, dict):
        return _map_reader(kind, depth)
    if name == "udt" and isinstance(kind, dict):
        return _reader(kind.get("sqlType"), depth + 1)
    raise NotDecodedError(say("state_rows.type", type=str(name or kind)[:60]))


def _simple_reader(kind: str) -> _Read:
    fixed = _FIXED.get(kind)
    if fixed is not None:
        return fixed
    decimal = DECIMAL.fullmatch(kind)
    if decimal is not None:
        return _decimal_reader(int(decimal[1]), int(decimal[2]))
    if _TEXTS.fullmatch(kind):
        return _text
    unit = kind.removeprefix("interval ")
    if _MONTHS.fullmatch(kind):
        return _as_text("<i", lambda months: months_text(months, unit))
    if _MICROS.fullmatch(kind):
        return _as_text("<q", lambda micros: micros_text(micros, unit))
    if _TIME.fullmatch(kind):
        return _as_text("<q", time_text)
    if kind in _VARIABLE:
        return _VARIABLE[kind]
    raise NotDecodedError(say("state_rows.type", type=kind[:60]))


def slot_reader(kind: str) -> Callable[[bytes], Json]:
    """Reads a value of fixed size from its own little-endian bytes."""
    read = _FIXED[kind]
    return lambda slot: read(slot, 0, 0)


def is_text(kind: str) -> bool:
    """Whether values of a type are texts."""
    return _TEXTS.fullmatch(kind) is not None


def _place(data: bytes, base: int, at: int) -> tuple[int, int]:
    """Where a value without fixed size begins, and its size."""
    size, offset = _PAIR.unpack_from(data, at)
    if base + offset + size > len(data) or base + offset <= at:
        raise ValueError("outside the row")
    return base + offset, size


def _text(data: bytes, base: int, at: int) -> str:
    start, size = _place(data, base, at)
    return data[start : start + size].decode("utf-8", "replace")


def _binary(data: bytes, base: int, at: int) -> str:
    start, size = _place(data, base, at)
    return base64.b64encode(data[start : start + size]).decode("ascii")


def _calendar_interval(data: bytes, base: int, at: int) -> Json:
    months, days, micros = Struct("<iiq").unpack_from(data, _place(data, base, at)[0])
    return calendar_text(months, days, micros)


def _variant(data: bytes, base: int, at: int) -> Json:
    start, size = _place(data, base, at)
    return variant_value(data[start : start + size])


def _as_text(form: str, shown: Callable[[int], str]) -> _Read:
    """A number that stands for a time or an interval."""
    unpack = Struct(form).unpack_from
    return lambda data, base, at: shown(unpack(data, at)[0])


def _decimal_reader(digits: int, scale: int) -> _Read:
    def short(data: bytes, base: int, at: int) -> str:
        return decimal_text(int.from_bytes(data[at : at + 8], "little", signed=True), scale)

    def long(data: bytes, base: int, at: int) -> str:
        start, size = _place(data, base, at)
        return decimal_text(int.from_bytes(data[start : start + size], "big", signed=True), scale)

    return short if digits <= _LONG_DECIMAL_DIGITS else long


def _number(form: str) -> _Read:
    unpack = Struct(form).unpack_from

    def read(data: bytes, base: int, at: int) -> Json:
        found: int = unpack(data, at)[0]
        return found

    return read


def _fraction(form: str) -> _Read:
    unpack = Struct(form).unpack_from

    def read(data: bytes, base: int, at: int) -> Json:
        return real_value(unpack(data, at)[0], form == "<f")

    return read


def _moment(zone: str) -> _Read:
    def read(data: bytes, base: int, at: int) -> str:
        return moment_text(int.from_bytes(data[at : at + 8], "little", signed=True), zone)

    return read


def _date(data: bytes, base: int, at: int) -> str:
    return date_text(int.from_bytes(data[at : at + 4], "little", signed=True))


_FIXED: Mapping[str, _Read] = {
    "boolean": lambda data, base, at: data[at] != 0,
    "byte": _number("<b"),
    "short": _number("<h"),
    "integer": _number("<i"),
    "long": _number("<q"),
    "float": _fraction("<f"),
    "double": _fraction("<d"),
    "date": _date,
    "timestamp": _moment("Z"),
    "timestamp_ntz": _moment(""),
    "void": lambda data, base, at: None,
    "null": lambda data, base, at: None,
}
_VARIABLE: Mapping[str, _Read] = {
    "binary": _binary,
    "interval": _calendar_interval,
    "variant": _variant,
}
_WIDTHS: Mapping[str, int] = {
    "boolean": 1,
    "byte": 1,
    "short": 2,
    "integer": 4,
    "date": 4,
    "float": 4,
}


def _array_reader(kind: object, depth: int) -> Callable[[bytes, int], list[Json]]:
    read = _reader(kind, depth + 1)
    width = _WIDTHS.get(kind, 8) if isinstance(kind, str) else 8
    if isinstance(kind, str) and _MONTHS.fullmatch(kind):
        width = 4

    def elements(data: bytes, base: int) -> list[Json]:
        (count,) = _WORD.unpack_from(data, base)
        if count > min(_MOST_ELEMENTS, 8 * len(data)):
            raise ValueError("more elements than bytes")
        at = base + 8 + -(-count // 64) * 8
        return [
            None if data[base + 8 + i // 8] >> (i % 8) & 1 else read(data, base, at + width * i)
            for i in range(count)
        ]

    return elements


def _map_reader(kind: _Struct, depth: int) -> _Read:
    keys = _array_reader(kind.get("keyType"), depth)
    values = _array_reader(kind.get("valueType"), depth)

    def read(data: bytes, base: int, at: int) -> Json:
        start, _ = _place(data, base, at)
        (key_bytes,) = _WORD.unpack_from(data, start)
        pairs = list(zip(keys(data, start + 8), _at(values, data, start + 8 + key_bytes), strict=True))
        return map_of(pairs)

    return read


def map_of(pairs: Sequence[tuple[Json, Json]]) -> Json:
    """A map as an object, or as a list where its keys are no texts or whole numbers."""
    if all(isinstance(key, str | int) for key, _ in pairs):
        return {str(key): value for key, value in pairs}
    return [{"key": key, "value": value} for key, value in pairs]


def _at(read: Callable[[bytes, int], list[Json]], data: bytes, base: int) -> Sequence[Json]:
    if base > len(data):
        raise ValueError("outside the row")
    return read(data, base)


def _is_variable(kind: object) -> bool:
    """Whether the slot of a value only says where it lies. A decimal of many digits is one of these, and has
    its room even when it is null."""
    if not isinstance(kind, str):
        return not (isinstance(kind, dict) and kind.get("type") == "udt") or _is_variable(kind["sqlType"])
    return _is_long_decimal(kind) or kind in _VARIABLE or is_text(kind)


def _is_long_decimal(kind: object) -> bool:
    decimal = DECIMAL.fullmatch(kind) if isinstance(kind, str) else None
    return decimal is not None and int(decimal[1]) > _LONG_DECIMAL_DIGITS


def _written(kind: object, value: Json) -> bytes:
    """The bytes of one value. Raises TypeError or ValueError for one that does not fit."""
    if isinstance(kind, dict) and kind.get("type") == "struct" and isinstance(value, dict):
        return write_row(kind, value)
    if not isinstance(kind, str):
        raise TypeError
    if _TEXTS.fullmatch(kind) or kind == "binary":
        if not isinstance(value, str):
            raise TypeError
        return value.encode("utf-8") if kind != "binary" else base64.b64decode(value, validate=True)
    if kind == "boolean":
        if not isinstance(value, bool):
            raise TypeError
        return bytes([value]) + bytes(7)
    if kind in ("double", "float"):
        form = Struct("<d" if kind == "double" else "<f4x")
        return form.pack(float(value)) if isinstance(value, int | float | str) else _refuse()
    if _is_long_decimal(kind):
        unscaled = _unscaled(kind, value)
        return unscaled.to_bytes((unscaled + (unscaled < 0)).bit_length() // 8 + 1, "big", signed=True)
    return (
        _whole(kind, value).to_bytes(8, "little", signed=True)
        if kind not in _NARROW
        else _narrow(kind, value)
    )


_NARROW = {"byte": 1, "short": 2, "integer": 4, "date": 4}


def _narrow(kind: str, value: Json) -> bytes:
    size = _NARROW[kind]
    return _whole(kind, value).to_bytes(size, "little", signed=True) + bytes(8 - size)


def _whole(kind: str, value: Json) -> int:
    if kind == "date" and isinstance(value, str):
        return (date.fromisoformat(value) - _DAY_0).days
    if kind in ("timestamp", "timestamp_ntz") and isinstance(value, str):
        moment = datetime.fromisoformat(value)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        return (moment - _EPOCH) // timedelta(microseconds=1)
    if DECIMAL.fullmatch(kind):
        return _unscaled(kind, value)
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or kind not in ("byte", "short", "integer", "long")
    ):
        raise TypeError
    return value


def _unscaled(kind: str, value: Json) -> int:
    """The digits of a decimal without its point, as many as its type has. A number with a fraction is
    refused: JSON may have cut its digits."""
    decimal = DECIMAL.fullmatch(kind)
    if decimal is None or isinstance(value, bool) or not isinstance(value, str | int):
        raise TypeError
    with localcontext(prec=2 * _MOST_DIGITS):
        scaled = Decimal(value).scaleb(int(decimal[2]))
        if scaled != scaled.to_integral_value() or len(str(abs(int(scaled)))) > int(decimal[1]):
            raise ValueError
        return int(scaled)


def _refuse() -> bytes:
    raise TypeError
