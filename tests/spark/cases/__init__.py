"""Every case of the oracle, by what is damaged."""

from tests.spark.cases import by_hand, changes, logs, sources, state, state_fit
from tests.spark.cases.changes import UPGRADES
from tests.spark.cases.model import Case

CASES: list[Case] = [
    *logs.CASES,
    *by_hand.CASES,
    *sources.CASES,
    *state.CASES,
    *state_fit.CASES,
    *changes.CASES,
]
__all__ = ["CASES", "UPGRADES", "Case"]
