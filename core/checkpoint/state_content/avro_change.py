"""Rows of Avro that were written with an older schema, as the newest schema shows them.

A variable of transformWithState may get other columns while its old rows stay as they were written. Spark
reads such a row with the schema it was written with and gives the columns of the newest one: by name, null
where the row has none, numbers in the wider type. Observed with Spark 4.3 and 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from core.checkpoint.operator_metadata import column_fields
from core.checkpoint.state_content.simple_values import Json
from core.checkpoint.state_content.unsafe_row import NotDecodedError, column_labels, is_text
from core.messages import say

Row = dict[str, Json]
Show = Callable[[Row], Row]
_Change = Callable[[Json], Json]

_DEEPEST = 32
_WHOLE = ("byte", "short", "integer", "long")
_FRACTIONS = ("float", "double")
_WIDER = (*_WHOLE, *_FRACTIONS)


def shown_as(written: Mapping[str, object], newest: Mapping[str, object], depth: int = 0) -> Show:
    """Turns the values of a row of the schema ``written`` into those of ``newest``. Raises
    :class:`NotDecodedError` where the type of a column cannot be read as the other."""
    if depth > _DEEPEST:
        raise NotDecodedError(say("state_rows.too_deep"))
    old = dict(zip(column_labels(written), column_fields(written), strict=True))
    columns: list[tuple[str, _Change | None]] = []
    for label, field in zip(column_labels(newest), column_fields(newest), strict=True):
        before = old.get(label)
        columns.append((label, None if before is None else _of(before.get("type"), field.get("type"), depth)))

    def show(row: Row) -> Row:
        return {label: None if value is None else value(row[label]) for label, value in columns}

    return show


def _of(written: object, newest: object, depth: int) -> _Change:
    if written == newest:
        return _same
    if (
        isinstance(written, Mapping)
        and isinstance(newest, Mapping)
        and written.get("type") == newest.get("type")
    ):
        kind = newest.get("type")
        if kind == "struct":
            inner = shown_as(written, newest, depth + 1)
            return lambda row: inner(row) if isinstance(row, dict) else row
        if kind == "array":
            return _each(_of(written.get("elementType"), newest.get("elementType"), depth + 1))
        if kind == "map":
            return _each(_of(written.get("valueType"), newest.get("valueType"), depth + 1))
    if isinstance(written, str) and isinstance(newest, str):
        if is_text(written) and is_text(newest):
            return _same
        if written in _WIDER and newest in _WIDER and _WIDER.index(written) < _WIDER.index(newest):
            return _wider(written, newest)
    raise NotDecodedError(say("state_rows.avro_types", written=_name(written), newest=_name(newest)))


def _wider(written: str, newest: str) -> _Change:
    if newest not in _FRACTIONS:
        return _same
    if newest == "float":  # the fewest digits that tell it from its neighbours
        return lambda value: float(str(np.float32(value))) if isinstance(value, int) else value
    if written == "float":  # all digits of what four bytes hold
        return lambda value: float(np.float32(value)) if isinstance(value, float) else value
    return lambda value: float(value) if isinstance(value, int) else value


def _same(value: Json) -> Json:
    return value


def _each(show: _Change) -> _Change:
    """Of a list, or of a map."""

    def values(value: Json) -> Json:
        if isinstance(value, dict):
            return {name: show(inner) for name, inner in value.items()}
        return [show(inner) for inner in value] if isinstance(value, list) else value

    return values


def _name(kind: object) -> str:
    return str(kind.get("type") if isinstance(kind, Mapping) else kind)[:60]
