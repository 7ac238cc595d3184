"""What repeats and what is lost, for each option and each way a sink treats a repeated batch. Every rule was
observed on Spark 4.3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

from core.checkpoint.operator_metadata import AGGREGATES
from core.messages import say, say_of
from core.recovery.answers import OptionId
from core.recovery.context import ONE_ROW_EACH, RecoveryContext
from core.recovery.file_repairs import file_repairs
from core.recovery.pipeline_amounts import dropped_with_state, lost_with_state, pending_amount, read_amount
from core.recovery.recipe import Recipe, gone_unread, recipe
from core.recovery.repairs import repair_of
from core.recovery.restart import repeats_and_loses
from core.recovery.sinks import BEHAVIOUR_IDS, EXAMPLES, Behaviour
from core.recovery.snapshots import changes_lost

_BY_THE_BATCHES = frozenset({"dedupeWithinWatermark"})
"""Operators whose rows are other ones where the batch boundaries are: a key that had expired in between still
swallows a row of the same batch."""
_SENTENCE_END = re.compile(r"(?<=\.) (?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Consequence:
    """One option for one kind of sink, when the generated code does it. ``trap`` is what the common mistake
    would do."""

    option: OptionId
    behaviour: Behaviour
    label: str
    repeats: str
    loses: str
    trap: str
    is_yours: bool
    is_possible: bool = True

    @property
    def may_lose(self) -> bool:
        """Whether it loses something, or may."""
        nothing = say("recovery_effects.nothing").rstrip(".")
        return not self.loses.startswith(nothing) or self.loses.startswith(say("recovery_effects.but_this"))


def consequences(context: RecoveryContext, option: OptionId) -> tuple[Consequence, ...]:
    """The three statements of one option. The one for the sink that was answered is marked."""
    found = []
    for behaviour in BEHAVIOUR_IDS:
        mine = context.behaviour == behaviour
        sink = context.sink if mine and context.sink is not None else EXAMPLES[behaviour]
        as_if = replace(context, answers=context.answers.having(sink=sink))
        made = recipe(as_if, option)
        repeats, loses = _repeats_and_loses(as_if, made, behaviour)
        found.append(
            Consequence(
                option,
                behaviour,
                say_of("recovery", "BEHAVIOURS", behaviour),
                repeats,
                loses,
                _mistake(as_if, option, behaviour),
                mine,
                made.possible,
            )
        )
    return tuple(found)


def effects_by_sink(found: tuple[Consequence, ...]) -> tuple[str, str, str]:
    """What repeats, what is lost, and what is said of both at once, over all kinds of sinks; "" for what is
    not said."""
    same = [item for item in found if item.repeats == item.loses]
    same = [item for item in same if item.repeats == same[0].repeats]
    sinks = tuple(str(say_of("recovery", "SHORT_BEHAVIOURS", item.behaviour)) for item in same)
    both = say("recovery_effects.by_sink", sinks=list(sinks), text=same[0].repeats) if same else ""
    if len(same) == len(found):
        both = same[0].repeats
    return summary(found, "repeats", sinks), summary(found, "loses", sinks), both


def summary(
    found: tuple[Consequence, ...], what: Literal["repeats", "loses"], without: tuple[str, ...] = ()
) -> str:
    """One text over all kinds of sinks: what several begin with is said once. ``without``: of the others
    only."""
    texts = {
        str(say_of("recovery", "SHORT_BEHAVIOURS", item.behaviour)): tuple(
            _SENTENCE_END.split(item.repeats if what == "repeats" else item.loses)
        )
        for item in found
    }
    others = {sink: sentences for sink, sentences in texts.items() if sink not in without}
    return " ".join(_said(others, len(texts)))


def _said(texts: Mapping[str, tuple[str, ...]], of: int) -> Iterator[str]:
    """The statements of some sinks, each with its sinks unless all say it."""
    groups: dict[str, list[str]] = {}
    for sink, sentences in texts.items():
        groups.setdefault(sentences[0], []).append(sink)
    for sinks in groups.values():
        same = _begin_with(*(texts[sink] for sink in sinks))
        text = " ".join(same)
        yield text if len(sinks) == of else say("recovery_effects.by_sink", sinks=sinks, text=text)
        yield from _said({s: rest for s in sinks if (rest := texts[s][len(same) :])}, of)


def _begin_with(*texts: tuple[str, ...]) -> list[str]:
    """The sentences that all texts begin with."""
    columns = zip(*texts, strict=False)
    return [column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns)]


def _repeats_and_loses(context: RecoveryContext, made: Recipe, behaviour: Behaviour) -> tuple[str, str]:
    if not made.possible:
        impossible = say("recovery_effects.not_possible", why=made.why)
        return impossible, impossible
    if made.option == "restart":
        return repeats_and_loses(context, behaviour)
    repair = repair_of(made.option)
    if repair is not None:
        effect = repair.effect(context, behaviour)
        is_position_kept = made.option in ("rewind", "drop_state", "skip_batch", "repartition")
        if not is_position_kept:
            return effect.repeats, effect.loses
        return _read_again(context, effect.repeats, behaviour), _input_gone(context, made, effect.loses)
    if made.option == "reset" and context.is_lost:
        return say("recovery_effects.lost_repeats"), say("recovery_effects.lost_loses")
    if made.option == "reset":
        repeats = _read_again(context, _reset_repeats(context, made, behaviour), behaviour)
        return repeats, _input_gone(context, made, _reset_loses(context, made, behaviour))
    if context.is_pipeline and made.method == "from_start":
        return _pipeline_refresh(context, made)
    if made.option == "full_refresh":
        loses = _beside(_refresh_losses(context), _refresh_loses(context))
        return say("recovery_effects.new_output"), _refreshed(loses, context, behaviour)
    repeats, loses = _backfill(context, behaviour)
    loses = _beside(_backfill_losses(context), loses)
    return repeats, _refreshed(loses, context, behaviour)


def _read_again(context: RecoveryContext, repeats: str, behaviour: Behaviour) -> str:
    """What comes again beside that, by the state of the logs: files that a source log has forgotten; where
    logs were rolled back by hand, a sink that appends has the rows after the position already."""
    again = _rolled_back(context)
    if context.forgotten_files:
        repeats = _and(repeats, say("recovery_effects.forgotten_files"))
    if behaviour != "append" or not again:
        return repeats
    return _and(repeats, say("recovery_effects.rolled_back", sentence=again))


def _rolled_back(context: RecoveryContext) -> str:
    """That the logs were rolled back by hand, also where the start fails before it meets that: then as the
    forecast of the repaired copy says."""
    now = context.forecast
    if now is None or now.rolled_back or now.outcome != "fail":
        return "" if now is None else now.rolled_back
    repaired = file_repairs(context.ck, now, context.connectors).forecast
    return "" if repaired is None or repaired.risk("SOURCE_LOG_AHEAD") is None else repaired.rolled_back


def _input_gone(context: RecoveryContext, made: Recipe, loses: str) -> str:
    """Input files of the planned batch that are gone, or have changed: no option that runs the batch has the
    rows that they had."""
    said = "" if context.forecast is None else context.forecast.lost_input
    if made.option in ("skip_batch", "rewind") or not said:  # a rewind says it of all that it reads again
        return loses
    return _and(loses, say("recovery_effects.restart_loses", sentence=said))


def _and(text: str, more: str) -> str:
    return more if text == say("recovery_effects.nothing") else f"{text} {more}"


# ---------------------------------------------------------------- reset


def _reset_repeats(context: RecoveryContext, made: Recipe, behaviour: Behaviour) -> str:
    parts = []
    if context.pending is not None:
        parts.append(_pending_repeats(context, made, behaviour))
    empty = made.method == "empty_state" or (made.method == "start_options" and context.needs_state)
    if empty and any(name and name.startswith("dedupe") for name in context.operators):
        parts.append(say("recovery_effects.forgotten_keys"))
    elif empty and (context.is_state_lost or context.is_state_loss_seen):
        parts.append(say("recovery_effects.forgotten_keys_if"))
    if context.moved_file_sources:
        parts.append(say("recovery_effects.moved_files"))
    if made.method == "warm_up" and context.stateful == "changed" and behaviour != "overwrite":
        parts.append(say("recovery_effects.changed_again"))
    if made.repeats and behaviour != "overwrite":
        parts.append(say("recovery_effects.read_before_at_broker", repeats=made.repeats))
    return " ".join(parts) or say("recovery_effects.nothing")


def _pending_repeats(context: RecoveryContext, made: Recipe, behaviour: Behaviour) -> str:
    pending, planned = context.pending, pending_amount(context)
    if behaviour == "overwrite":
        return say(
            "recovery_effects.pending_replaced"
            if made.continues_numbers
            else "recovery_effects.pending_replaced_by_key",
            pending=pending,
            planned=planned,
        )
    if made.keep_pending and (made.keep_query_id or context.sink == "file"):
        return say("recovery_effects.pending_carried_over", pending=pending, planned=planned)
    after = -1 if context.last_committed is None else context.last_committed
    ids = range(after + 1, (pending or 0) + 1)
    held = context.sink_state.holds_up_to_batch if context.sink_state is not None else None
    is_skipped = behaviour == "batch_number_aware" and held is not None and held >= (pending or 0)
    if is_skipped and not context.is_async:
        return say("recovery_effects.skipped_repeated", ids=ids)
    if len(ids) > 1 and not context.is_async:
        return say("recovery_effects.uncommitted_repeated", ids=ids, pending=pending)
    return say("recovery_effects.pending_repeated", pending=pending, planned=planned)


def _reset_loses(context: RecoveryContext, made: Recipe, behaviour: Behaviour) -> str:
    parts = _gone_at_source(context, made.skips, made.left_out)
    if context.refilled_table:
        parts.append(say("recovery_effects.restart_loses", sentence=context.refilled_table))
    if context.needs_state and made.method in ("empty_state", "start_options", "pipeline"):
        parts.append(say("recovery_effects.state", lost=lost_with_state(context)))
        if behaviour == "overwrite" and not set(AGGREGATES).isdisjoint(context.operators):
            parts.append(say("recovery_effects.smaller_totals"))
    if lost := dropped_with_state(context):
        parts.append(say("recovery_repairs.drop_loses", lost=lost))
    if made.method == "warm_up" and context.watermark_ms:
        parts.append(say("recovery_effects.late_rows"))
    if made.method == "warm_up" and context.changed_files:
        parts.append(context.changed_files)
    if made.method == "warm_up" and context.stateful == "changed":
        parts.append(say("recovery_effects.changed_results"))
    if behaviour == "overwrite" and not made.continues_numbers:
        parts.append(
            say("recovery_effects.numbers_restart_too" if parts else "recovery_effects.numbers_restart")
        )
    if behaviour == "batch_number_aware" and made.new_output:
        parts.append(say("recovery_effects.both_outputs"))
    return " ".join(parts) or say("recovery_effects.nothing")


def _gone_at_source(context: RecoveryContext, *gone: str) -> list[str]:
    """What was not read and the sources no longer have, or may no longer have."""
    parts: list[str] = [say("recovery_effects.gone_at_source", skips=skips) for skips in gone if skips]
    if context.may_have_expired and not any(gone):
        parts.append(say("recovery_effects.may_have_expired"))
    return parts


def _in_no_backup(context: RecoveryContext) -> list[str]:
    """What is gone at the sources before it was read, or was planned and not committed: a backfill has it
    from nowhere."""
    parts = _gone_at_source(context, *gone_unread(context))
    said = "" if context.forecast is None else context.forecast.lost_input
    return [*parts, say("recovery_effects.restart_loses", sentence=said)] if said else parts


# ---------------------------------------------------------------- from the beginning


def _refresh_loses(context: RecoveryContext) -> str:
    if context.source_complete == "yes":
        return say("recovery_effects.source_complete")
    incomplete = context.source_complete == "no"
    return say("recovery_effects.source_incomplete" if incomplete else "recovery_effects.source_not_known")


def _refresh_losses(context: RecoveryContext) -> list[str]:
    """What a full refresh loses beside what is gone at the sources: what others wrote to the table, and
    changes of which a Delta source has only the result."""
    found = []
    if lost := context.lost_of_others:
        found.append(say("recovery_effects.of_others", who=[each.words for each in lost]))
    return [*found, *changes_lost(context)]


def _backfill_losses(context: RecoveryContext) -> list[str]:
    """The same with a backfill, which brings back the rows that others added."""
    lost = context.changed_by_others
    who = [each.words for each in lost]
    return [
        *([say("recovery_effects.changed_by_others", who=who)] if lost else []),
        *changes_lost(context),
    ]


def _beside(losses: list[str], loses: str) -> str:
    """What is lost for other reasons stands first; "Nothing" is then said of the rest."""
    if not losses:
        return loses
    complete = say("recovery_effects.source_complete")
    rest = say("recovery_effects.source_complete_beside") if loses == complete else loses
    return " ".join([*losses, *([rest] if rest != say("recovery_effects.nothing") else [])])


def _refreshed(loses: str, context: RecoveryContext, behaviour: Behaviour) -> str:
    """What everything read again loses, with what other batch boundaries change."""
    parts = [loses]
    others = sorted({name for name in context.operators if name in _BY_THE_BATCHES})
    if others and context.needs_state:
        parts.append(say("recovery_effects.other_results", operators=others))
    if context.watermark_ms and context.needs_state:
        parts.append(say("recovery_effects.other_late_rows"))
    if behaviour != "overwrite" and context.emits_in_steps:
        parts.append(say("recovery_effects.other_steps"))  # last: what all sinks share is said once
    return " ".join(parts)


def _pipeline_refresh(context: RecoveryContext, made: Recipe) -> tuple[str, str]:
    """A full refresh of a pipeline empties the table; only a backup brings back what the source lost."""
    if made.option == "backup_and_backfill":
        gone = _in_no_backup(context)
        kept = say("recovery_effects.pipeline_backup_too" if gone else "recovery_effects.pipeline_backup")
        return say("recovery_effects.unique_key_or_overlap"), " ".join((*gone, kept))
    return say("recovery_effects.pipeline_emptied"), _pipeline_loses(context)


def _pipeline_loses(context: RecoveryContext) -> str:
    if context.source_complete == "yes":
        complete = say("recovery_effects.pipeline_complete")
        return _beside(changes_lost(context), complete)
    return _beside(changes_lost(context), _refresh_loses(context))


def _backfill(context: RecoveryContext, behaviour: Behaviour) -> tuple[str, str]:
    gone = _in_no_backup(context)
    others: str
    if behaviour == "overwrite":
        repeats = say("recovery_effects.sequence_guard")
        others = say("recovery_effects.deleted_keys_too" if gone else "recovery_effects.deleted_keys")
    elif context.sink == "file":
        repeats = say("recovery_effects.unique_key")
        others = say(
            "recovery_effects.backfill_directory_too" if gone else "recovery_effects.backfill_directory"
        )
    else:
        repeats = say("recovery_effects.unique_key_or_overlap")
        others = "" if gone else say("recovery_effects.nothing")
    if _combines_rows(context):
        others = say("recovery_effects.backfill_combined")
    return repeats, " ".join(part for part in (*gone, others) if part)


def _combines_rows(context: RecoveryContext) -> bool:
    """Whether a result of the query may be made of several rows, of which the source has lost some."""
    if context.source_complete == "yes" or not context.needs_state:
        return False
    return not context.operators or not set(context.operators) <= ONE_ROW_EACH


# ---------------------------------------------------------------- the common mistake


def _mistake(context: RecoveryContext, option: OptionId, behaviour: Behaviour) -> str:
    repair = repair_of(option)
    if repair is not None:
        return repair.mistake(context)
    last = context.newest_offset if context.newest_offset is not None else context.last_committed
    if option in ("full_refresh", "backup_and_backfill") and context.platform == "lakeflow":
        return say("recovery_effects.refreshed_uncopied")
    if option in ("restart", "reset"):
        return _deleted_checkpoint(context, behaviour, last)
    return _kept_rows(context, behaviour, last)


def _read_before(context: RecoveryContext) -> str:
    amount = read_amount(context)
    if amount is None:
        return say("recovery_effects.read_all")
    return say("recovery_effects.read_before", amount=amount)


def _deleted_checkpoint(context: RecoveryContext, behaviour: Behaviour, last: int | None) -> str:
    """What deleting the checkpoint does in place of a reset."""
    if behaviour == "append":
        return say("recovery_effects.deleted_append", read=_read_before(context))
    if behaviour == "overwrite":
        return say("recovery_effects.deleted_overwrite", read=_read_before(context))
    if context.sink == "delta":
        return say("recovery_effects.deleted_delta")
    if last is None:
        return say("recovery_effects.deleted_file_sink_unknown")
    return say("recovery_effects.deleted_file_sink", last=last)


def _kept_rows(context: RecoveryContext, behaviour: Behaviour, last: int | None) -> str:
    """What a full refresh does into the old output."""
    if behaviour == "append":
        return say("recovery_effects.kept_rows_append", read=_read_before(context))
    if behaviour == "overwrite":
        return say("recovery_effects.kept_rows_overwrite")
    if context.sink == "delta":
        return say("recovery_effects.kept_rows_delta", read=_read_before(context))
    if last is None:
        return say("recovery_effects.kept_rows_file_sink_unknown")
    return say("recovery_effects.kept_rows_file_sink", last=last)
