"""A link that cannot be honoured says what it asked for, and never shows something else in its place."""

from __future__ import annotations

import pytest

from tests.pages.conftest import OpenPage, assert_no_error, words_of

CLEAN = "samples/files-stopped-cleanly/checkpoint"
JOIN = "samples/join-watermark-held-back/checkpoint"


@pytest.mark.parametrize(
    ("batch", "told"),
    [
        ("4000", "This link asks for batch 4000. It is not written yet: the logs contain batches 0 to 13."),
        ("nonsense", "This link asks for batch 'nonsense', which is not a number"),
        ("-3", "This link asks for batch '-3', which is not a number"),
        ("99999999999999999999", "This link asks for batch '99999999999999999999', which is not a number"),
        ("1.5", "This link asks for batch '1.5', which is not a number"),
    ],
)
def test_a_batch_that_is_not_there(open_page: OpenPage, batch: str, told: str) -> None:
    at = open_page("timeline", CLEAN, batch=batch)
    assert_no_error(at)
    assert told in words_of(at)


def test_a_batch_that_was_removed_by_retention(open_page: OpenPage) -> None:
    at = open_page("timeline", "samples/purged-to-newest-10/checkpoint", batch="1")
    assert_no_error(at)
    assert "This link asks for batch 1. It was removed by retention" in words_of(at)


def test_a_source_that_is_not_there(open_page: OpenPage) -> None:
    at = open_page("timeline", JOIN, source="7")
    assert_no_error(at)
    assert "This link asks for source '7'. Available: 0 and 1." in words_of(at)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"operator": "9"}, "This link asks for operator '9'. Available: 0."),
        ({"store": "nope"}, "This link asks for store 'nope'. Available: left-"),
        ({"partition": "400"}, "This link asks for partition 400. Operator 0 has partitions 0 to"),
        ({"partition": "x"}, "This link asks for partition 'x', which is not a number"),
    ],
)
def test_a_place_in_the_state_that_is_not_there(
    open_page: OpenPage, parameters: dict[str, str], told: str
) -> None:
    at = open_page("state", JOIN, **parameters)
    assert_no_error(at)
    assert told in words_of(at)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"option": "pray"}, "This link asks for the option 'pray'"),
        ({"a_sink": "printer"}, "This link asks for the answer sink 'printer'"),
        ({"a_stateful": "maybe"}, "This link asks for the answer stateful 'maybe'"),
    ],
)
def test_an_answer_that_does_not_exist(open_page: OpenPage, parameters: dict[str, str], told: str) -> None:
    at = open_page("recovery", JOIN, **parameters)
    assert_no_error(at)
    assert told in words_of(at)


def test_names_that_mean_nothing_are_told_and_are_not_in_the_link(open_page: OpenPage) -> None:
    at = open_page("recovery", JOIN, a_source="yes", to_batch="77", a_sink="delta", option="rewind")
    assert_no_error(at)
    shown = words_of(at)
    assert "This link has a_source and to_batch, which mean nothing here and are not used." in shown
    link = next(code.value for code in at.code if code.value.startswith("?") and "ck=" in code.value)
    assert "a_sink=delta" in link and "option=rewind" in link
    assert "a_source" not in link and "&to_batch" not in link


@pytest.mark.parametrize(
    ("page", "parameters"),
    [
        ("timeline", {"batch": "3", "x": "time", "size": "100", "whole": "true", "last": "5", "source": "0"}),
        ("state", {"operator": "0", "partition": "1", "measure": "state", "find": "key", "since": "1"}),
        ("ends", {"sink": "/nowhere", "at_0": "/nowhere", "isolation": "read_committed"}),
        ("recovery", {"a_to_batch": "2", "a_platform": "databricks", "tab": "all", "level": "deep"}),
        ("compare", {"with": "samples/files-stopped-cleanly/checkpoint", "depth": "logs"}),
        ("checkpoints", {"search": "x", "sort": "name", "start": "fails", "follow": "true"}),
    ],
)
def test_names_that_the_pages_use_are_known(
    open_page: OpenPage, page: str, parameters: dict[str, str]
) -> None:
    assert "nothing here" not in words_of(open_page(page, JOIN, **parameters))


@pytest.mark.parametrize(
    ("page", "parameters", "told"),
    [
        (
            "timeline",
            {"last": "x"},
            "This link asks for a window that ends at batch 'x', which is not a number",
        ),
        (
            "timeline",
            {"last": "3000"},
            "This link asks for a window that ends at batch 3000. The logs contain batches 0 to",
        ),
        (
            "watermark",
            {"size": "7"},
            "This link asks for a window of size '7'. Available: 100, 300 and 1000.",
        ),
        ("timeline", {"x": "sideways"}, "This link asks for the X axis 'sideways'. Available: id and time."),
        (
            "timeline",
            {"whole": "perhaps"},
            "This link asks for reading every batch: 'perhaps'. Available: true and false.",
        ),
        ("state", {"measure": "weight"}, "This link asks for the measure 'weight'. Available: state,"),
        ("integrity", {"spark": "9.9"}, "This link asks for Spark version '9.9'. Available: 3.3,"),
    ],
)
def test_nonsense_in_a_setting_of_the_view_is_answered_and_the_usual_view_is_shown(
    open_page: OpenPage, page: str, parameters: dict[str, str], told: str
) -> None:
    at = open_page(page, JOIN, **parameters)
    assert_no_error(at)
    assert told in words_of(at)


def test_hostile_text_in_a_link_is_only_repeated_as_plain_text(open_page: OpenPage) -> None:
    text = "![x](http://evil.example/x.png)<script>alert(1)</script>"
    at = open_page("recovery", CLEAN, option=text, a_sink=text, source=text)
    assert_no_error(at)
    assert not at.markdown


@pytest.mark.parametrize("batch", ["1" + "0" * 400, "1e999", "inf", "nan"])
def test_a_number_without_end(open_page: OpenPage, batch: str) -> None:
    at = open_page("timeline", CLEAN, batch=batch)
    assert_no_error(at)
    assert "This link asks for batch" in words_of(at)
