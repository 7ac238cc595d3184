"""Recovery without a checkpoint: what is possible, what is asked for, what is never promised."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.checkpoint.lost import lost_checkpoint
from core.checkpoint.sources.registry import kind_read_with
from core.cli import main
from core.errors import UsageError
from core.judgement import judge
from core.recovery import Answers, forms, generate, options
from core.recovery.context import answered_sources
from tests.support.build import SAMPLES
from tests.support.spy import no_writes

FILES = ["--set", "source.0.format=json", "--set", "source.0.path=/data/in", "--set", "sink=file"]
LAKEFLOW = ["--set", "platform=lakeflow", "--set", "sink=lakeflow_table"]
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> dict[str, Any]:
        assert main(["recover", *arguments, "--without-checkpoint", "--json"]) == 0
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    return call


def by_id(answer: dict[str, Any]) -> dict[str, Any]:
    return {option["id"]: option for option in answer["options"]}


def test_a_start_is_no_option_and_says_what_it_would_do(run: Run) -> None:
    found = by_id(run(*FILES, "--set", "source_complete=yes"))
    assert not found["restart"]["possible"] and "drops new rows" in found["restart"]["why"]
    assert found["full_refresh"]["recommended"] and found["full_refresh"]["possible"]
    impossible = {name for name, option in found.items() if not option["possible"]}
    assert {"reset", "rewind", "drop_state", "repair_files", "backup", "skip_batch"} <= impossible


@pytest.mark.parametrize("platform", [FILES, LAKEFLOW])
def test_nothing_is_recommended_while_nobody_knows_whether_the_source_is_complete(
    run: Run, platform: list[str]
) -> None:
    assert not any(option["recommended"] for option in run(*platform)["options"])


def test_a_pipeline_whose_checkpoint_nobody_can_open_may_still_be_started(run: Run) -> None:
    restart = by_id(run(*LAKEFLOW, "--set", "source_complete=yes"))["restart"]
    assert restart["possible"] and "start an update first" in restart["why"]
    assert restart["loses"] == restart["repeats"] == "The files cannot tell."


def test_what_the_source_lost_needs_the_backfill(run: Run) -> None:
    found = by_id(run(*FILES, "--set", "source_complete=no"))
    assert found["backup_and_backfill"]["recommended"] and not found["full_refresh"]["possible"]


def test_a_pipeline_resets_or_refreshes_itself(run: Run) -> None:
    found = by_id(run(*LAKEFLOW, "--set", "source_complete=yes"))
    assert found["full_refresh"]["recommended"] and found["reset"]["possible"]
    assert "may come again" in found["reset"]["repeats"] and "latest position" in found["reset"]["loses"]
    assert "emptied" in found["full_refresh"]["repeats"]


def test_without_sources_it_asks_for_them(run: Run) -> None:
    found = by_id(run("--set", "sink=file"))
    assert "source.0.format" in found["full_refresh"]["why"]


def test_the_places_beside_the_answers_count(run: Run, tmp_path: Path) -> None:
    table = SAMPLES / "delta-batch-already-in-table" / "sink"
    answer = run(
        "--source", f"0={table}", "--sink", str(table), "--option", "full_refresh",
        "--set", "sink=delta", "--set", "source_complete=yes", "--set", "platform=pyspark",
    )  # fmt: skip
    text = next(code["text"] for code in answer["code"] if code["kind"] == "file")
    assert f'SOURCE_0_PATH = "{table}"' in text.replace(
        "'", '"'
    ) and 'SOURCE_0_FORMAT = "delta"' in text.replace("'", '"')
    assert f'SINK_PATH = "{table}"' in text.replace("'", '"')


def test_what_lies_there_is_never_passed_over(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not gone"):
        lost_checkpoint(str(SAMPLES / "files-died-mid-batch" / "checkpoint"))
    assert lost_checkpoint(str(tmp_path / "gone")).is_bare
    assert lost_checkpoint(str(tmp_path)).is_bare  # an empty directory


def test_the_place_of_the_old_checkpoint_is_the_new_one(tmp_path: Path) -> None:
    answers = Answers(
        {"sink": "file", "source_complete": "yes", "source.0.format": "json", "platform": "pyspark"}
    )
    with no_writes(tmp_path):
        context = judge(lost_checkpoint(str(tmp_path / "gone"))).recovery(answers)
        (block,) = generate(context, "full_refresh")
        kinds = [form.form for form in forms(context, "full_refresh")]
    assert f"NEW_CHECKPOINT = '{tmp_path / 'gone'}'" in block.text.replace('"', "'")
    assert kinds == ["snippet", "script", "kit", "file", "runbook", "plan"] and "nothing://" not in str(
        forms(context, "full_refresh")
    )
    assert len(options(context)) == 11


@pytest.mark.parametrize(
    ("name", "topics", "kind"),
    [
        ("kafka", None, "kafka"),
        ("JSON", None, "file"),
        ("delta", None, "delta"),
        (None, "orders", "kafka"),
        (None, None, "unknown"),
        ("acme", None, "unknown"),
        ("rate", None, "rate"),
    ],
)
def test_a_format_names_the_kind_of_source(name: str | None, topics: str | None, kind: str) -> None:
    assert kind_read_with(name, topics).name == kind


def test_sources_come_in_the_order_of_their_keys() -> None:
    answers = Answers({f"source.{key}.format": "json" for key in ("10", "2", "clicks", "0")})
    assert [source.key for source in answered_sources(answers)] == ["0", "2", "10", "clicks"]


@pytest.mark.parametrize("arguments", [["recover"], ["forecast"]])
def test_a_location_or_the_word_that_there_is_none(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "LOCATION" in capsys.readouterr().err
