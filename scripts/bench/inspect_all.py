"""``inspect`` by an earlier commit and by this one, in turns in one run, and the floor: a loop that lists and
reads the same files and writes as many bytes.

    .venv/bin/python -m scripts.bench.inspect_all [--commit bd06dd03] [--rounds 8] [--write]

``--all --json`` of 20,000 batches with 100 partitions, and ``inspect`` of a small checkpoint. Processor
seconds of whole processes (user and system), the least of the rounds. Both must answer the same bytes but for
the time of reading. Python keeps its bytecode, as an installed program has it. ``--write`` puts the table
into docs/performance.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from scripts.bench.large_checkpoint import Shape, write
from scripts.bench.table import PROJECT, machine, put

LONG = Shape(batches=20_000, partitions=0, topic_partitions=100)
SMALL = Shape(batches=20, partitions=4, versions=10)
READ_AT = re.compile(rb'"read_at":"[^"]*"|Read at .*')
FLOOR = """
import os, sys
root, spool = sys.argv[1], open(sys.argv[2], "wb")
for name in ("offsets", "commits"):
    with os.scandir(f"{root}/{name}") as entries:
        sizes = [(entry.path, entry.stat().st_size) for entry in entries]
    for path, size in sizes:
        handle = os.open(path, os.O_RDONLY)
        spool.write(os.read(handle, size + 1))
        os.close(handle)
spool.close()
with open(sys.argv[2], "rb") as spool:
    while piece := spool.read(1 << 20):
        sys.stdout.buffer.write(piece)
"""
# A process begins with the peak of the one that starts it, so that one has to be small.
STARTER = """
import os, sys
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
actions = [(os.POSIX_SPAWN_DUP2, out, 1)]
_, _, used = os.wait4(os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ, file_actions=actions), 0)
print([used.ru_utime + used.ru_stime, used.ru_maxrss])
"""


class Run(NamedTuple):
    """One process: what it cost, and a checksum of what it answered."""

    seconds: float
    peak_mib: int
    answer: str


def run(arguments: Sequence[str], tree: Path, scratch: Path) -> Run:
    """One process of this Python in a tree."""
    out = scratch / "answer"
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(scratch / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-S", "-c", STARTER, str(out), sys.executable, *arguments]
    started = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, check=True)
    seconds, peak_kib = json.loads(started.stdout)
    answer = READ_AT.sub(b"", out.read_bytes())
    return Run(seconds, peak_kib // 1024, hashlib.sha256(answer).hexdigest())


def table(commit: str, rounds: int) -> list[str]:
    """The lines of the table."""
    archive = subprocess.run(["git", "archive", commit, "core"], cwd=PROJECT, capture_output=True, check=True)
    lines = [f"| what | at {commit} | now | floor |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        before = scratch / "before"
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as tar:
            tar.extractall(before, filter="data")
        write(scratch / "long", LONG)
        write(scratch / "small", SMALL)
        whole = ["-m", "core", "inspect", str(scratch / "long"), "--all", "--json"]
        raw = ["-c", FLOOR, str(scratch / "long"), str(scratch / "spool")]
        lines.append(_row("`inspect --all --json`, 20,000 batches", whole, before, scratch, rounds, raw))
        small = ["-m", "core", "inspect", str(scratch / "small")]
        lines.append(_row("`inspect` of a small checkpoint", small, before, scratch, rounds, None))
    return [*lines, "", f"Processor seconds, the least of {rounds} rounds in turns. {machine()}"]


def _row(
    name: str, arguments: list[str], before: Path, scratch: Path, rounds: int, raw: list[str] | None
) -> str:
    for tree in (before, PROJECT):  # once, for the bytecode
        run(arguments, tree, scratch)
    olds, news, floors = [], [], []
    for _ in range(rounds):
        olds.append(run(arguments, before, scratch))
        news.append(run(arguments, PROJECT, scratch))
        floors += [run(raw, PROJECT, scratch)] if raw is not None else []
        print(f"{name}: {olds[-1].seconds:.2f} {news[-1].seconds:.2f}", file=sys.stderr, flush=True)
    if len({one.answer for one in (*olds, *news)}) != 1:
        raise SystemExit(f"bench: {name}: both answered different things")
    floor = f"{min(floors).seconds:.2f} s" if floors else "-"
    return f"| {name} | {_cell(olds)} | **{_cell(news)}** | {floor} |"


def _cell(runs: list[Run]) -> str:
    return f"{min(runs).seconds:.2f} s, {max(one.peak_mib for one in runs)} MiB"


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="The verb inspect, before and now.")
    parser.add_argument("--commit", default="bd06dd03", help="what is compared with (%(default)s)")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    given = parser.parse_args()
    lines = table(given.commit, given.rounds)
    print("\n".join(lines))
    if given.write:
        put("inspect", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
