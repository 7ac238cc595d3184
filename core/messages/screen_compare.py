"""What the page Compare says; what differs is in ``comparison``."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "choose": "Choose a checkpoint to compare this one with.",
    "choose_why": (
        "A copy, a backup, the same query in another environment, or the checkpoint before a repair. Compared"
        " are query ID, offset log, commit log, pinned settings, source logs, state files and other files."
    ),
    "field": "B, to compare with",
    "field_help": "A name below one of the configured roots, or the location of a checkpoint directory.",
    "swap": "Swap A and B",
    "read_again": "Read B again",
    "comparing": "Comparing ...",
    "same": "A and B are the same place. Choose another checkpoint to compare this one with.",
    "not_finished": "The two could not be compared: {reason}",
    # the answer
    "equal": "A and B do not differ in what was compared.",
    "different": "A and B differ in {n:counted place}: {areas:listed}.",
    "other_query": (
        "The query IDs differ: A and B are checkpoints of two queries, unless metadata was written again."
    ),
    "next_starts": "Next start: A {a}; B {b}.",
    "within": "{n:number} in {area}",
    "side": "{side} is {name}, read at {ms:clock}",
    "area": "{area}: {n:counted difference}",
    "table": "Differences in {area} between A and B",
    "only_a": "only in A",
    "only_b": "only in B",
    "not_there": "not there",
    "not_compared": "Not compared ({n:number})",
    "names_only": "Of checksum files (.crc) and other files only the names were compared.",
    # the bytes of state files
    "depth": "State files",
    "depth_costs": (
        "Comparing bytes reads {n:counted state file} of the same name and size, {size_bytes:size} on each"
        " side, for at most {seconds:.0f} s."
    ),
    "depth_nothing": "No state file has the same name and size on both sides: there are no bytes to compare.",
    "depth_done": "State files of the same name and size were compared byte by byte.",
    "depth_stopped": (
        "{n:counted state file} of the same name and size could not be read within {seconds:.0f} s."
    ),
    "command": "The same on the command line",
}

WITHIN: dict[str, str] = {
    "metadata": "the metadata",
    "offsets": "the offset log",
    "commits": "the commit log",
    "conf": "the pinned settings",
    "sources": "the source logs",
    "state": "the state",
    "files": "other files",
}
"""The parts of a checkpoint, as a sentence names the place of a difference."""

DEPTHS: dict[str, str] = {"names": "names and sizes", "bytes": "names, sizes and bytes"}
"""How deep state files are compared."""
