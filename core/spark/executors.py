"""What runs in Spark's Python workers: finding checkpoints and reading the rows of some of them.

Spark gets this module by value and the rest of the project as a zip. Nothing heavy is imported before it is
known to be there, so that a worker without a package says so in one sentence.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from core.errors import SparkError
from core.messages import say

if TYPE_CHECKING:
    from core.survey import RootSearch, SurveyPlace

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

    def _settings(self) -> Any:
        self.module("core.settings")
        return pickle.loads(self.settings)  # noqa: S301  (packed by whoever registered the data source)


def spread(places: Sequence[SurveyPlace]) -> list[list[SurveyPlace]]:
    """The places of each task: no checkpoint in two of them."""
    tasks = max(min(len(places), FEWEST_TASKS), -(-len(places) // PLACES_OF_A_TASK))
    return [list(places[at::tasks]) for at in range(tasks)]
