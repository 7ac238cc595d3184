"""The impact of deleting a checkpoint: what three ways of starting again repeat and lose, in rows where the
logs of sources and sink tell them.

Observed with real Delta (Spark 4.2) and Kafka (Spark 4.3): a deleted checkpoint means a new query id, which
no Delta table knows, so what is reprocessed is written again; with the old id kept, batch IDs that the
table has committed are skipped, whatever the new batches contain; the file sink skips by batch ID alone,
whatever the query id.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from core.analysis.forecast.kept_state import kept_state
from core.analysis.forecast.model import FilesAgain
from core.checkpoint import Checkpoint, Source
from core.checkpoint.execution_mode import execution_of
from core.checkpoint.model import OffsetEntry
from core.checkpoint.sources.base import Advance
from core.checkpoint.sources.delta import DELTA
from core.checkpoint.sources.forms import parse
from core.checkpoint.sources.kafka import topics_of
from core.checkpoint.state import state_inventory
from core.connectors import ConnectorAnswers, SinkState
from core.connectors.answers import BrokerAnswer
from core.connectors.delta.judgement import is_same_table
from core.connectors.delta.log import DeltaLog
from core.connectors.delta.source import lag_after
from core.connectors.kafka.judgement import judge_partitions
from core.connectors.sink import sink_state
from core.errors import ResumeError
from core.messages import say, say_of
from core.recovery.amounts import amounts
from core.recovery.resume import held_by_the_sink, newest_done, resume_points
from core.sparklogs.budget import has_all
from core.sparklogs.evidence import Certainty

Start = Literal["from the beginning", "exact position", "old query id kept"]
STARTS: tuple[Start, ...] = get_args(Start)


@dataclass(frozen=True, slots=True)
class DeletionImpact:
    """What one way of starting again repeats and loses. ``repeats_rows`` and ``loses_rows``: None
    where the logs do not tell a number.

    ``is_at_most``: the numbers are Kafka offsets, an upper bound of rows. ``certainty`` is about the numbers.
    ``skipped_by_file_sink``: nobody said what the sink is, and so many new batches a file sink skips instead.
    ``skips_batches``: the sink skips new batches, so that rows are lost also where nobody counted them.
    """

    start: Start
    repeats_rows: int | None
    loses_rows: int | None
    sentence: str
    certainty: Certainty
    is_at_most: bool = False
    skipped_by_file_sink: int = 0
    skips_batches: bool = False

    @property
    def caveat(self) -> str:
        """What a file sink does instead, where nobody said what the sink is; empty where somebody did."""
        n = self.skipped_by_file_sink
        return say("impact.unless_file_sink", ids=range(n)) if n else ""


@dataclass(frozen=True, slots=True)
class SourceRows:
    """The rows of one source around its position; None where it was not connected or does not tell.

    ``done``: rows that a start from the beginning would read and that were read before; ``waiting``: rows
    behind the position; ``batches``: into how many batches ``waiting`` can be cut at most; ``expired``: rows
    between the position and what is still there. ``is_whole``: every row that was read before is still
    there.
    """

    done: int | None = None
    waiting: int | None = None
    batches: int | None = None
    expired: int = 0
    is_at_most: bool = False
    is_whole: bool = False


def impact_of_deleting(
    ck: Checkpoint,
    connectors: ConnectorAnswers | None = None,
    *,
    files_again: FilesAgain | None = None,
    rolled_back: str = "",
    lost_input: str = "",
    never_read: str = "",
    sink_kind: str | None = None,
    with_state: bool = True,
) -> tuple[DeletionImpact, ...]:
    """What deleting this checkpoint repeats and loses: from the beginning, from the exact position,
    and with the old query id kept. ``files_again``: why the forecast says that files which were read before
    are read again. ``rolled_back``: how the forecast says that the logs were set back, so that the sink has
    rows behind the position. ``lost_input``: what it says of input files of the planned batch that are gone,
    or have changed: whether the sink has their rows nobody knows. ``never_read``: what it says of rows that
    the position counts as read and that were not. ``sink_kind``: where the query writes, as somebody has
    answered. ``with_state``: whether the state may be listed, for the names of its operators.

    () for a checkpoint in which nothing was planned: deleting it repeats and loses nothing. Without connected
    sources and sink the numbers are None and the sentences say what was not connected. Reads what these
    logs need; raises nothing of its own.
    """
    if not ck.offset_ids:
        return ()
    connectors = connectors or ConnectorAnswers()
    sink = sink_state(ck, connectors.sink) if connectors.sink is not None else None
    held = held_by_the_sink(ck, sink)
    last = newest_done(ck) if held is None else held  # the batch after which a start is exact
    rows = [_rows_of(ck, source, last, connectors) for source in ck.sources]
    if sink is None and sink_kind == "file" and last is not None:  # nobody looked at its log
        skipped = tuple(_skipped(start, last, rows) for start in STARTS)
        return tuple(replace(each, certainty="needs_input") for each in skipped)
    begin = _beginning(ck, rows, sink, connectors)
    exact = _exact(ck, rows, sink, last, connectors, files_again, rolled_back, lost_input, with_state)
    if never_read:
        skipped_rows = say("impact.exact_never_read", batch=last, sentence=never_read)
        exact = DeletionImpact("exact position", exact.repeats_rows, None, skipped_rows, "inferred")
    if lost_input:
        gone = say("impact.as_forecast", sentence=lost_input)
        begin, exact = _may_lose(begin, gone), _may_lose(exact, gone)
    asks = {source.key: source.kind.asks for source in ck.sources}
    if last is not None and connectors.not_asked(asks, "broker"):
        unasked = say("impact.broker_unasked")
        begin, exact = _may_lose(begin, unasked), _may_lose(exact, unasked)
    if sink is None and sink_kind is None and last is not None:
        begin, exact = (replace(each, skipped_by_file_sink=last + 1) for each in (begin, exact))
    return (begin, exact, _same_id(rows, sink))


def _rows_of(ck: Checkpoint, source: Source, batch: int | None, connectors: ConnectorAnswers) -> SourceRows:
    text = _position(ck, source, batch)
    if text is None:
        return SourceRows(done=0, is_whole=True) if batch is None else SourceRows()
    broker, table = connectors.brokers.get(source.key), connectors.tables.get(source.key)
    if broker is not None and broker.trouble is None:
        return _kafka_rows(text, broker)
    if table is not None:
        return _delta_rows(text, table)
    return _offsets_read(source, text) if source.kind.asks == "broker" else SourceRows()


def _offsets_read(source: Source, text: str) -> SourceRows:
    """What the checkpoint alone tells of a Kafka source: how many offsets it has read, of which the broker
    may have fewer."""
    moved = _read_up_to(source, text)
    if moved is None or moved.amount is None:
        return SourceRows()
    return SourceRows(moved.amount, is_at_most=True)


def _position(ck: Checkpoint, source: Source, batch: int | None) -> str | None:
    """The end offset of a source in a batch; None without an offset file of it."""
    return ck.source_texts(batch, source.key)[1] if batch is not None and batch in ck.offset_files else None


def _read_up_to(source: Source, text: str) -> Advance | None:
    """How much the source had read at an offset; None where nobody knows where it began."""
    first = source.kind.first_start(source.context)
    return None if first is None else source.kind.advance(first, parse(text), source.context)


def _kafka_rows(text: str, broker: BrokerAnswer) -> SourceRows:
    judged = list(judge_partitions(broker, topics_of(parse(text)) or {}))
    known = [each for each in judged if each.position is not None]
    if any(each.bounds is None or each.state == "beyond_end" for each in known):
        return SourceRows()  # not returned, gone, or recreated: the position means nothing there
    waiting = sum(each.waiting or 0 for each in judged)  # a new partition is read from its beginning
    return SourceRows(
        done=sum(each.retained or 0 for each in known),
        waiting=waiting,
        batches=waiting,
        expired=sum(each.lost for each in known),
        is_at_most=True,
    )


def _delta_rows(text: str, table: DeltaLog) -> SourceRows:
    position = DELTA.position(parse(text))
    if position is None or not is_same_table(position, table):
        return SourceRows()
    now, after = table.rows_now(), lag_after(position, table)
    if after is None or after.rows is None:
        return SourceRows()
    # What a start from the beginning reads are the rows of today; rows that were deleted or rewritten since
    # are not among them.
    done = None if now.rows is None else max(0, now.rows - after.rows)
    is_whole = (
        now.rows is not None and table.oldest == 0 and table.rows_between(0, table.newest).rows == now.rows
    )
    return SourceRows(done, after.rows, after.files, is_whole=is_whole)


def _sum(values: Iterable[int | None]) -> int | None:
    found = list(values)
    return (
        None
        if any(value is None for value in found) or not found
        else sum(value for value in found if value is not None)
    )


def _said(number: int, rows: list[SourceRows]) -> str:
    """``50 rows``, ``at most 50 rows`` where offsets are counted."""
    at_most = number > 0 and any(each.is_at_most for each in rows)
    return say("impact.rows_at_most" if at_most else "impact.rows", n=number)


def _joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


@dataclass(frozen=True, slots=True)
class WithoutState:
    """What a new checkpoint, which has no state, changes from the exact position: the rows that it lets
    through a second time and that it loses (None: some, or nobody knows), in words."""

    repeats: int | None = 0
    loses: int | None = 0
    sentence: str = ""


def _without_state(ck: Checkpoint, with_state: bool) -> WithoutState:
    kept = kept_state(ck)
    if kept == "none":
        return WithoutState()
    if kept == "unknown":
        return WithoutState(None, None, say("impact.state_open"))
    if kept == "gone":
        return WithoutState(None, None, say("impact.state_gone"))
    lost = say("impact.state_lost")
    names = [operator.name for operator in state_inventory(ck).operators] if with_state else []
    if any(name is not None and name.startswith("dedupe") for name in names):
        return WithoutState(None, None, _joined(lost, say("impact.state_lost_repeats")))
    is_known = bool(names) and None not in names
    return WithoutState(0 if is_known else None, None, lost)


# ---------------------------------------------------------------- from the beginning


def _beginning(
    ck: Checkpoint, rows: list[SourceRows], sink: SinkState | None, connectors: ConnectorAnswers
) -> DeletionImpact:
    start: Start = "from the beginning"
    if sink is not None and sink.skips_any_query and sink.holds_up_to_batch is not None:
        return _skipped(start, sink.holds_up_to_batch, rows)
    done = _sum(each.done for each in rows)
    # Aggregations, joins and deduplication have what they held of rows that can be read again, and no more.
    kept = kept_state(ck)
    is_rebuilt = kept == "none" or all(each.is_whole for each in rows)
    older = say("impact.state_open_from_there" if kept == "unknown" else "impact.state_from_what_is_there")
    lost, state = (0, "") if is_rebuilt else (None, older)
    if done is None:
        return DeletionImpact(start, None, lost, _joined(_not_counted(ck, rows), state), "needs_input")
    at_most = any(each.is_at_most for each in rows)
    written = _rows_in_the_table(sink, connectors)
    if written is not None and (at_most or written != done):
        # The query filters or multiplies rows: what comes twice are the rows of the table, as far as the
        # source still has their origin.
        sentence = _joined(
            say("impact.rows_reprocessed", rows=_said(done, rows), n=done, written=written),
            say("impact.delta_repeats"),
            state,
        )
        is_sure = all(each.is_whole for each in rows)
        return DeletionImpact(start, written, lost, sentence, _sure(not is_sure), not is_sure)
    again = say("impact.rows_again", rows=_said(done, rows), n=done)
    effect = ""
    if sink is not None and sink.knows_queries:
        effect = say("impact.delta_repeats")
    elif done:
        effect = say("impact.only_by_key")
    return DeletionImpact(start, done, lost, _joined(again, effect, state), _sure(at_most), at_most)


def _not_counted(ck: Checkpoint, rows: list[SourceRows]) -> str:
    """A start from the beginning where the rows of a source are not known."""
    read = _read_before(ck)
    keys = [source.key for source, each in zip(ck.sources, rows, strict=True) if each.done is None]
    return _joined(
        say("impact.all_again"),
        "" if read is None else say("impact.read_so_far", amount=read),
        say("impact.not_given", n=len(keys), keys=keys) if keys else say("impact.rows_not_known"),
    )


def _read_before(ck: Checkpoint) -> str | None:
    """How much was read up to the last commit, in the units of the sources; the logs of file sources are not
    read for it."""
    read, batch = [], newest_done(ck)
    for source in ck.sources:
        text = None if source.kind.has_own_log else _position(ck, source, batch)
        read.append((source.key, None if text is None else _read_up_to(source, text)))
    return amounts(read, len(ck.sources) > 1)


def _rows_in_the_table(sink: SinkState | None, connectors: ConnectorAnswers) -> int | None:
    """The rows of all batches of this query, where the table's log has every one of them and none replaced
    rows of another."""
    if sink is None or sink.holds_up_to_batch is None or not isinstance(connectors.sink, DeltaLog):
        return None
    written = {
        batch.batch_id: batch.rows
        for batch in sink.batches
        if batch.fate == "written" and batch.batch_id is not None
    }
    if not has_all(written, 0, sink.holds_up_to_batch) or len(written) != sink.holds_up_to_batch + 1:
        return None
    versions = {batch.version for batch in sink.batches if batch.fate == "written"}
    if any(commit.removes for commit in connectors.sink.commits().commits if commit.version in versions):
        return None
    return _sum(written.values())


# ---------------------------------------------------------------- from the exact position


def _exact(
    ck: Checkpoint,
    rows: list[SourceRows],
    sink: SinkState | None,
    last: int | None,
    connectors: ConnectorAnswers,
    files_again: FilesAgain | None,
    rolled_back: str,
    lost_input: str,
    with_state: bool,
) -> DeletionImpact:
    start: Start = "exact position"
    newest = None if sink is None else sink.holds_up_to_batch
    if sink is not None and sink.skips_any_query and newest is not None:
        return _skipped(start, newest, rows)
    if last is None:
        return DeletionImpact(start, 0, 0, say("impact.exact_is_beginning"), "inferred")
    without = _without_state(ck, with_state)
    lost, state = without.loses, without.sentence  # what an empty state changes cannot be counted
    if not isinstance(ck.offset(last) if last in ck.offset_files else None, OffsetEntry):
        sentence = say("impact.exact_not_known", batch=last)
        return DeletionImpact(start, None, None, _joined(sentence, state), "needs_input")
    if sink is not None and newest is not None and newest > last:
        return _behind_the_table(sink, newest, last, without)
    expired = sum(each.expired for each in rows)
    if expired and not any(each.done is None for each in rows):
        sentence = say("impact.exact_expired", batch=last, rows=_said(expired, rows))
        return DeletionImpact(start, without.repeats, expired, _joined(sentence, state), "inferred", True)
    gone = _gone(ck, last, connectors)
    if gone:
        sentence = say("impact.exact_gone", batch=last, gone=gone)
        return DeletionImpact(start, None, None, _joined(sentence, state), "inferred")
    if files_again is not None:
        elsewhere = files_again == "elsewhere"
        sentence = say("impact.exact_elsewhere" if elsewhere else "impact.exact_forgotten", batch=last)
        return DeletionImpact(start, None, lost, _joined(sentence, state), "needs_input")
    if rolled_back:
        sentence = say("impact.exact_rolled_back", batch=last, sentence=rolled_back)
        return DeletionImpact(start, None, lost, _joined(sentence, state), "needs_input")
    untold = _without_whole_log(ck, last)
    if untold is not None:
        sentence = say("impact.exact_log_gone", batch=last, key=untold)
        return DeletionImpact(start, None, lost, _joined(sentence, state), "needs_input")
    pending = ck.uncommitted_batch if ck.uncommitted_batch != last else None
    if pending is not None and (sink is None or not sink.has_log):
        sentence = say(
            "impact.exact_pending_lacks" if lost_input else "impact.exact_pending",
            batch=last,
            pending=pending,
        )
        planned = _sum((_offsets_planned(ck, last, pending), without.repeats))
        at_most = planned is not None
        return DeletionImpact(start, planned, lost, _joined(sentence, state), "needs_input", at_most)
    if ck.is_async or execution_of(ck).writes_before_logging:
        sentence = say("impact.exact_not_logged", batch=last)
        return DeletionImpact(start, None, lost, _joined(sentence, state), "needs_input")
    has_files = any(source.kind.has_own_log for source in ck.sources)
    sentence = say("impact.exact_by_log" if has_files else "impact.exact", batch=last)
    if lost_input:
        sentence = say("impact.exact_lacks", batch=last)
    certainty: Certainty = "certain" if sink is not None else "inferred"
    return DeletionImpact(start, without.repeats, lost, _joined(sentence, state), certainty)


def _may_lose(impact: DeletionImpact, why: str) -> DeletionImpact:
    """The same, where rows are gone, or may be, and nobody knows how many, or whether the sink has them."""
    return replace(impact, loses_rows=None, sentence=_joined(impact.sentence, why))


def _without_whole_log(ck: Checkpoint, batch: int) -> str | None:
    """The key of a file source whose log does not tell all files that were read up to the batch."""
    for source in ck.sources:
        text = ck.source_texts(batch, source.key)[1]
        if source.kind.has_own_log and text is not None:
            wanted = source.kind.positions(parse(text)).get("log id", -1)
            if not source.context.file_log_reaches(wanted):
                return source.key
    return None


def _offsets_planned(ck: Checkpoint, last: int, pending: int) -> int | None:
    """How many offsets the planned batch holds, where all sources are Kafka."""
    counts = []
    for source in ck.sources:
        start, end = ck.source_texts(last, source.key)[1], ck.source_texts(pending, source.key)[1]
        if source.kind.asks != "broker" or start is None or end is None:
            return None
        counts.append(source.kind.advance(parse(start), parse(end), source.context).amount)
    return _sum(counts)


def _gone(ck: Checkpoint, batch: int, connectors: ConnectorAnswers) -> str:
    """What no start after this batch can read any more, by the sources that were asked; empty when every
    position still stands."""
    if not connectors.brokers and not connectors.tables:
        return ""
    try:
        sources = resume_points(ck, batch, connectors).sources
    except ResumeError:
        return ""
    lost = [each for each in sources if not each.point.exact and each.point.seed is None]
    asked = [
        each
        for each in lost
        if each.key in connectors.tables
        or (each.key in connectors.brokers and connectors.brokers[each.key].trouble is None)
    ]
    return "; ".join(say("impact.source_skips", key=each.key, skips=each.point.skips) for each in asked)


def _behind_the_table(sink: SinkState, newest: int, last: int, without: WithoutState) -> DeletionImpact:
    """The table has batches after the newest position that the checkpoint knows: a start from there writes
    their rows again."""
    rows = {
        b.batch_id: b.rows
        for b in sink.batches
        if b.fate == "written" and b.batch_id is not None and b.batch_id > last
    }
    ids = range(last + 1, newest + 1)
    repeats = _sum(rows.values()) if has_all(rows, ids[0], ids[-1]) else None
    if repeats is None:
        sentence = say("impact.exact_behind_uncounted", batch=last, newest=newest, ids=ids)
    else:
        sentence = say("impact.exact_behind", batch=last, newest=newest, ids=ids, written=repeats)
    return DeletionImpact(
        "exact position",
        _sum((repeats, without.repeats)),
        without.loses,
        _joined(sentence, without.sentence),
        "needs_input" if repeats is None else "certain",
    )


# ---------------------------------------------------------------- with the old query id


def _same_id(rows: list[SourceRows], sink: SinkState | None) -> DeletionImpact:
    start: Start = "old query id kept"
    if sink is None or not sink.has_log:
        return DeletionImpact(start, None, None, say("impact.old_id"), "needs_input")
    newest = sink.holds_up_to_batch
    if newest is None:
        return DeletionImpact(start, 0, 0, say("impact.old_id_no_batch"), sink.certainty)
    if sink.skips_any_query:
        return _skipped(start, newest, rows)
    skips = say("impact.old_id_skips", ids=range(newest + 1))
    waiting, batches = _sum(each.waiting for each in rows), _sum(each.batches for each in rows)
    if waiting is None or batches is None:
        return DeletionImpact(start, 0, None, _joined(skips, say("impact.not_counted")), "needs_input")
    if batches <= newest + 1:
        at_most = any(each.is_at_most for each in rows)
        sentence = _joined(skips, say("impact.all_waiting", rows=_said(waiting, rows)))
        return DeletionImpact(start, 0, waiting, sentence, _sure(at_most), at_most)
    sentence = _joined(skips, say("impact.up_to_waiting", n=waiting))
    return DeletionImpact(start, 0, waiting, sentence, "inferred", True)


def _skipped(start: Start, newest: int, rows: list[SourceRows]) -> DeletionImpact:
    """The file sink looks at batch IDs only: a new checkpoint on the same output starts at 0, and its batches
    are skipped up to the newest one in the log."""
    ids = range(newest + 1)
    sentence = say("impact.skipped", start=say_of("impact", "STARTS", start), ids=ids, n=newest + 1)
    waiting = _sum(each.waiting for each in rows) if start != "from the beginning" else None
    return DeletionImpact(
        start,
        None if start == "from the beginning" else 0,
        waiting,
        sentence,
        "needs_input" if waiting is None else "inferred",
        waiting is not None,
        skips_batches=True,
    )


def _sure(at_most: bool) -> Certainty:
    return "inferred" if at_most else "certain"
