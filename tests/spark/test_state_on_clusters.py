"""The same question gives the same rows on local Spark, on a standalone cluster of two workers, and through a
Spark Connect server. All of them are started from what the PySpark package carries."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.errors import SparkCancelled, SparkError, SparkNotStarted
from core.settings import Settings
from core.spark import SparkEngine, StateQuestion
from tests.support.build import SAMPLES
from tests.support.clusters import connect_server, free_port, standalone_cluster

pytestmark = [pytest.mark.spark, pytest.mark.clusters]

QUESTIONS = [
    ("windowed-aggregation-hot-partition", StateQuestion(9)),
    ("windowed-aggregation-hot-partition", StateQuestion(9, sql="select key.store from state order by 1")),
    ("state-format-2", StateQuestion(6)),
    ("join-watermark-held-back", StateQuestion(9, side="right")),
    ("transform-with-state-timers", StateQuestion(17, variable="amounts")),
    ("transform-with-state-timers", StateQuestion(17, timers=True)),
]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    engine = SparkEngine(Settings(spark_directory=str(tmp_path_factory.mktemp("local"))))
    yield engine
    engine.stop()


def answers(engine: SparkEngine) -> list[object]:
    found: list[object] = []
    for name, question in QUESTIONS:
        ck = Checkpoint.open(str(SAMPLES / name / "checkpoint"), engine.settings)
        answer = engine.ask(ck, question)
        assert "unknown" not in answer.compared.values()
        found.append((answer.columns, sorted(map(str, answer.rows)), answer.rows_per_partition))
    return found


def test_a_standalone_cluster_gives_the_same_rows(local: SparkEngine, tmp_path: Path) -> None:
    with standalone_cluster(tmp_path) as cluster:
        settings = Settings(
            spark_directory=str(tmp_path / "engine"), spark_master=cluster.master, spark_memory="512m"
        )
        Path(settings.spark_directory).mkdir()
        engine = SparkEngine(settings)
        try:
            assert answers(engine) == answers(local)
        finally:
            engine.stop()
        assert list(Path(settings.spark_directory).iterdir()) == []


def test_spark_connect_gives_the_same_rows_without_java_here_and_cancels(
    local: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answers(local)
    with connect_server(tmp_path) as remote:
        settings = Settings(spark_directory=str(tmp_path / "engine"), spark_remote=remote, spark_seconds=300)
        Path(settings.spark_directory).mkdir()
        engine = SparkEngine(settings)
        # Only Java is hidden: the client needs none.
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        try:
            assert answers(engine) == expected
            ck = Checkpoint.open(str(SAMPLES / "windowed-aggregation-hot-partition/checkpoint"), settings)
            query = "select count(*) from state a, range(40000000000) b where (a.partition_id + b.id) % 7 = 3"
            told: list[tuple[str, int, int]] = []
            leave = threading.Event()
            threading.Timer(8, leave.set).start()
            pid = engine.worker_pid
            with pytest.raises(SparkCancelled):
                engine.ask(
                    ck,
                    StateQuestion(9, sql=query),
                    on_progress=lambda *at: told.append(at),
                    is_cancelled=leave.is_set,
                )
            assert engine.ask(ck, StateQuestion(9)).rows_total == 49
            assert engine.worker_pid == pid
            with pytest.raises(SparkError, match="Spark refused the query"):
                engine.ask(ck, StateQuestion(9, sql="show tables"))
        finally:
            engine.stop()
        assert list(Path(settings.spark_directory).iterdir()) == []


def test_a_connect_server_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    settings = Settings(
        spark_directory=str(tmp_path), spark_remote=f"sc://127.0.0.1:{free_port()}", spark_seconds=20
    )
    engine = SparkEngine(settings)
    ck = Checkpoint.open(str(SAMPLES / "purged-to-newest-10/checkpoint"), settings)
    with pytest.raises(SparkNotStarted, match=r"sc://127\.0\.0\.1") as failed:
        engine.ask(ck, StateQuestion(25))
    assert "\n" not in str(failed.value)
    engine.stop()
