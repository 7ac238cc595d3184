"""How the watermark moved: the value in force per batch, the one for the next, its lag behind the batch's
clock, where it stood still.

``offsets/N.batchWatermarkMs`` is used IN batch N: state is evicted against it. Late rows are dropped against
that of batch N - 1 from Spark 3.4 on, unless ``allowMultiple`` of stateful operators is false.
``commits/N.nextBatchWatermarkMs`` is for batch N + 1 (Spark 2.4 and later; before, it is taken from the next
offset log entry). 0 means "none yet". Values of single watermark nodes are stored nowhere, so what holds a
watermark back is inferred from the sources that stood still.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from core.checkpoint.model import CommitEntry, OffsetEntry
from core.messages import Sentence, say
from core.sparklogs.evidence import Certainty, Evidence

if TYPE_CHECKING:
    from core.checkpoint import Checkpoint

UNKNOWN_MS = -1
POLICY_KEY = "spark.sql.streaming.multipleWatermarkPolicy"

STALL_RATIO = 3
"""A stall lasts at least this many times as many batches with data as the watermark usually rests."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stall:
    """Batches ``first`` to ``last`` ran with the watermark ``watermark_ms`` and none of them moved it, though
    ``data_batches`` had data.

    ``length_ms`` runs from the start of ``first`` to the start of the batch that moved it at last (of
    ``last`` when none did: ``reaches_end``), None when a time is missing. ``idle_sources`` are the keys of
    the sources that did not advance in all that time.
    """

    first: int
    last: int
    watermark_ms: int
    batches: int
    data_batches: int
    length_ms: int | None
    reaches_end: bool
    idle_sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FutureJump:
    """After ``batch_id`` the watermark was ``ahead_ms`` ahead of that batch's own clock: rows with event
    times in the future, it seems."""

    batch_id: int
    watermark_ms: int
    ahead_ms: int
    evidence: Evidence
    certainty: Certainty = "inferred"


@dataclass(frozen=True, slots=True, eq=False)
class WatermarkHistory:
    """Read-only columns of equal length over the batches whose offset log entry could be read, ascending;
    ``UNKNOWN_MS`` where not known.

    ``lag_ms`` is batch time minus watermark in force, NaN where there is no watermark yet (negative: ahead of
    the clock). ``has_data`` is whether a source moved in the batch. ``restart_ms`` is the watermark at the
    next start, None when there is none. ``policy`` is None when the log does not pin one (``min`` then
    applies). ``went_back`` lists batches that started with a smaller watermark than the one before: Spark
    never does that, somebody changed the files. ``total_batches`` counts all offset files.
    """

    batch_ids: Ints
    in_force_ms: Ints
    next_ms: Ints
    batch_time_ms: Ints
    lag_ms: NDArray[np.float64]
    has_data: NDArray[np.bool_]
    stalls: tuple[Stall, ...]
    jump: FutureJump | None
    went_back: tuple[int, ...]
    policy: Literal["min", "max"] | None
    source_count: int
    restart_ms: int | None
    total_batches: int

    def __len__(self) -> int:
        return len(self.batch_ids)

    @property
    def has_watermark(self) -> bool:
        """Whether any batch that was read knows a watermark."""
        return bool(np.any(self.in_force_ms > 0) or np.any(self.next_ms > 0))

    @property
    def ahead_ms(self) -> int | None:
        """How far the newest watermark is ahead of the clock of the newest batch, after a jump into the
        future; None where it is not."""
        if self.jump is None or self.batch_time_ms[-1] <= 0:
            return None
        ahead = int(max(self.in_force_ms[-1], self.next_ms[-1]) - self.batch_time_ms[-1])
        return ahead if ahead > 0 else None

    @property
    def rule(self) -> str:
        """The rule of this query's watermark, in words."""
        rule = say("watermark.rule")
        if self.source_count < 2 and self.policy != "max":
            return rule
        if self.policy == "max":
            return f"{rule} {say('watermark.rule_max', key=POLICY_KEY)}"
        return (
            f"{rule} {say('watermark.rule_min' if self.policy else 'watermark.rule_default', key=POLICY_KEY)}"
        )

    @property
    def headline(self) -> Sentence:
        """The conclusion in one sentence. There must be a batch."""
        batch_id, value = int(self.batch_ids[-1]), int(self.in_force_ms[-1])
        parts = [
            say("watermark.in_force", batch_id=batch_id, ms=value)
            if value > 0
            else say("watermark.none_yet", batch_id=batch_id)
        ]
        lag = self.lag_ms[-1]
        if not np.isnan(lag):
            parts.append(say("watermark.behind" if lag >= 0 else "watermark.ahead", lag_ms=abs(int(lag))))
        longest = max(self.stalls, key=lambda stall: stall.data_batches, default=None)
        if longest is not None:
            parts.append(
                say("watermark.stall", count=longest.batches, first=longest.first, last=longest.last)
            )
        elif len(self) > 1:
            parts.append(_moves(int(np.count_nonzero(np.diff(self.in_force_ms) > 0)), len(self)))
        return say("watermark.headline", parts="; ".join(parts))


def _moves(moves: int, count: int) -> Sentence:
    if not moves:
        return say("watermark.did_not_move", count=count)
    return say("watermark.moved", moves=moves, count=count)


def watermark_history(ck: Checkpoint, batch_ids: Iterable[int] | None = None) -> WatermarkHistory:
    """How the watermark moved over ``batch_ids`` (read now if they were not) or, by default, over the batches
    that ``ck`` has read. By default nothing is read: where older batches are in the log, the oldest that was
    read only says where the next one began."""
    if batch_ids is None:
        wanted = sorted(ck.loaded_ids)
        if len(wanted) > 1 and ck.previous_offset_id(wanted[0]) is not None:
            del wanted[0]
    else:
        present = set(ck.offset_ids)
        wanted = sorted(present.intersection(batch_ids))
        ck.load(wanted)
    entries = [entry for entry in map(ck.offset, wanted) if isinstance(entry, OffsetEntry)]
    commits = [ck.commit(entry.batch_id) for entry in entries]
    in_force = _column(entry.watermark_ms for entry in entries)
    following = _next_watermarks(ck, entries, in_force, commits)
    times = _column(entry.timestamp_ms for entry in entries)
    moved = [_moved_sources(ck, entry) for entry in entries]
    has_data = np.array([bool(m) for m in moved], dtype=np.bool_)
    batch_id_column = _column(entry.batch_id for entry in entries)
    has_lag = (in_force > 0) & (times > 0)
    policy = entries[-1].conf.get(POLICY_KEY) if entries else None
    columns = (batch_id_column, in_force, following, times, has_data)
    lag = np.where(has_lag, (times - in_force).astype(np.float64), np.nan)
    for column in (*columns, lag):
        column.flags.writeable = False
    return WatermarkHistory(
        batch_ids=batch_id_column,
        in_force_ms=in_force,
        next_ms=following,
        batch_time_ms=times,
        lag_ms=lag,
        has_data=has_data,
        stalls=tuple(
            _stalls(
                batch_id_column,
                in_force,
                following,
                times,
                moved,
                [s.key for s in ck.sources],
                _StallRule(
                    ck.settings.watermark_stall_batches,
                    ck.settings.watermark_stall_ms,
                    holds_back=policy != "max" and len(ck.sources) > 1,
                    from_the_start=bool(entries) and entries[0].batch_id == 0,
                ),
            )
        ),
        jump=_jump(entries, commits, following, times, ck.settings.watermark_ahead_ms),
        went_back=tuple(
            int(batch_id_column[i + 1])
            for i in np.flatnonzero((in_force[1:] >= 0) & (in_force[1:] < in_force[:-1]))
        ),
        policy="max" if policy == "max" else "min" if policy == "min" else None,
        source_count=len(ck.sources),
        restart_ms=_restart(ck),
        total_batches=len(ck.offset_ids),
    )


def batch_before(ck: Checkpoint, risk_id: str) -> int | None:
    """The newest batch before what the forecast says of a watermark: one in the future (the batch before the
    jump, of those that were read), or one that somebody changed in the newest offset entry. None for any
    other risk, and where there is none."""
    if risk_id == "WATERMARK_AHEAD":
        jump = watermark_history(ck).jump
        before = None if jump is None else jump.batch_id - 1
    elif risk_id in ("WATERMARK_RAISED", "WATERMARK_WENT_BACK") and ck.offset_ids:
        before = ck.offset_ids[-1] - 1
    else:
        return None
    return before if before is not None and before >= 0 else None


def held_back_by(ck: Checkpoint, history: WatermarkHistory, stall: Stall) -> Sentence:
    """What may hold the watermark back. The values of single watermarks are stored nowhere, so this is
    inferred from the sources that did not advance, or from a watermark ahead of the clock."""
    clock_ms = int(history.batch_time_ms[np.searchsorted(history.batch_ids, stall.last)])
    if history.jump is not None and 0 < clock_ms < stall.watermark_ms:
        return say("watermark.held_back_by_future")
    if stall.idle_sources and history.source_count > 1 and history.policy != "max":
        idle = [
            say("watermark.source", key=source.key, kind=source.kind.label)
            for source in ck.sources
            if source.key in stall.idle_sources
        ]
        return say("watermark.held_back_by_source", sources=idle)
    if history.source_count > 1:
        return say("watermark.held_back_by_input")
    return say("watermark.held_back_by_data")


def _column(values: Iterable[int | None]) -> Ints:
    return np.array([UNKNOWN_MS if value is None else value for value in values], dtype=np.int64)


def _next_watermarks(
    ck: Checkpoint, entries: list[OffsetEntry], in_force: Ints, commits: Sequence[object]
) -> Ints:
    """From the commit; where that does not carry it (Spark before 2.4, no commit) from the next offset log
    entry, if that was read."""
    values: list[int | None] = []
    for at, (entry, commit) in enumerate(zip(entries, commits, strict=True)):
        value = commit.next_watermark_ms if isinstance(commit, CommitEntry) else None
        if (
            value is None
            and at + 1 < len(entries)
            and ck.previous_offset_id(entries[at + 1].batch_id) == entry.batch_id
        ):
            value = int(in_force[at + 1])
        values.append(value)
    return _column(values)


def _moved_sources(ck: Checkpoint, entry: OffsetEntry) -> frozenset[str]:
    """Keys of the sources whose offset differs from the entry before (or that have no known start)."""
    keys = {source.key for source in entry.sources if source.raw is not None}
    return frozenset(key for key in keys if (texts := ck.source_texts(entry.batch_id, key))[0] != texts[1])


def _runs(in_force: Ints) -> Iterator[tuple[int, int]]:
    """Half-open row spans of equal watermark."""
    edges = [0, *(np.flatnonzero(np.diff(in_force)) + 1).tolist(), len(in_force)]
    yield from ((a, b) for a, b in itertools.pairwise(edges) if b > a)


@dataclass(frozen=True, slots=True)
class _StallRule:
    """When a rest of the watermark is a stall. ``holds_back``: an idle source delays the others;
    ``from_the_start``: the first batch that was read is batch 0, so its watermark began there."""

    fewest: int
    longest_ms: int
    holds_back: bool
    from_the_start: bool


def _stalls(
    ids: Ints,
    in_force: Ints,
    following: Ints,
    times: Ints,
    moved: list[frozenset[str]],
    keys: list[str],
    rule: _StallRule,
) -> Iterator[Stall]:
    if not np.any(in_force > 0):
        return
    spans = [_span(start, end, in_force, following, moved) for start, end in _runs(in_force)]
    for at, (start, end, data_batches) in enumerate(spans):
        if in_force[start] < 0 or data_batches < rule.fewest:
            continue
        until = min(end, len(ids) - 1)
        known = times[start] > 0 and times[until] >= times[start]
        advanced = frozenset().union(*moved[start:end])
        found = Stall(
            first=int(ids[start]),
            last=int(ids[end - 1]),
            watermark_ms=int(in_force[start]),
            batches=end - start,
            data_batches=data_batches,
            length_ms=int(times[until] - times[start]) if known else None,
            reaches_end=end == len(ids) or (until == len(ids) - 1 and bool(following[until] < 0)),
            idle_sources=tuple(key for key in keys if key not in advanced),
        )
        others = [span for number, span in enumerate(spans) if number != at]
        if _is_stall(found, [length for first, _, length in others if _tells(first, in_force, rule)], rule):
            yield found


def _span(
    start: int, end: int, in_force: Ints, following: Ints, moved: list[frozenset[str]]
) -> tuple[int, int, int]:
    """First row, row after the last batch that did not move it, batches with data between them."""
    still = end
    while still > start and following[still - 1] != in_force[still - 1]:
        still -= 1
    return start, still, sum(bool(m) for m in moved[start:still])


def _tells(start: int, in_force: Ints, rule: _StallRule) -> bool:
    """Whether a rest says how long the watermark usually rests: not the time before its first value, and not
    a rest whose beginning was not read."""
    return bool(in_force[start] > 0) and (start > 0 or rule.from_the_start)


def _is_stall(found: Stall, usual: Sequence[int], rule: _StallRule) -> bool:
    """A rest that is long against the others. Where there is no other to compare with (event times of whole
    days rest for a day), an idle source that holds it back or a very long time shows a stall."""
    if usual:
        return found.data_batches >= STALL_RATIO * float(np.median(usual))
    is_held_back = rule.holds_back and bool(found.idle_sources)
    return is_held_back or (found.length_ms is not None and found.length_ms >= rule.longest_ms)


def _jump(
    entries: list[OffsetEntry],
    commits: Sequence[object],
    following: Ints,
    times: Ints,
    most_ahead_ms: int,
) -> FutureJump | None:
    """The first batch after which the watermark was more than this ahead of the batch's clock."""
    ahead = np.where((following > 0) & (times > 0), following - times, 0)
    rows = np.flatnonzero(ahead > most_ahead_ms)
    if not len(rows):
        return None
    at = int(rows[0])
    commit = commits[at]
    evidence = commit.evidence if isinstance(commit, CommitEntry) else entries[at].evidence
    return FutureJump(entries[at].batch_id, int(following[at]), int(ahead[at]), evidence)


def _restart(ck: Checkpoint) -> int | None:
    """``max(offsets/L.batchWatermarkMs, commits/L.nextBatchWatermarkMs)`` of the newest batch L, as Spark
    takes it at a start."""
    if not ck.offset_ids:
        return None
    newest = ck.offset_ids[-1]
    offset, commit = ck.offset(newest), ck.commit(newest)
    values = [
        offset.watermark_ms if isinstance(offset, OffsetEntry) else None,
        commit.next_watermark_ms if isinstance(commit, CommitEntry) else None,
    ]
    return max((value for value in values if value), default=None)
