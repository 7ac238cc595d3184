"""A watermark that somebody has changed in the newest offset entry, started on Spark: what the rows show, what the
forecast said, and the copy that has it put back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.cli import main
from core.judgement import judge
from core.recovery import Answers, RecoveryContext, options
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
    return next(each.id for each in options(context_of(pipeline, "file")) if each.recommended)


def context_of(pipeline: RepairPipeline, sink: str) -> RecoveryContext:
    return judge(Checkpoint.open(str(pipeline.checkpoint))).recovery(Answers({"sink": sink}))


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


def test_a_later_watermark_is_seen_by_the_commit_of_its_own_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = made(spark, tmp_path / "p", "windows", "file")
    edited(pipeline, HOUR_MS)
    damage.remove(pipeline.checkpoint / f"commits/{damage.newest(pipeline.checkpoint) - 1}")
    assert risks(pipeline) == ["WATERMARK_RAISED"]
    done = run_in_session(pipeline.script("repair_files"), spark)
    assert done.status == 0, done.output
    put_files(pipeline.source, range(FILES, MORE))
    pipeline.run(next(pipeline.place.glob("checkpoint.repaired-after-batch-*[0-9]")))
    assert rows(pipeline, "windows") == TRUTH["windows"](MORE)


def test_the_rows_that_a_later_watermark_drops(spark: SparkSession, tmp_path: Path) -> None:
    """The same without the repair: the start works, and rows are gone."""
    pipeline = made(spark, tmp_path / "p", "windows", "file")
    edited(pipeline, HOUR_MS)
    put_files(pipeline.source, range(FILES, MORE + 5))
    pipeline.run()
    found, truth = rows(pipeline, "windows"), TRUTH["windows"](MORE + 5)
    assert set(truth) - set(found), "no row was dropped"


WINDOWS = """from pyspark.sql import functions as F

def transform(df):
    counted = df.withWatermark("at", "30 seconds").groupBy(F.window("at", "1 minute")).count()
    return counted.select(F.col("window.start").cast("string").alias("id"), "count")
"""


def test_a_rehearsal_counts_the_rows_that_are_dropped(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of the new input arrives, and no batch fails."""
    monkeypatch.setenv("CHECKPOINT_EXPLORER_SPARK_DIRECTORY", str(tmp_path))
    pipeline = made(spark, tmp_path / "p", "windows", "append")
    edited(pipeline, HOUR_MS)
    put_files(pipeline.source, range(FILES, MORE))
    query = tmp_path / "query.py"
    query.write_text(WINDOWS, encoding="utf-8")
    asked = ["--query", str(query), "--set", "sink=foreach_append", "--set", "output_mode=append"]
    asked += ["--set", "source.0.schema=id int, key int, at timestamp", "--set", "source.0.format=json"]
    asked += ["--set", "source.0.option.maxFilesPerTrigger=1", "--conf", "spark.sql.session.timeZone=UTC"]
    capsys.readouterr()
    assert main(["rehearse", str(pipeline.checkpoint), *asked, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    dropped = {row["batch"]: row["dropped_as_late"] for row in answer["state_rows"]}
    assert sum(batch["input_rows"] for batch in answer["batches"]) == 20
    assert list(dropped.values()) == [1, 1], "one window each, aggregated before Spark counts"
    assert main(["rehearse", str(pipeline.checkpoint), *asked]) == 0
    assert "below the watermark were dropped as late in batches" in capsys.readouterr().out


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
    option = next(
        each for each in options(context_of(pipeline, "foreach_append")) if each.id == "repair_files"
    )
    assert f"batch {newest}" in option.repeats, "it runs again, as it does without the repair"
    done = run_in_session(pipeline.script("repair_files"), spark)
    assert done.status == 5 and "has them twice then" in done.output, done.output
    new = next(pipeline.place.glob("checkpoint.repaired-after-batch-*[0-9]"))
    assert not forecast(Checkpoint.open(str(new))).is_data_risk
    put_files(pipeline.source, range(FILES, MORE))
    pipeline.run(new)
    assert set(rows(pipeline, "windows")) == set(TRUTH["windows"](MORE))
