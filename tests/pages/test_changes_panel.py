"""The panel "What changes?" of the page Integrity: choice, verdict, address, checklist."""

from __future__ import annotations

import shlex

import pytest
from streamlit.testing.v1 import AppTest

from core.cli import main
from tests.pages.conftest import OpenPage, assert_no_error, words_of

TOTALS = "samples/purged-to-newest-10/checkpoint"
FILES = "samples/files-stopped-cleanly/checkpoint"


def choose(at: AppTest, name: str, value: str) -> AppTest:
    box = next(box for box in at.selectbox if box.key == f"pick_{name}")
    box.set_value(value).run()
    assert_no_error(at)
    return at


def test_from_the_page_to_the_silent_change_in_two_choices(open_page: OpenPage) -> None:
    at = open_page("integrity", TOTALS)
    assert_no_error(at)
    assert "What changes?" in words_of(at) and "▲ silently wrong · keys of grouping" in words_of(at)
    assert "What stands in more than one line depends on what it becomes" in words_of(at)
    choose(at, "what", "aggregates")
    choose(at, "becomes", "same_types")
    shown = words_of(at)
    assert "▲ silently wrong · aggregates: same number and types" in shown
    assert "Spark compares the types of the aggregates (count: long) and nothing else" in shown
    assert "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE" not in shown
    address = str(dict(at.query_params))
    assert "aggregates" in address and "same_types" in address


def test_the_address_alone_shows_the_same_answer(open_page: OpenPage) -> None:
    at = open_page("integrity", TOTALS, what="keys", becomes="other_types")
    assert_no_error(at)
    shown = words_of(at)
    assert "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE" in shown and "store: string" in shown


def test_without_a_value_every_possibility_is_shown(open_page: OpenPage) -> None:
    shown = words_of(open_page("integrity", TOTALS, what="aggregates"))
    assert "▲ silently wrong · aggregates" in shown
    assert "▲ fails in the batch with STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE · aggregates" in shown


def test_a_value_goes_when_another_change_is_chosen(open_page: OpenPage) -> None:
    at = open_page("integrity", TOTALS, what="aggregates", becomes="same_types")
    choose(at, "what", "watermark")
    assert "becomes" not in at.query_params
    assert "This link asks for" not in words_of(at)


def test_typed_columns_are_compared_and_stay_out_of_the_address(open_page: OpenPage) -> None:
    at = open_page("integrity", TOTALS, what="keys")
    field = next(field for field in at.text_input if field.key == "pick_typed_keys")
    assert field.placeholder == "store:string"
    field.set_value("town:string").run()
    assert_no_error(at)
    assert "▲ silently wrong · keys of grouping, join or deduplication: town:string" in words_of(at)
    assert "town" not in str(dict(at.query_params))


def test_the_sink_decides_where_it_is_said(open_page: OpenPage) -> None:
    unknown = words_of(open_page("integrity", FILES, what="sink_path"))
    assert "◐ cannot be said · the place of the sink" in unknown
    files = words_of(open_page("integrity", FILES, what="sink_path", target="file"))
    assert "BATCH_METADATA_NOT_FOUND" in files


def test_the_spark_of_the_page_starts_the_changed_query(open_page: OpenPage) -> None:
    new = words_of(open_page("integrity", TOTALS, what="operators", becomes="removed"))
    assert "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA · stateful operators" in new
    old = words_of(open_page("integrity", TOTALS, what="operators", becomes="removed", spark="3.5"))
    assert "▲ silently wrong · stateful operators" in old


def test_a_link_that_asks_for_what_does_not_exist_says_so(open_page: OpenPage) -> None:
    at = open_page("integrity", TOTALS, what="colour", becomes="blue")
    assert_no_error(at)
    assert "colour" in words_of(at)


def test_what_was_and_the_checklist_have_the_values_of_the_checkpoint(open_page: OpenPage) -> None:
    shown = words_of(open_page("integrity", TOTALS))
    assert "operator 0: stateStoreSave · keys store: string · values count: long" in shown
    assert "--option backup" in shown and "Nothing is planned" in shown


def test_the_command_that_compares_two_files_is_taken_by_the_command_line(
    open_page: OpenPage, capsys: pytest.CaptureFixture[str]
) -> None:
    at = open_page("integrity", TOTALS)
    command = next(code.value for code in at.code if "--old" in code.value)
    assert main(shlex.split(command)[3:]) == 2
    assert "The query file OLD.py cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("place", [TOTALS, FILES])
def test_the_command_of_a_rehearsal_is_filled_in_and_is_taken_by_the_command_line(
    open_page: OpenPage, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    at = open_page("integrity", place, what="aggregates", target="foreach")
    assert_no_error(at)
    command = next(code.value for code in at.code if "core rehearse" in code.value)
    words = shlex.split(command)
    assert words[:4] == ["python", "-m", "core", "rehearse"] and "sink=foreach_append" in words
    assert "source.0.schema=COLUMNS" in words and not any("source.0.path" in word for word in words)
    assert main(words[3:]) == 2
    assert "The query file OLD.py cannot be read" in capsys.readouterr().err
