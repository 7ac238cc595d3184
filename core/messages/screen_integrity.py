"""What the page Integrity says."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "steps": "The next start, step by step",
    "spark_as_written": "the one that wrote the files",
    "if_so": "With these choices: {sentence}",
    "no_change": "These choices change nothing about the next start.",
    "size_not_known": "The size of the checkpoint is not known: {reason}",
    "findings": "Findings",
    "cost_quick": "Reads nothing beyond what is open already.",
    "cost_normal": (
        "Reads the logs of {n:counted batch/batches} that are not read yet, and lists state/ where it exists."
    ),
    "cost_not_listed": "The state cannot be listed: {reason}",
    "cost_deep": (
        "Then decodes the state files that are needed, of {files:counted state file} with"
        " {size_bytes:size} in total, for at most {seconds:.0f} s."
    ),
    "contents_read": (
        "What is in the state files was checked, and every page speaks of it. A lower level that is chosen"
        " here applies after Refresh."
    ),
    "writing": "Is a query writing to this checkpoint?",
    "look_again": "Look again in {seconds} seconds",
    "look_again_what": "Lists the logs twice and compares them. Nothing is written.",
    "looking_again": "Looking a second time in {seconds} seconds ...",
}

LEVELS: dict[str, str] = {
    "quick": "quick: names only",
    "normal": "normal: logs, schemas, chains of state files",
    "deep": "deep: every state file is decoded",
}

QUERIES: dict[str, str] = {"same": "the same query", "stateless": "without its stateful operators"}

DATA_LOSS: dict[str, str] = {
    "true": "true (Spark's default)",
    "false": "false: continue with the records that still exist",
}
