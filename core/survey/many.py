"""Rows for many checkpoints: what lies below the roots, read side by side, given as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import TypeVar

from core.analysis.findings import Level
from core.errors import NotACheckpoint, StorageError
from core.messages import say
from core.settings import Settings
from core.storage import Location
from core.storage.checkpoint_search import checkpoints_below
from core.storage.location import child_of
from core.storage.roots import link_for, locate
from core.survey.row import SurveyRow, survey_row

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SurveyPlace:
    """A checkpoint to look into: the ``path`` below the ``root`` it was found in, "" when it is the root."""

    root: str
    path: str
    location: Location


@dataclass(frozen=True, slots=True)
class RootSearch:
    """What was found below a root. ``root``: its name in the settings, else its URL. ``is_complete`` is False
    when the search stopped after ``listed`` directories. ``error``: one sentence when it cannot be listed."""

    root: str
    url: str
    places: tuple[SurveyPlace, ...] = ()
    listed: int = 0
    is_complete: bool = True
    error: str | None = None

    @property
    def trouble(self) -> str | None:
        """One sentence when it could not be searched, or not to its end."""
        if self.error is None and not self.is_complete:
            return say("survey.stopped", root=self.root, listed=self.listed)
        return self.error


def search_root(text: str, settings: Settings) -> RootSearch:
    """The checkpoints below the name of a root, a URL or a path. Never raises."""
    name = url = text.strip()
    try:
        location = locate(text, settings)
        name = url = location.url
        name = link_for(location, settings) or location.url
        found = checkpoints_below(location, settings)
    except StorageError as error:
        return RootSearch(name, url, error=str(error))
    places = tuple(SurveyPlace(name, path, child_of(location, path)) for path in found.paths)
    return RootSearch(name, url, places, found.listed, found.is_complete)


def search_roots(texts: Iterable[str], settings: Settings) -> list[RootSearch]:
    """The search of each root, in the given order, the same text once. Raises :class:`NotACheckpoint` when
    all could be listed and none has a checkpoint."""
    return with_checkpoints([search_root(text, settings) for text in dict.fromkeys(texts)], settings)


def with_checkpoints(searched: list[RootSearch], settings: Settings) -> list[RootSearch]:
    """The same searches. Raises :class:`NotACheckpoint` when all could be listed and none has a
    checkpoint."""
    if not any(found.places or found.error is not None for found in searched):
        names = [found.root for found in searched]
        raise NotACheckpoint(say("survey.none", levels=settings.checkpoint_levels, roots=names), names[0])
    return searched


def each_once(searched: Sequence[RootSearch]) -> list[SurveyPlace]:
    """The places of all roots; a checkpoint below two of them is one, of the root that was named first."""
    places = {place.location.url: place for found in reversed(searched) for place in found.places}
    return list(places.values())


def survey_places(
    places: Sequence[SurveyPlace], settings: Settings, level: Level = "normal"
) -> Iterator[SurveyRow]:
    """One row per place, as they are read: ``survey_at_once`` at one time. Who stops taking rows stops the
    reading of those that were not begun."""
    for place, row in at_each(places, settings, lambda place: survey_row(place.location, settings, level)):
        yield replace(row, root=place.root, path=place.path)


def at_each(
    places: Sequence[SurveyPlace], settings: Settings, look: Callable[[SurveyPlace], T]
) -> Iterator[tuple[SurveyPlace, T]]:
    """What ``look`` gives for each place, as they are ready: ``survey_at_once`` at one time."""
    pool = ThreadPoolExecutor(min(settings.survey_at_once, max(1, len(places))), "survey")
    try:
        waiting: dict[Future[T], SurveyPlace] = {pool.submit(look, place): place for place in places}
        for done in as_completed(waiting):
            yield waiting.pop(done), done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
