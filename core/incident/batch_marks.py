"""The newest batches as marks in a row, for the timeline picture of a report: committed, not committed,
missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from core.analysis.timeline import STATUSES, Status, Timeline, build_timeline, status_words
from core.checkpoint import Checkpoint
from core.messages import say, words

MOST_MARKS = 40
Shown = Status | Literal["absent"]

SIGNS: dict[Shown, str] = {
    "committed": "●",
    "superseded": "○",
    "pending": "◇",
    "missing_commit": "✕",
    "missing_offset": "✕",
    "unreadable": "▣",
    "retention_edge": "◁",
    "absent": "…",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """One batch, or the ids ``first`` to ``last`` that no file names. ``duration_ms``: None where it is not
    known."""

    first: int
    last: int
    status: Shown
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks in the order of their batches. ``sentence`` says what they show."""

    marks: tuple[Mark, ...]
    sentence: str

    @property
    def kinds(self) -> tuple[Shown, ...]:
        """The statuses that there are, each once."""
        return tuple(dict.fromkeys(mark.status for mark in self.marks))

    @property
    def longest_ms(self) -> int | None:
        """The longest duration; None where none is known."""
        return max((mark.duration_ms for mark in self.marks if mark.duration_ms is not None), default=None)


def label_of(status: Shown) -> str:
    """What a mark stands for."""
    return say("report.absent") if status == "absent" else status_words(status)


def newest_marks(ck: Checkpoint) -> Marks:
    """The newest batches of the logs. Reads no file."""
    timeline = build_timeline(ck)
    marks = tuple(_marks(timeline))[-MOST_MARKS:]
    if not marks:
        return Marks((), say("screen_timeline.no_batch"))
    counts = [
        f"{words.number(sum(mark.status == kind for mark in marks))} {label_of(kind)}"
        for kind in dict.fromkeys(mark.status for mark in marks)
    ]
    total = len(timeline)
    sentence = say("report.batches", first=marks[0].first, last=marks[-1].last, counts=counts, total=total)
    return Marks(marks, sentence)


def _marks(timeline: Timeline) -> Iterator[Mark]:
    absent = {gap.last + 1: gap for gap in timeline.gaps if not gap.is_legal}
    start = max(0, len(timeline) - MOST_MARKS)
    for row in range(start, len(timeline)):
        batch, took = int(timeline.batch_ids[row]), int(timeline.duration_ms[row])
        gap = absent.get(batch)
        if gap is not None:
            yield Mark(gap.first, gap.last, "absent")
        yield Mark(batch, batch, STATUSES[int(timeline.status[row])], took if took >= 0 else None)
