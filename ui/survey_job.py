"""The rows of the page Checkpoints: read in threads of their own, shared between viewers, shown as they
come."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import streamlit as st

from core.errors import StorageError
from core.settings import Settings, get_settings
from core.storage.roots import locate
from core.survey import SurveyPlace, SurveyRow, survey_places, unreadable_row
from core.survey.kept import KeptHistory, kept_histories
from ui import checkpoint_stories

SECONDS = 300
"""Rows are at most so old; "Read again" reads them at once."""

FIRST_SECONDS = 3.0
"""So long the first drawing waits for the rows; after that they are shown as they come."""

MOST_JOBS = 16


class SurveyJob:
    """Reads one row for each name, ``checkpoint_rows`` of them at most. Safe to look at from many threads."""

    def __init__(self, names: tuple[str, ...], settings: Settings) -> None:
        self.names = names
        self.asked = names[: settings.checkpoint_rows]
        self.started = time.monotonic()
        self.seconds = 0.0
        self._settings = settings
        self._rows: dict[str, SurveyRow] = {}
        self._stories: dict[str, str] = {}
        self._past: dict[str, KeptHistory] = {}
        self._stop = threading.Event()
        self._done = threading.Event()
        threading.Thread(target=self._work, name="survey", daemon=True).start()

    def _work(self) -> None:
        try:
            places = [place for name in self.asked if (place := self._place(name)) is not None]
            for row in survey_places(places, self._settings):
                if self._stop.is_set():
                    break
                self._stories[row.path] = checkpoint_stories.story(row.path)
                self._rows[row.path] = row
            self._past = kept_histories(
                self._settings, {row.location: row.query_id for row in self.rows.values()}, with_batches=False
            )
        finally:
            self.seconds = time.monotonic() - self.started
            self._done.set()

    def _place(self, name: str) -> SurveyPlace | None:
        try:
            return SurveyPlace("", name, locate(name, self._settings))
        except StorageError as error:
            self._rows[name] = replace(unreadable_row(name, str(error)), path=name)
            return None

    @property
    def is_done(self) -> bool:
        """Whether every row was read, or somebody stopped it."""
        return self._done.is_set()

    @property
    def rows(self) -> dict[str, SurveyRow]:
        """The rows that were read so far, by name; ``path`` is the name."""
        return self._rows.copy()

    def story(self, name: str) -> str:
        """The first line of the story beside a checkpoint, "" when there is none or it was not read yet."""
        return self._stories.get(name, "")

    def past(self, name: str) -> KeptHistory | None:
        """What the history of surveys knows of a checkpoint; None without one, and before all rows are
        there."""
        row = self._rows.get(name)
        return None if row is None else self._past.get(row.location)

    def wait(self, seconds: float) -> bool:
        """Waits until all rows are there, for so long at most; whether they are."""
        return self._done.wait(seconds)

    def stop(self) -> None:
        """Rows that were not begun are not read."""
        self._stop.set()


def job(names: tuple[str, ...]) -> SurveyJob:
    """The job that reads these checkpoints; one for all viewers, until its rows are too old."""
    return _job(names)


def read_again() -> None:
    """The next run reads all rows again; files that did not change are not read a second time."""
    _job.clear()


@st.cache_resource(max_entries=MOST_JOBS, ttl=SECONDS, show_spinner=False)
def _job(names: tuple[str, ...]) -> SurveyJob:
    return SurveyJob(names, get_settings())
