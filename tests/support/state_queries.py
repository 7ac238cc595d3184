"""Queries with state of every kind, each with its settings, for tests of what their state files hold.

Run as a program in the environment of another Spark, it writes their checkpoints there:

    .venv-spark-3.5.9/bin/python -m tests.support.state_queries DIRECTORY NAME...
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.oracle import CHANGELOG, FORMAT_2, ROCKSDB, dedup, join, source, windows, write_file
from tests.support.spark import start_session, stop_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCHES = 4
CODEC = "spark.sql.streaming.stateStore.compression.codec"
ROW_CHECKSUMS = {"spark.sql.streaming.stateStore.rowChecksum.enabled": "true"}
JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
Build = Callable[["SparkSession", Path], "DataFrame"]


def run(spark: SparkSession, frame: DataFrame, checkpoint: Path) -> None:
    query = (
        frame.writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def all_types(session: SparkSession, root: Path) -> DataFrame:
    """Deduplication by a column of each type, with nulls, in one file."""
    directory = root / "typed"
    directory.mkdir()
    rows: list[dict[str, Any]] = []
    for i in range(300):
        row = {
            "o": i % 2 == 0,
            "y": i % 256 - 128,
            "h": i * 211 % 65_536 - 32_768,
            "i": (i * 2_654_435_761) % 2**32 - 2**31,
            "l": (i * 6_364_136_223_846_793_005) % 2**64 - 2**63,
            "d": f"{1900 + i % 200}-01-02",
            "t": f"20{i % 60 + 10}-03-04T05:06:07.{i:06d}Z",
            "x": "häß€" * (i % 7) + str(i),
            "z": base64.b64encode(bytes(range(i % 23))).decode(),
            "w": {"a": i, "b": None if i % 3 else f"b{i}"},
        }
        rows.append({key: value for k, (key, value) in enumerate(row.items()) if (i + k) % 11})
    (directory / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    schema = (
        "o boolean, y byte, h short, i int, l long, d date, t timestamp, x string, z binary, w struct<a:"
        " long, b: string>"
    )
    return session.readStream.schema(schema).json(str(directory)).dropDuplicates([*"oyhildtxzw"])


def group_state(session: SparkSession, root: Path) -> DataFrame:
    """A Python state function by key."""
    from pyspark.sql.streaming.state import GroupStateTimeout

    def remember(key: Any, frames: Any, state: Any) -> Any:
        state.update((sum(len(frame) for frame in frames),))
        return iter(())

    grouped = source(session, root / "in").groupBy("k", "id")
    return grouped.applyInPandasWithState(
        remember, "k string", "n long", "append", GroupStateTimeout.NoTimeout
    )


def within_watermark(session: SparkSession, root: Path) -> DataFrame:
    """Deduplication that forgets."""
    return source(session, root / "in").withWatermark("t", "1 hour").dropDuplicatesWithinWatermark(["k", "v"])


def nested(spark: SparkSession, root: Path) -> DataFrame:
    """An aggregation whose values are of many types: decimals, arrays, structs, dates, bytes, doubles."""
    from pyspark.sql import functions as F  # noqa: N812

    frame = source(spark, root / "in").groupBy("k", F.col("t").cast("date").alias("day"))
    return frame.agg(
        F.sum(F.col("v").cast("decimal(30,4)")).alias("exact"),
        F.max(F.col("v").cast("decimal(9,3)")).alias("short"),
        F.avg("v").alias("mean"),
        F.max("t").alias("newest"),
        F.collect_list("id").alias("ids"),
        F.max(F.struct("t", "k")).alias("pair"),
        F.max(F.col("k").cast("binary")).alias("raw"),
        F.max(F.lit(None).cast("int")).alias("nothing"),
        F.max(F.col("v") < 3).alias("small"),
        F.max(F.col("v").cast("float") / 3).alias("third"),
    )


def sessions(spark: SparkSession, root: Path) -> DataFrame:
    """Session windows: keys with a prefix."""
    from pyspark.sql import functions as F  # noqa: N812

    frame = source(spark, root / "in").withWatermark("t", "5 minutes")
    return frame.groupBy("k", F.session_window("t", "25 minutes")).count()


def limited(spark: SparkSession, root: Path) -> DataFrame:
    """A global limit: one number."""
    return source(spark, root / "in").limit(1_000)


QUERIES: dict[str, tuple[Build, dict[str, str]]] = {
    "windows-hdfs": (windows, {}),
    "windows-hdfs-zstd-row-checksums": (windows, {CODEC: "zstd", **ROW_CHECKSUMS}),
    "windows-rocksdb": (windows, ROCKSDB),
    "windows-changelog-snappy-row-checksums": (windows, {**CHANGELOG, CODEC: "snappy", **ROW_CHECKSUMS}),
    "windows-format-2": (windows, FORMAT_2),
    "nested-hdfs": (nested, {}),
    "nested-rocksdb": (nested, ROCKSDB),
    "all-types-rocksdb": (all_types, ROCKSDB),
    "dedup": (dedup, CHANGELOG),
    "within-watermark": (within_watermark, ROCKSDB),
    "sessions-hdfs": (sessions, {}),
    "sessions-rocksdb": (sessions, ROCKSDB),
    "sessions-changelog": (sessions, CHANGELOG),
    "limit": (limited, {}),
    "group-state": (group_state, {}),
    "join-2-hdfs": (join, {}),
    "join-2-rocksdb": (join, {**ROCKSDB, JOIN_FORMAT: "2"}),
    "join-3": (join, {**ROCKSDB, JOIN_FORMAT: "3"}),
    "join-4": (join, {**ROCKSDB, JOIN_FORMAT: "4"}),
}


def write(session: SparkSession, name: str, place: Path) -> Path:
    """Runs a query of QUERIES over four files of two directories below ``place``; its checkpoint."""
    build, conf = QUERIES[name]
    for number in range(BATCHES):
        for directory in ("in", "in2"):
            write_file(place / directory, number)
    for key, value in conf.items():
        session.conf.set(key, value)
    root = place / "ck"
    frame = build(session, place)
    if build is nested:
        query = frame.writeStream.format("noop").outputMode("update").trigger(availableNow=True)
        query.option("checkpointLocation", str(root)).start().awaitTermination()
    else:
        run(session, frame, root)
    return root


def main(directory: Path, names: list[str]) -> None:
    """Writes the checkpoints, each below its name, with settings of its own; prints the version of Spark."""
    session = start_session("state-queries", scratch=directory / "scratch")
    try:
        print(session.version)
        for name in names:
            own = session.newSession()
            own.conf.set("spark.sql.streaming.pollingDelay", "1ms")
            own.conf.set("spark.sql.shuffle.partitions", session.conf.get("spark.sql.shuffle.partitions"))
            write(own, name, directory / name)
    finally:
        stop_session(session)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
