"""Which rows of an operator are asked for: a store, one side of a join, a variable or the timers of
transformWithState. With it goes what Spark hides of these rows, when a watermark has passed them, and by
which columns they are spread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from core.checkpoint.families import list_families, metadata_of
from core.checkpoint.model import OperatorState
from core.checkpoint.operator_metadata import AGGREGATES, StateSchema, column_fields, column_names
from core.checkpoint.state_content.simple_values import Json
from core.checkpoint.state_content.unsafe_row import column_labels
from core.errors import UsageError
from core.messages import say

_JOIN = "symmetricHashJoin"
_TRANSFORM = ("transformWithStateExec", "transformWithStateInPandasExec", "transformWithStateInPySparkExec")
_SESSION = "sessionWindowStateStoreSaveExec"
_WITHIN = "dedupeWithinWatermark"
_SIDES = ("left", "right")
_INDEXED, _TIMED = "keyWithIndexToValue", "keyWithTsToValues"
_TIMED_KEYS = "tsWithKey"
_TIMERS = "Timers_keyToTimestamp"
_MATCHED = "matched"
_EXPIRES = "expiresAtMicros"
_WATERMARK = "spark.watermarkDelayMs"
_SPREAD_BY_KEY = (
    *AGGREGATES,
    "dedupe",
    _WITHIN,
    "flatMapGroupsWithState",
    "applyInPandasWithState",
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_Place = tuple[Literal["key", "value"], str, bool]
"""Part of the row, column, whether it is a window, whose end counts."""


@dataclass(frozen=True, slots=True)
class Target:
    """The rows of one schema. ``family`` is the column family in a store that has some. ``is_list``: a value
    is a list of rows; ``is_flat``: each of which is shown by itself, as Spark's reader does for a join. The
    hidden columns are Spark's own: the number of a row among those of its join key or the time that is part
    of the key, and whether it was matched."""

    store: str
    family: str
    schema: StateSchema
    name: str
    is_list: bool = False
    is_flat: bool = False
    prefix_columns: int = 0
    hidden_key_columns: tuple[str, ...] = ()
    hidden_value_columns: tuple[str, ...] = ()
    event_time: _Place | None = None
    spread_by: Mapping[str, object] | None = None

    @property
    def has_families(self) -> bool:
        """Whether the rows are those of one column family of a store."""
        return self.schema.format_version == 3

    @property
    def has_event_time(self) -> bool:
        """Whether it can be told when a watermark has passed a row."""
        return self.event_time is not None

    @property
    def spread_columns(self) -> tuple[str, ...]:
        """The names of the columns by which rows are spread over partitions."""
        return () if self.spread_by is None else column_labels(self.spread_by)

    def expires(self, key: Mapping[str, Json], value: Json) -> int | None:
        """The event time of a row, in microseconds; a watermark at or after it has passed the row."""
        if self.event_time is None:
            return None
        part, column, is_window = self.event_time
        row = key if part == "key" else value
        found = row.get(column) if isinstance(row, Mapping) else None
        if is_window:
            found = found.get("end") if isinstance(found, dict) else None
        return found if isinstance(found, int) else _micros(found)

    def without_hidden(self, value: Json) -> Json:
        """The value without the columns that Spark keeps for itself."""
        if not self.hidden_value_columns:
            return value
        if isinstance(value, list):
            return [self.without_hidden(row) for row in value]
        if isinstance(value, dict):
            return {k: v for k, v in value.items() if k not in self.hidden_value_columns}
        return value


def choose_target(
    operator: OperatorState,
    schemas: Sequence[StateSchema],
    store: str | None,
    side: str | None,
    variable: str | None,
    is_timers: bool,
) -> Target:
    """The rows that these choices name. Raises UsageError with what there is to choose from."""
    if not schemas:
        raise UsageError(say("state_rows.no_schemas", operator=operator.operator_id))
    if sum(choice is not None for choice in (store, side, variable)) + is_timers > 1:
        raise UsageError(say("state_rows.one_choice"))
    if side is not None:
        return _side(operator, schemas, side)
    if is_timers:
        timers = [s for s in schemas if s.is_internal and s.column_family.endswith(_TIMERS)]
        if not timers:
            raise UsageError(say("state_rows.no_timers", operator=operator.operator_id))
        return _target(operator, timers[0])
    if variable is not None:
        found = [s for s in schemas if s.column_family == variable]
        if not found:
            names = [s.column_family for s in schemas if s.column_family != "default"]
            raise UsageError(say("state_rows.no_variable", variable=variable, names=names))
        return _target(operator, found[0])
    found = [s for s in schemas if store is None or s.store == store]
    if not found:
        raise UsageError(say("state_rows.no_store", store=store, names=sorted({s.store for s in schemas})))
    shown = [s for s in found if not s.is_internal] or found
    if len(shown) > 1:
        names = [choice.option for choice in choices(schemas).values()]
        raise UsageError(say("state_rows.choose", names=names))
    return _target(operator, shown[0])


@dataclass(frozen=True, slots=True)
class Choice:
    """One kind of rows of an operator: exactly one of the first four says which. ``option``: how the command
    line names it."""

    store: str | None
    side: str | None
    variable: str | None
    is_timers: bool
    option: str
    key_columns: tuple[str, ...]


def choices(schemas: Sequence[StateSchema]) -> dict[str, Choice]:
    """What there is to choose from, by name: the sides of a join, the variables and timers of
    transformWithState, or the stores."""
    sides = {side: schema for side in _SIDES if (schema := _side_schema(schemas, side)) is not None}
    if sides:
        return {
            side: Choice(None, side, None, False, f"--side {side}", schema.key_columns[:-1])
            for side, schema in sides.items()
        }
    found: dict[str, Choice] = {}
    for schema in schemas:
        name = schema.column_family
        if name != "default" and not schema.is_internal:
            found[name] = Choice(None, None, name, False, f"--variable {name}", schema.key_columns)
    timers = next((s for s in schemas if s.is_internal and s.column_family.endswith(_TIMERS)), None)
    if timers is not None:
        found["timers"] = Choice(None, None, None, True, "--timers", timers.key_columns)
    if not found:
        for schema in schemas:
            name = schema.store
            found[name] = Choice(name, None, None, False, f"--store {name}", schema.key_columns)
    return found


def _side(operator: OperatorState, schemas: Sequence[StateSchema], side: str) -> Target:
    if side not in _SIDES:
        raise UsageError(say("state_rows.sides", side=side))
    schema = _side_schema(schemas, side)
    if schema is None:
        raise UsageError(say("state_rows.no_join", operator=operator.operator_id, name=operator.name))
    hidden_value = schema.value_columns[-1:] if schema.value_columns[-1:] == (_MATCHED,) else ()
    return replace(
        _target(operator, schema),
        name=side,
        is_flat=schema.column_family.endswith(_TIMED),
        hidden_key_columns=schema.key_columns[-1:],
        hidden_value_columns=hidden_value,
    )


def _side_schema(schemas: Sequence[StateSchema], side: str) -> StateSchema | None:
    names = {f"{side}-{_INDEXED}", f"{side}-{_TIMED}"}
    return next(
        (s for s in schemas if (s.column_family if s.format_version == 3 else s.store) in names), None
    )


def _target(operator: OperatorState, schema: StateSchema) -> Target:
    has_families = schema.format_version == 3
    return Target(
        store=schema.store,
        family=schema.column_family,
        schema=schema,
        name=schema.column_family if has_families else schema.store,
        is_list=has_families
        and (schema.column_family in list_families(operator) or schema.column_family.endswith(_TIMED_KEYS)),
        prefix_columns=_prefix_columns(operator, schema),
        event_time=_event_time(operator, schema),
        spread_by=_spread_by(operator, schema),
    )


def _prefix_columns(operator: OperatorState, schema: StateSchema) -> int:
    """How many columns the prefix of a key has. Spark before 4.0 does not write it: of session windows it is
    all but the start of the session."""
    metadata = metadata_of(operator)
    if metadata is not None:
        named = {store.name: store.prefix_columns for store in metadata.stores}
        if named.get(schema.store, -1) >= 0:
            return named[schema.store]
    return len(schema.key_columns) - 1 if operator.name == _SESSION else 0


def _event_time(operator: OperatorState, schema: StateSchema) -> _Place | None:
    if operator.name == _WITHIN and _EXPIRES in schema.value_columns:
        return "value", _EXPIRES, False
    if operator.name not in (*AGGREGATES, "dedupe", _SESSION):
        return None
    parts: tuple[tuple[Literal["key", "value"], Mapping[str, object]], ...] = (
        ("key", schema.key),
        ("value", schema.value),
    )
    return next((place for part, struct in parts for place in _watermarked(part, struct)), None)


def _watermarked(part: Literal["key", "value"], struct: Mapping[str, object]) -> Iterator[_Place]:
    for field in column_fields(struct):
        metadata, kind = field.get("metadata"), field.get("type")
        if isinstance(metadata, dict) and _WATERMARK in metadata:
            is_window = isinstance(kind, dict) and column_names(kind) == ["start", "end"]
            if is_window or kind in ("timestamp", "timestamp_ntz"):
                yield part, str(field.get("name")), is_window


def _spread_by(operator: OperatorState, schema: StateSchema) -> Mapping[str, object] | None:
    """The columns whose hash tells the partition; None where that is not known here."""
    if operator.name == _JOIN:
        name = schema.column_family if schema.format_version == 3 else schema.store
        fields = column_fields(schema.key)
        ends_in_own = name.endswith((_INDEXED, _TIMED, _TIMED_KEYS))
        return {"type": "struct", "fields": fields[:-1] if ends_in_own else fields}
    if operator.name in _SPREAD_BY_KEY:
        return schema.key
    if operator.name in _TRANSFORM and not schema.is_internal and schema.user_key is None:
        return schema.key
    return None


def _micros(text: Json) -> int | None:
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (moment - _EPOCH) // timedelta(microseconds=1)
