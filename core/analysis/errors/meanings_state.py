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
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_SNAPSHOT_FILE": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.INVALID_CHECKPOINT_LINEAGE": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.AUTO_SNAPSHOT_REPAIR_FAILED": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_CHECKPOINT": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_KEY_SIZE": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_SNAPSHOT_FILE_KEY_SIZE": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_SNAPSHOT_FILE_VALUE_SIZE": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.UNEXPECTED_FILE_SIZE": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.UNEXPECTED_VERSION": Kind(in_files=True, look=("logs",)),
        "CANNOT_LOAD_STATE_STORE.INVALID_CHANGE_LOG_READER_VERSION": Kind(
            finding="STATE_NOT_RESTORABLE",
            look=(
                "state",
                "version",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.SNAPSHOT_PARTITION_ID_NOT_FOUND": Kind(
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.KEY_ROW_FORMAT_VALIDATION_FAILURE": Kind(
            options=(
                "change_query",
                "restore",
                "reset",
            ),
            look=(
                "operators",
                "state",
                "version",
            ),
        ),
        "CANNOT_LOAD_STATE_STORE.VALUE_ROW_FORMAT_VALIDATION_FAILURE": Kind(
            options=(
                "change_query",
                "restore",
                "reset",
            ),
            look=(
                "operators",
                "state",
                "version",
            ),
        ),
        "STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE": Kind(
            options=(
                "change_query",
                "restore",
                "reset",
            ),
            look=(
                "operators",
                "state",
                "version",
            ),
        ),
        "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE": Kind(
            options=(
                "change_query",
                "restore",
                "reset",
            ),
            look=(
                "operators",
                "state",
                "version",
            ),
        ),
        "STATE_ROW_FORMAT_INVALID": Kind(
            options=(
                "change_query",
                "restore",
                "reset",
            ),
            look=(
                "operators",
                "state",
                "version",
            ),
        ),
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
        "CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR": Kind(options=_RESTART, look=("pending",)),
        "CANNOT_LOAD_STATE_STORE.FAILED_TO_GET_CHANGELOG_WRITER": Kind(options=_RESTART, look=("pending",)),
        "CANNOT_WRITE_STATE_STORE": Kind(
            options=_RESTART,
            look=(
                "pending",
                "state",
            ),
        ),
        "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED": Kind(
            options=_BACK,
            finding="STATE_NOT_RESTORABLE",
            in_files=True,
            look=(
                "state",
                "forecast",
            ),
        ),
        "STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED": Kind(options=_BACK, look=("state",)),
        "STATE_STORE_UNEXPECTED_EMPTY_FILE_IN_ROCKSDB_ZIP": Kind(options=_RESTART, look=("pending",)),
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
        "TRANSFORM_WITH_STATE_UNKNOWN": Kind(look=("version",)),
        "ROCKSDB_FILE_TOO_NEW": Kind(look=("version",)),
        "STREAM_STREAM_JOIN_INCONSISTENT_STATE": Kind(options=_BACK, look=("state",)),
        "STREAM_STREAM_JOIN_INCONSISTENT_STATE.NULL_VALUE": Kind(options=_BACK, look=("state",)),
        "STREAM_STREAM_JOIN_INCONSISTENT_STATE.RANGE_SCAN_TIMESTAMP_OUT_OF_RANGE": Kind(
            options=_BACK, look=("state",)
        ),
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
        "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE": Kind(
            options=_NEW,
            look=(
                "operators",
                "pending",
                "version",
            ),
        ),
        "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE": Kind(
            options=_NEW,
            look=(
                "operators",
                "pending",
                "version",
            ),
        ),
        "STATE_SCHEMA_NOT_COMPATIBLE": Kind(
            options=_NEW,
            look=(
                "operators",
                "pending",
                "version",
            ),
        ),
        "STATE_STORE_COLUMN_FAMILY_SCHEMA_INCOMPATIBLE": Kind(
            options=_NEW,
            look=(
                "operators",
                "pending",
                "version",
            ),
        ),
        "STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION": Kind(
            options=_NEW,
            look=(
                "operators",
                "pending",
                "version",
            ),
        ),
        "STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE": Kind(
            options=_NEW,
            look=(
                "operators",
                "pending",
                "version",
            ),
        ),
        "STATE_STORE_STATE_SCHEMA_FILES_THRESHOLD_EXCEEDED": Kind(
            options=("change_query",), look=("operators",)
        ),
        "STATE_STORE_VALUE_SCHEMA_EVOLUTION_THRESHOLD_EXCEEDED": Kind(
            options=("change_query",), look=("operators",)
        ),
        "STATE_REPARTITION_INVALID_CHECKPOINT": Kind(
            options=("repartition",),
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_ABANDONED_REPARTITION": Kind(
            options=("repartition",),
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FAILED": Kind(
            options=_RESTART,
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STATE_REPARTITION_INVALID_CHECKPOINT.MISSING_OFFSET_SEQ_METADATA": Kind(
            options=_RESTART,
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STATE_REPARTITION_INVALID_CHECKPOINT.NO_BATCH_FOUND": Kind(
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STATE_REPARTITION_INVALID_CHECKPOINT.NO_COMMITTED_BATCH": Kind(
            options=_RESTART,
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
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
        "STATE_REPARTITION_INVALID_CHECKPOINT.SHUFFLE_PARTITIONS_ALREADY_MATCH": Kind(
            options=_RESTART,
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_OFFSET_SEQ_VERSION": Kind(
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
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
        "STATE_REWRITER_INVALID_CHECKPOINT": Kind(
            options=("repartition",),
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STATE_REWRITER_INVALID_CHECKPOINT.MISSING_OPERATOR_METADATA": Kind(
            options=_RESTART,
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STATE_REWRITER_INVALID_CHECKPOINT.STATE_CHECKPOINT_FORMAT_VERSION_MISMATCH": Kind(
            options=("repartition",),
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STATE_REWRITER_INVALID_CHECKPOINT.UNSUPPORTED_STATE_STORE_METADATA_VERSION": Kind(
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STDS_COMMITTED_BATCH_UNAVAILABLE": Kind(
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STDS_OFFSET_LOG_UNAVAILABLE": Kind(
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STDS_OFFSET_METADATA_LOG_UNAVAILABLE": Kind(
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STDS_NO_PARTITION_DISCOVERED_IN_STATE_STORE": Kind(
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
        "STDS_MIXED_CHECKPOINT_FORMAT_VERSIONS_NOT_SUPPORTED": Kind(
            in_files=True,
            look=(
                "logs",
                "state",
            ),
        ),
    },
)
