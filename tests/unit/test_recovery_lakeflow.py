"""The code for Lakeflow pipelines and Databricks jobs, executed as it is handed out against a server that plays errors."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from core.checkpoint import Checkpoint
from core.recovery import Answers, OptionId, generate, options, plan, read_recovery_context
from core.recovery.forms import forms
from core.recovery.recipe import recipe
from core.recovery.snippet import snippet
from tests.support.workspace import Answer, Workspace, serving
from tests.unit.test_recovery_code import HOSTILE
from tests.unit.test_recovery_judgement import kafka_checkpoint

REST, SDK = "start_update.py", "start_update_sdk.py"
PIPELINE = {"platform": "lakeflow", "flows": "c.s.f", "pipeline_id": "p1", "source.0.servers": "b:9"}
UPDATES = "/api/2.0/pipelines/p1/updates"
RESET = {"reset_checkpoint_selection": ["c.s.f"]}
CHECKED = (UPDATES, {**RESET, "validate_only": True})
STARTED = (UPDATES, RESET)
BUSY = Answer(429, {"error_code": "REQUEST_LIMIT_EXCEEDED", "message": "Slower."}, {"Retry-After": "1"})
BROKEN = Answer(500, {"error_code": "INTERNAL_ERROR", "message": "Broken."})


@pytest.fixture
def workspace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Workspace]:
    with serving(Workspace()) as server:
        monkeypatch.setenv("DATABRICKS_HOST", server.address)
        monkeypatch.setenv("DATABRICKS_TOKEN", "secret-value")
        monkeypatch.setenv("HOME", str(tmp_path))  # no profile of whoever runs the tests
        yield server
        assert server.tokens <= {"Bearer secret-value", None}


def texts(tmp_path: Path, option: OptionId, **more: str) -> dict[str, str]:
    """The pieces of code by their file names."""
    context = read_recovery_context(kafka_checkpoint(tmp_path), Answers({**PIPELINE, **more}))
    return {block.file_name: block.text for block in generate(context, option)}


@dataclass
class Script:
    """A script as it is handed out, executed in this process; waiting takes no time."""

    path: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    naps: list[float]

    def run(self, *arguments: str) -> tuple[int, str]:
        """Exit status and what was printed."""
        self.monkeypatch.setattr(sys, "argv", [str(self.path), *arguments])
        self.monkeypatch.setattr(time, "sleep", self.naps.append)
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(self.path), run_name="__main__")
        shown = self.capsys.readouterr()
        assert "secret-value" not in shown.out + shown.err and "Traceback" not in shown.out + shown.err
        code = ended.value.code
        assert isinstance(code, int)
        return code, shown.out


def script_of(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch
) -> Script:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return Script(path, capsys, patch, [])


@pytest.fixture(params=[REST, SDK])
def update(
    request: pytest.FixtureRequest,
    workspace: Workspace,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Script:
    """The script that resets the checkpoint of a flow, with Python's library and with databricks-sdk."""
    return script_of(request.param, texts(tmp_path, "reset")[request.param], tmp_path, capsys, monkeypatch)


# ---------------------------------------------------------------- updates of a pipeline


def test_the_dry_run_only_looks(workspace: Workspace, update: Script) -> None:
    workspace.state = "RUNNING"
    status, shown = update.run()
    assert status == 0 and "The pipeline is RUNNING: its update will be stopped." in shown
    assert workspace.posted() == [] and workspace.calls


def test_it_stops_the_running_update_validates_and_then_starts(workspace: Workspace, update: Script) -> None:
    workspace.state, workspace.ends = "RUNNING", deque([["COMPLETED"], ["QUEUED", "RUNNING", "COMPLETED"]])
    status, shown = update.run("--execute")
    assert status == 5 and "NOT CHECKED: the rows of the tables" in shown, shown
    (stopped, _), *updates = workspace.posted()
    assert stopped == "/api/2.0/pipelines/p1/stop" and updates == [CHECKED, STARTED]
    assert update.naps == [10, 10]


@pytest.mark.parametrize("state", ["FAILED", "CANCELED"])
def test_an_update_that_does_not_complete_is_exit_status_3(
    workspace: Workspace, update: Script, state: str
) -> None:
    workspace.ends = deque([["COMPLETED"], ["RUNNING", state]])
    status, shown = update.run("--execute")
    assert status == 3 and f"Update u1: {state}" in shown


def test_a_flow_that_is_not_known_starts_nothing(workspace: Workspace, update: Script) -> None:
    said = "Reset checkpoint selection should not contain flow c.s.f"
    workspace.play("POST /updates", Answer(400, {"error_code": "INVALID_PARAMETER_VALUE", "message": said}))
    status, shown = update.run("--execute")
    assert status == 4 and said in shown and workspace.posted() == [CHECKED]


def test_a_pipeline_that_is_not_valid_is_left_alone_and_a_stopped_update_is_said(
    workspace: Workspace, update: Script
) -> None:
    workspace.ends = deque([["FAILED"], ["FAILED"]])
    status, shown = update.run("--execute")
    assert status == 4 and "nothing was reset or refreshed" in shown and workspace.posted() == [CHECKED]
    workspace.state = "RUNNING"
    status, shown = update.run("--execute")
    assert status == 1 and "the running update was stopped; undo: start the pipeline again" in shown
    assert STARTED not in workspace.posted()


def test_an_update_that_somebody_else_starts_meanwhile_is_not_taken_for_this_one(
    workspace: Workspace, update: Script
) -> None:
    conflict = Answer(409, {"error_code": "RESOURCE_CONFLICT", "message": "An active update exists."})
    workspace.play("POST /updates", Answer(200, {"update_id": "u0"}, is_done=True), conflict)
    workspace.ends = deque([["COMPLETED"]])
    status, shown = update.run("--execute")
    assert status == 4 and "An active update exists." in shown, shown
    workspace.updates.clear()
    workspace.updates["u0"] = ["COMPLETED"]
    workspace.play("POST /updates", Answer(200, {"update_id": "u0"}), conflict)
    workspace.updates["theirs"] = ["RUNNING"]
    status, shown = update.run("--execute")
    assert status == 1 and "update theirs was started by this script or by somebody else" in shown, shown


def test_a_busy_workspace_is_asked_again_after_the_time_it_names(
    workspace: Workspace, update: Script
) -> None:
    workspace.play("POST /updates", BUSY, BUSY)
    workspace.play("GET /updates/id", BUSY)
    status, shown = update.run("--execute")
    assert status == 5, shown
    assert workspace.posted() == [CHECKED, CHECKED, CHECKED, STARTED] and list(workspace.updates) == [
        "u0",
        "u1",
    ]
    assert all(1 <= nap < 2 for nap in update.naps) and len(update.naps) >= 2


def test_a_broken_answer_to_a_look_is_asked_again_and_not_for_ever(
    workspace: Workspace, update: Script
) -> None:
    workspace.play("GET /p1", BROKEN, BROKEN)
    assert update.run("--execute")[0] == 5
    workspace.play("GET /p1", *[BROKEN] * 20)
    status, shown = update.run("--execute")
    assert status == 4 and "Broken." in shown
    assert len(workspace.plays["GET /p1"]) == 15


@pytest.mark.parametrize("is_done", [True, False])
def test_a_start_that_breaks_is_not_repeated_and_never_called_refused(
    workspace: Workspace, update: Script, is_done: bool
) -> None:
    done = Answer(200, {"update_id": "u0"}, is_done=True)
    broken = Answer(500, {"error_code": "INTERNAL_ERROR", "message": "Broken."}, is_done=is_done)
    workspace.play("POST /updates", done, broken)
    status, shown = update.run("--execute")
    assert status == 1 and workspace.posted() == [CHECKED, STARTED]
    expected = (
        "update u1 was started by this script"
        if is_done
        else "it is not known whether the update was started"
    )
    assert expected in shown, shown


def test_a_missing_permission_is_one_sentence(workspace: Workspace, update: Script) -> None:
    workspace.play("GET /p1", Answer(403, {"error_code": "PERMISSION_DENIED", "message": "Not yours."}))
    status, shown = update.run()
    assert status == 4 and "Not yours." in shown and workspace.posted() == []


@pytest.mark.parametrize("name", [REST, SDK])
def test_strange_names_arrive_as_they_are(
    name: str,
    workspace: Workspace,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number, text in enumerate(HOSTILE[:-1]):  # the last one is no text that JSON can hold
        place = tmp_path / str(number)
        place.mkdir()
        made = texts(place, "full_refresh", flows=text, pipeline_id=text, source_complete="yes")[name]
        status, shown = script_of(name, made, place, capsys, monkeypatch).run("--execute")
        assert status == 5, shown
        flows = [part.strip() for part in text.split(",") if part.strip()]
        path, body = workspace.posted()[-1]
        assert body == {"full_refresh_selection": flows}
        assert path == f"/api/2.0/pipelines/{text}/updates"


def test_without_a_token_with_plain_http_and_after_a_redirect_nothing_is_sent(
    workspace: Workspace,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = script_of(REST, texts(tmp_path, "reset")[REST], tmp_path, capsys, monkeypatch)
    workspace.play("GET /p1", Answer(302, {}, {"Location": f"{workspace.address}/elsewhere"}))
    status, shown = script.run("--execute")
    assert status == 4 and "answered 302" in shown and len(workspace.calls) == 1
    for name, value, why in (
        ("DATABRICKS_HOST", "http://localhost.example.com", "must begin with https://"),
        ("DATABRICKS_HOST", "ftp://localhost", "must begin with https://"),
        ("DATABRICKS_TOKEN", "", "The environment variable DATABRICKS_TOKEN is not set."),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            status, shown = script.run("--execute")
        assert status == 4 and why in shown and len(workspace.calls) == 1


def test_without_databricks_sdk_the_script_says_what_to_install(workspace: Workspace, tmp_path: Path) -> None:
    script = tmp_path / SDK
    script.write_text(texts(tmp_path, "reset")[SDK], encoding="utf-8")
    # -S: without the packages that are installed
    done = subprocess.run([sys.executable, "-S", str(script)], capture_output=True, text=True)
    assert done.returncode == 4 and "pip install databricks-sdk" in done.stdout and done.stderr == ""


def test_curl_validates_and_starts_only_when_told_to(workspace: Workspace, tmp_path: Path) -> None:
    script = tmp_path / "start_update.sh"
    script.write_text(texts(tmp_path, "reset")["start_update.sh"], encoding="utf-8")
    for arguments, expected in (([], CHECKED), (["--execute"], STARTED)):
        done = subprocess.run(
            ["sh", str(script), *arguments], capture_output=True, text=True, env={**os.environ}
        )
        assert done.returncode == 0 and "update_id" in done.stdout, done.stderr
        assert workspace.posted()[-1] == expected
    workspace.state = "RUNNING"
    done = subprocess.run(["sh", str(script), "--execute"], capture_output=True, text=True)
    assert done.returncode != 0 and "An active update exists." in done.stdout


def test_the_words_and_the_plan_of_a_pipeline_say_what_its_update_does(samples: Path, tmp_path: Path) -> None:
    ck = Checkpoint.open(str(samples / "dropduplicates-removed" / "checkpoint"))
    answers = {"platform": "lakeflow", "sink": "lakeflow_table", "source_complete": "yes"}
    context = read_recovery_context(ck, Answers(answers))
    found = {option.id: option for option in options(context)}
    refresh = found["full_refresh"]
    said = " ".join([refresh.loses, refresh.repeats, refresh.loss.facts, refresh.duplicates.facts])
    assert "The pipeline empties the table" in said and "the table is emptied first" in said
    assert "another name" not in said and "old output" not in said
    assert "empties" in refresh.why and "empties" in found["backup_and_backfill"].why
    assert "the code checks" not in refresh.loss.facts
    assert "before the table was copied" in refresh.consequences[0].trap
    for option in ("full_refresh", "backup_and_backfill"):
        assert "EMPTIES the tables" in snippet(context, option).text
    steps = " ".join(f"{s.title} {s.why}" for s in plan(context, recipe(context, "full_refresh")).steps)
    assert (
        steps.index("validate_only") < steps.index("full_refresh_selection") and "empties the tables" in steps
    )
    assert not any(word in steps for word in ("Rename", "Copy the checkpoint", "script"))
    kafka = read_recovery_context(kafka_checkpoint(tmp_path), Answers(PIPELINE))
    steps = " ".join(f"{s.title} {s.why}" for s in plan(kafka, recipe(kafka, "reset")).steps)
    assert steps.index("validate_only") < steps.index("reset_checkpoint_selection")
    assert {option.id for option in options(kafka) if option.possible} == {
        "restart",
        "reset",
        "full_refresh",
        "backup_and_backfill",
    }


# ---------------------------------------------------------------- settings of a job

TASK = {"task_key": "orders", "notebook_task": {"notebook_path": "/jobs/orders"}, "timeout_seconds": 3600}
JOB = {"name": "orders", "max_concurrent_runs": 3, "tasks": [TASK], "schedule": {"pause_status": "UNPAUSED"}}


@pytest.fixture
def job(
    workspace: Workspace,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Script:
    """The script for the settings of a job."""
    workspace.job = {**JOB, "tasks": [dict(TASK)]}
    text = texts(tmp_path, "reset", platform="databricks", sink="foreach_append", job_id="77")[
        "job_settings.py"
    ]
    return script_of("job_settings.py", text, tmp_path, capsys, monkeypatch)


def test_the_settings_of_a_job_are_shown_written_and_read_back(workspace: Workspace, job: Script) -> None:
    status, shown = job.run()
    assert status == 0 and "task orders: max_retries: None -> -1" in shown and workspace.posted() == []
    workspace.runs = [5]
    status, shown = job.run("--execute")
    assert status == 0 and "1 active runs" in shown, shown
    expected = {**TASK, "max_retries": -1, "timeout_seconds": 0}
    assert workspace.posted() == [
        (
            "/api/2.2/jobs/update",
            {"job_id": 77, "new_settings": {"max_concurrent_runs": 1, "tasks": [expected]}},
        )
    ]
    status, shown = job.run("--execute")
    assert status == 0 and len(workspace.posted()) == 1, shown


def test_a_job_is_paused_and_resumed(workspace: Workspace, job: Script) -> None:
    assert job.run("--pause")[0] == 0 and workspace.job["schedule"] == {"pause_status": "PAUSED"}
    assert job.run("--resume")[0] == 0 and workspace.job["schedule"] == {"pause_status": "UNPAUSED"}
    assert workspace.job["max_concurrent_runs"] == 3 and len(workspace.posted()) == 2


def test_a_continuous_job_keeps_its_own_restarts(workspace: Workspace, job: Script) -> None:
    workspace.job = {"max_concurrent_runs": 1, "continuous": {}, "tasks": [{"task_key": "orders"}]}
    status, shown = job.run("--execute")
    assert status == 0 and workspace.posted() == [], shown


def test_errors_of_the_job_calls_say_what_was_changed(workspace: Workspace, job: Script) -> None:
    workspace.play("POST /update", BUSY)
    workspace.keeps_settings = False
    status, shown = job.run("--execute")
    assert status == 3 and "The verification FAILED" in shown and len(workspace.posted()) == 2
    workspace.play("POST /update", BROKEN)
    status, shown = job.run("--execute")
    assert status == 1 and "it is not known whether the settings of the job were written" in shown
    assert len(workspace.posted()) == 3
    workspace.play(
        "GET /get", Answer(404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "No job 77."})
    )
    status, shown = job.run("--execute")
    assert status == 4 and "No job 77." in shown
    workspace.play("GET /get", *[BROKEN] * 5)
    assert job.run("--execute")[0] == 4


def test_the_loop_of_the_runbook_starts_a_failed_query_again_and_one_at_a_time(tmp_path: Path) -> None:
    context = read_recovery_context(
        kafka_checkpoint(tmp_path), Answers({"platform": "pyspark", "sink": "foreach_append"})
    )
    text = next(block.text for block in forms(context, "reset") if block.form == "runbook")
    loop = text.split("```sh\n")[1].split("```")[0]
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n[ $(wc -l < {tmp_path}/calls) -ge 3 ]\n')
    submit.chmod(0o755)
    environment: dict[str, Any] = {
        **os.environ,
        "PATH": f"{submit.parent}:{os.environ['PATH']}",
        "TMPDIR": str(tmp_path),
        "PAUSE": "0.01",
    }
    done = subprocess.run(["sh", "-c", loop], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls == ["--conf spark.sql.streaming.minBatchesToRetain=100 query.py"] * 3
