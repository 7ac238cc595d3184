"""The state steps of the first batch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from core.analysis.findings import findings
from core.analysis.forecast import Query, forecast
from core.checkpoint import Checkpoint
from tests.support.build import commit_text, copy_sample, offset_text, remove, write
from tests.support.forecasting import CONF_3_5, files_checkpoint, said, stateful_conf, with_state

ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
IDS = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"]


def hdfs(root: Path, batches: int = 5, versions: range | None = None, **conf: str) -> Path:
    """An aggregation on the HDFS-backed store, two partitions."""
    files_checkpoint(root, batches=batches, conf=stateful_conf(**conf))
    return with_state(root, versions or range(1, batches + 1))


def rocksdb(root: Path, versions: range, kind: str) -> Path:
    """An aggregation on RocksDB: zips, or changelogs."""
    files_checkpoint(root, conf=stateful_conf(**ROCKSDB))
    return with_state(root, versions, kind=kind)


def format_2(root: Path, batches: int = 3, commits: range | None = None) -> Path:
    """An aggregation on RocksDB with state checkpoint format 2: every file carries the id that the commit
    names."""
    files_checkpoint(root, batches=batches, commits=[], conf=stateful_conf(**ROCKSDB))
    with_state(root, [])
    for batch in commits or range(batches):
        ids = {"0": [[one] for one in IDS]}
        write(
            root,
            {f"commits/{batch}": "v2\n" + json.dumps({"nextBatchWatermarkMs": 0, "stateUniqueIds": ids})},
        )
    for version in range(1, batches + 1):
        write(root, {f"state/0/{p}/{version}_{one}.changelog": b"x" * 64 for p, one in enumerate(IDS)})
    return root


def test_a_complete_chain_of_deltas_goes_on(tmp_path: Path) -> None:
    answer = said(hdfs(tmp_path))
    assert (answer.outcome, answer.batch_id, answer.certainty) == ("resume", 5, "certain")
    assert "the contents of the state files" in answer.not_checked


@pytest.mark.parametrize("lost", ["1", "3", "5"])
def test_a_missing_delta_fails_the_next_batch(tmp_path: Path, lost: str) -> None:
    remove(hdfs(tmp_path), f"state/0/1/{lost}.delta")
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.batch_id, answer.reason) == (
        "fail",
        "batch",
        5,
        "STATE_NOT_RESTORABLE",
    )
    assert (
        answer.error is not None
        and answer.error.condition == "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
    )
    assert [str(item) for item in answer.evidence] == [f"state/0/1/{lost}.delta"]
    assert answer.data.is_exact


@pytest.mark.parametrize(
    ("spark", "condition", "error_class"),
    [
        ("3.5", None, "IllegalStateException"),
        ("4.0", "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS", "SparkException"),
    ],
)
def test_a_missing_delta_reads_differently_before_4_0(
    tmp_path: Path, spark: str, condition: str | None, error_class: str
) -> None:
    remove(hdfs(tmp_path), "state/0/1/3.delta")
    error = said(tmp_path, spark).error
    assert error is not None and (error.condition, error.error_class) == (condition, error_class)


def test_a_pending_batch_does_not_need_the_state_it_wrote_itself(tmp_path: Path) -> None:
    remove(hdfs(tmp_path), "state/0/1/5.delta", "commits/4")
    assert said(tmp_path).outcome == "rerun"


def test_a_pending_batch_needs_the_state_of_the_batch_before(tmp_path: Path) -> None:
    remove(hdfs(tmp_path), "state/0/1/4.delta", "commits/4")
    answer = said(tmp_path)
    assert (answer.outcome, answer.batch_id, answer.fails_at) == ("fail", 4, "batch")


def test_a_snapshot_stands_in_for_the_deltas_before_it(tmp_path: Path) -> None:
    write(hdfs(tmp_path), {f"state/0/{p}/3.snapshot": b"x" * 64 for p in (0, 1)})
    remove(tmp_path, "state/0/1/1.delta", "state/0/0/2.delta")
    assert said(tmp_path).outcome == "resume"


def test_an_empty_snapshot_heals_itself_from_4_2_on_and_fails_before(tmp_path: Path) -> None:
    write(hdfs(tmp_path), {"state/0/1/3.snapshot": b""})
    assert said(tmp_path).outcome == "resume"
    answer = said(tmp_path, "4.1")
    assert answer.error is not None and answer.error.condition == "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"


def test_an_empty_delta_is_damage(tmp_path: Path) -> None:
    write(hdfs(tmp_path), {"state/0/1/4.delta": b""})
    answer = said(tmp_path)
    assert answer.error is not None and answer.error.condition == "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
    assert "is empty (0 bytes)" in answer.sentence


def test_a_missing_partition_names_the_first_file_of_its_chain(tmp_path: Path) -> None:
    remove(hdfs(tmp_path), "state/0/1")
    answer = said(tmp_path)
    assert [str(item) for item in answer.evidence] == ["state/0/1/1.delta"]


def test_rocksdb_needs_exactly_the_zip_of_the_version(tmp_path: Path) -> None:
    remove(rocksdb(tmp_path, range(1, 6), "zip"), "state/0/1/4.zip")
    assert said(tmp_path).outcome == "resume"
    remove(tmp_path, "state/0/1/5.zip")
    answer = said(tmp_path)
    assert (
        answer.error is not None
        and answer.error.condition == "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE"
    )
    # Spark names the changelog after the newest zip that is there, though a zip is missing.
    assert "/state/0/1/4.changelog does not exist" in answer.error.message


def test_rocksdb_with_changelogs_needs_each_changelog_after_the_zip(tmp_path: Path) -> None:
    rocksdb(tmp_path, range(1, 6), "changelog")
    write(tmp_path, {f"state/0/{p}/3.zip": b"x" * 64 for p in (0, 1)})
    remove(tmp_path, "state/0/1/2.changelog")
    assert said(tmp_path).outcome == "resume"
    remove(tmp_path, "state/0/1/4.changelog")
    assert said(tmp_path).reason == "STATE_NOT_RESTORABLE"


def test_a_missing_state_folder_is_noticed_by_4_2_and_newer_and_fails_at_the_files_before(
    tmp_path: Path,
) -> None:
    hdfs(tmp_path)
    moved = offset_text(['{"logOffset":4}'], conf=stateful_conf(), watermark_ms=1_000)
    write(tmp_path, {"offsets/5": moved, "commits/5": commit_text()})
    remove(tmp_path, "state")
    answer = said(tmp_path)  # the batch without data shows that the query had state
    assert (
        answer.error is not None
        and answer.error.condition == "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
    )
    before = said(tmp_path, "4.1").error
    assert (
        before is not None and before.condition == "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
    )


def test_a_watermark_alone_does_not_make_a_query_stateful(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    write(tmp_path, {"commits/4": commit_text(1_795_176_000_000)})
    answer = said(tmp_path)
    assert answer.outcome == "resume"
    question = "whether the query is stateful (it has a watermark and no state/)"
    assert question in answer.not_checked and question in findings(Checkpoint.open(str(tmp_path))).not_checked
    unless = "If the query keeps state, as its watermark suggests, it fails instead: there is no state/."
    assert unless in answer.sentence and answer.certainty == "needs_input"
    assert unless not in said(tmp_path, operators=()).sentence


def test_nothing_loads_state_while_no_batch_runs(tmp_path: Path) -> None:
    remove(hdfs(tmp_path), "state/0/1")
    assert said(tmp_path, new_data="no").outcome == "resume"


# Operators and schemas


def test_a_removed_operator_fails_from_4_0_on_and_drops_the_state_before(tmp_path: Path) -> None:
    hdfs(tmp_path)
    answer = said(tmp_path, operators=())
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "batch", "OPERATORS_DIFFER")
    older = said(tmp_path, "3.5", operators=())
    assert older.outcome == "resume" and [risk.id for risk in older.risks] == ["STATE_DROPPED"]


def test_the_same_operators_go_on(tmp_path: Path) -> None:
    assert said(hdfs(tmp_path), operators=("stateStoreSave",)).outcome == "resume"


def test_the_aggregation_of_real_time_mode_goes_on_with_the_state_of_the_other_one(tmp_path: Path) -> None:
    hdfs(tmp_path)
    answer = said(tmp_path, "4.3", operators=("StatefulStreamlineAggregate",))
    assert (answer.outcome, answer.certainty) == ("resume", "certain")
    older = said(tmp_path, "4.2", operators=("StatefulStreamlineAggregate",))
    assert older.reason == "OPERATORS_DIFFER", "4.2 has no such operator"


def test_a_replaced_operator_fails(tmp_path: Path) -> None:
    assert said(hdfs(tmp_path), operators=("dedupe",)).reason == "OPERATORS_DIFFER"


def test_an_operator_added_to_a_stateless_query_fails(tmp_path: Path) -> None:
    answer = said(files_checkpoint(tmp_path), operators=("stateStoreSave",))
    assert (
        answer.error is not None
        and answer.error.condition == "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
    )
    assert "because the query was stateless so far" in answer.sentence


def test_without_operator_metadata_a_change_is_not_noticed(tmp_path: Path) -> None:
    remove(hdfs(tmp_path), "state/0/_metadata")
    assert said(tmp_path, operators=("dedupe",)).reason != "OPERATORS_DIFFER"


def test_an_empty_schema_file_fails_the_batch(tmp_path: Path) -> None:
    write(hdfs(tmp_path), {"state/0/0/_metadata/schema": b""})
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "batch", "STATE_SCHEMA_UNREADABLE")
    assert answer.error is not None and (answer.error.error_class, answer.error.message) == (
        "EOFException",
        "",
    )


def test_a_missing_schema_file_is_written_anew(tmp_path: Path) -> None:
    remove(hdfs(tmp_path), "state/0/0/_metadata")
    assert said(tmp_path).outcome == "resume"


# Pinned settings


def test_an_aggregation_whose_settings_are_gone_does_not_fit_its_state(tmp_path: Path) -> None:
    write(hdfs(tmp_path), {"offsets/4": offset_text(['{"logOffset":4}'], conf={})})
    answer = said(tmp_path, "4.3")
    assert answer.error is not None and answer.error.condition == "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"


def test_more_partitions_in_the_log_than_in_the_state_fail(tmp_path: Path) -> None:
    write(hdfs(tmp_path), {"offsets/4": offset_text(['{"logOffset":4}'], conf=stateful_conf(partitions=3))})
    answer = said(tmp_path)
    assert answer.reason == "STATE_NOT_RESTORABLE" and [str(item) for item in answer.evidence] == [
        "state/0/2/1.delta"
    ]


def test_fewer_partitions_in_the_log_lose_rows_silently(tmp_path: Path) -> None:
    write(hdfs(tmp_path), {"offsets/4": offset_text(['{"logOffset":4}'], conf=stateful_conf(partitions=1))})
    answer = said(tmp_path)
    assert answer.outcome == "resume" and [risk.id for risk in answer.risks] == ["SETTINGS_CHANGED"]
    assert answer.data.append == "loss"


# State checkpoint format 2


def test_format_2_takes_the_ids_of_the_newest_commit(tmp_path: Path) -> None:
    assert said(format_2(tmp_path)).outcome == "resume"


def test_format_2_with_another_id_in_the_commit_fails(tmp_path: Path) -> None:
    format_2(tmp_path)
    other = {"0": [["33333333-3333-4333-8333-333333333333"], [IDS[1]]]}
    write(tmp_path, {"commits/2": "v2\n" + json.dumps({"nextBatchWatermarkMs": 0, "stateUniqueIds": other})})
    answer = said(tmp_path)
    assert answer.reason == "STATE_NOT_RESTORABLE"
    assert "3_33333333-3333-4333-8333-333333333333.changelog" in str(answer.evidence[0])


def test_format_2_whose_commit_names_fewer_partitions_fails(tmp_path: Path) -> None:
    format_2(tmp_path)
    more = stateful_conf(partitions=4, **ROCKSDB)
    write(tmp_path, {"offsets/2": offset_text(['{"logOffset":2}'], conf=more)})
    answer = said(tmp_path)
    assert answer.reason == "SETTINGS_CHANGED" and answer.error is not None
    assert answer.error.error_class == "ArrayIndexOutOfBoundsException"
    assert answer.error.message == "out of bounds for length 2"


def test_format_2_with_commits_missing_in_between_fails(tmp_path: Path) -> None:
    answer = said(format_2(tmp_path, commits=range(1)))
    assert (answer.outcome, answer.fails_at, answer.batch_id) == ("fail", "batch", 2)
    assert answer.reason == "STATE_IDS_OF_ANOTHER_VERSION"


def test_format_2_without_the_newest_commit_runs_that_batch_again(tmp_path: Path) -> None:
    assert said(format_2(tmp_path, commits=range(2))).outcome == "rerun"


@pytest.mark.parametrize("content", ['v1\n{"nextBatchWatermarkMs":0}', 'v2\n{"nextBatchWatermarkMs":0}'])
def test_format_2_whose_commit_names_no_files_fails(tmp_path: Path, content: str) -> None:
    write(format_2(tmp_path), {"commits/2": content})
    answer = said(tmp_path)
    assert answer.reason == "STATE_IDS_OF_ANOTHER_VERSION"
    assert answer.error is not None and "/state/0/0/1.changelog does not exist" in answer.error.message


def test_format_2_needs_the_setting_at_every_start_of_4_0_and_4_1(tmp_path: Path) -> None:
    answer = said(format_2(tmp_path), "4.1")
    assert answer.certainty == "needs_input"
    assert any("checkpointFormatVersion" in item for item in answer.not_checked)


def test_format_2_is_not_read_by_3_5(tmp_path: Path) -> None:
    answer = said(format_2(tmp_path), "3.5")
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "start", "LOG_VERSION_UNKNOWN")


def test_a_commit_of_version_2_does_not_fit_the_hdfs_store_of_4_3(tmp_path: Path) -> None:
    write(hdfs(tmp_path), {"commits/4": 'v2\n{"nextBatchWatermarkMs":0}'})
    answer = said(tmp_path)
    assert answer.error is not None and answer.error.condition == "STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED"
    assert said(tmp_path, "4.2").outcome == "resume"


def test_state_of_an_older_spark_without_metadata_is_followed_too(tmp_path: Path) -> None:
    conf = {**CONF_3_5, "spark.sql.shuffle.partitions": "2"}
    files_checkpoint(tmp_path, conf=conf)
    with_state(tmp_path, range(1, 6))
    remove(tmp_path, "state/0/_metadata", "state/0/0/2.delta")
    answer = said(tmp_path)
    assert (answer.spark, answer.outcome) == ("3.5", "fail")
    assert answer.error is not None and answer.error.condition is None


def test_without_operator_metadata_a_query_that_lost_its_state_runs_and_leaves_it_unused(
    tmp_path: Path,
) -> None:
    root = copy_sample("dropduplicates-removed", tmp_path)
    shutil.rmtree(root / "state" / "0" / "_metadata")
    answer = forecast(Checkpoint.open(str(root)), "4.3", Query(operators=(), new_data="yes"))
    assert answer.outcome in ("resume", "rerun")
    assert "STATE_DROPPED" in [risk.id for risk in answer.risks]
    assert "SET_BACK" not in [risk.id for risk in answer.risks]


@pytest.mark.parametrize("name", ["state_old", "state.bak", "old-state", "State"])
def test_a_state_directory_that_was_renamed_is_missed(tmp_path: Path, name: str) -> None:
    root = files_checkpoint(tmp_path)
    (root / name / "0" / "0").mkdir(parents=True)
    (root / name / "0" / "0" / "1.delta").write_bytes(b"x")
    answer = forecast(Checkpoint.open(str(root)), "4.3", Query(new_data="yes"))
    assert (answer.outcome, answer.reason, answer.certainty) == ("fail", "STATE_FOLDER_MISSING", "inferred")
    assert name in answer.sentence


@pytest.mark.parametrize("name", ["statements", "estate", "backup"])
def test_another_directory_is_no_state(tmp_path: Path, name: str) -> None:
    root = files_checkpoint(tmp_path)
    (root / name).mkdir()
    (root / name / "a").write_bytes(b"x")
    assert forecast(Checkpoint.open(str(root)), "4.3", Query(new_data="yes")).outcome == "resume"


# Tasks side by side


def test_where_partitions_miss_different_files_no_name_is_said(tmp_path: Path) -> None:
    with_state(files_checkpoint(tmp_path, conf=stateful_conf()), range(1, 6))
    remove(tmp_path, "state/0/0/5.delta")
    one = said(tmp_path)
    assert one.error is not None and "5.delta" in one.error.message
    remove(tmp_path, "state/0/1/4.delta")
    both = said(tmp_path)
    assert both.error is not None and both.error.message.endswith("/state/")
    assert both.error.condition == one.error.condition


def test_to_3_5_a_damaged_schema_competes_with_the_files_of_other_partitions(tmp_path: Path) -> None:
    with_state(files_checkpoint(tmp_path, conf=stateful_conf()), range(1, 6))
    write(tmp_path, {"state/0/0/_metadata/schema": b""})
    alone = said(tmp_path, "3.5")
    assert alone.error is not None and alone.error.error_class == "EOFException"
    remove(tmp_path, "state/0/1/5.delta")
    either = said(tmp_path, "3.5")
    assert either.outcome == "fail" and either.error is not None and either.error.error_class is None
    newer = said(tmp_path, "4.0")
    assert newer.error is not None and newer.error.error_class == "EOFException"


def test_a_schema_that_is_no_data_type_stops_the_batch(tmp_path: Path) -> None:
    with_state(files_checkpoint(tmp_path, conf=stateful_conf()), range(1, 6))
    path = tmp_path / "state/0/0/_metadata/schema"
    path.write_bytes(
        path.read_bytes().replace(b'{"name":', b'{"na}e":', 1).replace(b'{"name"', b'{"na}e"', 1)
    )
    answer = said(tmp_path)
    assert (answer.outcome, answer.reason) == ("fail", "STATE_SCHEMA_UNREADABLE")
    assert answer.error is not None and answer.error.condition == "UNSUPPORTED_DATATYPE"
