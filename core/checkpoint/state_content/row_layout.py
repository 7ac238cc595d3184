"""How the bytes of a key and of a value are laid out in one store, or in one column family of it.

In the HDFS-backed store keys and values are rows, nothing else. In RocksDB a row has a byte before it (the
version of its encoding), a key of a column family its number before that, and some keys are in two parts, so
that RocksDB can scan by the first. A value may be a list of rows. Observed in files of Spark 3.2 to 4.3
(``RocksDBStateEncoder.scala``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from struct import Struct

from core.checkpoint.operator_metadata import StateSchema, column_fields
from core.checkpoint.state_content.avro_row import NO_OTHER, AvroReader, ordered_parts
from core.checkpoint.state_content.simple_values import Json, moment_text
from core.checkpoint.state_content.unsafe_row import NotDecodedError, RowReader, write_row
from core.messages import say

_Fields = list[dict[str, object]]
_Reader = RowReader | AvroReader

CHECKSUM_BYTES = 4
FAMILY_BYTES = 2
_ENCODING_BYTES = 1
_LENGTH_BYTES = 4
_DELIMITER = 0x2C  # between the operands of a merge, rocksdb.mergeOperatorVersion 1
_TIME_BYTES = 8
_SIGN = 1 << 63
_PLAIN = "NoPrefixKeyStateEncoderSpec"
_PREFIX = "PrefixKeyScanStateEncoderSpec"
_RANGE = "RangeKeyScanStateEncoderSpec"
_TIME_FIRST = "TimestampAsPrefixKeyStateEncoderSpec"
_TIME_LAST = "TimestampAsPostfixKeyStateEncoderSpec"
_NULL_MARKER, _NEGATIVE_MARKER = 2, 0
# Columns that Spark can order a range key by, and how many bytes each has.
_RANGE_BYTES: Mapping[str, int] = {
    "boolean": 1,
    "byte": 1,
    "short": 2,
    "integer": 4,
    "date": 4,
    "float": 4,
    "long": 8,
    "timestamp": 8,
    "timestamp_ntz": 8,
    "double": 8,
}


@dataclass(frozen=True, slots=True)
class RowLayout:
    """``key`` and ``value`` decode the bytes after the number of the column family; both raise
    NotDecodedError. ``plain_key`` gives the bytes of a key that is one row, None where keys are laid out in
    another way. ``has_row_checksums``: each value begins with one, and what was appended to a list too."""

    key: Callable[[bytes], dict[str, Json]]
    value: Callable[[list[bytes]], Json]
    plain_key: Callable[[Mapping[str, Json]], bytes] | None
    key_columns: tuple[str, ...]
    value_columns: tuple[str, ...]
    has_row_checksums: bool = False

    def rows_of(self, pieces: Iterable[bytes]) -> list[bytes]:
        """The rows of a list, each with the byte before it. Raises NotDecodedError."""
        return [row for piece in pieces for row in split_list(piece, self.has_row_checksums)]


def row_layout(
    schema: StateSchema,
    *,
    is_rocksdb: bool,
    has_row_checksums: bool,
    is_list: bool,
    is_flat: bool = False,
    is_avro: bool = False,
    prefix_columns: int = 0,
    older_values: Mapping[int, Mapping[str, object]] = NO_OTHER,
) -> RowLayout:
    """How to read the rows of one schema. ``is_flat``: values are lists, whose rows are read one by one.
    ``prefix_columns`` is for schemas of versions 1 and 2, which do not name the encoder. ``older_values``:
    other schemas of the value by id, which Avro rows may have. Raises NotDecodedError for what is not read
    here."""
    key, names = _key_reader(schema, is_rocksdb, prefix_columns, is_avro)
    values = AvroReader(schema.value, schema.value_id, older_values) if is_avro else RowReader(schema.value)
    encoder = _encoder(schema, prefix_columns) if is_rocksdb else _PLAIN
    before = bytes(_ENCODING_BYTES) if is_rocksdb else b""
    return RowLayout(
        key,
        _value_reader(values, is_rocksdb, has_row_checksums and not is_flat, is_list),
        (lambda asked: before + write_row(schema.key, asked)) if encoder == _PLAIN and not is_avro else None,
        names,
        values.names,
        has_row_checksums,
    )


def family_prefix(number: int | None) -> bytes:
    """What the keys of a column family begin with."""
    return b"" if number is None else number.to_bytes(FAMILY_BYTES, "little", signed=True)


def _encoder(schema: StateSchema, prefix_columns: int) -> str:
    if schema.format_version < 3:
        return _PREFIX if prefix_columns > 0 else _PLAIN
    return str(schema.key_encoder.get("keyStateEncoderType", _PLAIN))


def _key_reader(
    schema: StateSchema, is_rocksdb: bool, prefix_columns: int, is_avro: bool
) -> tuple[Callable[[bytes], dict[str, Json]], tuple[str, ...]]:
    def reader(struct: Mapping[str, object], schema_id: int | None = schema.key_id) -> _Reader:
        return AvroReader(struct, schema_id) if is_avro else RowReader(struct)

    whole = reader(schema.key)
    if not is_rocksdb:
        return whole.read, whole.names
    encoder, names = _encoder(schema, prefix_columns), whole.names
    if encoder == _PLAIN:
        return lambda data: whole.read(data[_ENCODING_BYTES:]), names
    fields = column_fields(schema.key)
    if encoder == _PREFIX:
        count = schema.key_encoder.get("numColsPrefixKey", prefix_columns)
        if not isinstance(count, int) or not 0 < count <= len(fields):
            raise NotDecodedError(say("state_rows.encoder", encoder=encoder))
        first = reader(_struct(fields[:count]), None)
        return _two_parts(first.read, reader(_struct(fields[count:])) if fields[count:] else None), names
    if encoder == _RANGE:
        ordinals = schema.key_encoder.get("orderingOrdinals")
        if not isinstance(ordinals, list) or not all(
            isinstance(i, int) and 0 <= i < len(fields) for i in ordinals
        ):
            raise NotDecodedError(say("state_rows.encoder", encoder=encoder))
        ordered = [fields[i] for i in ordinals]
        rest = [field for i, field in enumerate(fields) if i not in ordinals]
        behind = reader(_struct(rest)) if rest else None
        return _in_order(_two_parts(_range_reader(ordered, is_avro), behind), names), names
    if encoder in (_TIME_FIRST, _TIME_LAST):
        return _with_time(fields, is_first=encoder == _TIME_FIRST), names
    raise NotDecodedError(say("state_rows.encoder", encoder=encoder[:60]))


def _struct(fields: _Fields) -> dict[str, object]:
    return {"type": "struct", "fields": fields}


def _two_parts(
    read_first: Callable[[bytes], dict[str, Json]], behind: _Reader | None
) -> Callable[[bytes], dict[str, Json]]:
    """The length of the first part, the first part, the rest; each part is a row behind a byte."""

    def read(data: bytes) -> dict[str, Json]:
        end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little", signed=True)
        if not _LENGTH_BYTES < end <= len(data):
            raise NotDecodedError(say("state_rows.no_row", size_bytes=len(data)))
        found = read_first(data[_LENGTH_BYTES + _ENCODING_BYTES : end])
        return found | ({} if behind is None else behind.read(data[end + _ENCODING_BYTES :]))

    return read


def _in_order(
    read: Callable[[bytes], dict[str, Json]], names: tuple[str, ...]
) -> Callable[[bytes], dict[str, Json]]:
    def ordered(data: bytes) -> dict[str, Json]:
        found = read(data)
        return {name: found.get(name) for name in names}

    return ordered


def _range_reader(fields: _Fields, is_avro: bool) -> Callable[[bytes], dict[str, Json]]:
    """Per column a marker and the value, big-endian, so that bytes sort as values do; all of them are one
    binary column of a row, or each one of an Avro row."""
    sizes = []
    for field in fields:
        size = _RANGE_BYTES.get(str(field.get("type")))
        if size is None:
            raise NotDecodedError(say("state_rows.type", type=str(field.get("type"))[:60]))
        sizes.append(size)
    single = [RowReader(_struct([field])) for field in fields]

    def parts(row: bytes) -> Iterator[tuple[bytes, bytes]]:
        if is_avro:
            for (marker, value), width in zip(ordered_parts(row, len(fields)), sizes, strict=True):
                yield marker, bytes(width) if value is None else value
            return
        size = int.from_bytes(row[8:12], "little")
        at = int.from_bytes(row[12:16], "little")
        if at + size > len(row) or size != sum(sizes) + len(sizes):
            raise NotDecodedError(say("state_rows.no_row", size_bytes=len(row)))
        for width in sizes:
            yield row[at : at + 1], row[at + 1 : at + 1 + width]
            at += 1 + width

    def read(row: bytes) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for field, width, reader, (marker, value) in zip(fields, sizes, single, parts(row), strict=True):
            if len(marker) != 1 or len(value) != width:
                raise NotDecodedError(say("state_rows.no_row", size_bytes=len(row)))
            if field.get("type") in ("float", "double") and marker[0] == _NEGATIVE_MARKER:
                value = bytes(~byte & 0xFF for byte in value)
            slot = bytes([marker[0] == _NULL_MARKER]) + bytes(7) + value[::-1] + bytes(8 - width)
            found |= reader.read(slot)
        return found

    return read


def _with_time(fields: _Fields, is_first: bool) -> Callable[[bytes], dict[str, Json]]:
    """A row, and the last column of the schema before or behind it: 8 bytes that sort as numbers do."""
    whole, column = RowReader(_struct(fields[:-1])), str(fields[-1].get("name"))
    show: Callable[[int], Json] = int if fields[-1].get("type") == "long" else moment_text

    def read(data: bytes) -> dict[str, Json]:
        if len(data) < _TIME_BYTES + _ENCODING_BYTES:
            raise NotDecodedError(say("state_rows.no_row", size_bytes=len(data)))
        time, row = (
            (data[:_TIME_BYTES], data[_TIME_BYTES:])
            if is_first
            else (data[-_TIME_BYTES:], data[:-_TIME_BYTES])
        )
        micros = int.from_bytes(time, "big") - _SIGN
        return {**whole.read(row[_ENCODING_BYTES:]), column: show(micros)}

    return read


def _value_reader(
    values: _Reader, is_rocksdb: bool, has_row_checksums: bool, is_list: bool
) -> Callable[[list[bytes]], Json]:
    if not is_rocksdb:
        skip = CHECKSUM_BYTES if has_row_checksums else 0
        return lambda pieces: values.read(_whole_words(pieces[-1][skip:]))
    if is_list:
        return lambda pieces: [
            values.read(row[_ENCODING_BYTES:])
            for piece in pieces
            for row in split_list(piece, has_row_checksums)
        ]
    skip = _ENCODING_BYTES + (CHECKSUM_BYTES + _LENGTH_BYTES if has_row_checksums else 0)
    return lambda pieces: values.read(pieces[-1][skip:])


def _whole_words(row: bytes) -> bytes:
    """Spark 2.1 and 2.2 wrote four bytes more than a row has."""
    return row[: len(row) // 8 * 8]


_INT = Struct("<i")


def split_list(piece: bytes, has_row_checksums: bool = False) -> list[bytes]:
    """The rows of a list, each with the byte before it; its length stands before both. With merge operator 1
    a delimiter stands between what was appended at different times: read as a part of a length, it leads out
    of the bytes. With row checksums each of these parts has its checksum and its length before it."""
    if not has_row_checksums:
        return _items(piece, 0)
    return [row for part in _items(piece, CHECKSUM_BYTES) for row in _items(part, 0)]


def _items(piece: bytes, before: int) -> list[bytes]:
    """What has its length before it, and as many bytes before that."""
    found = _split(piece, before, None)
    if found is None:
        found = _split(piece, before, _DELIMITER)
    if found is None:
        raise NotDecodedError(say("state_rows.no_row", size_bytes=len(piece)))
    return found


def _split(piece: bytes, before: int, delimiter: int | None) -> list[bytes] | None:
    found, at = [], 0
    while at < len(piece):
        if piece[at] == delimiter and at:
            at += 1
        at += before
        if at + _LENGTH_BYTES > len(piece):
            return None
        (size,) = _INT.unpack_from(piece, at)
        start, at = at + _LENGTH_BYTES, at + _LENGTH_BYTES + size
        if size < _ENCODING_BYTES or at > len(piece):
            return None
        found.append(piece[start:at])
    return found
