"""Forecast against fact where the sink has the pending batch of a Kafka source: no position of it is looked at,
and none of its records is read. The next batch begins where it ends.

A plain run takes failOnDataLoss=true; CHECKPOINT_EXPLORER_EVERY_CASE=1 takes both.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Mapping

import pytest

from core.analysis.forecast import Forecast, Query, forecast
from core.checkpoint import Checkpoint
from core.connectors.connect import ask_connectors
from core.connectors.model import ConnectorSettings
from core.storage import parse_location
from tests.kafka.scene import SECOND_END, Scene, Stage, read_topics
from tests.kafka.test_forecast_edited import EMPTY, REFUSED, edited, of
from tests.kafka.test_forecast_proof import FALSE, Change, is_same_error
from tests.spark.cases import EVERY_CASE
from tests.support.oracle import Fact, delivered


def again(s: Scene) -> None:
    """The topic was recreated meanwhile."""
    s.anew("orders", [4, 30])
    s.pend()


CASES: Mapping[str, Change] = {
    "clean": edited(pending=True),
    # the records of the batch are gone, or so many more
    "expired": edited(pending=True, expire=(9, 9)),
    "all_expired": edited(pending=True, expire=(10, 10)),
    "more_expired": edited(pending=True, expire=(12, 12)),
    "recreated": again,
    # where the batch begins
    "start_back": edited(None, of(2, 2), pending=True),
    "start_beyond": edited(None, of(20, 20), pending=True),
    "start_negative": edited(None, of(4, -3), pending=True),
    "start_earliest": edited(None, of(4, -2), pending=True),
    "start_lacks_one": edited(None, '{"<topic>":{"0":4}}', pending=True),
    "start_twice": edited(None, '{"<topic>":{"0":4,"1":4,"1":1}}', pending=True),
    "start_null": edited(None, EMPTY["null"], pending=True),
    "start_refused": edited(None, REFUSED["quoted"], pending=True),
    # where it ends, and the next one begins
    "end_back": edited(of(3, 3), pending=True),
    "end_lacks_one": edited('{"<topic>":{"0":10}}', pending=True),
    "end_negative": edited(of(10, -3), pending=True),
    "end_beyond": edited(of(10, 40), pending=True),
    "end_refused": edited(REFUSED["quoted"], pending=True),
}


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.parametrize("options", [{}, FALSE] if EVERY_CASE in os.environ else [{}])
@pytest.mark.parametrize("name", CASES)
def test_of_a_batch_that_the_sink_has_no_record_is_read(
    stage: Stage, name: str, options: Mapping[str, str]
) -> None:
    scene = stage.scene(f"skipped-{name.replace('_', '-')}{'-allowed' if options else ''}")
    output = scene.checkpoint.parent / "output"
    shutil.copytree(stage.scratch / "seed" / "out", output)
    CASES[name](scene)
    said = _said(stage, scene, str(output), Query(new_data="yes", fail_on_data_loss=not options))
    build = read_topics(stage.broker, [scene.topic("orders")], options)
    fact = stage.oracle.restart(scene.base({}), scene.checkpoint, build, output=output)
    assert said.sink is not None and said.sink.pending == "skipped"
    assert _differences(scene, said, fact, delivered(output).get(2, ())) == [], said.sentence


def _said(stage: Stage, scene: Scene, output: str, query: Query) -> Forecast:
    ck = Checkpoint.open(str(scene.checkpoint))
    ends = ConnectorSettings(kafka=stage.properties_file, sink=parse_location(output))
    answers = ask_connectors(ck, ends)
    assert answers.troubles == {}
    return forecast(ck, query=query, connectors=answers)


def _differences(scene: Scene, said: Forecast, fact: Fact, rows: tuple[str, ...]) -> list[str]:
    found = []
    if fact.causes:
        if (said.outcome, said.batch_id) != ("fail", fact.failed_batch) or not is_same_error(said, fact):
            found.append(
                f"said {said.outcome} {said.batch_id}: {said.error}, was {fact.failed_batch}: {fact.causes}"
            )
        return found
    if said.outcome != "rerun":
        found.append(f"said {said.outcome}: {said.reason}, and nothing failed")
    newest = max(record.life for record in scene.ledger)
    unread = Counter(
        record.row
        for record in scene.ledger
        if record.life == newest and (newest > 1 or record.offset >= SECOND_END)
    )
    was = "loss" if unread - Counter(rows) else "duplicates" if Counter(rows) - unread else "exact"
    told, sure = said.data.skip, said.data.is_sure("skip")
    if told not in ("unknown", was) and not (was == "exact" and not sure):
        found.append(f"rows: said {told}, was {was}")
    return found
