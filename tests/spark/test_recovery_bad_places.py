"""Scripts that meet a full disk, a place that cannot be written, a query that fails or is not there: one sentence,
the documented exit status, checkpoint and sink as they were."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from core.recovery import OptionId
from core.recovery.kit.files import Files
from tests.spark.cases import EVERY_CASE
from tests.spark.test_recovery_files import PLAIN, Pipeline
from tests.support.recovery import fingerprint, put_files, run_in_session
from tests.support.small_disk import mounted

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def made(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """Three batches, the last one without a commit; a file waits."""
    pipeline = Pipeline(spark_session, tmp_path_factory.mktemp("bad") / "p", PLAIN)
    put_files(pipeline.source, range(3))
    pipeline.run()
    pipeline.forget_last_commit()
    put_files(pipeline.source, range(3, 4))
    return pipeline


@contextmanager
def small(place: Path, size: str) -> Iterator[Path]:
    """A disk of a few blocks, which is full soon. Where this user may not mount one, a directory that nothing can be
    written to: for the scripts it is the same, a place that does not take their files."""
    try:
        with mounted(place, size) as disk:
            yield disk
    except PermissionError:
        place.chmod(0o500)
        try:
            yield place
        finally:
            place.chmod(0o700)


def ends(made: Pipeline, option: OptionId, status: int, text: str, **answers: str) -> str:
    """The script ends with this status and one sentence; what it printed. Old files that it had renamed already,
    which it says, are renamed back as it says and are what they were."""
    before = fingerprint(made.checkpoint, made.output, made.source)
    done = run_in_session(made.script(option, **answers), made.spark)
    assert done.status == status and text in done.output, done.output
    assert "Traceback" not in done.output and "\tat " not in done.output
    for old, aside in re.findall(r"(/\S+) was renamed to (/\S+); undo: rename it back", done.output):
        if Path(old).exists():
            shutil.rmtree(old)  # what the query had begun to write
        Path(aside).rename(old)
    assert fingerprint(made.checkpoint, made.output, made.source) == before
    return done.output


@pytest.mark.parametrize(
    ("option", "answer"),
    [
        ("reset", "backup_to"),
        ("reset", "checkpoint_new"),
        ("full_refresh", "checkpoint_new"),
        ("rewind", "checkpoint_new"),
        ("backup", "backup_to"),
    ],
)
def test_a_full_disk_stops_the_script_and_leaves_the_old_files(
    made: Pipeline, tmp_path: Path, option: OptionId, answer: str
) -> None:
    more = {"sink": "foreach_merge", "to_batch": "0"} if option == "rewind" else {}
    with small(tmp_path / "disk", "16k") as disk:
        said = {
            **({"backup_to": str(tmp_path / "backup")} if answer != "backup_to" else {}),
            **({"checkpoint_new": str(tmp_path / "new")} if answer != "checkpoint_new" else {}),
            **more,
            answer: str(disk / "copy"),
        }
        shown = ends(made, option, 1, "Stopped: ", **said)
    assert "Nothing was changed." in shown or "Changed by this run so far:" in shown


@pytest.mark.parametrize("option", ["reset", "backup", "rewind"])
def test_a_place_that_is_a_file_stops_the_script(made: Pipeline, tmp_path: Path, option: OptionId) -> None:
    taken = tmp_path / "a file"
    taken.write_text("x", encoding="utf-8")
    more = {"sink": "foreach_merge", "to_batch": "0"} if option == "rewind" else {}
    ends(made, option, 1, "Stopped: ", backup_to=str(taken / "b"), checkpoint_new=str(taken / "n"), **more)
    assert taken.read_text(encoding="utf-8") == "x"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "is not a Python file"),
        ("def transform(df:\n", "cannot be loaded"),
        ("import nothing_of_this_name\n", "cannot be loaded"),
        ("raise SystemExit(0)\n", "cannot be loaded"),
        ("def other(df):\n    return df\n", "transform"),
        ("def transform(df):\n    return df.select('nothing')\n", "transform in"),
        ("def transform(df):\n    raise KeyError('{{ x }}\\n')\n", "transform in"),
        ("def transform(df):\n    return None\n", "transform in"),
    ],
)
@pytest.mark.parametrize("option", ["reset", "full_refresh"] if os.environ.get(EVERY_CASE) else ["reset"])
def test_a_query_that_is_missing_or_fails_is_refused(
    made: Pipeline, tmp_path: Path, option: OptionId, text: str | None, why: str
) -> None:
    query = tmp_path / "query.py"
    if text is not None:
        query.write_text(text, encoding="utf-8")
    where = {"backup_to": str(tmp_path / "b"), "checkpoint_new": str(tmp_path / "n")}
    ends(made, option, 4, why, query_file=str(query), **where)
    assert sorted(path.name for path in tmp_path.iterdir()) == (["query.py"] if text is not None else [])


def test_spark_still_compares_checksum_files_after_a_script_read_past_them(
    spark_session: SparkSession, tmp_path: Path
) -> None:
    """The script's own check reads state with the session that copied it: a start of its own would fail here."""
    files, place = Files(spark_session), tmp_path / "7.zip"
    files.write(str(place), "as it was written")
    place.write_text("as it became later", encoding="utf-8")
    assert files.read(str(place)) == "as it became later"
    hadoop = spark_session._jvm.org.apache.hadoop.fs
    path = hadoop.Path(str(place))
    stream = path.getFileSystem(spark_session._jsc.hadoopConfiguration()).open(path)
    with pytest.raises(Exception, match="ChecksumException"):
        spark_session._jvm.org.apache.commons.io.IOUtils.toByteArray(stream)
    with pytest.raises(Exception, match="ChecksumException"):
        files.digest(str(place), verify=True)


def test_the_times_of_many_files_come_from_a_listing(
    spark_session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are those that each file gives, also for names that a log encodes, and for files that are gone."""
    folder = tmp_path / "in put"
    folder.mkdir()
    names = [f"{number}.json" for number in range(22)] + ["ü 100%.json", "a+b#c?.json", "gone.json"]
    for at, name in enumerate(names[:-1]):
        (folder / name).write_text("{}")
        os.utime(folder / name, (1_790_000_000 + at, 1_790_000_000 + at))
    logged = [(folder / name).as_uri() for name in names] + [(tmp_path / "nowhere" / "x.json").as_uri()]
    files, asked = Files(spark_session), []
    ask = Files._stated
    monkeypatch.setattr(
        Files, "_stated", lambda self, *given, **named: asked.append(given) or ask(self, *given, **named)
    )
    listed = files.modified(logged)
    assert len(asked) == 2  # the directory, and the file in another one
    assert listed == {name: (1_790_000_000 + at) * 1000 for at, name in enumerate(logged[:-2])}
    monkeypatch.setattr("core.recovery.kit.files.LISTED_FROM", 1000)
    assert files.modified(logged) == listed and len(asked) == 2 + len(logged)
    monkeypatch.setattr("core.recovery.kit.files.LISTED_FROM", 20)
    folder.rename(tmp_path / "moved")
    assert files.modified(logged) == {}
