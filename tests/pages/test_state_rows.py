"""Rows on the page State: nothing is read until something is chosen, nothing is shown until it is asked for."""

from __future__ import annotations

import json
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from core.checkpoint.state_content import contents
from core.settings import get_settings
from tests.pages.conftest import OpenPage, assert_no_error, words_of

HOT = "samples/windowed-aggregation-hot-partition/checkpoint"
JOIN = "samples/join-watermark-held-back/checkpoint"
TIMERS = "samples/transform-with-state-timers/checkpoint"
MISSING = "samples/missing-delta-file/checkpoint"


def rows(at: AppTest) -> list[dict[str, object]]:
    """The rows that are shown: the last table of the page."""
    found: list[dict[str, object]] = at.dataframe[-1].value.to_dict("records")
    return found


def test_nothing_is_read_until_something_is_chosen(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object) -> None:
        raise AssertionError("a state file was read")

    monkeypatch.setattr(contents, "read_in_waves", read)
    at = open_page("state", HOT)
    assert_no_error(at)
    assert "Choose what to find" in words_of(at)


def test_the_link_alone_shows_the_largest_rows_hidden(open_page: OpenPage) -> None:
    at = open_page("state", HOT, find="largest_values")
    assert_no_error(at)
    assert "49 rows." in words_of(at)
    first = rows(at)[0]
    assert (first["partition"], first["value bytes"], first["key store"]) == (1, 56_929, "***")
    next(toggle for toggle in at.toggle if toggle.key == "reveal_state").set_value(True).run()
    assert_no_error(at)
    assert rows(at)[0]["key store"] == "web"
    assert "reveal" not in str(dict(at.query_params))


def test_one_key(open_page: OpenPage) -> None:
    at = open_page("state", HOT, find="key")
    assert_no_error(at)
    field = next(field for field in at.text_input if field.key == "typed_key")
    assert json.loads(field.placeholder).keys() == {"window", "store"}
    assert "opens exactly this view" in words_of(at)
    window = {"start": "2026-11-21T00:00:00Z", "end": "2026-11-22T00:00:00Z"}
    field.set_value(json.dumps({"store": "web", "window": window})).run()
    assert_no_error(at)
    assert "1 row." in words_of(at)
    assert "web" not in str(
        dict(at.query_params)
    ) and "Not in this address: the key that was typed." in words_of(at)
    next(field for field in at.text_input if field.key == "typed_key").set_value("web").run()
    assert_no_error(at)
    assert "A key is a JSON object" in words_of(at)


def test_what_differs_from_an_earlier_batch(open_page: OpenPage) -> None:
    at = open_page("state", HOT, find="difference")
    assert_no_error(at)
    assert "Choose the earlier batch to compare with." in words_of(at)
    at.number_input(key="since").set_value(1).run()
    assert_no_error(at)
    assert "Since batch 1: 0 added, 49 changed, 0 removed, 0 unchanged." in words_of(at)
    first = rows(at)[0]
    assert (first["change"], first["count"], json.loads(str(first["before"]))["count"]) == (
        "changed",
        "***",
        "***",
    )
    linked = open_page("state", HOT, find="difference", since="1", batch="3", partition="2")
    assert_no_error(linked)
    assert {row["partition"] for row in rows(linked)} == {2}
    assert any("read" in box.label and "file" in box.label for box in linked.expander)


def test_only_the_rows_of_the_chosen_partition(open_page: OpenPage) -> None:
    at = open_page("state", HOT, find="first", partition="2")
    assert_no_error(at)
    assert {row["partition"] for row in rows(at)} == {2}


def test_the_sides_of_a_join_and_the_variables_are_choices(open_page: OpenPage) -> None:
    left = open_page("state", JOIN, find="first")
    right = open_page("state", JOIN, find="first", of="right")
    for at in (left, right):
        assert_no_error(at)
    assert rows(left)[0].keys() != rows(right)[0].keys()
    timers = open_page("state", TIMERS, find="first", of="timers")
    assert_no_error(timers)
    assert "key expiryTimestampMs" in rows(timers)[0]


def test_a_partition_that_cannot_be_read_is_named(open_page: OpenPage) -> None:
    at = open_page("state", MISSING, find="first")
    assert_no_error(at)
    shown = words_of(at)
    assert "Partition 2 could not be read: state/0/2/4.delta is missing" in shown
    assert "73 rows in the 3 partitions that could be read" in shown


def test_what_cannot_be_asked_is_one_sentence(open_page: OpenPage) -> None:
    for more, said in (
        ({"batch": "77"}, "Batch 77 is not committed"),
        ({"find": "nothing"}, "This link asks for"),
        ({"find": "difference", "since": "77"}, "Batch 77 is not committed"),
    ):
        at = open_page("state", HOT, **{"find": "first", **more})
        assert_no_error(at)
        assert said in words_of(at)


def test_a_setting_forbids_to_show_values(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHECKPOINT_EXPLORER_REVEAL_STATE", "false")
    get_settings.cache_clear()
    at = open_page("state", HOT, find="first")
    get_settings.cache_clear()
    assert_no_error(at)
    assert not [toggle for toggle in at.toggle if toggle.key == "reveal_state"]
    assert "CHECKPOINT_EXPLORER_REVEAL_STATE is off" in words_of(at)
    assert rows(at)[0]["key store"] == "***"


def test_the_finding_about_a_hot_partition_leads_to_its_largest_rows(open_page: OpenPage) -> None:
    at = open_page("state", HOT, a_sink="delta")
    links = {link.proto.label: parse_qs(link.proto.query_string) for link in at.get("page_link")}
    found = links["Largest rows of partition 1"]
    assert found["find"] == ["largest_values"] and found["partition"] == ["1"]
    assert found["ck"] == [HOT] and found["a_sink"] == ["delta"], "a link to the open page keeps nothing else"


def test_pyspark_code_stands_only_where_it_asks_the_same(open_page: OpenPage) -> None:
    for find, has_code in (("first", True), ("changes", True), ("largest_values", False), ("passed", False)):
        at = open_page("state", HOT, find=find)
        assert_no_error(at)
        assert ("The same in PySpark" in [box.label for box in at.expander]) == has_code, find
