"""What the files of a checkpoint tell about it, and why a directory is not one. Without a full stop:
clauses."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # Why a directory is not a checkpoint.
    "contains_one": "{url} is not a checkpoint itself, but it contains one: open {inner}.",
    "contains_several": (
        "{url} is not a checkpoint itself, but it contains {count} of them ({inner:listed 3}): open one of"
        " these."
    ),
    "not_a_checkpoint": (
        "{url} is not a checkpoint: it has none of metadata, offsets/ and commits/ ({found}). Open the"
        " directory that was given to the query as checkpointLocation."
    ),
    "web_page": (
        "{url} is a web page that lists no metadata, offsets/ and commits/. A checkpoint is opened by its"
        " location in the store: s3://..., abfss://..., gs://...; a page of a console is none."
    ),
    "gone": (
        "{error} A query that is started with this checkpointLocation starts from scratch with batch 0; if it"
        " has run before with this very path, its checkpoint is gone. Recovery can be planned without it."
    ),
    "not_lost": (
        "Something lies at {url}, so its checkpoint is not gone: leave out --without-checkpoint to read what"
        " is there."
    ),
    "bare": "no metadata, offsets/ or commits/: a query starts from scratch here, or refuses to start",
    "inside": "{url} is a part of the checkpoint {outer}: open that.",
    "found_nothing": "it is empty",
    "found_delta": "it is a Delta table",
    "found_file_sink": "it is the output directory of a file sink",
    "found_names": "it has {names:listed 4}",
    # How batches ran.
    "is_continuous": "the offset log has an empty line in the place of the settings",
    "real_time_commit": (
        "{path} has version 2 and no IDs of state: a query of micro-batches writes them empty, unless it"
        " tracks its progress asynchronously"
    ),
    "real_time_times": (
        "{path} was written {after_ms:duration} after its batch was planned, when batch {batch_id} was"
        " planned"
    ),
    "micro_batches": "nothing shows another mode",
    # How progress was logged.
    "every_id": "every batch ID between the first and the last was logged",
    "gaps_with_state": (
        "{absent} of the {span} IDs from {first} to {last} are in neither log, and asynchronous progress"
        " tracking (which leaves gaps) is not possible for a query with state"
    ),
    "gaps_too_old": (
        "{absent} of the {span} IDs from {first} to {last} are in neither log, and the pinned settings are"
        " those of a Spark before 3.4, which has no asynchronous progress tracking"
    ),
    "gaps_most": (
        "{absent} of the {span} IDs from {first} to {last} are in neither log, and both logs have the same"
        " IDs: asynchronous progress tracking logs only some batches"
    ),
    "gaps_many": (
        "{absent} of the {span} IDs from {first} to {last} are in neither log, in {holes} places and always"
        " from both logs: asynchronous progress tracking logs only some batches"
    ),
    "gaps_few": (
        "{absent} of the {span} IDs from {first} to {last} are in neither log, and all the others are"
        " there, as in an ordinary log whose files were removed"
    ),
    # Which Spark wrote it.
    "no_log_read": "no log file could be read",
    "no_marks": "the log files have no settings that show a version",
    "mark_format": "{evidence} has format version {version}",
    "mark_no_settings": "{evidence} pins no settings, as Spark 2.1 wrote it",
    "mark_watermark": "{evidence} has the next watermark",
    "mark_exists": "{evidence} exists",
    "mark_settings": "{evidence} pins {count:counted setting}, with {setting}",
    "mark_settings_without": "{evidence} pins {count:counted setting}, with {setting} and without {later}",
    "although": "although its settings look like Spark {version}",
    "unknown_settings": "it also pins settings that Spark up to 4.3 does not write: {settings:listed}",
    "databricks": (
        "the state store provider is Databricks' own, so the version is the one that Databricks' runtime is"
        " built on"
    ),
    # How far a source moved.
    "sum_of_batches": (
        "The offset files between batches {previous} and {batch_id} are missing, so what this batch read is"
        " not known: all batches after {previous} read {amount}."
    ),
    # What the state inventory does not tell.
    "not_checked_content": "what the files contain",
    "not_checked_sst": "which .sst files a .zip needs",
    "not_checked_lineage": "the lineage inside the changelogs",
    "not_checked_partitions": "how many partitions there should be",
}
