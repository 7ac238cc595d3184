"""What every kind of source answers about its offsets. One module per kind implements :class:`SourceKind`;
``registry.py`` lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol

from core.checkpoint.model import FileLogEntry
from core.sparklogs.evidence import Certainty

Bound = Literal["exact", "at_most", "estimate"]
Asks = Literal["broker", "table", "directory"]
Seed = Literal["file_source_log", "offset_text"]
Replay = Literal["always", "while_retained", "never"]


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
    as lines of PySpark for a query that cannot take the options. ``again``: what a start after an older batch
    reads again on purpose (it is part of ``repeats``).
    """

    exact: bool
    options: Mapping[str, str] | None
    repeats: str
    skips: str
    note: str
    certainty: Certainty = "certain"
    seed: Literal["file_source_log", "transplant"] | None = None
    code: str = ""
    again: str = ""


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What lies beside the offsets and helps to read them. All of it may be missing.

    ``initial``: the source's own initial offset text (Kafka's ``sources/<n>/0``) without its leading bytes;
    ``file_log``: the entries of a file source log that could be read, ascending by log id, and
    ``file_log_complete`` whether none is missing; ``file_log_ends_before`` the first entry that cannot be
    read, where that is no compacted one and none is missing.
    """

    key: str
    initial: str | None = None
    file_log: Sequence[FileLogEntry] = ()
    file_log_complete: bool = False
    file_log_ends_before: int | None = None

    def file_log_reaches(self, log_id: int) -> bool:
        """Whether every entry up to this one is known: the log has no gap and does not stop before it."""
        newest = self.file_log[-1].log_id if self.file_log else -1
        return self.file_log_complete and newest >= log_id

    def file_log_cut_from(self, log_id: int) -> int | None:
        """The first damaged entry of the log, where all up to ``log_id`` can be read and nothing else is
        wrong: a copy without it and the later ones has a whole log. None for any other log."""
        damaged = self.file_log_ends_before
        known = any(entry.log_id == log_id for entry in self.file_log)
        return damaged if damaged is not None and log_id < damaged and (known or log_id < 0) else None


class Capabilities(Protocol):
    """What a kind of source can do, and what can be done with it. Other rooms ask these fields; no room
    compares kinds by name. The defaults are those of a source about which only its offsets are known."""

    asks: Asks | None = None
    """What lies at the source and can be asked by this program."""
    has_own_log: bool = False
    """Whether the offset is an id in a log of its own (``sources/<n>``, the file source log), which names
    what was read."""
    takes_topics: bool = False
    """Whether the reader is given topics and the servers that have them."""
    reader_format: str | None = None
    """What stands in ``readStream.format(...)``; None where the files do not tell."""
    replay: Replay = "while_retained"
    """Whether what was read can be read again: always (it is generated), while the source retains it, or
    never."""
    earliest_options: Mapping[str, str] = MappingProxyType({})
    """The reader options of a start at the earliest position. Empty where the reader starts there anyway."""
    seed: Seed | None = None
    """What can be written into a new checkpoint so that the source resumes exactly; None: nothing is known to
    work.
    """
    needs_seed: bool = False
    """Whether the start options of the reader cannot name every position, so that a new checkpoint is
    seeded."""
    is_seeded_twice: bool = False
    """Whether the seed must be the offset of two batches: with one the source reads its range again."""
    can_warm_up: bool = False
    """Whether building state again by reading the old data once was observed with this source."""
    can_skip: bool = False
    """Whether a checkpoint that stands behind a planned batch, which was never run, was observed to
    continue there with this source."""
    fails_on_data_loss: bool = False
    """Whether the reader has the option ``failOnDataLoss``."""
    positions_only_grow: bool = False
    """Whether the position of a partition never becomes smaller while the query is left alone."""
    may_count_from_a_start: bool = False
    """Whether the offset may be seconds since the time in ``sources/<n>/0``, which every start reads."""
    is_parsed_when_planned: bool = False
    """Whether Spark parses the offset only while it plans the next batch; other sources parse the whole range
    at the start of the query."""

    @property
    def has_place(self) -> bool:
        """Whether the source reads a place (a table or a directory) that a user can name."""
        return self.asks in ("table", "directory")


class SourceKind(Capabilities, Protocol):
    """One kind of source. ``offset`` arguments are the parsed JSON of one offset text (or the text itself
    when it is not JSON)."""

    name: str
    """The stable name for programs (``kafka``); see ``registry.KIND_NAMES``."""
    label: str
    """What a person reads ("Delta table")."""

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
