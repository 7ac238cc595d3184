"""Queries with state of every kind, each with its settings, for tests and proofs of what their state files hold.

Run as a program in the environment of another Spark, it writes their checkpoints there:

    .venv-spark-3.5.9/bin/python -m tests.support.state_queries DIRECTORY NAME...
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core.analysis.forecast.versions import OLDEST, V40, V41, V42, Version
from tests.support.oracle import (
    CHANGELOG,
    FORMAT_2,
    NO_EMPTY_BATCHES,
    ROCKSDB,
    dedup,
    join,
    source,
    windows,
    write_file,
)
from tests.support.spark import start_session, stop_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCHES = 4
WRITTEN = "written"  # beside a checkpoint that is complete
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


def chained(spark: SparkSession, root: Path) -> DataFrame:
    """Two operators: a deduplication, and windows over what it lets through."""
    from pyspark.sql import functions as F  # noqa: N812

    frame = source(spark, root / "in").withWatermark("t", "5 minutes").dropDuplicates(["id", "t"])
    return frame.groupBy(F.window("t", "10 minutes"), "k").count()


def outer_join(spark: SparkSession, root: Path) -> DataFrame:
    """A left outer join: rows remember whether they were matched."""
    from pyspark.sql import functions as F  # noqa: N812

    left = source(spark, root / "in").withWatermark("t", "15 minutes").alias("l")
    right = source(spark, root / "in2").withWatermark("t", "15 minutes").alias("r")
    near = F.expr("l.k = r.k and r.id = l.id + 10 and r.t between l.t and l.t + interval 20 minutes")
    return left.join(right, near, "left_outer").select("l.id", "l.v", F.col("r.k").alias("rk"))


def _by_processor(frame: DataFrame, columns: list[str], name: str, time_mode: str) -> DataFrame:
    """transformWithState by rows, or by pandas where Spark has it by pandas alone (4.0)."""
    from tests.support import state_processor

    grouped = frame.groupBy(*columns)
    by_rows = getattr(grouped, "transformWithState", None)
    processor = getattr(state_processor, name if by_rows is not None else f"{name}ByPandas")()
    grouped_by = by_rows if by_rows is not None else grouped.transformWithStateInPandas
    return grouped_by(processor, "k string, n long", "Update", time_mode)


def every_kind(spark: SparkSession, root: Path) -> DataFrame:
    """transformWithState with a variable of each kind, some with a time to live, and timers by the clock."""
    return _by_processor(source(spark, root / "in"), ["k"], "EveryKind", "ProcessingTime")


def event_timers(spark: SparkSession, root: Path) -> DataFrame:
    """transformWithState with timers by event time, and keys of two columns."""
    frame = source(spark, root / "in").withWatermark("t", "5 minutes")
    return _by_processor(frame, ["k", "v"], "EventTimers", "EventTime")


def before_change(spark: SparkSession, root: Path) -> DataFrame:
    """transformWithState before the schemas of its variables change."""
    return _by_processor(source(spark, root / "in"), ["id"], "Before", "None")


def after_change(spark: SparkSession, root: Path) -> DataFrame:
    """... and after."""
    return _by_processor(source(spark, root / "in"), ["id"], "After", "None")


class StateQuery(NamedTuple):
    """A query, its settings, so many files for it (one per batch), and the query that it is changed to before
    it reads as many files again."""

    build: Build
    conf: dict[str, str]
    files: int = BATCHES
    then: Build | None = None


def _codec(name: str) -> dict[str, str]:
    return {CODEC: name}


AVRO = {"spark.sql.streaming.stateStore.encodingFormat": "avro"}
SST_COMPRESSION = "spark.sql.streaming.stateStore.rocksdb.compression"
# Full files come early and old ones go: what is kept begins with one.
SHORT = {
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    "spark.sql.streaming.stateStore.maintenanceInterval": "50ms",
}
# Processing time goes on, and so would such a query.
TRANSFORM = {**CHANGELOG, **NO_EMPTY_BATCHES}

QUERIES: dict[str, StateQuery] = {
    "windows-hdfs": StateQuery(windows, {}),
    "windows-hdfs-zstd-row-checksums": StateQuery(windows, {CODEC: "zstd", **ROW_CHECKSUMS}),
    "windows-rocksdb": StateQuery(windows, ROCKSDB),
    "windows-changelog-snappy-row-checksums": StateQuery(
        windows, {**CHANGELOG, CODEC: "snappy", **ROW_CHECKSUMS}
    ),
    "windows-format-2": StateQuery(windows, FORMAT_2),
    "nested-hdfs": StateQuery(nested, {}),
    "nested-rocksdb": StateQuery(nested, ROCKSDB),
    "all-types-rocksdb": StateQuery(all_types, ROCKSDB),
    "dedup": StateQuery(dedup, CHANGELOG),
    "within-watermark": StateQuery(within_watermark, ROCKSDB),
    "sessions-hdfs": StateQuery(sessions, {}),
    "sessions-rocksdb": StateQuery(sessions, ROCKSDB),
    "sessions-changelog": StateQuery(sessions, CHANGELOG),
    "limit": StateQuery(limited, {}),
    "group-state": StateQuery(group_state, {}),
    "join-2-hdfs": StateQuery(join, {}),
    "join-2-rocksdb": StateQuery(join, {**ROCKSDB, JOIN_FORMAT: "2"}),
    "join-3": StateQuery(join, {**ROCKSDB, JOIN_FORMAT: "3"}),
    "join-4": StateQuery(join, {**ROCKSDB, JOIN_FORMAT: "4"}),
    "join-4-row-checksums": StateQuery(join, {**ROCKSDB, JOIN_FORMAT: "4", **ROW_CHECKSUMS}),
}
"""Those that the tests write."""

MORE: dict[str, StateQuery] = {
    "windows-hdfs-zstd": StateQuery(windows, _codec("zstd")),
    "windows-hdfs-snappy": StateQuery(windows, _codec("snappy")),
    "windows-hdfs-short": StateQuery(windows, SHORT, 9),
    "windows-changelog": StateQuery(windows, CHANGELOG),
    "windows-changelog-zstd": StateQuery(windows, {**CHANGELOG, **_codec("zstd")}),
    "windows-changelog-snappy": StateQuery(windows, {**CHANGELOG, **_codec("snappy")}),
    "windows-changelog-short": StateQuery(windows, {**CHANGELOG, **SHORT}, 9),
    "windows-rocksdb-short": StateQuery(windows, {**ROCKSDB, **SHORT}, 9),
    "windows-rocksdb-row-checksums": StateQuery(windows, {**ROCKSDB, **ROW_CHECKSUMS}),
    "windows-format-2-zstd": StateQuery(windows, {**FORMAT_2, **_codec("zstd")}),
    "windows-format-2-snappy": StateQuery(windows, {**FORMAT_2, **_codec("snappy")}),
    "windows-format-2-short": StateQuery(windows, {**FORMAT_2, **SHORT}, 9),
    "nested-changelog-zstd": StateQuery(nested, {**CHANGELOG, **_codec("zstd")}),
    "nested-format-2": StateQuery(nested, FORMAT_2),
    "all-types-hdfs": StateQuery(all_types, {}),
    "all-types-sst-snappy": StateQuery(all_types, {**ROCKSDB, SST_COMPRESSION: "snappy"}),
    "all-types-sst-zstd": StateQuery(all_types, {**ROCKSDB, SST_COMPRESSION: "zstd"}),
    "dedup-hdfs": StateQuery(dedup, {}),
    "dedup-rocksdb": StateQuery(dedup, ROCKSDB),
    "dedup-format-2": StateQuery(dedup, FORMAT_2),
    "within-watermark-hdfs": StateQuery(within_watermark, {}),
    "within-watermark-changelog": StateQuery(within_watermark, CHANGELOG),
    "within-watermark-format-2": StateQuery(within_watermark, FORMAT_2),
    "sessions-format-2": StateQuery(sessions, FORMAT_2),
    "sessions-changelog-short": StateQuery(sessions, {**CHANGELOG, **SHORT}, 9),
    "limit-changelog": StateQuery(limited, CHANGELOG),
    "group-state-rocksdb": StateQuery(group_state, ROCKSDB),
    "group-state-changelog": StateQuery(group_state, CHANGELOG),
    "chained-hdfs": StateQuery(chained, {}),
    "chained-changelog": StateQuery(chained, CHANGELOG),
    "join-2-changelog": StateQuery(join, {**CHANGELOG, JOIN_FORMAT: "2"}),
    "join-2-format-2": StateQuery(join, {**FORMAT_2, JOIN_FORMAT: "2"}),
    "join-2-outer": StateQuery(outer_join, {}),
    "join-3-changelog-outer": StateQuery(outer_join, {**CHANGELOG, JOIN_FORMAT: "3"}),
    "join-3-format-2": StateQuery(join, {**FORMAT_2, JOIN_FORMAT: "3"}),
    "join-4-changelog": StateQuery(join, {**CHANGELOG, JOIN_FORMAT: "4", **SHORT}, 9),
    "join-4-outer": StateQuery(outer_join, {**ROCKSDB, JOIN_FORMAT: "4"}),
    "join-4-format-2": StateQuery(join, {**FORMAT_2, JOIN_FORMAT: "4", **SHORT}),
    "transform-zips": StateQuery(every_kind, {**ROCKSDB, **NO_EMPTY_BATCHES}),
    "transform-changelog": StateQuery(every_kind, {**TRANSFORM, **SHORT}, 9),
    "transform-changelog-zstd": StateQuery(every_kind, {**TRANSFORM, **SHORT, **_codec("zstd")}),
    "transform-format-2": StateQuery(every_kind, {**FORMAT_2, **NO_EMPTY_BATCHES, **SHORT}),
    "transform-avro": StateQuery(every_kind, {**TRANSFORM, **SHORT, **AVRO}),
    "transform-avro-zips": StateQuery(every_kind, {**ROCKSDB, **NO_EMPTY_BATCHES, **AVRO}),
    "transform-avro-format-2": StateQuery(every_kind, {**FORMAT_2, **NO_EMPTY_BATCHES, **SHORT, **AVRO}),
    "transform-row-checksums": StateQuery(every_kind, {**TRANSFORM, **SHORT, **ROW_CHECKSUMS}),
    "transform-avro-row-checksums": StateQuery(every_kind, {**TRANSFORM, **SHORT, **AVRO, **ROW_CHECKSUMS}),
    "timers": StateQuery(event_timers, {**TRANSFORM, **SHORT}),
    "timers-avro": StateQuery(event_timers, {**TRANSFORM, **SHORT, **AVRO}),
    "changed-avro": StateQuery(before_change, {**TRANSFORM, **SHORT, **AVRO}, then=after_change),
    "changed-avro-zips": StateQuery(
        before_change, {**ROCKSDB, **NO_EMPTY_BATCHES, **AVRO}, then=after_change
    ),
}
"""Those that `scripts/prove-state-rows` writes beside them."""

EVERY = QUERIES | MORE

OF_OPERATORS: dict[Build, str] = {
    windows: "aggregation, windows",
    nested: "aggregation",
    all_types: "deduplication, a column of each type",
    dedup: "deduplication",
    within_watermark: "deduplication within a watermark",
    sessions: "session windows",
    limited: "limit",
    group_state: "applyInPandasWithState",
    chained: "deduplication, then windows",
    join: "inner join",
    outer_join: "left outer join",
    every_kind: "transformWithState: values, lists, maps, time to live, timers",
    event_timers: "transformWithState: values, timers by event time",
    before_change: "transformWithState: values, lists, maps with changed schemas",
}
"""What the queries keep state for."""


def since(query: StateQuery) -> Version:
    """The first Spark that can run a query with its settings."""
    build, conf = query.build, query.conf
    if conf.get(JOIN_FORMAT) in ("3", "4"):
        return V41 if conf[JOIN_FORMAT] == "3" else V42
    if ROW_CHECKSUMS.items() <= conf.items():
        return V42
    has_new_state = build in (every_kind, event_timers, before_change)
    return V40 if has_new_state or FORMAT_2.items() <= conf.items() else OLDEST


def write(session: SparkSession, name: str, place: Path) -> Path:
    """Runs a query of EVERY over files of two directories below ``place``; its checkpoint."""
    query = EVERY[name]
    for key, value in query.conf.items():
        session.conf.set(key, value)
    root = place / "ck"
    for first, build in enumerate(filter(None, (query.build, query.then))):
        for number in range(first * query.files, (first + 1) * query.files):
            for directory in ("in", "in2"):
                write_file(place / directory, number)
        frame = build(session, place)
        if build in (nested, every_kind, event_timers, before_change, after_change):
            writer = frame.writeStream.format("noop").outputMode("update").trigger(availableNow=True)
            writer.option("checkpointLocation", str(root)).start().awaitTermination()
        else:
            run(session, frame, root)
    return root


def own_session(session: SparkSession) -> SparkSession:
    """The same JVM with settings of its own, for plans that run once, and batches that follow each other at
    once."""
    own = session.newSession()
    own.conf.set("spark.sql.codegen.wholeStage", "false")
    own.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    own.conf.set("spark.sql.adaptive.enabled", "false")
    own.conf.set("spark.sql.streaming.pollingDelay", "1ms")
    own.conf.set("spark.sql.shuffle.partitions", session.conf.get("spark.sql.shuffle.partitions") or "")
    return own


def main(directory: Path, names: list[str]) -> None:
    """Writes the checkpoints, each below its name, with settings of its own; prints the version of Spark."""
    session = start_session("state-queries", scratch=directory / "scratch")
    try:
        print(session.version)
        for name in names:
            write(own_session(session), name, directory / name)
            (directory / name / WRITTEN).touch()
    finally:
        stop_session(session)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
