"""What the errors about the checkpoint's own files mean: metadata, offset log, commit log, source logs, and
who uses the directory."""

from __future__ import annotations

from core.messages.error_text import ErrorText

_LOST = "The file was deleted, not copied, or not restored with the rest."
_CUT = "The disk was full, or the machine died, while the file was written."
_TWO = (
    "A second query uses this checkpoint: another job, a notebook, or a restart before the old driver was"
    " gone."
)

TEXTS: dict[str, ErrorText] = {
    "STREAM_FAILED": ErrorText(
        "The query failed; this error only wraps the cause, which follows 'terminated with exception' or is"
        " in the last 'Caused by'.",
        ("The cause is not in the pasted text, or has no message.",),
        action="Paste the whole stack trace from the driver log, down to the last 'Caused by'.",
    ),
    "JOB_ABORTED": ErrorText(
        "A Spark job of the batch failed; this only wraps the error of a task.",
        ("The error of the task is not in the pasted text.",),
        action="Paste the whole stack trace, down to the last 'Caused by'.",
    ),
    "INTERNAL_ERROR": ErrorText(
        "Spark hit a condition that it reports as its own bug. In a streaming query of Spark 3.3 it wraps"
        " every failed assertion.",
        (
            "A check of the restart failed: see the cause in the trace.",
            "A bug in Spark or in a connector.",
        ),
        action="Paste the whole stack trace, down to the last 'Caused by'.",
    ),
    "ASSERTION_FAILED": ErrorText(
        "A check inside Spark failed, and its message does not say which.",
        (
            "All offsets are gone while commits are there (Spark 4.2 and newer).",
            "The log of a file source ends before the offset, or an offset goes back.",
            "Source names were switched off for a checkpoint that was made with them.",
        ),
        action="Look at what the next start is expected to fail on, and fix that.",
    ),
    "STREAMING_CHECKPOINT_MISSING_METADATA_FILE": ErrorText(
        "The file metadata with the query's id is gone while offsets or commits are there. Spark 4.2 and"
        " newer refuse to start; older versions silently take a new id.",
        (
            _LOST,
            "A copy tool left out the files in the root of the checkpoint.",
        ),
    ),
    "METADATA_NOT_JSON": ErrorText(
        "The file metadata is there and is not JSON. Spark reads it before anything else.",
        (
            _CUT,
            "Someone edited the file.",
        ),
    ),
    "METADATA_WITHOUT_ID": ErrorText(
        "The file metadata is JSON without the id of the query.",
        (
            "Another file was copied over it.",
            "Someone edited the file.",
        ),
    ),
    "METADATA_BAD_ID": ErrorText(
        "The id in metadata is not a UUID.",
        ("Someone edited the file.",),
    ),
    "LOG_FILE_INCOMPLETE": ErrorText(
        "A log file has no bytes. Spark reads the newest offset file, the one before it and the newest"
        " commit, so it is one of these.",
        (
            _CUT,
            "A copy of the checkpoint was interrupted.",
        ),
    ),
    "LOG_FILE_NOT_JSON": ErrorText(
        "Something that should be JSON is cut or broken. At a start it is a log file of the checkpoint or the"
        " offset of one source; Spark does not say which.",
        (
            _CUT,
            "Someone edited the file.",
            "The JSON is one of the query's own data.",
        ),
    ),
    "LOG_FILE_ONLY_VERSION": ErrorText(
        "An offset file ends after its version line: the line with the settings and those of the sources are"
        " missing.",
        (_CUT,),
    ),
    "LOG_FILE_NO_METADATA": ErrorText(
        "The second line of an offset file, with the watermark and the pinned settings, is empty. Only"
        " continuous processing writes it so.",
        (
            "A checkpoint of continuous processing is used for a query in micro-batches.",
            "Someone edited the file.",
        ),
        action=(
            "If the query ran with the trigger continuous, start it with that one again, or with a new"
            " checkpoint location (reset): no other trigger can use this checkpoint. If it did not, stop the"
            " query and back up the checkpoint first. The recovery option repair_files does without the"
            " offset file where its batch is not committed. If it is, roll back to an earlier batch (rewind),"
            " or restore a backup (restore_backup)."
        ),
    ),
    "CONTINUOUS_ON_MICRO_BATCHES": ErrorText(
        "Spark read a number where it needs an object. The rate source says so when it is started with the"
        " trigger continuous on a checkpoint of micro-batches, whose position is a number.",
        (
            "The trigger of the query was changed to continuous.",
            "The source was replaced by another one at the same position.",
            "The file metadata, or the line of a source in an offset file, was damaged or edited.",
        ),
        action=(
            "If the trigger was changed, start the query with the old one again: it resumes. The trigger"
            " continuous needs a new checkpoint location. If it was not, look at metadata and at the"
            " sources of the newest offset file."
        ),
        unseen="The trigger and the sources that the query has today are in its code.",
    ),
    "MALFORMED_LOG_FILE": ErrorText(
        "A log file does not begin with a version (v1, v2 ...), so it is not a log file of Spark's, or not"
        " any more.",
        (
            "Someone edited the file.",
            "Another file was copied over it.",
        ),
    ),
    "INVALID_LOG_VERSION": ErrorText(
        "A log file has a version that this Spark does not read.",
        (
            "A newer Spark ran this query.",
            (
                "The session asks for another state checkpoint format than the checkpoint has (Spark 4.0 to"
                " 4.2)."
            ),
        ),
    ),
    "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION": ErrorText(
        "A log file has a higher version than this Spark reads. A start that fails so writes nothing: the"
        " checkpoint stays usable for the other version.",
        (
            (
                "A newer Spark ran this query: named sources and offset log version 2 need 4.2, state"
                " checkpoint format 2 needs 4.0."
            ),
            "The file is damaged and its first line is something else by chance.",
        ),
    ),
    "INVALID_LOG_VERSION.EXACT_MATCH_VERSION": ErrorText(
        "Spark 4.0 and 4.1 read exactly the version of the commit log that belongs to the session's state"
        " checkpoint format: v1 for format 1, v2 for format 2. This checkpoint has the other one.",
        (
            (
                "spark.sql.streaming.stateStore.checkpointFormatVersion is not the one the checkpoint was"
                " made with; it is not remembered, so it must be set at every start."
            ),
            "Spark was changed to 4.0 or 4.1 and the setting was forgotten.",
        ),
        action=(
            "Set spark.sql.streaming.stateStore.checkpointFormatVersion to 2 when the commits are v2, leave"
            " it out (1) when they are v1, and restart the query. The failed start wrote nothing."
        ),
    ),
    "PREVIOUS_BATCH_NOT_FOUND": ErrorText(
        "The newest batch has no commit and must be re-run, but the offset file before it, where it begins,"
        " is missing.",
        (
            _LOST,
            "Log files were deleted by age, by a rule of the bucket for example.",
            "The query ran with asynchronous progress tracking before.",
        ),
        action=(
            "Stop every query on this checkpoint and back it up first. While the newest batch has no"
            " commit, restore a backup (restore_backup) or start the query with a new checkpoint location"
            " at a known position (reset): any other content in this place would make that batch empty and"
            " lose its rows."
        ),
    ),
    "BATCH_DOES_NOT_EXIST": ErrorText(
        "An entry of a log is missing: the offset file before the newest one, or the last entry of a file"
        " source's log. The message is the same for both.",
        (
            _LOST,
            "The query ran with asynchronous progress tracking and is now started without it.",
            "Log files were deleted by age.",
        ),
        action=(
            "Stop every query on this checkpoint and back it up first. See which of the two is missing."
            " An entry of a file source's log: roll back to a batch that the log still reaches (rewind),"
            " or restore a backup (restore_backup). An offset file: when the newest batch is committed,"
            " the recovery option repair_files puts a copy of its offset file in this place; that is"
            " exact. While the newest batch has no commit, restore a backup (restore_backup) or start the"
            " query with a new checkpoint location at a known position (reset): any other content in this"
            " place would make that batch empty and lose its rows."
        ),
    ),
    "BATCHES_DO_NOT_EXIST": ErrorText(
        "A file source's log ends before the position in the offset file: which files the batch reads is not"
        " known any more.",
        (
            _LOST,
            "The source's log was restored from an older backup than the offsets.",
            "Someone edited the offset file.",
        ),
    ),
    "SOURCE_LOG_ENTRY_MISSING": ErrorText(
        "An entry in the middle of a file source's log is missing. Spark reads the log from the last compact"
        " file on at every start.",
        (
            _LOST,
            "Files were deleted by age.",
            "A copy of the checkpoint was made while the query ran.",
        ),
    ),
    "LOG_FILE_CHECKSUM": ErrorText(
        "A log file of the checkpoint does not match the hidden checksum file beside it (.N.crc): it was"
        " changed after Spark wrote it.",
        (
            "Someone edited the file and left the .crc.",
            "The file, or its .crc, was copied or restored without the other.",
            "The disk gave back other bytes.",
        ),
        action=(
            "Decide whether the change was intended. If it was not, restore a backup of the checkpoint"
            " (restore_backup), or roll back to a batch before the file (rewind)."
        ),
    ),
    "CONCURRENT_STREAM_LOG_UPDATE": ErrorText(
        "The batch is in the log already when Spark wants to write it. The sink may have got its rows once"
        " more before that.",
        (
            _TWO,
            (
                "A commit is ahead of the newest offset: offsets and commits were rolled back or restored,"
                " and what belongs to them was not."
            ),
        ),
        action=(
            "Stop every query on this checkpoint and back it up first. If a commit is ahead of the newest"
            " offset, the recovery option repair_files leaves it out. If not, find the second query. Look"
            " for repeated rows of this batch in the sink."
        ),
    ),
    "SKIPPED_BATCH_NEEDS_STATE": ErrorText(
        "The batch ended without the IDs of the state files that its commit has to name (state checkpoint"
        " format 2). No task ran, because the sink already had the batch and skipped it.",
        (
            "The query stopped after the sink had taken the batch and before the commit was written.",
            "The commit file was deleted, or the checkpoint was rolled back or restored without the sink.",
        ),
        action=(
            "Each start fails alike until the sink runs the batch once more. Stop the query and back up"
            " the checkpoint and the sink first. Put the sink back to the batch before (a Delta table with"
            " RESTORE) and roll the checkpoint back to it too (rewind), or start the query with a new"
            " checkpoint location (reset)."
        ),
        unseen="Whether the sink has the batch stands in the sink: name it with --sink.",
    ),
    "MULTIPLE_QUERIES_USE_CHECKPOINT": ErrorText(
        "Spark could not give a log file its final name because the name is taken. The file is often there"
        " afterwards, so the next start may work.",
        (
            (
                "An orphaned .N.crc file: someone deleted offsets/N or commits/N without the hidden file"
                " beside it (local and HDFS-like file systems)."
            ),
            _TWO,
        ),
        action=(
            "Stop every query on this checkpoint and back it up first. If a hidden .crc file has no log"
            " file beside it, the recovery option repair_files leaves it out; if there is none, find the"
            " second query."
        ),
    ),
    "QUERY_ALREADY_ACTIVE": ErrorText(
        "A query with this id runs already in the same application, and"
        " spark.sql.streaming.stopActiveRunOnRestart is false.",
        (
            "The same checkpoint is started twice.",
            "A copy of the checkpoint with the same metadata is started beside the original.",
        ),
        action="Stop the other query, or decide which of the two keeps this checkpoint.",
        unseen="Which queries run is not in the files.",
    ),
    "CONCURRENT_QUERY": ErrorText(
        "Another session started the same query at the same moment.",
        (_TWO,),
        action="Make sure that exactly one application starts this query, then restart the query.",
        unseen="Which queries run is not in the files.",
    ),
    "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY": ErrorText(
        "The query would start with batch 0, and the directory has files of an earlier run. Spark 4.1 and"
        " newer refuse; older versions silently start from batch 0.",
        (
            (
                "offsets/ and commits/ were deleted and state/ was left: a checkpoint is deleted as a whole"
                " or not at all."
            ),
            "The first batch never got its offset file, and something else was written before.",
            "The offsets were lost or not copied.",
        ),
    ),
    "STREAMING_CHECKPOINT_LOG_WRITE_FAILURE": ErrorText(
        "A log entry could not be written. What was written before it is complete: the next start resumes"
        " from there.",
        (
            "The store refused or was not reachable.",
            "The disk is full or the directory may not be written.",
        ),
        action=(
            "Make the location writable and restart the query. A batch whose commit could not be written is"
            " re-run."
        ),
        unseen="Why the store refused is in the cause of the trace, not in the files.",
    ),
    "STREAMING_CHECKPOINT_LOG_WRITE_FAILURE.OFFSET_LOG": ErrorText(
        "The plan of a batch could not be written to the offset log, so the batch never began and the sink"
        " has nothing of it.",
        (
            "The store refused or was not reachable.",
            "The disk is full or the directory may not be written.",
        ),
        action="Make the location writable and restart the query: the batch is planned again.",
        unseen="Why the store refused is in the cause of the trace, not in the files.",
    ),
    "STREAMING_CHECKPOINT_LOG_WRITE_FAILURE.COMMIT_LOG": ErrorText(
        "The batch was done and its commit could not be written. The sink has its rows, and the next start"
        " re-runs the batch.",
        (
            "The store refused or was not reachable.",
            "The disk is full or the directory may not be written.",
        ),
        action=(
            "Make the location writable and restart the query. A sink that appends gets the rows of this"
            " batch twice."
        ),
        unseen="Why the store refused is in the cause of the trace, not in the files.",
    ),
    "STREAMING_ASYNC_OPERATION_FAILED": ErrorText(
        "Something that Spark does beside the batches failed: with asynchronous progress tracking the writing"
        " of the logs.",
        ("The store refused or was not reachable.",),
        action=(
            "See the cause in the trace. Batches after the last logged one are planned again at the next"
            " start."
        ),
        unseen="Why it failed is in the cause of the trace, not in the files.",
    ),
    "FILE_DOES_NOT_EXIST": ErrorText(
        "A file that was looked for is not there.",
        (
            _LOST,
            (
                "The name in the log has leading zeros (007): Spark counts it as 7 and then looks for a file"
                " called 7."
            ),
        ),
        action=(
            "Restore a backup of the checkpoint (restore_backup); if it is an input file, its rows cannot"
            " be read any more."
        ),
    ),
    "SOURCES_NOT_NAMED": ErrorText(
        "The offset log knows the sources by name (version 2), and the query has none for them, or the other"
        " way round.",
        (
            "Someone edited the first line of an offset file.",
            "Names of sources were switched on or off in the session.",
        ),
        action=(
            "Give the sources the names that the newest offset file has, or restore a backup of the"
            " checkpoint (restore_backup); then restart the query."
        ),
        unseen="The names of the sources of today's query are in its code.",
    ),
    "PINNED_SETTING_REFUSED": ErrorText(
        "A setting has a value that Spark does not accept. The session cannot override one that is recorded"
        " in the newest offset file.",
        (
            "Someone edited the offset file, or another program wrote it.",
            "The session sets the value.",
        ),
        action=(
            "If the newest offset file has the value, roll back to a batch before it (rewind) or restore"
            " a backup (restore_backup); else correct the session. Then start again."
        ),
    ),
    "NOT_A_NUMBER": ErrorText(
        "A text that has to be a number is none; the message shows it. In a checkpoint it may be the first"
        " offset of a rate source (sources/<n>/0), or an offset of another kind of source.",
        ("Someone edited the file.", "The type of the source was changed."),
        action=(
            "Restore a backup of the checkpoint (restore_backup), or put the source back as it was, and"
            " restart the query."
        ),
    ),
    "SOURCE_COUNT_DIFFERS": ErrorText(
        "The query has another number of streaming sources than its offset log. Without names Spark knows"
        " sources only by their order.",
        (
            "A source was added to or removed from the query.",
            "The same frame is now used once instead of twice, or a union was added.",
        ),
        unseen="How many sources the query has today is in its code.",
    ),
    "STREAMING_QUERY_EVOLUTION_ERROR.CANNOT_ENABLE_ON_EXISTING_CHECKPOINT": ErrorText(
        "Named sources need offset log version 2, and this checkpoint was begun without names.",
        (
            (
                "spark.sql.streaming.queryEvolution.enableSourceEvolution was switched on for an existing"
                " checkpoint."
            ),
            "Spark 4.2 ran the query with names: it keeps offset log version 1, which 4.3 refuses.",
        ),
        action=(
            "Switch spark.sql.streaming.queryEvolution.enableSourceEvolution off for this query, or start the"
            " query with a new checkpoint location and a start position for each source. The failed start"
            " wrote nothing."
        ),
    ),
    "SOURCE_OF_ANOTHER_KIND": ErrorText(
        "A source was handed the offset of another kind of source: the checkpoint has another source at its"
        " position.",
        (
            "The type of a source was changed (files instead of rate, Kafka instead of files).",
            "Two sources were swapped.",
            "A source was added in front.",
            "The line of the source in the offset file was damaged or edited.",
        ),
        action=(
            "Put the sources back into the order and the kinds that the checkpoint has, or start the query"
            " with a new checkpoint location and a start position for each."
        ),
        unseen="Which sources the query has today is in its code.",
    ),
    "STREAMING_UNFINISHED_REPARTITION_DETECTED": ErrorText(
        "A repartition of the state was begun and did not end; the query does not start until it has.",
        (
            "The repartition was interrupted.",
            "It was refused (a state store other than RocksDB, no state) and left its offset file behind.",
        ),
    ),
    "CANNOT_LOAD_CHECKPOINT_FILE_MANAGER": ErrorText(
        "The class that reads and writes the checkpoint could not be set up for this location.",
        (
            "spark.sql.streaming.checkpointFileManagerClass names a class that is not there.",
            "The file system of the location is not on the class path.",
        ),
        action=(
            "Remove the setting or add the library, then restart the query. The checkpoint was not touched."
        ),
        unseen="Settings and libraries of the cluster are not in the files.",
    ),
    "CHECKPOINT_PATH_ESCAPED": ErrorText(
        "There are two checkpoint directories for this query: one with %20 and the like in its name, as Spark"
        " before 3.0 wrote it, and the right one.",
        ("The query was begun with Spark 2.x on a path with blanks or special characters.",),
        action=(
            "Decide which of the two directories is this query's checkpoint, back up both, and give the"
            " query that one as its checkpointLocation, or a copy of it at a location without such"
            " characters."
        ),
    ),
    "SINK_LOG_PATH_ESCAPED": ErrorText(
        "There are two _spark_metadata directories for the output: one with %20 and the like in its name, as"
        " Spark before 3.0 wrote it, and the right one.",
        ("The query was begun with Spark 2.x on a path with blanks or special characters.",),
        action=(
            "Decide which of the two directories is the log of this output, and let the query write to a"
            " new output directory, whose path has no such characters."
        ),
        unseen="The output directory is not part of the checkpoint.",
    ),
    "NO_RECOVERY_FROM_CHECKPOINT": ErrorText(
        "A query of this kind (the memory sink, or a console in some output modes) cannot resume from a"
        " checkpoint.",
        ("The checkpoint was made by another query or sink.",),
        action=(
            "Give the query a new, empty checkpointLocation or none; do not delete the old one before you"
            " know whose it is."
        ),
        unseen="Which sink the query has is in its code.",
    ),
}
