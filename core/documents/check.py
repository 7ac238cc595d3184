"""The answer of ``python -m core check``."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis.checkpoint_size import Amount, CheckpointSize
from core.analysis.findings import Finding, Level, Severity
from core.analysis.findings.liveness import Liveness, Writer
from core.documents.base import Document, Part, Texts, paths
from core.documents.connectors import SinkRunPart, sink_runs
from core.judgement import Judgement
from core.recovery import Answers
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
    rewind_to: int | None
    """``recover --option rewind --set to_batch=...`` rolls back to this batch; null where it cannot."""
    option: str | None
    """The recovery option that repairs exactly this; null when no option does."""
    recipe: str | None
    """The recovery option that the action leads to; null where only a person can decide."""
    decision: str | None
    """What a person has to decide, before any recipe; null where nothing is left open."""


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
class AmountPart(Part):
    """Files and their bytes; null where the store gives no sizes."""

    files: int
    bytes: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SizePart(Part):
    """How large the checkpoint is and what Spark removes next. The level quick lists neither source logs nor
    state."""

    logs: AmountPart
    """The offset log and the commit log."""
    sources: AmountPart | None
    state: AmountPart | None
    first_batch: int | None
    last_batch: int | None
    kept_batches: int
    removed_next: int | None
    """The batch whose log files Spark removes when the next batch is committed; null while the logs begin at
    batch 0."""
    sentence: str


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
    size: SizePart
    sink_history: tuple[SinkRunPart, ...] | None
    """Who wrote which batches to the sink, oldest first. With ``--sink`` only."""


def check_document(judgement: Judgement, liveness: Liveness | None = None) -> CheckDocument:
    """What was found, with actions that the recovery options allow, and how many requests it took."""
    report, read = judgement.actions(Answers()), judgement.ck.door.requests
    return CheckDocument(
        location=judgement.ck.location.url,
        level=report.level,
        findings=tuple(finding_part(item) for item in report.findings),
        checked=report.checked,
        not_checked=report.not_checked,
        read=RequestsPart(list=read.list, get=read.get, head=read.head, bytes=read.bytes),
        liveness=_liveness(liveness),
        size=_size(judgement.size),
        sink_history=sink_runs(judgement.sink_history),
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
        rewind_to=finding.rewind_to,
        option=finding.option,
        recipe=finding.recipe,
        decision=finding.decision,
    )


def _size(size: CheckpointSize) -> SizePart:
    return SizePart(
        logs=AmountPart(files=size.logs.files, bytes=size.logs.size_bytes),
        sources=_amount(size.sources),
        state=_amount(size.state),
        first_batch=size.first_batch,
        last_batch=size.last_batch,
        kept_batches=size.kept_batches,
        removed_next=size.removed_next,
        sentence=f"{size.sentence} {size.retention}",
    )


def _amount(amount: Amount | None) -> AmountPart | None:
    return None if amount is None else AmountPart(files=amount.files, bytes=amount.size_bytes)


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
