"""What the integrity check says of a query that could be started and does not do well: watermark, state,
progress, size and place of the checkpoint."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # The watermark.
    "watermark_stalled": (
        "The watermark has not moved since batch {first}, although {data_batches:counted batch} up to batch"
        " {last} had data: it is still {ms:moment}. No window closes and nothing is removed from the state."
    ),
    "watermark_without_value": (
        "The watermark has had no value since batch {first}, although {data_batches:counted batch} up to"
        " batch {last} had data. No window closes and nothing is removed from the state."
    ),
    "with_reason": "{sentence} {reason}",
    # The state.
    "name_not_known": "name not known",
    "state_skewed": (
        "Partition {partition_id} of operator {operator_id} ({name}) has {size_bytes:size} of the state in"
        " store {store}, {share:.0%} of it and {ratio:.0f} times the median ({median:size}): its task takes"
        " longest in every batch."
    ),
    "rows_grow_no_watermark": (
        "The state of operator {operator_id} grew from {first:,} to {last:,} rows ({partitions:counted"
        " partition} of it looked at), and there is no watermark: nothing is removed from it."
    ),
    "rows_grow_still": (
        "The state of operator {operator_id} grew from {first:,} to {last:,} rows ({partitions:counted"
        " partition} of it looked at) while the watermark did not move: nothing is removed from it."
    ),
    # The newest batch.
    "pending": (
        "Batch {batch_id} was planned {age_ms:duration} ago and is not committed: it is running now, or the"
        " next start re-runs it with the same end offsets."
    ),
    "pending_long": (
        "Batch {batch_id} was planned {age_ms:duration} ago and is not committed, while a batch of this query"
        " usually takes {usual_ms:duration}. Either the query has stopped, or the batch is still running, or"
        " it fails at each attempt: the files of the checkpoint do not show which."
    ),
    "pending_tried": (
        "Batch {batch_id} was planned {age_ms:duration} ago and is not committed, while a batch of this query"
        " usually takes {usual_ms:duration}. {path} was written {later_ms:duration} after the batch was"
        " planned, so it ran for that long or was tried again: it may fail at each attempt."
    ),
    "slowing": (
        "A batch took {before_ms:duration} at first (batches {first} to {first_end}) and takes"
        " {after_ms:duration} now (batches {last_begin} to {last}), {ratio:.1f} times as long (medians of"
        " batches with data). {reason}"
    ),
    "slowing_input": "The input per batch has grown {ratio:.1f} times meanwhile.",
    "slowing_no_input": (
        "The input per batch has not grown in proportion: the state, the sink or the cluster takes longer."
    ),
    "slowing_not_known": "How much input the batches had is not known from the files.",
    "behind_broker": (
        "Source {key} is {lag:,} offsets behind the newest records, as much as {batches:,} batches of their"
        " usual size ({usual:,} offsets)."
    ),
    "behind_limit": (
        "Each of the newest {batches:,} batches took as much from source {key} as the one before ({amount:,}"
        " {unit}) and began when that one ended: the query runs at its rate limit and may be falling behind."
        " How much is waiting is not in the checkpoint."
    ),
    # Size and place.
    "long_retention": (
        "{kept:,} batches are kept ({ids:batches}). Spark keeps 101 unless"
        " spark.sql.streaming.minBatchesToRetain is set; each batch lists the logs, and the state keeps as"
        " many versions."
    ),
    "inside_data": (
        "The checkpoint is inside the data of the {end} ({url}): readers of that directory may take its files"
        " for data, and VACUUM of a Delta table deletes them."
    ),
    # The past of the sink.
    "two_sentences": "{first} {second}",
    "sink_run": "query {writer_id} ({ids:batches}, {rows}, versions {first_version} to {last_version})",
    "sink_rows_unknown": "rows not known",
    "sink_other_query": (
        "The table was written by {earlier} and after that, with the same numbers, by {later}; {own}."
    ),
    "sink_later": "the later one is the query of this checkpoint",
    "sink_earlier": "the earlier one is the query of this checkpoint",
    "sink_first_rows": (
        "Batch 0 of the later one has {rows:counted row}, and the earlier one had {all_rows:number} in all: a"
        " source without a limit is read in one batch, so if the checkpoint was deleted and the query started"
        " again from the beginning, these rows are in the table twice."
    ),
    "sink_same_rows": (
        "{common:counted batch} of both {common:one has/have} the same number and the same number of rows: if"
        " the checkpoint was deleted and the query started again from the beginning, these rows are in the"
        " table twice."
    ),
    "sink_other_rows": (
        "Their batches have different numbers of rows. Whether the later query read the same records again"
        " depends on where it started."
    ),
    "sink_twice": (
        "The table has {ids:batches} of this query twice (batch {batch_id} in versions {first} and {second}),"
        " with no RESTORE or overwrite in between: the rows are in it twice."
    ),
    "sink_gap": (
        "The table has no version for {ids:batches} of this query, although it has the batches before and"
        " after (versions {first_version} to {last_version}, all read): the rows are missing, or were written"
        " in another way."
    ),
    "sink_skipped": (
        "The sink had {ids:batches} before the batches with these numbers were planned here: Spark skipped"
        " what they computed. Rows that the earlier batches of these numbers did not have are missing."
    ),
    "sink_files_gone": (
        "_spark_metadata names {files:counted data file} that {files:one is/are} no longer in the output, for"
        " example {example}: their rows are gone, and Spark cannot read the output (file not found)."
    ),
    "sink_files_elsewhere": (
        "_spark_metadata names data files in {place}, not in {url}: the output was moved or copied. Spark"
        " writes on here, and readers look for those files there: without the old place they do not get the"
        " rows written before, or fail. Move the output back, or let readers set"
        " spark.sql.streaming.fileStreamSink.ignoreMetadata=true."
    ),
    "sink_no_files": (
        "_spark_metadata names {files:counted data file} and the output has no data file at all: it was"
        " emptied, or only its log was copied here."
    ),
    "sink_files_unknown": (
        "{files:counted data file} in the output {files:one is/are} in no entry of _spark_metadata, for"
        " example {example}: left by a batch that did not finish, or written by somebody else. Spark's own"
        " readers ignore {files:one it/them}; readers that take all files count those rows."
    ),
}
