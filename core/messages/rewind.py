"""Which older batches a checkpoint can be rolled back to."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "none": (
        "There is no batch that the checkpoint could be rolled back to: none has its offsets, the offsets"
        " before it, its commit and its complete state."
    ),
    "not_kept": (
        "The checkpoint cannot be rolled back to batch {batch}: what that needs is complete only for"
        " {ids:batches}."
    ),
    "stale_snapshot": (
        "The checkpoint cannot be rolled back to batch {batch}: its state would be loaded from {path}, which"
        " is older than the plan of its batch, so it is of batches that were rolled back."
    ),
    "unreadable": "The checkpoint cannot be rolled back to batch {batch}: {path} cannot be read.",
    "source_log": (
        "The checkpoint cannot be rolled back to batch {batch}: the file source log of source {key} is not"
        " complete up to its position."
    ),
}
