"""Spark's test sources (rate, rate-micro-batch, continuous rate, socket, memory) and a bare number of unknown
origin.

A bare number is ambiguous: rate, socket and memory sources (and Neo4j's connector) write one. Only the rate
source leaves a start time in ``sources/<n>/0``; the registry decides by that. Everything else stays "a
number".
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from core.checkpoint.sources.base import (
    Advance,
    Bound,
    Capabilities,
    Replay,
    ResumePoint,
    SourceContext,
)
from core.checkpoint.sources.forms import (
    OnePosition,
    as_decimal,
    as_int,
    as_object,
    initial_offset,
    malformed,
    no_option,
    single_advance,
    summed_advance,
)
from core.messages import say


class BareNumber(OnePosition):
    """A number alone. Its growth is known, its unit is not."""

    name = "counter"
    label = "rate / socket / memory"
    may_count_from_a_start = True
    unit = "steps"
    bound: Bound = "estimate"

    def recognises(self, offset: object) -> bool:
        return as_int(offset) is not None

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        return single_advance(self.value(start), self.value(end), self.unit, self.bound, self.partition)

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        if self.value(end) is None:
            return malformed(self.label, end)
        return no_option(
            say("sources.counter_resume"),
            repeats="not known",
            skips="not known",
            certainty="needs_input",
        )

    def describe(self, offset: object) -> str:
        value = self.value(offset)
        if value is None:
            return say("sources.not_a_number")
        return say("sources.counter_nothing_read") if value == -1 else say("sources.counter", value=value)


class Rate(BareNumber):
    """Spark's rate source: seconds since the start time in ``sources/<n>/0``, inclusive."""

    name = "rate"
    label = "Rate (test data)"
    can_skip = True
    replay: Replay = "always"
    unit = "seconds"
    partition = "seconds"

    def first_start(self, context: SourceContext) -> object | None:
        return 0

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        """No option; the transplant with the start time is exact (observed, Spark 4.3), without it the first
        batch fails."""
        if self.value(end) is None:
            return malformed(self.label, end)
        return no_option(
            say("sources.rate_resume"),
            repeats=say("sources.rate_repeats"),
            skips="nothing",
            seed="transplant",
        )

    def describe(self, offset: object) -> str:
        value = self.value(offset)
        return say("sources.not_a_number") if value is None else say("sources.rate", value=value)


class Socket(BareNumber):
    """Spark's socket source: index of the last line read. Never recognised by form; a user can name it."""

    name = "socket"
    label = "Socket (test source)"
    may_count_from_a_start = False
    replay: Replay = "never"
    unit = "lines"
    bound: Bound = "exact"
    partition = "line"

    def first_start(self, context: SourceContext) -> object | None:
        return -1

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        if self.value(end) is None:
            return malformed(self.label, end)
        return no_option(say("sources.socket_resume"), repeats="nothing", skips=say("sources.socket_skips"))

    def describe(self, offset: object) -> str:
        value = self.value(offset)
        if value is None:
            return say("sources.not_a_number")
        return say("sources.socket_nothing_read") if value < 0 else say("sources.socket", value=value)


class Memory(BareNumber):
    """Spark's memory stream of tests: index of the last block that was added. Never recognised by form; a
    user can name it."""

    name = "memory"
    label = "Memory (test source)"
    may_count_from_a_start = False
    replay: Replay = "never"
    unit = "blocks"
    partition = "block"

    def first_start(self, context: SourceContext) -> object | None:
        return -1

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        if self.value(end) is None:
            return malformed(self.label, end)
        return no_option(
            say("sources.memory_resume"),
            repeats=say("sources.memory_repeats"),
            skips=say("sources.memory_skips"),
        )


class RateMicroBatch(OnePosition):
    """Spark's rate-micro-batch source (3.3+): rows made so far, exclusive, and the time stamp of the next
    rows."""

    name = "rate_micro_batch"
    label = "Rate per micro-batch (test data)"
    can_skip = True
    replay: Replay = "always"
    partition = "row"

    def recognises(self, offset: object) -> bool:
        return (
            isinstance(offset, dict)
            and set(offset) == {"offset", "timestamp"}
            and all(as_int(v) is not None for v in offset.values())
        )

    def value(self, offset: object) -> int | None:
        return as_int(as_object(offset).get("offset"))

    def first_start(self, context: SourceContext) -> object | None:
        """Rows start at 0; the time is the option startTimestamp (default 0), which no file holds."""
        return {"offset": 0, "timestamp": 0}

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        return single_advance(self.value(start), self.value(end), "rows", "exact", self.partition)

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        if not self.recognises(end):
            return malformed(self.label, end)
        return no_option(
            say("sources.rate_micro_batch_resume"),
            repeats=say("sources.rate_micro_batch_repeats"),
            skips="nothing",
            seed="transplant",
        )

    def describe(self, offset: object) -> str:
        value, stamp = self.value(offset), as_int(as_object(offset).get("timestamp"))
        if value is None:
            return say("sources.not_rate_micro_batch")
        if stamp is None:
            return say("sources.rate_micro_batch", rows=value)
        return say("sources.rate_micro_batch_at", rows=value, time=_time(stamp))


class RateContinuous(Capabilities):
    """The rate source in continuous mode: the last value that each partition emitted. With n partitions its
    values are n apart."""

    name = "rate_continuous"
    label = "Rate, continuous mode (test data)"
    replay: Replay = "always"

    def _values(self, offset: object) -> dict[int, int] | None:
        if not isinstance(offset, dict) or not offset:
            return None
        values: dict[int, int] = {}
        for key, entry in offset.items():
            partition, value = as_decimal(key), as_int(as_object(entry).get("value"))
            if partition is None or value is None or "runTimeMs" not in entry:
                return None
            values[partition] = value
        return dict(sorted(values.items()))

    def recognises(self, offset: object) -> bool:
        return self._values(offset) is not None

    def positions(self, offset: object) -> Mapping[str, int]:
        return {str(partition): value for partition, value in (self._values(offset) or {}).items()}

    def partitions(self, offset: object) -> tuple[str, ...]:
        return tuple(self.positions(offset))

    def first_start(self, context: SourceContext) -> object | None:
        return None

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        before, after = self._values(start), self._values(end)
        if before is None or after is None or set(before) != set(after):
            return Advance(None, "rows", "exact", dict.fromkeys(self.positions(end)))
        rows = {f"{p}": value // len(after) for p, value in after.items()}
        return summed_advance(
            {f"{p}": value // len(after) for p, value in before.items()}, rows, "rows", "exact"
        )

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        if not self.recognises(end):
            return malformed(self.label, end)
        return no_option(
            say("sources.rate_continuous_resume"),
            repeats=say("sources.rate_continuous_repeats"),
            skips="nothing",
        )

    def describe(self, offset: object) -> str:
        values = self._values(offset)
        if values is None:
            return say("sources.not_rate_continuous")
        lowest, highest = min(values.values()), max(values.values())
        return say("sources.rate_continuous", lowest=lowest, highest=highest, partitions=len(values))


def starts_with_a_time(context: SourceContext | None) -> bool:
    """Whether ``sources/<n>/0`` holds a bare number, as only the rate source writes (its start time in epoch
    milliseconds)."""
    return context is not None and as_int(initial_offset(context)) is not None


def _time(stamp_ms: int) -> str:
    try:
        return datetime.fromtimestamp(stamp_ms / 1000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):
        return f"{stamp_ms} ms"


COUNTER = BareNumber()
RATE = Rate()
SOCKET = Socket()
MEMORY = Memory()
RATE_MICRO_BATCH = RateMicroBatch()
RATE_CONTINUOUS = RateContinuous()
