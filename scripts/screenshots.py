"""Takes pictures of every page of the real app on the samples: ``.venv/bin/python scripts/screenshots.py OUT
[page ...]``.

Each page in both themes and at both widths, 1280 and 390 pixels, as ``OUT/<page>-<theme>-<width>.png``, to be
looked at after a change. ``--samples OUT [sample ...]`` takes every page of every sample instead, in the same
four looks, and lays those of one page and look side by side (``OUT/sheets``). ``--readme`` in place of OUT
takes the pictures of the README (``docs/pictures``), with a real Kafka broker for the one that shows topics.
Needs Chromium (``CHROMIUM`` in the environment, else /usr/bin/chromium) and for the README ``scripts/setup
tests``.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.app import running_app
from tests.support.build import SAMPLES, sample_names
from tests.support.kafka import Broker

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
WIDTHS = {1280: 900, 390: 844}
SLOWEST_MS = 120_000  # other work may run on the machine

VIEWS = {
    "checkpoints": "/",
    "checkpoints-age": "/?chart=age",
    "checkpoints-cost": "/?chart=cost",
    "overview": "/overview?ck=samples/files-died-mid-batch/checkpoint",
    "overview-stateful": "/overview?ck=samples/windowed-aggregation-hot-partition/checkpoint",
    "timeline": "/timeline?ck=samples/dropduplicates-removed/checkpoint&batch=12",
    "timeline-time": "/timeline?ck=samples/files-stopped-cleanly/checkpoint&x=time",
    "state": "/state?ck=samples/windowed-aggregation-hot-partition/checkpoint",
    "state-rows": "/state?ck=samples/windowed-aggregation-hot-partition/checkpoint&find=largest_values",
    "state-missing": "/state?ck=samples/missing-delta-file/checkpoint&find=first",
    "watermark": "/watermark?ck=samples/join-watermark-held-back/checkpoint",
    "ends": "/ends?ck=samples/delta-batch-already-in-table/checkpoint&batch=3"
    "&sink=samples/delta-batch-already-in-table/sink&at_0=samples/delta-batch-already-in-table/source",
    "ends-empty": "/ends?ck=samples/kafka-pipeline-died-mid-batch/checkpoint",
    "integrity": "/integrity?ck=samples/missing-delta-file/checkpoint",
    "compare": "/compare?ck=samples/files-died-mid-batch/checkpoint"
    "&with=samples/files-stopped-cleanly/checkpoint",
    "compare-state": "/compare?ck=samples/windowed-aggregation-hot-partition/checkpoint"
    "&with=samples/join-watermark-held-back/checkpoint&depth=bytes",
    "compare-empty": "/compare?ck=samples/files-died-mid-batch/checkpoint",
    "recovery": "/recovery?ck=samples/dropduplicates-removed/checkpoint",
    "nothing-there": "/overview?ck=samples/nothing-there",
}


def settle(page: Page) -> None:
    """Waits until the app has drawn everything."""
    page.set_default_timeout(SLOWEST_MS)
    page.locator(".st-key-header").wait_for()
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.wait_for_function("!document.querySelector('[data-testid=\"stSkeleton\"]')")
    page.wait_for_load_state("networkidle")  # parts of the page are fetched when they are first needed
    page.wait_for_timeout(900)  # drawing of the charts has no event to wait for


# name -> address, theme, width, height: what the README shows, from the top of the page
README: dict[str, tuple[str, Literal["light", "dark"], int, int]] = {
    "overview": ("/overview?ck=samples/kafka-pipeline-died-mid-batch/checkpoint", "light", 1280, 905),
    "timeline": (
        "/timeline?ck=samples/kafka-topic-gained-partitions/checkpoint&batch=12",
        "light",
        1280,
        1150,
    ),
    "state": ("/state?ck=samples/windowed-aggregation-hot-partition/checkpoint", "dark", 1280, 900),
    "watermark": ("/watermark?ck=samples/join-watermark-held-back/checkpoint", "light", 1280, 1000),
    "ends": ("/ends?ck=samples/kafka-pipeline-died-mid-batch/checkpoint&kafka=prod", "light", 1280, 1230),
    "recovery": (
        "/recovery?ck=samples/dropduplicates-removed/checkpoint&a_sink=file&a_stateful=removed",
        "light",
        1280,
        818,  # below stands a path of the machine that takes the picture
    ),
    "phone": ("/overview?ck=samples/kafka-pipeline-died-mid-batch/checkpoint", "dark", 390, 844),
}


# topic -> partition -> (records, those that have expired): what the query of the Kafka sample reads, some
# days later
TOPICS = {
    "orders": {0: (300, 231), 1: (260, 184), 2: (190, 60)},
    "refunds": {0: (100, 20), 1: (80, 20), 2: (45, 20)},
}


def main() -> None:
    """Takes the pictures."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        if sys.argv[1] == "--readme":
            with broker() as kafka, running_app(environment=kafka) as app:
                for name, (path, theme, width, height) in README.items():
                    if sys.argv[2:] and name not in sys.argv[2:]:
                        continue
                    context = browser.new_context(
                        viewport={"width": width, "height": height}, color_scheme=theme
                    )
                    _take(context.new_page(), app.address + path, PICTURES / f"{name}.png")
                    context.close()
        elif sys.argv[1] == "--samples":
            with running_app() as app:
                _samples(browser, app.address, Path(sys.argv[2]), sys.argv[3:] or sample_names())
        else:
            with running_app() as app:
                _all(browser, app.address, Path(sys.argv[1]), sys.argv[2:])
        browser.close()


@contextmanager
def broker() -> Iterator[dict[str, str]]:
    """A real broker with the topics of the Kafka sample; gives the setting that names it."""
    with tempfile.TemporaryDirectory() as folder:
        kafka = Broker(Path(folder) / "kafka")
        kafka.start()
        try:
            then_ms = int(time.time() * 1000) - 2 * 86_400_000
            for topic, partitions in TOPICS.items():
                kafka.create_topic(topic, len(partitions), {"retention.ms": str(7 * 86_400_000)})
                for partition, (records, _) in partitions.items():
                    kafka.produce(topic, map(str, range(records)), partition, timestamp_ms=then_ms)
                kafka.delete_records(topic, {partition: gone for partition, (_, gone) in partitions.items()})
            properties = Path(folder) / "prod.properties"
            properties.write_text(f"bootstrap.servers={kafka.bootstrap}\n")
            yield {"CHECKPOINT_EXPLORER_KAFKA": json.dumps({"prod": str(properties)})}
        finally:
            kafka.stop()


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


def _query_of(sample: str, page: str) -> str:
    """The address of a page of a sample, with what there is to show on it."""
    query = f"ck=samples/{sample}/checkpoint"
    if page == "ends":
        query += f"&sink=samples/{sample}/sink" if (SAMPLES / sample / "sink").is_dir() else ""
        query += f"&at_0=samples/{sample}/source" if (SAMPLES / sample / "source").is_dir() else ""
    return query + ("&with=samples/files-stopped-cleanly/checkpoint" if page == "compare" else "")


def _samples(browser: Browser, address: str, out: Path, samples: list[str]) -> None:
    """Every page of these samples. The dark look is that of the same drawing with another scheme."""
    pages = ("overview", "timeline", "state", "watermark", "ends", "integrity", "compare", "recovery")
    for width, height in WIDTHS.items():
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="light")
        page = context.new_page()
        for sample in samples:
            for name in pages:
                page.emulate_media(color_scheme="light")
                page.set_viewport_size({"width": width, "height": height})
                file = out / f"{width}-light-{name}" / f"{sample}.png"
                _take(page, f"{address}/{name}?{_query_of(sample, name)}", file, whole=True)
                page.emulate_media(color_scheme="dark")
                page.wait_for_timeout(400)
                dark = out / f"{width}-dark-{name}" / f"{sample}.png"
                dark.parent.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=dark)
        context.close()
    for folder in sorted(each for each in out.iterdir() if each.is_dir() and each.name != "sheets"):
        _sheets(folder, out / "sheets")


def _sheets(folder: Path, out: Path) -> None:
    """The pictures of a folder beside each other, those of a wide window at half of their size."""
    is_wide = folder.name.startswith("1280")
    across, scale = (4, 0.5) if is_wide else (8, 0.75)
    out.mkdir(parents=True, exist_ok=True)
    files = sorted(folder.glob("*.png"))
    for first in range(0, len(files), across):
        pictures: list[Image.Image] = []
        for file in files[first : first + across]:
            with Image.open(file) as picture:
                size = (round(picture.width * scale), round(picture.height * scale))
                pictures.append(picture.convert("RGB").resize(size))
        sheet = Image.new(
            "RGB",
            (sum(each.width + 8 for each in pictures), max(each.height for each in pictures)),
            "#888888",
        )
        at = 0
        for each in pictures:
            sheet.paste(each, (at, 0))
            at += each.width + 8
        sheet.save(out / f"{folder.name}-{first // across}.png")


def _take(page: Page, address: str, file: Path, whole: bool = False) -> None:
    page.goto(address)
    settle(page)
    if whole:  # the page scrolls inside the window; a window as high as its content shows all of it
        height = page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollHeight")
        size = page.viewport_size
        assert size is not None
        page.set_viewport_size({"width": size["width"], "height": min(max(int(height), 700), 6000)})
        settle(page)
    file.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=file)


if __name__ == "__main__":
    main()
