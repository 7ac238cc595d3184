"""How evenly the state of an operator is spread: the conclusion, and what a reader must know."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # What is compared.
    "operator": "operator {operator_id}",
    "operator_store": "operator {operator_id}, store {store}",
    "kept": "the kept files of {where}",
    "written": "the files of version {version} of {where}",
    # The conclusion, in parts.
    "no_files": "No partition of {where} has any files",
    "only_one_empty": "The only partition of {where} looks empty",
    "all_empty": "All {partitions:,} partitions of {where} look empty",
    "no_bytes": "No partition of {where} has any bytes to compare",
    "only_one": "Partition {partition_id} is the only one of {where}",
    "balanced": (
        "Balanced: the largest of {partitions:,} partitions of {where} is {ratio:.1f} times the median"
    ),
    "heaviest": "Partition {partition_id} holds {percent} of {where}",
    "over_median": "{ratio:.1f} times the median",
    "some_empty": "{empty:,} of {partitions:counted partition} {empty:one looks/look} empty",
    "missing": "{partitions:counted partition} {partitions:one is/are} missing",
    # What a reader must know.
    "compressed": "Bytes of compressed files, not rows.",
    "all_sst": (
        "All .sst files that are kept count, also those of older versions: the .zip of a version names"
        " those that it needs."
    ),
    "sst_not_counted": ".sst files carry no version and are not counted; a .zip has no rows.",
    "no_changelogs": (
        "Without changelog files the names do not show what a batch wrote: .sst files carry no version and"
        " a .zip has no rows."
    ),
    "lineage": (
        "In state checkpoint format 2 a changelog also lists the versions since the last .zip, so its size"
        " grows without any new row."
    ),
    "empty_not_known": "These sizes do not show whether a partition is empty.",
    "looks_empty": "A partition looks empty if its files have the size of files without a record.",
    "beyond": (
        "{directories:counted partition directory/partition directories} beyond the expected number"
        " ({expected}) {directories:one is/are} left out."
    ),
    "unknown_store": "Operator {operator_id} has no store {store!r}; its stores: {known:listed}.",
}
