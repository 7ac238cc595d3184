"""The price of deleting this checkpoint, said wherever someone might be about to do it, above the code that
does."""

from __future__ import annotations

import streamlit as st

from core.checkpoint import Checkpoint
from core.messages import words
from core.recovery import DeletionImpact
from ui import cached_answers, cards
from ui.open_checkpoints import Opened

TITLES: dict[str, str] = {
    "from the beginning": "From the beginning",
    "exact position": "From the exact position",
    "old query id kept": "With the old query id kept",
}


def card(opened: Opened, ck: Checkpoint, with_link: bool = True) -> None:
    """Three ways of starting again after this checkpoint was deleted: what each repeats and loses, or what to
    give to know it."""
    impacts = cached_answers.impacts(opened, ck)
    cards.text("The price of deleting this checkpoint", "section")
    if isinstance(impacts, str):
        cards.message("plain", impacts)
        return
    if not impacts:
        cards.text(
            "Nothing is planned or committed yet, so nothing would repeat and nothing would be lost.", "small"
        )
        return
    with st.grid(len(impacts), min_column_width=260, vertical_alignment="top"):
        for price in impacts:
            _one(price)
    if not with_link:
        return
    missing = [item for item in impacts if item.repeats_rows is None or item.loses_rows is None]
    label = (
        "Not known in full: give the sink and the sources"
        if missing
        else "Source & sink: where these numbers come from"
    )
    st.page_link("pages/ends.py", label=label, query_params={})


def _one(price: DeletionImpact) -> None:
    numbers = (price.repeats_rows, price.loses_rows)
    costs = any(number for number in numbers)
    tone: cards.Tone = (
        "blocked" if price.loses_rows else "doubt" if costs else "done" if None not in numbers else "plain"
    )
    with cards.box(tone, height="stretch"):
        cards.text(TITLES.get(price.start, price.start), "small")
        most = price.is_at_most
        cards.text(
            f"{cards.MARKS[tone]} {_rows('repeats', price.repeats_rows, most)},"
            f" {_rows('loses', price.loses_rows, most)}",
            "strong",
        )
        cards.text(price.sentence)
        cards.text(cached_answers.CERTAINTY[price.certainty], "small")


def _rows(verb: str, number: int | None, at_most: bool) -> str:
    """``repeats 50 rows``, ``loses nothing``, ``repeats: not known``."""
    if number is None:
        return f"{verb}: {words.NOT_KNOWN}"
    if number == 0:
        return f"{verb} nothing"
    return f"{verb} {'at most ' if at_most else ''}{words.amount(number, 'rows')}"
