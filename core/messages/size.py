"""How large a checkpoint is, and what Spark removes next."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "all": "Size: {parts:listed}.",
    "part": "{what} {size_bytes:size} in {files:counted file}",
    "logs": "offset and commit log",
    "sources": "source logs",
    "state": "state",
    "no_batch": "No batch is kept.",
    "kept": "Kept: {ids:batches} ({kept:counted batch}).",
    "kept_and_removed": (
        "Kept: {ids:batches} ({kept:counted batch}). When batch {following} is committed, Spark removes"
        " offsets/{removed} and commits/{removed} (spark.sql.streaming.minBatchesToRetain)."
    ),
}
