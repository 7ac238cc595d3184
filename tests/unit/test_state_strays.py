"""State files in a place where the operator has no store."""

from __future__ import annotations

from pathlib import Path

from core.checkpoint import Checkpoint
from core.checkpoint.state import state_inventory
from tests.support.build import write
from tests.support.forecasting import files_checkpoint, said, stateful_conf

STORES = (
    "left-keyToNumValues",
    "left-keyWithIndexToValue",
    "right-keyToNumValues",
    "right-keyWithIndexToValue",
)


def join(root: Path) -> Path:
    """A join of two partitions, four stores, without operator metadata."""
    files_checkpoint(root, conf=stateful_conf())
    return write(
        root,
        {
            f"state/0/{partition}/{store}/{version}.delta": b"x" * 64
            for partition in range(2)
            for store in STORES
            for version in range(1, 6)
        },
    )


def test_a_file_beside_the_stores_of_a_join_is_a_leftover(tmp_path: Path) -> None:
    write(join(tmp_path), {"state/0/0/9.zip": "x"})
    assert said(tmp_path).outcome == "resume"
    inventory = state_inventory(Checkpoint.open(str(tmp_path)))
    assert inventory.operators[0].stores == STORES and inventory.operators[0].provider == "hdfs"
    assert [(item.path, item.kind) for item in inventory.leftovers] == [("state/0/0/9.zip", "foreign")]


def test_a_store_of_a_join_that_lost_a_partition_is_missed(tmp_path: Path) -> None:
    root = join(tmp_path)
    for version in range(1, 6):
        (root / "state" / "0" / "1" / STORES[0] / f"{version}.delta").unlink()
    assert said(tmp_path).reason == "STATE_NOT_RESTORABLE"
