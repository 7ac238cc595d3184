"""``core/analysis/changes``: what the query was, what a change does, how it is asked and said."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from core.analysis.changes import (
    WHATS,
    AskedChange,
    ChangesReport,
    Judged,
    judge_changes,
    parse_change,
)
from core.analysis.changes.asked import CHANGED, CHOICES, every_value
from core.analysis.changes.context import ChangeContext
from core.analysis.changes.model import Column, Recipe
from core.analysis.changes.plan_differences import _join
from core.analysis.changes.query_plan import PlanOperator
from core.analysis.changes.rules import RULES
from core.analysis.changes.source_rules import _contains
from core.analysis.changes.state_rules import join_type, output_mode, window
from core.analysis.changes.written_query import columns_of, read_written_query
from core.analysis.forecast import Query, forecast
from core.analysis.forecast.versions import V40, V43
from core.checkpoint import Checkpoint
from core.cli import main
from core.errors import UsageError
from core.messages.changes import RULES as SENTENCES
from core.messages.changes import VALUES
from core.recovery.answers import OPTION_IDS
from core.settings import DEFAULTS
from core.storage import parse_location
from scripts.changes_page import changes_page
from tests.support.build import PROJECT, SAMPLES, copy_sample, kafka_checkpoint, sample_names, unpack_corpus

STATELESS, TOTALS, WINDOWS = (
    "files-stopped-cleanly",
    "purged-to-newest-10",
    "windowed-aggregation-hot-partition",
)
JUDGE = {"window": window, "join_type": join_type}
JOIN, DEDUP, TRANSFORM = "join-watermark-held-back", "state-format-2", "transform-with-state-timers"


def opened(place: Path | str) -> Checkpoint:
    return Checkpoint.open(parse_location(str(place)), DEFAULTS)


def judged(name: str, *settings: str, spark: str | None = None, sink: str | None = None) -> ChangesReport:
    asked = [parse_change(f"change.{setting}") for setting in settings]
    return judge_changes(opened(SAMPLES / name / "checkpoint"), asked, spark, sink)  # type: ignore[arg-type]


def one(name: str, setting: str, spark: str | None = None, sink: str | None = None) -> Judged:
    return judged(name, setting, spark=spark, sink=sink).changes[0]


def test_the_query_is_read_from_its_files() -> None:
    query = judged(WINDOWS).query
    assert [(source.key, source.kind) for source in query.sources] == [("0", "file")]
    assert query.sources[0].place == ("file:///data/windowed-aggregation-hot-partition/source",)
    operator = query.operators[0]
    assert (operator.name, operator.has_window) == ("stateStoreSave", True)
    assert operator.keys == (
        Column("window", "struct<start:timestamp,end:timestamp>"),
        Column("store", "string"),
    )
    assert operator.values == (Column("count", "long"), Column("buf", "binary"))
    assert (query.partitions, query.provider, query.watermark_delay_ms) == (6, "rocksdb", 1_800_000)


def test_both_sides_of_a_join_and_the_variables_of_a_state_are_named() -> None:
    join = judged(JOIN).query.operators[0]
    assert (
        Column("left.order_id", "long") in join.values and Column("right.paid_at", "timestamp") in join.values
    )
    assert not any("matched" in column.name for column in join.values)
    transform = judged(TRANSFORM).query
    assert transform.output_mode == "append"
    assert [column.name for column in transform.operators[0].values] == [
        "amounts.amount",
        "totals.orders",
        "totals.total",
        "totals.timer",
    ]


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        (TOTALS, "aggregates=same_types"),
        (TOTALS, "aggregates=highest:long"),
        (TOTALS, "expressions=same_types"),
        (TOTALS, "keys=same_types"),
        (TOTALS, "keys=town:string"),
        (TOTALS, "keys=changed"),
        (DEDUP, "dedup_columns=customer_id:bigint"),
        (WINDOWS, "window=length"),
        (WINDOWS, "window=slide"),
        (WINDOWS, "aggregates=changed"),
    ],
)
def test_what_spark_does_not_compare_is_silently_wrong(name: str, setting: str) -> None:
    found = one(name, setting)
    assert found.verdict == "silently_wrong" and found.condition is None and found.recipe is not None
    assert "without an error" in found.sentence and found.rollback.key == "changes.ROLLBACKS.mixed_state"


@pytest.mark.parametrize(
    ("name", "setting", "condition"),
    [
        (TOTALS, "keys=store:string,day:date", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"),
        (TOTALS, "keys=store:long", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"),
        (DEDUP, "dedup_columns=order_id:string", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"),
        (TOTALS, "aggregates=sum:double", "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"),
        (TOTALS, "aggregates=count:long,sum:long", "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"),
        (TOTALS, "operators=none", "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"),
        (STATELESS, "operators=dedupe", "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"),
    ],
)
def test_what_spark_compares_fails_in_the_batch_with_its_condition(
    name: str, setting: str, condition: str
) -> None:
    found = one(name, setting)
    assert (found.verdict, found.fails_at, found.condition) == ("fails", "batch", condition)
    assert found.rollback.key == "changes.ROLLBACKS.runs_planned"


@pytest.mark.parametrize(
    ("setting", "verdict", "rule"),
    [
        ("output_mode=update", "fails", "mode_of_transform"),
        ("output_mode=changed", "fails", "mode_of_transform"),
        ("output_mode=append", "fine", "same_value"),
        ("state_schema=time_mode", "fails", "user_state_time_mode"),
        ("state_schema=variables", "fine_but", "user_state_variables"),
        ("state_schema=processor", "unknown", "user_state_processor"),
        ("state_schema=code", "fine_but", "user_state_code"),
    ],
)
def test_transform_with_state(setting: str, verdict: str, rule: str) -> None:
    """Seen with 4.3 in Python: what the metadata of the operator has is compared in the first batch."""
    found = one(TRANSFORM, setting)
    assert (found.verdict, found.rule) == (verdict, rule)
    assert found.fails_at == ("batch" if verdict == "fails" else None)
    if rule == "mode_of_transform":
        assert found.condition == "STATE_STORE_INVALID_CONFIG_AFTER_RESTART" and ", append:" in found.sentence


@pytest.mark.parametrize(
    ("name", "setting", "verdict", "rule"),
    [
        (WINDOWS, "output_mode=update", "unknown", "mode_update"),
        (WINDOWS, "output_mode=update_after_append", "silently_wrong", "mode_update_lost"),
        (WINDOWS, "output_mode=update_after_complete", "fine_but", "mode_changed"),
        (WINDOWS, "output_mode=complete", "silently_wrong", "mode_complete_removed"),
        (WINDOWS, "output_mode=append", "fine_but", "mode_append"),
        (TOTALS, "output_mode=update", "fine_but", "mode_changed"),
        (TOTALS, "output_mode=complete", "fine_but", "mode_changed"),
        (DEDUP, "output_mode=update_after_append", "fine", "mode_rows"),
    ],
)
def test_another_output_mode(name: str, setting: str, verdict: str, rule: str) -> None:
    """What append has not handed out and what a watermark has removed, which no error shows."""
    found = one(name, setting)
    assert (found.verdict, found.rule) == (verdict, rule)


def test_update_mode_does_not_take_session_windows() -> None:
    ck = opened(SAMPLES / WINDOWS / "checkpoint")
    query = read_written_query(ck)
    session = replace(query.operators[0], name="sessionWindowStateStoreSaveExec")
    context = ChangeContext(ck, replace(query, operators=(session,)), V43)
    found = output_mode(context, parse_change("change.output_mode=update_after_append"))
    assert (found.fails_at, found.condition) == ("start", "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION")


@pytest.mark.parametrize(
    ("value", "verdict", "rule"),
    [
        ("continuous", "fine", "same_value"),
        ("continuous=5 seconds", "fine", "same_value"),
        ("processing_time", "fails", "trigger_of_continuous"),
        ("available_now", "fails", "trigger_of_continuous"),
        ("10 seconds", "fails", "trigger_of_continuous"),
        ("changed", "unknown", "trigger_needed"),
    ],
)
def test_the_trigger_on_a_checkpoint_of_continuous_processing(
    value: str, verdict: str, rule: str, tmp_path: Path
) -> None:
    ck = opened(unpack_corpus("kafka-continuous", tmp_path))
    found = judge_changes(ck, [parse_change(f"change.trigger={value}")]).changes[0]
    assert (found.verdict, found.rule) == (verdict, rule)
    assert found.fails_at == ("start" if verdict == "fails" else None)


@pytest.mark.parametrize(
    ("ids", "value", "verdict"),
    [
        ((0, 6, 11, 16, 21), "available_now", "fails"),
        ((0, 6, 11, 16, 17), "available_now", "unknown"),
        ((0, 6, 11, 16, 21), "processing_time", "fine"),
        ((0, 6, 11, 16, 21), "changed", "unknown"),
        ((0, 1, 2, 3, 4), "available_now", "fine"),
    ],
)
def test_the_trigger_on_a_checkpoint_of_asynchronous_progress(
    ids: tuple[int, ...], value: str, verdict: str, tmp_path: Path
) -> None:
    kafka_checkpoint(tmp_path, ids)
    found = judge_changes(opened(tmp_path), [parse_change(f"change.trigger={value}")]).changes[0]
    assert found.verdict == verdict, found
    if verdict == "fails":
        assert found.fails_at == "start" and "batch 20 is not in the offset log" in found.sentence


@pytest.mark.parametrize(
    ("value", "verdict", "rule"),
    [
        ("left_semi", "unknown", "join_type_semi"),
        ("LeftSemi", "unknown", "join_type_semi"),
        ("left_semi_same_columns", "fine_but", "join_type"),
        ("full", "fine_but", "join_type"),
        ("inner", "fine_but", "join_type"),
        ("changed", "unknown", "join_type_needed"),
    ],
)
def test_a_left_semi_join_may_carry_less(value: str, verdict: str, rule: str) -> None:
    found = one(JOIN, f"join_type={value}")
    assert (found.verdict, found.rule) == (verdict, rule)
    assert rule != "join_type_semi" or "right.paid_at" in found.sentence


@pytest.mark.parametrize(
    ("carried", "join_type", "said"),
    [
        ((("left.id", "long"), ("right.id", "long")), "LeftSemi", ["left_semi_same_columns"]),
        ((("left.id", "long"),), "LeftSemi", ["before_state"]),
        ((("left.id", "long"), ("right.id", "long")), "LeftOuter", ["left_outer"]),
        ((), "LeftAnti", ["before_state", "changed"]),
    ],
)
def test_two_joins_are_compared_by_what_they_carry(
    carried: tuple[tuple[str, str], ...], join_type: str, said: list[str]
) -> None:
    """A semi join that carries other columns fails; beside that its type is not called fine."""
    old = PlanOperator(
        "symmetricHashJoin", join_type="Inner", carried=(("left.id", "long"), ("right.id", "long"))
    )
    new = replace(old, join_type=join_type, carried=carried)
    assert [each.asked.value for each in _join(old, new)] == said


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        (WINDOWS, "watermark_removed"),
        ("missing-delta-file", "watermark_removed_other"),
        (JOIN, "watermark_removed_join"),
    ],
)
def test_a_removed_watermark_is_explained_by_the_operator(name: str, rule: str) -> None:
    found = one(name, "watermark=removed")
    assert found.rule == rule and ("aggregation" in found.sentence) == (name == WINDOWS)


def test_before_4_0_a_schema_error_has_no_condition() -> None:
    assert one(TOTALS, "keys=other_types", spark="3.5").condition is None


@pytest.mark.parametrize(
    ("name", "setting", "condition"),
    [
        (WINDOWS, "window=slide", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"),
        (JOIN, "join_type=left_outer", "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"),
    ],
)
def test_state_that_cannot_be_null_takes_no_columns_that_can(name: str, setting: str, condition: str) -> None:
    """Up to 4.2 the schema of the state says which columns cannot be null (seen on 3.5.9); from 4.3 on all can."""
    ck = opened(SAMPLES / name / "checkpoint")
    query, asked = read_written_query(ck), parse_change(f"change.{setting}")
    assert all(column.nullable for op in query.operators for column in (*op.keys, *op.values))
    older = [
        replace(op, **{side: tuple(replace(each, nullable=False) for each in getattr(op, side))})
        for op in query.operators
        for side in ("keys" if name == WINDOWS else "values",)
    ]
    context = ChangeContext(ck, replace(query, operators=tuple(older)), V40)
    found = JUDGE[asked.what](context, asked)
    assert (found.verdict, found.fails_at, found.condition) == ("fails", "batch", condition)
    new = JUDGE[asked.what](ChangeContext(ck, query, V40), asked)
    assert new.verdict == ("silently_wrong" if name == WINDOWS else "fine_but")
    back = JUDGE["join_type"](context, parse_change("change.join_type=inner"))
    assert back.verdict != "fails"


def test_drop_duplicates_within_watermark_has_a_watermark_although_its_schema_holds_no_delay() -> None:
    query = read_written_query(opened(SAMPLES / "dropduplicates-removed" / "checkpoint"))
    plain = replace(query.operators[0], watermark_delay_ms=None)
    within = replace(plain, name="dedupeWithinWatermark")
    for operator, is_there in ((plain, False), (within, True)):
        asked = replace(query, operators=(operator,), watermark_delay_ms=None)
        offered = every_value(asked, "watermark")
        assert ("delay" in offered, "added" in offered) == (is_there, not is_there)


def test_nullability_is_read_from_the_schema_of_the_state() -> None:
    fields = [
        {"name": "fixed", "type": "long", "nullable": False, "metadata": {}},
        {"name": "free", "type": "long", "nullable": True, "metadata": {}},
        {"name": "unsaid", "type": "long"},
    ]
    assert [column.nullable for column in columns_of({"fields": fields})] == [False, True, True]


def test_a_removed_operator_is_silently_dropped_before_4_0_and_the_option_keeps_the_positions() -> None:
    old, new = one(TOTALS, "operators=none", spark="3.5"), one(TOTALS, "operators=none")
    assert (old.verdict, new.verdict) == ("silently_wrong", "fails")
    assert old.recipe == new.recipe == "drop_state"
    assert old.sentence.count("silently leaves the old state unused") == 1
    assert old.rollback.key == "changes.ROLLBACKS.state_missing"  # seen with 3.5.9, both stores


@pytest.mark.parametrize(
    "setting",
    [
        "keys=same_types",
        "aggregates=same_types",
        "dedup_columns=x:long",
        "window=length",
        "join_type=left_outer",
    ],
)
def test_a_query_without_state_cannot_be_hurt_by_a_change_of_state(setting: str) -> None:
    found = one(STATELESS, setting)
    assert (found.verdict, found.rule) == ("fine", "no_state")


@pytest.mark.parametrize("setting", ["dedup_columns=same_types", "window=length", "join_type=inner"])
def test_a_part_that_the_state_does_not_have_cannot_be_hurt(setting: str) -> None:
    assert one(TOTALS, setting).rule == "no_such_part"


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        (TOTALS, "keys=store:string"),
        (TOTALS, "partitions=2"),
        (WINDOWS, "provider=rocksdb"),
        (WINDOWS, "watermark=1800000"),
        (STATELESS, "sources=1"),
        (STATELESS, "source_kind=file"),
    ],
)
def test_what_the_checkpoint_has_already_changes_nothing(name: str, setting: str) -> None:
    assert one(name, setting).rule == "same_value"


def test_number_of_sources_operators_and_spark_are_answered_by_the_forecast() -> None:
    ck = opened(SAMPLES / TOTALS / "checkpoint")
    for setting, query, spark in (
        ("sources=2", Query(sources=2, new_data="yes"), None),
        ("operators=dedupe", Query(operators=("dedupe",), new_data="yes"), None),
        ("spark=3.5", Query(new_data="yes"), "3.5"),
    ):
        found, said = one(TOTALS, setting), forecast(ck, spark or "4.3", query)
        assert found.sentence == said.sentence
        assert (found.verdict == "fails") == (said.outcome == "fail")
        assert found.fails_at == said.fails_at
        assert found.condition == (said.error.condition if said.error is not None else None)


def test_topics_are_answered_by_the_forecast() -> None:
    found = one("kafka-topic-gained-partitions", "subscription=refunds")
    assert (found.verdict, found.condition) == ("fails", "KAFKA_DATA_LOSS.PARTITIONS_DELETED")
    assert one("kafka-topic-gained-partitions", "subscription=orders").rule == "same_value"
    assert one("kafka-topic-gained-partitions", "subscription=changed").verdict == "unknown"


def test_a_start_that_fails_anyway_is_not_blamed_on_the_change() -> None:
    found = one("missing-delta-file", "spark=4.2")
    assert found.rule == "forecast_open" and found.verdict == "unknown"
    assert judged("missing-delta-file", "filter=changed").today_fails


@pytest.mark.parametrize(
    ("name", "rule", "verdict"),
    [
        (STATELESS, "order_one", "fine"),
        ("union-of-two-sources", "order_files", "fails"),
        ("named-sources", "order_named", "fine"),
    ],
)
def test_the_order_of_the_sources(name: str, rule: str, verdict: str) -> None:
    found = one(name, "source_order=changed")
    assert (found.rule, found.verdict) == (rule, verdict)


@pytest.mark.parametrize(
    ("pattern", "is_inside"),
    [
        ("file:///data/in", True),
        ("/data/in", True),
        ("/data/*", True),
        ("/dat?/i[n]", True),
        ("s3://data/in", False),
        ("/data/other", False),
        ("/data/in/2026", False),
        ("", False),
    ],
)
def test_a_path_that_contains_what_was_read_works(pattern: str, is_inside: bool) -> None:
    assert _contains(pattern, "file:///data/in") is is_inside


def test_a_file_sink_in_another_place_stops_when_its_log_is_compacted() -> None:
    found = one(STATELESS, "sink_path=changed", sink="file")
    assert (found.verdict, found.condition) == ("fails", "BATCH_METADATA_NOT_FOUND")
    assert "batch 19 fails" in found.sentence  # 14 is next, the log is compacted every ten batches
    assert one(STATELESS, "sink_path=changed").verdict == "unknown"
    assert one(STATELESS, "sink_path=changed", sink="delta").verdict == "fine_but"


@pytest.mark.parametrize(
    ("spark", "rule"),
    [
        ("3.5", "format_refused_old"),
        ("4.0", "format_refused"),
        ("4.2", "format_read_fails"),
        ("4.3", "format_kept"),
    ],
)
def test_the_format_of_state_checkpoints_by_version(spark: str, rule: str) -> None:
    assert one(DEDUP, "provider=checkpoint_format", spark=spark).rule == rule


def test_a_planned_batch_is_named() -> None:
    found = one("files-died-mid-batch", "filter=changed")
    assert found.rule == "rows_of_pending" and found.verdict == "fine_but"
    pending = judged("files-died-mid-batch").query.pending_batch
    assert f"Batch {pending} is planned" in found.sentence
    assert any(item.key == "changes.check_pending" for item in judged("files-died-mid-batch").checklist)


@pytest.mark.parametrize("name", sample_names())
def test_every_change_has_an_answer_on_every_sample(name: str) -> None:
    settings = [
        f"{what}={value}" for what in WHATS for value in (*(CHOICES[what] or (CHANGED,)), CHANGED, "")
    ]
    for sink in (None, "file", "delta", "kafka", "foreach", "other"):
        report = judged(name, *settings, sink=sink)
        assert len(report.changes) == len(settings)
        for change in report.changes:
            assert "{" not in change.sentence and change.action and change.rollback
            assert (change.fails_at is not None) == (change.verdict == "fails")
            assert RULES[change.rule].verdict == change.verdict


@pytest.mark.parametrize("name", sample_names())
def test_an_aggregation_that_is_not_described_is_never_called_fine(name: str) -> None:
    """What nobody describes may be the silent change of the same types."""
    report = judged(name, "aggregates=changed", "keys=changed", "window=changed", "expressions=changed")
    if any(op.name == "stateStoreSave" for op in report.query.operators):
        assert report.worst == "silently_wrong"


def test_without_state_schemas_nothing_is_said_about_types(tmp_path: Path) -> None:
    copy = copy_sample(TOTALS, tmp_path)
    for path in copy.rglob("_metadata/schema"):
        path.unlink()
    found = judge_changes(opened(copy), [parse_change("change.keys=store:long")]).changes[0]
    assert found.verdict == "unknown" and found.rule == "no_schema"


def test_rules_have_sentences_and_options_exist() -> None:
    assert set(RULES) == set(SENTENCES)
    assert set(get_args(Recipe)) <= set(OPTION_IDS)
    assert set(CHOICES) == set(WHATS)
    assert {value for values in CHOICES.values() for value in values} <= set(VALUES)


@pytest.mark.parametrize(
    "setting",
    [
        "change.colour=blue",
        "keys=a:long",
        "change.keys",
        "change.filter=upwards",
        "change.operators=dedup",
        "change.operators=unchanged,dedupe",
        "change.join_type=left_anti",
    ],
)
def test_a_change_that_is_not_understood_is_wrong_usage(
    setting: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError):
        parse_change(setting)
    place = str(SAMPLES / TOTALS / "checkpoint")
    assert main(["changes", place, "--set", setting]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_the_verb_prints_what_the_query_was_and_ends_with_the_contracts_status(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    place = str(SAMPLES / TOTALS / "checkpoint")

    def run(*arguments: str) -> tuple[int, str]:
        status = main(["changes", place, *arguments])
        return status, capfdbinary.readouterr().out.decode()

    status, text = run()
    assert status == 0 and "operator 0: stateStoreSave · keys store: string · values count: long" in text
    assert "silently wrong · aggregates: same number and types" in text
    assert run("--set", "change.filter=after_state")[0] == 0
    status, text = run("--set", "change.aggregates=highest:long")
    assert status == 1 and text.count("what to do: ") == 1
    status, text = run("--set", "change.keys=a:long", "--set", "change.filter=after_state", "--json")
    answer = json.loads(text)
    assert status == 1 and answer["worst"] == "fails"
    assert [change["what"] for change in answer["changes"]] == ["keys", "filter"]
    assert answer["was"]["operators"][0]["keys"] == [{"name": "store", "type": "string"}]
    assert main(["changes", str(PROJECT / "nothing-there")]) == 10


def test_values_of_the_checkpoint_do_not_reach_a_terminal_raw(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    place = str(SAMPLES / TOTALS / "checkpoint")
    main(["changes", place, "--set", "change.keys=\x1b[31m:long"])
    assert b"\x1b" not in capfdbinary.readouterr().out


def test_the_checklist_has_the_values_of_the_checkpoint() -> None:
    report = judged(WINDOWS)
    text = "\n".join(report.checklist)
    assert "--option backup" in text and "after batch 9" in text and "rocksdb" in text
    assert re.search(r"Batch 10: .*\nBatch 11: .*\nBatch 12: ", text)


def test_an_empty_place_has_no_checklist(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id":"730aa211-41ff-4ee3-b1b9-9e62ed047c5f"}')
    report = judge_changes(opened(tmp_path))
    assert report.checklist == () and report.worst in ("fine", "fine_but", "ignored", "unknown", "fails")


def test_the_page_is_that_of_the_rules() -> None:
    page = (PROJECT / "docs" / "changes.md").read_text(encoding="utf-8")
    assert page == changes_page(), "run python -m scripts.changes_page > docs/changes.md"
    assert all(f"| `{rule}`," in page for rule in RULES)
    assert all(f"| `{what}` " in page for what in WHATS)


def test_a_change_is_asked_by_its_name_and_value() -> None:
    assert parse_change("change.keys=a:long,b:map<string,long>") == AskedChange(
        "keys", "a:long,b:map<string,long>"
    )
    assert parse_change("change.sink_path=s3://x") == AskedChange("sink_path", "s3://x")
    assert parse_change("change.foreach_code=new") == AskedChange("foreach_code", CHANGED)
    for value in ("nonsense", "user", "user:string,day"):  # Spark compares by types
        with pytest.raises(UsageError, match="columns with their types"):
            parse_change(f"change.aggregates={value}")


def test_a_query_that_does_not_start_anyway_is_said_first(capsys: pytest.CaptureFixture[str]) -> None:
    place = str(SAMPLES / "missing-delta-file" / "checkpoint")
    assert main(["changes", place, "--set", "change.filter=changed"]) == 1
    head, first = capsys.readouterr().out.splitlines()[:2]
    assert head.startswith("The query that wrote") and first.startswith("The query as it is does not start")
    assert main(["changes", place]) == 0  # nothing was asked
