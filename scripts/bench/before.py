"""The listing of large state by an earlier commit and by this one, in turns in one run against the slow S3.

    .venv/bin/python -m scripts.bench.before [--commit d6880c7] [--rounds 3] [--ms 30] [--write]

Each in a process of its own, which is connected to the store before it is measured, as an app is that runs.
Quote the LOWEST ratio. ``--write`` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

from scripts.bench.large_checkpoint import Shape, write_listing
from scripts.bench.slow_s3 import SlowS3, serving
from scripts.bench.table import PROJECT, machine, put

SHAPES = {
    "typical": Shape(batches=100, partitions=200, versions=110),
    "large": Shape(batches=100, stores=4, partitions=1000, versions=110),
}
# What runs in both trees: it knows no more than both have.
MEASURED = """
import gc, json, sys, time
from core.settings import Settings
from core.storage import Door, parse_location

endpoint, bucket = sys.argv[1:]
options = {"key": "k", "secret": "s", "endpoint_url": endpoint, "client_kwargs": {"region_name": "us-east-1"}}
settings = Settings(content_cache_bytes=0)
door = Door.open(parse_location(f"s3://{bucket}", options), settings)
door.list([""])
there = {"known_there": True} if "known_there" in Door.list.__code__.co_varnames else {}
gc.collect()
if there:  # as the app does now
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
wall, cpu = time.perf_counter(), time.process_time()
found = door.list(["state"], recursive=True, **there)["state"].files
print(json.dumps([len(found), time.perf_counter() - wall, time.process_time() - cpu]))
"""


def measured(tree: Path, server: SlowS3, bucket: str) -> tuple[int, float, float]:
    """How many files the code of a tree lists, in how many seconds and processor seconds."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, server.endpoint, bucket],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        stdout=subprocess.PIPE,
        check=True,
    )
    files, wall, cpu = json.loads(done.stdout)
    return files, wall, cpu


def table(commit: str, rounds: int, ms: float) -> list[str]:
    """The lines of the table."""
    archive = subprocess.run(["git", "archive", commit, "core"], cwd=PROJECT, capture_output=True, check=True)
    lines = [f"| state | at {commit} | now | ratio | ratio of processor time |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as scratch:
        before = Path(scratch) / "before"
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as tar:
            tar.extractall(before, filter="data")
        names = {name: Path(scratch) / f"{name}.tsv" for name in SHAPES}
        for name, shape in SHAPES.items():
            write_listing(names[name], shape)
        with serving(names, ms) as server:
            for name in SHAPES:
                pairs = [
                    (measured(before, server, name), measured(PROJECT, server, name)) for _ in range(rounds)
                ]
                files = {found[0] for pair in pairs for found in pair}
                if len(files) != 1:
                    raise SystemExit(f"bench: {name}: both found different things: {files}")
                walls = sorted(old[1] / new[1] for old, new in pairs)
                works = sorted(old[2] / new[2] for old, new in pairs)
                least = [min(pair[at][1] for pair in pairs) for at in (0, 1)]
                lines.append(
                    f"| {files.pop():,} files | {least[0]:.2f} s | {least[1]:.2f} s |"
                    f" **{walls[0]:.1f}×** (to {walls[-1]:.1f}×) | {works[0]:.1f}× (to {works[-1]:.1f}×) |"
                )
                print(lines[-1], file=sys.stderr, flush=True)
    return [*lines, "", f"{ms:g} ms a request, {rounds} rounds. {machine()}"]


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="The listing of large state, before and now.")
    parser.add_argument("--commit", default="d6880c7", help="what is compared with (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ms", type=float, default=30)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    given = parser.parse_args()
    lines = table(given.commit, given.rounds, given.ms)
    print("\n".join(lines))
    if given.write:
        put("state before", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
