"""Data files that a Delta source still has to read and that are gone: the forecast, and then Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from core.checkpoint.sources.delta import TablePosition
from core.connectors.delta.data_files import FilesLook, files_to_read, look_for_files
from core.connectors.delta.log import DeltaLog
from tests.spark.cases import BEFORE_RELEASE
from tests.support.delta import DeltaEngine
from tests.support.delta_proof import TOOLS, Case

pytestmark = pytest.mark.delta
Make = Callable[..., Case]

VACUUM = """
check = "spark.databricks.delta.retentionDurationCheck.enabled"
for each in (spark, session):
    each.conf.set(check, "false")
    # A handful of files: by itself Spark lists them in 10,000 tasks.
    each.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
session.sql(f"VACUUM delta.`{args['source']}` RETAIN 0 HOURS")
"""


def compact(made: Case) -> None:
    """OPTIMIZE, then VACUUM without a retention: what the query has not read yet is in newer files only."""
    made.sql("OPTIMIZE {source}")
    made.script(VACUUM)


def files_of(made: Case, version: int) -> list[Path]:
    """The data files that a version of the source added."""
    lines = [json.loads(line) for line in made.log(version).read_text(encoding="utf-8").splitlines()]
    return [made.source / line["add"]["path"] for line in lines if "add" in line]


@pytest.mark.parametrize(
    ("base", "pending"),
    [
        ("plain", True),
        ("plain", False),
        pytest.param("snapshot", False, marks=BEFORE_RELEASE),
        ("inside", False),
    ],
)
def test_a_compacted_and_vacuumed_table_stops_the_batch_that_reads_on(
    case: Make, base: str, pending: bool
) -> None:
    made = case(base, pending=pending)
    compact(made)
    said, fact = made.prove()
    assert (said.reason, said.certainty, said.fails_at) == ("DELTA_FILES_GONE", "inferred", "batch")
    assert fact.condition == "FAILED_READ_FILE.FILE_NOT_EXIST"
    assert any("ignoreMissingFiles" in line for line in said.not_checked)


def test_a_caught_up_query_is_not_harmed_by_vacuum_until_something_waits(case: Make) -> None:
    made = case("done")
    compact(made)
    said, fact = made.prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(70))
    made.put(70, 80)
    compact(made)
    said, _ = made.prove()
    assert said.reason == "DELTA_FILES_GONE"


def test_one_file_that_somebody_deleted_is_found_and_named(case: Make) -> None:
    made = case("done")
    made.put(70, 80)
    (gone,) = files_of(made, 7)
    gone.unlink()
    said, _ = made.prove()
    assert said.reason == "DELTA_FILES_GONE" and gone.name in said.sentence


def test_a_file_that_is_gone_behind_a_full_batch_stops_the_batch_after_it(case: Make) -> None:
    made = case("done")
    made.options["maxFilesPerTrigger"] = 1
    made.put(70, 80)
    made.put(80, 90)
    (gone,) = files_of(made, 8)
    gone.unlink()
    said, fact = made.prove()
    assert said.outcome == "resume" and said.then is not None and "behind 1 file" in said.then
    assert (fact.failed_batch, fact.rows) == (4, {3: 10})


def test_files_of_a_commit_that_is_passed_over_are_not_missed(case: Make) -> None:
    made = case("done", skipChangeCommits="true")
    made.sql("UPDATE {source} SET seq = -1 WHERE id = 5")
    compact(made)
    made.put(70, 80)
    made.expected = range(80)
    said, fact = made.prove()
    assert said.outcome == "resume" and fact.ids == tuple(range(80))
    assert not any("VACUUM" in line for line in said.not_checked)


def test_with_ignore_missing_files_spark_passes_and_the_forecast_names_the_setting(case: Make) -> None:
    made = case("done")
    made.conf = {"spark.sql.files.ignoreMissingFiles": "true"}
    made.put(70, 80)
    compact(made)
    said, fact = made.forecast(), made.restart()
    assert said.certainty == "inferred" and any("ignoreMissingFiles" in line for line in said.not_checked)
    assert not fact.causes and fact.ids == tuple(range(70))


def test_a_pending_batch_that_the_sink_has_reads_no_file(case: Make) -> None:
    made = case("done")
    made.put(70, 80)
    assert not made.restart().causes
    made.forget_commit(3)
    compact(made)
    made.expected = range(80)
    said, fact = made.prove()
    assert said.sink is not None and said.sink.pending == "skipped"
    assert said.outcome == "rerun" and fact.ids == tuple(range(80))


def test_a_copy_of_the_log_alone_is_no_table_without_files(case: Make) -> None:
    made = case("done")
    made.put(70, 80)
    for path in made.source.glob("*.parquet"):
        path.unlink()
    said = made.forecast()
    assert said.outcome == "resume" and any("VACUUM" in line for line in said.not_checked)


def test_files_in_directories_with_odd_names_are_found(delta: DeltaEngine, tmp_path: Path) -> None:
    table = tmp_path / "table"
    rows = "[(1, 'a b'), (2, '50%25'), (3, 'ü=/#?')]"
    delta.run(
        f"{TOOLS}\nspark.createDataFrame({rows}, 'id long, p string').write.format('delta')"
        ".partitionBy('p').save(args['table'])\nresult = 1",
        table=str(table),
    )
    log = DeltaLog.open(str(table))
    wanted = files_to_read(log, TablePosition("x", 0, -1, False), None, skips_changes=False)
    assert wanted is not None and len(wanted.files) == 3 and wanted.is_whole
    assert look_for_files(log, wanted, 100) == FilesLook()
    assert look_for_files(DeltaLog.open(str(table)), wanted, 1).unseen == 2
    next(table.glob("p=50*/*.parquet")).unlink()
    look = look_for_files(DeltaLog.open(str(table)), wanted, 100)
    assert len(look.gone) == 1 and "50" in look.gone[0] and look.unseen == 0


def test_files_of_a_batch_that_the_sink_has_are_not_missed_and_those_behind_it_are(case: Make) -> None:
    made = case()
    made.forget_commit(4)
    compact(made)  # files of batch 4 too
    said, fact = made.prove()
    assert said.sink is not None and said.sink.pending == "skipped"
    assert (said.outcome, said.batch_id, said.reason) == ("fail", 5, "DELTA_FILES_GONE")
    assert fact.failed_batch == 5 and (made.checkpoint / "commits/4").exists()
