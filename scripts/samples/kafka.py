"""Samples that read a real Kafka broker (`scripts/parts.py kafka-broker kafka-connector`)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scripts.samples.stage import ORDER_SCHEMA, Stage
from tests.support.kafka import Broker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BOOTSTRAP = "SAMPLE_KAFKA_BOOTSTRAP"


@contextmanager
def _broker(stage: Stage) -> Iterator[Broker]:
    broker = Broker(stage.root / "broker")
    broker.start()
    os.environ[BOOTSTRAP] = broker.bootstrap
    try:
        yield broker
    finally:
        broker.stop()


def _topics(stage: Stage, names: str, offsets_per_batch: int) -> DataFrame:
    """The stream of records of these topics."""
    return (
        stage.spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", os.environ[BOOTSTRAP])
        .option("subscribe", names)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", offsets_per_batch)
        .load()
    )


def produce(stage: Stage, broker: Broker, topic: str, partitions: int, rows: list[dict[str, Any]]) -> None:
    """Spread the rows over the partitions, not quite evenly, as keys do."""
    values: list[list[str]] = [[] for _ in range(partitions)]
    for row in rows:
        [chosen] = stage.random.choices(range(partitions), weights=range(partitions + 2, 2, -1))
        values[chosen].append(json.dumps(row))
    for partition, batch in enumerate(values):
        broker.produce(topic, batch, partition)


def _pipeline(stage: Stage) -> None:
    """Runs in the process that is killed: appends each batch to Parquet, and hangs after half of batch 8."""

    def write(rows: DataFrame, batch_id: int) -> None:
        if batch_id == 8:
            rows.where("topic = 'orders'").write.mode("append").parquet(str(stage.sink))
            stage.marker.touch()
            time.sleep(3600)
        rows.write.mode("append").parquet(str(stage.sink))

    query = (
        _topics(stage, "orders,refunds", 90)
        .selectExpr("topic", "partition", "offset", "timestamp", "cast(value as string) as value")
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", str(stage.checkpoint))
        .trigger(processingTime="1 second")
        .start()
    )
    query.awaitTermination()


def kafka_pipeline_died_mid_batch(stage: Stage) -> str:
    """Two topics with three partitions each; killed in batch 8, when the orders are written and the refunds
    are not."""
    with _broker(stage) as broker:
        for topic in ("orders", "refunds"):
            broker.create_topic(topic, partitions=3)
        for _ in range(6):
            produce(stage, broker, "orders", 3, stage.orders(130, minutes_ago=5))
            produce(stage, broker, "refunds", 3, stage.orders(40, minutes_ago=5))
        stage.die_in(_pipeline)
    return f"""
# A Kafka pipeline that died in the middle of a batch

Two topics, `orders` and `refunds`, with three partitions each, go to one Parquet directory through `foreachBatch`: first the orders of the
batch, then the refunds. At night the driver was killed by the out-of-memory killer while batch {stage.last_offset} was running.

What the engineer knows: the orders of batch {stage.last_offset} are in the directory already, its refunds are not. The topics keep their
records for seven days. The function appends; it does not look at the batch id.

## Expected answers (for tests)

The last committed batch is {stage.last_commit}; batch {stage.last_offset} is planned, with its offsets per
partition of both topics, and will be run again with exactly this range. For an appending sink the orders of that batch repeat unless
they are removed first. A new checkpoint must start at the end of batch {stage.last_commit}, not at the end of batch
{stage.last_offset}: otherwise the refunds of that batch are lost.
"""


def kafka_topic_gained_partitions(stage: Stage) -> str:
    """A windowed count with state in RocksDB; the topic grows from two to four partitions while the query
    runs."""
    from pyspark.sql import functions as sf

    stage.use_rocksdb()
    stage.spark.conf.set("spark.sql.shuffle.partitions", "2")
    stage.spark.conf.set("spark.sql.streaming.stateStore.minDeltasForSnapshot", "4")
    with _broker(stage) as broker:
        broker.create_topic("orders", partitions=2)
        orders = (
            _topics(stage, "orders", 1000)
            .select(sf.from_json(sf.col("value").cast("string"), ORDER_SCHEMA).alias("row"))
            .select("row.*")
        )
        counts = (
            orders.withWatermark("ordered_at", "5 minutes")
            .groupBy(sf.window("ordered_at", "5 minutes"), "store")
            .count()
        )
        query = (
            stage.into_nothing(counts)
            .outputMode("append")
            .option("checkpointLocation", str(stage.checkpoint))
            .trigger(processingTime="500 milliseconds")
            .start()
        )
        for number in range(9):
            partitions = 2 if number < 5 else 4
            if number == 5:
                broker.add_partitions("orders", 4)
            produce(stage, broker, "orders", partitions, stage.orders(40, minutes_ago=3 * (9 - number)))
            query.processAllAvailable()
            stage.pause()
        query.stop()
    return f"""
# A Kafka query whose topic got new partitions

Orders per store and five minutes, with a watermark and the state in RocksDB with changelog. While the query was running the topic
`orders` was enlarged from two to four partitions, because the producers had become too fast.

What the engineer knows: the query never failed, it was stopped cleanly after batch {stage.last_commit}. The question is whether the
records of the new partitions were all read.

## Expected answers (for tests)

From one batch on the offsets name partitions 2 and 3; Spark read them from offset 0, whatever `startingOffsets`
says, so nothing is missing as long as their first records had not expired by then. `sources/0/0` still names two partitions; that is
normal. The number of state partitions is another matter and has not changed. A new checkpoint must name all four partitions in
`startingOffsets`.
"""
