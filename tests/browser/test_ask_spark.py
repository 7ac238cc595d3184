"""A question to Spark runs beside the page: progress, cancel, another page and back, a second viewer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Visiting
from tests.support.app import RunningApp, running_app

pytestmark = [pytest.mark.spark, pytest.mark.own_spark]

HOT = "samples/windowed-aggregation-hot-partition/checkpoint"


@pytest.fixture(scope="module")
def own_app() -> Iterator[RunningApp]:
    """A server of its own: its Spark ends with it."""
    with running_app() as running:
        yield running


def ask(page: Page) -> None:
    page.get_by_role("button", name="Ask Spark").click()


def test_start_cancel_start_again_change_page_and_come_back(visit: Visiting, own_app: RunningApp) -> None:
    one = visit(server=own_app)
    page = one.open(f"/state?ck={HOT}&ask=per_value&column=store")
    ask(page)
    one.wait_for_text("Asked: rows per value of store, state after batch 9.")
    page.get_by_role("button", name="Cancel").click()
    one.wait_for_text("The question was cancelled.")
    ask(page)
    page.get_by_role("button", name="Cancel").wait_for()
    page.locator('[data-testid="stSidebarNav"]').get_by_text("Watermark").click()
    page.wait_for_url("**/watermark?**")
    one.settle()
    page.locator('[data-testid="stSidebarNav"]').get_by_text("State", exact=True).click()
    page.wait_for_url("**/state?**")
    one.wait_for_text("49 rows. Answered in")
    one.settle()
    assert "ask=per_value" in page.url
    two = visit(server=own_app)
    other = two.open(f"/state?ck={HOT}&ask=per_partition")
    ask(other)
    two.wait_for_text("Answered in")
    two.wait_for_text("The number of rows of 6 of 6 partitions is the one that the files tell.")
