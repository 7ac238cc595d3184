"""Decodes the state files of a checkpoint and says what is wrong with each, without judging what follows from
it.

Looked at are the files of every version up to the one that the next batch loads: unpacked to the last record,
against both kinds of checksum, a zip with every member and the ``.sst`` files it names. On the way the rows
are counted, and compared with snapshots.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from core.checkpoint.conf import codec_named
from core.checkpoint.model import OperatorState, StateFile
from core.checkpoint.restore_chain import CommittedIds, store_directory
from core.checkpoint.state_content.checksums import (
    Mismatch,
    hidden_name,
    verify_hidden,
    verify_visible,
    visible_name,
)
from core.checkpoint.state_content.framing import NotUnpacked, Unpacked, codec_of, unpack
from core.checkpoint.state_content.placement import Misplaced, Placement
from core.checkpoint.state_content.records import (
    LineageItem,
    Records,
    parse_changelog,
    parse_delta,
    parse_snapshot,
)
from core.checkpoint.state_content.replay import UNKNOWN, KeyCount, Replay
from core.checkpoint.state_content.rocksdb_zip import BrokenZip, NamedFile, ZipContent, read_zip, tail_trouble
from core.checkpoint.state_content.sst import Part, verify_sst
from core.checkpoint.state_content.stores import Store, Wanted, read_in_waves, stores
from core.messages import say
from core.sparklogs.evidence import Certainty
from core.storage import FileInfo, Gone, ReadFailure
from core.storage.door import Door
from core.storage.listing import Content

FaultKind = Literal["content", "refused", "rows", "altered", "tail", "hidden_checksum", "visible_checksum"]
Progress = Callable[[int, int], None]

COUNTING, COUNTED = "keyToNumValues", "keyWithIndexToValue"  # the two stores of each side of a join
UNGUARDED = ("zstd", "snappy")  # as Spark writes them, without a checksum of the content
_SST_FAULTS: Mapping[Part, FaultKind] = {"index": "content", "rows": "rows", "filter": "tail"}
_PARSERS = {"delta": parse_delta, "snapshot": parse_snapshot, "changelog": parse_changelog}


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one file.

    ``content``: it cannot be decoded up to the end of its records, so a reader fails. ``refused``: only the
    newer lz4 cannot unpack it, the older one gives what was written. ``tail``: something is
    wrong behind the end mark, or in a filter of an ``.sst`` file, where Spark does not look. ``rows``: a
    block of rows of an ``.sst`` file; a start fails when it reads that block, or goes on without its rows.
    ``altered``: a file whose codec keeps no checksum, changed since the checksum beside it was written; Spark
    reads other values. The other two: the checksum beside it does not fit. ``others``: further files that
    show it.
    """

    file: StateFile
    kind: FaultKind
    reason: str
    certainty: Certainty = "certain"
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """What one store of one partition holds.

    ``count``: rows at the asked version. ``misplaced``: rows of that version that belong to another partition
    by their key, None when that was not computed. ``differing``: snapshots that do not hold the rows that the
    changes before them lead to. ``lineage``: of the newest changelog (state checkpoint format 2).
    ``skipped``: why files were not looked at. ``is_settled`` is False when files changed or vanished while
    they were read, ``is_complete`` when the time was over in the middle. ``unguarded``: files whose codec
    keeps no checksum and that have none beside them, so that nothing shows a changed value.
    ``named_rows``: how many rows the counting store of a join says that its partner holds.
    ``keys_digest``: one number for how many rows each key of a join has in this store, None where it is not
    known (:meth:`~core.checkpoint.state_content.placement.Placement.keys_digest`). ``equal``: deltas,
    changelogs or zips that hold, byte for byte, what an older one of this store holds, with that one.
    ``a_key``: the key of one of its rows, as it lies in the files; None where none is known.
    """

    store: Store
    faults: tuple[Fault, ...]
    count: KeyCount
    misplaced: Misplaced | None = None
    differing: tuple[StateFile, ...] = ()
    lineage: tuple[LineageItem, ...] = ()
    skipped: tuple[str, ...] = ()
    is_settled: bool = True
    is_complete: bool = True
    files_read: int = 0
    unguarded: int = 0
    named_rows: int | None = None
    keys_digest: int | None = None
    equal: tuple[tuple[StateFile, StateFile], ...] = ()
    a_key: bytes | None = None


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was looked at. ``not_reached``: stores for which the time was too short."""

    stores: tuple[StoreFacts, ...]
    not_reached: int

    @property
    def files(self) -> int:
        """How many files were decoded or compared with their checksums."""
        return sum(facts.files_read for facts in self.stores)


@dataclass(frozen=True, slots=True)
class _BrokenFile:
    """An .sst or log file whose content is wrong, and what that is for a zip that needs it."""

    kind: FaultKind
    reason: str


@dataclass(slots=True)
class _Walk:
    """One store while its files are read, in ascending order of versions."""

    store: Store
    replay: Replay
    version: int = 0
    faults: list[Fault] = field(default_factory=list)
    broken_files: dict[str, _BrokenFile] = field(default_factory=dict)
    differing: list[StateFile] = field(default_factory=list)
    recorded: KeyCount | None = None
    internal: set[int] | None = None
    lineage: tuple[LineageItem, ...] = ()
    skipped: set[str] = field(default_factory=set)
    has_column_families: bool = False
    is_settled: bool = True
    files_read: int = 0
    unguarded: int = 0
    changes: dict[bytes, StateFile] = field(default_factory=dict)
    equal: list[tuple[StateFile, StateFile]] = field(default_factory=list)


def inspect_stores(
    door: Door,
    operators: Iterable[OperatorState],
    version: int,
    committed: CommittedIds,
    *,
    hidden: Mapping[str, FileInfo],
    placements: Mapping[tuple[int, str], Placement] | None = None,
    has_row_checksums: bool = False,
    only: frozenset[str] | None = None,
    is_over: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
) -> Inspection:
    """Looks into the files of every store up to ``version``.

    ``hidden``: the hidden checksum files below ``state/`` by path, from a listing. ``placements``: how rows
    are spread, by operator id and store, where it is known. ``only``: places (``operator/partition/store``)
    to look at. ``is_over`` is asked before each wave of files; when it says yes the rest is not looked at.
    ``progress`` gets the files done and all files. Raises StorageError when the store cannot be read at all.
    """
    chosen = [store for store in stores(operators, version, committed) if only is None or store.place in only]
    work = [(index, file) for index, store in enumerate(chosen) for file in _files_of(store, hidden)]
    visible = {
        file.path: file for store in chosen for file in store.partition.files if file.kind == "checksum"
    }
    walks: dict[int, _Walk] = {}
    done, last = 0, 0
    finished: list[StoreFacts] = []

    def settle(up_to: int) -> None:
        for index in sorted(walks):
            if index < up_to:
                walk = walks.pop(index)
                place = (placements or {}).get((walk.store.operator.operator_id, walk.store.partition.store))
                finished.append(_facts(walk, version, place))

    wanted = (Wanted(i, _together(file, hidden, visible)) for i, (_, file) in enumerate(work))
    waves = read_in_waves(door, wanted)
    while done < len(work) and not is_over():
        wave = next(waves)
        unpacked = _unpacked(wave, work, chosen)
        for key, contents in wave:
            last, file = work[key]
            settle(last)
            walk = walks.setdefault(last, _walk_of(chosen[last], has_row_checksums))
            _take(walk, file, contents, unpacked.get(file.path), door.origin.is_local)
        done += len(wave)
        if progress is not None:
            progress(done, len(work))
    complete_up_to = len(chosen) if done == len(work) else work[done][0]
    settle(complete_up_to)
    finished += [_facts(walk, version, is_complete=False) for walk in walks.values()]
    return Inspection(tuple(finished), len(chosen) - complete_up_to)


def _walk_of(store: Store, has_row_checksums: bool) -> _Walk:
    return _Walk(store, Replay(has_row_checksums, adds_up=store.partition.store.endswith(COUNTING)))


def _files_of(store: Store, hidden: Mapping[str, FileInfo]) -> Iterator[StateFile]:
    """The files to read, in order: .sst files, and RocksDB's log files that have a checksum, before the zips
    that name them."""
    for file in store.partition.files:
        if file.kind == "sst" or (file.kind == "rocksdb_log" and hidden_name(file.path) in hidden):
            yield file
    for step in store.steps:
        yield from (file for file in (step.change, step.full) if file is not None)


def _together(
    file: StateFile, hidden: Mapping[str, FileInfo], visible: Mapping[str, StateFile]
) -> tuple[FileInfo, ...]:
    found = [FileInfo(file.path, file.size_bytes)]
    if hidden_name(file.path) in hidden:
        found.append(hidden[hidden_name(file.path)])
    if visible_name(file.path) in visible:
        found.append(FileInfo(visible_name(file.path), visible[visible_name(file.path)].size_bytes))
    return tuple(found)


def _unpacked(
    wave: Iterable[tuple[int, Mapping[str, Content]]], work: list[tuple[int, StateFile]], chosen: list[Store]
) -> dict[str, Unpacked | NotUnpacked]:
    by_codec: dict[str | None, dict[str, bytes]] = {}
    for key, contents in wave:
        index, file = work[key]
        content = contents[file.path]
        if file.kind in _PARSERS and isinstance(content, bytes):
            by_codec.setdefault(chosen[index].operator.codec, {})[file.path] = content
    return {
        path: content for codec, files in by_codec.items() for path, content in unpack(files, codec).items()
    }


def _take(
    walk: _Walk,
    file: StateFile,
    contents: Mapping[str, Content],
    unpacked: Unpacked | NotUnpacked | None,
    is_local: bool,
) -> None:
    data = contents[file.path]
    if isinstance(data, Gone) or (isinstance(data, bytes) and file.size_bytes not in (None, len(data))):
        walk.is_settled = False
        walk.replay.forget()
        return
    if isinstance(data, ReadFailure):
        walk.skipped.add(say("state_files.skipped_unread", path=file.path, reason=data.reason.rstrip(".")))
        walk.replay.forget()
        return
    checksums = list(_checksum_faults(file, data, contents, is_local))
    walk.files_read += not isinstance(unpacked, NotUnpacked)
    walk.unguarded += file.kind in _PARSERS and codec_of(data) in UNGUARDED and len(contents) == 1
    if file.kind in ("sst", "rocksdb_log"):
        _take_sst(walk, file, data, checksums)
        return
    walk.faults += checksums
    if file.kind == "zip":
        _take_zip(walk, file, data)
    elif isinstance(unpacked, Unpacked):
        _take_records(walk, file, data, unpacked)
    else:
        walk.skipped.add(
            unpacked.reason
            if isinstance(unpacked, NotUnpacked)
            else say("state_files.skipped_kind", path=file.path)
        )
        walk.replay.forget()


def _take_sst(walk: _Walk, file: StateFile, data: bytes, checksums: Sequence[Fault]) -> None:
    """Remembers what is wrong with a file that zips name: a checksum beside it, or a block inside it."""
    if checksums:
        walk.broken_files[file.path] = _BrokenFile("content", checksums[0].reason)
    if checksums or file.kind != "sst":
        return
    verdict = verify_sst(data)
    if verdict.damage is not None and verdict.part is not None:
        walk.broken_files[file.path] = _BrokenFile(_SST_FAULTS[verdict.part], verdict.damage)
    if verdict.not_checked is not None:
        walk.skipped.add(f"{file.path} ({verdict.not_checked})")


def _checksum_faults(
    file: StateFile, data: bytes, contents: Mapping[str, Content], is_local: bool
) -> Iterator[Fault]:
    hidden, visible = contents.get(hidden_name(file.path)), contents.get(visible_name(file.path))
    verdict = verify_hidden(data, hidden) if isinstance(hidden, bytes) else None
    if isinstance(verdict, Mismatch):
        # Hadoop's local file system verifies what RocksDB downloads, and nothing else that Spark reads here
        # (observed, Spark 3.3 to 4.3).
        reads_it = is_local and file.kind in ("zip", "sst", "rocksdb_log")
        name = hidden_name(file.path).rpartition("/")[2]
        reason = say("state_files.hidden_mismatch", name=name, clause=verdict.reason)
        kind: FaultKind = "content" if reads_it else "hidden_checksum"
        if not reads_it and file.kind in _PARSERS and codec_of(data) in UNGUARDED:
            kind = "altered"
        yield Fault(file, kind, reason, others=(hidden_name(file.path),))
    verdict = verify_visible(data, visible) if isinstance(visible, bytes) else None
    if verdict is not None:  # Spark fails on a checksum file that it cannot read, too (observed, Spark 4.3)
        name = visible_name(file.path).rpartition("/")[2]
        reason = say("state_files.visible_mismatch", name=name, clause=verdict.reason)
        yield Fault(file, "visible_checksum", reason, others=(visible_name(file.path),))


def _take_zip(walk: _Walk, file: StateFile, data: bytes) -> None:
    content = read_zip(data)
    fault: Fault | None = None
    if isinstance(content, BrokenZip) and content.is_unknown:
        walk.skipped.add(say("state_files.skipped_unread", path=file.path, reason=content.reason))
    elif isinstance(content, BrokenZip):
        fault = Fault(file, "content", content.reason)
    else:
        _note_equal(walk, file, data)
        fault = _first_bad_file(walk, file, content)
        if fault is None and (trouble := tail_trouble(data)) is not None:
            fault = Fault(file, "tail", trouble)
        if content.column_families:
            walk.internal = {
                content.column_families[name] for name in content.internal if name in content.column_families
            }
    if fault is not None:
        walk.faults.append(fault)
    version = file.version or 0
    keys = content.num_keys if isinstance(content, ZipContent) else None
    walk.recorded = None if keys is None else KeyCount.exact(keys, "recorded")
    if walk.version != version or (keys is not None and not walk.replay.is_exact):
        walk.replay.start_from(keys)
    walk.version = version


def _first_bad_file(walk: _Walk, file: StateFile, content: ZipContent) -> Fault | None:
    directory = store_directory(file.operator_id, file.partition_id, file.store)
    there = {
        other.path: other for other in walk.store.partition.files if other.kind in ("sst", "rocksdb_log")
    }
    named: list[tuple[str, NamedFile]] = [
        (f"{directory}/SSTs/{item.name}", item) for item in content.sst_files
    ]
    named += [(f"{directory}/logs/{item.name}", item) for item in content.log_files]
    for path, item in named:
        other = there.get(path)
        if other is None:
            return Fault(file, "content", say("state_files.needs_missing", path=path), others=(path,))
        if other.size_bytes not in (None, item.size_bytes):
            reason = say(
                "state_files.needs_size", path=path, expected=item.size_bytes, size_bytes=other.size_bytes
            )
            return Fault(file, "content", reason, others=(path,))
    broken = {path: walk.broken_files[path] for path, _ in named if path in walk.broken_files}
    for kind in ("content", "rows", "tail"):
        for path, damage in broken.items():
            if damage.kind == kind:
                reason = say("sst.needed", path=path, reason=damage.reason)
                return Fault(file, damage.kind, reason, others=(path,))
    return None


def _take_records(walk: _Walk, file: StateFile, data: bytes, unpacked: Unpacked) -> None:
    parsed = _PARSERS[file.kind](unpacked)
    version = file.version or 0
    seen, pinned = codec_of(data), codec_named(walk.store.operator.codec)
    if seen is not None and pinned is not None and seen != pinned:
        clause = say("state_files.other_codec_pinned", seen=seen, pinned=pinned)
        walk.faults.append(Fault(file, "content", clause))
    if parsed.trouble is not None:
        # What Spark does with a stream that ends early was seen for lz4; the other codecs notice less.
        walk.faults.append(
            Fault(
                file, "content", parsed.trouble, "certain" if codec_of(data) in ("lz4", None) else "inferred"
            )
        )
        if file.kind == "snapshot" and walk.version == version:
            return  # the changes lead to this version as well
        walk.replay.forget()
        walk.version = version
        return
    if unpacked.trouble is not None or parsed.surplus_bytes:
        reason = unpacked.trouble or say("state_files.surplus", surplus_bytes=parsed.surplus_bytes)
        is_met = _reads_past_its_end(file, unpacked) and unpacked.trouble is not None and not unpacked.is_cut
        walk.faults.append(Fault(file, "content" if is_met else "tail", reason))
    if unpacked.refused is not None:
        walk.faults.append(Fault(file, "refused", unpacked.refused))
    if file.kind == "snapshot":
        if walk.version == version and not walk.replay.holds(parsed.records):
            walk.differing.append(file)
        walk.replay.start_with(parsed.records)
    else:
        if parsed.records:  # those of batches that changed nothing are alike
            _note_equal(walk, file, data)
        _apply(walk, version, parsed)
    walk.version = version


def _reads_past_its_end(file: StateFile, unpacked: Unpacked) -> bool:
    """Whether Spark reads on behind the last record of a changelog: to find its version it takes the first
    two bytes for the length of a text. In an empty changelog of version 1 they are 65,535 (observed, Spark
    4.3)."""
    if file.kind != "changelog":
        return False
    return int.from_bytes(unpacked.content[:2], "big") > len(unpacked.content) - 2


def _note_equal(walk: _Walk, file: StateFile, data: bytes) -> None:
    """Remembers a file whose content an older file of the store has as well."""
    older = walk.changes.setdefault(hashlib.sha256(data).digest(), file)
    if older is not file:
        walk.equal.append((file, older))


def _apply(walk: _Walk, version: int, parsed: Records) -> None:
    if version != walk.version + 1:
        walk.replay.forget()
    walk.replay.apply(parsed.records)
    walk.recorded = None
    walk.lineage = parsed.lineage
    walk.has_column_families = walk.has_column_families or parsed.has_column_families


def _facts(walk: _Walk, version: int, place: Placement | None = None, is_complete: bool = True) -> StoreFacts:
    is_there = walk.version == version and is_complete
    internal = walk.internal if walk.has_column_families else None
    count, misplaced = UNKNOWN, None
    if is_there:
        is_countable = internal is not None or not walk.has_column_families
        count = walk.recorded or (walk.replay.count(internal) if is_countable else UNKNOWN)
        if place is not None and not walk.has_column_families:
            misplaced = place.look(walk.store.partition.partition_id, walk.replay.rows)
    return StoreFacts(
        store=walk.store,
        faults=tuple(walk.faults),
        count=count,
        misplaced=misplaced,
        differing=tuple(walk.differing),
        lineage=walk.lineage if is_there else (),
        skipped=tuple(sorted(walk.skipped)),
        is_settled=walk.is_settled,
        is_complete=is_complete,
        files_read=walk.files_read,
        unguarded=walk.unguarded,
        named_rows=walk.replay.sum_of_values if is_there else None,
        keys_digest=_keys_digest(walk, place) if is_there and place is not None else None,
        equal=tuple(walk.equal),
        a_key=next(iter(walk.replay.rows), None) if is_there else None,
    )


def _keys_digest(walk: _Walk, place: Placement) -> int | None:
    """Of the two stores of a side of a join, where every row is known."""
    store, replay = walk.store.partition.store, walk.replay
    if walk.has_column_families or not replay.is_exact:
        return None
    if store.endswith(COUNTED):
        return place.keys_digest(dict.fromkeys(replay.rows, 1))
    numbers = replay.numbers if store.endswith(COUNTING) else None
    return None if numbers is None else place.keys_digest(numbers)


__all__ = ["Fault", "FaultKind", "Inspection", "Progress", "StoreFacts", "inspect_stores"]
