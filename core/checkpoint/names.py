"""What the file names in a checkpoint mean. Nothing is read here.

Rules (Spark 2.1 to 4.3): a batch file is a file whose whole name is a decimal number; in a file source log
the name may also be ``<number>.compact``. Everything else is ignored by Spark, even a DIRECTORY called ``99``
(observed with 3.4 to 4.3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from core.checkpoint.model import Leftover, LogFile
from core.storage import FileInfo, Listing

LARGEST_ID = 2**63 - 1  # Spark keeps ids as signed 64-bit numbers; a longer run of digits is no id to it

NameKind = Literal["batch", "compact", "temporary", "checksum", "marker", "foreign"]

_DIGITS = re.compile(r"[0-9]+")
_COMPACT = re.compile(r"([0-9]+)\.compact")


def batch_id_of(name: str) -> int | None:
    """The id that Spark reads from a file name, or None. ``007`` is 7 (and Spark then fails to open the file
    called 7)."""
    if not _DIGITS.fullmatch(name) or len(name) > 40:
        return None
    number = int(name)
    return number if number <= LARGEST_ID else None


def compact_id_of(name: str) -> int | None:
    """The log id of ``<number>.compact``, or None."""
    match = _COMPACT.fullmatch(name)
    return batch_id_of(match[1]) if match else None


def name_kind(name: str) -> NameKind:
    """What a file in a log directory is, by its name alone.

    ``.<name>.crc`` are Hadoop's checksum side files, ``.<name>.<uuid>.tmp`` (with or without ``.TID<n>``)
    unfinished writes, and ``<dir>_$folder$`` the directory markers of older S3 connectors.
    """
    if batch_id_of(name) is not None:
        return "batch"
    if compact_id_of(name) is not None:
        return "compact"
    if name.endswith("_$folder$"):
        return "marker"
    if name.endswith((".tmp", ".tmp.crc")):
        return "temporary"
    if name.startswith(".") and name.endswith(".crc"):
        return "checksum"
    return "foreign"


def checksum_owner(name: str) -> str:
    """The name of the file that the side file ``.<name>.crc`` belongs to."""
    return name[1:-4]


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """The batch files of ``offsets/`` or ``commits/``, ascending by number, and what else lies there.

    ``infos``: the same files as the storage door takes them. ``misnamed``: ids whose file has leading zeros
    (``007``). ``checksums_of``: ids that have a checksum side file, whether or not the file itself is there.
    """

    files: dict[int, LogFile]
    infos: dict[int, FileInfo]
    misnamed: frozenset[int] = frozenset()
    checksums_of: frozenset[int] = frozenset()
    leftovers: tuple[Leftover, ...] = ()

    @property
    def ids(self) -> tuple[int, ...]:
        """The batch ids, ascending."""
        return tuple(self.files)


@dataclass(slots=True)
class _Sorting:
    files: dict[int, FileInfo] = field(default_factory=dict)
    misnamed: set[int] = field(default_factory=set)
    checksums: dict[str, FileInfo] = field(default_factory=dict)
    leftovers: list[Leftover] = field(default_factory=list)


def read_log_directory(listing: Listing) -> LogDirectory:
    """Sorts the listing of ``offsets/`` or ``commits/`` into batch files and leftovers."""
    found = _Sorting()
    names = listing.names()
    for name, info in names.items():
        kind = name_kind(name)
        if kind == "batch":
            _take_batch_file(found, name, info)
        elif kind == "checksum":
            found.checksums[name] = info
        elif kind == "temporary":
            found.leftovers.append(_leftover(info, "temporary"))
        elif kind != "marker":
            found.leftovers.append(_leftover(info, "foreign"))
    found.leftovers += [
        _leftover(info, "temporary")
        for name, info in found.checksums.items()
        if checksum_owner(name) not in names
    ]
    found.leftovers += [Leftover(path=path, kind="foreign") for path in listing.directories]
    owners = (batch_id_of(checksum_owner(name)) for name in found.checksums)
    infos = {i: found.files[i] for i in sorted(found.files)}
    return LogDirectory(
        files={i: LogFile(i, info.path, info.size_bytes, info.modified_ms) for i, info in infos.items()},
        infos=infos,
        misnamed=frozenset(found.misnamed),
        checksums_of=frozenset(i for i in owners if i is not None),
        leftovers=tuple(sorted(found.leftovers, key=lambda leftover: leftover.path)),
    )


def _take_batch_file(found: _Sorting, name: str, info: FileInfo) -> None:
    batch_id = int(name)
    other = found.files.get(batch_id)
    if name == str(batch_id):
        if other is not None:
            found.leftovers.append(_leftover(other, "foreign"))
        found.files[batch_id] = info
        found.misnamed.discard(batch_id)
    elif other is not None:
        found.leftovers.append(_leftover(info, "foreign"))
    else:
        found.files[batch_id] = info
        found.misnamed.add(batch_id)


def other_leftovers(
    listing: Listing, known_files: Iterable[str], known_directories: Iterable[str]
) -> list[Leftover]:
    """The leftovers of a directory that is no batch log (the root, ``sources/``): all but the known names.

    ``__tmp_path_dir`` is Databricks' staging directory; ``_schema_log_...`` belongs to Delta's schema
    tracking and is no leftover.
    """
    files, directories = set(known_files), set(known_directories)
    names = listing.names()
    found = []
    for name, info in names.items():
        kind = name_kind(name)
        if name in files or kind == "marker" or (kind == "checksum" and checksum_owner(name) in names):
            continue
        found.append(_leftover(info, "temporary" if kind in ("temporary", "checksum") else "foreign"))
    for path in listing.directories:
        name = path.rsplit("/", 1)[-1]
        if name == "__tmp_path_dir":
            found.append(Leftover(path=path, kind="temporary"))
        elif name not in directories and not name.startswith("_schema_log_"):
            found.append(Leftover(path=path, kind="foreign"))
    return found


def _leftover(info: FileInfo, kind: Literal["temporary", "foreign"]) -> Leftover:
    return Leftover(path=info.path, kind=kind, size_bytes=info.size_bytes, modified_ms=info.modified_ms)
