"""How failures of the state read in each Spark version; see :mod:`core.analysis.forecast.errors`."""

from __future__ import annotations

from core.analysis.forecast.error_form import OLD_MAX_VERSION, VERSION_TOO_HIGH, ErrorForm
from core.analysis.forecast.versions import V33, V34, V35, V40, V41, V42, V43

_STATE = "CANNOT_LOAD_STATE_STORE"
_LOADING = "An error occurred during loading state. "
_NO_STATE_DIR = (
    "Cannot restart streaming query with stateful operators because the state directory is empty or missing."
)
_NEW_OPERATION = (
    "If the stream job is restarted with a new or updated state operation, please create a new checkpoint"
    " location"
)
_SCHEMA_OF_3 = ErrorForm(
    V33, None, "StateSchemaNotCompatible", "Provided schema doesn't match to the schema for existing state!"
)
_ROW_FORMAT_OF_3 = ErrorForm(
    V33, None, "InvalidUnsafeRowException", "The streaming query failed by state format invalidation."
)
_ROW_FORMAT_OF_4_0 = ErrorForm(V40, f"{_STATE}.UNCATEGORIZED", "SparkException", _LOADING, "58030")
_ROW_FORMAT_OF_4_1 = ErrorForm(
    V41, f"{_STATE}.VALUE_ROW_FORMAT_VALIDATION_FAILURE", "SparkException", _LOADING, "58030"
)

STATE_ERRORS: dict[str, tuple[ErrorForm, ...]] = {
    "stale_state_crc": (
        ErrorForm(V33, None, "FileAlreadyExistsException", "Rename destination {file} already exists"),
    ),
    "operators_differ": (
        ErrorForm(
            V40,
            "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
            "SparkRuntimeException",
            "Streaming stateful operator name does not match with the operator in state metadata.",
            "42K03",
        ),
    ),
    "state_folder_missing": (
        ErrorForm(
            V42,
            "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
            "SparkRuntimeException",
            _NO_STATE_DIR,
            "42K03",
        ),
    ),
    # Before 4.2 nobody looks for the folder, so the first file is what is missed; which one that is the files
    # can no longer tell.
    "state_files_missing": (
        ErrorForm(V33, None, "IllegalStateException", "Error reading delta file {location}/state/"),
        ErrorForm(
            V40,
            f"{_STATE}.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
            "SparkException",
            _LOADING + "Error reading delta file {location}/state/",
            "58030",
        ),
    ),
    "state_files_missing_rocksdb": (
        ErrorForm(V33, None, "FileNotFoundException", "File {location}/state/"),
        ErrorForm(
            V35, None, "IllegalStateException", "Error reading streaming state file of {location}/state/"
        ),
        ErrorForm(
            V40,
            f"{_STATE}.CANNOT_READ_STREAMING_STATE_FILE",
            "SparkException",
            _LOADING + "Error reading streaming state file of {location}/state/",
            "58030",
        ),
    ),
    "operator_metadata_missing": (
        ErrorForm(
            V40,
            "STDS_FAILED_TO_READ_OPERATOR_METADATA",
            "StateDataSourceReadOperatorMetadataFailure",
            "Failed to read the operator metadata for checkpointLocation={location}/state/{operator} and"
            " batchId={batch}.",
            "42K03",
        ),
    ),
    "schema_cut": (ErrorForm(V33, None, "EOFException", ""),),
    "schema_version": (ErrorForm(V33, None, "IllegalStateException", OLD_MAX_VERSION), VERSION_TOO_HIGH),
    "path_not_found": (
        ErrorForm(V33, None, "AnalysisException", "Path does not exist: {path}"),
        ErrorForm(V34, "PATH_NOT_FOUND", "AnalysisException", "Path does not exist: {path}"),
        ErrorForm(V35, "PATH_NOT_FOUND", "AnalysisException", "Path does not exist: {path}", "42K03"),
    ),
    "families_without_zip": (_ROW_FORMAT_OF_4_0,),
    "class_not_found": (ErrorForm(V33, None, "ClassNotFoundException", "{name}"),),
    "delta_missing": (
        ErrorForm(
            V33, None, "IllegalStateException", "Error reading delta file {file} of HDFSStateStoreProvider"
        ),
        ErrorForm(
            V40,
            f"{_STATE}.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
            "SparkException",
            _LOADING + "Error reading delta file {file} of HDFSStateStoreProvider",
            "58030",
        ),
    ),
    "rocksdb_missing": (
        ErrorForm(V33, None, "FileNotFoundException", "File {zip} does not exist"),
        ErrorForm(
            V35,
            None,
            "IllegalStateException",
            "Error reading streaming state file of {file} does not exist. " + _NEW_OPERATION,
        ),
        ErrorForm(
            V40,
            f"{_STATE}.CANNOT_READ_STREAMING_STATE_FILE",
            "SparkException",
            _LOADING + "Error reading streaming state file of {file} does not exist. " + _NEW_OPERATION,
            "58030",
        ),
    ),
    "state_file_damaged": (
        ErrorForm(V33, None, "EOFException", ""),  # of an empty file
        ErrorForm(V40, f"{_STATE}.UNCATEGORIZED", "SparkException", _LOADING, "58030"),
    ),
    # Files of one codec, unpacked with another: what the other one says first.
    "state_not_zstd": (
        ErrorForm(V33, None, "ZstdIOException", "Unknown frame descriptor"),
        ErrorForm(V40, f"{_STATE}.UNCATEGORIZED", "SparkException", _LOADING, "58030"),
    ),
    "state_not_lz4": (
        ErrorForm(V33, None, "IOException", "Stream is corrupted"),
        ErrorForm(V40, f"{_STATE}.UNCATEGORIZED", "SparkException", _LOADING, "58030"),
    ),
    "state_not_of_codec": (
        ErrorForm(V33, None, None, ""),
        ErrorForm(V40, f"{_STATE}.UNCATEGORIZED", "SparkException", _LOADING, "58030"),
    ),
    "state_zip_damaged": (
        ErrorForm(
            V33, None, "NoSuchFileException", ""
        ),  # of an empty zip: the file "metadata" that should have come out of it
        ErrorForm(V40, f"{_STATE}.UNCATEGORIZED", "SparkException", _LOADING, "58030"),
    ),
    "sst_missing": (
        ErrorForm(V33, None, "FileNotFoundException", "File {file} does not exist"),
        ErrorForm(V40, f"{_STATE}.UNCATEGORIZED", "SparkException", _LOADING, "58030"),
    ),
    "state_content_damaged": (  # to 3.5 the bare exception of whatever met the damage
        ErrorForm(V33, None, None, ""),
        ErrorForm(V40, f"{_STATE}.UNCATEGORIZED", "SparkException", _LOADING, "58030"),
    ),
    "sst_size": (
        ErrorForm(V33, None, "IllegalStateException", "Copied"),
        ErrorForm(V40, f"{_STATE}.UNEXPECTED_FILE_SIZE", "SparkException", _LOADING, "58030"),
    ),
    "schema_no_type": (
        ErrorForm(
            V33, "UNSUPPORTED_DATATYPE", "SparkIllegalArgumentException", "Unsupported data type ", "0A000"
        ),
    ),
    "schema_damaged": (ErrorForm(V33, None, None, ""),),
    "base_snapshot_missing": (
        ErrorForm(
            V40,
            f"{_STATE}.CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT",
            "SparkException",
            _LOADING + "Cannot find a base snapshot checkpoint",
            "58030",
        ),
        ErrorForm(V42, f"{_STATE}.UNCATEGORIZED", "SparkException", _LOADING, "58030"),
    ),
    "commit_ids_other_version": (
        ErrorForm(
            V40,
            f"{_STATE}.CANNOT_READ_STREAMING_STATE_FILE",
            "SparkException",
            _LOADING + "Error reading streaming state file of {file} does not exist. " + _NEW_OPERATION,
            "58030",
        ),
    ),
    "ids_over_hdfs": (ErrorForm(V40, None, "NullPointerException", ""),),
    "join_inconsistent": (
        ErrorForm(V33, None, "NullPointerException", ""),
        ErrorForm(
            V42,
            "STREAM_STREAM_JOIN_INCONSISTENT_STATE.NULL_VALUE",
            "StreamStreamJoinInconsistentStateNullValue",
            "Detected inconsistency in stream-stream join state.",
            "XXKST",
        ),
    ),
    "ids_of_fewer": (
        ErrorForm(V40, None, "ArrayIndexOutOfBoundsException", "out of bounds for length {count}"),
    ),
    "checkpoint_ids_not_supported": (
        ErrorForm(
            V43,
            "STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED",
            "StateStoreCheckpointIdsNotSupported",
            "HDFSBackedStateStoreProvider does not support checkpointFormatVersion > 1",
            "KD002",
        ),
    ),
    "key_schema": (
        _SCHEMA_OF_3,
        ErrorForm(
            V40,
            "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
            "StateStoreKeySchemaNotCompatible",
            "Provided key schema does not match existing state key schema.",
            "XXKST",
        ),
    ),
    "no_transform": (
        ErrorForm(V33, None, "AttributeError", "'GroupedData' object has no attribute 'transformWithState'"),
    ),
    "schema_file_missing": (ErrorForm(V40, None, "FileNotFoundException", "File {file} does not exist"),),
    "value_schema": (
        _SCHEMA_OF_3,
        ErrorForm(
            V40,
            "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
            "StateStoreValueSchemaNotCompatible",
            "Provided value schema does not match existing state value schema.",
            "XXKST",
        ),
    ),
    "unfinished_repartition": (
        ErrorForm(
            V42,
            "STREAMING_UNFINISHED_REPARTITION_DETECTED",
            "SparkException",
            "The latest batch {batch} is for an unfinished state repartitioning i.e. last committed batch is:"
            " {committed}).",
            "55019",
        ),
    ),
    "evolution_on_v1": (
        ErrorForm(
            V43,
            "STREAMING_QUERY_EVOLUTION_ERROR.CANNOT_ENABLE_ON_EXISTING_CHECKPOINT",
            "SparkUnsupportedOperationException",
            "Cannot enable streaming source evolution on a checkpoint that was created without it.",
            "42KDE",
        ),
    ),
    "rocksdb_too_new": (
        ErrorForm(V33, None, "RocksDBException", "unknown checksum type 4 from footer of {file}"),
    ),
    "key_of_another_layout": (
        _ROW_FORMAT_OF_3,
        _ROW_FORMAT_OF_4_0,
        ErrorForm(V41, f"{_STATE}.KEY_ROW_FORMAT_VALIDATION_FAILURE", "SparkException", _LOADING, "58030"),
    ),
    "row_checksum_unknown": (_ROW_FORMAT_OF_3, _ROW_FORMAT_OF_4_0, _ROW_FORMAT_OF_4_1),
    "row_checksum_on_rocksdb": (
        _ROW_FORMAT_OF_3,
        ErrorForm(
            V40,
            "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE",
            "StateStoreValueRowFormatValidationFailure",
            "The streaming query failed to validate written state for value row.",
            "XX000",
        ),
        _ROW_FORMAT_OF_4_1,
    ),
}
