"""The order of the key columns of dropDuplicates, as real Spark planned it: the columns as given, in 3.5.9, in
4.0.5."""

from __future__ import annotations

import pytest

from core.analysis.forecast.key_order import hashed_order
from core.analysis.forecast.versions import V35, V40, V42

PLANS = [
    ("k3 price country session f", "f price country session k3", "country session k3 f price"),
    (
        "page sku session k6 f amount k7 event_time qty c3 timestamp",
        "c3 sku timestamp f page k6 amount k7 event_time qty session",
        "timestamp k6 amount k7 event_time qty session c3 sku f page",
    ),
    (
        "name k6 y value city ts c0 k7 c3 zip b updated_at userId page",
        "city c3 name zip y page ts k6 k7 b c0 userId updated_at value",
        "city zip y page k7 b c0 userId updated_at value c3 name ts k6",
    ),
    (
        "amount c2 price k2 value k5 f Größe email h c0 timestamp b name",
        "name k2 k5 timestamp email f price c2 amount b c0 h value Größe",
        "k5 timestamp email c2 amount b c0 h value Größe name k2 f price",
    ),
    (
        "Straße city topic Größe sku session k7 name",
        "city name sku k7 Straße session topic Größe",
        "city session topic Größe name sku k7 Straße",
    ),
    (
        "k2 userId phone offset g kind c1 page event_time k3 e browser updated_at",
        "e k2 browser page c1 offset g event_time userId kind k3 updated_at phone",
        "e k2 browser page c1 offset g event_time updated_at phone userId kind k3",
    ),
    (
        "os d c4 amount page y k5 ts b c0",
        "c4 k5 y page ts os amount b c0 d",
        "c4 k5 y page ts os amount b c0 d",
    ),
    (
        "amount k7 c0 d orderLine qty country k6 device kind e os k5 event_time",
        "e k5 k6 os country amount k7 event_time qty c0 kind orderLine device d",
        "e k5 k6 os country amount k7 event_time qty c0 kind orderLine device d",
    ),
    (
        "k2 e country c5 page timestamp k6",
        "e k2 timestamp page k6 c5 country",
        "e k2 timestamp page k6 c5 country",
    ),
    (
        "amount c2 price k2 value k5 f Größe email h c0 timestamp b name",
        "name k2 k5 timestamp email f price c2 amount b c0 h value Größe",
        "k5 timestamp email c2 amount b c0 h value Größe name k2 f price",
    ),
]


@pytest.mark.parametrize(("given", "in_3_5", "in_4_0"), PLANS)
def test_the_order_is_that_of_the_plans_of_real_spark(given: str, in_3_5: str, in_4_0: str) -> None:
    assert hashed_order(given.split(), V35) == tuple(in_3_5.split())
    assert hashed_order(given.split(), V40) == tuple(in_4_0.split())
    assert hashed_order(sorted(given.split()), V42) == tuple(in_4_0.split())  # however they are given


def test_up_to_four_columns_keep_their_order() -> None:
    assert hashed_order(["d", "c", "b", "a"], V35) == hashed_order(["d", "c", "b", "a"], V40) == tuple("dcba")


def test_columns_of_the_same_hash_are_not_guessed() -> None:
    assert hashed_order(["Aa", "BB", "c", "d", "e"], V35) is None
