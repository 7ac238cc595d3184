"""The checkpoint to compare with, B: named in the address as ``with=``, chosen or pasted on the page."""

from __future__ import annotations

import streamlit as st

from core.messages import say
from ui import cards, links, open_checkpoints, root_listings, shell
from ui.links import WITH
from ui.open_checkpoints import Opened

_FIELD = links.WIDGET + WITH


def choose(a: Opened) -> Opened | None:
    """The field, and what it names; None while nothing is chosen or it cannot be opened, which is said."""
    name = _name()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _field(a, name)
        if name is None:
            return None
        st.button(say("screen_compare.swap"), on_click=_swap, args=(a.name, name), type="tertiary")
        st.button(
            say("screen_compare.read_again"),
            on_click=open_checkpoints.refresh,
            args=(name, True),
            type="tertiary",
        )
    b = open_checkpoints.opened(name)
    if b.ck is None:
        _problem(b)
        return None
    if a.ck is not None and a.ck.location == b.ck.location:
        cards.message("plain", say("screen_compare.same"), b.ck.location.url)
        return None
    return b


def _name() -> str | None:
    """What the address names, without a password."""
    name = links.given(WITH)
    if name is not None and open_checkpoints.carries_password(name):
        links.pick(WITH, open_checkpoints.canonical(name))
        return links.given(WITH)
    return name


def _field(a: Opened, name: str | None) -> None:
    known = [*open_checkpoints.recent(), *root_listings.offered()]
    others = [each for each in known if each not in (a.name, name)]
    st.session_state[_FIELD] = name
    st.selectbox(
        say("screen_compare.field"),
        list(dict.fromkeys([*([name] if name else []), *others])),
        index=None,
        key=_FIELD,
        accept_new_options=True,
        placeholder=say("screens.choose_placeholder"),
        on_change=_chosen,
        help=say("screen_compare.field_help"),
        width=560,
    )


def _chosen() -> None:
    text = (st.session_state.get(_FIELD) or "").strip()
    links.pick(WITH, open_checkpoints.canonical(text) if text else None)


def _swap(a: str, b: str) -> None:
    shell.open_checkpoint(b)
    links.pick(WITH, a)


def _problem(b: Opened) -> None:
    cards.message("blocked", b.problem or "")
    if b.suggestion is not None:
        st.button(
            say("screens.open_suggested"),
            key="with-suggested",
            on_click=links.pick,
            args=(WITH, b.suggestion),
            type="primary",
        )
