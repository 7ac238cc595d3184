"""State files as Spark writes them, made from records: for damage that a bit flip cannot do (a row moved
elsewhere). Damage by bytes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import cramjam
import xxhash

from core.checkpoint.state_content.framing import Unpacked, unpack
from core.checkpoint.state_content.records import (
    Record,
    Records,
    parse_changelog,
    parse_delta,
    parse_snapshot,
)

LZ4_SEED = 0x9747B28C
BLOCK_BYTES = 32 * 1024


def pack_lz4(content: bytes, block_bytes: int = BLOCK_BYTES) -> bytes:
    """LZ4Block frames, the empty block at the end included. That Spark reads them is shown in tests/spark."""
    packed = b""
    token = (block_bytes - 1).bit_length() - 10
    for start in range(0, len(content), block_bytes):
        block = content[start : start + block_bytes]
        small = bytes(cramjam.lz4.compress_block(block, store_size=False))
        is_smaller = len(small) < len(block)
        data = small if is_smaller else block
        packed += (
            _lz4_header(
                (0x20 if is_smaller else 0x10) | token,
                len(data),
                len(block),
                xxhash.xxh32_intdigest(block, LZ4_SEED) & 0x0FFFFFFF,
            )
            + data
        )
    return packed + _lz4_header(0x10 | token, 0, 0, 0)


def _lz4_header(token: int, packed_size: int, size: int, checksum: int) -> bytes:
    return (
        b"LZ4Block"
        + bytes([token])
        + b"".join(number.to_bytes(4, "little") for number in (packed_size, size, checksum))
    )


def pack_snappy(content: bytes) -> bytes:
    """The stream of snappy-java."""
    block = bytes(cramjam.snappy.compress_raw(content))
    return b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2 + len(block).to_bytes(4, "big") + block


def encode(records: Iterable[Record]) -> bytes:
    """The content of a delta, a snapshot or a changelog of version 1."""
    parts = []
    for kind, key, value in records:
        parts.append(len(key).to_bytes(4, "big") + key)
        parts.append(
            (-1).to_bytes(4, "big", signed=True)
            if kind == "delete"
            else len(value or b"").to_bytes(4, "big") + (value or b"")
        )
    return b"".join(parts) + (-1).to_bytes(4, "big", signed=True)


def unpacked(path: Path) -> Unpacked:
    """The content of a state file."""
    found = unpack({"x": path.read_bytes()}, None)["x"]
    assert isinstance(found, Unpacked)
    return found


def records_of(path: Path) -> Records:
    """The records of a state file, by the kind that its name says."""
    parse: Callable[[Unpacked], Records] = {
        ".delta": parse_delta,
        ".snapshot": parse_snapshot,
        ".changelog": parse_changelog,
    }[path.suffix]
    return parse(unpacked(path))


def rewrite_records(path: Path, records: Iterable[Record]) -> None:
    """Other records under the same name; the hidden checksum goes, as when somebody copies files."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    path.write_bytes(pack_lz4(encode(records)))


def flip(path: Path, at: int, *, keep_checksum: bool = True) -> None:
    """One bit is another one. Negative positions count from the end."""
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(bytes(data))
    if not keep_checksum:
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def cut(path: Path, keep: int, *, keep_checksum: bool = True) -> None:
    """Only the first bytes are left; a negative number is how many are lost."""
    path.write_bytes(path.read_bytes()[:keep])
    if not keep_checksum:
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def newest(store: Path, kind: str) -> Path:
    """The file of the highest version of a kind in the directory of a store."""
    return max(store.glob(f"[0-9]*.{kind}"), key=lambda path: int(path.stem.partition("_")[0]))


def version(store: Path, number: int, kind: str) -> Path:
    """The file of a version, with or without an id in its name."""
    return next(
        path for path in store.glob(f"{number}*.{kind}") if path.stem.partition("_")[0] == str(number)
    )


def flip_a_value(paths: Iterable[Path]) -> Path:
    """Flips one bit in one of these packed files, so that it still unpacks to the same keys, one of them with
    another value; gives the file back."""
    for path in paths:
        data, before = bytearray(path.read_bytes()), records_of(path).records
        for at, bit in itertools.product(range(8, len(data)), (1 << n for n in range(8))):
            data[at] ^= bit
            path.write_bytes(bytes(data))
            if _only_values_differ(path, before):
                return path
            data[at] ^= bit
        path.write_bytes(bytes(data))
    raise AssertionError("no bit of these files changes only a value")


def _only_values_differ(path: Path, before: Sequence[Record]) -> bool:
    found = unpack({"x": path.read_bytes()}, None)["x"]
    if not isinstance(found, Unpacked) or found.trouble is not None:
        return False
    after = records_of(path)
    same_keys = [record[:2] for record in after.records] == [record[:2] for record in before]
    return after.trouble is None and same_keys and list(after.records) != list(before)
