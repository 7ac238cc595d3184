"""A real Kafka broker for tests and samples: one KRaft node on loopback, from the jars of
`.parts/kafka-broker`."""

from __future__ import annotations

import base64
import contextlib
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not named in its __all__
    AdminClient,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from tests.support.spark import PARTS

START_SECONDS = 180  # 7 s on a quiet machine, 25 s on a busy one
CALL_SECONDS = 30
LATEST, EARLIEST = OffsetSpec.latest(), OffsetSpec.earliest()  # type: ignore[no-untyped-call]

# Ends the broker when the process that started it goes away, however it goes: its end of the pipe closes.
KEEPER = (
    'exec 3<&0; "$@" < /dev/null & child=$!; { cat <&3 > /dev/null; kill -9 "$child" 2> /dev/null; } & wait'
    ' "$child"'
)


class BrokerError(Exception):
    """The broker could not do it; one sentence."""


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on right now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Broker:
    """Start it, make topics, produce. Everything lives below `directory`; nothing listens beyond loopback."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port, self._controller_port = free_ports(2)
        self._process: subprocess.Popen[bytes] | None = None
        self._admin: AdminClient | None = None

    @property
    def bootstrap(self) -> str:
        """For `kafka.bootstrap.servers`."""
        return f"127.0.0.1:{self.port}"

    # ------------------------------------------------------------------ life

    def start(self) -> None:
        """Start the broker and wait until it answers. Its data survives `stop` and another `start`."""
        jars = sorted((PARTS / "kafka-broker").glob("*.jar"))
        if not jars:
            raise BrokerError("the Kafka broker's jars are missing: run scripts/setup tests")
        java = shutil.which("java")
        if java is None:
            raise BrokerError("java was not found")
        self.directory.mkdir(parents=True, exist_ok=True)
        command = [
            java,
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            str(jars[0].parent / "*"),
        ]
        log = self.directory / "broker.log"
        properties = self.directory / "server.properties"
        if not properties.exists():
            properties.write_text(self._properties(), encoding="utf-8")
            cluster = (
                base64.urlsafe_b64encode(uuid.uuid4().bytes)
                .decode()
                .rstrip("=")
                .replace("-", "x")
                .replace("_", "y")
            )
            with log.open("ab") as sink:
                subprocess.run(
                    [*command, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)],
                    stdout=sink,
                    stderr=sink,
                    check=True,
                    timeout=START_SECONDS,
                )
        with log.open("ab") as sink:
            self._process = subprocess.Popen(
                ["sh", "-c", KEEPER, "sh", *command, "kafka.Kafka", str(properties)],
                stdin=subprocess.PIPE,
                stdout=sink,
                stderr=sink,
            )
        self._wait_until_up(log)

    def stop(self) -> None:
        """End it at once; the directory stays."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process = None

    def _properties(self) -> str:
        return "\n".join(
            [
                "process.roles=broker,controller",
                "node.id=1",
                f"controller.quorum.voters=1@127.0.0.1:{self._controller_port}",
                f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self._controller_port}",
                "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
                "controller.listener.names=CONTROLLER",
                f"log.dirs={self.directory / 'data'}",
                "offsets.topic.replication.factor=1",
                "offsets.topic.num.partitions=1",
                "transaction.state.log.replication.factor=1",
                "transaction.state.log.min.isr=1",
                "transaction.state.log.num.partitions=1",
                "log.retention.check.interval.ms=1000",
                "log.cleaner.backoff.ms=500",
                "auto.create.topics.enable=false",
                "group.initial.rebalance.delay.ms=0",
                "",
            ]
        )

    def _wait_until_up(self, log: Path) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                self.admin().list_topics(timeout=CALL_SECONDS)
                return
            time.sleep(0.2)
        tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:]
        self.stop()
        raise BrokerError("the Kafka broker did not start; its log ends with:\n" + "\n".join(tail))

    # ---------------------------------------------------------------- topics

    def _client(self) -> dict[str, str | int | float | bool]:
        # That the broker goes away is how every test ends; librdkafka would say so on standard error.
        return {"bootstrap.servers": self.bootstrap, "log.connection.close": False, "log_level": 0}

    def admin(self) -> AdminClient:
        """The admin client. It is kept: what it promised is dropped together with it."""
        if self._admin is None:
            self._admin = AdminClient(self._client())
        return self._admin

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """A topic that keeps its records forever unless `config` says otherwise (records with old timestamps
        go at once by default)."""
        settings = {"retention.ms": "-1", **(config or {})}
        _wait(
            self.admin().create_topics(
                [NewTopic(name, num_partitions=partitions, replication_factor=1, config=settings)]
            )
        )
        self._wait_for_leaders(name, partitions)

    def add_partitions(self, name: str, total: int) -> None:
        """Raise the number of partitions to `total`."""
        _wait(self.admin().create_partitions([NewPartitions(name, total)]))
        self._wait_for_leaders(name, total)

    def _wait_for_leaders(self, name: str, partitions: int) -> None:
        """The broker takes a new partition before it leads it; offsets can be asked for only then."""
        asked = {TopicPartition(name, partition): LATEST for partition in range(partitions)}
        deadline = time.monotonic() + CALL_SECONDS
        while True:
            try:
                self.admin().list_topics(
                    name, timeout=CALL_SECONDS
                )  # else the client goes by what it knew before
                _wait(self.admin().list_offsets(asked, request_timeout=CALL_SECONDS))
            except KafkaException as error:
                if time.monotonic() > deadline:
                    raise BrokerError(
                        f"topic {name} has no leaders {CALL_SECONDS} s after it was made: {error}"
                    ) from None
                time.sleep(0.05)
            else:
                return

    def delete_topic(self, name: str) -> None:
        """Delete the topic and wait until the broker no longer names it."""
        admin = self.admin()
        _wait(admin.delete_topics([name]))
        deadline = time.monotonic() + CALL_SECONDS
        while name in admin.list_topics(timeout=CALL_SECONDS).topics:
            if time.monotonic() > deadline:
                raise BrokerError(f"topic {name} is still there {CALL_SECONDS} s after it was deleted")
            time.sleep(0.1)

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Move the log start of each partition up to the given offset, as retention does."""
        _wait(
            self.admin().delete_records(
                [TopicPartition(topic, partition, offset) for partition, offset in before.items()]
            )
        )

    def produce(
        self,
        topic: str,
        values: Iterable[str],
        partition: int,
        *,
        key: str | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """Append the values to one partition, in order, and wait until the broker has them."""
        failures: list[str] = []

        def delivered(error: object, _message: object) -> None:
            if error is not None:
                failures.append(str(error))

        producer = Producer({**self._client(), "linger.ms": 5})
        more: dict[str, Any] = {} if timestamp_ms is None else {"timestamp": timestamp_ms}
        for value in values:
            producer.produce(
                topic,
                value=value.encode(),
                key=key and key.encode(),
                partition=partition,
                on_delivery=delivered,
                **more,
            )
        left = producer.flush(CALL_SECONDS)
        if left or failures:
            raise BrokerError(
                f"{left + len(failures)} records for {topic}-{partition} were not taken: {failures[:1]}"
            )

    def end_offsets(self, topic: str) -> dict[int, int]:
        """The offset of the next record of each partition."""
        return self._offsets(topic, latest=True)

    def start_offsets(self, topic: str) -> dict[int, int]:
        """The oldest offset that is still there, per partition."""
        return self._offsets(topic, latest=False)

    def _offsets(self, topic: str, *, latest: bool) -> dict[int, int]:
        admin = self.admin()
        partitions = sorted(admin.list_topics(topic, timeout=CALL_SECONDS).topics[topic].partitions)
        spec = LATEST if latest else EARLIEST
        asked = admin.list_offsets(
            {TopicPartition(topic, partition): spec for partition in partitions}, request_timeout=CALL_SECONDS
        )
        return {where.partition: future.result(CALL_SECONDS).offset for where, future in asked.items()}


def _wait(futures: Mapping[Any, Future[Any]]) -> None:
    for future in futures.values():
        future.result(CALL_SECONDS)
