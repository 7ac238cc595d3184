"""The options that make a backup of a checkpoint and restore it."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # the backup
    "possible": "A verified copy that can be restored; the query may run meanwhile.",
    "nothing_committed": "No batch is committed, so there is nothing that a backup could bring back.",
    "start_fails": "A backup made now has what is wrong now: {sentence} The script says what is missing.",
    "effort": "One script; the query need not be stopped.",
    "cost": "Reads and copies the files of the checkpoint, no rows.",
    "only_reads": "The checkpoint is only read.",
    "copy": "Copy commits, metadata, state, offsets and sources, one directory after the other.",
    "copy_why": "The reverse of the order in which Spark writes: what a commit needs is copied after it.",
    "cut": "Leave out the offsets after the batch that follows the newest copied commit.",
    "cut_why": "With them a start would skip batches.",
    "verify": "Compare every file by content, look for what a start reads, and load the state with Spark.",
    "verify_why": (
        "Query ID, newest commit, its offsets and those before it, the state version of every partition, the"
        " file source logs; then Spark's own state reader loads every partition."
    ),
    "verify_unread": "Compare every file by content, and look for what a start reads.",
    "verify_why_unread": (
        "Query ID, newest commit, its offsets and those before it, the state version of every partition, the"
        " file source logs. Spark {spark} has no state reader: the first start loads the state; the script"
        " names it as not checked and ends with exit status 5 at best."
    ),
    "manifest": "Write the list of the files with size and SHA-256 beside the copy.",
    "manifest_why": "The restore compares with it. Nothing is written into the directories of Spark.",
    "mistake": (
        "A recursive copy of a checkpoint in use, in another order: offsets without their commits, commits"
        " without their state. It looks complete and does not start, or skips batches silently."
    ),
    # the restore
    "restore_possible": "For a checkpoint that the option backup has copied (answer backup_to).",
    "restore_possible_s3": (
        "For a checkpoint that the option backup has copied (answer backup_to); without a backup, from the"
        " object versions that a versioned bucket keeps (restore_versions.py)."
    ),
    "restore_versions": (
        "Without a backup, restore_versions.py copies every object as it was at a moment that you choose to a"
        " new place. That needs a bucket whose versioning was enabled before, and versions that no lifecycle"
        " rule has removed; the script cannot look at the sink, so compare its newest batch yourself."
    ),
    "restore_older": (
        "The query begins after the batch of the backup: every later batch is produced again. A file sink or"
        " a Delta table skips the batch IDs it has, whatever they hold; the script refuses then unless the"
        " sink was restored to the same batch."
    ),
    "restore_effort": "One copy into a new directory; the query itself is not run.",
    "restore_cost": "Reprocesses what was read after the backup.",
    "again_replaced": "Every batch after the backup; its rows replace themselves by key.",
    "again_repeated": "Every batch after the backup is written a second time.",
    "again_skipped": (
        "New rows in batches that the sink would skip by their IDs; the script refuses when the sink has"
        " later batches than the backup."
    ),
    "stop_why": "Two queries must not write to one sink. The old checkpoint is not touched.",
    "compare": "Compare the backup with its manifest.",
    "compare_why": "File by file, by content.",
    "compare_sink": "Compare the newest batch of the sink with the backup.",
    "compare_sink_why": "A file sink or a Delta table that is ahead would skip new rows.",
    "restore": "Copy the backup into a new directory.",
    "restore_why": (
        "Whole paths of schema files (transformWithState, newer joins) are rewritten; everything else keeps"
        " its content."
    ),
    "verify_restored": "Verify the new directory.",
    "start": "Start the query with the new checkpoint location.",
    "start_why": "The old checkpoint stays until you remove it.",
    "restore_mistake": (
        "Copying a backup over the checkpoint in use: files of two times are mixed, and newer state files and"
        " commits stay."
    ),
}
