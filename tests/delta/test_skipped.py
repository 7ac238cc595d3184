"""A pending batch that the Delta table has already, of a query with state: Spark loads no state for it, and reads
none of its files; the batch behind it does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.analysis.forecast import Forecast, Query, forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.delta.log import DeltaLog
from core.storage import parse_location
from tests.support.damage import without
from tests.support.delta import DeltaEngine

pytestmark = pytest.mark.delta

RUN = """
frame = spark.readStream.format("json").schema("id long").option("maxFilesPerTrigger", 1).load(args["source"])
spark.conf.set("spark.sql.shuffle.partitions", "2")
writer = frame.dropDuplicates(["id"]).writeStream.format("delta").option("checkpointLocation", args["checkpoint"])
try:
    writer.option("path", args["sink"]).trigger(availableNow=True).start().awaitTermination()
    failed = None
except Exception as error:
    failed = str(error)
rows = spark.read.format("delta").load(args["sink"]).select("id").collect()
result = [failed, sorted(row[0] for row in rows)]
"""


@pytest.mark.parametrize(
    ("gone", "fails"),
    [
        ((), False),
        (("source/1.json",), False),
        (("checkpoint/state/0/0/1.delta",), True),
        (("checkpoint/state/0/0/2.delta",), True),
    ],
    ids=["nothing", "its_input", "the_state_that_it_would_load", "the_state_that_it_has_written"],
)
def test_what_a_batch_that_the_table_has_lacks_is_met_by_the_next_one(
    delta: DeltaEngine, tmp_path: Path, gone: Sequence[str], fails: bool
) -> None:
    for number in (0, 1):
        failed, rows = run(delta, tmp_path, number)
        assert failed is None and rows == list(range((number + 1) * 3))
    without("checkpoint/commits/1", *gone)(tmp_path)
    said = forecast_of(tmp_path)
    assert said.sink is not None and said.sink.pending == "skipped"
    failed, rows = run(delta, tmp_path, 2)
    assert (failed is not None) == fails and rows == list(range(6 if fails else 9))
    assert (tmp_path / "checkpoint/commits/1").exists()
    if fails:
        assert (said.outcome, said.batch_id, said.reason) == ("fail", 2, "STATE_NOT_RESTORABLE")
        assert said.error is not None and (said.error.condition or "?") in (failed or "")
    else:
        assert (said.outcome, said.batch_id, said.data.skip) == ("rerun", 1, "exact")


def run(delta: DeltaEngine, place: Path, number: int) -> tuple[str | None, list[int]]:
    """The query with one more input file."""
    source = place / "source"
    source.mkdir(exist_ok=True)
    rows = [json.dumps({"id": number * 3 + i}) for i in range(3)]
    (source / f"{number}.json").write_text("\n".join(rows), encoding="utf-8")
    paths = {name: str(place / name) for name in ("source", "checkpoint", "sink")}
    failed, held = delta.run(RUN, **paths)
    return failed, held


def forecast_of(place: Path) -> Forecast:
    ck = Checkpoint.open(str(place / "checkpoint"))
    sink = DeltaLog.open(parse_location(str(place / "sink")))
    return forecast(ck, query=Query(new_data="yes"), connectors=ConnectorAnswers(sink=sink))
