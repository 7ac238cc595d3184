"""An action leads only to an option that the same source and sink allow; one that they rule out says why."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from core.analysis.findings import Finding
from core.checkpoint import Checkpoint
from core.cli import main
from core.connectors import ConnectorSettings
from core.connectors.connect import ask_connectors
from core.documents.check import check_document
from core.incident.report import report
from core.judgement import Judgement, judge
from core.recovery import Answers, options
from core.storage import parse_location
from tests.support.build import SAMPLES

SINK = SAMPLES / "files-stopped-cleanly" / "sink"
LAST = 13  # the newest batch of the sample


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "SOURCE_LOG_END_MISSING": ("rewind", lambda ck: (ck / f"sources/0/{LAST}").unlink()),
    "SOURCE_LOG_UNREADABLE": ("rewind", lambda ck: _cut(ck / f"sources/0/{LAST}")),
    "LOG_FILE_UNREADABLE": (
        "repair_files",
        lambda ck: ((ck / f"commits/{LAST}").unlink(), _cut(ck / f"offsets/{LAST}"))[0],
    ),
    "COMMITS_MISSING": (
        "",
        lambda ck: ((ck / f"commits/{LAST}").unlink(), (ck / f"commits/{LAST - 1}").unlink())[0],
    ),
}
LED_ASTRAY = [finding for finding, (named, _) in DAMAGES.items() if named]


def judged(place: Path, finding: str, with_sink: bool, sink: Path = SINK) -> Judgement:
    """The sample with one damage. A file sink that has its newest batch skips what a rollback sends again."""
    target = place / "ck"
    shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", target)
    for path in target.rglob(".*.crc"):
        path.unlink()
    DAMAGES[finding][1](target)
    ck = Checkpoint.open(str(target))
    place_of_sink = parse_location(str(sink)) if with_sink else None
    return judge(ck, ask_connectors(ck, ConnectorSettings(sink=place_of_sink)))


def found(judgement: Judgement, finding: str) -> Finding:
    return next(item for item in judgement.actions(Answers()).findings if item.id == finding)


@pytest.mark.parametrize("finding", LED_ASTRAY)
def test_an_option_that_the_sink_rules_out_is_not_where_the_action_leads(
    tmp_path: Path, finding: str
) -> None:
    judgement = judged(tmp_path, finding, with_sink=True)
    named = DAMAGES[finding][0]
    item = found(judgement, finding)
    found_options = {each.id: each for each in options(judgement.recovery(Answers()))}
    assert not found_options[named].possible
    assert found_options[named].why in item.action
    best = next(each for each in found_options.values() if each.recommended)
    assert (item.recipe, item.option, item.rewind_to) == (best.id, None, None)
    assert f'Recommended instead: "{best.title}".' in item.action
    part = next(part for part in check_document(judgement).findings if part.id == finding)
    assert (part.recipe, part.action) == (item.recipe, item.action)
    said = str(report(judgement).to_do)
    assert "Recommended instead" in said


@pytest.mark.parametrize("finding", LED_ASTRAY)
def test_without_a_sink_the_action_stays(tmp_path: Path, finding: str) -> None:
    judgement = judged(tmp_path, finding, with_sink=False)
    item, before = found(judgement, finding), judgement.findings.findings
    assert item in before and item.recipe == DAMAGES[finding][0]


@pytest.mark.parametrize("finding", LED_ASTRAY)
def test_every_action_leads_to_an_option_that_is_possible(tmp_path: Path, finding: str) -> None:
    judgement = judged(tmp_path, finding, with_sink=True)
    possible = {each.id for each in options(judgement.recovery(Answers())) if each.possible}
    recipes = {item.recipe for item in judgement.actions(Answers()).findings if item.recipe is not None}
    assert recipes and recipes <= possible


def test_missing_commits_whose_batches_are_in_the_sink_are_a_note(tmp_path: Path) -> None:
    judgement = judged(tmp_path, "COMMITS_MISSING", with_sink=True)
    (gap,) = (item for item in judgement.findings.findings if item.id == "COMMIT_GAP")
    assert gap.severity == "note" and "The log of the sink has it" in gap.sentence
    assert gap.sentence.startswith(f"Batch {LAST - 1} is planned and not committed")
    assert not any(item.id == "COMMITS_MISSING" for item in judgement.findings.findings)


def test_missing_commits_whose_batches_are_not_in_the_sink_say_so(tmp_path: Path) -> None:
    sink = tmp_path / "sink"
    shutil.copytree(SAMPLES / "files-stopped-cleanly" / "sink", sink)
    (sink / f"_spark_metadata/{LAST - 1}").unlink()
    item = found(judged(tmp_path, "COMMITS_MISSING", with_sink=True, sink=sink), "COMMITS_MISSING")
    assert (item.severity, item.certainty) == ("attention", "needs_input")
    assert item.sentence.endswith(f"The log of the sink does not have batch {LAST - 1}.")


def test_missing_commits_without_a_sink_are_left_open(tmp_path: Path) -> None:
    item = found(judged(tmp_path, "COMMITS_MISSING", with_sink=False), "COMMITS_MISSING")
    assert item.severity == "attention" and "log of the sink" not in item.sentence


def test_the_command_that_is_printed_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sink = tmp_path / "an output"
    shutil.copytree(SINK, sink)
    (sink / f"_spark_metadata/{LAST}").unlink()
    shutil.copytree(SAMPLES / "files-stopped-cleanly" / "checkpoint", tmp_path / "b")
    assert main(["check", str(tmp_path / "b"), "--sink", str(sink)]) == 1
    (command,) = re.findall(r"plan and code: (python .*rewind.*)", capsys.readouterr().out)
    words = shlex.split(command)
    assert words[:4] == ["python", "-m", "core", "recover"] and f"to_batch={LAST - 1}" in words
    assert main(words[3:]) == 0
    said = capsys.readouterr().out
    assert re.search(r"--option rewind\): (possible|recommended)", said)
