"""Whatever stands in the files of a Delta log or of a file sink's log: never a traceback, and what is read
stays within its types."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.analysis.forecast import Query, forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.delta.log import DeltaLog
from core.connectors.delta.source import delta_source_state
from core.connectors.file_sink_log import FileSinkLog
from core.connectors.sink import sink_state
from core.recovery import resume_points
from tests.support.build import commit_text, offset_text, write
from tests.support.delta_tables import (
    TABLE_ID,
    add,
    appends,
    batch,
    checksum,
    commit,
    log_path,
    metadata,
    parquet,
    txn,
)

pytestmark = pytest.mark.slow

QUERY = "11111111-2222-4333-8444-000000000001"
QUICK = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "path",
    "size",
    "stats",
    "dataChange",
    "modificationTime",
    "deletionVector",
    "appId",
    "version",
    "lastUpdated",
    "id",
    "configuration",
]
FIELDS += [
    "operation",
    "operationParameters",
    "operationMetrics",
    "timestamp",
    "schemaString",
    "setTransactions",
    "metadata",
    "allFiles",
]
ACTIONS = st.dictionaries(
    st.sampled_from(["add", "remove", "txn", "metaData", "commitInfo", "cdc", "protocol"]),
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=5) | JSON,
    max_size=2,
)


def look(table: Path) -> None:
    """Everything that is ever asked of a log."""
    log = DeltaLog.open(str(table))
    for found in log.transactions.values():
        assert isinstance(found.version, int) and log.is_expired(found) in (True, False)
    for item in log.commits().commits:
        assert item.adds >= 0 and (item.rows is None or isinstance(item.rows, int))
    log.rows_between(0, log.newest)
    log.rows_now()
    for version in (0, log.newest):
        log.snapshot_files(version)
        log.can_rebuild(version)
    assert all(
        isinstance(sentence, str) and sentence.endswith(".") and "\n" not in sentence
        for sentence in log.problems
    )
    for position in ((1, -1, False), (2, 0, False), (0, 1, True)):
        judge(table, *position)


def judge(table: Path, version: int, index: int, in_snapshot: bool) -> None:
    """Everything that is ever said about such a log: as the source, and as the sink, of a checkpoint at this
    position."""
    with tempfile.TemporaryDirectory() as place:
        tree: dict[str, str | bytes] = {"metadata": json.dumps({"id": QUERY}), "commits/0": commit_text()}
        for number, (v, i, first) in enumerate(((0, 0, True), (version, index, in_snapshot))):
            line = {
                "sourceVersion": 1,
                "reservoirId": TABLE_ID,
                "reservoirVersion": v,
                "index": i,
                "isStartingVersion": first,
            }
            tree[f"offsets/{number}"] = offset_text([json.dumps(line)])
        ck, log = Checkpoint.open(str(write(Path(place), tree))), DeltaLog.open(str(table))
        for is_strict in (True, False):
            answer = forecast(
                ck,
                spark="4.2",
                query=Query(fail_on_data_loss=is_strict),
                connectors=ConnectorAnswers(tables={"0": log}, sink=log),
            )
            assert answer.sentence.endswith(".")
        assert delta_source_state(ck, "0", log).sentence.endswith(".") and sink_state(
            ck, log
        ).sentence.endswith(".")
        for source in resume_points(ck, connectors=ConnectorAnswers(tables={"0": log})).sources:
            assert source.point.note


def cut(data: bytes, at: int, with_bytes: bytes) -> bytes:
    place = at % (len(data) + 1)
    return data[:place] + with_bytes


@QUICK
@given(st.lists(ACTIONS, max_size=4))
def test_any_actions_in_a_commit(actions: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        table = appends(Path(place), 2)
        commit(table, 2, actions)
        look(table)


@QUICK
@given(JSON)
def test_any_json_in_a_checksum(value: object) -> None:
    with tempfile.TemporaryDirectory() as place:
        table = appends(Path(place), 2)
        log_path(table, 1, "crc").write_text(json.dumps(value), encoding="utf-8")
        look(table)


@QUICK
@given(st.dictionaries(st.sampled_from([*FIELDS, "numFiles"]), JSON, max_size=5))
def test_any_fields_in_a_checksum(value: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as place:
        table = appends(Path(place), 2)
        log_path(table, 1, "crc").write_text(json.dumps(value), encoding="utf-8")
        look(table)


@QUICK
@given(st.sampled_from(["commit", "checksum", "checkpoint"]), st.integers(0, 100_000), st.binary(max_size=30))
def test_any_file_cut_anywhere_and_followed_by_garbage(which: str, at: int, garbage: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        table = appends(Path(place), 3)
        path = commit(table, 3, batch(QUERY, 0, 3))
        if which == "checksum":
            path = checksum(table, 3, [txn(QUERY, 0)])
        elif which == "checkpoint":
            path = parquet(
                log_path(table, 2, "checkpoint.parquet"), [metadata(), txn(QUERY, 0), add("part-0.parquet")]
            )
        path.write_bytes(cut(path.read_bytes(), at, garbage))
        look(table)


@QUICK
@given(st.integers(0, 100_000), st.binary(min_size=1, max_size=4))
def test_any_bytes_overwritten_in_a_log_checkpoint(at: int, other: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        table = appends(Path(place), 3)
        path = parquet(
            log_path(table, 2, "checkpoint.parquet"), [metadata(), txn(QUERY, 0), add("part-0.parquet")]
        )
        data = bytearray(path.read_bytes())
        start = at % len(data)
        data[start : start + len(other)] = other
        path.write_bytes(bytes(data))
        look(table)


@QUICK
@given(
    st.lists(
        JSON | st.dictionaries(st.sampled_from(["path", "size", "action"]), JSON, max_size=3), max_size=3
    ),
    st.binary(max_size=20),
)
def test_any_lines_in_a_file_sink_log(lines: list[object], garbage: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "_spark_metadata"
        log.mkdir()
        (log / "0").write_text("v1\n" + "\n".join(json.dumps(line) for line in lines), encoding="utf-8")
        (log / "1").write_bytes(garbage)
        (log / "9.compact").write_text(
            "v1\n" + "\n".join(json.dumps(line) for line in lines), encoding="utf-8"
        )
        found = FileSinkLog.open(place)
        assert found.newest == 9
        for batch_row in found.batches().batches:
            assert batch_row.files is None or batch_row.files >= 0
        assert isinstance(found.unknown_files.files, tuple)
        assert all(isinstance(sentence, str) for sentence in found.problems)
