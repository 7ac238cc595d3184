"""A query that runs several batches a second, forecast and checked again and again while it runs: nothing
worse than a note."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.analysis.findings import Finding, findings
from core.analysis.forecast import Forecast, forecast
from core.checkpoint import Checkpoint
from tests.support.oracle import ROCKSDB, ids, write_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

CHECKS = 500  # over both queries
BATCHES = 20  # so many batches at least run while it is checked
FAST = {"spark.sql.streaming.minBatchesToRetain": "5", "spark.sql.streaming.pollingDelay": "1ms"}


def stateless(session: SparkSession, root: Path) -> StreamingQuery:
    frame = (
        session.readStream.schema("k string, id long, t timestamp, v long")
        .option("maxFilesPerTrigger", 1)
        .json(str(root / "in"))
    )
    return frame.writeStream.format("noop").option("checkpointLocation", str(root / "ck")).start()


def stateful(session: SparkSession, root: Path) -> StreamingQuery:
    frame = (
        session.readStream.format("rate")
        .option("rowsPerSecond", 50)
        .load()
        .selectExpr("value % 5 as k")
        .groupBy("k")
        .count()
    )
    return (
        frame.writeStream.format("noop")
        .outputMode("update")
        .option("checkpointLocation", str(root / "ck"))
        .start()
    )


@pytest.mark.spark
@pytest.mark.parametrize(
    ("start", "conf"), [(stateless, {}), (stateful, ROCKSDB)], ids=["stateless", "stateful"]
)
def test_a_running_query_gives_nothing_worse_than_a_note(
    spark: SparkSession, tmp_path: Path, start: object, conf: dict[str, str]
) -> None:
    for key, value in {**FAST, **conf}.items():
        spark.conf.set(key, value)
    for number in range(3):
        write_file(tmp_path / "in", number)
    query: StreamingQuery = start(spark, tmp_path)  # type: ignore[operator]
    stop = threading.Event()
    feeder = threading.Thread(target=feed, args=(tmp_path / "in", stop), daemon=True)
    feeder.start()
    try:
        while len(ids(tmp_path / "ck" / "commits")) < 2:
            query.awaitTermination(0.1)
            assert query.isActive, query.exception()
        first = newest(tmp_path / "ck")
        wrong: list[str] = []
        checks = 0
        while checks < CHECKS // 2 or newest(tmp_path / "ck") < first + BATCHES:
            wrong += look(tmp_path / "ck")
            checks += 1
            assert query.isActive, query.exception()
    finally:
        stop.set()
        feeder.join()
        query.stop()
    assert wrong == []


def newest(root: Path) -> int:
    """The newest batch that was planned."""
    return ids(root / "offsets")[-1]


def feed(directory: Path, stop: threading.Event) -> None:
    """New files as long as the query runs, a few each second."""
    number = 3
    while not stop.wait(0.05):
        write_file(directory, number % 1440)
        number += 1


def look(root: Path) -> list[str]:
    """What a forecast and a check of the normal level say that they must not say of a query that is well."""
    checkpoint = Checkpoint.open(str(root), newest=20)
    answer: Forecast = forecast(checkpoint)
    found: list[Finding] = [item for item in findings(checkpoint).findings if item.severity != "note"]
    complaints = [f"{item.id}: {item.sentence}" for item in found]
    if answer.outcome not in ("resume", "rerun") or answer.is_data_risk:
        complaints.append(answer.sentence)
    return complaints
