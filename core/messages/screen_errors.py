"""What the error translator says on the pages."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "title": "What does this error mean here?",
    "title_alone": "What does this error mean?",
    "error_field": "Error message or stack trace",
    "error_placeholder": "Paste the whole stack trace: the cause is often at its end.",
    "error_private": (
        "It is compared with Spark's own list of errors and with the files of this checkpoint. It is not"
        " sent anywhere."
    ),
    "error_private_alone": (
        "It is compared with Spark's own list of errors. With a checkpoint open it is compared with its files"
        " too. It is not sent anywhere."
    ),
    "error_unread": "The files cannot be compared with the error: {reason}",
    "here": "Here: {sentence}",
    "alone": (
        "Not compared with any checkpoint: none is open. Once one is open, this text is compared with its"
        " files."
    ),
    "alone_named": (
        "Not compared with any checkpoint: none is open. The text names files of {root}; once it is open,"
        " this text is compared with them."
    ),
    "open_named": "Open the checkpoint that the text names",
    "unseen": "The files cannot show the cause: {unseen}",
    "causes": "Likely causes, most likely first",
    "way_not_possible": "{title}: not possible here. {why}",
    "what_to_do": "What to do",
    "others": "{n:counted other error} in the text",
    "other": "line {line}: {name} · {message}",
}
