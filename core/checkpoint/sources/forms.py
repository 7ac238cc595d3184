"""Small helpers that the source kinds share: read a JSON number or text, compare two positions, word a
refusal. No kind lives here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal

from core.checkpoint.sources.base import Advance, Bound, Capabilities, ResumePoint, SourceContext
from core.messages import say
from core.sparklogs.evidence import Certainty
from core.sparklogs.json_text import kept_counts, parse_json

_INT64_MAX = 2**63 - 1


def parse(text: str) -> object:
    """One offset text as JSON; the text itself when it is not JSON. Integers of any length keep all their
    digits. Never raises."""
    try:
        return parse_json(text)
    except ValueError:
        return text


def parsed(text: str) -> object:
    """As :func:`parse`. The end of a batch is the start of the next one, so the last few are kept; do not
    change what comes back."""
    counts = kept_counts(text)
    return _kept(text) if counts is None else counts


_kept = lru_cache(maxsize=16)(parse)


def as_int(value: object) -> int | None:
    """The value as a signed 64-bit integer, None when it is something else (also for true, false and numbers
    beyond 64 bits)."""
    if isinstance(value, int) and not isinstance(value, bool) and -_INT64_MAX - 1 <= value <= _INT64_MAX:
        return value
    return None


def as_decimal(text: object) -> int | None:
    """A text of decimal digits without a leading zero (``"0"``, ``"17"``) as a number, as partition ids are
    written; None otherwise."""
    if (
        isinstance(text, str)
        and text.isascii()
        and text.isdecimal()
        and len(text) <= 18
        and (text == "0" or text[0] != "0")
    ):
        return int(text)
    return None


def as_object(offset: object) -> Mapping[str, object]:
    """The JSON object, or an empty one when the offset is none, so that a lookup never fails."""
    return offset if isinstance(offset, dict) else {}


def compact(value: object) -> str:
    """The value as one line of compact ASCII JSON. A value that cannot be written (nested too deeply) is
    named instead."""
    try:
        return json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return "<not JSON>"


def shortened(value: object, limit: int = 160) -> str:
    """An offset as one readable line of at most ``limit`` characters; a cut is marked."""
    text = value if isinstance(value, str) else compact(value)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def unknown_advance(unit: str, note: str = "", partitions: Iterable[str] = ()) -> Advance:
    """The files do not tell how far the source moved."""
    return Advance(None, unit, "estimate", dict.fromkeys(partitions), note)


def single_advance(start: int | None, end: int | None, unit: str, bound: Bound, partition: str) -> Advance:
    """How far a single number moved. A number that goes down gives no amount but a note: the source was
    replaced or the file was edited."""
    if end is None:
        return unknown_advance(unit)
    if start is None:
        return Advance(None, unit, bound, {partition: None})
    if end < start:
        return Advance(None, unit, bound, {partition: None}, say("sources.went_down", start=start, end=end))
    return Advance(end - start, unit, bound, {partition: end - start})


def summed_advance(
    start: Mapping[str, int] | None,
    end: Mapping[str, int],
    unit: str,
    bound: Bound,
    *,
    new_starts_at: int | None = None,
) -> Advance:
    """The sum over the partitions; new, vanished and shrunk partitions are named in the note.

    The read of a new partition began at ``new_starts_at`` or later; with None nothing is known of it and
    there is no sum. A partition that went down counts as 0.
    """
    if start is None:
        return Advance(None, unit, bound, dict.fromkeys(end))
    by_partition: dict[str, int | None] = {}
    new, lower = [], []
    for name, value in end.items():
        if name not in start:
            by_partition[name] = None if new_starts_at is None else max(0, value - new_starts_at)
            new.append(name)
        else:
            by_partition[name] = max(0, value - start[name])
            if value < start[name]:
                lower.append(say("sources.from_to", name=name, start=start[name], end=value))
    notes = []
    if new and new_starts_at is None:
        notes.append(say("sources.new_partitions", names=new))
    elif new:
        notes.append(say("sources.new_partitions_from_earliest", names=new, unit=unit[:-1]))
    if lower:
        notes.append(say("sources.partitions_went_down", partitions=lower))
    gone = [name for name in start if name not in end]
    if gone:
        notes.append(say("sources.partitions_gone", names=gone))
    amount = None if new and new_starts_at is None else sum(value or 0 for value in by_partition.values())
    return Advance(amount, unit, bound, by_partition, " ".join(notes))


def no_option(
    note: str,
    *,
    repeats: str,
    skips: str,
    certainty: Certainty = "certain",
    seed: Literal["file_source_log", "transplant"] | None = None,
) -> ResumePoint:
    """No start option can express the position. ``repeats`` and ``skips`` then say what a new checkpoint
    without one would do."""
    return ResumePoint(False, None, repeats, skips, note, certainty, seed)


def malformed(label: str, offset: object) -> ResumePoint:
    """The offset does not have the form this kind writes, so no position is given."""
    return no_option(
        say("sources.malformed", label=label, offset=shortened(offset)),
        repeats="not known",
        skips="not known",
    )


def initial_offset(context: SourceContext) -> object | None:
    """The parsed initial offset from ``sources/<n>``, None when there is none."""
    return None if context.initial is None else parse(context.initial)


class OnePosition(Capabilities):
    """The parts that are the same for every source with one number: its partition, and what is known about
    its first start (nothing)."""

    partition = "position"

    def value(self, offset: object) -> int | None:
        """The number in this offset, None when it has none."""
        return as_int(offset)

    def positions(self, offset: object) -> Mapping[str, int]:
        value = self.value(offset)
        return {} if value is None else {self.partition: value}

    def partitions(self, offset: object) -> tuple[str, ...]:
        return tuple(self.positions(offset))

    def first_start(self, context: SourceContext) -> object | None:
        return None
