"""What the page Recovery says."""

from __future__ import annotations

SOURCE_FIELDS: dict[str, str] = {
    "path": "Path of the source",
    "servers": "Brokers of the source",
    "topics": "Topics of the source",
}

SENTENCES: dict[str, str] = {
    "lost": "Without a checkpoint",
    "lost_what": (
        "No checkpoint can be read here: none is open, it was deleted, or nobody can open it (Lakeflow). What"
        " source and sink allow is answered from what you say about them. If it lies somewhere, open it: then"
        " the start position is known."
    ),
    "source_format": "What does the query read?",
    "reading": "Reading what the sources still have ...",
    "options": "Recovery options",
    "unread": "The options cannot be worked out: {reason}",
    "options_table": "The recovery options",
    "possible": "○ possible: {why}",
    "recommended": "● recommended: {reason}",
    "first": "First: {action}",
    "impossible": "▲ not possible: {why}",
    "impossible_cell": "no: {why}",
    "in_general": "in general: {general}",
    "questions": "About your pipeline",
    "choice": "Plan and code for",
    "consequences": "{option}: what repeats and what is lost",
    "your_sink": "{sink} ● your sink",
    "why_steps": "Why these steps",
    "repeats": "Repeats: {repeats}",
    "loses": "Loses: {loses}",
    "both": "Repeats and loses: {about}",
    "mistake": "Common mistake: {trap}",
    "cost": "Complexity: {complexity} Cost: {cost}",
    "to_ends": "Source & sink",
    "tab_all": "Compare all {count}",
    "tab_sinks": "By kind of sink",
    "tab_steps": "Steps",
    "tab_position": "Start position",
    "tab_impact": "Impact of deleting",
    "before_and_after": "Before and after",
    "before_and_after_table": "Each source before and after",
    "code": "The code",
    "no_code": "There is no code for this option: {why}",
    "code_note": (
        "The code is shown and downloaded, never run by this app. Without --execute a script prints its"
        " plan and stops; with --rehearse it does every step on copies."
    ),
    "whole_file": "To run: {file}",
    "whole_files": "To run: {n:counted file}",
    "kit_note": (
        "Every script carries it below its own lines, and calls it. It is the same text for every checkpoint;"
        " the script has its checksum, and says so when the kit was changed."
    ),
    "download": "Download {file}",
    "values": "Values for the code",
    "values_note": (
        "The checkpoint does not contain these. What stays empty becomes a named constant at the top of"
        " the script, which refuses to run until it is filled in. These texts are not part of the link."
        " Never type a password here: name the environment variable that contains it."
    ),
    "from_sink": "{answer} (according to the sink)",
    "from_checkpoint": "{answer} (according to the checkpoint)",
    "output_mode": "as in the query",
}

EMPTY_NUMBERS: dict[str, str] = {
    "to_batch": "the newest possible",
    "partitions": "a whole number, 1 or more",
}
"""What stands in an empty field for a number, by the id of its answer."""

ROWS: dict[str, str] = {
    "complexity": "Complexity",
    "cost": "Cost",
    "loss": "Potential data loss",
    "duplicates": "Potential duplicates",
    "initial_snapshot": "Needs initial snapshot",
    "full_reset": "Full reset of the table",
}
"""What the options are compared by."""

FIELDS: dict[str, str] = {
    "query_file": "Python file with your query (transform)",
    "pipeline_id": "Pipeline ID",
    "job_id": "Job ID",
    "flows": "Flows, separated by commas",
    "host_env": "NAME of the environment variable with the host",
    "token_env": "NAME of the environment variable with the token",
    "sink_servers": "Brokers of the sink",
    "sink_topic": "Topic of the sink",
    "sink_path": "Where the query writes",
    "sink_format": "Format of the sink",
    "to_batch": "Rewind to batch",
    "partitions": "New number of shuffle partitions",
    "checkpoint_new": "New checkpoint location",
    "backup_to": "Location of the backup",
    "backfill_keys": "Columns that identify a row",
    "backfill_sequence": "Column that shows which row is newer",
}
"""The texts that the code can use, by their public answer ids."""
