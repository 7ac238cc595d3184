"""Questions, options, consequences and plans on small checkpoints written by the test, and on the samples."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from shutil import copytree
from types import MappingProxyType

import pytest

from core.analysis.findings import Finding
from core.analysis.forecast import forecast
from core.analysis.forecast.model import DataEffect, Risk
from core.checkpoint import Checkpoint
from core.cli import main
from core.connectors import ConnectorAnswers, ConnectorSettings
from core.connectors.connect import ask_connectors
from core.documents.base import to_json
from core.documents.recover import recover_document
from core.errors import AnswerError
from core.judgement import judge
from core.recovery import (
    CHOICES,
    OPTION_IDS,
    Advice,
    Answers,
    Option,
    OptionId,
    RecoveryContext,
    generate,
    options,
    plan,
    questions,
    read_recovery_context,
    why_no_code,
)
from core.recovery.readers import source_reader
from core.recovery.recipe import recipe
from core.recovery.sinks import SINK_BEHAVIOUR
from core.storage import parse_location
from tests.support import damage
from tests.support.brokers import HOUR, NOW, answered, at, checkpoint_at, connectors_of
from tests.support.build import SAMPLES, copy_sample

HEADER = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{"spark.sql.shuffle.partitions":"2"}}'
KAFKA = '{"orders":{"0":%d,"1":7}}'
DELTA = '{"sourceVersion":1,"reservoirId":"t","reservoirVersion":%d,"index":-1,"isStartingVersion":false}'
QUERY = "b9b3c6f6-6fb0-4ac0-9a43-a6ee8a60ea9b"


def make(
    place: Path, connectors: dict[int, list[str]], committed: int, operator: str | None = None, files: int = 0
) -> Path:
    """A checkpoint with these source lines per batch; ``files`` entries in the log of file source 0, one
    each."""
    for name in ("offsets", "commits"):
        (place / name).mkdir(parents=True)
    (place / "metadata").write_text(json.dumps({"id": QUERY}), encoding="utf-8")
    for batch, lines in connectors.items():
        (place / "offsets" / str(batch)).write_text("\n".join(["v1", HEADER, *lines]), encoding="utf-8")
        if batch <= committed:
            (place / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}', encoding="utf-8")
    for number in range(files):
        (place / "sources" / "0").mkdir(parents=True, exist_ok=True)
        entry = {"path": f"file:///data/in/{number}.json", "timestamp": 1000 + number, "batchId": number}
        (place / "sources" / "0" / str(number)).write_text("v1\n" + json.dumps(entry), encoding="utf-8")
    if operator is not None:
        for partition in range(2):
            (place / "state" / "0" / str(partition)).mkdir(parents=True)
            for version in range(1, committed + 2):
                (place / "state" / "0" / str(partition) / f"{version}.delta").write_bytes(b"\0" * 100)
        (place / "state" / "0" / "_metadata").mkdir()
        stored = {
            "operatorInfo": {"operatorId": 0, "operatorName": operator},
            "stateStoreInfo": [{"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 2}],
        }
        (place / "state" / "0" / "_metadata" / "metadata").write_text(
            "v1\n" + json.dumps(stored), encoding="utf-8"
        )
    return place


def file_checkpoint(place: Path, operator: str | None = None) -> Checkpoint:
    """Batches 0 to 3 of one file each; batch 3 is planned and not committed."""
    return Checkpoint.open(
        str(make(place / "ck", {i: [json.dumps({"logOffset": i})] for i in range(4)}, 2, operator, files=4))
    )


def kafka_checkpoint(place: Path, operator: str | None = None) -> Checkpoint:
    """Batches 0 to 2; batch 2 is planned with 20 more offsets and not committed."""
    path = make(place / "ck", {0: [KAFKA % 10], 1: [KAFKA % 30], 2: [KAFKA % 50]}, 1, operator)
    (path / "sources" / "0").mkdir(parents=True)
    (path / "sources" / "0" / "0").write_bytes(b'\0v1\n{"orders":{"0":0,"1":0}}')
    return Checkpoint.open(str(path))


def context_of(ck: Checkpoint, answers: Mapping[str, str] = MappingProxyType({})) -> RecoveryContext:
    """What every user of the recovery reads first, once."""
    return read_recovery_context(ck, Answers(answers))


def one(ck: Checkpoint, option: OptionId, **answers: str) -> Option:
    return next(each for each in options(context_of(ck, answers)) if each.id == option)


# ---------------------------------------------------------------- answers


def test_a_refresh_says_at_the_offer_what_its_script_asks_about_the_target(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path)
    answers = {"sink": "foreach_merge", "source_complete": "yes"}
    told = {"sink_path": "/out", "sink_format": "delta"}
    for option, count in (("full_refresh", 1), ("backup_and_backfill", 2)):
        asked = recipe(read_recovery_context(ck, Answers(answers)), option).caution  # type: ignore[arg-type]
        assert len(asked) == count and "TARGET_IS_EMPTY" in asked[0]
        known = read_recovery_context(ck, Answers({**answers, **told}))
        assert recipe(known, option).caution == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "values", [{"sink": "hive"}, {"colour": "red"}, {"token_env": "dapi 123"}, {"trigger": "5 seconds"}]
)
def test_an_answer_that_cannot_be_meant_is_refused(values: dict[str, str]) -> None:
    with pytest.raises(AnswerError):
        Answers(values)


def test_a_secret_option_takes_the_name_of_an_environment_variable_only() -> None:
    with pytest.raises(AnswerError, match="NAME of the environment"):
        Answers({"source.0.option.kafka.sasl.jaas.config": 'password="hunter2";'})
    assert Answers({"source.0.option.kafka.sasl.jaas.config": "JAAS"}).source_options("0") == {
        "kafka.sasl.jaas.config": "JAAS"
    }


def test_answers_are_read_from_key_value_texts_and_empty_ones_count_as_not_given() -> None:
    answers = Answers.parse(["sink=file", "source.0.schema=a int, b string", "sink_path=a=b", "stateful="])
    assert (answers.get("sink"), answers.source("0", "schema"), answers.get("sink_path")) == (
        "file",
        "a int, b string",
        "a=b",
    )
    assert answers.get("stateful") is None


# ---------------------------------------------------------------- questions


def test_state_is_asked_about_only_when_there_is_some(tmp_path: Path) -> None:
    assert [q.id for q in questions(context_of(file_checkpoint(tmp_path / "a")))] == [
        "what_happened",
        "sink",
        "source_complete",
        "platform",
    ]
    asked = questions(context_of(file_checkpoint(tmp_path / "b", "dedupe")))
    assert [q.id for q in asked] == ["what_happened", "sink", "source_complete", "stateful", "platform"]


def test_each_answer_names_exactly_the_options_it_makes_impossible(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path)
    what_happened, *others = questions(context_of(ck))
    assert what_happened.answer is None and "which option comes first" in what_happened.why
    assert [choice.rules_out for choice in what_happened.choices] == [()] * len(what_happened.choices)
    for question in others:
        possible = {o.id for o in options(context_of(ck)) if o.possible}
        for choice in question.choices:
            left = {o.id for o in options(context_of(ck, {question.id: choice.value})) if o.possible}
            assert {option for option, _ in choice.rules_out} == possible - left
    complete = next(q for q in questions(context_of(ck)) if q.id == "source_complete")
    assert {c.value: [o for o, _ in c.rules_out] for c in complete.choices} == {
        "yes": [],
        "no": ["full_refresh"],
        "unknown": [],
    }


def test_the_answer_that_decides_is_named_with_the_option_that_each_leads_to() -> None:
    """State that cannot be rebuilt: the sink decides whether a rewind repeats anything."""
    ck = Checkpoint.open(str(SAMPLES / "missing-delta-file" / "checkpoint"))

    def best(answers: dict[str, str]) -> str | None:
        return next((option.id for option in options(context_of(ck, answers)) if option.recommended), None)

    advice = Advice.of(context_of(ck))
    deciding = advice.question
    assert deciding is not None and deciding.id == "sink"
    named = {choice.value: option for option, choices in deciding.leads_to.items() for choice in choices}
    assert named == {value: best({"sink": value}) for value in CHOICES["sink"]}
    assert named["foreach_merge"] == "rewind" and best({}) == "backup_and_backfill"
    later = questions(context_of(ck, {"sink": "foreach_append"}))
    assert next(q for q in later if q.id == "sink").leads_to == {}
    assert advice.sentence.startswith(
        "It depends on the sink. Delta, Kafka, foreachBatch that appends, foreachBatch"
    )
    keyed = {"sink": "foreach_merge"}
    assert Advice.of(context_of(ck, keyed)).sentence == (
        "It depends on how the stateful part changes. Unchanged: Rewind to an earlier batch. Changed, added: Full"
        " refresh with backup and backfill. Removed: Keep the checkpoint and drop state/."
    )
    same = Advice.of(context_of(ck, {**keyed, "stateful": "unchanged"}))
    assert same.sentence == "Rewind to an earlier batch."


def test_the_advice_is_a_start_without_a_question_and_first_of_all_what_only_a_person_can_do() -> None:
    ck = Checkpoint.open(str(SAMPLES / "files-died-mid-batch" / "checkpoint"))
    plain = Advice.of(context_of(ck))
    assert (plain.question, plain.sentence) == (None, "Fix the cause, if any, and restart the query.")
    assert plain.is_nothing is False, "a batch is left over"
    gone = Finding("SOURCE_PATH_GONE", "blocks_restart", "certain", "It is gone.", (), "Put it back.")
    assert Advice.of(context_of(ck), [gone]).sentence == "Put it back."
    broken = replace(gone, id="STATE_NOT_RESTORABLE", recipe="rewind")
    assert Advice.of(context_of(ck), [broken]).sentence == plain.sentence


def test_where_no_fault_is_known_nothing_has_to_be_done() -> None:
    """Unless a finding risks data, or somebody says what happened."""
    ck = Checkpoint.open(str(SAMPLES / "files-stopped-cleanly" / "checkpoint"))
    context = replace(context_of(ck), forecast=replace(forecast(ck), certainty="certain", risks=()))
    nothing = "Nothing has to be done before a start."
    skewed = Finding("STATE_SKEWED", "attention", "certain", "It is so.", (), "Look at it.")
    assert Advice.of(context).sentence == Advice.of(context, [skewed]).sentence == nothing
    found = Advice.of(context, [replace(skewed, id="COMMITS_MISSING", severity="data_risk", recipe="rewind")])
    assert found.sentence == "Fix the cause, if any, and restart the query."
    crashed = replace(context, answers=Answers({"what_happened": "crash"}))
    assert not Advice.of(crashed).is_nothing


@pytest.mark.parametrize("reason", ["DELTA_FILES_GONE", "DELTA_CHANGES_WAIT", "DELTA_SCHEMA_WAITS"])
def test_a_reset_to_a_position_at_which_the_source_stops_every_start_is_not_offered(reason: str) -> None:
    """Seen with Delta 4.4 on Spark 4.2: the new checkpoint reads on from the same version and fails alike."""
    context = context_of(Checkpoint.open(str(SAMPLES / "delta-stopped-in-first-snapshot" / "checkpoint")))
    assert context.forecast is not None
    stopped = replace(context, forecast=replace(context.forecast, outcome="fail", reason=reason))
    found = {option.id: option for option in options(stopped)}
    assert not found["reset"].possible and "fails there, too" in found["reset"].why
    assert options(context)[0].id == "restart" and options(stopped)[0].id == "backup_and_backfill"


@pytest.mark.parametrize("name", ["files-died-mid-batch", "files-stopped-cleanly"])
def test_a_start_is_not_said_to_lose_nothing_where_the_files_cannot_tell(name: str) -> None:
    context = context_of(Checkpoint.open(str(SAMPLES / name / "checkpoint")))
    assert context.forecast is not None and "loses nothing" in options(context)[0].reason
    data = replace(context.forecast.data, overwrite="exact", skip="unknown")
    unknown = replace(context, forecast=replace(context.forecast, data=data))
    for sink, is_open in (("delta", True), ("foreach_merge", False)):
        best = options(replace(unknown, answers=unknown.answers.having(sink=sink)))[0]
        assert best.id == "restart"
        assert ("the files cannot tell" in best.reason, "loses nothing" in best.reason) == (
            is_open,
            not is_open,
        )


@pytest.mark.parametrize("name", ["join-watermark-held-back", "files-stopped-cleanly"])
def test_a_start_loses_nothing_only_if_the_state_files_that_nobody_opened_are_whole(name: str) -> None:
    """Of an incident: a state file was cut, the forecast said "exact", Recovery "loses nothing"."""
    context = context_of(Checkpoint.open(str(SAMPLES / name / "checkpoint")))
    best = options(context)[0]
    assert best.id == "restart" and ("if the state files hold" in best.reason) == context.has_state
    document = recover_document(context)
    assert ("the contents of the state files" in document.not_checked) == context.has_state
    assert "the sink" in document.not_checked
    opened = forecast(context.ck, level="deep")
    best = options(replace(context, forecast=opened))[0]
    assert best.id == "restart" and "if the state files hold" not in best.reason


def test_a_start_loses_nothing_only_if_the_broker_that_nobody_asked_has_the_records(tmp_path: Path) -> None:
    """The batch was planned days ago, the topic keeps its records for days: nobody put the two together."""
    root = checkpoint_at(tmp_path, {"orders": {0: 4}}, {"orders": {0: 8}})
    best = options(context_of(Checkpoint.open(str(root))))[0]
    assert "which was not asked, still has the records (the newest batch was planned" in best.reason
    asked = connectors_of(answered({("orders", 0): at(0, 12, 8, first_ms=NOW - 2 * HOUR)}))
    best = options(judge(Checkpoint.open(str(root)), asked).recovery(Answers()))[0]
    assert best.reason.endswith("and loses nothing.")


@pytest.mark.parametrize("sink", ["kafka", "foreach_append"])
def test_a_sink_that_takes_every_row_gets_one_batch_again_not_all_of_them(tmp_path: Path, sink: str) -> None:
    """One damaged offset file: a full refresh was recommended to a Kafka sink, whose topic cannot be emptied."""
    root = copy_sample("join-watermark-held-back", tmp_path)
    newest = max(int(path.name) for path in (root / "offsets").iterdir() if path.name.isdecimal())
    damage.holding(f"offsets/{newest}", "")(root)
    best = options(context_of(Checkpoint.open(str(root)), {"sink": sink}))[0]
    assert (best.id, best.recommended) == ("rewind", True)
    assert f"the rows of batch {newest} a second time" in best.reason


def test_rows_that_come_again_under_other_batch_ids_replace_themselves_by_key(tmp_path: Path) -> None:
    """A torn copy of a running query (offsets, then commits): the repair of single files gave exact totals on
    Spark 4.3, and a full refresh was recommended."""
    root = copy_sample("windowed-aggregation-hot-partition", tmp_path)
    for batch in range(7, 10):
        damage.without(f"offsets/{batch}")(root)
    ck = Checkpoint.open(str(root))
    best = {
        sink: options(context_of(ck, {"sink": sink, "what_happened": "damaged", "source_complete": "yes"}))[0]
        for sink in ("foreach_merge", "foreach_append")
    }
    assert best["foreach_merge"].id == "repair_files", best["foreach_merge"].reason
    assert best["foreach_append"].id != "repair_files", "it gets rows twice"


def test_a_risk_that_is_none_at_the_answered_sink_does_not_lead_to_a_refresh() -> None:
    """Offsets and commits rolled back by hand, the source log not: a restart of Spark 4.3 gave exact totals in
    a sink that overwrites by key, while a full refresh with backup was recommended."""
    context = context_of(Checkpoint.open(str(SAMPLES / "files-died-mid-batch" / "checkpoint")))
    assert context.forecast is not None
    data = DataEffect("duplicates", "exact", "loss", frozenset({"append", "skip"}))
    risk = Risk("SOURCE_LOG_AHEAD", "It is ahead.", (), data)
    risky = replace(context, forecast=replace(context.forecast, risks=(risk,), data=data))

    def best(sink: str) -> Option:
        asked = replace(risky, answers=risky.answers.having(sink=sink))
        return next(option for option in options(asked) if option.recommended)

    assert best("foreach_merge").id == "restart"
    assert "leaves the rows of this sink as they should be" in best("foreach_merge").reason
    assert "restart" not in (best("foreach_append").id, best("file").id)
    unreadable = replace(risk, id="SINK_LOG_DAMAGED", data=DataEffect())
    risky = replace(context, forecast=replace(context.forecast, risks=(unreadable,)))
    assert best("file").id != "restart", "no row changes, and nobody can read the output"


@pytest.mark.parametrize(
    ("risk_id", "options_that_meet_it", "field"),
    [
        ("INPUT_CHANGED", ("reset",), "loses"),
        ("SOURCE_LOG_INCOMPLETE", ("reset", "rewind"), "repeats"),
    ],
)
def test_an_option_that_meets_a_risk_of_the_forecast_does_not_say_nothing(
    risk_id: str, options_that_meet_it: tuple[OptionId, ...], field: str
) -> None:
    """Seen on 4.3: the changed file was read as it is now, the forgotten files a second time."""
    context = context_of(
        Checkpoint.open(str(SAMPLES / "files-died-mid-batch" / "checkpoint")), {"sink": "foreach_append"}
    )
    assert context.forecast is not None
    risk = Risk(risk_id, "This is so.", (), DataEffect("duplicates", "unknown", "unknown"))
    met = replace(context, forecast=replace(context.forecast, risks=(risk,)))
    for name in options_that_meet_it:
        now, before = (
            next(getattr(option, field) for option in options(each) if option.id == name)
            for each in (met, context)
        )
        assert now != before and ("This is so." in now or "no longer names" in now)
    assert "nothing is lost" not in next(option for option in options(met) if option.recommended).reason


def test_a_socket_source_answers_for_itself_that_it_cannot_be_read_again(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(make(tmp_path / "ck", {0: ["3"], 1: ["9"]}, 1)))
    found = {o.id: o for o in options(context_of(ck))}
    if ck.sources[0].kind.name == "socket":  # a bare number alone does not say which source wrote it
        assert not found["full_refresh"].possible
    assert not found["reset"].possible and found["reset"].why


# ---------------------------------------------------------------- options and numbers


def test_the_table_has_every_option_with_the_recommended_one_first(tmp_path: Path) -> None:
    found = options(context_of(file_checkpoint(tmp_path), {"sink": "file"}))
    assert {o.id for o in found} == set(OPTION_IDS)
    assert [o.recommended for o in found] == [True] + [False] * (len(OPTION_IDS) - 1)
    assert found[0].id == "restart" and found[0].reason


def test_a_plain_restart_is_recommended_while_the_forecast_says_that_it_works(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path)
    again = one(ck, "restart", sink="foreach_append")
    assert again.possible and again.recommended
    for answers in ({"what_happened": "reprocess"}, {"stateful": "changed"}):
        assert not one(ck, "restart", sink="foreach_append", **answers).recommended


def test_a_changed_query_whose_state_the_change_does_not_touch_is_simply_started_again(
    tmp_path: Path,
) -> None:
    changed = {"sink": "foreach_append", "what_happened": "query_changed"}
    without = one(file_checkpoint(tmp_path / "plain"), "restart", **changed)
    assert without.recommended and "the same sources in the same order" in without.reason
    context = context_of(Checkpoint.open(str(tmp_path / "plain" / "ck")), changed)
    assert "changed query" in plan(context, without.recipe).steps[0].title
    ck = file_checkpoint(tmp_path / "totals", "stateStoreSave")
    assert not one(ck, "restart", **changed).recommended, "nobody said that the totals are the same"
    assert one(ck, "restart", **changed, stateful="unchanged").recommended
    assert not one(ck, "restart", **changed, stateful="added").possible


def test_a_restart_of_another_stateful_query_is_not_possible(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path, "stateStoreSave")
    assert one(ck, "restart", sink="foreach_append", stateful="unchanged").possible
    for stateful in ("changed", "removed", "added"):
        option = one(ck, "restart", sink="foreach_append", stateful=stateful)
        assert not option.possible and "stateful=unchanged" in option.why


def test_a_batch_that_always_fails_is_no_reason_to_read_its_rows_again(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path, "stateStoreSave")
    for complete in ("yes", "no", "unknown"):
        answers = {"sink": "foreach_merge", "source_complete": complete, "what_happened": "batch_fails"}
        option = one(ck, "restart", **answers)
        assert option.recommended and "handle or filter them" in option.reason
    assert one(kafka_checkpoint(tmp_path / "kafka"), "skip_batch", what_happened="batch_fails").recommended


def test_who_wants_old_rows_again_gets_no_option_that_reads_none(tmp_path: Path) -> None:
    wanted = {"source_complete": "yes", "what_happened": "reprocess", "sink": "foreach_merge"}
    ck = file_checkpoint(tmp_path)
    assert one(ck, "full_refresh", **wanted).recommended
    assert one(ck, "backup_and_backfill", **{**wanted, "source_complete": "no"}).recommended
    assert one(ck, "rewind", **wanted, to_batch="1").recommended


def test_expired_data_is_not_said_to_lose_nothing_while_no_source_was_asked(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path)
    assert one(ck, "restart", sink="foreach_append").recommended
    for option in ("restart", "reset"):
        found = one(ck, option, sink="foreach_append", what_happened="data_expired")
        assert "no source was asked" in found.loses
        assert found.recommended == (option == "reset")


def test_a_changed_operator_is_not_said_to_lose_nothing_by_a_warm_up(tmp_path: Path) -> None:
    answers = {"sink": "file", "source_complete": "yes"}
    ck = file_checkpoint(tmp_path, "stateStoreSave")
    changed = one(ck, "reset", **answers, stateful="changed")
    assert changed.recommended and "nothing is lost" not in changed.reason
    assert changed.loses.startswith("What the new query would have emitted")
    assert "What the new query" not in one(ck, "reset", **answers, stateful="unchanged").loses


def test_what_a_keyed_sink_loses_never_contradicts_itself(tmp_path: Path) -> None:
    loses = one(file_checkpoint(tmp_path, "stateStoreSave"), "reset", sink="foreach_merge").loses
    assert loses.startswith("The state") and "Nothing in" not in loses and "also loses" in loses


def test_a_restart_that_fails_is_not_possible_and_says_why(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path)
    (tmp_path / "ck" / "metadata").write_text("hello", encoding="utf-8")
    option = one(Checkpoint.open(ck.location.url), "restart")
    assert not option.possible and "metadata" in option.why
    assert one(Checkpoint.open(ck.location.url), "repair_files", sink="foreach_append").recommended


def test_cells_carry_this_checkpoints_numbers(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path)
    wanted = "Reprocesses at most 37 offsets committed up to batch 1, and batch 2 (at most 20 offsets)."
    assert wanted in one(ck, "full_refresh").cost.facts
    assert "Reprocesses batch 2 (at most 20 offsets) and nothing else." in one(ck, "reset").cost.facts
    files = file_checkpoint(tmp_path / "files", "stateStoreSave")
    assert "Reprocesses 3 files committed" in one(files, "full_refresh").cost.facts
    state = sum(
        path.stat().st_size for path in (tmp_path / "files" / "ck" / "state").rglob("*") if path.is_file()
    )
    assert f"{state} bytes of state is left behind" in one(files, "reset").cost.facts


def test_a_delta_sink_is_said_not_to_absorb_repeats_after_a_reset(tmp_path: Path) -> None:
    ck = Checkpoint.open(
        str(make(tmp_path / "ck", {i: [json.dumps({"logOffset": i})] for i in range(3)}, 2, files=3))
    )
    for option in ("reset", "full_refresh"):
        assert one(ck, option, sink="delta").duplicates.corrected  # type: ignore[arg-type]
    assert not one(ck, "reset", sink="kafka").duplicates.corrected


def test_a_reset_of_a_stateful_query_is_said_to_lose_the_state_unless_the_old_data_is_there(
    tmp_path: Path,
) -> None:
    ck = file_checkpoint(tmp_path, "dedupe")
    lossy = one(ck, "reset", sink="foreach_append", source_complete="no")
    assert lossy.loss.corrected and "deduplication forgets its keys" in lossy.loss.facts
    assert not lossy.recommended
    warm = one(ck, "reset", sink="foreach_append", source_complete="yes")
    assert warm.recipe.method == "warm_up" and not warm.loss.corrected


def test_a_changed_aggregate_with_a_keyed_sink_is_no_reset(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path, "stateStoreSave")
    changed = {"sink": "foreach_merge", "stateful": "changed", "source_complete": "yes"}
    assert not one(ck, "reset", **changed).possible
    assert one(ck, "full_refresh", **changed).recommended
    assert one(ck, "reset", **changed, output_mode="complete").possible


def test_a_backfill_that_merges_by_key_needs_a_delta_table(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path)
    keyed = {"sink": "foreach_merge", "source_complete": "no"}
    refused = one(ck, "backup_and_backfill", **keyed, sink_format="jdbc")
    assert not refused.possible and "this output is jdbc" in refused.why
    for known in ({}, {"sink_format": "delta"}):
        assert one(ck, "backup_and_backfill", **keyed, **known).possible
    assert one(ck, "backup_and_backfill", sink="foreach_append", sink_format="jdbc").possible


def test_an_output_that_the_checkpoint_lies_in_is_not_renamed(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path / "output" / "checkpoint")
    for option in ("full_refresh", "backup_and_backfill"):
        inside = {"sink": "foreach_append", "backfill_keys": "id", "sink_path": str(tmp_path / "output")}
        assert "the checkpoint lies in it" in one(ck, option, **inside).why
        assert one(ck, option, **{**inside, "sink_path": str(tmp_path / "out")}).possible
    assert one(ck, "reset", sink="foreach_append", sink_path=str(tmp_path / "output")).possible


def test_a_reset_needs_a_committed_batch_and_its_offset(tmp_path: Path) -> None:
    nothing = Checkpoint.open(str(make(tmp_path / "a", {0: [KAFKA % 3]}, -1)))
    assert "No batch is committed" in one(nothing, "reset").why
    path = make(tmp_path / "b", {0: [KAFKA % 3], 1: [KAFKA % 5]}, 1)
    (path / "offsets" / "1").unlink()
    missing = one(Checkpoint.open(str(path)), "reset")
    assert not missing.possible and "offsets/1" in missing.why


def test_a_file_log_with_a_gap_makes_the_reset_impossible_and_says_so(tmp_path: Path) -> None:
    path = make(tmp_path / "ck", {i: [json.dumps({"logOffset": i})] for i in range(4)}, 3, files=4)
    (path / "sources" / "0" / "1").unlink()
    option = one(Checkpoint.open(str(path)), "reset")
    assert not option.possible and "gaps" in option.why
    assert generate(context_of(Checkpoint.open(str(path)), {"platform": "pyspark"}), "reset") == ()


def test_sinks_that_know_batch_ids_get_a_checkpoint_whose_batch_ids_continue(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path)
    assert one(ck, "reset", sink="foreach_append").recipe.method == "start_options"
    for sink in ("file", "delta", "foreach_txn"):
        made = one(ck, "reset", sink=sink).recipe
        assert (made.method, made.keep_pending, made.first_batch) == ("seeded", True, 2)
        assert made.keep_query_id == (sink != "file"), "Delta knows batches by the query id"


@pytest.mark.parametrize("lost", [(13,), (12, 13)])
def test_a_file_sink_with_batches_that_cannot_be_planned_alike_gets_no_reset(
    samples: Path, tmp_path: Path, lost: tuple[int, ...]
) -> None:
    """The new checkpoint would continue with a batch ID that the output has, so the script refuses it."""
    copied = copytree(samples / "files-stopped-cleanly", tmp_path / "scene")
    for number in lost:
        (copied / "checkpoint" / "commits" / str(number)).unlink()
    assert asked_reset(copied).possible == (lost == (13,)), "the one plan is carried over, two are not"
    (copied / "checkpoint" / "offsets" / "13").write_bytes(b"")
    reset = asked_reset(copied)
    assert not reset.possible and "The sink already has batch" in reset.why


def asked_reset(scene: Path) -> Option:
    """The option reset of the checkpoint of a sample, with its output looked at."""
    ck = Checkpoint.open(str(scene / "checkpoint"))
    asked = ask_connectors(ck, ConnectorSettings(sink=parse_location(str(scene / "sink"))))
    context = read_recovery_context(ck, Answers({"source_complete": "yes"}), asked)
    return next(each for each in options(context) if each.id == "reset")


def test_a_delta_source_gets_its_offset_twice_so_the_numbers_never_collide(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(make(tmp_path / "ck", {0: [DELTA % 4]}, 0)))
    made = one(ck, "reset", sink="foreach_append").recipe
    assert (made.method, made.first_batch) == ("seeded", 2)


# ---------------------------------------------------------------- consequences


def test_every_option_says_for_each_kind_of_sink_what_repeats_and_what_is_lost(tmp_path: Path) -> None:
    for ck in (
        file_checkpoint(tmp_path / "a"),
        kafka_checkpoint(tmp_path / "b"),
        file_checkpoint(tmp_path / "c", "dedupe"),
    ):
        for option in options(context_of(ck)):
            assert [each.behaviour for each in option.consequences] == [
                "append",
                "overwrite",
                "batch_number_aware",
            ]
            assert all(each.repeats and each.loses and each.trap for each in option.consequences)
            assert not any(each.is_yours for each in option.consequences)


@pytest.mark.parametrize("option", ["full_refresh", "backup_and_backfill"])
@pytest.mark.parametrize(
    ("operator", "answers", "expected"),
    [
        ("stateStoreSave", {"output_mode": "update"}, "come in other steps"),
        ("stateStoreSave", {}, "come in other steps"),  # without a watermark it cannot append
        ("stateStoreSave", {"output_mode": "append"}, ""),
        ("transformWithStateExec", {"output_mode": "append"}, "come in other steps"),
        ("dedupeWithinWatermark", {}, "duplicate of an expired one"),
        ("dedupe", {}, ""),
        ("globalLimit", {}, ""),
    ],
)
def test_everything_read_again_says_what_other_batch_boundaries_change(
    tmp_path: Path, operator: str, answers: dict[str, str], expected: str, option: OptionId
) -> None:
    """Seen on Spark 4.3: of 21 results in update mode six came again after a full refresh."""
    ck = file_checkpoint(tmp_path, operator)
    said = one(ck, option, source_complete="yes", **answers).consequences
    append = next(each for each in said if each.behaviour == "append")
    assert expected in append.loses
    assert expected or "Other batches" not in append.loses
    assert "steps" not in next(each for each in said if each.behaviour == "overwrite").loses


def test_damage_that_nothing_shows_may_be_an_older_copy_that_was_put_back() -> None:
    """Seen on Spark 4.3: after a backup was put back, seven rows came a second time in a sink that appends, and
    a file sink skipped two batches."""
    ck = Checkpoint.open(str(SAMPLES / "files-stopped-cleanly" / "checkpoint"))
    restart = one(ck, "restart", what_happened="damaged", source_complete="yes")
    said = {each.behaviour: each for each in restart.consequences}
    assert "older copy" in restart.reason
    assert "older copy" in said["append"].repeats and "older copy" in said["batch_number_aware"].loses
    assert said["overwrite"].repeats == "Nothing." == said["overwrite"].loses
    crash = one(ck, "restart", what_happened="crash", source_complete="yes")
    assert "older copy" not in f"{crash.reason} {crash.consequences}"


def test_a_reset_after_a_rollback_by_hand_says_what_a_sink_that_appends_has_already() -> None:
    """Seen on Spark 4.3: three results of the batches that were rolled back came a second time."""
    ck = Checkpoint.open(str(SAMPLES / "hand-made-rewind" / "checkpoint"))
    said = {each.behaviour: each for each in one(ck, "reset", source_complete="yes").consequences}
    assert "had written comes a second time" in said["append"].repeats
    assert said["overwrite"].repeats == "Nothing."


def test_a_batch_planned_again_with_newer_input_comes_in_other_steps(tmp_path: Path) -> None:
    """Seen on Spark 4.3: with one more file waiting, the results of the batch in between are not written."""
    for operator, mode, is_said in (("stateStoreSave", "update", True), ("dedupe", "append", False)):
        ck = file_checkpoint(tmp_path / operator, operator)
        (tmp_path / operator / "ck" / "offsets" / "3").write_bytes(b"")
        option = one(ck.refresh(), "repair_files", output_mode=mode)
        assert option.possible
        append = next(each for each in option.consequences if each.behaviour == "append")
        assert append.loses.startswith("Nothing.") and ("other steps" in append.loses) == is_said


def test_the_statement_for_the_answered_sink_is_marked(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path)
    for sink, behaviour in SINK_BEHAVIOUR.items():
        if sink != "lakeflow_table":
            assert [each.behaviour for each in one(ck, "reset", sink=sink).consequences if each.is_yours] == [
                behaviour
            ]


def test_the_pending_batch_is_written_again_in_an_append_sink_and_is_carried_over_for_a_file_sink(
    tmp_path: Path,
) -> None:
    found = {each.behaviour: each for each in one(file_checkpoint(tmp_path), "reset").consequences}
    assert (
        "Batch 3 is not committed (1 file planned)" in found["append"].repeats
        and "are written again" in found["append"].repeats
    )
    assert found["batch_number_aware"].repeats.startswith("Nothing.")
    assert "silently skipped while the batches have IDs 0 to 3" in found["batch_number_aware"].trap


def test_a_sink_that_overwrites_by_batch_id_is_warned_when_numbers_start_at_0(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path)
    overwrite = next(each for each in one(ck, "reset").consequences if each.behaviour == "overwrite")
    assert "loses its old batches" in overwrite.loses
    files = next(
        each
        for each in one(file_checkpoint(tmp_path / "f"), "reset").consequences
        if each.behaviour == "overwrite"
    )
    assert files.loses == "Nothing."


# ---------------------------------------------------------------- plan and report


def test_before_and_after_start_at_the_committed_offset_not_at_the_planned_one(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path)
    made = plan(context_of(ck, {"sink": "foreach_append"}), one(ck, "reset", sink="foreach_append").recipe)
    assert made.before_after[0].before["position"] == KAFKA % 30
    assert json.loads(dict(made.before_after[0].after["options"])["startingOffsets"]) == json.loads(
        KAFKA % 30
    )  # type: ignore[call-overload]
    assert made.before_after[0].after["reads_again"] == "batch 2, which is not committed (at most 20 offsets)"
    assert made.steps[0].title.startswith("Stop the query")


def test_the_report_has_the_fields_of_the_contract(tmp_path: Path) -> None:
    document = to_json(recover_document(context_of(file_checkpoint(tmp_path), {"sink": "file"}), "reset"))
    assert {"schema_version", "questions", "options", "plan", "code"} <= set(document)
    listed = json.loads(json.dumps(document))
    assert all({"id", "text", "choices"} <= set(q) for q in listed["questions"])
    wanted = {
        "id",
        "title",
        "possible",
        "why",
        "complexity",
        "cost",
        "loses",
        "repeats",
        "needs_full_source",
        "recommended",
    }
    assert all(wanted <= set(o) and o["complexity"] in ("low", "medium", "high") for o in listed["options"])
    assert {"option", "steps", "before_after"} <= set(listed["plan"])
    assert {"platform", "language", "title", "text"} <= set(listed["code"][0])
    bare = recover_document(context_of(file_checkpoint(tmp_path / "again")))
    assert bare.plan is None and bare.code == ()


def test_a_backfill_says_that_results_of_several_rows_are_computed_from_what_is_left(tmp_path: Path) -> None:
    said = {"source_complete": "no"}
    found = {}
    for operator in ("stateStoreSave", "transformWithStateExec", "dedupe", "symmetricHashJoin"):
        ck = file_checkpoint(tmp_path / operator, operator)
        for sink in ("file", "delta", "foreach_append", "foreach_merge"):
            context = read_recovery_context(ck, Answers({**said, "sink": sink}))
            offered = {each.id: each for each in options(context)}["backup_and_backfill"]
            assert offered.possible
            found[operator, sink] = "computed from the rows left" in offered.loses
    combined = {operator for (operator, _), is_said in found.items() if is_said}
    assert combined == {"stateStoreSave", "transformWithStateExec"}
    assert all(is_said for (operator, _), is_said in found.items() if operator in combined)


def checkpoints(samples: Path) -> list[Path]:
    return sorted(path.parent for path in samples.glob("*/*/offsets"))


@pytest.mark.slow
def test_every_sample_answers_for_every_option_sink_and_kind_of_state(samples: Path) -> None:
    found = checkpoints(samples)
    assert len(found) >= 12
    for place in found:
        context = read_recovery_context(Checkpoint.open(str(place)), Answers())
        for sink, stateful in product(CHOICES["sink"], ("unchanged", "removed")):
            answered = replace(
                context, answers=Answers({"sink": sink, "stateful": stateful, "source_complete": "yes"})
            )
            assert sum(option.recommended for option in options(answered)) == 1
            for option in OPTION_IDS:
                assert generate(answered, option) or why_no_code(answered, option), (place, sink, option)
                if sink == "file":  # the forms and the runbook too
                    document = recover_document(answered, option)
                    assert document.code or document.no_code, (place, option)


def test_a_sink_that_is_not_there_and_whose_kind_nobody_said_is_looked_at_first(tmp_path: Path) -> None:
    ck = file_checkpoint(tmp_path)
    connectors = ask_connectors(ck, ConnectorSettings(sink=parse_location(str(tmp_path / "mistyped"))))
    for sink, words in ((None, "First see why"), ("foreach_append", "loses nothing")):
        answers = Answers({} if sink is None else {"sink": sink})
        again = next(o for o in options(read_recovery_context(ck, answers, connectors)) if o.id == "restart")
        assert again.recommended and words in again.reason, sink


def test_where_no_state_is_seen_the_question_asks_whether_there_was_any(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ "It does not change" was what a query without state answered, and it led to a full refresh."""
    ck = file_checkpoint(tmp_path / "plain")
    damaged = {"sink": "foreach_append", "what_happened": "damaged", "source_complete": "yes"}
    asked = next(q for q in questions(context_of(ck, damaged)) if q.id == "stateful")
    labels = {choice.value: choice.label for choice in asked.choices}
    assert "no state here" in asked.text and labels["removed"] == "It keeps no state"
    assert labels["unchanged"] == "It keeps state, which is lost"
    main(["recover", str(tmp_path / "plain" / "ck"), "--set", "what_happened=damaged"])
    assert "removed: It keeps no state; " in capsys.readouterr().out
    assert one(ck, "restart", **damaged, stateful="removed").recommended, "no state, and nothing is damaged"
    assert not one(ck, "restart", **damaged, stateful="unchanged").possible, "its state is gone"
    totals = file_checkpoint(tmp_path / "totals", "stateStoreSave")
    asked = next(q for q in questions(context_of(totals, damaged)) if q.id == "stateful")
    assert "does not change" in asked.choices[0].label.lower()
    assert not one(totals, "restart", **damaged, stateful="removed").recommended


def test_a_planned_batch_that_the_sink_may_have_stops_a_start_with_format_2(tmp_path: Path) -> None:
    """Observed with the file sink of 4.3 and Delta on 4.2: a skipped batch has no state ids to commit."""
    root = copy_sample("state-format-2", tmp_path)
    for name in ("7", ".7.crc"):
        (root / "commits" / name).unlink()
    ck = Checkpoint.open(str(root))
    for sink, is_said in (("file", True), ("delta", True), ("foreach_merge", False), ("kafka", False)):
        again = one(ck, "restart", sink=sink)
        assert again.possible
        assert any("already skips it" in text for text in again.recipe.caution) == is_said, sink


# ---------------------------------------------------------------- what else an option loses and repeats


def test_what_only_the_removed_state_held_is_lost_by_a_reset_too(tmp_path: Path) -> None:
    """Seen on 4.3: six open windows, whose input counts as read, were never handed out; dropDuplicates holds
    no such rows."""
    changed = {"sink": "foreach_append", "what_happened": "query_changed", "stateful": "removed"}
    totals, distinct = (file_checkpoint(tmp_path / name, name) for name in ("stateStoreSave", "dedupe"))
    reset = one(totals, "reset", **changed)
    assert reset.recommended and "not yet emitted" in reset.loses and "not yet emitted" in reset.reason
    assert reset.loss.corrected and "no state" not in reset.why
    assert reset.loses == one(totals, "drop_state", **changed).loses
    assert "emitted" not in one(distinct, "reset", **changed).loses


def test_every_batch_without_a_commit_is_named(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(make(tmp_path / "ck", {b: [KAFKA % b] for b in range(4)}, 1, "flatMapGroups")))
    repeats = one(ck, "reset", sink="foreach_append", source_complete="yes").repeats
    assert "Batches 2 and 3 are not committed" in repeats and "runs batch 3 only" in repeats


def test_a_place_that_was_named_is_the_path_where_the_log_of_the_source_tells_none(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    ck = Checkpoint.open(str(make(tmp_path / "ck", {0: ['{"logOffset":0}']}, 0)))
    for named, path in (({}, None), ({"0": parse_location(str(tmp_path / "in"))}, str(tmp_path / "in"))):
        said = ask_connectors(ck, ConnectorSettings(sources=named))
        context = read_recovery_context(ck, Answers({"source.0.format": "json"}), said)
        assert source_reader(context, context.sources[0]).path == path


def test_a_table_that_was_asked_is_the_path_of_its_source() -> None:
    sample = SAMPLES / "delta-stopped-in-first-snapshot"
    ck = Checkpoint.open(str(sample / "checkpoint"))
    for named, path in (({}, None), ({"0": parse_location(str(sample / "source"))}, str(sample / "source"))):
        context = read_recovery_context(ck, Answers(), ask_connectors(ck, ConnectorSettings(sources=named)))
        assert source_reader(context, context.sources[0]).path == path


@pytest.mark.parametrize(
    ("option", "begins"),
    [(None, "the current snapshot of the table"), ("startingVersion", "startingVersion=2")],
)
def test_a_full_refresh_of_a_table_begins_where_its_option_says(option: str | None, begins: str) -> None:
    ck = Checkpoint.open(str(SAMPLES / "delta-stopped-in-first-snapshot" / "checkpoint"))
    answers = {"source_complete": "yes"} | ({f"source.0.option.{option}": "2"} if option else {})
    context = read_recovery_context(ck, Answers(answers), ConnectorAnswers())
    (start,) = recipe(context, "full_refresh").starts
    assert begins in start.says


def test_rows_of_all_commits_without_offsets_come_again(tmp_path: Path) -> None:
    """Seen on 4.3: offsets/2 and 3 were removed by hand, and the rows of both batches came twice."""
    ck = make(tmp_path / "ck", {b: [json.dumps({"logOffset": b})] for b in range(4)}, 3, files=3)
    for batch in (2, 3):
        (ck / "offsets" / str(batch)).unlink()
    repair = one(Checkpoint.open(str(ck)), "repair_files", sink="foreach_append")
    assert repair.possible and "batches 2 and 3" in repair.repeats, (repair.why, repair.repeats)


def test_input_files_that_are_gone_decide_whether_the_source_has_everything(tmp_path: Path) -> None:
    """Seen on 4.3: a reset was recommended that rebuilds the state from the old data, and a file was gone."""
    source = tmp_path / "in"
    source.mkdir()
    place = make(tmp_path / "ck", {b: [json.dumps({"logOffset": b})] for b in range(4)}, 3, "stateStoreSave")
    (place / "sources" / "0").mkdir(parents=True)
    for number in range(4):
        path = source / f"{number}.json"
        path.write_text("{}", encoding="utf-8")
        os.utime(path, (1_000 + number,) * 2)
        entry = {"path": f"file://{path}", "timestamp": (1_000 + number) * 1000, "batchId": number}
        (place / "sources" / "0" / str(number)).write_text("v1\n" + json.dumps(entry), encoding="utf-8")
    said = {"sink": "foreach_append", "source_complete": "yes", "stateful": "unchanged"}

    def asked() -> RecoveryContext:
        return context_of(Checkpoint.open(str(place)), said)

    reset = next(option for option in options(asked()) if option.id == "reset")
    assert asked().source_complete == "yes" and reset.recipe.method == "warm_up"
    assert "changed since" not in reset.loses
    os.utime(source / "2.json", (5_000, 5_000))
    reset = next(option for option in options(asked()) if option.id == "reset")
    assert "1 of the 4 input files looked for has changed since" in reset.loses
    (source / "1.json").unlink()
    assert asked().source_complete == "no" and "no longer at the source" in asked().lacks_records
    assert next(option for option in options(asked()) if option.id == "reset").recipe.method != "warm_up"
    shutil.rmtree(source)  # of another machine, or not mounted: nobody could look
    assert asked().source_complete == "yes"
