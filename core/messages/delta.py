"""What the log of a Delta table shows: problems of its files, and a Delta source against it."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # the log itself
    "no_log": "No Delta table at {url}: _delta_log is not there; give the directory of the table.",
    "no_commit": "No Delta table at {url}: _delta_log has no commit in it; give the directory of the table.",
    "file_problem": "{url}/{path} {clause}.",
    "checksum_not_json": "is not valid JSON; the commits are read instead",
    "checkpoint_too_large": (
        "and its parts have {size_bytes:number} bytes and were not read (setting log_checkpoint_bytes)"
    ),
    "removed_while_read": "was removed while the log was read",
    "not_parquet": "is not a readable parquet file ({reason})",
    "line_not_json": "line {line} is not valid JSON",
    "line_not_action": "line {line} is not a Delta action",
    "transactions_of_newest_only": (
        "Only the newest {limit} of {total} commits of {url} were read for its transactions (setting"
        " table_versions)."
    ),
    "newest_versions_only": (
        "Only the newest {limit:number} of {total:number} versions were read (setting table_versions)."
    ),
    "files_not_counted": (
        "more than {limit:number} versions, so their files were not counted (setting table_versions)"
    ),
    "version_not_read": "version {version} could not be read",
    "no_row_numbers": "the log keeps no row numbers for some files",
    "newest_files_not_known": "the files of the newest version could not be determined from the log",
    "snapshot_files_not_known": (
        "more than the log shows: the files of the first snapshot cannot be determined from it"
    ),
    "log_cleanup_off": "kept: the removal of old log files is off (delta.enableExpiredLogCleanup=false)",
    "log_retention": "{length} (delta.logRetentionDuration)",
    "log_retention_default": "{length} (Delta's default)",
    # a source against the log
    "no_offset": (
        "The checkpoint has no Delta offset of this source that can be read; the table at {url} is at"
        " version {newest}."
    ),
    "other_table": (
        "The table at {url} is another one than the query read: its id is {table_id}, and the offsets have"
        " {read_id} (recreated, replaced, or another directory). The restart fails."
    ),
    "table_older": (
        "The query has read up to version {read}, and the table ends at version {newest}: an older copy of"
        " the table, or one that was rolled back. Once new commits take these version numbers again, their"
        " rows are never read, and no error is raised."
    ),
    "log_begins_later": (
        "The restart needs the log from version {needed} on (the position before the newest batch), and the"
        " log begins at version {oldest}."
    ),
    "log_has_no_run": (
        "The restart needs the log from version {needed} on (the position before the newest batch), and the"
        " log has no unbroken run of commits."
    ),
    "position_not_read": "The position in the table is not known: {reason}.",
    "nothing_committed": "No batch is committed yet; the log spans version {oldest} to {newest}.",
    "caught_up": "The query has read everything up to version {newest}, the newest.",
    "behind": "The query is {versions:counted version} behind ({span}).",
    "behind_by_files": "The query is {versions:counted version} behind ({span}): {files:counted file}.",
    "behind_by_rows": (
        "The query is {versions:counted version} behind ({span}): {files:counted file}, {rows:counted row}."
    ),
}
