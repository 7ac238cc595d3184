"""Where a new checkpoint has to start: what is true of the whole answer, and why there is none."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # why there is no position
    "unusable": "{path} cannot be used: {reason}.",
    # what could not be read
    "entry_not_read": "{reason}; no start position is given that rests on it.",
    "sink_not_read": (
        "Whether the sink already has pending batch {pending} decides the start position, and it could not be"
        " read ({reason}); without --sink the position after the last committed batch is given."
    ),
    "log_of_another": (
        "Source {key} has no log of its own: {directory} is that of a source at another place. Which files it"
        " has read is not known."
    ),
    "source_not_read": "{reason}; no start position is given that rests on it.",
    "not_known": "not known",
    "not_there": "Batch {batch} is the last committed one, but offsets/{batch} is not there.",
    "no_offsets": "There is no batch {batch}: the checkpoint has no offset file.",
    "removed": (
        "offsets/{batch} is not there (Spark removes old entries); choose a batch from {first} to {last}."
    ),
    "not_planned": (
        "offsets/{batch} is not there (it was not planned yet); choose a batch from {first} to {last}."
    ),
    "missing": "offsets/{batch} is not there (its file is missing); choose a batch from {first} to {last}.",
    "restore": "Restore the file, or start from a position you know.",
    "restore_or_earlier": (
        "Restore the file, or use batch {batch}, the newest complete one before it: everything after it is"
        " then reprocessed."
    ),
    # about the whole answer
    "in_the_sink": (
        "Batch {batch} is not committed, but the sink already has its rows: a start before it would write"
        " them twice."
    ),
    "not_committed": (
        "Batch {batch} is not committed: if it never finished, its rows are skipped by a start after it."
    ),
    "pending_may_repeat": (
        "Batch {batch} is planned and not committed: it may have written rows already, which are then written"
        " again."
    ),
    "none_committed": "No batch is committed.",
    "last_committed": "The last committed batch is {batch}.",
    "commit_unreadable": (
        "{path} is there but cannot be read, so it is not certain that batch {batch} finished."
    ),
    "not_in_use": (
        "The pipeline starts from another checkpoint, {place}: the position of today is there, not here."
    ),
    "async_progress": (
        "Progress was logged asynchronously: batches that finished after this one may not be in the log;"
        " their rows are then written again."
    ),
    "rows_before_the_log": (
        "The query wrote rows before their batch was logged (real-time or continuous mode): those after this"
        " position are written again."
    ),
    "empty_state": (
        "A new checkpoint starts with empty state: aggregations, joins and deduplication forget what they"
        " held."
    ),
    "state_gone": (
        "The state of this checkpoint is gone, and a new checkpoint has none either: aggregations, joins and"
        " deduplication forget what they held."
    ),
    "several_sources": "The query has several sources: each needs its own start position.",
    "output_skips": (
        "A new checkpoint counts from batch 0, and this output directory skips batches up to {batch}:"
        " write to a new one."
    ),
    "table_ahead": (
        "The table already has {ids:batches}, from after this position: their rows are written twice"
        " unless you roll the table back (RESTORE) to batch {batch} first."
    ),
    # nothing is committed
    "from_the_beginning": (
        "Nothing is committed: the answer is where the query began, as far as the checkpoint tells."
    ),
    "no_batch": "The checkpoint has no batch: a query starts here with its own start options.",
    "batch_0_planned": "Batch 0 was planned and may have written rows already; they are then written again.",
    "commits_lost": (
        "commits/ is empty (it was lost; Spark 2.1 kept none). Spark plans a batch only when the one before"
        " is done, so batches up to {done} most likely finished, because offsets/{newest} exists."
    ),
    "commits_and_offsets_lost": (
        "But offsets/{newest} exists, and Spark plans a batch only when the one before is done, so batches"
        " up to {done} most likely finished (Spark 2.1 kept no commit log; in later versions the log was"
        " lost); offsets/{done}, with the position after them, is missing too."
    ),
    # one source
    "no_offset_yet": "This source had no offset yet in batch {batch}.",
    "nothing_committed": "Nothing is committed.",
    "no_first_offset": (
        "Where the source began is not in the checkpoint: start with the query's own start option."
    ),
    "repeats_nothing": "nothing",
    "repeats_batches": "{ids:batches}, committed in this checkpoint",
    "repeats_batches_amount": "{ids:batches}, committed in this checkpoint ({amount})",
    "repeats_both": "{one}; besides that: {other}",
    "skips_nothing_with_own_start": "nothing, with the same start option as before",
    # in pasted code
    "on_purpose": "repeats {repeats}",
    "not_exact": "NOT EXACT: repeats {repeats}; skips {skips}",
    "no_option_needed": "{label}: no start option is needed",
    "no_option": "{label}: no start option; {note}",
}
