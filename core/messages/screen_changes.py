"""What the panel "What changes?" says."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "title": "What changes?",
    "about": (
        "Before you deploy: what a changed query does to this checkpoint. The Spark chosen at the top of"
        " the page starts it."
    ),
    "what": "What changes",
    "all": "every kind of change",
    "several": (
        "What stands in more than one line depends on what it becomes: choose it above for each case."
    ),
    "becomes": "What it becomes",
    "every_value": "every possibility",
    "sink": "The query writes to",
    "typed": "Or type what it becomes",
    "working": "Comparing with the checkpoint ...",
    "was": "What the query was",
    "action": "What to do: {action}",
    "rollback": "Back to the old query: it {rollback}",
    "to_option": "Recovery option {recipe}",
    "files": "Compare two query files",
    "files_about": (
        "This command compares today's query with the changed one through Spark's plans, without starting"
        " either, and answers as above for every difference. The app never runs it."
    ),
    "rehearse": "Try it on a copy",
    "rehearse_about": (
        "This command starts the changed query on a copy of the checkpoint, with a Spark of its own, and"
        " compares"
        " its rows with those of today's query. Words in capital letters are not in the checkpoint: fill them"
        " in. The app never runs it."
    ),
    "result_about": (
        "With --json the command prints its answer; kept in a file, it can be read here. That file can"
        " also go into an evidence file (evidence --rehearsal FILE)."
    ),
    "result_recorded": "The rehearsal that was kept with this evidence:",
    "result_upload": "The answer of a rehearsal (JSON)",
    "result_place": "Or where the file is",
    "result_gone": "nothing is there",
    "result_table": "Batches of the rehearsal: input rows, output rows, seconds and rows of the state",
    "result_error": "The error in full",
    "not_known": "What a change does cannot be said: {reason}",
}

SINKS: dict[str, str] = {
    "delta": "a Delta table",
    "file": "files",
    "kafka": "Kafka",
    "foreach": "foreachBatch",
    "other": "something else",
}
