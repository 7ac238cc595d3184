"""What is said about a change of the query, as frozen values. Nothing here reads a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from core.messages import Sentence
from core.sparklogs.evidence import Certainty, Evidence

What = Literal[
    "filter",
    "projection",
    "reader_schema",
    "rate_limit",
    "trigger",
    "query_name",
    "output_types",
    "sources",
    "source_kind",
    "source_order",
    "source_path",
    "subscription",
    "operators",
    "keys",
    "aggregates",
    "expressions",
    "dedup_columns",
    "window",
    "watermark",
    "output_mode",
    "join_type",
    "join_interval",
    "partitions",
    "provider",
    "sink_kind",
    "sink_path",
    "sink_topic",
    "foreach_code",
    "state_schema",
    "spark",
]
"""What can change; the contract of ``python -m core changes``."""
WHATS: tuple[What, ...] = get_args(What)

Verdict = Literal["fine", "fine_but", "fails", "silently_wrong", "ignored", "unknown"]
"""``fine_but``: Spark accepts it and the results are those of the new query, with a remark. ``ignored``:
Spark keeps the value that the checkpoint pins. ``silently_wrong``: no error, and numbers that neither the old
nor the new query would have given."""
WORST_FIRST: tuple[Verdict, ...] = ("silently_wrong", "fails", "unknown", "fine_but", "ignored", "fine")
PROBLEMS: tuple[Verdict, ...] = ("silently_wrong", "fails")

FailsAt = Literal["start", "batch"]
Recipe = Literal["full_refresh", "reset", "drop_state", "backup"]
"""Recovery options by their ids (``python -m core recover --option``)."""

SinkName = Literal["delta", "file", "kafka", "foreach", "other"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the state: its name and Spark's name of its type (``long``, ``array<string>``).

    ``nullable``: by the schema of the state; state that was born on Spark 4.3 says so of every column.
    """

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class WrittenSource:
    """A source of the query that wrote the checkpoint. ``place``: the directories of the files it has read,
    the topics, or the id of the table; empty where the files do not tell."""

    key: str
    kind: str
    label: str
    place: tuple[str, ...]
    is_named: bool
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenOperator:
    """A stateful operator: the columns of its state by which a change is judged.

    ``has_window``: a column of the key is a time window; ``has_schema`` is False when no schema file could be
    read, so that keys and values are not known. ``output_mode``: of transformWithState, where the metadata
    has it.
    """

    id: int
    name: str | None
    keys: tuple[Column, ...]
    values: tuple[Column, ...]
    has_window: bool
    has_schema: bool
    watermark_delay_ms: int | None
    output_mode: str | None
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class WrittenQuery:
    """The query that wrote the checkpoint, as far as its files tell. ``partitions`` and ``provider`` are what
    Spark pins; ``sink`` is known only when somebody says it."""

    sources: tuple[WrittenSource, ...]
    operators: tuple[WrittenOperator, ...]
    partitions: int | None
    provider: str | None
    watermark_delay_ms: int | None
    output_mode: str | None
    offset_log_version: int | None
    state_format: int | None
    state_encoding: str | None
    sink: SinkName | None
    last_committed_batch: int | None
    pending_batch: int | None
    next_batch: int
    is_stateful: bool
    evidence: tuple[Evidence, ...]

    @property
    def is_named(self) -> bool:
        """Whether the sources have names, so that their number and order do not matter."""
        return bool(self.sources) and all(source.is_named for source in self.sources)


@dataclass(frozen=True, slots=True)
class AskedChange:
    """A change that somebody asks about: ``value`` is what it becomes, "" where nothing was said."""

    what: What
    value: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """The answer to one change.

    ``rule`` is the id of the rule in docs/changes.md, ``rollback`` what the old query meets when it is
    started again afterwards. ``condition`` is Spark's, None for a plain Java error. ``fails_at`` "start":
    before a batch is picked up.
    """

    what: What
    value: str
    verdict: Verdict
    rule: str
    sentence: Sentence
    action: Sentence
    rollback: Sentence
    certainty: Certainty
    fails_at: FailsAt | None = None
    condition: str | None = None
    recipe: Recipe | None = None
    evidence: tuple[Evidence, ...] = ()

    @property
    def is_problem(self) -> bool:
        """Whether it fails or is silently wrong."""
        return self.verdict in PROBLEMS


def worst(verdicts: tuple[Verdict, ...]) -> Verdict:
    """The most serious verdict; "fine" for none."""
    return next((verdict for verdict in WORST_FIRST if verdict in verdicts), "fine")
