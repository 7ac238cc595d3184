"""A stream-stream join whose stores do not fit together, against what Spark does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from core.checkpoint import Checkpoint
from core.judgement import judge
from tests.support.recovery import put_files
from tests.support.repairs import RepairPipeline

pytestmark = pytest.mark.spark


def pairs_of(frame: DataFrame) -> DataFrame:
    """Every row with the one whose id is ten higher; no watermark, so nothing is ever dropped."""
    left, right = frame.selectExpr("id AS l"), frame.selectExpr("id AS r")
    return left.join(right, expr("l + 10 = r")).selectExpr("l AS id", "r AS other")


def test_a_join_without_a_watermark_runs_until_a_row_meets_one_that_is_missing(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", pairs_of, "append")
    put_files(pipeline.source, range(3))
    pipeline.run()
    for partition in (0, 1):
        store = pipeline.checkpoint / f"state/0/{partition}/left-keyWithIndexToValue"
        shutil.copy(store / "1.delta", store / "3.delta")
        (store / ".3.delta.crc").unlink()
    said = judge(Checkpoint.open(str(pipeline.checkpoint)), level="deep").forecast
    assert said.outcome == "resume" and said.risk("JOIN_STATE_INCONSISTENT") is not None, said.sentence
    put_files(pipeline.source, [9])  # no row of it has a partner
    pipeline.run()
    assert {row["id"] for row in pipeline.rows()} == set(range(20))
    put_files(pipeline.source, [3])
    with pytest.raises(StreamingQueryException, match="NULL_VALUE"):
        pipeline.run()
