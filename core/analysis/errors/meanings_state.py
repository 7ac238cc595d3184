"""What the errors about state mean: files below ``state/``, their schemas, the operators, repartition,
reading state as a table. What to look at and which options fit; the texts are in
``core/messages/errors_state.py``."""

from __future__ import annotations

from collections.abc import Mapping

from core.analysis.errors.model import GENERAL, VAGUE, Kind, Meaning, RecoveryOption, meanings
from core.messages.errors_state import TEXTS

_BACK: tuple[RecoveryOption, ...] = (
    "restore",
    "rewind",
    "reset",
)
_NEW: tuple[RecoveryOption, ...] = (
    "change_query",
    "reset",
    "full_refresh",
)
_RESTART: tuple[RecoveryOption, ...] = ("restart",)

_NOT_RESTORABLE = Kind(
    options=_BACK, finding="STATE_NOT_RESTORABLE", in_files=True, look=("state", "forecast")
)
_READER = Kind(in_files=True, look=("logs", "state"))
_SCHEMA = Kind(options=_NEW, look=("operators", "pending", "version"))
_ROW_FORMAT = Kind(options=("change_query", "restore", "reset"), look=("operators", "state", "version"))
_REPARTITION_AGAIN = Kind(options=_RESTART, in_files=True, look=("logs", "state"))
_STATE = Kind(options=_BACK, look=("state",))
_REPARTITION = Kind(options=("repartition",), in_files=True, look=("logs", "state"))
_PENDING = Kind(options=_RESTART, look=("pending",))

STATE: Mapping[str, Meaning] = meanings(
    TEXTS,
    {
        "CANNOT_LOAD_STATE_STORE": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            weight=GENERAL,
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            weight=GENERAL,
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS": _NOT_RESTORABLE,
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE": _NOT_RESTORABLE,
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_SNAPSHOT_FILE": _NOT_RESTORABLE,
        "CANNOT_LOAD_STATE_STORE.CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT": _NOT_RESTORABLE,
        "CANNOT_LOAD_STATE_STORE.INVALID_CHECKPOINT_LINEAGE": _NOT_RESTORABLE,
        "CANNOT_LOAD_STATE_STORE.AUTO_SNAPSHOT_REPAIR_FAILED": _NOT_RESTORABLE,
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_CHECKPOINT": _NOT_RESTORABLE,
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_KEY_SIZE": _NOT_RESTORABLE,
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_SNAPSHOT_FILE_KEY_SIZE": _NOT_RESTORABLE,
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_SNAPSHOT_FILE_VALUE_SIZE": _NOT_RESTORABLE,
        "CANNOT_LOAD_STATE_STORE.UNEXPECTED_FILE_SIZE": _NOT_RESTORABLE,
        "CANNOT_LOAD_STATE_STORE.UNEXPECTED_VERSION": Kind(in_files=True, look=("logs",)),
        "CANNOT_LOAD_STATE_STORE.INVALID_CHANGE_LOG_READER_VERSION": Kind(
            finding="STATE_NOT_RESTORABLE",
            look=(
                "state",
                "version",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.SNAPSHOT_PARTITION_ID_NOT_FOUND": _READER,
        "CANNOT_LOAD_STATE_STORE.KEY_ROW_FORMAT_VALIDATION_FAILURE": _ROW_FORMAT,
        "CANNOT_LOAD_STATE_STORE.VALUE_ROW_FORMAT_VALIDATION_FAILURE": _ROW_FORMAT,
        "STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE": _ROW_FORMAT,
        "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE": _ROW_FORMAT,
        "STATE_ROW_FORMAT_INVALID": _ROW_FORMAT,
        "CANNOT_LOAD_STATE_STORE.HDFS_STORE_PROVIDER_OUT_OF_MEMORY": Kind(
            options=(
                "restart",
                "reset",
            ),
            look=("size",),
        ),
        "CANNOT_LOAD_STATE_STORE.ROCKSDB_STORE_PROVIDER_OUT_OF_MEMORY": Kind(
            options=_RESTART, look=("size",)
        ),
        "CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR": _PENDING,
        "CANNOT_LOAD_STATE_STORE.FAILED_TO_GET_CHANGELOG_WRITER": _PENDING,
        "CANNOT_WRITE_STATE_STORE": Kind(
            options=_RESTART,
            look=(
                "pending",
                "state",
            ),
        ),
        "STATE_FILE_NAME_TAKEN": Kind(
            options=("restart", "rewind", "restore"), look=("pending", "state", "forecast")
        ),
        "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED": _NOT_RESTORABLE,
        "STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED": _STATE,
        "STATE_STORE_UNEXPECTED_EMPTY_FILE_IN_ROCKSDB_ZIP": _PENDING,
        "STATE_FILE_DAMAGED": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            weight=VAGUE,
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "STATE_IDS_DO_NOT_FIT": Kind(
            options=("repair", "restore"), weight=VAGUE, in_files=True, look=("state", "forecast")
        ),
        "PARTITION_COUNT_UNKNOWN": Kind(
            options=("restart", "restore", "reset"),
            finding="STATE_DEFINITION_UNREADABLE",
            in_files=True,
            look=("state", "forecast"),
        ),
        "STATE_FILE_MISSING": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            weight=GENERAL,
            in_files=True,
            look=("state", "forecast"),
        ),
        "ROCKSDB_FILES_DIFFER": Kind(
            options=("restart", *_BACK), finding="STATE_NOT_RESTORABLE", look=("state", "forecast")
        ),
        "STATE_SCHEMA_UNREADABLE": Kind(
            options=(
                "repair",
                "restore",
            ),
            finding="STATE_SCHEMA_UNREADABLE",
            in_files=True,
            look=(
                "state",
                "operators",
                "forecast",
            ),
        ),
        "UNSUPPORTED_DATATYPE": Kind(
            options=("restore", "change_query"),
            finding="STATE_SCHEMA_UNREADABLE",
            in_files=True,
            look=(
                "operators",
                "forecast",
            ),
        ),
        "TRANSFORM_WITH_STATE_UNKNOWN": Kind(look=("version",)),
        "ROCKSDB_FILE_TOO_NEW": Kind(look=("version",)),
        "STREAM_STREAM_JOIN_INCONSISTENT_STATE": _STATE,
        "STREAM_STREAM_JOIN_INCONSISTENT_STATE.NULL_VALUE": _STATE,
        "STREAM_STREAM_JOIN_INCONSISTENT_STATE.RANGE_SCAN_TIMESTAMP_OUT_OF_RANGE": _STATE,
        "STATE_STORE_BASE_CHECKPOINT_ID_MISMATCH": Kind(
            options=_RESTART,
            look=(
                "state",
                "pending",
            ),
        ),
        "STATE_STORE_COMMIT_VALIDATION_FAILED": Kind(
            options=(
                "change_query",
                "restart",
            ),
            look=(
                "pending",
                "state",
            ),
        ),
        "STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED": Kind(
            options=(
                "change_query",
                "restore",
            ),
            in_files=True,
            look=(
                "version",
                "state",
                "forecast",
            ),
        ),
        "STATE_STORE_INVALID_CONFIG_AFTER_RESTART": Kind(
            options=(
                "change_query",
                "reset",
            ),
            look=("version",),
        ),
        "STATE_STORE_INVALID_PROVIDER": Kind(options=("change_query",), look=("version",)),
        "STREAM_STREAM_JOIN_INCOMPATIBLE_STATE_STORE_CONFIGS": Kind(
            options=(
                "change_query",
                "reset",
            ),
            look=("version",),
        ),
        "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA": Kind(
            options=(
                "change_query",
                "drop_state",
                "reset",
            ),
            finding="OPERATORS_DIFFER",
            look=(
                "operators",
                "pending",
            ),
        ),
        "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY": Kind(
            options=(
                "restore",
                "change_query",
                "reset",
            ),
            finding="STATE_FOLDER_MISSING",
            in_files=True,
            look=(
                "state",
                "pending",
                "forecast",
            ),
        ),
        "STDS_FAILED_TO_READ_OPERATOR_METADATA": Kind(
            options=(
                "restore",
                "reset",
            ),
            finding="OPERATOR_METADATA_MISSING",
            in_files=True,
            look=(
                "operators",
                "state",
                "forecast",
            ),
        ),
        "STDS_FAILED_TO_READ_STATE_SCHEMA": Kind(
            finding="STATE_SCHEMA_UNREADABLE",
            in_files=True,
            look=(
                "state",
                "operators",
            ),
        ),
        "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE": _SCHEMA,
        "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE": _SCHEMA,
        "STATE_SCHEMA_NOT_COMPATIBLE": _SCHEMA,
        "STATE_STORE_COLUMN_FAMILY_SCHEMA_INCOMPATIBLE": _SCHEMA,
        "STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION": _SCHEMA,
        "STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE": _SCHEMA,
        "STATE_STORE_STATE_SCHEMA_FILES_THRESHOLD_EXCEEDED": Kind(
            options=("change_query",), look=("operators",)
        ),
        "STATE_STORE_VALUE_SCHEMA_EVOLUTION_THRESHOLD_EXCEEDED": Kind(
            options=("change_query",), look=("operators",)
        ),
        "STATE_REPARTITION_INVALID_CHECKPOINT": _REPARTITION,
        "STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_ABANDONED_REPARTITION": _REPARTITION,
        "STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FAILED": _REPARTITION_AGAIN,
        "STATE_REPARTITION_INVALID_CHECKPOINT.MISSING_OFFSET_SEQ_METADATA": _REPARTITION_AGAIN,
        "STATE_REPARTITION_INVALID_CHECKPOINT.NO_BATCH_FOUND": _READER,
        "STATE_REPARTITION_INVALID_CHECKPOINT.NO_COMMITTED_BATCH": _REPARTITION_AGAIN,
        "STATE_REPARTITION_INVALID_CHECKPOINT.OFFSET_SEQ_NOT_FOUND": Kind(
            options=(
                "repair",
                "restore",
            ),
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STATE_REPARTITION_INVALID_CHECKPOINT.SHUFFLE_PARTITIONS_ALREADY_MATCH": _REPARTITION_AGAIN,
        "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_OFFSET_SEQ_VERSION": _READER,
        "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_PROVIDER": Kind(
            options=(
                "repair",
                "reset",
            ),
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_STATEFUL_OPERATOR": Kind(
            options=("reset",),
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_TRANSFORM_WITH_STATE_VARIABLE_TYPE": Kind(
            options=("reset",),
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STATE_REWRITER_INVALID_CHECKPOINT": _REPARTITION,
        "STATE_REWRITER_INVALID_CHECKPOINT.MISSING_OPERATOR_METADATA": _REPARTITION_AGAIN,
        "STATE_REWRITER_INVALID_CHECKPOINT.STATE_CHECKPOINT_FORMAT_VERSION_MISMATCH": _REPARTITION,
        "STATE_REWRITER_INVALID_CHECKPOINT.UNSUPPORTED_STATE_STORE_METADATA_VERSION": _READER,
        "STDS_COMMITTED_BATCH_UNAVAILABLE": _READER,
        "STDS_OFFSET_LOG_UNAVAILABLE": _READER,
        "STDS_OFFSET_METADATA_LOG_UNAVAILABLE": _READER,
        "STDS_NO_PARTITION_DISCOVERED_IN_STATE_STORE": _READER,
        "STDS_MIXED_CHECKPOINT_FORMAT_VERSIONS_NOT_SUPPORTED": _READER,
    },
)
