"""Text files of Spark: UTF-8, and in most of them a version line (``v1``) before the content.

One reader for ``metadata``, the offset and commit logs, the logs of file source and file sink, the first
offset of a source and the operator metadata: the same bytes give the same problem in each. The version in the
FILE decides how it is read, never a setting; a version that is not known is reported, not guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.messages import say
from core.sparklogs.evidence import Problem, problem
from core.sparklogs.json_text import json_trouble, parse_object

_LINE_END = re.compile(r"\r\n|\n|\r")
_VERSION = re.compile(r"v\+?0*([1-9][0-9]{0,8})")  # Spark: "v" and what Java reads as an int above 0
_LOOKS_LIKE_A_VERSION = re.compile(r"v[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class VersionedText:
    """A file with a version line. ``lines`` are its lines without empty ones at the end, the version line
    first (line 1); ``empty_at_the_end`` counts those that Java's reader still sees there."""

    version: int
    lines: tuple[str, ...]
    text: str
    empty_at_the_end: int = 0

    @property
    def rest(self) -> str:
        """What follows the version line."""
        return "\n".join(self.lines[1:])


def split_lines(text: str) -> list[str]:
    """The lines of a log file as Java's reader sees them (``\\n``, ``\\r\\n``, ``\\r``), without empty ones
    at the end.

    An empty FIRST or SECOND line stays: an empty metadata line is legal.
    """
    lines = _all_lines(text)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def _all_lines(text: str) -> list[str]:
    """The lines of a text; the last line end may be there or not."""
    lines = _LINE_END.split(text) if "\r" in text else text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def decoded(data: bytes, path: str, skip: int = 0) -> str | Problem:
    """The text of a file without its first ``skip`` bytes; a problem when it is not UTF-8, or empty."""
    try:
        text = data[skip:].decode("utf-8")
    except UnicodeDecodeError as error:
        return problem(path, "not_text", say("logs.not_text", byte=skip + error.start + 1), data)
    if not text.strip():
        return problem(path, "empty", say("logs.blank" if data[skip:] else "logs.empty"), data)
    return text


def versioned(data: bytes, path: str, newest: int) -> VersionedText | Problem:
    """A file with a version line, of format version 1 to ``newest``."""
    text = decoded(data, path)
    if isinstance(text, Problem):
        return text
    lines = tuple(split_lines(text))
    version = version_of(lines[0], path, newest, data)
    if isinstance(version, Problem):
        return version
    rest = 0 if text[-1] not in "\n\r \t" else len(_all_lines(text)) - len(lines)
    return VersionedText(version, lines, text, rest)


def version_of(line: str, path: str, newest: int, data: bytes) -> int | Problem:
    """The version that a version line names; a problem when it is none, or a later one than ``newest``."""
    match = _VERSION.fullmatch(line)
    if match is None:
        return problem(path, "no_version", say("logs.no_version"), data, line=1)
    version = int(match[1])
    if version <= newest:
        return version
    if newest == 1:
        clause = say("logs.unknown_version_of_one", version=version)
    else:
        clause = say("logs.unknown_version", version=version, newest=newest)
    return problem(path, "unknown_version", clause, data, line=1)


def looks_like_a_version(line: str) -> bool:
    """Whether a line is meant as a version line; for files that may also begin without one."""
    return _LOOKS_LIKE_A_VERSION.fullmatch(line) is not None


def json_object(text: str, path: str, data: bytes, line: int | None = None) -> dict[str, object] | Problem:
    """The JSON object in ``text``, which stands in the file ``path`` (at ``line``); a problem when it is
    none."""
    try:
        return parse_object(text)
    except ValueError:
        return json_problem(text, path, data, line)


def json_problem(text: str, path: str, data: bytes, line: int | None = None) -> Problem:
    """Why ``text`` is no JSON object."""
    condition, clause = json_trouble(text)
    return problem(path, condition, clause, data, line=line)
