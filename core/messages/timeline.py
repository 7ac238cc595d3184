"""What the timeline says: the state of a batch, the conclusion of a window of batches, what the times"
" rest on."""

from __future__ import annotations

STATUS_WORDS: dict[str, str] = {
    "committed": "committed",
    "pending": "not committed",
    "missing_commit": "commit file missing",
    "missing_offset": "offset file missing",
    "unreadable": "file unreadable",
    "retention_edge": "half removed by retention",
    "superseded": "no commit file, but a later batch was logged",
}
"""The state of one batch."""

SENTENCES: dict[str, str] = {
    # What the times rest on.
    "copied": (
        "The files of this checkpoint were copied: their file times are not the times of their batches."
        " Start times are those in the offset log ({read:,} of {count:counted batch} {read:one was/were}"
        " read). Durations cannot be known for the copied batches, only that none ran longer than the gap"
        " to the next start."
    ),
    "all_from_log": (
        "Start times come from the offset log. A duration is the time between the offset file and the"
        " commit file; for a batch that was re-run it includes the pause before."
    ),
    "some_from_log": (
        "Start times come from the offset log for the {read:counted batch} that {read:one was/were} read,"
        " and from the file times for the others. A duration is the time between the offset file and the"
        " commit file; for a batch that was re-run it includes the pause before."
    ),
    "file_times": (
        "Times are file times: no offset log entry that was read carries a timestamp. A copy carries the"
        " time of copying."
    ),
    "no_file_times": (
        "The storage gives no file times. Start times are those in the offset log ({read:,} of"
        " {count:counted batch} {read:one was/were} read)."
    ),
    "no_times": "Neither the offset log entries nor the files carry a time.",
}
