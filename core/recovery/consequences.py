"""What repeats and what is lost, for each option and each way a sink treats a repeated batch. Every rule was
observed on Spark 4.3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from core.messages.recovery import BEHAVIOURS
from core.messages.words import listed
from core.recovery.amounts import amounts
from core.recovery.answers import OptionId
from core.recovery.context import RecoveryContext
from core.recovery.recipe import Recipe, recipe
from core.recovery.sinks import BEHAVIOUR_IDS, EXAMPLES, Behaviour

LOST_STATE: Mapping[str, str] = MappingProxyType(
    {
        "stateStoreSave": (
            "windows that were open are emitted without their older rows or not at all, and totals start at"
            " zero"
        ),
        "dedupe": "deduplication forgets its keys, so duplicates it would have caught get through",
        "dedupeWithinWatermark": (
            "deduplication forgets its keys, so duplicates it would have caught get through"
        ),
        "symmetricHashJoin": "rows that waited for a match are gone, so their matches never appear",
        "globalLimit": "the limit counts from zero again",
        "sessionWindowStateStoreSaveExec": "open sessions are lost",
    }
)


@dataclass(frozen=True, slots=True)
class Consequence:
    """One option for one kind of sink, when the generated code does it. ``trap`` is what the short cut people
    often take would do."""

    option: OptionId
    behaviour: Behaviour
    label: str
    repeats: str
    loses: str
    trap: str
    is_yours: bool


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
                BEHAVIOURS[behaviour],
                repeats,
                loses,
                _trap(as_if, option, behaviour),
                mine,
            )
        )
    return tuple(found)


def lost_with_state(context: RecoveryContext) -> str:
    """What an empty state means for the operators of this checkpoint."""
    known = [LOST_STATE[name] for name in context.operators if name is not None and name in LOST_STATE]
    parts = list(dict.fromkeys(known)) or ["what the state remembered is forgotten"]
    return "; ".join(parts)


def pending_amount(context: RecoveryContext) -> str | None:
    """How much the batch without a commit was planned to read, in words; None when there is none."""
    if context.pending is None:
        return None
    return (
        amounts(((source.key, source.pending) for source in context.sources), len(context.sources) > 1)
        or "an unknown amount"
    )


def read_amount(context: RecoveryContext) -> str | None:
    """How much was read from the first start up to the last commit, in words; None when the files do not
    tell."""
    return amounts(((source.key, source.read_so_far) for source in context.sources), len(context.sources) > 1)


def _repeats_and_loses(context: RecoveryContext, made: Recipe, behaviour: Behaviour) -> tuple[str, str]:
    if not made.possible:
        return f"Not possible: {made.why}", f"Not possible: {made.why}"
    if made.option == "reset":
        return _reset_repeats(context, made, behaviour), _reset_loses(context, made, behaviour)
    if made.option == "full_refresh":
        return "Nothing: the rows go to a new, empty output.", _refresh_loses(context)
    return _backfill(context, behaviour)


# ---------------------------------------------------------------- reset


def _reset_repeats(context: RecoveryContext, made: Recipe, behaviour: Behaviour) -> str:
    parts = []
    if context.pending is not None:
        planned = f"Batch {context.pending} has no commit ({pending_amount(context)} planned)"
        if behaviour == "overwrite":
            by_key = "" if made.continues_numbers else " in a sink that overwrites by key"
            parts.append(f"{planned}; it is read again and its rows replace themselves{by_key}.")
        elif made.keep_pending and (made.keep_query_id or context.sink == "file"):
            parts.append(
                f"Nothing. {planned}; it is carried over with its number and its planned end: skipped if the"
                " sink has it, else written."
            )
        else:
            parts.append(
                f"{planned}: rows of it that reached the sink before the stop come again, as they would at a"
                " plain restart."
            )
    empty = made.method == "empty_state" or (made.method == "start_options" and context.needs_state)
    if empty and any(name and name.startswith("dedupe") for name in context.operators):
        parts.append("Duplicates that the lost deduplication state would have caught.")
    return " ".join(parts) or "Nothing."


def _reset_loses(context: RecoveryContext, made: Recipe, behaviour: Behaviour) -> str:
    parts = [f"What the source no longer has ({made.skips})."] if made.skips else []
    if context.needs_state and made.method in ("empty_state", "start_options", "pipeline"):
        parts.append(f"The state: {lost_with_state(context)}.")
        if behaviour == "overwrite" and "stateStoreSave" in context.operators:
            parts.append("In update or complete mode the new totals replace the old, larger ones.")
    if made.method == "warm_up" and context.watermark_ms:
        parts.append(
            "Nothing but this: with other batch boundaries other late rows may be dropped than the first"
            " time."
        )
    if behaviour == "overwrite" and not made.continues_numbers:
        parts.append(
            "Nothing in a sink that overwrites by key. One that overwrites by batch id loses its old batches:"
            " the numbers start at 0 again."
        )
    if behaviour == "batch_number_aware" and made.new_output:
        parts.append(
            "Nothing is skipped, because the rows go to a new output; readers take the old and the new one"
            " together."
        )
    return " ".join(parts) or "Nothing."


# ---------------------------------------------------------------- from the beginning


def _refresh_loses(context: RecoveryContext) -> str:
    if context.source_complete == "yes":
        return "Nothing, if the source really holds everything; the old output stays beside the new one."
    if context.source_complete == "no":
        return "Every row that is no longer at the source."
    return "Every row that is no longer at the source; whether there are any is not known yet."


def _backfill(context: RecoveryContext, behaviour: Behaviour) -> tuple[str, str]:
    if behaviour == "overwrite":
        return (
            (
                "Nothing, with the sequence condition (only newer rows win): without it every key goes back"
                " to its old value."
            ),
            "Nothing. Keys that were deleted after the backup come back unless deletions are kept as rows.",
        )
    if context.sink == "file":
        return (
            "Nothing, if the key is unique: only backup rows whose key is missing are added.",
            "Nothing, if readers take the refreshed output and the backfill directory together.",
        )
    return (
        (
            "Nothing, if the key is unique: only backup rows whose key is missing are added. Without a key"
            " the overlap repeats."
        ),
        "Nothing.",
    )


# ---------------------------------------------------------------- short cuts


def _trap(context: RecoveryContext, option: OptionId, behaviour: Behaviour) -> str:
    read = read_amount(context)
    everything = f"what was read before ({read})" if read else "everything that is still at the source"
    last = context.newest_offset if context.newest_offset is not None else context.last_committed
    if option == "reset":
        if behaviour == "append":
            return (
                f"Deleting the checkpoint and starting from the earliest position instead writes {everything}"
                " a second time."
            )
        if behaviour == "overwrite":
            return (
                f"Deleting the checkpoint and starting from the earliest position instead reads {everything}"
                " again: harmless with a key and a sequence guard, wrong in a sink that adds up."
            )
        if context.sink == "delta":
            return (
                "Deleting the checkpoint gives a new query id, so the Delta table recognises nothing: what is"
                " read again is written again. Keeping the old metadata file with new batch numbers loses"
                " rows instead: numbers the table knows are skipped."
            )
        numbers = f"numbers 0 to {last}" if last is not None else "the old numbers"
        return (
            "A new checkpoint on the same target starts at batch 0, and new rows are silently skipped while"
            f" the batches have {numbers}."
        )
    if behaviour == "append":
        return f"With the old rows left in place {everything} is there twice."
    if behaviour == "overwrite":
        return (
            "With the old rows left in place, keys that no longer come from the source stay; by batch id, old"
            " and new batches are mixed."
        )
    if context.sink == "delta":
        return (
            f"With the old rows left in place {everything} would be written a second time: the new query id"
            " is not in the table's log."
        )
    numbers = f" with numbers up to {last}" if last is not None else ""
    return (
        f"With the old output left in place, batches{numbers} are silently skipped, whatever they hold;"
        " removing only its data files makes it unreadable."
    )


def summary(found: tuple[Consequence, ...], what: str) -> str:
    """One sentence over all kinds of sinks: equal statements are said once. ``what`` is ``repeats`` or
    ``loses``."""
    groups: dict[str, list[str]] = {}
    for item in found:
        groups.setdefault(str(getattr(item, what)), []).append(_SHORT[item.behaviour])
    if len(groups) == 1:
        return next(iter(groups))
    return " ".join(f"{listed(kinds)}: {text}" for text, kinds in groups.items())


_SHORT: Mapping[Behaviour, str] = {
    "append": "Append sink",
    "overwrite": "Overwriting sink",
    "batch_number_aware": "Batch-number-aware sink",
}
