"""The batch that runs next: one rule for all who need it.

Spark's rule (``MicroBatchExecution.populateStartOffsets``, observed with 3.3 to 4.3): with N the highest id
in ``offsets/`` and C the highest in ``commits/``, batch N is re-run while C is not N, also when C is above N;
otherwise the next batch is N + 1. Without an offset the next batch is 0.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class LogIds(Protocol):
    """The batch ids of the two logs, ascending."""

    @property
    def offset_ids(self) -> Sequence[int]: ...

    @property
    def commit_ids(self) -> Sequence[int]: ...


@dataclass(frozen=True, slots=True)
class NextBatch:
    """The first batch of the next start.

    ``is_rerun``: it has an offset file already, so its range is fixed. ``is_committed``: it has a commit file
    already, which Spark finds only after the batch was handed to the sink. ``newest_offset`` and
    ``newest_commit`` are Spark's N and C, None for an empty log.
    """

    batch_id: int
    is_rerun: bool
    is_committed: bool
    newest_offset: int | None
    newest_commit: int | None


def next_batch(logs: LogIds) -> NextBatch:
    """The batch that the next start runs first, by the names of the log files alone: nothing is read."""
    newest = logs.offset_ids[-1] if logs.offset_ids else None
    commit = logs.commit_ids[-1] if logs.commit_ids else None
    is_rerun = newest is not None and commit != newest
    batch_id = 0 if newest is None else newest if is_rerun else newest + 1
    at = bisect_left(logs.commit_ids, batch_id)
    is_committed = at < len(logs.commit_ids) and logs.commit_ids[at] == batch_id
    return NextBatch(batch_id, is_rerun, is_committed, newest, commit)
