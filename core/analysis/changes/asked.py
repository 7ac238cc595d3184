"""What can be asked: the values of each change, and how a text becomes one of them.

A value is one of a few plain words (``same_types``), or what the thing becomes (``user:string,day:date``,
``4``), which is compared with what the checkpoint has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from core.analysis.changes.model import WHATS, AskedChange, Column, What, WrittenQuery
from core.errors import UsageError
from core.messages import say

CHANGED = "changed"
CHOICES: Mapping[What, tuple[str, ...]] = {
    "filter": ("before_state", "after_state"),
    "projection": ("before_state", "same_types", "after_state"),
    "reader_schema": ("more_columns", "other_types"),
    "rate_limit": (),
    "trigger": ("available_now", "processing_time", "continuous"),
    "query_name": (),
    "output_types": (),
    "sources": ("added", "removed"),
    "source_kind": (),
    "source_order": (),
    "source_path": ("other", "glob"),
    "subscription": (),
    "operators": ("added", "removed", "replaced"),
    "keys": ("same_types", "other_types"),
    "aggregates": ("same_types", "other_types"),
    "expressions": ("same_types", "other_types"),
    "dedup_columns": ("same_types", "other_types"),
    "window": ("length", "slide"),
    "watermark": ("delay", "column", "added", "removed"),
    "output_mode": ("append", "update", "update_after_append", "update_after_complete", "complete"),
    "join_type": (
        "inner",
        "left_outer",
        "right_outer",
        "full_outer",
        "left_semi",
        "left_semi_same_columns",
    ),
    "join_interval": (),
    "partitions": (),
    "provider": ("hdfs", "rocksdb", "changelog", "checkpoint_format", "aggregation_format"),
    "sink_kind": ("file", "delta", "kafka", "foreach", "other"),
    "sink_path": (),
    "sink_topic": (),
    "foreach_code": (),
    "state_schema": ("types", "variables", "time_mode", "processor", "code"),
    "spark": (),
}
"""The plain words of each change, the most serious one last or first as people think of it. No words: the one
value ``changed``."""

OF_FREE_TEXT: frozenset[What] = frozenset(
    {
        "sources",
        "source_kind",
        "source_path",
        "subscription",
        "operators",
        "keys",
        "aggregates",
        "dedup_columns",
        "watermark",
        "partitions",
        "spark",
        "query_name",
        "trigger",
        "window",
        "rate_limit",
        "sink_path",
        "sink_topic",
        "join_interval",
    }
)
"""Changes whose value may be what the thing becomes."""

OF_COLUMNS: frozenset[What] = frozenset({"keys", "aggregates", "dedup_columns"})
"""Those of which it is columns with their types, by which Spark compares."""

OPERATORS = (
    "stateStoreSave",
    "dedupe",
    "dedupeWithinWatermark",
    "symmetricHashJoin",
    "sessionWindowStateStoreSaveExec",
    "flatMapGroupsWithState",
    "applyInPandasWithState",
    "flatMapGroupsInPandasWithState",
    "transformWithStateExec",
    "transformWithStateInPandasExec",
    "transformWithStateInPySparkExec",
    "globalLimit",
)
"""Spark's names of stateful operators."""

_JOIN_TYPES = {
    **dict.fromkeys(("inner", "cross"), "inner"),
    **dict.fromkeys(("left", "leftouter"), "left_outer"),
    **dict.fromkeys(("right", "rightouter"), "right_outer"),
    **dict.fromkeys(("outer", "full", "fullouter"), "full_outer"),
    **dict.fromkeys(("semi", "leftsemi"), "left_semi"),
}
TRANSFORM = "transformWithState"
"""What the names of all its forms begin with."""
_TOP_LEVEL = re.compile(r",(?![^<]*>)")
_SQL_NAMES = {"bigint": "long", "int": "integer", "smallint": "short", "tinyint": "byte", "real": "float"}


def parse_change(setting: str) -> AskedChange:
    """``change.keys=user:string`` -> the change. Raises UsageError."""
    name, equals, value = setting.partition("=")
    what = name.removeprefix("change.")
    known = next((each for each in WHATS if each == what), None)
    if not equals or not name.startswith("change.") or known is None:
        raise UsageError(say("changes.set_usage", setting=setting[:200], known=WHATS))
    return checked(AskedChange(known, value.strip()))


def checked(asked: AskedChange) -> AskedChange:
    """The same change when its value can be understood. Raises UsageError."""
    value = join_type_word(asked.value) if asked.what == "join_type" else asked.value
    asked = AskedChange(asked.what, value)
    words = CHOICES[asked.what]
    if value in ("", CHANGED) or value in words:
        return asked
    if asked.what in OF_COLUMNS and columns(value) is None:
        raise UsageError(say("changes.columns_usage", what=asked.what, value=value[:100], known=words))
    if asked.what == "operators":
        return _operators(asked)
    if asked.what in OF_FREE_TEXT:
        return asked
    if not words:
        return AskedChange(asked.what, CHANGED)
    raise UsageError(say("changes.value_usage", what=asked.what, value=value[:100], known=words))


def _operators(asked: AskedChange) -> AskedChange:
    """Names that a checkpoint can have, or "none": a typing error is no other operator."""
    names = {name.strip().lower() for name in asked.value.split(",") if name.strip()}
    if asked.value != "none" and not names <= {name.lower() for name in OPERATORS}:
        known = ["none", *CHOICES["operators"], *OPERATORS]
        raise UsageError(say("changes.operators_usage", value=asked.value[:100], known=known))
    return asked


def join_type_word(value: str) -> str:
    """Spark's names of a join (``leftouter``, ``LeftSemi``, ``full``) as one of the plain words."""
    return _JOIN_TYPES.get(value.lower().replace("_", ""), value)


def every_value(query: WrittenQuery, what: What) -> tuple[str, ...]:
    """The plain values that are worth an answer of their own for this query."""
    words = CHOICES[what]
    if what in ("filter", "projection", "expressions") and not query.is_stateful:
        return (CHANGED,)
    if what == "projection" and not any(op.name == "symmetricHashJoin" for op in query.operators):
        return tuple(word for word in words if word != "same_types")
    if what == "provider" and query.is_stateful:
        return tuple(word for word in words if word != query.provider)
    if what == "watermark" and query.is_stateful:
        needs_one = any(op.name == "dedupeWithinWatermark" for op in query.operators)
        is_there = needs_one or query.watermark_delay_ms is not None  # its schema does not hold the delay
        return tuple(word for word in words if (word == "added") != is_there)
    if what == "state_schema" and not any(str(op.name).startswith(TRANSFORM) for op in query.operators):
        return tuple(word for word in words if word not in ("time_mode", "processor"))
    if what == "join_type":
        return tuple(word for word in words if word != "left_semi_same_columns")
    if what == "output_mode":
        is_open = any(
            op.name == "stateStoreSave" and op.watermark_delay_ms is not None for op in query.operators
        )
        return tuple(word for word in words if (word != "update" if is_open else "_" not in word))
    if what == "operators":
        return words if query.is_stateful else ("added",)
    return words or (CHANGED,)


def columns(text: str) -> tuple[Column, ...] | None:
    """``user:string,day:date`` -> columns, types in Spark's names; None when a type is missing."""
    found = []
    for part in _TOP_LEVEL.split(text):
        name, colon, kind = part.partition(":")
        if not colon or not name.strip() or not kind.strip():
            return None
        plain = kind.strip().lower().replace(" ", "")
        found.append(Column(name.strip(), _SQL_NAMES.get(plain, plain)))
    return tuple(found)


def types_of(found: Iterable[Column]) -> list[str]:
    """The types alone, by which Spark compares."""
    return [column.type.lower() for column in found]


def columns_as_asked(query: WrittenQuery, what: What) -> str:
    """What the checkpoint has, as a value that could be asked: ``user:string,day:date``. Empty where it does
    not tell."""
    if what == "partitions":
        return "" if query.partitions is None else str(query.partitions)
    if what == "subscription":
        return next((",".join(source.topics) for source in query.sources if source.topics), "")
    if what == "source_path":
        return next((source.place[0] for source in query.sources if source.place), "")
    for op in query.operators:
        found = op.values if what == "aggregates" else op.keys
        if found:
            return ",".join(f"{column.name}:{column.type}" for column in found)
    return ""
