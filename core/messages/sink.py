"""What the log of the sink has of this query, and what happens to the batches that run next."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "no_log": (
        "{url} keeps no log of batches (neither _delta_log nor _spark_metadata): the files do not show which"
        " batches are in it, and such a sink writes a batch that is re-run once more."
    ),
    "no_log_yet": "{url} has neither _delta_log nor _spark_metadata: no batch is in it yet.",
    "no_log_under_old": (
        "{url} has neither _delta_log nor _spark_metadata, while the checkpoint has committed batches up to"
        " {committed}. With a file sink this is a new output directory under an old checkpoint: the query"
        " writes on from batch {next}, and Spark cannot read the output then (_spark_metadata/0 doesn't"
        " exist). With a Delta table it is another place, or the table is gone. Any other sink keeps no log,"
        " so the files do not show which batches are in it."
    ),
    "file_log_gone": (
        "{url} has no _spark_metadata, while the checkpoint has committed batches up to {committed}: its log"
        " is gone, or this is a new output directory. The query begins a new log and writes on from batch"
        " {next}, and Spark cannot read the output then: first it sees no rows, and after batch {next} every"
        " read fails (_spark_metadata/0 doesn't exist)."
    ),
    "file_output_gone": (
        "{trouble} The checkpoint has committed batches up to {committed}. Spark creates the output"
        " directory again and writes on, and cannot read the output then (_spark_metadata/0 doesn't exist)."
    ),
    "nothing_there": (
        "{trouble} The checkpoint has committed batches up to {committed}. If the directory of a file sink"
        " is gone, Spark writes on and cannot read the output then."
    ),
    "query_id_not_read": (
        "Which batches in the table are those of this query is not known: the query ID stands in metadata"
        " ({reason})."
    ),
    "log_not_read": (
        "The log of {url} could not be read whole ({paths:listed 3}), so it is not known which batches of"
        " this query are in the table."
    ),
    "transactions_not_read": (
        "Not every file with transactions could be read, so a batch of this query may be in the table all"
        " the same."
    ),
    "no_such_source": "The checkpoint has no source {key}.",
    "first_of_problems": ("{first} And {more} more."),
    # the log of the sink against the checkpoint
    "table_up_to": ("The table has batches of this query up to {holds}."),
    "output_up_to": ("The log of the output directory has batches up to {holds}."),
    "and_pending_written": ("{before} Pending batch {pending} will be written."),
    "and_nothing_pending": ("{before} Nothing is pending."),
    "log_empty": ("The log of {url} is empty: no batch is in it."),
    "log_empty_pending_written": (
        "The log of {url} is empty: no batch is in it. Pending batch {pending} will be written."
    ),
    "empty_checkpoint_table": (
        "{batches:capital} will be skipped, regardless of content: the table has batches of this query up to"
        " {holds}, and the checkpoint is empty, but its metadata still has the old query ID. Start with a new"
        " checkpoint location, so that the query gets a new ID."
    ),
    "empty_checkpoint_output": (
        "{batches:capital} will be skipped, regardless of content: the log of the output directory has"
        " batches up to {holds}, and the checkpoint is empty. Start with a new output directory."
    ),
    "table_ahead": (
        "The checkpoint is older than the table: the table has batches of this query up to {holds}, so"
        " {batches} will be skipped, regardless of content. Rows are lost unless the batches get exactly the"
        " same ranges as before. To recover: a new ID in metadata (the batches are then written again, also"
        " what the table has beyond batch {n}), for Delta after a RESTORE of the table to the version of"
        " batch {n} (then exact)."
    ),
    "output_ahead": (
        "The log of the output directory has batches up to {holds}, while the checkpoint ends at batch"
        " {newest}: new batches up to {holds} will be skipped, without an error. Rows are lost unless the"
        " batches get exactly the same ranges as before. To recover: a new output directory."
    ),
    "pending_in_table": (
        "Pending batch {pending} is already in the table and will be skipped. No loss, no repeat, as long as"
        " it still has the same offsets."
    ),
    "pending_in_changed_table": (
        "The table has the number of pending batch {pending}, so the batch will be skipped, whatever of its"
        " rows the table still has."
    ),
    "pending_in_output": (
        "Pending batch {pending} is already in the output and will be skipped. No loss, no repeat, as long"
        " as it still has the same offsets."
    ),
    "pending_of_another": (
        "Pending batch {pending} will be skipped, regardless of content: the log of the output directory has"
        " a batch {pending}, but it was written before this checkpoint planned its own. It is of another"
        " query, or of an earlier run, so the rows of the pending batch do not reach the output unless that"
        " one had the same. To recover: the output directory of this query, or a new one."
    ),
    "pending_files_gone": (
        "Pending batch {pending} is in the log of the output directory and will be skipped, but"
        " {count:counted data file} of it {count:one is/are} gone, for example {example}: their rows are"
        " lost."
    ),
    "log_of_another": (
        "The batches in the log of {url} were written before this checkpoint planned batches with these IDs:"
        " it is the output of another query, or of an earlier checkpoint."
    ),
    "table_behind": (
        "{head} {batches:capital} {count:one is/are} committed in the checkpoint but not in the table: their"
        " rows are missing there (an older copy of the table, or a recreated one)."
    ),
    "output_behind": (
        "{head} {batches:capital} {count:one is/are} committed in the checkpoint but not in the output:"
        " their rows are missing there (an older copy of the output, or a recreated one)."
    ),
    # a table without a batch of this query
    "no_query_id": (
        "The checkpoint has no readable query ID, so no batch in the table can be recognised as its own. The"
        " next batch will be written."
    ),
    "no_query_id_pending": (
        "The checkpoint has no readable query ID, so no batch in the table can be recognised as its own."
        " Pending batch {pending} will be written."
    ),
    "transaction_expired": (
        "The table's newest batch of this query, {newest}, has expired"
        " (delta.setTransactionRetentionDuration): Delta no longer recognises it."
    ),
    "transaction_expired_pending": (
        "The table's newest batch of this query, {newest}, has expired"
        " (delta.setTransactionRetentionDuration): Delta no longer recognises it. Pending batch {pending}"
        " will be written."
    ),
    "transaction_expired_twice": (
        "The table's newest batch of this query, {newest}, has expired"
        " (delta.setTransactionRetentionDuration): Delta no longer recognises it. Pending batch {pending} is"
        " in the table already and will be written again: its rows are then there twice."
    ),
    "other_applications": (
        "The table at {url} has no batch under this query's ID, but {others:counted other application} with"
        " batch {pending} or above (newest: {app_id}, batch {newest}). If the query writes in foreachBatch"
        " with that txnAppId, batches up to {newest} are skipped; if not, pending batch {pending} will be"
        " written."
    ),
    "new_query_id": (
        "The query gets a new ID at this start, because metadata is missing: the table at {url} skips"
        " nothing. It has batches of {others:counted other query ID} (newest: {app_id}, {batches}): if they"
        " are of this query, the rows that the sources still have are then there twice."
    ),
    "never_written": (
        "No query has ever written a batch with its ID to the table at {url}, while the checkpoint has"
        " committed batches up to {committed}: it is another table, or it was dropped and made again. The"
        " rows of these batches are not in it, and Spark writes on behind them without an error. If the query"
        " writes to the table by foreachBatch, answer that."
    ),
    # who else has written to a table
    "other_writer": "{who} ({n:one version/versions} {versions:listed})",
    "other_query": "query {query}",
    "other_application": "application {applications:listed}",
    "other_unknown": "an unknown operation",
    "first_batch_written": ("The table has no batch of this query. The first batch will be written."),
    "no_batch_of_query": (
        "The table at {url} has no batch of this query: it is another table, a recreated one, a foreachBatch"
        " sink without transaction IDs, or the ID in metadata was changed."
    ),
    "no_batch_of_query_pending": (
        "The table at {url} has no batch of this query: it is another table, a recreated one, a foreachBatch"
        " sink without transaction IDs, or the ID in metadata was changed. Pending batch {pending} will be"
        " written."
    ),
    # what happened to the sink since
    "restored_since": (
        "Version {version} of the table is RESTORE, made after the newest batch of this query. The batch ID"
        " in the table survives a RESTORE: rows of batches that were restored away are missing, and batches"
        " up to that ID are still skipped. To write them again, roll back the checkpoint to the restored"
        " batch and put a new ID into metadata."
    ),
    "overwritten_since": (
        "Version {version} of the table is an overwrite, made after the newest batch of this query. The"
        " batch ID stays; rows that this removed do not come back."
    ),
    "replaced_since": (
        "Version {version} of the table is CREATE OR REPLACE TABLE, made after the newest batch of this"
        " query. The batch ID stays; rows that this removed do not come back."
    ),
    "cloned_since": (
        "Version {version} of the table is CLONE, made after the newest batch of this query. The batch ID"
        " stays; rows that this removed do not come back."
    ),
    "commits_of_others": (
        "{count:counted commit} of others ({operations}) changed the table after the newest batch of this"
        " query."
    ),
    "transactions_expire": (
        "The table forgets batch IDs after delta.setTransactionRetentionDuration ({retention}) without a"
        " write: a batch that is in the table is then written again."
    ),
    "batches_missing": (
        "The checkpoint has committed {ids:batches}, and no version in the table's log (whole, from version"
        " 0) has {count:one it/them}: the table was recreated, or {count:one it was/they were} written in"
        " another way."
    ),
    "batches_missing_table_younger": (
        "The checkpoint has committed {ids:batches}, and no version in the table's log (whole, from version"
        " 0) has {count:one it/them}: the table was recreated after {count:one it was/they were} committed."
    ),
    "files_without_entry": (
        "{count:counted data file} in {url} (for example {example}) {count:one is/are} in no log entry:"
        " {count:one it belongs/they belong} to a batch that did not finish, or to somebody else. Spark's"
        " own readers ignore {count:one it/them}, other readers count {count:one it/them}."
    ),
    "log_hole": (
        "_spark_metadata has no entry for {batches}: Spark cannot read this output (_spark_metadata/{first}"
        " doesn't exist), and the query fails at the next compaction of the log (BATCH_METADATA_NOT_FOUND)."
        " Output and checkpoint do not belong together, or log files were removed."
    ),
    "compacts_later": (
        "What is written now leaves a hole in the log: readers of the output fail on it, and so does batch"
        " {batch}, which compacts the log."
    ),
    "compacts_next": "Batch {batch}, the next one, compacts it, so it fails.",
    "log_damaged": (
        "The log of this output has {count:counted damaged file} ({reason}): Spark cannot read the output,"
        " and the query fails at the next compaction of the log."
    ),
    "pending_entry_damaged": (
        "Pending batch {pending} will be skipped, because the log of the output has an entry for it. That"
        " entry is damaged: until it is restored, nobody can read the rows of the batch."
    ),
    "output_emptied": (
        "The checkpoint has committed batches up to {committed}: the output was emptied or is another one."
        " Without its entries from 0 on Spark cannot read what the query writes next."
    ),
    "skipped_batches_write_no_state": (
        "The query keeps state, and a skipped batch writes none: {batches} would pass empty, and the batch"
        " after them fails because its state is missing (CANNOT_LOAD_STATE_STORE). Try on a copy only."
    ),
}
