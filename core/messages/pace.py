"""What is said about how a query gets on."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "rate": "{amount}/{period}",
    "of_batches": "on average; newest {n:counted batch}",
    "files_elsewhere": "on average; newest {n:counted batch}; what they read: Timeline",
    "of_some": "{note}; {sources:number} of {all:counted source}",
    "no_times": "the files give no times for it",
    "copied": "file times are those of a copy",
    "longest": "longest {slow}; newest {n:counted batch}",
    "slowest": "95 % within {slow}; newest {n:counted batch}",
    "balanced": "balanced over {n:counted partition}",
    "uneven": "partition {partition} of operator {operator} holds {percent}",
    "one_partition": "in one partition",
    "nothing": "nothing new",
    "spread_unknown": "how it is spread is not known",
    "behind": "behind the clock of the newest batch; {note}",
    "ahead": "ahead of the clock of the newest batch; {note}",
    "none_yet": "none yet",
    "moves": "it moves",
    "not_moved": "it did not move in the batches that were read",
    "stands_still": "stands still since batch {first} ({n:counted batch})",
    "went_back": "went back in batch {batch}",
}
