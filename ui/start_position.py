"""The resume block: where a new checkpoint has to start, per source, ready to copy."""

from __future__ import annotations

import streamlit as st

from core.checkpoint import Checkpoint
from core.checkpoint.sources.base import ResumePoint
from core.messages import words
from core.recovery import SourceResume, as_pyspark
from ui import cached_answers, cards
from ui.open_checkpoints import Opened


def block(opened: Opened, ck: Checkpoint, batch_id: int | None = None) -> None:
    """The start position per source after ``batch_id`` (default: the last committed batch), with what repeats
    and what is skipped."""
    answer = cached_answers.resume(opened, ck, batch_id)
    if isinstance(answer, str):
        cards.text("Start position for a new checkpoint", "section")
        cards.message("plain", answer)
        return
    after = (
        "from the beginning"
        if answer.batch is None
        else f"after batch {answer.batch}, the last committed one"
    )
    if answer.batch is not None and answer.batch != ck.last_committed_batch:
        after = f"after batch {answer.batch}"
    cards.text(f"Start position for a new checkpoint, {after}", "section")
    if not answer.sources:
        cards.text("The offset log names no source yet, so there is no position to go on from.", "small")
    for source in answer.sources:
        _source(source, several=len(answer.sources) > 1)
    if answer.note:
        cards.text(answer.note, "small")


def _source(source: SourceResume, several: bool) -> None:
    point = source.point
    if several:
        cards.text(f"Source {source.key}: {source.kind.label}", "strong")
    from_where = f", from {source.evidence}" if source.evidence is not None else ""
    if point.options is None:
        cards.message(
            "doubt",
            f"No start option of {source.kind.label} says this position{from_where}.",
            words.one_line(point.note, 1_500),
        )
        cards.text(
            f"Without more: reads again {point.repeats}; skips {point.skips}. The page Recovery has the way"
            " around.",
            "small",
        )
        _other_way(point)
        return
    st.code(as_pyspark(point, source.kind), language="python", wrap_lines=True)
    exact = "Exact" if point.exact else "Not exact"
    told = (
        f"{exact} ({cached_answers.CERTAINTY[point.certainty]}){from_where}. Reads again: {point.repeats}."
        f" Skips: {point.skips}. {point.note}"
    )
    cards.text(words.one_line(told, 1_500), "small")
    _other_way(point)


def _other_way(point: ResumePoint) -> None:
    """Another exact way, for a query that cannot take the options."""
    if point.code:
        cards.text("Or, in a query that cannot take these options:", "small")
        st.code(point.code, language="python", wrap_lines=True)
