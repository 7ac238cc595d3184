"""The line with the verdict stays in view on every page, is one or two lines (three on a phone) and is printed once; the
report asks nobody and has no barrier."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.cli import main
from tests.browser.conftest import Visiting
from tests.browser.test_axe import violations
from tests.spark.cases import BEFORE_RELEASE

FAILS = "ck=samples/missing-delta-file/checkpoint"
WORKS = "ck=samples/windowed-aggregation-hot-partition/checkpoint"
BOX = """() => {
  const box = document.querySelector('.st-key-header').getBoundingClientRect();
  return {top: box.top, height: box.height, on_top:
    document.elementFromPoint(box.left + 60, box.top + box.height / 2).closest('.st-key-header') !== null};
}"""
DRAWN_INSIDE = """it => {
  const words = document.createRange();
  words.selectNodeContents(it.querySelector('span').firstChild);
  const drawn = words.getBoundingClientRect(), box = it.getBoundingClientRect();
  return drawn.right <= box.right + 1 && drawn.bottom <= box.bottom + 1;
}"""


@pytest.mark.parametrize(("width", "most"), [pytest.param(1280, 60, marks=BEFORE_RELEASE), (390, 80)])
def test_the_verdict_stays_in_view_on_every_page(visit: Visiting, width: int, most: int) -> None:
    one = visit(width=width)
    for name in ("overview", "timeline", "state", "integrity", "recovery"):
        page = one.open(f"/{name}?{FAILS}")
        one.wait_for_text("fails in batch 10")
        page.locator('[data-testid="stMain"]').evaluate("main => { main.scrollTop = 700; }")
        page.wait_for_function("document.querySelector('.st-key-header').getBoundingClientRect().top >= 0")
        found = page.evaluate(BOX)
        assert found["on_top"], name
        assert found["top"] <= 1 and found["height"] <= most, (name, found)
        assert page.locator(".st-key-verdict").inner_text() == "▲ fails in batch 10"
        opens = page.get_by_test_id("stExpandSidebarButton")  # shown while the menu is closed, as on a phone
        assert opens.is_visible() == (width == 390)
        left = page.locator(".st-key-header > :first-child").bounding_box()
        if opens.is_visible() and (button := opens.bounding_box()) and left:
            assert left["x"] >= button["x"] + button["width"] - 4, (name, "the button lies on the name")


def test_a_query_that_resumes_says_its_sentence_in_the_header_only(visit: Visiting) -> None:
    one = visit()
    page = one.open(f"/timeline?{WORKS}")
    one.wait_for_text("Spark will resume with batch 10")
    assert page.get_by_text("Spark will resume with batch 10").count() == 1
    one.open(f"/overview?{WORKS}")
    one.wait_for_text("Spark will resume with batch 10")
    assert page.locator(".st-key-verdict").inner_text() == "● resumes with batch 10"


@pytest.mark.parametrize(("width", "most"), [(1280, 60), (390, 100)])
def test_the_sentence_in_the_header_is_not_cut(visit: Visiting, width: int, most: int) -> None:
    """It stands nowhere else on the page, and a finger does not hover: two lines are enough for it."""
    one = visit(width=width)
    page = one.open(f"/timeline?{WORKS}")
    one.wait_for_text("Spark will resume with batch 10")
    text = page.locator('.st-key-verdict [data-testid="stText"]')
    assert text.evaluate(DRAWN_INSIDE)
    assert page.evaluate(BOX)["height"] <= most


def test_a_long_name_leaves_room_for_the_verdict_and_the_link(visit: Visiting, tmp_path: Path) -> None:
    (tmp_path / ("d" * 200) / "offsets").mkdir(parents=True)
    one = visit()
    page = one.open(f"/timeline?ck={tmp_path / ('d' * 200)}")
    one.wait_for_text("starts from scratch")
    verdict, link = page.locator(".st-key-verdict"), page.get_by_role("button", name="Copy link")
    verdict_box, link_box = verdict.bounding_box(), link.bounding_box()
    assert verdict_box is not None and link_box is not None
    assert verdict_box["width"] > 150 and link_box["x"] + link_box["width"] < 1280
    link.click()  # nothing lies on it


def test_a_screen_reader_finds_the_headings(visit: Visiting) -> None:
    page = visit().open(f"/integrity?{FAILS}")
    page.get_by_role("heading", name="Findings", level=2).wait_for()
    assert page.get_by_role("heading", level=1).all_inner_texts() == ["missing-delta-file"]
    page.get_by_role("link", name="Compare", exact=True).click()
    page.get_by_role("heading", name="Findings", level=2).wait_for(state="detached")
    assert page.get_by_role("heading", level=1).count() == 1


def test_the_header_is_printed_where_it_stands(visit: Visiting) -> None:
    page = visit().open(f"/timeline?{FAILS}")
    page.emulate_media(media="print")
    assert page.evaluate(
        "getComputedStyle(document.querySelector('[data-testid=\"stLayoutWrapper\"]:has(> .st-key-header)')).position"
    ) == ("static")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_report_asks_nobody_and_has_no_barrier(visit: Visiting, tmp_path: Path, theme: str) -> None:
    one = visit(width=390, theme=theme)
    file = tmp_path / "report.html"
    place = Path(__file__).parents[2] / "sample_checkpoints" / "missing-delta-file" / "checkpoint"
    assert main(["report", str(place), "--to", str(file), "--link", "https://host/overview?ck=a"]) == 1
    asked: list[str] = []
    one.page.on("request", lambda request: asked.append(request.url))
    one.page.set_content(file.read_text(encoding="utf-8"))
    assert asked == []
    assert violations(one.page) == []
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one.page.emulate_media(media="print")
    paper = one.page.pdf(format="A4")
    assert 1 <= paper.count(b"/Type /Page\n") <= 3


def test_overview_offers_the_report(visit: Visiting) -> None:
    one = visit()
    page = one.open(f"/overview?{FAILS}")
    page.get_by_text("Report", exact=True).click()
    one.wait_for_text("Copy as Markdown, for a chat message:")
    with page.expect_download() as download:
        page.get_by_role("button", name="Report (HTML)").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") or "<!DOCTYPE html>" in text[:200]
    assert "Fails in batch 10" in text and f"/overview?{FAILS.replace('/', '/')}" in text
