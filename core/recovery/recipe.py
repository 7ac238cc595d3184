"""How each option would be carried out on this checkpoint: the method, the start of every source, or the
sentence why it cannot be done.

The rules were observed on Spark 4.3 with a row-by-row look at the sink; where they differ by source, sink or
state:

* A stateless query resumes exactly. Kafka takes ``startingOffsets`` in an empty checkpoint; a file source has
  no start option and takes a seeded file source log; Delta takes its own offset text written into a new
  checkpoint twice.
* A sink that skips committed batch IDs (file sink, Delta, txnAppId) must not receive an old batch ID with new
  rows. For these the new checkpoint is seeded so that the batch IDs continue, and a batch without a commit is
  carried over as pending with its planned end.
* State cannot be carried by offsets. A stateful query is warmed up by reading the old data once into the
  ``noop`` sink, or starts empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from core.checkpoint.sources.base import Asks, ResumePoint
from core.connectors.requested import read_topics
from core.messages import say, say_of
from core.messages.words import listed
from core.recovery.answers import OptionId
from core.recovery.context import RecoveryContext, SourcePosition
from core.recovery.repairs import repair_of
from core.recovery.restart import may_be_skipped, why_no_restart
from core.recovery.sinks import NUMBERED_SINKS
from core.recovery.snapshots import changes_lost, start_option
from core.storage.location import is_below

Method = Literal[
    "restart", "repair", "start_options", "seeded", "warm_up", "empty_state", "from_start", "pipeline"
]
How = Literal["options", "file_log", "offset_text", "earliest", "modified_after"]

WARM_OPERATORS = frozenset({"stateStoreSave", "dedupe", "symmetricHashJoin"})
"""Operators whose state is the same when all rows come in one batch. dropDuplicatesWithinWatermark is none of
them: there a row decides by the batches before it."""
_IN_THE_SOURCE = ("DELTA_FILES_GONE", "DELTA_CHANGES_WAIT", "DELTA_LOG_GAP", "DELTA_SCHEMA_WAITS")
"""Why a start fails that reads on from this position, whatever checkpoint it has (seen with Delta 4.4
on Spark 4.2)."""


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

    ``first_batch`` is the first batch ID that the new checkpoint runs. ``new_output``: the rows must go to a
    new place. ``caution`` are sentences that must stand beside the option. ``skips``: what the sources no
    longer have after the position, so that no start can read it; empty when nothing is known to be gone.
    ``repeats``: what a start at the positions may read again by what the brokers have; empty for nothing.
    ``left_out``: what is gone with a topic that the query no longer reads, beside starts that are exact.
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
    repeats: str = ""
    left_out: str = ""

    @property
    def continues_numbers(self) -> bool:
        """Whether the batch IDs continue those of the old checkpoint."""
        return self.method == "seeded"


def recipe(context: RecoveryContext, option: OptionId) -> Recipe:
    """The recipe of one option. Pure: everything was read before."""
    if context.place_in_use is not None and option != "backup":
        return Recipe(option, False, say("recovery_options.not_in_use", place=context.place_in_use))
    if option == "restart":
        return _restart(context)
    repair = repair_of(option)
    if repair is not None and context.is_lost and not repair.needs_no_checkpoint:
        return Recipe(option, False, say("recovery_options.lost"))
    if repair is not None:
        judged = repair.judge(context)
        method: Method | None = "repair" if judged.possible else None
        return Recipe(option, judged.possible, judged.why, method, caution=judged.caution)
    if not context.sources and not context.unreadable:
        return Recipe(option, False, say("recovery_options.no_source"))
    if option == "reset":
        return _reset(context)
    return _refresh(context, option)


def _restart(context: RecoveryContext) -> Recipe:
    refused = why_no_restart(context)
    if refused is not None:
        return Recipe("restart", False, refused)
    lost = context.is_lost
    why = say("recovery_options.restart_pipeline_lost" if lost else "recovery_options.restart")
    caution = (
        (say("recovery_options.restart_may_be_skipped", batch=context.pending),)
        if may_be_skipped(context)
        else ()
    )
    return Recipe("restart", True, why, "restart", caution=caution)


# ---------------------------------------------------------------- from the beginning


def _refresh(context: RecoveryContext, option: OptionId) -> Recipe:
    refused = _why_no_refresh(context, option)
    if refused is not None:
        return Recipe(option, False, refused)
    starts = tuple(
        SourceStart(source, "earliest", source.kind.earliest_options, _begins(context, source))
        for source in context.sources
    )
    pipeline = context.is_pipeline
    why = _why_refresh_pipeline(option) if pipeline else say("recovery_options.from_start")
    if context.source_complete == "unknown":
        unchecked = say(
            "recovery_options.completeness_by_hand" if pipeline else "recovery_options.completeness_unchecked"
        )
        why = f"{why} {unchecked}"
    asked = () if pipeline else (*_asked_by_script(context, option), *_asked_at_target(context, option))
    caution = (*asked, *changes_lost(context))
    return Recipe(option, True, why, "from_start", starts, new_output=context.flow is None, caution=caution)


def _asked_by_script(context: RecoveryContext, option: OptionId) -> tuple[str, ...]:
    """The values without which the script of a refresh refuses this table, and why."""
    found = []
    is_refresh, is_table = option == "full_refresh", context.sink == "delta"
    if context.is_sink_made_again:
        found.append(
            say("recovery_options.sink_made_again")
            if is_refresh
            else say("recovery_options.sink_made_again_backfill")
        )
    if lost := context.lost_of_others if is_refresh else context.changed_by_others:
        who = [each.words for each in lost]
        if not is_table:
            found.append(say("recovery_options.others_in_target", who=who))
        elif is_refresh:
            found.append(say("recovery_options.others_in_table", who=who))
        else:
            found.append(say("recovery_options.others_in_table_backfill", who=who))
    return tuple(found)


def _asked_at_target(context: RecoveryContext, option: OptionId) -> tuple[str, ...]:
    """What the script asks about the target of foreachBatch, which it does not know."""
    if context.sink is None or not context.sink.startswith("foreach"):
        return ()
    asked: list[str] = []
    if context.answers.get("sink_path") is None:
        asked.append(say("recovery_options.asks_empty_target"))
    is_told = context.answers.get("sink_path") is not None and context.answers.get("sink_format") is not None
    if option == "backup_and_backfill" and context.sink == "foreach_merge" and not is_told:
        asked.append(say("recovery_options.asks_merge_target"))
    return tuple(asked)


def _why_refresh_pipeline(option: OptionId) -> str:
    return say(
        "recovery_options.pipeline_emptied"
        if option == "full_refresh"
        else "recovery_options.pipeline_backfilled"
    )


def _why_no_refresh(context: RecoveryContext, option: OptionId) -> str | None:
    """Why the sources cannot be read again from the beginning for this option, None when they can."""
    unreplayable = [source.label for source in context.sources if source.kind.replay == "never"]
    if unreplayable:
        return say("recovery_options.no_replay", sources=unreplayable)
    if not context.sources and context.is_lost and context.platform == "lakeflow":
        return None if option == "full_refresh" else say("recovery_options.name_sources")
    if not context.sources:
        return say("recovery_options.name_sources")
    output = context.answers.get("sink_path")
    is_renamed = not context.is_pipeline and context.sink != "kafka" and not context.earlier_batches
    if output is not None and is_renamed and _lies_in(context, output):
        return say("recovery_options.checkpoint_in_output", output=output)
    absent = _absent_topics(context)
    if absent:
        return say("recovery_options.topics_absent", topics=absent, count=len(absent))
    if option == "full_refresh":
        incomplete = context.source_complete == "no"
        if incomplete and context.flow is not None:
            return say("recovery_options.flow_incomplete", table=context.flow.table)
        return say("recovery_options.source_incomplete") if incomplete else None
    if context.flow is not None:
        return say("recovery_options.flow_backfill", table=context.flow.table)
    if context.sink == "kafka":
        return say("recovery_options.kafka_backfill")
    if context.earlier_batches:
        return say("recovery_options.backfill_of_another")
    if trouble := context.unreadable_output:
        return say("recovery_options.backfill_unreadable", trouble=trouble)
    kept_as = context.answers.get("sink_format")
    if context.sink == "foreach_merge" and kept_as not in (None, "delta"):
        return say("recovery_options.merge_needs_delta", format=kept_as)
    return say("recovery_options.unknown_merge") if context.sink == "other" else None


def _absent_topics(context: RecoveryContext) -> list[str]:
    """The topics that the query reads, as far as somebody says it else those that it has read, and that a
    broker that was asked does not have."""
    return [
        topic
        for source in context.sources
        for topic in read_topics(context.answers.source(source.key, "topics") or ", ".join(source.topics))
        if (answer := context.connectors.brokers.get(source.key)) is not None and topic in answer.absent
    ]


def _lies_in(context: RecoveryContext, output: str) -> bool:
    """Whether the checkpoint lies in the output, which a refresh renames; by the names alone."""
    places = (context.url, context.spark_path)
    return any(is_below(place, output.removeprefix("file://")) for place in places if place)


def _earliest(asks: Asks | None) -> str:
    return say_of("recovery_options", "EARLIEST", asks or "other")


def _begins(context: RecoveryContext, source: SourcePosition) -> str:
    """Where a source begins in a full refresh: a Delta table at its own start option, where it has one."""
    if source.kind.asks == "table":
        start = start_option(context.answers, source.key)
        if start is not None:
            return say("recovery_options.from_option", name=start[0], value=start[1])
    return _earliest(source.kind.asks)


# ---------------------------------------------------------------- from the last committed batch


def _reset(context: RecoveryContext) -> Recipe:
    if context.is_lost and context.platform == "lakeflow":
        caution = (say("recovery_options.pipeline_starts_anywhere"),)
        return Recipe("reset", True, say("recovery_options.pipeline_lost"), "pipeline", caution=caution)
    if context.is_lost:
        return _no_reset(say("recovery_options.lost"), say("recovery_options.no_position"))
    if context.unreadable is not None:
        return _no_reset(context.unreadable)
    lost = [source.key for source in context.sources if source.position is None]
    if lost:
        return _no_reset(
            say(
                "recovery_options.source_without_offset", n=len(lost), keys=lost, batch=context.last_committed
            )
        )
    if context.sink_trouble:
        return _no_reset(say("recovery_options.sink_does_not_fit", trouble=context.sink_trouble))
    if context.platform == "lakeflow":
        return _reset_pipeline(context)
    if _skips(context):
        return _reset_with_loss(context)
    if context.forecast is not None and context.forecast.reason in _IN_THE_SOURCE:
        return _no_reset(say("recovery_options.reset_meets_it", sentence=context.forecast.sentence))
    made = _reset_stateful(context) if context.needs_state else _reset_stateless(context)
    if made.possible:
        made = replace(made, repeats=_may_repeat(context), left_out=_left_out(context))
    if made.possible and context.forgotten_files:
        return replace(made, why=say("recovery_options.forgotten_files", sentence=context.forgotten_files))
    return made


def _no_reset(why: str, *more: str) -> Recipe:
    return Recipe("reset", False, " ".join((why, *more)))


def _by_options(source: SourcePosition) -> SourceStart | None:
    point = source.point
    if (
        point is None
        or point.options is None
        or source.kind.has_own_log
        or not (point.exact or _has_lost(source))
    ):
        return None
    says = listed(f"{name} = {value}" for name, value in point.options.items())
    return SourceStart(
        source,
        "options",
        point.options,
        says if point.options else say("recovery_options.starts_by_default"),
    )


def _by_seed(source: SourcePosition) -> SourceStart | None:
    if source.kind.seed == "file_source_log" and source.files_read is not None:
        says = say("recovery_options.starts_by_log", files=source.files_read)
        return SourceStart(source, "file_log", {}, says)
    if (
        source.kind.seed == "offset_text"
        and source.point is not None
        and (source.point.exact or source.point.seed == "transplant")
    ):
        says = say("recovery_options.starts_by_offset", position=source.position)
        return SourceStart(source, "offset_text", {}, says)
    return None


def _without_start(context: RecoveryContext, starts: Sequence[SourceStart | None]) -> SourcePosition | None:
    """The first source that has no start, None when all have one."""
    return next(
        (source for source, start in zip(context.sources, starts, strict=True) if start is None), None
    )


def _found(starts: Sequence[SourceStart | None]) -> tuple[SourceStart, ...]:
    return tuple(start for start in starts if start is not None)


def _has_lost(source: SourcePosition) -> bool:
    """Whether the broker was asked and no longer has everything after the position; the options then start
    with what is left."""
    return (
        source.kind.asks == "broker"
        and source.point is not None
        and not source.point.exact
        and source.point.options is not None
    )


def _skips(context: RecoveryContext) -> str:
    """What can no longer be read after the positions, over all sources; empty when nothing is known to be
    gone."""
    return "; ".join(
        say("recovery_options.source_skips", key=source.key, skips=source.point.skips)
        for source in context.sources
        if source.point is not None and _has_lost(source)
    )


def gone_unread(context: RecoveryContext) -> tuple[str, ...]:
    """What is gone at the sources that was not read before, as far as a broker that was asked shows it: no
    option has it."""
    return tuple(said for said in (_skips(context), _left_out(context)) if said)


def _may_repeat(context: RecoveryContext) -> str:
    """What a start at the positions may read again of the sources whose broker was asked."""
    return "; ".join(
        say("recovery_options.source_repeats", key=key, repeats=point.repeats)
        for key, point in _asked_points(context)
        if point.repeats != "nothing"
    )


def _left_out(context: RecoveryContext) -> str:
    """What is gone with topics that the query no longer reads, of the sources whose broker was asked."""
    return "; ".join(
        say("recovery_options.source_skips", key=key, skips=point.skips)
        for key, point in _asked_points(context)
        if point.exact and point.skips != "nothing"
    )


def _asked_points(context: RecoveryContext) -> Iterator[tuple[str, ResumePoint]]:
    """Where the sources whose broker was asked start, by their key."""
    for source in context.sources:
        if source.key in context.connectors.brokers and source.point is not None:
            yield source.key, source.point


def _why_no_start(source: SourcePosition) -> str:
    if source.kind.has_own_log:
        return say("recovery_options.file_log_gaps", key=source.key)
    if source.point is None:
        return say("recovery_options.source_position_not_known", key=source.key, label=source.label)
    return say("recovery_options.source_note", key=source.key, label=source.label, note=source.point.note)


def _reset_with_loss(context: RecoveryContext) -> Recipe:
    """Records after the position are gone at the source: start options with what is left."""
    if context.sink == "foreach_txn":
        return _no_reset(say("recovery_options.txn_app_id"))
    starts = [_by_options(source) for source in context.sources]
    missing = _without_start(context, starts)
    if missing is not None and (missing.kind.has_own_log and missing.files_read is not None):
        return _no_reset(say("recovery_options.loss_beside_files", key=missing.key, skips=_skips(context)))
    if missing is not None:
        return _no_reset(_why_no_start(missing))
    caution = _repeat_cautions(context)
    if context.needs_state:
        caution.append(say("recovery_options.state_starts_empty"))
    if context.sink == "delta" and context.pending is not None:
        caution.append(say("recovery_options.delta_pending", batch=context.pending))
    repeats = _may_repeat(context)
    return Recipe(
        "reset",
        True,
        say("recovery_options.with_loss_and_repeats" if repeats else "recovery_options.with_loss"),
        "start_options",
        _found(starts),
        new_output=context.sink == "file",
        caution=tuple(caution),
        skips=_skips(context),
        repeats=repeats,
    )


def _reset_stateless(context: RecoveryContext) -> Recipe:
    numbered = context.sink in NUMBERED_SINKS or (context.sink == "delta" and context.pending_is_next)
    seeded = numbered or any(source.kind.needs_seed for source in context.sources)
    starts = [_by_seed(source) if seeded else _by_options(source) for source in context.sources]
    missing = _without_start(context, starts)
    if missing is not None:
        by_options = numbered and _by_options(missing) is not None
        more = (say("recovery_options.numbered_sink"),) if by_options else ()
        return _no_reset(_why_no_start(missing), *more)
    has_plan = context.pending_is_next and all(source.pending is not None for source in context.sources)
    keep_pending = numbered and has_plan
    if numbered:
        held = _held_without_a_plan(context, keep_pending)
        if held is not None:
            return _no_reset(held)
    committed = context.last_committed if context.last_committed is not None else 0
    pair = seeded and any(source.kind.is_seeded_twice for source in context.sources) and not keep_pending
    why = say("recovery_options.state_removed" if context.has_state else "recovery_options.stateless")
    return Recipe(
        "reset",
        True,
        why,
        "seeded" if seeded else "start_options",
        _found(starts),
        keep_pending,
        keep_query_id=numbered and context.sink != "file" and context.query_id is not None,
        first_batch=(max(committed, 1 if pair else 0) + 1) if seeded else 0,
        caution=tuple(_repeat_cautions(context)),
    )


def _held_without_a_plan(context: RecoveryContext, keep_pending: bool) -> str | None:
    """Why the batch IDs cannot be continued: the sink has a batch after the position that the new checkpoint
    would plan again, with other rows, and a sink that has a batch ID skips it. None when that is not so."""
    held = context.sink_state.holds_up_to_batch if context.sink_state is not None else None
    committed = context.last_committed if context.last_committed is not None else -1
    covered = committed + 1 if keep_pending else committed
    if held is None or held <= covered:
        return None
    return say("recovery_options.sink_has_later", ids=range(committed + 1, held + 1), batch=committed + 1)


def _reset_stateful(context: RecoveryContext) -> Recipe:
    if (
        context.stateful == "changed"
        and context.behaviour == "overwrite"
        and context.answers.get("output_mode") != "complete"
    ):
        return _no_reset(say("recovery_options.changed_keyed"))
    caution = _repeat_cautions(context)
    if context.stateful == "unchanged" and context.has_state:
        caution.append(say("recovery_options.restart_keeps_state"))
    if all(source.kind.can_warm_up for source in context.sources):
        starts = [_by_seed(source) for source in context.sources]
        missing = _without_start(context, starts)
        if missing is not None:
            return _no_reset(_why_no_start(missing))
        cold = _why_no_warm_up(context)
        if cold is None:
            return _with_state(context, "warm_up", starts, caution)
        caution.append(cold)
        if any(source.kind.has_own_log for source in context.sources):
            return _with_state(context, "empty_state", starts, caution)
    by_options = [_by_options(source) for source in context.sources]
    missing = _without_start(context, by_options)
    if missing is not None:
        return _no_reset(_why_no_start(missing), say("recovery_options.no_other_start"))
    return _with_state(context, "start_options", by_options, caution)


def _with_state(
    context: RecoveryContext,
    method: Method,
    starts: Sequence[SourceStart | None],
    caution: Sequence[str],
) -> Recipe:
    warm = method == "warm_up"
    return Recipe(
        "reset",
        True,
        say("recovery_options.warm_up" if warm else "recovery_options.empty_state"),
        method,
        _found(starts),
        first_batch=0 if method == "start_options" else 2 if warm and context.watermark_ms else 1,
        new_output=context.sink == "file",
        caution=tuple(caution),
    )


def _why_no_warm_up(context: RecoveryContext) -> str | None:
    """Why the state cannot be rebuilt from the old data, None when it can."""
    if context.source_complete != "yes":
        is_gone = context.source_complete == "no"
        return say("recovery_options.cold_gone" if is_gone else "recovery_options.cold_not_known")
    if context.is_state_lost:
        return say("recovery_options.cold_operators_gone")
    unnamed = say("recovery_options.operator_without_name")
    others = sorted({name or unnamed for name in context.operators if name not in WARM_OPERATORS})
    return say("recovery_options.cold_operators", operators=others) if others else None


def _repeat_cautions(context: RecoveryContext) -> list[str]:
    found = _moved_cautions(context)
    if context.is_async:
        return [say("recovery_options.async_repeats"), *found]
    if context.pending is not None and not context.pending_is_next:
        ids = range((context.last_committed or 0) + 1, context.pending + 1)
        return [say("recovery_options.not_committed", ids=ids), *found]
    return found


def _moved_cautions(context: RecoveryContext) -> list[str]:
    """That files which were moved would be read again (observed with 4.3: 50 of 50 rows)."""
    return [say("recovery_options.files_moved", key=key) for key in context.moved_file_sources]


def _reset_pipeline(context: RecoveryContext) -> Recipe:
    """A Lakeflow pipeline: its checkpoint cannot be written by hand, so only reader options count
    (documented, not run)."""
    starts = []
    caution = _repeat_cautions(context)
    for source in context.sources:
        start = _by_options(source)
        if start is None and source.kind.has_own_log and source.newest_file_ms is not None:
            start = SourceStart(source, "modified_after", {}, say("recovery_options.starts_by_time"))
            caution.append(say("recovery_options.modified_after", key=source.key))
        if start is None:
            return _no_reset(_why_no_start(source), say("recovery_options.pipeline_by_hand"))
        starts.append(start)
    if context.needs_state:
        caution.append(say("recovery_options.pipeline_state"))
    return Recipe(
        "reset",
        True,
        say("recovery_options.pipeline"),
        "pipeline",
        tuple(starts),
        caution=tuple(caution),
        skips=_skips(context),
    )
