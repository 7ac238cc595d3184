"""The steps of Spark's next start, for the pages that show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import streamlit as st

from core.analysis.forecast import Forecast, Step, StepStatus
from core.messages import say, say_of, words
from ui import cards, tables

_RESULTS: Mapping[StepStatus, str] = {
    "passes": "● passes",
    "fails": "▲ fails",
    "does_not_apply": "– does not apply",
    "cannot_be_judged": "○ cannot be judged",
    "not_checked": "○ not checked",
    "not_reached": "○ not reached",
}

_IN_FULL: tuple[StepStatus, ...] = ("fails", "cannot_be_judged", "not_checked")
_FOLDED: tuple[StepStatus, ...] = ("passes", "does_not_apply", "not_reached")


def steps(forecast: Forecast, key: str) -> None:
    """What Spark reads and checks, in its order, with file and note of each step in full; then its error,
    word for word."""
    with st.container(gap="xsmall"):
        for step in forecast.steps:
            _one(step)
    tables.downloads(as_columns(forecast), "next-start", key=key)
    if forecast.error is not None:
        cards.text(say("screen_start.error"), "strong")
        cards.raw(forecast.error.message)


def open_first(forecast: Forecast, key: str) -> None:
    """The same with what fails or is not known in full, and the steps that pass behind their number."""
    counts = Counter(step.status for step in forecast.steps)
    first = [step for step in forecast.steps if step.status in _IN_FULL]
    with st.container(gap="xsmall"):
        for step in first:
            _one(step)
    if forecast.error is not None:
        cards.text(say("screen_start.error"), "strong")
        cards.raw(forecast.error.message)
    titles = [
        say_of("screen_start", "STEPS", status, n=counts[status]) for status in _FOLDED if counts[status]
    ]
    with st.expander(words.capital(", ".join(titles)) or say("screen_start.no_step")):
        for step in forecast.steps:
            if step.status not in _IN_FULL:
                _one(step)
        tables.downloads(as_columns(forecast), "next-start", key=key)


def _one(step: Step) -> None:
    with st.container(gap=None):
        cards.text(f"{_RESULTS[step.status]}: {step.what}", "strong" if step.ok is False else "plain")
        proof = [", ".join(map(str, step.evidence[:3])), step.note]
        if any(proof):
            cards.text(" · ".join(part for part in proof if part), "small")


def as_columns(forecast: Forecast) -> tables.Columns:
    """One row per step."""
    return {
        "result": [_RESULTS[step.status] for step in forecast.steps],
        "step": [step.what for step in forecast.steps],
        "file": [", ".join(map(str, step.evidence)) for step in forecast.steps],
        "note": [step.note for step in forecast.steps],
    }


def rules(forecast: Forecast) -> None:
    """Whose rules are applied, and why those."""
    cards.text(say("screen_start.rules", spark=forecast.spark, why=forecast.spark_why), "small")


def not_checked(parts: Sequence[str]) -> None:
    """What was not looked at."""
    cards.text(
        say("screen_start.not_checked", parts="; ".join(parts))
        if parts
        else say("screen_start.nothing_left_out"),
        "small",
    )
