"""Asks Spark about the state: one worker process for this process, started at first need and ended when idle;
callers with the same question share one job."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from core.checkpoint import Checkpoint
from core.checkpoint.asked import committed_batch, find_operator
from core.checkpoint.model import OperatorState
from core.errors import (
    CheckpointExplorerError,
    SparkCancelled,
    SparkError,
    SparkNotStarted,
    SparkStopped,
    StagingError,
)
from core.messages import say
from core.settings import Settings
from core.spark.code import spark_place
from core.spark.comparison import compare, has_families, recorded_rows
from core.spark.process import Line, WorkerProcess, is_here
from core.spark.question import StateAnswer, StateQuestion, reader_options, writes_before_4_3
from core.spark.scratch import make_scratch
from core.spark.sql import check_sql
from core.spark.staging import stage

OnProgress = Callable[[str, int, int], None]
IsCancelled = Callable[[], bool]

PREFIX = "checkpoint-explorer-spark-"
_LOOK_SECONDS = 0.1
_ENGINES: dict[Hashable, SparkEngine] = {}
_ENGINES_LOCK = threading.Lock()


class SparkEngine:
    """The way to Spark for all callers of this process. Safe to use from many threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._jobs: dict[Hashable, _Job] = {}
        self._process: WorkerProcess | None = None
        self._users = 0
        self._timer: threading.Timer | None = None
        self._root: Path | None = None
        self._root_lock: Any = None

    @classmethod
    def shared(cls, settings: Settings) -> SparkEngine:
        """The one engine for these settings."""
        key = tuple(sorted((k, str(v)) for k, v in settings if k.startswith("spark_")))
        with _ENGINES_LOCK:
            if key not in _ENGINES:
                _ENGINES[key] = cls(settings)
                atexit.register(_ENGINES[key].stop)
            return _ENGINES[key]

    @property
    def worker_pid(self) -> int | None:
        """The process that holds Spark, None when none runs."""
        process = self._process
        return process.pid if process is not None and process.is_alive else None

    def ask(
        self,
        ck: Checkpoint,
        question: StateQuestion,
        *,
        on_progress: OnProgress | None = None,
        is_cancelled: IsCancelled | None = None,
    ) -> StateAnswer:
        """The answer to one question, after its rows were counted by the files too.

        ``on_progress`` is called with ``staging``, ``starting`` or ``reading``, the tasks done and the tasks
        known. ``is_cancelled`` is asked ten times a second; Spark is stopped when nobody wants the answer any
        more. Raises UsageError (a question that cannot be asked), SparkError (all that can go wrong with
        Spark, in one sentence), RowsDiffer (Spark read other rows than the files record), StorageError.
        """
        _check_batches(ck, question)
        ck.load(_batches(ck, question))
        operator = find_operator(ck, question.operator)
        options = {} if question.metadata else reader_options(operator, question)
        if question.sql is not None:
            check_sql(question.sql)
        key = (ck.location, question)
        with self._lock:
            job = self._jobs.get(key)
            if job is None or not job.join():
                job = self._jobs[key] = _Job(self, ck, operator, question, options)
                job.start()
        told: tuple[str, int, int] | None = None
        while not job.ended.wait(_LOOK_SECONDS):
            if is_cancelled is not None and is_cancelled():
                job.leave()
                raise SparkCancelled(say("spark.cancelled"))
            if on_progress is not None and job.progress != told:
                told = job.progress
                on_progress(*told)
        if job.error is not None:
            raise job.error
        if job.answer is None:
            raise SparkStopped(say("spark.ended", reason=""))
        return job.answer

    def stop(self) -> None:
        """Ends the worker process, if there is one, and removes what was staged."""
        with self._lock:
            process, self._process = self._process, None
            root, self._root = self._root, None
            if self._timer is not None:
                self._timer.cancel()
        if process is not None:
            process.stop()
        if root is not None:
            shutil.rmtree(root, ignore_errors=True)
            self._root_lock.close()

    # for jobs

    def directory(self) -> Path:
        """Where staged copies lie; private, locked for as long as this process lives."""
        with self._lock:
            return self._directory()

    def acquire(self) -> WorkerProcess:
        """A running worker process, started when there is none; :meth:`release` gives it back."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            process = self._process
            if process is None or not process.is_alive:
                root = self._directory()
                if process is not None:
                    process.kill()
                self._process = process = WorkerProcess(self.settings, root / f"process-{uuid4().hex}", root)
            self._users += 1
            return process

    def release(self) -> None:
        """The caller has its answer; the last one starts the clock of the idle end."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._process is not None:
                self._timer = threading.Timer(self.settings.spark_idle_seconds, self._end_idle)
                self._timer.daemon = True
                self._timer.start()

    def forget(self, key: Hashable, job: _Job) -> None:
        """The job has ended: who asks now starts another one."""
        with self._lock:
            if self._jobs.get(key) is job:
                del self._jobs[key]

    def _end_idle(self) -> None:
        with self._lock:
            if self._users:
                return
            process, self._process = self._process, None
        if process is not None:
            process.stop()

    def _directory(self) -> Path:
        if self._root is None or not self._root.exists():
            base = Path(self.settings.spark_directory or tempfile.gettempdir())
            try:
                root, self._root_lock = make_scratch(base, PREFIX)
            except OSError as error:
                reason = error.strerror or type(error).__name__
                raise StagingError(say("spark.no_room", directory=str(base), reason=reason)) from error
            self._root = root
        return self._root


class _Job:
    """One question on its way, and those who wait for its answer."""

    def __init__(
        self,
        engine: SparkEngine,
        ck: Checkpoint,
        operator: OperatorState,
        question: StateQuestion,
        options: Mapping[str, str],
    ) -> None:
        self._engine, self._ck, self._operator = engine, ck, operator
        self._question, self._options = question, options
        self._lock = threading.Lock()
        self._callers = 1
        self._cancelled = False
        self._until = time.monotonic() + engine.settings.spark_seconds
        self._limit_ms = round(engine.settings.spark_seconds * 1000)
        self.ended = threading.Event()
        self.progress: tuple[str, int, int] = ("staging", 0, 0)
        self.answer: StateAnswer | None = None
        self.error: Exception | None = None

    def start(self) -> None:
        """Begins in a thread of its own."""
        threading.Thread(target=self._run, name="spark-job", daemon=True).start()

    def join(self) -> bool:
        """One more waits for the answer; False when the job ends already."""
        with self._lock:
            if self._cancelled or self.ended.is_set():
                return False
            self._callers += 1
            return True

    def leave(self) -> None:
        """One does not want the answer any more; the last one cancels the job."""
        with self._lock:
            self._callers -= 1
            self._cancelled = self._callers <= 0

    def _is_over(self) -> bool:
        return self._cancelled or time.monotonic() > self._until

    def _run(self) -> None:
        began = time.monotonic()
        try:
            self.answer = self._answer(began)
        except CheckpointExplorerError as error:
            self.error = self._too_slow() if isinstance(error, SparkCancelled) else error
        except Exception as error:
            self.error = error
        finally:
            self._engine.forget((self._ck.location, self._question), self)
            self.ended.set()

    def _too_slow(self) -> SparkError:
        if self._cancelled:
            return SparkCancelled(say("spark.cancelled"))
        return SparkStopped(say("spark.too_slow", limit_ms=self._limit_ms))

    def _answer(self, began: float) -> StateAnswer:
        process = self._engine.acquire()
        staged: Path | None = None
        try:
            path, hide = spark_place(self._ck), {}
            if is_here(self._engine.settings):
                directory = self._engine.directory()
                staged = stage(self._ck, self._operator, self._question, directory, self._is_over)
                path, hide = str(staged), {str(staged): self._ck.location.url}
            recorded = recorded_rows(self._ck, self._operator, self._question)
            self.progress = ("starting", 0, 0)
            asks_families = has_families(self._operator) and self._question.snapshot is None
            request = {
                "path": path,
                "options": dict(self._options),
                "format_version": self._operator.format_version,
                "families": asks_families and recorded is not None,
                "partition": self._question.partition,
                "limit": self._question.limit,
                "sql": self._question.sql,
                "metadata": self._question.metadata,
                "writes_before_4_3": staged is None and writes_before_4_3(self._operator, self._question),
            }
            line = self._ask(process, request)
            if line["event"] == "failed" and line["kind"] == "ended" and process.was_ended:
                # Another question could not be cancelled and took the process with it.
                self._engine.release()
                process = self._engine.acquire()
                line = self._ask(process, request)
            if line["event"] == "failed":
                if line["kind"] == "cancelled" or self._is_over():
                    raise SparkCancelled(say("spark.cancelled"))
                error = process.failure(line, hide)
                if line["kind"] in ("ended", "memory"):
                    process.kill()
                raise error
            return self._judged(line, recorded, time.monotonic() - began)
        finally:
            self._engine.release()
            if staged is not None:
                shutil.rmtree(staged, ignore_errors=True)

    def _ask(self, process: WorkerProcess, request: Mapping[str, object]) -> Line:
        try:
            while not process.wait_ready(_LOOK_SECONDS):
                if self._cancelled:
                    raise SparkCancelled(say("spark.cancelled"))
                if self._is_over():
                    settings = self._engine.settings
                    address = settings.spark_remote.partition(";")[0] or settings.spark_master
                    sentence = say("spark.not_ready", address=address, limit_ms=self._limit_ms)
                    raise SparkNotStarted(sentence)
        except SparkError as error:
            if not isinstance(error, SparkCancelled):
                process.kill()
            raise
        self.progress = ("reading", 0, 0)
        number, last = uuid4().hex, threading.Event()
        lines: list[Line] = []

        def listen(line: Line) -> None:
            if line["event"] == "progress":
                self.progress = ("reading", line["done"], line["known"])
            else:
                lines.append(line)
                last.set()

        process.ask(number, request, listen)
        while not last.wait(_LOOK_SECONDS):
            if self._is_over():
                process.cancel(number)
                if not last.wait(self._engine.settings.spark_cancel_seconds):
                    process.kill()
                raise SparkCancelled(say("spark.cancelled"))
        return lines[0]

    def _judged(self, line: Line, recorded: Any, seconds: float) -> StateAnswer:
        question = self._question
        read = {int(p): rows for p, rows in line.get("counts", {}).items()}
        families = {int(p): inside for p, inside in line.get("families", {}).items()}
        compared = dict.fromkeys(read, "unknown")
        if recorded is not None:
            compared = compare(self._operator, question, recorded, read, families)
            read = {partition_id: read.get(partition_id, 0) for partition_id in compared}
        if question.partition is not None:
            read = {p: rows for p, rows in read.items() if p == question.partition}
            compared = {p: how for p, how in compared.items() if p == question.partition}
        columns = _distinct(line["columns"])
        rows = tuple(dict(zip((name for name, _ in columns), row, strict=True)) for row in line["rows"])
        total = sum(read.values())
        is_truncated = bool(line["is_truncated"])
        if question.sql is not None or question.metadata:
            return StateAnswer(
                columns, rows, None if is_truncated else len(rows), is_truncated, read, compared, seconds
            )
        return StateAnswer(columns, rows, total, is_truncated, read, compared, seconds)


def _batches(ck: Checkpoint, question: StateQuestion) -> list[int]:
    """The logs that are read for a question, among them the commits that name its files."""
    first, last = question.changes or (question.batch_id, question.batch_id)
    first = min(first, question.snapshot[0] if question.snapshot is not None else first)
    there = ck.offset_files.keys() | ck.commit_files.keys()
    return sorted(batch for batch in there if first - 1 <= batch <= last)


def _check_batches(ck: Checkpoint, question: StateQuestion) -> None:
    """Spark's reader takes committed batches only, and reads the settings of each from its log."""
    asked = [question.batch_id]
    if question.changes is not None and question.changes[0] <= question.changes[1] <= question.batch_id:
        asked += question.changes
    for batch_id in asked:
        committed_batch(ck, batch_id)


def _distinct(columns: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """A query can give two columns one name; the second becomes ``name_2``."""
    seen: dict[str, int] = {}
    found = []
    for name, kind in columns:
        seen[name] = seen.get(name, 0) + 1
        found.append((name if seen[name] == 1 else f"{name}_{seen[name]}", kind))
    return tuple(found)
