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


class BareNumber(OnePosition):
    """A number alone. Its growth is known, its unit is not."""

    name = "counter"
    label = "rate / socket / memory"
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
            "A bare number is written by Spark's rate, socket and memory sources, which have no start option,"
            " and by Neo4j's connector, which starts at a time. The checkpoint does not tell which one it is,"
            " so no option is given.",
            repeats="not known",
            skips="not known",
            certainty="needs_input",
        )

    def describe(self, offset: object) -> str:
        value = self.value(offset)
        if value is None:
            return "Not a number."
        return "Nothing read yet (-1)" if value == -1 else f"Position {value}"


class Rate(BareNumber):
    """Spark's rate source: seconds since the start time in ``sources/<n>/0``, inclusive."""

    name = "rate"
    label = "Rate (test data)"
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
            "The rate source has no start option: a new checkpoint begins again at value 0 and at a new start"
            " time. Transplant: this offset as `offsets/0` and `offsets/1` with `commits/0` and `commits/1`,"
            " and a copy of `sources/<n>/0` (the start time), goes on exactly.",
            repeats="without the transplant all values from 0 on, with new timestamps",
            skips="nothing",
            seed="transplant",
        )

    def describe(self, offset: object) -> str:
        value = self.value(offset)
        return "Not a number." if value is None else f"{value} seconds after the start of the source"


class Socket(BareNumber):
    """Spark's socket source: index of the last line read. Never recognised by form; a user can name it."""

    name = "socket"
    label = "Socket (test source)"
    replay: Replay = "never"
    unit = "lines"
    bound: Bound = "exact"
    partition = "line"

    def first_start(self, context: SourceContext) -> object | None:
        return -1

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        if self.value(end) is None:
            return malformed(self.label, end)
        return no_option(
            "A socket cannot be read again: lines sent before the query starts are gone, and there is no"
            " start option.",
            repeats="nothing",
            skips="every line that was not read",
        )

    def describe(self, offset: object) -> str:
        value = self.value(offset)
        if value is None:
            return "Not a number."
        return "No line read yet" if value < 0 else f"Lines 0 to {value} were read"


class Memory(BareNumber):
    """Spark's memory stream of tests: index of the last block that was added. Never recognised by form; a
    user can name it."""

    name = "memory"
    label = "Memory (test source)"
    replay: Replay = "never"
    unit = "blocks"
    partition = "block"

    def first_start(self, context: SourceContext) -> object | None:
        return -1

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        if self.value(end) is None:
            return malformed(self.label, end)
        return no_option(
            "A memory stream lives in the test that made it; there is no start option.",
            repeats="whatever the test adds again",
            skips="everything the ended process held",
        )


class RateMicroBatch(OnePosition):
    """Spark's rate-micro-batch source (3.3+): rows made so far, exclusive, and the time stamp of the next
    rows."""

    name = "rate_micro_batch"
    label = "Rate per micro-batch (test data)"
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
            "There is no option for the first row (startTimestamp only sets the time stamps). A new"
            " checkpoint with this offset written by hand as `offsets/0` and a `commits/0` goes on exactly.",
            repeats="without it all rows from value 0 on",
            skips="nothing",
            seed="transplant",
        )

    def describe(self, offset: object) -> str:
        value, stamp = self.value(offset), as_int(as_object(offset).get("timestamp"))
        if value is None:
            return "Not a rate-micro-batch offset."
        return f"{value} rows made" + ("" if stamp is None else f", next rows at {_time(stamp)}")


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
            "The continuous rate source makes its rows from the clock and has no start option.",
            repeats="all values from 0 on, with new timestamps",
            skips="nothing",
        )

    def describe(self, offset: object) -> str:
        values = self._values(offset)
        return (
            "Not a continuous rate offset."
            if values is None
            else f"Last values {min(values.values())} to {max(values.values())} in {len(values)} partitions"
        )


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
