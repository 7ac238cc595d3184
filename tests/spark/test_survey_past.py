"""Batches that Spark has purged are known from surveys that were kept meanwhile."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.analysis.past_batches import with_past
from core.analysis.timeline import STATUSES, build_timeline
from core.checkpoint import Checkpoint
from core.cli import main
from core.settings import Settings
from core.survey.kept import kept_histories
from tests.spark.cases import EVERY_CASE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "user long, at timestamp"
# How many batches Spark keeps, and how many have run at each survey: 350 of which 250 are purged, or a fifth.
RETAINED, ROUNDS = (100, (90, 180, 270, 350)) if os.environ.get(EVERY_CASE) else (20, (18, 36, 54, 70))
BATCHES = ROUNDS[-1]


@pytest.mark.spark
def test_batches_that_were_purged_between_surveys(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", RETAINED)
    source, ck, kept = tmp_path / "in", tmp_path / "team" / "ck", tmp_path / "kept"
    source.mkdir()
    written = 0
    truth: dict[int, tuple[int, int]] = {}
    for until in ROUNDS:
        for number in range(written, until):
            line = {"user": number, "at": f"2026-01-01 00:{number // 60:02d}:{number % 60:02d}"}
            (source / f"{number:04d}.json").write_text(json.dumps(line))
        rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(source))
        query = (
            rows.writeStream.format("noop")
            .option("checkpointLocation", str(ck))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(200)
        written = until
        now = build_timeline(Checkpoint.open(str(ck)))
        for at, batch_id in enumerate(now.batch_ids.tolist()):
            truth[batch_id] = (int(now.planned_ms[at]), int(now.committed_ms[at]))
        assert main(["survey", str(tmp_path / "team"), "--to", str(kept), "--json"]) == 0
    checkpoint = Checkpoint.open(str(ck))
    retained = len(checkpoint.offset_ids)
    assert retained <= RETAINED * 1.1
    past = kept_histories(Settings(history=str(kept)), {str(ck): checkpoint.query_id})[str(ck)]
    assert past.trouble == () and len(past.surveys) == len(ROUNDS)
    timeline = with_past(build_timeline(checkpoint), past.batches)
    assert timeline.batch_ids.tolist() == list(range(BATCHES))
    assert int(timeline.from_history.sum()) == BATCHES - retained
    assert {STATUSES[int(code)] for code in timeline.status} == {"committed"}
    for batch_id, (planned_ms, committed_ms) in truth.items():
        assert abs(int(timeline.planned_ms[batch_id]) - planned_ms) < 1_000
        assert int(timeline.committed_ms[batch_id]) == committed_ms
