"""The engines that the other tests rely on are the real ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.delta import DeltaEngine, DeltaError
from tests.support.kafka import Broker


def test_spark_writes_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("one\ntwo\n")
    query = (
        spark.readStream.text(str(tmp_path / "in"))
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "ck"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    query.awaitTermination()
    assert spark.version.startswith("4.3.")
    assert spark.read.parquet(str(tmp_path / "out")).count() == 2
    assert (tmp_path / "ck" / "commits" / "0").is_file()


def test_settings_of_one_test_do_not_reach_the_next(spark: SparkSession, spark_session: SparkSession) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "7")
    assert spark_session.conf.get("spark.sql.shuffle.partitions") == "2"


def test_python_workers_run_with_the_interpreter_of_the_tests(spark: SparkSession) -> None:
    assert spark.sparkContext.parallelize([0], 1).map(lambda _: __import__("sys").executable).collect() == [
        sys.executable
    ]


@pytest.mark.kafka
def test_spark_reads_every_partition_of_a_real_topic(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    kafka.create_topic("engines", partitions=2)
    kafka.produce("engines", ["a", "b", "c"], partition=0)
    kafka.produce("engines", ["d"], partition=1)
    query = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("subscribe", "engines")
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr("cast(value as string) value")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "ck"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    query.awaitTermination()
    assert sorted(row.value for row in spark.read.parquet(str(tmp_path / "out")).collect()) == [
        "a",
        "b",
        "c",
        "d",
    ]
    line = (tmp_path / "ck" / "offsets" / "0").read_text().splitlines()[-1]
    assert json.loads(line) == {"engines": {"0": 3, "1": 1}}
    assert kafka.end_offsets("engines") == {0: 3, 1: 1}


@pytest.mark.kafka
def test_the_broker_can_drop_old_records_and_gain_partitions(kafka: Broker) -> None:
    kafka.create_topic("changing", partitions=1)
    kafka.produce("changing", ["a", "b", "c"], partition=0)
    kafka.delete_records("changing", {0: 2})
    kafka.add_partitions("changing", 3)
    kafka.produce("changing", ["d"], partition=2)
    assert kafka.start_offsets("changing") == {0: 2, 1: 0, 2: 0}
    assert kafka.end_offsets("changing") == {0: 3, 1: 0, 2: 1}


@pytest.mark.delta
def test_delta_writes_a_table_in_the_second_environment(delta: DeltaEngine, tmp_path: Path) -> None:
    script = """
spark.range(5).write.format("delta").save(args["path"])
result = {"spark": spark.version, "rows": spark.read.format("delta").load(args["path"]).count()}
"""
    assert delta.run(script, path=str(tmp_path / "table")) == {"spark": "4.2.0", "rows": 5}
    assert (tmp_path / "table" / "_delta_log" / "00000000000000000000.json").is_file()


@pytest.mark.delta
def test_an_error_in_a_delta_script_is_raised_with_its_text(delta: DeltaEngine) -> None:
    with pytest.raises(DeltaError, match="no such thing"):
        delta.run("raise ValueError('no such thing')")
