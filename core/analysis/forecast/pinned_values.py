"""Settings in offsets/N that Spark cannot set: it takes them over into the session at the start, before any
batch, for queries without state too. Observed with Spark 3.5, 4.0 and 4.3. Only a hand writes such values,
except the layout of join state: newer versions know more of them (3 under 3.5.9).

And one that may not be there: Spark 4.2.0 leaves the number of state partitions out of ``offsets/0`` of
version 2 (SPARK-59919)."""

from __future__ import annotations

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.step_verdict import Verdict, failed
from core.analysis.forecast.versions import V40, V41, V42, V43
from core.checkpoint.families import metadata_of
from core.checkpoint.model import OffsetEntry
from core.checkpoint.state import state_inventory
from core.checkpoint.state_names import plain_number
from core.messages import say
from core.sparklogs.evidence import Certainty, Evidence

PARTITIONS = "spark.sql.shuffle.partitions"
PARTITIONS_FROM_41 = "spark.sql.streaming.internal.stateStore.partitions"
JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
BOOLEANS = (
    "spark.sql.streaming.statefulOperator.useStrictDistribution",
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan",
)
_SIGNED = frozenset("+-")


def check_pinned_values(s: RestartContext, entry: OffsetEntry) -> Verdict | None:
    """The first pinned value that is none; None when every value that is looked at can be set, and none is
    missing that Spark asks for first."""
    at = Evidence(entry.evidence.path, 2)
    value = entry.conf.get(PARTITIONS)
    is_asked_for = value is None and entry.format_version == 2 and s.version >= V42
    missing = _without_partitions(s, at) if is_asked_for and s.with_state else None
    if missing is not None and missing.ok is False:
        return missing
    key = PARTITIONS_FROM_41 if s.version >= V41 else PARTITIONS
    if value is not None and (wrong := _not_a_number(value)) is not None:
        return _refused(s, at, wrong, PARTITIONS, key, value)
    policy = entry.conf.get(POLICY)
    if policy is not None and policy.lower() not in ("min", "max"):
        return _refused(s, at, "conf_policy", POLICY, POLICY, policy)
    layout = entry.conf.get(JOIN_FORMAT)
    if s.version < V40 and layout is not None and layout not in ("1", "2"):
        return _refused(s, at, "conf_policy", JOIN_FORMAT, JOIN_FORMAT, layout)
    for name in BOOLEANS:
        flag = entry.conf.get(name)
        if flag is not None and flag.strip().lower() not in ("true", "false"):
            return _refused(s, at, "conf_boolean", name, name, flag)
    return missing


def _without_partitions(s: RestartContext, at: Evidence) -> Verdict | None:
    """An offset file of version 2 that does not say into how many partitions the state is divided.

    For a query with state 4.2.1 and newer take the number from the operator metadata, and do not start where
    that has none either, also when no batch has written any yet. 4.2.0 takes the session's number and looks
    for rows in the wrong partitions when it is another one. Seen with 4.2.0, 4.2.1 and 4.3.0.
    """
    recorded = _recorded_partitions(s)
    if recorded is not None and s.version >= V43:
        return None
    if recorded is not None:
        told = say("forecast_steps.partitions_of_session", at=str(at), recorded=recorded)
        return Verdict(evidence=(at,), not_checked=(told,))
    if not s.is_stateful:
        if s.query.operators is not None:
            return None
        told = say("forecast_steps.partitions_if_stateful", at=str(at))
        return Verdict(evidence=(at,), not_checked=(told,))
    why = say("forecast_steps.partitions_nowhere", at=str(at))
    certainty: Certainty = "certain" if s.version >= V43 else "inferred"
    return failed(s, "partitions_nowhere", "STATE_DEFINITION_UNREADABLE", why, at, certainty=certainty)


def _recorded_partitions(s: RestartContext) -> int | None:
    """The number of state partitions by the operator metadata."""
    if not s.checkpoint.has_state:
        return None
    described = filter(None, map(metadata_of, state_inventory(s.checkpoint).operators))
    numbers = (store.partitions for each in described for store in each.stores)
    return next((number for number in numbers if number is not None), None)


def _not_a_number(value: str) -> str | None:
    text = value.strip()
    number = plain_number(text.lstrip("".join(_SIGNED)) if text[:1] in _SIGNED else text)
    if number is None:
        return "conf_number"
    return "conf_not_positive" if number == 0 or text.startswith("-") else None


def _refused(s: RestartContext, at: Evidence, error: str, key: str, named: str, value: str) -> Verdict:
    why = say("forecast_steps.value_refused", at=str(at), key=key, value=value[:60])
    return failed(s, error, "SETTINGS_CHANGED", why, at, details={"key": named, "value": value})
