"""What the log of a real file sink makes of the next batch. One that compacts a log of which a file is missing
or damaged: the forecast names the batch and the error before Spark shows it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.analysis.findings import findings
from core.analysis.forecast import Query, forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.file_sink_log import FileSinkLog
from core.recovery import Answers, read_recovery_context
from core.storage import parse_location
from tests.support import damage as d

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMPACTS = 9
"""The default interval is 10."""
NEW = Query(new_data="yes")
CUT = 'v1\n{"path":"file:///data/out/part-0'
HARMS: dict[str, tuple[d.Damage, str | None]] = {
    "missing": (d.without("_spark_metadata/3"), "SINK_LOG_HOLE"),
    "first missing": (d.without("_spark_metadata/0"), "SINK_LOG_HOLE"),
    "newest missing": (d.without("_spark_metadata/8"), "SINK_LOG_HOLE"),
    "newest two missing": (d.without("_spark_metadata/7", "_spark_metadata/8"), "SINK_LOG_HOLE"),
    "empty": (d.holding("_spark_metadata/3", ""), "SINK_LOG_DAMAGED"),
    "cut": (d.holding("_spark_metadata/3", CUT), "SINK_LOG_DAMAGED"),
    "no text": (d.holding("_spark_metadata/3", b"\xff\xfe\x00\x9c" * 20), "SINK_LOG_DAMAGED"),
    "newer version": (d.holding("_spark_metadata/3", "v9\n"), "SINK_LOG_DAMAGED"),
    "no path": (d.holding("_spark_metadata/3", 'v1\n{"size":1}'), "SINK_LOG_DAMAGED"),
    "names nothing": (d.holding("_spark_metadata/3", "v1"), None),
}


class Written:
    """A query with a file sink that wrote all batches before the one that compacts."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root = spark, root
        self.feed(0, COMPACTS)
        self.run(root / "first")

    def feed(self, start: int, end: int) -> None:
        """One file for each batch."""
        (self.root / "in").mkdir(parents=True, exist_ok=True)
        for number in range(start, end):
            path = self.root / "in" / f"{number:03}.json"
            path.write_text(json.dumps({"k": number}) + "\n", encoding="utf-8")
            os.utime(path, (1_700_000_000 + number,) * 2)

    def run(self, place: Path, output: Path | None = None) -> None:
        """Until all files are read."""
        stream = self.spark.readStream.schema("k int").option("maxFilesPerTrigger", 1)
        query = (
            stream.json(str(self.root / "in"))
            .writeStream.format("json")
            .option("checkpointLocation", str(place / "ck"))
            .option("path", str(output or place / "out"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()


@pytest.fixture(scope="module")
def written(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Written:
    made = Written(spark_session, tmp_path_factory.mktemp("compaction"))
    made.feed(COMPACTS, COMPACTS + 1)
    return made


@pytest.mark.spark
@pytest.mark.parametrize("harm", HARMS)
def test_the_batch_that_compacts_a_broken_log_fails_as_forecast(
    harm: str, written: Written, tmp_path: Path
) -> None:
    damage, reason = HARMS[harm]
    shutil.copytree(written.root / "first", tmp_path / "p")
    damage(tmp_path / "p" / "out")
    connectors = ConnectorAnswers(sink=FileSinkLog.open(parse_location(str(tmp_path / "p" / "out"))))
    ck = Checkpoint.open(str(tmp_path / "p" / "ck"))
    said = forecast(ck, query=NEW, connectors=connectors)
    if reason is None:
        written.run(tmp_path / "p")
        assert said.outcome == "resume"
        assert (tmp_path / "p/out/_spark_metadata/9.compact").exists()
        return
    assert (said.outcome, said.batch_id, said.reason) == ("fail", COMPACTS, reason), said.sentence
    assert [each.severity for each in findings(ck, connectors=connectors).findings if each.id == reason] == [
        "blocks_restart"
    ]
    with pytest.raises(Exception) as failure:
        written.run(tmp_path / "p")
    text = str(failure.value).replace("file:/", "/")
    assert said.error is not None and said.error.message in text, text[:600]
    assert said.error.condition is None or f"[{said.error.condition}]" in text
    assert not (tmp_path / "p" / "ck" / "commits" / str(COMPACTS)).exists()


@pytest.mark.spark
def test_an_output_behind_the_checkpoint_stops_a_later_compaction(
    spark_session: SparkSession, tmp_path: Path
) -> None:
    """The entry of batch 6 is gone: batch 7 is written, no reader gets over the hole, and batch 9 fails."""
    made = Written(spark_session, tmp_path)
    place = tmp_path / "first"
    for log in ("offsets", "commits"):
        for number in (7, 8):
            d.remove(place / "ck" / log / str(number))
    for number in (6, 7, 8):
        d.remove(place / "out/_spark_metadata" / str(number))
    ck = Checkpoint.open(str(place / "ck"))
    sink = FileSinkLog.open(parse_location(str(place / "out")))
    said = forecast(ck, query=NEW, connectors=ConnectorAnswers(sink=sink))
    assert said.outcome == "resume"
    risk = said.risk("SINK_BEHIND")
    assert risk is not None and "so does batch 9, which compacts the log" in risk.sentence
    made.run(place)  # batch 7 takes all files that are there
    made.feed(COMPACTS, COMPACTS + 2)
    with pytest.raises(Exception, match="_spark_metadata/6"):
        made.run(place)
    assert not (place / "ck/commits/9").exists() and (place / "ck/commits/7").exists()
    with pytest.raises(Exception, match="_spark_metadata/6"):
        spark_session.read.json(str(place / "out")).count()


def _planned_and_written(place: Path) -> None:
    """The newest batch is in the output and has no commit."""
    d.remove(place / "ck/commits/8")


def _dated_a_day_before(place: Path) -> None:
    _planned_and_written(place)
    for path in (place / "out/_spark_metadata").iterdir():
        os.utime(path, (path.stat().st_mtime - 86_400,) * 2)


def _without_its_data(place: Path) -> None:
    _planned_and_written(place)
    entry = (place / "out/_spark_metadata/8").read_text(encoding="utf-8").splitlines()[1]
    (place / "out" / json.loads(entry)["path"].rpartition("/")[2]).unlink()


@pytest.mark.spark
@pytest.mark.parametrize(
    ("harm", "risk", "words"),
    [
        (_planned_and_written, None, "No loss, no repeat"),
        (_dated_a_day_before, "SINK_AHEAD", "written before this checkpoint planned its own"),
        (_without_its_data, "SINK_BEHIND", "1 data file of it is gone"),
    ],
)
def test_a_planned_batch_that_the_log_has_is_only_safe_with_its_own_files(
    spark_session: SparkSession, tmp_path: Path, harm: Callable[[Path], None], risk: str | None, words: str
) -> None:
    """Spark compares the number alone: it skips the batch without a word, whatever the entry is worth."""
    made = Written(spark_session, tmp_path)
    place = tmp_path / "first"
    harm(place)
    ck = Checkpoint.open(str(place / "ck"))
    connectors = ConnectorAnswers(sink=FileSinkLog.open(parse_location(str(place / "out"))))
    said = forecast(ck, query=NEW, connectors=connectors)
    assert (risk is None or said.risk(risk) is not None) and words in said.sentence, said.sentence
    context = read_recovery_context(ck, Answers({"sink": "file"}), connectors, said)
    assert (context.sink_trouble == "") == (risk is None)
    before = (place / "out/_spark_metadata/8").read_bytes()
    made.run(place)
    assert (place / "ck/commits/8").exists()
    assert (place / "out/_spark_metadata/8").read_bytes() == before


@pytest.mark.spark
def test_an_output_that_was_moved_hides_the_rows_written_before(
    spark_session: SparkSession, tmp_path: Path
) -> None:
    made = Written(spark_session, tmp_path)
    place, output = tmp_path / "first", tmp_path / "first/out"

    def said(output: Path) -> list[str]:
        ck = Checkpoint.open(str(place / "ck"))
        connectors = ConnectorAnswers(sink=FileSinkLog.open(parse_location(str(output))))
        found = findings(ck, connectors=connectors).findings
        return [each.sentence for each in found if each.id == "SINK_FILES_GONE"]

    assert said(output) == []
    moved = tmp_path / "moved"
    output.rename(moved)
    (sentence,) = said(moved)
    assert f"names data files in file://{output}, not in {moved}" in sentence
    made.feed(COMPACTS, COMPACTS + 1)
    made.run(place, moved)
    assert [row.k for row in spark_session.read.json(str(moved)).collect()] == [COMPACTS]
    output.symlink_to(moved)  # one place by two names
    assert said(moved) == []
