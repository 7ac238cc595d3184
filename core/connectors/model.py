"""What was given, what the ends said, and the judged rows that pages and the command line show. Frozen;
nothing here asks anybody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from core.connectors.answers import BrokerAnswer, Isolation
from core.sparklogs.evidence import Certainty, NotRead, Problem
from core.storage import Location

if TYPE_CHECKING:
    from core.checkpoint import Checkpoint
    from core.connectors.delta.log import DeltaLog
    from core.connectors.file_sink_log import FileSinkLog

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ConnectorSettings:
    """Where the ends are: ``--kafka FILE`` (a librdkafka properties file), ``--sink LOCATION``, ``--source
    KEY=LOCATION``.

    ``isolation`` is the query's ``kafka.isolation.level``; Spark's default is read_uncommitted. ``topics``:
    source key -> what today's query subscribes to, where it is known; the broker is asked about these too.
    """

    kafka: Path | None = None
    sink: Location | None = None
    sources: Mapping[str, Location] = field(default_factory=dict)
    isolation: Isolation = "read_uncommitted"
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Nothing was given: nobody is asked."""
        return self.kafka is None and self.sink is None and not self.sources


Safety = Literal["lost", "edge", "soon", "until", "never_by_time", "unknown"]
"""lost: records before the log start were not read; edge: the position is the log start; soon/until:
``safe_until_ms`` tells."""

PartitionState = Literal["ok", "behind_log_start", "beyond_end", "deleted", "new", "unknown"]


@dataclass(frozen=True, slots=True)
class KafkaPartitionState:
    """One partition of a Kafka source against the broker, all numbers offsets.

    ``position``: next offset to read after the last committed batch (None: new on the broker); ``planned``:
    end of the newest planned batch (None: no batch is pending). ``lag`` = latest - position, an upper bound
    of records; ``lost`` counts offsets between position and log start that can no longer be read.
    ``safe_until_ms``: the record at the position does not expire before (timestamp of the record +
    retention.ms); ``safety_words`` says it for a person. ``danger`` orders rows: the higher, the worse.
    ``sentence`` is empty for a partition about which there is nothing to say. ``record_ms`` is exact when
    ``record_to_ms`` is None; else the time of the record at the position lies between the two.
    """

    name: str
    topic: str
    partition: int
    state: PartitionState
    earliest: int | None
    position: int | None
    planned: int | None
    latest: int | None
    lag: int | None
    lost: int
    record_ms: int | None
    safety: Safety
    safe_until_ms: int | None
    safety_words: str
    danger: int
    sentence: str
    certainty: Certainty = "certain"
    record_to_ms: int | None = None


@dataclass(frozen=True, slots=True)
class KafkaTopicState:
    """One topic of a Kafka source: whether it is there, its retention in words, and whether it was created
    again since it was read.

    ``similar`` are topics of the broker whose name is close to one that is absent.
    """

    name: str
    exists: bool
    retention_words: str
    topic_id: str | None
    is_recreated: bool
    sentence: str
    certainty: Certainty = "certain"
    similar: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeltaSourceState:
    """The position of a Delta source against the table's log. ``trouble``: one sentence when the log could
    not be read.

    ``needed_from``: the version from which Spark needs the log (offset N-1 counts); ``is_available`` whether
    it is there. ``lag_*``: what lies between position and newest version; None when a limit bit or a file
    tells no number (``limit_words`` says so).
    """

    key: str
    url: str
    table_id: str | None
    same_table: bool | None
    oldest: int | None
    newest: int | None
    position: int | None
    needed_from: int | None
    is_available: bool | None
    lag_versions: int | None
    lag_files: int | None
    lag_bytes: int | None
    lag_rows: int | None
    retention_words: str
    sentence: str
    certainty: Certainty
    limit_words: str = ""
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class SinkBatch:
    """One version of a Delta sink, or one batch of a file sink's log. ``fate``: what became of the batch, or
    a commit of somebody else."""

    batch_id: int | None
    version: int | None
    timestamp_ms: int | None
    rows: int | None
    files: int | None
    fate: Literal["written", "missing", "foreign", "uncommitted"]
    operation: str = ""


SinkLog = Literal["delta", "file", "plain"]
"""Which log of batches lies at the sink: a Delta log, the log of a file sink, or none."""

ConcernKind = Literal[
    "ahead",
    "behind",
    "changed",
    "forgotten",
    "new_id",
    "unknown",
    "log_hole",
    "log_damaged",
    "entry_damaged",
    "no_log",
    "log_gone",
    "never_written",
]
"""ahead: batches will be skipped whatever they hold; behind: committed batches are not in the sink; changed:
somebody took rows of batches away (RESTORE, overwrite); forgotten: a batch that is there will be written
again; new_id: the query gets another id than the table knows; unknown: no batch of this query is there
although some are committed; log_hole: the file sink's log has a hole; log_damaged: a file of it that readers
need is damaged; entry_damaged: the file of the batch that runs next, which is skipped; no_log: batches are
committed and the place has no log of any; log_gone: the same, and somebody says that it is a file sink;
never_written: batches are committed, somebody says that it is a Delta table, and no query ever wrote one."""


@dataclass(frozen=True, slots=True)
class StoppedCompaction:
    """Why Spark cannot compact the log of a file sink when it writes ``batch_id``, the batch that runs next:
    ``path``, relative to the output, is missing, or damaged (``problem``)."""

    batch_id: int
    path: str
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class SinkState:
    """What the sink holds of this query. ``pending``: what happens to the batch that runs next with an id the
    sink may have seen.

    ``holds_up_to_batch``: newest batch id of this query in the sink's log, None for none. ``skips_up_to``:
    batches up to this id are skipped whatever they hold. ``sentence`` says it for a person; ``warnings`` one
    sentence each (RESTORE since, expiry, ...). ``concerns``: what of ``sentence`` and ``warnings`` puts rows
    at risk, as (kind, sentence). ``stopped``: the batch that runs next cannot be written to this log.
    ``restored_to_batch``: the newest batch of this query in the version to which somebody has put a table
    back since, None where nobody has, or that is not known. ``earlier_batches``: numbers that
    a log which knows no query had before this checkpoint planned them.
    """

    kind: SinkLog
    url: str
    holds_up_to_batch: int | None
    pending: Literal["written", "skipped"] | None
    skips_up_to: int | None
    sentence: str
    certainty: Certainty
    batches: tuple[SinkBatch, ...] = ()
    warnings: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    limit_words: str = ""
    trouble: str | None = None
    concerns: tuple[tuple[ConcernKind, str], ...] = ()
    stopped: StoppedCompaction | None = None
    earlier_batches: tuple[int, ...] = ()
    restored_to_batch: int | None = None

    @property
    def has_log(self) -> bool:
        """Whether the sink keeps a log of the batches it has committed."""
        return self.kind != "plain"

    @property
    def knows_queries(self) -> bool:
        """Whether that log tells the batches of one query from those of another: a new query ID starts from
        nothing."""
        return self.kind == "delta"

    @property
    def skips_any_query(self) -> bool:
        """Whether batch IDs are skipped whoever wrote them: the log of a file sink knows no query."""
        return self.kind == "file"


@dataclass(frozen=True, slots=True)
class ConnectorAnswers:
    """What the ends answered. ``brokers`` and ``tables`` by source key; ``places`` are the directories of
    file sources. ``sink`` is the bare location when the place keeps no log of batches.

    ``troubles``: end ("sink", "source 0", "kafka") -> one sentence why it could not be asked. ``refused``:
    those whose place is not known to be wrong, but could not be listed.
    """

    given: ConnectorSettings = field(default_factory=ConnectorSettings)
    brokers: Mapping[str, BrokerAnswer] = field(default_factory=dict)
    tables: Mapping[str, DeltaLog] = field(default_factory=dict)
    places: Mapping[str, Location] = field(default_factory=dict)
    sink: DeltaLog | FileSinkLog | Location | None = None
    troubles: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, NotRead] = field(default_factory=dict)

    @property
    def not_read(self) -> tuple[NotRead, ...]:
        """What could not be read or listed at the source and at the sink so far."""
        return (
            *self.refused.values(),
            *(item for key in self.tables for item in self.table_not_read(key)),
            *self.sink_not_read,
        )

    @property
    def shows_no_sink_log(self) -> bool:
        """Whether a place was given for the sink, and no log of batches is there."""
        return isinstance(self.sink, Location) or "sink" in self.troubles

    def not_asked(self, asks: Mapping[str, str | None], *kinds: str) -> list[str]:
        """The keys of the sources whose end nobody has asked, or did not answer. ``asks``: what lies at each
        source (``SourceKind.asks``) by its key, of which these ``kinds`` count."""
        asked = {key for key, answer in self.brokers.items() if answer.trouble is None} | {*self.tables}
        return [key for key, end in asks.items() if end in kinds and key not in asked]

    @property
    def urls(self) -> dict[str, str]:
        """Where the file sources are, by source key, as far as it was said."""
        return {key: place.url for key, place in self.places.items()}

    def table_not_read(self, key: str) -> tuple[NotRead, ...]:
        """What could not be read of the table that the source ``key`` reads."""
        table = self.tables.get(key)
        return () if table is None else table.not_read

    def kept(self, ck: Checkpoint, name: str, make: Callable[[], T]) -> T:
        """What ``make`` gives with these answers, made once for each reading of a checkpoint."""
        # The answers are kept beside it, so that no others get their id.
        found: tuple[T, ConnectorAnswers] = ck.kept(f"{name} {id(self)}", lambda: (make(), self))
        return found[0]

    @property
    def sink_not_read(self) -> tuple[NotRead, ...]:
        """What could not be read of the log of the sink."""
        return () if self.sink is None or isinstance(self.sink, Location) else self.sink.not_read
