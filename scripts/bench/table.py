"""The table of docs/performance.md: the plain way with fsspec, this project by both of its S3 clients, and
the limit, in turns in one run against the slow S3.

    .venv/bin/python -m scripts.bench --table [--write] [--large] [--rounds 3] [--ms 30]

The limit is a raw loop that knows what to ask for: it sends unsigned requests, all at once, keeps the bytes
and parses nothing but names. The ratio is the LOWEST of the rounds, each against the plain way of the same
round; seconds are the shortest of the rounds. ``--large`` adds the state of 440,000 files, where the plain
way takes a minute a round. ``--write`` puts the table into the document.
"""

from __future__ import annotations

import asyncio
import gc
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote, urlsplit

from core.analysis.timeline import build_timeline
from core.checkpoint import Checkpoint
from core.settings import Settings
from core.storage import Door, Location
from core.storage.filesystems import forget
from scripts.bench.compare import plain_logs, plain_state
from scripts.bench.large_checkpoint import Shape, write, write_listing
from scripts.bench.raw_http import Connections
from scripts.bench.slow_s3 import SlowS3, serving
from ui import collector

PROJECT = Path(__file__).resolve().parents[2]
DOCUMENT = PROJECT / "docs" / "performance.md"
AT_ONCE = 256  # of the limit
PACKAGES = ("fsspec", "s3fs", "aiobotocore", "aiohttp")
WAYS = ("plain", "s3fs", "ours", "limit")
IN_USE = "in an app that has opened another checkpoint of the store"

Way = Callable[[], int]


@dataclass(frozen=True)
class View:
    """One row: what is looked at, and the ways to it. Each gives how much it found. ``before``: what this
    project has done already when a way is taken, not measured."""

    name: str
    ways: dict[str, Way]
    before: Mapping[str, Callable[[], object]] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """What the rounds of a row gave: seconds of each way in each round, requests of one round."""

    view: View
    seconds: dict[str, list[float]]
    requests: dict[str, dict[str, int]]

    def ratios(self, way: str) -> list[float]:
        """How many times as long the plain way took in each round, the least first."""
        return sorted(
            plain / own for plain, own in zip(self.seconds["plain"], self.seconds[way], strict=True)
        )

    def row(self) -> str:
        """The row in Markdown."""
        cells = [self.view.name]
        for way in WAYS:
            seen = self.requests[way]
            asked = f"{seen['list']}/{seen['head']}/{seen['get']}"
            ratio = self.ratios(way)
            factor = "" if way == "plain" else f"**{ratio[0]:.1f}×** (to {ratio[-1]:.0f}×), "
            cells.append(f"{factor}{min(self.seconds[way]):.2f} s, {asked}")
        return f"| {' | '.join(cells)} |"


# ---------------------------------------------------------------- the ways


def settings(client: str) -> Settings:
    return Settings(content_cache_bytes=0, s3_client=client)  # type: ignore[arg-type]


def first_view(location: Location, client: str) -> int:
    """The first view: the newest 100 batches listed, read and parsed, and the times of all."""
    ck = Checkpoint.open(Door.open(location, settings(client)), newest=100)
    build_timeline(ck)
    return len(ck.loaded_ids)


def state(location: Location, client: str) -> int:
    """The listing of the state, as of a checkpoint whose root shows that there is one."""
    door = Door.open(location, settings(client))
    return len(door.list(["state"], recursive=True, known_there=True)["state"].files)


class Raw:
    """Unsigned requests to the slow S3, as many at once as there are. To be closed."""

    def __init__(self, location: Location) -> None:
        self.url = urlsplit(str(location.storage_options["endpoint_url"]))
        self.bucket = location.path
        self.connections = Connections(self.url.hostname or "", self.url.port or 80, None, AT_ONCE)

    async def __aenter__(self) -> Raw:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.connections.close()
        await asyncio.sleep(0)  # the loop closes them

    async def get(self, target: str) -> bytes:
        head = f"GET /{self.bucket}{target} HTTP/1.1\r\nhost: {self.url.netloc}\r\n\r\n"
        return (await self.connections.get(head.encode())).body

    async def names(self, prefix: str, delimiter: str = "") -> list[str]:
        """All names that begin so."""
        where = f"?list-type=2&prefix={quote(prefix, safe='')}&delimiter={quote(delimiter, safe='')}"
        found: list[str] = []
        token = ""
        while True:
            page = (await self.get(where + token)).decode()
            found += re.findall(r"<(?:Key|CommonPrefixes><Prefix)>([^<]*)<", page)
            more = re.search(r"<NextContinuationToken>([^<]*)<", page)
            if more is None:
                return found
            token = f"&continuation-token={quote(more[1], safe='')}"


def limit_logs(location: Location, starts: Sequence[str]) -> Way:
    """Lists both logs, in ranges that begin with ``starts``, then reads the newest 100 of each."""

    async def read() -> int:
        async with Raw(location) as raw:
            prefixes = [f"{log}/{start}" for log in ("offsets", "commits") for start in starts]
            found = await asyncio.gather(*[raw.names(prefix) for prefix in prefixes])
            names = {name for each in found for name in each}
            newest = sorted(int(name[8:]) for name in names if name.startswith("offsets/"))[-100:]
            wanted = [f"/{log}/{at}" for log in ("offsets", "commits") for at in newest]
            assert all(name[1:] in names for name in wanted)
            assert all(await asyncio.gather(*[raw.get(name) for name in wanted]))
            return len(newest)

    return lambda: asyncio.run(read())


def limit_state(location: Location) -> Way:
    """Lists the partitions, then each partition, all at once."""

    async def read() -> int:
        async with Raw(location) as raw:
            partitions = await raw.names("state/0/", "/")
            return sum(map(len, await asyncio.gather(*[raw.names(each) for each in partitions])))

    return lambda: asyncio.run(read())


def views(server: SlowS3, batches: int, names: dict[str, int]) -> list[View]:
    """The rows. ``names``: buckets with state and how many files are in it."""

    def of(
        location: Location, ours: Callable[[Location, str], int], plain: Way, limit: Way
    ) -> dict[str, Way]:
        return {
            "plain": plain,
            "s3fs": lambda: ours(location, "s3fs"),
            "ours": lambda: ours(location, "auto"),
            "limit": limit,
        }

    typical, long = server.location("typical"), server.location("long")
    of_typical = of(typical, first_view, lambda: plain_logs(100)(typical), limit_logs(typical, [""]))
    other = server.location("other")
    in_use = {"s3fs": lambda: first_view(other, "s3fs"), "ours": lambda: first_view(other, "auto")}
    two_digits = [str(number) for number in range(10, 100)]
    rows = [
        View("newest 100 of 100 batches", of_typical),
        View(
            f"the same, {IN_USE}",
            of_typical,
            in_use,
        ),
        View(
            f"newest 100 of {batches:,} batches, and the times of all",
            of(long, first_view, lambda: plain_logs(100)(long), limit_logs(long, two_digits)),
        ),
    ]
    for bucket, files in names.items():
        place = server.location(bucket)

        def plain(place: Location = place) -> int:
            return plain_state(place)

        ways = of(place, state, plain, limit_state(place))
        rows.append(View(f"state, {files:,} files listed", ways))
        rows.append(View(f"the same, {IN_USE}", ways, in_use))
    return rows


# ---------------------------------------------------------------- measuring


def measure(view: View, rounds: int, server: SlowS3) -> Result:
    """Lets the ways take turns. All have to find the same."""
    result = Result(view, {way: [] for way in WAYS}, {})
    for _ in range(rounds):
        found = {}
        for way, go in view.ways.items():
            forget()
            if (before := view.before.get(way)) is not None:
                before()
            server.stats()
            start = time.perf_counter()
            found[way] = go()
            result.seconds[way].append(time.perf_counter() - start)
            result.requests[way] = server.stats()
        if len(set(found.values())) != 1:
            raise SystemExit(f"bench: {view.name}: the ways found different things: {found}")
    return result


def machine() -> str:
    """The machine, the date and the versions, in one sentence."""
    model = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    cores = len(re.findall(r"^processor", Path("/proc/cpuinfo").read_text(), re.MULTILINE))
    load = Path("/proc/loadavg").read_text().split()[0]
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{model[1].strip() if model else platform.machine()}, {cores} cores, load {load} at the end;"
        f" {datetime.now(UTC):%Y-%m-%d}; Python {platform.python_version()}, {packages}."
    )


def table(rounds: int, ms: float, batches: int, is_large: bool) -> list[str]:
    """The lines of the table."""
    names = {"typical": 0}
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        shape = Shape(batches=100, partitions=200, versions=110)
        write(directory / "typical", shape)
        write(directory / "long", Shape(batches=batches, partitions=0, topic_partitions=100))
        write(directory / "other", Shape(batches=1, partitions=0))
        buckets = {name: directory / name for name in ("typical", "long", "other")}
        names["typical"] = sum(1 for path in (directory / "typical/state").rglob("*") if path.is_file())
        if is_large:
            buckets["large"] = directory / "large.tsv"
            large = Shape(batches=100, stores=4, partitions=1000, versions=110)
            write_listing(buckets["large"], large)
            lines = buckets["large"].read_text().splitlines()
            names["large"] = sum(line.startswith("state/") for line in lines)
        lines = [
            "| view | plain fsspec | by s3fs | **by default** | limit |",
            "|---|---|---|---|---|",
        ]
        gc.collect()
        gc.freeze()  # as the app does once its parts are loaded
        gc.set_threshold(*collector.THRESHOLDS)
        with serving(buckets, ms) as server:
            for view in views(server, batches, names):
                lines.append(measure(view, rounds, server).row())
                print(lines[-1], file=sys.stderr, flush=True)
        forget()
    return [
        *lines,
        "",
        f"{ms:g} ms a request, {rounds} rounds. Each cell: how many times as fast as plain fsspec (lowest"
        " and highest of the rounds), shortest seconds, LIST/HEAD/GET.",
        machine(),
    ]


def put(name: str, lines: Sequence[str], document: Path = DOCUMENT) -> None:
    """Puts lines between the two marks of this name in the document."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, found, rest = document.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"bench: {document} has no place for {name}")
    text = "\n".join([f"{before}{begin}", *lines, f"{end}{after}"])
    document.write_text(text, encoding="utf-8")
