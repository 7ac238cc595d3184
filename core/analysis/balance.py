"""How evenly one store of a stateful operator is spread over its partitions, in bytes of files, and what each
version wrote.

Bytes are what the listing shows. They are compressed and are no row counts, so a hot partition shows, and its
exact weight does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.checkpoint.model import OperatorState, PartitionState, StateFile
from core.checkpoint.restore_chain import expected_partition_ids
from core.checkpoint.state_names import DEFAULT_STORE
from core.messages import Sentence, say

Measure = Literal["state", "kept", "written"]

# Sizes of a file without a single record, by codec: 4 bytes (5 in changelogs with column families) behind the
# codec's own header. Seen in files of Spark 2.2 (lz4) and 4.3 (all).
EMPTY_FILE_BYTES: Mapping[str, frozenset[int]] = {
    "lz4": frozenset({46, 47}),
    "zstd": frozenset({16, 17}),
    "snappy": frozenset({26, 27}),
    "lzf": frozenset({9, 10}),
}

BALANCED_BELOW = 1.5
"""So many times the median the largest partition may have before it is named: less is what hashing leaves."""

_FULL = ("snapshot", "zip")
_CHANGES = ("delta", "changelog")
_UNVERSIONED = ("sst", "rocksdb_log")


@dataclass(frozen=True, slots=True)
class PartitionShare:
    """One partition in a :class:`Balance`. ``share`` is between 0 and 1. ``looks_empty`` is inferred from
    sizes, None when they cannot."""

    partition_id: int
    size_bytes: int
    share: float
    file_count: int
    looks_empty: bool | None


@dataclass(frozen=True, slots=True)
class Balance:
    """The partitions of one store, the heaviest first.

    ``measure`` says which bytes are compared:

    * ``state``: the files that hold the rows of ``version``. HDFS-backed: the newest snapshot up to it and
      the deltas after that. RocksDB: the changelogs after the newest zip up to it and ALL kept .sst files,
      since only the zip says which of them it needs (so: at most). Left out, since they hold no rows: the zip
      itself, and files of the size that one without a record has.
    * ``kept``: everything that is kept for the store, of all versions.
    * ``written``: the files that carry ``version`` in their name: what the last batch changed, not how much
      there is.

    ``max_over_median`` is None when the median is 0. ``missing``: partitions that should be there and are
    not. ``beyond``: partition directories past the expected number, left out. ``title`` is the conclusion in
    one sentence, ``notes`` what a reader must know.
    """

    operator_id: int
    store: str
    measure: Measure
    version: int | None
    partitions: tuple[PartitionShare, ...]
    missing: tuple[int, ...]
    beyond: tuple[int, ...]
    total_bytes: int
    median_bytes: float
    max_over_median: float | None
    title: str
    notes: tuple[str, ...]

    @property
    def heaviest(self) -> PartitionShare | None:
        """The partition with the most bytes, None when there is no partition."""
        return self.partitions[0] if self.partitions else None

    @property
    def empty(self) -> tuple[int, ...]:
        """The ids of the partitions that look empty, ascending."""
        return tuple(sorted(p.partition_id for p in self.partitions if p.looks_empty))


@dataclass(frozen=True, slots=True)
class Growth:
    """What was written per kept version, over all partitions of one store. All arrays have one entry per
    version, ascending.

    ``change_bytes``: deltas and changelogs. ``full_bytes``: snapshots and zips (a zip holds no rows).
    ``partitions``: how many partitions have a file of the version. ``unversioned_bytes``: .sst and log files,
    whose names carry no version.
    """

    operator_id: int
    store: str
    versions: NDArray[np.int64]
    change_bytes: NDArray[np.int64]
    full_bytes: NDArray[np.int64]
    partitions: NDArray[np.int64]
    unversioned_bytes: int
    notes: tuple[str, ...]


def balance(
    operator: OperatorState, store: str | None = None, version: int | None = None, measure: Measure = "state"
) -> Balance:
    """The balance of one store of an operator (default: its first) at a state version.

    ``version`` defaults to the one the next batch loads, else to the newest that is there. Raises ValueError
    for a store that the operator does not have.
    """
    name = _store(operator, store)
    mine = [partition for partition in operator.partitions if partition.store == name]
    at = version if version is not None else _default_version(operator, mine)
    expected = expected_partition_ids(operator)
    shown = [
        (partition, _measured(operator, partition, at, measure))
        for partition in mine
        if partition.partition_id in expected
    ]
    sizes_known = all(file.size_bytes is not None for _, files in shown for file in files)
    if not sizes_known:
        shown = []
    total = _bytes(file for _, files in shown for file in files)
    shares = sorted(
        (_share(operator, partition, files, at, total) for partition, files in shown),
        key=lambda p: (-p.size_bytes, p.partition_id),
    )
    middle = median(share.size_bytes for share in shares) if shares else 0.0
    present = {partition.partition_id for partition in mine}
    missing = tuple(i for i in expected if i not in present)
    beyond = tuple(sorted(p.partition_id for p in mine if p.partition_id not in expected))
    return Balance(
        operator_id=operator.operator_id,
        store=name,
        measure=measure,
        version=None if measure == "kept" else at,
        partitions=tuple(shares),
        missing=missing,
        beyond=beyond,
        total_bytes=total,
        median_bytes=float(middle),
        max_over_median=shares[0].size_bytes / middle if middle else None,
        title=(
            _title(_compared(operator, name, at, measure), shares, middle, missing, measure)
            if sizes_known
            else say("state.sizes_not_known", operator_id=operator.operator_id)
        ),
        notes=_notes(operator, shares, beyond, measure),
    )


def growth(operator: OperatorState, store: str | None = None) -> Growth:
    """What each kept version wrote for one store of an operator (default: its first). Raises ValueError for a
    store it does not have."""
    name = _store(operator, store)
    changes: dict[int, int] = {}
    full: dict[int, int] = {}
    counts: dict[int, int] = {}
    unversioned = 0
    expected = expected_partition_ids(operator)
    mine = [p for p in operator.partitions if p.store == name and p.partition_id in expected]
    notes = [say("balance.compressed")]
    if any(file.size_bytes is None for partition in mine for file in partition.files if _is_measured(file)):
        notes = [say("state.sizes_not_known", operator_id=operator.operator_id)]
        mine = []
    for partition in mine:
        for version in partition.bytes_by_version:
            counts[version] = counts.get(version, 0) + 1
        for file in partition.files:
            if file.kind in _UNVERSIONED:
                unversioned += file.size_bytes or 0
            elif file.version is not None and file.kind in _CHANGES:
                changes[file.version] = changes.get(file.version, 0) + (file.size_bytes or 0)
            elif file.version is not None and file.kind in _FULL:
                full[file.version] = full.get(file.version, 0) + (file.size_bytes or 0)
    versions = sorted(counts)
    if operator.provider == "rocksdb" and mine and not changes:
        notes.append(say("balance.no_changelogs"))
    if operator.format_version == 2 and changes:
        notes.append(say("balance.lineage"))
    return Growth(
        operator_id=operator.operator_id,
        store=name,
        versions=np.array(versions, dtype=np.int64),
        change_bytes=np.array([changes.get(v, 0) for v in versions], dtype=np.int64),
        full_bytes=np.array([full.get(v, 0) for v in versions], dtype=np.int64),
        partitions=np.array([counts[v] for v in versions], dtype=np.int64),
        unversioned_bytes=unversioned,
        notes=tuple(notes),
    )


def _store(operator: OperatorState, store: str | None) -> str:
    if store is None:
        return operator.stores[0] if operator.stores else DEFAULT_STORE
    if store not in operator.stores:
        raise ValueError(
            say(
                "balance.unknown_store",
                operator_id=operator.operator_id,
                store=store,
                known=operator.stores,
            )
        )
    return store


def _default_version(operator: OperatorState, mine: Iterable[PartitionState]) -> int | None:
    if operator.restorable.needed_version is not None:
        return operator.restorable.needed_version
    return max((p.newest_version for p in mine if p.newest_version is not None), default=None)


def _bytes(files: Iterable[StateFile]) -> int:
    """The sum of sizes that are all known."""
    return sum(file.size_bytes or 0 for file in files)


def _is_measured(file: StateFile) -> bool:
    return file.kind in (*_FULL, *_CHANGES, *_UNVERSIONED)


def _measured(
    operator: OperatorState, partition: PartitionState, version: int | None, measure: Measure
) -> list[StateFile]:
    """The files whose bytes count."""
    if measure == "kept":
        return [file for file in partition.files if _is_measured(file)]
    if measure == "written":
        return [
            file for file in partition.files if file.kind in (*_FULL, *_CHANGES) and file.version == version
        ]
    chain = _chain(partition, version)
    with_rows = [file for file in chain if file.kind != "zip" and not _has_no_record(operator, file)]
    return [*with_rows, *(file for file in partition.files if file.kind in _UNVERSIONED)]


def _chain(partition: PartitionState, version: int | None) -> list[StateFile]:
    """The newest full file up to ``version`` and the changes after it. Of several attempts at a version the
    last one written counts."""
    newest: dict[tuple[int, bool], StateFile] = {}
    for file in partition.files:
        if (
            file.version is None
            or file.kind not in (*_FULL, *_CHANGES)
            or (version is not None and file.version > version)
        ):
            continue
        key = (file.version, file.kind in _FULL)
        other = newest.get(key)
        if other is None or (file.modified_ms or 0) > (other.modified_ms or 0):
            newest[key] = file
    start = max((v for v, is_full in newest if is_full), default=0)
    return [
        file
        for (v, is_full), file in sorted(newest.items())
        if (is_full and v == start) or (not is_full and v > start)
    ]


def _share(
    operator: OperatorState,
    partition: PartitionState,
    files: list[StateFile],
    version: int | None,
    total: int,
) -> PartitionShare:
    size = _bytes(files)
    return PartitionShare(
        partition_id=partition.partition_id,
        size_bytes=size,
        share=size / total if total else 0.0,
        file_count=len(files),
        looks_empty=_looks_empty(operator, partition, version),
    )


def _looks_empty(operator: OperatorState, partition: PartitionState, version: int | None) -> bool | None:
    """Whether a partition holds no row at this version, by sizes alone: every file of its chain has the size
    of one without records."""
    if any(file.kind == "sst" for file in partition.files):
        return False
    chain = _chain(partition, version)
    changes = [file for file in chain if file.kind != "zip"]
    if not changes:
        return True if chain else None
    if operator.format_version == 2:
        return None  # the list of earlier versions inside a changelog hides how small its content is
    answers = {_has_no_record(operator, file) for file in changes}
    return None if None in answers else answers == {True}


def _has_no_record(operator: OperatorState, file: StateFile) -> bool | None:
    """Whether a delta, snapshot or changelog has the size of one without a record; None when the codec is not
    known."""
    if operator.format_version == 2:
        return False  # the list of earlier versions inside makes the size of an empty one vary
    sizes = EMPTY_FILE_BYTES.get(operator.codec or "lz4")
    return None if sizes is None or file.size_bytes is None else file.size_bytes in sizes


def _compared(operator: OperatorState, store: str, version: int | None, measure: Measure) -> Sentence:
    """Whose bytes are compared, in words."""
    where = (
        say("balance.operator", operator_id=operator.operator_id)
        if store == DEFAULT_STORE
        else say("balance.operator_store", operator_id=operator.operator_id, store=store)
    )
    if measure == "state":
        return where
    if measure == "kept":
        return say("balance.kept", where=where)
    return say("balance.written", version=version, where=where)


def _title(
    where: str, shares: list[PartitionShare], middle: float, missing: tuple[int, ...], measure: Measure
) -> str:
    if not shares:
        return say("balance.no_files", where=where)
    parts = _conclusion(where, shares, middle, missing, measure)
    if missing:
        parts.append(say("balance.missing", partitions=len(missing)))
    return "; ".join(parts)


def _conclusion(
    where: str, shares: list[PartitionShare], middle: float, missing: tuple[int, ...], measure: Measure
) -> list[Sentence]:
    empty = sum(1 for share in shares if share.looks_empty) if measure == "state" else 0
    heaviest = shares[0]
    if empty == len(shares):
        if empty == 1:
            return [say("balance.only_one_empty", where=where)]
        return [say("balance.all_empty", partitions=empty, where=where)]
    if heaviest.size_bytes == 0:
        return [say("balance.no_bytes", where=where)]
    if len(shares) == 1:
        if not missing:
            return [say("balance.only_one", partition_id=heaviest.partition_id, where=where)]
        return [_heaviest(heaviest, where)]
    ratio = heaviest.size_bytes / middle if middle else None
    if ratio is not None and ratio < BALANCED_BELOW and not empty:
        return [say("balance.balanced", partitions=len(shares), where=where, ratio=ratio)]
    parts = [_heaviest(heaviest, where)]
    if ratio is not None:
        parts.append(say("balance.over_median", ratio=ratio))
    if empty:
        parts.append(say("balance.some_empty", empty=empty, partitions=len(shares)))
    return parts


def _heaviest(share: PartitionShare, where: str) -> Sentence:
    percent = _percent(share.share)
    return say("balance.heaviest", partition_id=share.partition_id, percent=percent, where=where)


def _percent(share: float) -> str:
    if 0.995 <= share < 1:
        return "more than 99 %"
    return f"{share * 100:.0f} %" if share >= 0.0095 else f"{share * 100:.1f} %"


def _notes(
    operator: OperatorState, shares: list[PartitionShare], beyond: tuple[int, ...], measure: Measure
) -> tuple[str, ...]:
    notes = [say("balance.compressed")]
    if measure == "state" and operator.provider != "hdfs":
        notes.append(say("balance.all_sst"))
    if measure == "written" and operator.provider == "rocksdb":
        notes.append(say("balance.sst_not_counted"))
    if operator.format_version == 2 and measure != "kept":
        notes.append(say("balance.lineage"))
    if measure == "state" and any(share.looks_empty is None for share in shares):
        notes.append(say("balance.empty_not_known"))
    if measure == "state" and any(share.looks_empty for share in shares):
        notes.append(say("balance.looks_empty"))
    if beyond:
        notes.append(say("balance.beyond", directories=len(beyond), expected=operator.expected_partitions))
    return tuple(notes)
