"""The options backup and restore_backup, run unmodified while a query really runs; the query resumes with the
restored copy, and its totals are compared with the truth."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.cases import LONG
from tests.support import damage
from tests.support.oracle import CHANGELOG, RECIPES, ROCKSDB, Oracle
from tests.support.recovery import fingerprint, killed_at, put_files, run_in_session, script_for
from tests.support.repairs import RepairPipeline
from tests.support.script_processes import run_script

pytestmark = pytest.mark.spark

KEYS = 7
QUICK = {
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class Busy:
    """Totals over a source that always has data: batch after batch, as fast as Spark runs them."""

    def __init__(self, spark: SparkSession, place: Path, confs: Mapping[str, str]) -> None:
        self.spark, self.place, self.confs = spark, place, {**QUICK, **confs}
        self.checkpoint = place / "checkpoint"
        self.sink: dict[int, int] = {}
        place.mkdir()

    def frame(self) -> DataFrame:
        source = self.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 20)
        return source.load().selectExpr(f"value % {KEYS} as key").groupBy("key").count()

    @contextmanager
    def _settings(self) -> Iterator[None]:
        before = {name: self.spark.conf.get(name, None) for name in self.confs}
        for name, value in self.confs.items():
            self.spark.conf.set(name, value)
        try:
            yield
        finally:
            for name, old in before.items():
                self.spark.conf.unset(name) if old is None else self.spark.conf.set(name, old)

    @contextmanager
    def running(self, every: str = "0 seconds") -> Iterator[None]:
        """The query runs meanwhile, and has committed some batches."""
        with self._settings():
            writer = self.frame().writeStream.format("noop").outputMode("update")
            writer = writer.option("checkpointLocation", str(self.checkpoint)).trigger(processingTime=every)
            query = writer.start()
            try:
                deadline = time.monotonic() + 120
                while self.committed(self.checkpoint) < 4 and time.monotonic() < deadline:
                    assert query.exception() is None
                    time.sleep(0.05)
                yield
            finally:
                query.stop()

    def committed(self, checkpoint: Path) -> int:
        """The newest committed batch, -1 for none."""
        names = [path.name for path in (checkpoint / "commits").glob("[0-9]*")]
        return max(map(int, names), default=-1)

    def resume(self, checkpoint: Path) -> None:
        """Runs what is planned and one new batch, into a sink that keeps the newest total of each key."""

        def merge(frame: DataFrame, batch_id: int) -> None:
            self.sink.update({row["key"]: row["count"] for row in frame.collect()})

        with self._settings():
            writer = self.frame().writeStream.foreachBatch(merge).outputMode("update")
            writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
            writer.start().awaitTermination()

    def truth(self, checkpoint: Path) -> dict[int, int]:
        """The totals of everything that was read up to the newest commit."""
        text = (checkpoint / "offsets" / str(self.committed(checkpoint))).read_text(encoding="utf-8")
        read = json.loads(text.splitlines()[2])["offset"]
        return {key: len(range(key, read, KEYS)) for key in range(KEYS)}


STORES = {"HDFS": {}, "RocksDB": ROCKSDB, "RocksDB with changelogs": CHANGELOG}


@pytest.mark.parametrize("store", STORES)
def test_a_backup_of_a_running_query_is_restored_and_resumes_exactly(
    store: str, spark: SparkSession, tmp_path: Path
) -> None:
    busy = Busy(spark, tmp_path / "p", STORES[store])
    answers = {"sink": "foreach_merge", "backup_to": str(busy.place / "kept")}
    with busy.running():
        script = script_for(busy.checkpoint, "backup", answers, busy.place)
        before = busy.committed(busy.checkpoint)
        done = run_in_session(script, spark, is_stopped=False)
        assert done.status == 0, done.output
        while busy.committed(busy.checkpoint) < before + 2:
            time.sleep(0.05)
    kept = busy.place / "kept"
    assert busy.committed(kept) < busy.committed(busy.checkpoint)
    again = run_in_session(script, spark, is_stopped=False)
    assert again.status == 0 and "verified again" in again.output, again.output

    restore = script_for(busy.checkpoint, "restore_backup", answers, busy.place)
    old = fingerprint(busy.checkpoint, kept)
    dry = run_in_session(restore, spark, execute=False)
    assert dry.status == 0, dry.output
    new = Path(f"{busy.checkpoint}.restored")
    assert not new.exists()
    for _ in range(2):
        done = run_in_session(restore, spark)
        assert done.status == 0, done.output
    busy.resume(new)
    assert busy.committed(new) > busy.committed(kept)
    assert busy.sink == busy.truth(new)
    late = run_in_session(restore, spark)
    assert late.status == 4 and "has run with it since" in late.output, late.output
    assert fingerprint(busy.checkpoint, kept) == old


@LONG
def test_as_a_user_runs_them_killed_in_the_middle_and_again(spark: SparkSession, tmp_path: Path) -> None:
    busy = Busy(spark, tmp_path / "p", {})
    answers = {"sink": "foreach_merge", "backup_to": str(busy.place / "kept")}
    kept, new = busy.place / "kept", Path(f"{busy.checkpoint}.restored")
    with busy.running("2 seconds"):
        backup = script_for(busy.checkpoint, "backup", answers, busy.place)
        dying = killed_at(backup, "files.rename(partial, self.place)")
        assert run_script(dying, "--execute").status == -9
        assert not kept.exists()
        done = run_script(backup, "--execute")
        assert done.status == 0, done.output
    restore = script_for(busy.checkpoint, "restore_backup", answers, busy.place)
    dying = killed_at(restore, "files.rename(building, run.new_checkpoint)")
    assert run_script(dying, "--execute").status == -9
    assert not new.exists()
    done = run_script(restore, "--execute")
    assert done.status == 0, done.output
    busy.resume(new)
    assert busy.sink == busy.truth(new)


def plain(frame: DataFrame) -> DataFrame:
    return frame.select("id", "key")


def backed_up(spark: SparkSession, place: Path) -> tuple[RepairPipeline, dict[str, str]]:
    """Three batches in a file sink, and their backup."""
    pipeline = RepairPipeline(spark, place, plain, "file")
    put_files(pipeline.source, range(3))
    pipeline.run()
    answers = {"backup_to": str(place / "kept")}
    done = run_in_session(pipeline.script("backup", **answers), spark, is_stopped=False)
    assert done.status == 0, done.output
    return pipeline, answers


def test_a_sink_that_is_ahead_of_the_backup_is_refused_because_it_would_skip_new_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline, answers = backed_up(spark, tmp_path / "p")
    script = pipeline.script("restore_backup", **answers)
    assert run_in_session(script, spark, execute=False).status == 0
    put_files(pipeline.source, [3])
    pipeline.run()
    before = fingerprint(pipeline.place)
    for execute in (False, True):
        done = run_in_session(script, spark, execute=execute)
        assert (done.status, "would skip the batches up to 3" in done.output) == (4, True), done.output
    assert fingerprint(pipeline.place) == before


def test_a_file_sink_that_ends_with_the_backup_gets_every_row_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline, answers = backed_up(spark, tmp_path / "p")
    done = run_in_session(pipeline.script("restore_backup", **answers), spark)
    assert done.status == 0, done.output
    put_files(pipeline.source, [3, 4])
    pipeline.run(Path(f"{pipeline.checkpoint}.restored"))
    assert sorted(row["id"] for row in pipeline.rows()) == list(range(50))  # type: ignore[type-var]


def test_input_that_is_gone_since_the_backup_is_named_and_nothing_is_proven(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", plain, "merge", mode="append")
    put_files(pipeline.source, range(3))
    pipeline.run()
    answers = {"backup_to": str(tmp_path / "kept")}
    assert run_in_session(pipeline.script("backup", **answers), spark, is_stopped=False).status == 0
    put_files(pipeline.source, [3, 4])
    pipeline.run()
    script = pipeline.script("restore_backup", **answers)
    assert run_in_session(script, spark, execute=False).status == 0
    (pipeline.source / "part 003.json").unlink()
    done = run_in_session(script, spark)
    assert done.status == 5 and "1 of 2 files that are read again are gone" in done.output, done.output
    pipeline.output.rename(tmp_path / "old output")
    pipeline.run(Path(f"{pipeline.checkpoint}.restored"))
    assert {row["id"] for row in pipeline.rows()} == set(range(40, 50))


def test_a_write_batch_that_skips_txn_versions_gets_no_older_backup(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", plain, "append")
    put_files(pipeline.source, range(3))
    pipeline.run()
    answers = {"backup_to": str(tmp_path / "kept")}
    assert run_in_session(pipeline.script("backup", **answers), spark, is_stopped=False).status == 0
    asked = {"sink": "foreach_txn", **answers}
    script = script_for(pipeline.checkpoint, "restore_backup", asked, pipeline.place)
    assert run_in_session(script, spark, execute=False).status == 0  # no batch has run since
    put_files(pipeline.source, [3, 4])
    pipeline.run()
    before = fingerprint(pipeline.place)
    for execute in (False, True):
        refused = run_in_session(script, spark, execute=execute)
        assert refused.status == 4 and "new rows included" in refused.output, refused.output
    assert fingerprint(pipeline.place) == before


def test_a_backup_that_was_changed_is_neither_proven_nor_restored(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline, answers = backed_up(spark, tmp_path / "p")
    damage.changed("kept/offsets/1", lambda text: text.replace("logOffset", "LogOffset"))(pipeline.place)
    again = run_in_session(pipeline.script("backup", **answers), spark, is_stopped=False)
    assert again.status == 3 and "offsets/1" in again.output, again.output
    done = run_in_session(pipeline.script("restore_backup", **answers), spark)
    assert done.status == 4 and "differ from the manifest" in done.output, done.output
    assert not Path(f"{pipeline.checkpoint}.restored").exists()


def test_a_damaged_checkpoint_gives_no_backup(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", plain, "file")
    put_files(pipeline.source, range(3))
    pipeline.run()
    damage.without("offsets/1")(pipeline.checkpoint)
    done = run_in_session(pipeline.script("backup", backup_to=str(tmp_path / "kept")), spark)
    assert done.status == 4 and "offsets/1 cannot be read" in done.output, done.output
    assert not (tmp_path / "kept").exists()


def test_whole_paths_of_schema_files_are_rewritten_by_the_restore(oracle: Oracle, tmp_path: Path) -> None:
    base = oracle.base_of(RECIPES["transform"])
    copy = oracle.copy(base)
    damage.at_home(copy)
    answers = {
        "sink": "foreach_merge",
        "backup_to": str(tmp_path / "kept"),
        "checkpoint_new": str(tmp_path / "new"),
    }
    done = run_in_session(script_for(copy, "backup", answers, tmp_path), oracle.session, is_stopped=False)
    assert done.status == 0 and "by their whole path" in done.output, done.output
    restore = script_for(copy, "restore_backup", answers, tmp_path)
    away = copy.rename(copy.with_name("away"))
    copy.mkdir()  # what the script was made from is gone
    done = run_in_session(restore, oracle.session)
    assert done.status == 0, done.output
    fact = oracle.restart(base, tmp_path / "new")
    assert not fact.causes and fact.delivered == base.undisturbed
    assert away.exists()
