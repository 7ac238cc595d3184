"""Rows per partition without Spark: the number a RocksDB zip records, a count of the changes since a full
file, or of the rows themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.checkpoint.families import counted_families, list_families
from core.checkpoint.model import OperatorState, PartitionState, StateFile
from core.checkpoint.restore_chain import CommittedIds, expected_partition_ids
from core.checkpoint.state_content.contents import Asked, NotRead, read_contents
from core.checkpoint.state_content.framing import NotUnpacked, Unpacked, unpack
from core.checkpoint.state_content.key_runs import KeyRun, key_runs
from core.checkpoint.state_content.records import (
    Records,
    parse_changelog,
    parse_delta,
    parse_snapshot,
    start_of_pairs,
)
from core.checkpoint.state_content.replay import UNKNOWN, KeyCount, ListLengths, Replay
from core.checkpoint.state_content.rocksdb_zip import Seen, ZipContent, read_zip
from core.checkpoint.state_content.row_layout import FAMILY_BYTES, family_prefix, split_list
from core.checkpoint.state_content.stores import Step, Store, Wanted, read_in_waves, stores
from core.checkpoint.state_content.unsafe_row import NotDecodedError
from core.sparklogs.budget import within
from core.storage import FileInfo
from core.storage.door import Door
from core.storage.listing import Content


@dataclass(frozen=True, slots=True)
class PartitionCount:
    """Rows of one store of one partition at the asked version; bytes and files of all versions that are
    kept. ``elements``: of all lists together where rows are lists, None when that is not known."""

    partition_id: int
    count: KeyCount
    size_bytes: int | None
    file_count: int
    elements: int | None = None


def count_keys(
    door: Door,
    operator: OperatorState,
    version: int,
    committed: CommittedIds,
    *,
    replay: bool = False,
    with_rows: bool = True,
    has_row_checksums: bool = False,
) -> dict[str, tuple[PartitionCount, ...]]:
    """Per store the expected partitions of an operator, ascending, as they are at ``version``.

    Without ``replay`` one zip per partition is read, where there is one of that version. With it also what
    the zip does not tell: the changes since the last HDFS-backed snapshot, or all changelogs since version 1;
    where these begin with a RocksDB zip, and where rows are lists, the ``.sst`` files too. That is exact.
    ``with_rows=False`` reads no ``.sst`` file; without one, or with a damaged one, the zip and the changelogs
    after it give bounds. A store of which another file is missing or damaged is unknown. Raises StorageError
    when the store cannot be read at all.
    """
    chosen = list(stores([operator], version, committed))
    found: dict[int, KeyCount] = {}
    elements: dict[int, int | None] = {}
    zips = {
        i: [step.full]
        for i, store in enumerate(chosen)
        if (step := _at(store, version)) and step.full and step.full.kind == "zip"
    }
    seen: Seen = {}
    for i, contents in _read(door, zips):
        content = next(iter(contents.values()))
        parsed = read_zip(content, seen) if isinstance(content, bytes) else None
        if isinstance(parsed, ZipContent) and parsed.num_keys is not None:
            found[i] = KeyCount.exact(parsed.num_keys, "recorded")
    if replay:
        has_lists = bool(list_families(operator))
        chains = {
            i: chain
            for i, store in enumerate(chosen)
            if (i not in found or has_lists) and (chain := _chain(store, version))
        }
        for i, contents in _read(door, chains):
            counted, elements[i] = _counted(operator, chains[i], contents, has_row_checksums)
            found.setdefault(i, counted)
        unsure = [
            chosen[i]
            for i, chain in chains.items()
            if with_rows
            and chain[0].kind == "zip"
            and (found[i].keys is None or (has_lists and elements[i] is None))
        ]
        places = {(s.partition.store, s.partition.partition_id): i for i, s in enumerate(chosen)}
        for place, keys, several in _by_rows(door, operator, version, committed, has_row_checksums, unsure):
            i = places[place]
            elements[i] = several if has_lists else None
            if found[i].keys != keys:  # not known, or recorded wrongly (lists of Spark 4.0)
                found[i] = KeyCount.exact(keys, "replayed")
    counts = {
        (s.partition.store, s.partition.partition_id): (found.get(i, UNKNOWN), elements.get(i))
        for i, s in enumerate(chosen)
    }
    there = {(p.store, p.partition_id): p for p in operator.partitions}
    return {
        store: tuple(
            _partition(p, counts.get((store, p), (UNKNOWN, None)), there.get((store, p)))
            for p in expected_partition_ids(operator)
        )
        for store in operator.stores
    }


def _by_rows(
    door: Door,
    operator: OperatorState,
    version: int,
    committed: CommittedIds,
    has_row_checksums: bool,
    chosen: Sequence[Store],
) -> Iterator[tuple[tuple[str, int], int, int]]:
    """Store and partition, the rows and the elements of the lists among them, counted one by one; nothing for
    a partition that cannot be read."""
    own, lists = counted_families(operator), list_families(operator)
    for store in dict.fromkeys(item.partition.store for item in chosen):
        asked = Asked(operator, store, version, committed, has_row_checksums)
        ids = [item.partition.partition_id for item in chosen if item.partition.store == store]
        for part in read_contents(door, asked, ids):
            if isinstance(part, NotRead):
                continue
            mine = {family_prefix(part.families[name]) for name in own if name in part.families}
            of_lists = {family_prefix(part.families[name]) for name in lists if name in part.families}
            keys = elements = 0
            try:
                for key, pieces in part.rows:
                    family = key[:FAMILY_BYTES]
                    keys += not part.has_families or family in mine
                    if family in of_lists:
                        elements += sum(len(split_list(piece, has_row_checksums)) for piece in pieces)
            except NotDecodedError:
                continue
            yield (store, part.partition_id), keys, elements


def _partition(
    partition_id: int, counted: tuple[KeyCount, int | None], there: PartitionState | None
) -> PartitionCount:
    if there is None:
        return PartitionCount(partition_id, UNKNOWN, 0, 0)
    files = sum(file.kind not in ("checksum", "schema", "metadata") for file in there.files)
    return PartitionCount(partition_id, counted[0], there.size_bytes, files, counted[1])


def _at(store: Store, version: int) -> Step | None:
    return store.steps[-1] if store.steps and store.steps[-1].version == version else None


def _chain(store: Store, version: int) -> list[StateFile]:
    """The files to follow, in order; empty when one is missing. A zip comes first and is followed by
    changelogs only."""
    steps = {step.version: step for step in store.steps}
    full = max((v for v, step in steps.items() if step.full is not None), default=0)
    since_1 = [steps[v].change for v in within(steps, 1, version)]
    all_changes = [file for file in since_1 if file is not None]
    start = steps[full].full if full else None
    if len(all_changes) == version and (start is None or start.kind == "zip"):
        # Exact without a zip; one, of whatever version, is read for the names of the column families only.
        names = start or next(
            (file for file in store.partition.files if file.kind == "zip" and file.size_bytes != 0), None
        )
        return [names, *all_changes] if names is not None else all_changes
    after = [steps[v].change for v in within(steps, full + 1, version)]
    changes = [file for file in after if file is not None]
    return [start, *changes] if start is not None and len(changes) == version - full else []


def _read(door: Door, chains: Mapping[int, list[StateFile]]) -> Iterator[tuple[int, Mapping[str, Content]]]:
    """The contents of the files of each store."""
    wanted = (
        Wanted(i, tuple(FileInfo(file.path, file.size_bytes) for file in files))
        for i, files in chains.items()
    )
    for wave in read_in_waves(door, wanted):
        yield from wave


def _counted(
    operator: OperatorState, files: list[StateFile], contents: Mapping[str, Content], has_row_checksums: bool
) -> tuple[KeyCount, int | None]:
    """The rows, and the elements of all lists among them where every change since version 1 is there."""
    data = {path: content for path, content in contents.items() if isinstance(content, bytes)}
    if len(data) < len(files):
        return UNKNOWN, None
    unpacked = unpack({file.path: data[file.path] for file in files if file.kind != "zip"}, operator.codec)
    walk = Replay(has_row_checksums)
    internal: set[int] | None = None
    lists: ListLengths | None = None
    has_column_families = False
    for file in files:
        if file.kind == "zip":
            zipped = read_zip(data[file.path])
            if not isinstance(zipped, ZipContent):
                return UNKNOWN, None
            internal = {
                zipped.column_families[name] for name in zipped.internal if name in zipped.column_families
            }
            named = [zipped.column_families.get(name) for name in list_families(operator)]
            lists = ListLengths({number for number in named if number is not None}) if any(named) else None
            if not files[1:2] or files[1].version != 1:
                walk.start_from(zipped.num_keys)
            continue
        runs = _keys(file.kind, unpacked[file.path]) if lists is None else None
        if runs is not None:
            if file.kind == "snapshot":
                walk.start_from(0)
            walk.apply_keys(runs)
            continue
        records = _records(file, unpacked[file.path])
        if records is None:
            return UNKNOWN, None
        has_column_families = has_column_families or records.has_column_families
        if file.kind == "snapshot":
            walk.start_with(records.records)
        else:
            walk.apply(records.records)
            if lists is not None:
                lists.apply(records.records)
    if has_column_families and internal is None:
        return UNKNOWN, None  # which rows are Spark's own cannot be told
    count = walk.count(internal if has_column_families else None)
    is_whole = lists is not None and walk.is_exact and not has_row_checksums
    return count, lists.elements if lists is not None and is_whole else None


def _keys(kind: str, unpacked: Unpacked | NotUnpacked) -> list[KeyRun] | None:
    """The keys without their values; None for a file that has to be looked at record by record: one with
    column families, and one that is damaged."""
    if isinstance(unpacked, NotUnpacked):
        return None
    start = start_of_pairs(unpacked, is_changelog=kind == "changelog")
    runs = None if start is None else key_runs(unpacked.content, start)
    has_deletions = runs is not None and not all(run.is_put for run in runs)
    return None if has_deletions and kind == "snapshot" else runs


def _records(file: StateFile, unpacked: Unpacked | NotUnpacked) -> Records | None:
    if isinstance(unpacked, NotUnpacked):
        return None
    parse = {"delta": parse_delta, "snapshot": parse_snapshot, "changelog": parse_changelog}[file.kind]
    records = parse(unpacked)
    return None if records.trouble is not None else records
