"""The process that runs the query as its parent sees it: one request, a time limit, nothing left running."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from core.errors import QueryFileError, SparkError, SparkNotStarted, SparkStopped
from core.messages import say, say_of
from core.settings import Settings
from core.spark.process import check_java, first_line, is_here

Line = Mapping[str, Any]
OnPhase = Callable[[str, str], None]

WORKER = Path(__file__).resolve().parents[1] / "spark" / "rehearsal_worker.py"
PLANNER = WORKER.with_name("plan_worker.py")
_TAIL_BYTES = 20_000
# They would choose another Spark, another master or other arguments than the settings do.
_NOT_PASSED = (
    "SPARK_HOME",
    "SPARK_REMOTE",
    "SPARK_CONNECT_MODE_ENABLED",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_MASTER",
)


def run_worker(
    request: Mapping[str, object],
    settings: Settings,
    directory: Path,
    query_files: Mapping[str, str],
    python: str | None = None,
    on_phase: OnPhase | None = None,
    worker: Path = WORKER,
) -> tuple[str, dict[str, Line]]:
    """The version of Spark and what each run came to, by its name.

    ``directory``: where Spark and Python write what is temporary. ``query_files``: their paths by run. The
    process has a group of its own, which is ended in any case. Raises QueryFileError, SparkError.
    """
    if not settings.spark_remote:
        check_java()
    (directory / "local").mkdir(parents=True, exist_ok=True)
    errors = directory / "errors.txt"
    with errors.open("wb") as stream:
        process = subprocess.Popen(  # noqa: S603
            [python or sys.executable, "-P", str(worker)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stream,
            cwd=directory,
            env=_environment(settings, directory, query_files.values(), python),
            start_new_session=True,
        )
    try:
        return _Conversation(process, settings, errors, query_files, on_phase).run(request)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError, ValueError):
                if pipe is not None:
                    pipe.close()


class _Conversation:
    def __init__(
        self,
        process: subprocess.Popen[bytes],
        settings: Settings,
        errors: Path,
        query_files: Mapping[str, str],
        on_phase: OnPhase | None,
    ) -> None:
        self._process, self._settings, self._errors = process, settings, errors
        self._query_files, self._on_phase = query_files, on_phase
        self._phase, self._run = "starting", ""
        self._spark = ""
        self._ran: dict[str, Line] = {}

    def run(self, request: Mapping[str, object]) -> tuple[str, dict[str, Line]]:
        until = time.monotonic() + self._settings.spark_seconds  # then from when Spark is ready
        lines: queue.Queue[Line | None] = queue.Queue()
        threading.Thread(target=_receive, args=(self._process.stdout, lines), daemon=True).start()
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.write(json.dumps(request).encode() + b"\n")
                self._process.stdin.flush()
        while True:
            try:
                line = lines.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                raise self._too_slow() from None
            if line is None:
                raise self._ended()
            if line["event"] == "end":
                return self._spark, self._ran
            self._take(line)
            if line["event"] == "ready":
                until = time.monotonic() + self._settings.rehearsal_seconds

    def _take(self, line: Line) -> None:
        event = line["event"]
        if event == "phase":
            self._phase, self._run = str(line["phase"]), str(line["run"])
            if self._on_phase is not None:
                self._on_phase(self._run, self._phase)
        elif event == "ready":
            self._spark = str(line["version"])
        elif event == "ran":
            if _is_full(str(line.get("error") or "")):  # of the copy: the query itself may have had room
                raise self._no_room()
            self._ran[str(line["run"])] = line
        elif event == "refused":
            path = self._query_files[str(line["run"])]
            reason = first_line(str(line["reason"]))
            raise QueryFileError(say_of("rehearse", "REFUSED", str(line["kind"]), path=path, reason=reason))
        elif event == "failed":
            raise self._failed(str(line["kind"]), str(line["reason"]))

    def _too_slow(self) -> SparkError:
        limit_ms = round(self._settings.rehearsal_seconds * 1000)
        path = self._query_files.get(self._run, "")
        if self._phase in ("loading", "planning"):
            raise QueryFileError(
                say_of("rehearse", "TOO_SLOW", self._phase, path=path, limit_ms=limit_ms, address="")
            )
        address = self._settings.spark_remote.partition(";")[0] or self._settings.spark_master
        if self._phase == "starting":
            limit_ms = round(self._settings.spark_seconds * 1000)
        phase = self._phase if self._phase in ("starting", "running") else "running"
        return SparkStopped(
            say_of("rehearse", "TOO_SLOW", phase, path=path, limit_ms=limit_ms, address=address)
        )

    def _failed(self, kind: str, reason: str) -> SparkError:
        if kind == "package":
            return SparkNotStarted(say("rehearse.no_pyspark", reason=first_line(reason)))
        if _is_full(reason) or _is_full(self._tail()):
            return self._no_room()
        if kind == "start":
            return SparkNotStarted(say("spark.not_started", reason=first_line(reason)))
        if "OutOfMemoryError" in reason:
            return SparkStopped(say("spark.no_memory", memory=self._settings.spark_memory))
        return SparkStopped(say("spark.failed", reason=first_line(reason)))

    def _tail(self) -> str:
        """The end of what the process has printed."""
        with contextlib.suppress(OSError):
            return self._errors.read_bytes()[-_TAIL_BYTES:].decode(errors="replace")
        return ""

    def _no_room(self) -> SparkError:
        return SparkStopped(say("rehearse.scratch_full", directory=str(self._errors.parent)))

    def _ended(self) -> SparkError:
        status = self._process.wait()
        tail = self._tail()
        if "OutOfMemoryError" in tail:
            return SparkStopped(say("spark.no_memory", memory=self._settings.spark_memory))
        if _is_full(tail):
            return self._no_room()
        reason = (
            say("spark.signal", signal=signal.Signals(-status).name)
            if status < 0
            else say("spark.exit_status", status=status)
        )
        if self._phase in ("loading", "planning"):
            path = self._query_files.get(self._run, "")
            raise QueryFileError(say_of("rehearse", "REFUSED", "ended", path=path, reason=reason))
        return SparkStopped(say("spark.ended", reason=reason))


def _is_full(text: str) -> bool:
    """Whether the disk of the scratch directory is full, or a file may not be so large."""
    return "No space left" in text or "File too large" in text


def _receive(out: IO[bytes] | None, lines: queue.Queue[Line | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for raw in out or ():
            lines.put(json.loads(raw))
    lines.put(None)


def _environment(
    settings: Settings, directory: Path, query_files: Iterable[str], python: str | None
) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in _NOT_PASSED}
    chosen = python or sys.executable
    own = {
        "PYSPARK_PYTHON": chosen,
        "PYSPARK_DRIVER_PYTHON": chosen,
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(directory),
    }
    if is_here(settings):
        own["SPARK_LOCAL_IP"] = "127.0.0.1"
    elif "PYSPARK_PYTHON" in kept:  # of the executors, which need not have the Python of this machine
        del own["PYSPARK_PYTHON"]
    if python is not None:
        kept.pop("PYTHONPATH", None)
    # Spark's own Python workers import what lies beside the query too.
    beside = dict.fromkeys(str(Path(path).resolve().parent) for path in query_files)
    own["PYTHONPATH"] = os.pathsep.join([*filter(None, [kept.get("PYTHONPATH")]), *beside])
    return kept | own
