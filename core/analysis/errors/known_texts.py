"""Errors that have no condition in Spark's catalogue, or had none in older versions: known by their words or
by their class.

Where the forecast predicts the same text it is taken from its table, so that both know one wording.
``<name>`` is a hole. Texts were observed on Spark 3.3 to 4.3, with Kafka's connector 4.2, Delta 4.4 and
Iceberg, or are the wording of the catalogue of those versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from core.analysis.errors.model import EXACT, GENERAL, OUTERMOST, VAGUE, WRAPPER
from core.analysis.forecast.errors import ERRORS


@dataclass(frozen=True, slots=True)
class Known:
    """An error by its words (``texts``) or by its class (``classes``), and how telling it is.

    ``needs``: one of these must be somewhere in the pasted text (a frame of the stack, a path), because the
    words alone are common. ``about``: the message must name such a file. ``name`` may be a condition of
    Spark's catalogue: then the texts are how older versions worded it.
    """

    name: str
    texts: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    weight: int = EXACT
    needs: tuple[str, ...] = ()
    about: re.Pattern[str] | None = None


def said(key: str, form: int = -1, **renamed: str) -> str:
    """The text that the forecast predicts for a failure, with its holes; ``renamed`` gives a hole another
    name."""
    return re.sub(r"\{(\w+)\}", lambda hole: f"<{renamed.get(hole[1], hole[1])}>", ERRORS[key][form].message)


JSON_CLASSES = ("JsonEOFException", "JsonParseException", "MismatchedInputException", "MappingException")
_STATE_FRAMES = ("streaming.state.", "StateStore", "/state/", "rocksdb", "RocksDB")

# Which file a message is about. The names are those that Spark and Delta write.
_STATE_PATH = (
    r"/state/\d{1,9}/\d{1,9}/(?:[\w-]{1,80}/)?[\w.-]{1,120}\.(?:delta|snapshot|changelog|zip|sst|log)"
)
_STATE_FILE = re.compile(rf"{_STATE_PATH}(?![\w.])")
_STATE_FILE_OR_ITS_CHECKSUM = re.compile(rf"{_STATE_PATH}(?:\.crc)?(?![\w.]\w)")
_LOG_FILE = re.compile(
    r"/(?:offsets|commits)/\d{1,19}(?![\w/])|/sources/[\w-]{1,80}/\d{1,19}(?:\.compact)?(?![\w/])"
)
_DELTA_LOG_FILE = re.compile(r"/_delta_log/[\w.-]{1,120}")
_NOT_THERE = (
    "No such file or directory: <path>",
    "No such file or directory '<path>'",
    "<path>: No such file or directory",
    "File does not exist: <path>",
    "File <path> does not exist",
    "Item not found: '<path>'",
)

# Of two that overlap in the text the first of this table counts.
PLAIN: tuple[Known, ...] = (
    # The logs of the checkpoint
    Known(
        "SOURCE_LOG_ENTRY_MISSING",
        ("/sources/<path> doesn't exist when compacting batch <batchId>", "/sources/<path> doesn't exist"),
    ),
    Known(
        "SINK_LOG_ENTRY_MISSING",
        (
            "_spark_metadata/<batch> doesn't exist (latestId: <latest>, compactInterval: <interval>)",
            "<file> doesn't exist when compacting batch <batchId>",
            "doesn't exist when compacting batch",
            "doesn't exist while compacting batch",
        ),
    ),
    Known("BATCH_METADATA_NOT_FOUND", (said("sink_log_gap", 0),)),
    Known("SOURCE_LOG_ENTRY_MISSING", (said("source_log_gap"),)),
    Known(
        "KINESIS_SHARD_LOG_MISSING",
        ("shard-commit/<batch> does not exist", "retries while fetching MetaData, last exception"),
        needs=("shard-commit", "kinesis"),
    ),
    Known("PREVIOUS_BATCH_NOT_FOUND", (said("previous_missing_pending"),)),
    Known("BATCH_DOES_NOT_EXIST", (said("source_log_end_missing", id="batch"),)),
    Known("BATCHES_DO_NOT_EXIST", (said("source_log_ends_missing", ids="batches"),)),
    Known(
        "LOG_FILE_INCOMPLETE",
        (
            f"Failed to read log file <file>. {said('offset_empty')}",
            said("commit_empty"),
            said("offset_empty"),
        ),
    ),
    Known(
        "LOG_FILE_NO_METADATA",
        (
            said("offset_no_metadata"),
            said("offset_no_metadata_compared"),
            said("previous_no_metadata"),
            said("offset_no_metadata_pending"),
            "WatermarkTracker.updateWatermark(",
            'WatermarkTracker.currentWatermark()" because the return value of',
        ),
    ),
    Known("LOG_FILE_ONLY_VERSION", (said("offset_only_version"),), weight=GENERAL),
    Known("METADATA_BAD_ID", (said("metadata_bad_id"), said("metadata_long_id"))),
    Known(
        "METADATA_WITHOUT_ID",
        (said("metadata_without_id"), 'StreamMetadata.id()" because the return value of'),
    ),
    # UUID.fromString says the same wherever it is called.
    Known("METADATA_BAD_ID", (said("metadata_id_no_number"),), weight=GENERAL),
    Known("METADATA_WITHOUT_ID", (said("metadata_null_id"),), weight=GENERAL),
    Known("METADATA_NOT_JSON", (), JSON_CLASSES, needs=("StreamMetadata",)),
    Known("SOURCE_OF_ANOTHER_KIND", ("No usable value for logOffset",)),
    Known("CONTINUOUS_ON_MICRO_BATCHES", ("Expected object but got JInt(<position>)",), weight=GENERAL),
    Known(
        "LOG_FILE_NOT_JSON",
        (
            "Unexpected end-of-input",
            "Unrecognized token '<token>'",
            said("metadata_empty"),
            "No usable value for <path>",
            "Invalid OffsetMap format: <text>",
            "Illegal character ((CTRL-CHAR",
            "Illegal unquoted character ((CTRL-CHAR",
        ),
        JSON_CLASSES,
        weight=GENERAL,
    ),
    Known(
        "LOG_FILE_NOT_JSON", (f"{said('log_not_text')}<count>",), ("MalformedInputException",), weight=GENERAL
    ),
    Known(
        "SOURCE_COUNT_DIFFERS",
        (said("source_count", 0), "sources in the checkpoint offsets and now there are"),
    ),
    Known("INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION", (said("offset_version", 0),)),
    Known("MALFORMED_LOG_FILE", (said("log_no_version", 0), "Log file was malformed: failed to")),
    Known("SOURCES_NOT_NAMED", (said("sources_not_named", 0),)),
    Known(
        "PINNED_SETTING_REFUSED",
        (
            "<key> should be boolean, but was <path>",
            "<key> should be int, but was <path>",
            "' in spark.sql.<path> is invalid.",
        ),
        about=re.compile(r"spark\.sql\."),
    ),
    Known(
        "CONCURRENT_STREAM_LOG_UPDATE",
        (
            said("commit_exists", 0),
            "Concurrent update to the log. Multiple streaming jobs detected for <batch>",
        ),
    ),
    Known("SKIPPED_BATCH_NEEDS_STATE", (said("no_state_ids"), said("no_state_ids", 0))),
    Known("LOG_FILE_CHECKSUM", ("Checksum error: <file> at",), ("ChecksumException",), about=_LOG_FILE),
    Known(
        "STATE_FILE_NAME_TAKEN",
        ("rename destination <file> already exists", "Rename destination <file> already exists"),
        about=_STATE_FILE_OR_ITS_CHECKSUM,
    ),
    Known("MULTIPLE_QUERIES_USE_CHECKPOINT", (said("stale_crc"), "Rename destination <file> already exists")),
    Known("HDFS_LEASE_LOST", ("No lease on <path>",), ("LeaseExpiredException",)),
    Known(
        "QUERY_ALREADY_ACTIVE",
        ("Cannot start query with id <id> as another query with same id is already active",),
    ),
    Known("ASSERTION_FAILED", ("assertion failed", "requirement failed"), weight=VAGUE),
    # State
    Known(
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
        ("Error reading delta file <sentence>does not exist",),
    ),
    Known(
        "ROCKSDB_FILES_DIFFER",
        (
            "Mismatch in unique ID on table file",
            "Sst file size mismatch: <file>",
            "No SST files found",
            "Error while creating rocksDb instance",
        ),
    ),
    Known("CANNOT_WRITE_STATE_STORE", ("Failed to rename <path> to <file>",), about=_STATE_FILE),
    Known(
        "STATE_FILE_MISSING",
        (*_NOT_THERE, "The specified path does not exist"),
        ("FileNotFoundException", "NoSuchFileException"),
        weight=GENERAL,
        about=_STATE_FILE,
    ),
    Known(
        "STATE_SCHEMA_NOT_COMPATIBLE",
        ("Provided schema doesn't match to the schema for existing state!",),
        ("StateSchemaNotCompatible",),
    ),
    Known("STATE_ROW_FORMAT_INVALID", (said("row_checksum_unknown", 0),), ("InvalidUnsafeRowException",)),
    Known(
        "STREAM_STREAM_JOIN_INCONSISTENT_STATE",
        (),
        ("NullPointerException",),
        needs=("SymmetricHashJoinStateManager",),
    ),
    Known(
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
        ('Cannot invoke "org.apache.spark.sql.internal.SQLConf.stateStoreCheckpointFormatVersion()"',),
    ),
    Known("STATE_IDS_DO_NOT_FIT", ("out of bounds for length <count>",), weight=VAGUE),
    Known("PARTITION_COUNT_UNKNOWN", (said("partitions_nowhere"),)),
    Known("TRANSFORM_WITH_STATE_UNKNOWN", (said("no_transform"),)),
    Known("ROCKSDB_FILE_TOO_NEW", ("unknown checksum type <version> from footer of <file>",)),
    Known(
        "STATE_SCHEMA_UNREADABLE",
        (),
        ("EOFException",),
        needs=("StateSchemaCompatibilityChecker$.readSchemaFile",),
    ),
    Known("STATE_FILE_DAMAGED", ("Bad table magic number: expected <expected>, found <found> in <file>",)),
    Known(
        "STATE_FILE_DAMAGED",
        (
            "Stream ended prematurely",
            "Unexpected end of ZLIB input stream",
            "Stream is corrupted",
            "Checksum error: <file> at",
            "Unknown frame descriptor",
        ),
        ("ZstdIOException", "EOFException", "ZipException", "ChecksumException", "NoSuchFileException"),
        weight=VAGUE,
        needs=_STATE_FRAMES,
    ),
    # Sources and sinks
    Known(
        "DELTA_LOG_FILE_NOT_FOUND",
        _NOT_THERE,
        ("FileNotFoundException", "NoSuchFileException"),
        about=_DELTA_LOG_FILE,
    ),
    Known(
        "FAILED_READ_FILE.FILE_NOT_EXIST",
        ("It is possible the underlying files have been updated",),
    ),
    Known(
        "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
        (
            "Parquet column cannot be converted in file <path>. Column: [<column>], Expected:"
            " <expectedType>, Found: <actualType>",
            "Parquet column cannot be converted in file <path>",
        ),
    ),
    Known(
        "INPUT_PATH_MOVED",
        ("Wrong basePath <base> for the root path: <path>", f"{said('wrong_base_path')}<base>"),
    ),
    Known("PATH_NO_URI", (said("uri_illegal"), said("uri_escape"))),
    Known("PATH_NOT_FOUND", ("Path does not exist: <path>",)),
    Known("SOURCE_OF_ANOTHER_KIND", ('For input string: "{"path":', 'For input string: "{"logOffset":')),
    Known("NOT_A_NUMBER", ('For input string: "<text>"',), ("NumberFormatException",), weight=VAGUE),
    Known("FILE_DOES_NOT_EXIST", _NOT_THERE, ("FileNotFoundException",), weight=VAGUE),
    Known("KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED", (said("kafka_offset_changed", 0),)),
    Known(
        "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS", ("Cannot find earliest offsets of Set(",)
    ),
    # Before 4.0; its cause, an OffsetOutOfRangeException, follows in the whole trace.
    Known(
        "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE",
        (
            "Cannot fetch offset <offset> (GroupId: <groupId>, TopicPartition: <topicPartition>). Some data"
            " may have been lost because they are not available in Kafka any more",
        ),
    ),
    Known("KAFKA_DATA_LOSS.PARTITIONS_DELETED", ("are gone. Some data may have been missed",)),
    Known(
        "KAFKA_TOPIC_GONE",
        ("This server does not host this topic-partition",),
        ("UnknownTopicOrPartitionException",),
    ),
    Known(
        "KAFKA_POSITION_TIMEOUT",
        ("expired before the position for partition <topicPartition> could be determined",),
    ),
    Known("KAFKA_POLL_TIMEOUT", ("Cannot fetch record for offset <offset> in <timeout> milliseconds",)),
    Known(
        "EVENT_HUBS_POSITION",
        (
            "request seqNo <startOffset> is less than the received seqNo <received>",
            "Request seqNo <startOffset> is less than the received seqNo <received>",
            "requestSeqNo <startOffset> does not match the received seqNo",
            "does not match the received seqNo",
            "The supplied sequence number '<startOffset>' is invalid. The last sequence number in the system"
            " is '<latest>'",
        ),
    ),
    Known(
        "KAFKA_UNREACHABLE",
        (
            "Timed out waiting for a node assignment",
            "No resolvable bootstrap urls given in bootstrap.servers",
            "Timeout expired while fetching topic metadata",
        ),
    ),
    Known(
        "KAFKA_CLIENT_SETUP",
        (
            "Failed to create new KafkaAdminClient",
            "Failed to construct kafka consumer",
            "The specified value of default.api.timeout.ms must be no smaller than",
        ),
        weight=GENERAL,
    ),
    Known("KAFKA_START_OFFSETS_JSON", ('Expected e.g. {"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}, got',)),
    Known("KAFKA_START_OFFSETS_INCOMPLETE", ("you must specify all TopicPartitions",)),
    Known("KAFKA_START_OFFSET_NEGATIVE", ("earliest offset <offset> does not equal -2",)),
    Known("KAFKA_NO_OFFSET_FOR_TIMESTAMP", ("No offset matched from request of topic-partition",)),
    Known("KAFKA_START_TIMESTAMP", ("Expected a single long value, got",)),
    Known(
        "KAFKA_BATCH_BOUNDS",
        (
            "starting offset can't be latest for batch queries on Kafka",
            "ending offset can't be earliest for batch queries on Kafka",
        ),
    ),
    Known(
        "KAFKA_RECORDS_SKIPPED",
        ("Some data may be lost. Recovering from the earliest offset",),
    ),
    Known(
        "KAFKA_POSITION_OUT_OF_RANGE",
        ("is out of range for partition <topicPartition>", "Cannot fetch offset <offset>"),
        ("OffsetOutOfRangeException",),
        weight=GENERAL,
    ),
    Known(
        "KAFKA_NOT_ALLOWED",
        ("Not authorized to access topics", "Not authorized to access group"),
        (
            "SaslAuthenticationException",
            "SslAuthenticationException",
            "TopicAuthorizationException",
            "GroupAuthorizationException",
            "ClusterAuthorizationException",
        ),
    ),
    Known(
        "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
        (
            "The stream from your Delta table was expecting process data from version <startVersion>, but the"
            " earliest available version in the _delta_log directory is <earliestVersion>",
        ),
    ),
    Known("DELTA_METADATA_MISMATCH", ("A schema mismatch detected when writing to the Delta table",)),
    Known("DELTA_METADATA_PATH_MOVED", ("The Delta source metadata path used for execution",)),
    Known(
        "ICEBERG_SNAPSHOT_EXPIRED",
        ("Cannot load current offset at snapshot <snapshot>, the snapshot was expired or removed",),
    ),
    Known("ICEBERG_OVERWRITE", ("Cannot process overwrite snapshot: <snapshot>, to ignore overwrites",)),
    Known(
        "ASYNC_PROGRESS_NOT_SUPPORTED",
        ("does not support async progress tracking", "Async progress tracking cannot be used with"),
    ),
    Known(
        "CONTINUOUS_NOT_SUPPORTED",
        (
            "Unknown type of trigger: ContinuousTrigger",
            "Continuous processing does not support <what> operations",
            "is not supported with continuous trigger",
        ),
    ),
    Known(
        "LATE_ROWS_BETWEEN_OPERATORS",
        ("Detected pattern of possible 'correctness' issue due to global watermark",),
    ),
    # Databricks
    Known(
        "AUTO_LOADER_NEW_FIELDS",
        ("Encountered unknown fields during parsing", "Encountered unknown field(s) during parsing"),
        ("UnknownFieldException",),
    ),
    Known(
        "AUTO_LOADER_OPTION",
        ("Could not find required option: <option>",),
        needs=("cloudFiles",),
    ),
    Known("AUTO_LOADER", ("com.databricks.sql.cloudfiles.errors.<path>",), weight=GENERAL),
    Known("LAKEFLOW_UNKNOWN_FLOW", ("Reset checkpoint selection should not contain flow",)),
    # Storage
    Known(
        "STORAGE_ACCESS_DENIED",
        (
            "Access Denied (Service",
            "Status Code: 403",
            "status code: 403",
            "AccessDenied:",
            "Permission denied: user=",
            "(Permission denied)",
        ),
        ("AccessDeniedException", "AccessControlException"),
    ),
    Known("STORAGE_NO_DIRECTORY", ("mkdir of <path> failed", "Mkdirs failed to create <path>")),
    Known(
        "STORAGE_CREDENTIALS",
        (
            "Unable to load credentials",
            "No AWS Credentials provided",
            "The provided token has expired",
            "ExpiredToken:",
            "InvalidAccessKeyId",
        ),
        ("NoAwsCredentialsException", "NoAuthWithAWSException"),
    ),
    Known(
        "STORAGE_NO_BUCKET",
        ("The specified bucket does not exist", "NoSuchBucket"),
        ("NoSuchBucketException", "UnknownStoreException"),
    ),
    Known(
        "STORAGE_SLOW_DOWN",
        ("Please reduce your request rate", "Status Code: 503", "status code: 503"),
        ("AWSServiceThrottledException",),
    ),
    Known(
        "STORAGE_UNREACHABLE",
        ("UnknownHostException:", "Connect timed out", "Unable to execute HTTP request"),
        ("UnknownHostException", "ConnectException"),
    ),
    Known(
        "STORAGE_FULL",
        ("No space left on device", "The DiskSpace quota of"),
        ("DSQuotaExceededException", "NSQuotaExceededException"),
    ),
    Known(
        "HADOOP_ON_WINDOWS",
        (
            "NativeIO$Windows.<path>",
            "HADOOP_HOME and hadoop.home.dir are unset",
            "Could not locate Hadoop executable",
        ),
    ),
    Known(
        "STORAGE_WRONG_FS", ("Wrong FS: <path>, expected: <expected>", "IllegalArgumentException: Wrong FS: ")
    ),
    Known("STORAGE_UNKNOWN_SCHEME", ("No FileSystem for scheme", "S3AFileSystem not found")),
    # The machine that runs the query
    Known("STACK_OVERFLOW", classes=("StackOverflowError",)),
    Known("OUT_OF_MEMORY", ("Java heap space", "GC overhead limit exceeded"), ("OutOfMemoryError",)),
    Known(
        "PYTHON_WORKER_CRASHED", ("Python worker exited unexpectedly", "Python worker failed to connect back")
    ),
    Known("EXECUTOR_LOST", ("ExecutorLostFailure", "executor heartbeat timed out")),
    Known(
        "SPARK_STOPPED",
        (
            "SparkContext was shut down",
            "Cannot call methods on a stopped SparkContext",
            "SparkContext has been shutdown",
        ),
    ),
    Known("DATA_SOURCE_MISSING", ("Failed to find data source: <source>",)),
    Known(
        "CLASS_MISSING",
        ("terminated with exception: org/apache/spark/",),
        (
            "NoSuchMethodError",
            "NoClassDefFoundError",
            "ClassNotFoundException",
            "IncompatibleClassChangeError",
            "AbstractMethodError",
        ),
        weight=GENERAL,
    ),
    Known("PYTHON_EXCEPTION", (), ("PythonException",), weight=GENERAL),
    Known(
        "NOT_A_STREAMING_WRITE", ("Queries with streaming sources must be executed with writeStream.start()",)
    ),
    # Words that only say that something failed
    Known(
        "FOREACH_BATCH_USER_FUNCTION_ERROR",
        (
            "An exception was raised by the Python Proxy. Return Message:",
            "Found error inside foreachBatch Python process",
        ),
        weight=WRAPPER,
    ),
    Known("STREAM_FAILED", ("terminated with error",), ("StreamingQueryException",), weight=OUTERMOST),
    Known("JOB_ABORTED", ("Job aborted due to stage failure",), weight=OUTERMOST),
)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A condition of a connector, which Spark's catalogue does not have. ``text`` is its message, empty where
    only the name is known."""

    sqlstate: str | None
    text: str = ""


_LOSS = "Some data may have been lost because they are not available in Kafka any more;"
_MISSING = "The error could be transient - restart your query, and report if you still see the same issue. "

# Conditions of Kafka's connector. The query's exception does not carry their names, so they are known by the
# line after "Reason:".
KAFKA: Mapping[str, Foreign] = {
    "KAFKA_DATA_LOSS": Foreign("22000", _LOSS),
    "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO": Foreign(
        "22000", "Added partition <topicPartition> starts from <startOffset> instead of 0"
    ),
    "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE": Foreign(
        "22000",
        "Could not read records in offset [<startOffset>, <endOffset>) for topic partition <topicPartition>",
    ),
    "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS": Foreign(
        "22000", "Cannot find initial offsets for partitions <partitions>. They may have been deleted"
    ),
    "KAFKA_DATA_LOSS.PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT": Foreign(
        "22000",
        "Partitions <partitions> have been deleted. Kafka option '<option>' has been set on this query",
    ),
    "KAFKA_DATA_LOSS.PARTITIONS_DELETED": Foreign(
        "22000", said("kafka_partitions_deleted").replace("Set(<partitions>)", "<partitions>")
    ),
    "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED": Foreign(
        "22000",
        said("kafka_offset_changed", partition="topicPartition", before="prevOffset", after="newOffset"),
    ),
    "KAFKA_DATA_LOSS.START_OFFSET_RESET": Foreign(
        "22000",
        "Starting offset for <topicPartition> was <startOffset> but consumer reset to <fetchedOffset>",
    ),
    "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED": Foreign(
        None, "Partitions specified for Kafka start offsets don't match what are assigned."
    ),
    "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED": Foreign(
        None,
        "Partitions specified for Kafka timestamp based <position> offsets don't match what are assigned.",
    ),
    "KAFKA_NULL_TOPIC_IN_DATA": Foreign(
        None, "The Kafka message data sent to the producer contains a null topic."
    ),
    "KAFKA_MALFORMED_RECORD_TIMESTAMP": Foreign(
        "22008",
        "Record at topic <topic> partition <partition> offset <offset> has timestamp value <timestamp> that"
        " overflows",
    ),
    "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED": Foreign(
        None,
        "should provide the same topic partitions in pre-fetched offset to end offset for each microbatch. "
        + _MISSING,
    ),
    "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_START_OFFSET_AND_END_OFFSET": Foreign(
        None, "The specified start offset and end offset should have the same topic-partitions."
    ),
    "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED": Foreign(
        None,
        "end offset should have lower or equal offset per each topic partition than pre-fetched offset. "
        + _MISSING,
    ),
    "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW": Foreign(
        None,
        "Some of partitions in Kafka topic(s) have been lost during running query with Trigger.AvailableNow. "
        + _MISSING,
    ),
    "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW": Foreign(
        None,
        "Some of partitions in Kafka topic(s) report available offset which is less than end offset during"
        " running query with Trigger.AvailableNow. " + _MISSING,
    ),
    "RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET": Foreign(
        None,
        "The resolved start offset <startOffset> is greater than the resolved end offset <endOffset> for"
        " topic <topic> partition <partition>.",
    ),
    "UNRESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET": Foreign(
        None,
        "The specified start <offsetType> <startOffset> is greater than the end <offsetType> <endOffset> for"
        " topic <topic>",
    ),
}

# Conditions of Databricks' runtimes that Spark's catalogue does not have.
DATABRICKS: Mapping[str, Foreign] = {
    "UNKNOWN_FIELD_EXCEPTION": Foreign("KD003"),
    "UNKNOWN_FIELD_EXCEPTION.NEW_FIELDS_IN_FILE": Foreign("KD003"),
    "UNKNOWN_FIELD_EXCEPTION.NEW_FIELDS_IN_RECORD_WITH_FILE_PATH": Foreign("KD003"),
    "FAILED_READ_FILE.DBR_FILE_NOT_EXIST": Foreign("KD001"),
    "CF_METADATA_FILE_CONCURRENTLY_USED": Foreign("22000"),
    "DELTA_FILE_NOT_FOUND_DETAILED": Foreign(
        "42K03", "File <filePath> referenced in the transaction log cannot be found."
    ),
}
AUTO_LOADER_PREFIX = "CF_"  # the conditions of Auto Loader (cloudFiles)

# Conditions of Delta that end a streaming query. Delta writes the name in brackets, so the text is only
# needed for its holes.
DELTA: Mapping[str, Foreign] = {
    "DELTA_MISSING_FILES_UNEXPECTED_VERSION": Foreign(
        "42K03",
        "Delta stream cannot resume from version <startVersion>; transaction log starts at <earliestVersion>",
    ),
    "DELTA_STREAMING_TRAILING_COMMIT_MISSING": Foreign(
        "42K03",
        "Delta stream detected commits up to version <expectedVersion> but files after version <seenVersion>"
        " are missing",
    ),
    "DELTA_VERSION_NOT_FOUND": Foreign(
        "22003",
        "Cannot time travel Delta table to version <userVersion>. Available versions: [<earliest>, <latest>]",
    ),
    "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE": Foreign(
        "42K03", "If you never deleted it, it's likely your query is lagging behind."
    ),
    "DELTA_LOG_FILE_NOT_FOUND": Foreign("42K03"),
    "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE": Foreign(
        "55019",
        "The streaming query was reading from an unexpected Delta table (id = '<newTableId>'). It used to"
        " read from another Delta table (id = '<oldTableId>')",
    ),
    "DELTA_VERSIONS_NOT_CONTIGUOUS": Foreign("KD00C", "Versions (<versionList>) are not contiguous."),
    "DELTA_SOURCE_TABLE_IGNORE_CHANGES": Foreign(
        "0A000", "Detected a data update (for example <changeInfo>) in the source table at version <version>"
    ),
    "DELTA_SOURCE_IGNORE_DELETE": Foreign(
        "0A000",
        "Detected deleted data (for example <removedFile>) from streaming source at version <version>",
    ),
    "DELTA_STREAMING_METADATA_EVOLUTION": Foreign(
        "22000",
        "The schema, table configuration or protocol of your Delta table has changed during streaming.",
    ),
    "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION": Foreign(
        "KD002", "We've detected one or more non-additive schema change(s) (<opType>) between Delta version"
    ),
    "DELTA_SCHEMA_CHANGED": Foreign("KD007", "Detected schema change: streaming source schema:"),
    "DELTA_SCHEMA_CHANGED_WITH_VERSION": Foreign("KD007", "Detected schema change in version <version>:"),
    "DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS": Foreign("KD007"),
    "DELTA_STREAMING_SCHEMA_MISMATCH_ON_RESTART": Foreign(
        "KD007", "The streaming query's schema does not match the current table schema."
    ),
    "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE": Foreign("42KD4"),
    "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG": Foreign(
        "42KD4", "Streaming read is not supported on tables with read-incompatible schema changes"
    ),
    "DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT": Foreign(
        "22000",
        "Schema location '<schemaTrackingLocation>' must be placed under checkpoint location"
        " '<checkpointLocation>'",
    ),
    "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT": Foreign(
        "22000", "Detected conflicting schema location '<loc>' while streaming"
    ),
    "DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED": Foreign(
        "22000", "Incomplete log file in the Delta streaming source schema log at '<location>'"
    ),
    "DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID": Foreign(
        "22000",
        "Detected incompatible Delta table id when trying to read Delta stream. Persisted table id:"
        " <oldTableId>, Table id: <newTableId>",
    ),
    "DELTA_INVALID_SOURCE_OFFSET_FORMAT": Foreign("XXKDS", "The stored source offset format is invalid"),
    "DELTA_INVALID_SOURCE_VERSION": Foreign("XXKDS"),
    "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION": Foreign("XXKDS"),
    "DELTA_SCHEMA_NOT_SET": Foreign("KD008"),
    "DELTA_TABLE_NOT_FOUND": Foreign("42P01", "Delta table <tableName> doesn't exist."),
    "DELTA_PATH_DOES_NOT_EXIST": Foreign("42K03", "<path> doesn't exist, or is not a Delta table."),
    "DELTA_TRUNCATED_TRANSACTION_LOG": Foreign(
        "42K03",
        "<path>: Unable to reconstruct state at version <version> as the transaction log has been truncated"
        " due to manual deletion",
    ),
    "DELTA_TIMESTAMP_GREATER_THAN_COMMIT": Foreign("42816"),
    "DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET": Foreign("42613"),
    "DELTA_METADATA_MISMATCH": Foreign(
        "42KDG", "A metadata mismatch was detected when writing to the Delta table."
    ),
    "DELTA_CONCURRENT_APPEND": Foreign("2D521"),
    "DELTA_CONCURRENT_DELETE_READ": Foreign("2D521"),
    "DELTA_CONCURRENT_DELETE_DELETE": Foreign("2D521"),
    "DELTA_CONCURRENT_TRANSACTION": Foreign("2D521"),
    "DELTA_CONCURRENT_WRITE": Foreign("2D521"),
    "DELTA_METADATA_CHANGED": Foreign("2D521"),
    "DELTA_PROTOCOL_CHANGED": Foreign("2D521"),
}
