"""One rule judges a Kafka position; screens, forecast, start positions, impact and generated code read its
value."""

from __future__ import annotations

from itertools import product

import pytest

from core.connectors.answers import BrokerPartition
from core.connectors.kafka.judgement import (
    judge_partition,
    judge_partitions,
    other_id,
    position_state,
    recreated,
)
from core.recovery.kit import kafka as kit
from tests.support.brokers import MINUTE, NOW, answered, at, topic


def test_generated_code_has_the_same_rule() -> None:
    numbers = (0, 3, 4, 5, 9)
    for position, earliest, latest in product((None, *numbers), numbers, numbers):
        if earliest <= latest:
            assert kit.position_state(position, earliest, latest) == position_state(
                position, earliest, latest
            )


@pytest.mark.parametrize(
    ("position", "state", "missing", "lost", "retained", "waiting", "lag"),
    [
        (10, "ok", None, 0, 6, 15, 15),
        (25, "ok", None, 0, 21, 0, 0),
        (4, "ok", None, 0, 0, 21, 21),
        (1, "behind_log_start", (1, 3), 3, 0, 21, 24),
        (30, "beyond_end", None, 0, 21, 0, -5),
        (None, "new", (0, 3), 0, 0, 21, 21),
    ],
)
def test_the_numbers_of_a_position_are_fields(
    position: int | None,
    state: str,
    missing: tuple[int, int] | None,
    lost: int,
    retained: int,
    waiting: int,
    lag: int,
) -> None:
    judged = judge_partition(answered({("orders", 0): at(4, 25, 10)}), "orders", 0, position)
    assert (judged.state, judged.missing, judged.lost) == (state, missing, lost)
    assert (judged.retained, judged.waiting, judged.lag) == (retained, waiting, lag)
    assert judged.starts_late is (position is None)


def test_of_a_planned_range_only_its_own_offsets_are_lost() -> None:
    answer = answered({("orders", 0): at(20, 25, 10)})
    inside = judge_partition(answer, "orders", 0, 10, planned=15)
    assert (inside.lost, inside.lost_of_plan, inside.ends_before_plan) == (10, 5, False)
    beyond = judge_partition(answer, "orders", 0, 10, planned=30)
    assert (beyond.lost_of_plan, beyond.ends_before_plan) == (10, True)


def test_a_partition_that_the_broker_does_not_describe_is_neither_gone_nor_judged() -> None:
    answer = answered(
        {("orders", 0): BrokerPartition(None, None, trouble="Leader not available")}, topic("orders", 0)
    )
    judged = judge_partition(answer, "orders", 0, 10)
    assert (judged.state, judged.bounds, judged.is_on_broker, judged.waiting) == ("unknown", None, True, None)
    assert judged.reason == "Leader not available"


def test_partitions_that_only_the_broker_has_are_judged_with_those_of_the_checkpoint() -> None:
    answer = answered({("orders", 0): at(0, 5, 3), ("orders", 1): at(2, 4, 2), ("other", 0): at(0, 1, 0)})
    judged = {each.name: each.state for each in judge_partitions(answer, {"orders": {0: 3, 7: 1}})}
    assert judged == {"orders-0": "ok", "orders-7": "deleted", "orders-1": "new"}


def test_what_shows_that_a_topic_was_recreated_is_a_value_with_its_numbers() -> None:
    short = answered({("orders", 0): at(0, 4, 10)})
    proof = recreated(short, "orders", {0: 10}, {}, None)
    assert proof is not None and (proof.shown_by, proof.partitions, proof.certainty) == (
        "ends_below",
        (0,),
        "certain",
    )
    young = answered({("orders", 0): at(0, 30, 10, first_ms=NOW - MINUTE)})
    proof = recreated(young, "orders", {0: 10}, {}, NOW - 10 * MINUTE)
    assert proof is not None and (proof.shown_by, proof.first_ms, proof.batch_ms) == (
        "younger",
        NOW - MINUTE,
        NOW - 10 * MINUTE,
    )
    assert proof.certainty == "inferred"
    for first_ms in (NOW - MINUTE, NOW - 20 * MINUTE):  # times that say nothing, or the contrary
        fewer = answered({("orders", 0): at(0, 8, 10, first_ms=first_ms)})
        proof = recreated(fewer, "orders", {0: 10, 1: 3}, {}, NOW - 10 * MINUTE)
        assert proof is not None and (proof.shown_by, proof.partitions, proof.certainty) == (
            "lacks",
            (1,),
            "certain",
        )
    assert recreated(answered({}, absent=("orders",)), "orders", {0: 10}, {}, None) is None
    assert recreated(young, "orders", {0: 10}, {}, NOW) is None and other_id(young, "orders") is None
