"""The place of a checkpoint of Spark's declarative pipelines (``pyspark.pipelines``, Spark 4.1 and later).

A pipeline keeps one directory for each flow, ``<storage>/_checkpoints/<catalog>/<schema>/<table>/<flow>``,
and in it numbered checkpoints. It starts from the highest number; a full refresh empties the table and
begins the next number (seen with Spark 4.3.0). So a recovered checkpoint is taken when it has the next
number, and no code of the query names a location.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLACE = re.compile(
    r"(?P<flows>.*/_checkpoints/(?P<catalog>[^/]+)/(?P<schema>[^/]+)/(?P<table>[^/]+)/(?P<flow>[^/]+))"
    r"/(?P<number>\d{1,9})/?"
)


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
        return f"{self.directory}/{self.number + 1}"


def pipeline_flow(place: str | None) -> PipelineFlow | None:
    """The flow whose checkpoint lies there; None for any other place."""
    found = _PLACE.fullmatch(place or "")
    if found is None:
        return None
    table = ".".join(found[part] for part in ("catalog", "schema", "table"))
    return PipelineFlow(table, found["flow"], found["flows"], int(found["number"]))
