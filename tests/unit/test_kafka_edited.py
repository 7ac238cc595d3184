"""Kafka offsets that were edited by hand, without a broker: the text as Spark's reader takes it, and what the
forecast says of it. Against real Spark: tests/kafka/test_forecast_edited.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.analysis.forecast import Forecast, Query, forecast
from core.checkpoint import Checkpoint
from core.checkpoint.sources.kafka import as_read, positions_read
from core.checkpoint.sources.registry import kind_of, parse
from tests.support.brokers import HOUR, NOW, answered, at, checkpoint_at, connectors_of
from tests.support.build import offset_text, write

FOUR, TEN = {"orders": {0: 4, 1: 4}}, {"orders": {0: 10, 1: 10}}
EMPTY = ["null", "{}", '{"orders":{}}', '{"orders":null}']
REFUSED = [
    '{"orders":{"0":10,"1":true}}',
    '{"orders":{"0":10,"1":"10"}}',
    '{"orders":{"0":10,"1":{}}}',
    '{"orders":"10"}',
    "\ufeff" + '{"orders":{"0":10,"1":10}}',
    "latest",
    '{"orders":{"0":10,"2147483648":1}}',
    '{"orders":{"0":10,"":1}}',
]


def with_text(root: Path, number: int, text: str, *, pending: bool = False) -> Path:
    """Three batches, of which offsets/``number`` has another text."""
    checkpoint_at(root, {"orders": {0: 1, 1: 1}}, FOUR, TEN, pending=pending)
    write(root, {f"offsets/{number}": offset_text([text], timestamp_ms=NOW - HOUR)})
    return root


def said(root: Path, **query: object) -> Forecast:
    return forecast(Checkpoint.open(str(root)), query=Query(**query))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ('{"t":{"0":null,"+1":7.9,"02":1e1}}', {"t": {0: 0, 1: 7, 2: 10}}),
        ('{"t":{"0":18446744073709551626,"1":1e30}}', {"t": {0: 10, 1: 2**63 - 1}}),
        ('{"t":{"0":1,"0":2},"u":null}', {"t": {0: 2}}),
        ('{"t":{"0":1},"t":{"1":2}}', {"t": {1: 2}}),
        ("null", {}),
    ],
)
def test_positions_as_spark_reads_them(text: str, positions: dict[str, dict[int, int]]) -> None:
    assert positions_read(text) == positions


@pytest.mark.parametrize("text", [*REFUSED, "[]", "10", "true"])
def test_what_spark_refuses_has_no_positions(text: str) -> None:
    assert as_read(parse(text)) is None and positions_read(text) == {}


@pytest.mark.parametrize("text", [*EMPTY, *REFUSED])
def test_an_edited_text_does_not_hide_the_kind(text: str) -> None:
    assert kind_of([text, '{"orders":{"0":4}}']).name == kind_of(['{"orders":{"0":4}}', text]).name == "kafka"


@pytest.mark.parametrize("text", EMPTY)
@pytest.mark.parametrize("topics", [{}, {"0": ("orders",)}])
def test_no_positions_in_the_newest_offset_are_read_again(
    tmp_path: Path, text: str, topics: dict[str, tuple[str, ...]]
) -> None:
    answer = said(with_text(tmp_path, 2, text), topics=topics)
    (risk,) = answer.risks
    assert (answer.outcome, risk.id, risk.certainty) == ("resume", "KAFKA_TOPIC_READ_AGAIN", "inferred")
    assert "orders-0 and orders-1" in risk.sentence
    assert answer.data.append == answer.data.skip == "duplicates" and not answer.data.is_sure("append")


@pytest.mark.parametrize("text", EMPTY)
def test_no_positions_where_the_planned_batch_begins_are_read_again(tmp_path: Path, text: str) -> None:
    answer = said(with_text(tmp_path, 1, text, pending=True))
    assert (answer.outcome, [risk.id for risk in answer.risks]) == ("rerun", ["KAFKA_TOPIC_READ_AGAIN"])
    assert (answer.data.overwrite, answer.data.is_sure("overwrite")) == ("duplicates", False)
    assert said(with_text(tmp_path / "committed", 1, text)).data.is_exact


@pytest.mark.parametrize("text", EMPTY)
def test_a_plan_without_positions_fails(tmp_path: Path, text: str) -> None:
    answer = said(with_text(tmp_path, 2, text, pending=True))
    assert (answer.outcome, answer.reason, answer.certainty) == ("fail", "FAILED_PLAN_LEFT", "certain")
    assert answer.error is not None and "Set(orders-0, orders-1) have been deleted" in answer.error.message


@pytest.mark.parametrize("text", REFUSED)
@pytest.mark.parametrize(("number", "pending"), [(2, False), (2, True), (1, True)])
def test_what_spark_refuses_stops_the_batch(tmp_path: Path, text: str, number: int, pending: bool) -> None:
    answer = said(with_text(tmp_path, number, text, pending=pending))
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "batch", "SOURCE_OFFSET_UNREADABLE")
    assert answer.error is not None and answer.error.message.endswith(f"got {text}")
    assert answer.sentence.count(f"offsets/{number}") == 1


def test_a_partition_that_stands_twice_counts_with_the_last_position(tmp_path: Path) -> None:
    lower = said(with_text(tmp_path / "lower", 2, '{"orders":{"0":10,"1":10,"1":4}}'))
    (risk,) = lower.risks
    assert (risk.id, risk.certainty) == ("OFFSET_WENT_BACK", "inferred")
    assert "orders-1 more than once" in risk.sentence and lower.data.append == "duplicates"
    assert said(with_text(tmp_path / "higher", 2, '{"orders":{"0":10,"1":4,"1":10}}')).data.is_exact
    start = said(with_text(tmp_path / "start", 1, '{"orders":{"0":4,"1":4,"1":2}}', pending=True))
    assert [risk.id for risk in start.risks] == ["OFFSET_WENT_BACK"]


def test_a_planned_batch_that_begins_before_the_one_before_reads_again(tmp_path: Path) -> None:
    answer = said(with_text(tmp_path, 1, '{"orders":{"0":0,"1":4}}', pending=True))
    assert (answer.outcome, [risk.id for risk in answer.risks]) == ("rerun", ["OFFSET_WENT_BACK"])
    assert answer.data.overwrite == "duplicates"


@pytest.mark.parametrize("allowed", [True, False])
def test_a_number_below_0_in_a_plan(tmp_path: Path, allowed: bool) -> None:
    begins = said(
        with_text(tmp_path / "start", 1, '{"orders":{"0":4,"1":-1}}', pending=True), fail_on_data_loss=allowed
    )
    assert (begins.outcome, begins.reason) == ("fail", "SOURCE_OFFSET_UNREADABLE")
    ends = said(
        with_text(tmp_path / "end", 2, '{"orders":{"0":10,"1":-1}}', pending=True), fail_on_data_loss=allowed
    )
    if allowed:
        assert (ends.outcome, ends.reason) == ("fail", "FAILED_PLAN_LEFT")
    else:
        assert ends.outcome == "rerun" and ends.then is not None and "position -1" in ends.then


def test_a_topic_that_is_new_in_the_plan_and_that_nobody_reads(tmp_path: Path) -> None:
    root = with_text(tmp_path, 2, '{"orders":{"0":10,"1":10},"other":{"0":5}}', pending=True)
    answer = said(root, topics={"0": ("orders",)})
    assert (answer.outcome, answer.reason) == ("fail", "KAFKA_PARTITIONS_GONE")
    assert answer.error is not None and "initial offsets for partitions Set(other-0)" in answer.error.message
    assert said(root, topics={"0": ("orders",)}, fail_on_data_loss=False).outcome == "rerun"
    assert said(root, topics={"0": ("orders", "other")}).outcome == "rerun"


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ("{}", None),
        ('{"orders":{"0":4,"1":20}}', "FAILED_PLAN_LEFT"),
        ('{"orders":true}', "SOURCE_START_LOST"),
    ],
)
def test_first_offsets_of_a_planned_batch_0(tmp_path: Path, first: str, reason: str | None) -> None:
    root = checkpoint_at(tmp_path, FOUR, pending=True)
    write(root, {"sources/0/0": b"\0v1\n" + first.encode()})
    answer = said(root)
    assert (answer.outcome == "fail", answer.reason) == (reason is not None, reason)


@pytest.mark.parametrize(
    ("newest", "log_start", "effect", "is_sure"),
    [
        ({0: 10, 1: 10}, 12, "loss", True),  # nothing was set back
        ({0: 4, 1: 4}, 12, "loss", False),  # as the entry before: what the batch held is not known
        ({0: 2, 1: 10}, 4, "duplicates", False),  # before it: what has expired was read
        ({0: 2, 1: 10}, 12, "loss", False),
        ({0: -2, 1: 10}, 4, "duplicates", False),
        ({0: -2, 1: 10}, 12, "loss", False),
        ({1: 10}, 4, "duplicates", False),
        ({1: 10}, 12, "loss", False),
    ],
)
def test_what_expired_behind_a_position_that_was_set_back(
    tmp_path: Path, newest: dict[int, int], log_start: int, effect: str, is_sure: bool
) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 1, 1: 1}}, FOUR, {"orders": newest})
    broker = answered({("orders", 0): at(log_start, 20), ("orders", 1): at(0, 10, 10)})
    answer = forecast(
        Checkpoint.open(str(root)),
        query=Query(topics={"0": ("orders",)}, fail_on_data_loss=False),
        connectors=connectors_of(broker),
    )
    assert (answer.outcome, answer.data.append, answer.data.is_sure("append")) == ("resume", effect, is_sure)


def test_a_planned_batch_that_is_the_first_to_read_a_partition_with_too_few_records(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 4}}, {"orders": {0: 10, 1: 20}}, pending=True)
    connectors = connectors_of(answered({("orders", 0): at(0, 13, 4), ("orders", 1): at(0, 3)}))
    query = Query(topics={"0": ("orders",)})
    answer = forecast(Checkpoint.open(str(root)), query=query, connectors=connectors)
    assert (answer.outcome, answer.reason) == ("fail", "KAFKA_TOPIC_RECREATED")
    assert answer.error is not None and "[3, 20) for topic partition orders-1" in answer.error.message


def test_a_new_partition_in_a_plan_while_a_topic_of_the_query_is_gone(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 4}}, {"orders": {0: 10}, "gone": {0: 5}}, pending=True)
    connectors = connectors_of(answered({("orders", 0): at(0, 13, 4)}, absent=("gone",)))
    for topics, reason, certainty in (
        ({"0": ("orders", "gone")}, "KAFKA_TOPIC_GONE", "certain"),
        ({"0": ("orders",)}, "KAFKA_PARTITIONS_GONE", "certain"),
        ({}, "KAFKA_PARTITIONS_GONE", "inferred"),
    ):
        query = Query(topics=topics)
        answer = forecast(Checkpoint.open(str(root)), query=query, connectors=connectors)
        assert (answer.outcome, answer.reason, answer.certainty) == ("fail", reason, certainty)
