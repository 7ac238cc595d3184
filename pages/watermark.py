"""Watermark: the value in force per batch, its lag, where it did not move and why that may be."""

from __future__ import annotations

import streamlit as st

from core.analysis.watermark import FutureJump, WatermarkHistory, watermark_history
from core.checkpoint import Checkpoint
from core.messages import say, words
from ui import (
    batch_details,
    cached_answers,
    cards,
    charts,
    finding_cards,
    selection,
    shell,
    tables,
    watermark_charts,
    watermark_texts,
)

MOST_STALLS, MOST_REWINDS = 20, 10
FINDINGS = ("WATERMARK_AHEAD", "WATERMARK_STALLED", "WATERMARK_WENT_BACK")


def main() -> None:
    opened, ck = shell.checkpoint()
    if not ck.offset_ids:
        cards.message("plain", say("screen_state.no_batch"))
        return
    newest = watermark_history(ck)
    if not newest.has_watermark and not selection.asks_for_batches():
        cards.message("plain", *watermark_texts.no_watermark(ck, newest))
        return
    lead = st.container()
    timeline = cached_answers.timeline(opened, ck)
    view = selection.controls(timeline, with_axis=False)
    history = watermark_history(ck, selection.read(ck, timeline, view))
    if not history.has_watermark:
        cards.message("plain", *watermark_texts.no_watermark(ck, history))
        return
    with lead:
        cards.text(watermark_texts.headline(ck, history), "lead")
        figures(history)
    if view.chosen is not None and timeline.row(view.chosen) is None:
        cards.message("plain", batch_details.absent(ck, timeline, view.chosen))
    shown = finding_cards.some(opened, ck, FINDINGS)
    stalls(ck, history, shown)
    picture(history, view)
    what_stands_out(ck, history, shown)
    with st.expander(say("screen_state.rule_title")):
        cards.text(history.rule)
    tables.behind(
        lambda: watermark_texts.as_columns(history), say("screen_state.watermark_table"), "watermark"
    )


def figures(history: WatermarkHistory) -> None:
    """Now, at the next start, typical lag, policy."""
    with st.grid(4, min_column_width=165):
        moment("In force", int(history.in_force_ms[-1]), "done")
        moment("At the next start", history.restart_ms or 0, "plain")
        cards.figure(*watermark_texts.lag(history))
        policy = say("screen_state.policy_pinned" if history.policy else "screen_state.policy_default")
        cards.figure("Policy", history.policy or "min", policy)


def moment(label: str, ms: int, tone: cards.Tone) -> None:
    """One watermark as a figure."""
    if ms > 0:
        cards.figure(label, words.clock(ms), words.day(ms), tone)
    else:
        cards.figure(label, "none yet", "", tone)


def picture(history: WatermarkHistory, view: selection.View) -> None:
    """Watermark and lag; a click chooses a batch."""
    figure = watermark_charts.figure(history, view.chosen)
    charts.show(figure, "watermark", history.headline, selection.watermark_clicked, is_zoomed=True)
    if not watermark_charts.shows_batch_starts(history):
        cards.text(say("screen_state.starts_left_out"), "small")


def what_stands_out(ck: Checkpoint, history: WatermarkHistory, shown: set[str]) -> None:
    """What is not as usual and no finding says. ``shown``: the findings above."""
    if history.jump is not None and "WATERMARK_AHEAD" not in shown:
        jump(history.jump)
    for batch in () if "WATERMARK_WENT_BACK" in shown else history.went_back[:MOST_REWINDS]:
        proof = say("screen_state.went_back_proof", batch=batch)
        cards.message("doubt", say("screen_state.went_back", batch=batch), proof)
    if ck.has_state and history.restart_ms:
        cards.text(say("screen_state.kept_state", ms=history.restart_ms), "small")
    if len(history) < history.total_batches:
        cards.text(say("screen_state.shown", n=len(history), total=history.total_batches), "small")


def jump(found: FutureJump) -> None:
    """A watermark ahead of the clock."""
    proof = say("screen_state.jump_proof", file=found.evidence)
    cards.message("doubt", say("screen_state.jump", batch=found.batch_id, ahead=found.ahead_ms), proof)


def stalls(ck: Checkpoint, history: WatermarkHistory, shown: set[str]) -> None:
    """Each stall in a sentence, and why it may be; without the one that is a finding above."""
    is_told = "WATERMARK_STALLED" in shown
    told = [stall for stall in history.stalls if not (stall.reaches_end and is_told)]
    for stall in sorted(told, key=lambda item: -item.data_batches)[:MOST_STALLS]:
        cards.message("doubt", watermark_texts.stall(stall), watermark_texts.why(ck, history, stall))


main()
