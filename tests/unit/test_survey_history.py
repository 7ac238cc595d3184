"""Rows of a survey that are kept: one table of many surveys, and never inside a checkpoint."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import fsspec
import pytest
from pyarrow import Table, dataset

from core.cli import main
from core.errors import UsageError
from core.settings import DEFAULTS
from core.storage import parse_location
from core.survey import search_root, survey_places
from core.survey.history import Keeping, keeping, kept_table, refuse_inside
from core.survey.tables import COLUMNS, survey_rows_of, survey_table
from tests.support.build import SAMPLES
from tests.support.spy import no_writes


@pytest.fixture
def team(tmp_path: Path) -> Path:
    for name in ("files-stopped-cleanly", "missing-delta-file"):
        shutil.copytree(SAMPLES / name / "checkpoint", tmp_path / "team" / name)
    (tmp_path / "team" / "gone" / "offsets").mkdir(parents=True)
    return tmp_path / "team"


@pytest.mark.parametrize("name", ["parquet", "csv", "json"])
def test_two_surveys_are_one_table(
    team: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "history" / "of-team"
    answers = []
    with no_writes(team):
        for _ in range(2):
            assert main(["survey", str(team), "--to", str(kept), "--format", name, "--json"]) == 1
            answers.append(json.loads(capsys.readouterr().out))
    assert [answer["kept"]["rows"] for answer in answers] == [3, 3] and answers[0]["engine"] == "local"
    assert len(list(kept.iterdir())) == 2
    table = dataset.dataset(kept, format=name).to_table()
    assert table.column_names == [*COLUMNS["survey"], "surveyed_at"]
    rows = table.to_pylist()
    for answer in answers:
        moment = answer["kept"]["surveyed_at_ms"]
        now = [row for row in rows if _ms(row["surveyed_at"]) == moment]
        assert {(row["path"], row["status"], row["next_batch"]) for row in now} == {
            (row["path"], row["status"], row["next_batch"]) for row in answer["rows"]
        }


def _ms(value: object) -> int:
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    assert isinstance(moment, datetime)
    # A reader of CSV or JSON drops that it is UTC.
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def test_the_text_says_where_the_rows_are(
    team: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["survey", str(team), "--to", str(tmp_path / "kept")]) == 1
    assert capsys.readouterr().out.endswith(f"3 rows appended to {tmp_path / 'kept'} (parquet).\n")


def test_a_table_gives_back_the_rows_it_was_made_of() -> None:
    rows = list(survey_places(search_root(str(SAMPLES), DEFAULTS).places, DEFAULTS))
    table = kept_table(Table.from_batches([survey_table(rows)]), 1_700_000_000_123, "parquet")
    without = [replace(row, read_batches=0) for row in rows]  # a table does not have it
    assert survey_rows_of(table.drop_columns(["surveyed_at"])) == without
    assert {value.as_py().timestamp() for value in table.column("surveyed_at")} == {1_700_000_000.123}


REFUSED = [
    (["--format", "csv"], "--format needs --to"),
    (["--to", "{tmp}/x", "--format", "delta"], "needs --engine spark, and a Spark that has Delta Lake"),
    (["--to", "s3://bucket/history"], "s3://bucket/history is no directory of this machine"),
    (["--to", "{tmp}/a-file"], "is a file; name a directory"),
    (["--to", "{tmp}/team/missing-delta-file"], "lies inside the checkpoint {tmp}/team/missing-delta-file"),
    (["--to", "{tmp}/team/missing-delta-file/new/deep"], "where nothing is ever written"),
    (["--to", "{tmp}/link/history"], "lies inside the checkpoint {tmp}/team/missing-delta-file"),
    (["--master", "local[2]"], "--master needs --engine spark"),
]


@pytest.mark.parametrize(("options", "sentence"), REFUSED)
def test_what_cannot_be_kept_is_refused_before_anything_is_read(
    team: Path, tmp_path: Path, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a-file").write_text("")
    (tmp_path / "link").symlink_to(team / "missing-delta-file")
    with no_writes(team):
        assert (
            main(["survey", str(team), *(option.replace("{tmp}", str(tmp_path)) for option in options)]) == 2
        )
    said = capsys.readouterr()
    assert said.out == "" and sentence.replace("{tmp}", str(tmp_path)) in said.err
    assert said.err.count("\n") == 1


def test_a_place_inside_a_checkpoint_that_only_the_search_knows_is_refused() -> None:
    keep = Keeping(parse_location("s3://bucket/team/orders/history"), "parquet")
    refuse_inside(keep, ["s3://bucket/team/order", "s3://bucket/team/orders-2"])
    with pytest.raises(UsageError, match="inside the checkpoint s3://bucket/team/orders"):
        refuse_inside(keep, ["s3://bucket/team/order", "s3://bucket/team/orders"])


def test_a_place_in_another_store_is_looked_at_from_here() -> None:
    store = fsspec.filesystem("memory")
    store.pipe("/lake/orders/offsets/0", b"v1")
    try:
        for inside in ("memory://lake/orders", "memory://lake/orders/new", "memory://lake/orders/new/deep"):
            with pytest.raises(UsageError, match="lies inside the checkpoint memory://lake/orders,"):
                keeping(inside, "parquet", DEFAULTS)
        assert keeping("memory://lake/history", "csv", DEFAULTS).location.url == "memory://lake/history"
    finally:
        store.rm("/lake", recursive=True)


def test_a_directory_that_cannot_be_written_is_one_sentence(
    team: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("core.survey.history.parquet.write_table", full)
    assert main(["survey", str(team), "--to", str(tmp_path / "kept")]) == 10
    assert "could not be written to" in (err := capsys.readouterr().err) and "No space left" in err
    assert list((tmp_path / "kept").iterdir()) == []
    assert keeping(str(tmp_path / "kept"), "csv", DEFAULTS).format == "csv"
