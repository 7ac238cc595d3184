"""The records inside an unpacked state file: put, delete, merge, delete range. Bytes in, records out.

The layouts are those of Spark 2.1 to 4.3, read from its files: delta and snapshot of the HDFS-backed store,
changelogs of RocksDB in versions 1 (no header), 2 (column families), 3 and 4 (with the lineage of state
checkpoint format 2). Numbers are big-endian.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Literal

from core.checkpoint.state_content.framing import Unpacked
from core.messages import say
from core.sparklogs.json_text import parse_json

RecordKind = Literal["put", "delete", "merge", "delete_range"]
Record = tuple[RecordKind, bytes, bytes | None]
"""Kind, key, value. A delete has no value; the value of a delete range is the key it ends before."""

_INT = Struct(">i")
_END_OF_RECORDS = -1
_DELETED = -1
_TYPES: Mapping[int, RecordKind] = {0x01: "put", 0x10: "delete", 0x11: "merge", 0x20: "delete_range"}
_END_TYPE = 0x00
_VERSION = re.compile(r"v[0-9]{1,4}")
_WITH_COLUMN_FAMILIES = (2, 4)  # versions of a changelog


@dataclass(frozen=True, slots=True)
class LineageItem:
    """An earlier version that the version of a changelog is built from, and the id in the name of its
    file."""

    version: int
    unique_id: str


@dataclass(frozen=True, slots=True)
class Records:
    """What one file says, in its order.

    ``format_version`` is 1 for deltas and snapshots, 1 to 4 for changelogs. ``lineage`` is there in 3 and 4.
    ``trouble`` says why reading ended before the end mark, None when it was reached: then Spark reads the
    file without an error. ``surplus_bytes``: what follows the end mark; Spark does not look at it.
    """

    records: list[Record]
    format_version: int = 1
    lineage: tuple[LineageItem, ...] = ()
    trouble: str | None = None
    surplus_bytes: int = 0

    @property
    def has_column_families(self) -> bool:
        """Whether each key begins with the number of its column family."""
        return self.format_version in _WITH_COLUMN_FAMILIES


def parse_delta(unpacked: Unpacked) -> Records:
    """A ``.delta`` of the HDFS-backed store."""
    return _pairs(unpacked, 0)


def parse_snapshot(unpacked: Unpacked) -> Records:
    """A ``.snapshot`` of the HDFS-backed store: puts only. Spark fails on a value of negative length."""
    found = _pairs(unpacked, 0)
    deleted = next((i for i, record in enumerate(found.records) if record[0] != "put"), None)
    if deleted is None:
        return found
    return Records(found.records[:deleted], trouble=say("state_files.snapshot_deletion", record=deleted + 1))


def parse_changelog(unpacked: Unpacked) -> Records:
    """A ``.changelog`` of RocksDB; its first bytes say which version it has."""
    header = _header(unpacked)
    if isinstance(header, Records):
        return header
    version, lineage, at = header
    found = _typed(unpacked, at) if version in _WITH_COLUMN_FAMILIES else _pairs(unpacked, at)
    return Records(found.records, version, lineage, found.trouble, found.surplus_bytes)


def start_of_pairs(unpacked: Unpacked, is_changelog: bool) -> int | None:
    """Where the first pair of key and value begins; None in a changelog with column families, or with a
    header that cannot be read."""
    if not is_changelog:
        return 0
    header = _header(unpacked)
    return None if isinstance(header, Records) or header[0] in _WITH_COLUMN_FAMILIES else header[2]


def _header(unpacked: Unpacked) -> tuple[int, tuple[LineageItem, ...], int] | Records:
    """Version, lineage and end of the header of a changelog; no records, and the trouble, when it is none
    that is known."""
    content = unpacked.content
    try:
        header, at = _utf(content, 0)
        version = int(header[1:]) if _VERSION.fullmatch(header) else 1
    except ValueError:  # version 1 has no header: what is read as one is the first key, or nothing
        version, at = 1, 0
    if version == 1:
        return 1, (), 0
    if version not in (2, 3, 4):
        return Records([], version, trouble=say("state_files.changelog_version", version=version))
    if version == 2:
        return version, (), at
    try:
        text, at = _utf(content, at)
        return version, _lineage(text), at
    except ValueError:
        return Records([], version, trouble=_why(unpacked, say("state_files.lineage")))


def _pairs(unpacked: Unpacked, at: int) -> Records:
    """``keyLen key valueLen value``, a value length of -1 for a delete, a key length of -1 at the end."""
    content, records = unpacked.content, list[Record]()
    size, read = len(content), _INT.unpack_from
    while at + 4 <= size:
        (key_size,) = read(content, at)
        if key_size == _END_OF_RECORDS:
            return Records(records, surplus_bytes=size - at - 4)
        if key_size < 0:
            return Records(
                records, trouble=say("state_files.key_length", record=len(records) + 1, length=key_size)
            )
        key_end = at + 4 + key_size
        if key_end + 4 > size:
            break
        key = content[at + 4 : key_end]
        (value_size,) = read(content, key_end)
        if value_size < 0:
            records.append(("delete", key, None))
            at = key_end + 4
            continue
        at = key_end + 4 + value_size
        if at > size:
            break
        records.append(("put", key, content[key_end + 4 : at]))
    return Records(records, trouble=_why(unpacked, say("state_files.record_cut", record=len(records) + 1)))


def _typed(unpacked: Unpacked, at: int) -> Records:
    """``type keyLen key valueLen value``, a type of 0 at the end."""
    content, records = unpacked.content, list[Record]()
    size, read = len(content), _INT.unpack_from
    while at < size:
        kind = _TYPES.get(content[at])
        if kind is None:
            if content[at] == _END_TYPE:
                return Records(records, surplus_bytes=size - at - 1)
            return Records(
                records, trouble=say("state_files.record_type", record=len(records) + 1, type=content[at])
            )
        if at + 5 > size:
            break
        (key_size,) = read(content, at + 1)
        key_end = at + 5 + key_size
        if key_size < 0:
            return Records(
                records, trouble=say("state_files.key_length", record=len(records) + 1, length=key_size)
            )
        if key_end + 4 > size:
            break
        (value_size,) = read(content, key_end)
        if (value_size == _DELETED) != (kind == "delete") or value_size < _DELETED:
            return Records(
                records, trouble=say("state_files.value_length", record=len(records) + 1, length=value_size)
            )
        at = key_end + 4 + max(value_size, 0)
        if at > size:
            break
        records.append(
            (
                kind,
                content[key_end - key_size : key_end],
                None if kind == "delete" else content[key_end + 4 : at],
            )
        )
    return Records(records, trouble=_why(unpacked, say("state_files.record_cut", record=len(records) + 1)))


def _why(unpacked: Unpacked, otherwise: str) -> str:
    """The trouble of unpacking is why the records end early, where there was one."""
    return unpacked.trouble or otherwise


def _utf(content: bytes, at: int) -> tuple[str, int]:
    """Java's ``readUTF``: two bytes of length, then text. ValueError when it is not there."""
    size = int.from_bytes(content[at : at + 2], "big")
    end = at + 2 + size
    if end > len(content) or at + 2 > len(content):
        raise ValueError("too short")
    return content[at + 2 : end].decode("utf-8"), end


def _lineage(text: str) -> tuple[LineageItem, ...]:
    """``[{"version":1,"checkpointUniqueId":"..."}]``. ValueError for anything else."""
    items = parse_json(text)
    if not isinstance(items, list):
        raise ValueError("no list")
    found = []
    for item in items:
        version, unique_id = (
            (item.get("version"), item.get("checkpointUniqueId")) if isinstance(item, dict) else (None, None)
        )
        if not isinstance(version, int) or not isinstance(unique_id, str):
            raise ValueError("no version and id")
        found.append(LineageItem(version, unique_id))
    return tuple(found)
