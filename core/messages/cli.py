"""What the command line says: help texts, wrong usage, and the sentences around the answers of the verbs."""

VERBS: dict[str, str] = {
    "inspect": "the facts: batches, offsets, sources, operators, settings, leftovers",
    "resume": "the start position for a new checkpoint that resumes after a batch",
    "forecast": "what Spark will do at the next start, and why",
    "check": "the integrity check: what is wrong, what it means, what to do",
    "state": "rows per partition, without a JVM",
    "rows": "rows of the state: one key, the largest, those a watermark has passed, or what batches changed",
    "recover": "recovery options and their impact, and the plan and code of the chosen one",
    "explain": "what an error or a stack trace means for this checkpoint, and what to do",
    "changes": "what a changed query does to this checkpoint, before it is deployed",
    "rehearse": "what a query does on a copy of this checkpoint, on a Spark that is started for it",
    "compare": "where two checkpoints differ",
    "evidence": "one zip that keeps what the checkpoint shows now; every verb opens it",
    "incidents": "what the incident store holds, newest first; with LOCATION only that of one checkpoint",
    "report": "the incident as Markdown, as one HTML file or as a chat message",
    "survey": "one row for each checkpoint below some roots, what needs attention first",
    "metrics": "the same as OpenMetrics text, printed once or served on loopback",
}

SEVERITIES: dict[str, str] = {
    "blocks_restart": "blocks restart",
    "data_risk": "data risk",
    "attention": "attention",
    "note": "note",
}

SHOWN: dict[str, str] = {
    "yes": "In this checkpoint (the files show it)",
    "no": "In this checkpoint (the files do not show it, or no longer)",
    "unknown": "In this checkpoint (the files cannot tell)",
}

SENTENCES: dict[str, str] = {
    "not_read": "Could not be read ({count}):",
    "sources_not_read": "Which sources the query has is not known: {reason}.",
    # the whole program
    "description": "Answers questions about a Spark Structured Streaming checkpoint. It only reads.",
    "usage": "{command}: {problem}; see {command} --help.",
    "verb_description": "{help:capital}.",
    "stopped": "Stopped.",
    "not_checked": "Not checked",
    "what_to_do": "What to do",
    "way_not_possible": "{title}: not possible here. {why}",
    # help texts
    "help_location": "the checkpoint: a path, s3://, or another location fsspec understands",
    "help_roots": (
        "where checkpoints lie: a directory above them, or one of them; a path, a URL, or the name of a"
        " root in the settings"
    ),
    "help_survey_level": "normal lists the state of each checkpoint too, quick does not (default normal)",
    "help_json": "one JSON object instead of text",
    "help_all": "every batch, not only the newest",
    "help_spark": "the Spark version that will be started: {versions}",
    "help_new_data": "whether a source has new data",
    "help_sources": "how many streaming sources the query has now",
    "help_operators": (
        "the stateful operators of the query now, operator 0 first: dedupe,stateStoreSave; '' for none"
    ),
    "help_set_query": (
        "source.<key>.topics=a,b: what it subscribes to now; source.<key>.option.<name>=value: an option"
    ),
    "help_fail_on_data_loss": "the option failOnDataLoss of the Kafka or Delta source",
    "help_level": "{levels} (default normal)",
    "help_seconds": "how long the level deep may take; what was not reached is named",
    "help_fail_on": "from which severity on the exit status is 1: {severities} (default data_risk)",
    "help_watch": "list again after so many seconds: is a query writing to this checkpoint?",
    "help_batch_state": "the state after this batch (default: the last committed one)",
    "help_replay": "also count where the files record no number (reads what holds the rows)",
    "help_error": "a file with the error or stack trace; - reads it from standard input",
    "help_kafka": "a librdkafka properties file: the broker is asked, nothing is consumed",
    "help_isolation": "kafka.isolation.level of the query (default read_uncommitted, Spark's own)",
    "help_sink": "the Delta table or output directory that the query writes to",
    "help_source": "the Delta table or directory that a source reads (repeatable)",
    # wrong usage
    "no_kafka_source": "--kafka was given, but the checkpoint has no Kafka source.",
    "source_unknown": (
        "--source takes KEY=LOCATION with the key of a source; the sources of this checkpoint: {known}."
    ),
    "source_no_place": (
        "--source takes the place of a Delta table or of the files of a file source; source {key} is {kind}."
    ),
    "no_level": "There is no level {level}; choose one of {levels}.",
    "no_severity": "--fail-on takes one of {severities}, not {asked}.",
    "seconds_out_of_range": "--{option} must be a number of seconds above 0 and at most 86400.",
    "sources_out_of_range": "--sources takes the number of streaming sources, at least 1, not {number}.",
    "set_query": (
        "--set takes source.<key>.topics=a,b or source.<key>.option.<name>=value here, not {setting}."
    ),
    "no_source": "The checkpoint has no source {key}; it has {known}.",
    "nothing_committed": "No batch is committed, so there is no state to count.",
    "not_committed": "Batch {batch_id} is not committed; the commit log has batches {first} to {newest}.",
    "error_file_unreadable": (
        "--error {place} cannot be read ({reason}); name a file with the error, or - for standard input."
    ),
    "error_file_empty": "--error {place} is empty; paste the whole error with its stack trace.",
    # forecast
    "because": "{certainty}: {why} [{files}]",
    "then": "then: {sentence}",
    "rows": (
        "rows: {append} in a sink that appends, {overwrite} in one that overwrites by batch ID, {skip} in one"
        " that skips batch IDs it has seen"
    ),
    "rows_not_asked": (
        "{rows}; that holds only if the broker or table of {n:one source/sources} {keys:listed}, which was"
        " not asked, still has what comes next"
    ),
    "rows_none": "rows: none reaches the sink, whatever its kind",
    "effect_possible": "possible {effect}",
    "rules": "rules of Spark {spark}: {why}",
    "steps": "Steps of the start",
    "sink": "The sink",
    # check
    "finding": "{severity}: {id} ({certainty})",
    "evidence": "evidence: {files}",
    "action": "what to do: {action}",
    "to_recipe": "plan and code: {command}",
    "read": (
        "Checked: {checked:listed}. Read: {listings:counted listing}, {files:counted file},"
        " {size_bytes:size}."
    ),
    "progress": "{done:number} of {total:counted state file}",
    # inspect
    "version_known": "Spark {at_least} or newer",
    "version_between": "Spark {at_least} to {at_most}",
    "version_at_most": "Spark {at_most} or older",
    "version_unknown": "an unknown Spark version",
    "inferred": "{what} ({certainty}: {why})",
    "no_batch": "no batch",
    "log_one": "batch {first}",
    "log_many": "{count:counted batch}, {first} to {last}",
    "log_missing": "{log}; missing {count:number}: {ids:batches}",
    "sources_none": "none known",
    "batches_all": "Batches",
    "batches_newest": "Batches (newest {shown} of {count:number}; --all shows every one)",
    "offset_unreadable": "the offset file cannot be read",
    "offset_absent": "no offset file",
    "conf_changes": "Pinned settings that changed ({count})",
    "leftovers": "Leftovers ({count:number}; not part of the checkpoint)",
    "more": "and {count:number} more",
    "problems": "Problems ({count:number})",
    "no_problems": "No problems found in the files that were read.",
    # state
    "state_after": "State version {version}, after batch {batch_id}.",
    "stateless": "No state after batch {batch_id}: the query is stateless.",
    "store_rows": "operator {operator} ({name}), store {store}: {rows:counted row}",
    "store_unknown": (
        "operator {operator} ({name}), store {store}: rows not known in {unknown:number} of"
        " {partitions:counted partition}"
    ),
    "store_replay": (
        "operator {operator} ({name}), store {store}: rows not known in {unknown:number} of"
        " {partitions:counted partition} (--replay counts them)"
    ),
    "families_together": "counted together: the rows of the column families {families:listed}",
    "elements_of_lists": (
        "in {families:listed} a row is a list and counts 1, however long it is; all lists together have"
        " {elements:counted element}"
    ),
    "families_of_lists": "in {families:listed} a row is a list and counts 1, however long it is",
    "partitions_left": "and {count:counted partition} with fewer rows",
    "rows_between": "{at_least:number} to {at_most:number}",
    "rows_at_least": "{at_least:number} or more",
    # explain
    "error_text": "the text: {text}",
    "error_class": "{error_class}, line {line}",
    "error_class_sqlstate": "{error_class}, SQLSTATE {sqlstate}, line {line}",
    "error_sqlstate": "SQLSTATE {sqlstate}, line {line}",
    "error_line": "line {line}",
    "other_query": "In this checkpoint (the error is of another query)",
    "not_in_files": "cannot be seen from the files: {why}",
    "causes": "Likely causes, most likely first",
    "other_errors": "Other errors in the text",
    "other_error": "line {line}: {name}: {message}",
    "text_cut": "The text is longer than {count:number} characters: its middle was not read.",
}
