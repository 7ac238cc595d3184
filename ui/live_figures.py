"""Where the query stands and how it gets on, on Overview: last committed batch, input, batch duration, state
and watermark; each with the course of the newest batches, and the page it leads to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from core.analysis.pace import Pace
from core.checkpoint import Checkpoint
from core.messages import say, say_of, words
from ui import cached_answers, cards
from ui.open_checkpoints import Opened

Place = st.delta_generator.DeltaGenerator
NARROWEST = 165


class Places(NamedTuple):
    """Where each of the five stands."""

    commits: Place
    input: Place
    duration: Place
    state: Place
    watermark: Place


def places() -> Places:
    """Five places beside each other, or below each other where there is no room."""
    with (
        st.container(key="figures"),
        st.grid(len(Places._fields), min_column_width=NARROWEST),
    ):
        return Places(*(st.container(height="stretch") for _ in Places._fields))


def of_logs(opened: Opened, ck: Checkpoint, places: Places) -> None:
    """What the logs tell: the last committed batch, input, duration and watermark."""
    found = cached_answers.pace_of_logs(opened, ck)
    _last_committed(ck, cached_answers.timeline(opened, ck).is_copy, places.commits)
    counts_batches = found.input is not None and found.input.is_of_batches
    _figure(places.input, "batches" if counts_batches else "input", found.input, "timeline")
    _figure(places.duration, "duration", found.duration, "timeline")
    _figure(places.watermark, "watermark", found.watermark, "watermark")


def of_state(opened: Opened, ck: Checkpoint, place: Place) -> None:
    """What the listing of ``state/`` tells."""
    found = cached_answers.pace_of_state(opened, ck)
    if isinstance(found, str):
        found = Pace(words.NOT_KNOWN, words.one_line(found, 160))
    # Before the first batch nobody knows whether the query keeps state.
    has_batch = bool(ck.offset_ids or ck.commit_ids)
    _figure(place, "state", found, "state", "state" if has_batch else "input")


def _last_committed(ck: Checkpoint, is_copy: bool, place: Place) -> None:
    last, pending = ck.last_committed_batch, ck.uncommitted_batch
    state = ""
    if pending is not None:
        state = say("screen_overview.pending", batch=pending)
    elif last is None:
        state = say("screen_overview.none_planned")
    with place, cards.box("done" if pending is None else "doubt", height="stretch"):
        cards.text(say_of("screen_overview", "LIVE", "commits"), "small")
        cards.text("none" if last is None else f"batch {last}", "lead")
        for line in (_committed(ck, is_copy), state):
            if line:
                cards.text(line, "small")


def _committed(ck: Checkpoint, is_copy: bool) -> str:
    """When the last committed batch was committed, not when another one was planned; empty where none is."""
    last = ck.last_committed_batch
    file = None if last is None else ck.commit_files.get(last)
    if file is None:
        return ""
    if file.modified_ms is None:
        return say("screen_overview.no_file_times")
    since = words.age(max(0, int(time.time() * 1000) - file.modified_ms))
    if is_copy:
        return say("screen_overview.newest_copied", since=since, ms=file.modified_ms)
    return say("screen_overview.newest", since=since, ms=file.modified_ms)


def _figure(place: Place, name: str, found: Pace | None, page: str, nothing: str = "") -> None:
    """``nothing``: what is said where there is no figure, by default that of ``name``."""
    shown = found or Pace("none", say_of("screen_overview", "NOTHING", nothing or name))
    with place, cards.box("plain", height="stretch"):
        cards.text(say_of("screen_overview", "LIVE", name), "small")
        cards.text(shown.value, "lead")
        if shown.series:
            st.html(course(shown.series))
        cards.text(shown.note, "small")
        if found is not None:
            label = say_of("screen_overview", "LEADS_TO", page)
            st.page_link(f"pages/{page}.py", label=label, query_params={})


def course(series: Sequence[float]) -> str:
    """The area below a line of numbers, from 0 or the lowest number below it to the highest. It holds nothing
    but numbers; the words stand beside it."""
    low, high = min(0.0, *series), max(series)
    span = (high - low) or 1.0
    step = 100 / (len(series) - 1)
    line = [f"{at * step:.1f}% {4 + 92 * (1 - (value - low) / span):.1f}%" for at, value in enumerate(series)]
    corners = ", ".join(["0% 100%", *line, "100% 100%"])
    return f'<div class="course" style="clip-path: polygon({corners})"></div>'
