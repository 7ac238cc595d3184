"""What a comparison of two checkpoints says."""

from __future__ import annotations

AREAS: dict[str, str] = {
    "metadata": "Metadata",
    "offsets": "Offset log",
    "commits": "Commit log",
    "conf": "Pinned settings",
    "sources": "Source logs",
    "state": "State",
    "files": "Other files",
}
"""The parts of a checkpoint that are compared."""

SENTENCES: dict[str, str] = {
    "help_other": "the other checkpoint",
    "help_last": "how many of the newest batches that both have are read (default {n:number})",
    "help_level": "deep compares the bytes of all state files too (default normal: their names and sizes)",
    "last_least": "--last has to be 1 or more, not {given}",
    "equal": "No difference between {a} and {b} in what was compared.",
    "different": "{n:counted difference} between A, {a}, and B, {b}:",
    "line": "{what}: A {a}, B {b}",
    "absent": "does not have it",
    "not_compared": "Not compared",
    # what differs
    "query_id": "query ID",
    "there": "has it",
    "readable": "can be read",
    "damaged": "damaged: {reason}",
    "batches": "{batches:batches}",
    "text": "batch {batch}, the text",
    "version": "batch {batch}, format version",
    "time": "batch {batch}, time",
    "watermark": "batch {batch}, watermark",
    "next_watermark": "batch {batch}, next watermark",
    "other_fields": "batch {batch}, other fields",
    "source": "batch {batch}, source {key}",
    "position": "batch {batch}, source {key}, {name}",
    "setting": "{key} in {batches:batches}",
    "byte": "{path}, from byte {at:number} on",
    "hidden": "checksum files (.crc) below {part}/",
    # what was not compared
    "older": "what {n:counted batch} of {log} before batch {before} say (the names were compared)",
    "state_bytes": (
        "the bytes of {n:counted state file} (names and sizes were compared; level deep reads them)"
    ),
    "out_of_time": (
        "the bytes of {n:counted state file} for which no time was left (names and sizes were compared; the"
        " command line takes as long as it needs)"
    ),
    "not_read": "{path}: one side could not be read",
    "side_not_read": "in {side}, {reason}",
}
