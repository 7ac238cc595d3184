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
