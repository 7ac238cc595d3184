"""The incident store and uploads: why a link does not open, and what is said when something is kept."""

SENTENCES: dict[str, str] = {
    "off": "No incident store is configured here, so no evidence can be kept in it or opened ({setting}).",
    "no_id": (
        "This is not the name of an evidence file, which is evidence: and {digits} of the characters 0-9"
        " and a-f."
    ),
    "missing": "The incident store has no {name}: it was removed, or it was kept in another store.",
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
    # screens
    "button": "Keep this view",
    "what": (
        "Keeps what this checkpoint shows now in the incident store. The link shows the same when the"
        " checkpoint has changed or is gone. What source and sink said is kept; the link asks neither again."
    ),
    "working": "Taking the evidence ...",
    "link": "This link keeps showing the evidence of {moment:moment}:",
    "compare": "Compare with now",
    "upload": "Open an evidence file",
    "upload_help": 'A zip of "Take evidence". Only you see it, until you close this page.',
    "upload_again": (
        "This evidence file was uploaded in another session; upload it again on the page Checkpoints."
    ),
    "upload_refused": "{name} cannot be opened as an evidence file: {why}.",
    "uploads_off": "This server takes no uploads.",
}
