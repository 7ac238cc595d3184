"""How old the reading is, whether the checkpoint was written since, and following a query that runs.

A page that is drawn sends no request for this: only the line that redraws itself looks.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Iterator

import streamlit as st

from core.checkpoint import Checkpoint
from core.checkpoint.written_since import WrittenSince, written_since
from core.errors import StorageError
from core.messages import say, words
from core.settings import get_settings
from ui import cards, links, open_checkpoints, readings
from ui.open_checkpoints import Opened
from ui.readings import Reading

AGE_SECONDS = 30  # the age is written again this often when nobody looks for newer batches
SHOWN_FROM_MS = 60_000  # a younger age is wrong before the line is drawn again
_SHARED_SECONDS = 5  # viewers of the same reading share what one of them saw

_run = threading.local()


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """Marks this thread as drawing a whole page, in which nobody looks."""
    _run.is_whole = True
    try:
        yield
    finally:
        _run.is_whole = False


def follow_toggle(opened: Opened | None, is_list: bool) -> None:
    """The switch in the sidebar; on the page Checkpoints also without an open one. Not for an evidence file,
    which never changes, and not where a setting forbids to look."""
    seconds = get_settings().look_for_new_seconds
    is_alive = opened is not None and opened.ck is not None and opened.ck.door.evidence is None
    if seconds == 0 or not (is_alive or is_list):
        return
    refused = links.refusal("follow", ("true", "false"))
    if refused is not None:
        cards.message("plain", refused)
    st.toggle(
        say("screens.follow"),
        key="follow",
        bind="query-params",
        help=say("screens.follow_list_help") if is_list else say("screens.follow_help", seconds=seconds),
    )


def line(opened: Opened) -> None:
    """When the checkpoint was read, and what was written since. Followed, the page is read and drawn
    again."""
    seconds = get_settings().look_for_new_seconds
    if opened.ck is not None:
        # Streamlit keeps what a fragment was given for minutes after the tab is closed.
        st.fragment(_line, run_every=seconds or AGE_SECONDS)(opened.key, weakref.ref(opened.ck))


def _line(key: Reading, kept: weakref.ref[Checkpoint]) -> None:
    ck = kept()
    if ck is None:  # a tab that slept for so long that its reading was put away
        st.rerun()
    readings.look_at(key)
    is_whole = getattr(_run, "is_whole", False)
    since = None if is_whole or not get_settings().look_for_new_seconds else _since(key, ck)
    is_followed = bool(st.session_state.get("follow"))
    with st.container(key="read-at", width="content", horizontal=True, vertical_alignment="center"):
        cards.text(_read_at(ck), "small", "content")
        if is_followed and get_settings().look_for_new_seconds:
            every = say("screens.followed", seconds=get_settings().look_for_new_seconds)
            cards.text(every, "small", "content")
        if ck.looked_at_ms > ck.read_at_ms:
            looked = say("screens.nothing_new", clock=words.clock(ck.looked_at_ms))
            cards.text(looked, "small", "content")
            is_asked = st.button(
                say("screens.list_everything"),
                key="refresh-all",
                on_click=open_checkpoints.refresh,
                args=(key[0], True),
                type="tertiary",
            )
            if is_asked:
                st.rerun()
        if since is None:
            return
        if since.what == "unknown":
            cards.text(say("screens.since_unknown", reason=since.reason), "small", "content")
            return
        cards.text(_sentence(since), "small", "content")
        if is_followed or st.button(say("screens.since_show"), key="since-show", type="tertiary"):
            open_checkpoints.refresh(key[0])
            st.rerun()


def _read_at(ck: Checkpoint) -> str:
    """The time of the reading; how long ago that was only in units that stay true until the line is drawn
    again."""
    clock, age_ms = words.clock(ck.read_at_ms), int(time.time() * 1000) - ck.read_at_ms
    seconds = get_settings().look_for_new_seconds or AGE_SECONDS
    if age_ms < SHOWN_FROM_MS or seconds > SHOWN_FROM_MS // 1000:
        return say("screens.read_at_clock", clock=clock)
    return say("screens.read_at", clock=clock, age=words.age(age_ms))


def _sentence(since: WrittenSince) -> str:
    if since.what == "planned":
        return say("screens.since_planned", batch=since.batch_id)
    if since.what == "committed":
        return say("screens.since_committed", batch=since.batch_id)
    return say("screens.since_removed", batch=since.batch_id)


@st.cache_data(ttl=_SHARED_SECONDS, max_entries=open_checkpoints.MOST_OPEN, show_spinner=False)
def _since(key: Reading, _ck: Checkpoint) -> WrittenSince | None:
    try:
        return written_since(_ck)
    except StorageError as error:
        return WrittenSince("unknown", reason=str(error))
