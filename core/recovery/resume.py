"""Where a NEW checkpoint has to start so that it goes on after a batch of this one: one start position per
source, as options to paste.

The end offsets of the last COMMITTED batch are the start. The newest offset file is no answer: a batch that
was planned and not committed would be skipped (observed with Kafka: all rows of the pending batch lost
without a message). Every source of a union or join needs its own.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace

from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry
from core.checkpoint.sources.base import ResumePoint, SourceContext, SourceKind
from core.checkpoint.sources.forms import compact, no_option
from core.checkpoint.sources.registry import kind_of, parse
from core.connectors import ConnectorAnswers, SinkState
from core.connectors.sink import sink_state
from core.connectors.words import span
from core.errors import ResumeError
from core.recovery.resume_delta import with_table
from core.recovery.resume_kafka import with_broker
from core.sparklogs.evidence import Evidence, Problem


@dataclass(frozen=True, slots=True)
class SourceResume:
    """The start position of one source. ``offset`` is the text it was made from, ``evidence`` where that text
    stands."""

    key: str
    kind: SourceKind
    offset: str | None
    point: ResumePoint
    evidence: Evidence | None


@dataclass(frozen=True, slots=True)
class ResumeAnswer:
    """Start positions after ``batch``, in the order of the offset lines; with ``batch`` None where the query
    began (nothing is committed).

    ``note`` says what holds for the whole answer, in sentences; empty when there is nothing to say.
    """

    batch: int | None
    is_committed: bool
    sources: tuple[SourceResume, ...]
    note: str


def resume_points(
    ck: Checkpoint, batch_id: int | None = None, connectors: ConnectorAnswers | None = None
) -> ResumeAnswer:
    """The start positions after ``batch_id`` (default: the last committed batch), one per source.

    ``ends`` is what Kafka, the Delta log and the sink told: partitions that are new, gone or expired, table
    versions that exist. When the sink holds the pending batch already, the default is to go on after that
    one, or its rows would come twice.

    With nothing committed the answer is where the query began, as far as that is known. A batch that is not
    committed is allowed; the note says what that means. Raises :class:`ResumeError` when the batch or its
    offsets are not there or cannot be read.
    """
    connectors = connectors or ConnectorAnswers()
    sink = sink_state(ck, connectors.sink) if connectors.sink is not None else None
    held = held_by_the_sink(ck, sink) if batch_id is None else None
    chosen = held if held is not None else ck.last_committed_batch if batch_id is None else batch_id
    if chosen is None:
        return _from_the_beginning(ck)
    entry = _entry(ck, chosen, is_default=batch_id is None)
    known = {source.key: source for source in ck.sources}
    sources = []
    for line in entry.sources:
        context = known[line.key].context if line.key in known else SourceContext(line.key)
        kind = known[line.key].kind if line.key in known else kind_of([line.raw])
        if line.raw is None:
            sources.append(
                _first(
                    line.key,
                    kind,
                    context,
                    f"This source had no offset yet in batch {chosen}.",
                    line.evidence,
                )
            )
        else:
            point = _seen_from_the_end(
                line.key, kind.resume(parse(line.raw), context), parse(line.raw), entry, connectors
            )
            sources.append(SourceResume(line.key, kind, line.raw, point, line.evidence))
    is_committed = chosen in ck.commit_ids
    notes = _notes(ck, chosen, is_committed, len(sources), is_held=held is not None) + _sink_words(
        sink, chosen
    )
    return ResumeAnswer(chosen, is_committed, tuple(sources), " ".join(notes))


def held_by_the_sink(ck: Checkpoint, sink: SinkState | None) -> int | None:
    """The pending batch, when the log of the sink says that its rows are there already."""
    pending = ck.pending_batch
    if sink is None or pending is None or pending not in ck.offset_files:
        return None
    is_there = sink.pending == "skipped" and sink.holds_up_to_batch == pending and sink.certainty == "certain"
    return pending if is_there else None


def _sink_words(sink: SinkState | None, chosen: int) -> list[str]:
    """What the sink makes of a new checkpoint that starts after batch ``chosen``."""
    if sink is None or sink.holds_up_to_batch is None:
        return []
    if sink.skips_any_query:
        held = sink.holds_up_to_batch
        return [
            f"A new checkpoint counts from batch 0, and this output directory skips batches up to {held}:"
            " write to a new one."
        ]
    if sink.holds_up_to_batch <= chosen:
        return []
    beyond = span(chosen + 1, sink.holds_up_to_batch)
    return [
        f"The table already holds {beyond}, from after this position: their rows come twice unless you"
        " RESTORE it to that batch first."
    ]


def _seen_from_the_end(
    key: str, point: ResumePoint, offset: object, entry: OffsetEntry, connectors: ConnectorAnswers
) -> ResumePoint:
    broker, table = connectors.brokers.get(key), connectors.tables.get(key)
    if broker is not None:
        return with_broker(point, offset, broker, entry.timestamp_ms)
    return with_table(point, offset, table) if table is not None else point


def as_pyspark(point: ResumePoint, kind: SourceKind) -> str:
    """The position as lines to paste behind ``spark.readStream.format(...)``; a comment where no option can
    express it, or not exactly.

    Every text is a quoted ASCII literal or an escaped comment, so nothing from a checkpoint can become code.
    """
    if point.options:
        lines = [f".option({key!a}, {value!a})" for key, value in point.options.items()]
        warning = "" if point.exact else f"NOT EXACT: repeats {point.repeats}; skips {point.skips}"
        return "\n".join([*_comment(warning), *lines])
    reason = (
        f"{kind.label}: no start option is needed"
        if point.options is not None
        else f"{kind.label}: no start option; {point.note}"
    )
    return "\n".join(_comment(reason))


def _comment(text: str) -> list[str]:
    one_line = " ".join(text.split()).encode("unicode_escape").decode("ascii")
    return [f"# {line}" for line in textwrap.wrap(one_line, 110)]


def _entry(ck: Checkpoint, batch_id: int, *, is_default: bool) -> OffsetEntry:
    entry = ck.offset(batch_id) if batch_id in ck.offset_files else None
    if isinstance(entry, OffsetEntry):
        return entry
    if isinstance(entry, Problem):
        raise ResumeError(
            f"{entry.evidence.path} cannot be used: {entry.reason.rstrip('.')}. {_other_batch(ck, batch_id)}"
        )
    if is_default:
        raise ResumeError(
            f"Batch {batch_id} is the last committed one, but offsets/{batch_id} is not there."
            f" {_other_batch(ck, batch_id)}"
        )
    if not ck.offset_ids:
        raise ResumeError(f"There is no batch {batch_id}: the checkpoint holds no offset file.")
    first, last = ck.offset_ids[0], ck.offset_ids[-1]
    why = (
        "Spark removes old entries"
        if batch_id < first
        else "it was not planned yet"
        if batch_id > last
        else "its file is missing"
    )
    raise ResumeError(f"offsets/{batch_id} is not there ({why}); choose a batch from {first} to {last}.")


def _other_batch(ck: Checkpoint, batch_id: int) -> str:
    both = [i for i in ck.offset_ids if i in ck.commit_files and i < batch_id]
    if not both:
        return "Restore the file, or start from a position you know."
    return (
        f"Restore the file, or take batch {both[-1]}, the newest one before it that is complete: what came"
        " after it is then read again."
    )


def _notes(
    ck: Checkpoint, batch_id: int, is_committed: bool, source_count: int, *, is_held: bool
) -> list[str]:
    notes = []
    if is_held:
        notes.append(
            f"Batch {batch_id} is not committed, but the sink holds its rows already: a start before it would"
            " write them twice."
        )
    elif not is_committed:
        newest = (
            "No batch is committed"
            if ck.last_committed_batch is None
            else f"The last committed batch is {ck.last_committed_batch}"
        )
        notes.append(
            f"Batch {batch_id} is not committed: if it never finished, its rows are skipped by a start after"
            f" it. {newest}."
        )
    elif isinstance(commit := ck.commit(batch_id), Problem):
        notes.append(
            f"{commit.evidence.path} is there but cannot be read, so it is not certain that batch {batch_id}"
            " finished."
        )
    if ck.is_async:
        notes.append(
            "Progress was logged asynchronously: batches done after this one may not be in the log, and their"
            " rows come again."
        )
    if ck.has_state:
        notes.append(
            "A new checkpoint starts with empty state: aggregations, joins and deduplication forget what they"
            " held."
        )
    if source_count > 1:
        notes.append("The query has several sources: each needs its own start position.")
    return notes


def _from_the_beginning(ck: Checkpoint) -> ResumeAnswer:
    sources = [
        _first(source.key, source.kind, source.context, "Nothing is committed.", None)
        for source in ck.sources
    ]
    notes = (
        ["Nothing is committed: the answer is where the query began, as far as the checkpoint tells."]
        if sources
        else []
    )
    if not ck.offset_ids:
        notes.append("The checkpoint holds no batch: a query starts here with its own start options.")
    elif ck.offset_ids[-1] == 0:
        notes.append("Batch 0 was planned and may have written rows already; they come again.")
    elif not ck.is_async:
        done = ck.offset_ids[-1] - 1
        notes.append(
            f"But offsets/{ck.offset_ids[-1]} exists, and Spark plans a batch only when the one before is"
            f" done, so batches up to {done} most likely finished (Spark 2.1 kept no commit log; otherwise it"
            f" was lost): choose batch {done} to go on after them."
        )
    return ResumeAnswer(None, False, tuple(sources), " ".join(notes))


def _first(
    key: str, kind: SourceKind, context: SourceContext, why: str, evidence: Evidence | None
) -> SourceResume:
    """The position from which a source began: its initial offset where that is known, else the query's own
    start option."""
    start = kind.first_start(context)
    if start is None:
        point = no_option(
            f"{why} Where the source began is not in the checkpoint: start with the query's own start"
            " option.",
            repeats="nothing",
            skips="nothing, with the same start option as before",
            certainty="needs_input",
        )
        return SourceResume(key, kind, None, point, evidence)
    point = kind.resume(start, context)
    return SourceResume(key, kind, compact(start), replace(point, note=f"{why} {point.note}"), evidence)
