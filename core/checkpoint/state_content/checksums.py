"""The two kinds of checksum beside a file. Bytes in, verdict out.

* Hadoop's, hidden: ``.<name>.crc``, a header and one CRC-32 for each 512 bytes. Written by Hadoop's local
  file system.
* Spark's, visible: ``<name>.crc``, JSON with the CRC-32C of the whole file. State files of checkpoint format
  2 (4.1+), and of format 1 by Spark 4.1 alone.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import crc32c

from core.messages import say
from core.sparklogs.json_text import parse_object

_MAGIC = b"crc\0"
_HEADER = 8
_LARGEST_CHUNK = 1 << 24


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The checksum does not fit the file. ``reason`` is one clause."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unusable:
    """The checksum file itself cannot be read. ``reason`` is one clause."""

    reason: str


Verdict = Mismatch | Unusable | None
"""None: the file is what it was when the checksum was written."""


def hidden_name(path: str) -> str:
    """``a/b`` -> ``a/.b.crc``."""
    directory, slash, name = path.rpartition("/")
    return f"{directory}{slash}.{name}.crc"


def visible_name(path: str) -> str:
    """``a/b`` -> ``a/b.crc``."""
    return f"{path}.crc"


def verify_hidden(data: bytes, checksum: bytes) -> Verdict:
    """Hadoop's checksum. It ignores a checksum file whose header it cannot read, so that is :class:`Unusable`
    and no mismatch."""
    chunk = int.from_bytes(checksum[4:_HEADER], "big")
    if checksum[:4] != _MAGIC or len(checksum) < _HEADER or not 0 < chunk <= _LARGEST_CHUNK:
        return Unusable(say("state_files.hidden_header"))
    expected = checksum[_HEADER:]
    count = -(-len(data) // chunk)
    if len(expected) != 4 * count:
        return Mismatch(
            say("state_files.hidden_blocks", covered=len(expected) // 4, chunk=chunk, count=count)
        )
    for i in range(count):
        if zlib.crc32(data[i * chunk : (i + 1) * chunk]) != int.from_bytes(
            expected[4 * i : 4 * i + 4], "big"
        ):
            return Mismatch(
                say("state_files.hidden_bytes", first=i * chunk, last=min((i + 1) * chunk, len(data)) - 1)
            )
    return None


def verify_visible(data: bytes, checksum: bytes) -> Verdict:
    """Spark's checksum: algorithm, value (a signed 32-bit number) and size."""
    try:
        content = parse_object(checksum.decode("utf-8").strip())
    except ValueError:
        return Unusable(say("state_files.visible_json"))
    value, size = content.get("value"), content.get("mainFileSize")
    if content.get("algorithm") != "CRC32C" or not isinstance(value, int):
        return Unusable(say("state_files.visible_algorithm"))
    if isinstance(size, int) and size != len(data):
        return Mismatch(say("state_files.visible_size", expected=size, size_bytes=len(data)))
    if crc32c.crc32c(data) != value & 0xFFFFFFFF:
        return Mismatch(say("state_files.visible_value"))
    return None
