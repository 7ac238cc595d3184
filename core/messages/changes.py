"""What is said about a change of the query, before it is deployed on a checkpoint."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "set_usage": (
        "--set takes change.<what>=<value> or sink=<sink>, not {setting}. What can change: {known:listed}."
    ),
    "columns_usage": (
        "change.{what} takes {known:listed}, changed, or the columns with their types"
        " (user:string,day:date), not {value}."
    ),
    "operators_usage": "change.operators takes {known:listed}, names with commas between, not {value}.",
    "value_usage": "change.{what} takes {known:listed} or changed, not {value}.",
    "sink_usage": "sink takes {known:listed}, not {value}.",
    "set_help": (
        "a change of the query (change.aggregates=same_types, change.keys=user:string, change.spark=4.3;"
        " repeatable), or sink=delta|file|kafka|foreach|other"
    ),
    "unnamed": "an operator without a name",
    "changed": "another value",
    "another": "another path",
    "no_condition": "an error without a condition",
    "columns_not_known": "not known, no schema file could be read",
    "no_columns": "none",
    "named_added": "A named source that is new reads from its own start.",
    "named_removed": (
        "A named source that is gone for one batch continues where it was; after a longer gap it is"
        " silently read from its first start again."
    ),
    "topics_added": (
        "Of {topics:listed} every record that the broker still has is read, from the earliest on."
    ),
    "head": "The query that wrote {location}",
    "source": "  source {key}: {label}{place}",
    "place": ", {places:listed 5}",
    "no_source": "  sources: none in the files",
    "operator": "  operator {id}: {name} · keys {keys} · values {columns}",
    "stateless": "  no state",
    "pinned": (
        "  {partitions} shuffle partitions · {provider} · watermark delay {delay} · output mode {mode} ·"
        " sink {sink}"
    ),
    "provider_of": "state store {provider}",
    "no_provider": "no state store",
    "delay": "{ms:duration}",
    "next": "  last committed batch {last}, next batch {batch}{pending}",
    "pending_too": " (planned, not committed)",
    "title": "{verdict} · {what}: {value}",
    "title_plain": "{verdict} · {what}",
    "failing": "{verdict} {phase}",
    "phase_start": "at the start",
    "phase_batch": "in the batch",
    "with_condition": "{failing} with {condition}",
    "what_to_do": "what to do: {action}",
    "way_back": "back to the old query: {rollback}",
    "option": "recovery option {recipe}",
    "because": "{certainty} · rule {rule} · Spark {spark}",
    "checklist": "A safe deployment on this checkpoint",
    "not_known": "not known",
    "today_fails": "The query as it is does not start either: {sentence}",
    "today": "The query as it is: {sentence}",
    "open_code": "the code of the query: its text is not in a checkpoint",
    "open_code_files": (
        "what a plan does not show: files and tables that the code of a function reads, and settings of"
        " spark-submit (give them with --conf)"
    ),
    "files_head": "{old} against {new}, by Spark's plans; neither was started",
    "files_equal": "The two queries differ in nothing that this checkpoint can meet.",
    "files_was": "was: {old}",
    "files_becomes": "becomes: {new}",
    "files_nothing": "nothing",
    "files_remark": "Note: {remark}",
    "files_none": "no stateful operator",
    "files_no_writer": (
        "A file with transform leaves it to somebody else to start the query: output mode, trigger and sink"
        " were not compared."
    ),
    "files_options": (
        "Source {key} has other options ({names:listed 8}); what they do on a checkpoint is not judged."
    ),
    "files_not_sources": (
        "The old file reads {here:counted source} and the checkpoint has {there}: it may not be the"
        " query that"
        " wrote this checkpoint."
    ),
    "files_not_operators": (
        "The old file has {here:listed} and the checkpoint {there:listed}: it may not be the query that"
        " wrote this checkpoint."
    ),
    "files_not_keys": (
        "The keys of operator {id} have the types {there:listed} in the checkpoint and"
        " {here:listed} in the old"
        " file: it may not be the query that wrote this checkpoint."
    ),
    "help_old": "the query as it is today: a Python file that starts it, or one with transform (with --new)",
    "help_new": "the query as it will be: both are analysed by a local Spark, and neither is started",
    "both_files": "--old and --new go together.",
    "only_with_files": "--conf, --python and answers about sources need --old and --new.",
    "open_sink": "the sink: say which one it is (--set sink=...)",
    "check_backup": (
        "Back up the checkpoint{state} after batch {last}: recover {location} --option backup --set"
        " backup_to=... The copy is verified and can be restored, also while the query runs."
    ),
    "check_state": " with its {size} of state",
    "check_stop": (
        "Stop the old query and wait until it has ended. Two queries on one checkpoint write the same"
        " batch once each, then one stops with CONCURRENT_STREAM_LOG_UPDATE: one concurrent run at most,"
        " no overlapping schedule."
    ),
    "check_pending": (
        "Batch {batch} is planned and not committed. Let the old query finish it before you deploy: the"
        " new code would run it a second time, with the old end offsets."
    ),
    "check_clean": (
        "Nothing is planned: the new query begins with batch {batch}, after committed batch {last}."
    ),
    "check_retries": (
        "Switch automatic retries off for the first run. A start that fails in the batch has written"
        " offsets/{batch}; a retry meets the same error and tells nothing new."
    ),
    "check_cluster": (
        "Use a new cluster or session for the new job: {pinned} come from the checkpoint whatever the"
        " session says, and settings that it does not pin (changelogs, ANSI mode, time zone) come from"
        " the session."
    ),
    "check_pinned": "{partitions} shuffle partitions and the state store {provider}",
    "check_pinned_rows": "{partitions} shuffle partitions",
    "check_first": (
        "Batch {first}: does it start at all? Fails that the change causes come here. Compare its input"
        " with the end of batch {last}: no source may begin again."
    ),
    "check_second": (
        "Batch {second}: compare keys and totals that existed before with the old query's last output."
        " Wrong numbers come without an error."
    ),
    "check_third": (
        "Batch {third}: rows dropped by the watermark, number of state rows and duration, against the"
        " batches before {first}."
    ),
    "check_back": (
        "To go back, stop, and start the old query only if the answer above allows it; or restore the"
        " backup into a new directory (recovery option restore_backup)."
    ),
}

VERDICTS: dict[str, str] = {
    "fine": "fine",
    "fine_but": "fine, but",
    "fails": "fails",
    "silently_wrong": "silently wrong",
    "ignored": "ignored",
    "unknown": "cannot be said",
}

WHATS: dict[str, str] = {
    "filter": "a filter",
    "projection": "the selected columns",
    "reader_schema": "the schema of the reader",
    "rate_limit": "rate limits",
    "trigger": "the trigger",
    "query_name": "the name of the query",
    "output_types": "types of the output",
    "sources": "the number of sources",
    "source_kind": "the kind of a source",
    "source_order": "the order of the sources",
    "source_path": "the place a source reads",
    "subscription": "the topics of a Kafka source",
    "operators": "stateful operators",
    "keys": "keys of grouping, join or deduplication",
    "aggregates": "aggregates",
    "expressions": "how a column is computed",
    "dedup_columns": "columns of dropDuplicates",
    "window": "time windows",
    "watermark": "the watermark",
    "output_mode": "the output mode",
    "join_type": "the type of a join",
    "join_interval": "the interval of a join",
    "partitions": "shuffle partitions",
    "provider": "the state store",
    "sink_kind": "the kind of sink",
    "sink_path": "the place of the sink",
    "sink_topic": "the topic of the sink",
    "foreach_code": "the code of foreachBatch",
    "state_schema": "state of your own code",
    "spark": "the Spark version",
}

VALUES: dict[str, str] = {
    "": "another value",
    "changed": "another value",
    "before_state": "before the stateful operator",
    "after_state": "after the stateful operator",
    "more_columns": "more columns",
    "other_types": "number, types or order differ",
    "same_types": "same number and types",
    "available_now": "availableNow",
    "processing_time": "a processing time",
    "continuous": "continuous",
    "added": "one is added",
    "removed": "one is removed",
    "replaced": "one is replaced",
    "other": "another place",
    "glob": "a glob that contains the old path",
    "length": "another length",
    "slide": "another slide",
    "delay": "another delay",
    "column": "another column",
    "append": "append",
    "update": "update",
    "update_after_append": "update, until now append",
    "update_after_complete": "update, until now complete",
    "complete": "complete",
    "inner": "inner",
    "left_outer": "left outer",
    "right_outer": "right outer",
    "full_outer": "full outer",
    "left_semi": "left semi",
    "left_semi_same_columns": "left semi, with the same columns in the state",
    "hdfs": "HDFS-backed",
    "rocksdb": "RocksDB",
    "changelog": "changelogs on or off",
    "checkpoint_format": "state checkpoint format 1 or 2",
    "aggregation_format": "aggregation state format 1 or 2",
    "file": "files",
    "delta": "Delta",
    "kafka": "Kafka",
    "foreach": "foreachBatch",
    "types": "fields or types of a variable",
    "variables": "variables added or removed",
    "time_mode": "another time mode",
    "processor": "the code of the processor, with its variables",
    "code": "the code alone",
}

PARTS: dict[str, str] = {
    "keys": "operator with keys",
    "dedup_columns": "dropDuplicates",
    "aggregates": "aggregation",
    "window": "time window in its keys",
    "join_type": "stream-stream join",
    "join_interval": "stream-stream join",
    "state_schema": "state of your own code",
}

RULES: dict[str, str] = {
    "same_value": "That is what the checkpoint has: nothing changes.",
    "no_state": "The query keeps no state, so that this cannot matter to the checkpoint.",
    "no_such_part": "The state has no {part}, so that this cannot matter to the checkpoint.",
    "no_such_source": "No source of the checkpoint subscribes to topics.",
    "other_sink": "The sink is another one, so that this cannot matter.",
    "nothing_ran": "The files show nothing that depends on it: no batch was planned that pins it.",
    "rows_from_now": "The query keeps no state: it holds for every row from batch {batch} on.",
    "rows_of_pending": (
        "Batch {pending} is planned and not committed: it runs again with the new code, and what the old"
        " code has already written of it stays in a sink that appends. All later rows are those of the"
        " new query."
    ),
    "after_state": (
        "It comes after the state: it holds for every row that is handed out from batch {batch} on."
    ),
    "filter_before_state": (
        "Spark accepts it. What operator {operator} ({name}) has already taken in stays: rows that the"
        " new filter would drop remain counted, and rows that the old one dropped stay missing."
    ),
    "projection_before_state": (
        "The state keeps its keys ({keys}) and values ({columns}), not the selected columns; as long as"
        " these are computed as before, nothing changes."
    ),
    "projection_of_keys": (
        "As long as operator {operator} ({name}) still compares {keys}, nothing changes. dropDuplicates"
        " without columns compares every selected column: then it is a change of keys."
    ),
    "join_columns": (
        "The join carries the selected columns of both sides in its state ({columns}). With another set"
        " of carried columns batch {batch} fails with {condition}; selecting after the join only what is"
        " carried already is fine."
    ),
    "join_columns_same_types": (
        "The join carries the selected columns of both sides in its state ({columns}), and Spark compares"
        " their types alone: rows that wait there hand out the old column under the name of the new one,"
        " without an error."
    ),
    "reader_schema_more": (
        "Files that were read are not read again; later ones are read with the new schema."
    ),
    "reader_schema_carried": (
        "Fine as long as operator {operator} ({name}) does not take in the new columns: a join without"
        " select and dropDuplicates without columns do, and then it is a change of {keys} or {columns}."
    ),
    "reader_schema_types": (
        "It depends on whether {keys} or {columns} of operator {operator} ({name}) get other types: then"
        " batch {batch} fails, else it is fine."
    ),
    "rate_limit": "It holds from batch {batch} on.",
    "rate_limit_pending": "Batch {pending} runs as it was planned; the new limit holds after it.",
    "trigger": "It decides when batches start, not what is in them.",
    "trigger_continuous": "Continuous processing on a checkpoint of micro-batches was not observed.",
    "trigger_of_continuous": (
        "Continuous processing wrote this checkpoint, and its offset log lacks what micro-batches resume"
        " with (a watermark and settings): the start fails with a NullPointerException of the"
        " WatermarkTracker. The trigger has to be continuous as before."
    ),
    "trigger_async": (
        "Asynchronous progress tracking wrote this checkpoint. With it, Spark refuses availableNow and once"
        " at the start; without it, the start fails because batch {missing} is not in the offset log (batch"
        " {missing} doesn't exist). Let the query run with asyncProgressTrackingCheckpointIntervalMs=0"
        " first, so that consecutive batches are logged."
    ),
    "trigger_async_open": (
        "Asynchronous progress tracking wrote this checkpoint. With it, Spark refuses availableNow and once"
        " at the start; without it, the query resumes, as the newest two batches are in the offset log."
    ),
    "trigger_needed": (
        "This checkpoint was written by continuous processing or with asynchronous progress tracking, which"
        " do not go with every trigger: name the one that it becomes."
    ),
    "query_name": (
        "The name is not in the checkpoint. Where checkpointLocation is not set on the writer, the"
        " directory has the name of the query: then the renamed query starts from scratch."
    ),
    "types_in_files": (
        "It starts, and files of both types lie in one directory: reading them together fails later (seen"
        " with Parquet)."
    ),
    "types_in_table": "The table decides: Delta refuses a type that does not fit its schema.",
    "types_in_code": "What the sink does with another type is not in the checkpoint.",
    "types_no_sink": "It depends on the sink, which a checkpoint does not name.",
    "source_kind": (
        "Source {key} is {kind}, and {value} cannot read its offset: the start fails with {condition}."
    ),
    "source_kind_named": "A named source of another kind under the same name was not observed.",
    "order_one": "There is one source: it has no order.",
    "order_named": "The sources have names: their order in the plan does not matter.",
    "order_files": (
        "Sources are known by their position ({sources:listed}): each file source finds the paths of the"
        " other in its log, and the start fails (Wrong basePath, an error without a condition)."
    ),
    "order_kinds": (
        "Sources are known by their position ({sources:listed}): each kind gets the offset of the other"
        " and the start fails with an error without a condition."
    ),
    "order_topics": (
        "Sources are known by their position ({sources:listed}): each gets offsets of topics that it does"
        " not read. Batch {batch} fails with {condition}; with failOnDataLoss=false both topics are read"
        " from their first offset again, without an error."
    ),
    "order_tables": (
        "Sources are known by their position ({sources:listed}): each gets the position of another table,"
        " and the start fails with {condition}."
    ),
    "order_like": (
        "Sources are known by their position ({sources:listed}), and their offsets look alike: each"
        " resumes at the position of the other. Rows are read again or never read, without an error."
    ),
    "path_contains": "The files that were read ({places:listed 3}) lie in it and count as read.",
    "path_moved": (
        "The log of source {key} names files in {places:listed 3}; with {new} the start fails (Wrong"
        " basePath, an error without a condition). A path or glob that contains the old directory works."
    ),
    "path_table": (
        "Source {key} compares the id of the table: the same table in another place works, another table"
        " fails at the start with {condition}."
    ),
    "path_cluster": (
        "The checkpoint has offsets of source {key} and not the servers they belong to: in another"
        " cluster reading continues at these numbers. A mirrored topic has other offsets, so that records"
        " are skipped or read again."
    ),
    "path_other": "What {kind} (source {key}) does with its offset in another place was not observed.",
    "topics_needed": (
        "Source {key} reads {topics:listed}. Name the topics that it will read: {value} is not enough."
    ),
    "key_same_types": (
        "Spark compares the types of the keys ({keys}) and nothing else: batch {batch} runs, new rows are"
        " added to the state of whatever old key has the same value. Old and new keys mix, without an"
        " error."
    ),
    "key_other_types": (
        "The keys of operator {operator} ({name}) are {keys}: with another number, type or order batch"
        " {batch} fails with {condition}."
    ),
    "aggregates_same_types": (
        "Spark compares the types of the aggregates ({columns}) and nothing else: batch {batch} runs, and"
        " what the old aggregate has stored is taken for a value of the new one. Every key that existed"
        " before gets a number that neither query would have given, without an error."
    ),
    "aggregates_other_types": (
        "Operator {operator} ({name}) stores {columns}: with another number or type of aggregates batch"
        " {batch} fails with {condition}."
    ),
    "expression_same_types": (
        "Operator {operator} ({name}) stores {columns}, not how they are computed: totals are the old"
        " expression up to batch {batch} and the new one after it, added up without an error."
    ),
    "expression_other_types": (
        "Operator {operator} ({name}) stores {columns}: with an expression of another type batch {batch}"
        " fails with {condition}."
    ),
    "expression_carried": (
        "Rows that wait in the join keep the values of the old expression; they are handed out when they"
        " match."
    ),
    "expression_of_state": (
        "What operator {operator} ({name}) has stored was computed by the old expression and stays."
    ),
    "dedup_same_types": (
        "Operator {operator} ({name}) compares {keys} by type only: values of the new column are looked"
        " up among those of the old one. Rows are dropped that never came before, and duplicates come"
        " through, without an error."
    ),
    "dedup_other_types": (
        "Operator {operator} ({name}) compares {keys}: with another number, type or order of columns"
        " batch {batch} fails with {condition}."
    ),
    "window_length": (
        "The length of a window is not in the schema of the state: batch {batch} runs, windows that were"
        " open keep the old length, new ones lack the rows before batch {batch}. Both are handed out,"
        " without an error."
    ),
    "window_slide": (
        "The slide of a window is not in the schema of the state: batch {batch} runs, and windows that"
        " begin between the old ones lack the rows before batch {batch}, without an error."
    ),
    "window_slide_refused": (
        "The state has windows that do not overlap, and up to Spark 4.2 it says that they cannot be null;"
        " overlapping ones may be null by Spark's plan: batch {batch} fails with {condition}."
    ),
    "session_gap": "What a session window with another gap makes of stored sessions was not observed.",
    "no_schema": "There is no schema of the state of operator {operator} to compare with.",
    "user_state_types": (
        "Operator {operator} ({name}) stores {columns}: other types, more fields or fewer do not fit, batch"
        " {batch} fails with {condition}. Another name alone fits where the fields are read by position"
        " (applyInPandasWithState)."
    ),
    "user_state_avro": (
        "The state is encoded as Avro, which lets fields be added; other changes of a type are refused."
    ),
    "user_state_variables": (
        "Spark accepts it (seen with transformWithState in Python): a variable that is added starts empty,"
        " what a removed one has stored stays unused. Under a name that is there already, another kind of"
        " variable (value, list, map) or a TTL that comes or goes fails in batch {batch}: give it a new"
        " name."
    ),
    "user_state_time_mode": (
        "The time mode of transformWithState is pinned by the checkpoint: batch {batch} fails with"
        " {condition}."
    ),
    "user_state_processor": (
        "The code of the processor is another one, and it declares the variables of the state, which a plan"
        " does not show. Where type, kind and TTL of each variable are as before ({columns}), Spark accepts"
        " it, and the new code reads what is stored; variables may be added or removed. Where one of them"
        " differs, batch {batch} fails (with Avro encoding a variable may get more fields)."
    ),
    "user_state_code": "What your code has stored ({columns}) stays and is read by the new code.",
    "watermark_delay": (
        "Spark accepts it. The watermark that was reached stays, and does not go back; the new delay (it"
        " was {delay:duration}) counts for data from batch {batch} on."
    ),
    "watermark_column": (
        "Spark accepts it. The watermark that was reached with the old column stays until the new one"
        " passes it."
    ),
    "watermark_added": (
        "Spark accepts it. From the first watermark on late rows are dropped, and state below it is"
        " removed, also what was there before."
    ),
    "watermark_removed": (
        "Spark accepts it in update mode. The reached watermark stays in the checkpoint, and state is no"
        " longer removed. Append mode refuses an aggregation without a watermark at the start."
    ),
    "watermark_removed_join": (
        "Spark accepts it for an inner join, and refuses it for an outer one at the start. The reached"
        " watermark stays in the checkpoint, and state is no longer removed."
    ),
    "watermark_removed_other": (
        "Spark accepts it. The reached watermark stays in the checkpoint, and state is no longer removed."
        " Your own code cannot have timeouts or timers in event time without one."
    ),
    "watermark_needed": "dropDuplicatesWithinWatermark needs a watermark: the start is refused.",
    "mode_rows": "Without an aggregation append and update hand out the same rows.",
    "mode_changed": (
        "Spark accepts it. The output changes from batch {batch} on: update writes only keys that change,"
        " complete all of them; a target that is only appended to gets repeated rows."
    ),
    "mode_update": (
        "It depends on the output mode until now, which a checkpoint does not name. After append"
        " (update_after_append), groups that are still open in the state of operator {operator} and get no"
        " more rows are never handed out, without an error. After complete (update_after_complete) every"
        " group was handed out, and nothing is lost."
    ),
    "mode_update_lost": (
        "Append has not handed out the groups that are still open in the state of operator {operator}, and"
        " update writes only those that get rows from batch {batch} on: the others are removed when the"
        " watermark passes them and never come, without an error."
    ),
    "mode_complete_removed": (
        "Complete hands out what is in the state of operator {operator}. Groups that the watermark"
        " ({watermark:moment}) has passed were removed from it, in append and in update mode: they are not"
        " in the output from batch {batch} on, and a target that it overwrites loses them, without an"
        " error."
    ),
    "mode_of_sessions": ("Update mode does not take session windows: the start is refused ({condition})."),
    "mode_append": (
        "Spark accepts it with a watermark. Windows that update or complete mode has already handed out are"
        " handed out once more when they close."
    ),
    "mode_append_refused": (
        "Append mode refuses an aggregation without a watermark on its keys at the start ({condition});"
        " no column of the state carries one."
    ),
    "mode_complete_refused": "Complete mode needs an aggregation: the start is refused ({condition}).",
    "refused_by_spark": "Spark refuses the new query at the start, before it reads the checkpoint: {text}",
    "mode_of_files": "A file sink takes append mode only: the start is refused ({condition}).",
    "mode_of_transform": (
        "The checkpoint pins the output mode of operator {operator} ({name}), {was}: batch {batch} fails"
        " with {condition}."
    ),
    "mode_of_user_state": (
        "What another output mode does to the state of operator {operator} ({name}) was not observed."
    ),
    "join_type": (
        "Spark accepts it and matches are right; rows that were removed from the state before batch"
        " {batch} without a match are never handed out as unmatched."
    ),
    "join_type_semi": (
        "A left semi join carries of the right side only the columns that its condition compares. The state"
        " has {right}: where one of these is not compared, batch {batch} fails with {condition}. Where all"
        " are compared (left_semi_same_columns), Spark accepts it."
    ),
    "join_type_needed": (
        "It depends on the type. Spark accepts inner and outer joins; a left semi join fails in batch"
        " {batch} ({condition}) where its condition does not compare every column of {right}."
    ),
    "join_type_refused": (
        "The state says that {fixed} cannot be null, which an inner join makes of the columns it compares;"
        " an outer join makes them nullable again, and batch {batch} then fails with {condition}. Columns"
        " that the source itself never has as null are no obstacle: then Spark accepts it."
    ),
    "join_interval": (
        "Spark accepts it and matches are right for what is in the state; rows that the old interval has"
        " removed before batch {batch} are gone."
    ),
    "partitions": "The checkpoint pins {partitions}: Spark keeps it, whatever the session says.",
    "provider": (
        "The checkpoint pins the state store {provider}: Spark keeps it, whatever the session says."
    ),
    "aggregation_format": (
        "The checkpoint pins how an aggregation lays out its rows"
        " (spark.sql.streaming.aggregation.stateFormatVersion): Spark keeps it, whatever the session says."
    ),
    "no_aggregation": "It is the format of aggregations, and this query has none.",
    "changelog": "Changelogs can be switched on and off; the next version is written the new way.",
    "format_kept": "The commits decide: the state stays in format {was}, whatever the session says.",
    "format_unknown": "Spark {spark} does not know the setting.",
    "format_refused": (
        "Spark {spark} expects the format that its session names: the start fails with {condition},"
        " because the commits have format {was}."
    ),
    "format_refused_old": (
        "Spark {spark} does not read commits of format {was}: the start fails ({condition})."
    ),
    "format_write_fails": "Batch {batch} fails with {condition}: the commits have format {was}.",
    "format_ids_refused": "Batch {batch} fails with {condition}: this store knows no format 2.",
    "format_read_fails": (
        "The commits have format {was} and must have it at every start: without the setting batch {batch}"
        " fails with {condition}."
    ),
    "sink_files": (
        "The log of a file sink begins with batch 0. It starts without an error and writes files, but the"
        " directory cannot be read as a table (_spark_metadata/0 does not exist), and batch {stops} fails"
        " with {condition} when the log is compacted (every 10 batches unless set)."
    ),
    "sink_elsewhere": (
        "The next batch goes to the new sink, which has none of the rows up to batch {batch}; rows of a"
        " planned batch may be in both."
    ),
    "sink_table_elsewhere": (
        "Delta compares batch ids per query: a new table takes batch {batch} and has none of the rows"
        " before it."
    ),
    "sink_topic": (
        "Rows from batch {batch} on go to the new topic; those of a planned batch may be in both."
    ),
    "sink_not_known": (
        "It depends on the sink, which a checkpoint does not name. A file sink breaks in another place or"
        " in the middle of a query; others take the rows from batch {batch} on."
    ),
    "foreach_code": (
        "The new code runs from batch {batch} on. If it hands over a transaction id (txnAppId), a changed"
        " one lets batches come twice, a kept one lets lower batch ids be skipped."
    ),
    "foreach_pending": (
        "Batch {pending} is planned and runs again with the new code, after the old code may have written"
        " part of it."
    ),
    "forecast_fails": "{sentence}",
    "forecast_risk": "{sentence}",
    "forecast_runs": "{sentence}",
    "forecast_open": (
        "The query as it is meets the same at its next start, so that the effect of the change does not"
        " show: {sentence}"
    ),
    "forecast_remark": "{sentence} {remark}",
}

ACTIONS: dict[str, str] = {
    "deploy": "Deploy it; the checkpoint stays.",
    "deploy_checked": "Deploy it if the remark is acceptable; check the first batches.",
    "new_checkpoint": (
        "Do not start it on this checkpoint. Back the checkpoint up, and build the state again from the"
        " source with a new checkpoint location."
    ),
    "drop_state": "Drop the state in a copy of the checkpoint, which keeps positions and batch IDs.",
    "reset": (
        "Do not start it on this checkpoint. Start with a new checkpoint location at the position of this"
        " one."
    ),
    "unset": "Leave the setting as the checkpoint has it.",
    "keep": "Keep it as it is, or start the query with a new checkpoint location.",
    "keep_spark": (
        "Do not start it with that Spark. A start that failed there may have written one offset file;"
        " delete it before you return (its batch ID stands in the answer)."
    ),
    "try_copy": (
        "Back up the checkpoint, start the new query on a restored copy with a sink of its own, and compare."
    ),
    "rehearse": (
        "Rehearse it (rehearse --query FILE) with an input that the old query has not read; a rehearsal"
        " without a batch shows nothing."
    ),
    "say_more": "Say more about it, and the answer becomes definite.",
}

ROLLBACKS: dict[str, str] = {
    "continues": "resumes where the new query stopped.",
    "as_before": "resumes as before: the failed start has written nothing.",
    "runs_planned": (
        "runs batch {batch}, which the failed start has planned, and continues. Nothing is lost."
    ),
    "mixed_state": (
        "runs, with what the new query has put into the state: going back does not separate the two."
        " Restore the backup of before the change."
    ),
    "state_missing": (
        "fails in its next batch as soon as the new query has committed one: the state has no version of"
        " that batch. Restore the backup of before the change."
    ),
    "rows_stay": "resumes; rows that the new query has written stay where they are.",
    "not_known": "not observed; have a backup of before the change.",
}
