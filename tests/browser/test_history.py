"""Back and Forward restore page, fields and address together; the tab names what it shows."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visit, Visiting, choose, click_mark
from tests.spark.cases import BEFORE_RELEASE
from tests.support.build import kafka_checkpoint

DIED = "samples/files-died-mid-batch/checkpoint"
HOT = "samples/windowed-aggregation-hot-partition/checkpoint"


def asked(page: Page, name: str) -> str:
    """The value of a parameter of the address, empty when it is not there."""
    return parse_qs(urlsplit(page.url).query).get(name, [""])[0]


def field(page: Page, label: str) -> str:
    return page.get_by_role("spinbutton", name=label, exact=True).input_value()


def shows_batch(one: Visit, batch: str) -> None:
    """Address, field and section agree on the batch ("" is none: the newest is shown)."""
    page = one.page
    page.wait_for_url(lambda url: parse_qs(urlsplit(url).query).get("batch", [""])[0] == batch)
    heading = f"Batch {batch}" if batch else "Batch 7 (none is chosen: this is the newest)"
    page.locator('[class*="st-key-section-"]').get_by_text(heading, exact=True).wait_for()
    one.settle()
    assert field(page, "Batch") == batch
    assert page.locator('[class*="st-key-section-"]').get_by_text(heading, exact=True).count() == 1


def test_back_and_forward_over_batches(visit: Visiting) -> None:
    one = visit()
    page = one.open(f"/timeline?ck={DIED}")
    shows_batch(one, "")
    for batch in ("6", "5"):
        page.get_by_role("button", name="Previous").click()
        shows_batch(one, batch)
    page.go_back()
    shows_batch(one, "6")
    page.go_back()
    shows_batch(one, "")
    page.go_forward()
    shows_batch(one, "6")


def test_one_back_after_a_change_of_page(visit: Visiting) -> None:
    one = visit()
    page = one.open(f"/timeline?ck={DIED}&batch=2")
    shows_batch(one, "2")
    page.locator('[data-testid="stSidebarNav"]').get_by_text("Integrity").click()
    page.wait_for_url("**/integrity?**")
    one.wait_for_text("Findings")
    one.settle()
    page.go_back()
    page.wait_for_url("**/timeline?**")
    shows_batch(one, "2")
    page.go_forward()
    page.wait_for_url("**/integrity?**")
    one.wait_for_text("Findings")


def test_back_over_partitions(visit: Visiting) -> None:
    one = visit()
    page = one.open(f"/state?ck={HOT}&partition=1")
    one.wait_for_text("Partition 1, store default")
    for partition in (3, 0):
        click_mark(page, "balance", partition)
        page.wait_for_url(f"**partition={partition}**")
        one.wait_for_text(f"Partition {partition}, store default")
        one.settle()
        assert field(page, "Partition") == str(partition)
    page.go_back()
    page.wait_for_url("**partition=3**")
    one.wait_for_text("Partition 3, store default")
    one.settle()
    assert field(page, "Partition") == "3"
    page.go_back()
    page.wait_for_url("**partition=1**")
    one.wait_for_text("Partition 1, store default")
    one.settle()
    assert field(page, "Partition") == "1"
    assert page.get_by_text("Partition 3, store default").count() == 0
    page.go_forward()
    page.wait_for_url("**partition=3**")
    one.wait_for_text("Partition 3, store default")


def test_back_over_checkpoints_to_compare_with(visit: Visiting) -> None:
    one = visit()
    page = one.open(f"/compare?ck={HOT}")
    field = page.get_by_role("combobox", name="B, to compare with")
    one.wait_for_text("Choose a checkpoint to compare this one with.")
    for name in (DIED, "samples/named-sources/checkpoint"):
        field.click()
        field.fill(name)
        field.press("Enter")
        one.wait_for_text(f"B is {name}")
        one.settle()
    page.go_back()
    one.wait_for_text(f"B is {DIED}")
    one.settle()
    assert (asked(page, "with"), field.input_value()) == (DIED, DIED)
    page.go_back()
    one.wait_for_text("Choose a checkpoint to compare this one with.")
    one.settle()
    assert (asked(page, "with"), field.input_value()) == ("", "")
    page.go_forward()
    one.wait_for_text(f"B is {DIED}")


@pytest.fixture(scope="module")
def three_windows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kafka_checkpoint(tmp_path_factory.mktemp("windows"), range(300), commits=range(300))


@BEFORE_RELEASE
def test_back_over_windows(visit: Visiting, three_windows: Path) -> None:
    one = visit()
    page = one.open(f"/timeline?ck={three_windows}")
    one.wait_for_text("Batches 200 to 299 of 300 batches")
    for last in (199, 99):
        page.get_by_role("button", name="Older").click()
        one.wait_for_text(f"Batches {last - 99} to {last} of 300 batches")
        one.settle()
        assert (asked(page, "last"), field(page, "Window ends at")) == (str(last), str(last))
    page.go_back()
    one.wait_for_text("Batches 100 to 199 of 300 batches")
    one.settle()
    assert (asked(page, "last"), field(page, "Window ends at")) == ("199", "199")
    page.go_back()
    one.wait_for_text("Batches 200 to 299 of 300 batches")
    page.go_forward()
    one.wait_for_text("Batches 100 to 199 of 300 batches")


TITLES = {
    "overview": "Overview",
    "timeline": "Timeline",
    "state": "State",
    "watermark": "Watermark",
    "ends": "Source & sink",
    "integrity": "Integrity",
    "compare": "Compare",
    "recovery": "Recovery",
}


@pytest.mark.parametrize(
    ("ck", "mark", "name", "pages"),
    [
        ("samples/files-stopped-cleanly/checkpoint", "●", "files-stopped-cleanly", ["overview"]),
        (DIED, "◐", "files-died-mid-batch", ["overview"]),
        ("samples/missing-delta-file/checkpoint", "▲", "missing-delta-file", list(TITLES)),
    ],
)
def test_the_tab_says_verdict_checkpoint_and_page(
    visit: Visiting, ck: str, mark: str, name: str, pages: list[str]
) -> None:
    one = visit()
    for page in pages:
        one.open(f"/{page}?ck={ck}")
        one.page.wait_for_function(
            "wanted => document.title === wanted", arg=f"{mark} {name} · {TITLES[page]}"
        )


def test_the_tab_of_the_list_names_the_program(visit: Visiting) -> None:
    one = visit()
    one.open("/")
    one.page.wait_for_function("document.title === 'Checkpoints · Checkpoint Explorer'")


def test_a_page_that_does_not_exist_keeps_the_checkpoint_and_leads_to_its_overview(visit: Visiting) -> None:
    """Only the very first request of a fresh server gets Streamlit's own dialog on top: it looks into the folder
    ``pages`` before the app has run once."""
    one = visit()
    one.open("/")
    page = one.open(f"/nonsense?ck={DIED}")
    page.wait_for_url("**/overview?ck=**")
    one.wait_for_text("This link asks for the page 'nonsense', which does not exist.")
    one.wait_for_text("Recovery options")
    assert asked(page, "ck") == DIED
    assert page.get_by_role("dialog").count() == 0


def test_back_over_choices_whose_labels_are_not_in_the_address(visit: Visiting) -> None:
    one = visit()
    page = one.open(f"/state?ck={HOT}")
    one.wait_for_text("Choose what to find")
    choose(one, page.get_by_role("combobox", name="Find"), "the largest values")
    page.wait_for_url("**find=largest_values**")
    one.wait_for_text("49 rows.")
    one.settle()
    page.go_back()
    one.wait_for_text("Choose what to find")
    assert asked(page, "find") == ""
    page.go_forward()
    one.wait_for_text("49 rows.")
    assert asked(page, "find") == "largest_values"


CHARTS = {"": "", "age": "age by next start", "cost": "cost each month"}


def shows_chart(one: Visit, field: Locator, value: str) -> None:
    """Address and field agree on the chart. The address changes before the app hears of it: the field is waited
    for."""
    one.page.wait_for_url(lambda url: parse_qs(urlsplit(url).query).get("chart", [""])[0] == value)
    expect(field).to_have_value(CHARTS[value])
    one.settle()
    expect(field).to_have_value(CHARTS[value])


@BEFORE_RELEASE
def test_back_over_filters_and_charts_of_the_list(visit: Visiting) -> None:
    one = visit()
    page = one.open("/")
    one.wait_for_text("Read 16 of 16 checkpoints")
    field = page.get_by_role("combobox", name="Chart")
    for value in ("age", "cost"):
        choose(one, field, CHARTS[value])
        shows_chart(one, field, value)
    page.get_by_test_id("stButtonGroup").get_by_text("resume").click()
    page.wait_for_url("**start=resumes**")
    one.settle()
    page.go_back()
    shows_chart(one, field, "cost")
    assert asked(page, "start") == ""
    page.go_back()
    shows_chart(one, field, "age")
    page.go_back()
    shows_chart(one, field, "")
    page.go_forward()
    shows_chart(one, field, "age")
