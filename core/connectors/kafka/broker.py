"""Ask a Kafka broker what it holds of a query's topics. Never raises, never blocks longer than asked, changes
nothing.

No record is read: an admin client asks for metadata, offsets and settings, so there is no consumer group,
nothing is committed, and no topic is created (a consumer would make the broker look up its group, and the
first look-up of a cluster creates ``__consumer_offsets``: observed with a broker 4.3.1). The time of the
record at a position comes from offset queries by time, which answer with the record's time.

Requests, for any number of partitions on one broker: 1 handshake, 1 metadata and 1 leaders, 1 each for log
start, log end and topic settings, at most ``ROUNDS`` for times, 1 for the names of all topics when one that
was asked about is not there. With several brokers those about offsets go to each leader.
``BrokerAnswer.requests`` is the client's own count (librdkafka's statistics).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka import admin as admin_module
from confluent_kafka.admin import AdminClient

from core.connectors.answers import BrokerAnswer, BrokerPartition, BrokerTopic, Isolation
from core.connectors.answers import TopicPartition as Name
from core.connectors.kafka.properties import KafkaProperties
from core.messages import say, say_of

admin: Any = admin_module  # its type hints leave out what is asked for here

ROUNDS = 4
POLL_SECONDS = 0.02
STATISTICS_MS = 50
# A server may have a second address, and of several servers one may be up: wait a little after the first
# refusal.
GRACE_SECONDS, GRACE_SECONDS_SEVERAL = 0.7, 1.7

_SETTINGS = ("retention.ms", "retention.bytes", "segment.ms", "cleanup.policy", "message.timestamp.type")
_AROUND = re.compile(r"^(?:\S+/(?:bootstrap|\d+): )?(.*?)(?: \(after \d+ms in state \w+.*\))?$", re.DOTALL)
_DOWN = frozenset(
    {KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError._RESOLVE}
)
_ABSENT = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_EXCEPTION})
# words in an error text of librdkafka, in the order in which they are looked for
_HINTS = ("SSL", "SASL", "Authentication", "incorrect security.protocol", "resolve", "refused")


class _NoAnswerError(Exception):
    """The broker did not answer in time, or refused. The message is one sentence."""


@dataclass(slots=True)
class _Search:
    """The time of the record at one position: at or after ``low_ms`` (record ``low``), before ``high_ms``
    (record ``high``)."""

    position: int
    low: int
    low_ms: int
    high: int
    high_ms: int
    is_exact: bool = False
    ups: int = 0

    @property
    def is_done(self) -> bool:
        return self.is_exact or self.high_ms - self.low_ms <= 1

    def next_ms(self) -> int:
        """Between the two known records in proportion to the offsets; in the middle when that has missed on
        the same side before."""
        share = 0.5 if abs(self.ups) > 1 else (self.position - self.low) / max(1, self.high - self.low)
        guess = self.low_ms + int(share * (self.high_ms - self.low_ms))
        return min(max(guess, self.low_ms + 1), self.high_ms - 1)

    def learn(self, asked_ms: int, offset: int, found_ms: int) -> None:
        """``offset`` is the first record whose time is ``asked_ms`` or later, ``found_ms`` its time; -1 for
        none."""
        if 0 <= offset <= self.position:
            self.low, self.low_ms, self.ups = offset, max(found_ms, self.low_ms), max(0, self.ups) + 1
            self.is_exact = offset == self.position
        else:
            self.high_ms, self.ups = asked_ms, min(0, self.ups) - 1
            if offset > self.position:
                self.high = offset


@dataclass
class _Talk:
    """One conversation with one broker, with its deadline and what went wrong on the way."""

    properties: KafkaProperties
    isolation: Isolation
    deadline: float
    refusals: list[str] = field(default_factory=list)
    down_at: float | None = None
    requests: int = 0
    statistics: int = 0

    def open(self) -> AdminClient:
        seconds_ms = max(1000, int((self.deadline - time.monotonic()) * 1000) + 500)
        ours: dict[str, object] = {
            "log_level": 0,
            "error_cb": self._error,
            "stats_cb": self._count,
            "statistics.interval.ms": STATISTICS_MS,
            "socket.connection.setup.timeout.ms": seconds_ms,
            "log.connection.close": False,
        }
        return AdminClient(self.properties.client(**ours))

    def _error(self, error: KafkaError) -> None:
        if error.code() in _DOWN and self.down_at is None:
            self.down_at = time.monotonic()
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            match = _AROUND.match(self.properties.redact(error.str()))
            text = match[1] if match else ""
            if text and not any(text in other for other in self.refusals):
                self.refusals.append(text)

    def _count(self, statistics: str) -> None:
        brokers = json.loads(statistics).get("brokers", {})
        self.requests = sum(sum(broker.get("req", {}).values()) for broker in brokers.values())
        self.statistics += 1

    @property
    def left(self) -> float:
        return self.deadline - time.monotonic()

    def wait(self, client: AdminClient, futures: Iterable[Future[Any]], *, is_first: bool = False) -> None:
        """Until all have an answer. Raises _NoAnswerError at the deadline, and for the first question soon
        after the broker refused."""
        waiting = list(futures)
        grace = GRACE_SECONDS_SEVERAL if "," in self.properties.servers else GRACE_SECONDS
        while waiting := [future for future in waiting if not future.done()]:
            client.poll(POLL_SECONDS)
            refused = is_first and self.down_at is not None and time.monotonic() - self.down_at > grace
            if self.left <= 0 or (refused and self.refusals):
                raise _NoAnswerError(self.reason())

    def reason(self) -> str:
        servers = self.properties.servers
        if not self.refusals:
            return say("kafka_client.no_answer", servers=servers)
        reason = "; ".join(self.refusals[:2]).replace("ipv4#", "").replace("ipv6#", "").rstrip(".")
        word = next((word for word in _HINTS if word in reason), None)
        if word is None:
            return say("kafka_client.not_asked", servers=servers, reason=reason)
        hint = say_of("kafka_client", "HINTS", word)
        return say("kafka_client.not_asked_hint", servers=servers, reason=reason, hint=hint)

    def count(self, client: AdminClient) -> None:
        """Wait for the client's next statistics, which hold every request up to now."""
        seen, until = self.statistics, time.monotonic() + 4 * STATISTICS_MS / 1000
        while self.statistics == seen and time.monotonic() < until:
            client.poll(POLL_SECONDS)


def ask(
    properties: KafkaProperties,
    positions: Mapping[str, Mapping[int, int]],
    isolation: Isolation = "read_uncommitted",
    seconds: float = 3.0,
) -> BrokerAnswer:
    """What the broker says about the topics of ``positions`` (topic -> partition -> next offset to read) and
    all their partitions.

    ``isolation`` is the query's own: with read_committed the log end is the last stable offset, as Spark sees
    it. Answers within about ``seconds``; when the broker could not be asked ``trouble`` is the reason in one
    sentence. A single partition or topic that it would not tell about has a ``trouble`` of its own.
    """
    asked_at_ms, began = int(time.time() * 1000), time.monotonic()
    talk = _Talk(properties, isolation, began + seconds)
    answer = BrokerAnswer(properties.servers, asked_at_ms, 0.0, 0, isolation)
    try:
        client = talk.open()
        try:
            answer = _converse(talk, client, positions, answer)
        finally:
            talk.count(client)
    except _NoAnswerError as error:
        answer = replace(answer, trouble=str(error))
    except KafkaException as error:
        why = (
            talk.reason()
            if talk.refusals
            else say("kafka_client.not_asked", servers=properties.servers, reason=_words(talk, error))
        )
        answer = replace(answer, trouble=why)
    except (
        Exception
    ) as error:  # a page shows the rest also when the client fails in a way nobody has seen yet
        answer = replace(
            answer,
            trouble=say("kafka_client.client_failed", servers=properties.servers, error=type(error).__name__),
        )
    return replace(answer, seconds=time.monotonic() - began, requests=talk.requests)


def _converse(
    talk: _Talk, client: AdminClient, positions: Mapping[str, Mapping[int, int]], answer: BrokerAnswer
) -> BrokerAnswer:
    if not positions:
        cluster = client.describe_cluster(request_timeout=max(0.1, talk.left))
        talk.wait(client, [cluster], is_first=True)
        cluster.result()
        return answer
    topics, absent, refused = _topics(talk, client, list(positions))
    answer = replace(answer, topics=topics, absent=tuple(absent))
    partitions: dict[Name, BrokerPartition] = {
        (topic, partition): BrokerPartition(None, None, trouble=why)
        for topic, why in refused.items()
        for partition in positions[topic]
    }
    names = [(topic.name, partition) for topic in topics.values() for partition in topic.partitions]
    if names:
        settings = _ask_settings(talk, client, list(topics))
        starts = _ask_offsets(talk, client, dict.fromkeys(names, admin.OffsetSpec.earliest()))
        ends = _ask_offsets(talk, client, dict.fromkeys(names, admin.OffsetSpec.latest()))
        talk.wait(client, [*settings.values(), *starts.values(), *ends.values()])
        answer = replace(
            answer, topics={name: _with_settings(topic, settings[name]) for name, topic in topics.items()}
        )
        for name in names:
            start, end = _offset(starts[name]), _offset(ends[name])
            trouble = next((_words(talk, each) for each in (start, end) if isinstance(each, Exception)), None)
            partitions[name] = BrokerPartition(
                None if isinstance(start, Exception) else start[0],
                None if isinstance(end, Exception) else end[0],
                asked_position=positions.get(name[0], {}).get(name[1]),
                trouble=trouble,
            )
        _find_times(talk, client, partitions, ROUNDS - bool(absent))
    all_topics = _all_topics(talk, client) if absent else ()
    return replace(answer, partitions=partitions, all_topics=all_topics)


def _topics(
    talk: _Talk, client: AdminClient, names: list[str]
) -> tuple[dict[str, BrokerTopic], list[str], dict[str, str]]:
    """The topics that are there, those that are not, and those the broker would not tell about with the
    reason."""
    futures = client.describe_topics(TopicCollection(names), request_timeout=max(0.1, talk.left))
    talk.wait(client, futures.values(), is_first=True)
    topics, absent, refused = {}, [], {}
    for name, future in futures.items():
        try:
            found = future.result()
        except KafkaException as error:
            code = error.args[0].code()
            if code in _ABSENT:
                absent.append(name)
            elif code in (KafkaError._TIMED_OUT, KafkaError._TRANSPORT):
                raise _NoAnswerError(talk.reason()) from None
            else:
                refused[name] = _words(talk, error)
        else:
            topics[name] = BrokerTopic(
                name, str(found.topic_id), tuple(sorted(p.id for p in found.partitions))
            )
    return topics, absent, refused


def _ask_settings(talk: _Talk, client: AdminClient, topics: list[str]) -> dict[str, Future[Any]]:
    resources = [admin.ConfigResource(admin.ResourceType.TOPIC, topic) for topic in topics]
    futures = client.describe_configs(resources, request_timeout=max(0.1, talk.left))
    return {resource.name: future for resource, future in futures.items()}


def _with_settings(topic: BrokerTopic, future: Future[Any]) -> BrokerTopic:
    """Settings need a right of their own (DescribeConfigs): without it they stay unknown."""
    try:
        entries = future.result()
    except KafkaException:
        return topic
    values = {key: entries[key].value for key in _SETTINGS if key in entries}
    return replace(
        topic,
        retention_ms=_number(values.get("retention.ms")),
        retention_bytes=_number(values.get("retention.bytes")),
        segment_ms=_number(values.get("segment.ms")),
        cleanup_policy=values.get("cleanup.policy"),
        timestamp_type=values.get("message.timestamp.type"),
    )


def _ask_offsets(talk: _Talk, client: AdminClient, specs: Mapping[Name, Any]) -> dict[Name, Future[Any]]:
    level = (
        IsolationLevel.READ_COMMITTED
        if talk.isolation == "read_committed"
        else IsolationLevel.READ_UNCOMMITTED
    )
    asked = {TopicPartition(*name): spec for name, spec in specs.items()}
    futures = client.list_offsets(asked, isolation_level=level, request_timeout=max(0.1, talk.left))
    return {(where.topic, where.partition): future for where, future in futures.items()}


def _offset(future: Future[Any]) -> tuple[int, int] | KafkaException:
    """The offset and the time of its record; -1 for none."""
    try:
        found = future.result()
    except KafkaException as error:
        return error
    return found.offset, found.timestamp


def _find_times(
    talk: _Talk,
    client: AdminClient,
    partitions: dict[Name, BrokerPartition],
    rounds: int,
) -> None:
    """The time of the first record of each partition, and of the record at each position: a search by time,
    all partitions at once."""
    filled = [
        name
        for name, p in partitions.items()
        if p.log_start is not None and p.log_end is not None and p.log_end > p.log_start
    ]
    firsts = _round(talk, client, dict.fromkeys(filled, admin.OffsetSpec.for_timestamp(0)))
    open_: dict[Name, tuple[int, int, int]] = {}
    for name, (offset, time_ms) in firsts.items():
        if offset < 0:
            continue
        here = partitions[name]
        position = here.asked_position
        if offset == here.log_start:
            here = replace(here, first_record_ms=time_ms)
        if (
            position is not None
            and here.log_start is not None
            and here.log_end is not None
            and here.log_start <= position < here.log_end
        ):
            here = replace(here, record_ms=time_ms)
            if position > offset:
                open_[name] = (position, offset, time_ms)
        partitions[name] = here
    newest = _round(talk, client, dict.fromkeys(open_, admin.OffsetSpec.max_timestamp())) if open_ else {}
    searches: dict[Name, _Search] = {}
    now_ms = int(time.time() * 1000)
    for name, (position, low, low_ms) in open_.items():
        high, high_ms = newest.get(name, (-1, -1))
        if high < 0:  # brokers before 3.0 do not tell the newest time
            high, high_ms = partitions[name].log_end or position + 1, now_ms
        search = _Search(position, low, low_ms, high, high_ms)
        if (
            high <= position
        ):  # the newest time lies at or before the position: nothing there is older than that
            search.low, search.low_ms, search.is_exact = high, high_ms, True
        searches[name] = search
    for _ in range(rounds - 2):
        asked = {name: search.next_ms() for name, search in searches.items() if not search.is_done}
        if not asked:
            break
        for name, (offset, time_ms) in _round(
            talk, client, {n: admin.OffsetSpec.for_timestamp(ms) for n, ms in asked.items()}
        ).items():
            searches[name].learn(asked[name], offset, time_ms)
    for name, search in searches.items():
        to_ms = None if search.is_done else search.high_ms
        partitions[name] = replace(partitions[name], record_ms=search.low_ms, record_to_ms=to_ms)


def _round(talk: _Talk, client: AdminClient, specs: Mapping[Name, Any]) -> dict[Name, tuple[int, int]]:
    """One question to every leader; partitions without an answer are left out, and all of them when the time
    is over."""
    if not specs or talk.left <= 0:
        return {}
    futures = _ask_offsets(talk, client, specs)
    try:
        talk.wait(client, futures.values())
    except _NoAnswerError:  # the offsets are known already: times are worth less than an answer in time
        return {}
    found = {name: _offset(future) for name, future in futures.items()}
    return {name: result for name, result in found.items() if not isinstance(result, Exception)}


def _all_topics(talk: _Talk, client: AdminClient) -> tuple[str, ...]:
    if talk.left <= 0:
        return ()
    try:
        return tuple(sorted(client.list_topics(timeout=max(0.1, talk.left)).topics))
    except KafkaException:
        return ()


def _words(talk: _Talk, error: BaseException) -> str:
    """The client's own words for an error, without values of the properties file."""
    inner = error.args[0] if error.args else None
    said = inner.str() if isinstance(inner, KafkaError) else type(error).__name__
    return talk.properties.redact(said).removeprefix("Broker: ").rstrip(".")


def _number(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None
