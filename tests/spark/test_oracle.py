"""Forecast against fact: damage a real checkpoint, forecast, restart the same query on real Spark, compare.

The Spark is the one that is installed here, and the forecast is made with its rules. A plain run takes each
damage on one base. `scripts/test --spark 3.5.9` runs all cases under 3.5, `scripts/prove-forecast` all of them
with more random incidents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.spark.cases import TRIED, Case
from tests.spark.known import BY_CHANCE, KNOWN_WRONG
from tests.spark.trial import try_case, try_incident
from tests.support.incidents import Incident, incidents
from tests.support.oracle import ASKED, Oracle

SEED, FIRST = 1, 4  # `scripts/prove-forecast` tries more of them


RANDOM = incidents(SEED, FIRST)


def trials(named: Sequence[Any]) -> list[Any]:
    """Parameters of pytest; what is known to be wrong must be wrong."""
    return [
        pytest.param(
            item,
            id=item.id,
            marks=[
                pytest.mark.xfail(
                    strict=ASKED is None and item.id not in BY_CHANCE, reason=KNOWN_WRONG[item.id]
                )
            ]
            if item.id in KNOWN_WRONG
            else [],
        )
        for item in named
    ]


@pytest.mark.spark
@pytest.mark.parametrize("case", trials(TRIED))
def test_the_forecast_says_what_spark_does(oracle: Oracle, case: Case) -> None:
    if not case.needed.is_here:
        pytest.skip(case.needed.why_not)
    trial = try_case(oracle, case)
    assert not trial.verdict.differences, trial.report


@pytest.mark.spark
@pytest.mark.parametrize("incident", trials(RANDOM))
def test_the_forecast_says_what_spark_does_after_a_random_incident(
    oracle: Oracle, incident: Incident
) -> None:
    trial = try_incident(oracle, incident)
    assert not trial.verdict.differences, trial.report
