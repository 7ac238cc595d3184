"""Forecast against fact with both ends at hand: the broker is changed for real, the forecast is made, Spark
runs, both are compared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from core.analysis.forecast import Forecast, Query
from core.checkpoint import Checkpoint
from core.connectors.kafka.partitions import kafka_partition_states
from tests.kafka.scene import FIRST_END, HOUR_MS, SECOND_END, Positions, Scene, Stage
from tests.support import damage as d
from tests.support.oracle import Fact

Change = Callable[[Scene], None]
SINKS = ("append", "overwrite", "skip")
BOTH: Positions = {"orders": {0: SECOND_END, 1: SECOND_END}}
FIRST: Positions = {"orders": {0: FIRST_END, 1: FIRST_END}}
FALSE = {"failOnDataLoss": "false"}


@dataclass(frozen=True)
class Case:
    """One row of the tables. ``committed``: where the committed batches end; ``topics``: what the query
    subscribes to at the restart.

    ``lost``: how many offsets the page calls lost; ``missing``: how many rows are, where that is another
    number (an editor has set the position back). ``unknown``: kinds of sink for which the forecast may say
    "unknown". ``is_delivered``: the sink has got the planned batch already.
    """

    name: str
    change: Change
    committed: Positions = field(default_factory=lambda: BOTH)
    topics: tuple[str, ...] = ("orders",)
    said_topics: tuple[str, ...] | None = None
    options: dict[str, str] = field(default_factory=dict)
    lost: int = 0
    unknown: tuple[str, ...] = ()
    reason: str | None = None
    is_delivered: bool = False
    missing: int | None = None


def pending(change: Change) -> Change:
    """Batch 1 is planned and not committed; then the change."""

    def apply(s: Scene) -> None:
        s.pend()
        change(s)

    return apply


def nothing(s: Scene) -> None:
    """The broker is as it was."""


def filled(count: int = 3) -> Change:
    return lambda s: s.fill("orders", count)


def expired(*before: int, more: int = 8) -> Change:
    """More records, and the log start of each partition moved up."""

    def apply(s: Scene) -> None:
        s.fill("orders", more)
        s.expire("orders", dict(enumerate(before)))

    return apply


def planned_expired(*before: int) -> Change:
    return pending(lambda s: s.expire("orders", dict(enumerate(before))))


def more_partitions(expire: int = 0) -> Change:
    def apply(s: Scene) -> None:
        s.add_partitions("orders", 4)
        s.fill("orders", 5)
        if expire:
            s.expire("orders", {3: expire})

    return apply


def anew(*counts: int) -> Change:
    return lambda s: s.anew("orders", counts)


def anew_at_once(*counts: int) -> Change:
    """Recreated, with records that carry the time of the old ones."""

    def apply(s: Scene) -> None:
        s.batch_ms -= HOUR_MS  # half an hour before the batch, where a second life is half an hour after it
        s.anew("orders", counts)

    return apply


def two_topics(then: Change = nothing) -> Change:
    """The checkpoint reads ``refunds`` (one partition, three records read) beside ``orders``."""

    def apply(s: Scene) -> None:
        s.create("refunds", 1)
        s.fill("refunds", 3)
        s.positions({**FIRST, "refunds": {0: 1}}, {**BOTH, "refunds": {0: 3}})
        s.fill("orders", 2)
        s.fill("refunds", 2)
        then(s)

    return apply


def added_topic(expire: int = 0) -> Change:
    """A topic that the checkpoint does not know, some of whose records may have expired."""

    def apply(s: Scene) -> None:
        s.create("refunds", 1)
        s.fill("refunds", 3)
        if expire:
            s.expire("refunds", {0: expire})

    return apply


def left_out_before(s: Scene) -> None:
    """``refunds`` was read in batch 0 and left out of batch 1, with failOnDataLoss=false."""
    s.create("refunds", 1)
    s.fill("refunds", 3)
    s.positions({**FIRST, "refunds": {0: 1}}, BOTH)


def idle_partition(s: Scene) -> None:
    """The planned batch reads nothing of partition 1, whose records have expired meanwhile."""
    s.positions(FIRST, {"orders": {0: SECOND_END, 1: FIRST_END}})
    s.pend()
    s.expire("orders", {1: 8})


def first_batch(change: Change) -> Change:
    """Only batch 0 is planned, and nothing is committed."""

    def apply(s: Scene) -> None:
        d.without("offsets/1", "commits/0", "commits/1")(s.checkpoint)
        change(s)

    return apply


def new_in_plan(s: Scene) -> None:
    """The planned batch was the first to see partition 2, whose first records have expired since."""
    s.add_partitions("orders", 3)
    s.fill("orders", 5, [2])
    s.positions(FIRST, {"orders": {0: SECOND_END, 1: SECOND_END, 2: 5}})
    s.pend()
    s.expire("orders", {2: 2})


def plan_lower(s: Scene) -> None:
    """What a failed start on the new topic leaves."""
    s.anew("orders", [4, 30])
    s.plan({"orders": {0: 4, 1: 30}})


NONE: Positions = {}
AND_REFUNDS: Positions = {**BOTH, "refunds": {0: 3}}
AND_ONE_REFUND: Positions = {**BOTH, "refunds": {0: 1}}
FIRST_AND_REFUNDS: Positions = {**FIRST, "refunds": {0: 1}}
CASES = [
    # nothing is wrong
    Case("new_data", filled()),
    Case("no_new_data", nothing),
    Case("planned_and_more_data", pending(filled()), FIRST),
    Case("log_start_at_the_position", expired(SECOND_END, SECOND_END)),
    Case("log_start_below_the_position", expired(4, 9)),
    # retention
    Case("expired", expired(13), lost=3, reason="KAFKA_RECORDS_EXPIRED"),
    Case("expired_allowed", expired(13), options=FALSE, lost=3),
    Case("expired_in_both", expired(13, 11), lost=4, reason="KAFKA_RECORDS_EXPIRED"),
    Case("expired_in_both_allowed", expired(13, 11), options=FALSE, lost=4),
    Case("all_expired", expired(18, 18), lost=16, reason="KAFKA_RECORDS_EXPIRED"),
    Case("all_expired_allowed", expired(18, 18), options=FALSE, lost=16),
    Case("planned_partly_expired", planned_expired(7), FIRST, lost=3, reason="KAFKA_RECORDS_EXPIRED"),
    Case(
        "planned_partly_expired_allowed",
        planned_expired(7),
        FIRST,
        options=FALSE,
        lost=3,
        unknown=("append",),
    ),
    Case(
        "planned_partly_expired_allowed_and_delivered",
        planned_expired(7),
        FIRST,
        options=FALSE,
        lost=3,
        unknown=("append",),
        is_delivered=True,
    ),
    Case("planned_wholly_expired", planned_expired(10, 4), FIRST, lost=6, reason="KAFKA_RECORDS_EXPIRED"),
    Case(
        "planned_wholly_expired_allowed",
        planned_expired(10, 4),
        FIRST,
        options=FALSE,
        lost=6,
        unknown=("append",),
    ),
    Case("expired_behind_the_plan", pending(expired(14)), FIRST, lost=10, reason="KAFKA_RECORDS_EXPIRED"),
    Case(
        "planned_and_behind_it_expired_allowed",
        pending(expired(14, 7)),
        FIRST,
        options=FALSE,
        lost=13,
        unknown=("append",),
    ),
    Case("expired_where_the_plan_reads_nothing", idle_partition, FIRST, lost=4),
    Case(
        "planned_first_batch_expired",
        first_batch(lambda s: s.expire("orders", {0: 2})),
        NONE,
        lost=2,
        reason="KAFKA_RECORDS_EXPIRED",
    ),
    Case("planned_first_batch", first_batch(nothing), NONE),
    # partitions
    Case("partitions_added", more_partitions()),
    Case("partitions_added_allowed", more_partitions(), options=FALSE),
    Case("partitions_added_latest", more_partitions(), options={"startingOffsets": "latest"}),
    Case("added_partition_late", more_partitions(2), reason="KAFKA_NEW_PARTITION_LATE"),
    Case("added_partition_late_allowed", more_partitions(2), options=FALSE),
    Case("added_partition_late_after_the_plan", pending(more_partitions(2)), FIRST),
    Case("new_partition_of_the_plan_expired", new_in_plan, FIRST, reason="KAFKA_NEW_PARTITION_LATE"),
    # a topic is gone
    Case("topic_deleted", lambda s: s.delete("orders"), reason="KAFKA_TOPIC_GONE"),
    Case("topic_deleted_allowed", lambda s: s.delete("orders"), options=FALSE, reason="KAFKA_TOPIC_GONE"),
    Case(
        "planned_topic_deleted", pending(lambda s: s.delete("orders")), FIRST, reason="KAFKA_PARTITIONS_GONE"
    ),
    Case(
        "planned_topic_deleted_allowed",
        pending(lambda s: s.delete("orders")),
        FIRST,
        options=FALSE,
        reason="KAFKA_PARTITIONS_GONE",
    ),
    Case(
        "one_of_two_topics_deleted",
        two_topics(lambda s: s.delete("refunds")),
        AND_REFUNDS,
        ("orders", "refunds"),
        reason="KAFKA_TOPIC_GONE",
    ),
    Case(
        "deleted_and_no_longer_read",
        two_topics(lambda s: s.delete("refunds")),
        AND_REFUNDS,
        said_topics=("orders",),
        reason="KAFKA_PARTITIONS_GONE",
    ),
    # a topic was made anew
    Case("anew_and_shorter", anew(4, 30), reason="KAFKA_TOPIC_RECREATED"),
    Case("anew_and_shorter_allowed", anew(4, 4), options=FALSE),
    Case("anew_and_one_partition_shorter_allowed", anew(4, 30), options=FALSE),
    Case("anew_and_empty_allowed", anew(0, 0), options=FALSE),
    Case("anew_and_as_long", anew(10, 10)),
    Case("anew_and_longer", anew(15, 12)),
    Case("anew_and_longer_allowed", anew(15, 12), options=FALSE),
    Case("anew_with_fewer_partitions", anew(12), reason="KAFKA_PARTITIONS_GONE"),
    # The first records of the new topic are never read, which no time has to prove.
    Case("anew_with_fewer_partitions_allowed", anew(12), options=FALSE),
    Case("anew_with_fewer_partitions_and_old_times", anew_at_once(12), reason="KAFKA_PARTITIONS_GONE"),
    Case("anew_with_fewer_partitions_and_old_times_allowed", anew_at_once(12), options=FALSE),
    Case("planned_anew_and_shorter", pending(anew(2, 10)), FIRST, reason="KAFKA_TOPIC_RECREATED"),
    Case(
        "planned_anew_and_shorter_allowed",
        pending(anew(2, 2)),
        FIRST,
        options=FALSE,
        unknown=("append",),
    ),
    Case("planned_anew_inside_the_plan", pending(anew(7, 10)), FIRST, reason="KAFKA_TOPIC_RECREATED"),
    Case(
        "planned_anew_inside_the_plan_allowed",
        pending(anew(7, 10)),
        FIRST,
        options=FALSE,
        unknown=("append",),
    ),
    Case("planned_anew_and_longer", pending(anew(14, 14)), FIRST),
    # the subscription
    Case("topic_added", added_topic(), topics=("orders", "refunds")),
    Case("topic_added_back", left_out_before, AND_ONE_REFUND, topics=("orders", "refunds")),
    Case("topic_added_late", added_topic(2), topics=("orders", "refunds"), reason="KAFKA_NEW_PARTITION_LATE"),
    Case("topic_added_late_allowed", added_topic(2), topics=("orders", "refunds"), options=FALSE),
    Case("topic_added_that_is_not_there", filled(), topics=("orders", "refunds"), reason="KAFKA_TOPIC_GONE"),
    Case("topic_removed", two_topics(), AND_REFUNDS, said_topics=("orders",), reason="KAFKA_TOPIC_REMOVED"),
    Case("topic_removed_allowed", two_topics(), AND_REFUNDS, said_topics=("orders",), options=FALSE),
    Case("topic_removed_while_planned", two_topics(Scene.pend), FIRST_AND_REFUNDS, said_topics=("orders",)),
    Case(
        "topic_replaced",
        added_topic(),
        topics=("refunds",),
        said_topics=("refunds",),
        reason="KAFKA_TOPIC_REMOVED",
    ),
    # the plan of a failed start
    Case("plan_of_a_failed_start_lower", plan_lower, reason="FAILED_PLAN_LEFT"),
    Case(
        "plan_of_a_failed_start_without_a_topic",
        two_topics(lambda s: s.plan({"orders": {0: 12, 1: 12}})),
        AND_REFUNDS,
        ("orders", "refunds"),
        reason="FAILED_PLAN_LEFT",
    ),
]


def restarted(stage: Stage, case: Case) -> tuple[Scene, Forecast, Fact]:
    """The scene is set, the forecast is made, and then Spark runs."""
    scene = stage.scene(case.name)
    case.change(scene)
    wanted = tuple(scene.topic(t) for t in case.said_topics or case.topics)
    allowed = case.options.get("failOnDataLoss", "true") == "true"
    said, connectors = scene.said(Query(topics={"0": wanted}, fail_on_data_loss=allowed))
    lost = sum(
        row.lost
        for row in kafka_partition_states(
            Checkpoint.open(str(scene.checkpoint)), "0", connectors.brokers["0"]
        )
    )
    assert lost == case.lost
    assert not any(item.startswith("the Kafka broker") for item in said.not_checked)
    return scene, said, scene.restart(case.said_topics or case.topics, case.options)


def plain(text: str) -> str:
    """A message in one line, partitions of a set in order: which one Spark meets first is chance."""
    text = " ".join(text.split())
    return re.sub(r"Set\(([^)]*)\)", lambda found: f"Set({', '.join(sorted(found[1].split(', ')))})", text)


def is_same_error(said: Forecast, fact: Fact) -> bool:
    """Whether one of the causes is the error that was named; of several damaged partitions Spark may meet
    another one first."""
    assert said.error is not None
    number = re.compile(r"(?<=-orders-)\d+")
    wanted = number.sub("N", plain(said.error.message))
    return any(
        (cause.error_class, cause.condition) == (said.error.error_class, said.error.condition)
        and wanted in number.sub("N", plain(cause.message))
        for cause in fact.causes
    )


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.parametrize("loss", ["true", "false"])
@pytest.mark.parametrize("way", ["subscribe", "assign", "subscribePattern", "nothing_left"])
def test_a_topic_that_is_gone_by_how_the_query_names_its_topics(stage: Stage, way: str, loss: str) -> None:
    scene = stage.scene(f"gone_{way}_{loss}".lower())
    two_topics(lambda s: s.delete("refunds"))(scene)
    if way == "nothing_left":
        scene.delete("orders")
    assigned = json.dumps({scene.topic("orders"): [0, 1], scene.topic("refunds"): [0]})
    pattern = f"{scene.name}-.*"
    named = {"subscribe": f"{scene.topic('orders')},{scene.topic('refunds')}", "assign": assigned}
    option = {way: named[way]} if way in named else {"subscribePattern": pattern}
    options = {**option, "failOnDataLoss": loss}
    said, _ = scene.said(Query(options={"0": options}))
    fact = scene.restart(("orders", "refunds"), options)
    # Where no topic is left, nothing runs, and the oracle sees no batch.
    is_idle = way == "nothing_left"
    is_left = way == "subscribePattern"  # whether orders is still the topic that was read
    assert said.outcome == ("resume" if is_idle else fact.outcome)
    assert said.certainty == ("inferred" if is_left and not is_idle and loss == "false" else "certain")
    assert not is_idle or (not fact.causes and not fact.delivered)
    assert (said.outcome == "fail") == (not is_idle and (way != "subscribePattern" or loss == "true"))
    if said.outcome == "fail":
        assert is_same_error(said, fact), (said.error, fact.causes)
        return
    risk = said.risk("KAFKA_PARTITIONS_GONE")
    assert risk is not None and scene.topic("refunds") in risk.sentence
    rows = [json.loads(row)["topic"] for each in fact.delivered.values() for row in each]
    assert set(rows) <= {scene.topic("orders")} and bool(rows) != is_idle


@pytest.mark.spark
@pytest.mark.kafka
def test_a_topic_made_anew_with_old_times_cannot_be_seen_and_is_not_called_certain(stage: Stage) -> None:
    """As a replay or a mirror makes it: Spark never reads its first records, and nothing on the broker shows
    that it is another topic."""
    case = Case("anew_longer_and_old_times", anew_at_once(15, 15))
    scene, said, fact = restarted(stage, case)
    assert fact.outcome == said.outcome == "resume" and not said.risks
    _, missing = scene.effects(fact, case.committed)
    assert len(missing) == 20
    assert said.certainty == "inferred"
    assert any("still what was read, in the same cluster" in item for item in said.not_checked)


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_with_the_broker_the_forecast_says_what_spark_does(stage: Stage, case: Case) -> None:
    compare(stage, case)


def compare(stage: Stage, case: Case) -> None:
    """The forecast of a case against what Spark does."""
    scene, said, fact = restarted(stage, case)
    read = {scene.topic(t) for t in case.said_topics or case.topics}
    kept = [record for record in scene.ledger if record.topic in read]
    rows = {b: tuple(r for r in each if json.loads(r)["topic"] in read) for b, each in fact.delivered.items()}
    scene.ledger = kept
    was, missing = scene.effects(
        Fact(fact.outcome, fact.first_batch, fact.fails_at, fact.causes, rows, fact.failed_batch),
        BOTH if case.is_delivered else case.committed,
        planned=case.committed if case.is_delivered else None,
    )
    differences = [
        f"{name}: said {one}, was {other}"
        for name, one, other in (
            ("outcome", said.outcome, fact.outcome),
            ("batch", said.batch_id, fact.first_batch if fact.first_batch is not None else said.batch_id),
            ("fails at", said.fails_at, fact.fails_at),
            ("reason", said.reason, case.reason),
            *((kind, getattr(said.data, kind), getattr(was, kind)) for kind in SINKS),
        )
        if one != other
        and not (name in SINKS and one == "unknown" and name in case.unknown)
        and not (name in SINKS and other == "exact" and not said.data.is_sure(name))
        # "duplicates" of a batch that runs again: as many as the sink had got, and here it had got none
        and not (name == "append" and said.outcome == "rerun" and (one, other) == ("duplicates", "exact"))
    ]
    if fact.outcome == "fail" and said.error is not None and not is_same_error(said, fact):
        differences.append(f"error: said {said.error}")
    if fact.outcome != "fail" and bool(fact.causes) != bool(said.then):
        differences.append(f"then: said {said.then}")
    if (
        said.outcome != "fail"
        and not fact.causes
        and case.lost
        and not case.is_delivered
        and len(missing) != (case.lost if case.missing is None else case.missing)
    ):
        differences.append(f"said {case.lost} offsets lost, {len(missing)} rows are missing")
    causes = [f"{cause.error_class}: {cause.message[:400]}" for cause in fact.causes]
    assert not differences, "\n".join([*differences, said.sentence, str(said.then), *causes])
