"""The price of deleting a checkpoint: what three ways of starting again repeat and lose, in rows where the
logs of the ends tell them.

Observed with real Delta (Spark 4.2) and Kafka (Spark 4.3): a deleted checkpoint means a new query id, which
no Delta table knows, so what is read again is written again; with the old id kept, batch numbers that the
table has are skipped, whatever the new batches hold; the file sink skips by number alone, whoever asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from core.checkpoint import Checkpoint, Source
from core.checkpoint.sources.delta import DELTA
from core.checkpoint.sources.forms import parse
from core.checkpoint.sources.kafka import topics_of
from core.connectors import ConnectorAnswers, SinkState
from core.connectors.answers import BrokerAnswer
from core.connectors.delta.judgement import is_same_table
from core.connectors.delta.log import DeltaLog
from core.connectors.delta.source import lag_after
from core.connectors.kafka.judgement import judge_partitions
from core.connectors.sink import sink_state
from core.connectors.words import span
from core.errors import ResumeError
from core.messages.words import listed
from core.recovery.amounts import amounts
from core.recovery.resume import held_by_the_sink, resume_points
from core.sparklogs.evidence import Certainty

_NO_HELP = " The Delta table does not absorb them: the new query id is not in its log."

Start = Literal["from the beginning", "exact position", "old query id kept"]


@dataclass(frozen=True, slots=True)
class DeletionImpact:
    """What one way of starting again costs. ``repeats_rows`` and ``loses_rows``: None where the logs do not
    tell a number.

    ``is_at_most``: the numbers are Kafka offsets, an upper bound of rows. ``certainty`` is about the numbers.
    """

    start: Start
    repeats_rows: int | None
    loses_rows: int | None
    sentence: str
    certainty: Certainty
    is_at_most: bool = False


@dataclass(frozen=True, slots=True)
class SourceRows:
    """The rows of one source around its position; None where its end was not given or does not tell.

    ``done``: rows that a start from the beginning would read and that were read before; ``waiting``: rows
    behind the position; ``batches``: into how many batches ``waiting`` can be cut at most; ``expired``: rows
    between the position and what is still there. ``is_whole``: every row that the source ever had is still
    there.
    """

    done: int | None = None
    waiting: int | None = None
    batches: int | None = None
    expired: int = 0
    is_at_most: bool = False
    is_whole: bool = False


def impact_of_deleting(
    ck: Checkpoint, connectors: ConnectorAnswers | None = None
) -> tuple[DeletionImpact, ...]:
    """What deleting this checkpoint costs: from the beginning, from the exact position, and with the old
    query id kept.

    () for a checkpoint in which nothing was planned: deleting it costs nothing. Without ends the numbers are
    None and the sentences say what to give. Reads what the ends' logs need; raises nothing of its own.
    """
    if not ck.offset_ids:
        return ()
    connectors = connectors or ConnectorAnswers()
    sink = sink_state(ck, connectors.sink) if connectors.sink is not None else None
    held = held_by_the_sink(ck, sink)
    last = ck.last_committed_batch if held is None else held  # the batch after which a start is exact
    rows = [_rows_of(ck, source, last, connectors) for source in ck.sources]
    return (
        _beginning(ck, rows, sink, connectors),
        _exact(ck, rows, sink, last, connectors),
        _same_id(rows, sink),
    )


def _rows_of(ck: Checkpoint, source: Source, batch: int | None, connectors: ConnectorAnswers) -> SourceRows:
    text = ck.source_texts(batch, source.key)[1] if batch is not None and batch in ck.offset_files else None
    if text is None:
        return SourceRows(done=0) if batch is None else SourceRows()
    broker, table = connectors.brokers.get(source.key), connectors.tables.get(source.key)
    if broker is not None and broker.trouble is None:
        return _kafka_rows(text, broker)
    return _delta_rows(text, table) if table is not None else SourceRows()


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
    most = "at most " if number and any(each.is_at_most for each in rows) else ""
    return f"{most}{number:,} {'row' if number == 1 else 'rows'}"


def _state_words(ck: Checkpoint) -> str:
    return (
        " But the state is left behind: aggregations, joins and deduplication forget what they held."
        if ck.has_state
        else ""
    )


def _beginning(
    ck: Checkpoint, rows: list[SourceRows], sink: SinkState | None, connectors: ConnectorAnswers
) -> DeletionImpact:
    start: Start = "from the beginning"
    if sink is not None and sink.skips_any_query and sink.holds_up_to_batch is not None:
        return _skipped_by_number(start, sink, rows)
    done = _sum(each.done for each in rows)
    if done is None:
        before = _read_before(ck)
        sentence = (
            "From the beginning: everything that the sources still have is written a second"
            f" time{f' ({before} were read so far)' if before else ''}; how many rows that is was not"
            f" counted{_open(ck, rows)}."
        )
        return DeletionImpact(start, None, 0, sentence, "needs_input")
    at_most = any(each.is_at_most for each in rows)
    held = _rows_in_the_table(sink, connectors)
    if held is not None and (at_most or held != done):
        # The query filters or multiplies rows: what comes twice are the rows of the table, as far as the
        # source still has their origin.
        read = f"{_said(done, rows)} of the source {'are' if done != 1 else 'is'} read again"
        sentence = (
            f"From the beginning: {read}, and the {held:,} rows that they became in the table are written a"
            f" second time.{_NO_HELP}"
        )
        is_sure = all(each.is_whole for each in rows)
        return DeletionImpact(start, held, 0, sentence, _sure(not is_sure), not is_sure)
    sentence = (
        f"From the beginning: {_said(done, rows)} that were processed before are written a second time."
    )
    if sink is not None and sink.knows_queries:
        sentence += _NO_HELP
    elif done:
        sentence += " Only a sink that overwrites by key is spared."
    return DeletionImpact(start, done, 0, sentence, _sure(at_most), at_most)


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
    if set(written) != set(range(sink.holds_up_to_batch + 1)):
        return None
    versions = {batch.version for batch in sink.batches if batch.fate == "written"}
    if any(commit.removes for commit in connectors.sink.commits().commits if commit.version in versions):
        return None
    return _sum(written.values())


def _exact(
    ck: Checkpoint,
    rows: list[SourceRows],
    sink: SinkState | None,
    last: int | None,
    connectors: ConnectorAnswers,
) -> DeletionImpact:
    start: Start = "exact position"
    if sink is not None and sink.skips_any_query and sink.holds_up_to_batch is not None:
        return _skipped_by_number(start, sink, rows)
    if last is None:
        return DeletionImpact(
            start,
            0,
            0,
            "Exact position: nothing is committed, so this is a start from the beginning.",
            "inferred",
        )
    if sink is not None and sink.holds_up_to_batch is not None and sink.holds_up_to_batch > last:
        return _beyond(ck, sink, last)
    expired, state = sum(each.expired for each in rows), _state_words(ck)
    head, gone = f"Exact position, after batch {last}", _gone(ck, last, connectors)
    if expired and not any(each.done is None for each in rows):
        sentence = (
            f"{head}: nothing is repeated; {_said(expired, rows)} are lost that Kafka no longer has, with or"
            f" without deleting.{state}"
        )
        return DeletionImpact(start, 0, expired, sentence, "inferred", True)
    if gone:
        return DeletionImpact(
            start,
            None,
            None,
            f"{head}: no longer to be had, with or without deleting: {gone}.{state}",
            "inferred",
        )
    lost = None if ck.has_state else 0  # what an empty state changes in the results cannot be counted
    pending = ck.uncommitted_batch if ck.uncommitted_batch != last else None
    if pending is not None and (sink is None or not sink.has_log):
        sentence = (
            f"{head}: no row is skipped; batch {pending} is read again, and what of it had reached the sink"
            f" before the stop is there twice, as after a plain restart.{state}"
        )
        return DeletionImpact(start, None, lost, sentence, "needs_input")
    sentence = f"{head}: no row is read twice and none is skipped.{state}"
    return DeletionImpact(start, 0, lost, sentence, "certain" if sink is not None else "inferred")


def _gone(ck: Checkpoint, batch: int, connectors: ConnectorAnswers) -> str:
    """What no start after this batch can read any more, by the ends that were asked; empty when every
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
    return "; ".join(f"source {each.key} skips {each.point.skips}" for each in asked)


def _beyond(ck: Checkpoint, sink: SinkState, last: int) -> DeletionImpact:
    """The table holds batches after the newest position that the checkpoint knows: a start from there writes
    their rows again."""
    held = {
        b.batch_id: b.rows
        for b in sink.batches
        if b.fate == "written" and b.batch_id is not None and b.batch_id > last
    }
    wanted = range(last + 1, (sink.holds_up_to_batch or last) + 1)
    repeats = _sum(held.get(batch) for batch in wanted)
    rows = "the rows" if repeats is None else f"{repeats:,} rows"
    sentence = (
        f"Exact position, after batch {last}: the table holds batches up to {sink.holds_up_to_batch} already,"
        f" so {rows} of {span(wanted[0], wanted[-1])} are written a second time, unless the table is taken"
        f" back to batch {last} first (RESTORE).{_state_words(ck)}"
    )
    return DeletionImpact(
        "exact position",
        repeats,
        None if ck.has_state else 0,
        sentence,
        "needs_input" if repeats is None else "certain",
    )


def _same_id(rows: list[SourceRows], sink: SinkState | None) -> DeletionImpact:
    start: Start = "old query id kept"
    if sink is None or not sink.has_log:
        sentence = (
            "Old query id kept (metadata put back, logs emptied): batch numbers begin at 0 again, and a Delta"
            " table that has these numbers of this query skips the new batches with their rows."
        )
        return DeletionImpact(start, None, None, sentence, "needs_input")
    if sink.skips_any_query and sink.holds_up_to_batch is not None:
        return _skipped_by_number(start, sink, rows)
    held = sink.holds_up_to_batch
    if held is None:
        sentence = (
            "Old query id kept, at the exact position: the sink holds no batch of this query, so nothing is"
            " skipped."
        )
        return DeletionImpact(start, 0, 0, sentence, sink.certainty)
    head = (
        f"Old query id kept, at the exact position: the table skips batches 0 to {held}, whatever they hold"
    )
    waiting, batches = _sum(each.waiting for each in rows), _sum(each.batches for each in rows)
    if waiting is None or batches is None:
        return DeletionImpact(
            start, 0, None, f"{head}; how many new rows that loses was not counted.", "needs_input"
        )
    if batches <= held + 1:
        at_most = any(each.is_at_most for each in rows)
        return DeletionImpact(
            start,
            0,
            waiting,
            f"{head}: all {_said(waiting, rows)} that wait now are lost.",
            _sure(at_most),
            at_most,
        )
    sentence = f"{head}: up to all {waiting:,} rows that wait now are lost, by how they are cut into batches."
    return DeletionImpact(start, 0, waiting, sentence, "inferred", True)


def _skipped_by_number(start: Start, sink: SinkState, rows: list[SourceRows]) -> DeletionImpact:
    """The file sink looks at numbers only: a new checkpoint on the same output starts at 0 and is skipped up
    to the newest number."""
    sentence = (
        f"{start[0].upper()}{start[1:]}, into the same output: batches 0 to {sink.holds_up_to_batch} are"
        " skipped by their number, whatever they hold. Write to a new output directory instead."
    )
    waiting = _sum(each.waiting for each in rows) if start != "from the beginning" else None
    repeats = None if start == "from the beginning" else 0
    return DeletionImpact(
        start,
        repeats,
        waiting,
        sentence,
        "needs_input" if waiting is None else "inferred",
        waiting is not None,
    )


def _sure(at_most: bool) -> Certainty:
    return "inferred" if at_most else "certain"


def _open(ck: Checkpoint, rows: list[SourceRows]) -> str:
    """Which sources were not asked."""
    keys = [source.key for source, each in zip(ck.sources, rows, strict=True) if each.done is None]
    return (
        f", because the end of source{'' if len(keys) == 1 else 's'} {listed(keys)} was not given or does not"
        " tell"
        if keys
        else ""
    )


def _read_before(ck: Checkpoint) -> str | None:
    """How much was read up to the last commit, in the units of the sources; the logs of file sources are not
    read for it."""
    read = []
    for source in ck.sources:
        batch = ck.last_committed_batch
        text = (
            ck.source_texts(batch, source.key)[1] if batch is not None and batch in ck.offset_files else None
        )
        moved = None
        if (
            text is not None
            and not source.kind.has_own_log
            and (first := source.kind.first_start(source.context)) is not None
        ):
            moved = source.kind.advance(first, parse(text), source.context)
        read.append((source.key, moved))
    return amounts(read, len(ck.sources) > 1)
