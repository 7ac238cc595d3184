"""Where a statement comes from, how sure it is, and what is wrong with a file that cannot be understood."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Certainty = Literal["certain", "inferred", "needs_input"]

RAW_LIMIT_BYTES = (
    64 * 1024
)  # of a file that cannot be read so much is kept to be shown; a log file is a few kB

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a statement comes from: a path below the checkpoint root and, in a text file, the line (from 1)."""

    path: str
    line: int | None = None

    def __str__(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that is there and cannot be understood: shown raw and counted, never dropped.

    ``reason`` is one sentence for a person: what is wrong with the file. ``condition`` is a short stable word
    for programs: ``empty``, ``truncated``, ``no_version``, ``unknown_version``, ``bad_json``, ``not_an_id``,
    ``unreadable``, ``mismatch`` (it can be read, and contradicts what lies around it).
    """

    evidence: Evidence
    condition: str
    reason: str
    raw: bytes = b""


def problem(path: str, condition: str, reason: str, data: bytes = b"", line: int | None = None) -> Problem:
    """A :class:`Problem` whose sentence begins with the file and whose ``raw`` is bounded."""
    return Problem(
        Evidence(path, line), condition, f"{Evidence(path, line)} {reason}.", data[:RAW_LIMIT_BYTES]
    )


def split_lines(text: str) -> list[str]:
    """The lines of a log file as Java's reader sees them (``\\n``, ``\\r\\n``, ``\\r``), without empty ones
    at the end.

    An empty FIRST or SECOND line stays: an empty metadata line is legal.
    """
    lines = _LINE_END.split(text) if "\r" in text else text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    return lines
