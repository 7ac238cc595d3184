"""What the level deep said when evidence was taken without the contents of the state files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.analysis.recorded_contents import recorded_contents
from core.checkpoint import Checkpoint
from core.documents.recorded import recorded_answers
from core.incident import take
from core.judgement import judge
from core.recovery import Answers, options
from core.storage import Door
from tests.support.build import copy_sample


def damaged(tmp_path: Path) -> Path:
    ck = copy_sample("windowed-aggregation-hot-partition", tmp_path)
    file = ck / "state" / "0" / "1" / "9.changelog"
    file.write_bytes(file.read_bytes()[:40])
    return ck


def evidence(ck: Path, target: Path, answers: dict[str, bytes], contents: bool = False) -> str:
    return str(take(Door.open(str(ck)), target, answers=answers, with_state_contents=contents).path)


def test_forecast_findings_and_recovery_are_those_of_the_time(tmp_path: Path) -> None:
    ck = damaged(tmp_path)
    then = judge(Checkpoint.open(str(ck)), level="deep")
    sent = evidence(ck, tmp_path / "sent.zip", recorded_answers(then))
    now = judge(Checkpoint.open(sent), level="deep")
    said = now.forecast
    assert (said.outcome, said.sentence, said.reason) == (
        "fail",
        then.forecast.sentence,
        "STATE_FILE_DAMAGED",
    )
    assert [(step.id, step.status) for step in said.steps] == [
        (step.id, step.status) for step in then.forecast.steps
    ]
    found = {(item.id, item.severity, item.rewind_to) for item in now.findings.findings}
    assert found == {(item.id, item.severity, item.rewind_to) for item in then.findings.findings}
    assert any("not in the evidence" in part for part in said.not_checked)
    best = next(each for each in options(now.recovery(Answers({"sink": "delta"}))) if each.recommended)
    assert best.id == "rewind" and now.impacts
    assert judge(Checkpoint.open(sent)).forecast.outcome == "resume", "by the logs alone"
    stateless = judge(Checkpoint.open(sent), level="deep", spark="4.0").forecast
    assert stateless.sentence != said.sentence, "what was said of another Spark is not known"


@pytest.mark.parametrize("level", ["normal", "deep"])
def test_nothing_is_said_again_where_it_can_be_looked_at_or_was_not(tmp_path: Path, level: Any) -> None:
    ck = damaged(tmp_path)
    answers = recorded_answers(judge(Checkpoint.open(str(ck)), level=level))
    assert recorded_contents(Checkpoint.open(str(ck))) is None
    whole = evidence(ck, tmp_path / "whole.zip", answers, contents=True)
    assert recorded_contents(Checkpoint.open(whole)) is None
    bare = evidence(ck, tmp_path / "bare.zip", answers)
    assert (recorded_contents(Checkpoint.open(bare)) is None) is (level == "normal")


def test_what_somebody_wrote_into_the_file_is_used_only_where_it_has_the_right_form(tmp_path: Path) -> None:
    ck = damaged(tmp_path)
    answers = recorded_answers(judge(Checkpoint.open(str(ck)), level="deep"))
    check, forecast = json.loads(answers["check"]), json.loads(answers["forecast"])
    true = next(each for each in check["findings"] if each["id"] == "STATE_FILE_DAMAGED")
    wrong = ({"id": "NO_SUCH"}, {"severity": "fatal"}, {"rewind_to": "7"}, {"rewind_to": True})
    wrong += ({"recipe": "rm -rf"}, {"sentence": None}, {"certainty": 1}, {"id": "PLANNED_TWICE"})
    check["findings"] = [*({**true, **each} for each in wrong), "text", None, {}]
    for value in ("resume", None, ["fail"]):
        sent = {**answers, "check": json.dumps(check).encode()}
        sent["forecast"] = json.dumps({**forecast, "outcome": value}).encode()
        found = recorded_contents(Checkpoint.open(evidence(ck, tmp_path / f"{value}.zip"[-8:], sent)))
        assert found is not None and found.findings == () and found.start is None
    for bad in (b"", b"[]", b"[" * 100_000, b'{"level": "deep", "findings": 3}'):
        sent = {"check": bad, "forecast": b'{"outcome": "fail", "reason": "STATE_FILE_DAMAGED"}'}
        found = recorded_contents(Checkpoint.open(evidence(ck, tmp_path / f"bad{len(bad)}.zip", sent)))
        assert found is None or (found.findings == () and found.start is None)
    text = {**true, "sentence": "**bold** <b>\n" + "x" * 9_000}
    sent = {**answers, "check": json.dumps({**check, "findings": [text] * 1_000}).encode()}
    found = recorded_contents(Checkpoint.open(evidence(ck, tmp_path / "long.zip", sent)))
    assert found is not None and len(found.findings) <= 100
    assert len(found.findings[0].sentence) <= 2_000 and "\n" not in found.findings[0].sentence
