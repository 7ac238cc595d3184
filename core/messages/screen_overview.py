"""What the page Overview and the list of checkpoints say."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # where the query stands
    "newest": "{since}, {ms:moment}",
    "newest_copied": "{since}: {ms:moment}, time of the copy",
    "no_file_times": "the storage gives no file times",
    "pending": "batch {batch} is planned and not committed",
    "none_planned": "no batch is planned",
    "notes": "Notes (story.md)",
    "not_checked": "Not checked: {n:counted thing}",
    # links of the verdict
    "to_integrity": "All steps and findings",
    "to_changes": "What a deployment would change",
    "to_recovery": "Recovery options",
    # what the query is
    "query": "What the query is",
    "identity": "location   {url}\nquery id   {query_id}",
    "written_by": "Written by {spark} ({certainty}): {why}.",
    "written_by_unknown": "Written by: {why}.",
    "is_async": "Progress is tracked asynchronously ({certainty}): only some batches are logged.",
    "execution": "{mode} ({certainty}).",
    "watermark": "Watermark in force in batch {batch}: {ms:moment}.",
    "sources": "{n:counted source}",
    "sources_table": "The sources of the query",
    "state_not_listed": "The state cannot be listed: {reason}",
    "operators": "{n:counted stateful operator}, {size_bytes:size}",
    "settings": "{n:counted pinned setting}: the checkpoint wins over the session",
    "settings_changed": "{n:counted pinned setting}, {changed} changed: the checkpoint wins over the session",
    "settings_table": "Settings pinned in the offset log",
    "setting_gone": "not in the newest batch",
    "change": "batch {batch}, before: {before}",
    "change_new": "batch {batch}, before: not in the file",
    "problems": "{n:counted file or line/files or lines} could not be understood",
    "leftovers": "{n:counted leftover}: files that do not belong to a checkpoint",
    "leftovers_table": "Leftover files",
    # the list of checkpoints
    "open": "Open a checkpoint",
    "location": "Location of a checkpoint directory",
    "location_placeholder": "/data/checkpoints/orders   or   s3://bucket/checkpoints/orders",
    "location_help": "The directory that was given to the query as checkpointLocation. It is only read.",
    "recent": "Recent in this session",
    "none_below": "No checkpoint was found up to {levels:counted level} below the root {root}.",
    "none_below_more": "Paste its location above if it lies deeper.",
    "list": "{n:counted checkpoint}",
}

LIVE: dict[str, str] = {
    "commits": "Last committed",
    "input": "Input",
    "batches": "Batches",
    "duration": "Batch duration",
    "state": "State",
    "watermark": "Watermark",
}
"""The figures that say how the query gets on."""

NOTHING: dict[str, str] = {
    "input": "no batch is planned",
    "duration": "no batch is planned",
    "state": "no state/: stateless, or deleted",
    "watermark": "not in the logs",
}
"""What they say where they do not apply."""

LEADS_TO: dict[str, str] = {
    "timeline": "Timeline",
    "state": "State by partition",
    "watermark": "Watermark and stalls",
}
"""The page that a figure leads to."""
