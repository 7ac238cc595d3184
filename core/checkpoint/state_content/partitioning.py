"""Which partition a key belongs to: Spark's HashPartitioning, pmod(murmur3(key columns, seed 42),
partitions). Computed over many keys.

Keys are UnsafeRow bytes: a bit per column for null, 8 bytes per column, then texts and nested rows, padded to
8. The rule was compared with ``pyspark.sql.functions.hash`` and with where Spark 4.3 put the rows of real
state. It holds for a stateful operator since Spark 3.3, which pins
``spark.sql.streaming.statefulOperator.useStrictDistribution``; before, rows may be spread by some of the
columns only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_Json = Mapping[str, object]
_Bytes = NDArray[np.uint8]
_Hashes = NDArray[np.uint32]

SEED = 42
_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_LONG = Struct("<Q")

# How a column of each type is hashed. Left out: floats (several bit patterns are equal), decimals, intervals
# of months, collated strings.
_KINDS: Mapping[str, str] = {
    "boolean": "int1",
    "byte": "int1",
    "short": "int2",
    "integer": "int4",
    "date": "int4",
    "long": "long",
    "timestamp": "long",
    "timestamp_ntz": "long",
    "string": "bytes",
    "binary": "bytes",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a key: how it is hashed, and its own columns when it is a struct (a window)."""

    kind: str
    columns: tuple[Column, ...] = ()


def hashable_columns(schema: _Json) -> tuple[Column, ...] | None:
    """The columns of a key schema (Spark's StructType as JSON); None when one has a type whose hash is not
    computed here."""
    fields = schema.get("fields")
    if not isinstance(fields, list) or not fields:
        return None
    found = []
    for field in fields:
        column = _column(field) if isinstance(field, dict) else None
        if column is None:
            return None
        found.append(column)
    return tuple(found)


def partition_ids(
    keys: Sequence[bytes], columns: Sequence[Column], partitions: int, width: int | None = None
) -> NDArray[np.int64] | None:
    """The partition of each key. None when a key is no row of ``width`` columns; see :func:`key_hashes`."""
    hashes = key_hashes(keys, columns, width)
    return None if hashes is None else hashes % partitions


def key_hashes(
    keys: Sequence[bytes], columns: Sequence[Column], width: int | None = None
) -> NDArray[np.int64] | None:
    """The hash of each key, as Spark has it (32 bits with a sign). ``columns`` are the ones that count, the
    first of the ``width`` columns of the row (default: all).

    None when a key is no row of that width.
    """
    found = np.zeros(len(keys), dtype=np.int64)
    width = len(columns) if width is None else width
    groups: defaultdict[_Layout, list[int]] = defaultdict(list)
    for index, key in enumerate(keys):
        layout = _layout(key, 0, len(key), columns, width)
        if layout is None:
            return None
        groups[layout].append(index)
    for places, members in groups.items():
        rows = np.frombuffer(b"".join(keys[i] for i in members), dtype=np.uint8).reshape(len(members), -1)
        hashes = _fold(rows, places, np.full(len(members), SEED, dtype=np.uint32))
        found[members] = hashes.view(np.int32).astype(np.int64)
    return found


class _Place(NamedTuple):
    """Where a column that is not null lies in the row, and how it is hashed. A struct holds the places of its
    own columns."""

    kind: str
    at: int
    size: int
    inner: tuple[_Place, ...] = ()


_Layout = tuple[_Place, ...]


def _column(field: _Json) -> Column | None:
    kind = field.get("type")
    if isinstance(kind, str):
        # A collated string says so in the metadata of its field, and its type stays "string".
        metadata = field.get("metadata")
        has_collation = isinstance(metadata, dict) and any("COLLATION" in str(name) for name in metadata)
        return Column(_KINDS[kind]) if kind in _KINDS and not has_collation else None
    inner = hashable_columns(kind) if isinstance(kind, dict) and kind.get("type") == "struct" else None
    return None if inner is None else Column("struct", inner)


def _layout(row: bytes, start: int, size: int, columns: Sequence[Column], width: int) -> _Layout | None:
    """Where the columns of the row at ``start`` lie. Rows with the same layout are hashed together. None for
    bytes that are no such row."""
    fixed = start + -(-width // 64) * 8
    if size % 8 or fixed + 8 * width > start + size:
        return None
    places = []
    for i, column in enumerate(columns):
        if row[start + i // 8] >> (i % 8) & 1:
            continue  # null: the hash stays as it is
        at = fixed + 8 * i
        if column.kind not in ("bytes", "struct"):
            places.append(_Place(column.kind, at, 8))
            continue
        (word,) = _LONG.unpack_from(row, at)
        at, length = start + (word >> 32), word & 0xFFFFFFFF
        if at + length > start + size:
            return None
        if column.kind == "bytes":
            places.append(_Place("bytes", at, length))
            continue
        inner = _layout(row, at, length, column.columns, len(column.columns))
        if inner is None:
            return None
        places.append(_Place("struct", at, length, inner))
    return tuple(places)


def _fold(rows: _Bytes, places: Iterable[_Place], hashes: _Hashes) -> _Hashes:
    """Each column's hash is the seed of the next."""
    for place in places:
        if place.kind == "struct":
            hashes = _fold(rows, place.inner, hashes)
        elif place.kind == "bytes":
            hashes = _hash_bytes(rows[:, place.at : place.at + place.size], hashes)
        elif place.kind == "long":
            low, high = _int4(rows, place.at), _int4(rows, place.at + 4)
            hashes = _finished(_mixed(_mixed(hashes, low), high), 8)
        else:
            hashes = _finished(_mixed(hashes, _integer(rows, place)), 4)
    return hashes


def _integer(rows: _Bytes, place: _Place) -> _Hashes:
    if place.kind == "int4":
        return _int4(rows, place.at)
    if place.kind == "int2":
        pair = np.ascontiguousarray(rows[:, place.at : place.at + 2])
        return pair.view("<i2")[:, 0].astype(np.int32).view(np.uint32)
    return rows[:, place.at].view(np.int8).astype(np.int32).view(np.uint32)


def _int4(rows: _Bytes, at: int) -> _Hashes:
    return np.ascontiguousarray(rows[:, at : at + 4]).view("<u4")[:, 0].astype(np.uint32, copy=False)


def _hash_bytes(text: _Bytes, hashes: _Hashes) -> _Hashes:
    """Words of four bytes, then each byte that is left as a signed number: Spark's own variant of Murmur3."""
    size = text.shape[1]
    whole = size - size % 4
    for at in range(0, whole, 4):
        hashes = _mixed(hashes, _int4(text, at))
    for at in range(whole, size):
        hashes = _mixed(
            hashes, np.ascontiguousarray(text[:, at]).view(np.int8).astype(np.int32).view(np.uint32)
        )
    return _finished(hashes, size)


def _mixed(hashes: _Hashes, word: _Hashes) -> _Hashes:
    word = _rotated(word * _C1, 15) * _C2
    return _rotated(hashes ^ word, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _finished(hashes: _Hashes, size: int) -> _Hashes:
    hashes = hashes ^ np.uint32(size)
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))


def _rotated(values: _Hashes, bits: int) -> _Hashes:
    return (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))
