"""A RocksDB snapshot, ``<version>[_<id>].zip``: its small files, and in the member ``metadata`` what lies
beside it. Bytes in, facts out.

The rows are not in the zip but in the ``.sst`` (and ``.log``) files that ``metadata`` names, in ``SSTs/`` and
``logs/`` of the same store.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import NamedTuple

from core.messages import say
from core.sparklogs.evidence import Problem
from core.sparklogs.json_text import parse_object
from core.sparklogs.versioned import VersionedText, json_object, versioned

METADATA = "metadata"
_METADATA = METADATA.encode()
_LOCAL_HEADER, _DESCRIPTOR = b"PK\x03\x04", b"PK\x07\x08"
_HEADER = Struct("<6xHH4xIIIHH")
_BEHIND = Struct("<III")
_STORED, _DEFLATED = 0, 8
_SIZES_BEHIND = 0x08
_WRITTEN = (b"v1\n{", b"v2\n{")
_VERSION_LINE_BYTES = 3
_NEWEST_VERSION = 2  # Spark 4.0 writes v2, of the same content, while it keeps state in checkpoint format 2

# The members are RocksDB's MANIFEST, OPTIONS, CURRENT and a short log. One that unpacks to more is not looked
# at.
LARGEST_MEMBER = 1 << 28

# What is kept of the zips before: so many members, of so many bytes at most.
MOST_SEEN = 16
LARGEST_SEEN = 1 << 20


class NamedFile(NamedTuple):
    """A file that a zip needs. ``name`` is the one below ``SSTs/`` or ``logs/`` of the store, ``local_name``
    the one RocksDB expects."""

    name: str
    local_name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ZipContent:
    """What the metadata of a zip says.

    ``num_keys``: rows of the column families a user knows, None when Spark did not count them
    (``rocksdb.trackTotalNumberOfRows`` off). ``num_internal_keys``: rows of Spark's own column families
    (Spark 4.0+). ``column_families``: name -> id; ``internal`` are the names of those that Spark keeps for
    itself. Both are empty for a store without column families.
    """

    sst_files: tuple[NamedFile, ...]
    log_files: tuple[NamedFile, ...]
    num_keys: int | None
    num_internal_keys: int | None
    column_families: Mapping[str, int] = field(default_factory=dict)
    internal: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class BrokenZip:
    """Why Spark cannot use a zip, or why it is not known here (``is_unknown``): metadata of a newer version.
    ``reason`` is one clause."""

    reason: str
    is_unknown: bool = False


class Member(NamedTuple):
    """A member as it is packed, what it holds, and the CRC-32 of that."""

    packed: bytes
    content: bytes
    crc: int


Seen = dict[bytes, Member]
"""Of each sort of member (``OPTIONS``, ``CURRENT``, ...) the last one that was unpacked."""


def read_zip(data: bytes, seen: Seen | None = None) -> ZipContent | BrokenZip:
    """Unpacks every member from the front, as Spark does, checks its CRC-32, and reads the metadata.

    Spark never looks at the table of contents at the end: a zip that lost it is used without an error
    (observed, Spark 4.3); see :func:`tail_trouble`.

    ``seen``: who reads many zips gives the same dictionary each time. RocksDB writes the same options for
    every partition; the same packed bytes are not unpacked again.
    """
    if not data:
        return BrokenZip(say("state_files.empty"))
    metadata: bytes | None = None
    try:
        for raw_name, content in _members(data, {} if seen is None else seen):
            if raw_name == _METADATA:
                metadata = content
    except (ValueError, zlib.error) as error:
        return BrokenZip(_words(error))
    return BrokenZip(say("state_files.zip_no_metadata")) if metadata is None else parse_zip_metadata(metadata)


def tail_trouble(data: bytes) -> str | None:
    """What is wrong with the table of contents at the end of a zip, None when nothing is."""
    try:
        zipfile.ZipFile(io.BytesIO(data)).close()
    # NotImplementedError: a version or packing that zipfile does not know; struct.error and EOFError: cut
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, EOFError, StructError) as error:
        return say("state_files.zip_contents", error=_words(error))
    return None


def _members(data: bytes, seen: Seen) -> Iterator[tuple[bytes, bytes]]:
    """Names and contents from the front to the table of contents. ValueError and zlib.error, with a clause,
    for what cannot be read.

    Java writes the sizes behind a member, not before it, so that only unpacking shows where it ends. Packed
    bytes end with a mark of their own: what begins with all the bytes of another packed member is that one.
    """
    at, end = 0, len(data)
    while data.startswith(_LOCAL_HEADER, at) and end >= at + _HEADER.size:
        flags, method, crc, packed_size, size, name_size, extra_size = _HEADER.unpack_from(data, at)
        start = at + _HEADER.size + name_size + extra_size
        raw_name = data[at + _HEADER.size : start - extra_size]
        if method == _DEFLATED:
            sort = raw_name.partition(b"-")[0]
            member = seen.get(sort)
            if member is None or not data.startswith(member.packed, start):
                member = _unpack(data, start, raw_name)
                if len(member.content) <= LARGEST_SEEN and (sort in seen or len(seen) < MOST_SEEN):
                    seen[sort] = member
            content, found_crc, at = member.content, member.crc, start + len(member.packed)
        elif method == _STORED and not flags & _SIZES_BEHIND:
            content, at = data[start : start + packed_size], start + packed_size
            if at > end:
                raise ValueError(say("state_files.zip_cut", member=_shown(raw_name)))
            found_crc = zlib.crc32(content)
        else:
            raise ValueError(say("state_files.zip_packing", member=_shown(raw_name)))
        if flags & _SIZES_BEHIND:
            at += 4 if data.startswith(_DESCRIPTOR, at) else 0
            if at + _BEHIND.size > end:
                raise ValueError(say("state_files.zip_cut", member=_shown(raw_name)))
            crc, packed_size, size = _BEHIND.unpack_from(data, at)
            at += _BEHIND.size
        if found_crc != crc or len(content) != size:
            raise ValueError(say("state_files.zip_damaged", member=_shown(raw_name)))
        yield raw_name, content


def _unpack(data: bytes, start: int, raw_name: bytes) -> Member:
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    content = unpacker.decompress(memoryview(data)[start:], LARGEST_MEMBER)
    if unpacker.unconsumed_tail:
        member = _shown(raw_name)
        raise ValueError(say("state_files.zip_too_large", member=member, mebibytes=LARGEST_MEMBER >> 20))
    if not unpacker.eof:
        raise ValueError(say("state_files.zip_cut", member=_shown(raw_name)))
    packed = data[start : len(data) - len(unpacker.unused_data)]
    return Member(packed, content, zlib.crc32(content))


def _shown(raw_name: bytes) -> str:
    return raw_name.decode("utf-8", "replace")[:60]


def parse_zip_metadata(data: bytes) -> ZipContent | BrokenZip:
    """Reads ``v1`` or ``v2``, then one JSON object."""
    content = _as_written(data) or _object(data)
    if isinstance(content, Problem):
        is_unknown = content.condition == "unknown_version"
        return BrokenZip(say("state_files.zip_metadata", clause=content.clause), is_unknown)
    try:
        return ZipContent(
            sst_files=_files(content, "sstFiles", "dfsSstFileName"),
            log_files=_files(content, "logFiles", "dfsLogFileName"),
            num_keys=_count(content, "numKeys"),
            num_internal_keys=_count(content, "numInternalKeys"),
            column_families=_ids(content),
            internal=_internal(content),
        )
    except (ValueError, KeyError) as error:
        return BrokenZip(say("state_files.zip_metadata_values", error=_words(error)))


def _as_written(data: bytes) -> dict[str, object] | None:
    """The JSON object right behind the version line, where Spark writes it; None where anything else is
    there."""
    if not data.startswith(_WRITTEN):
        return None
    try:
        return parse_object(data[_VERSION_LINE_BYTES:].decode())
    except ValueError:
        return None


def _object(data: bytes) -> dict[str, object] | Problem:
    file = versioned(data, METADATA, _NEWEST_VERSION)
    return json_object(file.rest.strip(), METADATA, data, 2) if isinstance(file, VersionedText) else file


def _files(content: Mapping[str, object], key: str, name_key: str) -> tuple[NamedFile, ...]:
    listed = content.get(key) or []
    if not isinstance(listed, list):
        raise ValueError(say("state_files.zip_no_list", key=key))
    found = []
    for item in listed:
        name, local, size = (
            (item.get(k) for k in (name_key, "localFileName", "sizeBytes"))
            if isinstance(item, dict)
            else (None,) * 3
        )
        if (
            not isinstance(name, str)
            or not isinstance(local, str)
            or not isinstance(size, int)
            or "/" in name
        ):
            raise ValueError(say("state_files.zip_entry", key=key))
        found.append(NamedFile(name, local, size))
    return tuple(found)


def _count(content: Mapping[str, object], key: str) -> int | None:
    number = content.get(key)
    return number if isinstance(number, int) and number >= 0 else None


def _ids(content: Mapping[str, object]) -> Mapping[str, int]:
    mapping = content.get("columnFamilyMapping")
    return (
        {name: number for name, number in mapping.items() if isinstance(number, int)}
        if isinstance(mapping, dict)
        else {}
    )


def _internal(content: Mapping[str, object]) -> frozenset[str]:
    mapping = content.get("columnFamilyTypeMap")
    return (
        frozenset(name for name, is_internal in mapping.items() if is_internal is True)
        if isinstance(mapping, dict)
        else frozenset()
    )


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
