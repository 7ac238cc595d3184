"""Rehearsals of damaged checkpoints and changed queries against the real restart of the same: outcome, batch, error
and rows are the same, and nothing of checkpoint and source differs. A run takes two of them;
CHECKPOINT_EXPLORER_EVERY_CASE=1 takes thirty. `scripts/prove-rehearse` has Kafka and Delta among its incidents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.cases import EVERY_CASE, Case
from tests.support.changed_queries import Changes
from tests.support.rehearsal_proof import CHANGED, DAMAGED, changed, damaged, prove

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.oracle import Oracle

EVERY = bool(os.environ.get(EVERY_CASE))
TRIED = DAMAGED[:: len(DAMAGED) // 25][:25] if EVERY else DAMAGED[3 :: len(DAMAGED) // 2][:2]


@pytest.mark.parametrize("case", TRIED, ids=lambda case: case.id)
def test_a_rehearsal_does_what_the_restart_does(oracle: Oracle, case: Case, tmp_path: Path) -> None:
    trial = prove(damaged(oracle, case, tmp_path / "made"), tmp_path / "rehearsed")
    assert trial.is_right, trial


if EVERY:

    @pytest.mark.parametrize("name", CHANGED)
    def test_a_changed_query_does_in_the_rehearsal_what_it_does_after_it(
        spark_session: SparkSession, name: str, tmp_path: Path
    ) -> None:
        changes = Changes(spark_session, tmp_path / "bases")
        trial = prove(changed(changes, name, tmp_path / "made"), tmp_path / "rehearsed")
        assert trial.is_right, trial
