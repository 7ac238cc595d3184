"""Two query files compared by Spark's plans: the change that is found is the one that was made, neither query is
started, and a file that cannot be used is one sentence.

A run takes the silent changes and a few others; CHECKPOINT_EXPLORER_EVERY_CASE=1 takes all.
`scripts/prove-changes` holds the same against real restarts.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.analysis.changes import AskedChange, judge_changes
from core.checkpoint import Checkpoint
from core.cli import main
from core.settings import DEFAULTS
from core.storage import parse_location
from tests.spark.cases import EVERY_CASE
from tests.support.build import SAMPLES
from tests.support.changed_queries import CHANGES, MORE, PROVEN, SCHEMA, SILENT, Changes
from tests.support.query_files import programs
from tests.support.rehearsed import TOTALS, tree
from tests.unit.test_documents import errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY = bool(os.environ.get(EVERY_CASE))
TRIED = (*CHANGES, *MORE) if EVERY else (SILENT[0], SILENT[7])


@pytest.fixture(scope="module")
def changed(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Changes:
    return Changes(spark_session, tmp_path_factory.mktemp("by_files"))


def test_every_change_that_is_proven_has_its_programs(tmp_path: Path) -> None:
    for change in PROVEN:
        old, new = programs(change, tmp_path, tmp_path / "ck")
        compile(old, "old", "exec")
        compile(new, "new", "exec")
        assert old != new, change.name


@pytest.mark.parametrize("change", TRIED, ids=lambda change: change.name.replace(" ", "_"))
def test_two_programs_are_judged_as_the_change_that_was_made(
    changed: Changes,
    change: object,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = next(each for each in PROVEN if each is change)
    checkpoint = changed.checkpoint(case.base)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("CHECKPOINT_EXPLORER_SPARK_DIRECTORY", str(scratch))
    files = [tmp_path / "old.py", tmp_path / "new.py"]
    for path, text in zip(files, programs(case, checkpoint.parent, checkpoint), strict=True):
        path.write_text(text, encoding="utf-8")
    before = tree(checkpoint.parent)
    asked = ["--old", str(files[0]), "--new", str(files[1]), "--conf", "spark.sql.shuffle.partitions=1"]
    status = main(["changes", str(checkpoint), *asked, "--json"])
    out, err = capsys.readouterr()
    assert out, err
    answer = json.loads(out)
    assert not errors("changes", answer)
    ck = Checkpoint.open(parse_location(str(checkpoint)), DEFAULTS)
    form = [AskedChange(what, value) for what, value in case.asked.items()]  # type: ignore[arg-type]
    said = judge_changes(ck, form, sink=case.written_to).changes[0]
    told = (said, answer["changes"], answer["remarks"])
    assert answer["worst"] == said.verdict, told
    assert status == int(said.verdict in ("fails", "silently_wrong")), told
    worst = next(each for each in answer["changes"] if each["verdict"] == answer["worst"])
    assert (worst["fails_at"], worst["condition"]) == (said.fails_at, said.condition), told
    assert answer["compared_files"] and not answer["remarks"], told
    assert tree(checkpoint.parent) == before and not list(scratch.iterdir())


PROCESSOR = """import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StatefulProcessor

spark = SparkSession.builder.getOrCreate()


class Count(StatefulProcessor):
    def init(self, handle):
        self.n = handle.getValueState("n", "n long")

    def handleInputRows(self, key, rows, timerValues):
        yield pd.DataFrame({"k": [key[0]]})

    def close(self):
        pass


df = spark.readStream.format("rate").load()
frame = df.groupBy("value").transformWithStateInPandas(Count(), "k long", "update", "None")
frame.writeStream.outputMode("update").foreachBatch(print).start()
"""


def test_another_processor_of_transform_with_state_is_not_called_the_code_alone(
    changed: Changes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its variables are declared in its code, which a plan does not show: with another type Spark fails."""
    files = [tmp_path / "old.py", tmp_path / "new.py"]
    files[0].write_text(PROCESSOR)
    files[1].write_text(PROCESSOR.replace("n long", "n long, m string"))
    place = str(SAMPLES / "transform-with-state-timers" / "checkpoint")
    assert main(["changes", place, "--old", str(files[0]), "--new", str(files[1]), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(each["rule"], each["verdict"]) for each in answer["changes"]] == [
        ("user_state_processor", "unknown")
    ]
    assert "has transformWithStateInPandasExec" in answer["remarks"][0]


BAD = {
    "writes": ("df = spark.range(1)\ndf.write.json('{root}/mine')\n", "writes by itself (.write.json)"),
    "hides the refusal": (
        "try:\n    spark.range(1).write.json('{root}/mine')\nexcept Exception:\n    pass\n",
        "writes by itself (.write.json)",
    ),
    "inserts": ("spark.sql('DROP TABLE IF EXISTS x')\n", "writes by itself (spark.sql(DROP ...))"),
    "package": ("import no_such_package_at_all\n", "needs the package no_such_package_at_all"),
    "import": ("raise ValueError('not today')\n", "cannot be loaded: ValueError: not today"),
    "nothing": ("x = 1\n", "has no transform and starts no query"),
    "ends": ("import os\nos._exit(3)\n", "ended the process that loaded it"),
    "syntax": ("def (:\n", "is not Python (line"),
}
TRIED_BAD = BAD if EVERY else ("writes", "syntax")


@pytest.mark.parametrize("name", TRIED_BAD)
def test_a_query_file_that_cannot_be_used_is_one_sentence(
    changed: Changes,
    name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text, words = BAD[name]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("CHECKPOINT_EXPLORER_SPARK_DIRECTORY", str(scratch))
    head = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"
    query = tmp_path / "query.py"
    query.write_text((head if "spark" in text else "") + text.replace("{root}", str(tmp_path)))
    status = main(["changes", str(changed.checkpoint("totals")), "--old", str(query), "--new", str(query)])
    out, err = capsys.readouterr()
    assert status == 2 and not out
    assert words in err and len(err.strip().splitlines()) == 1
    assert not (tmp_path / "mine").exists() and not list(scratch.iterdir())


if EVERY:

    def test_a_query_file_that_hangs_is_ended(
        changed: Changes, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CHECKPOINT_EXPLORER_REHEARSAL_SECONDS", "8")
        noted, query = tmp_path / "pids", tmp_path / "query.py"
        query.write_text(
            "import os, subprocess, time\nchild = subprocess.Popen(['sleep', '600'])\n"
            f"open({str(noted)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\ntime.sleep(600)\n"
        )
        asked = ["changes", str(changed.checkpoint("totals")), "--old", str(query), "--new", str(query)]
        assert main(asked) == 2
        assert "was not loaded within 8" in capsys.readouterr().err
        time.sleep(1)
        for pid in noted.read_text().split():
            assert (
                not Path(f"/proc/{pid}/exe").exists() or "(sleep) Z" in Path(f"/proc/{pid}/stat").read_text()
            )

    def test_files_with_transform_are_compared_without_what_starts_them(
        changed: Changes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        files = [tmp_path / "old.py", tmp_path / "new.py"]
        files[0].write_text(TOTALS)
        files[1].write_text(TOTALS.replace("F.sum('v')", "F.max('v')"))
        asked = ["changes", str(changed.checkpoint("totals")), "--old", str(files[0]), "--new", str(files[1])]
        assert main([*asked, "--json"]) == 2
        assert "source.0.schema" in capsys.readouterr().err
        assert main([*asked, "--set", f"source.0.schema={SCHEMA}", "--json"]) == 1
        answer = json.loads(capsys.readouterr().out)
        assert answer["worst"] == "silently_wrong" and "output mode" in answer["remarks"][0]


def test_one_file_alone_and_settings_without_files_are_wrong_usage(
    changed: Changes, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(changed.checkpoint("totals"))
    assert main(["changes", place, "--old", "x.py"]) == 2
    assert "--old and --new go together" in capsys.readouterr().err
    assert main(["changes", place, "--conf", "a=b"]) == 2
    assert "need --old and --new" in capsys.readouterr().err
