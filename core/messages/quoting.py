"""Why a value cannot be written into generated code."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "type": "A value of type {kind} cannot be written into code.",
    "shell": "Only text without NUL can be written into a shell command.",
    "table": "A table name has to be one line of text.",
    "comment": "{value!r} cannot be written into a comment.",
    "name": "{value!r} is not a valid name.",
    "unquoted": "A template writes {value!r} without a quoting filter.",
}
