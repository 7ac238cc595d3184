"""Stores with column families (transformWithState, a join in one store) whose only zip is gone: every changelog is
there, and Spark cannot apply them to an empty store."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from core.checkpoint.rewind import rewind
from tests.spark.test_recovery_repair_files import FILES, JOIN_FORMAT, MORE, counter, joined, totals
from tests.support import damage
from tests.support.oracle import CHANGELOG, FORMAT_2
from tests.support.recovery import put_files
from tests.support.repairs import RepairPipeline

pytestmark = pytest.mark.spark

KEYED = {"sink": "merge", "mode": "update"}
KINDS = {
    "transformWithState": (counter, {**KEYED, "key": "k"}, CHANGELOG, True),
    "transformWithState, state format 2": (counter, {**KEYED, "key": "k"}, {**FORMAT_2, **CHANGELOG}, True),
    "join in one store": (joined, {"sink": "append"}, {**CHANGELOG, JOIN_FORMAT: "3"}, True),
    "totals, which have none": (totals, {**KEYED, "key": "key"}, CHANGELOG, False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_with_column_families_needs_a_zip(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    query, sink, confs, has_families = KINDS[kind]
    pipeline = RepairPipeline(spark, tmp_path / "p", query, confs=confs, **sink)  # type: ignore[arg-type]
    put_files(pipeline.source, range(FILES))
    pipeline.run()
    zips = sorted((pipeline.checkpoint / "state").rglob("1*.zip"))
    assert bool(zips) == has_families, "Spark writes one with the first version of such a store"
    for path in zips:
        damage.remove(path)
        Path(f"{path}.crc").unlink(missing_ok=True)
    ck = Checkpoint.open(str(pipeline.checkpoint))
    said = forecast(ck)
    put_files(pipeline.source, range(FILES, MORE))
    if not has_families:
        assert said.outcome == "resume"
        pipeline.run()
        return
    assert (said.outcome, said.reason) == ("fail", "STATE_NOT_RESTORABLE"), said.sentence
    assert "1" in str(said.evidence[0]) and rewind(ck).newest is None
    with pytest.raises(StreamingQueryException) as failed:
        pipeline.run()
    assert said.error is not None and said.error.message.strip() in str(failed.value)
    assert f"[{said.error.condition}]" in str(failed.value)
