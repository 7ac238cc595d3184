"""The option rewind, run unmodified on Spark on broken checkpoints; the query then resumes with new data, and its rows are
compared with the truth and with the repeats that were stated."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from core.checkpoint import Checkpoint
from core.connectors import ConnectorSettings
from core.connectors.connect import ask_connectors
from core.recovery import Answers, Option, options, read_recovery_context
from core.storage import parse_location
from tests.support import damage
from tests.support.oracle_processor import Counter
from tests.support.recovery import (
    fingerprint,
    killed_at,
    put_files,
    repeated,
    run_in_session,
    script_for,
)
from tests.support.repairs import RepairPipeline
from tests.support.script_processes import run_script

pytestmark = [pytest.mark.spark, pytest.mark.own_spark]

ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
CHANGELOGS = {**ROCKSDB, "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true"}
FORMAT_2 = {"spark.sql.streaming.stateStore.checkpointFormatVersion": "2"}
COMPACTED = {
    "spark.sql.streaming.fileSource.log.compactInterval": "3",
    "spark.sql.streaming.fileSource.log.cleanupDelay": "0",
}


def distinct(frame: DataFrame) -> DataFrame:
    return frame.dropDuplicates(["id"]).select("id", "key")


def plain(frame: DataFrame) -> DataFrame:
    return frame.select("id", "key")


def totals(frame: DataFrame) -> DataFrame:
    return frame.groupBy("key").agg(f.count("*").alias("n"), f.sum("id").alias("ids"))


def windows(frame: DataFrame) -> DataFrame:
    counted = frame.withWatermark("at", "30 seconds").groupBy(f.window("at", "1 minute")).count()
    return counted.select(f.col("window.end").alias("end"), "count")


def rewind_of(pipeline: RepairPipeline, **answers: str) -> Option:
    ck = Checkpoint.open(str(pipeline.checkpoint))
    sink = {"file": "file", "append": "foreach_append", "merge": "foreach_merge"}[pipeline.sink]
    connectors = (
        ask_connectors(ck, ConnectorSettings(sink=parse_location(str(pipeline.output))))
        if pipeline.sink == "file"
        else None
    )
    context = read_recovery_context(ck, Answers({"sink": sink, **answers}), connectors)
    return next(each for each in options(context) if each.id == "rewind")


def rewound(pipeline: RepairPipeline, batch: int) -> Path:
    return Path(f"{pipeline.checkpoint}.rewound-to-batch-{batch}")


def five_batches_of_totals(spark: SparkSession, tmp_path: Path, confs: dict[str, str]) -> RepairPipeline:
    """A keyed sink of totals after five batches, whose file source log is compacted."""
    pipeline = RepairPipeline(
        spark, tmp_path / "p", totals, "merge", mode="update", key="key", confs={**confs, **COMPACTED}
    )
    put_files(pipeline.source, range(5))
    pipeline.run()
    return pipeline


def remove(path: Path) -> None:
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def resume(pipeline: RepairPipeline, batch: int, new: int) -> None:
    """The original query, with one more file, on the new checkpoint; started a second time with another one."""
    for number in (new, new + 1):
        put_files(pipeline.source, [number])
        pipeline.run(rewound(pipeline, batch))


def ids(pipeline: RepairPipeline) -> list[object]:
    return sorted(row["id"] for row in pipeline.rows())  # type: ignore[type-var]


@pytest.mark.parametrize("confs", [ROCKSDB, {}], ids=["zip", "delta"])
def test_state_that_may_be_an_older_one_is_not_proven(
    confs: dict[str, str], spark: SparkSession, tmp_path: Path
) -> None:
    """Spark and its state reader load an older file in the place of the right one without an error."""
    pipeline = five_batches_of_totals(spark, tmp_path, confs)
    kind = "zip" if confs else "delta"
    for store in (pipeline.checkpoint / "state" / "0").iterdir():
        if store.name.isdigit():
            remove(store / f"3.{kind}")
            shutil.copy(store / f"2.{kind}", store / f"3.{kind}")
            later = (store / f"5.{kind}").stat().st_mtime + 60
            os.utime(store / f"3.{kind}", (later, later))
    done = run_in_session(pipeline.script("rewind", to_batch="2"), spark)
    assert done.status == 5, done.output
    line = next(line for line in done.output.splitlines() if "NOT CHECKED" in line)
    assert f"3.{kind} is the right file: it holds, byte for byte, what 2.{kind} holds" in line
    resume(pipeline, 2, 5)
    truth = spark.read.schema("id int, key int, at timestamp").json(str(pipeline.source))
    expected = {row["key"]: row["n"] for row in totals(truth).collect()}
    assert {row["key"]: row["n"] for row in pipeline.rows()} != expected


def test_a_lost_delta_is_rewound_and_a_keyed_sink_shows_every_row_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", distinct, "merge", confs=COMPACTED)
    put_files(pipeline.source, range(6))
    pipeline.run()
    remove(pipeline.checkpoint / "state" / "0" / "1" / "5.delta")
    option = rewind_of(pipeline)
    assert (option.possible, option.recommended) == (True, True), option.why
    assert "batches 4 and 5" in option.repeats or "batches 4 to 5" in option.repeats, option.repeats

    script = pipeline.script("rewind")
    before = fingerprint(pipeline.place)
    dry = run_in_session(script, spark, execute=False)
    assert dry.status == 0 and "2 files are read again" in dry.output, dry.output
    assert fingerprint(pipeline.place) == before, "the dry run wrote"

    dying = killed_at(script, "copy.check_sink()")
    assert run_script(dying, "--execute", "--query-is-stopped").status == -9
    assert not rewound(pipeline, 3).exists()

    done = run_script(script, "--execute", "--query-is-stopped")
    assert done.status == 0, done.output
    again = run_in_session(script, spark)
    assert again.status == 0 and "proven" in again.output, again.output
    kept = {path: value for path, value in before.items() if path.startswith(f"{pipeline.checkpoint}/")}
    assert fingerprint(pipeline.checkpoint) == kept, "the old checkpoint was changed"

    resume(pipeline, 3, 6)
    assert ids(pipeline) == list(range(80))
    late = run_in_session(script, spark)
    assert late.status == 4 and "the query has run with it since" in late.output


@pytest.mark.parametrize(
    "confs", [ROCKSDB, CHANGELOGS, {**CHANGELOGS, **FORMAT_2}], ids=["zips", "changelogs", "format 2"]
)
def test_totals_in_rocksdb_are_the_truth_after_a_rewind(
    confs: dict[str, str], spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = five_batches_of_totals(spark, tmp_path, confs)
    lost = [*(pipeline.checkpoint / "state" / "0" / "0").glob("5[._]*")]
    assert lost
    for path in lost:
        remove(path)
    done = run_in_session(pipeline.script("rewind"), spark)
    assert done.status == 0, done.output
    assert ("SST files that are loaded has its checksum" in done.output) == (confs == ROCKSDB)
    resume(pipeline, 3, 5)
    truth = spark.read.schema("id int, key int, at timestamp").json(str(pipeline.source))
    expected = {row["key"]: (row["n"], row["ids"]) for row in totals(truth).collect()}
    assert {row["key"]: (row["n"], row["ids"]) for row in pipeline.rows()} == expected


def test_a_sink_that_appends_gets_exactly_the_rows_of_the_later_batches_twice(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", distinct, "append", confs=ROCKSDB)
    put_files(pipeline.source, range(4))
    pipeline.run()
    remove(pipeline.checkpoint / "state" / "0" / "0" / "4.zip")
    option = rewind_of(pipeline)
    assert option.recommended and "reading everything again would repeat all" in option.reason
    assert "batch 3" in option.repeats and "1 file" in option.repeats, option.repeats

    files = sorted((pipeline.checkpoint / "state" / "0" / "1" / "SSTs").glob("*.sst"))
    intact = {path: path.read_bytes() for path in files}
    for path, content in intact.items():  # a flipped bit in a data block, and no checksum file beside it
        path.write_bytes(content[:20] + bytes([content[20] ^ 1]) + content[21:])
        path.with_name(f".{path.name}.crc").unlink()
    refused = run_in_session(pipeline.script("rewind"), spark)
    assert refused.status == 4 and "Choose an earlier batch" in refused.output, refused.output
    assert not rewound(pipeline, 2).exists()
    for path, content in intact.items():
        path.write_bytes(content)
    before = fingerprint(pipeline.checkpoint)
    assert run_in_session(pipeline.script("rewind"), spark, execute=False).status == 0
    assert fingerprint(pipeline.checkpoint) == before, "loading the state wrote"

    done = run_in_session(pipeline.script("rewind"), spark)
    assert done.status == 0, done.output
    resume(pipeline, 2, 4)
    assert sorted(set(ids(pipeline))) == list(range(60))  # type: ignore[type-var]
    assert repeated(ids(pipeline)) == dict.fromkeys(range(30, 40), 2)


def test_a_damaged_offset_file_of_a_stateless_query_is_rewound(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", plain, "append")
    put_files(pipeline.source, range(4))
    pipeline.run()
    (pipeline.checkpoint / "offsets" / "3").write_text("", encoding="utf-8")
    assert (
        "1 to 2" in rewind_of(pipeline, to_batch="3").why
        or "batch 3" in rewind_of(pipeline, to_batch="3").why
    )
    done = run_in_session(pipeline.script("rewind", to_batch="1"), spark)
    assert done.status == 0, done.output
    resume(pipeline, 1, 4)
    assert repeated(ids(pipeline)) == dict.fromkeys(range(20, 40), 2)
    assert sorted(set(ids(pipeline))) == list(range(60))  # type: ignore[type-var]


def test_state_that_is_cut_inside_is_found_by_the_dry_run_and_an_earlier_batch_is_right(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", distinct, "merge")
    put_files(pipeline.source, range(4))
    pipeline.run()
    path = pipeline.checkpoint / "state" / "0" / "0" / "3.delta"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert not rewind_of(pipeline).possible, "names and sizes show nothing"
    for execute in (False, True):
        refused = run_in_session(pipeline.script("rewind", to_batch="2"), spark, execute=execute)
        assert refused.status == 4 and "Choose an earlier batch" in refused.output, refused.output
        assert "An error occurred while calling" not in refused.output
    assert not rewound(pipeline, 2).exists()
    done = run_in_session(pipeline.script("rewind", to_batch="1"), spark)
    assert done.status == 0, done.output
    resume(pipeline, 1, 4)
    assert ids(pipeline) == list(range(60))


def joined(frame: DataFrame) -> DataFrame:
    other = frame.select(f.col("id").alias("other"), f.col("key").alias("key"))
    return frame.drop("key").join(other, f.expr("other = id + 10")).select("id", "key")


def test_a_join_is_loaded_store_by_store_and_finds_its_matches(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", joined, "merge")
    put_files(pipeline.source, range(4))
    pipeline.run()
    remove(pipeline.checkpoint / "state" / "0" / "1" / "right-keyToNumValues" / "4.delta")
    done = run_in_session(pipeline.script("rewind"), spark)
    assert done.status == 0, done.output
    assert "(symmetricHashJoin), left-keyWithIndexToValue after batch 2: 30 rows" in done.output, done.output
    resume(pipeline, 2, 4)
    assert ids(pipeline) == list(range(50))


def test_windows_are_those_of_an_undisturbed_run(spark: SparkSession, tmp_path: Path) -> None:
    broken = RepairPipeline(spark, tmp_path / "broken", windows, "merge", key="end")
    whole = RepairPipeline(spark, tmp_path / "whole", windows, "merge", key="end")
    for pipeline in (broken, whole):
        put_files(pipeline.source, range(5))
        pipeline.run()
    newest = max(Checkpoint.open(str(broken.checkpoint)).commit_ids)
    remove(broken.checkpoint / "state" / "0" / "0" / f"{newest}.delta")
    done = run_in_session(broken.script("rewind"), spark)
    assert done.status == 0, done.output
    resume(broken, newest - 2, 5)
    for number in (5, 6):
        put_files(whole.source, [number])
        whole.run()
    assert broken.rows() == whole.rows() and len(whole.rows()) >= 5


def test_a_file_sink_must_end_at_the_batch_and_is_exact_when_it_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", distinct, "file")
    put_files(pipeline.source, range(2))
    pipeline.run()
    shutil.copytree(pipeline.output, pipeline.place / "copy of out")
    put_files(pipeline.source, range(2, 4))
    pipeline.run()
    remove(pipeline.checkpoint / "state" / "0" / "0" / "4.delta")
    option = rewind_of(pipeline, to_batch="1")
    assert not option.possible and "ends at batch 3" in option.why, option.why
    shutil.rmtree(pipeline.output)
    shutil.copytree(pipeline.place / "copy of out", pipeline.output, copy_function=shutil.copy2)
    option = rewind_of(pipeline)
    assert (option.possible, option.recommended) == (True, True), option.why
    given = ConnectorSettings(sink=parse_location(str(pipeline.output)))
    script = script_for(pipeline.checkpoint, "rewind", {}, pipeline.place, given)
    later = pipeline.output / "_spark_metadata" / "2"
    later.write_text("v1", encoding="utf-8")
    for trusted, words in ((False, "the checkpoint at 1"), (True, "does not end at batch 1")):
        refused = run_in_session(script, spark, SINK_IS_OURS=trusted)
        assert refused.status == 4 and words in refused.output, refused.output
    remove(later)
    done = run_in_session(script, spark)
    assert done.status == 0, done.output
    resume(pipeline, 1, 4)
    assert ids(pipeline) == list(range(60))


def test_input_files_that_are_gone_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", plain, "append")
    put_files(pipeline.source, range(4))
    pipeline.run()
    (pipeline.source / "part 003.json").unlink()
    script = pipeline.script("rewind", to_batch="1")
    before = fingerprint(pipeline.place)
    done = run_in_session(script, spark)
    assert done.status == 4 and "1 of 2 files that would be read again are gone" in done.output, done.output
    assert fingerprint(pipeline.place) == before


def test_the_rows_of_files_that_are_gone_are_what_a_rewind_loses(spark: SparkSession, tmp_path: Path) -> None:
    """A source that cleans up, and a state that has to be rolled back: seen on 4.3, the batch reads the files
    that are gone without an error and without their rows."""
    pipeline = RepairPipeline(spark, tmp_path / "p", distinct, "merge", confs=COMPACTED)
    put_files(pipeline.source, range(6))
    pipeline.run()
    remove(pipeline.checkpoint / "state" / "0" / "1" / "5.delta")
    assert rewind_of(pipeline).loses == "Nothing."
    (pipeline.source / "part 004.json").unlink()
    option = rewind_of(pipeline)
    assert option.possible and option.recommended, option.why
    assert "1 input file of batch 4 is gone" in option.loses and "part%20004.json" in option.loses
    assert "a part is gone" in option.reason, option.reason

    pipeline.output.rename(pipeline.place / "out before")
    script = pipeline.script("rewind")
    done = run_in_session(script, spark, ACCEPT_LOSS=True)
    assert done.status in (0, 5), done.output
    resume(pipeline, 3, 6)
    assert ids(pipeline) == [*range(50, 80)], "batches 4 and later, without the file that is gone"


def counter(frame: DataFrame) -> DataFrame:
    return frame.groupBy("key").transformWithState(Counter(), "k int, n long", "Update", "None")


def test_the_schema_paths_of_transform_with_state_are_those_of_the_copy(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", counter, "merge", mode="update", key="k", confs=ROCKSDB)
    put_files(pipeline.source, range(4))
    pipeline.run()
    remove(pipeline.checkpoint / "state" / "0" / "1" / "4.zip")
    done = run_in_session(pipeline.script("rewind"), spark)
    assert done.status == 0, done.output
    assert "(transformWithStateInPySparkExec), default has the same rows: 15 before, 15 after" in done.output
    metadata = rewound(pipeline, 2) / "state" / "0" / "_metadata" / "v2" / "0"
    assert f"file:{rewound(pipeline, 2)}/state/0/_stateSchema/" in metadata.read_text(encoding="utf-8")
    pipeline.checkpoint.rename(pipeline.place / "away")
    resume(pipeline, 2, 4)
    assert {row["k"]: row["n"] for row in pipeline.rows()} == dict.fromkeys(range(15), 4)


def test_a_checkpoint_that_a_copy_would_not_replace_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = RepairPipeline(spark, tmp_path / "p", plain, "append")
    put_files(pipeline.source, range(3))
    pipeline.run()
    script = pipeline.script("rewind", to_batch="1")
    (pipeline.checkpoint / "_schema_log_1").mkdir()
    (pipeline.checkpoint / "_schema_log_1" / "0").write_text("v1", encoding="utf-8")
    done = run_in_session(script, spark)
    assert done.status == 4 and "tracks the schema of a Delta source" in done.output, done.output
    assert not rewound(pipeline, 1).exists()


@pytest.mark.parametrize("later", [0, 1])
def test_a_source_log_entry_that_was_cut_is_left_out_of_the_copy(
    later: int, spark: SparkSession, tmp_path: Path
) -> None:
    """Spark reads every entry of the log at each start; the input files that it named are listed again."""
    pipeline = RepairPipeline(spark, tmp_path / "p", distinct, "merge", confs=COMPACTED)
    put_files(pipeline.source, range(5))
    pipeline.run()
    cut = pipeline.checkpoint / f"sources/0/{4 - later}"
    text = cut.read_text(encoding="utf-8")
    damage.rewrite(cut, text[: len(text) // 2])
    with pytest.raises(StreamingQueryException):
        pipeline.run()
    option = rewind_of(pipeline)
    assert (option.possible, option.recommended) == (True, True), option.why
    batch = 3 - later
    dry = run_in_session(pipeline.script("rewind"), spark, execute=False)
    assert dry.status == 0, dry.output
    done = run_in_session(pipeline.script("rewind"), spark)
    assert done.status == 0, done.output
    resume(pipeline, batch, 5)
    assert ids(pipeline) == list(range(70))
