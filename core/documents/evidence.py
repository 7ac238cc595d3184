"""The answer of ``python -m core evidence``."""

from __future__ import annotations

from dataclasses import dataclass

from core.documents.base import Document, Part, Texts
from core.incident import Kept, Taken
from core.storage.evidence_manifest import NotTaken


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOutPart(Part):
    """A file of the checkpoint that is in the evidence by name, size and time only."""

    path: str
    size_bytes: int | None
    why: NotTaken
    """state_contents, foreign, too_large, full or not_read."""
    reason: str | None
    """Of not_read: the words of the store."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceDocument(Document):
    """What an evidence file holds."""

    file: str
    """The path of the evidence file, or its URL in the incident store."""
    opens_as: str | None
    """In the incident store: what names it in place of a location, ``evidence:`` and the first 32 digits of
    its SHA-256."""
    sha256: str
    """Of the whole file."""
    size_bytes: int
    """Of the whole file."""
    moment_ms: int
    """When the logs were listed (epoch milliseconds)."""
    with_state_contents: bool
    files_listed: int
    files_taken: int
    """With their contents."""
    taken_bytes: int
    """Of these contents, unpacked."""
    left_out: tuple[LeftOutPart, ...]
    answers: Texts
    """Verbs whose answer at the time is in the file (``answers/<verb>.json``)."""
    not_listed: Texts
    """Directories that could not be listed."""
    gone: Texts
    """Files that the query removed while the evidence was taken."""


def evidence_document(taken: Taken, location: str, kept: Kept | None = None) -> EvidenceDocument:
    """What was written; ``kept``: into the incident store."""
    manifest = taken.manifest
    return EvidenceDocument(
        location=location,
        file=str(taken.path) if kept is None else kept.location.without_credentials(),
        opens_as=None if kept is None else kept.name,
        sha256=taken.sha256,
        size_bytes=taken.size_bytes,
        moment_ms=manifest.moment_ms,
        with_state_contents=manifest.with_state_contents,
        files_listed=len(manifest.files),
        files_taken=len(taken.contents),
        taken_bytes=sum(file.taken_bytes or 0 for file in taken.contents),
        left_out=tuple(
            LeftOutPart(
                path=file.info.path, size_bytes=file.info.size_bytes, why=file.not_taken, reason=file.reason
            )
            for file in manifest.files
            if file.not_taken is not None
        ),
        answers=tuple(sorted(manifest.answers)),
        not_listed=tuple(sorted(manifest.not_listed)),
        gone=taken.gone,
    )
