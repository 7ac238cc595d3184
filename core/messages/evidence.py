"""The evidence file: what is said when one is taken, why one is refused, and why a file is not in it."""

NOT_TAKEN: dict[str, str] = {
    "state_contents": "It is not in the evidence file; take the evidence with --with-state-contents.",
    "foreign": "It is not in the evidence file: Spark writes no such file.",
    "too_large": "It is not in the evidence file: it was larger than is read of such a file.",
    "full": "It is not in the evidence file, which was full (setting evidence_bytes).",
    "not_read": "It could not be read when the evidence was taken.",
}

LEFT_OUT: dict[str, str] = {
    "state_contents": "contents of state: {count:counted file} (--with-state-contents takes them)",
    "foreign": "not written by Spark: {count:counted file}",
    "too_large": "larger than is read of such a file: {count:counted file}",
    "full": "more than an evidence file may hold (setting evidence_bytes): {count:counted file}",
    "not_read": "could not be read: {count:counted file}",
}

SENTENCES: dict[str, str] = {
    # why a file is refused
    "refused": "{location} cannot be opened as an evidence file: {why}.",
    "no_zip": "it is no zip",
    "cut": "its end is missing, or something was added to it",
    "not_ours": (
        "this program did not write it, or it was changed; a zip of the checkpoint itself has to be unpacked"
    ),
    "encrypted": "it is encrypted",
    "link": "it holds a link",
    "name_twice": 'it holds "{name}" twice',
    "name_leads_out": 'it holds "{name}", a name that leads out of it',
    "damaged": '"{name}" in it is damaged',
    "too_large": "it has more than {limit_bytes:size} (setting evidence_bytes)",
    "too_many": "it lists more than {limit:number} files, or directories in too many levels",
    "manifest_large": "its manifest has more than {limit_bytes:size}",
    "manifest_json": "its manifest is none of an evidence file",
    "manifest_version": (
        "its manifest is of a version that this program does not know (it knows {known}); use a newer program"
    ),
    "manifest_values": "its manifest holds values that cannot be",
    "other_members": "it holds other files than its manifest says",
    "other_content": '"{path}" in it is not what its manifest says',
    # taking one
    "help_to": "the file to write, ending in .zip; never inside the checkpoint",
    "help_contents": "the contents of the state files too: keys and values of the state are in them",
    "help_overwrite": "write over an existing file",
    "to_ending": "--to takes a file on this machine that ends in {ending}, not {path}.",
    "to_inside": "{path} lies inside the checkpoint, where nothing is ever written; choose another place.",
    "to_exists": "{path} exists already; choose another name, or write over it with --overwrite.",
    "to_not_written": "{path} cannot be written ({reason}).",
    "of_evidence": "{location} is an evidence file already; copy the file.",
    "taken": (
        "Evidence of {moment:moment}: {taken:number} of {listed:counted file} with contents"
        " ({size_bytes:size}), all others by name, size and time."
    ),
    "written": "{path}: {size_bytes:size}",
    "sha256": "SHA-256: {sha256}",
    "left_out": "Without contents:",
    "title": "Save evidence",
    "what": (
        "One zip that keeps what this checkpoint shows now: names, sizes and times of all files, the logs,"
        " schemas and metadata, and what was judged; no rows of the state, no credentials. It opens here and"
        " on the command line in place of the checkpoint, also when Spark has purged these batches."
    ),
    "button": "Download the evidence file",
    "put_away": "This page was not looked at for long; reload it, then take the evidence.",
    "is_evidence": "Evidence of {moment:moment}, of {location}.",
    "said_then": "What source and sink said when the evidence was taken",
    "asked_now": "They are not asked again for evidence unless you give their places below.",
    "contents_then": (
        "the contents of the state files, which are not in the evidence (what they showed when it was taken"
        " is said again)"
    ),
    "now_gone": "Removed by the query while the evidence was taken: {count:counted file}.",
    "no_secrets": "Credentials and storage options are not in it. The logs are, as Spark wrote them.",
}
