"""State that somebody deleted and that no file shows: the directory of the operator with the highest number, and
the whole of ``state/`` of a query without a watermark. On a local disk the time of the directory above shows it.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.analysis.findings import findings
from core.analysis.forecast import Query, forecast
from core.checkpoint import Checkpoint
from core.recovery import Answers, options, read_recovery_context
from tests.support import damage as d

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NEW = Query(new_data="yes")


def plain(df: DataFrame) -> DataFrame:
    return df


def distinct(df: DataFrame) -> DataFrame:
    return df.dropDuplicates(["k"])


def chain(df: DataFrame) -> DataFrame:
    from pyspark.sql.functions import window

    inner = df.withWatermark("at", "1 minute").groupBy(window("at", "1 minute")).count()
    return inner.groupBy(window("window", "5 minutes")).count()


class Written:
    """A query with a file source that was started twice."""

    def __init__(self, spark: SparkSession, root: Path, query: Callable[[DataFrame], DataFrame]) -> None:
        self.spark, self.root, self.query = spark, root, query
        self.checkpoint = root / "ck"
        for number in range(3):
            self.feed(number)
            if number:
                self.run()

    def feed(self, number: int) -> None:
        (self.root / "in").mkdir(exist_ok=True)
        row = {"k": number, "at": f"2026-01-01 00:{number:02}:00"}
        (self.root / "in" / f"{number}.json").write_text(json.dumps(row), encoding="utf-8")

    def run(self) -> None:
        stream = self.spark.readStream.schema("k int, at timestamp").json(str(self.root / "in"))
        writer = self.query(stream).writeStream.format("noop").outputMode("append")
        writer = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True)
        writer.start().awaitTermination()

    def said(self, checkpoint: Path | None = None) -> tuple[str, str, str]:
        """What the forecast says of the next start: outcome, certainty and sentence."""
        made = forecast(Checkpoint.open(str(checkpoint or self.checkpoint)), query=NEW)
        return made.outcome, made.certainty, made.sentence


@pytest.mark.spark
@pytest.mark.parametrize(
    ("query", "gone", "words"),
    [
        (plain, None, ""),
        (distinct, "state", "if state/ was removed from it, the start fails instead"),
        (chain, "state/1", "if the directory of an operator was removed from it, the start fails instead"),
    ],
)
def test_a_directory_that_was_changed_after_the_newest_commit_leaves_the_start_open(
    spark_session: SparkSession,
    tmp_path: Path,
    query: Callable[[DataFrame], DataFrame],
    gone: str | None,
    words: str,
) -> None:
    made = Written(spark_session, tmp_path, query)
    assert made.said()[:2] == ("resume", "certain"), "two starts change no directory"
    if gone is None:
        made.feed(3)
        made.run()
        assert made.said()[:2] == ("resume", "certain")
        return
    time.sleep(0.05)  # a clock of the file system may be coarse
    d.remove(made.checkpoint / gone)
    outcome, certainty, sentence = made.said()
    assert (outcome, certainty) == ("resume", "needs_input") and words in sentence
    report = findings(Checkpoint.open(str(made.checkpoint)))
    asked = "whether state/ was deleted" if gone == "state" else "whether state/ has lost the directory"
    assert any(question.startswith(asked) for question in report.not_checked)
    answers = {"sink": "foreach_append", "what_happened": "damaged"}
    ck = Checkpoint.open(str(made.checkpoint))
    first = options(read_recovery_context(ck, Answers(answers), restart=forecast(ck, query=NEW)))[0]
    assert first.id == "restart" and "meets no damage if" in first.reason
    made.feed(3)
    with pytest.raises(Exception, match="STREAMING_STATEFUL_OPERATOR"):
        made.run()


@pytest.mark.spark
def test_what_explains_the_time_of_a_directory_leaves_the_answer_certain(
    spark_session: SparkSession, tmp_path: Path
) -> None:
    made = Written(spark_session, tmp_path, chain)
    copy = tmp_path / "copy"
    shutil.copytree(made.checkpoint, copy)
    assert made.said(copy)[:2] == ("resume", "certain")
    later = time.time() + 60
    for path in sorted(copy.rglob("*")):  # as a copy that keeps no times
        os.utime(path, (later, later))
    os.utime(copy / "state", (later + 1, later + 1))
    assert made.said(copy)[:2] == ("resume", "certain")
    for path in sorted(
        made.checkpoint.rglob("*"), reverse=True
    ):  # files keep their times, directories do not
        at = copy / path.relative_to(made.checkpoint)
        os.utime(at, (later, later) if path.is_dir() else (path.stat().st_mtime,) * 2)
    assert made.said(copy)[:2] == ("resume", "certain")
    time.sleep(0.05)
    (made.checkpoint / "state" / ".DS_Store").write_bytes(b"\0")
    assert made.said()[:2] == ("resume", "certain")
