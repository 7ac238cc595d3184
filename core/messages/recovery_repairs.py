"""Recovery options that make a repaired copy of the checkpoint."""

from __future__ import annotations

NOT_EMITTED: dict[str, str] = {
    "stateStoreSave": "windows and totals that were not yet emitted",
    "StatefulStreamlineAggregate": "windows and totals that were not yet emitted",
    "sessionWindowStateStoreSaveExec": "sessions that were not yet emitted",
    "symmetricHashJoin": "rows that waited for a match",
    "other": "what the operator had not yet emitted",
}
"""What only the state held, by Spark's name of the operator."""

SENTENCES: dict[str, str] = {
    "not_in_a_pipeline": "The checkpoint of a Lakeflow pipeline cannot be copied or written by hand.",
    "sink_does_not_fit": (
        "The sink does not fit the checkpoint, so continuing would leave it wrong. {trouble}"
    ),
    "offset_missing": (
        "offsets/{missing} is missing, and Spark reads it to start after offsets/{newest}: the copy would not"
        " start either."
    ),
    "verify_copy": "Compare every copied file with the original.",
    "verify_copy_why": "Content, not only names and sizes.",
    # without the planned batch
    "skip_possible": "Batch {batch} is planned and not committed; a copy of the checkpoint starts after it.",
    "skip_nothing": "No batch is planned, so there is none to skip.",
    "skip_sparse": "Batch {batch} does not follow directly on a committed one, so its range is not known.",
    "skip_state": (
        "Only for a query without state: leaving a batch out of the state was not verified. Filter the rows"
        " that fail in the query."
    ),
    "skip_txn": (
        "Delta may have committed batch {batch} for a txnAppId although the batch failed later, and would"
        " then skip the new rows that come under this batch ID."
    ),
    "skip_unverified": "For this kind of source it was not verified: {sources:listed}.",
    "skip_source": "The end offsets of the planned batch are not known: {sources:listed}.",
    "skip_first_restart": (
        "Only for a batch that fails at every start: a plain start loses nothing. Where the rows that fail"
        " can be filtered in the query, do that and restart: then the other rows of batch {batch} are not"
        " lost."
    ),
    "skip_written_already": "What batch {batch} had written before it failed stays in the sink.",
    "skip_failed_plan": (
        "offsets/{batch} is what a start that failed left behind, and lacks partitions or ends before it"
        " begins: committed as it is, the next start would read them from the beginning. A rewind leaves it"
        " out."
    ),
    "skip_loses": "All rows of batch {batch} ({amount}), also those that do not fail.",
    "skip_repeats": "Nothing. Rows that batch {batch} had written before it failed stay.",
    "skip_or_guard": (
        "Where only the write in foreachBatch fails, the snippet of the restart puts those rows aside"
        " instead, and loses nothing."
    ),
    "best_skip": "Batch {batch} fails at every start; exactly its rows are left out, and nothing else.",
    "skip_range": "Source {key}: from {start} to {end}.",
    "skip_keep": "Keep what batch {batch} would have read, to repair and write it later.",
    "skip_keep_files": "{count:counted file}: {names:listed 5}. The file lists all of them.",
    "skip_copy": "Copy the checkpoint to a new location without the plan of batch {batch}.",
    "skip_copy_why": (
        "In the copy, batch {committed} ends where the planned batch was planned to end; everything else is"
        " as it was."
    ),
    "skip_start_why": (
        "Batch {batch} is planned again under the same batch ID, with what is new. The old checkpoint stays"
        " until you remove it."
    ),
    "skip_constant": "The ranges that are never processed.",
    "skip_mistake": (
        "Writing the missing commit file by hand: the log of a file sink then lacks this batch, and readers"
        " of the output fail."
    ),
    # without the state
    "drop_possible": "All stateful operators are gone from the query, so the state is left out of a copy.",
    "drop_no_state": "The checkpoint has no state.",
    "drop_still_stateful": (
        "Only for a query whose stateful operators were all removed (answer stateful=removed): Spark does not"
        " start a query that keeps state without its state."
    ),
    "drop_keeps_repeats": (
        "From now on duplicates are no longer removed: if the source delivers rows twice, the sink has to"
        " deal with it."
    ),
    "drop_same_sources": (
        "The query must still read the same {count:counted source}: Spark refuses a checkpoint with another"
        " number of sources."
    ),
    "drop_loses": "What only the state held: {lost}.",
    "drop_effort": "One copy; the query itself is not run.",
    "ids_continue": (
        "Query ID and batch IDs continue, so a sink that skips committed batch IDs still recognizes them."
    ),
    "drop_mistake": (
        "Deleting state/ while one stateful operator is left, or in the only copy: the query does not start"
        " any more, and the state is gone."
    ),
    "best_drop": (
        "The state holds nothing that was not emitted; position, query ID and batch IDs continue, so nothing"
        " is lost or repeated."
    ),
    "copy_without_state": "Copy the checkpoint to a new location without state/.",
    "copy_without_state_why": (
        "Offsets, commits, source logs and the query ID stay; the old checkpoint is only read."
    ),
    "start_changed": "Start the changed query with the new checkpoint.",
    "start_changed_why": (
        "A planned batch runs with its planned end offsets. The old checkpoint stays until you remove it."
    ),
    # an older batch
    "rewind_possible": "The logs are complete for batch {batch}: a copy resumes there.",
    "rewind_possible_state": (
        "Logs and state are complete for batch {batch}: a copy resumes there with the state of that batch."
    ),
    "rewind_not_intact": (
        "The state after batch {batch} rests on a file whose content is wrong, or may be. Choose an earlier"
        " batch."
    ),
    "rewind_nothing": "Batch {batch} is the newest one in the logs, so there is nothing to roll back.",
    "rewind_sparse": (
        "With asynchronous progress tracking or continuous processing not every batch has its files, so a"
        " rollback to one batch was not verified."
    ),
    "rewind_other_query": (
        "A rollback keeps the state, so it is for the query as it was (answer stateful=unchanged)."
    ),
    "rewind_state_gone": "The query keeps state, and the checkpoint has none of any batch.",
    "rewind_source": (
        "{sources:listed}: whether this kind of source reads the same data again after a rollback was not"
        " verified."
    ),
    "rewind_txn": (
        "Delta keeps the newest txnVersion of every txnAppId, also after RESTORE, so the batches after batch"
        " {batch} would be skipped, new rows included."
    ),
    "rewind_file_sink": (
        "A file sink skips every batch ID that it has, new rows included, so it must end at batch {batch}"
        " too: give its location (--sink) to have that checked. A Delta table can be restored first (answer"
        " sink=delta)."
    ),
    "rewind_file_sink_at": (
        "The file sink ends at batch {newest}, so it would skip the batches after batch {batch}, new rows"
        " included. Put back an output that ends at batch {batch}, or choose another option."
    ),
    "rewind_one_batch": (
        "A file source gives everything after its position to batch {batch} at once, whatever"
        " maxFilesPerTrigger says: the start needs memory for it."
    ),
    "copy_fails": "The copy would not start either: {sentence}",
    "left_out": "damaged entries of source logs: the input files that they named are listed again",
    "rewind_loses": "Of what is read again: {sentence}",
    "rewind_fails": "A copy at batch {batch} does not start either: {sentence}",
    "rewind_retention": (
        "The broker must still have the records after batch {batch}; the script does not ask it."
    ),
    "rewind_late": (
        "Nothing but this: with other batch boundaries, other late rows may be dropped than the first time."
    ),
    "rewind_repeats": ("Exactly what {ids:batches} wrote ({amount} of input) is written a second time."),
    "rewind_repeats_left": (
        "What {ids:batches} wrote from input that is as it was comes a second time; of changed input the new"
        " rows come beside the old ones."
    ),
    "rewind_repeats_results": (
        "The results of {ids:batches} ({amount} of input) are written a second time; with other batch"
        " boundaries they can come in other steps."
    ),
    "rewind_other_results": (
        "With other batch boundaries {operators:listed} can give other results than without the rollback: a"
        " row can be dropped as a duplicate of one that had expired, or a timer can fire later."
    ),
    "rewind_replaces": (
        "Nothing: the rows of {ids:batches} ({amount} of input) are reprocessed and replace themselves in a"
        " sink that overwrites by key. One that overwrites by batch ID keeps the old rows of the IDs that do"
        " not come again."
    ),
    "rewind_restored": (
        "Nothing, because the table is restored to the version that has batch {batch} first (the script"
        " refuses until it is), and the new checkpoint has a new query ID."
    ),
    "rewind_at_batch": "Nothing: the sink ends at batch {batch} too.",
    "rewind_reads": "Reprocesses {ids:batches}.",
    "rewind_reads_amount": "Reprocesses {ids:batches} ({amount} of input).",
    "rewind_effort": "One copy; the query itself is not run.",
    "rewind_by_sink": "A sink that appends receives {ids:batches} a second time.",
    "rewind_mistake": (
        "Deleting only commits or only offsets, or leaving later state files behind: Spark skips batches,"
        " stops with CONCURRENT_STREAM_LOG_UPDATE, or loads an abandoned snapshot unchecked."
    ),
    "best_rewind": (
        "Everything is complete for batch {batch}, the damage comes after it, and this sink shows no row"
        " twice."
    ),
    "best_rewind_put_back": (
        "The table was put back to batch {batch}: from there the query writes the rows of {ids:batches} once"
        " more, and no row is there twice. If they were taken away on purpose, start the query as it is: the"
        " next batch then brings only what is new."
    ),
    "best_rewind_repeats": (
        "Everything is complete for batch {batch}, and the damage comes after it. This sink gets the rows of"
        " {ids:batches} a second time; reading everything again would repeat all of them."
    ),
    "best_rewind_other": (
        "Everything is complete for batch {batch}, and the damage comes after it. A sink that appends gets"
        " the rows of {ids:batches} a second time; what this one does with a batch that comes again is not"
        " known, so find that out before the start."
    ),
    "rewind_not_first": (
        "A rewind to batch {batch} is less work, but does not come first, because {operators:listed} can give"
        " other results with other batch boundaries. Take it if such differences do not matter to you."
    ),
    "best_rewind_keeps_state": (
        "Everything is complete for batch {batch}, and the damage comes after it. Rows of {ids:batches} may"
        " be written a second time, and other batch boundaries can change results there; a reset would lose"
        " all state."
    ),
    "best_rewind_restore": (
        "Everything is complete for batch {batch}, and the damage comes after it. The table is restored to"
        " that batch first, so no row is there twice, and nothing older is read again."
    ),
    "best_rewind_lossy": (
        "Everything is complete for batch {batch}, and the damage comes after it. Of the input of"
        " {ids:batches} a part is gone; the other options lose that too, and the state or older rows with it."
    ),
    "restore_table": "Restore the Delta table to the version that has batch {batch}.",
    "restore_table_why": (
        "You do it with RESTORE TABLE; the script names the version and refuses until it is done. Rows of"
        " {ids:batches} would be there twice, or new rows would be skipped."
    ),
    "load_state": "Load the state after batch {batch} with the state reader of Spark.",
    "load_state_why": "Every partition of every store, before anything is copied, and again from the copy.",
    "state_unread": (
        "The state after batch {batch} is not loaded before the start: Spark {spark} has no state reader."
    ),
    "state_unread_why": (
        "The first start loads it. The script names it as not checked and ends with exit status 5 at best."
    ),
    "copy_up_to": (
        "Copy the checkpoint to a new location up to batch {batch}: offsets, commits, state of this and"
        " earlier batches, and the source logs."
    ),
    "copy_up_to_why": "The query ID stays; the old checkpoint is only read.",
    "copy_up_to_why_new_id": (
        "The copy gets a new query ID, because the table skips the batch IDs it has committed for the"
        " old one."
    ),
    "start_same": "Start the same query with the new checkpoint.",
    "start_same_why": (
        "Batch {batch} reads what {ids:batches} had read, and what is new. The old checkpoint stays until you"
        " remove it."
    ),
    # another number of partitions
    "repartition_asks": (
        "The checkpoint pins {current:counted shuffle partition}. Name the new number (answer partitions):"
        " the state is moved in a copy."
    ),
    "repartition_possible": (
        "The checkpoint pins {current:counted shuffle partition}; in a copy the state is moved to {wanted}."
    ),
    "repartition_needs": (
        "Needs Spark 4.2 or later and a classic session, for the script and for the query afterwards; the"
        " script refuses Spark Connect and older versions."
    ),
    "repartition_written_by": (
        "Which version of Spark wrote the checkpoint is not known; Spark itself refuses what it cannot"
        " repartition, and the old checkpoint stays as it is."
    ),
    "repartition_no_file_sink": (
        "Not for a file sink: its log would lack the batch ID that moves the state, and its readers would"
        " fail. Say where the query writes (answer sink)."
    ),
    "repartition_no_state": (
        "The checkpoint has no state, and only state depends on the number of shuffle partitions: a query"
        " without state takes a new value of spark.sql.shuffle.partitions at its next start."
    ),
    "repartition_other_query": (
        "The state is kept, so this is for the query as it was (answer stateful=unchanged)."
    ),
    "repartition_sparse": (
        "With asynchronous progress tracking or continuous processing not every batch has its files, so this"
        " was not verified."
    ),
    "repartition_pending": (
        "Batch {batch} is planned and not committed, and Spark repartitions only after a committed batch: let"
        " the query finish it first."
    ),
    "repartition_file_sink": (
        "The state would be moved as batch {batch}, which does not reach the sink, so the file sink log would"
        " lack that batch ID and every reader of the output would fail."
    ),
    "repartition_hdfs": (
        "The state is kept with the HDFS-backed provider, and Spark repartitions only state in RocksDB."
    ),
    "repartition_provider": (
        "Which provider keeps the state is not known, and Spark repartitions only state in RocksDB."
    ),
    "repartition_no_metadata": (
        "An operator has no metadata that can be read. Spark 4.0 and later write it, and without it Spark"
        " does not repartition."
    ),
    "repartition_join_format": (
        "Spark 4.3 does not move the state of a join with state format 4 whole: the copy starts and fails in"
        " the first batch with rows (Invalid byte array backed UnsafeRow)."
    ),
    "repartition_current_unknown": "offsets/{batch} does not say how many shuffle partitions there are.",
    "repartition_same": "The checkpoint has {current:counted shuffle partition} already.",
    "repartition_one_partition": (
        "An operator keeps all of its state in partition 0, whatever the setting says (an aggregation"
        " without keys, a limit). Spark would move it to another partition, and the query would not find it."
    ),
    "repartition_damaged": "The query does not start on this checkpoint as it is. {reason}",
    "repartition_effort": "One copy; the query itself is not run.",
    "repartition_cost": (
        "Reads the whole state ({size_bytes:size}) and writes it again; no row is read again."
    ),
    "best_repartition": (
        "{wanted} shuffle partitions are asked for in place of {current}, and only this changes the number"
        " without a loss."
    ),
    "repartition_copy": "Copy the checkpoint to a new location and move the state in the copy.",
    "repartition_copy_to": (
        "Copy the checkpoint to a new location and move the state in the copy to"
        " {wanted:counted shuffle partition}."
    ),
    "repartition_copy_why": (
        "Spark does it with batch {batch}, which has the same offsets as the one before and does not reach"
        " the sink. The old checkpoint is only read."
    ),
    "repartition_verify": "Compare the rows of the state in both checkpoints, and where the logs end.",
    "repartition_verify_why": "Every operator and store, read with the state reader of Spark.",
    "repartition_start_why": (
        "The next batch is {batch}; no row is read a second time. The new number comes from the checkpoint:"
        " spark.sql.shuffle.partitions can stay as it is. The old checkpoint stays until you remove it."
    ),
    "repartition_mistake": (
        "Setting spark.sql.shuffle.partitions for the query: the checkpoint pins the old number, so nothing"
        " changes."
    ),
    "partitions": "The new number of shuffle partitions.",
    "need_partitions": "the new number of shuffle partitions, 1 or more",
    "to_batch": "The batch that the new checkpoint stands at.",
    "state_format": "The state checkpoint format; in format 2 only the commits name the state files.",
    "codec": "How state files are packed; only lz4 has a checksum of the content.",
    "file_sources": "File sources, with the newest entry of the source log that the batch had read.",
}
