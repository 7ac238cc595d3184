"""The conclusions of the watermark's history in sentences, and its table."""

from __future__ import annotations

import numpy as np

from core.analysis.watermark import Stall, WatermarkHistory, held_back_by
from core.checkpoint import Checkpoint
from core.messages import say, words
from ui import cached_answers, tables


def lag(history: WatermarkHistory) -> tuple[str, str, str]:
    """Label, figure and note: the median of the lags that are known, one that a batch had. After a jump into
    the future a median would mix two clocks, so it is that of the newest batch."""
    known = history.lag_ms[~np.isnan(history.lag_ms)]
    note = say("screen_state.lag_note")
    if not len(known):
        return "Median lag", words.NOT_KNOWN, note
    if history.ahead_ms is not None and known[-1] < 0:
        return "Newest lag", say("screen_state.lag_ahead", ms=-int(known[-1])), note
    return "Median lag", words.duration(float(np.percentile(known, 50, method="lower"))), note


def no_watermark(ck: Checkpoint, history: WatermarkHistory) -> tuple[str, str]:
    """What it means that no batch that was read has a watermark."""
    state = say("screen_state.never_evicted" if ck.has_state else "screen_state.no_state_either")
    return say("screen_state.no_watermark", n=len(history)), f"{say('screen_state.no_lag')} {state}"


def headline(ck: Checkpoint, history: WatermarkHistory) -> str:
    """The conclusion; when the watermark is in the future, what that means; when it is stuck now, since when,
    and which source brings nothing where the logs show one."""
    if history.ahead_ms is not None:
        batch = int(history.batch_ids[-1])
        return say("screen_state.ahead", batch=batch, ahead=history.ahead_ms)
    stuck = next((found for found in history.stalls if found.reaches_end), None)
    if stuck is None:
        return history.headline
    reason = held_back_by(ck, history, stuck)
    if reason.key == "watermark.held_back_by_source":
        return say("screen_state.stuck_by_source", first=stuck.first, sources=reason.values["sources"])
    return say("screen_state.stuck", first=stuck.first, n=stuck.batches)


def stall(found: Stall) -> str:
    """``Stall of 803 batches (17 to 819, 3 h), 12 of them with data. The watermark stayed at ...``."""
    first, last, data = found.first, found.last, found.data_batches
    sentences: list[str] = [
        say("screen_state.stall", n=found.batches, first=first, last=last, data=data)
        if found.length_ms is None
        else say(
            "screen_state.stall_length",
            n=found.batches,
            first=first,
            last=last,
            data=data,
            length=found.length_ms,
        ),
        say("screen_state.stall_value", ms=found.watermark_ms)
        if found.watermark_ms > 0
        else say("screen_state.stall_no_value"),
    ]
    if found.reaches_end:
        sentences.append(say("screen_state.stall_lasts"))
    return " ".join(sentences)


def why(ck: Checkpoint, history: WatermarkHistory, found: Stall) -> str:
    """What may hold it back. Values of single watermarks are stored nowhere, so this is inferred."""
    reason = words.one_line(held_back_by(ck, history, found), 400)
    return say("screen_state.why", certainty=cached_answers.CERTAINTY["inferred"], reason=reason)


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
