"""What every rule looks at, and how a rule becomes an answer: the sentence with this checkpoint's values, the
condition of the Spark whose rules apply, and the forecast where that knows already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from core.analysis.changes.model import AskedChange, Judged, Recipe, WrittenOperator, WrittenQuery
from core.analysis.changes.rules import RULES, Action, Rollback
from core.analysis.forecast import Forecast, Query, forecast
from core.analysis.forecast.model import least_sure
from core.analysis.forecast.versions import Version
from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry
from core.connectors import ConnectorAnswers
from core.messages import Sentence, say, say_of
from core.sparklogs.evidence import Evidence

AGGREGATIONS = ("stateStoreSave", "sessionWindowStateStoreSaveExec")
DEDUPLICATIONS = ("dedupe", "dedupeWithinWatermark")
JOIN = "symmetricHashJoin"
USER_STATE = ("flatMapGroupsWithState", "applyInPandasWithState", "flatMapGroupsInPandasWithState")


@dataclass
class ChangeContext:
    """One checkpoint, the query that wrote it, and the Spark that will run the new one."""

    ck: Checkpoint
    query: WrittenQuery
    spark: Version
    connectors: ConnectorAnswers = field(default_factory=ConnectorAnswers)
    _asked: dict[str, Forecast] = field(default_factory=dict)

    def operators(self, *names: str) -> tuple[WrittenOperator, ...]:
        """The operators whose names begin with one of these (``transformWithState`` has variants)."""
        return tuple(op for op in self.query.operators if op.name is not None and op.name.startswith(names))

    @property
    def has_run(self) -> bool:
        """Whether any batch is committed or planned, so that there is something to continue."""
        return bool(self.ck.offset_ids or self.ck.commit_ids)

    @property
    def watermark_ms(self) -> int | None:
        """The watermark of the newest batch; None where the files do not tell."""
        newest = self.ck.offset(self.ck.offset_ids[-1]) if self.ck.offset_ids else None
        return newest.watermark_ms if isinstance(newest, OffsetEntry) else None

    def forecast(self, query: Query, spark: str | None = None) -> Forecast:
        """The next start of another query, or under another Spark. Each is asked once."""
        key = f"{query} {spark}"
        if key not in self._asked:
            self._asked[key] = forecast(self.ck, spark or str(self.spark), query, "normal", self.connectors)
        return self._asked[key]

    @property
    def today(self) -> Forecast:
        """The next start of the query as it is, with new data."""
        return self.forecast(Query(new_data="yes"))

    def judged(
        self,
        asked: AskedChange,
        rule: str,
        *evidence: Evidence,
        operator: WrittenOperator | None = None,
        **values: object,
    ) -> Judged:
        """The answer that a rule gives. ``values`` fill its sentence beside those that every rule has."""
        made = RULES[rule]
        common: dict[str, object] = {
            "spark": self.spark,
            "batch": self.query.next_batch,
            "pending": self.query.pending_batch,
            "operator": operator.id if operator is not None else 0,
            "name": (operator.name or say("changes.unnamed")) if operator is not None else "",
            "keys": columns_text(operator, keys=True),
            "columns": columns_text(operator, keys=False),
            "value": asked.value or say("changes.changed"),
            "condition": made.condition_under(self.spark) or say("changes.no_condition"),
            **values,
        }
        found = tuple(evidence) or ((operator.evidence,) if operator is not None else self.query.evidence)
        return Judged(
            what=asked.what,
            value=asked.value,
            verdict=made.verdict,
            rule=rule,
            sentence=say_of("changes", "RULES", rule, **common),
            action=say_of("changes", "ACTIONS", made.action, **common),
            rollback=say_of("changes", "ROLLBACKS", made.rollback, **common),
            certainty=made.certainty,
            fails_at=made.fails_at,
            condition=made.condition_under(self.spark),
            recipe=made.recipe,
            evidence=found,
        )

    def from_forecast(
        self,
        asked: AskedChange,
        answer: Forecast,
        remark: Sentence | None = None,
        *,
        recipe: Recipe | None,
        action: Action,
        way_back: Rollback | None = None,
    ) -> Judged:
        """What the forecast says about the changed query, as the answer to the change; ``recipe``, ``action``
        and ``way_back`` for when it is no good.

        A failure or a risk that the query as it is has too is no effect of the change: then the forecast
        cannot tell the two apart.
        """
        today = self.today
        said = str(answer.sentence)
        if answer.outcome == "fail":
            if today.outcome == "fail" and today.reason == answer.reason and today.error == answer.error:
                return self._as_sure(self.judged(asked, "forecast_open", sentence=said), answer)
            made = self.judged(asked, "forecast_fails", *answer.evidence, sentence=said)
            rollback = "as_before" if answer.fails_at == "start" else "runs_planned"
            return replace(
                made,
                rollback=say_of("changes", "ROLLBACKS", rollback, batch=self.query.next_batch),
                fails_at=answer.fails_at,
                condition=answer.error.condition if answer.error is not None else None,
                certainty=answer.certainty,
                recipe=recipe,
                action=say_of("changes", "ACTIONS", action),
            )
        new = [risk for risk in answer.risks if risk.weight == "data_risk" and risk not in today.risks]
        if new:
            others = [str(risk.sentence) for risk in new if str(risk.sentence) not in said]
            text = " ".join(dict.fromkeys([said, *others]))
            made = self.judged(asked, "forecast_risk", *new[0].evidence, sentence=text)
            said_action = say_of("changes", "ACTIONS", action)
            return replace(
                made,
                certainty=new[0].certainty,
                recipe=recipe,
                action=said_action,
                rollback=say_of("changes", "ROLLBACKS", way_back or RULES[made.rule].rollback),
            )
        if remark is not None:
            made = self.judged(asked, "forecast_remark", sentence=said, remark=str(remark))
            return self._as_sure(made, answer)
        return self._as_sure(self.judged(asked, "forecast_runs", sentence=said), answer)

    @staticmethod
    def _as_sure(made: Judged, answer: Forecast) -> Judged:
        """An answer that follows from the forecast is no surer than it."""
        return replace(made, certainty=least_sure(made.certainty, answer.certainty))


Judge = Callable[[ChangeContext, AskedChange], Judged]


def columns_text(operator: WrittenOperator | None, *, keys: bool) -> str:
    """The columns of an operator's state in words: ``user: string, day: date``."""
    if operator is None:
        return ""
    found = operator.keys if keys else operator.values
    if not operator.has_schema:
        return str(say("changes.columns_not_known"))
    shown = ", ".join(f"{column.name}: {column.type}" for column in found[:12])
    if not shown:
        return str(say("changes.no_columns"))
    return shown + (", ..." if len(found) > 12 else "")
