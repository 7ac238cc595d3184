"""The repair of single files: what is changed in the copy and why, and why a fault is not repaired so."""

from __future__ import annotations

UNKNOWN: dict[str, str] = {
    "commit_without_ids": "only the lost file named the state files of the batch (state checkpoint format 2)",
    "commit_without_watermark": "the watermark that it had is not known",
}
"""Why a commit cannot be written again."""

INSTEAD: dict[str, str] = {
    "state": (
        "Roll back to a batch whose state is complete (rewind), restore a backup (restore_backup), or use"
        " reset or full_refresh."
    ),
    "sources": "Restore a backup (restore_backup), or use full_refresh.",
    "other": "Restore a backup (restore_backup), roll back (rewind), or use reset or full_refresh.",
}
"""The options that remain, by what is damaged."""

DOES: dict[str, str] = {
    "leave_out": "Leave {file} out.",
    "write": "Write {file} again.",
    "copy": "Write {file} as a copy of {source}.",
}
"""What is done with a file."""

SENTENCES: dict[str, str] = {
    # the option
    "possible": "Exact repair of {files:listed 5} in a copy of the checkpoint.",
    "count": "{files:counted file} of the copy {files:one differs/differ}.",
    "best": "Only single files are wrong; with their exact repair the query starts as it was.",
    "best_if_not_held": (
        "Only single files are wrong, and with their exact repair the query starts as it was, as long as the"
        " sink does not have batch {batch} yet: that is planned again, and a sink that skips committed batch"
        " IDs would skip its rows. Connect the sink to know; where a file sink or a Delta table has the"
        " batch, the script refuses."
    ),
    "best_stale": (
        "A plain restart works, but a start loads a snapshot of batches that were rolled back and gives wrong"
        " rows. Without the snapshot Spark rebuilds the state from the changes."
    ),
    "risk_stays": "Not repaired by it: {title} ({risk}).",
    "forecast_of_copy": "The forecast of the repaired copy: {sentence}",
    "looks_rolled_back": (
        "Until the next batches are done, a check of the copy may take the two equal offset files for a"
        " rollback by hand (SET_BACK)."
    ),
    "new_id_and_pending": (
        "The old query ID is not known, and batch {batch} runs again: with a new ID the table would take its"
        " rows a second time. Name the table (--sink), whose log may have the old ID."
    ),
    "state_skipped": (
        "Batch {batch} would have to run again to name its state files, and a sink that skips a batch it has"
        " does not run it (answer sink: possible for Kafka and for a foreachBatch that appends or merges)."
        " Use rewind or restore_backup."
    ),
    "again_replaced": "The rows of {ids:batches} are written again and replace themselves by key.",
    "again_refused": (
        "Nothing: the script refuses when the sink already has batch {batch}, which is planned again."
    ),
    "again_repeated": "Batch {batch} was complete and runs again: its rows are written a second time.",
    "again_may_repeat": "Rows of {ids:batches} that reached the sink before, if any, are written again.",
    "copy": "Copy the checkpoint to a new location, except for the files below.",
    "copy_why": "The old checkpoint is only read; every other file keeps its content.",
    "verify": "Compare old and new, file by file, and verify what a start reads.",
    "mistake": (
        "Deleting files until the query starts: without the log, Spark reads from the beginning or skips"
        " batches silently."
    ),
    "action": "{action} The recovery option repair_files does it in a copy: {what}",
    "more_files": "The same with {count:counted file} more.",
    "too_large": "{file} has {size_bytes:size}; files of up to {limit_bytes:size} are repaired.",
    # what is changed, file by file
    "stale_checksum": "{file} belongs to a log file that is gone; with it Spark cannot write that log file.",
    "schema_paths": (
        "{file} names the state schema where the checkpoint was before; the copy names its own files, which"
        " are the same."
    ),
    "schema_not_here": "The state schema {file} is not in this checkpoint, so no other path leads to it.",
    "unplanned_entry": (
        "{file} was cut off while it was written, and no offset refers to it: without it the next start lists"
        " the files that it named again."
    ),
    "source_log_named": (
        "{file} cannot be read, and the newest offset refers to it: which files it named is not known."
        " Restore a backup (restore_backup), roll back (rewind), or use full_refresh."
    ),
    "watermark": "{file} gets the watermark that commits/{commit} names, {was:moment}.",
    "watermark_not_known": "The watermark that {file} had is not known: no commit before it names it.",
    "newest_offset": (
        "Batch {batch} was planned and not committed, and its plan cannot be read: the next start plans it"
        " again."
    ),
    "previous_offset": (
        "{file} only has to be there: batch {newest} is committed, so nothing is read from its range again."
    ),
    "commit_written": (
        "The file was there, so batch {batch} was complete in the sink and in the state; its watermark is"
        " {watermark}."
    ),
    "commit_left_out": (
        "It cannot be written again: {why}. Without it the next start runs batch {batch} again, with the"
        " same end offsets."
    ),
    "commit_ahead": (
        "The newest offset file is that of batch {newest}, so batch {batch} has no offsets and its commit"
        " would stop the query."
    ),
    "metadata_left": "What is left of the file has the query id {query_id}.",
    "metadata_in_sink": "{query_id} is the only query of the table that ends at the newest batch here.",
    "metadata_new": (
        "The old query id is not known, so a new one is made. A file sink, a keyed sink and one that appends"
        " do not look at it. A Delta table takes the next batches as those of a new query: nothing is"
        " skipped."
    ),
    "damaged_snapshot": (
        "{file} is damaged. The snapshot before it, if any, and the changes after that are whole and lead to"
        " the same version."
    ),
    "later_snapshot": (
        "{file} is of batches that were rolled back, and no batch in the logs has reached version {version}."
        " Without it, a start after the batch that does rebuilds that version from the changes before it."
    ),
    "loaded_snapshot": (
        "{file} is of batches that were rolled back. Without it the next start rebuilds version {version}"
        " from the changes, which are all there, and no batch has run from version {version} yet."
    ),
    "checksum_of_snapshot": "The checksum that Spark wrote of {file}.",
    # why a fault is not repaired
    "nothing_wrong": "No file of the checkpoint needs a repair.",
    "no_rule": "{sentence} That is not a fault of a single file that can be repaired exactly. {instead}",
    "still_fails": "With the repair the query would still not start safely: {sentence}",
    "sink_has_it": (
        "Batch {batch} would be planned again with other end offsets, but the sink already has batch"
        " {newest}: it would skip new rows. Use rewind with a sink that is restored too, or full_refresh."
    ),
    "committed_offset": (
        "{file} is the only place that says where batch {batch} ended, and the batch is committed. Roll back"
        " to an earlier batch (rewind) or restore a backup (restore_backup)."
    ),
    "offset_gap_before": (
        "{file} cannot be left out: the newest commit is {committed}, and with other batches between them"
        " what the next start runs would not be exact. Use reset or full_refresh."
    ),
    "not_the_previous": "{file} cannot be made again from the files that are left. Use rewind or reset.",
    "previous_of_pending": (
        "{file} is where batch {batch} begins, and that batch is not committed: a copy of another offset file"
        " would lose its rows. Restore a backup (restore_backup) or use rewind."
    ),
    "commit_of_format_2": (
        "{file} named the state files of its batch, and batch {newest} is already planned after it. Use"
        " rewind."
    ),
    "snapshot_in_use": (
        "{file} is of batches that were rolled back, but batch {first} has run since: if it ran after a start"
        " (which loads that file), its changes are wrong too, and the files cannot tell. Roll back to batch"
        " {batch} or earlier (rewind with to_batch={batch}): that state never needed the file."
    ),
    "changes_missing": (
        "The state cannot be rebuilt without the snapshot of batches that were rolled back: {file} is"
        " missing. Roll back to batch {batch} or earlier (rewind), or restore a backup (restore_backup)."
    ),
    "snapshot_before": (
        "Nothing tells whether {file}, from which the state would be rebuilt, is of the batches that were"
        " rolled back too. Roll back to a batch before it (rewind), or restore a backup (restore_backup)."
    ),
    "changes_older": (
        "{file} is older than the plan of batch {batch}, which should have written it, so the state cannot be"
        " rebuilt from it. Roll back to a batch before it (rewind), or restore a backup (restore_backup)."
    ),
    "state_not_full": (
        "{sentence} A file of changes cannot be made again. Roll back to a batch whose state is complete"
        " (rewind) or restore a backup (restore_backup)."
    ),
}
