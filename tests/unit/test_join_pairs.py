"""The two stores of a side of a join, against each other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.state import committed_ids, state_inventory
from core.checkpoint.state_content.inspection import inspect_stores
from core.checkpoint.state_content.join_pairs import UnequalPair, unequal_pairs
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


def test_a_damaged_store_is_not_compared(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "ck")
    put_back(tmp_path / "ck", "left-keyToNumValues")
    damaged = tmp_path / "ck" / "state" / "0" / "0" / "left-keyToNumValues" / "3.delta"
    damaged.write_bytes(damaged.read_bytes()[:30])
    assert pairs(tmp_path / "ck") == []
