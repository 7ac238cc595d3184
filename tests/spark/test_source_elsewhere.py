"""A file source that is to read another place than before: the query is started there, and the forecast that
was told the place has to be right."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tests.support.forecasting import said_of

pytestmark = pytest.mark.spark


def feed(folder: Path, name: str, first: int) -> None:
    """Three rows, a minute apart."""
    folder.mkdir(exist_ok=True)
    rows = [{"id": first + i, "at": f"2026-01-01 10:{first + i:02d}:00"} for i in range(3)]
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(
        folder / name, (1_767_200_000 + first, 1_767_200_000 + first)
    )  # the order in which they are read


def run(spark: SparkSession, base: Path, place: str, kind: str, fail_at: int | None = None) -> list[Any]:
    """Runs the query until everything is read; gives what it handed to its sink."""
    handed: list[Any] = []

    def write_batch(frame: DataFrame, batch_id: int) -> None:
        handed.extend(tuple(row)[-1] for row in frame.collect())
        if batch_id == fail_at:
            raise RuntimeError("the sink is away")

    frame: DataFrame = (
        spark.readStream.schema("at timestamp, id long").option("maxFilesPerTrigger", 1).json(place)
    )
    if kind == "windows":
        frame = frame.withWatermark("at", "1 minute").groupBy(F.window("at", "5 minutes")).count()
    writer = frame.writeStream.option("checkpointLocation", str(base / "ck")).foreachBatch(write_batch)
    writer.trigger(availableNow=True).start().awaitTermination()
    return handed


def moved(base: Path, name: str) -> str:
    shutil.move(base / "in", base / name)
    return str(base / name)


def copied(base: Path, name: str) -> str:
    shutil.copytree(base / "in", base / name)
    return str(base / name)


def kept(base: Path, name: str) -> str:
    return str(base / name)


CASES = {
    "moved": (moved, "beside", "fail"),
    "copied": (copied, "beside", "fail"),
    "copied into a directory whose name begins the same": (copied, "in2", "fail"),
    "glob above": (kept, "i*", "goes on"),
    "glob of files": (kept, "in/f*.json", "goes on"),
    "with a slash": (kept, "in/", "goes on"),
}


@pytest.mark.parametrize("is_pending", [False, True], ids=["committed", "pending"])
@pytest.mark.parametrize("case", CASES)
def test_where_the_files_of_the_newest_batch_are_asked_for_again(
    spark: SparkSession, tmp_path: Path, case: str, is_pending: bool
) -> None:
    change, name, outcome = CASES[case]
    for number in range(3):
        feed(tmp_path / "in", f"f{number}.json", 10 * number)
    if is_pending:
        with pytest.raises(StreamingQueryException, match="the sink is away"):
            run(spark, tmp_path, str(tmp_path / "in"), "stateless", fail_at=2)
    else:
        run(spark, tmp_path, str(tmp_path / "in"), "stateless")
    place = change(tmp_path, name)
    answer = said_of(tmp_path / "ck", place)
    if outcome == "fail":
        assert (answer.outcome, answer.reason) == ("fail", "SOURCE_PATH_MOVED")
        with pytest.raises(StreamingQueryException, match="Wrong basePath"):
            run(spark, tmp_path, place, "stateless")
        return
    assert answer.outcome == ("rerun" if is_pending else "resume")
    assert sorted(run(spark, tmp_path, place, "stateless")) == ([20, 21, 22] if is_pending else [])


def test_where_none_is_asked_for_again_copied_files_are_read_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The newest batch only closed windows: it has no file."""
    for number in range(3):
        feed(tmp_path / "in", f"f{number}.json", 10 * number)
    run(spark, tmp_path, str(tmp_path / "in"), "windows")
    assert said_of(tmp_path / "ck", str(tmp_path / "in")).risks == ()
    place = copied(tmp_path, "beside")
    answer = said_of(tmp_path / "ck", place)
    assert answer.outcome == "resume" and [risk.id for risk in answer.risks] == ["SOURCE_FILES_ELSEWHERE"]
    feed(tmp_path / "beside", "f3.json", 40)
    counts = run(spark, tmp_path, place, "windows")
    assert counts == [6]  # three rows of the window that was open, each of them twice
