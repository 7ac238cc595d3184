"""Delta pipelines that are broken on purpose: what the forecast says about a copy, and what Spark then does
with it.

A base is made once per run, with real Delta: commits of ten rows each, a query that copies them, and a stop
in the middle. Each case copies the base, damages the copy, asks the forecast with both tables at hand,
restarts the query on Spark and compares.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from deltalake import DeltaTable

from core.analysis.forecast import Forecast, Query, forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.delta.log import DeltaLog
from core.errors import StorageError
from tests.support.delta import DeltaEngine

# Names in scripts: put() commits rows, run() copies what is there until a row `stop_at` or above is met,
# mark() writes a log checkpoint.
TOOLS = """
import json, os, shutil
spark.sparkContext.setLogLevel("OFF")
conf = args.get("conf", {})
session = spark.newSession() if conf else getattr(spark, "proof_session", None)
if session is None:
    session = spark.proof_session = spark.newSession()
session.conf.set("spark.sql.streaming.pollingDelay", "1ms")
for key, value in conf.items():
    session.conf.set(key, value)

def put(first, last, files=1, table=None):
    rows = session.range(first, last).selectExpr("id", "id as seq")
    rows = rows.coalesce(1) if files == 1 else rows.repartitionByRange(files, "id")
    rows.write.format("delta").mode("append").save(table or args["source"])

def mark(table=None, part_size=None, top_level=None):
    # Delta asks the active session for these, which is not the one of this script.
    given = {"spark.databricks.delta.checkpoint.partSize": part_size, "spark.databricks.delta.checkpointV2.topLevelFileFormat": top_level}
    for key, value in given.items():
        if value is not None:
            spark.conf.set(key, value)
    session._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, table or args["source"]).checkpoint()
    for key, value in given.items():
        if value is not None:
            spark.conf.unset(key)

def as_v2(table):
    session.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.checkpointPolicy' = 'v2')")

def causes_of(error):
    found = []
    while error is not None and len(found) < 8:
        def call(name):
            try:
                return getattr(error, name)()
            except Exception:
                return None
        name = error.getClass().getName().rsplit(".", 1)[-1]
        found.append([name, call("getCondition"), call("getSqlState"), error.getMessage() or ""])
        error = error.getCause()
    return found

def java_of(error):
    return getattr(error, "_origin", None) or getattr(error, "java_exception", None)

def run(stop_at=None, shape=None, checkpoint=None, sink=None, **options):
    answer = {"causes": [], "fails_at": None, "failed_batch": None, "rows": {}}
    try:
        reader = session.readStream.format("delta")
        for name, value in options.items():
            reader = reader.option(name, value)
        frame = reader.load(args["source"])
        if shape:
            frame = shape(frame)
        else:
            frame = frame.selectExpr("id" if stop_at is None else f"if(id >= {stop_at}, raise_error('stop'), id) as id")
        writer = frame.writeStream.format("delta").outputMode(args.get("mode", "append"))
        writer = writer.option("checkpointLocation", checkpoint or args["checkpoint"]).trigger(availableNow=True)
        query = writer.start(sink or args["sink"])
    except Exception as error:
        return {**answer, "causes": causes_of(java_of(error)), "fails_at": "start"}
    try:
        query.awaitTermination()
    except Exception:
        pass
    answer["rows"] = {p["batchId"]: p["numInputRows"] for p in map(json.loads, (p.json for p in query.recentProgress))}
    failed = query._jsq.exception()
    if failed.isDefined():
        cause = failed.get().cause()
        answer["causes"] = causes_of(cause)
        frames = [frame.getMethodName() for frame in cause.getStackTrace()]
        answer["fails_at"] = "batch" if any("executeOneBatch" in name for name in frames) else "start"
        if answer["fails_at"] == "batch":
            answer["failed_batch"] = query._jsq.streamingQuery().getLatestExecutionContext().batchId()
    return answer

def ids_of(table):
    return sorted(row[0] for row in session.read.format("delta").load(table).select("id").collect())
"""
# What a restart writes is read by delta-rs, so the table's own checksums are left out there; the damage was
# done before.
RESTART = (
    TOOLS + "\nchecksums = 'spark.databricks.delta.writeChecksumFile.enabled'\nsession.conf.set(checksums,"
    " 'false')\ntry:\n    result = run(**args['options'])\nfinally:\n    session.conf.unset(checksums)\n"
)


@dataclass(frozen=True)
class Fact:
    """What Spark did: the chain of exceptions, when, in which batch; what the sink holds afterwards and which
    versions it has."""

    causes: tuple[tuple[str, str | None, str | None, str], ...]
    fails_at: str | None
    failed_batch: int | None
    rows: Mapping[int, int]
    ids: tuple[int, ...]
    epochs: tuple[tuple[str, int], ...]

    @property
    def condition(self) -> str | None:
        """The condition of the first exception that has one."""
        return self.said[1] if self.causes else None

    @property
    def said(self) -> tuple[str, str | None, str | None, str]:
        """The exception with that condition, else the first one. What the sink puts around a failure while it
        writes counts only when there is nothing else."""
        inner = [cause for cause in self.causes if cause[1] != "TASK_WRITE_FAILED"] or self.causes
        return next((cause for cause in inner if cause[1]), inner[0])

    def against(self, expected: range) -> tuple[int, int]:
        """Rows lost and rows repeated."""
        counts = Counter(self.ids)
        return sum(i not in counts for i in expected), sum(counts.values()) - len(counts)


@dataclass
class Case:
    """A copy of a base to damage and to restart. ``expected``: the rows that an undisturbed query would have
    copied once the restart ends."""

    engine: DeltaEngine
    place: Path
    expected: range
    options: dict[str, Any] = field(default_factory=dict)
    conf: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    sink_name: str = "sink"

    @property
    def source(self) -> Path:
        return self.place / "source"

    @property
    def sink(self) -> Path:
        return self.place / self.sink_name

    @property
    def checkpoint(self) -> Path:
        return self.place / "checkpoint"

    # Damage

    def log(self, version: int, table: str = "source", end: str = "json") -> Path:
        """A file of a table's log."""
        return self.place / table / "_delta_log" / f"{version:020d}.{end}"

    def forget_commit(self, *batches: int) -> None:
        """Takes commit files away, as a crash after the sink's write leaves it."""
        for batch in batches:
            remove(self.checkpoint / "commits" / str(batch))

    def rewind(self, to: int) -> None:
        """Takes offsets and commits after ``to`` away."""
        for name in ("offsets", "commits"):
            for path in (self.checkpoint / name).iterdir():
                if path.name.isdigit() and int(path.name) > to:
                    remove(path)

    def new_id(self) -> None:
        """Another query id in metadata."""
        path = self.checkpoint / "metadata"
        remove(path)
        path.write_text('{"id":"11111111-2222-4333-8444-555555555555"}', encoding="utf-8")

    def offset(self, batch: int, **fields: object) -> None:
        """Edits the offset line of a batch."""
        path = self.checkpoint / "offsets" / str(batch)
        lines = path.read_text(encoding="utf-8").split("\n")
        lines[2] = json.dumps({**json.loads(lines[2]), **fields}, separators=(",", ":"))
        remove(path)
        path.write_text("\n".join(lines), encoding="utf-8")

    def offset_line(self, batch: int) -> dict[str, Any]:
        """The offset line of a batch."""
        value: dict[str, Any] = json.loads(
            (self.checkpoint / "offsets" / str(batch)).read_text(encoding="utf-8").split("\n")[2]
        )
        return value

    def clean(self, before: int, table: str = "source", with_checkpoints: bool = False) -> None:
        """Takes the commits below ``before`` out of a table's log, as its retention does; the newest log
        checkpoint stays."""
        for path in (self.place / table / "_delta_log").iterdir():
            match = re.match(r"\.?(\d{20})\.(json|crc)", path.name)
            if match and int(match[1]) < before:
                path.unlink()
        if with_checkpoints:
            self.drop_checkpoints(table)

    def drop_checksums(self, table: str = "sink") -> None:
        """Takes the table's own checksums away, which other writers do not make."""
        for path in (self.place / table / "_delta_log").iterdir():
            if path.name.endswith(".crc"):
                path.unlink()

    def drop_checkpoints(self, table: str = "source") -> None:
        """Takes all log checkpoints away."""
        for path in (self.place / table / "_delta_log").iterdir():
            if "checkpoint" in path.name:
                path.unlink()

    def cut(self, after: int, table: str = "source") -> None:
        """Makes a table an older copy of itself: all versions after ``after`` are taken away."""
        for path in (self.place / table / "_delta_log").iterdir():
            match = re.match(r"\.?(\d{20})\.", path.name)
            if (match and int(match[1]) > after) or path.name.strip(".").startswith("_last_checkpoint"):
                path.unlink()

    def sql(self, *statements: str) -> None:
        """Runs statements with {source} and {sink} filled in."""
        filled = [
            text.format(source=f"delta.`{self.source}`", sink=f"delta.`{self.sink}`") for text in statements
        ]
        self.script("for text in args['statements']:\n    session.sql(text)\n", statements=filled)

    def put(self, first: int, last: int) -> None:
        """One more commit into the source."""
        self.script("put(args['first'], args['last'])\n", first=first, last=last)

    def script(self, text: str, **args: Any) -> Any:
        """Runs Python text in the second environment, with the tools at hand."""
        return self.engine.run(TOOLS + text, **self.places(), **args)

    def places(self) -> dict[str, str]:
        return {"source": str(self.source), "sink": str(self.sink), "checkpoint": str(self.checkpoint)}

    # The two sides

    def connectors(self) -> ConnectorAnswers:
        """Both tables as they are now; one that cannot be opened is left out."""
        tables, sink = {}, None
        with suppress(StorageError):
            tables["0"] = DeltaLog.open(str(self.source))
        with suppress(StorageError):
            sink = DeltaLog.open(str(self.sink))
        return ConnectorAnswers(tables=tables, sink=sink)

    def forecast(self) -> Forecast:
        """What the forecast says now, under the rules of Spark 4.2."""
        options = {key: str(value) for key, value in self.options.items()}
        given = {"fail_on_data_loss": options.pop("failOnDataLoss", "true") == "true", **self.query}
        query = Query(options={"0": options}, **given)
        return forecast(
            Checkpoint.open(str(self.checkpoint)), spark="4.2", query=query, connectors=self.connectors()
        )

    def restart(self) -> Fact:
        """What Spark does now."""
        answer = self.engine.run(RESTART, **self.places(), options=dict(self.options), conf=self.conf)
        return Fact(
            tuple(tuple(cause) for cause in answer["causes"]),
            answer["fails_at"],
            answer["failed_batch"],
            {int(batch): rows for batch, rows in answer["rows"].items()},
            held(self.sink),
            epochs_of(self.sink),
        )

    def prove(self, change: Callable[[Case], None] | None = None) -> tuple[Forecast, Fact]:
        """Damages the copy, asks the forecast, restarts, and compares the two in all that they both say."""
        if change is not None:
            change(self)
        said = self.forecast()
        before = held(self.sink) if said.outcome == "fail" else None
        fact = self.restart()
        agree(self, said, fact, before)
        return said, fact


def agree(case: Case, said: Forecast, fact: Fact, before: tuple[int, ...] | None) -> None:
    """The forecast and Spark tell the same."""
    story = f"\nforecast: {said.sentence} / then: {said.then}\nSpark: {fact}"
    if said.outcome == "fail":
        assert fact.causes, f"Spark did not fail.{story}"
        assert said.error is not None
        assert (said.error.condition, said.error.sqlstate) == (fact.said[1], fact.said[2]), story
        assert said.error.error_class == fact.said[0], story
        assert said.error.message in " ".join(fact.said[3].split()), story
        assert said.fails_at == fact.fails_at, story
        if fact.failed_batch is not None:
            assert said.batch_id == fact.failed_batch, story
        assert fact.ids == before, f"A failed start changed the sink.{story}"
        return
    if said.then and "fails" in said.then:
        assert (
            fact.causes
            and fact.fails_at == "batch"
            and said.batch_id is not None
            and fact.failed_batch == said.batch_id + 1
        ), story
        return
    assert not fact.causes, f"Spark failed.{story}"
    first = min(fact.rows, default=None)
    assert first is None or first == said.batch_id, story
    lost, repeated = fact.against(case.expected)
    seen = "loss" if lost else "duplicates" if repeated else "exact"
    may_be = {said.data.skip} if said.data.is_sure("skip") else {said.data.skip, "exact"}
    assert said.data.skip == "unknown" or seen in may_be, (
        f"{said.data.skip} was said, {lost} rows lost and {repeated} repeated.{story}"
    )
    if said.sink is not None and said.sink.pending is not None and said.batch_id is not None:
        query_id = json.loads((case.checkpoint / "metadata").read_text(encoding="utf-8"))["id"]
        written = fact.epochs.count((query_id, said.batch_id))
        known = sum(row.batch_id == said.batch_id and row.fate == "written" for row in said.sink.batches)
        assert written - known == (1 if said.sink.pending == "written" else 0), (
            f"{said.sink.pending} was said.{story}"
        )


def held(table: Path) -> tuple[int, ...]:
    """The ids that a table holds, ascending: read by delta-rs and pyarrow, which are none of ours."""
    if not (table / "_delta_log").is_dir():
        return ()
    # A shallow clone names files of another table by full URLs, which delta-rs puts behind the path of the
    # clone.
    files = [uri.rpartition("file:")[2] for uri in DeltaTable(str(table)).file_uris()]
    return tuple(
        sorted(i for path in files for i in pq.read_table(path, columns=["id"]).column("id").to_pylist())
    )


def epochs_of(table: Path) -> tuple[tuple[str, int], ...]:
    """Query and batch of every version that a streaming sink wrote. (delta-rs cannot read the history of a
    clone.)"""
    lines = [
        line
        for path in sorted((table / "_delta_log").glob("*.json"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    found = [json.loads(line).get("commitInfo", {}).get("operationParameters", {}) for line in lines]
    return tuple((item["queryId"], int(item["epochId"])) for item in found if "epochId" in item)


def remove(path: Path) -> None:
    """Takes a file away together with Hadoop's checksum file beside it."""
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def copy(base: Path, place: Path) -> None:
    """A copy of a base with the times of its files."""
    shutil.copytree(base, place)
