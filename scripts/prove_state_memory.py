"""Memory and processes of reading state: fifty Spark scans one after another in one process, and a store of a
gigabyte from its files. Called by `scripts/prove-state-memory`.

The scans are asked as the app asks them, by the shared engine, each one another question. What Java keeps is
measured after a collection of its garbage (``jcmd GC.run``): its heap may grow to the size it was given, what
is kept in it may not. That number swings by some MiB, since caches are emptied now and then, so that the
smallest of the first half is compared with the smallest of the second half.

The large store is made by Spark, of values that do not pack, and read by the program in a process of its own,
whose largest resident size the kernel tells.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.checkpoint import Checkpoint
from core.settings import Settings
from core.spark import SparkEngine, StateQuestion
from scripts.bench.state_rows import PROVIDERS, session
from scripts.bench.table import PROJECT, machine, put
from tests.support.processes import all_ended, group_of

SAMPLE = PROJECT / "sample_checkpoints/windowed-aggregation-hot-partition/checkpoint"
MIB = 1024 * 1024
WARM_UP = 10
EVERY = 5
ALLOWED_MIB = 8  # of this process, of the worker and of what Java keeps
PARTITIONS = 16
VALUE_BYTES = 16 * 1024
BASE_ALLOWED_MIB = 120  # of a process that reads nothing
OF_PARTITION = 6  # a partition is in memory as read, unpacked, and as rows, never twice at a time


@dataclass(frozen=True)
class Sizes:
    """MiB after some scans: resident this process and the worker, kept in the heap of Java, its resident
    size."""

    scans: int
    own: float
    worker: float
    java_kept: float
    java: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures both and prints the tables."""
    parser = argparse.ArgumentParser(prog="scripts/prove-state-memory", description=__doc__)
    parser.add_argument("--scans", type=int, default=50, help="0: none; else 20 at least")
    parser.add_argument("--megabytes", type=int, default=1024, help="0: no large store")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    args = parser.parse_args(arguments)
    is_good = True
    for name, amount, measure in (
        ("state memory scans", args.scans, _scans),
        ("state memory large", args.megabytes, _large),
    ):
        if amount:
            lines, is_bounded = measure(amount)
            lines += ["", machine()]
            print("\n".join(lines), flush=True)
            is_good = is_good and is_bounded
            if args.write:
                put(name, lines)
    return 0 if is_good else 1


def _scans(count: int) -> tuple[list[str], bool]:
    lines = [
        "| after scan | this process | worker | kept in Java's heap | Java, resident |",
        "|---|---|---|---|---|",
    ]
    found: list[Sizes] = []
    engine = SparkEngine.shared(Settings())
    ck = Checkpoint.open(str(SAMPLE))
    batch_id = ck.last_committed_batch or 0
    seen: set[int] = set()
    for number in range(1, count + 1):
        engine.ask(ck, StateQuestion(batch_id=batch_id, limit=number))
        leader = engine.worker_pid or 0
        seen.update(group_of(leader))
        if number == 1 or number % EVERY == 0:
            found.append(_sizes(number, leader))
            print(found[-1], flush=True)
    engine.stop()
    is_ended = all_ended(seen)
    for size in found:
        mib = (f"{value:.0f} MiB" for value in (size.own, size.worker, size.java_kept, size.java))
        lines.append(f"| {size.scans} | {' | '.join(mib)} |")
    warm = [size for size in found if size.scans >= WARM_UP]
    half = len(warm) // 2
    growth = max(
        min(getattr(size, what) for size in warm[half:]) - min(getattr(size, what) for size in warm[:half])
        for what in ("own", "worker", "java_kept")
    )
    left = "none of them runs" if is_ended else "SOME STILL RUN"
    lines += [
        "",
        f"{len(seen)} processes were started for them; after the end {left}. From scans {warm[0].scans} to"
        f" {warm[half - 1].scans} to scans {warm[half].scans} to {warm[-1].scans} the smallest sizes grew by"
        f" {max(growth, 0):.1f} MiB at most.",
    ]
    return lines, is_ended and growth <= ALLOWED_MIB


def _sizes(scans: int, leader: int) -> Sizes:
    java = next(pid for pid in group_of(leader) if "java" in Path(f"/proc/{pid}/comm").read_text())
    for _ in range(2):
        subprocess.run(["jcmd", str(java), "GC.run"], check=True, capture_output=True)
    info = subprocess.run(
        ["jcmd", str(java), "GC.heap_info"], check=True, capture_output=True, text=True
    ).stdout
    heap = info.partition("Metaspace")[0]
    kept = sum(int(used) for used in re.findall(r"generation.*? used (\d+)K", heap)) / 1024
    return Sizes(scans, _resident(os.getpid()), _resident(leader), kept, _resident(java))


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) / 1024


def _large(megabytes: int) -> tuple[list[str], bool]:
    lines = ["| state | asked | bytes of state | seconds | largest resident |", "|---|---|---|---|---|"]
    is_bounded = True
    with tempfile.TemporaryDirectory(prefix="prove-state-memory-", dir="/var/tmp") as scratch:
        directory = Path(scratch)
        for provider, checkpoint in _stores(directory, megabytes):
            state_bytes = sum(p.stat().st_size for p in (checkpoint / "state").rglob("*") if p.is_file())
            largest = max(p.stat().st_size for p in (checkpoint / "state").rglob("*") if p.is_file())
            bound = BASE_ALLOWED_MIB + OF_PARTITION * max(largest / MIB, megabytes / PARTITIONS)
            for asked in (
                ["rows", str(checkpoint), "--limit", "10"],
                ["rows", str(checkpoint), "--largest", "values", "--limit", "10"],
                ["rows", str(checkpoint), "--difference", "0..1", "--limit", "10"],
                ["state", str(checkpoint), "--replay"],
            ):
                seconds, peak = _measured(asked)
                what = " ".join([asked[0], *asked[2:]])
                lines.append(
                    f"| {provider} | `{what}` | {state_bytes / MIB:,.0f} MiB | {seconds:.1f} |"
                    f" **{peak:.0f} MiB** |"
                )
                print(lines[-1], flush=True)
                is_bounded = is_bounded and peak <= bound
            shutil.rmtree(checkpoint)
    lines += [
        "",
        f"{PARTITIONS} partitions, values of {VALUE_BYTES // 1024} KiB that do not pack, two batches.",
    ]
    return lines, is_bounded


def _stores(directory: Path, megabytes: int) -> Iterator[tuple[str, Path]]:
    """The same rows in each provider: a first batch of nearly all, a second of few."""
    from pyspark.sql import functions as F  # noqa: N812

    rows = megabytes * MIB // VALUE_BYTES
    for provider in PROVIDERS:
        spark: Any = session(directory)
        source = directory / f"in-{provider}"
        for number, (first, last) in enumerate(((0, rows - 100), (rows - 100, rows))):
            values = spark.range(first, last, 1, 8).withColumn("v", F.expr(_NOISE))
            values.write.mode("append").parquet(str(source / f"part={number}"))
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", PROVIDERS[provider])
        spark.conf.set("spark.sql.shuffle.partitions", str(PARTITIONS))
        checkpoint = directory / f"ck-{provider}"
        for number in range(2):
            stream = spark.readStream.schema("id long, v string").parquet(f"{directory}/now-{provider}/*")
            now = directory / f"now-{provider}" / str(number)
            now.parent.mkdir(exist_ok=True)
            shutil.move(str(source / f"part={number}"), now)
            counts = stream.groupBy("id").agg(F.max("v"))
            writer = counts.writeStream.format("noop").outputMode("update")
            writer.option("checkpointLocation", str(checkpoint)).trigger(
                availableNow=True
            ).start().awaitTermination()
        spark.stop()
        shutil.rmtree(directory / f"now-{provider}")
        yield provider, checkpoint


# Text of VALUE_BYTES hexadecimal digits: packed, half of it is left.
_NOISE = (
    f"""array_join(transform(sequence(1, {VALUE_BYTES // 64}), i -> sha2(concat(id, '-', i), 256)), '')"""
)


def _measured(arguments: Sequence[str]) -> tuple[float, float]:
    """Seconds, and the largest resident MiB of the program in a process of its own."""
    # A small process starts it: what the kernel tells begins with the size of the one that forked.
    starter = (
        "import resource, subprocess, sys;"
        " subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
        " print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", starter, sys.executable, "-m", "core", *arguments],
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    )
    return time.monotonic() - began, int(done.stdout.split()[-1]) / 1024


if __name__ == "__main__":
    sys.exit(main())
