"""The incident store and uploads: why a link does not open, and what is said when something is kept."""

COLUMNS: dict[str, str] = {
    "moment": "as of",
    "checkpoint": "checkpoint",
    "next_start": "next start",
    "opens_as": "opens as",
}

SENTENCES: dict[str, str] = {
    "off": "No incident store is configured here, so no evidence can be kept in it or opened ({setting}).",
    "no_id": (
        "This is not the name of an evidence file, which is evidence: and {digits} of the characters 0-9"
        " and a-f."
    ),
    "missing": "The incident store has no {name}: it was removed, or it was kept in another store.",
    "other_bytes": "its bytes are not those that were kept: the checksum differs",
    "changed": "The file {name} in the incident store is not the one that was kept: its checksum differs.",
    "not_written": "The evidence could not be written to the incident store: {reason}.",
    "inside": (
        "The incident store lies inside {place}, where nothing is ever written; choose a folder of its own"
        " (setting {setting})."
    ),
    "no_folder": "The folder of the incident store does not exist; create it (setting {setting}).",
    "full": (
        "The incident store holds {used_bytes:size} and may hold {limit_bytes:size} (setting {setting}), too"
        " little for another {size_bytes:size}; remove files that nobody needs."
    ),
    # the command line
    "help_to_store": "keep it in the incident store of the settings, where links can name it",
    "kept": "{name}: {size_bytes:size}, kept in the incident store",
    "opens": "Opens with: python -m core forecast {name}",
    "listed": "{n} of {total:counted evidence file} in {store}, newest first:",
    "listed_none": "No evidence file in {store}.",
    "listed_none_of": "None of {total:counted evidence file} in {store} is of {of}.",
    "not_listed": "The incident store is not listed here (setting {setting}); who has a name can open it.",
    "not_looked_into": "too large to be looked into for a list; it opens as usual",
    "not_read": "could not be read: {reason}",
    "refused": "cannot be opened as an evidence file: {why}",
    # screens
    "title": "Incidents",
    "count": (
        "{total:counted evidence file} in the incident store, newest first. Click a row to open the"
        " checkpoint as it was then."
    ),
    "count_newest": (
        "The newest {shown} of {total:counted evidence file} in the incident store. Click a row to open the"
        " checkpoint as it was then."
    ),
    "list_alt": "{n:counted evidence file} in the incident store, newest first.",
    "listing": "Listing the incident store ...",
    "empty": "The incident store has no evidence file yet.",
    "empty_what": "Keep this view, under Copy link of every page, adds one.",
    "no_list": "No incident store is listed here.",
    "to_list": "All incidents",
    "problem": "{name}: {why}",
    "button": "Keep this view",
    "what": (
        "Keeps what this checkpoint shows now in the incident store. The link shows the same when the"
        " checkpoint has changed or is gone. What source and sink said is kept; the link asks neither again."
    ),
    "working": "Taking the evidence ...",
    "link": "This link keeps showing the evidence of {moment:moment}:",
    "read_again": (
        "It was read again at {moment:clock}: the newest batch is {now} there, and was {before} on this page"
        " before."
    ),
    "compare": "Compare with now",
    "upload": "Open an evidence file",
    "upload_help": 'A zip of "Save evidence". Only you see it, until you close this page.',
    "upload_again": (
        "This evidence file was uploaded in another session; upload it again on the page Checkpoints."
    ),
    "upload_refused": "{name} cannot be opened as an evidence file: {why}.",
    "uploads_off": "This server takes no uploads.",
}
