"""What the incident store holds, listed once for all viewers."""

from __future__ import annotations

import streamlit as st

from core.analysis.forecast.verdict import of_outcome
from core.errors import CheckpointExplorerError, InvalidSettingError
from core.incident import KeptEvidence, KeptList, kept_list
from core.messages import say, words
from core.settings import PREFIX, get_settings
from core.storage.incident_store import SETTING
from ui import cached_answers, cards, tables

SECONDS = 60
"""What is shown is at most so old, but for what this server keeps itself."""


def are_listed() -> bool:
    """Whether there is a store, and the settings allow to list it."""
    try:
        settings = get_settings()
    except InvalidSettingError:
        return False  # the frame says so
    return settings.incident_store is not None and settings.incident_store_listed > 0


def why_not_listed() -> str | None:
    """One sentence why there is no page of incidents; None where there is one."""
    if are_listed():
        return None
    settings = get_settings()
    if settings.incident_store is None:
        return say("incident_store.off", setting=SETTING)
    return say("incident_store.not_listed", setting=f"{PREFIX}INCIDENT_STORE_LISTED")


def found() -> KeptList | str:
    """The newest evidence files, or one sentence why they cannot be listed."""
    return _found()


def list_again() -> None:
    """Forgets what the store holds."""
    _found.clear()


@st.cache_resource(ttl=SECONDS, max_entries=1, show_spinner=False)
def _found() -> KeptList | str:
    try:
        return kept_list(get_settings())
    except CheckpointExplorerError as error:
        return str(error)


def columns(entries: tuple[KeptEvidence, ...]) -> dict[str, list[object]]:
    """One row for each: how the next start looked, of which checkpoint, when."""
    return {
        "checkpoint": [words.one_line(each.title or words.NOT_KNOWN, 200) for each in entries],
        "next start": [_verdict(each) for each in entries],
        "as of": [
            words.NOT_KNOWN if each.record is None else words.moment(each.record.moment_ms)
            for each in entries
        ],
        "location": [
            words.NOT_KNOWN if each.record is None else words.one_line(each.record.location, 400)
            for each in entries
        ],
        "size": [words.size(each.size_bytes) for each in entries],
        "opens as": [each.name for each in entries],
    }


def download_columns(entries: tuple[KeptEvidence, ...]) -> tables.Columns:
    """The same with the whole sentence of the time."""
    return {**columns(entries), "sentence": [each.sentence or "" for each in entries]}


def marks(entries: tuple[KeptEvidence, ...]) -> list[str]:
    """The shape of each row that stands for how the next start looked."""
    return [
        cards.MARKS["plain" if each.outcome is None else cached_answers.TONES[each.outcome]]
        for each in entries
    ]


def _verdict(each: KeptEvidence) -> str:
    return words.NOT_KNOWN if each.record is None else of_outcome(each.outcome, each.batch_id)


def count_sentence(listed: KeptList) -> str:
    """How many there are, and how many of them are shown."""
    shown = len(listed.entries)
    if shown < listed.total:
        return say("incident_store.count_newest", shown=shown, total=listed.total)
    return say("incident_store.count", total=listed.total)
