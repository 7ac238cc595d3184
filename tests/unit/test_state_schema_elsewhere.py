"""transformWithState reads its state schema at the path in its operator metadata, also where the checkpoint
was moved; and what a finding advises where no batch is left to roll back to."""

from __future__ import annotations

import shutil
from pathlib import Path

from core.analysis.errors import explain
from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.judgement import judge
from core.recovery import Answers, Option, options
from tests.support import damage
from tests.support.build import copy_sample

NAME = "transform-with-state-timers"
METADATA = "state/0/_metadata/v2/0"


def ids(root: Path) -> dict[str, str]:
    """Severity by finding."""
    return {item.id: item.severity for item in judge(Checkpoint.open(str(root))).findings.findings}


def option(root: Path, option_id: str, **answers: str) -> Option:
    context = judge(Checkpoint.open(str(root))).recovery(Answers(answers))
    return next(each for each in options(context) if each.id == option_id)


def test_a_copy_says_where_it_reads_the_schema_and_that_a_start_may_fail(tmp_path: Path) -> None:
    root = copy_sample(NAME, tmp_path)
    answer = forecast(Checkpoint.open(str(root)))
    assert (answer.outcome, answer.certainty, answer.is_data_risk) == ("resume", "inferred", False)
    assert [(risk.id, str(risk.evidence[0])) for risk in answer.risks] == [
        ("STATE_SCHEMA_ELSEWHERE", METADATA)
    ]
    assert (
        "Operator 0 reads its state schema in file:/data/transform-with-state-timers/checkpoint,"
        in answer.sentence
    )
    assert "once that is gone, batch 18 fails" in answer.sentence
    assert ids(root) == {"STATE_SCHEMA_ELSEWHERE": "attention"}


def moved(tmp_path: Path, name: str = "renamed") -> Path:
    """The sample where it was at home, renamed since: a sibling of its old place."""
    root = copy_sample(NAME, tmp_path)
    damage.at_home(root)
    return root.rename(root.with_name(name))


def test_the_old_place_of_a_renamed_checkpoint_is_looked_at(tmp_path: Path) -> None:
    """Spark 4.3 fails in the first batch: the schema file of the old place does not exist."""
    root = moved(tmp_path)
    answer = forecast(Checkpoint.open(str(root)))
    assert (answer.outcome, answer.certainty, answer.reason) == ("fail", "inferred", "STATE_SCHEMA_GONE")
    assert answer.batch_id == 18 and answer.error is not None
    assert answer.error.error_class == "FileNotFoundException"
    assert f"{tmp_path}/" in answer.error.message and "/_stateSchema/default/0_" in answer.error.message
    assert ids(root) == {"STATE_SCHEMA_GONE": "blocks_restart"}
    assert not option(root, "restart").possible
    found = option(root, "repair_files")
    assert found.possible and found.recommended and found.why.count(METADATA) == 1
    explained = explain(answer.error.message, Checkpoint.open(str(root)))
    assert (explained.finding, explained.shown) == ("STATE_SCHEMA_GONE", "yes")


def test_an_old_place_on_another_machine_or_that_is_still_there_is_no_failure(tmp_path: Path) -> None:
    root = moved(tmp_path / "a")
    shutil.copytree(root, root.with_name("checkpoint"))
    assert ids(root) == {"STATE_SCHEMA_ELSEWHERE": "attention"}, "still there"
    root = moved(tmp_path / "b" / "c")
    (tmp_path / "away").mkdir()
    root = root.rename(tmp_path / "away" / "ck")
    assert ids(root) == {"STATE_SCHEMA_GONE": "blocks_restart"}, "the directory above is there"
    shutil.rmtree(tmp_path / "b")
    assert ids(root) == {"STATE_SCHEMA_ELSEWHERE": "attention"}, "may be another machine"


def test_in_its_own_place_it_is_compared_with_the_files(tmp_path: Path) -> None:
    root = copy_sample(NAME, tmp_path)
    damage.at_home(root)
    answer = forecast(Checkpoint.open(str(root)))
    assert (answer.outcome, answer.certainty, answer.risks) == ("resume", "certain", ())
    assert ids(root) == {}
    assert not option(root, "repair_files").possible
    shutil.rmtree(root / "state/0/_stateSchema")
    assert forecast(Checkpoint.open(str(root))).outcome == "fail"
    assert ids(root) == {"STATE_DEFINITION_UNREADABLE": "blocks_restart"}, "Spark does not write a new one"


def test_the_repaired_copy_names_its_own_schema_files(tmp_path: Path) -> None:
    root = copy_sample(NAME, tmp_path)
    found = option(root, "repair_files")
    assert found.possible and found.why.count(METADATA) == 1, (
        "one repair is enough, also for an evidence file"
    )
    assert option(root, "restart").recommended, "the old place may be there"
    assert option(root, "repair_files", what_happened="damaged").recommended


def test_a_schema_that_is_not_in_the_copy_either_cannot_be_repaired(tmp_path: Path) -> None:
    root = copy_sample(NAME, tmp_path)
    shutil.rmtree(root / "state/0/_stateSchema")
    found = option(root, "repair_files")
    assert not found.possible and "is not in this checkpoint" in found.why
    assert ids(root) == {"STATE_SCHEMA_ELSEWHERE": "attention"}


def test_a_rollback_for_which_no_batch_is_left_is_not_advised(tmp_path: Path) -> None:
    root = copy_sample("join-watermark-held-back", tmp_path)
    (root / "state/0/0/left-keyWithIndexToValue/1.delta").unlink()
    report = judge(Checkpoint.open(str(root))).findings
    item = next(each for each in report.findings if each.id == "STATE_NOT_RESTORABLE")
    assert (item.recipe, item.rewind_to) == ("restore_backup", None)
    assert "No batch is left to roll back to" in item.action and "rewind" not in item.action
    assert not option(root, "rewind").possible
    whole = copy_sample("missing-delta-file", tmp_path / "other")
    report = judge(Checkpoint.open(str(whole))).findings
    item = next(each for each in report.findings if each.id == "STATE_NOT_RESTORABLE")
    assert (item.recipe, item.rewind_to) == ("rewind", 2) and "No batch is left" not in item.action


def test_the_error_of_a_moved_checkpoint_is_explained_by_it(tmp_path: Path) -> None:
    """As Spark 4.3 words it; the explanation said that the next start does not fail with this error."""
    root = copy_sample(NAME, tmp_path)
    name = next(path.name for path in (root / "state/0/_stateSchema/default").glob("0_*"))
    old = f"file:/data/{NAME}/checkpoint/state/0/_stateSchema/default/{name}"
    answer = explain(f"java.io.FileNotFoundException: File {old} does not exist", Checkpoint.open(str(root)))
    assert (answer.finding, answer.shown) == ("STATE_SCHEMA_ELSEWHERE", "yes")
    assert "repair_files" in answer.action
    shown = [each.sentence for each in answer.here if each.shows_fault]
    assert len(shown) == 1 and shown[0].startswith(
        "The old place of the checkpoint is gone: Operator 0 reads"
    )
