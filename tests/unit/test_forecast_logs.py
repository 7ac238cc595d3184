"""The log steps of the start, on small checkpoints. What Spark does was seen in restarts of 3.3 to 4.3
(tests/spark/test_oracle.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.build import commit_text, offset_text, remove, write
from tests.support.forecasting import (
    CONF_3_5,
    METADATA,
    files_checkpoint,
    files_entry,
    said,
    stateful_conf,
    with_state,
)


def test_a_committed_newest_batch_goes_on_with_the_next_one(tmp_path: Path) -> None:
    answer = said(files_checkpoint(tmp_path))
    assert (answer.outcome, answer.batch_id, answer.fails_at, answer.certainty) == (
        "resume",
        5,
        None,
        "certain",
    )
    assert (
        answer.sentence == "Spark will resume with batch 5 when there is new data, from the end of batch 4."
    )
    assert answer.data.is_exact and not answer.risks and not answer.is_data_risk


def test_no_batch_runs_without_new_data(tmp_path: Path) -> None:
    answer = said(files_checkpoint(tmp_path), new_data="no")
    assert (answer.outcome, answer.batch_id) == ("resume", None)
    assert answer.sentence == "Spark will run no batch until there is new data; the next one is batch 5."


def test_a_batch_without_commit_runs_again_and_an_append_sink_may_have_its_rows_twice(tmp_path: Path) -> None:
    answer = said(files_checkpoint(tmp_path, commits=range(4)))
    assert (answer.outcome, answer.batch_id) == ("rerun", 4)
    # its input file lies on another machine, so that it may be gone
    assert (answer.data.append, answer.data.overwrite, answer.data.skip) == (
        "duplicates",
        "unknown",
        "unknown",
    )
    assert (
        "re-run batch 4 with the same end offsets (1 file); the sink may receive batch ID 4 a second time"
        in answer.sentence
    )
    assert answer.because == "offsets/4 has no commits/4"
    assert not answer.is_data_risk


def test_batches_between_the_newest_commit_and_the_newest_offset_are_never_run(tmp_path: Path) -> None:
    answer = said(files_checkpoint(tmp_path, commits=[0, 1]))
    assert (answer.outcome, answer.batch_id) == ("rerun", 4)
    assert "Batches 2 and 3 are not re-run, although not committed." in answer.sentence


def test_offsets_without_any_commit_run_the_newest_batch_again(tmp_path: Path) -> None:
    answer = said(files_checkpoint(tmp_path, commits=[]))
    assert (answer.outcome, answer.batch_id) == ("rerun", 4)


def test_missing_previous_offset_blocks_restart_although_the_newest_batch_is_committed(
    tmp_path: Path,
) -> None:
    remove(files_checkpoint(tmp_path), "offsets/3")
    answer = said(tmp_path)
    assert (answer.outcome, answer.batch_id, answer.fails_at) == ("fail", None, "start")
    assert answer.error is not None
    assert (answer.error.condition, answer.error.error_class, answer.error.message) == (
        None,
        "IllegalStateException",
        "batch 3 doesn't exist",
    )
    assert [str(item) for item in answer.evidence] == ["offsets/3"]
    assert answer.reason == "OFFSET_GAP"


@pytest.mark.parametrize(
    ("spark", "error_class", "message"),
    [
        ("3.5", "IllegalStateException", "batch 3 doesn't exist"),
        ("4.1", "IllegalStateException", "batch 3 doesn't exist"),
        ("4.2", "IllegalArgumentException", "requirement failed: Previous batch 3 not found in offset log"),
    ],
)
def test_missing_previous_offset_of_a_pending_batch_reads_differently_from_4_2_on(
    tmp_path: Path, spark: str, error_class: str, message: str
) -> None:
    remove(files_checkpoint(tmp_path, commits=range(4)), "offsets/3")
    answer = said(tmp_path, spark)
    assert answer.error is not None
    assert (answer.error.error_class, answer.error.message) == (error_class, message)


def test_a_commit_ahead_of_the_newest_offset_delivers_the_batch_again_and_then_fails(tmp_path: Path) -> None:
    remove(files_checkpoint(tmp_path), "offsets/4")
    answer = said(tmp_path)
    assert (answer.outcome, answer.batch_id, answer.fails_at) == ("fail", 3, "batch")
    assert answer.error is not None and answer.error.condition == "CONCURRENT_STREAM_LOG_UPDATE"
    assert answer.data.append == "duplicates"
    assert answer.then is not None and "Every further start fails the same way" in answer.then


def test_a_later_commit_stops_the_batch_after_the_one_that_runs_again(tmp_path: Path) -> None:
    remove(files_checkpoint(tmp_path), "offsets/4", "offsets/3", "commits/2")
    answer = said(tmp_path)
    assert (answer.outcome, answer.batch_id) == ("rerun", 2)
    assert answer.then is not None and "commits/3 already exists" in answer.then


# metadata


def test_missing_metadata_blocks_restart_from_4_2_on(tmp_path: Path) -> None:
    remove(files_checkpoint(tmp_path), "metadata")
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at) == ("fail", "start")
    assert answer.error is not None
    assert (answer.error.condition, answer.error.sqlstate) == (
        "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
        "42K03",
    )


@pytest.mark.parametrize("spark", ["3.3", "3.5", "4.1"])
def test_missing_metadata_gives_a_new_query_id_before_4_2(tmp_path: Path, spark: str) -> None:
    remove(files_checkpoint(tmp_path, commits=range(4)), "metadata")
    answer = said(tmp_path, spark)
    assert (answer.outcome, answer.batch_id) == ("rerun", 4)
    assert answer.data.skip == "duplicates"  # the sink knows batches by the query id
    assert [risk.id for risk in answer.risks] == ["METADATA_MISSING"]


@pytest.mark.parametrize(
    ("content", "error_class"),
    [
        ("", "MismatchedInputException"),
        (METADATA[:20], "JsonEOFException"),
        ("hello", "JsonParseException"),
        ("{}", "MappingException"),
        ('{"id":"not-a-uuid"}', "IllegalArgumentException"),
    ],
)
def test_metadata_that_cannot_be_read_blocks_restart(tmp_path: Path, content: str, error_class: str) -> None:
    write(files_checkpoint(tmp_path), {"metadata": content})
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "start", "METADATA_UNREADABLE")
    assert answer.error is not None and answer.error.error_class == error_class


def test_metadata_is_looked_at_before_any_log_file(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"metadata": "hello", "offsets/4": ""})
    assert said(tmp_path).reason == "METADATA_UNREADABLE"


# The newest files of the logs


@pytest.mark.parametrize(
    ("content", "condition", "error_class"),
    [
        ("", None, "IllegalStateException"),
        ("v1", None, "NoSuchElementException"),
        ("v1\n\n{}", None, "NullPointerException"),
        ('v1\n{"batch', None, "JsonEOFException"),
        ("v1\nhello\n{}", None, "JsonParseException"),
        ("{}\n{}", "MALFORMED_LOG_FILE", "SparkIllegalStateException"),
        ("v9\n{}\n{}", "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION", "SparkIllegalStateException"),
    ],
)
def test_a_newest_offset_that_cannot_be_read_blocks_restart(
    tmp_path: Path, content: str, condition: str | None, error_class: str
) -> None:
    write(files_checkpoint(tmp_path), {"offsets/4": content})
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.batch_id) == ("fail", "start", None)
    assert answer.error is not None
    assert (answer.error.condition, answer.error.error_class) == (condition, error_class)
    assert str(answer.evidence[0]).startswith("offsets/4")


def test_a_newest_commit_that_cannot_be_read_blocks_restart(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"commits/4": ""})
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at) == ("fail", "start")
    assert answer.error is not None and answer.error.message == "Incomplete log file in the offset commit log"


def test_a_commit_with_only_its_version_is_accepted(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"commits/4": "v1"})
    assert said(tmp_path).outcome == "resume"


def test_older_log_files_may_be_missing_or_unreadable(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"offsets/1": "", "commits/2": "junk"})
    remove(tmp_path, "offsets/0", "commits/0")
    assert said(tmp_path).outcome == "resume"


def test_offset_log_version_2_is_not_read_before_4_2(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"offsets/4": offset_text({"0": '{"logOffset":4}'})})
    answer = said(tmp_path, "4.1")
    assert answer.error is not None and answer.error.condition == "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION"
    assert "maximum supported log version is v1, but encountered v2" in answer.error.message


def test_the_commit_is_read_after_the_previous_offset_up_to_4_0_and_before_it_from_4_1_on(
    tmp_path: Path,
) -> None:
    write(files_checkpoint(tmp_path), {"commits/4": "v9\n{}"})
    remove(tmp_path, "offsets/3")
    assert said(tmp_path, "4.0").reason == "OFFSET_GAP"
    assert said(tmp_path, "4.1").reason == "LOG_VERSION_UNKNOWN"


def test_leading_zeros_in_a_name_count_as_a_number_that_is_not_there(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"offsets/007": "v1\n{}\n{}"})
    answer = said(tmp_path)
    assert (answer.outcome, answer.reason) == ("fail", "LOG_FILE_NAME")
    assert answer.error is not None and answer.error.message.endswith("/offsets/7 does not exist")


def test_other_names_in_the_logs_are_ignored(tmp_path: Path) -> None:
    write(
        files_checkpoint(tmp_path),
        {"offsets/9.tmp": "x", "offsets/foo": "x", "offsets/-1": "x", "offsets/99/x": "x"},
    )
    assert said(tmp_path).outcome == "resume"


def test_a_checksum_file_that_outlived_its_log_file_stops_the_write(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path, commits=range(4)), {"commits/.4.crc": b"crc"})
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.batch_id, answer.reason) == (
        "fail",
        "batch",
        4,
        "STALE_CHECKSUM_FILE",
    )
    assert answer.data.append == "duplicates"  # the sink has the rows before the commit is written


def test_a_checksum_file_of_the_next_source_entry_stops_the_plan_of_the_next_batch(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"sources/0/.5.crc": b"crc", "offsets/.5.crc": b"crc"})
    answer = said(tmp_path, new_data="yes")
    assert (answer.outcome, answer.fails_at, answer.batch_id) == ("fail", "batch", 5)
    assert answer.reason == "STALE_CHECKSUM_FILE" and str(answer.evidence[0]) == "sources/0/.5.crc"
    assert answer.error is not None and answer.error.message.endswith("/sources/0.")
    assert answer.data.is_exact
    (tmp_path / "offsets" / ".5.crc").unlink()
    assert said(tmp_path, new_data="no").outcome == "resume"
    (tmp_path / "commits" / "4").unlink()
    pending = said(tmp_path, new_data="yes")
    assert pending.outcome == "rerun" and pending.then is not None and "sources/0/.5.crc" in pending.then


def test_a_checksum_file_of_another_name_than_the_next_source_entry_is_harmless(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"sources/0/.5.compact.crc": b"crc", "sources/0/.6.crc": b"crc"})
    assert said(tmp_path, new_data="yes").outcome == "resume"


def test_a_checksum_file_of_the_next_offset_stops_the_batch_before_the_sink(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"offsets/.5.crc": b"crc"})
    answer = said(tmp_path)
    assert (answer.outcome, answer.reason) == ("fail", "STALE_CHECKSUM_FILE")
    assert answer.data.is_exact


# The number of sources


def test_fewer_sources_in_the_query_than_in_the_log_block_restart(tmp_path: Path) -> None:
    answer = said(files_checkpoint(tmp_path), sources=2)
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "start", "SOURCE_COUNT")
    assert answer.error is not None
    assert (
        "There are [1] sources in the checkpoint offsets and now there are [2] sources requested by the"
        " query." in answer.error.message
    )


def test_a_newest_offset_without_source_lines_blocks_restart(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"offsets/4": "\n".join(offset_text(["x"]).split("\n")[:2])})
    answer = said(tmp_path)
    assert (
        answer.error is not None
        and "There are [0] sources in the checkpoint offsets and now there are [1]" in answer.error.message
    )


# Nothing in the offset log


@pytest.mark.parametrize(
    ("spark", "outcome", "condition", "fails_at"),
    [
        ("3.3", "fail", "INTERNAL_ERROR", "batch"),
        ("3.5", "fail", "CONCURRENT_STREAM_LOG_UPDATE", "batch"),
        ("4.1", "fail", "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY", "start"),
        ("4.3", "fail", None, "start"),
    ],
)
def test_commits_without_offsets(
    tmp_path: Path, spark: str, outcome: str, condition: str | None, fails_at: str
) -> None:
    remove(files_checkpoint(tmp_path), *(f"offsets/{i}" for i in range(5)))
    answer = said(tmp_path, spark)
    assert (answer.outcome, answer.fails_at) == (outcome, fails_at)
    assert answer.error is not None and answer.error.condition == condition
    assert answer.data.append == ("duplicates" if fails_at == "batch" else "exact")


@pytest.mark.parametrize("log", ["offsets", "both"])
def test_without_offsets_it_depends_on_the_version_that_is_started(tmp_path: Path, log: str) -> None:
    """Seen: 4.1 and newer refuse, and older ones read everything again. Commits look the same in both."""
    files_checkpoint(tmp_path, conf=stateful_conf())
    with_state(tmp_path, range(1, 6))
    remove(tmp_path, *(f"offsets/{i}" for i in range(5)))
    if log == "both":
        remove(tmp_path, *(f"commits/{i}" for i in range(5)))
    answer = said(tmp_path)
    assert (answer.outcome, answer.certainty, answer.data.append) == ("fail", "needs_input", "duplicates")
    assert "Spark up to 4.0 starts from scratch instead" in answer.sentence
    for spark in ("4.0", "4.3"):
        named = said(tmp_path, spark)
        assert "instead" not in named.sentence and named.certainty != "needs_input"


def test_empty_logs_start_from_scratch_without_an_error(tmp_path: Path) -> None:
    remove(
        files_checkpoint(tmp_path), *(f"offsets/{i}" for i in range(5)), *(f"commits/{i}" for i in range(5))
    )
    answer = said(tmp_path)
    assert (answer.outcome, answer.batch_id) == ("fresh_start", 0)
    assert answer.data.append == "duplicates"
    assert [risk.id for risk in answer.risks] == ["FRESH_START"] and answer.is_data_risk


def test_empty_logs_beside_state_are_refused_from_4_1_on(tmp_path: Path) -> None:
    files_checkpoint(tmp_path, conf=stateful_conf())
    with_state(tmp_path, range(1, 6))
    remove(tmp_path, *(f"offsets/{i}" for i in range(5)), *(f"commits/{i}" for i in range(5)))
    answer = said(tmp_path)
    assert answer.error is not None and answer.error.condition == "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"
    assert said(tmp_path, "4.0").outcome == "fresh_start"


def test_a_new_checkpoint_starts_with_batch_0_and_may_have_been_used_before(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"metadata": METADATA})
    (tmp_path / "offsets").mkdir()
    (tmp_path / "commits").mkdir()
    answer = said(tmp_path)
    assert (answer.outcome, answer.batch_id, answer.data.append) == ("fresh_start", 0, "duplicates")
    assert not answer.data.is_sure("append")
    assert [(risk.id, risk.weight) for risk in answer.risks] == [("FRESH_START", "note")]


def test_batch_0_without_commit_runs_again(tmp_path: Path) -> None:
    answer = said(files_checkpoint(tmp_path, batches=1, commits=[]))
    assert (answer.outcome, answer.batch_id) == ("rerun", 0)


# Asynchronous progress


def test_gaps_of_asynchronous_progress_are_legal(tmp_path: Path) -> None:
    tree: dict[str, str | bytes] = {"metadata": METADATA, "sources/0/0": b"\0v1\n" + b'{"orders":{"0":0}}'}
    for batch in (0, 6, 11, 16, 21, 26):
        tree[f"offsets/{batch}"] = offset_text([json.dumps({"orders": {"0": batch * 10}})])
        tree[f"commits/{batch}"] = commit_text()
    answer = said(write(tmp_path, tree))
    assert (answer.outcome, answer.batch_id) == ("resume", 27)
    assert "whether asynchronous progress tracking is still on" in answer.not_checked


# The version


def test_the_version_is_told_by_the_newest_offset(tmp_path: Path) -> None:
    answer = said(files_checkpoint(tmp_path, conf=CONF_3_5))
    assert answer.spark == "3.5"
    assert "10 settings" in answer.spark_why


def test_a_chosen_version_wins(tmp_path: Path) -> None:
    answer = said(files_checkpoint(tmp_path, conf=CONF_3_5), "4.3")
    assert (answer.spark, answer.spark_why) == ("4.3", "chosen")


def test_the_file_source_log_is_read_before_the_commit(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"commits/4": ""})
    remove(tmp_path, "sources/0/2")
    assert said(tmp_path).reason == "SOURCE_LOG_GAP"
    write(tmp_path, {"sources/0/2": files_entry(2)})
    assert said(tmp_path).reason == "LOG_FILE_UNREADABLE"


# Bytes that no text has


def not_utf8(text: str) -> bytes:
    data = bytearray(text.encode())
    data[len(data) * 9 // 10] = 0xFF
    return bytes(data)


@pytest.mark.parametrize("path", ["offsets/4", "offsets/3", "commits/4", "sources/0/4", "sources/0/2"])
@pytest.mark.parametrize("spark", ["3.5", "4.0", "4.3"])
def test_a_log_file_that_is_not_utf8_stops_the_start(tmp_path: Path, path: str, spark: str) -> None:
    files_checkpoint(tmp_path)
    (tmp_path / path).write_bytes(not_utf8((tmp_path / path).read_text(encoding="utf-8")))
    answer = said(tmp_path, spark)
    assert (answer.outcome, answer.fails_at) == ("fail", "start")
    assert answer.error is not None and answer.error.error_class == "MalformedInputException"


def test_in_metadata_the_byte_becomes_another_character_of_the_id(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    data = bytearray((tmp_path / "metadata").read_bytes())
    data[12] = 0xFF
    (tmp_path / "metadata").write_bytes(data)
    answer = said(tmp_path)
    assert answer.error is not None and answer.error.error_class == "NumberFormatException"


def test_up_to_4_0_the_source_logs_are_read_before_the_newest_offset(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"offsets/4": ""})
    remove(tmp_path, "sources/0/2")
    assert said(tmp_path, "4.0").reason == "SOURCE_LOG_GAP"
    assert said(tmp_path, "4.3").reason == "LOG_FILE_UNREADABLE"


def test_the_checksum_file_of_a_lost_metadata_stops_writing_a_new_one(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {".metadata.crc": b"crc\0\0\0\2\0"})
    remove(tmp_path, "metadata")
    answer = said(tmp_path, "3.5")
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "start", "STALE_CHECKSUM_FILE")
    assert said(tmp_path, "4.3").reason == "METADATA_MISSING"


def test_a_control_character_is_refused_in_other_words(tmp_path: Path) -> None:
    text = files_entry(2).replace("/in/", "/i\x0f/").replace("\\u000f", "\x0f")
    write(files_checkpoint(tmp_path), {"sources/0/2": text})
    answer = said(tmp_path)
    assert answer.error is not None and answer.error.message.startswith("Illegal")


# Files that were edited by hand


@pytest.mark.parametrize("name", ["offsets/4", "offsets/3"])
@pytest.mark.parametrize("commits", [range(5), range(4)])
def test_an_empty_line_at_the_end_counts_as_one_more_source(
    tmp_path: Path, name: str, commits: range
) -> None:
    root = files_checkpoint(tmp_path, commits=commits)
    write(root, {name: (root / name).read_text() + "\n\n"})
    answer = said(root)
    assert (answer.outcome, answer.batch_id, answer.fails_at) == ("fail", None, "start")
    assert answer.reason == "SOURCE_COUNT" and answer.error is not None
    assert "There are [2] sources in the checkpoint offsets and now there are [1]" in answer.error.message


def test_a_brace_too_many_changes_nothing(tmp_path: Path) -> None:
    root = files_checkpoint(tmp_path)
    for name in ("offsets/4", "commits/4", "sources/0/4"):
        write(root, {name: (root / name).read_text() + "}"})
    answer = said(root)
    assert (answer.outcome, answer.batch_id, answer.certainty) == ("resume", 5, "certain")


def test_line_ends_of_an_old_mac_are_line_ends(tmp_path: Path) -> None:
    root = files_checkpoint(tmp_path)
    write(root, {"offsets/4": (root / "offsets/4").read_text().replace("\n", "\r")})
    assert said(root).outcome == "resume"


@pytest.mark.parametrize("name", ["offsets/4", "offsets/3", "commits/4"])
def test_a_time_written_as_a_text_stops_the_start(tmp_path: Path, name: str) -> None:
    root = files_checkpoint(tmp_path)
    field = "nextBatchWatermarkMs" if name.startswith("commits") else "batchWatermarkMs"
    version, line, *rest = (root / name).read_text().split("\n")
    line = json.dumps({**json.loads(line), field: "5"})
    write(root, {name: "\n".join([version, line, *rest])})
    answer = said(root)
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "start", "LOG_FILE_UNREADABLE")
    assert answer.error is not None and answer.error.error_class == "MappingException"


@pytest.mark.parametrize(
    ("spark", "name", "error"),
    [
        ("4.3", "offsets/4", "requirement failed: Batch 4 metadata not found"),
        ("4.3", "offsets/3", "requirement failed: Previous batch 3 metadata not found"),
        ("4.1", "offsets/3", None),
    ],
)
def test_an_empty_metadata_line_of_a_pending_batch_or_the_one_before(
    tmp_path: Path, spark: str, name: str, error: str | None
) -> None:
    root = files_checkpoint(tmp_path, commits=range(4))
    version, _, *rest = (root / name).read_text().split("\n")
    write(root, {name: "\n".join([version, "", *rest])})
    answer = said(root, spark)
    assert (None if answer.error is None else answer.error.message) == error
    assert answer.outcome == ("rerun" if error is None else "fail")


@pytest.mark.parametrize(("spark", "commits"), [("3.5", range(4)), ("4.0", range(4)), ("4.3", range(0))])
def test_a_pending_batch_without_metadata_runs_and_fails_when_the_sink_has_its_rows(
    tmp_path: Path, spark: str, commits: range
) -> None:
    root = files_checkpoint(tmp_path, commits=commits)
    version, _, *rest = (root / "offsets/4").read_text().split("\n")
    write(root, {"offsets/4": "\n".join([version, "", *rest])})
    answer = said(root, spark)
    assert (answer.outcome, answer.batch_id, answer.fails_at) == ("fail", 4, "batch")
    assert (answer.data.append, answer.data.is_sure("append")) == ("duplicates", False)
    assert answer.then is not None and "once more each time" in answer.then
    assert answer.error is not None and "WatermarkTracker.updateWatermark(" in answer.error.message
