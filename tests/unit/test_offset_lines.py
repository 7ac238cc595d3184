"""The two newest offset files against each other: sources without an offset, offsets that were edited by
hand. What Spark does was seen in restarts of 3.5 and 4.3 (tests/spark/test_oracle.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from tests.support.build import (
    CONF_4_3,
    commit_text,
    kafka_checkpoint,
    kafka_offset,
    offset_text,
    remove,
    write,
)
from tests.support.forecasting import files_checkpoint, files_entry, said, stateful_conf

THREE, FOUR = '{"logOffset":3}', '{"logOffset":4}'
ALL_TWICE = ("duplicates", "duplicates", "duplicates")


def effects(root: Path, spark: str | None = None, **query: object) -> tuple[str, str, str]:
    data = said(root, spark, **query).data
    return data.append, data.overwrite, data.skip


def two_sources(root: Path, newest: list[str], before: list[str], commits: range = range(5)) -> Path:
    """A union of two file sources; the two newest entries are given."""
    files_checkpoint(root, commits=commits)
    for batch in range(3):
        write(root, {f"offsets/{batch}": offset_text([f'{{"logOffset":{batch}}}'] * 2)})
    write(root, {f"sources/1/{log_id}": files_entry(log_id) for log_id in range(5)})
    return write(root, {"offsets/3": offset_text(before), "offsets/4": offset_text(newest)})


# Offsets that were set back


def test_a_newest_offset_that_was_rolled_back_by_hand_is_no_sign_of_state(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    write(tmp_path, {"offsets/4": offset_text(['{"logOffset":3}'])})
    answer = said(tmp_path, new_data="yes")
    assert (answer.outcome, answer.batch_id) == ("resume", 5)
    assert [(risk.id, risk.certainty) for risk in answer.risks] == [("SET_BACK", "certain")]
    assert effects(tmp_path) == ALL_TWICE
    assert answer.data.is_sure("append")
    assert "Batch 5 reads again what batch 4 held" in answer.sentence


def test_it_runs_a_batch_without_new_data(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    write(tmp_path, {"offsets/4": offset_text(['{"logOffset":3}'])})
    assert said(tmp_path, new_data="no").batch_id == 5


def test_a_pending_batch_that_was_rolled_back_runs_without_rows(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, commits=range(4))
    write(tmp_path, {"offsets/4": offset_text(['{"logOffset":3}'])})
    answer = said(tmp_path)
    assert (answer.outcome, answer.batch_id) == ("rerun", 4)
    assert [risk.id for risk in answer.risks] == ["SET_BACK"]
    assert effects(tmp_path) == ("duplicates", "exact", "duplicates")
    assert not answer.data.is_sure("append")  # whether batch 4 reached the sink is not known


def test_also_with_a_watermark_that_nothing_uses(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    write(tmp_path, {"offsets/4": offset_text(['{"logOffset":3}'], watermark_ms=9_000)})
    assert said(tmp_path).outcome == "resume"


def test_a_kafka_query_too_only_less_sure(tmp_path: Path) -> None:
    kafka_checkpoint(tmp_path, range(5))
    write(tmp_path, {"offsets/4": (tmp_path / "offsets/3").read_bytes()})
    answer = said(tmp_path)
    assert (answer.outcome, [(risk.id, risk.certainty) for risk in answer.risks]) == (
        "resume",
        [("SET_BACK", "inferred")],
    )
    assert not answer.data.is_sure("append")


def test_a_batch_without_data_whose_watermark_rose_is_one_of_a_stateful_query(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf())
    write(
        tmp_path,
        {
            "offsets/5": offset_text(['{"logOffset":4}'], conf=stateful_conf(), watermark_ms=1_000),
            "commits/5": commit_text(),
        },
    )
    assert said(tmp_path).reason == "STATE_FOLDER_MISSING"


def test_several_batches_without_data_are_those_of_processing_time_timers(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf())
    for batch in (5, 6, 7):
        idle = offset_text(['{"logOffset":4}'], conf=stateful_conf())
        write(tmp_path, {f"offsets/{batch}": idle, f"commits/{batch}": commit_text()})
    assert said(tmp_path).reason == "STATE_FOLDER_MISSING"


def test_real_time_batches_without_data_are_no_rollback(tmp_path: Path) -> None:
    kafka_checkpoint(tmp_path, range(5))
    newest = (tmp_path / "offsets/3").read_bytes()
    write(tmp_path, {"offsets/4": newest, "commits/4": 'v2\n{"nextBatchWatermarkMs":0}'})
    assert [risk.id for risk in said(tmp_path).risks] == ["ROWS_BEFORE_LOG"]


def test_one_line_alone_that_was_rolled_back_leaves_open_what_every_sink_gets(tmp_path: Path) -> None:
    two_sources(tmp_path, [THREE, FOUR], [THREE, THREE])
    answer = said(tmp_path)
    assert [risk.id for risk in answer.risks] == ["SOURCE_LOG_ONE_AHEAD"]
    assert effects(tmp_path) == ("unknown", "unknown", "unknown")


# Sources without an offset


def test_a_dash_in_both_entries_is_no_batch_without_data(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    write(tmp_path, {f"offsets/{batch}": offset_text(["-"]) for batch in (3, 4)})
    assert not Checkpoint.open(str(tmp_path)).is_no_data(4)
    answer = said(tmp_path)
    assert (answer.outcome, answer.reason) == ("resume", None)
    assert effects(tmp_path) == ALL_TWICE


@pytest.mark.parametrize("spark", ["3.5", "4.3"])
def test_a_pending_dash_after_a_dash_starts_from_scratch(tmp_path: Path, spark: str) -> None:
    files_checkpoint(tmp_path, commits=range(4))
    write(tmp_path, {f"offsets/{batch}": offset_text(["-"]) for batch in (3, 4)})
    assert effects(tmp_path, spark) == ALL_TWICE


def test_a_committed_dash_runs_a_batch_without_new_data(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    write(tmp_path, {"offsets/4": offset_text(["-"])})
    assert said(tmp_path, new_data="no").batch_id == 5


def test_a_dash_before_a_pending_batch_reads_the_source_from_the_beginning(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, commits=range(4))
    write(tmp_path, {"offsets/3": offset_text(["-"])})
    answer = said(tmp_path)
    assert [risk.id for risk in answer.risks] == ["SOURCE_WITHOUT_OFFSET"]
    assert effects(tmp_path) == ALL_TWICE
    assert (answer.data.is_sure("overwrite"), answer.data.is_sure("skip")) == (True, False)


def test_a_dash_before_a_committed_batch_does_nothing(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    write(tmp_path, {"offsets/3": offset_text(["-"])})
    assert said(tmp_path).data.is_exact


def test_the_first_offset_of_a_source_is_no_gap(tmp_path: Path) -> None:
    two_sources(tmp_path, ['{"logOffset":4}', '{"logOffset":0}'], ['{"logOffset":3}', "-"], commits=range(4))
    remove(tmp_path, *(f"sources/1/{i}" for i in range(1, 5)))
    for batch in range(3):
        write(tmp_path, {f"offsets/{batch}": offset_text([f'{{"logOffset":{batch}}}', "-"])})
    assert said(tmp_path).risks == ()


@pytest.mark.parametrize("commits", [range(5), range(4)])
def test_a_source_that_has_never_delivered_is_no_risk(tmp_path: Path, commits: range) -> None:
    """Seen on Spark: tests/spark/test_idle_source.py."""
    two_sources(tmp_path, ['{"logOffset":4}', "-"], ['{"logOffset":3}', "-"], commits=commits)
    remove(tmp_path, *(f"sources/1/{i}" for i in range(5)))
    for batch in range(3):
        write(tmp_path, {f"offsets/{batch}": offset_text([f'{{"logOffset":{batch}}}', "-"])})
    answer = said(tmp_path)
    assert (answer.risks, answer.certainty) == ((), "certain")


def test_a_kafka_source_that_lost_its_two_newest_offsets(tmp_path: Path) -> None:
    kafka_checkpoint(tmp_path, range(5))
    write(tmp_path, {f"offsets/{batch}": offset_text(["-"]) for batch in (3, 4)})
    assert "SOURCE_WITHOUT_OFFSET" in [risk.id for risk in said(tmp_path).risks]


def test_a_kafka_source_without_a_start_that_had_one_before(tmp_path: Path) -> None:
    kafka_checkpoint(tmp_path, range(5), commits=range(4))
    write(tmp_path, {"offsets/3": offset_text(["-"]), "offsets/4": offset_text([kafka_offset(40)])})
    assert "SOURCE_WITHOUT_OFFSET" in [risk.id for risk in said(tmp_path).risks]


# Lines too many and too few


def test_an_extra_line_is_told_by_the_entries_before(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    write(tmp_path, {"offsets/4": offset_text(['{"logOffset":4}', "-"])})
    error = said(tmp_path).error
    assert error is not None and "There are [2] sources" in error.message and "there are [1]" in error.message


def test_an_extra_line_in_both_entries_too(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    for batch in (3, 4):
        write(tmp_path, {f"offsets/{batch}": offset_text([f'{{"logOffset":{batch}}}'] * 2)})
    answer = said(tmp_path)
    assert (answer.outcome, answer.reason, answer.certainty) == ("fail", "SOURCE_COUNT", "inferred")
    assert "offsets/2 has 1" in answer.sentence


def test_a_line_that_both_entries_have_lost(tmp_path: Path) -> None:
    two_sources(tmp_path, ['{"logOffset":4}'], ['{"logOffset":3}'])
    answer = said(tmp_path)
    assert answer.reason == "SOURCE_COUNT" and answer.error is not None
    assert "There are [1] sources" in answer.error.message


def test_one_source_on_two_lines_is_a_union_with_itself(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    for batch in range(5):
        write(tmp_path, {f"offsets/{batch}": offset_text([f'{{"logOffset":{batch}}}'] * 2)})
    assert said(tmp_path).outcome == "resume"


# Named sources


def named(root: Path, newest: dict[str, str], before: dict[str, str], commits: range = range(5)) -> Path:
    files_checkpoint(root, commits=commits)
    for name in ("orders", "refunds"):
        write(root, {f"sources/{name}/{log_id}": files_entry(log_id) for log_id in range(5)})
    remove(root, "sources/0")
    for batch in range(3):
        line = f'{{"logOffset":{batch}}}'
        write(root, {f"offsets/{batch}": offset_text({"orders": line, "refunds": line})})
    return write(root, {"offsets/3": offset_text(before), "offsets/4": offset_text(newest)})


def test_a_name_that_no_source_has_is_dropped(tmp_path: Path) -> None:
    before = {"orders": THREE, "refunds": THREE}
    named(tmp_path, {"orders": FOUR, "refunds": FOUR, "extra": '{"logOffset":2}'}, before)
    answer = said(tmp_path)
    assert (answer.outcome, answer.data.is_exact) == ("resume", True)
    assert any("source extra" in item for item in answer.not_checked)


def test_a_name_that_both_entries_lack_may_start_from_scratch(tmp_path: Path) -> None:
    answer = said(named(tmp_path, {"orders": FOUR}, {"orders": THREE}))
    assert [(risk.id, risk.certainty) for risk in answer.risks] == [("SOURCE_WITHOUT_OFFSET", "needs_input")]
    assert effects(tmp_path) == ALL_TWICE and not answer.data.is_sure("append")


def test_a_name_that_the_entry_before_a_pending_batch_lacks(tmp_path: Path) -> None:
    named(tmp_path, {"orders": FOUR, "refunds": FOUR}, {"orders": THREE}, commits=range(4))
    assert [risk.id for risk in said(tmp_path).risks] == ["SOURCE_WITHOUT_OFFSET"]
    assert effects(tmp_path) == ALL_TWICE


# Commits after the newest offset, and the number of partitions of a pending batch


def test_commits_ahead_with_a_hole_stop_the_batch_that_meets_one(tmp_path: Path) -> None:
    kafka_checkpoint(tmp_path, range(3), commits=(0, 1, 4))
    answer = said(tmp_path)
    assert (answer.outcome, answer.batch_id) == ("rerun", 2)
    assert answer.then is not None and "Batch 4, when there is data for it" in answer.then
    assert answer.then.endswith("the start after that works.")
    assert not answer.data.is_sure("append")


@pytest.mark.parametrize(("spark", "reason"), [("4.3", "UNFINISHED_REPARTITION"), ("4.0", None)])
def test_a_pending_batch_with_another_number_of_partitions(
    tmp_path: Path, spark: str, reason: str | None
) -> None:
    files_checkpoint(tmp_path, commits=range(4), conf=stateful_conf(2))
    newest = offset_text([FOUR], conf=stateful_conf(3), timestamp_ms=1_795_176_090_000)
    answer = said(write(tmp_path, {"offsets/4": newest}), spark)
    assert answer.reason == reason
    assert answer.fails_at == ("start" if reason else None)


# Files of another kind, and values that are none


def test_commit_files_in_the_place_of_offset_files(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    (tmp_path / "offsets").rename(tmp_path / "other")
    (tmp_path / "commits").rename(tmp_path / "offsets")
    (tmp_path / "other").rename(tmp_path / "commits")
    error = said(tmp_path).error
    assert error is not None and "There are [0] sources" in error.message and "there are [1]" in error.message


@pytest.mark.parametrize(
    ("commits", "message"),
    [
        (range(4), "requirement failed: Previous batch 3 not found in offset log"),
        ((), "batch 3 doesn't exist"),
        ((0, 1, 2, 5), "batch 3 doesn't exist"),
    ],
)
def test_which_words_spark_has_for_a_missing_previous_offset(
    tmp_path: Path, commits: range, message: str
) -> None:
    remove(files_checkpoint(tmp_path, commits=commits), "offsets/3")
    error = said(tmp_path).error
    assert error is not None and error.message == message


def test_a_commit_of_version_3_without_its_sinks(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    write(tmp_path, {"commits/4": 'v3\n{"nextBatchWatermarkMs":0}'})
    answer = said(tmp_path)
    assert (answer.reason, answer.fails_at) == ("LOG_FILE_UNREADABLE", "start")
    assert answer.error is not None and answer.error.error_class == "MappingException"


@pytest.mark.parametrize(("commits", "fails_at"), [(range(5), "start"), (range(4), "batch")])
def test_a_log_id_that_is_no_number(tmp_path: Path, commits: range, fails_at: str) -> None:
    files_checkpoint(tmp_path, commits=commits)
    answer = said(write(tmp_path, {"offsets/4": offset_text(['{"logOffset":"4"}'])}))
    assert (answer.reason, answer.fails_at) == ("SOURCE_OFFSET_UNREADABLE", fails_at)
    assert answer.error is not None and answer.error.message == "No usable value for logOffset"


def test_names_over_the_logs_of_sources_without_names(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    for batch, line in ((3, THREE), (4, FOUR)):
        write(tmp_path, {f"offsets/{batch}": offset_text({"orders": line, "refunds": line})})
    answer = said(tmp_path)
    assert (answer.reason, answer.fails_at, answer.certainty) == ("SOURCE_COUNT", "start", "inferred")
    assert answer.error is not None and "All sources should be named" in answer.error.message


def test_foreign_files_in_state_make_no_query_stateful(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"state/0/0/notes.txt": "x"})
    answer = said(tmp_path)
    assert (answer.outcome, answer.reason, answer.certainty) == ("resume", None, "needs_input")
    assert any(item.startswith("whether the query is stateful") for item in answer.not_checked)


PARTITIONS = "spark.sql.shuffle.partitions"
POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
STRICT = "spark.sql.streaming.statefulOperator.useStrictDistribution"


@pytest.mark.parametrize(
    ("key", "value", "condition", "old"),
    [
        (PARTITIONS, "x", "INVALID_CONF_VALUE.TYPE_MISMATCH", f"{PARTITIONS} should be int, but was x"),
        (PARTITIONS, "0", "INVALID_CONF_VALUE.REQUIREMENT", f"'0' in {PARTITIONS} is invalid."),
        (PARTITIONS, "-3", "INVALID_CONF_VALUE.REQUIREMENT", f"'-3' in {PARTITIONS} is invalid."),
        (POLICY, "x", "INVALID_CONF_VALUE.REQUIREMENT", f"'x' in {POLICY} is invalid."),
        (STRICT, "x", "INVALID_CONF_VALUE.TYPE_MISMATCH", f"{STRICT} should be boolean, but was x"),
    ],
)
def test_a_pinned_value_that_spark_cannot_set_stops_the_start(
    tmp_path: Path, key: str, value: str, condition: str, old: str
) -> None:
    files_checkpoint(tmp_path, conf={**CONF_4_3, key: value})
    answer = said(tmp_path, "4.3")
    assert (answer.reason, answer.fails_at) == ("SETTINGS_CHANGED", "start")
    assert answer.error is not None and answer.error.condition == condition
    before = said(tmp_path, "3.5").error
    assert before is not None and before.message == old


def test_values_that_spark_takes(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf={**CONF_4_3, POLICY: "MAX", STRICT: "False", PARTITIONS: "+7"})
    assert said(tmp_path).outcome == "resume"
