"""The same question gives the same rows on local Spark, on a standalone cluster of two workers, and through a
Spark Connect server. All of them are started from what the PySpark package carries."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.errors import SparkCancelled, SparkError, SparkNotStarted
from core.settings import Settings
from core.spark import SparkEngine, StateQuestion
from tests.support.build import SAMPLES

pytestmark = [pytest.mark.spark, pytest.mark.clusters]

QUESTIONS = [
    ("windowed-aggregation-hot-partition", StateQuestion(9)),
    ("windowed-aggregation-hot-partition", StateQuestion(9, sql="select key.store from state order by 1")),
    ("state-format-2", StateQuestion(6)),
    ("join-watermark-held-back", StateQuestion(9, side="right")),
    ("transform-with-state-timers", StateQuestion(17, variable="amounts")),
    ("transform-with-state-timers", StateQuestion(17, timers=True)),
]


def home() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


@contextmanager
def daemon(place: Path, name: str, *command: str, **more: str) -> Iterator[Path]:
    """A process of Spark with what it prints in a file; it and what it started are gone afterwards."""
    log = place / f"{name}.txt"
    env = {
        **os.environ,
        "SPARK_HOME": str(home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOG_DIR": str(place),
        "SPARK_PID_DIR": str(place),
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": sys.executable,
        **more,
    }
    with (
        log.open("wb") as out,
        subprocess.Popen(
            command,
            env=env,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            cwd=place,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield log
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def wait_for(port: int, log: Path, seconds: float = 180) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with socket.socket() as client:
            client.settimeout(1)
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.3)
    raise AssertionError(log.read_text(errors="replace")[-3000:])


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
    spark_class = str(home() / "bin/spark-class")
    deploy = "org.apache.spark.deploy"
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    small = {"SPARK_DAEMON_MEMORY": "256m"}
    with ExitStack() as running:
        ports = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        log = running.enter_context(
            daemon(tmp_path, "master", spark_class, f"{deploy}.master.Master", *ports, **small)
        )
        wait_for(port, log)
        for number in range(2):
            size = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0")
            work = ("--work-dir", str(tmp_path / f"work{number}"))
            command = (spark_class, f"{deploy}.worker.Worker", master, *size, *work)
            running.enter_context(daemon(tmp_path, f"worker{number}", *command, **small))
        settings = Settings(
            spark_directory=str(tmp_path / "engine"), spark_master=master, spark_memory="512m"
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
    port = free_port()
    options = ("--master", "local[2]", "--driver-memory", "1g")
    binding = {"address": "127.0.0.1", "port": str(port)}
    for key, value in binding.items():
        options += ("--conf", f"spark.connect.grpc.binding.{key}={value}")
    expected = answers(local)
    with daemon(tmp_path, "connect", str(home() / "sbin/start-connect-server.sh"), *options) as log:
        wait_for(port, log)
        settings = Settings(
            spark_directory=str(tmp_path / "engine"), spark_remote=f"sc://127.0.0.1:{port}", spark_seconds=300
        )
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
