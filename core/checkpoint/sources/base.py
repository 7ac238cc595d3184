"""What every kind of source answers about its offsets. One module per kind implements :class:`SourceKind`;
``registry.py`` lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from core.checkpoint.model import FileLogEntry
from core.sparklogs.evidence import Certainty

Bound = Literal["exact", "at_most", "estimate"]


@dataclass(frozen=True, slots=True)
class Advance:
    """How far a source moved from one offset to the next.

    ``amount`` counts ``unit`` ("offsets", "files", "versions", "rows", "seconds", "lines", ...), None when
    the files cannot tell. ``bound`` says what it means for the number of records: Kafka offsets are an upper
    bound ("at_most"). ``by_partition`` has one entry per partition that is known at the end; None there means
    the start of that partition is not known from the files. ``note`` is one sentence when the number needs
    one (a value went down, a partition is new, ...).
    """

    amount: int | None
    unit: str
    bound: Bound
    by_partition: Mapping[str, int | None] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """The start position for a NEW checkpoint that goes on after an offset, or the reason why no option can
    express it.

    ``options`` are ``readStream`` options; with ``exact`` False they may be None. ``repeats`` and ``skips``
    say in words what is read again or missed ("nothing" when exact). ``note`` says why and what to do.
    ``seed`` names another exact way when options cannot do it: "file_source_log" (write a file source log by
    hand), "transplant" (copy the offset text into a new checkpoint), or None. ``code`` is another exact way
    as lines of PySpark for a query that cannot take the options.
    """

    exact: bool
    options: Mapping[str, str] | None
    repeats: str
    skips: str
    note: str
    certainty: Certainty = "certain"
    seed: Literal["file_source_log", "transplant"] | None = None
    code: str = ""


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What lies beside the offsets and helps to read them. All of it may be missing.

    ``initial``: the source's own initial offset text (Kafka's ``sources/<n>/0``) without its leading bytes;
    ``file_log``: the entries of a file source log that could be read, ascending by log id, and
    ``file_log_complete`` whether none is missing.
    """

    key: str
    initial: str | None = None
    file_log: Sequence[FileLogEntry] = ()
    file_log_complete: bool = False


class SourceKind(Protocol):
    """One kind of source. ``offset`` arguments are the parsed JSON of one offset text (or the text itself
    when it is not JSON)."""

    name: str
    """The stable name for programs (``kafka``); see ``registry.KIND_NAMES``."""
    label: str
    """What a person reads ("Delta table")."""
    end_is: Literal["exclusive", "inclusive", "start", "unknown"]
    """What the logged value means: next position, last position read, where the batch starts, or not known.
    """

    def recognises(self, offset: object) -> bool:
        """Whether this offset has the form that this kind writes. Only the form decides, never a guess from a
        number alone."""
        ...

    def positions(self, offset: object) -> Mapping[str, int]:
        """The position of each partition, by its name as users know it (``orders-0`` for Kafka). Never
        raises.

        Every value fits a signed 64-bit integer. A partition whose position is no such number (a 56-digit
        Kinesis sequence number) is named by :meth:`partitions` and left out here.
        """
        ...

    def partitions(self, offset: object) -> tuple[str, ...]:
        """The names of all partitions of this offset, in the order people expect (``orders-2`` before
        ``orders-10``). Never raises."""
        ...

    def first_start(self, context: SourceContext) -> object | None:
        """The offset at which batch 0 started, when the files or the kind itself tell it; None when they do
        not. Never raises."""
        ...

    def advance(self, start: object | None, end: object, context: SourceContext) -> Advance:
        """How far the source moved from ``start`` (None = not known) to ``end``."""
        ...

    def resume(self, end: object, context: SourceContext) -> ResumePoint:
        """The start position of a new checkpoint that goes on exactly after ``end``."""
        ...

    def describe(self, offset: object) -> str:
        """One line for a person: what this offset says ("Delta table 3bff..., before version 6")."""
        ...
