"""What the errors about state mean: files below ``state/``, their schemas, the operators, repartition,
reading state as a table."""

from __future__ import annotations

from core.messages.error_text import ErrorText

_LOST = "State files were deleted by hand, by a rule of the bucket, or not copied with the rest."
_CUT = "The file was cut: full disk, dead machine, interrupted copy."
_FLIPPED = "The file was changed after Spark wrote it, or the disk gave back other bytes."
_REWIND = (
    "Roll back to the newest batch whose state is complete (rewind), or restore a backup (restore_backup)."
)
_NOT_CLASS = "What the executors did is in their logs, not in the files."


def _wrong_length(means: str) -> ErrorText:
    """A length that cannot be one."""
    return ErrorText(
        means,
        (_FLIPPED,),
        action=_REWIND,
    )


def _row_format(means: str) -> ErrorText:
    """A row of the state that the query cannot read."""
    return ErrorText(
        means,
        (
            "The stateful part of the query was changed, and the schema file that would show it is missing.",
            "State with row checksums (Spark 4.2 and newer) is read by an older Spark.",
            "A state file is damaged, or is one of another partition.",
        ),
        action=(
            "Undo the change of the query, or start with the Spark that wrote the state. If neither applies,"
            " restore a backup of the checkpoint (restore_backup)."
        ),
        unseen="The rows inside the state files are not decoded here.",
    )


def _schema(means: str) -> ErrorText:
    """Keys or values that are not those of the query."""
    return ErrorText(
        means,
        (
            "The aggregates, the keys or the columns of the stateful part were changed in the query.",
            (
                "Spark was upgraded or downgraded: dropDuplicates of five or more columns orders its key"
                " differently in 3.x, 4.0 to 4.2 and 4.3."
            ),
            (
                "A failed start by another Spark left its offset file, whose settings lack what this Spark"
                " version needs: a rewind to the newest committed batch leaves it out."
            ),
        ),
        action=(
            "Undo the change and restart the query: the failed start left a plan, which stays valid. If the"
            " change is meant, carry the state over or start the query with a new checkpoint location. A"
            " state variable of transformWithState can get a new name instead: it begins empty."
            " spark.sql.streaming.stateStore.stateSchemaCheck=false is not a workaround: the tasks fail"
            " later."
        ),
        unseen="The keys and values that the query has today are in its code.",
    )


TEXTS: dict[str, ErrorText] = {
    "CANNOT_LOAD_STATE_STORE": ErrorText(
        "The state of a partition could not be loaded, so no batch can run.",
        (
            "A state file is missing or damaged.",
            "The reason is in the cause of the trace.",
        ),
        action=_REWIND,
    ),
    "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED": ErrorText(
        "The state of a partition could not be loaded; the reason is in the cause ('Caused by'), not in this"
        " message. A file that is cut, empty or damaged looks like this.",
        (
            _CUT,
            _FLIPPED,
            "The store (S3, HDFS) gave an error while the file was read.",
        ),
        action=(
            "See the last 'Caused by'. Roll back to the newest batch whose state is complete (rewind), or"
            " restore a backup (restore_backup)."
        ),
    ),
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS": ErrorText(
        "A file of changes (.delta) that the state needs is not there. The HDFS-backed store needs the newest"
        " snapshot and every delta after it.",
        (
            _LOST,
            (
                "The partition is new: the number of state partitions in the newest offset file was raised,"
                " or a stateful operator was added."
            ),
            (
                "A sink that skips batch ids skipped the batch that should have written it (a checkpoint"
                " older than its Delta table)."
            ),
        ),
        action=_REWIND,
    ),
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE": ErrorText(
        "A RocksDB state file is not there. Spark names a .changelog even when the .zip is what is missing.",
        (
            _LOST,
            (
                "State checkpoint format 2: the newest commit names files of another version, because commits"
                " in between are missing or one was rewritten."
            ),
            "A stateful operator was added or changed.",
        ),
        action=_REWIND,
    ),
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_SNAPSHOT_FILE": ErrorText(
        "A snapshot that the state is to be rebuilt from is not there.",
        (_LOST,),
        action=_REWIND,
    ),
    "CANNOT_LOAD_STATE_STORE.CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT": ErrorText(
        "State checkpoint format 2: no full file (.zip) of the lineage that the commit names is there.",
        (_LOST,),
        action=_REWIND,
    ),
    "CANNOT_LOAD_STATE_STORE.INVALID_CHECKPOINT_LINEAGE": ErrorText(
        "State checkpoint format 2: the lineage inside a changelog does not lead to the version that is"
        " needed.",
        (
            (
                "Files from before and after a rollback or restore are mixed, or two queries wrote to one"
                " checkpoint."
            ),
            _FLIPPED,
        ),
        action=_REWIND,
    ),
    "CANNOT_LOAD_STATE_STORE.AUTO_SNAPSHOT_REPAIR_FAILED": ErrorText(
        "The newest snapshot is damaged, and the older ones that Spark 4.2 and newer fall back to could not"
        " be used either.",
        (
            "All full files of the partition are damaged or gone.",
            "The changes between an older snapshot and the version that is needed are not complete.",
        ),
        action=_REWIND,
    ),
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_CHECKPOINT": ErrorText(
        "The description inside a RocksDB snapshot (.zip) is not what Spark expects.",
        (
            _FLIPPED,
            "A newer Spark wrote it.",
        ),
        action=_REWIND,
    ),
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_KEY_SIZE": _wrong_length(
        "A .delta file has an invalid key length."
    ),
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_SNAPSHOT_FILE_KEY_SIZE": _wrong_length(
        "A .snapshot file has an invalid key length."
    ),
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_SNAPSHOT_FILE_VALUE_SIZE": _wrong_length(
        "A .snapshot file has an invalid value length."
    ),
    "CANNOT_LOAD_STATE_STORE.UNEXPECTED_FILE_SIZE": ErrorText(
        "An SST file of a RocksDB snapshot does not have the size that was recorded when it was written.",
        (
            _CUT,
            "Another file has its name.",
        ),
        action=_REWIND,
    ),
    "CANNOT_LOAD_STATE_STORE.UNEXPECTED_VERSION": ErrorText(
        "A negative state version was asked for.",
        (
            "The batch id of the state reader is below 0.",
            "A commit or offset file with a wrong number.",
        ),
        action="Look at the ids in offsets/ and commits/.",
    ),
    "CANNOT_LOAD_STATE_STORE.INVALID_CHANGE_LOG_READER_VERSION": ErrorText(
        "A changelog has a version that this Spark does not read.",
        (
            "A newer Spark wrote it.",
            _FLIPPED,
        ),
        action="Start with the Spark that wrote the state, or a newer one.",
        unseen="The version inside the changelogs is not decoded here.",
    ),
    "CANNOT_LOAD_STATE_STORE.SNAPSHOT_PARTITION_ID_NOT_FOUND": ErrorText(
        "The state reader was asked for a partition that the state does not have.",
        (
            "snapshotPartitionId is wrong.",
            "The path is not the root of the checkpoint.",
        ),
        action="Give a partition id that exists, or leave the option out.",
    ),
    "CANNOT_LOAD_STATE_STORE.KEY_ROW_FORMAT_VALIDATION_FAILURE": _row_format(
        "A key in the state does not have the form that the query expects."
    ),
    "CANNOT_LOAD_STATE_STORE.VALUE_ROW_FORMAT_VALIDATION_FAILURE": _row_format(
        "A value in the state does not have the form that the query expects."
    ),
    "STATE_STORE_KEY_ROW_FORMAT_VALIDATION_FAILURE": _row_format(
        "A key in the state does not have the form that the query expects."
    ),
    "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE": _row_format(
        "A value in the state does not have the form that the query expects."
    ),
    "STATE_ROW_FORMAT_INVALID": _row_format(
        "A row in the state does not have the form that the query expects (wording of Spark 3.x)."
    ),
    "CANNOT_LOAD_STATE_STORE.HDFS_STORE_PROVIDER_OUT_OF_MEMORY": ErrorText(
        "The state of a partition does not fit into the memory of the executor: the HDFS-backed store keeps"
        " it all on the heap.",
        (
            "The state grows without bound: no watermark, or one that does not advance.",
            "One key or one partition is much larger than the others.",
        ),
        action=(
            "Give the executors more memory or more partitions, or move to RocksDB in a new checkpoint; look"
            " at the growth and the balance of the state."
        ),
        unseen="The memory of the executors is not in the files.",
    ),
    "CANNOT_LOAD_STATE_STORE.ROCKSDB_STORE_PROVIDER_OUT_OF_MEMORY": ErrorText(
        "The state of a partition does not fit into the memory that RocksDB has.",
        (
            "Too many partitions on one executor.",
            "No limit on RocksDB's memory is set, and the container reached its limit.",
        ),
        action=(
            "Bound RocksDB's memory (spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage) or give the"
            " executors more, and restart the query."
        ),
        unseen="The memory of the executors is not in the files.",
    ),
    "CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR": ErrorText(
        "A task timed out waiting for the RocksDB store of its partition: another task still had it locked.",
        (
            "The task of the batch before hangs.",
            "Two batches of one query run in one executor: the query was started twice.",
        ),
        action="Restart the query. If it comes back, look at what the named thread does.",
        unseen=_NOT_CLASS,
    ),
    "CANNOT_LOAD_STATE_STORE.FAILED_TO_GET_CHANGELOG_WRITER": ErrorText(
        "The file for the changes of the next state version could not be created.",
        (
            "The store refused or was not reachable.",
            "The disk is full or the directory may not be written.",
        ),
        action="Make the location writable and restart the query: the batch is re-run.",
        unseen="Why the store refused is in the cause of the trace, not in the files.",
    ),
    "CANNOT_WRITE_STATE_STORE": ErrorText(
        "The new version of the state could not be written, so the batch is not committed. The version before"
        " it is untouched.",
        (
            "The store refused or was not reachable.",
            "The disk of the executor is full.",
        ),
        action="See the cause in the trace, fix it and restart the query: the batch is re-run.",
        unseen="Why the store refused is in the cause of the trace, not in the files.",
    ),
    "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED": ErrorText(
        "A state file does not match the checksum that Spark wrote beside it (N.delta.crc, N.changelog.crc"
        " ...; 4.1 and newer).",
        (
            _FLIPPED,
            "A file was copied or restored without its .crc, so that the .crc is of another version.",
            _CUT,
        ),
        action=_REWIND,
    ),
    "STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED": ErrorText(
        "A row in the state does not match its own checksum (rowChecksum, Spark 4.2 and newer).",
        (
            _FLIPPED,
            "Faulty memory.",
        ),
        action=_REWIND,
        unseen="The rows inside the state files are not decoded here.",
    ),
    "STATE_STORE_UNEXPECTED_EMPTY_FILE_IN_ROCKSDB_ZIP": ErrorText(
        "RocksDB left an empty file when a snapshot was written. Spark stopped before it could be used.",
        ("The disk of the executor was full.",),
        action="Restart the query: the batch is re-run.",
        unseen=_NOT_CLASS,
    ),
    "STATE_FILE_NAME_TAKEN": ErrorText(
        "Spark could not put a state file in place because another one has its name. It replaces one that is"
        " there; on storages without an atomic replace the old one is removed first, and another task may"
        " put one back in between.",
        (
            "A second query uses this checkpoint: another job, or a restart before the old driver was gone.",
            "A task of an earlier attempt still ran: on an executor that was taken for lost, or with"
            " speculative execution.",
        ),
        action=(
            "Stop every query on this checkpoint, and the executors of the earlier run. Then restart the"
            " query: the batch runs again and writes the file again. If a second query has written here,"
            " roll back to a batch before it began (rewind), or restore a backup (restore_backup)."
        ),
        unseen="Which task wrote a state file is not in the file.",
    ),
    "STATE_FILE_DAMAGED": ErrorText(
        "A state file ends too early, cannot be unpacked, or is not a file of its kind (an .sst file without"
        " the number at its end). This is the bare cause; Spark 4.0 and newer wrap it in"
        " CANNOT_LOAD_STATE_STORE.",
        (
            _CUT,
            _FLIPPED,
        ),
        action=_REWIND,
    ),
    "STATE_IDS_DO_NOT_FIT": ErrorText(
        "Spark looked for the ids of more state partitions than the newest commit names (state checkpoint"
        " format 2). The message alone is common; what the checkpoint shows decides.",
        ("The number of state partitions recorded in the newest offset file was raised.",),
        action=(
            "Roll back to a batch before the number was raised (rewind), or restore a backup"
            " (restore_backup)."
        ),
    ),
    "PARTITION_COUNT_UNKNOWN": ErrorText(
        "Neither the newest offset file (version 2) nor the operator metadata below state/ says into how many"
        " partitions the state is divided. The message advises to delete the checkpoint: that is not needed.",
        (
            "Spark 4.2.0 wrote batch 0: it leaves the number out of offsets/0 of version 2 (SPARK-59919), and"
            " state/<operator>/_metadata is gone, or the query stopped before it was written.",
            "The newest offset file was edited, or comes from another checkpoint.",
        ),
        action=(
            "Run one batch with Spark 4.2.0 and the same spark.sql.shuffle.partitions as before: it does not"
            " ask, and later offset files have the number. Or put state/<operator>/_metadata back"
            " (restore_backup)."
        ),
    ),
    "STATE_FILE_MISSING": ErrorText(
        "A state file that the next batch needs is not there. This is the bare cause, as the store words it.",
        (
            _LOST,
            "The checkpoint was copied or restored without all of state/.",
            "On an object store without atomic renames, a task was killed while it wrote the file.",
        ),
        action=_REWIND,
    ),
    "ROCKSDB_FILES_DIFFER": ErrorText(
        "The files of a RocksDB snapshot do not belong together: an SST file has another identity or size"
        " than the one that the snapshot was written with, or is missing.",
        (
            "A defect of Spark: a task that was tried again used the SST file of its first try. Several forms"
            " of it were repaired in later 3.4, 3.5 and 4.x releases.",
            "Two queries wrote to the checkpoint, or files of state/ were copied or restored one by one.",
            _CUT,
        ),
        action=(
            "Restart the query once: a wrong local copy on an executor is fetched again. If it comes"
            " back, roll back to the newest batch whose state is complete (rewind), or restore a backup"
            " (restore_backup)."
        ),
        unseen="The identity of an SST file is compared by RocksDB alone.",
    ),
    "STATE_SCHEMA_UNREADABLE": ErrorText(
        "A state schema file (state/<operator>/0/_metadata/schema) is empty or cut. The error has no message,"
        " only the class EOFException.",
        (_CUT,),
    ),
    "UNSUPPORTED_DATATYPE": ErrorText(
        "Spark met a type of data that it does not know: in the query's own schema, or in a state schema file"
        " of the checkpoint.",
        (
            "A state schema file is damaged, or was edited by hand.",
            "The query names a type that this version of Spark does not have.",
        ),
        action=(
            "If the forecast names a state schema file, restore a backup of the checkpoint"
            " (restore_backup) or use reset. If not, look at the types in the query."
        ),
    ),
    "TRANSFORM_WITH_STATE_UNKNOWN": ErrorText(
        "This Spark does not have transformWithState: it came with 4.0. The start failed before the"
        " checkpoint was looked at.",
        ("The query was run by Spark 4.x and is now started with 3.x.",),
        action="Start with Spark 4.0 or newer.",
    ),
    "ROCKSDB_FILE_TOO_NEW": ErrorText(
        "The RocksDB of this Spark cannot read the files: Spark 3.3 cannot read what 4.0 and newer have"
        " written.",
        ("The query was run by Spark 4.x and is now started with 3.3.",),
        action="Start with Spark 3.4 or newer. There is no downgrade to 3.3 for this checkpoint.",
        unseen="The form of the SST files is not decoded here.",
    ),
    "STREAM_STREAM_JOIN_INCONSISTENT_STATE": ErrorText(
        "The four stores of a stream-stream join do not belong to the same batch.",
        (
            "A store was restored from another point in time than the others.",
            "State files of one store were replaced.",
        ),
        action="Roll back to a batch before it (rewind), or restore a backup (restore_backup).",
        unseen="The rows inside the state files are not decoded here.",
    ),
    "STREAM_STREAM_JOIN_INCONSISTENT_STATE.NULL_VALUE": ErrorText(
        "A stream-stream join counts more rows for a key than its store has: its stores are of different"
        " versions.",
        (
            "An older file lies in place of the right one in one of the four stores.",
            "A store was restored from another point in time than the others.",
        ),
        action=(
            "Roll back to a batch before it (rewind), or restore a backup (restore_backup). The setting"
            " in the message only skips the missing rows."
        ),
        unseen="The rows inside the state files are not decoded here.",
    ),
    "STREAM_STREAM_JOIN_INCONSISTENT_STATE.RANGE_SCAN_TIMESTAMP_OUT_OF_RANGE": ErrorText(
        "A stream-stream join found a row with a time outside the range that it asked its store for.",
        (
            "A store was restored from another point in time than the others.",
            "A state file is damaged.",
        ),
        action="Roll back to a batch before it (rewind), or restore a backup (restore_backup).",
        unseen="The rows inside the state files are not decoded here.",
    ),
    "STATE_STORE_BASE_CHECKPOINT_ID_MISMATCH": ErrorText(
        "State checkpoint format 2: a task built its state on another version than the commit names.",
        (
            "Two queries share the checkpoint.",
            "A task of an earlier attempt of the batch was still running.",
        ),
        action="Make sure that one query uses the checkpoint, then restart the query: the batch is re-run.",
        unseen=_NOT_CLASS,
    ),
    "STATE_STORE_COMMIT_VALIDATION_FAILED": ErrorText(
        "Not every partition of the state was written in the batch, so the batch is not committed.",
        (
            (
                "The function of foreachBatch does not use the whole frame: show(), limit(), take(), or it"
                " returns early."
            ),
            "It catches an exception and continues.",
        ),
        action=(
            "Let the function process the whole frame (and cache it when it is used twice), then restart the"
            " query: the batch is re-run."
        ),
        unseen="What the function does is in its code.",
    ),
    "STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED": ErrorText(
        "The commits name state files by id (state checkpoint format 2), and the state store of the query"
        " does not know ids.",
        (
            (
                "The HDFS-backed store is used with spark.sql.streaming.stateStore.checkpointFormatVersion=2:"
                " only RocksDB has format 2."
            ),
            "A commit file of another checkpoint was copied here.",
        ),
        action="Use the store that the checkpoint was made with; format 2 needs RocksDB.",
    ),
    "STATE_STORE_INVALID_CONFIG_AFTER_RESTART": ErrorText(
        "A setting that belongs to the state was changed. It is pinned for the life of a checkpoint.",
        ("The setting in the message has another value in this session.",),
        action=(
            "Restore the old value that the message names, or start the query with a new checkpoint location."
        ),
    ),
    "STATE_STORE_INVALID_PROVIDER": ErrorText(
        "The class in spark.sql.streaming.stateStore.providerClass is not a state store.",
        (
            "A spelling mistake.",
            "A library of another Spark version.",
        ),
        action=(
            "Correct the setting. The store that the checkpoint was made with is pinned in its offset files."
        ),
    ),
    "STREAM_STREAM_JOIN_INCOMPATIBLE_STATE_STORE_CONFIGS": ErrorText(
        "Two settings of a stream-stream join cannot be combined in a checkpoint of this kind.",
        ("The state format of joins was changed in the session.",),
        action="Undo the setting, or start the query with a new checkpoint location as the message says.",
    ),
    "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA": ErrorText(
        "The query's stateful operators are not those that wrote the state. The failed start has left an"
        " uncommitted offset file, whose plan stays valid.",
        (
            "An aggregation, deduplication or join was added, removed or replaced.",
            "Operators were put into another order.",
        ),
        unseen="Which stateful operators the query has today is in its code.",
    ),
    "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY": ErrorText(
        "The query keeps state, batches are committed, and state/ is missing or empty.",
        (
            "A stateful operator was added to a query that had none.",
            "state/ was deleted, or not copied with the rest.",
        ),
    ),
    "STDS_FAILED_TO_READ_OPERATOR_METADATA": ErrorText(
        "The description of the stateful operators (state/<operator>/_metadata) is missing or damaged."
        " transformWithState cannot do without it; the state reader neither.",
        (
            "The file was deleted or not copied.",
            "Only Spark before 4.0 ran this query.",
            "The checkpoint has no state.",
        ),
        action="Restore state/<operator>/_metadata from a backup.",
    ),
    "STDS_FAILED_TO_READ_STATE_SCHEMA": ErrorText(
        "The schema of the state is missing or damaged, so the state cannot be read as a table. The query"
        " itself rewrites a missing one.",
        (
            "The checkpoint has no state, or not that operator or store.",
            "The schema file was deleted or cut.",
        ),
        action="Check operatorId and storeName. To have the schema rewritten, run the query for one batch.",
    ),
    "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE": _schema(
        "The keys of the query do not have the number and types of the keys in the state."
    ),
    "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE": _schema(
        "The values of the query do not have the number and types of the values in the state."
    ),
    "STATE_SCHEMA_NOT_COMPATIBLE": _schema(
        "The keys or values of the query do not have the number and types of those in the state (wording of"
        " Spark 3.x)."
    ),
    "STATE_STORE_COLUMN_FAMILY_SCHEMA_INCOMPATIBLE": _schema(
        "A state variable of transformWithState has another type than the one in the state."
    ),
    "STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION": _schema(
        "A state variable was changed in a way that Avro cannot follow."
    ),
    "STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE": _schema(
        "A state variable of transformWithState became one of another kind (value, list, map)."
    ),
    "STATE_STORE_STATE_SCHEMA_FILES_THRESHOLD_EXCEEDED": ErrorText(
        "The state variables of transformWithState were changed more often than is allowed.",
        ("Variables are added and removed at every start.",),
        action="Raise spark.sql.streaming.stateStore.stateSchemaFilesThreshold, or take the changes back.",
    ),
    "STATE_STORE_VALUE_SCHEMA_EVOLUTION_THRESHOLD_EXCEEDED": ErrorText(
        "The values of one state variable were changed more often than is allowed.",
        ("Its type changes at every start.",),
        action="Raise the setting that the message names, or take the changes back.",
    ),
    "STATE_REPARTITION_INVALID_CHECKPOINT": ErrorText(
        "The state of this checkpoint cannot be repartitioned as it is.",
        action="Paste the whole message: the condition behind the dot says what is in the way.",
    ),
    "STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_ABANDONED_REPARTITION": ErrorText(
        "An earlier repartition to another number did not end.",
        action=(
            "Repartition to the number of the earlier one, or restore a backup from before it"
            " (restore_backup)."
        ),
    ),
    "STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FAILED": ErrorText(
        "The newest batch has no commit, and a repartition needs one that ended.",
        action="Run the query until the batch is committed, then repartition.",
    ),
    "STATE_REPARTITION_INVALID_CHECKPOINT.MISSING_OFFSET_SEQ_METADATA": ErrorText(
        "The newest offset file has no line with settings, so it is not known how the state is cut.",
        action="Run the query for one batch with this Spark, then repartition.",
    ),
    "STATE_REPARTITION_INVALID_CHECKPOINT.NO_BATCH_FOUND": ErrorText(
        "There is no batch in this directory.",
        action="Check the path: it is the root of a checkpoint that has run.",
    ),
    "STATE_REPARTITION_INVALID_CHECKPOINT.NO_COMMITTED_BATCH": ErrorText(
        "No batch is committed yet.",
        action="Run the query until a batch is committed, then repartition.",
    ),
    "STATE_REPARTITION_INVALID_CHECKPOINT.OFFSET_SEQ_NOT_FOUND": ErrorText(
        "The offset file of a batch that the repartition needs is missing.",
        action=(
            "If the newest batch is committed, the recovery option repair_files puts a copy of its offset"
            " file in this place. If it is not, restore a backup (restore_backup)."
        ),
    ),
    "STATE_REPARTITION_INVALID_CHECKPOINT.SHUFFLE_PARTITIONS_ALREADY_MATCH": ErrorText(
        "The state has that number of partitions already; nothing was done.",
        action="Start the query.",
    ),
    "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_OFFSET_SEQ_VERSION": ErrorText(
        "The offset log has a version that cannot be repartitioned.",
        action="Use the newest Spark that wrote the checkpoint.",
    ),
    "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_PROVIDER": ErrorText(
        "Only RocksDB state can be repartitioned. The refused attempt has left an offset file, and the query"
        " does not start until it is removed.",
        action=(
            "Roll back to the newest committed batch (rewind), which leaves that plan out. Another number"
            " of partitions needs a new checkpoint."
        ),
    ),
    "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_STATEFUL_OPERATOR": ErrorText(
        "The state of this operator cannot be repartitioned.",
        action="Another number of partitions needs a new checkpoint.",
    ),
    "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_TRANSFORM_WITH_STATE_VARIABLE_TYPE": ErrorText(
        "A state variable of transformWithState cannot be repartitioned.",
        action="Another number of partitions needs a new checkpoint.",
    ),
    "STATE_REWRITER_INVALID_CHECKPOINT": ErrorText(
        "The state of this checkpoint cannot be rewritten as it is.",
        action="Paste the whole message: the condition behind the dot says what is in the way.",
    ),
    "STATE_REWRITER_INVALID_CHECKPOINT.MISSING_OPERATOR_METADATA": ErrorText(
        "The checkpoint has no description of its stateful operators: only Spark before 4.0 ran it, or it was"
        " deleted.",
        action="Run the query for one batch with this Spark, then try again.",
    ),
    "STATE_REWRITER_INVALID_CHECKPOINT.STATE_CHECKPOINT_FORMAT_VERSION_MISMATCH": ErrorText(
        "The session asks for another state checkpoint format than the commits have.",
        action=(
            "Set spark.sql.streaming.stateStore.checkpointFormatVersion to the version that the message"
            " expects."
        ),
    ),
    "STATE_REWRITER_INVALID_CHECKPOINT.UNSUPPORTED_STATE_STORE_METADATA_VERSION": ErrorText(
        "The description of the stateful operators has a version that this Spark does not know.",
        action="Use the Spark that wrote it, or a newer one.",
    ),
    "STDS_COMMITTED_BATCH_UNAVAILABLE": ErrorText(
        "No committed batch was found up to the one that was asked for.",
        (
            "The batch id is not among the commits.",
            "The path is not the root of the checkpoint.",
        ),
        action="Give a batch id that is committed.",
    ),
    "STDS_OFFSET_LOG_UNAVAILABLE": ErrorText(
        "The offset file of the batch that was asked for is missing.",
        (
            "The batch is purged: Spark keeps the newest 100 by default.",
            "The path is not the root of the checkpoint.",
        ),
        action="Give a batch id that has its offset file.",
    ),
    "STDS_OFFSET_METADATA_LOG_UNAVAILABLE": ErrorText(
        "The offset file of the batch has no line with settings.",
        (
            "Only a very old Spark ran this query.",
            "The path is not the root of the checkpoint.",
        ),
        action="Run the query for one batch with this Spark.",
    ),
    "STDS_NO_PARTITION_DISCOVERED_IN_STATE_STORE": ErrorText(
        "Below state/ there is no partition of that operator.",
        (
            "operatorId is wrong, or state/ was not copied.",
            "The path is not the root of the checkpoint.",
        ),
        action="Check operatorId and the path.",
    ),
    "STDS_MIXED_CHECKPOINT_FORMAT_VERSIONS_NOT_SUPPORTED": ErrorText(
        "The batches that were asked for have state checkpoint format 1 and 2.",
        (
            "The range crosses the change.",
            "The path is not the root of the checkpoint.",
        ),
        action="Ask for a range on one side of it.",
    ),
}
