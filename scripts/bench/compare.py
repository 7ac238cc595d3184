"""Compares two ways to read a checkpoint in one run: the plain way with fsspec, and this project's door.

Both ways take turns, so that a busy machine slows them alike. Quote the LOWEST ratio of the rounds and the
requests, never the seconds. "cpu" is the processor time of this process: on a busy machine the plain way only
waits, ours has to compete for it, and the ratio sinks. S3 is the model of slow_s3.py; with --moto the same is
read from the S3 server of the tests through a proxy that adds the latency, which checks the model against
another server.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec

from core.checkpoint import Checkpoint
from core.settings import Settings
from core.storage import Door, Location, parse_location
from core.storage.filesystems import forget
from scripts.bench.large_checkpoint import Shape, write
from scripts.bench.latency_proxy import proxying
from scripts.bench.slow_s3 import serving

NAMES = ("typical", "long")
NO_CACHE = Settings(content_cache_bytes=0)
Stats = Callable[[], dict[str, int]]


@dataclass(frozen=True)
class Case:
    """One line of the comparison: what is read, where, and the two ways. Each returns how much it read."""

    name: str
    location: Location
    plain: Callable[[Location], int]
    ours: Callable[[Location], int]


def connect(location: Location) -> tuple[Any, str]:
    """fsspec as it comes, without its cache of listings (which shows wrong facts)."""
    fs = fsspec.filesystem(
        location.protocol, **location.storage_options, use_listings_cache=False, skip_instance_cache=True
    )
    return fs, location.path


def plain_logs(newest: int) -> Callable[[Location], int]:
    """List, then open each offset file and, if it exists, each commit file, one after another."""

    def read(location: Location) -> int:
        fs, root = connect(location)
        names = (path.rsplit("/", 1)[1] for path in fs.ls(f"{root}/offsets", detail=False))
        ids = sorted(int(name) for name in names if name.isdigit())[-newest:]
        for batch_id in ids:
            with fs.open(f"{root}/offsets/{batch_id}", "rb") as file:
                file.read()
            if fs.exists(f"{root}/commits/{batch_id}"):
                with fs.open(f"{root}/commits/{batch_id}", "rb") as file:
                    file.read()
        return len(ids)

    return read


def our_logs(newest: int) -> Callable[[Location], int]:
    """One wave of listings, one wave of reads."""

    def read(location: Location) -> int:
        door = Door.open(location, NO_CACHE)
        listings = door.list(["", "offsets", "commits", "sources"])
        ids = sorted(int(name) for name in listings["offsets"].names() if name.isdigit())[-newest:]
        offsets, commits = listings["offsets"].files, listings["commits"].files
        wanted = [offsets[f"offsets/{n}"] for n in ids] + [
            commits[f"commits/{n}"] for n in ids if f"commits/{n}" in commits
        ]
        door.read(wanted)
        return len(ids)

    return read


def our_first_view(location: Location) -> int:
    """What a page shows first: listed, read, parsed."""
    return len(Checkpoint.open(Door.open(location, NO_CACHE), newest=100).loaded_ids)


def plain_state(location: Location) -> int:
    """One flat listing."""
    fs, root = connect(location)
    return len(fs.find(f"{root}/state"))


def our_state(location: Location) -> int:
    return len(Door.open(location, NO_CACHE).list(["state"], recursive=True)["state"].files)


def run(case: Case, rounds: int, stats: Stats) -> None:
    """Takes turns; prints the median seconds, the ratios and the requests of one round."""
    seconds: dict[str, list[float]] = {"plain": [], "ours": []}
    cpu: dict[str, list[float]] = {"plain": [], "ours": []}
    requests: dict[str, dict[str, int]] = {}
    read: dict[str, int] = {}
    for _ in range(rounds):
        for way, call in (("plain", case.plain), ("ours", case.ours)):
            forget()
            stats()
            start, start_cpu = time.perf_counter(), time.process_time()
            read[way] = call(case.location)
            seconds[way].append(time.perf_counter() - start)
            cpu[way].append(time.process_time() - start_cpu)
            requests[way] = stats()
    if read["plain"] != read["ours"]:
        raise SystemExit(f"bench: {case.name}: the two ways read different things: {read}")
    ratios = [plain / ours for plain, ours in zip(seconds["plain"], seconds["ours"], strict=True)]
    for way in ("plain", "ours"):
        counts = " ".join(f"{requests[way].get(kind, 0):6}" for kind in ("list", "head", "get"))
        ratio = f"{min(ratios):6.1f} .. {max(ratios):.1f}" if way == "ours" else ""
        name = case.name if way == "plain" else ""
        times = f"{statistics.median(seconds[way]):9.3f} {min(cpu[way]):9.3f}"
        print(f"{name:42} {way:6} {read[way]:7} {times} {counts}   {ratio}")
    sys.stdout.flush()


def no_stats() -> dict[str, int]:
    """The local disk has no server that counts."""
    return {}


def generate(directory: Path, batches: int, long: int, partitions: int, versions: int) -> None:
    """``typical`` (few batches, much state) and ``long`` (many batches) below the directory."""
    write(directory / "typical", Shape(batches=batches, partitions=partitions, versions=versions), crc=True)
    write(directory / "long", Shape(batches=long, partitions=0, topic_partitions=100))


@contextmanager
def model(directory: Path, ms: float, port: int) -> Iterator[tuple[Callable[[str], Location], Stats]]:
    """The slow S3 with the generated checkpoints: how to name one there, and what it counted lately."""
    with serving({name: directory / name for name in NAMES}, ms, port) as server:
        yield server.location, server.stats


@contextmanager
def moto(directory: Path, ms: float) -> Iterator[tuple[Callable[[str], Location], Stats]]:
    """The same from the S3 server of the tests, behind the proxy."""
    from tests.support.s3 import S3Server

    with S3Server.start() as server, proxying(server.endpoint.removeprefix("http://"), ms) as endpoint:
        server.bucket("bench")
        for name in NAMES:
            server.upload("bench", name, directory / name)
        options = {**server.storage_options, "endpoint_url": endpoint}
        yield lambda name: parse_location(f"s3://bench/{name}", options), server.stats


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="how often the two ways take turns (%(default)s)"
    )
    parser.add_argument("--ms", type=float, default=30, help="latency of a request to S3 (%(default)s)")
    parser.add_argument(
        "--batches", type=int, default=100, help="batches of the checkpoint with state (%(default)s)"
    )
    parser.add_argument("--long", type=int, help="batches of the long checkpoint (20000; with --moto 1500)")
    parser.add_argument("--versions", type=int, default=100, help="retained state versions (%(default)s)")
    parser.add_argument("--partitions", type=int, help="state partitions (200; with --moto 20)")
    parser.add_argument(
        "--port", type=int, default=0, help="where the slow S3 listens on 127.0.0.1 (a free port)"
    )
    parser.add_argument(
        "--moto",
        action="store_true",
        help="the S3 server of the tests behind a latency proxy instead of the model",
    )
    parser.add_argument("--table", action="store_true", help="the table of docs/performance.md instead")
    parser.add_argument("--large", action="store_true", help="with --table: also the state of 440,000 files")
    parser.add_argument("--write", action="store_true", help="with --table: put it into the document")
    args = parser.parse_args()
    if args.table:
        from scripts.bench.table import put, table

        lines = table(args.rounds, args.ms, args.long or 20_000, args.large)
        print("\n".join(lines))
        if args.write:
            put("stores", lines)
        return 0
    batches = args.batches
    long = args.long or (1_500 if args.moto else 20_000)
    partitions = args.partitions or (20 if args.moto else 200)
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        generate(directory, batches, long, partitions, args.versions)
        server = "moto behind a proxy" if args.moto else "the model"
        print(f"S3: {server}, {args.ms:g} ms a request; {args.rounds} rounds")
        print("ratio = plain / ours, lowest .. highest\n")
        requests = f"{'LIST':>6} {'HEAD':>6} {'GET':>6}"
        print(f"{'what':42} {'way':6} {'read':>7} {'seconds':>9} {'cpu':>9} {requests}   ratio")
        local = {name: parse_location(str(directory / name)) for name in NAMES}
        run(
            Case("local: logs of all batches, long", local["long"], plain_logs(long), our_logs(long)),
            args.rounds,
            no_stats,
        )
        run(Case("local: state files", local["typical"], plain_state, our_state), args.rounds, no_stats)
        with (
            moto(directory, args.ms) if args.moto else model(directory, args.ms, args.port) as (place, stats)
        ):
            typical, of_long = place("typical"), place("long")
            run(
                Case(f"S3: newest 100 of {batches} batches", typical, plain_logs(100), our_logs(100)),
                args.rounds,
                stats,
            )
            run(
                Case("S3: the same, parsed for the first view", typical, plain_logs(100), our_first_view),
                args.rounds,
                stats,
            )
            run(
                Case(f"S3: newest 100 of {long} batches", of_long, plain_logs(100), our_logs(100)),
                args.rounds,
                stats,
            )
            run(Case("S3: state files", typical, plain_state, our_state), args.rounds, stats)
            forget()
    return 0
