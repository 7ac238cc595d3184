"""What the errors of Delta tables and Iceberg tables mean, as source and as sink. What to look at and which
options fit; the texts are in ``core/messages/errors_tables.py``."""

from __future__ import annotations

from collections.abc import Mapping

from core.analysis.errors.model import Kind, Meaning, RecoveryOption, meanings
from core.messages.errors_tables import TEXTS

_RESTART: tuple[RecoveryOption, ...] = ("restart",)

_PENDING = Kind(options=_RESTART, look=("pending",))
_QUERY = Kind(options=("change_query",), look=("delta", "pending"))
_QUERY_OR_RESET = Kind(options=("change_query", "reset"), look=("delta", "pending"))

TABLES: Mapping[str, Meaning] = meanings(
    TEXTS,
    {
        "DELTA_MISSING_FILES_UNEXPECTED_VERSION": Kind(
            options=(
                "repair",
                "reset",
                "backup_and_backfill",
            ),
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_STREAMING_TRAILING_COMMIT_MISSING": Kind(
            options=(
                "repair",
                "reset",
                "backup_and_backfill",
            ),
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_VERSION_NOT_FOUND": Kind(
            options=("reset",),
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE": Kind(
            options=(
                "backup_and_backfill",
                "full_refresh",
            ),
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_LOG_FILE_NOT_FOUND": Kind(
            options=(
                "reset",
                "full_refresh",
            ),
            look=(
                "delta",
                "pending",
            ),
        ),
        "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE": Kind(
            options=(
                "change_query",
                "reset",
                "full_refresh",
            ),
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_SCHEMA_NOT_SET": _QUERY_OR_RESET,
        "DELTA_VERSIONS_NOT_CONTIGUOUS": Kind(
            options=("restore",),
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_TRUNCATED_TRANSACTION_LOG": Kind(
            options=("restore",),
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_TABLE_NOT_FOUND": _QUERY_OR_RESET,
        "DELTA_PATH_DOES_NOT_EXIST": _QUERY_OR_RESET,
        "DELTA_SOURCE_TABLE_IGNORE_CHANGES": Kind(
            options=(
                "change_query",
                "full_refresh",
            ),
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_SOURCE_IGNORE_DELETE": _QUERY,
        "DELTA_STREAMING_METADATA_EVOLUTION": Kind(
            options=_RESTART,
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION": Kind(
            options=(
                "change_query",
                "restart",
            ),
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_SCHEMA_CHANGED": Kind(
            options=_RESTART,
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE": _QUERY_OR_RESET,
        "DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT": _QUERY,
        "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT": _QUERY,
        "DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED": Kind(
            options=(
                "restore",
                "repair",
            ),
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID": Kind(
            options=("reset",),
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_METADATA_PATH_MOVED": Kind(
            options=("repair",),
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_INVALID_SOURCE_OFFSET_FORMAT": Kind(
            options=(
                "change_query",
                "restore",
                "reset",
            ),
            look=(
                "delta",
                "pending",
            ),
        ),
        "DELTA_TIMESTAMP_GREATER_THAN_COMMIT": _QUERY,
        "DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET": _QUERY,
        "DELTA_METADATA_MISMATCH": Kind(
            options=(
                "change_query",
                "restart",
            ),
            look=("pending",),
        ),
        "DELTA_CONCURRENT_APPEND": _PENDING,
        "DELTA_CONCURRENT_DELETE_READ": _PENDING,
        "DELTA_CONCURRENT_DELETE_DELETE": _PENDING,
        "DELTA_CONCURRENT_WRITE": _PENDING,
        "DELTA_METADATA_CHANGED": _PENDING,
        "DELTA_PROTOCOL_CHANGED": _PENDING,
        "DELTA_CONCURRENT_TRANSACTION": Kind(
            look=(
                "metadata",
                "pending",
            )
        ),
        "ICEBERG_SNAPSHOT_EXPIRED": Kind(
            options=(
                "restart",
                "reset",
            ),
            look=("sources",),
        ),
        "ICEBERG_OVERWRITE": Kind(options=("change_query",), look=("sources",)),
    },
)
