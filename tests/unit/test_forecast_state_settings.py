"""The settings pinned in offsets/N against the state that is there."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from core.analysis.findings import findings
from core.checkpoint import Checkpoint
from core.messages import Sentence
from tests.support.build import commit_text, offset_text, write
from tests.support.forecasting import files_checkpoint, keys_only, said, stateful_conf, with_state

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CODEC = "spark.sql.streaming.stateStore.compression.codec"
JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
ROW_CHECKSUM = "spark.sql.streaming.stateStore.rowChecksum.enabled"
PACKAGE = "org.apache.spark.sql.execution.streaming.state."
HDFS, ROCKSDB = PACKAGE + "HDFSBackedStateStoreProvider", PACKAGE + "RocksDBStateStoreProvider"
READ_CHANGELOG = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE"
READ_DELTA = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"


def newest(root: Path, *, partitions: int = 2, **conf: str) -> Path:
    """offsets/4, the newest one, with other settings."""
    text = offset_text(['{"logOffset":4}'], conf=stateful_conf(partitions, **conf))
    return write(root, {"offsets/4": text})


def stateful(root: Path, kind: str = "delta", partitions: int = 2, **conf: str) -> Path:
    files_checkpoint(root, conf=stateful_conf(**conf))
    return with_state(root, range(1, 6), kind=kind, partitions=partitions)


def rename_operator(root: Path, name: str, store: str = "default") -> None:
    """Other operator metadata over the same state."""
    path = root / "state" / "0" / "_metadata" / "metadata"
    text = path.read_text(encoding="utf-8").replace("stateStoreSave", name).replace('"default"', f'"{store}"')
    path.write_text(text, encoding="utf-8")


def test_state_files_of_hdfs_are_not_found_as_rocksdb(tmp_path: Path) -> None:
    newest(stateful(tmp_path), **{PROVIDER: ROCKSDB})
    answer = said(tmp_path)
    assert (answer.outcome, answer.reason) == ("fail", "SETTINGS_CHANGED")
    assert answer.error is not None and answer.error.condition == READ_CHANGELOG
    assert "state/0/0/1.changelog" in answer.error.message
    older = said(tmp_path, "3.5").error
    assert older is not None and (older.condition, older.error_class) == (None, "IllegalStateException")


def test_state_files_of_rocksdb_are_not_found_as_hdfs(tmp_path: Path) -> None:
    newest(stateful(tmp_path, "changelog", **{PROVIDER: ROCKSDB}), **{PROVIDER: HDFS})
    answer = said(tmp_path)
    assert answer.reason == "SETTINGS_CHANGED"
    assert answer.error is not None and answer.error.condition == READ_DELTA


def test_a_store_that_every_offset_names_and_no_file_fits_fails_too(tmp_path: Path) -> None:
    stateful(tmp_path, "delta", **{PROVIDER: ROCKSDB})
    assert said(tmp_path).reason == "SETTINGS_CHANGED"


def test_the_store_that_the_files_are_of_goes_on(tmp_path: Path) -> None:
    stateful(tmp_path, "changelog", **{PROVIDER: ROCKSDB})
    assert said(tmp_path).outcome == "resume"


def test_a_store_of_somebody_else_is_followed(tmp_path: Path) -> None:
    stateful(
        tmp_path, "changelog", **{PROVIDER: "com.databricks.sql.streaming.state.RocksDBStateStoreProvider"}
    )
    assert said(tmp_path).outcome == "resume"
    stateful(tmp_path / "own", **{PROVIDER: "com.example.OwnStoreProvider"})
    assert said(tmp_path / "own").outcome == "resume"


def test_a_class_that_only_the_newest_offset_names_is_not_found(tmp_path: Path) -> None:
    newest(stateful(tmp_path), **{PROVIDER: "com.example.Nope"})
    answer = said(tmp_path)
    assert answer.certainty == "inferred" and answer.error is not None
    assert (answer.error.error_class, answer.error.message) == ("ClassNotFoundException", "com.example.Nope")


@pytest.mark.parametrize("kind", ["delta", "changelog"])
def test_another_codec_cannot_unpack_the_files(kind: str, tmp_path: Path) -> None:
    store = {PROVIDER: HDFS if kind == "delta" else ROCKSDB}
    newest(stateful(tmp_path, kind, **store), **{CODEC: "zstd"}, **store)
    answer = said(tmp_path)
    assert answer.error is not None and answer.error.condition == "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
    older = said(tmp_path, "3.5").error
    assert older is not None and older.error_class == "ZstdIOException"


def test_zips_know_no_codec(tmp_path: Path) -> None:
    newest(stateful(tmp_path, "zip", **{PROVIDER: ROCKSDB}), **{CODEC: "zstd", PROVIDER: ROCKSDB})
    assert said(tmp_path).outcome == "resume"


def test_a_codec_by_its_class_is_the_same(tmp_path: Path) -> None:
    newest(stateful(tmp_path), **{CODEC: "org.apache.spark.io.LZ4CompressionCodec"})
    assert said(tmp_path).outcome == "resume"


def test_another_join_format_does_not_fit_the_schema(tmp_path: Path) -> None:
    rename_operator(stateful(tmp_path), "symmetricHashJoin", store="left-keyToNumValues")
    for partition in range(2):
        directory = f"state/0/{partition}/left-keyToNumValues"
        write(tmp_path, {f"{directory}/{version}.delta": b"x" * 64 for version in range(1, 6)})
    newest(tmp_path, **{JOIN_FORMAT: "1"})
    answer = said(tmp_path)
    assert answer.error is not None and answer.error.condition == "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"


def test_row_checksums_that_the_rows_do_not_have_fail(tmp_path: Path) -> None:
    newest(stateful(tmp_path), **{ROW_CHECKSUM: "true"})
    assert said(tmp_path).reason == "SETTINGS_CHANGED"
    assert said(tmp_path, "4.0").reason != "SETTINGS_CHANGED"  # a Spark that does not know them


def test_partitions_that_every_offset_leaves_out_lose_rows(tmp_path: Path) -> None:
    stateful(tmp_path, partitions=3)
    answer = said(tmp_path)
    assert [risk.id for risk in answer.risks] == ["EXTRA_PARTITIONS"] and answer.data.append == "loss"
    found = {item.id: item for item in findings(Checkpoint.open(str(tmp_path))).findings}
    assert found["EXTRA_PARTITIONS"].severity == "data_risk"


@pytest.mark.parametrize(
    ("name", "state_format", "has_data_after", "is_risk"),
    [
        ("symmetricHashJoin", "4", False, True),
        ("symmetricHashJoin", "3", False, False),
        ("stateStoreSave", "4", False, False),
        ("symmetricHashJoin", "4", True, False),
    ],
)
def test_a_join_of_format_4_that_was_repartitioned(
    tmp_path: Path, name: str, state_format: str, has_data_after: bool, is_risk: bool
) -> None:
    """It stood as "certain" and "exact", and failed in the first batch with rows."""
    settings = {PROVIDER: ROCKSDB, JOIN_FORMAT: state_format}
    stateful(tmp_path, "changelog", **settings)
    with_state(tmp_path, range(1, 9), kind="changelog", partitions=4)
    rename_operator(tmp_path, name)
    (tmp_path / "state/0/0/_metadata/schema").unlink()  # of an aggregation
    texts = {
        number: offset_text([json.dumps({"logOffset": end})], conf=stateful_conf(partitions, **settings))
        for number, end, partitions in ((4, 4, 2), (5, 4, 4), (6, 4, 4), (7, 5 if has_data_after else 4, 4))
    }
    write(tmp_path, {f"offsets/{number}": text for number, text in texts.items()})
    write(tmp_path, {f"commits/{number}": commit_text() for number in texts})
    risk = said(tmp_path).risk("JOIN_REPARTITIONED")
    assert (risk is not None) is is_risk
    if risk is not None:
        assert risk.certainty == "inferred" and risk.evidence[0].path == "offsets/5"


def test_partitions_that_a_repartition_left_behind_are_no_risk(tmp_path: Path) -> None:
    stateful(tmp_path)
    write(tmp_path, {f"state/0/2/{version}.delta": b"x" * 64 for version in range(1, 4)})
    assert said(tmp_path).risks == ()
    found = {item.id: item for item in findings(Checkpoint.open(str(tmp_path))).findings}
    assert found["EXTRA_PARTITIONS"].severity == "attention"


# What lies below state/


def test_anything_in_state_stops_batch_0(tmp_path: Path) -> None:
    write(tmp_path, {"metadata": '{"id":"11111111-1111-4111-8111-111111111111"}', "state/notes.txt": "x"})
    answer = said(tmp_path, "4.3")
    assert (answer.outcome, answer.reason) == ("fail", "OLD_FILES_BEFORE_BATCH_0")
    assert said(tmp_path, "4.0").outcome == "fresh_start"


def test_state_without_a_file_of_a_store_misses_the_first_file(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf())
    moved = offset_text(
        ['{"logOffset":4}'], conf=stateful_conf(), watermark_ms=1_000
    )  # the query is stateful
    write(tmp_path, {"state/notes.txt": "x", "offsets/5": moved, "commits/5": commit_text()})
    answer = said(tmp_path, "4.3")
    assert answer.error is not None and answer.error.condition == READ_DELTA


def test_a_schema_of_an_unknown_version_fails(tmp_path: Path) -> None:
    write(stateful(tmp_path), {"state/0/0/_metadata/schema": b"\0\2v9\0\0"})
    answer = said(tmp_path, "4.3")
    assert answer.error is not None
    assert answer.error.condition == "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION"
    assert "is v3, but encountered v9" in answer.error.message
    older = said(tmp_path, "3.5").error
    assert older is not None and "is v2, but encountered v9" in older.message


# Operator metadata


def test_metadata_of_another_operator_does_not_match_the_query(tmp_path: Path) -> None:
    rename_operator(stateful(tmp_path), "dedupe")  # its state has a count
    answer = said(tmp_path, "4.3")
    assert (answer.reason, answer.certainty) == ("OPERATORS_DIFFER", "inferred")
    assert said(tmp_path, "3.5").outcome == "resume"
    write(tmp_path, {"state/0/0/_metadata/schema": keys_only()})
    assert said(tmp_path, "4.3").outcome == "resume"


def test_metadata_of_another_directory_does_not_match_the_query(tmp_path: Path) -> None:
    path = stateful(tmp_path) / "state" / "0" / "_metadata" / "metadata"
    path.write_text(path.read_text().replace('"operatorId":0', '"operatorId":1'))
    assert said(tmp_path, "4.3").reason == "OPERATORS_DIFFER"


# RocksDB files that a zip names


def zip_naming(*sst_files: str) -> bytes:
    """A RocksDB snapshot that needs these files."""
    files = [{"localFileName": name, "dfsSstFileName": name, "sizeBytes": 9} for name in sst_files]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metadata", "v1\n" + json.dumps({"sstFiles": files, "numKeys": 1}))
    return packed.getvalue()


@pytest.mark.parametrize("with_changelogs", [False, True])
def test_a_zip_whose_sst_files_are_all_gone(with_changelogs: bool, tmp_path: Path) -> None:
    stateful(tmp_path, "changelog", **{PROVIDER: ROCKSDB})
    if not with_changelogs:
        for path in tmp_path.glob("state/0/*/*.changelog"):
            path.unlink()
    write(tmp_path, {f"state/0/{partition}/5.zip": zip_naming("000009-a.sst") for partition in range(2)})
    answer = said(tmp_path, "4.3")
    assert answer.outcome == ("resume" if with_changelogs else "fail")
    older = said(tmp_path, "3.5")
    assert older.reason == "STATE_NOT_RESTORABLE" and older.error is not None
    assert older.error.message.endswith("state/0/0/SSTs/000009-a.sst does not exist")
    write(tmp_path, {f"state/0/{partition}/SSTs/000009-a.sst": b"x" * 9 for partition in range(2)})
    assert said(tmp_path, "3.5").outcome == "resume"


def test_an_empty_store_needs_no_sst_file(tmp_path: Path) -> None:
    stateful(tmp_path, "zip", **{PROVIDER: ROCKSDB})
    write(tmp_path, {f"state/0/{partition}/5.zip": zip_naming() for partition in range(2)})
    assert said(tmp_path).outcome == "resume"


def test_where_both_entries_lost_their_settings_the_one_before_them_tells(tmp_path: Path) -> None:
    stateful(tmp_path, **{"spark.sql.streaming.aggregation.stateFormatVersion": "2"})
    for batch in (3, 4):
        write(tmp_path, {f"offsets/{batch}": offset_text([f'{{"logOffset":{batch}}}'], conf={})})
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "batch", "SETTINGS_CHANGED")
    assert "offsets/2" in answer.sentence


def keys_of(sentences: Iterable[str]) -> set[str]:
    return {sentence.key for sentence in sentences if isinstance(sentence, Sentence)}


def unpinned(root: Path) -> Path:
    """A query with state over an offset log of version 2 whose newest entry names no number of state
    partitions: Spark 4.2.0 leaves it out of batch 0."""
    conf = {key: value for key, value in stateful_conf().items() if key != "spark.sql.shuffle.partitions"}
    return write(stateful(root), {"offsets/4": offset_text({"0": '{"logOffset":4}'}, conf=conf)})


def test_a_number_of_partitions_that_is_not_pinned_is_taken_from_the_operator_metadata(
    tmp_path: Path,
) -> None:
    unpinned(tmp_path)
    newer, older = said(tmp_path, "4.3"), said(tmp_path, "4.2")
    assert (newer.outcome, older.outcome) == ("resume", "resume")
    keys = keys_of(older.not_checked)
    assert "forecast_steps.partitions_of_session" in keys
    assert "forecast_steps.partitions_of_session" not in keys_of(newer.not_checked)


@pytest.mark.parametrize(("spark", "certainty"), [("4.3", "certain"), ("4.2", "inferred")])
def test_a_number_of_partitions_that_stands_nowhere_stops_the_start(
    spark: str, certainty: str, tmp_path: Path
) -> None:
    unpinned(tmp_path)
    shutil.rmtree(tmp_path / "state" / "0" / "_metadata")
    answer = said(tmp_path, spark)
    assert (answer.outcome, answer.fails_at, answer.certainty) == ("fail", "start", certainty)
    assert answer.reason == "STATE_DEFINITION_UNREADABLE" and answer.error is not None
    assert answer.error.message.startswith("Failed to recover the state-store partition count")


def test_whether_a_query_without_state_so_far_starts_then_depends_on_the_query(tmp_path: Path) -> None:
    unpinned(tmp_path)
    shutil.rmtree(tmp_path / "state")
    answer = said(tmp_path, "4.3")
    assert answer.outcome != "fail"
    assert "forecast_steps.partitions_if_stateful" in keys_of(answer.not_checked)
    assert said(tmp_path, "4.3", operators={}).outcome == "resume"
    assert said(tmp_path, "4.3", operators={0: "stateStoreSave"}).error is not None


def test_a_log_of_version_1_needs_no_number_of_partitions(tmp_path: Path) -> None:
    stateful(tmp_path)
    conf = {key: value for key, value in stateful_conf().items() if key != "spark.sql.shuffle.partitions"}
    write(tmp_path, {"offsets/4": offset_text(['{"logOffset":4}'], conf=conf)})
    shutil.rmtree(tmp_path / "state" / "0" / "_metadata")
    assert said(tmp_path, "4.3").outcome == "resume"


def test_a_number_of_partitions_that_is_not_pinned_does_not_hide_another_value(tmp_path: Path) -> None:
    """Seen on Spark 4.3: the number is taken from the operator metadata, then the policy is refused."""
    unpinned(tmp_path)
    policy = "spark.sql.streaming.multipleWatermarkPolicy"
    conf = {key: value for key, value in stateful_conf().items() if key != "spark.sql.shuffle.partitions"}
    text = offset_text({"0": '{"logOffset":4}'}, conf={**conf, policy: "x"})
    write(tmp_path, {"offsets/4": text})
    assert said(tmp_path, "4.3").reason == "SETTINGS_CHANGED"
    assert said(tmp_path, "4.2").reason == "SETTINGS_CHANGED"
    shutil.rmtree(tmp_path / "state" / "0" / "_metadata")
    assert said(tmp_path, "4.3").reason == "STATE_DEFINITION_UNREADABLE"
