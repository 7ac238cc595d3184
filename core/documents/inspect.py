"""The answer of ``python -m core inspect``: the facts of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Literal, TypeVar

import orjson

from core.checkpoint import Checkpoint
from core.checkpoint.amounts import AmountCounter
from core.checkpoint.execution_mode import ExecutionMode, execution_of
from core.checkpoint.model import (
    CommitEntry,
    Leftover,
    OffsetEntry,
    OperatorState,
    Provider,
    StateInventory,
)
from core.checkpoint.sources.forms import parsed
from core.checkpoint.state import state_inventory
from core.checkpoint.tracking import Mode
from core.documents.base import Document, Part, Texts, json_text, utf8
from core.errors import StorageError
from core.sparklogs.evidence import Certainty, Condition, Problem, not_listed
from core.sparklogs.json_text import is_compact, kept_counts

T = TypeVar("T")

SHOWN_BATCHES = 100
WINDOW = 500  # so many batches of a long log are read and written at a time
LOOK_BACK = 3  # so many offsets before a batch may say where it starts
MOST_TEXTS = 64  # offsets that are kept as JSON


@dataclass(frozen=True, kw_only=True, slots=True)
class LogPart(Part):
    """The offset log or the commit log."""

    ids: tuple[int, ...]
    first: int | None
    last: int | None
    missing: tuple[int, ...]
    """IDs between the first and the last that are absent and should be there; at most 10,000."""
    missing_count: int
    unreadable: tuple[int, ...]
    format_version: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchSourcePart(Part):
    """What one batch read from one source."""

    key: str
    start: object
    """The offset as Spark wrote it; null for none."""
    end: object
    advance: int | None
    """How far the source moved (records, files, versions ...); null when the files do not tell."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchPart(Part):
    """One batch."""

    id: int
    timestamp_ms: int | None
    watermark_ms: int | None
    next_watermark_ms: int | None
    committed: bool
    planned_ms: int | None
    """The time of the file in the offset log."""
    committed_ms: int | None
    """The time of the file in the commit log."""
    no_data: bool
    repartition: bool
    sources: tuple[BatchSourcePart, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SourcePart(Part):
    """One source of the query."""

    key: str
    kind: str
    """``kafka``, ``file``, ``delta``, ``rate`` ...; ``unknown`` when no kind writes such offsets."""
    partitions: int | None
    directory: str | None
    advance_unit: str | None
    """What ``advance`` counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokenPartitionPart(Part):
    """A partition whose needed version cannot be rebuilt."""

    partition: str
    """``operator/partition/store``."""
    missing: str
    """The first file that is missing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RestorablePart(Part):
    """Which state versions can be rebuilt from the files."""

    newest_common_version: int | None
    needed_version: int | None
    """The last committed batch + 1."""
    broken_partitions: tuple[BrokenPartitionPart, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class OperatorPart(Part):
    """One stateful operator."""

    id: int
    name: str | None
    partitions: int
    stores: Texts
    provider: Provider
    format_version: Literal[1, 2]
    bytes: int | None
    """null where the store gives no sizes."""
    files: int
    restorable: RestorablePart


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfChangePart(Part):
    """A pinned setting that changed between two batches; null = not in the file."""

    batch: int
    key: str
    from_: str | None
    to: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenByPart(Part):
    """Which Spark wrote the newest files, as far as they tell."""

    at_least: str | None
    at_most: str | None
    why: str
    certainty: Certainty


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftoverPart(Part):
    """Something in the directory that is not part of the checkpoint."""

    path: str
    kind: Literal["temporary", "orphan_state", "foreign"]
    bytes: int | None
    """null where the listing gives no size (a directory, a hidden checksum file)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProblemPart(Part):
    """A file that is there and cannot be understood."""

    path: str
    line: int | None
    condition: Condition
    """A stable word. ``unreadable``: its content is not known (no permission, a network error, larger than
    what is read); with all others it was read and is damaged."""
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class InspectDocument(Document):
    """The facts of a checkpoint."""

    read_at: str
    query_id: str | None
    offsets: LogPart
    commits: LogPart
    last_committed_batch: int | None
    pending_batch: int | None
    batches: tuple[BatchPart, ...]
    """The newest 100, or all with ``--all``; ascending."""
    sources: tuple[SourcePart, ...]
    operators: tuple[OperatorPart, ...]
    conf: Mapping[str, str]
    """The settings pinned in the newest offset file."""
    conf_changes: tuple[ConfChangePart, ...]
    progress_tracking: Mode
    progress_tracking_certainty: Certainty
    progress_tracking_why: str
    execution_mode: ExecutionMode
    """How the newest batches ran."""
    execution_mode_why: str
    written_by: WrittenByPart
    leftovers: tuple[LeftoverPart, ...]
    problems: tuple[ProblemPart, ...]


def inspect_document(ck: Checkpoint, all_batches: bool = False) -> InspectDocument:
    """The newest 100 batches, or all. Reads what it needs, ``state/`` included (one wave each)."""
    ids = sorted({*ck.offset_ids, *ck.commit_ids})
    shown = ids if all_batches else ids[-SHOWN_BATCHES:]
    before = [previous for i in shown[:1] if (previous := ck.previous_offset_id(i)) is not None]
    ck.load([*before, *shown])
    counters = _counters(ck)
    batches = [_batch(ck, i, counters, parsed, BatchPart, BatchSourcePart) for i in shown]
    return _document(ck, tuple(batches), counters)


def spool_batches(ck: Checkpoint, spool: IO[bytes]) -> InspectDocument:
    """As :func:`inspect_document` with all batches, for a long log: they are written to ``spool``, JSON
    objects with commas between them, and the document has none. Some are read and written at a time, so that
    memory does not grow with their offsets; the checkpoint is of no use for those afterwards."""
    ids = sorted({*ck.offset_ids, *ck.commit_ids})
    texts = OffsetTexts()
    counters: Mapping[str, AmountCounter] = {}
    shown = set(ck.offset_ids[-SHOWN_BATCHES - 1 :])
    written: list[int] = []
    comma = b""
    for at in range(0, len(ids), WINDOW):
        window = ids[at : at + WINDOW]
        ck.load(window)
        counters = counters or _counters(ck)
        for batch_id in window:
            # Of numbers of 64 bits, truth values and offsets orjson makes what json makes, and faster. Plain
            # dictionaries are made, and written, in half of the time of parts.
            fields: dict[str, object] = _batch(ck, batch_id, counters, texts.of, dict, dict)
            spool.write(comma + orjson.dumps(fields))
            comma = b","
        written += [batch_id for batch_id in window if batch_id in ck.offset_files]
        ck.forget_texts(batch_id for batch_id in written[:-LOOK_BACK] if batch_id not in shown)
        written = written[-LOOK_BACK:]
    return _document(ck, (), counters)


class OffsetTexts:
    """Offsets as JSON texts. The end of a batch is the start of the next one, so the newest are kept."""

    def __init__(self) -> None:
        self._kept: dict[str, orjson.Fragment] = {}

    def of(self, text: str) -> orjson.Fragment:
        """What ``json_text(parsed(text))`` is."""
        found = self._kept.get(text)
        if found is None:
            if len(self._kept) >= MOST_TEXTS:
                self._kept.clear()
            found = self._kept[text] = orjson.Fragment(_offset_json(text))
        return found


def _offset_json(text: str) -> bytes | str:
    value = kept_counts(text)
    if value is not None:  # of anything else orjson writes some numbers in another way
        if is_compact(text, value):
            return text
        try:
            return orjson.dumps(value)
        except TypeError:  # a number beyond 64 bits
            pass
    return utf8(json_text(parsed(text)))


def _counters(ck: Checkpoint) -> dict[str, AmountCounter]:
    return {source.key: ck.amount_counter(source.key) for source in ck.sources}


def _document(
    ck: Checkpoint, batches: tuple[BatchPart, ...], counters: Mapping[str, AmountCounter]
) -> InspectDocument:
    state, refused = state_of(ck)
    tracking, writer, execution = ck.tracking, ck.written_by, execution_of(ck)
    return InspectDocument(
        location=ck.location.url,
        read_at=utc_text(ck.read_at_ms),
        query_id=ck.query_id,
        offsets=_log(ck, "offsets"),
        commits=_log(ck, "commits"),
        last_committed_batch=ck.last_committed_batch,
        pending_batch=ck.pending_batch,
        batches=batches,
        sources=_sources(ck, counters),
        operators=tuple(_operator(operator) for operator in (state.operators if state is not None else ())),
        conf=ck.conf,
        conf_changes=tuple(
            ConfChangePart(batch=change.batch_id, key=change.key, from_=change.before, to=change.after)
            for change in ck.conf_changes()
        ),
        progress_tracking=tracking.mode,
        progress_tracking_certainty=tracking.certainty,
        progress_tracking_why=tracking.why,
        execution_mode=execution.mode,
        execution_mode_why=execution.why,
        written_by=WrittenByPart(
            at_least=writer.at_least,
            at_most=writer.at_most,
            why=writer.why,
            certainty=writer.certainty,
        ),
        leftovers=tuple(
            _leftover(item) for item in (*ck.leftovers, *(state.leftovers if state is not None else ()))
        ),
        problems=tuple(_problem(item) for item in (*ck.problems, *refused, *state_problems(state))),
    )


def state_of(ck: Checkpoint) -> tuple[StateInventory | None, list[Problem]]:
    """The state inventory; a ``state/`` that cannot be listed is a problem, and the rest stays."""
    try:
        return (state_inventory(ck) if ck.has_state else None), []
    except StorageError as error:
        return None, [not_listed("state", error)]


def state_problems(state: StateInventory | None) -> list[Problem]:
    """The problems with the files of all operators."""
    return [item for operator in (state.operators if state is not None else ()) for item in operator.problems]


def utc_text(epoch_ms: int) -> str:
    """An ISO time in UTC, to the second, with Z."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _log(ck: Checkpoint, which: Literal["offsets", "commits"]) -> LogPart:
    tracking = ck.tracking
    offsets = which == "offsets"
    ids = ck.offset_ids if offsets else ck.commit_ids
    files = ck.offset_files if offsets else ck.commit_files
    damaged = {item.evidence.path for item in ck.problems}
    entries = (ck.offset(i) if offsets else ck.commit(i) for i in ids[: -SHOWN_BATCHES - 1 : -1])
    versions = (entry.format_version for entry in entries if isinstance(entry, OffsetEntry | CommitEntry))
    return LogPart(
        ids=tuple(ids),
        first=ids[0] if ids else None,
        last=ids[-1] if ids else None,
        missing=tracking.missing_offsets if offsets else tracking.missing_commits,
        missing_count=tracking.missing_offset_count if offsets else tracking.missing_commit_count,
        unreadable=tuple(i for i, file in files.items() if file.path in damaged) if damaged else (),
        format_version=next(versions, None),
    )


def _batch(
    ck: Checkpoint,
    batch_id: int,
    counters: Mapping[str, AmountCounter],
    offset_of: Callable[[str], object],
    batch_part: Callable[..., T],
    source_part: Callable[..., object],
) -> T:
    """One batch, as parts or as dictionaries with the same names."""
    offset, commit = ck.offset(batch_id), ck.commit(batch_id)
    entry = offset if isinstance(offset, OffsetEntry) else None
    sources, is_behind_gap = [], ck.is_behind_gap(batch_id)
    for line in () if entry is None else entry.sources:
        start, end = ck.source_texts(batch_id, line.key)
        counter = counters.get(line.key)
        sources.append(
            source_part(
                key=line.key,
                start=None if start is None else offset_of(start),
                end=None if end is None else offset_of(end),
                advance=None
                if counter is None or end is None or is_behind_gap
                else counter.between(start, end),
            )
        )
    no_data = ck.is_no_data(batch_id)
    return batch_part(
        id=batch_id,
        timestamp_ms=None if entry is None else entry.timestamp_ms,
        watermark_ms=None if entry is None else entry.watermark_ms,
        next_watermark_ms=commit.next_watermark_ms if isinstance(commit, CommitEntry) else None,
        committed=batch_id in ck.commit_times,
        planned_ms=ck.offset_times.get(batch_id),
        committed_ms=ck.commit_times.get(batch_id),
        no_data=no_data,
        repartition=no_data and ck.is_repartition(batch_id),
        sources=tuple(sources),
    )


def _sources(ck: Checkpoint, counters: Mapping[str, AmountCounter]) -> tuple[SourcePart, ...]:
    return tuple(
        SourcePart(
            key=source.key,
            kind=source.kind.name,
            partitions=source.partitions,
            directory=source.directory,
            advance_unit=counters[source.key].unit or None,
        )
        for source in ck.sources
    )


def _operator(operator: OperatorState) -> OperatorPart:
    restorable = operator.restorable
    return OperatorPart(
        id=operator.operator_id,
        name=operator.name,
        partitions=len({partition.partition_id for partition in operator.partitions}),
        stores=operator.stores,
        provider=operator.provider,
        format_version=operator.format_version,
        bytes=operator.size_bytes,
        files=operator.file_count,
        restorable=RestorablePart(
            newest_common_version=restorable.newest_common_version,
            needed_version=restorable.needed_version,
            broken_partitions=tuple(
                BrokenPartitionPart(partition=name, missing=path)
                for name, path in restorable.broken_partitions
            ),
        ),
    )


def _leftover(item: Leftover) -> LeftoverPart:
    return LeftoverPart(path=item.path, kind=item.kind, bytes=item.size_bytes)


def _problem(item: Problem) -> ProblemPart:
    return ProblemPart(
        path=item.evidence.path, line=item.evidence.line, condition=item.condition, reason=item.reason
    )
