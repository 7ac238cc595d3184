"""What the file names below ``state/`` mean. Nothing is read here; 440,000 names take about a second.

Layout (Spark 2.1 to 4.3, observed): ``state/<operator>/<partition>/`` holds the store ``default``, and a
directory ``<store>/`` below it any other; operator metadata and schemas lie beside the partitions (4.0+) or
below partition 0 (3.1+).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from core.checkpoint.model import StateFileKind

DEFAULT_STORE = "default"
OPERATOR_LEVEL = -1  # in place of a partition id: the file belongs to the operator as a whole

Section = Literal["versions", "sst", "rocksdb_log", "schema", "metadata", "metadata_v2", "schema_v3"]

_LARGEST_ID = 2**63 - 1  # Spark keeps versions as signed 64-bit numbers
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OLD_TEMPORARY = re.compile(
    r"temp--?[0-9]{1,19}"
)  # an unfinished delta of Spark 2.1 to 2.3, named by a random number
_VERSIONED: dict[str, StateFileKind] = {
    "delta": "delta",
    "snapshot": "snapshot",
    "zip": "zip",
    "changelog": "changelog",
}
_WITH_IDS = ("zip", "changelog")  # the HDFS-backed store has no state checkpoint format 2
_INNER: dict[str, Section] = {"SSTs": "sst", "logs": "rocksdb_log", "_metadata": "schema"}


class Directory(NamedTuple):
    """What a directory below ``state/`` is for. ``partition_id`` is :data:`OPERATOR_LEVEL` beside the
    partitions."""

    operator_id: int
    partition_id: int
    store: str
    section: Section


class Name(NamedTuple):
    """What one file is. ``version`` is a state version; ``unique_id`` is there in state checkpoint format
    2."""

    kind: StateFileKind
    version: int | None = None
    unique_id: str | None = None


FOREIGN = Name("foreign")
TEMPORARY = Name("temporary")
CHECKSUM = Name("checksum")


def is_hidden_checksum(name: str) -> bool:
    """Whether a file of this name is Hadoop's checksum of a file that was written to its end."""
    return name[:1] == "." and name.endswith(".crc") and not name.endswith(".tmp.crc")


def directory_of(path: str) -> Directory | None:
    """What the directory ``state/...`` holds, or None for one that Spark does not make."""
    parts = path.split("/")
    if len(parts) < 3 or parts[0] != "state":
        return None
    operator_id = plain_number(parts[1])
    if operator_id is None:
        return None
    inner = parts[3:]
    if parts[2] == "_metadata":
        return _operator_metadata(operator_id, inner)
    if parts[2] == "_stateSchema":
        return Directory(operator_id, OPERATOR_LEVEL, inner[0], "schema_v3") if len(inner) == 1 else None
    partition_id = plain_number(parts[2])
    if partition_id is None:
        return None
    store = DEFAULT_STORE
    if inner and inner[0] not in _INNER:
        store, *inner = inner
    if not inner:
        return Directory(operator_id, partition_id, store, "versions")
    section = _INNER.get(inner[0])
    return Directory(operator_id, partition_id, store, section) if section and len(inner) == 1 else None


def operator_put_away(path: str) -> str | None:
    """The directory ``state/<name>`` of a file that has a place and name of Spark's below an operator, where
    ``<name>`` is no number: an operator's directory that somebody renamed (``state/0_old``). None for other
    files."""
    parts = path.split("/")
    if len(parts) < 4 or parts[0] != "state" or plain_number(parts[1]) is not None:
        return None
    place = directory_of("/".join(["state", "0", *parts[2:-1]]))
    if place is None or name_of(place.section, parts[-1]).kind in ("foreign", "temporary", "checksum"):
        return None
    return f"state/{parts[1]}"


def _operator_metadata(operator_id: int, inner: list[str]) -> Directory | None:
    if not inner:
        return Directory(operator_id, OPERATOR_LEVEL, "", "metadata")
    return Directory(operator_id, OPERATOR_LEVEL, "", "metadata_v2") if inner == ["v2"] else None


@lru_cache(maxsize=8192)  # every partition has the same names, unless they carry ids
def name_of(section: Section, name: str) -> Name:
    """What the file ``name`` is, in a directory of this ``section``.

    ``.x.crc`` (Hadoop's checksum) and ``x.crc`` (Spark's own, 4.1+) are both ``checksum``; only the second is
    a file that Spark wrote by itself. ``.x.<uuid>.tmp``, ``.x.<uuid>.TID<n>.tmp`` and, before Spark 2.4,
    ``temp-<number>`` are unfinished writes.
    """
    if name[:1] == ".":
        return _hidden(name)
    if name.endswith(".crc"):
        main = name_of(section, name[:-4])
        return (
            FOREIGN
            if main.kind in ("foreign", "checksum")
            else Name("checksum", main.version, main.unique_id)
        )
    if section == "versions":
        return _versioned(name)
    if section == "sst":
        return Name("sst") if name.endswith(".sst") else FOREIGN
    if section == "rocksdb_log":
        return Name("rocksdb_log") if name.endswith(".log") else FOREIGN
    if section == "schema":
        return Name("schema") if name == "schema" else FOREIGN
    if section == "metadata":
        return Name("metadata") if name == "metadata" else FOREIGN
    if section == "metadata_v2":
        return Name("metadata") if plain_number(name) is not None else FOREIGN
    batch, _, unique_id = name.partition("_")
    return Name("schema") if plain_number(batch) is not None and _UUID.fullmatch(unique_id) else FOREIGN


def _versioned(name: str) -> Name:
    stem, _, extension = name.rpartition(".")
    kind = _VERSIONED.get(extension)
    if kind is None:
        return TEMPORARY if _OLD_TEMPORARY.fullmatch(name) else FOREIGN
    version = plain_number(stem)
    if version is not None:
        return Name(kind, version)
    number, _, unique_id = stem.partition("_")
    version = plain_number(number)
    if version is None or kind not in _WITH_IDS or not _UUID.fullmatch(unique_id):
        return FOREIGN
    return Name(kind, version, unique_id)


def _hidden(name: str) -> Name:
    if name.endswith((".tmp", ".tmp.crc")):
        return TEMPORARY
    return CHECKSUM if name.endswith(".crc") else FOREIGN


def plain_number(text: str) -> int | None:
    """The number that ``text`` is, written as Spark writes it (no sign, no leading zeros), or None."""
    if not (text.isdigit() and text.isascii()) or len(text) > 19 or (text[0] == "0" and len(text) > 1):
        return None
    number = int(text)
    return number if number <= _LARGEST_ID else None
