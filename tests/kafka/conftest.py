"""What the tests with a real broker share: the oracle, a scene per case, and a properties file for the
broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kafka.scene import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from core.connectors.kafka.properties import KafkaProperties
    from tests.support.kafka import Broker
    from tests.support.oracle import Oracle


@pytest.fixture(scope="session")
def kafka_oracle(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    """Starts queries on checkpoints and tells what Spark did."""
    from tests.support.oracle import Oracle

    return Oracle(spark_session, tmp_path_factory.mktemp("kafka-oracle"))


@pytest.fixture(scope="session")
def stage(kafka_oracle: Oracle, kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A real checkpoint of two batches, and scenes on topics of their own that begin with it."""
    return Stage(kafka_oracle, kafka, tmp_path_factory.mktemp("stage"))


@pytest.fixture(scope="session")
def properties_file(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A librdkafka properties file for the broker."""
    path = tmp_path_factory.mktemp("properties") / "broker.properties"
    path.write_text(f"bootstrap.servers={kafka.bootstrap}\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def properties(properties_file: Path) -> KafkaProperties:
    """The settings of the broker."""
    from core.connectors.kafka.properties import read_properties

    return read_properties(properties_file)
