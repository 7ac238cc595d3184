"""A query in a form in which two can be compared: sources, stateful operators with keys and aggregates,
watermarks, and the rows before and after the state. ``plan_reader`` reads it from Spark's plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Typed:
    """A column by its definition (``text``) and what Spark compares of it."""

    text: str
    type: str | None
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class PlanSource:
    """A source in the order of the plan. ``place``: path, topics or table; ``limits``: options that say how
    much a batch takes; ``options``: all others."""

    kind: str
    place: str
    servers: str
    limits: Mapping[str, str]
    options: Mapping[str, str]
    columns: tuple[tuple[str, str], ...]

    @property
    def identity(self) -> tuple[object, ...]:
        """By which two sources are taken for the same."""
        return self.kind, self.place, self.servers, tuple(sorted(self.options.items()))


@dataclass(frozen=True, slots=True)
class Window:
    """A time window of a key, in microseconds; ``rest`` is everything else about it. ``gap``: of a
    session."""

    length: str
    slide: str
    rest: str
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Aggregated:
    """An aggregate: its function, the whole of it, and the columns of its buffer (type, nullable)."""

    function: str
    text: str
    buffer: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class PlanOperator:
    """A stateful operator, from the top of the plan downwards, as Spark numbers them. ``output_mode`` and
    ``time_mode``: the arguments of transformWithState."""

    name: str
    keys: tuple[Typed, ...] = ()
    windows: tuple[Window, ...] = ()
    aggregates: tuple[Aggregated, ...] = ()
    join_type: str | None = None
    condition: tuple[str, ...] = ()
    carried: tuple[tuple[str, str], ...] = ()
    state_type: str | None = None
    code: str | None = None
    output_mode: str | None = None
    time_mode: str | None = None


@dataclass(frozen=True, slots=True)
class PlanWriter:
    """What was handed to ``start``. ``by``: ``transform`` where the file leaves starting to somebody else, so
    that nothing of this is known."""

    by: str
    format: str | None
    output_mode: str | None
    query_name: str | None
    trigger: tuple[str, ...]
    path: str | None
    topic: str | None
    servers: str | None
    partition_by: tuple[str, ...]
    code: str | None


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """One query. ``before`` and ``after``: filters and other nodes below and above the state, as texts (all
    are in ``after`` where there is no state). ``columns``: the output, (name, type, definition).
    ``refused``: what Spark says against it at a start (condition, text)."""

    sources: tuple[PlanSource, ...]
    operators: tuple[PlanOperator, ...]
    watermarks: tuple[tuple[str, int], ...]
    filters_before: tuple[str, ...]
    filters_after: tuple[str, ...]
    others_before: tuple[str, ...]
    others_after: tuple[str, ...]
    columns: tuple[tuple[str, str, str], ...]
    conf: Mapping[str, str | None]
    writer: PlanWriter
    refused: tuple[str | None, str] | None
