"""What the error translator says about the open checkpoint, and about a pasted text as such."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # the pasted text
    "nothing": (
        "No error of Spark, of its streaming connectors or of their storage was recognised in this text."
    ),
    "paste_more": "Paste the whole error with its stack trace, from the first line to the last 'Caused by'.",
    "paste_cause": (
        "The text ends before the cause: paste it to the last 'Caused by'. If it was the function: {action}"
    ),
    "wrapped": "{means} It was {cause}",
    "cause": "The text names this cause: {message}",
    "deeper_cause": "The innermost cause in the text: {message}",
    # whose error it is
    "same_query": "The error is from the query of this checkpoint ({query_id}).",
    "other_query": (
        "The error is from query {other}, and this checkpoint belongs to query {query_id}: it is from another"
        " checkpoint, or metadata was replaced since."
    ),
    "moved": (
        "The error names a checkpoint at {root}, and this one is at {here}: a copy of it, or it was moved."
    ),
    "other_place": (
        "The error names a checkpoint at {root}, and this one is at {here}: make sure that it is the same"
        " one."
    ),
    # the forecast
    "fails_so": "The next start fails with this error: {sentence}",
    "schema_elsewhere": "The old place of the checkpoint is gone: {sentence}",
    "fails": "The next start fails: {sentence}",
    "fails_differently": "From the files that are there, the next start fails with another error: {sentence}",
    "forecast_for_unchanged_query": "For the unchanged query the forecast of the next start is: {sentence}",
    "forecast_without_contents": "From the names and sizes of the files, without their contents: {sentence}",
    "does_not_fail_so": (
        "From the files that are there, the next start does not fail with this error: {sentence}"
    ),
    # metadata
    "no_metadata": "There is no metadata file.",
    "metadata_readable": "metadata can be read; the query ID is {query_id}.",
    # the logs
    "micro_batch_position": (
        "{path} is one of micro-batches and has the position {position}, the number in the message: a start"
        " with the trigger continuous cannot use it."
    ),
    "continuous_log": (
        "{path} has an empty second line and a single source, as every offset file of continuous processing:"
        " only the trigger continuous starts from this checkpoint."
    ),
    "no_offsets_but_commits": "offsets/ has no batch; commits/ has {count:number} ({first} to {last}).",
    "no_offsets_no_commits": "offsets/ has no batch; commits/ has none either.",
    "start_files_readable": "The files that a start reads can be read: {names:listed}.",
    "commit_ahead": (
        "The newest commit is {commit} and the newest offset is {newest}: batches {newest} and later are"
        " re-run, and their rows reach the sink again."
    ),
    "async_gaps": (
        "The gaps in offsets/ are those of asynchronous progress tracking ({why}); a start without it needs"
        " offsets/{needed}."
    ),
    "previous_missing_committed": (
        "offsets/{wanted} is missing. The newest batch is {newest} and is committed; Spark reads the entry"
        " before it at every start."
    ),
    "previous_missing_uncommitted": (
        "offsets/{wanted} is missing. The newest batch is {newest} and is not committed; Spark reads the"
        " entry before it at every start."
    ),
    "missing_not_needed": (
        "offsets/{wanted} is missing, but the next start reads only offsets/{newest} and offsets/{previous}."
    ),
    "is_there": "{path} is there.",
    "older_unreadable": (
        "{count:counted older log file} cannot be read ({names}); the next start does not read"
        " {count:one it/them}."
    ),
    "stale_checksums": (
        "{paths:listed 4} {count:one is/are} there without the log file: Spark cannot write that name."
    ),
    "no_stale_checksums": (
        "Every checksum file in offsets/ and commits/ has its log file now. A start that failed with this"
        " error leaves the log file behind, so an orphaned .crc file may still have been the cause; if the"
        " error comes back, look for a second query."
    ),
    "batch_committed": "Batch {batch} is planned and committed.",
    "batch_uncommitted": "Batch {batch} is planned and not committed.",
    "batch_without_offset": "Batch {batch} has a commit and no offset file.",
    "batch_unknown": "The logs have no batch {batch}.",
    "batch_unknown_range": "The logs have no batch {batch}; they contain batches {first} to {last}.",
    "pending": (
        "Batch {batch} is not committed: every start re-runs it with the range planned in offsets/{batch}."
    ),
    "pending_same": (
        "Batch {batch} is not committed: every start re-runs it with the range planned in offsets/{batch}. It"
        " is the batch that was running when the error occurred."
    ),
    "all_committed": "Every planned batch is committed; the newest is {batch}.",
    # files that the text names
    "not_there": "{path} is not there.",
    "file_readable": "{path} is there and can be read ({size_bytes:counted byte}).",
    "size_as_expected": "{path} has {size_bytes:counted byte}, as Spark expects.",
    "size_unexpected": "{path} has {size_bytes:counted byte}, and Spark expects {expected:number}.",
    "empty_file": "{path} is there with 0 bytes.",
    "file_there": "{path} is there ({size_bytes:counted byte}).",
    # versions
    "written_by": "The newest files were written by Spark {versions} ({why}).",
    "written_by_unknown": "The files do not show which Spark wrote them ({why}).",
    "log_versions": "{versions:listed}.",
    "log_version": "{path} has version {version}",
    "async_log": "The log was written with asynchronous progress tracking ({why}).",
    "sync_log": "The log was written without asynchronous progress tracking ({why}).",
    # sources
    "sources": "{path} has {count:counted source}: {shown:listed 4}.",
    "sources_as_said": "{path} has {count:counted source}, as the message says: {shown:listed 4}.",
    "sources_unlike_said": (
        "{path} has {count:counted source}, and the message says {said}: {shown:listed 4}."
    ),
    "source_kind": "{key} {label}",
    "source_log_gap": "{path} is missing in the middle of the log of source {key}.",
    "source_log_empty": "The log of source {key} is empty, and {needs} needs entry {wanted}.",
    "source_log_short": "The log of source {key} ends with entry {last}, and {needs} needs entry {wanted}.",
    "source_log_entry": "Entry {entry} of the log of source {key} is there.",
    "source_log_entry_missing": "Entry {entry} of the log of source {key} is not there.",
    "source_files": "Source {key} has read {count:counted file} from {directories:listed 2}.",
    "plan_leaves_out": (
        "offsets/{pending} leaves out {partitions:listed 4}: it was planned by a start that failed, and every"
        " start keeps that plan as long as it is there."
    ),
    "plan_is_lower": (
        "offsets/{pending} ends below batch {last} in {partitions:listed 4}: it was planned by a start that"
        " failed, and every start keeps that plan as long as it is there."
    ),
    "no_position": (
        "The checkpoint has no position for {partitions:listed 4}; source {key} reads: {topics:listed 4}."
    ),
    "positions": "Source {key} has positions for {count:counted partition}.",
    "position_committed": "{name}: batch {last} (committed) ended at {done:number}.",
    "position_planned": "{name}: batch {pending} (not committed) is planned up to {planned:number}.",
    "position_both": (
        "{name}: batch {last} (committed) ended at {done:number}, batch {pending} (not committed) is planned"
        " up to {planned:number}."
    ),
    "delta_position": "Source {key} is at version {version} of table {table}.",
    "delta_position_needs": (
        "Source {key} is at version {version} of table {table}; Spark reads the log from version {start},"
        " the position of {path}."
    ),
    "delta_other_table": (
        "The message names table {named}, which is not the one in {path}: it is from another checkpoint or"
        " source."
    ),
    # state
    "no_state": "This checkpoint has no state.",
    "state_empty": "state/ has no files.",
    "state_missing": "state/ is not there.",
    "state_loadable": (
        "From names and sizes, every partition can load state version {version}, which the next batch needs."
    ),
    "state_gap": (
        "State version {version} cannot be loaded in partition {partition} of operator {operator}: {path} is"
        " the first missing file."
    ),
    "state_gap_of_store": (
        "State version {version} cannot be loaded in partition {partition} of operator {operator} (store"
        " {store}): {path} is the first missing file."
    ),
    "state_gap_more": (
        "{first} {count:counted more partition or store/more partitions or stores} cannot load it either."
    ),
    "directory": "{path} (the directory)",
    "no_rewind": (
        "There is no batch whose logs are kept and whose state every partition can rebuild, so a rewind is"
        " not possible."
    ),
    "rewind": (
        "Every partition can rebuild state version {version}, the state after batch {batch}: a rewind to"
        " batch {batch} is possible (python -m core recover LOCATION --option rewind --set to_batch={batch})."
    ),
    "operator_metadata_missing": "The metadata of operator {operator} ({path}) is not there.",
    "operators": "The state here belongs to operator {shown:listed 3}.",
    "operators_as_said": (
        "The state here belongs to operator {shown:listed 3}, as the message says; the query that was started"
        " has: {now:listed}."
    ),
    "operators_unlike_said": (
        "The state here belongs to operator {shown:listed 3}, and the message names other ones: it is from"
        " another checkpoint, or from an earlier time."
    ),
    "operator_unnamed": "{operator} (name not known)",
    "state_size": "state/ has {size_bytes:counted byte} in {files:counted file}.",
    "state_size_largest": (
        "state/ has {size_bytes:counted byte} in {files:counted file}; partition {partition} of operator"
        " {operator} has {largest:number}."
    ),
    # not looked at
    "not_checked": "{what} ({why})",
}

TOPICS: dict[str, str] = {
    "files": "the named files",
    "metadata": "metadata",
    "mode": "the mode of the log",
    "logs": "offset log and commit log",
    "source_logs": "file source logs",
    "checksums": "checksum files",
    "batch": "the batch",
    "state": "state",
    "operators": "stateful operators",
    "sources": "sources",
    "source_files": "input files",
    "kafka": "Kafka positions",
    "delta": "Delta positions",
    "pending": "the uncommitted batch",
    "size": "the size of the state",
    "version": "the Spark version",
    "async": "progress tracking",
    "forecast": "the forecast of the next start",
    "contents": "the contents of the state files",
}

OPTIONS: dict[str, str] = {
    "none": "Nothing has to be recovered",
    "change_query": "Change the query (or its settings) and restart it",
    "repair": "Repair the named files of the checkpoint",
    "restore": "Restore from a backup",
}
"""What can be done beside the recovery options, which have their titles in :mod:`core.messages.recovery`."""
