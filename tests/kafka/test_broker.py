"""What a real broker is asked, how often, and what stays as it was."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from core.checkpoint import Checkpoint
from core.connectors.connect import ask_connectors
from core.connectors.kafka import broker as endpoint
from core.connectors.kafka.broker import ask
from core.connectors.kafka.partitions import kafka_partition_states, kafka_topic_states
from core.connectors.kafka.properties import KafkaProperties, read_properties
from core.connectors.model import ConnectorSettings
from tests.support.brokers import checkpoint_at
from tests.support.kafka import Broker, free_ports

pytestmark = pytest.mark.kafka

BEGIN = int(time.time()) * 1000 - 30 * 86_400_000  # brokers refuse times that lie ahead
PASSWORD = "S3cr3t-of-the-house"


@pytest.fixture(scope="module")
def wide(kafka: Broker) -> str:
    """A topic of 200 partitions with twenty records each, one a second."""
    kafka.create_topic("wide", 200)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 5, "log_level": 0})
    for partition in range(200):
        for i in range(20):
            producer.produce("wide", b"x", partition=partition, timestamp=BEGIN + partition * 7 + i * 1000)
    assert producer.flush(30) == 0
    return "wide"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Every request of the client, by kind: librdkafka's own count, taken before the endpoint sees it."""
    seen: dict[str, int] = {}
    count = endpoint._Talk._count

    def spy(talk: endpoint._Talk, statistics: str) -> None:
        seen.clear()
        for broker in json.loads(statistics)["brokers"].values():
            for kind, number in broker["req"].items():
                if number:
                    seen[kind] = seen.get(kind, 0) + number
        count(talk, statistics)

    monkeypatch.setattr(endpoint._Talk, "_count", spy)
    yield seen


def test_200_partitions_cost_at_most_10_requests(
    wide: str, properties: KafkaProperties, counted: dict[str, int]
) -> None:
    answer = ask(properties, {wide: {p: p % 20 for p in range(200)}})
    assert answer.trouble is None
    assert len(answer.partitions) == 200
    assert {(p.log_start, p.log_end) for p in answer.partitions.values()} == {(0, 20)}
    for (_, partition), here in answer.partitions.items():
        assert here.record_ms == BEGIN + partition * 7 + (partition % 20) * 1000
        assert (here.record_to_ms, here.first_record_ms) == (None, BEGIN + partition * 7)
    assert answer.requests == sum(counted.values()) <= 10
    assert set(counted) <= {
        "ApiVersion",
        "Metadata",
        "ListOffsets",
        "DescribeConfigs",
        "DescribeCluster",
    }  # nothing reads or joins


def test_a_misspelt_topic_costs_no_more(
    wide: str, properties: KafkaProperties, counted: dict[str, int]
) -> None:
    answer = ask(properties, {wide: dict.fromkeys(range(200), 7), "wied": {0: 3}})
    assert answer.absent == ("wied",)
    assert wide in answer.all_topics
    assert answer.requests == sum(counted.values()) <= 10


def test_one_view_of_a_checkpoint_asks_once(
    wide: str, properties_file: Path, tmp_path: Path, counted: dict[str, int]
) -> None:
    ck = Checkpoint.open(
        str(checkpoint_at(tmp_path, {wide: dict.fromkeys(range(200), 5)}, batch_ms=BEGIN + 10_000))
    )
    connectors = ask_connectors(ck, ConnectorSettings(kafka=properties_file))
    rows = kafka_partition_states(ck, "0", connectors.brokers["0"])
    assert len(rows) == 200
    assert {(row.state, row.lag, row.safety) for row in rows} == {("ok", 15, "never_by_time")}
    assert [topic.is_recreated for topic in kafka_topic_states(ck, "0", connectors.brokers["0"])] == [False]
    assert sum(counted.values()) <= 10


def test_asking_creates_no_topic_and_no_group(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "untouched")  # one that has never had a consumer group
    broker.start()
    try:
        broker.create_topic("orders", 1)
        broker.produce("orders", ["a", "b"], 0)
        before = sorted(broker.admin().list_topics(timeout=10).topics)
        file = tmp_path / "broker.properties"
        file.write_text(f"bootstrap.servers={broker.bootstrap}\n")
        answer = ask(read_properties(file), {"orders": {0: 1}, "refunds": {0: 1}})
        assert (answer.trouble, answer.absent) == (None, ("refunds",))
        assert sorted(broker.admin().list_topics(timeout=10).topics) == before == ["orders"]
        assert broker.admin().list_consumer_groups(request_timeout=10).result().valid == []
    finally:
        broker.stop()


def test_settings_times_and_ids_of_a_topic(kafka: Broker, properties: KafkaProperties) -> None:
    kafka.create_topic(
        "kept",
        2,
        {
            "retention.ms": str(400 * 86_400_000),
            "retention.bytes": "1000000",
            "cleanup.policy": "compact,delete",
        },
    )
    kafka.produce("kept", ["a", "b", "c"], 0, key="k", timestamp_ms=BEGIN)
    answer = ask(properties, {"kept": {0: 2, 1: 0}})
    topic = answer.topics["kept"]
    assert (topic.partitions, topic.retention_ms, topic.retention_bytes) == (
        (0, 1),
        400 * 86_400_000,
        1_000_000,
    )
    assert (topic.cleanup_policy, topic.timestamp_type, topic.segment_ms) == (
        "compact,delete",
        "CreateTime",
        604_800_000,
    )
    empty = answer.partitions["kept", 1]
    assert (empty.log_start, empty.log_end, empty.record_ms, empty.first_record_ms) == (0, 0, None, None)
    kafka.delete_topic("kept")
    kafka.create_topic("kept", 1)
    assert ask(properties, {"kept": {0: 2}}).topics["kept"].topic_id not in (None, topic.topic_id)


def test_times_that_lie_unevenly_are_never_said_later_than_they_are(
    kafka: Broker, properties: KafkaProperties
) -> None:
    stamps = [
        BEGIN + ms
        for ms in (0, 5, 5, 900_000, 900_001, 3_600_000, 3_600_000, 86_400_000, 86_400_500, 604_800_000)
    ]
    kafka.create_topic("uneven", len(stamps))
    for partition in range(len(stamps)):
        for stamp in stamps:
            kafka.produce("uneven", ["x"], partition, timestamp_ms=stamp)
    answer = ask(properties, {"uneven": {p: p for p in range(len(stamps))}})
    for partition, stamp in enumerate(stamps):
        here = answer.partitions["uneven", partition]
        assert here.record_ms is not None
        if here.record_to_ms is None:
            assert here.record_ms == stamp
        else:
            assert here.record_ms <= stamp < here.record_to_ms
    exact = [p for (_, p), here in answer.partitions.items() if here.record_to_ms is None]
    assert {0, len(stamps) - 1} <= set(exact)


def test_an_open_transaction_ends_the_log_only_for_read_committed(
    kafka: Broker, properties: KafkaProperties
) -> None:
    kafka.create_topic("held", 1)
    kafka.produce("held", ["a", "b"], 0)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "held", "log_level": 0})
    producer.init_transactions(30)
    producer.begin_transaction()
    for text in "cde":
        producer.produce("held", value=text.encode(), partition=0)
    producer.flush(30)
    try:
        assert ask(properties, {"held": {0: 1}}).partitions["held", 0].log_end == 5
        answer = ask(properties, {"held": {0: 1}}, isolation="read_committed")
        assert (answer.isolation, answer.partitions["held", 0].log_end) == ("read_committed", 2)
    finally:
        producer.abort_transaction(30)


def test_a_password_is_in_no_answer_of_a_broker_that_refuses_it(
    kafka: Broker, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "secret.properties"
    sasl = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=explorer\nsasl.password={PASSWORD}\n"
    file.write_text(f"bootstrap.servers={kafka.bootstrap}\n{sasl}")
    ck = Checkpoint.open(str(checkpoint_at(tmp_path / "ck", {"orders": {0: 5}})))
    connectors = ask_connectors(ck, ConnectorSettings(kafka=file))
    (trouble,) = connectors.troubles.values()
    assert "SASL" in trouble
    rows = kafka_partition_states(ck, "0", connectors.brokers["0"])
    assert PASSWORD not in repr((connectors, rows, trouble)) + "".join(capfd.readouterr())
    assert [row.state for row in rows] == ["unknown"]
    file.write_text(f"bootstrap.servers={kafka.bootstrap}\nsecurity.protocol=SSL\n")
    assert "SSL handshake failed" in ask_connectors(ck, ConnectorSettings(kafka=file)).troubles["kafka"]


def test_a_broker_that_is_down_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "down.properties"
    file.write_text(f"bootstrap.servers=127.0.0.1:{free_ports(1)[0]}\n")
    ck = Checkpoint.open(str(checkpoint_at(tmp_path / "ck", {"orders": {0: 5}})))
    answer = ask_connectors(ck, ConnectorSettings(kafka=file)).brokers["0"]
    assert answer.trouble is not None and "Connection refused" in answer.trouble
    waiting = 60.0
    assert (
        ask(read_properties(file), {"orders": {0: 5}}, seconds=waiting).seconds < waiting
    )  # a refusal is not waited out


def test_a_topic_deleted_and_created_between_two_looks_is_known_by_its_id(
    kafka: Broker, properties_file: Path, tmp_path: Path
) -> None:
    kafka.create_topic("reborn", 1)
    kafka.produce("reborn", [str(i) for i in range(6)], 0)
    root = checkpoint_at(tmp_path, {"reborn": {0: 4}}, batch_ms=int(time.time() * 1000))
    given = ConnectorSettings(kafka=properties_file)
    ck = Checkpoint.open(str(root))
    first = ask_connectors(ck, given).brokers["0"]
    assert not kafka_topic_states(ck, "0", first)[0].is_recreated
    kafka.delete_topic("reborn")
    kafka.create_topic("reborn", 1)
    kafka.produce(
        "reborn", [str(i) for i in range(9)], 0
    )  # grown past the position: offsets alone show nothing
    (about,) = kafka_topic_states(ck, "0", ask_connectors(ck, given).brokers["0"])
    assert (about.is_recreated, about.certainty) == (True, "certain")
    assert first.topics["reborn"].topic_id is not None and first.topics["reborn"].topic_id in about.sentence
