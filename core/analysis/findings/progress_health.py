"""How the query gets on: a batch that is planned for long without a commit, batches that become slower,
sources that it does not keep up with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from core.analysis.findings.catalogue import finding
from core.analysis.findings.model import Finding
from core.analysis.timeline import USUAL_BATCHES, Timeline, build_timeline, usual_duration_ms
from core.checkpoint import Checkpoint, Source
from core.checkpoint.model import OffsetEntry
from core.checkpoint.state import state_inventory
from core.connectors import ConnectorAnswers
from core.connectors.answers import BrokerAnswer
from core.connectors.kafka.partitions import kafka_partition_states
from core.messages import Sentence, say
from core.sparklogs.evidence import Evidence, Problem

LEAST_BATCHES = 3  # fewer say nothing of what is usual
PAUSES = 0.2  # batches without a pause: of the time, at most so much lies between them


@dataclass(frozen=True, slots=True)
class _Pending:
    """The newest batch, planned and not committed. ``usual_ms``: how long a batch takes, or how far batches
    are apart; None when no times tell. ``written``: state files of this batch that a later attempt wrote."""

    batch_id: int
    planned_ms: int
    age_ms: int
    usual_ms: int | None
    written: tuple[Evidence, ...]
    written_ms: int | None


def pending(ck: Checkpoint, with_state: bool) -> Iterator[Finding]:
    """The newest batch when it is not committed; nothing when its offset file cannot be used, which is a
    finding of its own."""
    newest, committed = ck.uncommitted_batch, ck.last_committed_batch
    if newest is not None and isinstance(ck.offset(newest), Problem):
        return
    if newest is not None and (committed is None or committed <= newest):
        yield _not_committed(ck, newest, with_state)


def _not_committed(ck: Checkpoint, batch_id: int, with_state: bool) -> Finding:
    """The newest batch that is not committed: a note while it may just be running, attention when it has been
    planned for many times as long as a batch takes (settings ``pending_ratio`` and ``pending_least_ms``).

    Observed with 4.3: a start that fails in the batch writes neither ``offsets/N`` nor ``metadata`` again, so
    the logs do not count the attempts; each attempt that gets so far writes the state files of the batch
    again.
    """
    evidence = Evidence(f"offsets/{batch_id}")
    entry = ck.offset(batch_id)
    file = ck.offset_files.get(batch_id)
    planned_ms = entry.timestamp_ms if isinstance(entry, OffsetEntry) and entry.timestamp_ms else None
    planned_ms = planned_ms or (file.modified_ms if file is not None else None)
    if planned_ms is None or ck.read_at_ms < planned_ms:
        return finding(
            "BATCH_NOT_COMMITTED",
            say("findings_checks.batch_not_committed", batch_id=batch_id),
            evidence,
            batch_id=batch_id,
        )
    timeline = build_timeline(ck)
    # The times of a copy are those of copying, also of the state.
    written = _later_attempts(ck, batch_id) if with_state and not timeline.is_copy else []
    found = _Pending(
        batch_id,
        planned_ms,
        ck.read_at_ms - planned_ms,
        _usual_ms(timeline),
        tuple(Evidence(path) for path, _ in written[-3:]),
        max((time for _, time in written), default=None),
    )
    # Spark 2.1 has no commit log: without any commit nothing says that the batch waits for one.
    if ck.last_committed_batch is None or not _is_long(ck, found):
        sentence = say("findings_health.pending", batch_id=batch_id, age_ms=found.age_ms)
        return finding("BATCH_NOT_COMMITTED", sentence, evidence, batch_id=batch_id)
    return finding(
        "BATCH_PENDING_LONG",
        _long(found),
        evidence,
        *found.written,
        certainty="needs_input",
        batch_id=batch_id,
    )


def _is_long(ck: Checkpoint, pending: _Pending) -> bool:
    settings = ck.settings
    return (
        pending.usual_ms is not None
        and pending.age_ms >= settings.pending_least_ms
        and pending.age_ms >= settings.pending_ratio * pending.usual_ms
    )


def _long(pending: _Pending) -> Sentence:
    usual_ms = pending.usual_ms or 0
    if pending.written_ms is None:
        return say(
            "findings_health.pending_long",
            batch_id=pending.batch_id,
            age_ms=pending.age_ms,
            usual_ms=usual_ms,
        )
    return say(
        "findings_health.pending_tried",
        batch_id=pending.batch_id,
        age_ms=pending.age_ms,
        usual_ms=usual_ms,
        path=str(pending.written[-1]),
        later_ms=pending.written_ms - pending.planned_ms,
    )


def _usual_ms(timeline: Timeline) -> int | None:
    """How long a committed batch takes: by the times of its two files, else how far apart batches were
    planned; None when neither is known."""
    known_ms = usual_duration_ms(timeline)
    if known_ms is not None:
        return known_ms
    planned = [int(ms) for ms in timeline.planned_ms[-USUAL_BATCHES - 1 :] if ms > 0]
    gaps = [after - before for before, after in pairwise(planned) if after >= before]
    return round(median(gaps)) if gaps else None


def _later_attempts(ck: Checkpoint, batch_id: int) -> list[tuple[str, int]]:
    """State files of the batch that were written long after its offset file, oldest first: path and time."""
    planned_ms = ck.offset_files[batch_id].modified_ms
    if not ck.has_state or planned_ms is None:
        return []
    least_ms = ck.settings.pending_least_ms
    found = [
        (file.path, file.modified_ms or 0)
        for operator in state_inventory(ck).operators
        for partition in operator.partitions
        for file in partition.files
        if file.version == batch_id + 1 and (file.modified_ms or 0) > planned_ms + least_ms
    ]
    return sorted(found, key=lambda item: item[1])


@dataclass(frozen=True, slots=True)
class _Measured:
    """A committed batch with data: its duration, and the time until the next one was planned (None for the
    newest one)."""

    batch_id: int
    duration_ms: int
    gap_ms: int | None


def slowing(ck: Checkpoint) -> Iterator[Finding]:
    """Batches that take longer and longer, by the medians of the first, the middle and the last third of the
    newest batches with data (settings ``slow_batches``, ``slow_ratio``, ``slow_least_ms``)."""
    settings = ck.settings
    batches = _measured(ck)[-3 * settings.slow_batches :]
    if len(batches) < settings.slow_batches:
        return
    third = len(batches) // 3
    parts = (batches[:third], batches[third:-third], batches[-third:])
    first, middle, last = (median(item.duration_ms for item in part) for part in parts)
    if not (
        first <= middle <= last
        and last >= settings.slow_ratio * first
        and last - first >= settings.slow_least_ms
    ):
        return
    sentence = say(
        "findings_health.slowing",
        before_ms=round(first),
        after_ms=round(last),
        first=parts[0][0].batch_id,
        first_end=parts[0][-1].batch_id,
        last_begin=parts[2][0].batch_id,
        last=parts[2][-1].batch_id,
        ratio=last / first if first else float(last),
        reason=_input_words(ck, parts[0], parts[2], last / first if first else 0.0),
    )
    newest = parts[2][-1].batch_id
    yield finding(
        "BATCHES_SLOWER",
        sentence,
        Evidence(ck.offset_files[newest].path),
        Evidence(ck.commit_files[newest].path),
        certainty="inferred",
        batch_id=newest,
    )


def _measured(ck: Checkpoint) -> list[_Measured]:
    """The committed batches with data whose duration is known, of those that were read; without batch 0,
    which has the start of the query in it."""
    timeline = build_timeline(ck)
    loaded = ck.loaded_ids
    return [
        _Measured(batch_id, int(duration), int(gap) if gap >= 0 else None)
        for batch_id, duration, gap in zip(
            timeline.batch_ids.tolist(), timeline.duration_ms, timeline.gap_ms, strict=True
        )
        if duration >= 0
        and batch_id in loaded
        and batch_id > 0
        and batch_id in ck.commit_files
        and not ck.is_no_data(batch_id)
    ]


def _input_words(ck: Checkpoint, before: list[_Measured], after: list[_Measured], ratio: float) -> Sentence:
    """Whether the input of the batches grew with their durations."""
    amounts = [[_input(ck, item.batch_id) for item in part] for part in (before, after)]
    if any(value is None for part in amounts for value in part):
        return say("findings_health.slowing_not_known")
    first, last = (median(value for value in part if value is not None) for part in amounts)
    if first and last / first >= ratio / 2:
        return say("findings_health.slowing_input", ratio=last / first)
    return say("findings_health.slowing_no_input")


def _input(ck: Checkpoint, batch_id: int) -> int | None:
    """How far all sources moved in a batch; None when one of them does not tell."""
    moved = [ck.advance(batch_id, source.key) for source in ck.sources]
    known = [advance.amount for advance in moved if advance is not None and advance.amount is not None]
    return sum(known) if known and len(known) == len(moved) else None


def behind(ck: Checkpoint, connectors: ConnectorAnswers | None) -> Iterator[Finding]:
    """Sources that the query does not keep up with: by the broker's newest offsets where it was asked, else
    by batches that all run at their rate limit (setting ``lag_batches``)."""
    brokers = connectors.brokers if connectors is not None else {}
    measured = _measured(ck)[-ck.settings.lag_batches :]
    for source in ck.sources:
        asked = brokers.get(source.key)
        if asked is not None and asked.trouble is None:
            yield from _behind_broker(ck, source.key, asked, measured)
        elif source.kind.asks in ("broker", "directory"):
            yield from _at_the_limit(ck, source, measured)


def _amounts(ck: Checkpoint, key: str, measured: list[_Measured]) -> list[int]:
    moved = [ck.advance(item.batch_id, key) for item in measured]
    return [advance.amount for advance in moved if advance is not None and advance.amount]


def _behind_broker(
    ck: Checkpoint, key: str, answer: BrokerAnswer, measured: list[_Measured]
) -> Iterator[Finding]:
    amounts = _amounts(ck, key, measured)
    lags = [row.lag for row in kafka_partition_states(ck, key, answer) if row.lag is not None]
    if len(amounts) < LEAST_BATCHES or not lags:
        return
    usual, lag = round(median(amounts)), sum(lags)
    if lag < ck.settings.lag_batches * usual:
        return
    yield finding(
        "SOURCE_LAG",
        say("findings_health.behind_broker", key=key, lag=lag, usual=usual, batches=lag // usual),
        Evidence(ck.offset_files[measured[-1].batch_id].path),
        certainty="inferred",
    )


def _at_the_limit(ck: Checkpoint, source: Source, measured: list[_Measured]) -> Iterator[Finding]:
    """A limit per trigger is divided over the partitions, so the amounts of two batches may differ by as"
    " many."""
    amounts = _amounts(ck, source.key, measured)
    gaps = [item.gap_ms for item in measured[:-1] if item.gap_ms is not None]
    if len(amounts) < ck.settings.lag_batches or len(gaps) < len(measured) - 1:
        return
    busy_ms = sum(item.duration_ms for item in measured[:-1])
    is_steady = max(amounts) - min(amounts) <= (source.partitions or 1) - 1 and min(amounts) > 1
    has_pauses = sum(gaps) - busy_ms > PAUSES * sum(gaps)
    if not is_steady or has_pauses or sum(gaps) < ck.settings.pending_least_ms:
        return
    advance = ck.advance(measured[-1].batch_id, source.key)
    yield finding(
        "SOURCE_LAG",
        say(
            "findings_health.behind_limit",
            batches=len(measured),
            key=source.key,
            amount=round(median(amounts)),
            unit=advance.unit if advance is not None else "",
        ),
        Evidence(ck.offset_files[measured[-1].batch_id].path),
        certainty="inferred",
    )
