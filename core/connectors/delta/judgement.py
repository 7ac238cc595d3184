"""Positions of a Delta source against the table's log: the only place that judges them.

Sink and source checks, forecast, start positions and the impact of deleting read the values made here.

Rules observed with Delta 4.4 on Spark 4.2. Spark asks a Delta source again for the range of batch N when
offsets N-1 and N differ, also when batch N is committed: so **the version of offset N-1 counts**, not that of
N. An offset ``(V, -1)`` needs nothing of version V itself. Delta looks one version past the range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.checkpoint import Checkpoint
from core.checkpoint.sources.delta import DELTA, DeltaTable, TablePosition
from core.checkpoint.sources.forms import parse
from core.connectors.delta.log import DeltaLog

RangeState = Literal["ok", "start_gone", "snapshot_gone", "hole", "end_gone", "table_older"]
"""start_gone: the version of the start option is not in the log any more; snapshot_gone: the first snapshot
cannot be rebuilt; hole: a version is missing and a later one is there; end_gone: the end of the range is
missing; table_older: the table ends before the end of the range."""

PositionState = Literal["ok", "other_table", "in_snapshot", "beyond_newest", "caught_up", "cleaned"]
"""beyond_newest: the table ends before what was read (an older copy); caught_up: the next version does not
exist yet; cleaned: the version of the position is not in the log any more."""


@dataclass(frozen=True, slots=True)
class SourceRange:
    """What a restart asks a Delta source for. ``before`` and ``newest``: positions in offsets/N-1 and
    offsets/N; ``committed``: the end of the last committed batch, from which a lag counts. ``asks_again``:
    Spark reads the range between them once more."""

    before: TablePosition | None
    newest: TablePosition | None
    committed: TablePosition | None
    asks_again: bool

    @property
    def needed_from(self) -> int | None:
        """The version from which Spark needs the log. For batch 0 without a start option that is the first
        snapshot."""
        if self.newest is None:
            return None
        if not self.asks_again:
            return self.newest.version
        if self.before is not None:
            return self.before.version
        return self.newest.version if self.newest.in_first_snapshot else max(0, self.newest.version - 1)


def source_range(ck: Checkpoint, key: str) -> SourceRange:
    """The positions of a source in the newest two offsets and in the last committed batch. Texts that are no
    Delta offset count as none."""
    source = ck.source(key)
    kind = source.kind if source is not None and isinstance(source.kind, DeltaTable) else DELTA
    newest_id = ck.offset_ids[-1] if ck.offset_ids else None

    def at(batch_id: int | None) -> TablePosition | None:
        text = None if batch_id is None else ck.source_texts(batch_id, key)[1]
        return None if text is None else kind.position(parse(text))

    previous = ck.previous_offset_id(newest_id) if newest_id is not None else None
    before, newest = at(previous), at(newest_id)
    return SourceRange(before, newest, at(ck.last_committed_batch), newest is not None and before != newest)


def trailing_version(position: TablePosition) -> int:
    """The last version that is needed to read up to this position: V-1 where nothing of V was read."""
    return position.version if position.files_done else position.version - 1


def is_same_table(position: TablePosition, log: DeltaLog) -> bool | None:
    """Whether the position was read from this table; None when the log does not tell its id."""
    return None if log.table_id is None else position.table_id == log.table_id


@dataclass(frozen=True, slots=True)
class Hole:
    """Versions that are missing in a log: from ``first`` up to the one before ``next_one``, the next version
    that is there (None: nothing of the range is there any more)."""

    first: int
    next_one: int | None


@dataclass(frozen=True, slots=True)
class JudgedRange:
    """The range of a batch against the log. ``first`` to ``last``: the versions that it reads; ``snapshot``:
    the version of the first snapshot that it reads instead, or before. ``seen``: the newest version of the
    range that is there. ``hole``: versions that are missing, also where the end of the range is.
    """

    state: RangeState
    first: int
    last: int
    seen: int
    snapshot: int | None = None
    hole: Hole | None = None

    @property
    def is_end_missing(self) -> bool:
        """Whether the range cannot be read to its end, whatever failOnDataLoss says."""
        return self.seen < self.last

    @property
    def lost(self) -> tuple[int, int] | None:
        """The first and the last missing version of the range; None where its end is missing too, or nothing
        is."""
        if self.is_end_missing or self.hole is None or self.hole.next_one is None:
            return None
        if self.hole.first > self.last or self.hole.next_one <= 0:
            return None  # no version below 0 holds rows
        return self.hole.first, min(self.hole.next_one - 1, self.last)


def judge_range(
    log: DeltaLog, start: TablePosition | None, end: TablePosition, starting_version: int | None = None
) -> JudgedRange:
    """The range from ``start`` to ``end`` as Spark asks for it at a start. ``start`` None: batch 0, which
    begins at ``starting_version`` (today's option), else at the snapshot before its end.

    The table is taken to be the one that was read.
    """
    last = trailing_version(end)
    if start is not None:
        first = start.version
        if start.in_first_snapshot:
            if not log.can_rebuild(first):
                return JudgedRange("snapshot_gone", first, last, last, snapshot=first)
            first += 1
        if end.in_first_snapshot:
            return JudgedRange("ok", first, last, last, snapshot=end.version)
        return _judge_versions(log, first, end)
    if starting_version is not None:
        if log.oldest is None or starting_version < log.oldest:
            return JudgedRange("start_gone", starting_version, last, last)
        return _judge_versions(log, starting_version, end)
    snapshot = end.version if end.in_first_snapshot else end.version - 1
    if snapshot >= 0 and not log.can_rebuild(snapshot):
        return JudgedRange("snapshot_gone", snapshot, last, last, snapshot=snapshot)
    if last > log.newest:
        return JudgedRange("table_older", snapshot, last, max(snapshot, log.newest), snapshot=snapshot)
    return JudgedRange("ok", snapshot, last, last, snapshot=snapshot)


def _judge_versions(log: DeltaLog, first: int, end: TablePosition) -> JudgedRange:
    """The commits from ``first`` to the end of the range must be there, and that of the position itself when
    a later one is."""
    last = trailing_version(end)
    if last < first:
        return JudgedRange("ok", first, last, last)
    hole = find_hole(log, first, end.version)
    seen = max((v for v in log.names_from(first).commits if first <= v <= end.version), default=first - 1)
    state: RangeState = "ok"
    if hole is not None and hole.next_one is not None:
        state = "hole"
    elif seen < last:
        state = "table_older" if last > log.newest else "end_gone"
    return JudgedRange(state, first, last, seen, hole=hole)


def find_hole(log: DeltaLog, first: int, last: int) -> Hole | None:
    """The first version from ``first`` to ``last`` that is missing; None when nothing is."""
    expected = first
    for version in log.names_from(first).commits:
        if version < first:
            continue
        if version > expected:
            return Hole(expected, version)
        if version >= last:
            return None
        expected = version + 1
    return None if expected > last else Hole(expected, None)


def is_available(asked: SourceRange, log: DeltaLog) -> bool | None:
    """Whether a restart finds all that it asks for, and the next batch after it; None when there is no
    position. The table is taken to be the same one."""
    if asked.newest is None or asked.needed_from is None:
        return None
    needed = asked.needed_from
    in_snapshot = asked.newest.in_first_snapshot if asked.before is None else asked.before.in_first_snapshot
    if asked.asks_again and (in_snapshot or asked.before is None):
        if not log.can_rebuild(needed):
            return False
        needed += 1
    elif not asked.asks_again and asked.newest.in_first_snapshot and not log.can_rebuild(needed):
        return False
    if trailing_version(asked.newest) > log.newest:
        return False
    return needed > log.newest or (log.oldest is not None and log.oldest <= needed)


@dataclass(frozen=True, slots=True)
class JudgedPosition:
    """A position from which the next batch reads, against the log. ``oldest``: where the unbroken run of
    commits up to ``newest`` begins, None without one. ``can_rebuild``: the snapshot of ``version`` can be
    made from the log."""

    state: PositionState
    version: int
    oldest: int | None
    newest: int
    can_rebuild: bool
    hole: Hole | None = None

    @property
    def lag(self) -> int:
        """How many versions wait."""
        return max(0, self.newest - self.version + 1)

    @property
    def is_table_older(self) -> bool:
        """Whether versions that were read are not in the table."""
        return self.state == "beyond_newest"

    @property
    def lost(self) -> tuple[int, int] | None:
        """The first and the last version that were not read and are gone; None when nothing is known to
        be."""
        if self.state != "cleaned" or self.oldest is None:
            return None
        return self.version, self.oldest - 1


def judge_position(log: DeltaLog, position: TablePosition) -> JudgedPosition:
    """Where the next batch resumes. A hole is looked for from the first version that it reads."""
    version, first = position.version, position.version + position.in_first_snapshot
    state: PositionState = "ok"
    if is_same_table(position, log) is False:
        state = "other_table"
    elif position.in_first_snapshot:
        state = "in_snapshot"
    elif trailing_version(position) > log.newest:
        state = "beyond_newest"
    elif version == log.newest + 1:
        state = "caught_up"
    elif log.oldest is None or log.oldest > version:
        state = "cleaned"
    return JudgedPosition(
        state=state,
        version=version,
        oldest=log.oldest,
        newest=log.newest,
        can_rebuild=not position.in_first_snapshot or log.can_rebuild(version),
        hole=find_hole(log, first, log.newest) if first <= log.newest else None,
    )
