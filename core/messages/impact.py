"""The impact of deleting a checkpoint: what each way of starting again repeats and loses."""

from __future__ import annotations

STARTS: dict[str, str] = {
    "from the beginning": "From the beginning",
    "exact position": "Exact position",
    "old query id kept": "Old query id kept",
}
"""The ways of starting again, by their public names."""

STARTS_MEANING: dict[str, str] = {
    "from the beginning": (
        "A new checkpoint whose query reads everything that the sources still have (Kafka: with"
        " startingOffsets earliest)."
    ),
    "exact position": (
        "A new checkpoint starts where this one ends: by options of the source, or by the script of the"
        ' option "Reset the checkpoint and continue incrementally" in Recovery.'
    ),
    "old query id kept": (
        "The new checkpoint gets the old metadata, so that a Delta table takes the query for the same one."
    ),
}
"""What each way of starting again is."""

SENTENCES: dict[str, str] = {
    "rows": "{n:counted row}",
    "rows_at_most": "at most {n:counted row}",
    "state_lost": "The state is left behind: aggregations, joins and deduplication forget what they held.",
    "state_lost_repeats": "Rows that the deduplication would have dropped are written.",
    "state_gone": (
        "The state is gone already, and a new checkpoint has none either: aggregations, joins and"
        " deduplication forget what they held. Rows that a deduplication would have dropped are written."
    ),
    "state_open": (
        "There is no state, and the files do not tell whether the query keeps any. If it does, a new"
        " checkpoint starts without it, and rows that a deduplication would have dropped are written."
    ),
    "state_from_what_is_there": (
        "The state is built again from the rows that the sources still have; what it held of older rows is"
        " not in the new results."
    ),
    "state_open_from_there": (
        "If the query keeps state, it is built again from the rows that the sources still have; what it held"
        " of older rows is not in the new results."
    ),
    "delta_repeats": "The Delta table does not deduplicate them: the new query id is not in its log.",
    # from the beginning
    "all_again": "From the beginning: everything that the sources still have is written a second time.",
    "read_so_far": "Read so far: {amount}.",
    "rows_not_known": "The number of rows is not known.",
    "not_given": (
        "The number of rows is not known, because {n:one source/sources} {keys:listed} {n:one was/were}"
        " not connected or {n:one does/do} not report it."
    ),
    "rows_reprocessed": (
        "From the beginning: {rows} of the source {n:one is/are} reprocessed, and the"
        " {written:counted row} that they became in the table {written:one is/are} written a second time."
    ),
    "rows_again": (
        "From the beginning: {rows} that {n:one was/were} processed before {n:one is/are} written a second"
        " time."
    ),
    "only_by_key": "Only a sink that overwrites by key is not affected.",
    # from the exact position
    "exact_is_beginning": "Exact position: nothing is committed, so this is a start from the beginning.",
    "exact_not_known": (
        "Exact position, after batch {batch}: not known, because offsets/{batch} is missing or could not be"
        " read. A start after an earlier batch repeats the rows of every batch since."
    ),
    "exact_expired": (
        "Exact position, after batch {batch}: nothing is repeated. Lost, with or without deleting: {rows}"
        " that Kafka no longer has."
    ),
    "exact_gone": (
        "Exact position, after batch {batch}: no longer available, with or without deleting: {gone}."
    ),
    "exact_pending": (
        "Exact position, after batch {batch}: no row is skipped. Batch {pending} is reprocessed, and its"
        " rows that were already written to the sink are duplicated, as after a plain restart."
    ),
    "exact_pending_lacks": (
        "Exact position, after batch {batch}. Batch {pending} is reprocessed from input that is no longer as"
        " it was, and its rows that were already written to the sink are duplicated, as after a plain"
        " restart."
    ),
    "exact_lacks": (
        "Exact position, after batch {batch}: no row is read twice. The input of the next batch is no longer"
        " as it was."
    ),
    "exact_never_read": (
        "Exact position, after batch {batch}: no row is read twice, and some are never read. As the forecast"
        " says: {sentence}"
    ),
    "broker_unasked": (
        "Whether Kafka still has all records after the position was not asked: what has expired is lost with"
        " any start."
    ),
    "as_forecast": "As the forecast says: {sentence}",
    "exact_not_logged": (
        "Exact position, after batch {batch}: no row is skipped. Rows that the query wrote after it and that"
        " no log names are duplicated, as after a plain restart."
    ),
    "exact_elsewhere": (
        "Exact position, after batch {batch}: no row is skipped. A file source is to read another place than"
        " its log names: files that were moved or copied there count as new, and their rows are read twice."
    ),
    "exact_forgotten": (
        "Exact position, after batch {batch}: no row is skipped. The log of a file source has lost entries:"
        " the files that they named count as new, and their rows are read twice if they are still there."
    ),
    "exact_by_log": (
        "Exact position, after batch {batch}, which a file source takes from a source log written beforehand"
        " (reset): no row is read twice and none is skipped."
    ),
    "exact": "Exact position, after batch {batch}: no row is read twice and none is skipped.",
    "source_skips": "source {key} skips {skips}",
    "exact_behind": (
        "Exact position, after batch {batch}: the table already has batches up to {newest}, so"
        " {written:counted row} of {ids:batches} {written:one is/are} written a second time, unless the"
        " table is first rolled back to batch {batch} (RESTORE)."
    ),
    "exact_behind_uncounted": (
        "Exact position, after batch {batch}: the table already has batches up to {newest}, so the rows of"
        " {ids:batches} are written a second time, unless the table is first rolled back to batch {batch}"
        " (RESTORE)."
    ),
    "exact_rolled_back": (
        "Exact position, after batch {batch}: what comes after it is in the sink already. {sentence}"
    ),
    "exact_log_gone": (
        "Exact position, after batch {batch}: not available. It rests on the log of source {key}, which is"
        " missing or does not reach this batch: every input file that still exists is read again."
    ),
    # with the old query id
    "old_id": (
        "Old query id kept (metadata restored, logs emptied): batch IDs start at 0 again, and a Delta"
        " table that has committed these batch IDs of this query skips the new batches with their rows."
    ),
    "old_id_no_batch": (
        "Old query id kept, at the exact position: the sink has no batch of this query, so nothing is"
        " skipped."
    ),
    "old_id_skips": (
        "Old query id kept, at the exact position: the table skips {ids:batches} because it has already"
        " committed these batch IDs, regardless of content."
    ),
    "not_counted": "How many new rows that loses was not counted.",
    "all_waiting": "That loses all {rows} that are waiting now.",
    "up_to_waiting": (
        "That loses up to {n:counted row} that {n:one is/are} waiting now, depending on how they are split"
        " into batches."
    ),
    # the file sink
    "unless_file_sink": (
        "This holds unless the sink is a file sink: that skips {ids:batches} of a new checkpoint."
    ),
    "skipped": (
        "{start}, into the same output: {ids:batches} {n:one is/are} skipped because the sink has already"
        " committed {n:one this batch ID/these batch IDs}, regardless of content. Write to a new output"
        " directory instead."
    ),
}
