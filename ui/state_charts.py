"""The figures of the state: partitions sorted by size with the median, and what each kept version wrote."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from core.analysis.balance import Balance, Growth
from core.messages import say, words
from ui import charts

MOST_BARS = 64
"""Up to here each partition is a bar; more are points in order of size, because 1,000 bars cannot be read."""

HEAVY = 3.0
"""Partitions of at least this many times the median are marked as diamonds and labelled."""

MOST_LABELS = 8


def balance(found: Balance, chosen: int | None) -> go.Figure:
    """Partitions sorted by size, the largest first, with the median as a dashed line."""
    sizes = np.array([share.size_bytes for share in found.partitions], dtype=np.float64)
    ids = [share.partition_id for share in found.partitions]
    ranks = np.arange(1, len(ids) + 1)
    heavy = (sizes >= HEAVY * found.median_bytes) & (found.median_bytes > 0)
    hover = [
        f"partition {share.partition_id}: {words.size(share.size_bytes)}, {share.share:.1%}"
        + (", looks empty" if share.looks_empty else "")
        for share in found.partitions
    ]
    figure = go.Figure()
    for name, mine, colour, symbol in (
        ("partition", ~heavy, charts.COMMITTED, "circle"),
        (say("screen_state.heavy", times=HEAVY), heavy, charts.PENDING, "diamond"),
    ):
        if not mine.any():
            continue
        common = {
            "x": charts.ints(ranks[mine]),
            "y": charts.ints(sizes[mine]),
            "name": name,
            "customdata": charts.ints(np.array(ids)[mine]),
            "text": [text for text, flag in zip(hover, mine, strict=True) if flag],
            "hovertemplate": "%{text}<extra></extra>",
            "unselected": {"marker": {"opacity": 1}},
        }
        if len(ids) <= MOST_BARS:
            figure.add_trace(
                go.Bar(**common, marker={"color": colour, "line": {"width": 0}}, textposition="none")
            )
        else:
            figure.add_trace(
                go.Scatter(
                    **common,
                    mode="markers",
                    marker={"color": colour, "symbol": symbol, "size": 11 if symbol == "diamond" else 6},
                )
            )
    for at in np.flatnonzero(heavy)[:MOST_LABELS]:
        figure.add_annotation(
            x=int(ranks[at]),
            y=float(sizes[at]),
            text=f"{ids[at]}",
            showarrow=False,
            yshift=11 if len(ids) <= MOST_BARS else 0,
            xshift=0 if len(ids) <= MOST_BARS else 16,
            font={"color": charts.PENDING, "size": 12},
        )
    figure.add_hline(
        y=found.median_bytes,
        line={"dash": "dash", "color": charts.MEDIAN, "width": 2},
        annotation={
            "text": f"median {words.size(round(found.median_bytes))}",
            "font": {"color": charts.MEDIAN, "size": 12},
        },
        annotation_position="top right",
    )
    if chosen in ids:
        figure.add_vline(
            x=ids.index(chosen) + 1, line={"color": charts.CHOSEN, "width": 2, "dash": "dot"}, layer="below"
        )
    bars = len(ids) <= MOST_BARS
    figure.update_xaxes(
        title_text="partition, the largest first" if bars else "rank, the largest first",
        tickvals=ranks.tolist() if bars else None,
        ticktext=[str(i) for i in ids] if bars else None,
        range=[0.3, len(ids) + 0.7] if bars else [1 - 0.02 * len(ids), 1.02 * len(ids)],
        tickangle=0,
    )
    if bars and len(ids) > 32:
        step = -(-len(ids) // 24)
        figure.update_xaxes(tickvals=ranks[::step].tolist(), ticktext=[str(i) for i in ids[::step]])
    figure.update_yaxes(**byte_axis(float(sizes.max()) if len(sizes) else 0.0), title_text="bytes")
    return charts.layout(figure, 330, legend=bool(heavy.any()))


def growth(found: Growth) -> go.Figure:
    """What each kept version wrote: changes and full copies, stacked."""
    figure = go.Figure()
    versions = charts.ints(found.versions)
    for name, values, colour, pattern in (
        ("changes (delta, changelog)", found.change_bytes, charts.COMMITTED, ""),
        ("full (snapshot, zip)", found.full_bytes, charts.STALL, "/"),
    ):
        if values.any():
            figure.add_trace(
                go.Bar(
                    x=versions,
                    y=charts.ints(values),
                    name=name,
                    marker={"color": colour, "pattern": {"shape": pattern}, "line": {"width": 0}},
                    text=[
                        f"version {v}: {words.size(int(b))}"
                        for v, b in zip(found.versions, values, strict=True)
                    ],
                    textposition="none",
                    hovertemplate="%{text}<extra>" + name.split(" ")[0] + "</extra>",
                )
            )
    top = float((found.change_bytes + found.full_bytes).max()) if len(versions) else 0.0
    figure.update_layout(barmode="stack")
    if len(versions):
        figure.update_xaxes(
            **charts.batch_axis(int(versions[0]), int(versions[-1])),
            title_text="state version (batch ID + 1)",
        )
    figure.update_yaxes(**byte_axis(top), title_text="bytes written")
    return charts.layout(figure, 260)


def byte_axis(top: float) -> dict[str, object]:
    """A y axis in binary units."""
    if top <= 0:
        return {"rangemode": "tozero", "tickvals": [0], "ticktext": ["0"]}
    power = int(min(5, max(0, np.floor(np.log(top) / np.log(1024)))))
    unit = 1024**power
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if top / unit / s <= 5) * unit
    if top < 5 * unit and power:  # 1.5 MiB: ticks every 0.5 MiB
        step = unit / 2 if top / unit > 1 else step
    ticks = np.arange(0, top * 1.01 + step, step)
    return {
        "tickvals": ticks.tolist(),
        "ticktext": [_tick(tick) for tick in ticks],
        "range": [0, max(top * 1.12, ticks[-2] if len(ticks) > 1 else top)],
    }


def _tick(value: float) -> str:
    text = words.size(round(value))
    return "0" if value == 0 else text.replace(".0 ", " ")
