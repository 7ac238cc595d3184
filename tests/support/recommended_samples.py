"""The samples, made again so that their sources and sinks are there, and recovered by the recommended option.

What was committed of a sample is mostly its checkpoint alone. Here the same functions that made it run again, at
the same places; where they write nowhere, the rows go to a sink that appends or overwrites by key. The query is the
sample's, as a file of its own. Truth is a run of that query from the beginning, file by file.
"""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from core.checkpoint import Checkpoint
from core.connectors import ConnectorSettings
from core.connectors.connect import ask_connectors
from core.judgement import judge as judged
from core.recovery import Answers, Option, RecoveryContext, options
from core.storage import parse_location
from scripts.make_samples import SAMPLES as MADE
from scripts.samples.delta import FILL
from scripts.samples.kafka import produce
from scripts.samples.stage import ORDER_SCHEMA, STAGE_ROOT, Stage
from tests.support.delta import DeltaError
from tests.support.kafka import Broker, BrokerError
from tests.support.oracle import CHANGELOG, FORMAT_2, ROCKSDB
from tests.support.recommended_proof import Trial, Tried, judge, taken
from tests.support.recovery_cells import APPEND, Cell, Operator, SinkName
from tests.support.recovery_proof import (
    AFTER,
    SESSION,
    WAITING,
    Engine,
    Pipeline,
    Proof,
    Rows,
    Truths,
    put_back,
)
from tests.support.rehearsal_proof import PATIENT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

WRITE = """
def write_batch(df, batch_id):
    import json, os
    os.makedirs(TARGET, exist_ok=True)
    path = os.path.join(TARGET, "rows.json")
    kept = []
    if os.path.exists(path):
        with open(path) as file:
            kept = [json.loads(line) for line in file]
    new = [json.loads(line) for line in df.toJSON().collect()]
    if KEYS:
        keys = [[row[key] for key in KEYS] for row in new]
        kept = [row for row in kept if [row[key] for key in KEYS] not in keys]
    with open(os.path.join(TARGET, "_next"), "w") as file:
        file.writelines(json.dumps(row) + "\\n" for row in [*kept, *new])
    os.replace(os.path.join(TARGET, "_next"), path)
"""
RUN = """
names = {"__name__": "proof_query"}
with open(args["query"]) as file:
    exec(file.read(), names)
frames = {}
for key, how in args["sources"].items():
    reader = spark.readStream.name(key) if args["named"] else spark.readStream
    reader = reader.format(how["format"]).options(**how["options"])
    if how["schema"]:
        reader = reader.schema(how["schema"])
    frames[key] = reader.load(how["path"]) if how["path"] else reader.load()
frame = names["transform"](next(iter(frames.values())) if len(frames) == 1 else frames)
writer = frame.writeStream.outputMode(args["mode"]).option("checkpointLocation", args["checkpoint"])
if "write_batch" in names:
    writer = writer.foreachBatch(names["write_batch"])
else:
    writer = writer.format(args["format"]).option("path", args["output"])
query = writer.trigger(processingTime="100 milliseconds").start()
try:
    query.processAllAvailable()
    result = None
except Exception as error:
    result = str(error)[:2000]
finally:
    query.stop()
"""
READ = """
import os
result = []
for place in args["places"]:
    names = os.listdir(place) if os.path.isdir(place) else []
    if args["format"] == "json" and "rows.json" in names:
        with open(os.path.join(place, "rows.json")) as file:
            result += file.read().splitlines()
    elif any(not name.startswith((".", "_")) for name in names):
        result += spark.read.format(args["format"]).load(place).toJSON().collect()
"""
HEAD = "from pyspark.sql import functions as F\n"
SCHEMAS = {
    "payments": "paid_order long, paid_at timestamp",
    "visits": "store string, visitor long, seen_at timestamp",
}
More = Callable[[Stage, int], Mapping[str, list[dict[str, Any]]]]


def _orders(stage: Stage, number: int) -> dict[str, list[dict[str, Any]]]:
    return {f"orders-9{number:02}.json": stage.orders(10, minutes_ago=-6 * number)}


def _in_folders(*folders: str) -> More:
    return lambda stage, number: {
        f"{folder}/9{number:02}.json": stage.orders(6, minutes_ago=-6 * number) for folder in folders
    }


def _orders_and_payments(stage: Stage, number: int) -> dict[str, list[dict[str, Any]]]:
    rows = stage.orders(10, minutes_ago=-15 * number)
    paid = [{"paid_order": row["order_id"], "paid_at": row["ordered_at"]} for row in rows[::2]]
    return {f"orders/9{number:02}.json": rows, f"payments/9{number:02}.json": paid}


def _visits(stage: Stage, number: int) -> dict[str, list[dict[str, Any]]]:
    at = stage.orders(1, minutes_ago=-number)[0]["ordered_at"]
    rows = [{"store": "web", "visitor": stage.random.randrange(10**9), "seen_at": at} for _ in range(20)]
    return {f"visits-9{number:02}.json": rows}


@dataclass(frozen=True)
class Sample:
    """The query of a sample, what it reads and writes, and what a user answers.

    ``folders``: below the source, by source key. ``keys``: of a sink that overwrites by key. ``more``: what
    arrives afterwards.
    """

    query: str
    operator: Operator = "stateless"
    sink: SinkName = "append"
    folders: Mapping[str, str] = field(default_factory=lambda: {"0": ""})
    schema: str = ORDER_SCHEMA
    confs: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict)
    more: More = _orders
    after: range = AFTER
    topics: str = ""
    write: str = WRITE
    at_once: str = "1"

    @property
    def mode(self) -> str:
        """The output mode."""
        return "update" if self.keys else "append"


STATEFUL = {"stateful": "unchanged"}
PARTITIONS = "spark.sql.shuffle.partitions"
NO_EMPTY_BATCHES = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
PLAIN = "def transform(df):\n    return df\n"
COUNTED = 'def transform(df):\n    return df.groupBy("store").count()\n'
SAMPLES: Mapping[str, Sample] = {
    "files-stopped-cleanly": Sample('def transform(df):\n    return df.where("amount > 5")\n', sink="file"),
    "files-died-mid-batch": Sample(
        "def transform(df):\n"
        '    tax = F.udf(lambda amount: amount * 1.19, "double", useArrow=False)\n'
        '    return df.withColumn("amount", tax("amount"))\n',
        sink="file",
    ),
    "named-sources": Sample(
        'def transform(sources):\n    return sources["orders"].unionByName(sources["returns"])\n',
        sink="file",
        folders={"orders": "orders", "returns": "returns"},
        confs={"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"},
        more=_in_folders("orders", "returns"),
    ),
    "union-of-two-sources": Sample(
        'def transform(sources):\n    return sources["0"].union(sources["1"])\n',
        sink="file",
        folders={"0": "shop", "1": "web"},
        more=_in_folders("shop", "web"),
    ),
    "dropduplicates-removed": Sample(
        PLAIN,
        operator="dedup",
        confs={PARTITIONS: "3"},
        answers={"stateful": "removed", "what_happened": "query_changed"},
    ),
    "missing-delta-file": Sample(
        'def transform(df):\n    df = df.withWatermark("ordered_at", "30 minutes")\n'
        '    return df.dropDuplicates(["order_id", "ordered_at"])\n',
        operator="dedup",
        confs={PARTITIONS: "4"},
        answers=STATEFUL,
    ),
    "state-format-2": Sample(
        'def transform(df):\n    df = df.withWatermark("ordered_at", "15 minutes")\n'
        '    return df.dropDuplicatesWithinWatermark(["order_id"])\n',
        operator="dedup within watermark",
        confs={**FORMAT_2, **NO_EMPTY_BATCHES},
        answers=STATEFUL,
    ),
    "join-watermark-held-back": Sample(
        "def transform(sources):\n"
        '    orders = sources["0"].withWatermark("ordered_at", "10 minutes")\n'
        '    payments = sources["1"].withWatermark("paid_at", "20 minutes")\n'
        '    near = "paid_order = order_id AND paid_at >= ordered_at AND paid_at <= ordered_at + interval 1 hour"\n'
        "    return orders.join(payments, F.expr(near))\n",
        operator="join",
        folders={"0": "orders", "1": "payments"},
        confs=NO_EMPTY_BATCHES,
        answers=STATEFUL,
        more=_orders_and_payments,
    ),
    "windowed-aggregation-hot-partition": Sample(
        'def transform(df):\n    df = df.withWatermark("seen_at", "30 minutes")\n'
        '    df = df.groupBy(F.window("seen_at", "1 day"), "store")\n'
        '    return df.agg(F.count("*").alias("visits"), F.collect_set("visitor").alias("visitors"))\n',
        operator="windows",
        sink="keyed",
        schema=SCHEMAS["visits"],
        confs={**CHANGELOG, **NO_EMPTY_BATCHES, PARTITIONS: "6"},
        keys=("window", "store"),
        answers=STATEFUL,
        more=_visits,
    ),
    "purged-to-newest-10": Sample(
        COUNTED,
        operator="windows",
        sink="keyed",
        confs={"spark.sql.streaming.minBatchesToRetain": "10"},
        keys=("store",),
        answers=STATEFUL,
    ),
    "hand-made-rewind": Sample(
        COUNTED,
        operator="windows",
        sink="keyed",
        keys=("store",),
        answers=STATEFUL,
        after=range(5, 13),  # up to the version of the snapshot that the abandoned batches left
    ),
    "transform-with-state-timers": Sample(
        "from scripts.samples.sessions import ShopVisits\n"
        'def transform(df):\n    df = df.withWatermark("ordered_at", "2 minutes").groupBy("store")\n'
        "    return df.transformWithState(\n"
        '        ShopVisits(), "store string, orders long, total double", "Append", "EventTime"\n    )\n',
        operator="transformWithState",
        confs=ROCKSDB,
        answers=STATEFUL,
    ),
    "kafka-pipeline-died-mid-batch": Sample(
        "def transform(df):\n"
        '    return df.selectExpr("topic", "partition", "offset", "timestamp", "cast(value as string) as value")\n',
        topics="orders,refunds",
        write=APPEND,
        at_once="90",
    ),
    "kafka-topic-gained-partitions": Sample(
        "def transform(df):\n"
        f'    row = F.from_json(F.col("value").cast("string"), {ORDER_SCHEMA!r}).alias("row")\n'
        '    df = df.select(row).select("row.*").withWatermark("ordered_at", "5 minutes")\n'
        '    return df.groupBy(F.window("ordered_at", "5 minutes"), "store").count()\n',
        operator="windows",
        confs=CHANGELOG,
        answers=STATEFUL,
        topics="orders",
        at_once="1000",
    ),
    "delta-batch-already-in-table": Sample(
        'def transform(df):\n    return df.where("amount > 1")\n',
        sink="delta",
        answers={"source.0.option.startingVersion": "0"},
    ),
    "delta-stopped-in-first-snapshot": Sample(
        'def transform(df):\n    return df.where("amount > 1")\n', sink="delta"
    ),
}
assert set(SAMPLES) == set(MADE)


class ProofStage(Stage):
    """The place of a sample whose rows are kept, and which does not wait for input like a person."""

    write_batch: Callable[[Any, int], None] | None = None

    def into_nothing(self, rows: DataFrame) -> DataStreamWriter:
        assert self.write_batch is not None
        return rows.writeStream.foreachBatch(self.write_batch)

    def pause(self, shortest: float = 0.3, longest: float = 2.0) -> None:
        super().pause(0.01, 0.02)


class SamplePipeline(Pipeline):
    """The query of a sample."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.sample, self.stage = SAMPLES[name], ProofStage(name)
        self.engine, self.place, self.seed, self.delivered = engine, self.stage.root, 0, {}
        self.after, self.is_at_once = self.sample.after, False
        self.cell = Cell("recommended", self.sample.operator, self.sample.sink, "HDFS")
        self.output, self.checkpoint = self.stage.sink, self.stage.checkpoint
        self.query = self.place / "query.py"
        self.confs = dict(self.sample.confs)
        folders = {} if self.sample.topics else self.sample.folders
        self.sources = {key: self.stage.source / folder for key, folder in folders.items()}
        self.broker: Broker | None = None
        self.new: dict[int, Mapping[str, list[dict[str, Any]]]] = {}

    def text(self, target: Path) -> str:
        """The query file."""
        own_sink = self.cell.sink in ("append", "keyed")
        return f"TARGET, KEYS = {str(target)!r}, {list(self.sample.keys)!r}\n{HEAD}{self.sample.query}" + (
            self.sample.write if own_sink else ""
        )

    @property
    def format(self) -> str:
        own = "parquet" if self.sample.write == APPEND else "json"
        return {"file": "parquet", "delta": "delta"}.get(self.cell.sink, own)

    @property
    def partition_by(self) -> str:
        return ""

    def make(self) -> None:
        """As the sample is made, and something new waits."""
        if self.cell.sink in ("append", "keyed"):
            names: dict[str, Any] = {"__name__": "proof_sample"}
            exec(self.text(self.output), names)
            self.stage.write_batch = names["write_batch"]
        self.stage.open()
        MADE[self.stage.name].make(self.stage)
        if self.stage._session is not None:
            self.stage.settle()
        self.query.write_text(self.text(self.output), encoding="utf-8")
        if self.sample.topics:
            self._open_broker()
        elif self.cell.is_delta:
            self.engine.run(FILL, versions=[20, 21], files=1, table=str(self.stage.source))
            shutil.rmtree(self.place / "scratch", ignore_errors=True)
        else:
            self.new = {number: self.sample.more(self.stage, number) for number in (*WAITING, *self.after)}
            for number in WAITING:
                self.put(number)

    def _open_broker(self) -> None:
        """The broker of the sample again, outside the place that is compared; more records come."""
        old, new = self.place / "broker", self.place.with_name(f"{self.place.name}.broker")
        shutil.move(old, new)
        settings = new / "server.properties"
        text = settings.read_text(encoding="utf-8").replace(str(old), str(new))
        settings.write_text(text, encoding="utf-8")
        self.broker = Broker(new)
        self.broker.port = int(text.split("listeners=PLAINTEXT://127.0.0.1:")[1].split(",")[0])
        self.broker.start()
        for topic in self.sample.topics.split(","):
            produce(self.stage, self.broker, topic, 2, self.stage.orders(30, minutes_ago=-12))

    def close(self) -> None:
        """Nothing is left."""
        if self.broker is not None:
            self.broker.stop()
            shutil.rmtree(self.broker.directory, ignore_errors=True)
        self.stage.close()

    def put(self, number: int) -> None:
        for name, rows in self.new.get(number, {}).items():
            self.stage.drop(name, rows)

    def readers(self) -> dict[str, dict[str, Any]]:
        """Every source as it is read."""
        if self.broker is not None:
            settings = {
                "kafka.bootstrap.servers": self.broker.bootstrap,
                "subscribe": self.sample.topics,
                "startingOffsets": "earliest",
                "maxOffsetsPerTrigger": self.sample.at_once,
                **PATIENT,
            }
            return {"0": {"format": "kafka", "options": settings, "schema": "", "path": ""}}
        more = {
            name[16:]: value
            for name, value in self.sample.answers.items()
            if name.startswith("source.0.option.")
        }
        return {
            key: {
                "format": "delta" if self.cell.is_delta else "json",
                "options": {"maxFilesPerTrigger": self.sample.at_once, **more},
                "schema": "" if self.cell.is_delta else SCHEMAS.get(path.name, self.sample.schema),
                "path": str(path),
            }
            for key, path in self.sources.items()
        }

    def start(self, checkpoint: Path | None = None, output: Path | None = None) -> str | None:
        return self.run(self.query, checkpoint or self.checkpoint, output or self.output, self.readers())

    def run(
        self, query: Path, checkpoint: Path, output: Path, readers: Mapping[str, Mapping[str, Any]]
    ) -> str | None:
        """A query file on some sources until everything is read."""
        found = self.engine.run(
            SESSION + RUN,
            confs=self.confs,
            query=str(query),
            sources=readers,
            named="0" not in readers,
            mode=self.sample.mode,
            checkpoint=str(checkpoint),
            output=str(output),
            format=self.format,
        )
        return cast("str | None", found)

    def read(self, *more: Path) -> Rows:
        return self.rows_in(self.output, *more)

    def rows_in(self, *places: Path) -> Rows:
        """The rows, one text each."""
        found = self.engine.run(
            SESSION + READ, confs={}, format=self.format, places=[str(place) for place in places]
        )
        return Counter((as_text(json.loads(row)),) for row in found)

    def context(self) -> RecoveryContext:
        """The facts, and the answers of somebody who knows the query."""
        sink = {"append": "foreach_append", "keyed": "foreach_merge"}.get(self.cell.sink, self.cell.sink)
        answers = {
            "platform": "pyspark",
            "sink": sink,
            "sink_path": str(self.output),
            "sink_format": self.format,
            "query_file": str(self.query),
            "output_mode": self.sample.mode,
            "source_complete": "yes",
            **self.sample.answers,
        }
        kafka = None
        for key, how in self.readers().items():
            answers |= {f"source.{key}.option.{name}": value for name, value in how["options"].items()}
            answers |= {f"source.{key}.schema": how["schema"]} if how["schema"] else {}
        if self.broker is not None:
            answers["source.0.servers"] = self.broker.bootstrap
            kafka = self.broker.directory / "client.properties"
            kafka.write_text(f"bootstrap.servers={self.broker.bootstrap}\n", encoding="utf-8")
        given = ConnectorSettings(
            kafka=kafka,
            sink=parse_location(str(self.output)) if sink in ("file", "delta") else None,
            sources={"0": parse_location(str(self.stage.source))} if self.cell.is_delta else {},
        )
        ck = Checkpoint.open(str(self.checkpoint))
        return judged(ck, ask_connectors(ck, given)).recovery(Answers(answers))


class SampleTruth(Truths):
    """A run from the beginning: file by file, or all that topics and tables have."""

    def __init__(self, pipeline: SamplePipeline) -> None:
        place = pipeline.place.with_name(f"{pipeline.place.name}.truth")
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        try:
            self._rows = self._run(pipeline, place)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def of(self, cell: Cell, seed: int, *, is_at_once: bool = False) -> Rows:
        return self._rows

    @staticmethod
    def _run(pipeline: SamplePipeline, place: Path) -> Rows:
        query, output = place / "query.py", place / "sink"
        query.write_text(pipeline.text(output), encoding="utf-8")
        readers = pipeline.readers()
        source = pipeline.stage.source
        if pipeline.broker is not None or pipeline.cell.is_delta:
            failed = pipeline.run(query, place / "checkpoint", output, readers)
            assert failed is None, failed
            return pipeline.rows_in(output)
        for how in readers.values():
            how["path"] = how["path"].replace(str(source), str(place / "source"))
            Path(how["path"]).mkdir(parents=True, exist_ok=True)
        files = [path for path in source.rglob("*.json") if path.is_file()]
        later: list[Path] = []
        for number in pipeline.after:
            before = set(source.rglob("*.json"))
            pipeline.put(number)
            later += sorted(set(source.rglob("*.json")) - before)
        for path in (*sorted(files, key=lambda path: path.stat().st_mtime_ns), *later):
            target = place / "source" / path.relative_to(source)
            shutil.copy2(path, target)
            failed = pipeline.run(query, place / "checkpoint", output, readers)
            assert failed is None, failed
        for path in later:
            path.unlink()
        return pipeline.rows_in(output)


class SampleProof(Proof):
    """An option on a sample."""

    def truth(self) -> Rows:
        return self.truths.of(self.cell, self.seed)


def as_text(row: object) -> str:
    """A row whose sets have an order and whose sums have not more digits than they need."""

    def plain(value: object) -> object:
        if isinstance(value, float):
            return round(value, 6)
        if isinstance(value, list):
            return sorted((plain(each) for each in value), key=str)
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items()}
        return value

    return json.dumps(plain(row), sort_keys=True)


def prove_sample(name: str, here: Engine, delta: Engine) -> Trial:
    """Makes and recovers one sample."""
    began = time.monotonic()
    sample = SAMPLES[name]
    pipeline = SamplePipeline(delta if sample.sink == "delta" else here, name)
    query = f"{sample.operator}, {'Kafka, ' if sample.topics else ''}{sample.sink}"
    with ExitStack() as stack:
        try:
            STAGE_ROOT.mkdir(exist_ok=True)
            pipeline.make()
            stack.callback(pipeline.close)
            result = _recovered(pipeline)
        except (OSError, BrokerError, DeltaError, RuntimeError) as error:
            text = str(error).splitlines() or [type(error).__name__]
            result = ("not run", text[0][:300], "", ())
    word, note, option, cheaper = result
    return Trial(name, "sample", query, word, note, option, cheaper, round(time.monotonic() - began, 1))


def _recovered(pipeline: SamplePipeline) -> Any:
    kept = pipeline.place.with_name(f"{pipeline.place.name}.kept")
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(pipeline.place, kept, symlinks=True)
    truths = SampleTruth(pipeline)
    try:
        put_back(pipeline.engine, pipeline.place, kept, is_delta=pipeline.cell.is_delta)
        context = pipeline.context()

        def attempt(option: Option) -> Tried:
            put_back(pipeline.engine, pipeline.place, kept, is_delta=pipeline.cell.is_delta)
            proof = SampleProof(pipeline, truths, 0, is_disturbed=False)
            proof.broken = pipeline.stage.name
            return taken(proof, context, option)

        return judge(options(context), pipeline.cell.sink, attempt)
    finally:
        shutil.rmtree(kept, ignore_errors=True)
