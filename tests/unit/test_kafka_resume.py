"""The start position of a Kafka source fitted to what a broker said (by hand); the same on real Spark:
tests/kafka/test_resume.py."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.sources.base import ResumePoint, SourceContext
from core.checkpoint.sources.forms import parse
from core.checkpoint.sources.kafka import KAFKA
from core.connectors import ConnectorSettings
from core.connectors.answers import BrokerAnswer, BrokerPartition
from core.judgement import judge
from core.recovery import Answers, options, resume_points
from core.recovery.resume_kafka import with_broker
from tests.support.brokers import HOUR, NOW, answered, at, checkpoint_at, connectors_of, line, topic

OLD = NOW - 2 * HOUR

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
    assert starts(point) == {"orders": {"0": -2}}  # no topic loses a partition: it is a new one
    assert "orders-1 is not on the broker any more" in point.note
    assert "Topic orders has no partition 1 any more: it was deleted and recreated" in point.note


@pytest.mark.parametrize("first_ms", [None, NOW - 48 * HOUR, NOW - HOUR, NOW])
def test_a_topic_that_lacks_a_partition_is_a_new_one_whatever_the_times_of_its_records(
    first_ms: int | None,
) -> None:
    point = fitted(answered({("orders", 0): at(0, 20, first_ms=first_ms)}, topic(partitions=1)))
    assert (point.exact, point.certainty) == (False, "certain")
    assert starts(point) == {"orders": {"0": -2}}
    assert "what was not read of the old topic in orders-0" in point.skips


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


def test_a_partition_that_only_older_batches_know_is_read_again(tmp_path: Path) -> None:
    """Of an incident: partition 1 was taken out of the newest offsets; a reset "repeats nothing" and its 10
    rows came twice."""
    root = checkpoint_at(tmp_path, {"orders": {0: 4, 1: 10}}, {"orders": {0: 8}})
    both = connectors_of(
        answered({("orders", 0): at(0, 12, 8, first_ms=OLD), ("orders", 1): at(0, 12, first_ms=OLD)})
    )
    ck = Checkpoint.open(str(root))
    (source,) = resume_points(ck, connectors=both).sources
    assert starts(source.point) == {"orders": {"0": 8, "1": -2}}
    assert (source.point.exact, source.point.certainty) == (True, "inferred")
    assert "orders-1 up to 10" in source.point.repeats and "in place of -2" in source.point.note
    found = options(judge(ck, both).recovery(Answers({"sink": "foreach_append"})))
    reset = next(each for each in found if each.id == "reset")
    yours = next(each for each in reset.consequences if each.is_yours)
    assert "orders-1 up to 10" in yours.repeats
    new = checkpoint_at(tmp_path / "new", {"orders": {0: 4}}, {"orders": {0: 8}})
    (source,) = resume_points(Checkpoint.open(str(new)), connectors=both).sources
    assert (source.point.repeats, source.point.certainty) == ("nothing", "certain"), "new indeed"


def test_a_reset_of_a_cut_topic_says_what_may_come_again(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 4, 1: 4}}, {"orders": {0: 10, 1: 10}})
    cut = connectors_of(
        answered({("orders", 0): at(0, 7, 10, first_ms=OLD), ("orders", 1): at(0, 12, 10, first_ms=OLD)})
    )
    context = judge(Checkpoint.open(str(root)), cut).recovery(Answers({"sink": "foreach_append"}))
    reset = next(each for each in options(context) if each.id == "reset")
    yours = next(each for each in reset.consequences if each.is_yours)
    assert reset.possible and "up to 7 offsets of orders-0" in yours.repeats
    assert "nothing that was committed" not in reset.why + reset.reason


def test_a_start_names_the_topics_of_todays_query(tmp_path: Path) -> None:
    """``startingOffsets`` has to name exactly what is subscribed, and a topic that was left out for a while
    is read again (seen on Spark 4.3: 20 rows twice beside "repeats nothing")."""
    both = ({"a": {0: 4}, "b": {0: 10}}, {"a": {0: 8}})
    root = checkpoint_at(tmp_path, *both)
    answer = answered({("a", 0): at(0, 12, 8, first_ms=OLD), ("b", 0): at(0, 12, first_ms=OLD)})
    for topics, expected in (
        (("a", "b"), {"a": {"0": 8}, "b": {"0": -2}}),
        (("a",), {"a": {"0": 8}}),
        (None, {"a": {"0": 8}}),
    ):
        given = ConnectorSettings(topics={} if topics is None else {"0": topics})
        connectors = replace(connectors_of(answer), given=given)
        (source,) = resume_points(Checkpoint.open(str(root)), connectors=connectors).sources
        assert starts(source.point) == expected
        assert ("b-0 up to 10" in source.point.repeats) == (topics == ("a", "b"))


def test_a_topic_that_may_have_been_recreated_within_a_minute_leaves_the_start_inferred() -> None:
    answer = answered({("orders", 0): at(0, 20, first_ms=NOW - HOUR + 30_000), ("orders", 1): at(0, 20)})
    point = fitted(answer)
    assert (point.exact, point.certainty) == (True, "inferred") and "orders-0 is up to a minute" in point.note
