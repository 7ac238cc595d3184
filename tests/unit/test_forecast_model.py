"""What a forecast says about the rows: the worst effect, and whether it will come or can."""

from __future__ import annotations

import itertools

import pytest

from core.analysis.forecast.model import (
    DUPLICATES,
    EXACT,
    LOSS,
    RUN_AGAIN,
    SINK_KINDS,
    UNKNOWN,
    DataEffect,
    Risk,
)

EFFECTS = [EXACT, DUPLICATES, DUPLICATES.may(), LOSS, LOSS.may(), UNKNOWN]


def test_exact_is_always_sure_and_unknown_never() -> None:
    assert EXACT.may() == EXACT
    assert all(EXACT.is_sure(kind) for kind in SINK_KINDS)
    assert not any(UNKNOWN.is_sure(kind) for kind in SINK_KINDS)


def test_a_batch_that_runs_again_may_repeat_rows_in_a_sink_that_appends() -> None:
    assert (RUN_AGAIN.append, RUN_AGAIN.is_sure("append")) == ("duplicates", False)
    assert (RUN_AGAIN.overwrite, RUN_AGAIN.is_sure("overwrite")) == ("exact", True)


@pytest.mark.parametrize(
    ("one", "other", "effect", "is_sure"),
    [
        (LOSS, DUPLICATES, "loss", True),
        (LOSS.may(), DUPLICATES, "loss", False),
        (LOSS.may(), LOSS, "loss", True),
        (DUPLICATES.may(), DUPLICATES.may(), "duplicates", False),
        (DUPLICATES.may(), EXACT, "duplicates", False),
        (LOSS, UNKNOWN, "loss", True),
        (DUPLICATES, UNKNOWN, "unknown", False),  # what is unknown may be a loss
        (DUPLICATES.may(), UNKNOWN, "unknown", False),
        (UNKNOWN, EXACT, "unknown", False),
    ],
)
def test_two_effects_together(one: DataEffect, other: DataEffect, effect: str, is_sure: bool) -> None:
    both = one.plus(other)
    assert (both.append, both.is_sure("append")) == (effect, is_sure)
    assert other.plus(one) == both


def test_the_order_of_several_effects_does_not_matter() -> None:
    for effects in itertools.product(EFFECTS, repeat=3):
        sums = {_sum(order) for order in itertools.permutations(effects)}
        assert len(sums) == 1, effects


def _sum(effects: tuple[DataEffect, ...]) -> DataEffect:
    total = EXACT
    for effect in effects:
        total = total.plus(effect)
    return total


def test_an_effect_can_be_open_at_one_kind_of_sink_only() -> None:
    effect = LOSS.may(("append",))
    assert [effect.is_sure(kind) for kind in SINK_KINDS] == [False, True, True]


def test_a_risk_that_is_not_certain_says_what_can_come() -> None:
    assert Risk("SINK_CHANGED", "", (), DataEffect(skip="loss"), "inferred").data.is_sure("skip") is False
    assert Risk("SINK_BEHIND", "", (), DataEffect(skip="loss")).data.is_sure("skip") is True
