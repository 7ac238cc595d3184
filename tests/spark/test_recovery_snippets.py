"""The snippets of the recovery options, executed unmodified: their options are given to the real query, and the rows are compared with the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from core.checkpoint import Checkpoint
from core.connectors import ConnectorSettings
from core.connectors.connect import ask_connectors
from core.recovery import Answers, OptionId, forms, read_recovery_context
from core.recovery.snippet import MOST_LINES
from tests.spark.test_recovery_kafka import PLAIN, Pipeline, expected
from tests.support.kafka import Broker
from tests.support.recovery import put_files, repeated, run_in_session
from tests.support.repairs import RepairPipeline

pytestmark = pytest.mark.spark


def snippet(
    checkpoint: Path, option: OptionId, given: ConnectorSettings | None = None, **answers: str
) -> tuple[str, dict[str, Any]]:
    """The text of a snippet, and what it defines."""
    ck = Checkpoint.open(str(checkpoint))
    connectors = ask_connectors(ck, given) if given is not None else None
    context = read_recovery_context(ck, Answers({"platform": "pyspark", **answers}), connectors)
    (text,) = (block.text for block in forms(context, option) if block.form == "snippet")
    scope: dict[str, Any] = {"__builtins__": {}}
    exec(text, scope)
    del scope["__builtins__"]
    return text, scope


class Pasted(Pipeline):
    """The Kafka pipeline with the two lines that a snippet asks for."""

    def start(self, scope: dict[str, Any]) -> None:
        names = self.functions()
        reader = self.spark.readStream.format("kafka").option(
            "kafka.bootstrap.servers", self.broker.bootstrap
        )
        frame = names["transform"](
            reader.option("subscribe", self.topic).options(**scope.get("START", {})).load()
        )
        writer = frame.writeStream.foreachBatch(names["write_batch"]).options(**scope["WRITER"])
        writer.trigger(availableNow=True).start().awaitTermination()


@pytest.fixture
def died(spark: SparkSession, kafka: Broker, tmp_path: Path) -> Pasted:
    """Two batches are committed, a third one was planned and never reached the sink."""
    pipeline = Pasted(spark, kafka, tmp_path, f"pasted-{tmp_path.name.replace('_', '-')}"[:80], PLAIN)
    pipeline.produce(0, 0, 5)
    pipeline.produce(1, 0, 3)
    pipeline.run()
    pipeline.produce(0, 5, 8)
    pipeline.run()
    pipeline.produce(1, 3, 10)
    pipeline.crash()
    return pipeline


@pytest.mark.kafka
@pytest.mark.parametrize("option", ["reset", "restart"])
def test_a_pasted_start_of_a_kafka_query_reads_every_record_once(died: Pasted, option: OptionId) -> None:
    text, scope = snippet(died.checkpoint, option, sink="foreach_append")
    assert ("No file has to be run" in text) == (option == "reset")
    assert ("START" in scope) == (option == "reset")
    assert (Path(scope["WRITER"]["checkpointLocation"]) == died.checkpoint) == (option == "restart")
    died.start(scope)
    assert died.values() == expected(p0=8, p1=10)
    died.produce(0, 8, 12)
    died.start(scope)  # from now on the query runs with these lines
    assert died.values() == expected(p0=12, p1=10)


@pytest.mark.kafka
def test_a_pasted_start_that_does_not_know_new_partitions_fails_and_one_that_asked_the_broker_reads_them(
    died: Pasted,
) -> None:
    died.broker.add_partitions(died.topic, 4)
    died.produce(2, 0, 6)
    before = died.values()
    text, scope = snippet(died.checkpoint, "reset", sink="foreach_append")
    assert "The start fails, and reads nothing, if a topic has partitions that are not named here" in text
    with pytest.raises(StreamingQueryException, match="you must specify all TopicPartitions"):
        died.start(scope)
    assert died.values() == before
    place = str(died.place / "second")
    _, scope = snippet(died.checkpoint, "reset", died.given, sink="foreach_append", checkpoint_new=place)
    assert '"2":-2' in scope["START"]["startingOffsets"]
    died.start(scope)
    assert died.values() == expected(p0=8, p1=10, p2=6) and not repeated(died.values())


def test_after_the_file_of_a_rewind_the_snippet_is_all_that_changes_in_the_query(
    spark: SparkSession, tmp_path: Path
) -> None:
    def totals(frame: DataFrame) -> DataFrame:
        return frame.groupBy("key").count()

    pipeline = RepairPipeline(spark, tmp_path / "p", totals, "merge", mode="update", key="key")
    put_files(pipeline.source, range(4))
    pipeline.run()
    answers = {"sink": "foreach_merge", "to_batch": "1"}
    text, scope = snippet(pipeline.checkpoint, "rewind", **answers)
    assert "Run the file first" in text and "python recover_rewind.py --execute --query-is-stopped" in text
    new = Path(scope["WRITER"]["checkpointLocation"])
    assert set(scope) == {"WRITER"} and not new.exists()
    done = run_in_session(pipeline.script("rewind", to_batch="1"), spark)
    assert done.status == 0, done.output
    put_files(pipeline.source, [4])
    pipeline.run(new)
    truth = spark.read.schema("id int, key int").json(str(pipeline.source)).groupBy("key").count()
    assert {row["key"]: row["count"] for row in pipeline.rows()} == {
        row["key"]: row["count"] for row in truth.collect()
    }


@pytest.mark.parametrize("sink", ["file", "append"])
def test_after_the_file_of_a_reset_of_a_file_source_the_snippet_is_all_that_changes(
    spark: SparkSession, tmp_path: Path, sink: Any
) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", lambda frame: frame.select("id", "key"), sink)
    put_files(pipeline.source, range(3))
    pipeline.run()
    query = tmp_path / "query.py"
    query.write_text(
        "import json\n\n\ndef transform(df):\n    return df.select('id', 'key')\n\n\ndef write_batch(df, batch_id):\n"
        f"    with open({str(pipeline.output / 'rows.json')!r}, 'a') as file:\n"
        "        file.writelines(json.dumps(row.asDict(), sort_keys=True) + '\\n' for row in df.collect())\n"
    )
    more = {
        "query_file": str(query),
        "sink_format": "parquet",
        "source.0.schema": "id int, key int, at timestamp",
    }
    kind = "file" if sink == "file" else "foreach_append"
    place = {"sink_path": str(pipeline.output)} if sink == "file" else {}
    text, scope = snippet(pipeline.checkpoint, "reset", sink=kind, **more, **place)
    assert "Run the file first" in text and set(scope) == {"WRITER"}
    put_files(pipeline.source, [3])
    done = run_in_session(pipeline.script("reset", **more), spark)
    assert done.status in (0, 5), done.output
    put_files(pipeline.source, [4])
    pipeline.run(Path(scope["WRITER"]["checkpointLocation"]))
    assert sorted(row["id"] for row in pipeline.rows()) == list(range(50))  # type: ignore[type-var]


def test_a_pasted_guard_puts_the_rows_of_a_batch_that_the_sink_does_not_take_aside(
    spark: SparkSession, tmp_path: Path
) -> None:
    def totals(frame: DataFrame) -> DataFrame:
        return frame.groupBy("key").count()

    class Refusing(RepairPipeline):
        """The sink takes every batch but the third; ``guard`` is what was pasted."""

        guard: Any = staticmethod(lambda write: write)

        def _write(self, frame: DataFrame, batch_id: int) -> None:
            def write(rows: DataFrame, number: int) -> None:
                if number == 2:
                    raise ValueError("the sink does not take this batch")
                RepairPipeline._write(self, rows, number)

            self.guard(write)(frame, batch_id)

    pipeline = Refusing(spark, tmp_path / "p", totals, "merge", mode="update", key="key")
    put_files(pipeline.source, range(4))
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match="does not take this batch"):
            pipeline.run()
    answers = {"sink": "foreach_merge", "what_happened": "batch_fails"}
    text, scope = snippet(pipeline.checkpoint, "restart", **answers)
    assert len(text.splitlines()) <= MOST_LINES
    pipeline.guard = scope["guarded"]
    pipeline.run()
    aside = {row["key"]: row["count"] for row in spark.read.parquet(scope["ASIDE"]).collect()}
    assert aside and not (pipeline.checkpoint / "commits" / "4").exists()
    truth = spark.read.schema("id int, key int").json(str(pipeline.source)).groupBy("key").count()
    totals_now = {row["key"]: row["count"] for row in pipeline.rows()}
    for (
        row
    ) in truth.collect():  # the later batch counted on: no state is lost, and nothing else was put aside
        assert max(totals_now.get(row["key"], 0), aside.get(row["key"], 0)) == row["count"]
    plain, _ = snippet(pipeline.checkpoint, "restart", sink="foreach_merge")
    assert "guarded" not in plain
