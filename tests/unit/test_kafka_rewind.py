"""A rollback reads records again: where the broker that was asked no longer has them, it is not offered."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.answers import BrokerAnswer, BrokerPartition
from core.connectors.kafka.partitions import kafka_positions
from core.judgement import judge
from core.recovery import Answers, Option, options, resume_points
from tests.support import damage as d
from tests.support.brokers import HOUR, MINUTE, NOW, answered, at, checkpoint_at, connectors_of
from tests.support.build import PROJECT

AT = ({"orders": {0: 4}}, {"orders": {0: 8}}, {"orders": {0: 12}})
OLD = NOW - 2 * HOUR


def one(partition: BrokerPartition) -> ConnectorAnswers:
    return connectors_of(answered({("orders", 0): partition}))


def rewound(root: Path, connectors: ConnectorAnswers | None, batch: int = 1) -> Option:
    context = judge(Checkpoint.open(str(root)), connectors).recovery(Answers({"to_batch": str(batch)}))
    return next(each for each in options(context) if each.id == "rewind")


@pytest.mark.parametrize(
    ("partition", "why"),
    [
        (at(0, 12, 12, first_ms=OLD), None),
        (at(8, 12, 12, first_ms=OLD), None),  # what batch 2 read is all there
        (at(9, 12, 12, first_ms=OLD), "1 offset of orders-0 behind batch 1 would have"),
        (at(12, 12, 12), "4 offsets of orders-0"),
        (at(0, 20, 12, first_ms=NOW - HOUR // 2), "seems to be younger than the checkpoint"),
        (at(0, 5, 12, first_ms=OLD), "holds an older copy"),
        (at(0, 5, 12), "was deleted and recreated"),
    ],
)
def test_a_rewind_is_not_possible_where_its_records_are_gone(
    tmp_path: Path, partition: BrokerPartition, why: str | None
) -> None:
    """On Spark 4.3 the script ended as proven on the files, and every start of its copy failed
    (KAFKA_DATA_LOSS), or gave wrong totals with a topic that had been recreated."""
    root = checkpoint_at(tmp_path, *AT)
    found = rewound(root, one(partition))
    assert found.possible == (why is None) and (why is None or why in found.why), found.why
    assert rewound(root, None).possible, "nobody was asked"
    assert rewound(root, connectors_of(answered({}, trouble="refused"))).possible


def test_a_partition_that_is_gone_or_new_since_and_late_stops_the_rewind(tmp_path: Path) -> None:
    root = checkpoint_at(tmp_path, {"orders": {0: 4}}, {"orders": {0: 8}}, {"orders": {0: 12, 1: 3}})
    both = {("orders", 0): at(0, 12, 12, first_ms=OLD), ("orders", 1): at(0, 3, 3, first_ms=OLD)}
    assert rewound(root, connectors_of(answered(both))).possible
    late = {**both, ("orders", 1): at(2, 3, 3, first_ms=OLD)}
    assert "2 offsets of orders-1" in rewound(root, connectors_of(answered(late))).why


def full_and_expired(root: Path) -> tuple[ConnectorAnswers, ...]:
    """A broker that has everything of the sample's topics, and one in which the records behind the newest
    committed batch have begun to expire."""
    ck = Checkpoint.open(str(root))
    read = {
        (topic, partition): position
        for topic, ps in kafka_positions(ck, "0").items()
        for partition, position in ps.items()
    }
    old = 1_700_000_000_000
    full: BrokerAnswer = answered({name: at(0, end, end, first_ms=old) for name, end in read.items()})
    empty: BrokerAnswer = answered({name: at(end + 1, end + 5, end) for name, end in read.items()})
    later_ms = time.time_ns() // 1_000_000 + MINUTE  # after the files of the copy were written
    answers = (replace(each, asked_at_ms=later_ms) for each in (full, empty))
    return tuple(connectors_of(each) for each in answers)


def failed_plan(tmp_path: Path) -> Path:
    """The sample with the plan that a failed start leaves: a partition is missing."""
    root = tmp_path / "ck"
    shutil.copytree(PROJECT / "sample_checkpoints" / "kafka-pipeline-died-mid-batch" / "checkpoint", root)
    plan = '{"orders":{"0":251,"1":207},"refunds":{"0":78,"1":61,"2":45}}'  # without orders-2
    d.changed("offsets/8", d.line(3, plan))(root)
    return root


def test_the_plan_of_a_failed_start_is_not_skipped_but_left_out(tmp_path: Path) -> None:
    """Seen on Spark 4.3: the skipped plan was committed, and the next start read the missing partitions from
    the beginning (20 rows twice, 8 lost), while skipping was recommended."""
    root = failed_plan(tmp_path)
    for answers in ({}, {"what_happened": "batch_fails"}):
        context = judge(Checkpoint.open(str(root))).recovery(Answers({**answers, "sink": "foreach_append"}))
        found = {each.id: each for each in options(context)}
        assert not found["skip_batch"].possible and "A rewind leaves it out" in found["skip_batch"].why
        assert found["rewind"].possible and not found["skip_batch"].recommended
    plain = PROJECT / "sample_checkpoints" / "kafka-pipeline-died-mid-batch" / "checkpoint"
    context = judge(Checkpoint.open(str(plain))).recovery(Answers({"sink": "foreach_append"}))
    assert next(each for each in options(context) if each.id == "skip_batch").possible


def test_a_finding_does_not_advise_a_rewind_whose_records_are_gone(tmp_path: Path) -> None:
    root = failed_plan(tmp_path)
    full, empty = full_and_expired(root)
    for connectors, recipes in ((full, {"rewind"}), (empty, set())):
        report = judge(Checkpoint.open(str(root)), connectors).findings
        advised = {item.recipe for item in report.findings if item.recipe == "rewind" or item.rewind_to}
        assert advised == recipes, [(item.id, item.recipe) for item in report.findings]


def left_by_a_failed_start(tmp_path: Path) -> Path:
    """The topic was recreated, and the start that failed on it left the lower end of the new one."""
    return checkpoint_at(tmp_path, {"orders": {0: 4}}, {"orders": {0: 10}}, {"orders": {0: 3}}, pending=True)


@pytest.mark.parametrize(
    ("first_ms", "start"),
    [(NOW - HOUR + 30_000, -2), (NOW - HOUR // 2, -2), (OLD, 10)],
    ids=["within a minute", "later", "holds old records"],
)
def test_the_plan_of_a_failed_start_shows_that_the_topic_was_recreated(
    tmp_path: Path, first_ms: int, start: int
) -> None:
    """By now the new topic has grown past the position. One answer said "recreated" and "nothing is lost" and
    lost 20 rows on Spark 4.3."""
    ck = Checkpoint.open(str(left_by_a_failed_start(tmp_path)))
    grown = one(at(0, 14, 10, first_ms=first_ms))
    (source,) = resume_points(ck, connectors=grown).sources
    assert source.point.options == {"startingOffsets": f'{{"orders":{{"0":{start}}}}}'}
    said = judge(ck, grown).forecast
    assert (said.outcome, said.reason) == ("fail", "FAILED_PLAN_LEFT")
    assert ("rewind would not be enough" in str(said.then)) == (start == -2)
    assert rewound(tmp_path, grown, 1).possible == (start == 10)
