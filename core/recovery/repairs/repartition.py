"""A copy of the checkpoint whose state lies in another number of shuffle partitions, which a checkpoint pins.

Observed on Spark 4.3: Spark repartitions state in RocksDB with a batch of its own behind the last one, which
has the same offsets and never reaches the sink. So no row is read again and none is lost. Two things it does
wrong without a word, so they are refused: the log of a file sink lacks the batch ID, and every reader of the
output fails (FileNotFoundException); the state of an aggregation without keys is moved out of partition 0,
where the query looks for it, and the totals begin again. And of a join with state format 4 it leaves values
that the query cannot read.
"""

from __future__ import annotations

from core.analysis.forecast.pinned_values import JOIN_FORMAT
from core.checkpoint.model import OperatorState
from core.checkpoint.state import PARTITIONS_KEY, state_inventory
from core.messages import say
from core.messages.words import NOT_KNOWN
from core.recovery.context import RecoveryContext
from core.recovery.model import BeforeAfter, Cells, Constant, PlanStep, cell
from core.recovery.repairs.model import Effect, Judged, Repair
from core.recovery.repairs.sink_values import sink_constants


def _partitions(context: RecoveryContext) -> int | None:
    """The answered number of partitions."""
    answered = context.answers.get("partitions")
    return None if answered is None else int(answered)


def _current(context: RecoveryContext) -> int | None:
    """The number of partitions that the newest committed batch has pinned."""
    text = _pinned(context, PARTITIONS_KEY)
    return int(text) if text.isascii() and text.isdigit() else None


def _pinned(context: RecoveryContext, setting: str) -> str:
    """The value of a setting that the newest committed batch has pinned; empty when there is none."""
    batch = context.last_committed
    entry = None if batch is None else context.ck.offset(batch)
    return str(getattr(entry, "conf", {}).get(setting, ""))


def _operators(context: RecoveryContext) -> tuple[OperatorState, ...]:
    return state_inventory(context.ck).operators if context.has_state else ()


def _judge(context: RecoveryContext) -> Judged:
    refused = _why_not(context)
    if refused is not None:
        return Judged(False, refused)
    caution = [say("recovery_repairs.repartition_needs")]
    if context.ck.written_by.at_least is None:
        caution.append(say("recovery_repairs.repartition_written_by"))
    if context.sink is None:
        caution.append(say("recovery_repairs.repartition_no_file_sink"))
    current, wanted = _current(context), _partitions(context)
    if wanted is None:
        return Judged(True, say("recovery_repairs.repartition_asks", current=current), tuple(caution))
    why = say("recovery_repairs.repartition_possible", current=current, wanted=wanted)
    return Judged(True, why, tuple(caution))


def _why_not(context: RecoveryContext) -> str | None:
    return _why_not_this_query(context) or _why_not_this_state(context)


def _why_not_this_query(context: RecoveryContext) -> str | None:
    if context.platform == "lakeflow":
        return say("recovery_repairs.not_in_a_pipeline")
    if not context.has_state:
        return say("recovery_repairs.repartition_no_state")
    if context.stateful != "unchanged":
        return say("recovery_repairs.repartition_other_query")
    if context.is_async or context.ck.is_continuous:
        return say("recovery_repairs.repartition_sparse")
    if context.last_committed is None:
        return say("recovery.nothing_committed")
    if context.newest_offset != context.last_committed:
        return say("recovery_repairs.repartition_pending", batch=context.newest_offset)
    if context.unreadable is not None:
        return context.unreadable
    if context.sink == "file":
        return say("recovery_repairs.repartition_file_sink", batch=context.last_committed + 1)
    if context.sink_trouble:
        return say("recovery_repairs.sink_does_not_fit", trouble=context.sink_trouble)
    return None


def _why_not_this_state(context: RecoveryContext) -> str | None:
    operators, current = _operators(context), _current(context)
    others = sorted({each.provider for each in operators if each.provider != "rocksdb"})
    if others == ["hdfs"]:
        return say("recovery_repairs.repartition_hdfs")
    if others:
        return say("recovery_repairs.repartition_provider")
    if any(each.metadata_raw is None for each in operators):
        return say("recovery_repairs.repartition_no_metadata")
    if any(each.name == "symmetricHashJoin" for each in operators) and _pinned(context, JOIN_FORMAT) == "4":
        return say("recovery_repairs.repartition_join_format")
    if current is None:
        return say("recovery_repairs.repartition_current_unknown", batch=context.last_committed)
    if _partitions(context) == current:
        return say("recovery_repairs.repartition_same", current=current)
    if any(each.expected_partitions != current for each in operators):
        return say("recovery_repairs.repartition_one_partition")
    if context.forecast is not None and context.forecast.outcome == "fail":
        return say("recovery_repairs.repartition_damaged", reason=context.forecast.sentence)
    return None


def _cells(context: RecoveryContext) -> Cells:
    judged = _judge(context)
    size = context.state_bytes
    cost = "" if size is None else say("recovery_repairs.repartition_cost", size_bytes=size)
    return (
        cell("low", say("recovery_repairs.repartition_effort") if judged.possible else judged.why),
        cell("low", cost if judged.possible else ""),
        cell("no"),
        cell("no", say("recovery_repairs.ids_continue")),
        cell("no"),
        cell("no", say("recovery_options.table_kept")),
    )


def _reason(context: RecoveryContext) -> str:
    """Only for who names the number."""
    current, wanted = _current(context), _partitions(context)
    if wanted is None:
        return ""
    return say("recovery_repairs.best_repartition", current=current, wanted=wanted)


def _steps(context: RecoveryContext) -> tuple[PlanStep, ...]:
    batch, wanted = (context.last_committed or 0) + 1, _partitions(context)
    title = (
        say("recovery_repairs.repartition_copy")
        if wanted is None
        else say("recovery_repairs.repartition_copy_to", wanted=wanted)
    )
    return (
        PlanStep(say("recovery_plan.stop"), say("recovery_plan.stop_why", batch=context.last_committed)),
        PlanStep(title, say("recovery_repairs.repartition_copy_why", batch=batch)),
        PlanStep(say("recovery_repairs.repartition_verify"), say("recovery_repairs.repartition_verify_why")),
        PlanStep(
            say("recovery_repairs.start_same"), say("recovery_repairs.repartition_start_why", batch=batch + 1)
        ),
    )


def _before_after(context: RecoveryContext) -> tuple[BeforeAfter, ...]:
    return tuple(
        BeforeAfter(
            source.key,
            {"after_batch": context.last_committed, "position": source.position, "says": source.says},
            {
                "start": source.says or NOT_KNOWN,
                "options": {},
                "first_batch": (context.last_committed or 0) + 2,
                "reads_again": say("recovery_plan.nothing"),
            },
        )
        for source in context.sources
    )


def _constants(context: RecoveryContext) -> tuple[Constant, ...]:
    operators = _operators(context)
    return (
        Constant(
            "PARTITIONS",
            _partitions(context),
            say("recovery_repairs.partitions"),
            say("recovery_repairs.need_partitions"),
        ),
        *(each for each in sink_constants(context) if each.name == "SINK"),
        Constant(
            "OPERATORS",
            [{"id": each.operator_id, "name": each.name, "stores": list(each.stores)} for each in operators],
        ),
        Constant(
            "STATE_FORMAT",
            max((each.format_version for each in operators), default=1),
            say("recovery_repairs.state_format"),
        ),
    )


def _suffix(context: RecoveryContext) -> str:
    wanted = _partitions(context)
    return "repartitioned" if wanted is None else f"with-{wanted}-partitions"


REPAIR = Repair(
    id="repartition",
    template="repartition.py.j2",
    level="low",
    judge=_judge,
    cells=_cells,
    effect=lambda context, behaviour: Effect(
        say("recovery_effects.nothing"), say("recovery_effects.nothing")
    ),
    mistake=lambda context: say("recovery_repairs.repartition_mistake"),
    reason=_reason,
    steps=_steps,
    suffix=_suffix,
    constants=_constants,
    before_after=_before_after,
    fields=("partitions", "checkpoint_new"),
)
