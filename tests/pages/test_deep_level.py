"""Once the state files were decoded, every page, the report and each link speak of what is in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import PAGES, OpenPage, assert_no_error, words_of
from tests.support.build import copy_sample

HOT = "windowed-aggregation-hot-partition"
FAILS, RESUMES = "Spark will start and fail in batch 10", "Spark will resume with batch 10"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A changelog that the next start loads is cut off; its name and place are right."""
    ck = copy_sample(HOT, tmp_path)
    file = ck / "state" / "0" / "1" / "9.changelog"
    file.write_bytes(file.read_bytes()[:40])
    return ck


def to(at: AppTest, page: str) -> str:
    at.switch_page(f"pages/{page}.py").run()
    assert_no_error(at)
    return words_of(at)


def test_after_the_deep_check_every_page_says_that_the_start_fails(
    open_page: OpenPage, damaged: Path
) -> None:
    at = open_page("integrity", damaged, level="deep")
    assert FAILS in words_of(at)
    for page in PAGES:
        shown = to(at, page)
        assert RESUMES not in shown, page
        assert "no recovery is needed" not in shown and "What to do: Fix the cause" not in shown, page


def test_recovery_after_the_deep_check_rewinds_to_the_newest_intact_batch(
    open_page: OpenPage, damaged: Path
) -> None:
    at = open_page("integrity", damaged, level="deep")
    shown = to(at, "recovery")
    assert "A plain start resumes" not in shown
    assert "Logs and state are complete for batch 7" in shown
    shown = to(at, "overview")
    assert "What to do: It depends on the sink. Delta, foreachBatch by key: Rewind to" in shown
    assert "STATE_FILE_DAMAGED" in shown


def test_the_state_page_does_not_say_that_what_is_damaged_can_be_rebuilt(
    open_page: OpenPage, damaged: Path
) -> None:
    at = open_page("integrity", damaged, level="deep")
    shown = to(at, "state")
    assert shown.index("state/0/1/9.changelog is damaged") < shown.index("That is what the names say")
    assert "Not checked: the contents of the files." not in shown
    at = open_page("integrity", f"samples/{HOT}/checkpoint", level="deep")
    assert "Their contents were checked and show no damage" in to(at, "state")
