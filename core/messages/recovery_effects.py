"""What each recovery option repeats and loses for each kind of sink, and what the common mistake does."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "lost_repeats": (
        "Rows that the table has may come again: everything from where the code of the flow starts."
    ),
    "lost_loses": (
        "The state, and what came since the last commit when the code of the flow starts at the latest"
        " position."
    ),
    "by_sink": "{sinks:listed}: {text}",
    "not_possible": "Not possible: {why}",
    "nothing": "Nothing.",
    "but_this": "Nothing but this",
    "amount_not_known": "an unknown amount",
    # a plain restart, as the forecast has it
    "restart_unknown": "The files cannot tell.",
    "restart_loses": "As the forecast says: {sentence}",
    "restart_loses_plan": (
        "{planned:counted offset} of batch {batch} that {planned:one has/have} expired, unless the sink has"
        " the batch already."
    ),
    "restart_loses_plan_and_behind": (
        "{planned:counted offset} of batch {batch} that {planned:one has/have} expired, unless the sink has"
        " the batch already, and {behind:counted offset} after it."
    ),
    "restart_repeats": "As the forecast says: {sentence}",
    "rolled_back": (
        "What the batches that were rolled back had written comes a second time, as far as it had reached the"
        " sink: {sentence}"
    ),
    "restart_repeats_if_older": (
        "Nothing, unless an older copy of the checkpoint was put back: then what was written since comes a"
        " second time."
    ),
    "restart_skips_if_older": (
        "Nothing, unless an older copy of the checkpoint was put back: then the sink skips batches that it"
        " has, also with other rows. Give the place of the sink."
    ),
    "restart_repeats_pending": (
        "The rows of batch {batch} that reached the sink before the stop, if any, are written a second time."
    ),
    "may_have_expired": (
        "What is gone at the source after the position, if anything: no source was asked (--kafka, --source)."
    ),
    # what repeats
    "new_output": "Nothing: the rows go to a new, empty output.",
    "pending_replaced": (
        "Batch {pending} is not committed ({planned} planned); it is reprocessed, and its rows replace"
        " themselves."
    ),
    "pending_replaced_by_key": (
        "Batch {pending} is not committed ({planned} planned); it is reprocessed, and its rows replace"
        " themselves in a sink that overwrites by key."
    ),
    "pending_carried_over": (
        "Nothing. Batch {pending} is not committed ({planned} planned); it is carried over with its batch"
        " ID and its planned end offsets: skipped if the sink has it, written if not."
    ),
    "skipped_repeated": (
        "The output has {ids:batches} already. A plain restart skips what it has; here those rows come a"
        " second time."
    ),
    "uncommitted_repeated": (
        "{ids:capital_batches} are not committed: rows of them that reached the sink are written again. A"
        " plain restart runs batch {pending} only."
    ),
    "pending_repeated": (
        "Batch {pending} is not committed ({planned} planned): rows of it that reached the sink before the"
        " stop are written again, as after a plain restart."
    ),
    "forgotten_keys": "Duplicates that the lost deduplication state would have dropped.",
    "forgotten_keys_if": "If the query deduplicates, rows that the lost state would have dropped.",
    "pipeline_emptied": "Nothing: the table is emptied first.",
    "pipeline_complete": "Nothing, if the source really has everything; the old rows are not kept anywhere.",
    "pipeline_backup": "Nothing, if the backup was made before: rows gone at the source come from it.",
    "pipeline_backup_too": "Nothing else, if the backup was made before: the others come from it.",
    "sequence_guard": (
        "Nothing, with the sequence condition (only newer rows win); without it keys return to old values."
    ),
    "unique_key": "Nothing, if the key is unique: only missing keys are added.",
    "unique_key_or_overlap": (
        "Nothing, if the key is unique: only missing keys are added. Without a key the overlap is duplicated."
    ),
    "forgotten_files": "Files that were read and that their log no longer names, if they are still there.",
    "moved_files": "Files that were read before and lie at a new place now, unless they are put back.",
    "read_before_at_broker": "Records that may have been read before ({repeats}).",
    # what is lost
    "gone_at_source": "What the source no longer has ({skips}).",
    "state": "The state: {lost}.",
    "smaller_totals": "In update or complete mode the new totals replace the old, larger ones.",
    "late_rows": (
        "Nothing but this: with other batch boundaries, other late rows may be dropped than the first time."
    ),
    "other_late_rows": "Other late rows may drop.",
    "other_results": "Other batches: {operators:listed} can drop a row as a duplicate of an expired one.",
    "other_steps": "Other batches: growing results come in other steps.",
    "changed_results": (
        "What the new query would have emitted up to this position and the old one had not: a shorter window"
        " that has closed meanwhile, for example, is never written."
    ),
    "changed_again": (
        "Rows of results that the old query has emitted count again in those of the new one that are still"
        " open: a longer window, for example, has them a second time."
    ),
    "numbers_restart": (
        "Nothing in a sink that overwrites by key. A sink that overwrites by batch ID loses its old"
        " batches, because batch IDs start at 0 again."
    ),
    "numbers_restart_too": (
        "A sink that overwrites by batch ID also loses its old batches, because batch IDs start at 0 again."
    ),
    "both_outputs": (
        "Nothing is skipped, because the rows go to a new output; readers read the old and the new output"
        " together."
    ),
    "source_complete": (
        "Nothing, if the source really has everything; the old output stays beside the new one."
    ),
    "source_complete_beside": (
        "Of the other rows nothing, if the source really has everything; the old output stays beside the new"
        " one."
    ),
    "of_others": (
        "What others wrote to the table, unless the rows go to a new one: {who:listed}. No source of this"
        " query has it."
    ),
    "changed_by_others": (
        "What others changed or deleted in the table: {who:listed}. The rows come as this query gives them."
    ),
    "change_feed_lost": (
        "Source {key}: the changes up to today. Without startingVersion the change feed begins with the rows"
        " that the table has now, each as an insert; earlier values and deleted rows do not come."
    ),
    "change_feed_there": (
        "The log of the table begins with version 0, made with the change feed: startingVersion = 0 gives all"
        " changes, as far as VACUUM has left their files."
    ),
    "change_feed_since": (
        "The log of the table reaches back to version {version}: startingVersion = {version} gives the"
        " changes since then, where the change feed was on, and no row from before."
    ),
    "snapshot_as_now": (
        "Source {key}: rows that were changed or deleted in the table after the query had read them come as"
        " they are now, or not at all: the refresh begins with the current snapshot ({options:listed} let the"
        " query read on over such changes)."
    ),
    "source_incomplete": "Every row that is no longer at the source.",
    "source_not_known": "Every row that is no longer at the source; whether there are any is not known yet.",
    "deleted_keys": (
        "Nothing. Keys that were deleted after the backup come back unless deletions are kept as rows."
    ),
    "backfill_directory": (
        "Nothing, if readers read the refreshed output and the backfill directory together."
    ),
    "deleted_keys_too": (
        "Keys that were deleted after the backup come back unless deletions are kept as rows."
    ),
    "backfill_directory_too": (
        "Nothing else, if readers read the refreshed output and the backfill directory together."
    ),
    "backfill_combined": (
        "Totals, windows and sessions are computed from the rows left: the backup adds missing keys only."
    ),
    # the common mistake
    "refreshed_uncopied": (
        "A refresh before the table was copied: the rows that the source no longer has are gone for good."
    ),
    "deleted_append": (
        "Deleting the checkpoint and starting from the earliest position writes {read} a second time."
    ),
    "deleted_overwrite": (
        "Deleting the checkpoint and starting from the earliest position reprocesses {read}: harmless with"
        " a key and a sequence guard, wrong in a sink that adds up."
    ),
    "deleted_delta": (
        "Deleting the checkpoint gives a new query id, so the Delta table skips nothing: what is"
        " reprocessed is written again. Keeping the old metadata file with new batch IDs loses rows"
        " instead: the table skips the batch IDs it has already committed."
    ),
    "deleted_file_sink": (
        "A new checkpoint on the same target starts at batch 0, and new rows are silently skipped while"
        " the batches have IDs 0 to {last}."
    ),
    "deleted_file_sink_unknown": (
        "A new checkpoint on the same target starts at batch 0, and new rows are silently skipped while"
        " the batches have the old IDs."
    ),
    "kept_rows_append": "If the old rows stay in place, {read} is there twice.",
    "kept_rows_overwrite": (
        "If the old rows stay in place, keys that the source no longer has remain; in a sink that"
        " overwrites by batch ID, old and new batches are mixed."
    ),
    "kept_rows_delta": (
        "If the old rows stay in place, {read} is written a second time: the new query id is not in the"
        " table's log."
    ),
    "kept_rows_file_sink": (
        "If the old output stays in place, batches with IDs up to {last} are silently skipped, regardless"
        " of content; removing only its data files makes it unreadable."
    ),
    "kept_rows_file_sink_unknown": (
        "If the old output stays in place, batches are silently skipped, regardless of content; removing"
        " only its data files makes it unreadable."
    ),
    "read_before": "what was read before ({amount})",
    "read_all": "everything that is still at the source",
}
