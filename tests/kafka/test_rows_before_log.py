"""Real-time mode and continuous processing on a real broker: rows of a batch that no log names are in the topic
when the query stops, and come again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer

from tests.support.forecasting import said

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from tests.support.kafka import Broker

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

SECONDS = 60
TRIGGERS: Mapping[str, Mapping[str, str]] = {
    "real_time": {"realTime": "5 seconds"},  # the shortest that Spark takes
    "continuous": {"continuous": "5 seconds"},
}


def rows(broker: Broker, topic: str, enough: int) -> Counter[str]:
    """What readers of the topic get, as soon as there is so much."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": f"{time.time()}", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found: Counter[str] = Counter()
    until = time.monotonic() + SECONDS
    while found.total() < enough and time.monotonic() < until:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            found[message.value().decode()] += 1
    consumer.close()
    return found


def wait_for(is_so: Callable[[], bool], query: StreamingQuery) -> None:
    until = time.monotonic() + SECONDS
    while not is_so():
        assert query.isActive, query.exception()
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("mode", TRIGGERS)
def test_rows_of_the_running_batch_come_again(
    mode: str, spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    source, sink, root = f"{mode}-in", f"{mode}-out", tmp_path / "checkpoint"
    kafka.create_topic(source)
    kafka.create_topic(sink)

    def start() -> StreamingQuery:
        reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap)
        reader = reader.option("subscribe", source).option("startingOffsets", "earliest")
        frame: DataFrame = reader.load().selectExpr("CAST(value AS STRING) AS value")
        writer = frame.writeStream.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap)
        writer = writer.option("topic", sink).option("checkpointLocation", str(root))
        if mode == "real_time":
            writer = writer.outputMode("update")
        return writer.trigger(**TRIGGERS[mode]).start()

    def committed() -> int:
        return max((int(path.name) for path in root.glob("commits/[0-9]*")), default=-1)

    kafka.produce(source, ["a", "b"], 0)
    query = start()
    wait_for(lambda: committed() >= 1, query)
    kafka.produce(source, ["c", "d", "e"], 0)
    wait_for(lambda: rows(kafka, sink, 5).total() == 5, query)
    query.stop()
    newest = committed()
    offsets = (root / "offsets" / str(newest)).read_text(encoding="utf-8")
    assert offsets.endswith('{"0":2}}'), "the batch with the three rows was logged before the stop"

    answer = said(root)
    assert (answer.outcome, answer.batch_id) == ("resume", newest + 1)
    assert answer.data.append == "duplicates" and not answer.data.is_sure("append")
    assert [risk.id for risk in answer.risks] == ["ROWS_BEFORE_LOG"]

    query = start()
    assert rows(kafka, sink, 8) == {"a": 1, "b": 1, "c": 2, "d": 2, "e": 2}
    query.stop()
