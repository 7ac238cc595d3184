"""A kept view and an upload in a real browser: the link of one window shows the same in another one."""

from __future__ import annotations

import shutil
from pathlib import Path

from core.incident import take
from core.settings import PREFIX
from core.storage import Door
from tests.browser.conftest import Visiting
from tests.browser.test_axe import violations
from tests.support.app import running_app
from tests.support.build import SAMPLES, copy_sample


def test_a_kept_link_opens_in_another_window_and_leads_back_to_now(visit: Visiting, tmp_path: Path) -> None:
    place = copy_sample("files-died-mid-batch", tmp_path / "prod")
    (tmp_path / "store").mkdir()
    environment = {f"{PREFIX}INCIDENT_STORE": str(tmp_path / "store")}
    with running_app({"prod": str(tmp_path / "prod")}, environment) as server:
        one = visit(server=server)
        page = one.open(f"/timeline?ck=prod/{place.name}&batch=3")
        page.get_by_role("button", name="Copy link").click()
        page.get_by_role("button", name="Keep this view").click()
        link = page.get_by_text("?ck=evidence:").first
        link.wait_for()
        address = (link.text_content() or "").strip()
        assert address.startswith(server.address) and address.endswith("&batch=3")
        for log in ("offsets", "commits"):
            shutil.rmtree(place / log)
        other = visit(server=server)
        there = other.open(address.removeprefix(server.address))
        other.wait_for_text("Batch 3")
        assert "Evidence of " in other.text() and "re-runs batch 7" in other.text()
        there.get_by_role("button", name="Compare with now").click()
        there.wait_for_url("**/compare?**")
        other.wait_for_text("A and B differ in")
        third = visit(server=server, width=390, theme="dark")
        listed = third.open("/incidents")
        third.wait_for_text("1 evidence file in the incident store")
        assert violations(listed) == []
        table = listed.locator('[data-testid="stDataFrame"]').bounding_box()
        assert table is not None
        listed.mouse.click(table["x"] + 130, table["y"] + 50)
        listed.wait_for_url("**/overview?ck=evidence**")
        third.wait_for_text("Spark will re-run batch 7")


def test_an_uploaded_evidence_file_opens(visit: Visiting, tmp_path: Path) -> None:
    file = take(Door.open(str(SAMPLES / "files-died-mid-batch" / "checkpoint")), tmp_path / "sent.zip").path
    large = tmp_path / "large.zip"
    with large.open("wb") as handle:
        handle.truncate(3 * 1024 * 1024)  # more than Streamlit took before uploads were meant
    one = visit()
    page = one.open("/")
    page.get_by_text("Open an evidence file").click()
    field = page.locator('[data-testid="stFileUploader"] input[type="file"]')
    field.set_input_files(str(large))
    one.wait_for_text("large.zip cannot be opened as an evidence file: it is no zip.")
    field.set_input_files(str(file))
    page.wait_for_url("**/overview?**")
    one.wait_for_text("Spark will re-run batch 7")
    assert "Evidence of " in one.text()
