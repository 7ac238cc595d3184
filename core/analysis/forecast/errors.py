"""How each failure reads in each Spark version: condition, class, SQLSTATE and the first line of the message.

All texts were observed (Spark 3.3.4, 3.4.4, 3.5.9, 4.0.5, 4.1.4, 4.2.1, 4.3.0). A failure without a condition
is a plain Java error: the user sees STREAM_FAILED with that text. ``{name}`` marks what the caller fills in.
``ERRORS[key]`` is ascending by version; the last entry whose version is not newer than the asked one holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from core.analysis.forecast.error_form import OLD_MAX_VERSION, VERSION_TOO_HIGH, ErrorForm
from core.analysis.forecast.model import SparkError
from core.analysis.forecast.state_errors import STATE_ERRORS
from core.analysis.forecast.versions import V33, V34, V35, V40, V41, V42, Version

_NO_VERSION = "Log file was malformed: failed to read correct log version from {text}."
_CONF_VALUE = "The value '{value}' in the config \"{key}\" is invalid."
_KAFKA = "KafkaIllegalStateException"
_NOT_EMPTY = "StateStoreCheckpointLocationNotEmpty"
_LOCATION = "The checkpoint location {directory} should be empty on batch 0"
_SOURCES = (
    "There are [{in_log}] sources in the checkpoint offsets and now there are [{in_query}] sources requested"
    " by the query. Cannot continue."
)
# two blanks, as Spark has them
_BATCHES_GONE = "batches ({ids}) don't  exist (startId: Some({start}), endId: Some({end}))"
_NO_TRACKER = (
    'Cannot invoke "org.apache.spark.sql.execution.streaming.{package}WatermarkTracker.currentWatermark()"'
    " because the return value of"
    ' "org.apache.spark.sql.execution.streaming.{package}MicroBatchExecution.watermarkTracker()" is null'
)
_NO_TRACKER_AT_END = (
    'Cannot invoke "org.apache.spark.sql.execution.streaming.{package}WatermarkTracker.updateWatermark('
)
_NO_METADATA = (
    'Cannot invoke "org.apache.spark.sql.execution.streaming.{package}StreamMetadata.id()" because the return'
    ' value of "org.apache.spark.sql.execution.streaming.{package}StreamExecution.streamMetadata()" is null'
)

ERRORS: dict[str, tuple[ErrorForm, ...]] = {
    **STATE_ERRORS,
    "metadata_missing": (
        ErrorForm(
            V42,
            "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
            "SparkRuntimeException",
            "Checkpoint location {location} is in an inconsistent state: the metadata file is missing but"
            " offset and/or commit logs contain data.",
            "42K03",
        ),
    ),
    "metadata_empty": (
        ErrorForm(V33, None, "MismatchedInputException", "No content to map due to end-of-input"),
    ),
    "metadata_without_id": (ErrorForm(V33, None, "MappingException", "No usable value for id"),),
    "metadata_bad_id": (ErrorForm(V33, None, "IllegalArgumentException", "Invalid UUID string: {id}"),),
    "metadata_long_id": (ErrorForm(V33, None, "IllegalArgumentException", "UUID string too large"),),
    "metadata_id_no_number": (
        ErrorForm(V33, None, "NumberFormatException", 'Error at index {at} in: "{group}"'),
    ),
    "metadata_null": (
        ErrorForm(V33, None, "NullPointerException", _NO_METADATA.format(package="")),
        ErrorForm(V41, None, "NullPointerException", _NO_METADATA.format(package="runtime.")),
    ),
    "metadata_null_id": (
        ErrorForm(
            V33, None, "NullPointerException", 'Cannot invoke "String.length()" because "name" is null'
        ),
    ),
    "location_not_empty": (
        ErrorForm(V41, "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY", _NOT_EMPTY, _LOCATION, "42K03"),
    ),
    "no_offsets_but_commits": (
        ErrorForm(
            V33,
            "INTERNAL_ERROR",
            "SparkException",
            "Concurrent update to the commit log. Multiple streaming jobs detected for 0",
            "XX000",
        ),
        ErrorForm(
            V34,
            None,
            "AssertionError",
            "Concurrent update to the commit log. Multiple streaming jobs detected for 0",
        ),
        ErrorForm(
            V35,
            "CONCURRENT_STREAM_LOG_UPDATE",
            "SparkException",
            "Concurrent update to the log. Multiple streaming jobs detected for 0.",
            "40000",
        ),
        ErrorForm(V41, "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY", _NOT_EMPTY, _LOCATION, "42K03"),
        ErrorForm(V42, None, "AssertionError", "assertion failed"),
    ),
    "log_name": (ErrorForm(V33, None, "FileNotFoundException", "File {location}/{log}/{id} does not exist"),),
    "offset_empty": (ErrorForm(V33, None, "IllegalStateException", "Incomplete log file"),),
    "commit_empty": (
        ErrorForm(V33, None, "IllegalStateException", "Incomplete log file in the offset commit log"),
    ),
    "json_cut": (ErrorForm(V33, None, "JsonEOFException", "Unexpected end-of-input"),),
    "json_bad": (ErrorForm(V33, None, "JsonParseException", "Un"),),
    "json_control": (ErrorForm(V33, None, "JsonParseException", "Illegal "),),
    "log_not_text": (ErrorForm(V33, None, "MalformedInputException", "Input length = "),),
    "uri_illegal": (
        ErrorForm(V33, None, "URISyntaxException", "Illegal character in path at index {index}: {path}"),
    ),
    "uri_escape": (
        ErrorForm(V33, None, "URISyntaxException", "Malformed escape pair at index {index}: {path}"),
    ),
    "wrong_base_path": (ErrorForm(V33, None, "IllegalArgumentException", "Wrong basePath "),),
    "unknown_scheme": (
        ErrorForm(V33, None, "UnsupportedFileSystemException", 'No FileSystem for scheme "{scheme}"'),
    ),
    # Two failures of which one or the other comes first: nothing of them is the same.
    "any": (ErrorForm(V33, None, None, ""),),
    "offset_only_version": (ErrorForm(V33, None, "NoSuchElementException", "next on empty iterator"),),
    "offset_no_metadata": (
        ErrorForm(V33, None, "NullPointerException", _NO_TRACKER.format(package="")),
        ErrorForm(V41, None, "NullPointerException", _NO_TRACKER.format(package="runtime.")),
    ),
    "offset_no_metadata_pending": (
        ErrorForm(V33, None, "NullPointerException", _NO_TRACKER_AT_END.format(package="")),
        ErrorForm(V41, None, "NullPointerException", _NO_TRACKER_AT_END.format(package="runtime.")),
    ),
    "offset_no_metadata_compared": (
        ErrorForm(
            V42, None, "IllegalArgumentException", "requirement failed: Batch {batch} metadata not found"
        ),
    ),
    "previous_no_metadata": (
        ErrorForm(
            V42,
            None,
            "IllegalArgumentException",
            "requirement failed: Previous batch {batch} metadata not found",
        ),
    ),
    "offset_version": (ErrorForm(V33, None, "IllegalStateException", OLD_MAX_VERSION), VERSION_TOO_HIGH),
    "commit_version": (
        ErrorForm(V33, None, "IllegalStateException", OLD_MAX_VERSION),
        ErrorForm(
            V40,
            "INVALID_LOG_VERSION.EXACT_MATCH_VERSION",
            "SparkIllegalStateException",
            "UnsupportedLogVersion. The only supported log version is v{highest}, but encountered"
            " v{version}.",
            "KD002",
        ),
        replace(VERSION_TOO_HIGH, since=V42),
    ),
    "log_field": (ErrorForm(V33, None, "MappingException", "No usable value for "),),
    "offset_no_name": (
        ErrorForm(
            V42,
            None,
            "IllegalStateException",
            "Failed to read log file {file}. Invalid OffsetMap format: {text}",
        ),
    ),
    "log_no_version": (
        ErrorForm(
            V33,
            None,
            "IllegalStateException",
            _NO_VERSION,
        ),
        ErrorForm(
            V40,
            "MALFORMED_LOG_FILE",
            "SparkIllegalStateException",
            _NO_VERSION,
            "KD002",
        ),
    ),
    "source_log_gap_somewhere": (
        ErrorForm(V33, None, "IllegalStateException", "doesn't exist (latestId: {latest}"),
        ErrorForm(V42, None, "FileNotFoundException", "doesn't exist (latestId: {latest}"),
    ),
    "source_log_gap": (
        ErrorForm(
            V33,
            None,
            "IllegalStateException",
            "{file} doesn't exist (latestId: {latest}, compactInterval: {interval})",
        ),
        ErrorForm(
            V42,
            None,
            "FileNotFoundException",
            "{file} doesn't exist (latestId: {latest}, compactInterval: {interval})",
        ),
    ),
    "source_log_empty": (
        ErrorForm(V33, None, "IllegalStateException", "Failed to read log file {file}. Incomplete log file"),
    ),
    "source_log_version": (
        ErrorForm(V33, None, "IllegalStateException", "Failed to read log file {file}. " + OLD_MAX_VERSION),
        VERSION_TOO_HIGH,
    ),
    "source_log_no_version": (
        ErrorForm(V33, None, "IllegalStateException", "Failed to read log file {file}. " + _NO_VERSION),
        ErrorForm(V40, "MALFORMED_LOG_FILE", "SparkIllegalStateException", _NO_VERSION, "KD002"),
    ),
    "rate_no_version": (
        ErrorForm(
            V33,
            None,
            "IllegalStateException",
            "Failed to read log file {file}. Log file was malformed: failed to detect the log file version"
            " line.",
        ),
    ),
    "kafka_start_empty": (ErrorForm(V33, None, "IllegalArgumentException", "requirement failed"),),
    "rate_not_a_number": (ErrorForm(V33, None, "NumberFormatException", 'For input string: "{text}"'),),
    "rate_clock": (
        ErrorForm(V33, "INTERNAL_ERROR", "SparkException", "", "XX000"),
        ErrorForm(V40, None, "AssertionError", "assertion failed: startSeconds({start}) > endSeconds("),
    ),
    "source_log_empty_line": (
        ErrorForm(V33, None, "MismatchedInputException", "No content to map due to end-of-input"),
    ),
    "source_log_entry": (ErrorForm(V33, None, "MappingException", "No usable value for {field}"),),
    "source_log_end_missing": (ErrorForm(V33, None, "IllegalStateException", "batch {id} doesn't exist"),),
    "source_log_ends_missing": (ErrorForm(V33, None, "IllegalStateException", _BATCHES_GONE),),
    "source_offset_backwards": (
        ErrorForm(V33, "INTERNAL_ERROR", "SparkException", "assertion failed", "XX000"),
        ErrorForm(V34, None, "AssertionError", "assertion failed"),
    ),
    "kafka_line_bad": (
        ErrorForm(
            V33,
            None,
            "IllegalArgumentException",
            'Expected e.g. {{"topicA":{{"0":23,"1":-1}},"topicB":{{"0":-2}}}}, got {text}',
        ),
    ),
    "kafka_negative": (
        ErrorForm(
            V33, None, "AssertionError", "assertion failed: earliest offset {position} does not equal -2"
        ),
    ),
    "partitions_no_number": (ErrorForm(V42, None, "NumberFormatException", 'For input string: "{value}"'),),
    "conf_number": (
        ErrorForm(V33, None, "IllegalArgumentException", "{key} should be int, but was {value}"),
        ErrorForm(
            V41,
            "INVALID_CONF_VALUE.TYPE_MISMATCH",
            "SparkIllegalArgumentException",
            _CONF_VALUE + " It should be a/an 'int' value.",
            "22022",
        ),
    ),
    "conf_boolean": (
        ErrorForm(V33, None, "IllegalArgumentException", "{key} should be boolean, but was {value}"),
        ErrorForm(
            V41,
            "INVALID_CONF_VALUE.TYPE_MISMATCH",
            "SparkIllegalArgumentException",
            _CONF_VALUE + " It should be a/an 'boolean' value.",
            "22022",
        ),
    ),
    "conf_not_positive": (
        ErrorForm(V33, None, "IllegalArgumentException", "'{value}' in {key} is invalid."),
        ErrorForm(
            V41, "INVALID_CONF_VALUE.REQUIREMENT", "SparkIllegalArgumentException", _CONF_VALUE, "22022"
        ),
    ),
    "conf_policy": (
        ErrorForm(V33, None, "IllegalArgumentException", "'{value}' in {key} is invalid."),
        ErrorForm(
            V41, "INVALID_CONF_VALUE.REQUIREMENT", "SparkIllegalArgumentException", _CONF_VALUE, "22022"
        ),
    ),
    "commit_without_sink": (ErrorForm(V33, None, "MappingException", "No usable value for json"),),
    "source_offset_form": (ErrorForm(V33, None, "MappingException", "No usable value for logOffset"),),
    "sources_not_named": (
        ErrorForm(V33, None, "AssertionError", "All sources should be named at this point"),
    ),
    "commit_ids_without_files": (
        ErrorForm(
            V40,
            "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT",
            "SparkException",
            "Error writing state store files for provider",
            "58030",
        ),
    ),
    "source_count": (
        ErrorForm(V33, "INTERNAL_ERROR", "SparkException", _SOURCES, "XX000"),
        ErrorForm(V34, None, "AssertionError", "assertion failed: " + _SOURCES),
    ),
    "previous_missing_committed": (
        ErrorForm(V33, None, "IllegalStateException", "batch {previous} doesn't exist"),
    ),
    "previous_missing_pending": (
        ErrorForm(V33, None, "IllegalStateException", "batch {previous} doesn't exist"),
        ErrorForm(
            V42,
            None,
            "IllegalArgumentException",
            "requirement failed: Previous batch {previous} not found in offset log",
        ),
    ),
    "partitions_nowhere": (
        ErrorForm(
            V42,
            None,
            "SparkException",
            "Failed to recover the state-store partition count from checkpoint metadata at {location}",
        ),
    ),
    "no_state_ids": (
        ErrorForm(
            V40,
            None,
            "AssertionError",
            "assertion failed: ChekpointInfo length: 0, numPartitions: {partitions}",  # as 4.0 spells it
        ),
        ErrorForm(
            V41,
            None,
            "AssertionError",
            "assertion failed: CheckpointInfo length: 0, numPartitions: {partitions}",
        ),
    ),
    "sink_log_gap": (
        ErrorForm(V33, None, "FileNotFoundException", "Unable to find batch {file}"),
        ErrorForm(
            V35,
            "BATCH_METADATA_NOT_FOUND",
            "SparkFileNotFoundException",
            "Unable to find batch {file}.",
            "42K03",
        ),
    ),
    "commit_exists": (
        ErrorForm(
            V33,
            "INTERNAL_ERROR",
            "SparkException",
            "Concurrent update to the commit log. Multiple streaming jobs detected for {batch}",
            "XX000",
        ),
        ErrorForm(
            V34,
            None,
            "AssertionError",
            "Concurrent update to the commit log. Multiple streaming jobs detected for {batch}",
        ),
        ErrorForm(
            V35,
            "CONCURRENT_STREAM_LOG_UPDATE",
            "SparkException",
            "Concurrent update to the log. Multiple streaming jobs detected for {batch}.",
            "40000",
        ),
    ),
    "stale_crc": (
        ErrorForm(
            V33,
            None,
            "SparkConcurrentModificationException",
            "Multiple streaming queries are concurrently using {directory}.",
        ),
    ),
    # The query exception shows only the text; the condition is that of its cause. The words before 4.0 are
    # those of the connector's code of that time; they were not observed.
    "kafka_partitions_deleted": (
        ErrorForm(
            V33, None, "IllegalStateException", "Set({partitions}) are gone. Some data may have been missed"
        ),
        ErrorForm(
            V40,
            "KAFKA_DATA_LOSS.PARTITIONS_DELETED",
            _KAFKA,
            "Partitions Set({partitions}) have been deleted.",
            "22000",
        ),
    ),
    "kafka_initial_missing": (
        ErrorForm(
            V33,
            None,
            "IllegalStateException",
            "Cannot find earliest offsets of Set({partitions}). Some data may have been missed",
        ),
        ErrorForm(
            V40,
            "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS",
            _KAFKA,
            "Cannot find initial offsets for partitions Set({partitions}). They may have been deleted.",
            "22000",
        ),
    ),
    "kafka_offset_changed": (
        ErrorForm(
            V33,
            None,
            "IllegalStateException",
            "Partition {partition}'s offset was changed from {before} to {after}",
        ),
        ErrorForm(
            V40,
            "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED",
            _KAFKA,
            "Partition {partition} offset was changed from {before} to {after}.",
            "22000",
        ),
    ),
    "kafka_added_late": (
        ErrorForm(
            V33,
            None,
            "IllegalStateException",
            "Added partition {partition} starts from {start} instead of 0.",
        ),
        ErrorForm(
            V40,
            "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
            _KAFKA,
            "Added partition {partition} starts from {start} instead of 0.",
            "22000",
        ),
    ),
    "kafka_range_unreadable": (
        ErrorForm(V33, None, "IllegalStateException", "Cannot fetch offset {start}"),
        ErrorForm(
            V40,
            "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE",
            _KAFKA,
            "Could not read records in offset [{start}, {end}) for topic partition {partition}",
            "22000",
        ),
    ),
    "kafka_topic_gone": (
        ErrorForm(
            V33, None, "UnknownTopicOrPartitionException", "This server does not host this topic-partition."
        ),
    ),
    "kafka_position_timeout": (
        ErrorForm(
            V33,
            None,
            "TimeoutException",
            "expired before the position for partition {partition} could be determined",
        ),
    ),
}


def spark_error(key: str, spark: Version, details: Mapping[str, object]) -> SparkError:
    """The error that Spark ``spark`` raises for the failure ``key`` with ``details`` filled in. KeyError for
    an unknown failure."""
    forms = ERRORS[key]
    held = [form for form in forms if form.since <= spark]
    form = held[-1] if held else forms[0]
    message = form.message.format_map(_Blank(details)).strip()
    return SparkError(form.condition, form.error_class, message, form.sqlstate)


class _Blank(dict[str, object]):
    """Leaves ``<name>`` where the files do not tell a value."""

    def __missing__(self, key: str) -> str:
        return f"<{key}>"


__all__ = ["ERRORS", "spark_error"]
