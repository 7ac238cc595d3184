"""The three ways out as data: what each costs on THIS checkpoint, which one comes first and why, and why one
cannot be done.

The general words are those of common advice; where they are wrong for this checkpoint the fact beside them
corrects them (``Cell.corrected``): a Delta table does not absorb repeats after its checkpoint was deleted, a
reset gives up state, a file source has no start option.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from core.messages import words
from core.messages.recovery import TITLES
from core.recovery.answers import OPTION_IDS, OptionId
from core.recovery.consequences import (
    Consequence,
    consequences,
    lost_with_state,
    pending_amount,
    read_amount,
    summary,
)
from core.recovery.context import RecoveryContext
from core.recovery.recipe import Recipe, recipe

Level = Literal["low", "medium", "high"]
LEVELS: Mapping[OptionId, Level] = MappingProxyType({"full_refresh": "low", "backup_and_backfill": "medium"})


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the table: the general word and this checkpoint's own facts. ``corrected``: the facts
    contradict the word."""

    general: str
    facts: str = ""
    corrected: bool = False

    @property
    def text(self) -> str:
        """Both in one line."""
        return f"{self.general}. {self.facts}" if self.facts else f"{self.general}."


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
    """The three options for this checkpoint, the recommended one first, impossible ones last."""
    recipes = {option: recipe(context, option) for option in OPTION_IDS}
    best, reason = _recommended(context, recipes)
    found = [
        _option(context, recipes[option], option == best, reason if option == best else "")
        for option in OPTION_IDS
    ]
    return tuple(sorted(found, key=lambda option: (not option.recommended, not option.possible)))


def _recommended(context: RecoveryContext, recipes: dict[OptionId, Recipe]) -> tuple[OptionId | None, str]:
    reset = recipes["reset"]
    if context.sources and reset.possible and (not context.needs_state or reset.method == "warm_up"):
        if reset.method == "warm_up":
            return (
                "reset",
                (
                    "The position is exact and the state can be built again from the old data, so nothing is"
                    " lost and little is read."
                ),
            )
        if reset.method == "pipeline" and any(start.how == "modified_after" for start in reset.starts):
            return (
                "reset",
                (
                    "It keeps the table and reads little again; mind that the start of a file source is a"
                    " time, not an exact place."
                ),
            )
        if reset.skips:
            return (
                "reset",
                (
                    "What the source no longer has is lost in any case; this keeps the rest and reads nothing"
                    " a second time."
                ),
            )
        return (
            "reset",
            (
                "The position of every source is exact, so nothing is lost, and it reads nothing again but"
                " what was not committed."
            ),
        )
    if recipes["full_refresh"].possible and context.source_complete == "yes":
        return (
            "full_refresh",
            "The source holds everything and the state or the position cannot be carried over exactly.",
        )
    if recipes["backup_and_backfill"].possible and context.source_complete != "yes":
        return (
            "backup_and_backfill",
            (
                "The state or the position cannot be carried over, and the source may not hold everything:"
                " keep the old rows."
            ),
        )
    if reset.possible:
        return "reset", "It is the only one that can be done; read what it loses."
    if recipes["full_refresh"].possible:
        return "full_refresh", "The position cannot be carried over."
    return None, ""


def _option(context: RecoveryContext, made: Recipe, recommended: bool, reason: str) -> Option:
    found = consequences(context, made.option)
    yours = next((item for item in found if item.is_yours), None)
    cells = {"full_refresh": _full_refresh, "backup_and_backfill": _backup_and_backfill, "reset": _reset}[
        made.option
    ](context, made)
    return Option(
        id=made.option,
        title=TITLES[made.option],
        possible=made.possible,
        recommended=recommended,
        why=made.why,
        reason=reason,
        level=LEVELS.get(made.option) or _reset_level(context),
        complexity=cells[0],
        cost=cells[1],
        loss=cells[2],
        duplicates=cells[3],
        initial_snapshot=cells[4],
        full_reset=cells[5],
        needs_full_source=made.option == "full_refresh" or made.method == "warm_up",
        loses=yours.loses if yours is not None else summary(found, "loses"),
        repeats=yours.repeats if yours is not None else summary(found, "repeats"),
        consequences=found,
        recipe=made,
    )


Cells = tuple[Cell, Cell, Cell, Cell, Cell, Cell]


def _reads_everything(context: RecoveryContext) -> str:
    read = read_amount(context)
    waiting = pending_amount(context)
    text = (
        f"Reads {read} again that were committed up to batch {context.last_committed}"
        if read
        else "Reads the whole source again"
    )
    text += f", and batch {context.pending} ({waiting})." if waiting and read else "."
    if context.state_bytes is not None:
        text += f" {words.size(context.state_bytes)} of state is built anew."
    return text


def _full_refresh(context: RecoveryContext, made: Recipe) -> Cells:
    complete = {
        "yes": "You said that the source is complete.",
        "no": "You said that the source is not complete: rows are lost.",
    }
    loss = complete.get(context.source_complete, "Not known yet whether raw data was removed at the source.")
    files = [source for source in context.sources if source.files_read is not None]
    if files and context.source_complete != "no":
        named = sum(source.files_read or 0 for source in files)
        loss += (
            f" The checkpoint names {named:,} files that were read; the code checks that all are still there."
        )
    keyed = context.sink == "foreach_merge"
    duplicates = Cell(
        "no, for a keyed target" if keyed else "no",
        "The code writes to a new output and keeps the old one under another name.",
    )
    if context.sink == "delta":
        duplicates = Cell(
            "no, for a keyed target",
            "Only because the output is new: into the same Delta table everything would come twice, the new"
            " query id is unknown to it.",
            True,
        )
    return (
        Cell("low", _manual(context)),
        Cell("medium", _reads_everything(context)),
        Cell("yes, if there is no initial snapshot or raw files were deleted at the source", loss),
        duplicates,
        Cell("yes", "Everything must still be readable at the source."),
        Cell("yes", "The output is written anew."),
    )


def _manual(context: RecoveryContext) -> str:
    return (
        "The code cannot empty your foreachBatch target unless sink_path says where it is."
        if _unknown_place(context)
        else ""
    )


def _unknown_place(context: RecoveryContext) -> bool:
    return (
        context.sink is not None
        and context.sink.startswith("foreach")
        and context.answers.get("sink_path") is None
    )


def _backup_and_backfill(context: RecoveryContext, made: Recipe) -> Cells:
    exact = context.answers.get("backfill_keys") is not None
    keys = (
        ""
        if exact
        else "Needs a unique key (answer backfill_keys); without one the rows that are in both come twice."
    )
    if context.sink == "delta":
        duplicates = Cell(
            "no, for idempotent sinks such as auto CDC",
            f"By the merge on the key, not by the Delta table itself. {keys}".strip(),
            True,
        )
    else:
        duplicates = Cell("no, for idempotent sinks such as auto CDC", keys)
    return (
        Cell("medium", "Three steps: backup, refresh, merge back what only the backup has."),
        Cell("high", _reads_everything(context) + " The old output is kept in full beside the new one."),
        Cell(
            "no",
            "Rows that are gone at the source come from the backup; keys deleted since the backup come back.",
        ),
        duplicates,
        Cell("no"),
        Cell("no", "In the end the rows of the backup are in the table again."),
    )


def _reset(context: RecoveryContext, made: Recipe) -> Cells:
    return (
        Cell(
            "medium to high",
            f"Here {_reset_level(context)}. {_reset_effort(context, made)}" if made.possible else made.why,
        ),
        Cell("low", _reset_cost(context, made), made.method == "warm_up"),
        _reset_loss(context, made),
        _reset_duplicates(context, made),
        Cell(
            "no",
            "The old data is read once to build the state again." if made.method == "warm_up" else "",
            made.method == "warm_up",
        ),
        Cell(
            "no",
            "The rows go to a new output beside the old one." if made.new_output else "The table is kept.",
        ),
    )


def _reset_level(context: RecoveryContext) -> Level:
    return "high" if context.needs_state else "medium"


def _reset_effort(context: RecoveryContext, made: Recipe) -> str:
    how = {
        "start_options": "Start options for every source, in an empty checkpoint.",
        "seeded": (
            "A file source has no start option: the code writes a new checkpoint that names the files already"
            " read."
            if any(start.how == "file_log" for start in made.starts)
            else "The code writes the old offset into a new checkpoint, so the batch numbers go on."
        ),
        "warm_up": "Two runs: the old data into the noop sink, then the real sink.",
        "empty_state": "Two runs: one that marks the old data as read, then the real sink.",
        "pipeline": "The flow's code gets the start position, then the update resets the checkpoint.",
    }
    return how.get(made.method or "", "")


def _reset_cost(context: RecoveryContext, made: Recipe) -> str:
    waiting = pending_amount(context)
    text = (
        f"Reads batch {context.pending} again ({waiting}) and nothing else."
        if waiting
        else "Reads nothing again."
    )
    if made.method == "warm_up":
        text = (
            f"Reads {read_amount(context) or 'the old data'} once more to build the state, without writing."
        )
    if context.has_state and context.state_bytes is not None:
        text += f" {words.size(context.state_bytes)} of state is left behind."
    return text


def _reset_loss(context: RecoveryContext, made: Recipe) -> Cell:
    if not made.possible:
        return Cell("no, with care for the start position", made.why, True)
    if context.needs_state and made.method != "warm_up":
        gone = f" And what the source no longer has: {made.skips}." if made.skips else ""
        return Cell(
            "no, with care for the start position",
            f"Here yes, the state: {lost_with_state(context)}.{gone}",
            True,
        )
    if made.skips:
        return Cell(
            "no, with care for the start position",
            f"Here yes, what the source no longer has: {made.skips}.",
            True,
        )
    start = f"The start is after batch {context.last_committed}, the last committed one."
    if any(starting.how == "modified_after" for starting in made.starts):
        return Cell(
            "no, with care for the start position",
            f"{start} Files that arrive late with an older time are missed.",
            True,
        )
    return Cell("no, with care for the start position", start)


def _reset_duplicates(context: RecoveryContext, made: Recipe) -> Cell:
    general = "no, for idempotent writers only"
    yours = next((item for item in consequences(context, "reset") if item.is_yours), None)
    if context.sink == "delta" and not made.keep_pending:
        trap = "The Delta table does not absorb repeats after a reset: its log knows the old query id only."
        return Cell(general, f"{trap} The exact start is what avoids them.", True)
    if yours is not None:
        return Cell(general, yours.repeats)
    return Cell(
        general,
        (
            "No batch is pending."
            if context.pending is None
            else f"Batch {context.pending} may come a second time, depending on the sink."
        ),
    )
