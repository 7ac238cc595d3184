"""Another version restarts the checkpoint: bases that the older Spark has written, restarted by the newest one.

`scripts/prove-forecast --spark 3.5.9` tries the other direction, and bases of more releases.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.analysis.forecast.versions import parse_version
from scripts.prove_forecast import written_elsewhere
from tests.spark.cases import EVERY_CASE, UPGRADES, Case
from tests.spark.test_oracle import trials
from tests.spark.trial import try_case
from tests.support.oracle import RECIPES, Oracle
from tests.support.spark import OLDER_SPARK, older_environment

SHORT = ("stateless", "windows", "windows_rocksdb", "dedup_many", "join")
WRITER = parse_version(OLDER_SPARK)
assert WRITER is not None
FROM_OLDER = [
    case for case in UPGRADES if case.written_by == OLDER_SPARK and RECIPES[case.base].needs.since <= WRITER
]
TRIED = [case for case in FROM_OLDER if os.environ.get(EVERY_CASE) or case.base in SHORT]


@pytest.fixture(scope="module")
def older(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    """Bases that the older Spark has written, restarted in this session."""
    assert older_environment().exists(), f"{older_environment()} is missing: scripts/setup tests makes it"
    place: Path = tmp_path_factory.mktemp("written")
    return Oracle(oracle.session, written_elsewhere(place, TRIED)[OLDER_SPARK])


@pytest.mark.spark
@pytest.mark.spark_3_5
@pytest.mark.parametrize("case", trials(TRIED))
def test_the_forecast_says_what_the_newest_spark_does_with_an_older_checkpoint(
    older: Oracle, case: Case
) -> None:
    trial = try_case(older, case)
    assert not trial.verdict.differences, trial.report


@pytest.mark.spark
@pytest.mark.spark_3_5
def test_a_join_of_3_5_is_joined_exactly_without_the_check_of_its_schema(older: Oracle) -> None:
    base = older.base("join")
    settings = {**base.recipe.restart_conf, "spark.sql.streaming.stateStore.stateSchemaCheck": "false"}
    fact = older.restart(base, older.copy(base), conf=settings)
    assert fact.outcome == "resume", fact.causes
    assert base.undisturbed
    assert fact.delivered == base.undisturbed
