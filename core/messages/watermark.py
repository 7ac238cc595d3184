"""What the watermark page says of the query's watermark."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # The conclusion, in parts.
    "in_force": "Watermark in force in batch {batch_id}: {ms:moment}",
    "none_yet": "Watermark in force in batch {batch_id}: none yet",
    "behind": "{lag_ms:duration} behind the batch",
    "ahead": "{lag_ms:duration} ahead of the batch",
    "stall": "it did not move for {count:counted batch} ({first} to {last})",
    "moved": "it moved {moves:counted time} in {count:counted batch}",
    "did_not_move": "it did not move in {count:counted batch}",
    "headline": "{parts}.",
    # What may hold it back.
    "source": "source {key} ({kind})",
    "held_back_by_source": (
        "No new data came from {sources:listed} in these batches; with multipleWatermarkPolicy min that holds"
        " the watermark back."
    ),
    "held_back_by_input": (
        "Every source had data, so on one of them the newest event time did not grow: event times that are"
        " null, constant or old (the logs do not show on which)."
    ),
    "held_back_by_data": (
        "The newest event time of the data did not grow: event times that are null, constant or old."
    ),
    "held_back_by_future": (
        "It is ahead of the clock: only a row whose event time is later still can move it, so rows with right"
        " event times do not."
    ),
    # The rule of the query.
    "rule": (
        "The watermark for batch N + 1 is the newest event time seen up to batch N, minus the delay of"
        " withWatermark. It never goes back. Batch N + 1 evicts state that ended before it. From Spark 3.4 on"
        " late rows are judged by the watermark of the batch before: batch N + 1 drops rows older than the"
        " watermark of batch N (older than its own, with Spark before 3.4 or"
        " spark.sql.streaming.statefulOperator.allowMultiple = false)."
    ),
    "rule_max": "With several watermarks in the query the largest counts ({key} = max).",
    "rule_min": (
        "With several watermarks in the query the smallest counts ({key} = min). An input without new rows"
        " delays all of them."
    ),
    "rule_default": (
        "With several watermarks in the query the smallest counts ({key} is not in the log, so min). An"
        " input without new rows delays all of them."
    ),
}
