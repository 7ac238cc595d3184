"""Rows that the query makes of a part of its sources, and rows that its sink has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from core.recovery.kit.query import QueryRun, read_stream, reader_options, result

PATTERN = "*?[]{}"
"""Characters that a batch query reads as a pattern."""


def read_range(run: QueryRun, source: Mapping[str, Any], part: Any) -> Any:
    """The rows of one source in ``part`` (files, or two Kafka positions), by a batch query; None when this
    kind of source cannot be read that way."""
    given = reader_options(source, {})
    options = {name: value for name, value in given.items() if not name.lower().startswith("max")}
    if source["kind"] == "file":
        paths = [unquote(path) for path in part]
        if any(character in path for path in paths for character in PATTERN):
            return None
        if not paths:
            return run.spark.createDataFrame([], read_stream(run, source, {}).schema)
        reader = run.spark.read.format(source["format"]).options(**options)
        if not any(character in source["path"] for character in PATTERN):
            reader = reader.option("basePath", source["path"])
        return (reader.schema(source["schema"]) if source["schema"] is not None else reader).load(paths)
    if source["kind"] == "kafka":
        start, end = part
        named = {topic: sorted(int(number) for number in partitions) for topic, partitions in end.items()}
        which = ("subscribe", "subscribePattern", "assign")
        options = {name: value for name, value in options.items() if name not in which}
        reader = run.spark.read.format("kafka").options(**options).option("assign", json.dumps(named))
        reader = reader.option("startingOffsets", json.dumps(start))
        return reader.option("endingOffsets", json.dumps(end)).load()
    return None


def batch_result(run: QueryRun, parts: Mapping[str, Any]) -> Any:
    """The user's transform over these parts of the sources as a batch query; None when that cannot be
    computed."""
    frames = {source["key"]: read_range(run, source, parts[source["key"]]) for source in run.sources}
    return None if any(frame is None for frame in frames.values()) else result(run, frames)


def can_count(run: QueryRun) -> bool:
    """Whether the rows in the sink can be read."""
    return run.sink_format is not None and bool(run.sink_path) and run.sink != "kafka"


def read_output(run: QueryRun, places: Iterable[str]) -> Any:
    """The rows in these places together, None when there is no file yet."""
    frame = None
    for place in places:
        if run.files.names(place):
            part = run.spark.read.format(run.sink_format).options(**run.sink_options()).load(place)
            frame = part if frame is None else frame.unionByName(part)
    return frame


def count_output(run: QueryRun, places: Iterable[str]) -> int:
    """Their number."""
    frame = read_output(run, places)
    return 0 if frame is None else int(frame.count())


def same_rows(left: Any, right: Any) -> bool:
    """Whether two frames contain the same rows the same number of times."""
    right = right.select(*[f"`{name}`" for name in left.columns])
    return bool(left.exceptAll(right).isEmpty() and right.exceptAll(left).isEmpty())


def same_or_replaced(run: QueryRun, output: Any, expected: Any) -> tuple[bool | None, str]:
    """Whether the output has the rows of a batch query over all input: their number where it only grows, else
    the rows."""
    if run.output_mode != "append":
        text = "the output has exactly the rows that a batch query over all input gives"
        return same_rows(expected, output), text
    here, wanted = output.count(), expected.count()
    if run.sink == "foreach_merge" and here < wanted:
        text = f"the rows in the sink: it has {here}, a batch query over all input gives {wanted}"
        return None, f"{text}, and rows with the same key replace each other"
    return here == wanted, f"the output has {here} rows; a batch query over all input gives {wanted}"
