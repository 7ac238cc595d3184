"""The level deep in the address: whoever opens a link sees what its sender saw of the state files, or is told
that nobody looked into them."""

from __future__ import annotations

import streamlit as st

from core.analysis.findings import LEVELS, Level
from core.analysis.recorded_contents import lacks_contents
from core.checkpoint import Checkpoint
from core.errors import CheckpointExplorerError
from core.messages import say
from ui import cached_answers, cards, links
from ui.open_checkpoints import Opened

DEEP: Level = "deep"
_LOWER = "_lower_level"


def settle(opened: Opened, ck: Checkpoint, is_chosen_here: bool) -> None:
    """Before a page: reads the state files where the address asks for it, and puts the level into the address
    where they were read. ``is_chosen_here``: the page has the choice of the level, and runs it itself."""
    chosen = links.chosen("level", LEVELS)
    if cached_answers.deepest(ck) is not None:
        if chosen != DEEP:
            st.session_state[_LOWER] = None if chosen is None else (opened.name, chosen)
            links.pick("level", DEEP)
        return
    of, lower = st.session_state.pop(_LOWER, None) or ("", None)
    if of == opened.name:  # chosen while the files were read already
        links.pick("level", lower)
    elif chosen == DEEP:
        if (why_not := _why_not(ck, is_chosen_here)) is not None:
            cards.message("plain", why_not)
            return
        with st.spinner(say("screens.deep_working", seconds=ck.settings.deep_check_seconds)):
            _read(opened, ck)


def _why_not(ck: Checkpoint, is_chosen_here: bool) -> str | None:
    if lacks_contents(ck.door):
        return say("screens.deep_of_evidence")
    if st.session_state.get("follow") and not is_chosen_here:
        return say("screens.deep_while_followed")
    return None


def _read(opened: Opened, ck: Checkpoint) -> None:
    try:
        _ = cached_answers.judgement(opened, ck, DEEP).forecast
    except CheckpointExplorerError as error:
        cards.message("plain", say("screens.deep_failed", reason=error))
