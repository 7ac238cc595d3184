"""Queries that run several batches a second, and a look at their checkpoints while they do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from core.analysis.forecast.model import Level
from core.checkpoint import Checkpoint
from core.judgement import judge
from tests.support.oracle import ROCKSDB, ids, write_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FAST = {"spark.sql.streaming.minBatchesToRetain": "5", "spark.sql.streaming.pollingDelay": "1ms"}
FIRST_FILES = 3


def stateless(session: SparkSession, root: Path, every: str) -> StreamingQuery:
    """Rows of files as they come."""
    frame = (
        session.readStream.schema("k string, id long, t timestamp, v long")
        .option("maxFilesPerTrigger", 1)
        .json(str(root / "in"))
    )
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(root / "ck"))
    return writer.trigger(processingTime=every).start()


def stateful(session: SparkSession, root: Path, every: str) -> StreamingQuery:
    """Counts of rows that come with each trigger; those of the rate source come once a second."""
    frame = (
        session.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 50)
        .load()
        .selectExpr("value % 5 as k")
        .groupBy("k")
        .count()
    )
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(root / "ck"))
    return writer.outputMode("update").trigger(processingTime=every).start()


@dataclass(frozen=True)
class Live:
    """One kind of query. ``conf``: what its session sets beside :data:`FAST`."""

    name: str
    start: Callable[[SparkSession, Path, str], StreamingQuery]
    conf: Mapping[str, str] = field(default_factory=dict)


QUERIES = (Live("stateless", stateless), Live("stateful", stateful, ROCKSDB))


@contextmanager
def running(
    session: SparkSession, live: Live, root: Path, every: str = "0 seconds"
) -> Iterator[StreamingQuery]:
    """The query while it runs and gets new files; it has committed two batches."""
    for key, value in {**FAST, **live.conf}.items():
        session.conf.set(key, value)
    for number in range(FIRST_FILES):
        write_file(root / "in", number)
    query = live.start(session, root, every)
    stop = threading.Event()
    feeder = threading.Thread(target=_feed, args=(root / "in", stop), daemon=True)
    feeder.start()
    try:
        while len(ids(root / "ck" / "commits")) < 2:
            time.sleep(0.1)
            assert query.isActive, query.exception()
        yield query
    finally:
        stop.set()
        feeder.join()
        query.stop()


def _feed(directory: Path, stop: threading.Event) -> None:
    """New files as long as the query runs, a few more each second than it takes."""
    number = FIRST_FILES
    while not stop.wait(0.15):
        write_file(directory, number)
        number += 1


def newest(root: Path) -> int:
    """The newest batch that was planned."""
    return ids(root / "ck" / "offsets")[-1]


def look(root: Path, level: Level = "normal") -> list[str]:
    """What forecast and check say that they must not say of a query that is well."""
    judgement = judge(Checkpoint.open(str(root / "ck"), newest=20), level=level)
    answer = judgement.forecast
    found = [item for item in judgement.findings.findings if item.severity != "note"]
    complaints = [f"{item.id}: {item.sentence}" for item in found]
    if answer.outcome not in ("resume", "rerun") or answer.is_data_risk:
        complaints.append(answer.sentence)
    return complaints
