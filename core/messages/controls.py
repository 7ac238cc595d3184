"""What a sentence names for the reader to do: an option of the command line, or on a page the control that
does the same."""

from __future__ import annotations

import re

from core.messages.recovery import QUESTIONS, TITLES
from core.messages.screen_recovery import FIELDS

SOURCE_AND_SINK = "page Source & sink"
ON_PAGES: dict[str, str] = {
    "(--sink)": "(page Source & sink)",
    "name it with --sink": "name it on the page Source & sink",
    "without --sink the position": "without the sink (page Source & sink) the position",
    "(--kafka, --source)": "(page Source & sink)",
    "(answer sink=delta)": f'("{QUESTIONS["sink"]}": Delta table)',
    "(answer sink)": f'("{QUESTIONS["sink"]}")',
    "(answer sink: ": f'("{QUESTIONS["sink"]}": ',
    "(answer stateful=removed)": f'("{QUESTIONS["stateful"]}")',
    "(answer stateful=unchanged)": f'("{QUESTIONS["stateful"]}")',
    "(answer backup_to)": f'(field "{FIELDS["backup_to"]}")',
    "(answer backfill_keys)": f'(field "{FIELDS["backfill_keys"]}")',
    "(answer partitions)": f'(field "{FIELDS["partitions"]}")',
    "answer to_batch (rewind)": f'choose "{TITLES["rewind"]}"',
    "Use rewind or restore_backup.": f'Use "{TITLES["rewind"]}" or "{TITLES["restore_backup"]}".',
    "take another option of python -m core recover.": "take another option of the page Recovery.",
}
"""Words of sentences about recovery and findings -> what stands there on a page."""

_REWIND = re.compile(r"python -m core recover LOCATION --option rewind --set\s+to_batch=(\d+)")
_OPTION = re.compile(rf"\(({'|'.join(sorted(TITLES, key=len, reverse=True))})\)")
_BARE = re.compile(
    rf"(?<![\w=-])(?<!--option )({'|'.join(name for name in TITLES if '_' in name)})(?![\w.]*\w)"
)
"""The ID of an option as a word of its own; the others are words of the language too."""


def on_page(sentence: str) -> str:
    """A sentence of the catalogue as a page says it. Not for what comes from a checkpoint.

    >>> on_page("Roll back (rewind).")
    'Roll back (option "Rewind to an earlier batch").'
    """
    for words, instead in ON_PAGES.items():
        sentence = sentence.replace(words, instead)
    sentence = _REWIND.sub(rf'page Recovery, "{TITLES["rewind"]}", batch \1', sentence)
    sentence = _OPTION.sub(lambda found: f'(option "{TITLES[found[1]]}")', sentence)
    return _BARE.sub(lambda found: f'"{TITLES[found[1]]}"', sentence)
