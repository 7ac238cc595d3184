"""The recovery options, the questions and what each kind of sink does."""

from __future__ import annotations

TITLES: dict[str, str] = {
    "full_refresh": "Full table refresh",
    "backup_and_backfill": "Full refresh with backup and backfill",
    "reset": "Reset the checkpoint and continue incrementally",
}
"""The options, by id."""

SINKS: dict[str, str] = {
    "delta": "Delta table, written by the built-in sink",
    "file": "File sink (parquet, json, csv ... with _spark_metadata)",
    "kafka": "Kafka topic",
    "foreach_append": "foreachBatch that appends",
    "foreach_merge": "foreachBatch that merges or overwrites by key",
    "foreach_txn": "foreachBatch into Delta with txnAppId and txnVersion",
    "lakeflow_table": "Lakeflow pipeline table",
    "other": "Something else",
}
"""Where a query writes, by the answer ``sink``."""

BEHAVIOURS: dict[str, str] = {
    "append": "A sink that appends all it gets",
    "overwrite": "A sink that overwrites (by key, or by batch id)",
    "batch_number_aware": "A sink that skips batch ids it has seen (file sink, Delta)",
}
"""What a sink does with a batch it receives a second time."""
