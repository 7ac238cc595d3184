"""Timeline: what happened to each batch, how far the sources moved, and one batch in detail."""

from __future__ import annotations

import streamlit as st

from core.analysis.pace import BatchInput, batch_input
from core.analysis.timeline import Column, Timeline, bins
from core.checkpoint import Checkpoint
from core.messages import say, words
from ui import (
    batch_details,
    cards,
    charts,
    past,
    selection,
    shell,
    tables,
    timeline_charts,
    timeline_texts,
)


def main() -> None:
    opened, ck = shell.checkpoint()
    if not len(past.timeline(opened, ck)):
        cards.message("plain", say("screen_timeline.no_batch"), say("screen_timeline.no_batch_more"))
        return
    lead = st.container()
    listed = past.timeline(opened, ck)
    view = selection.controls(listed, with_axis=True)
    selection.read(ck, listed, view)
    timeline = past.timeline(opened, ck)
    found = batch_input(ck, timeline, timeline.batch_ids[view.rows].tolist())
    headline = timeline_texts.headline(timeline, view.rows, found)
    with lead:
        cards.text(headline, "lead")
    if len(timeline) > view.size * selection.SLACK:
        strip(timeline, view)
    marks(timeline, view, found, headline)
    details(ck, timeline, view)
    as_table(timeline, view, found)
    progress(ck, timeline, view)
    past.panel(ck)


def strip(timeline: Timeline, view: selection.View) -> None:
    """All batches in bins; a click moves the window."""
    column: Column = "duration_ms" if timeline.has_durations else "gap_ms"
    found = bins(timeline, column)
    texts = timeline_texts.strip(timeline, found, column)
    if texts is None:
        cards.text(say("screen_timeline.no_times", note=timeline.times_note), "small")
        return
    shown, peak = texts
    cards.text(shown, "small")
    figure = timeline_charts.overview(timeline, found, column, view.rows)
    charts.show(figure, "strip", f"{shown} {peak}", selection.strip_clicked, is_zoomed=True)


def marks(timeline: Timeline, view: selection.View, found: BatchInput | None, headline: str) -> None:
    """The batches of the window; a click chooses one."""
    figure = timeline_charts.window(timeline, view.rows, view.by, view.chosen, found)
    charts.show(figure, "marks", headline, selection.marks_clicked, is_zoomed=True)
    notes = timeline_texts.notes(timeline)
    if timeline.is_copy:  # then the times say little, and that is no small print
        notes = f"{timeline.times_note} {notes}"
    if notes:
        cards.text(notes, "small")


def as_table(timeline: Timeline, view: selection.View, found: BatchInput | None) -> None:
    """What the marks show, as a table: below the chosen batch, which people look at first."""
    tables.behind(
        lambda: timeline_texts.window_columns(timeline, view.rows, found),
        say("screen_timeline.window_table"),
        "timeline",
        basis="" if timeline.is_copy else timeline.times_note,
    )


def progress(ck: Checkpoint, timeline: Timeline, view: selection.View) -> None:
    """How far each partition of a source moved in the batches of the window."""
    cards.text("Source progress", "section")
    source = selection.source(ck)
    if source is None:
        return
    wanted = [batch_id for batch_id in timeline.batch_ids[view.rows].tolist() if batch_id in ck.offset_files]
    if not wanted:
        cards.text(say("screen_past.no_offsets"), "small")
        return
    found = ck.progress(source.key, wanted)
    if not found.partitions or not len(found.batch_ids):
        cards.text(say("screen_timeline.no_partitions"), "small")
        return
    text = timeline_texts.progress(found, source.kind.label)
    cards.text(text, "small")
    if (found.advance > 0).any():  # a picture of nothing says no more than the sentence
        figure = timeline_charts.progress(
            found.batch_ids, found.partitions, found.advance, found.unit, view.chosen
        )
        charts.show(figure, "progress", text, selection.progress_clicked, is_zoomed=True)
    tables.behind(
        lambda: timeline_texts.progress_columns(found, selection.MOST_COLUMNS),
        text,
        f"progress-source-{words.file_name(source.key)}",
        lambda: timeline_texts.progress_columns(found),
    )


def details(ck: Checkpoint, timeline: Timeline, view: selection.View) -> None:
    """The chosen batch, else the newest."""
    if view.chosen is None:
        newest = int(timeline.batch_ids[-1])
        cards.text(say("screen_timeline.newest_batch", batch=newest), "section")
        batch_details.show(ck, timeline, newest)
        return
    cards.text(say("screen_timeline.batch", batch=view.chosen), "section")
    batch_details.show(ck, timeline, view.chosen)


main()
