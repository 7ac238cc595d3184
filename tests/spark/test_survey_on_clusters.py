"""The survey and the format ``checkpoint`` on a standalone cluster of two workers and through a Spark Connect
server: the rows are those of the local survey, also when a worker is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.settings import DEFAULTS, Settings
from core.spark.survey import survey_on_spark
from core.storage import Requests
from core.survey import SurveyRow, each_once, search_root, survey_places
from core.survey.tables import COLUMNS, TableQuestion, tables
from tests.support.build import PROJECT, SAMPLES
from tests.support.clusters import connect_server, standalone_cluster
from tests.support.documented_queries import blocks, make_fleet

pytestmark = [pytest.mark.spark, pytest.mark.clusters]

# What a notebook does. The workers start in another directory, without PYTHONPATH: the code comes as a zip.
NOTEBOOK = """
import json, sys
sys.path.insert(0, sys.argv[1])
from pyspark.sql import SparkSession
from core.settings import DEFAULTS
from core.spark.datasource import register
kind, url = sys.argv[2:4]
if kind == "remote":
    spark = SparkSession.builder.remote(url).create()
else:
    local = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    small = {"spark.executor.memory": "512m", "spark.ui.enabled": "false", "spark.log.level": "ERROR"}
    builder = SparkSession.builder.master(url)
    for key, value in {**local, **small}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
register(spark, DEFAULTS)
found = {}
def rows(frame):
    return [json.loads(line) for line in frame.toPandas().to_json(
        orient="records", lines=True, date_format="epoch", date_unit="ms").splitlines()]
asked = json.loads(sys.argv[4])
for view in asked["views"]:
    frame = spark.read.format("checkpoint").option("view", view).load(asked["samples"])
    found[view] = [frame.dtypes, rows(frame)]
names = {"spark": spark, "root": asked["fleet"], "history": asked["history"]}
exec(asked["setup"], names)
found["queries"] = [rows(spark.sql(query)) for query in asked["queries"]]
print(json.dumps(found))
spark.stop()
"""
OF_A_MOMENT = {"read_at_ms": 0, "age_seconds": None, "seconds": 0.0, "requests": Requests()}


def without_moment(rows: list[SurveyRow]) -> list[SurveyRow]:
    return sorted((replace(row, **OF_A_MOMENT) for row in rows), key=lambda row: row.location)


def local_rows(root: Path) -> list[SurveyRow]:
    places = each_once([search_root(str(root), DEFAULTS)])
    return without_moment(list(survey_places(places, DEFAULTS)))


def notebook(kind: str, url: str, place: Path, fleet: Path) -> dict[str, Any]:
    (setup,), queries = blocks("python"), blocks("sql")
    places = {"samples": str(SAMPLES), "fleet": str(fleet), "history": str(fleet.parent / "history")}
    asked = json.dumps({"views": list(COLUMNS), "setup": setup, "queries": queries, **places})
    command = (sys.executable, "-c", NOTEBOOK, str(PROJECT), kind, url, asked)
    python = {**os.environ, "PYSPARK_PYTHON": sys.executable}  # of the workers; python3 lacks the packages
    done = subprocess.run(
        command, cwd=place, env=python, capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """The checkpoints of the documented queries, and what a local Spark answers to them."""
    fleet = make_fleet(tmp_path_factory.mktemp("documented"))
    answers = notebook("master", "local[2]", fleet.parent, fleet)["queries"]
    assert len(answers) == 5 and all(answers)  # tests/spark/test_documented_queries.py: that they are right
    return fleet, answers


def check_views(found: dict[str, Any]) -> None:
    """Every view has the rows that it has without Spark."""
    places = each_once([search_root(str(SAMPLES), DEFAULTS)])
    for view, columns in COLUMNS.items():
        types, rows = found[view]
        assert dict(types) == dict(columns)
        local = [row for batch in tables(places, DEFAULTS, TableQuestion(view)) for row in batch.to_pylist()]
        names = [name for name, kind in columns.items() if kind == "string" and name != "sentence"]
        assert sorted(str([row[name] for name in names]) for row in rows) == sorted(
            str([row[name] for name in names]) for row in local
        )


def engine_of(place: Path, **chosen: Any) -> Settings:
    place.mkdir()
    return DEFAULTS.model_copy(update={"spark_directory": str(place), "spark_memory": "512m", **chosen})


def test_a_standalone_cluster_gives_the_rows_of_the_local_survey(
    tmp_path: Path, local: tuple[Path, list[Any]]
) -> None:
    fleet, answers = local
    with standalone_cluster(tmp_path) as cluster:
        found = notebook("master", cluster.master, tmp_path, fleet)
        assert found.pop("queries") == answers
        check_views(found)
        settings = engine_of(tmp_path / "engine", spark_master=cluster.master)
        surveyed = survey_on_spark([str(SAMPLES)], settings)
    assert without_moment(surveyed.rows) == local_rows(SAMPLES)


def test_a_lost_worker_loses_no_row(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet"
    for number in range(300):
        shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", fleet / f"query-{number:03}")
    killed: list[tuple[int, int]] = []
    with standalone_cluster(tmp_path) as cluster:

        def kill_one(done: int, known: int) -> None:
            if not killed and 1 < done < known - 4:
                cluster.workers[0].kill()
                killed.append((done, known))

        settings = engine_of(tmp_path / "engine", spark_master=cluster.master)
        found = survey_on_spark([str(fleet)], settings, on_progress=kill_one)
    assert killed, "the survey was over before a worker was killed"
    rows = without_moment(found.rows)
    assert len(rows) == 300 and rows == local_rows(fleet)


def test_spark_connect_gives_the_rows_of_the_local_survey_and_keeps_them(
    tmp_path: Path,
    local: tuple[Path, list[Any]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pyarrow import dataset

    from core.cli import main

    with connect_server(tmp_path) as remote:
        fleet, answers = local
        found = notebook("remote", remote, tmp_path, fleet)
        assert found.pop("queries") == answers
        check_views(found)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))  # the client needs no Java
        kept = str(tmp_path / "kept")
        options = ("--engine", "spark", "--remote", remote, "--to", kept, "--json")
        assert main(["survey", str(SAMPLES), *options]) == 1
        rows = json.loads(capsys.readouterr().out)["rows"]
    here = {row.location: (row.status, row.sentence, row.state_bytes) for row in local_rows(SAMPLES)}
    assert {row["location"]: (row["status"], row["sentence"], row["state_bytes"]) for row in rows} == here
    assert dataset.dataset(kept, format="parquet").to_table().num_rows == len(here)
