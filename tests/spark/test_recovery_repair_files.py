"""The option repair_files, run unmodified on checkpoints whose files were really damaged: the query starts again
with the repaired copy, and the rows are compared with the truth."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.utils import StreamingQueryException

from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.file_sink_log import FileSinkLog
from core.judgement import judge
from core.recovery import Answers, Option, generate, options, read_recovery_context
from tests.spark.cases import LONG
from tests.support import damage
from tests.support.oracle import CHANGELOG, FORMAT_2, RECIPES, ROCKSDB, Oracle
from tests.support.oracle_processor import Counter
from tests.support.recovery import fingerprint, killed_at, put_files, run_in_session
from tests.support.repairs import RepairPipeline, Sink
from tests.support.script_processes import run_script

pytestmark = pytest.mark.spark

Damage = Callable[[Path], None]
FILES, MORE = 4, 6
JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"


def plain(frame: DataFrame) -> DataFrame:
    return frame.select("id", "key")


def totals(frame: DataFrame) -> DataFrame:
    return frame.groupBy("key").count()


def distinct(frame: DataFrame) -> DataFrame:
    return frame.dropDuplicates(["id"]).select("id", "key")


def windows(frame: DataFrame) -> DataFrame:
    counted = frame.withWatermark("at", "30 seconds").groupBy(F.window("at", "1 minute")).count()
    return counted.select(F.col("window.start").cast("string").alias("id"), "count")


TRUTH: dict[str, Callable[[int], list[tuple[object, ...]]]] = {
    "plain": lambda files: sorted((i, i % 15) for i in range(files * 10)),
    "distinct": lambda files: sorted((i, i % 15) for i in range(files * 10)),
    "totals": lambda files: sorted((k, sum(i % 15 == k for i in range(files * 10))) for k in range(15)),
    # the last two windows are still open
    "windows": lambda files: sorted((f"2026-01-01 00:{minute:02d}:00", 10) for minute in range(files - 2)),
}


def made(
    spark: SparkSession, place: Path, query: str, sink: Sink, confs: dict[str, str] | None = None
) -> RepairPipeline:
    """Four batches with data, all committed; the query has stopped."""
    mode, key = ("update", "key") if query == "totals" else ("append", "id")
    pipeline = RepairPipeline(spark, place, globals()[query], sink, mode=mode, key=key, confs=confs)
    put_files(pipeline.source, range(FILES))
    pipeline.run()
    return pipeline


def rows(pipeline: RepairPipeline, query: str) -> list[tuple[object, ...]]:
    second = {"plain": "key", "distinct": "key", "totals": "count", "windows": "count"}[query]
    first = "key" if query == "totals" else "id"
    return sorted((row[first], row[second]) for row in pipeline.rows())  # type: ignore[type-var]


def planned(ck: Path) -> None:
    """The next batch was planned (offsets and source log) and its offset file never got its content."""
    newest = damage.newest(ck)
    logged = damage.newest(ck, "sources/0")
    line = (ck / f"sources/0/{logged}").read_text(encoding="utf-8")
    (ck / f"offsets/{newest + 1}").write_text("", encoding="utf-8")
    assert line.startswith("v1")


def unplanned(ck: Path) -> None:
    """The source log was being written for the next batch, which was not planned yet."""
    logged = damage.newest(ck, "sources/0")
    line = (ck / f"sources/0/{logged}").read_text(encoding="utf-8")
    (ck / f"sources/0/{logged + 1}").write_text(line[: len(line) // 2], encoding="utf-8")


def option_of(pipeline: RepairPipeline, **answers: str) -> Option:
    context = judge(Checkpoint.open(str(pipeline.checkpoint))).recovery(Answers(answers))
    return next(each for each in options(context) if each.id == "repair_files")


# (damage, query, sink, confs, what the copy has differently, exit status)
KINDS: dict[str, tuple[Damage, str, Sink, dict[str, str], str, int]] = {
    "checksum file of a commit that is gone": (
        lambda ck: (ck / "commits/3").unlink(), "plain", "file", {}, "commits/.3.crc is left out", 0,
    ),
    "planned offset without content": (planned, "plain", "file", {}, "offsets/4 is left out", 0),
    "planned offset without content, sink that appends": (
        planned, "plain", "append", {}, "offsets/4 is left out", 5,
    ),
    "empty commit": (damage.holding("commits/3", ""), "plain", "append", {}, "commits/3 is written", 0),
    "cut commit of totals": (
        damage.holding("commits/3", "v1\n{\"nextBat"), "totals", "merge", {}, "commits/3 is written", 0,
    ),
    "empty commit, watermark not known": (
        damage.holding("commits/{n}", ""), "windows", "file", {}, "is left out", 0,
    ),
    "empty commit, state format 2": (
        damage.holding("commits/3", ""), "totals", "merge", FORMAT_2, "commits/3 is left out", 0,
    ),
    "offset before the newest is gone": (
        damage.without("offsets/2"), "plain", "append", {}, "offsets/2 becomes a copy of offsets/3", 0,
    ),
    "offset before the newest is gone, with state": (
        damage.without("offsets/{n-1}"), "windows", "file", CHANGELOG, "becomes a copy of offsets/", 0,
    ),
    "source log entry that was cut off before its batch was planned": (
        unplanned, "plain", "append", {}, "sources/0/4 is left out", 5,
    ),
    "the same, and the sink tells what it has": (
        unplanned, "plain", "file", {}, "sources/0/4 is left out", 0,
    ),
    "metadata is gone": (damage.without("metadata"), "plain", "file", {}, "metadata is written", 0),
    "commit without its offset": (
        damage.without("offsets/3"), "totals", "merge", {}, "commits/3 is left out", 0,
    ),
    "two faults": (
        damage.both(damage.holding("metadata", ""), damage.without("offsets/2")), "plain", "append", {},
        "offsets/2 becomes a copy of offsets/3", 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_repaired_in_a_copy_and_the_query_resumes_exactly(
    kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    harm, query, sink, confs, changed, status = KINDS[kind]
    pipeline = made(spark, tmp_path / "p", query, sink, confs)
    harm(pipeline.checkpoint)
    assert forecast(Checkpoint.open(str(pipeline.checkpoint))).outcome == "fail"
    script = pipeline.script("repair_files")
    before = fingerprint(pipeline.place)
    dry = run_in_session(script, spark, execute=False)
    assert dry.status == 0 and changed in dry.output, dry.output
    assert fingerprint(pipeline.place) == before, "the dry run wrote"

    done = run_in_session(script, spark)
    assert done.status == status, done.output
    again = run_in_session(script, spark)
    assert again.status == status, again.output
    assert {path: value for path, value in fingerprint(pipeline.place).items() if path in before} == before
    new = next(pipeline.place.glob("checkpoint.repaired-after-batch-*[0-9]"))
    answer = forecast(Checkpoint.open(str(new)))
    assert answer.outcome in ("resume", "rerun"), answer.sentence

    put_files(pipeline.source, range(FILES, MORE))
    pipeline.run(new)
    assert rows(pipeline, query) == TRUTH[query](MORE)
    late = run_in_session(script, spark)
    assert late.status == 4 and "has run with it since" in late.output, late.output


def counter(frame: DataFrame) -> DataFrame:
    return frame.groupBy("key").transformWithState(Counter(), "k int, n long", "Update", "None")


def joined(frame: DataFrame) -> DataFrame:
    left = frame.withWatermark("at", "1 hour").selectExpr("id", "key", "at")
    right = frame.withWatermark("at", "1 hour").selectExpr("id as other", "at as then")
    same = (F.col("id") == F.col("other")) & (F.col("at") == F.col("then"))
    return left.join(right, same).select("id", "key")


def test_a_moved_transform_with_state_reads_its_schema_at_the_old_place_until_it_is_repaired(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", counter, "merge", mode="update", key="k", confs=ROCKSDB)
    put_files(pipeline.source, range(FILES))
    pipeline.run()
    assert risks_of(pipeline.checkpoint) == []
    pipeline.checkpoint = pipeline.checkpoint.rename(pipeline.place / "moved")
    answer = forecast(Checkpoint.open(str(pipeline.checkpoint)))
    assert (answer.outcome, answer.reason) == ("fail", "STATE_SCHEMA_GONE")
    assert answer.error is not None
    done = run_in_session(pipeline.script("repair_files"), spark)
    assert done.status == 0, done.output
    put_files(pipeline.source, range(FILES, MORE))
    with pytest.raises(StreamingQueryException, match="_stateSchema") as failure:
        pipeline.run()
    assert answer.error.message in str(failure.value)
    new = next(pipeline.place.glob("moved.repaired-after-batch-*[0-9]"))
    assert risks_of(new) == []
    pipeline.run(new)
    found = sorted((row["k"], row["n"]) for row in pipeline.rows())  # type: ignore[type-var]
    assert found == [(k, sum(i % 15 == k for i in range(MORE * 10))) for k in range(15)]


@pytest.mark.parametrize("version", ["3", "4"])
@pytest.mark.parametrize("is_moved", [True, False])
def test_a_join_starts_without_its_schema_files_and_where_it_was_moved(
    is_moved: bool, version: str, spark: SparkSession, tmp_path: Path
) -> None:
    confs = {**ROCKSDB, JOIN_FORMAT: version}
    pipeline = RepairPipeline(spark, tmp_path / "p", joined, "append", confs=confs)
    put_files(pipeline.source, range(FILES))
    pipeline.run()
    if is_moved:
        pipeline.checkpoint = pipeline.checkpoint.rename(pipeline.place / "moved")
    else:
        shutil.rmtree(pipeline.checkpoint / "state/0/_stateSchema")
    assert risks_of(pipeline.checkpoint) == []
    put_files(pipeline.source, range(FILES, MORE))
    pipeline.run()
    assert sorted(row["id"] for row in pipeline.rows()) == list(range(MORE * 10))  # type: ignore[type-var]


def risks_of(ck: Path) -> list[str]:
    answer = forecast(Checkpoint.open(str(ck)))
    assert answer.outcome == "resume", answer.sentence
    return [risk.id for risk in answer.risks]


@LONG
def test_as_a_user_runs_it_killed_in_the_middle_and_again(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = made(spark, tmp_path / "p", "totals", "merge")
    damage.holding("commits/3", "")(pipeline.checkpoint)
    script = pipeline.script("repair_files")
    before = fingerprint(pipeline.checkpoint)
    dying = killed_at(script, "files.rename(building, new)")
    assert run_script(dying, "--execute", "--query-is-stopped").status == -9
    new = Path(f"{pipeline.checkpoint}.repaired-after-batch-3")
    assert not new.exists()
    refused = run_in_session(script, spark, is_stopped=False)
    assert refused.status == 4 and "--query-is-stopped" in refused.output, refused.output
    done = run_script(script, "--execute", "--query-is-stopped")
    assert done.status == 0, done.output
    assert fingerprint(pipeline.checkpoint) == before, "the old checkpoint was changed"
    put_files(pipeline.source, range(FILES, MORE))
    pipeline.run(new)
    assert rows(pipeline, "totals") == TRUTH["totals"](MORE)


def test_a_sink_that_would_skip_new_rows_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = made(spark, tmp_path / "p", "plain", "file")
    damage.without("offsets/3")(pipeline.checkpoint)
    script = pipeline.script("repair_files")
    before = fingerprint(pipeline.place)
    for execute in (False, True):
        done = run_in_session(script, spark, execute=execute)
        assert (done.status, "The sink already has batch 3" in done.output) == (4, True), done.output
    assert fingerprint(pipeline.place) == before


def test_a_file_that_changed_since_the_plan_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = made(spark, tmp_path / "p", "plain", "append")
    damage.holding("commits/3", "")(pipeline.checkpoint)
    script = pipeline.script("repair_files")
    damage.holding("commits/3", "v1\n{}")(pipeline.checkpoint)
    done = run_in_session(script, spark)
    assert done.status == 4 and "commits/3 is not as it was" in done.output, done.output


def test_a_batch_that_must_write_its_state_again_is_not_left_to_a_sink_that_skips_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = made(spark, tmp_path / "p", "distinct", "file", FORMAT_2)
    damage.holding("commits/3", "")(pipeline.checkpoint)
    option = option_of(pipeline, sink="file")
    assert not option.possible and "does not run it" in option.why, option.why


def test_a_batch_that_a_sink_skips_cannot_be_committed_with_state_format_2(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The file sink has batch 3 and its commit is missing. The forecast names Spark's error, at every start;
    with the entry of the sink moved away the same batch runs, and readers have every row once."""
    pipeline = made(spark, tmp_path / "p", "distinct", "file", FORMAT_2)
    damage.without("commits/3")(pipeline.checkpoint)
    for _ in range(2):
        said = judge(Checkpoint.open(str(pipeline.checkpoint)), connectors=sink_of(pipeline)).forecast
        assert (said.outcome, said.fails_at, said.reason) == ("fail", "batch", "SKIPPED_BATCH_NEEDS_STATE")
        assert said.error is not None and "CheckpointInfo length: 0, numPartitions: " in said.error.message
        with pytest.raises(StreamingQueryException, match=re.escape(said.error.message)):
            pipeline.run()
    alone = judge(Checkpoint.open(str(pipeline.checkpoint))).forecast
    assert alone.outcome == "rerun" and any("already has batch 3" in item for item in alone.not_checked)
    log = pipeline.output / "_spark_metadata"
    for name in ("3", ".3.crc"):
        (log / name).rename(tmp_path / name)
    assert (
        judge(Checkpoint.open(str(pipeline.checkpoint)), connectors=sink_of(pipeline)).forecast.outcome
        == "rerun"
    )
    put_files(pipeline.source, range(FILES, MORE))
    pipeline.run()
    assert rows(pipeline, "distinct") == TRUTH["distinct"](MORE)


def sink_of(pipeline: RepairPipeline) -> ConnectorAnswers:
    return ConnectorAnswers(sink=FileSinkLog.open(str(pipeline.output)))


NOT_REPAIRED: dict[str, tuple[Damage, str]] = {
    "the newest offset is committed": (damage.holding("offsets/3", ""), "rewind"),
    "the offset before a planned batch is gone": (
        damage.both(damage.without("commits/3"), damage.without("offsets/2")), "restore_backup",
    ),
    "a source log entry is gone": (damage.without("sources/0/1"), "restore_backup"),
    "nothing is wrong": (damage.nothing, "No file"),
}  # fmt: skip


@pytest.mark.parametrize("kind", NOT_REPAIRED)
def test_what_is_not_exact_is_refused_with_the_option_that_remains(
    kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    harm, words = NOT_REPAIRED[kind]
    pipeline = made(spark, tmp_path / "p", "plain", "append")
    harm(pipeline.checkpoint)
    option = option_of(pipeline, sink="foreach_append")
    assert not option.possible and words in option.why, option.why


def test_a_damaged_snapshot_is_left_out_where_spark_does_not_repair_it(
    oracle: Oracle, spark: SparkSession, tmp_path: Path
) -> None:
    base = oracle.base_of(RECIPES["snapshots"])
    copy = oracle.copy(base)
    damage.newest_snapshot("snapshot", damage.halve)(copy)
    ck = Checkpoint.open(str(copy))
    answers = Answers({"sink": "foreach_merge", "what_happened": "damaged", "platform": "pyspark"})
    context = read_recovery_context(ck, answers, restart=forecast(ck, "4.1"))
    script = tmp_path / "repair.py"
    script.write_text(generate(context, "repair_files")[0].text, encoding="utf-8")
    done = run_in_session(script, spark)
    assert done.status == 0, done.output
    assert done.output.count(".snapshot is left out") == 2

    without_repair = {
        **base.recipe.conf,
        "spark.sql.streaming.stateStore.autoSnapshotRepair.enabled": "false",
    }
    new = Path(f"{copy}.repaired-after-batch-{damage.newest(copy)}")
    assert oracle.restart(base, copy, conf=without_repair).causes
    fact = oracle.restart(base, new, conf=without_repair)
    assert not fact.causes and fact.delivered == base.undisturbed


MAINTENANCE = "spark.sql.streaming.stateStore.maintenanceInterval"
SNAPSHOT_AFTER = "spark.sql.streaming.stateStore.minDeltasForSnapshot"
KEPT, LAST = 2, 6  # batches 0 and 1 stay; version 6 is that of the last batch of both time lines

# The newest version is the only one with a snapshot: (confs, how many changes it takes, name)
STORES: dict[str, tuple[dict[str, str], str, str]] = {
    "HDFS": ({}, "5", "6.snapshot"),
    "RocksDB with changelogs": (CHANGELOG, "6", "6.zip"),
}


def rolled_back_by_hand(checkpoint: Path) -> None:
    """The logs end at batch 1 again; the state of the later batches stays, an hour old."""
    for log in ("offsets", "commits", "sources/0"):
        for path in [*(checkpoint / log).iterdir()]:
            if int(path.name.strip(".").partition(".")[0]) >= KEPT:
                path.unlink()
    for path in checkpoint.glob("state/**/*"):
        version = path.name.partition(".")[0]
        if version.isdecimal() and int(version) > KEPT:
            then = path.stat().st_mtime - 3600
            os.utime(path, (then, then))


@pytest.mark.parametrize("store", STORES)
def test_a_snapshot_of_an_abandoned_time_line_is_left_out_and_the_rows_are_right(
    store: str, spark: SparkSession, oracle: Oracle, tmp_path: Path
) -> None:
    confs, changes, name = STORES[store]
    place = tmp_path / "p"
    pipeline = RepairPipeline(spark, place, totals, "merge", mode="update", key="key", confs=confs)
    put_files(pipeline.source, range(KEPT))
    put_files(pipeline.source, range(KEPT, LAST), rows=20)  # wrong rows, for which it is rolled back
    pipeline.confs = {**confs, MAINTENANCE: "50ms", SNAPSHOT_AFTER: changes}
    oracle.stop_maintenance()
    state = pipeline.checkpoint / "state/0"
    pipeline.run(until=lambda: all((state / part / name).exists() for part in "01"))
    oracle.stop_maintenance()
    rolled_back_by_hand(pipeline.checkpoint)
    put_files(pipeline.source, range(KEPT, LAST))
    pipeline.confs = {**confs, MAINTENANCE: "1h", SNAPSHOT_AFTER: "100"}
    pipeline.run()
    assert rows(pipeline, "totals") == TRUTH["totals"](LAST)

    judgement = judge(Checkpoint.open(str(pipeline.checkpoint)))
    assert judgement.forecast.outcome == "resume"
    assert [risk.id for risk in judgement.forecast.risks] == ["STALE_SNAPSHOT"]
    first = options(judgement.recovery(Answers({"sink": "foreach_merge"})))[0]
    assert (first.id, first.recommended) == ("repair_files", True), first

    script = pipeline.script("repair_files")
    before = fingerprint(pipeline.checkpoint)
    done = run_in_session(script, spark)
    assert done.status == 0 and done.output.count(f"{name} is left out") == 2, done.output
    assert fingerprint(pipeline.checkpoint) == before, "the old checkpoint was changed"
    new = next(place.glob("checkpoint.repaired-after-batch-*[0-9]"))
    left_out = sorted(str(path.relative_to(pipeline.checkpoint)) for path in state.glob(f"*/{name}"))
    assert left_out == [f"state/0/0/{name}", f"state/0/1/{name}"]
    assert not [*new.glob(f"state/0/*/{name}")]

    put_files(pipeline.source, range(LAST, LAST + 2))
    output = pipeline.output / "rows.json"
    then = output.read_bytes()
    shutil.copytree(pipeline.checkpoint, place / "plain")
    pipeline.run(place / "plain")
    assert rows(pipeline, "totals") != TRUTH["totals"](LAST + 2), "the plain restart gave the truth"
    output.write_bytes(then)
    pipeline.run(new)
    assert rows(pipeline, "totals") == TRUTH["totals"](LAST + 2)
    oracle.stop_maintenance()
