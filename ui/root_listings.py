"""The checkpoints below the roots: listed in threads of their own and shared between viewers, so that no page
waits for names that only the sidebar offers, or for the last of thousands of them."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import streamlit as st

from core.errors import StorageError
from core.settings import Settings, get_settings
from core.storage.roots import FoundCheckpoints, find_checkpoints, roots

SECONDS = 60
"""What the page Checkpoints shows is at most so old."""

OFFERED_SECONDS = 300
"""What the sidebar offers is listed again in the background when it is so old."""

FIRST_SECONDS = 0.5
"""So long a page waits for names that were never listed; then it is drawn without them."""


class RootListing:
    """The listing of one root, in a thread of its own. Safe to look at from many threads.

    ``found``: None while it runs, then what lies below the root, or one sentence why it cannot be listed.
    """

    def __init__(self, root: str, settings: Settings) -> None:
        self.root = root
        self.found: FoundCheckpoints | str | None = None
        self.seconds_at_end = 0.0
        self._links: list[str] = []
        self._done = threading.Event()
        threading.Thread(target=self._list, args=(settings,), name="roots", daemon=True).start()

    def _list(self, settings: Settings) -> None:
        try:
            self.found = find_checkpoints(self.root, settings, self._links.extend)
        except StorageError as error:
            self.found = str(error)
        finally:
            self.seconds_at_end = time.monotonic()
            self._done.set()

    @property
    def links(self) -> list[str]:
        """The checkpoints that were found so far, in the order in which they were found."""
        return self._links.copy()

    @property
    def is_done(self) -> bool:
        """Whether all of them were found, or it failed."""
        return self._done.is_set()

    def is_young(self, seconds: float) -> bool:
        """Whether it runs, or has not been over for longer than so many seconds."""
        return not self.is_done or time.monotonic() - self.seconds_at_end <= seconds

    def wait(self, seconds: float) -> bool:
        """Waits until it is over, for so long at most; whether it is."""
        return self._done.wait(seconds)


@dataclass(slots=True)
class _Root:
    """The newest listing of one root that is over, and the one that was begun last."""

    whole: RootListing | None = None
    newest: RootListing | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


def names() -> list[str]:
    """The configured roots."""
    return list(roots(get_settings()))


def listing(root: str) -> RootListing:
    """The listing of a root, at most a minute old; it may still run."""
    return _listing(root, SECONDS)[1]


def offered() -> list[str]:
    """Names of the checkpoints below the roots as far as they are known now. Nobody waits for a listing; the
    first one is given half a second."""
    known: list[str] = []
    for root in names():
        whole, newest = _listing(root, OFFERED_SECONDS)
        if whole is None:
            newest.wait(FIRST_SECONDS)
        known.extend(sorted((whole or newest).links))
    return known


def list_again() -> None:
    """Forgets which checkpoints lie below the roots."""
    _kept.clear()


def _listing(root: str, seconds: float) -> tuple[RootListing | None, RootListing]:
    """The newest listing of a root that is over, and the newest one; that is begun now when it would be older
    than so many seconds."""
    kept = _kept().setdefault(root, _Root())
    with kept.lock:
        newest = kept.newest
        if newest is None or not newest.is_young(seconds):
            newest = kept.newest = RootListing(root, get_settings())
        if newest.is_done:
            kept.whole = newest
        return kept.whole, newest


@st.cache_resource(show_spinner=False)
def _kept() -> dict[str, _Root]:
    """The newest listings of each root."""
    return {}
