"""The answer of ``python -m core survey``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.analysis.findings import Level
from core.documents.base import Document, Part, Texts
from core.documents.check import RequestsPart
from core.sparklogs.evidence import Certainty
from core.survey import RootSearch, Status, SurveyRow


@dataclass(frozen=True, kw_only=True, slots=True)
class RootPart(Part):
    """A root that was searched for checkpoints."""

    root: str
    """Its name in the settings, else its URL."""
    location: str
    checkpoints: int
    listed: int
    """Directories that were listed."""
    is_complete: bool
    """False: the search stopped at a limit, or a directory had more names than were looked at."""
    skipped: Texts
    """Checkpoints below it that were skipped, because no location can hold their names (a line break)."""
    too_deep: int
    """Directories that were not looked into, because they lie below the last level."""
    error: str | None
    """Why it could not be searched."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CountsPart(Part):
    """How many findings of each severity; null where none were looked for."""

    blocks_restart: int
    data_risk: int
    attention: int


@dataclass(frozen=True, kw_only=True, slots=True)
class OperatorFactsPart(Part):
    """A stateful operator."""

    operator: int
    name: str | None
    """Spark's own name; null when nothing tells it."""
    size_bytes: int | None
    skew: float | None
    """How many times the median the largest partition has, of its most uneven store."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SurveyRowPart(Part):
    """One checkpoint."""

    root: str
    path: str
    """Below the root; empty when the root is the checkpoint itself."""
    location: str
    is_temporary: bool
    """The place is gone with the session, the cluster or the next restart of the machine."""
    query_id: str | None
    status: Status
    """What happens at the next start. `unknown`: something that it needs could not be read; `unreadable`:
    nothing could, which is no damage."""
    certainty: Certainty | None
    sentence: str
    next_batch: int | None
    """The first batch of the next start; null when none runs."""
    last_committed_batch: int | None
    pending_batch: int | None
    read_at_ms: int
    newest_ms: int | None
    age_seconds: int | None
    """From the newest entry of the logs to the moment of reading."""
    sources: Texts
    written_by: str | None
    """The oldest Spark that can have written it."""
    batches_per_hour: float | None
    median_duration_ms: int | None
    watermark_lag_ms: int | None
    watermark_stalled_batches: int | None
    operators: int | None
    operator_state: tuple[OperatorFactsPart, ...]
    """Each stateful operator; empty when the state was not listed."""
    state_bytes: int | None
    state_skew: float | None
    """How many times the median the largest partition has, of the most uneven store."""
    log_bytes: int | None
    source_bytes: int | None
    total_bytes: int | None
    files: int | None
    files_per_batch: float | None
    """What a batch writes on average: its two log files and its state files."""
    findings: CountsPart | None
    worst_finding: str | None
    not_read: Texts
    """What could not be read; nothing in the row rests on it."""
    error: str | None
    read: RequestsPart
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptPart(Part):
    """Where the rows were appended."""

    location: str
    format: Literal["parquet", "csv", "json", "delta"]
    surveyed_at_ms: int
    """The column `surveyed_at` of these rows."""
    rows: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SurveyDocument(Document):
    """Many checkpoints at once: one row for each, what needs attention first on top."""

    location: str
    """The first root that was asked for."""
    level: Level
    roots: tuple[RootPart, ...]
    rows: tuple[SurveyRowPart, ...]
    engine: Literal["local", "spark"]
    """Who read the checkpoints; the rows are the same."""
    kept: KeptPart | None
    """Where the rows were appended; null when nobody asked for it."""
    seconds: float


def survey_document(
    searched: Sequence[RootSearch],
    rows: Sequence[SurveyRow],
    level: Level,
    seconds: float,
    engine: Literal["local", "spark"] = "local",
    kept: KeptPart | None = None,
) -> SurveyDocument:
    """The rows in the order they are given in."""
    return SurveyDocument(
        location=searched[0].url,
        level=level,
        roots=tuple(_root(found) for found in searched),
        rows=tuple(row_part(row) for row in rows),
        engine=engine,
        kept=kept,
        seconds=round(seconds, 3),
    )


def _root(found: RootSearch) -> RootPart:
    return RootPart(
        root=found.root,
        location=found.url,
        checkpoints=len(found.places),
        listed=found.listed,
        is_complete=found.is_complete,
        skipped=found.skipped,
        too_deep=found.too_deep,
        error=found.error,
    )


def row_part(row: SurveyRow) -> SurveyRowPart:
    """One row."""
    counts, read = row.findings, row.requests
    return SurveyRowPart(
        root=row.root,
        path=row.path,
        location=row.location,
        is_temporary=row.is_temporary,
        query_id=row.query_id,
        status=row.status,
        certainty=row.certainty,
        sentence=row.sentence,
        next_batch=row.next_batch,
        last_committed_batch=row.last_committed_batch,
        pending_batch=row.pending_batch,
        read_at_ms=row.read_at_ms,
        newest_ms=row.newest_ms,
        age_seconds=row.age_seconds,
        sources=row.sources,
        written_by=row.written_by,
        batches_per_hour=row.batches_per_hour,
        median_duration_ms=row.median_duration_ms,
        watermark_lag_ms=row.watermark_lag_ms,
        watermark_stalled_batches=row.watermark_stalled_batches,
        operators=row.operators,
        operator_state=tuple(
            OperatorFactsPart(
                operator=found.operator, name=found.name, size_bytes=found.size_bytes, skew=found.skew
            )
            for found in row.operator_state
        ),
        state_bytes=row.state_bytes,
        state_skew=row.state_skew,
        log_bytes=row.log_bytes,
        source_bytes=row.source_bytes,
        total_bytes=row.total_bytes,
        files=row.files,
        files_per_batch=row.files_per_batch,
        findings=None
        if row.error is not None
        else CountsPart(
            blocks_restart=counts.get("blocks_restart", 0),
            data_risk=counts.get("data_risk", 0),
            attention=counts.get("attention", 0),
        ),
        worst_finding=row.worst_finding,
        not_read=row.not_read,
        error=row.error,
        read=RequestsPart(list=read.list, get=read.get, head=read.head, bytes=read.bytes),
        seconds=row.seconds,
    )
