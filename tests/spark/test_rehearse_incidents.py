"""Rehearsals of damaged checkpoints against the real restart of the same damage: outcome, batch, error and rows
are the same. A run takes two of them; CHECKPOINT_EXPLORER_EVERY_CASE=1 takes thirty."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.cli import main
from tests.spark.cases import CASES, EVERY_CASE, Case
from tests.support.copies import copy_of
from tests.support.oracle import RECIPES, SCHEMA
from tests.support.rehearsed import single, tree
from tests.unit.test_documents import errors

if TYPE_CHECKING:
    from tests.support.oracle import Oracle

WINDOWS = single(
    "(df.withWatermark('t', '5 minutes').groupBy(F.window('t', '10 minutes'), 'k')"
    ".agg(F.count('*').alias('n'), F.sum('v').alias('s'))"
    ".select('k', F.col('window.start').cast('string').alias('w'), 'n', 's'))"
)
QUERIES = {
    "stateless": single("df"),
    "windows": WINDOWS,
    "windows_rocksdb": WINDOWS,
    "windows_changelog": WINDOWS,
    "windows_format_2": WINDOWS,
    "dedup": single("df.dropDuplicates(['id'])"),
}


def is_plain(case: Case) -> bool:
    """Whether nothing but the checkpoint differs from an undisturbed restart."""
    return case.base in QUERIES and not (
        case.build or case.session or case.hidden or case.edited or case.started_before or case.written_by
    )


PLAIN = [case for case in CASES if is_plain(case) and case.query.new_data == "yes"]
TRIED = PLAIN[:: len(PLAIN) // 30][:30] if os.environ.get(EVERY_CASE) else PLAIN[3 :: len(PLAIN) // 2][:2]


@pytest.mark.parametrize("case", TRIED, ids=lambda case: case.id)
def test_a_rehearsal_does_what_the_restart_does(
    oracle: Oracle,
    case: Case,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base = oracle.base_of(RECIPES[case.base])
    damaged = copy_of(base.checkpoint, tmp_path / "damaged")
    case.damage(damaged)
    fact = oracle.restart(base, copy_of(damaged, tmp_path / "restarted" / "ck"))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("CHECKPOINT_EXPLORER_SPARK_DIRECTORY", str(scratch))
    query = tmp_path / "query.py"
    query.write_text(QUERIES[case.base], encoding="utf-8")
    answers = {
        "source.0.format": "json",
        "source.0.path": str(base.root / "in"),
        "source.0.schema": SCHEMA,
        "source.0.option.maxFilesPerTrigger": "1",
        "output_mode": "append",
        "sink": "file",
        "sink_format": "json",
    }
    conf = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        **base.recipe.restart_conf,
    }
    asked = [part for name, value in answers.items() for part in ("--set", f"{name}={value}")]
    asked += [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    before = tree(damaged)
    main(["rehearse", str(damaged), "--query", str(query), "--batches", "50", *asked, "--json"])
    out, err = capsys.readouterr()
    assert tree(damaged) == before and not list(scratch.iterdir())
    assert out, (err, fact)
    answer = json.loads(out)
    assert not errors("rehearse", answer)
    told = (answer["outcome"], answer["batch_id"], answer["error"], answer["forecast"], fact)
    assert (answer["outcome"], answer["batch_id"]) == (fact.outcome, fact.first_batch), told
    assert (answer["error"] is None) == (fact.error is None), told
    if fact.error is not None and fact.error.condition is not None:
        assert fact.error.condition in answer["error"]["text"], told
    written = {batch["id"]: batch["output_rows"] for batch in answer["batches"] if batch["output_rows"]}
    if answer["error"] is not None and answer["error"]["output_rows"]:
        written[answer["error"]["batch"]] = answer["error"]["output_rows"]
    assert written == {number: len(rows) for number, rows in fact.delivered.items() if rows}, told
    assert answer["original_unchanged"]
