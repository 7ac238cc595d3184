"""The figures of the timeline: all batches in bins, the batches of one window, and how far each partition
moved in each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from core.analysis.pace import BatchInput, rate_in_words
from core.analysis.timeline import STATUSES, Bins, Column, Status, Timeline, status_words
from core.messages import say, words
from ui import charts

By = Literal["id", "time"]

# symbol, colour, size; "committed" is a filled dot, all that is not in order has another shape
_MARKS: dict[Status, tuple[str, str, int]] = {
    "committed": ("circle", charts.COMMITTED, 8),
    "superseded": ("circle-open", charts.COMMITTED, 8),
    "retention_edge": ("triangle-left-open", charts.MISSING, 11),
    "missing_commit": ("x", charts.MISSING, 11),
    "missing_offset": ("x-open", charts.MISSING, 11),
    "unreadable": ("square-x-open", charts.PENDING, 13),
    "pending": ("diamond-open", charts.PENDING, 20),
}

MOST_CELLS = 4_000
"""Cells of the progress picture: 4,000 are about 75 kB with the marks that make them clickable. More batches
are added up in columns."""

MOST_PARTITIONS = 300
MOST_GAPS = 200
LABEL_PX = 22
MOST_WHOLE_TICKS = 4


def overview(timeline: Timeline, found: Bins, column: Column, window: slice) -> go.Figure:
    """All batches in bins: median, 95th percentile and maximum, with the window shaded and what is not
    committed marked."""
    figure = go.Figure()
    middle = charts.ints((found.first + found.last) // 2)
    rows: tuple[tuple[str, NDArray[Any], str, float], ...] = (
        ("maximum", found.maximum, charts.MISSING, 1),
        ("95th percentile", found.p95, charts.STALL, 1.5),
        ("median", found.median, charts.COMMITTED, 2),
    )
    for name, values, colour, width in rows:
        hover = [
            say("screen_timeline.strip_hover", name=name, first=a, last=b, length=words.duration(_known(v)))
            for a, b, v in zip(found.first, found.last, values, strict=True)
        ]
        figure.add_trace(
            go.Scatter(
                x=middle,
                y=values,
                name=name,
                mode="lines+markers",
                marker={"size": 4, "color": colour},
                line={"color": colour, "width": width},
                text=hover if name == "maximum" else None,
                hovertemplate="%{text}<extra></extra>"
                if name == "maximum"
                else "batch %{x:d}<extra>" + name + "</extra>",
            )
        )
    log = charts.wants_log(found.maximum)
    figure.update_yaxes(**charts.time_length_axis(np.concatenate([found.median, found.maximum]), log))
    first, last = int(timeline.batch_ids[0]), int(timeline.batch_ids[-1])
    figure.update_xaxes(**charts.batch_axis(first, last))
    ids = timeline.batch_ids[window]
    figure.add_vrect(
        x0=int(ids[0]) - 0.5, x1=int(ids[-1]) + 0.5, fillcolor=charts.COMMITTED, opacity=0.18, line_width=0
    )
    stretches = unread_stretches(timeline, column)
    for start, end in stretches[:MOST_GAPS]:
        figure.add_vrect(
            x0=start - 0.5, x1=end + 0.5, fillcolor=charts.MISSING, opacity=0.25, line_width=0, layer="below"
        )
    if stretches:
        longest = max(stretches, key=lambda stretch: stretch[1] - stretch[0])
        figure.add_annotation(
            x=(longest[0] + longest[1]) / 2,
            y=0.5,
            yref="y domain",
            text="not read: switch on “Read every batch”",
            font={"size": 13},
            showarrow=False,
        )
    if timeline.pending_batch is not None:
        figure.add_vline(
            x=timeline.pending_batch,
            line={"color": charts.PENDING, "width": 2, "dash": "dash"},
            annotation={
                "text": "not committed",
                "font": {"color": charts.PENDING, "size": 12},
                "xanchor": "right",
            },
            annotation_position="top",
        )
    return charts.layout(figure, 210)


def window(
    timeline: Timeline, rows: slice, by: By, chosen: int | None, found: BatchInput | None = None
) -> go.Figure:
    """The batches of one window: how long each took (where known), how much it read, and how long after it
    the next one began, on one x axis."""
    has_durations = bool(np.any(timeline.duration_ms[rows] >= 0))
    has_input = found is not None and bool(np.any(found.amounts > 0))
    panels: list[tuple[Column, str]] = [("gap_ms", "start to next start")]
    if has_durations:
        panels.insert(0, ("duration_ms", "duration"))
    heights = [0.6, 0.4] if has_durations else [1.0]
    places = list(range(1, len(panels) + 1))
    if has_input:  # below the first panel, which stays the largest
        heights.insert(1, 0.35)
        places = [1, 3][: len(panels)]
    figure = make_subplots(
        rows=len(heights), cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=heights
    )
    for (column, title), place in zip(panels, places, strict=True):
        _panel(figure, timeline, rows, by, column, title, place)
    if has_input and found is not None:
        _input(figure, timeline, by, found)
    ids = timeline.batch_ids[rows]
    if by == "id":
        figure.update_xaxes(**charts.batch_axis(int(ids[0]), int(ids[-1])))
        removed = timeline.removed_before
        if removed is not None and int(ids[0]) <= removed <= int(ids[-1]):
            # With a history the marks before it say it, and the legend.
            label = "" if timeline.from_history.any() else say("screen_timeline.older_removed")
            figure.add_vline(x=removed - 0.5, line={"color": charts.MISSING, "width": 2, "dash": "dash"})
            _at_top(figure, removed - 0.5, label)
        _gap_marks(figure, timeline, int(ids[0]), int(ids[-1]))
    else:
        figure.update_xaxes(**charts.time_axis())
    marked = timeline.row(chosen) if chosen is not None else None
    if marked is not None and rows.start <= marked < rows.stop:
        x = int(timeline.batch_ids[marked]) if by == "id" else int(timeline.planned_ms[marked])
        if by == "id" or x >= 0:
            figure.add_vline(x=x, line={"color": charts.CHOSEN, "width": 2, "dash": "dot"}, layer="below")
    figure.update_xaxes(
        title_text="batch ID" if by == "id" else say("screen_timeline.axis_time"), row=len(heights), col=1
    )
    height = (400 if has_durations else 300) + (110 if has_input else 0)
    laid_out = charts.layout(figure, height)
    if np.any(
        timeline.status[rows] == STATUSES.index("pending")
    ):  # the words above its mark get a line of their own, below the legend
        laid_out.update_layout(
            height=height + LABEL_PX, margin_t=30 + LABEL_PX, legend_y=1 + (LABEL_PX - 2) / (height - 95)
        )
    return laid_out


def _panel(
    figure: go.Figure, timeline: Timeline, rows: slice, by: By, column: Column, title: str, row: int
) -> None:
    values: NDArray[np.int64] = getattr(timeline, column)[rows]
    status = timeline.status[rows]
    x = timeline.batch_ids[rows] if by == "id" else timeline.planned_ms[rows]
    drawable = x >= 0
    known = values >= 0
    log = charts.wants_log(values)
    axis = charts.time_length_axis(values[known].astype(np.float64), log)
    shown = np.where(known, np.maximum(values, 1) if log else values, 0).astype(np.float64)
    floor = 10 ** (axis["range"][0] + 0.12) if log else 0.0
    typical = float(np.median(shown[known])) if known.any() else floor
    hover = np.array(_hover(timeline, rows), dtype=object)
    past = timeline.from_history[rows]
    _past_marks(figure, timeline, rows, by, shown, known & drawable & past, hover, row)
    for name in STATUSES:
        mine = (status == STATUSES.index(name)) & drawable & ~(past & known)
        for is_known in (True, False):
            some = mine & (known == is_known)
            if not some.any() or (
                row > 1 and not is_known
            ):  # without a number a mark stands in the first panel only
                continue
            symbol, colour, mark_size = _MARKS[name]
            heights = (
                shown[some] if is_known else np.full(int(some.sum()), typical if name == "pending" else floor)
            )
            label = status_words(name) if is_known or name != "committed" else f"committed, {title} not known"
            figure.add_trace(
                charts.marks(int(some.sum()))(
                    x=charts.ints(x[some]) if by == "id" else x[some].astype(np.float64),
                    y=heights.astype(np.float32),
                    customdata=charts.ints(timeline.batch_ids[rows][some]),
                    text=hover[some].tolist() if row == 1 else None,
                    name=label,
                    legendgroup=label,
                    showlegend=row == 1,
                    mode="markers",
                    marker={
                        "symbol": symbol if is_known or name != "committed" else "circle-open",
                        "color": colour,
                        "size": mark_size,
                        "line": {"width": outline(name, is_known)},
                        "opacity": 1,
                    },
                    unselected={"marker": {"opacity": 1}},
                    hovertemplate="%{text}<extra></extra>"
                    if row == 1
                    else "batch %{customdata}: %{y:,.0f} ms<extra></extra>",
                ),
                row=row,
                col=1,
            )
        if name == "pending" and row == 1 and mine.any():
            at = int(np.flatnonzero(mine)[-1])
            figure.add_annotation(
                x=int(x[at]) if by == "id" else float(x[at]),
                y=1,
                xref="x",
                yref="y domain",
                text=f"batch {int(timeline.batch_ids[rows][at])}: not committed ◇",
                font={"color": charts.PENDING, "size": 13},
                showarrow=False,
                xanchor="right",
                xshift=7,  # its last letter, the shape of the mark, stands above the mark
                yanchor="bottom",
            )
    figure.update_yaxes(title_text=title, row=row, col=1, **axis)


def _past_marks(
    figure: go.Figure,
    timeline: Timeline,
    rows: slice,
    by: By,
    shown: NDArray[np.float64],
    some: NDArray[np.bool_],
    hover: NDArray[Any],
    row: int,
) -> None:
    """The batches that only a history of surveys knows, whatever their status."""
    if not some.any():
        return
    x = (timeline.batch_ids if by == "id" else timeline.planned_ms)[rows][some]
    figure.add_trace(
        charts.marks(int(some.sum()))(
            x=charts.ints(x) if by == "id" else x.astype(np.float64),
            y=shown[some].astype(np.float32),
            customdata=charts.ints(timeline.batch_ids[rows][some]),
            text=hover[some].tolist() if row == 1 else None,
            name=say("screen_past.legend"),
            legendgroup="history",
            showlegend=row == 1,
            mode="markers",
            marker={"symbol": "circle-open-dot", "color": charts.MISSING, "size": 8, "line": {"width": 1.5}},
            unselected={"marker": {"opacity": 1}},
            hovertemplate="%{text}<extra></extra>"
            if row == 1
            else "batch %{customdata}: %{y:,.0f} ms<extra></extra>",
        ),
        row=row,
        col=1,
    )


def _input(figure: go.Figure, timeline: Timeline, by: By, found: BatchInput) -> None:
    """How much each batch read, as bars in the second panel; hatched where the batch is not committed."""
    places = np.searchsorted(timeline.batch_ids, found.batch_ids)
    x = found.batch_ids if by == "id" else timeline.planned_ms[places]
    is_pending = timeline.status[places] == STATUSES.index("pending")
    unit = words.for_chart(found.unit)
    known = timeline.gap_ms[places][timeline.gap_ms[places] > 0]
    width = 0.7 if by == "id" else float(np.median(known)) * 0.7 if len(known) else 1_000.0
    for pending in (False, True):
        some = (is_pending == pending) & (x >= 0) & ~np.isnan(found.amounts)
        if not some.any():
            continue
        hover = [
            _read(batch, amount, rate, unit)
            for batch, amount, rate in zip(
                found.batch_ids[some], found.amounts[some], found.per_second[some], strict=True
            )
        ]
        name = say("screen_timeline.input_pending" if pending else "screen_timeline.input_name")
        colour = charts.PENDING if pending else charts.COMMITTED
        hatched = {"shape": "/", "fgcolor": colour, "bgcolor": "rgba(0,0,0,0)", "solidity": 0.4}
        figure.add_trace(
            go.Bar(
                x=charts.ints(x[some]) if by == "id" else x[some].astype(np.float64),
                y=found.amounts[some].astype(np.float32),
                width=width,
                customdata=charts.ints(found.batch_ids[some]),
                text=hover,
                textposition="none",
                name=name,
                showlegend=False,
                marker={
                    "color": colour,
                    "opacity": 0.85,
                    "line": {"width": 1.5 if pending else 0, "color": colour},
                    **({"pattern": hatched} if pending else {}),
                },
                unselected={"marker": {"opacity": 0.85}},
                hovertemplate="%{text}<extra></extra>",
            ),
            row=2,
            col=1,
        )
    is_small = bool(np.nanmax(found.amounts) <= MOST_WHOLE_TICKS)  # no tick at half a file
    ticks = {"dtick": 1} if is_small else {"nticks": 4}
    figure.update_yaxes(title_text=unit, rangemode="tozero", **ticks, row=2, col=1)


def _read(batch: int, amount: float, rate: float, unit: str) -> str:
    text = f"batch {int(batch)}: {words.amount(int(amount), unit)}"
    return text if np.isnan(rate) else f"{text}, {rate_in_words(float(rate), unit)}"


def outline(status: Status, is_known: bool) -> float:
    """The width of the line around a mark. An open symbol is nothing but its line; a value that is not known
    turns the dot of a committed batch into an open one."""
    if status == "pending":
        return 3
    return 1.5 if _MARKS[status][0].endswith("-open") or not is_known else 0


def unread_stretches(timeline: Timeline, column: Column) -> list[tuple[int, int]]:
    """First and last id of each stretch of batches that were not read and of which ``column`` is not known;
    the newest batch has no next start and is no stretch of its own."""
    unknown = (getattr(timeline, column) < 0) & ~timeline.is_read & ~timeline.from_history
    edges = np.flatnonzero(np.diff(np.concatenate([[False], unknown, [False]]).astype(np.int8)))
    ids = timeline.batch_ids
    return [(int(ids[a]), int(ids[b - 1])) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _hover(timeline: Timeline, rows: slice) -> list[str]:
    lines = []
    for at in range(rows.start, rows.stop):
        status: str = status_words(STATUSES[int(timeline.status[at])])
        if timeline.from_history[at]:
            status = say("screen_past.mark", status=status)
        parts = [f"batch {int(timeline.batch_ids[at])}: {status}"]
        if timeline.planned_ms[at] >= 0:
            parts.append(words.exact_moment(int(timeline.planned_ms[at])))
        if timeline.duration_ms[at] >= 0:
            parts.append(f"took {words.duration(int(timeline.duration_ms[at]))}")
        if timeline.gap_ms[at] >= 0:
            parts.append(f"next {words.duration(int(timeline.gap_ms[at]))} later")
        lines.append(", ".join(parts))
    return lines


def _gap_marks(figure: go.Figure, timeline: Timeline, first: int, last: int) -> None:
    """Ids without any file, where that is not how this query works."""
    for gap in [g for g in timeline.gaps if not g.is_legal and g.last >= first and g.first <= last][
        :MOST_GAPS
    ]:
        label = f"{gap.first} absent" if gap.size == 1 else f"{gap.first} to {gap.last} absent"
        figure.add_vrect(
            x0=gap.first - 0.4,
            x1=gap.last + 0.4,
            fillcolor=charts.MISSING,
            opacity=0.25,
            line_width=0,
            annotation={"text": "✕ " + label, "font": {"size": 12}, "yanchor": "top"},
            annotation_position="top left",
        )


def _at_top(figure: go.Figure, x: float, label: str) -> None:
    """A label in the first panel, at the right of a line."""
    figure.add_annotation(
        x=x,
        y=1,
        xref="x",
        yref="y domain",
        text=label,
        font={"color": charts.MISSING, "size": 12},
        showarrow=False,
        xanchor="left",
        xshift=4,
        yanchor="top",
    )


def progress(
    batch_ids: NDArray[Any], partitions: Sequence[str], advance: NDArray[Any], unit: str, chosen: int | None
) -> go.Figure:
    """How far each partition moved in each batch. ``advance``: batch x partition, -1 = not known. One
    partition gets bars, more a heatmap.

    Adds up neighbouring batches where there are more than ``MOST_CELLS`` cells.
    """
    if len(partitions) == 1:
        return _bars(batch_ids, advance[:, 0], unit, chosen)
    if len(partitions) > MOST_PARTITIONS:
        largest = np.sort(
            np.argsort(-np.where(advance > 0, advance, 0).sum(axis=0), kind="stable")[:MOST_PARTITIONS]
        )
        advance, partitions = advance[:, largest], [partitions[i] for i in largest]
    ids, cells, per_column = added_up(batch_ids, advance)
    values = np.where(cells >= 0, cells, np.nan).astype(np.float32)
    positive = values[values > 0]
    log = bool(len(positive) and positive.max() > 50 * np.median(positive))
    shades = np.log10(values + 1) if log else values
    names = [words.for_chart(name, 40) for name in partitions]
    bar: dict[str, Any] = {"title": {"text": unit}, "thickness": 12, "outlinewidth": 0}
    if log:
        top = int(np.ceil(np.nanmax(shades)))
        bar |= {
            "tickvals": list(range(top + 1)),
            "ticktext": ["0", *(words.number(10**i) for i in range(1, top + 1))],
        }
    figure = go.Figure()
    figure.add_trace(
        go.Heatmap(
            x=charts.ints(ids),
            y=charts.ints(range(len(names))),
            z=shades.T.astype(np.float32),
            colorscale=charts.HEAT,
            zmin=0,
            colorbar=bar,
            hoverinfo="skip",
        )
    )
    # a click on a heatmap never reaches the program; these marks do, and they carry the number for the hover
    # text
    grid_x, grid_y = np.meshgrid(ids, np.arange(len(names)))
    figure.add_trace(
        charts.marks(cells.size)(
            x=charts.ints(grid_x.ravel()),
            y=charts.ints(grid_y.ravel()),
            customdata=charts.ints(cells.T.ravel()),
            mode="markers",
            marker={"size": 14, "opacity": 0},
            showlegend=False,
            hovertemplate="%{y}, batch %{x:d}: %{customdata:,} " + words.for_chart(unit) + "<extra></extra>",
        )
    )
    shown = range(0, len(names), max(1, len(names) // 24))
    figure.update_yaxes(
        tickvals=list(shown), ticktext=[names[i] for i in shown], autorange="reversed", showgrid=False
    )
    figure.update_xaxes(
        **charts.batch_axis(int(ids[0]), int(ids[-1])), title_text=x_title(per_column), showgrid=False
    )
    if chosen is not None and ids[0] <= chosen <= ids[-1]:
        figure.add_vline(x=chosen, line={"color": charts.CHOSEN, "width": 2, "dash": "dot"})
    return charts.layout(figure, min(620, 130 + 22 * len(names)), legend=False)


def x_title(per_column: int) -> str:
    """What one column of the progress picture stands for."""
    return "batch ID" if per_column == 1 else say("screen_timeline.axis_columns", n=per_column)


def added_up(batch_ids: NDArray[Any], advance: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], int]:
    """The batches in columns that keep the picture below ``MOST_CELLS`` cells: first id and sum of each (-1
    where nothing is known)."""
    columns = max(1, MOST_CELLS // max(1, advance.shape[1]))
    per_column = max(1, -(-len(batch_ids) // columns))
    if per_column == 1:
        return batch_ids, advance, 1
    starts = np.arange(0, len(batch_ids), per_column)
    sums = np.add.reduceat(np.where(advance >= 0, advance, 0), starts, axis=0)
    known = np.add.reduceat((advance >= 0).astype(np.int64), starts, axis=0)
    return batch_ids[starts], np.where(known > 0, sums, -1), per_column


def _bars(batch_ids: NDArray[Any], advance: NDArray[Any], unit: str, chosen: int | None) -> go.Figure:
    known = advance >= 0
    figure = go.Figure(
        go.Bar(
            x=charts.ints(batch_ids[known]),
            y=charts.ints(advance[known]),
            marker={"color": charts.COMMITTED, "line": {"width": 0}},
            unselected={"marker": {"opacity": 1}},
            hovertemplate="batch %{x:d}: %{y:,} " + words.for_chart(unit) + "<extra></extra>",
            showlegend=False,
        )
    )
    figure.update_xaxes(**charts.batch_axis(int(batch_ids[0]), int(batch_ids[-1])), title_text="batch ID")
    top = int(advance[known].max()) if known.any() else 1
    figure.update_yaxes(
        title_text=words.for_chart(unit), rangemode="tozero", tickformat=",d", dtick=1 if top <= 4 else None
    )
    if chosen is not None and batch_ids[0] <= chosen <= batch_ids[-1]:
        figure.add_vline(x=chosen, line={"color": charts.CHOSEN, "width": 2, "dash": "dot"})
    return charts.layout(figure, 210, legend=False)


def _known(value: float) -> float | None:
    return None if not np.isfinite(value) else float(value)
