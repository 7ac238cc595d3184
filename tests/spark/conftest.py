"""What the tests on real Spark share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.oracle import Oracle


@pytest.fixture(scope="session")
def oracle(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    """Real checkpoints, made on first use, and restarts of damaged copies of them."""
    from tests.support.oracle import Oracle

    return Oracle(spark_session, tmp_path_factory.mktemp("oracle"))
