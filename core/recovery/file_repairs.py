"""Which single files of a checkpoint can be repaired exactly, and what the next start does then.

A repair is planned only for damage that the forecast itself names, one after the other: after each the
forecast is made again of the checkpoint as it would be then (nothing is written for that). The plan counts
only when the last of these forecasts says that the query starts. Every rule was observed on Spark 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from core.analysis.forecast import Forecast, Level, read_forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.messages import say, say_of
from core.recovery.file_repair_plan import CannotRepairError, FileRepairs, RepairPlan
from core.recovery.log_file_repairs import LOG_RULES
from core.recovery.state_file_repairs import STATE_RULES

MOST_ROUNDS = 12
"""So many faults, one behind the other, are repaired at most."""

RULES: Mapping[str, Callable[[RepairPlan, Forecast], None]] = {**LOG_RULES, **STATE_RULES}
"""By finding id; any other fault is not one of a single file."""


def file_repairs(
    ck: Checkpoint, forecast: Forecast, connectors: ConnectorAnswers, level: Level = "normal"
) -> FileRepairs:
    """The repairs of single files that make the query start again, as far as each of them is exact.

    ``forecast`` is what the next start does now. With ``level`` deep the contents of the state files count
    too. Raises :class:`StorageError` when something cannot be listed.
    """
    return connectors.kept(
        ck, f"file_repairs {level}", lambda: _file_repairs(ck, forecast, connectors, level)
    )


def _file_repairs(
    ck: Checkpoint, forecast: Forecast, connectors: ConnectorAnswers, level: Level
) -> FileRepairs:
    plan = RepairPlan(ck, ck, connectors)
    answer = forecast
    if level == "deep" and forecast.outcome != "fail":
        answer = read_forecast(ck, forecast.spark, level=level, connectors=connectors).forecast
    for _ in range(MOST_ROUNDS):
        fault = _fault(answer)
        if fault is None:
            break
        try:
            RULES[fault](plan, answer)
        except CannotRepairError as why:
            if answer.outcome != "fail" and plan.repairs:
                break  # the query starts now; this risk was there before, and stays
            return FileRepairs(tuple(plan.repairs), str(why), answer)
        plan.ck = Checkpoint.open(ck.door.changed(plan.changes), ck.settings)
        answer = read_forecast(plan.ck, forecast.spark, level=level, connectors=connectors).forecast
    return _judged(plan, answer)


def _fault(answer: Forecast) -> str | None:
    """The finding id of what is repaired next; None when no rule is about what the forecast says."""
    if answer.outcome == "fail":
        return answer.reason if answer.reason in RULES else None
    return next((risk.id for risk in answer.risks if risk.id in RULES), None)


def _judged(plan: RepairPlan, answer: Forecast) -> FileRepairs:
    made = tuple(plan.repairs)
    if not made:
        if answer.outcome == "fail":
            instead = say_of("file_repairs", "INSTEAD", _instead(answer.reason or ""))
            return FileRepairs((), say("file_repairs.no_rule", sentence=answer.sentence, instead=instead))
        return FileRepairs((), say("file_repairs.nothing_wrong"))
    if answer.outcome not in ("resume", "rerun") or answer.certainty == "needs_input":
        return FileRepairs(made, say("file_repairs.still_fails", sentence=answer.sentence), answer)
    held = plan.sink.holds_up_to_batch if plan.sink is not None else None
    first = None if plan.again_is_same else plan.again_from
    if first is not None and held is not None and held >= first:
        return FileRepairs(made, say("file_repairs.sink_has_it", batch=first, newest=held), answer)
    reruns = answer.outcome == "rerun" and plan.again_from is None
    if reruns and answer.batch_id is not None:
        plan.again(answer.batch_id, is_same=True)
    if answer.risk("SOURCE_LOG_AHEAD") is not None and answer.batch_id is not None and not reruns:
        plan.again(answer.batch_id, is_same=False)  # logs were rolled back: the sink may have its rows
    return FileRepairs(
        made,
        forecast=answer,
        again_from=plan.again_from,
        again_to=plan.again_to,
        again_is_same=plan.again_is_same and plan.again_from is not None,
        reruns_planned=reruns,
        is_new_id=plan.is_new_id,
        makes_state_again=plan.makes_state_again,
    )


def _instead(reason: str) -> str:
    if reason.startswith(("STATE", "JOIN")):
        return "state"
    return "sources" if reason.startswith("SOURCE") else "other"
