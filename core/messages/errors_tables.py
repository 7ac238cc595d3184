"""What the errors of Delta tables and Iceberg tables mean, as source and as sink."""

from __future__ import annotations

from core.messages.error_text import ErrorText

_TABLE = "What the log of the table has today is not in the checkpoint."


def _conflict(means: str) -> ErrorText:
    """Another job changed the target table at the same time."""
    return ErrorText(
        means,
        ("Another job writes to, compacts or deletes from the table at the same time.",),
        action=(
            "Restart the query: the pending batch is re-run. Let maintenance run at other times, or retry"
            " inside foreachBatch."
        ),
        unseen="Who writes to the sink is not in the checkpoint.",
    )


TEXTS: dict[str, ErrorText] = {
    "DELTA_MISSING_FILES_UNEXPECTED_VERSION": ErrorText(
        "The log of the source table begins after the version that Spark asks for. At every start it asks for"
        " the range of the newest batch again, so the log is needed from the version in the offset file"
        " before the newest.",
        (
            (
                "The retention of the table's log (delta.logRetentionDuration) removed the versions while the"
                " query was down."
            ),
        ),
        action=(
            "Start the query with a new checkpoint location (reset): it can begin exactly at a version"
            " that is still in the log. If versions after the position are gone too, decide whether their"
            " rows are needed, and take them from the table by a batch read."
        ),
        unseen=_TABLE,
    ),
    "DELTA_STREAMING_TRAILING_COMMIT_MISSING": ErrorText(
        "The end of the range that Spark asks for is not in the log of the source table. failOnDataLoss=false"
        " does not help here.",
        (
            "The log was cleaned past the position.",
            (
                "The source is an older copy of the table. When new commits have filled the versions up, the"
                " error goes away and they are never read."
            ),
        ),
        action=(
            "Make sure which table it is. If the log was cleaned, start the query with a new checkpoint"
            " location at a version that is still in the log (reset), and take the rows before it by a"
            " batch read."
        ),
        unseen=_TABLE,
    ),
    "DELTA_VERSION_NOT_FOUND": ErrorText(
        "The version that the query asks for is not in the log of the table.",
        (
            (
                "startingVersion is the latest version + 1, as a caught-up checkpoint says: it does not exist"
                " yet."
            ),
            "startingVersion is below the oldest version in the log.",
            "Only batch 0 exists and its first version was cleaned.",
        ),
        action=(
            "A new checkpoint: wait for the next commit of the table. Below the oldest version: take the"
            " oldest, and the rest by a batch read."
        ),
        unseen=_TABLE,
    ),
    "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE": ErrorText(
        "A version of the source table that the query needs cannot be rebuilt from its log. Its advice to"
        " delete the checkpoint would read the whole table again. failOnDataLoss=false does not help here.",
        ("The log was cleaned while the query was inside the first snapshot, or before its first batch.",),
        action=(
            "Start the query with a new checkpoint location at the oldest version in the log, and take the"
            " rows before it by a batch read; or refresh the target."
        ),
        unseen=_TABLE,
    ),
    "DELTA_LOG_FILE_NOT_FOUND": ErrorText(
        "A version of the table cannot be rebuilt from its log.",
        (
            "The log was cleaned.",
            "Files of the log were deleted by hand.",
        ),
        action="Paste the whole stack trace: the error around this one says which read of the table failed.",
        unseen=_TABLE,
    ),
    "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE": ErrorText(
        "The table at the source's path has another id than the one in the checkpoint: it is another table,"
        " even if it has the same name.",
        (
            "The table was dropped and recreated, or replaced (CREATE OR REPLACE TABLE).",
            "The query reads another path.",
        ),
        action=(
            "If the path is wrong, correct it. If the table is new: start the query with a new checkpoint"
            " location, and decide whether its rows are already in the target."
        ),
        unseen=_TABLE,
    ),
    "DELTA_SCHEMA_NOT_SET": ErrorText(
        "There is no Delta table at the path.",
        ("The table was dropped or moved, or the path is wrong.",),
        action="Correct the path. A table that was recreated has another id and needs a new checkpoint.",
        unseen=_TABLE,
    ),
    "DELTA_VERSIONS_NOT_CONTIGUOUS": ErrorText(
        "A version in the middle of the table's log is missing. The table itself cannot be read.",
        ("A file of _delta_log was deleted.",),
        action="Restore the file of the log. The checkpoint needs nothing.",
        unseen=_TABLE,
    ),
    "DELTA_TRUNCATED_TRANSACTION_LOG": ErrorText(
        "The log of the table has no complete log checkpoint for the oldest version that is left, so the"
        " table itself cannot be read.",
        ("Files of _delta_log were deleted by hand.",),
        action="Restore the files of the log. The checkpoint needs nothing.",
        unseen=_TABLE,
    ),
    "DELTA_TABLE_NOT_FOUND": ErrorText(
        "There is no Delta table of this name or at this path.",
        ("The table was dropped or moved, or the name is wrong.",),
        action=(
            "Correct the name or path. A table that was recreated has another id and needs a new checkpoint."
        ),
        unseen=_TABLE,
    ),
    "DELTA_PATH_DOES_NOT_EXIST": ErrorText(
        "There is nothing at the path of the Delta table.",
        ("The table was dropped or moved, or the path is wrong.",),
        action="Correct the path. A table that was recreated has another id and needs a new checkpoint.",
        unseen=_TABLE,
    ),
    "DELTA_SOURCE_TABLE_IGNORE_CHANGES": ErrorText(
        "Rows of the source table were changed (UPDATE, MERGE, DELETE, overwrite), and a stream reads only"
        " what is added.",
        ("Someone changed or overwrote data in the table.",),
        action=(
            "Set skipChangeCommits=true to leave such commits out (their new rows are not read), or read the"
            " change data feed in a new checkpoint."
        ),
        unseen=_TABLE,
    ),
    "DELTA_SOURCE_IGNORE_DELETE": ErrorText(
        "Data of the source table were deleted, and a stream reads only what is added.",
        ("Someone deleted data, a partition for example.",),
        action="Set ignoreDeletes=true or skipChangeCommits=true and restart the query.",
        unseen=_TABLE,
    ),
    "DELTA_STREAMING_METADATA_EVOLUTION": ErrorText(
        "The schema of the source table changed and was noted. This stop is by design: a pending batch at"
        " index -19 holds no rows.",
        ("A column was added, or a property of the table changed.",),
        action="Restart the query: the query resumes with the new schema.",
    ),
    "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION": ErrorText(
        "A column of the source table was renamed, dropped or retyped. Every start stops until someone has"
        " allowed it.",
        ("The table was changed with column mapping.",),
        action=(
            "Check the query against the new columns, then set the option that the message names"
            " (allowSourceColumnRename, ...Drop, ...TypeChange) and start."
        ),
        unseen=_TABLE,
    ),
    "DELTA_SCHEMA_CHANGED": ErrorText(
        "The schema of the source table changed while the query ran.",
        ("A column was added.",),
        action="Restart the query: an added column is accepted.",
        unseen=_TABLE,
    ),
    "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE": ErrorText(
        "A column of the source table was renamed, dropped or retyped, which a stream without schema tracking"
        " cannot follow.",
        ("The table was changed with column mapping.",),
        action=(
            "Set schemaTrackingLocation below the checkpoint and restart the query, or start the query with a"
            " new checkpoint location."
        ),
        unseen=_TABLE,
    ),
    "DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT": ErrorText(
        "schemaTrackingLocation must lie below the checkpoint directory.",
        ("The checkpoint was moved, or another checkpoint is used.",),
        action="Set schemaTrackingLocation to a directory below this checkpoint.",
    ),
    "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT": ErrorText(
        "Two sources use the same schemaTrackingLocation.",
        ("The option was copied.",),
        action="Give each source its own.",
        unseen=_TABLE,
    ),
    "DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED": ErrorText(
        "The schema log of a Delta source is cut or damaged.",
        ("The disk was full, or the machine died, while it was written.",),
        action="Restore the file from a backup, or use a new schemaTrackingLocation.",
        unseen=_TABLE,
    ),
    "DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID": ErrorText(
        "The schema log of a Delta source belongs to another table.",
        (
            "The table was dropped and recreated.",
            "The location is used by another query.",
        ),
        action="Use a new schemaTrackingLocation; a new table needs a new checkpoint too.",
        unseen=_TABLE,
    ),
    "DELTA_METADATA_PATH_MOVED": ErrorText(
        "A Delta source with schema tracking remembers the full path of the checkpoint, and this is another"
        " one: the checkpoint was copied or moved.",
        ("The checkpoint directory was moved, copied or restored elsewhere.",),
        action=(
            "Start the query with the checkpoint at its old place, or use backup or restore_backup to"
            " move it: their scripts give the copy its own paths, and the query then resumes exactly."
        ),
    ),
    "DELTA_INVALID_SOURCE_OFFSET_FORMAT": ErrorText(
        "An offset in the checkpoint is not an offset of a Delta source.",
        (
            "The type of the source was changed.",
            "Someone edited the offset file.",
        ),
        action="Put the sources back as they were, or start the query with a new checkpoint location.",
        unseen=_TABLE,
    ),
    "DELTA_TIMESTAMP_GREATER_THAN_COMMIT": ErrorText(
        "startingTimestamp is after the last commit of the table.",
        ("Nothing was written since.",),
        action="Wait for the next commit or give an earlier time.",
        unseen=_TABLE,
    ),
    "DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET": ErrorText(
        "startingVersion and startingTimestamp exclude each other.",
        ("Both are set.",),
        action="Remove one of them.",
    ),
    "DELTA_METADATA_MISMATCH": ErrorText(
        "The rows do not fit the schema of the Delta table that is written. The batch stays pending with its"
        " plan.",
        (
            "A column was added in the source or in the query.",
            "Types or partitioning of the table changed.",
        ),
        action=(
            "Set mergeSchema=true on the sink, or change the query or the table; then restart the query: the"
            " same batch is written."
        ),
        unseen="The schema of the sink is not in the checkpoint.",
    ),
    "DELTA_CONCURRENT_APPEND": _conflict(
        "Another job added rows to what this batch read in the target table."
    ),
    "DELTA_CONCURRENT_DELETE_READ": _conflict(
        "Another job deleted files that this batch read in the target table."
    ),
    "DELTA_CONCURRENT_DELETE_DELETE": _conflict(
        "Another job deleted the same files of the target table as this batch."
    ),
    "DELTA_CONCURRENT_WRITE": _conflict("Another job wrote to the target table at the same time."),
    "DELTA_METADATA_CHANGED": _conflict(
        "The schema or a property of the target table was changed at the same time."
    ),
    "DELTA_PROTOCOL_CHANGED": _conflict("The protocol of the target table was changed at the same time."),
    "DELTA_CONCURRENT_TRANSACTION": ErrorText(
        "A second query writes to the table with the same query id or txnAppId.",
        (
            "The same checkpoint, or a copy with the same metadata, is started twice.",
            "Two queries share a txnAppId.",
        ),
        action="Stop one of them. Two queries need two checkpoints with two ids.",
        unseen="Which queries run is not in the files.",
    ),
    "ICEBERG_SNAPSHOT_EXPIRED": ErrorText(
        "The snapshot that the query is at, or the one it began with, was removed from the Iceberg table.",
        (
            "expire_snapshots removed it while the query was down.",
            "trigger availableNow asks for the first snapshot (sources/<n>/offsets/0) at every start.",
        ),
        action=(
            "If only the first snapshot is gone, start with a processing-time trigger. Else start the query"
            " with a new checkpoint location and stream-from-timestamp."
        ),
        unseen=_TABLE,
    ),
    "ICEBERG_OVERWRITE": ErrorText(
        "Rows of the Iceberg table were rewritten or deleted, and a stream reads only what is added.",
        ("DELETE, MERGE or an overwrite on the source table.",),
        action=(
            "Set streaming-skip-overwrite-snapshots=true (and streaming-skip-delete-snapshots=true) and"
            " restart the query: rewritten rows are not read."
        ),
        unseen=_TABLE,
    ),
}
