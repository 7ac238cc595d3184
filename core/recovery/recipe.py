"""How each option would be carried out on this checkpoint: the method, the start of every source, or the
sentence why it cannot be done.

The rules were observed on Spark 4.3 with a row-by-row look at the sink; where they differ by source, sink or
state:

* A stateless query goes on exactly. Kafka takes ``startingOffsets`` in an empty checkpoint; a file source has
  no start option and takes a seeded source log; Delta takes its own offset text written into a new checkpoint
  twice.
* A sink that recognises batch ids (file sink, Delta, txnAppId) must not meet an old number with new rows. For
  these the new checkpoint is seeded so that the numbers go on, and a batch without a commit is carried over
  as pending with its planned end.
* State cannot be carried by offsets. A stateful query is warmed up by reading the old data once into the
  ``noop`` sink, or starts empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.messages.words import listed
from core.recovery.answers import OptionId
from core.recovery.context import RecoveryContext, SourcePosition
from core.recovery.sinks import NUMBERED_SINKS

Method = Literal["start_options", "seeded", "warm_up", "empty_state", "from_start", "pipeline"]
How = Literal["options", "file_log", "offset_text", "earliest", "modified_after"]

WARM_OPERATORS = frozenset({"stateStoreSave", "dedupe", "dedupeWithinWatermark"})


@dataclass(frozen=True, slots=True)
class SourceStart:
    """Where one source begins in the new checkpoint. ``options`` are reader options; ``says`` is for a
    person."""

    source: SourcePosition
    how: How
    options: Mapping[str, str]
    says: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """One option on this checkpoint. ``why`` says why it can or cannot be done.

    ``first_batch`` is the first batch id that the new checkpoint runs. ``new_output``: the rows must go to a
    new place. ``caution`` are sentences that must stand beside the option. ``skips``: what the sources no
    longer have behind the position, so that no start can read it; empty when nothing is known to be gone.
    """

    option: OptionId
    possible: bool
    why: str
    method: Method | None = None
    starts: tuple[SourceStart, ...] = ()
    keep_pending: bool = False
    keep_query_id: bool = False
    first_batch: int = 0
    new_output: bool = False
    caution: tuple[str, ...] = field(default=())
    skips: str = ""

    @property
    def continues_numbers(self) -> bool:
        """Whether the batch ids go on where the old checkpoint ended."""
        return self.method == "seeded"


def recipe(context: RecoveryContext, option: OptionId) -> Recipe:
    """The recipe of one option. Pure: everything was read before."""
    if not context.sources and not context.unreadable:
        return Recipe(option, False, "The checkpoint names no source.")
    if option == "reset":
        return _reset(context)
    return _refresh(context, option)


# ---------------------------------------------------------------- from the beginning


def _refresh(context: RecoveryContext, option: OptionId) -> Recipe:
    gone = [source.label for source in context.sources if source.kind.replay == "never"]
    if gone:
        return Recipe(
            option, False, f"{listed(gone)}: such a source cannot be read again from the beginning."
        )
    if not context.sources:
        return Recipe(option, False, "No offset file can be read, so it is not known what the query reads.")
    if option == "full_refresh" and context.source_complete == "no":
        return Recipe(
            option,
            False,
            "The source no longer holds everything, so the rows that are gone there would be lost: take the"
            " one with backup and backfill.",
        )
    if option == "backup_and_backfill" and context.sink == "kafka":
        return Recipe(
            option,
            False,
            "Records in a topic cannot be merged or removed, so a backfill cannot be made exact.",
        )
    if option == "backup_and_backfill" and context.sink == "other":
        return Recipe(option, False, "How rows are merged into this sink is not known.")
    starts = tuple(
        SourceStart(source, "earliest", source.kind.earliest_options, _earliest_words(source))
        for source in context.sources
    )
    why = "Everything is read again from the beginning into a new, empty output."
    if context.source_complete == "unknown":
        why += (
            " Whether the source still holds everything has to be checked first; the code does it for files"
            " and Kafka."
        )
    return Recipe(option, True, why, "from_start", starts, new_output=True)


def _earliest_words(source: SourcePosition) -> str:
    words = {
        "broker": "startingOffsets=earliest (the default of a streaming query is latest)",
        "directory": "every file that is there; a file source has no start option",
        "table": "the whole table as it is now, then its later versions",
        None: "the earliest position, by the reader options of this source",
    }
    return words[source.kind.asks]


# ---------------------------------------------------------------- from the last committed batch


def _reset(context: RecoveryContext) -> Recipe:
    if context.unreadable is not None:
        return Recipe("reset", False, context.unreadable)
    lost = [source.key for source in context.sources if source.position is None]
    if lost:
        return Recipe(
            "reset",
            False,
            f"Source {listed(lost)} has no offset in batch {context.last_committed}, so its position is not known.",
        )
    if context.platform == "lakeflow":
        return _reset_pipeline(context)
    if _skips(context):
        return _reset_with_loss(context)
    return _reset_stateful(context) if context.needs_state else _reset_stateless(context)


def _by_options(source: SourcePosition) -> SourceStart | None:
    point = source.point
    if (
        point is None
        or point.options is None
        or source.kind.has_own_log
        or not (point.exact or _has_lost(source))
    ):
        return None
    return SourceStart(
        source, "options", point.options, listed(f"{name} = {value}" for name, value in point.options.items())
    )


def _by_seed(source: SourcePosition) -> SourceStart | None:
    if source.kind.seed == "file_source_log" and source.files_read is not None:
        return SourceStart(
            source, "file_log", {}, f"a source log that names the {source.files_read:,} files already read"
        )
    if (
        source.kind.seed == "offset_text"
        and source.point is not None
        and (source.point.exact or source.point.seed == "transplant")
    ):
        return SourceStart(
            source, "offset_text", {}, f"the same offset, written into the new checkpoint: {source.position}"
        )
    return None


def _has_lost(source: SourcePosition) -> bool:
    """Whether the broker was asked and no longer has all that lies behind the position; the options then
    start with what is left."""
    return (
        source.kind.asks == "broker"
        and source.point is not None
        and not source.point.exact
        and source.point.options is not None
    )


def _skips(context: RecoveryContext) -> str:
    """What can no longer be read behind the positions, over all sources; empty when nothing is known to be
    gone."""
    return "; ".join(
        f"source {source.key}: {source.point.skips}"
        for source in context.sources
        if source.point is not None and _has_lost(source)
    )


def _reset_with_loss(context: RecoveryContext) -> Recipe:
    """Records behind the position are gone at the source: start options with what is left, whatever the sink."""
    if context.sink == "foreach_txn":
        why = (
            "The new checkpoint counts batches from 0, and a table that knows these numbers by txnAppId skips"
            " them: use a new txnAppId."
        )
        return Recipe("reset", False, why)
    starts = [_by_options(source) for source in context.sources]
    for source, start in zip(context.sources, starts, strict=True):
        if start is None:
            return Recipe("reset", False, _why_not(source))
    caution = list(_repeat_cautions(context))
    if context.needs_state:
        caution.append("The state starts empty.")
    if context.sink == "delta" and context.pending is not None:
        caution.append(
            f"If the table holds batch {context.pending} already, its rows come a second time: the new checkpoint"
            " has a new query id."
        )
    why = (
        "The source no longer has everything behind the position; what is left is read, and nothing that was"
        " committed is read again."
    )
    found = tuple(start for start in starts if start is not None)
    return Recipe(
        "reset",
        True,
        why,
        "start_options",
        found,
        new_output=context.sink == "file",
        caution=tuple(caution),
        skips=_skips(context),
    )


def _why_not(source: SourcePosition) -> str:
    if source.kind.has_own_log:
        return (
            f"Source {source.key} is a file source whose log has gaps or cannot be read, so which files were"
            " read is not known; without it every file would be read again."
        )
    note = source.point.note if source.point is not None else "its position is not known."
    return f"Source {source.key} ({source.label}): {note}"


def _reset_stateless(context: RecoveryContext) -> Recipe:
    numbered = context.sink in NUMBERED_SINKS or (context.sink == "delta" and context.pending_is_next)
    seeded = numbered or any(source.kind.needs_seed for source in context.sources)
    starts = [_by_seed(source) if seeded else _by_options(source) for source in context.sources]
    for source, start in zip(context.sources, starts, strict=True):
        if start is None:
            extra = (
                " The sink recognises batch ids, so the new checkpoint would have to carry the numbers on,"
                " which start options cannot."
            )
            return Recipe(
                "reset", False, _why_not(source) + (extra if numbered and _by_options(source) else "")
            )
    caution = list(_repeat_cautions(context))
    keep_pending = (
        numbered and context.pending_is_next and all(source.pending is not None for source in context.sources)
    )
    keep_id = numbered and context.sink != "file" and context.query_id is not None
    committed = context.last_committed if context.last_committed is not None else 0
    pair = seeded and any(source.kind.is_seeded_twice for source in context.sources) and not keep_pending
    first = (max(committed, 1 if pair else 0) + 1) if seeded else 0
    removed = (
        " The stateful part is gone from the query, so its state is left behind." if context.has_state else ""
    )
    why = "The query keeps no state and the position of every source is exact." + removed
    return Recipe(
        "reset",
        True,
        why,
        "seeded" if seeded else "start_options",
        tuple(start for start in starts if start is not None),
        keep_pending,
        keep_id,
        first,
        False,
        tuple(caution),
    )


def _reset_stateful(context: RecoveryContext) -> Recipe:
    caution = list(_repeat_cautions(context))
    if context.stateful == "unchanged" and context.has_state:
        caution.append(
            "The stateful part did not change, so a plain restart keeps the state; a reset gives it up."
        )
    new_output = context.sink == "file"
    if all(source.kind.can_warm_up for source in context.sources):
        starts = [_by_seed(source) for source in context.sources]
        for source, start in zip(context.sources, starts, strict=True):
            if start is None:
                return Recipe("reset", False, _why_not(source))
        found = tuple(start for start in starts if start is not None)
        cold = _why_no_warm_up(context)
        if cold is None:
            return Recipe(
                "reset",
                True,
                "The old data is still there: the new state is built from it without writing a row, then the"
                " query goes on.",
                "warm_up",
                found,
                first_batch=1,
                new_output=new_output,
                caution=tuple(caution),
            )
        caution.append(cold)
        if any(source.kind.has_own_log for source in context.sources):
            return Recipe(
                "reset",
                True,
                EMPTY,
                "empty_state",
                found,
                first_batch=1,
                new_output=new_output,
                caution=tuple(caution),
            )
    by_options = [_by_options(source) for source in context.sources]
    for source, start in zip(context.sources, by_options, strict=True):
        if start is None:
            return Recipe(
                "reset",
                False,
                _why_not(source) + " For a query that keeps state there is no other way to start there.",
            )
    found = tuple(start for start in by_options if start is not None)
    return Recipe("reset", True, EMPTY, "start_options", found, new_output=new_output, caution=tuple(caution))


EMPTY = "The position of every source is exact, but the state starts empty."


def _why_no_warm_up(context: RecoveryContext) -> str | None:
    """Why the state cannot be built again from the old data, None when it can."""
    if context.source_complete != "yes":
        return "The state cannot be built again from the old data" + (
            ", because it is not known whether the source still holds it."
            if context.source_complete == "unknown"
            else ": it is gone at the source."
        )
    others = sorted(
        {name or "an operator without a name" for name in context.operators if name not in WARM_OPERATORS}
    )
    if others:
        return (
            "Building the state again by reading old data was shown for aggregations and deduplication only,"
            f" not for {listed(others)}."
        )
    return None


def _repeat_cautions(context: RecoveryContext) -> list[str]:
    if context.is_async:
        return [
            "With asynchronous progress tracking batches after the last logged one may have been written;"
            " their rows come again."
        ]
    if context.pending is not None and not context.pending_is_next:
        return [
            f"Batches {(context.last_committed or 0) + 1} to {context.pending} have no commit; rows of them that reached"
            " the sink come again."
        ]
    return []


def _reset_pipeline(context: RecoveryContext) -> Recipe:
    """A Lakeflow pipeline: its checkpoint cannot be written by hand, so only reader options count
    (documented, not run)."""
    starts = []
    caution = list(_repeat_cautions(context))
    for source in context.sources:
        start = _by_options(source)
        if start is None and source.kind.has_own_log and source.newest_file_ms is not None:
            start = SourceStart(
                source,
                "modified_after",
                {},
                "Auto Loader's modifiedAfter = the newest time among the files already read",
            )
            caution.append(
                f"Source {source.key}: modifiedAfter is exclusive and only Auto Loader has it; files with the"
                " same or an older time that arrive later are missed."
            )
        if start is None:
            return Recipe(
                "reset", False, _why_not(source) + " The checkpoint of a pipeline cannot be written by hand."
            )
        starts.append(start)
    if context.needs_state:
        caution.append(
            "The state of the flow starts empty: deduplication forgets its keys, totals start at zero, open"
            " windows are lost."
        )
    why = "The flow's checkpoint is reset and the table is kept."
    return Recipe(
        "reset", True, why, "pipeline", tuple(starts), caution=tuple(caution), skips=_skips(context)
    )
