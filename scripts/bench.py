"""Compares two ways to read a checkpoint in one run: the plain way with fsspec, and this project's door.

Both ways take turns, so that a busy machine slows them alike. Quote the LOWEST ratio of the rounds and the
requests, never the seconds. "cpu" is the processor time of this process: on a busy machine the plain way only
waits, ours has to compete for it, and the ratio sinks. With ../shared/bench beside the project the data comes
from its generator and S3 from its server with a latency; without it a smaller checkpoint is written here and
S3 is the server of the tests, which adds no latency, so that only the requests mean something there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
SHARED = PROJECT.parent / "shared" / "bench"
sys.path.insert(0, str(PROJECT))

import fsspec  # noqa: E402

from core.checkpoint import Checkpoint  # noqa: E402
from core.settings import Settings  # noqa: E402
from core.storage import Door, Location, parse_location  # noqa: E402
from core.storage.filesystems import forget  # noqa: E402

NO_CACHE = Settings(content_cache_bytes=0)
Stats = Callable[[], dict[str, int]]


@dataclass(frozen=True)
class Case:
    """One line of the comparison: what is read, where, and the two ways. Each way returns how much it read."""

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
        print(
            f"{name:42} {way:6} {read[way]:7} {statistics.median(seconds[way]):9.3f} {min(cpu[way]):9.3f}"
            f" {counts}   {ratio}"
        )
    sys.stdout.flush()


def no_stats() -> dict[str, int]:
    """The local disk has no server that counts."""
    return {}


def generate(directory: Path, batches: int, long: int, partitions: int) -> None:
    """``typical`` (few batches, much state) and ``long`` (many batches) below the directory."""
    if SHARED.joinpath("make_big.py").exists():
        for name, arguments in {
            "typical": ["--batches", batches, "--partitions", partitions, "--versions", 100, "--crc"],
            "long": ["--batches", long, "--partitions", 0, "--topic-partitions", 100],
        }.items():
            command = [
                sys.executable,
                str(SHARED / "make_big.py"),
                str(directory / name),
                *map(str, arguments),
            ]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return
    for name, count in (("typical", batches), ("long", long)):
        write_logs(directory / name, count)
    for partition in range(partitions):
        folder = directory / "typical/state/0" / str(partition)
        folder.mkdir(parents=True)
        for version in range(1, 101):
            (folder / f"{version}.delta").write_bytes(b"delta")


def write_logs(root: Path, batches: int) -> None:
    (root / "offsets").mkdir(parents=True)
    (root / "commits").mkdir()
    (root / "metadata").write_text('{"id":"00000000-0000-0000-0000-000000000000"}')
    for n in range(batches):
        head = {
            "batchWatermarkMs": 0,
            "batchTimestampMs": 1_795_176_000_000 + 1000 * n,
            "conf": {"spark.sql.shuffle.partitions": "200"},
        }
        ends = {"topic": {str(partition): n * 10 for partition in range(100)}}
        (root / "offsets" / str(n)).write_text(f"v1\n{json.dumps(head)}\n{json.dumps(ends)}")
        (root / "commits" / str(n)).write_text('v1\n{"nextBatchWatermarkMs":0}')


@contextmanager
def s3(directory: Path, ms: float, port: int) -> Iterator[tuple[Callable[[str], Location], Stats]]:
    """A server with the generated checkpoints: how to name one there, and what it counted since the last
    question."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def counted(endpoint: str) -> dict[str, int]:
        with opener.open(f"{endpoint}/-/stats") as answer:
            counts: dict[str, int] = json.load(answer)
            return counts

    if SHARED.joinpath("slow_s3.py").exists():
        command = [sys.executable, str(SHARED / "slow_s3.py"), "--port", str(port), "--ms", str(ms)]
        for name in ("typical", "long"):
            command += ["--bucket", f"{name}={directory / name}"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            if process.stdout is None or not process.stdout.readline().startswith("ready"):
                raise SystemExit(
                    f"bench: the server did not start on port {port}; choose another with --port"
                )
            endpoint = f"http://127.0.0.1:{port}"
            options = {
                "key": "k",
                "secret": "s",
                "endpoint_url": endpoint,
                "client_kwargs": {"region_name": "us-east-1"},
            }
            yield lambda name: parse_location(f"s3://{name}", options), lambda: counted(endpoint)
        finally:
            process.terminate()
            process.wait()
        return
    from tests.support.s3 import S3Server

    with S3Server.start() as server:
        server.bucket("bench")
        for name in ("typical", "long"):
            server.upload("bench", name, directory / name)
        yield lambda name: server.location(f"s3://bench/{name}"), server.stats


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    has_shared = SHARED.joinpath("slow_s3.py").exists()
    parser.add_argument("--rounds", type=int, default=3, help="how often the two ways take turns (3)")
    parser.add_argument("--ms", type=float, default=30, help="latency of a request to the slow server (30)")
    parser.add_argument("--batches", type=int, default=100, help="batches of the checkpoint with state (100)")
    parser.add_argument(
        "--long",
        type=int,
        default=20_000 if has_shared else 1_500,
        help="batches of the long checkpoint (%(default)s here)",
    )
    parser.add_argument(
        "--partitions",
        type=int,
        default=200 if has_shared else 20,
        help="state partitions (%(default)s here)",
    )
    parser.add_argument("--port", type=int, default=9318, help="where the slow server listens on 127.0.0.1")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        generate(directory, args.batches, args.long, args.partitions)
        latency = f"{args.ms:g} ms a request" if has_shared else "the server of the tests, no latency added"
        print(f"S3: {latency}; {args.rounds} rounds; ratio = plain / ours, lowest .. highest\n")
        print(
            f"{'what':42} {'way':6} {'read':>7} {'seconds':>9} {'cpu':>9} {'LIST':>6} {'HEAD':>6} {'GET':>6} "
            "  ratio"
        )
        local = {name: parse_location(str(directory / name)) for name in ("typical", "long")}
        run(
            Case(
                "local: logs of all batches, long", local["long"], plain_logs(args.long), our_logs(args.long)
            ),
            args.rounds,
            no_stats,
        )
        run(Case("local: state files", local["typical"], plain_state, our_state), args.rounds, no_stats)
        with s3(directory, args.ms, args.port) as (place, stats):
            typical, long = place("typical"), place("long")
            run(
                Case(f"S3: newest 100 of {args.batches} batches", typical, plain_logs(100), our_logs(100)),
                args.rounds,
                stats,
            )
            run(
                Case("S3: the same, parsed for the first view", typical, plain_logs(100), our_first_view),
                args.rounds,
                stats,
            )
            run(
                Case(f"S3: newest 100 of {args.long} batches", long, plain_logs(100), our_logs(100)),
                args.rounds,
                stats,
            )
            run(Case("S3: state files", typical, plain_state, our_state), args.rounds, stats)
            forget()
    return 0


if __name__ == "__main__":
    sys.exit(main())
