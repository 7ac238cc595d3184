"""The queries of docs/spark.md, run as they are printed there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.checkpoint import Checkpoint
from core.survey import survey_row
from tests.support.documented_queries import GROWING, blocks, make_fleet

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return make_fleet(tmp_path)


def test_the_five_queries_answer(spark: SparkSession, fleet: Path) -> None:
    (setup,) = blocks("python")
    queries = blocks("sql")
    assert len(queries) == 5
    names = {"spark": spark, "root": str(fleet), "history": str(fleet.parent / "history")}
    exec(compile(setup, "docs/spark.md", "exec"), names)
    failing, topics, growth, bill, old = (spark.sql(query).collect() for query in queries)
    check_failing(failing, fleet)
    check_topics(topics, fleet)
    check_growth(growth, fleet)
    check_bill(bill, fleet)
    check_old(old, fleet)


def check_failing(rows: list[Row], fleet: Path) -> None:
    real = {place.name: survey_row(str(place)) for place in fleet.iterdir()}
    assert {row.path for row in rows} == {name for name, row in real.items() if row.status == "fails"}
    found = next(row for row in rows if row.path == "missing-delta-file")
    assert (found.next_batch, found.worst_finding) == (10, "STATE_NOT_RESTORABLE")


def check_topics(rows: list[Row], fleet: Path) -> None:
    place = "kafka-topic-gained-partitions"
    ck = Checkpoint.open(str(fleet / place))
    ck.load(ck.offset_ids)
    progress = ck.progress("0", list(ck.offset_ids))
    topics = {name.rpartition("-")[0] for name in progress.partitions}
    mine = [row for row in rows if row.path == place]
    assert {row.topic for row in mine} == topics and {row.path for row in rows} > {place}
    assert sum(row.batches for row in mine if row.topic == min(topics)) == len(ck.offset_ids)
    read = progress.advance[progress.advance >= 0].sum()
    assert sum(row.offsets_read for row in mine) == int(read) > 0
    assert max(row.furthest_position for row in mine) == int(progress.positions.max())


def check_growth(rows: list[Row], fleet: Path) -> None:
    assert [row.path for row in rows] == [GROWING]
    assert rows[0].bytes_now == survey_row(str(fleet / GROWING)).state_bytes > rows[0].bytes_then > 0


def check_bill(rows: list[Row], fleet: Path) -> None:
    found = {row.path: row for row in rows}
    assert set(found) == {place.name for place in fleet.iterdir()}
    stateless, stateful = found["files-stopped-cleanly"], found["missing-delta-file"]
    local = survey_row(str(fleet / "files-stopped-cleanly"))
    assert local.batches_per_hour is not None and stateless.files == local.files
    assert stateless.dollars_per_month == round(2 * local.batches_per_hour * 730 * 0.005 / 1000, 2) > 0
    per_batch = stateful.dollars_per_month / stateful.batches_per_hour / 730 / 0.005 * 1000
    files = list((fleet / "missing-delta-file" / "state").glob("0/*/[0-9]*.*"))
    state_files = len(files) / len({file.stem for file in files})
    assert per_batch == pytest.approx(2 + state_files, abs=0.01)
    known = [row.dollars_per_month for row in rows if row.dollars_per_month is not None]
    assert known == sorted(known, reverse=True)


def check_old(rows: list[Row], fleet: Path) -> None:
    real = {place.name: survey_row(str(place)).written_by for place in fleet.iterdir()}
    expected = {
        name for name, version in real.items() if version is not None and version.startswith(("2.", "3."))
    }
    assert {path for row in rows for path in row.paths} == expected
    assert "spark-3.2.0-deduplication" in expected and not expected & {"missing-delta-file", GROWING}
    assert all(row.checkpoints == len(row.paths) for row in rows)
