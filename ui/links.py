"""The one module that builds links. The address alone restores a view; checkpoints are named relative to a root where there is one.

A link never carries storage options, credentials or contents of a checkpoint. Choices that define a view are widgets bound to the
address (``bind="query-params"``); those that name a thing have no default, so that a link keeps its meaning when a list changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

import streamlit as st

VIEW = ("batch", "last", "size", "x", "whole", "source", "partition", "operator", "store", "measure", "option")
"""Parameters that describe a view of one checkpoint; ``ck`` names the checkpoint, ``a_...`` are answers of the recovery chooser."""

ANSWER = "a_"
LARGEST_NUMBER = 2**53 - 1
"""The largest whole number that a browser keeps exactly."""


def address() -> str:
    """The address of the view as it is now. Call it after the page ran: its widgets decide."""
    query = [(key, value) for key in st.query_params for value in st.query_params.get_all(key)]
    return (st.context.url or "") + ("?" + urlencode(query, safe="/:") if query else "")


def asked(name: str) -> str | None:
    """What the address asks for under ``name``. Read it before the widget of that name exists: a widget drops what it cannot honour."""
    values = st.query_params.get_all(name)
    return values[-1] if values else None


def refusal(name: str, known: Iterable[str], what: str) -> str | None:
    """One sentence when the address asks for something under ``name`` that this checkpoint does not have, else None."""
    wanted = asked(name)
    choices = list(known)
    if wanted is None or wanted in choices:
        return None
    there = "there is none" if not choices else "there are " + ", ".join(choices[:12]) + (", ..." if len(choices) > 12 else "")
    return f"This link asks for {what} {wanted[:80]!r}; {there} in this checkpoint."


def number_refusal(name: str, what: str) -> str | None:
    """One sentence when the address gives something under ``name`` that is no whole number, else None."""
    wanted = asked(name)
    if wanted is None or (wanted.isascii() and wanted.isdigit() and int(wanted) <= LARGEST_NUMBER):
        return None
    return f"This link asks for {what} {wanted[:80]!r}, which is not a number from 0 to {LARGEST_NUMBER:,}."


def choose(**values: object) -> None:
    """Sets choices from a callback; the address follows."""
    for key, value in values.items():
        st.session_state[key] = value


def forget_view() -> None:
    """Drops the choices that belong to the checkpoint that was open before."""
    for key in list(st.session_state):
        if key in VIEW or str(key).startswith(ANSWER):
            del st.session_state[key]
