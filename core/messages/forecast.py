"""The sentences of a forecast: what Spark does at the next start, the proof, what is open, and the"
" risks."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "not_read": (
        "{names:listed 3} could not be read, so this is what follows if nothing is wrong with what was not"
        " read."
    ),
    # The outcome.
    "resume": "Spark will resume with batch {batch_id}, from the end of batch {newest}.",
    "resume_with_data": (
        "Spark will resume with batch {batch_id} when there is new data, from the end of batch {newest}."
    ),
    "resume_with_forgotten": (
        "Spark will resume with batch {batch_id} when there is new data, and at once where files that were"
        " read before are taken for new ones, from the end of batch {newest}."
    ),
    "unless_stateful": (
        "If the query keeps state, as its watermark suggests, it fails instead: there is no state/."
    ),
    "unless_state_removed": (
        "The checkpoint directory was changed after its newest commit: if state/ was removed from it, the"
        " start fails instead."
    ),
    "unless_operator_removed": (
        "state/ was changed after the newest commit: if the directory of an operator was removed from it, the"
        " start fails instead."
    ),
    "resume_idle": ("Spark will run no batch until there is new data; the next one is batch {batch_id}."),
    "resume_async": (
        "Spark will resume after batch {newest}, the newest that was logged. Progress was tracked"
        " asynchronously: later batches that already ran are planned again with other boundaries, and none"
        " of their rows are lost."
    ),
    "rerun": (
        "Spark will re-run batch {batch_id} with the same end offsets; the sink may receive"
        " batch ID {batch_id} a second time."
    ),
    "rerun_amount": (
        "Spark will re-run batch {batch_id} with the same end offsets ({amount}); the sink may"
        " receive batch ID {batch_id} a second time."
    ),
    "rerun_told": "Spark will re-run batch {batch_id} with the same end offsets.",
    "rerun_amount_told": "Spark will re-run batch {batch_id} with the same end offsets ({amount}).",
    "left_out": "{ids:capital_batches} {count:one is/are} not re-run, although not committed.",
    "scratch": ("Spark will start from scratch with batch 0: this checkpoint has no batch."),
    "older_from_scratch": (
        "Spark up to 4.0 starts from scratch instead and hands out again what the source still has: name the"
        " version that will be started."
    ),
    "scratch_used": (
        "Spark will start from scratch with batch 0, without an error: it reads and delivers again what the"
        " sources still have."
    ),
    "fail_start": "Spark will not start: {why}.",
    "fail_rerun": "Spark will start and fail when it re-runs batch {batch_id}: {why}.",
    "fail_scratch": "Spark will start from scratch and fail in batch 0: {why}.",
    "fail_batch": "Spark will start and fail in batch {batch_id}: {why}.",
    "fail_batch_with_data": (
        "Spark will start and fail in batch {batch_id}, as soon as there is new data: {why}."
    ),
    "fail_behind_skipped": (
        "Spark will re-run batch {pending}, which is already in the output and will be skipped, and fail in"
        " batch {batch_id}: {why}."
    ),
    "fail_behind_skipped_with_data": (
        "Spark will re-run batch {pending}, which is already in the output and will be skipped, and fail in"
        " batch {batch_id}, as soon as there is new data: {why}."
    ),
    "no_rows": "The sink gets no rows.",
    "rows_before": (
        "The sink gets the rows of the batch before that; a sink that appends then has them twice."
    ),
    "rows_maybe_before": (
        "The sink gets the rows of the batch before that; a sink that appends may then have them twice."
    ),
    "handed_to_sink": "The batch is handed to the sink before that. {sink}",
    # How much a batch has.
    "amount_about": "about {amount}",
    "amount_on_partitions": "{amount} on {partitions:counted partition}",
    "amount_of": "{label}: {amount}",
    "source_label": "source {key} ({kind})",
    "topics_label": "{topics:listed 3}",
    # The proof.
    "because_empty": "offsets/ and commits/ have no batch",
    "because_commits_ahead": "commits/ ends at {commit} while offsets/ ends at {offset}",
    "because_uncommitted": "offsets/{batch_id} has no commits/{batch_id}",
    "because_committed": "offsets/{batch_id} has its commits/{batch_id}",
    "error": "{name}: {message}",
    "error_open": "that it fails is known; the name of the error is not",
    # What comes after.
    "then_fails": "The batch after it fails: {why}.",
    "then_fails_later": "The first batch that the output does not skip, {batch_id}, fails: {why}.",
    "then_spoiled": (
        "The failed start leaves offsets/{batch_id} without {keys:listed}, which Spark {spark} does not know"
        " and with which the state was written. The recovery option rewind leaves that file out: do that"
        " before you start the query again with the Spark that wrote this checkpoint."
    ),
    "then_each_start": (
        "Every further start fails the same way: the sink gets these rows once more each time."
    ),
    "then_each_start_alike": "Every further start fails the same way.",
    "then_each_start_skipped": (
        "Every further start fails the same way; the given sink skips the batch each time."
    ),
    "then_commit_exists": (
        "The batch after it hands its rows to the sink and fails, because commits/{batch_id} already"
        " exists; the start after that works."
    ),
    "then_commit_exists_later": (
        "Batch {batch_id}, when there is data for it, hands its rows to the sink and fails, because"
        " commits/{batch_id} already exists; the start after that works."
    ),
    # What is open.
    "open_running": "what does not change: a query is running and has written while its files were read",
    "open_number": "whether {directory} holds a checkpoint with a higher number, which a pipeline would take",
    "open_continuous": (
        "how continuous processing starts from damaged or missing log files (the rules here are those of"
        " micro-batches)"
    ),
    "open_operators": "whether the query still has the same stateful operators",
    "open_code": (
        "the code of the query that starts next (a changed aggregate, window or key can give wrong numbers"
        " without an error)"
    ),
    "open_sink": "the sink",
    "open_sink_no_log": "which batches {url} has: it keeps no log of them",
    "open_sink_because": "the sink: {reason}",
    "open_ansi": (
        "whether a cast or an overflow that gave null before now fails (spark.sql.ansi.enabled is on from"
        " Spark 4.0)"
    ),
    "open_delta_log": (
        "the Delta log of source {key}, which Spark needs from the version in offsets/{batch_id} on"
    ),
    "open_subscription": "what source {key} subscribes to now",
    "open_new_topics": (
        "whether {topics:listed} of source {key} {count:one begins/begin} at offset 0 (Spark reads new"
        " topics from there)"
    ),
    "open_inputs": "whether the input files of batch {batch_id} are still there and unchanged",
    "open_inputs_unseen": (
        "{files:counted input file} of batch {batch_id} ({file}{files:one /, ...}), which {files:one is/are}"
        " not on this machine or may not be opened here"
    ),
    "open_inputs_elsewhere": (
        "{files:counted input file} of batch {batch_id} ({file}{files:one /, ...}), which the log of source"
        " {key} names outside of the directory that was given for it"
    ),
    "open_place": (
        "whether source {key} still reads the files that its log names: it is to read {location}, the log"
        " names {file}, and nothing here tells whether that is the same place"
    ),
    "source_path_moved": (
        "Source {key} is to read {location}, where none of the files lies that its log names (the newest is"
        " {file}). A file that was moved or copied there counts as new and is read again, unless the"
        " source has fileNameOnly."
    ),
    "source_folder_gone": (
        "Source {key} is to read {location}, and {folder}, where the newest file of its log lay, is gone: a"
        " file that was moved from there to another directory that the source reads counts as new and is"
        " read again, unless the source has fileNameOnly."
    ),
    "open_start": "what source {key} counts from: it keeps no start below sources/",
    "open_untold_log": (
        "which log below sources/ is that of source {key}: lines of {at} had the same offsets in every entry,"
        " and some are one DataFrame used twice"
    ),
    "open_shared_log": (
        "whether sources {keys:listed} are one DataFrame used several times, as {directory} alone suggests: a"
        " source that lost its log does not start"
    ),
    "open_source_log": "{path} ({why})",
    # Risks that file sources have.
    "input_gone": (
        "{files:counted input file} of batch {batch_id} {files:one is/are} gone ({file}{files:one /, ...}):"
        " Spark runs the batch without an error and without {files:one its/their} rows."
    ),
    "input_changed": (
        "{files:counted input file} of batch {batch_id} {files:one has/have} changed since the batch was"
        " planned ({file}{files:one /, ...}): Spark reads the new content."
    ),
    "source_log_forgotten": (
        "{path} names no input file for {count:one entry/entries} {ids:listed}: Spark starts without an"
        " error, and takes the files that {count:one it/they} named for new ones if they are still there."
    ),
    "source_log_path": (
        "{path} names {file}{count:one /, ...}, which Spark did not write like this: the file that was meant"
        " is not known any more, and Spark may read it again as a new one."
    ),
    "log_behind": "{directory} ends at {newest}, while {at} counts entries up to {end} as done",
    "log_empty": "{directory} is empty, while {at} counts entries up to {end} as done",
    "log_behind_fails": "{where}: the next new files get a lower log ID than that",
    "log_behind_risk": (
        "{where}: the next file that is listed gets log ID {end}, which counts as done. If it is the file"
        " of the lost entry, nothing is lost; if that file is gone, a new file is never processed, without"
        " an error."
    ),
    "log_one_ahead": "{entry} has no matching entry in offsets/",
    "log_one_ahead_risk": (
        "{entry} has no matching entry in offsets/: normal after a crash, but a rollback of offsets and"
        " commits by one batch looks the same."
    ),
    "log_ahead": (
        "{directory} is {ahead:counted entry} ahead of {at}: offsets and commits were rolled back. Batch"
        " {batch_id} takes all these files and the new ones at once, whatever maxFilesPerTrigger is; batch"
        " IDs then stand for other rows than before."
    ),
    "log_ahead_after": (
        "{directory} is {ahead:counted entry} ahead of {at}: offsets and commits were rolled back. The"
        " batch after the re-run takes all these files and the new ones at once, whatever"
        " maxFilesPerTrigger is; batch IDs then stand for other rows than before."
    ),
    "set_back": (
        "{path} was written by a batch after batch {batch_id}: offsets and commits were rolled back, and"
        " later batches are planned again. A sink that appends gets their rows a second time."
    ),
    "open_put_away": "what is in {paths:listed}, put away beside the logs ({reason})",
    "batches_in_one": (
        "{at}: batch {batch_id} takes {count} entries of the log of source {key}, and Spark writes one for"
        " each batch. Batches up to {known} may have run before offsets and commits were rolled back: a sink"
        " that skips batch IDs may ignore new rows up to that batch, one that overwrites may keep old rows"
        " beside the same ones in batch {batch_id}."
    ),
    "stale_snapshot": (
        "{path} is older than the plan of batch {batch_id}, after which it is written: batches that were"
        " rolled back left it. The next start loads it unchecked, and the results will be wrong."
    ),
    # Risks of offsets that are not there.
    "no_offset": (
        "{at} has no offset for source {key}, nor has the entry before: this source starts from scratch."
    ),
    "no_offset_committed": (
        "{at} has no offset for source {key}: Spark falls back to offsets/{previous} and delivers batch"
        " {batch_id} a second time."
    ),
    "no_offset_pending": (
        "{at} has no offset for source {key}: batch {batch_id} runs without rows of it, and the next batch"
        " starts this source from scratch, with everything."
    ),
    "no_offset_pending_old": (
        "{at} has no offset for source {key}: batch {batch_id} runs without rows of it, and the next batch"
        " resumes from offsets/{previous}."
    ),
    "no_start_offset": (
        "{at} has no offset for source {key}: batch {batch_id} reads this source from the beginning up to its"
        " end."
    ),
    "open_name": (
        "whether the query has a source {key}: {at} names it, and neither the entry before nor sources/ does"
        " (Spark drops a line without a source)"
    ),
    "lost_name": (
        "{at} has no line for {keys:listed}, which {earlier} has: a query that still reads"
        " {count:one it starts it/them starts them} from scratch."
    ),
    "set_back_committed": (
        "{at} has the same offsets as {previous}, which a query without state never plans: it was rolled back"
        " by hand. Batch {next} reads again what batch {batch_id} held, and every sink gets these rows a"
        " second time."
    ),
    "set_back_or_forward": (
        "{at} has the same offsets as {previous}, which a query without state never plans: one of the two was"
        " edited by hand. Batch {batch_id} runs without rows. If {at} was rolled back, batch {next} reads"
        " what batch {batch_id} held, and rows of it that a sink already has come a second time; if"
        " {previous} was moved forward, rows of it that no sink has yet are lost."
    ),
    "set_back_pending": (
        "{at} has the same offsets as {previous}, which a query without state never plans: it was rolled back"
        " by hand. Batch {batch_id} runs without rows, and batch {next} reads what batch {batch_id} held:"
        " rows of it that a sink already has come a second time."
    ),
    "kafka_start_lost": (
        "{path}, where batch 0 begins, is missing: Spark writes a new one from the startingOffsets of the"
        " query. With latest, the default, batch 0 is committed without its rows."
    ),
    "failed_plan_without_check": "{why}. With failOnDataLoss=false Spark runs it as it is.",
    "commit_ahead": "commits/{commit} is ahead of the newest offset, {offset}. {then}",
    # Another version of Spark.
    "checksums_wrong_numbers": "{why}: it runs and computes wrong numbers without an error.",
    "checksums_begin_again": (
        "{why}: it runs, finds none of the old keys in RocksDB and computes as if the state were empty,"
        " without an error."
    ),
    "key_order_fails": (
        "dropDuplicates of operator {operator_id} has {columns:counted column}, and Spark {spark} orders"
        " them differently"
    ),
    "key_order_repeats": (
        "dropDuplicates of operator {operator_id} has {columns:counted column}, and Spark {spark} orders"
        " them differently: rows that were seen before come through again, without an error."
    ),
    "key_order_may_repeat": (
        "dropDuplicates of operator {operator_id} has {columns:counted column}, and Spark {spark} may"
        " order them differently: rows that were seen before may come through again, without an error."
    ),
    "key_order_may_fail": (
        "dropDuplicates of operator {operator_id} has {columns:counted column}, and Spark {spark} may"
        " order them differently: the first batch then fails because the key does not match the state."
    ),
    # What the next start takes over.
    "watermark_ahead": (
        "The watermark after batch {batch_id} is {ms:moment}, {ahead_ms:duration} ahead of the clock of that"
        " batch: rows with earlier event times may be dropped as late, in every batch to come."
    ),
    "watermark_ahead_unused": (
        "The watermark after batch {batch_id} is {ms:moment}, {ahead_ms:duration} ahead of the clock of that"
        " batch: the next batch may hand out every open window before its rows are complete, and rows with"
        " earlier event times may be dropped as late, in every batch to come."
    ),
    # Which rules apply.
    "spark_chosen": "chosen",
    "spark_unsupported": (
        "Spark {asked} is not a version whose restarts are known here; choose one of {known:listed}."
    ),
    "spark_not_known": (
        "the files do not show which Spark wrote them; {spark} is the newest whose restarts are known here"
    ),
    "spark_too_old": (
        "the newest files were written by Spark {at_most} or older ({why}); {spark} is the oldest whose"
        " restarts are known here"
    ),
    "spark_too_new": (
        "the newest files were written by Spark {at_least} or newer ({why}); {spark} is the newest whose"
        " restarts are known here"
    ),
    "spark_between": "the newest files were written by Spark {at_least} to {at_most} ({why})",
    "spark_exactly": "the newest files were written by Spark {spark} ({why})",
    "spark_at_least": "the newest files were written by Spark {at_least} or newer ({why})",
}
