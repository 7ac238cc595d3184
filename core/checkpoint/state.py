"""What lies below ``state/``: operators, partitions, stores, versions, bytes. One listing, plus the small
metadata and schema files.

State version N + 1 is what batch N produced. Hadoop's ``.x.crc`` side files and unfinished writes are no part
of the inventory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from core.checkpoint.checkpoint import Checkpoint
from core.checkpoint.model import (
    CommitEntry,
    Leftover,
    OperatorState,
    PartitionState,
    Provider,
    Restorable,
    StateFile,
    StateInventory,
    total,
)
from core.checkpoint.operator_metadata import (
    OperatorMetadata,
    StateSchema,
    infer_name,
    parse_operator_metadata,
    parse_schemas,
    uses_one_partition,
)
from core.checkpoint.restore_chain import CommittedIds, restorable
from core.checkpoint.state_names import (
    OPERATOR_LEVEL,
    Directory,
    directory_of,
    is_hidden_checksum,
    name_of,
    plain_number,
)
from core.messages import say
from core.sparklogs.budget import read_within
from core.sparklogs.evidence import Certainty, Problem, problem
from core.storage import FileInfo, Listing

_DEFINITIONS = "state_definitions"
_CHECKSUMS = "state_checksums"
PARTITIONS_KEY = "spark.sql.shuffle.partitions"
PROVIDER_KEY = "spark.sql.streaming.stateStore.providerClass"
CODEC_KEY = "spark.sql.streaming.stateStore.compression.codec"

# So many of the newest commits tell the ids of state checkpoint format 2; the opening of a checkpoint has
# read them.
COMMITS_FOR_IDS = 100

_HDFS_KINDS = {"delta", "snapshot"}
_ROCKSDB_KINDS = {"zip", "changelog", "sst"}
_NOT_DATA = {"checksum", "schema", "metadata"}


@dataclass(frozen=True, slots=True)
class StateContext:
    """What the rest of the checkpoint says and the listing of ``state/`` cannot.

    ``newest_planned_batch``: the newest id of the offset log. ``logs_read_at_ms``: when the logs were listed;
    state written later belongs to batches that this view does not know. ``metadata`` and ``schemas`` by
    operator id, as far as they were read.
    """

    provider_class: str | None = None
    codec: str | None = None
    shuffle_partitions: int | None = None
    last_committed_batch: int | None = None
    newest_planned_batch: int | None = None
    logs_read_at_ms: int | None = None
    committed: CommittedIds = field(default_factory=CommittedIds)
    metadata: Mapping[int, OperatorMetadata | Problem] = field(default_factory=dict)
    schemas: Mapping[int, tuple[StateSchema | Problem, ...]] = field(default_factory=dict)

    @property
    def needed_version(self) -> int | None:
        """The state version that the next batch loads: last committed batch + 1; where a commit is ahead of
        the offset log, that of the newest planned batch, which runs again (seen with 4.3)."""
        if self.last_committed_batch is None:
            return None
        planned = self.newest_planned_batch
        is_ahead = planned is not None and self.last_committed_batch > planned
        return planned if is_ahead else self.last_committed_batch + 1

    @property
    def newest_planned_version(self) -> int:
        """The version of the newest batch that is in a log; 0 when there is none."""
        return (
            max(
                (b for b in (self.last_committed_batch, self.newest_planned_batch) if b is not None),
                default=-1,
            )
            + 1
        )


@dataclass(slots=True)
class _Operator:
    """The files of one operator while they are sorted."""

    own: list[StateFile] = field(default_factory=list)
    stores: dict[tuple[int, str], list[StateFile]] = field(default_factory=dict)
    seen: frozenset[int] = frozenset()
    """Partitions that a listing showed and that were not looked into."""

    @property
    def partition_ids(self) -> set[int]:
        return {partition_id for partition_id, _ in self.stores} | self.seen


@dataclass(slots=True)
class SortedState:
    """The listing of ``state/``, sorted by operator, partition and store; what belongs to none of them is a
    leftover."""

    operators: dict[int, _Operator] = field(default_factory=dict)
    leftovers: list[Leftover] = field(default_factory=list)
    checksums: dict[str, FileInfo] = field(default_factory=dict)


def sort_files(files: Iterable[FileInfo]) -> SortedState:
    """Sorts the files below ``state/`` by what their names say."""
    found = SortedState()
    places: dict[str, tuple[Directory | None, list[StateFile]]] = {}
    present: set[str] = set()
    side_files: list[FileInfo] = []
    for info in files:
        directory, _, name = info.path.rpartition("/")
        if name.endswith("_$folder$"):  # the directory marker of older S3 connectors
            continue
        known = places.get(directory)
        if known is None:
            known = places[directory] = _place(found, directory)
        place, bucket = known
        if name[:1] == "." and is_hidden_checksum(name):  # a name in a list of 440,000
            side_files.append(info)
            continue
        present.add(info.path)
        kind = name_of("versions" if place is None else place.section, name)
        if kind.kind == "temporary":
            found.leftovers.append(_leftover(info, "temporary"))
            continue
        if place is None or kind.kind == "foreign":
            found.leftovers.append(_leftover(info, "foreign"))
            continue
        bucket.append(
            StateFile(
                info.path,
                place.operator_id,
                place.partition_id,
                place.store,
                kind.kind,
                kind.version,
                kind.unique_id,
                info.size_bytes,
                info.modified_ms,
            )
        )
    for info in side_files:
        directory, _, name = info.path.rpartition("/")
        if f"{directory}/{name[1:-4]}" not in present:
            found.leftovers.append(_leftover(info, "temporary"))
        else:
            found.checksums[info.path] = info
    for operator in found.operators.values():
        operator.stores = {key: files for key, files in operator.stores.items() if files}
    return found


def _place(found: SortedState, directory: str) -> tuple[Directory | None, list[StateFile]]:
    place = directory_of(directory)
    if place is None:
        return None, []
    operator = found.operators.get(place.operator_id)
    if operator is None:
        operator = found.operators[place.operator_id] = _Operator()
    if place.partition_id == OPERATOR_LEVEL:
        return place, operator.own
    return place, operator.stores.setdefault((place.partition_id, place.store), [])


def inventory(
    files: Iterable[FileInfo] | SortedState, context: StateContext, read_at_ms: int
) -> StateInventory:
    """The inventory from a listing of ``state/`` (or one that is sorted already) and what the rest of the
    checkpoint says."""
    found = files if isinstance(files, SortedState) else sort_files(files)
    operators = [
        _operator(operator_id, found.operators[operator_id], context)
        for operator_id in sorted(found.operators)
    ]
    operators = [operator for operator in operators if operator.file_count]
    leftovers = [*found.leftovers, *(item for operator in operators for item in _orphans(operator, context))]
    leftovers += [
        _leftover(file, "foreign")
        for operator_id, own in found.operators.items()
        for key in _stray_stores(own, context.metadata.get(operator_id))
        for file in own.stores[key]
    ]
    return StateInventory(
        operators=tuple(operators),
        leftovers=tuple(sorted(leftovers, key=lambda item: item.path)),
        size_bytes=total(operator.size_bytes for operator in operators),
        file_count=sum(operator.file_count for operator in operators),
        read_at_ms=read_at_ms,
    )


def _operator(operator_id: int, files: _Operator, context: StateContext) -> OperatorState:
    metadata = context.metadata.get(operator_id)
    schemas = context.schemas.get(operator_id, ())
    known_schemas = [schema for schema in schemas if isinstance(schema, StateSchema)]
    problems = [item for item in (metadata, *schemas) if isinstance(item, Problem)]
    strays = _stray_stores(files, metadata)
    partitions = tuple(
        _partition(key, files.stores[key]) for key in sorted(files.stores) if key not in strays
    )
    stores = {partition.store for partition in partitions}
    if isinstance(metadata, OperatorMetadata):
        stores |= {store.name for store in metadata.stores}
        if metadata.operator_id != operator_id:
            clause = say("state.other_operator", described=metadata.operator_id, operator_id=operator_id)
            problems.append(
                problem(metadata.evidence.path, "mismatch", clause, metadata.raw.encode(), line=2)
            )
    name, name_certainty = _name(metadata, stores, known_schemas)
    in_partitions = [file for partition in partitions for file in partition.files]
    kinds = {file.kind for file in in_partitions}
    provider, provider_certainty = _provider(context.provider_class, kinds)
    if (
        provider_certainty == "inferred"
        and provider != "unknown"
        and provider_of_class(context.provider_class) not in (None, provider)
    ):
        wrong = _HDFS_KINDS if provider == "hdfs" else _ROCKSDB_KINDS
        first = next(file for file in in_partitions if file.kind in wrong)
        clause = say("state.other_provider", provider_class=context.provider_class)
        problems.append(problem(first.path, "mismatch", clause))
    empty = (file for file in in_partitions if file.size_bytes == 0)
    problems.extend(problem(file.path, "empty", say("state.file_empty")) for file in empty)
    everything = [*files.own, *in_partitions]
    operator = OperatorState(
        operator_id=operator_id,
        name=name,
        name_certainty=name_certainty,
        provider=provider,
        provider_certainty=provider_certainty,
        format_version=2 if _has_ids(operator_id, partitions, context) else 1,
        stores=tuple(sorted(stores)),
        column_families=tuple(
            sorted({schema.column_family for schema in known_schemas if schema.format_version == 3})
        ),
        expected_partitions=_expected_partitions(
            files.partition_ids, name, known_schemas, context.shuffle_partitions
        ),
        partitions=partitions,
        restorable=Restorable(None, None, ()),
        size_bytes=total(file.size_bytes for file in everything),
        file_count=len(everything),
        problems=tuple(problems),
        metadata_raw=metadata.raw if isinstance(metadata, OperatorMetadata) else None,
        own_files=tuple(files.own),
        codec=context.codec,
    )
    return replace(
        operator,
        restorable=restorable(
            operator, context.needed_version, context.newest_planned_version, context.committed
        ),
    )


def _stray_stores(files: _Operator, metadata: OperatorMetadata | Problem | None) -> set[tuple[int, str]]:
    """Places of stores that the operator does not have: files that lie in a directory of no store of its.

    The operator metadata names the stores; a join has four with names, and nothing beside them.
    """
    there = {store for _, store in files.stores}
    if isinstance(metadata, OperatorMetadata):
        own = {store.name for store in metadata.stores}
    else:
        own = {store for store in there if store.startswith(("left-", "right-"))}
    return {key for key in files.stores if key[1] not in own} if own & there else set()


def _partition(key: tuple[int, str], files: list[StateFile]) -> PartitionState:
    data = [file for file in files if file.kind not in _NOT_DATA]
    bytes_by_version: dict[int, int | None] = {}
    for file in data:
        if file.version is not None:
            bytes_by_version[file.version] = total((bytes_by_version.get(file.version, 0), file.size_bytes))
    return PartitionState(
        partition_id=key[0],
        store=key[1],
        files=tuple(files),
        size_bytes=total(file.size_bytes for file in data),
        newest_version=max(bytes_by_version, default=None),
        bytes_by_version=bytes_by_version,
    )


def _name(
    metadata: OperatorMetadata | Problem | None, stores: Iterable[str], schemas: list[StateSchema]
) -> tuple[str | None, Certainty]:
    if isinstance(metadata, OperatorMetadata):
        return metadata.name, "certain"
    if isinstance(metadata, Problem) and metadata.is_read_failure:
        return None, "needs_input"
    if any(store.startswith(("left-", "right-")) for store in stores):
        return "symmetricHashJoin", "inferred"
    name = infer_name(schemas)
    return (name, "inferred") if name is not None else (None, "needs_input")


def _provider(provider_class: str | None, kinds: Iterable[str]) -> tuple[Provider, Certainty]:
    """The store, by the pinned conf and the kinds of files; where the two differ the files are right, and it
    is said to be inferred."""
    named = provider_of_class(provider_class)
    present = set(kinds)
    hdfs, rocksdb = bool(present & _HDFS_KINDS), bool(present & _ROCKSDB_KINDS)
    if named is not None and not (rocksdb if named == "hdfs" else hdfs):
        return named, "certain"
    if hdfs != rocksdb:
        return ("hdfs" if hdfs else "rocksdb"), "inferred"
    return (named or "unknown"), "inferred"


def provider_of_class(provider_class: str | None) -> Provider | None:
    """The store that a setting names by its class; None without a setting, and for an unknown class."""
    last = (provider_class or "").rpartition(".")[-1]
    if last == "HDFSBackedStateStoreProvider":
        return "hdfs"
    return "rocksdb" if last.startswith("RocksDB") else None  # also Databricks' own


def _has_ids(operator_id: int, partitions: tuple[PartitionState, ...], context: StateContext) -> bool:
    if any(str(operator_id) in operators for operators in context.committed.by_batch.values()):
        return True
    return any(file.unique_id is not None for partition in partitions for file in partition.files)


def _expected_partitions(
    found: set[int], name: str | None, schemas: list[StateSchema], shuffle_partitions: int | None
) -> int | None:
    """How many partitions there should be.

    A global limit and an aggregation without keys use partition 0 only, whatever the conf says. Where nothing
    but partition 0 is there and neither name nor schema tells, the number is not known: two hundred lost
    partitions and a global limit look the same.
    """
    if shuffle_partitions is None or shuffle_partitions <= 1 or not found or found - {0}:
        return shuffle_partitions
    if name == "globalLimit":
        return 1
    if not schemas:
        return None
    return 1 if uses_one_partition(name, schemas[0]) else shuffle_partitions


def _orphans(operator: OperatorState, context: StateContext) -> Iterable[Leftover]:
    """State that no batch in the logs leads to: later versions, files of attempts that were not committed,
    partitions beyond the number."""
    newest, read_at_ms = context.newest_planned_version, context.logs_read_at_ms
    expected = operator.expected_partitions
    beyond: dict[int, list[StateFile]] = {}
    for partition in operator.partitions:
        if expected is not None and partition.partition_id >= expected:
            beyond.setdefault(partition.partition_id, []).extend(partition.files)
            continue
        ids: Mapping[int, str | None] = {}
        if operator.format_version == 2:
            ids = context.committed.of(
                operator.operator_id, partition.partition_id, operator.stores.index(partition.store)
            )
        for file in partition.files:
            if file.version is None:
                continue
            if file.version > newest:
                is_later = (
                    read_at_ms is not None and file.modified_ms is not None and file.modified_ms > read_at_ms
                )
                if not is_later:  # written after the logs were listed: a running query, not a leftover
                    yield _leftover(file, "orphan_state")
            elif ids.get(file.version) not in (None, file.unique_id):
                yield _leftover(file, "orphan_state")
    for partition_id, files in beyond.items():
        yield Leftover(
            path=f"state/{operator.operator_id}/{partition_id}",
            kind="orphan_state",
            size_bytes=total(file.size_bytes for file in files),
            modified_ms=max(
                (file.modified_ms for file in files if file.modified_ms is not None), default=None
            ),
        )


def _leftover(file: FileInfo | StateFile, kind: Literal["temporary", "orphan_state", "foreign"]) -> Leftover:
    return Leftover(file.path, kind, file.size_bytes, file.modified_ms)


def state_inventory(ck: Checkpoint) -> StateInventory:
    """What lies below ``state/``: lists it and reads at most one metadata file per operator and one schema
    file per store, once for each checkpoint.

    Raises :class:`StorageError` when ``state/`` cannot be listed. A checkpoint without state gives an
    inventory without operators.
    """
    return ck.kept("state", lambda: _read_state(ck))


def state_checksums(ck: Checkpoint) -> Mapping[str, FileInfo]:
    """Hadoop's hidden checksum files of the files below ``state/``, by path, from the listing that
    :func:`state_inventory` made. On this machine, where there is one for each file and a listing costs no
    request, they are not kept but listed again."""
    state_inventory(ck)
    if not ck.location.is_local:
        return ck.kept(_CHECKSUMS, dict[str, FileInfo])
    files = ck.door.list(["state"], recursive=True)["state"].files.values() if ck.has_state else ()
    return sort_files(files).checksums


def _read_state(ck: Checkpoint) -> StateInventory:
    listing = ck.door.list(["state"], recursive=True, known_there=ck.has_state)["state"]
    found = sort_files(listing.files.values())
    if not ck.location.is_local:
        ck.kept(_CHECKSUMS, lambda: found.checksums)
    return inventory(found, _context(ck, found), listing.read_at_ms)


def _context(ck: Checkpoint, found: SortedState) -> StateContext:
    metadata, schemas = _read_metadata(ck, found)
    partitions = plain_number(ck.conf.get(PARTITIONS_KEY, ""))
    return StateContext(
        provider_class=ck.conf.get(PROVIDER_KEY),
        codec=ck.conf.get(CODEC_KEY),
        shuffle_partitions=partitions,
        last_committed_batch=ck.last_committed_batch,
        newest_planned_batch=ck.offset_ids[-1] if ck.offset_ids else None,
        logs_read_at_ms=ck.read_at_ms,
        committed=committed_ids(ck),
        metadata=metadata,
        schemas=schemas,
    )


def operator_outline(
    ck: Checkpoint, operator_id: int, partition_id: int | None = None
) -> OperatorState | None:
    """An operator with the files of its definitions, of partition 0 and of the asked partition alone, for who
    needs no other: a few listings in place of one for each partition. What can be restored is not worked out.

    None where there is no such operator. What :func:`state_inventory` has read is not listed again. Raises
    :class:`StorageError` when a directory cannot be listed.
    """
    if ck.is_kept("state"):
        return next((o for o in state_inventory(ck).operators if o.operator_id == operator_id), None)
    base = f"state/{operator_id}"
    top = ck.kept(base, lambda: ck.door.list([base])[base])
    wanted = {f"{base}/{name}" for name in ("_metadata", "_stateSchema", "0", partition_id)}
    files = list(top.files.values())
    for path in sorted(wanted.intersection(top.directories)):
        listing = ck.kept(path, partial(_tree, ck, path))
        files += listing.files.values()
    found = sort_files(files)
    operator = found.operators.get(operator_id)
    if operator is None:
        return None
    ids = (plain_number(name) for name in top.directory_names())
    operator.seen = frozenset(number for number in ids if number is not None)
    return replace(
        _operator(operator_id, operator, _context(ck, found)), restorable=Restorable(None, None, ())
    )


def _tree(ck: Checkpoint, path: str) -> Listing:
    return ck.door.list([path], recursive=True, known_there=True)[path]


def committed_ids(ck: Checkpoint) -> CommittedIds:
    """The state file ids in the newest commits that were read, for :func:`restorable_versions`; none for a
    checkpoint of format 1."""
    loaded = set(ck.loaded_ids)
    batch_ids = [
        batch_id
        for batch_id in ck.commit_ids[-COMMITS_FOR_IDS:]
        if batch_id in loaded or batch_id == ck.last_committed_batch
    ]
    entries = ((batch_id, ck.commit(batch_id)) for batch_id in batch_ids)
    found = {
        batch_id: entry.state_unique_ids for batch_id, entry in entries if isinstance(entry, CommitEntry)
    }
    return CommittedIds(found if any(found.values()) else {})


def read_schemas(ck: Checkpoint, operator_id: int) -> tuple[StateSchema | Problem, ...]:
    """The schemas of an operator's keys and values: one per store, or one per column family. Damaged files
    give a Problem in their place.

    Of several generations the newest is read. Nothing for an operator that is not there or has no schema
    files (before Spark 3.1).
    """
    operator = next((o for o in state_inventory(ck).operators if o.operator_id == operator_id), None)
    return () if operator is None else schemas_of(ck, operator)


def schemas_of(
    ck: Checkpoint, operator: OperatorState, batch_id: int | None = None
) -> tuple[StateSchema | Problem, ...]:
    """The same of an operator that is known; of several generations the newest, or the one that held at a
    batch."""
    files = [f for partition in operator.partitions for f in partition.files if f.kind == "schema"]
    return _read_schema_files(ck, _newest_schemas(operator.own_files, batch_id) or files)


def read_all_schemas(ck: Checkpoint, operator: OperatorState) -> tuple[StateSchema, ...]:
    """The schemas of all generations that can be read, oldest first: rows stay as they were written when a
    variable gets another schema."""
    files = sorted((f for f in operator.own_files if f.kind == "schema"), key=_leading_number)
    return tuple(item for item in _read_schema_files(ck, files) if isinstance(item, StateSchema))


def _read_metadata(
    ck: Checkpoint, found: SortedState
) -> tuple[dict[int, OperatorMetadata | Problem], dict[int, tuple[StateSchema | Problem, ...]]]:
    files = {operator_id: _newest_metadata(operator.own) for operator_id, operator in found.operators.items()}
    contents = read_definitions(ck, (file for file in files.values() if file is not None))
    metadata: dict[int, OperatorMetadata | Problem] = {}
    for operator_id, file in files.items():
        data = contents[file.path] if file is not None else None
        if file is not None and isinstance(data, bytes):
            metadata[operator_id] = parse_operator_metadata(data, file.path)
        elif isinstance(data, Problem):
            metadata[operator_id] = data
    wanted: dict[int, list[StateFile]] = {}
    for operator_id, operator in found.operators.items():
        generations = _newest_schemas(operator.own)
        if generations:
            wanted[operator_id] = generations
        elif not isinstance(metadata.get(operator_id), OperatorMetadata) or not operator.partition_ids - {0}:
            wanted[operator_id] = [
                f for key in sorted(operator.stores) for f in operator.stores[key] if f.kind == "schema"
            ][:1]
    read = {
        operator_id: _read_schema_files(ck, schema_files)
        for operator_id, schema_files in wanted.items()
        if schema_files
    }
    return metadata, read


def _newest_metadata(own: Iterable[StateFile]) -> StateFile | None:
    """Version 2 before version 1, and of version 2 the file of the newest batch."""
    files = [file for file in own if file.kind == "metadata"]
    return max(files, key=lambda file: _leading_number(file) if "/v2/" in file.path else -1, default=None)


def _newest_schemas(own: Iterable[StateFile], batch_id: int | None = None) -> list[StateFile]:
    """Of each store; at a batch the newest that is not later, or the oldest."""
    newest: dict[str, StateFile] = {}
    for file in sorted((f for f in own if f.kind == "schema"), key=lambda f: (_leading_number(f), f.path)):
        if batch_id is None or file.store not in newest or _leading_number(file) <= batch_id:
            newest[file.store] = file
    return [newest[store] for store in sorted(newest)]


def _leading_number(file: StateFile) -> int:
    number = plain_number(file.path.rpartition("/")[-1].partition("_")[0])
    return -1 if number is None else number


def _read_schema_files(ck: Checkpoint, files: Iterable[StateFile]) -> tuple[StateSchema | Problem, ...]:
    wanted = list(files)
    contents = read_definitions(ck, wanted)
    found: list[StateSchema | Problem] = []
    for file in wanted:
        data = contents[file.path]
        parsed = parse_schemas(data, file.path, file.store) if isinstance(data, bytes) else data
        if parsed is not None:
            found.extend([parsed] if isinstance(parsed, Problem) else parsed)
    return tuple(found)


def read_definitions(ck: Checkpoint, files: Iterable[StateFile]) -> dict[str, bytes | Problem | None]:
    """Metadata and schemas of operators by path, up to the setting ``state_definition_bytes``. What could be
    read is kept with the checkpoint, also where the store's times do not allow that."""
    wanted = list(files)
    kept = ck.kept(_DEFINITIONS, dict[str, bytes])
    missing = [_info(file) for file in wanted if file.path not in kept]
    found = read_within(ck.door, missing, ck.settings.state_definition_bytes) if missing else {}
    kept.update({path: data for path, data in found.items() if isinstance(data, bytes)})
    return {file.path: kept[file.path] if file.path in kept else found[file.path] for file in wanted}


def _info(file: StateFile) -> FileInfo:
    return FileInfo(file.path, file.size_bytes, file.modified_ms)
