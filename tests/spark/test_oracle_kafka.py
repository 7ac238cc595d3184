"""Forecast against fact for queries that read from a real Kafka broker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.analysis.forecast import Query, forecast
from core.checkpoint import Checkpoint
from tests.support import damage as d
from tests.support.oracle import Base, Fact, Oracle, Recipe, Rows, effects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kafka import Broker

NEW = Query(new_data="yes")
COMMIT_MISSING = d.without("commits/{c}")
FIRST, LATER = 12, 6  # records of the first run and those that wait for the restart, over two partitions


@dataclass(frozen=True)
class Case:
    """One restart. ``topics``: what the query subscribes to then; ``options``: its other source options."""

    name: str
    damage: d.Damage
    topics: tuple[str, ...] = ("orders",)
    options: dict[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    blind: tuple[str, ...] = ()
    base: str = "orders"

    @property
    def query(self) -> Query:
        return Query(
            new_data="yes",
            topics={"0": self.topics} if self.topics != TOPICS[self.base] else {},
            fail_on_data_loss=self.options.get("failOnDataLoss", "true") == "true",
        )


EVERY_SINK = ("append", "overwrite", "skip")
TOPICS = {"orders": ("orders",), "both": ("orders", "refunds"), "pending_first": ("orders",)}


def positions(**topics: list[int]) -> str:
    return json.dumps(
        {topic: {str(p): at for p, at in enumerate(values)} for topic, values in topics.items()},
        separators=(",", ":"),
    )


def planned(text: str) -> d.Damage:
    """A new, uncommitted offset file as a failed start leaves it: the newest one with other positions."""
    return d.derived("offsets/{n+1}", "offsets/{n}", d.line(3, text))


CASES = [
    Case("clean", d.nothing),
    Case("commit_missing", COMMIT_MISSING),
    Case("two_commits_missing", d.without("commits/{n}", "commits/{n-1}")),
    Case("offset_missing", d.without("offsets/{n}")),
    Case("previous_offset_missing", d.without("offsets/{n-1}")),
    Case("previous_offset_missing_pending", d.both(COMMIT_MISSING, d.without("offsets/{n-1}"))),
    Case(
        "rewound_by_2", d.rewound(2), blind=("append",)
    ),  # Kafka cuts the same batches again; no log shows it
    Case("start_of_batch_0_missing_later", d.without("sources")),
    Case("start_of_batch_0_cut_later", d.cut("sources/0/0")),
    Case("source_line_broken", d.changed("offsets/{n}", d.line(3, '{"orders":{"0":'))),
    Case(
        "source_line_broken_pending",
        d.both(COMMIT_MISSING, d.changed("offsets/{n}", d.line(3, '{"orders":{"0":'))),
    ),
    Case("source_without_offset", d.changed("offsets/{n}", d.line(3, "-"))),
    Case("plan_below_its_start", planned(positions(orders=[2, 2]))),
    Case(
        "plan_below_its_start_data_loss_allowed",
        planned(positions(orders=[2, 2])),
        options={"failOnDataLoss": "false"},
        unknown=EVERY_SINK,
    ),
    Case("plan_without_a_partition", planned(positions(orders=[6]))),
    Case("two_topics_clean", d.nothing, topics=("orders", "refunds"), base="both"),
    Case("topic_removed", d.nothing, base="both"),
    Case("topic_removed_pending", COMMIT_MISSING, base="both"),
    Case("topic_removed_data_loss_allowed", d.nothing, options={"failOnDataLoss": "false"}, base="both"),
    Case("topic_added", d.nothing, topics=("orders", "refunds")),
    Case("batch_0_pending", d.nothing, base="pending_first"),
    Case(
        "batch_0_pending_and_its_start_missing",
        d.without("sources"),
        unknown=EVERY_SINK,
        base="pending_first",
    ),
]


class KafkaBases:
    """Real checkpoints of Kafka queries, made on first use."""

    def __init__(self, oracle: Oracle, broker: Broker, scratch: Path) -> None:
        self.oracle, self.broker, self.scratch = oracle, broker, scratch
        self._bases: dict[str, Base] = {}
        self._topics: dict[str, str] = {}

    def build(
        self, topics: tuple[str, ...], options: dict[str, str]
    ) -> Callable[[SparkSession, Path], DataFrame]:
        def make(session: SparkSession, root: Path) -> DataFrame:
            reader = session.readStream.format("kafka").option(
                "kafka.bootstrap.servers", self.broker.bootstrap
            )
            reader = (
                reader.option("subscribe", ",".join(topics))
                .option("startingOffsets", "earliest")
                .option("maxOffsetsPerTrigger", 4)
            )
            for key, value in options.items():
                reader = reader.option(key, value)
            return reader.load().selectExpr("topic", "partition", "offset", "CAST(value AS STRING) AS v")

        return make

    def base(self, name: str) -> Base:
        """The base with this name. All share the topics, which are filled before the first of them."""
        if not self._bases:
            for topic in ("orders", "refunds"):
                self.broker.create_topic(topic, 2)
            self.fill("first", FIRST)
            for each in ("orders", "both", "pending_first"):
                self._bases[each] = self.first_run(each)
            self.fill("later", LATER)
            for each, made in self._bases.items():
                clean = self.restart(made, self.oracle.copy(made), TOPICS[each], {})
                after = {i: rows for i, rows in clean.delivered.items() if i not in made.delivered}
                self._bases[each] = Base(made.recipe, made.root, made.delivered, after)
        return self._bases[name]

    def fill(self, word: str, count: int) -> None:
        for topic in ("orders", "refunds"):
            for partition in (0, 1):
                self.broker.produce(
                    topic, [f"{word}-{topic}-{partition}-{i}" for i in range(count // 2)], partition
                )

    def first_run(self, name: str) -> Base:
        recipe = Recipe(name, self.build(TOPICS[name], {}))
        root = self.scratch / name
        fact = self.oracle._run(recipe.build, root, root / "ck", root / "out", {})
        assert not fact.causes, fact
        delivered = dict(fact.delivered)
        if (
            name == "pending_first"
        ):  # as if the query had died in its first batch, after the sink had its rows
            d.without("offsets/2", "offsets/1", "commits/2", "commits/1", "commits/0")(root / "ck")
            delivered = {0: delivered[0]}
        return Base(recipe, root, delivered, {})

    def restart(self, base: Base, copy: Path, topics: tuple[str, ...], options: dict[str, str]) -> Fact:
        return self.oracle.restart(base, copy, self.build(topics, options))


def of_topics(base: Base, fact: Fact, topics: set[str]) -> tuple[Base, Fact, dict[int, Rows]]:
    """Only the rows of these topics: what a query no longer reads is not lost, and what it reads in addition
    is not repeated."""

    def kept(batches: Mapping[int, Rows]) -> dict[int, Rows]:
        return {
            i: tuple(row for row in rows if json.loads(row)["topic"] in topics) for i, rows in batches.items()
        }

    undisturbed = kept(base.undisturbed)
    return (
        replace(base, delivered=kept(base.delivered)),
        replace(fact, delivered=kept(fact.delivered)),
        undisturbed,
    )


@pytest.fixture(scope="module")
def bases(oracle: Oracle, kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBases]:
    """The Kafka bases of this module."""
    yield KafkaBases(oracle, kafka, tmp_path_factory.mktemp("kafka-bases"))


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_forecast_says_what_spark_does_with_kafka(bases: KafkaBases, case: Case) -> None:
    base = bases.base(case.base)
    copy = bases.oracle.copy(base)
    case.damage(copy)
    said = forecast(Checkpoint.open(str(copy)), query=case.query)
    fact = bases.restart(base, copy, case.topics, case.options)
    was = effects(
        *of_topics(base, fact, {*case.topics} & {*TOPICS[case.base]}), ended_early=bool(fact.causes)
    )
    differences = [
        f"{name}: said {one}, was {other}"
        for name, one, other in (
            ("outcome", said.outcome, fact.outcome),
            ("batch", said.batch_id, fact.first_batch),
            ("fails at", said.fails_at, fact.fails_at),
            *((kind, getattr(said.data, kind), getattr(was, kind)) for kind in EVERY_SINK),
        )
        if one != other
        and not (one == "unknown" and name in case.unknown)
        and not (one == "exact" and name in case.blind)
    ]
    if fact.outcome == "fail" and fact.error is not None and said.error is not None:
        plain = fact.error.message.replace("\n", " ")
        if (said.error.condition, said.error.error_class) != (
            fact.error.condition,
            fact.error.error_class,
        ) or said.error.message not in plain:
            differences.append(
                f"error: said {said.error}, was {fact.error.condition} {fact.error.error_class} {plain[:500]}"
            )
    if fact.outcome != "fail" and bool(fact.causes) != bool(said.then):
        differences.append(f"then: said {said.then}, was {[cause.message[:200] for cause in fact.causes]}")
    assert not differences, "\n".join(
        [*differences, said.sentence, str([c.error_class + ": " + c.message[:400] for c in fact.causes])]
    )
