"""What is wrong with a log file of Spark. Most entries are clauses that follow the name of the file."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "problem": "{evidence} {clause}.",
    # The file as a whole.
    "unreadable": "could not be read: {reason}",
    "not_read": "{path} could not be read: {reason}",
    "removed": "was removed while the log was read",
    "too_large": (
        "has {size_bytes:,} bytes, more than the {limit_bytes:,} bytes that are read of such a file, and"
        " was not read"
    ),
    "state_file_too_large": (
        "It has {size_bytes:,} bytes, more than the {limit_bytes:,} bytes that are read of a state file"
        " (setting state_file_bytes)."
    ),
    "not_text": "is not UTF-8 text (byte {byte} cannot be decoded)",
    "empty": "is empty (0 bytes): the write was interrupted",
    "blank": "contains only white space: the write was interrupted",
    "no_version": "does not begin with a version line (v1)",
    "unknown_version": (
        "has format version {version}; versions 1 to {newest} are known (Spark 4.3), so it is not interpreted"
    ),
    "unknown_version_of_one": (
        "has format version {version}; only version 1 is known (Spark 4.3), so it is not interpreted"
    ),
    "not_an_id": (
        "has leading zeros: Spark counts it as batch {batch_id} and then looks for a file called {batch_id}"
    ),
    # JSON in it.
    "json_truncated": "ends in the middle (after {characters:counted character})",
    "json_invalid": "is not valid JSON ({error} at character {character})",
    "json_too_deep": "is not valid JSON (nested too deeply or a number too long)",
    "json_no_object": "is a JSON {type}, not an object",
    # metadata
    "no_query_id": 'has no "id" with the query id',
    "query_id_no_uuid": "has a query id that is not a UUID; Spark does not start with it",
    # Offset log.
    "offset_only_version": "ends after its version line: metadata and offsets are missing",
    "offset_no_metadata": "is empty, but version 2 requires metadata here",
    "offset_no_sources": "ends after its metadata line: it has no line for any source",
    "offset_no_name": 'does not begin with "<source name>:"',
    "offset_name_twice": "names the source {key} a second time",
    "empty_line": "has an empty line",
    "not_a_time": "has {field} that is not a number",
    "source_offset": "(the offset of source {key}) {clause}",
    "source_offset_empty": "(the offset of source {key}) is empty",
    # Commit log.
    "commit_ids": 'has "stateUniqueIds" that are not operator -> partitions -> ids',
    # Logs of file source and file sink.
    "no_file_entry": "is not a file entry ({fields:listed} expected)",
    # The first offset of a source.
    "initial_only_version": "ends after its version line",
    "initial_offset": "(the initial offset of the source) {clause}",
    "json_not_object": "is a JSON {kind}, not an object",
}
