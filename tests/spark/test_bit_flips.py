"""A flipped bit in a state file that the next start needs: the deep check misses none that a restart fails on or
hands out other rows for, and calls none blocking that restarts.

Here a few flips of stores whose files carry checksums; `scripts/prove-bit-flips` does all, in JVMs of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.bit_flips import STORES, Flipping, Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GUARDED = [store for store in STORES if store.is_guarded and not store.is_join]
EACH, SEED = 2, 7


@pytest.mark.spark
@pytest.mark.parametrize("store", GUARDED, ids=lambda store: store.name)
def test_a_flipped_bit_is_neither_missed_nor_a_false_alarm(
    store: Store, spark_session: SparkSession, tmp_path: Path
) -> None:
    spark_session.sparkContext.setLogLevel("OFF")
    try:
        results = list(Flipping(spark_session, tmp_path).results(store, EACH, SEED))
    finally:
        spark_session.sparkContext.setLogLevel("ERROR")
    wrong = [str(result) for result in results if result.is_missed or result.is_false_alarm]
    assert not wrong and len(results) == EACH, "\n".join(wrong)
