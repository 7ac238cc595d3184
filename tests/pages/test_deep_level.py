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
    assert "What to do: It depends on the sink. Delta, Kafka, foreachBatch that appends" in shown
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


def test_the_link_of_every_page_has_the_level_once_it_was_run(open_page: OpenPage, damaged: Path) -> None:
    at = open_page("integrity", damaged)
    assert "level=deep" not in link_of(at)
    at.selectbox(key="pick_level").set_value("deep").run()
    for page in PAGES:
        to(at, page)
        assert "level=deep" in link_of(at), page
    shown = to(open_page("overview", damaged), "timeline")  # another session shares what was read
    assert FAILS in shown


@pytest.mark.parametrize("page", PAGES)
def test_a_link_with_the_level_deep_runs_it_on_every_page(
    open_page: OpenPage, damaged: Path, page: str
) -> None:
    at = open_page(page, damaged, level="deep")
    assert_no_error(at)
    assert FAILS in words_of(at) and RESUMES not in words_of(at)


def test_a_lower_level_applies_after_refresh_and_takes_nothing_back_before(
    open_page: OpenPage, damaged: Path
) -> None:
    at = open_page("integrity", damaged, level="deep")
    at.selectbox(key="pick_level").set_value("quick").run()
    assert_no_error(at)
    assert FAILS in words_of(at) and "A lower level that is chosen" in words_of(at)
    assert "level=deep" in link_of(at)
    at.button(key="refresh").click().run()
    assert_no_error(at)
    assert "level=quick" in link_of(at) and "Not checked: state/" in words_of(at)


def test_while_the_checkpoint_is_followed_the_level_is_said_not_to_be_run(
    open_page: OpenPage, damaged: Path
) -> None:
    at = open_page("overview", damaged, level="deep", follow="true")
    assert_no_error(at)
    assert "The state files of this reading were not decoded" in words_of(at)


def link_of(at: AppTest) -> str:
    return next(code.value for code in at.code if "ck=" in code.value)
