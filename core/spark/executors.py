"""What runs in Spark's Python workers: finding checkpoints and reading the rows of some of them.

Spark gets this module by value and the rest of the project as a zip. Nothing heavy is imported before it is
known to be there, so that a worker without a package says so in one sentence.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from core.errors import SparkError
from core.messages import say

if TYPE_CHECKING:
    from core.survey import RootSearch, SurveyPlace

T = TypeVar("T")

PLACES_OF_A_TASK = 16
"""As many as are read side by side. A task for each checkpoint costs more than the reading."""
FEWEST_TASKS = 8


@dataclass(frozen=True)
class Work:
    """What a worker is asked. ``settings``: those of the caller, packed; ``needed``: the packages."""

    settings: bytes
    needed: tuple[str, ...]
    view: str = "survey"
    newest: int | None = None
    level: str = "normal"

    def module(self, name: str) -> Any:
        """A module of the project, once the packages it needs were found. Raises SparkError."""
        missing = [package for package in self.needed if find_spec(package) is None]
        if missing:
            raise SparkError(say("spark_survey.no_packages", python=sys.executable, packages=missing))
        return import_module(name)

    def searched(self, roots: Sequence[str]) -> list[RootSearch]:
        """The checkpoints below each root, as :func:`core.survey.search_root` finds them."""
        survey, settings = self.module("core.survey"), self._settings()
        return [survey.search_root(text, settings) for text in dict.fromkeys(roots)]

    def batches(self, places: Sequence[SurveyPlace]) -> Iterator[Any]:
        """The rows of the view for some places, as Arrow batches."""
        tables = self.module("core.survey.tables")
        question = tables.TableQuestion(self.view, self.newest, self.level)
        yield from tables.tables(places, self._settings(), question)

    def places(self, named: Sequence[tuple[str, str, str]]) -> list[SurveyPlace]:
        """The places of (root as it was asked for, its name, path below it)."""
        survey, settings = self.module("core.survey"), self._settings()
        locate = self.module("core.storage.roots").locate
        child_of = self.module("core.storage.location").child_of
        return [
            survey.SurveyPlace(root, path, child_of(locate(text, settings), path))
            for text, root, path in named
        ]

    def _settings(self) -> Any:
        self.module("core.settings")
        return pickle.loads(self.settings)  # noqa: S301  (packed by whoever registered the data source)


def spread(places: Sequence[T]) -> list[list[T]]:
    """The places of each task: no checkpoint in two of them."""
    tasks = max(min(len(places), FEWEST_TASKS), -(-len(places) // PLACES_OF_A_TASK))
    return [list(places[at::tasks]) for at in range(tasks)]


def search_task(work: Work, batches: Iterator[Any]) -> Iterator[Any]:
    """A task that searches roots: JSON texts in, what was found as JSON texts out."""
    arrow = work.module("pyarrow")
    for batch in batches:
        found = [
            {
                "text": text,
                "root": search.root,
                "url": search.url,
                "listed": search.listed,
                "is_complete": search.is_complete,
                "error": search.error,
                "skipped": search.skipped,
                "too_deep": search.too_deep,
                "places": [(place.path, place.location.url) for place in search.places],
            }
            for value in batch.column(0).to_pylist()
            for text, search in zip(json.loads(value), work.searched(json.loads(value)), strict=True)
        ]
        yield arrow.RecordBatch.from_pydict({"found": [json.dumps(found)]})


def read_task(work: Work, batches: Iterator[Any]) -> Iterator[Any]:
    """A task that reads checkpoints: JSON lists as :meth:`Work.places` takes them in, rows out."""
    for batch in batches:
        for value in batch.column(0).to_pylist():
            yield from work.batches(work.places(json.loads(value)))
