"""Takes pictures of every page of the real app on the samples: ``.venv/bin/python scripts/screenshots.py OUT [page ...]``.

Each page in both themes and at both widths, 1280 and 390 pixels, as ``OUT/<page>-<theme>-<width>.png``. Needs Chromium
(``CHROMIUM`` in the environment, else /usr/bin/chromium).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.app import running_app

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
WIDTHS = {1280: 900, 390: 844}

VIEWS = {
    "checkpoints": "/",
    "overview": "/overview?ck=samples/files-died-mid-batch/checkpoint",
    "overview-stateful": "/overview?ck=samples/windowed-aggregation-hot-partition/checkpoint",
    "timeline": "/timeline?ck=samples/dropduplicates-removed/checkpoint&batch=12",
    "timeline-time": "/timeline?ck=samples/files-stopped-cleanly/checkpoint&x=time",
    "state": "/state?ck=samples/windowed-aggregation-hot-partition/checkpoint",
    "watermark": "/watermark?ck=samples/join-watermark-held-back/checkpoint",
    "recovery": "/recovery?ck=samples/dropduplicates-removed/checkpoint",
    "nothing-there": "/overview?ck=samples/nothing-there",
}


def settle(page: Page) -> None:
    """Waits until the app has drawn everything."""
    page.locator(".st-key-header").wait_for()
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.wait_for_function("!document.querySelector('[data-testid=\"stSkeleton\"]')")
    page.wait_for_timeout(900)  # drawing of the charts has no event to wait for


def main() -> None:
    """Takes the pictures."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    wanted = {name: path for name, path in VIEWS.items() if len(sys.argv) < 3 or name in sys.argv[2:]}
    with running_app() as app, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for theme in ("light", "dark"):
            for width, height in WIDTHS.items():
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
                page = context.new_page()
                for name, path in wanted.items():
                    page.goto(app.address + path)
                    settle(page)
                    _grow(page, width)
                    page.screenshot(path=out / f"{name}-{theme}-{width}.png")
                    page.set_viewport_size({"width": width, "height": height})
                context.close()
        browser.close()


def _grow(page: Page, width: int) -> None:
    """The page scrolls inside the window; a window as high as its content shows all of it."""
    height = page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollHeight")
    page.set_viewport_size({"width": width, "height": min(max(int(height), 700), 6000)})
    settle(page)


if __name__ == "__main__":
    main()
