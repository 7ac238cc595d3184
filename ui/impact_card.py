"""The impact of deleting this checkpoint, said wherever someone might be about to do it, above the code that
does."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.checkpoint import Checkpoint
from core.messages import say, say_of
from core.recovery import DeletionImpact
from ui import cached_answers, cards
from ui.open_checkpoints import Opened


def card(opened: Opened, ck: Checkpoint, with_link: bool = True, is_short: bool = False) -> None:
    """Three ways of starting again after this checkpoint was deleted: what each repeats and loses, or what to
    give to know it. ``is_short``: the sentences behind the numbers are folded away."""
    impacts = cached_answers.impacts(opened, ck)
    cards.text(say("screen_start.impact"), "section")
    if isinstance(impacts, str):
        cards.message("plain", impacts)
        return
    known = [
        impact
        for impact in impacts
        if (impact.repeats_rows, impact.loses_rows) != (None, None) or impact.skips_batches
    ]
    shown = known if is_short and known else impacts
    together = _together(shown) if is_short else [[impact] for impact in shown]
    with st.grid(len(together), min_column_width=260, vertical_alignment="top"):
        for same in together:
            _one(same, is_short)
    caveats = list(dict.fromkeys(impact.caveat for impact in impacts if impact.caveat))
    if is_short:
        _left_out([impact for impact in impacts if impact not in shown], is_open=bool(caveats))
        with st.expander(say("screen_start.impact_why")):
            for impact in impacts:
                cards.text(f"{impact.sentence} ({cached_answers.CERTAINTY[impact.certainty]})", "small")
                cards.text(_meaning(impact), "small")
            for caveat in caveats:
                cards.text(caveat, "small")
    else:
        for caveat in caveats:
            cards.text(caveat, "small")
    if not with_link:
        return
    missing = [item for item in impacts if item.repeats_rows is None or item.loses_rows is None]
    label = say("screen_start.impact_connect") if missing else say("screen_start.impact_source")
    st.page_link("pages/ends.py", label=label, query_params={})


def _left_out(impacts: Sequence[DeletionImpact], is_open: bool) -> None:
    """One line for the ways of which nothing is known, and that a file sink does something else where nobody
    said what the sink is."""
    starts = [say_of("impact", "STARTS", impact.start) for impact in impacts]
    line = [say("screen_start.impact_unknown", starts=starts)] if starts else []
    if line:
        cards.text(" ".join(line), "small")
    if is_open:
        cards.text(f"{cards.MARKS['doubt']} {say('screen_start.impact_file_sink')}", "strong")


def in_one_line(opened: Opened, ck: Checkpoint) -> None:
    """What is known of it in one line, for a page that has the cards further down."""
    impacts = cached_answers.impacts(opened, ck)
    known = [
        item
        for item in impacts
        if not isinstance(item, str) and None not in (item.repeats_rows, item.loses_rows)
    ]
    if not known:
        return
    starts = "; ".join(
        say(
            "screen_start.impact_start",
            start=say_of("impact", "STARTS", impact.start),
            repeats=_repeats(impact.repeats_rows, impact.is_at_most),
            loses=_loses(impact.loses_rows, impact.is_at_most),
        )
        for impact in known
    )
    cards.text(say("screen_start.impact_line", starts=starts), "small")


def _together(impacts: Sequence[DeletionImpact]) -> list[list[DeletionImpact]]:
    """The ways of starting again that repeat and lose the same."""
    found: dict[tuple[int | None, int | None, bool, bool], list[DeletionImpact]] = {}
    for impact in impacts:
        alike = (impact.repeats_rows, impact.loses_rows, impact.is_at_most, impact.skips_batches)
        found.setdefault(alike, []).append(impact)
    return list(found.values())


def _one(same: Sequence[DeletionImpact], is_short: bool) -> None:
    impact = same[0]
    numbers = (impact.repeats_rows, impact.loses_rows)
    costs = any(number for number in numbers)
    tone: cards.Tone = (
        "blocked"
        if impact.loses_rows or impact.skips_batches
        else "doubt"
        if costs
        else "done"
        if None not in numbers and not impact.caveat
        else "plain"
    )
    with cards.box(tone, height="stretch"):
        cards.text(" · ".join(say_of("impact", "STARTS", each.start) for each in same), "small")
        if not is_short:
            cards.text(_meaning(impact), "small")
        most = impact.is_at_most
        loses = _loses(impact.loses_rows, most)
        if impact.skips_batches and impact.loses_rows is None:
            loses = say("screen_start.loses_uncounted")
        effect = f"{_repeats(impact.repeats_rows, most)}, {loses}"
        if numbers == (None, None) and not impact.skips_batches:
            effect = say("screen_start.effect_unknown")
        cards.text(f"{cards.MARKS[tone]} {effect}", "strong")
        if is_short:
            return
        cards.text(impact.sentence)
        cards.text(cached_answers.CERTAINTY[impact.certainty], "small")


def _meaning(impact: DeletionImpact) -> str:
    """What that way of starting again is."""
    return say_of("impact", "STARTS_MEANING", impact.start)


def _repeats(rows: int | None, at_most: bool) -> str:
    if rows is None:
        return say("screen_start.repeats_unknown")
    if rows == 0:
        return say("screen_start.repeats_nothing")
    return say("screen_start.repeats_at_most" if at_most else "screen_start.repeats", n=rows)


def _loses(rows: int | None, at_most: bool) -> str:
    if rows is None:
        return say("screen_start.loses_unknown")
    if rows == 0:
        return say("screen_start.loses_nothing")
    return say("screen_start.loses_at_most" if at_most else "screen_start.loses", n=rows)
