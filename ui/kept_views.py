"""Links that keep showing what a checkpoint showed: evidence in the incident store, and back to now."""

from __future__ import annotations

import streamlit as st

from core.checkpoint import Checkpoint
from core.documents.recorded import recorded_answers
from core.errors import CheckpointExplorerError, StorageError
from core.incident import Kept, keep
from core.messages import say
from core.settings import get_settings
from core.storage.roots import link_for, locate
from ui import cached_answers, cards, kept_incidents, links, open_checkpoints
from ui.links import WITH
from ui.open_checkpoints import Opened

_ASKED, _KEPT, _GO = "_keep_view", "_kept_view", "_compare_now"


def offer(opened: Opened, ck: Checkpoint, key: str) -> None:
    """A button that keeps the evidence, and then the link to this view of it. Nothing without an incident
    store, and nothing for what is evidence already."""
    if get_settings().incident_store is None or ck.door.evidence is not None:
        return
    cards.text(say("incident_store.what"), "small")
    with st.container(horizontal=True, gap="small"):
        st.button(say("incident_store.button"), key=key, on_click=_ask, args=(opened, _newest_of(ck)))
        if kept_incidents.are_listed():
            st.page_link("pages/incidents.py", label=say("incident_store.to_list"), query_params={})
    asked = st.session_state.pop(_ASKED, None)
    if asked is not None:
        with st.spinner(say("incident_store.working")):
            st.session_state[_KEPT] = (opened.key, _kept(opened, ck), asked[0])
    of, kept, before = st.session_state.get(_KEPT, (None, None, None))
    if of != opened.key:
        return
    if isinstance(kept, str):
        cards.message("blocked", kept)
    elif kept is not None:
        cards.text(say("incident_store.link", moment=kept.taken.manifest.moment_ms), "small")
        now = _newest_in(kept)
        if now != before:
            moment = kept.taken.manifest.moment_ms
            cards.text(say("incident_store.read_again", moment=moment, now=now, before=before), "small")
        st.code(links.address(kept.name), language=None, wrap_lines=True)


def _ask(opened: Opened, newest: str) -> None:
    """The evidence is what lies there now, so the page is read again before: it shows what is kept."""
    open_checkpoints.refresh(opened.name, everything=True)
    st.session_state[_ASKED] = (newest,)


def _newest_of(ck: Checkpoint) -> str:
    return str(ck.offset_ids[-1]) if ck.offset_ids else "none"


def _newest_in(kept: Kept) -> str:
    names = (file.info.path.removeprefix("offsets/") for file in kept.taken.manifest.files)
    ids = [int(name) for name in names if name.isascii() and name.isdecimal()]
    return str(max(ids)) if ids else "none"


def _kept(opened: Opened, ck: Checkpoint) -> Kept | str:
    try:
        kept = keep(ck.door, answers=recorded_answers(cached_answers.judgement(opened, ck)))
        kept_incidents.list_again()
        return kept
    except CheckpointExplorerError as error:
        return str(error)


def evidence_line(ck: Checkpoint) -> None:
    """Of an open evidence file: its moment, where the checkpoint lay, and the way to what is there now."""
    record = ck.door.evidence
    if record is None:
        return
    cards.message("plain", say("evidence.is_evidence", moment=record.moment_ms, location=record.location))
    now = _name_now(record.location)
    if now is not None and links.asked(WITH) != now:
        st.button(say("incident_store.compare"), key="compare-now", on_click=_to_now, args=(now,))
    if (to := st.session_state.pop(_GO, None)) is not None:
        st.switch_page("pages/compare.py", query_params={WITH: to})


def _to_now(name: str) -> None:
    open_checkpoints.refresh(name)  # not what this session read before
    st.session_state[_GO] = name


def _name_now(recorded: str) -> str | None:
    """What names the recorded location, where it may be opened: below a root, or a local path of this
    machine's own user. An evidence file never sends anybody elsewhere."""
    settings = get_settings()
    try:
        location = locate(recorded, settings)
        if location.evidence_id:
            return None
        below = link_for(location, settings)
    except StorageError:
        return None
    if below is None and settings.is_private and location.is_local:
        return location.url
    return below
