"""A union of two file sources of which one has never had a file: nothing is wrong with its checkpoint."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from core.checkpoint import Checkpoint
from core.judgement import judge
from core.recovery import Answers, options
from tests.support import damage
from tests.support.recovery import put_files

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("is_pending", [False, True])
def test_it_starts_and_nothing_comes_twice(
    spark_session: SparkSession, tmp_path: Path, is_pending: bool
) -> None:
    busy, idle, checkpoint, output = (tmp_path / name for name in ("busy", "idle", "checkpoint", "output"))
    idle.mkdir()

    def run() -> None:
        frames = [
            spark_session.readStream.schema("id long").option("maxFilesPerTrigger", 1).json(str(place))
            for place in (busy, idle)
        ]
        writer = frames[0].union(frames[1]).writeStream.option("checkpointLocation", str(checkpoint))
        writer.format("json").option("path", str(output)).trigger(
            availableNow=True
        ).start().awaitTermination()

    put_files(busy, range(3))
    run()
    if is_pending:
        damage.remove(checkpoint / "commits" / "2")
    judged = judge(Checkpoint.open(str(checkpoint)))
    assert judged.forecast.outcome == ("rerun" if is_pending else "resume") and judged.forecast.risks == ()
    assert [each.id for each in options(judged.recovery(Answers())) if each.recommended] == ["restart"]
    put_files(busy, range(3, 4))
    put_files(idle, range(4, 5))
    run()
    rows = Counter(row.id for row in spark_session.read.schema("id long").json(str(output)).collect())
    given = spark_session.read.schema("id long").json([str(busy), str(idle)]).collect()
    assert rows == Counter(row.id for row in given) and len(rows) > 0
