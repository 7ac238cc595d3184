"""A rehearsal with a Delta table as source and sink, on the Spark that has Delta: what the table has already is
skipped, and the real table is not touched."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from core.cli import main
from tests.spark.cases import EVERY_CASE, LONG
from tests.support.delta import PYTHON, TABLE_TO_TABLE, DeltaEngine, delta_jars
from tests.support.rehearsed import tree
from tests.unit.test_documents import errors


@LONG
def test_delta_to_delta_skips_the_batch_that_the_table_has(
    delta: DeltaEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {name: str(tmp_path / name) for name in ("source", "out", "checkpoint")}
    delta.run(TABLE_TO_TABLE, **places)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("CHECKPOINT_EXPLORER_SPARK_DIRECTORY", str(scratch))
    commits = tmp_path / "checkpoint/commits"
    newest = max(int(path.name) for path in commits.glob("[0-9]*"))
    for name in (str(newest), f".{newest}.crc"):
        (commits / name).unlink()
    query = tmp_path / "query.py"
    query.write_text("def transform(df):\n    return df.where('id >= 0')\n", encoding="utf-8")
    before = {name: tree(Path(place)) for name, place in places.items()}
    asked = ["rehearse", places["checkpoint"], "--query", str(query), "--python", str(PYTHON)]
    asked += ["--set", f"source.0.path={places['source']}", "--sink", places["out"], "--json"]
    if os.environ.get(EVERY_CASE):
        assert main(asked) == 2
        assert "has no connector for delta" in capsys.readouterr().err
    for conf in (
        f"spark.jars={','.join(map(str, delta_jars()))}",
        "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions=1",
        "spark.sql.shuffle.partitions=2",
    ):
        asked += ["--conf", conf]
    status = main(asked)
    out, err = capsys.readouterr()
    assert out, err
    answer = json.loads(out)
    assert not errors("rehearse", answer)
    assert (status, answer["outcome"], answer["batch_id"]) == (0, "rerun", newest), answer
    assert [(b["id"], b["output_rows"]) for b in answer["batches"]] == [(newest, 0), (newest + 1, 10)]
    assert answer["sink"]["written_as"] == "delta" and answer["spark"].startswith("4.2")
    assert answer["original_unchanged"] and not list(scratch.iterdir())
    assert {name: tree(Path(place)) for name, place in places.items()} == before
