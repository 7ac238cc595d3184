"""The charts below the table of the page Checkpoints: bytes, age, cost each month. They show the rows that
pass the filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from core.messages import say, say_of, words
from core.settings import Settings, get_settings
from core.storage.location import title_of
from core.survey import STATUS_ORDER, MonthlyCost, SurveyRow, monthly_cost
from ui import cards, charts, selection, tables
from ui.survey_table import Line

CHARTS = ("bytes", "age", "cost")
MOST_CELLS = 40
"""Checkpoints of the treemap; the others are one cell."""
LEAST_TEXT = 10
LARGE_SHARE, SHORT_NAME = 0.05, 14
"""A cell with less than this share of all bytes has room for so many letters of the name."""
MOST_BARS = 20
MOST_POINTS = 1_000
HOUR_MS, MONTH_MS = 3_600_000, 30 * 86_400_000

PARTS: Mapping[str, str] = {"state": charts.COMMITTED, "logs": charts.PENDING, "sources": charts.CHOSEN}
_LOOKS: Mapping[str, tuple[str, str]] = {
    "fails": (cards.EDGES["blocked"], "triangle-up"),
    "reruns": (charts.PENDING, "diamond"),
    "resumes": (charts.COMMITTED, "circle"),
    "fresh_start": (charts.CHOSEN, "circle-open"),
    "unused": (charts.MISSING, "circle-open"),
    "unknown": (charts.STALL, "x"),
    "unreadable": (charts.MISSING, "x"),
}
"""Colour and shape of a status."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A chart with its words and the table behind it. ``figure`` None: the words say why there is none."""

    text: str
    figure: go.Figure | None = None
    columns: Callable[[], tables.Columns] | None = None


def panel(lines: Sequence[Line]) -> None:
    """The chart that the address asks for, of the rows that were read."""
    read = [(line.name, line.row) for line in lines if line.row is not None and line.row.error is None]
    if not read:
        return
    cards.text(say("survey_charts.title"), "section")
    labels = {name: say_of("survey_charts", "CHARTS", name) for name in CHARTS}
    chosen = selection.pick(say("survey_charts.pick"), "chart", labels, labels[CHARTS[0]]) or CHARTS[0]
    drawn = _CHARTS[chosen](read)
    cards.text(drawn.text, "small")
    if drawn.figure is not None and drawn.columns is not None:
        charts.show(drawn.figure, f"survey-{chosen}", drawn.text)
        tables.behind(drawn.columns, drawn.text, f"checkpoints-{chosen}")


Read = Sequence[tuple[str, SurveyRow]]


def _title(name: str) -> str:
    return words.for_chart(title_of(name), 40)


def _parts(row: SurveyRow) -> dict[str, int]:
    found = {"state": row.state_bytes, "logs": row.log_bytes, "sources": row.source_bytes}
    return {part: found[part] or 0 for part in PARTS}


def _bytes(read: Read) -> _Drawn:
    known = [(name, row) for name, row in read if row.total_bytes]
    known.sort(key=lambda item: -(item[1].total_bytes or 0))
    if not known:
        return _Drawn(say("survey_charts.no_bytes"))
    total = sum(row.total_bytes or 0 for _, row in known)
    largest, row = known[0]
    share = round(100 * (row.total_bytes or 0) / total)
    text = say("survey_charts.bytes", n=len(known), total=total, largest=title_of(largest), share=share)

    def columns() -> tables.Columns:
        return {
            "checkpoint": [title_of(name) for name, _ in known],
            "bytes": [row.total_bytes for _, row in known],
            "state": [row.state_bytes for _, row in known],
            "logs": [row.log_bytes for _, row in known],
            "sources": [row.source_bytes for _, row in known],
            "files": [row.files for _, row in known],
            "location": [name for name, _ in known],
        }

    return _Drawn(text, treemap(known), columns)


def treemap(known: Read) -> go.Figure:
    """A cell for each checkpoint, the largest first, and in it one for each part."""
    ids: list[str] = []
    labels: list[str] = []
    parents: list[str] = []
    values: list[float] = []
    colours: list[str] = []

    names: list[str] = []
    all_bytes = max(1, sum(sum(_parts(row).values()) for _, row in known))

    def add(key: str, name: str, parent: str, value: int, colour: str) -> None:
        ids.append(key)
        names.append(name)
        is_cut = value < LARGE_SHARE * all_bytes and len(name) > SHORT_NAME and not parent
        labels.append(f"{name[: SHORT_NAME - 1]}…" if is_cut else name)
        parents.append(parent)
        values.append(float(value))
        colours.append(colour)

    for at, (name, row) in enumerate(known[:MOST_CELLS]):
        parts = _parts(row)
        add(str(at), _title(name), "", sum(parts.values()), charts.MISSING)
        for part, value in parts.items():
            if value:
                add(f"{at}-{part}", part, str(at), value, PARTS[part])
    if others := known[MOST_CELLS:]:
        value = sum(sum(_parts(row).values()) for _, row in others)
        add("others", say("survey_charts.others", n=len(others)), "", value, charts.MISSING)
    figure = go.Figure(
        go.Treemap(
            ids=ids,
            labels=labels,
            parents=parents,
            values=values,
            text=[words.size(round(value)) for value in values],
            customdata=names,
            branchvalues="total",
            marker={"colors": colours, "line": {"width": 1}},
            textfont={"color": "#ffffff"},
            texttemplate="%{label}<br>%{text}",
            hovertemplate="%{customdata}: %{text}, %{percentParent:.0%}<extra></extra>",
            tiling={"pad": 2},
            pathbar={"visible": True},
        )
    )
    # A text that would have to be smaller than one can read is left to the hover and the table.
    figure.update_layout(uniformtext={"minsize": LEAST_TEXT, "mode": "hide"})
    return charts.layout(figure, 420, legend=False)


def _age(read: Read) -> _Drawn:
    known = [(name, row) for name, row in read if row.age_seconds is not None][:MOST_POINTS]
    if not known:
        return _Drawn(say("survey_charts.no_age"))
    name, oldest = max(known, key=lambda item: item[1].age_seconds or 0)
    text = say(
        "survey_charts.age",
        n=len(known),
        day=sum((row.age_seconds or 0) < 86_400 for _, row in known),
        oldest=title_of(name),
        age=words.age((oldest.age_seconds or 0) * 1000),
    )

    def columns() -> tables.Columns:
        return {
            "checkpoint": [title_of(name) for name, _ in known],
            "next start": [str(row.next_start) for _, row in known],
            "age s": [row.age_seconds for _, row in known],
            "newest (UTC)": [words.exact_moment(row.newest_ms) for _, row in known],
            "location": [name for name, _ in known],
        }

    return _Drawn(text, age_chart(known), columns)


def age_chart(known: Read) -> go.Figure:
    """A point for each checkpoint: how old its newest entry is, in the lane of its status."""
    there = [status for status in STATUS_ORDER if any(row.status == status for _, row in known)]
    ages_ms = np.array([max(1, row.age_seconds or 0) * 1000 for _, row in known], dtype=np.float64)
    figure = go.Figure()
    for lane, status in enumerate(there):
        mine = [at for at, (_, row) in enumerate(known) if row.status == status]
        colour, symbol = _LOOKS[status]
        # Points of one age stand side by side: a fixed step, so that a drawing is always the same.
        heights = [lane + 0.28 * ((3 * at + 3) % 7 - 3) / 3 for at in range(len(mine))]
        figure.add_trace(
            go.Scatter(
                x=ages_ms[mine],
                y=np.array(heights),
                mode="markers",
                marker={"color": colour, "symbol": symbol, "size": 10, "opacity": 0.8},
                name=str(say_of("survey", "STATUS_WORDS", status)),
                text=[f"{_title(known[at][0])}: {words.age(int(ages_ms[at]))}" for at in mine],
                hovertemplate="%{text}<extra></extra>",
            )
        )
    figure.update_yaxes(
        tickvals=list(range(len(there))),
        ticktext=[str(say_of("survey", "STATUS_WORDS", status)) for status in there],
        range=[len(there) - 0.5, -0.5],
    )
    # Never less than from an hour to a month, so that ages of one day are seen as what they are.
    axis = charts.time_length_axis(np.append(ages_ms, (HOUR_MS, MONTH_MS)), log=True)
    figure.update_xaxes(**axis, title_text=str(say("survey_charts.axis_age")), tickangle=0)
    return charts.layout(figure, 90 + 75 * len(there), legend=False)


def _cost(read: Read) -> _Drawn:
    settings = get_settings()
    costs = [(name, monthly_cost(row, settings)) for name, row in read]
    known = [(name, cost) for name, cost in costs if cost is not None]
    known.sort(key=lambda item: -item[1].total)
    if not known:
        return _Drawn(say("survey_charts.no_cost"))
    total = sum(cost.total for _, cost in known)
    text = str(
        say(
            "survey_charts.cost",
            total=_dollars(total),
            n=len(known),
            first=title_of(known[0][0]),
            most=_dollars(known[0][1].total),
        )
    )
    if missing := len(costs) - len(known):
        text = f"{text} {say('survey_charts.cost_missing', n=missing)}"

    def columns() -> tables.Columns:
        return {
            "checkpoint": [title_of(name) for name, _ in known],
            "dollars a month": [_dollars(cost.total) for _, cost in known],
            "writes": [_dollars(cost.writes) for _, cost in known],
            "storage": [_dollars(cost.storage) for _, cost in known],
            "location": [name for name, _ in known],
        }

    return _Drawn(f"{text} {_basis(settings)}", cost_chart(known[:MOST_BARS]), columns)


def _basis(settings: Settings) -> str:
    return say(
        "survey_charts.prices",
        writes=f"{settings.price_of_writes:g}",
        storage=f"{settings.price_of_storage:g}",
    )


def _dollars(value: float) -> str:
    return f"{value:,.2f}" if value >= 0.01 or value == 0 else f"{value:.2g}"


def cost_chart(known: Sequence[tuple[str, MonthlyCost]]) -> go.Figure:
    """A bar for each checkpoint, the most expensive on top: writes and storage."""
    names = [_title(name) for name, _ in known]
    places = list(range(len(known)))
    figure = go.Figure()
    for part, colour, pattern in (("writes", charts.COMMITTED, ""), ("storage", charts.PENDING, "/")):
        values = [float(getattr(cost, part)) for _, cost in known]
        figure.add_trace(
            go.Bar(
                y=places,
                x=values,
                orientation="h",
                name=part,
                marker={"color": colour, "pattern": {"shape": pattern}, "line": {"width": 0}},
                text=[
                    f"{name}: {_dollars(value)} ({part})" for name, value in zip(names, values, strict=True)
                ],
                textposition="none",
                hovertemplate="%{text}<extra></extra>",
            )
        )
    figure.update_layout(barmode="stack", legend_traceorder="normal")
    figure.update_yaxes(
        tickvals=places, ticktext=[name[:24] for name in names], range=[len(known) - 0.4, -0.6]
    )
    figure.update_xaxes(title_text=str(say("survey_charts.axis_cost")), rangemode="tozero", tickangle=0)
    return charts.layout(figure, 110 + 24 * len(known))


_CHARTS: Mapping[str, Callable[[Read], _Drawn]] = {"bytes": _bytes, "age": _age, "cost": _cost}
