"""Incidents for rehearsals: a checkpoint that is damaged, or whose query is changed, rehearsed and then really
restarted; outcome, batch, error and the rows of each batch are compared.

The rehearsal comes first, on the original; the restart then is that of the original itself. Before and between,
the content of checkpoint, source and sink is compared.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.kafka.scene import QUICK, Scene, Stage
from tests.spark.cases import CASES, Case
from tests.support import damage as d
from tests.support.changed_queries import PROVEN, Changes, as_json
from tests.support.copies import copy_of
from tests.support.delta import PYTHON, TABLE_TO_TABLE, DeltaEngine, delta_jars
from tests.support.oracle import RECIPES, SCHEMA, Fact, Oracle, Rows, delivered, ids
from tests.support.rehearsed import FILES, NEW, TOTALS, single, tree
from tests.support.spark import PROJECT, connector_jars

if TYPE_CHECKING:
    from tests.support.kafka import Broker

WINDOWS = single(
    "(df.withWatermark('t', '5 minutes').groupBy(F.window('t', '10 minutes'), 'k')"
    ".agg(F.count('*').alias('n'), F.sum('v').alias('s'))"
    ".select('k', F.col('window.start').cast('string').alias('w'), 'n', 's'))"
)
QUERIES = {
    "stateless": single("df"),
    "windows": WINDOWS,
    "windows_rocksdb": WINDOWS,
    "windows_changelog": WINDOWS,
    "windows_format_2": WINDOWS,
    "dedup": single("df.dropDuplicates(['id'])"),
}
"""The queries of the oracle's bases, as files."""
UTC = ("spark.sql.session.timeZone=UTC", "spark.sql.shuffle.partitions=2")


def is_plain(case: Case) -> bool:
    """Whether nothing but the checkpoint differs from an undisturbed restart."""
    return case.base in QUERIES and not (
        case.build or case.session or case.hidden or case.edited or case.started_before or case.written_by
    )


DAMAGED = [case for case in CASES if is_plain(case) and case.query.new_data == "yes"]
"""Damaged checkpoints of file sources."""


@dataclass(frozen=True)
class Happened:
    """What a restart, or a rehearsal, did. ``rows``: of each batch that reached the sink, as text."""

    outcome: str
    batch: int | None
    condition: str | None
    error: str
    rows: Mapping[int, Rows]


@dataclass(frozen=True)
class Incident:
    """One checkpoint that is restarted. ``asked``: what `rehearse` is told; ``restart``: the real one, on the
    checkpoint itself; ``kept``: the rows of a rehearsal below its kept output; ``places``: source and sink."""

    name: str
    kind: str
    checkpoint: Path
    query: str
    asked: tuple[str, ...]
    restart: Callable[[], Happened]
    kept: Callable[[Path, tuple[int, ...]], dict[int, Rows]]
    places: tuple[Path, ...] = ()
    outside: Callable[[], object] = field(default=lambda: None)

    def state(self) -> tuple[object, ...]:
        """Content, sizes and times of checkpoint, source and sink."""
        return (tree(self.checkpoint), *(tree(place) for place in self.places), self.outside())


@dataclass(frozen=True)
class Trial:
    """One incident as it went. ``unchanged``: nothing of checkpoint, source and sink differs after the
    rehearsal."""

    name: str
    kind: str
    outcome: str
    batch: int | None
    error: str
    rows: int
    differs: tuple[str, ...]
    unchanged: bool
    removed: bool
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether the rehearsal did what the restart did, and left nothing."""
        return not self.differs and self.unchanged and self.removed


def command(incident: Incident, query: Path, scratch: Path, *more: str, **how: Any) -> subprocess.Popen[str]:
    """The rehearsal as a process of its own, its scratch directories below ``scratch``."""
    words = [sys.executable, "-m", "core", "rehearse", str(incident.checkpoint), "--query", str(query)]
    return subprocess.Popen(
        [*words, *incident.asked, *more, "--json"],
        cwd=PROJECT,
        env={**os.environ, "CHECKPOINT_EXPLORER_SPARK_DIRECTORY": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **how,
    )


def prove(incident: Incident, place: Path, name: str | None = None) -> Trial:
    """Rehearses, restarts, compares."""
    scratch, kept, query = place / "scratch", place / "kept", place / "query.py"
    scratch.mkdir(parents=True)
    query.write_text(incident.query, encoding="utf-8")
    before = incident.state()
    began = time.monotonic()
    process = command(incident, query, scratch, "--batches", "50", "--keep", str(kept))
    out, err = process.communicate(timeout=300)
    seconds = time.monotonic() - began
    assert out, (incident.name, process.returncode, err)
    answer = json.loads(out)
    unchanged = incident.state() == before and answer["original_unchanged"]
    left = [*scratch.iterdir(), *kept.glob("temporary")]
    ran = rehearsed(incident, answer, kept)
    real = incident.restart()
    return Trial(
        name or incident.name,
        incident.kind,
        real.outcome,
        real.batch,
        real.condition or real.error,
        sum(map(len, real.rows.values())),
        tuple(differences(ran, real)),
        unchanged,
        not left,
        round(seconds, 1),
    )


def rehearsed(incident: Incident, answer: Mapping[str, Any], kept: Path) -> Happened:
    """What the rehearsal says, with the rows that it kept."""
    error = answer["error"]
    batches = [batch["id"] for batch in answer["batches"] if batch["output_rows"]]
    if error is not None and error["output_rows"]:
        batches.append(error["batch"])
    rows = incident.kept(kept / "new/output", tuple(batches)) if batches else {}
    condition = error["condition"] if error is not None else None
    return Happened(
        answer["outcome"], answer["batch_id"], condition, error["text"] if error is not None else "", rows
    )


def differences(ran: Happened, real: Happened) -> list[str]:
    """In what the rehearsal was not the restart."""
    found = []
    if ran.outcome != real.outcome:
        found.append(f"outcome {ran.outcome}, really {real.outcome}")
    if ran.batch != real.batch:
        found.append(f"batch {ran.batch}, really {real.batch}")
    if bool(ran.error) != bool(real.error):
        found.append(f"error {ran.error[:200]!r}, really {real.error[:200]!r}")
    elif ran.condition != real.condition and (real.condition or real.error) not in ran.error:
        found.append(f"error {ran.error[:200]!r}, really {real.condition or real.error}")
    if dict(ran.rows) != {number: rows for number, rows in real.rows.items() if rows}:
        found.append(f"rows {dict(ran.rows)}, really {dict(real.rows)}"[:400])
    return found


def as_asked(answers: Mapping[str, str], conf: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Answers and settings as options of the command line."""
    words = [part for name, value in answers.items() for part in ("--set", f"{name}={value}")]
    words += [part for name, value in (conf or {}).items() for part in ("--conf", f"{name}={value}")]
    return (*words, *(part for each in UTC for part in ("--conf", each)))


def of_fact(fact: Fact) -> Happened:
    """A restart of the oracle."""
    error = fact.error
    condition = error.condition if error is not None else None
    text = error.error_class if error is not None else ""
    return Happened(fact.outcome, fact.first_batch, condition, text, fact.delivered)


def of_files(output: Path, _batches: tuple[int, ...]) -> dict[int, Rows]:
    """Rows that Spark's file sink wrote as JSON, by its log."""
    return {number: rows for number, rows in delivered(output).items() if rows}


# ---------------------------------------------------------------- damaged checkpoints of files


def damaged(oracle: Oracle, case: Case, place: Path, *, with_sink: bool = False) -> Incident:
    """A case of the oracle: the checkpoint of a query on files, damaged. ``with_sink``: the sink is the one
    that has the rows already, and is named."""
    base = oracle.base_of(RECIPES[case.base])
    checkpoint = copy_of(base.checkpoint, place / "ck")
    case.damage(checkpoint)
    answers = {
        "source.0.format": "json",
        "source.0.path": str(base.root / "in"),
        "source.0.schema": SCHEMA,
        "source.0.option.maxFilesPerTrigger": "1",
        "output_mode": "append",
        "sink": "file",
        "sink_format": "json",
    }
    words = as_asked(answers, base.recipe.restart_conf)
    name, source = f"{case.base}: {case.name.replace('_', ' ')}", base.root / "in"
    if not with_sink:
        return Incident(
            name,
            "files to a new directory",
            checkpoint,
            QUERIES[case.base],
            words,
            lambda: of_fact(oracle.restart(base, checkpoint)),
            of_files,
            (source,),
        )
    sink = copy_of(base.root / "out", place / "out")
    seen = set(ids(sink / "_spark_metadata"))

    def restart() -> Happened:
        logs = Logs(checkpoint)
        fact = oracle.restart(base, checkpoint, output=sink)
        happened = logs.happened(
            bool(fact.causes), of_fact(fact).condition, in_batch=fact.fails_at == "batch"
        )
        return replace(
            happened, rows={n: rows for n, rows in fact.delivered.items() if n not in seen and rows}
        )

    def kept(output: Path, batches: tuple[int, ...]) -> dict[int, Rows]:
        return {number: rows for number, rows in of_files(output, batches).items() if number not in seen}

    words = (*words, "--sink", str(sink))
    places = (source, sink)
    return Incident(name, "files to files", checkpoint, QUERIES[case.base], words, restart, kept, places)


# ---------------------------------------------------------------- changed queries


CHANGED: Mapping[str, str] = {
    "totals: one aggregate more": TOTALS.replace("F.sum('v')", "F.max('id').alias('fresh'), F.sum('v')"),
    "totals_rocksdb: sum becomes max": NEW["totals: sum becomes max"],
    "dedup: another column of the type": NEW["dedup: another column of the type"],
    "windows: longer windows": NEW["windows: longer windows"],
    "totals: a key of another type": TOTALS.replace("F.expr('k')", "F.expr('id')"),
}
"""Changed queries as files, by the names of the changes."""


def changed(changes: Changes, name: str, place: Path) -> Incident:
    """A changed query on the checkpoint of the old one."""
    change = next(each for each in PROVEN if each.name == name)
    root = changes.checkpoint(change.base).parent
    checkpoint = copy_of(changes.checkpoint(change.base), place / "ck")
    answers = dict(each.split("=", 1) for each in FILES) | {"sink": "foreach_merge"}
    answers["output_mode"] = "append" if change.base == "dedup" else "update"

    def restart() -> Happened:
        logs = Logs(checkpoint)
        error, rows = changes.restart_at(change, checkpoint)
        named = [each for each in conditions_in(error) if each != "STREAM_FAILED"]
        happened = logs.happened(error is not None, next(iter(named), None), in_batch=True)
        batch = happened.batch
        return replace(happened, rows={batch: tuple(sorted(rows))} if batch is not None and rows else {})

    def kept(output: Path, batches: tuple[int, ...]) -> dict[int, Rows]:
        frames = {n: changes.session.read.parquet(str(output / f"batch={n}")) for n in batches}
        return {number: tuple(sorted(as_json(frame))) for number, frame in frames.items()}

    words = as_asked(answers, {"spark.sql.shuffle.partitions": "1"})
    return Incident(name, "changed query", checkpoint, CHANGED[name], words, restart, kept, (root / "in",))


class Logs:
    """The logs of a checkpoint before a restart, and what they tell after it."""

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._offsets, self._commits = self._now()

    def _now(self) -> tuple[set[int], set[int]]:
        return set(ids(self._checkpoint / "offsets")), set(ids(self._checkpoint / "commits"))

    def happened(self, has_failed: bool, error: str | None, *, in_batch: bool = False) -> Happened:
        """The first batch is the first one that was committed or planned since; ``in_batch``: it failed in a
        batch, so that without any of these it is the one that was planned before."""
        offsets, commits = self._now()
        committed, planned = commits - self._commits, offsets - self._offsets
        first = min(committed | planned, default=None)
        if in_batch and first is None:
            first = max(offsets - commits, default=None)
        failed = has_failed and not committed
        outcome = "fail" if failed else "rerun" if first in self._offsets else "resume"
        return Happened(outcome, first, error, error or "", {})


def conditions_in(error: str | None) -> list[str]:
    """Every condition that a text names."""
    return re.findall(r"\[([A-Z_0-9]+(?:\.[A-Z_0-9]+)*)\]", error or "")


# ---------------------------------------------------------------- Kafka


KAFKA_QUERY = (
    "def transform(df):\n"
    "    return df.selectExpr('topic', 'partition', 'offset', 'CAST(value AS STRING) AS v')\n"
)


PATIENT = {option: "30000" if option.endswith("timeout.ms") else value for option, value in QUICK.items()}
"""Time enough on a machine that does other things as well."""


def _new_records(scene: Scene) -> None:
    scene.fill("orders", 3)


def _pending(scene: Scene) -> None:
    scene.fill("orders", 3)
    scene.pend()


def _expired(scene: Scene) -> None:
    scene.fill("orders", 6)
    scene.expire("orders", {0: 12, 1: 12})


def _expired_and_pending(scene: Scene) -> None:
    scene.pend()
    scene.expire("orders", {0: 7, 1: 7})


def _previous_missing(scene: Scene) -> None:
    scene.fill("orders", 2)
    scene.pend()
    d.without("offsets/0")(scene.checkpoint)


def _partition_added(scene: Scene) -> None:
    scene.add_partitions("orders", 3)
    scene.fill("orders", 2)


KAFKA: Mapping[str, Callable[[Scene], None]] = {
    "kafka: new records": _new_records,
    "kafka: commit missing": _pending,
    "kafka: records expired before they were read": _expired,
    "kafka: records of the planned batch expired": _expired_and_pending,
    "kafka: previous offsets missing": _previous_missing,
    "kafka: a partition added": _partition_added,
}
"""What happens to topic and checkpoint."""


def of_kafka(stage: Stage, name: str, place: Path) -> Incident:
    """A query that reads a topic of its own on a real broker."""
    scene = stage.scene(re.sub(r"[^a-z0-9]+", "-", f"{name}-{place.parent.name}-{place.name}".lower()))
    KAFKA[name](scene)
    answers = {"source.0.servers": stage.broker.bootstrap, "sink": "file", "sink_format": "json"}
    answers |= {"output_mode": "append", "source.0.option.startingOffsets": "earliest"}
    answers |= {f"source.0.option.{option}": value for option, value in PATIENT.items()}
    jars = ",".join(map(str, connector_jars()))
    return Incident(
        name,
        "Kafka to files",
        scene.checkpoint,
        KAFKA_QUERY,
        as_asked(answers, {"spark.jars": jars}),
        lambda: of_fact(scene.restart(["orders"], PATIENT)),
        of_files,
        (),
        lambda: ends(stage.broker, scene.topic("orders")),
    )


def ends(broker: Broker, topic: str) -> object:
    """Where the partitions of a topic begin and end."""
    return broker.start_offsets(topic), broker.end_offsets(topic)


# ---------------------------------------------------------------- Delta


DELTA_RESTART = """
error, in_batch = None, False
try:
    stream = spark.readStream.format("delta").load(args["source"]).where("id >= 0")
    writer = stream.writeStream.format("delta").partitionBy("p").option("checkpointLocation", args["checkpoint"])
    query = writer.trigger(availableNow=True).start(args["out"])
    try:
        query.awaitTermination()
    finally:
        failed = query._jsq.exception()
        if failed.isDefined():
            frames = [frame.getMethodName() for frame in failed.get().cause().getStackTrace()]
            in_batch = any(name in frame for frame in frames for name in ("runBatch", "constructNextBatch", "executeOneBatch"))
except Exception as raised:
    error = str(raised)
result = [error, in_batch]
"""
DELTA_ROWS = """
import json, os
from pyspark.sql import functions as F
found = {}
log = os.path.join(args["out"], "_delta_log")
for name in sorted(os.listdir(log)) if os.path.isdir(log) else []:
    if not name.endswith(".json"):
        continue
    actions = [json.loads(line) for line in open(os.path.join(log, name)) if line.strip()]
    numbers = [a["txn"]["version"] for a in actions if "txn" in a]
    version = int(name.split(".")[0])
    if numbers and version:
        read = lambda at: spark.read.format("delta").option("versionAsOf", at).load(args["out"])
        new = read(version).exceptAll(read(version - 1))
        found[numbers[0]] = sorted(row[0] for row in new.select(F.to_json(F.struct("*"))).collect())
result = found
"""


def _commit_missing(checkpoint: Path, _source: Path) -> None:
    d.without("commits/{n}")(checkpoint)


def _previous_of_pending_missing(checkpoint: Path, _source: Path) -> None:
    d.without("commits/{n}", "offsets/{n-1}")(checkpoint)


def _versions_gone(_checkpoint: Path, source: Path) -> None:
    shutil.rmtree(source / "_delta_log")


def _file_gone(checkpoint: Path, source: Path) -> None:
    log = (source / "_delta_log" / f"{2:020}.json").read_text(encoding="utf-8").splitlines()
    added = next(json.loads(line)["add"]["path"] for line in log if '"add"' in line)
    (source / added).unlink()


def _nothing(_checkpoint: Path, _source: Path) -> None:
    """New rows wait."""


DELTA: Mapping[str, Callable[[Path, Path], None]] = {
    "delta: new rows": _nothing,
    "delta: commit missing, the table has the batch": _commit_missing,
    "delta: previous offsets missing": _previous_of_pending_missing,
    "delta: the log of the source is gone": _versions_gone,
    "delta: a data file of the source is gone": _file_gone,
}
"""What happens to checkpoint and source table."""


def of_delta(engine: DeltaEngine, name: str, place: Path) -> Incident:
    """A query from one Delta table to another, on the Spark that has Delta."""
    places = {each: place / each for each in ("source", "out", "checkpoint")}
    named = {each: str(path) for each, path in places.items()}
    engine.run(TABLE_TO_TABLE, **named)
    DELTA[name](places["checkpoint"], places["source"])
    seen = {int(number) for number in engine.run(DELTA_ROWS, out=named["out"])}

    def rows_of(out: Path) -> dict[int, Rows]:
        found = engine.run(DELTA_ROWS, out=str(out))
        return {int(n): tuple(rows) for n, rows in found.items() if rows and int(n) not in seen}

    def restart() -> Happened:
        logs = Logs(places["checkpoint"])
        error, in_batch = engine.run(DELTA_RESTART, **named)
        conditions = [each for each in conditions_in(error) if each != "STREAM_FAILED"]
        happened = logs.happened(error is not None, next(iter(conditions), None), in_batch=in_batch)
        text = (error or "").split("terminated with exception: ")[-1].partition("\n")[0]
        return replace(happened, error=happened.error or text[:100].strip(), rows=rows_of(places["out"]))

    conf = {
        "spark.jars": ",".join(map(str, delta_jars())),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    answers = {"source.0.path": named["source"], "output_mode": "append"}
    words = (*as_asked(answers, conf), "--sink", named["out"], "--python", str(PYTHON))
    return Incident(
        name,
        "Delta to Delta",
        places["checkpoint"],
        "def transform(df):\n    return df.where('id >= 0')\n",
        words,
        restart,
        lambda output, _batches: rows_of(output),
        (places["source"], places["out"]),
    )
