"""What each finding is called and what to do about it, by finding id. ``docs/findings.md`` repeats both; a
test keeps them equal."""

from __future__ import annotations

_BACKUP = "Stop the query and back up the checkpoint first. "
_NEW_CHECKPOINT = "start the query with a new checkpoint location"

SENTENCES: dict[str, str] = {
    # The broker decides which repair works.
    "repair_by_broker": _BACKUP + "{repair}",
    # An offset file that cannot be read: which batch it is of decides.
    "committed_offset": (
        _BACKUP + "Batch {batch} is committed, and its offset file cannot be made again: roll back to an"
        " earlier batch (rewind), or restore a backup (restore_backup)."
    ),
    "pending_offset": (
        _BACKUP + "Batch {batch} is not committed: the recovery option repair_files does without its offset"
        " file, and Spark plans the batch again."
    ),
    # State that cannot be rebuilt, where the output would skip what a rollback runs again.
    "rollback_skipped": (
        "Restore a backup of the checkpoint and of the output (restore_backup), or write a new output from"
        " the source (full_refresh; backup_and_backfill where the source may not have everything)."
    ),
    "commits_in_sink": "Nothing for the next start.",
    "no_rewind": (
        "Stop the query and back up the checkpoint first. No batch is left to roll back to: restore a backup"
        " of the checkpoint (restore_backup), or take another option of python -m core recover."
    ),
    "rewind_not_read_again": (
        "Stop the query and back up the checkpoint first. A rollback (rewind) does not help here. {why} Write"
        " everything again from what the sources still have (backup_and_backfill), or take another option of"
        " python -m core recover."
    ),
    "with_rewind": (
        "{action} A script for the rollback: python -m core recover LOCATION --option rewind --set"
        " to_batch={batch}."
    ),
}

# What no recovery option can decide for a person.
DECISIONS: dict[str, str] = {
    "source": "Decide with the owner of the source what is right there; the checkpoint cannot tell.",
    "sink": "Decide which rows of the sink are right; the checkpoint cannot tell.",
    "query": "Decide what has to change in the query or its settings; the checkpoint cannot tell.",
    "spark": "Decide which Spark version runs the query.",
    "loss": "Decide whether the rows that are gone may be missing in the target.",
    "files": "Decide which copy of the file is right, and find out who changed it or may not read it.",
    "writers": "Decide which query keeps this checkpoint.",
    "nothing": "Nothing has to be decided or repaired before the next start.",
    "outside": "Nothing in the checkpoint has to be repaired: remove the cause, then start the query again.",
}

TITLES: dict[str, str] = {
    # What stops the next start
    "METADATA_MISSING": "metadata is missing",
    "METADATA_UNREADABLE": "metadata cannot be read",
    "OFFSETS_LOST": "the offset log is empty although batches are committed",
    "OLD_FILES_BEFORE_BATCH_0": "batch 0 would start in a directory that is not empty",
    "LOG_FILE_NAME": "the name of a log file has leading zeros",
    "LOG_FILE_UNREADABLE": "a log file that Spark reads at start cannot be read",
    "LOG_VERSION_UNKNOWN": "a log file has a version that this Spark cannot read",
    "SOURCE_COUNT": "the number of sources differs from the offset log",
    "OFFSET_GAP": "the offset file before the newest one is missing",
    "SOURCE_LOG_GAP": "an entry in the middle of a file source log is missing",
    "SOURCE_LOG_END_MISSING": "the newest entry of a file source log is missing",
    "SOURCE_LOG_UNREADABLE": "a file of a file source log cannot be read",
    "SOURCE_LOG_PATH": "a file source log names a path that Spark cannot open",
    "SOURCE_START_LOST": "the file with the start of a source is missing or cannot be read",
    "SOURCE_PATH_GONE": "the directory that a file source reads does not exist",
    "SOURCE_PATH_MOVED": "a file source is to read another directory than the one that its log names",
    "SOURCE_OFFSET_BACKWARDS": "the offset of a file source goes backwards",
    "SOURCE_OFFSET_UNREADABLE": "the source cannot read its offset",
    "FAILED_PLAN_LEFT": "a failed start left an offset file that no start can work with",
    "KAFKA_TOPIC_REMOVED": "the query no longer reads a topic that the checkpoint has offsets for",
    "KAFKA_TOPIC_GONE": "a topic of the query does not exist on the broker",
    "KAFKA_PARTITIONS_GONE": "partitions that the checkpoint reads no longer exist on the broker",
    "KAFKA_RECORDS_EXPIRED": "unread records have expired",
    "KAFKA_TOPIC_RECREATED": "the topic is not the one that the query has read",
    "KAFKA_TOPIC_CUT_SHORT": "the topic ends before the position and is not a new one",
    "KAFKA_NEW_PARTITION_LATE": "a new partition no longer begins at offset 0",
    "DELTA_TABLE_DIFFERS": "the Delta source is a different table",
    "DELTA_LOG_CLEANED": "the Delta log no longer reaches back to the position",
    "DELTA_TABLE_OLDER": "the Delta source ends before the position",
    "DELTA_SNAPSHOT_GONE": "the initial snapshot of the Delta source can no longer be rebuilt",
    "DELTA_LOG_GAP": "the Delta table itself cannot be read",
    "DELTA_SCHEMA_WAITS": "a column of the Delta source was renamed or dropped",
    "DELTA_CHANGES_WAIT": "rows of the Delta source were deleted or changed",
    "DELTA_FILES_GONE": "data files that the query still has to read are gone from the Delta source",
    "OPERATORS_DIFFER": "the stateful operators of the query are not those of the state",
    "JOIN_BATCH_WITHOUT_ROWS": "the batch to re-run has no rows for one side of a join",
    "STATE_FOLDER_MISSING": "state/, or the directory of an operator in it, is missing or empty",
    "STATE_SCHEMA_UNREADABLE": "a state schema file cannot be read",
    "STATE_NOT_RESTORABLE": "the state that the next batch needs cannot be rebuilt",
    "STATE_FILE_DAMAGED": "a state file is damaged",
    "STATE_FILE_ALTERED": "a state file was changed after Spark wrote it",
    "JOIN_STATE_INCONSISTENT": "a store of a join is older than its partner, or in its place",
    "STATE_CHECKSUM_MISMATCH": "a state file does not match Spark's own checksum",
    "STATE_DEFINITION_UNREADABLE": "operator metadata or a schema with column families cannot be read",
    "STATE_SCHEMA_GONE": "the state schema is read where the checkpoint was before, and that is gone",
    "STATE_IDS_OF_ANOTHER_VERSION": "the newest commit names state files of another version",
    "SETTINGS_CHANGED": "a stored SQL config is not the one that the state was written with",
    "COMMIT_AHEAD": "the commit log is ahead of the offset log",
    "SKIPPED_BATCH_NEEDS_STATE": "the sink skips a batch whose state still has to be written",
    "STALE_CHECKSUM_FILE": "orphaned .crc file",
    "VERSION_TRAP": (
        "this Spark version interprets the checkpoint differently from the version that wrote it"
    ),
    "UNFINISHED_REPARTITION": "a repartition of the state was not finished",
    # What Spark accepts and the data suffers from
    "FRESH_START": "the logs are gone and Spark would start from scratch",
    "INPUT_GONE": "input files of the batch that runs next are gone",
    "INPUT_CHANGED": "input files of the batch that runs next have changed",
    "SOURCE_WITHOUT_OFFSET": "a source has no offset in the newest offset file",
    "SOURCE_LOG_AHEAD": "the logs were rolled back, the file source log was not",
    "SET_BACK": "offsets and commits were rolled back",
    "SOURCE_LOG_BEHIND": "a file source log ends before the offset",
    "SOURCE_FILES_ELSEWHERE": "none of the files that were read lies where the source is to read",
    "SOURCE_LOG_INCOMPLETE": "an entry of a file source log names no input file",
    "KAFKA_START_LOST": "the start position of batch 0 is missing",
    "KAFKA_TOPIC_READ_AGAIN": "a topic that was read before is read again from its first record",
    "DELTA_ROWS_SKIPPED": "versions of the Delta source are never read",
    "DELTA_INDEX_BEYOND": "the position lies beyond the files of its commit",
    "DELTA_OFFSET_INCOMPLETE": "a number is missing in the offset of the Delta source",
    "DELTA_BACK_IN_SNAPSHOT": "the position goes back into the initial snapshot",
    "DELTA_TABLE_REFILLED": "versions that count as read were written later",
    "SINK_AHEAD": "the sink will skip the next batches",
    "SINK_BEHIND": "committed batches are not in the sink",
    "SINK_CHANGED": "rows were removed from the sink after the newest batch",
    "SINK_FORGOT_BATCH": "the pending batch will be written a second time",
    "SINK_NEW_QUERY_ID": "the query gets a new ID, for which the table skips nothing",
    "SINK_LOG_HOLE": "the file sink log has a gap",
    "SINK_LOG_DAMAGED": "a file of the file sink log is damaged",
    "SINK_NEVER_WRITTEN": "no query has written a batch to the table",
    "SINK_LOG_GONE": "the log of the file sink is gone",
    "SOURCES_CHANGED": "named sources were added or removed",
    "STATE_DROPPED": "the state of a removed operator is left unused",
    "STALE_SNAPSHOT": "a snapshot left over from before a rollback is loaded by a start",
    "SNAPSHOT_DIFFERS": "a snapshot does not match its deltas",
    "ROWS_IN_WRONG_PARTITION": "rows are in a partition that their key does not belong to",
    "WATERMARK_WENT_BACK": "the watermark went backwards",
    "WATERMARK_RAISED": "the watermark is later than any batch had reached",
    "OFFSET_WENT_BACK": "the offset of a source went backwards",
    "WATERMARK_AHEAD": "the watermark is in the future",
    # What somebody should look at
    "FILE_NOT_READ": "a file or directory could not be read",
    "SINK_UNKNOWN": "the sink has no batch of this query",
    "SINK_NO_LOG": "the sink has no log of batches",
    "KAFKA_RECORDS_EXPIRE_SOON": "unread records expire soon",
    "OFFSETS_MISSING": "older offset files are missing",
    "COMMITS_MISSING": "several batches are not committed",
    "COMMIT_GAP": "older commit files are missing",
    "OLD_LOG_FILE_UNREADABLE": "an older log file cannot be read",
    "OPERATOR_METADATA_MISSING": "operator metadata is missing",
    "OPERATOR_METADATA_UNREADABLE": "operator metadata cannot be read",
    "STATE_SCHEMA_ELSEWHERE": "the state schema is read outside of this checkpoint",
    "STATE_SCHEMA_MISSING": "a state schema file is missing",
    "TWO_WRITERS": "two queries may be writing to this checkpoint",
    "JOIN_REPARTITIONED": "Spark has repartitioned a join with state format 4",
    "EXTRA_PARTITIONS": "there are more state partitions than the query uses",
    "UNKNOWN_FORMAT": "a file in an unknown format",
    "WATERMARK_STALLED": "the watermark does not move although there is data",
    "STATE_SKEWED": "one state partition is much larger than the others",
    "BATCH_PENDING_LONG": "the newest batch has waited very long for its commit",
    "SINK_OTHER_QUERY": "another query ID wrote batches with the same numbers",
    "SINK_BATCH_TWICE": "the sink has a batch of this query twice",
    "SINK_BATCH_GAP": "batch numbers of this query are missing in the sink",
    "SINK_BATCHES_SKIPPED": "the sink has skipped batches of this checkpoint",
    "SINK_FILES_GONE": "files that the file sink log names are gone",
    "BATCHES_SLOWER": "batches become slower and slower",
    "SOURCE_LAG": "the query does not keep up with a source",
    "CHECKPOINT_INSIDE_DATA": "the checkpoint is inside the data of its source or sink",
    "NOT_IN_USE": "the pipeline starts from a newer checkpoint",
    # Notes
    "BATCH_NOT_COMMITTED": "the newest batch is not committed",
    "STATE_OF_LATER_BATCHES": "there is state of batches after the newest one",
    "SOURCE_LOG_ONE_AHEAD": "a file source log is one entry ahead",
    "ROWS_BEFORE_LOG": "rows reach the sink before their batch is logged",
    "HADOOP_CHECKSUM_MISMATCH": "a file does not match its hidden .crc",
    "STATE_GROWS": "the state grows while the watermark does not move",
    "SHORT_RETENTION": "very few batches are kept",
    "LONG_RETENTION": "very many batches are kept",
    "LEFTOVERS": "files that are not part of a checkpoint",
    "SINK_FILES_WITHOUT_ENTRY": "files in the output that no entry of the file sink log names",
    "TEMPORARY_LOCATION": "a temporary location",
}

ACTIONS: dict[str, str] = {
    # What stops the next start
    "METADATA_MISSING": (
        _BACKUP
        + "The recovery option repair_files writes the file again with the previous query ID, where the"
        " rest of the file or the log of the sink tells it; a Delta sink recognises the query by it."
        " If neither does, decide whether anything depends on the previous ID before a new one is made."
    ),
    "METADATA_UNREADABLE": (
        _BACKUP
        + "The recovery option repair_files writes the file again with the previous query ID, where the"
        " rest of the file or the log of the sink tells it."
    ),
    "OFFSETS_LOST": (
        "Restore a backup of the checkpoint (restore_backup). Without one this checkpoint cannot be"
        " resumed: " + _NEW_CHECKPOINT + " at a known position (reset)."
    ),
    "OLD_FILES_BEFORE_BATCH_0": (
        "Restore a backup of the checkpoint with offsets/ and commits/ (restore_backup), or start the"
        " query with a new, empty checkpoint location."
    ),
    "LOG_FILE_NAME": (
        _BACKUP + "Restore a backup of the checkpoint (restore_backup), or use reset. Find out what gave the"
        " file its name: Spark never writes zeros in front."
    ),
    "LOG_FILE_UNREADABLE": (
        _BACKUP + "The recovery option repair_files does without the offset file of a batch that is not"
        " committed (Spark plans it again), and writes a commit file again or does without it (Spark"
        " re-runs the batch). The offset file of a committed batch cannot be made again: roll back to"
        " an earlier batch (rewind), or restore a backup (restore_backup)."
    ),
    "LOG_VERSION_UNKNOWN": (
        "Start the query with the Spark version that wrote the file, or with a newer one."
    ),
    "SOURCE_COUNT": (
        "Start the query with the sources it had before, or "
        + _NEW_CHECKPOINT
        + " and a start position for each source."
    ),
    "OFFSET_GAP": (
        _BACKUP + "If the newest batch is committed, its offset file is exact in this place too, with and"
        " without state: the recovery option repair_files makes that copy. If it is not committed, the"
        " batch would run empty and its rows would be lost: restore a backup (restore_backup), or "
        + _NEW_CHECKPOINT
        + " after an older batch (reset, or python -m core resume --batch); the rows since then are"
        " reprocessed."
    ),
    "SOURCE_LOG_GAP": (
        _BACKUP + "Restore a backup of the checkpoint (restore_backup), or use full_refresh: nothing else in"
        " the checkpoint says which input files the entry had."
    ),
    "SOURCE_LOG_END_MISSING": (
        _BACKUP + "Roll back to a batch that the source log still reaches (rewind), or restore a backup"
        " (restore_backup)."
    ),
    "SOURCE_LOG_UNREADABLE": (
        _BACKUP + "Roll back to a batch before it, in a copy without the file (rewind), restore a backup"
        " (restore_backup), or use full_refresh. In place, without the file, the start fails too."
    ),
    "SOURCE_LOG_PATH": (
        _BACKUP + "Restore a backup of the checkpoint (restore_backup), or use full_refresh."
    ),
    "SOURCE_START_LOST": (
        _BACKUP
        + "Restore a backup of the checkpoint (restore_backup). Without one "
        + _NEW_CHECKPOINT
        + " (reset)."
    ),
    "SOURCE_PATH_GONE": (
        "Create the directory again, or give the query its new place: a path or glob that also matches the"
        " old one keeps the checkpoint usable."
    ),
    "SOURCE_PATH_MOVED": (
        "Put the files back and give the query its old path, or one that contains both places: a directory"
        " above them (with recursiveFileLookup) or a glob, for which Spark does not make this check. Is every"
        " file at the new place new to the query, reset the checkpoint instead (reset)."
    ),
    "SOURCE_OFFSET_BACKWARDS": (
        _BACKUP + "One of the two newest offset files is not the one that Spark wrote: roll back to a batch"
        " before them (rewind), or restore a backup (restore_backup)."
    ),
    "SOURCE_OFFSET_UNREADABLE": (
        _BACKUP + "Roll back to a batch before it (rewind): an uncommitted batch is then planned again. Or"
        " restore a backup (restore_backup)."
    ),
    "FAILED_PLAN_LEFT": (
        _BACKUP + "Roll back to the newest committed batch (rewind), which leaves the failed plan out, and"
        " start the query with the topics it had before. Or use reset."
    ),
    "KAFKA_TOPIC_REMOVED": (
        "Keep the topic in the subscription, or "
        + _NEW_CHECKPOINT
        + " and startingOffsets for the other topics."
    ),
    "KAFKA_TOPIC_GONE": (
        "Check that bootstrap.servers names the right cluster and that the topic name is spelt correctly."
        " If the topic is gone for good, remove it from the subscription and "
        + _NEW_CHECKPOINT
        + " and startingOffsets for the other topics."
    ),
    "KAFKA_PARTITIONS_GONE": (
        "The topic was deleted, or recreated with fewer partitions: "
        + _NEW_CHECKPOINT
        + " and startingOffsets for the partitions that exist."
    ),
    "KAFKA_RECORDS_EXPIRED": (
        "Backfill them if they still exist elsewhere. Then start the query once with failOnDataLoss=false,"
        " which reads what is left and skips the rest, or "
        + _NEW_CHECKPOINT
        + " at the earliest offsets that are left."
    ),
    "KAFKA_TOPIC_RECREATED": (
        _BACKUP
        + "To read the new topic from its first record, "
        + _NEW_CHECKPOINT
        + " (reset) and startingOffsets 0 for its partitions: at the old positions its first records are"
        " never read."
    ),
    "KAFKA_TOPIC_CUT_SHORT": (
        _BACKUP
        + "First see which it is: an older copy of the cluster, another cluster, or a position that was"
        " changed by hand. A start from the earliest record (reset) reads again what the broker has of the"
        " records that were read."
    ),
    "KAFKA_NEW_PARTITION_LATE": (
        "If the records before its start are not needed, start the query once with failOnDataLoss=false."
        " If they are, backfill them first."
    ),
    "DELTA_TABLE_DIFFERS": (
        "Correct the path if it is wrong. If the table was recreated, "
        + _NEW_CHECKPOINT
        + ", and decide first whether its rows are already in the target."
    ),
    "DELTA_LOG_CLEANED": (
        _BACKUP
        + "A new checkpoint can start exactly at a version that is still in the log (reset). If the log"
        " also begins after the position, decide whether the rows of the missing versions are needed,"
        " and backfill them with a batch job."
    ),
    "DELTA_TABLE_OLDER": (
        "Find out which copy of the table this is. Do not let new commits fill up the versions: the rows"
        " in them would never be read. To read this table as it is, " + _NEW_CHECKPOINT + "."
    ),
    "DELTA_SNAPSHOT_GONE": (
        "To continue, "
        + _NEW_CHECKPOINT
        + " at the oldest version in the log. Backfill the rows before it with a batch job, or refresh the"
        " target."
    ),
    "DELTA_LOG_GAP": "Restore the missing file of _delta_log. The checkpoint needs no change.",
    "DELTA_SCHEMA_WAITS": (
        "Set schemaTrackingLocation below the checkpoint location and check the query against the new"
        " columns, or " + _NEW_CHECKPOINT + "."
    ),
    "DELTA_CHANGES_WAIT": (
        "Decide what these rows mean for the target. Then set skipChangeCommits=true (the new rows of these"
        " commits are not read either), set ignoreDeletes=true for commits that only delete, or read the"
        " change data feed with a new checkpoint location."
    ),
    "DELTA_FILES_GONE": (
        "Put the files back if a backup has them. Else their rows may still be in newer files of the table"
        " (OPTIMIZE, MERGE): set spark.sql.files.ignoreMissingFiles=true for one start, which commits the"
        " batch without them, and add them to the sink by a batch job (backup_and_backfill)."
    ),
    "OPERATORS_DIFFER": (
        "Start the query as it was. If every stateful operator was removed on purpose, use"
        " drop_state. If it has other ones, " + _NEW_CHECKPOINT + " (reset)."
    ),
    "JOIN_BATCH_WITHOUT_ROWS": (
        "Start the query once with spark.sql.streaming.stateStore.stateSchemaCheck set to false: the batch"
        " then runs with the same rows. Turn the check on again for the start after that."
    ),
    "STATE_FOLDER_MISSING": (
        "Restore a backup whose state/ is of the same moment as the logs (restore_backup), or "
        + _NEW_CHECKPOINT
        + " (reset)."
    ),
    "STATE_SCHEMA_UNREADABLE": (
        _BACKUP + "Restore a backup of the checkpoint (restore_backup), or use reset."
    ),
    "STATE_NOT_RESTORABLE": (
        "Roll back to the newest batch whose state is complete (rewind), or restore a backup"
        " (restore_backup)."
    ),
    "STATE_FILE_DAMAGED": (
        _BACKUP + "Roll back to the newest batch whose state is intact (rewind), or restore a backup"
        " (restore_backup)."
    ),
    "JOIN_STATE_INCONSISTENT": (
        _BACKUP
        + "Roll back to a batch before the file was replaced (rewind), or restore a backup in which all"
        " stores of the operator are of the same batch (restore_backup)."
    ),
    "STATE_CHECKSUM_MISMATCH": (
        _BACKUP + "Roll back to a batch whose state is intact (rewind), or restore a backup in which the file"
        " and its .crc (the one without a leading dot) belong together (restore_backup). Without that"
        " .crc Spark would read the file unchecked."
    ),
    "STATE_DEFINITION_UNREADABLE": (
        _BACKUP
        + "Restore a backup of the checkpoint (restore_backup): Spark does not write the file a second"
        " time."
    ),
    "STATE_SCHEMA_GONE": (
        "Put the checkpoint back where it was, or use repair_files: in a copy it writes the paths of the"
        " schema files again."
    ),
    "STATE_IDS_OF_ANOTHER_VERSION": (
        "Restore a backup of the checkpoint (restore_backup): in state checkpoint format 2 only the"
        " commit files name the state files."
    ),
    "SETTINGS_CHANGED": (
        _BACKUP + "Roll back to a batch before the change (rewind), or restore a backup (restore_backup); the"
        " configs of the session have no effect."
    ),
    "COMMIT_AHEAD": (
        _BACKUP + "The recovery option repair_files leaves the commits that are ahead out. Until then every"
        " start delivers rows again."
    ),
    "SKIPPED_BATCH_NEEDS_STATE": (
        _BACKUP
        + "Decide what the sink keeps: each start fails alike until the sink runs the batch once more."
        " Put the sink back to the batch before (a Delta table with RESTORE) and roll the checkpoint"
        " back to it too (rewind), or " + _NEW_CHECKPOINT + " (reset)."
    ),
    "STALE_CHECKSUM_FILE": (
        _BACKUP + "The recovery option repair_files leaves the .crc file out: Spark can then write the file."
    ),
    "VERSION_TRAP": (
        "Start the query with the Spark version that wrote the checkpoint. To change the version, "
        + _NEW_CHECKPOINT
        + " at the same position. Where a join of 3.5 is refused for a column that is not null, the rows fit:"
        " start it with spark.sql.streaming.stateStore.stateSchemaCheck=false, and with the query unchanged."
    ),
    "UNFINISHED_REPARTITION": (
        "Run the repartition again until it completes, or restore a backup from before it (restore_backup)."
    ),
    # What Spark accepts and the data suffers from
    "FRESH_START": "Restore a backup with offsets/ and commits/ before the next start (restore_backup).",
    "INPUT_GONE": "Restore the files before the next start, or load their rows another way afterwards.",
    "INPUT_CHANGED": (
        "Restore the original files, or make sure that a sink which already has the batch can take the new"
        " content."
    ),
    "SOURCE_WITHOUT_OFFSET": (
        _BACKUP + "Roll back to a batch whose offset file has the source (rewind), or restore a backup"
        " (restore_backup)."
    ),
    "SOURCE_LOG_AHEAD": (
        "Decide whether the sink can take the rows of these batches again: one that overwrites by key"
        " can. If it cannot, restore a backup of the whole checkpoint (restore_backup), or use reset."
    ),
    "SET_BACK": (
        "Make sure that the sink can take these batches again: it must overwrite or skip batch IDs that it"
        " has already seen, or their rows must be removed first."
    ),
    "SOURCE_LOG_BEHIND": (
        _BACKUP + "Roll back to a batch that the source log still reaches (rewind), or restore a backup"
        " (restore_backup)."
    ),
    "SOURCE_FILES_ELSEWHERE": (
        "Were the files moved or copied there, put them back and give the query its old path. Is each of them"
        " new to the query, there is nothing to do."
    ),
    "SOURCE_LOG_INCOMPLETE": (
        _BACKUP
        + "Restore a backup of the checkpoint (restore_backup), or else rows that were read before are"
        " read again."
    ),
    "KAFKA_START_LOST": (
        "Restore a backup of the checkpoint (restore_backup), or start the query with startingOffsets"
        " set to where batch 0 began."
    ),
    "KAFKA_TOPIC_READ_AGAIN": (
        "Make sure that the sink can take these records again. If it cannot, "
        + _NEW_CHECKPOINT
        + " (reset) and startingOffsets at the topic's last position."
    ),
    "DELTA_ROWS_SKIPPED": (
        "Backfill the rows of these versions with a batch job, if the table still has them."
    ),
    "DELTA_INDEX_BEYOND": (
        _BACKUP + "The newest offset file was edited: roll back to a batch before it (rewind), or restore a"
        " backup (restore_backup)."
    ),
    "DELTA_OFFSET_INCOMPLETE": (
        _BACKUP + "The offset file was edited: roll back to a batch before it (rewind), or restore a backup"
        " (restore_backup)."
    ),
    "DELTA_BACK_IN_SNAPSHOT": (
        _BACKUP + "The newest offset file was edited: roll back to a batch before it (rewind), or restore a"
        " backup (restore_backup)."
    ),
    "DELTA_TABLE_REFILLED": (
        "Compare these versions with the target. Reprocess them with a batch job, or with a new checkpoint"
        " location that starts there."
    ),
    "SINK_AHEAD": (
        "Decide what the sink keeps. Delta: RESTORE the table to the version of the newest batch of"
        " the checkpoint and use restore_backup with a new query ID; or use reset, if repeated rows do"
        " no harm. File sink: use a new output directory."
    ),
    "SINK_BEHIND": (
        "Reprocess their rows: roll the checkpoint back to the newest batch that the sink has"
        " (rewind), or read the range with a batch job."
    ),
    "SINK_CHANGED": (
        "Find out whether this was intended. To write the rows again, roll the checkpoint back to the"
        " batch that the table was restored to (rewind)."
    ),
    "SINK_FORGOT_BATCH": (
        "Remove delta.setTransactionRetentionDuration from the table before the start, or decide"
        " whether the rows of the batch in the table have to go first."
    ),
    "SINK_NEW_QUERY_ID": (
        "Restore a backup of the checkpoint before the start (restore_backup). Without one, make sure"
        " that the table has no rows of this query, or write to a new one."
    ),
    "SINK_LOG_HOLE": (
        "Restore the missing files of _spark_metadata from a backup, or use a new output directory."
    ),
    "SINK_LOG_DAMAGED": (
        "Restore the damaged files of _spark_metadata from a backup before the start, or use a new output"
        " directory. The data files are still there: a reader that does not look at _spark_metadata sees"
        " them, with those of batches that did not finish."
    ),
    "SINK_NEVER_WRITTEN": (
        "Make sure that this is the right table. If it was dropped and made again, put the old one back"
        " before the start, or write everything again. If the query writes by foreachBatch, this is normal:"
        " answer that on Recovery."
    ),
    "SINK_LOG_GONE": (
        "Restore _spark_metadata from a backup before the start, or write everything to a new output. If this"
        " is a new output directory: keep the old one, or start with a new checkpoint for the new one."
    ),
    "SOURCES_CHANGED": "Check that every source that starts from scratch is meant to.",
    "STATE_DROPPED": "Make sure that the contents of this state are no longer needed.",
    "STALE_SNAPSHOT": (
        _BACKUP + "The recovery option repair_files leaves these snapshots out: Spark then rebuilds the state"
        " from the snapshot before them and every delta or changelog after that one. It is not offered"
        " where one of these is missing, or where a batch may have run after a start had loaded such a"
        " snapshot: roll back to a batch before that (rewind)."
    ),
    "SNAPSHOT_DIFFERS": (
        _BACKUP + "Find out which is right: compare with the sink, and look at the modification times. Then"
        " roll back to a batch before the file that is wrong (rewind), or restore a backup"
        " (restore_backup)."
    ),
    "ROWS_IN_WRONG_PARTITION": (
        _BACKUP + "Find out whether partition directories were swapped or files were copied between them."
        " Restore a backup from before that (restore_backup); if there is none, "
        + _NEW_CHECKPOINT
        + " (reset)."
    ),
    "WATERMARK_WENT_BACK": (
        "Put back the watermark that the commit before names, in a copy (repair_files), or roll back to a"
        " batch before it (rewind): with a lower watermark, late rows reopen closed windows."
    ),
    "WATERMARK_RAISED": (
        "Put back the watermark that the commit before names, in a copy (repair_files), or roll back to the"
        " batch before (rewind): rows that come below a later watermark are dropped."
    ),
    "OFFSET_WENT_BACK": (
        "Find out why: the topic was recreated (records before the new offset were never read), two queries"
        " share this checkpoint, or the offset was edited by hand."
    ),
    "WATERMARK_AHEAD": (
        "Find the rows whose event time is in the future and filter them before withWatermark. The watermark"
        " never goes back by itself: roll the checkpoint back to a batch before the jump, or use a new"
        " checkpoint location; reprocess the rows that were dropped."
    ),
    # What somebody should look at
    "FILE_NOT_READ": (
        "See why it could not be read (permission, network, a link that is not followed, its size) and look"
        " again. Leave the file as it is: nothing says that it is damaged."
    ),
    "SINK_UNKNOWN": (
        "Make sure that this is the right table. If it is, and the query writes with foreachBatch, this is"
        " normal."
    ),
    "SINK_NO_LOG": (
        "File sink: keep the old output directory, or start with a new checkpoint for the new one. Delta:"
        " give the place of the table. Any other sink: compare the rows of the newest batches by hand."
    ),
    "KAFKA_RECORDS_EXPIRE_SOON": (
        "Start the query before that time, or raise retention.ms of the topic until the query has caught up."
    ),
    "OFFSETS_MISSING": ("Nothing for the next start. The checkpoint cannot be rolled back to these batches."),
    "COMMITS_MISSING": (
        "Compare the sink with these batches: Spark re-runs only the newest of them. The rows of the"
        " others can be reprocessed from a start position."
    ),
    "COMMIT_GAP": "Nothing for the next start: later batches are committed.",
    "OLD_LOG_FILE_UNREADABLE": (
        "Nothing for the next start. The checkpoint cannot be rolled back to this batch."
    ),
    "OPERATOR_METADATA_MISSING": (
        "Make sure that the stateful operators of the query have not changed: the next start does not"
        " check it."
    ),
    "OPERATOR_METADATA_UNREADABLE": (
        "Make sure that the stateful operators of the query have not changed: the next start does not"
        " check it."
    ),
    "STATE_SCHEMA_ELSEWHERE": (
        "Nothing, if this is a copy for a look. To start the query here, use repair_files: in a copy it"
        " writes the paths of the schema files again."
    ),
    "STATE_SCHEMA_MISSING": (
        "Make sure that the types of keys and values have not changed: the next start does not check it."
    ),
    "TWO_WRITERS": (
        "Make sure that exactly one query uses this checkpoint: stop the other one and give it a checkpoint"
        " location of its own."
    ),
    "JOIN_REPARTITIONED": (
        "Go back to the checkpoint as it was before the repartition, if it was kept, and give the query its"
        " old number of partitions. If it was not, read everything again."
    ),
    "EXTRA_PARTITIONS": (
        "Keep them unless you know that the state was repartitioned: their rows are not read."
    ),
    "UNKNOWN_FORMAT": (
        "Nothing: the file is shown as it is and not interpreted. If a newer Spark wrote it, use a newer"
        " version of this tool."
    ),
    "WATERMARK_STALLED": (
        "Bring the source that has no new data back, or let it send rows with a current event time. If all"
        " sources have data, look for event times that are null or do not grow."
    ),
    "STATE_SKEWED": (
        "Find the key behind it: mostly null, a default value or one very busy customer. More shuffle"
        " partitions do not help against a single key; filter it, treat it in a query of its own, or"
        " aggregate in two steps with a salted key."
    ),
    "BATCH_PENDING_LONG": (
        "Look at the query: if it runs, its progress shows whether the batch is still working; if it has"
        " stopped, the next start re-runs the batch; if each start fails, the error says where (python -m"
        " core explain). A row that cannot be processed has to be filtered or handled in the code: a restart"
        " alone reads it again."
    ),
    "SINK_OTHER_QUERY": (
        "Compare the rows of both ranges of versions. Rows that are there twice can be removed by"
        " RESTORE to the version before the later query began (and a rollback of the checkpoint), or by a"
        " DELETE or MERGE on a key."
    ),
    "SINK_BATCH_TWICE": "Remove the rows of one of the two versions, by RESTORE or by a DELETE on a key.",
    "SINK_BATCH_GAP": (
        "Find out what happened to these batches. Their rows can be reprocessed with a batch job as long"
        " as the source has them."
    ),
    "SINK_BATCHES_SKIPPED": (
        "Compare the source with the sink for these batches. A batch job can add their rows, or a full"
        " table refresh writes everything again (a file sink: into a new directory)."
    ),
    "SINK_FILES_GONE": (
        "Restore the files from a backup, or reprocess the batches into a new output directory. To read"
        " what is left, set spark.sql.files.ignoreMissingFiles."
    ),
    "BATCHES_SLOWER": (
        "Compare the progress of an early and a late batch (durationMs, stateOperators): addBatch tells"
        " of the query and the sink, the commit times of the state tell of the state store. Growing"
        " state, small files in the sink and a shrinking cluster are the usual reasons."
    ),
    "SOURCE_LAG": (
        "Raise the rate limit (maxOffsetsPerTrigger, maxFilesPerTrigger), give the query more cores or"
        " the topic more partitions. While an old backlog is read on purpose, this passes."
    ),
    "CHECKPOINT_INSIDE_DATA": (
        "Move the checkpoint while the query is stopped (copy it whole), for example to a directory"
        " whose name begins with an underscore (_checkpoints), and start the query with the new location."
    ),
    "NOT_IN_USE": (
        "Open the checkpoint with the highest number; this one shows what was before it and can be kept or"
        " removed."
    ),
    # Notes
    "BATCH_NOT_COMMITTED": (
        "Wait while the batch runs; after a stop, the next start re-runs it. If it stays uncommitted, find"
        " the error with which each start fails (python -m core explain)."
    ),
    "STATE_OF_LATER_BATCHES": (
        "Nothing about the files that no other finding names: Spark overwrites them. They show that offsets"
        " and commits were rolled back."
    ),
    "ROWS_BEFORE_LOG": (
        "Decide whether the sink, or whoever reads it, can take these rows twice: Kafka keeps both, so"
        " readers must leave repeats out by a key."
    ),
    "SOURCE_LOG_ONE_AHEAD": "Nothing, unless offsets and commits were rolled back by hand.",
    "STATE_FILE_ALTERED": (
        "Stop the query. Roll back to a batch before it (rewind), restore a backup (restore_backup),"
        " or rebuild the state (full_refresh). If somebody changed the file on purpose, decide whether"
        " its new content is right before anything else."
    ),
    "HADOOP_CHECKSUM_MISMATCH": (
        "Nothing for the next start. Find out who changed the file and whether the change was intended."
    ),
    "STATE_GROWS": (
        "Make sure that the number of keys is small by nature. If it is not, give the query a watermark,"
        " or find out what keeps the watermark from moving."
    ),
    "SHORT_RETENTION": (
        "To be able to roll back further, set spark.sql.streaming.minBatchesToRetain higher; it takes"
        " effect from the next start on."
    ),
    "LONG_RETENTION": (
        "Unless you roll back so far, remove spark.sql.streaming.minBatchesToRetain or lower it; Spark"
        " removes the older files with the next batches."
    ),
    "LEFTOVERS": "Nothing: Spark ignores them.",
    "SINK_FILES_WITHOUT_ENTRY": (
        "Nothing if only Spark reads the output. Other readers need a copy without these files, or the"
        " files moved away."
    ),
    "TEMPORARY_LOCATION": (
        "Set checkpointLocation to storage that remains when the cluster is gone: this checkpoint is"
        " deleted with it."
    ),
}
