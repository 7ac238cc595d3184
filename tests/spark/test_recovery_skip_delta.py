"""The option skip_batch for a Delta table as the source: a batch that fails at every start, and the rows counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.checkpoint import Checkpoint
from tests.support.delta import RUN_SCRIPT, DeltaEngine
from tests.support.recovery import Outcome, fingerprint, script_for

pytestmark = pytest.mark.delta
POISON = 25

PUT = "spark.range(args['first'], args['last']).coalesce(1).write.format('delta').mode('append').save(args['source'])"
QUERY = """
frame = spark.readStream.format("delta").option("maxFilesPerTrigger", "1").load(args["source"])
frame = frame.where(f"assert_true(id <> {args['poison']}, 'a poisoned row') is null")
writer = frame.writeStream.format(args["format"]).option("checkpointLocation", args["checkpoint"])
try:
    writer.option("path", args["sink"]).trigger(availableNow=True).start().awaitTermination()
    result = None
except Exception as error:
    result = str(error)
"""
IDS = "result = sorted(row[0] for row in spark.read.format(args['format']).load(args['sink']).collect())"


class Pipeline:
    """Rows of one Delta table into files or another table; ten rows a version, one file a batch."""

    def __init__(self, engine: DeltaEngine, place: Path, kind: str) -> None:
        self.engine, self.place, self.kind = engine, place, kind
        self.source, self.sink, self.checkpoint = place / "source", place / "sink", place / "checkpoint"
        self.new = self.checkpoint

    def put(self, number: int) -> None:
        self.engine.run(PUT, source=str(self.source), first=number * 10, last=number * 10 + 10)

    def run(self) -> str | None:
        answer: str | None = self.engine.run(
            QUERY,
            source=str(self.source),
            sink=str(self.sink),
            checkpoint=str(self.new),
            format="delta" if self.kind == "delta" else "parquet",
            poison=POISON,
        )
        return answer

    def skip(self, *, execute: bool) -> Outcome:
        answers = {"sink": self.kind, "sink_path": str(self.sink), "what_happened": "batch_fails"}
        script = script_for(self.checkpoint, "skip_batch", answers, self.place)
        status, output = self.engine.run(RUN_SCRIPT, path=str(script), execute=execute)
        script.unlink()
        return Outcome(status, output)

    def ids(self) -> Any:
        kind = "delta" if self.kind == "delta" else "parquet"
        return self.engine.run(IDS, sink=str(self.sink), format=kind)


@pytest.mark.parametrize("kind", ["delta", "file"])
def test_exactly_the_rows_of_the_batch_are_lost(delta: DeltaEngine, tmp_path: Path, kind: str) -> None:
    """Into Delta the batch that fails is a version of its own, into files a part of the first snapshot."""
    pipeline = Pipeline(delta, tmp_path, kind)
    for number in range(3):
        pipeline.put(number)
        if kind == "delta" and number < 2:
            assert pipeline.run() is None
    assert "a poisoned row" in (pipeline.run() or "")
    pipeline.put(3)
    assert pipeline.run() is not None
    assert Checkpoint.open(str(pipeline.checkpoint)).pending_batch == 2
    before = fingerprint(pipeline.place)
    done = pipeline.skip(execute=False)
    assert done.status == 0 and fingerprint(pipeline.place) == before, done.output
    for _ in range(2):
        done = pipeline.skip(execute=True)
        assert done.status == 0, done.output
    pipeline.new = Path(f"{pipeline.checkpoint}.without-batch-2")
    for number in (4, 5):
        assert pipeline.run() is None
        pipeline.put(number)
    assert pipeline.run() is None
    assert pipeline.ids() == [*range(20), *range(30, 60)]


def test_a_source_whose_schema_is_tracked_in_the_checkpoint_is_refused(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    pipeline = Pipeline(delta, tmp_path, "file")
    for number in range(1, 3):
        pipeline.put(number)
    assert pipeline.run() is not None
    log = pipeline.checkpoint / "_schema_log_of_a_table"
    log.mkdir()
    (log / "0").write_text("v1")
    refused = pipeline.skip(execute=True)
    assert refused.status == 4 and "tracks the schema" in refused.output, refused.output
