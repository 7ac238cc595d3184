"""A backup that the option ``backup`` made, copied into a new directory and verified.

Observed on Spark 4.3: a restored copy starts anywhere (only transformWithState and newer joins name their
schema files by the whole path, which is rewritten), and every batch after the backup is produced again.
"""

from __future__ import annotations

from core.messages import say
from core.recovery.context import RecoveryContext
from core.recovery.model import Cells, Constant, PlanStep, cell
from core.recovery.on_s3 import has_versions
from core.recovery.repairs.checkpoint_values import checkpoint_constants, not_asked_constant, why_verified
from core.recovery.repairs.model import Effect, Judged, Repair
from core.recovery.repairs.sink_values import sink_constants
from core.recovery.sinks import Behaviour


def _judge(context: RecoveryContext) -> Judged:
    if context.platform == "lakeflow":
        return Judged(False, say("recovery_repairs.not_in_a_pipeline"))
    older = say("recovery_backup.restore_older")
    if has_versions(context):
        caution = (older, say("recovery_backup.restore_versions"))
        return Judged(True, say("recovery_backup.restore_possible_s3"), caution)
    return Judged(True, say("recovery_backup.restore_possible"), (older,))


def _effect(context: RecoveryContext, behaviour: Behaviour) -> Effect:
    nothing = say("recovery_effects.nothing")
    if behaviour == "overwrite":
        return Effect(say("recovery_backup.again_replaced"), nothing)
    if behaviour == "append":
        return Effect(say("recovery_backup.again_repeated"), nothing)
    return Effect(nothing, say("recovery_backup.again_skipped"))


def _cells(context: RecoveryContext) -> Cells:
    judged = _judge(context)
    return (
        cell("low", say("recovery_backup.restore_effort") if judged.possible else judged.why),
        cell("medium", say("recovery_backup.restore_cost")),
        cell("no"),
        cell("idempotent_writers", say("recovery_backup.again_repeated")),
        cell("no"),
        cell("no", say("recovery_options.table_kept")),
    )


def _constants(context: RecoveryContext) -> tuple[Constant, ...]:
    return (
        Constant(
            "BACKUP",
            context.answers.get("backup_to"),
            say("recovery_code.backup_made"),
            say("recovery_code.need_backup_made"),
        ),
        *(each for each in sink_constants(context) if each.name != "SINK_IS_OURS"),
        Constant("NEW_QUERY_ID", False, say("recovery_code.new_query_id")),
        *checkpoint_constants(context),
        not_asked_constant(context),
    )


def _steps(context: RecoveryContext) -> tuple[PlanStep, ...]:
    return (
        PlanStep(say("recovery_plan.stop"), say("recovery_backup.stop_why")),
        PlanStep(say("recovery_backup.compare"), say("recovery_backup.compare_why")),
        PlanStep(say("recovery_backup.compare_sink"), say("recovery_backup.compare_sink_why")),
        PlanStep(say("recovery_backup.restore"), say("recovery_backup.restore_why")),
        PlanStep(say("recovery_backup.verify_restored"), why_verified(context)),
        PlanStep(say("recovery_backup.start"), say("recovery_backup.start_why")),
    )


REPAIR = Repair(
    id="restore_backup",
    template="restore_backup.py.j2",
    level="low",
    judge=_judge,
    cells=_cells,
    effect=_effect,
    mistake=lambda context: say("recovery_backup.restore_mistake"),
    reason=lambda context: "",
    steps=_steps,
    suffix=lambda context: "restored",
    constants=_constants,
    fields=("backup_to", "checkpoint_new", "sink_path"),
    asks_sink=True,
    needs_no_checkpoint=True,
)
