"""What a history of surveys adds to the open checkpoint: batches that Spark has purged, and how state and
watermark lag developed from survey to survey."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots

from core.analysis.past_batches import with_past
from core.analysis.timeline import Timeline
from core.checkpoint import Checkpoint
from core.messages import say, words
from core.settings import get_settings
from core.survey.kept import KeptHistory, KeptSurvey, kept_histories
from ui import cached_answers, cards, charts, tables
from ui.open_checkpoints import MOST_OPEN, Opened

SECONDS = 300
"""The history is at most so old: it grows with each survey, while the page is open too."""

NONE = KeptHistory()


def of(ck: Checkpoint) -> KeptHistory:
    """What the history knows of this checkpoint and its query; nothing of an evidence file, which shows one
    moment."""
    if ck.door.evidence is not None or not get_settings().history:
        return NONE
    return _of(ck.door.location.url, ck.query_id)


@st.cache_resource(max_entries=MOST_OPEN, ttl=SECONDS, show_spinner=False)
def _of(url: str, query_id: str | None) -> KeptHistory:
    return kept_histories(get_settings(), {url: query_id})[url]


def timeline(opened: Opened, ck: Checkpoint) -> Timeline:
    """The timeline of the checkpoint with the older batches that the history knows."""
    found, past = cached_answers.timeline(opened, ck), of(ck)
    return with_past(found, past.batches) if len(past.batches) else found


def panel(ck: Checkpoint) -> None:
    """How state and watermark lag developed; nothing without a history."""
    past = of(ck)
    for sentence in past.trouble:
        cards.text(sentence, "small")
    known = [one for one in past.surveys if one.state_bytes or one.watermark_lag_ms is not None]
    if len(known) < 2:
        return
    text = _words(known)
    cards.text(say("screen_past.title"), "section")
    cards.text(text, "small")
    charts.show(figure(known), "past", text)
    tables.behind(lambda: _columns(past.surveys), text, "history")


def _words(surveys: list[KeptSurvey]) -> str:
    sentences = [
        say("screen_past.surveys", n=len(surveys), since_ms=surveys[0].surveyed_at_ms),
    ]
    sizes = [one.state_bytes for one in surveys if one.state_bytes]
    if len(sizes) > 1:
        sentences.append(say("screen_past.state", first=sizes[0], last=sizes[-1], most=max(sizes)))
    lags = [one.watermark_lag_ms for one in surveys if one.watermark_lag_ms is not None]
    if len(lags) > 1:
        sentences.append(say("screen_past.lag", first=lags[0], last=lags[-1], most=max(lags)))
    return " ".join(sentences)


def figure(surveys: list[KeptSurvey]) -> go.Figure:
    """State size and watermark lag by the moment of the survey, each in a panel where it is known."""
    moments = np.array([one.surveyed_at_ms for one in surveys], dtype=np.float64)
    sizes = np.array([one.state_bytes or np.nan for one in surveys], dtype=np.float64)
    lags = np.array(
        [np.nan if one.watermark_lag_ms is None else one.watermark_lag_ms for one in surveys],
        dtype=np.float64,
    )
    shown = [
        (values, title, is_size)
        for values, title, is_size in (
            (sizes, say("screen_past.axis_state"), True),
            (lags, say("screen_past.axis_lag"), False),
        )
        if np.count_nonzero(~np.isnan(values)) > 1
    ]
    chart = make_subplots(rows=max(1, len(shown)), cols=1, shared_xaxes=True, vertical_spacing=0.08)
    for at, (values, title, is_size) in enumerate(shown, 1):
        write = words.size if is_size else words.duration
        chart.add_trace(
            go.Scatter(
                x=moments,
                y=values,
                text=["" if np.isnan(value) else write(round(float(value))) for value in values],
                mode="lines+markers",
                line={"color": charts.COMMITTED if is_size else charts.PENDING, "width": 2},
                marker={"size": 5},
                hovertemplate="%{x|%Y-%m-%d %H:%M}: %{text}<extra></extra>",
            ),
            row=at,
            col=1,
        )
        axis = _size_axis(values) if is_size else charts.time_length_axis(values, charts.wants_log(values))
        chart.update_yaxes(title_text=title, row=at, col=1, **axis)
    chart.update_xaxes(**charts.time_axis())
    return charts.layout(chart, 130 + 130 * len(shown), legend=False)


def _size_axis(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> dict[str, object]:
    """An axis of bytes, with ticks that are written as everywhere else."""
    top = max(1.0, float(np.nanmax(values)) * 1.08)
    ticks = np.linspace(0, top, 5)
    return {
        "tickvals": ticks.tolist(),
        "ticktext": [words.size(round(tick)) for tick in ticks],
        "range": [0, top],
    }


def _columns(surveys: tuple[KeptSurvey, ...]) -> tables.Columns:
    return {
        "surveyed (UTC)": [words.exact_moment(one.surveyed_at_ms) for one in surveys],
        "next start": [one.status for one in surveys],
        "state bytes": [one.state_bytes for one in surveys],
        "watermark lag ms": [one.watermark_lag_ms for one in surveys],
        "batches per hour": [one.batches_per_hour for one in surveys],
    }
