"""Where the ends of the open checkpoint are, as a person gave them: in the address, kept from page to page,
dropped with the checkpoint.

``kafka`` is the name of a broker from the settings (or, on this machine only, the path of a properties file),
``sink`` and ``at_<source>`` are locations, named relative to a root where there is one. Contents of a
properties file and storage options are in no link.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import streamlit as st

from core.checkpoint import Checkpoint
from core.connectors.model import ConnectorSettings
from core.connectors.requested import (
    place_refused,
    read_topics,
    sources_with_broker,
    sources_with_place,
    topics_refused,
)
from core.errors import StorageError
from core.messages import say, say_of
from core.settings import PREFIX, get_settings
from core.storage import Location
from core.storage.door import Door
from core.storage.roots import link_for, locate
from ui import links, open_checkpoints, readings
from ui.open_checkpoints import MOST_OPEN, Opened

WIDGET = "give_"
_KEPT = "_given"

ISOLATIONS: dict[str, str] = {
    "read_uncommitted": "read_uncommitted (Spark's default)",
    "read_committed": "read_committed",
}


@dataclass(frozen=True, slots=True)
class Given:
    """What the address gives for one checkpoint. ``problems``: name in the address -> one sentence why it
    cannot be used."""

    connectors: ConnectorSettings
    texts: tuple[tuple[str, str], ...]
    problems: Mapping[str, str]

    def text(self, name: str) -> str | None:
        """What the address says under this name."""
        return dict(self.texts).get(name)

    @property
    def has_kafka(self) -> bool:
        """A broker has to be asked, which can take seconds."""
        return self.connectors.kafka is not None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something that lies where an end may be: ``name`` and ``text`` are what the address would say, ``told``
    is the offer."""

    name: str
    text: str
    told: str


def restore(checkpoint: str | None) -> None:
    """Once per run, before the page: a click in the menu takes these names out of the address, and this puts
    them back."""
    told = {name: links.asked(name) or "" for name in list(st.query_params) if links.is_end(name)}
    kept = st.session_state.get(_KEPT)
    if checkpoint is None:
        st.session_state.pop(_KEPT, None)
        return
    if kept is not None and kept[0] == checkpoint:
        for name, text in kept[1].items():
            if name not in told:
                st.query_params[name] = told[name] = text
    st.session_state[_KEPT] = (checkpoint, told)


def give(name: str, text: str | None) -> None:
    """Writes one end into the address, or takes it out; for callbacks."""
    kept = st.session_state.get(_KEPT)
    cleaned = (text or "").strip()
    if cleaned and name.startswith((links.SINK, links.PLACE)):
        cleaned = open_checkpoints.canonical(cleaned)
    if kept is not None:
        kept[1].pop(name, None)
        if cleaned:
            kept[1][name] = cleaned
    if cleaned:
        st.query_params[name] = cleaned
    else:
        st.query_params.pop(name, None)


def given_by_widget(name: str) -> None:
    """The field of this end was changed."""
    give(name, st.session_state.get(WIDGET + name))


def read(ck: Checkpoint) -> Given:
    """What the address gives, checked: what may not be opened or is not known is a sentence."""
    texts = {name: links.asked(name) or "" for name in list(st.query_params) if links.is_end(name)}
    problems: dict[str, str] = {}
    kafka = _kafka(texts, problems)
    isolation: Literal["read_uncommitted", "read_committed"] = "read_uncommitted"
    wanted = texts.get(links.ISOLATION)
    if wanted == "read_committed":
        isolation = "read_committed"
    elif wanted is not None and wanted not in ISOLATIONS:
        problems[links.ISOLATION] = say(
            "screens.link_choice",
            what=say_of("screens", "NAMES", links.ISOLATION),
            wanted=wanted[:80],
            choices=tuple(ISOLATIONS),
        )
    sink = _location(links.SINK, texts, problems)
    sources: dict[str, Location] = {}
    for name in texts:
        key = name.removeprefix(links.PLACE)
        if not name.startswith(links.PLACE):
            continue
        if place_refused(ck, key) is not None:
            placed = [source.key for source in sources_with_place(ck)]
            problems[name] = say("screen_connectors.link_place", key=key[:80], known=placed)
            continue
        found = _location(name, texts, problems)
        if found is not None:
            sources[key] = found
    return Given(
        ConnectorSettings(kafka, sink, sources, isolation, _topics(ck, texts, problems)),
        tuple(sorted(texts.items())),
        problems,
    )


def brokers() -> list[str]:
    """The names of the brokers in the settings."""
    return list(get_settings().kafka)


def may_type_a_path() -> bool:
    """Whether a properties file may be named by its path: only where nobody else can ask."""
    return get_settings().is_private


def _kafka(texts: Mapping[str, str], problems: dict[str, str]) -> Path | None:
    wanted = texts.get(links.KAFKA)
    if wanted is None:
        return None
    known = get_settings().kafka
    if wanted in known:
        return known[wanted]
    is_path = "/" in wanted or "\\" in wanted or wanted.startswith("~")
    if is_path and may_type_a_path():
        try:
            return Path(wanted).expanduser()
        except RuntimeError:
            problems[links.KAFKA] = say("screen_connectors.no_home", path=wanted[:200])
            return None
    problems[links.KAFKA] = say(
        "screen_connectors.no_broker_path" if is_path else "screen_connectors.no_broker",
        wanted=wanted[:200],
        setting=f"{PREFIX}KAFKA",
        known=tuple(known),
    )
    return None


def _topics(ck: Checkpoint, texts: Mapping[str, str], problems: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """What each Kafka source subscribes to today, where somebody said it."""
    found = {}
    for name, text in texts.items():
        key = name.removeprefix(links.TOPICS)
        if not name.startswith(links.TOPICS):
            continue
        if topics_refused(ck, key) is not None:
            known = [source.key for source in sources_with_broker(ck)]
            problems[name] = say("screen_connectors.link_topics", key=key[:80], known=known)
            continue
        topics = read_topics(text)
        if topics:
            found[key] = topics
    return found


def _location(name: str, texts: Mapping[str, str], problems: dict[str, str]) -> Location | None:
    text = texts.get(name)
    if not text:
        return None
    if open_checkpoints.carries_password(text):
        problems[name] = say("screens.password_refused")
        return None
    try:
        return locate(text, get_settings())
    except StorageError as error:
        problems[name] = str(error)
        return None


def suggestions(opened: Opened, ck: Checkpoint) -> tuple[Suggestion, ...]:
    """What lies beside the checkpoint and looks like one of its ends: at most two listings."""
    return _suggestions(opened.key, ck)


@readings.cached(MOST_OPEN, show_spinner=say("screen_connectors.looking_beside"))
def _suggestions(key: tuple[str, int], _ck: Checkpoint) -> tuple[Suggestion, ...]:
    found: list[Suggestion] = []
    parent = _parent(_ck.location)
    if parent is None:
        return ()
    name = link_for(parent, get_settings()) or parent.url
    try:
        listings = Door.open(parent, _ck.settings).list(["", "sink", "source"], first_page=True)
    except StorageError:
        return ()
    logs = {
        prefix: {"_delta_log", "_spark_metadata"}.intersection(listing.directory_names())
        for prefix, listing in listings.items()
    }
    if logs["sink"]:
        place = f"{name}/sink"
        found.append(Suggestion(links.SINK, place, say("screen_connectors.found_beside", place=place)))
    elif logs[""]:
        found.append(Suggestion(links.SINK, name, say("screen_connectors.inside_table", place=name)))
    placed = sources_with_place(_ck)
    if (
        len(placed) == 1
        and listings["source"].exists
        and (placed[0].kind.asks == "directory" or "_delta_log" in logs["source"])
    ):
        place = f"{name}/source"
        offer = say("screen_connectors.found_beside", place=place)
        found.append(Suggestion(links.PLACE + placed[0].key, place, offer))
    return tuple(found)


def _parent(location: Location) -> Location | None:
    """The directory that holds the checkpoint, when it may be opened and lies below the same root."""
    link = link_for(location, get_settings())
    text = link if link is not None else location.url
    above, slash, _ = text.rstrip("/").rpartition("/")
    if not slash or not above or above.endswith(":/") or above.endswith(":"):
        return None
    try:
        return locate(above, get_settings())
    except StorageError:
        return None
