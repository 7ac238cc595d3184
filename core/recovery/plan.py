"""The plan of an option: ordered steps, and for each source where it stands now and where the new checkpoint
begins."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis.findings.liveness import just_planned
from core.checkpoint.pipeline_flow import PipelineFlow
from core.messages import say
from core.messages.words import NOT_KNOWN, capital
from core.recovery.amounts import amount
from core.recovery.answers import OptionId
from core.recovery.context import RecoveryContext, SourcePosition
from core.recovery.model import BeforeAfter, PlanStep
from core.recovery.pipeline_amounts import read_amount
from core.recovery.places import new_output
from core.recovery.recipe import Recipe, SourceStart
from core.recovery.repairs import repair_of
from core.recovery.restart import continues_with_new_code


@dataclass(frozen=True, slots=True)
class Plan:
    """What the code of this option does, in order. ``caution``: sentences that must stand beside it."""

    option: OptionId
    steps: tuple[PlanStep, ...]
    before_after: tuple[BeforeAfter, ...]
    caution: tuple[str, ...]


def plan(context: RecoveryContext, made: Recipe) -> Plan:
    """The plan of one option; without steps when it cannot be done."""
    if not made.possible:
        return Plan(made.option, (), (), ())
    if made.method == "from_start" and context.is_pipeline:
        starts = tuple(_before_after(context, made, start) for start in made.starts)
        steps = _pipeline_refresh(made) if context.flow is None else _flow_refresh(context.flow)
        return Plan(made.option, steps, starts, made.caution)
    if made.method == "restart":
        return Plan(made.option, _restart(context), (), made.caution)
    repair = repair_of(made.option)
    if repair is not None:
        return Plan(made.option, repair.steps(context), repair.before_after(context), made.caution)
    middle = {
        "start_options": _start_options,
        "seeded": _seeded,
        "warm_up": _state,
        "empty_state": _state,
        "from_start": _refresh,
        "pipeline": _pipeline,
    }[made.method or "from_start"](context, made)
    if made.method == "pipeline" or context.platform == "lakeflow":
        steps = tuple(middle)
    else:
        steps = (*_before(context), *middle, *_at_the_end(context, made))
    return Plan(
        made.option, steps, tuple(_before_after(context, made, start) for start in made.starts), made.caution
    )


def _restart(context: RecoveryContext) -> tuple[PlanStep, ...]:
    forecast = context.forecast
    first = forecast.batch_id if forecast is not None else None
    if context.platform == "lakeflow":
        start = say("recovery_plan.restart_pipeline")
    elif continues_with_new_code(context) or context.what_happened == "batch_fails":
        start = say("recovery_plan.restart_changed")
    else:
        start = say("recovery_plan.restart")
    running = just_planned(context.ck) if context.platform != "lakeflow" else None
    stop = (
        (PlanStep(say("recovery_plan.stop"), say("recovery_plan.stop_running_why", batch=running.batch_id)),)
        if running is not None
        else ()
    )
    return (
        *stop,
        PlanStep(start, say("recovery_plan.restart_why")),
        PlanStep(
            say("recovery_plan.watch_any") if first is None else say("recovery_plan.watch", batch=first),
            say("recovery_plan.watch_why"),
        ),
    )


def _pipeline_refresh(made: Recipe) -> tuple[PlanStep, ...]:
    backup = made.option == "backup_and_backfill"
    before = [PlanStep(say("recovery_plan.clone"), say("recovery_plan.clone_why"))] if backup else []
    after = (
        [PlanStep(say("recovery_plan.deploy_backfill"), say("recovery_plan.deploy_backfill_why"))]
        if backup
        else []
    )
    return (
        *before,
        PlanStep(say("recovery_plan.stop_update"), say("recovery_plan.stop_update_why")),
        PlanStep(say("recovery_plan.validate"), say("recovery_plan.validate_why")),
        *after,
        PlanStep(say("recovery_plan.refresh_update"), say("recovery_plan.refresh_update_why")),
        PlanStep(say("recovery_plan.wait"), say("recovery_plan.wait_refresh_why")),
    )


def _flow_refresh(flow: PipelineFlow) -> tuple[PlanStep, ...]:
    return (
        PlanStep(say("recovery_plan.stop_pipeline"), say("recovery_plan.stop_pipeline_why")),
        PlanStep(say("recovery_plan.copy_table", table=flow.table), say("recovery_plan.copy_table_why")),
        PlanStep(
            say("recovery_plan.flow_refresh", table=flow.table),
            say("recovery_plan.flow_refresh_why", place=flow.next_place),
        ),
        PlanStep(say("recovery_plan.verify_table"), say("recovery_plan.verify_refresh_why")),
    )


def _before(context: RecoveryContext) -> list[PlanStep]:
    if context.is_lost:
        return [PlanStep(say("recovery_plan.stop"), say("recovery_plan.stop_lost_why"))]
    return [
        PlanStep(say("recovery_plan.stop"), say("recovery_plan.stop_why", batch=context.last_committed)),
        PlanStep(say("recovery_plan.copy"), say("recovery_plan.copy_why")),
    ]


def _starts(made: Recipe) -> str:
    """Where every source begins."""
    starts = "; ".join(
        say("recovery_plan.source_starts", key=start.source.key, start=start.says) for start in made.starts
    )
    return f"{capital(starts)}."


def _start_options(context: RecoveryContext, made: Recipe) -> list[PlanStep]:
    steps = []
    if any(start.source.kind.asks == "broker" for start in made.starts):
        steps.append(PlanStep(say("recovery_plan.ask_broker"), say("recovery_plan.ask_broker_why")))
    return [*steps, PlanStep(say("recovery_plan.start_empty"), _starts(made))]


def _seeded(context: RecoveryContext, made: Recipe) -> list[PlanStep]:
    why = [_starts(made), say("recovery_plan.next_batch", batch=made.first_batch)]
    if made.keep_pending:
        why.append(say("recovery_plan.pending_carried_over", batch=context.pending))
    if made.keep_query_id:
        why.append(say("recovery_plan.query_id_kept"))
    return [
        PlanStep(say("recovery_plan.compare_sink"), say("recovery_plan.compare_sink_why")),
        PlanStep(say("recovery_plan.write_seeded"), " ".join(why)),
        PlanStep(say("recovery_plan.run_seeded"), say("recovery_plan.run_seeded_why")),
    ]


def _state(context: RecoveryContext, made: Recipe) -> list[PlanStep]:
    warm, amount_read = made.method == "warm_up", read_amount(context)
    steps = [PlanStep(say("recovery_plan.write_batch_0"), say("recovery_plan.write_batch_0_why"))]
    if not warm:
        steps.append(PlanStep(say("recovery_plan.mark_read"), say("recovery_plan.mark_read_why")))
    elif amount_read is None:
        steps.append(PlanStep(say("recovery_plan.warm_up"), say("recovery_plan.warm_up_all_why")))
    else:
        why = say("recovery_plan.warm_up_why", amount=amount_read)
        steps.append(PlanStep(say("recovery_plan.warm_up"), why))
    if warm and context.watermark_ms:
        why = say("recovery_plan.closing_why", batch=context.last_committed)
        steps.append(PlanStep(say("recovery_plan.closing"), why))
    if made.new_output:
        steps.append(PlanStep(say("recovery_plan.new_directory"), say("recovery_plan.new_directory_why")))
    return [*steps, PlanStep(say("recovery_plan.run_real"), "")]


def _refresh(context: RecoveryContext, made: Recipe) -> list[PlanStep]:
    backfill = made.option == "backup_and_backfill"
    compare = say(
        "recovery_plan.compare_source_backfill_why" if backfill else "recovery_plan.compare_source_why"
    )
    rename: str = say("recovery_plan.rename_why")
    if context.sink == "file":
        # Observed: after a rename Spark follows the old paths in _spark_metadata and finds no file.
        rename += f" {say('recovery_plan.absolute_paths')}"
    steps = [
        PlanStep(say("recovery_plan.compare_source"), compare),
        PlanStep(say("recovery_plan.rename"), rename),
        PlanStep(say("recovery_plan.run_earliest"), _starts(made)),
    ]
    into = new_output(context, made)
    if into is not None:
        left = say("recovery_plan.leave_output_why", place=into)
        steps[1] = PlanStep(say("recovery_plan.leave_output"), left)
    if context.is_lost:
        only = PlanStep(say("recovery_plan.rename_output"), say("recovery_plan.rename_output_why"))
        steps = [only, steps[-1]]
    if backfill:
        newer = context.sink == "foreach_merge"
        why = say("recovery_plan.backfill_newer_why" if newer else "recovery_plan.backfill_missing_why")
        steps.append(PlanStep(say("recovery_plan.backfill"), why))
    return steps


def _pipeline(context: RecoveryContext, made: Recipe) -> list[PlanStep]:
    deploy = (
        f"{say('recovery_plan.deploy_why')} {_starts(made)}"
        if made.starts
        else say("recovery_plan.deploy_why")
    )
    return [
        PlanStep(say("recovery_plan.deploy"), deploy),
        PlanStep(say("recovery_plan.stop_update"), say("recovery_plan.stop_update_why")),
        PlanStep(say("recovery_plan.validate"), say("recovery_plan.validate_why")),
        PlanStep(say("recovery_plan.start_update"), say("recovery_plan.start_update_why")),
        PlanStep(say("recovery_plan.wait"), say("recovery_plan.wait_why")),
    ]


def _at_the_end(context: RecoveryContext, made: Recipe) -> list[PlanStep]:
    if made.method == "from_start":
        verify = PlanStep(say("recovery_plan.verify_refresh"), say("recovery_plan.verify_refresh_why"))
    else:
        verify = PlanStep(say("recovery_plan.verify"), say("recovery_plan.verify_why"))
    why = "" if context.is_lost else say("recovery_plan.switch_why")
    return [verify, PlanStep(say("recovery_plan.switch"), why)]


def _before_after(context: RecoveryContext, made: Recipe, start: SourceStart) -> BeforeAfter:
    source = start.source
    before: dict[str, object] = {
        "after_batch": context.last_committed,
        "position": source.position,
        "says": source.says,
    }
    if source.pending is not None:
        planned = amount(source.pending) or NOT_KNOWN
        before["planned"] = {"batch": context.pending, "amount": planned}
    after: dict[str, object] = {
        "start": start.says,
        "options": dict(start.options),
        "first_batch": made.first_batch,
        "reads_again": _reads_again(context, made, source),
    }
    return BeforeAfter(source.key, before, after)


def _reads_again(context: RecoveryContext, made: Recipe, source: SourcePosition) -> str:
    read = amount(source.read_so_far)
    if made.method == "from_start":
        return read or say("recovery_plan.everything")
    if made.method == "warm_up":
        if read is None:
            return say("recovery_plan.old_data_unwritten")
        return say("recovery_plan.unwritten", amount=read)
    if context.pending is None:
        return say("recovery_plan.nothing")
    planned = amount(source.pending)
    if planned is None:
        return say("recovery_plan.pending_not_known", batch=context.pending)
    return say("recovery_plan.pending_amount", batch=context.pending, amount=planned)
