"""The answer of ``python -m core resume``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from core.checkpoint import Checkpoint
from core.documents.base import Document, Part
from core.recovery.resume import ResumeAnswer, SourceResume
from core.sparklogs.evidence import Certainty


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceResumePart(Part):
    """The start position of one source for a new checkpoint."""

    key: str
    kind: str
    exact: bool
    """The options start exactly at the end of ``batch``. A batch older than the last committed one is read
    again from there on purpose: ``repeats`` names what follows it."""
    options: Mapping[str, str] | None
    """Options of the reader; null where no start option can express the position."""
    repeats: str
    skips: str
    note: str
    certainty: Certainty
    seed: Literal["file_source_log", "transplant"] | None
    """Another exact way where options cannot do it."""
    code: str
    """Another exact way as PySpark, for a query that cannot take the options; empty when there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResumeDocument(Document):
    """Where a new checkpoint has to start so that it resumes after a batch of this one."""

    batch: int | None
    """null: where the query began, because nothing is committed."""
    committed: bool
    note: str
    sources: tuple[SourceResumePart, ...]
    """Empty when the files give no position; ``note`` then says why."""


def resume_document(ck: Checkpoint, answer: ResumeAnswer) -> ResumeDocument:
    """The start positions."""
    return ResumeDocument(
        location=ck.location.url,
        batch=answer.batch,
        committed=answer.is_committed,
        note=answer.note,
        sources=tuple(_source(source) for source in answer.sources),
    )


def _source(source: SourceResume) -> SourceResumePart:
    point = source.point
    return SourceResumePart(
        key=source.key,
        kind=source.kind.name,
        exact=point.exact,
        options=point.options,
        repeats=point.repeats,
        skips=point.skips,
        note=point.note,
        certainty=point.certainty,
        seed=point.seed,
        code=point.code,
    )
