"""What the page Recovery says."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "reading": "Reading what the sources still have ...",
    "questions": "About your pipeline",
    "options": "Recovery options",
    "unread": "The options cannot be worked out: {reason}",
    "options_table": "The recovery options",
    "possible": "○ possible: {why}",
    "recommended": "● recommended: {reason}",
    "impossible": "▲ not possible: {why}",
    "impossible_cell": "no: {why}",
    "in_general": "in general: {general}",
    "choice": "Plan and code for",
    "consequences": "{option}: what repeats and what is lost",
    "your_sink": "{sink} ● your sink",
    "repeats": "Repeats: {repeats}",
    "loses": "Loses: {loses}",
    "mistake": "Common mistake: {trap}",
    "steps": "What the code does, in order",
    "before_and_after": "Before and after",
    "before_and_after_table": "Each source before and after",
    "code": "The code",
    "no_code": "There is no code for this option: {why}",
    "code_note": (
        "The code is shown and downloaded, never run by this app. Without --execute a script prints its"
        " plan and stops."
    ),
    "download": "Download {file}",
    "values": "Values for the code that the checkpoint does not contain",
    "values_note": (
        "What stays empty becomes a named constant at the top of the script, which refuses to run until"
        " it is filled in. These texts are not part of the link. Never type a password here: name the"
        " environment variable that contains it."
    ),
    "from_sink": "{answer} (according to the sink)",
    "from_checkpoint": "{answer} (according to the checkpoint)",
    "output_mode": "as in the query",
}
