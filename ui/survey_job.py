"""The rows of the page Checkpoints: read in threads of their own, shared between viewers, shown as they
come."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import streamlit as st

from core.errors import StorageError
from core.settings import Settings, get_settings
from core.storage.roots import locate
from core.survey import SurveyPlace, SurveyRow, survey_places, unreadable_row
from core.survey.kept import KeptHistory, kept_histories
from ui import checkpoint_stories
from ui.root_listings import RootListing

SECONDS = 300
"""Rows are at most so old; "Read again" reads them at once."""

FIRST_SECONDS = 1.5
"""So long the first drawing waits for the rows; after that they are shown as they come."""

FOLLOW_SECONDS = 60
"""Who follows the page gets rows that are at most so old, and as long as reading them takes."""

LISTING_SECONDS = 3.0
"""So long a page whose rows are there waits to see whether other checkpoints lie below the roots by now."""

LOOK_SECONDS = 0.05

STOP_SECONDS = 1.0

MOST_AT_ONCE = 8
"""Checkpoints that are read at one time beside the pages: with more of them each page waits for its turn of
the processor, and the rows are hardly there sooner."""


class SurveyJob:
    """Reads one row for each checkpoint that the listings find, ``checkpoint_rows`` of them at most, and
    begins with the first. ``before``: what is shown for each until it is read. Safe to look at from many
    threads."""

    def __init__(
        self,
        listings: Sequence[RootListing],
        settings: Settings,
        before: Mapping[str, SurveyRow] | None = None,
    ) -> None:
        self.listings = tuple(listings)
        self.seconds = 0.0
        self.must_go = False
        self._before = dict(before or {})
        self._started = time.monotonic()
        at_once = min(settings.survey_at_once, MOST_AT_ONCE)
        self._settings = settings.model_copy(update={"survey_at_once": at_once})
        self._names: list[str] = []
        self._rows: dict[str, SurveyRow] = {}
        self._stories: dict[str, str] = {}
        self._past: dict[str, KeptHistory] = {}
        self._stop = threading.Event()
        self._done = threading.Event()
        threading.Thread(target=self._work, name="survey", daemon=True).start()

    def _work(self) -> None:
        try:
            for row in survey_places(self._places(), self._settings):
                if self._stop.is_set():
                    break
                self._stories[row.path] = checkpoint_stories.story(row.path)
                self._rows[row.path] = row
            if not self._stop.is_set():
                self._before = {}
            self._past = kept_histories(
                self._settings, {row.location: row.query_id for row in self.rows.values()}, with_batches=False
            )
        finally:
            self.seconds = time.monotonic() - self._started
            self._done.set()

    def _places(self) -> Iterator[SurveyPlace]:
        """Each checkpoint once, as they are found."""
        known: set[str] = set()
        is_last = False
        while not is_last and not self._stop.is_set():
            is_last = not self.is_searching  # before the last look
            for name in [link for listing in self.listings for link in listing.links]:
                if name in known:
                    continue
                if len(self._names) == self._settings.checkpoint_rows:
                    return
                known.add(name)
                self._names.append(name)
                try:
                    place = SurveyPlace("", name, locate(name, self._settings))
                except StorageError as error:
                    self._rows[name] = replace(unreadable_row(name, str(error)), path=name)
                else:
                    yield place
            if not is_last:
                time.sleep(LOOK_SECONDS)

    @property
    def names(self) -> list[str]:
        """All that was found so far; those that are looked into come first."""
        found = (link for listing in self.listings for link in listing.links)
        return list(dict.fromkeys([*self._names, *found]))

    @property
    def asked(self) -> list[str]:
        """Those that are looked into, as far as they were found."""
        return self.names[: self._settings.checkpoint_rows]

    @property
    def is_searching(self) -> bool:
        """Whether more may be found."""
        return not all(listing.is_done for listing in self.listings)

    @property
    def is_done(self) -> bool:
        """Whether every row was read, or somebody stopped it."""
        return self._done.is_set()

    def is_older_than(self, seconds: float) -> bool:
        """Whether all its rows were there so many seconds ago, or somebody asked for others."""
        rests = time.monotonic() - self._started - self.seconds
        return self.must_go or (self.is_done and rests > max(seconds, self.seconds))

    @property
    def done(self) -> int:
        """How many rows were read so far."""
        return len(self._rows)

    @property
    def rows(self) -> dict[str, SurveyRow]:
        """The rows by name, those of before where none was read yet; ``path`` is the name."""
        return {**self._before, **self._rows}

    def story(self, name: str) -> str:
        """The first line of the story beside a checkpoint, "" when there is none or it was not read yet."""
        return self._stories.get(name, "")

    def past(self, name: str) -> KeptHistory | None:
        """What the history of surveys knows of a checkpoint; None without one, and before all rows are
        there."""
        row = self.rows.get(name)
        return None if row is None else self._past.get(row.location)

    def wait(self, seconds: float) -> bool:
        """Waits until all rows are there, for so long at most; whether they are."""
        return self._done.wait(seconds)

    def stop_now(self) -> None:
        """Its rows are not wanted any longer."""
        self.must_go = True
        self._stop.set()

    def stop(self) -> None:
        """Rows that were not begun are not read. Waits a moment for those that were."""
        self._stop.set()
        self.wait(STOP_SECONDS)


@dataclass(slots=True)
class _Jobs:
    by_roots: dict[tuple[str, ...], SurveyJob] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


def job(listings: Sequence[RootListing]) -> SurveyJob:
    """The job that reads what lies below these roots; one for all viewers, until its rows are too old or the
    listings show other checkpoints than its own."""
    kept = _jobs()
    roots = tuple(listing.root for listing in listings)
    with kept.lock:
        current = kept.by_roots.get(roots)
    if current is not None and current.is_done and not current.is_older_than(SECONDS):
        until = time.monotonic() + LISTING_SECONDS
        for listing in listings:
            listing.wait(max(0.0, until - time.monotonic()))
    with kept.lock:
        current = kept.by_roots.get(roots)
        if current is None:
            current = kept.by_roots[roots] = SurveyJob(listings, get_settings())
        elif current.is_older_than(SECONDS) or _shows_others(current, listings):
            current = kept.by_roots[roots] = SurveyJob(listings, get_settings(), current.rows)
        return current


def _shows_others(job: SurveyJob, listings: Sequence[RootListing]) -> bool:
    if not job.is_done or not all(listing.is_done for listing in listings):
        return False
    then = {link for listing in job.listings for link in listing.links}
    return then != {link for listing in listings for link in listing.links}


def read_again() -> None:
    """The next run reads all rows again; files that did not change are not read a second time."""
    kept = _jobs()
    with kept.lock:
        for one in kept.by_roots.values():
            one.stop_now()


@st.cache_resource(show_spinner=False)
def _jobs() -> _Jobs:
    return _Jobs()
