"""What all charts share: palette, axes for lengths of time, layout, and the way a figure reaches the page
with its words and its table.

One palette reads on white and on near-black, so nothing here depends on the theme. Every text from a
checkpoint passes :func:`core.messages.words.for_chart` before it gets into a figure, because Plotly reads
``<b>`` and ``<a href>`` as markup.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from numpy.typing import NDArray

from core.messages import words

COMMITTED = "#0072B2"
PENDING = "#D55E00"
CHOSEN = "#009E73"
MEDIAN = CHOSEN
SAFE = CHOSEN
STALL = "#CC79A7"
MISSING = "#7a756e"
HEAT = "Cividis"

MOST_ELEMENTS = 1_000
"""Marks drawn as elements of the page; more are drawn by WebGL (the border that Plotly Express keeps too)."""

_STEPS_MS = (
    1,
    10,
    100,
    1_000,
    10_000,
    60_000,
    600_000,
    3_600_000,
    36_000_000,
    86_400_000,
    604_800_000,
    2_592_000_000,
    31_536_000_000,
)
_STEP_WORDS = (
    "1 ms",
    "10 ms",
    "0.1 s",
    "1 s",
    "10 s",
    "1 min",
    "10 min",
    "1 h",
    "10 h",
    "1 d",
    "7 d",
    "30 d",
    "1 y",
)
_NICE_MS = (
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    30_000,
    60_000,
    120_000,
    300_000,
    600_000,
    1_800_000,
)
_NICE_HOURS = (1, 2, 6, 12, 24, 48, 24 * 7, 24 * 14, 24 * 30, 24 * 90, 24 * 365, 24 * 365 * 5)

LOG_RATIO = 30
"""From this ratio of largest to median on, lengths of time get a log axis: on a linear one all but the
largest lie on the floor."""


def wants_log(values_ms: NDArray[Any]) -> bool:
    """Whether these lengths of time (negative or NaN: unknown) are too far apart for a linear axis."""
    known = values_ms[values_ms > 0]
    return bool(len(known) > 2 and known.max() > LOG_RATIO * np.median(known))


def time_length_axis(values_ms: NDArray[Any], log: bool) -> dict[str, Any]:
    """A y axis for lengths of time in milliseconds, with ticks that people say: 10 s, 1 min, 1 h."""
    known = values_ms[np.isfinite(values_ms)]
    known = known[known > 0] if log else known
    if not len(known):
        return {"rangemode": "tozero", "tickvals": [0], "ticktext": ["0"]}
    low, high = float(known.min()), float(known.max())
    if log:
        return {
            "type": "log",
            "tickvals": list(_STEPS_MS),
            "ticktext": list(_STEP_WORDS),
            "range": [float(np.log10(max(low, 1)) - 0.45), float(np.log10(max(high, 1)) + 0.25)],
        }
    low = min(low, 0.0)
    span = max(high - low, 1.0)
    step = next((s for s in (*_NICE_MS, *(h * 3_600_000 for h in _NICE_HOURS)) if span / s <= 5), span / 4)
    ticks = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    return {
        "tickvals": ticks.tolist(),
        "ticktext": ["0" if tick == 0 else words.duration(float(tick)) for tick in ticks],
        "range": [low - 0.08 * span, high + 0.12 * span],
    }


def batch_axis(first: int, last: int) -> dict[str, Any]:
    """An x axis of batch ids: whole numbers, never "19.994k"."""
    margin = max(0.6, (last - first) * 0.015)
    axis: dict[str, Any] = {"tickformat": "d", "range": [first - margin, last + margin], "type": "linear"}
    if last - first < 12:
        axis["dtick"] = 1
    return axis


def time_axis() -> dict[str, Any]:
    """An x axis of epoch milliseconds, shown in UTC."""
    return {"type": "date", "hoverformat": "%Y-%m-%d %H:%M:%S"}


def ints(values: Any) -> NDArray[Any]:
    """Whole numbers in the smallest type that Plotly sends as binary; all keep their value."""
    array = np.asarray(values, dtype=np.int64)
    if not len(array) or (array.min() >= -(2**31) and array.max() < 2**31):
        return array.astype(np.int32)
    return array.astype(np.float64)


def marks(points: int) -> Any:
    """The class of a trace with so many marks: elements of the page while they are few, WebGL above. WebGL is
    slow where there is no graphics card (a remote desktop, a virtual machine), and not everywhere to be had.
    """
    return go.Scatter if points <= MOST_ELEMENTS else go.Scattergl


def layout(figure: go.Figure, height: int, legend: bool = True) -> go.Figure:
    """The layout of every chart: small margins, legend above, dragging pans."""
    figure.update_layout(
        height=height,
        margin={"l": 10, "r": 10, "t": 30 if legend else 12, "b": 10},
        showlegend=legend,
        legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "xanchor": "left"},
        dragmode="pan",
        hovermode="closest",
        hoverlabel={"align": "left"},
    )
    figure.update_xaxes(automargin=True, zeroline=False)
    figure.update_yaxes(automargin=True, zeroline=False)
    return figure


def show(
    figure: go.Figure,
    key: str,
    alt: str,
    on_select: Callable[[], None] | None = None,
    is_zoomed: bool = False,
) -> None:
    """Puts a figure on the page. ``alt`` says what it shows, with its conclusion; ``on_select`` is called
    when a mark is clicked. ``is_zoomed``: there are so many marks that people move and zoom; all others have
    no tools of Plotly and let a finger scroll the page."""
    if not is_zoomed:
        figure.update_layout(dragmode=False)
    config: dict[str, object] = {
        "displaylogo": False,
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "toImage"],
        "displayModeBar": "hover" if is_zoomed else False,
    }
    st.plotly_chart(
        figure,
        key=key,
        alt=words.one_line(alt, 400),
        config=config,
        on_select=on_select or "ignore",
        selection_mode="points",
    )


def clicked_value(key: str, field: str = "x") -> Any:
    """What the clicked mark of the chart ``key`` carries in its first ``customdata``, else its ``field``;
    None when nothing is clicked."""
    state = st.session_state.get(key)
    points = state.selection.points if state is not None else []
    return point_value(points[0], field) if points else None


def point_value(point: dict[str, Any], field: str = "x") -> Any:
    """The value of one clicked point: the first of its ``customdata``, else ``field``."""
    data = point.get("customdata")
    if isinstance(data, list | tuple) and data:
        return data[0]
    if isinstance(data, dict) and data:
        return next(iter(data.values()))
    return point.get(field) if data is None else data
