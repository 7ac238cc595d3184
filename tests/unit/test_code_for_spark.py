"""The zip that carries the project to Spark's Python workers: it is enough, and it says what it needs."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import SparkError
from core.settings import DEFAULTS
from core.spark.executors import PLACES_OF_A_TASK, Work, spread
from core.spark.package import NEEDED, code_zip
from core.survey import each_once, search_root, survey_row
from core.survey.tables import COLUMNS, TableQuestion, tables
from tests.support.build import PROJECT, corpus_names, unpack_corpus

SAMPLES = PROJECT / "sample_checkpoints"
READ = """
import json, sys
sys.path.insert(0, sys.argv[1])
from core.survey import each_once, search_root
from core.survey.tables import COLUMNS, TableQuestion, tables
from core.settings import DEFAULTS
places = each_once([search_root(sys.argv[2], DEFAULTS)])
rows = {v: sum(b.num_rows for b in tables(places, DEFAULTS, TableQuestion(v))) for v in COLUMNS}
modules = {n: m.__file__ for n, m in sys.modules.items() if n == "core" or n.startswith("core.")}
print(json.dumps([rows, modules]))
"""


def test_the_zip_is_enough_to_read_every_view_and_needs_the_packages_that_are_named(tmp_path: Path) -> None:
    command = (sys.executable, "-I", "-c", READ, str(code_zip()), str(SAMPLES))
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows, modules = json.loads(done.stdout)
    assert all(rows.values()) and rows["survey"] == len(list(SAMPLES.glob("*/checkpoint")))
    assert all(file.startswith(str(code_zip())) for file in modules.values())
    packages = set()
    with zipfile.ZipFile(code_zip()) as archive:
        for file in modules.values():
            for node in ast.parse(archive.read(file.removeprefix(f"{code_zip()}/"))).body:
                if isinstance(node, ast.Import):
                    packages |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module:
                    packages.add(node.module.partition(".")[0])
    assert packages - set(sys.stdlib_module_names) - {"core"} == set(NEEDED)


def test_the_zip_is_made_once_and_the_same_code_gives_the_same_name() -> None:
    first = code_zip()
    assert code_zip() == first
    code_zip.cache_clear()
    assert code_zip().name == first.name and code_zip().read_bytes() == first.read_bytes()


def test_a_worker_without_a_package_says_so_before_anything_is_imported() -> None:
    with pytest.raises(SparkError, match="lacks what reads checkpoints: no_such_package and no_other_one"):
        Work(b"", ("json", "no_such_package", "no_other_one")).module("core.survey")


def test_tasks_share_the_checkpoints_and_none_is_in_two() -> None:
    place = each_once([search_root(str(SAMPLES / "missing-delta-file"), DEFAULTS)])[0]
    for count, tasks in ((0, 0), (1, 1), (5, 5), (9, 8), (128, 8), (129, 9), (5_000, 313)):
        groups = spread([place] * count)
        assert len(groups) == tasks and sum(map(len, groups)) == count
        assert all(1 <= len(group) <= PLACES_OF_A_TASK for group in groups)


def test_a_number_that_no_column_can_hold_is_an_error_of_its_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = each_once([search_root(str(SAMPLES / "missing-delta-file"), DEFAULTS)])[0]
    wide = replace(survey_row(place.location), next_batch=2**70)
    monkeypatch.setattr("core.survey.tables.survey_row", lambda *_: wide)
    (batch,) = tables([place], DEFAULTS, TableQuestion())
    (row,) = batch.to_pylist()
    assert row["status"] == "unreadable" and "OverflowError" in row["error"] and row["path"] == place.path


def test_the_documented_schemas_are_those_of_the_views() -> None:
    page = (PROJECT / "docs" / "spark.md").read_text()
    (block,) = re.findall(r"```text\n(survey: .*?)```", page, re.DOTALL)
    written: dict[str, dict[str, str]] = {}
    for entry in re.split(r"\n(?=\w+: root)", block):
        view, _, columns = entry.partition(": ")
        named = (column.split(" ", 1) for column in re.split(r",\s+", columns.strip()))
        written[view] = dict(named)
    assert written == {view: dict(columns) for view, columns in COLUMNS.items()}


@pytest.mark.parametrize("view", COLUMNS)
def test_every_view_reads_checkpoints_of_every_spark(view: str, tmp_path: Path) -> None:
    for name in corpus_names():
        unpack_corpus(name, tmp_path)
    places = each_once([search_root(str(tmp_path), DEFAULTS)])
    rows = [row for batch in tables(places, DEFAULTS, TableQuestion(view)) for row in batch.to_pylist()]
    assert {row["location"] for row in rows} <= {place.location.url for place in places}
    # An offset that cannot be read is a row of its batch, with the reason.
    assert [row["error"] for row in rows if row["error"] and row.get("batch_id") is None] == []
    seen = {row["path"] for row in rows}
    assert len(seen) == len(places) == len(corpus_names()) if view in ("survey", "batches") else len(seen) > 3
