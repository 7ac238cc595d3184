"""Rows for many checkpoints: read side by side, given as they are read, from the first one that is found."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from queue import SimpleQueue
from typing import TypeVar

from core.analysis.findings import Level
from core.settings import Settings
from core.survey.row import SurveyRow, survey_row
from core.survey.search import RootSearch, Searching, SurveyPlace, with_checkpoints

T = TypeVar("T")


class Survey:
    """A survey of some roots while it runs: names of roots, URLs or paths. Iterate over it once: it gives a
    row for each checkpoint as it is read. Nothing waits for the end of the search."""

    def __init__(self, texts: Iterable[str], settings: Settings, level: Level = "normal") -> None:
        self.known = 0
        self._searching = Searching(texts, settings)
        self._settings = settings
        self._level = level

    def __iter__(self) -> Iterator[SurveyRow]:
        yield from survey_places(self._counted(), self._settings, self._level)

    def _counted(self) -> Iterator[SurveyPlace]:
        for place in self._searching:
            self.known += 1
            yield place

    @property
    def searched(self) -> list[RootSearch]:
        """The search of each root, once all rows were given. Raises :class:`NotACheckpoint` when all could be
        listed and none has a checkpoint."""
        return with_checkpoints(self._searching.searched, self._settings)


def survey_places(
    places: Iterable[SurveyPlace], settings: Settings, level: Level = "normal"
) -> Iterator[SurveyRow]:
    """One row per place, as they are read: ``survey_at_once`` at one time. Places may still be looked for:
    those that are there are read meanwhile. Who stops taking rows stops the reading of those that were not
    begun."""
    for place, row in at_each(places, settings, lambda place: survey_row(place.location, settings, level)):
        yield replace(row, root=place.root, path=place.path)


def at_each(
    places: Iterable[SurveyPlace], settings: Settings, look: Callable[[SurveyPlace], T]
) -> Iterator[tuple[SurveyPlace, T]]:
    """What ``look`` gives for each place, as they are ready: ``survey_at_once`` at one time."""
    ready: SimpleQueue[tuple[SurveyPlace, Future[T]] | BaseException | None] = SimpleQueue()
    is_stopped = threading.Event()
    pool = ThreadPoolExecutor(settings.survey_at_once, "survey")
    begun = 0

    def begin() -> None:
        nonlocal begun
        try:
            for place in places:
                if is_stopped.is_set():
                    return
                begun += 1
                work = pool.submit(look, place)
                work.add_done_callback(lambda done, place=place: ready.put((place, done)))  # type: ignore[misc]
        except BaseException as error:  # for who takes the rows, who would wait for ever
            ready.put(error)
        else:
            ready.put(None)

    threading.Thread(target=begin, name="survey places", daemon=True).start()
    try:
        given, is_known = 0, False
        while not is_known or given < begun:
            item = ready.get()
            if item is None:
                is_known = True
            elif isinstance(item, BaseException):
                raise item
            else:
                given += 1
                yield item[0], item[1].result()
    finally:
        is_stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)
