"""A selection of what scripts/prove-recommended takes, in the session of the tests; CHECKPOINT_EXPLORER_EVERY_CASE=1
takes twenty."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.cases import EVERY_CASE
from tests.support.recommended_proof import GOOD, HAPPENINGS, Incident, incidents, prove
from tests.support.recovery_proof import Here, Truths

pytestmark = pytest.mark.spark
SEED = 5
BY_NAME = {each.name: each for each in HAPPENINGS}
FEW = [Incident(BY_NAME["the offsets before the newest are gone"], "stateless", "file", "HDFS")]
TRIED = (
    [each for each in incidents(SEED, 30) if not each.cell.is_delta][:20]
    if os.environ.get(EVERY_CASE)
    else FEW
)


@pytest.fixture(scope="module")
def truths(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Truths:
    return Truths(Here(spark_session), tmp_path_factory.mktemp("truths"))


@pytest.mark.parametrize("incident", TRIED, ids=lambda incident: incident.id)
def test_the_recommended_option_brings_the_query_back_and_nothing_cheaper_would_have(
    incident: Incident, spark: SparkSession, truths: Truths, tmp_path: Path
) -> None:
    trial = prove(Here(spark), truths, tmp_path / "p", incident, SEED)
    assert trial.word in GOOD, (trial.word, trial.option, trial.cheaper, trial.note)
    assert trial.cheaper or trial.option == "restart"  # a plain start was tried
