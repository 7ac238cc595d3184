"""Which cells of the recovery proof come first."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.recovery_cells import OPERATORS, Cell, cells
from tests.support.recovery_cover import ENOUGH, covered, next_cell, pairs
from tests.support.recovery_proof import Trial, Word

ALL = cells()


def taken(word: Callable[[Cell], Word], seed: int = 1) -> list[Trial]:
    """The trials until nothing is left to cover."""
    trials: list[Trial] = []
    last: Cell | None = None
    while (cell := next_cell(ALL, trials, seed, last)) is not None:
        trials.append(Trial(cell, word(cell), ""))
        last = cell
    return trials


def test_every_pair_comes_in_a_fraction_of_the_cells() -> None:
    trials = taken(lambda _: "exact")
    assert {pair for trial in trials for pair in pairs(trial.cell)} == {
        p for cell in ALL for p in pairs(cell)
    }
    assert all(run == every and not refused for run, refused, every in covered(ALL, trials).values())
    assert len(trials) < len(ALL) / 10
    assert len({trial.cell.id for trial in trials}) == len(trials)


def test_the_choice_is_the_same_for_the_same_seed() -> None:
    first, again, other = (
        [trial.cell.id for trial in taken(lambda _: "exact", seed)][:20] for seed in (1, 1, 2)
    )
    assert first == again != other


def test_a_pair_for_which_an_option_is_not_offered_is_tried_elsewhere_and_then_left_alone() -> None:
    trials = taken(lambda cell: "not offered" if cell.asked == "rewind" else "exact")
    counts = covered(ALL, trials)
    run, refused, every = counts["option × query"]
    assert (refused, run + refused) == (len(OPERATORS), every)
    tried = [trial for trial in trials if (trial.cell.asked, trial.cell.operator) == ("rewind", "windows")]
    assert len(tried) >= ENOUGH
    assert counts["query × sink"][0] == counts["query × sink"][2]


def test_what_could_not_be_made_is_not_covered() -> None:
    trial = Trial(ALL[0], "not made", "")
    assert all(run == 0 for run, _, _ in covered(ALL, [trial]).values())
