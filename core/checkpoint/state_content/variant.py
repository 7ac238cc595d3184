"""A value of Spark's type ``variant``: bytes in, JSON value out, as Spark's ``to_json`` shows it.

A variant is a value, which begins with what it is and how long, and metadata, which have the names of the
fields of its objects once. Everything is little-endian. Read from ``VariantUtil`` of Spark 4.0 to 4.3
(version 1 of the format), and compared with Spark's state reader.
"""

from __future__ import annotations

import base64
import uuid
from decimal import Decimal
from itertools import pairwise
from struct import Struct

from core.checkpoint.state_content.simple_values import Json, date_text, decimal_text, moment_text, real_value

_PRIMITIVE, _SHORT_TEXT, _OBJECT = 0, 1, 2
_VERSION = 1
_DEEPEST = 200
_MOST_CHARACTERS = 64 * 1024 * 1024
_CONSTANTS = {0: None, 1: True, 2: False}
_WHOLE = {3: 1, 4: 2, 5: 4, 6: 8}
_DECIMALS = {8: 4, 9: 8, 10: 16}
_REALS = {7: Struct("<d"), 14: Struct("<f")}
_SINGLE, _DATE, _BINARY, _TEXT, _UUID = 14, 11, 15, 16, 20
_MOMENTS = {12: "+00:00", 13: ""}
_WORD_BYTES = 4


def variant_value(data: bytes) -> Json:
    """What a variant holds, by the bytes of its column: the size of the value, the value, the metadata.
    Decimals are numbers where a number keeps all their digits, else texts. Raises ValueError, IndexError or
    struct.error for bytes that are no variant."""
    size = _WORD_BYTES + _number(data, 0, _WORD_BYTES)
    return _Variant(_piece(data, _WORD_BYTES, size - _WORD_BYTES), data[size:]).value(0, 0)


class _Variant:
    """One variant. No more parts are read than it has bytes: in a damaged one many may lie in one place."""

    def __init__(self, data: bytes, metadata: bytes) -> None:
        self._data, self._names = data, _names(metadata)
        self._values_left, self._characters_left = len(data), _MOST_CHARACTERS

    def value(self, at: int, depth: int) -> Json:
        self._values_left -= 1
        if depth > _DEEPEST or self._values_left < 0:
            raise ValueError("too many parts")
        kind, info = self._data[at] & 3, self._data[at] >> 2
        if kind == _PRIMITIVE:
            return self._primitive(at + 1, info)
        if kind == _SHORT_TEXT:
            return self._text(at + 1, info)
        return self._container(at + 1, info, depth, is_object=kind == _OBJECT)

    def _container(self, at: int, info: int, depth: int, *, is_object: bool) -> Json:
        """An array, or an object: how many parts, the number of each name, where each part begins, parts."""
        data, width = self._data, (info & 3) + 1
        id_width = (info >> 2 & 3) + 1 if is_object else 0
        size_width = _WORD_BYTES if info >> (4 if is_object else 2) & 1 else 1
        count, ids = _number(data, at, size_width), at + size_width
        starts = ids + id_width * count
        parts = starts + width * (count + 1)
        values = [
            self.value(parts + _number(data, starts + width * i, width), depth + 1) for i in range(count)
        ]
        if not is_object:
            return values
        labels = [self._names[_number(data, ids + id_width * i, id_width)] for i in range(count)]
        self._take(sum(map(len, labels)))
        return dict(zip(labels, values, strict=True))

    def _primitive(self, at: int, kind: int) -> Json:
        data = self._data
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind in _WHOLE:
            return _signed(data, at, _WHOLE[kind])
        if kind in _DECIMALS:
            return _decimal(_signed(data, at + 1, _DECIMALS[kind]), data[at])
        if kind in _REALS:
            return real_value(_REALS[kind].unpack_from(data, at)[0], kind == _SINGLE)
        if kind == _DATE:
            return date_text(_signed(data, at, 4))
        if kind in _MOMENTS:
            return _moment(_signed(data, at, 8)) + _MOMENTS[kind]
        if kind == _TEXT:
            return self._text(at + _WORD_BYTES, _number(data, at, _WORD_BYTES))
        if kind == _BINARY:
            piece = _piece(data, at + _WORD_BYTES, _number(data, at, _WORD_BYTES))
            self._take(len(piece))
            return base64.b64encode(piece).decode("ascii")
        if kind == _UUID:
            return str(uuid.UUID(bytes=_piece(data, at, 16)))
        raise ValueError("no such type")

    def _text(self, at: int, size: int) -> str:
        self._take(size)
        return _piece(self._data, at, size).decode("utf-8", "replace")

    def _take(self, characters: int) -> None:
        self._characters_left -= characters
        if self._characters_left < 0:
            raise ValueError("too many characters")


def _names(metadata: bytes) -> list[str]:
    if metadata[0] & 0x0F != _VERSION:
        raise ValueError("another version")
    width = (metadata[0] >> 6) + 1
    count = _number(metadata, 1, width)
    if count > len(metadata):
        raise ValueError("more names than bytes")
    ends = [_number(metadata, 1 + width * (i + 1), width) for i in range(count + 1)]
    first = 1 + width * (count + 2)
    return [
        _piece(metadata, first + start, end - start).decode("utf-8", "replace")
        for start, end in pairwise(ends)
    ]


def _decimal(unscaled: int, scale: int) -> Json:
    text = decimal_text(unscaled, scale)
    exact = Decimal(text)
    if exact == exact.to_integral_value():
        return int(exact)
    shortest = float(exact)
    return shortest if Decimal(repr(shortest)) == exact else text.rstrip("0")


def _moment(micros: int) -> str:
    """``1969-01-01 00:00:00.5``: as Spark casts a moment to a text."""
    day, _, time = moment_text(micros, "").partition("T")
    return f"{day} {time.rstrip('0').rstrip('.') if '.' in time else time}"


def _number(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(_piece(data, at, width), "little")


def _signed(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(_piece(data, at, width), "little", signed=True)


def _piece(data: bytes, at: int, size: int) -> bytes:
    if size < 0 or at + size > len(data):
        raise ValueError("outside the variant")
    return data[at : at + size]
