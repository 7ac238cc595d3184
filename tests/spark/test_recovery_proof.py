"""A selection of the cells of scripts/prove-recovery, in the session of the tests; CHECKPOINT_EXPLORER_EVERY_CASE=1
takes forty."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from scripts.prove_recovery import chosen
from tests.spark.cases import EVERY_CASE
from tests.support.recovery_cells import Cell, cells
from tests.support.recovery_proof import Here, Truths, prove

pytestmark = pytest.mark.spark
SEED = 7
FEW = [
    Cell("recommended", "windows", "file", "HDFS"),
]
TRIED = (
    chosen([cell for cell in cells() if not cell.is_delta], 40, SEED) if os.environ.get(EVERY_CASE) else FEW
)


@pytest.fixture(scope="module")
def truths(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Truths:
    return Truths(Here(spark_session), tmp_path_factory.mktemp("truths"))


@pytest.mark.parametrize("cell", TRIED, ids=lambda cell: cell.id)
def test_the_rows_are_right_or_as_stated_or_nothing_was_changed(
    cell: Cell, spark: SparkSession, truths: Truths, tmp_path: Path
) -> None:
    trial = prove(Here(spark), truths, tmp_path / "p", cell, SEED)
    assert trial.word != "WRONG", trial.note
    assert trial.word != "not offered" or cell not in FEW, trial.note
