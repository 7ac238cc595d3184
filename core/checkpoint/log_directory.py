"""The listing of ``offsets/`` or ``commits/`` sorted into batch files and leftovers. Nothing is read here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.checkpoint.log_files import ByBatch, LogFiles
from core.checkpoint.model import Leftover, LogFile
from core.sparklogs.names import batch_id_of, checksum_owner, name_kind
from core.storage import FileInfo, Listing


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """The batch files of ``offsets/`` or ``commits/``, ascending by number, and what else lies there.

    ``misnamed``: ids whose file has leading zeros (``007``). ``checksums_of``: ids that have a checksum side
    file, whether or not the file itself is there.
    """

    columns: LogFiles
    misnamed: frozenset[int] = frozenset()
    checksums_of: frozenset[int] = frozenset()
    leftovers: tuple[Leftover, ...] = ()

    @property
    def ids(self) -> tuple[int, ...]:
        """The batch ids, ascending."""
        return tuple(self.columns.ids)

    @property
    def files(self) -> Mapping[int, LogFile]:
        """The batch files by id."""
        return ByBatch(self.columns, self.columns.log_file)

    @property
    def times(self) -> Mapping[int, int | None]:
        """When each of them was written, by id; None where the store does not say."""
        return ByBatch(self.columns, self.columns.time)

    @property
    def infos(self) -> Mapping[int, FileInfo]:
        """The same files as the storage door takes them."""
        return ByBatch(self.columns, self.columns.info)


@dataclass(slots=True)
class _Sorting:
    files: dict[int, FileInfo] = field(default_factory=dict)
    misnamed: set[int] = field(default_factory=set)
    checksums: dict[str, FileInfo] = field(default_factory=dict)
    leftovers: list[Leftover] = field(default_factory=list)


def read_log_directory(listing: Listing) -> LogDirectory:
    """Sorts the listing of ``offsets/`` or ``commits/`` into batch files and leftovers."""
    if (ordinary := _ordinary(listing)) is not None:
        return LogDirectory(ordinary)
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
    return LogDirectory(
        LogFiles.of(listing.prefix, list(found.files), found.files.values()),
        misnamed=frozenset(found.misnamed),
        checksums_of=frozenset(i for i in owners if i is not None),
        leftovers=tuple(sorted(found.leftovers, key=lambda leftover: leftover.path)),
    )


def _ordinary(listing: Listing) -> LogFiles | None:
    """The batch files of a directory with nothing in it but batch files, as on an object store;
    None for any other. With 20,000 files it is what opening them costs, so no name is looked at alone."""
    if not listing.prefix or not listing.files or listing.directories:
        return None
    begin = len(listing.prefix) + 1
    names = [path[begin:] for path in listing.files]
    digits = "".join(names)
    if not (digits.isascii() and digits.isdigit()) or "" in names or max(map(len, names)) > _SURELY_AN_ID:
        return None
    ids = list(map(int, names))
    if list(map(str, ids)) != names:  # leading zeros
        return None
    return LogFiles.of(listing.prefix, ids, listing.files.values())


_SURELY_AN_ID = 18  # digits, which are below Spark's largest id


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
