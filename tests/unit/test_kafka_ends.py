"""Positions of a checkpoint against what a broker said: what is lost, what is in danger and until when, which
topic is another one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.connectors.answers import BrokerAnswer, BrokerPartition
from core.connectors.kafka.partitions import (
    kafka_partition_states,
    kafka_topic_states,
    retention_words,
    similar_names,
)
from core.connectors.kafka.topic_ids import TopicIds
from core.connectors.model import ConnectorAnswers, KafkaPartitionState, KafkaTopicState
from core.messages.words import even_duration, near_moment
from tests.support.brokers import DAY, HOUR, MINUTE, NOW, answered, at, checkpoint_at, topic


def rows_of(root: Path, answer: BrokerAnswer) -> tuple[KafkaPartitionState, ...]:
    return kafka_partition_states(Checkpoint.open(str(root)), "0", answer)


def topics_of(
    root: Path, answer: BrokerAnswer, noted: dict[str, str] | None = None
) -> tuple[KafkaTopicState, ...]:
    return kafka_topic_states(Checkpoint.open(str(root)), "0", replace(answer, earlier_topic_ids=noted or {}))


def one(tmp_path: Path, here: BrokerPartition, position: int = 10, **settings: object) -> KafkaPartitionState:
    root = checkpoint_at(tmp_path, {"orders": {0: 5}}, {"orders": {0: position}})
    (row,) = rows_of(root, answered({("orders", 0): here}, topic(**settings)))  # type: ignore[arg-type]
    return row


def test_a_position_inside_what_is_kept_is_in_order(tmp_path: Path) -> None:
    row = one(tmp_path, at(3, 25, 10, NOW - DAY))
    assert (row.state, row.earliest, row.position, row.latest, row.lag, row.lost) == ("ok", 3, 10, 25, 15, 0)
    assert (row.safety, row.safe_until_ms) == ("until", NOW + 6 * DAY)
    assert row.safety_words == "expires not before 2026-11-27 11:30 UTC"
    assert row.sentence == ""


def test_a_log_start_behind_the_position_says_how_many_offsets_are_lost(tmp_path: Path) -> None:
    row = one(tmp_path, at(18, 25, 10, first_ms=NOW - HOUR))
    assert (row.state, row.safety, row.lost, row.lag) == ("behind_log_start", "lost", 8, 15)
    assert (
        row.sentence
        == "orders-0: offsets 10 to 17 have expired unread (8 offsets); the oldest record that is left was"
        " written at 10:30 UTC."
    )


def test_everything_expired_leaves_nothing_and_still_counts(tmp_path: Path) -> None:
    row = one(tmp_path, at(25, 25, 10))
    assert (row.state, row.lost) == ("behind_log_start", 15)


def test_an_end_before_the_position_is_another_topic(tmp_path: Path) -> None:
    row = one(tmp_path, at(0, 4, 10))
    assert (row.state, row.safety, row.lag) == ("beyond_end", "unknown", -6)
    assert "ends at 4, before the position 10" in row.sentence


def test_the_position_at_the_log_start_is_the_next_to_expire(tmp_path: Path) -> None:
    row = one(tmp_path, at(10, 25, 10, NOW - DAY))
    assert (row.safety, row.safe_until_ms) == ("edge", NOW + 6 * DAY)
    assert row.safety_words == "the next to expire, expires not before 2026-11-27 11:30 UTC"


def test_a_record_that_is_due_may_go_at_any_moment(tmp_path: Path) -> None:
    row = one(tmp_path, at(3, 25, 10, NOW - 7 * DAY - HOUR))
    assert (row.safety, row.safe_until_ms) == ("edge", NOW - HOUR)
    assert row.safety_words == "past its retention since 10:30 UTC; deleted with the next segment cleanup"
    assert "orders-0: the record at position 10" in row.sentence


def test_soon_is_one_day_or_a_quarter_of_a_short_retention(tmp_path: Path) -> None:
    assert one(tmp_path / "a", at(3, 25, 10, NOW - 7 * DAY + 23 * HOUR)).safety == "soon"
    assert one(tmp_path / "b", at(3, 25, 10, NOW - 7 * DAY + 25 * HOUR)).safety == "until"
    short = one(tmp_path / "c", at(3, 25, 10, NOW - 40 * MINUTE), retention_ms=HOUR)
    assert (short.safety, short.safety_words) == ("until", "expires not before 11:50 UTC")
    assert one(tmp_path / "d", at(3, 25, 10, NOW - 46 * MINUTE), retention_ms=HOUR).safety == "soon"


def test_without_a_limit_of_time_nothing_expires_by_time(tmp_path: Path) -> None:
    row = one(tmp_path / "a", at(0, 25, 10, NOW - 400 * DAY), retention_ms=-1)
    assert (row.safety, row.safe_until_ms, row.safety_words) == (
        "never_by_time",
        None,
        "never deleted by time",
    )
    assert (
        one(tmp_path / "b", at(0, 25, 10), retention_ms=-1, retention_bytes=10**9).safety_words
        == "never deleted by time; may be deleted by size"
    )


def test_a_limit_of_size_is_said_beside_the_time(tmp_path: Path) -> None:
    row = one(tmp_path, at(0, 25, 10, NOW - DAY), retention_bytes=10**9)
    assert row.safety_words == "expires not before 2026-11-27 11:30 UTC; may be deleted earlier by size"


def test_a_compacted_topic_loses_nothing_by_time(tmp_path: Path) -> None:
    assert (
        "compacted"
        in one(tmp_path / "a", at(0, 25, 10, NOW - 400 * DAY), cleanup_policy="compact").safety_words
    )
    assert one(tmp_path / "b", at(0, 25, 10, NOW - DAY), cleanup_policy="compact,delete").safety == "until"


def test_a_position_at_the_end_waits_for_nothing(tmp_path: Path) -> None:
    row = one(tmp_path, at(3, 10, 10))
    assert (row.lag, row.safety, row.safe_until_ms) == (0, "until", NOW + 7 * DAY)
    assert row.safety_words.startswith("caught up; a record produced now is retained at least until")
    assert one(tmp_path / "empty", at(10, 10, 10)).safety == "until"


def test_settings_that_may_not_be_read_leave_the_expiry_open(tmp_path: Path) -> None:
    row = one(tmp_path, at(0, 25, 10, NOW - DAY), cleanup_policy=None, retention_ms=None)
    assert (row.state, row.safety, row.safety_words) == ("ok", "unknown", "not known")


def test_the_time_of_another_position_is_not_taken_for_this_one(tmp_path: Path) -> None:
    row = one(tmp_path, at(3, 25, 4, NOW - DAY))
    assert (row.record_ms, row.safety) == (None, "unknown")


def test_partitions_that_are_gone_or_new_are_named(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 5, 2: 9}})
    answer = answered(
        {("orders", 0): at(0, 5, 5), ("orders", 1): at(0, 7), ("orders", 3): at(4, 9)}, topic(partitions=0)
    )
    found = {row.name: row for row in rows_of(root, answer)}
    assert {name: row.state for name, row in found.items()} == {
        "orders-0": "ok",
        "orders-1": "new",
        "orders-2": "deleted",
        "orders-3": "new",
    }
    assert (
        "the partition is not on the broker; what was after offset 9 cannot be read"
        in found["orders-2"].sentence
    )
    assert "it is read from 0" in found["orders-1"].sentence
    assert "it begins at 4, and with failOnDataLoss=true the query stops" in found["orders-3"].sentence
    assert (found["orders-1"].lag, found["orders-3"].lag) == (7, 5)


def test_the_worst_comes_first(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders": dict.fromkeys(range(7), 10)})
    answer = answered(
        {
            ("orders", 0): at(0, 10, 10),
            ("orders", 1): at(3, 25, 10, NOW - DAY),
            ("orders", 2): at(18, 25, 10),
            ("orders", 3): at(20, 25, 10),
            ("orders", 4): at(0, 3, 10),
            ("orders", 5): at(3, 25, 10, NOW - 7 * DAY + HOUR),
        },
        topic(partitions=6),
    )
    rows = rows_of(root, answer)
    assert [row.partition for row in rows] == [6, 4, 3, 2, 5, 1, 0]
    assert [row.danger for row in rows] == sorted((row.danger for row in rows), reverse=True)


def test_a_planned_batch_is_shown_beside_the_committed_position(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 5}}, {"orders": {0: 12, 1: 4}}, pending=True)
    rows = {
        row.name: row
        for row in rows_of(root, answered({("orders", 0): at(0, 20, 5), ("orders", 1): at(0, 4)}))
    }
    assert (rows["orders-0"].position, rows["orders-0"].planned) == (5, 12)
    assert (rows["orders-1"].position, rows["orders-1"].planned, rows["orders-1"].state) == (None, 4, "new")
    shorter = rows_of(root, answered({("orders", 0): at(0, 8, 5), ("orders", 1): at(0, 4)}))
    assert (
        "reads up to 12, but the partition ends at 8"
        in next(row for row in shorter if row.name == "orders-0").sentence
    )


def test_with_nothing_committed_the_position_is_where_batch_0_began(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 12}}, pending=True, initial={"orders": {0: 7}})
    (row,) = rows_of(root, answered({("orders", 0): at(9, 20, 7)}))
    assert (row.position, row.planned, row.lost) == (7, 12, 2)


def test_a_broker_that_could_not_be_asked_leaves_the_numbers_of_the_checkpoint(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 5}})
    answer = answered({}, trouble="broker:9092 refused.")
    (row,) = rows_of(root, answer)
    assert (row.state, row.position, row.latest, row.lag, row.safety, row.sentence) == (
        "unknown",
        5,
        None,
        None,
        "unknown",
        "",
    )
    assert topics_of(root, answer) == ()


def test_a_batch_planned_after_the_broker_was_asked_proves_nothing(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 10, 1: 10}}, batch_ms=NOW + MINUTE)
    ck = Checkpoint.open(str(root))
    answer = replace(
        answered({("orders", 0): at(0, 8, 10), ("orders", 1): at(0, 12, 10)}),
        asked_at_ms=min(NOW, ck.read_at_ms - 1),
    )
    behind, fine = sorted(kafka_partition_states(ck, "0", answer), key=lambda row: row.partition)
    assert (behind.state, behind.sentence) == (
        "unknown",
        "A batch was planned since the broker was asked: ask again.",
    )
    assert fine.state == "ok"
    assert [topic.is_recreated for topic in kafka_topic_states(ck, "0", answer)] == [False]
    asked_later = replace(answer, asked_at_ms=ck.read_at_ms + 1)
    assert kafka_partition_states(ck, "0", asked_later)[0].state == "beyond_end"


def test_a_topic_the_broker_may_not_tell_about_is_not_called_gone(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 5}})
    answer = answered(
        {("orders", 0): BrokerPartition(None, None, trouble="Topic authorization failed")}, topic("other")
    )
    (row,), (about,) = rows_of(root, answer), topics_of(root, answer)
    assert (row.state, about.exists, about.certainty) == ("unknown", True, "needs_input")
    assert "Topic authorization failed" in row.sentence
    assert "Topic authorization failed" in about.sentence


def test_a_topic_that_is_gone_is_told_with_names_that_look_alike(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders_v1": {0: 5}})
    answer = answered(
        {}, absent=("orders_v1",), all_topics=("__consumer_offsets", "orders-v1", "orders-v2", "refunds")
    )
    (row,), (about,) = rows_of(root, answer), topics_of(root, answer)
    assert row.state == "deleted"
    assert "topic orders_v1 is not on the broker" in row.sentence
    assert (about.exists, about.similar) == (False, ("orders-v1", "orders-v2"))


def test_a_topic_is_made_anew_when_it_ends_before_a_position(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 10, 1: 10}})
    (about,) = topics_of(root, answered({("orders", 0): at(0, 4, 10), ("orders", 1): at(0, 30, 10)}))
    assert (about.is_recreated, about.certainty) == (True, "certain")
    assert "in partition 0" in about.sentence


@pytest.mark.parametrize(
    ("position", "start", "first_ms", "expected"),
    [
        (10, 0, NOW - 30 * MINUTE, True),  # half an hour after the batch that had read offsets 0 to 9
        (10, 0, NOW - HOUR + 30_000, False),  # clocks differ
        (10, 0, NOW - 2 * HOUR, False),
        (0, 0, NOW - 30 * MINUTE, False),  # nothing had been read of it
        (10, 3, NOW - 30 * MINUTE, True),  # its first records have expired since
        (3, 3, NOW - 30 * MINUTE, False),  # the oldest that is left was not read
        (10, 0, None, False),
    ],
)
def test_a_first_record_after_the_batch_that_read_it_is_another_topic(
    tmp_path: Path, position: int, start: int, first_ms: int | None, expected: bool
) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: position}})
    (about,) = topics_of(root, answered({("orders", 0): at(start, 30, position, first_ms=first_ms)}))
    assert about.is_recreated is expected
    assert about.certainty == ("inferred" if expected else "certain")


def test_another_topic_id_than_the_one_noted_is_proof(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 10}})
    answer = answered({("orders", 0): at(0, 30, 10, NOW - 2 * DAY, NOW - 2 * DAY)})
    assert topics_of(root, answer, {"orders": "id-orders"})[0].is_recreated is False
    (about,) = topics_of(root, answer, {"orders": "id-before"})
    assert (about.is_recreated, about.certainty) == (True, "certain")
    assert "id-before" in about.sentence and "id-orders" in about.sentence
    said = forecast(
        Checkpoint.open(str(root)),
        connectors=ConnectorAnswers(
            brokers={"0": replace(answer, earlier_topic_ids={"orders": "id-before"})}
        ),
    )
    (risk,) = [risk for risk in said.risks if risk.id == "KAFKA_TOPIC_RECREATED"]
    assert risk.certainty == "certain" and "10 offsets of the new topic are never read" in risk.sentence


def test_the_id_of_an_earlier_look_is_kept_for_the_same_checkpoint_and_broker_until_its_positions_go_back(
    tmp_path: Path,
) -> None:
    ids, answer = TopicIds(), answered({("orders", 0): at(0, 30, 10)})
    later = replace(answer, topics={"orders": replace(answer.topics["orders"], topic_id="id-after")})
    first, second = (
        Checkpoint.open(str(checkpoint_at(tmp_path / name, {"orders": {0: 10}}))) for name in ("a", "b")
    )
    assert ids.earlier(first, answer, {"orders": {0: 10}}) == {}
    assert ids.earlier(first, later, {"orders": {0: 12}}) == {"orders": "id-orders"}
    assert ids.earlier(second, later, {"orders": {0: 12}}) == {}, "another checkpoint"
    assert ids.earlier(first, replace(later, servers="other:9092"), {"orders": {0: 12}}) == {}, (
        "another broker"
    )
    assert ids.earlier(first, later, {"orders": {0: 0}}) == {}, "set to a new start on purpose"
    assert ids.earlier(first, later, {"orders": {0: 3}}) == {"orders": "id-after"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "kept 7 days"),
        ({"retention_ms": 36 * HOUR}, "kept 36 hours"),
        ({"retention_ms": -1}, "kept without a time limit"),
        (
            {"retention_ms": -1, "retention_bytes": 1_000_000},
            "kept without a time limit, at most 1,000,000 bytes in each partition",
        ),
        ({"cleanup_policy": "compact"}, "compacted: the newest record of each key is kept"),
        ({"cleanup_policy": "compact,delete"}, "compacted, kept 7 days"),
        ({"cleanup_policy": None}, "not known"),
    ],
)
def test_retention_in_words(settings: dict[str, int], words: str) -> None:
    assert retention_words(topic(**settings)) == words  # type: ignore[arg-type]


def test_times_and_durations_in_words() -> None:
    assert near_moment(NOW + HOUR, NOW) == "12:30 UTC"
    assert near_moment(NOW + DAY, NOW) == "2026-11-22 11:30 UTC"
    assert near_moment(10**18, NOW) == "a time beyond the calendar"
    assert [even_duration(ms) for ms in (DAY, 90_000, 1500)] == ["1 day", "90 seconds", "1,500 ms"]


def test_names_that_look_alike_differ_in_case_dots_or_stage() -> None:
    names = ("Orders.EU", "orders-eu-dev", "payments", "__consumer_offsets")
    assert similar_names("orders-eu", names) == ("Orders.EU", "orders-eu-dev")
    assert similar_names("clicks", names) == ()
