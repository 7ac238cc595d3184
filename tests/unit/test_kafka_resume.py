"""The start position of a Kafka source fitted to what a broker said (by hand); the same on real Spark:
tests/kafka/test_resume.py."""

from __future__ import annotations

import json
from dataclasses import replace

from core.checkpoint.sources.base import ResumePoint, SourceContext
from core.checkpoint.sources.forms import parse
from core.checkpoint.sources.kafka import KAFKA
from core.connectors.answers import BrokerAnswer, BrokerPartition
from core.recovery.resume_kafka import with_broker
from tests.support.brokers import HOUR, NOW, answered, at, line, topic

OFFSET = line({"orders": {0: 10, 1: 10}})


def fitted(answer: BrokerAnswer, offset: str = OFFSET, batch_ms: int | None = NOW - HOUR) -> ResumePoint:
    return with_broker(KAFKA.resume(parse(offset), SourceContext("0")), offset, answer, batch_ms)


def starts(point: ResumePoint) -> dict[str, dict[str, int]]:
    assert point.options is not None
    found: dict[str, dict[str, int]] = json.loads(point.options["startingOffsets"])
    return found


def test_positions_that_are_all_there_stay_and_become_certain() -> None:
    point = fitted(answered({("orders", 0): at(3, 20), ("orders", 1): at(10, 10)}))
    assert (point.exact, point.certainty, point.skips, point.repeats) == (
        True,
        "certain",
        "nothing",
        "nothing",
    )
    assert starts(point) == {"orders": {"0": 10, "1": 10}}
    assert "Names every partition that orders has on the broker broker:9092 now." in point.note


def test_a_new_partition_starts_at_its_beginning() -> None:
    point = fitted(answered({("orders", 0): at(3, 20), ("orders", 1): at(3, 10), ("orders", 2): at(0, 7)}))
    assert point.exact
    assert starts(point) == {"orders": {"0": 10, "1": 10, "2": -2}}
    assert "orders-2 is new since and begins at -2" in point.note


def test_expired_positions_are_refused_by_name_with_a_way_on() -> None:
    point = fitted(
        answered(
            {
                ("orders", 0): at(14, 20, first_ms=NOW - HOUR),
                ("orders", 1): at(11, 20, first_ms=NOW - 2 * HOUR),
            }
        )
    )
    assert (point.exact, point.certainty) == (False, "certain")
    assert starts(point) == {"orders": {"0": -2, "1": -2}}
    assert (
        point.skips
        == "5 offsets that have expired (orders-0 10 to 13 and orders-1 10 to 10, all older than 10:30 UTC)"
    )
    assert point.note.startswith("NOT EXACT, skips 5 offsets")
    assert "orders-0 and orders-1 can no longer start at the position" in point.note


def test_partitions_that_are_gone_leave_the_option_because_naming_them_stops_the_query() -> None:
    point = fitted(answered({("orders", 0): at(3, 20)}, topic(partitions=1)))
    assert not point.exact
    assert starts(point) == {"orders": {"0": 10}}
    assert "orders-1 is not on the broker any more" in point.note


def test_a_topic_that_is_gone_leaves_the_option_with_all_its_partitions() -> None:
    offset = line({"orders": {0: 10}, "refunds": {0: 3}})
    answer = answered(
        {("orders", 0): at(3, 20)}, absent=("refunds",), all_topics=("orders", "refund", "refunds-dev")
    )
    point = fitted(answer, offset)
    assert not point.exact
    assert starts(point) == {"orders": {"0": 10}}
    assert (
        "refunds-0 is not on the broker any more (there is refund and refunds-dev). Take refunds out of the"
        " subscription." in point.note
    )


def test_with_nothing_left_there_is_no_option() -> None:
    point = fitted(answered({}, absent=("orders",)))
    assert (point.exact, point.options, point.skips) == (False, None, "everything after this position")


def test_a_topic_made_anew_is_read_from_its_first_record() -> None:
    point = fitted(answered({("orders", 0): at(0, 4), ("orders", 1): at(0, 25)}))
    assert (point.exact, point.certainty) == (False, "certain")
    assert starts(point) == {
        "orders": {"0": -2, "1": -2}
    }  # one partition that is too short proves it for the topic
    assert "orders-0 (ends at 4, position 10)" in point.note


def test_a_topic_younger_than_the_batch_is_only_inferred_to_be_another() -> None:
    answer = answered({("orders", 0): at(0, 30, first_ms=NOW), ("orders", 1): at(0, 30, first_ms=NOW)})
    point = fitted(answer)
    assert (point.exact, point.certainty) == (False, "inferred")
    assert starts(point) == {"orders": {"0": -2, "1": -2}}
    assert fitted(answer, batch_ms=None).exact  # without the time of the batch nothing shows it


def test_offsets_the_broker_does_not_tell_are_left_as_they_are() -> None:
    point = fitted(
        answered(
            {
                ("orders", 0): at(3, 20),
                ("orders", 1): BrokerPartition(None, None, trouble="Leader not available"),
            }
        )
    )
    assert (point.exact, point.certainty) == (True, "inferred")
    assert starts(point) == {"orders": {"0": 10, "1": 10}}
    assert "does not return the offsets of orders-1" in point.note


def test_a_broker_that_could_not_be_asked_changes_nothing_but_the_note() -> None:
    plain = KAFKA.resume(parse(OFFSET), SourceContext("0"))
    point = fitted(answered({}, trouble="broker:9092 refused."))
    assert (point.options, point.exact, point.certainty) == (plain.options, plain.exact, plain.certainty)
    assert point.note == f"Not compared with the broker: broker:9092 refused. {plain.note}"


def test_a_refusal_without_a_broker_stays_a_refusal() -> None:
    offset = line({"orders": {0: -1}})
    plain = KAFKA.resume(parse(offset), SourceContext("0"))
    assert fitted(answered({("orders", 0): at(0, 5)}), offset) == plain


def test_another_topic_id_than_in_an_earlier_look_makes_every_position_meaningless() -> None:
    answer = answered({("orders", 0): at(0, 20), ("orders", 1): at(0, 12)})
    assert fitted(replace(answer, earlier_topic_ids={"orders": "id-orders"})).exact
    point = fitted(replace(answer, earlier_topic_ids={"orders": "id-before"}))
    assert (point.exact, starts(point)) == (False, {"orders": {"0": -2, "1": -2}})
    assert "The topic was deleted and recreated" in point.note


def test_a_topic_that_ends_early_and_holds_old_records_is_not_taken_for_a_new_one() -> None:
    """Of incidents: the broker was restored from an older copy, and one offset was mistyped as 99. The start
    at -2 of the whole topic was "repeats nothing" and gave 20 rows a second time."""
    old = NOW - 2 * HOUR
    answer = answered({("orders", 0): at(0, 7, first_ms=old), ("orders", 1): at(0, 12, first_ms=old)})
    point = fitted(answer)
    assert starts(point) == {"orders": {"0": -2, "1": 10}}, "the other partition goes on where it was"
    assert not point.exact and point.certainty == "inferred"
    assert "up to 7 offsets of orders-0" in point.repeats and "no longer has of orders-0" in point.skips
    assert "The topic is not a new one" in point.note and "orders-0 (ends at 7, position 10)" in point.note
    new = answered({("orders", 0): at(0, 7), ("orders", 1): at(0, 12)})
    assert starts(fitted(new)) == {"orders": {"0": -2, "1": -2}} and fitted(new).repeats == "nothing"
