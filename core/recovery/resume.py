"""Where a NEW checkpoint has to start to resume after a batch of this one: one start position per source, as
options to paste.

The end offsets of the last COMMITTED batch are the start. The newest offset file is no answer: a batch that
was planned and not committed would be skipped (observed with Kafka: all rows of the pending batch lost
without a message). Every source of a union or join needs its own.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace

from core.analysis.forecast.kept_state import kept_state
from core.analysis.forecast.model import least_sure
from core.checkpoint import Checkpoint
from core.checkpoint.execution_mode import execution_of
from core.checkpoint.model import OffsetEntry
from core.checkpoint.pipeline_flow import place_in_use
from core.checkpoint.source import without_own_log
from core.checkpoint.sources.base import ResumePoint, SourceContext, SourceKind
from core.checkpoint.sources.forms import compact, no_option
from core.checkpoint.sources.kafka import positions_read
from core.checkpoint.sources.registry import kind_of, parse
from core.connectors import ConnectorAnswers, SinkState
from core.connectors.kafka.partitions import positions_before, topics_recreated_by_plan
from core.connectors.sink import sink_state
from core.errors import FileNotRead, ResumeError
from core.messages import say
from core.recovery.amounts import amount
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

    ``connectors`` is what Kafka, the Delta log and the sink answered: partitions that are new, gone or
    expired, table versions that exist. When the sink already has the pending batch, the default is to resume
    after that one, or its rows would be written twice.

    With nothing committed the answer is where the query began, as far as that is known; where commits/ is
    empty although several batches were planned, it is after the one before the newest, as far as anybody can
    tell the last that finished. A batch that is not
    committed is allowed; the note says what that means. Raises :class:`ResumeError` when the batch or its
    offsets are not there or damaged, :class:`FileNotRead` when the position rests on something that could not
    be read.
    """
    connectors = connectors or ConnectorAnswers()
    sink = sink_state(ck, connectors.sink) if connectors.sink is not None else None
    if batch_id is None and ck.pending_batch is not None:
        _refuse_unread_sink(ck, sink, connectors)
    held = held_by_the_sink(ck, sink) if batch_id is None else None
    chosen = held if held is not None else newest_done(ck) if batch_id is None else batch_id
    if chosen is None:
        return _from_the_beginning(ck)
    entry = _entry(ck, chosen, is_default=batch_id is None)
    known = {source.key: source for source in ck.sources}
    sources = []
    for line in entry.sources:
        context = known[line.key].context if line.key in known else SourceContext(line.key)
        kind = known[line.key].kind if line.key in known else kind_of([line.raw])
        if line.raw is None:
            why = say("resume.no_offset_yet", batch=chosen)
            sources.append(_first(line.key, kind, context, why, line.evidence))
        else:
            point = _compared(
                ck, line.key, kind.resume(parse(line.raw), context), line.raw, entry, connectors
            )
            point = _with_later_batches(ck, line.key, kind, line.raw, chosen, point)
            point = _known(ck, line.key, point, connectors)
            sources.append(SourceResume(line.key, kind, line.raw, point, line.evidence))
    is_committed = chosen in ck.commit_ids
    if batch_id is None and not ck.commit_ids and held is None:
        sources = [
            replace(each, point=replace(each.point, certainty=least_sure(each.point.certainty, "inferred")))
            for each in sources
        ]
        lost = [say("resume.commits_lost", newest=ck.offset_ids[-1], done=chosen)]
        notes = [
            *_unused_notes(ck),
            *lost,
            *_pending_notes(ck, chosen, sink),
            *_query_notes(ck, len(sources)),
        ]
        return ResumeAnswer(chosen, False, tuple(sources), " ".join([*notes, *_sink_notes(sink, chosen)]))
    notes = [
        *_unused_notes(ck),
        *_batch_notes(ck, chosen, is_committed, is_held=held is not None),
        *_pending_notes(ck, chosen, sink),
        *_query_notes(ck, len(sources)),
        *_sink_notes(sink, chosen),
    ]
    return ResumeAnswer(chosen, is_committed, tuple(sources), " ".join(notes))


def _refuse_unread_sink(ck: Checkpoint, sink: SinkState | None, connectors: ConnectorAnswers) -> None:
    """Whether the pending batch is in the sink decides the position: nobody knows it when the sink was not
    read."""
    refused = connectors.refused.get("sink")
    why = refused.reason if refused is not None else None
    unread = connectors.sink_not_read or (
        ck.metadata_problem is not None and ck.metadata_problem.is_read_failure
    )
    if sink is not None and sink.knows_queries and sink.certainty == "needs_input" and unread:
        why = sink.sentence
    if why is not None:
        raise FileNotRead(
            say("resume.sink_not_read", pending=ck.pending_batch, reason=why.rstrip(".")), ck.location.url
        )


def _known(ck: Checkpoint, key: str, point: ResumePoint, connectors: ConnectorAnswers) -> ResumePoint:
    """The position, or that there is none because its source's own files or its table could not be read."""
    source = ck.source(key)
    directory = source.directory if source is not None else None
    unread = [item for item in ck.not_read if directory and item.path.startswith(f"{directory}/")]
    unread += connectors.table_not_read(key)
    if (refused := connectors.refused.get(f"source {key}")) is not None:
        unread.append(refused)
    if key in without_own_log(ck.sources, connectors.urls):
        why = say("resume.log_of_another", key=key, directory=directory)
    elif not unread:
        return point
    else:
        why = say("resume.source_not_read", reason=unread[0].sentence)
    return no_option(
        why, repeats=say("resume.not_known"), skips=say("resume.not_known"), certainty="needs_input"
    )


def newest_done(ck: Checkpoint) -> int | None:
    """The newest batch that is done: the newest commit. Where commits/ is empty although several batches
    were planned, the one before the newest, because Spark plans a batch only after it; None where neither
    tells."""
    last = ck.last_committed_batch
    if last is not None or not ck.offset_ids or ck.is_async or ck.is_continuous:
        return last
    before = ck.offset_ids[-1] - 1
    return before if before in ck.offset_files else None


def held_by_the_sink(ck: Checkpoint, sink: SinkState | None) -> int | None:
    """The pending batch, when the log of the sink says that its rows are there already."""
    pending = ck.pending_batch
    if sink is None or pending is None or pending not in ck.offset_files:
        return None
    is_there = sink.pending == "skipped" and sink.holds_up_to_batch == pending and sink.certainty == "certain"
    return pending if is_there else None


def _unused_notes(ck: Checkpoint) -> list[str]:
    """That the pipeline starts from another checkpoint, whose position is another one."""
    place = place_in_use(ck)
    return [] if place is None else [say("resume.not_in_use", place=place)]


def _sink_notes(sink: SinkState | None, chosen: int) -> list[str]:
    """What the sink makes of a new checkpoint that starts after batch ``chosen``."""
    if sink is None or sink.holds_up_to_batch is None:
        return []
    if sink.skips_any_query:
        return [say("resume.output_skips", batch=sink.holds_up_to_batch)]
    ahead = range(chosen + 1, sink.holds_up_to_batch + 1)
    return [say("resume.table_ahead", ids=ahead, batch=chosen)] if ahead else []


def _compared(
    ck: Checkpoint,
    key: str,
    point: ResumePoint,
    offset: str,
    entry: OffsetEntry,
    connectors: ConnectorAnswers,
) -> ResumePoint:
    broker, table = connectors.brokers.get(key), connectors.tables.get(key)
    if broker is not None:
        read, wanted = positions_read(offset), connectors.given.topics.get(key)
        topics = read if wanted is None else {topic: read.get(topic, {}) for topic in wanted}
        return with_broker(
            point,
            offset if wanted is None else topics,
            broker,
            entry.timestamp_ms,
            positions_before(ck, key, topics),
            topics_recreated_by_plan(ck, key, broker, read, entry.timestamp_ms),
            [f"{t}-{p}" for t, ps in read.items() if t not in topics and t in broker.absent for p in ps],
        )
    return with_table(point, parse(offset), table) if table is not None else point


def _with_later_batches(
    ck: Checkpoint, key: str, kind: SourceKind, text: str, chosen: int, point: ResumePoint
) -> ResumePoint:
    """What a start after an older batch reads again on purpose: the batches after it that are committed, and
    how much they held of this source where the offsets tell."""
    last = ck.last_committed_batch
    if last is None or last <= chosen:
        return point
    held = [i for i in ck.offset_ids if chosen < i <= last]
    end = ck.source_texts(held[-1], key)[1] if held else None
    source = ck.source(key)
    context = source.context if source is not None else SourceContext(key)
    moved = amount(kind.advance(parse(text), parse(end), context)) if end is not None else None
    ids = range(chosen + 1, last + 1)
    again = (
        say("resume.repeats_batches", ids=ids)
        if moved is None
        else say("resume.repeats_batches_amount", ids=ids, amount=moved)
    )
    repeats = again if point.exact else say("resume.repeats_both", one=again, other=point.repeats)
    return replace(point, repeats=repeats, again=again)


def as_pyspark(point: ResumePoint, kind: SourceKind) -> str:
    """The position as lines to paste behind ``spark.readStream.format(...)``; a comment where no option can
    express it, or not exactly.

    Every text is a quoted ASCII literal or an escaped comment, so nothing from a checkpoint can become code.
    """
    if point.options:
        lines = [f".option({key!a}, {value!a})" for key, value in point.options.items()]
        warning = say("resume.on_purpose", repeats=point.again) if point.again else ""
        if not point.exact:
            warning = say("resume.not_exact", repeats=point.repeats, skips=point.skips)
        return "\n".join([*_comment(warning), *lines])
    if point.options is not None:
        return "\n".join(_comment(say("resume.no_option_needed", label=kind.label)))
    return "\n".join(_comment(say("resume.no_option", label=kind.label, note=point.note)))


def _comment(text: str) -> list[str]:
    one_line = " ".join(text.split()).encode("unicode_escape").decode("ascii")
    return [f"# {line}" for line in textwrap.wrap(one_line, 110)]


def _entry(ck: Checkpoint, batch_id: int, *, is_default: bool) -> OffsetEntry:
    entry = ck.offset(batch_id) if batch_id in ck.offset_files else None
    if isinstance(entry, OffsetEntry):
        return entry
    if isinstance(entry, Problem) and entry.is_read_failure:
        raise FileNotRead(say("resume.entry_not_read", reason=entry.reason.rstrip(".")), ck.location.url)
    if isinstance(entry, Problem):
        unusable = say("resume.unusable", path=entry.evidence.path, reason=entry.reason.rstrip("."))
        raise ResumeError(f"{unusable} {_other_batch(ck, batch_id)}")
    if is_default:
        raise ResumeError(f"{say('resume.not_there', batch=batch_id)} {_other_batch(ck, batch_id)}")
    if not ck.offset_ids:
        raise ResumeError(say("resume.no_offsets", batch=batch_id))
    first, last = ck.offset_ids[0], ck.offset_ids[-1]
    if batch_id < first:
        raise ResumeError(say("resume.removed", batch=batch_id, first=first, last=last))
    is_later = batch_id > last
    raise ResumeError(
        say("resume.not_planned" if is_later else "resume.missing", batch=batch_id, first=first, last=last)
    )


def _other_batch(ck: Checkpoint, batch_id: int) -> str:
    complete = [i for i in ck.offset_ids if i in ck.commit_files and i < batch_id]
    return say("resume.restore_or_earlier", batch=complete[-1]) if complete else say("resume.restore")


def _batch_notes(ck: Checkpoint, batch_id: int, is_committed: bool, *, is_held: bool) -> list[str]:
    """What to know about the batch after which the new checkpoint starts."""
    if is_held:
        return [say("resume.in_the_sink", batch=batch_id)]
    if not is_committed:
        last = ck.last_committed_batch
        newest = say("resume.none_committed") if last is None else say("resume.last_committed", batch=last)
        return [say("resume.not_committed", batch=batch_id), newest]
    if isinstance(commit := ck.commit(batch_id), Problem):
        return [say("resume.commit_unreadable", path=commit.evidence.path, batch=batch_id)]
    return []


def _pending_notes(ck: Checkpoint, chosen: int, sink: SinkState | None) -> list[str]:
    """A batch that was planned after the position and not committed may have reached the sink before it
    stopped."""
    pending = ck.uncommitted_batch
    if pending is None or pending <= chosen or (sink is not None and sink.has_log):
        return []
    return [say("resume.pending_may_repeat", batch=pending)]


def _query_notes(ck: Checkpoint, source_count: int) -> list[str]:
    """What to know about a start of this query, whatever the batch."""
    notes: list[str] = []
    if ck.is_async:
        notes.append(say("resume.async_progress"))
    if execution_of(ck).writes_before_logging:
        notes.append(say("resume.rows_before_the_log"))
    kept = kept_state(ck)
    if kept == "here":
        notes.append(say("resume.empty_state"))
    if kept == "gone":
        notes.append(say("resume.state_gone"))
    if source_count > 1:
        notes.append(say("resume.several_sources"))
    return notes


def _from_the_beginning(ck: Checkpoint) -> ResumeAnswer:
    why = say("resume.nothing_committed")
    sources = [_first(source.key, source.kind, source.context, why, None) for source in ck.sources]
    notes: list[str] = [*_unused_notes(ck), *([say("resume.from_the_beginning")] if sources else [])]
    if not ck.offset_ids:
        notes.append(say("resume.no_batch"))
    elif ck.offset_ids[-1] == 0:
        notes.append(say("resume.batch_0_planned"))
    elif not ck.is_async:
        newest = ck.offset_ids[-1]
        notes.append(say("resume.commits_and_offsets_lost", newest=newest, done=newest - 1))
    return ResumeAnswer(None, False, tuple(sources), " ".join(notes))


def _first(
    key: str, kind: SourceKind, context: SourceContext, why: str, evidence: Evidence | None
) -> SourceResume:
    """The position from which a source began: its initial offset where that is known, else the query's own
    start option."""
    start = kind.first_start(context)
    if start is None:
        point = no_option(
            f"{why} {say('resume.no_first_offset')}",
            repeats=say("resume.repeats_nothing"),
            skips=say("resume.skips_nothing_with_own_start"),
            certainty="needs_input",
        )
        return SourceResume(key, kind, None, point, evidence)
    point = kind.resume(start, context)
    return SourceResume(key, kind, compact(start), replace(point, note=f"{why} {point.note}"), evidence)
