"""What is said of the rows of surveys that were kept."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "not_listed": "The history of surveys could not be read: {reason}",
    "left_out": (
        "{n:counted file} of the history of surveys, the oldest, {n:one was/were} left out"
        " (CHECKPOINT_EXPLORER_HISTORY_FILES)."
    ),
    "not_read": "{n:counted file} of the history of surveys could not be read: {files:listed}.",
}
