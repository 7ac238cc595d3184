"""Which state versions can be rebuilt from the files that are there. Names, sizes and committed ids only; no
file is opened.

The rule is one for all stores (observed, Spark 2.1 to 4.3): version V can be loaded when it has a full file
(``V.snapshot``, ``V.zip``), or when it has a file of changes (``V.delta``, ``V.changelog``) and version V - 1
can be loaded; version 0 is the empty state. RocksDB without changelog writes no changes, so it needs exactly
``V.zip``. In state checkpoint format 2 the names carry ids and only the id in the commit of batch V - 1
counts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from core.checkpoint.model import OperatorState, PartitionState, Restorable, StateFile
from core.checkpoint.state_names import DEFAULT_STORE
from core.messages import say
from core.sparklogs.budget import expected_ids

_FULL = ("snapshot", "zip")
_CHANGES = ("delta", "changelog")

Ids = Mapping[int, str | None]

# A changelog written so soon after the upload of a zip may not know of it yet (seen after 0.1 s; S3 gives
# whole seconds).
UPLOAD_MS = 5_000


@dataclass(frozen=True, slots=True)
class CommittedIds:
    """The file ids in the commits that were read: batch id -> operator id -> per partition -> per store.
    Empty for a commit without ids."""

    by_batch: Mapping[int, Mapping[str, tuple[tuple[str, ...], ...]]] = field(default_factory=dict)

    def of(self, operator_id: int, partition_id: int, store_index: int) -> dict[int, str | None]:
        """State version -> committed id of one store; None where the commit was read and names none for it.

        Joins write their four ids in the order left-keyToNumValues, left-keyWithIndexToValue, right-...,
        which is the order of names.
        """
        found: dict[int, str | None] = {}
        for batch_id, operators in self.by_batch.items():
            partitions = operators.get(str(operator_id), ())
            stores = partitions[partition_id] if partition_id < len(partitions) else ()
            found[batch_id + 1] = stores[store_index] if store_index < len(stores) else None
        return found


class _Names:
    """The versions for which there is a file of one sort (full, or changes), and under which ids."""

    __slots__ = ("by_id", "plain")

    def __init__(self) -> None:
        self.plain: set[int] = set()
        self.by_id: dict[int, set[str]] = {}

    def add(self, version: int, unique_id: str | None) -> None:
        if unique_id is None:
            self.plain.add(version)
        else:
            self.by_id.setdefault(version, set()).add(unique_id)

    def has(self, version: int, ids: Ids | None) -> bool:
        if ids is None:
            return version in self.plain
        if version not in ids:
            return version in self.plain or version in self.by_id
        wanted = ids[version]
        return version in self.plain if wanted is None else wanted in self.by_id.get(version, ())

    @property
    def versions(self) -> set[int]:
        return self.plain | self.by_id.keys()


class _Versions:
    """The usable files of one store of one partition by version.

    Two traces of full files that cannot be used any more: ``ruined`` have 0 bytes, of ``deleted`` ones only
    Spark's checksum is left.
    """

    __slots__ = (
        "changed_ms",
        "changes",
        "deleted",
        "deleted_ms",
        "empty",
        "full",
        "ids",
        "needs_full",
        "ruined",
    )

    def __init__(self, files: Iterable[StateFile], ids: Ids | None, *, needs_full: bool = False) -> None:
        self.needs_full = needs_full
        self.full = _Names()
        self.changes = _Names()
        self.ruined = _Names()
        self.deleted = _Names()
        self.empty: set[str] = set()
        self.changed_ms: dict[
            tuple[int, str | None], int
        ] = {}  # when the changes were written, and when a deleted zip was: format 2 only
        self.deleted_ms: dict[tuple[int, str | None], int] = {}
        self.ids = ids
        for file in files:
            if file.version is None:
                continue
            if file.kind == "checksum":
                if file.path.endswith(".zip.crc"):
                    self.deleted.add(file.version, file.unique_id)
                    if ids is not None and file.modified_ms is not None:
                        self.deleted_ms[file.version, file.unique_id] = file.modified_ms
            elif file.size_bytes == 0:  # no store can decode it
                self.empty.add(file.path)
                if file.kind in _FULL:
                    self.ruined.add(file.version, file.unique_id)
            elif file.kind in _FULL:
                self.full.add(file.version, file.unique_id)
            elif file.kind in _CHANGES:
                self.changes.add(file.version, file.unique_id)
                if ids is not None and file.modified_ms is not None:
                    self.changed_ms[file.version, file.unique_id] = file.modified_ms

    def has_full(self, version: int) -> bool:
        return self.full.has(version, self.ids)

    def has_changes(self, version: int) -> bool:
        return self.changes.has(version, self.ids)

    def rebuildable(self) -> list[int]:
        found = []
        reached = start = 0
        for version in sorted(self.full.versions | self.changes.versions):
            if self.has_full(version):
                reached = start = version
            elif version == reached + 1 and self.has_changes(version):
                reached = version
            else:
                continue
            is_based = start > 0 or (not self.needs_full and self.cut_off_by(version) is None)
            if version > 0 and is_based:
                found.append(version)
        return found

    def missing(self, version: int) -> tuple[int, str | None] | None:
        """The first version whose file is missing to rebuild ``version``; with "zip" when it is one that was
        there once."""
        start = self.chain_start(version)
        absent = next((v for v in range(start + 1, version + 1) if not self.has_changes(v)), None)
        if absent is not None:
            return absent, None
        if start == 0 and self.needs_full and version > 0:
            return 1, "zip"
        cut_off = self.cut_off_by(version) if start == 0 else None
        return None if cut_off is None else (cut_off, "zip")

    def chain_start(self, version: int) -> int:
        """The newest version up to ``version`` that has a full file; 0, the empty state, when there is
        none."""
        return max((v for v in self.full.versions if v <= version and self.has_full(v)), default=0)

    def is_certain(self, version: int) -> bool:
        """Whether nothing about the chain to ``version`` is taken on trust.

        Spark before 4.2 does not go back behind a full file that is damaged, later versions do so in most
        cases. In format 2 the chain must begin at a full file, and every id in it must come from a commit
        that was read.
        """
        ruined, deleted = self._traces(self.ruined), self._traces(self.deleted)
        if self.ids is None and not (ruined or deleted):
            return True
        start = self.chain_start(version)
        if any(start < v <= version for v in (*ruined, *deleted)):
            return False
        return self.ids is None or (start > 0 and all(v in self.ids for v in range(start, version + 1)))

    def _traces(self, names: _Names) -> list[int]:
        if not (names.plain or names.by_id):
            return []
        return [v for v in names.versions if names.has(v, self.ids) and not self.has_full(v)]

    def cut_off_by(self, version: int) -> int | None:
        """The version of a deleted zip without which changelogs back to the empty state do not help, None
        when there is none.

        A changelog of format 2 lists the versions since the last zip that was uploaded when it was written.
        When that zip is deleted and no older one is left, Spark 4.3 fails, although every changelog since
        version 1 is there; with a ruined zip in its place it goes on (both observed). Whether the upload came
        first is told by the times of the changelog and of the checksum uploaded with the zip.
        """
        if self.ids is None:
            return None
        written = self._time(self.changed_ms, version)
        cuts = [v for v in self._traces(self.deleted) if v < version]
        times = ((v, self._time(self.deleted_ms, v)) for v in sorted(cuts))
        return next(
            (v for v, at in times if at is not None and written is not None and at + UPLOAD_MS < written),
            None,
        )

    def _time(self, times: dict[tuple[int, str | None], int], version: int) -> int | None:
        if self.ids is None:
            return None
        if version in self.ids:
            return times.get((version, self.ids[version]))
        return max((at for (v, _), at in times.items() if v == version), default=None)


def rebuildable(partition: PartitionState, ids: Ids | None = None) -> tuple[int, ...]:
    """The versions of one store of one partition that its files can rebuild, ascending (never 0, which needs
    no file).

    ``ids`` is for state checkpoint format 2: the committed id of each version (:meth:`CommittedIds.of`). A
    version that is not in it, because its commit is purged or was not read, is taken to be there under any
    id.
    """
    return tuple(_Versions(partition.files, ids).rebuildable())


def restorable_versions(
    operator: OperatorState, committed: CommittedIds | None = None, up_to: int | None = None
) -> tuple[int, ...]:
    """The versions that every expected partition of every store can rebuild, ascending; none when a partition
    is missing.

    ``up_to`` leaves out later versions. ``committed`` is used in state checkpoint format 2 only.
    """
    return _common(_expected(operator), _index(operator, committed), up_to)


def first_missing(
    operator: OperatorState,
    partition_id: int,
    store: str,
    version: int,
    committed: CommittedIds | None = None,
) -> str | None:
    """The first file that is missing to rebuild ``version`` of a store of a partition, None when nothing is
    missing.

    This is the file that Spark would fail on, except that it names a ``.changelog`` even where the ``.zip``
    is what is missing. A path that ends in "/" is a directory that is not there.
    """
    key = (partition_id, store)
    at = bisect_left(operator.partitions, key, key=_key)  # they are in this order
    partition = (
        operator.partitions[at]
        if at < len(operator.partitions) and _key(operator.partitions[at]) == key
        else None
    )
    return _first_missing(
        operator, key, None if partition is None else _versions(operator, partition, committed), version
    )


def restorable(
    operator: OperatorState,
    needed_version: int | None,
    newest_planned_version: int | None,
    committed: CommittedIds,
) -> Restorable:
    """What can be rebuilt of one operator; ``operator.restorable`` is not looked at.

    ``newest_planned_version`` is the version of the newest batch in the logs: later ones belong to no batch
    of this checkpoint. In format 2 a version without a commit has no valid id, so nothing after
    ``needed_version`` counts.
    """
    index = _index(operator, committed)
    expected = _expected(operator)
    common = _common(
        expected, index, needed_version if operator.format_version == 2 else newest_planned_version
    )
    broken: list[tuple[str, str]] = []
    certain = True
    if needed_version is not None:
        for key in expected:
            versions = index.get(key)
            missing = _first_missing(operator, key, versions, needed_version)
            if missing is not None:
                broken.append((f"{operator.operator_id}/{key[0]}/{key[1]}", missing))
            if versions is not None and (missing is None or versions.cut_off_by(needed_version) is not None):
                certain = certain and versions.is_certain(needed_version)
    not_checked: list[str] = [say("checkpoint.not_checked_content")]
    if operator.provider != "hdfs":
        not_checked.append(say("checkpoint.not_checked_sst"))
    if operator.format_version == 2:
        not_checked.append(say("checkpoint.not_checked_lineage"))
    if operator.expected_partitions is None:
        not_checked.append(say("checkpoint.not_checked_partitions"))
    return Restorable(
        newest_common_version=common[-1] if common else None,
        needed_version=needed_version,
        broken_partitions=tuple(broken),
        certainty="certain" if certain else "inferred",
        not_checked=tuple(not_checked),
    )


def store_directory(operator_id: int, partition_id: int, store: str) -> str:
    """The directory of one store of one partition, without a slash at the end."""
    base = f"state/{operator_id}/{partition_id}"
    return base if store == DEFAULT_STORE else f"{base}/{store}"


def expected_partition_ids(operator: OperatorState) -> range:
    """The partition ids that should be there: by the pinned conf, else up to the highest that is (ids have no
    gaps). A number that no query has is cut (:func:`core.sparklogs.budget.expected_ids`)."""
    found = {p.partition_id for p in operator.partitions}
    count = operator.expected_partitions
    return expected_ids(max(found, default=-1) + 1 if count is None else count, found)


def _expected(operator: OperatorState) -> list[tuple[int, str]]:
    return [(p, store) for p in expected_partition_ids(operator) for store in operator.stores]


def _key(partition: PartitionState) -> tuple[int, str]:
    return partition.partition_id, partition.store


def _index(operator: OperatorState, committed: CommittedIds | None) -> dict[tuple[int, str], _Versions]:
    return {_key(partition): _versions(operator, partition, committed) for partition in operator.partitions}


def _versions(
    operator: OperatorState, partition: PartitionState, committed: CommittedIds | None
) -> _Versions:
    ids: Ids | None = None
    if operator.format_version == 2:
        place = operator.stores.index(partition.store)
        ids = (committed or CommittedIds()).of(operator.operator_id, partition.partition_id, place)
    return _Versions(partition.files, ids, needs_full=has_families(operator))


def has_families(operator: OperatorState) -> bool:
    """Whether the stores keep column families in RocksDB: transformWithState, and a join whose four parts lie
    in one store. Spark writes a zip with the first version of such a store, because changelogs cannot be
    applied to an empty one: without any zip it fails, although every changelog is there (observed with 4.3,
    both state checkpoint formats)."""
    if operator.provider != "rocksdb" or operator.name is None:
        return False
    is_one = operator.name == "symmetricHashJoin" and operator.stores == (DEFAULT_STORE,)
    return operator.name.startswith("transformWithState") or is_one


def _common(
    expected: list[tuple[int, str]], index: dict[tuple[int, str], _Versions], up_to: int | None
) -> tuple[int, ...]:
    if not all(key in index for key in expected):
        return ()
    counts: Counter[int] = Counter()
    for key in expected:
        counts.update(index[key].rebuildable())
    return tuple(
        sorted(v for v, count in counts.items() if count == len(expected) and (up_to is None or v <= up_to))
    )


def _first_missing(
    operator: OperatorState, key: tuple[int, str], versions: _Versions | None, version: int
) -> str | None:
    if versions is None:
        return store_directory(operator.operator_id, *key) + "/"
    missing = versions.missing(version)
    if missing is None:
        return None
    directory = store_directory(operator.operator_id, *key)
    absent, kind = missing
    if kind is None and operator.provider == "hdfs":
        kind = "delta"
    elif kind is None and versions.ids is not None and not versions.has_changes(version):
        # The newest one tells the chain, so it is looked for first.
        absent, kind = version, "changelog" if _writes_changelogs(operator, 0) else "zip"
    elif kind is None and _writes_changelogs(operator, versions.chain_start(version)):
        kind = "changelog"
    elif kind is None:
        absent, kind = version, "zip"  # every version has its own; the ones before it are not needed
    unique_id = versions.ids.get(absent) if versions.ids is not None else None
    path = f"{directory}/{absent}{f'_{unique_id}' if unique_id else ''}.{kind}"
    return f"{path} (0 bytes)" if path in versions.empty else path


def _writes_changelogs(operator: OperatorState, since: int) -> bool:
    """Whether changelogs are in use; the setting can be switched, so only those from a version on count. One
    that is gone may have left Spark's checksum of it."""
    return any(
        (file.kind == "changelog" or (file.kind == "checksum" and file.path.endswith(".changelog.crc")))
        and file.version is not None
        and file.version >= since
        for partition in operator.partitions
        for file in partition.files
    )
