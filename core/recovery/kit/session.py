"""Spark, where the script reaches its JVM."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from core.recovery.kit.words import Refused

PARTITIONS_CONF = "spark.sql.shuffle.partitions"
PROVIDER_CONF = "spark.sql.streaming.stateStore.providerClass"
CONNECTORS = {
    "kafka": "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
}


def classic_session() -> Any:
    """A session with a JVM that this script reaches; refuses Spark Connect."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise Refused(f"PySpark is not installed here: {error}.") from error
    spark: Any = SparkSession.builder.appName("checkpoint-recovery").getOrCreate()
    try:
        spark.sparkContext.setLogLevel("ERROR")
        spark._jvm.java.lang.Thread.currentThread()
    except Exception as error:
        raise Refused(
            "This is a Spark Connect session (serverless or shared compute, or SPARK_REMOTE is set), which "
            "cannot list and copy files for this script. Start it on classic compute with a Spark of its own."
        ) from error
    spark.streams.active  # noqa: B018  (starts the coordinator of stores; Spark 4.2 reads no state without)
    return spark


def is_another_spark(version: str, at_least: str | None, at_most: str | None) -> bool:
    """Whether a Spark is older or newer than every feature version that may have written a checkpoint."""
    here = [int(number) for number in version.split(".")[:2]]
    low, high = (None if each is None else [int(n) for n in each.split(".")] for each in (at_least, at_most))
    return (low is not None and here < low) or (high is not None and here > high)


def check_connectors(spark: Any, kinds: Iterable[str | None]) -> None:
    """Refuses when this Spark lacks the connector of a source or of the sink."""
    for kind in sorted(kind for kind in kinds if kind in CONNECTORS):
        loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        try:
            spark._jvm.java.lang.Class.forName(CONNECTORS[kind], False, loader)
        except Exception as error:
            spark.stop()
            raise Refused(
                f"This Spark has no {kind} connector: start the script with spark-submit --packages (see the "
                "first lines of the script)."
            ) from error
