"""Settings in offsets/N that Spark cannot set: it takes them over into the session at the start, before any
batch, for queries without state too. Observed with Spark 3.5, 4.0 and 4.3; only a hand writes such values."""

from __future__ import annotations

from core.analysis.forecast.context import RestartContext, Verdict, failed
from core.analysis.forecast.versions import V41
from core.checkpoint.model import OffsetEntry
from core.checkpoint.state_names import plain_number
from core.messages import say
from core.sparklogs.evidence import Evidence

PARTITIONS = "spark.sql.shuffle.partitions"
PARTITIONS_FROM_41 = "spark.sql.streaming.internal.stateStore.partitions"
POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
BOOLEANS = (
    "spark.sql.streaming.statefulOperator.useStrictDistribution",
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan",
)
_SIGNED = frozenset("+-")


def check_pinned_values(s: RestartContext, entry: OffsetEntry) -> Verdict | None:
    """The first pinned value that is none; None when every value that is looked at can be set."""
    at = Evidence(entry.evidence.path, 2)
    value = entry.conf.get(PARTITIONS)
    key = PARTITIONS_FROM_41 if s.version >= V41 else PARTITIONS
    if value is not None and (wrong := _not_a_number(value)) is not None:
        return _refused(s, at, wrong, PARTITIONS, key, value)
    policy = entry.conf.get(POLICY)
    if policy is not None and policy.lower() not in ("min", "max"):
        return _refused(s, at, "conf_policy", POLICY, POLICY, policy)
    for name in BOOLEANS:
        flag = entry.conf.get(name)
        if flag is not None and flag.strip().lower() not in ("true", "false"):
            return _refused(s, at, "conf_boolean", name, name, flag)
    return None


def _not_a_number(value: str) -> str | None:
    text = value.strip()
    number = plain_number(text.lstrip("".join(_SIGNED)) if text[:1] in _SIGNED else text)
    if number is None:
        return "conf_number"
    return "conf_not_positive" if number == 0 or text.startswith("-") else None


def _refused(s: RestartContext, at: Evidence, error: str, key: str, named: str, value: str) -> Verdict:
    why = say("forecast_steps.value_refused", at=str(at), key=key, value=value[:60])
    return failed(s, error, "SETTINGS_CHANGED", why, at, details={"key": named, "value": value})
