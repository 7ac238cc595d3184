"""Which checkpoints lie below some roots, given as they are found, so that nobody has to wait for all of
them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue

from core.errors import NotACheckpoint, StorageError
from core.messages import say, words
from core.settings import Settings
from core.storage import Location
from core.storage.checkpoint_search import Search
from core.storage.location import child_of, is_below
from core.storage.roots import FoundCheckpoints, link_for, locate


@dataclass(frozen=True, slots=True)
class SurveyPlace:
    """A checkpoint to look into: the ``path`` below the ``root`` it was found in, "" when it is the root."""

    root: str
    path: str
    location: Location


@dataclass(frozen=True, slots=True)
class RootSearch:
    """What was found below a root. ``root``: its name in the settings, else its URL. ``is_complete`` is False
    when the search stopped after ``listed`` directories. ``error``: one sentence when it cannot be listed;
    ``places`` are then those that were found before. ``skipped``, ``too_deep``: what else the search left
    out."""

    root: str
    url: str
    places: tuple[SurveyPlace, ...] = ()
    listed: int = 0
    is_complete: bool = True
    error: str | None = None
    skipped: tuple[str, ...] = ()
    too_deep: int = 0

    @property
    def trouble(self) -> str | None:
        """One sentence when it could not be searched, or not to its end."""
        if self.error is None and not self.is_complete:
            return say("survey.stopped", root=self.root, listed=self.listed)
        return self.error


def left_out(found: RootSearch | FoundCheckpoints, levels: int) -> list[str]:
    """What a search that came to its end did not look into, in sentences."""
    sentences: list[str] = []
    if found.skipped:
        paths = [words.escaped(path) for path in found.skipped]
        sentences.append(say("survey.skipped", root=found.root, n=len(paths), paths=paths))
    if found.too_deep:
        sentences.append(say("survey.too_deep", root=found.root, n=found.too_deep, levels=levels))
    return sentences


News = tuple[int, Sequence[SurveyPlace] | RootSearch | BaseException]


class Searching:
    """The search below names of roots, URLs or paths, the same text once, all of them side by side.

    Iterate over it once: it gives each place as soon as it is found. A checkpoint below two roots is one, of
    the root that was named first; where that one may still find it, the place waits for its search.
    ``searched`` has the search of each root that is over, in the given order. A root that cannot be listed
    has an ``error``; nothing is raised. Who stops iterating stops the search.
    """

    def __init__(self, texts: Iterable[str], settings: Settings) -> None:
        self._texts = tuple(dict.fromkeys(texts))
        self._settings = settings
        self._over: dict[int, RootSearch] = {}
        self._urls: dict[int, str] = {}
        self._news: SimpleQueue[News] = SimpleQueue()
        self._stopped = threading.Event()

    @property
    def searched(self) -> list[RootSearch]:
        """The searches that are over, in the order of the roots."""
        return [self._over[at] for at in sorted(self._over)]

    def __iter__(self) -> Iterator[SurveyPlace]:
        for at, text in enumerate(self._texts):
            self._begin(at, text.strip())
        held: list[tuple[int, SurveyPlace]] = []
        given: set[str] = set()
        try:
            while len(self._over) < len(self._texts):
                at, found = self._news.get()
                if isinstance(found, BaseException):
                    raise found
                if isinstance(found, RootSearch):
                    self._over[at] = found
                else:
                    held += [(at, place) for place in found]
                ready, held = self._ready(held)
                for place in ready:
                    if place.location.url not in given:
                        given.add(place.location.url)
                        yield place
        finally:
            self._stopped.set()

    def _begin(self, at: int, text: str) -> None:
        """Begins the search of a root in a thread of its own."""
        try:
            location = locate(text, self._settings)
        except StorageError as error:
            self._news.put((at, RootSearch(text, text, error=str(error))))
            return
        self._urls[at] = location.url
        work = threading.Thread(target=self._search, args=(at, location), name="search", daemon=True)
        work.start()

    def _search(self, at: int, location: Location) -> None:
        places: list[SurveyPlace] = []
        name, error = location.url, None
        search = Search(location, self._settings)
        try:
            name = link_for(location, self._settings) or location.url
            for paths in search:
                found = [SurveyPlace(name, path, child_of(location, path)) for path in paths]
                places += found
                self._news.put((at, found))
                if self._stopped.is_set():
                    return
        except StorageError as failed:
            error = str(failed)
        except BaseException as failed:  # for who iterates, who would wait for ever
            self._news.put((at, failed))
            return
        places.sort(key=lambda place: place.path)
        listed = 0 if error is not None else search.listed
        complete, skipped = search.is_complete, tuple(search.skipped)
        over = RootSearch(
            name, location.url, tuple(places), listed, complete, error, skipped, search.too_deep
        )
        self._news.put((at, over))

    def _ready(
        self, held: Sequence[tuple[int, SurveyPlace]]
    ) -> tuple[list[SurveyPlace], list[tuple[int, SurveyPlace]]]:
        """The places that no root named before can still find, and the others."""
        searching = {at: url for at, url in self._urls.items() if at not in self._over}
        ready: list[SurveyPlace] = []
        waiting: list[tuple[int, SurveyPlace]] = []
        for at, place in held:
            if any(first < at and is_below(place.location.url, url) for first, url in searching.items()):
                waiting.append((at, place))
            else:
                ready.append(place)
        return ready, waiting


def search_root(text: str, settings: Settings) -> RootSearch:
    """The checkpoints below the name of a root, a URL or a path. Never raises."""
    searching = Searching([text], settings)
    for _ in searching:
        pass
    return searching.searched[0]


def with_checkpoints(searched: list[RootSearch], settings: Settings) -> list[RootSearch]:
    """The same searches. Raises :class:`NotACheckpoint` when all could be listed and none has a
    checkpoint."""
    if not any(found.places or found.error is not None for found in searched):
        names = [found.root for found in searched]
        none = say("survey.none", levels=settings.checkpoint_levels, roots=names)
        also = [text for found in searched for text in left_out(found, settings.checkpoint_levels)]
        raise NotACheckpoint(" ".join([none, *also]), names[0])
    return searched


def each_once(searched: Sequence[RootSearch]) -> list[SurveyPlace]:
    """The places of all roots; a checkpoint below two of them is one, of the root that was named first."""
    places = {place.location.url: place for found in reversed(searched) for place in found.places}
    return list(places.values())
