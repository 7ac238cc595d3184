"""The history of the sink: who wrote which batches, and what that tells of duplicates and gaps."""

from __future__ import annotations

from core.analysis.findings.sink_checks import past_findings
from core.checkpoint import Checkpoint
from core.connectors.sink_history import SinkHistory, SinkRun
from core.messages import say, say_of, words
from ui import cards, finding_cards, tables

MOST_RUNS = 200
SAID_ABOVE = ("SINK_FILES_WITHOUT_ENTRY",)  # by the state of the sink


def show(ck: Checkpoint, history: SinkHistory, sink_url: str) -> None:
    """A heading, the findings about the past, one row per run of batches."""
    cards.text(say("screen_connectors.history"), "section")
    found = list(past_findings(ck, history, sink_url))
    for item in found:
        if item.id not in SAID_ABOVE:
            finding_cards.one(ck, item)
    told = say(
        "screen_connectors.history_runs" if not found else "screen_connectors.history_runs_odd",
        runs=len(history.runs),
    )
    cards.text(told if history.runs else say("screen_connectors.history_empty"), "small")
    if history.runs:
        columns = as_columns(history.runs[-MOST_RUNS:])
        tables.table(columns, alt=say("screen_connectors.history_table"), most=8)
        tables.downloads(columns, "sink-history", key="sink-history")
    if history.limit_words:
        cards.text(words.capital(history.limit_words.rstrip(".")) + ".", "small")


def as_columns(runs: tuple[SinkRun, ...]) -> tables.Columns:
    """One row per run, oldest first."""
    return {
        "written by": [_writer(run) for run in runs],
        "batch IDs": [words.spanned(run.first_batch, run.last_batch) for run in runs],
        "batches": [run.batches for run in runs],
        "missing": [words.batches(run.missing) if run.missing else "none" for run in runs],
        "versions": [
            "none"
            if run.first_version is None or run.last_version is None
            else words.spanned(run.first_version, run.last_version, "version")
            for run in runs
        ],
        "rows": [run.rows for run in runs],
        "first (UTC)": [words.exact_moment(run.first_ms) for run in runs],
        "last (UTC)": [words.exact_moment(run.last_ms) for run in runs],
    }


def _writer(run: SinkRun) -> str:
    key = "own" if run.is_own else run.writer
    return say_of("screen_connectors", "WRITERS", key, writer_id=words.one_line(run.writer_id, 80))
