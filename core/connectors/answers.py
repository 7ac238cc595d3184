"""What the ends answer, as frozen values. Times are milliseconds since 1970; None means that the end did not
tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Isolation = Literal["read_uncommitted", "read_committed"]
TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class BrokerTopic:
    """One topic as the broker has it now. ``retention_ms``/``retention_bytes`` -1: without limit.

    ``cleanup_policy`` is as configured ("delete", "compact", "compact,delete"). ``topic_id`` changes when a
    topic is recreated.
    """

    name: str
    topic_id: str | None
    partitions: tuple[int, ...]
    retention_ms: int | None = None
    retention_bytes: int | None = None
    segment_ms: int | None = None
    cleanup_policy: str | None = None
    timestamp_type: str | None = None


@dataclass(frozen=True, slots=True)
class BrokerPartition:
    """One partition as the broker has it now: the oldest offset that is there and the next one to be written
    (by the isolation asked for).

    ``record_ms`` is the timestamp of the first record at or after the position that was asked about; None
    when there is none or it was not found. With ``record_to_ms`` it lies somewhere between the two: Kafka
    finds offsets by time, not times by offset, and the number of questions is bounded. ``asked_position`` is
    the position it belongs to. ``first_record_ms`` is the timestamp of the record at ``log_start``.
    """

    log_start: int | None
    log_end: int | None
    record_ms: int | None = None
    record_to_ms: int | None = None
    asked_position: int | None = None
    first_record_ms: int | None = None
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class BrokerAnswer:
    """What one broker said at one moment. ``trouble`` is one sentence with the real reason when it could not
    be asked; then all is empty.

    ``servers`` is safe to show. ``requests`` counts the calls. ``absent`` are topics that were asked about
    and that the broker has not; ``all_topics`` the names of all that it has (for a misspelt one), as far as
    it may tell. ``noted_ids``: topic -> the id of an earlier look, which proves a topic that was created
    again.
    """

    servers: str
    asked_at_ms: int
    seconds: float
    requests: int
    isolation: Isolation
    topics: Mapping[str, BrokerTopic] = field(default_factory=dict)
    partitions: Mapping[TopicPartition, BrokerPartition] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    all_topics: tuple[str, ...] = ()
    trouble: str | None = None
    earlier_topic_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableTransaction:
    """The newest transaction of one application in a Delta table: ``version`` is the batch id of a streaming
    query."""

    app_id: str
    version: int
    last_updated_ms: int | None


@dataclass(frozen=True, slots=True)
class TableCommit:
    """One version of a Delta table, from its JSON file. ``query_id`` and ``batch_id`` only where a streaming
    sink wrote it.

    ``adds`` counts files added with dataChange (``add_bytes``, ``add_rows``: None when a file tells no
    number), ``removes`` those removed with dataChange. ``kind`` is a word for a person: "batch", "restore",
    "overwrite", "optimize", "clone", "replace", "other". ``transactions`` are (application id, version) pairs
    in it: foreachBatch writers show only there. ``restored_to``: the version that a RESTORE has put back.
    """

    version: int
    timestamp_ms: int | None
    operation: str | None
    kind: str
    query_id: str | None = None
    batch_id: int | None = None
    rows: int | None = None
    adds: int = 0
    add_bytes: int = 0
    add_rows: int | None = None
    removes: int = 0
    transactions: tuple[tuple[str, int], ...] = ()
    metadata_changed: bool = False
    path: str = ""
    restored_to: int | None = None
