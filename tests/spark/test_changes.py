"""What ``changes`` says against real Spark: the old query runs, the changed one is started on its checkpoint, and
outcome, condition and rows are those that were said.

Whether numbers are wrong is worked out by Spark: the changed query as a batch over the same files. A run takes
every silent change and a fifth of the others; CHECKPOINT_EXPLORER_EVERY_CASE=1 takes all.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException

from core.analysis.changes import AskedChange, judge_changes, parse_change
from core.checkpoint import Checkpoint
from core.settings import DEFAULTS
from core.storage import parse_location
from tests.spark.cases import EVERY_CASE
from tests.support.changed_queries import (
    CHANGES,
    NEW_MODES,
    OTHERS,
    SILENT,
    Change,
    Changes,
    semi_join,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

TRIED = CHANGES if os.environ.get(EVERY_CASE) else (*SILENT, *OTHERS[::5])


@pytest.fixture(scope="session")
def changed(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Changes:
    return Changes(spark_session, tmp_path_factory.mktemp("changes"))


def test_the_list_has_the_nine_silent_changes_and_every_other_outcome() -> None:
    assert len(SILENT) == 9 and len(CHANGES) > 40
    assert len({change.name for change in CHANGES}) == len(CHANGES)


@pytest.mark.parametrize("change", TRIED, ids=lambda change: change.name.replace(" ", "_"))
def test_spark_does_what_was_said(changed: Changes, change: Change) -> None:
    ck = Checkpoint.open(parse_location(str(changed.checkpoint(change.base))), DEFAULTS)
    asked = [AskedChange(what, value) for what, value in change.asked.items()]  # type: ignore[arg-type]
    said = judge_changes(ck, asked, sink=change.written_to).changes[0]
    happened = changed.try_change(change)
    told = (said.rule, said.sentence, happened.error, happened.rows, happened.right)
    if happened.error is not None:
        assert said.verdict == "fails", told
        assert said.fails_at == happened.phase, told
        if said.condition is not None:
            assert said.condition in happened.conditions, told
        else:
            assert set(happened.conditions) <= {"STREAM_FAILED"}, told
        return
    assert said.verdict != "fails", told
    if happened.as_right is not None:
        assert (said.verdict == "silently_wrong") == (not happened.as_right), told
    assert (said.verdict == "silently_wrong") == (change in SILENT), told


@pytest.mark.parametrize("change", NEW_MODES, ids=lambda change: change.name.replace(" ", "_"))
def test_windows_that_another_output_mode_never_hands_out_are_said(changed: Changes, change: Change) -> None:
    ck = Checkpoint.open(parse_location(str(changed.checkpoint(change.base))), DEFAULTS)
    said = judge_changes(ck, [parse_change(f"change.output_mode={change.asked['output_mode']}")]).changes[0]
    happened = changed.try_change(change)
    assert happened.error is None and set(happened.rows) < set(happened.right), happened
    assert said.verdict == "silently_wrong", said


def test_a_left_semi_join_fails_where_the_right_side_carries_more(changed: Changes) -> None:
    ck = Checkpoint.open(parse_location(str(changed.checkpoint("join"))), DEFAULTS)
    said = judge_changes(ck, [AskedChange("join_type", "left_semi")]).changes[0]
    happened = changed.try_change(Change("join: left semi", "join", {}, semi_join))
    assert said.rule == "join_type_semi" and "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE" in said.sentence
    assert "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE" in happened.conditions and happened.phase == "batch"


def test_a_checkpoint_of_continuous_processing_takes_no_other_trigger(
    spark_session: SparkSession, tmp_path: Path
) -> None:
    checkpoint = str(tmp_path / "ck")

    def start(**trigger: object) -> StreamingQuery:
        frame = spark_session.readStream.format("rate").option("rowsPerSecond", 5).load()
        writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
        return writer.trigger(**trigger).start()  # type: ignore[arg-type]

    query = start(continuous="300 milliseconds")
    try:
        ends = time.monotonic() + 60
        while len(list((tmp_path / "ck" / "commits").glob("[0-9]*"))) < 2:
            assert time.monotonic() < ends and query.exception() is None
            time.sleep(0.1)
    finally:
        query.stop()
    ck = Checkpoint.open(parse_location(checkpoint), DEFAULTS)
    values = ("processing_time", "available_now", "continuous")
    said = judge_changes(ck, [AskedChange("trigger", value) for value in values]).changes
    assert [each.verdict for each in said] == ["fails", "fails", "fine"]
    before = sorted((tmp_path / "ck" / "offsets").iterdir())
    for trigger in ({"processingTime": "1 second"}, {"availableNow": True}):
        with pytest.raises(StreamingQueryException, match="WatermarkTracker"):
            start(**trigger).awaitTermination(60)
    assert sorted((tmp_path / "ck" / "offsets").iterdir()) == before  # at the start


@pytest.mark.parametrize(
    "name", ["totals: one aggregate more", "totals: the aggregation removed", "rows: an aggregation added"]
)
def test_after_a_failed_start_the_old_query_loses_nothing(changed: Changes, name: str) -> None:
    """The way back that is said: the batch that the failed start has planned is run by the old query."""
    change = next(each for each in CHANGES if each.name == name)
    rows, undisturbed = changed.back_again(change)
    assert rows and sorted(rows) == sorted(undisturbed)
