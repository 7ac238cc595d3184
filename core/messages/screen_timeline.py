"""What the page Timeline and the details of one batch say."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "no_batch": "No batch has been written yet: offsets/ and commits/ are empty.",
    "no_batch_more": "The timeline begins with the first batch.",
    # the headline
    "window": "Batches {first} to {last} of {total:counted batch/batches}.",
    "window_of_newest": (
        "Batches {first} to {last}: {n:number} of {total:counted batch/batches} in the logs."
    ),
    "window_with_gaps": (
        "{n:counted batch/batches} between batch {first} and batch {last}, of {total:counted"
        " batch/batches} in the logs."
    ),
    "window_of_one": "Batch {first}.",
    "all_committed": "All committed.",
    "pending": "Batch {batch} is not committed.",
    "durations": "Median duration {median:duration}, longest {longest:duration}.",
    "gaps": "A batch started every {median:duration} (median). How long each one ran is not known.",
    "gaps_too_short": "Batches started less than 1 ms apart (median). How long each one ran is not known.",
    "input": "Median input {rate}.",
    "input_per_batch": "Median input {amount} in a batch.",
    "input_name": "input",
    "input_pending": "input, not committed",
    "older_removed": "older batches were removed",
    # the strip of all batches
    "no_times": "The times of the other batches are not known until every batch is read. {note}",
    "strip_duration": (
        "Duration of all {total:counted batch/batches}, in bins of {size}. Click to move the window."
    ),
    "strip_gap": (
        "Time from start to next start of all {total:counted batch/batches}, in bins of {size}. Click to"
        " move the window."
    ),
    "strip_unread": (
        "{unread:number} of them have not been read, so their times are not known: the shaded part of the"
        " chart."
    ),
    "strip_peak": "The longest, {longest:duration}, is from batch {batch} on.",
    "strip_hover": "{name} of batches {first} to {last}: {length}",
    # the axes
    "axis_time": "start of the batch, UTC",
    "axis_columns": "batch ID (each column adds up {n:counted batch/batches})",
    # below the marks
    "removed": (
        "Batches before {batch} are no longer in the logs: Spark keeps the newest 100 by default"
        " (minBatchesToRetain)."
    ),
    "absent": "Absent, with neither file: {ids:listed 20}.",
    "async_gaps": (
        "IDs between the logged batches are missing by design: the query tracks its progress asynchronously."
    ),
    "window_table": "The batches of the window",
    # source progress
    "no_partitions": (
        "The offsets of this source contain no partition and no number to follow. The batch below shows"
        " the raw text."
    ),
    "progress": "{source}: {amount} in {n:counted batch/batches}.",
    "progress_not_known": (
        "{n:counted batch/batches} more {n:one is/are} not counted: where {n:one it/each} began is not in the"
        " log."
    ),
    "most_moved": "{partition} moved the most, {share:.0%}.",
    "silent": "Without new data: {partitions:listed 5}.",
    # one batch
    "batch": "Batch {batch}",
    "newest_batch": "Batch {batch} (none is chosen: this is the newest)",
    "asked_no_batch": "This link asks for batch {batch}. This checkpoint has no batch yet.",
    "asked_removed": (
        "This link asks for batch {batch}. It was removed by retention: the logs contain batches {first}"
        " to {last}."
    ),
    "asked_not_written": (
        "This link asks for batch {batch}. It is not written yet: the logs contain batches {first} to {last}."
    ),
    "asked_not_logged": (
        "This link asks for batch {batch}. It was not logged: with asynchronous progress tracking only"
        " some batches are. Choose a neighbor."
    ),
    "asked_absent": (
        "This link asks for batch {batch}. It has neither an offset file nor a commit file, although its"
        " neighbors have them."
    ),
    "not_understood": "{file} cannot be understood: {reason}",
    "next_start": "next start {gap:duration} after this one",
    "no_later_batch": "no later batch",
    "at_most": "at most {gap:duration}",
    "next_batch_began": "the next batch began then",
    "source": "Source {key}: {kind}",
    "source_exact": "Source {key}: {kind}, {amount}",
    "source_at_most": "Source {key}: {kind}, {amount} (at most as many records)",
    "source_estimate": "Source {key}: {kind}, {amount} (estimated)",
    "positions": "Positions of source {key} before and after batch {batch}",
    "no_new_data": "No new data: the offset is the same before and after.",
    "before_first": (
        "The position of this source before the batch is not known: this is the first batch in the log."
    ),
    "before_not_told": (
        "The position of this source before the batch is not known: it cannot be read from"
        " offsets/{previous}."
    ),
    "after": "After: {offset}",
    "settings_changed": "{n:counted pinned setting} changed with this batch",
    "settings_changed_table": "Settings that changed with batch {batch}",
    "settings_first": "Pinned settings: nothing to compare with, because this is the first batch in the log.",
    "settings_same": "Pinned settings: the same as in batch {previous}.",
    "settings_all": "All pinned settings ({n:number})",
    "settings_table": "Settings pinned by batch {batch}",
    "raw": "Raw log files",
    "raw_missing": "{path}: this file does not exist.",
    "raw_file": "{path}: {size_bytes:size}",
    "raw_file_written": "{path}: {size_bytes:size}, written {ms:moment}",
    "raw_removed": "It was there when the directory was listed and is gone now: removed by retention.",
}

COUNTS: dict[str, str] = {
    "missing_commit": "{n:counted batch/batches} without a commit file.",
    "missing_offset": "{n:counted batch/batches} without an offset file.",
    "unreadable": "{n:counted batch/batches} with an unreadable file.",
    "retention_edge": "{n:counted batch/batches} half removed by retention.",
    "superseded": "{n:counted batch/batches} without a commit file, and a later batch was logged.",
}
"""How many batches of the window have a status that is not in order."""
