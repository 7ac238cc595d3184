"""``spark.read.format("checkpoint")`` on real Spark: what it gives is what the project says without Spark."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.checkpoint import Checkpoint
from core.errors import UsageError
from core.judgement import judge
from core.settings import DEFAULTS, RootSettings
from core.storage import Requests
from core.survey import SurveyRow, each_once, search_root, survey_places
from core.survey.tables import COLUMNS, survey_rows_of
from tests.support.build import SAMPLES
from tests.support.s3 import S3Server

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OF_A_MOMENT = {"read_at_ms": 0, "age_seconds": None, "seconds": 0.0, "requests": Requests()}


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    from core.spark.datasource import register

    register(spark, DEFAULTS)
    return spark


def read(session: SparkSession, root: Path | str, **options: str) -> DataFrame:
    return session.read.format("checkpoint").options(**options).load(str(root))


def rows_of(frame: DataFrame) -> list[SurveyRow]:
    """Rows of the view survey as the rows of a local survey."""
    return sorted(survey_rows_of(frame.toArrow()), key=lambda row: row.location)


def local_rows(root: Path) -> list[SurveyRow]:
    places = each_once([search_root(str(root), DEFAULTS)])
    return sorted(survey_places(places, DEFAULTS), key=lambda row: row.location)


def test_the_survey_is_the_local_one(session: SparkSession) -> None:
    there, here = rows_of(read(session, SAMPLES)), local_rows(SAMPLES)
    assert len(here) == len(list(SAMPLES.glob("*/checkpoint")))
    assert [replace(row, **OF_A_MOMENT) for row in there] == [replace(row, **OF_A_MOMENT) for row in here]
    assert any(row.worst_finding for row in there) and any(row.operator_state for row in there)


def test_batches_and_offsets_are_those_of_the_checkpoint(session: SparkSession) -> None:
    place = SAMPLES / "kafka-pipeline-died-mid-batch"
    ck = Checkpoint.open(str(place / "checkpoint"))
    batches = read(session, place, view="batches", newest="4").orderBy("batch_id").collect()
    assert [row.batch_id for row in batches] == sorted({*ck.offset_ids, *ck.commit_ids})[-4:]
    assert [row.batch_id for row in batches if row.status == "pending"] == [8] == [ck.pending_batch]
    newest = ck.offset_ids[-1]
    entry = ck.offset(newest)
    offsets = read(session, place, view="offsets", newest="1").where("source = '0'").collect()
    progress = ck.progress("0", [newest])
    assert {f"{row.topic}-{row.partition}": row.position for row in offsets} == dict(
        zip(progress.partitions, map(int, progress.positions[0]), strict=True)
    )
    assert {row.batch_id for row in offsets} == {newest} and {row.source_kind for row in offsets} == {"kafka"}
    times = read(session, place, view="offsets", newest="1").selectExpr("unix_millis(planned_at) as ms")
    assert entry is not None and {row.ms for row in times.collect()} == {entry.timestamp_ms}


def test_state_files_and_findings_are_those_of_the_checkpoint(session: SparkSession) -> None:
    place = SAMPLES / "missing-delta-file"
    before = sorted((path, path.stat().st_mtime_ns) for path in place.rglob("*"))
    files = read(session, place, view="state_files").collect()
    real = {
        path.relative_to(place / "checkpoint").as_posix() for path in (place / "checkpoint/state").rglob("*")
    }
    assert len(files) > 10 and {row.file for row in files} <= real
    for row in files:
        assert row.size_bytes == (place / "checkpoint" / row.file).stat().st_size
    findings = read(session, place, view="findings").collect()
    report = judge(Checkpoint.open(str(place / "checkpoint"))).findings
    assert Counter(row.id for row in findings) == Counter(finding.id for finding in report.findings)
    assert sorted((path, path.stat().st_mtime_ns) for path in place.rglob("*")) == before


WRONG = [
    ({"view": "rows"}, "There is no view rows; choose one of survey, batches, offsets"),
    ({"newest": "3"}, "The option newest is for the views batches, offsets and findings; the view survey"),
    (
        {"view": "batches", "newest": "0"},
        "The option newest takes a number of batches from 1 to 1,000,000, not 0",
    ),
    ({"view": "batches", "newest": "many"}, "not many"),
    ({"view": "batches", "level": "quick"}, "The option level is for the view survey"),
    ({"level": "deep"}, "There is no level deep; choose one of quick and normal"),
    ({"colour": "red"}, "There is no option colour; a checkpoint is read with view, newest and level"),
]


@pytest.mark.parametrize(("options", "sentence"), WRONG)
def test_a_wrong_option_is_one_sentence(options: dict[str, str], sentence: str) -> None:
    from core.spark.datasource import CheckpointSource

    with pytest.raises(UsageError) as failed:
        CheckpointSource({"path": str(SAMPLES), **options}).schema()
    assert sentence in str(failed.value)


def test_what_cannot_be_asked_is_said_by_spark(session: SparkSession) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match="There is no view rows; choose one of survey"):
        read(session, SAMPLES, view="rows")
    with pytest.raises(AnalysisException, match="Name where the checkpoints lie"):
        session.read.format("checkpoint").load().count()
    with pytest.raises(AnalysisException, match="has a schema of its own"):
        session.read.format("checkpoint").schema("a int").load(str(SAMPLES)).count()


def test_every_view_has_its_schema_and_a_root_that_is_not_there_is_a_row(
    session: SparkSession, tmp_path: Path
) -> None:
    roots = [str(SAMPLES / "missing-delta-file"), str(tmp_path / "nothing")]
    for view in COLUMNS:
        found = session.read.format("checkpoint").option("VIEW", view).load(roots)
        assert dict(found.dtypes) == dict(COLUMNS[view])
        rows = found.collect()
        errors = [(row.location, row.error) for row in rows if row.error is not None]
        assert [place for place, _ in errors] == [roots[1]] and "Nothing found" in errors[0][1]
        assert len(rows) > 1
    assert session.read.format("checkpoint").load(str(tmp_path)).collect() == []


def test_a_worker_without_a_package_is_one_sentence(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.errors import AnalysisException

    from core.spark import datasource

    monkeypatch.setattr(datasource, "NEEDED", ("numpy", "no_such_package"))
    datasource.register(spark, DEFAULTS)
    with pytest.raises(
        AnalysisException, match=r"lacks what reads checkpoints: no_such_package\. Install it"
    ):
        read(spark, SAMPLES)


@pytest.fixture
def store() -> Iterator[S3Server]:
    with S3Server.start() as server:
        server.bucket("fleet")
        yield server


def test_a_store_that_refuses_one_checkpoint_loses_no_row(spark: SparkSession, store: S3Server) -> None:
    from core.spark.datasource import register

    names = ("files-stopped-cleanly", "missing-delta-file", "kafka-pipeline-died-mid-batch")
    for name in names:
        store.upload("fleet", f"cks/{name}", SAMPLES / name / "checkpoint")
    options = store.storage_options
    root = RootSettings.model_validate({"url": "s3://fleet/cks", "storage_options": options})
    register(spark, DEFAULTS.model_copy(update={"roots": {"prod": root}}))
    frame = read(spark, "prod")
    assert {row.path: row.status for row in frame.collect()} == {
        "files-stopped-cleanly": "resumes",
        "missing-delta-file": "fails",
        "kafka-pipeline-died-mid-batch": "reruns",
    }
    store.fail({"match": "cks/missing-delta-file/", "status": 403, "code": "AccessDenied", "times": -1})
    found = {row.path: row for row in frame.collect()}
    assert set(found) == set(names) and found["files-stopped-cleanly"].status == "resumes"
    assert found["missing-delta-file"].status in ("unreadable", "unknown")
    assert options["secret"] not in str(found)


def test_a_checkpoint_is_read_while_its_query_commits(session: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "running"
    rate = session.readStream.format("rate").option("rowsPerSecond", 50).load()
    counted = rate.groupBy((rate.value % 3).alias("key")).count()
    query = (
        counted.writeStream.format("noop")
        .outputMode("update")
        .option("checkpointLocation", str(place))
        .trigger(processingTime="0 seconds")
        .start()
    )
    try:
        until, seen = time.monotonic() + 60, set()
        while not (place / "commits" / "0").exists() and time.monotonic() < until:
            time.sleep(0.1)
        while len(seen) < 3 and time.monotonic() < until:
            for view in ("survey", "batches", "offsets", "state_files"):
                rows = read(session, tmp_path, view=view).collect()
                assert [row.error for row in rows if row.error is not None] == []
                if view == "survey":
                    seen |= {row.last_committed_batch for row in rows} - {None}
                    assert not {row.status for row in rows} & {"fails", "unreadable"}
        assert query.exception() is None and query.isActive
    finally:
        query.stop()
    assert len(seen) >= 3
    batches = read(session, tmp_path, view="batches", newest="1000").collect()
    ck = Checkpoint.open(str(place))
    assert {row.batch_id for row in batches} == {*ck.offset_ids, *ck.commit_ids}
