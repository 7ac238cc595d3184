"""``python -m core forecast`` and ``python -m core check``: JSON contracts, texts, exit statuses."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.analysis.forecast import Query, forecast
from core.checkpoint import Checkpoint
from core.cli import main
from tests.support.build import SAMPLES, kafka_checkpoint, remove, write
from tests.support.forecasting import CONF_3_5, files_checkpoint, stateful_conf, with_state

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs a verb: exit status, stdout, stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        captured = capfdbinary.readouterr()
        return status, captured.out.decode(), captured.err.decode()

    return call


def document(run: Run, *arguments: object) -> tuple[int, dict[str, Any]]:
    status, out, _ = run(*arguments, "--json")
    return status, json.loads(out)


def test_the_forecast_has_the_fields_of_the_contract(run: Run, tmp_path: Path) -> None:
    status, answer = document(run, "forecast", files_checkpoint(tmp_path, commits=range(4)))
    assert status == 0
    assert (
        answer["schema_version"],
        answer["spark"],
        answer["outcome"],
        answer["batch_id"],
        answer["fails_at"],
    ) == (
        1,
        "4.3",
        "rerun",
        4,
        None,
    )
    assert answer["error"] is None and answer["then"] is None and answer["certainty"] == "certain"
    assert answer["data"] == {"append": "duplicates", "overwrite": "unknown", "skip": "unknown"}
    assert answer["steps"][1]["what"] == "read offsets/4" and answer["steps"][1]["ok"] is True
    assert answer["steps"][1]["evidence"] == ["offsets/4:1"]
    assert answer["sentence"].startswith("Spark will re-run batch 4")
    assert "the sink" in answer["not_checked"]
    assert (answer["sources"], answer["sink"]) == ([], None)
    assert [price["start"] for price in answer["price_of_deleting"]] == [
        "from the beginning",
        "exact position",
        "old query id kept",
    ]
    assert all(
        price["sentence"] and price["certainty"] == "needs_input" for price in answer["price_of_deleting"]
    )


def test_a_start_that_fails_exits_with_1_and_names_the_error(run: Run, tmp_path: Path) -> None:
    remove(files_checkpoint(tmp_path), "metadata")
    status, answer = document(run, "forecast", tmp_path)
    assert status == 1
    assert answer["error"]["condition"] == "STREAMING_CHECKPOINT_MISSING_METADATA_FILE"
    assert answer["error"]["sqlstate"] == "42K03"
    assert [step["ok"] for step in answer["steps"]][:2] == [False, None]


def test_of_a_start_that_fails_no_row_reaches_the_sink(run: Run, tmp_path: Path) -> None:
    remove(files_checkpoint(tmp_path), "metadata")
    out = run("forecast", tmp_path)[1]
    assert "  rows: none reaches the sink, whatever its kind" in out.splitlines() and "exact in" not in out


def test_rehearse_looks_at_the_query_file_first(run: Run, tmp_path: Path) -> None:
    place = SAMPLES / "files-stopped-cleanly" / "checkpoint"  # whose source needs --set source.0.schema
    status, _, err = run("rehearse", place, "--query", tmp_path / "nope.py")
    assert status != 0 and "nope.py cannot be read" in err and "schema" not in err


def test_a_data_risk_exits_with_1(run: Run) -> None:
    status, answer = document(run, "forecast", SAMPLES / "hand-made-rewind" / "checkpoint")
    assert status == 1 and answer["outcome"] == "resume" and answer["risks"][0]["id"] == "SOURCE_LOG_AHEAD"


def test_the_text_says_the_sentence_first_and_what_was_not_checked_last(run: Run, tmp_path: Path) -> None:
    status, out, err = run("forecast", files_checkpoint(tmp_path))
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert lines[0] == "Spark will resume with batch 5 when there is new data, from the end of batch 4."
    assert "  certain: offsets/4 has its commits/4 [offsets/4, commits/4]" in lines
    assert lines[-1] == "  the sink"


def test_what_changed_in_the_query_is_an_argument(run: Run, tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf())
    with_state(tmp_path, range(1, 6))
    assert document(run, "forecast", tmp_path, "--operators", "")[1]["error"]["condition"].startswith(
        "STREAMING_STATEFUL_OPERATOR_NOT_MATCH"
    )
    assert document(run, "forecast", tmp_path, "--operators", "stateStoreSave")[0] == 0
    assert document(run, "forecast", tmp_path, "--sources", 2)[1]["reason"] == "SOURCE_COUNT"
    assert document(run, "forecast", tmp_path, "--new-data", "no")[1]["batch_id"] is None


def test_exact_rests_on_a_broker_that_was_not_asked(run: Run, tmp_path: Path) -> None:
    rests = "only if the broker or table of source 0, which was not asked, still has what comes next"
    _, out, _ = run("forecast", kafka_checkpoint(tmp_path / "kafka", range(3)))
    assert "rows: exact" in out and rests in out
    _, out, _ = run("forecast", files_checkpoint(tmp_path / "files"))
    assert "rows: exact" in out and "was not asked" not in out


def test_the_topics_of_a_source_are_an_argument(run: Run, tmp_path: Path) -> None:
    kafka_checkpoint(tmp_path, range(3))
    status, answer = document(run, "forecast", tmp_path, "--set", "source.0.topics=refunds")
    assert status == 1 and answer["reason"] == "KAFKA_TOPIC_REMOVED"
    status, answer = document(
        run, "forecast", tmp_path, "--set", "source.0.topics=refunds", "--fail-on-data-loss", "false"
    )
    assert status == 0


def test_another_spark_is_a_choice(run: Run, tmp_path: Path) -> None:
    remove(files_checkpoint(tmp_path, conf=CONF_3_5), "metadata")
    assert document(run, "forecast", tmp_path)[1]["spark"] == "3.5"
    assert document(run, "forecast", tmp_path, "--spark", "4.2.1")[1]["outcome"] == "fail"


def test_the_place_of_a_file_source_tells_whether_the_inputs_are_there(run: Run, tmp_path: Path) -> None:
    inputs = tmp_path / "in"
    write(inputs, {f"{i:04d}.json": "{}" for i in range(4)})
    root = files_checkpoint(tmp_path / "ck", commits=range(4))
    entry = {"path": f"file://{inputs}/0004.json", "timestamp": 2_000_000_000_000, "batchId": 4}
    write(root, {"sources/0/4": "v1\n" + json.dumps(entry)})
    status, answer = document(run, "forecast", root, "--source", f"0={inputs}")
    assert status == 1 and [risk["id"] for risk in answer["risks"]] == ["INPUT_GONE"]
    write(inputs, {"0004.json": "{}"})
    os.utime(inputs / "0004.json", (2_000_000_000, 2_000_000_000))
    assert document(run, "forecast", root, "--source", f"0={inputs}")[0] == 0
    write(root, {"sources/0/4": "v1\n" + json.dumps({**entry, "timestamp": 1_000_000_000_000})})
    assert [
        risk["id"] for risk in document(run, "forecast", root, "--source", f"0={inputs}")[1]["risks"]
    ] == ["INPUT_CHANGED"]


@pytest.mark.parametrize(
    "wrong",
    [
        ("--spark", "2.4"),
        ("--sources", "0"),
        ("--set", "sink=delta"),
        ("--set", "source.7.topics=a"),
        ("--source", "7=/data"),
        ("--source", "0"),
        ("--new-data", "maybe"),
    ],
)
def test_wrong_usage_of_the_forecast_is_one_sentence_and_exits_with_2(
    run: Run, tmp_path: Path, wrong: tuple[str, str]
) -> None:
    status, out, err = run("forecast", files_checkpoint(tmp_path), *wrong)
    assert (status, out) == (2, "")
    assert len(err.strip().splitlines()) == 1 and "Traceback" not in err


@pytest.mark.parametrize("verb", ["forecast", "check"])
def test_a_place_that_is_no_checkpoint_exits_with_10(run: Run, tmp_path: Path, verb: str) -> None:
    status, out, err = run(verb, write(tmp_path, {"notes.txt": "x"}))
    assert (status, out) == (10, "") and len(err.strip().splitlines()) == 1


# check


def test_the_check_has_the_fields_of_the_contract(run: Run, tmp_path: Path) -> None:
    remove(files_checkpoint(tmp_path), "offsets/3")
    status, answer = document(run, "check", tmp_path)
    assert (status, answer["schema_version"], answer["level"]) == (1, 1, "normal")
    finding = answer["findings"][0]
    assert {key: finding[key] for key in ("id", "severity", "certainty", "evidence")} == {
        "id": "OFFSET_GAP",
        "severity": "blocks_restart",
        "certainty": "certain",
        "evidence": ["offsets/3"],
    }
    assert finding["sentence"] and finding["action"]
    assert answer["checked"] and answer["not_checked"]
    assert set(answer["read"]) == {"list", "get", "head", "bytes"} and answer["read"]["list"] > 0


def test_a_clean_checkpoint_passes_the_check(run: Run, tmp_path: Path) -> None:
    status, out, _ = run("check", files_checkpoint(tmp_path))
    assert status == 0 and out.startswith("No problems found in ") and "not checked" in out


def test_notes_and_attention_are_no_problem_for_the_exit_status(run: Run, tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path, commits=range(4)), {"offsets/1": ""})
    status, answer = document(run, "check", tmp_path)
    # the pending batch is a note, and attention once it is old
    assert status == 0 and {item["severity"] for item in answer["findings"]} <= {"note", "attention"}


def test_the_quick_level_is_an_argument(run: Run, tmp_path: Path) -> None:
    assert document(run, "check", files_checkpoint(tmp_path), "--level", "quick")[1]["level"] == "quick"


def test_an_unknown_level_is_refused(run: Run, tmp_path: Path) -> None:
    status, _, err = run("check", files_checkpoint(tmp_path), "--level", "thorough")
    assert status == 2 and "There is no level thorough" in err


STATE_STEPS = ("operators", "state_folder", "settings", "state_schema", "state_files")


def statuses(answer: dict[str, Any]) -> dict[str, str]:
    """The status of each step by id."""
    return {step["id"]: step["status"] for step in answer["steps"]}


def test_a_step_that_does_not_apply_says_so_and_is_not_called_passed(run: Run) -> None:
    location = SAMPLES / "files-died-mid-batch/checkpoint"
    _, answer = document(run, "forecast", location)
    found = statuses(answer)
    assert {found[name] for name in STATE_STEPS} == {"does_not_apply"} and found["metadata"] == "passes"
    assert [step["ok"] for step in answer["steps"] if step["id"] in STATE_STEPS] == [None] * len(STATE_STEPS)
    _, text, _ = run("forecast", location)
    assert [line[2:6] for line in text.splitlines() if "load state version" in line] == ["n/a "]
    _, answer = document(run, "forecast", SAMPLES / "windowed-aggregation-hot-partition/checkpoint")
    assert {statuses(answer)[name] for name in STATE_STEPS} == {"passes"}


def test_every_status_of_a_step_is_told_apart(run: Run, tmp_path: Path) -> None:
    root = files_checkpoint(tmp_path / "failing")
    remove(root, "metadata")
    _, answer = document(run, "forecast", root)
    found = statuses(answer)
    assert found.pop("metadata") == "fails" and set(found.values()) == {"not_reached"}
    _, answer = document(run, "forecast", files_checkpoint(tmp_path / "idle"), "--new-data", "no")
    found = statuses(answer)
    assert (found["source_ranges"], found["plan"], found["commit"]) == (
        "passes",
        "not_reached",
        "not_reached",
    )
    stateful = Checkpoint.open(str(SAMPLES / "windowed-aggregation-hot-partition/checkpoint"))
    quick = {step.id: step.status for step in forecast(stateful, level="quick").steps}
    assert {quick[name] for name in STATE_STEPS} == {"not_checked"}
    old = forecast(stateful, spark="3.5", query=Query(operators=("stateStoreSave",)))
    assert {step.id: step.status for step in old.steps}["operators"] == "cannot_be_judged"
