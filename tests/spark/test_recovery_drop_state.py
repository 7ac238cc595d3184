"""The option drop_state, run unmodified on Spark: the changed query resumes, and the rows are compared with the truth."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.utils import StreamingQueryException

from core.checkpoint import Checkpoint
from core.recovery import Answers, options, read_recovery_context
from tests.spark.cases import LONG
from tests.support.recovery import fingerprint, killed_at, put_files, run_in_session
from tests.support.repairs import RepairPipeline, Sink
from tests.support.script_processes import run_script

pytestmark = pytest.mark.spark


def distinct(frame: DataFrame) -> DataFrame:
    return frame.dropDuplicates(["id"]).select("id", "key")


def plain(frame: DataFrame) -> DataFrame:
    return frame.select("id", "key")


def removed(
    spark: SparkSession, place: Path, sink: Sink, confs: dict[str, str] | None = None
) -> RepairPipeline:
    """Three batches of a deduplication; it was then removed, and the failed start left a planned batch."""
    pipeline = RepairPipeline(spark, place, distinct, sink, confs=confs)
    put_files(pipeline.source, range(3))
    pipeline.run()
    pipeline.transform = plain
    put_files(pipeline.source, [3])
    with pytest.raises(StreamingQueryException):
        pipeline.run()
    assert Checkpoint.open(str(pipeline.checkpoint)).pending_batch == 3
    return pipeline


def new_of(pipeline: RepairPipeline) -> Path:
    return Path(f"{pipeline.checkpoint}.without-state-after-batch-2")


def ids(pipeline: RepairPipeline) -> list[object]:
    return sorted(row["id"] for row in pipeline.rows())  # type: ignore[type-var]


def test_a_removed_deduplication_resumes_with_every_row_once_in_a_file_sink(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = removed(spark, tmp_path / "p", "file")
    script = pipeline.script("drop_state", stateful="removed")
    dying = killed_at(script, "stream.close()")  # while it writes its record, which comes first
    assert run_script(dying, "--execute", "--query-is-stopped").status == -9
    dying.unlink()
    before = fingerprint(pipeline.place)
    dry = run_in_session(script, spark, execute=False)
    assert dry.status == 0, dry.output
    assert fingerprint(pipeline.place) == before, "the dry run wrote"

    done = run_script(script, "--execute", "--query-is-stopped")
    assert done.status == 0, done.output
    again = run_in_session(script, spark)
    assert again.status == 0, again.output
    kept = {path: value for path, value in before.items() if path.startswith(f"{pipeline.checkpoint}/")}
    assert fingerprint(pipeline.checkpoint) == kept, "the old checkpoint was changed"

    put_files(pipeline.source, [4])
    pipeline.run(new_of(pipeline))
    assert ids(pipeline) == list(range(50))
    late = run_in_session(script, spark)
    assert late.status == 4 and "the query has run with it since (batch 4)" in late.output, late.output


def test_a_removed_deduplication_in_rocksdb_resumes_with_a_sink_that_appends(
    spark: SparkSession, tmp_path: Path
) -> None:
    confs = {
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        )
    }
    pipeline = removed(spark, tmp_path / "p", "append", confs)
    done = run_in_session(pipeline.script("drop_state", stateful="removed"), spark)
    assert done.status == 0, done.output
    put_files(pipeline.source, [4])
    pipeline.run(new_of(pipeline))
    assert ids(pipeline) == list(range(50))


@LONG
def test_a_copy_that_was_cut_off_is_made_again_and_a_changed_one_is_found(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = removed(spark, tmp_path / "p", "append")
    script = pipeline.script("drop_state", stateful="removed")
    dying = killed_at(script, "copy.check_sink()")
    assert run_script(dying, "--execute", "--query-is-stopped").status == -9
    assert not new_of(pipeline).exists()

    done = run_in_session(script, spark)
    assert done.status == 0, done.output
    assert not (new_of(pipeline) / "state").exists()
    # A store that renames file by file was cut off: the rest comes from the old checkpoint.
    (new_of(pipeline) / "offsets" / "1").unlink()
    (new_of(pipeline) / "offsets" / ".1.crc").unlink()
    assert run_in_session(script, spark).status == 0
    (new_of(pipeline) / "offsets" / "1").write_text("v1\n{}\n{}", encoding="utf-8")
    wrong = run_in_session(script, spark)
    assert wrong.status == 3 and "1 files of the new checkpoint differ" in wrong.output, wrong.output


def test_an_output_of_another_query_or_one_that_was_restored_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = removed(spark, tmp_path / "p", "file")
    for entry in pipeline.output.glob("_spark_metadata/*2*"):
        entry.unlink()
    before = fingerprint(pipeline.place)
    script = pipeline.script("drop_state", stateful="removed")
    for execute in (False, True):
        done = run_in_session(script, spark, execute=execute)
        assert (done.status, "it was restored" in done.output) == (4, True), done.output
    script.unlink()
    assert fingerprint(pipeline.place) == before


def test_it_is_recommended_where_nothing_is_lost_and_refused_while_state_is_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    ck = Checkpoint.open(str(removed(spark, tmp_path / "p", "append").checkpoint))
    for stateful, expected in (("removed", True), ("changed", False), ("unchanged", False)):
        context = read_recovery_context(ck, Answers({"sink": "foreach_append", "stateful": stateful}))
        option = next(each for each in options(context) if each.id == "drop_state")
        assert (option.possible, option.recommended) == (expected, expected)
    assert "stateful=removed" in option.why
