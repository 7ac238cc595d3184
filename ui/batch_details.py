"""One batch in detail: status and times, offsets before and after per partition, watermark, changed settings,
and the files as they are."""

from __future__ import annotations

import streamlit as st

from core.analysis.timeline import STATUSES, Timeline, moves, status_words
from core.checkpoint import Checkpoint, Source
from core.checkpoint.model import CommitEntry, OffsetEntry
from core.checkpoint.sources.base import Bound
from core.checkpoint.sources.forms import parse
from core.messages import say, words
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
    if timeline.from_history[row]:
        _figures(timeline, row, None, None)
        cards.message("plain", say("screen_past.one_batch", batch=batch_id))
        return
    offset, commit = ck.offset(batch_id), ck.commit(batch_id)
    for entry in (offset, commit):
        if isinstance(entry, Problem):
            cards.message(
                "blocked",
                say(
                    "screen_timeline.not_understood",
                    file=entry.evidence,
                    reason=words.one_line(entry.reason, 400),
                ),
            )
    if isinstance(offset, OffsetEntry):
        _sources(ck, batch_id)  # what it read is asked most
    _figures(timeline, row, offset, commit)
    if isinstance(offset, OffsetEntry):
        _settings(ck, batch_id, offset)
    _files(ck, batch_id, offset, commit)


def absent(ck: Checkpoint, timeline: Timeline, batch_id: int) -> str:
    """Why there is nothing to show about this batch."""
    if not len(timeline):
        return say("screen_timeline.asked_no_batch", batch=batch_id)
    first, last = int(timeline.batch_ids[0]), int(timeline.batch_ids[-1])
    if batch_id < first:
        return say("screen_timeline.asked_removed", batch=batch_id, first=first, last=last)
    if batch_id > last:
        return say("screen_timeline.asked_not_written", batch=batch_id, first=first, last=last)
    if ck.is_async:
        return say("screen_timeline.asked_not_logged", batch=batch_id)
    return say("screen_timeline.asked_absent", batch=batch_id)


def _is_within(timeline: Timeline, batch_id: int) -> bool:
    return any(gap.first <= batch_id <= gap.last and not gap.is_legal for gap in timeline.gaps)


def _figures(
    timeline: Timeline, row: int, offset: OffsetEntry | Problem | None, commit: CommitEntry | Problem | None
) -> None:
    status = STATUSES[int(timeline.status[row])]
    planned, committed = int(timeline.planned_ms[row]), int(timeline.committed_ms[row])
    took, gap = int(timeline.duration_ms[row]), int(timeline.gap_ms[row])
    basis = "offset log" if timeline.planned_from_log[row] else "file time"
    if timeline.from_history[row]:
        basis = "history"
    in_force = offset.watermark_ms if isinstance(offset, OffsetEntry) else None
    following = commit.next_watermark_ms if isinstance(commit, CommitEntry) else None
    tone: cards.Tone = "done" if status == "committed" else "doubt" if status == "pending" else "plain"
    if status in ("missing_commit", "missing_offset", "unreadable"):
        tone = "blocked"
    with st.container(key="batch-figures"), st.grid(5, min_column_width=150):
        cards.figure("Status", f"{cards.MARKS[tone]} {status_words(status)}", "", tone)
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
                say("screen_timeline.next_start", gap=gap)
                if gap >= 0
                else say("screen_timeline.no_later_batch"),
            )
        elif gap >= 0:
            cards.figure(
                "Duration", say("screen_timeline.at_most", gap=gap), say("screen_timeline.next_batch_began")
            )
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
        title: str = say("screen_timeline.source", key=source.key, kind=source.kind.label)
        if advance is not None and advance.amount is not None:
            bound = advance.bound if advance.amount else "exact"  # nothing is at most nothing
            title = _with_amount(source, words.amount(advance.amount, advance.unit), bound)
        cards.text(title, "strong")
        if advance is not None and advance.note:
            cards.text(advance.note, "small")
        _before_and_after(ck, batch_id, source, with_end=not source.kind.takes_topics or not found)
        if not found:
            continue
        columns: tables.Columns = {
            "partition": [move.partition for move in found],
            "before": [move.before for move in found],
            "after": [move.after for move in found],
            f"difference ({advance.unit if advance else 'offsets'})": [move.difference for move in found],
        }
        tables.table(columns, alt=say("screen_timeline.positions", key=source.key, batch=batch_id), most=12)
        tables.downloads(columns, f"batch-{batch_id}-source-{source.key}", key=f"moves-{source.key}")


def _with_amount(source: Source, amount: str, bound: Bound) -> str:
    key, kind = source.key, source.kind.label
    if bound == "at_most":
        return say("screen_timeline.source_at_most", key=key, kind=kind, amount=amount)
    if bound == "estimate":
        return say("screen_timeline.source_estimate", key=key, kind=kind, amount=amount)
    return say("screen_timeline.source_exact", key=key, kind=kind, amount=amount)


def _before_and_after(ck: Checkpoint, batch_id: int, source: Source, with_end: bool) -> None:
    """What the position was before; where the batch ended, unless a table of partitions says it."""
    start, end = ck.source_texts(batch_id, source.key)
    if start is not None and start == end:
        cards.text(say("screen_timeline.no_new_data"), "small")
    elif start is None:
        previous = ck.previous_offset_id(batch_id)
        cards.text(
            say("screen_timeline.before_first")
            if previous is None
            else say("screen_timeline.before_not_told", previous=previous),
            "small",
        )
    if end is not None and with_end:
        cards.text(_describe(source, end), "small")


def _describe(source: Source, text: str) -> str:
    return say("screen_timeline.after", offset=words.one_line(source.kind.describe(parse(text)), 400))


def _settings(ck: Checkpoint, batch_id: int, offset: OffsetEntry) -> None:
    previous = ck.previous_offset_id(batch_id)
    if previous is not None:
        ck.offset(previous)  # the change is told from the entry before
    changes = [change for change in ck.conf_changes() if change.batch_id == batch_id]
    if changes:
        cards.text(say("screen_timeline.settings_changed", n=len(changes)), "strong")
        columns = {
            "setting": [change.key for change in changes],
            "before": [_or_absent(change.before) for change in changes],
            "from this batch on": [_or_absent(change.after) for change in changes],
        }
        alt = say("screen_timeline.settings_changed_table", batch=batch_id)
        tables.sides(columns, alt=alt, key="settings-changed")
    elif previous is None:
        cards.text(say("screen_timeline.settings_first"), "small")
    else:
        cards.text(say("screen_timeline.settings_same", previous=previous), "small")
    with st.expander(say("screen_timeline.settings_all", n=len(offset.conf))):
        names = sorted(offset.conf)[:MOST_SETTINGS]
        columns = {"setting": names, "value": [offset.conf[name] for name in names]}
        tables.sides(columns, alt=say("screen_timeline.settings_table", batch=batch_id), key="settings")


def _or_absent(value: str | None) -> str:
    return "not in the file" if value is None else value


def _files(
    ck: Checkpoint, batch_id: int, offset: OffsetEntry | Problem | None, commit: CommitEntry | Problem | None
) -> None:
    with st.expander(say("screen_timeline.raw")):
        for name, file, entry in (
            ("offsets", ck.offset_files.get(batch_id), offset),
            ("commits", ck.commit_files.get(batch_id), commit),
        ):
            path = f"{name}/{batch_id}"
            if file is None:
                cards.text(say("screen_timeline.raw_missing", path=path), "small")
                continue
            ms, size = file.modified_ms, file.size_bytes
            cards.text(
                say("screen_timeline.raw_file", path=file.path, size_bytes=size)
                if ms is None
                else say("screen_timeline.raw_file_written", path=file.path, size_bytes=size, ms=ms),
                "small",
            )
            if entry is None:
                cards.text(say("screen_timeline.raw_removed"), "small")
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
