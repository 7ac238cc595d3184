"""The choices that pages share and that the address carries: the batch, the window of batches, the axis, the
source."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from core.analysis.timeline import Timeline
from core.checkpoint import Checkpoint, Source
from core.messages import say
from ui import cards, charts, links
from ui.timeline_charts import By

Place = st.delta_generator.DeltaGenerator

SIZES = (100, 300, 1_000)
"""Batches in the window. 100 are read when a checkpoint is opened, so the first view costs nothing more."""

SLACK = 1.1
"""A window grows by up to a tenth rather than leave a few batches out: Spark keeps 101 by default."""

MOST_COLUMNS = 24
"""Partitions shown side by side in a table; the download holds all."""

MOST_READ = 25_000
"""Batches that "Read every batch" reads at most: about 100 MB of small files."""


@dataclass(frozen=True, slots=True)
class View:
    """What the controls above the charts say: the chosen batch, the x axis, the batches shown (``rows`` of
    the timeline, ``size`` wanted), and whether every batch is to be read."""

    chosen: int | None
    by: By
    size: int
    rows: slice
    reads_all: bool


def window(timeline: Timeline, size: int, chosen: int | None, last: int | None) -> slice:
    """The rows to show: those that end at batch ``last``, else those around the chosen batch, else the
    newest."""
    if last is None and chosen is not None and timeline.row(chosen) is not None:
        newest = timeline.window(None, size)
        if int(timeline.batch_ids[newest.start]) <= chosen:
            return newest
        row = timeline.row(chosen) or 0
        last = int(timeline.batch_ids[min(len(timeline) - 1, row + size // 2)])
    return timeline.window(last, size)


def pick(
    label: str,
    name: str,
    labels: Mapping[str, str],
    first: str | None = None,
    width: int | Literal["stretch"] = 320,
    help_text: str | None = None,
) -> str | None:
    """A choice that the address carries by its value while people read its label. None: nothing chosen; the
    field reads ``first``."""
    refuse(links.refusal(name, labels))
    key = links.WIDGET + name
    show(key, links.chosen(name, labels))
    chosen = st.selectbox(
        label,
        list(labels),
        index=None,
        format_func=lambda value: labels.get(value, value),
        key=key,
        placeholder=first or "Choose",
        on_change=_picked,
        args=(name,),
        width=width,
        help=help_text,
    )
    return None if chosen is None else str(chosen)


def tabs(name: str, labels: Mapping[str, str]) -> Mapping[str, Place]:
    """Tabs of which the address names the chosen one; without a choice it is the first."""
    refuse(links.refusal(name, labels))
    key, texts = links.WIDGET + name, list(labels.values())
    show(key, labels.get(links.chosen(name, labels) or "", texts[0]))
    made = st.tabs(texts, key=key, on_change=_turned, args=(name, labels))
    return dict(zip(labels, made, strict=True))


def _turned(name: str, labels: Mapping[str, str]) -> None:
    shown = st.session_state.get(links.WIDGET + name)
    chosen = next((value for value, text in labels.items() if text == shown), None)
    links.pick(name, None if chosen == next(iter(labels)) else chosen)


def _picked(name: str) -> None:
    links.pick(name, st.session_state.get(links.WIDGET + name))


def number_field(
    label: str, name: str, placeholder: str, width: int = 150, refusals: Place | None = None
) -> int | None:
    """A whole number that the address carries under ``name``; empty while nothing is chosen.

    Its return value is the only truth: after Back in the browser the session still has the number of before
    until the field exists. ``refusals``: where to say that the address gives something else than a number.
    """
    with refusals if refusals is not None else nullcontext():
        refused = links.number_refusal(name)
        refuse(refused)
    if refused is not None:
        links.drop(name)  # Streamlit makes a float of it, and an endless one is no whole number
    value: int | None = st.number_input(
        label,
        min_value=0,
        max_value=links.LARGEST_NUMBER,
        value=None,
        step=1,
        key=name,
        bind="query-params",
        placeholder=placeholder,
        width=width,
    )
    return value


def controls(timeline: Timeline, with_axis: bool) -> View:
    """The row of controls above the charts, and what they say."""
    refusals = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="controls"):
        chosen = number_field("Batch", "batch", "id", refusals=refusals)
        _neighbours(timeline, chosen)
        by = _axis(refusals) if with_axis else "id"
        size, last, reads_all = _window_controls(timeline, refusals)
        rows = window(timeline, size, chosen, last)
        if len(timeline) > SIZES[0] * SLACK:
            _turn(timeline, rows)
    return View(chosen, by, size, rows, reads_all)


def asks_for_batches() -> bool:
    """Whether the address asks for other batches than the newest."""
    return any(links.asked(name) is not None for name in ("batch", "last", "whole"))


def read(ck: Checkpoint, timeline: Timeline, view: View) -> list[int]:
    """Reads the batches of the window, or every batch when that is asked for (``MOST_READ`` newest at most).
    Returns their ids."""
    rows = slice(-MOST_READ, None) if view.reads_all else view.rows
    ids: list[int] = timeline.batch_ids[rows][~timeline.from_history[rows]].tolist()
    with st.spinner(say("screens.reading", n=len(ids))):
        ck.load(ids)
    return ids


def _neighbours(timeline: Timeline, chosen: int | None) -> None:
    before, after = timeline.neighbours(chosen if chosen is not None else int(timeline.batch_ids[-1]))
    for label, key, batch_id, shortcut in (
        ("◀ Previous", "previous", before, "P"),
        ("Next ▶", "next", after, "N"),
    ):
        st.button(
            label, on_click=_choose, args=(batch_id,), disabled=batch_id is None, key=key, shortcut=shortcut
        )


def _axis(refusals: Place) -> By:
    with refusals:
        refuse(links.refusal("x", ("id", "time")))
    shown = st.segmented_control(
        "X axis",
        ["id", "time"],
        default="id",
        required=True,
        key="x",
        bind="query-params",
        help=say("screens.axis_help"),
    )
    return "time" if shown == "time" else "id"


def _window_controls(timeline: Timeline, refusals: Place) -> tuple[int, int | None, bool]:
    """How many batches are shown, the batch the window ends at, and whether every batch is read."""
    with refusals:
        refuse(links.refusal("size", map(str, SIZES)))
        refuse(links.refusal("whole", ("true", "false")))
        refuse(_window_refusal(timeline))
    total = len(timeline)
    if total <= SIZES[0] * SLACK:
        with refusals:
            refuse(links.number_refusal("last"))
        return total, None, False
    size = st.selectbox("Batches shown", SIZES, key="size", bind="query-params", width=130)
    last = number_field("Window ends at", "last", "newest", refusals=refusals)
    reads_all = st.toggle(
        "Read every batch",
        key="whole",
        bind="query-params",
        help=say("screens.read_all_help", total=total),
    )
    return (total if total <= size * SLACK else size), last, reads_all


def _window_refusal(timeline: Timeline) -> str | None:
    """A window that ends outside of the logs is not shown silently as another one."""
    asked = links.asked("last")
    first, newest = int(timeline.batch_ids[0]), int(timeline.batch_ids[-1])
    if asked is None or not asked.isdecimal() or first <= int(asked) <= newest:
        return None
    return say("screens.link_window_end", wanted=asked[:80], first=first, last=newest)


def _turn(timeline: Timeline, rows: slice) -> None:
    size = rows.stop - rows.start
    older = int(timeline.batch_ids[max(0, rows.start - 1)])
    newer = int(timeline.batch_ids[min(len(timeline) - 1, rows.stop + size - 1)])
    for label, key, last, is_end in (
        ("Older", "older", older, rows.start == 0),
        ("Newer", "newer", newer, rows.stop == len(timeline)),
    ):
        st.button(label, on_click=links.choose, kwargs={"last": last}, disabled=is_end, key=key)


def show(key: str, wanted: object) -> None:
    """Lets a field show what the address says. Set each time, it would undo a choice made meanwhile."""
    if st.session_state.get(key) != wanted:
        st.session_state[key] = wanted


def refuse(refusal: str | None) -> None:
    """Says why a link cannot be honored, when it cannot."""
    if refusal is not None:
        cards.message("plain", refusal)


def source(ck: Checkpoint) -> Source | None:
    """The source to show; a choice where there are several. None when the log names none yet."""
    labels = {found.key: f"{found.key}: {found.kind.label}" for found in ck.sources}
    if not labels:
        cards.text(say("screens.no_source"), "small")
        return None
    first = next(iter(labels))
    if len(labels) == 1:
        refuse(links.refusal("source", labels))
        return ck.source(first)
    return ck.source(pick("Source", "source", labels, labels[first]) or first)


def marks_clicked() -> None:
    """A mark of the timeline was clicked."""
    _choose(charts.clicked_value("marks"))


def watermark_clicked() -> None:
    """A point of the watermark was clicked: its x is the batch."""
    _choose_x("watermark")


def progress_clicked() -> None:
    """A cell or bar of the progress picture was clicked: its x is the batch."""
    _choose_x("progress")


def balance_clicked() -> None:
    """A partition was clicked."""
    partition = charts.clicked_value("balance")
    if isinstance(partition, int | float):
        links.choose(partition=int(partition))


def strip_clicked() -> None:
    """A bin of the strip was clicked: the window moves there."""
    state = st.session_state.get("strip")
    points = state.selection.points if state is not None else []
    if points:
        size = st.session_state.get("size") or SIZES[0]
        links.choose(last=int(points[0]["x"]) + int(size) // 2)


def _choose(batch_id: object) -> None:
    if isinstance(batch_id, int | float):
        links.choose(batch=int(batch_id))
        if "last" in st.session_state:
            links.choose(last=None)


def _choose_x(key: str) -> None:
    state = st.session_state.get(key)
    points = state.selection.points if state is not None else []
    if points:
        _choose(points[0].get("x"))
