"""The stateful processor of the oracle's transformWithState base. A module of its own: Python workers import
it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle


class Counter(StatefulProcessor):
    """Hands out one row per key and batch: how many rows of this key were seen so far."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.seen = handle.getValueState("seen", "n long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        total = (self.seen.get() or (0,))[0] + sum(1 for _ in rows)
        self.seen.update((total,))
        return iter([Row(k=key[0], n=total)])

    def close(self) -> None:
        pass
