"""Logs of Delta tables written by hand, for tests without an engine: commits, the table's checksums, and log
checkpoints of all forms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

TABLE_ID = "6d6f8a2e-0000-4000-8000-000000000001"
TIME = 1_795_260_000_000


def log_path(table: Path, version: int, end: str = "json") -> Path:
    """A file of the table's log."""
    return table / "_delta_log" / f"{version:020d}.{end}"


def add(name: str, rows: int | None = 10, data_change: bool = True, time_ms: int = TIME) -> dict[str, Any]:
    """An add action."""
    body: dict[str, Any] = {
        "path": name,
        "partitionValues": {},
        "size": 100,
        "modificationTime": time_ms,
        "dataChange": data_change,
    }
    if rows is not None:
        body["stats"] = json.dumps({"numRecords": rows})
    return {"add": body}


def taken(name: str, data_change: bool = True) -> dict[str, Any]:
    """A remove action."""
    return {"remove": {"path": name, "deletionTimestamp": TIME, "dataChange": data_change}}


def metadata(table_id: str = TABLE_ID, **configuration: str) -> dict[str, Any]:
    """A metaData action."""
    return {
        "metaData": {
            "id": table_id,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": "{}",
            "configuration": configuration,
        }
    }


def txn(app_id: str, version: int, updated_ms: int = TIME) -> dict[str, Any]:
    """A transaction."""
    return {"txn": {"appId": app_id, "version": version, "lastUpdated": updated_ms}}


def info(operation: str, version: int = 0, rows: int | None = None, **parameters: str) -> dict[str, Any]:
    """A commitInfo action, ten seconds after the one of the version before."""
    metrics = {} if rows is None else {"numOutputRows": str(rows)}
    body = {
        "timestamp": TIME + version * 10_000,
        "operation": operation,
        "operationParameters": parameters,
        "operationMetrics": metrics,
    }
    return {"commitInfo": body}


def batch(query_id: str, batch_id: int, version: int, rows: int = 10) -> list[dict[str, Any]]:
    """The actions of one micro-batch of Delta's streaming sink."""
    return [
        info("STREAMING UPDATE", version, rows, outputMode="Append", queryId=query_id, epochId=str(batch_id)),
        txn(query_id, batch_id),
        add(f"part-{version}.parquet", rows),
    ]


def commit(table: Path, version: int, actions: Sequence[Mapping[str, Any]]) -> Path:
    """Writes one version."""
    path = log_path(table, version)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(action) for action in actions) + "\n", encoding="utf-8")
    return path


def checksum(
    table: Path, version: int, transactions: Sequence[Mapping[str, Any]] | None, **configuration: str
) -> Path:
    """Writes the table's own checksum of a version; without ``transactions`` as Delta does when they can
    expire."""
    body: dict[str, Any] = {
        "tableSizeBytes": 1,
        "numFiles": 1,
        "metadata": metadata(**configuration)["metaData"],
    }
    if transactions is not None:
        body["setTransactions"] = [action["txn"] for action in transactions]
    path = log_path(table, version, "crc")
    path.write_text(json.dumps(body), encoding="utf-8")
    return path


def appends(table: Path, count: int, first: int = 0, rows: int = 10) -> Path:
    """A table of ``count`` commits that each add one file."""
    for version in range(first, first + count):
        actions = [
            info("WRITE", version, rows, mode="Append"),
            add(f"part-{version}.parquet", rows, time_ms=TIME + version),
        ]
        commit(table, version, [*actions, metadata()] if version == 0 else actions)
    return table


FILE = pa.struct(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
    ]
)
COLUMNS = {
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]),
    "add": FILE,
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("schemaString", pa.string()),
            ("configuration", pa.map_(pa.string(), pa.string())),
        ]
    ),
    "protocol": pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())]),
}


def parquet(path: Path, actions: Sequence[Mapping[str, Any]]) -> Path:
    """A log checkpoint (or a part of one) with these actions, one a row."""
    columns = {}
    for name, kind in COLUMNS.items():
        names = [kind.field(i).name for i in range(kind.num_fields)]
        values = []
        for action in actions:
            body = action.get(name)
            if body is not None and name == "metaData":
                body = {**body, "configuration": list(body["configuration"].items())}
            values.append(None if body is None else {key: body.get(key) for key in names})
        columns[name] = pa.array(values, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path
