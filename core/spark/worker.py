"""The process that holds Spark: ``python -m core.spark.worker``. JSON lines in, JSON lines out.

In: the first line is the settings; then ``{"id", "do": "ask", ...}``, ``{"id", "do": "cancel"}``,
``{"do": "stop"}``. Out: ``{"event": "ready", "version"}`` or ``{"event": "not_started", "kind", "reason"}``;
for each question ``progress`` (tasks done and known so far), then one ``answer`` or ``failed``. What Java and
libraries print goes to standard error, so it never breaks a line. The process ends when its input does: a
parent that died leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from pyspark.sql import SparkSession

from core.errors import UsageError
from core.messages import say
from core.spark.java import java_options
from core.spark.process import PROJECT
from core.spark.scan import Request, scan
from core.spark.survey_job import CANCELLED, NoDeltaError, survey

AT_ONCE = 2  # questions; a third waits, as two cores are busy with two
LOOK_SECONDS = 0.25
_REASON = 4_000  # characters of an error that are sent; the first line tells, the rest is Spark's plan


class Worker:
    """The questions that run, and the one way to answer."""

    def __init__(self, out: IO[str], settings: dict[str, Any]) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._settings = settings
        self._cancelled: dict[str, threading.Event] = {}
        self._session: SparkSession | None = None
        self._process: Any = None
        self._pool = ThreadPoolExecutor(AT_ONCE)

    def say(self, **line: object) -> None:
        """Sends one line."""
        with self._lock, contextlib.suppress(BrokenPipeError, ValueError):
            self._out.write(json.dumps(line) + "\n")
            self._out.flush()

    def start(self) -> bool:
        """Starts or reaches Spark; says how that went."""
        try:
            session = self._open()
            version = session.version
            session.range(1).count()  # a cluster without executors would show only at the first question
        except ImportError as error:
            self.say(event="not_started", kind="package", reason=_text(error))
            return False
        except Exception as error:
            self.say(event="not_started", kind="start", reason=_text(error))
            return False
        self._session = session
        self.say(event="ready", version=version)
        return True

    def _open(self) -> SparkSession:
        if remote := self._settings["remote"]:
            session: SparkSession = SparkSession.builder.remote(remote).create()
            return session
        directory = self._settings["directory"]
        # Spark's own Python workers get the project as they do on a cluster: from the zip.
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path and path != str(PROJECT))
        options = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": self._settings["memory"],
            "spark.driver.maxResultSize": "256m",
            "spark.driver.extraJavaOptions": java_options(directory),
            "spark.local.dir": f"{directory}/local",
            "spark.sql.warehouse.dir": f"{directory}/warehouse",
            "spark.log.level": "ERROR",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.catalogImplementation": "in-memory",
        }
        if not self._settings["is_here"]:  # executors elsewhere must find the driver
            del options["spark.driver.host"], options["spark.driver.bindAddress"]
        builder = SparkSession.builder.master(self._settings["master"]).appName("checkpoint-explorer")
        for key, value in options.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        gateway = session.sparkContext._gateway
        self._process = getattr(gateway, "proc", None)
        session.streams.active  # noqa: B018  (Spark 4.2 reads no state before it was asked for queries)
        return session

    def run(self, lines: IO[str]) -> None:
        """Serves until ``stop`` or the end of the input."""
        threading.Thread(target=self._watch, daemon=True).start()
        for line in lines:
            request = json.loads(line)
            if request["do"] == "stop":
                return
            if request["do"] == "cancel":
                if request["id"] in self._cancelled:
                    self._cancelled[request["id"]].set()
                continue
            self._cancelled[request["id"]] = threading.Event()
            self._pool.submit(self._answer, request)

    def _answer(self, request: Request) -> None:
        number = request["id"]
        try:
            if self._cancelled[number].is_set():
                self.say(id=number, event="failed", kind="cancelled", reason="")
                return
            answer = self._scan(number, request)
        except BaseException as error:
            kind = "cancelled" if self._cancelled[number].is_set() else _kind(error)
            self.say(id=number, event="failed", kind=kind, reason=_text(error))
        else:
            self.say(id=number, event="answer", **answer)
        finally:
            self._cancelled.pop(number, None)

    def _scan(self, number: str, request: Request) -> dict[str, Any]:
        if self._session is None:
            raise RuntimeError("no session")
        if remote := self._settings["remote"]:
            session = SparkSession.builder.remote(remote).create()
            try:
                session.addTag(number)
                session.registerProgressHandler(self._connect_progress(number))
                with self._connect_cancel(session, number):
                    return _run(session, request)
            finally:
                session.stop()
        session = self._session.newSession()
        session.sparkContext.setJobGroup(number, "checkpoint-explorer", True)
        return _run(session, request)

    def _connect_progress(self, number: str) -> Any:
        def told(stages: Any = (), **_: object) -> None:
            # An error in here would be the error of the query.
            with contextlib.suppress(Exception):
                done = sum(stage.num_completed_tasks for stage in stages or ())
                self.say(id=number, event="progress", done=done, known=sum(s.num_tasks for s in stages or ()))

        return told

    @contextlib.contextmanager
    def _connect_cancel(self, session: Any, number: str) -> Any:
        """Interrupts the operations of a Connect session for as long as cancelling is asked for."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(LOOK_SECONDS):
                asked = self._cancelled.get(number)
                if asked is not None and asked.is_set():
                    with contextlib.suppress(Exception):
                        session.interruptAll()

        threading.Thread(target=watch, daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    def _watch(self) -> None:
        """Progress of the jobs; and cancelling again and again, as Spark forgets it for a job that has not
        begun."""
        if self._settings["remote"] or self._session is None:
            return
        context = self._session.sparkContext
        tracker = context.statusTracker()
        told: dict[str, tuple[int, int]] = {}
        while True:
            time.sleep(LOOK_SECONDS)
            for number, cancelled in list(self._cancelled.items()):
                with contextlib.suppress(Exception):
                    if cancelled.is_set():
                        context.cancelJobGroup(number)
                        continue
                    done = known = 0
                    for job in tracker.getJobIdsForGroup(number):
                        info = tracker.getJobInfo(job)
                        for stage in info.stageIds if info is not None else ():
                            at = tracker.getStageInfo(stage)
                            done += at.numCompletedTasks if at is not None else 0
                            known += at.numTasks if at is not None else 0
                    if known and told.get(number) != (done, known):
                        told[number] = (done, known)
                        self.say(id=number, event="progress", done=done, known=known)

    def end(self, parent_died: bool = False) -> None:
        """Ends the JVM and removes what it and this process wrote, and the staged copies of a parent that
        died. Does not wait for jobs."""
        if self._process is not None:
            with contextlib.suppress(Exception):
                self._process.kill()
                self._process.wait(10)
        place = self._settings["all_directories" if parent_died else "directory"]
        shutil.rmtree(place, ignore_errors=True)


def _run(session: SparkSession, request: Request) -> dict[str, Any]:
    if request.get("writes_before_4_3") and tuple(map(int, session.version.split(".")[:2])) < (4, 3):
        raise UsageError(say("spark.side_writes"))
    return survey(session, request["survey"]) if "survey" in request else scan(session, request)


def _text(error: BaseException) -> str:
    java = getattr(error, "java_exception", None)
    text = str(error)
    if java is not None:
        with contextlib.suppress(Exception):
            text = str(java.toString())
    return text[:_REASON]


def _kind(error: BaseException) -> str:
    name = type(error).__name__
    text = str(error)
    if isinstance(error, UsageError | NoDeltaError):
        return "refused"
    if "OutOfMemoryError" in text:
        return "memory"
    if any(mark in text for mark in CANCELLED):
        return "cancelled"
    if name in ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError"):
        return "ended"
    return "analysis" if name in ("AnalysisException", "ParseException") else "failed"


def main() -> None:
    """Serves on the standard streams."""
    # Java and libraries print to descriptor 1: from here on that is standard error.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lines = os.fdopen(os.dup(0), "r", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    worker = Worker(out, json.loads(lines.readline() or "{}") or sys.exit(0))
    began = threading.Event()

    def start() -> None:
        if not worker.start():
            worker.end()
            os._exit(1)
        began.set()

    # In a thread of its own, so that a parent that dies while Spark starts is noticed.
    starting = threading.Thread(target=start, daemon=True)
    starting.start()
    inbox: list[str] = []
    arrived = threading.Condition()

    def receive() -> None:
        for line in lines:
            with arrived:
                inbox.append(line)
                arrived.notify()
        worker.end(parent_died=True)
        os._exit(0)

    threading.Thread(target=receive, daemon=True).start()

    def queued() -> Any:
        while True:
            with arrived:
                while not inbox:
                    arrived.wait()
                line = inbox.pop(0)
            yield line

    began.wait()
    worker.run(queued())
    worker.end()
    os._exit(0)


if __name__ == "__main__":
    main()
