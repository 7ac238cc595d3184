"""Asking Spark on the page State, with a real Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from core.checkpoint import Checkpoint, state_inventory
from core.checkpoint.state_content.state_rows import RowsQuestion, read_rows
from core.settings import get_settings
from core.spark import SparkEngine
from tests.pages.conftest import OpenPage, assert_no_error, words_of
from tests.support.build import SAMPLES

HOT = "samples/windowed-aggregation-hot-partition/checkpoint"
SECONDS = 180


@pytest.fixture
def spark_worker() -> Iterator[None]:
    """A Spark of this process, ended behind the test."""
    yield
    SparkEngine.shared(get_settings()).stop()


def asked(at: AppTest) -> AppTest:
    """Clicks Ask Spark and waits for the answer, as a viewer does."""
    next(button for button in at.button if button.key == "ask-spark-now").click().run()
    until = time.monotonic() + SECONDS
    while any(button.key == "cancel-spark" for button in at.button):
        assert time.monotonic() < until
        time.sleep(0.5)
        at.run()
    assert_no_error(at)
    return at


def table(at: AppTest) -> list[dict[str, object]]:
    found: list[dict[str, object]] = at.dataframe[-1].value.to_dict("records")
    return found


@pytest.mark.spark
@pytest.mark.own_spark
def test_what_spark_answers_is_what_the_files_say_and_hidden(open_page: OpenPage, spark_worker: None) -> None:
    at = open_page("state", HOT, ask="per_partition")
    asked(at)
    assert "Answered in" in words_of(at)
    ck = Checkpoint.open(str(SAMPLES / "windowed-aggregation-hot-partition" / "checkpoint"))
    operator = state_inventory(ck).operators[0]
    counted = {
        part.partition_id: len(read_rows(ck, RowsQuestion(partition_id=part.partition_id, limit=1000)).rows)
        for part in operator.partitions
    }
    assert {row["partition_id"]: int(str(row["rows"])) for row in table(at)} == {
        partition: rows for partition, rows in counted.items() if rows
    }
    # the same Spark answers the next question: the name of a column cannot show what is hidden
    at = open_page("state", HOT, ask="own")
    next(area for area in at.text_area if area.key == "own_query").set_value(
        "SELECT key.store as partition_id from state where key.store = 'web'"
    ).run()
    asked(at)
    assert [row["partition_id"] for row in table(at)] == ["***"]
    assert "store" not in str(dict(at.query_params))
    next(toggle for toggle in at.toggle if toggle.key == "reveal_spark").set_value(True).run()
    assert [row["partition_id"] for row in table(at)] == ["web"]


@pytest.mark.spark
@pytest.mark.own_spark
def test_a_query_that_spark_refuses_is_one_sentence(open_page: OpenPage, spark_worker: None) -> None:
    at = open_page("state", HOT, ask="own")
    area = next(area for area in at.text_area if area.key == "own_query")
    area.set_value("select nothing from state").run()
    asked(at)
    assert "nothing" in words_of(at) and "Traceback" not in words_of(at)


@pytest.mark.spark
@pytest.mark.own_spark
def test_without_java_the_page_stays_useful(
    open_page: OpenPage, spark_worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    at = asked(open_page("state", HOT, ask="rows"))
    assert "Java was not found" in words_of(at)
    assert "Rows" in words_of(at)


def test_a_page_alone_starts_nothing(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*_: object, **__: object) -> None:
        raise AssertionError("Spark was asked")

    monkeypatch.setattr(SparkEngine, "ask", ask)
    at = open_page("state", HOT, ask="per_value", column="store")
    assert_no_error(at)
    assert any(button.key == "ask-spark-now" for button in at.button)


@pytest.mark.parametrize(
    ("address", "choice", "may"),
    [
        ("127.0.0.1", "private", True),
        ("0.0.0.0", "private", False),
        ("0.0.0.0", "always", True),
        ("127.0.0.1", "never", False),
    ],
)
def test_a_server_for_others_starts_no_spark_unless_it_is_told_to(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, address: str, choice: str, may: bool
) -> None:
    monkeypatch.setenv("CHECKPOINT_EXPLORER_ADDRESS", address)
    monkeypatch.setenv("CHECKPOINT_EXPLORER_SPARK_IN_APP", choice)
    monkeypatch.setenv("CHECKPOINT_EXPLORER_ROOTS", f'{{"samples": "{SAMPLES}"}}')
    get_settings.cache_clear()
    try:
        at = open_page("state", HOT)
        assert_no_error(at)
        assert any(button.key == "ask-spark-now" for button in at.button) is may
        assert ("Spark is not started for this page" in words_of(at)) is not may
    finally:
        get_settings.cache_clear()


def test_where_values_are_never_shown_no_own_query_is_taken(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHECKPOINT_EXPLORER_REVEAL_STATE", "false")
    get_settings.cache_clear()
    try:
        at = open_page("state", HOT, ask="own")
        assert_no_error(at)
        assert "Queries of your own are not taken here" in words_of(at)
        assert not at.text_area or all(area.key != "own_query" for area in at.text_area)
    finally:
        get_settings.cache_clear()
