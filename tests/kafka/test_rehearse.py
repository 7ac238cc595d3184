"""A rehearsal of a query that reads Kafka: the records of the planned batch and those after it, and neither the
topic nor the groups of the broker change."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.cli import main
from tests.kafka.scene import QUICK, read_topics
from tests.spark.cases import EVERY_CASE, LONG
from tests.support.copies import copy_of
from tests.support.rehearsed import tree
from tests.support.spark import connector_jars
from tests.unit.test_documents import errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kafka import Broker

pytestmark = [pytest.mark.spark, pytest.mark.kafka]
TOPIC = "rehearsed"


@LONG
def test_a_planned_batch_of_kafka_runs_again_on_the_copy(
    spark: SparkSession,
    kafka: Broker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kafka.create_topic(TOPIC, 2)
    wrote = tmp_path / "wrote"

    def put(first: int, last: int) -> None:
        for partition in range(2):
            kafka.produce(TOPIC, [f"{partition}-{i}" for i in range(first, last)], partition)

    def run() -> None:
        def write(frame: DataFrame, _: int) -> None:
            frame.count()

        frame = read_topics(kafka, [TOPIC], {})(spark, tmp_path)
        writer = frame.writeStream.option("checkpointLocation", str(wrote)).foreachBatch(write)
        writer.trigger(availableNow=True).start().awaitTermination()

    put(0, 4)
    run()
    put(4, 7)
    run()
    put(7, 12)
    checkpoint = copy_of(wrote, tmp_path / "checkpoint")
    for name in ("1", ".1.crc"):
        (checkpoint / "commits" / name).unlink()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("CHECKPOINT_EXPLORER_SPARK_DIRECTORY", str(scratch))
    before, ends = tree(checkpoint), kafka.end_offsets(TOPIC)
    query = tmp_path / "query.py"
    query.write_text(
        "def transform(df):\n    return df.selectExpr('partition', 'offset', 'CAST(value AS STRING) AS v')\n",
        encoding="utf-8",
    )
    asked = ["rehearse", str(checkpoint), "--query", str(query), "--set", "sink=kafka", "--json"]
    assert main(asked) == 2
    assert "source.0.servers" in capsys.readouterr().err
    asked += ["--set", f"source.0.servers={kafka.bootstrap}"]
    asked += [part for name, value in QUICK.items() for part in ("--set", f"source.0.option.{name}={value}")]
    if os.environ.get(EVERY_CASE):
        assert main(asked) == 2
        assert "has no connector for kafka" in capsys.readouterr().err
    asked += ["--conf", f"spark.jars={','.join(map(str, connector_jars()))}"]
    status = main(asked)
    out, err = capsys.readouterr()
    assert out, err
    answer = json.loads(out)
    assert not errors("rehearse", answer)
    assert (status, answer["outcome"], answer["batch_id"]) == (0, "rerun", 1), answer["error"]
    assert [(b["id"], b["input_rows"], b["output_rows"]) for b in answer["batches"]] == [
        (1, 6, 6),
        (2, 10, 10),
    ]
    assert answer["sink"]["kind"] == "kafka" and answer["sink"]["written_as"] == "recorded"
    assert answer["original_unchanged"] and not list(scratch.iterdir())
    assert (tree(checkpoint), kafka.end_offsets(TOPIC)) == (before, ends)
