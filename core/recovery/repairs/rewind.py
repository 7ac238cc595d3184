"""A copy of the checkpoint that stands at an older batch: the state there is complete, the later batches run
again.

Observed on Spark 4.3 (stateless, deduplication, windows, totals; HDFS-backed, RocksDB, changelogs): with
offsets and commits after batch B left out, state of later versions left out (an old snapshot would be loaded
unchecked) and the source logs kept, batch B + 1 reads exactly what the batches after B had read, together
with what is new; a file source gives all of it in one batch. A sink that skips committed batch ids would skip
that batch, new rows included, so it has to stand at batch B too.
"""

from __future__ import annotations

from core.analysis.copy_forecast import why_copy_fails
from core.analysis.forecast import Forecast
from core.analysis.watermark import batch_before
from core.checkpoint.copies import damaged_entries
from core.checkpoint.model import OffsetEntry
from core.checkpoint.rewind import rewind
from core.checkpoint.sources.registry import parse
from core.checkpoint.state import state_inventory
from core.connectors.kafka.read_again import why_not_read_again
from core.messages import say
from core.messages.words import NOT_KNOWN
from core.recovery.amounts import amount, amounts
from core.recovery.context import RecoveryContext, SourcePosition
from core.recovery.copies import lost_in_copy, risks_of_copy, risks_that_stay, start_at_batch
from core.recovery.model import BeforeAfter, Cell, Cells, Constant, PlanStep, cell
from core.recovery.repairs.checkpoint_values import not_asked_constant
from core.recovery.repairs.model import Effect, Judged, Repair
from core.recovery.repairs.sink_values import sink_constants
from core.recovery.sinks import Behaviour

_MENDED = frozenset(
    {
        "STATE_NOT_RESTORABLE",
        "STATE_FILE_DAMAGED",
        "STATE_CHECKSUM_MISMATCH",
        "JOIN_STATE_INCONSISTENT",
        "LOG_FILE_UNREADABLE",
        "LOG_VERSION_UNKNOWN",
        "SOURCE_LOG_END_MISSING",
        "SOURCE_LOG_UNREADABLE",
    }
)
"""Findings whose files a copy that stands before them does not have."""

_RISKS_MENDED = frozenset({"SOURCE_LOG_BEHIND"})
"""The same for what lets the query start and skip files: the copy ends where the source log does."""

_ROW_BY_ROW = frozenset({"dedupe", "symmetricHashJoin"})
"""Operators that emit the same rows whatever the batch boundaries are, apart from late ones."""
_ANY_BOUNDARIES = _ROW_BY_ROW | {"stateStoreSave", "sessionWindowStateStoreSaveExec"}
"""Operators whose results are the same at the end, apart from late rows. dropDuplicatesWithinWatermark is
none of them: a key that had expired in between still swallows a row that comes in the same batch; nor are
timers."""


def _batch(context: RecoveryContext) -> int | None:
    """The answered batch, else the newest that everything is there for, whose state is intact where it was
    decoded, that the sink does not lack, and that lies before a watermark which the forecast warns of."""
    answered = context.answers.get("to_batch")
    if answered is not None:
        return int(answered)
    held = _sink_holds(context) if context.sink in ("file", "delta") else None
    risks = context.forecast.risks if context.forecast is not None else ()
    before = (batch_before(context.ck, risk.id) for risk in risks)
    limits = [batch for batch in (held, context.intact_batch, *before) if batch is not None]
    found = rewind(context.ck)
    batch = found.at_most(min(limits, default=None))
    while batch is not None and batch in context.altered_batches:
        batch = found.at_most(batch - 1)
    return batch


def _sink_holds(context: RecoveryContext) -> int | None:
    """The newest batch in the log of the sink, or that of the version to which a table was put back; None
    when it was not asked or has none."""
    restored = _restored_to(context)
    if restored is not None or context.sink_state is None:
        return restored
    return context.sink_state.holds_up_to_batch


def _restored_to(context: RecoveryContext) -> int | None:
    """The batch to which somebody has put a Delta table back; None where nobody has."""
    state = context.sink_state
    return state.restored_to_batch if state is not None and context.sink == "delta" else None


def _is_put_back(context: RecoveryContext) -> bool:
    """Whether somebody has put the table back to the batch that is rewound to."""
    restored = _restored_to(context)
    return restored is not None and restored == _batch(context)


def _judge(context: RecoveryContext) -> Judged:
    refused = _why_not(context)
    if refused is not None:
        return Judged(False, refused)
    batch = _batch(context)
    caution: list[str] = []
    if any(source.kind.has_own_log for source in context.sources) and _replayed(context):
        caution.append(say("recovery_repairs.rewind_one_batch", batch=(batch or 0) + 1))
    if any(source.kind.asks == "broker" for source in context.sources):
        caution.append(say("recovery_repairs.rewind_retention", batch=batch))
    caution += risks_that_stay(_copy(context))
    why = say(
        "recovery_repairs.rewind_possible_state" if context.has_state else "recovery_repairs.rewind_possible",
        batch=batch,
    )
    return Judged(True, why, tuple(caution))


def _why_not(context: RecoveryContext) -> str | None:
    refused = _why_not_this_query(context)
    if refused is not None:
        return refused
    found, batch = rewind(context.ck), _batch(context)
    if batch is None:
        return say("rewind.none")
    why_not = found.why_not(batch)
    if why_not is not None:
        return why_not
    if not _replayed(context):
        return say("recovery_repairs.rewind_nothing", batch=batch)
    if _is_altered(context, batch):
        return say("recovery_repairs.rewind_not_intact", batch=batch)
    not_again = why_not_read_again(context.ck, context.connectors, batch)
    if not_again is not None:
        return not_again
    fails = why_copy_fails(_copy(context))
    if fails is not None:  # what stops the start lies before the batch, or in no batch
        return say("recovery_repairs.rewind_fails", batch=batch, sentence=fails)
    return _why_not_this_sink(context, batch)


def _is_altered(context: RecoveryContext, batch: int) -> bool:
    """Whether the state after a batch rests on a file that is known to be wrong, or may be."""
    return batch in context.altered_batches or (
        context.intact_batch is not None and batch > context.intact_batch
    )


def _copy(context: RecoveryContext) -> Forecast | None:
    """What the start of the copy does."""
    batch = _batch(context)
    return None if batch is None else start_at_batch(context, batch)


def _why_not_this_query(context: RecoveryContext) -> str | None:
    if context.platform == "lakeflow":
        return say("recovery_repairs.not_in_a_pipeline")
    if context.is_async or context.ck.is_continuous:
        return say("recovery_repairs.rewind_sparse")
    if context.stateful != "unchanged":
        return say("recovery_repairs.rewind_other_query")
    if context.is_state_lost:
        return say("recovery_repairs.rewind_state_gone")
    unknown = [
        source.label
        for source in context.sources
        if source.kind.seed is None and source.kind.replay != "always"
    ]
    return say("recovery_repairs.rewind_source", sources=unknown) if unknown else None


def _why_not_this_sink(context: RecoveryContext, batch: int) -> str | None:
    if context.sink == "foreach_txn":
        return say("recovery_repairs.rewind_txn", batch=batch)
    holds = _sink_holds(context)
    if context.sink == "file" and holds != batch:
        if holds is None:
            return say("recovery_repairs.rewind_file_sink", batch=batch)
        return say("recovery_repairs.rewind_file_sink_at", batch=batch, newest=holds)
    return None


def _replayed(context: RecoveryContext) -> range:
    """The batches in the logs after the one that is rewound to."""
    ids = [*context.ck.offset_ids, *context.ck.commit_ids]
    return range((_batch(context) or 0) + 1, max(ids, default=-1) + 1)


def _again(context: RecoveryContext) -> str:
    """How much the batches after it held, over all sources; empty when the offsets do not tell."""
    batch = _batch(context)
    entry = None if batch is None else context.ck.offset(batch)
    moved = []
    for source in context.sources:
        start = entry.source(source.key) if isinstance(entry, OffsetEntry) else None
        end = source.pending_position or source.position
        found = context.ck.source(source.key)
        if start is None or start.raw is None or end is None or found is None:
            return ""
        moved.append((source.key, source.kind.advance(parse(start.raw), parse(end), found.context)))
    return amounts(moved, len(moved) > 1) or ""


def _effect(context: RecoveryContext, behaviour: Behaviour) -> Effect:
    ids, again, batch = _replayed(context), _again(context) or NOT_KNOWN, _batch(context)
    loses = _loses(context) or say("recovery_effects.nothing")
    if behaviour == "append":
        emits_once = set(context.operators) <= _ROW_BY_ROW
        if lost_in_copy(_copy(context)):
            return Effect(say("recovery_repairs.rewind_repeats_left", ids=ids), loses)
        return Effect(
            say("recovery_repairs.rewind_repeats", ids=ids, amount=again)
            if emits_once
            else say("recovery_repairs.rewind_repeats_results", ids=ids, amount=again),
            loses,
        )
    if behaviour == "overwrite":
        return Effect(say("recovery_repairs.rewind_replaces", ids=ids, amount=again), loses)
    if context.sink == "delta":
        return Effect(say("recovery_repairs.rewind_restored", batch=batch), loses)
    return Effect(say("recovery_repairs.rewind_at_batch", batch=batch), loses)


def _loses(context: RecoveryContext) -> str:
    """What is gone of the input that is read again, and what other batch boundaries change; empty when
    nothing."""
    gone = " ".join(lost_in_copy(_copy(context)))
    lost = [say("recovery_repairs.rewind_loses", sentence=gone)] if gone else []
    return " ".join(filter(None, (*lost, _changes(context))))


def _changes(context: RecoveryContext) -> str:
    """What other batch boundaries change; empty when nothing."""
    others = sorted({name or NOT_KNOWN for name in context.operators if name not in _ANY_BOUNDARIES})
    if others:
        return say("recovery_repairs.rewind_other_results", operators=others)
    return say("recovery_repairs.rewind_late") if context.watermark_ms else ""


def _cells(context: RecoveryContext) -> Cells:
    judged = _judge(context)
    if not judged.possible:
        return (cell("medium", judged.why), cell("low"), cell("no"), *_kept())
    again = _again(context)
    reads = (
        say("recovery_repairs.rewind_reads", ids=_replayed(context))
        if not again
        else say("recovery_repairs.rewind_reads_amount", ids=_replayed(context), amount=again)
    )
    return (
        cell("medium", say("recovery_repairs.rewind_effort")),
        cell("low", reads),
        cell("no"),
        *_kept(say("recovery_repairs.rewind_by_sink", ids=_replayed(context))),
    )


def _kept(duplicates: str = "") -> tuple[Cell, Cell, Cell]:
    return (
        cell("idempotent_writers", duplicates),
        cell("no"),
        cell("no", say("recovery_options.table_kept")),
    )


def _mends(context: RecoveryContext) -> bool:
    """Whether the damage is behind the batch, and the same rows come out at the end."""
    return _leaves_damage_behind(context) and not risks_of_copy(_copy(context))


def _leaves_damage_behind(context: RecoveryContext) -> bool:
    """Whether the damage is behind the batch, and other batch boundaries give the same rows at the end."""
    forecast = context.forecast
    if forecast is None or not set(context.operators) <= _ANY_BOUNDARIES:
        return False
    if forecast.outcome == "fail":
        return forecast.reason in _MENDED
    risks = {risk.id for risk in forecast.risks if risk.weight == "data_risk"}
    # a file sink that lacks the newest batches: the batch is the one that its log ends at
    mended = _RISKS_MENDED | ({"SINK_BEHIND"} if context.sink == "file" else set())
    # a table that was put back to a batch: the same, when that is the one
    mended |= {"SINK_CHANGED"} if _is_put_back(context) else set()
    return bool(risks) and risks <= mended


def _reason(context: RecoveryContext) -> str:
    """First choice where the damage is behind the batch and the sink that was answered shows no row twice."""
    state = context.sink_state
    is_restored = state is not None and any(kind in ("behind", "changed") for kind, _ in state.concerns)
    is_exact = context.sink in ("foreach_merge", "file") or (context.sink == "delta" and is_restored)
    if is_exact and _is_put_back(context) and _mends(context):
        return say("recovery_repairs.best_rewind_put_back", batch=_batch(context), ids=_replayed(context))
    return say("recovery_repairs.best_rewind", batch=_batch(context)) if is_exact and _mends(context) else ""


def _reason_before_refresh(context: RecoveryContext) -> str:
    """Less than reading everything again: a Delta table can be restored to the batch, and a sink that takes
    every row gets those of the batches after it a second time, not those of all batches."""
    if lost_in_copy(_copy(context)) and context.has_state and _leaves_damage_behind(context):
        return say("recovery_repairs.best_rewind_lossy", batch=_batch(context), ids=_replayed(context))
    if not _mends(context):
        return ""
    if context.sink in ("kafka", "foreach_append"):
        return say("recovery_repairs.best_rewind_repeats", batch=_batch(context), ids=_replayed(context))
    if context.sink == "other":
        return say("recovery_repairs.best_rewind_other", batch=_batch(context), ids=_replayed(context))
    if context.sink == "delta":
        return say("recovery_repairs.best_rewind_restore", batch=_batch(context))
    return ""


def reason_before_empty_state(context: RecoveryContext) -> str:
    """Less than a reset that begins with empty state, also where other batch boundaries can change results;
    empty where nothing shows that the damage is behind the batch."""
    forecast = context.forecast
    fails = forecast is not None and forecast.outcome == "fail" and forecast.reason in _MENDED
    if not fails or not context.has_state:
        return ""
    return say("recovery_repairs.best_rewind_keeps_state", batch=_batch(context), ids=_replayed(context))


def why_not_first(context: RecoveryContext) -> str:
    """Why a rewind behind which the damage lies comes after a refresh: other batch boundaries. Empty where
    that is not what keeps it back."""
    forecast = context.forecast
    fails = forecast is not None and forecast.outcome == "fail" and forecast.reason in _MENDED
    others = sorted({name or NOT_KNOWN for name in context.operators if name not in _ANY_BOUNDARIES})
    if not fails or not others:
        return ""
    return say("recovery_repairs.rewind_not_first", batch=_batch(context), operators=others)


def rereads_all(context: RecoveryContext) -> bool:
    """Whether everything that the copy reads again is still there, as far as its forecast tells."""
    return not lost_in_copy(_copy(context))


def _steps(context: RecoveryContext) -> tuple[PlanStep, ...]:
    batch, ids = _batch(context), _replayed(context)
    steps = [PlanStep(say("recovery_plan.stop"), say("recovery_plan.stop_why", batch=context.last_committed))]
    if context.sink == "delta":
        steps.append(
            PlanStep(
                say("recovery_repairs.restore_table", batch=batch),
                say("recovery_repairs.restore_table_why", ids=ids),
            )
        )
    if context.has_state:
        steps.append(_load_state(context))
    return (
        *steps,
        PlanStep(
            say("recovery_repairs.copy_up_to", batch=batch),
            say("recovery_repairs.copy_up_to_why_new_id")
            if context.sink == "delta"
            else say("recovery_repairs.copy_up_to_why"),
        ),
        PlanStep(say("recovery_repairs.verify_copy"), say("recovery_repairs.verify_copy_why")),
        PlanStep(
            say("recovery_repairs.start_same"),
            say("recovery_repairs.start_same_why", batch=(batch or 0) + 1, ids=ids),
        ),
    )


def _load_state(context: RecoveryContext) -> PlanStep:
    batch, spark = _batch(context), context.spark_without_reader
    if spark is not None:
        return PlanStep(
            say("recovery_repairs.state_unread", batch=batch, spark=spark),
            say("recovery_repairs.state_unread_why"),
        )
    return PlanStep(say("recovery_repairs.load_state", batch=batch), say("recovery_repairs.load_state_why"))


def _before_after(context: RecoveryContext) -> tuple[BeforeAfter, ...]:
    batch = _batch(context)
    entry = None if batch is None else context.ck.offset(batch)
    return tuple(_move(context, source, entry, batch) for source in context.sources)


def _move(context: RecoveryContext, source: SourcePosition, entry: object, batch: int | None) -> BeforeAfter:
    line = entry.source(source.key) if isinstance(entry, OffsetEntry) else None
    raw = line.raw if line is not None else None
    end = source.pending_position or source.position
    found = context.ck.source(source.key)
    moved = (
        amount(source.kind.advance(parse(raw), parse(end), found.context))
        if raw is not None and end is not None and found is not None
        else None
    )
    before = {"after_batch": context.last_committed, "position": source.position, "says": source.says}
    after = {
        "start": source.kind.describe(parse(raw)) if raw is not None else NOT_KNOWN,
        "options": {},
        "first_batch": (batch or 0) + 1,
        "reads_again": moved or NOT_KNOWN,
    }
    return BeforeAfter(source.key, before, after)


def _constants(context: RecoveryContext) -> tuple[Constant, ...]:
    operators = state_inventory(context.ck).operators if context.ck.has_state else ()
    return (
        Constant("TO_BATCH", _batch(context), say("recovery_repairs.to_batch")),
        *sink_constants(context),
        Constant("OPERATORS", [_operator(each.operator_id, each.name, each.stores) for each in operators]),
        Constant(
            "STATE_FORMAT",
            max((each.format_version for each in operators), default=1),
            say("recovery_repairs.state_format"),
        ),
        Constant(
            "STATE_CODEC",
            (operators[0].codec or "lz4") if operators else None,
            say("recovery_repairs.codec"),
        ),
        Constant("FILE_SOURCES", _file_sources(context), say("recovery_repairs.file_sources")),
        not_asked_constant(context),
        Constant("LEFT_OUT", _left_out(context), say("recovery_repairs.left_out")),
        Constant("ACCEPT_LOSS", False, say("recovery_code.no_loss")),
    )


def _left_out(context: RecoveryContext) -> list[str]:
    """Damaged entries of source logs."""
    batch = _batch(context)
    return [] if batch is None else list(damaged_entries(context.ck, batch))


def _operator(number: int, name: str | None, stores: tuple[str, ...]) -> dict[str, object]:
    return {"id": number, "name": name, "stores": list(stores)}


def _file_sources(context: RecoveryContext) -> list[dict[str, object]]:
    batch = _batch(context)
    entry = None if batch is None else context.ck.offset(batch)
    found: list[dict[str, object]] = []
    for source in context.sources:
        line = entry.source(source.key) if isinstance(entry, OffsetEntry) else None
        if not source.kind.has_own_log or source.directory is None:
            continue
        raw = line.raw if line is not None else None
        read = -1 if raw is None else source.kind.positions(parse(raw)).get("log id", -1)
        found.append({"key": source.key, "directory": source.directory, "read": read})
    return found


REPAIR = Repair(
    id="rewind",
    template="rewind.py.j2",
    level="medium",
    judge=_judge,
    cells=_cells,
    effect=_effect,
    mistake=lambda context: say("recovery_repairs.rewind_mistake"),
    reason=_reason,
    reason_before_refresh=_reason_before_refresh,
    steps=_steps,
    suffix=lambda context: f"rewound-to-batch-{_batch(context)}",
    constants=_constants,
    before_after=_before_after,
    fields=("to_batch", "sink_path", "checkpoint_new"),
    asks_sink=True,
)
