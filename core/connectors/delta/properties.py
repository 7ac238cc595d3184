"""Table properties of Delta that decide how long a log and its transactions live."""

from __future__ import annotations

import re
from collections.abc import Mapping

from core.messages import say

LOG_RETENTION = "delta.logRetentionDuration"
TRANSACTION_RETENTION = "delta.setTransactionRetentionDuration"
CLEANUP = "delta.enableExpiredLogCleanup"
DEFAULT_LOG_RETENTION = "interval 30 days"

_UNITS_MS: Mapping[str, float] = {
    "week": 7 * 86_400_000,
    "day": 86_400_000,
    "hour": 3_600_000,
    "minute": 60_000,
    "second": 1000,
    "millisecond": 1,
    "microsecond": 0.001,
}
_PART = re.compile(r"(-?[0-9]{1,12}(?:\.[0-9]{1,9})?)\s+([a-z]+?)s?(?=\s|$)")


def interval_ms(text: str) -> int | None:
    """``interval 30 days`` or ``30 days 2 hours`` in milliseconds; None when it is written otherwise (Delta
    allows no months)."""
    rest = text.strip().lower().removeprefix("interval").strip()
    parts = _PART.findall(rest)
    if not parts or _PART.sub("", rest).strip() or any(unit not in _UNITS_MS for _, unit in parts):
        return None
    return int(sum(float(amount) * _UNITS_MS[unit] for amount, unit in parts))


def retention_words(configuration: Mapping[str, str] | None) -> str:
    """How long the log is kept, for a person: "30 days (the default)"; empty when the table's properties are
    not known."""
    if configuration is None:
        return ""
    if configuration.get(CLEANUP, "true").lower() == "false":
        return say("delta.log_cleanup_off")
    given = configuration.get(LOG_RETENTION)
    length = (given or DEFAULT_LOG_RETENTION).strip().removeprefix("interval").strip()
    if given:
        return say("delta.log_retention", length=length)
    return say("delta.log_retention_default", length=length)
