"""Stateful processors that keep every kind of state: value, list and map, each with and without time to live, and
timers; and one whose variables change. A module of its own: Python workers import it.

Each is there by rows (Spark 4.1 and newer) and by pandas (4.0): the same state, other names of operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

HOUR_MS = 3_600_000


class ByRows(StatefulProcessor):
    """Hands out one row for each key: how much ``remember`` says there was."""

    def remember(self, found: Sequence[Any], timers: Any) -> int:
        """What is done to the state with the rows of a key in a batch."""
        raise NotImplementedError

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        return iter([Row(k=str(key[0]), n=self.remember(list(rows), timerValues))])

    def close(self) -> None:
        pass


class ByPandas:
    """The same over data frames."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        import pandas as pd

        found = [row for frame in rows for row in frame.itertuples(index=False)]
        yield pd.DataFrame({"k": [str(key[0])], "n": [self.remember(found, timerValues)]})  # type: ignore[attr-defined]


class EveryKind(ByRows):
    """Remembers the rows of each key in six ways; now and then some of it is replaced or removed."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.count = handle.getValueState("count", "n long")
        self.brief = handle.getValueState("brief", "n long", ttlDurationMs=HOUR_MS)
        self.ids = handle.getListState("ids", "id long, v long")
        self.brief_ids = handle.getListState("brief_ids", "id long", ttlDurationMs=HOUR_MS)
        self.sums = handle.getMapState("sums", "v long", "total long, text string")
        self.brief_sums = handle.getMapState("brief_sums", "v long", "total long", ttlDurationMs=HOUR_MS)

    def remember(self, found: Sequence[Any], timers: Any) -> int:
        total = int((self.count.get() or (0,))[0]) + len(found)
        self.count.update((total,))
        self.brief.update((total,))
        for row in found:
            number, value = int(row.id), int(row.v)
            self.ids.appendValue((number, value))
            self.brief_ids.appendValue((number,))
            self.sums.updateValue((value,), (total, f"after {total}"))
            self.brief_sums.updateValue((value,), (total,))
            if number % 30 == 20:
                self.ids.put([(number, value), (-number, value)])
                self.brief_ids.put([(number,)])
                self.brief.clear()
            if number % 30 == 21:
                for gone in (value - 1, value - 2):
                    self.sums.removeKey((gone,))
                    self.brief_sums.removeKey((gone,))
        self.handle.registerTimer(timers.getCurrentProcessingTimeInMs() + HOUR_MS)
        return total


class EveryKindByPandas(ByPandas, EveryKind):
    """By data frames."""


class EventTimers(ByRows):
    """One timer for each row, half an hour of event time after the watermark."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.count = handle.getValueState("count", "n long, newest timestamp")

    def remember(self, found: Sequence[Any], timers: Any) -> int:
        total = int((self.count.get() or (0,))[0]) + len(found)
        for row in found:
            self.count.update((total, row.t))
            self.handle.registerTimer(timers.getCurrentWatermarkInMs() + HOUR_MS // 2 + int(row.id))
        return total


class EventTimersByPandas(ByPandas, EventTimers):
    """By data frames."""


class Before(ByRows):
    """Variables as they are before a change of their schemas (Avro)."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "n int, text string, ratio float")
        self.ids = handle.getListState("ids", "id int")
        self.sums = handle.getMapState("sums", "v long", "total int, inner struct<a: int, b: string>")

    def remember(self, found: Sequence[Any], timers: Any) -> int:
        for row in found:
            number = int(row.id)
            self.count.update((number, f"text {number}", number / 4))
            self.ids.appendValue((number,))
            self.sums.updateValue((int(row.v),), (number, (number, "b") if number % 2 else None))
        return len(found)


class BeforeByPandas(ByPandas, Before):
    """By data frames."""


class After(ByRows):
    """The same variables with columns that were added, removed, moved and widened."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "ratio double, n long, added string")
        self.ids = handle.getListState("ids", "id long, more string")
        self.sums = handle.getMapState(
            "sums", "v long", "inner struct<a: long, b: string, c: int>, total double"
        )

    def remember(self, found: Sequence[Any], timers: Any) -> int:
        for row in found:
            number = int(row.id)
            self.count.update((number / 8, number, "new"))
            self.ids.appendValue((number, None if number % 2 else "more"))
            self.sums.updateValue((int(row.v),), ((number, None, 1), number / 2))
        return len(found)


class AfterByPandas(ByPandas, After):
    """By data frames."""
