"""Kafka, and the Azure Event Hubs connector, which writes the same text: ``{"orders":{"0":66169,"1":395}}``.

The values are the NEXT positions to read (observed with Spark 4.3 and a real broker). The offset log holds
resolved numbers only; -1 and -2 exist in options, never in a file that Spark wrote.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType

from core.checkpoint.sources.base import Advance, Asks, Capabilities, ResumePoint, Seed, SourceContext
from core.checkpoint.sources.forms import (
    as_decimal,
    as_int,
    compact,
    initial_offset,
    malformed,
    no_option,
    parse,
    summed_advance,
)
from core.messages import say

_NAME = re.compile(r"[A-Za-z0-9._-]{1,260}")  # legal in Kafka topics and in event hubs
_JAVA_INT = re.compile(r"[+-]?\d{1,40}")
_INT_MAX, _LONG_MAX = 2**31 - 1, 2**63 - 1


def topics_of(offset: object) -> dict[str, dict[int, int]] | None:
    """Topic -> partition -> position, topics by name and partitions by number; None when the offset does not
    have this form."""
    if not isinstance(offset, dict) or not offset:
        return None
    topics: dict[str, dict[int, int]] = {}
    for topic, partitions in offset.items():
        if not _NAME.fullmatch(topic) or not isinstance(partitions, dict) or not partitions:
            return None
        positions: dict[int, int] = {}
        for key, value in partitions.items():
            partition, position = as_decimal(key), as_int(value)
            if partition is None or position is None:
                return None
            positions[partition] = position
        topics[topic] = dict(sorted(positions.items()))
    return dict(sorted(topics.items()))


def as_read(offset: object) -> dict[str, dict[int, int]] | None:
    """The same as Spark's reader takes it, also what only an editor writes; None when Spark refuses it.

    Observed with 4.3: null and a topic without partitions are no position; null as a position is 0, a
    fraction is cut off, a number beyond 64 bits wraps around; a partition may have a sign or zeros before it.
    Of a topic or a partition that stands there twice the last one counts.
    """
    if offset is None:
        return {}
    if not isinstance(offset, dict):
        return None
    topics: dict[str, dict[int, int]] = {}
    for topic, partitions in offset.items():
        if partitions is not None and not isinstance(partitions, dict):
            return None
        positions: dict[int, int] = {}
        for key, value in (partitions or {}).items():
            partition, position = _java_int(key), _java_long(value)
            if partition is None or position is None:
                return None
            positions[partition] = position
        if positions:
            topics[topic] = dict(sorted(positions.items()))
    return dict(sorted(topics.items()))


def positions_read(text: str | None) -> dict[str, dict[int, int]]:
    """The positions in an offset text as Spark reads them; none where it refuses them, or without a text."""
    return {} if text is None else as_read(parse(text)) or {}


def is_refused(entry: tuple[str, object]) -> bool:
    """Whether Spark's reader refuses a partition with its position."""
    return _java_int(entry[0]) is None or _java_long(entry[1]) is None


def _java_int(text: str) -> int | None:
    number = int(text) if _JAVA_INT.fullmatch(text) else None
    return number if number is not None and -_INT_MAX - 1 <= number <= _INT_MAX else None


def _java_long(value: object) -> int | None:
    if value is None:
        return 0
    if isinstance(value, float) and math.isfinite(value):
        return max(-_LONG_MAX - 1, min(_LONG_MAX, int(value)))
    if isinstance(value, int) and not isinstance(value, bool):
        return (value + _LONG_MAX + 1) % 2**64 - _LONG_MAX - 1
    return None


def _negative(topics: Mapping[str, Mapping[int, int]]) -> list[str]:
    return [
        f"{topic}-{partition} ({position})"
        for topic, ps in topics.items()
        for partition, position in ps.items()
        if position < 0
    ]


def _topic(topic: str, positions: Mapping[int, int]) -> str:
    """``orders: 3 partitions at 5 to 903``."""
    lowest, highest = min(positions.values()), max(positions.values())
    if lowest == highest:
        return say("sources.topic_at", topic=topic, partitions=len(positions), position=lowest)
    return say(
        "sources.topic_from_to", topic=topic, partitions=len(positions), lowest=lowest, highest=highest
    )


class TopicPartitions(Capabilities):
    """What both connectors share: positions by ``topic-partition``, and their difference as an upper bound of
    records."""

    unit = "offsets"
    positions_only_grow = True

    def recognises(self, offset: object) -> bool:
        return topics_of(offset) is not None

    def positions(self, offset: object) -> Mapping[str, int]:
        return {
            f"{topic}-{partition}": position
            for topic, ps in (topics_of(offset) or as_read(offset) or {}).items()
            for partition, position in ps.items()
        }

    def partitions(self, offset: object) -> tuple[str, ...]:
        return tuple(self.positions(offset))

    def first_start(self, context: SourceContext) -> object | None:
        """``sources/<n>/0``: written once before batch 0, always with resolved numbers."""
        initial = initial_offset(context)
        return initial if topics_of(initial) is not None else None

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        """Offsets spanned. Transaction markers, aborted and compacted records are offsets too, so this is the
        most that was read.

        A partition that the previous entry lacks is read from its earliest offset, whatever
        ``startingOffsets`` says (observed), so its share is at most its position.
        """
        return summed_advance(
            None if start is None else self.positions(start),
            self.positions(end),
            self.unit,
            "at_most",
            new_starts_at=0,
        )

    def describe(self, offset: object) -> str:
        topics = topics_of(offset)
        if topics is None:
            return say("sources.no_partitions") if offset == {} else say("sources.not_topics")
        parts = [_topic(topic, ps) for topic, ps in topics.items()]
        return say("sources.next_to_read", topics=parts, unit=self.unit)


class Kafka(TopicPartitions):
    """Spark's Kafka source (also Event Hubs through its Kafka endpoint)."""

    name = "kafka"
    label = "Kafka"
    asks: Asks | None = "broker"
    takes_topics = True
    reader_format: str | None = "kafka"
    earliest_options: Mapping[str, str] = MappingProxyType({"startingOffsets": "earliest"})
    seed: Seed | None = "offset_text"
    can_warm_up = True
    can_skip = True
    fails_on_data_loss = True
    is_parsed_when_planned = True

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        """``startingOffsets`` = the logged JSON, nothing added: exact (observed, also with subscribePattern
        and assign)."""
        topics = topics_of(end)
        if topics is None:
            return malformed(self.label, end)
        if negative := _negative(topics):
            return no_option(
                say("sources.kafka_negative", partitions=negative), repeats="not known", skips="not known"
            )
        text = compact(
            {
                topic: {str(partition): position for partition, position in ps.items()}
                for topic, ps in topics.items()
            }
        )
        note = say("sources.kafka_resume") if len(topics) > 1 else say("sources.kafka_resume_or_event_hubs")
        return ResumePoint(
            True,
            {"startingOffsets": text},
            "nothing",
            "nothing",
            note,
            "certain" if len(topics) > 1 else "inferred",
        )


class EventHubs(TopicPartitions):
    """The connector of Azure Event Hubs. Its text is the same as Kafka's, so it is never recognised by form;
    a user can name it."""

    name = "event_hubs"
    label = "Azure Event Hubs"
    unit = "events"

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        """``eventhubs.startingPositions`` by sequence number, inclusive (documented; read in the connector's
        source, not run)."""
        topics = topics_of(end)
        if topics is None or _negative(topics):
            return malformed(self.label, end)
        positions = {
            compact({"ehName": hub, "partitionId": partition}): {
                "offset": None,
                "seqNo": number,
                "enqueuedTime": None,
                "isInclusive": True,
            }
            for hub, ps in topics.items()
            for partition, number in ps.items()
        }
        return ResumePoint(
            True,
            {"eventhubs.startingPositions": compact(positions)},
            "nothing",
            "nothing",
            say("sources.event_hubs_resume"),
            "inferred",
        )


KAFKA = Kafka()
EVENT_HUBS = EventHubs()
