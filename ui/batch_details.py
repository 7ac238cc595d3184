"""One batch in detail: status and times, offsets before and after per partition, watermark, changed settings,
and the files as they are."""

from __future__ import annotations

import streamlit as st

from core.analysis.timeline import STATUS_WORDS, STATUSES, Timeline, moves
from core.checkpoint import Checkpoint, Source
from core.checkpoint.model import CommitEntry, OffsetEntry
from core.checkpoint.sources.forms import parse
from core.messages import words
from core.sparklogs.evidence import Problem
from ui import cards, tables

MOST_SETTINGS = 200


def show(ck: Checkpoint, timeline: Timeline, batch_id: int) -> None:
    """All that the files say about ``batch_id``; one sentence when there are none."""
    row = timeline.row(batch_id)
    if row is None:
        cards.message(
            "blocked" if _is_within(timeline, batch_id) else "plain", absent(ck, timeline, batch_id)
        )
        return
    offset, commit = ck.offset(batch_id), ck.commit(batch_id)
    _figures(timeline, row, offset, commit)
    for entry in (offset, commit):
        if isinstance(entry, Problem):
            cards.message(
                "blocked", f"{entry.evidence} cannot be understood: {words.one_line(entry.reason, 400)}"
            )
    if isinstance(offset, OffsetEntry):
        _sources(ck, batch_id)
        _settings(ck, batch_id, offset)
    _files(ck, batch_id, offset, commit)


def absent(ck: Checkpoint, timeline: Timeline, batch_id: int) -> str:
    """Why there is nothing to show about this batch."""
    if not len(timeline):
        return f"Batch {batch_id} is asked for; this checkpoint has no batch yet."
    first, last = int(timeline.batch_ids[0]), int(timeline.batch_ids[-1])
    asked = f"Batch {batch_id} is asked for"
    if batch_id < first:
        return f"{asked}; it was removed by retention: the logs hold batches {first} to {last}."
    if batch_id > last:
        return f"{asked}; it is not written yet: the logs hold batches {first} to {last}."
    if ck.is_async:
        return (
            f"{asked}; it was not logged: with asynchronous progress tracking only some batches are. Choose a"
            " neighbour."
        )
    return f"{asked}; it has neither an offset file nor a commit file, although its neighbours have them."


def _is_within(timeline: Timeline, batch_id: int) -> bool:
    return any(gap.first <= batch_id <= gap.last and not gap.is_legal for gap in timeline.gaps)


def _figures(
    timeline: Timeline, row: int, offset: OffsetEntry | Problem | None, commit: CommitEntry | Problem | None
) -> None:
    status = STATUSES[int(timeline.status[row])]
    planned, committed = int(timeline.planned_ms[row]), int(timeline.committed_ms[row])
    took, gap = int(timeline.duration_ms[row]), int(timeline.gap_ms[row])
    basis = "offset log" if timeline.planned_from_log[row] else "file time"
    in_force = offset.watermark_ms if isinstance(offset, OffsetEntry) else None
    following = commit.next_watermark_ms if isinstance(commit, CommitEntry) else None
    tone: cards.Tone = "done" if status == "committed" else "doubt" if status == "pending" else "plain"
    if status in ("missing_commit", "missing_offset", "unreadable"):
        tone = "blocked"
    with st.grid(5, min_column_width=150):
        cards.figure("Status", f"{cards.MARKS[tone]} {STATUS_WORDS[status]}", "", tone)
        cards.figure(
            "Planned",
            words.clock(planned if planned >= 0 else None),
            f"{words.day(planned)} · {basis}" if planned >= 0 else "",
        )
        if committed >= 0:
            cards.figure("Committed", words.clock(committed), f"{words.day(committed)} · file time")
        else:
            cards.figure(
                "Committed",
                "no" if status in ("pending", "missing_commit", "superseded") else words.NOT_KNOWN,
                "",
            )
        if took >= 0:
            cards.figure(
                "Duration",
                words.duration(took),
                f"next start {words.duration(gap)} after this one" if gap >= 0 else "no later batch",
            )
        elif gap >= 0:
            cards.figure("Duration", f"at most {words.duration(gap)}", "the next batch began then")
        else:
            cards.figure("Duration", words.NOT_KNOWN, "")
        same = following == in_force and following
        after = "next: the same" if same else f"next: {watermark_words(following)}"
        if in_force:
            cards.figure("Watermark in force", words.clock(in_force), f"{words.day(in_force)} · {after}")
        else:
            cards.figure("Watermark in force", watermark_words(in_force), after)


def watermark_words(value: int | None) -> str:
    """A watermark: 0 is "none yet"."""
    return "none yet" if value == 0 else words.NOT_KNOWN if value is None else words.moment(value)


def _sources(ck: Checkpoint, batch_id: int) -> None:
    for source in ck.sources:
        found = moves(ck, batch_id, source.key)
        advance = ck.advance(batch_id, source.key)
        title = f"Source {source.key}: {source.kind.label}"
        if advance is not None and advance.amount is not None:
            bound = {"exact": "", "at_most": " (at most so many records)", "estimate": " (estimated)"}[
                advance.bound
            ]
            title += f", {words.amount(advance.amount, advance.unit)}{bound}"
        cards.text(title, "strong")
        if advance is not None and advance.note:
            cards.text(advance.note, "small")
        _before_and_after(ck, batch_id, source)
        if not found:
            continue
        columns: tables.Columns = {
            "partition": [move.partition for move in found],
            "before": [move.before for move in found],
            "after": [move.after for move in found],
            f"difference ({advance.unit if advance else 'offsets'})": [move.difference for move in found],
        }
        tables.table(
            columns, alt=f"Positions of source {source.key} before and after batch {batch_id}", most=12
        )
        tables.downloads(columns, f"batch-{batch_id}-source-{source.key}", key=f"moves-{source.key}")


def _before_and_after(ck: Checkpoint, batch_id: int, source: Source) -> None:
    start, end = ck.source_texts(batch_id, source.key)
    if start is not None and start == end:
        cards.text("No new data: the offset is the same before and after.", "small")
    elif start is None:
        previous = ck.previous_offset_id(batch_id)
        reason = "the first batch in the log" if previous is None else f"offsets/{previous} does not tell it"
        cards.text(f"Where this source stood before is not known: {reason}.", "small")
    if end is not None:
        cards.text(_describe(source, end), "small")


def _describe(source: Source, text: str) -> str:
    return "After: " + words.one_line(source.kind.describe(parse(text)), 400)


def _settings(ck: Checkpoint, batch_id: int, offset: OffsetEntry) -> None:
    previous = ck.previous_offset_id(batch_id)
    if previous is not None:
        ck.offset(previous)  # the change is told from the entry before
    changes = [change for change in ck.conf_changes() if change.batch_id == batch_id]
    if changes:
        cards.text(f"{words.counted(len(changes), 'pinned setting')} changed with this batch", "strong")
        columns = {
            "setting": [change.key for change in changes],
            "before": [_or_absent(change.before) for change in changes],
            "from this batch on": [_or_absent(change.after) for change in changes],
        }
        tables.table(columns, alt=f"Settings that changed with batch {batch_id}")
    elif previous is None:
        cards.text("Pinned settings: nothing to compare with, this is the first batch in the log.", "small")
    else:
        cards.text(f"Pinned settings: the same as in batch {previous}.", "small")
    with st.expander(f"All pinned settings ({len(offset.conf)})"):
        names = sorted(offset.conf)[:MOST_SETTINGS]
        columns = {"setting": names, "value": [offset.conf[name] for name in names]}
        tables.table(columns, alt=f"Settings pinned by batch {batch_id}")


def _or_absent(value: str | None) -> str:
    return "not in the file" if value is None else value


def _files(
    ck: Checkpoint, batch_id: int, offset: OffsetEntry | Problem | None, commit: CommitEntry | Problem | None
) -> None:
    with st.expander("The files as they are"):
        for name, file, entry in (
            ("offsets", ck.offset_files.get(batch_id), offset),
            ("commits", ck.commit_files.get(batch_id), commit),
        ):
            path = f"{name}/{batch_id}"
            if file is None:
                cards.text(f"{path}: there is no such file.", "small")
                continue
            when = f", written {words.moment(file.modified_ms)}" if file.modified_ms is not None else ""
            cards.text(f"{file.path}: {words.size(file.size_bytes)}{when}", "small")
            if entry is None:
                cards.text(
                    "It was there when the directory was listed and is gone now: removed by retention.",
                    "small",
                )
                continue
            raw = entry.raw.decode("utf-8", "replace") if isinstance(entry, Problem) else entry.raw
            cards.raw(raw)
            st.download_button(
                f"Download {name} file",
                raw,
                f"{name}-{batch_id}.txt",
                "text/plain",
                key=f"raw-{name}",
                on_click="ignore",
                type="tertiary",
            )
