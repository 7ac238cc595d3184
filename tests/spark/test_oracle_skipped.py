"""Forecast against fact where the sink is asked and has the pending batch: nothing of it is read, and what its
state or its input lacks is met by the batch after it, or never.

A plain run takes every second case of what state files and settings do; `scripts/prove-forecast` takes every
case.
"""

from __future__ import annotations

import os

import pytest

from tests.spark.cases import EVERY_CASE, TRIED, Case
from tests.spark.known import BY_CHANCE, KNOWN_WRONG, KNOWN_WRONG_SKIPPED
from tests.spark.skipped import fits, try_skipped
from tests.support.oracle import Oracle

KINDS = ("state folders", "state files", "recorded settings", "state format 2")
OF_STATE = [case for case in TRIED if fits(case) and case.kind in KINDS][::2]
CHOSEN = [case for case in TRIED if fits(case)] if EVERY_CASE in os.environ else OF_STATE


@pytest.mark.spark
@pytest.mark.parametrize("case", CHOSEN, ids=[case.id for case in CHOSEN])
def test_the_forecast_says_what_spark_does_with_a_batch_that_the_sink_has(oracle: Oracle, case: Case) -> None:
    if not case.needed.is_here:
        pytest.skip(case.needed.why_not)
    trial = try_skipped(oracle, case)
    if trial is None:
        pytest.skip("no batch is pending that the sink has")
    is_known = case.id in ({*KNOWN_WRONG} - BY_CHANCE) | {*KNOWN_WRONG_SKIPPED}
    assert bool(trial.verdict.differences) == is_known, trial.report
