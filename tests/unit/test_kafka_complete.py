"""Whether the source can deliver again what was read is no question where its broker was asked and lacks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.answers import BrokerPartition
from core.judgement import judge
from core.recovery import Answers, Option, RecoveryContext, options, questions
from tests.support.brokers import HOUR, NOW, answered, at, checkpoint_at, connectors_of

AT = ({"orders": {0: 4}}, {"orders": {0: 8}})
OLD = NOW - 2 * HOUR


def one(partition: BrokerPartition) -> ConnectorAnswers:
    return connectors_of(answered({("orders", 0): partition}))


def context_of(root: Path, connectors: ConnectorAnswers, **answers: str) -> RecoveryContext:
    return judge(Checkpoint.open(str(root)), connectors).recovery(Answers(answers))


def by_id(context: RecoveryContext) -> dict[str, Option]:
    return {each.id: each for each in options(context)}


@pytest.mark.parametrize(
    ("partition", "began", "lacks"),
    [
        (at(0, 8, 8, first_ms=OLD), 0, ""),
        (at(3, 8, 8, first_ms=OLD), 3, ""),  # the query began there
        (at(3, 8, 8, first_ms=OLD), 0, "Records of orders-0"),
        (at(0, 20, 8, first_ms=NOW), 0, "seems to be younger"),
        (at(0, 5, 8), 0, "was deleted and recreated"),
    ],
)
@pytest.mark.parametrize("answer", [None, "yes"])
def test_a_broker_that_lacks_records_answers_the_question(
    tmp_path: Path, partition: BrokerPartition, began: int, lacks: str, answer: str | None
) -> None:
    root = checkpoint_at(tmp_path, *AT, initial={"orders": {0: began}})
    given = {} if answer is None else {"source_complete": answer}
    context = context_of(root, one(partition), **given)
    assert lacks in context.lacks_records and bool(lacks) == bool(context.lacks_records)
    asked = next(each for each in questions(context) if each.id == "source_complete")
    if lacks:
        assert (asked.answer, asked.from_checkpoint) == ("no", True) and lacks in asked.why
        assert not by_id(context)["full_refresh"].possible, "whatever was answered"
    else:
        assert asked.answer == answer and by_id(context)["full_refresh"].possible


def test_no_refresh_is_offered_from_a_topic_that_is_gone(tmp_path: Path) -> None:
    """Of an incident: "the source has everything" beside "nothing of this source is on the broker"."""
    root = checkpoint_at(tmp_path, *AT)
    gone = connectors_of(answered({}, absent=("orders",)))
    for given in ({}, {"source_complete": "yes"}):
        found = by_id(context_of(root, gone, **given))
        for option in ("full_refresh", "backup_and_backfill"):
            assert not found[option].possible and "does not have orders" in found[option].why
        assert not any(
            each.recommended and each.id.startswith(("full", "backup_and")) for each in found.values()
        )
    other = by_id(context_of(root, gone, **{"source.0.topics": "purchases"}))
    assert other["backup_and_backfill"].possible, "the query reads another topic now"


@pytest.mark.parametrize(
    ("given", "then"),
    [
        ({"sink": "delta"}, ""),
        ({"sink": "foreach_append"}, ""),
        ({"sink": "foreach_merge"}, " Keys that were deleted after the backup come back unless"),
        ({"sink": "file"}, " Nothing else, if readers read the refreshed output and"),
        ({"sink": "lakeflow_table"}, " Nothing else, if the backup was made before: the others"),
        ({}, ""),
    ],
)
@pytest.mark.parametrize("pending", [False, True])
def test_a_backfill_has_no_record_that_expired_unread(
    tmp_path: Path, given: dict[str, str], then: str, pending: bool
) -> None:
    """Beside a reset that named them, of records that nobody has read: "Nothing"."""
    more = [{"orders": {0: 12}}] if pending else []
    root = checkpoint_at(tmp_path, *AT, *more, pending=pending, initial={"orders": {0: 0}})
    found = by_id(context_of(root, one(at(10, 20, 8, first_ms=OLD)), **given))["backup_and_backfill"]
    lost = "What the source no longer has (source 0: 2 offsets that have expired (orders-0 8 to 9"
    assert found.possible and found.loses.startswith(lost) and then in found.loses
    assert all(each.may_lose and each.loses.startswith(lost) for each in found.consequences)
    assert lost in found.loss.general + found.loss.facts and found.loss.corrected
    assert "Nothing." not in found.loses
    there = by_id(context_of(root, one(at(5, 20, 8, first_ms=OLD)), **given))["backup_and_backfill"]
    assert "no longer has" not in there.loses


def test_a_backfill_may_lack_what_expired_where_nobody_was_asked(tmp_path: Path) -> None:
    context = context_of(checkpoint_at(tmp_path, *AT), ConnectorAnswers(), what_happened="data_expired")
    found = by_id(context)["backup_and_backfill"]
    assert found.loses.startswith("What is gone at the source after the position, if anything: no source was")


def test_a_backfill_lacks_what_was_left_unread_of_a_topic_that_the_query_no_longer_reads(
    tmp_path: Path,
) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 4}, "old": {0: 2}}, {"orders": {0: 8}, "old": {0: 4}})
    ends = connectors_of(answered({("orders", 0): at(0, 20, 8, first_ms=OLD)}, absent=("old",)))
    answers = {
        "source.0.topics": "orders",
        "source.0.option.failOnDataLoss": "false",
        "sink": "foreach_append",
    }
    found = by_id(context_of(root, ends, **answers))
    assert found["reset"].loses in found["backup_and_backfill"].loses and "old-0" in found["reset"].loses
