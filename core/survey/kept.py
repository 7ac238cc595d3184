"""Reading the rows of surveys that were kept with ``survey --to``: what is known of a checkpoint beyond the
batches that Spark retains. Through the storage door, with pyarrow; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyarrow import compute, parquet

from core.analysis.past_batches import BatchTimes, joined, no_batches
from core.errors import NotAllowed, StorageError
from core.messages import say
from core.settings import Settings
from core.storage import Door, FileInfo, Location, parse_location
from core.storage.roots import locate
from core.survey.history import SURVEYED_AT
from core.survey.tables import batches_of

COLUMNS = ("location", "query_id", "status", "watermark_lag_ms", "state_bytes", "batches_per_hour")
"""What is read of each row beside the moment and the batches."""

READ_AT_ONCE = 32
NAMED = 3  # files that could not be read and are named


@dataclass(frozen=True, slots=True)
class KeptSurvey:
    """What a survey of this moment saw of a checkpoint; None where it was not known."""

    surveyed_at_ms: int
    status: str
    watermark_lag_ms: int | None
    state_bytes: int | None
    batches_per_hour: float | None


@dataclass(frozen=True, slots=True)
class KeptHistory:
    """What is known of one checkpoint, the oldest survey first. ``trouble``: a sentence for each thing that
    could not be read, or was left out; what is known does not rest on it."""

    surveys: tuple[KeptSurvey, ...] = ()
    batches: BatchTimes = field(default_factory=no_batches)
    trouble: tuple[str, ...] = ()


def kept_histories(
    settings: Settings, queries: Mapping[str, str | None], with_batches: bool = True
) -> dict[str, KeptHistory]:
    """What the table of the setting ``history`` knows of some checkpoints: URL -> history. ``queries``: the
    URL of each and the id of its query now. Empty without the setting.

    A directory that was deleted and used again has another query id: rows with that of another query are left
    out. Read are the Parquet files that ``survey --to`` has written, the newest ``history_files`` of them.
    Never raises for what lies there: it is said as trouble.
    """
    if not settings.history or not queries:
        return {}
    trouble: list[str] = []
    try:
        door = Door.open(_table(settings), settings)
        files = _files(door)
    except StorageError as error:
        said = say("kept.not_listed", reason=str(error))
        return {url: KeptHistory(trouble=(said,)) for url in queries}
    if len(files) > settings.history_files:
        trouble.append(say("kept.left_out", n=len(files) - settings.history_files))
        files = files[-settings.history_files :]
    rows: dict[str, list[dict[str, Any]]] = {url: [] for url in queries}
    unread: list[str] = []
    for row in _rows(door, files, list(queries), with_batches, unread):
        if None in (row["query_id"], mine := queries[row["location"]]) or row["query_id"] == mine:
            rows[row["location"]].append(row)
    if unread:
        trouble.append(say("kept.not_read", n=len(unread), files=unread[:NAMED]))
    return {url: _history(found, tuple(trouble)) for url, found in rows.items()}


def _table(settings: Settings) -> Location:
    """The place of the table. Who set it may name one outside of the roots, which links may not."""
    try:
        return locate(settings.history, settings)
    except NotAllowed:
        return parse_location(settings.history)


def _files(door: Door) -> list[FileInfo]:
    """The files of the table, the oldest first; what begins with ``_`` or ``.`` is no part of a table."""
    listing = door.list([""], recursive=True)[""]
    found = [
        info
        for path, info in listing.files.items()
        if path.endswith(".parquet") and not any(part[:1] in ("_", ".") for part in path.split("/"))
    ]
    return sorted(found, key=lambda info: (info.modified_ms or 0, info.path))


def _rows(
    door: Door, files: Sequence[FileInfo], locations: list[str], with_batches: bool, unread: list[str]
) -> Iterator[dict[str, Any]]:
    """The rows of these checkpoints; ``unread`` gets the files that could not be read."""
    wanted = [SURVEYED_AT, *COLUMNS, *(["batches"] if with_batches else [])]
    for at in range(0, len(files), READ_AT_ONCE):
        for path, content in door.read(files[at : at + READ_AT_ONCE]).items():
            try:
                if not isinstance(content, bytes):
                    raise OSError(path)
                rows = _decoded(content, wanted, locations)
            except (pa.ArrowException, OSError, KeyError, ValueError, TypeError):
                unread.append(path)
            else:
                yield from rows


def _decoded(content: bytes, wanted: list[str], locations: list[str]) -> list[dict[str, Any]]:
    file = parquet.ParquetFile(pa.BufferReader(content))
    there = set(file.schema_arrow.names)
    if not {SURVEYED_AT, *COLUMNS} <= there:
        raise KeyError(SURVEYED_AT)
    table = file.read(columns=[name for name in wanted if name in there])
    mine = compute.is_in(table["location"], value_set=pa.array(locations, pa.string()))
    rows: list[dict[str, Any]] = table.filter(mine).to_pylist()
    for row in rows:
        row[SURVEYED_AT] = round(row[SURVEYED_AT].timestamp() * 1000)
        row["batches"] = batches_of(row.get("batches") or ())
    return rows


def _history(rows: list[dict[str, Any]], trouble: tuple[str, ...]) -> KeptHistory:
    rows.sort(key=lambda row: row[SURVEYED_AT])
    surveys = tuple(
        KeptSurvey(
            surveyed_at_ms=row[SURVEYED_AT],
            status=row["status"],
            watermark_lag_ms=row["watermark_lag_ms"],
            state_bytes=row["state_bytes"],
            batches_per_hour=row["batches_per_hour"],
        )
        for row in rows
    )
    return KeptHistory(surveys, joined(row["batches"] for row in rows), trouble)
