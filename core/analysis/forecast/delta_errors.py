"""How Delta says that a source cannot go on: condition, class, SQLSTATE and the first words of the message.

All observed with Delta 4.4.0 on Spark 4.2.0. They come from Delta, not from Spark, so they do not follow
Spark's version; older Delta releases raise the same failures, some of them with other words or without a
condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from core.analysis.forecast.model import FailsAt, SparkError
from core.analysis.forecast.step_verdict import Verdict
from core.sparklogs.evidence import Certainty, Evidence


@dataclass(frozen=True, slots=True)
class _Form:
    condition: str | None
    error_class: str
    message: str
    sqlstate: str | None = None


_ILLEGAL = "DeltaIllegalStateException"
_MISMATCH = "MismatchedInputException"
_OTHER_FORMAT = _Form(
    "DELTA_INVALID_SOURCE_OFFSET_FORMAT", _ILLEGAL, "The stored source offset format is invalid", "XXKDS"
)
_FORMS: Mapping[str, _Form] = {
    "log_cleaned": _Form(
        "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
        _ILLEGAL,
        "Delta stream cannot resume from version {first}; transaction log starts at {found}.",
        "42K03",
    ),
    "trailing_missing": _Form(
        "DELTA_STREAMING_TRAILING_COMMIT_MISSING",
        _ILLEGAL,
        "Delta stream detected commits up to version {last} but files after version {after} are missing from"
        " the transaction log.",
        "42K03",
    ),
    "snapshot_gone": _Form(
        "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE",
        "DeltaFileNotFoundException",
        "If you never deleted it, it's likely your query is lagging behind.",
        "42K03",
    ),
    "version_not_found": _Form(
        "DELTA_VERSION_NOT_FOUND",
        "VersionNotFoundException",
        "Cannot time travel Delta table to version {version}. Available versions: [{oldest}, {newest}].",
        "22003",
    ),
    "other_table": _Form(
        "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
        _ILLEGAL,
        "The streaming query was reading from an unexpected Delta table (id = '{now}').",
        "55019",
    ),
    "not_contiguous": _Form("DELTA_VERSIONS_NOT_CONTIGUOUS", _ILLEGAL, "Versions (", "KD00C"),
    "truncated": _Form(
        "DELTA_TRUNCATED_TRANSACTION_LOG",
        "DeltaFileNotFoundException",
        "Unable to reconstruct state at version",
        "42K03",
    ),
    "ignore_delete": _Form(
        "DELTA_SOURCE_IGNORE_DELETE",
        "DeltaUnsupportedOperationException",
        "Detected deleted data (for example {file}) from streaming source at version {version}.",
        "0A000",
    ),
    "ignore_changes": _Form(
        "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
        "DeltaUnsupportedOperationException",
        "Detected a data update (for example {operation}",
        "0A000",
    ),
    "schema_change": _Form(
        "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG",
        "DeltaStreamingNonAdditiveSchemaIncompatibleException",
        "Streaming read is not supported on tables with read-incompatible schema changes",
        "42KD4",
    ),
    "file_gone": _Form(
        "FAILED_READ_FILE.FILE_NOT_EXIST",
        "SparkException",
        "Encountered error while reading file",
        "KD001",
    ),
    "source_version": _Form(
        "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION",
        _ILLEGAL,
        "Unsupported format. Expected version should be smaller than or equal to",
        "XXKDS",
    ),
    "source_version_other": _Form(
        "DELTA_INVALID_SOURCE_VERSION", _ILLEGAL, "sourceVersion({version}) is invalid", "XXKDS"
    ),
    "source_version_index": _Form(None, "AssertionError", "assertion failed: Index should never be -1"),
    "no_table": _Form(
        "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
        _ILLEGAL,
        "The streaming query was reading from an unexpected Delta table",
        "55019",
    ),
    # An offset that the reader refuses, by the reason.
    "broken": _OTHER_FORMAT,
    "text": _OTHER_FORMAT,
    "no_json": _Form(None, "JsonParseException", "Un"),
    "nothing": _Form(None, _MISMATCH, "No content to map due to end-of-input"),
    "null": _Form(None, "NullPointerException", "Cannot invoke"),
    "list": _Form(None, _MISMATCH, "Cannot deserialize value of type `org.apache.spark.sql.delta.sources."),
    "scalar": _Form(None, _MISMATCH, "Cannot construct instance of `org.apache.spark.sql.delta.sources."),
    "number": _Form(None, _MISMATCH, "Cannot deserialize value of type `long`"),
    "flag": _Form(None, _MISMATCH, "Cannot deserialize value of type `boolean`"),
    "id": _Form(None, _MISMATCH, "Cannot deserialize value of type `java.lang.String`"),
    "too_large": _Form(None, "JsonMappingException", "Numeric value ("),
}


def delta_error(key: str, **details: object) -> SparkError:
    """The error for the failure ``key`` with ``details`` filled in. KeyError for an unknown failure or a
    missing detail."""
    form = _FORMS[key]
    return SparkError(form.condition, form.error_class, form.message.format(**details), form.sqlstate)


def delta_failure(
    error: SparkError,
    reason: str,
    why: str,
    evidence: Iterable[Evidence],
    fails_at: FailsAt,
    certainty: Certainty = "certain",
) -> Verdict:
    """A step that fails with this error."""
    return Verdict(
        status="fails",
        evidence=tuple(evidence),
        certainty=certainty,
        error=error,
        reason=reason,
        why=why,
        fails_at=fails_at,
    )
