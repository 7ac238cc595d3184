"""The memory of the app while 50 large checkpoints are opened, one after another, and after the last page of
them is closed.

    .venv/bin/python -m scripts.bench.app_memory [--checkpoints 50] [--write]

A real server and a real Chromium. Each checkpoint has a path of its own, so that the app shares nothing
between them. The first one is opened, looked at on every page and given back before anything is measured:
that is the start. ``--write`` puts the table into docs/performance.md. Exit status 1 when the memory at the
end is more than 20 % above that of the start.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from scripts.bench.large_checkpoint import Shape, write
from scripts.bench.page_switch import AT_REST, PAGES, SECONDS, Server, server
from scripts.bench.table import machine, put

SHAPE = Shape(batches=20_000, partitions=200, versions=10, topic_partitions=20)
KEPT_SECONDS = (
    60  # of the app, in place of its quarter of an hour; a page that is open counts each half minute
)
ALLOWED = 1.2


def resident_mib(pid: int) -> float:
    """The resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def looked_at(browser: Browser, one: Server, place: Path, titles: tuple[str, ...]) -> None:
    """Opens a checkpoint in a tab of its own, goes to some pages and closes the tab."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(SECONDS * 1_000)
    page.goto(f"{one.address}/overview?ck={place}")
    page.locator(".st-key-verdict").wait_for()
    for title in titles:
        page.get_by_test_id("stSidebarNavLink").filter(has_text=title).click()
        page.wait_for_selector(f'[data-testid="stSidebarNavLink"][aria-current="page"]:has-text("{title}")')
        page.wait_for_selector(AT_REST)
    page.close()


def given_back_mib(one: Server) -> float:
    """The memory once it has not become less for some seconds, after the time for which it is kept."""
    time.sleep(KEPT_SECONDS)
    least, since = resident_mib(one.pid), time.monotonic()
    while time.monotonic() - since < KEPT_SECONDS:
        time.sleep(2)
        now = resident_mib(one.pid)
        if now < least - 1:
            least, since = now, time.monotonic()
    return least


def measured(count: int) -> list[tuple[str, float]]:
    """What the server held at each step."""
    found = []
    chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    environment = {
        "CHECKPOINT_EXPLORER_OPEN_CHECKPOINT_SECONDS": str(KEPT_SECONDS),
        "CHECKPOINT_EXPLORER_LOOK_FOR_NEW_SECONDS": "0",
    }
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        write(Path(folder) / "real", SHAPE)
        places = [Path(folder) / f"ck{at}" for at in range(count + 1)]
        for place in places:
            place.symlink_to("real")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with server("server.py", environment) as one:
            looked_at(browser, one, places[0], PAGES)
            found.append(("one looked at, and closed", given_back_mib(one)))
            for at, place in enumerate(places[1:], start=1):
                looked_at(browser, one, place, ("State",))
                if at in (1, 10, count):
                    found.append((f"{at} opened, each closed before the next", resident_mib(one.pid)))
            found.append(("all given back", given_back_mib(one)))
        browser.close()
    return found


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="The memory of the app that opens many checkpoints.")
    parser.add_argument("--checkpoints", type=int, default=50)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    given = parser.parse_args()
    found = measured(given.checkpoints)
    start, end = found[0][1], found[-1][1]
    lines = ["| checkpoints | resident |", "|---|---|"]
    lines += [f"| {step} | {mib:.0f} MiB |" for step, mib in found]
    lines += [
        "",
        f"At the end {end / start - 1:+.0%} against the start. {SHAPE.batches:,} batches and"
        f" {SHAPE.partitions * 11:,} state files each; kept for {KEPT_SECONDS} s"
        f" after the last page. {machine()}",
    ]
    print("\n".join(lines))
    if given.write:
        put("app memory", lines)
    return 0 if end <= ALLOWED * start else 1


if __name__ == "__main__":
    sys.exit(main())
