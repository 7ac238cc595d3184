"""A RocksDB ``.sst`` file: its entries, and whether every block still has the checksum it was written with.
Bytes in, entries or a verdict out.

The block-based table of RocksDB, format versions 2 to 5 (Spark 3.2 to 4.3 writes 5): data blocks, meta
blocks, one
index block, and a footer of 53 bytes. Each block is followed by one byte for its compression and four for its
checksum (``table/block_based`` and ``table/format.cc`` of RocksDB). What keys and values mean is not known
here.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import cramjam
import crc32c
import xxhash

from core.messages import say

Part = Literal["index", "rows", "filter"]

FOOTER_BYTES: Final = 53
_MAGIC: Final = (0x88E241B785F4CFF7).to_bytes(8, "little")
_TRAILER_BYTES: Final = 5
_LAST_BYTE_PRIME: Final = 0x6B9083D9
_CRC_MASK: Final = 0xA282EAD8
_LARGEST_BLOCK_BYTES: Final = (
    256 * 1024 * 1024
)  # an index block that claims to unpack to more is not unpacked
_INDEX_TYPE: Final = b"rocksdb.block.based.table.index.type"
_DELTA_ENCODED: Final = b"rocksdb.index.value.is.delta.encoded"
_FILTERS: Final = (b"fullfilter.", b"filter.")
_BINARY_SEARCH: Final = b"\0\0\0\0"
_COMPARATOR: Final = b"rocksdb.comparator"
_BYTEWISE: Final = b"leveldb.BytewiseComparator"
_GLOBAL_SEQUENCE: Final = b"rocksdb.external_sst_file.global_seqno"
_DELETED_RANGES: Final = b"rocksdb.range_del"
_NO_ENTRIES: Final = b"\0\0\0\0"  # a block without entries and restart points


class _DamagedError(Exception):
    """What is wrong, as a clause."""


class _NotKnownError(Exception):
    """The file has a form that is not read here."""


@dataclass(frozen=True, slots=True)
class SstVerdict:
    """``damage``: one clause, None when every block fits its checksum. ``part``: where it is.
    ``not_checked``: why
    the blocks were not compared, None when they were. ``blocks``: how many were compared.

    Observed with Spark 4.3: a restart fails on damage in the ``index`` (with everything that RocksDB reads
    when it
    opens the file), reads on without the ``rows`` of a damaged data block, or fails when it needs one of
    them, and does not notice a damaged ``filter``.
    """

    damage: str | None = None
    part: Part | None = None
    not_checked: str | None = None
    blocks: int = 0


@dataclass(frozen=True, slots=True)
class _Handle:
    offset: int
    size: int


def verify_sst(data: bytes) -> SstVerdict:
    """Compares every block of an SST file with its checksum. Never raises."""
    try:
        return _Table(data).verify()
    except _DamagedError as error:
        return SstVerdict(str(error), "index")
    except _NotKnownError as error:
        return SstVerdict(not_checked=str(error))


class SstNotReadError(Exception):
    """Why the entries of a file cannot be read; one clause."""


EntryKind = Literal["put", "delete", "merge"]
Entry = tuple[bytes, int, EntryKind, bytes]
"""Key, minus the sequence number (so that of two entries of a key the newer sorts first), kind, value."""


@dataclass(frozen=True, slots=True)
class DeletedRange:
    """Keys from ``start`` to before ``end`` are gone, as far as their entries are older."""

    start: bytes
    end: bytes
    sequence: int


@dataclass(frozen=True, slots=True)
class SstEntries:
    """``entries`` in the order of the file: by key, of one key the newest first. Iterating raises
    SstNotReadError at a damaged block."""

    entries: Iterator[Entry]
    deleted_ranges: tuple[DeletedRange, ...]


def read_sst(data: bytes) -> SstEntries:
    """The entries of an SST file; each block is compared with its checksum before it is read. Raises
    SstNotReadError."""
    try:
        return _Table(data).entries()
    except (_DamagedError, _NotKnownError) as error:
        raise SstNotReadError(str(error)) from error


class _Table:
    def __init__(self, data: bytes) -> None:
        if len(data) < FOOTER_BYTES:
            raise _DamagedError(say("sst.short"))
        footer = data[-FOOTER_BYTES:]
        if footer[-8:] != _MAGIC:
            raise _DamagedError(say("sst.magic"))
        version = int.from_bytes(footer[-12:-8], "little")
        if not 2 <= version <= 5:
            raise _NotKnownError(say("sst.version", version=version))
        checksum = _CHECKSUMS.get(footer[0])
        if checksum is None:
            raise _NotKnownError(say("sst.checksum_type", kind=footer[0]))
        self._data, self._checksum, self._blocks = data, checksum, 0
        at, self._meta = _handle(footer, 1)
        _, self._index = _handle(footer, at)

    def verify(self) -> SstVerdict:
        """Compares every block. Raises _DamagedError for what RocksDB reads when it opens the file."""
        contents, filters = self._meta_blocks()
        rows = self._rows(contents)
        parts: tuple[tuple[Part, list[_Handle]], ...] = (("rows", rows), ("filter", filters))
        for part, handles in parts:
            for handle in handles:
                try:
                    self._compare(handle)
                except _DamagedError as error:
                    return SstVerdict(str(error), part, blocks=self._blocks)
        return SstVerdict(blocks=self._blocks)

    def entries(self) -> SstEntries:
        """What the data blocks hold."""
        contents, _ = self._meta_blocks()
        properties = _properties(contents)
        if properties.get(_COMPARATOR, _BYTEWISE) != _BYTEWISE:
            raise _NotKnownError(say("sst.comparator"))
        if any(properties.get(_GLOBAL_SEQUENCE, b"")):
            raise _NotKnownError(say("sst.global_sequence"))
        ranges = (
            DeletedRange(key[:-8], value, int.from_bytes(key[-8:], "little") >> 8)
            for key, value in _entries(contents.get(_DELETED_RANGES, _NO_ENTRIES))
        )
        return SstEntries(self._read_rows(self._rows(contents)), tuple(ranges))

    def _read_rows(self, handles: list[_Handle]) -> Iterator[Entry]:
        try:
            for handle in handles:
                yield from _row_entries(self._block(handle))
        except (_DamagedError, _NotKnownError) as error:
            raise SstNotReadError(str(error)) from error

    def _meta_blocks(self) -> tuple[dict[bytes, bytes], list[_Handle]]:
        """The contents of the meta blocks by name, and where the filters lie."""
        contents: dict[bytes, bytes] = {}
        filters: list[_Handle] = []
        for name, value in _entries(self._block(self._meta)):
            handle = _handle(value, 0)[1]
            if name.startswith(_FILTERS):
                filters.append(handle)
            else:
                contents[name] = self._block(handle)
        return contents, filters

    def _rows(self, contents: Mapping[bytes, bytes]) -> list[_Handle]:
        """The data blocks."""
        properties = _properties(contents)
        if properties.get(_INDEX_TYPE, _BINARY_SEARCH) != _BINARY_SEARCH:
            raise _NotKnownError(say("sst.index"))
        return list(_data_blocks(self._block(self._index), properties.get(_DELTA_ENCODED) == b"\1"))

    def _compare(self, handle: _Handle) -> bytes:
        end = handle.offset + handle.size
        if end + _TRAILER_BYTES > len(self._data) - FOOTER_BYTES:
            raise _DamagedError(say("sst.outside", offset=handle.offset))
        content, kind = self._data[handle.offset : end], self._data[end]
        if self._checksum(content, kind) != int.from_bytes(self._data[end + 1 : end + 5], "little"):
            raise _DamagedError(say("sst.block", offset=handle.offset, size_bytes=handle.size))
        self._blocks += 1
        return content

    def _block(self, handle: _Handle) -> bytes:
        content = self._compare(handle)
        return _unpacked(content, self._data[handle.offset + handle.size])


def _xxh3(content: bytes, kind: int) -> int:
    # RocksDB mixes the compression byte in afterwards, so that the block can be hashed in one piece.
    return (xxhash.xxh3_64_intdigest(content) & 0xFFFFFFFF) ^ (kind * _LAST_BYTE_PRIME & 0xFFFFFFFF)


def _xxh64(content: bytes, kind: int) -> int:
    return xxhash.xxh64_intdigest(content + bytes([kind])) & 0xFFFFFFFF


def _xxh32(content: bytes, kind: int) -> int:
    return xxhash.xxh32_intdigest(content + bytes([kind]))


def _masked_crc32c(content: bytes, kind: int) -> int:
    crc = crc32c.crc32c(content + bytes([kind]))
    return ((crc >> 15 | crc << 17) + _CRC_MASK) & 0xFFFFFFFF


# kTypeDeletion, kTypeValue, kTypeMerge, kTypeSingleDeletion (db/dbformat.h)
_ENTRY_KINDS: dict[int, EntryKind] = {0: "delete", 1: "put", 2: "merge", 7: "delete"}
_CHECKSUMS: dict[int, Callable[[bytes, int], int]] = {1: _masked_crc32c, 2: _xxh32, 3: _xxh64, 4: _xxh3}


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number and where it ends."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise _DamagedError(say("sst.number"))
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return at, value
        shift += 7


def _handle(data: bytes, at: int) -> tuple[int, _Handle]:
    at, offset = _varint(data, at)
    at, size = _varint(data, at)
    return at, _Handle(offset, size)


def _end_of_entries(block: bytes) -> int:
    """Where the entries of a block end and its restart points begin."""
    restarts = int.from_bytes(block[-4:], "little") & 0x7FFFFFFF
    end = len(block) - 4 - 4 * restarts
    if len(block) < 4 or end < 0:
        raise _DamagedError(say("sst.number"))
    return end


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a meta block; each key shares its beginning with the one before it."""
    at, end, key = 0, _end_of_entries(block), b""
    while at < end:
        at, shared = _varint(block, at)
        at, rest = _varint(block, at)
        at, size = _varint(block, at)
        key = key[:shared] + block[at : at + rest]
        at += rest
        yield key, block[at : at + size]
        at += size


def _properties(contents: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    return dict(_entries(contents.get(b"rocksdb.properties", _NO_ENTRIES)))


def _row_entries(block: bytes) -> Iterator[Entry]:
    """The entries of a data block: a key ends in its kind and its sequence number."""
    if len(block) >= 4 and block[-1] & 0x80:
        raise _NotKnownError(say("sst.hash_index"))
    at, end, key = 0, _end_of_entries(block), b""
    while at < end:
        shared, rest, size = block[at], block[at + 1], block[at + 2]
        if (shared | rest | size) < 0x80:  # three numbers of one byte each, nearly always
            at += 3
        else:
            at, shared = _varint(block, at)
            at, rest = _varint(block, at)
            at, size = _varint(block, at)
        key = key[:shared] + block[at : at + rest]
        at += rest
        if at + size > end or len(key) < 8:
            raise _DamagedError(say("sst.number"))
        packed = int.from_bytes(key[-8:], "little")
        kind = _ENTRY_KINDS.get(packed & 0xFF)
        if kind is None:
            raise _NotKnownError(say("sst.entry_kind", kind=packed & 0xFF))
        yield key[:-8], -(packed >> 8), kind, block[at : at + size]
        at += size


def _data_blocks(index: bytes, is_delta_encoded: bool) -> Iterator[_Handle]:
    """The blocks that an index names. Delta-encoded (format version 4 and newer), an entry that shares
    nothing with
    the one before it has a whole handle; the others have only how much larger the block is than the one
    before."""
    at, end = 0, _end_of_entries(index)
    before = _Handle(0, 0)
    while at < end:
        at, shared = _varint(index, at)
        at, rest = _varint(index, at)
        if not is_delta_encoded:
            at, _ = _varint(index, at)
        at += rest
        if is_delta_encoded and shared:
            at, coded = _varint(index, at)
            size = before.size + (coded >> 1 ^ -(coded & 1))
            before = _Handle(before.offset + before.size + _TRAILER_BYTES, size)
        else:
            at, before = _handle(index, at)
        if before.size < 0:
            raise _DamagedError(say("sst.number"))
        yield before


def _unpacked(content: bytes, kind: int) -> bytes:
    """A block's contents. All but snappy begin with the unpacked size (format version 2 and newer)."""
    if kind == 0:
        return content
    try:
        if kind == 1:
            return bytes(cramjam.snappy.decompress_raw(content))
        at, size = _varint(content, 0)
        if size > _LARGEST_BLOCK_BYTES:
            raise _NotKnownError(say("sst.large_block", size_bytes=size))
        packed = content[at:]
        if kind == 2:
            return zlib.decompress(packed, -zlib.MAX_WBITS, size)
        if kind in (4, 5):
            return bytes(cramjam.lz4.decompress_block(packed, output_len=size))
        if kind == 7:
            return bytes(cramjam.zstd.decompress(packed, output_len=size))
    except (cramjam.DecompressionError, zlib.error, ValueError) as error:
        raise _DamagedError(say("sst.unpack")) from error
    raise _NotKnownError(say("sst.compression", kind=kind))
