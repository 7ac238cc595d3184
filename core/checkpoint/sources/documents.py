"""Document stores whose change streams Spark reads: MongoDB and Azure Cosmos DB."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime

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
    parse,
    shortened,
    single_advance,
    summed_advance,
)
from core.messages import say


class MongoDb(OnePosition):
    """MongoDB change streams: a cluster time in seconds, exclusive (micro-batch), or a resume token
    (continuous mode, old connectors)."""

    name = "mongodb"
    label = "MongoDB change stream"
    partition = "cluster time (s)"

    def _content(self, offset: object) -> Mapping[str, object]:
        fields = as_object(offset)
        return as_object(fields.get("offset")) if "version" in fields else fields

    def recognises(self, offset: object) -> bool:
        content = self._content(offset)
        return self.value(offset) is not None or (isinstance(content.get("_data"), str) and len(content) == 1)

    def value(self, offset: object) -> int | None:
        stamp = as_object(self._content(offset).get("$timestamp"))
        return as_int(stamp.get("t")) if as_int(stamp.get("i")) is not None else None

    def first_start(self, context: SourceContext) -> object | None:
        """Not known: the connector rewrites its file ``sources/<n>`` while it runs."""
        return None

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        return single_advance(self.value(start), self.value(end), "seconds", "estimate", self.partition)

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        """Connector 10.2+: start at an operation time (documented, not run). A resume token cannot be given
        as an option."""
        value = self.value(end)
        if value is not None:
            stamp = compact(self._content(end))
            return ResumePoint(
                True,
                {
                    "change.stream.startup.mode": "timestamp",
                    "change.stream.startup.mode.timestamp.start.at.operation.time": stamp,
                },
                "nothing",
                "nothing",
                say("sources_other.mongodb_resume"),
                "inferred",
            )
        if not self.recognises(end):
            return malformed(self.label, end)
        return no_option(
            say("sources_other.mongodb_token_resume"),
            repeats=say("sources_other.mongodb_token_repeats"),
            skips=say("sources_other.mongodb_token_skips"),
            certainty="needs_input",
            seed="transplant",
        )

    def describe(self, offset: object) -> str:
        value = self.value(offset)
        if value is not None:
            return say("sources_other.mongodb", time=_time(value))
        token = self._content(offset).get("_data")
        if isinstance(token, str):
            return say("sources_other.mongodb_token", token=shortened(token, 40))
        return say("sources_other.not_mongodb")


class Cosmos(Capabilities):
    """Cosmos DB change feed: continuation tokens per feed range inside a base64 JSON text. The token of a
    range is its sequence number."""

    name = "cosmos"
    label = "Cosmos DB change feed"

    def _ranges(self, offset: object) -> dict[str, object]:
        state = as_object(offset).get("state")
        if not isinstance(state, str):
            return {}
        try:
            decoded = parse(base64.b64decode(state, validate=True).decode("utf-8"))
        except ValueError:
            return {}
        entries = as_object(as_object(decoded).get("Continuation")).get("Continuation")
        ranges: dict[str, object] = {}
        for entry in entries if isinstance(entries, list) else []:
            bounds = as_object(as_object(entry).get("range"))
            ranges[f"{bounds.get('min', '?') or '0'}..{bounds.get('max', '?')}"] = as_object(entry).get(
                "token"
            )
        return ranges

    def recognises(self, offset: object) -> bool:
        name = as_object(offset).get("id")
        return (
            isinstance(name, str)
            and name.lower().endswith("changefeed.offset.v1")
            and isinstance(as_object(offset).get("state"), str)
        )

    def positions(self, offset: object) -> Mapping[str, int]:
        numbers = {
            name: as_decimal(token.strip('"'))
            for name, token in self._ranges(offset).items()
            if isinstance(token, str)
        }
        return {name: number for name, number in numbers.items() if number is not None}

    def partitions(self, offset: object) -> tuple[str, ...]:
        return tuple(self._ranges(offset))

    def first_start(self, context: SourceContext) -> object | None:
        initial = initial_offset(context)
        return initial if self.recognises(initial) else None

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        """Difference of the sequence numbers; one transaction may hold several changes under one number."""
        positions = self.positions(end)
        if not positions:
            return Advance(None, "sequence numbers", "estimate", dict.fromkeys(self.partitions(end)))
        return summed_advance(
            None if start is None else self.positions(start), positions, "sequence numbers", "estimate"
        )

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        if not self.recognises(end):
            return malformed(self.label, end)
        return no_option(
            say("sources_other.cosmos_resume"),
            repeats=say("sources_other.cosmos_repeats"),
            skips=say("sources_other.cosmos_skips"),
            certainty="needs_input",
            seed="transplant",
        )

    def describe(self, offset: object) -> str:
        if not self.recognises(offset):
            return say("sources_other.not_cosmos")
        ranges = self._ranges(offset)
        if not ranges:
            return say("sources_other.cosmos_not_decoded")
        tokens = [
            say("sources_other.cosmos_range", name=name, token=shortened(token, 30))
            for name, token in ranges.items()
        ]
        return say("sources_other.cosmos", count=len(ranges), ranges=tokens)


def _time(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return f"{seconds} s"


MONGODB = MongoDb()
COSMOS = Cosmos()
