"""Changes of the query's code: rows, keys, aggregates, windows, watermark, output mode, joins, user state.

Spark compares the types of the state's columns in their order, and the names of the operators. Names of
columns, expressions, lengths of windows and the kind of an aggregate are compared by nobody (observed, 3.3 to
4.3).
"""

from __future__ import annotations

from core.analysis.changes.asked import CHANGED, TRANSFORM, columns, types_of
from core.analysis.changes.context import (
    AGGREGATIONS,
    DEDUPLICATIONS,
    JOIN,
    USER_STATE,
    ChangeContext,
)
from core.analysis.changes.model import AskedChange, Column, Judged, WrittenOperator
from core.analysis.changes.rules import VALUE_SCHEMA
from core.checkpoint.state_names import plain_number
from core.messages import say, say_of

_WINDOW = "struct<start:timestamp"
GROUPED = (*AGGREGATIONS, *DEDUPLICATIONS, JOIN, *USER_STATE, TRANSFORM)


def filter_rows(c: ChangeContext, asked: AskedChange) -> Judged:
    """A ``where`` that is added, removed or different."""
    if not c.query.is_stateful:
        return _rows(c, asked)
    if asked.value == "after_state":
        return c.judged(asked, "after_state")
    return c.judged(asked, "filter_before_state", operator=c.query.operators[0])


def projection(c: ChangeContext, asked: AskedChange) -> Judged:
    """Other columns are selected."""
    if not c.query.is_stateful:
        return _rows(c, asked)
    if asked.value == "after_state":
        return c.judged(asked, "after_state")
    for op in c.operators(JOIN):
        rule = "join_columns_same_types" if asked.value == "same_types" else "join_columns"
        return c.judged(asked, rule, operator=op)
    for op in c.operators(*DEDUPLICATIONS):
        return c.judged(asked, "projection_of_keys", operator=op)
    return c.judged(asked, "projection_before_state", operator=c.query.operators[0])


def reader_schema(c: ChangeContext, asked: AskedChange) -> Judged:
    """The schema that the reader is given."""
    carried = c.operators(JOIN, *DEDUPLICATIONS)
    if not c.query.is_stateful or (asked.value != "other_types" and not carried):
        return c.judged(asked, "reader_schema_more")
    op = (carried or c.query.operators)[0]
    rule = "reader_schema_types" if asked.value == "other_types" else "reader_schema_carried"
    return c.judged(asked, rule, operator=op)


def expressions(c: ChangeContext, asked: AskedChange) -> Judged:
    """How a column is computed."""
    if not c.query.is_stateful:
        return _rows(c, asked)
    for op in c.operators(*AGGREGATIONS):
        return c.judged(
            asked,
            "expression_other_types" if asked.value == "other_types" else "expression_same_types",
            operator=op,
        )
    for op in c.operators(*DEDUPLICATIONS):
        return c.judged(
            asked, "dedup_other_types" if asked.value == "other_types" else "dedup_same_types", operator=op
        )
    for op in c.operators(JOIN):
        return c.judged(
            asked, "join_columns" if asked.value == "other_types" else "expression_carried", operator=op
        )
    return c.judged(asked, "expression_of_state", operator=c.query.operators[0])


def keys(c: ChangeContext, asked: AskedChange) -> Judged:
    """What is grouped, joined or deduplicated by."""
    found = c.operators(*GROUPED)
    if not found:
        return _none(c, asked, "keys")
    return _by_types(c, asked, found[0], found[0].keys, "key_same_types", "key_other_types")


def dedup_columns(c: ChangeContext, asked: AskedChange) -> Judged:
    """The columns of dropDuplicates."""
    found = c.operators(*DEDUPLICATIONS)
    if not found:
        return _none(c, asked, "dedup_columns")
    return _by_types(c, asked, found[0], found[0].keys, "dedup_same_types", "dedup_other_types")


def aggregates(c: ChangeContext, asked: AskedChange) -> Judged:
    """Which aggregates are computed, and in which order."""
    found = c.operators(*AGGREGATIONS)
    if not found:
        return _none(c, asked, "aggregates")
    return _by_types(c, asked, found[0], found[0].values, "aggregates_same_types", "aggregates_other_types")


def window(c: ChangeContext, asked: AskedChange) -> Judged:
    """Length and slide of time windows, gap of session windows."""
    for op in c.operators("sessionWindowStateStoreSaveExec"):
        return c.judged(asked, "session_gap", operator=op)
    for op in c.operators(*GROUPED):
        if op.has_window and asked.value == "slide":
            fixed = [each for each in op.keys if each.type.startswith(_WINDOW) and not each.nullable]
            return c.judged(asked, "window_slide_refused" if fixed else "window_slide", operator=op)
        if op.has_window:
            return c.judged(asked, "window_length", operator=op)
    unknown = [op for op in c.operators(*GROUPED) if not op.has_schema]
    return c.judged(asked, "no_schema", operator=unknown[0]) if unknown else _none(c, asked, "window")


def watermark(c: ChangeContext, asked: AskedChange) -> Judged:
    """``withWatermark``: its delay, its column, whether it is there."""
    if not c.query.is_stateful:
        return c.judged(asked, "no_state")
    delay = c.query.watermark_delay_ms
    if asked.value == "removed":
        for op in c.operators("dedupeWithinWatermark"):
            return c.judged(asked, "watermark_needed", operator=op)
        is_grouped = bool(c.operators(*AGGREGATIONS)) or any(op.name is None for op in c.query.operators)
        if not is_grouped:
            rule = "watermark_removed_join" if c.operators(JOIN) else "watermark_removed_other"
            return c.judged(asked, rule, delay=delay)
        return c.judged(asked, "watermark_removed", delay=delay)
    if asked.value in ("added", "column"):
        rule = "watermark_added" if asked.value == "added" else "watermark_column"
        return c.judged(asked, rule, delay=delay)
    if delay is not None and plain_number(asked.value) == delay:
        return c.judged(asked, "same_value")
    return c.judged(asked, "watermark_delay", delay=delay)


def output_mode(c: ChangeContext, asked: AskedChange) -> Judged:
    """append, update or complete."""
    (mode, _, was), query = asked.value.partition("_after_"), c.query
    if mode and mode == query.output_mode:
        return c.judged(asked, "same_value")
    grouped = c.operators(*AGGREGATIONS)
    if mode == "complete" and not grouped:
        return c.judged(asked, "mode_complete_refused")
    if query.sink == "file" and mode in ("update", "complete"):
        return c.judged(asked, "mode_of_files")
    for op in c.operators(TRANSFORM):
        if op.output_mode is not None:
            return c.judged(asked, "mode_of_transform", operator=op, was=op.output_mode)
    for op in c.operators(TRANSFORM, *USER_STATE):
        return c.judged(asked, "mode_of_user_state", operator=op)
    if not grouped:
        return c.judged(asked, "mode_rows")
    if mode == "append":
        if query.watermark_delay_ms is None and all(op.has_schema for op in grouped):
            return c.judged(asked, "mode_append_refused", operator=grouped[0])
        return c.judged(asked, "mode_append", operator=grouped[0])
    if mode == "update":
        for op in c.operators("sessionWindowStateStoreSaveExec"):
            return c.judged(asked, "mode_of_sessions", operator=op)
    marked = [op for op in grouped if op.watermark_delay_ms is not None or not op.has_schema]
    if not marked or was == "complete":
        return c.judged(asked, "mode_changed", operator=grouped[0])
    if mode == "complete":
        reached = c.watermark_ms
        rule = "mode_complete_removed" if reached else "mode_changed"
        return c.judged(asked, rule, operator=marked[0], watermark=reached)
    return c.judged(asked, "mode_update_lost" if was else "mode_update", operator=marked[0])


def join_type(c: ChangeContext, asked: AskedChange) -> Judged:
    """inner, left, right, full or left semi. What a semi join carries of the right side is less: Spark leaves
    out what its condition does not compare (seen with 4.3, all versions of the state of a join)."""
    for op in c.operators(JOIN):
        if asked.value in ("", CHANGED, "left_semi"):
            right = ", ".join(each.name for each in op.values if each.name.startswith("right."))
            rule = "join_type_semi" if asked.value == "left_semi" else "join_type_needed"
            right = right or str(say("changes.columns_not_known"))
            return c.judged(asked, rule, operator=op, right=right, condition=VALUE_SCHEMA)
        fixed = ", ".join(each.name for each in op.values if not each.nullable)
        if fixed and asked.value not in ("inner", "left_semi_same_columns"):
            return c.judged(asked, "join_type_refused", operator=op, fixed=fixed)
        return c.judged(asked, "join_type", operator=op)
    return _none(c, asked, "join_type")


def join_interval(c: ChangeContext, asked: AskedChange) -> Judged:
    """The time within which rows of both sides match."""
    for op in c.operators(JOIN):
        return c.judged(asked, "join_interval", operator=op)
    return _none(c, asked, "join_interval")


def state_schema(c: ChangeContext, asked: AskedChange) -> Judged:
    """The state that the user's own code keeps."""
    for op in c.operators(TRANSFORM):
        if asked.value == "processor":
            return c.judged(asked, "user_state_processor", operator=op)
        if asked.value == "variables":
            return c.judged(asked, "user_state_variables", operator=op)
        if asked.value == "time_mode":
            return c.judged(asked, "user_state_time_mode", operator=op)
    for op in c.operators(TRANSFORM, *USER_STATE):
        if asked.value in ("code", "processor", "time_mode"):
            return c.judged(asked, "user_state_code", operator=op)
        rule = "user_state_avro" if c.query.state_encoding == "avro" else "user_state_types"
        return c.judged(asked, rule, operator=op)
    return _none(c, asked, "state_schema")


def _by_types(
    c: ChangeContext,
    asked: AskedChange,
    op: WrittenOperator,
    before: tuple[Column, ...],
    same: str,
    other: str,
) -> Judged:
    """Named columns are compared with those of the state; a change of which nothing is said may be silent."""
    if asked.value in ("same_types", "other_types"):
        return c.judged(asked, same if asked.value == "same_types" else other, operator=op)
    after = columns(asked.value) if asked.value else None
    if after is None:
        return c.judged(asked, same, operator=op)
    if not op.has_schema:
        return c.judged(asked, "no_schema", operator=op)
    if types_of(after) != types_of(before):
        return c.judged(asked, other, operator=op)
    is_same = [column.name for column in after] == [column.name for column in before]
    return c.judged(asked, "same_value" if is_same else same, operator=op)


def _none(c: ChangeContext, asked: AskedChange, what: str) -> Judged:
    if c.query.is_stateful and any(op.name is None for op in c.query.operators):
        return c.judged(asked, "no_schema", operator=c.query.operators[0])
    rule = "no_such_part" if c.query.is_stateful else "no_state"
    return c.judged(asked, rule, part=say_of("changes", "PARTS", what))


def _rows(c: ChangeContext, asked: AskedChange) -> Judged:
    """A change of a query without state: it holds for every row from the next batch on."""
    return c.judged(asked, "rows_from_now" if c.query.pending_batch is None else "rows_of_pending")
