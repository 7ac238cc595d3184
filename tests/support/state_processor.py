"""A stateful processor that keeps every kind of state: value, list and map, each with and without time to live,
and a timer. A module of its own: Python workers import it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

HOUR_MS = 3_600_000


class EveryKind(StatefulProcessor):
    """Remembers the rows of each key in six ways and hands out how many there were."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.count = handle.getValueState("count", "n long")
        self.brief = handle.getValueState("brief", "n long", ttlDurationMs=HOUR_MS)
        self.ids = handle.getListState("ids", "id long, v long")
        self.brief_ids = handle.getListState("brief_ids", "id long", ttlDurationMs=HOUR_MS)
        self.sums = handle.getMapState("sums", "v long", "total long, text string")
        self.brief_sums = handle.getMapState("brief_sums", "v long", "total long", ttlDurationMs=HOUR_MS)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        found = list(rows)
        total = (self.count.get() or (0,))[0] + len(found)
        self.count.update((total,))
        self.brief.update((total,))
        for row in found:
            self.ids.appendValue((row.id, row.v))
            self.brief_ids.appendValue((row.id,))
            self.sums.updateValue((row.v,), (total, f"after {total}"))
            self.brief_sums.updateValue((row.v,), (total,))
        self.handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + HOUR_MS)
        return iter([Row(k=key[0], n=total)])

    def close(self) -> None:
        pass
