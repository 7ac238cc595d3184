"""What a checkpoint holds, as frozen values. Each fact keeps the file it was read from.

A size is None where the store does not give it; a sum with such a file is None too (:func:`total`): unknown,
never 0.

Paths are relative to the checkpoint root and use ``/``. Times are epoch milliseconds (UTC). Ids of batches
are Spark's batch ids; the state that batch N produces is state version N + 1. Nothing here reads a file; the
readers of this package build these values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from core.sparklogs.evidence import Certainty, Evidence, Problem

StateFileKind = Literal[
    "delta",
    "snapshot",
    "zip",
    "changelog",
    "sst",
    "rocksdb_log",
    "schema",
    "metadata",
    "checksum",
    "temporary",
    "foreign",
]
Provider = Literal["hdfs", "rocksdb", "unknown"]

FEW_SOURCES = 4
"""So many lines of an offset log entry are searched one after another."""


def total(sizes: Iterable[int | None]) -> int | None:
    """The sum of sizes; None when one of them is not known."""
    found = 0
    for size in sizes:
        if size is None:
            return None
        found += size
    return found


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """One source line of an offset log entry. ``key`` is the position ("0", "1", ...) in version 1 and the
    source id in version 2.

    ``raw`` is the offset text as written; None stands for ``-`` (this source has no offset yet).
    """

    key: str
    raw: str | None
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class OffsetEntry:
    """``offsets/<batch_id>``: what the batch was planned to read (the END offsets of the batch).

    ``timestamp_ms`` and ``watermark_ms`` are None when the metadata line is empty or lacks them; a watermark
    of 0 means "none yet" and is kept as 0. ``conf`` is interned: entries with the same conf text share one
    mapping object. ``extra`` keeps unknown metadata fields. ``raw`` is the whole file.
    """

    batch_id: int
    format_version: int
    timestamp_ms: int | None
    watermark_ms: int | None
    conf: Mapping[str, str]
    sources: tuple[SourceOffset, ...]
    evidence: Evidence
    raw: str
    extra: Mapping[str, object] = field(default_factory=dict)
    _by_key: Mapping[str, SourceOffset] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # A file can have thousands of lines, each of which is asked for by its key. Most have one or two, of
        # 20,000 files.
        by_key = {s.key: s for s in reversed(self.sources)} if len(self.sources) > FEW_SOURCES else None
        object.__setattr__(self, "_by_key", by_key)

    def source(self, key: str) -> SourceOffset | None:
        """The line of the source ``key``, the first of them; None when this entry has no such line."""
        if self._by_key is not None:
            return self._by_key.get(key)
        for source in self.sources:
            if source.key == key:
                return source
        return None

    def without_texts(self) -> OffsetEntry:
        """The same entry without its sources and its text."""
        return OffsetEntry(
            self.batch_id,
            self.format_version,
            self.timestamp_ms,
            self.watermark_ms,
            self.conf,
            (),
            self.evidence,
            "",
            self.extra,
        )


@dataclass(frozen=True, slots=True)
class CommitEntry:
    """``commits/<batch_id>``: the batch is done. ``next_watermark_ms`` is None when the file does not carry
    it (Spark before 2.4).

    ``state_unique_ids``: operator id -> per partition -> per store ids (state checkpoint format 2), empty
    otherwise.
    """

    batch_id: int
    format_version: int
    next_watermark_ms: int | None
    state_unique_ids: Mapping[str, tuple[tuple[str, ...], ...]]
    evidence: Evidence
    raw: str
    sink_metadata: Mapping[str, object] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def has_no_state_ids(self) -> bool:
        """Whether the field of the ids of state is absent, which is not the same as empty."""
        return '"stateUniqueIds"' not in self.raw


class LogFile(NamedTuple):
    """A batch file as the listing showed it, without its content. A tuple, because a log can hold 20,000 of
    them and all are made when a checkpoint is opened."""

    batch_id: int
    path: str
    size_bytes: int | None
    modified_ms: int | None


@dataclass(frozen=True, slots=True)
class FileLogEntry:
    """One input file in a file source log (``sources/<n>/<log id>``). ``log_id`` is the source's own id, not
    a query batch id."""

    path: str
    timestamp_ms: int
    log_id: int


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something in the directory that is no part of a checkpoint's contents. Harmless unless said
    otherwise."""

    path: str
    kind: Literal["temporary", "orphan_state", "foreign"]
    size_bytes: int | None = None
    modified_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ConfChange:
    """A pinned setting that differs between two consecutive batches that were read; None = not in the
    file."""

    batch_id: int
    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class WrittenBy:
    """Which Spark wrote the newest files: "at least" and "at most" as far as the files tell, and the marks it
    was told by."""

    at_least: str | None
    at_most: str | None
    why: str
    certainty: Certainty = "inferred"


@dataclass(frozen=True, slots=True)
class StateFile:
    """One file below ``state/`` as the listing showed it. ``version`` is a state version (= batch id + 1)."""

    path: str
    operator_id: int
    partition_id: int
    store: str
    kind: StateFileKind
    version: int | None
    unique_id: str | None
    size_bytes: int | None
    modified_ms: int | None


@dataclass(frozen=True, slots=True)
class PartitionState:
    """One store of one partition. ``bytes_by_version`` holds the files that carry a version (delta, snapshot,
    zip, changelog)."""

    partition_id: int
    store: str
    files: tuple[StateFile, ...]
    size_bytes: int | None
    newest_version: int | None
    bytes_by_version: Mapping[int, int | None]


@dataclass(frozen=True, slots=True)
class Restorable:
    """Which state versions can be rebuilt from the files that are there.

    ``newest_common_version``: the newest version that every partition of every store can rebuild, None when
    there is none; versions that no planned batch wrote are left out. ``needed_version``: the one that the
    next batch loads, None when nothing is committed. ``broken_partitions``: "operator/partition/store" that
    cannot rebuild the needed version, with the first missing file (a name that ends in "/" is a missing
    directory; "(0 bytes)" follows a file that is there and empty). Names, sizes and the ids in the commit log
    were looked at; ``not_checked`` says what was not, ``certainty`` is "inferred" when part of the chain had
    to be taken on trust.
    """

    newest_common_version: int | None
    needed_version: int | None
    broken_partitions: tuple[tuple[str, str], ...]
    certainty: Certainty = "certain"
    not_checked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OperatorState:
    """One stateful operator. ``name`` is Spark's own (``stateStoreSave``, ``dedupe``...) or None;
    ``name_certainty`` says how it is known.

    ``expected_partitions`` is ``spark.sql.shuffle.partitions`` of the newest offset log entry, 1 for an
    operator that keeps everything in partition 0 (a global limit, an aggregation without keys), None when
    unknown. ``partitions`` holds every directory that was found, also those beyond the expected number.
    ``size_bytes`` and ``file_count`` leave out Hadoop's ``.x.crc`` files and unfinished writes.
    ``own_files``: metadata and schemas that lie beside the partitions (partition id -1). ``codec``: the
    compression of deltas and changelogs by the pinned conf, None when it does not say (lz4 then).
    """

    operator_id: int
    name: str | None
    name_certainty: Certainty
    provider: Provider
    provider_certainty: Certainty
    format_version: Literal[1, 2]
    stores: tuple[str, ...]
    column_families: tuple[str, ...]
    expected_partitions: int | None
    partitions: tuple[PartitionState, ...]
    restorable: Restorable
    size_bytes: int | None
    file_count: int
    problems: tuple[Problem, ...] = ()
    metadata_raw: str | None = None
    own_files: tuple[StateFile, ...] = ()
    codec: str | None = None

    @property
    def is_transform(self) -> bool:
        """Whether it is a transformWithState, in Scala, Python or pandas: its schemas are read from the files
        that its operator metadata names."""
        return (self.name or "").startswith("transformWithState")


@dataclass(frozen=True, slots=True)
class StateInventory:
    """All of ``state/`` from one listing (plus the small metadata files)."""

    operators: tuple[OperatorState, ...]
    leftovers: tuple[Leftover, ...]
    size_bytes: int | None
    file_count: int
    read_at_ms: int
