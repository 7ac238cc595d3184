"""Unpacking of state files: a delta, a snapshot or a changelog is one compressed stream. Bytes in, bytes out.

The codec is ``spark.sql.streaming.stateStore.compression.codec`` of the offset log (lz4 when it is absent).
Seen in files of Spark 2.1 to 4.3: lz4 (``LZ4Block`` of lz4-java: a header of 21 bytes per block), zstd (one
standard frame), snappy (stream of snappy-java). lzf is recognised and not unpacked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Literal, NamedTuple

import cramjam
import numpy as np
import xxhash

from core.checkpoint.conf import codec_named
from core.messages import say

Codec = Literal["lz4", "zstd", "snappy", "lzf"]

LZ4_MAGIC, ZSTD_MAGIC, SNAPPY_MAGIC, LZF_MAGIC = b"LZ4Block", b"\x28\xb5\x2f\xfd", b"\x82SNAPPY\x00", b"ZV"
_MAGICS: tuple[tuple[bytes, Codec], ...] = (
    (LZ4_MAGIC, "lz4"),
    (ZSTD_MAGIC, "zstd"),
    (SNAPPY_MAGIC, "snappy"),
    (LZF_MAGIC, "lzf"),
)

_LZ4_HEADER = 21
_LZ4_NUMBERS = Struct("<III")  # packed size, size, checksum
_RAW, _COMPRESSED = 0x10, 0x20
_SEED = 0x9747B28C
_CHECKSUM_BITS = 0x0FFFFFFF  # lz4-java keeps 28 bits
_LENIENT_SIZE = 1 << 20  # Spark writes blocks of 32 KiB
_SNAPPY_HEADER = 16
_SNAPPY_RATIO = 64  # three bytes can stand for 64 at most

# A file that unpacks to more is not looked at: a small file of a hostile checkpoint could fill the memory.
LARGEST_CONTENT = 1 << 29


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The content of one file. ``trouble`` says why it ends before the file does, None when everything could
    be unpacked.

    Spark unpacks while it reads: what comes before the trouble reaches it, and it never sees trouble behind
    the last record, unless it reads on. ``is_cut``: the trouble is only that the bytes end, not that they are
    wrong. ``refused``: where an lz4 block breaks the format although it unpacks to the content that its
    checksum was written for: a strict lz4 refuses it, one that does not look gives the content.
    """

    content: bytes
    trouble: str | None = None
    is_cut: bool = False
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class NotUnpacked:
    """The file is packed in a way that is not known here. ``reason`` is one clause without the path."""

    reason: str


_TOO_LARGE = NotUnpacked(say("state_files.too_large", mebibytes=LARGEST_CONTENT >> 20))


def codec_of(data: bytes) -> Codec | None:
    """What the first bytes say; None for no known codec."""
    return next((codec for magic, codec in _MAGICS if data.startswith(magic)), None)


def unpack(files: Mapping[str, bytes], codec: str | None) -> dict[str, Unpacked | NotUnpacked]:
    """The contents of state files by path, checksums of lz4 blocks included. ``codec`` is the pinned one
    (short name or class name).

    A file whose first bytes are those of no codec is in trouble from its first byte on when the pinned codec
    is one that is unpacked here.
    """
    found: dict[str, Unpacked | NotUnpacked] = {}
    parts: dict[str, _Blocks] = {}
    for path, data in files.items():
        seen = codec_of(data) or codec_named(codec)
        if seen == "lz4":
            parts[path] = _lz4(data)
        elif seen == "zstd":
            found[path] = _zstd(data)
        elif seen == "snappy":
            found[path] = _snappy(data)
        else:
            found[path] = NotUnpacked(say("state_files.other_codec", codec=seen or codec))
    found.update(_verified(parts))
    return found


class _Block(NamedTuple):
    start: int
    content: bytes
    checksum: int
    is_refused: bool = False


class _Blocks(NamedTuple):
    """The blocks of one file before their checksums are looked at, up to the first that cannot be
    unpacked."""

    blocks: list[_Block]
    trouble: str | None
    is_too_large: bool = False
    is_cut: bool = False


def _lz4(data: bytes) -> _Blocks:
    blocks: list[_Block] = []
    at = total = 0
    is_closed = False
    while at < len(data):
        header = data[at : at + _LZ4_HEADER]
        if not header.startswith(LZ4_MAGIC[: len(header)]):
            return _Blocks(blocks, say("state_files.no_lz4_block", at=at))
        if len(header) < _LZ4_HEADER:
            return _Blocks(blocks, say("state_files.lz4_header_cut", at=at), is_cut=True)
        method = header[8] & 0xF0
        packed_size, size, checksum = _LZ4_NUMBERS.unpack_from(header, 9)
        if method == _RAW and size == packed_size == checksum == 0:  # ends a stream; another one may follow
            at += _LZ4_HEADER
            is_closed = True
            continue
        is_closed = False
        largest = 1 << (header[8] & 0x0F) + 10
        if (
            method not in (_RAW, _COMPRESSED)
            or not 0 < size <= largest
            or packed_size == 0
            or (method == _RAW and packed_size != size)
        ):
            return _Blocks(blocks, say("state_files.lz4_header_damaged", at=at))
        packed = data[at + _LZ4_HEADER : at + _LZ4_HEADER + packed_size]
        if len(packed) < packed_size:
            return _Blocks(blocks, say("state_files.lz4_cut", at=at), is_cut=True)
        content = packed if method == _RAW else _lz4_block(packed, size)
        block = (
            _lenient_block(at, packed, size, checksum) if content is None else _Block(at, content, checksum)
        )
        if block is None:
            return _Blocks(blocks, say("state_files.lz4_damaged", at=at))
        blocks.append(block)
        at += _LZ4_HEADER + packed_size
        total += size
        if total > LARGEST_CONTENT:
            return _Blocks([], None, is_too_large=True)
    return _Blocks(
        blocks,
        (None if is_closed else say("state_files.lz4_not_closed") if data else say("state_files.empty")),
        is_cut=not is_closed,
    )


def _lz4_block(packed: bytes, size: int) -> bytes | None:
    try:
        content = bytes(cramjam.lz4.decompress_block(packed, output_len=size))
    except cramjam.DecompressionError:
        return None
    return content if len(content) == size else None


def _lenient_block(at: int, packed: bytes, size: int, checksum: int) -> _Block | None:
    """A block that a strict lz4 refuses, as lz4-java 1.8 unpacks it (Spark 3.3 to 4.0): it copies from before
    the block where an offset says so, which is mostly zeros, and leaves the rest to the checksum. None where
    the checksum does not fit either, or the block is large: this is a walk byte by byte."""
    if size > _LENIENT_SIZE:
        return None
    try:
        content = _lenient(packed, size)
    except IndexError:
        return None
    block = _Block(at, content, checksum, is_refused=True)
    return block if len(content) == size and _fits(block) else None


def _lenient(packed: bytes, size: int) -> bytes:
    """Unpacks without looking at where an offset points; zeros stand for what lies before the block."""
    content, at = bytearray(), 0
    while True:
        token, at = packed[at], at + 1
        literals, at = _length(packed, at, token >> 4)
        content += packed[at : at + literals]
        at += literals
        if len(content) >= size:
            return bytes(content) if at == len(packed) else b""
        offset, at = packed[at] | packed[at + 1] << 8, at + 2
        copied, at = _length(packed, at, token & 15)
        if not offset or len(content) + copied + 4 > size:
            return b""
        for _ in range(copied + 4):
            content.append(content[-offset] if offset <= len(content) else 0)


def _length(packed: bytes, at: int, length: int) -> tuple[int, int]:
    """A length of four bits and the bytes that continue it, and where it ends."""
    if length == 15:
        while True:
            more, at = packed[at], at + 1
            length += more
            if more != 255:
                break
    return length, at


def _verified(files: Mapping[str, _Blocks]) -> dict[str, Unpacked | NotUnpacked]:
    """The contents up to the first block whose checksum does not fit."""
    found: dict[str, Unpacked | NotUnpacked] = {}
    for path, (blocks, trouble, is_too_large, is_cut) in files.items():
        good = next((i for i, block in enumerate(blocks) if not _fits(block)), len(blocks))
        if good < len(blocks):
            trouble, is_cut = say("state_files.lz4_checksum", at=blocks[good].start), False
        found[path] = (
            _TOO_LARGE
            if is_too_large
            else Unpacked(
                b"".join(block.content for block in blocks[:good]), trouble, is_cut, _refused(blocks[:good])
            )
        )
    return found


def _refused(blocks: Sequence[_Block]) -> str | None:
    first = next((block for block in blocks if block.is_refused), None)
    return None if first is None else say("state_files.lz4_damaged", at=first.start)


def _fits(block: _Block) -> bool:
    return xxhash.xxh32_intdigest(block.content, _SEED) & _CHECKSUM_BITS == block.checksum


def _snappy(data: bytes) -> Unpacked | NotUnpacked:
    if len(data) < _SNAPPY_HEADER or not data.startswith(SNAPPY_MAGIC):
        return Unpacked(b"", say("state_files.no_snappy"))
    content: list[bytes] = []
    at, size = _SNAPPY_HEADER, 0
    while at < len(data):
        if data.startswith(SNAPPY_MAGIC, at):  # streams may follow each other
            at += _SNAPPY_HEADER
            continue
        packed_size = int.from_bytes(data[at : at + 4], "big")
        packed = data[at + 4 : at + 4 + packed_size]
        if len(data) - at < 4 or len(packed) < packed_size:
            return Unpacked(b"".join(content), say("state_files.snappy_cut", at=at))
        block = _snappy_block(packed)
        if block is None:
            return Unpacked(b"".join(content), say("state_files.snappy_damaged", at=at))
        content.append(block)
        size += len(block)
        if size > LARGEST_CONTENT:
            return _TOO_LARGE
        at += 4 + packed_size
    return Unpacked(b"".join(content))


def _snappy_block(packed: bytes) -> bytes | None:
    try:
        if cramjam.snappy.decompress_raw_len(packed) > _SNAPPY_RATIO * len(
            packed
        ):  # it would allocate what a damaged length says
            return None
        return bytes(cramjam.snappy.decompress_raw(packed))
    except cramjam.DecompressionError:
        return None


def _zstd(data: bytes) -> Unpacked | NotUnpacked:
    if not data.startswith(ZSTD_MAGIC):
        return Unpacked(b"", say("state_files.no_zstd"))
    room = np.empty(
        min(LARGEST_CONTENT, max(1 << 24, len(data) * 256)), dtype=np.uint8
    )  # taken from the system only as it is filled
    try:
        size = cramjam.zstd.decompress_into(data, room.data)
    except cramjam.DecompressionError as error:
        if "whole buffer" in str(error):
            return _TOO_LARGE
        return Unpacked(b"", say("state_files.zstd_damaged", error=error))
    return Unpacked(room[:size].tobytes())


__all__: Sequence[str] = ["Codec", "NotUnpacked", "Unpacked", "codec_of", "unpack"]
