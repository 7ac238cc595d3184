"""``survey --engine spark`` gives the rows of the local survey; what fails costs one row, never the others."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import Table, dataset

from core.cli import main
from core.settings import DEFAULTS
from core.spark.executors import Work, spread
from core.spark.package import NEEDED, code_zip
from core.storage import parse_location
from core.survey import each_once, search_root, survey_places
from core.survey.history import Keeping, append_here, kept_table
from core.survey.tables import survey_table
from tests.support.build import SAMPLES, corpus_names, unpack_corpus
from tests.support.spy import fingerprint, no_writes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What differs from one survey to the next: the moment, and what was still in the cache of a process.
OF_A_MOMENT = ("read_at_ms", "age_seconds", "read", "seconds")


def surveyed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main(["survey", *arguments, "--json"])
    answer = json.loads(capsys.readouterr().out)
    for row in answer["rows"]:
        for name in OF_A_MOMENT:
            del row[name]
    return status, answer


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Every sample and every corpus entry."""
    place = tmp_path / "fleet"
    for sample in SAMPLES.glob("*/checkpoint"):
        shutil.copytree(sample, place / "samples" / sample.parent.name)
    for name in corpus_names():
        unpack_corpus(name, place / "corpus")
    return place


@pytest.mark.spark
@pytest.mark.own_spark
def test_the_rows_are_those_of_the_local_engine(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = tmp_path / "engine"
    engine.mkdir()
    monkeypatch.setenv("CHECKPOINT_EXPLORER_SPARK_DIRECTORY", str(engine))
    monkeypatch.chdir(fleet)
    roots, kept = (".", "samples/union-of-two-sources", str(tmp_path / "nothing")), str(tmp_path / "kept")
    with no_writes(fleet):
        status, local = surveyed(capsys, *roots, "--to", kept)
    before = fingerprint(fleet)
    again, spark = surveyed(capsys, *roots, "--to", kept, "--engine", "spark")
    assert fingerprint(fleet) == before
    assert (status, again) == (1, 1) and len(local["rows"]) > 35
    assert spark["rows"] == local["rows"] and spark["roots"] == local["roots"]
    assert (local["engine"], spark["engine"]) == ("local", "spark")
    assert list(engine.iterdir()) == []
    rows = dataset.dataset(kept, format="parquet").to_table().to_pylist()
    surveys = [
        sorted(
            (
                {name: row[name] for name in row.keys() - OF_A_MOMENT_IN_TABLES}
                for row in rows
                if row["surveyed_at"] == at
            ),
            key=lambda row: str(row["location"]),
        )
        for at in sorted({row["surveyed_at"] for row in rows})
    ]
    assert len(surveys) == 2 and surveys[0] == surveys[1] and len(surveys[0]) == len(local["rows"])


OF_A_MOMENT_IN_TABLES = {"surveyed_at", "read_at", "age_seconds", "read", "seconds"}


class _Deadly(Work):
    """Reading this one kills the Python worker, as a crash in native code would."""

    def batches(self, places: Sequence[Any]) -> Iterator[Any]:
        if any(place.path.startswith("missing-delta-file") for place in places):
            os._exit(9)
        yield from super().batches(places)


def test_a_checkpoint_that_kills_the_worker_is_a_row_and_the_others_are_read(spark: SparkSession) -> None:
    from pyspark import cloudpickle

    from core.spark import survey_job

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    spark.addArtifacts(str(code_zip()), pyfile=True)
    names = ("files-stopped-cleanly", "missing-delta-file", "named-sources")
    places = [
        place for place in each_once([search_root(str(SAMPLES), DEFAULTS)]) if place.path.startswith(names)
    ]
    named = {(str(SAMPLES), place.root, place.path): place.location.url for place in places}
    work = _Deadly(pickle.dumps(DEFAULTS), NEEDED, level="quick")
    try:
        table = survey_job.read_all(
            lambda groups: survey_job.read_groups(spark, work, groups), spread(list(named)), named
        )
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    rows = {row["path"]: row for row in table.to_pylist()}
    assert set(rows) == {place.path for place in places} and len(table) == len(places)
    dead = rows.pop("missing-delta-file/checkpoint")
    assert dead["status"] == "unreadable" and "its task failed" in dead["error"] and dead["root"] == "samples"
    assert "\n" not in dead["error"]
    assert not [row for row in rows.values() if row["error"]]


def test_csv_and_json_are_those_of_the_local_engine_and_delta_says_what_is_missing(
    spark: SparkSession, tmp_path: Path
) -> None:
    from core.spark import survey_job

    rows = list(survey_places(each_once([search_root(str(SAMPLES), DEFAULTS)]), DEFAULTS))
    table = Table.from_batches([survey_table(rows)])
    for name in ("csv", "json"):
        place = parse_location(str(tmp_path / name))
        for moment in (1_700_000_000_123, 1_700_000_060_000):
            survey_job.append(spark, table, Keeping(place, name), moment)  # type: ignore[arg-type]
        found = dataset.dataset(tmp_path / name, format=name).to_table()
        assert found.num_rows == 2 * len(rows)
        ours = tmp_path / f"ours-{name}"
        append_here(kept_table(table, 1_700_000_000_123, name), Keeping(parse_location(str(ours)), name), 0)  # type: ignore[arg-type]
        assert sorted(map(str, found.column("sentence").to_pylist()[: len(rows)])) == sorted(
            str(row.sentence) for row in rows
        )
        mine = dataset.dataset(ours, format=name).to_table()
        assert set(mine.column_names) >= set(found.column_names)
    keep = {"url": "/data/kept", "protocol": "file", "place": "file:///data/kept", "format": "delta"}
    with pytest.raises(survey_job.NoDeltaError, match="This Spark has no Delta Lake"):
        survey_job.keeping_of(spark, keep)
