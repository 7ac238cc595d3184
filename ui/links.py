"""The one module that builds links. The address alone restores a view; checkpoints are named relative to a
root where there is one.

A link never carries storage options, credentials or contents of a checkpoint. Choices that define a view are
widgets bound to the address (``bind="query-params"``); those that name a thing have no default, so that a
link keeps its meaning when a list changes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from urllib.parse import urlencode, urlsplit

import streamlit as st

from core.messages import say, say_of

BOUND = ("batch", "last", "partition", "store", "since")
"""Parameters that name something in one checkpoint and are bound to the widget of the same key; ``ck`` names
the checkpoint itself, ``x``, ``size`` and ``whole`` say how to look and stay when another checkpoint is
opened."""

PICKED = (
    "source",
    "operator",
    "measure",
    "option",
    "spark",
    "query",
    "level",
    "loss",
    "tp",
    "rows",
    "of",
    "find",
    "what",
    "becomes",
    "target",
    "with",
    "depth",
    "ask",
    "column",
    "tab",
)
"""The same for choices that are bound by :func:`chosen` and :func:`pick`; ``a_...`` are answers of the
recovery chooser."""

KAFKA, SINK, ISOLATION, PLACE, TOPICS = "kafka", "sink", "isolation", "at_", "topics_"
"""Where the ends of the open checkpoint are (:mod:`ui.connector_settings`): they stay while pages change and
go when another checkpoint is opened. ``at_0`` is the place of source 0, ``topics_0`` what it subscribes to
today."""

WITH = "with"
"""The checkpoint that the open one is compared with."""

WIDGET = "pick_"
_KEPT = "kept_"
_SEEN = "kept_seen_"
_VISIT = "_visit"
_PAGE = re.compile(r"[A-Za-z0-9_.-]{1,80}")

ANSWER = "a_"
TYPED_KEY = "typed_key"
"""The field for a key of the state; what is typed there is the user's data and stays out of addresses."""
_LEFT_OUT = "_left_out"
LARGEST_NUMBER = 2**53 - 1
"""The largest whole number that a browser keeps exactly."""


def address(of: str | None = None, without: Collection[str] = ()) -> str:
    """The address of the view as it is now, ``without`` some names. Call it after the page ran: its widgets
    decide.

    ``of``: the same view of another checkpoint, without where its ends are and without following it.
    """
    query = [(key, value) for key in st.query_params for value in st.query_params.get_all(key)]
    query = [(key, value) for key, value in query if key not in without]
    if of is not None:
        query = [(key, value) for key, value in query if key not in ("ck", "follow") and not is_end(key)]
        query.insert(0, ("ck", of))
    return (st.context.url or "") + ("?" + urlencode(query, safe="/:") if query else "")


def unknown(answers: Iterable[str], named: Iterable[str]) -> list[str]:
    """What the address asks for under names that mean nothing here. ``answers`` of the recovery chooser and
    what else is ``named`` are known."""
    known = {"ck", *BOUND, *PICKED, *named, *(ANSWER + answer for answer in answers)}
    embedding = ("embed", "embed_options")  # of Streamlit
    return [name for name in st.query_params if name not in (*known, *embedding) and not is_end(name)]


def page_asked() -> str | None:
    """The page that the address names: the last part of its path; None for the address of the app itself and
    for what cannot name a page."""
    last = urlsplit(st.context.url or "").path.rpartition("/")[2]
    return last if _PAGE.fullmatch(last) else None


def asked(name: str) -> str | None:
    """What the address asks for under ``name``. Read it before the widget of that name exists: a widget drops
    what it cannot honour."""
    values = st.query_params.get_all(name)
    return values[-1] if values else None


def refusal(name: str, known: Iterable[str]) -> str | None:
    """One sentence when the address asks for something under ``name`` that is not among the ``known``, else
    None."""
    wanted = asked(name)
    choices = list(known)
    if wanted is None or wanted in choices:
        return None
    return say("screens.link_choice", what=_called(name), wanted=wanted[:80], choices=choices)


def number_refusal(name: str) -> str | None:
    """One sentence when the address gives something under ``name`` that is not a whole number, else None."""
    wanted = asked(name)
    if wanted is None:
        return None
    if not (wanted.isascii() and wanted.isdigit()):
        return say("screens.link_number", what=_called(name), wanted=wanted[:80])
    if int(wanted[:40]) > LARGEST_NUMBER:
        return say("screens.link_number_too_large", what=_called(name), wanted=wanted[:80])
    return None


def drop(name: str) -> None:
    """Takes a parameter out of the address before the widget of that name exists."""
    if name in st.query_params:
        del st.query_params[name]


def _called(name: str) -> str:
    if name.startswith(ANSWER):
        return f"the answer {name.removeprefix(ANSWER)}"
    return say_of("screens", "NAMES", name)


def chosen(name: str, known: Iterable[str]) -> str | None:
    """The value under ``name`` for a choice whose labels differ from its values; None when nothing that is
    known is chosen.

    Streamlit's own binding writes the label into the address, so such choices are bound here: the address
    decides, and what was chosen before on this page comes back when the page does. An address that loses it
    while the page stays is Back in the browser, and means none.
    """
    return _bound(name, tuple(known))


def entered(page: str) -> None:
    """Once per run, before the page: one visit lasts until another page is opened."""
    st.session_state[_LEFT_OUT] = []
    before = st.session_state.get(_VISIT)
    if before is None or before[0] != page:
        st.session_state[_VISIT] = (page, 0 if before is None else before[1] + 1)


def leaves_out(what: str) -> None:
    """Notes that the page as it is now shows something that its address does not carry."""
    noted: list[str] = st.session_state.setdefault(_LEFT_OUT, [])
    if what not in noted:
        noted.append(what)


def left_out() -> tuple[str, ...]:
    """What was noted in this run. Call it after the page ran."""
    return tuple(st.session_state.get(_LEFT_OUT, ()))


def given(name: str) -> str | None:
    """As :func:`chosen` for a text that may be anything."""
    return _bound(name, None)


def _bound(name: str, known: tuple[str, ...] | None) -> str | None:
    wanted, visit = asked(name), st.session_state.get(_VISIT)
    if not wanted and st.session_state.get(_SEEN + name, "never") == visit:
        st.session_state.pop(_KEPT + name, None)
    found = wanted or st.session_state.get(_KEPT + name)
    if not found or (known is not None and found not in known):
        return None
    st.session_state[_KEPT + name], st.session_state[_SEEN + name] = found, visit
    if not wanted:
        st.query_params[name] = found
    return str(found)


def pick(name: str, value: str | None) -> None:
    """Writes a choice into the address; for callbacks."""
    st.session_state[_KEPT + name] = value
    if value is None:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = value


def is_end(name: str) -> bool:
    """Whether a name in the address says where an end of the query is."""
    return name in (KAFKA, SINK, ISOLATION) or name.startswith((PLACE, TOPICS))


def onward(**more: str) -> dict[str, str]:
    """The parameters of a link to a page of the open checkpoint: what holds on every page (the checkpoint,
    the ends, the level, the answers), and ``more``. A link to the page that is open gets nothing else."""
    stays = {
        name: st.query_params[name]
        for name in st.query_params
        if name in ("ck", "level") or name.startswith(ANSWER) or is_end(name)
    }
    return stays | more


def choose(**values: object) -> None:
    """Sets choices from a callback; the address follows."""
    for key, value in values.items():
        st.session_state[key] = value


def forget_view() -> None:
    """Drops the choices that belong to the checkpoint that was open before."""
    for name in list(st.query_params):
        if name in PICKED or name.startswith(ANSWER) or is_end(name):
            del st.query_params[name]
    for key in list(st.session_state):
        if str(key).startswith((_KEPT, WIDGET, ANSWER, "_given", "give_")):
            del st.session_state[key]
    for key in BOUND:  # deleting would bring back what the address says
        st.session_state[key] = None
