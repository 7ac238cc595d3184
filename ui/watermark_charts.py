"""The figure of the watermark: the value in force against the batch's clock, stalls shaded, and the lag in a
panel of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from core.analysis.watermark import Stall, WatermarkHistory
from core.messages import words
from ui import charts

MOST_POINTS = 1_500
MOST_SHADES = 100
FAR_LAG = 10
"""A lag of more than so many times the way of the watermark is shown in its own panel only."""


def figure(history: WatermarkHistory, chosen: int | None) -> go.Figure:
    """Watermark and batch clock above, lag below, on one axis of batch ids."""
    rows = thinned(history, MOST_POINTS)
    ids = charts.ints(history.batch_ids[rows])
    in_force, clock = _known(history.in_force_ms[rows], above=0), _known(history.batch_time_ms[rows], above=0)
    lag = history.lag_ms[rows]
    chart = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.6, 0.4])
    if shows_batch_starts(history):
        chart.add_trace(
            go.Scatter(
                x=ids,
                y=clock,
                name="start of the batch",
                mode="lines",
                line={"color": charts.MISSING, "width": 1.5, "dash": "dot"},
                hovertemplate="batch %{x:d} started %{y|%Y-%m-%d %H:%M:%S}<extra></extra>",
            ),
            row=1,
            col=1,
        )
    chart.add_trace(
        go.Scatter(
            x=ids,
            y=in_force,
            name="watermark in force",
            mode="lines+markers",
            line={"color": charts.COMMITTED, "width": 2, "shape": "hv"},
            marker={"size": 6 if len(ids) <= 200 else 3},
            unselected={"marker": {"opacity": 1}},
            hovertemplate="batch %{x:d}: watermark %{y|%Y-%m-%d %H:%M:%S}<extra></extra>",
        ),
        row=1,
        col=1,
    )
    chart.add_trace(
        go.Scatter(
            x=ids,
            y=lag,
            text=[words.duration(None if np.isnan(value) else float(value)) for value in lag],
            name="lag",
            mode="lines+markers",
            line={"color": charts.PENDING, "width": 2},
            marker={"size": 6 if len(ids) <= 200 else 3},
            unselected={"marker": {"opacity": 1}},
            hovertemplate="batch %{x:d}: %{text} behind<extra></extra>",
        ),
        row=2,
        col=1,
    )
    for stall in history.stalls[:MOST_SHADES]:
        chart.add_vrect(
            x0=stall.first - 0.5,
            x1=stall.last + 0.5,
            fillcolor=charts.STALL,
            opacity=0.22,
            line_width=0,
            layer="below",
        )
        chart.add_annotation(
            x=(stall.first + stall.last) / 2,
            y=1,
            yref="y domain",
            text=label(stall),
            font={"color": charts.STALL, "size": 12},
            showarrow=False,
            yanchor="bottom",
        )
    chart.update_yaxes(type="date", title_text="event time, UTC", row=1, col=1)
    log = charts.wants_log(np.where(np.isnan(lag), -1, lag)) and not bool(np.any(lag < 0))
    chart.update_yaxes(title_text="lag", row=2, col=1, **charts.time_length_axis(lag, log))
    chart.update_xaxes(**charts.batch_axis(int(history.batch_ids[0]), int(history.batch_ids[-1])))
    chart.update_xaxes(title_text="batch ID", row=2, col=1)
    if chosen is not None:
        chart.add_vline(x=chosen, line={"color": charts.CHOSEN, "width": 2, "dash": "dot"}, layer="below")
    laid_out = charts.layout(chart, 460)
    laid_out.update_layout(margin_t=52, legend_y=1.05)
    return laid_out


def shows_batch_starts(history: WatermarkHistory) -> bool:
    """Whether the starts of the batches fit on the axis of the watermark. Where the lag is far larger than
    the way the watermark went, an axis for both would make a moving watermark look flat."""
    known = history.in_force_ms[history.in_force_ms > 0]
    lag = np.abs(history.lag_ms[~np.isnan(history.lag_ms)])
    if not len(known) or not len(lag):
        return True
    moved = int(known.max() - known.min())
    return moved == 0 or float(lag.max()) <= FAR_LAG * moved


def label(stall: Stall) -> str:
    """``stall 803 batches``."""
    return f"stall {words.counted(stall.batches, 'batch')}"


def thinned(history: WatermarkHistory, most: int) -> NDArray[np.int64]:
    """The rows to draw: all when they are few, else of each stretch its first row and those with the smallest
    and largest lag."""
    total = len(history)
    if total <= most:
        return np.arange(total)
    keep: set[int] = {total - 1}
    for part in np.array_split(np.arange(total), most // 3):
        lag = history.lag_ms[part]
        keep.add(int(part[0]))
        if not np.all(np.isnan(lag)):
            keep.update((int(part[np.nanargmin(lag)]), int(part[np.nanargmax(lag)])))
    return np.array(sorted(keep), dtype=np.int64)


def _known(values: NDArray[np.int64], above: int) -> NDArray[Any]:
    return np.where(values > above, values.astype(np.float64), np.nan)
