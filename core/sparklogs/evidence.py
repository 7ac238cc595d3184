"""Where a statement comes from, how sure it is, and what is wrong with a file that cannot be understood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.messages import Sentence, say
from core.storage import Content, Gone, ReadFailure

Certainty = Literal["certain", "inferred", "needs_input"]

Condition = Literal[
    "unreadable",
    "not_text",
    "empty",
    "truncated",
    "no_version",
    "unknown_version",
    "bad_json",
    "bad_shape",
    "not_an_id",
    "mismatch",
    "surplus_bytes",
]

# Of a file that cannot be understood so much is kept to be shown; a log file has a few kB.
RAW_LIMIT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a statement comes from: a path below the checkpoint root and, in a text file, the line (from
    1)."""

    path: str
    line: int | None = None

    def __str__(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that is there and cannot be understood: shown raw and counted, never dropped.

    ``reason`` is one sentence for a person: what is wrong with the file; ``clause`` is the same without the
    name of the file. ``condition`` is a short stable word for programs:

    * ``unreadable``: its content is NOT KNOWN (no permission, a network error, larger than what is read);
    * all others: its content was read and is damaged: ``empty``, ``not_text`` (not UTF-8), ``truncated``,
      ``no_version``, ``unknown_version``, ``bad_json``, ``bad_shape`` (JSON that is not what it should be),
      ``not_an_id``, ``surplus_bytes``, ``mismatch`` (it can be read, and contradicts what lies around it).
    """

    evidence: Evidence
    condition: Condition
    reason: str
    raw: bytes = b""
    clause: str = ""

    @property
    def is_read_failure(self) -> bool:
        """Whether nothing is known of the content: the file could not be read. It may be perfectly valid."""
        return self.condition == "unreadable"


@dataclass(frozen=True, slots=True)
class NotRead:
    """A file or directory whose content is not known here. ``path`` is below the checkpoint (a directory
    ends in ``/``), or the whole URL of one beside it; ``reason`` is one sentence."""

    path: str
    reason: str

    @property
    def sentence(self) -> Sentence:
        """Path and reason."""
        return say("logs.not_read", path=self.path, reason=self.reason.rstrip("."))


def problem(
    path: str, condition: Condition, clause: Sentence, data: bytes = b"", line: int | None = None
) -> Problem:
    """A :class:`Problem` whose sentence begins with the file and whose ``raw`` is bounded."""
    evidence = Evidence(path, line)
    reason = say("logs.problem", evidence=str(evidence), clause=clause)
    return Problem(evidence, condition, reason, data[:RAW_LIMIT_BYTES], clause)


def not_listed(path: str, error: Exception) -> Problem:
    """The problem of a directory that could not be listed; ``error`` is the sentence of the storage door."""
    return Problem(Evidence(path), "unreadable", str(error), clause=str(error).rstrip("."))


def not_read(path: str, failure: ReadFailure) -> Problem:
    """The problem of a file that could not be read."""
    return problem(path, "unreadable", say("logs.unreadable", reason=failure.reason.rstrip(".")))


def too_large(path: str, size_bytes: int, limit_bytes: int) -> Problem:
    """The problem of a file that was not read because of its size."""
    return problem(path, "unreadable", say("logs.too_large", size_bytes=size_bytes, limit_bytes=limit_bytes))


def readable(content: Content, path: str) -> bytes | Problem | None:
    """What a read gave, as one of three values: the bytes, a read failure, or None (the file was removed)."""
    if isinstance(content, Gone):
        return None
    return not_read(path, content) if isinstance(content, ReadFailure) else content
