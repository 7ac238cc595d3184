"""The two stores of a side of a join, against each other."""

from __future__ import annotations

import base64
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from core.analysis.forecast import Query
from core.checkpoint import Checkpoint
from core.checkpoint.state import committed_ids, state_inventory
from core.checkpoint.state_content.inspection import inspect_stores
from core.checkpoint.state_content.join_pairs import UnequalPair, unequal_pairs
from core.checkpoint.state_content.simple_values import Json
from core.checkpoint.state_content.unsafe_row import accounted_bytes, write_row
from core.judgement import judge
from tests.support.build import SAMPLES

SAMPLE = SAMPLES / "join-watermark-held-back" / "checkpoint"
NEWEST = 10


def pairs(root: Path) -> list[UnequalPair]:
    ck = Checkpoint.open(str(root))
    looked = inspect_stores(
        ck.door, state_inventory(ck).operators, ck.next_batch.batch_id, committed_ids(ck), hidden={}
    )
    return unequal_pairs(looked.stores)


def put_back(root: Path, store: str) -> None:
    """The newest version of a store in partition 0 is the first one again: an older file in its place."""
    directory = root / "state" / "0" / "0" / store
    for version in range(2, NEWEST + 1):
        shutil.copy(directory / "1.delta", directory / f"{version}.delta")


def test_a_healthy_join_has_equal_pairs() -> None:
    assert pairs(SAMPLE) == []


@pytest.mark.parametrize("side", ["left", "right"])
def test_rows_that_are_named_and_not_there_show(side: str, tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "ck")
    put_back(tmp_path / "ck", f"{side}-keyWithIndexToValue")
    (pair,) = pairs(tmp_path / "ck")
    assert pair.is_exact and pair.named > pair.rows
    assert pair.counting.store.partition.store == f"{side}-keyToNumValues"


def test_rows_that_nothing_names_show(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "ck")
    put_back(tmp_path / "ck", "left-keyToNumValues")
    (pair,) = pairs(tmp_path / "ck")
    assert pair.is_exact and pair.named < pair.rows


@pytest.mark.parametrize(
    ("store", "severity"), [("keyWithIndexToValue", "blocks_restart"), ("keyToNumValues", "data_risk")]
)
def test_the_deep_check_and_the_deep_forecast_say_so(store: str, severity: str, tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "ck")
    put_back(tmp_path / "ck", f"left-{store}")
    judgement = judge(Checkpoint.open(str(tmp_path / "ck")), level="deep")
    found = {item.id: item for item in judgement.findings.findings}
    assert (found["JOIN_STATE_INCONSISTENT"].severity, found["JOIN_STATE_INCONSISTENT"].certainty) == (
        severity,
        "inferred",
    )
    answer = judgement.forecast
    assert answer.outcome == ("fail" if severity == "blocks_restart" else "resume")
    if severity == "blocks_restart":
        assert answer.error is not None
        assert answer.error.condition == "STREAM_STREAM_JOIN_INCONSISTENT_STATE.NULL_VALUE"
    else:
        assert answer.data.append == "loss" and not answer.data.is_sure("append")


def test_without_a_watermark_it_fails_only_where_a_new_row_has_such_a_key(tmp_path: Path) -> None:
    """Spark 4.3 ran two batches more, with exact rows, where "blocks the restart" stood."""
    root = shutil.copytree(SAMPLE, tmp_path / "ck")
    put_back(root, "left-keyWithIndexToValue")
    for path in sorted((root / "offsets").glob("[0-9]*")):
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        path.write_text(re.sub(r'"batchWatermarkMs":\d+', '"batchWatermarkMs":0', path.read_text()))
    judgement = judge(Checkpoint.open(str(root)), level="deep")
    (finding,) = [item for item in judgement.findings.findings if item.id == "JOIN_STATE_INCONSISTENT"]
    assert (finding.severity, finding.certainty) == ("data_risk", "inferred")
    assert "when a new row has such a key; until then it runs" in finding.sentence
    assert judgement.forecast.outcome == "resume" and judgement.forecast.data.append != "exact"


def test_a_damaged_store_is_not_compared(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "ck")
    put_back(tmp_path / "ck", "left-keyToNumValues")
    damaged = tmp_path / "ck" / "state" / "0" / "0" / "left-keyToNumValues" / "3.delta"
    damaged.write_bytes(damaged.read_bytes()[:30])
    assert pairs(tmp_path / "ck") == []


def changed_places(root: Path, partition_id: int) -> None:
    """The two stores of the left side of one partition."""
    first, second = (
        root / f"state/0/{partition_id}" / f"left-{name}"
        for name in ("keyToNumValues", "keyWithIndexToValue")
    )
    aside = first.with_name("aside")
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


def test_stores_of_a_side_that_changed_places_stop_the_next_batch(tmp_path: Path) -> None:
    root = shutil.copytree(SAMPLE, tmp_path / "ck")
    changed_places(root, 0)
    answer = judge(Checkpoint.open(str(root)), query=Query(new_data="yes")).forecast
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "batch", "JOIN_STATE_INCONSISTENT")
    assert answer.error is not None and answer.error.condition == "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"
    assert str(answer.evidence[0]).startswith("state/0/0/left-")


def test_in_a_partition_without_schemas_the_keys_show_it(tmp_path: Path) -> None:
    root = shutil.copytree(SAMPLE, tmp_path / "ck")
    changed_places(root, 1)
    found = judge(Checkpoint.open(str(root)), query=Query(new_data="yes"), level="deep")
    answer = found.forecast
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "batch", "JOIN_STATE_INCONSISTENT")
    assert answer.error is not None and answer.error.condition is not None
    assert answer.error.condition.endswith("KEY_ROW_FORMAT_VALIDATION_FAILURE")
    assert [str(item) for item in answer.evidence] == [
        "state/0/1/left-keyToNumValues",
        "state/0/1/left-keyWithIndexToValue",
    ]


KEYS = [
    {"a": "long"},
    {"a": "string", "b": "integer"},
    {"a": "decimal(30,2)", "b": "string"},
    {
        "a": {
            "type": "struct",
            "fields": [{"name": "start", "type": "timestamp"}, {"name": "x", "type": "string"}],
        }
    },
]
VALUES: dict[str, Json] = {"long": 7, "integer": -1, "string": "nine bytes"}


@pytest.mark.parametrize("columns", KEYS, ids=["long", "text", "wide decimal", "struct"])
def test_a_row_accounts_for_its_bytes_and_for_one_column_more_it_does_not(columns: dict[str, Any]) -> None:
    schema = {"fields": [{"name": name, "type": kind} for name, kind in columns.items()]}
    wider = {"fields": [*schema["fields"], {"name": "index", "type": "long"}]}
    if "decimal(30,2)" in columns.values():  # two words are kept for it
        row = bytearray(
            write_row({"fields": [{"name": "a", "type": "binary"}, schema["fields"][1]]}, DECIMAL)
        )
    else:
        row = bytearray(write_row(schema, {name: _value(kind) for name, kind in columns.items()}))
    assert accounted_bytes(schema, bytes(row)) == len(row)
    assert accounted_bytes(wider, bytes(row)) != len(row)


DECIMAL: dict[str, Json] = {"a": base64.b64encode(bytes(16)).decode(), "b": "text"}


def _value(kind: Any) -> Json:
    return {"start": "2026-01-31T12:00:00.000Z", "x": "text"} if isinstance(kind, dict) else VALUES[kind]
