"""Which rows of the state differ between two batches: added, changed, removed. Both versions are rebuilt from
the files, a file that both need is read once, and no change feed is needed: it works for every provider, and
where the changes between are purged.

Compared with Spark's state reader (4.3) at both batches, store by store.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from core.checkpoint import Checkpoint
from core.checkpoint.state_content.contents import Contents, NotRead, read_versions
from core.checkpoint.state_content.row_scan import RawRow, visible
from core.checkpoint.state_content.state_rows import (
    CANCEL_EVERY,
    Difference,
    RowPlan,
    RowsAnswer,
    RowsQuestion,
    StateRow,
    decoded_row,
    plan_rows,
    row_columns,
)
from core.checkpoint.state_content.unsafe_row import NotDecodedError
from core.errors import UsageError
from core.messages import say

_Pieces = list[bytes] | None


class _StoppedError(Exception):
    """Somebody cancelled."""


class _Differing(NamedTuple):
    """A row before and after; None where there was none."""

    change: str
    key: bytes
    before: _Pieces
    after: _Pieces


@dataclass(slots=True)
class _Found:
    """What differs in one partition: how many of each sort, and the first so many that there is room for."""

    room: int
    rows: list[_Differing] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def take(self, change: str, key: bytes, before: _Pieces, after: _Pieces) -> None:
        """Counts it, and keeps it while there is room."""
        self.counts[change] += 1
        if len(self.rows) < self.room:
            self.rows.append(_Differing(change, key, before, after))


def read_difference(
    ck: Checkpoint, question: RowsQuestion, since_batch: int, is_cancelled: Callable[[], bool] = lambda: False
) -> RowsAnswer:
    """What differs between the rows after ``since_batch`` and those after the batch of the question.

    All rows are compared, so that the numbers are those of everything that was asked for; ``rows`` has the
    first of those that differ. A row of a join is its key and its value together: it is added or removed,
    never changed. Raises UsageError for a question that does not fit the checkpoint, and where one of the
    versions cannot be rebuilt in any partition; StorageError when the store cannot be read at all.
    """
    earlier, later = plan_rows(ck, replace(question, batch_id=since_batch)), plan_rows(ck, question)
    if since_batch >= later.batch_id:
        raise UsageError(say("state_rows.difference_order", first=since_batch, last=later.batch_id))
    rows: list[StateRow] = []
    counts: Counter[str] = Counter()
    not_read: list[tuple[RowPlan, NotRead]] = []
    files: dict[str, None] = {}
    partitions_read, is_stopped = 0, False
    for old, new in read_versions(ck.door, (earlier.asked, later.asked), later.partitions):
        if not isinstance(old, Contents):
            not_read.append((earlier, old))
        elif not isinstance(new, Contents):
            not_read.append((later, new))
        else:
            found = _Found(question.limit - len(rows))
            try:
                _compare(later, _rows(earlier, old, is_cancelled), _rows(later, new, is_cancelled), found)
                rows += [_decoded(later, new.partition_id, row) for row in found.rows]
            except NotDecodedError as error:
                not_read.append((later, NotRead(new.partition_id, str(error))))
                continue
            except _StoppedError:
                is_stopped = True
                break
            counts += found.counts
            files |= dict.fromkeys((*old.files, *new.files))
            partitions_read += 1
    for plan in (earlier, later):
        _refuse_lost(plan, [part for of, part in not_read if of is plan])
    total = counts.total() - counts["unchanged"]
    is_whole = not (not_read or is_stopped)
    return RowsAnswer(
        batch_id=later.batch_id,
        operator=later.operator,
        target=later.target,
        columns=tuple(row_columns(later.target)),
        rows=tuple(rows),
        total=total if is_whole else None,
        is_truncated=not is_whole or total > len(rows),
        is_stopped=is_stopped,
        is_past_watermark=False,
        partitions_read=partitions_read,
        not_read=tuple(
            NotRead(part.partition_id, say("state_rows.at_batch", batch=plan.batch_id, reason=part.reason))
            for plan, part in not_read
        ),
        files=tuple(files),
        difference=Difference(
            since_batch, counts["added"], counts["changed"], counts["removed"], counts["unchanged"]
        ),
    )


def _refuse_lost(plan: RowPlan, lost: list[NotRead]) -> None:
    """One sentence instead of one for each partition where a version is gone in all of them."""
    if lost and len(lost) == len(plan.partitions):
        raise UsageError(say("state_rows.version_gone", batch=plan.batch_id, reason=lost[0].reason))


def _rows(plan: RowPlan, part: Contents, is_cancelled: Callable[[], bool]) -> Iterator[RawRow]:
    for number, row in enumerate(plan.scan.rows(part)):
        if not number % CANCEL_EVERY and is_cancelled():
            raise _StoppedError
        yield row


def _compare(plan: RowPlan, before: Iterator[RawRow], after: Iterator[RawRow], found: _Found) -> None:
    if plan.target.hidden_key_columns:
        _compare_whole(plan, before, after, found)
        return
    was = {row.key: row.pieces for row in before}
    for row in after:
        if row.key not in was:
            found.take("added", row.key, None, row.pieces)
        elif _bytes_of(plan, old := was.pop(row.key)) != _bytes_of(plan, row.pieces):
            found.take("changed", row.key, old, row.pieces)
        else:
            found.counts["unchanged"] += 1
    for key, old in was.items():
        found.take("removed", key, old, None)


def _compare_whole(plan: RowPlan, before: Iterator[RawRow], after: Iterator[RawRow], found: _Found) -> None:
    """Rows of a join, of which several have the same key: Spark gives one the number of another when that one
    goes, so that only what a row says tells which is which."""
    was: dict[str, list[RawRow]] = {}
    for row in before:
        was.setdefault(_text(plan, row), []).append(row)
    for row in after:
        same = was.get(_text(plan, row))
        if same:
            same.pop()
            found.counts["unchanged"] += 1
        else:
            found.take("added", row.key, None, row.pieces)
    for gone in was.values():
        for row in gone:
            found.take("removed", row.key, row.pieces, None)


def _text(plan: RowPlan, row: RawRow) -> str:
    key = visible(plan.target, plan.layout.key(row.key))
    value = plan.target.without_hidden(plan.layout.value(row.pieces or []))
    return json.dumps((key, value))


def _bytes_of(plan: RowPlan, pieces: _Pieces) -> list[bytes] | None:
    """What two values are compared by. A list can be in one piece, or put and then appended to."""
    if pieces is None or not plan.target.is_list:
        return None if pieces is None else pieces[-1:]
    return plan.layout.rows_of(pieces)


def _decoded(plan: RowPlan, partition_id: int, row: _Differing) -> StateRow:
    """The row as it is now, or as it was where it is gone."""
    now = decoded_row(partition_id, RawRow(row.key, row.after), plan.target, plan.layout)
    was = decoded_row(partition_id, RawRow(row.key, row.before), plan.target, plan.layout)
    return replace(now, change=row.change, before=was.value)
