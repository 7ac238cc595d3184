"""The Spark engine on real checkpoints: the rows per partition are those that the files record, in every kind
of store; what it refuses, and what it leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.asked import find_operator
from core.checkpoint.state_content.sst import SstVerdict
from core.cli import main
from core.errors import (
    RowsDiffer,
    SparkCancelled,
    SparkError,
    SparkNotStarted,
    SparkStopped,
    StagingError,
    UsageError,
)
from core.settings import Settings
from core.spark import (
    SparkEngine,
    StateAnswer,
    StateQuestion,
    question_code,
    state_choices,
)
from core.spark import staging as staging_module
from tests.spark.cases import BEFORE_RELEASE, EVERY_CASE, LONG
from tests.support.build import SAMPLES
from tests.support.oracle import CHANGELOG, FORMAT_2, ROCKSDB, join, source, windows, write_file
from tests.support.spark import older_environment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.own_spark]

JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
Build = Callable[["SparkSession", Path], "DataFrame"]


def sessions(spark: SparkSession, root: Path) -> DataFrame:
    """Session windows by two columns; their state has a prefix key."""
    from pyspark.sql import functions as F  # noqa: N812

    frame = source(spark, root / "in").withWatermark("t", "1 hour")
    return frame.groupBy(F.session_window("t", "5 minutes"), "k", "id").count()


def within_watermark(spark: SparkSession, root: Path) -> DataFrame:
    return source(spark, root / "in").withWatermark("t", "1 hour").dropDuplicatesWithinWatermark(["k", "v"])


def dedup(spark: SparkSession, root: Path) -> DataFrame:
    return source(spark, root / "in").dropDuplicates(["id"])


def limit(spark: SparkSession, root: Path) -> DataFrame:
    return source(spark, root / "in").limit(4)


def decimals(spark: SparkSession, root: Path) -> DataFrame:
    """Sums as decimals, and what else JSON has no type for."""
    from pyspark.sql import functions as F  # noqa: N812

    frame = source(spark, root / "in")
    return frame.groupBy("k").agg(
        F.sum(F.col("v").cast("decimal(20,4)")).alias("d"), F.max("t").alias("t"), F.count("*").alias("n")
    )


QUERIES: dict[str, tuple[Build, dict[str, str], str]] = {
    "aggregation_hdfs": (decimals, {}, "complete"),
    "windows_rocksdb": (windows, ROCKSDB, "append"),
    "windows_changelog": (windows, CHANGELOG, "append"),
    "windows_format_2": (windows, FORMAT_2, "append"),
    "dedup": (dedup, CHANGELOG, "append"),
    "within_watermark": (within_watermark, {}, "append"),
    "sessions_hdfs": (sessions, {}, "append"),
    "sessions_rocksdb": (sessions, ROCKSDB, "append"),
    "limit": (limit, {}, "append"),
    "join_2": (join, {}, "append"),
    "join_3": (join, {**ROCKSDB, JOIN_FORMAT: "3"}, "append"),
    "join_4_changelog": (join, {**CHANGELOG, JOIN_FORMAT: "4"}, "append"),
}
TRIED = (
    QUERIES if os.environ.get(EVERY_CASE) else ("aggregation_hdfs", "windows_changelog", "join_4_changelog")
)
"""The rows of every kind of store are compared in test_state_rows; here it is how Spark is asked."""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(spark_directory=str(tmp_path_factory.mktemp("engine")), spark_seconds=300)


@pytest.fixture(scope="module")
def engine(settings: Settings) -> Iterator[SparkEngine]:
    """One worker for most tests of this module."""
    made = SparkEngine(settings)
    yield made
    made.stop()
    assert list(Path(settings.spark_directory).iterdir()) == []


@pytest.fixture(scope="module")
def checkpoint(
    spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """A checkpoint of each query, made at its first use."""
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            build, conf, mode = QUERIES[name]
            root = tmp_path_factory.mktemp(name)
            for number in range(5):
                for directory in ("in", "in2"):
                    write_file(root / directory, number)
            session = spark_session.newSession()
            for key, value in {**conf, "spark.sql.streaming.pollingDelay": "1ms"}.items():
                session.conf.set(key, value)
            query = (
                build(session, root)
                .writeStream.format("noop")
                .outputMode(mode)
                .option("checkpointLocation", str(root / "ck"))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            made[name] = root / "ck"
        return made[name]

    return make


def questions_of(ck: Checkpoint, batch_id: int) -> Iterator[StateQuestion]:
    """Every store, side, variable and the timers, as a form offers them."""
    choices = state_choices(find_operator(ck, 0))
    plain = StateQuestion(batch_id, limit=10_000)
    if choices.variables:
        for variable in choices.variables:
            yield replace(plain, variable=variable)
            if variable in choices.lists:
                yield replace(plain, variable=variable, is_flat=False)
        if choices.has_timers:
            yield replace(plain, timers=True)
        return
    for side in choices.sides:
        yield replace(plain, side=side)
    for store in choices.stores:
        yield replace(plain, store=store)


def assert_compared(answer: StateAnswer, question: StateQuestion) -> None:
    assert answer.rows_total == len(answer.rows) == sum(answer.rows_per_partition.values()), question
    assert set(answer.compared) == set(answer.rows_per_partition), question
    assert "unknown" not in answer.compared.values(), question


@pytest.mark.parametrize("name", TRIED)
def test_every_store_has_the_rows_that_its_files_record(
    name: str, checkpoint: Callable[[str], Path], engine: SparkEngine, settings: Settings
) -> None:
    ck = Checkpoint.open(str(checkpoint(name)), settings)
    last = ck.last_committed_batch
    assert last is not None and last >= 2
    total = 0
    for batch_id in (1, last):
        for question in questions_of(ck, batch_id):
            answer = engine.ask(ck, question)
            assert_compared(answer, question)
            total += len(answer.rows)
    assert total > 0


@pytest.mark.parametrize(
    ("name", "batch"),
    [
        ("dropduplicates-removed", None),
        ("hand-made-rewind", None),
        ("join-watermark-held-back", None),
        ("kafka-topic-gained-partitions", None),
        ("missing-delta-file", 2),
        ("purged-to-newest-10", None),
        ("state-format-2", 6),
        ("transform-with-state-timers", None),
        ("windowed-aggregation-hot-partition", None),
    ],
)
def test_the_samples_have_the_rows_that_their_files_record(
    name: str, batch: int | None, engine: SparkEngine, settings: Settings
) -> None:
    ck = Checkpoint.open(str(SAMPLES / name / "checkpoint"), settings)
    at = ck.last_committed_batch if batch is None else batch
    assert at is not None
    asked = list(questions_of(ck, at))
    assert asked
    for question in asked:
        assert_compared(engine.ask(ck, question), question)


def test_values_are_json_with_nulls_times_in_utc_and_decimals_as_text(
    checkpoint: Callable[[str], Path], engine: SparkEngine, settings: Settings
) -> None:
    ck = Checkpoint.open(str(checkpoint("aggregation_hdfs")), settings)
    answer = engine.ask(ck, StateQuestion(4))
    assert [name for name, _ in answer.columns] == ["key", "value", "partition_id"]
    value = answer.rows[0]["value"]
    assert isinstance(value, dict)
    (decimal,) = [v for v in value.values() if isinstance(v, str) and not v.endswith("Z")]
    assert decimal.rpartition(".")[2] in ("0000", "00000000000000") or len(decimal.rpartition(".")[2]) == 4
    assert any(isinstance(v, str) and v.endswith("Z") and "T" in v for v in value.values())


def test_sql_over_the_view_and_a_limit_that_bites(engine: SparkEngine, settings: Settings) -> None:
    ck = Checkpoint.open(str(SAMPLES / "windowed-aggregation-hot-partition/checkpoint"), settings)
    asked = StateQuestion(9, sql="select nothing_of_this_name from state")
    with pytest.raises(SparkError, match="nothing_of_this_name") as failed:
        engine.ask(ck, asked)
    assert str(failed.value).startswith("Spark refused the query") and "\n" not in str(failed.value)
    asked = replace(asked, sql="select key.store, value.count c, value.count c from state order by 2 -- end")
    answer = engine.ask(ck, asked)
    assert [name for name, _ in answer.columns] == ["store", "c", "c_2"]
    assert answer.rows_total == 49 and answer.rows_per_partition == {0: 8, 1: 9, 2: 5, 3: 9, 4: 9, 5: 9}
    numbers = [row["c"] for row in answer.rows]
    assert numbers == sorted(numbers, key=int)  # type: ignore[call-overload]
    cut = engine.ask(ck, replace(asked, limit=3))
    assert (len(cut.rows), cut.is_truncated, cut.rows_total) == (3, True, None)
    rows = engine.ask(ck, StateQuestion(9, limit=5, partition=3))
    assert (len(rows.rows), rows.rows_total, rows.is_truncated) == (5, 9, True)
    assert {row["partition_id"] for row in rows.rows} == {3}
    for command in ("create table t as select 1", "show tables", "select 1) limit 1; select (1"):
        with pytest.raises(SparkError, match="Spark refused the query"):
            engine.ask(ck, StateQuestion(9, sql=command))
    with pytest.raises(SparkError, match="Spark refused the query"):
        engine.ask(ck, StateQuestion(9, sql="select * from text.`/etc/hostname`"))


def test_changes_and_one_partition_from_an_older_snapshot_and_the_metadata(
    engine: SparkEngine, settings: Settings
) -> None:
    ck = Checkpoint.open(str(SAMPLES / "purged-to-newest-10/checkpoint"), settings)
    changes = engine.ask(ck, StateQuestion(25, changes=(18, 20)))
    assert {row["batch_id"] for row in changes.rows} == {18, 19, 20}
    assert set(changes.compared.values()) == {"unknown"}
    rebuilt = engine.ask(ck, StateQuestion(25, snapshot=(21, 0)))
    assert (rebuilt.rows_per_partition, rebuilt.compared) == ({0: 5}, {0: "replayed"})
    metadata = engine.ask(ck, StateQuestion(25, metadata=True))
    assert metadata.rows[0]["operatorName"] == "stateStoreSave"
    with_families = Checkpoint.open(str(SAMPLES / "transform-with-state-timers/checkpoint"), settings)
    changes = engine.ask(with_families, StateQuestion(17, variable="totals", changes=(0, 5)))
    assert {row["batch_id"] for row in changes.rows} == {0, 2, 4}, "batches without data change nothing"


def test_a_damaged_sst_file_is_refused_before_spark_and_after_it(
    checkpoint: Callable[[str], Path],
    engine: SparkEngine,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark's reader gives fewer rows from some of these, and no error."""
    healthy = checkpoint("windows_rocksdb")
    last = Checkpoint.open(str(healthy), settings).last_committed_batch
    assert last is not None
    silent = refused = 0
    files = sorted((healthy / "state/0").rglob("*.sst"))
    assert files
    for number, place in enumerate([20, 60, 100]):
        root = tmp_path / str(number)
        shutil.copytree(healthy, root)
        for path in root.rglob(".*.crc"):
            path.unlink()
        for file in files:
            damaged = root / file.relative_to(healthy)
            data = bytearray(damaged.read_bytes())
            data[place] ^= 0x10
            damaged.write_bytes(data)
        with pytest.raises(StagingError, match=r"\.sst is damaged"):
            engine.ask(Checkpoint.open(str(root), settings), StateQuestion(last))
        with monkeypatch.context() as patch:
            patch.setattr(staging_module, "verify_sst", lambda data: SstVerdict())
            try:
                engine.ask(Checkpoint.open(str(root), settings), StateQuestion(last))
            except RowsDiffer as error:
                silent += 1
                assert error.partitions and "other rows than the files record" in str(error)
            except SparkError:
                refused += 1
    assert silent > 0, (silent, refused)
    assert silent + refused == 3


def test_an_empty_change_of_a_zip_that_records_another_number_is_refused(
    checkpoint: Callable[[str], Path], engine: SparkEngine, settings: Settings, tmp_path: Path
) -> None:
    """A partition that lost its directory would go unnoticed by Spark."""
    root = tmp_path / "ck"
    shutil.copytree(checkpoint("windows_changelog"), root)
    shutil.rmtree(root / "state/0/1")
    ck = Checkpoint.open(str(root), settings)
    with pytest.raises(StagingError, match=r"state/0/1/ is not there"):
        engine.ask(ck, StateQuestion(ck.last_committed_batch or 0))


def slow(ck: Checkpoint) -> StateQuestion:
    """A query that takes minutes, and can be cancelled."""
    query = "select count(*) from state a, range(40000000000) b where (a.partition_id + b.id) % 7 = 3"
    return StateQuestion(ck.last_committed_batch or 0, sql=query)


def test_callers_share_a_job_and_the_last_one_cancels_it(engine: SparkEngine, settings: Settings) -> None:
    ck = Checkpoint.open(str(SAMPLES / "windowed-aggregation-hot-partition/checkpoint"), settings)
    leave = [threading.Event(), threading.Event()]
    told: list[tuple[str, int, int]] = []
    errors: list[Exception] = []

    def ask(number: int) -> None:
        try:
            engine.ask(
                ck, slow(ck), on_progress=lambda *at: told.append(at), is_cancelled=leave[number].is_set
            )
        except SparkError as error:
            errors.append(error)

    callers = [threading.Thread(target=ask, args=(number,)) for number in (0, 1)]
    for caller in callers:
        caller.start()
    until = time.monotonic() + 120
    while not any(at[0] == "reading" and at[2] > 0 for at in told) and time.monotonic() < until:
        time.sleep(0.1)
    assert len(engine._jobs) == 1
    (job,) = engine._jobs.values()
    leave[0].set()
    callers[0].join(30)
    assert not job.ended.is_set()
    pid = engine.worker_pid
    leave[1].set()
    callers[1].join(30)
    assert job.ended.wait(30)
    assert [type(error) for error in errors] == [SparkCancelled, SparkCancelled]
    assert engine.worker_pid == pid, "a running job is cancelled without ending the process"
    assert engine.ask(ck, StateQuestion(9)).rows_total == 49
    assert told[0][0] in ("staging", "starting", "reading")


def test_a_question_that_takes_too_long_ends_with_one_sentence(
    engine: SparkEngine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    ck = Checkpoint.open(str(SAMPLES / "windowed-aggregation-hot-partition/checkpoint"), settings)
    monkeypatch.setattr(engine, "settings", settings.model_copy(update={"spark_seconds": 8.0}))
    began = time.monotonic()
    with pytest.raises(SparkStopped, match=r"did not answer within 8\.0 s "):
        engine.ask(ck, slow(ck))
    assert time.monotonic() - began < 30


def test_a_killed_worker_is_one_sentence_and_the_next_question_is_answered(
    engine: SparkEngine, settings: Settings
) -> None:
    ck = Checkpoint.open(str(SAMPLES / "windowed-aggregation-hot-partition/checkpoint"), settings)
    engine.ask(ck, StateQuestion(9))
    pid = engine.worker_pid
    assert pid is not None
    threading.Timer(2.0, os.kill, (pid, signal.SIGKILL)).start()
    with pytest.raises(SparkStopped, match=r"ended before it answered \(signal SIGKILL\)"):
        engine.ask(ck, slow(ck))
    assert engine.ask(ck, StateQuestion(9)).rows_total == 49
    assert engine.worker_pid not in (None, pid)
    assert_gone(pid)


def test_idle_end_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    settings = Settings(spark_directory=str(tmp_path), spark_idle_seconds=1.0)
    engine = SparkEngine(settings)
    ck = Checkpoint.open(str(SAMPLES / "purged-to-newest-10/checkpoint"), settings)
    assert engine.ask(ck, StateQuestion(25)).rows_total == 8
    pid = engine.worker_pid
    assert pid is not None
    until = time.monotonic() + 20
    while engine.worker_pid is not None and time.monotonic() < until:
        time.sleep(0.1)
    assert_gone(pid)
    assert [path.name for root in tmp_path.iterdir() for path in root.iterdir()] == ["lock"]
    engine.stop()
    assert list(tmp_path.iterdir()) == []


PARENT = """
import sys, time
from core.checkpoint import Checkpoint
from core.checkpoint.asked import find_operator
from core.settings import Settings
from core.spark import SparkEngine, StateQuestion
settings = Settings(spark_directory=sys.argv[2])
engine = SparkEngine.shared(settings)
ck = Checkpoint.open(sys.argv[1], settings)
print(engine.ask(ck, StateQuestion(25)).rows_total, engine.worker_pid, "pyspark" in sys.modules, flush=True)
time.sleep(float(sys.argv[3]))
"""


def test_a_parent_that_is_killed_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    sample = str(SAMPLES / "purged-to-newest-10/checkpoint")
    command = [sys.executable, "-c", PARENT, sample, str(tmp_path), "600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=SAMPLES.parent) as parent:
        assert parent.stdout is not None
        total, pid, has_pyspark = parent.stdout.readline().split()
        assert (total, has_pyspark) == ("8", "False"), "the process that asks never imports pyspark"
        assert list(tmp_path.iterdir())
        parent.kill()
    assert_gone(int(pid))
    until = time.monotonic() + 20
    while list(tmp_path.iterdir()) and time.monotonic() < until:
        time.sleep(0.1)
    assert list(tmp_path.iterdir()) == []


def test_without_java_there_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(spark_directory=str(tmp_path))
    ck = Checkpoint.open(str(SAMPLES / "purged-to-newest-10/checkpoint"), settings)
    engine = SparkEngine(settings)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkNotStarted, match="Java was not found"):
        engine.ask(ck, StateQuestion(25))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkNotStarted, match="Java was not found"):
        engine.ask(ck, StateQuestion(25))
    engine.stop()
    assert list(tmp_path.iterdir()) == []


@LONG
def test_a_cluster_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    settings = Settings(spark_directory=str(tmp_path), spark_master="spark://127.0.0.1:1", spark_seconds=15)
    ck = Checkpoint.open(str(SAMPLES / "purged-to-newest-10/checkpoint"), settings)
    engine = SparkEngine(settings)
    with pytest.raises(SparkNotStarted, match=r"spark://127\.0\.0\.1:1") as failed:
        engine.ask(ck, StateQuestion(25))
    assert "\n" not in str(failed.value)
    engine.stop()
    assert list(tmp_path.iterdir()) == []


def test_the_code_to_take_along_runs_as_it_is(
    checkpoint: Callable[[str], Path], settings: Settings, tmp_path: Path
) -> None:
    ck = Checkpoint.open(str(checkpoint("windows_format_2")), settings)
    question = StateQuestion(
        ck.last_committed_batch or 0, sql="select partition_id, count(*) as rows_ from state group by 1"
    )
    script = tmp_path / "question.py"
    script.write_text(question_code(ck, question), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "partition_id|rows_" in done.stdout and "+" in done.stdout


OLDER = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
root = Path(sys.argv[1])
options = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false"}
builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2")
for key, value in options.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
rows = spark.readStream.schema("k string, id long, v long, t timestamp").json(str(root / "in"))
rows = rows.withWatermark("t", "1 hour").groupBy(F.session_window("t", "5 minutes"), "k", "id").count()
query = rows.writeStream.format("noop").option("checkpointLocation", str(root / "ck"))
query.trigger(availableNow=True).start().awaitTermination()
"""


@BEFORE_RELEASE
@pytest.mark.spark_3_5
def test_a_session_window_of_spark_3_5_is_read_with_the_metadata_it_never_had(
    engine: SparkEngine, settings: Settings, tmp_path: Path
) -> None:
    for number in range(3):
        write_file(tmp_path / "in", number)
    python = older_environment() / "bin/python"
    subprocess.run([python, "-c", OLDER, str(tmp_path)], capture_output=True, cwd=tmp_path, check=True)
    assert not (tmp_path / "ck/state/0/_metadata").exists()
    ck = Checkpoint.open(str(tmp_path / "ck"), settings)
    question = StateQuestion(ck.last_committed_batch or 0)
    answer = engine.ask(ck, question)
    assert_compared(answer, question)
    assert answer.rows_total == 6
    assert not (tmp_path / "ck/state/0/_metadata").exists()


def assert_gone(pid: int) -> None:
    """The worker and its Java, which is in its process group."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, 0)
            time.sleep(0.1)
            continue
        return
    raise AssertionError(f"a process of group {pid} is left")


def test_a_question_that_cannot_be_asked_starts_nothing(tmp_path: Path) -> None:
    settings = Settings(spark_directory=str(tmp_path))
    engine = SparkEngine(settings)
    ck = Checkpoint.open(str(SAMPLES / "purged-to-newest-10/checkpoint"), settings)
    for question in (
        StateQuestion(25, operator=7),
        StateQuestion(3),
        StateQuestion(25, side="left"),
        StateQuestion(25, sql="select reflect('java.lang.System', 'exit', 1)"),
    ):
        with pytest.raises(UsageError):
            engine.ask(ck, question)
    assert list(tmp_path.iterdir()) == [] and engine.worker_pid is None


@BEFORE_RELEASE
def test_the_command_line_gives_the_same_rows_by_both_engines(capsys: pytest.CaptureFixture[str]) -> None:
    place = str(SAMPLES / "windowed-aggregation-hot-partition/checkpoint")
    answers = []
    for more in ([], ["--engine", "spark"]):
        assert main(["rows", place, "--reveal", "--json", "--limit", "1000", *more]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    files, spark = answers
    assert (files["engine"], spark["engine"]) == ("files", "spark")
    rows = [
        {json.dumps([row["partition"], row["key"], row["value"]], sort_keys=True) for row in answer["rows"]}
        for answer in answers
    ]
    assert rows[0] == rows[1] and len(rows[0]) == files["rows_total"] == spark["rows_total"] == 49
    assert {part["compared"] for part in spark["spark_read"]} == {"replayed"}
    query = "select count(*) as n, max(value.count) as most from state where key.store = 'web'"
    assert main(["rows", place, "--engine", "spark", "--sql", query, "--json", "--reveal"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["rows"] == [{"n": 1, "most": 7000}]
    assert main(["rows", place, "--engine", "spark", "--sql", query]) == 0
    assert "7000" not in capsys.readouterr().out
