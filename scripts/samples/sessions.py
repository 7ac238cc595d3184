"""The stateful processor of the sample `transform-with-state-timers`. Spark's workers import it by value:
nothing else lives here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

GAP_MS = 5 * 60_000


class ShopVisits(StatefulProcessor):
    """Counts and adds up the orders of a store until none has come for five minutes of event time."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.totals = handle.getValueState("totals", "orders long, total double, timer long")
        self.amounts = handle.getListState("amounts", "amount double")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        orders, total, timer = self.totals.get() or (0, 0.0, 0)
        latest = 0
        for row in rows:
            orders += 1
            total += row.amount
            latest = max(latest, int(row.ordered_at.timestamp() * 1000))
            self.amounts.appendValue((row.amount,))
        if timer:
            self.handle.deleteTimer(timer)
        timer = max(timer, latest + GAP_MS, timerValues.getCurrentWatermarkInMs() + 1)
        self.handle.registerTimer(timer)
        self.totals.update((orders, total, timer))
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        orders, total, _ = self.totals.get() or (0, 0.0, 0)
        self.totals.clear()
        self.amounts.clear()
        return iter([Row(store=key[0], orders=orders, total=total)])

    def close(self) -> None:
        pass
