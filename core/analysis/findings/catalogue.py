"""Every finding id with its severity and what to do. ``docs/findings.md`` has a section for each; a test
keeps the two equal."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis.findings.model import Finding, Severity
from core.sparklogs.evidence import Certainty, Evidence


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind of finding. ``since``: the Spark from which it matters ("all" = every version from 3.3 on)."""

    severity: Severity
    title: str
    action: str
    since: str = "all"


BACKUP = "Stop the query and back the checkpoint up first. "

CATALOGUE: dict[str, Entry] = {
    # What stops the next start
    "METADATA_MISSING": Entry(
        "blocks_restart",
        "metadata is missing",
        BACKUP
        + 'Write the OLD query id back ({"id":"<uuid>"}); Delta knows the query by it. Only when nothing uses'
        " the id, take a new one.",
        "4.2 (before: silently a new query id)",
    ),
    "METADATA_UNREADABLE": Entry(
        "blocks_restart",
        "metadata cannot be read",
        BACKUP + 'Replace it by {"id":"<uuid>"} with the old query id, and remove .metadata.crc.',
    ),
    "OFFSETS_LOST": Entry(
        "blocks_restart",
        "all offsets are gone, commits are there",
        "Restore offsets/ from a backup. Without one there is no way to go on from this directory: start a"
        " new checkpoint at a known position.",
    ),
    "OLD_FILES_BEFORE_BATCH_0": Entry(
        "blocks_restart",
        "batch 0 would start in a directory that is not empty",
        "Restore offsets/ and commits/ from a backup, or start in a new, empty directory.",
        "4.1 (before: silently from scratch)",
    ),
    "LOG_FILE_NAME": Entry(
        "blocks_restart",
        "a log file has leading zeros in its name",
        BACKUP + "Rename the file to the plain number.",
    ),
    "LOG_FILE_UNREADABLE": Entry(
        "blocks_restart",
        "a log file that Spark reads at start cannot be read",
        BACKUP + "The newest offset file may be deleted when its batch is not committed (the batch is planned"
        " again); a commit may be deleted (the batch runs again). Delete the .crc file beside it too.",
    ),
    "LOG_VERSION_UNKNOWN": Entry(
        "blocks_restart",
        "a log file has a version that this Spark does not read",
        "Start with the Spark that wrote it, or a newer one.",
    ),
    "SOURCE_COUNT": Entry(
        "blocks_restart",
        "the number of sources differs from the offset log",
        "Start the query with the sources it had; or begin a new checkpoint with a start position for each"
        " source.",
    ),
    "OFFSET_GAP": Entry(
        "blocks_restart",
        "the offset entry before the newest is missing",
        BACKUP
        + "If the newest batch is committed, copy the newest offset file to the missing name: that is exact,"
        " with and without state. If it is not committed, do not: it would run empty and its rows would be"
        " lost. Restore the missing file from a backup, or start a new checkpoint after an older batch"
        " (python -m core resume --batch); the rows since then come again.",
    ),
    "SOURCE_LOG_GAP": Entry(
        "blocks_restart",
        "an entry in the middle of a file source's log is missing",
        BACKUP
        + "Write the missing entry anew from the listing of the input directory (path, time and log id of its"
        " files).",
    ),
    "SOURCE_LOG_END_MISSING": Entry(
        "blocks_restart",
        "the end of a file source's log is missing",
        BACKUP
        + "Write the missing entry anew from the listing of the input directory (path, time and log id of its"
        " files).",
    ),
    "SOURCE_OFFSET_BACKWARDS": Entry(
        "blocks_restart",
        "a file source's offset goes back",
        BACKUP
        + "One of the newest two offset files is not the one that Spark wrote: restore it from a backup.",
    ),
    "SOURCE_OFFSET_UNREADABLE": Entry(
        "blocks_restart",
        "the offset of a source is not valid JSON",
        BACKUP
        + "Delete the newest offset file when its batch is not committed; else restore it from a backup.",
    ),
    "FAILED_PLAN_LEFT": Entry(
        "blocks_restart",
        "a failed start left a plan that cannot work",
        BACKUP
        + "Delete the uncommitted offset file and its .crc, then start the query with the topics it had.",
    ),
    "KAFKA_TOPIC_REMOVED": Entry(
        "blocks_restart",
        "the query no longer reads a topic that the checkpoint has positions for",
        "Keep the topic in the subscription, or begin a new checkpoint with startingOffsets for the others.",
    ),
    "KAFKA_TOPIC_GONE": Entry(
        "blocks_restart",
        "a topic of the query is not on the broker",
        "Look whether bootstrap.servers names the right cluster and the name is spelt right. A topic that is"
        " gone for good has to leave the subscription, and the others go on in a new checkpoint with"
        " startingOffsets.",
    ),
    "KAFKA_PARTITIONS_GONE": Entry(
        "blocks_restart",
        "the broker no longer has partitions that the checkpoint reads",
        "The topic was deleted, or created anew with fewer partitions: begin a new checkpoint with"
        " startingOffsets for what is there.",
    ),
    "KAFKA_RECORDS_EXPIRED": Entry(
        "blocks_restart",
        "records that were not read yet have expired",
        "Backfill them if they exist elsewhere. Then start once with failOnDataLoss=false, which reads what"
        " is left and leaves out the rest; or begin a new checkpoint at the start of what is left.",
    ),
    "KAFKA_TOPIC_RECREATED": Entry(
        "blocks_restart",
        "the topic is not the one that the query read",
        BACKUP
        + "To read the new topic from its first record, set the positions of the topic to 0 in the newest"
        " committed offset file (without its .crc) and delete an uncommitted one; or begin a new"
        " checkpoint.",
    ),
    "KAFKA_NEW_PARTITION_LATE": Entry(
        "blocks_restart",
        "a new partition no longer begins at offset 0",
        "If the records before its start are not needed, start once with failOnDataLoss=false; else backfill"
        " them first.",
    ),
    "DELTA_TABLE_DIFFERS": Entry(
        "blocks_restart",
        "the Delta source is another table",
        "Correct the path if it is wrong. If the table was made anew, begin a new checkpoint and decide"
        " whether its rows are in the target already.",
    ),
    "DELTA_LOG_CLEANED": Entry(
        "blocks_restart",
        "the log of the Delta source no longer reaches back to the position",
        BACKUP
        + "When the newest batch is committed, put the source's line of the newest offset file into the one"
        " before it and remove that file's .crc. If the log begins after that position too, start once with"
        " failOnDataLoss=false and take the missing versions by a batch read. A new checkpoint can start"
        " exactly at a version that is still in the log.",
    ),
    "DELTA_TABLE_OLDER": Entry(
        "blocks_restart",
        "the Delta source ends before the position",
        "Find out which copy of the table this is. Do not let new commits fill the versions up: what they"
        " hold would never be read. With this table as it is, begin a new checkpoint.",
    ),
    "DELTA_SNAPSHOT_GONE": Entry(
        "blocks_restart",
        "the first snapshot of the Delta source can no longer be rebuilt",
        "Begin a new checkpoint at the oldest version in the log and take the rows before it by a batch read,"
        " or refresh the target.",
    ),
    "DELTA_LOG_GAP": Entry(
        "blocks_restart",
        "the Delta table itself cannot be read",
        "Restore the missing file of _delta_log. The checkpoint needs nothing.",
    ),
    "DELTA_SCHEMA_WAITS": Entry(
        "blocks_restart",
        "a column of the Delta source was renamed or dropped",
        "Set schemaTrackingLocation below the checkpoint and check the query against the new columns, or"
        " begin a new checkpoint.",
    ),
    "DELTA_CHANGES_WAIT": Entry(
        "blocks_restart",
        "rows of the Delta source were deleted or changed",
        "Decide what these rows mean for the target. Then set skipChangeCommits=true (their new rows are not"
        " read either), ignoreDeletes=true for commits that only delete, or read the change data feed in a"
        " new checkpoint.",
    ),
    "OPERATORS_DIFFER": Entry(
        "blocks_restart",
        "the query's stateful operators are not those of the state",
        "Start the query as it was; or, when no stateful operator is left, drop state/ from a copy of the"
        " checkpoint; else begin a new one.",
        "4.0 (before: silently, or a state error)",
    ),
    "JOIN_BATCH_WITHOUT_ROWS": Entry(
        "blocks_restart",
        "the batch that runs again lacks rows of a side of a join",
        "Start the query once with spark.sql.streaming.stateStore.stateSchemaCheck set to false: the batch"
        " then runs with the same rows. Switch the check on again for the start after that.",
        "up to 3.5",
    ),
    "STATE_FOLDER_MISSING": Entry(
        "blocks_restart",
        "state/ is missing or empty",
        "Restore state/ from a backup of the same moment, or begin a new checkpoint.",
    ),
    "STATE_SCHEMA_UNREADABLE": Entry(
        "blocks_restart",
        "a state schema file cannot be read",
        BACKUP + "Delete the file: Spark writes it anew, and does not compare the types at this one start.",
    ),
    "STATE_NOT_RESTORABLE": Entry(
        "blocks_restart",
        "the state that the next batch needs cannot be rebuilt",
        "Restore the missing file from a backup; else set offsets and commits back to the newest batch whose"
        " state is complete.",
    ),
    "STATE_FILE_DAMAGED": Entry(
        "blocks_restart",
        "a state file is damaged",
        BACKUP
        + "Restore the file from a backup; else set offsets and commits back to the newest batch whose state"
        " is intact.",
    ),
    "STATE_CHECKSUM_MISMATCH": Entry(
        "blocks_restart",
        "Spark's own checksum of a state file does not fit",
        BACKUP
        + "Restore the file and its .crc (the one without a leading dot) from the same backup. Deleting the"
        " .crc makes Spark read what is there: do so only when you know that the file is right.",
        "4.1",
    ),
    "STATE_DEFINITION_UNREADABLE": Entry(
        "blocks_restart",
        "operator metadata or a schema with column families cannot be read",
        BACKUP + "Restore the file from a backup: Spark does not write it anew.",
        "4.0",
    ),
    "STATE_IDS_OF_ANOTHER_VERSION": Entry(
        "blocks_restart",
        "the newest commit names state files of another version",
        "Restore the missing commits from a backup: in state checkpoint format 2 only they name the files.",
        "4.0",
    ),
    "SETTINGS_CHANGED": Entry(
        "blocks_restart",
        "a pinned setting is not the one the state was written with",
        BACKUP
        + "Put the settings of the entry before into the newest offset file; the session's settings do not"
        " count.",
    ),
    "COMMIT_AHEAD": Entry(
        "blocks_restart",
        "a commit is ahead of the newest offset",
        BACKUP
        + "Restore the missing offset file, or delete the commits that are ahead (with their .crc). Each"
        " start delivers rows again.",
    ),
    "STALE_CHECKSUM_FILE": Entry(
        "blocks_restart",
        "a checksum file outlived its log file",
        BACKUP + "Delete the .crc file: without it Spark can write the log file.",
    ),
    "VERSION_TRAP": Entry(
        "blocks_restart",
        "this Spark version reads the checkpoint otherwise than the one that wrote it",
        "Start the query with the Spark that wrote the checkpoint; to change the version begin a new"
        " checkpoint at the same position.",
    ),
    "UNFINISHED_REPARTITION": Entry(
        "blocks_restart",
        "a repartition of the state was not finished",
        "Run the repartition again until it ends, or delete the newest offset file and its .crc.",
        "4.2",
    ),
    # What Spark accepts and the data suffers from
    "FRESH_START": Entry(
        "data_risk",
        "the logs are gone and Spark would start from scratch",
        "Restore offsets/ and commits/ before the next start.",
    ),
    "INPUT_GONE": Entry(
        "data_risk",
        "input files of the batch that runs again are gone",
        "Put the files back before the next start, or read their rows in another way afterwards.",
    ),
    "INPUT_CHANGED": Entry(
        "data_risk",
        "input files of the batch that runs again have changed",
        "Put the files back as they were, or make sure that a sink which has the batch already can take the"
        " new content.",
    ),
    "SOURCE_WITHOUT_OFFSET": Entry(
        "data_risk",
        "a source has no offset in the newest entry",
        BACKUP + "Put the source's offset back into the newest offset file.",
    ),
    "SOURCE_LOG_AHEAD": Entry(
        "data_risk",
        "offsets and commits were set back, the source's log was not",
        "Before the next start delete the entries of the source's log after the newest offset too (not when"
        " they are inside a .compact file).",
    ),
    "SET_BACK": Entry(
        "data_risk",
        "offsets and commits were set back",
        "Make sure that the sink may get these batches again: it must overwrite or skip batch ids that it has"
        " seen, or lose their rows first.",
    ),
    "SOURCE_LOG_BEHIND": Entry(
        "data_risk",
        "a file source's log ends before the offset",
        BACKUP + "Write the missing entry anew from the listing of the input directory.",
    ),
    "KAFKA_START_LOST": Entry(
        "data_risk",
        "the start position of batch 0 is missing",
        "Restore sources/<n>/0, or start with startingOffsets set to where batch 0 began.",
    ),
    "DELTA_ROWS_SKIPPED": Entry(
        "data_risk",
        "versions of the Delta source are never read",
        "Take the rows of these versions by a batch read, if the table still holds them.",
    ),
    "DELTA_INDEX_BEYOND": Entry(
        "data_risk",
        "the position lies beyond the files of its commit",
        BACKUP + "Put the index right: the newest offset file was edited.",
    ),
    "DELTA_BACK_IN_SNAPSHOT": Entry(
        "data_risk",
        "the position goes back into the first snapshot",
        BACKUP + "Put isStartingVersion right: the newest offset file was edited.",
    ),
    "DELTA_TABLE_REFILLED": Entry(
        "data_risk",
        "versions that count as read were written later",
        "Compare these versions with the target; read them again by a batch read or with a new checkpoint"
        " that starts there.",
    ),
    "SINK_AHEAD": Entry(
        "data_risk",
        "the sink will skip the next batches",
        "Delta: RESTORE the table to the version of the newest batch of the checkpoint and put a new id into"
        " metadata; or only the new id, when repeats do no harm. File sink: a new output directory.",
    ),
    "SINK_BEHIND": Entry(
        "data_risk",
        "committed batches are not in the sink",
        "Read their rows again: rewind the checkpoint to the newest batch that the sink holds (a new id in"
        " metadata is not needed for that), or read the range with a batch job.",
    ),
    "SINK_CHANGED": Entry(
        "data_risk",
        "somebody took rows out of the sink after the newest batch",
        "Find out whether that was meant. To write the rows again: rewind the checkpoint to the batch that"
        " the table was set back to and put a new id into metadata.",
    ),
    "SINK_FORGOT_BATCH": Entry(
        "data_risk",
        "the pending batch will be written a second time",
        "Take delta.setTransactionRetentionDuration off the table before the start, or remove the rows of the"
        " batch first.",
    ),
    "SINK_LOG_HOLE": Entry(
        "data_risk",
        "the log of the file sink has a hole",
        "Restore the missing files of _spark_metadata from a backup, or go on in a new output directory.",
    ),
    "SOURCES_CHANGED": Entry(
        "data_risk",
        "named sources were added or removed",
        "Make sure that a source that starts from scratch is meant to.",
    ),
    "STATE_DROPPED": Entry(
        "data_risk",
        "the state of a removed operator is left unused",
        "Make sure that its contents are no longer needed.",
        "up to 3.5",
    ),
    "COMMITS_MISSING": Entry(
        "data_risk",
        "several batches have no commit",
        "Compare the sink with these batches: Spark runs only the newest of them again. Their rows can be"
        " read again with a start position.",
    ),
    "STALE_SNAPSHOT": Entry(
        "data_risk",
        "a snapshot of an abandoned time line would be loaded later",
        BACKUP + "Delete the snapshots whose version is higher than the state of the newest batch.",
    ),
    "SNAPSHOT_DIFFERS": Entry(
        "data_risk",
        "a snapshot does not hold what its deltas lead to",
        BACKUP
        + "Find out which is right: compare with the sink, and look at the times of the files. When the"
        " deltas are, delete the snapshot and its .crc.",
    ),
    "ROWS_IN_WRONG_PARTITION": Entry(
        "data_risk",
        "rows lie in a partition that their key does not belong to",
        BACKUP
        + "Find out whether partition directories were exchanged or files were copied between them, and put"
        " them back. Else begin a new checkpoint.",
        "3.3",
    ),
    "WATERMARK_WENT_BACK": Entry(
        "data_risk",
        "the watermark went back",
        "Restore the log file from a backup, or put the earlier value back: late rows would open closed"
        " windows again.",
    ),
    "OFFSET_WENT_BACK": Entry(
        "data_risk",
        "a source's position went back",
        "Find out why: the topic was made anew (records before the new position were never read), or two"
        " queries share this checkpoint.",
    ),
    # What somebody should look at
    "SINK_UNKNOWN": Entry(
        "attention",
        "the sink holds no batch of this query",
        "Make sure that it is the right table. If it is, and the query writes with foreachBatch, this is"
        " normal.",
    ),
    "KAFKA_RECORDS_EXPIRE_SOON": Entry(
        "attention",
        "unread records expire soon",
        "Start the query before that time, or raise retention.ms of the topic until it has caught up.",
    ),
    "OFFSETS_MISSING": Entry(
        "attention",
        "older offset files are missing",
        "Nothing for the next start. Going back to these batches is not possible.",
    ),
    "COMMIT_GAP": Entry(
        "attention",
        "older commit files are missing",
        "Nothing for the next start: later batches are committed.",
    ),
    "OLD_LOG_FILE_UNREADABLE": Entry(
        "attention",
        "an older log file cannot be read",
        "Nothing for the next start. Going back to this batch is not possible.",
    ),
    "OPERATOR_METADATA_MISSING": Entry(
        "attention",
        "operator metadata is missing",
        "Make sure that the query's stateful operators did not change: the next start does not notice it.",
        "4.0",
    ),
    "OPERATOR_METADATA_UNREADABLE": Entry(
        "attention",
        "operator metadata cannot be read",
        "Make sure that the query's stateful operators did not change: the next start does not notice it.",
        "4.0",
    ),
    "STATE_SCHEMA_MISSING": Entry(
        "attention",
        "a state schema file is missing",
        "Make sure that the types of keys and values did not change: the next start does not notice it.",
    ),
    "TWO_WRITERS": Entry(
        "attention",
        "signs of two writers",
        "Make sure that exactly one query uses this checkpoint: stop the other, give it a checkpoint of its"
        " own.",
    ),
    "EXTRA_PARTITIONS": Entry(
        "attention",
        "state of more partitions than the query has",
        "Keep them unless you know that the state was repartitioned: rows in them are not read.",
    ),
    "UNKNOWN_FORMAT": Entry(
        "attention",
        "a file of an unknown form",
        "Shown raw and not interpreted; use a newer version of this tool if Spark is newer.",
    ),
    # Notes
    "BATCH_NOT_COMMITTED": Entry(
        "note",
        "the newest batch has no commit",
        "Nothing: it is in flight, or Spark runs it again at the next start.",
    ),
    "STATE_OF_LATER_BATCHES": Entry(
        "note",
        "state of batches after the newest one",
        "Nothing: the files are overwritten. They show that offsets and commits were set back.",
    ),
    "SOURCE_LOG_ONE_AHEAD": Entry(
        "note",
        "a file source's log is one entry ahead",
        "Nothing, unless offsets and commits were set back by hand.",
    ),
    "HADOOP_CHECKSUM_MISMATCH": Entry(
        "note",
        "a hidden checksum does not fit its file",
        "Nothing for the next start. Find out who changed the file; delete the hidden .crc when the change is"
        " meant.",
    ),
    "STATE_GROWS": Entry(
        "note",
        "state that grows while the watermark stands still",
        "Make sure that the keys are few by nature; otherwise give the query a watermark, or find out what"
        " holds it back.",
    ),
    "SHORT_RETENTION": Entry(
        "note",
        "very few batches are kept",
        "Set spark.sql.streaming.minBatchesToRetain higher when going back further should be possible; it"
        " counts from the next start on.",
    ),
    "LEFTOVERS": Entry("note", "files that are no part of a checkpoint", "Nothing: Spark ignores them."),
    "TEMPORARY_LOCATION": Entry(
        "note",
        "a temporary location",
        "Set checkpointLocation to storage that outlives the cluster; what is here is gone with it.",
    ),
}


def finding(
    finding_id: str,
    sentence: str,
    *evidence: Evidence,
    certainty: Certainty = "certain",
    severity: Severity | None = None,
    batch_id: int | None = None,
    place: str | None = None,
) -> Finding:
    """A finding of the catalogue. ``severity`` is for the few whose weight depends on the Spark version.
    KeyError for an unknown id."""
    entry = CATALOGUE[finding_id]
    return Finding(
        finding_id, severity or entry.severity, certainty, sentence, evidence, entry.action, batch_id, place
    )
