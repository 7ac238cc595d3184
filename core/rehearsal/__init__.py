"""A restart tried on a copy: ``rehearse`` copies what a start needs, runs the query there in a process of its
own, and holds what happened against the forecast. Checkpoint, sources and sink are only read."""

from __future__ import annotations

from core.rehearsal.model import (
    Against,
    Compared,
    Example,
    Failure,
    PlaceCompared,
    QueryRun,
    Rehearsal,
    RehearsalQuestion,
    RehearsedBatch,
)
from core.rehearsal.plans import PlansQuestion, plans_of
from core.rehearsal.rehearse import rehearse

__all__ = [
    "Against",
    "Compared",
    "Example",
    "Failure",
    "PlaceCompared",
    "PlansQuestion",
    "QueryRun",
    "Rehearsal",
    "RehearsalQuestion",
    "RehearsedBatch",
    "plans_of",
    "rehearse",
]
