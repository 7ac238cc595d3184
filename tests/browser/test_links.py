"""Every view is a link: cold on a fresh server, after a click, after a reload."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from tests.browser.conftest import Visiting, choose, click_mark
from tests.support.app import PROJECT, running_app

CLEAN = "samples/files-stopped-cleanly/checkpoint"
DIED = "samples/files-died-mid-batch/checkpoint"


def parameters(url: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(url).query)


def test_a_cold_deep_link_on_a_fresh_server_shows_its_view(visit: Visiting) -> None:
    with running_app() as server:
        one = visit(server=server)
        page = one.open(f"/timeline?ck={CLEAN}&batch=5")
        one.wait_for_text("Batches 0 to 13 of 14 batches")
        page.get_by_text("Batch 5", exact=True).wait_for()
        assert page.get_by_role("spinbutton", name="Batch").input_value() == "5"
        assert parameters(page.url) == {"ck": [CLEAN], "batch": ["5"]}
        assert page.locator('[data-testid="stSidebarNav"]').get_by_text("Recovery").count() == 1
        page.goto("about:blank")


def test_the_second_cold_page_of_a_fresh_server_has_its_frame_too(visit: Visiting) -> None:
    with running_app() as server:
        one = visit(server=server)
        one.open(f"/state?ck={CLEAN}")
        one.wait_for_text("keeps no state")
        assert "files-stopped-cleanly" in one.text()
        one.page.goto("about:blank")


def test_a_click_on_a_batch_changes_the_address_and_a_reload_shows_the_same(visit: Visiting) -> None:
    one = visit()
    page = one.open(f"/timeline?ck={DIED}")
    click_mark(page, "marks", 4)
    page.wait_for_url("**batch=4**")
    one.settle()
    page.get_by_text("Batch 4", exact=True).wait_for()
    page.reload()
    one.settle()
    assert page.get_by_role("spinbutton", name="Batch").input_value() == "4"
    assert parameters(page.url)["batch"] == ["4"]


def test_a_click_on_the_progress_of_a_source_chooses_its_batch(visit: Visiting) -> None:
    one = visit()
    page = one.open("/timeline?ck=samples/kafka-pipeline-died-mid-batch/checkpoint")
    page.locator(".st-key-progress .js-plotly-plot .main-svg").first.wait_for()
    box = page.locator(".st-key-progress")
    box.scroll_into_view_if_needed()
    place = page.evaluate("""() => {
        const box = document.querySelector('.st-key-progress .js-plotly-plot'), l = box._fullLayout, at = box.getBoundingClientRect();
        return [at.left + l.xaxis._offset + l.xaxis.d2p(3), at.top + l.yaxis._offset + l.yaxis.d2p(1)]; }""")
    page.mouse.move(place[0] - 2, place[1] - 2)
    page.mouse.move(*place)
    page.wait_for_function("document.querySelector('.st-key-progress .hoverlayer').childElementCount > 0")
    assert "orders-1" in page.locator(".st-key-progress .hoverlayer").text_content()
    page.mouse.click(*place)
    page.wait_for_url("**batch=3**")


def test_a_click_on_a_partition_shows_its_files(visit: Visiting) -> None:
    one = visit()
    page = one.open("/state?ck=samples/windowed-aggregation-hot-partition/checkpoint")
    click_mark(page, "balance", 2)
    page.wait_for_url("**partition=2**")
    one.wait_for_text("Partition 2, store default")


def test_the_menu_keeps_the_checkpoint_and_brings_the_batch_back(visit: Visiting) -> None:
    one = visit()
    page = one.open(f"/timeline?ck={CLEAN}&batch=5")
    menu = page.locator('[data-testid="stSidebarNav"]')
    menu.get_by_text("Overview").click()
    page.wait_for_url("**/overview?**")
    one.settle()
    one.wait_for_text("Recovery options")
    assert parameters(page.url)["ck"] == [CLEAN]
    menu.get_by_text("Timeline").click()
    page.wait_for_url("**batch=5**")
    assert parameters(page.url)["ck"] == [CLEAN]


def test_choosing_another_checkpoint_forgets_the_batch_of_the_first(visit: Visiting) -> None:
    one = visit()
    page = one.open(f"/timeline?ck={CLEAN}&batch=5")
    choose(one, page.get_by_role("combobox", name="Checkpoint"), DIED, typed=DIED)
    one.wait_for_text("Batches 0 to 7 of 8 batches")
    one.settle()
    assert parameters(page.url) == {"ck": [DIED]}


def test_an_answer_of_the_recovery_chooser_is_in_the_address_and_survives_a_reload(visit: Visiting) -> None:
    one = visit()
    page = one.open(f"/recovery?ck={DIED}")
    choose(one, page.get_by_role("combobox", name="Where does the query write?"), "Kafka topic")
    page.wait_for_url("**a_sink=kafka**")
    one.settle()
    choose(one, page.get_by_role("combobox", name="Plan and code for"), "Full table refresh")
    page.wait_for_url("**option=full_refresh**")
    page.reload()
    one.settle()
    page.get_by_role("tab", name="By kind of sink").click()
    one.wait_for_text("Full table refresh: what repeats and what is lost")
    page.wait_for_url("**tab=sinks**")
    shown = {"ck": [DIED], "a_sink": ["kafka"], "option": ["full_refresh"], "tab": ["sinks"]}
    assert parameters(page.url) == shown


def test_the_ends_of_a_link_stay_from_page_to_page_and_a_click_on_the_sink_chooses_a_batch(
    visit: Visiting,
) -> None:
    one = visit()
    beside = "samples/delta-batch-already-in-table"
    page = one.open(f"/ends?ck={beside}/checkpoint&sink={beside}/sink")
    one.wait_for_text("Pending batch 5 is already in the table and will be skipped")
    click_mark(page, "sink-batches", 4)
    page.wait_for_url("**batch=4**")
    one.wait_for_text("Batch 4, version 4, written by this query")
    page.locator('[data-testid="stSidebarNav"]').get_by_text("Overview").click()
    page.wait_for_url("**/overview?**sink=**")
    one.wait_for_text("Impact of deleting this checkpoint")
    one.settle()
    assert parameters(page.url) == {"ck": [f"{beside}/checkpoint"], "sink": [f"{beside}/sink"]}
    page.reload()
    one.settle()
    assert parameters(page.url)["sink"] == [f"{beside}/sink"]
    choose(one, page.get_by_role("combobox", name="Checkpoint"), CLEAN, typed=CLEAN)
    one.wait_for_text("files-stopped-cleanly")
    page.wait_for_url(lambda url: "sink=" not in url)


def test_copy_link_holds_the_address_of_the_view(visit: Visiting) -> None:
    one = visit()
    page = one.open(f"/timeline?ck={CLEAN}&batch=5")
    page.get_by_role("button", name="Copy link").click()
    shown = (
        page.locator('[data-testid="stPopoverBody"] [data-testid="stCode"]')
        .inner_text()
        .strip()
        .replace("\n", "")
    )
    assert urlsplit(shown).path == "/timeline"
    assert parameters(shown) == {"ck": [CLEAN], "batch": ["5"]}


def test_a_click_in_the_table_of_checkpoints_opens_one(visit: Visiting) -> None:
    one = visit()
    page = one.open("/")
    table = page.locator('[data-testid="stDataFrame"] canvas').first
    table.wait_for()
    place = table.bounding_box()
    assert place is not None
    page.mouse.click(place["x"] + 80, place["y"] + 36 + 16)
    page.wait_for_url("**/overview?ck=**")
    one.wait_for_text("Recovery options")


def test_pasting_a_location_opens_it_under_its_short_name(visit: Visiting) -> None:
    from tests.support.build import SAMPLES

    one = visit()
    page = one.open("/")
    page.get_by_role("textbox", name="Location of a checkpoint directory").fill(
        str(SAMPLES / "files-died-mid-batch" / "checkpoint")
    )
    page.get_by_test_id("stBaseButton-primaryFormSubmit").click()
    page.wait_for_url("**/overview?ck=**")
    one.wait_for_text("Spark will re-run batch 7")
    assert parameters(page.url) == {"ck": [DIED]}


def test_a_location_pasted_to_compare_with_is_in_the_address_by_its_short_name(visit: Visiting) -> None:
    one = visit()
    page = one.open(f"/compare?ck={CLEAN}")
    one.wait_for_text("Choose a checkpoint to compare this one with.")
    field = page.get_by_role("combobox", name="B, to compare with")
    field.click()
    field.fill(f"  {PROJECT / 'sample_checkpoints' / 'files-died-mid-batch' / 'checkpoint'}/ ")
    field.press("Enter")
    page.wait_for_url("**with=**")
    assert parameters(page.url) == {"ck": [CLEAN], "with": [DIED]}
    one.wait_for_text("A and B differ in 26 places")
    page.reload()
    one.settle()
    one.wait_for_text("A and B differ in 26 places")
    assert parameters(page.url) == {"ck": [CLEAN], "with": [DIED]}
    page.locator('[data-testid="stSidebarNav"]').get_by_text("Timeline").click()
    page.wait_for_url("**/timeline?**")
    one.settle()
    page.locator('[data-testid="stSidebarNav"]').get_by_text("Compare").click()
    page.wait_for_url("**/compare?**with=**")
    one.wait_for_text("A and B differ in 26 places")
