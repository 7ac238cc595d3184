"""Timeline: what happened to each batch, how far the sources moved, and one batch in detail."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.analysis.timeline import STATUS_WORDS, STATUSES, Column, Timeline, bins
from core.checkpoint import Checkpoint, SourceProgress
from core.messages import words
from ui import batch_details, cached_answers, cards, charts, selection, shell, tables, timeline_charts

STRIP_FROM = 1.1  # the strip of all batches appears when there are more than this many windows of them


def main() -> None:
    opened, ck = shell.checkpoint()
    if not ck.offset_ids and not ck.commit_ids:
        cards.message(
            "plain",
            "No batch is written yet: offsets/ and commits/ are empty.",
            "The timeline begins with the first batch.",
        )
        return
    lead = st.container()
    listed = cached_answers.timeline(opened, ck)
    view = selection.controls(listed, with_axis=True)
    selection.read(ck, listed, view)
    timeline = cached_answers.timeline(opened, ck)
    with lead:
        cards.text(headline(timeline, view.rows), "lead")
    if len(timeline) > view.size * STRIP_FROM:
        strip(timeline, view.rows)
    marks(timeline, view.rows, view.by, view.chosen)
    progress(ck, timeline, view.rows, view.chosen)
    details(ck, timeline, view.chosen)


def headline(timeline: Timeline, rows: slice) -> str:
    """The conclusion of the picture in one sentence."""
    ids = timeline.batch_ids[rows]
    took = timeline.duration_ms[rows]
    took = took[took >= 0]
    gaps = timeline.gap_ms[rows]
    gaps = gaps[gaps >= 0]
    parts = [
        (
            f"Batches {ids[0]} to {ids[-1]} of {words.counted(len(timeline), 'batch')}"
            if len(ids) > 1
            else f"Batch {ids[0]}"
        )
    ]
    for status in STATUSES[1:]:
        many = int(np.count_nonzero(timeline.status[rows] == STATUSES.index(status)))
        if status == "pending" and many:
            parts.append(f"batch {timeline.pending_batch} is not committed")
        elif many:
            parts.append(f"{many} {STATUS_WORDS[status]}")
    if len(parts) == 1:
        parts.append("all committed")
    if len(took):
        parts.append(
            f"median duration {words.duration(float(np.median(took)))}, longest"
            f" {words.duration(int(took.max()))}"
        )
    elif len(gaps):
        parts.append(
            f"a batch started every {words.duration(float(np.median(gaps)))} (median); how long each ran is"
            " not known"
        )
    return "; ".join(parts) + "."


def strip(timeline: Timeline, rows: slice) -> None:
    """All batches in bins; a click moves the window."""
    column: Column = "duration_ms" if timeline.has_durations else "gap_ms"
    found = bins(timeline, column)
    what = "duration" if column == "duration_ms" else "time to the next start"
    known = found.maximum[np.isfinite(found.maximum)]
    if not len(known):
        cards.text(
            f"No times are known for the other batches until every batch is read. {timeline.times_note}",
            "small",
        )
        return
    longest = int(found.first[int(np.nanargmax(found.maximum))])
    cards.text(
        f"All {len(timeline):,} batches: {what} in bins of {found.size}. Click to move the window.", "small"
    )
    peak = f"the longest, {words.duration(float(known.max()))}, from batch {longest} on"
    alt = f"{what} of all {len(timeline)} batches in bins of {found.size}; {peak}"
    charts.show(
        timeline_charts.overview(timeline, found, column, rows), "strip", alt, selection.strip_clicked
    )


def marks(timeline: Timeline, rows: slice, by: timeline_charts.By, chosen: int | None) -> None:
    """The batches of the window; a click chooses one."""
    figure = timeline_charts.window(timeline, rows, by, chosen)
    charts.show(figure, "marks", headline(timeline, rows), selection.marks_clicked)
    notes = [timeline.times_note]
    if timeline.removed_before is not None:
        notes.append(
            f"Batches before {timeline.removed_before} are not in the logs: Spark keeps the newest 100 by"
            " default (minBatchesToRetain)."
        )
    absent = [gap for gap in timeline.gaps if not gap.is_legal]
    if absent:
        notes.append(
            "Absent, with neither file:"
            f" {', '.join(str(g.first) if g.size == 1 else f'{g.first} to {g.last}' for g in absent[:20])}."
        )
    elif timeline.gaps:
        notes.append(
            "Ids between the logged batches are missing by design: the query tracks its progress"
            " asynchronously."
        )
    cards.text(" ".join(notes), "small")
    tables.behind(lambda: as_columns(timeline, rows), "The batches of the window", "timeline")


def as_columns(timeline: Timeline, rows: slice) -> tables.Columns:
    """The window as a table."""

    def known(values: np.ndarray) -> list[int | None]:
        return [int(value) if value >= 0 else None for value in values[rows]]

    return {
        "batch": timeline.batch_ids[rows].tolist(),
        "status": [STATUS_WORDS[STATUSES[int(code)]] for code in timeline.status[rows]],
        "planned (UTC)": [words.exact_moment(int(ms)) for ms in timeline.planned_ms[rows]],
        "from": ["offset log" if flag else "file time" for flag in timeline.planned_from_log[rows]],
        "committed (UTC)": [words.exact_moment(int(ms)) for ms in timeline.committed_ms[rows]],
        "duration ms": known(timeline.duration_ms),
        "to next start ms": known(timeline.gap_ms),
    }


def progress(ck: Checkpoint, timeline: Timeline, rows: slice, chosen: int | None) -> None:
    """How far each partition of a source moved in the batches of the window."""
    cards.text("Source progress", "section")
    source = selection.source(ck)
    if source is None:
        return
    wanted = [batch_id for batch_id in timeline.batch_ids[rows].tolist() if batch_id in ck.offset_files]
    found = ck.progress(source.key, wanted)
    if not found.partitions or not len(found.batch_ids):
        cards.text(
            "The offsets of this source name no partition and no number to follow; see the raw text in the"
            " batch below.",
            "small",
        )
        return
    told = progress_words(found, source.kind.label)
    cards.text(told, "small")
    figure = timeline_charts.progress(found.batch_ids, found.partitions, found.advance, found.unit, chosen)
    charts.show(figure, "progress", told, selection.progress_clicked)
    tables.behind(
        lambda: progress_columns(found, selection.MOST_COLUMNS),
        told,
        f"progress-source-{words.file_name(source.key)}",
        lambda: progress_columns(found),
    )


def progress_columns(found: SourceProgress, most: int | None = None) -> tables.Columns:
    """One row per batch, one column per partition (``most`` of them)."""
    columns: dict[str, list[object]] = {
        "batch": found.batch_ids.tolist(),
        f"{found.unit} in all": _known(found.total),
    }
    for at, name in enumerate(found.partitions[:most]):
        label = words.one_line(name, 60)
        columns[label if label not in columns else f"{label} ({at})"] = _known(found.advance[:, at])
    return columns


def progress_words(found: SourceProgress, label: str) -> str:
    """What the progress picture shows."""
    total = found.total[found.total >= 0]
    parts = [
        f"{label}: {words.amount(int(total.sum()), found.unit)} in"
        f" {words.counted(len(found.batch_ids), 'batch')}"
    ]
    if len(found.partitions) > 1:
        sums = np.where(found.advance > 0, found.advance, 0).sum(axis=0)
        top = int(np.argmax(sums))
        if sums.sum() > 0:
            parts.append(
                f"{words.one_line(found.partitions[top], 60)} took the most, {sums[top] / sums.sum():.0%}"
            )
        silent = [
            words.one_line(found.partitions[at], 60)
            for at in np.flatnonzero((sums == 0) & (found.positions[-1] >= 0))
        ]
        if silent:
            parts.append(
                f"silent: {', '.join(silent[:5])}"
                + (f" and {len(silent) - 5} more" if len(silent) > 5 else "")
            )
    return "; ".join(parts) + "."


def details(ck: Checkpoint, timeline: Timeline, chosen: int | None) -> None:
    """The chosen batch."""
    shown = chosen if chosen is not None else selection.interesting(timeline)
    cards.text(
        f"Batch {shown}" + ("" if chosen is not None else " (none is chosen: this is the newest)"), "section"
    )
    batch_details.show(ck, timeline, shown)


def _known(values: np.ndarray) -> list[object]:
    return [int(value) if value >= 0 else None for value in values]


main()
