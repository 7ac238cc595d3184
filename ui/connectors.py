"""Asking the ends of the open checkpoint: once per reading, again on request, files apart from the broker,
which can take seconds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from core.checkpoint import Checkpoint
from core.connectors.connect import ask_connectors
from core.connectors.model import ConnectorAnswers, ConnectorSettings
from core.connectors.requested import identity, joined, of_broker, of_files
from core.messages import say, words
from ui import cards, connector_settings, links, readings
from ui.open_checkpoints import MOST_OPEN, Opened

_TOKENS = "_asked"


@dataclass(frozen=True, slots=True)
class Asked:
    """What the ends said. ``key`` tells two answers apart in a cache; ``ends`` is None where nothing was
    given."""

    key: tuple[object, ...]
    connectors: ConnectorAnswers | None
    asked_at_ms: int


NOTHING = Asked((), None, 0)


def answers(opened: Opened, ck: Checkpoint, with_kafka: bool = True) -> Asked:
    """What all ends that were given say; ``with_kafka`` False leaves out the broker, so that the rest of a
    page need not wait for it."""
    found = connector_settings.read(ck)
    wanted = found.connectors if with_kafka else of_files(found.connectors)
    if wanted.is_empty:
        return NOTHING
    token = st.session_state.get(_TOKENS, {}).get(opened.name, 0)
    parts = [
        _look((opened.key, token, identity(part)), ck, part)
        for part in (of_files(wanted), of_broker(wanted))
        if not part.is_empty
    ]
    return Asked(
        (opened.key, token, identity(wanted)),
        joined(wanted, [part.connectors for part in parts if part.connectors is not None]),
        min(part.asked_at_ms for part in parts),
    )


def topics(ck: Checkpoint) -> Mapping[str, tuple[str, ...]]:
    """What the Kafka sources subscribe to today, by source key, where somebody said it."""
    return connector_settings.read(ck).connectors.topics


def waits(ck: Checkpoint) -> bool:
    """Whether an answer can take seconds: then a page draws first what does not need it."""
    return connector_settings.read(ck).has_kafka


def ask_again(name: str) -> None:
    """The next run asks source and sink again; for callbacks."""
    st.session_state.setdefault(_TOKENS, {})[name] = time.time_ns()


@readings.cached(2 * MOST_OPEN)
def _look(key: tuple[object, ...], _ck: Checkpoint, _given: ConnectorSettings) -> Asked:
    asked_at_ms = int(time.time() * 1000)
    return Asked(key, ask_connectors(_ck, _given), asked_at_ms)


def asked_line(opened: Opened, asked_at_ms: int, more: str, key: str) -> None:
    """When was asked, how long ago, and a button that asks again."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _age(asked_at_ms, more)
        st.button(
            say("screen_connectors.ask_again"),
            key=f"ask-{key}",
            on_click=ask_again,
            args=(opened.name,),
            type="tertiary",
        )


@st.fragment(run_every="20s")
def _age(asked_at_ms: int, more: str) -> None:
    age = words.age(int(time.time() * 1000) - asked_at_ms)
    asked = (
        say("screen_connectors.asked_about", at=asked_at_ms, age=age, what=more)
        if more
        else say("screen_connectors.asked", at=asked_at_ms, age=age)
    )
    cards.text(asked, "small", "content")


def offer(ck: Checkpoint) -> None:
    """Nothing given: the way to give it."""
    if connector_settings.read(ck).connectors.is_empty:
        st.page_link("pages/ends.py", label=say("screen_connectors.connect"), query_params={})


def what_was_asked(opened: Opened, ck: Checkpoint) -> None:
    """What was asked, when, and what could not be: for pages that use the answers and do not show them."""
    found = connector_settings.read(ck)
    for problem in found.problems.values():
        cards.message("plain", problem, say("screen_connectors.see_page"))
    if found.connectors.is_empty:
        return
    asked = answers(opened, ck)
    troubles = asked.connectors.troubles if asked.connectors is not None else {}
    for trouble in dict.fromkeys(troubles.values()):
        cards.message("plain", trouble, say("screen_connectors.left_out"))
    where = [
        str(say("screen_connectors.subscribes", key=key, topics=topics))
        for key, topics in found.connectors.topics.items()
    ]
    where += [
        say("screen_connectors.at", key=name.removeprefix(links.PLACE), place=text)
        for name, text in found.texts
        if name.startswith(links.PLACE)
    ]
    if found.text(links.KAFKA):
        where.append(say("screen_connectors.at_broker", name=found.text(links.KAFKA)))
    if found.text(links.SINK):
        where.append(say("screen_connectors.at_sink", place=found.text(links.SINK)))
    asked_line(opened, asked.asked_at_ms, words.one_line(" · ".join(where), 300), "source-and-sink")
