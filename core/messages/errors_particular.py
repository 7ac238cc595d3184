"""What an error means where its words, or the open checkpoint, tell which of several faults it is."""

from __future__ import annotations

from core.messages.error_text import ErrorText

OF_CONTINUOUS = ErrorText(
    "The checkpoint is one of continuous processing, and the query was started with another trigger. Its"
    " offset files have no watermark and no pinned settings, without which Spark plans no micro-batch.",
    ("The trigger of the query was changed from continuous to another one, or left out.",),
    action=(
        "Start the query with the trigger continuous, as before: it resumes. No micro-batch trigger can use"
        " this checkpoint: for one of these the query needs a new checkpoint location. Where the source has"
        " start options, the recovery option reset writes them."
    ),
    unseen="The trigger that the query has today is in its code.",
)
