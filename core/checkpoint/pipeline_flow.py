"""The place of a checkpoint of Spark's declarative pipelines (``pyspark.pipelines``, Spark 4.1 and later).

A pipeline keeps one directory for each flow, ``<storage>/_checkpoints/<catalog>/<schema>/<table>/<flow>``,
and in it numbered checkpoints. It starts from the highest number; a full refresh empties the table and
begins the next number (seen with Spark 4.3.0). So a recovered checkpoint is taken when it has the next
number, no code of the query names a location, and a number that is not the highest is not in use.

Only the place says that it is a pipeline's: somebody may number running queries in the same way. There both
are written to; a pipeline leaves the old number before the next one gets its ``metadata``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import StorageError
from core.storage import Door, parse_location
from core.storage.roots import locate

if TYPE_CHECKING:
    from core.checkpoint.checkpoint import Checkpoint

_PLACE = re.compile(
    r"(?P<flows>.*/_checkpoints/(?P<catalog>[^/]+)/(?P<schema>[^/]+)/(?P<table>[^/]+)/(?P<flow>[^/]+))"
    r"/(?P<number>\d{1,9})/?"
)

_NUMBER = re.compile(r"\d{1,9}")


@dataclass(frozen=True, slots=True)
class PipelineFlow:
    """``table``: its full name. ``directory``: where the numbered checkpoints of the flow lie."""

    table: str
    flow: str
    directory: str
    number: int

    @property
    def next_place(self) -> str:
        """The checkpoint that the pipeline takes once it is there."""
        return self.place(self.number + 1)

    def place(self, number: int) -> str:
        """The checkpoint of the flow with this number."""
        return f"{self.directory}/{number}"


def pipeline_flow(place: str | None) -> PipelineFlow | None:
    """The flow whose checkpoint lies there; None for any other place."""
    found = _PLACE.fullmatch(place or "")
    if found is None:
        return None
    table = ".".join(found[part] for part in ("catalog", "schema", "table"))
    return PipelineFlow(table, found["flow"], found["flows"], int(found["number"]))


@dataclass(frozen=True, slots=True)
class _Highest:
    """``began_ms``: when the checkpoint of that number got its ``metadata``; None where that is not known."""

    number: int
    began_ms: int | None = None


def is_number_known(ck: Checkpoint) -> bool:
    """Whether the directory of the flow was listed; False for a checkpoint of any other query, and where it
    was not: in an evidence file, above what the app may open, or because it cannot be."""
    return _highest(ck) is not None


def place_in_use(ck: Checkpoint) -> str | None:
    """Where the flow starts from, if that is another checkpoint than this one; None where it is this one, or
    not known, and where this one was written to after the other began, which no pipeline does."""
    flow, highest = pipeline_flow(ck.door.origin.url), _highest(ck)
    if flow is None or highest is None or highest.number <= flow.number:
        return None
    logs = (*ck.offset_files.values(), *ck.commit_files.values())
    newest_ms = max((file.modified_ms or 0 for file in logs), default=0)
    if highest.began_ms is not None and newest_ms > highest.began_ms:
        return None
    return flow.place(highest.number)


def _highest(ck: Checkpoint) -> _Highest | None:
    """The number that the flow starts from. One listing, asked for once, and one more for a higher number."""
    return ck.kept("highest_number", lambda: _listed(ck))


def _listed(ck: Checkpoint) -> _Highest | None:
    flow = pipeline_flow(ck.location.url)
    if flow is None or ck.door.is_nothing or ck.door.evidence is not None:
        return None
    try:
        if not ck.settings.is_private:
            locate(flow.directory, ck.settings)
        above = Door.open(parse_location(flow.directory, ck.location.storage_options), ck.settings)
        names = above.list([""])[""].directory_names()
        numbered = {int(name): name for name in names if _NUMBER.fullmatch(name)}
        number = max(numbered, default=None)
        if number is None or number <= flow.number:
            return None if number is None else _Highest(number)
        name = numbered[number]
        metadata = above.list([name])[name].files.get(f"{name}/metadata")
    except StorageError:
        return None
    return _Highest(number, None if metadata is None else metadata.modified_ms)
