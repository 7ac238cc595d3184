"""An error that nobody foresaw: the last resort of the command line and of the pages."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "command": (
        "An unexpected error stopped the answer ({error} in {place}); nothing was changed. Please report it"
        " with the trace that CHECKPOINT_EXPLORER_TRACE=true prints."
    ),
    "page": "An unexpected error stopped this page ({error} in {place}); nothing was changed.",
    "page_what": "The log of the server has the trace; please report it. The other pages still work.",
}
