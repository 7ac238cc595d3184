"""Message templates with holes, found in a text without regular expressions, so that no text can make the
search slow.

A template is Spark's own form: ``Error reading delta file <fileToRead> of <clazz>``. It is cut into literals
and holes; the longest literal is searched, the others must follow and precede it within a bounded distance.
Every step is a ``str.find`` with an end, so the time grows with the length of the text and not with what is
in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

LONGEST_HOLE = 20_000  # characters; a state schema as JSON has a few thousand
LONGEST_NUMBER = 40
LONGEST_TOKEN = 1_000  # a hole at the beginning of a template is one word: a path, a number
LONGEST_SENTENCE = 300  # a hole for what stands within one sentence
LONGEST_MESSAGE = 4_000  # a hole at the end of a template takes the rest of the message, up to this
TRIES = 20  # so many places of the longest literal are tried
SHORTEST_ANCHOR = 12  # a template whose longest literal is shorter would be found everywhere,
FEWEST_LETTERS = 28  # and so would one whose literals together have fewer characters ("<x> is not supported")

_HOLE = re.compile(r"<([A-Za-z_][A-Za-z0-9_]*)>")
_NUMBERS = frozenset(
    [
        "batch",
        "batchId",
        "previous",
        "version",
        "matchVersion",
        "maxSupportedVersion",
        "highest",
        "latest",
        "interval",
        "in_log",
        "in_query",
        "before",
        "after",
        "operatorId",
        "partitionId",
        "lastCommittedBatchId",
        "prevOffset",
        "newOffset",
        "expectedSize",
        "localFileSize",
        "batchVersion",
        "expectedCommits",
        "actualCommits",
        "startVersion",
        "earliestVersion",
        "seenVersion",
        "userVersion",
        "snapshot",
        "timeout",
    ]
)
_WORDS = _NUMBERS | {"path", "file", "directory", "base", "topicPartition", "option"}
_END = re.compile(
    r" SQLSTATE: | === Streaming Query ===| at [A-Za-z_$][\w$./@]{2,300}\(|Caused by: |Traceback \(most"
    r" recent call last\)"
)


@dataclass(frozen=True, slots=True)
class Match:
    """Where a template was found, and what stood in its holes (the first text of each name)."""

    start: int
    end: int
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Template:
    """One message: literals and holes in turn; ``literals`` has one more than ``holes``."""

    literals: tuple[str, ...]
    holes: tuple[str, ...]
    anchor: int

    @property
    def can_be_searched(self) -> bool:
        """Whether its words are enough to recognise the message without its name."""
        words = [literal.strip() for literal in self.literals]
        return len(words[self.anchor]) >= SHORTEST_ANCHOR and sum(map(len, words)) >= FEWEST_LETTERS

    def find(self, text: str, start: int = 0, end: int | None = None) -> Match | None:
        """The first place in ``text`` where the whole template stands."""
        return next(self.find_all(text, start, end), None)

    def find_all(self, text: str, start: int = 0, end: int | None = None) -> Iterator[Match]:
        """Every place, first to last, without overlaps; at most :data:`TRIES` places of the longest literal
        are tried."""
        last = len(text) if end is None else end
        literal = self.literals[self.anchor]
        at = start
        for _ in range(TRIES):
            at = text.find(literal, at, last)
            if at < 0:
                return
            match = self._around(text, at, start, last)
            if match is not None:
                yield match
                at = max(match.end, at + 1)
            else:
                at += 1

    def _around(self, text: str, at: int, first: int, last: int) -> Match | None:
        before = self._backward(text, at, first)
        if before is None:
            return None
        after = self._forward(text, at + len(self.literals[self.anchor]), last)
        if after is None:
            return None
        (begin, left), (stop, right) = before, after
        values: dict[str, str] = {}
        for name, value in [*reversed(left), *right]:
            values.setdefault(name, value)
        return Match(begin, stop, values)

    def _forward(self, text: str, at: int, last: int) -> tuple[int, list[tuple[str, str]]] | None:
        values = []
        for i in range(self.anchor, len(self.holes)):
            name, literal = self.holes[i], self.literals[i + 1]
            if not literal:
                stop = (
                    (_end_of_word if name in _WORDS else message_end)(text, at, last)
                    if i + 1 == len(self.holes)
                    else at
                )
            else:
                stop = text.find(literal, at, min(last, at + _longest(name) + len(literal)))
            if stop < 0 or not _fits(name, text[at:stop]):
                return None
            values.append((name, text[at:stop].strip()))
            at = stop + len(literal)
        return at, values

    def _backward(self, text: str, at: int, first: int) -> tuple[int, list[tuple[str, str]]] | None:
        values = []
        for i in range(self.anchor - 1, -1, -1):
            name, literal = self.holes[i], self.literals[i]
            if not literal:
                begin = _begin_of_word(text, at, first) if i == 0 else at
            else:
                found = text.rfind(literal, max(first, at - _longest(name) - len(literal)), at)
                if found < 0:
                    return None
                begin = found + len(literal)
            if not _fits(name, text[begin:at]):
                return None
            values.append((name, text[begin:at].strip()))
            at = begin - len(literal)
        return at, values


@lru_cache(maxsize=4096)
def parse_template(message: str) -> Template:
    """The template of a message; runs of white space count as one blank, as in the text that is searched."""
    pieces = _HOLE.split(" ".join(message.split()))
    literals, holes = tuple(pieces[0::2]), tuple(pieces[1::2])
    return Template(literals, holes, max(range(len(literals)), key=lambda i: len(literals[i])))


def message_end(text: str, start: int, last: int | None = None) -> int:
    """Where the message from ``start`` ends: before its SQLSTATE, the first frame, the next cause."""
    limit = min(len(text) if last is None else last, start + LONGEST_MESSAGE)
    match = _END.search(text, start, limit)
    return match.start() if match is not None else limit


def _longest(name: str) -> int:
    if name in _NUMBERS:
        return LONGEST_NUMBER
    if name == "sentence":
        return LONGEST_SENTENCE
    return LONGEST_TOKEN if name in _WORDS else LONGEST_HOLE


def _fits(name: str, value: str) -> bool:
    if name not in _NUMBERS:
        return name not in _WORDS or " " not in value.strip()
    number = value.strip().strip("'`").removeprefix("-")
    return number.isascii() and number.isdigit()


def _end_of_word(text: str, at: int, last: int) -> int:
    end = min(last, at + LONGEST_TOKEN)
    stop = text.find(" ", at, end)
    stop = end if stop < 0 else stop
    while stop > at and text[stop - 1] in ".,;:":
        stop -= 1
    return stop


def _begin_of_word(text: str, at: int, first: int) -> int:
    found = text.rfind(" ", max(first, at - LONGEST_TOKEN), at)
    return found + 1 if found >= 0 else max(first, at - LONGEST_TOKEN)
