"""The figures of both ends: positions between the oldest and newest offset, all partitions on one map,
batches in the sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.connectors.model import DeltaSourceState, KafkaPartitionState, Safety, SinkBatch, SinkState
from core.messages import say, words
from ui import charts

BLOCKED = "#CC3311"
UNREAD = "#56B4E9"
ROW_PX = 46
OUTSIDE, LEAST_OUTSIDE = 0.16, 0.04
"""A mark beyond the ends of a bar stands at most and at least so far out, as a share of the bar."""

MOST_NAME = 22

MOST_SQUARES = 4_000
MOST_SINK_ROWS = 1_500

SAFETY: dict[Safety, tuple[str, str, str]] = {
    "lost": ("records lost", "x", BLOCKED),
    "edge": ("next to expire", "triangle-left", charts.PENDING),
    "soon": ("expires soon", "diamond", charts.STALL),
    "until": ("safe for a while", "square", charts.COMMITTED),
    "never_by_time": ("never by time", "circle", charts.SAFE),
    "unknown": ("not known", "circle-open", charts.MISSING),
}
"""Words, shape and colour of each kind of safety, the worst first."""

FATES: dict[str, tuple[str, str, str]] = {
    "written": ("written by this query", "circle", charts.COMMITTED),
    "missing": ("not in the sink", "diamond-open", charts.PENDING),
    "uncommitted": ("files without a commit", "square-x-open", charts.STALL),
    "foreign": ("by somebody else", "x", charts.MISSING),
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a picture of positions: what is kept from ``oldest`` to ``newest``, and where the query
    stands in it."""

    name: str
    told: str
    oldest: int | None
    position: int | None
    planned: int | None
    newest: int | None
    hover: str


def partition_bar(row: KafkaPartitionState) -> Bar:
    """The bar of one partition."""
    hover = [
        f"{words.for_chart(row.name)}",
        say(
            "screen_connectors.partition_hover",
            earliest=_exact(row.earliest),
            position=_exact(row.position),
            planned=_exact(row.planned),
            latest=_exact(row.latest),
        ),
        words.for_chart(row.safety_words, 200),
    ]
    return Bar(
        row.name,
        short(row),
        row.earliest,
        row.position,
        row.planned,
        row.latest,
        "<br>".join(part for part in hover if part),
    )


def short(row: KafkaPartitionState) -> str:
    """What stands above a bar: what is lost or the lag, and until when the position is safe."""
    if row.state == "deleted":
        return "not on the broker"
    if row.state == "new":
        return "new on the broker"
    if row.state == "beyond_end":
        return "position beyond the end"
    lag = "lag not known" if row.lag is None else f"≤ {max(row.lag, 0):,} behind"
    if row.lost:
        return f"{words.amount(row.lost, 'offsets')} lost"
    if row.safety in ("until", "soon") and row.safe_until_ms is not None:
        return f"{lag}, safe to {words.moment(row.safe_until_ms, seconds=False)[5:]}"
    return lag + {"edge": ", next to expire", "never_by_time": ", never by time"}.get(row.safety, "")


def delta_bar(end: DeltaSourceState) -> Bar:
    """The bar of a Delta source: the versions whose log is kept."""
    behind = "" if end.lag_versions is None else f"{words.counted(end.lag_versions, 'version')} behind"
    hover = say(
        "screen_connectors.versions_hover",
        oldest=_exact(end.oldest),
        position=_exact(end.position),
        newest=_exact(end.newest),
    )
    return Bar("versions", behind, end.oldest, end.position, None, end.newest, hover)


def bars(rows: Sequence[Bar], chosen: int | None, ends_words: tuple[str, str]) -> go.Figure:
    """One bar per row, each as wide as what is kept: read before the mark, not read yet behind it.
    ``chosen``: the row that is chosen."""
    figure = go.Figure()
    spans = [_places(row) for row in rows]
    y = np.arange(len(rows))
    known = np.array([span is not None for span in spans], dtype=bool)
    whole = [span for span in spans if span is not None]
    if not known.all():
        _segment(
            figure,
            y[~known],
            np.zeros((~known).sum()),
            np.ones((~known).sum()),
            charts.MISSING,
            "nothing known",
            "/",
            0.35,
        )
    if whole:
        drawn = [row for row, flag in zip(rows, known, strict=True) if flag]
        position, planned = np.array([s[0] for s in whole]), np.array([s[1] for s in whole])
        inside, ahead = np.clip(position, 0, 1), np.clip(np.maximum(planned, position), 0, 1)
        _segment(
            figure, y[known], np.zeros(len(whole)), inside, charts.MISSING, "read and still kept", "", 0.55
        )
        if (ahead > inside).any():
            _segment(figure, y[known], inside, ahead, charts.PENDING, "planned, not committed", "/", 0.8)
        _segment(figure, y[known], ahead, np.ones(len(whole)), UNREAD, "not read yet", "", 0.9)
        if (position < 0).any():
            lost = position < 0
            _segment(figure, y[known][lost], position[lost], np.zeros(lost.sum()), BLOCKED, "lost", "x", 0.9)
        for name, values, symbol, colour, has in (
            (
                "committed position",
                position,
                "line-ns",
                charts.COMMITTED,
                [row.position is not None for row in drawn],
            ),
            (
                "planned end",
                planned,
                "diamond-open",
                charts.PENDING,
                [row.planned is not None for row in drawn],
            ),
        ):
            some = np.array(has, dtype=bool)
            if some.any():
                hover = [row.hover for row, flag in zip(drawn, has, strict=True) if flag]
                _marks(figure, values[some], y[known][some], hover, name, symbol, colour)
    labels = []
    for at, row in enumerate(rows):
        mark = "▸ " if at == chosen else ""
        labels.append(_label(at, mark + cut(words.for_chart(row.name, 250)), "left"))
        labels.append(_label(at, words.for_chart(row.told, 60), "right"))
    places = [p for span in whole for p in span[:2]]
    figure.update_layout(
        barmode="overlay", bargap=0.62, annotations=labels
    )  # at once: one by one takes half a second
    low, high = min([0.0, *places]) - 0.02, max([1.0, *places]) + 0.02
    figure.update_xaxes(
        range=[low, high], tickvals=[0, 1], ticktext=list(ends_words), fixedrange=True, showgrid=True
    )
    figure.update_yaxes(
        range=[len(rows) - 0.42, -0.75], showticklabels=False, showgrid=False, fixedrange=True
    )
    return charts.layout(figure, 62 + 20 + ROW_PX * len(rows))


def cut(name: str) -> str:
    """A long name without its middle: the number of the partition stands at its end, and on a phone there is
    room for few letters."""
    return name if len(name) <= MOST_NAME else f"{name[: MOST_NAME // 2 - 1]}…{name[-MOST_NAME // 2 :]}"


def _places(row: Bar) -> tuple[float, float] | None:
    """Committed and planned position as shares of what is kept; outside of 0 to 1 where the position lies
    outside. None: not known.

    Without a position (a partition that is new) all that is kept is not read yet.
    """
    oldest, newest = row.oldest, row.newest
    if oldest is None or newest is None:
        return None
    span, end = newest - oldest, newest

    def place(value: int) -> float:
        if span <= 0:  # nothing is kept: caught up stands at the right end
            return 1.0 if value == end else -OUTSIDE if value < end else 1 + OUTSIDE
        share = 1 - (end - value) / span
        if share < 0:
            return max(-OUTSIDE, min(share, -LEAST_OUTSIDE))
        return share if share <= 1 else min(1 + OUTSIDE, max(share, 1 + LEAST_OUTSIDE))

    position = oldest if row.position is None else row.position
    return place(position), place(position if row.planned is None else row.planned)


def _segment(
    figure: go.Figure,
    y: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    colour: str,
    name: str,
    pattern: str,
    opacity: float,
) -> None:
    figure.add_trace(
        go.Bar(
            orientation="h",
            y=charts.ints(y),
            base=start.astype(np.float32),
            x=(end - start).astype(np.float32),
            name=name,
            marker={
                "color": colour,
                "opacity": opacity,
                "line": {"width": 0},
                "pattern": {"shape": pattern, "size": 5},
            },
            customdata=charts.ints(y),
            unselected={"marker": {"opacity": opacity}},
            hoverinfo="none",
        )
    )


def _marks(
    figure: go.Figure, x: np.ndarray, y: np.ndarray, hover: list[str], name: str, symbol: str, colour: str
) -> None:
    figure.add_trace(
        go.Scatter(
            x=x.astype(np.float32),
            y=charts.ints(y),
            mode="markers",
            name=name,
            customdata=charts.ints(y),
            text=hover,
            marker={
                "symbol": symbol,
                "size": 17 if symbol == "line-ns" else 11,
                "color": colour,
                "line": {"width": 3, "color": colour},
            },
            unselected={"marker": {"opacity": 1}},
            hovertemplate="%{text}<extra></extra>",
        )
    )


def _label(row: int, text: str, side: str) -> dict[str, Any]:
    """A text above the bar of this row, at its left or right end."""
    place = {
        "x": 0 if side == "left" else 1,
        "y": row - 0.22,
        "xref": "paper",
        "xanchor": side,
        "yanchor": "bottom",
    }
    return {**place, "text": text, "showarrow": False, "font": {"size": 12}}


def partition_map(rows: Sequence[KafkaPartitionState], chosen: str | None) -> go.Figure:
    """All partitions as squares in their natural order, by how safe their position is; a click chooses one.

    ``customdata`` of a mark is the place of its row in ``rows``.
    """
    order = sorted(range(len(rows)), key=lambda at: (rows[at].topic, rows[at].partition))
    across = 40 if len(rows) <= 1_200 else 80
    place = {at: divmod(number, across) for number, at in enumerate(order)}
    figure = go.Figure()
    for safety, (label, symbol, colour) in SAFETY.items():
        mine = [at for at in order if rows[at].safety == safety]
        if not mine:
            continue
        figure.add_trace(
            go.Scatter(
                x=charts.ints([place[at][1] for at in mine]),
                y=charts.ints([place[at][0] for at in mine]),
                customdata=charts.ints(mine),
                text=[f"{words.for_chart(rows[at].name, 40)}: {short(rows[at])}" for at in mine],
                mode="markers",
                name=f"{len(mine):,} {label}",
                marker={
                    "symbol": symbol,
                    "size": 8,
                    "color": colour,
                    "line": {"width": 1.5 if "open" in symbol else 0, "color": colour},
                },
                unselected={"marker": {"opacity": 1}},
                hovertemplate="%{text}<extra></extra>",
            )
        )
    lines = -(-len(rows) // across)
    at = next((at for at in order if rows[at].name == chosen), None)
    if at is not None:
        y, x = place[at]
        figure.add_shape(
            type="rect",
            x0=x - 0.5,
            x1=x + 0.5,
            y0=y - 0.5,
            y1=y + 0.5,
            line={"color": charts.CHOSEN, "width": 2},
        )
    figure.update_xaxes(range=[-1, across], visible=False, fixedrange=True)
    figure.update_yaxes(range=[lines - 0.3, -0.7], visible=False, fixedrange=True)
    return charts.layout(figure, 70 + 14 * lines)


def sink(end: SinkState, chosen: int | None) -> go.Figure:
    """A Delta sink: batch ids against table versions, rows of each version below. A file sink: files per
    batch."""
    rows = end.batches[-MOST_SINK_ROWS:]
    return _versions(rows, chosen) if end.knows_queries else _file_batches(rows, chosen)


def _versions(rows: Sequence[SinkBatch], chosen: int | None) -> go.Figure:
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.07, row_heights=[0.6, 0.4])
    x = version_places(rows)
    known = [row.batch_id for row in rows if row.batch_id is not None]
    floor = (min(known) if known else 0) - 1
    for fate, (_, symbol, colour) in FATES.items():
        mine = [at for at, row in enumerate(rows) if row.fate == fate]
        if not mine:
            continue
        ids, label = [rows[at].batch_id for at in mine], fate_words(rows[mine[0]])
        figure.add_trace(
            go.Scatter(
                x=[x[at] for at in mine],
                y=charts.ints([floor if batch is None else batch for batch in ids]),
                customdata=charts.ints([-1 if batch is None else batch for batch in ids]),
                text=[hover_of(rows[at]) for at in mine],
                mode="markers",
                name=label,
                legendgroup=fate,
                marker={
                    "symbol": symbol,
                    "size": 13 if fate == "missing" else 9,
                    "color": colour,
                    "line": {"width": 2, "color": colour},
                },
                unselected={"marker": {"opacity": 1}},
                hovertemplate="%{text}<extra></extra>",
            ),
            row=1,
            col=1,
        )
        figure.add_trace(
            go.Bar(
                x=[x[at] for at in mine],
                y=charts.ints([rows[at].rows or 0 for at in mine]),
                customdata=charts.ints([-1 if batch is None else batch for batch in ids]),
                text=[hover_of(rows[at]) for at in mine],
                textposition="none",
                name=label,
                legendgroup=fate,
                showlegend=False,
                marker={
                    "color": colour,
                    "line": {"width": 0},
                    "pattern": {"shape": "/" if fate == "foreign" else ""},
                },
                unselected={"marker": {"opacity": 1}},
                hovertemplate="%{text}<extra></extra>",
            ),
            row=2,
            col=1,
        )
    if x:
        figure.update_xaxes(**charts.batch_axis(int(min(x)), int(np.ceil(max(x)))))
    if chosen is not None and chosen in known:
        figure.add_hline(
            y=chosen, line={"color": charts.CHOSEN, "width": 2, "dash": "dot"}, row=1, col=1, layer="below"
        )
    tall = max(known, default=0) - floor
    figure.update_yaxes(title_text="batch ID", tickformat="d", dtick=1 if tall < 7 else None, row=1, col=1)
    figure.update_yaxes(title_text="rows", rangemode="tozero", tickformat=",d", row=2, col=1)
    figure.update_xaxes(title_text="version of the table", row=2, col=1)
    figure.update_layout(barmode="overlay")
    return charts.layout(figure, 380)


def version_places(rows: Sequence[SinkBatch]) -> list[float]:
    """Where each row stands on the axis of versions; a batch that wrote no version stands half a step behind
    the one before it."""
    places: list[float] = []
    for row in rows:
        before = places[-1] if places else -1.0
        places.append(float(row.version) if row.version is not None else float(np.floor(before)) + 0.5)
    return places


def _file_batches(rows: Sequence[SinkBatch], chosen: int | None) -> go.Figure:
    figure = go.Figure()
    ids = [row.batch_id for row in rows if row.batch_id is not None]
    beyond = max(ids, default=-1) + 1  # what belongs to no known batch stands behind the last one
    for fate, (_, _, colour) in FATES.items():
        mine = [row for row in rows if row.fate == fate]
        if not mine:
            continue
        label = fate_words(mine[0])
        common = {
            "x": charts.ints([beyond if row.batch_id is None else row.batch_id for row in mine]),
            "customdata": charts.ints([-1 if row.batch_id is None else row.batch_id for row in mine]),
            "text": [hover_of(row) for row in mine],
            "name": label,
            "unselected": {"marker": {"opacity": 1}},
            "hovertemplate": "%{text}<extra></extra>",
        }
        if fate == "missing":
            marker = {"symbol": "diamond-open", "size": 13, "color": colour, "line": {"width": 2}}
            figure.add_trace(
                go.Scatter(
                    **common, y=charts.ints([0] * len(mine)), mode="markers", marker=marker, cliponaxis=False
                )
            )
            continue
        pattern = {"shape": "/" if fate == "uncommitted" else ""}
        figure.add_trace(
            go.Bar(
                **common,
                y=charts.ints([row.files or 0 for row in mine]),
                textposition="none",
                marker={"color": colour, "line": {"width": 0}, "pattern": pattern},
            )
        )
        for row in mine:
            if row.batch_id is None:
                where = {"x": beyond + 0.4, "y": row.files or 0, "xanchor": "right", "yanchor": "bottom"}
                figure.add_annotation(
                    **where, text="of no known batch", showarrow=False, font={"size": 12, "color": colour}
                )
    if ids:
        last = beyond if any(row.batch_id is None for row in rows) else max(ids)
        figure.update_xaxes(**charts.batch_axis(min(ids), last), title_text="batch ID")
    if chosen is not None and chosen in ids:
        figure.add_vline(x=chosen, line={"color": charts.CHOSEN, "width": 2, "dash": "dot"}, layer="below")
    most = max((row.files or 0 for row in rows), default=0)
    figure.update_yaxes(
        title_text="files", range=[0, 1.2 * max(most, 1)], tickformat=",d", dtick=1 if most < 6 else None
    )
    figure.update_layout(barmode="overlay")
    return charts.layout(figure, 250)


def fate_words(row: SinkBatch) -> str:
    """What became of a batch."""
    return "planned, not written" if row.fate == "uncommitted" and not row.files else FATES[row.fate][0]


def hover_of(row: SinkBatch) -> str:
    """What one mark stands for, in words."""
    parts = (
        [f"batch {row.batch_id}"]
        if row.batch_id is not None
        else [words.for_chart(row.operation)]
        if row.operation
        else []
    )
    if row.version is not None:
        parts.append(f"version {row.version}")
    parts.append(fate_words(row))
    if row.rows is not None:
        parts.append(words.amount(row.rows, "rows"))
    if row.files is not None:
        parts.append(words.amount(row.files, "files"))
    if row.timestamp_ms is not None:
        parts.append(words.moment(row.timestamp_ms))
    return ", ".join(parts)


def _exact(value: int | None) -> str:
    return words.NOT_KNOWN if value is None else f"{value:,}"
