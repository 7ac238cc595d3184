"""What the errors of files mean: input files, the file sink's log, and the store that the checkpoint lies in.
What to look at and which options fit; the texts are in ``core/messages/errors_files.py``."""

from __future__ import annotations

from collections.abc import Mapping

from core.analysis.errors.model import WRAPPER, Kind, Meaning, RecoveryOption, meanings
from core.messages.errors_files import TEXTS

_RESTART: tuple[RecoveryOption, ...] = ("restart",)

_PENDING = Kind(options=_RESTART, look=("pending",))

FILES: Mapping[str, Meaning] = meanings(
    TEXTS,
    {
        "INPUT_PATH_MOVED": Kind(
            options=(
                "change_query",
                "reset",
            ),
            look=(
                "source_files",
                "pending",
            ),
        ),
        "PATH_NO_URI": Kind(
            options=("restore",),
            finding="SOURCE_LOG_PATH",
            look=(
                "source_files",
                "pending",
            ),
        ),
        "PATH_NOT_FOUND": Kind(options=_RESTART, look=("source_files",)),
        "FAILED_READ_FILE.FILE_NOT_EXIST": Kind(
            options=(
                "restore",
                "restart",
                "backup_and_backfill",
            ),
            look=(
                "pending",
                "source_files",
                "delta",
            ),
        ),
        "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH": Kind(
            options=("change_query", "restart"), look=("pending", "source_files")
        ),
        "FAILED_READ_FILE": Kind(
            options=_RESTART,
            look=(
                "pending",
                "source_files",
            ),
        ),
        "SINK_LOG_ENTRY_MISSING": Kind(
            options=(
                "restore",
                "full_refresh",
            ),
            look=("pending",),
        ),
        "BATCH_METADATA_NOT_FOUND": Kind(
            options=(
                "restore",
                "full_refresh",
            ),
            look=("pending",),
        ),
        "MALFORMED_STATE_IN_RATE_PER_MICRO_BATCH_SOURCE": Kind(
            options=(
                "reset",
                "full_refresh",
            ),
            look=("sources",),
        ),
        "PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR": Kind(
            options=(
                "change_query",
                "restart",
            ),
            weight=WRAPPER,
            look=(
                "sources",
                "pending",
            ),
        ),
        "STORAGE_ACCESS_DENIED": _PENDING,
        "STORAGE_NO_DIRECTORY": _PENDING,
        "STORAGE_CREDENTIALS": _PENDING,
        "STORAGE_NO_BUCKET": Kind(options=_RESTART),
        "STORAGE_SLOW_DOWN": Kind(
            options=_RESTART,
            look=(
                "pending",
                "size",
            ),
        ),
        "STORAGE_UNREACHABLE": _PENDING,
        "STORAGE_FULL": Kind(
            options=(
                "restart",
                "repair",
            ),
            look=(
                "logs",
                "forecast",
                "size",
            ),
        ),
        "STORAGE_WRONG_FS": Kind(options=_RESTART),
        "HADOOP_ON_WINDOWS": Kind(options=_RESTART),
        "HDFS_LEASE_LOST": Kind(options=_RESTART, look=("logs", "pending")),
        "STORAGE_UNKNOWN_SCHEME": Kind(options=_RESTART),
    },
)
