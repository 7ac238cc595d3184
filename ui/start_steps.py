"""The steps of Spark's next start, for the pages that show them."""

from __future__ import annotations

from collections.abc import Mapping

from core.analysis.forecast import Forecast, StepStatus
from ui import cards, tables

_RESULTS: Mapping[StepStatus, str] = {
    "passes": "● passes",
    "fails": "▲ fails",
    "does_not_apply": "– does not apply",
    "cannot_be_judged": "○ cannot be judged",
    "not_checked": "○ not checked",
    "not_reached": "○ not reached",
}


def steps(forecast: Forecast, key: str) -> None:
    """What Spark reads and checks, in its order, with the file behind each step; then its error, word for
    word."""
    columns = {
        "result": [_RESULTS[step.status] for step in forecast.steps],  # first, so that a phone shows it
        "step": [step.what for step in forecast.steps],
        "file": [", ".join(map(str, step.evidence[:3])) for step in forecast.steps],
        "note": [step.note for step in forecast.steps],
    }
    tables.table(columns, alt="The steps of the next start", most=14)
    tables.downloads(columns, "next-start", key=key)
    if forecast.error is not None:
        cards.text("How Spark will word the error", "strong")
        cards.raw(forecast.error.message)
