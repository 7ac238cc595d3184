"""Surveys 1,000 checkpoints on the slow S3 and compares that with opening them one after another, in one run.

    .venv/bin/python -m scripts.bench.survey [--checkpoints 1000] [--ms 30] [--page] [--write]

The checkpoints are copies of the samples and of the corpus, in folders of 50. Measured without any cache: a
root with 20 of them (searched and read), the root with all of them, and each real one once, opened one after
another in two ways: the same row, each waiting for the one before it, and the plain way with fsspec (list,
open each file of the newest 100 batches, list the state). What one takes on average, times all of them, is
compared. Rows have to be the same both ways, or the run ends with an error. Memory is the largest resident
size of this process after a survey of 100 and after that of all.

``--page`` opens the page Checkpoints of the app on that root in Chromium instead: when the first rows are
there, how long a filter takes while the others are read, when all are there, how soon it stops. ``--write``
puts the figures into docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.settings import DEFAULTS, RootSettings, Settings
from core.storage import Requests
from core.storage.filesystems import forget
from core.survey import Survey, SurveyPlace, SurveyRow, search_root, survey_row
from scripts.bench.compare import plain_logs, plain_state
from scripts.bench.slow_s3 import SlowS3, serving
from scripts.bench.table import machine, put
from tests.support.app import running_app
from tests.support.build import SAMPLES, corpus_names, unpack_corpus

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = 50  # checkpoints of one folder
FEW = 20
ROOTS: Mapping[str, int | None] = {"all": None, "few": FEW, "some": 100}
WAIT_MS = 120_000
LOST_MS = 20_000  # a click without effect for so long is lost
MOST_CLICKS = 20
LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver(seen => seen.getEntries().forEach(one => window.longTasks.push(one.duration)))
  .observe({type: "longtask", buffered: true});
"""
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
OF_A_MOMENT = {"read_at_ms": 0, "age_seconds": None, "seconds": 0.0, "requests": Requests()}


def generate(directory: Path, checkpoints: int) -> int:
    """``all`` with so many checkpoints, ``few`` with the first 20 of them, ``some`` with the first 100;
    how many real ones there are."""
    real = directory / "real"
    for sample in sorted(SAMPLES.glob("*/checkpoint")):
        shutil.copytree(sample, real / sample.parent.name)
    for name in corpus_names():
        unpack_corpus(name, real)
    names = sorted(path.name for path in real.iterdir())
    for number in range(checkpoints):
        name = names[number % len(names)]
        place = f"team-{number // FOLDER:03}/{name}-{number:05}"
        for root in (name for name, most in ROOTS.items() if most is None or number < most):
            shutil.copytree(real / name, directory / root / place, copy_function=os.link)
    return len(names)


def settings_of(server: SlowS3, **chosen: int) -> Settings:
    """The roots, and no cache."""
    roots = {}
    for name in ROOTS:
        place = server.location(name)
        given = {"url": place.url, "storage_options": dict(place.storage_options)}
        roots[name] = RootSettings.model_validate(given)
    return DEFAULTS.model_copy(update={"roots": roots, "content_cache_bytes": 0, **chosen})


@dataclass(frozen=True)
class Measured:
    """A survey: seconds until the first row, until 20 rows and until all, its rows, and its requests."""

    first: float
    few: float
    all: float
    rows: list[SurveyRow]
    requests: dict[str, int]


def surveyed(root: str, settings: Settings, server: SlowS3) -> Measured:
    """Searches a root and reads all rows, as the command line does."""
    forget()
    server.stats()
    began = time.perf_counter()
    rows: list[SurveyRow] = []
    moments: list[float] = []
    for row in Survey([root], settings):
        rows.append(row)
        moments.append(time.perf_counter() - began)
    return Measured(moments[0], moments[FEW - 1], moments[-1], rows, server.stats())


def one_after_another(places: Sequence[SurveyPlace], settings: Settings) -> tuple[float, list[SurveyRow]]:
    """Seconds that a row takes when each waits for the one before it, and the rows."""
    began = time.perf_counter()
    found = [survey_row(place.location, settings) for place in places]
    seconds = (time.perf_counter() - began) / len(places)
    rows = zip(places, found, strict=True)
    return seconds, [replace(row, root=place.root, path=place.path) for place, row in rows]


def plainly(places: Sequence[SurveyPlace]) -> float:
    """Seconds that opening a checkpoint takes the plain way."""
    logs = plain_logs(100)
    began = time.perf_counter()
    for place in places:
        logs(place.location)
        plain_state(place.location)
    return (time.perf_counter() - began) / len(places)


def comparable(rows: Sequence[SurveyRow]) -> list[SurveyRow]:
    """Rows without what belongs to the moment of a survey."""
    return sorted((replace(row, **OF_A_MOMENT) for row in rows), key=lambda row: row.path)  # type: ignore[arg-type]


def resident_mb() -> float:
    """The largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(checkpoints: int, ms: float) -> list[str]:
    """Measures and gives the lines of the table."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/var/tmp") as scratch:
        directory = Path(scratch)
        real = generate(directory, checkpoints)
        with serving({name: directory / name for name in ROOTS}, ms) as server:
            settings = settings_of(server)
            surveyed("few", settings, server)  # imports and the first connection are not counted
            few = surveyed("few", settings, server)
            surveyed("some", settings, server)
            before = resident_mb()
            cpu = time.process_time()
            whole = surveyed("all", settings, server)
            cpu, after = time.process_time() - cpu, resident_mb()
            once = search_root("all", settings).places
            once = tuple(sorted(once, key=lambda place: place.path.rpartition("-")[2])[:real])
            alone, rows = one_after_another(once, settings)
            plain = plainly(once)
        forget()
    paths = {place.path for place in once}
    same = comparable([row for row in whole.rows if row.path in paths])
    for one, other in zip(comparable(rows), same, strict=True):
        if one != other:
            raise SystemExit(f"bench: not the same side by side and one after another: {one}, {other}")
    if len(whole.rows) != checkpoints:
        raise SystemExit(f"bench: {len(whole.rows)} rows of {checkpoints} checkpoints")
    asked = "/".join(str(whole.requests[kind]) for kind in ("list", "head", "get"))
    lines = [
        ("rows of 20 checkpoints, with the search", f"{few.all:.2f} s; the first after {few.first:.2f} s"),
        (f"first row of {checkpoints:,}, with the search", f"{whole.first:.2f} s"),
        (f"first 20 rows of {checkpoints:,}, with the search", f"{whole.few:.2f} s"),
        (f"all rows of {checkpoints:,}, with the search", f"**{whole.all:.1f} s**, {asked}"),
        (
            f"{checkpoints:,} opened one after another, the plain way",
            f"{plain * checkpoints:,.0f} s: **{plain * checkpoints / whole.all:.1f}×** as long",
        ),
        (
            f"{checkpoints:,} of the same rows, one after another",
            f"{alone * checkpoints:,.0f} s: **{alone * checkpoints / whole.all:.1f}×** as long",
        ),
        ("processor time of a row", f"{1000 * cpu / checkpoints:.0f} ms"),
        (
            "largest resident memory, with Python and its libraries",
            f"{before:.0f} MB after 100 checkpoints, {after:.0f} MB after {checkpoints:,}",
        ),
    ]
    return [
        "| what | measured |",
        "|---|---|",
        *(f"| {what} | {seen} |" for what, seen in lines),
        "",
        f"{ms:g} ms a request; requests as LIST/HEAD/GET. One after another: each of {real} real checkpoints"
        f" once, times {checkpoints / real:.1f}.",
        machine(),
    ]


def page(checkpoints: int, ms: float) -> list[str]:
    """Opens the page Checkpoints on them and gives the lines of its table."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory(prefix="bench-", dir="/var/tmp") as scratch:
        directory = Path(scratch)
        generate(directory, checkpoints)
        with serving({name: directory / name for name in ROOTS}, ms) as server:
            place = server.location("all")
            root = {"url": place.url, "storage_options": dict(place.storage_options)}
            roots = {"CHECKPOINT_EXPLORER_ROOTS": json.dumps({"all": root})}
            with running_app(environment=roots) as app, sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                try:
                    return _looked_at(browser.new_page(), app.address, checkpoints)
                finally:
                    browser.close()


def _looked_at(view: Page, address: str, checkpoints: int) -> list[str]:
    from playwright.sync_api import TimeoutError

    view.add_init_script(LONG_TASKS)
    began = time.perf_counter()
    view.goto(address)
    fails = view.get_by_test_id("stButtonGroup").get_by_text(re.compile(r"fail")).first
    progress = view.get_by_test_id("stProgress")
    view.get_by_text(re.compile(r"Read [1-9][\d,]* of")).first.wait_for(timeout=WAIT_MS)
    view.locator(".st-key-survey").first.wait_for(timeout=WAIT_MS)
    first = time.perf_counter() - began
    waits: list[float] = []
    lost = 0
    while progress.count() and len(waits) < MOST_CLICKS:
        clicked = time.perf_counter()
        fails.click(timeout=WAIT_MS)
        want = "start=fails" if len(waits) % 2 == 0 else None
        try:
            view.wait_for_function(
                "want => want ? location.search.includes(want) : !location.search.includes('start=')",
                arg=want,
                timeout=LOST_MS,
            )
        except TimeoutError:
            lost += 1
            continue
        view.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=WAIT_MS)
        waits.append(time.perf_counter() - clicked)
        view.wait_for_timeout(500)
    whole_text = view.get_by_text(re.compile(f"Read {checkpoints:,} of")).first
    whole_text.wait_for(timeout=10 * WAIT_MS)
    progress.wait_for(state="detached", timeout=WAIT_MS)
    whole = time.perf_counter() - began
    longest = view.evaluate("Math.max(0, ...window.longTasks)")
    view.get_by_role("button", name="Read again").click(timeout=WAIT_MS)
    stop = view.get_by_role("button", name="Stop")
    stop.last.wait_for(timeout=WAIT_MS)
    view.get_by_text(re.compile(r"Read [1-9][\d,]* of")).first.wait_for(timeout=WAIT_MS)
    clicked = time.perf_counter()
    view.get_by_test_id("stMain").get_by_role("button", name="Stop").click(timeout=WAIT_MS)
    progress.wait_for(state="detached", timeout=WAIT_MS)
    stopped = time.perf_counter() - clicked
    text = view.get_by_text(re.compile(r"Read [\d,]+ of [\d,]+ checkpoints in")).first.inner_text()
    kept = re.findall(r"Read ([\d,]+) of", text)[0]
    lines = [
        ("first rows in the table", f"{first:.1f} s"),
        (
            f"a filter, {len(waits)} times while rows arrive",
            f"median {statistics.median(waits):.1f} s, longest {max(waits):.1f} s; {lost} clicks lost",
        ),
        ("longest time in which the browser did nothing else", f"{longest / 1000:.2f} s"),
        ("all rows, with their charts", f"{whole:.1f} s"),
        ("Read again, then Stop", f"stopped after {stopped:.1f} s, with {kept} rows"),
    ]
    rows = [f"| {what} | {seen} |" for what, seen in lines]
    return ["| what | measured |", "|---|---|", *rows, "", f"{checkpoints:,} checkpoints. {machine()}"]


def main(arguments: list[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--checkpoints", type=int, default=1_000)
    parser.add_argument("--ms", type=float, default=30, help="latency of a request")
    parser.add_argument("--page", action="store_true", help="the page Checkpoints instead")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/performance.md")
    args = parser.parse_args(arguments)
    lines = (page if args.page else table)(args.checkpoints, args.ms)
    print("\n".join(lines))
    if args.write:
        put("survey page" if args.page else "survey", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
