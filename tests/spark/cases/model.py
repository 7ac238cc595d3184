"""A case of the oracle: one restart, and which observed fact it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from core.analysis.forecast import Query
from tests.support import damage as d
from tests.support.oracle import EVERYWHERE, NAMED_SOURCES, RECIPES, TRANSFORM, Build, Feature

STATELESS = ("stateless",)
PLAIN = ("stateless", "windows", "named")
FORMATS = ("windows", "windows_rocksdb", "windows_changelog", "windows_format_2")
COMMIT_MISSING = d.without("commits/{c}")
NEW = Query(new_data="yes")
NO_NEW = Query(new_data="no")
IN_THE_QUERY = (NAMED_SOURCES, TRANSFORM)


@dataclass(frozen=True)
class Case:
    """One restart.

    ``kind``: the class it is counted in. ``rows``: labels of `tests/spark/facts.py`. ``query``: what the
    forecast is told about the query that is started. ``session``: settings of the session that differ from
    the base's. ``hidden``: input files that are away at the restart; ``edited``: input files with other
    content. ``started_before``: the query has been started once since the damage, with the first of the new
    files. ``places``: the directories of the file sources as somebody names them, by key, below the base.
    ``level``: how much the forecast reads. ``needs``: a feature that not every Spark has. ``written_by``: the
    release that made the base, None
    for the one that restarts it.
    """

    kind: str
    rows: tuple[str, ...]
    name: str
    base: str
    damage: d.Damage
    query: Query = field(default_factory=lambda: NEW)
    build: Build | None = None
    session: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    edited: Mapping[str, str] = field(default_factory=dict)
    started_before: bool = False
    places: Mapping[str, str] = field(default_factory=dict)
    level: Literal["normal", "deep"] = "normal"
    needs: Feature = EVERYWHERE
    written_by: str | None = None

    @property
    def needed(self) -> Feature:
        """What the installed Spark must have: the case's own feature or its base's, whichever came later.

        A base that another release has written needs only what its query is written with.
        """
        of_base = RECIPES[self.base].needs
        if self.written_by is not None and of_base not in IN_THE_QUERY:
            of_base = EVERYWHERE
        return max(self.needs, of_base, key=lambda feature: feature.since)

    @property
    def id(self) -> str:
        """As it reads in the test report."""
        return f"{self.name}-{self.base}"


class Family(Protocol):
    """Makes cases of one class: the same damage on several bases."""

    def __call__(
        self, rows: str | Sequence[str], bases: Sequence[str], name: str, damage: d.Damage, **other: object
    ) -> list[Case]: ...


def family(kind: str) -> Family:
    """A maker of the cases of one class."""

    def on(
        rows: str | Sequence[str], bases: Sequence[str], name: str, damage: d.Damage, **other: object
    ) -> list[Case]:
        labels = (rows,) if isinstance(rows, str) else tuple(rows)
        return [Case(kind, labels, name, base, damage, **other) for base in bases]  # type: ignore[arg-type]

    return on
