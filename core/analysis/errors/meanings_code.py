"""What the errors of the query's own code mean, and the conditions whose cause the files of a checkpoint
cannot show, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.analysis.errors.model import GENERAL, WRAPPER, Meaning, RecoveryOption

_FUNCTION = "What the function does is in the query's code."
_AGAIN: tuple[RecoveryOption, ...] = ("change_query", "restart")


def _function(what: str) -> Meaning:
    return Meaning(
        what,
        (
            "The function raised an exception: see the end of the Python traceback, or the last 'Caused by'.",
            "A service or table that it uses failed.",
        ),
        "Correct the function (or what it uses) and start again: the batch is pending and runs again with the"
        " same rows. What the function had already written is written again, unless it goes by batch id or"
        " key.",
        _AGAIN,
        weight=WRAPPER,
        look=("pending",),
        unseen=_FUNCTION,
    )


CODE: Mapping[str, Meaning] = {
    "FOREACH_BATCH_USER_FUNCTION_ERROR": _function(
        "The function of foreachBatch failed; this wraps what it raised. The batch is not committed."
    ),
    "FOREACH_USER_FUNCTION_ERROR": _function(
        "The function or object of foreach failed; this wraps what it raised. The batch is not committed."
    ),
    "FLATMAPGROUPSWITHSTATE_USER_FUNCTION_ERROR": _function(
        "The function of flatMapGroupsWithState or mapGroupsWithState failed; this wraps what it raised. The"
        " batch is not committed."
    ),
    "TRANSFORM_WITH_STATE_USER_FUNCTION_ERROR": _function(
        "A function of the StatefulProcessor failed; this wraps what it raised. The batch is not committed."
    ),
    "PYTHON_EXCEPTION": Meaning(
        "Python code that runs in the executors (a UDF, a pandas function) raised an exception. The batch is"
        " not committed.",
        (
            "A row that the function does not expect.",
            "A mistake in the function.",
            "A package that is missing on the executors.",
        ),
        "Correct the function and start again: the batch is pending and runs again with the same rows. To"
        " leave out bad rows, start once with a filter against them.",
        _AGAIN,
        weight=GENERAL,
        look=("pending",),
        unseen=_FUNCTION,
    ),
    "AUTOCDC_MICROBATCH_VALIDATION": Meaning(
        "A micro-batch of an AutoCDC flow holds rows that it may not hold. The batch is not committed.",
        ("Rows without a key or without a sequence value.",),
        "Filter such rows out before the flow and start again.",
        _AGAIN,
        look=("pending",),
        unseen="The rows of the query are not in the checkpoint.",
    ),
    "EMITTING_ROWS_OLDER_THAN_WATERMARK_NOT_ALLOWED": Meaning(
        "A stateful operator handed out a row that is older than the watermark, which the next operator would"
        " drop.",
        ("The function gives its rows an event time in the past.",),
        "Give the rows an event time at or after the watermark, and start again.",
        _AGAIN,
        look=("pending",),
        unseen=_FUNCTION,
    ),
    "ASYNC_PROGRESS_NOT_SUPPORTED": Meaning(
        "Asynchronous progress tracking works for stateless queries with some sinks and triggers only.",
        ("foreachBatch, a stateful operator, availableNow or once is used with it.",),
        "Switch asyncProgressTrackingEnabled off. If the checkpoint was written with it, run first with"
        " asyncProgressTrackingCheckpointIntervalMs=0"
        " where it works, so that two consecutive batches are logged.",
        ("change_query",),
        look=("async",),
        unseen="The options of the query are in its code.",
    ),
    "LAKEFLOW_UNKNOWN_FLOW": Meaning(
        "A pipeline was asked to reset the checkpoint of a flow that it does not have.",
        ("The name is not complete: catalog.schema.flow.", "The flow was renamed."),
        "Use the full name of the flow; an update with validate_only tells whether it is right.",
        ("none",),
        unseen="The flows of a pipeline are in its definition.",
    ),
    "OUT_OF_MEMORY": Meaning(
        "The driver or an executor ran out of memory.",
        (
            "A batch is too large: after a rewind or a long stop a source can hand out everything at once.",
            "State on the heap has grown too large.",
        ),
        "Bound the batch (maxFilesPerTrigger, maxOffsetsPerTrigger: not for the batch that is already"
        " planned) or give more memory, then start again.",
        ("restart",),
        look=("pending", "size"),
        unseen="The memory of the machines is not in the files.",
    ),
    "PYTHON_WORKER_CRASHED": Meaning(
        "A Python process on an executor ended without a word. The batch is not committed.",
        (
            "It ran out of memory and was killed.",
            "Another Python than the driver's is used, and a package is missing there.",
            "A native library crashed.",
        ),
        "See the log of the executor; check PYSPARK_PYTHON and the memory; start again.",
        ("restart",),
        look=("pending",),
        unseen="The logs of the executors are not part of the checkpoint.",
    ),
    "EXECUTOR_LOST": Meaning(
        "An executor was lost. The batch is not committed.",
        ("It was killed for its memory, or its machine was taken away.",),
        "Start again: the batch runs again.",
        ("restart",),
        look=("pending", "size"),
        unseen="The machines are not in the files.",
    ),
    "SPARK_STOPPED": Meaning(
        "The application was stopped while a batch ran. The batch is not committed.",
        (
            "Somebody stopped the job or the cluster.",
            "The driver ended for another reason: see the log before this.",
        ),
        "Start again: the batch runs again.",
        ("restart",),
        look=("pending",),
        unseen="Why the application ended is in its log.",
    ),
    "CLASS_MISSING": Meaning(
        "A library does not fit this Spark, or is not there.",
        ("A connector was built for another Spark or Scala version.", "A jar was left out."),
        "Use the connector's version that belongs to this Spark. The checkpoint needs nothing.",
        ("restart",),
        weight=GENERAL,
        look=("pending",),
        unseen="The libraries of the cluster are not in the files.",
    ),
}


@dataclass(frozen=True, slots=True)
class Unseen:
    """Conditions whose cause no file of a checkpoint shows. ``why``: where it is instead."""

    what: str
    why: str
    action: str
    ids: tuple[str, ...]
    options: tuple[RecoveryOption, ...] = ("change_query",)


def _ids(text: str) -> tuple[str, ...]:
    return tuple(text.split())


UNSEEN: tuple[Unseen, ...] = (
    Unseen(
        "Spark refuses the query as it is written; the message says what it does not allow.",
        "The query's text and its options are not in the checkpoint.",
        "Change the query as the message says and start again. The checkpoint is not the cause.",
        _ids("""
            CALL_ON_STREAMING_DATASET_UNSUPPORTED CANNOT_ASSIGN_EVENT_TIME_COLUMN_WITHOUT_WATERMARK
            CANNOT_USE_MULTI_ALIASES_IN_WATERMARK_CLAUSE DATA_SOURCE_MICRO_BATCH_SCAN_NOT_SUPPORTED
            DATA_SOURCE_STREAMING_WRITE_BUILD_NOT_SUPPORTED DATA_SOURCE_STREAMING_WRITE_NOT_SUPPORTED EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE
            EVENT_TIME_MUST_BE_TOP_LEVEL_COLUMN INCOMPATIBLE_STREAMING_VIEW_READ INVALID_SUBQUERY_EXPRESSION.STREAMING_QUERY
            MISSING_TIMEOUT_CONFIGURATION MULTIPLE_EVENT_TIME_COLUMNS NEAREST_BY_JOIN.STREAMING_NOT_SUPPORTED
            NESTED_SEQUENTIAL_STREAMING_UNION NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING NOT_STREAMING_DATASET
            REQUIRES_EXPLICIT_NAME_IN_WATERMARK_CLAUSE STATEFUL_CHILDREN_NOT_SUPPORTED_IN_SEQUENTIAL_STREAMING_UNION
            STREAMING_OUTPUT_MODE STREAMING_OUTPUT_MODE.INVALID STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE
            STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION STREAMING_QUERY_EVOLUTION_ERROR
            STREAMING_QUERY_EVOLUTION_ERROR.ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED
            STREAMING_QUERY_EVOLUTION_ERROR.CONTINUOUS_PROCESSING_NOT_SUPPORTED STREAMING_QUERY_EVOLUTION_ERROR.DUPLICATE_SOURCE_NAMES
            STREAMING_QUERY_EVOLUTION_ERROR.INVALID_SINK_NAME STREAMING_QUERY_EVOLUTION_ERROR.INVALID_SOURCE_NAME
            STREAMING_QUERY_EVOLUTION_ERROR.SOURCE_NAMING_NOT_SUPPORTED
            STREAMING_QUERY_EVOLUTION_ERROR.UNNAMED_STREAMING_SINKS_WITH_ENFORCEMENT
            STREAMING_QUERY_EVOLUTION_ERROR.UNNAMED_STREAMING_SOURCES_WITH_ENFORCEMENT UNSUPPORTED_STREAMING_OPERATOR_WITHOUT_WATERMARK
            WRITE_STREAM_NOT_ALLOWED _LEGACY_ERROR_TEMP_1008 _LEGACY_ERROR_TEMP_1018 _LEGACY_ERROR_TEMP_1114 _LEGACY_ERROR_TEMP_1190
            _LEGACY_ERROR_TEMP_1191 _LEGACY_ERROR_TEMP_1193 _LEGACY_ERROR_TEMP_1298 _LEGACY_ERROR_TEMP_2048 _LEGACY_ERROR_TEMP_2204
            _LEGACY_ERROR_TEMP_2205 _LEGACY_ERROR_TEMP_2209 _LEGACY_ERROR_TEMP_2210 _LEGACY_ERROR_TEMP_3063 _LEGACY_ERROR_TEMP_3067
            _LEGACY_ERROR_TEMP_3068 _LEGACY_ERROR_TEMP_3076 _LEGACY_ERROR_TEMP_3169
            """),
    ),
    Unseen(
        "The query asks for something that real-time mode does not do.",
        "The trigger and the operators of the query are in its code.",
        "Change the query as the message says, or use a micro-batch trigger: it goes on with the same"
        " checkpoint.",
        _ids("""
            INVALID_STREAMING_REAL_TIME_MODE_TRIGGER_INTERVAL STREAMING_REAL_TIME_MODE
            STREAMING_REAL_TIME_MODE.ASYNC_PROGRESS_TRACKING_CHECKPOINTING_INTERVAL_NON_ZERO
            STREAMING_REAL_TIME_MODE.CHECKPOINT_FORMAT_V1_NOT_SUPPORTED STREAMING_REAL_TIME_MODE.IDENTICAL_SOURCES_IN_UNION_NOT_SUPPORTED
            STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST
            STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED STREAMING_REAL_TIME_MODE.SINK_NOT_SUPPORTED
            STREAMING_REAL_TIME_MODE.SQL_CONFIGURATION_NOT_SUPPORTED STREAMING_REAL_TIME_MODE.STATEFUL_OPERATORS_BEFORE_UNION_NOT_SUPPORTED
            """),
    ),
    Unseen(
        "The code of a StatefulProcessor, or what it asks of its state variables, is not allowed; the message"
        " says what.",
        "The code of the processor is not in the checkpoint.",
        "Change the processor as the message says and start again. If a batch was planned, it is pending and"
        " runs again.",
        _ids("""
            ILLEGAL_STATE_STORE_VALUE ILLEGAL_STATE_STORE_VALUE.EMPTY_LIST_VALUE ILLEGAL_STATE_STORE_VALUE.NULL_VALUE
            STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_HANDLE_STATE
            STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_TIME_MODE STATEFUL_PROCESSOR_DUPLICATE_STATE_VARIABLE_DEFINED
            STATEFUL_PROCESSOR_INCORRECT_TIME_MODE_TO_ASSIGN_TTL STATEFUL_PROCESSOR_TTL_DURATION_MUST_BE_POSITIVE
            STATEFUL_PROCESSOR_UNKNOWN_TIME_MODE STATE_STORE_CANNOT_CREATE_COLUMN_FAMILY_WITH_RESERVED_CHARS
            STATE_STORE_CANNOT_USE_COLUMN_FAMILY_WITH_INVALID_NAME STATE_STORE_HANDLE_NOT_INITIALIZED
            STATE_STORE_INCORRECT_NUM_ORDERING_COLS_FOR_RANGE_SCAN STATE_STORE_INCORRECT_NUM_PREFIX_COLS_FOR_PREFIX_SCAN
            STATE_STORE_NULL_TYPE_ORDERING_COLS_NOT_SUPPORTED STATE_STORE_UNSUPPORTED_OPERATION
            STATE_STORE_UNSUPPORTED_OPERATION_BINARY_INEQUALITY STATE_STORE_UNSUPPORTED_OPERATION_ON_MISSING_COLUMN_FAMILY
            STATE_STORE_VARIABLE_SIZE_ORDERING_COLS_NOT_SUPPORTED TRANSFORM_WITH_STATE_SCHEMA_MUST_BE_NULLABLE
            UNSUPPORTED_FEATURE.STATE_STORE_MULTIPLE_COLUMN_FAMILIES UNSUPPORTED_FEATURE.STATE_STORE_REMOVING_COLUMN_FAMILIES
            UNSUPPORTED_FEATURE.STATE_STORE_TTL UNSUPPORTED_FEATURE.STORE_BACKEND_NOT_SUPPORTED_FOR_TWS
            """),
    ),
    Unseen(
        "The state reader was given options that it does not take; the message says which.",
        "The options of the reader are in the code that reads.",
        "Correct the options. The checkpoint is only read and is not the cause.",
        _ids("""
            STATE_STORE_PROVIDER_DOES_NOT_SUPPORT_FINE_GRAINED_STATE_REPLAY STDS_CONFLICT_OPTIONS STDS_INVALID_OPTION_VALUE
            STDS_INVALID_OPTION_VALUE.IS_EMPTY STDS_INVALID_OPTION_VALUE.IS_NEGATIVE STDS_INVALID_OPTION_VALUE.WITH_MESSAGE
            STDS_REQUIRED_OPTION_UNSPECIFIED STATE_REPARTITION_INVALID_PARAMETER STATE_REPARTITION_INVALID_PARAMETER.IS_EMPTY
            STATE_REPARTITION_INVALID_PARAMETER.IS_NOT_GREATER_THAN_ZERO STATE_REPARTITION_INVALID_PARAMETER.IS_NULL
            """),
        ("none",),
    ),
    Unseen(
        "Spark did something in an order that it takes for a bug of its own. The batch is not committed.",
        "What the tasks did is in the logs of the driver and the executors.",
        "Start again: the batch runs again. If it comes back, report it to Spark with the whole trace.",
        _ids("""
            CANNOT_LOAD_STATE_STORE.INVALID_CHANGE_LOG_WRITER_VERSION STATE_REWRITER_INVALID_CHECKPOINT.MISSING_KEY_ENCODER_SPEC
            STATE_STORE_INVALID_STAMP STATE_STORE_INVALID_STATE_MACHINE_TRANSITION STATE_STORE_OPERATION_OUT_OF_ORDER
            STATE_STORE_UNKNOWN_INTERNAL_COLUMN_FAMILY STDS_INTERNAL_ERROR
            """),
        ("restart",),
    ),
    Unseen(
        "The Python process on the driver that runs the query's Python code did not start.",
        "The environment of the driver is not in the files.",
        "Check the Python of the driver (PYSPARK_PYTHON, packages, memory) and start again. The checkpoint is"
        " not the cause.",
        _ids("""
            STREAMING_PYTHON_RUNNER_INITIALIZATION_COMMUNICATION_FAILURE STREAMING_PYTHON_RUNNER_INITIALIZATION_FAILURE
            STREAMING_PYTHON_RUNNER_INITIALIZATION_TIMEOUT_FAILURE
            """),
        ("restart",),
    ),
    Unseen(
        "Data between two tasks was lost or came late on the network. The batch is not committed.",
        "Network and machines are not in the files.",
        "Start again: the batch runs again.",
        _ids("""
            STREAMING_SHUFFLE_CHECKSUM_VERIFICATION_FAILED STREAMING_SHUFFLE_INCORRECT_SEQUENCE_NUMBER
            STREAMING_SHUFFLE_UNEXPECTED_MESSAGE_TYPE STREAMING_SHUFFLE_WRITER_CONNECTION_TIMEOUT
            """),
        ("restart",),
    ),
    Unseen(
        "Spark Connect was asked about a query that it does not know, or after it had ended.",
        "Sessions and running queries are not in the files.",
        "Ask again with the id of a query that runs. The checkpoint is not the cause.",
        _ids("""
            CONNECT_INVALID_PLAN.MULTIPLE_PATHS_NOT_SUPPORTED_FOR_STREAMING_SOURCE CONNECT_INVALID_PLAN.STREAMING_QUERY_NOT_FOUND
            CONNECT_INVALID_PLAN.STREAMING_QUERY_RUN_ID_MISMATCH INVALID_PARAMETER_VALUE.STREAMING_LISTENER_COMMAND_MISSING
            SPARK_CONNECT_ILLEGAL_STATE.STREAMING_QUERY_UNEXPECTED_RETURN_VALUE
            SPARK_CONNECT_ILLEGAL_STATE.STREAM_LIFECYCLE_ALREADY_COMPLETED
            SPARK_CONNECT_ILLEGAL_STATE.STREAM_LIFECYCLE_EVENT_SEND_AFTER_SHUTDOWN _LEGACY_ERROR_TEMP_2131
            """),
        ("none",),
    ),
    Unseen(
        "The definition of a declarative pipeline is not allowed as it is; the message says what.",
        "The definition of a pipeline is not in the checkpoint.",
        "Change the pipeline as the message says. The checkpoint is not the cause.",
        _ids("""
            APPEND_ONCE_FROM_BATCH_QUERY AUTOCDC_MISSING_SOURCE CHANGELOG_CONTRACT_VIOLATION.NULL_COMMIT_TIMESTAMP
            INVALID_FLOW_QUERY_TYPE.AUTOCDC_RELATION_FOR_TEMPORARY_VIEW INVALID_FLOW_QUERY_TYPE.BATCH_RELATION_FOR_STREAMING_TABLE
            INVALID_FLOW_QUERY_TYPE.STREAMING_RELATION_FOR_MATERIALIZED_VIEW INVALID_FLOW_QUERY_TYPE.STREAMING_RELATION_FOR_ONCE_FLOW
            INVALID_FLOW_QUERY_TYPE.STREAMING_RELATION_FOR_PERSISTED_VIEW INVALID_RESETTABLE_DEPENDENCY
            USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE
            """),
    ),
    Unseen(
        "This is about checkpoints of RDDs (SparkContext.setCheckpointDir), not about the checkpoint of a"
        " streaming query.",
        "RDD checkpoints are kept elsewhere and have nothing to do with these files.",
        "Give SparkContext.setCheckpointDir a directory on shared storage that is kept while the application"
        " runs.",
        _ids("""
            CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND _LEGACY_ERROR_TEMP_3011 _LEGACY_ERROR_TEMP_3016 _LEGACY_ERROR_TEMP_3017
            _LEGACY_ERROR_TEMP_3018 _LEGACY_ERROR_TEMP_3019 _LEGACY_ERROR_TEMP_3020
            """),
        ("none",),
    ),
)
