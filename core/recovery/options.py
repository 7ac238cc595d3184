"""The recovery options as data: what each costs on THIS checkpoint, which one is recommended and why,
and why one is not possible.

The general words are those of common advice; where they are wrong for this checkpoint the fact beside them
corrects them (``Cell.corrected``): a Delta table does not deduplicate after its checkpoint was deleted, a
reset loses state, a file source has no start option.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from core.messages import say, say_of
from core.recovery.answers import OPTION_IDS, OptionId
from core.recovery.consequences import (
    Consequence,
    consequences,
    summary,
)
from core.recovery.context import RecoveryContext
from core.recovery.model import Cell, Cells, Level, cell
from core.recovery.pipeline_amounts import dropped_with_state, pending_amount, read_amount
from core.recovery.recipe import Recipe, recipe
from core.recovery.repairs import REPAIRS, repair_of
from core.recovery.repairs.rewind import reason_before_empty_state, rereads_all, why_not_first
from core.recovery.restart import CHANGED, is_recommended, why_recommended

LEVELS: Mapping[OptionId, Level] = MappingProxyType(
    {"restart": "low", "full_refresh": "low", "backup_and_backfill": "medium"}
)
_WAYS_ON: tuple[OptionId, ...] = (
    "restart",
    "repair_files",
    "rewind",
    "drop_state",
    "skip_batch",
    "full_refresh",
    "backup_and_backfill",
)
"""The options after which the query goes on, beside a reset, that need nothing that was made before."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option. ``why`` says why it can or cannot be done, ``reason`` why it comes first (empty for the
    others).

    ``level`` is the complexity in one word; ``complexity`` and the other cells carry the columns of the
    table. ``loses`` and ``repeats`` are the sentence for the sink that was answered, or for all kinds of
    sinks. ``consequences`` has one statement per kind of sink.
    """

    id: OptionId
    title: str
    possible: bool
    recommended: bool
    why: str
    reason: str
    level: Level
    complexity: Cell
    cost: Cell
    loss: Cell
    duplicates: Cell
    initial_snapshot: Cell
    full_reset: Cell
    needs_full_source: bool
    loses: str
    repeats: str
    consequences: tuple[Consequence, ...]
    recipe: Recipe


def options(context: RecoveryContext) -> tuple[Option, ...]:
    """The options for this checkpoint, the recommended one first, impossible ones last."""
    recipes = {option: recipe(context, option) for option in OPTION_IDS}
    best, reason = recommended(context, recipes)
    found = [
        _option(context, recipes[option], option == best, reason if option == best else "")
        for option in OPTION_IDS
    ]
    return tuple(sorted(found, key=lambda option: (not option.recommended, not option.possible)))


def recommended(context: RecoveryContext, recipes: Mapping[OptionId, Recipe]) -> tuple[OptionId | None, str]:
    """The option that comes first and why, from the recipes of all options for this context; None where no
    option is recommended."""
    reset = recipes["reset"]
    if context.is_lost and context.source_complete == "unknown":
        return None, ""  # what is right depends on that alone
    if context.answers.get("partitions") is not None and recipes["repartition"].possible:
        return "repartition", REPAIRS["repartition"].reason(context)
    fails = context.what_happened == "batch_fails"
    can_restart = recipes["restart"].possible and is_recommended(context)
    if can_restart and not fails:
        return "restart", why_recommended(context)
    for repair in REPAIRS.values():
        if recipes[repair.id].possible and (reason := repair.reason(context)):
            return repair.id, reason
    if can_restart:  # any other option reads the rows that fail again
        return "restart", why_recommended(context)
    if context.what_happened == "reprocess":
        return _reprocess(context, recipes)
    knows_position = bool(context.sources) and not context.is_lost
    knows_position = knows_position and not context.forgotten_files and not context.refilled_table
    if knows_position and reset.possible and (not context.needs_state or reset.method == "warm_up"):
        return "reset", _why_reset(context, reset)
    for repair in REPAIRS.values():
        if recipes[repair.id].possible and (reason := repair.reason_before_refresh(context)):
            return repair.id, reason
    if recipes["full_refresh"].possible and context.earlier_batches:
        return "full_refresh", say("recovery_options.best_refresh_beside")
    if recipes["full_refresh"].possible and context.source_complete == "yes":
        if context.sink_trouble:
            return "full_refresh", say("recovery_options.best_refresh_sink")
        return "full_refresh", say("recovery_options.best_refresh")
    if recipes["backup_and_backfill"].possible and context.source_complete != "yes":
        is_open = context.sink is None or context.answers.get("source_complete") is None
        keeps = say("recovery_options.best_backfill_so_far" if is_open else "recovery_options.best_backfill")
        instead_of = why_not_first(context) if recipes["rewind"].possible else ""
        return "backup_and_backfill", f"{keeps} {instead_of}".rstrip()
    if recipes["rewind"].possible and (reason := reason_before_empty_state(context)):
        return "rewind", reason
    if reset.possible:
        return "reset", _why_reset_at_last(recipes)
    if recipes["full_refresh"].possible:
        return "full_refresh", say("recovery_options.best_only_refresh")
    return None, ""


def _reprocess(context: RecoveryContext, recipes: Mapping[OptionId, Recipe]) -> tuple[OptionId | None, str]:
    """Old rows are wanted again: from the batch that was named, else all of them. A reset reads none."""
    if context.answers.get("to_batch") is not None and recipes["rewind"].possible:
        is_whole = rereads_all(context)
        return "rewind", say(
            "recovery_options.best_reprocess_rewind"
            if is_whole
            else "recovery_options.best_reprocess_rewind_lossy"
        )
    if recipes["full_refresh"].possible and context.source_complete == "yes":
        return "full_refresh", say("recovery_options.best_reprocess")
    if recipes["backup_and_backfill"].possible and context.source_complete != "yes":
        return "backup_and_backfill", say("recovery_options.best_reprocess_backfill")
    if recipes["full_refresh"].possible:
        return "full_refresh", say("recovery_options.best_reprocess")
    return None, ""


def _why_reset(context: RecoveryContext, reset: Recipe) -> str:
    if reset.method == "warm_up" and context.stateful in CHANGED:
        return say("recovery_options.best_warm_up_changed")
    if reset.method == "warm_up":
        return say("recovery_options.best_warm_up")
    if reset.method == "pipeline" and any(start.how == "modified_after" for start in reset.starts):
        return say("recovery_options.best_modified_after")
    if context.input_changed and not context.input_gone:
        return say("recovery_options.best_changed_input")
    if reset.repeats:
        return say("recovery_options.best_with_repeats")
    if context.unasked_brokers and not context.may_have_expired and not context.input_gone:
        return say("recovery_options.best_exact_unasked")
    if lost := dropped_with_state(context):
        return say("recovery_options.best_dropped_state", lost=lost)
    loses = reset.skips or reset.left_out or context.may_have_expired or context.input_gone
    return say("recovery_options.best_with_loss" if loses else "recovery_options.best_exact")


def _why_reset_at_last(recipes: Mapping[OptionId, Recipe]) -> str:
    """Why a reset that loses something comes first, beside what else is possible."""
    others = [option for option in _WAYS_ON if recipes[option].possible]
    if "full_refresh" in others:
        return say("recovery_options.best_reset_or_refresh")
    if others:
        return say("recovery_options.best_reset_beside")
    is_backup = recipes["restore_backup"].possible
    return say("recovery_options.best_reset_or_backup" if is_backup else "recovery_options.best_only_reset")


def _option(context: RecoveryContext, made: Recipe, recommended: bool, reason: str) -> Option:
    found = consequences(context, made.option)
    yours = next((item for item in found if item.is_yours), None)
    repair = repair_of(made.option)
    cells = _CELLS[made.option](context, made) if repair is None else repair.cells(context)
    return Option(
        id=made.option,
        title=say_of("recovery", "TITLES", made.option),
        possible=made.possible,
        recommended=recommended,
        why=made.why,
        reason=reason,
        level=repair.level if repair is not None else LEVELS.get(made.option) or _reset_level(context),
        complexity=cells[0],
        cost=cells[1],
        loss=_loss(made, cells[2], found, yours),
        duplicates=cells[3],
        initial_snapshot=cells[4],
        full_reset=cells[5],
        needs_full_source=made.option == "full_refresh" or made.method == "warm_up",
        loses=yours.loses if yours is not None else summary(found, "loses"),
        repeats=yours.repeats if yours is not None else summary(found, "repeats"),
        consequences=found,
        recipe=made,
    )


def _loss(made: Recipe, own: Cell, found: tuple[Consequence, ...], yours: Consequence | None) -> Cell:
    """The cell of what may be lost: the statement that the card makes, so that both say the same, and what
    this checkpoint adds. It corrects a general "no" where something may be lost at the sink that was
    answered, or at one of the kinds."""
    if not made.possible:
        return own
    loses = yours.loses if yours is not None else summary(found, "loses")
    nothing = say("recovery_effects.nothing")
    facts = [text for text in (loses if loses != nothing else "", own.facts) if text]
    at_sinks = [yours] if yours is not None else [each for each in found if each.is_possible]
    is_loss = any(each.may_lose for each in at_sinks) and own.general != _refresh_in_general()
    return Cell(own.general, " ".join(facts), own.corrected or is_loss)


def _refresh_in_general() -> str:
    return say_of("recovery_options", "GENERAL", "refresh_loss")  # says yes already


# ---------------------------------------------------------------- start it again


def _restart(context: RecoveryContext, made: Recipe) -> Cells:
    yours = next((item for item in consequences(context, "restart") if item.is_yours), None)
    planned = pending_amount(context)
    again = (
        say("recovery_options.reads_pending", pending=context.pending, planned=planned)
        if planned is not None
        else say("recovery_options.reads_new")
    )
    return (
        cell("low", "" if made.possible else made.why),
        cell("low", again if made.possible else ""),
        cell("no"),
        cell("idempotent_writers", yours.repeats if yours is not None and made.possible else ""),
        cell("no"),
        cell("no", say("recovery_options.all_kept")),
    )


# ---------------------------------------------------------------- full refresh, with and without a backfill


def _full_refresh(context: RecoveryContext, made: Recipe) -> Cells:
    if context.is_pipeline:
        return _pipeline_refresh(context)
    keyed = context.sink == "foreach_merge"
    is_left = bool(context.earlier_batches)
    old = say("recovery_options.output_left" if is_left else "recovery_options.new_output")
    duplicates = cell("keyed_target" if keyed else "no", old)
    if context.sink == "delta":
        duplicates = cell("keyed_target", say("recovery_options.new_delta_output"), corrected=True)
    return (
        cell("low", say("recovery_options.cannot_empty") if _has_unknown_target(context) else ""),
        cell("medium", *_reads_everything(context)),
        cell("refresh_loss", *_refresh_loss(context)),
        duplicates,
        cell("yes", say("recovery_options.needs_everything")),
        cell("no", say("recovery_options.output_beside"), corrected=True)
        if is_left
        else cell("yes", say("recovery_options.output_rewritten")),
    )


def _pipeline_refresh(context: RecoveryContext) -> Cells:
    return (
        cell("low"),
        cell("medium", *_reads_everything(context)),
        cell(
            "refresh_loss", say("recovery_options.pipeline_emptied"), *_refresh_loss(context), corrected=True
        ),
        cell("no"),
        cell("yes", say("recovery_options.needs_everything")),
        cell("yes", say("recovery_options.pipeline_emptied")),
    )


def _reads_everything(context: RecoveryContext) -> list[str]:
    amount, planned = read_amount(context), pending_amount(context)
    last = context.last_committed
    if amount is None:
        facts: list[str] = [say("recovery_options.reads_everything")]
    elif planned is None:
        facts = [say("recovery_options.reads_amount", amount=amount, batch=last)]
    else:
        facts = [
            say(
                "recovery_options.reads_amount_and_pending",
                amount=amount,
                batch=last,
                pending=context.pending,
                planned=planned,
            )
        ]
    if context.state_bytes is not None:
        facts.append(say("recovery_options.state_rebuilt", size_bytes=context.state_bytes))
    return facts


def _refresh_loss(context: RecoveryContext) -> list[str]:
    facts = [_completeness(context)]
    files = [source.files_read for source in context.sources if source.files_read is not None]
    if files and context.source_complete != "no" and context.platform != "lakeflow":
        facts.append(say("recovery_options.files_named", files=sum(files)))
    return facts


def _completeness(context: RecoveryContext) -> str:
    """Whether the source has everything, and who says so: the user, or the kinds of the sources."""
    if context.source_complete == "unknown":
        return say("recovery_options.completeness_not_known")
    is_complete = context.source_complete == "yes"
    if context.lacks_records:
        return context.lacks_records
    if context.answers.get("source_complete") is not None:
        return say(
            "recovery_options.complete_answered" if is_complete else "recovery_options.incomplete_answered"
        )
    return say("recovery_options.complete_by_kind" if is_complete else "recovery_options.incomplete_by_kind")


def _has_unknown_target(context: RecoveryContext) -> bool:
    return (
        context.sink is not None
        and context.sink.startswith("foreach")
        and context.answers.get("sink_path") is None
    )


def _backup_and_backfill(context: RecoveryContext, made: Recipe) -> Cells:
    keys = "" if context.answers.get("backfill_keys") is not None else say("recovery_options.needs_key")
    merge = say("recovery_options.by_merge") if context.sink == "delta" else ""
    is_pipeline = context.platform == "lakeflow"
    kept = say("recovery_options.pipeline_cloned" if is_pipeline else "recovery_options.old_output_kept")
    return (
        cell("medium", say("recovery_options.three_steps")),
        cell("high", *_reads_everything(context), kept),
        cell("no", say("recovery_options.rows_from_backup")),
        cell("idempotent_sinks", merge, keys, corrected=context.sink == "delta"),
        cell("no"),
        cell("no", say("recovery_options.backup_returned")),
    )


# ---------------------------------------------------------------- reset


def _reset(context: RecoveryContext, made: Recipe) -> Cells:
    warm = made.method == "warm_up"
    level = say("recovery_options.here", level=_reset_level(context))
    effort = (level, _reset_effort(made)) if made.possible else (made.why,)
    kept = say("recovery_options.output_beside" if made.new_output else "recovery_options.table_kept")
    return (
        cell("medium_to_high", *effort),
        cell("low", *_reset_cost(context, made), corrected=warm),
        _reset_loss(context, made),
        _reset_duplicates(context, made),
        cell("no", say("recovery_options.old_data_once") if warm else "", corrected=warm),
        cell("no", kept),
    )


def _reset_level(context: RecoveryContext) -> Level:
    return "high" if context.needs_state else "medium"


def _reset_effort(made: Recipe) -> str:
    with_log = made.method == "seeded" and any(start.how == "file_log" for start in made.starts)
    return say_of("recovery_options", "EFFORT", "seeded_files" if with_log else made.method or "")


def _reset_cost(context: RecoveryContext, made: Recipe) -> list[str]:
    planned, amount = pending_amount(context), read_amount(context)
    if made.method == "warm_up":
        cost: str = (
            say("recovery_options.warm_up_reads_all")
            if amount is None
            else say("recovery_options.warm_up_reads", amount=amount)
        )
    elif planned is not None:
        cost = say("recovery_options.reads_pending", pending=context.pending, planned=planned)
    else:
        cost = say("recovery_options.reads_nothing")
    if not context.has_state or context.state_bytes is None:
        return [cost]
    return [cost, say("recovery_options.state_left", size_bytes=context.state_bytes)]


def _reset_loss(context: RecoveryContext, made: Recipe) -> Cell:
    if not made.possible:
        return cell("careful_start", made.why, corrected=True)
    if context.is_lost:
        return cell("careful_start")
    start = say("recovery_options.starts_after", batch=context.last_committed)
    if any(starting.how == "modified_after" for starting in made.starts):
        return cell("careful_start", start, say("recovery_options.late_files"), corrected=True)
    return cell("careful_start", start)


def _reset_duplicates(context: RecoveryContext, made: Recipe) -> Cell:
    general = "idempotent_writers"
    if context.sink == "delta" and not made.keep_pending:
        return cell(general, say("recovery_options.delta_repeats"), corrected=True)
    yours = next((item for item in consequences(context, "reset") if item.is_yours), None)
    if yours is not None:
        return cell(general, yours.repeats)
    if context.pending is None:
        return cell(general, say("recovery_options.none_pending"))
    return cell(general, say("recovery_options.pending_repeats", pending=context.pending))


_CELLS: Mapping[OptionId, Callable[[RecoveryContext, Recipe], Cells]] = {
    "restart": _restart,
    "full_refresh": _full_refresh,
    "backup_and_backfill": _backup_and_backfill,
    "reset": _reset,
}
