"""The rows of a stream-stream join against their schema: which starts Spark refuses because a column of the
state is not null and the new plan no longer says so.

Up to 3.5 the columns that the two sides are joined by are not null in the state; the plan of 4.0 and newer
says that they may be null, and so does up to 3.5 the plan of a side without rows. Spark compares the two in
the first batch after a start and refuses what may be null where it was not (observed with 3.5.9, 4.0.5 and
4.3.0; the rows are laid out alike, and without the check of the schema 4.3 joins them exactly).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.step_verdict import Verdict, failed
from core.analysis.forecast.versions import V40
from core.checkpoint.model import OperatorState
from core.checkpoint.operator_metadata import StateSchema, column_fields
from core.checkpoint.state import read_schemas
from core.messages import say
from core.sparklogs.evidence import Evidence, Problem

JOIN = "symmetricHashJoin"


def strict_join(
    s: RestartContext, op: OperatorState, schemas: Sequence[StateSchema | Problem]
) -> StateSchema | None:
    """The schema of a side of a join that a batch without rows does not fit, up to 3.5; None when there is
    none (4.0 runs such a batch)."""
    if op.name != JOIN or s.version >= V40:
        return None
    return next((item for item in _rows(schemas) if _required(item)), None)


def without_rows(s: RestartContext, op: OperatorState, strict: StateSchema, idle: list[str]) -> Verdict:
    """The first batch has no rows of the sources ``idle``."""
    at = s.newest.evidence if s.newest is not None else Evidence(f"offsets/{s.n}")
    why = say(
        "forecast_steps.join_without_rows",
        batch_id=s.first_batch,
        keys=idle,
        operator_id=op.operator_id,
        path=strict.evidence.path,
    )
    return failed(
        s, "value_schema", "JOIN_BATCH_WITHOUT_ROWS", why, strict.evidence, at, certainty="inferred"
    )


def store_of_another_kind(s: RestartContext, op: OperatorState) -> Verdict | None:
    """A store of a join (the formats with one store for each) whose schema is that of its partner: the two
    changed places. Observed with 4.3: the batch ends with the schema of the key."""
    if op.name != JOIN:
        return None
    for schema in read_schemas(s.checkpoint, op.operator_id):
        if isinstance(schema, Problem) or schema.format_version > 2:
            continue
        counts, rows = (schema.store.endswith(name) for name in ("keyToNumValues", "keyWithIndexToValue"))
        has_index = schema.key_columns[-1:] == ("index",)
        is_count = schema.value_columns == ("value",)
        if (counts and has_index and not is_count) or (rows and is_count and not has_index):
            why = say("forecast_steps.join_stores_swapped", store=schema.store, path=schema.evidence.path)
            return failed(s, "key_schema", "JOIN_STATE_INCONSISTENT", why, schema.evidence)
    return None


def required_keys(s: RestartContext, op: OperatorState) -> Verdict | None:
    """State that 3.5 or older wrote, under 4.0 or newer; None when nothing tells that it does not fit.

    Inferred: a column that is not null at its source (NOT NULL of a Delta table, ``coalesce``) may be one in
    the new plan too.
    """
    if op.name != JOIN or s.version < V40 or (not s.runs_again and s.query.new_data == "no"):
        return None
    for schema in _rows(read_schemas(s.checkpoint, op.operator_id)):
        keys = {str(field.get("type")) for field in column_fields(schema.key)[:-1]}
        column = next((name for name, kind in _required(schema) if kind in keys), None)
        if column is not None:
            why = say(
                "forecast_steps.join_required",
                operator_id=op.operator_id,
                path=schema.evidence.path,
                column=column,
                spark=s.version,
            )
            return failed(s, "value_schema", "VERSION_TRAP", why, schema.evidence, certainty="inferred")
    return None


def _rows(schemas: Sequence[StateSchema | Problem]) -> Iterator[StateSchema]:
    for item in schemas:
        if isinstance(item, StateSchema) and item.store.endswith("keyWithIndexToValue"):
            yield item


def _required(schema: StateSchema) -> list[tuple[str, str]]:
    """(name, type) of the columns that are not null."""
    fields = column_fields(schema.value)
    return [(str(f.get("name")), str(f.get("type"))) for f in fields if f.get("nullable") is False]
