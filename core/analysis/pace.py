"""How the query gets on: input, duration, state and watermark of the newest batches. Each is one figure, one
sentence, and the numbers behind it. Reads no file that is not read already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.analysis.balance import BALANCED_BELOW, Balance, balance, growth
from core.analysis.timeline import USUAL_BATCHES, Timeline, usual_duration_ms
from core.analysis.watermark import WatermarkHistory, watermark_history
from core.checkpoint import Checkpoint
from core.checkpoint.model import StateInventory
from core.checkpoint.progress import SourceProgress
from core.messages import say, words

Floats = NDArray[np.float64]
PERIODS = ((1_000, "s"), (60_000, "min"), (3_600_000, "h"), (86_400_000, "d"))
"""A rate is given per the first of these in which it is one or more."""


@dataclass(frozen=True, slots=True)
class Pace:
    """``value``: the figure with its unit. ``note``: what it rests on, or what stands out. ``series``: one
    number per batch or state version, the oldest first, only those that are known; empty when there is
    nothing to draw. ``is_of_batches``: it counts batches, because what they read is not counted here."""

    value: str
    note: str
    series: tuple[float, ...] = ()
    is_of_batches: bool = False


class Paces(NamedTuple):
    """What the two logs tell; None where the query has nothing of the kind."""

    input: Pace | None
    duration: Pace | None
    watermark: Pace | None


def paces(ck: Checkpoint, timeline: Timeline) -> Paces:
    """Input, duration and watermark of the newest batches."""
    return Paces(input_pace(ck, timeline), duration_pace(timeline), watermark_pace(watermark_history(ck)))


@dataclass(frozen=True, slots=True, eq=False)
class BatchInput:
    """How much the sources read in each of some batches, in ``unit``: ``amounts``, and ``per_second`` over
    the time to the start of the next batch. NaN where not known: the newest batch has no next one."""

    unit: str
    batch_ids: NDArray[np.int64]
    amounts: Floats
    per_second: Floats

    @property
    def median_per_second(self) -> float | None:
        """The median of the rates that are known; None where none is."""
        known = self.per_second[~np.isnan(self.per_second)]
        return float(np.median(known)) if len(known) else None

    @property
    def median_amount(self) -> float | None:
        """The median of the amounts that are known; None where none is."""
        known = self.amounts[~np.isnan(self.amounts)]
        return float(np.median(known)) if len(known) else None


def batch_input(ck: Checkpoint, timeline: Timeline, batch_ids: Iterable[int]) -> BatchInput | None:
    """The input of these batches, by what was read of the logs; None without a source that counts something.

    Of sources that log in different units only those of the first unit are counted, offsets before files.
    """
    wanted = [batch_id for batch_id in batch_ids if batch_id in ck.offset_files]
    if not ck.sources or not wanted:
        return None
    order = sorted(ck.sources, key=lambda source: source.kind.has_own_log)
    found = [ck.progress(source.key, wanted) for source in order]
    first = found[0]
    same = [one for one in found if one.unit == first.unit and np.array_equal(one.batch_ids, first.batch_ids)]
    if not first.unit or not len(first.batch_ids):
        return None
    totals = np.stack([_read(one) for one in same])
    amounts = np.where((totals >= 0).all(axis=0), totals.sum(axis=0), np.nan).astype(np.float64)
    gaps_ms = timeline.gap_ms[np.searchsorted(timeline.batch_ids, first.batch_ids)]
    seconds = np.where(gaps_ms > 0, gaps_ms / 1_000, np.nan)
    return BatchInput(first.unit, first.batch_ids, amounts, amounts / seconds)


def _read(one: SourceProgress) -> NDArray[np.int64]:
    """What a source read in each batch: nothing as long as it has no position, where Spark writes ``-``."""
    begun = np.flatnonzero((one.positions >= 0).any(axis=1))
    totals = one.total.copy()
    totals[: begun[0] if len(begun) else 0] = 0
    return totals


def rate_in_words(per_second: float, unit: str) -> str:
    """``5,300 offsets/s``, ``2.4 files/min``: per the first period in which it is one or more."""
    return _rate(round(per_second * 1_000_000), 1_000_000_000, unit)


def input_pace(ck: Checkpoint, timeline: Timeline) -> Pace | None:
    """How much the sources read, over the time from the start of each batch to that of the next; None without
    a source.

    Of sources that log in different units only those of the first unit are counted. For file sources, which
    keep a log of their own, it is the number of batches.
    """
    counted = [source for source in ck.sources if not source.kind.has_own_log]
    if not ck.sources or not len(timeline):
        return None
    if not counted:
        return _batches(timeline)
    found = [ck.progress(source.key) for source in counted]
    unit = found[0].unit
    same = [one for one in found if one.unit == unit and np.array_equal(one.batch_ids, found[0].batch_ids)]
    totals = np.stack([_read(one) for one in same])[:, -USUAL_BATCHES - 1 :]
    ids = found[0].batch_ids[-USUAL_BATCHES - 1 :]
    amounts = np.where((totals >= 0).all(axis=0), totals.sum(axis=0), -1)
    rows = np.searchsorted(timeline.batch_ids, ids)
    gaps_ms = timeline.gap_ms[rows]
    known = (amounts >= 0) & (gaps_ms > 0)
    if not unit or not known.any():
        return Pace(words.NOT_KNOWN, say("pace.no_times"))
    rates = amounts[known] / gaps_ms[known]
    others = len(ck.sources) - len(same)
    note = say("pace.of_batches", n=int(known.sum()))
    if others:
        note = say("pace.of_some", note=note, sources=len(same), all=len(ck.sources))
    total, span_ms = int(amounts[known].sum()), int(gaps_ms[known].sum())
    if not total:
        return Pace(say("pace.nothing"), note, _series(rates))
    return Pace(_rate(total, span_ms, unit), note, _series(rates))


def _batches(timeline: Timeline) -> Pace:
    planned = timeline.planned_ms[-USUAL_BATCHES - 1 :]
    gaps = np.diff(planned[planned > 0])
    gaps = gaps[gaps > 0]
    if not len(gaps):
        return Pace(words.NOT_KNOWN, say("pace.no_times"))
    note = say("pace.files_elsewhere", n=len(gaps))
    return Pace(_rate(len(gaps), int(gaps.sum()), "batches"), note, _series(3_600_000 / gaps), True)


_FEW_BATCHES = 20
"""Of so many, and fewer, 95 % are all."""


def duration_pace(timeline: Timeline) -> Pace | None:
    """How long a batch takes, by the times of its two files: median and 95th percentile, which of few batches
    is the longest; None without a batch."""
    if not len(timeline):
        return None
    known = timeline.duration_ms[-USUAL_BATCHES - 1 :]
    known = known[known >= 0]
    usual = usual_duration_ms(timeline)
    if usual is None:
        return Pace(words.NOT_KNOWN, say("pace.copied" if timeline.is_copy else "pace.no_times"))
    slow = words.duration(float(np.percentile(known, 95, method="higher")))
    few = len(known) <= _FEW_BATCHES
    note = say("pace.longest" if few else "pace.slowest", slow=slow, n=len(known))
    return Pace(words.duration(usual), note, _series(known))


def state_pace(inventory: StateInventory) -> Pace | None:
    """How large the state is, how it is spread, and what each version has written; None without an
    operator."""
    stores = [(operator, store) for operator in inventory.operators for store in operator.stores]
    if not stores:
        return None
    found = [balance(operator, store) for operator, store in stores]
    uneven = max((one for one in found if one.total_bytes), key=_unevenness, default=None)
    written: dict[int, int] = {}
    for operator, store in stores:
        grown = growth(operator, store)
        for version, changed in zip(grown.versions.tolist(), grown.change_bytes.tolist(), strict=True):
            written[version] = written.get(version, 0) + changed
    series = [written[version] for version in sorted(written)] if any(written.values()) else []
    return Pace(words.size(inventory.size_bytes), _spread(uneven), _series(series))


def _unevenness(found: Balance) -> float:
    """How many times the median the largest partition has; beyond all when more than half are empty."""
    return np.inf if found.max_over_median is None else found.max_over_median


def _spread(uneven: Balance | None) -> str:
    heaviest = None if uneven is None else uneven.heaviest
    if uneven is None or heaviest is None:
        return say("pace.spread_unknown")
    if len(uneven.partitions) == 1:
        return say("pace.one_partition")
    if _unevenness(uneven) < BALANCED_BELOW:
        return say("pace.balanced", n=len(uneven.partitions))
    return say(
        "pace.uneven",
        partition=heaviest.partition_id,
        percent=f"{heaviest.share:.0%}",
        operator=uneven.operator_id,
    )


def watermark_pace(history: WatermarkHistory) -> Pace | None:
    """How far the watermark in force is behind the clock of the newest batch, and whether it moves; None
    without a watermark."""
    if not len(history) or not history.has_watermark:
        return None
    lag = history.lag_ms[-1]
    stall = next((found for found in history.stalls if found.reaches_end), None)
    if stall is not None:
        note = say("pace.stands_still", first=stall.first, n=stall.batches)
    elif history.went_back:
        note = say("pace.went_back", batch=history.went_back[-1])
    else:
        note = say("pace.moves" if np.any(np.diff(history.in_force_ms) > 0) else "pace.not_moved")
    if np.isnan(lag):
        return Pace(say("pace.none_yet"), note)
    where = say("pace.behind" if lag >= 0 else "pace.ahead", note=note)
    known = history.lag_ms[-USUAL_BATCHES:]
    return Pace(words.duration(abs(int(lag))), where, _series(known[~np.isnan(known)]))


def _rate(amount: int, span_ms: int, unit: str) -> str:
    period_ms, period = next((found for found in PERIODS if amount * found[0] >= span_ms), PERIODS[-1])
    rate = round(amount * period_ms / span_ms, 1)
    shown = words.amount(round(rate), unit) if rate >= 10 or rate.is_integer() else f"{rate} {unit}"
    return say("pace.rate", amount=shown, period=period)


def _series(values: Iterable[float]) -> tuple[float, ...]:
    found = tuple(float(value) for value in values)
    return found if len(found) > 1 else ()
