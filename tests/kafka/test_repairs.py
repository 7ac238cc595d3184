"""Repairs that the forecast names, done to real checkpoints: what Spark reads afterwards, row by row."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.analysis.forecast import Query
from core.connectors import ConnectorSettings
from core.connectors.kafka.read_again import why_not_read_again
from core.recovery import OptionId
from tests.kafka.scene import HOUR_MS, SECOND_END, Scene, Stage
from tests.kafka.test_forecast_proof import two_topics
from tests.support import damage as d
from tests.support.oracle import Fact
from tests.support.recovery import PLANNED, fingerprint, run_in_session, script_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def said_then(scene: Scene) -> str:
    said, _ = scene.said(Query())
    assert said.reason == "FAILED_PLAN_LEFT"
    return said.then or ""


def all_rows(fact: Fact) -> list[str]:
    assert not fact.causes, fact.causes
    return sorted(row for rows in fact.delivered.values() for row in rows)


def failed_start(scene: Scene, topics: tuple[str, ...]) -> None:
    """A start that really fails, and leaves its plan."""
    assert scene.restart(topics, {}).outcome == "fail"
    assert (scene.checkpoint / "offsets" / "2").exists()


QUERY = """
def transform(df):
    return df.selectExpr("topic", "partition", "offset", "CAST(value AS STRING) AS v")

def write_batch(df, batch_id):
    df.write.mode("append").json({target!r})
"""


def handed_out(scene: Scene, option: OptionId, *, asks: bool = True, **answers: str) -> Path:
    """The script of a recovery option, with the broker asked."""
    place = scene.checkpoint.parent
    query = place / "query.py"
    query.write_text(QUERY.format(target=str(place / "target")), encoding="utf-8")
    sink = {"sink": "foreach_append", "sink_path": str(place / "target"), "sink_format": "json"}
    more = {"query_file": str(query), "source.0.servers": scene.broker.bootstrap, "source_complete": "yes"}
    given = ConnectorSettings(kafka=scene.stage.properties_file) if asks else None
    return script_for(scene.checkpoint, option, {**sink, **more, **answers}, place, given)


def rewind_to_batch_1(scene: Scene, spark: SparkSession, *, asks: bool = True) -> None:
    """By the script of that option; the scene has the copy from then on."""
    done = run_in_session(handed_out(scene, "rewind", asks=asks, to_batch="1"), spark)
    # batch 2 is only planned: whether the broker still has what it was to read, the script does not know
    assert done.status == 5 and "still has what batch 2 had read" in done.output, done.output
    scene.checkpoint = scene.checkpoint.with_name(f"{scene.checkpoint.name}.rewound-to-batch-1")


def check_rows_of_the_new_topic(scene: Scene, spark: SparkSession) -> None:
    """The target has each record of the topic that was made last, once, and no other."""
    rows = spark.read.json(str(scene.checkpoint.parent / "target")).select(
        "topic", "partition", "offset", "v"
    )
    assert sorted(map(tuple, rows.collect())) == sorted(
        (record.topic, record.partition, record.offset, record.text)
        for record in scene.ledger
        if record.life == 2
    )


def test_a_recreated_topic_is_read_from_its_first_record_by_the_option_that_is_named(
    spark: SparkSession, stage: Stage
) -> None:
    scene = stage.scene("repair-anew")
    scene.anew("orders", [4, 4])
    failed_start(scene, ("orders",))
    scene.fill("orders", 11)  # by now it has grown past the old position
    then = said_then(scene)
    assert "recovery option reset, with the broker asked" in then
    assert "repair-anew-orders-0 and repair-anew-orders-1" in then
    before = fingerprint(scene.checkpoint)
    done = run_in_session(handed_out(scene, "reset"), spark)
    assert done.status == 5 and PLANNED in done.output, done.output
    check_rows_of_the_new_topic(scene, spark)
    assert fingerprint(scene.checkpoint) == before


def test_a_topic_with_fewer_partitions_is_read_from_its_first_record(
    spark: SparkSession, stage: Stage
) -> None:
    scene = stage.scene("repair-fewer")
    scene.batch_ms -= HOUR_MS  # its records carry the time of the old ones
    scene.anew("orders", [SECOND_END + 5])
    done = run_in_session(handed_out(scene, "reset"), spark)
    assert done.status == 0 and "began exactly where batch" not in done.output, done.output
    assert "began at the oldest record of ['repair-fewer-orders-0']" in done.output
    check_rows_of_the_new_topic(scene, spark)


def test_a_rewind_alone_never_reads_the_first_records_of_a_recreated_topic(
    spark: SparkSession, stage: Stage
) -> None:
    scene = stage.scene("repair-anew-rewound")
    scene.anew("orders", [4, 4])
    failed_start(scene, ("orders",))
    scene.fill("orders", 11)
    why = why_not_read_again(*scene.look(), 1)
    assert why is not None and "seems to be younger" in why
    rewind_to_batch_1(scene, spark, asks=False)
    fact = scene.restart(("orders",), {})
    assert all_rows(fact) == sorted(r.row for r in scene.ledger if r.life == 2 and r.offset >= SECOND_END)


def test_a_rewind_does_not_prove_that_the_broker_has_the_records_still(
    spark: SparkSession, stage: Stage
) -> None:
    """It ended with "Done and proven on the files", and the first start failed."""
    scene = stage.scene("repair-expired")
    scene.expire("orders", {0: 7, 1: 7})
    assert scene.said(Query())[0].outcome == "resume"  # without the rewind nothing is lost
    done = run_in_session(handed_out(scene, "rewind", asks=False, to_batch="0"), spark)
    assert done.status == 5 and "source 0 (Kafka) still has what batch 1 had read" in done.output, done.output
    scene.checkpoint = scene.checkpoint.with_name(f"{scene.checkpoint.name}.rewound-to-batch-0")
    assert scene.restart(("orders",), {}).outcome == "fail"


def test_a_topic_that_was_left_out_once_goes_on_exactly_after_the_option_that_is_named(
    spark: SparkSession, stage: Stage
) -> None:
    scene = stage.scene("repair-left-out")
    two_topics()(scene)
    failed_start(scene, ("orders",))
    assert "recovery option rewind to batch 1 leaves offsets/2 out" in said_then(scene)
    assert scene.restart(("orders", "refunds"), {}).outcome == "fail"  # putting the query back is not enough
    rewind_to_batch_1(scene, spark)
    fact = scene.restart(("orders", "refunds"), {})
    at = {scene.topic("orders"): 10, scene.topic("refunds"): 3}
    assert all_rows(fact) == sorted(
        record.row for record in scene.ledger if record.offset >= at[record.topic]
    )


def test_without_the_plan_a_start_still_fails_when_the_topic_is_gone(stage: Stage) -> None:
    scene = stage.scene("repair-gone")
    two_topics(lambda s: s.delete("refunds"))(scene)
    failed_start(scene, ("orders",))
    then = said_then(scene)
    assert "The broker has no repair-gone-refunds-0: without offsets/2 the next plan would fail" in then
    d.without("offsets/2")(scene.checkpoint)
    assert scene.restart(("orders",), {}).outcome == "fail"


def test_a_pattern_leaves_a_deleted_topic_out_and_misses_its_partitions(stage: Stage) -> None:
    scene = stage.scene("repair-pattern")
    two_topics(lambda s: s.delete("refunds"))(scene)
    fact = scene.restart(("orders", "refunds"), {"subscribePattern": "repair-pattern-.*"})
    assert fact.error is not None
    assert fact.error.condition == "KAFKA_DATA_LOSS.PARTITIONS_DELETED"


def test_a_compacted_topic_with_a_gap_at_the_position_is_no_loss(stage: Stage) -> None:
    scene = stage.scene("repair-compacted")
    name, begin = "repair-compacted-kept", scene.batch_ms - HOUR_MS
    config = {
        "cleanup.policy": "compact",
        "segment.ms": "1",
        "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "1",
    }
    scene.broker.create_topic(name, 1, config)
    for i in range(8):
        scene.broker.produce(
            name, [f"{i}"], 0, key="k", timestamp_ms=begin + i * 60_000
        )  # each rolls a segment
    scene.positions({"kept": {0: 1}}, {"kept": {0: 3}})
    deadline = time.monotonic() + 60
    while (
        True
    ):  # until the cleaner has been there: the record at the position is gone, and the log still begins at 0
        said, connectors = scene.said(Query())
        here = connectors.brokers["0"].partitions[name, 0]
        assert (here.log_start, here.log_end) == (0, 8)
        if here.record_ms is not None and here.record_ms > begin + 3 * 60_000:
            break
        assert time.monotonic() < deadline
    assert (said.outcome, said.risks) == ("resume", ())
    fact = scene.restart(("kept",), {})
    assert not fact.causes
    (rows,) = fact.delivered.values()
    assert 0 < len(rows) < 5  # fewer rows than offsets
