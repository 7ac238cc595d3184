"""The worker process as its parent sees it: started, asked by lines, and ended without leaving anything
behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from core.errors import SparkError, SparkNotStarted, SparkStopped
from core.messages import say
from core.settings import Settings, is_loopback

Line = Mapping[str, Any]
Listener = Callable[[Line], None]

PROJECT = Path(__file__).resolve().parents[2]
STOP_SECONDS = 5.0
_TAIL_BYTES = 20_000
_LONGEST_REASON = 300
_HOST = re.compile(r"^(?:spark|sc|k8s)://(?:https?://)?(\[[^]]*\]|[^:/;,]+)")
# They would choose another Spark, another master or other arguments than the settings do.
_NOT_PASSED = (
    "SPARK_HOME",
    "SPARK_REMOTE",
    "SPARK_CONNECT_MODE_ENABLED",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_MASTER",
)
_NO_MEMORY = "OutOfMemoryError"
_CALL = re.compile(r"An error occurred .* o\d+\.\w+\.?$")
_OWN_ERROR = re.compile(r"core\.errors\.SparkError: ([^\n]+)")
_TASK_FAILURE = re.compile(r"Lost task[^\n]*?\): ([^\n]+)")


def is_here(settings: Settings) -> bool:
    """Whether Spark runs on this machine, so that it can read what is staged here."""
    address = settings.spark_remote or settings.spark_master
    if address.startswith("local"):
        return True
    found = _HOST.match(address)
    return found is not None and is_loopback(found[1])


def check_java() -> None:
    """Raises SparkNotStarted when there is no Java for Spark's own start script to find."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if found is None:
        raise SparkNotStarted(say("spark.no_java"))


class WorkerProcess:
    """One process of ``core.spark.worker``. Every method can be called from any thread.

    ``directory``: its own, for what Spark writes. ``all_directories``: what it removes when its parent died.
    """

    def __init__(self, settings: Settings, directory: Path, all_directories: Path) -> None:
        self._settings, self._directory = settings, directory
        self._listeners: dict[str, Listener] = {}
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._first: Line | None = None
        self.was_ended = False
        directory.mkdir(parents=True, exist_ok=True)
        self._errors = directory / "errors.txt"
        if not settings.spark_remote:
            check_java()
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "core.spark.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=directory,
                env=self._environment(),
                start_new_session=True,
            )
        first = {
            "master": settings.spark_master,
            "remote": settings.spark_remote,
            "memory": settings.spark_memory,
            "is_here": is_here(settings),
            "directory": str(directory),
            "all_directories": str(all_directories),
        }
        self._send(first)
        threading.Thread(target=self._receive, name="spark-lines", daemon=True).start()

    @property
    def pid(self) -> int:
        """Of the worker; its Java is in the same process group."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return not self.was_ended and self._process.poll() is None

    def wait_ready(self, seconds: float) -> bool:
        """Whether Spark has started, after at most so many seconds. Raises SparkNotStarted when it cannot
        be."""
        if not self._ready.wait(seconds):
            return False
        first = self._first or {}
        if first.get("event") == "ready":
            ours, theirs = version("pyspark"), str(first.get("version"))
            if ours.split(".")[:2] != theirs.split(".")[:2]:
                address = self._settings.spark_remote or self._settings.spark_master
                sentence = say("spark.other_version", address=address, theirs=theirs, ours=ours)
                raise SparkNotStarted(sentence)
            return True
        if self.was_ended:
            raise SparkStopped(say("spark.ended", reason=self._exit()))
        raise SparkNotStarted(self._why_not_started(first))

    def ask(self, number: str, request: Mapping[str, object], listener: Listener) -> None:
        """Sends a question; ``listener`` is given its lines, the last one is ``answer`` or ``failed``."""
        with self._lock:
            self._listeners[number] = listener
        self._send({**request, "id": number, "do": "ask"})
        if not self.is_alive:
            self._tell_all()

    def cancel(self, number: str) -> None:
        """Asks for the end of a question; it answers ``failed`` when it has."""
        self._send({"id": number, "do": "cancel"})

    def stop(self) -> None:
        """Ends it with its Java and removes its directory."""
        self._send({"do": "stop"})
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Ends it at once with its Java, whatever it does, and removes its directory."""
        self.was_ended = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    def failure(self, line: Line, hide: Mapping[str, str]) -> SparkError:
        """The error of a ``failed`` line. ``hide``: texts that stand in it for others, as the place of a
        staged copy for the checkpoint's."""
        cause, text = line["kind"], str(line["reason"])
        if found := _OWN_ERROR.search(text):  # of this project's code in a Python worker
            return SparkError(found[1])
        if cause == "memory" or (cause in ("ended", "failed") and _NO_MEMORY in self._tail()):
            return SparkStopped(say("spark.no_memory", memory=self._settings.spark_memory))
        if cause == "ended":
            return SparkStopped(say("spark.ended", reason=self._exit()))
        for old, new in hide.items():
            text = text.replace(old, new)
        reason = first_line(text)
        if cause == "analysis":
            return SparkError(say("spark.failed_sql", reason=reason))
        is_state = "STATE_STORE" in text or "STDS_" in text
        return SparkError(say("spark.failed_state" if is_state else "spark.failed", reason=reason))

    def _environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if key not in _NOT_PASSED}
        paths = [str(PROJECT), *filter(None, [kept.get("PYTHONPATH")])]
        own = {
            "PYTHONPATH": os.pathsep.join(paths),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }
        if is_here(self._settings):
            own["SPARK_LOCAL_IP"] = "127.0.0.1"
        elif "PYSPARK_PYTHON" in kept:  # of the executors, which need not have the Python of this machine
            del own["PYSPARK_PYTHON"]
        return kept | own

    def _send(self, line: Mapping[str, object]) -> None:
        stdin = self._process.stdin
        with self._lock, contextlib.suppress(OSError, ValueError):
            if stdin is not None:
                stdin.write(json.dumps(line).encode() + b"\n")
                stdin.flush()

    def _receive(self) -> None:
        out: IO[bytes] | None = self._process.stdout
        with contextlib.suppress(OSError, ValueError):
            for raw in out or ():
                line: Line = json.loads(raw)
                if "id" not in line:
                    self._first = line
                    self._ready.set()
                    continue
                with self._lock:
                    listener = self._listeners.get(line["id"])
                    if line["event"] != "progress":
                        self._listeners.pop(line["id"], None)
                if listener is not None:
                    listener(line)
        self._process.wait()
        for pipe in (out, self._process.stdin):
            with contextlib.suppress(OSError, ValueError):
                if pipe is not None:
                    pipe.close()
        self._ready.set()
        self._tell_all()

    def _tell_all(self) -> None:
        """It has ended: nobody waits for an answer any more."""
        with self._lock:
            waiting, self._listeners = self._listeners, {}
        for listener in waiting.values():
            listener({"event": "failed", "kind": "ended", "reason": ""})

    def _exit(self) -> str:
        status = self._process.poll()
        if status is None:
            return say("spark.exit_status", status="?")
        if status < 0:
            with contextlib.suppress(ValueError):
                return say("spark.signal", signal=signal.Signals(-status).name)
        return say("spark.exit_status", status=status)

    def _tail(self) -> str:
        with contextlib.suppress(OSError):
            return self._errors.read_bytes()[-_TAIL_BYTES:].decode(errors="replace")
        return ""

    def _why_not_started(self, first: Line) -> str:
        tail, reason = self._tail(), str(first.get("reason", ""))
        if "UnsupportedClassVersionError" in tail:
            return say("spark.old_java")
        if first.get("kind") == "package" or "ModuleNotFoundError" in tail:
            install = (
                "pip install 'pyspark[connect]'" if self._settings.spark_remote else "pip install pyspark"
            )
            return say("spark.no_package", reason=first_line(reason or _last_line(tail)), install=install)
        reason = first_line(reason) or _last_line(tail) or self._exit()
        if self._settings.spark_remote or not self._settings.spark_master.startswith("local"):
            address = self._settings.spark_remote or self._settings.spark_master
            return say("spark.not_reached", address=address.partition(";")[0], reason=reason)
        return say("spark.not_started", reason=reason)


def first_line(text: str) -> str:
    """What an error of Spark says, in one line: the failure of the task where a job failed by one."""
    if found := _TASK_FAILURE.search(text):
        text = found[1]
    lines = [line.strip(" :") for line in text.splitlines() if line.strip(" :")]
    if len(lines) > 1 and _CALL.match(lines[0]):
        lines = lines[1:]
    line = lines[0] if lines else ""
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 1] + "…"


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")[:_LONGEST_REASON]
