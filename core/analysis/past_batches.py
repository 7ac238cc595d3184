"""Batches that only a history of surveys still knows: Spark keeps the logs of 100 batches, the surveys that
were kept know what earlier ones showed.

A batch of the history is known by the times of its two files and by the status that it had when it was last
seen. It stands in a timeline before the batches of the checkpoint, never in their place: what the checkpoint
shows is the truth.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from core.analysis.timeline import STATUSES, UNKNOWN_MS, Flags, Ints, Timeline, differences, frozen

MOST_BATCHES = 1_000
"""Batches of one checkpoint that a survey keeps at most, the newest: ten times what Spark retains by
default. A survey that comes once in so many batches misses none."""


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """Columns of equal length, ascending by batch id; times in epoch milliseconds, ``UNKNOWN_MS`` where not
    known. ``status`` indexes ``STATUSES``. Small enough to keep for thousands of checkpoints."""

    batch_ids: array[int]
    status: array[int]
    planned_ms: array[int]
    committed_ms: array[int]
    duration_ms: array[int]

    def __len__(self) -> int:
        return len(self.batch_ids)


def no_batches() -> BatchTimes:
    """The columns without a row."""
    return BatchTimes(*(array("q") for _ in range(5)))


def batch_times(timeline: Timeline) -> BatchTimes:
    """The newest batches of a timeline, as a survey keeps them."""
    columns = (
        timeline.batch_ids,
        timeline.status.astype(np.int64),
        timeline.planned_ms,
        timeline.committed_ms,
        timeline.duration_ms,
    )
    return BatchTimes(*(array("q", column[-MOST_BATCHES:].tobytes()) for column in columns))


def joined(surveys: Iterable[BatchTimes]) -> BatchTimes:
    """The batches of several surveys, the oldest survey first, each batch once: as it was last seen with a
    commit, else as it was last seen."""
    found = list(surveys)
    ids, status, planned, committed, duration = (
        np.concatenate([np.frombuffer(getattr(one, name), dtype=np.int64) for one in found] or [_NONE])
        for name in ("batch_ids", "status", "planned_ms", "committed_ms", "duration_ms")
    )
    order = np.lexsort((np.arange(len(ids)), status == COMMITTED, ids))
    last = order[np.append(np.diff(ids[order]) != 0, True)[: len(order)]]
    return BatchTimes(
        *(array("q", column[last].tobytes()) for column in (ids, status, planned, committed, duration))
    )


_NONE = np.zeros(0, dtype=np.int64)
COMMITTED = STATUSES.index("committed")
PENDING, SUPERSEDED = STATUSES.index("pending"), STATUSES.index("superseded")


def with_past(timeline: Timeline, past: BatchTimes) -> Timeline:
    """The timeline with the batches of the history that are older than all that the checkpoint has; those are
    ``from_history``. The same timeline when there are none."""
    ids = np.frombuffer(past.batch_ids, dtype=np.int64)
    older = ids < timeline.batch_ids[0] if len(timeline) else np.ones(len(ids), dtype=np.bool_)
    if not older.any():
        return timeline
    count = int(np.count_nonzero(older))

    def put_before(name: str, now: Ints) -> Ints:
        return np.concatenate([np.frombuffer(getattr(past, name), dtype=np.int64)[older], now])

    planned_ms = put_before("planned_ms", timeline.planned_ms)
    gap_ms = np.full(len(planned_ms), UNKNOWN_MS, dtype=np.int64)
    gap_ms[:-1] = differences(planned_ms[1:], planned_ms[:-1])
    batch_ids = put_before("batch_ids", timeline.batch_ids)
    not_next = np.append(np.diff(batch_ids) != 1, False)
    not_next[count:] = False  # between batches of the checkpoint it says itself
    gap_ms[not_next] = UNKNOWN_MS  # the next start is that of a batch nobody surveyed
    gap_ms[count:] = timeline.gap_ms
    flags: Flags = np.arange(len(batch_ids)) < count
    no = np.zeros(count, dtype=np.bool_)
    status = put_before("status", timeline.status.astype(np.int64)).astype(np.int8)
    # It was planned when it was last seen, and later batches were logged since.
    status[:count][status[:count] == PENDING] = SUPERSEDED
    return replace(
        timeline,
        batch_ids=frozen(batch_ids),
        status=frozen(status),
        planned_ms=frozen(planned_ms),
        committed_ms=frozen(put_before("committed_ms", timeline.committed_ms)),
        duration_ms=frozen(put_before("duration_ms", timeline.duration_ms)),
        gap_ms=frozen(gap_ms),
        planned_from_log=frozen(np.concatenate([no, timeline.planned_from_log])),
        is_read=frozen(np.concatenate([no, timeline.is_read])),
        from_history=frozen(flags),
    )
