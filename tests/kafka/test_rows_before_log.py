"""Real-time mode and continuous processing on a real broker: rows of a batch that no log names are in the topic
when the query stops, and come again."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from tests.support.forecasting import said

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from tests.support.kafka import Broker

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

SECONDS = 60
TRIGGERS: Mapping[str, Mapping[str, str]] = {
    "real_time": {"realTime": "10 seconds"},  # rows are written, read and the query stopped inside one batch
    "continuous": {"continuous": "10 seconds"},
}


def rows(broker: Broker, topic: str, enough: int) -> Counter[str]:
    """What readers of the topic get, as soon as there is so much."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "none"})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])  # a group would wait for more members first
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

    def logged() -> int:
        """How many records the newest committed batch says are read."""
        if committed() < 0:
            return 0
        line = (root / "offsets" / str(committed())).read_text(encoding="utf-8").splitlines()[-1]
        return int(json.loads(line)[source]["0"])

    sent = ["first", "second"]
    kafka.produce(source, sent, 0)
    for letter in "abcd":  # the log may be written between the rows and the stop; then once more
        query = start()
        wait_for(lambda: logged() == len(sent), query)
        more = [f"{letter}{number}" for number in range(3)]
        kafka.produce(source, more, 0)
        sent.extend(more)
        wait_for(lambda: rows(kafka, sink, len(sent)).total() == len(sent), query)
        query.stop()
        if logged() < len(sent):
            break
    known = logged()
    assert known < len(sent)

    answer = said(root)
    assert (answer.outcome, answer.batch_id) == ("resume", committed() + 1)
    assert answer.data.append == "duplicates" and not answer.data.is_sure("append")
    assert [risk.id for risk in answer.risks] == ["ROWS_BEFORE_LOG"]

    query = start()
    again = sent[known:]
    assert rows(kafka, sink, len(sent) + len(again)) == Counter(sent + again)
    query.stop()
