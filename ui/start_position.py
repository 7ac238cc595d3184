"""The resume block: where a new checkpoint has to start, per source, ready to copy."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.checkpoint import Checkpoint
from core.checkpoint.sources.base import ResumePoint
from core.messages import say, words
from core.recovery import SourceResume, as_pyspark
from ui import cached_answers, cards
from ui.open_checkpoints import Opened


def block(opened: Opened, ck: Checkpoint, batch_id: int | None = None, is_short: bool = False) -> None:
    """The start position per source after ``batch_id`` (default: the last committed batch), with what repeats
    and what is skipped; ``is_short``: that is folded away."""
    answer = cached_answers.resume(opened, ck, batch_id)
    if isinstance(answer, str):
        cards.text(say("screen_start.position"), "section")
        cards.message("plain", answer)
        return
    cards.text(_title(answer.batch, is_short), "section")
    if not answer.sources:
        cards.text(say("screen_start.position_no_source"), "small")
    several = len(answer.sources) > 1
    if is_short:
        _without_option([source for source in answer.sources if source.point.options is None], several)
    for source in answer.sources:
        if is_short and source.point.options is None:
            continue
        _paste(source, several)
        if not is_short:
            _effects(source)
    if is_short and answer.sources:
        with st.expander(say("screen_start.position_effects")):
            for source in answer.sources:
                _effects(source)
            if answer.note:
                cards.said(answer.note, "small")
    elif answer.note:
        cards.said(answer.note, "small")


def _title(batch: int | None, is_short: bool) -> str:
    if batch is None:
        return say("screen_start.position_beginning")
    return say("screen_start.position_short" if is_short else "screen_start.position_after", batch=batch)


def _paste(source: SourceResume, several: bool) -> None:
    """What to paste, or that there is nothing to paste."""
    point, kind = source.point, source.kind.label
    if several:
        cards.text(say("screen_start.position_source", key=source.key, kind=kind), "strong")
    if point.options is None:
        cards.message(
            "doubt",
            say("screen_start.no_option", source=words.capital(_named(kind)))
            if source.evidence is None
            else say(
                "screen_start.no_option_from", source=words.capital(_named(kind)), evidence=source.evidence
            ),
        )
    else:
        st.code(as_pyspark(point, source.kind), language="python", wrap_lines=True)


def _without_option(sources: Sequence[SourceResume], several: bool) -> None:
    """In one sentence, of which sources there is nothing to paste."""
    if not sources:
        return
    named = [
        say("screen_start.source_of_kind", key=source.key, kind=source.kind.label)
        if several
        else _named(source.kind.label)
        for source in sources
    ]
    places = [str(source.evidence) for source in sources if source.evidence is not None]
    sentence = (
        say("screen_start.no_option_of", sources=named, n=len(named), evidence=places)
        if places
        else say("screen_start.no_option_at_all", sources=named, n=len(named))
    )
    cards.message("doubt", words.capital(sentence))


def _named(kind: str) -> str:
    """A kind of source in a sentence: the file source, the Delta table, but Kafka."""
    return say("screen_start.the_source", kind=kind) if kind.endswith((" source", " table")) else kind


def _effects(source: SourceResume) -> None:
    """How exact it is, what repeats and what is skipped, and the other way."""
    point = source.point
    if point.options is None:
        cards.text(words.one_line(point.note, 1_500), "small")
        without = say("screen_start.without_option", repeats=point.repeats, skips=point.skips)
        cards.text(without, "small")
    else:
        cards.text(words.one_line(_effect(point, source.evidence), 1_500), "small")
    _other_way(point)


def _effect(point: ResumePoint, evidence: object) -> str:
    values = {
        "certainty": cached_answers.CERTAINTY[point.certainty],
        "repeats": point.repeats,
        "skips": point.skips,
        "note": point.note,
    }
    if evidence is None:
        return say("screen_start.exact" if point.exact else "screen_start.not_exact", **values)
    return say(
        "screen_start.exact_from" if point.exact else "screen_start.not_exact_from",
        evidence=evidence,
        **values,
    )


def _other_way(point: ResumePoint) -> None:
    """Another exact way, for a query that cannot take the options."""
    if point.code:
        cards.text(say("screen_start.other_way"), "small")
        st.code(point.code, language="python", wrap_lines=True)
