"""The copy that an option makes: what its start does with these answers, and which risks are left in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from core.analysis.copy_forecast import forecast_of_copy, forecast_rolled_back
from core.analysis.forecast import Forecast, Query
from core.analysis.forecast.model import Risk
from core.checkpoint import Checkpoint
from core.messages import say, say_of
from core.recovery.asked_query import asked_query
from core.recovery.context import RecoveryContext

_MADE_BY_THE_COPY = ("SOURCE_LOG_AHEAD", "SOURCE_LOG_ONE_AHEAD", "SET_BACK")
"""What looks as if somebody had rolled the logs back by hand: here the option does."""
_LOSES = ("INPUT_GONE", "INPUT_CHANGED")
"""Input that the copy reads again, and whose rows are lost or other ones than before."""


def start_of_copy(
    context: RecoveryContext,
    name: str,
    make: Callable[[], Checkpoint],
    operators: tuple[str, ...] | None = None,
) -> Forecast | None:
    """The forecast of the copy that ``make`` gives, for the query that the answers describe; None where
    nothing asks for one. ``operators`` are those of the query where it has others now."""
    now = context.forecast
    if now is None or not _is_asked_for(context):
        return None
    query = replace(asked_query(context.ck, context.answers, Query()), operators=operators)
    return forecast_of_copy(context.ck, name, make, now.spark, query, context.connectors)


def start_at_batch(context: RecoveryContext, batch_id: int) -> Forecast | None:
    """The same of the copy that stands at a batch."""
    now = context.forecast
    if now is None or not _is_asked_for(context):
        return None
    query = asked_query(context.ck, context.answers, Query())
    return forecast_rolled_back(context.ck, batch_id, now.spark, query, context.connectors)


def _is_asked_for(context: RecoveryContext) -> bool:
    """Whether a copy may be made: the start fails or puts data at risk, or somebody says that something has
    happened. The copy is listed and read on its own, which a page about a sound checkpoint has no use for."""
    now, answers = context.forecast, context.answers
    is_told = answers.get("what_happened") is not None or answers.get("to_batch") is not None
    is_in_trouble = now is not None and (now.outcome == "fail" or now.is_data_risk)
    return is_in_trouble or is_told or context.stateful != "unchanged"


def risks_of_copy(copy: Forecast | None) -> tuple[Risk, ...]:
    """What the copy has of risks for the data, without what only looks like one because it is a copy."""
    risks = () if copy is None else copy.risks
    return tuple(risk for risk in risks if risk.weight == "data_risk" and risk.id not in _MADE_BY_THE_COPY)


def lost_in_copy(copy: Forecast | None) -> tuple[str, ...]:
    """Which rows the copy loses or changes, one sentence for each risk."""
    return tuple(risk.sentence for risk in risks_of_copy(copy) if risk.id in _LOSES)


def risks_that_stay(copy: Forecast | None) -> tuple[str, ...]:
    """The other risks of the copy, one sentence for each, as a caution."""
    ids = dict.fromkeys(risk.id for risk in risks_of_copy(copy) if risk.id not in _LOSES)
    titles = {each: say_of("findings", "TITLES", each) for each in ids}
    return tuple(say("file_repairs.risk_stays", title=title, risk=each) for each, title in titles.items())
