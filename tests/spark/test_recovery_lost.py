"""A checkpoint that was deleted: the scripts made without it, run unmodified; the rows are compared."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from core.checkpoint.lost import lost_checkpoint
from core.judgement import judge
from core.recovery import Answers, OptionId, generate
from tests.spark.test_recovery_files import DISTINCT, PLAIN, Pipeline
from tests.support.recovery import SCHEMA, fingerprint, put_files, run_in_session
from tests.support.script_processes import run_script

pytestmark = pytest.mark.spark


def script(pipeline: Pipeline, option: OptionId, where: Path | None, **more: str) -> Path:
    answers: Mapping[str, str] = {
        **pipeline.answers(**more),
        "platform": "pyspark",
        "source.0.format": "json",
        "source.0.path": str(pipeline.source),
    }
    context = judge(lost_checkpoint(None if where is None else str(where))).recovery(Answers(answers))
    (block,) = generate(context, option)
    path = pipeline.place / block.file_name
    path.write_text(block.text, encoding="utf-8")
    return path


@pytest.fixture
def deleted(spark: SparkSession, tmp_path: Path) -> Pipeline:
    """Six files read, the rows in the output, then the checkpoint was deleted."""
    pipeline = Pipeline(spark, tmp_path / "job", PLAIN)
    put_files(pipeline.source, range(0, 6))
    pipeline.run()
    shutil.rmtree(pipeline.checkpoint)
    return pipeline


def test_a_full_refresh_gives_each_row_once(deleted: Pipeline, spark: SparkSession) -> None:
    put_files(deleted.source, range(6, 8))
    made = script(deleted, "full_refresh", deleted.checkpoint)
    before = fingerprint(deleted.source, deleted.output)
    refused = run_script(made)
    assert refused.status == 4 and "SINK_IS_OURS" in refused.output
    looked = run_in_session(made, spark, execute=False, SINK_IS_OURS=True)
    assert looked.status == 0 and fingerprint(deleted.source, deleted.output) == before
    running = run_in_session(made, spark, is_stopped=False, SINK_IS_OURS=True)
    assert running.status == 4 and "--query-is-stopped" in running.output
    assert fingerprint(deleted.source, deleted.output) == before
    done = run_in_session(made, spark, SINK_IS_OURS=True)
    assert done.status == 5, done.output  # whether the source still has everything nothing can tell
    wanted = sorted(spark.read.schema(SCHEMA).json(str(deleted.source)).select("id", "key").collect())
    assert deleted.rows() == [tuple(row) for row in wanted]
    again = run_in_session(made, spark, SINK_IS_OURS=True)
    assert again.status == 5 and deleted.rows() == [tuple(row) for row in wanted]
    put_files(deleted.source, range(8, 9))
    deleted.run()  # the query as it was, with the location that it had
    newest = sorted(spark.read.schema(SCHEMA).json(str(deleted.source)).select("id", "key").collect())
    assert deleted.rows() == [tuple(row) for row in newest]


def test_rows_that_the_source_lost_come_back_from_the_old_output(
    deleted: Pipeline, spark: SparkSession
) -> None:
    before = deleted.rows()
    sorted(deleted.source.glob("*.json"))[0].unlink()
    made = script(
        deleted, "backup_and_backfill", deleted.checkpoint, source_complete="no", backfill_keys="id"
    )
    done = run_in_session(made, spark, SINK_IS_OURS=True)
    assert done.status == 5, done.output
    beside = next(path for path in deleted.place.iterdir() if ".backfill" in path.name)
    assert deleted.rows(deleted.output, beside) == before


def test_a_stateful_query_is_refreshed_too(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, tmp_path / "job", DISTINCT)
    put_files(pipeline.source, range(0, 4))
    pipeline.run()
    keys = [key for _, key in pipeline.rows()]
    shutil.rmtree(pipeline.checkpoint)
    made = script(pipeline, "full_refresh", None, checkpoint_new=str(tmp_path / "new"), output_mode="append")
    done = run_in_session(made, spark, SINK_IS_OURS=True)
    assert done.status == 5, done.output
    assert sorted(str(key) for _, key in pipeline.rows()) == sorted(map(str, keys))


def test_without_its_place_the_script_asks_for_a_new_one(deleted: Pipeline) -> None:
    refused = run_script(script(deleted, "full_refresh", None))
    assert refused.status == 4 and "NEW_CHECKPOINT" in refused.output


def test_an_emptied_directory_is_refreshed_with_the_sources_that_are_named(
    deleted: Pipeline, spark: SparkSession
) -> None:
    before = deleted.rows()
    deleted.checkpoint.mkdir()
    made = deleted.script("full_refresh", **{"source.0.format": "json", "source.0.path": str(deleted.source)})
    done = run_in_session(made, spark, SINK_IS_OURS=True)
    assert done.status == 5, done.output
    assert deleted.rows() == before
