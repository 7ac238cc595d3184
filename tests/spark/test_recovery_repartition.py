"""The option repartition, run unmodified on Spark: the query resumes with another number of partitions, and the
rows are compared with the truth."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import count, expr, lit

from core.checkpoint import Checkpoint
from core.judgement import judge
from core.recovery.answers import Answers
from core.recovery.context import read_recovery_context
from core.recovery.kit.reading_state import session_settings
from core.recovery.options import options
from tests.support.recovery import fingerprint, killed_at, put_files, run_in_session
from tests.support.repairs import RepairPipeline
from tests.support.script_processes import run_script

pytestmark = pytest.mark.spark

STATE_STORE = "spark.sql.streaming.stateStore"
ROCKSDB = {
    f"{STATE_STORE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
}
FORMAT_2 = {
    **ROCKSDB,
    f"{STATE_STORE}.checkpointFormatVersion": "2",
    f"{STATE_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
}


def totals(frame: DataFrame) -> DataFrame:
    return frame.groupBy("key").agg(count(lit(1)).alias("n"))


def joined(frame: DataFrame) -> DataFrame:
    """Every row with the one of the next file that has its key ten further; unmatched rows wait in the state."""
    left = frame.withWatermark("at", "1 hour").alias("l")
    right = frame.withWatermark("at", "1 hour").alias("r")
    near = expr("l.id + 10 = r.id AND r.at BETWEEN l.at AND l.at + INTERVAL 2 HOURS")
    return left.join(right, near).selectExpr("l.id AS id", "r.id AS other")


def new_of(pipeline: RepairPipeline, partitions: int) -> Path:
    return Path(f"{pipeline.checkpoint}.with-{partitions}-partitions")


def partitions_of(checkpoint: Path) -> str:
    return Checkpoint.open(str(checkpoint)).conf["spark.sql.shuffle.partitions"]


def test_totals_in_rocksdb_resume_with_more_partitions(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "p"
    pipeline = RepairPipeline(spark, place, totals, "merge", mode="update", key="key", confs=ROCKSDB)
    put_files(pipeline.source, range(3))
    pipeline.run()
    script = pipeline.script("repartition", partitions="5")
    dying = killed_at(script, "self.repartition(building)")
    assert run_script(dying, "--execute", "--query-is-stopped").status == -9
    new = new_of(pipeline, 5)
    assert Path(f"{new}.preparing").exists() and not new.exists()
    dying.unlink()

    before = fingerprint(pipeline.place)
    dry = run_in_session(script, spark, execute=False)
    assert dry.status == 0 and "moves the state from 2 to 5 partitions" in dry.output, dry.output
    assert fingerprint(pipeline.place) == before, "the dry run wrote"
    done = run_script(script, "--execute", "--query-is-stopped")
    assert done.status == 0 and "default has the same rows: 15 before, 15 after, 0 lost" in done.output, (
        done.output
    )
    assert Path(f"{new}.preparing.leftover-1").exists()
    made = fingerprint(new)
    again = run_in_session(script, spark)
    assert again.status == 0, again.output
    assert fingerprint(new) == made
    kept = {path: value for path, value in before.items() if path.startswith(f"{pipeline.checkpoint}/")}
    assert fingerprint(pipeline.checkpoint) == kept, "the old checkpoint was changed"
    other = run_in_session(script, spark, PARTITIONS=7)
    assert other.status == 4 and "was made with 5 partitions" in other.output, other.output

    pipeline.checkpoint.rename(place / "away")
    put_files(pipeline.source, [3, 4])
    pipeline.run(new)
    assert {row["key"]: row["n"] for row in pipeline.rows()} == {
        key: sum(1 for number in range(50) if number % 15 == key) for key in range(15)
    }
    assert partitions_of(new) == "5" and Checkpoint.open(str(new)).last_committed_batch == 5


def test_a_join_of_format_2_resumes_in_one_partition_with_every_pair_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", joined, "append", confs=FORMAT_2)
    put_files(pipeline.source, range(3))
    pipeline.run()
    script = pipeline.script("repartition", partitions="1")
    done = run_in_session(script, spark)
    assert done.status == 0, done.output
    assert done.output.count(" has the same rows: ") == done.output.count("0 rows of operator 0") == 4, (
        done.output
    )
    put_files(pipeline.source, [3, 4])
    pipeline.run(new_of(pipeline, 1))
    assert [
        (row["id"], row["other"]) for row in sorted(pipeline.rows(), key=lambda row: str(row["id"]).zfill(3))
    ] == [(number, number + 10) for number in range(40)]
    assert partitions_of(new_of(pipeline, 1)) == "1"
    late = run_in_session(script, spark)
    assert late.status == 4 and "the query has run with it since" in late.output, late.output


JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"


def test_a_join_with_state_format_4_is_refused_and_spark_would_break_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    confs = {**ROCKSDB, JOIN_FORMAT: "3"}
    pipeline = RepairPipeline(spark, tmp_path / "p", joined, "append", confs=confs)
    put_files(pipeline.source, range(3))
    pipeline.run()
    script = pipeline.script("repartition", partitions="4")
    shutil.rmtree(pipeline.checkpoint)
    pipeline.confs = {**confs, JOIN_FORMAT: "4"}
    pipeline.run()
    answers = Answers({"platform": "pyspark", "sink": "foreach_append", "partitions": "4"})
    context = read_recovery_context(Checkpoint.open(str(pipeline.checkpoint)), answers)
    (option,) = [each for each in options(context) if each.id == "repartition"]
    assert not option.possible and "a join with state format 4" in option.why
    assert "values of a join with state format 4" in refusal(pipeline, spark, script)
    own = tmp_path / "own"
    shutil.copytree(pipeline.checkpoint, own)
    with session_settings(spark, {**ROCKSDB, f"{STATE_STORE}.checkpointFormatVersion": "1"}):
        spark._streamingCheckpointManager.repartition(str(own), 4)
    before, after = (judge(Checkpoint.open(str(each))).forecast for each in (pipeline.checkpoint, own))
    assert before.risk("JOIN_REPARTITIONED") is None
    assert after.risk("JOIN_REPARTITIONED") is not None and after.data.append == "unknown"
    put_files(pipeline.source, [3, 4])
    with pytest.raises(StreamingQueryException, match="Invalid byte array backed UnsafeRow"):
        pipeline.run(own)


def refusal(pipeline: RepairPipeline, spark: SparkSession, script: Path, **constants: object) -> str:
    """Why the script refuses, in the dry run and with --execute, and nothing was changed."""
    before, outputs = fingerprint(pipeline.place), set()
    for execute in (False, True):
        done = run_in_session(script, spark, execute=execute, **constants)
        assert done.status == 4, done.output
        outputs.add(done.output.partition("Refused: ")[2])
    assert fingerprint(pipeline.place) == before
    (output,) = outputs
    return output


def test_what_spark_would_do_wrong_is_refused_before_anything_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", totals, "merge", mode="update", key="key", confs=ROCKSDB)
    put_files(pipeline.source, range(2))
    pipeline.run()
    script = pipeline.script("repartition", partitions="4")
    assert "2 shuffle partitions already" in refusal(pipeline, spark, script, PARTITIONS=2)
    assert "a whole number, 1 or more" in refusal(pipeline, spark, script, PARTITIONS=-1)
    assert "readers of a file sink fail" in refusal(pipeline, spark, script, SINK="file")
    pipeline.forget_commits([1])
    assert "the query has run since" in refusal(pipeline, spark, script)
    planned = refusal(pipeline, spark, script, LAST_COMMITTED_BATCH=0, PENDING_BATCH=1)
    assert "finish its planned batch" in planned


@pytest.mark.parametrize("kind", ["hdfs", "no keys"])
def test_state_that_would_not_be_found_is_refused(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", totals, "merge", mode="update", key="key", confs=ROCKSDB)
    put_files(pipeline.source, [0])
    pipeline.run()
    script = pipeline.script("repartition", partitions="4")
    shutil.rmtree(pipeline.checkpoint)
    if kind == "hdfs":
        pipeline.confs = {}
    else:
        pipeline.transform = lambda frame: frame.agg(count(lit(1)).alias("key"))
    pipeline.run()
    assert ("HDFSBackedStateStoreProvider" if kind == "hdfs" else "has no keys") in refusal(
        pipeline, spark, script
    )
