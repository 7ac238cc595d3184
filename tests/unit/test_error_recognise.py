"""Which error a pasted text holds.

The texts in ``error_texts/`` are real: what Spark 4.3 said on damaged checkpoints, and Delta 4.4 on Spark 4.2
(paths made neutral).
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.analysis.errors.catalogue import Catalogue, spark_catalogue
from core.analysis.errors.known_texts import PLAIN
from core.analysis.errors.model import Recognised
from core.analysis.errors.pasted_text import LONGEST_TEXT, read_pasted
from core.analysis.errors.recognise import recognise, unknown_cause
from core.analysis.errors.template import parse_template

TEXTS = Path(__file__).with_name("error_texts")
STATE = "CANNOT_LOAD_STATE_STORE"

# Fixture -> the telling error. Names with ".java" and ".python" are whole stack traces, the others what
# str(exception) gives in Python.
EXPECTED = {
    "already_active": "QUERY_ALREADY_ACTIVE",
    "ansi_divide": "DIVIDE_BY_ZERO",
    "append_without_watermark": "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION",
    "async_to_sync": "BATCH_DOES_NOT_EXIST",
    "changelog_cut": f"{STATE}.UNCATEGORIZED",
    "changelog_missing": f"{STATE}.CANNOT_READ_STREAMING_STATE_FILE",
    "commit_ahead": "CONCURRENT_STREAM_LOG_UPDATE",
    "commit_empty": "LOG_FILE_INCOMPLETE",
    "commit_v9": "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION",
    "commits_is_file": "STREAM_FAILED",
    "continuous_as_micro_batches": "LOG_FILE_NO_METADATA",
    "continuous_unknown_trigger": "CONTINUOUS_NOT_SUPPORTED",
    "delta_cut": f"{STATE}.UNCATEGORIZED",
    "delta_empty": f"{STATE}.UNCATEGORIZED",
    "delta_empty.java": f"{STATE}.UNCATEGORIZED",
    "delta_flip": f"{STATE}.UNCATEGORIZED",
    "delta_flip.java": f"{STATE}.UNCATEGORIZED",
    "delta_missing": f"{STATE}.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
    "delta_missing.python": f"{STATE}.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
    "delta_log_cleaned": "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
    "delta_other_table": "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
    "delta_sink_schema": "DELTA_METADATA_MISMATCH",
    "delta_update": "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
    "delta_version_not_found": "DELTA_VERSION_NOT_FOUND",
    "evolution_on_v1": "STREAMING_QUERY_EVOLUTION_ERROR.CANNOT_ENABLE_ON_EXISTING_CHECKPOINT",
    "foreach_batch_state.python": f"{STATE}.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
    "foreach_batch_user": "FOREACH_BATCH_USER_FUNCTION_ERROR",
    "foreach_batch_user.java": "FOREACH_BATCH_USER_FUNCTION_ERROR",
    "foreach_batch_user.python": "FOREACH_BATCH_USER_FUNCTION_ERROR",
    "join_inconsistent": "STREAM_STREAM_JOIN_INCONSISTENT_STATE.NULL_VALUE",
    "kafka_unreachable": "KAFKA_UNREACHABLE",
    "kafka_unreachable.python": "KAFKA_UNREACHABLE",
    "key_schema": "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
    "late_rows_between_operators": "LATE_ROWS_BETWEEN_OPERATORS",
    "log_name": "FILE_DOES_NOT_EXIST",
    "metadata_bad_id": "METADATA_BAD_ID",
    "metadata_missing": "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
    "metadata_not_json.python": "METADATA_NOT_JSON",
    "micro_batches_as_continuous": "CONTINUOUS_ON_MICRO_BATCHES",
    "no_offsets": "ASSERTION_FAILED",
    "no_offsets.java": "ASSERTION_FAILED",
    "offset_bad_source_line": "LOG_FILE_NOT_JSON",
    "offset_cut": "LOG_FILE_NOT_JSON",
    "offset_cut.java": "LOG_FILE_NOT_JSON",
    "offset_empty": "LOG_FILE_INCOMPLETE",
    "offset_no_metadata": "LOG_FILE_NO_METADATA",
    "offset_no_version": "MALFORMED_LOG_FILE",
    "offset_only_version": "LOG_FILE_ONLY_VERSION",
    "offset_v9": "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION",
    "operator_added": "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
    "operator_changed": "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
    "operator_removed": "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
    "operator_removed.java": "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
    "path_not_found": "PATH_NOT_FOUND",
    "previous_missing_committed": "BATCH_DOES_NOT_EXIST",
    "previous_missing_pending": "PREVIOUS_BATCH_NOT_FOUND",
    "python_udf": "PYTHON_EXCEPTION",
    "python_udf.python": "PYTHON_EXCEPTION",
    "reader_batch": "STDS_COMMITTED_BATCH_UNAVAILABLE",
    "reader_stateless": "STDS_FAILED_TO_READ_STATE_SCHEMA",
    "repartition_hdfs": "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_PROVIDER",
    "rocks_zip_bad_norepair": f"{STATE}.UNCATEGORIZED",
    "row_format": f"{STATE}.KEY_ROW_FORMAT_VALIDATION_FAILURE",
    "row_format.python": f"{STATE}.KEY_ROW_FORMAT_VALIDATION_FAILURE",
    "schema_cut": "STREAM_FAILED",
    "schema_cut.java": "STATE_SCHEMA_UNREADABLE",
    "source_count": "SOURCE_COUNT_DIFFERS",
    "source_log_end": "BATCH_DOES_NOT_EXIST",
    "source_log_end2": "BATCHES_DO_NOT_EXIST",
    "source_log_gap": "SOURCE_LOG_ENTRY_MISSING",
    "source_type_changed": "SOURCE_OF_ANOTHER_KIND",
    "spark_metadata_missing": "SINK_LOG_ENTRY_MISSING",
    "sst_cut": f"{STATE}.UNEXPECTED_FILE_SIZE",
    "stale_crc": "MULTIPLE_QUERIES_USE_CHECKPOINT",
    "stale_crc.java": "MULTIPLE_QUERIES_USE_CHECKPOINT",
    "stack_overflow": "STACK_OVERFLOW",
    "state_dir_missing": "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
    "state_not_empty": "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
    "tws_became_map": "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
    "tws_metadata_missing": "STDS_FAILED_TO_READ_OPERATOR_METADATA",
    "tws_output_mode": "STATE_STORE_INVALID_CONFIG_AFTER_RESTART",
    "tws_ttl_added": "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
    "tws_ttl_removed": "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
    "unfinished_repartition": "STREAMING_UNFINISHED_REPARTITION_DETECTED",
    "v2_changelog_missing": f"{STATE}.CANNOT_READ_STREAMING_STATE_FILE",
    "v2_checksum": f"{STATE}.UNCATEGORIZED",
    "v2_commit_as_v1": f"{STATE}.CANNOT_READ_STREAMING_STATE_FILE",
    "value_schema": "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
    "wrong_base_path": "INPUT_PATH_MOVED",
    "zip_cut": f"{STATE}.UNCATEGORIZED",
    "zip_cut.java": f"{STATE}.UNCATEGORIZED",
    "zip_missing": f"{STATE}.CANNOT_READ_STREAMING_STATE_FILE",
}

# What 3.x wrote, Kafka's connector (planning errors come plain) and other texts that no fixture of Spark 4.3
# has.
WORDINGS = {
    "Error reading delta file file:/ck/state/0/2/4.delta of HDFSStateStoreProvider[id = (op=0,part=2),dir = file:/ck/state/0/2]: file:/ck/state/0/2/4.delta does not exist": (
        f"{STATE}.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
    ),
    "java.lang.IllegalStateException: Error reading streaming state file of file:/ck/state/0/2/6.changelog does not exist. If the stream job is restarted with a new or updated state operation, please create a new checkpoint location or clear the existing checkpoint location.": (
        f"{STATE}.CANNOT_READ_STREAMING_STATE_FILE"
    ),
    "UnsupportedLogVersion: maximum supported log version is v1, but encountered v9. The log file was produced by a newer version of Spark and cannot be read by this version. Please upgrade.": (
        "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION"
    ),
    "Continuous processing does not support StreamingRelation operations.;": "CONTINUOUS_NOT_SUPPORTED",
    "'foreachBatch' is not supported with continuous trigger.": "CONTINUOUS_NOT_SUPPORTED",
    "org.json4s.MappingException: Expected object but got JInt(3)": "CONTINUOUS_ON_MICRO_BATCHES",
    "Log file was malformed: failed to read correct log version from foo.": "MALFORMED_LOG_FILE",
    "org.apache.spark.sql.execution.streaming.state.StateSchemaNotCompatible: Provided schema doesn't match to the schema for existing state! Please note that Spark allow difference of field name": (
        "STATE_SCHEMA_NOT_COMPATIBLE"
    ),
    "The streaming query failed by state format invalidation. The following reasons may cause this": (
        "STATE_ROW_FORMAT_INVALID"
    ),
    "Concurrent update to the commit log. Multiple streaming jobs detected for 4": (
        "CONCURRENT_STREAM_LOG_UPDATE"
    ),
    "org.apache.spark.sql.AnalysisException: Path does not exist: file:/data/in": "PATH_NOT_FOUND",
    "org.rocksdb.RocksDBException: unknown checksum type 4 from footer of /tmp/x/000012.sst, while reading": (
        "ROCKSDB_FILE_TOO_NEW"
    ),
    "Cannot restart streaming query with stateful operators because the state directory is empty or missing.": (
        "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
    ),
    "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host this topic-partition.": (
        "KAFKA_TOPIC_GONE"
    ),
    "TimeoutException: Timeout of 60000ms expired before the position for partition t-1 could be determined": (
        "KAFKA_POSITION_TIMEOUT"
    ),
    'Expected e.g. {"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}, got {x': "KAFKA_START_OFFSETS_JSON",
    "[CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT] Cannot run the pipelined stage group: it needs 3 concurrent task"
    " slots to run all its stages together, but only 2 are currently"
    " free.": "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT",
    "Sink ForeachBatchSink does not support async progress tracking": "ASYNC_PROGRESS_NOT_SUPPORTED",
    "Cannot load current offset at snapshot 8241, the snapshot was expired or removed": (
        "ICEBERG_SNAPSHOT_EXPIRED"
    ),
    "requirement failed: The Delta source metadata path used for execution 'file:/moved/sources/0' is different from the one persisted": (
        "DELTA_METADATA_PATH_MOVED"
    ),
    "com.databricks.sql.io.DeltaIllegalStateException: [DELTA_STREAMING_TRAILING_COMMIT_MISSING] Delta stream detected commits up to version 5 but files after version 4 are missing from the transaction log. SQLSTATE: 42K03": (
        "DELTA_STREAMING_TRAILING_COMMIT_MISSING"
    ),
    "java.nio.file.AccessDeniedException: s3a://bucket/ck/offsets: getFileStatus: S3Exception: null (Service: S3, Status Code: 403)": (
        "STORAGE_ACCESS_DENIED"
    ),
    "java.io.IOException: No space left on device": "STORAGE_FULL",
    "java.io.IOException: mkdir of file:/proc/x/_spark_metadata failed": "STORAGE_NO_DIRECTORY",
    "java.io.IOException: Mkdirs failed to create file:/data/ck (exists=false)": "STORAGE_NO_DIRECTORY",
    "Job aborted due to stage failure: ExecutorLostFailure (executor 3 exited)": "EXECUTOR_LOST",
}

KAFKA_IN_A_PYTHON_TRACEBACK = """\
pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query [id = 730aa211-41ff-4ee3-b1b9-9e62ed047c5f, runId = \
9e1b7a0c-0c3a-4f56-9d7e-0e6f0a1b2c3d] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user \
provided function in foreach batch sink. Reason: An exception was raised by the Python Proxy. Return Message: \
Traceback (most recent call last):
  File "/app/job.py", line 12, in write
    df.write.mode("append").parquet(out)
py4j.protocol.Py4JJavaError: An error occurred while calling o84.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 4.0 failed 1 times, most recent failure: Lost task 0.0
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2856)
Caused by: org.apache.spark.sql.kafka010.KafkaIllegalStateException:
Some data may have been lost because they are not available in Kafka any more; either the data was aged out
by Kafka or the topic may have been deleted before all the data in the topic was processed.
If you don't want your streaming query to fail on such cases, set the source option failOnDataLoss to false.
Reason: Could not read records in offset [10, 20) for topic partition orders-0
with consumer group spark-kafka-source-5cf0c5d1--42-executor.
\tat org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer.get(KafkaDataConsumer.scala:345)
Caused by: org.apache.kafka.clients.consumer.OffsetOutOfRangeException: Fetch position FetchPosition{offset=10} is out of range for \
partition orders-0
 SQLSTATE: 39000 SQLSTATE: XXKST
"""


PLACES = (
    "/ck/state/0/1/3.delta",
    "/ck/offsets/8",
    "/table/_delta_log/00000000000000000001.json",
    "spark.sql.shuffle.partitions",
)


def text_of(name: str) -> str:
    return (TEXTS / f"{name}.txt").read_text(encoding="utf-8")


def found(text: str) -> tuple[Recognised, ...]:
    return recognise(read_pasted(text))


def telling(text: str) -> Recognised:
    return found(text)[0]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_real_error_of_spark_is_recognised(name: str) -> None:
    assert telling(text_of(name)).name == EXPECTED[name]


def test_every_recorded_error_has_an_expectation() -> None:
    assert {path.stem for path in TEXTS.glob("*.txt")} == set(EXPECTED)


@pytest.mark.parametrize("text", sorted(WORDINGS))
def test_other_wordings_are_recognised(text: str) -> None:
    assert telling(text).name == WORDINGS[text]


@pytest.mark.parametrize("known", [known for known in PLAIN if known.texts], ids=lambda known: known.name)
def test_every_text_of_the_table_is_found_in_a_log_line(known: object) -> None:
    for words in known.texts:  # type: ignore[attr-defined]
        line = f"26/11/21 ERROR MicroBatchExecution: java.lang.Exception: {words} StateStore StreamMetadata"
        filled = line
        about = known.about  # type: ignore[attr-defined]
        place = next((path for path in PLACES if about is not None and about.search(path)), "7")
        for hole in parse_template(words).holes:
            filled = filled.replace(f"<{hole}>", place if hole in ("path", "file", "key") else "7", 1)
        if about is not None:
            filled += f" {place}"
        assert known.name in {item.name for item in found(filled)}, words  # type: ignore[attr-defined]


def test_the_cause_wins_over_its_wrappers_which_are_listed() -> None:
    names = [item.name for item in found(text_of("foreach_batch_state.python"))]
    assert names[0] == f"{STATE}.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
    assert names[-2:] == ["FOREACH_BATCH_USER_FUNCTION_ERROR", "STREAM_FAILED"]


def test_kafka_data_loss_is_found_deep_in_a_python_traceback() -> None:
    items = found(KAFKA_IN_A_PYTHON_TRACEBACK)
    assert items[0].name == "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"
    assert items[0].sqlstate == "22000"
    assert dict(items[0].parameters) == {"startOffset": "10", "endOffset": "20", "topicPartition": "orders-0"}
    assert items[0].error_class == "KafkaIllegalStateException"
    assert [item.name for item in items[1:]] == [
        "KAFKA_POSITION_OUT_OF_RANGE",
        "FOREACH_BATCH_USER_FUNCTION_ERROR",
        "STREAM_FAILED",
        "JOB_ABORTED",
    ]


def test_parameters_come_out_of_the_message() -> None:
    item = telling(text_of("delta_missing"))
    assert item.parameters["fileToRead"] == "file:/data/checkpoints/orders/state/0/1/3.delta"
    assert item.parameters["clazz"].startswith("HDFSStateStoreProvider[")
    assert dict(telling(text_of("source_count")).parameters) == {"in_log": "2", "in_query": "1"}
    assert dict(telling(text_of("commit_v9")).parameters) == {"maxSupportedVersion": "3", "version": "9"}
    operators = telling(text_of("operator_removed")).parameters
    assert operators["OpsInMetadataSeq"] == "(OperatorId: 0 -> OperatorName: stateStoreSave)"
    assert operators["OpsInCurBatchSeq"] == ""


def test_a_condition_carries_its_sqlstate_and_the_class_that_threw_it() -> None:
    item = telling(text_of("operator_removed.java"))
    assert (item.condition, item.sqlstate) == (item.name, "42K03")
    assert item.error_class == "StatefulOperatorNotMatch" or item.error_class is not None
    assert telling(text_of("stale_crc.java")).error_class == "SparkConcurrentModificationException"
    assert telling(text_of("stale_crc.java")).condition is None


def test_the_line_of_the_error_in_the_pasted_text_is_told() -> None:
    assert (
        telling("some log line\n\nanother\n[PATH_NOT_FOUND] Path does not exist: /x. SQLSTATE: 42K03").line
        == 4
    )


def test_the_innermost_unknown_exception_is_what_a_wrapper_wraps() -> None:
    text = read_pasted(text_of("foreach_batch_user"))
    cause = unknown_cause(text, recognise(text))
    assert cause is not None
    assert (cause.error_class, cause.message) == ("ValueError", "ValueError: batch 5: sink table is locked")


def test_a_condition_of_a_vendor_is_recognised_by_its_form() -> None:
    item = telling(
        "com.databricks.sql.cloudfiles.errors.CloudFilesException: [CF_SOMETHING_NEW] Found a new thing."
        " SQLSTATE: KD999"
    )
    assert (item.name, item.condition, item.sqlstate) == ("CF_SOMETHING_NEW", "CF_SOMETHING_NEW", "KD999")


@pytest.mark.parametrize(
    "text", ["[INFO] all is well", "[MY_TABLE] 12 rows", "index [FOO_BAR] of x", "", "   \n", "hello world"]
)
def test_words_in_brackets_are_no_condition_by_themselves(text: str) -> None:
    assert found(text) == ()


def test_a_line_of_a_json_log_with_escaped_breaks_is_read() -> None:
    text = text_of("delta_empty.java").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    names = [item.name for item in found(f'{{"level":"ERROR","exception":"{text}"}}')]
    assert names[:2] == [f"{STATE}.UNCATEGORIZED", "STATE_FILE_DAMAGED"]


def test_colours_of_a_terminal_and_windows_line_ends_do_not_hide_an_error() -> None:
    text = text_of("delta_missing").replace("\n", "\r\n").replace("[CANNOT", "\x1b[31m[CANNOT")
    assert telling(text).name == f"{STATE}.CANNOT_READ_DELTA_FILE_NOT_EXISTS"


@pytest.mark.parametrize(
    "aftermath",
    [
        "org.apache.spark.SparkException: [CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT] Error writing state store"
        " files for provider RocksDBStateStore. Cannot perform commit during state checkpoint. SQLSTATE: 58030\n"
        "\tat a.B.c(B.scala:1)\nCaused by: java.io.InterruptedIOException: java.lang.InterruptedException\n",
        "org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/out."
        " SQLSTATE: 58030\n\tat a.B.c(B.scala:1)\nCaused by: org.apache.spark.executor.CommitDeniedException:"
        " attempt_1: Not committed because the driver did not authorize commit\n",
    ],
)
def test_what_was_interrupted_because_another_task_failed_is_not_the_error(aftermath: str) -> None:
    """In a log it stands behind the cause, with more "Caused by" before it."""
    first = (
        "26/11/28 13:18:54 ERROR Executor: Exception in task 0.0 in stage 164.0 (TID 266)\n"
        "org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during"
        " loading state.  SQLSTATE: 58030\n\tat a.B.c(B.scala:1)\nCaused by: java.io.EOFException\n"
        "\tat a.B.c(B.scala:1)\n26/11/28 13:18:55 ERROR Utils: Aborting task\n"
    )
    assert recognise(read_pasted(first + aftermath))[0].name == f"{STATE}.UNCATEGORIZED"
    assert recognise(read_pasted(aftermath))[0].name != f"{STATE}.UNCATEGORIZED", "alone it is the error"


def test_a_message_that_was_wrapped_by_the_terminal_is_read() -> None:
    words = text_of("previous_missing_pending").split()
    assert telling("\n   ".join(words)).name == "PREVIOUS_BATCH_NOT_FOUND"


def test_errors_at_both_ends_of_a_text_over_the_limit_are_found() -> None:
    middle = "INFO nothing happened here\n" * (LONGEST_TEXT // 20)
    text = read_pasted(f"batch 7 doesn't exist\n{middle}\n{text_of('delta_missing')}")
    assert text.is_cut
    items = {item.name: item for item in recognise(text)}
    assert items["BATCH_DOES_NOT_EXIST"].line == 1
    assert items[f"{STATE}.CANNOT_READ_DELTA_FILE_NOT_EXISTS"].line == 3 + LONGEST_TEXT // 20


def test_without_the_catalogue_the_own_table_still_recognises(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        recognise(read_pasted(text_of("source_log_end")), Catalogue({}, None))[0].name
        == "BATCH_DOES_NOT_EXIST"
    )


# Hostile text


@cache
def garbage() -> dict[str, str]:
    """A megabyte each, made to keep a careless pattern busy."""
    rng = random.Random(1)
    size = 1_000_000
    pieces = [
        "a.b.C:",
        "[STREAM_FAILED]",
        "Caused by:",
        "/x/state/0/1/2.delta",
        "SQLSTATE: 42K03",
        "{",
        "}",
        "(A.java:1)",
        "at a.b.C(",
        "x.YException:",
    ]
    conditions = [f"[{condition.id}] {condition.message}" for condition in spark_catalogue().of_streaming]
    return {
        "one_word": "a" * size,
        "dots": "a." * (size // 2),
        "packages": "aB.C" * (size // 4),
        "slashes": "/" * size,
        "schemes": "a:/" * (size // 3),
        "open_tags": "[A" * (size // 2),
        "unknown_tags": "[AAAA_BBBB] " * (size // 12),
        "braces": "Current Available Offsets: {" * (size // 28),
        "anchors": " doesn't exist" * (size // 14),
        "half_matches": "Copied x to " * (size // 12),
        "escapes": "\x1b[3" * (size // 3),
        "escaped_breaks": "\\n\\tat " * (size // 7),
        "random": "".join(chr(rng.randrange(32, 127)) for _ in range(size)),
        "random_pieces": " ".join(rng.choice(pieces) for _ in range(size // 10)),
        "whole_catalogue": " ".join(conditions) * 20,
        "nothing_printable": "\0\u202e" * (size // 2),
    }


@pytest.mark.parametrize("kind", sorted(garbage()))
def test_a_megabyte_of_garbage_gives_an_answer(kind: str) -> None:
    text = read_pasted(garbage()[kind])
    items = recognise(text)
    assert len(items) <= 40
    assert all(len(item.message) <= 1_000 for item in items)
    assert len(text.paths) <= 60
    assert len(list(text.offsets("Available"))) < 1_000


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(
            [
                *sorted(WORDINGS),
                "Caused by: ",
                "\n\tat a.b.C.d(E.java:1)\n",
                "[",
                "]",
                "SQLSTATE: ",
                "<",
                "{0}",
            ]
        )
        | st.text(),
        max_size=8,
    )
)
def test_any_text_gives_an_answer_and_never_raises(parts: list[str]) -> None:
    text = read_pasted("".join(parts))
    for item in recognise(text):
        assert item.name
        assert 1 <= item.line <= "".join(parts).count("\n") + 1 + sum(part.count("\\n") for part in parts)
    unknown_cause(text, ())
