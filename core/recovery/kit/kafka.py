"""What a broker has, and where a query that reads it resumes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from core.recovery.kit.files import Files
from core.recovery.kit.query import QueryRun, reader_options
from core.recovery.kit.words import Refused, show

Offsets = dict[str, dict[str, tuple[int, int]]]
"""By topic and partition the oldest offset and the next one."""
Positions = dict[str, dict[str, int]]
"""By topic and partition the offset of the next record."""


def broker_offsets(spark: Any, options: Mapping[str, str], wanted: Callable[[str], bool]) -> Offsets:
    """The offsets of the topics for which ``wanted`` is true, as the broker reports them."""
    jvm = spark._jvm
    properties = jvm.java.util.HashMap()
    for name, value in options.items():
        if name.startswith("kafka."):
            properties.put(name[len("kafka.") :], value)
    for side in ("key", "value"):
        deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
        properties.put(f"{side}.deserializer", deserializer)
    consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(properties)
    try:
        topics = consumer.listTopics()
        partitions = jvm.java.util.ArrayList()
        for topic in topics.keySet():
            if wanted(topic):
                for info in topics.get(topic):
                    partitions.add(jvm.org.apache.kafka.common.TopicPartition(topic, info.partition()))
        oldest, following = consumer.beginningOffsets(partitions), consumer.endOffsets(partitions)
        found: Offsets = {}
        for partition in partitions:
            name = str(partition.partition())
            found.setdefault(partition.topic(), {})[name] = (oldest.get(partition), following.get(partition))
        return found
    except Exception as error:
        raise Refused(f"The broker did not answer: {str(error).splitlines()[0]}") from error
    finally:
        consumer.close()


def sink_topic_offsets(run: QueryRun) -> Offsets:
    """The offsets of the topic that the query writes to; empty when the broker has no such topic."""
    options = {"kafka.bootstrap.servers": run.sink_servers, **run.sink_options()}
    return broker_offsets(run.spark, options, lambda topic: topic == run.sink_topic)


def kafka_wanted(source: Mapping[str, Any]) -> Callable[[str], bool]:
    """Whether the source reads a topic, by its subscribe, subscribePattern or assign option."""
    options = source["options"]
    if "subscribePattern" in options:
        return lambda topic: re.fullmatch(options["subscribePattern"], topic) is not None
    if "assign" in options:
        return lambda topic: topic in json.loads(options["assign"])
    return lambda topic: topic in options["subscribe"].split(",")


def kafka_there(spark: Any, source: Mapping[str, Any]) -> Offsets:
    """Every partition that the broker has of the topics of a source, also those that are not assigned."""
    return broker_offsets(spark, reader_options(source, {}), kafka_wanted(source))


def kafka_now(spark: Any, source: Mapping[str, Any]) -> Offsets:
    """What the broker has of what a source reads."""
    found = kafka_there(spark, source)
    if "assign" in source["options"]:
        assigned = json.loads(source["options"]["assign"])
        named = {topic: {str(number) for number in numbers} for topic, numbers in assigned.items()}
        found = {
            topic: {each: at for each, at in partitions.items() if each in named.get(topic, set())}
            for topic, partitions in found.items()
        }
    return found


def began_at(files: Files, place: str) -> Positions:
    """The positions at which a Kafka source began, from the file that it writes first."""
    began: Positions = json.loads(files.read(place).lstrip("\0").removeprefix("v1\n"))
    return began


def position_state(position: int | None, oldest: int, following: int) -> str:
    """What the broker makes of a position: new, beyond_end (the topic was deleted and recreated),
    behind_log_start (records expired) or ok."""
    if position is None:
        return "new"
    if position > following:
        return "beyond_end"
    return "behind_log_start" if position < oldest else "ok"


def kafka_start(run: QueryRun, source: Mapping[str, Any], special: bool, tells: bool = True) -> Positions:
    """Where to resume: the position of the last committed batch, checked against the broker.

    A partition created since starts at its oldest offset, and so does one of a topic that was recreated: when
    the plan says so, or the topic lacks a partition that was read. ``special`` writes that as -2 (right in an
    option, never in a file); ``tells``: what is unusual is shown.
    """
    tell = show if tells else _keep_silent
    position, now = json.loads(source["position"]), kafka_now(run.spark, source)
    planned = json.loads(source["start"].get("startingOffsets", "{}"))
    new = recreated_topics(position, kafka_there(run.spark, source))
    gone = sorted(
        f"{topic}-{partition}"
        for topic, partitions in position.items()
        if topic in now or kafka_wanted(source)(topic)
        for partition in partitions
        if partition not in now.get(topic, {})
    )
    if gone and not run.accept_loss:
        raise Refused(
            f"The broker no longer has {', '.join(gone)}: the topic was deleted or recreated, so the position"
            " means nothing there."
        )
    if gone:
        tell(f"Kafka: {', '.join(gone)} no longer exists; the records that were not read from it are lost.")
    start: Positions = {}
    for topic, partitions in now.items():
        for partition, (oldest, following) in partitions.items():
            name, at = f"{topic}-{partition}", position.get(topic, {}).get(partition)
            is_from_first = topic in new or planned.get(topic, {}).get(partition) == -2
            found = resumed(run, name, at, (oldest, following), is_from_first, tell)
            start.setdefault(topic, {})[partition] = (-2 if special else oldest) if found is None else found
    return start


def recreated_topics(position: Positions, there: Offsets) -> set[str]:
    """The topics that lack a partition of ``position``: Kafka never removes one, so the topic is new."""
    return {
        topic
        for topic, partitions in position.items()
        if topic in there and not set(partitions) <= set(there[topic])
    }


def _keep_silent(_: str) -> None:
    """What was shown before is not shown again."""


def resumed(
    run: QueryRun,
    name: str,
    at: int | None,
    there: tuple[int, int],
    is_from_first: bool,
    tell: Callable[[str], None] = show,
) -> int | None:
    """Where one partition resumes; None for its oldest offset."""
    oldest, following = there
    state = position_state(at, oldest, following)
    if state == "new":
        batch = run.last_committed
        tell(f"Kafka: {name} is new since batch {batch} and is read from its oldest offset {oldest}.")
        return None
    if state == "beyond_end" or (state == "ok" and is_from_first):
        if not is_from_first:
            raise Refused(
                f"{name} ends at {following}, before the position {at}: the topic was deleted and recreated."
            )
        tell(f"Kafka: the topic of {name} was recreated: it is read from its oldest offset {oldest}.")
        return None
    if state == "behind_log_start":
        lost = f"{name}: the offsets {at} to {oldest - 1} have expired"
        if not run.accept_loss:
            raise Refused(
                f"{lost}. Their rows are lost in any case; set ACCEPT_LOSS = True to resume at {oldest}."
            )
        tell(f"Kafka: {lost} and are lost.")
        return None
    return at
