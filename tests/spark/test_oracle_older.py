"""The oracle under an older Spark: a short list of cases, at least one of each class and those that end
otherwise there than under the newest, each a test of its own.

They run in one pytest of the environment that `scripts/setup tests` makes for it. `scripts/test --spark
3.5.9` runs all cases there.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from tests.spark.cases import CASES, EVERY_CASE
from tests.support.spark import CRASH_REPORT, OLDER_SPARK, PROJECT, older_environment

TEST = "tests/spark/test_oracle.py::test_the_forecast_says_what_spark_does"
DIFFERENT = (
    "clean-windows",
    "commit_missing-windows",
    "metadata_missing-stateless",  # goes on with a new query id
    "all_offsets_missing-stateless",  # batch 0 is delivered again before the query dies
    "all_logs_missing-windows",  # starts from scratch over old state
    "foreign_file_before_batch_0-stateless",  # starts from scratch
    "offset_missing-stateless",
    "newest_offset_version_9-stateless",  # the errors of the logs have no condition
    "version_2_over_version_1-stateless",  # offset log version 2 is not known
    "newest_commit_version_2-windows",
    "newest_commit_without_version-stateless",
    "commit_version_9_and_previous_offset_missing-stateless",  # the order of the checks
    "previous_offset_missing_pending-stateless",
    "source_entry_missing_in_the_middle-stateless",
    "source_without_offset_pending-stateless",  # goes on from the entry before, not from scratch
    "state_folder_missing-windows",  # the first file is missed, not the folder
    "newest_delta_missing-windows",
    "newest_delta_empty-windows",
    "newest_snapshot_empty-snapshots",  # no older snapshot is tried
    "operator_removed-windows",  # runs and drops the state
    "hidden_checksums_garbage-windows",
    "offset_as_before-stateless",
    "rewound_by_3-stateless",
    "input_of_the_pending_batch_gone-stateless",
    "newest_zip_missing-windows_rocksdb",
    "newest_delta_cut-windows",
    "rewound_by_4_and_ran-snapshots",
    "junk_of_later_versions-windows",
    "schema_empty-windows",
    "fewer_partitions-windows_with_data",
    "query_has_one_source_more-stateless",
    "metadata_empty-stateless",
)
# Classes of features that this Spark does not have, or that were not restarted on it yet.
ONLY_NEWER = {"state format 2", "commits ahead", "edited by hand", "foreign files in state", "pinned values"}


class Report(NamedTuple):
    """What the other pytest said: the verdict per case, its whole output, and whether its JVM died of itself."""

    verdicts: dict[str, str]
    output: str
    has_crashed: bool


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The cases under the older Spark, in one run unless its JVM crashes."""
    python = older_environment() / "bin" / "python"
    assert python.exists(), f"{python.parents[1]} is missing: scripts/setup tests makes it"
    first = restart_there(python, tmp_path_factory.mktemp("older"), DIFFERENT)
    left = [case for case in DIFFERENT if first.verdicts.get(case) != "passed"]
    if not left or not first.has_crashed:
        return first
    # RocksDB of 3.5 may end the whole JVM while a task is stopped (SIGSEGV in DBImpl::GetProperty), and every
    # case after that is lost. That says nothing about a forecast: what is left is restarted once more.
    again = restart_there(python, tmp_path_factory.mktemp("older"), left)
    return Report({**first.verdicts, **again.verdicts}, first.output + again.output, again.has_crashed)


def restart_there(python: Path, place: Path, cases: Sequence[str]) -> Report:
    """These cases in one pytest of the other environment."""
    report = place / "report.xml"
    command = [
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--basetemp={place / 'tmp'}",
        f"--junitxml={report}",
    ]
    # The settings that this run's own Spark left must not reach the other one.
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYSPARK_", "SPARK_", "PYTEST_"))
    } | {EVERY_CASE: "yes"}
    done = subprocess.run(
        [*command, *(f"{TEST}[{case}]" for case in cases)],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    crashed = any((place / "tmp").rglob(CRASH_REPORT))
    return Report(read(report) if report.exists() else {}, done.stdout + done.stderr, crashed)


def read(report: Path) -> dict[str, str]:
    """Case -> "passed", or what is wrong, from a JUnit report."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        bad = [
            f"{child.tag}: {child.get('message')}\n{child.text}"
            for child in case
            if child.tag in ("failure", "error", "skipped")
        ]
        found[case.get("name", "").partition("[")[2].removesuffix("]")] = "\n".join(bad) or "passed"
    return found


def test_every_class_has_a_case_for_the_older_spark() -> None:
    kinds = {case.id: case.kind for case in CASES}
    assert {kinds[name] for name in DIFFERENT} == {case.kind for case in CASES} - ONLY_NEWER


@pytest.mark.spark_3_5
@pytest.mark.parametrize("case", DIFFERENT)
def test_the_forecast_says_what_an_older_spark_does(older: Report, case: str) -> None:
    assert older.verdicts.get(case, f"not in the report of Spark {OLDER_SPARK}:\n{older.output}") == "passed"
