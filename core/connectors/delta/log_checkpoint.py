"""The log checkpoint of a Delta table: transactions, metadata and files, read column by column.

A row of a checkpoint holds one action: the column of its kind is set, the others are null. Transactions and
metadata always stand in the main file or its parts, never in a sidecar (seen with Delta's own golden tables);
files may stand in sidecars, which are not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from core.connectors.answers import TableTransaction
from core.connectors.delta.actions import (
    TableFile,
    TableMetadata,
    actions,
    table_file,
    table_metadata,
    transaction,
)
from core.messages import say

_FILE_COLUMNS = (
    "add.path",
    "add.size",
    "add.modificationTime",
    "add.stats",
    "add.deletionVector.cardinality",
)


@dataclass(frozen=True, slots=True)
class CheckpointContent:
    """What was read of a log checkpoint. ``files`` None: not asked for, or they stand in sidecars
    (``has_sidecars``)."""

    transactions: tuple[TableTransaction, ...]
    metadata: TableMetadata | None
    files: tuple[TableFile, ...] | None = None
    has_sidecars: bool = False


def read_part(name: str, data: bytes, with_files: bool) -> CheckpointContent:
    """One part of a log checkpoint. Raises ValueError with one clause when it cannot be read."""
    return _json_part(data, with_files) if name.endswith(".json") else _parquet_part(data, with_files)


def together(parts: Iterable[CheckpointContent]) -> CheckpointContent:
    """All parts as one."""
    found = list(parts)
    files = None
    if all(part.files is not None for part in found) and not any(part.has_sidecars for part in found):
        files = tuple(file for part in found for file in part.files or ())
    return CheckpointContent(
        tuple(item for part in found for item in part.transactions),
        next((part.metadata for part in found if part.metadata is not None), None),
        files,
        any(part.has_sidecars for part in found),
    )


def _json_part(data: bytes, with_files: bool) -> CheckpointContent:
    seen = list(actions(data))
    files = [file for name, body in seen if name == "add" and (file := table_file(body)) is not None]
    return CheckpointContent(
        tuple(found for name, body in seen if name == "txn" and (found := transaction(body)) is not None),
        next(
            (
                described
                for name, body in seen
                if name == "metaData" and (described := table_metadata(body)) is not None
            ),
            None,
        ),
        tuple(files) if with_files else None,
        any(name == "sidecar" for name, _ in seen),
    )


def _parquet_part(data: bytes, with_files: bool) -> CheckpointContent:
    try:
        source = pq.ParquetFile(pa.BufferReader(data))
        kinds = set(source.schema_arrow.names)
        leaves = {source.schema.column(i).path for i in range(len(source.schema))}
        wanted = [name for name in ("txn", "metaData") if name in kinds]
        wanted += [path for path in _FILE_COLUMNS if path in leaves] if with_files else []
        rows = source.read(columns=wanted)
        sidecars = (
            "sidecar" in kinds
            and source.read(columns=["sidecar"]).column("sidecar").null_count < source.metadata.num_rows
        )
        transactions = tuple(found for body in _set(rows, "txn") if (found := transaction(body)) is not None)
        metadata = next(
            (described for body in _set(rows, "metaData") if (described := table_metadata(body)) is not None),
            None,
        )
        files = (
            tuple(file for body in _set(rows, "add") if (file := table_file(body)) is not None)
            if with_files
            else None
        )
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        MemoryError,
    ) as error:
        first = str(error).strip().split("\n")[0][:120]
        raise ValueError(say("delta.not_parquet", reason=first or type(error).__name__)) from None
    return CheckpointContent(transactions, metadata, files, sidecars)


def _set(rows: pa.Table, kind: str) -> list[Mapping[str, object]]:
    """The actions of one kind: the rows where its column is not null."""
    if kind not in rows.column_names:
        return []
    return [body for body in rows.column(kind).drop_null().to_pylist() if isinstance(body, dict)]
