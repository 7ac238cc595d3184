"""What an error means for the checkpoint that is open: real error texts against real samples, each kind of
damage by itself."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from core.analysis.errors import Explanation, explain
from core.analysis.errors.error_location import normal_path
from core.analysis.errors.model import Statement
from core.analysis.findings.catalogue import action_of
from core.checkpoint import Checkpoint
from core.cli import main
from core.documents.base import to_text
from core.documents.explain import explain_document
from core.errors import StorageError
from core.judgement import judge
from core.messages import say
from core.storage import Door, Listing
from tests.support.build import (
    SAMPLES,
    commit_text,
    copy_sample,
    kafka_checkpoint,
    kafka_offset,
    offset_text,
    remove,
    sample_names,
    unpack_corpus,
    write,
)
from tests.support.forecasting import files_checkpoint
from tests.support.spy import no_writes

TEXTS = Path(__file__).with_name("error_texts")
ROOT = "/data/checkpoints/orders"
IDS = re.compile(r"(?<=\bid = )[0-9a-f-]{36}")
QUERY_ID = "730aa211-41ff-4ee3-b1b9-9e62ed047c5f"

Capture = pytest.CaptureFixture[str]


def text_of(name: str, ck: Path | None = None, **changes: str) -> str:
    """A recorded error as the query of ``ck`` would have said it: its path and its query id; ``changes``
    replace words."""
    text = (TEXTS / f"{name}.txt").read_text(encoding="utf-8")
    if ck is not None:
        text = text.replace(ROOT, str(ck))
        metadata = ck / "metadata"
        text = IDS.sub(json.loads(metadata.read_text())["id"] if metadata.exists() else QUERY_ID, text)
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def changed(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def told(answer: Explanation) -> str:
    """Everything that the checkpoint says, in one text."""
    return "\n".join(statement.sentence for statement in answer.here)


def statement(answer: Explanation, words: str) -> Statement:
    return next(item for item in answer.here if words in item.sentence)


def explained(ck: Path, text: str) -> Explanation:
    return explain(text, Checkpoint.open(str(ck)))


# Without a checkpoint


def test_without_a_checkpoint_the_general_meaning_is_told() -> None:
    answer = explain(text_of("delta_missing"))
    assert answer.name == "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
    assert (answer.sqlstate, answer.certainty, answer.shown) == ("58030", "certain", "unknown")
    assert (answer.here, answer.evidence) == ((), ())
    assert answer.reasons and answer.action and answer.options[0] == "restore"
    assert "does not exist" in answer.message


def test_a_text_without_an_error_says_so_and_what_to_paste() -> None:
    answer = explain("the query is slow today")
    assert (answer.name, answer.sentence, answer.certainty) == (
        None,
        say("errors_lookup.nothing"),
        "needs_input",
    )
    assert "last 'Caused by'" in answer.action


def test_an_unknown_exception_is_shown_although_it_is_not_known() -> None:
    answer = explain(
        'Traceback (most recent call last):\n  File "job.py", line 3\nacme.errors.QuotaReached: 12 of 10'
        " used\nKeyError: 'x'"
    )
    assert answer.name is None
    assert answer.message == "KeyError: 'x'"


def test_an_error_over_a_wrapper_is_told_in_the_sentence() -> None:
    answer = explain(text_of("foreach_batch_user"))
    assert answer.name == "FOREACH_BATCH_USER_FUNCTION_ERROR"
    assert "ValueError: batch 5: sink table is locked" in answer.sentence
    assert answer.others[0].error_class == "ValueError"
    assert answer.unseen


def test_a_cause_in_the_sentence_follows_one_full_stop() -> None:
    assert ".. " not in explain(text_of("foreach_batch_user")).sentence


def test_the_option_is_that_of_the_words_and_a_source_offset_is_found(tmp_path: Path) -> None:
    """Both fail with the words of a log file that is no JSON."""
    files = copy_sample("files-stopped-cleanly", tmp_path / "log")
    (files / "sources/0/12").write_bytes((files / "sources/0/12").read_bytes()[:8])
    answer = explained(files, text_of("offset_cut", files))
    assert answer.finding == "SOURCE_LOG_UNREADABLE" and answer.recipe == "rewind"
    offset = copy_sample("files-stopped-cleanly", tmp_path / "offset")
    remove(offset, "commits/13")
    path = offset / "offsets/13"
    path.write_text(path.read_text().replace("logOffset", "logOffsez"))
    answer = explained(offset, text_of("offset_cut", offset))
    assert (answer.shown, answer.finding, answer.recipe) == ("yes", "SOURCE_OFFSET_UNREADABLE", "rewind")


def test_a_text_over_the_limit_says_that_its_middle_was_left_out() -> None:
    assert explain(text_of("delta_missing") + "x\n" * 500_000).is_cut


def test_for_a_condition_that_is_not_in_the_files_the_reason_is_told() -> None:
    answer = explain(text_of("append_without_watermark"))
    assert answer.unseen == "The query's text and its options are not in the checkpoint."
    assert answer.sentence.startswith(
        "[STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION] Invalid streaming output mode: append."
    )


# Which checkpoint


def test_the_same_query_id_is_told(tmp_path: Path) -> None:
    ck = copy_sample("files-stopped-cleanly", tmp_path)
    answer = explained(ck, text_of("source_log_end", ck))
    assert answer.here[0].sentence.startswith("The error is from the query of this checkpoint (")
    assert not answer.other_checkpoint


def test_the_error_of_another_query_is_told_and_proves_nothing_here(tmp_path: Path) -> None:
    ck = copy_sample("missing-delta-file", tmp_path)
    answer = explained(ck, text_of("delta_missing"))
    assert answer.other_checkpoint
    assert answer.shown == "unknown"
    assert all(item.shows_fault is None for item in answer.here)
    assert "it is from another checkpoint, or metadata was replaced since" in told(answer)


def test_the_path_of_another_checkpoint_is_told(tmp_path: Path) -> None:
    ck = copy_sample("missing-delta-file", tmp_path)
    answer = explained(ck, text_of("delta_missing", ck).replace(f"file:{ck}", "s3a://bucket/elsewhere"))
    assert (
        f"names a checkpoint at s3://bucket/elsewhere, and this one is at {ck}: a copy of it, or it was"
        " moved." in told(answer)
    )
    assert "state/0/1/3.delta is there" in told(answer)


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("file:/data/ck/", "/data/ck"),
        ("file:///data//ck", "/data/ck"),
        ("/data/ck", "/data/ck"),
        ("s3a://bucket/ck/", "s3://bucket/ck"),
        ("S3N://bucket/ck", "s3://bucket/ck"),
        ("abfss://c@account.dfs.core.windows.net/ck", "abfs://c@account.dfs.core.windows.net/ck"),
        ("dbfs:/data/ck", "dbfs:/data/ck"),
        ("hdfs://name:8020/ck", "hdfs://name:8020/ck"),
    ],
)
def test_spellings_of_one_path_are_the_same(written: str, plain: str) -> None:
    assert normal_path(written) == plain


# State


def test_a_missing_state_file_is_confirmed_with_the_batch_to_go_back_to(tmp_path: Path) -> None:
    ck = copy_sample("missing-delta-file", tmp_path)
    text = changed(
        text_of("delta_missing", ck),
        ("state/0/1/3.delta", "state/0/2/4.delta"),
        ("partitionId=1", "partitionId=2"),
    )
    answer = explained(ck, text)
    assert answer.shown == "yes"
    assert statement(answer, "state/0/2/4.delta is not there.").shows_fault
    assert "a rewind to batch 2 is possible" in told(answer)
    assert "The next start fails with this error:" in told(answer)
    assert "state/0/2/4.delta" in map(str, answer.evidence)
    assert "state/0/2/4.delta is not there." in answer.sentence


def test_a_state_file_that_is_there_again_contradicts_the_error(tmp_path: Path) -> None:
    ck = copy_sample("missing-delta-file", tmp_path)
    write(ck, {"state/0/2/4.delta": (ck / "state/0/2/5.delta").read_bytes()})
    answer = explained(ck, changed(text_of("delta_missing", ck), ("state/0/1/3.delta", "state/0/2/4.delta")))
    assert answer.shown == "no"
    assert statement(answer, "state/0/2/4.delta is there").shows_fault is False
    assert statement(answer, "the next start does not fail with this error").shows_fault is False


def test_damage_that_names_no_file_is_not_called_mended_by_names_and_sizes(tmp_path: Path) -> None:
    ck = copy_sample("dropduplicates-removed", tmp_path)
    answer = explained(ck, text_of("delta_flip.java", ck))
    assert answer.shown == "unknown"
    assert "the contents of the state files" in answer.not_checked
    assert answer.reasons[0] == "The innermost cause in the text: Stream is corrupted"


def test_an_empty_state_file_is_found_though_the_error_names_none(tmp_path: Path) -> None:
    ck = copy_sample("missing-delta-file", tmp_path)
    write(ck, {"state/0/2/4.delta": b""})
    answer = explained(ck, text_of("delta_empty", ck))
    assert answer.shown == "yes"
    assert "state/0/2/4.delta (0 bytes)" in told(answer)


def test_the_size_of_an_sst_file_is_compared_with_the_expected_one(tmp_path: Path) -> None:
    ck = copy_sample("windowed-aggregation-hot-partition", tmp_path)
    sst = next((ck / "state/0/3/SSTs").glob("*.sst"))
    name = str(sst.relative_to(ck))
    answer = explained(ck, re.sub(r"state/0/1/SSTs/[\w.-]+", name, text_of("sst_cut", ck)))
    size = sst.stat().st_size
    assert f"{name} has {size:,} bytes, and Spark expects 1,222." in told(answer)
    assert answer.shown == "yes"


def test_a_missing_state_directory_is_confirmed(tmp_path: Path) -> None:
    ck = copy_sample("missing-delta-file", tmp_path)
    remove(ck, "state")
    answer = explained(ck, text_of("state_dir_missing", ck))
    assert answer.shown == "yes"
    assert "state/ is not there." in told(answer)
    assert answer.options[0] == "restore"


def test_the_operators_of_the_message_are_compared_with_those_of_the_state(tmp_path: Path) -> None:
    ck = copy_sample("dropduplicates-removed", tmp_path)
    text = changed(text_of("operator_removed", ck), ("stateStoreSave", "dedupe"))
    answer = explained(ck, text)
    assert (
        "The state here belongs to operator 0 dedupe, as the message says; the query that was started has:"
        " none." in told(answer)
    )
    assert answer.options == ("change_query", "drop_state", "reset")
    assert answer.unseen
    other = explained(ck, text_of("operator_removed", ck))
    assert "the message names other ones" in told(other)


def test_an_operator_added_to_a_stateless_query_is_not_contradicted_by_the_forecast(tmp_path: Path) -> None:
    ck = copy_sample("files-stopped-cleanly", tmp_path)
    answer = explained(ck, text_of("operator_added", ck))
    assert answer.shown == "yes"
    assert answer.reasons[0] == "A stateful operator was added to a query that had none."
    assert "For the unchanged query the forecast of the next start is:" in told(answer)
    assert all(item.shows_fault is not False for item in answer.here)


def test_missing_operator_metadata_is_named(tmp_path: Path) -> None:
    ck = copy_sample("transform-with-state-timers", tmp_path)
    remove(ck, "state/0/_metadata")
    answer = explained(ck, text_of("tws_metadata_missing", ck))
    assert answer.shown == "yes"
    assert "state/0/_metadata" in told(answer)


# Logs


def test_an_empty_offset_file_is_confirmed(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(5))
    write(ck, {"offsets/4": ""})
    answer = explained(ck, text_of("offset_empty", ck))
    assert answer.shown == "yes"
    assert "offsets/4 is empty (0 bytes)" in told(answer)
    assert answer.finding == "LOG_FILE_UNREADABLE"


def test_a_log_file_that_can_be_read_contradicts_the_error(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(5))
    answer = explained(ck, text_of("offset_empty", ck))
    assert answer.shown == "no"
    assert statement(answer, "offsets/4 is there and can be read").shows_fault is False


def test_a_checkpoint_of_continuous_processing_is_told_from_an_edited_file(tmp_path: Path) -> None:
    """Started with another trigger. Written by Spark 4.3."""
    ck = unpack_corpus("kafka-continuous", tmp_path)
    answer = explained(ck, text_of("continuous_as_micro_batches", ck))
    assert (answer.shown, answer.finding, answer.recipe) == ("yes", None, "reset")
    assert answer.options == ("change_query", "reset")
    assert statement(answer, "only the trigger continuous").certainty == "inferred"
    assert "Start the query with the trigger continuous" in answer.action and "repair" not in answer.action
    assert not any("edited" in reason for reason in answer.reasons)
    of_another = explained(ck, text_of("continuous_as_micro_batches"))
    assert of_another.shown == "unknown" and "repair_files" in of_another.action
    micro = kafka_checkpoint(tmp_path / "ck", range(5))
    edited = explained(micro, text_of("continuous_as_micro_batches", micro))
    assert (edited.shown, edited.recipe) == ("no", "repair_files")
    head, _, *sources = (micro / "offsets/4").read_text(encoding="utf-8").splitlines()
    write(micro, {"offsets/4": "\n".join([head, "", *sources])})
    edited = explained(micro, text_of("continuous_as_micro_batches", micro))
    assert (edited.shown, edited.recipe, edited.finding) == ("yes", "repair_files", "LOG_FILE_UNREADABLE")


def test_a_position_that_continuous_processing_did_not_read_is_found(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(5))
    text = text_of("micro_batches_as_continuous", ck)
    other = explained(ck, text)
    assert (other.name, other.shown, other.certainty) == (
        "CONTINUOUS_ON_MICRO_BATCHES",
        "unknown",
        "inferred",
    )
    write(ck, {"offsets/4": offset_text(["3"])})
    answer = explained(ck, text)
    assert answer.shown == "yes" and "has the position 3" in told(answer)
    assert "start the query with the old one again" in answer.action and answer.recipe == "reset"


@pytest.mark.parametrize(
    ("name", "means", "action"),
    [
        ("tws_ttl_added", "has a TTL now and had none", "A TTL needs the time mode ProcessingTime"),
        ("tws_ttl_removed", "had a TTL and has none now", "give the variable a new name"),
        ("tws_became_map", "is a map now and was none", "give the variable a new name"),
        ("tws_output_mode", "another output mode or time mode", "Give transformWithState the old value"),
        ("value_schema", "do not have the number and types", "can get a new name instead"),
    ],
)
def test_the_schemas_in_a_message_tell_what_was_changed(name: str, means: str, action: str) -> None:
    """Errors of Spark 4.3; a new name for the variable, and the old argument, started on the same plan."""
    answer = explain(text_of(name))
    assert means in answer.means and action in answer.action and answer.options[0] == "change_query"
    assert any("dropDuplicates" in reason for reason in answer.reasons) == (name == "value_schema")


def test_a_map_that_is_none_any_more_is_said() -> None:
    text = text_of("tws_became_map")
    text = text.replace("Existing key_schema", "X").replace("new key_schema", "Existing key_schema")
    was = re.search(r"X=(\S+) and Existing key_schema=(\S+?)\.\n", text)
    assert was is not None
    turned = f"Existing key_schema={was[2]} and new key_schema={was[1]}.\n"
    assert "was a map and is none now" in explain(text.replace(was[0], turned)).means


def test_broken_json_is_traced_to_the_file_that_has_it(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(5))
    write(ck, {"commits/4": 'v1\n{"nextBatchWater'})
    answer = explained(ck, text_of("offset_cut", ck))
    assert answer.name == "LOG_FILE_NOT_JSON"
    assert answer.shown == "yes"
    assert "commits/4" in told(answer)


def test_broken_json_in_metadata_is_traced_to_it(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(3))
    write(ck, {"metadata": "hello"})
    answer = explained(ck, text_of("metadata_not_json.python"))
    assert (answer.name, answer.shown) == ("METADATA_NOT_JSON", "yes")


def test_missing_metadata_is_confirmed(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(3))
    remove(ck, "metadata")
    answer = explained(ck, text_of("metadata_missing", ck))
    assert answer.shown == "yes"
    assert "There is no metadata file." in told(answer)


def test_a_missing_batch_is_the_offset_file_before_the_newest(tmp_path: Path) -> None:
    ck = copy_sample("files-stopped-cleanly", tmp_path)
    remove(ck, "offsets/12")
    answer = explained(ck, changed(text_of("previous_missing_committed", ck), ("batch 3 ", "batch 12 ")))
    assert answer.shown == "yes"
    assert statement(answer, "offsets/12 is missing. The newest batch is 13 and is committed").shows_fault
    assert answer.finding == "OFFSET_GAP"


def test_a_pending_batch_is_never_told_to_begin_where_it_ends(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(5), commits=range(4))
    remove(ck, "offsets/3")
    answer = explained(ck, text_of("previous_missing_pending", ck))
    assert answer.shown == "yes"
    assert "offsets/3 is missing. The newest batch is 4 and is not committed" in told(answer)
    assert "lose its rows" in answer.action
    assert "repair" not in answer.options


def test_the_same_words_are_the_end_of_a_source_log_when_that_is_missing(tmp_path: Path) -> None:
    ck = copy_sample("files-stopped-cleanly", tmp_path)
    remove(ck, "sources/0/13")
    answer = explained(ck, changed(text_of("source_log_end", ck), ("batch 4 ", "batch 13 ")))
    assert answer.shown == "yes"
    assert statement(
        answer, "The log of source 0 ends with entry 12, and offsets/13 needs entry 13."
    ).shows_fault
    assert answer.finding == "SOURCE_LOG_END_MISSING"
    assert answer.action == action_of("SOURCE_LOG_END_MISSING")
    assert "Copy the newest offset file" not in answer.action


def test_a_missing_batch_that_nobody_needs_contradicts_the_error(tmp_path: Path) -> None:
    ck = copy_sample("files-stopped-cleanly", tmp_path)
    remove(ck, "offsets/3")
    answer = explained(ck, text_of("previous_missing_committed", ck))
    assert answer.shown == "no"
    assert "offsets/3 is missing, but the next start reads only offsets/13 and offsets/12." in told(answer)


def test_gaps_of_asynchronous_progress_explain_a_missing_batch(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", [0, 6, 11, 16, 21, 26])
    answer = explained(ck, changed(text_of("async_to_sync", ck), ("batch 11 ", "batch 25 ")))
    assert answer.shown == "yes"
    assert "are those of asynchronous progress tracking" in told(answer)
    assert "started without it" in " ".join(answer.reasons)


def test_a_gap_in_a_source_log_is_confirmed(tmp_path: Path) -> None:
    ck = copy_sample("files-stopped-cleanly", tmp_path)
    remove(ck, "sources/0/11")
    answer = explained(ck, changed(text_of("source_log_gap", ck), ("sources/0/2 ", "sources/0/11 ")))
    assert answer.shown == "yes"
    assert "sources/0/11 is not there." in told(answer)


def test_a_commit_ahead_of_the_offsets_is_told_from_a_second_query(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(4), commits=range(5))
    answer = explained(ck, text_of("commit_ahead", ck))
    assert answer.shown == "yes"
    assert "The newest commit is 4 and the newest offset is 3" in told(answer)
    assert "Batch 3 is planned and committed." in told(answer)
    clean = kafka_checkpoint(tmp_path / "clean", range(4))
    answer = explained(clean, text_of("commit_ahead", clean))
    assert answer.shown == "no"
    assert answer.reasons[0].startswith("A second query uses this checkpoint")


def test_a_checksum_file_without_its_log_file_is_named(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(4))
    write(ck, {"offsets/.4.crc": b"crc"})
    answer = explained(ck, text_of("stale_crc", ck))
    assert answer.shown == "yes"
    assert "offsets/.4.crc is there without the log file" in told(answer)


def test_without_such_a_checksum_file_nothing_is_claimed(tmp_path: Path) -> None:
    answer = explained(kafka_checkpoint(tmp_path / "ck", range(4)), text_of("stale_crc", tmp_path / "ck"))
    assert answer.shown == "unknown"
    assert "if the error comes back, look for a second query" in told(answer)


def test_lost_offsets_are_confirmed(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(4))
    remove(ck, *(f"offsets/{i}" for i in range(4)))
    answer = explained(ck, text_of("no_offsets", ck))
    assert (answer.name, answer.shown) == ("ASSERTION_FAILED", "yes")
    assert "offsets/ has no batch; commits/ has 4 (0 to 3)." in told(answer)
    assert (answer.finding, answer.action) == ("OFFSETS_LOST", action_of("OFFSETS_LOST"))


def test_an_error_without_words_is_told_by_what_the_next_start_fails_on(tmp_path: Path) -> None:
    ck = copy_sample("missing-delta-file", tmp_path)
    write(
        ck, {"state/0/2/4.delta": (ck / "state/0/2/5.delta").read_bytes(), "state/0/0/_metadata/schema": b""}
    )
    answer = explained(ck, text_of("schema_cut", ck))
    assert (answer.name, answer.certainty, answer.shown) == ("STREAM_FAILED", "needs_input", "yes")
    assert "state/0/0/_metadata/schema" in told(answer)
    assert (answer.finding, answer.options) == ("STATE_SCHEMA_UNREADABLE", ("repair", "restore"))


def test_the_batch_that_was_running_is_known_by_its_offsets(tmp_path: Path) -> None:
    ck = tmp_path / "ck"
    files = {f"offsets/{n}": offset_text([f'{{"logOffset":{n}}}']) for n in range(6)}
    files |= {f"commits/{n}": commit_text() for n in range(5)} | {"metadata": f'{{"id":"{QUERY_ID}"}}'}
    answer = explained(write(ck, dict(files)), text_of("foreach_batch_user", ck))
    assert "It is the batch that was running when the error occurred." in told(answer)
    other = changed(
        text_of("foreach_batch_user", ck),
        ('Available Offsets: {FileStreamSource[file:/data/in]: {"logOffset":5}}', "Available Offsets: {}"),
    )
    assert "every start re-runs it with the range planned in offsets/5." in told(explained(ck, other))
    assert "was running" not in told(explained(ck, other))


# Sources


def test_the_number_of_sources_is_compared_with_the_log(tmp_path: Path) -> None:
    ck = copy_sample("union-of-two-sources", tmp_path)
    answer = explained(ck, text_of("source_count", ck))
    assert "2 sources, as the message says: 0 " in told(answer)
    assert answer.unseen


def kafka_text(reason: str) -> str:
    head = (
        "Some data may have been lost because they are not available in Kafka any more; either the data was"
        " aged out by Kafka"
    )
    return (
        f"[STREAM_FAILED] Query [id = {QUERY_ID}, runId = {QUERY_ID}] terminated with exception:"
        f" {head}\nReason: {reason}\n SQLSTATE: XXKST"
    )


def test_expired_kafka_records_are_told_with_the_planned_range(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(3), commits=range(2))
    answer = explained(
        ck,
        kafka_text(
            "Could not read records in offset [10, 15) for topic partition orders-0\nwith consumer group x."
        ),
    )
    assert answer.name == "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"
    assert "orders-0: batch 1 (committed) ended at 10, batch 2 (not committed) is planned up to 15." in told(
        answer
    )
    assert "every start re-runs it" in told(answer)
    assert answer.shown == "unknown"
    assert answer.unseen == "What the broker has today is not in the files."


def test_the_plan_that_a_failed_start_left_is_recognised(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(3), commits=range(2))
    write(ck, {"offsets/2": offset_text([kafka_offset(5)])})
    answer = explained(ck, kafka_text("Partition orders-0 offset was changed from 10 to 5."))
    assert answer.shown == "yes"
    assert (
        statement(
            answer,
            "offsets/2 ends below batch 1 in orders-0 and orders-1: it was planned by a start that failed",
        ).certainty
        == "inferred"
    )


def test_a_topic_that_the_failed_plan_leaves_out_is_named(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(2))
    both = '{"orders":{"0":10,"1":10},"refunds":{"0":4}}'
    write(ck, {"offsets/1": offset_text([both]), "offsets/2": offset_text([kafka_offset(12)])})
    answer = explained(ck, kafka_text("Partitions Set(refunds-0) have been deleted."))
    assert answer.name == "KAFKA_DATA_LOSS.PARTITIONS_DELETED"
    assert "offsets/2 leaves out refunds-0" in told(answer)
    assert "refunds-0: batch 1 (committed) ended at 4." in told(answer)


def test_a_partition_that_the_checkpoint_does_not_know_is_said(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(3))
    answer = explained(ck, kafka_text("Added partition payments-3 starts from 7 instead of 0."))
    assert "The checkpoint has no position for payments-3; source 0 reads: orders." in told(answer)


def test_the_version_from_which_delta_is_asked_is_told(tmp_path: Path) -> None:
    ck = copy_sample("delta-batch-already-in-table", tmp_path)
    answer = explained(ck, text_of("delta_log_cleaned", ck))
    assert answer.parameters["startVersion"] == "5"
    assert re.search(
        r"Source 0 is at version \d+ of table [0-9a-f-]{36}; Spark reads the log from version \d+",
        told(answer),
    )


def test_an_error_about_another_delta_table_than_the_source_is_said(tmp_path: Path) -> None:
    ck = copy_sample("delta-batch-already-in-table", tmp_path)
    answer = explained(ck, text_of("delta_other_table", ck))
    assert (
        f"The message names table {answer.parameters['oldTableId']}, which is not the one in offsets/"
        in told(answer)
    )


def test_the_directories_of_the_files_that_were_read_are_told(tmp_path: Path) -> None:
    answer = explained(copy_sample("files-stopped-cleanly", tmp_path), text_of("wrong_base_path"))
    assert re.search(r"Source 0 has read \d+ files from /", told(answer))
    assert (answer.parameters["base"], answer.parameters["path"]) == (
        "/data/elsewhere",
        "file:/data/in/0004.json",
    )


# A text that says less than the checkpoint


def cut_before_the_cause(ck: Path | None = None) -> str:
    """A trace of foreachBatch that ends before its cause."""
    text = text_of("foreach_batch_state.python", ck)
    return text[: text.index("CANNOT_LOAD_STATE_STORE") - 30]


@pytest.mark.parametrize("length", [1_500, None])
def test_a_cut_trace_gets_what_fails_at_the_next_start(tmp_path: Path, length: int | None) -> None:
    ck = copy_sample("missing-delta-file", tmp_path)
    (ck / "state/0/2/4.delta").write_bytes(b"")
    answer = explained(ck, cut_before_the_cause(ck)[:length])
    assert answer.finding == "STATE_NOT_RESTORABLE"
    assert action_of("STATE_NOT_RESTORABLE") in answer.action
    assert "Correct the function" not in answer.action
    assert statement(answer, "The next start fails: ").shows_fault
    assert any(item.path == "state/0/2/4.delta" for item in answer.evidence)


def test_a_function_that_failed_is_not_excused_by_what_else_is_damaged(tmp_path: Path) -> None:
    ck = copy_sample("missing-delta-file", tmp_path)
    answer = explained(ck, text_of("foreach_batch_user", ck))
    assert answer.name == "FOREACH_BATCH_USER_FUNCTION_ERROR"
    assert answer.action.startswith("Correct the function")
    assert "From the files that are there, the next start fails with another error: " in told(answer)


def test_a_cut_trace_without_a_checkpoint_asks_for_the_rest_first() -> None:
    text = cut_before_the_cause()
    assert explain(text).action.startswith("The text ends before the cause")
    assert explain(text_of("foreach_batch_user")).action.startswith("Correct the function")


def test_a_cut_trace_of_a_healthy_checkpoint_says_nothing_of_it(tmp_path: Path) -> None:
    answer = explained(copy_sample("files-stopped-cleanly", tmp_path), "the query is slow today")
    assert (answer.name, answer.here, answer.finding) == (None, (), None)


def test_the_command_line_tells_it_too(tmp_path: Path, capsys: Capture) -> None:
    ck = copy_sample("missing-delta-file", tmp_path)
    error = tmp_path / "error.txt"
    error.write_text(cut_before_the_cause(ck)[:1_500])
    status, out, _ = run(capsys, str(ck), "--error", str(error))
    assert status == 1
    assert "state/0/2/4.delta" in out
    assert action_of("STATE_NOT_RESTORABLE") in out


def test_only_ways_that_this_checkpoint_allows_are_listed(tmp_path: Path, capsys: Capture) -> None:
    ck = files_checkpoint(tmp_path / "ck")
    remove(ck, "sources/0/4")
    error = tmp_path / "error.txt"
    error.write_text("java.lang.IllegalStateException: batch 4 doesn't exist")
    general = explain(error.read_text(), Checkpoint.open(str(ck)))
    assert {"repair", "reset"} & set(general.options)
    _, out, _ = run(capsys, str(ck), "--error", str(error))
    assert "\n  rewind: Rewind to an earlier batch\n" in out and "\n  repair: " not in out
    assert "Repair the named files of the checkpoint: not possible here. " in out
    _, out, _ = run(capsys, str(ck), "--error", str(error), "--json")
    document = json.loads(out)
    assert document["recipe"] == "rewind" and set(document["not_possible"]) >= {"repair", "reset"}
    assert not set(document["not_possible"]) & set(document["options"])


def test_the_ways_of_an_error_of_another_query_are_left_as_they_are(tmp_path: Path) -> None:
    ck = files_checkpoint(tmp_path / "ck")
    answer = explain(text_of("delta_missing"), Checkpoint.open(str(ck)))
    assert answer.other_checkpoint and judge(Checkpoint.open(str(ck))).ways(answer) == answer


def test_a_bare_missing_state_file_is_looked_up(tmp_path: Path) -> None:
    ck = copy_sample("missing-delta-file", tmp_path)
    text = f"java.io.FileNotFoundException: No such file or directory: {ck}/state/0/2/4.delta"
    answer = explained(ck, text)
    assert (answer.name, answer.shown) == ("STATE_FILE_MISSING", "yes")
    assert "state/0/2/4.delta is not there." in told(answer)


def test_another_query_on_the_checkpoint_is_a_cause_of_a_wrong_base_path() -> None:
    answer = explain("Wrong basePath file:/inB for the root path: file:/inA/f2.json")
    assert answer.reasons[1].startswith("Another query")
    assert answer.action.startswith("Make sure that it is this query's checkpoint")


# Robustness


def test_a_listing_that_fails_is_told_and_not_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = Door.list

    def refuse(self: Door, prefixes: Iterable[str], *given: Any, **options: Any) -> dict[str, Listing]:
        if "state" in prefixes:
            raise StorageError("state/ cannot be listed: permission denied.")
        return listed(self, prefixes, *given, **options)

    ck = copy_sample("missing-delta-file", tmp_path)
    monkeypatch.setattr(Door, "list", refuse)
    answer = explained(ck, text_of("delta_missing", ck))
    assert answer.name == "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
    assert "state (state/ cannot be listed: permission denied.)" in answer.not_checked
    assert "state/0/1/3.delta is there" in told(answer)


SOME = [
    "async_to_sync",
    "changelog_missing",
    "commit_ahead",
    "delta_flip.java",
    "delta_log_cleaned",
    "delta_missing",
    "foreach_batch_user",
    "offset_cut",
    "offset_v9",
    "operator_removed",
    "source_count",
    "stale_crc",
    "tws_metadata_missing",
    "wrong_base_path",
]


@pytest.mark.parametrize("sample", sample_names())
def test_every_sample_answers_to_every_kind_of_error_and_is_only_read(sample: str) -> None:
    with no_writes(SAMPLES):
        ck = Checkpoint.open(str(SAMPLES / sample / "checkpoint"))
        for name in SOME:
            answer = explain(text_of(name), ck)
            to_text(explain_document(ck, answer))
            assert answer.sentence
            assert answer.other_checkpoint
            assert all(
                item.sentence.endswith(".") and item.sentence.count("..") == 0 for item in answer.here
            ), told(answer)


def test_an_error_text_cannot_reach_outside_the_checkpoint(tmp_path: Path) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(3))
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "1.delta").write_bytes(b"x" * 77)
    text = f"File file:{ck}/state/../../secret/1.delta does not exist"
    answer = explained(ck, text)
    assert "77" not in told(answer)


# The command line


def run(capsys: Capture, *argv: str) -> tuple[int, str, str]:
    status = main(["explain", *argv])
    out, err = capsys.readouterr()
    return status, out, err


def document(capsys: Capture, *argv: str) -> dict[str, Any]:
    status, out, err = run(capsys, *argv, "--json")
    assert (status, err) == (0, "")
    return dict(json.loads(out))


def test_explain_answers_with_every_field(tmp_path: Path, capsys: Capture) -> None:
    ck = copy_sample("missing-delta-file", tmp_path)
    error = tmp_path / "error.txt"
    error.write_text(changed(text_of("delta_missing", ck), ("state/0/1/3.delta", "state/0/2/4.delta")))
    answer = document(capsys, str(ck), "--error", str(error))
    assert answer["recognised"] is True
    assert answer["condition"] == "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
    assert answer["shown"] == "yes"
    assert answer["location"] == str(ck)
    assert {item["name"] for item in answer["others"]} == {"STREAM_FAILED"}
    assert set(answer) >= {
        "schema_version",
        "class",
        "sqlstate",
        "parameters",
        "line",
        "means",
        "here",
        "reasons",
        "action",
        "options",
        "evidence",
    }


def test_explain_reads_standard_input(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(3))
    stdin = io.TextIOWrapper(io.BytesIO(b"java.lang.IllegalStateException: batch 1 doesn't exist"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert document(capsys, str(ck), "--error", "-")["name"] == "BATCH_DOES_NOT_EXIST"


def test_explain_prints_the_answer_for_a_person(tmp_path: Path, capsys: Capture) -> None:
    ck = copy_sample("missing-delta-file", tmp_path)
    error = tmp_path / "error.txt"
    error.write_text(changed(text_of("delta_missing", ck), ("state/0/1/3.delta", "state/0/2/4.delta")))
    status, out, err = run(capsys, str(ck), "--error", str(error))
    assert (status, err) == (0, "")
    assert out.startswith(
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS (SQLSTATE 58030, line 1; certain)\n"
    )
    assert "In this checkpoint (the files show it)" in out
    assert "  rewind: Rewind to an earlier batch" in out


def test_a_text_without_an_error_has_exit_status_1(tmp_path: Path, capsys: Capture) -> None:
    error = tmp_path / "error.txt"
    error.write_text("nothing of note")
    status, out, _ = run(capsys, str(kafka_checkpoint(tmp_path / "ck", range(3))), "--error", str(error))
    assert status == 1
    assert out.startswith(say("errors_lookup.nothing"))


@pytest.mark.parametrize(
    ("name", "words"),
    [("missing.txt", "cannot be read (No such file or directory)"), ("empty.txt", "is empty")],
)
def test_a_file_that_gives_no_text_is_wrong_usage(
    tmp_path: Path, capsys: Capture, name: str, words: str
) -> None:
    (tmp_path / "empty.txt").write_text(" \n")
    status, out, err = run(
        capsys, str(kafka_checkpoint(tmp_path / "ck", range(3))), "--error", str(tmp_path / name)
    )
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_a_very_large_file_is_read_at_both_ends(tmp_path: Path, capsys: Capture) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(3))
    error = tmp_path / "driver.log"
    error.write_text("INFO fine\n" * 600_000 + "java.lang.IllegalStateException: batch 1 doesn't exist\n")
    answer = document(capsys, str(ck), "--error", str(error))
    assert (answer["name"], answer["is_cut"]) == ("BATCH_DOES_NOT_EXIST", True)


def test_control_characters_of_an_error_do_not_reach_the_terminal(tmp_path: Path, capsys: Capture) -> None:
    ck = kafka_checkpoint(tmp_path / "ck", range(3))
    error = tmp_path / "error.txt"
    error.write_text(
        "[PATH_NOT_FOUND] Path does not exist: /x\x1b]0;owned\x07\x9b31m. SQLSTATE: 42K03\n\x1b[2Jbatch 1"
        " doesn't exist"
    )
    _, out, _ = run(capsys, str(ck), "--error", str(error))
    assert all(char.isprintable() or char == "\n" for char in out)
