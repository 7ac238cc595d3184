"""The start position after the broker was asked: pasted into a new checkpoint on real Spark, it reads exactly
what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.checkpoint.sources.base import ResumePoint
from core.checkpoint.sources.kafka import KAFKA
from core.recovery import as_pyspark, resume_points
from core.recovery.resume_kafka import with_broker
from tests.kafka.scene import SECOND_END, Positions, Scene, Stage
from tests.kafka.test_forecast_proof import BOTH, anew, expired, filled, more_partitions, pending, two_topics
from tests.support.oracle import Fact

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


@dataclass(frozen=True)
class Case:
    """``missing``: rows that were not read and that the position skips; ``said``: words that stand in the
    note."""

    name: str
    change: Callable[[Scene], None]
    exact: bool
    said: tuple[str, ...]
    missing: int = 0
    topics: tuple[str, ...] = ("orders",)
    committed: Positions = field(default_factory=lambda: BOTH)
    certainty: str = "certain"


def more_and_late(s: Scene) -> None:
    """A partition is new, and its first two records have expired already."""
    more_partitions(2)(s)


CASES = [
    Case("r_all_there", filled(), True, ("Names every partition",)),
    Case(
        "r_planned", pending(filled()), True, ("Names every partition",), committed={"orders": {0: 4, 1: 4}}
    ),
    Case(
        "r_partitions_added",
        more_partitions(),
        True,
        ("r_partitions_added-orders-2 and r_partitions_added-orders-3 are new",),
    ),
    Case(
        "r_added_and_expired",
        more_and_late,
        False,
        ("NOT EXACT, skips 2 offsets", "r_added_and_expired-orders-3 0 to 1"),
        2,
    ),
    Case("r_expired", expired(13), False, ("NOT EXACT, skips 3 offsets", "r_expired-orders-0 10 to 12"), 3),
    Case("r_expired_in_both", expired(13, 11), False, ("NOT EXACT, skips 4 offsets",), 4),
    Case("r_all_expired", expired(18, 18), False, ("NOT EXACT, skips 16 offsets",), 16),
    Case("r_anew_and_shorter", anew(4, 30), False, ("deleted and recreated", "ends at 4, position 10")),
    Case(
        "r_anew_and_longer",
        anew(15, 12),
        False,
        ("seems to have been deleted and recreated",),
        certainty="inferred",
    ),
    Case("r_fewer_partitions", anew(4), False, ("r_fewer_partitions-orders-1 is not on the broker",)),
    Case(
        "r_fewer_partitions_and_longer",
        anew(15),
        False,
        ("has no partition 1 any more: it was deleted and recreated",),
    ),
    Case(
        "r_one_topic_gone",
        two_topics(lambda s: s.delete("refunds")),
        False,
        (
            "r_one_topic_gone-refunds-0 is not on the broker",
            "Take r_one_topic_gone-refunds out of the subscription",
        ),
        2,
        committed={"orders": BOTH["orders"], "refunds": {0: 3}},
    ),
]


def point_of(scene: Scene) -> ResumePoint:
    """What the tool offers for the scene."""
    ck, connectors = scene.look()
    (source,) = resume_points(ck, connectors=connectors).sources
    return source.point


def pasted(scene: Scene, point: ResumePoint, topics: tuple[str, ...], root: Path) -> Fact:
    """A query with a new checkpoint and the offered lines in its code."""
    lines = as_pyspark(point, KAFKA)
    names = ",".join(scene.topic(t) for t in topics)

    def build(session: object, _root: Path) -> object:
        code = (
            "session.readStream.format('kafka').option('kafka.bootstrap.servers',"
            f" servers).option('subscribe', names)\n{lines}\n.load()"
        )
        frame = eval(f"({code})", {"session": session, "servers": scene.broker.bootstrap, "names": names})
        return frame.selectExpr("topic", "partition", "offset", "CAST(value AS STRING) AS v")

    return scene.stage.oracle.restart(scene.base({}), root / "ck", build)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_offered_position_reads_what_it_says(stage: Stage, tmp_path: Path, case: Case) -> None:
    scene = stage.scene(case.name)
    case.change(scene)
    point, newest = point_of(scene), max(record.life for record in scene.ledger)
    assert (point.exact, point.certainty) == (case.exact, case.certainty), point
    assert all(word in point.note for word in case.said), point.note
    assert as_pyspark(point, KAFKA).startswith(
        ".option(" if case.exact else "# NOT EXACT: repeats nothing" if newest == 1 else "# NOT EXACT"
    )
    fact = pasted(scene, point, case.topics, tmp_path)
    assert not fact.causes, fact.causes
    scene.ledger = [record for record in scene.ledger if record.life == newest]
    committed = case.committed if newest == 1 else {}
    seen, missing = scene.effects(fact, committed)
    assert len(missing) == case.missing
    assert seen.append == ("loss" if case.missing else "exact")
    got = [row for rows in fact.delivered.values() for row in rows]
    assert len(got) == len(set(got))  # and nothing twice


def test_a_topic_that_is_gone_has_no_position(stage: Stage) -> None:
    scene = stage.scene("r_topic_gone")
    scene.delete("orders")
    scene.broker.create_topic("r_topic_gone-order", 1)
    point = point_of(scene)
    assert (point.exact, point.options) == (False, None)
    assert "r_topic_gone-orders-0 and r_topic_gone-orders-1 are not on the broker" in point.note
    assert "there is r_topic_gone-order" in point.note


def test_a_position_that_is_not_compared_says_so(stage: Stage) -> None:
    scene = stage.scene("r_not_compared")
    ck, _ = scene.look()
    (source,) = resume_points(ck).sources
    from tests.support.brokers import answered

    assert source.offset is not None
    point = with_broker(source.point, source.offset, answered({}, trouble="broker:9092 refused."))
    assert point.options == source.point.options
    assert point.note.startswith("Not compared with the broker: broker:9092 refused.")
    assert str(SECOND_END) in str(point.options)
