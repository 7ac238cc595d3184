"""A watermark that somebody has changed in the newest offset entry, started on Spark: what the rows show, what the
forecast said, and the copy that has it put back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.judgement import judge
from core.recovery import Answers, options
from tests.spark.test_recovery_repair_files import FILES, MORE, TRUTH, made, rows
from tests.support import damage
from tests.support.recovery import put_files, run_in_session
from tests.support.repairs import RepairPipeline

pytestmark = pytest.mark.spark
HOUR_MS = 3_600_000


def edited(pipeline: RepairPipeline, by_ms: int) -> None:
    """The newest offset entry with another watermark."""
    path = pipeline.checkpoint / f"offsets/{damage.newest(pipeline.checkpoint)}"
    text = path.read_text(encoding="utf-8")
    was = re.search(r'"batchWatermarkMs":(\d+)', text)
    assert was is not None
    damage.rewrite(path, text.replace(was[0], f'"batchWatermarkMs":{max(0, int(was[1]) + by_ms)}'))


def risks(pipeline: RepairPipeline) -> list[str]:
    answer = forecast(Checkpoint.open(str(pipeline.checkpoint)))
    assert answer.outcome in ("resume", "rerun")
    return [risk.id for risk in answer.risks]


def recommended(pipeline: RepairPipeline) -> str:
    context = judge(Checkpoint.open(str(pipeline.checkpoint))).recovery(Answers({"sink": "file"}))
    return next(each.id for each in options(context) if each.recommended)


def test_a_later_watermark_drops_rows_and_is_put_back(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = made(spark, tmp_path / "p", "windows", "file")
    assert risks(pipeline) == []
    edited(pipeline, HOUR_MS)
    assert risks(pipeline) == ["WATERMARK_RAISED"]
    assert recommended(pipeline) == "repair_files"
    done = run_in_session(pipeline.script("repair_files"), spark)
    assert done.status == 0 and "gets the watermark that commits/" in done.output, done.output
    new = next(pipeline.place.glob("checkpoint.repaired-after-batch-*[0-9]"))
    put_files(pipeline.source, range(FILES, MORE))
    pipeline.run(new)
    assert rows(pipeline, "windows") == TRUTH["windows"](MORE)


def test_the_rows_that_a_later_watermark_drops(spark: SparkSession, tmp_path: Path) -> None:
    """The same without the repair: the start works, and rows are gone."""
    pipeline = made(spark, tmp_path / "p", "windows", "file")
    edited(pipeline, HOUR_MS)
    put_files(pipeline.source, range(FILES, MORE + 5))
    pipeline.run()
    found, truth = rows(pipeline, "windows"), TRUTH["windows"](MORE + 5)
    assert set(truth) - set(found), "no row was dropped"


def test_a_lower_watermark_of_a_committed_batch_is_not_taken(spark: SparkSession, tmp_path: Path) -> None:
    """The commit of the batch has the later one, and a start takes that."""
    pipeline = made(spark, tmp_path / "p", "windows", "file")
    edited(pipeline, -HOUR_MS)
    assert risks(pipeline) == []
    assert recommended(pipeline) == "restart"
    put_files(pipeline.source, range(FILES, MORE))
    pipeline.run()
    assert rows(pipeline, "windows") == TRUTH["windows"](MORE)


def test_a_lower_watermark_of_a_planned_batch_is_put_back(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = made(spark, tmp_path / "p", "windows", "append")
    newest = damage.newest(pipeline.checkpoint)
    pipeline.forget_commits([newest])
    edited(pipeline, -60_000)
    assert risks(pipeline) == ["WATERMARK_WENT_BACK"]
    done = run_in_session(pipeline.script("repair_files"), spark)
    assert done.status == 0, done.output
    new = next(pipeline.place.glob("checkpoint.repaired-after-batch-*[0-9]"))
    assert not forecast(Checkpoint.open(str(new))).is_data_risk
    put_files(pipeline.source, range(FILES, MORE))
    pipeline.run(new)
    assert set(rows(pipeline, "windows")) == set(TRUTH["windows"](MORE))
