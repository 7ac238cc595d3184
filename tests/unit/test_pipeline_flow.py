"""The checkpoint of a flow of Spark's declarative pipelines: its place, the number that a recovered one
gets, and the commands. A pipeline of Spark is run in ``tests/spark/test_pipeline_runs.py``."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from core.analysis.findings import findings
from core.analysis.forecast import forecast
from core.analysis.forecast.verdict import in_few_words
from core.checkpoint import Checkpoint
from core.checkpoint.pipeline_flow import PipelineFlow, pipeline_flow
from core.recovery import (
    Answers,
    OptionId,
    forms,
    generate,
    options,
    plan,
    read_recovery_context,
    why_no_code,
)
from core.recovery.recipe import recipe
from core.recovery.resume import resume_points
from core.recovery.snippet import snippet
from core.settings import RootSettings, Settings
from core.survey import attention, survey_row
from core.survey.search import search_root
from tests.support.build import SAMPLES

FLOW = "_checkpoints/spark_catalog/default/orders/by_day"


@pytest.mark.parametrize("start", ["/data", "s3://bucket/p", "file:///data/storage"])
@pytest.mark.parametrize("end", ["", "/"])
def test_a_place_of_a_flow_is_recognised(start: str, end: str) -> None:
    found = pipeline_flow(f"{start}/{FLOW}/7{end}")
    assert found == PipelineFlow("spark_catalog.default.orders", "by_day", f"{start}/{FLOW}", 7)
    assert found.next_place == f"{start}/{FLOW}/8"


@pytest.mark.parametrize(
    "place", [None, "", "/data/checkpoints/orders/1", f"/data/{FLOW}", f"/data/{FLOW}/7.repaired",
    f"/data/{FLOW}/7/offsets",
     "/data/_checkpoints/orders/7", f"/data/{FLOW}/-1"],
)  # fmt: skip
def test_any_other_place_is_none(place: str | None) -> None:
    assert pipeline_flow(place) is None


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A checkpoint in such a place whose newest commit is empty."""
    place = tmp_path / FLOW / "2"
    shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", place)
    newest = max((place / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    newest.write_bytes(b"")
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
    return place


def code(place: Path, option: OptionId, **answers: str) -> tuple[str, str]:
    """Snippet and first file."""
    context = read_recovery_context(Checkpoint.open(str(place)), Answers({"platform": "pyspark", **answers}))
    blocks = generate(context, option)
    return snippet(context, option).text, blocks[0].text if blocks else ""


def test_a_repaired_copy_gets_the_next_number_and_the_pipeline_is_run(broken: Path) -> None:
    pasted, script = code(broken, "repair_files", sink="file")
    assert f'NEW_CHECKPOINT = "{broken.parent}/3"' in script
    assert f"takes the highest number in the directory of its flow: {broken.parent}/3" in pasted
    assert "spark-pipelines run --refresh spark_catalog.default.orders" in pasted
    assert "WRITER" not in pasted, "no code of a pipeline names a location"


def test_a_place_that_was_answered_is_kept(broken: Path) -> None:
    _, script = code(broken, "repair_files", sink="file", checkpoint_new="/elsewhere/9")
    assert 'NEW_CHECKPOINT = "/elsewhere/9"' in script


def test_a_restart_is_a_run_of_the_pipeline(tmp_path: Path) -> None:
    place = tmp_path / FLOW / "0"
    shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", place)
    pasted, _ = code(place, "restart")
    assert pasted.splitlines()[2:] == [
        "# This is a checkpoint of a declarative pipeline (flow by_day). Start it again:",
        "#     spark-pipelines run --refresh spark_catalog.default.orders",
    ]


def test_a_full_refresh_can_be_left_to_the_pipeline(broken: Path) -> None:
    context = read_recovery_context(Checkpoint.open(str(broken)), Answers({"source_complete": "unknown"}))
    snippet_block, plan_block = forms(context, "full_refresh")
    assert "table is EMPTIED" in snippet_block.text
    assert "spark-pipelines run --full-refresh spark_catalog.default.orders" in snippet_block.text
    assert f"a new checkpoint, {broken.parent}/3" in snippet_block.text
    assert json.loads(plan_block.text)["new_checkpoint"] == f"{broken.parent}/3"
    assert generate(context, "full_refresh") == () and "spark-pipelines" in why_no_code(
        context, "full_refresh"
    )
    steps = " ".join(step.title for step in plan(context, recipe(context, "full_refresh")).steps)
    assert "Copy the table spark_catalog.default.orders" in steps and "--full-refresh" in steps
    found = next(item for item in options(context) if item.id == "full_refresh")
    assert found.possible and "empties the table" in found.why


def test_what_a_full_refresh_of_a_pipeline_would_lose_is_not_offered(broken: Path) -> None:
    context = read_recovery_context(Checkpoint.open(str(broken)), Answers({"source_complete": "no"}))
    refused = {item.id: item.why for item in options(context) if not item.possible}
    assert "rows that are gone at the source would be lost" in refused["full_refresh"]
    assert "no script writes beside it" in refused["backup_and_backfill"]
    assert forms(context, "backup_and_backfill") == ()


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A checkpoint that works, beside those with the numbers 3 and 10, which hold nothing."""
    place = tmp_path / FLOW / "2"
    shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", place)
    for name in ("3", "10", "11.repaired", "x"):
        (place.parent / name).mkdir()
    return place


def test_a_number_that_is_not_the_highest_is_said_to_be_unused(older: Path) -> None:
    ck = Checkpoint.open(str(older))
    answer = forecast(ck)
    assert (
        answer.sentence.startswith("No start uses this checkpoint")
        and f"{older.parent}/10" in answer.sentence
    )
    assert answer.outcome == "resume", "what a start of this one would do is said all the same"
    assert [(risk.id, risk.certainty, risk.weight) for risk in answer.risks] == [
        ("NOT_IN_USE", "inferred", "attention")
    ]
    assert answer.certainty == "inferred" and in_few_words(answer) == "not in use"
    assert [item.severity for item in findings(ck).findings if item.id == "NOT_IN_USE"] == ["attention"]
    assert f"{older.parent}/10" in resume_points(ck).note
    context = read_recovery_context(ck, Answers({}))
    assert {item.id for item in options(context) if item.possible} == {"backup"}
    assert f"{older.parent}/10" in recipe(context, "restart").why


def test_an_unused_checkpoint_that_would_fail_is_said_to_be_unused_first(older: Path) -> None:
    for name in ("metadata", ".metadata.crc"):
        (older / name).unlink()
    answer = forecast(Checkpoint.open(str(older)), spark="4.3")
    assert answer.outcome == "fail" and answer.sentence.startswith("No start uses this checkpoint")


@pytest.mark.parametrize("name", ["1", "x", "10.repaired"])
def test_the_highest_number_is_in_use(older: Path, name: str) -> None:
    for other in ("3", "10"):
        (older.parent / other).rmdir()
    (older.parent / name).mkdir(exist_ok=True)
    answer = forecast(Checkpoint.open(str(older)))
    assert not answer.risks and "higher number" not in " ".join(answer.not_checked)


def test_a_number_that_is_still_written_to_is_no_pipelines(older: Path) -> None:
    """Queries that somebody numbers in such a place: both run."""
    began = 1_700_000_000
    (older.parent / "10" / "metadata").write_text("{}")
    os.utime(older.parent / "10" / "metadata", (began, began))
    newest = max((older / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    os.utime(newest, (began + 60, began + 60))
    assert not forecast(Checkpoint.open(str(older))).risks
    for path in older.rglob("*"):
        os.utime(path, (began - 60, began - 60))
    assert [risk.id for risk in forecast(Checkpoint.open(str(older))).risks] == ["NOT_IN_USE"]


def test_numbers_elsewhere_are_not_those_of_a_pipeline(tmp_path: Path) -> None:
    place = tmp_path / "orders" / "2"
    shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", place)
    (place.parent / "3").mkdir()
    assert not forecast(Checkpoint.open(str(place))).risks


def test_what_lies_above_the_roots_is_not_looked_at(older: Path) -> None:
    shared = Settings(address="0.0.0.0", roots={"only": RootSettings(url=str(older))})
    answer = forecast(Checkpoint.open(str(older), shared))
    assert not answer.risks and any("higher number" in item for item in answer.not_checked)
    above = Settings(address="0.0.0.0", roots={"all": RootSettings(url=str(older.parents[5]))})
    assert [risk.id for risk in forecast(Checkpoint.open(str(older), above)).risks] == ["NOT_IN_USE"]


def test_a_backup_stays_beside_the_numbers(broken: Path) -> None:
    pasted, _ = code(broken, "backup")
    assert "spark-pipelines" not in pasted


def test_another_query_keeps_its_snippet(tmp_path: Path) -> None:
    place = tmp_path / "orders" / "2"
    shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", place)
    pasted, _ = code(place, "restart")
    assert "spark-pipelines" not in pasted and "WRITER" in pasted


def test_a_survey_calls_older_numbers_unused_behind_all_others(older: Path) -> None:
    shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", older.parent / "10", dirs_exist_ok=True)
    for path in older.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    for name in ("metadata", ".metadata.crc"):
        (older / name).unlink()
    rows = {
        place.path: survey_row(place.location) for place in search_root(str(older.parent), Settings()).places
    }
    ordered = sorted(rows, key=lambda path: attention(rows[path]))
    assert ordered[-1] == "2" and rows["10"].status == "resumes"
    unused = rows["2"]
    assert (unused.status, str(unused.next_start), unused.has_problems) == (
        "unused",
        "older, not used",
        False,
    )
    assert unused.findings == {"blocks_restart": 0, "data_risk": 0, "attention": 1}
    assert unused.worst_finding == "NOT_IN_USE"
