"""Message systems beside Kafka and Kinesis: Google Pub/Sub and Pub/Sub Lite, Apache Pulsar, Redis streams."""

from __future__ import annotations

from collections.abc import Mapping

from core.checkpoint.sources.base import Advance, Capabilities, ResumePoint, SourceContext
from core.checkpoint.sources.forms import (
    OnePosition,
    as_decimal,
    as_int,
    as_object,
    compact,
    initial_offset,
    malformed,
    no_option,
    single_advance,
    summed_advance,
)
from core.messages import say


class PubSub(OnePosition):
    """Databricks' Pub/Sub source: counters of fetches, no message positions."""

    name = "pubsub"
    label = "Google Pub/Sub"
    partition = "fetch"

    def recognises(self, offset: object) -> bool:
        return self.value(offset) is not None and as_int(as_object(offset).get("fetchEpoch")) is not None

    def value(self, offset: object) -> int | None:
        return as_int(as_object(offset).get("seqNum"))

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        return single_advance(self.value(start), self.value(end), "fetches", "estimate", self.partition)

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        if not self.recognises(end):
            return malformed(self.label, end)
        return no_option(
            say("sources_other.pubsub_resume"),
            repeats=say("sources_other.pubsub_repeats"),
            skips=say("sources_other.skips_nothing_if_early"),
            certainty="needs_input",
        )

    def describe(self, offset: object) -> str:
        if not self.recognises(offset):
            return say("sources_other.not_pubsub")
        epoch = as_object(offset).get("fetchEpoch")
        return say("sources_other.pubsub", fetch=self.value(offset), epoch=epoch)


class PubSubLite(Capabilities):
    """Pub/Sub Lite: the last offset read per partition, inclusive; -1 = none."""

    name = "pubsub_lite"
    label = "Google Pub/Sub Lite"

    def _numbers(self, offset: object) -> dict[int, int] | None:
        if not isinstance(offset, dict) or not offset:
            return None
        numbers: dict[int, int] = {}
        for key, value in offset.items():
            partition, number = as_decimal(key), as_int(value)
            if partition is None or number is None:
                return None
            numbers[partition] = number
        return dict(sorted(numbers.items()))

    def recognises(self, offset: object) -> bool:
        return self._numbers(offset) is not None

    def positions(self, offset: object) -> Mapping[str, int]:
        return {str(partition): number for partition, number in (self._numbers(offset) or {}).items()}

    def partitions(self, offset: object) -> tuple[str, ...]:
        return tuple(self.positions(offset))

    def first_start(self, context: SourceContext) -> object | None:
        return None

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        return summed_advance(
            None if start is None else self.positions(start), self.positions(end), "messages", "at_most"
        )

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        numbers = self._numbers(end)
        if numbers is None:
            return malformed(self.label, end)
        following = [f"{partition}: {number + 1}" for partition, number in numbers.items()]
        return no_option(
            say("sources_other.pubsub_lite_resume", following=following),
            repeats=say("sources_other.depends_on_subscription"),
            skips=say("sources_other.depends_on_subscription"),
            certainty="needs_input",
            seed="transplant",
        )

    def describe(self, offset: object) -> str:
        numbers = self._numbers(offset)
        if numbers is None:
            return say("sources_other.not_pubsub_lite")
        read = [f"{partition}: {number}" for partition, number in numbers.items()]
        return say("sources_other.pubsub_lite", read=read)


class Pulsar(Capabilities):
    """Pulsar: the last message id read per topic, inclusive, as the signed bytes of its protobuf form."""

    name = "pulsar"
    label = "Pulsar"

    def recognises(self, offset: object) -> bool:
        return (
            isinstance(offset, dict)
            and bool(offset)
            and all(_is_signed_bytes(value) for value in offset.values())
        )

    def positions(self, offset: object) -> Mapping[str, int]:
        """The entry id inside the current ledger of each topic: it starts again with every ledger."""
        return {
            topic: entry
            for topic in self.partitions(offset)
            if (entry := _message_id(as_object(offset)[topic]).get(2)) is not None
        }

    def partitions(self, offset: object) -> tuple[str, ...]:
        return tuple(sorted(as_object(offset))) if self.recognises(offset) else ()

    def first_start(self, context: SourceContext) -> object | None:
        initial = initial_offset(context)
        return initial if self.recognises(initial) else None

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        """Entries between two ids of one ledger (an entry may hold several messages); across ledgers only
        Pulsar knows."""
        by_partition: dict[str, int | None] = {}
        for topic in self.partitions(end):
            before, after = _message_id(as_object(start).get(topic)), _message_id(as_object(end)[topic])
            same_ledger = before.get(1) is not None and before.get(1) == after.get(1)
            first, last = before.get(2), after.get(2)
            by_partition[topic] = (
                last - first
                if same_ledger and first is not None and last is not None and last >= first
                else None
            )
        known = [value for value in by_partition.values() if value is not None]
        if not by_partition or len(known) < len(by_partition):
            return Advance(
                None,
                "entries",
                "estimate",
                by_partition,
                "" if start is None else say("sources_other.pulsar_other_ledger"),
            )
        return Advance(sum(known), "entries", "estimate", by_partition)

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        """``startingOffsets`` = the same JSON, but an id given by a user is read inclusively (read in the
        connector's source, not run)."""
        if not self.recognises(end):
            return malformed(self.label, end)
        return ResumePoint(
            False,
            {"startingOffsets": compact(dict(sorted(as_object(end).items())))},
            say("sources_other.pulsar_repeats"),
            "nothing",
            say("sources_other.pulsar_resume"),
            "inferred",
        )

    def describe(self, offset: object) -> str:
        ids = []
        for topic in self.partitions(offset):
            parts = _message_id(as_object(offset)[topic])
            ids.append(
                say(
                    "sources_other.pulsar_id",
                    topic=topic,
                    ledger=parts.get(1, "?"),
                    entry=parts.get(2, "?"),
                )
            )
        return say("sources_other.pulsar", ids=ids) if ids else say("sources_other.not_pulsar")


class RedisStreams(Capabilities):
    """spark-redis: the last stream id (``milliseconds-sequence``) per stream, inclusive."""

    name = "redis"
    label = "Redis streams"

    def _ids(self, offset: object) -> dict[str, str] | None:
        fields = as_object(offset)
        streams = as_object(fields.get("offsets"))
        if set(fields) != {"offsets"} or not streams:
            return None
        ids = {
            name: as_object(value).get("offset")
            for name, value in streams.items()
            if "groupName" in as_object(value)
        }
        texts = {name: value for name, value in ids.items() if isinstance(value, str)}
        return dict(sorted(texts.items())) if len(texts) == len(streams) else None

    def recognises(self, offset: object) -> bool:
        return self._ids(offset) is not None

    def positions(self, offset: object) -> Mapping[str, int]:
        """The time part of each id, in epoch milliseconds."""
        times = {name: as_decimal(text.split("-", 1)[0]) for name, text in (self._ids(offset) or {}).items()}
        return {name: time for name, time in times.items() if time is not None}

    def partitions(self, offset: object) -> tuple[str, ...]:
        return tuple(self._ids(offset) or {})

    def first_start(self, context: SourceContext) -> object | None:
        return None

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        """The time between two ids; how many entries lie between is in Redis only. No sum over several
        streams."""
        before, after = self.positions(start), self.positions(end)
        moved: dict[str, int | None] = {
            name: max(0, after[name] - before[name]) if name in after and name in before else None
            for name in self.partitions(end)
        }
        return Advance(
            next(iter(moved.values())) if len(moved) == 1 else None, "milliseconds", "estimate", moved
        )

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        """``stream.offsets`` = the same JSON (documented; the connector's source resets the consumer group to
        it; not run)."""
        if not self.recognises(end):
            return malformed(self.label, end)
        return ResumePoint(
            True,
            {"stream.offsets": compact(end)},
            "nothing",
            "nothing",
            say("sources_other.redis_resume"),
            "inferred",
        )

    def describe(self, offset: object) -> str:
        ids = self._ids(offset)
        if ids is None:
            return say("sources_other.not_redis")
        return say("sources_other.redis", ids=[f"{name} {text}" for name, text in ids.items()])


def _is_signed_bytes(value: object) -> bool:
    return (
        isinstance(value, list)
        and 0 < len(value) <= 200
        and all((n := as_int(v)) is not None and -128 <= n <= 127 for v in value)
    )


def _message_id(value: object) -> dict[int, int]:
    """The varint fields of a Pulsar message id: 1 ledger, 2 entry, 3 partition, 4 batch index. What cannot be
    read is left out."""
    fields: dict[int, int] = {}
    if not _is_signed_bytes(value) or not isinstance(value, list):
        return fields
    numbers, at = [], 0
    data = [n & 0xFF for n in value]
    while at < len(data):
        number, shift = 0, 0
        while at < len(data) and shift < 70:
            byte = data[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        else:
            return fields
        numbers.append(number)
        if len(numbers) % 2 == 0:
            tag, content = numbers[-2], numbers[-1] & (2**64 - 1)
            if tag & 7:  # not a varint field
                return fields
            fields[tag >> 3] = content - 2**64 if content >= 2**63 else content
    return fields


PUBSUB = PubSub()
PUBSUB_LITE = PubSubLite()
PULSAR = Pulsar()
REDIS = RedisStreams()
