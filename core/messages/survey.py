"""What a survey of many checkpoints says."""

from __future__ import annotations

STATUS_WORDS: dict[str, str] = {
    "fails": "fails",
    "reruns": "re-runs a batch",
    "resumes": "resumes",
    "fresh_start": "starts from scratch",
    "unused": "older, not used",
    "unknown": "not known",
    "unreadable": "not read",
}
"""What happens at the next start."""

RECOVERY_COPIES: dict[str, str] = {
    "backup": "backup of a recovery, not used",
    "put_aside": "put aside by a recovery, not used",
    "unfinished": "unfinished copy of a recovery, not used",
}
"""What a recovery script left beside a checkpoint, by its name."""

COUNTS: dict[str, str] = {
    "fails": "{n:number} {n:one fails/fail}",
    "reruns": "{n:number} {n:one re-runs/re-run} a batch",
    "resumes": "{n:number} {n:one resumes/resume}",
    "fresh_start": "{n:number} {n:one starts/start} from scratch",
    "unused": "{n:number} not used",
    "unknown": "{n:number} not known",
    "unreadable": "{n:number} not read",
}
"""How many checkpoints have a status."""

SENTENCES: dict[str, str] = {
    "recovery_copy": "By its name: {what}. If a query is started from it all the same: {then}",
    "not_counted": "not counted",
    "too_slow": "Not read within {seconds} s (setting survey_seconds). That is no damage.",
    "fails_in": "fails in batch {batch}",
    "reruns_batch": "re-runs batch {batch}",
    "total": "{n:counted checkpoint} below {roots:listed 5}: {counts:listed}.",
    "none": (
        "No checkpoint was found up to {levels:counted level} below {roots:listed 5}; name the directory that"
        " was given as checkpointLocation, or one above it."
    ),
    "stopped": (
        "The search below {root} stopped after {listed:number} directories (settings checkpoints_per_root and"
        " checkpoint_levels). There may be more."
    ),
    "skipped": (
        "{n:counted checkpoint} below {root} {n:one was/were} skipped, because no location can hold"
        " {n:one its name/their names}: {paths:listed 3}. Rename {n:one the directory/the directories}"
        " to look at {n:one it/them}."
    ),
    "too_deep": (
        "{n:counted directory} more than {levels:counted level} below {root} {n:one was/were} not looked into"
        " (setting checkpoint_levels). Give the path of a checkpoint that lies there."
    ),
    "root_not_read": "{root}: {error}",
    "note": "{name}: {sentence}",
    "none_in": "none in the newest {n:counted batch/batches}",
    "none_in_newest": "none in the newest batches",
    "temporary": "{name} (temporary)",
    "cost": "Read: {listings:counted listing}, {files:counted file}, {size_bytes:size}, in {seconds} s.",
    "help_engine": "local (the default) reads from here; spark spreads the checkpoints over tasks of a Spark",
    "help_to": "append the rows, with surveyed_at: a directory; with --engine spark any place",
    "help_format": "how they are kept (default parquet); delta needs --engine spark and a Spark with Delta",
    "format_alone": "--format needs --to.",
    "delta_needs_spark": "--format delta needs --engine spark, and a Spark that has Delta Lake.",
    "to_needs_spark": (
        "{place} is no directory of this machine; --engine spark can write there, or choose a directory."
    ),
    "to_file": "{place} is a file; name a directory for the rows.",
    "to_inside": (
        "{place} lies inside the checkpoint {checkpoint}, where nothing is ever written; choose another"
        " place."
    ),
    "not_kept": "The rows of the survey could not be written to {place}: {reason}.",
    "kept": "{n:counted row} appended to {place} ({format}).",
    "progress": "{done:number} of {total:counted checkpoint} found so far",
}
