"""Every case of the oracle, by what is damaged, and those that a plain run takes."""

import os
from collections.abc import Sequence

import pytest

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
EVERY_CASE = "CHECKPOINT_EXPLORER_EVERY_CASE"
"""Set, a run takes all cases of a table whose plain run takes a part."""


def each_damage_once(cases: Sequence[Case]) -> list[Case]:
    """Each damage on one of its bases, the bases taking turns; every base without damage; all that a fact row
    is about."""
    bases: dict[str, list[Case]] = {}
    for case in cases:
        bases.setdefault(case.name, []).append(case)
    taken, turn = [], 0
    for name, same in bases.items():
        if name == "clean":
            taken += same
            continue
        taken.append(same[turn % len(same)])
        turn += len(same) > 1
    rows = {row for case in taken for row in case.rows}
    for case in cases:
        if not rows.issuperset(case.rows):
            taken.append(case)
            rows.update(case.rows)
    return sorted(taken, key=cases.index)


LONG = pytest.mark.skipif(
    not os.environ.get(EVERY_CASE), reason=f"long, and a script proves it too: {EVERY_CASE}=1 runs it"
)
"""For a test that a plain run leaves out."""
BEFORE_RELEASE = pytest.mark.skipif(
    not os.environ.get(EVERY_CASE), reason=f"long, and much of it is in others: {EVERY_CASE}=1 runs it"
)
"""For a test that a plain run leaves out and no script repeats."""

TRIED: list[Case] = CASES if os.environ.get(EVERY_CASE) else each_damage_once(CASES)
__all__ = ["BEFORE_RELEASE", "CASES", "EVERY_CASE", "LONG", "TRIED", "UPGRADES", "Case"]
