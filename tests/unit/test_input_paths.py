"""Paths in the log of a file source that Spark cannot open, or that it did not write. What Spark does was seen in
restarts of 3.5, 4.0 and 4.3 (tests/spark/cases/sources.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.analysis.forecast import input_paths
from core.analysis.forecast.input_paths import illegal_at
from core.connectors.input_files import folder_of
from tests.support.build import write
from tests.support.forecasting import files_checkpoint, said


def entry(path: str, log_id: int) -> str:
    """An entry of the log with one file."""
    return "v1\n" + json.dumps({"path": path, "timestamp": 1_795_176_000_000, "batchId": log_id})


@pytest.mark.parametrize(
    ("path", "at"),
    [
        ("file:///in/000<.json", 14),
        ("file:///in/a b.json", 12),
        ("s3a://bucket/in/{x}.json", 16),
        ("file:///in/50%.json", 13),
        ("file:///in/a%20b.json", None),
        ("file:///in/käse-(1);x=1,2@3!.json", None),
        ("in/relative<.json", None),
    ],
)
def test_where_java_refuses_a_path(path: str, at: int | None) -> None:
    assert illegal_at(path) == at


@pytest.mark.parametrize(("commits", "outcome_at"), [(range(5), "start"), (range(4), "batch")])
def test_a_path_of_the_newest_batch_that_is_no_uri_stops_it(
    tmp_path: Path, commits: range, outcome_at: str
) -> None:
    write(files_checkpoint(tmp_path, commits=commits), {"sources/0/4": entry("file:///in/000<.json", 4)})
    for spark in ("3.5", "4.3"):
        answer = said(tmp_path, spark)
        assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", outcome_at, "SOURCE_LOG_PATH")
        assert answer.error is not None and answer.error.error_class == "URISyntaxException"
        assert answer.error.message == "Illegal character in path at index 14: file:///in/000<.json"


def test_in_an_older_entry_it_only_makes_the_file_a_new_one(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"sources/0/1": entry("file:///in/000<.json", 1)})
    answer = said(tmp_path, new_data="yes")
    assert answer.outcome == "resume" and [risk.id for risk in answer.risks] == ["SOURCE_LOG_INCOMPLETE"]
    assert answer.data.append == "duplicates" and not answer.data.is_sure("append")


@pytest.mark.parametrize("is_there", [False, True])
def test_a_path_alone_in_a_directory_that_is_not_there_is_outside_the_source(
    tmp_path: Path, is_there: bool
) -> None:
    (tmp_path / "in").mkdir()
    if is_there:  # another day's directory, for example
        (tmp_path / "io").mkdir()
    root = files_checkpoint(tmp_path / "ck")
    for log_id in range(5):
        folder = "io" if log_id == 4 else "in"
        write(root, {f"sources/0/{log_id}": entry(f"file://{tmp_path}/{folder}/{log_id}.json", log_id)})
    answer = said(root)
    if is_there:
        assert answer.outcome == "resume"
        return
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "start", "SOURCE_LOG_PATH")
    assert answer.error is not None and answer.error.message == "Wrong basePath"
    assert answer.certainty == "inferred"


def test_the_directory_of_the_source_is_looked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log names every file that the source has read: what each of them costs must not depend on the others."""
    root = files_checkpoint(tmp_path)
    files = [
        {"path": f"file:///in/{i}.json", "timestamp": 1_795_176_000_000, "batchId": 4} for i in range(1_000)
    ]
    write(root, {"sources/0/4": "\n".join(["v1", *map(json.dumps, files)])})
    asked: list[str] = []

    def counted(path: str) -> str:
        asked.append(path)
        return folder_of(path)

    monkeypatch.setattr(input_paths, "folder_of", counted)
    assert said(root).outcome == "resume"
    assert 1_000 < len(asked) < 5_000


def test_directories_by_day_are_no_such_thing(tmp_path: Path) -> None:
    root = files_checkpoint(tmp_path / "ck")
    for log_id in range(5):
        write(root, {f"sources/0/{log_id}": entry(f"file:///in/day={log_id}/0.json", log_id)})
    assert said(root).outcome == "resume"


@pytest.mark.parametrize(("commits", "outcome_at"), [(range(5), "start"), (range(4), "batch")])
@pytest.mark.parametrize(
    ("scheme", "error_class"), [("gile", "UnsupportedFileSystemException"), ("s3a", None)]
)
def test_a_path_of_another_scheme_stops_the_batch_that_opens_it(
    tmp_path: Path, commits: range, outcome_at: str, scheme: str, error_class: str | None
) -> None:
    write(files_checkpoint(tmp_path, commits=commits), {"sources/0/4": entry(f"{scheme}:///in/0004.json", 4)})
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", outcome_at, "SOURCE_LOG_PATH")
    assert answer.error is not None and answer.error.error_class == error_class
    assert "another file system" in answer.sentence and answer.certainty == "inferred"


def test_an_older_path_of_another_scheme_names_no_file_that_spark_knows(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"sources/0/1": entry("gile:///in/0001.json", 1)})
    answer = said(tmp_path, new_data="yes")
    assert answer.outcome == "resume" and [risk.id for risk in answer.risks] == ["SOURCE_LOG_INCOMPLETE"]
