"""Rows of the state: what can be asked, and why some rows cannot be told."""

from __future__ import annotations

FINDS: dict[str, str] = {
    "first": "the first rows",
    "largest_values": "the largest values",
    "largest_keys": "the largest keys",
    "key": "one key",
    "passed": "rows that the watermark has passed",
    "changes": "what the batch changed",
    "difference": "what differs from an earlier batch",
}
"""What the page State can look for."""

OF: dict[str, str] = {
    "rows": "",
    "changes": "Changes:",
    "passed": "Rows that the watermark of the batch has passed:",
    "difference": "",
}

SENTENCES: dict[str, str] = {
    "help_operator": "the stateful operator (default 0)",
    "help_store": "the store, where the operator has several",
    "help_side": "the rows of one side of a stream-stream join",
    "help_variable": "a state variable of transformWithState, or any column family",
    "help_timers": "the registered timers of transformWithState",
    "help_partition": "only this partition",
    "help_key": "one key: an object with all columns of the key; only the partition it belongs to is read",
    "help_changes": "what these batches changed, for example 7..9, instead of what is there after one",
    "help_difference": (
        "what differs between the rows after two batches, for example 7..9: keys added, changed, removed"
    ),
    "help_older": "only rows that the watermark of the batch has passed",
    "help_largest": "the rows with the largest keys or values, the largest first",
    "help_limit": "so many rows at most (default 100)",
    "help_engine": "files (the default) decodes them here; spark asks Spark and compares the number of rows",
    "help_sql": "a query over the view state, with --engine spark",
    "help_master": "the Spark that is asked: local[2], spark://host:7077, yarn, k8s://...",
    "help_remote": "a Spark Connect server that is asked, sc://host:15002",
    "only_spark": "{options:listed} needs --engine spark.",
    "only_files": (
        "--key, --largest, --difference and --older-than-watermark are answered by --engine files; Spark"
        " takes --sql."
    ),
    "head_spark": "operator {operator}, after batch {batch:number}, read by Spark",
    "compared": "The number of rows of {n:number} of {all:counted partition} is the one that the files tell.",
    "help_reveal": "show keys and values; without it they are hidden",
    "reveal_forbidden": (
        "Keys and values are not shown here: the setting CHECKPOINT_EXPLORER_REVEAL_STATE is off."
    ),
    "limit": "--limit must be between 1 and {most:number}, not {given:number}.",
    "changes_alone": "--changes names its batches itself: leave --batch and --older-than-watermark out.",
    "difference_alone": (
        "--difference names its batches itself and compares all rows: leave --batch, --changes, --largest and"
        " --older-than-watermark out."
    ),
    "batches_form": "{option} takes two batches as 7..9, not {given}.",
    "key_json": "--key takes a JSON object with the columns of the key ({reason}).",
    "head": "operator {operator} ({name}), {store}, after batch {batch:number}",
    "head_changes": (
        "operator {operator} ({name}), {store}: changes of batches {first:number} to {last:number}"
    ),
    "head_difference": (
        "operator {operator} ({name}), {store}: after batch {last:number} compared with after batch"
        " {first:number}"
    ),
    "difference": (
        "Since batch {since:number}: {added:number} added, {changed:number} changed, {removed:number}"
        " removed, {unchanged:number} unchanged."
    ),
    "difference_part": (
        "Since batch {since:number}, in the {partitions:counted partition} that could be compared:"
        " {added:number} added, {changed:number} changed, {removed:number} removed, {unchanged:number}"
        " unchanged."
    ),
    "difference_shown": "The first {shown:number} are shown.",
    "all": "{total:counted row}.",
    "some": "{shown:number} of {total:counted row}.",
    "first": "The first {shown:counted row}; there are more.",
    "part": (
        "{shown:counted row} in the {partitions:counted partition} that could be read; how many there are in"
        " all is not known."
    ),
    "stopped": "{shown:counted row}; reading was stopped before all partitions were read.",
    # the page
    "title": "Rows",
    "of": "Rows of",
    "find": "Find",
    "find_nothing": "nothing yet",
    "batch": "After batch",
    "batch_last": "the last",
    "since": "Compared with batch",
    "since_id": "id",
    "since_missing": "Choose the earlier batch to compare with.",
    "files_read": "{n:counted file} read",
    "nothing_asked": (
        "Choose what to find: rows are decoded from the state files then, without Spark. With a partition"
        " chosen above, only those of that partition."
    ),
    "key": "Key",
    "key_text": "A key is a JSON object such as {form} ({reason}).",
    "reading": "Reading rows ...",
    "partition_not_read": "Partition {partition} could not be read: {reason}.",
    "more_not_read": "{n:counted partition} more could not be read.",
    "reveal": "Show keys and values",
    "reveal_help": "They may be personal data. What is shown is not part of the link.",
    "table": "Rows of the state after batch {batch:number}",
    "by_spark": "The same in PySpark",
    "by_spark_more": "Spark's own state reader, with the options that it takes here. It runs as it is.",
    "masked": "Keys and values are hidden; --reveal shows them.",
    "no_row": "{size_bytes:counted byte} are no row of its schema",
    "no_schema": "its schema lists no columns",
    "too_deep": "its schema is nested too deeply",
    "type": "its schema has a column of type {type}, which is not decoded here",
    "encoder": "its keys are laid out by {encoder}, which is not decoded here",
    "other_columns": "the columns are {columns:listed}",
    "no_value": "{column} is {type}, and the value given is not",
    "missing": "{path} is missing",
    "ambiguous": "several files claim to be version {version:number} or an older one; no commit names one",
    "gone": "it is not there: it was removed before or while it was read",
    "wal": "{path} names write-ahead logs with content, which are not read here",
    "count": "{path} records {recorded:counted row}, its files hold {rows:number}",
    "no_changes": (
        "no file holds the changes of batch {batch:number} alone (version {version:number}): RocksDB without"
        " changelog checkpointing keeps none, or it was purged"
    ),
    "range_deleted": "batch {batch:number} deleted a whole range of keys, not single rows",
    "family_number": (
        "the number of the column family {family} is not known: only a zip names it, and there is none"
    ),
    "encoding": (
        "This state is encoded as {encoding}, which is not decoded here; Spark's own reader may read it."
    ),
    "avro_schema": (
        "a row was written with schema {found:number} of the variable, and no schema file has that number"
    ),
    "avro_types": "a column was written as {written} and is {newest} now, which is not decoded here",
    "layout": "{store}: {reason}.",
    "changes_order": (
        "The changes of batches {first:number} to {last:number} were asked for: the first batch comes first."
    ),
    "difference_order": (
        "The rows after batch {last:number} are compared with those of an earlier batch, not of batch"
        " {first:number}."
    ),
    "at_batch": "after batch {batch:number}: {reason}",
    "version_gone": "The state after batch {batch:number} cannot be rebuilt: {reason}.",
    "stateless": "The query keeps no state, or it was deleted: there is no state/ with an operator.",
    "no_operator": "There is no operator {operator}. There are: {ids:listed}.",
    "no_partition": "There is no partition {partition:number}: the partitions are 0 to {last:number}.",
    "no_schemas": (
        "Operator {operator} has no state schema that can be read, so that its rows cannot be decoded. Spark"
        " before 3.1 wrote none."
    ),
    "schema_not_read": "{path}, the schema of the state, could not be read: {reason}.",
    "one_choice": "Choose one of store, side, variable and timers.",
    "no_timers": "Operator {operator} has no timers.",
    "no_variable": "There is no state variable or column family {variable}. There are: {names:listed}.",
    "no_store": "There is no store {store}. There are: {names:listed}.",
    "choose": "This operator keeps several kinds of rows. Choose one: {names:listed}.",
    "sides": "A join has the sides left and right, not {side}.",
    "no_join": "Operator {operator} ({name}) is no stream-stream join: it has no sides.",
    "key_columns": "A key has exactly these columns: {columns:listed}.",
    "key_value": "This key cannot be looked for: {reason}.",
    "no_event_time": (
        "{store} has no column that tells whether a watermark has passed a row. Aggregations and"
        " deduplication by event time have one, and session windows."
    ),
    "no_watermark": "Batch {batch:number} ran without a watermark: none has passed a row.",
}
