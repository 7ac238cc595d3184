"""The answer of ``python -m core compare``."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis.comparison import Area, Comparison
from core.checkpoint import Checkpoint
from core.documents.base import Document, Part, Texts


@dataclass(frozen=True, kw_only=True, slots=True)
class DifferencePart(Part):
    """One difference."""

    area: Area
    what: str
    a: str | None
    """Null: it is not there."""
    b: str | None
    """Null: it is not there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompareDocument(Document):
    """Where two checkpoints differ."""

    location: str
    """The first checkpoint, A."""
    other: str
    """The second checkpoint, B."""
    equal: bool
    """Nothing differs in what was compared."""
    differences: tuple[DifferencePart, ...]
    not_compared: Texts


def compare_document(a: Checkpoint, b: Checkpoint, found: Comparison) -> CompareDocument:
    """The comparison of two checkpoints."""
    return CompareDocument(
        location=a.location.url,
        other=b.location.url,
        equal=found.is_equal,
        differences=tuple(
            DifferencePart(area=one.area, what=one.what_with_unit, a=one.a, b=one.b)
            for one in found.differences
        ),
        not_compared=found.not_compared,
    )
