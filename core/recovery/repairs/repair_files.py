"""Single files of the checkpoint are left out, written again or copied, in a copy of it; which ones
:mod:`core.recovery.file_repairs` decides, by the forecast."""

from __future__ import annotations

from dataclasses import replace

from core.analysis.forecast.model import Risk
from core.messages import say, say_of
from core.recovery.context import RecoveryContext
from core.recovery.file_repair_plan import FileRepair, FileRepairs
from core.recovery.file_repairs import file_repairs
from core.recovery.model import Cells, Constant, PlanStep, cell
from core.recovery.repairs.checkpoint_values import checkpoint_constants, why_verified
from core.recovery.repairs.model import Effect, Judged, Repair
from core.recovery.repairs.sink_values import sink_constants
from core.recovery.restart import matters_at_sink, repeats_and_loses
from core.recovery.sinks import Behaviour

KNOWS_ITS_QUERY = ("delta", "foreach_txn")
"""Sinks that recognize a batch by query id and batch id."""
RUNS_EVERY_BATCH = ("kafka", "foreach_append", "foreach_merge")
"""Sinks that take every batch, so that its state is written too."""


def _found(context: RecoveryContext) -> FileRepairs:
    if context.forecast is None:
        return FileRepairs(refused=say("recovery_options.restart_not_judged"))
    deep = context.what_happened == "damaged"
    return file_repairs(context.ck, context.forecast, context.connectors, "deep" if deep else "normal")


def _judge(context: RecoveryContext) -> Judged:
    if context.platform == "lakeflow":
        return Judged(False, say("recovery_repairs.not_in_a_pipeline"))
    found = _found(context)
    if not found.is_possible:
        return Judged(False, found.refused)
    if found.is_new_id and context.pending is not None and context.sink in KNOWS_ITS_QUERY:
        return Judged(False, say("file_repairs.new_id_and_pending", batch=context.pending))
    if found.makes_state_again and context.sink not in RUNS_EVERY_BATCH:
        return Judged(False, say("file_repairs.state_skipped", batch=found.again_from))
    caution = (
        [say("file_repairs.forecast_of_copy", sentence=found.forecast.sentence)] if found.forecast else []
    )
    if any(repair.does == "copy" for repair in found.repairs):
        caution.append(say("file_repairs.looks_rolled_back"))
    caution += [
        say("file_repairs.risk_stays", title=say_of("findings", "TITLES", risk), risk=risk)
        for risk in dict.fromkeys(_other_risks(found))
    ]
    files = [repair.file for repair in found.repairs]
    return Judged(True, say("file_repairs.possible", files=files), tuple(caution))


def _effect(context: RecoveryContext, behaviour: Behaviour) -> Effect:
    found, nothing = _found(context), say("recovery_effects.nothing")
    batch = found.again_from
    is_ahead = "SOURCE_LOG_AHEAD" in _other_risks(found)
    if found.reruns_planned or is_ahead or (batch is None and _other_risks(found)):
        return Effect(*repeats_and_loses(replace(context, forecast=found.forecast), behaviour))
    if batch is None or (behaviour == "batch_number_aware" and found.again_is_same):
        return Effect(nothing, nothing)
    last = found.again_to if found.again_to is not None else batch
    if behaviour == "overwrite":
        return Effect(say("file_repairs.again_replaced", ids=range(batch, last + 1)), nothing)
    if behaviour == "batch_number_aware":
        return Effect(nothing, say("file_repairs.again_refused", batch=batch))
    is_complete = found.again_is_same
    again = (
        say("file_repairs.again_repeated", batch=batch)
        if is_complete
        else say("file_repairs.again_may_repeat", ids=range(batch, last + 1))
    )
    if is_complete or not context.emits_in_steps:
        return Effect(again, nothing)
    return Effect(again, f"{nothing} {say('recovery_effects.other_steps')}")  # with newer input in one batch


def _reason(context: RecoveryContext) -> str:
    """Why it is the first choice: the copy starts, nothing else is wrong with it, and no complete batch comes
    again to a sink that would have it twice."""
    found = _found(context)
    complete = {repair.finding for repair in found.repairs if repair.file.startswith("commits/")}
    again = found.again_from is not None and bool(complete)
    matters = any(matters_at_sink(context, risk) for risk in _other(found))
    if context.is_sink_log_gone or matters or (again and context.behaviour in (None, "append")):
        return ""
    was = context.forecast
    if was is not None and was.outcome != "fail" and was.risk("STALE_SNAPSHOT") is not None:
        return say("file_repairs.best_stale")
    batch = unless_held(context)
    if batch is not None:
        return say("file_repairs.best_if_not_held", batch=batch)
    return say("file_repairs.best")


def unless_held(context: RecoveryContext) -> int | None:
    """The batch that is planned again with other end offsets, where the sink may skip batch IDs and was not
    asked whether it has this one: then the repair is not possible. None where nothing is open."""
    found, sink = _found(context), context.sink_state
    is_open = context.behaviour in (None, "batch_number_aware") and (sink is None or not sink.has_log)
    is_planned_anew = not found.again_is_same and not found.reruns_planned
    return found.again_from if is_open and is_planned_anew else None


def _other_risks(found: FileRepairs) -> list[str]:
    """The finding ids of the risks for the data that the repaired copy has still."""
    return [risk.id for risk in _other(found)]


def _other(found: FileRepairs) -> list[Risk]:
    risks = found.forecast.risks if found.forecast is not None else ()
    return [risk for risk in risks if risk.weight == "data_risk" and not _is_of_the_copy(risk.id, found)]


def _is_of_the_copy(risk: str, found: FileRepairs) -> bool:
    """Two equal offset files look like a rollback by hand; here the repair has made them."""
    return risk == "SET_BACK" and any(repair.does == "copy" for repair in found.repairs)


def _cells(context: RecoveryContext) -> Cells:
    judged, found = _judge(context), _found(context)
    repeats = _effect(context, context.behaviour or "append").repeats if judged.possible else ""
    count = say("file_repairs.count", files=len(found.repairs)) if judged.possible else judged.why
    return (
        cell("low", count),
        cell("low", say("recovery_backup.cost")),
        cell("no"),
        cell("idempotent_writers", repeats),
        cell("no"),
        cell("no", say("recovery_options.table_kept")),
    )


def _as_value(repair: FileRepair) -> dict[str, object]:
    return {
        "file": repair.file,
        "does": repair.does,
        "text": repair.text,
        "source": repair.source,
        "was": repair.was,
        "why": repair.why,
    }


def _constants(context: RecoveryContext) -> tuple[Constant, ...]:
    found = _found(context)
    return (
        Constant("REPAIRS", [_as_value(repair) for repair in found.repairs], say("recovery_code.repairs")),
        Constant("AGAIN_FROM", found.again_from, say("recovery_code.again_from")),
        Constant("AGAIN_IS_SAME", found.again_is_same, say("recovery_code.again_is_same")),
        *(each for each in sink_constants(context) if each.name != "SINK_IS_OURS"),
        *checkpoint_constants(context),
    )


def _steps(context: RecoveryContext) -> tuple[PlanStep, ...]:
    changes = [
        PlanStep(
            say_of("file_repairs", "DOES", repair.does, file=repair.file, source=repair.source), repair.why
        )
        for repair in _found(context).repairs
    ]
    return (
        PlanStep(say("recovery_plan.stop"), say("recovery_plan.stop_why", batch=context.last_committed)),
        PlanStep(say("file_repairs.copy"), say("file_repairs.copy_why")),
        *changes,
        PlanStep(say("file_repairs.verify"), why_verified(context)),
        PlanStep(say("recovery_backup.start"), say("recovery_backup.start_why")),
    )


REPAIR = Repair(
    id="repair_files",
    template="repair_files.py.j2",
    level="low",
    judge=_judge,
    cells=_cells,
    effect=_effect,
    mistake=lambda context: say("file_repairs.mistake"),
    reason=_reason,
    steps=_steps,
    suffix=lambda context: f"repaired-after-batch-{context.last_committed}",
    constants=_constants,
    fields=("sink_path", "checkpoint_new"),
    asks_sink=True,
)
