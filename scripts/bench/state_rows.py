"""Compares reading state through Spark's reader with decoding the files, in one run: processor seconds.

    .venv/bin/python -m scripts.bench.state_rows [--keys 1000000] [--partitions 200] [--rounds 3]
        [--state DIR] [--write]

Real Spark writes the state first (dropDuplicates over as many keys, RocksDB and HDFS-backed). Then both ways
take turns, Spark in a warm session and ours in this process without any cache; one question to each before
the first round is not counted. Processor seconds are those of the Java process and of this one; they bear a
busy machine, walls do not. Both ways have to give the same number, or the comparison ends with an error.
Quote the LOWEST ratio. Beside them what nobody can do without, by system calls and C libraries alone: the
directories of the asked partitions are listed, their files read, and what is packed is unpacked and compared
with its checksums.
``--state`` keeps what was written for the next run. ``--write`` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cramjam
import xxhash

from core.checkpoint import Checkpoint, state_inventory
from core.checkpoint.state import committed_ids
from core.checkpoint.state_content.counts import count_keys
from core.checkpoint.state_content.state_rows import RowsQuestion, read_rows
from core.settings import Settings
from scripts.bench.table import machine, put
from ui import collector

PROVIDERS = {
    "RocksDB": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "HDFS-backed": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
}
NO_CACHE = Settings(content_cache_bytes=0, deep_check_seconds=600)
MOST = 2_000_000
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Case:
    """One line: what is asked, and the two ways. Each returns the number of rows that it found. ``least``:
    the bytes alone."""

    name: str
    spark: Callable[[], int]
    ours: Callable[[], int]
    least: Callable[[], int]


def session(directory: Path) -> Any:
    """A local Spark with two cores."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("bench")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "4g",
        "spark.local.dir": str(directory / "local"),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
    }
    for key, value in options.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def write_state(spark: Any, directory: Path, provider: str, keys: int, partitions: int) -> Path:
    """A checkpoint of dropDuplicates with so many keys, written by one batch."""
    source, checkpoint = directory / "in", directory / f"ck-{provider}"
    if not source.exists():
        spark.range(keys).selectExpr("concat('order-', id) as id").write.parquet(str(source))
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", PROVIDERS[provider])
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    stream = spark.readStream.schema("id string").parquet(str(source)).dropDuplicates(["id"])
    writer = stream.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    return checkpoint


def least(
    checkpoint: Path, partitions: Iterable[int], endings: tuple[str, ...] = (".zip", ".sst", ".delta")
) -> int:
    """How many bytes the files of these partitions hold, unpacked."""
    found = 0
    for partition in partitions:
        folders = [f"{checkpoint}/state/0/{partition}"]
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir():
                        folders.append(entry.path)
                    elif not entry.name.endswith(".crc") and entry.stat() and entry.name.endswith(endings):
                        found += unpacked_bytes(entry.path)
    return found


def unpacked_bytes(path: str) -> int:
    """What one file holds."""
    handle = os.open(path, os.O_RDONLY)
    data = os.read(handle, os.fstat(handle).st_size)  # a larger buffer takes longer to get than to fill
    os.close(handle)
    at = found = 0
    if path.endswith(".delta"):  # LZ4Block
        while at < len(data):
            packed, size = int.from_bytes(data[at + 9 : at + 13], "little"), data[at + 13 : at + 17]
            at += 21 + packed
            if packed:
                whole = cramjam.lz4.decompress_block(
                    data[at - packed : at], output_len=int.from_bytes(size, "little")
                )
                xxhash.xxh32_intdigest(bytes(whole), 0x9747B28C)
                found += len(whole)
    while data.startswith(b"PK\x03\x04", at):
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        content = unpacker.decompress(data[at + 30 + data[at + 26] :])
        zlib.crc32(content)
        found += len(content)
        at = len(data) - len(unpacker.unused_data) + 16
    return found or len(data)


def cases(spark: Any, checkpoint: Path, keys: int, partitions: int) -> list[Case]:
    """Counts of all partitions, one key, all rows of one partition."""
    from pyspark.sql import functions as F  # noqa: N812

    place = str(checkpoint)

    def frame() -> Any:
        return spark.newSession().read.format("statestore").load(place)

    def counted() -> int:
        ck = Checkpoint.open(place, NO_CACHE)
        found = count_keys(
            ck.door,
            state_inventory(ck).operators[0],
            1,
            committed_ids(ck),
            replay=True,
            has_row_checksums=False,
        )
        return sum(part.count.keys or 0 for parts in found.values() for part in parts)

    def rows(question: RowsQuestion) -> int:
        return len(read_rows(Checkpoint.open(place, NO_CACHE), question).rows)

    wanted = f"order-{keys // 2}"
    return [
        Case(
            "counts",
            lambda: int(sum(row[1] for row in frame().groupBy("partition_id").count().collect())),
            counted,
            lambda: least(checkpoint, range(partitions), (".zip", ".delta")),
        ),
        Case(
            "one key",
            lambda: len(frame().where(F.col("key.id") == wanted).collect()),
            lambda: rows(RowsQuestion(key={"id": wanted})),
            lambda: least(checkpoint, [0]),
        ),
        Case(
            "one partition",
            lambda: len(frame().where(F.col("partition_id") == 0).collect()),
            lambda: rows(RowsQuestion(partition_id=0, limit=MOST)),
            lambda: least(checkpoint, [0]),
        ),
    ]


def java_pid(spark: Any) -> int:
    """The process that Spark runs in."""
    return int(spark._jvm.java.lang.ProcessHandle.current().pid())


def java_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(fields[at]) for at in (11, 12)) / TICKS


def measured(way: Callable[[], int], java: int | None = None) -> tuple[int, float]:
    """What a way found, and its processor seconds: of this process, and of Java where it is asked."""

    def spent() -> float:
        return time.process_time() + (java_seconds(java) if java is not None else 0.0)

    before = spent()
    found = way()
    return found, spent() - before


def main(arguments: list[str] | None = None) -> int:
    """Writes the state, lets both ways take turns, prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--state", metavar="DIR", help="state that an earlier run wrote there, or where to keep it"
    )
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    args = parser.parse_args(arguments)
    directory = Path(tempfile.mkdtemp(prefix="bench-state-"))
    gc.set_threshold(*collector.THRESHOLDS)  # as python -m core does
    try:
        spark = session(directory)
        pid = java_pid(spark)
        print(f"{args.keys:,} keys in {args.partitions} partitions, dropDuplicates, Spark {spark.version}")
        print(f"{'state':12} {'asked':14} {'rows':>10} {'Spark CPU s':>12} {'ours CPU s':>11} {'ratio':>8}")
        lines = [
            "| state | asked | rows | Spark, CPU s | here, CPU s | ratio | bytes alone | at most |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for provider in PROVIDERS:
            place = Path(args.state) if args.state else directory
            checkpoint = place / f"ck-{provider}"
            if not checkpoint.exists():
                write_state(spark, place, provider, args.keys, args.partitions)
            for case in cases(spark, checkpoint, args.keys, args.partitions):
                case.spark()
                case.ours()
                rounds = [(measured(case.spark, pid), measured(case.ours)) for _ in range(args.rounds)]
                for (theirs, _), (ours, _) in rounds:
                    if theirs != ours:
                        print(f"{provider}, {case.name}: Spark found {theirs} rows, the files {ours}")
                        return 1
                bare = min(measured(case.least)[1] for _ in range(args.rounds))
                (rows, their_cpu), (_, our_cpu) = min(rounds, key=lambda both: both[0][1] / both[1][1])
                print(
                    f"{provider:12} {case.name:14} {rows:10,} {their_cpu:12.2f} {our_cpu:11.3f}"
                    f" {their_cpu / our_cpu:7.1f}x {bare:.4f} {their_cpu / bare:7.1f}x",
                    flush=True,
                )
                lines.append(
                    f"| {provider} | {case.name} | {rows:,} | {their_cpu:.2f} | {our_cpu:.3f} |"
                    f" **{their_cpu / our_cpu:.1f}×** | {bare:.4f} | {their_cpu / bare:.0f}× |"
                )
        if args.write:
            about = f"{args.keys:,} keys in {args.partitions} partitions, Spark {spark.version}."
            put("state rows", [*lines, "", f"{about} {machine()}"])
        return 0
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
