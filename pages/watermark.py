"""Watermark: the value in force per batch, its lag, where it stood still and why that may be."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.analysis.watermark import FutureJump, Stall, WatermarkHistory, watermark_history
from core.checkpoint import Checkpoint
from core.messages import words
from ui import cached_answers, cards, charts, selection, shell, tables, watermark_charts


def main() -> None:
    opened, ck = shell.checkpoint()
    if not ck.offset_ids:
        cards.message("plain", "No batch is planned yet, so there is no watermark.")
        return
    newest = watermark_history(ck, ck.loaded_ids)
    if not newest.has_watermark and not selection.asks_for_batches():
        no_watermark(ck, newest)
        return
    lead = st.container()
    timeline = cached_answers.timeline(opened, ck)
    view = selection.controls(timeline, with_axis=False)
    history = watermark_history(ck, selection.read(ck, timeline, view))
    if not history.has_watermark:
        no_watermark(ck, history)
        return
    with lead:
        cards.text(history.headline, "lead")
        figures(history)
    charts.show(
        watermark_charts.figure(history, view.chosen),
        "watermark",
        history.headline,
        selection.watermark_clicked,
    )
    told(ck, history)
    stalls(ck, history)
    table(history)


def no_watermark(ck: Checkpoint, history: WatermarkHistory) -> None:
    """What it means that no batch has a watermark."""
    read = (
        words.counted(len(history), "batch") + " that were read"
        if len(history) > 1
        else "the batch that was read"
    )
    cards.message(
        "plain",
        f"There is no watermark in {read}: the query has none, or no row with an event time has come through"
        " it yet.",
        "Lag and stalls do not apply."
        + (
            " Its state is never evicted by event time as long as that is so."
            if ck.has_state
            else " It keeps no state either."
        ),
    )


def figures(history: WatermarkHistory) -> None:
    """Now, at the next start, typical lag, policy."""
    lag = history.lag_ms[~np.isnan(history.lag_ms)]
    with st.grid(4, min_column_width=165):
        last = int(history.in_force_ms[-1])
        cards.figure(
            "In force",
            words.clock(last) if last > 0 else "none yet",
            words.day(last) if last > 0 else "",
            "done",
        )
        after = history.restart_ms
        cards.figure(
            "At the next start",
            "none yet" if after is None else words.clock(after),
            "" if after is None else words.day(after),
        )
        cards.figure(
            "Median lag",
            words.duration(float(np.median(lag))) if len(lag) else words.NOT_KNOWN,
            "batch start minus watermark",
        )
        policy = history.policy or "min"
        cards.figure(
            "Policy",
            policy,
            "pinned in the offset log" if history.policy else "not in the log, Spark takes min",
        )


def told(ck: Checkpoint, history: WatermarkHistory) -> None:
    """The rule in words, and what stands out."""
    cards.text(history.rule)
    if history.jump is not None:
        jump(history.jump)
    for batch_id in history.went_back[:10]:
        cards.message(
            "doubt",
            f"The watermark of batch {batch_id} is smaller than that of the batch before; the files were"
            " changed.",
            f"certain · offsets/{batch_id}",
        )
    if ck.has_state and history.restart_ms:
        cards.text(
            f"State that ends after {words.moment(history.restart_ms)} cannot be evicted yet.", "small"
        )
    if len(history) < history.total_batches:
        cards.text(
            f"Shown: {len(history):,} of {history.total_batches:,} batches; stalls are told for these only.",
            "small",
        )


def jump(found: FutureJump) -> None:
    """A watermark ahead of the clock."""
    ahead = words.duration(found.ahead_ms)
    cards.message(
        "doubt",
        f"After batch {found.batch_id} the watermark was {ahead} ahead of the clock of that batch: rows"
        " carried event times in the future, it seems. It is stored in the logs and never goes back, so rows"
        " with right times are dropped as late until the clock catches up.",
        f"inferred · {found.evidence}",
    )


def stalls(ck: Checkpoint, history: WatermarkHistory) -> None:
    """Each stall in a sentence."""
    for stall in sorted(history.stalls, key=lambda item: -item.data_batches)[:20]:
        cards.message("doubt", stall_words(stall), why(ck, history, stall))


def stall_words(stall: Stall) -> str:
    """``Stall of 803 batches (17 to 819, 3 h): the watermark stayed at ...``."""
    length = f", {words.duration(stall.length_ms)}" if stall.length_ms is not None else ""
    at = f"stayed at {words.moment(stall.watermark_ms)}" if stall.watermark_ms > 0 else "had no value yet"
    end = " It still does." if stall.reaches_end else ""
    ran = f"{stall.data_batches} of them had data"
    return (
        f"Stall of {words.counted(stall.batches, 'batch')} ({stall.first} to {stall.last}{length}): the"
        f" watermark {at}, {ran}.{end}"
    )


def why(ck: Checkpoint, history: WatermarkHistory, stall: Stall) -> str:
    """What may hold it back. Values of single watermarks are stored nowhere, so this is inferred."""
    if stall.idle_sources and history.source_count > 1 and history.policy != "max":
        idle = ", ".join(
            f"{source.key} ({source.kind.label})" for source in ck.sources if source.key in stall.idle_sources
        )
        return (
            f"inferred · Source {words.one_line(idle, 200)} brought nothing new in these batches; with policy"
            " min it holds back the others."
        )
    if history.source_count > 1:
        return (
            "inferred · Every source brought data; on one input the newest event time did not grow (the logs"
            " do not tell on which)."
        )
    return (
        "inferred · Data came, and its newest event time did not grow: old rows, or event times that stand"
        " still."
    )


def table(history: WatermarkHistory) -> None:
    """The same in numbers."""
    tables.behind(lambda: as_columns(history), "The watermark per batch", "watermark")


def as_columns(history: WatermarkHistory) -> tables.Columns:
    """One row per batch."""
    return {
        "batch": history.batch_ids.tolist(),
        "started (UTC)": [words.exact_moment(int(ms)) for ms in history.batch_time_ms],
        "watermark in force (UTC)": [_watermark(int(ms)) for ms in history.in_force_ms],
        "next watermark (UTC)": [_watermark(int(ms)) for ms in history.next_ms],
        "lag ms": [None if np.isnan(value) else int(value) for value in history.lag_ms],
        "had data": ["yes" if flag else "no" for flag in history.has_data],
    }


def _watermark(value: int) -> str:
    return "none yet" if value == 0 else words.exact_moment(value)


main()
