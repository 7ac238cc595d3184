"""A query that runs several batches a second, forecast and checked again and again while it runs: nothing
worse than a note. `scripts/prove-live` does it for ten minutes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.live import QUERIES, Live, look, newest, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKS = 200  # over both queries
BATCHES = 20  # so many batches at least run while it is checked


@pytest.mark.spark
@pytest.mark.parametrize("live", QUERIES, ids=[live.name for live in QUERIES])
def test_a_running_query_gives_nothing_worse_than_a_note(
    spark: SparkSession, tmp_path: Path, live: Live
) -> None:
    wrong: list[str] = []
    checks = 0
    with running(spark, live, tmp_path) as query:
        first = newest(tmp_path)
        while checks < CHECKS // 2 or newest(tmp_path) < first + BATCHES:
            wrong += look(tmp_path)
            checks += 1
            assert query.isActive, query.exception()
    assert wrong == []
