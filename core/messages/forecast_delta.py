"""What the next start makes of a Delta source, with the table's log read: risks, failures and what
follows."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # what was not checked
    "whether_files_are_there": (
        "whether the data files that batch {n} reads of source {key} are still there (VACUUM)"
    ),
    "whether_missing_files_are_passed": (
        "whether spark.sql.files.ignoreMissingFiles is set for source {key}: then the batch is committed"
        " without the rows of the missing files"
    ),
    "files_gone": (
        "{files:counted data file} that source {key} still has to read {files:one is/are} gone from the table"
        " at {url} (for example {file}): VACUUM deletes what a later version has removed"
    ),
    "later_batch_fails": "A batch after it fails, behind {files:counted file}: {why}.",
    "start_option_decides": (
        "today's startingVersion of source {key}: batch 0 is not committed and begins where that option says"
    ),
    "start_option_may_fail": (
        "today's startingVersion of source {key}: a number below {oldest}, where its log begins, fails at"
        " the start"
    ),
    "waiting_commits_not_read": ("the older of the commits that wait in source {key} ({limit})"),
    "whether_change_passes": (
        "whether source {key} lets version {version} ({operation}) pass, which removes rows; it let version"
        " {passed} pass, so an option such as skipChangeCommits is set"
    ),
    # the table cannot be read
    "log_gap": (
        "{missing} {count:one is/are} missing in the middle of the log of {url}, so the table of source"
        " {key} cannot be read at all"
    ),
    "log_truncated": (
        "the log of {url} begins at version {oldest} and has no complete log checkpoint, so the table of"
        " source {key} cannot be read at all"
    ),
    "other_table": (
        "the table at {url} has the id {table_id}, and {at} was read from {read_id}: the table was dropped"
        " and created again, or replaced, or it is another one"
    ),
    "schema_change": (
        "version {version} of the table of source {key} is {operation}, which a stream that is before it"
        " cannot follow without schemaTrackingLocation"
    ),
    "open_columns": (
        "whether the query hands on columns that {url} has not ({columns:listed 3}): version {version}"
        " changed the schema of the table of source {key}, and without mergeSchema a batch fails with"
        " DELTA_METADATA_MISMATCH"
    ),
    # the range of a batch
    "source_version": (
        "the offset of source {key} in {at} has sourceVersion {version}, which no Delta release has written"
        " (0: there is none)"
    ),
    "source_version_index": (
        "the offset of source {key} in {at} has sourceVersion 3, which belongs to a change of the table's"
        " schema, with index -1, which does not"
    ),
    "offset_field": "the offset of source {key} in {at} has {value} as {field}, which Delta does not read",
    "offset_no_object": "the offset of source {key} in {at} is {value} and no JSON object",
    "offset_without_table": (
        "the offset of source {key} in {at} has no reservoirId, the id of the table that it was read from"
    ),
    "filled_in": (
        "The offset of source {key} in {at} has no whole number as {fields}. Delta fills that in and"
        " continues at version {version}, index {index}; which rows were read is not known, so they may be"
        " read again or passed over. Delta does not write this; the file was edited."
    ),
    "back_in_snapshot": (
        "The offset of source {key} in {at} means that the first snapshot (version {version}) is being read,"
        " while the one before it had left it: the whole snapshot is read again. Spark does not write this;"
        " the file was edited."
    ),
    "start_gone": (
        "source {key} starts at version {first} (startingVersion), and the log of {url} begins at version"
        " {oldest}"
    ),
    "first_snapshot_gone": (
        "batch 0 of source {key} begins with the table as of version {version}, which the log of {url} (from"
        " version {oldest} on) can no longer rebuild"
    ),
    "first_snapshot_gone_without_option": (
        "batch 0 of source {key} begins with the table as of version {version}, which the log of {url} (from"
        " version {oldest} on) can no longer rebuild; a startingVersion in the code that is still in the log"
        " would avoid this"
    ),
    "snapshot_gone": (
        "source {key} is inside its first snapshot, the table as of version {version}, which the log of"
        " {url} (from version {oldest} on) can no longer rebuild; failOnDataLoss=false does not help"
    ),
    "range_cleaned": (
        "Spark asks for the range of batch {n} again, and the log of {url} has no version {first} any more"
        " (the next one is {next_one}): removed by the log's retention or by hand"
    ),
    "next_range_cleaned": (
        "source {key} resumes at version {version}, and the log of {url} has no version {first} any more"
        " (the next one is {next_one}): removed by the log's retention or by hand"
    ),
    "range_beyond_table": (
        "{at} needs versions up to {last}, and the table at {url} ends at version {newest}: an older copy of"
        " the table, or one that was rolled back"
    ),
    "end_of_range_gone": (
        "the log of {url} begins at version {oldest}, so the end of the range of batch {n} ({versions}) is"
        " gone too; failOnDataLoss=false does not help"
    ),
    "batch_after_fails": "The batch after it fails: {why}.",
    # rows that are never read
    "rows_skipped_by_batch": (
        "{versions:capital} of the table of source {key} {count:one is/are} gone from its log: with"
        " failOnDataLoss=false batch {n} runs without {count:one it/them}, and the rows are never read."
    ),
    "rows_skipped_by_query": (
        "{versions:capital} of the table of source {key} {count:one is/are} gone from its log: with"
        " failOnDataLoss=false the query resumes at version {next_one}, and the rows are never read."
    ),
    "table_older": (
        "{at} is before version {version}, and the table at {url} ends at version {newest}: an older copy,"
        " or one that was rolled back. What is committed as version {first} to {last} from now on is never"
        " read."
    ),
    "table_refilled": (
        "Version {version} of the table of source {key} was written after batch {n}, which has read it: the"
        " table was rolled back, and new commits have taken version numbers that were already read. Their"
        " rows are never read, and no error is raised."
    ),
    "close_in_time": (
        "whether the table of source {key} was rolled back and its versions taken again: version {version}"
        " was written {later_ms:duration} after batch {n}, which counts it as read; clocks that differ, or an"
        " edited offset, explain it as well"
    ),
    "index_beyond": (
        "{at} has the file index {index} in version {version}, which has {files:counted file}: Delta takes"
        " the whole version as read. Rows of it that were not read are never read; Spark does not write such"
        " an index."
    ),
    # commits that remove rows
    "deletes_wait": (
        "version {version} of the table of source {key} ({operation}) deletes rows, and a stream that reads"
        " only added files fails there, unless the query sets ignoreDeletes or skipChangeCommits"
    ),
    "changes_wait": (
        "version {version} of the table of source {key} ({operation}) changes rows, and a stream that reads"
        " only added files fails there, unless the query sets skipChangeCommits or ignoreChanges"
    ),
    "after_files_before_it": (
        "{why} (the {files:counted file} added before it {files:one is/are} read first if a batch is limited)"
    ),
}
