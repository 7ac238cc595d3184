"""What the next start does with the copy that an option makes, by its own forecast. Nothing is written for
that: the copy is read as it would be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from core.analysis.forecast import Forecast, Query, forecast
from core.analysis.forecast.model import Risk
from core.checkpoint import Checkpoint
from core.messages import say, say_of
from core.recovery.asked_query import asked_query
from core.recovery.context import RecoveryContext

_MADE_BY_THE_COPY = ("SOURCE_LOG_AHEAD", "SOURCE_LOG_ONE_AHEAD", "SET_BACK")
"""What looks as if somebody had rolled the logs back by hand: here the option does."""
_WRITTEN_BY_THE_SCRIPT = ("STATE_SCHEMA_GONE",)
"""What the copy of the script does not have: it names its own schema files."""
_LOSES = ("INPUT_GONE", "INPUT_CHANGED")
"""Input that the copy reads again, and whose rows are lost or other ones than before."""


def start_of_copy(
    context: RecoveryContext,
    name: str,
    make: Callable[[], Checkpoint],
    *,
    operators: tuple[str, ...] | None = None,
    asks_sink: bool = True,
) -> Forecast | None:
    """The forecast of the copy that ``make`` gives, for the query that the answers describe; None where the
    checkpoint itself was not judged. ``name`` tells it from other copies, ``operators`` are those of the
    query where it has others now. ``asks_sink``: whether the sink stays as it is. Made once for each reading
    of the checkpoint."""
    now = context.forecast
    if now is None:
        return None
    said = context.connectors
    query = replace(asked_query(context.ck, context.answers, Query()), operators=operators)
    found: tuple[Forecast, object] = context.ck.kept(
        f"{name} {now.spark} {query} {id(said)}",
        lambda: (
            forecast(make(), now.spark, query, connectors=said if asks_sink else replace(said, sink=None)),
            said,  # kept, so that its id is not used again
        ),
    )
    return found[0]


def why_copy_fails(copy: Forecast | None) -> str | None:
    """Why the copy would not start; None when it does, as far as its forecast tells."""
    if copy is None or copy.outcome != "fail" or copy.reason in _WRITTEN_BY_THE_SCRIPT:
        return None
    return copy.sentence


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
