"""The recovery options on one checkpoint: possible or not and why, which one is recommended, the table."""

from __future__ import annotations

EARLIEST: dict[str, str] = {
    "broker": "startingOffsets=earliest (the default of a streaming query is latest)",
    "directory": "every file that is there (a file source has no start option)",
    "table": "the current snapshot of the table, then its later versions",
    "other": "the earliest position, set by the reader options of this source",
}
"""Where a source begins in a full refresh, by what can be asked about it."""

EFFORT: dict[str, str] = {
    "start_options": "Start options for every source, with an empty checkpoint.",
    "seeded": "The code writes the old offset into a new checkpoint, so the batch IDs continue.",
    "seeded_files": (
        "A file source has no start option: the code writes a new checkpoint whose file source log names"
        " the files already read."
    ),
    "warm_up": "Two runs: the old data into the noop sink, then the real sink.",
    "empty_state": "Two runs: one that marks the old data as read, then the real sink.",
    "pipeline": "The flow's code gets the start position, then an update resets the checkpoint.",
}
"""What a reset takes, by its method."""

_FORGOTTEN_WITH_TIMERS = (
    "what the state remembered is forgotten, and timers and timeouts that were set never fire, so what they"
    " would have emitted is lost"
)
LOST_STATE: dict[str, str] = {
    "stateStoreSave": (
        "open windows are emitted without their older rows or not at all, and totals start at zero"
    ),
    "StatefulStreamlineAggregate": (
        "open windows are emitted without their older rows or not at all, and totals start at zero"
    ),
    "dedupe": "deduplication forgets its keys, so duplicates that it would have dropped pass through",
    "dedupeWithinWatermark": (
        "deduplication forgets its keys, so duplicates that it would have dropped pass through"
    ),
    "symmetricHashJoin": "rows that waited for a match are gone, so their matches are never emitted",
    "globalLimit": "the limit counts from zero again",
    "sessionWindowStateStoreSaveExec": "open sessions are lost",
    "other": "what the state remembered is forgotten",
    **dict.fromkeys(
        (
            "transformWithStateExec",
            "transformWithStateInPandasExec",
            "transformWithStateInPySparkExec",
            "flatMapGroupsWithState",
            "applyInPandasWithState",
        ),
        _FORGOTTEN_WITH_TIMERS,
    ),
}
"""What an empty state means, by Spark's name of the operator."""

GENERAL: dict[str, str] = {
    "low": "low",
    "medium": "medium",
    "high": "high",
    "medium_to_high": "medium to high",
    "yes": "yes",
    "no": "no",
    "refresh_loss": "yes, if there is no initial snapshot or raw files were deleted at the source",
    "keyed_target": "no, for a keyed target",
    "idempotent_sinks": "no, for idempotent sinks such as auto CDC",
    "idempotent_writers": "no, for idempotent writers only",
    "careful_start": "no, with care for the start position",
}
"""What is true of an option in general; the facts of the checkpoint stand beside it."""

SENTENCES: dict[str, str] = {
    # start it again
    "restart": "The same query, started again with the same checkpoint location.",
    "restart_may_be_skipped": (
        "A file sink or a Delta table that has batch {batch} already skips it, and then the start fails"
        " (state checkpoint format 2). Name the place of the sink to know."
    ),
    "restart_fails": "The next start fails: {sentence}",
    "restart_fails_unless_loss": (
        "The next start fails: {sentence} Started once with failOnDataLoss=false it reads what is left and"
        " keeps position and state; what has expired is lost in any case. Give that as an answer to compare"
        " it (source.<key>.option.failOnDataLoss=false)."
    ),
    "restart_from_scratch": "The next start would begin from scratch: {sentence}",
    "restart_not_judged": "What the next start does could not be judged.",
    "best_restart": "A plain start resumes after the last committed batch and loses nothing.",
    "best_restart_if": (
        "A plain start resumes after the last committed batch and loses nothing, if {conditions:listed}."
    ),
    "best_restart_rerun_if": (
        "A plain start re-runs batch {batch} with its planned end offsets and loses nothing, if"
        " {conditions:listed}."
    ),
    "if_table_was_kept": "the table of the source was not rolled back and filled again",
    "if_state_is_whole": (
        "the state files hold what was written (not opened; the integrity check at the level deep opens them)"
    ),
    "if_broker_has_records": "the broker, which was not asked, still has the records",
    "if_broker_has_records_since": (
        "the broker, which was not asked, still has the records (the newest batch was planned"
        " {age_ms:duration} ago)"
    ),
    "best_restart_open": (
        "A plain start resumes after the last committed batch. Whether rows come twice at this sink, or are"
        " missing, the files cannot tell: compare it before the start."
    ),
    "best_restart_sink_away": (
        "A plain start works for a sink that keeps no log of batches. First see why none is at the place of"
        " the sink: a file sink or a Delta table that lost its log cannot be read after the next batch."
    ),
    "best_restart_no_damage": (
        "The next start meets no damage and resumes after the last committed batch. If an older copy of"
        " the checkpoint was put back, first see whether the output has later batches."
    ),
    "best_restart_if_stateless": (
        "The next start meets no damage if the query keeps no state: there is no state/, and one that needs"
        " it does not start (stateful). A plain start resumes after the last committed batch. If an older"
        " copy of the checkpoint was put back, first see whether the output has later batches."
    ),
    "best_restart_if_operators": (
        "The next start meets no damage if every stateful operator has its directory: state/ was changed"
        " after the newest commit, and without one of them the query does not start. A plain start resumes"
        " after the last committed batch. If an older copy of the checkpoint was put back, first see whether"
        " the output has later batches."
    ),
    "best_restart_at_sink": (
        "A plain start works, and what the forecast names as a risk leaves the rows of this sink as they"
        " should be."
    ),
    "best_restart_rerun_open": (
        "A plain start re-runs batch {batch} with its planned end offsets. Whether the sink has its rows"
        " already, the files cannot tell: compare it before the start."
    ),
    "best_restart_rerun": (
        "A plain start re-runs batch {batch} with its planned end offsets and loses nothing; no recovery"
        " is needed."
    ),
    "best_restart_lost_anyway": (
        "What the source no longer has is lost in any case; a plain start with failOnDataLoss=false reads"
        " what is left and keeps position and state."
    ),
    "best_restart_lost_in_plan": (
        "What the source no longer has is lost in any case ({lost:counted offset}, those of batch {batch}"
        " unless the sink has it already); a plain start with failOnDataLoss=false reads what is left and"
        " keeps position and state."
    ),
    "best_restart_commits_lost": (
        "A plain start re-runs only batch {batch}. Of {ids:batches} there is no commit either: most likely"
        " they finished, because Spark plans one batch after the other. Compare the sink."
    ),
    "best_restart_then": (
        "A plain start runs batch {batch} and commits it, and then something else has to be done. {then}"
    ),
    "best_restart_changed": (
        "A plain start resumes where the query stopped and loses nothing, as long as the changed query"
        " reads the same sources in the same order and no stateful operator was changed or added."
    ),
    "best_restart_changed_continuous": (
        "A plain start resumes where the query stopped, as long as the changed query keeps the trigger"
        " continuous and reads the same sources in the same order. With any other trigger it fails: that one"
        " needs a new checkpoint location."
    ),
    "best_restart_repaired": (
        "Every other option reads the rows that fail again: handle or filter them in the query, then start it"
        " again."
    ),
    "best_restart_guarded": (
        "Every other option reads the rows that fail again: handle or filter them in the query, or, where"
        " only the write fails, let the guard below put the rows of batch {batch} aside; then start it again."
    ),
    "restart_changed": (
        "Spark refuses the state of this checkpoint for a query with another stateful part, or misreads it."
        " The query as it was can be started (stateful=unchanged)."
    ),
    "reads_new": "Reads only what is new.",
    "all_kept": "Checkpoint, state and output stay as they are.",
    "sink_does_not_fit": (
        "The sink does not fit the checkpoint, so continuing would leave it wrong. {trouble} Repair the"
        " sink first, or write everything to a new output (full refresh)."
    ),
    "sink_has_later": (
        "The sink already has {ids:batches}, which no commit names and whose plan cannot be carried over: a"
        " new checkpoint would continue with batch {batch} and other rows, which this sink would skip."
    ),
    "changed_keyed": (
        "With a changed aggregate, a sink that overwrites by key would replace only the keys that get new"
        " rows; the others would keep their old meaning. Use the full refresh, or output_mode=complete."
    ),
    "pipeline_emptied": "The pipeline empties the table and fills it again from the source.",
    "pipeline_cloned": "A full copy of the table is made first and stays until you remove it.",
    "pipeline_backfilled": (
        "The table is copied, then the pipeline empties it and fills it again from the source, with the rows"
        " that only the copy has."
    ),
    # possible or not, and why
    "no_source": "The checkpoint names no source.",
    "no_replay": "{sources:listed}: this kind of source cannot be read again from the beginning.",
    "lost": "There is no checkpoint to work on.",
    "restart_without_state": (
        "The query keeps state, batches are committed, and the checkpoint has no state, so the start fails:"
        " since Spark 4.2 with STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY, before that because it"
        " misses the state files of the last batch."
    ),
    "restart_pipeline_lost": (
        "Nobody can open the checkpoint of a pipeline, so what an update does is not known here. While the"
        " pipeline still has it, start an update first: it continues where the last one stopped."
    ),
    "restart_lost": (
        "There is no checkpoint to start from: with the same location the query starts from scratch with"
        " batch 0. An appending sink gets again what the sources still have, a Kafka source whose"
        " startingOffsets is latest (the default) skips what came meanwhile, and a sink that skips batch IDs"
        " drops new rows without an error."
    ),
    "no_position": "Without it no position is known from which to continue.",
    "pipeline_lost": (
        "The pipeline resets the checkpoint of the flow itself; nobody needs to open it. The table keeps its"
        " rows (documented by the vendor, not run here)."
    ),
    "pipeline_starts_anywhere": (
        "The flow then starts where its own code says: rows that the table has may come again, and a start at"
        " the latest position skips what came in between. Set its start options first."
    ),
    "name_sources": (
        "No offset file says what the query reads. Name its sources: source.0.format and source.0.path, or"
        " for Kafka source.0.servers and source.0.topics; a further source is source.1."
    ),
    "source_incomplete": (
        "The source no longer has everything, so a full refresh would lose the rows that are gone there."
        " Use the full refresh with backup and backfill."
    ),
    "not_in_use": (
        "No start uses this checkpoint: the pipeline starts from the highest number, {place}. Open that one."
    ),
    "flow_incomplete": (
        "The source no longer has everything, and a full refresh empties the table {table}: the rows that are"
        " gone at the source would be lost."
    ),
    "flow_backfill": (
        "The pipeline fills the table {table} itself, and no script writes beside it. Copy the table (CREATE"
        " TABLE ... AS SELECT), take the full refresh, and insert the rows that only the copy has."
    ),
    "kafka_backfill": "Records in a topic cannot be merged or removed, so a backfill cannot be exact.",
    "backfill_unreadable": (
        "Which rows the old output has is not known, so none of them can be put into a new one: {trouble}"
    ),
    "backfill_of_another": (
        "The output has rows of another query, or of an earlier checkpoint, and nothing tells which of them"
        " this query would have written. Full table refresh writes to a new directory beside it."
    ),
    "checkpoint_in_output": (
        "This option renames the old output {output}, and the checkpoint lies in it: bring the checkpoint"
        " to a place outside it first (backup, then restore_backup)."
    ),
    "merge_needs_delta": (
        "A script can merge the old output by key into a Delta table only, and this output is {format}."
        " Refresh into a new output, keep the old one, and merge the rows that only the old one has"
        " with the tools of your sink."
    ),
    "unknown_merge": "How rows are merged into this sink is not known.",
    "from_option": "where its reader option says: {name}={value}",
    "from_start": "Everything is reprocessed from the beginning into a new, empty output.",
    "completeness_unchecked": (
        "Whether the source still has everything must be checked first; the code does it for files and Kafka."
    ),
    "completeness_by_hand": (
        "Whether the source still has everything must be checked first; no code does it for a pipeline."
    ),
    "source_without_offset": (
        "{n:one Source/Sources} {keys:listed} {n:one has/have} no offset in batch {batch}, so the position"
        " is not known."
    ),
    "txn_app_id": (
        "The new checkpoint counts batches from 0, and a table that has committed these batch IDs under"
        " the same txnAppId skips them. Use a new txnAppId."
    ),
    "with_loss": (
        "The source no longer has everything after the position. What is left is read, and nothing that"
        " was committed is reprocessed."
    ),
    "with_loss_and_repeats": (
        "The source no longer has everything after the position. What is left is read, and some of it may"
        " have been read before."
    ),
    "topics_absent": (
        "The broker does not have {topics:listed}: a query that subscribes to {count:one it/them} does not"
        " start. Take {count:one it/them} out of the subscription, or create {count:one it/them} again first."
    ),
    "loss_beside_files": (
        "A source no longer has everything after the position ({skips}), and source {key} is a file source,"
        " whose position no start option carries over. A plain start with failOnDataLoss=false reads what is"
        " left and keeps the positions of all sources."
    ),
    "file_log_gaps": (
        "Source {key} is a file source whose log has gaps, stops before the position or cannot be read, so it"
        " is not known which files were read; without the log every file would be read again."
    ),
    "source_note": "Source {key} ({label}): {note}",
    "source_position_not_known": "Source {key} ({label}): its position is not known.",
    "numbered_sink": (
        "The sink skips batch IDs it has already committed, so the new checkpoint would have to continue"
        " the batch IDs, which start options cannot do."
    ),
    "reset_meets_it": "A new checkpoint at this position fails there, too: {sentence}",
    "forgotten_files": "The position is not exact. {sentence}",
    "stateless": "The checkpoint has no state, and the position of every source is exact.",
    "files_moved": (
        "Spark knows a file by its whole path: where the files of {key} lie at another place now, those that"
        " were read before would be read again. The script refuses such a place, unless you say that all"
        " files there are new."
    ),
    "state_removed": (
        "The position of every source is exact. The stateful part is gone from the query, so its state is"
        " left behind."
    ),
    "warm_up": (
        "The old data is still there: the new state is built from it without writing a row, then the query"
        " resumes."
    ),
    "empty_state": "The position of every source is exact, but the state starts empty.",
    "no_other_start": "A query that keeps state cannot start there in any other way.",
    "pipeline": "The flow's checkpoint is reset and the table is kept.",
    "pipeline_by_hand": "The checkpoint of a pipeline cannot be written by hand.",
    "source_skips": "source {key}: {skips}",
    "source_repeats": "source {key}: {repeats}",
    # where a source begins
    "starts_by_default": "its own start, no start option is needed",
    "starts_by_log": "a file source log that names the {files:counted file} already read",
    "starts_by_offset": "the same offset, written into the new checkpoint: {position}",
    "starts_by_time": "Auto Loader's modifiedAfter = the newest time among the files already read",
    # cautions
    "sink_made_again": (
        "The history of the table has no batch of this query, so the script refuses until a value at its top"
        " says what to do: SINK_IS_OURS = True renames this table and writes a new one in its place,"
        " REFRESH_INTO leaves it as it is and names another place."
    ),
    "sink_made_again_backfill": (
        "The history of the table has no batch of this query, so the script refuses until SINK_IS_OURS = True"
        " is set at its top: then it renames this table and writes a new one in its place."
    ),
    "others_in_table": (
        "Others have written to the table too: {who:listed}. The script refuses until a value at its top says"
        " what to do: REFRESH_INTO names a new table, and this one stays as it is; ACCEPT_LOSS = True gives"
        " up what they wrote."
    ),
    "others_in_table_backfill": (
        "Others have changed or deleted rows of the table: {who:listed}. The script refuses until ACCEPT_LOSS"
        " = True at its top gives that up; a full refresh can leave the table as it is (REFRESH_INTO)."
    ),
    "others_in_target": (
        "Others have written to the table too: {who:listed}. The script refuses until write_batch writes to"
        " a new table that SINK_PATH names, or ACCEPT_LOSS = True at its top gives up what they wrote."
    ),
    "state_starts_empty": "The state starts empty.",
    "delta_pending": (
        "If the table has already committed batch {batch}, its rows are written a second time, because the"
        " new checkpoint has a new query id."
    ),
    "restart_keeps_state": (
        "The stateful part did not change, so a plain restart keeps the state; a reset loses it."
    ),
    "cold_not_known": (
        "The state cannot be rebuilt from the old data, because it is not known whether the source still"
        " has it."
    ),
    "cold_gone": "The state cannot be rebuilt from the old data, because the source no longer has it.",
    "cold_operators_gone": (
        "The state is gone, and with it which stateful operators the query has, so it is not known whether"
        " reading the old data rebuilds it."
    ),
    "cold_operators": (
        "The state is not rebuilt by reading the old data again: that was verified for aggregations,"
        " dropDuplicates and stream-stream joins only, not for {operators:listed}."
    ),
    "operator_without_name": "an operator without a name",
    "async_repeats": (
        "With asynchronous progress tracking, batches after the last logged one may have been written"
        " already; their rows are then written again."
    ),
    "not_committed": (
        "Not committed: {ids:batches}; rows of them that already reached the sink are written again."
    ),
    "modified_after": (
        "Source {key}: modifiedAfter is exclusive and only Auto Loader has it. Files with the same or an"
        " older time that arrive later are missed."
    ),
    "pipeline_state": (
        "The state of the flow starts empty: deduplication forgets its keys, totals start at zero, open"
        " windows are lost."
    ),
    # why an option is recommended
    "best_warm_up": (
        "The position is exact and the state can be rebuilt from the old data, so nothing is lost."
    ),
    "best_warm_up_changed": (
        "The position is exact, and the state of the new query can be built from the old data. What is in the"
        " sink stays as the old query wrote it."
    ),
    "best_modified_after": (
        "It keeps the table and reprocesses little. Note that the start of a file source is a time, not an"
        " exact position."
    ),
    "best_with_loss": (
        "What the source no longer has is lost in any case; this option keeps the rest and reprocesses"
        " nothing that was committed."
    ),
    "best_with_repeats": (
        "No row that the source still has is left out; which rows may come a second time stands beside it."
    ),
    "best_changed_input": (
        "The position of every source is exact; input files that have changed are read as they are now."
    ),
    "best_exact": (
        "The position of every source is exact, so nothing is lost, and only data that was not committed"
        " is reprocessed."
    ),
    "best_exact_unasked": (
        "The position of every source is exact by the files, and only data that was not committed is"
        " reprocessed. Nothing is lost if the broker, which was not asked, still has the records."
    ),
    "best_dropped_state": (
        "The position of every source is exact, and only data that was not committed is reprocessed. What"
        " only the state held is lost with it: {lost}."
    ),
    "best_reprocess_rewind": (
        "A copy of the checkpoint at that batch reads again exactly what the later batches had read."
    ),
    "best_reprocess_rewind_lossy": (
        "A copy of the checkpoint at that batch reads again what the later batches had read, as far as it is"
        " still there."
    ),
    "best_reprocess": (
        "Only a refresh reads everything again. To begin at a later batch, answer to_batch (rewind)."
    ),
    "best_reprocess_backfill": (
        "Only a refresh reads everything again, and the source may not have everything: keep the old rows. To"
        " begin at a later batch, answer to_batch (rewind)."
    ),
    "best_refresh": (
        "The source has everything, and the state or the position cannot be carried over exactly."
    ),
    "best_restart_skipped_before": (
        "A plain start resumes after the last committed batch and loses nothing more. The sink had {batches}"
        " before they were planned here and skipped them: only a full table refresh, into a new directory,"
        " brings their rows."
    ),
    "best_restart_output_gone": (
        "A plain start works and does not bring back what the output lacks. {sentence} Put the files back, or"
        " reprocess what the source still has of their batches into a new output."
    ),
    "best_refresh_sink": (
        "The source has everything, and the sink does not fit the checkpoint, so that nothing can continue"
        " into it."
    ),
    "best_backfill": (
        "The state or the position cannot be carried over, and the source may not have everything: keep"
        " the old rows."
    ),
    "best_backfill_so_far": (
        "Not every question is answered, and the source may not have everything: keep the old rows."
    ),
    "best_only_reset": "It is the only option that is possible; read what it loses.",
    "best_reset_or_backup": (
        "Unless there is a backup of the checkpoint, no other option is possible; read what it loses."
    ),
    "best_reset_or_refresh": (
        "This keeps the old output, whatever the source still has; read what it loses. If the source still"
        " has every record, take the full refresh."
    ),
    "best_reset_beside": (
        "It keeps the old output and continues from the last committed batch. Compare what it loses with what"
        " the other possible options repeat and lose."
    ),
    "best_refresh_beside": (
        "The output had batches with these IDs before, of another query or of an earlier checkpoint, and"
        " Spark skips them: everything again, into a new directory."
    ),
    "best_only_refresh": "The position cannot be carried over.",
    # complexity and cost
    "asks_empty_target": (
        "The script does not know the target of foreachBatch: it continues only when you have emptied it and"
        " set TARGET_IS_EMPTY, or when sink_path says where it is."
    ),
    "asks_merge_target": (
        "The rows of the backup are merged into a Delta table only: answer sink_path and sink_format, or the"
        " script refuses."
    ),
    "cannot_empty": "The code cannot empty your foreachBatch target unless sink_path says where it is.",
    "three_steps": "Three steps: backup, refresh, merge back what only the backup has.",
    "here": "Here {level}.",
    "reads_amount": "Reprocesses {amount} committed up to batch {batch}.",
    "reads_amount_and_pending": (
        "Reprocesses {amount} committed up to batch {batch}, and batch {pending} ({planned})."
    ),
    "reads_everything": "Reprocesses the whole source.",
    "state_rebuilt": "{size_bytes:size} of state is rebuilt.",
    "old_output_kept": "The old output is kept in full beside the new one.",
    "reads_pending": "Reprocesses batch {pending} ({planned}) and nothing else.",
    "reads_nothing": "Reprocesses nothing.",
    "warm_up_reads": "Reads {amount} once more to build the state, without writing.",
    "warm_up_reads_all": "Reads the old data once more to build the state, without writing.",
    "state_left": "{size_bytes:size} of state is left behind.",
    # loss
    "complete_answered": "You answered that the source is complete.",
    "incomplete_answered": "You answered that the source is not complete: rows are lost.",
    "complete_by_kind": "The source can be read again in full.",
    "incomplete_by_kind": "The source cannot be read again: rows are lost.",
    "completeness_not_known": "It is not known yet whether raw data was removed at the source.",
    "files_named": (
        "The checkpoint names {files:counted input file}; the code checks that all are still there."
    ),
    "rows_from_backup": (
        "Rows that were read and are gone at the source come from the backup; keys deleted since the backup"
        " come back."
    ),
    "starts_after": "The start is after batch {batch}, the last committed one.",
    "late_files": "Files that arrive late with an older time are missed.",
    # duplicates
    "new_output": "The code writes to a new output and keeps the old one under another name.",
    "new_delta_output": (
        "Only because the output is new: into the same Delta table everything would be written twice,"
        " because the table does not know the new query id."
    ),
    "needs_key": (
        "Needs a unique key (answer backfill_keys); without one, rows that are in both are duplicated."
    ),
    "by_merge": "By the merge on the key, not by the Delta table itself.",
    "delta_repeats": (
        "The Delta table does not deduplicate after a reset: its log knows the old query id only. The"
        " exact start is what avoids duplicates."
    ),
    "none_pending": "No batch is pending.",
    "pending_repeats": "Batch {pending} may be written a second time, depending on the sink.",
    # initial snapshot, full reset of the table
    "needs_everything": "Everything must still be readable at the source.",
    "old_data_once": "The old data is read once to rebuild the state.",
    "output_rewritten": "The output is written again from the beginning.",
    "backup_returned": "At the end the rows of the backup are in the table again.",
    "output_left": "The code writes to a new output and leaves the old one as it is.",
    "output_beside": "The rows go to a new output beside the old one.",
    "table_kept": "The table is kept.",
}
