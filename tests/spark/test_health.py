"""Queries that do not do well, run by real Spark: a row of the year 2099, event times that are null, a batch that
fails at each attempt, an old output under a new checkpoint."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.analysis.findings import Finding, findings
from core.checkpoint import Checkpoint
from core.connectors.file_sink_log import FileSinkLog
from core.connectors.model import ConnectorAnswers
from core.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = time.time()
STATE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def arrive(directory: Path, number: int, rows: list[dict[str, Any]]) -> None:
    """An input file; files are read in the order of their times."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"f{number:03d}.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    os.utime(path, (NOW - 1000 + number,) * 2)


def rows_at(seconds: float) -> list[dict[str, Any]]:
    return [
        {"k": f"u{i}", "t": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds + i))} for i in range(10)
    ]


def count_windows(spark: SparkSession, root: Path) -> int:
    """Runs what has arrived; the rows that the output has after that."""
    from pyspark.sql import functions

    read = spark.readStream.schema("k string, t timestamp").option("maxFilesPerTrigger", 1)
    frame: DataFrame = read.json(str(root / "in")).withWatermark("t", "10 seconds")
    counted = frame.groupBy(functions.window("t", "10 seconds")).count()
    writer = counted.writeStream.format("json").option("path", str(root / "out"))
    query = writer.option("checkpointLocation", str(root / "ck")).trigger(availableNow=True).start()
    query.awaitTermination()
    return sum(len(path.read_text().splitlines()) for path in (root / "out").glob("*.json"))


def found(root: Path, **more: Any) -> dict[str, Finding]:
    return {item.id: item for item in findings(Checkpoint.open(str(root), **more)).findings}


def found_soon(finding_id: str, root: Path, settings: Settings) -> Finding:
    """The finding as soon as the pending batch is older than the batch before it took."""
    for _ in range(300):
        item = found(root, settings=settings).get(finding_id)
        if item is not None:
            return item
        time.sleep(0.2)
    raise AssertionError(f"no {finding_id} after a minute")


def test_after_a_row_of_the_year_2099_every_row_is_dropped(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(3):
        arrive(tmp_path / "in", number, rows_at(NOW - 5000 + 100 * number))
    count_windows(spark, tmp_path)
    assert found(tmp_path / "ck") == {}
    arrive(tmp_path / "in", 3, [{"k": "x", "t": "2099-01-01T00:00:00"}])
    before = count_windows(spark, tmp_path)
    item = found(tmp_path / "ck")["WATERMARK_AHEAD"]
    assert item.severity == "data_risk" and "2098-12-31 23:59:50" in item.sentence
    arrive(tmp_path / "in", 4, rows_at(NOW))
    assert count_windows(spark, tmp_path) == before
    assert set(found(tmp_path / "ck")) == {"WATERMARK_AHEAD"}


def test_event_times_that_are_null_stall_the_watermark(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(4):
        arrive(tmp_path / "in", number, rows_at(NOW - 5000 + 100 * number))
    before = count_windows(spark, tmp_path)
    assert found(tmp_path / "ck") == {}
    for number in range(4, 8):
        arrive(tmp_path / "in", number, [{"k": "y"}] * 10)
    assert count_windows(spark, tmp_path) == before
    (item,) = found(tmp_path / "ck").values()
    assert item.id == "WATERMARK_STALLED" and "null" in item.sentence


def test_each_attempt_at_a_batch_that_fails_writes_its_state_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    for provider in (None, ROCKSDB):
        root = tmp_path / ("rocksdb" if provider else "hdfs")
        if provider:
            spark.conf.set(STATE, provider)
        for number in range(2):
            arrive(root / "in", number, rows_at(NOW))
        fail_twice(spark, root)
        item = found_soon(
            "BATCH_PENDING_LONG", root / "ck", Settings(pending_ratio=1.001, pending_least_ms=1)
        )
        assert "may fail at each attempt" in item.sentence and item.batch_id == 1


def fail_twice(spark: SparkSession, root: Path) -> None:
    """Batch 1 fails in the function of the query; the query is started twice."""

    def write(frame: DataFrame, batch_id: int) -> None:
        frame.collect()
        if batch_id == 1:
            raise ValueError("poison")

    read = spark.readStream.schema("k string, t timestamp").option("maxFilesPerTrigger", 1)
    counted = read.json(str(root / "in")).groupBy("k").count()
    for _ in range(2):
        writer = counted.writeStream.outputMode("update").foreachBatch(write)
        query = writer.option("checkpointLocation", str(root / "ck")).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except Exception as error:  # the kind depends on the version
            assert "poison" in str(error)


def test_an_old_output_under_a_new_checkpoint_was_skipped(spark: SparkSession, tmp_path: Path) -> None:
    def run() -> dict[str, Finding]:
        read = spark.readStream.schema("k string, t timestamp").option("maxFilesPerTrigger", 1)
        writer = read.json(str(tmp_path / "in")).writeStream.format("parquet")
        writer = writer.option("path", str(tmp_path / "out")).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "ck")).start().awaitTermination()
        sink = FileSinkLog.open(str(tmp_path / "out"))
        report = findings(Checkpoint.open(str(tmp_path / "ck")), connectors=ConnectorAnswers(sink=sink))
        return {item.id: item for item in report.findings}

    for number in range(2):
        arrive(tmp_path / "in", number, rows_at(NOW))
    assert run() == {}
    shutil.rmtree(tmp_path / "ck")
    five_seconds_ago = time.time() - 5  # one store has one clock
    for entry in (tmp_path / "out" / "_spark_metadata").iterdir():
        os.utime(entry, (five_seconds_ago, five_seconds_ago))
    arrive(tmp_path / "in", 2, rows_at(NOW))
    item = run()["SINK_BATCHES_SKIPPED"]
    assert item.batch_id == 0 and "batches 0 and 1" in item.sentence
    next((tmp_path / "out").glob("*.parquet")).unlink()
    assert run()["SINK_FILES_GONE"].severity == "attention"
