"""The Checkpoint: everything the files of one checkpoint say, read when it is asked for and kept."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from core.checkpoint.amounts import AmountCounter
from core.checkpoint.conf import NOTHING, ConfPool, conf_changes
from core.checkpoint.layout import Layout, read_layout
from core.checkpoint.logs import parse_commit, parse_metadata, parse_offset
from core.checkpoint.model import (
    CommitEntry,
    ConfChange,
    Leftover,
    LogFile,
    OffsetEntry,
    WrittenBy,
)
from core.checkpoint.newest_files import is_unchanged, shows_nothing_new
from core.checkpoint.next_batch import NextBatch, next_batch
from core.checkpoint.source import Source, directories_of, read_context
from core.checkpoint.sources.base import Advance, SourceContext, SourceKind
from core.checkpoint.sources.files import FILES
from core.checkpoint.sources.forms import OnePosition, compact, parse, parsed
from core.checkpoint.sources.registry import kind_of
from core.checkpoint.tracking import Tracking, track
from core.checkpoint.written_by import version_key, written_by
from core.messages import say, words
from core.settings import DEFAULTS, Settings
from core.sparklogs.budget import content_within
from core.sparklogs.evidence import NotRead, Problem, problem
from core.storage import Content, Door, FileInfo, Location

if TYPE_CHECKING:  # numpy is imported by who asks for matrices, not by who opens a checkpoint
    from core.checkpoint.progress import SourceProgress

T = TypeVar("T")

KIND_SAMPLE = 20  # so many of the newest offsets decide what kind a source is
UNSURE_KINDS = (
    "counter",
    "python",
    "unknown",
)  # their form is shared with others; what the source keeps below sources/ tells them apart


class Checkpoint:
    """One checkpoint directory, as it was listed at ``read_at_ms``.

    Opening lists the root, ``offsets/``, ``commits/`` and ``sources/`` and reads ``metadata`` and the newest
    log files; everything else is read on first use and kept. It can be shared between threads. What it shows
    never changes; :meth:`refresh` gives a new one.
    """

    def __init__(self, door: Door, layout: Layout, pool: ConfPool) -> None:
        """Use :meth:`open`."""
        self.door = door
        self.location: Location = door.location
        self.name = door.location.name
        self.read_at_ms = layout.read_at_ms
        self.looked_at_ms = layout.read_at_ms
        """When the newest files were seen as they are here: ``read_at_ms``, or later (:meth:`latest`)."""
        self.newest_plan_seen_ms = layout.read_at_ms
        """When the newest entry of the offset log was first seen, by this reading or by those that were
        refreshed into it."""
        self.offset_files: Mapping[int, LogFile] = layout.offsets.files
        self.commit_files: Mapping[int, LogFile] = layout.commits.files
        self.offset_times: Mapping[int, int | None] = layout.offsets.times
        self.commit_times: Mapping[int, int | None] = layout.commits.times
        self.offset_ids = layout.offsets.ids
        commit_ids = layout.commits.ids
        same = self.offset_ids[: len(commit_ids)]  # one object for each number, not two
        self.commit_ids = same if same == commit_ids else commit_ids
        self.has_state = layout.has_state
        self.is_bare = layout.is_bare
        self.has_log_directories = layout.has_log_directories
        self.leftovers: tuple[Leftover, ...] = layout.leftovers
        self.query_id: str | None = None
        self.metadata_problem: Problem | None = None
        self._layout = layout
        self._pool = pool
        self._is_doubted = False
        self._lock = threading.RLock()
        self._offsets: dict[int, OffsetEntry | Problem | None] = {}
        self._commits: dict[int, CommitEntry | Problem | None] = {}
        self._line_problems: dict[int, tuple[Problem, ...]] = {}
        self._contexts: dict[str, tuple[SourceContext, list[Problem]]] = {}
        self._directory_owners: dict[tuple[str, bool], str] = {}
        self._sources: tuple[Source, ...] | None = None
        self._tracking: Tracking | None = None
        self._kept: dict[str, Any] = {}
        self._newest = door.settings.first_view_batches

    # Opening

    @classmethod
    def open(
        cls, place: Location | Door | str, settings: Settings = DEFAULTS, newest: int | None = None
    ) -> Checkpoint:
        """Opens a checkpoint: at most 4 listings and 2 x ``newest`` + 1 files (default: the setting
        ``first_view_batches``). A door brings its own settings.

        Raises :class:`NotACheckpoint` when the directory is none, :class:`StorageError` when it cannot be
        listed.
        """
        door = place if isinstance(place, Door) else Door.open(place, settings)
        newest = max(1, door.settings.first_view_batches if newest is None else newest)
        ck = cls(door, read_layout(door, reads_next=2 * newest), ConfPool())
        ck._newest = newest
        ck._read_first()
        return ck

    def refresh(self) -> Checkpoint:
        """The checkpoint as it is now. Files whose size and time did not change are not read again."""
        fresh = Checkpoint(self.door, read_layout(self.door, before=self._layout), self._pool)
        fresh._newest = self._newest
        if fresh.offset_ids == self.offset_ids and fresh.commit_ids == self.commit_ids:
            fresh.offset_ids, fresh.commit_ids = self.offset_ids, self.commit_ids
        if fresh.offset_ids[-1:] == self.offset_ids[-1:]:
            fresh.newest_plan_seen_ms = self.newest_plan_seen_ms
        for batch_id, offset in self._offsets.copy().items():
            if offset is not None and is_unchanged(
                self._layout.offsets.infos[batch_id], fresh._layout.offsets.infos.get(batch_id)
            ):
                if batch_id in self._line_problems:
                    fresh._line_problems[batch_id] = self._line_problems[batch_id]
                fresh._offsets[batch_id] = offset
        for batch_id, commit in self._commits.copy().items():
            if commit is not None and is_unchanged(
                self._layout.commits.infos[batch_id], fresh._layout.commits.infos.get(batch_id)
            ):
                fresh._commits[batch_id] = commit
        fresh._read_first(before=self)
        return fresh

    def latest(self) -> Checkpoint:
        """This checkpoint, while a look at its newest files shows nothing new, else :meth:`refresh`.

        Costs 3 listings of one page when nothing is new, for any number of batches and state files. What was
        listed at ``read_at_ms`` (``state/``, ``sources/``, older log files) is then not looked at:
        ``looked_at_ms`` says when the newest files were. A file of this machine, an evidence file, a reading
        in which something is wrong (:meth:`doubt`) or not readable, and one that is older than the setting
        ``kept_listing_seconds`` are read in full: who repaired a file sees it.
        """
        now_ms = time.time_ns() // 1_000_000
        is_kept = (
            not self.location.is_local
            and self.door.evidence is None
            and now_ms - self.read_at_ms <= 1000 * self.settings.kept_listing_seconds
            and not (self._is_doubted or self.problems or self.not_read)
            and shows_nothing_new(self.door, self._layout)
        )
        if not is_kept:
            return self.refresh()
        self.looked_at_ms = now_ms
        return self

    def doubt(self) -> None:
        """Notes that something is wrong here: the next look is a full one."""
        self._is_doubted = True

    def _read_first(self, before: Checkpoint | None = None) -> None:
        ids = self.offset_ids[-self._newest :]
        commits = (
            [i for i in ids if i in self.commit_files] if ids else list(self.commit_ids[-self._newest :])
        )
        if self.commit_ids and self.commit_ids[-1] not in commits and len(commits) < self._newest:
            commits.append(self.commit_ids[-1])
        info = self._layout.metadata
        if before is not None and info is not None and is_unchanged(info, before._layout.metadata):
            self.query_id, self.metadata_problem, info = before.query_id, before.metadata_problem, None
        contents = self._read(ids, commits, [info] if info is not None else [])
        if info is not None:
            self._take_metadata(info, contents)

    def _take_metadata(self, info: FileInfo, contents: Mapping[str, Content]) -> None:
        data = content_within(info.path, info.size_bytes, contents, self.settings.log_file_bytes)
        if isinstance(data, bytes):
            self.query_id, self.metadata_problem = parse_metadata(data, info.path)
        else:
            self.metadata_problem = data

    @property
    def settings(self) -> Settings:
        """The settings that this checkpoint was opened with."""
        return self.door.settings

    # Reading log files

    def load(self, batch_ids: Iterable[int]) -> None:
        """Reads the offset and commit files of these batches that were not read yet, all in one wave."""
        ids = list(batch_ids)
        self._read(ids, ids)

    def _read(
        self, offset_ids: Iterable[int], commit_ids: Iterable[int], others: Sequence[FileInfo] = ()
    ) -> dict[str, Content]:
        with self._lock:
            layout = self._layout
            offsets = _not_taken(offset_ids, layout.offsets.infos, self._offsets)
            commits = _not_taken(commit_ids, layout.commits.infos, self._commits)
            files = [*others, *offsets.values(), *commits.values()]
            if not files:
                return {}
            limit_bytes = self.settings.log_file_bytes
            contents = self.door.read(info for info in files if (info.size_bytes or 0) <= limit_bytes)
            for batch_id, info in offsets.items():
                self._take_offset(batch_id, info, contents)
            for batch_id, info in commits.items():
                self._take_commit(batch_id, info, contents)
            return contents

    def _take_offset(self, batch_id: int, info: FileInfo, contents: Mapping[str, Content]) -> None:
        data = self._content(batch_id, info, contents, self._layout.offsets.misnamed)
        if not isinstance(data, bytes):
            self._offsets[batch_id] = data
            return
        parsed = parse_offset(data, batch_id, info.path, self._pool)
        if parsed.entry is None:
            self._offsets[batch_id] = parsed.problems[0]
            return
        if parsed.problems:
            self._line_problems[batch_id] = parsed.problems
        self._offsets[batch_id] = parsed.entry

    def _take_commit(self, batch_id: int, info: FileInfo, contents: Mapping[str, Content]) -> None:
        data = self._content(batch_id, info, contents, self._layout.commits.misnamed)
        self._commits[batch_id] = parse_commit(data, batch_id, info.path) if isinstance(data, bytes) else data

    def _content(
        self, batch_id: int, info: FileInfo, contents: Mapping[str, Content], misnamed: Collection[int]
    ) -> bytes | Problem | None:
        data = content_within(info.path, info.size_bytes, contents, self.settings.log_file_bytes)
        if batch_id in misnamed and isinstance(data, bytes):
            return problem(info.path, "not_an_id", say("logs.not_an_id", batch_id=batch_id), data)
        return data

    def forget_texts(self, batch_ids: Iterable[int]) -> None:
        """Lets go of the texts of these offset log entries; their settings and times stay. For who reads a
        long log once, some batches at a time, and asks for the offsets of none of them again."""
        with self._lock:
            for batch_id in batch_ids:
                entry = self._offsets.get(batch_id)
                if isinstance(entry, OffsetEntry):
                    self._offsets[batch_id] = entry.without_texts()

    def offset(self, batch_id: int) -> OffsetEntry | Problem | None:
        """The offset log entry of a batch. None: no such file, or it was removed since the listing. Reads it
        when needed."""
        if batch_id not in self._offsets:
            self._read([batch_id], [])
        return self._offsets.get(batch_id)

    def commit(self, batch_id: int) -> CommitEntry | Problem | None:
        """The commit log entry of a batch. None: no such file, or it was removed since the listing. Reads it
        when needed."""
        if batch_id not in self._commits:
            self._read([], [batch_id])
        return self._commits.get(batch_id)

    @property
    def loaded_ids(self) -> tuple[int, ...]:
        """The batch ids whose offset file has been read, ascending."""
        return tuple(sorted(i for i, entry in self._offsets.copy().items() if entry is not None))

    def loaded_offsets(self) -> list[OffsetEntry]:
        """The offset log entries that have been read and could be understood, ascending."""
        return [entry for i in self.loaded_ids if isinstance(entry := self._offsets[i], OffsetEntry)]

    # What the ids say

    @property
    def last_committed_batch(self) -> int | None:
        """The newest id in the commit log, None when nothing is committed."""
        return self.commit_ids[-1] if self.commit_ids else None

    @property
    def next_batch(self) -> NextBatch:
        """The batch that the next start runs first, by the names of the log files."""
        return next_batch(self)

    @property
    def pending_batch(self) -> int | None:
        """The planned batch that the next start re-runs, None when it runs a new one. It has no commit, or
        one that is not the newest: see :attr:`uncommitted_batch`."""
        following = self.next_batch
        return following.batch_id if following.is_rerun else None

    @property
    def uncommitted_batch(self) -> int | None:
        """The newest batch of the offset log when it has no commit file."""
        following = self.next_batch
        return following.batch_id if following.is_rerun and not following.is_committed else None

    def stale_checksums(self, log: Literal["offsets", "commits"]) -> frozenset[int]:
        """Ids whose checksum side file is there and whose log file is not: the log file was removed by hand,
        or is being written."""
        directory = self._layout.offsets if log == "offsets" else self._layout.commits
        return directory.checksums_of - directory.files.keys()

    @property
    def metadata_file(self) -> FileInfo | None:
        """The file ``metadata`` as it was listed."""
        return self._layout.metadata

    @property
    def source_directories(self) -> tuple[str, ...]:
        """The directories below ``sources/``, whether or not the offset log knows the source."""
        return tuple(f"sources/{name}" for name in self._layout.source_directories)

    def previous_offset_id(self, batch_id: int) -> int | None:
        """The greatest smaller id in the offset log: where the batch starts. With asynchronous progress
        tracking that is not N - 1."""
        at = bisect_left(self.offset_ids, batch_id) - 1
        while at >= 0 and self._is_gone(self.offset_ids[at]):
            at -= 1
        return self.offset_ids[at] if at >= 0 else None

    def _is_gone(self, batch_id: int) -> bool:
        """Whether the offset file was removed (by retention) between listing and reading."""
        return batch_id in self._offsets and self._offsets[batch_id] is None

    @property
    def tracking(self) -> Tracking:
        """Ordinary or asynchronous progress tracking, with the reason, and which ids are missing."""
        if self._tracking is None:
            writer = self.written_by
            too_old = writer.at_most is not None and version_key(writer.at_most) < (3, 4)
            traces = self._layout.offsets.checksums_of | self._layout.commits.checksums_of
            self._tracking = track(
                self.offset_ids, self.commit_ids, traces=traces, has_state=self.has_state, too_old=too_old
            )
        return self._tracking

    @property
    def is_async(self) -> bool:
        """Whether gaps in the ids are those of asynchronous progress tracking (see :attr:`tracking` for the
        certainty)."""
        return self.tracking.mode == "async"

    def is_no_data(self, batch_id: int) -> bool:
        """Whether a batch has the same offsets as the one before it (it only moved the watermark or ran
        timers). False when not known."""
        entry, before = self.offset(batch_id), self._previous_entry(batch_id)
        if not isinstance(entry, OffsetEntry) or before is None:
            return False
        if len(entry.sources) != len(before.sources):
            return False
        for source in entry.sources:
            old = before.source(source.key)
            if old is None or not _same_offset(source.raw, old.raw):
                return False
        return any(source.raw is not None for source in entry.sources)

    def is_repartition(self, batch_id: int) -> bool:
        """Whether a batch only changed the number of state partitions (Spark 4.2+): same offsets, another
        ``shuffle.partitions``."""
        entry, before = self.offset(batch_id), self._previous_entry(batch_id)
        if not isinstance(entry, OffsetEntry) or before is None:
            return False
        key = "spark.sql.shuffle.partitions"
        changed = key in entry.conf and key in before.conf and entry.conf[key] != before.conf[key]
        return changed and entry.timestamp_ms == before.timestamp_ms and self.is_no_data(batch_id)

    @property
    def is_continuous(self) -> bool:
        """Whether the newest entries are those of continuous processing: an empty metadata line and exactly
        one source (inferred)."""
        newest = self.loaded_offsets()[-KIND_SAMPLE:]
        return bool(newest) and all(
            e.timestamp_ms is None and not e.conf and not e.extra and len(e.sources) == 1 for e in newest
        )

    def _previous_entry(self, batch_id: int) -> OffsetEntry | None:
        previous = self.previous_offset_id(batch_id)
        entry = None if previous is None else self.offset(previous)
        return entry if isinstance(entry, OffsetEntry) else None

    # Conf and version

    @property
    def conf(self) -> Mapping[str, str]:
        """The settings pinned by the newest offset log entry that can be read; they win over the session's at
        a restart."""
        entries = self.loaded_offsets()
        return entries[-1].conf if entries else NOTHING

    def conf_changes(self) -> list[ConfChange]:
        """What changed in the pinned settings between consecutive batches that were read."""
        return conf_changes(self.loaded_offsets())

    @property
    def written_by(self) -> WrittenBy:
        """Which Spark wrote the newest files, as far as they tell."""
        commits = [
            entry for _, entry in sorted(self._commits.copy().items()) if isinstance(entry, CommitEntry)
        ]
        return written_by(self.loaded_offsets(), commits)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be understood in the files that were read so far."""
        found = [self.metadata_problem] if self.metadata_problem is not None else []
        # Of 20,000 entries only those with something wrong are sorted.
        damaged = self._line_problems.copy()
        damaged |= {i: (o,) for i, o in self._offsets.copy().items() if isinstance(o, Problem)}
        for _, of_entry in sorted(damaged.items()):
            found += of_entry
        found += [c for _, c in sorted(self._commits.copy().items()) if isinstance(c, Problem)]
        for _, problems in self._contexts.copy().values():
            found += problems
        return tuple(found)

    @property
    def not_read(self) -> tuple[NotRead, ...]:
        """What could not be read or listed so far: its content is not known, which is no damage."""
        found = {p.evidence.path: p.clause for p in self.problems if p.is_read_failure}
        found.update(self.door.not_read)
        return tuple(NotRead(path, found[path]) for path in sorted(found))

    # Sources

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the newest offset log entry that names any. Their own files are read only on use."""
        if self._sources is None:
            with self._lock:
                if self._sources is None:
                    self._sources = self._find_sources()
        return self._sources

    def _find_sources(self) -> tuple[Source, ...]:
        entries = [entry for entry in self.loaded_offsets() if entry.sources]
        if not entries:
            return ()
        newest = entries[-1]
        directories = directories_of(entries, self._layout.source_directories, self._layout.source_files)
        alike = [
            entry
            for entry in entries
            if len(entry.sources) == len(newest.sources) or entry.format_version >= 2
        ][-KIND_SAMPLE:]
        found = []
        for line in newest.sources:
            texts = [source.raw for entry in alike[::-1] if (source := entry.source(line.key)) is not None]
            kind, directory = kind_of(texts), directories.get(line.key)
            if directory is not None and kind.name in UNSURE_KINDS:
                kind = kind_of(texts, self._read_context(line.key, directory, kind))
            found.append(
                Source(
                    line.key,
                    kind,
                    directory,
                    _partition_count(kind, line.raw),
                    partial(self._context, line.key),
                )
            )
        return tuple(found)

    def source(self, key: str) -> Source | None:
        """The source with this key, None when the newest entry has none."""
        by_key: dict[str, Source] = self.kept("sources", lambda: {s.key: s for s in reversed(self.sources)})
        return by_key.get(key)

    def _context(self, key: str) -> SourceContext:
        source = self.source(key)
        if source is None or source.directory is None:
            return SourceContext(key)
        return self._read_context(key, source.directory, source.kind)

    def _read_context(self, key: str, directory: str, kind: SourceKind) -> SourceContext:
        if key in self._contexts:
            return self._contexts[key][0]
        with self._lock:
            if key not in self._contexts:
                shared = self._directory_owners.setdefault((directory, kind.has_own_log), key)
                if shared == key or shared not in self._contexts:
                    file = self._layout.source_files.get(directory.removeprefix("sources/"))
                    self._contexts[key] = read_context(self.door, key, directory, file, kind.has_own_log)
                else:  # one source that stands on several lines is read, and named as damaged, once
                    self._contexts[key] = replace(self._contexts[shared][0], key=key), []
            return self._contexts[key][0]

    def source_texts(self, batch_id: int, key: str) -> tuple[str | None, str | None]:
        """Where the source started and ended in this batch, as written; None where the files do not tell.

        The start is the previous PRESENT entry; when that has ``-`` for the source, the one before it
        (Spark's rule at a restart). Batch 0 starts at the source's own first offset, where it keeps one or
        its kind always begins at the same place.
        """
        return self._start_text(batch_id, key), self._end_text(batch_id, key)

    def _end_text(self, batch_id: int, key: str) -> str | None:
        entry = self.offset(batch_id)
        line = entry.source(key) if isinstance(entry, OffsetEntry) else None
        return None if line is None else line.raw

    def _start_text(self, batch_id: int, key: str, look_back: int = 2) -> str | None:
        previous = self.previous_offset_id(batch_id)
        if previous is None:
            return self._first_text(key) if batch_id == 0 else None
        before = self.offset(previous)
        if before is None:  # removed just now: from here on it is not among the previous ones
            return self._start_text(batch_id, key, look_back)
        if not isinstance(before, OffsetEntry):
            return None
        line = before.source(key)
        if line is not None and line.raw is not None:
            return line.raw
        if look_back > 1 and self.previous_offset_id(previous) is not None:
            return self._start_text(previous, key, look_back - 1)
        return self._first_text(key)

    def _first_text(self, key: str) -> str | None:
        source = self.source(key)
        if source is None:
            return None
        context = source.context
        start = source.kind.first_start(context)
        if start is None:
            return None
        return (
            context.initial
            if context.initial is not None and parse(context.initial) == start
            else compact(start)
        )

    def advance(self, batch_id: int, key: str) -> Advance | None:
        """How far the source moved in this batch; None when the batch has no offset for it.

        Where the entry before it is missing from an ordinary log, the amount of this batch is not known, and
        the note says how far the source moved in all batches since the previous present entry.
        """
        start, end = self.source_texts(batch_id, key)
        if end is None:
            return None
        found = self._advance(key, None if start is None else parsed(start), parsed(end))
        if found is None or found.amount is None or not self.is_behind_gap(batch_id):
            return found
        note = say(
            "checkpoint.sum_of_batches",
            previous=self.previous_offset_id(batch_id),
            batch_id=batch_id,
            amount=words.amount(found.amount, found.unit),
        )
        not_known = dict.fromkeys(found.by_partition)
        texts = " ".join(filter(None, (found.note, note)))
        return replace(found, amount=None, by_partition=not_known, note=texts)

    def is_behind_gap(self, batch_id: int) -> bool:
        """Whether the entry before this one is missing from an ordinary log, so that nobody knows where the
        batch began."""
        return self.previous_offset_id(batch_id) not in (None, batch_id - 1) and not self.is_async

    def _advance(self, key: str, start: object | None, end: object) -> Advance | None:
        source = self.source(key)
        if source is None:
            return None
        return source.kind.advance(
            start, end, source.context if source.kind.has_own_log else SourceContext(key)
        )

    def progress(self, key: str, batch_ids: Iterable[int] | None = None) -> SourceProgress:
        """The positions of a source as matrices, for these batches (default: those that were read).

        With ``batch_ids`` everything that is needed is read, the logs in one wave. Without them no log file
        is read, and what the oldest batch began with counts as not known, unless it was read already or the
        log is shorter than the first view. The log of a file source is read in both cases.
        """
        source = self.source(key)
        ids = sorted(set(self.loaded_ids if batch_ids is None else batch_ids) & set(self.offset_files))
        if batch_ids is not None:
            before = [self.previous_offset_id(i) for i in ids]
            self._read([*ids, *(i for i in before if i is not None)], [])
        ids = [i for i in ids if isinstance(self._offsets.get(i), OffsetEntry)]
        kind: SourceKind = source.kind if source is not None else kind_of([])
        may_read = batch_ids is not None or len(self.offset_ids) < self._newest
        texts = [self._known_texts(i, key, may_read) for i in ids]
        matrices = import_module("core.checkpoint.progress")
        made: SourceProgress = matrices.build_progress(
            key, kind, ids, texts, lambda _, start, end: self._advance(key, start, end)
        )
        return made

    def amount_counter(self, key: str) -> AmountCounter:
        """How much batches read from a source: what :meth:`progress` says as ``total``, without the matrices.
        For who has the texts of each batch in turn (:meth:`source_texts`)."""
        source = self.source(key)
        return AmountCounter(kind_of([]) if source is None else source.kind, partial(self._advance, key))

    def _known_texts(self, batch_id: int, key: str, may_read: bool) -> tuple[str | None, str | None]:
        end = self._end_text(batch_id, key)
        previous = self.previous_offset_id(batch_id)
        is_known = key in self._contexts if previous is None else previous in self._offsets
        is_known = (may_read or is_known) and not self.is_behind_gap(batch_id)
        return (self._start_text(batch_id, key) if end is not None and is_known else None), end

    # What others read of this checkpoint and keep with it

    def is_kept(self, slot: str) -> bool:
        """Whether :meth:`kept` has read this slot."""
        with self._lock:
            return slot in self._kept

    def kept(self, slot: str, read: Callable[[], T]) -> T:
        """What ``read`` gives, read once for each ``slot`` and kept as long as this checkpoint. What it
        raises is not kept."""
        with self._lock:
            if slot not in self._kept:
                self._kept[slot] = read()
            found: T = self._kept[slot]
            return found


def _not_taken(
    batch_ids: Iterable[int], infos: Mapping[int, FileInfo], taken: Mapping[int, object]
) -> dict[int, FileInfo]:
    """The files of these batches that are there and were not read yet."""
    return {i: info for i in batch_ids if i not in taken and (info := infos.get(i)) is not None}


def _partition_count(kind: SourceKind, text: str | None) -> int | None:
    """How many partitions the newest offset names; None for a source that has one position and no partitions
    (files, a table)."""
    if text is None or isinstance(kind, OnePosition):
        return None
    return len(kind.partitions(parse(text))) or None


def _same_offset(one: str | None, other: str | None) -> bool:
    if one == other:
        return True
    if one is None or other is None:
        return False
    offset, before = parsed(one), parsed(other)
    position = FILES.value(offset)  # a file source's offset is its number, however it is written
    return offset == before or (position is not None and position == FILES.value(before))
