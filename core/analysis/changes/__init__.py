"""What a changed query does to this checkpoint, said before it is deployed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from core.analysis.changes import deployment_rules, source_rules, state_rules
from core.analysis.changes.asked import checked, every_value, parse_change
from core.analysis.changes.checklist import checklist
from core.analysis.changes.context import ChangeContext, Judge
from core.analysis.changes.model import (
    WHATS,
    AskedChange,
    Judged,
    SinkName,
    Verdict,
    What,
    WrittenQuery,
    worst,
)
from core.analysis.changes.plan_differences import Difference, PlansCompared, compare_plans
from core.analysis.changes.written_query import read_written_query
from core.analysis.forecast.model import least_sure
from core.analysis.forecast.versions import SUPPORTED, choose_spark
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.messages import Sentence, say

JUDGES: Mapping[What, Judge] = {
    "filter": state_rules.filter_rows,
    "projection": state_rules.projection,
    "reader_schema": state_rules.reader_schema,
    "rate_limit": deployment_rules.rate_limit,
    "trigger": deployment_rules.trigger,
    "query_name": deployment_rules.query_name,
    "output_types": deployment_rules.output_types,
    "sources": source_rules.number,
    "source_kind": source_rules.kind,
    "source_order": source_rules.order,
    "source_path": source_rules.path,
    "subscription": source_rules.subscription,
    "operators": deployment_rules.operators,
    "keys": state_rules.keys,
    "aggregates": state_rules.aggregates,
    "expressions": state_rules.expressions,
    "dedup_columns": state_rules.dedup_columns,
    "window": state_rules.window,
    "watermark": state_rules.watermark,
    "output_mode": state_rules.output_mode,
    "join_type": state_rules.join_type,
    "join_interval": state_rules.join_interval,
    "partitions": deployment_rules.partitions,
    "provider": deployment_rules.provider,
    "sink_kind": deployment_rules.sink_kind,
    "sink_path": deployment_rules.sink_path,
    "sink_topic": deployment_rules.sink_topic,
    "foreach_code": deployment_rules.foreach_code,
    "state_schema": state_rules.state_schema,
    "spark": deployment_rules.spark,
}


@dataclass(frozen=True, slots=True)
class ChangesReport:
    """What the query was, and a verdict for each change. ``spark`` is the version whose rules apply,
    ``today`` what the query as it is meets at its next start, ``compared`` the two query files, where the
    changes come out of these."""

    query: WrittenQuery
    changes: tuple[Judged, ...]
    worst: Verdict
    spark: str
    spark_why: str
    today: Sentence
    today_fails: bool
    checklist: tuple[Sentence, ...]
    not_checked: tuple[Sentence, ...]
    compared: PlansCompared | None = None

    def difference(self, change: Judged) -> Difference | None:
        """What it was and becomes in the two query files that were compared."""
        found = self.compared.differences if self.compared is not None else ()
        return next((d for d in found if (d.asked.what, d.asked.value) == (change.what, change.value)), None)

    @property
    def has_problems(self) -> bool:
        """Whether a change fails or is silently wrong, or the query does not start as it is either."""
        return self.today_fails or any(change.is_problem for change in self.changes)


def judge_changes(
    ck: Checkpoint,
    asked: Sequence[AskedChange] = (),
    spark: str | None = None,
    sink: SinkName | None = None,
    connectors: ConnectorAnswers | None = None,
    compared: PlansCompared | None = None,
) -> ChangesReport:
    """What each change does at the next start on this checkpoint, under the rules of one Spark version.

    Without ``asked`` every kind of change that can matter here is answered, with every plain value. ``spark``
    is the version that will run the query (default: as the forecast chooses); ``sink`` what it writes to,
    where somebody knows. With ``compared`` the changes are the differences of two query files, and then those
    that are asked about. Reads what the forecast reads, the schemas of the state and the logs of file
    sources; no JVM. Raises UnsupportedSparkError, StorageError, and UsageError for a value that is not
    understood.
    """
    chosen = choose_spark(ck, spark)
    if compared is not None and sink is None:
        sink = next((each for each in get_args(SinkName) if each == compared.sink), None)
    context = ChangeContext(
        ck, read_written_query(ck, sink), chosen.version, connectors or ConnectorAnswers()
    )
    differences = compared.differences if compared is not None else ()
    wanted = [checked(each) for each in (*(each.asked for each in differences), *asked)]
    is_asked = bool(wanted) or compared is not None
    found = [JUDGES[each.what](context, each) for each in (wanted if is_asked else _everything(context))]
    if compared is not None and compared.refused is not None:
        found = _refused(context, found, *compared.refused)
    if not is_asked:
        found = [each for each in found if each.rule not in ("no_such_source", "no_such_part", "other_sink")]
    today = context.today
    if ck.not_read:
        found = [replace(each, certainty=least_sure(each.certainty, "inferred")) for each in found]
    open_ends = [say("changes.open_code" if compared is None else "changes.open_code_files")]
    if sink is None:
        open_ends.append(say("changes.open_sink"))
    return ChangesReport(
        query=context.query,
        changes=tuple(found),
        worst=worst(tuple(each.verdict for each in found)),
        spark=str(chosen.version),
        spark_why=chosen.why,
        today=say(
            "changes.today_fails" if today.outcome == "fail" else "changes.today",
            sentence=str(today.sentence),
        ),
        today_fails=today.outcome == "fail",
        checklist=checklist(context),
        not_checked=tuple(open_ends),
        compared=compared,
    )


def _refused(c: ChangeContext, found: list[Judged], condition: str | None, text: str) -> list[Judged]:
    """What Spark itself says against the new query comes before what is said of its output mode."""
    if any(each.fails_at == "start" and each.condition == condition for each in found):
        return found
    made = c.judged(AskedChange("output_mode"), "refused_by_spark", text=text)
    return [replace(made, condition=condition), *(each for each in found if each.what != "output_mode")]


def _everything(c: ChangeContext) -> list[AskedChange]:
    """Every kind of change with its plain values; of other Sparks each that is supported."""
    found = [AskedChange(what, value) for what in WHATS for value in every_value(c.query, what)]
    found = [each for each in found if each.what != "spark"]
    return [*found, *(AskedChange("spark", str(version)) for version in SUPPORTED if version != c.spark)]


__all__ = [
    "WHATS",
    "AskedChange",
    "ChangesReport",
    "Judged",
    "PlansCompared",
    "SinkName",
    "What",
    "compare_plans",
    "judge_changes",
    "parse_change",
]
