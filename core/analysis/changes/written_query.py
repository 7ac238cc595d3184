"""What the query was that wrote a checkpoint, read from its files: sources, stateful operators with the
columns of their state, and what Spark pins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core.analysis.changes.model import Column, SinkName, WrittenOperator, WrittenQuery, WrittenSource
from core.checkpoint import Checkpoint, Source
from core.checkpoint.conf import ENCODING_KEY
from core.checkpoint.model import OffsetEntry, OperatorState
from core.checkpoint.operator_metadata import StateSchema, column_fields
from core.checkpoint.sources.forms import parse
from core.checkpoint.state import (
    PARTITIONS_KEY,
    PROVIDER_KEY,
    provider_of_class,
    read_schemas,
    state_inventory,
)
from core.checkpoint.state_names import plain_number
from core.sparklogs.evidence import Evidence
from core.sparklogs.json_text import parse_object

MOST_PLACES = 5  # directories of a file source that are named
_BOOKKEEPING = ("matched", "index")  # columns that a join adds to the rows it carries
_WINDOWS = ("spark.timeWindow", "spark.sessionWindow")


def read_written_query(ck: Checkpoint, sink: SinkName | None = None) -> WrittenQuery:
    """The query as the checkpoint shows it. Reads the newest offset entry, the logs of file sources and the
    metadata and schemas of the operators. Raises StorageError."""
    newest = ck.offset(ck.offset_ids[-1]) if ck.offset_ids else None
    entry = newest if isinstance(newest, OffsetEntry) else None
    states = state_inventory(ck).operators if ck.has_state else ()
    operators = tuple(_operator(ck, state) for state in states)
    delays = [op.watermark_delay_ms for op in operators if op.watermark_delay_ms is not None]
    modes = [op.output_mode for op in operators if op.output_mode is not None]
    pinned = provider_of_class(ck.conf.get(PROVIDER_KEY))
    seen = [state.provider for state in states if state.provider != "unknown"]
    is_named = entry is not None and entry.format_version >= 2
    return WrittenQuery(
        sources=tuple(_source(ck, source, is_named and not source.key.isdecimal()) for source in ck.sources),
        operators=operators,
        partitions=plain_number(ck.conf.get(PARTITIONS_KEY, "")),
        provider=(seen[0] if seen else None) if pinned in (None, "unknown") else str(pinned),
        watermark_delay_ms=max(delays) if delays else None,
        output_mode=modes[0] if modes else None,
        offset_log_version=entry.format_version if entry is not None else None,
        state_format=max((state.format_version for state in states), default=None),
        state_encoding=ck.conf.get(ENCODING_KEY),
        sink=sink,
        last_committed_batch=ck.last_committed_batch,
        pending_batch=ck.uncommitted_batch,
        next_batch=ck.next_batch.batch_id,
        is_stateful=bool(states),
        evidence=(entry.evidence,) if entry is not None else (),
    )


def _source(ck: Checkpoint, source: Source, is_named: bool) -> WrittenSource:
    place: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    text = ck.source_texts(ck.offset_ids[-1], source.key)[1] if ck.offset_ids else None
    offset = parse(text) if text is not None else None
    if source.kind.takes_topics and offset is not None:
        names = (name.rpartition("-")[0] for name in source.kind.partitions(offset))
        place = topics = tuple(sorted(dict.fromkeys(name for name in names if name)))
    elif source.kind.has_own_log:
        read = dict.fromkeys(each.path.rpartition("/")[0] for each in source.context.file_log)
        place = tuple(sorted(read))[:MOST_PLACES]
    elif isinstance(offset, Mapping) and isinstance(offset.get("reservoirId"), str):
        place = (str(offset["reservoirId"]),)
    return WrittenSource(source.key, source.kind.name, source.kind.label, place, is_named, topics)


def _operator(ck: Checkpoint, state: OperatorState) -> WrittenOperator:
    schemas = [item for item in read_schemas(ck, state.operator_id) if isinstance(item, StateSchema)]
    own = [schema for schema in schemas if not schema.is_internal]
    keys = columns_of(own[0].key) if own else ()
    return WrittenOperator(
        id=state.operator_id,
        name=state.name,
        keys=tuple(column for column in keys if column.name not in _BOOKKEEPING),
        values=tuple(_values(own)),
        has_window=any(_is_window(schema.key) for schema in own),
        has_schema=bool(own),
        watermark_delay_ms=next(
            (schema.watermark_delay_ms for schema in own if schema.watermark_delay_ms is not None), None
        ),
        output_mode=_output_mode(state),
        evidence=own[0].evidence if own else Evidence(f"state/{state.operator_id}"),
    )


def _values(schemas: Iterable[StateSchema]) -> Iterable[Column]:
    """The columns of the values. Those of a join carry the side they are of, those of variables the name of
    the variable; counters and markers of Spark itself are left out."""
    for schema in schemas:
        name = schema.store if schema.store != "default" else schema.column_family
        if name.endswith("keyToNumValues"):
            continue
        side = name.partition("-")[0] if name.startswith(("left-", "right-")) else name
        for column in columns_of(schema.value):
            if column.name == "__dummy__" or (column.name == "matched" and side in ("left", "right")):
                continue
            name_here = column.name if side == "default" else f"{side}.{column.name}"
            yield Column(name_here, column.type, column.nullable)


def columns_of(struct: Mapping[str, object]) -> tuple[Column, ...]:
    """The columns of a StructType that was read from JSON."""
    return tuple(
        Column(str(field.get("name")), type_text(field.get("type")), field.get("nullable") is not False)
        for field in column_fields(struct)
    )


def type_text(kind: object, depth: int = 0) -> str:
    """A data type of Spark's JSON in the words of its DDL: ``struct<start:timestamp,end:timestamp>``."""
    if not isinstance(kind, Mapping) or depth > 20:
        return str(kind)[:200] if isinstance(kind, str) else "unknown"
    if kind.get("type") == "struct":
        fields = kind.get("fields")
        inside = [
            f"{field.get('name')}:{type_text(field.get('type'), depth + 1)}"
            for field in (fields if isinstance(fields, list) else [])
            if isinstance(field, Mapping)
        ]
        return f"struct<{','.join(inside)}>"
    if kind.get("type") == "array":
        return f"array<{type_text(kind.get('elementType'), depth + 1)}>"
    if kind.get("type") == "map":
        key, value = (type_text(kind.get(name), depth + 1) for name in ("keyType", "valueType"))
        return f"map<{key},{value}>"
    return str(kind.get("type"))[:200]


def _is_window(struct: Mapping[str, object]) -> bool:
    marks = [field.get("metadata") for field in column_fields(struct)]
    return any(isinstance(mark, Mapping) and any(name in mark for name in _WINDOWS) for mark in marks)


def _output_mode(state: OperatorState) -> str | None:
    """The output mode that transformWithState keeps with its operator."""
    lines = (state.metadata_raw or "").split("\n")
    try:
        content = parse_object(lines[1]) if len(lines) > 1 else {}
        text = content.get("operatorPropertiesJson")
        properties = parse_object(text) if isinstance(text, str) and text.strip() else {}
    except ValueError:
        return None
    mode = properties.get("outputMode")
    return mode.lower() if isinstance(mode, str) else None
