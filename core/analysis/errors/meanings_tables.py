"""What the errors of Delta tables and Iceberg tables mean, as source and as sink."""

from __future__ import annotations

from collections.abc import Mapping

from core.analysis.errors.model import Meaning, RecoveryOption

_TABLE = "What the log of the table holds today is not in the checkpoint."
_NO_HELP = " failOnDataLoss=false does not help here."
_RESTART: tuple[RecoveryOption, ...] = ("restart",)


def _delta(
    what: str,
    reasons: tuple[str, ...],
    action: str,
    options: tuple[RecoveryOption, ...] = ("reset", "full_refresh"),
    unseen: str = _TABLE,
) -> Meaning:
    return Meaning(what, reasons, action, options, look=("delta", "pending"), unseen=unseen)


def _conflict(what: str) -> Meaning:
    return Meaning(
        what,
        ("Another job writes to, compacts or deletes from the table at the same time.",),
        "Start again: the batch is pending and runs again. Let maintenance run at other times, or retry"
        " inside foreachBatch.",
        _RESTART,
        look=("pending",),
        unseen="Who writes to the sink is not in the checkpoint.",
    )


TABLES: Mapping[str, Meaning] = {
    "DELTA_MISSING_FILES_UNEXPECTED_VERSION": _delta(
        "The log of the source table begins after the version that Spark asks for. At every start it asks for"
        " the range of the newest batch again, so the log is needed from the version in the offset file"
        " before the newest.",
        (
            (
                "The retention of the table's log (delta.logRetentionDuration) removed the versions while the"
                " query was down."
            ),
        ),
        "When the newest batch is committed: put the source's line of the newest offset file into the one"
        " before it and remove that file's .crc; Spark then asks for nothing at the start. If versions behind"
        " that position are gone too, start once with failOnDataLoss=false, and take the rows of the missing"
        " versions from the table by a batch read.",
        ("repair", "reset", "backup_and_backfill"),
    ),
    "DELTA_STREAMING_TRAILING_COMMIT_MISSING": _delta(
        "The end of the range that Spark asks for is not in the log of the source table." + _NO_HELP,
        (
            "The log was cleaned past the position.",
            (
                "The source is an older copy of the table. When new commits have filled the versions up, the"
                " error goes away and they are never read."
            ),
        ),
        "Make sure which table it is. If the log was cleaned and the newest batch is committed: put the"
        " source's line of the newest offset file into the one before it, remove that file's .crc, then start"
        " with failOnDataLoss=false.",
        ("repair", "reset", "backup_and_backfill"),
    ),
    "DELTA_VERSION_NOT_FOUND": _delta(
        "The version that the query asks for is not in the log of the table.",
        (
            (
                "startingVersion is the latest version + 1, as a caught-up checkpoint says: it does not exist"
                " yet."
            ),
            "startingVersion is below the oldest version in the log.",
            "Only batch 0 exists and its first version was cleaned.",
        ),
        "A new checkpoint: wait for the next commit, or write the old offset into the new checkpoint twice"
        " instead of startingVersion. Below the oldest version: take the oldest, and the rest by a batch"
        " read.",
        ("reset",),
    ),
    "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE": _delta(
        "A version of the source table that the query needs cannot be rebuilt from its log. Its advice to"
        " delete the checkpoint would read the whole table again." + _NO_HELP,
        ("The log was cleaned while the query was inside the first snapshot, or before its first batch.",),
        "Begin a new checkpoint at the oldest version in the log, and take the rows before it by a batch"
        " read; or refresh the target.",
        ("backup_and_backfill", "full_refresh"),
    ),
    "DELTA_LOG_FILE_NOT_FOUND": _delta(
        "A version of the table cannot be rebuilt from its log.",
        ("The log was cleaned.", "Files of the log were deleted by hand."),
        "See the error around it.",
        ("reset", "full_refresh"),
    ),
    "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE": _delta(
        "The table at the source's path has another id than the one in the checkpoint: it is another table,"
        " even if it has the same name.",
        (
            "The table was dropped and created again, or replaced (CREATE OR REPLACE TABLE).",
            "The query reads another path.",
        ),
        "If the path is wrong, correct it. If the table is new: begin a new checkpoint, and decide whether"
        " its rows are already in the target.",
        ("change_query", "reset", "full_refresh"),
    ),
    "DELTA_SCHEMA_NOT_SET": _delta(
        "There is no Delta table at the path.",
        ("The table was dropped or moved, or the path is wrong.",),
        "Correct the path. A table that was created again has another id and needs a new checkpoint.",
        ("change_query", "reset"),
    ),
    "DELTA_VERSIONS_NOT_CONTIGUOUS": _delta(
        "A version in the middle of the table's log is missing. The table itself cannot be read.",
        ("A file of _delta_log was deleted.",),
        "Restore the file of the log. The checkpoint needs nothing.",
        ("restore",),
    ),
    "DELTA_TRUNCATED_TRANSACTION_LOG": _delta(
        "The log of the table has no complete log checkpoint for the oldest version that is left, so the"
        " table itself cannot be read.",
        ("Files of _delta_log were deleted by hand.",),
        "Restore the files of the log. The checkpoint needs nothing.",
        ("restore",),
    ),
    "DELTA_TABLE_NOT_FOUND": _delta(
        "There is no Delta table of this name or at this path.",
        ("The table was dropped or moved, or the name is wrong.",),
        "Correct the name or path. A table that was created again has another id and needs a new checkpoint.",
        ("change_query", "reset"),
    ),
    "DELTA_PATH_DOES_NOT_EXIST": _delta(
        "There is nothing at the path of the Delta table.",
        ("The table was dropped or moved, or the path is wrong.",),
        "Correct the path. A table that was created again has another id and needs a new checkpoint.",
        ("change_query", "reset"),
    ),
    "DELTA_SOURCE_TABLE_IGNORE_CHANGES": _delta(
        "Rows of the source table were changed (UPDATE, MERGE, DELETE, overwrite), and a stream reads only"
        " what is added.",
        ("Somebody changed or overwrote data in the table.",),
        "Set skipChangeCommits=true to leave such commits out (their new rows are not read), or read the"
        " change data feed in a new checkpoint.",
        ("change_query", "full_refresh"),
    ),
    "DELTA_SOURCE_IGNORE_DELETE": _delta(
        "Data of the source table were deleted, and a stream reads only what is added.",
        ("Somebody deleted data, a partition for example.",),
        "Set ignoreDeletes=true or skipChangeCommits=true and start again.",
        ("change_query",),
    ),
    "DELTA_STREAMING_METADATA_EVOLUTION": _delta(
        "The schema of the source table changed and was noted. This stop is by design: a pending batch at"
        " index -19 holds no rows.",
        ("A column was added, or a property of the table changed.",),
        "Start again: the query goes on with the new schema.",
        _RESTART,
        unseen="",
    ),
    "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION": _delta(
        "A column of the source table was renamed, dropped or retyped. Every start stops until somebody has"
        " allowed it.",
        ("The table was changed with column mapping.",),
        "Check the query against the new columns, then set the option that the message names"
        " (allowSourceColumnRename, ...Drop, ...TypeChange) and start.",
        ("change_query", "restart"),
    ),
    "DELTA_SCHEMA_CHANGED": _delta(
        "The schema of the source table changed while the query ran.",
        ("A column was added.",),
        "Start again: an added column is accepted.",
        _RESTART,
    ),
    "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE": _delta(
        "A column of the source table was renamed, dropped or retyped, which a stream without schema tracking"
        " cannot follow.",
        ("The table was changed with column mapping.",),
        "Set schemaTrackingLocation below the checkpoint and start again, or begin a new checkpoint.",
        ("change_query", "reset"),
    ),
    "DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT": _delta(
        "schemaTrackingLocation must lie below the checkpoint directory.",
        ("The checkpoint was moved, or another checkpoint is used.",),
        "Set schemaTrackingLocation to a directory below this checkpoint.",
        ("change_query",),
        unseen="",
    ),
    "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT": _delta(
        "Two sources use the same schemaTrackingLocation.",
        ("The option was copied.",),
        "Give each source its own.",
        ("change_query",),
    ),
    "DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED": _delta(
        "The schema log of a Delta source is cut or damaged.",
        ("The disk was full, or the machine died, while it was written.",),
        "Restore the file from a backup, or use a new schemaTrackingLocation.",
        ("restore", "repair"),
    ),
    "DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID": _delta(
        "The schema log of a Delta source belongs to another table.",
        ("The table was dropped and created again.", "The location is used by another query."),
        "Use a new schemaTrackingLocation; a new table needs a new checkpoint too.",
        ("reset",),
    ),
    "DELTA_METADATA_PATH_MOVED": _delta(
        "A Delta source with schema tracking remembers the full path of the checkpoint, and this is another"
        " one: the checkpoint was copied or moved.",
        ("The checkpoint directory was moved, copied or restored elsewhere.",),
        "Replace the old path by the new one in every _schema_log_<table>/<n> of the checkpoint, and delete"
        " their .crc files: the query then goes on exactly.",
        ("repair",),
        unseen="",
    ),
    "DELTA_INVALID_SOURCE_OFFSET_FORMAT": _delta(
        "An offset in the checkpoint is no offset of a Delta source.",
        ("The type of the source was changed.", "Somebody edited the offset file."),
        "Put the sources back as they were, or begin a new checkpoint.",
        ("change_query", "restore", "reset"),
    ),
    "DELTA_TIMESTAMP_GREATER_THAN_COMMIT": _delta(
        "startingTimestamp is after the last commit of the table.",
        ("Nothing was written since.",),
        "Wait for the next commit or give an earlier time.",
        ("change_query",),
    ),
    "DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET": _delta(
        "startingVersion and startingTimestamp exclude each other.",
        ("Both are set.",),
        "Remove one of them.",
        ("change_query",),
        unseen="",
    ),
    "DELTA_METADATA_MISMATCH": Meaning(
        "The rows do not fit the schema of the Delta table that is written. The batch stays pending with its"
        " plan.",
        ("A column was added in the source or in the query.", "Types or partitioning of the table changed."),
        "Set mergeSchema=true on the sink, or change the query or the table; then start again: the same batch"
        " is written.",
        ("change_query", "restart"),
        look=("pending",),
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
    "DELTA_CONCURRENT_TRANSACTION": Meaning(
        "A second query writes to the table with the same query id or txnAppId.",
        (
            "The same checkpoint, or a copy with the same metadata, is started twice.",
            "Two queries share a txnAppId.",
        ),
        "Stop one of them. Two queries need two checkpoints with two ids.",
        ("none",),
        look=("metadata", "pending"),
        unseen="Which queries run is not in the files.",
    ),
    # Iceberg
    "ICEBERG_SNAPSHOT_EXPIRED": Meaning(
        "The snapshot that the query stands at, or the one it began with, was removed from the Iceberg"
        " table.",
        (
            "expire_snapshots removed it while the query was down.",
            "trigger availableNow asks for the first snapshot (sources/<n>/offsets/0) at every start.",
        ),
        "If only the first snapshot is gone, start with a processing-time trigger. Else begin a new"
        " checkpoint with stream-from-timestamp.",
        ("restart", "reset"),
        look=("sources",),
        unseen=_TABLE,
    ),
    "ICEBERG_OVERWRITE": Meaning(
        "Rows of the Iceberg table were rewritten or deleted, and a stream reads only what is added.",
        ("DELETE, MERGE or an overwrite on the source table.",),
        "Set streaming-skip-overwrite-snapshots=true (and streaming-skip-delete-snapshots=true) and start"
        " again: rewritten rows are not read.",
        ("change_query",),
        look=("sources",),
        unseen=_TABLE,
    ),
}
