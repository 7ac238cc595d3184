"""All stateful operators were removed from the query: the checkpoint is kept, only its state is left out.

Observed on Spark 4.3 (deduplication, windows; HDFS-backed and RocksDB; foreachBatch and file sink): query id,
batch ids and positions continue, so sinks that skip committed batch ids stay exactly-once, and the batch that
the failed start planned runs with its planned end offsets. It fails while one stateful operator stays.
"""

from __future__ import annotations

from core.analysis.copy_forecast import why_copy_fails
from core.analysis.forecast import Forecast
from core.checkpoint.copies import without_state
from core.messages import say
from core.recovery.context import RecoveryContext
from core.recovery.copies import risks_that_stay, start_of_copy
from core.recovery.model import Cells, PlanStep, cell
from core.recovery.pipeline_amounts import not_emitted, pending_amount
from core.recovery.repairs.model import Effect, Judged, Repair
from core.recovery.repairs.sink_values import sink_constants
from core.recovery.sinks import Behaviour


def _judge(context: RecoveryContext) -> Judged:
    refused = _why_not(context)
    if refused is not None:
        return Judged(False, refused)
    caution: list[str] = [say("recovery_repairs.drop_keeps_repeats")] if _is_exact(context) else []
    if "symmetricHashJoin" in context.operators:
        caution.append(say("recovery_repairs.drop_same_sources", count=len(context.sources)))
    caution += risks_that_stay(_copy(context))
    return Judged(True, say("recovery_repairs.drop_possible"), tuple(caution))


def _why_not(context: RecoveryContext) -> str | None:
    if not context.ck.has_state:
        return say("recovery_repairs.drop_no_state")
    if context.stateful != "removed":
        return say("recovery_repairs.drop_still_stateful")
    if context.platform == "lakeflow":
        return say("recovery_repairs.not_in_a_pipeline")
    if context.unreadable is not None:
        return context.unreadable
    if context.sink_trouble:
        return say("recovery_repairs.sink_does_not_fit", trouble=context.sink_trouble)
    newest = context.newest_offset
    if newest and newest - 1 not in context.ck.offset_files:
        return say("recovery_repairs.offset_missing", newest=newest, missing=newest - 1)
    fails = why_copy_fails(_copy(context))
    return None if fails is None else say("recovery_repairs.copy_fails", sentence=fails)


def _copy(context: RecoveryContext) -> Forecast | None:
    """What the start of the copy does, for a query without state."""
    return start_of_copy(context, "without state", lambda: without_state(context.ck), operators=())


def _is_exact(context: RecoveryContext) -> bool:
    return not not_emitted(context)


def _loses(context: RecoveryContext) -> str:
    lost = not_emitted(context)
    return say("recovery_repairs.drop_loses", lost=lost) if lost else say("recovery_effects.nothing")


def _effect(context: RecoveryContext, behaviour: Behaviour) -> Effect:
    planned = pending_amount(context)
    if planned is None:
        repeats: str = say("recovery_effects.nothing")
    elif behaviour == "append":
        repeats = say("recovery_effects.pending_repeated", pending=context.pending, planned=planned)
    elif behaviour == "overwrite":
        repeats = say("recovery_effects.pending_replaced", pending=context.pending, planned=planned)
    else:
        repeats = say("recovery_effects.pending_carried_over", pending=context.pending, planned=planned)
    return Effect(repeats, _loses(context))


def _cells(context: RecoveryContext) -> Cells:
    possible = _judge(context)
    planned = pending_amount(context)
    reads = (
        say("recovery_options.reads_new")
        if planned is None
        else say("recovery_options.reads_pending", pending=context.pending, planned=planned)
    )
    left = (
        ""
        if context.state_bytes is None
        else say("recovery_options.state_left", size_bytes=context.state_bytes)
    )
    return (
        cell("low", say("recovery_repairs.drop_effort") if possible.possible else possible.why),
        cell("low", reads if possible.possible else "", left),
        cell("no"),
        cell("no", say("recovery_repairs.ids_continue")),
        cell("no"),
        cell("no", say("recovery_options.table_kept")),
    )


def _reason(context: RecoveryContext) -> str:
    return say("recovery_repairs.best_drop") if _is_exact(context) else ""


def _steps(context: RecoveryContext) -> tuple[PlanStep, ...]:
    return (
        PlanStep(say("recovery_plan.stop"), say("recovery_plan.stop_why", batch=context.last_committed)),
        PlanStep(say("recovery_repairs.copy_without_state"), say("recovery_repairs.copy_without_state_why")),
        PlanStep(say("recovery_repairs.verify_copy"), say("recovery_repairs.verify_copy_why")),
        PlanStep(say("recovery_repairs.start_changed"), say("recovery_repairs.start_changed_why")),
    )


REPAIR = Repair(
    id="drop_state",
    template="drop_state.py.j2",
    level="low",
    judge=_judge,
    cells=_cells,
    effect=_effect,
    mistake=lambda context: say("recovery_repairs.drop_mistake"),
    reason=_reason,
    steps=_steps,
    suffix=lambda context: f"without-state-after-batch-{context.last_committed}",
    constants=sink_constants,
    fields=("sink_path", "checkpoint_new"),
    asks_sink=True,
)
