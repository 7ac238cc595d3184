"""What a comparison found: the headline, one table for each part of a checkpoint, what was not compared."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

import streamlit as st

from core.analysis.comparison import AREAS, Comparison, Difference
from core.checkpoint import Checkpoint
from core.messages import say, say_of, words
from ui import cards, tables
from ui.open_checkpoints import Opened

NAME_CHARACTERS = 300
MOST_ROWS_SEEN = 10


def headline(found: Comparison, a: Opened, b: Opened) -> None:
    """One sentence, and which checkpoints it is about."""
    sides = "\n".join(
        say(
            "screen_compare.side", side=side, name=words.one_line(one.name, NAME_CHARACTERS), ms=_read_at(one)
        )
        for side, one in (("A", a), ("B", b))
    )
    cards.message(tone(found), sentence(found), "\n".join([*_other_query(a.ck, b.ck), sides]))


def _other_query(a: Checkpoint | None, b: Checkpoint | None) -> list[str]:
    """That the two belong to two queries: then most differences say nothing."""
    ids = [None if each is None else each.query_id for each in (a, b)]
    return [] if None in ids or ids[0] == ids[1] else [say("screen_compare.other_query")]


def tone(found: Comparison) -> cards.Tone:
    """Equal is said with confidence only where nothing was left out."""
    if not found.is_equal:
        return "doubt"
    return "plain" if found.not_compared else "done"


def sentence(found: Comparison) -> str:
    """Whether they differ, in how many places and in which parts."""
    if found.is_equal:
        return say("screen_compare.equal")
    counts = Counter(one.area for one in found.differences)
    areas = [
        say("screen_compare.within", n=counts[area], area=say_of("screen_compare", "WITHIN", area))
        for area in AREAS
        if area in counts
    ]
    return say("screen_compare.different", n=len(found.differences), areas=areas)


def by_area(found: Comparison) -> None:
    """One table for each part that differs, and one download of all."""
    for area in AREAS:
        differences = [one for one in found.differences if one.area == area]
        if differences:
            name = say_of("comparison", "AREAS", area)
            cards.text(say("screen_compare.area", area=name, n=len(differences)), "section")
            tables.sides(
                columns(differences),
                say("screen_compare.table", area=say_of("screen_compare", "WITHIN", area)),
                key=area,
                most=MOST_ROWS_SEEN,
                absent=say("screen_compare.not_there"),
            )
    if not found.is_equal:
        tables.downloads(whole(found), "differences", key="differences")


def whole(found: Comparison) -> tables.Columns:
    """All differences with the part of the checkpoint they are in; what the download holds."""
    return {"area": [one.area for one in found.differences], **columns(found.differences)}


def columns(differences: Sequence[Difference]) -> tables.Columns:
    """What differs, and the value on each side; None: it is not there."""
    return {
        "what": [words.one_line(one.what, NAME_CHARACTERS) for one in differences],
        "A": [_only(_moment(one, one.a), say("screen_compare.only_a")) for one in differences],
        "B": [_only(_moment(one, one.b), say("screen_compare.only_b")) for one in differences],
    }


def _moment(one: Difference, value: str | None) -> str | None:
    """Milliseconds as a point in time; 0 (no watermark yet) and everything else as it is."""
    if value is None or one.unit != "ms" or not value.isdecimal() or int(value) == 0:
        return value
    moment = words.exact_moment(int(value))
    return f"{moment} UTC" if moment else value


def _only(value: str | None, only_here: str) -> str | None:
    """Where presence is all there is to say, on which side."""
    return only_here if value == say("comparison.there") else value


def not_compared(found: Comparison) -> None:
    """What was left out or could not be read: folded, but not below an answer that says equal."""
    cards.text(say("screen_compare.names_only"), "small")
    if not found.not_compared:
        return
    with st.expander(say("screen_compare.not_compared", n=len(found.not_compared)), expanded=found.is_equal):
        for each in found.not_compared:
            cards.text(words.one_line(each, NAME_CHARACTERS), "small")


def command_line(a: Checkpoint, b: Checkpoint, with_state_bytes: bool) -> None:
    """What gives the same without a browser."""
    cards.text(say("screen_compare.command"), "section")
    parts = ["python", "-m", "core", "compare", a.location.url, b.location.url]
    level = ["--level", "deep"] if with_state_bytes else []
    st.code(shlex.join([*parts, *level]), language="bash", wrap_lines=True)


def _read_at(one: Opened) -> int | None:
    return None if one.ck is None else one.ck.read_at_ms
