"""``survey --engine spark --to ... --format delta`` on a Spark that has Delta Lake: each survey is appended."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from core.survey import survey_row
from tests.support.build import PROJECT, SAMPLES
from tests.support.delta import PYTHON, DeltaEngine, delta_jars

pytestmark = pytest.mark.clusters

NAMES = ("missing-delta-file", "files-stopped-cleanly")
# The packages of the project beside the PySpark of the second environment, which is found first.
PACKAGES = "import sysconfig; print(sysconfig.get_path('purelib'))"
READ = """
rows = spark.read.format("delta").load(args["table"]).orderBy("surveyed_at", "path").collect()
result = [[str(row.surveyed_at), row.path, row.status, row.state_bytes, row.files_per_batch] for row in rows]
"""


def survey(place: Path, table: Path) -> subprocess.CompletedProcess[str]:
    delta = subprocess.run([str(PYTHON), "-c", PACKAGES], capture_output=True, text=True, check=True)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([delta.stdout.strip(), sysconfig.get_path("purelib")]),
        "SPARK_CONF_DIR": str(place / "conf"),
        "CHECKPOINT_EXPLORER_SPARK_DIRECTORY": str(place / "engine"),
    }
    roots = [str(SAMPLES / name) for name in NAMES]
    command = [str(PYTHON), "-m", "core", "survey", *roots, "--engine", "spark"]
    return subprocess.run(
        [*command, "--to", str(table), "--format", "delta"],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )


def test_two_surveys_are_one_delta_table(tmp_path: Path, delta: DeltaEngine) -> None:
    for name in ("conf", "engine"):
        (tmp_path / name).mkdir()
    settings = {
        "spark.jars": ",".join(map(str, delta_jars())),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    lines = [f"{name} {value}\n" for name, value in settings.items()]
    (tmp_path / "conf" / "spark-defaults.conf").write_text("".join(lines), encoding="utf-8")
    table = tmp_path / "kept"
    for _ in range(2):
        done = survey(tmp_path, table)
        assert done.returncode == 1, done.stderr[-2000:]  # one of them fails at its next start
        assert "2 rows appended to" in done.stdout
    rows = delta.run(READ, table=str(table))
    assert len(rows) == 4 and len({row[0] for row in rows}) == 2
    assert sorted((table / "_delta_log").glob("*.json"))[1].name == f"{1:020}.json"
    real = [survey_row(str(SAMPLES / name / "checkpoint")) for name in NAMES]
    expected = sorted((row.status, row.state_bytes, row.files_per_batch) for row in real)
    assert sorted((row[2], row[3], row[4]) for row in rows[:2]) == expected
    assert sorted((row[2], row[3], row[4]) for row in rows[2:]) == expected
