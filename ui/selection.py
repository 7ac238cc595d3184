"""The choices that pages share and that the address carries: the batch, the window of batches, the axis, the
source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import streamlit as st

from core.analysis.timeline import Timeline
from core.checkpoint import Checkpoint, Source
from ui import cards, charts, links
from ui.timeline_charts import By

SIZES = (100, 300, 1_000)
"""Batches in the window. 100 are read when a checkpoint is opened, so the first view costs nothing more."""

SLACK = 1.1
"""A window grows by up to a tenth rather than leave a few batches out: Spark keeps 101 by default."""

MOST_COLUMNS = 24
"""Partitions shown side by side in a table; the download holds all."""

MOST_READ = 25_000
"""Batches that "Read every batch" reads at most: about 100 MB of small files."""


def chosen_batch() -> int | None:
    """The one batch that is chosen for the whole app, None when there is none."""
    return number("batch")


def number(name: str) -> int | None:
    """A number that the address carries, before its widget exists; says so when the address gives nonsense."""
    refused = links.number_refusal(name, name)
    if refused is not None:
        cards.message("plain", refused)
        return None
    if name in st.session_state:
        value: int | None = st.session_state[name]
        return value
    asked = links.asked(name)
    return None if asked is None else int(asked)


def window_size(total: int) -> int:
    """How many batches the window shows."""
    asked = st.session_state.get("size") or links.asked("size")
    size = int(asked) if str(asked).isdigit() and int(asked) in SIZES else SIZES[0]
    return total if total <= size * SLACK else size


def window(timeline: Timeline, size: int, chosen: int | None) -> slice:
    """The rows to show: those that end at the batch the address names, else those around the chosen batch,
    else the newest."""
    last = number("last")
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
    what: str,
    first: str | None = None,
    width: int | Literal["stretch"] = 320,
) -> str | None:
    """A choice that the address carries by its value while people read its label. None: nothing chosen; the
    field reads ``first``."""
    refused = links.refusal(name, labels, what)
    if refused is not None:
        cards.message("plain", refused)
    key = links.WIDGET + name
    st.session_state[key] = links.chosen(name, labels)
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
    )
    return None if chosen is None else str(chosen)


def _picked(name: str) -> None:
    links.pick(name, st.session_state.get(links.WIDGET + name))


def number_field(label: str, name: str, placeholder: str, width: int = 150) -> None:
    """A whole number that the address carries under ``name``; empty while nothing is chosen."""
    st.number_input(
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


def controls(timeline: Timeline, rows: slice, chosen: int | None, with_axis: bool) -> By:
    """The row of controls above the charts. Returns the x axis: batch ids or time."""
    by: By = "id"
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="controls"):
        number_field("Batch", "batch", "id")
        before, after = timeline.neighbours(chosen if chosen is not None else int(timeline.batch_ids[-1]))
        st.button(
            "◀ Previous",
            on_click=_choose,
            args=(before,),
            disabled=before is None,
            key="previous",
            shortcut="P",
        )
        st.button("Next ▶", on_click=_choose, args=(after,), disabled=after is None, key="next", shortcut="N")
        if with_axis:
            shown = st.segmented_control(
                "X axis",
                ["id", "time"],
                default="id",
                required=True,
                key="x",
                bind="query-params",
                help="By time, outages become visible gaps.",
            )
            by = "time" if shown == "time" else "id"
        if len(timeline) > SIZES[0] * SLACK:
            st.selectbox("Batches shown", SIZES, key="size", bind="query-params", width=130)
            number_field("Window ends at", "last", "newest")
            first = int(timeline.batch_ids[rows.start])
            size = rows.stop - rows.start
            older = int(timeline.batch_ids[max(0, rows.start - 1)])
            newer = int(timeline.batch_ids[min(len(timeline) - 1, rows.stop + size - 1)])
            st.button(
                "Older",
                on_click=links.choose,
                kwargs={"last": older},
                disabled=rows.start == 0,
                key="older",
                help=f"Before batch {first}",
            )
            st.button(
                "Newer",
                on_click=links.choose,
                kwargs={"last": newer},
                disabled=rows.stop == len(timeline),
                key="newer",
            )
            st.toggle(
                "Read every batch",
                key="whole",
                bind="query-params",
                help=(
                    f"Two small files for each of {len(timeline):,} batches; the listing alone does not tell"
                    " everything."
                ),
            )
    return by


def read(ck: Checkpoint, timeline: Timeline, rows: slice) -> list[int]:
    """Reads the batches of the window, or every batch when the address asks for that (``MOST_READ`` newest at
    most). Returns their ids."""
    whole = st.session_state.get("whole", links.asked("whole") == "true")
    ids: list[int] = (timeline.batch_ids[-MOST_READ:] if whole else timeline.batch_ids[rows]).tolist()
    with st.spinner(f"Reading {len(ids):,} batches ..."):
        ck.load(ids)
    return ids


def source(ck: Checkpoint) -> Source | None:
    """The source to show; a choice where there are several. None when the log names none yet."""
    labels = {found.key: f"{found.key}: {found.kind.label}" for found in ck.sources}
    if not labels:
        cards.text("The offset log names no source yet.", "small")
        return None
    first = next(iter(labels))
    if len(labels) == 1:
        refused = links.refusal("source", labels, "source")
        if refused is not None:
            cards.message("plain", refused)
        return ck.source(first)
    return ck.source(pick("Source", "source", labels, "source", labels[first]) or first)


def interesting(timeline: Timeline) -> int:
    """The batch to show when none is chosen: the newest."""
    return int(timeline.batch_ids[-1])


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
