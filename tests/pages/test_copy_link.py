"""What Copy link says of the address: what it opens, and what of the view it does not carry."""

from __future__ import annotations

from pathlib import Path

from core.incident import take
from core.storage import Door
from tests.pages.conftest import OpenPage, assert_no_error, words_of
from tests.support.build import SAMPLES

DIED = "samples/files-died-mid-batch/checkpoint"
EXACTLY = "opens exactly this view"


def test_values_for_the_code_are_named_as_not_in_the_address(open_page: OpenPage) -> None:
    at = open_page("recovery", DIED, a_sink="foreach_batch_appends", option="full_refresh")
    assert_no_error(at)
    assert EXACTLY in words_of(at)
    at.text_input(key="t_checkpoint_new").set_value("/tmp/new-one")
    at.run()
    assert_no_error(at)
    shown = words_of(at)
    assert "Not in this address: the values for the code (New checkpoint location)." in shown
    assert EXACTLY not in shown


def test_the_tab_of_recovery_is_in_the_address(open_page: OpenPage) -> None:
    at = open_page("recovery", DIED, tab="position")
    assert_no_error(at)
    assert at.session_state["pick_tab"] == "Start position"
    assert "tab=position" in words_of(at)
    wrong = open_page("recovery", DIED, tab="cellar")
    assert "This link asks for the tab 'cellar'. Available: " in words_of(wrong)


def test_a_pasted_error_is_named_as_not_in_the_address(open_page: OpenPage) -> None:
    at = open_page("overview", DIED)
    next(area for area in at.text_area if area.key.startswith("pasted-error")).set_value(
        "java.io.IOException"
    )
    at.run()
    assert_no_error(at)
    assert "Not in this address: the pasted error." in words_of(at)


def test_the_address_of_an_upload_says_that_the_file_has_to_be_handed_over(
    open_page: OpenPage, tmp_path: Path
) -> None:
    file = tmp_path / "taken.zip"
    take(Door.open(str(SAMPLES / "files-died-mid-batch" / "checkpoint")), file)
    at = open_page("checkpoints")
    at.file_uploader(key="upload").set_value(("sent.zip", file.read_bytes(), "application/zip")).run()
    at.switch_page("pages/overview.py").run()
    assert_no_error(at)
    shown = words_of(at)
    assert "ck=upload:" in shown and "works only in this session" in shown
    assert EXACTLY not in shown
