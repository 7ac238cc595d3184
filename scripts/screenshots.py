"""Takes pictures of every page of the real app on the samples: ``.venv/bin/python scripts/screenshots.py OUT [page ...]``.

Each page in both themes and at both widths, 1280 and 390 pixels, as ``OUT/<page>-<theme>-<width>.png``, to be looked at after a change.
``--readme`` in place of OUT takes the pictures of the README instead (``docs/pictures``). Needs Chromium (``CHROMIUM`` in the
environment, else /usr/bin/chromium).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.app import running_app

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
WIDTHS = {1280: 900, 390: 844}

VIEWS = {
    "checkpoints": "/",
    "overview": "/overview?ck=samples/files-died-mid-batch/checkpoint",
    "overview-stateful": "/overview?ck=samples/windowed-aggregation-hot-partition/checkpoint",
    "timeline": "/timeline?ck=samples/dropduplicates-removed/checkpoint&batch=12",
    "timeline-time": "/timeline?ck=samples/files-stopped-cleanly/checkpoint&x=time",
    "state": "/state?ck=samples/windowed-aggregation-hot-partition/checkpoint",
    "watermark": "/watermark?ck=samples/join-watermark-held-back/checkpoint",
    "integrity": "/integrity?ck=samples/missing-delta-file/checkpoint",
    "recovery": "/recovery?ck=samples/dropduplicates-removed/checkpoint",
    "nothing-there": "/overview?ck=samples/nothing-there",
}


def settle(page: Page) -> None:
    """Waits until the app has drawn everything."""
    page.locator(".st-key-header").wait_for()
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.wait_for_function("!document.querySelector('[data-testid=\"stSkeleton\"]')")
    page.wait_for_load_state("networkidle")  # parts of the page are fetched when they are first needed
    page.wait_for_timeout(900)  # drawing of the charts has no event to wait for


# name -> address, theme, width, height: what the README shows, from the top of the page
README = {
    "overview": ("/overview?ck=samples/kafka-pipeline-died-mid-batch/checkpoint", "light", 1280, 860),
    "timeline": ("/timeline?ck=samples/kafka-topic-gained-partitions/checkpoint&batch=12", "light", 1280, 1150),
    "state": ("/state?ck=samples/windowed-aggregation-hot-partition/checkpoint", "dark", 1280, 900),
    "watermark": ("/watermark?ck=samples/join-watermark-held-back/checkpoint", "light", 1280, 1000),
    "recovery": ("/recovery?ck=samples/dropduplicates-removed/checkpoint&a_sink=file&a_stateful=removed", "light", 1280, 1000),
    "phone": ("/overview?ck=samples/kafka-pipeline-died-mid-batch/checkpoint", "dark", 390, 844),
}


def main() -> None:
    """Takes the pictures."""
    with running_app() as app, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        if sys.argv[1] == "--readme":
            for name, (path, theme, width, height) in README.items():
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
                _take(context.new_page(), app.address + path, PICTURES / f"{name}.png")
                context.close()
        else:
            _all(browser, app.address, Path(sys.argv[1]), sys.argv[2:])
        browser.close()


def _all(browser: Browser, address: str, out: Path, only: list[str]) -> None:
    for theme in ("light", "dark"):
        for width, height in WIDTHS.items():
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
            page = context.new_page()
            for name, path in VIEWS.items():
                if not only or name in only:
                    _take(page, address + path, out / f"{name}-{theme}-{width}.png", whole=True)
                    page.set_viewport_size({"width": width, "height": height})
            context.close()


def _take(page: Page, address: str, file: Path, whole: bool = False) -> None:
    page.goto(address)
    settle(page)
    if whole:  # the page scrolls inside the window; a window as high as its content shows all of it
        height = page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollHeight")
        page.set_viewport_size({"width": page.viewport_size["width"], "height": min(max(int(height), 700), 6000)})
        settle(page)
    file.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=file)


if __name__ == "__main__":
    main()
