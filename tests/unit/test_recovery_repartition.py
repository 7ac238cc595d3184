"""Whether a checkpoint can be repartitioned, on samples; the script runs in
tests/spark/test_recovery_repartition.py."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.errors import AnswerError
from core.recovery import Answers, Option, generate, options, plan, read_recovery_context
from core.recovery.forms import forms

SAMPLES = Path(__file__).parents[2] / "sample_checkpoints"
ROCKSDB = "state-format-2"


def opened(name: str) -> Checkpoint:
    return Checkpoint.open(str(SAMPLES / name / "checkpoint"))


def option_of(ck: Checkpoint, **answers: str) -> Option:
    context = read_recovery_context(ck, Answers(answers))
    return next(each for each in options(context) if each.id == "repartition")


def test_it_is_possible_for_rocksdb_and_recommended_only_where_the_number_is_named() -> None:
    ck = opened(ROCKSDB)
    for answers, expected in (({}, False), ({"partitions": "8"}, True)):
        option = option_of(ck, sink="foreach_merge", **answers)
        assert (option.possible, option.recommended) == (True, expected)
        assert {(each.repeats, each.loses) for each in option.consequences if each.is_yours} == {
            ("Nothing.", "Nothing.")
        }
    assert "pins 2 shuffle partitions" in option.why and "moved to 8" in option.why
    assert (
        sum(each.recommended for each in options(read_recovery_context(ck, Answers({"partitions": "8"}))))
        == 1
    )


def test_the_script_has_the_number_or_refuses_until_it_is_filled_in() -> None:
    ck = opened(ROCKSDB)
    context = read_recovery_context(ck, Answers({"sink": "foreach_merge", "partitions": "8"}))
    text = generate(context, "repartition")[0].own_text
    assert "\nPARTITIONS = 8  # " in text and '.with-8-partitions"' in text and "\nSTATE_FORMAT = 2 " in text
    assert len(text.splitlines()) <= 80
    last = ck.last_committed_batch
    assert last is not None
    move = plan(context, option_of(ck, sink="foreach_merge", partitions="8").recipe).before_after[0]
    assert move.after["first_batch"] == last + 2
    assert [block.form for block in forms(context, "repartition")] == [
        "snippet",
        "script",
        "kit",
        "file",
        "runbook",
        "plan",
    ]
    without = generate(read_recovery_context(ck, Answers({"sink": "foreach_merge"})), "repartition")[
        0
    ].own_text
    assert "\nPARTITIONS = None  # " in without and "'PARTITIONS': " in without.replace('"', "'")


@pytest.mark.parametrize("value", ["0", "-1", "two", "2147483648", "1.5"])
def test_a_number_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(AnswerError, match="from 1 to 2147483647"):
        Answers({"partitions": value})


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({"sink": "file"}, "every reader of the output would fail"),
        ({"partitions": "2"}, "has 2 shuffle partitions already"),
        ({"platform": "lakeflow"}, "Lakeflow pipeline"),
        ({"stateful": "changed"}, "for the query as it was"),
    ],
)
def test_answers_that_rule_it_out(answers: dict[str, str], why: str) -> None:
    option = option_of(opened(ROCKSDB), **answers)
    assert not option.possible and why in option.why, option.why


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing-delta-file", "only state in RocksDB"),
        ("dropduplicates-removed", "planned and not committed"),
        ("files-stopped-cleanly", "no state"),
    ],
)
def test_checkpoints_that_rule_it_out(name: str, why: str) -> None:
    option = option_of(opened(name), partitions="8")
    assert not option.possible and why in option.why, option.why
    assert not option.recommended


def test_an_operator_without_metadata_or_with_one_partition_only_rules_it_out(tmp_path: Path) -> None:
    place = tmp_path / "ck"
    shutil.copytree(SAMPLES / ROCKSDB / "checkpoint", place)
    for each in (place / "state" / "0").glob("[1-9]*"):
        shutil.rmtree(each)
    shutil.rmtree(place / "state" / "0" / "_metadata")
    assert "no metadata that can be read" in option_of(Checkpoint.open(str(place))).why
    shutil.copytree(
        SAMPLES / ROCKSDB / "checkpoint" / "state" / "0" / "_metadata", place / "state/0/_metadata"
    )
    assert not option_of(Checkpoint.open(str(place))).possible


def test_who_does_not_say_where_the_query_writes_is_told_about_file_sinks() -> None:
    caution = option_of(opened(ROCKSDB)).recipe.caution
    assert any("Not for a file sink" in sentence for sentence in caution)
