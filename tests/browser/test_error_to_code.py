"""From an error that somebody pasted on the first page to code that runs: under ten clicks."""

from __future__ import annotations

import re
from dataclasses import dataclass

from playwright.sync_api import Locator

from tests.browser.conftest import Visit, Visiting

ERROR = (
    "org.apache.spark.sql.execution.streaming.state.StateStoreLoadException: "
    "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] An error occurred during loading state. "
    "Error reading delta file state/0/2/4.delta: it does not exist. SQLSTATE: 58030"
)


@dataclass
class Hand:
    """Clicks, and counts them; what is typed or pasted into a field that was clicked is not counted."""

    one: Visit
    clicks: int = 0

    def click(self, place: Locator) -> None:
        """One click, and what it draws."""
        place.scroll_into_view_if_needed()
        place.click()
        self.clicks += 1
        self.one.settle()

    def paste(self, field: Locator, text: str) -> None:
        """Into a field, and the key that sends it."""
        self.click(field)
        field.fill(text)
        field.press("ControlOrMeta+Enter")
        self.one.settle()


def test_from_a_pasted_error_to_code_in_under_ten_clicks(visit: Visiting) -> None:
    one = visit()
    page, hand = one.open("/"), Hand(one)
    hand.click(page.get_by_text("What does this error mean?"))
    hand.paste(page.get_by_role("textbox", name=re.compile("[Ee]rror")), ERROR)
    one.wait_for_text("CANNOT_READ_DELTA_FILE_NOT_EXISTS")

    location = page.get_by_role("textbox", name="Location")
    hand.click(location)
    location.fill("samples/missing-delta-file/checkpoint")
    location.press("Enter")
    page.wait_for_url("**/overview?**")
    one.wait_for_text("state/0/2/4.delta is missing")
    one.settle()
    assert page.get_by_role("textbox", name=re.compile("[Ee]rror")).input_value() == ERROR
    hand.click(page.get_by_role("link", name=re.compile("[Rr]ewind")).first)
    page.wait_for_url(re.compile("/recovery.*option=rewind"))
    one.settle()

    sink = page.get_by_role("combobox", name="Where does the query write?")
    hand.click(sink)
    hand.click(page.get_by_role("option", name=re.compile("key")).first)
    page.wait_for_url(re.compile("a_sink=foreach_merge"))
    one.settle()
    button = page.get_by_role("button", name="Download recover_rewind.py")
    with page.expect_download() as download:
        hand.click(button)
    script = download.value.path().read_text(encoding="utf-8")
    compile(script, "recover_rewind.py", "exec")
    assert re.search(r"^TO_BATCH = 2\b", script, re.MULTILINE) and 'SINK = "foreach_merge"' in script
    print(f"{hand.clicks} clicks")
    assert hand.clicks < 10
