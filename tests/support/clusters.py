"""A standalone cluster of two workers and a Spark Connect server, started from what the PySpark package
carries; gone with everything they started when the block ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


def home() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


@dataclass(frozen=True)
class Daemon:
    """A process of Spark. ``log``: what it prints."""

    log: Path
    pid: int

    def kill(self) -> None:
        """Ends it and what it started, at once."""
        os.killpg(self.pid, signal.SIGKILL)


@contextmanager
def daemon(place: Path, name: str, *command: str, **more: str) -> Iterator[Daemon]:
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
        running = Daemon(log, process.pid)
        try:
            yield running
        finally:
            if process.poll() is None:
                running.kill()


def wait_for(port: int, log: Path, seconds: float = 180) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with socket.socket() as client:
            client.settimeout(1)
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.3)
    raise AssertionError(log.read_text(errors="replace")[-3000:])


@dataclass(frozen=True)
class Cluster:
    """A standalone cluster. ``master``: its URL."""

    master: str
    workers: tuple[Daemon, ...]


@contextmanager
def standalone_cluster(place: Path) -> Iterator[Cluster]:
    """A master and two workers with one core each."""
    spark_class = str(home() / "bin/spark-class")
    deploy = "org.apache.spark.deploy"
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    small = {"SPARK_DAEMON_MEMORY": "256m"}
    with ExitStack() as running:
        ports = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        first = running.enter_context(
            daemon(place, "master", spark_class, f"{deploy}.master.Master", *ports, **small)
        )
        wait_for(port, first.log)
        workers = []
        for number in range(2):
            size = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0")
            work = ("--work-dir", str(place / f"work{number}"))
            command = (spark_class, f"{deploy}.worker.Worker", master, *size, *work)
            workers.append(running.enter_context(daemon(place, f"worker{number}", *command, **small)))
        yield Cluster(master, tuple(workers))


@contextmanager
def connect_server(place: Path) -> Iterator[str]:
    """The URL of a Spark Connect server with two local cores."""
    port = free_port()
    options = ("--master", "local[2]", "--driver-memory", "1g")
    for key, value in {"address": "127.0.0.1", "port": str(port)}.items():
        options += ("--conf", f"spark.connect.grpc.binding.{key}={value}")
    with daemon(place, "connect", str(home() / "sbin/start-connect-server.sh"), *options) as running:
        wait_for(port, running.log)
        yield f"sc://127.0.0.1:{port}"
