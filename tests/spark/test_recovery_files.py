"""The generated code for file pipelines, run unmodified on Spark; the sink is looked at row by row."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from core.checkpoint import Checkpoint
from core.connectors import ConnectorSettings
from core.connectors.connect import ask_connectors
from core.recovery import Answers, OptionId, generate, read_recovery_context
from core.recovery.options import options
from core.recovery.recipe import recipe
from core.storage import parse_location
from tests.spark.cases import EVERY_CASE, LONG
from tests.support.recovery import (
    PLANNED,
    SCHEMA,
    fingerprint,
    put_files,
    repeated,
    run_in_session,
    script_for,
    start_script,
)
from tests.support.script_processes import run_script

pytestmark = pytest.mark.spark

PLAIN = "def transform(df):\n    return df.select('id', 'key')\n"
DISTINCT = "def transform(df):\n    return df.dropDuplicates(['key']).select('id', 'key')\n"
WINDOWS = """
from pyspark.sql import functions as F

def transform(df):
    counted = df.withWatermark("at", "1 minute").groupBy(F.window("at", "1 minute")).agg(F.count("*").alias("n"))
    return counted.select(F.col("window.end").alias("end"), "n")
"""


class Pipeline:
    """A file source and a file sink below one directory, driven by the shared session until the checkpoint
    has its story."""

    def __init__(self, spark: SparkSession, place: Path, query: str, partition_by: str | None = None) -> None:
        self.spark, self.place, self.partition_by = spark, place, partition_by
        place.mkdir(parents=True)
        self.source, self.output, self.checkpoint = place / "in put", place / "output", place / "checkpoint"
        self.query = place / "query.py"
        self.query.write_text(query, encoding="utf-8")

    def transform(self) -> Callable[[DataFrame], DataFrame]:
        names: dict[str, Callable[[DataFrame], DataFrame]] = {}
        exec(self.query.read_text(encoding="utf-8"), names)
        return names["transform"]

    def run(self, checkpoint: Path | None = None, output: Path | None = None) -> None:
        """Reads everything that is there, one file a batch."""
        reader = self.spark.readStream.format("json").schema(SCHEMA).option("maxFilesPerTrigger", 1)
        writer = self.transform()(reader.load(str(self.source))).writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(checkpoint or self.checkpoint)).trigger(
            availableNow=True
        )
        if self.partition_by is not None:
            writer = writer.partitionBy(self.partition_by)
        writer.start(str(output or self.output)).awaitTermination()

    def forget_last_commit(self) -> None:
        """What a crash leaves that comes after the sink's own commit and before Spark's."""
        commits = self.checkpoint / "commits"
        newest = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        (commits / str(newest)).unlink()
        (commits / f".{newest}.crc").unlink()

    def answers(self, **more: str) -> dict[str, str]:
        return {
            "sink": "file",
            "sink_path": str(self.output),
            "sink_format": "parquet",
            "query_file": str(self.query),
            "source_complete": "yes",
            "source.0.schema": SCHEMA,
            "source.0.option.maxFilesPerTrigger": "1",
            **more,
        }

    def script(self, option: OptionId, **more: str) -> Path:
        return script_for(self.checkpoint, option, self.answers(**more), self.place)

    def rows(self, *outputs: Path) -> list[tuple[object, ...]]:
        found = []
        for output in outputs or (self.output,):
            found += [tuple(row) for row in self.spark.read.parquet(str(output)).collect()]
        return sorted(found, key=str) if any(None in row for row in found) else sorted(found)

    def ids(self, *outputs: Path) -> list[object]:
        return [row[0] for row in self.rows(*outputs)]


@pytest.fixture
def plain(spark: SparkSession, tmp_path: Path) -> Pipeline:
    """Stateless. Batches 0 to 3 are in the output; batch 3 has no commit, as after a crash between the two;
    two files wait."""
    pipeline = Pipeline(spark, tmp_path / "plain", PLAIN)
    put_files(pipeline.source, range(4))
    pipeline.run()
    pipeline.forget_last_commit()
    put_files(pipeline.source, range(4, 6))
    return pipeline


@pytest.mark.parametrize("text", ["v1", "", "v2\n{}"])
def test_an_entry_of_the_planned_batch_that_names_no_file_is_refused(plain: Pipeline, text: str) -> None:
    """Spark skips the batch, so that its rows are lost; a reset had carried it over and was "proven"."""
    entry = plain.output / "_spark_metadata" / "3"
    changed = entry.stat().st_mtime
    entry.write_text(text)
    os.utime(entry, (changed, changed))
    entry.with_name(".3.crc").unlink()
    script = plain.script("reset")
    before = fingerprint(plain.place)
    for execute in (False, True):
        done = run_in_session(script, plain.spark, execute=execute)
        assert done.status == 4 and "3, of batch 3 without a commit, names no file" in done.output, (
            done.output
        )
    assert fingerprint(plain.place) == before


# ---------------------------------------------------------------- as a user runs it: a script, a process, an
# exit status


def test_reset_of_a_stateless_file_pipeline_writes_every_row_once_and_can_be_run_again(
    plain: Pipeline,
) -> None:
    script = plain.script("reset")
    before = fingerprint(plain.place)
    dry = run_in_session(script, plain.spark, execute=False)
    assert dry.status == 0, dry.output
    assert fingerprint(plain.place) == before, "the dry run wrote"

    done = start_script(script, "--execute", "--query-is-stopped")
    assert done.status == 0, done.output
    assert plain.ids() == list(range(60))
    assert "none of the 3 old ones again" in done.output

    put_files(plain.source, [6])
    again = run_in_session(script, plain.spark)
    assert again.status == 0, again.output
    assert plain.ids() == list(range(70))
    kept = {path: value for path, value in before.items() if path.startswith(f"{plain.checkpoint}/")}
    assert fingerprint(plain.checkpoint) == kept, "the old checkpoint was changed"


def test_full_refresh_of_a_stateless_file_pipeline_writes_every_row_once_and_keeps_the_old_output(
    plain: Pipeline,
) -> None:
    old = plain.ids()
    script, before = plain.script("full_refresh"), fingerprint(plain.place)
    if os.environ.get(EVERY_CASE):
        tried = run_script(script, "--rehearse")
        assert tried.status == 0 and "This was a rehearsal: nothing has changed in" in tried.output, (
            tried.output
        )
        assert fingerprint(plain.place) == before
        made = tried.output.split("Rehearsal in ")[1].split(".\n")[0]
        assert made.startswith(tempfile.gettempdir()) and not Path(made).exists()

    done = run_in_session(script, plain.spark)
    assert done.status == 0, done.output
    assert plain.ids() == list(range(60))
    aside = Path(f"{plain.output}.before-refresh-batch-2")
    assert plain.ids(*aside.glob("*.parquet")) == old
    assert not plain.checkpoint.exists()
    assert "the output has 60 rows; a batch query over all input gives 60" in done.output


@pytest.fixture
def distinct(spark: SparkSession, tmp_path: Path) -> Pipeline:
    """Deduplication by a key of 15 values; two files were read (all 15 keys), the next ones hold nothing but
    duplicates and 5 new keys."""
    pipeline = Pipeline(spark, tmp_path / "distinct", DISTINCT)
    put_files(pipeline.source, range(2))
    pipeline.run()
    put_files(pipeline.source, [2])
    (pipeline.source / "late.json").write_text(
        "".join(json.dumps({"id": 900 + i, "key": 900 + i}) + "\n" for i in range(5)), encoding="utf-8"
    )
    return pipeline


def test_reset_of_a_stateful_file_pipeline_builds_the_state_again_and_repeats_nothing(
    distinct: Pipeline,
) -> None:
    before = distinct.rows()
    assert sorted(row[1] for row in before) == list(range(15))
    done = run_in_session(distinct.script("reset"), distinct.spark)
    assert done.status == 0, done.output
    new = Path(f"{distinct.output}.after-batch-1")
    assert distinct.rows() == before
    assert distinct.rows(new) == [(900 + i, 900 + i) for i in range(5)]
    assert "the output has 20 rows; a batch query over all input gives 20" in done.output


@pytest.mark.parametrize(("is_overwritten", "status"), [(True, 3), (False, 5)])
def test_a_reset_whose_input_was_changed_after_it_was_read_is_not_proven(
    distinct: Pipeline, is_overwritten: bool, status: int
) -> None:
    """The state is rebuilt from what the files hold now. Where the rows differ, keys that the file had come a
    second time, which the count finds; where only the time differs, nothing can tell."""
    first = distinct.source / "part 000.json"
    if is_overwritten:
        rows = [json.loads(line) for line in first.read_text(encoding="utf-8").splitlines()]
        first.write_text("".join(json.dumps({**row, "key": 0}) + "\n" for row in rows), encoding="utf-8")
    os.utime(first, (first.stat().st_mtime + 60,) * 2)
    script = distinct.script("reset")
    said = "NOT CHECKED: source 0: whether 1 of 2 files that are read again have the rows that they had"
    dry = run_in_session(script, distinct.spark, execute=False)
    assert said in dry.output, dry.output
    done = run_in_session(script, distinct.spark)
    assert done.status == status and said in done.output, done.output


def test_full_refresh_of_a_stateful_file_pipeline_writes_each_key_once(distinct: Pipeline) -> None:
    done = run_in_session(distinct.script("full_refresh"), distinct.spark)
    assert done.status == 0, done.output
    assert sorted(row[1] for row in distinct.rows()) == [*range(15), *range(900, 905)]


# ---------------------------------------------------------------- refusals: exit status 4, nothing changed


TIMEOUTS = """
import pandas as pd
from pyspark.sql.streaming.state import GroupStateTimeout


def transform(df):
    def count(key, frames, state):
        if state.hasTimedOut:
            state.remove()
            return
        rows = sum(len(frame) for frame in frames)
        state.update((rows,))
        state.setTimeoutDuration(1)
        yield pd.DataFrame({"key": [str(key[0])], "rows": [rows]})

    shapes = ("key string, rows long", "rows long", "append")
    return df.groupBy("key").applyInPandasWithState(count, *shapes, GroupStateTimeout.ProcessingTimeTimeout)
"""


def test_a_query_that_waits_for_the_clock_is_refreshed_to_its_end(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its batches without data have no end: the script had renamed everything and ran for ever."""
    name = "spark.sql.streaming.noDataMicroBatches.enabled"
    pipeline = Pipeline(spark, tmp_path / "timeouts", TIMEOUTS)
    put_files(pipeline.source, range(2))
    spark.conf.set(name, "false")
    try:
        pipeline.run()
    finally:
        spark.conf.unset(name)
    script = pipeline.script("full_refresh", what_happened="reprocess", output_mode="append")
    done = run_in_session(script, spark)
    assert done.status in (0, 5) and "Batches without data would run without end" in done.output, done.output
    assert sum(int(str(row[1])) for row in pipeline.rows()) == 20
    assert spark.conf.get(name) == "true"


def test_a_script_without_the_needed_values_refuses_and_starts_nothing(plain: Pipeline) -> None:
    script = script_for(plain.checkpoint, "reset", {"sink": "file"}, plain.place)
    done = run_script(script, "--execute", "--query-is-stopped")
    assert done.status == 4
    assert {line.split(":")[0].strip() for line in done.output.split("Refused")[1].splitlines()[1:]} == {
        "QUERY_FILE",
        "SINK_PATH",
        "SINK_FORMAT",
        "SOURCE_0_SCHEMA",
    }


def test_a_script_refuses_when_the_query_ran_on_after_the_plan_was_made(plain: Pipeline) -> None:
    script = plain.script("reset")
    plain.run()
    before = fingerprint(plain.place)
    done = run_in_session(script, plain.spark)
    assert done.status == 4
    assert "the plan was made for 2: the query has run since" in done.output
    assert fingerprint(plain.place) == before


def test_reset_refuses_an_output_that_is_ahead_of_the_checkpoint(plain: Pipeline) -> None:
    other = plain.place / "other"
    put_files(plain.source, range(6, 9))
    plain.run(checkpoint=other, output=plain.place / "ahead")
    done = run_in_session(plain.script("reset", sink_path=str(plain.place / "ahead")), plain.spark)
    assert done.status == 4
    assert (
        "already has batches up to 8, but the new checkpoint starts with batch 3: new rows would be skipped"
        in done.output
    )


@pytest.mark.parametrize("keeps_times", [True, False])
def test_full_refresh_of_an_output_that_is_ahead_of_a_restored_checkpoint(
    plain: Pipeline, keeps_times: bool
) -> None:
    """The times of the batches that both have tell whose output it is; a copy that lost them does not."""
    backup = plain.place / "backup"
    shutil.copytree(plain.checkpoint, backup, copy_function=shutil.copy2 if keeps_times else shutil.copyfile)
    plain.run()
    shutil.rmtree(plain.checkpoint)
    backup.rename(plain.checkpoint)
    assert plain.ids() == list(range(60))
    put_files(plain.source, [6])
    script = plain.script("full_refresh")
    done = run_in_session(script, plain.spark)
    if not keeps_times:
        assert done.status == 4 and "or one of the two is a copy" in done.output
        done = run_in_session(script, plain.spark, SINK_IS_OURS=True)
    else:
        assert "batches of this query up to 5, the checkpoint ends at 3" in done.output
    assert done.status == 0, done.output
    assert plain.ids() == list(range(70))


def test_full_refresh_refuses_the_longer_output_of_another_query(plain: Pipeline) -> None:
    put_files(plain.source, range(6, 9))
    plain.run(checkpoint=plain.place / "other", output=plain.place / "ahead")
    script = plain.script("full_refresh", sink_path=str(plain.place / "ahead"))
    before = fingerprint(plain.place)
    done = run_in_session(script, plain.spark)
    assert done.status == 4 and "another query's output" in done.output
    assert fingerprint(plain.place) == before


def test_full_refresh_refuses_when_files_are_gone_and_says_how_many(plain: Pipeline) -> None:
    script = plain.script("full_refresh")
    (plain.source / "part 001.json").unlink()
    with pytest.raises(AssertionError):  # a plan that is made now offers none
        plain.script("full_refresh")
    done = run_in_session(script, plain.spark)
    assert done.status == 4
    assert "1 of 3 files that were read are gone" in done.output
    assert plain.checkpoint.exists() and plain.ids() == list(range(40))

    accepted = run_in_session(script, plain.spark, ACCEPT_LOSS=True)
    assert accepted.status == 0, accepted.output
    assert plain.ids() == [i for i in range(60) if not 10 <= i < 20]


def test_a_new_checkpoint_place_that_holds_something_else_is_refused(plain: Pipeline) -> None:
    taken = plain.place / "taken"
    taken.mkdir()
    done = run_in_session(plain.script("reset", checkpoint_new=str(taken)), plain.spark)
    assert done.status == 4
    assert "exists and was not made by this script" in done.output


def test_a_cut_source_log_is_refused_rather_than_guessed(plain: Pipeline) -> None:
    script = plain.script("reset")
    (plain.checkpoint / "sources" / "0" / "1").unlink()
    done = run_in_session(script, plain.spark)
    assert done.status == 4
    assert "lacks the entries [1]" in done.output
    assert not Path(f"{plain.checkpoint}.reset-after-batch-2").exists()


# ---------------------------------------------------------------- a sink that is not this query's, or no
# longer fits: exit status 4, nothing changed


def assert_untouched(pipeline: Pipeline, script: Path, words: str) -> None:
    before = fingerprint(pipeline.place)
    for execute in (False, True):
        done = run_in_session(script, pipeline.spark, execute=execute)
        assert (done.status, words in done.output) == (4, True), done.output
    assert fingerprint(pipeline.place) == before


def test_another_querys_output_is_refused_though_its_log_ends_at_the_same_batch(plain: Pipeline) -> None:
    other = plain.place / "foreign"
    for number in (4, 5):
        (plain.source / f"part {number:03d}.json").unlink()
    plain.run(checkpoint=plain.place / "its checkpoint", output=other)
    put_files(plain.source, range(4, 6))
    for option in ("reset", "full_refresh"):
        script = plain.script(option, sink_path=str(other))
        assert_untouched(plain, script, "it is another query's output")


def test_an_output_that_was_restored_from_a_backup_is_refused(plain: Pipeline) -> None:
    for name in ("2", "3"):
        for path in plain.output.glob(f"_spark_metadata/*{name}*"):
            path.unlink()
    for option in ("reset", "full_refresh"):
        assert_untouched(plain, plain.script(option), "ends at batch 1, the checkpoint at 3")


def test_a_mistyped_output_is_refused(plain: Pipeline) -> None:
    for option in ("reset", "full_refresh"):
        script = plain.script(option, sink_path=str(plain.place / "outputt"))
        assert_untouched(plain, script, "has no _spark_metadata")


@pytest.mark.parametrize("query", ["plain", "distinct"])
def test_files_that_were_moved_with_their_source_are_not_read_again(
    query: str, request: pytest.FixtureRequest
) -> None:
    """Spark knows a file by its whole path: the old rows would come a second time (50 of 50 when the script
    let it pass and called it proven)."""
    pipeline: Pipeline = request.getfixturevalue(query)
    moved = pipeline.place / "archive" / "in put"
    moved.parent.mkdir()
    pipeline.source.rename(moved)
    answers = {"what_happened": "source_changed", "source.0.path": str(moved)}
    if query == "distinct":
        answers["stateful"] = "unchanged"
    words = f"none of the {3 if query == 'plain' else 2} files that were read was there"
    assert_untouched(pipeline, pipeline.script("reset", **answers), words)


def test_moved_files_that_are_known_by_their_names_count_as_read(spark: SparkSession, tmp_path: Path) -> None:
    """The option fileNameOnly: it was refused, and with FILES_ARE_NEW the right rows failed the verification."""
    pipeline = Pipeline(spark, tmp_path / "by name", PLAIN)
    put_files(pipeline.source, range(2))
    pipeline.run()
    moved = pipeline.place / "archive" / "in put"
    moved.parent.mkdir()
    pipeline.source.rename(moved)
    put_files(moved, range(2, 4))
    answers = {"what_happened": "source_changed", "source.0.path": str(moved)}
    by_name = pipeline.script("reset", **answers, **{"source.0.option.fileNameOnly": "true"})
    done = run_in_session(by_name, spark)
    assert done.status == 5, done.output
    assert "none of the 2 old ones again" in done.output
    assert "NOT CHECKED: source 0: that a file at" in done.output, "another one may have its name"
    assert pipeline.ids() == list(range(40))


def test_a_source_that_goes_on_at_a_place_with_new_files_only_continues_there(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = Pipeline(spark, tmp_path / "goes on", PLAIN)
    put_files(pipeline.source, range(2))
    pipeline.run()
    there = pipeline.place / "2026"
    put_files(there, range(2, 4))
    script = pipeline.script("reset", **{"what_happened": "source_changed", "source.0.path": str(there)})
    assert run_in_session(script, spark).status == 4
    done = run_in_session(script, spark, FILES_ARE_NEW=True)
    assert done.status == 5, done.output
    assert "NOT CHECKED: source 0: that no file at" in done.output, "the user said so, nothing proves it"
    assert pipeline.ids() == list(range(40))


def test_a_checkpoint_inside_the_output_is_not_renamed_with_it(plain: Pipeline) -> None:
    inside = plain.output / "_checkpoint"
    shutil.copytree(plain.checkpoint, inside)
    answers = Answers({"platform": "pyspark", **plain.answers()})
    assert not generate(read_recovery_context(Checkpoint.open(str(inside)), answers), "full_refresh")
    script = plain.script("full_refresh")  # and when somebody writes that place into the script
    text = script.read_text(encoding="utf-8").replace(str(plain.checkpoint), str(inside))
    script.write_text(text, encoding="utf-8")
    assert_untouched(plain, script, "lies inside the output")


def test_a_transform_that_does_not_fit_the_source_is_found_before_anything_is_changed(
    plain: Pipeline,
) -> None:
    plain.query.write_text("def transform(df):\n    return df.select('nothing')\n", encoding="utf-8")
    assert_untouched(plain, plain.script("reset"), "transform in")


def test_a_query_that_may_still_run_is_refused(plain: Pipeline) -> None:
    script = plain.script("reset")
    before = fingerprint(plain.place)
    done = run_in_session(script, plain.spark, is_stopped=False)
    assert done.status == 4 and "add --query-is-stopped" in done.output, done.output
    assert fingerprint(plain.place) == before


def test_a_place_that_cannot_be_written_gives_one_sentence_and_what_was_changed(plain: Pipeline) -> None:
    taken = plain.place / "a file"
    taken.write_text("x", encoding="utf-8")
    done = run_in_session(plain.script("reset", checkpoint_new=str(taken / "ck")), plain.spark)
    assert done.status == 1, done.output
    assert "Stopped: " in done.output and "is a new copy of the checkpoint; undo: remove it" in done.output
    assert "Traceback" not in done.output


def test_the_dry_run_counts_the_rows_that_it_expects(plain: Pipeline) -> None:
    script = plain.script("reset")
    before = fingerprint(plain.place)
    done = run_in_session(script, plain.spark, execute=False)
    assert done.status == 0, done.output
    assert "Source 0: 2 files are new to the sink" in done.output
    assert "Rows expected from them: 20" in done.output
    assert fingerprint(plain.place) == before


def test_a_partitioned_output_stays_partitioned(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, tmp_path / "partitioned", PLAIN, partition_by="key")
    put_files(pipeline.source, range(3))
    pipeline.run()
    put_files(pipeline.source, [3])
    done = run_in_session(pipeline.script("reset"), spark)
    assert done.status == 0, done.output
    assert pipeline.ids() == list(range(40))
    refreshed = Pipeline(spark, tmp_path / "refreshed", PLAIN, partition_by="key")
    put_files(refreshed.source, range(3))
    refreshed.run()
    done = run_in_session(refreshed.script("full_refresh"), spark)
    assert done.status == 0, done.output
    put_files(refreshed.source, [3])
    refreshed.run(checkpoint=Path(f"{refreshed.checkpoint}.refresh-after-batch-2"))
    assert refreshed.ids() == list(range(40))
    assert {path.name.partition("=")[0] for path in refreshed.output.iterdir() if path.is_dir()} == {
        "key",
        "_spark_metadata",
    }


# ---------------------------------------------------------------- what the tool says about each kind of sink,
# counted


APPEND = """
def transform(df):
    return df.select("id", "key")

def write_batch(df, batch_id):
    df.write.mode("append").parquet({target!r})
"""
BY_BATCH = """
def transform(df):
    return df.select("id", "key")

def write_batch(df, batch_id):
    df.write.mode("overwrite").parquet({target!r} + "/batch=" + str(batch_id))
"""


def foreach(plain: Pipeline, query: str, sink: str, reaches_sink: bool) -> dict[str, str]:
    """Runs the three committed batches into a foreachBatch target, and the fourth up to a crash; gives the
    answers for its script."""
    target = plain.place / "target"
    plain.query.write_text(query.format(target=str(target)), encoding="utf-8")
    names: dict[str, Callable[[DataFrame, int], None]] = {}
    exec(plain.query.read_text(encoding="utf-8"), names)

    def crashing(df: DataFrame, batch_id: int) -> None:
        if batch_id < 3 or reaches_sink:
            names["write_batch"](df, batch_id)
        if batch_id == 3:
            raise RuntimeError("the sink is gone")

    shutil.rmtree(plain.checkpoint)
    for number in (4, 5):
        (plain.source / f"part {number:03d}.json").unlink()
    reader = (
        plain.spark.readStream.format("json")
        .schema(SCHEMA)
        .option("maxFilesPerTrigger", 1)
        .load(str(plain.source))
    )
    writer = (
        reader.select("id", "key")
        .writeStream.foreachBatch(crashing)
        .option("checkpointLocation", str(plain.checkpoint))
    )
    with pytest.raises(Exception, match="the sink is gone"):
        writer.trigger(availableNow=True).start().awaitTermination()
    put_files(plain.source, range(4, 6))
    return {"sink": sink, "sink_path": str(target), "sink_format": "parquet"}


def test_append_sink_without_the_pending_rows_gets_every_row_once(plain: Pipeline) -> None:
    answers = foreach(plain, APPEND, "foreach_append", reaches_sink=False)
    done = run_in_session(plain.script("reset", **answers), plain.spark)
    assert done.status == 5 and PLANNED in done.output, done.output
    assert plain.ids(plain.place / "target") == list(range(60))
    assert "the output grew from 30 to 60 rows; the new input gives 30" in done.output


def test_append_sink_that_had_the_pending_rows_gets_exactly_these_twice(plain: Pipeline) -> None:
    answers = foreach(plain, APPEND, "foreach_append", reaches_sink=True)
    done = run_in_session(plain.script("reset", **answers), plain.spark)
    assert done.status == 5 and PLANNED in done.output, done.output
    assert repeated(plain.ids(plain.place / "target")) == dict.fromkeys(range(30, 40), 2)


def test_sink_that_overwrites_by_batch_id_keeps_its_old_batches_because_the_numbers_go_on(
    plain: Pipeline,
) -> None:
    answers = foreach(plain, BY_BATCH, "foreach_merge", reaches_sink=True)
    done = run_in_session(plain.script("reset", **answers), plain.spark)
    assert done.status == 5, done.output
    assert plain.ids(plain.place / "target") == list(range(60))


def test_file_sink_skips_new_rows_when_a_fresh_checkpoint_starts_at_batch_0(plain: Pipeline) -> None:
    """The trap the tool names: the new rows of batches 0 and 1 never arrive, and nothing is said."""
    for number in range(4):
        (plain.source / f"part {number:03d}.json").unlink()
    plain.run(checkpoint=plain.place / "fresh")
    assert plain.ids() == list(range(40))


@pytest.mark.parametrize("stop", ["between batches", "in a batch"])
def test_a_fresh_checkpoint_into_the_old_output_is_refreshed_beside_it(plain: Pipeline, stop: str) -> None:
    """The output is partly that of the checkpoint before: nothing of it is renamed, and what Spark had
    skipped is there afterwards."""
    for number in range(4):
        (plain.source / f"part {number:03d}.json").unlink()
    log, aged = plain.output / "_spark_metadata", time.time() - 3600
    for entry in log.iterdir():
        os.utime(entry, (aged, aged))
    shutil.rmtree(plain.checkpoint)
    plain.run()
    assert plain.ids() == list(range(40)), "Spark skipped batches 0 and 1"
    if stop == "in a batch":
        plain.forget_last_commit()
    asked = ConnectorSettings(sink=parse_location(str(plain.output)))
    ck = Checkpoint.open(str(plain.checkpoint))
    answers = Answers({"platform": "pyspark", **plain.answers(what_happened="reprocess")})
    context = read_recovery_context(ck, answers, ask_connectors(ck, asked))
    assert [option.id for option in options(context) if option.recommended] == ["full_refresh"]
    assert not recipe(context, "backup_and_backfill").possible
    answers = plain.answers(what_happened="reprocess")
    file = script_for(plain.checkpoint, "full_refresh", answers, plain.place, asked)

    before = fingerprint(plain.output)
    tried = run_in_session(file, plain.spark, execute=False)
    assert tried.status == 0, tried.output
    done = run_in_session(file, plain.spark)
    assert done.status == 0, done.output
    made = Path(f"{plain.output}.refreshed-batch-{'1' if stop == 'between batches' else '0'}")
    assert plain.ids(made) == list(range(40, 60)) and "new output" in done.output.lower()
    assert fingerprint(plain.output) == before
    again = run_in_session(file, plain.spark)
    assert again.status == 0 and plain.ids(made) == list(range(40, 60)), again.output

    new = Path(f"{plain.checkpoint}.refresh-after-batch-{made.name[-1]}")
    put_files(plain.source, [6])
    plain.run(checkpoint=new, output=made)
    assert plain.ids(made) == list(range(40, 70))


def test_append_sink_gets_everything_twice_when_the_checkpoint_is_deleted_and_the_output_stays(
    plain: Pipeline,
) -> None:
    answers = foreach(plain, APPEND, "foreach_append", reaches_sink=True)
    done = run_in_session(plain.script("full_refresh", **answers), plain.spark)
    assert done.status == 0, done.output
    assert plain.ids(plain.place / "target") == list(range(60))

    reader = plain.spark.readStream.format("json").schema(SCHEMA).load(str(plain.source)).select("id", "key")
    writer = reader.writeStream.foreachBatch(
        lambda df, _: df.write.mode("append").parquet(str(plain.place / "target"))
    )
    writer.option("checkpointLocation", str(plain.place / "deleted")).trigger(
        availableNow=True
    ).start().awaitTermination()
    assert repeated(plain.ids(plain.place / "target")) == dict.fromkeys(range(60), 2)


# ---------------------------------------------------------------- state


@LONG
def test_windows_that_were_emitted_do_not_come_again_and_open_ones_are_complete(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = Pipeline(spark, tmp_path / "windows", WINDOWS)
    put_files(pipeline.source, range(6))
    pipeline.run()
    emitted = pipeline.rows()
    assert len(emitted) == 4
    undisturbed = Pipeline(spark, tmp_path / "undisturbed", WINDOWS)
    put_files(undisturbed.source, range(6))
    undisturbed.run()

    put_files(pipeline.source, range(6, 12))
    done = run_in_session(pipeline.script("reset", output_mode="append"), spark)
    assert done.status == 5, done.output
    put_files(undisturbed.source, range(6, 12))
    undisturbed.run()
    assert pipeline.rows(pipeline.output, Path(f"{pipeline.output}.after-batch-6")) == undisturbed.rows()
    assert len(undisturbed.rows()) == 10


def test_without_the_old_data_the_state_starts_empty_and_known_keys_come_again(distinct: Pipeline) -> None:
    before = distinct.rows()
    done = run_in_session(distinct.script("reset", source_complete="no"), distinct.spark)
    assert done.status == 5, done.output
    new = distinct.rows(Path(f"{distinct.output}.after-batch-1"))
    assert sorted(row[1] for row in new) == [
        *range(5, 15),
        *range(900, 905),
    ], "the keys of file 2 that the lost state knew"
    assert distinct.rows() == before


def test_when_the_deduplication_was_removed_the_position_goes_on_without_the_state(
    distinct: Pipeline,
) -> None:
    distinct.query.write_text(PLAIN, encoding="utf-8")
    done = run_in_session(distinct.script("reset", stateful="removed"), distinct.spark)
    assert done.status == 0, done.output
    assert len(distinct.rows()) == 15 + 10 + 5
    assert not (Path(f"{distinct.checkpoint}.reset-after-batch-1") / "state").exists()


JOIN = """
from pyspark.sql import functions as F

def transform(sources):
    left = sources["0"].withWatermark("at", "1 minute").alias("l")
    right = sources["1"].withWatermark("at", "1 minute").alias("r")
    near = F.expr("l.key = r.key and r.at between l.at - interval 90 seconds and l.at + interval 90 seconds")
    return left.join(right, near, "leftOuter").select("l.id", F.col("r.id").alias("other"))
"""


@LONG
def test_a_reset_of_a_join_builds_its_state_again_and_emits_what_the_old_query_would_have(
    spark: SparkSession, tmp_path: Path
) -> None:
    def joined(name: str) -> tuple[Pipeline, tuple[Path, Path], Callable[[], None]]:
        pipeline = Pipeline(spark, tmp_path / name, JOIN)
        places = (tmp_path / name / "left", tmp_path / name / "right")

        def run() -> None:
            reader = spark.readStream.format("json").schema(SCHEMA).option("maxFilesPerTrigger", 1)
            frames = {str(number): reader.load(str(place)) for number, place in enumerate(places)}
            names: dict[str, Callable[[dict[str, DataFrame]], DataFrame]] = {}
            exec(pipeline.query.read_text(encoding="utf-8"), names)
            writer = names["transform"](frames).writeStream.format("parquet")
            writer = writer.option("checkpointLocation", str(pipeline.checkpoint)).trigger(availableNow=True)
            writer.start(str(pipeline.output)).awaitTermination()

        put_files(places[0], range(4))
        put_files(places[1], range(1, 5))
        run()
        return pipeline, places, run

    pipeline, places, _ = joined("join")
    undisturbed, others, resume = joined("truth")
    for left, right in (places, others):
        put_files(left, range(4, 7))
        put_files(right, range(5, 8))
    resume()
    script = pipeline.script(
        "reset", **{"source.1.schema": SCHEMA, "source.1.option.maxFilesPerTrigger": "1"}
    )
    done = run_in_session(script, spark)
    assert done.status == 5, done.output
    last = max(int(path.name) for path in (pipeline.checkpoint / "commits").iterdir() if path.name.isdigit())
    new = Path(f"{pipeline.output}.after-batch-{last}")
    assert pipeline.rows(pipeline.output, new) == undisturbed.rows()


# ---------------------------------------------------------------- several sources, old rows that only the
# output has


UNION = """
def transform(sources):
    return sources["0"].select("id").union(sources["1"].select("id"))
"""


def test_two_file_sources_each_go_on_at_their_own_place(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, tmp_path / "union", UNION)
    left, right = tmp_path / "left", tmp_path / "right"
    put_files(left, range(3))
    put_files(right, range(100, 101))

    def run() -> None:
        frames = [
            spark.readStream.format("json")
            .schema(SCHEMA)
            .option("maxFilesPerTrigger", 1)
            .load(str(p))
            .select("id")
            for p in (left, right)
        ]
        writer = (
            frames[0]
            .union(frames[1])
            .writeStream.format("parquet")
            .option("checkpointLocation", str(pipeline.checkpoint))
        )
        writer.trigger(availableNow=True).start(str(pipeline.output)).awaitTermination()

    run()
    put_files(left, [3])
    put_files(right, [101, 102])
    script = pipeline.script(
        "reset", **{"source.1.schema": SCHEMA, "source.1.option.maxFilesPerTrigger": "1"}
    )
    done = run_in_session(script, spark)
    assert done.status == 0, done.output
    assert pipeline.ids() == [*range(40), *range(1000, 1030)]


NAMED = """
def transform(sources):
    return sources["orders"].select("id").union(sources["refunds"].select("id"))
"""


def test_named_sources_keep_their_names_and_their_places(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.streaming.queryEvolution.enableSourceEvolution", "true")
    pipeline = Pipeline(spark, tmp_path / "named", NAMED)
    places = {"orders": tmp_path / "orders", "refunds": tmp_path / "refunds"}
    put_files(places["orders"], range(3))
    put_files(places["refunds"], [100])

    reader = {
        n: spark.readStream.format("json").schema(SCHEMA).option("maxFilesPerTrigger", 1).name(n).load(str(p))
        for n, p in places.items()
    }
    writer = reader["orders"].select("id").union(reader["refunds"].select("id")).writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(pipeline.checkpoint)).trigger(availableNow=True)
    writer.start(str(pipeline.output)).awaitTermination()
    put_files(places["orders"], [3])
    put_files(places["refunds"], [101])
    script = pipeline.script("reset", **{f"source.{name}.schema": SCHEMA for name in places})
    assert '"name": "refunds"' in script.read_text(encoding="utf-8")
    done = run_in_session(script, spark)
    assert done.status == 0, done.output
    assert pipeline.ids() == [*range(40), *range(1000, 1020)]


def test_backfill_brings_back_exactly_the_rows_whose_files_are_gone(plain: Pipeline) -> None:
    (plain.source / "part 001.json").unlink()
    places = {
        "checkpoint_new": str(plain.place / "new" / "checkpoint"),
        "backup_to": str(plain.place / "saved" / "checkpoint"),
    }
    script = plain.script("backup_and_backfill", source_complete="no", backfill_keys="id", **places)
    done = run_in_session(script, plain.spark)
    assert done.status == 0, done.output
    beside = Path(f"{plain.output}.backfill-batch-2")
    assert plain.ids(beside) == list(range(10, 20))
    assert plain.ids(plain.output, beside) == list(range(60))
    again = run_in_session(script, plain.spark)
    assert again.status == 0, again.output
    assert plain.ids(plain.output, beside) == list(range(60))


def test_a_backfill_that_has_nothing_to_add_ends_and_can_be_run_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    """JSON keeps no columns where there are no rows: the script renamed everything and died of that, each
    time."""
    pipeline = Pipeline(spark, tmp_path / "json", PLAIN)
    put_files(pipeline.source, range(3))
    reader = spark.readStream.format("json").schema(SCHEMA).load(str(pipeline.source)).select("id", "key")
    writer = reader.writeStream.format("json").option("checkpointLocation", str(pipeline.checkpoint))
    writer.trigger(availableNow=True).start(str(pipeline.output)).awaitTermination()
    script = pipeline.script("backup_and_backfill", sink_format="json", backfill_keys="id")
    for _ in range(2):
        done = run_in_session(script, spark)
        assert done.status == 0, done.output
        assert "nothing is added" in done.output
        assert sorted(row["id"] for row in spark.read.json(str(pipeline.output)).collect()) == list(range(30))
        assert not Path(f"{pipeline.output}.backfill-batch-0").exists()


def test_a_backfill_leaves_out_data_files_that_the_old_output_has_lost(plain: Pipeline) -> None:
    (plain.source / "part 001.json").unlink()
    entry = (plain.output / "_spark_metadata" / "2").read_text(encoding="utf-8").splitlines()[1]
    Path(json.loads(entry)["path"].removeprefix("file://")).unlink()
    script = plain.script("backup_and_backfill", source_complete="no", backfill_keys="id")
    done = run_in_session(script, plain.spark)
    assert done.status == 0, done.output
    assert "1 of 4 data files of the old output are gone" in done.output
    assert plain.ids(plain.output, Path(f"{plain.output}.backfill-batch-2")) == list(range(60))


def _without_entry(log: Path) -> None:
    (log / "2").unlink()
    (log / ".2.crc").unlink()


def _with_a_cut_entry(log: Path) -> None:
    changed = (log / "2").stat().st_mtime
    (log / "2").write_text('v1\n{"path":"fi', encoding="utf-8")
    (log / ".2.crc").unlink()
    os.utime(log / "2", (changed, changed))


@pytest.mark.parametrize("partition_by", [None, "key"])
@pytest.mark.parametrize("harm", [_without_entry, _with_a_cut_entry])
def test_an_output_whose_log_lacks_an_entry_is_refreshed_and_not_backfilled(
    spark: SparkSession, tmp_path: Path, harm: Callable[[Path], None], partition_by: str | None
) -> None:
    """Nobody knows which files such a log names. The refresh refused after its dry run had passed, and the
    backfill, which reads the old output, was recommended."""
    pipeline = Pipeline(spark, tmp_path / "hole", PLAIN, partition_by)
    put_files(pipeline.source, range(5))
    pipeline.run()
    harm(pipeline.output / "_spark_metadata")
    put_files(pipeline.source, [5])
    ck = Checkpoint.open(str(pipeline.checkpoint))
    connectors = ask_connectors(ck, ConnectorSettings(sink=parse_location(str(pipeline.output))))
    context = read_recovery_context(ck, Answers({"platform": "pyspark", **pipeline.answers()}), connectors)
    backfill = recipe(context, "backup_and_backfill")
    assert not backfill.possible and "is not known" in backfill.why
    script = pipeline.script("full_refresh")
    assert run_in_session(script, spark, execute=False).status == 0
    done = run_in_session(script, spark)
    assert done.status == 0, done.output
    assert sorted(pipeline.ids()) == list(range(60))
    is_partitioned = any("=" in path.name for path in pipeline.output.iterdir())
    assert is_partitioned == (partition_by is not None)


def test_a_refresh_keeps_the_state_store_and_its_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """A script has a session of its own, where transformWithState did not start: HDFS is Spark's default."""
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    pipeline = Pipeline(spark, tmp_path / "distinct", DISTINCT)
    put_files(pipeline.source, range(2))
    pipeline.run()
    done = run_script(pipeline.script("full_refresh"), "--execute", "--query-is-stopped")
    assert done.status in (0, 5), done.output
    header = Path(f"{pipeline.checkpoint}.refresh-after-batch-1/offsets/0").read_text(encoding="utf-8")
    conf = json.loads(header.splitlines()[1])["conf"]
    assert conf["spark.sql.streaming.stateStore.providerClass"] == provider
    assert conf["spark.sql.shuffle.partitions"] == "2", "what the session of the script sets comes first"


def test_strange_names_do_not_break_the_code(spark: SparkSession, tmp_path: Path) -> None:
    # No backslash: Spark itself takes it as an escape in the path of a source.
    pipeline = Pipeline(spark, tmp_path / 'it\'s "so" %20 ü #1', PLAIN)
    put_files(pipeline.source, range(2))
    pipeline.run()
    put_files(pipeline.source, [2])
    done = run_in_session(pipeline.script("reset"), spark)
    assert done.status == 0, done.output
    assert pipeline.ids() == list(range(30))
