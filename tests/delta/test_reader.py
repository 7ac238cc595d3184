"""The light reader against delta-rs, on tables that real Delta wrote with every form of log checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from core.connectors.delta.log import DeltaLog
from tests.support.delta import DeltaEngine
from tests.support.delta_proof import TOOLS, Case, held

pytestmark = pytest.mark.delta
Make = Callable[..., Case]

FORMS = {
    "none": "",
    "classic": "mark(args['sink'])\n",
    "multi-part": "mark(args['sink'], part_size=2)\n",
    "v2 parquet": "as_v2(args['sink'])\nmark(args['sink'], top_level='parquet')\n",
    "v2 json": "as_v2(args['sink'])\nmark(args['sink'], top_level='json')\n",
}
MORE = """
session.range(100, 110).write.format("delta").mode("append").option("txnAppId", "loader").option("txnVersion", 7).save(args["sink"])
session.sql(f"DELETE FROM delta.`{args['sink']}` WHERE id < 5")
"""


@pytest.mark.parametrize(("form", "with_checksums"), [("none", True), *((form, False) for form in FORMS)])
def test_versions_transactions_metadata_and_files_agree_with_delta_rs(
    case: Make, form: str, with_checksums: bool
) -> None:
    made = case()
    made.script(FORMS[form] + MORE)
    log_directory = made.sink / "_delta_log"
    if form != "none":  # only what the log checkpoint and the commits after it hold
        names = [
            path.name
            for path in log_directory.iterdir()
            if "checkpoint." in path.name and not path.name.startswith(".")
        ]
        assert len(names) == {"multi-part": 3}.get(form, 1) and names[0].endswith(
            "json" if form == "v2 json" else "parquet"
        ), names
        made.clean(before=int(names[0][:20]), table="sink")
    if not with_checksums:
        made.drop_checksums()
    mine, other = DeltaLog.open(str(made.sink)), DeltaTable(str(made.sink))
    query_id = json.loads((made.checkpoint / "metadata").read_text(encoding="utf-8"))["id"]
    assert mine.newest == other.version() and mine.table_id == str(other.metadata().id)
    assert dict(mine.configuration or {}) == other.metadata().configuration
    assert {app: found.version for app, found in mine.transactions.items()} == {query_id: 4, "loader": 7}
    assert [other.transaction_version(app) for app in (query_id, "loader", "nobody")] == [4, 7, None]
    assert mine.transactions_known and mine.problems == ()
    files = sorted(Path(uri).name for uri in other.file_uris())
    snapshot = mine.snapshot_files(mine.newest)
    if form.startswith("v2"):  # the files stand in sidecars
        assert snapshot is None
    else:
        assert snapshot is not None and sorted(file.name for file in snapshot) == files
    if with_checksums or snapshot is not None:
        assert (mine.rows_now().files, mine.rows_now().rows) == (len(files), len(held(made.sink)))
    else:
        assert mine.rows_now().rows is None and mine.rows_now().words


def test_the_history_agrees_with_delta_rs(case: Make) -> None:
    made = case()
    made.script(MORE)
    mine = {c.version: (c.operation, c.timestamp_ms) for c in DeltaLog.open(str(made.sink)).commits().commits}
    other = DeltaTable(str(made.sink)).history()
    assert {entry["version"]: (entry["operation"], entry["timestamp"]) for entry in other} == mine


def test_what_the_versions_added_is_what_spark_counts(delta: DeltaEngine, case: Make) -> None:
    made = case("inside")
    log = DeltaLog.open(str(made.source))
    counted = delta.run(
        TOOLS
        + "result = [session.read.format('delta').option('versionAsOf', v).load(args['source']).count() for v"
        " in range(4)]",
        **made.places(),
    )
    assert [log.rows_between(0, v).rows for v in range(4)] == counted == [10, 20, 40, 50]
