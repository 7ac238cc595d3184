"""The forecast in a few words, and the one kind of start that it is: for headers, lists and marks."""

from __future__ import annotations

from typing import Literal

from core.analysis.forecast.model import Forecast
from core.messages import say_of

Tone = Literal["fails", "risk", "reruns", "resumes", "fresh_start", "unknown"]
"""What the next start does; "risk" is a start that works and may lose or repeat rows."""


def tone_of(found: Forecast | None) -> Tone:
    """The kind of start; "unknown" without a forecast."""
    if found is None:
        return "unknown"
    if found.outcome == "resume":
        return "risk" if found.is_data_risk else "resumes"
    return "fails" if found.outcome == "fail" else "reruns" if found.outcome == "rerun" else "fresh_start"


def in_few_words(found: Forecast | None) -> str:
    """``re-runs batch 8``, ``fails in batch 10``, ``resumes with batch 10``."""
    tone = tone_of(found)
    if found is not None and found.batch_id is not None and tone in ("fails", "reruns", "resumes"):
        return say_of("verdict", "NUMBERED", tone, batch=found.batch_id)
    return say_of("verdict", "WORDS", tone)
