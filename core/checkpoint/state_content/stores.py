"""Which files of a store make up its versions, and reading many of them in bounded waves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.checkpoint.model import OperatorState, PartitionState, StateFile
from core.checkpoint.restore_chain import CommittedIds, expected_partition_ids, store_directory
from core.messages import say
from core.storage import FileInfo, ReadFailure
from core.storage.door import Door
from core.storage.listing import Content

CHANGES = ("delta", "changelog")
FULL = ("snapshot", "zip")

# A wave is read at once and forgotten before the next: so many files, so many bytes (unpacked it is some five
# times as much).
FILES_PER_WAVE = 256
BYTES_PER_WAVE = 8 * 1024 * 1024
# What a file counts for whose size the store does not give.
GUESSED_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Step:
    """The files of one version: the changes that lead to it, and all rows of it. ``is_ambiguous``: several
    files claim to be it.

    In state checkpoint format 2 the commit names the one that counts; where the commit is purged and more
    than one is there, none is taken.
    """

    version: int
    change: StateFile | None = None
    full: StateFile | None = None
    is_ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class Store:
    """One store of one partition: its steps up to a version, ascending."""

    operator: OperatorState
    partition: PartitionState
    steps: tuple[Step, ...]

    @property
    def place(self) -> str:
        """``operator/partition/store``."""
        return f"{self.operator.operator_id}/{self.partition.partition_id}/{self.partition.store}"

    @property
    def directory(self) -> str:
        """Where its files lie: ``state/0/1``, or ``state/0/1/left-keyToNumValues`` for a named store."""
        partition = self.partition
        return store_directory(self.operator.operator_id, partition.partition_id, partition.store)

    @property
    def files(self) -> tuple[StateFile, ...]:
        """The files of the steps, in order."""
        return tuple(file for step in self.steps for file in (step.change, step.full) if file is not None)


def stores(operators: Iterable[OperatorState], up_to: int, committed: CommittedIds) -> Iterator[Store]:
    """Every store of every expected partition. Later versions, and files that no commit names, are leftovers
    and left out."""
    for operator in operators:
        expected = expected_partition_ids(operator)
        for partition in operator.partitions:
            if partition.partition_id in expected:
                yield Store(operator, partition, _steps(operator, partition, up_to, committed))


def _steps(
    operator: OperatorState, partition: PartitionState, up_to: int, committed: CommittedIds
) -> tuple[Step, ...]:
    ids: Mapping[int, str | None] = {}
    if operator.format_version == 2:
        ids = committed.of(
            operator.operator_id, partition.partition_id, operator.stores.index(partition.store)
        )
    found: dict[int, dict[bool, list[StateFile]]] = {}
    for file in partition.files:
        if file.version is None or file.version > up_to or file.kind not in (*CHANGES, *FULL):
            continue
        if file.version in ids and file.unique_id != ids[file.version]:
            continue
        found.setdefault(file.version, {True: [], False: []})[file.kind in FULL].append(file)
    steps = []
    for version in sorted(found):
        full, change = found[version][True], found[version][False]
        names = {file.unique_id for file in (*full, *change)}
        if len(full) > 1 or len(change) > 1 or len(names) > 1:
            steps.append(Step(version, is_ambiguous=True))
        else:
            steps.append(Step(version, change[0] if change else None, full[0] if full else None))
    return tuple(steps)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Files to be read together: one of a store and what belongs to it (its checksums)."""

    key: int
    files: tuple[FileInfo, ...]

    @property
    def size_bytes(self) -> int:
        """By the listing; a file of unknown size counts as one of middle size, a checksum file as nothing."""
        return sum(
            (0 if info.name.endswith(".crc") else GUESSED_BYTES)
            if info.size_bytes is None
            else info.size_bytes
            for info in self.files
        )


def read_in_waves(door: Door, wanted: Iterable[Wanted]) -> Iterator[list[tuple[int, Mapping[str, Content]]]]:
    """The contents by path for each key, in the order given, one wave at a time."""
    wave: list[Wanted] = []
    size = 0
    for item in wanted:
        if wave and (size + item.size_bytes > BYTES_PER_WAVE or len(wave) == FILES_PER_WAVE):
            yield _read(door, wave)
            wave, size = [], 0
        wave.append(item)
        size += item.size_bytes
    if wave:
        yield _read(door, wave)


def _read(door: Door, wave: Sequence[Wanted]) -> list[tuple[int, Mapping[str, Content]]]:
    # Without a time, so that the door does not keep them: gigabytes of state would push the logs out of its
    # cache.
    limit_bytes = door.settings.state_file_bytes
    files = [info for item in wave for info in item.files]
    contents = door.read(
        [
            info._replace(modified_ms=None, etag=None)
            for info in files
            if (info.size_bytes or 0) <= limit_bytes
        ]
    )
    contents.update(
        (info.path, _not_read(info, limit_bytes)) for info in files if (info.size_bytes or 0) > limit_bytes
    )
    return [(item.key, {info.path: contents[info.path] for info in item.files}) for item in wave]


def _not_read(info: FileInfo, limit_bytes: int) -> ReadFailure:
    return ReadFailure(say("logs.state_file_too_large", size_bytes=info.size_bytes, limit_bytes=limit_bytes))
