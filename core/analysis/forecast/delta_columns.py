"""Columns that a Delta table at the sink does not have, where the schema of the source changed after the
position.

A start reads the source with the newest schema; where the query hands its columns on, the table refuses them
without ``mergeSchema`` (``DELTA_METADATA_MISMATCH``, observed with Delta 4.2 on Spark 4.2). What the query
selects is in its code alone.
"""

from __future__ import annotations

from core.analysis.forecast.context import Range, RestartContext
from core.analysis.forecast.delta_offsets import position_of
from core.connectors.delta.log import DeltaLog
from core.messages import Sentence, say
from core.sparklogs.json_text import parse_object

_OF_PROPERTIES = ("SET TBLPROPERTIES", "UNSET TBLPROPERTIES")


def new_columns(s: RestartContext, part: Range) -> Sentence | None:
    """What is open about such columns, in words; None where there are none, or source or sink were not
    asked."""
    source, sink = s.connectors.tables.get(part.key), s.connectors.sink
    position = position_of(part.end) or position_of(part.start)
    if source is None or position is None or not isinstance(sink, DeltaLog):
        return None
    has = _columns(sink)
    lacks = [name for name in _columns(source) if name not in has]
    if not has or not lacks:
        return None
    changed = [
        commit.version
        for commit in source.commits(range(position.version, source.newest + 1)).commits
        if commit.metadata_changed and commit.operation not in _OF_PROPERTIES
    ]
    if not changed:
        return None
    return say("forecast_delta.open_columns", version=min(changed), key=part.key, columns=lacks, url=sink.url)


def _columns(log: DeltaLog) -> tuple[str, ...]:
    """The names of the columns of a table, as far as its log tells."""
    try:
        described = parse_object(log.metadata.schema_text) if log.metadata is not None else {}
    except ValueError:
        return ()
    fields = described.get("fields")
    names = (
        [each.get("name") for each in fields if isinstance(each, dict)] if isinstance(fields, list) else []
    )
    return tuple(name for name in names if isinstance(name, str))
