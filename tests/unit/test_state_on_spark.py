"""The inventory compared with Spark's own readers, on samples and on damaged copies of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.restore_chain import restorable_versions
from core.checkpoint.state import committed_ids, state_inventory
from tests.support.build import SAMPLES, copy_sample, sample_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATEFUL = [name for name in sample_names() if (SAMPLES / name / "checkpoint" / "state").is_dir()]


@pytest.mark.parametrize("name", STATEFUL)
def test_operators_and_stores_are_those_of_sparks_state_metadata(spark: SparkSession, name: str) -> None:
    root = SAMPLES / name / "checkpoint"
    rows = spark.read.format("state-metadata").load(str(root)).collect()
    wanted = {(row.operatorId, row.operatorName, row.stateStoreName) for row in rows}
    state = state_inventory(Checkpoint.open(str(root)))
    assert {
        (operator.operator_id, operator.name, store)
        for operator in state.operators
        for store in operator.stores
    } == wanted


def loadable(spark: SparkSession, root: Path, batch_id: int) -> bool:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        spark.read.format("statestore").option("batchId", batch_id).load(str(root)).count()
    except (PySparkException, Py4JJavaError):
        return False
    return True


def delete_one_change(root: Path) -> None:
    """Deletes a delta or changelog of partition 0, from the middle of those whose version has no snapshot and
    no zip."""
    files = [
        file
        for file in state_inventory(Checkpoint.open(str(root))).operators[0].partitions[0].files
        if file.version is not None
    ]
    full = {file.version for file in files if file.kind in ("snapshot", "zip")}
    changes = sorted(
        (file for file in files if file.kind in ("delta", "changelog") and file.version not in full),
        key=lambda f: f.version,
    )
    path = root / changes[len(changes) // 2].path
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


@pytest.mark.parametrize(
    "name",
    ["missing-delta-file", "purged-to-newest-10", "state-format-2", "windowed-aggregation-hot-partition"],
)
def test_spark_loads_exactly_the_versions_that_are_called_restorable(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    root = copy_sample(name, tmp_path)
    delete_one_change(root)
    ck = Checkpoint.open(str(root))
    (operator,) = state_inventory(ck).operators
    spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", operator.format_version)
    found = set(restorable_versions(operator, committed_ids(ck)))
    wanted = {batch for batch in ck.commit_ids if batch + 1 in found}
    assert len(wanted) < len(ck.commit_ids)
    assert {batch for batch in ck.commit_ids if loadable(spark, root, batch)} == wanted
