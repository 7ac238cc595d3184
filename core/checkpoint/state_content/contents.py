"""The rows of one store of a partition as bytes, at one state version or several: the newest full file, and
the changes since. One partition at a time is in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from operator import itemgetter

from core.checkpoint.families import list_families
from core.checkpoint.model import OperatorState, PartitionState, StateFile
from core.checkpoint.restore_chain import CommittedIds, first_missing, store_directory
from core.checkpoint.state_content.framing import NotUnpacked, unpack
from core.checkpoint.state_content.records import (
    Record,
    Records,
    parse_changelog,
    parse_delta,
    parse_snapshot,
)
from core.checkpoint.state_content.rocksdb_zip import NamedFile, Seen, ZipContent, read_zip
from core.checkpoint.state_content.row_layout import CHECKSUM_BYTES
from core.checkpoint.state_content.sst import DeletedRange, Entry, SstNotReadError, read_sst
from core.checkpoint.state_content.stores import Step, Store, Wanted, read_in_waves, stores
from core.checkpoint.state_content.unsafe_row import NotDecodedError
from core.messages import say
from core.sparklogs.budget import within
from core.storage import FileInfo, ReadFailure
from core.storage.door import Door
from core.storage.listing import Content

Pieces = list[bytes]
"""One value; of a list what was put, and what was appended to it, in this order."""
Row = tuple[bytes, Pieces]

AT_ONCE = 32
"""Partitions whose zips are read in one wave."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The rows of one partition, to be gone through once; that raises NotDecodedError where the files are
    damaged or do not hold as many rows as they record. ``families``: name -> number of each column family;
    ``has_families``: whether keys begin with such a number. ``files``: the paths of what they are read
    from."""

    partition_id: int
    rows: Iterator[Row]
    families: Mapping[str, int]
    has_families: bool
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotRead:
    """Why the rows of a partition cannot be told; one clause with the file it is about."""

    partition_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class Change:
    """One record of the file that leads to the version that ``batch_id`` wrote."""

    batch_id: int
    kind: str
    key: bytes
    value: bytes | None


@dataclass(frozen=True, slots=True)
class PartitionChanges:
    """What some versions changed in one partition, oldest first. ``families``, ``has_families`` and ``files``
    as in :class:`Contents`."""

    partition_id: int
    changes: tuple[Change, ...]
    families: Mapping[str, int]
    has_families: bool
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """One store of an operator at a state version, or the changes up to it."""

    operator: OperatorState
    store: str
    version: int
    committed: CommittedIds
    has_row_checksums: bool = False


@dataclass(frozen=True, slots=True)
class _Chain:
    partition: PartitionState
    full: StateFile | None
    changes: tuple[StateFile, ...]


def read_contents(door: Door, asked: Asked, partition_ids: Sequence[int]) -> Iterator[Contents | NotRead]:
    """The rows of these partitions, in their order, as they are at the asked version.

    Raises StorageError when the store cannot be read at all. A partition of which a file is missing, damaged
    or of an unknown form is a :class:`NotRead`.
    """
    for (contents,) in read_versions(door, (asked,), partition_ids):
        yield contents


def read_versions(
    door: Door, asked: Sequence[Asked], partition_ids: Sequence[int]
) -> Iterator[tuple[Contents | NotRead, ...]]:
    """The rows of these partitions at each of the asked versions of a store; a file that several of them are
    rebuilt from is read once. Raises StorageError as :func:`read_contents` does."""
    steps = [{s.partition.partition_id: s for s in _stores(one)} for one in asked]
    for at in range(0, len(partition_ids), AT_ONCE):
        yield from _read_some(door, asked, partition_ids[at : at + AT_ONCE], steps)


def read_changes(
    door: Door, asked: Asked, partition_ids: Sequence[int], first: int
) -> Iterator[PartitionChanges | NotRead]:
    """What each version from ``first`` to the asked one changed, partition by partition. Raises StorageError
    as :func:`read_contents` does."""
    steps = {s.partition.partition_id: s for s in _stores(asked)}
    chains: dict[int, _Chain] = {}
    for partition_id in partition_ids:
        store = steps.get(partition_id)
        by_version = {} if store is None else {step.version: step for step in store.steps}
        there = [_change(by_version[v]) for v in within(by_version, first, asked.version)]
        files = tuple(file for file in there if file is not None)
        if store is None or len(files) <= asked.version - first:
            have = {file.version for file in files}
            missing = next(v for v in range(first, asked.version + 1) if v not in have)
            yield NotRead(partition_id, say("state_rows.no_changes", version=missing, batch=missing - 1))
        else:
            chains[partition_id] = _Chain(store.partition, None, files)
    zips = _read_zips(door, asked, chains.values())
    wanted = (Wanted(i, tuple(map(_info, chain.changes))) for i, chain in chains.items())
    for wave in read_in_waves(door, wanted):
        for partition_id, contents in wave:
            yield _changes_of(asked, chains[partition_id], zips.get(partition_id), contents)


def _changes_of(
    asked: Asked, chain: _Chain, zipped: ZipContent | NotRead | None, contents: Mapping[str, Content]
) -> PartitionChanges | NotRead:
    partition_id = chain.partition.partition_id
    try:
        records = [(file.version or 0, _records(asked, file, contents)) for file in chain.changes]
    except NotDecodedError as error:
        return NotRead(partition_id, str(error))
    changes = tuple(
        Change(version - 1, kind, _deleted(asked, kind, key), value)
        for version, found in records
        for kind, key, value in found.records
    )
    families = zipped.column_families if isinstance(zipped, ZipContent) else {}
    has_families = bool(families) or any(found.has_column_families for _, found in records)
    files = tuple(file.path for file in chain.changes)
    return PartitionChanges(partition_id, changes, families, has_families, files)


def _change(step: Step | None) -> StateFile | None:
    return None if step is None or step.is_ambiguous else step.change


def _stores(asked: Asked) -> Iterator[Store]:
    for store in stores([asked.operator], asked.version, asked.committed):
        if store.partition.store == asked.store:
            yield store


def _read_some(
    door: Door,
    asked: Sequence[Asked],
    partition_ids: Sequence[int],
    steps: Sequence[Mapping[int, Store]],
) -> Iterator[tuple[Contents | NotRead, ...]]:
    chains: dict[tuple[int, int], _Chain | NotRead] = {}
    for partition_id in partition_ids:
        for at, one in enumerate(asked):
            chains[partition_id, at] = _chain(one, partition_id, steps[at].get(partition_id))
    zips = [
        _read_zips(door, one, [c for (_, i), c in chains.items() if i == at and isinstance(c, _Chain)])
        for at, one in enumerate(asked)
    ]
    wanted = []
    for partition_id in partition_ids:
        files: dict[str, FileInfo] = {}
        for at, one in enumerate(asked):
            chain, zipped = chains[partition_id, at], zips[at].get(partition_id)
            if isinstance(chain, _Chain) and not isinstance(zipped, NotRead):
                files |= {info.path: info for info in _files(one, chain, zipped)}
        wanted.append(Wanted(partition_id, tuple(files.values())))
    for wave in read_in_waves(door, wanted):
        for partition_id, contents in wave:
            found = ((chains[partition_id, at], zips[at].get(partition_id)) for at in range(len(asked)))
            yield tuple(
                _contents(one, chain, zipped, contents)
                for one, (chain, zipped) in zip(asked, found, strict=True)
            )


def _files(asked: Asked, chain: _Chain, zipped: ZipContent | None) -> Iterator[FileInfo]:
    """What is read for a chain, beside its zip."""
    yield from map(_info, chain.changes)
    if chain.full is not None and chain.full.kind == "snapshot":
        yield _info(chain.full)
    elif chain.full is not None and zipped is not None:
        partition_id = chain.partition.partition_id
        yield from (_sst(asked, partition_id, file) for file in zipped.sst_files)


def _chain(asked: Asked, partition_id: int, store: Store | None) -> _Chain | NotRead:
    """The newest full file up to the version and all changes after it."""
    operator, version = asked.operator, asked.version
    missing = first_missing(operator, partition_id, asked.store, version, asked.committed)
    if store is None or missing is not None:
        path = missing or store_directory(operator.operator_id, partition_id, asked.store) + "/"
        return NotRead(partition_id, say("state_rows.missing", path=path))
    steps = {step.version: step for step in store.steps}
    full = max(
        (v for v, step in steps.items() if step.full is not None and step.full.size_bytes != 0), default=0
    )
    after = (_change(steps[v]) for v in within(steps, full + 1, version))
    changes = [file for file in after if file is not None]
    if len(changes) < version - full:
        return NotRead(partition_id, say("state_rows.ambiguous", version=version))
    return _Chain(store.partition, steps[full].full if full else None, tuple(changes))


def _read_zips(door: Door, asked: Asked, chains: Iterable[_Chain]) -> dict[int, ZipContent | NotRead]:
    """What the zip of each partition names. Where the rows are in changelogs alone, any zip of the partition
    tells the numbers of the column families."""
    files: dict[int, StateFile] = {}
    for chain in chains:
        named = chain.full if chain.full is not None and chain.full.kind == "zip" else None
        if named is None and len(asked.operator.column_families) > 1:
            named = next((f for f in chain.partition.files if f.kind == "zip" and f.size_bytes != 0), None)
        if named is not None:
            files[chain.partition.partition_id] = named
    found: dict[int, ZipContent | NotRead] = {}
    seen: Seen = {}
    for wave in read_in_waves(door, (Wanted(i, (_info(file),)) for i, file in files.items())):
        for partition_id, contents in wave:
            path = files[partition_id].path
            try:
                parsed = read_zip(_bytes(path, contents), seen)
            except NotDecodedError as error:
                found[partition_id] = NotRead(partition_id, str(error))
                continue
            if not isinstance(parsed, ZipContent):
                found[partition_id] = NotRead(partition_id, f"{path}: {parsed.reason}")
            elif any(file.size_bytes for file in parsed.log_files):
                found[partition_id] = NotRead(partition_id, say("state_rows.wal", path=path))
            else:
                found[partition_id] = parsed
    return found


def _sst(asked: Asked, partition_id: int, file: NamedFile) -> FileInfo:
    directory = store_directory(asked.operator.operator_id, partition_id, asked.store)
    return FileInfo(f"{directory}/SSTs/{file.name}", file.size_bytes)


def _contents(
    asked: Asked,
    chain: _Chain | NotRead,
    zipped: ZipContent | NotRead | None,
    contents: Mapping[str, Content],
) -> Contents | NotRead:
    if isinstance(chain, NotRead):
        return chain
    if isinstance(zipped, NotRead):
        return zipped
    partition_id = chain.partition.partition_id
    try:
        changes = [_records(asked, file, contents) for file in chain.changes]
        base: Iterator[Row] = iter(())
        if chain.full is not None and chain.full.kind == "snapshot":
            snapshot = _records(asked, chain.full, contents)
            base = ((key, [value or b""]) for _, key, value in snapshot.records)
        elif chain.full is not None and zipped is not None:
            directory = store_directory(asked.operator.operator_id, partition_id, asked.store)
            paths = [f"{directory}/SSTs/{file.name}" for file in zipped.sst_files]
            base = _rows_of_ssts(paths, contents)
    except NotDecodedError as error:
        return NotRead(partition_id, str(error))
    families = {} if zipped is None else zipped.column_families
    has_families = bool(families) or any(found.has_column_families for found in changes)
    overlay = _Overlay(asked.has_row_checksums)
    for found in changes:
        overlay.take(found.records)
    rows = overlay.over(base)
    # Where rows are lists, Spark 4.0 was seen to record more rows than there are, after a restart.
    is_trusted = not list_families(asked.operator)
    is_zip_alone = zipped is not None and chain.full is not None and not chain.changes
    if is_trusted and is_zip_alone and zipped is not None and zipped.num_keys is not None and chain.full:
        internal = {families[name] for name in zipped.internal if name in families}
        rows = _counted(rows, zipped.num_keys, internal if has_families else set(), chain.full.path)
    files = [info.path for info in _files(asked, chain, zipped)]
    if zipped is not None and chain.full is not None:
        files.append(chain.full.path)
    return Contents(partition_id, rows, families, has_families, tuple(files))


def _counted(rows: Iterator[Row], recorded: int, internal: set[int], path: str) -> Iterator[Row]:
    """The same rows; NotDecodedError at the end when there were not as many as the zip records."""
    seen = 0
    for row in rows:
        seen += not internal or int.from_bytes(row[0][:2], "little", signed=True) not in internal
        yield row
    if seen != recorded:
        raise NotDecodedError(say("state_rows.count", path=path, rows=seen, recorded=recorded))


class _Overlay:
    """Changes that lie over the rows of a full file: what replaces a value, is appended to it, or deletes
    it."""

    def __init__(self, has_row_checksums: bool) -> None:
        self._has_row_checksums = has_row_checksums
        self._keys: dict[bytes, tuple[bool, Pieces | None]] = {}  # whether the row below counts no more
        self._ranges: list[tuple[bytes, bytes]] = []

    def take(self, records: Iterable[Record]) -> None:
        """The records of the next version, in their order."""
        keys = self._keys
        for kind, key, value in records:
            if kind == "put":
                keys[key] = True, [value or b""]
            elif kind == "delete":
                keys[key[CHECKSUM_BYTES:] if self._has_row_checksums else key] = True, None
            elif kind == "merge":
                replaces, pieces = keys.get(key, (self._is_deleted(key), None))
                keys[key] = replaces, [*(pieces or ()), value or b""]
            else:
                end = value or b""
                self._ranges.append((key, end))
                for gone in [found for found in keys if key <= found < end]:
                    keys[gone] = True, None

    def _is_deleted(self, key: bytes) -> bool:
        return any(start <= key < end for start, end in self._ranges)

    def over(self, base: Iterator[Row]) -> Iterator[Row]:
        """The rows below, as far as they still count, then those that are new."""
        keys = self._keys
        for key, pieces in base:
            changed = keys.pop(key, None)
            if changed is None:
                if not self._ranges or not self._is_deleted(key):
                    yield key, pieces
                continue
            replaces, new = changed
            if not replaces:
                yield key, [*pieces, *(new or ())]
            elif new is not None:
                yield key, new
        for key, (_, new) in keys.items():
            if new is not None:
                yield key, new


def _rows_of_ssts(paths: Sequence[str], contents: Mapping[str, Content]) -> Iterator[Row]:
    """The rows of all SST files together: of each key the newest entry counts. NotDecodedError for a damaged
    file."""
    parts: list[Iterator[Entry]] = []
    ranges: list[DeletedRange] = []
    for path in paths:
        try:
            found = read_sst(_bytes(path, contents))
        except SstNotReadError as error:
            raise NotDecodedError(f"{path}: {error}") from error
        parts.append(_of_file(path, found.entries))
        ranges += found.deleted_ranges
    entries = parts[0] if len(parts) == 1 else merge(*parts, key=itemgetter(0, 1))
    return _newest(entries, ranges)


def _of_file(path: str, entries: Iterator[Entry]) -> Iterator[Entry]:
    try:
        yield from entries
    except SstNotReadError as error:
        raise NotDecodedError(f"{path}: {error}") from error


def _newest(entries: Iterator[Entry], ranges: Sequence[DeletedRange]) -> Iterator[Row]:
    for key, versions in groupby(entries, key=itemgetter(0)):
        deleted_at = max((gone.sequence for gone in ranges if gone.start <= key < gone.end), default=-1)
        pieces: Pieces = []
        for _, minus_sequence, kind, value in versions:
            if kind == "delete" or -minus_sequence < deleted_at:
                break
            pieces.append(value)
            if kind == "put":
                break
        if pieces:
            yield key, pieces[::-1]


_PARSERS: Mapping[str, Callable[..., Records]] = {
    "delta": parse_delta,
    "snapshot": parse_snapshot,
    "changelog": parse_changelog,
}


def _records(asked: Asked, file: StateFile, contents: Mapping[str, Content]) -> Records:
    """All records of a file. Raises NotDecodedError with its name."""
    data = _bytes(file.path, contents)
    unpacked = unpack({file.path: data}, asked.operator.codec)[file.path]
    if isinstance(unpacked, NotUnpacked):
        raise NotDecodedError(f"{file.path}: {unpacked.reason}")
    records = _PARSERS[file.kind](unpacked)
    if records.trouble is not None:
        raise NotDecodedError(f"{file.path}: {records.trouble}")
    return records


def _bytes(path: str, contents: Mapping[str, Content]) -> bytes:
    content = contents[path]
    if isinstance(content, bytes):
        return content
    why = content.reason if isinstance(content, ReadFailure) else say("state_rows.gone")
    raise NotDecodedError(f"{path}: {why}")


def _deleted(asked: Asked, kind: str, key: bytes) -> bytes:
    return key[CHECKSUM_BYTES:] if kind == "delete" and asked.has_row_checksums else key


def _info(file: StateFile) -> FileInfo:
    return FileInfo(file.path, file.size_bytes)
