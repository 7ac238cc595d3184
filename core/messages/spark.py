"""State through Spark: what can be asked, what Spark could not do, and why an answer is not shown."""

from __future__ import annotations

READY: dict[str, str] = {
    "rows": "the first rows",
    "per_partition": "rows per partition",
    "per_value": "rows per value of a column of the key",
    "own": "a query of my own",
}
"""What the page State offers to ask Spark."""

SENTENCES: dict[str, str] = {
    # The page State.
    "title": "Ask Spark",
    "about": (
        "Spark reads a staged copy of the state files, here or on the configured cluster; the first question"
        " starts it. The rows of every partition are counted by the files too."
    ),
    "ready": "Question",
    "column": "Column",
    "per_value_of": "rows per value of {column}",
    "own_query": "SQL over the view state",
    "own_help": "Columns: {columns:listed}. A query reads this view only, and is not part of the link.",
    "own_forbidden": (
        "Queries of your own are not taken here: the setting CHECKPOINT_EXPLORER_REVEAL_STATE is off."
    ),
    "ask": "Ask Spark",
    "cancel": "Cancel",
    "asked": "Asked: {question}, state after batch {batch:number}.",
    "staging": "Copying the files of this version ...",
    "starting": "Starting Spark ...",
    "reading": "Reading: {done:number} of {known:counted task} done.",
    "reading_first": "Reading ...",
    "took": "{rows} Answered in {ms:duration}.",
    "equal": "The number of rows of {n:number} of {all:counted partition} is the one that the files tell.",
    "not_in_app": (
        "Spark is not started for this page here (setting CHECKPOINT_EXPLORER_SPARK_IN_APP). The same on the"
        " command line:"
    ),
    "on_command_line": "python -m core rows LOCATION --engine spark",
    "sql_per_partition": "SELECT partition_id, COUNT(*) AS rows FROM state GROUP BY 1 ORDER BY 2 DESC",
    "sql_per_value": "SELECT {name} AS value, COUNT(*) AS rows FROM state GROUP BY 1 ORDER BY 2 DESC",
    "result": "What Spark answered, state after batch {batch:number}",
    # What can be asked.
    "no_store": "There is no store {store}; choose one of {stores:listed}",
    "needs_side": "Operator {operator_id} is a join: choose its left or its right side, or one of its stores",
    "no_sides": "Operator {operator_id} is no join and has no sides",
    "side_and_store": "Choose a side of the join or one of its stores, not both",
    "needs_variable": "Choose one state variable of operator {operator_id}: {variables:listed}",
    "no_variables": "Operator {operator_id} has no state variables and no timers",
    "timers_and_variable": "Choose a state variable or the timers, not both",
    "no_timers": "Operator {operator_id} has no timers",
    "limit": "The limit of rows must be 1 or more",
    "changes_of_side": "Spark gives no changes of a side of a join; choose one of its stores",
    "changes_alone": "Changes of batches cannot be joined with timers or with a first batch",
    "no_changes": (
        "Operator {operator_id} keeps whole copies only; what each batch changed is not in its files"
    ),
    "changes_order": (
        "Changes need a first batch that is not after the last one, and none after batch {batch_id}; not"
        " {first}"
        " to {last}"
    ),
    "changes_missing": (
        "{path} is not there: what batch {batch_id} changed in partition {partition_id} is not known any more"
    ),
    "snapshot_after": "The first batch {first} must not be after batch {batch_id}",
    "snapshot_missing": (
        "Partition {partition_id} has no full file of batch {batch_id} to begin with; choose a batch that"
        " has a"
        " .zip or .snapshot"
    ),
    "sql_empty": "The query is empty",
    "sql_forbidden": "The query may read the view state only; {word} is not allowed",
    # Files that Spark needs.
    "missing": (
        "State version {version} cannot be rebuilt: {path} is not there. Spark cannot read the state after"
        " batch"
        " {batch_id} either"
    ),
    "purged": (
        "{path} was removed while it was copied; the query is running. Ask again, or ask for a newer batch"
    ),
    "unreadable": "{path} could not be read: {reason}",
    "damaged": (
        "{path} is damaged: {reason}. Spark's state reader can leave out rows of such a file without an"
        " error,"
        " so its answer would not be right"
    ),
    "missing_schema": "{path} is not there or cannot be read; Spark needs it to read a session window",
    "too_large": (
        "This state has {size_bytes:size} of files, more than the {limit_bytes:size} that are copied for"
        " Spark"
        " (setting spark_staged_bytes). Ask a cluster (spark_master), or raise the limit"
    ),
    "no_room": "The files for Spark could not be written to {directory}: {reason}",
    # What Spark did.
    "no_java": (
        "Java was not found, neither by JAVA_HOME nor on the PATH. Spark needs Java 17 or newer;"
        " everything else"
        " works without"
    ),
    "old_java": "This Java is too old for Spark. Install Java 17 or newer, or set JAVA_HOME to it",
    "no_package": "Spark needs a package that is not installed: {reason}. Install it with: {install}",
    "not_started": "Spark could not be started: {reason}",
    "not_reached": "The Spark at {address} could not be used: {reason}",
    "other_version": (
        "The Spark at {address} has version {theirs}, this project's PySpark has {ours}; they must be of"
        " the same"
        " feature version"
    ),
    "not_ready": "Spark ({address}) was not ready within {limit_ms:duration} (setting spark_seconds)",
    "ended": "The process of Spark ended before it answered ({reason}). Ask again; it starts again",
    "no_memory": (
        "Spark ran out of memory ({memory}). Raise the setting spark_memory, or ask without Spark: the"
        " files are"
        " read partition by partition then"
    ),
    "too_slow": (
        "Spark did not answer within {limit_ms:duration} (setting spark_seconds); the job was cancelled"
    ),
    "cancelled": "The question was cancelled",
    "failed": "Spark could not answer: {reason}",
    "failed_state": (
        "Spark could not read this state: {reason}. Its state reader repairs nothing by itself; a restart"
        " of the"
        " query may still work where an older full file is there"
    ),
    "failed_sql": "Spark refused the query: {reason}",
    "rows_differ": (
        "Spark read other rows than the files record, so its answer is not shown: {parts:listed 5}. A"
        " damaged file"
        " is the likely reason; the deep check names it"
    ),
    "rows_differ_part": "partition {partition_id} has {recorded:counted row}, Spark read {read:number}",
    "rows_differ_bounds": (
        "partition {partition_id} has {at_least:number} to {at_most:counted row}, Spark read {read:number}"
    ),
    "families_differ": (
        "partition {partition_id} has {recorded:counted row} in all column families, Spark read {read:number}"
    ),
    "exit_status": "exit status {status}",
    "signal": "signal {signal}",
    # The script to take along.
    "code_purpose": (
        "Reads the state of operator {operator_id} after batch {batch_id} with Spark's own reader."
    ),
    "code_store": "On an object store Spark needs the packages and credentials of that store.",
    "code_coordinator": "Spark 4.2 reads no state before it was asked for queries",
    "side_writes": (
        "Spark 4.0 to 4.2 reads a side of a join with HDFS-backed state by beginning files in the checkpoint."
        " Read a copy of it, or one of its four stores, or use Spark 4.3."
    ),
    "code_changelog": "Else Spark 4.0 to 4.2 begins a changelog in the checkpoint that it reads",
    "code_moved": (
        "The state was written by a Spark before 4.0, without operator metadata: Spark 4 needs a copy of the"
        " checkpoint whose metadata names the prefix columns of a session window."
    ),
}
