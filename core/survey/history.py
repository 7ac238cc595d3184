"""Keeping the rows of a survey: appended with the moment of the survey, so that many surveys are one table.

The columns are those of the view ``survey`` (``core/survey/tables.py``) and ``surveyed_at``. A CSV file has
times, lists and structures as JSON has them. Nothing is ever written inside a checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import orjson
import pyarrow as pa
from pyarrow import csv, parquet

from core.errors import FileNotRead, UsageError
from core.messages import say
from core.settings import Settings
from core.storage import Location, parse_location
from core.storage.checkpoint_search import checkpoint_around
from core.storage.location import is_below

Format = Literal["parquet", "csv", "json", "delta"]
FORMATS: tuple[Format, ...] = ("parquet", "csv", "json", "delta")
SURVEYED_AT = "surveyed_at"


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where the rows of a survey are appended, and as what."""

    location: Location
    format: Format


def keeping(text: str, format_name: Format, settings: Settings) -> Keeping:
    """The place that a person named. Raises :class:`UsageError` when it lies inside a checkpoint, as far as
    the directories above it can be listed from here, and :class:`UnsupportedLocation`."""
    location = parse_location(text)
    if location.is_local:
        location = parse_location(os.path.realpath(location.path))
        if Path(location.path).exists() and not Path(location.path).is_dir():
            raise UsageError(say("survey.to_file", place=location.url))
    around = checkpoint_around(location, settings)
    if around is not None:
        raise UsageError(say("survey.to_inside", place=location.url, checkpoint=around.url))
    return Keeping(location, format_name)


def refuse_inside(keep: Keeping, checkpoints: Iterable[str]) -> None:
    """Raises :class:`UsageError` when rows would be written into one of these checkpoints."""
    for url in checkpoints:
        if is_below(keep.location.url, url):
            raise UsageError(say("survey.to_inside", place=keep.location.url, checkpoint=url))


def kept_table(table: pa.Table, surveyed_at_ms: int, format_name: str) -> pa.Table:
    """A table of the view survey with the moment of the survey, as it is kept in this format."""
    moment = pa.array([surveyed_at_ms * 1000] * table.num_rows, pa.timestamp("us", tz="UTC"))
    table = table.append_column(SURVEYED_AT, moment)
    return _flat(table) if format_name == "csv" else table


def append_here(table: pa.Table, keep: Keeping, surveyed_at_ms: int) -> Path:
    """A new file with the rows in a directory of this machine. It has its name only when it is complete.
    Raises :class:`FileNotRead` when it cannot be written."""
    moment = datetime.fromtimestamp(surveyed_at_ms / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
    file = Path(keep.location.path) / f"survey-{moment}-{uuid4().hex[:8]}.{keep.format}"
    unfinished = file.with_name(f".{file.name}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            _WRITERS[keep.format](table, unfinished)
            unfinished.replace(file)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise FileNotRead(say("survey.not_kept", place=keep.location.url, reason=reason)) from error
    return file


def _flat(table: pa.Table) -> pa.Table:
    for at, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            texts = [None if value is None else _json(value) for value in table.column(at).to_pylist()]
        elif pa.types.is_timestamp(field.type):
            texts = [None if value is None else _moment(value) for value in table.column(at).to_pylist()]
        else:
            continue
        table = table.set_column(at, field.name, pa.array(texts, pa.string()))
    return table


def _moment(value: datetime) -> str:
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_UTC_Z).decode()


def _write_json(table: pa.Table, file: Path) -> None:
    file.write_text("".join(f"{_json(row)}\n" for row in table.to_pylist()), encoding="utf-8")


_WRITERS: Mapping[str, Callable[[pa.Table, Path], object]] = {
    "parquet": lambda table, file: parquet.write_table(table, file),
    "csv": lambda table, file: csv.write_csv(table, file),
    "json": _write_json,
}
