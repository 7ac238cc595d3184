"""The sinks behind the words of a forecast: the real file sink skips as said, foreachBatch sees the same
batches; asynchronous progress."""

from __future__ import annotations

import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from core.analysis.forecast import Query, forecast
from core.analysis.forecast.versions import NEWEST
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.file_sink_log import FileSinkLog
from core.storage import parse_location
from tests.support import damage as d
from tests.support.oracle import ASKED, Base, Oracle, Rows, delivered, ids
from tests.support.spark import spark_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NEW = Query(new_data="yes")
LEFT_OPEN = ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning")
# Older PySpark (seen with 3.5 and 4.0) leaves the sockets of a Python function open that a sink calls.
pytestmark = (
    [pytest.mark.filterwarnings(f"ignore::{kind}") for kind in LEFT_OPEN] if spark_version() < NEWEST else []
)
COMMIT_MISSING = d.without("commits/{c}")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("damage", "effect"),
    [
        (d.nothing, "exact"),
        (COMMIT_MISSING, "exact"),
        (d.without("commits/{n}", "commits/{n-1}"), "exact"),
        (d.rewound(3), "loss"),
        (d.rewound(2, sources=True), "exact"),
    ],
    ids=["clean", "commit_missing", "two_commits_missing", "rewound_by_3", "rewound_by_2_with_sources"],
)
def test_a_real_file_sink_skips_as_the_forecast_says(oracle: Oracle, damage: d.Damage, effect: str) -> None:
    base = oracle.base("stateless")
    copy = oracle.copy(base)
    output = copy.parent / "out"
    shutil.copytree(base.root / "out", output)
    damage(copy)
    said = forecast(Checkpoint.open(str(copy)), spark=ASKED, query=NEW)
    fact = oracle.restart(base, copy, output=output)
    assert fact.causes == ()
    held, expected = rows(delivered(output)), rows({**base.delivered, **base.undisturbed})
    was = "loss" if expected - held else "duplicates" if held - expected else "exact"
    assert (said.data.skip, was) == (effect, effect)


def newest_entry_emptied(output: Path) -> None:
    log = output / "_spark_metadata"
    d.holding(str(ids(log)[-1]), "")(log)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("damage", "of_the_output"),
    [
        (d.nothing, d.nothing),
        (d.everything_gone, d.nothing),
        (d.nothing, d.everything_gone),
        (d.nothing, d.without("_spark_metadata/2")),
        (d.nothing, d.holding("_spark_metadata/2", "")),
        (COMMIT_MISSING, newest_entry_emptied),
        (d.nothing, d.holding("_spark_metadata/2", "v2")),
    ],
    ids=[
        "clean",
        "new_checkpoint_on_the_old_output",
        "old_checkpoint_on_a_new_output",
        "entry_missing",
        "entry_empty",
        "entry_of_the_planned_batch_empty",
        "entry_of_no_known_version",
    ],
)
def test_what_the_log_of_a_real_file_sink_makes_of_a_restart(
    oracle: Oracle, damage: d.Damage, of_the_output: d.Damage
) -> None:
    base = oracle.base("stateless")
    copy = oracle.copy(base)
    output = copy.parent / "out"
    shutil.copytree(base.root / "out", output)
    damage(copy)
    of_the_output(output)
    seen, planned = ids(output / "_spark_metadata"), ids(copy / "offsets")
    place = parse_location(str(output))
    connectors = ConnectorAnswers(sink=FileSinkLog.open(place) if seen else place)
    said = forecast(Checkpoint.open(str(copy)), spark=ASKED, query=NEW, connectors=connectors)
    fact = oracle.restart(base, copy, output=output)
    assert fact.causes == () and said.outcome != "fail"
    skipped = [number for number in ids(copy / "offsets") if number in seen and number not in planned]
    told = {risk.id for risk in said.risks}
    assert ("SINK_AHEAD" in told) == bool(skipped), said.sentence
    is_foreseen = bool({"SINK_LOG_HOLE", "SINK_LOG_DAMAGED", "SINK_NO_LOG"} & told)
    assert is_foreseen == (not can_be_read(oracle.session, output)), said.sentence


def can_be_read(session: SparkSession, output: Path) -> bool:
    """Whether Spark reads what its file sink has written."""
    try:
        session.read.json(str(output)).count()
    except Exception:
        return False
    return True


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("stateless", d.nothing),
        ("stateless", COMMIT_MISSING),
        ("stateless", d.without("offsets/{n}")),
        ("stateless", d.rewound(3)),
        ("stateless", d.without("offsets/{n-1}")),
        ("windows", COMMIT_MISSING),
        ("windows", d.state_missing("1", "delta")),
    ],
    ids=[
        "clean",
        "commit_missing",
        "offset_missing",
        "rewound_by_3",
        "previous_offset_missing",
        "windows_commit_missing",
        "state_missing",
    ],
)
def test_a_foreach_batch_sink_gets_the_same_batches_and_rows(
    oracle: Oracle, name: str, damage: d.Damage
) -> None:
    base = oracle.base(name)
    first, second = oracle.copy(base), oracle.copy(base)
    damage(first)
    damage(second)
    seen = foreach_batch(oracle, base, first)
    assert seen == oracle.restart(base, second).delivered
    said = forecast(Checkpoint.open(str(second.parent / "ck")), spark=ASKED, query=NEW)
    assert said.steps  # the copy that was restarted can be forecast again


@pytest.mark.spark
def test_a_join_batch_without_rows_runs_once_the_schema_check_is_off(oracle: Oracle) -> None:
    base = oracle.base("join")
    copy = oracle.copy(base)
    COMMIT_MISSING(copy)
    fact = oracle.restart(base, copy, conf={"spark.sql.streaming.stateStore.stateSchemaCheck": "false"})
    assert (fact.outcome, fact.causes) == ("rerun", ())
    assert rows({**base.delivered, **fact.delivered}) == rows({**base.delivered, **base.undisturbed})


def foreach_batch(oracle: Oracle, base: Base, checkpoint: Path) -> dict[int, Rows]:
    """Restarts with a Python function as the sink and keeps what it was given: batch id -> rows."""
    seen: dict[int, Rows] = {}

    def keep(frame: DataFrame, batch_id: int) -> None:
        seen[batch_id] = tuple(sorted(row.j for row in frame.selectExpr("to_json(struct(*)) AS j").collect()))

    session = oracle.session.newSession()
    for key, value in base.recipe.restart_conf.items():
        session.conf.set(key, value)
    writer = (
        base.recipe.build(session, base.root)
        .writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(checkpoint))
    )
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except Exception:
        assert query.exception() is not None
    return seen


def rows(held: dict[int, Rows]) -> Counter[str]:
    return Counter(row for batch in held.values() for row in batch)


@pytest.mark.spark
def test_asynchronous_progress_goes_on_after_the_newest_logged_batch(oracle: Oracle, tmp_path: Path) -> None:
    options = {"asyncProgressTrackingEnabled": "true", "asyncProgressTrackingCheckpointIntervalMs": "2500"}
    run_rates(oracle.session, tmp_path, options, until=4)
    logged = ids(tmp_path / "ck" / "offsets")
    assert any(after - before > 1 for before, after in pairwise(logged)), logged
    said = forecast(Checkpoint.open(str(tmp_path / "ck")), spark=ASKED, query=NEW)
    expected = logged[-1] + (logged[-1] in ids(tmp_path / "ck" / "commits"))
    assert (said.outcome, said.batch_id) == ("resume" if expected > logged[-1] else "rerun", expected)
    assert any("asynchronous progress tracking is still on" in item for item in said.not_checked)
    assert run_rates(oracle.session, tmp_path, options, until=len(logged) + 2) == expected


def run_rates(session: SparkSession, root: Path, options: dict[str, str], until: int) -> int:
    """Runs a rate query with these options until so many offset files were seen; the id of its first batch."""
    first: list[int] = []
    frame = session.newSession().readStream.format("rate").option("rowsPerSecond", 20).load()
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(root / "ck"))
    for key, value in options.items():
        writer = writer.option(key, value)
    query: Any = writer.trigger(processingTime="50 milliseconds").start()
    try:
        while len(ids(root / "ck" / "offsets")) < until:
            query.awaitTermination(0.1)
            assert query.isActive, query.exception()
            first = first or [progress["batchId"] for progress in query.recentProgress][:1]
    finally:
        query.stop()
    return (first or [progress["batchId"] for progress in query.recentProgress])[0]
