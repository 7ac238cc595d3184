"""scripts/compare_answers.py: what counts as a fact and what as wording, and that it runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from core.incident.report_markdown import escaped
from core.messages import say
from scripts.compare_answers import Difference, compare, differences, main, portable, report

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]


def sorts(before: object, after: object) -> list[tuple[str, str]]:
    """The sort and the place of every difference."""
    return [
        (each.sort, each.path)
        for each in differences({"answer": before, "exit_status": 0}, {"answer": after})
    ]


def test_a_number_an_enum_and_a_lost_field_are_facts_and_a_sentence_is_wording() -> None:
    before = {"outcome": "resume", "batch_id": 5, "sentence": "Spark goes on with batch 5.", "kept": 1}
    after = {"outcome": "rerun", "batch_id": 6, "sentence": "Spark resumes with batch 5.", "new": None}
    assert sorts(before, after) == [
        ("fact", "answer.outcome"),
        ("fact", "answer.batch_id"),
        ("wording", "answer.sentence"),
        ("fact", "answer.kept"),
        ("added", "answer.new"),
        ("fact", "exit_status"),
    ]


def test_a_number_that_changes_inside_a_sentence_is_not_mere_wording() -> None:
    found = list(differences({"sentence": "1,234 rows of batch 5"}, {"sentence": "batch 5 has 1234 rows"}))
    assert [each.sort for each in found] == ["wording"]
    found = list(differences({"sentence": "batch 5 runs"}, {"sentence": "batch 6 runs"}))
    assert [each.sort for each in found] == ["number"]


def test_findings_are_compared_by_their_id_and_an_error_message_is_a_fact() -> None:
    before = {"findings": [{"id": "A", "severity": "note"}, {"id": "B", "severity": "note"}]}
    after = {"findings": [{"id": "B", "severity": "data_risk"}]}
    found = {(each.sort, each.path) for each in differences({"answer": before}, {"answer": after})}
    assert found == {("fact", "answer.findings[A]"), ("fact", "answer.findings[B].severity")}
    found = {
        (each.sort, each.path)
        for each in differences(
            {"answer": {"error": {"message": "it fails"}}}, {"answer": {"error": {"message": "it does not"}}}
        )
    }
    assert found == {("fact", "answer.error.message")}


def test_versions_and_times_of_reading_are_left_out() -> None:
    assert not list(differences({"version": "1", "read_at": "a"}, {"version": "2", "read_at": "b"}))


def test_a_place_that_markdown_escapes_is_left_out() -> None:
    place = Path("/tmp/tmp_ab_")  # tempfile gives such names
    text = escaped(f"{place}/empty")
    assert "\\" in text
    assert portable(text, place) == "/scratch/empty"
    assert json.loads(portable(json.dumps({"text": text}), place)) == {"text": "/scratch/empty"}


@pytest.mark.parametrize("age_ms", [950, 4_200, 59_000, 3_599_000, 3_600_000, 493_200_000, 10**11])
def test_an_age_which_grows_between_two_collections_is_left_out(age_ms: int) -> None:
    sentence = say("findings_health.pending_long", batch_id=5, age_ms=age_ms, usual_ms=3_700)
    later = say("findings_health.pending_long", batch_id=5, age_ms=age_ms + 3_600_000, usual_ms=3_700)
    assert sentence != later and portable(sentence, Path("/scratch")) == portable(later, Path("/scratch"))
    other = say("findings_health.pending_long", batch_id=5, age_ms=age_ms, usual_ms=5_000)
    assert portable(sentence, Path("/scratch")) != portable(other, Path("/scratch"))


def test_the_answers_of_this_code_are_collected_twice_and_are_the_same(tmp_path: Path) -> None:
    names = ["files-died-mid-batch", "kafka-two-topics", "empty-directory"]
    for place in ("a", "b"):
        assert main(["collect", str(tmp_path / place), "--python", sys.executable, "--only", *names]) == 0
    found, runs = compare(tmp_path / "a", tmp_path / "b")
    assert runs > 60 and not found, report(found, runs, 20)
    assert main(["diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    kept = tmp_path / "b" / "files-died-mid-batch forecast+connectors.json"
    answer = json.loads(kept.read_text())
    assert answer["answer"]["outcome"] == "rerun" and answer["answer"]["sink"]["kind"] == "file"
    assert str(PROJECT) not in kept.read_text()
    answer["answer"]["batch_id"] = 99
    kept.write_text(json.dumps(answer))
    found, runs = compare(tmp_path / "a", tmp_path / "b")
    assert list(found) == [Difference("fact", "answer.batch_id", "7", "99")]
    assert "Facts that differ: 1 in 1 runs" in report(found, runs, 100)
    assert main(["diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 1
