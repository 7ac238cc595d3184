"""No finding and no error leaves its reader alone: each action leads to a recovery option, or says what a person
has to decide."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import get_args

import pytest

from core.analysis.errors import explain
from core.analysis.errors.meanings import HANDLED
from core.analysis.errors.model import Explanation
from core.analysis.findings import CATALOGUE, WAYS, Recipe, with_way
from core.analysis.findings.catalogue import finding
from core.checkpoint import Checkpoint
from core.documents.check import finding_part
from core.documents.explain import explain_document
from core.judgement import judge
from core.messages import say_of
from core.recovery import OPTION_IDS, Answers, options
from core.recovery.file_repairs import RULES
from tests.support.damage import rewrite

SAMPLES = Path(__file__).resolve().parents[2] / "sample_checkpoints"


def test_every_recipe_is_a_recovery_option() -> None:
    assert set(get_args(Recipe)) <= set(OPTION_IDS)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_finding_has_a_recipe_or_a_decision(name: str) -> None:
    part = finding_part(with_way(finding(name, "so it is")))
    assert part.recipe is not None or part.decision
    assert part.recipe is None or part.recipe in OPTION_IDS


def test_repair_files_is_named_only_for_what_it_has_a_rule_for() -> None:
    assert {name for name, way in WAYS.items() if way.recipe == "repair_files"} <= set(RULES)


def test_a_batch_that_waits_is_not_to_be_skipped() -> None:
    assert WAYS["BATCH_PENDING_LONG"].recipe == "restart"  # nothing shows that it fails


def test_no_way_is_left_of_a_finding_that_is_gone() -> None:
    assert set(WAYS) == set(CATALOGUE)


@pytest.mark.parametrize("name", HANDLED)
def test_every_error_has_a_recipe_or_a_decision(name: str) -> None:
    handled = HANDLED[name]
    answer = Explanation(name, None, None, None, {}, "", 1, "", handled.means, options=handled.options)
    assert answer.recipe is not None or answer.decision
    assert answer.recipe is None or answer.recipe in OPTION_IDS


def test_an_option_that_repairs_exactly_this_comes_before_the_general_one() -> None:
    from dataclasses import replace

    found = finding("SINK_CHANGED", "so it is")
    assert with_way(found).recipe == "rewind" and with_way(found).decision is not None
    repaired = with_way(replace(found, option="repair_files"))
    assert (repaired.recipe, repaired.decision) == ("repair_files", None)


def test_check_and_explain_carry_them(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(SAMPLES / "missing-delta-file" / "checkpoint", tmp_path / "ck"))
    ck = Checkpoint.open(str(copy))
    found = judge(ck).findings.findings
    assert found and all(item.recipe or item.decision for item in found)
    assert next(item for item in found if item.id == "STATE_NOT_RESTORABLE").recipe == "rewind"
    said = explain("[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state.", ck)
    document = explain_document(ck, said)
    assert document.recipe in OPTION_IDS or document.decision
    outside = explain("java.lang.OutOfMemoryError: Java heap space")
    assert outside.recipe is not None or outside.decision == say_of("findings", "DECISIONS", "outside")


@pytest.mark.parametrize(
    ("sample", "file", "recipe"),
    [
        ("files-stopped-cleanly", "offsets/13", "rewind"),  # committed: nothing else says where it ended
        ("files-died-mid-batch", "offsets/7", "repair_files"),  # not committed: planned again
        ("files-stopped-cleanly", "commits/13", "repair_files"),
    ],
)
def test_an_unreadable_log_file_leads_to_an_option_that_can_be_done(
    sample: str, file: str, recipe: str, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(SAMPLES / sample / "checkpoint", tmp_path / "ck"))
    rewrite(copy / file, (copy / file).read_bytes()[:10])
    judgement = judge(Checkpoint.open(str(copy)))
    found = next(item for item in judgement.findings.findings if item.severity == "blocks_restart")
    assert (found.id, found.recipe) == ("LOG_FILE_UNREADABLE", recipe)
    assert next(each for each in options(judgement.recovery(Answers({}))) if each.id == recipe).possible
    assert recipe in found.action
