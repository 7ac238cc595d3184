"""Recovery with a Delta sink: a rewind, before which the table is restored, and tables that somebody has put
back or made again. The rows are counted."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from core.checkpoint import Checkpoint
from core.connectors import ConnectorSettings
from core.connectors.connect import ask_connectors
from core.judgement import judge
from core.recovery import Answers, options
from core.storage import parse_location
from tests.support.delta import PYTHON, RUN_SCRIPT, DeltaEngine, delta_jars
from tests.support.recovery import Outcome, fingerprint, script_for
from tests.support.recovery_proof import DELTA_CONFS
from tests.support.script_processes import Scripts

pytestmark = pytest.mark.delta

PUT = "spark.range(args['first'], args['last']).coalesce(1).write.format('delta').mode('append').save(args['source'])"
QUERY = """
frame = spark.readStream.format("delta").load(args["source"]).dropDuplicates(["id"])
writer = frame.writeStream.format("delta").option("checkpointLocation", args["checkpoint"]).trigger(availableNow=True)
writer.start(args["sink"]).awaitTermination()
"""
RESTORE = "spark.sql(args['statement'])"
IDS = "result = sorted(row[0] for row in spark.read.format('delta').load(args['sink']).collect())"


class Pipeline:
    """A deduplication from one Delta table into another: four batches of ten rows."""

    def __init__(self, engine: DeltaEngine, place: Path) -> None:
        self.engine, self.place = engine, place
        self.source, self.sink, self.checkpoint = place / "source", place / "sink", place / "checkpoint"
        for number in range(4):
            self.put(number)
            self.run(self.checkpoint)

    def put(self, number: int) -> None:
        self.engine.run(PUT, source=str(self.source), first=number * 10, last=number * 10 + 10)

    def run(self, checkpoint: Path) -> None:
        self.engine.run(QUERY, source=str(self.source), sink=str(self.sink), checkpoint=str(checkpoint))

    def rewind(self, batch: int, *, execute: bool) -> Outcome:
        answers = {"sink": "delta", "sink_path": str(self.sink), "to_batch": str(batch)}
        script = script_for(self.checkpoint, "rewind", answers, self.place)
        status, output = self.engine.run(RUN_SCRIPT, path=str(script), execute=execute)
        script.unlink()
        return Outcome(status, output)

    def ids(self) -> Any:
        return self.engine.run(IDS, sink=str(self.sink))


def test_a_table_must_be_restored_first_and_then_has_every_row_once(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    pipeline = Pipeline(delta, tmp_path)
    newest = Checkpoint.open(str(pipeline.checkpoint)).commit_ids[-1]
    batch = newest - 1
    state = pipeline.checkpoint / "state" / "0" / "0"
    (state / f"{newest + 1}.delta").unlink()
    (state / f".{newest + 1}.delta.crc").unlink(missing_ok=True)

    before = fingerprint(pipeline.place)
    for execute in (False, True):
        refused = pipeline.rewind(batch, execute=execute)
        assert refused.status == 4 and "RESTORE TABLE delta.`" in refused.output, refused.output
    assert fingerprint(pipeline.place) == before
    statement = refused.output.split("First run: ")[1].splitlines()[0].strip()
    delta.run(RESTORE, statement=statement)
    assert pipeline.ids() == list(range(30))

    # As a process of its own, whose Spark has run no query: 4.2 then reads no state of itself.
    answers = {"sink": "delta", "sink_path": str(pipeline.sink), "to_batch": str(batch)}
    script = script_for(pipeline.checkpoint, "rewind", answers, pipeline.place)
    scripts = Scripts(tmp_path / "spark", str(PYTHON), DELTA_CONFS, delta_jars(), for_many=False)
    done = scripts.run(script, {}, "--execute", "--query-is-stopped")
    scripts.stop()
    script.unlink()
    # whether the source table still has the versions that are read again, the script does not know
    assert done.status == 5 and done.output.count("NOT CHECKED: that source 0 (") == 2, done.output
    new = Path(f"{pipeline.checkpoint}.rewound-to-batch-{batch}")
    assert Checkpoint.open(str(new)).query_id != Checkpoint.open(str(pipeline.checkpoint)).query_id
    pipeline.put(4)
    pipeline.run(new)
    assert pipeline.ids() == list(range(50))
    assert pipeline.rewind(batch, execute=True).status == 4


def test_a_table_that_was_put_back_by_hand_leads_to_a_rewind_to_its_batch(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    """The finding named the rewind, and the rewind said that there was nothing to roll back."""
    pipeline = Pipeline(delta, tmp_path)
    sink = Path(pipeline.sink)
    delta.run(RESTORE, statement=f"RESTORE TABLE delta.`{sink}` TO VERSION AS OF 1")
    assert pipeline.ids() == list(range(20))
    given = ConnectorSettings(sink=parse_location(str(sink)))
    ck = Checkpoint.open(str(pipeline.checkpoint))
    judged = judge(ck, ask_connectors(ck, given))
    assert "SINK_CHANGED" in {item.id for item in judged.findings.findings}
    best = options(judged.recovery(Answers({"platform": "pyspark", "sink": "delta"})))[0]
    assert best.id == "rewind" and best.reason.startswith("The table was put back to batch 1"), best.reason
    answers = {"sink": "delta", "sink_path": str(sink)}
    script = script_for(pipeline.checkpoint, "rewind", answers, pipeline.place, given)
    status, output = delta.run(RUN_SCRIPT, path=str(script), execute=True)
    assert status == 5, output
    pipeline.put(4)
    pipeline.run(Path(f"{pipeline.checkpoint}.rewound-to-batch-1"))
    assert pipeline.ids() == list(range(50))


def test_a_table_that_was_dropped_and_made_again_lacks_the_rows_and_a_reset_is_not_offered(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    """The restart came first, and the reset "lost nothing"."""
    pipeline = Pipeline(delta, tmp_path)
    shutil.rmtree(pipeline.sink)
    delta.run(RESTORE, statement=f"CREATE TABLE delta.`{pipeline.sink}` (id BIGINT) USING delta")
    ck, answers = Checkpoint.open(str(pipeline.checkpoint)), Answers({"sink": "delta"})
    judged = judge(ck, ask_connectors(ck, ConnectorSettings(sink=parse_location(str(pipeline.sink)))))
    found = {each.id: each for each in options(judged.recovery(answers))}
    assert not found["reset"].possible and "dropped and made again" in found["reset"].why
    assert not found["restart"].recommended and "not in it" in found["restart"].loses
    pipeline.put(4)
    pipeline.run(pipeline.checkpoint)
    assert pipeline.ids() == list(range(40, 50))
