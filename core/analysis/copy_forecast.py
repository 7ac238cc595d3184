"""What the next start does with a copy of a checkpoint that an option would make, by the copy's own forecast.
Nothing is written for that: the copy is read as it would be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from core.analysis.forecast import Forecast, Query, forecast
from core.checkpoint import Checkpoint
from core.checkpoint.rewind import rolled_back
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
    found: tuple[Forecast, object] = ck.kept(
        f"copy {name} {spark} {query} {id(connectors)}",
        lambda: (
            forecast(make(), spark, query, connectors=connectors),
            connectors,  # kept, so that its id is not used again
        ),
    )
    return found[0]


def forecast_rolled_back(
    ck: Checkpoint, batch_id: int, spark: str, query: Query, connectors: ConnectorAnswers
) -> Forecast:
    """The forecast of the copy that stands at a batch. The sink is not asked: it has to stand there too.
    Raises StorageError when state/ cannot be listed."""
    alone = connectors
    if connectors.sink is not None:
        kept: tuple[ConnectorAnswers, object] = ck.kept(
            f"without sink {id(connectors)}", lambda: (replace(connectors, sink=None), connectors)
        )
        alone = kept[0]
    name = f"rolled back to {batch_id}"
    return forecast_of_copy(ck, name, lambda: rolled_back(ck, batch_id), spark, query, alone)


def why_copy_fails(copy: Forecast | None) -> str | None:
    """Why the copy would not start; None when it does, as far as its forecast tells."""
    if copy is None or copy.outcome != "fail" or copy.reason in _WRITTEN_BY_THE_SCRIPT:
        return None
    return copy.sentence
