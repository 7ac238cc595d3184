"""What the tool reads through Spark's state reader stays as it is, also for a moment. By itself the reader of Spark
4.0 to 4.2 begins a changelog in a join's checkpoint, and deletes it at the end; a reader that is killed leaves
it there. (The environment of the Delta tests has Spark 4.2.)"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import core.spark.scan
from core.checkpoint import Checkpoint
from core.spark import StateQuestion, question_code
from tests.support.delta import DeltaEngine
from tests.support.recovery import directory_times
from tests.support.recovery_cells import Cell
from tests.support.recovery_proof import SESSION, Pipeline, context_of, in_session, prepare, script_of

pytestmark = pytest.mark.delta

READ = (
    SESSION
    + """
spark.streams.active
reader = spark.read.format("statestore").option("joinSide", "left").option("batchId", str(args["batch"]))
result = reader.load(args["checkpoint"]).count()
"""
)
SCAN = (
    SESSION
    + """
spark.streams.active
names = {"__name__": "scan"}
with open(args["scan"]) as file:
    exec(compile(file.read(), args["scan"], "exec"), names)
options = {"operatorId": "0", "joinSide": "left", "batchId": str(args["batch"])}
request = {
    "path": args["checkpoint"], "options": options, "format_version": 1, "families": False, "limit": 100
}
result = sum(names["scan"](spark, request)["counts"].values())
"""
)
CODE = (
    SESSION
    + """
from pyspark.sql import SparkSession
active = SparkSession._activeSession, SparkSession._instantiatedSession
SparkSession._activeSession = SparkSession._instantiatedSession = spark
spark._jvm.SparkSession.setActiveSession(spark._jsparkSession)
try:
    names = {"__name__": "question"}
    exec(args["code"], names)
    result = names["rows"].count()
finally:
    SparkSession._activeSession, SparkSession._instantiatedSession = active
    spark._jvm.SparkSession.clearActiveSession()
"""
)

# Without it ``show`` stumbles over the mark that the reader leaves behind the last column of a join.
COMPILED = {"spark.sql.codegen.factoryMode": "FALLBACK", "spark.sql.codegen.wholeStage": "true"}


@pytest.fixture(scope="module")
def pipeline(delta: DeltaEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    """A join whose newest state is gone; batch 6 is the newest to rewind to."""
    made = Pipeline(
        delta, tmp_path_factory.mktemp("join") / "p", Cell("rewind", "join", "keyed", "changelog"), 1
    )
    prepare(made, "state is gone")
    yield made


def rewound_to(pipeline: Pipeline) -> int:
    return Checkpoint.open(str(pipeline.checkpoint)).commit_ids[-1] - 1


def test_the_reader_by_itself_writes_into_the_checkpoint_of_a_join(pipeline: Pipeline) -> None:
    """What the tests below would notice."""
    before = directory_times(pipeline.checkpoint)
    batch, ck = rewound_to(pipeline), str(pipeline.checkpoint)
    assert pipeline.engine.run(READ, confs=pipeline.confs, batch=batch, checkpoint=ck) > 0
    assert directory_times(pipeline.checkpoint) != before


def test_the_dry_run_of_a_rewind_writes_nothing(pipeline: Pipeline) -> None:
    before = directory_times(pipeline.checkpoint)
    script = script_of(pipeline, context_of(pipeline), "rewind")
    done = in_session(pipeline, script, execute=False)
    assert "State of operator 0 (symmetricHashJoin), left" in done.output
    assert directory_times(pipeline.checkpoint) == before


def test_the_dry_run_of_a_rewind_writes_nothing_into_hdfs_backed_state(
    delta: DeltaEngine, tmp_path: Path
) -> None:
    """By side, the reader begins a delta in each of the four stores of every partition and deletes it."""
    made = Pipeline(delta, tmp_path / "p", Cell("rewind", "join", "keyed", "HDFS"), 1)
    prepare(made, "state is gone")
    before = directory_times(made.checkpoint)
    assert made.engine.run(READ, confs=made.confs, batch=rewound_to(made), checkpoint=str(made.checkpoint))
    assert directory_times(made.checkpoint) != before, "what the next look would notice"
    script, before = script_of(made, context_of(made), "rewind"), directory_times(made.checkpoint)
    done = in_session(made, script, execute=False)
    assert "State of operator 0 (symmetricHashJoin), left-keyToNumValues" in done.output
    assert directory_times(made.checkpoint) == before


def test_a_question_and_its_code_write_nothing(pipeline: Pipeline) -> None:
    before = directory_times(pipeline.checkpoint)
    batch, place = rewound_to(pipeline), str(pipeline.checkpoint)
    scan = core.spark.scan.__file__
    found = pipeline.engine.run(SCAN, confs=pipeline.confs, batch=batch, checkpoint=place, scan=scan)
    code = question_code(Checkpoint.open(place), StateQuestion(batch, 0, side="left", limit=5))
    assert pipeline.engine.run(CODE, confs={**pipeline.confs, **COMPILED}, code=code) == found > 0
    assert directory_times(pipeline.checkpoint) == before
