"""The forecast in a few words, and the one kind of start that it is: for headers, lists and marks."""

from __future__ import annotations

from typing import Literal

from core.analysis.forecast.model import Forecast, Outcome
from core.messages import say_of

Tone = Literal["fails", "risk", "reruns", "resumes", "fresh_start", "unused", "unknown"]
"""What the next start does; "risk" is a start that works and may lose or repeat rows."""

_OF_OUTCOME: dict[Outcome, Tone] = {
    "resume": "resumes",
    "rerun": "reruns",
    "fail": "fails",
    "fresh_start": "fresh_start",
}


def tone_of(found: Forecast | None) -> Tone:
    """The kind of start; "unknown" without a forecast."""
    if found is None:
        return "unknown"
    if found.is_unused:
        return "unused"
    return "risk" if found.outcome == "resume" and found.is_data_risk else _OF_OUTCOME[found.outcome]


def in_few_words(found: Forecast | None) -> str:
    """``re-runs batch 8``, ``fails in batch 10``, ``resumes with batch 10``."""
    return _few_words(tone_of(found), None if found is None else found.batch_id)


def of_outcome(outcome: Outcome | None, batch_id: int | None) -> str:
    """The same of a forecast of which only this was kept."""
    return _few_words("unknown" if outcome is None else _OF_OUTCOME[outcome], batch_id)


def _few_words(tone: Tone, batch_id: int | None) -> str:
    if batch_id is not None and tone in ("fails", "reruns", "resumes"):
        return say_of("verdict", "NUMBERED", tone, batch=batch_id)
    return say_of("verdict", "WORDS", tone)
