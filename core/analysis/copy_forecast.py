"""What the next start does with a copy of a checkpoint that an option would make, by the copy's own forecast.
Nothing is written for that: the copy is read as it would be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from core.analysis.forecast import Forecast, Query, forecast
from core.checkpoint import Checkpoint
from core.checkpoint.copies import rolled_back
from core.connectors import ConnectorAnswers

_WRITTEN_BY_THE_SCRIPT = ("STATE_SCHEMA_GONE",)
"""What the copy of the script does not have: it names its own schema files."""


def forecast_of_copy(
    ck: Checkpoint,
    name: str,
    make: Callable[[], Checkpoint],
    spark: str,
    query: Query,
    connectors: ConnectorAnswers,
) -> Forecast:
    """The forecast of the copy of ``ck`` that ``make`` gives; ``name`` tells it from other copies. Made once
    for each reading of the checkpoint."""
    return connectors.kept(
        ck,
        f"copy {name} {spark} {query}",
        lambda: forecast(make(), spark, query, connectors=connectors),
    )


def forecast_rolled_back(
    ck: Checkpoint, batch_id: int, spark: str, query: Query, connectors: ConnectorAnswers
) -> Forecast:
    """The forecast of the copy that stands at a batch. The sink is not asked: it has to stand there too.
    Raises StorageError when state/ cannot be listed."""
    alone = connectors
    if connectors.sink is not None:
        alone = connectors.kept(ck, "without sink", lambda: replace(connectors, sink=None))
    name = f"rolled back to {batch_id}"
    return forecast_of_copy(ck, name, lambda: rolled_back(ck, batch_id), spark, query, alone)


def why_copy_fails(copy: Forecast | None) -> str | None:
    """Why the copy would not start; None when it does, as far as its forecast tells."""
    if copy is None or copy.outcome != "fail" or copy.reason in _WRITTEN_BY_THE_SCRIPT:
        return None
    return copy.sentence
