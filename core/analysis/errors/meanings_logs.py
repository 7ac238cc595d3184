"""What the errors about the checkpoint's own files mean: metadata, offset log, commit log, source logs, and
who uses the directory. What to look at and which options fit; the texts are in
``core/messages/errors_logs.py``."""

from __future__ import annotations

from collections.abc import Mapping

from core.analysis.errors.model import GENERAL, OUTERMOST, VAGUE, Kind, Meaning, meanings
from core.messages.errors_logs import TEXTS

_METADATA = Kind(
    options=("repair", "restore"), finding="METADATA_UNREADABLE", in_files=True, look=("metadata", "forecast")
)
_LOG_FILE = Kind(
    options=("repair", "restore"), finding="LOG_FILE_UNREADABLE", in_files=True, look=("logs", "forecast")
)

LOGS: Mapping[str, Meaning] = meanings(
    TEXTS,
    {
        "STREAM_FAILED": Kind(
            weight=OUTERMOST,
            in_files=True,
            look=(
                "forecast",
                "pending",
            ),
        ),
        "JOB_ABORTED": Kind(
            weight=OUTERMOST,
            look=(
                "forecast",
                "pending",
            ),
        ),
        "INTERNAL_ERROR": Kind(weight=VAGUE, in_files=True, look=("forecast",)),
        "ASSERTION_FAILED": Kind(
            options=(
                "repair",
                "restore",
                "reset",
            ),
            weight=VAGUE,
            in_files=True,
            look=(
                "forecast",
                "logs",
            ),
        ),
        "STREAMING_CHECKPOINT_MISSING_METADATA_FILE": Kind(
            options=(
                "repair",
                "restore",
            ),
            finding="METADATA_MISSING",
            in_files=True,
            look=(
                "metadata",
                "forecast",
            ),
        ),
        "METADATA_NOT_JSON": _METADATA,
        "METADATA_WITHOUT_ID": _METADATA,
        "METADATA_BAD_ID": _METADATA,
        "LOG_FILE_INCOMPLETE": _LOG_FILE,
        "LOG_FILE_NOT_JSON": Kind(
            options=(
                "repair",
                "restore",
            ),
            finding="LOG_FILE_UNREADABLE",
            weight=GENERAL,
            in_files=True,
            look=(
                "metadata",
                "logs",
                "forecast",
            ),
        ),
        "LOG_FILE_ONLY_VERSION": Kind(
            options=(
                "repair",
                "restore",
            ),
            finding="LOG_FILE_UNREADABLE",
            weight=GENERAL,
            in_files=True,
            look=(
                "logs",
                "forecast",
            ),
        ),
        "LOG_FILE_NO_METADATA": Kind(
            options=("repair", "restore", "change_query", "reset"),
            finding="LOG_FILE_UNREADABLE",
            in_files=True,
            look=("mode", "logs", "forecast"),
        ),
        "CONTINUOUS_ON_MICRO_BATCHES": Kind(
            options=("change_query", "reset"), weight=GENERAL, look=("metadata", "mode", "sources")
        ),
        "MALFORMED_LOG_FILE": _LOG_FILE,
        "INVALID_LOG_VERSION": Kind(
            finding="LOG_VERSION_UNKNOWN",
            in_files=True,
            look=(
                "logs",
                "version",
            ),
        ),
        "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION": Kind(
            finding="LOG_VERSION_UNKNOWN",
            in_files=True,
            look=(
                "logs",
                "version",
            ),
        ),
        "INVALID_LOG_VERSION.EXACT_MATCH_VERSION": Kind(
            options=("restart",),
            finding="LOG_VERSION_UNKNOWN",
            in_files=True,
            look=(
                "logs",
                "version",
            ),
        ),
        "PREVIOUS_BATCH_NOT_FOUND": Kind(
            options=(
                "restore",
                "reset",
            ),
            finding="OFFSET_GAP",
            in_files=True,
            look=(
                "logs",
                "forecast",
            ),
        ),
        "BATCH_DOES_NOT_EXIST": Kind(
            options=(
                "repair",
                "restore",
            ),
            finding="OFFSET_GAP",
            in_files=True,
            look=(
                "logs",
                "source_logs",
                "forecast",
            ),
        ),
        "BATCHES_DO_NOT_EXIST": Kind(
            options=(
                "repair",
                "restore",
                "reset",
            ),
            finding="SOURCE_LOG_END_MISSING",
            in_files=True,
            look=(
                "source_logs",
                "forecast",
            ),
        ),
        "SOURCE_LOG_ENTRY_MISSING": Kind(
            options=(
                "repair",
                "restore",
            ),
            finding="SOURCE_LOG_GAP",
            in_files=True,
            look=(
                "source_logs",
                "forecast",
            ),
        ),
        "LOG_FILE_CHECKSUM": Kind(
            options=("repair", "restore"),
            finding="HADOOP_CHECKSUM_MISMATCH",
            in_files=True,
            look=("logs", "forecast"),
        ),
        "CONCURRENT_STREAM_LOG_UPDATE": Kind(
            options=(
                "repair",
                "restore",
            ),
            finding="COMMIT_AHEAD",
            in_files=True,
            look=(
                "logs",
                "batch",
                "forecast",
            ),
        ),
        "SKIPPED_BATCH_NEEDS_STATE": Kind(
            options=("rewind", "reset"), finding="SKIPPED_BATCH_NEEDS_STATE", look=("batch", "forecast")
        ),
        "MULTIPLE_QUERIES_USE_CHECKPOINT": Kind(
            options=("repair",),
            finding="STALE_CHECKSUM_FILE",
            look=(
                "checksums",
                "forecast",
            ),
        ),
        "QUERY_ALREADY_ACTIVE": Kind(look=("metadata",)),
        "CONCURRENT_QUERY": Kind(options=("restart",), look=("metadata",)),
        "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY": Kind(
            options=(
                "restore",
                "reset",
            ),
            finding="OLD_FILES_BEFORE_BATCH_0",
            in_files=True,
            look=(
                "logs",
                "state",
                "forecast",
            ),
        ),
        "STREAMING_CHECKPOINT_LOG_WRITE_FAILURE": Kind(
            options=("restart",),
            look=(
                "pending",
                "logs",
            ),
        ),
        "STREAMING_CHECKPOINT_LOG_WRITE_FAILURE.OFFSET_LOG": Kind(
            options=("restart",),
            look=(
                "batch",
                "pending",
            ),
        ),
        "STREAMING_CHECKPOINT_LOG_WRITE_FAILURE.COMMIT_LOG": Kind(
            options=("restart",),
            look=(
                "batch",
                "pending",
            ),
        ),
        "STREAMING_ASYNC_OPERATION_FAILED": Kind(options=("restart",), weight=GENERAL, look=("pending",)),
        "FILE_DOES_NOT_EXIST": Kind(
            options=(
                "restore",
                "repair",
            ),
            weight=GENERAL,
            in_files=True,
            look=("forecast",),
        ),
        "SOURCES_NOT_NAMED": Kind(
            options=("repair", "change_query"), finding="SOURCE_COUNT", look=("logs", "sources", "forecast")
        ),
        "PINNED_SETTING_REFUSED": Kind(
            options=("repair", "restore"),
            finding="SETTINGS_CHANGED",
            in_files=True,
            look=("logs", "forecast"),
        ),
        "NOT_A_NUMBER": Kind(
            options=("restore", "change_query"), weight=VAGUE, in_files=True, look=("sources", "forecast")
        ),
        "SOURCE_COUNT_DIFFERS": Kind(
            options=(
                "change_query",
                "reset",
            ),
            finding="SOURCE_COUNT",
            look=("sources",),
        ),
        "STREAMING_QUERY_EVOLUTION_ERROR.CANNOT_ENABLE_ON_EXISTING_CHECKPOINT": Kind(
            options=(
                "change_query",
                "reset",
            ),
            look=(
                "version",
                "sources",
            ),
        ),
        "SOURCE_OF_ANOTHER_KIND": Kind(
            options=(
                "change_query",
                "reset",
            ),
            look=("sources",),
        ),
        "STREAMING_UNFINISHED_REPARTITION_DETECTED": Kind(
            options=(
                "repartition",
                "repair",
            ),
            finding="UNFINISHED_REPARTITION",
            in_files=True,
            look=(
                "logs",
                "forecast",
            ),
        ),
        "CANNOT_LOAD_CHECKPOINT_FILE_MANAGER": Kind(options=("restart",)),
        "CHECKPOINT_PATH_ESCAPED": Kind(options=("repair",)),
        "SINK_LOG_PATH_ESCAPED": Kind(options=("repair",)),
        "NO_RECOVERY_FROM_CHECKPOINT": Kind(options=("change_query",), look=("metadata",)),
    },
)
