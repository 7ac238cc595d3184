"""A state whose rows lie in wrong partitions, after a restore by hand with mixed names: Spark starts with it and gives
wrong totals. No script calls such a copy proven."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from core.recovery import OptionId
from tests.support.damage import Damage, both, remove, swapped
from tests.support.oracle import CHANGELOG
from tests.support.oracle_processor import Counter
from tests.support.recovery import fingerprint, put_files, run_in_session
from tests.support.repairs import RepairPipeline, Transform

pytestmark = pytest.mark.spark

ROWS = "rows of operator 0 (stateStoreSave), default lie in a partition that is not that of"
OK = f"ok: 0 {ROWS} their key"


def totals(frame: DataFrame) -> DataFrame:
    return frame.groupBy("key").agg(f.count("*").alias("k"))


def counter(frame: DataFrame) -> DataFrame:
    return frame.groupBy("key").transformWithState(Counter(), "k int, n long", "Update", "None")


def of_the_other_partition(version: int, kind: str = "changelog") -> Damage:
    """The file of partition 1 in the place of that of partition 0, without the old checksum file."""

    def apply(ck: Path) -> None:
        right = ck / f"state/0/0/{version}.{kind}"
        remove(right)
        shutil.copyfile(ck / f"state/0/1/{version}.{kind}", right)

    return apply


def exchanged(ck: Path) -> None:
    """The two partitions change places; the schema stays where it was."""
    here, there = (ck / f"state/0/{number}/_metadata" for number in (0, 1))
    swapped("state/0/0", "state/0/1")(ck)
    there.rename(here)


def pipeline_of(
    spark: SparkSession,
    place: Path,
    transform: Transform = totals,
    confs: dict[str, str] | None = None,
) -> RepairPipeline:
    """Five batches."""
    confs = CHANGELOG if confs is None else confs
    key = "k" if transform is counter else "key"
    pipeline = RepairPipeline(spark, place, transform, "merge", mode="update", key=key, confs=confs)
    put_files(pipeline.source, range(5))
    pipeline.run()
    return pipeline


def refusal(pipeline: RepairPipeline, script: Path) -> str:
    """Why the script refuses, in the dry run and with --execute, and nothing was changed."""
    before, output = fingerprint(pipeline.place), ""
    for execute in (False, True):
        done = run_in_session(script, pipeline.spark, execute=execute)
        assert done.status == 4, done.output
        output = done.output.partition("Refused: ")[2]
    assert fingerprint(pipeline.place) == before
    return output


@pytest.mark.parametrize(
    ("transform", "kind"),
    [(totals, "changelog"), (totals, "delta"), (counter, "changelog")],
    ids=["changelog", "delta", "transformWithState"],
)
def test_a_rewind_to_a_state_with_a_key_in_two_partitions_is_refused(
    transform: Transform, kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    confs = {} if kind == "delta" else CHANGELOG
    pipeline = pipeline_of(spark, tmp_path / "p", transform, confs)
    of_the_other_partition(4, kind)(pipeline.checkpoint)
    reason = refusal(pipeline, pipeline.script("rewind", to_batch="3"))
    assert "After batch 3 " in reason and " keys lie in two partitions of operator 0 (" in reason, reason
    assert "an older state file of another partition" in reason and "an earlier batch." in reason, reason
    done = run_in_session(pipeline.script("rewind", to_batch="2"), spark)
    assert done.status == 0 and " 0 rows of operator 0 (" in done.output, done.output


@pytest.mark.parametrize("kind", ["changelog", "delta"])
def test_a_rewind_of_exchanged_partitions_is_not_proven(
    kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = pipeline_of(spark, tmp_path / "p", confs={} if kind == "delta" else CHANGELOG)
    script = pipeline.script("rewind", to_batch="3")
    exchanged(pipeline.checkpoint)
    dry = run_in_session(script, spark, execute=False)
    assert dry.status == 0 and f"NOT CHECKED: 15 of 15 {ROWS}" in dry.output, dry.output
    done = run_in_session(script, spark)
    assert done.status == 5 and f"NOT CHECKED: 15 of 15 {ROWS}" in done.output, done.output
    exchanged(pipeline.checkpoint)
    shutil.rmtree(f"{pipeline.checkpoint}.rewound-to-batch-3")
    done = run_in_session(script, spark)
    assert done.status == 0 and OK in done.output, done.output


def in_backup(pipeline: RepairPipeline, damage: Damage) -> None:
    """Damage that was there when the backup was made, by a version that did not look for it."""
    kept, manifest = pipeline.place / "kept", pipeline.place / "kept.manifest.json"
    damage(kept)
    told = json.loads(manifest.read_text(encoding="utf-8"))
    for entry in told["files"]:
        content = (kept / entry["file"]).read_bytes()
        entry.update(size=len(content), sha256=hashlib.sha256(content).hexdigest())
    manifest.write_text(json.dumps(told), encoding="utf-8")


def run_option(pipeline: RepairPipeline, option: OptionId) -> tuple[int, str]:
    script = pipeline.script(option, backup_to=str(pipeline.place / "kept"))
    done = run_in_session(script, pipeline.spark)
    return done.status, done.output


def test_a_state_with_a_key_in_two_partitions_is_neither_backed_up_nor_restored(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = pipeline_of(spark, tmp_path / "p")
    damage = both(of_the_other_partition(4), of_the_other_partition(5))
    shutil.copytree(pipeline.checkpoint, tmp_path / "intact")
    damage(pipeline.checkpoint)
    before = fingerprint(pipeline.checkpoint)
    status, output = run_option(pipeline, "backup")
    assert status == 4 and " keys lie in two partitions of operator 0" in output, output
    assert not (pipeline.place / "kept").exists() and fingerprint(pipeline.checkpoint) == before
    shutil.rmtree(pipeline.place / "kept.partial")
    shutil.rmtree(pipeline.checkpoint)
    shutil.copytree(tmp_path / "intact", pipeline.checkpoint, copy_function=shutil.copy2)

    status, output = run_option(pipeline, "backup")
    assert status == 0 and OK in output, output
    in_backup(pipeline, damage)
    restore = pipeline.script("restore_backup", backup_to=str(pipeline.place / "kept"))
    reason = refusal(pipeline, restore)
    assert " keys lie in two partitions of" in reason and "an earlier backup" in reason, reason
    status, output = run_option(pipeline, "backup")
    assert status == 3 and "FAILED: " in output and " keys lie in two partitions of" in output, output


def test_a_backup_of_exchanged_partitions_is_not_proven_nor_is_its_restore(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = pipeline_of(spark, tmp_path / "p")
    exchanged(pipeline.checkpoint)
    for option in ("backup", "restore_backup"):
        status, output = run_option(pipeline, option)  # type: ignore[arg-type]
        assert status == 5 and f"NOT CHECKED: 15 of 15 {ROWS}" in output, output
    shutil.rmtree(f"{pipeline.checkpoint}.restored")
    Path(f"{pipeline.checkpoint}.restored.recovery.json").unlink()
    in_backup(pipeline, exchanged)
    status, output = run_option(pipeline, "restore_backup")
    assert OK in output and f" {ROWS}" in output and "15 of 15" not in output, output


def test_a_repartition_of_a_state_with_a_key_in_two_partitions_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = pipeline_of(spark, tmp_path / "p")
    both(of_the_other_partition(4), of_the_other_partition(5))(pipeline.checkpoint)
    reason = refusal(pipeline, pipeline.script("repartition", partitions="4"))
    assert " keys lie in two partitions of" in reason and "choose the option rewind" in reason, reason
