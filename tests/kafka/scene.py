"""A scene: topics of its own on a real broker, a checkpoint that Spark wrote, a ledger of every record, and a
restart of real Spark.

The checkpoint is written once, by a query that reads the topic ``seed`` in two batches; a scene has a copy of
it in which the topic and the positions are its own. Everything on the broker (deleted records, more
partitions, topics made anew) is done for real.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from core.analysis.forecast import Forecast, Query, forecast
from core.checkpoint import Checkpoint
from core.connectors.connect import ask_connectors
from core.connectors.model import ConnectorAnswers, ConnectorSettings
from tests.support import damage as d
from tests.support.oracle import Base, Effects, Fact, Oracle, Recipe, Rows, effects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kafka import Broker

FIRST_END, SECOND_END = 4, 10  # positions after batch 0 and batch 1, the same in every partition
HOUR_MS = 3_600_000
Positions = Mapping[str, Mapping[int, int]]

# What Spark waits for, cut short: the same errors, in seconds instead of minutes.
QUICK = {
    "kafka.default.api.timeout.ms": "3000",
    "kafka.request.timeout.ms": "2000",
    "kafkaConsumer.pollTimeoutMs": "2000",
    "fetchOffset.numRetries": "1",
}


@dataclass(frozen=True)
class Record:
    """One record that was ever produced. ``life`` counts how often its topic has been created."""

    topic: str
    life: int
    partition: int
    offset: int
    text: str

    @property
    def row(self) -> str:
        """The record as the sink writes it."""
        return json.dumps(
            {"topic": self.topic, "partition": self.partition, "offset": self.offset, "v": self.text},
            separators=(",", ":"),
        )


def read_topics(
    broker: Broker, topics: Iterable[str], options: Mapping[str, str]
) -> Callable[[SparkSession, Path], DataFrame]:
    """A query that hands every record to the sink with its topic, partition and offset."""

    def build(session: SparkSession, root: Path) -> DataFrame:
        reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap)
        for key, value in {
            "subscribe": ",".join(topics),
            "startingOffsets": "earliest",
            **QUICK,
            **options,
        }.items():
            if not (key == "subscribe" and ("assign" in options or "subscribePattern" in options)):
                reader = reader.option(key, value)
        return reader.load().selectExpr("topic", "partition", "offset", "CAST(value AS STRING) AS v")

    return build


@dataclass
class Scene:
    """One case: its topics, its checkpoint and what was produced."""

    stage: Stage
    name: str
    checkpoint: Path
    batch_ms: int
    lives: dict[str, int] = field(default_factory=dict)
    partitions: dict[str, int] = field(default_factory=dict)
    ledger: list[Record] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    is_pending: bool = False

    @property
    def broker(self) -> Broker:
        return self.stage.broker

    def topic(self, short: str) -> str:
        """The name of a topic of this scene on the broker."""
        return f"{self.name}-{short}"

    # ------------------------------------------------------------------ what happens on the broker

    def create(self, short: str, partitions: int = 2, config: Mapping[str, str] | None = None) -> None:
        """A topic; when it was there before this is its next life."""
        self.broker.create_topic(self.topic(short), partitions, config)
        self.lives[short] = self.lives.get(short, 0) + 1
        self.partitions[short] = partitions

    def fill(self, short: str, count: int, partitions: Iterable[int] | None = None) -> None:
        """``count`` records into each partition, one a second: before the checkpoint's batches in the first
        life, later in others; less than an hour later, because a broker takes no record of a later time."""
        life = self.lives[short]
        base_ms = self.batch_ms + (-HOUR_MS if life == 1 else HOUR_MS // 2)
        for partition in range(self.partitions[short]) if partitions is None else partitions:
            name = self.topic(short)
            known = [
                r.offset for r in self.ledger if (r.topic, r.life, r.partition) == (name, life, partition)
            ]
            begin = max(known, default=-1) + 1
            texts = [f"life-{life}-{short}-{partition}-{begin + i}" for i in range(count)]
            for i, text in enumerate(texts):
                self.ledger.append(Record(name, life, partition, begin + i, text))
            self.broker.produce(name, texts, partition, timestamp_ms=base_ms + begin * 1000)

    def expire(self, short: str, before: Mapping[int, int]) -> None:
        """The log start moves up, as retention does it."""
        self.broker.delete_records(self.topic(short), before)

    def add_partitions(self, short: str, total: int) -> None:
        """More partitions."""
        self.broker.add_partitions(self.topic(short), total)
        self.partitions[short] = total

    def delete(self, short: str) -> None:
        """The topic is gone."""
        self.broker.delete_topic(self.topic(short))

    def anew(self, short: str, counts: Iterable[int]) -> None:
        """The topic is deleted and made again, with so many records in each of its partitions."""
        self.delete(short)
        counts = list(counts)
        self.create(short, len(counts))
        for partition, count in enumerate(counts):
            self.fill(short, count, [partition])

    # ------------------------------------------------------------------ the checkpoint

    def positions(self, *batches: Positions) -> None:
        """Other positions in offsets/0, offsets/1, ... than those of the seed, topics by their short names."""
        for number, positions in enumerate(batches):
            d.changed(f"offsets/{number}", d.line(3, self.text(positions)))(self.checkpoint)

    def plan(self, positions: Positions) -> None:
        """An uncommitted offset file as a failed start leaves it."""
        d.derived("offsets/{n+1}", "offsets/{n}", d.line(3, self.text(positions)))(self.checkpoint)

    def text(self, positions: Positions) -> str:
        """Positions as an offset line."""
        return json.dumps(
            {self.topic(t): {str(p): at for p, at in ps.items()} for t, ps in positions.items()},
            separators=(",", ":"),
        )

    def pend(self) -> None:
        """Batch 1 is planned and not committed; the sink has nothing of it."""
        d.without("commits/{n}")(self.checkpoint)
        self.is_pending = True

    # ------------------------------------------------------------------ what is said and what is so

    def look(
        self, topics: Mapping[str, tuple[str, ...]] | None = None
    ) -> tuple[Checkpoint, ConnectorAnswers]:
        """Both ends now."""
        ck = Checkpoint.open(str(self.checkpoint))
        return ck, ask_connectors(
            ck, ConnectorSettings(kafka=self.stage.properties_file, topics=topics or {})
        )

    def said(self, query: Query) -> tuple[Forecast, ConnectorAnswers]:
        """The forecast with the broker's answer."""
        ck, connectors = self.look(query.topics)
        assert connectors.troubles == {}
        return forecast(ck, query=query, connectors=connectors), connectors

    def restart(self, topics: Iterable[str], options: Mapping[str, str]) -> Fact:
        """Spark, until it ends."""
        build = read_topics(self.broker, [self.topic(t) for t in topics], options)
        return self.stage.oracle.restart(self.base({}), self.checkpoint, build)

    def base(self, delivered: Mapping[int, Rows]) -> Base:
        """The scene as the oracle's base."""
        return Base(
            Recipe(self.name, lambda session, root: session.range(0)), self.checkpoint.parent, delivered, {}
        )

    def rows(self, keep: Callable[[Record], bool]) -> Rows:
        """Rows of the ledger."""
        return tuple(sorted(record.row for record in self.ledger if keep(record)))

    def effects(
        self, fact: Fact, positions: Positions, planned: Positions | None = None
    ) -> tuple[Effects, Rows]:
        """What the sinks hold against an undisturbed run, and the rows that are missing in the one that
        appends.

        ``positions``: where the batches end that the sink has; ``planned``: where the last of them begins, when
        it is pending batch 1. Undisturbed means: every record after them once, and every record of later lives.
        """

        def is_read(record: Record, ends: Positions) -> bool:
            at = {self.topic(t): ps for t, ps in ends.items()}
            return record.life == 1 and record.offset < at.get(record.topic, {}).get(record.partition, 0)

        committed = self.rows(lambda record: is_read(record, planned or positions))
        before = {0: committed} if committed else {}
        if planned is not None:
            before[1] = self.rows(lambda record: is_read(record, positions) and not is_read(record, planned))
        after = {99: self.rows(lambda record: not is_read(record, positions))}
        wanted = {record.row for record in self.ledger}
        got = {batch: tuple(row for row in rows if row in wanted) for batch, rows in fact.delivered.items()}
        assert got == dict(fact.delivered)
        seen = effects(self.base(before), fact, after, ended_early=bool(fact.causes))
        missing = set(after[99]) - {row for rows in fact.delivered.values() for row in rows}
        return seen, tuple(sorted(missing))


class Stage:
    """Makes scenes. The seed checkpoint is written by Spark on first use."""

    def __init__(
        self, oracle: Oracle, broker: Broker, scratch: Path, options: Mapping[str, str] | None = None
    ) -> None:
        self.oracle, self.broker, self.scratch = oracle, broker, scratch
        self.options = options or {}  # of the query that writes the seed
        self.properties_file = scratch / "broker.properties"
        self.properties_file.write_text(f"bootstrap.servers={broker.bootstrap}\n", encoding="utf-8")
        self._seed: Path | None = None

    def seed(self) -> Path:
        """A checkpoint of two committed batches over two partitions: offsets 0-3, then 4-9."""
        if self._seed is None:
            root = self.scratch / "seed"
            self.broker.create_topic("seed", 2)
            for begin, end in ((0, FIRST_END), (FIRST_END, SECOND_END)):
                for partition in (0, 1):
                    self.broker.produce("seed", [f"{i}" for i in range(begin, end)], partition)
                base = Base(Recipe("seed", read_topics(self.broker, ["seed"], self.options)), root, {}, {})
                fact = self.oracle.restart(base, root / "ck", output=root / "out")
                assert not fact.causes, fact
            self._seed = root / "ck"
        return self._seed

    def scene(self, name: str) -> Scene:
        """A scene with the topic ``orders`` of two partitions whose ten records each the two batches have
        read."""
        place = self.scratch / name
        shutil.copytree(self.seed(), place / "ck")
        checkpoint = place / "ck"
        scene = Scene(self, name, checkpoint, 0)
        for path in (*(checkpoint / "offsets").iterdir(), *(checkpoint / "sources" / "0").iterdir()):
            if not path.name.startswith("."):
                d.rewrite(path, path.read_bytes().replace(b'"seed"', f'"{scene.topic("orders")}"'.encode()))
        entry = Checkpoint.open(str(checkpoint)).offset(0)
        assert entry is not None and not hasattr(entry, "reason")
        scene.batch_ms = entry.timestamp_ms or 0
        scene.create("orders")
        scene.fill("orders", SECOND_END)
        return scene
