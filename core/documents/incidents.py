"""The answer of ``python -m core incidents``."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis.forecast.model import Outcome
from core.documents.base import Document, Part
from core.incident import KeptEvidence, KeptList


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentPart(Part):
    """One evidence file in the incident store."""

    opens_as: str
    """What names it in place of a location: ``evidence:`` and the first 32 digits of its SHA-256."""
    kept_ms: int | None
    """When it was added (epoch milliseconds)."""
    size_bytes: int
    moment_ms: int | None
    """When the logs were listed; null where the file was not looked into."""
    checkpoint: str | None
    """Where the checkpoint lay."""
    outcome: Outcome | None
    """What the forecast of the time said of the next start; null where none was recorded."""
    batch_id: int | None
    sentence: str | None
    with_state_contents: bool | None
    problem: str | None
    """Why nothing more is known of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentsDocument(Document):
    """The evidence files in the incident store, newest first. ``location`` is the store."""

    of: str | None
    """The checkpoint that was asked for; null: all."""
    total: int
    """How many evidence files the store has; no more than the setting says are in ``incidents``."""
    incidents: tuple[IncidentPart, ...]


def incidents_document(found: KeptList, store: str, of: str | None) -> IncidentsDocument:
    """What the store holds."""
    return IncidentsDocument(
        location=store, of=of, total=found.total, incidents=tuple(_part(each) for each in found.entries)
    )


def _part(each: KeptEvidence) -> IncidentPart:
    record = each.record
    return IncidentPart(
        opens_as=each.name,
        kept_ms=each.kept_ms,
        size_bytes=each.size_bytes,
        moment_ms=None if record is None else record.moment_ms,
        checkpoint=None if record is None else record.location,
        outcome=each.outcome,
        batch_id=each.batch_id,
        sentence=each.sentence,
        with_state_contents=None if record is None else record.with_state_contents,
        problem=each.problem,
    )
