"""A verified copy of the checkpoint, which can be restored; the query may run meanwhile.

Observed on Spark 4.3 with busy queries (HDFS-backed, RocksDB with and without changelogs): copied directory
by directory in the reverse of the order in which Spark writes, and without the offsets after the batch that
follows the newest copied commit, the copy starts and the rows are exact.
"""

from __future__ import annotations

from core.messages import say
from core.recovery.context import RecoveryContext
from core.recovery.model import Cells, PlanStep, cell
from core.recovery.repairs.checkpoint_values import checkpoint_constants, why_verified
from core.recovery.repairs.model import Effect, Judged, Repair
from core.recovery.sinks import Behaviour


def _judge(context: RecoveryContext) -> Judged:
    if context.platform == "lakeflow":
        return Judged(False, say("recovery_repairs.not_in_a_pipeline"))
    if context.last_committed is None:
        return Judged(False, say("recovery_backup.nothing_committed"))
    forecast = context.forecast
    damaged = forecast is not None and forecast.outcome == "fail"
    caution = (
        (say("recovery_backup.start_fails", sentence=forecast.sentence),) if forecast and damaged else ()
    )
    return Judged(True, say("recovery_backup.possible"), caution)


def _effect(context: RecoveryContext, behaviour: Behaviour) -> Effect:
    return Effect(say("recovery_effects.nothing"), say("recovery_effects.nothing"))


def _cells(context: RecoveryContext) -> Cells:
    judged = _judge(context)
    return (
        cell("low", say("recovery_backup.effort") if judged.possible else judged.why),
        cell("low", say("recovery_backup.cost")),
        cell("no", say("recovery_backup.only_reads")),
        cell("no"),
        cell("no"),
        cell("no", say("recovery_options.all_kept")),
    )


def _steps(context: RecoveryContext) -> tuple[PlanStep, ...]:
    return (
        PlanStep(say("recovery_backup.copy"), say("recovery_backup.copy_why")),
        PlanStep(say("recovery_backup.cut"), say("recovery_backup.cut_why")),
        PlanStep(
            say("recovery_backup.verify_unread")
            if context.has_state and context.spark_without_reader
            else say("recovery_backup.verify"),
            why_verified(context),
        ),
        PlanStep(say("recovery_backup.manifest"), say("recovery_backup.manifest_why")),
    )


REPAIR = Repair(
    id="backup",
    template="backup.py.j2",
    level="low",
    judge=_judge,
    cells=_cells,
    effect=_effect,
    mistake=lambda context: say("recovery_backup.mistake"),
    reason=lambda context: "",
    steps=_steps,
    suffix=lambda context: f"backup-batch-{context.last_committed}",
    constants=checkpoint_constants,
    fields=("backup_to",),
    place="backup_to",
)
