"""Words for every chart, nothing asked from other hosts, little sent."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.conftest import Visiting
from tests.pages.test_hostile import MARK, hostile_checkpoint
from tests.spark.cases import BEFORE_RELEASE
from tests.support.build import kafka_checkpoint

WITH_CHARTS = (
    "/timeline?ck=samples/kafka-pipeline-died-mid-batch/checkpoint&batch=3",
    "/state?ck=samples/windowed-aggregation-hot-partition/checkpoint&partition=3",
    "/watermark?ck=samples/join-watermark-held-back/checkpoint",
    "/ends?ck=samples/delta-batch-already-in-table/checkpoint"
    "&sink=samples/delta-batch-already-in-table/sink&at_0=samples/delta-batch-already-in-table/source&batch=3",
)
MOST_BYTES = 300_000
BATCHES = 20_000


def test_every_chart_has_words_for_those_who_cannot_see_it(visit: Visiting) -> None:
    one = visit()
    for path in WITH_CHARTS:
        page = one.open(path)
        charts = page.locator('[data-testid="stPlotlyChart"]')
        charts.first.wait_for()
        for at in range(charts.count()):
            assert charts.nth(at).locator("xpath=descendant-or-self::*[@aria-label]").count() > 0, path


def test_a_request_to_another_host_is_noticed_and_reaches_nobody(visit: Visiting) -> None:
    """What every other test of a page relies on."""
    one = visit()
    page, asked = one.open("/"), ["http://host.example/", "http://192.0.2.1/"]
    for url in asked:
        assert page.evaluate("url => fetch(url, {mode: 'no-cors'}).then(() => 'sent', String)", url) != "sent"
    assert one.foreign == asked
    one.foreign.clear()


def test_hostile_text_asks_no_other_host_and_makes_no_link(visit: Visiting, tmp_path: Path) -> None:
    root = hostile_checkpoint(tmp_path / "ck")
    one = visit()
    for path in ("/overview", "/timeline", "/watermark", "/recovery"):
        page = one.open(f"{path}?ck={root}")
        page.wait_for_timeout(300)  # an image that is asked for would be asked for by now
        assert page.locator(f'[src*="{MARK}"], [href*="{MARK}"]').count() == 0, path
        assert page.locator('[data-testid="stMarkdownContainer"] img').count() == 0, path
    assert one.foreign == []


@pytest.fixture(scope="module")
def long_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = kafka_checkpoint(tmp_path_factory.mktemp("long"), range(BATCHES), commits=range(BATCHES - 1))
    for log, after in (("offsets", 40), ("commits", 3_040)):
        for path in (root / log).iterdir():
            ms = 1_795_176_000_000 + int(path.name) * 10_000 + after
            os.utime(path, ns=(ms * 1_000_000, ms * 1_000_000))
    return root


@pytest.mark.parametrize("name", ["overview", "timeline", "watermark", "recovery"])
def test_a_page_about_20_000_batches_sends_less_than_300_kb(
    visit: Visiting, long_one: Path, name: str
) -> None:
    one = visit()
    one.open(f"/{name}?ck={long_one}")
    one.wait_for_text(f"Spark will re-run batch {BATCHES - 1}")
    one.settle()
    assert 0 < one.received_bytes < MOST_BYTES


@BEFORE_RELEASE
def test_a_click_in_the_strip_of_all_batches_moves_the_window(visit: Visiting, long_one: Path) -> None:
    from tests.browser.conftest import click_mark

    one = visit()
    page = one.open(f"/timeline?ck={long_one}")
    click_mark(page, "strip", 5024)
    page.wait_for_url("**last=**")
    last = int(parse_qs(urlsplit(page.url).query)["last"][0])
    assert abs(last - 5074) <= 500, "bins are two pixels wide: the click may take a neighbour"
    one.wait_for_text(f"Batches {last - 99} to {last} of 20,000 batches")
    before = one.received_bytes
    click_mark(page, "marks", last - 50)
    page.wait_for_url(f"**batch={last - 50}**")
    one.settle()
    assert one.received_bytes - before < MOST_BYTES


@pytest.mark.parametrize(
    "answers",
    [
        "files-died-mid-batch/checkpoint",
        "dropduplicates-removed/checkpoint&a_sink=file&a_stateful=removed",
        "missing-delta-file/checkpoint&a_sink=foreach_merge",
    ],
)
def test_what_to_paste_stands_within_a_screen_and_a_half_on_a_page_of_500_words(
    visit: Visiting, answers: str
) -> None:
    one = visit()
    page = one.open(f"/recovery?ck=samples/{answers}")
    page.set_viewport_size({"width": 1280, "height": 900})
    code = page.locator('[data-testid="stMain"] [data-testid="stCode"]').first
    code.wait_for()
    box = code.bounding_box()
    assert box is not None and box["y"] + box["height"] <= 1350
    assert "WRITER = {" in code.inner_text()
    words = one.text().split()
    assert 150 < len(words) <= 500, len(words)
