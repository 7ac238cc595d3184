"""The checkpoints below the roots: listed in threads of their own and shared between viewers, so that no page
waits for names that only the sidebar offers."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import streamlit as st

from core.errors import StorageError
from core.messages import say
from core.settings import Settings, get_settings
from core.storage.roots import FoundCheckpoints, find_checkpoints, roots

SECONDS = 60
"""What the page Checkpoints shows is at most so old."""

OFFERED_SECONDS = 300
"""What the sidebar offers is listed again in the background when it is so old."""

FIRST_SECONDS = 0.5
"""So long a page waits for names that were never listed; then it is drawn without them."""


@dataclass(slots=True)
class _Root:
    """The newest listing of one root, and the one that runs."""

    found: FoundCheckpoints | str | None = None
    listed_at: float = 0.0
    done: threading.Event | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


def names() -> list[str]:
    """The configured roots."""
    return list(roots(get_settings()))


def below(root: str) -> FoundCheckpoints | str:
    """The checkpoints below a root, or one sentence why they cannot be listed. At most a minute old."""
    found = _found(root, SECONDS, None)
    return found if found is not None else _listed_now(root, get_settings())


def offered() -> list[str]:
    """Names of the checkpoints below the roots as far as they are known now. Nobody waits for a listing; the
    first one is given half a second."""
    known: list[str] = []
    for root in names():
        found = _found(root, OFFERED_SECONDS, FIRST_SECONDS)
        if isinstance(found, FoundCheckpoints):
            known.extend(found.links)
    return known


def list_again() -> None:
    """Forgets which checkpoints lie below the roots."""
    _kept.clear()


def _listed_now(root: str, settings: Settings) -> FoundCheckpoints | str:
    """Lists a root now."""
    try:
        return find_checkpoints(root, settings)
    except StorageError as error:
        return str(error)


def _found(root: str, seconds: float, wait: float | None) -> FoundCheckpoints | str | None:
    """The listing of a root; one that is older than ``seconds`` is made anew in a thread. ``wait`` None: it
    is waited for; else only where there is none yet, for so long."""
    kept = _kept().setdefault(root, _Root())
    with kept.lock:
        is_young = kept.found is not None and time.monotonic() - kept.listed_at <= seconds
        if is_young:
            return kept.found
        if kept.done is None:
            kept.done = threading.Event()
            work = threading.Thread(
                target=_list, args=(root, kept, kept.done, get_settings()), name="roots", daemon=True
            )
            work.start()
        done = kept.done
    if wait is None:
        with st.spinner(say("screens.listing_roots")):
            done.wait()
    elif kept.found is None:
        done.wait(wait)
    return kept.found


def _list(root: str, kept: _Root, done: threading.Event, settings: Settings) -> None:
    try:
        kept.found = _listed_now(root, settings)
        kept.listed_at = time.monotonic()
    finally:
        with kept.lock:
            kept.done = None
        done.set()


@st.cache_resource(show_spinner=False)
def _kept() -> dict[str, _Root]:
    """The newest listing of each root."""
    return {}
