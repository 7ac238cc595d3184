"""What a warm page switch costs a server, against a rerun of an empty Streamlit script: processor time of the
server process, and requests to the store.

    .venv/bin/python -m scripts.bench.page_switch [--rounds 4] [--write]

Real servers, a real Chromium that clicks the menu, checkpoints on a model of S3. In one run: an empty script
(a text and a button that is clicked), and the app with and without setting aside what survived a garbage
collection (``gc.freeze``). Each page is opened twice before anything is measured; nobody looks for newer
batches meanwhile. Processor time is that of /proc, in ticks of 10 ms, so it is added up over the rounds.
``--write`` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from scripts.bench.large_checkpoint import Shape, write
from scripts.bench.slow_s3 import SlowS3, serving
from scripts.bench.table import DOCUMENT, machine
from tests.support.app import free_port

PROJECT = Path(__file__).resolve().parents[2]
PAGES = (
    "Overview",
    "Timeline",
    "State",
    "Watermark",
    "Source & sink",
    "Integrity",
    "Compare",
    "Recovery",
)
SHAPES = {
    "100 batches, 20 partitions": Shape(batches=100, partitions=20, versions=10),
    "20,000 batches, 200 partitions": Shape(batches=20_000, partitions=200, versions=10, topic_partitions=20),
}
EMPTY = 'import streamlit as st\nst.text("empty")\nst.button("Again")\n'
WITHOUT = "import gc\ngc.freeze = lambda: None\n"
SECONDS = 120
TICKS = os.sysconf("SC_CLK_TCK")
AT_REST = '[data-testid="stApp"][data-test-script-state="notRunning"]'


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    address: str
    pid: int

    def cpu_ms(self) -> float:
        """The processor time that it has used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1_000 / TICKS


@dataclass(frozen=True)
class Cost:
    """The mean processor time of a switch to each page, and all requests to the store meanwhile."""

    cpu_ms: Mapping[str, float]
    requests: int

    @property
    def mean_ms(self) -> float:
        """Over all pages."""
        return sum(self.cpu_ms.values()) / len(self.cpu_ms)


@contextmanager
def server(script: str, environment: Mapping[str, str]) -> Iterator[Server]:
    """A Streamlit server of its own on a free port."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port)]
    known = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CHECKPOINT_", "STREAMLIT_"))
    }
    with subprocess.Popen(
        command,
        cwd=PROJECT,
        env={**known, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _wait(port)
            yield Server(f"http://127.0.0.1:{port}", process.pid)
        finally:
            process.terminate()


def _wait(port: int) -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("The server did not answer.")


def settle(page: Page, server: Server) -> float:
    """Waits until the app is at rest and its process uses no time any more; gives what it has used."""
    page.wait_for_selector(AT_REST)
    page.wait_for_function("!document.querySelector('[data-testid=\"stSkeleton\"]')")
    before, still = server.cpu_ms(), 0
    while still < 3:
        page.wait_for_timeout(100)
        now = server.cpu_ms()
        still = still + 1 if now == before else 0
        before = now
    return before


def empty_rerun_ms(page: Page, server: Server, times: int) -> float:
    """The mean processor time of a rerun of the empty script."""
    page.set_default_timeout(SECONDS * 1_000)
    page.goto(server.address)
    again = page.get_by_role("button", name="Again")
    for _ in range(4):
        again.click()
        settle(page, server)
    before = settle(page, server)
    for _ in range(times):
        again.click()
        settle(page, server)
    return (settle(page, server) - before) / times


def switches(page: Page, server: Server, store: SlowS3, name: str, rounds: int) -> Cost:
    """Opens a checkpoint, each page twice, then measures each page so many times."""
    page.set_default_timeout(SECONDS * 1_000)
    page.goto(f"{server.address}/overview?ck=store/{name}")
    page.locator(".st-key-verdict").wait_for()
    settle(page, server)
    used = dict.fromkeys(PAGES, 0.0)
    for at in range(rounds + 2):
        if at == 2:
            store.stats()
        for title in PAGES:
            before = settle(page, server)
            link = page.get_by_test_id("stSidebarNavLink").filter(has_text=title)
            link.click()
            page.wait_for_selector(
                f'[data-testid="stSidebarNavLink"][aria-current="page"]:has-text("{title}")'
            )
            after = settle(page, server)
            if at >= 2:
                used[title] += after - before
    asked = store.stats()
    requests = sum(asked.get(kind, 0) for kind in ("list", "head", "get"))
    return Cost({title: ms / rounds for title, ms in used.items()}, requests)


def measured(rounds: int) -> tuple[float, dict[str, dict[str, Cost]]]:
    """The empty rerun, and the cost for each checkpoint with and without setting aside."""
    found: dict[str, dict[str, Cost]] = {name: {} for name in SHAPES}
    chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        place = Path(folder)
        for at, shape in enumerate(SHAPES.values()):
            write(place / "bucket" / f"ck{at}", shape)
        (place / "empty.py").write_text(EMPTY)
        (place / "without").mkdir()
        (place / "without" / "sitecustomize.py").write_text(WITHOUT)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with server(str(place / "empty.py"), {}) as one:
            empty_ms = empty_rerun_ms(browser.new_page(), one, rounds * len(PAGES))
        with serving({"bucket": place / "bucket"}, ms=30) as store:
            options = store.location("bucket").storage_options
            roots = {"store": {"url": "s3://bucket", "storage_options": dict(options)}}
            environment = {
                "CHECKPOINT_EXPLORER_ROOTS": json.dumps(roots),
                "CHECKPOINT_EXPLORER_LOOK_FOR_NEW_SECONDS": "0",
            }
            ways = {"with": {}, "without": {"PYTHONPATH": str(place / "without")}}
            for way, more in ways.items():
                with server("server.py", {**environment, **more}) as one:
                    for at, name in enumerate(SHAPES):
                        page = browser.new_page(viewport={"width": 1280, "height": 900})
                        found[name][way] = switches(page, one, store, f"ck{at}", rounds)
                        page.close()
        browser.close()
    return empty_ms, found


def table(empty_ms: float, found: Mapping[str, Mapping[str, Cost]], rounds: int) -> str:
    """The results in Markdown."""
    lines = [
        "| page | " + " | ".join(f"{name}: `gc.freeze` | none" for name in found) + " |",
        "|---|" + "---|" * (2 * len(found)),
    ]
    for title in PAGES:
        cells = [_cell(costs[way].cpu_ms[title], empty_ms) for costs in found.values() for way in costs]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    means = [f"**{_cell(costs[way].mean_ms, empty_ms)}**" for costs in found.values() for way in costs]
    requests = [str(costs[way].requests) for costs in found.values() for way in costs]
    lines += [
        f"| all pages | {' | '.join(means)} |",
        f"| requests to the store | {' | '.join(requests)} |",
        "",
        f"An empty rerun: {empty_ms:.0f} ms. Milliseconds of the server's processor and how many empty reruns"
        f" that is, mean of {rounds} switches to each page. {machine()}",
    ]
    return "\n".join(lines)


def _cell(ms: float, empty_ms: float) -> str:
    return f"{ms:.0f} ms, {ms / empty_ms:.1f}×"


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="What a warm page switch costs.")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--write", action="store_true", help="into docs/performance.md")
    given = parser.parse_args()
    text = table(*measured(given.rounds), given.rounds)
    print(text)
    if given.write:
        begin, end = "<!-- begin pages -->\n", "\n<!-- end pages -->"
        pattern = re.compile(f"(?<={re.escape(begin)}).*?(?={re.escape(end)})", re.DOTALL)
        document = DOCUMENT.read_text(encoding="utf-8")
        DOCUMENT.write_text(pattern.sub(lambda _: text, document), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
