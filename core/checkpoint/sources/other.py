"""Sources whose offsets anyone can shape: Python data sources, Spark's sequential union, and every form that
is not known.

Nothing is dropped: integers anywhere in the JSON are followed as counters under their path
(``partition-1.index``).
"""

from __future__ import annotations

from collections.abc import Mapping

from core.checkpoint.sources.base import Advance, Capabilities, ResumePoint, SourceContext
from core.checkpoint.sources.forms import (
    as_int,
    as_object,
    compact,
    malformed,
    no_option,
    shortened,
)
from core.messages import say


def leaves(offset: object) -> dict[str, int]:
    """The integers in a JSON value by their path, in document order; a lone number is "position".

    Where two paths read the same (a key may hold a dot), the later one is named by the JSON list of its keys.
    """
    found: dict[str, int] = {}
    stack: list[tuple[tuple[str, ...], object]] = [((), offset)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            stack.extend(((*path, key), inner) for key, inner in reversed(value.items()))
        elif isinstance(value, list):
            stack.extend(((*path, str(i)), value[i]) for i in range(len(value) - 1, -1, -1))
        elif (number := as_int(value)) is not None:
            name = ".".join(path) if path else "position"
            found[compact(path) if name in found else name] = number
    return found


class Unknown(Capabilities):
    """Any offset that no other kind recognises. Shown raw; its integers are followed as counters."""

    name = "unknown"
    label = "Unknown source"

    def recognises(self, offset: object) -> bool:
        return True

    def positions(self, offset: object) -> Mapping[str, int]:
        return leaves(offset)

    def partitions(self, offset: object) -> tuple[str, ...]:
        return tuple(leaves(offset))

    def first_start(self, context: SourceContext) -> object | None:
        return None

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        """The change of each number. There is a total only when there is one number: what several mean
        together is not known."""
        before, after = leaves(start), leaves(end)
        moved = {
            name: value - before[name] if name in before and value >= before[name] else None
            for name, value in after.items()
        }
        lower = [
            say("sources.from_to", name=name, start=before[name], end=value)
            for name, value in after.items()
            if name in before and value < before[name]
        ]
        total = next(iter(moved.values())) if len(moved) == 1 else None
        return Advance(
            total,
            "steps",
            "estimate",
            moved,
            say("sources.partitions_went_down", partitions=lower) if lower else "",
        )

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        return no_option(
            say("sources.unknown_resume", offset=shortened(end)),
            repeats="not known",
            skips="not known",
            certainty="needs_input",
            seed="transplant",
        )

    def describe(self, offset: object) -> str:
        return shortened(offset)


class PythonSource(Unknown):
    """A Python data source (Spark 4.0+): whatever its author's ``latestOffset()`` or ``read()`` returned,
    written by ``json.dumps``.

    Recognised by the spaces that ``json.dumps`` puts after colons and commas; Spark's own sources write none.
    """

    name = "python"
    label = "Python data source"

    def recognises(self, offset: object) -> bool:
        return isinstance(offset, dict)

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        if not self.recognises(end):
            return malformed(self.label, end)
        return no_option(
            say("sources.python_resume", offset=shortened(end)),
            repeats=say("sources.python_repeats"),
            skips=say("sources.python_repeats"),
            certainty="needs_input",
            seed="transplant",
        )


class SequentialUnion(Capabilities):
    """A union that reads one source after the other (Spark 4.3): which one is active and which are done. It
    holds no position."""

    name = "sequential_union"
    label = "Sequential union"

    def recognises(self, offset: object) -> bool:
        fields = as_object(offset)
        names = (fields.get("allSourceNames"), fields.get("completedSourceNames"))
        return isinstance(fields.get("activeSourceName"), str) and all(
            isinstance(group, list) and all(isinstance(name, str) for name in group) for group in names
        )

    def _done(self, offset: object) -> list[str]:
        done = as_object(offset).get("completedSourceNames")
        return [str(name) for name in done] if isinstance(done, list) else []

    def positions(self, offset: object) -> Mapping[str, int]:
        return {"sources completed": len(self._done(offset))} if self.recognises(offset) else {}

    def partitions(self, offset: object) -> tuple[str, ...]:
        return tuple(self.positions(offset))

    def first_start(self, context: SourceContext) -> object | None:
        return None

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        before, after = self._done(start), self._done(end)
        if not self.recognises(start) or not self.recognises(end):
            return Advance(None, "sources", "estimate", dict.fromkeys(self.partitions(end)))
        moved = max(0, len(after) - len(before))
        completed = [name for name in after if name not in before]
        note = say("sources.union_completed", names=completed) if moved else ""
        return Advance(moved, "sources", "estimate", {"sources completed": moved}, note)

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        if not self.recognises(end):
            return malformed(self.label, end)
        active = shortened(as_object(end).get("activeSourceName"), 60)
        return no_option(
            say("sources.union_resume", active=active, done=self._done(end)),
            repeats=say("sources.union_repeats"),
            skips="nothing",
            certainty="needs_input",
        )

    def describe(self, offset: object) -> str:
        if not self.recognises(offset):
            return say("sources.not_union")
        active = shortened(as_object(offset).get("activeSourceName"), 60)
        return say("sources.union", active=active, done=self._done(offset))


PYTHON = PythonSource()
SEQUENTIAL_UNION = SequentialUnion()
UNKNOWN = Unknown()
