"""Rows per partition against Spark: its own state reader counts the same, and puts each row where the hash of
its key says."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.analysis.findings import findings
from core.analysis.forecast import Query, forecast
from core.checkpoint import Checkpoint
from core.checkpoint.state import committed_ids, state_inventory
from core.checkpoint.state_content.counts import count_keys
from core.checkpoint.state_content.replay import KeyCount
from tests.support.build import SAMPLES
from tests.support.copies import with_its_own_schemas
from tests.support.oracle import CHANGELOG, FORMAT_2, ROCKSDB, join, source, windows, write_file
from tests.support.state_queries import CODEC, ROW_CHECKSUMS, all_types, group_state, run, within_watermark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

STREAMLINE = "spark.sql.streaming.useStreamlineAggregator"

QUERIES: dict[str, tuple[Callable[[SparkSession, Path], DataFrame], dict[str, str]]] = {
    "hdfs_zstd_row_checksums": (windows, {CODEC: "zstd", **ROW_CHECKSUMS}),
    "rocksdb": (windows, ROCKSDB),
    "changelog_snappy_row_checksums": (windows, {**CHANGELOG, CODEC: "snappy", **ROW_CHECKSUMS}),
    "format_2": (windows, FORMAT_2),
    "join": (join, {}),
}


def counted(root: Path, batch: int, *, replay: bool = True) -> dict[str, dict[int, KeyCount]]:
    """Rows per store and partition after a batch."""
    ck = Checkpoint.open(str(root))
    has_checksums = ck.conf.get("spark.sql.streaming.stateStore.rowChecksum.enabled") == "true"
    (operator,) = state_inventory(ck).operators
    found = count_keys(
        ck.door, operator, batch + 1, committed_ids(ck), replay=replay, has_row_checksums=has_checksums
    )
    return {store: {p.partition_id: p.count for p in partitions} for store, partitions in found.items()}


def by_spark(spark: SparkSession, root: Path, batch: int, **options: str) -> dict[int, int]:
    """Rows per partition as the reader of Spark counts them; partitions without rows are left out."""
    reader = spark.read.format("statestore").option("batchId", batch).options(**options)
    return {
        row["partition_id"]: row["count"]
        for row in reader.load(str(root)).groupBy("partition_id").count().collect()
    }


def plain(counts: dict[int, KeyCount]) -> dict[int, int | None]:
    """The exact numbers without empty partitions, as Spark's reader gives them."""
    return {partition: count.keys for partition, count in counts.items() if count.keys != 0}


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.sql.streaming.pollingDelay", "1ms")
    yield spark


@pytest.mark.parametrize("name", QUERIES)
def test_the_state_reader_counts_the_same_after_each_batch(
    name: str, session: SparkSession, tmp_path: Path
) -> None:
    build, conf = QUERIES[name]
    for number in range(5):
        for directory in ("in", "in2"):
            write_file(tmp_path / directory, number)
    for key, value in conf.items():
        session.conf.set(key, value)
    root = tmp_path / "ck"
    run(session, build(session, tmp_path), root)
    last = Checkpoint.open(str(root)).last_committed_batch
    assert last is not None and last >= 4
    for batch in (1, last) if name != "join" else (last,):
        for store, counts in counted(root, batch).items():
            options = {} if store == "default" else {"storeName": store}
            assert plain(counts) == by_spark(session, root, batch, **options), (batch, store)
    recorded = counted(root, last, replay=False)
    assert {count.how for counts in recorded.values() for count in counts.values()} == {
        "recorded" if name == "rocksdb" else "unknown"
    }
    report = findings(Checkpoint.open(str(root)), "deep")
    assert report.findings == ()
    assert not any("rows of operator" in text for text in report.not_checked)


@pytest.mark.parametrize(
    ("name", "batch"),
    [
        ("join-watermark-held-back", None),
        ("kafka-topic-gained-partitions", None),
        ("missing-delta-file", 2),
        ("purged-to-newest-10", None),
        ("state-format-2", 6),
        ("windowed-aggregation-hot-partition", None),
    ],
)
def test_the_state_reader_counts_the_same_on_the_samples(
    name: str, batch: int | None, session: SparkSession, tmp_path: Path
) -> None:
    root = tmp_path / "ck"
    shutil.copytree(SAMPLES / name / "checkpoint", root)
    if name == "state-format-2":
        session.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "2")
    at = Checkpoint.open(str(root)).last_committed_batch if batch is None else batch
    assert at is not None
    for store, counts in counted(root, at).items():
        options = {} if store == "default" else {"storeName": store}
        assert plain(counts) == by_spark(session, root, at, **options), store


def test_a_row_of_each_state_variable_counts_for_transform_with_state(
    session: SparkSession, tmp_path: Path
) -> None:
    root = tmp_path / "ck"
    shutil.copytree(SAMPLES / "transform-with-state-timers/checkpoint", root)
    with_its_own_schemas(root)
    last = Checkpoint.open(str(root)).last_committed_batch
    assert last is not None
    variables = ({"stateVarName": "totals"}, {"stateVarName": "amounts", "flattenCollectionTypes": "false"})
    rows = [by_spark(session, root, last, **options) for options in variables]
    assert plain(counted(root, last)["default"]) == {
        p: sum(found.get(p, 0) for found in rows) for p in {p for found in rows for p in found}
    }


@pytest.mark.parametrize(
    ("build", "conf"),
    [(all_types, {}), (group_state, {}), (within_watermark, CHANGELOG)],
    ids=["all_types", "group_state", "within_watermark"],
)
def test_spark_puts_each_row_where_the_hash_of_its_key_says(
    build: Callable[[SparkSession, Path], DataFrame],
    conf: dict[str, str],
    session: SparkSession,
    tmp_path: Path,
) -> None:
    for number in range(3):
        write_file(tmp_path / "in", number)
    for key, value in {**conf, "spark.sql.shuffle.partitions": "7"}.items():
        session.conf.set(key, value)
    root = tmp_path / "ck"
    run(session, build(session, tmp_path), root)
    report = findings(Checkpoint.open(str(root)), "deep")
    assert report.findings == ()
    assert not any("rows of operator" in text for text in report.not_checked)
    (rows,) = [text for text in report.checked if " rows in " in text]
    assert int(rows.split()[0]) == (300 if build is all_types else 6)


@pytest.mark.parametrize("first", ["StatefulStreamlineAggregate", "stateStoreSave"])
def test_either_aggregation_of_spark_goes_on_with_the_state_of_the_other(
    first: str, session: SparkSession, tmp_path: Path
) -> None:
    """Real-time mode has an operator of its own; a setting of Spark's tests gives it to micro-batches."""
    root, wanted = tmp_path / "checkpoint", {"StatefulStreamlineAggregate", "stateStoreSave"} - {first}
    for batch, name in enumerate((first, *wanted)):
        if batch:
            answer = forecast(Checkpoint.open(str(root)), "4.3", Query(operators=(name,), new_data="yes"))
            assert (answer.outcome, answer.certainty) == ("resume", "certain")
        session.conf.set(STREAMLINE, str(name != "stateStoreSave").lower())
        write_file(tmp_path / "in", batch)
        counts = source(session, tmp_path / "in").groupBy("k").count()
        writer = counts.writeStream.format("noop").outputMode("update")
        writer.option("checkpointLocation", str(root)).trigger(availableNow=True).start().awaitTermination()
        (operator,) = state_inventory(Checkpoint.open(str(root))).operators
        assert operator.name == first, "the metadata are written once"
    session.conf.unset(STREAMLINE)
    rows = session.read.format("statestore").load(str(root)).select("key.k", "value.count").collect()
    assert sorted(map(tuple, rows)) == [("a", 2), ("b", 2)]
    assert not findings(Checkpoint.open(str(root)), "deep").findings
