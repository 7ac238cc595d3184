"""The answer of ``python -m core report``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.documents.base import Document, Part
from core.incident import Report

Format = Literal["markdown", "html", "chat"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FactPart(Part):
    """One line of the end of the report."""

    label: str
    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportDocument(Document):
    """An incident report."""

    format: Format
    file: str | None
    """Where it was written; null when it was not written to a file."""
    text: str
    """The report itself."""
    moment_ms: int
    """When the logs were listed (epoch milliseconds)."""
    is_evidence: bool
    """Whether it was made from an evidence file: it then speaks of that moment."""
    evidence_sha256: str | None
    """Of the evidence file that is named in the report."""
    link: str | None
    next_start: Literal["fails", "risk", "reruns", "resumes", "fresh_start", "unused", "unknown"]
    """What happens at the next start; risk: it works, and rows may be lost or come twice; unused: a
    declarative pipeline starts from another checkpoint."""
    sentence: str
    facts: tuple[FactPart, ...]


def report_document(
    report: Report,
    form: Format,
    text: str,
    file: str | None,
    location: str,
    moment_ms: int,
    is_evidence: bool,
) -> ReportDocument:
    """The report with what it was made from."""
    return ReportDocument(
        location=location,
        format=form,
        file=file,
        text=text,
        moment_ms=moment_ms,
        is_evidence=is_evidence,
        evidence_sha256=report.sha256 or None,
        link=report.link or None,
        next_start=report.tone,
        sentence=report.sentence,
        facts=tuple(FactPart(label=label, value=value) for label, value in report.facts),
    )
