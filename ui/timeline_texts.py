"""The conclusions of the timeline in sentences, and its tables."""

from __future__ import annotations

import numpy as np

from core.analysis.pace import BatchInput, rate_in_words
from core.analysis.timeline import STATUSES, Bins, Column, Timeline, status_words
from core.checkpoint.progress import SourceProgress
from core.messages import say, say_of, words
from ui import tables


def headline(timeline: Timeline, rows: slice, found: BatchInput | None = None) -> str:
    """The conclusion of the window: which batches, what is not in order, how long they took, how much they
    read."""
    sentences = [_which(timeline, rows), *_statuses(timeline, rows)]
    took = timeline.duration_ms[rows]
    took = took[took >= 0]
    gaps = timeline.gap_ms[rows]
    gaps = gaps[gaps >= 0]
    if len(took):
        median, longest = round(float(np.median(took))), int(took.max())
        sentences.append(say("screen_timeline.durations", median=median, longest=longest))
    elif len(gaps):
        median = round(float(np.median(gaps)))
        sentences.append(
            say("screen_timeline.gaps", median=median) if median else say("screen_timeline.gaps_too_short")
        )
    rate = None if found is None else found.median_per_second
    if found is not None and rate:
        sentences.append(say("screen_timeline.input", rate=rate_in_words(rate, found.unit)))
    elif found is not None and found.median_amount:
        amount = words.amount(round(found.median_amount), found.unit)
        sentences.append(say("screen_timeline.input_per_batch", amount=amount))
    return " ".join(sentences)


def _which(timeline: Timeline, rows: slice) -> str:
    ids, total = timeline.batch_ids[rows], len(timeline)
    first, last = int(ids[0]), int(ids[-1])
    if first == last:
        return say("screen_timeline.window_of_one", first=first)
    if last - first == len(ids) - 1 and last >= total:  # older ones were removed: the numbers do not fit
        return say("screen_timeline.window_of_newest", first=first, last=last, n=len(ids), total=total)
    if last - first == len(ids) - 1:
        return say("screen_timeline.window", first=first, last=last, total=total)
    return say("screen_timeline.window_with_gaps", n=len(ids), first=first, last=last, total=total)


def _statuses(timeline: Timeline, rows: slice) -> list[str]:
    sentences: list[str] = []
    for code, status in enumerate(STATUSES):
        many = int(np.count_nonzero(timeline.status[rows] == code))
        if status == "pending" and many:
            sentences.append(say("screen_timeline.pending", batch=timeline.pending_batch))
        elif status != "committed" and many:
            sentences.append(say_of("screen_timeline", "COUNTS", status, n=many))
    return sentences or [say("screen_timeline.all_committed")]


def strip(timeline: Timeline, found: Bins, column: Column) -> tuple[str, str] | None:
    """What the strip of all batches shows, and its peak; None when no time is known."""
    known = found.maximum[np.isfinite(found.maximum)]
    if not len(known):
        return None
    total, size = len(timeline), found.size
    shown: str = (
        say("screen_timeline.strip_duration", total=total, size=size)
        if column == "duration_ms"
        else say("screen_timeline.strip_gap", total=total, size=size)
    )
    is_unread = ~timeline.is_read & ~timeline.from_history
    unread = int(np.count_nonzero((getattr(timeline, column) < 0) & is_unread))
    if unread:
        shown = f"{shown} {say('screen_timeline.strip_unread', unread=unread)}"
    longest = int(found.first[int(np.nanargmax(found.maximum))])
    peak = say("screen_timeline.strip_peak", longest=round(float(known.max())), batch=longest)
    return shown, peak


def notes(timeline: Timeline) -> str:
    """Which batches are not there, and which are known from kept surveys only."""
    sentences: list[str] = []
    past = int(np.count_nonzero(timeline.from_history))
    if past:
        sentences.append(say("screen_past.batches", n=past, first=timeline.removed_before))
    elif timeline.removed_before is not None:
        sentences.append(say("screen_timeline.removed", batch=timeline.removed_before))
    absent = [gap for gap in timeline.gaps if not gap.is_legal]
    if absent:
        ids = [str(g.first) if g.size == 1 else f"{g.first} to {g.last}" for g in absent]
        sentences.append(say("screen_timeline.absent", ids=ids))
    elif timeline.gaps:
        sentences.append(say("screen_timeline.async_gaps"))
    return " ".join(sentences)


def window_columns(timeline: Timeline, rows: slice, found: BatchInput | None = None) -> tables.Columns:
    """The window as a table."""
    columns: tables.Columns = {
        "batch": timeline.batch_ids[rows].tolist(),
        "status": [status_words(STATUSES[int(code)]) for code in timeline.status[rows]],
        "planned (UTC)": [words.exact_moment(int(ms)) for ms in timeline.planned_ms[rows]],
        "from": [
            "history" if past else "offset log" if read else "file time"
            for past, read in zip(timeline.from_history[rows], timeline.planned_from_log[rows], strict=True)
        ],
        "committed (UTC)": [words.exact_moment(int(ms)) for ms in timeline.committed_ms[rows]],
        "duration ms": _known(timeline.duration_ms[rows]),
        "to next start ms": _known(timeline.gap_ms[rows]),
    }
    if found is None:
        return columns
    amounts = dict(zip(found.batch_ids.tolist(), found.amounts.tolist(), strict=True))
    rates = dict(zip(found.batch_ids.tolist(), found.per_second.tolist(), strict=True))
    ids = timeline.batch_ids[rows].tolist()
    return {
        **columns,
        found.unit: [None if np.isnan(v := amounts.get(i, np.nan)) else int(v) for i in ids],
        f"{found.unit} per second": [
            None if np.isnan(v := rates.get(i, np.nan)) else round(v, 3) for i in ids
        ],
    }


def progress(found: SourceProgress, kind: str) -> str:
    """What the progress picture shows: how much in all, who moved the most, who did not move."""
    total = found.total[found.total >= 0]
    not_known = len(found.total) - len(total)
    amount = words.amount(int(total.sum()), found.unit) if len(total) else words.NOT_KNOWN
    sentences = [say("screen_timeline.progress", source=kind, amount=amount, n=len(total) or not_known)]
    if len(total) and not_known:
        sentences.append(say("screen_timeline.progress_not_known", n=not_known))
    if len(found.partitions) > 1:
        sums = np.where(found.advance > 0, found.advance, 0).sum(axis=0)
        names = [words.one_line(name, 60) for name in found.partitions]
        top = int(np.argmax(sums))
        if sums.sum() > 0:
            share = float(sums[top] / sums.sum())
            sentences.append(say("screen_timeline.most_moved", partition=names[top], share=share))
        silent = [names[at] for at in np.flatnonzero((sums == 0) & (found.positions[-1] >= 0))]
        if silent:
            sentences.append(say("screen_timeline.silent", partitions=silent))
    return " ".join(sentences)


def progress_columns(found: SourceProgress, most: int | None = None) -> tables.Columns:
    """One row per batch, one column per partition (``most`` of them)."""
    columns: dict[str, list[object]] = {
        "batch": found.batch_ids.tolist(),
        f"{found.unit} in all": _known(found.total),
    }
    for at, name in enumerate(found.partitions[:most]):
        label = words.one_line(name, 60)
        columns[label if label not in columns else f"{label} ({at})"] = _known(found.advance[:, at])
    return columns


def _known(values: np.ndarray) -> list[object]:
    return [int(value) if value >= 0 else None for value in values]
