"""A query that died in a batch, and a topic that was cut beyond its position meanwhile: what is said, what
Spark does, and the way back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.analysis.errors import explain
from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.checkpoint.sources.kafka import KAFKA
from core.connectors.connect import ask_connectors
from core.connectors.kafka.partitions import kafka_partition_states
from core.connectors.model import ConnectorSettings
from core.recovery import as_pyspark, resume_points
from tests.kafka.scene import QUICK, read_topics
from tests.support.oracle import Base, Fact, Oracle, Recipe, Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kafka import Broker

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

TOPIC = "cut-short"
FIRST, LATER = (
    6,
    9,
)  # records of each of three partitions: those of the batch that was committed, and those after it
CUT = {0: 10, 2: 7}  # new log starts; the committed position is 6 everywhere


class DiedError(Exception):
    """The process went away while the batch was written."""


def row(partition: int, offset: int) -> str:
    return json.dumps(
        {"topic": TOPIC, "partition": partition, "offset": offset, "v": f"{partition}-{offset}"},
        separators=(",", ":"),
    )


def produce(kafka: Broker, begin: int, end: int) -> None:
    for partition in range(3):
        kafka.produce(TOPIC, [f"{partition}-{i}" for i in range(begin, end)], partition)


def run_first(session: SparkSession, kafka: Broker, root: Path) -> Rows:
    """Batch 0 is written; the query dies in batch 1, before its sink has anything. Returns what the sink has."""
    got: list[str] = []

    def write(frame: DataFrame, batch_id: int) -> None:
        if batch_id == 1:
            raise DiedError
        got.extend(json.dumps(each.asDict(), separators=(",", ":")) for each in frame.collect())

    build = read_topics(kafka, [TOPIC], {})
    for begin, end in ((0, FIRST), (FIRST, FIRST + LATER)):
        produce(kafka, begin, end)
        writer = (
            build(session.newSession(), root)
            .writeStream.foreachBatch(write)
            .option("checkpointLocation", str(root / "ck"))
        )
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except Exception as error:
            assert "DiedError" in str(error)
    return tuple(got)


def all_rows(*facts: Fact) -> list[str]:
    return sorted(row for fact in facts for rows in fact.delivered.values() for row in rows)


def test_a_killed_query_on_a_shortened_topic_is_told_and_brought_back(
    kafka_oracle: Oracle, spark_session: SparkSession, kafka: Broker, properties_file: Path, tmp_path: Path
) -> None:
    kafka.create_topic(TOPIC, 3)
    in_sink = run_first(spark_session, kafka, tmp_path)
    assert sorted(in_sink) == sorted(row(p, i) for p in range(3) for i in range(FIRST))
    kafka.delete_records(TOPIC, CUT)

    # which partitions lost how much
    ck = Checkpoint.open(str(tmp_path / "ck"))
    connectors = ask_connectors(ck, ConnectorSettings(kafka=properties_file))
    rows = {end.name: end for end in kafka_partition_states(ck, "0", connectors.brokers["0"])}
    assert {name: (end.state, end.lost) for name, end in rows.items()} == {
        f"{TOPIC}-0": ("behind_log_start", 4),
        f"{TOPIC}-1": ("ok", 0),
        f"{TOPIC}-2": ("behind_log_start", 1),
    }
    assert next(iter(rows)) == f"{TOPIC}-0"  # the worst first
    assert rows[f"{TOPIC}-0"].sentence.startswith(
        f"{TOPIC}-0: offsets 6 to 9 have expired unread (4 offsets)"
    )

    # the error and when it comes
    said = forecast(ck, connectors=connectors)
    assert (said.outcome, said.batch_id, said.fails_at, said.reason) == (
        "fail",
        1,
        "batch",
        "KAFKA_RECORDS_EXPIRED",
    )
    shutil.copytree(tmp_path / "ck", tmp_path / "copy" / "ck")
    base = Base(Recipe("cut", read_topics(kafka, [TOPIC], {})), tmp_path, {}, {})
    fact = kafka_oracle.restart(base, tmp_path / "copy" / "ck")
    assert (fact.outcome, fact.first_batch, fact.fails_at) == ("fail", 1, "batch")
    assert said.error is not None and fact.error is not None
    assert fact.error.condition == said.error.condition == "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"
    assert fact.delivered == {}

    # the same out of a foreachBatch function, where the text sits deep in a Python traceback
    shutil.copytree(tmp_path / "ck", tmp_path / "python" / "ck")
    writer = read_topics(kafka, [TOPIC], {})(spark_session.newSession(), tmp_path).writeStream.foreachBatch(
        lambda frame, _: frame.collect()
    )
    query = (
        writer.option("checkpointLocation", str(tmp_path / "python" / "ck"))
        .trigger(availableNow=True)
        .start()
    )
    with pytest.raises(Exception, match="FOREACH_BATCH_USER_FUNCTION_ERROR") as failed:
        query.awaitTermination()
    assert explain(str(failed.value), ck).name == said.error.condition

    # the way back: the offered lines in a new checkpoint
    answer = resume_points(ck, connectors=connectors)
    (source,) = answer.sources
    assert answer.batch == 0
    point = source.point
    assert not point.exact
    assert point.skips.startswith("5 offsets that have expired")
    assert "NOT EXACT, skips 5 offsets" in point.note

    def build(session: SparkSession, _root: Path) -> DataFrame:
        lines = as_pyspark(point, KAFKA)
        reader = (
            "(session.readStream.format('kafka').option('kafka.bootstrap.servers',"
            f" servers).option('subscribe', topic)\n{lines}\n.load())"
        )
        frame: DataFrame = eval(reader, {"session": session, "servers": kafka.bootstrap, "topic": TOPIC})
        return frame.selectExpr("topic", "partition", "offset", "CAST(value AS STRING) AS v")

    readable = sorted(row(p, i) for p in range(3) for i in range(max(FIRST, CUT.get(p, 0)), FIRST + LATER))
    assert all_rows(kafka_oracle.restart(base, tmp_path / "new" / "ck", build)) == readable

    # and the other one: the old checkpoint, once with failOnDataLoss=false
    allowed = read_topics(kafka, [TOPIC], {**QUICK, "failOnDataLoss": "false"})
    assert all_rows(kafka_oracle.restart(base, tmp_path / "copy" / "ck", allowed)) == readable
