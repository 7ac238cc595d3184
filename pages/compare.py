"""Compare: where the open checkpoint, A, and another one, B, differ."""

from __future__ import annotations

import streamlit as st

from core.analysis.comparison import Comparison
from core.analysis.forecast.verdict import in_few_words
from core.checkpoint import Checkpoint
from core.messages import say
from core.messages.screen_compare import DEPTHS
from ui import cached_answers, cards, comparison_tables, links, second_checkpoint, selection, shell
from ui.links import WITH
from ui.open_checkpoints import Opened


def main() -> None:
    a, ck = shell.checkpoint()
    if links.given(WITH) is None:
        cards.text(say("screen_compare.choose"), "lead")
        cards.text(say("screen_compare.choose_why"), "small")
    b = second_checkpoint.choose(a)
    if b is None or b.ck is None:
        selection.refuse(links.refusal("depth", DEPTHS))
        return
    answer = st.container()
    is_deep, costs = depth(ck, b.ck)
    with st.spinner(say("screen_compare.comparing")):
        found = cached_answers.comparison(a, b, is_deep)
    if isinstance(found, str):
        cards.message("blocked", found)
        return
    with answer:
        comparison_tables.headline(found, a, b)
        next_starts(a, ck, b, b.ck)
    if costs is not None:
        with costs:
            cards.text(cost(ck, found, is_deep), "small")
    comparison_tables.by_area(found)
    comparison_tables.not_compared(found)
    comparison_tables.command_line(ck, b.ck, is_deep)


def next_starts(a: Opened, of_a: Checkpoint, b: Opened, of_b: Checkpoint) -> None:
    """What the next start of each does; that of B in full where it is not a plain one and not that of A,
    which stands above."""
    first, second = cached_answers.next_start(a, of_a), cached_answers.next_start(b, of_b)
    known = [None if isinstance(each, str) else each for each in (first, second)]
    said = say("screen_compare.next_starts", a=in_few_words(known[0]), b=in_few_words(known[1]))
    if isinstance(second, str):
        cards.message("plain", said, second)
        return
    is_said = not cached_answers.stands_out(second) or (known[0] and known[0].sentence == second.sentence)
    cards.message(cached_answers.tone_of(second), said, "" if is_said else second.sentence)


def depth(a: Checkpoint, b: Checkpoint) -> tuple[bool, st.delta_generator.DeltaGenerator | None]:
    """Whether the bytes of state files are compared, and the place that says what that costs; None where no
    state is kept."""
    if not (a.has_state or b.has_state):
        selection.refuse(links.refusal("depth", DEPTHS))
        return False, None
    chosen = selection.pick(say("screen_compare.depth"), "depth", DEPTHS, DEPTHS["names"])
    return chosen == "bytes", st.container()


def cost(ck: Checkpoint, found: Comparison, is_deep: bool) -> str:
    """What comparing bytes would read, or has read."""
    seconds, files = ck.settings.deep_check_seconds, found.unread_files
    if is_deep and files:
        return say("screen_compare.depth_stopped", seconds=seconds, n=files)
    if is_deep:
        return say("screen_compare.depth_done")
    if files:
        size_bytes = found.unread_bytes
        return say("screen_compare.depth_costs", n=files, size_bytes=size_bytes, seconds=seconds)
    return say("screen_compare.depth_nothing")


main()
