"""The generated code for Kafka pipelines, run unmodified against a real broker; the sink is looked at row by
row."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorSettings
from core.connectors.connect import ask_connectors
from core.connectors.kafka.partitions import kafka_partition_states
from core.recovery import OptionId, impact_of_deleting
from tests.support.kafka import Broker
from tests.support.recovery import PLANNED, repeated, run_in_session, script_for

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

PLAIN = """
def transform(df):
    return df.selectExpr("cast(value as string) as value", "partition")

def write_batch(df, batch_id):
    df.write.mode("append").parquet({target!r})
"""
COUNTS = """
import shutil

def transform(df):
    return df.selectExpr("cast(value as string) as value").groupBy("value").count()

def write_batch(df, batch_id):
    target, fresh = {target!r}, {target!r} + ".fresh"
    spark = df.sparkSession
    try:
        old = spark.read.parquet(target)
        df = df.unionByName(old.join(df, "value", "left_anti"))
    except Exception:
        pass
    df.coalesce(1).write.mode("overwrite").parquet(fresh)
    shutil.rmtree(target, ignore_errors=True)
    shutil.move(fresh, target)
"""


class Pipeline:
    """One topic, a foreachBatch sink that appends parquet files, a checkpoint."""

    def __init__(self, spark: SparkSession, broker: Broker, place: Path, topic: str, query: str) -> None:
        self.spark, self.broker, self.place, self.topic = spark, broker, place, topic
        self.target, self.checkpoint, self.query = place / "target", place / "checkpoint", place / "query.py"
        self.query.write_text(query.format(target=str(self.target)), encoding="utf-8")
        broker.create_topic(topic, partitions=2)

    def produce(self, partition: int, first: int, last: int) -> None:
        self.broker.produce(self.topic, [f"{partition}-{i}" for i in range(first, last)], partition)

    def functions(self) -> dict[str, Callable[..., DataFrame]]:
        names: dict[str, Callable[..., DataFrame]] = {}
        exec(self.query.read_text(encoding="utf-8"), names)
        return names

    def run(
        self,
        write: Callable[[DataFrame, int], None] | None = None,
        mode: str = "append",
        options: dict[str, str] | None = None,
    ) -> None:
        names = self.functions()
        reader = self.spark.readStream.format("kafka").option(
            "kafka.bootstrap.servers", self.broker.bootstrap
        )
        reads = {"startingOffsets": "earliest", **(options or {"subscribe": self.topic})}
        frame = names["transform"](reader.options(**reads).load())
        writer = frame.writeStream.foreachBatch(write or names["write_batch"]).outputMode(mode)
        writer.option("checkpointLocation", str(self.checkpoint)).trigger(
            availableNow=True
        ).start().awaitTermination()

    def crash(self) -> None:
        """Plans a batch that never reaches the sink."""

        def crashing(_: DataFrame, __: int) -> None:
            raise RuntimeError("the sink is gone")

        with pytest.raises(Exception, match="the sink is gone"):
            self.run(crashing)

    @property
    def given(self) -> ConnectorSettings:
        """The broker as the user names it: a properties file."""
        path = self.place / "broker.properties"
        path.write_text(f"bootstrap.servers={self.broker.bootstrap}\n", encoding="utf-8")
        return ConnectorSettings(kafka=path)

    def script(self, option: OptionId, given: ConnectorSettings | None = None, **more: str) -> Path:
        answers = {
            "sink": "foreach_append",
            "sink_path": str(self.target),
            "sink_format": "parquet",
            "query_file": str(self.query),
            "source.0.servers": self.broker.bootstrap,
            "source_complete": "yes",
            **more,
        }
        return script_for(self.checkpoint, option, answers, self.place, given)

    def values(self) -> list[str]:
        return sorted(row[0] for row in self.spark.read.parquet(str(self.target)).collect())


def expected(**partitions: int) -> list[str]:
    """The values of p0=7, p1=3 ...: partition-number for all records so far."""
    return sorted(f"{name[1:]}-{i}" for name, end in partitions.items() for i in range(end))


@pytest.fixture
def orders(spark: SparkSession, kafka: Broker, tmp_path: Path) -> Pipeline:
    """Two batches are committed, a third one was planned and never reached the sink; then partitions were
    added and records came."""
    pipeline = Pipeline(spark, kafka, tmp_path, f"orders-{tmp_path.name.replace('_', '-')}"[:80], PLAIN)
    pipeline.produce(0, 0, 5)
    pipeline.produce(1, 0, 3)
    pipeline.run()
    pipeline.produce(0, 5, 8)
    pipeline.run()
    pipeline.produce(1, 3, 10)
    pipeline.crash()
    kafka.add_partitions(pipeline.topic, 4)
    pipeline.produce(2, 0, 6)
    pipeline.produce(0, 8, 9)
    return pipeline


def test_reset_of_a_kafka_pipeline_goes_on_after_the_last_committed_batch_with_added_partitions(
    orders: Pipeline,
) -> None:
    ck = Checkpoint.open(str(orders.checkpoint))
    assert (ck.last_committed_batch, ck.pending_batch) == (1, 2)
    script = orders.script("reset")
    text = script.read_text(encoding="utf-8")
    assert json.loads(ck.source_texts(1, "0")[1] or "") == {orders.topic: {"0": 8, "1": 3}}
    assert '"1":3' in text and '"1":10' not in text, "the planned batch must not become the start"

    done = run_in_session(script, orders.spark)
    assert done.status == 5 and PLANNED in done.output, done.output
    assert orders.values() == expected(p0=9, p1=10, p2=6)
    assert f"{orders.topic}-2 is new since batch 1" in done.output
    assert "began exactly where batch 1 ended" in done.output
    assert "the output grew from 11 to 25 rows; the new input gives 14" in done.output

    orders.produce(3, 0, 2)
    again = run_in_session(script, orders.spark)
    assert again.status == 5 and PLANNED in again.output, again.output
    assert orders.values() == expected(p0=9, p1=10, p2=6, p3=2)


def test_full_refresh_of_a_kafka_pipeline_reads_everything_once_into_a_new_output(orders: Pipeline) -> None:
    done = run_in_session(orders.script("full_refresh"), orders.spark)
    assert done.status == 0, done.output
    assert orders.values() == expected(p0=9, p1=10, p2=6)
    old = orders.spark.read.parquet(f"{orders.target}.before-refresh-batch-1")
    assert sorted(row[0] for row in old.collect()) == expected(p0=8, p1=3)


def test_expired_records_are_refused_and_named_and_lost_only_when_that_is_accepted(orders: Pipeline) -> None:
    orders.broker.delete_records(orders.topic, {1: 6})
    script = orders.script("reset")
    refused = run_in_session(script, orders.spark)
    assert refused.status == 4
    assert f"{orders.topic}-1: the offsets 3 to 5 have expired" in refused.output
    assert not Path(f"{orders.checkpoint}.reset-after-batch-1").exists()

    done = run_in_session(script, orders.spark, ACCEPT_LOSS=True)
    assert done.status == 5 and PLANNED in done.output, done.output
    assert orders.values() == [
        value for value in expected(p0=9, p1=10, p2=6) if value not in {"1-3", "1-4", "1-5"}
    ]

    refresh = run_in_session(orders.script("full_refresh"), orders.spark)
    assert refresh.status == 4
    assert "have expired" in refresh.output


def test_records_deleted_beyond_the_position_are_foretold_and_the_offered_code_saves_the_rest(
    orders: Pipeline,
) -> None:
    orders.broker.delete_records(
        orders.topic, {0: 8, 1: 6}
    )  # partition 0 exactly up to its position, partition 1 three records too far
    ck = Checkpoint.open(str(orders.checkpoint))
    connectors = ask_connectors(ck, orders.given)

    lost = {
        row.name: row.lost for row in kafka_partition_states(ck, "0", connectors.brokers["0"]) if row.lost
    }
    assert lost == {f"{orders.topic}-1": 3}
    said = forecast(ck, connectors=connectors)
    assert (said.outcome, said.fails_at, said.batch_id, said.certainty) == ("fail", "batch", 2, "certain")
    with pytest.raises(StreamingQueryException) as failed:
        orders.run()
    assert said.error is not None and said.error.message in str(failed.value)
    (price,) = [price for price in impact_of_deleting(ck, connectors) if price.start == "exact position"]
    assert price.loses_rows == 3

    script = orders.script("reset", orders.given)
    done = run_in_session(script, orders.spark)
    assert done.status == 5 and PLANNED in done.output, done.output
    assert orders.values() == [
        value for value in expected(p0=9, p1=10, p2=6) if value not in {"1-3", "1-4", "1-5"}
    ]
    assert f"{orders.topic}-1: the offsets 3 to 5 have expired and are lost" in done.output


def test_a_topic_made_anew_is_read_from_its_beginning_when_the_broker_was_asked(orders: Pipeline) -> None:
    orders.broker.delete_topic(orders.topic)
    orders.broker.create_topic(orders.topic, partitions=2)
    orders.produce(0, 20, 22)
    orders.produce(1, 30, 35)  # beyond the old position 3: only the age of its first record tells
    done = run_in_session(orders.script("reset", orders.given), orders.spark)
    assert done.status == 5 and PLANNED in done.output, done.output
    assert orders.values() == sorted(
        [*expected(p0=8, p1=3), "0-20", "0-21", *(f"1-{i}" for i in range(30, 35))]
    )


def test_a_topic_made_anew_is_refused(orders: Pipeline) -> None:
    orders.broker.delete_topic(orders.topic)
    orders.broker.create_topic(orders.topic, partitions=2)
    orders.produce(0, 0, 2)
    done = run_in_session(orders.script("reset"), orders.spark)
    assert done.status == 4
    assert "ends at 2, before the position 8: the topic was deleted and recreated" in done.output


def test_into_a_file_sink_the_numbers_go_on_and_the_planned_batch_is_written_once(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    pipeline = Pipeline(spark, kafka, tmp_path, "to-files", PLAIN)
    output = tmp_path / "output"

    def run() -> None:
        reader = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", kafka.bootstrap)
            .option("subscribe", "to-files")
        )
        frame = pipeline.functions()["transform"](reader.option("startingOffsets", "earliest").load())
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(pipeline.checkpoint))
        writer.trigger(availableNow=True).start(str(output)).awaitTermination()

    for start in (0, 4, 8):
        pipeline.produce(0, start, start + 4)
        run()
    (pipeline.checkpoint / "commits" / "2").unlink()
    (pipeline.checkpoint / "commits" / ".2.crc").unlink()
    pipeline.produce(1, 0, 5)
    done = run_in_session(pipeline.script("reset", sink="file", sink_path=str(output)), spark)
    assert done.status == 0, done.output
    assert sorted(row[0] for row in spark.read.parquet(str(output)).collect()) == expected(p0=12, p1=5)


def totals(pipeline: Pipeline) -> dict[str, int]:
    """The rows of a COUNTS pipeline."""
    rows = pipeline.spark.read.parquet(str(pipeline.target)).collect()
    return {row["value"]: row["count"] for row in rows}


KEYED = {"sink": "foreach_merge", "output_mode": "update"}


def test_totals_of_a_kafka_pipeline_are_built_again_from_the_old_records(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    pipeline = Pipeline(spark, kafka, tmp_path, "totals", COUNTS)
    for _ in range(2):
        pipeline.produce(0, 0, 4)
        pipeline.produce(1, 0, 2)
        pipeline.run(mode="update")
    pipeline.produce(0, 2, 6)
    done = run_in_session(pipeline.script("reset", **KEYED), spark)
    assert done.status == 0, done.output
    assert totals(pipeline) == {
        "0-0": 2,
        "0-1": 2,
        "0-2": 3,
        "0-3": 3,
        "0-4": 1,
        "0-5": 1,
        "1-0": 2,
        "1-1": 2,
    }
    assert "the output has exactly the rows that a batch query over all input gives" in done.output


def test_totals_of_a_pattern_get_the_records_of_a_topic_that_is_new_since_the_position(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    pipeline = Pipeline(spark, kafka, tmp_path, "pattern-totals-a", COUNTS)
    options = {"subscribePattern": "pattern-totals-.*"}
    pipeline.produce(0, 0, 4)
    pipeline.run(mode="update", options=options)
    pipeline.produce(0, 0, 2)
    pipeline.run(mode="update", options=options)
    kafka.create_topic("pattern-totals-b", partitions=1)
    kafka.produce("pattern-totals-b", ["0-0", "b"], 0)
    pipeline.produce(1, 0, 1)
    script = pipeline.script(
        "reset", **KEYED, **{f"source.0.option.{name}": value for name, value in options.items()}
    )
    done = run_in_session(script, spark)
    assert done.status == 0, done.output
    assert totals(pipeline) == {"0-0": 3, "0-1": 2, "0-2": 1, "0-3": 1, "1-0": 1, "b": 1}
    assert "pattern-totals-b-0 is new since batch 1" in done.output
    assert "the output has exactly the rows that a batch query over all input gives" in done.output


def test_totals_begin_where_the_old_query_began_and_not_at_records_that_it_never_read(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    pipeline = Pipeline(spark, kafka, tmp_path, "later-totals", COUNTS)
    options = {
        "subscribe": pipeline.topic,
        "startingOffsets": json.dumps({pipeline.topic: {"0": 3, "1": 0}}),
    }
    pipeline.produce(0, 0, 4)
    pipeline.run(mode="update", options=options)
    pipeline.produce(0, 0, 4)
    pipeline.run(mode="update", options=options)
    assert totals(pipeline) == {"0-0": 1, "0-1": 1, "0-2": 1, "0-3": 2}
    kafka.add_partitions(pipeline.topic, 3)
    pipeline.produce(2, 0, 2)
    pipeline.produce(0, 0, 1)
    done = run_in_session(pipeline.script("reset", **KEYED), spark)
    assert done.status == 0, done.output
    assert totals(pipeline) == {"0-0": 2, "0-1": 1, "0-2": 1, "0-3": 2, "2-0": 1, "2-1": 1}


def test_totals_over_expired_records_are_refused_and_the_rest_goes_on_when_the_loss_is_accepted(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    pipeline = Pipeline(spark, kafka, tmp_path, "expired-totals", COUNTS)
    for _ in range(2):
        pipeline.produce(0, 0, 4)
        pipeline.run(mode="update")
    pipeline.produce(0, 0, 3)
    kafka.delete_records(pipeline.topic, {0: 9})  # the position is 8
    script = pipeline.script("reset", **KEYED)
    refused = run_in_session(script, spark)
    assert refused.status == 4, refused.output
    beside = {path.name for path in tmp_path.iterdir() if path.name.startswith("checkpoint")}
    assert beside == {"checkpoint"}, "it was refused before anything was written"
    done = run_in_session(script, spark, ACCEPT_LOSS=True)
    assert done.status == 5, done.output
    assert "the state lacks old records that have expired" in done.output
    assert totals(pipeline) == {"0-0": 2, "0-1": 1, "0-2": 1, "0-3": 2}


def test_into_a_kafka_topic_the_rows_of_the_planned_batch_come_again_and_no_others(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    pipeline = Pipeline(
        spark, kafka, tmp_path, "from-topic", "def transform(df):\n    return df.select('value')\n"
    )
    kafka.create_topic("to-topic")

    def run() -> None:
        reader = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", kafka.bootstrap)
            .option("subscribe", "from-topic")
        )
        writer = (
            reader.option("startingOffsets", "earliest").load().select("value").writeStream.format("kafka")
        )
        writer = writer.option("kafka.bootstrap.servers", kafka.bootstrap).option("topic", "to-topic")
        writer.option("checkpointLocation", str(pipeline.checkpoint)).trigger(
            availableNow=True
        ).start().awaitTermination()

    for start in (0, 4):
        pipeline.produce(0, start, start + 4)
        run()
    (pipeline.checkpoint / "commits" / "1").unlink()
    (pipeline.checkpoint / "commits" / ".1.crc").unlink()
    pipeline.produce(1, 0, 3)
    done = run_in_session(
        pipeline.script("reset", sink="kafka", sink_servers=kafka.bootstrap, sink_topic="to-topic"), spark
    )
    assert done.status == 5 and PLANNED in done.output, done.output
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": "to-topic"}
    values = [
        row[0]
        for row in spark.read.format("kafka")
        .options(**options)
        .load()
        .selectExpr("cast(value as string)")
        .collect()
    ]
    assert sorted(set(values)) == expected(p0=8, p1=3)
    assert repeated(values) == dict.fromkeys([f"0-{i}" for i in range(4, 8)], 2)


def test_a_rewind_repeats_exactly_the_records_of_the_later_committed_batch(orders: Pipeline) -> None:
    old = orders.checkpoint
    script = orders.script("rewind", to_batch="0")
    done = run_in_session(script, orders.spark)
    assert done.status == 5, done.output
    assert "that source 0 (Kafka) still has what batches 1 to 2 had read" in done.output, done.output
    assert "This sink gets the rows of these batches a second time." in done.output
    orders.checkpoint = Path(f"{old}.rewound-to-batch-0")
    orders.run()
    found = orders.values()
    assert repeated(found) == dict.fromkeys(("0-5", "0-6", "0-7"), 2)
    assert sorted(set(found)) == expected(p0=9, p1=10, p2=6)
    assert Checkpoint.open(str(old)).last_committed_batch == 1
