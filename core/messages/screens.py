"""What the frame of the screens says: links that cannot be honored, the choice of the window."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "link_choice": "This link asks for {what} {wanted!r}. Available: {choices:listed 12}.",
    "link_number": "This link asks for {what} {wanted!r}, which is not a number of 0 or more.",
    "link_number_too_large": (
        "This link asks for {what} {wanted!r}, which is not a number that a browser can keep."
    ),
    "link_window_end": (
        "This link asks for a window that ends at batch {wanted}. The logs contain batches {first} to {last}."
    ),
    "no_such_page": "This link asks for the page {page!r}, which does not exist. This is {shown}.",
    "axis_help": "By time, outages become visible gaps.",
    "read_all_help": (
        "Reads two small files for each of {total:counted batch/batches}. The listing alone does not tell"
        " everything."
    ),
    "reading": "Reading {n:counted batch/batches} ...",
    "no_source": "The offset log does not name a source yet.",
}

NAMES: dict[str, str] = {
    "batch": "batch",
    "last": "a window that ends at batch",
    "level": "check level",
    "loss": "failOnDataLoss",
    "measure": "the measure",
    "operator": "operator",
    "option": "the option",
    "partition": "partition",
    "query": "the query",
    "rows": "partitions from row",
    "size": "a window of size",
    "source": "source",
    "spark": "Spark version",
    "store": "store",
    "tp": "topic partition",
    "whole": "reading every batch:",
    "x": "the X axis",
}
"""What a parameter of the address is called in a sentence; ``a_...`` are answers of the recovery page."""
