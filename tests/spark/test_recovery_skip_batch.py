"""The option skip_batch, run unmodified on Spark: a batch that fails at every start, and the rows that are lost, counted."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

from core.checkpoint import Checkpoint
from core.recovery import Answers, options, read_recovery_context
from tests.spark.test_recovery_kafka import PLAIN, expected
from tests.spark.test_recovery_snippets import Pasted
from tests.support.kafka import Broker
from tests.support.recovery import fingerprint, killed_at, put_files, run_in_session, script_for
from tests.support.repairs import RepairPipeline, Sink
from tests.support.script_processes import run_script
from tests.unit.test_recovery_judgement import make

pytestmark = pytest.mark.spark
POISON = 25  # a row of the third file, which batch 2 reads


def poisoned(frame: DataFrame) -> DataFrame:
    def checked(number: int) -> int:
        if number == POISON:
            raise ValueError("a poisoned row")
        return number

    return frame.select(udf(checked, "int", useArrow=False)("id").alias("id"), "key")


def failing(spark: SparkSession, place: Path, sink: Sink) -> RepairPipeline:
    """Two batches are committed; the third one fails at every start."""
    pipeline = RepairPipeline(spark, place, poisoned, sink)
    put_files(pipeline.source, range(3))
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match="a poisoned row"):
            pipeline.run()
    assert Checkpoint.open(str(pipeline.checkpoint)).pending_batch == 2
    return pipeline


def ids(pipeline: RepairPipeline) -> list[object]:
    return sorted(row["id"] for row in pipeline.rows())  # type: ignore[type-var]


@pytest.mark.parametrize("sink", ["file", "append"])
def test_exactly_the_rows_of_the_batch_are_lost_and_the_query_continues(
    spark: SparkSession, tmp_path: Path, sink: Sink
) -> None:
    pipeline = failing(spark, tmp_path / "p", sink)
    before = fingerprint(pipeline.checkpoint, pipeline.output)
    script = pipeline.script("skip_batch")
    new = Path(f"{pipeline.checkpoint}.without-batch-2")
    dry = run_in_session(script, spark, execute=False)
    assert dry.status == 0 and not new.exists(), dry.output
    assert "part%20002.json" in dry.output and "part%20001.json" not in dry.output
    for _ in range(2):
        done = run_in_session(script, spark)
        assert done.status == 0 and "proven on the files" in done.output, done.output
    assert fingerprint(pipeline.checkpoint, pipeline.output) == before
    (kept,) = (path for path in Path(f"{new}.skipped-files").iterdir() if not path.name.startswith("."))
    assert kept.read_bytes() == (pipeline.source / "part 002.json").read_bytes()
    put_files(pipeline.source, range(3, 16))  # beyond a compaction of the logs
    pipeline.run(new)
    assert ids(pipeline) == [*range(20), *range(30, 160)]
    assert Checkpoint.open(str(new)).commit_ids[:4] == (0, 1, 2, 3)
    repaired = kept.read_text().replace(f'"id": {POISON},', '"id": 1000,')
    (pipeline.source / "repaired.json").write_text(repaired)
    pipeline.run(new)
    assert ids(pipeline) == sorted({*range(160), 1000} - {POISON})
    again = run_in_session(script, spark)
    assert again.status == 4 and "the query has run with it since" in again.output, again.output


def test_a_script_that_was_killed_while_copying_is_run_again(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = failing(spark, tmp_path / "p", "file")
    script = pipeline.script("skip_batch")
    dying = killed_at(script, 'copy.finish(path, f"{building}/{path}")')
    before = fingerprint(pipeline.checkpoint, pipeline.output)
    assert run_script(dying, "--execute", "--query-is-stopped").status == -9
    dying.unlink()
    kept = Path(f"{pipeline.checkpoint}.without-batch-2.skipped-files") / "00000-part 002.json"
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(b"{")  # a copy of an input file that was cut off too
    done = run_script(script, "--execute", "--query-is-stopped")
    assert done.status == 0, done.output
    assert fingerprint(pipeline.checkpoint, pipeline.output) == before
    pipeline.run(Path(f"{pipeline.checkpoint}.without-batch-2"))
    assert ids(pipeline) == list(range(20))


def test_an_output_that_has_the_batch_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", lambda frame: frame.select("id", "key"), "file")
    put_files(pipeline.source, range(3))
    pipeline.run()
    pipeline.forget_commits([2])
    before = fingerprint(pipeline.checkpoint, pipeline.output)
    for execute in (False, True):
        done = run_in_session(pipeline.script("skip_batch"), spark, execute=execute)
        assert done.status == 4 and "already has batch 2" in done.output, done.output
    assert fingerprint(pipeline.checkpoint, pipeline.output) == before


@pytest.mark.kafka
def test_a_kafka_query_continues_behind_the_planned_offsets(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    pipeline = Pasted(spark, kafka, tmp_path, f"poison-{tmp_path.name.replace('_', '-')}"[:80], PLAIN)
    pipeline.produce(0, 0, 5)
    pipeline.produce(1, 0, 3)
    pipeline.run()
    pipeline.produce(1, 3, 10)
    pipeline.crash()
    done = run_in_session(pipeline.script("skip_batch"), spark)
    assert done.status == 0, done.output
    pipeline.produce(0, 5, 8)
    pipeline.produce(1, 10, 12)
    pipeline.start({"WRITER": {"checkpointLocation": f"{pipeline.checkpoint}.without-batch-1"}})
    lost = {f"1-{i}" for i in range(3, 10)}
    assert pipeline.values() == sorted(set(expected(p0=8, p1=12)) - lost)


def test_it_is_recommended_only_when_asked_for_and_refused_for_state(
    spark: SparkSession, tmp_path: Path
) -> None:
    def of(pipeline: RepairPipeline, **answers: str) -> tuple[bool, bool, str]:
        ck = Checkpoint.open(str(pipeline.checkpoint))
        context = read_recovery_context(ck, Answers({"sink": "foreach_append", **answers}))
        option = next(each for each in options(context) if each.id == "skip_batch")
        return option.possible, option.recommended, option.loses

    pipeline = failing(spark, tmp_path / "p", "append")
    assert of(pipeline)[:2] == (True, False)
    assert of(pipeline, what_happened="batch_fails") == (
        True,
        True,
        "All rows of batch 2 (1 file), also those that do not fail.",
    )
    assert of(pipeline, sink="foreach_txn")[:2] == (False, False)
    distinct = RepairPipeline(spark, tmp_path / "d", lambda frame: frame.dropDuplicates(["id"]), "append")
    put_files(distinct.source, range(2))
    distinct.run()
    distinct.forget_commits([1])
    assert of(distinct, what_happened="batch_fails")[:2] == (False, False)


def test_a_copy_that_would_not_start_is_not_offered(spark: SparkSession, tmp_path: Path) -> None:
    """A start looks at the newest two offset entries. Without the plan these are the committed one and one
    that retention has removed: seen on 4.3, the copy does not start."""
    pipeline = failing(spark, tmp_path / "p", "append")
    ck, offsets = pipeline.checkpoint, pipeline.checkpoint / "offsets"
    said = {"sink": "foreach_append", "what_happened": "batch_fails"}
    script = pipeline.script("skip_batch")
    (offsets / "0").unlink()
    (offsets / ".0.crc").unlink()
    option = next(
        each
        for each in options(read_recovery_context(Checkpoint.open(str(ck)), Answers(said)))
        if each.id == "skip_batch"
    )
    assert not option.possible and "would not start either" in option.why, option.why
    assert run_in_session(script, spark).status in (0, 5), "the script as it was made before"
    with pytest.raises(StreamingQueryException) as failed:
        pipeline.run(Path(f"{ck}.without-batch-2"))
    assert "poisoned" not in str(failed.value)


def counting(spark: SparkSession, kind: str, place: Path, checkpoint: str) -> str | None:
    """One batch of a source that counts, into files; every row fails while the file ``poisoned`` is there."""
    flag = place / "poisoned"

    def checked(number: int) -> int:
        if flag.exists():
            raise ValueError("a poisoned row")
        return number

    options = {"rowsPerBatch": "10"} if kind == "rate-micro-batch" else {"rowsPerSecond": "10"}
    frame = spark.readStream.format(kind).options(**options, numPartitions="1").load()
    frame = frame.select(udf(checked, "long", useArrow=False)("value").alias("id"))
    writer = frame.writeStream.format("parquet").option("path", str(place / "out"))
    query = writer.option("checkpointLocation", checkpoint).trigger(once=True).start()
    try:
        query.awaitTermination()
    except StreamingQueryException as failed:
        return str(failed)
    return None


@pytest.mark.parametrize("kind", ["rate", "rate-micro-batch"])
def test_a_source_that_counts_continues_behind_the_planned_offset(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    old = tmp_path / "checkpoint"

    def until(batch: int, checkpoint: Path) -> list[int]:
        """Runs until this batch is planned; its end offset and the one before it. Seconds have to pass for a rate."""
        for _ in range(200):
            failed = counting(spark, kind, tmp_path, str(checkpoint))
            ck = Checkpoint.open(str(checkpoint))
            if ck.offset_ids and ck.offset_ids[-1] >= batch:
                assert (failed is not None) == (tmp_path / "poisoned").exists()
                texts = [json.loads(ck.source_texts(n, "0")[1] or "0") for n in (batch - 1, batch)]
                return [each["offset"] if isinstance(each, dict) else each * 10 for each in texts]
            time.sleep(0.1)
        raise AssertionError(f"batch {batch} was not planned")

    until(1, old)
    (tmp_path / "poisoned").touch()
    first, last = until(2, old)
    answers = {"sink": "file", "sink_path": str(tmp_path / "out"), "what_happened": "batch_fails"}
    done = run_in_session(script_for(old, "skip_batch", answers, tmp_path), spark)
    assert done.status == 0, done.output
    (tmp_path / "poisoned").unlink()
    new = Path(f"{old}.without-batch-2")
    _, end = until(3, new)
    rows = sorted(row[0] for row in spark.read.parquet(str(tmp_path / "out")).collect())
    assert first < last < end and rows == [*range(first), *range(last, end)]


def test_a_source_for_which_it_was_not_verified_and_the_first_batch_are_refused(tmp_path: Path) -> None:
    def why(path: Path) -> str:
        context = read_recovery_context(Checkpoint.open(str(path)), Answers({"sink": "foreach_append"}))
        option = next(each for each in options(context) if each.id == "skip_batch")
        assert not option.possible
        return option.why

    shard = json.dumps({"shardId-000000000000": {"iteratorType": "AFTER_SEQUENCE_NUMBER", "seqNo": "7"}})
    assert "was not verified" in why(make(tmp_path / "other", {0: [shard], 1: [shard]}, 0))
    line = json.dumps({"orders": {"0": 5}})
    assert "No batch is committed" in why(make(tmp_path / "first", {0: [line]}, -1))
