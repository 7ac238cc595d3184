"""The steps of Spark's next start, for the pages that show them."""

from __future__ import annotations

from core.analysis.forecast import Forecast, Step
from ui import cards, tables

_MARKS = {True: "● holds", False: "▲ fails"}


def steps(forecast: Forecast, key: str) -> None:
    """What Spark reads and checks, in its order, with the file behind each step; then its error, word for
    word."""
    columns = {
        "result": [_result(step) for step in forecast.steps],  # first, so that a phone shows it
        "step": [step.what for step in forecast.steps],
        "file": [", ".join(map(str, step.evidence[:3])) for step in forecast.steps],
        "note": [step.note for step in forecast.steps],
    }
    tables.table(columns, alt="The steps of the next start", most=14)
    tables.downloads(columns, "next-start", key=key)
    if forecast.error is not None:
        cards.text("How Spark will word the error", "strong")
        cards.raw(forecast.error.message)


def _result(step: Step) -> str:
    if step.ok is None:
        return "○ not reached" if step.note.startswith("not reached") else "○ not judged"
    return _MARKS[step.ok]
