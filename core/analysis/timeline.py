"""What happened to each batch, and when: one row per batch id that has an offset file or a commit file, as
columns.

The listing alone answers for all batches (20,000 rows cost two listings); the offset log entries that were
read refine it. Spark writes ``offsets/N`` before batch N runs and ``commits/N`` after it, so the two file
times frame the batch. They are only the times of the batch as long as nobody copied the checkpoint: a copy
carries the time of copying. ``batchTimestampMs`` inside the entry survives a copy, hence the comparison here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.checkpoint.execution_mode import execution_of
from core.checkpoint.sources.forms import parse
from core.messages import Sentence, say, say_of
from core.sparklogs.evidence import Problem

if TYPE_CHECKING:
    from core.checkpoint import Checkpoint
    from core.checkpoint.model import LogFile

UNKNOWN_MS = -1
"""Stands for "not known" in every time and duration column."""

FAR_FROM_LOG_MS = 3_600_000
"""A file time this far from the batch's own timestamp is not the time of the batch: Spark writes the file
within the trigger."""

COPY_SPAN_RATIO = 10
MIN_LOG_SPAN_MS = 10_000
"""Files that lie 10 times closer together than their batches (over at least 10 s) were written by a copy, not
by the batches."""

WHOLE_SECOND_MS = 1_000
CLOCK_STEP_MS = 50
"""How far two file times may be from each other for no other reason than how they are kept: object stores
keep whole seconds, file systems a few milliseconds."""

USUAL_BATCHES = 50
"""Of so many of the newest committed batches what is usual is taken."""

Status = Literal[
    "committed", "pending", "missing_commit", "missing_offset", "unreadable", "retention_edge", "superseded"
]
STATUSES: tuple[Status, ...] = (
    "committed",
    "pending",
    "missing_commit",
    "missing_offset",
    "unreadable",
    "retention_edge",
    "superseded",
)
Times = Literal["file_and_log", "file", "log", "none"]
Column = Literal["duration_ms", "gap_ms"]

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, slots=True)
class BatchGap:
    """Ids ``first`` to ``last`` have neither an offset nor a commit file.

    ``is_legal``: asynchronous progress tracking skips ids by design.
    """

    first: int
    last: int
    is_legal: bool

    @property
    def size(self) -> int:
        """How many ids are absent."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Read-only columns of equal length, ascending by batch id. Times are epoch milliseconds, ``UNKNOWN_MS``
    where not known.

    ``status`` indexes ``STATUSES``. ``planned_ms`` is the start of the batch: the log's timestamp where the
    entry was read (``planned_from_log``), else the time of the offset file. ``committed_ms`` is the time of
    the commit file. The time of a damaged file is perhaps that of the damage and counts for nothing.
    ``duration_ms`` runs from the offset file to the commit file (one clock), in
    real-time mode from the log's timestamp. ``gap_ms`` runs
    from the start of this batch to the start of the next logged one; a batch never lasts longer than that.
    ``times`` says what the times rest on and ``times_note`` says it in one sentence. ``removed_before`` is
    the first id of the logs when older ones are gone, None when the logs begin at batch 0. ``from_history``:
    the checkpoint has no file of this batch any more; a survey that was kept has seen it
    (:mod:`core.analysis.past_batches`).
    """

    batch_ids: Ints
    status: NDArray[np.int8]
    planned_ms: Ints
    committed_ms: Ints
    duration_ms: Ints
    gap_ms: Ints
    planned_from_log: Flags
    is_read: Flags
    gaps: tuple[BatchGap, ...]
    removed_before: int | None
    pending_batch: int | None
    times: Times
    times_note: str
    is_copy: bool
    from_history: Flags

    def __len__(self) -> int:
        return len(self.batch_ids)

    def row(self, batch_id: int) -> int | None:
        """The row of ``batch_id``, None when neither of its files is there."""
        at = int(np.searchsorted(self.batch_ids, batch_id))
        return at if at < len(self) and int(self.batch_ids[at]) == batch_id else None

    def neighbours(self, batch_id: int) -> tuple[int | None, int | None]:
        """The batches before and after ``batch_id`` in the logs, whether it is there itself or not."""
        before = int(np.searchsorted(self.batch_ids, batch_id, side="left")) - 1
        after = int(np.searchsorted(self.batch_ids, batch_id, side="right"))
        return (
            int(self.batch_ids[before]) if before >= 0 else None,
            int(self.batch_ids[after]) if after < len(self) else None,
        )

    def window(self, last: int | None, size: int) -> slice:
        """The rows of ``size`` batches that end at batch ``last`` (None = the newest); always full when there
        are enough batches."""
        end = len(self) if last is None else int(np.searchsorted(self.batch_ids, last, side="right"))
        start = max(0, end - size)
        return slice(start, min(len(self), start + size))

    def count(self, status: Status) -> int:
        """How many batches have this status."""
        return int(np.count_nonzero(self.status == STATUSES.index(status)))

    @property
    def has_durations(self) -> bool:
        """Whether at least one duration is known."""
        return bool(np.any(self.duration_ms >= 0))


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """A column in bins of consecutive rows: the first and last batch id of each, and what its known values
    say (NaN when none is known)."""

    first: Ints
    last: Ints
    median: NDArray[np.float32]
    p95: NDArray[np.float32]
    maximum: NDArray[np.float32]
    size: int


def build_timeline(ck: Checkpoint) -> Timeline:
    """What happened to each batch. Reads no file: rows come from the listing, refined by the entries that
    ``ck`` has read."""
    offset_ids, commit_ids = _ids(ck.offset_ids), _ids(ck.commit_ids)
    ids = np.union1d(offset_ids, commit_ids)
    offset_file_ms = _file_times(ids, ck.offset_files)
    commit_file_ms = _file_times(ids, ck.commit_files)
    log_ms = np.full(len(ids), UNKNOWN_MS, dtype=np.int64)
    is_read = np.zeros(len(ids), dtype=np.bool_)
    unreadable = np.zeros(len(ids), dtype=np.bool_)
    for batch_id in ck.loaded_ids:
        at = int(np.searchsorted(ids, batch_id))
        if at >= len(ids) or ids[at] != batch_id:
            continue
        is_read[at] = True
        entry = ck.offset(batch_id)
        if isinstance(entry, Problem):  # its time is perhaps that of the damage
            unreadable[at], offset_file_ms[at] = True, UNKNOWN_MS
        if isinstance(ck.commit(batch_id), Problem):
            unreadable[at], commit_file_ms[at] = True, UNKNOWN_MS
        if (
            entry is not None
            and not isinstance(entry, Problem)
            and entry.timestamp_ms is not None
            and entry.timestamp_ms > 0
        ):
            log_ms[at] = entry.timestamp_ms

    execution = execution_of(ck)
    copy = _written_by_a_copy(offset_file_ms, log_ms)
    if not ck.is_async and execution.mode != "continuous":
        copy |= _closer_than_batches(offset_file_ms, log_ms)
        if execution.mode == "micro_batch" and _is_out_of_order(offset_file_ms, commit_file_ms):
            copy |= (offset_file_ms >= 0) & (log_ms >= 0)
    if copy.any():  # files that are not newer than a known copy were copied with it, read or not
        newest_copy_ms = int(offset_file_ms[copy].max())
        offset_file_ms[offset_file_ms <= newest_copy_ms] = UNKNOWN_MS
        commit_file_ms[commit_file_ms <= newest_copy_ms] = UNKNOWN_MS
    from_log = log_ms >= 0
    planned_ms = np.where(from_log, log_ms, offset_file_ms)
    # In real-time and continuous mode the offset file is written at the end of its batch too.
    is_at_the_end = execution.writes_before_logging
    duration_ms = differences(commit_file_ms, log_ms if is_at_the_end else offset_file_ms)
    gap_ms = np.full(len(ids), UNKNOWN_MS, dtype=np.int64)
    gap_ms[:-1] = differences(planned_ms[1:], planned_ms[:-1])
    times, note = _times(ids, offset_file_ms, from_log, copy)
    return Timeline(
        batch_ids=frozen(ids),
        status=frozen(_statuses(ck, ids, offset_ids, commit_ids, unreadable)),
        planned_ms=frozen(planned_ms),
        committed_ms=frozen(commit_file_ms),
        duration_ms=frozen(duration_ms),
        gap_ms=frozen(gap_ms),
        planned_from_log=frozen(from_log),
        is_read=frozen(is_read),
        gaps=_gaps(ids, ck.is_async),
        removed_before=int(ids[0]) if len(ids) and ids[0] > 0 else None,
        pending_batch=ck.uncommitted_batch,
        times=times,
        times_note=note,
        is_copy=bool(copy.any()),
        from_history=frozen(np.zeros(len(ids), dtype=np.bool_)),
    )


def usual_duration_ms(timeline: Timeline) -> int | None:
    """How long a committed batch takes, by the times of its two files: the median of the newest
    ``USUAL_BATCHES``; None when none is known."""
    known = [int(ms) for ms in timeline.duration_ms[-USUAL_BATCHES - 1 :] if ms >= 0]
    return round(median(known)) if known else None


def status_words(status: Status) -> Sentence:
    """The state of one batch, in words."""
    return say_of("timeline", "STATUS_WORDS", status)


def bins(timeline: Timeline, column: Column, most: int = 400) -> Bins:
    """``column`` of all batches in at most ``most`` bins; the maximum keeps a single slow batch visible."""
    values: Ints = getattr(timeline, column)
    size = max(1, -(-len(values) // most))
    starts = np.arange(0, len(values), size)
    ends = np.minimum(starts + size, len(values))
    stats = np.full((3, len(starts)), np.nan, dtype=np.float32)
    for at, (start, end) in enumerate(zip(starts, ends, strict=True)):
        known = values[start:end]
        known = known[known >= 0]
        if len(known):
            stats[:, at] = (*np.percentile(known, [50, 95]), known.max())
    return Bins(
        frozen(timeline.batch_ids[starts]),
        frozen(timeline.batch_ids[ends - 1]),
        stats[0],
        stats[1],
        stats[2],
        size,
    )


def _ids(ids: Iterable[int]) -> Ints:
    return np.fromiter(ids, dtype=np.int64)


def frozen(array: NDArray[T]) -> NDArray[T]:
    """The same array, read-only from now on."""
    array.flags.writeable = False
    return array


def _file_times(ids: Ints, files: Mapping[int, LogFile]) -> Ints:
    times = np.full(len(ids), UNKNOWN_MS, dtype=np.int64)
    written_ms = (UNKNOWN_MS if file.modified_ms is None else file.modified_ms for file in files.values())
    times[np.searchsorted(ids, _ids(files))] = np.fromiter(written_ms, dtype=np.int64, count=len(files))
    return times


def differences(later: Ints, earlier: Ints) -> Ints:
    """``later - earlier`` where both are known and in order, else unknown (a restored file may be newer than
    its successor)."""
    known = (later >= 0) & (earlier >= 0) & (later >= earlier)
    return np.where(known, later - earlier, UNKNOWN_MS)


def _written_by_a_copy(file_ms: Ints, log_ms: Ints) -> Flags:
    """Which offset files carry a time that cannot be the time of their batch, judged by the batches that were
    read."""
    both = (file_ms >= 0) & (log_ms >= 0)
    copy: Flags = both & (np.abs(file_ms - log_ms) > FAR_FROM_LOG_MS)
    near = both & ~copy
    if np.count_nonzero(near) >= 2:
        log_span = int(np.ptp(log_ms[near]))
        if log_span >= MIN_LOG_SPAN_MS and int(np.ptp(file_ms[near])) * COPY_SPAN_RATIO < log_span:
            return both
    return copy


def _closer_than_batches(file_ms: Ints, log_ms: Ints) -> Flags:
    """Which offset files lie closer together than Spark can have written them, from the oldest on that were
    read.

    Spark plans a batch after it has written the offset file of the one before. From the first offset file to
    the last thus passes at least the time between the plans of the second batch and of the last, whatever
    the clocks of driver and store say, and however fast the query is.
    """
    copy: Flags = np.zeros(len(file_ms), dtype=np.bool_)
    read = np.flatnonzero((file_ms >= 0) & (log_ms >= 0) & (np.abs(file_ms - log_ms) <= FAR_FROM_LOG_MS))
    if len(read) < 3:
        return copy
    files, planned = file_ms[read], log_ms[read]
    span = np.maximum.accumulate(files) - np.minimum.accumulate(files)
    at_least = planned - planned[1]
    step = CLOCK_STEP_MS if np.any(files % WHOLE_SECOND_MS) else WHOLE_SECOND_MS
    closer = (span + step < at_least) & (span * COPY_SPAN_RATIO < at_least)
    if closer.any():
        copy[read[: int(np.flatnonzero(closer)[-1]) + 1]] = True
    return copy


def _is_out_of_order(offset_ms: Ints, commit_ms: Ints) -> bool:
    """Whether most times contradict the order in which micro-batches write: ``offsets/N``, ``commits/N``,
    ``offsets/N+1``. A copy goes directory by directory. A single file that was replaced is no copy."""
    own = (offset_ms >= 0) & (commit_ms >= 0)
    following = (commit_ms[:-1] >= 0) & (offset_ms[1:] >= 0)
    against = int(np.count_nonzero(own & (commit_ms < offset_ms)))
    against += int(np.count_nonzero(following & (commit_ms[:-1] > offset_ms[1:])))
    # of the two pairs of a batch a copy can contradict one only
    return against >= 2 and against * 4 > int(np.count_nonzero(own)) + int(np.count_nonzero(following))


def _times(ids: Ints, file_ms: Ints, from_log: Flags, copy: Flags) -> tuple[Times, str]:
    read, files = int(np.count_nonzero(from_log)), int(np.count_nonzero(file_ms >= 0))
    if copy.any():
        return "log" if files == 0 else "file_and_log", say("timeline.copied", read=read, count=len(ids))
    if read and files:
        if read == len(ids):
            return "file_and_log", say("timeline.all_from_log")
        return "file_and_log", say("timeline.some_from_log", read=read)
    if files:
        return "file", say("timeline.file_times")
    if read:
        return "log", say("timeline.no_file_times", read=read, count=len(ids))
    return "none", say("timeline.no_times")


def _statuses(
    ck: Checkpoint, ids: Ints, offset_ids: Ints, commit_ids: Ints, unreadable: Flags
) -> NDArray[np.int8]:
    has_offset, has_commit = np.isin(ids, offset_ids), np.isin(ids, commit_ids)
    code = {status: STATUSES.index(status) for status in STATUSES}
    status = np.full(len(ids), code["committed"], dtype=np.int8)
    status[~has_offset] = code["missing_offset"]
    # Spark 2.1 has no commit log, asynchronous progress may skip commits: a later entry then stands for
    # "done"
    passed = len(commit_ids) == 0 or ck.is_async
    status[~has_commit] = code["superseded" if passed else "missing_commit"]
    if len(offset_ids) and len(commit_ids):
        edge = (ids < max(int(offset_ids[0]), int(commit_ids[0]))) & (ids[:1] > 0)
        status[edge & (has_offset != has_commit)] = code["retention_edge"]
    status[unreadable] = code["unreadable"]
    if (
        ck.uncommitted_batch is not None
    ):  # also when its file is unreadable: that it is not committed matters more
        status[ids == ck.uncommitted_batch] = code["pending"]
    return status


def _gaps(ids: Ints, is_async: bool) -> tuple[BatchGap, ...]:
    at = np.flatnonzero(np.diff(ids) > 1)
    return tuple(BatchGap(int(ids[i]) + 1, int(ids[i + 1]) - 1, is_async) for i in at)


@dataclass(frozen=True, slots=True)
class Move:
    """Where one partition of a source stood before and after a batch; None = not there, or not known from the
    files."""

    partition: str
    before: int | None
    after: int | None
    difference: int | None


def moves(ck: Checkpoint, batch_id: int, key: str) -> tuple[Move, ...]:
    """The positions of each partition of source ``key`` before and after ``batch_id``, in the order of its
    kind."""
    source = ck.source(key)
    if source is None:
        return ()
    start, end = (parse(text) if text is not None else None for text in ck.source_texts(batch_id, key))
    before = source.kind.positions(start) if start is not None else {}
    after = source.kind.positions(end) if end is not None else {}
    advance = ck.advance(batch_id, key)
    by_partition = advance.by_partition if advance is not None else {}
    names = list(dict.fromkeys([*(source.kind.partitions(end) if end is not None else ()), *after, *before]))
    return tuple(Move(name, before.get(name), after.get(name), by_partition.get(name)) for name in names)
