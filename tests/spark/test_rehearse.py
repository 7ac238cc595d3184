"""Rehearsals on checkpoints that Spark wrote: what happened, in numbers, and that nothing of the original was
touched, whatever went wrong.

The silent changes are held against what Spark really writes when both queries are started on plain copies. A
run takes three of the nine; CHECKPOINT_EXPLORER_EVERY_CASE=1 takes all.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from core.cli import main
from core.documents.rehearse_words import headline, is_good, read_result
from tests.spark.cases import EVERY_CASE
from tests.support.build import PROJECT
from tests.support.changed_queries import FIRST_FILES, SCHEMA, Changes, write_file
from tests.support.clusters import connect_server
from tests.support.copies import copy_of
from tests.support.damage import without
from tests.support.oracle import RECIPES
from tests.support.processes import all_ended, group_of
from tests.support.rehearsed import (
    FILES,
    HEAD,
    NEW,
    OLD,
    ROWS,
    TOTALS,
    answers_of,
    canonical,
    really_written,
    silent,
    single,
    tree,
)
from tests.unit.test_documents import errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.oracle import Oracle

pytestmark = [pytest.mark.spark, pytest.mark.own_spark]  # each rehearsal is a process with a Spark of its own
UTC = ["--conf", "spark.sql.session.timeZone=UTC", "--conf", "spark.sql.shuffle.partitions=1"]
EVERY = bool(os.environ.get(EVERY_CASE))
SHORT = tuple(NEW) if EVERY else ("totals: sum becomes max", "dedup: another column of the type")


def every(*cases: Any, first: int) -> tuple[Any, ...]:
    """All of the cases, or so many of them in a usual run."""
    return cases if EVERY else cases[:first]


UPDATE = ["--set", "output_mode=update"]


@pytest.fixture(scope="module")
def changed(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Changes:
    return Changes(spark_session, tmp_path_factory.mktemp("rehearsed"))


@dataclass
class Stage:
    """A place for one test: scratch directory, query files, and the command line."""

    root: Path
    scratch: Path
    capsys: pytest.CaptureFixture[str]

    def query(self, text: str, name: str = "query.py") -> str:
        path = self.root / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def checkpoint(self, original: Path) -> Path:
        """A plain copy: the session of the tests may still be at work on the original."""
        return copy_of(original, self.root / "ck")

    def rehearse(self, place: Path, *more: str) -> tuple[int, dict[str, Any]]:
        """Status and answer; the answer fits its schema, and nothing is left behind."""
        self.capsys.readouterr()
        status = main(["rehearse", str(place), *UTC, *more, "--json"])
        out, err = self.capsys.readouterr()
        assert out, err
        answer: dict[str, Any] = json.loads(out)
        assert not errors("rehearse", answer)
        assert not list(self.scratch.iterdir())
        assert answer["original_unchanged"] is True
        return status, answer

    def refused(self, place: Path, *more: str) -> tuple[int, str]:
        """Status and the one sentence."""
        self.capsys.readouterr()
        status = main(["rehearse", str(place), *UTC, *more, "--json"])
        out, err = self.capsys.readouterr()
        assert not out
        assert not list(self.scratch.iterdir())
        return status, err.strip().splitlines()[-1]


@pytest.fixture
def stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Stage]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("CHECKPOINT_EXPLORER_SPARK_DIRECTORY", str(scratch))
    yield Stage(tmp_path, scratch, capsys)


# ---------------------------------------------------------------- what happened


def test_a_stateless_query_to_files_resumes_and_only_new_rows_are_written(
    changed: Changes, stage: Stage
) -> None:
    root = changed.checkpoint("to_files").parent
    ck = stage.checkpoint(changed.checkpoint("to_files"))
    before = tree(root), tree(ck)
    query = stage.query(ROWS)
    status, answer = stage.rehearse(ck, "--query", query, "--set", FILES[0], "--sink", str(root / "out"))
    assert (status, answer["outcome"], answer["batch_id"]) == (0, "resume", 1)
    assert [(b["id"], b["input_rows"], b["output_rows"]) for b in answer["batches"]] == [(1, 2, 2)]
    assert answer["sink"]["kind"] == "file" and answer["sink"]["written_as"] == "file"
    assert answer["stopped"] == "no_more_data" and answer["as_forecast"] and not answer["differs"]
    assert [place["files"] is not None for place in answer["places"]] == [True, True, True]
    assert (tree(root), tree(ck)) == before


def test_a_batch_that_the_file_sink_has_is_run_again_and_skipped(changed: Changes, stage: Stage) -> None:
    """The copied log of the sink decides, as the real one does."""
    root = changed.checkpoint("to_files").parent
    ck = stage.checkpoint(changed.checkpoint("to_files"))
    for name in ("0", ".0.crc"):
        (ck / "commits" / name).unlink()
    query = ["--query", stage.query(ROWS), "--set", FILES[0], "--set", "sink_format=json"]
    query += ["--set", "source.0.format=json", "--set", f"source.0.path={root}/in"]  # nothing is committed
    status, answer = stage.rehearse(ck, *query, "--sink", str(root / "out"))
    assert (status, answer["outcome"], answer["batch_id"]) == (0, "rerun", 0)
    assert [(b["id"], b["output_rows"]) for b in answer["batches"]] == [(0, 0), (1, 2)]
    assert answer["skipped_by_sink"] == [0]
    # The sink has all that the query can read: Spark skips the batch before a row goes through the query.
    status, answer = stage.rehearse(ck, *query, "--sink", str(root / "out"), "--batches", "1")
    assert (status, answer["outcome"], answer["as_forecast"]) == (1, "rerun", True)
    assert [(b["id"], b["output_rows"]) for b in answer["batches"]] == [(0, 0)]
    assert "no row went through it" in answer["not_checked"][0]
    found = read_result(json.dumps(answer).encode())
    assert not is_good(found) and "skipped it: no row went through the query" in headline(found)
    if EVERY:  # without that log nothing is skipped
        status, answer = stage.rehearse(ck, *query, "--set", "sink=file")
        assert (status, answer["outcome"]) == (0, "rerun")
        assert [(b["id"], b["output_rows"]) for b in answer["batches"]] == [(0, 6), (1, 2)]


def test_what_the_state_lacks_stops_the_batch_behind_one_that_the_file_sink_has(
    oracle: Oracle, stage: Stage
) -> None:
    base = oracle.base("dedup")
    ck = stage.checkpoint(base.checkpoint)
    newest = base.recipe.files - 1
    without(f"commits/{newest}", f"state/0/0/{newest + 1}.delta")(ck)
    query = stage.query(single("df.dropDuplicates(['id'])"))
    asked = ["--query", query, "--set", FILES[0], "--set", "sink_format=json", "--set", "output_mode=append"]
    asked += ["--set", "source.0.schema=k string, id long, t timestamp, v long"]
    status, answer = stage.rehearse(ck, *asked, "--sink", str(base.root / "out"))
    assert (status, answer["error"]["batch"], answer["error"]["at"]) == (0, newest + 1, "batch"), answer
    assert answer["forecast"]["outcome"] == "fail" and answer["as_forecast"], answer["differs"]


@pytest.mark.parametrize("base", ["totals", "totals_rocksdb"] if EVERY else ["totals_rocksdb"])
def test_an_aggregation_resumes_on_both_state_stores(changed: Changes, stage: Stage, base: str) -> None:
    ck = stage.checkpoint(changed.checkpoint(base))
    status, answer = stage.rehearse(
        ck, "--query", stage.query(TOTALS), *answers_of(base), *UPDATE, "--set", "sink=foreach_merge"
    )
    assert (status, answer["outcome"], answer["batch_id"], answer["rows_written"]) == (0, "resume", 1, 2)
    assert [(s["batch"], s["name"], s["rows"]) for s in answer["state_rows"]] == [(1, "stateStoreSave", 2)]
    assert answer["sink"]["written_as"] == "recorded"


def test_an_incompatible_state_fails_with_its_condition_and_translation(
    changed: Changes, stage: Stage
) -> None:
    ck = stage.checkpoint(changed.checkpoint("totals"))
    more = TOTALS.replace("F.sum('v')", "F.max('id').alias('fresh'), F.sum('v')")
    status, answer = stage.rehearse(ck, "--query", stage.query(more), *answers_of("totals"), *UPDATE)
    error = answer["error"]
    assert (status, answer["outcome"], answer["batch_id"], error["at"]) == (1, "fail", 1, "batch")
    assert error["condition"] == "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"
    assert "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE" in error["text"] and error["means"] and error["action"]
    assert not answer["as_forecast"] and len(answer["differs"]) == 1
    assert answer["forecast"]["outcome"] == "resume" and answer["batches"] == []


def test_without_new_data_nothing_was_tried_and_that_is_no_success(changed: Changes, stage: Stage) -> None:
    """The query of the test above, whose first batch fails: no new file keeps that from being seen."""
    ck = stage.checkpoint(changed.checkpoint("totals"))
    more = TOTALS.replace("F.sum('v')", "F.max('id').alias('fresh'), F.sum('v')")
    asked = ["--query", stage.query(more), "--against", stage.query(TOTALS, "old.py"), *UPDATE]
    asked += [*answers_of("totals"), "--set", "source.0.option.pathGlobFilter=000[1-3].json"]
    status, answer = stage.rehearse(ck, *asked)
    assert (status, answer["outcome"], answer["batch_id"], answer["batches"]) == (1, "resume", None, [])
    assert answer["as_forecast"] and answer["error"] is None and not answer["against"]["equal"]
    assert "no batch ran" in answer["not_checked"][0]
    shown = read_result(json.dumps(answer).encode())
    assert not is_good(shown) and "so the query was not tried" in headline(shown)


def test_a_source_that_is_gone_fails_at_the_start(changed: Changes, stage: Stage) -> None:
    ck = stage.checkpoint(changed.checkpoint("rows"))
    gone = ["--set", f"source.0.path={stage.root}/gone"]
    status, answer = stage.rehearse(ck, "--query", stage.query(ROWS), "--set", FILES[0], *gone)
    assert (status, answer["outcome"], answer["batch_id"]) == (1, "fail", None)
    assert (answer["error"]["at"], answer["error"]["condition"]) == ("start", "PATH_NOT_FOUND")


def test_a_fresh_start_and_as_many_batches_as_were_asked_for(stage: Stage) -> None:
    for number in FIRST_FILES:
        write_file(stage.root / "in", number)
    ck = stage.root / "ck"
    for directory in ("offsets", "commits"):
        (ck / directory).mkdir(parents=True)
    source = [f"path={stage.root}/in", "format=json", f"schema={SCHEMA}", "option.maxFilesPerTrigger=1"]
    answers = [part for each in source for part in ("--set", f"source.0.{each}")]
    status, answer = stage.rehearse(ck, "--query", stage.query(ROWS), *answers, "--batches", "2")
    assert (status, answer["outcome"], answer["batch_id"]) == (0, "fresh_start", 0)
    assert [(b["id"], b["output_rows"]) for b in answer["batches"]] == [(0, 2), (1, 2)]
    assert answer["stopped"] == "batches"


def test_transform_with_state_reads_the_schemas_of_the_copy(oracle: Oracle, stage: Stage) -> None:
    """Its metadata names schemas by absolute path."""
    base = oracle.base_of(RECIPES["transform"])
    ck = stage.checkpoint(base.checkpoint)
    processor = (PROJECT / "tests/support/oracle_processor.py").read_text(encoding="utf-8")
    query = (
        f"{processor}\n\ndef transform(df):\n"
        "    return df.groupBy('k').transformWithState(statefulProcessor=Counter(),\n"
        "        outputStructType='k string, n long', outputMode='Append', timeMode='None')\n"
    )
    schema = "source.0.schema=k string, id long, t timestamp, v long"
    asked = ["--query", stage.query(query), "--set", schema, "--set", "source.0.option.maxFilesPerTrigger=1"]
    keep = stage.root / "kept"
    status, answer = stage.rehearse(
        ck, *asked, "--set", "output_mode=append", "--batches", "1", "--keep", str(keep)
    )
    assert (status, answer["outcome"], len(answer["batches"])) == (0, "resume", 1), answer["error"]
    metadata = next((keep / "new/checkpoint/state/0/_metadata/v2").glob("[0-9]*")).read_text(encoding="utf-8")
    assert f"{keep}/new/checkpoint/state/0/_stateSchema/" in metadata
    assert not (keep / "temporary").exists()


# ---------------------------------------------------------------- the code of the user


def test_write_batch_is_called_only_when_that_is_allowed(changed: Changes, stage: Stage) -> None:
    ck = stage.checkpoint(changed.checkpoint("rows"))
    target = stage.root / "mine"
    own = f"\n\ndef write_batch(df, batch_id):\n    df.write.mode('append').json({str(target)!r})\n"
    asked = ["--query", stage.query(ROWS + own), "--set", FILES[0], "--set", "sink=foreach_append"]
    if EVERY:
        status, answer = stage.rehearse(ck, *asked)
        assert (status, answer["sink"]["written_as"], answer["rows_written"]) == (0, "recorded", 2)
    assert not target.exists()
    status, answer = stage.rehearse(ck, *asked, "--allow-side-effects")
    assert (status, answer["sink"]["written_as"], answer["rows_written"]) == (0, "own_code", 2)
    assert sum(len(path.read_text().splitlines()) for path in target.glob("*.json")) == 2


BAD = {
    "a file that is none": (None, "cannot be read"),
    "no Python": ("def transform(df:\n", "not Python (line 1)"),
    "it starts a query": (
        "df = 1\ndf.writeStream.start()\ndef transform(df): return df\n",
        ".writeStream in line 2",
    ),
    "it writes in transform": ("def transform(df):\n    df.write.save('x')\n", ".write in line 2"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_query_file_that_cannot_be_used_is_refused_before_spark_is_started(
    changed: Changes, stage: Stage, name: str
) -> None:
    text, words = BAD[name]
    ck = stage.checkpoint(changed.checkpoint("rows"))
    query = stage.query(text) if text is not None else str(stage.root / "none.py")
    status, sentence = stage.refused(ck, "--query", query, "--set", FILES[0])
    assert status == 2 and words in sentence


@pytest.mark.parametrize(
    ("text", "words"),
    every(
        ("import no_such_package_at_all\n", "needs the package no_such_package_at_all"),
        ("raise ValueError('not today')\n", "cannot be loaded: ValueError: not today"),
        ("import os\nos._exit(3)\n", "ended the process that loaded it"),
        ("def transform(df):\n    return 1 / 0\n", "transform in"),
        ("def transform(df):\n    return 1\n", "gave int and not a streaming"),
        ("x = 1\n", "has no function transform"),
        first=1,
    ),
)
def test_a_query_file_that_fails_is_one_sentence(
    changed: Changes, stage: Stage, text: str, words: str
) -> None:
    ck = stage.checkpoint(changed.checkpoint("rows"))
    before = tree(ck)
    status, sentence = stage.refused(ck, "--query", stage.query(text), "--set", FILES[0])
    assert status == 2 and words in sentence and str(stage.root / "query.py") in sentence
    assert tree(ck) == before
    assert not list(stage.root.rglob("__pycache__"))


def test_a_query_file_that_hangs_is_ended_with_all_that_it_has_started(
    changed: Changes, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHECKPOINT_EXPLORER_REHEARSAL_SECONDS", "8")
    ck = stage.checkpoint(changed.checkpoint("rows"))
    noted = stage.root / "pids"
    text = (
        f"import os, subprocess, time\nchild = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(noted)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\ntime.sleep(600)\n"
    )
    status, sentence = stage.refused(ck, "--query", stage.query(text), "--set", FILES[0])
    assert status == 2 and "was not loaded within 8" in sentence
    assert all_ended(int(pid) for pid in noted.read_text().split())


# ---------------------------------------------------------------- two queries


@pytest.mark.parametrize("name", SHORT)
def test_a_silent_change_is_shown_in_the_numbers_that_spark_really_writes(
    changed: Changes, stage: Stage, name: str
) -> None:
    change = silent(name)
    old, new = really_written(changed, change)
    ck = stage.checkpoint(changed.checkpoint(change.base))
    asked = [
        "--query",
        stage.query(NEW[name], "new.py"),
        "--against",
        stage.query(OLD[change.base], "old.py"),
    ]
    mode = ["--set", "output_mode=append"] if change.base in ("rates", "dedup") else UPDATE
    is_shown = change.base != "dedup"
    shown = ["--reveal"] if is_shown else []
    status, answer = stage.rehearse(ck, *asked, *answers_of(change.base), *mode, *shown)
    against = answer["against"]
    is_same = old == new  # where the next rows happen to fall under the same keys
    assert (status, answer["outcome"], answer["as_forecast"]) == (0 if is_same else 1, "resume", True)
    assert against["equal"] == is_same == (name == "totals: another key expression")
    assert against["input_differs"] == (
        [1] if change.base == "rates" else []
    )  # each reads from the other's end
    assert not against["not_compared"]
    assert against["only_old"] == sum((old - new).values())
    assert against["only_new"] == sum((new - old).values())
    assert sum(batch["rows_old"] for batch in against["output"]) == sum(old.values())
    assert sum(batch["rows_new"] for batch in against["output"]) == sum(new.values())
    output = [each for each in against["examples"] if each["where"] == "output"]
    for side, rows in (("old", old - new), ("new", new - old)):
        found = Counter(canonical(each[side]) for each in output if each[side] is not None)
        assert found == rows if is_shown else sum(found.values()) == sum(rows.values())
    if not is_shown:
        for each in against["examples"]:
            values = [*each["key"].values(), *(each["old"] or {}).values(), *(each["new"] or {}).values()]
            assert set(values) <= {"***", None} and each["differs"]


def test_the_same_query_gives_the_same_rows(changed: Changes, stage: Stage) -> None:
    ck = stage.checkpoint(changed.checkpoint("totals"))
    asked = [*answers_of("totals"), *UPDATE, "--against", stage.query(TOTALS, "old.py")]
    status, answer = stage.rehearse(ck, "--query", stage.query(TOTALS + "\n"), *asked)
    assert status == 0 and answer["against"]["equal"] and not answer["against"]["examples"]
    assert [(each["place"], each["rows_old"]) for each in answer["against"]["state"]] == [("0/default", 2)]


# ---------------------------------------------------------------- nothing is left, nothing is touched


def command(ck: Path, query: str, scratch: Path, **more: Any) -> subprocess.Popen[str]:
    """The program in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "core", "rehearse", str(ck), *UTC, "--query", query, "--set", FILES[0]],
        cwd=PROJECT,
        env={**os.environ, "CHECKPOINT_EXPLORER_SPARK_DIRECTORY": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


@pytest.mark.parametrize("with_worker", every(False, True, first=1))
def test_kill_9_leaves_no_process_and_the_original_as_it_was(
    changed: Changes, stage: Stage, with_worker: bool
) -> None:
    ck = stage.checkpoint(changed.checkpoint("rows"))
    source = changed.checkpoint("rows").parent / "in"
    before = tree(ck), tree(source)
    noted = stage.root / "pid"
    text = (
        f"{HEAD}def slow(value):\n    import time\n    time.sleep(600)\n    return value\n\n\n"
        f"def transform(df):\n    import os\n    open({str(noted)!r}, 'w').write(str(os.getpid()))\n"
        "    return df.select(F.udf(slow, 'long')('id').alias('id'))\n"
    )
    process = command(ck, stage.query(text), stage.scratch)
    until = time.monotonic() + 60
    planned = stage.scratch
    while not list(planned.glob("*/new/checkpoint/offsets/1")) and time.monotonic() < until:
        time.sleep(0.1)
    assert list(planned.glob("*/new/checkpoint/offsets/1")), "batch 1 was never planned"
    worker = int(noted.read_text())
    pids = [*group_of(worker), process.pid]
    assert len(pids) > 2
    os.kill(process.pid, signal.SIGKILL)
    if with_worker:
        os.kill(worker, signal.SIGKILL)
    process.communicate(timeout=60)
    assert all_ended(pids)
    assert (tree(ck), tree(source)) == before
    if with_worker:  # nobody was left to remove it: the next run does
        assert list(stage.scratch.iterdir())
        status, _sentence = stage.refused(ck, "--query", stage.query("x = 1\n"), "--set", FILES[0])
        assert status == 2
    else:
        until = time.monotonic() + 20
        while list(stage.scratch.iterdir()) and time.monotonic() < until:
            time.sleep(0.1)
    assert not list(stage.scratch.iterdir())


def test_a_scratch_place_that_cannot_be_written_is_one_sentence(
    changed: Changes, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ck = stage.checkpoint(changed.checkpoint("rows"))
    before = tree(ck)
    monkeypatch.setenv("CHECKPOINT_EXPLORER_SPARK_DIRECTORY", str(stage.root / "none"))
    status, sentence = stage.refused(ck, "--query", stage.query(ROWS), "--set", FILES[0])
    assert status == 10 and "could not be written to" in sentence
    monkeypatch.setenv("CHECKPOINT_EXPLORER_SPARK_DIRECTORY", str(stage.scratch))
    monkeypatch.setenv("CHECKPOINT_EXPLORER_REHEARSAL_BYTES", "1024")
    (ck / "large").write_bytes(b"x" * 2000)
    status, sentence = stage.refused(ck, "--query", stage.query(ROWS), "--set", FILES[0])
    assert status == 10 and "rehearsal_bytes" in sentence
    (ck / "large").unlink()
    assert tree(ck) == before


@pytest.mark.parametrize("limit", [64, 8192], ids=["while copying", "while Spark writes"])
def test_a_full_scratch_place_is_one_sentence(changed: Changes, stage: Stage, limit: int) -> None:
    ck = stage.checkpoint(changed.checkpoint("rows"))
    before = tree(ck)

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    process = command(ck, stage.query(ROWS), stage.scratch, preexec_fn=small_files)
    out, err = process.communicate(timeout=120)
    assert process.returncode in (1, 10), (out, err)
    assert "Traceback" not in err
    assert tree(ck) == before
    assert not list(stage.scratch.iterdir())


def test_what_is_asked_wrongly_is_wrong_usage(changed: Changes, stage: Stage) -> None:
    ck = stage.checkpoint(changed.checkpoint("totals"))
    query = ["--query", stage.query(TOTALS)]
    status, sentence = stage.refused(ck, *query)
    assert status == 2 and "source.0.schema" in sentence
    status, sentence = stage.refused(ck, *query, *answers_of("totals"))
    assert status == 2 and "output_mode" in sentence
    status, sentence = stage.refused(ck, *query, *answers_of("totals"), *UPDATE, "--batches", "0")
    assert status == 2 and "--batches" in sentence
    status, sentence = stage.refused(ck, *query, *answers_of("totals"), *UPDATE, "--against", query[1])
    assert status == 2 and "--against" in sentence
    status, sentence = stage.refused(ck, *query, *answers_of("totals"), *UPDATE, "--keep", str(stage.root))
    assert status == 2 and "--keep" in sentence


if EVERY:

    @pytest.mark.clusters
    def test_through_spark_connect_the_answer_is_the_same(changed: Changes, stage: Stage) -> None:
        name = "totals: sum becomes max"
        ck = stage.checkpoint(changed.checkpoint("totals"))
        old = ["--against", stage.query(TOTALS, "old.py")]
        asked = ["--query", stage.query(NEW[name]), *answers_of("totals"), *UPDATE, "--reveal"]
        here = stage.rehearse(ck, *asked, *old)
        (stage.root / "server").mkdir()
        with connect_server(stage.root / "server") as remote:
            there = stage.rehearse(ck, *asked, *old, "--remote", remote)
            assert there[0] == here[0] == 1
            for part in ("output", "state", "examples", "only_old", "only_new"):
                assert there[1]["against"][part] == here[1]["against"][part]
            more = TOTALS.replace("F.sum('v')", "F.max('id').alias('fresh'), F.sum('v')")
            failing = ["--query", stage.query(more), *answers_of("totals"), *UPDATE, "--remote", remote]
            status, answer = stage.rehearse(ck, *failing)
        assert (status, answer["outcome"], answer["batch_id"]) == (1, "fail", 1)
        assert answer["error"]["condition"] == "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"


def test_a_person_reads_what_happened_and_a_spark_that_does_not_start_is_one_sentence(
    changed: Changes, stage: Stage
) -> None:
    ck = stage.checkpoint(changed.checkpoint("rows"))
    more = single("df.select('id', 'k', 'v').where('id > 0')")
    asked = ["--query", stage.query(more), "--set", FILES[0]]
    status, sentence = stage.refused(ck, *asked, "--conf", "spark.driver.memory=1k")
    assert status == 10 and sentence.startswith("Spark could not be started")
    if EVERY:
        assert main(["rehearse", str(ck), *UTC, *asked]) == 0
        out, err = stage.capsys.readouterr()
        assert "Spark resumed with batch 1." in out and "2 rows written in 1 batch." in out
        assert "checkpoint: unchanged" in out and "Starting Spark" in err
