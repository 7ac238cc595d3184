"""The process that runs a rehearsed query: started by ``core.rehearsal.process``, never imported by it.

It imports nothing of this project, so that it runs under any Python that has PySpark. The first line of its
input is the request; JSON lines go out: ``phase`` (what it does now), ``ready`` (the version of Spark),
``refused`` (the query file cannot be used), ``ran`` (one for each run), ``failed`` (Spark itself). What Java
and libraries print goes to standard error. It ends when its input does, and removes the scratch directory
then: a parent that died leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

Request = dict[str, Any]

LOOK_SECONDS = 0.1
IN_A_BATCH = ("constructNextBatch", "runBatch", "executeOneBatch")
MOST_ERROR = 60_000  # characters of an error with its causes
SINK_LOG = "_spark_metadata"


class Refused(Exception):  # noqa: N818  (it never leaves this process)
    """The query file cannot be rehearsed; ``kind`` names the sentence of the parent."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind, self.reason = kind, reason


class Worker:
    """One request, its session, and the one way to answer."""

    def __init__(self, request: Request, out: Any, run: Any) -> None:
        self._request, self._out, self._make_run = request, out, run
        self._lock = threading.Lock()
        self._java: Any = None
        self.is_orphan = False

    def say(self, **line: object) -> None:
        """Sends one line."""
        with self._lock, contextlib.suppress(BrokenPipeError, ValueError):
            self._out.write(json.dumps(line) + "\n")
            self._out.flush()

    def run(self) -> None:
        """Starts Spark and runs what is asked for."""
        self.say(event="phase", run="", phase="starting")
        try:
            session = self._session()
        except ImportError as error:
            self.say(event="failed", kind="package", reason=str(error))
            return
        except Exception as error:
            self.say(event="failed", kind="start", reason=str(error))
            return
        self.say(event="ready", version=session.version)
        for asked in self._request["runs"]:
            try:
                self.say(event="ran", run=asked["name"], **self._make_run(self, session, asked).result())
            except Refused as error:
                self.say(event="refused", run=asked["name"], kind=error.kind, reason=error.reason)
                return
            except Exception as error:
                traceback.print_exc()
                self.say(event="failed", kind="run", reason=f"{type(error).__name__}: {error}"[:MOST_ERROR])
                return

    def _session(self) -> Any:
        from pyspark.sql import SparkSession

        request, directory = self._request, self._request["directory"]
        if request["remote"]:
            session = SparkSession.builder.remote(request["remote"]).create()
            for key, value in request["conf"].items():
                session.conf.set(key, value)
            return session
        options = {
            "spark.driver.memory": request["memory"],
            "spark.driver.extraJavaOptions": request["java_options"],
            "spark.local.dir": f"{directory}/local",
            "spark.sql.warehouse.dir": f"{directory}/warehouse",
            "spark.log.level": "ERROR",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.catalogImplementation": "in-memory",
            "spark.sql.streaming.numRecentProgressUpdates": "10000",
            "spark.sql.streaming.pollingDelay": "10ms",
        }
        if request["is_here"]:
            options |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        builder = SparkSession.builder.master(request["master"]).appName("checkpoint-explorer-rehearsal")
        for key, value in {**options, **request["conf"]}.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        self._java = getattr(session.sparkContext._gateway, "proc", None)
        return session

    def end(self, parent_died: bool = False) -> None:
        """Ends the JVM; removes the scratch directory of a parent that died."""
        self.is_orphan = parent_died
        if self._java is not None:
            with contextlib.suppress(Exception):
                self._java.kill()
                self._java.wait(10)
        if parent_died:
            for place in self._request["all_directories"]:
                shutil.rmtree(place, ignore_errors=True)


class Run:
    """One query on one copy."""

    def __init__(self, worker: Worker, session: Any, asked: Request) -> None:
        self._worker, self._session, self._asked = worker, session, asked
        self._sink = asked["sink"]
        self._out = Path(asked["out"])
        self._schema: Any = None

    def result(self) -> dict[str, Any]:
        """What happened."""
        self._say("loading")
        module = self.load(needs=("transform",))
        self._say("planning")
        try:
            frame = self.frame(module)
            self._schema = frame.schema
            writer = self._writer(frame, module)
            self._say("running")
            query = writer.start()
        except Refused:
            raise
        except Exception as error:
            if missing := missing_connector(error):
                raise Refused("no_connector", missing) from error
            return self._ended(error_text(error, None), condition_of(error, None), failed_at="start")
        return self._watched(query)

    def _say(self, phase: str) -> None:
        self._worker.say(event="phase", run=self._asked["name"], phase=phase)

    # the query

    def load(self, needs: tuple[str, ...]) -> Any:
        """The query file as a module, with these functions."""
        path = Path(self._asked["query_file"])
        name = self._asked.get("module") or f"rehearsed_query_{self._asked['name']}"
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise Refused("no_python", "")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
        try:
            spec.loader.exec_module(module)
        except ModuleNotFoundError as error:
            raise Refused("package", str(error.name or error)) from error
        except Refused:
            raise
        except (Exception, SystemExit) as error:
            raise Refused("import", f"{type(error).__name__}: {error}".rstrip(": ")) from error
        needed = [*needs, *(["write_batch"] if self._asked["write_batch"] else [])]
        for function in needed:
            if not callable(getattr(module, function, None)):
                raise Refused("no_function", function)
        with contextlib.suppress(ImportError, AttributeError):
            from pyspark import cloudpickle

            register: Any = cloudpickle.register_pickle_by_value
            register(module)
        return module

    def frame(self, module: Any) -> Any:
        """What ``transform`` of the query file makes of the sources."""
        frames = {source["key"]: self._read(source) for source in self._asked["sources"]}
        given = next(iter(frames.values())) if len(frames) == 1 else frames
        try:
            frame = module.transform(given)
        except Refused:
            raise
        except Exception as error:
            if _is_of_spark(error):
                raise
            raise Refused("transform", f"{type(error).__name__}: {error}") from error
        if not getattr(frame, "isStreaming", False):
            raise Refused("no_stream", type(frame).__name__)
        return frame

    def _read(self, source: Request) -> Any:
        options = dict(source["options"])
        for option, variable in source["secrets"].items():
            if variable not in os.environ:
                raise Refused("secret", variable)
            options[option] = os.environ[variable]
        reader = self._session.readStream.format(source["format"]).options(**options)
        if source["schema"] is not None:
            reader = reader.schema(source["schema"])
        if source["name"]:
            self._session.conf.set("spark.sql.streaming.queryEvolution.enableSourceEvolution", "true")
            reader = reader.name(source["name"])
        return reader.load(source["path"]) if source["path"] is not None else reader.load()

    def _writer(self, frame: Any, module: Any) -> Any:
        asked, sink = self._asked, self._sink
        writer = frame.writeStream.outputMode(asked["output_mode"]).trigger(availableNow=True)
        writer = writer.option("checkpointLocation", asked["checkpoint"])
        if sink["as"] == "recorded":
            user = module.write_batch if asked["write_batch"] else None
            return writer.foreachBatch(_recorder(str(self._out), user))
        if sink["as"] == "delta":
            self._session.read.format("delta").load(str(self._out))  # whether there is a Delta at all
        writer = writer.format(sink["format"]).options(**sink["options"]).option("path", str(self._out))
        return writer.partitionBy(*sink["partition_by"]) if sink["partition_by"] else writer

    # while it runs

    def _watched(self, query: Any) -> dict[str, Any]:
        most, error, condition = self._asked["batches"], None, None
        stopped = "no_more_data"
        try:
            while not query.awaitTermination(LOOK_SECONDS):
                if len(self._executed(query)) >= most:
                    stopped = "batches"
                    query.stop()
                    break
        except Exception as raised:
            error, condition = error_text(raised, query), condition_of(raised, query)
            stopped = "error"
        executed = dict(list(self._executed(query).items())[:most])
        failed_at, failed_batch = _place_of_failure(query) if error is not None else (None, None)
        with contextlib.suppress(Exception):
            query.stop()
        self._say("counting")
        return self._ended(error, condition, failed_at, failed_batch, stopped, executed)

    def _executed(self, query: Any) -> dict[int, Any]:
        found: dict[int, Any] = {}
        for progress in query.recentProgress:
            told = progress if isinstance(progress, dict) else json.loads(progress.json)
            if "addBatch" in told["durationMs"]:
                found[int(told["batchId"])] = told
        return dict(sorted(found.items()))

    def _ended(
        self,
        error: str | None = None,
        condition: str | None = None,
        failed_at: str | None = None,
        failed_batch: int | None = None,
        stopped: str = "error",
        executed: dict[int, Any] | None = None,
    ) -> dict[str, Any]:
        executed = executed or {}
        columns, rows = self._rows(list(executed))
        return {
            "error": error,
            "condition": condition,
            "failed_at": failed_at,
            "failed_batch": failed_batch,
            "failed_rows": self._reached(failed_batch),
            "stopped": stopped,
            "columns": columns,
            "batches": [
                {
                    "id": number,
                    "input_rows": sum(int(s.get("numInputRows") or 0) for s in told["sources"]),
                    "output_rows": rows.get(number),
                    "seconds": int(told["durationMs"].get("triggerExecution", 0)) / 1000,
                    "watermark": (told.get("eventTime") or {}).get("watermark"),
                    "ends": [s.get("endOffset") for s in told["sources"]],
                    "operators": [
                        {
                            "name": operator.get("operatorName"),
                            "rows": operator.get("numRowsTotal"),
                            "updated": operator.get("numRowsUpdated"),
                            "removed": operator.get("numRowsRemoved"),
                            "dropped_as_late": operator.get("numRowsDroppedByWatermark"),
                        }
                        for operator in told.get("stateOperators") or ()
                    ],
                }
                for number, told in executed.items()
            ],
        }

    # what it has written

    def _reached(self, number: int | None) -> int | None:
        """The rows of a failed batch that had reached the sink whole; None where that cannot be said."""
        if number is None or (self._sink["as"] == "recorded" and not self._is_recorded(number)):
            return None if number is None else 0
        with contextlib.suppress(Exception):
            frame = self._frames([number]).get(number)
            return 0 if frame is None else int(frame.count())
        return None

    def _is_recorded(self, number: int) -> bool:
        return (self._out / f"batch={number}" / "_SUCCESS").is_file()

    def _rows(self, batches: list[int]) -> tuple[list[str], dict[int, int]]:
        """Columns, and rows per batch; with them in one JSON file per batch where they are compared."""
        columns = list(self._schema.fieldNames()) if self._schema is not None else []
        counted: dict[int, int] = {}
        frames = self._frames(batches)
        for number in batches:
            frame = frames.get(number)
            if frame is None:
                counted[number] = 0
            elif self._asked["rows"] is None:
                counted[number] = frame.count()
            else:
                counted[number] = self._dump(frame, Path(self._asked["rows"]) / f"{number}.jsonl")
        return columns, counted

    def _dump(self, frame: Any, target: Path) -> int:
        from pyspark.sql import functions

        target.parent.mkdir(parents=True, exist_ok=True)
        options = {"timeZone": "UTC", "ignoreNullFields": "false"}
        made = frame.select(functions.to_json(functions.struct("*"), options).alias("row"))
        most, number = self._asked["most_rows"], 0
        with target.open("w", encoding="utf-8") as file:
            for row in made.toLocalIterator():
                number += 1
                if number <= most:
                    file.write(row[0] + "\n")
        return number

    def _frames(self, batches: list[int]) -> dict[int, Any]:
        if self._sink["as"] == "recorded":
            places = {number: self._out / f"batch={number}" for number in batches}
            return {n: self._session.read.parquet(str(p)) for n, p in places.items() if p.is_dir()}
        if self._sink["as"] == "delta":
            return self._delta_frames(batches)
        return self._file_frames(batches)

    def _file_frames(self, batches: list[int]) -> dict[int, Any]:
        """By the log of the file sink: what a batch has added to it below this directory."""
        log, seen = self._out / SINK_LOG, set()
        frames: dict[int, Any] = {}
        for number in batches:
            files = [p for p in (log / str(number), log / f"{number}.compact") if p.is_file()]
            here = []
            for line in files[0].read_text(encoding="utf-8").splitlines()[1:] if files else ():
                path = unquote(urlparse(json.loads(line)["path"]).path)
                if path.startswith(f"{self._out}/") and path not in seen:
                    seen.add(path)
                    here.append(path)
            if here:
                reader = self._session.read.format(self._sink["format"]).options(**self._sink["options"])
                reader = reader.option("basePath", str(self._out))
                frames[number] = (reader if self._is_text else reader.schema(self._schema)).load(here)
        return frames

    @property
    def _is_text(self) -> bool:
        return bool(self._sink["format"] == "text")

    def _delta_frames(self, batches: list[int]) -> dict[int, Any]:
        """By the transactions in the log of the table: the table after a batch without what it had before."""
        frames: dict[int, Any] = {}
        for path in sorted((self._out / "_delta_log").glob("*.json")):
            version = int(path.stem)
            actions = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
            numbers = {int(a["txn"]["version"]) for a in actions if "txn" in a}
            for number in numbers & set(batches) if version else ():
                after = self._table(version)
                is_whole = self._asked["output_mode"] == "complete"
                frames[number] = after if is_whole else after.exceptAll(self._table(version - 1))
        return frames

    def _table(self, version: int) -> Any:
        return self._session.read.format("delta").option("versionAsOf", version).load(str(self._out))


def _recorder(out: str, user: Any) -> Any:
    """Writes each batch as Parquet; then hands it to the user's function, where that was allowed."""

    def write(frame: Any, batch_id: int) -> None:
        from pyspark.sql import functions

        names = frame.columns
        if len({name.lower() for name in names}) < len(names):
            frame_kept = frame.toDF(*[f"{name}_{at}" for at, name in enumerate(names)])
        else:
            frame_kept = frame
        for name, kind in frame_kept.dtypes:
            if kind == "void":
                frame_kept = frame_kept.withColumn(name, functions.lit(None).cast("string"))
        if user is not None:
            frame.persist()
        try:
            frame_kept.write.mode("overwrite").parquet(f"{out}/batch={batch_id}")
            if user is not None:
                code = getattr(user, "__code__", None)
                if code is not None and code.co_argcount >= 3:
                    context = frame.sparkSession.sparkContext
                    user(frame, batch_id, context.getLocalProperty("sql.streaming.queryId"))
                else:
                    user(frame, batch_id)
        finally:
            if user is not None:
                frame.unpersist()

    return write


def _is_of_spark(error: BaseException) -> bool:
    return type(error).__module__.split(".")[0] in ("pyspark", "py4j")


def missing_connector(error: BaseException) -> str:
    """The format that this Spark cannot read or write; empty for any other error."""
    found = re.search(
        r"(?:DATA_SOURCE_NOT_FOUND\] )?Failed to find (?:the )?data source: ([\w.-]+)", str(error)
    )
    return found[1].rstrip(".") if found else ""


def _java_error(query: Any) -> Any:
    with contextlib.suppress(Exception):
        option = query._jsq.exception()
        if option.isDefined():
            return option.get().cause()
    return None


def error_text(error: BaseException, query: Any) -> str:
    """The error with its causes, as a log shows it."""
    lines = [str(error)]
    for number, java in enumerate(_chain(error, query)):
        with contextlib.suppress(Exception):
            lines.append(("Caused by: " if number or query is not None else "") + str(java.toString()))
    return "\n".join(lines)[:MOST_ERROR]


def condition_of(error: BaseException, query: Any) -> str | None:
    """The first condition that one of the causes has; not every text names its own."""
    for java in _chain(error, query):
        for method in ("getCondition", "getErrorClass"):  # the name up to 3.5
            with contextlib.suppress(Exception):
                found = getattr(java, method)()
                if found is not None and not str(found).startswith("_LEGACY"):
                    return str(found)
    return None


def _chain(error: BaseException, query: Any) -> list[Any]:
    """The Java exceptions that a query died of, outermost first; none where this Spark does not tell."""
    java = _java_error(query) if query is not None else None
    if java is None:
        java = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    found: list[Any] = []
    while java is not None and len(found) < 20:
        found.append(java)
        try:
            java = java.getCause()
        except Exception:
            break
    return found


def _place_of_failure(query: Any) -> tuple[str | None, int | None]:
    """Whether a batch had begun, by Spark's own frames, and which; None where this Spark does not tell (Spark
    Connect)."""
    java = _java_error(query)
    if java is None:
        return None, None
    frames = [str(frame.getMethodName()) for frame in java.getStackTrace()]
    if not any(method in frame for frame in frames for method in IN_A_BATCH):
        return "start", None
    execution = query._jsq.streamingQuery()
    for number in (lambda: execution.getLatestExecutionContext().batchId(), execution.currentBatchId):
        with contextlib.suppress(Exception):
            return "batch", int(number())
    return "batch", None


def main(run: Any = Run) -> None:
    """Serves the one request on the standard streams; ``run`` is what answers each of its runs."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lines = os.fdopen(os.dup(0), "r", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    sys.dont_write_bytecode = True  # nothing is written beside the query
    first = lines.readline()
    if not first:
        return
    worker = Worker(json.loads(first), out, run)

    def watch() -> None:
        lines.read()
        worker.end(parent_died=True)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    worker.run()
    if worker.is_orphan:  # its thread removes the directory and ends the process
        time.sleep(60)
    worker.say(event="end")
    worker.end()
    os._exit(0)


if __name__ == "__main__":
    main()
