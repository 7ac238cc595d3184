"""Small checkpoints for the unit tests of the forecast, and the forecast of a directory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from core.analysis.forecast import Forecast, Query, forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorSettings
from core.connectors.connect import ask_connectors
from core.storage import parse_location
from tests.support.build import CONF_4_3, QUERY_ID, commit_text, offset_text, write

CONF_3_5 = {
    key: value
    for key, value in CONF_4_3.items()
    if not any(
        part in key
        for part in (
            "encodingFormat",
            "mergeOperatorVersion",
            "rowChecksum",
            "protobufExtensions",
            "enableSourceEvolution",
            "alwaysNullableOutput",
            "deterministicKeyOrder",
        )
    )
}
METADATA = json.dumps({"id": QUERY_ID}, separators=(",", ":"))


def files_entry(log_id: int) -> str:
    """One entry of a file source's log with one file in it."""
    return "v1\n" + json.dumps(
        {"path": f"file:///in/{log_id:04d}.json", "timestamp": 1_795_176_000_000 + log_id, "batchId": log_id}
    )


def files_checkpoint(
    root: Path,
    batches: int = 5,
    commits: Sequence[int] | None = None,
    conf: dict[str, str] | None = None,
    started_ms: int = 1_795_176_000_000,
) -> Path:
    """A stateless query over one file source: batch N reads entry N of the source's log, ten seconds after
    the one before. ``commits`` default to all batches."""
    tree: dict[str, str | bytes] = {"metadata": METADATA}
    for batch in range(batches):
        time_ms = started_ms + batch * 10_000
        tree[f"offsets/{batch}"] = offset_text([f'{{"logOffset":{batch}}}'], conf=conf, timestamp_ms=time_ms)
        tree[f"sources/0/{batch}"] = files_entry(batch)
    for batch in range(batches) if commits is None else commits:
        tree[f"commits/{batch}"] = commit_text()
    return write(root, tree)


def with_state(
    root: Path,
    versions: Sequence[int],
    kind: str = "delta",
    partitions: int = 2,
    operator: str = "stateStoreSave",
) -> Path:
    """Adds the state of one operator: a file of this kind per version and partition, schema and operator
    metadata."""
    tree: dict[str, str | bytes] = {
        f"state/0/{partition}/{version}.{kind}": b"x" * 64
        for partition in range(partitions)
        for version in versions
    }
    store = {"storeName": "default", "numColsPrefixKey": 0, "numPartitions": partitions}
    info = {"operatorInfo": {"operatorId": 0, "operatorName": operator}, "stateStoreInfo": [store]}
    tree["state/0/_metadata/metadata"] = "v1\n" + json.dumps(info, separators=(",", ":"))
    tree["state/0/0/_metadata/schema"] = keys_only() if operator == "dedupe" else schema()
    return write(root, tree)


def keys_only() -> bytes:
    """The state schema of a deduplication by ``k``."""
    return struct_schema([("k", "string", True)], [("__dummy__", "void", True)])


def schema() -> bytes:
    """A state schema file of version 2: a key ``k`` and a value ``count``."""
    return struct_schema([("k", "string", True)], [("count", "long", True)])


def struct_schema(key: Sequence[tuple[str, str, bool]], value: Sequence[tuple[str, str, bool]]) -> bytes:
    """A state schema file of version 2 with these columns: name, type, whether it may be null."""

    def text(value: str) -> bytes:
        data = value.encode()
        return len(data).to_bytes(2, "big") + data

    def struct(columns: Sequence[tuple[str, str, bool]]) -> str:
        fields = [
            {"name": name, "type": kind, "nullable": nullable, "metadata": {}}
            for name, kind, nullable in columns
        ]
        return json.dumps({"type": "struct", "fields": fields})

    one = (1).to_bytes(4, "big")
    return text("v2") + one + text(struct(key)) + one + text(struct(value))


def stateful_conf(partitions: int = 2, **changes: str) -> dict[str, str]:
    """The pinned settings of Spark 4.3 with few partitions."""
    return {**CONF_4_3, "spark.sql.shuffle.partitions": str(partitions), **changes}


def said_of(root: Path, place: Path | str, spark: str | None = None) -> Forecast:
    """The forecast for a directory whose source 0 is said to read ``place``."""
    ck = Checkpoint.open(str(root))
    answers = ask_connectors(ck, ConnectorSettings(sources={"0": parse_location(str(place))}))
    return forecast(ck, spark, connectors=answers)


def said(root: Path, spark: str | None = None, **query: object) -> Forecast:
    """The forecast for a directory."""
    return forecast(Checkpoint.open(str(root)), spark=spark, query=Query(**query))  # type: ignore[arg-type]
