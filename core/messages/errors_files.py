"""What the errors of files mean: input files, the file sink's log, the store of the checkpoint."""

from __future__ import annotations

from core.messages.error_text import ErrorText

_STORE = "Rights, network and quota of the store are not in the files."

TEXTS: dict[str, ErrorText] = {
    "INPUT_PATH_MOVED": ErrorText(
        "The file source's path is another one than that of the files in its log, which knows them by full"
        " path.",
        (
            "The input directory was moved, or the path in the query was changed.",
            "Another query, with another input directory, was started on this checkpoint.",
            "Two file sources were swapped in the query.",
        ),
        action=(
            "Make sure that it is this query's checkpoint: another query needs one of its own, and this"
            " one then continues. If it is, read from the old path, or from a wider one that contains it;"
            " else start the query with a new checkpoint location (reset)."
        ),
        unseen="The path that the query reads today is in its code.",
    ),
    "PATH_NO_URI": ErrorText(
        "Java does not take a path for a URI. A file source keeps the paths of its input files as URIs in its"
        " log, and the batch that reads such an entry fails each time.",
        (
            "An entry of a file source's log was edited by hand, or is damaged.",
            "A path or an option of the query has a character that belongs into no URI.",
        ),
        action=(
            "Restore a backup of the checkpoint (restore_backup), or correct the path or option of the query."
        ),
    ),
    "PATH_NOT_FOUND": ErrorText(
        "A path that the query reads does not exist. This comes before the checkpoint is looked at.",
        (
            "The input directory was deleted or renamed.",
            "A spelling mistake, or missing rights.",
        ),
        action="Correct the path, or create the directory, and restart the query.",
        unseen="The path that the query reads today is in its code.",
    ),
    "FAILED_READ_FILE.FILE_NOT_EXIST": ErrorText(
        "An input file of the batch is gone. The batch stays pending, so every start fails on it again.",
        (
            "The file was deleted or moved after the batch was planned.",
            (
                "The source is a Delta table, and VACUUM removed files that the query, being behind, still"
                " needed."
            ),
        ),
        action=(
            "Put the file back. With spark.sql.files.ignoreMissingFiles=true the batch is silently committed"
            " without its rows; of a Delta table take them by a batch read afterwards, if newer files"
            " (OPTIMIZE, MERGE) still have them."
        ),
        unseen="The input files are not part of the checkpoint.",
    ),
    "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH": ErrorText(
        "A column of an input file has another type than in the schema that the query gives its source. The"
        " batch stays pending, so every start fails on it again.",
        (
            "Whoever writes the files has changed the type of a column.",
            "The schema in the query was changed, and older files are still to be read.",
        ),
        action=(
            "Write the file again, under the same path, with the type that the query expects; or give the"
            " source a schema that fits this file, if every file that is still to be read has it. Then"
            " restart the query."
        ),
        unseen="The input files are not part of the checkpoint.",
    ),
    "FAILED_READ_FILE": ErrorText(
        "An input file could not be read. The batch stays pending, so every start fails on it again.",
        (
            "The file was deleted, replaced or cut after the batch was planned.",
            "Its contents are not of the expected format.",
        ),
        action=(
            "Put the file back. To continue without it, set spark.sql.files.ignoreMissingFiles or"
            " ignoreCorruptFiles for one batch: its rows are lost then."
        ),
        unseen="The input files are not part of the checkpoint.",
    ),
    "SINK_LOG_ENTRY_MISSING": ErrorText(
        "The log of the file sink (_spark_metadata in the output directory) lacks an entry, so Spark cannot"
        " read the output any more.",
        (
            "The output directory was changed, emptied or restored, and the checkpoint was kept.",
            "A query that wrote elsewhere before was given this file sink.",
        ),
        action=(
            "Read the files by an explicit list of paths. For the query: put _spark_metadata back, or use a"
            " new output directory with a new checkpoint."
        ),
        unseen="The output directory is not part of the checkpoint.",
    ),
    "BATCH_METADATA_NOT_FOUND": ErrorText(
        "The log of the file sink (_spark_metadata in the output directory) lacks an entry, and its entries"
        " are to be compacted.",
        (
            (
                "Output and checkpoint do not belong together: the output directory was changed, emptied or"
                " restored."
            ),
        ),
        action="Put _spark_metadata back, or use a new output directory with a new checkpoint.",
        unseen="The output directory is not part of the checkpoint.",
    ),
    "MALFORMED_STATE_IN_RATE_PER_MICRO_BATCH_SOURCE": ErrorText(
        "The positions of a rate-micro-batch source do not go forward.",
        (
            "The clock of the driver was set to an earlier time.",
            "Offset files were edited or restored.",
        ),
        action="Start the query with a new checkpoint location: such a source generates its rows again.",
    ),
    "PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR": ErrorText(
        "A data source written in Python failed; the message says in which of its functions.",
        (
            "Its code raised an exception.",
            "It was handed an offset that it did not write.",
        ),
        action="Correct the source and restart the query. The batch, if it was planned, is re-run.",
        unseen="What the source does is in its code.",
    ),
    "STORAGE_ACCESS_DENIED": ErrorText(
        "The store refused access.",
        (
            "A role or a right was changed.",
            "The session's credentials are those of another user.",
        ),
        action=(
            "Give the query the right to list, read, write and delete in the checkpoint (and in what it reads"
            " and writes), then restart the query."
        ),
        unseen=_STORE,
    ),
    "STORAGE_NO_DIRECTORY": ErrorText(
        "A directory could not be made: the checkpoint's own, or one of the sink (_spark_metadata).",
        (
            "The user of the query may not write there, or the path does not exist on this machine.",
            "A file has the name of the directory.",
            "The file system is read-only or full.",
        ),
        action="Make the place writable, or correct the path, and restart the query.",
        unseen=_STORE,
    ),
    "STORAGE_CREDENTIALS": ErrorText(
        "There are no credentials for the store, or they are not valid any more.",
        (
            "A token expired while the query ran.",
            "The provider of credentials is not configured.",
        ),
        action="Renew the credentials and restart the query.",
        unseen=_STORE,
    ),
    "STORAGE_NO_BUCKET": ErrorText(
        "The bucket does not exist.",
        ("A spelling mistake, or another region or endpoint.",),
        action="Correct the location and restart the query.",
        unseen=_STORE,
    ),
    "STORAGE_SLOW_DOWN": ErrorText(
        "The store asked for fewer requests.",
        ("Many small files: each batch writes one per state partition.",),
        action=(
            "Restart the query; with RocksDB, fewer shuffle partitions (new checkpoint) or longer batches"
            " there are fewer requests."
        ),
        unseen=_STORE,
    ),
    "STORAGE_UNREACHABLE": ErrorText(
        "A host could not be reached.",
        (
            "Network or DNS.",
            "A wrong endpoint.",
        ),
        action="Restart the query when it can be reached.",
        unseen=_STORE,
    ),
    "STORAGE_FULL": ErrorText(
        "There is no space left, or a quota is exceeded. A file that was being written may be cut.",
        ("The disk of the checkpoint, or of an executor, is full.",),
        action=(
            "Make room and restart the query; then have the checkpoint checked: look for empty and cut files."
        ),
        unseen="Which disk is full is not in the files.",
    ),
    "STORAGE_WRONG_FS": ErrorText(
        "A location was handed to the file system of another store: the scheme or the host in front of the"
        " path is not the one that is expected. Nothing was read or written.",
        (
            "Code or a library takes the default file system (fs.defaultFS) instead of that of the path;"
            " Spark 2.0 and 2.1.0 did so for checkpoints.",
            "The schemes are mixed: s3:// and s3a://, or two buckets, or a path without a scheme.",
        ),
        action=(
            "Write the location with its full scheme, the same one everywhere, and start again. If the stack"
            " names a library, use a version of it that looks the file system up by the path."
        ),
        unseen="The locations and libraries of the query are not in the files.",
    ),
    "HADOOP_ON_WINDOWS": ErrorText(
        "Hadoop's library for Windows (winutils.exe, hadoop.dll) is missing or does not fit, so no"
        " checkpoint can be written there. The start failed before the checkpoint was looked at.",
        ("HADOOP_HOME is not set, or its bin directory is not on the PATH.",),
        action=(
            "Install the library of the same Hadoop version and set HADOOP_HOME; or run Spark in WSL or a"
            " container, with the checkpoint on a file system of Linux."
        ),
        unseen="The machine that runs the query is not in the files.",
    ),
    "HDFS_LEASE_LOST": ErrorText(
        "HDFS took the file away from its writer while it was being written.",
        (
            "Two drivers write to the same checkpoint: the second one deleted or renamed the first one's"
            " temporary file.",
            "The writer stood still for longer than the lease lasts.",
            "The directory was deleted while the query ran.",
        ),
        action=(
            "Make sure that one query uses the checkpoint, then restart it: a batch that was planned is"
            " re-run."
        ),
        unseen="Which drivers run is not in the files.",
    ),
    "STORAGE_UNKNOWN_SCHEME": ErrorText(
        "Spark has no file system for this kind of location.",
        (
            "hadoop-aws (s3a://) or another library is missing.",
            "s3:// is used where only s3a:// is known.",
        ),
        action="Add the library of the same version as Spark's Hadoop, or correct the scheme.",
        unseen="The libraries of the cluster are not in the files.",
    ),
}
