"""The recovery options, the questions, the answers and what each kind of sink does."""

from __future__ import annotations

TITLES: dict[str, str] = {
    "restart": "Fix the cause, if any, and restart the query",
    "rewind": "Rewind to an earlier batch",
    "repair_files": "Repair single files of the checkpoint",
    "restore_backup": "Restore a backup of the checkpoint",
    "backup": "Back up the checkpoint",
    "skip_batch": "Skip the planned batch",
    "drop_state": "Keep the checkpoint and drop state/",
    "repartition": "Repartition the state: another number of shuffle partitions",
    "full_refresh": "Full table refresh",
    "backup_and_backfill": "Full refresh with backup and backfill",
    "reset": "Reset the checkpoint and continue incrementally",
}
"""The options, by id."""

QUESTIONS: dict[str, str] = {
    "what_happened": "What happened?",
    "sink": "Where does the query write?",
    "source_complete": "Can the source still deliver every record that the query has ever read?",
    "stateful": "How does the stateful part change in the query that runs next?",
    "stateful_unseen": "There is no state here. Does the query keep any?",
    "platform": "Where does the query run?",
}
"""The questions, by id."""

WHAT_HAPPENED: dict[str, str] = {
    "crash": "The query or the cluster died",
    "batch_fails": "The same batch fails at every start",
    "damaged": "Checkpoint files are damaged or gone",
    "data_expired": "The source lost data before it was read",
    "query_changed": "The query was changed",
    "source_changed": "The source was moved or replaced",
    "reprocess": "Old rows have to be processed again",
}
"""The answers to ``what_happened``."""

SINKS: dict[str, str] = {
    "delta": "Delta table, written by the built-in sink",
    "file": "File sink (parquet, json, csv ... with _spark_metadata)",
    "kafka": "Kafka topic",
    "foreach_append": "foreachBatch that appends",
    "foreach_merge": "foreachBatch that merges or overwrites by key",
    "foreach_txn": "foreachBatch into Delta with txnAppId and txnVersion",
    "lakeflow_table": "Lakeflow pipeline table",
    "other": "Something else",
}
"""The answers to ``sink``."""

NAMES: dict[str, dict[str, str]] = {
    "sink": {
        "delta": "Delta",
        "file": "files",
        "kafka": "Kafka",
        "foreach_append": "foreachBatch that appends",
        "foreach_merge": "foreachBatch by key",
        "foreach_txn": "foreachBatch with txnVersion",
        "lakeflow_table": "Lakeflow",
        "other": "another sink",
    },
    "source_complete": {"yes": "yes", "no": "no", "unknown": "not known"},
    "stateful": {"unchanged": "unchanged", "changed": "changed", "removed": "removed", "added": "added"},
    "platform": {"pyspark": "open-source Spark", "databricks": "Databricks", "lakeflow": "Lakeflow"},
}
"""The answers in three words at most, by question."""

DECIDES: dict[str, str] = {
    "sink": "the sink",
    "source_complete": "whether the source still has every record",
    "stateful": "how the stateful part changes",
    "platform": "where the query runs",
}
"""What the answer to a question is about, by its id."""

GIVEN: dict[str, str] = {
    "what_happened": "what happened: {answer}",
    "sink": "sink: {answer}",
    "source_complete": "source has every record: {answer}",
    "stateful": "stateful part: {answer}",
    "platform": "runs on {answer}",
}
"""An answer that was given, by the question."""

SOURCE_COMPLETE: dict[str, str] = {
    "yes": "Yes, all of them",
    "no": "No, some are gone",
    "unknown": "I do not know",
}
"""The answers to ``source_complete``."""

STATEFUL: dict[str, str] = {
    "unchanged": "It does not change",
    "changed": "It was changed",
    "removed": "It was removed: the query keeps no state now",
    "added": "One was added",
}
"""The answers to ``stateful``."""

STATEFUL_UNSEEN: dict[str, str] = {
    "unchanged": "It keeps state, which is lost",
    "changed": "It keeps state, which is lost, and was changed",
    "removed": "It keeps no state",
    "added": "It keeps state now, and kept none before",
}
"""The same, where the checkpoint has no state."""

PLATFORMS: dict[str, str] = {
    "pyspark": "Open-source Spark",
    "databricks": "Databricks, classic compute",
    "lakeflow": "Lakeflow pipeline",
}
"""The answers to ``platform``."""

BEHAVIOURS: dict[str, str] = {
    "append": "A sink that appends every row it receives",
    "overwrite": "A sink that overwrites (by key, or by batch ID)",
    "batch_number_aware": "A sink that skips batch IDs it has already committed (file sink, Delta)",
}
"""What a sink does with a batch that it receives a second time."""

SHORT_BEHAVIOURS: dict[str, str] = {
    "append": "Sink that appends",
    "overwrite": "Sink that overwrites",
    "batch_number_aware": "Sink that skips committed batch IDs",
}
"""The same in a few words."""

AMOUNTS: dict[str, str] = {
    "exact": "{amount}",
    "at_most": "at most {amount}",
    "estimate": "about {amount}",
    "of_source": "{amount} of source {key}",
}
"""How much was read, by how sure the number is."""

SENTENCES: dict[str, str] = {
    "files_gone": (
        "{gone} of the {looked:counted input file} looked for {gone:one is/are} no longer at the source, for"
        " example {file}."
    ),
    "files_changed": (
        "{changed} of the {looked:counted input file} looked for {changed:one has/have} changed since, for"
        " example {file}: what is read again is the new content."
    ),
    "not_read": (
        "{paths:listed 3} could not be read ({reason}): no recovery is planned on a part of a checkpoint. See"
        " why it could not be read, and ask again."
    ),
    # answers
    "by_answers": "By the answers given on Recovery ({given:listed}).",
    "answer_not_text": "The answer {key!r} is not text.",
    "answer_without_value": "{pair!r} is not an answer. Write key=value, for example sink=file.",
    "answer_not_a_choice": "{key} must be one of {choices}; {value!r} is not one of them.",
    "answer_environment": (
        "{key} is the NAME of an environment variable (letters, digits, _), never the value itself."
    ),
    "answer_trigger": (
        "trigger must be available_now: a recovery run ends when all available data is read, so that the"
        " result can be verified."
    ),
    "answer_batch": "{key} is a batch ID, a whole number; {value!r} is none.",
    "answer_partitions": (
        "{key} is a number of shuffle partitions, a whole number from 1 to 2147483647; {value!r} is none."
    ),
    "answer_unknown": (
        "There is no answer called {key!r}. Known answers: {known}, source.<key>.path and others."
    ),
    "answer_secret": (
        "The option {option!r} is a secret, and generated code must not contain one. Give the NAME of the"
        " environment variable that holds it."
    ),
    # what the checkpoint and the sink tell
    "sink_seen_file": "{url} has a file sink log (_spark_metadata).",
    "sink_seen_delta": "The log of {url} has batches of this query, written by the built-in Delta sink.",
    "sink_seen_txn": (
        "The log of {url} has batches of this query, but none written by the built-in Delta sink."
    ),
    "what_happened_not_known": (
        "Decides which option comes first. The checkpoint tells only where the query stopped."
    ),
    "sink_not_known": "The checkpoint does not name the sink.",
    "never_replayed": "A socket or memory source cannot be read a second time.",
    "always_replayed": "A rate source generates its rows again.",
    "source_not_known": (
        "The checkpoint does not contain this. Check the source, or the retention of the topic."
    ),
    "state_found": "The checkpoint has state of {n:counted operator}.",
    "lakeflow_by_sink": "A Lakeflow table is written by a pipeline.",
    "rules_out": "Rules out: {title}. {why}",
    "decided_by": 'The recommendation depends on "{question}"',
    "leads_to": "{title}: {answers}",
    "advice": "{title}.",
    "advice_nothing": "Nothing has to be done before a start.",
    "advice_nothing_else": "Nothing else has to be done before a start.",
    "may_run": (
        "A query may be running: batch {batch} was planned {age_ms:duration} before this was read. Stop it"
        " before another one is started on this checkpoint."
    ),
    "may_have_run": (
        "A query may have been running: batch {batch} was planned {age_ms:duration} before this evidence was"
        " taken. Make sure that none runs before one is started on this checkpoint."
    ),
    "advice_none": "The files show no option that can be recommended; the page Recovery compares all.",
    "action_not_possible": '{action} Here the option "{title}" is not possible: {why}',
    "action_instead": '{action} Recommended instead: "{title}".',
    "advice_depends": "It depends on {about}. {ways}",
    "advice_if_not_held": (
        "Connect the sink first: the repair is refused where a file sink or a Delta table already has batch"
        " {batch}."
    ),
    "advice_way": "{answers:capital}: {title}.",
    "position_not_known": "Position not known",
    "nothing_committed": "No batch is committed, so there is no position to resume from.",
    "offset_unreadable": "offsets/{batch} is missing or cannot be read, so the position is not known.",
    "offset_without_source": "offsets/{batch} names no source.",
}
