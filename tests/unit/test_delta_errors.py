"""Every error that a Delta source or sink was seen to raise has an entry of its own in the error translator."""

from __future__ import annotations

import pytest

from core.analysis.errors import explain
from core.analysis.errors.meanings import meaning_of
from core.analysis.forecast import delta_errors

OTHER = meaning_of("NO_SUCH_CONDITION")

# Starts and restarts, schema changes and sinks, as observed with Delta 4.4 on Spark 4.2.
SEEN = [
    "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION",
    "DELTA_INVALID_SOURCE_OFFSET_FORMAT",
    "DELTA_INVALID_SOURCE_VERSION",
    "DELTA_LOG_FILE_NOT_FOUND",
    "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE",
    "DELTA_METADATA_MISMATCH",
    "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
    "DELTA_SCHEMA_CHANGED_WITH_VERSION",
    "DELTA_SCHEMA_NOT_SET",
    "DELTA_SOURCE_IGNORE_DELETE",
    "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
    "DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET",
    "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION",
    "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG",
    "DELTA_STREAMING_METADATA_EVOLUTION",
    "DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT",
    "DELTA_STREAMING_TRAILING_COMMIT_MISSING",
    "DELTA_TIMESTAMP_GREATER_THAN_COMMIT",
    "DELTA_TRUNCATED_TRANSACTION_LOG",
    "DELTA_VERSIONS_NOT_CONTIGUOUS",
    "DELTA_VERSION_NOT_FOUND",
    "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
    "FAILED_READ_FILE.FILE_NOT_EXIST",
]


@pytest.mark.parametrize("condition", SEEN)
def test_a_condition_that_was_seen_is_explained(condition: str) -> None:
    answer = explain(
        f"org.apache.spark.sql.delta.DeltaIllegalStateException: [{condition}] Something about version 3."
        " SQLSTATE: 42K03"
    )
    assert answer.name == condition and meaning_of(condition) is not OTHER


def test_every_error_that_the_forecast_can_name_is_explained() -> None:
    conditions = {form.condition for form in delta_errors._FORMS.values() if form.condition}
    assert conditions <= set(SEEN)


def test_a_data_file_that_delta_misses_is_a_missing_input_file() -> None:
    meant = meaning_of("DELTA_FILE_NOT_FOUND_DETAILED")
    assert meant is meaning_of("FAILED_READ_FILE.FILE_NOT_EXIST")


def test_a_missing_data_file_is_told_from_an_unreadable_one() -> None:
    assert meaning_of("FAILED_READ_FILE.FILE_NOT_EXIST") is not meaning_of("FAILED_READ_FILE")
    assert "VACUUM" in " ".join(meaning_of("FAILED_READ_FILE.FILE_NOT_EXIST").reasons)
