"""The process that analyses two query files and starts neither: run by ``core.rehearsal.plans``, never
imported.

A query file is one with ``transform``, as a rehearsal takes it, or a program that starts its query itself:
then
what it hands to ``start`` or ``toTable`` is kept in the place of a start. Lines, time limit and end are those
of ``rehearsal_worker``, which stands beside this file.

Out go the facts of Spark's analysed plan: its nodes in order (``TreeNode.toJSON``), and beside them what that
JSON lacks: the types of keys, the buffers of aggregates, delays, the options of sources, what a join carries,
and a fingerprint of each Python function.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import re
import sys
from logging import Logger
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.spark import rehearsal_worker as base
else:
    _spec = importlib.util.spec_from_file_location(
        "rehearsal_worker", Path(__file__).with_name("rehearsal_worker.py")
    )
    base = importlib.util.module_from_spec(_spec)
    sys.modules["rehearsal_worker"] = base
    _spec.loader.exec_module(base)

Request = dict[str, Any]

CONFS = (
    "spark.sql.shuffle.partitions",
    "spark.sql.streaming.stateStore.providerClass",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
    "spark.sql.streaming.stateStore.checkpointFormatVersion",
    "spark.sql.streaming.stateStore.encodingFormat",
    "spark.sql.session.timeZone",
)
WRITES = ("save", "saveAsTable", "insertInto", "json", "parquet", "csv", "orc", "text", "xml", "jdbc")
WRITES_V2 = ("create", "replace", "createOrReplace", "append", "overwrite", "overwritePartitions")
_CHANGES_TABLES = re.compile(
    r"\s*(INSERT|MERGE|UPDATE|DELETE|DROP|TRUNCATE|ALTER|COPY|VACUUM|OPTIMIZE|CREATE\s+(OR\s+REPLACE\s+)?TABLE"
    r"|LOAD|RESTORE)\b",
    re.IGNORECASE,
)
DEEPEST = 12  # of what a fingerprint follows


class Started:
    """What a query file gets from ``start``: a query that never runs."""

    id = runId = "00000000-0000-0000-0000-000000000000"  # noqa: N815  (Spark's names)
    name = None
    isActive = False  # noqa: N815
    lastProgress = None  # noqa: N815
    recentProgress: tuple[Any, ...] = ()  # noqa: N815
    status = {"message": "Stopped", "isDataAvailable": False, "isTriggerActive": False}  # noqa: RUF012

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802
        """At once."""
        return True

    def processAllAvailable(self) -> None:  # noqa: N802
        """Nothing is available."""

    def stop(self) -> None:
        """Nothing runs."""

    def exception(self) -> None:
        """There is none."""


class Recorder:
    """Stands in for what starts a query, ends Spark or writes, while a query file is loaded."""

    def __init__(self) -> None:
        self.started: list[dict[str, Any]] = []
        self.refusal: base.Refused | None = None
        self._kept: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Recorder:
        from pyspark.sql import DataFrameWriter, DataFrameWriterV2, SparkSession
        from pyspark.sql.streaming.query import StreamingQueryManager
        from pyspark.sql.streaming.readwriter import DataStreamWriter

        for name in ("format", "outputMode", "queryName", "foreachBatch", "foreach"):
            self._put(DataStreamWriter, name, self._keeps(name))
        for name in ("partitionBy", "clusterBy"):
            self._put(DataStreamWriter, name, self._keeps_all(name))
        self._put(DataStreamWriter, "trigger", self._keeps_all("trigger"))
        self._put(DataStreamWriter, "option", _as_method(self._option))
        self._put(DataStreamWriter, "options", _as_method(self._options))
        self._put(DataStreamWriter, "start", _as_method(self._start))
        self._put(DataStreamWriter, "toTable", _as_method(self._to_table))
        for name in ("awaitAnyTermination", "resetTerminated"):
            self._put(StreamingQueryManager, name, lambda *_args, **_more: True)
        self._put(SparkSession, "stop", lambda _session: None)
        for name in WRITES:
            self._put(DataFrameWriter, name, self._refuses(f".write.{name}"))
        for name in WRITES_V2:
            self._put(DataFrameWriterV2, name, self._refuses(f".writeTo.{name}"))
        sql: Any = SparkSession.sql

        def careful(session: Any, text: Any, *args: Any, **more: Any) -> Any:
            if isinstance(text, str) and (found := _CHANGES_TABLES.match(text)):
                self._refuse(f"spark.sql({found[1].upper()} ...)")
            return sql(session, text, *args, **more)

        self._put(SparkSession, "sql", careful)
        return self

    def __exit__(self, *_: object) -> None:
        for owner, name, value in reversed(self._kept):
            setattr(owner, name, value)

    def _put(self, owner: Any, name: str, value: Any) -> None:
        if hasattr(owner, name):
            self._kept.append((owner, name, getattr(owner, name)))
            setattr(owner, name, value)

    @staticmethod
    def _seen(writer: Any) -> dict[str, Any]:
        found: dict[str, Any] = writer.__dict__.setdefault("_seen_here", {"options": {}})
        return found

    def _keeps(self, name: str) -> Any:
        def keep(writer: Any, value: Any) -> Any:
            self._seen(writer)[name] = value
            return writer

        return keep

    def _keeps_all(self, name: str) -> Any:
        def keep(writer: Any, *args: Any, **more: Any) -> Any:
            self._seen(writer)[name] = [*map(str, args), *(f"{key}={value}" for key, value in more.items())]
            return writer

        return keep

    def _option(self, writer: Any, key: str, value: Any) -> Any:
        self._seen(writer)["options"][str(key).lower()] = str(value)
        return writer

    def _options(self, writer: Any, **more: Any) -> Any:
        for key, value in more.items():
            self._option(writer, key, value)
        return writer

    def _start(
        self,
        writer: Any,
        path: str | None = None,
        format: str | None = None,
        outputMode: str | None = None,  # noqa: N803
        partitionBy: Any = None,  # noqa: N803
        queryName: str | None = None,  # noqa: N803
        **options: Any,
    ) -> Started:
        self._options(writer, **options)
        seen = {**self._seen(writer)}
        given = {"path": path, "format": format, "outputMode": outputMode, "queryName": queryName}
        seen |= {name: value for name, value in given.items() if value is not None}
        self.started.append({"frame": writer._df, **seen})
        return Started()

    def _to_table(self, writer: Any, tableName: str, **more: Any) -> Started:  # noqa: N803
        self._seen(writer)["table"] = tableName
        more.pop("partitionBy", None)
        return self._start(writer, **more)

    def _refuses(self, what: str) -> Any:
        return lambda *_args, **_more: self._refuse(what)

    def _refuse(self, what: str) -> None:
        self.refusal = self.refusal or base.Refused("own_write", what)
        raise self.refusal


class Plan:
    """One query file: loaded, and its plan read."""

    def __init__(self, worker: Any, session: Any, asked: Request) -> None:
        self._worker, self._asked = worker, asked
        self._session = _own_session(session, asked.get("conf") or {})
        self._jvm = self._session._jvm

    def result(self) -> dict[str, Any]:
        """The facts of the query."""
        base_run = base.Run(self._worker, self._session, {"sink": {}, "out": "", **self._asked})
        self._say("loading")
        with Recorder() as recorder:
            try:
                module = base_run.load(needs=())
                self._say("planning")
                wanted = self._wanted(base_run, module, recorder.started)
            except Exception:
                if recorder.refusal is not None:
                    raise recorder.refusal from None
                raise
            if recorder.refusal is not None:  # the file has caught it
                raise recorder.refusal
        frame = wanted.pop("frame")
        if not getattr(frame, "isStreaming", False):
            raise base.Refused("no_stream", type(frame).__name__)
        return {**self._plan(frame, wanted.get("outputMode")), "writer": self._writer(wanted, module)}

    def _say(self, phase: str) -> None:
        self._worker.say(event="phase", run=self._asked["name"], phase=phase)

    def _wanted(self, run: Any, module: Any, started: list[dict[str, Any]]) -> dict[str, Any]:
        """The query that the file builds or starts; of several the one with this checkpoint."""
        if callable(getattr(module, "transform", None)):
            found = {"frame": self._analysed(lambda: run.frame(module)), "options": {}, "by": "transform"}
            user = getattr(module, "write_batch", None)
            return {**found, "foreachBatch": user} if callable(user) else found
        if not started:
            raise base.Refused("no_query", "")
        if len(started) == 1:
            return {**started[0], "by": "start"}
        place = self._asked["location"].rstrip("/")
        mine = [
            each
            for each in started
            if str(each["options"].get("checkpointlocation", "")).rstrip("/") in (place, f"file://{place}")
        ]
        if len(mine) != 1:
            raise base.Refused("many_queries", str(len(started)))
        return {**mine[0], "by": "start"}

    def _analysed(self, made: Any) -> Any:
        try:
            return made()
        except base.Refused:
            raise
        except Exception as error:
            if missing := base.missing_connector(error):
                raise base.Refused("no_connector", missing) from error
            raise base.Refused("transform", base.error_text(error, None)) from error

    # the plan

    def _plan(self, frame: Any, mode: str | None) -> dict[str, Any]:
        execution = frame._jdf.queryExecution()
        analysed = execution.analyzed()
        nodes = json.loads(analysed.toJSON())
        walked = list(_walk(analysed))
        if len(nodes) != len(walked):
            raise base.Refused("plan", "")
        return {
            "nodes": [self._node(told, node) for told, node in zip(nodes, walked, strict=True)],
            "functions": self._functions(walked) if "Python" in json.dumps(nodes) else {},
            "carried": self._carried(execution, walked),
            "schema": json.loads(frame.schema.json()),
            "refused": self._refused(analysed, mode),
            "conf": {name: self._session.conf.get(name, None) for name in CONFS},
        }

    def _node(self, told: dict[str, Any], node: Any) -> dict[str, Any]:
        kind = str(node.getClass().getSimpleName())
        found: dict[str, Any] = {"json": told, "streaming": bool(node.isStreaming())}
        if kind == "Aggregate":
            found["keys"] = [_type(each) for each in _items(node.groupingExpressions())]
            found["buffers"] = [
                json.loads(each.aggregateFunction().aggBufferSchema().json())["fields"]
                for each in _found(_items(node.aggregateExpressions()), "AggregateExpression")
            ]
        elif kind == "EventTimeWatermark":
            watermark = self._jvm.org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
            found["delay_ms"] = int(watermark.getDelayMs(node.delay()))
        elif kind.startswith("TransformWithState"):
            found["arguments"] = {}
            for name in ("outputMode", "timeMode", "userFacingDataType"):
                with contextlib.suppress(Exception):  # before 4.1 there is no such type
                    found["arguments"][name] = str(getattr(node, name)())
        elif kind == "StreamingRelationV2":
            found["source"] = {"kind": str(node.sourceName()), "options": dict(node.extraOptions())}
        elif kind == "StreamingRelation":
            source = node.dataSource()
            pairs = {str(pair._1()).lower(): str(pair._2()) for pair in _items(source.options())}
            found["source"] = {"kind": str(source.className()), "options": pairs}
        return found

    def _carried(self, execution: Any, walked: list[Any]) -> list[dict[str, Any]]:
        """What the joins of two streams carry, which only the optimised plan shows."""
        if not any(_is_join(node) for node in walked):
            return []
        check = "spark.sql.streaming.unsupportedOperationCheck"
        self._session.conf.set(check, "false")
        try:
            return [
                {
                    side: [{"name": str(each.name()), **_type(each)} for each in _items(child.output())]
                    for side, child in (("left", node.left()), ("right", node.right()))
                }
                for node in _walk(execution.optimizedPlan())
                if _is_join(node)
            ]
        finally:
            self._session.conf.unset(check)

    def _refused(self, analysed: Any, mode: str | None) -> dict[str, str | None] | None:
        """What Spark says against this plan in this output mode, which it would say at the start."""
        modes = self._jvm.org.apache.spark.sql.streaming.OutputMode
        made = {"append": modes.Append, "update": modes.Update, "complete": modes.Complete}
        chosen = made.get((mode or "append").lower()) if self._asked.get("checks_mode", True) else None
        if chosen is None:
            return None
        checker = self._jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
        try:
            checker.checkForStreaming(analysed, chosen())
        except Exception as error:
            java = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
            text = str(java.getMessage()) if java is not None else str(error)
            named = re.match(r"\[([A-Z_0-9.]+)\]", text)
            return {"condition": named[1] if named else None, "text": text.splitlines()[0][:600]}
        return None

    def _functions(self, walked: list[Any]) -> dict[str, str]:
        """Fingerprints of Python functions by the id of their result."""
        from pyspark.cloudpickle import loads

        found = {}
        for node in walked:
            for udf in _found(_items(node.expressions()), "PythonUDF", "PythonUDAF", "PythonUDTF"):
                with contextlib.suppress(Exception):
                    command = udf.func().command()
                    if not isinstance(command, bytes | bytearray):
                        command = command.toArray(self._jvm.scala.reflect.ClassTag.Byte())
                    found[str(udf.resultId().id())] = fingerprint(loads(bytes(command)))
        return found

    def _writer(self, wanted: dict[str, Any], module: Any) -> dict[str, Any]:
        code = wanted.get("foreachBatch") or wanted.get("foreach")
        options = wanted["options"]
        return {
            "by": wanted["by"],
            "format": wanted.get("format"),
            "output_mode": wanted.get("outputMode"),
            "query_name": wanted.get("queryName"),
            "trigger": wanted.get("trigger"),
            "path": wanted.get("path") or options.get("path"),
            "table": wanted.get("table"),
            "topic": options.get("topic"),
            "servers": options.get("kafka.bootstrap.servers"),
            "partition_by": wanted.get("partitionBy") or [],
            "code": None if code is None else fingerprint(code),
            "checkpoint": options.get("checkpointlocation"),
            "options": sorted(options),
        }


def _as_method(bound: Any) -> Any:
    """A method of the recorder in the place of a method of the writer, which it is handed."""
    return lambda writer, *args, **more: bound(writer, *args, **more)


def _own_session(session: Any, conf: dict[str, str]) -> Any:
    """A session of its own for one query file, which ``getOrCreate`` of the file finds."""
    from pyspark.sql import SparkSession

    made = session.newSession()
    for key, value in conf.items():
        with contextlib.suppress(Exception):  # settings of the process cannot be set again
            made.conf.set(key, value)
    known: Any = SparkSession
    known._instantiatedSession = known._activeSession = made
    made._jvm.org.apache.spark.sql.SparkSession.setActiveSession(made._jsparkSession)
    made._jvm.org.apache.spark.sql.SparkSession.setDefaultSession(made._jsparkSession)
    return made


def _items(found: Any) -> list[Any]:
    """A Scala collection."""
    at, items = found.iterator(), []
    while at.hasNext():
        items.append(at.next())
    return items


def _walk(node: Any) -> Any:
    yield node
    for child in _items(node.children()):
        yield from _walk(child)


def _found(expressions: list[Any], *kinds: str) -> Any:
    for each in expressions:
        if str(each.getClass().getSimpleName()) in kinds:
            yield each
        else:
            yield from _found(_items(each.children()), *kinds)


def _type(expression: Any) -> dict[str, Any]:
    return {"type": json.loads(expression.dataType().json()), "nullable": bool(expression.nullable())}


def _is_join(node: Any) -> bool:
    sides = str(node.getClass().getSimpleName()) == "Join"
    return sides and bool(node.left().isStreaming()) and bool(node.right().isStreaming())


def fingerprint(value: Any) -> str:
    """The same for code that does the same by its text: names of files and lines are left out."""
    return hashlib.sha256(repr(_shape(value, 0, set())).encode()).hexdigest()[:16]


def _shape(value: Any, depth: int, seen: set[int]) -> Any:
    if isinstance(value, str | bytes | int | float | complex | bool | type(None)):
        return value
    if depth > DEEPEST or id(value) in seen:
        return type(value).__name__
    seen = seen | {id(value)}
    deeper = depth + 1
    if isinstance(value, CodeType):
        consts = [_shape(each, deeper, seen) for each in value.co_consts]
        return (value.co_code, consts, value.co_names, value.co_varnames, value.co_freevars)
    if isinstance(value, MethodType):
        return (_shape(value.__func__, deeper, seen), _shape(value.__self__, deeper, seen))
    if isinstance(value, FunctionType):
        if value.__module__ and value.__module__.split(".")[0] in ("pyspark", "pandas", "numpy", "pyarrow"):
            inside = [_shape(cell.cell_contents, deeper, seen) for cell in value.__closure__ or ()]
            return (value.__module__, value.__qualname__, inside)
        names = _names(value.__code__)
        used = {name: value.__globals__[name] for name in sorted(names) if name in value.__globals__}
        return (
            _shape(value.__code__, deeper, seen),
            [_shape(cell.cell_contents, deeper, seen) for cell in value.__closure__ or ()],
            _shape(value.__defaults__, deeper, seen),
            [(name, _shape(each, deeper, seen)) for name, each in used.items()],
        )
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, type):
        if value.__module__.split(".")[0] in ("pyspark", "pandas", "numpy", "builtins", "abc", "typing"):
            return f"{value.__module__}.{value.__qualname__}"
        own = {
            k: v
            for k, v in vars(value).items()
            if isinstance(v, FunctionType | staticmethod | classmethod) or not k.startswith(("__", "_abc"))
        }
        return (
            value.__name__,
            [(k, _shape(getattr(v, "__func__", v), deeper, seen)) for k, v in own.items()],
            [_shape(each, deeper, seen) for each in value.__bases__],
        )
    if isinstance(value, property):
        return [_shape(each, deeper, seen) for each in (value.fget, value.fset)]
    if isinstance(value, Logger):  # it knows all others, also those of the other file
        return value.name
    if type(value).__module__ == "pyspark.sql.types" and callable(getattr(value, "json", None)):
        return value.json()
    if isinstance(value, list | tuple):
        return [_shape(each, deeper, seen) for each in value]
    if isinstance(value, dict):
        return [(str(key), _shape(each, deeper, seen)) for key, each in value.items()]
    if isinstance(value, set | frozenset):
        return sorted(repr(_shape(each, deeper, seen)) for each in value)
    fields = getattr(value, "__dict__", None)
    return (_shape(type(value), deeper, seen), _shape(fields, deeper, seen) if fields else None)


def _names(code: CodeType) -> set[str]:
    nested = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*nested)


if __name__ == "__main__":
    base.main(Plan)
