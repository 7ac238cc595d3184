"""Kafka's offsets (and Event Hubs', which read the same): recognition, partitions, advance, start
position."""

from __future__ import annotations

import json

import pytest

from core.checkpoint.sources.base import SourceContext
from core.checkpoint.sources.kafka import EVENT_HUBS, KAFKA
from core.checkpoint.sources.registry import kind_named, kind_of, parse

NOTHING = SourceContext("0")
TWO_TOPICS = '{"refunds":{"1":30,"0":25},"orders":{"10":7,"2":15,"0":13}}'


def test_the_line_of_the_format_reference_is_kafka() -> None:
    assert kind_of(['{"orders":{"0":66169,"1":395}}']) is KAFKA


def test_partitions_are_named_topic_and_number_and_sorted_as_numbers() -> None:
    assert KAFKA.partitions(parse(TWO_TOPICS)) == (
        "orders-0",
        "orders-2",
        "orders-10",
        "refunds-0",
        "refunds-1",
    )
    assert KAFKA.positions(parse(TWO_TOPICS))["orders-10"] == 7


@pytest.mark.parametrize(
    "text",
    [
        '{"orders":{"0":"5"}}',
        '{"orders":{"0":5.0}}',
        '{"orders":{"0":true}}',
        '{"orders":{"00":5}}',
        '{"orders":{"-1":5}}',
        '{"orders":{}}',
        '{"or ders":{"0":5}}',
        '{"orders":{"0":9223372036854775808}}',
        '{"orders":[5]}',
        "{}",
        "[]",
    ],
)
def test_a_form_that_kafka_never_writes_is_not_taken_for_kafka(text: str) -> None:
    assert not KAFKA.recognises(parse(text))
    assert kind_of([text]).name != "kafka"


def test_the_advance_sums_the_partitions_and_is_an_upper_bound_of_records() -> None:
    advance = KAFKA.advance(parse('{"a":{"0":10,"1":20}}'), parse('{"a":{"1":25,"0":10}}'), NOTHING)
    assert (advance.amount, advance.unit, advance.bound, advance.note) == (5, "offsets", "at_most", "")
    assert dict(advance.by_partition) == {"a-0": 0, "a-1": 5}


def test_without_a_known_start_nothing_is_counted() -> None:
    advance = KAFKA.advance(None, parse('{"a":{"0":10}}'), NOTHING)
    assert advance.amount is None
    assert dict(advance.by_partition) == {"a-0": None}


def test_a_new_partition_counts_at_most_its_position_and_is_named() -> None:
    advance = KAFKA.advance(parse('{"a":{"0":10}}'), parse('{"a":{"0":12,"1":7},"b":{"0":3}}'), NOTHING)
    assert advance.amount == 2 + 7 + 3
    assert dict(advance.by_partition) == {"a-0": 2, "a-1": 7, "b-0": 3}
    assert "a-1 and b-0" in advance.note
    assert "most" in advance.note


def test_a_position_that_goes_down_counts_nothing_and_is_named() -> None:
    advance = KAFKA.advance(parse('{"a":{"0":10,"1":1}}'), parse('{"a":{"0":5,"1":4}}'), NOTHING)
    assert advance.amount == 3
    assert advance.by_partition["a-0"] == 0
    assert "a-0 (from 10 to 5)" in advance.note


def test_a_vanished_partition_is_named() -> None:
    advance = KAFKA.advance(parse('{"a":{"0":10},"b":{"0":1}}'), parse('{"a":{"0":11}}'), NOTHING)
    assert advance.amount == 1
    assert "b-0" in advance.note


def test_the_start_position_is_the_logged_json_in_canonical_order() -> None:
    point = KAFKA.resume(parse(TWO_TOPICS), NOTHING)
    assert point.exact
    assert point.options == {"startingOffsets": '{"orders":{"0":13,"2":15,"10":7},"refunds":{"0":25,"1":30}}'}
    assert (point.repeats, point.skips, point.certainty) == ("nothing", "nothing", "certain")
    for word in ("-2", "failOnDataLoss", "Every partition", "new, empty checkpoint"):
        assert word in point.note


def test_a_single_topic_could_also_be_event_hubs_and_says_so() -> None:
    point = KAFKA.resume(parse('{"orders":{"0":13}}'), NOTHING)
    assert point.exact
    assert point.certainty == "inferred"
    assert "Event Hubs" in point.note
    assert "Event Hubs" not in KAFKA.resume(parse(TWO_TOPICS), NOTHING).note


@pytest.mark.parametrize("value", [-1, -2, -3])
def test_a_negative_position_in_a_file_is_refused(value: int) -> None:
    point = KAFKA.resume({"orders": {"0": 5, "1": value}}, NOTHING)
    assert not point.exact
    assert point.options is None
    assert f"orders-1 ({value})" in point.note


def test_the_first_start_is_the_initial_offset_beside_the_log() -> None:
    assert KAFKA.first_start(SourceContext("0", initial='{"orders":{"0":3}}')) == {"orders": {"0": 3}}
    assert KAFKA.first_start(SourceContext("0", initial="garbage")) is None
    assert KAFKA.first_start(NOTHING) is None


def test_a_removed_last_topic_leaves_an_empty_object_and_the_kind_stays_kafka() -> None:
    assert kind_of(["{}", None, '{"orders":{"0":5}}']) is KAFKA


def test_event_hubs_is_found_by_name_and_gives_inclusive_sequence_numbers() -> None:
    assert kind_named("event_hubs") is EVENT_HUBS
    point = EVENT_HUBS.resume(parse('{"ehName1":{"1":789,"0":456}}'), NOTHING)
    assert point.exact
    assert point.certainty == "inferred"
    assert point.options is not None
    positions = json.loads(point.options["eventhubs.startingPositions"])
    assert {
        (json.loads(k)["ehName"], json.loads(k)["partitionId"]): v["seqNo"] for k, v in positions.items()
    } == {
        ("ehName1", 0): 456,
        ("ehName1", 1): 789,
    }
    assert all(
        v == {"offset": None, "seqNo": v["seqNo"], "enqueuedTime": None, "isInclusive": True}
        for v in positions.values()
    )


def test_one_spaced_text_is_a_hand_written_kafka_offset_and_several_are_a_python_source() -> None:
    assert kind_of(['{"orders": {"0": 5}}']) is KAFKA
    assert kind_of(['{"orders": {"0": 5}}', '{"orders": {"0": 5}}']) is KAFKA
    assert kind_of(['{"orders": {"0": 6}}', '{"orders": {"0": 5}}']).name == "python"
    assert kind_of(['{"orders": {"0": 6}}', '{"orders":{"0":5}}']) is KAFKA
    assert (
        kind_of(
            ['{"orders": {"0": 6}}', '{"orders": {"0": 5}}'], SourceContext("0", initial='{"orders":{"0":0}}')
        )
        is KAFKA
    )
