"""A pasted text, made ready for the search: cut to a limit, on one line, with the way back to its lines; what
it names besides errors."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from core.analysis.errors.pasted_lines import FEWEST_WRAPPED, printed_lines, printed_text
from core.analysis.errors.template import LONGEST_MESSAGE

# A stack trace has some 20 kB, a log with several of them some 200 kB. Of a longer text the first and the
# last half are read: the first holds the message, the last the innermost cause.
LONGEST_TEXT = 400_000  # characters

_TERMINAL = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_QUERY_ID = re.compile(r"\b(?:id = |query with id )([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
# A class with its package in front of its message, or alone at the end of a line; frames ("at
# a.b.C.method(File:1)") are not followed by these.
_CLASS = re.compile(r"(?<![\w.$/])(?:[A-Za-z_$][\w$]{0,80}\.){1,14}([A-Z][\w$]{1,100})(?=: | |$)")
_PYTHON = re.compile(r"([A-Z][A-Za-z0-9_]{2,80}(?:Error|Exception|Exit|Interrupt))(?:: |$)")
_PLAIN_CLASS = re.compile(r"(?<![\w.$/])([A-Z][\w$]{2,80}(?:Exception|Error|NotCompatible))(?=: )")
_CLASS_ENDS = (
    *(
        "Exception",
        "Error",
        "Failure",
        "Failed",
        "Interrupt",
        "NotCompatible",
        "Incompatible",
        "NotMatch",
        "Mismatch",
        "NotEmpty",
    ),
    *("NotFound", "NotSupported", "Unavailable", "Exceeded", "Metadata", "NullValue", "OutOfRange"),
)
CAUSED_BY = "Caused by: "
_CAUSED = re.compile(CAUSED_BY)
_ENDED_BY_OTHERS = frozenset(
    (
        "InterruptedException",
        "InterruptedIOException",
        "ClosedByInterruptException",
        "CommitDeniedException",
        "TaskKilledException",
    )
)
_BETWEEN = re.compile(
    r"\.(?:java|scala):\d|\(Native Method\)|File \"|terminated with exception: |Return Message: "
)
_PATH = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]{1,20}:/{1,3}|(?<![\w/:.*])/)[^\s'\"`,;()\[\]{}<>|]{2,1000}")
_OFFSETS = re.compile(r"Current (Committed|Available) Offsets: \{")

PATHS = 60


@dataclass(frozen=True, slots=True)
class Head:
    """An exception class in front of its message: where, the bare class name, where the message begins."""

    start: int
    name: str
    message_start: int


@dataclass(frozen=True)
class Pasted:
    """The text on one line (``flat``: runs of white space are one blank), and where each of its lines begins
    there."""

    flat: str
    starts: tuple[int, ...]
    numbers: tuple[int, ...]
    is_cut: bool

    def line_of(self, offset: int) -> int:
        """The line of the pasted text that an offset of ``flat`` is in, from 1."""
        at = bisect_right(self.starts, offset) - 1
        return self.numbers[at] if self.numbers else 1

    @cached_property
    def heads(self) -> tuple[Head, ...]:
        """Every exception class that stands in front of a message, in order."""
        found = {}
        for match in _CLASS.finditer(self.flat):
            if match[1].endswith(_CLASS_ENDS):
                found[match.start()] = Head(match.start(), match[1], _message_start(self.flat, match.end()))
        for match in _PLAIN_CLASS.finditer(self.flat):
            found.setdefault(
                match.start(), Head(match.start(), match[1], _message_start(self.flat, match.end()))
            )
        for start in self.starts:
            line = _PYTHON.match(self.flat, start)
            if line is not None:
                found.setdefault(start, Head(start, line[1], line.end()))
        return tuple(found[start] for start in sorted(found))

    @cached_property
    def _head_starts(self) -> list[int]:
        return [head.start for head in self.heads]

    @cached_property
    def _causes(self) -> list[int]:
        return [match.start() for match in _CAUSED.finditer(self.flat)]

    def depth(self, offset: int) -> int:
        """How many "Caused by" stand before an offset."""
        return bisect_right(self._causes, offset)

    def class_at(self, offset: int) -> str | None:
        """The exception class whose message an offset is in, None when there is none, or another error or a
        frame of a stack lies between."""
        at = bisect_right(self._head_starts, offset) - 1
        if at < 0:
            return None
        head = self.heads[at]
        between = self.flat[head.message_start : max(offset, head.message_start)]
        if len(between) > LONGEST_MESSAGE or _BETWEEN.search(between):
            return None
        return head.name

    def is_aftermath(self, offset: int) -> bool:
        """Whether the error at an offset was caused by an interruption or a commit that was denied:
        its task was ended because another one had failed."""
        end = None
        for head in self.heads[bisect_right(self._head_starts, offset) :]:
            if not self.flat.endswith(CAUSED_BY, 0, head.start) and head.start != end:
                return False
            if head.name in _ENDED_BY_OTHERS:
                return True
            end = head.message_start
        return False

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """The query ids that the text names, in order."""
        return tuple(dict.fromkeys(match[1] for match in _QUERY_ID.finditer(self.flat)))

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The paths and URLs that the text names, in order, without those of source code."""
        found: dict[str, None] = {}
        for match in _PATH.finditer(self.flat):
            path = match[0].rstrip(".:")
            if path.endswith((".py", ".java", ".scala")) or "site-packages" in path:
                continue
            found[path] = None
            if len(found) >= PATHS:
                break
        return tuple(found)

    def offsets(self, which: str) -> Iterator[str]:
        """The offset JSON of each source in "Current Committed Offsets" or "Current Available Offsets" of a
        StreamingQueryException."""
        for match in islice(_OFFSETS.finditer(self.flat), 6):
            if match[1] == which:
                yield from _objects(self.flat, match.end())


def read_pasted(text: str, fewest_wrapped: int = FEWEST_WRAPPED) -> Pasted:
    """Makes a pasted text ready. Escape sequences of terminals and prefixes of logs and mails go; the line
    breaks of a JSON log line are made real ones; lines that a terminal cut are joined (``fewest_wrapped``: of
    :func:`printed_lines`)."""
    is_cut = len(text) > LONGEST_TEXT
    first_lines = left_out = 0
    if is_cut:
        half = LONGEST_TEXT // 2
        first_lines, left_out = text.count("\n", 0, half) + 1, text.count("\n", half, len(text) - half)
        text = text[:half] + "\n" + text[-half:]
    lines = printed_lines(printed_text(_TERMINAL.sub("", text)), fewest_wrapped)
    pieces, starts, numbers, at = [], [], [], 0
    for number, line in enumerate(lines, 1):
        words = " ".join("".join(char if char.isprintable() else " " for char in line).split())
        if not words:
            continue
        pieces.append(words)
        starts.append(at)
        numbers.append(number if not is_cut or number <= first_lines else number + left_out - 1)
        at += len(words) + 1
    return Pasted(" ".join(pieces), tuple(starts), tuple(numbers), is_cut)


def _message_start(flat: str, end: int) -> int:
    return end + 2 if flat.startswith(": ", end) else end + 1


def _objects(flat: str, at: int) -> Iterator[str]:
    """The JSON objects behind ``Source[...]: `` up to the brace that closes the list; braces are counted, at
    most a few thousand characters."""
    limit, depth, begin = min(len(flat), at + LONGEST_MESSAGE * 5), 0, None
    for i in range(at, limit):
        char = flat[i]
        if char == "{":
            if depth == 0 and flat[max(0, i - 2) : i] == ": ":
                begin = i
            depth += 1
        elif char == "}":
            depth -= 1
            if depth < 0:
                return
            if depth == 0 and begin is not None:
                yield flat[begin : i + 1]
                begin = None
