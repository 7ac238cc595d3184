"""The first option, "start it again": possible unless the forecast says that the start fails, and recommended
when a plain start loses and wrongly repeats nothing. What it repeats and loses is the forecast's own answer,
never a rule of this room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from core.analysis.forecast.model import SINK_KINDS
from core.checkpoint.model import OffsetEntry
from core.connectors.kafka.judgement import judge_partitions
from core.connectors.kafka.partitions import kafka_positions, planned_positions
from core.messages import Sentence, say
from core.messages.words import batches
from core.recovery.sinks import FOREACH, KIND_OF, Behaviour

if TYPE_CHECKING:
    from core.analysis.forecast import Forecast
    from core.analysis.forecast.model import Risk
    from core.recovery.context import RecoveryContext

CHANGED = ("changed", "removed", "added")
"""Answers to ``stateful`` after which the query that runs next is another one than the forecast is about."""
LOST_ANYWAY = ("KAFKA_RECORDS_EXPIRED", "KAFKA_NEW_PARTITION_LATE")
"""What a source no longer has is lost by every option: a start that is told to go on keeps all the rest."""
LACKS_OPERATOR = "forecast_steps.open_operator_removed"
"""What a forecast has not checked where the directory of an operator may have been removed."""
NO_RESTART = ("query_changed", "source_changed", "reprocess")
"""Answers to ``what_happened`` that a plain restart does not answer."""


def why_no_restart(context: RecoveryContext) -> Sentence | None:
    """Why the query cannot simply be started again; None when it can, as far as the files tell."""
    forecast = context.forecast
    if context.is_lost:
        return None if context.platform == "lakeflow" else say("recovery_options.restart_lost")
    if forecast is None:
        return say("recovery_options.restart_not_judged")
    if forecast.outcome == "fail" and forecast.reason in LOST_ANYWAY:
        return say("recovery_options.restart_fails_unless_loss", sentence=forecast.sentence)
    if forecast.outcome == "fail":
        return say("recovery_options.restart_fails", sentence=forecast.sentence)
    if context.is_state_lost and context.needs_state:
        return say("recovery_options.restart_without_state")
    if context.stateful in CHANGED and (context.has_state or context.stateful == "added"):
        return say("recovery_options.restart_changed")
    if forecast.outcome == "fresh_start" and context.last_committed is not None:
        return say("recovery_options.restart_from_scratch", sentence=forecast.sentence)
    return None


def is_recommended(context: RecoveryContext) -> bool:
    """Whether a plain start is the first choice: it works, no risk for the data is known, the query is the
    same one."""
    forecast = context.forecast
    return (
        forecast is not None
        and forecast.outcome in ("resume", "rerun")
        and why_no_restart(context) is None
        and not any(matters_at_sink(context, risk) for risk in forecast.risks if risk.id not in LOST_ANYWAY)
        and (
            _is_lost_anyway(context, forecast)
            or lost_in_plan(context) is not None
            or not _loses_rows(context, forecast)
        )
        and (context.stateful not in CHANGED or _keeps_none(context))
        and (context.what_happened not in NO_RESTART or continues_with_new_code(context))
        and not context.may_have_expired
        and not context.is_sink_log_gone
        and not (context.lacks_output and context.source_complete == "yes")
        and not (context.what_happened == "damaged" and forecast.risk("STATE_SCHEMA_ELSEWHERE") is not None)
    )


def _is_lost_anyway(context: RecoveryContext, forecast: Forecast) -> bool:
    """Whether all that a plain start loses is what the source no longer has, and no planned batch has to run
    with a part of its records."""
    ids = {risk.id for risk in forecast.risks if matters_at_sink(context, risk)}
    return bool(ids) and ids <= set(LOST_ANYWAY) and forecast.outcome == "resume"


def lost_in_plan(context: RecoveryContext) -> tuple[int, int] | None:
    """How many offsets of the planned batch have expired, and how many behind it, where that is all that a
    plain start into a sink that appends loses; None where it is not. No other option has them."""
    forecast = context.forecast
    if forecast is None or forecast.outcome != "rerun" or context.behaviour != "append":
        return None
    ids = {risk.id for risk in forecast.risks if matters_at_sink(context, risk)}
    if "KAFKA_RECORDS_EXPIRED" not in ids or not ids <= set(LOST_ANYWAY):
        return None
    planned = behind = 0
    for key, answer in context.connectors.brokers.items():
        ends = planned_positions(context.ck, key) or {}
        for judged in judge_partitions(answer, kafka_positions(context.ck, key), ends):
            planned += judged.lost_of_plan if judged.lost else 0
            behind += judged.lost - judged.lost_of_plan if judged.lost else 0
    return (planned, behind) if planned else None


def matters_at_sink(context: RecoveryContext, risk: Risk) -> bool:
    """Whether a risk for the data is one at the sink that was answered; at any sink where none was. One that
    changes no row, such as an output that nobody can read, always is."""
    if risk.weight != "data_risk" or context.behaviour is None or risk.data.is_exact:
        return risk.weight == "data_risk"
    kind = KIND_OF[context.behaviour]
    if context.sink == "foreach_merge" and risk.data.at(kind) == "duplicates":
        return False  # by key, whatever the batch IDs: a row that comes again replaces itself
    return risk.data.at(kind) != "exact" or kind in risk.data.possible


def _loses_rows(context: RecoveryContext, forecast: Forecast) -> bool:
    kinds = SINK_KINDS if context.behaviour is None else (KIND_OF[context.behaviour],)
    return any(forecast.data.at(kind) == "loss" for kind in kinds)


def _keeps_none(context: RecoveryContext) -> bool:
    """What "removed" says of a checkpoint without state: the query keeps none, and nothing changes."""
    return context.stateful == "removed" and not context.has_state


def continues_with_new_code(context: RecoveryContext) -> bool:
    """Whether a changed query has no state that the change could touch: there is none, or the user says that
    the stateful part is the same."""
    is_same = context.answers.get("stateful") == "unchanged" or not context.needs_state
    return context.what_happened == "query_changed" and is_same


def may_be_older(context: RecoveryContext) -> bool:
    """Whether the user says that the checkpoint was damaged, nothing shows it, and no log of a sink tells
    whether an older copy was put back."""
    forecast = context.forecast
    return (
        context.what_happened == "damaged"
        and forecast is not None
        and forecast.outcome == "resume"
        and not forecast.is_data_risk
        and (context.sink_state is None or not context.sink_state.has_log)
    )


def may_be_skipped(context: RecoveryContext) -> bool:
    """Whether a plain start fails if the sink has the planned batch already (state checkpoint format 2), and
    no sink was asked; one that runs its own code, or a topic, takes the batch again."""
    forecast = context.forecast
    if forecast is None or context.sink not in (None, "file", "delta"):
        return False
    return _is_open(forecast, "forecast_steps.open_skipped_batch")


def _is_open(forecast: Forecast, key: str) -> bool:
    """Whether the sentence with this key stands under what the forecast did not check."""
    return any(isinstance(text, Sentence) and text.key == key for text in forecast.not_checked)


def may_lack_its_sink(context: RecoveryContext) -> bool:
    """Whether no log of batches is at the place that was named for the sink, and nobody said what kind it
    is."""
    forecast = context.forecast
    return context.sink is None and forecast is not None and forecast.risk("SINK_NO_LOG") is not None


def _planned_before(context: RecoveryContext) -> range:
    """The batches before the one that a start runs again that no commit names, where no log of the sink tells
    either: they most likely finished, because Spark plans one after the other."""
    sink, pending = context.sink_state, context.pending
    if pending is None or context.is_async or (sink is not None and sink.has_log):
        return range(0)
    after = -1 if context.last_committed is None else context.last_committed
    first = next((i for i in context.ck.offset_ids if i > after), pending)
    return range(first, pending)


def _may_lack_state(context: RecoveryContext) -> bool:
    """Whether there is no state/, and nobody says that the query keeps none."""
    return not context.has_state and context.answers.get("stateful") is None


def _may_lack_an_operator(context: RecoveryContext) -> bool:
    """Whether the directory of an operator may have been removed from state/."""
    said = context.forecast.not_checked if context.forecast is not None else ()
    return any(isinstance(each, Sentence) and each.key == LACKS_OPERATOR for each in said)


def can_guard(context: RecoveryContext) -> bool:
    """Whether a planned batch fails at every start and its rows go through ``foreachBatch``, which can put
    those that the sink does not take aside."""
    fails = context.what_happened == "batch_fails"
    return fails and context.pending is not None and context.sink in FOREACH


def why_recommended(context: RecoveryContext) -> Sentence:
    """The reason beside a recommended restart."""
    forecast = context.forecast
    if can_guard(context):
        return say("recovery_options.best_restart_guarded", batch=context.pending)
    if context.what_happened == "batch_fails":
        return say("recovery_options.best_restart_repaired")
    if continues_with_new_code(context):
        if context.ck.is_continuous:
            return say("recovery_options.best_restart_changed_continuous")
        return say("recovery_options.best_restart_changed")
    if context.lacks_output:
        return say("recovery_options.best_restart_output_gone", sentence=context.lacks_output)
    if may_be_older(context) and _may_lack_state(context):
        return say("recovery_options.best_restart_if_stateless")
    if may_be_older(context) and _may_lack_an_operator(context):
        return say("recovery_options.best_restart_if_operators")
    if may_be_older(context):
        return say("recovery_options.best_restart_no_damage")
    if may_lack_its_sink(context):
        return say("recovery_options.best_restart_sink_away")
    if (lost := lost_in_plan(context)) is not None:
        return say(
            "recovery_options.best_restart_lost_in_plan",
            batch=context.pending,
            lost=sum(lost),
        )
    is_open = forecast is not None and _is_open_at_sink(context, forecast)
    if (
        forecast is not None
        and forecast.is_data_risk
        and not is_open
        and not _is_lost_anyway(context, forecast)
    ):
        return say("recovery_options.best_restart_at_sink")
    if forecast is not None and _is_lost_anyway(context, forecast):
        return say("recovery_options.best_restart_lost_anyway")
    if forecast is not None and forecast.then is not None:
        return say("recovery_options.best_restart_then", batch=forecast.batch_id, then=forecast.then)
    unsure = _planned_before(context)
    if unsure:
        return say("recovery_options.best_restart_commits_lost", batch=context.pending, ids=unsure)
    is_rerun = forecast is not None and forecast.outcome == "rerun"
    if is_open:
        if is_rerun:
            return say("recovery_options.best_restart_rerun_open", batch=context.pending)
        return say("recovery_options.best_restart_open")
    conditions = list(_conditions(context))
    if not conditions and not is_rerun and context.earlier_batches:
        skipped = batches(context.earlier_batches)
        return say("recovery_options.best_restart_skipped_before", batches=skipped)
    if not conditions and is_rerun:
        return say("recovery_options.best_restart_rerun", batch=context.pending)
    if not conditions:
        return say("recovery_options.best_restart")
    if is_rerun:
        return say("recovery_options.best_restart_rerun_if", batch=context.pending, conditions=conditions)
    return say("recovery_options.best_restart_if", conditions=conditions)


def _conditions(context: RecoveryContext) -> Iterator[Sentence]:
    """What has to be so for a plain start to lose nothing, and nobody looked at."""
    if context.forecast is not None and _is_open(context.forecast, "forecast_steps.open_contents"):
        yield say("recovery_options.if_state_is_whole")
    if context.forecast is not None and _is_open(context.forecast, "forecast_delta.close_in_time"):
        yield say("recovery_options.if_table_was_kept")
    if context.unasked_brokers:
        entry = context.ck.offset(context.newest_offset) if context.newest_offset is not None else None
        planned_ms = entry.timestamp_ms if isinstance(entry, OffsetEntry) else None
        if planned_ms is None:
            yield say("recovery_options.if_broker_has_records")
        else:
            age_ms = max(0, context.ck.read_at_ms - planned_ms)
            yield say("recovery_options.if_broker_has_records_since", age_ms=age_ms)


def repeats_and_loses(context: RecoveryContext, behaviour: Behaviour) -> tuple[Sentence, Sentence]:
    """What a plain restart repeats and loses at one kind of sink, by the forecast."""
    forecast = context.forecast
    if forecast is None or context.is_lost:
        unknown = say("recovery_effects.restart_unknown")
        return unknown, unknown
    if context.is_sink_log_gone and behaviour == "batch_number_aware":
        broken = say("recovery_effects.restart_loses", sentence=context.sink_trouble)
        return say("recovery_effects.nothing"), broken
    if behaviour == "append" and (lost := lost_in_plan(context)) is not None:
        repeated = say("recovery_effects.restart_repeats_pending", batch=forecast.batch_id)
        return repeated, _loses_expired(forecast.batch_id, lost)
    effect = forecast.data.at(KIND_OF[behaviour])
    nothing = say("recovery_effects.nothing")
    gone = say("recovery_effects.may_have_expired") if context.may_have_expired else nothing
    if effect == "exact":
        if may_be_older(context) and behaviour == "append":
            return say("recovery_effects.restart_repeats_if_older"), gone
        if may_be_older(context) and behaviour == "batch_number_aware":
            return nothing, say("recovery_effects.restart_skips_if_older")
        return nothing, gone
    if effect == "duplicates":
        return _repeats(context, forecast), gone
    if effect == "loss":
        loses = say("recovery_effects.restart_loses", sentence=forecast.sentence)
        runs_again = forecast.outcome == "rerun" and behaviour == "append" and forecast.batch_id is not None
        if runs_again:
            return say("recovery_effects.restart_repeats_pending", batch=forecast.batch_id), loses
        return nothing, loses
    unknown = say("recovery_effects.restart_unknown")
    return unknown, unknown


def _loses_expired(batch: int | None, lost: tuple[int, int]) -> Sentence:
    planned, behind = lost
    if not behind:
        return say("recovery_effects.restart_loses_plan", batch=batch, planned=planned)
    return say("recovery_effects.restart_loses_plan_and_behind", batch=batch, planned=planned, behind=behind)


def _is_open_at_sink(context: RecoveryContext, forecast: Forecast) -> bool:
    """Whether the files cannot tell what the batch does at the sink that was answered, or at the one that was
    asked, whose log has batches of another query ID."""
    behaviour = context.behaviour
    answered = behaviour is not None and forecast.data.at(KIND_OF[behaviour]) == "unknown"
    return answered or forecast.risk("SINK_UNKNOWN") is not None


def _repeats(context: RecoveryContext, forecast: Forecast) -> Sentence:
    if forecast.outcome == "rerun" and not forecast.is_data_risk and forecast.batch_id is not None:
        return say("recovery_effects.restart_repeats_pending", batch=forecast.batch_id)
    return say("recovery_effects.restart_repeats", sentence=forecast.sentence)
