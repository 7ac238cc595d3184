"""The sentences of a forecast: what Spark does at the next start, the proof, what is open, and the"
" risks."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # The outcome.
    "resume": "Spark will resume with batch {batch_id}, from the end of batch {newest}.",
    "resume_with_data": (
        "Spark will resume with batch {batch_id} when there is new data, from the end of batch {newest}."
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
    "left_out": "{ids:capital_batches} {count:one is/are} not re-run, although not committed.",
    "scratch": (
        "Spark will start from scratch with batch 0: no batch has been planned or committed in this"
        " checkpoint."
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
    "no_rows": "The sink gets no rows.",
    "rows_before": (
        "The sink gets the rows of the batch before that; a sink that appends then has them twice."
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
    # What comes after.
    "then_fails": "The batch after it fails: {why}.",
    "then_spoiled": (
        "The failed start leaves offsets/{batch_id} with the SQL configs of Spark {spark}: delete that"
        " file and its .crc before you start the query again with the Spark that wrote this checkpoint."
    ),
    "then_each_start": (
        "Every further start fails the same way: the sink gets these rows once more each time."
    ),
    "then_each_start_skipped": (
        "Every further start fails the same way; the given sink skips the batch each time."
    ),
    "then_commit_exists": (
        "The batch after it hands its rows to the sink and fails, because commits/{batch_id} already"
        " exists; the start after that works."
    ),
    # What is open.
    "open_running": "what does not change: a query is running and has written while its files were read",
    "open_operators": "whether the query still has the same stateful operators",
    "open_code": (
        "the code of the query that starts next (a changed aggregate, window or key can give wrong numbers"
        " without an error)"
    ),
    "open_sink": "the sink",
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
    "open_inputs_elsewhere": (
        "{files:counted input file} of batch {batch_id} that {files:one is/are} not below {place}"
    ),
    # Risks that file sources have.
    "input_gone_one": (
        "Input file {file} of batch {batch_id} is gone from {place}: the batch runs without an error and"
        " without its rows."
    ),
    "input_gone": (
        "{files:,} input files of batch {batch_id} ({file}, ...) are gone from {place}: the batch runs"
        " without an error and without their rows."
    ),
    "input_changed_one": (
        "Input file {file} of batch {batch_id} has changed since the batch was planned: Spark reads the new"
        " content."
    ),
    "input_changed": (
        "{files:,} input files of batch {batch_id} ({file}, ...) have changed since the batch was planned:"
        " Spark reads the new content."
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
    "kafka_start_lost": (
        "{path}, where batch 0 begins, is missing: Spark writes a new one from the startingOffsets of the"
        " query. With latest, the default, batch 0 is committed without its rows."
    ),
    "failed_plan_without_check": "{why}. With failOnDataLoss=false Spark runs it as it is.",
    "commit_ahead": "commits/{commit} is ahead of the newest offset, {offset}. {then}",
    # Another version of Spark.
    "checksums_wrong_numbers": "{why}: it runs and computes wrong numbers without an error.",
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
