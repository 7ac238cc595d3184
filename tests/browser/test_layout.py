"""Where things stand: nothing out of line, no empty holes, tools only where one zooms, no motion for who wants
none."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Visiting

FAILS = "ck=samples/missing-delta-file/checkpoint"
TOPS = """selector => [...document.querySelectorAll(selector)].map(each => Math.round(each.getBoundingClientRect().top))"""


@pytest.mark.parametrize("width", [1280, 640])
def test_three_questions_of_recovery_share_a_line(visit: Visiting, width: int) -> None:
    """640 pixels are a window of 1280 at 200 % zoom."""
    page = visit(width=width).open(f"/recovery?{FAILS}")
    fields = '.st-key-questions [data-testid="stSelectbox"] input'
    page.locator(fields).nth(4).wait_for()
    tops = page.evaluate(TOPS, fields)
    assert len(tops) == 5, tops
    for line in (tops[:3], tops[3:]):
        assert max(line) - min(line) <= 1, tops
    assert tops[2] < tops[3]


def test_the_last_of_five_figures_fills_its_row_on_a_phone(visit: Visiting) -> None:
    one = visit(width=390)
    for name, key in (("overview", "figures"), ("timeline", "batch-figures")):
        page = one.open(f"/{name}?{FAILS}")
        cells = page.locator(f'.st-key-{key} [data-testid="stGridCell"]')
        cells.nth(4).wait_for()
        widths = [box["width"] for at in range(5) if (box := cells.nth(at).bounding_box()) is not None]
        assert len(widths) == 5 and widths[4] > 1.9 * widths[0], (name, widths)
        about = page.locator(".st-key-about").bounding_box()
        assert about is not None and about["height"] < 60


def test_tools_of_a_chart_are_there_only_where_one_zooms(visit: Visiting) -> None:
    one = visit()
    page = one.open(f"/timeline?{FAILS}")
    page.locator(".st-key-marks .js-plotly-plot").wait_for()
    assert page.locator(".st-key-marks .modebar").count() == 1
    page = one.open(f"/state?{FAILS}")
    page.locator(".st-key-balance .js-plotly-plot .xtick").first.wait_for()
    assert page.locator(".st-key-balance .modebar-btn").count() == 0


def test_nothing_moves_for_those_who_ask_for_it(visit: Visiting) -> None:
    page = visit().open(f"/overview?{FAILS}")
    slow = """() => [...document.querySelectorAll('*')].filter(each => {
      const style = getComputedStyle(each);
      return Math.max(...`${style.animationDuration},${style.transitionDuration}`.split(',').map(parseFloat)) > 0.05;
    }).length"""
    assert page.evaluate(slow) == 0
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(slow) > 0


def test_a_source_that_read_nothing_has_no_empty_picture(visit: Visiting) -> None:
    one = visit()
    page = one.open("/timeline?ck=samples/delta-stopped-in-first-snapshot/checkpoint")
    one.wait_for_text("0 versions in 2 batches. 1 batch more is not counted")
    one.settle()
    assert page.locator(".st-key-marks").count() == 1 and page.locator(".st-key-progress").count() == 0


def test_both_sides_of_a_comparison_are_in_view_on_a_phone(visit: Visiting) -> None:
    one = visit(width=390)
    page = one.open(f"/compare?{FAILS}&with=samples/windowed-aggregation-hot-partition/checkpoint")
    lines = page.locator('[class*="st-key-in-lines-"]').first
    lines.wait_for()
    assert page.locator('[data-testid="stDataFrame"]:visible').count() == 0
    said = lines.inner_text().splitlines()
    assert said[0] == "query ID" and [line[:5] for line in said[1:3]] == ["  A: ", "  B: "]
    code = lines.locator("pre")
    assert code.evaluate("it => it.scrollWidth <= it.clientWidth")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator('[data-testid="stDataFrame"]').first.wait_for()
    assert not lines.is_visible()


def test_values_of_settings_are_in_view_on_a_phone(visit: Visiting) -> None:
    one = visit(width=390)
    page = one.open(f"/timeline?{FAILS}")
    page.get_by_text("All pinned settings").click()
    lines = page.locator(".st-key-in-lines-settings pre")
    lines.wait_for()
    assert "spark.sql.shuffle.partitions\n  value: 4\n" in lines.inner_text()
    assert lines.evaluate("it => it.scrollWidth <= it.clientWidth")


def test_on_paper_a_title_stays_with_its_part_and_nothing_wide_is_cut(visit: Visiting) -> None:
    """A chart and a table keep the width they have on the screen: Chromium scales a page down to what sticks
    out, unless it is clipped."""
    one = visit()
    page = one.open(f"/state?{FAILS}")
    page.locator(".st-key-balance .js-plotly-plot .xtick").first.wait_for()
    page.emulate_media(media="print")
    style = (
        "([selector, name]) => [...document.querySelectorAll(selector)].map(it => getComputedStyle(it)[name])"
    )
    titles = page.evaluate(
        style, ['[data-testid="stLayoutWrapper"]:has(> [class*=st-key-section-])', "breakAfter"]
    )
    assert set(titles) == {"avoid"}
    for wide in (".js-plotly-plot", '[data-testid="stDataFrame"]'):
        assert set(page.evaluate(style, [wide, "overflow"])) == {"visible"}, wide
    page = one.open(f"/recovery?{FAILS}")
    page.locator(".st-key-questions").wait_for()
    assert page.get_by_role("button", name="Help for").count() == 0
    page.emulate_media(media="screen")
    assert page.get_by_role("button", name="Help for").count() > 3


def test_five_figures_leave_no_hole_where_three_have_room(visit: Visiting) -> None:
    one = visit(width=640)
    for name, key in (("overview", "figures"), ("timeline", "batch-figures")):
        page = one.open(f"/{name}?{FAILS}")
        cells = page.locator(f'.st-key-{key} [data-testid="stGridCell"]')
        cells.nth(4).wait_for()
        boxes = [box for at in range(5) if (box := cells.nth(at).bounding_box()) is not None]
        assert boxes[2]["y"] == boxes[0]["y"] and boxes[4]["y"] == boxes[3]["y"] > boxes[0]["y"], (
            name,
            boxes,
        )
        ends = [box["x"] + box["width"] for box in (boxes[2], boxes[4])]
        assert abs(ends[0] - ends[1]) <= 2, (name, ends)


IN_UPPER_HALF = """() => {
  const at = document.querySelector('input[aria-label="Find"]')?.getBoundingClientRect();
  return at && at.top > 0 && at.bottom < innerHeight / 2;
}"""


@pytest.mark.parametrize("start", ["overview", "state"])
def test_a_link_to_the_largest_rows_leads_to_where_they_stand(visit: Visiting, start: str) -> None:
    """From another page, and from the page itself, where nothing in view would change."""
    one = visit()
    page = one.open(f"/{start}?ck=samples/windowed-aggregation-hot-partition/checkpoint")
    page.get_by_role("link", name="Largest rows of partition 1").click()
    page.wait_for_function(IN_UPPER_HALF)
    one.wait_for_text("Show keys and values")
    page.wait_for_function(IN_UPPER_HALF)
    page.mouse.move(700, 500)
    page.mouse.wheel(0, -400)  # who scrolls is not led back
    page.wait_for_timeout(800)
    assert not page.evaluate(IN_UPPER_HALF)
