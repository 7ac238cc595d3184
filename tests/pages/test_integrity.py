"""The page Integrity: steps, what-if, findings by level, the error translator."""

from __future__ import annotations

import pytest

from tests.pages.conftest import OpenPage, assert_no_error, words_of
from tests.support.build import SAMPLES

DELTA_GONE = "samples/missing-delta-file/checkpoint"


def test_the_step_that_fails_is_marked_with_its_file(open_page: OpenPage) -> None:
    at = open_page("integrity", DELTA_GONE)
    assert_no_error(at)
    lines = [text.value for text in at.text]
    failed = [at for at, line in enumerate(lines) if line.startswith("▲ fails: ")]
    assert len(failed) == 1 and "state/0/2/4.delta" in lines[failed[0] + 1]
    assert "CANNOT_READ_DELTA_FILE_NOT_EXISTS" in words_of(at)


def test_another_spark_is_answered_under_its_own_rules(open_page: OpenPage) -> None:
    at = open_page("integrity", "samples/dropduplicates-removed/checkpoint", spark="3.5", query="stateless")
    assert_no_error(at)
    shown = words_of(at)
    assert "With these choices: " in shown and "The rules of Spark 3.5 are applied" in shown
    newer = words_of(open_page("integrity", "samples/dropduplicates-removed/checkpoint", query="stateless"))
    assert "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA" in newer
    assert "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA" not in shown


def test_a_finding_that_blocks_is_shown_with_what_to_do(open_page: OpenPage) -> None:
    shown = words_of(open_page("integrity", DELTA_GONE))
    assert "▲ 1 blocks the restart" in shown
    assert "state/0/2/4.delta" in shown


def test_the_quick_level_says_that_it_did_not_look_at_the_state(open_page: OpenPage) -> None:
    shown = words_of(open_page("integrity", DELTA_GONE, level="quick"))
    assert "blocks the restart" not in shown
    assert "Not checked: state/" in shown


def test_a_level_that_does_not_exist_is_named(open_page: OpenPage) -> None:
    at = open_page("integrity", DELTA_GONE, level="bottomless")
    assert_no_error(at)
    assert "This link asks for check level 'bottomless'" in words_of(at)


@pytest.mark.parametrize("page", ["integrity", "overview", "checkpoints"])
def test_a_pasted_error_is_explained_for_the_open_checkpoint_and_without_one(
    open_page: OpenPage, page: str
) -> None:
    at = open_page(page) if page == "checkpoints" else open_page(page, DELTA_GONE)
    file = "/data/ck/state/0/2/4.delta"
    error = (
        "org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] An"
        f" error occurred during loading state. Error reading delta file {file} of HDFSStateStoreProvider:"
        f" {file} does not exist. SQLSTATE: 58030"
    )
    at.text_area[0].set_value(error).run()
    assert_no_error(at)
    shown = words_of(at)
    assert "Likely causes, most likely first" in shown and "What to do" in shown
    assert ("Here: " in shown) == (page != "checkpoints")
    assert page == "checkpoints" or "state/0/2/4.delta" in shown


def test_a_pasted_error_belongs_to_the_checkpoint_that_was_opened_for_it(open_page: OpenPage) -> None:
    """What was pasted on the first page goes along to one checkpoint, and is not said of the next one."""
    error = "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] state/0/2/4.delta does not exist."
    at = open_page("checkpoints")
    at.text_area[0].set_value(error).run()

    def shown(name: str) -> tuple[str, str]:
        at.session_state["ck"] = name
        at.switch_page("pages/integrity.py").run()
        assert_no_error(at)
        return at.text_area[0].value, words_of(at)

    for _ in range(2):  # also on coming back
        text, words = shown(DELTA_GONE)
        assert text == error and "Likely causes" in words
        text, words = shown("samples/windowed-aggregation-hot-partition/checkpoint")
        assert text == "" and "Likely causes" not in words
    assert not at.switch_page("pages/checkpoints.py").run().text_area[0].value


def test_an_error_pasted_while_no_checkpoint_is_open_leads_to_the_one_that_it_names(
    open_page: OpenPage,
) -> None:
    """Nothing was compared with files, and that is said; no sentence stands twice."""
    at = open_page("checkpoints")
    root = SAMPLES / "missing-delta-file" / "checkpoint"
    error = "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] Error reading delta file "
    at.text_area[0].set_value(f"{error}state/0/2/4.delta: it does not exist.").run()
    shown = words_of(at)
    assert "Not compared with any checkpoint: none is open." in shown and "Not checked: nothing." not in shown
    assert shown.count("A file of changes (.delta) that the state needs is not there.") == 1
    assert not [button for button in at.button if button.key == "open-named"]

    at.text_area[0].set_value(f"{error}file:{root}/state/0/2/4.delta does not exist.").run()
    assert f"The text names files of {root};" in words_of(at)
    next(button for button in at.button if button.key == "open-named").click().run()
    assert_no_error(at)
    assert at.session_state["ck"] == "samples/missing-delta-file/checkpoint"
    assert "Here: " in words_of(at.switch_page("pages/overview.py").run())


def test_a_text_that_is_no_error_gets_one_sentence(open_page: OpenPage) -> None:
    at = open_page("integrity", DELTA_GONE)
    at.text_area[0].set_value("good morning **everyone** <img src=x>").run()
    assert_no_error(at)
    shown = words_of(at)
    assert "Likely causes" not in shown
    assert shown.count("No error of Spark, of its streaming connectors") == 1
    assert "Paste the whole error with its stack trace" in shown


def test_the_deep_level_decodes_the_state_and_finds_nothing_in_a_clean_sample(open_page: OpenPage) -> None:
    at = open_page("integrity", "samples/windowed-aggregation-hot-partition/checkpoint", level="deep")
    assert_no_error(at)
    shown = words_of(at)
    assert "What is in the state files was checked, and every page speaks of it." in shown
    assert "blocks the restart" not in shown and "risk of loss" not in shown


@pytest.mark.slow
def test_a_second_look_at_a_stopped_query_sees_no_writer(open_page: OpenPage) -> None:
    at = open_page("integrity", "samples/files-stopped-cleanly/checkpoint")
    next(button for button in at.button if button.key == "look-again").click().run()
    assert_no_error(at)
    assert "The query seems to have stopped" in words_of(at)
