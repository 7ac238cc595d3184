"""From a checkpoint to "this change is silently wrong, because ..." in three clicks, on a desk and on a phone; the
choice is in the address, and a reload and Back bring the answer back."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator

from tests.browser.conftest import Visit, Visiting, choose

TOTALS = "samples/purged-to-newest-10/checkpoint"
SILENT = "Spark compares the types of the aggregates (count: long) and nothing else"
HEIGHTS = {1280: 900, 390: 844}


def parameters(one: Visit) -> dict[str, list[str]]:
    return parse_qs(urlsplit(one.page.url).query)


def silent(one: Visit) -> Locator:
    return one.page.get_by_text(re.compile(r"^▲ silently wrong · aggregates")).first


@pytest.mark.parametrize("width", HEIGHTS)
def test_three_clicks_lead_to_the_silent_change_and_the_address_keeps_it(visit: Visiting, width: int) -> None:
    one = visit(width=width, height=HEIGHTS[width])
    page = one.open(f"/overview?ck={TOTALS}")
    clicks: list[str] = []

    def click(what: Locator, name: str) -> None:
        one.settle()
        what.scroll_into_view_if_needed()
        what.click()
        clicks.append(name)

    click(page.get_by_role("link", name="What a deployment would change").first, "Integrity")
    page.wait_for_url("**/integrity?**")
    one.wait_for_text("What changes?")
    field = page.get_by_role("combobox", name="What changes")
    click(field, "the field")
    field.fill("aggregates")  # typing is no click; the list has more options than fit
    page.get_by_role("option", name="aggregates").first.click()
    clicks.append("aggregates")
    silent(one).wait_for()
    one.wait_for_text(SILENT)
    assert clicks == ["Integrity", "the field", "aggregates"]
    page.wait_for_url("**what=aggregates**")
    assert parameters(one) == {"ck": [TOTALS], "what": ["aggregates"]}

    choose(one, page.get_by_role("combobox", name="What it becomes"), "number, types or order differ")
    page.wait_for_url("**becomes=other_types**")
    one.settle()
    one.wait_for_text("STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE")
    assert silent(one).count() == 0
    page.reload()
    one.settle()
    one.wait_for_text("STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE")
    assert silent(one).count() == 0 and parameters(one)["becomes"] == ["other_types"]

    page.go_back()
    page.wait_for_url(lambda url: "becomes" not in url)
    one.settle()
    silent(one).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
