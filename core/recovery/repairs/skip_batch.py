"""A copy of the checkpoint that stands behind a planned batch which fails at every start.

Observed on Spark 4.3 (stateless; file sink and foreachBatch): the newest committed offsets get the end
offsets of the planned batch and its plan is left out. The next start plans a batch of the same batch ID with
what is new, so that no batch ID is missing in the log of a file sink. Exactly the rows of the planned batch
are never processed.
"""

from __future__ import annotations

from core.analysis.copy_forecast import why_copy_fails
from core.analysis.forecast import Forecast
from core.checkpoint.copies import behind_batch
from core.checkpoint.model import FileLogEntry
from core.checkpoint.sources.registry import parse
from core.messages import say
from core.messages.words import NOT_KNOWN
from core.recovery.amounts import amount
from core.recovery.context import RecoveryContext, SourcePosition
from core.recovery.copies import risks_that_stay, start_of_copy
from core.recovery.model import BeforeAfter, Cells, Constant, PlanStep, cell
from core.recovery.pipeline_amounts import pending_amount
from core.recovery.repairs.model import Effect, Judged, Repair
from core.recovery.repairs.sink_values import sink_constants
from core.recovery.restart import can_guard
from core.recovery.sinks import Behaviour


def _judge(context: RecoveryContext) -> Judged:
    refused = _why_not(context)
    if refused is not None:
        return Judged(False, refused)
    caution: list[str] = [say("recovery_repairs.skip_first_restart", batch=context.pending)]
    if context.sink not in ("file", "delta"):
        caution.append(say("recovery_repairs.skip_written_already", batch=context.pending))
    caution += risks_that_stay(_copy(context))
    return Judged(True, say("recovery_repairs.skip_possible", batch=context.pending), tuple(caution))


def _why_not(context: RecoveryContext) -> str | None:
    if context.platform == "lakeflow":
        return say("recovery_repairs.not_in_a_pipeline")
    if context.pending is None:
        return say("recovery_repairs.skip_nothing")
    if context.unreadable is not None:
        return context.unreadable
    if context.is_async or context.ck.is_continuous or not context.pending_is_next:
        return say("recovery_repairs.skip_sparse", batch=context.pending)
    if context.has_state or context.needs_state:
        return say("recovery_repairs.skip_state")
    if is_left_by_a_failed_start(context.forecast):
        return say("recovery_repairs.skip_failed_plan", batch=context.pending)
    if context.sink == "foreach_txn":
        return say("recovery_repairs.skip_txn", batch=context.pending)
    if context.sink_trouble:
        return say("recovery_repairs.sink_does_not_fit", trouble=context.sink_trouble)
    unverified = [source.label for source in context.sources if not source.kind.can_skip]
    if unverified:
        return say("recovery_repairs.skip_unverified", sources=unverified)
    unknown = [source.label for source in context.sources if source.pending_position is None]
    if unknown:
        return say("recovery_repairs.skip_source", sources=unknown)
    fails = why_copy_fails(_copy(context))
    return None if fails is None else say("recovery_repairs.copy_fails", sentence=fails)


def _copy(context: RecoveryContext) -> Forecast | None:
    """What the start of the copy does."""
    last, pending = context.last_committed, context.pending
    if last is None or pending is None:
        return None
    return start_of_copy(context, f"behind {pending}", lambda: behind_batch(context.ck, last, pending))


def is_left_by_a_failed_start(forecast: Forecast | None) -> bool:
    """Whether the planned batch is what a start that failed left behind, with partitions missing or an end
    below the start: committed, it makes the next start read them from the beginning (seen with 4.3)."""
    if forecast is None:
        return False
    return "FAILED_PLAN_LEFT" in (forecast.reason, *(risk.id for risk in forecast.risks))


def _lost(context: RecoveryContext) -> str:
    return pending_amount(context) or NOT_KNOWN


def _effect(context: RecoveryContext, behaviour: Behaviour) -> Effect:
    loses = say("recovery_repairs.skip_loses", batch=context.pending, amount=_lost(context))
    repeats = (
        say("recovery_repairs.skip_repeats", batch=context.pending)
        if behaviour == "append"
        else say("recovery_effects.nothing")
    )
    return Effect(repeats, loses)


def _cells(context: RecoveryContext) -> Cells:
    judged = _judge(context)
    return (
        cell("low", say("recovery_repairs.drop_effort") if judged.possible else judged.why),
        cell("low", say("recovery_options.reads_new") if judged.possible else ""),
        cell("no"),
        cell("no", say("recovery_repairs.ids_continue")),
        cell("no"),
        cell("no", say("recovery_options.table_kept")),
    )


def _reason(context: RecoveryContext) -> str:
    """Only where a person has said that the batch fails at every start."""
    if context.what_happened != "batch_fails":
        return ""
    reason: str = say("recovery_repairs.best_skip", batch=context.pending)
    return f"{reason} {say('recovery_repairs.skip_or_guard')}" if can_guard(context) else reason


def _files(context: RecoveryContext, source: SourcePosition) -> list[FileLogEntry]:
    """The input files of the planned batch, as far as the source log could be read."""
    found = context.ck.source(source.key)
    if found is None or not source.kind.has_own_log:
        return []
    read, planned = _log_id(source, source.position), _log_id(source, source.pending_position)
    return [entry for entry in found.context.file_log if read < entry.log_id <= planned]


def _log_id(source: SourcePosition, text: str | None) -> int:
    return -1 if text is None else source.kind.positions(parse(text)).get("log id", -1)


def _skipped(context: RecoveryContext) -> list[str]:
    """What is skipped, one sentence per source."""
    return [
        say(
            "recovery_repairs.skip_range",
            key=source.key,
            start=source.position or NOT_KNOWN,
            end=source.pending_position or NOT_KNOWN,
        )
        for source in context.sources
    ]


def _steps(context: RecoveryContext) -> tuple[PlanStep, ...]:
    batch = context.pending
    names = [entry.path for source in context.sources for entry in _files(context, source)]
    why = (
        say("recovery_repairs.skip_keep_files", count=len(names), names=names)
        if names
        else " ".join(_skipped(context))
    )
    return (
        PlanStep(say("recovery_plan.stop"), say("recovery_plan.stop_why", batch=context.last_committed)),
        PlanStep(say("recovery_repairs.skip_keep", batch=batch), why),
        PlanStep(
            say("recovery_repairs.skip_copy", batch=batch),
            say("recovery_repairs.skip_copy_why", committed=context.last_committed),
        ),
        PlanStep(say("recovery_repairs.verify_copy"), say("recovery_repairs.verify_copy_why")),
        PlanStep(say("recovery_repairs.start_same"), say("recovery_repairs.skip_start_why", batch=batch)),
    )


def _before_after(context: RecoveryContext) -> tuple[BeforeAfter, ...]:
    return tuple(
        BeforeAfter(
            source.key,
            {"after_batch": context.last_committed, "position": source.position, "says": source.says},
            {
                "start": source.kind.describe(parse(source.pending_position or "")),
                "options": {},
                "first_batch": context.pending,
                "skips": amount(source.pending) or NOT_KNOWN if source.pending is not None else NOT_KNOWN,
            },
        )
        for source in context.sources
    )


def _constants(context: RecoveryContext) -> tuple[Constant, ...]:
    logs: list[dict[str, object]] = [
        {
            "key": source.key,
            "directory": source.directory,
            "read": _log_id(source, source.position),
            "planned": _log_id(source, source.pending_position),
        }
        for source in context.sources
        if source.kind.has_own_log and source.directory is not None
    ]
    return (
        *sink_constants(context),
        Constant("SKIPPED", [str(line) for line in _skipped(context)], say("recovery_repairs.skip_constant")),
        Constant("FILE_SOURCES", logs, say("recovery_code.file_sources")),
    )


REPAIR = Repair(
    id="skip_batch",
    template="skip_batch.py.j2",
    level="low",
    judge=_judge,
    cells=_cells,
    effect=_effect,
    mistake=lambda context: say("recovery_repairs.skip_mistake"),
    reason=_reason,
    steps=_steps,
    suffix=lambda context: f"without-batch-{context.pending}",
    constants=_constants,
    before_after=_before_after,
    fields=("sink_path", "checkpoint_new"),
    asks_sink=True,
)
