"""Whether, to which batch and for which sink a checkpoint can be rewound, on small checkpoints written by the
test; the scripts run in tests/spark/test_recovery_rewind.py."""

from __future__ import annotations

import json
import shutil
from itertools import product
from pathlib import Path

import pytest

from core.analysis.findings import findings
from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.checkpoint.rewind import rewind
from core.errors import AnswerError
from core.recovery import Answers, Option, generate, options, plan, questions, read_recovery_context
from core.recovery.answers import RepairId
from core.recovery.recipe import recipe
from core.recovery.repairs import REPAIRS
from tests.support.build import copy_sample
from tests.unit.test_recovery_judgement import file_checkpoint, kafka_checkpoint, make


def option_of(ck: Checkpoint, **answers: str) -> Option:
    context = read_recovery_context(ck, Answers(answers))
    return next(each for each in options(context) if each.id == "rewind")


def broken(place: Path) -> Checkpoint:
    """Batches 0 to 2 are committed, the state of batch 2 is gone, batch 3 is planned."""
    ck = file_checkpoint(place, "dedupe")
    (place / "ck" / "state" / "0" / "1" / "3.delta").unlink()
    return ck.refresh()


def test_every_repair_is_in_the_registry_under_its_own_id() -> None:
    assert {repair.id for repair in REPAIRS.values()} == set(REPAIRS) == set(RepairId.__args__)  # type: ignore[attr-defined]


def test_the_newest_batch_that_every_partition_can_rebuild_is_the_default(tmp_path: Path) -> None:
    ck = broken(tmp_path)
    assert rewind(ck).batches == (0, 1)
    option = option_of(ck, sink="foreach_merge")
    assert option.possible and option.recommended
    assert "to_batch" not in option.why and "batch 1" in option.why
    context = read_recovery_context(ck, Answers({"sink": "foreach_merge", "platform": "pyspark"}))
    assert 'NEW_CHECKPOINT = "' in generate(context, "rewind")[0].text
    assert "\nTO_BATCH = 1  # " in generate(context, "rewind")[0].text
    move = plan(context, option.recipe).before_after[0]
    assert (move.before["after_batch"], move.after["first_batch"], move.after["reads_again"]) == (
        2,
        2,
        "2 files",
    )


@pytest.mark.parametrize("option_id", ["rewind", "backup", "restore_backup"])
def test_a_plan_for_a_spark_without_a_state_reader_promises_no_look_with_it(
    tmp_path: Path, option_id: RepairId
) -> None:
    ck = broken(tmp_path)
    for spark, is_promised in (("3.5", False), ("4.3", True)):
        answers = Answers({"sink": "foreach_merge", "platform": "pyspark"})
        context = read_recovery_context(ck, answers, restart=forecast(ck, spark))
        made = " ".join(
            f"{step.title} {step.why}" for step in plan(context, recipe(context, option_id)).steps
        )
        assert ("Spark 3.5 has no state reader" in made) is not is_promised
        assert ("with the state reader of Spark" in made or "state reader loads every" in made) is is_promised


def test_a_batch_that_is_not_kept_is_refused_with_the_range(tmp_path: Path) -> None:
    ck = broken(tmp_path)
    for batch in ("2", "3", "77"):
        option = option_of(ck, sink="foreach_merge", to_batch=batch)
        assert not option.possible and "complete only for batches 0 and 1" in option.why, option.why
    with pytest.raises(AnswerError, match="whole number"):
        Answers({"to_batch": "-1"})
    with pytest.raises(AnswerError, match="whole number"):
        Answers({"to_batch": "two"})


def test_an_unreadable_log_file_is_no_place_to_go_back_to(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path)
    (tmp_path / "ck" / "offsets" / "1").write_text("", encoding="utf-8")
    ck = ck.refresh()
    assert "offsets/1 cannot be read" in option_of(ck, to_batch="1").why
    assert "offsets/1 cannot be read" in option_of(ck, to_batch="2").why
    assert rewind(ck).newest == 0


def test_a_file_source_log_must_reach_the_batch(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path)
    (tmp_path / "ck" / "sources" / "0" / "3").unlink()
    (tmp_path / "ck" / "sources" / "0" / "2").unlink()
    ck = ck.refresh()
    assert "file source log of source 0 is not complete" in option_of(ck, to_batch="2").why
    assert rewind(ck).newest == 1


def test_each_kind_of_sink_has_its_own_answer(tmp_path: Path) -> None:
    ck = broken(tmp_path)
    appended = option_of(ck, sink="foreach_append")
    assert appended.recommended and "the rows of batches 2 and 3 a second time" in appended.reason
    assert "batches 2 and 3 wrote (2 files of input) is written a second time" in appended.repeats
    assert option_of(ck, sink="foreach_merge").repeats.startswith("Nothing")
    assert not option_of(ck, sink="file").possible
    assert not option_of(ck, sink="foreach_txn").possible
    delta = option_of(ck, sink="delta")
    assert delta.possible and "restored to the version that has batch 1" in delta.repeats
    unknown = option_of(ck)
    assert not unknown.recommended and "Not possible: A file sink skips every batch ID" in unknown.repeats


@pytest.mark.parametrize(
    ("operator", "is_recommended"),
    [
        ("stateStoreSave", True),
        ("sessionWindowStateStoreSaveExec", True),
        ("dedupeWithinWatermark", False),
        ("transformWithStateExec", False),
    ],
)
def test_it_is_recommended_where_other_boundaries_give_the_same_results(
    operator: str, is_recommended: bool, tmp_path: Path
) -> None:
    ck = file_checkpoint(tmp_path, operator)
    (tmp_path / "ck" / "state" / "0" / "1" / "3.delta").unlink()
    option = option_of(ck.refresh(), sink="foreach_merge", source_complete="yes")
    assert option.possible and option.recommended is is_recommended


def test_a_table_is_restored_before_everything_is_read_again_but_not_before_an_exact_reset(
    tmp_path: Path,
) -> None:
    ck = broken(tmp_path)
    assert option_of(ck, sink="delta", source_complete="unknown").recommended
    assert option_of(ck, sink="delta", source_complete="no").recommended
    assert not option_of(ck, sink="delta", source_complete="yes").recommended  # the state is rebuilt


def test_without_the_end_of_a_source_log_no_reset_knows_what_was_read(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path)
    for entry in ("2", "3"):
        (tmp_path / "ck" / "sources" / "0" / entry).unlink()
    ck = ck.refresh()
    found = {}
    for sink in ("delta", "foreach_append"):
        context = read_recovery_context(ck, Answers({"sink": sink, "source_complete": "yes"}))
        assert context.sources[0].files_read is None
        offered = {each.id: each for each in options(context)}
        assert not offered["reset"].possible and "stops before the position" in offered["reset"].why
        found[sink] = next(each.id for each in offered.values() if each.recommended)
    assert found == {"delta": "rewind", "foreach_append": "rewind"}


def test_a_start_that_would_skip_files_unseen_is_rewound(tmp_path: Path) -> None:
    """The newest batch had no data, so that Spark does not notice that the source log stops before it."""
    logs = {i: [json.dumps({"logOffset": min(i, 1)})] for i in range(3)}
    place = make(tmp_path / "ck", logs, 2, "stateStoreSave", files=2)
    (place / "sources" / "0" / "1").unlink()
    ck = Checkpoint.open(str(place))
    said = Answers({"sink": "foreach_merge", "source_complete": "yes"})
    context = read_recovery_context(ck, said)
    assert context.forecast is not None and context.forecast.outcome == "resume"
    assert [risk.id for risk in context.forecast.risks if risk.weight == "data_risk"] == ["SOURCE_LOG_BEHIND"]
    best = next(each for each in options(context) if each.recommended)
    assert best.id == "rewind" and "\nTO_BATCH = 0  # " in generate(context, "rewind")[0].text


def test_after_damaged_a_start_that_fails_on_a_damaged_state_file_is_no_option(tmp_path: Path) -> None:
    """Names and sizes show nothing; decoded, the changes of batch 8 are damaged."""
    place = copy_sample("windowed-aggregation-hot-partition", tmp_path)
    file = place / "state" / "0" / "0" / "9.changelog"
    file.write_bytes(file.read_bytes()[:500])
    ck = Checkpoint.open(str(place))
    said = {"sink": "foreach_merge", "source_complete": "yes", "stateful": "unchanged"}
    best = next(each for each in options(read_recovery_context(ck, Answers(said))) if each.recommended)
    assert best.id == "restart"  # nobody says that it is damaged
    context = read_recovery_context(ck, Answers({**said, "what_happened": "damaged"}))
    offered = {each.id: each for each in options(context)}
    assert not offered["restart"].possible and "9.changelog is damaged" in offered["restart"].why
    assert offered["rewind"].recommended
    assert "\nTO_BATCH = 7  # " in generate(context, "rewind")[0].text  # batch 8 needs the file too


def test_a_query_whose_state_is_gone_is_no_query_without_state(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path, "dedupe")
    shutil.rmtree(tmp_path / "ck" / "state")
    ck = ck.refresh()
    said = {"sink": "delta", "source_complete": "yes"}
    unseen = read_recovery_context(ck, Answers(said))
    assert not unseen.is_state_lost  # nothing in the logs shows it
    damaged = read_recovery_context(ck, Answers({**said, "what_happened": "damaged"}))
    assert "stateful" in [question.id for question in questions(damaged)]
    context = read_recovery_context(
        ck, Answers({**said, "stateful": "unchanged", "what_happened": "damaged"})
    )
    offered = {each.id: each for each in options(context)}
    possible = {name for name, each in offered.items() if each.possible}
    assert not possible & {"restart", "rewind", "skip_batch", "drop_state"}
    assert "MISSING_STATE_DIRECTORY" in offered["restart"].why
    assert offered["full_refresh"].recommended
    assert offered["reset"].recipe.method == "empty_state"


def test_an_operator_that_depends_on_the_boundaries_is_said_to_and_not_recommended(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path, "dedupeWithinWatermark")
    (tmp_path / "ck" / "state" / "0" / "1" / "3.delta").unlink()
    option = option_of(ck.refresh(), sink="foreach_merge")
    assert option.possible and not option.recommended
    assert "dedupeWithinWatermark can give other results" in option.loses
    for answers in ({"sink": "foreach_append"}, {"sink": "foreach_merge", "source_complete": "no"}):
        found = options(read_recovery_context(ck.refresh(), Answers(answers)))
        assert found[0].id == "backup_and_backfill"
        assert "A rewind to batch 1 is less work, but does not come first" in found[0].reason


def test_it_is_for_the_query_as_it_was_and_not_for_a_pipeline(tmp_path: Path) -> None:
    ck = broken(tmp_path)
    for answers in ({"stateful": "changed"}, {"stateful": "removed"}, {"platform": "lakeflow"}):
        assert not option_of(ck, sink="foreach_merge", **answers).possible
    assert generate(read_recovery_context(ck, Answers({"platform": "lakeflow"})), "rewind") == ()


def test_a_checkpoint_that_needs_nothing_is_not_rewound_unless_a_batch_is_named(tmp_path: Path) -> None:
    line = json.dumps({"logOffset": 0})
    ck = Checkpoint.open(str(make(tmp_path / "ck", {0: [line], 1: [line]}, 1, files=1)))
    assert "nothing to roll back" in option_of(ck, sink="foreach_merge").why
    assert option_of(ck, sink="foreach_merge", to_batch="0").possible
    kafka = option_of(kafka_checkpoint(tmp_path / "kafka"), sink="kafka", to_batch="0")
    assert kafka.possible and any("broker must still have" in each for each in kafka.recipe.caution)
    assert "40 offsets" in kafka.repeats, kafka.repeats


def test_the_finding_names_the_batch_and_the_command(tmp_path: Path) -> None:
    found = {each.id: each for each in findings(broken(tmp_path)).findings}
    finding = found["STATE_NOT_RESTORABLE"]
    assert finding.rewind_to == 1
    assert "--option rewind --set to_batch=1" in finding.action


def test_a_copy_that_would_not_start_either_is_not_offered(tmp_path: Path) -> None:
    """What an option makes is forecast, too: without metadata the copy has none either."""
    ck = broken(tmp_path)
    assert option_of(ck, sink="foreach_merge").possible
    metadata = next(tmp_path.rglob("metadata"))
    metadata.unlink()
    for answers in ({}, {"to_batch": "1"}):
        option = option_of(Checkpoint.open(str(metadata.parent)), sink="foreach_merge", **answers)
        assert not option.possible and "does not start either" in option.why, option.why
        assert "metadata is missing" in option.why


@pytest.mark.parametrize(
    ("operator", "sink", "says"),
    [
        ("dedupe", "other", "a second time; what this one does with a batch that comes again is not known"),
        ("transformWithStateExec", "other", "a reset would lose all state"),
        ("transformWithStateExec", "kafka", "a reset would lose all state"),
    ],
)
def test_it_comes_before_a_reset_that_loses_all_state(
    tmp_path: Path, operator: str, sink: str, says: str
) -> None:
    """The reset was recommended as the only option that is possible, beside this one."""
    ck = file_checkpoint(tmp_path, operator)
    (tmp_path / "ck" / "state" / "0" / "1" / "3.delta").unlink()
    option = option_of(ck.refresh(), sink=sink)
    assert option.recommended and says in option.reason


def test_a_reset_is_called_the_only_option_nowhere_beside_another(samples: Path, tmp_path: Path) -> None:
    for sample, answers in product(
        ("missing-delta-file", "transform-with-state-timers", "state-format-2"),
        (
            {"sink": sink, "source_complete": complete}
            for sink in ("other", "kafka", "foreach_append")
            for complete in ("unknown", "no")
        ),
    ):
        place = tmp_path / sample
        if not place.exists():
            shutil.copytree(samples / sample / "checkpoint", place)
            shutil.rmtree(place / "state")
        found = options(read_recovery_context(Checkpoint.open(str(place)), Answers(answers)))
        best = next(each for each in found if each.recommended)
        others = {each.id for each in found if each.possible} - {best.id, "backup"}
        assert "the only option" not in best.reason or not others
        if best.id == "reset":
            assert ("take the full refresh" in best.reason) is ("full_refresh" in others)


@pytest.mark.parametrize("sample", ["missing-delta-file", "files-died-mid-batch", "dropduplicates-removed"])
def test_the_table_says_the_loss_that_the_card_says(sample: str, samples: Path) -> None:
    """The table said "no" of options whose card named what they lose."""
    ck = Checkpoint.open(str(samples / sample / "checkpoint"))
    for sink in (None, "file", "foreach_append", "foreach_merge", "other"):
        answers = {} if sink is None else {"sink": sink}
        for each in options(read_recovery_context(ck, Answers(answers))):
            if not each.possible:
                continue
            is_nothing = each.loses == "Nothing."
            assert is_nothing or each.loses in each.loss.facts, (sink, each.id)
            if not each.loses.startswith(("Nothing.", "Nothing:", "Nothing,")) and sink is not None:
                assert each.loss.corrected or each.loss.general.startswith("yes"), (sink, each.id)
            elif is_nothing:
                assert not each.loss.corrected, (sink, each.id)
