"""How one failure reads from a version of Spark on, and wordings that several kinds of failure have."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis.forecast.versions import V40, Version


@dataclass(frozen=True, slots=True)
class ErrorForm:
    """One wording of a failure: holds from ``since`` until the next entry of the same key."""

    since: Version
    condition: str | None
    error_class: str | None
    message: str
    sqlstate: str | None = None


OLD_MAX_VERSION = (
    "UnsupportedLogVersion: maximum supported log version is v{highest}, but encountered v{version}."
)
VERSION_TOO_HIGH = ErrorForm(
    V40,
    "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION",
    "SparkIllegalStateException",
    "UnsupportedLogVersion. The maximum supported log version is v{highest}, but encountered v{version}.",
    "KD002",
)
