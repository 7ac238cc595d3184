"""The answer of ``python -m core check``."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis.findings import Finding, Level, Severity
from core.analysis.findings.liveness import Liveness, Writer
from core.documents.base import Document, Part, Texts, paths
from core.judgement import Judgement
from core.sparklogs.evidence import Certainty


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingPart(Part):
    """One thing that was found. ``docs/findings.md`` has a section for each ``id``."""

    id: str
    severity: Severity
    certainty: Certainty
    sentence: str
    evidence: Texts
    action: str
    batch: int | None
    place: str | None
    """``operator/partition/store``, for a finding about the state."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestsPart(Part):
    """How many requests were sent to the store, and how many bytes of content came back."""

    list: int
    get: int
    head: int
    bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LivenessPart(Part):
    """Whether a query was seen writing between two listings."""

    writer: Writer
    certainty: Certainty
    sentence: str
    evidence: Texts
    seconds: float
    """The time between the two listings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckDocument(Document):
    """The integrity check: what is wrong, worst first, and what was and was not checked."""

    level: Level
    findings: tuple[FindingPart, ...]
    checked: Texts
    not_checked: Texts
    read: RequestsPart
    liveness: LivenessPart | None
    """With ``--watch`` only."""


def check_document(judgement: Judgement, liveness: Liveness | None = None) -> CheckDocument:
    """What was found, and how many requests it took."""
    report, read = judgement.findings, judgement.ck.door.requests
    return CheckDocument(
        location=judgement.ck.location.url,
        level=report.level,
        findings=tuple(finding_part(item) for item in report.findings),
        checked=report.checked,
        not_checked=report.not_checked,
        read=RequestsPart(list=read.list, get=read.get, head=read.head, bytes=read.bytes),
        liveness=_liveness(liveness),
    )


def finding_part(finding: Finding) -> FindingPart:
    """One finding."""
    return FindingPart(
        id=finding.id,
        severity=finding.severity,
        certainty=finding.certainty,
        sentence=finding.sentence,
        evidence=paths(finding.evidence),
        action=finding.action,
        batch=finding.batch_id,
        place=finding.place,
    )


def _liveness(liveness: Liveness | None) -> LivenessPart | None:
    if liveness is None:
        return None
    return LivenessPart(
        writer=liveness.writer,
        certainty=liveness.certainty,
        sentence=liveness.sentence,
        evidence=paths(liveness.evidence),
        seconds=liveness.seconds,
    )
