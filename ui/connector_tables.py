"""A Delta source against its table, and a sink (Delta or files) against the batches of the query."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.connectors.model import DeltaSourceState, SinkBatch, SinkState
from core.messages import say, say_of, words
from ui import cached_answers, cards, charts, connector_charts, links, selection, tables

MOST_WARNINGS = 10


def delta_source(end: DeltaSourceState) -> None:
    """Position, lag and availability of one Delta source."""
    if end.trouble is not None:
        cards.message("plain", end.trouble)
        return
    bad = end.is_available is False or end.same_table is False
    cards.message(
        "blocked" if bad else "done" if end.is_available else "plain",
        end.sentence,
        cached_answers.CERTAINTY[end.certainty],
    )
    with st.grid(4, min_column_width=165):
        behind = words.NOT_KNOWN if end.lag_versions is None else words.counted(end.lag_versions, "version")
        cards.figure("Behind", behind, _lag(end))
        cards.figure("Position", _version(end.position), say("screen_connectors.reservoir"))
        needed = {
            True: say("screen_connectors.log_there"),
            False: say("screen_connectors.log_gone"),
            None: say("screen_connectors.log_not_known"),
        }[end.is_available]
        cards.figure(
            "Needs the log from",
            _version(end.needed_from),
            needed,
            "blocked" if end.is_available is False else "plain",
        )
        cards.figure(
            "The table has",
            _version(end.newest),
            say("screen_connectors.newest_of", oldest=_version(end.oldest)),
        )
    alt = say("screen_connectors.versions_alt", sentence=end.sentence)
    charts.show(
        connector_charts.bars([connector_charts.delta_bar(end)], None, ("oldest kept", "newest")),
        f"versions-{end.key}",
        alt,
    )
    notes = [
        say("screen_connectors.log_kept", retention=end.retention_words) if end.retention_words else "",
        end.limit_words,
    ]
    cards.text(" ".join(note for note in notes if note), "small")
    tables.behind(lambda: delta_columns(end), alt, f"delta-source-{words.file_name(end.key)}")


def _version(value: int | None) -> str:
    return words.NOT_KNOWN if value is None else f"version {value}"


def _lag(end: DeltaSourceState) -> str:
    parts = []
    if end.lag_files is not None:
        parts.append(words.counted(end.lag_files, "file"))
    if end.lag_bytes is not None:
        parts.append(words.size(end.lag_bytes))
    parts.append("rows not known" if end.lag_rows is None else words.amount(end.lag_rows, "rows"))
    return ", ".join(parts)


def delta_columns(end: DeltaSourceState) -> tables.Columns:
    """The facts of a Delta source, one per row."""
    yes = {True: "yes", False: "no", None: words.NOT_KNOWN}
    facts: list[tuple[str, object]] = [
        ("table", end.url),
        ("table id", end.table_id),
        ("table of the checkpoint", yes[end.same_table]),
        ("oldest version", end.oldest),
        ("newest version", end.newest),
        ("position", end.position),
        ("needed from version", end.needed_from),
        ("available", yes[end.is_available]),
        ("versions behind", end.lag_versions),
        ("files behind", end.lag_files),
        ("bytes behind", end.lag_bytes),
        ("rows behind", end.lag_rows),
        ("retention", end.retention_words or words.NOT_KNOWN),
    ]
    return {
        "fact": [name for name, _ in facts],
        "value": [words.NOT_KNOWN if value is None else str(value) for _, value in facts],
    }


def sink(end: SinkState, pending: int | None) -> None:
    """What the sink holds of this query. ``pending``: the batch that is planned and not committed."""
    if end.trouble is not None:
        cards.message("plain", end.trouble)
        return
    is_odd = bool(end.warnings) or any(row.fate == "missing" for row in end.batches)
    tone: cards.Tone = "doubt" if is_odd else "plain" if end.holds_up_to_batch is None else "done"
    proof = [cached_answers.CERTAINTY[end.certainty], *end.evidence[:6]]
    cards.message(tone, end.sentence, " · ".join(proof))
    for warning in end.warnings[:MOST_WARNINGS]:
        cards.message("doubt", warning)
    if not end.has_log:
        return
    with st.grid(4, min_column_width=165):
        holds = "none" if end.holds_up_to_batch is None else f"batch {end.holds_up_to_batch}"
        cards.figure(say("screen_connectors.contains_up_to"), holds, say("screen_connectors.newest_in_sink"))
        if pending is None:
            cards.figure("Pending batch", "none", say("screen_connectors.no_pending"))
        else:
            fate = say_of("screen_connectors", "PENDING", end.pending or "unknown")
            cards.figure(
                "Pending batch", f"batch {pending}", fate, "doubt" if end.pending == "skipped" else "plain"
            )
        skips = "none" if end.skips_up_to is None else f"up to {end.skips_up_to}"
        cards.figure(
            "Batches that are skipped",
            skips,
            say("screen_connectors.skipped_delta" if end.knows_queries else "screen_connectors.skipped"),
        )
        if end.skips_any_query:
            unknown = sum(row.files or 0 for row in end.batches if row.fate == "uncommitted")
            cards.figure(
                "Files without a commit",
                words.number(unknown),
                say("screen_connectors.in_no_entry"),
                "doubt" if unknown else "plain",
            )
        else:
            foreign = sum(1 for row in end.batches if row.fate == "foreign")
            cards.figure("Other commits", words.number(foreign), say("screen_connectors.others"))
    if not end.batches:
        return
    told = sink_words(end)
    cards.text(say("screen_connectors.click", text=told), "small")
    picture = st.container()
    chosen = selection.number_field("Batch", "batch", "id")
    with picture:
        charts.show(
            connector_charts.sink(end, chosen), "sink-batches", f"{told} {end.sentence}", clicked, True
        )
    if chosen is not None:
        chosen_batch(end.batches, chosen)
    if end.limit_words:
        cards.text(end.limit_words, "small")
    tables.behind(lambda: as_columns(end.batches), told, "sink-batches")


def sink_words(end: SinkState) -> str:
    """What the picture of a sink shows: how many of each fate."""
    counts = {
        fate: sum(1 for row in end.batches if row.fate == fate)
        for fate in connector_charts.FATES
        if fate != "uncommitted"
    }
    parts = [f"{many:,} {connector_charts.FATES[fate][0]}" for fate, many in counts.items() if many]
    open_ones = [row for row in end.batches if row.fate == "uncommitted"]
    unknown = sum(row.files or 0 for row in open_ones)
    if unknown:
        parts.append(f"{words.counted(unknown, 'file')} without a commit")
    parts.extend(
        f"batch {row.batch_id} {connector_charts.fate_words(row)}"
        for row in open_ones
        if not row.files and row.batch_id is not None
    )
    rows = [row.rows for row in end.batches if row.fate == "written" and row.rows is not None]
    if rows:
        parts.append(f"{words.amount(sum(rows), 'rows')} in these batches")
    return say(
        "screen_connectors.against_versions" if end.knows_queries else "screen_connectors.against_log",
        parts=parts,
    )


def clicked() -> None:
    """A mark of the sink was clicked: its batch becomes the chosen one."""
    batch_id = charts.clicked_value("sink-batches")
    if isinstance(batch_id, int | float) and batch_id >= 0:
        links.choose(batch=int(batch_id))


def chosen_batch(batches: Sequence[SinkBatch], chosen: int) -> None:
    """The chosen batch in the sink."""
    mine = [row for row in batches if row.batch_id == chosen]
    for row in mine[:3]:
        cards.text(
            connector_charts.hover_of(row)[0].upper() + connector_charts.hover_of(row)[1:] + ".", "strong"
        )
    if not mine:
        cards.text(say("screen_connectors.batch_not_found", batch=chosen), "strong")
    st.page_link(
        "pages/timeline.py",
        label=say("screen_connectors.to_batch", batch=chosen),
        query_params={"batch": str(chosen)},
    )


def as_columns(batches: Sequence[SinkBatch]) -> tables.Columns:
    """One row per batch or commit."""
    return {
        "batch": [row.batch_id if row.batch_id is not None else "not of this query" for row in batches],
        "version": [row.version if row.version is not None else "none" for row in batches],
        "what became of it": [connector_charts.fate_words(row) for row in batches],
        "operation": [row.operation for row in batches],
        "time (UTC)": [
            words.exact_moment(row.timestamp_ms) if row.timestamp_ms is not None else words.NOT_KNOWN
            for row in batches
        ],
        "rows": [row.rows for row in batches],
        "files": [row.files for row in batches],
    }
