"""Where the pipeline stands: what the checkpoint tells for a recovery, and the answers, in one value that
everything else judges."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import PurePosixPath
from urllib.parse import unquote

from core.analysis.forecast import Forecast, Query, forecast, read_forecast
from core.analysis.forecast.contents import judge_contents, needed_files
from core.analysis.forecast.kept_state import kept_state
from core.analysis.forecast.versions import OLDEST, V40, parse_version
from core.checkpoint import Checkpoint, Source
from core.checkpoint.model import CommitEntry, FileLogEntry, OffsetEntry
from core.checkpoint.operator_metadata import AGGREGATES
from core.checkpoint.pipeline_flow import PipelineFlow, pipeline_flow, place_in_use
from core.checkpoint.rewind import rewind
from core.checkpoint.source import without_own_log
from core.checkpoint.sources.base import Advance, ResumePoint, SourceKind
from core.checkpoint.sources.delta import DELTA
from core.checkpoint.sources.registry import kind_read_with, parse
from core.checkpoint.state import state_inventory
from core.connectors import ConnectorAnswers
from core.connectors.delta.log import DeltaLog
from core.connectors.file_sink_log import FileSinkLog
from core.connectors.kafka.read_again import why_not_from_start
from core.connectors.model import ConcernKind, SinkState
from core.connectors.other_writers import OtherWriter, other_writers
from core.connectors.read_files import changed_since_read, why_files_gone
from core.connectors.sink import sink_state
from core.errors import ResumeError, StorageError
from core.messages import say
from core.recovery.answers import Answers
from core.recovery.asked_query import asked_query
from core.recovery.resume import SourceResume, resume_points
from core.recovery.sinks import FOREACH, SINK_BEHAVIOUR, Behaviour

FORMATS = {
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "csv": "csv",
    "parquet": "parquet",
    "orc": "orc",
    "txt": "text",
    "avro": "avro",
}
ONE_ROW_EACH = frozenset({"dedupe", "dedupeWithinWatermark", "symmetricHashJoin"})
"""Operators whose results do not depend on how many other rows there are."""
OF_ONE_FILE = ("STATE_FILE_DAMAGED", "STATE_CHECKSUM_MISMATCH")
"""Damage of a state file that stops the start, for which the newest batch with intact state is looked for."""
ALTERED = "STATE_FILE_ALTERED"
"""Damage of a state file that Spark loads without an error; a copy has to stand before that file."""
COMPRESSIONS = {"gz", "bz2", "zst", "snappy", "lz4", "deflate"}
_log_id = attrgetter("log_id")


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """One source: where the last committed batch ended, and what lies before and behind that position.

    ``position`` is the offset text of the last committed batch (None when the file does not tell).
    ``read_so_far`` counts from the first start of the query up to it, ``pending`` what the batch without a
    commit would read; None where the files cannot tell. ``files_read``: files in the file source log up to
    the position, None for other sources and for a log with gaps. ``newest_file_ms``: the newest modification
    time among them.
    """

    index: int
    key: str
    kind: SourceKind
    label: str
    directory: str | None
    position: str | None
    says: str
    point: ResumePoint | None
    read_so_far: Advance | None
    pending: Advance | None
    pending_position: str | None
    files_read: int | None
    newest_file_ms: int | None
    path_guess: str | None
    format_guess: str | None
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecoveryContext:
    """Facts and answers together. ``operators`` are Spark's names of the stateful operators (None where the
    files do not say).

    ``watermark_ms`` is the one in force during the last committed batch. ``unreadable`` is why the position
    is not known, or None. ``seen_sink`` is the kind of sink that was found at the place given for it.
    ``forecast`` is what a plain restart does, ``sink_trouble`` why the sink no longer fits the checkpoint
    (empty when it does, or was not asked), ``sink_state`` what its log says. ``place_in_use``: the checkpoint
    that a declarative pipeline starts from in place of this one. ``intact_batch``: after the answer that the
    checkpoint is damaged, the newest batch whose state is intact, where state files are damaged that the
    start loads; -1 when there is none. ``altered_batches``: after the same answer, the batches whose state
    rests on a file that Spark loads though its content is, or may be, another one. ``is_sink_log_gone``:
    batches are committed, and the place of a sink that keeps a log of them has none, or is not there.
    ``lacks_records``: why the sources that were asked can no longer deliver every record that was read; empty
    where they can, or nobody knows. ``changed_files``: that input files have changed since they were read.
    ``lacks_output``: that the log of the output names data files that are gone. ``other_writers``: who else
    has written to the Delta table of the sink. ``ck`` and ``connectors`` are what all of this was read from,
    for the repairs that need more of it.
    """

    name: str
    url: str
    spark_path: str | None
    query_id: str | None
    last_committed: int | None
    pending: int | None
    newest_offset: int | None
    is_async: bool
    named_sources: bool
    offset_version: int
    watermark_ms: int
    sources: tuple[SourcePosition, ...]
    has_state: bool
    operators: tuple[str | None, ...]
    state_bytes: int | None
    unreadable: str | None
    answers: Answers
    ck: Checkpoint = field(repr=False, compare=False)
    connectors: ConnectorAnswers = field(repr=False, compare=False)
    seen_sink: str | None = None
    seen_sink_why: str = ""
    forecast: Forecast | None = None
    sink_trouble: str = ""
    sink_state: SinkState | None = None
    place_in_use: str | None = None
    intact_batch: int | None = None
    altered_batches: frozenset[int] = frozenset()
    is_sink_log_gone: bool = False
    lacks_records: str = ""
    changed_files: str = ""
    lacks_output: str = ""
    other_writers: tuple[OtherWriter, ...] = ()

    @property
    def is_lost(self) -> bool:
        """Whether there is no checkpoint: it was deleted, or nobody can open it."""
        return self.ck.door.is_nothing

    @property
    def sink(self) -> str | None:
        """Where the query writes: what the user says, else what lies at the place that was given for the
        sink."""
        return self.answers.get("sink") or self.seen_sink

    @property
    def earlier_batches(self) -> tuple[int, ...]:
        """Batches whose numbers the log of a file sink had before this checkpoint planned them: the output is
        another query's too, or was left by a checkpoint before this one."""
        return self.sink_state.earlier_batches if self.sink_state is not None and self.sink == "file" else ()

    @property
    def lost_of_others(self) -> tuple[OtherWriter, ...]:
        """Who else has written to the table, which a full refresh renames."""
        return self.other_writers if self.sink in ("delta", *FOREACH) and not self.is_pipeline else ()

    @property
    def changed_by_others(self) -> tuple[OtherWriter, ...]:
        """Those that did not only add rows, which a backfill would bring back."""
        return tuple(each for each in self.lost_of_others if not each.is_added)

    @property
    def is_sink_made_again(self) -> bool:
        """Whether no query has ever written with its ID to the table that was named for the sink."""
        concerns = self.sink_state.concerns if self.sink_state is not None else ()
        return self.sink == "delta" and any(kind == "never_written" for kind, _ in concerns)

    @property
    def unreadable_output(self) -> str:
        """Why nobody can tell which data files count in the output of a file sink; empty where its log tells,
        or was not asked."""
        concerns = self.sink_state.concerns if self.sink_state is not None else ()
        return next((sentence for kind, sentence in concerns if kind in LOG_DAMAGE), "")

    @property
    def behaviour(self) -> Behaviour | None:
        """What the chosen sink does with a batch it sees a second time."""
        return None if self.sink is None else SINK_BEHAVIOUR[self.sink]

    @property
    def source_complete(self) -> str:
        """``yes``, ``no`` or ``unknown``: can every record ever read still be read at the source?"""
        answered = self.answers.get("source_complete")
        return "no" if self.lacks_records else answered or self.known_source_complete or "unknown"

    @property
    def known_source_complete(self) -> str | None:
        """The same, where the kinds of the sources decide it, or a source that was asked."""
        if self.lacks_records:
            return "no"
        replays = {source.kind.replay for source in self.sources}
        if "never" in replays:
            return "no"
        return "yes" if replays == {"always"} else None

    @property
    def what_happened(self) -> str | None:
        """``crash``, ``batch_fails``, ...: what the user says; None when it is not answered."""
        return self.answers.get("what_happened")

    @property
    def stateful(self) -> str:
        """``unchanged``, ``changed``, ``removed`` or ``added``: the stateful part of the query that will run
        next."""
        return self.answers.get("stateful") or "unchanged"

    @property
    def needs_state(self) -> bool:
        """Whether the query that runs next keeps state."""
        if self.stateful == "added":
            return True
        return (self.has_state or self.is_state_lost) and self.stateful != "removed"

    @property
    def is_state_lost(self) -> bool:
        """Whether the query kept state and the checkpoint has none: its logs show it, or the user says that
        the query keeps state and that the checkpoint is damaged."""
        if self.has_state or self.last_committed is None:
            return False
        keeps_state = self.answers.get("stateful") in ("unchanged", "changed")
        return self.is_state_loss_seen or (keeps_state and self.what_happened == "damaged")

    @property
    def is_state_loss_seen(self) -> bool:
        """Whether the logs show that the query kept state, and there is none: also where the start fails at
        something before that."""
        is_missed = self.forecast is not None and self.forecast.reason == "STATE_FOLDER_MISSING"
        return is_missed or kept_state(self.ck) == "gone"

    @property
    def emits_in_steps(self) -> bool:
        """Whether the query writes a result again as it grows: how often depends on the batch boundaries."""
        combined = set(self.operators) - ONE_ROW_EACH - {"globalLimit"}
        if not self.needs_state or not combined:
            return False
        mode = self.answers.get("output_mode") or ("append" if self.watermark_ms else "update")
        return mode != "append" or not combined <= set(AGGREGATES)

    @property
    def spark_without_reader(self) -> str | None:
        """The Spark of the next start where that has no state reader (before 4.0); None for a newer one."""
        spark = self.forecast.spark if self.forecast is not None else None
        version = parse_version(spark) if spark is not None else None
        return spark if version is not None and version < V40 else None

    @property
    def input_gone(self) -> str:
        """What the forecast says of input files of the planned batch that are gone; empty when none is."""
        return self._risk_in_words("INPUT_GONE")

    @property
    def input_changed(self) -> str:
        """What it says of those that have changed since the batch was planned; empty when none has."""
        return self._risk_in_words("INPUT_CHANGED")

    @property
    def refilled_table(self) -> str:
        """What the forecast says of versions of a Delta source that count as read and hold other rows now:
        whatever continues from the position never reads these. Empty where there are none."""
        return "" if self.forecast is None else self.forecast.never_read

    @property
    def forgotten_files(self) -> str:
        """What the forecast says of input files that the log of a file source no longer names: whatever
        continues from the position reads them again. Empty when there are none."""
        return self._risk_in_words("SOURCE_LOG_INCOMPLETE")

    def _risk_in_words(self, risk_id: str) -> str:
        return "" if self.forecast is None else self.forecast.in_words(risk_id)

    @property
    def moved_file_sources(self) -> tuple[str, ...]:
        """The keys of the file sources, where one is to read another place: somebody says so, or named one
        that its log does not."""
        is_named = self.forecast is not None and self.forecast.reads_elsewhere
        if self.what_happened != "source_changed" and not is_named:
            return ()
        return tuple(source.key for source in self.sources if source.kind.has_own_log)

    @property
    def may_have_expired(self) -> bool:
        """Whether somebody says that the source has lost data, and a source that can was not asked what it
        still has."""
        said = self.connectors
        asked = {*said.brokers, *said.tables, *said.places}
        can = (source.key for source in self.sources if source.kind.replay != "always")
        return self.what_happened == "data_expired" and not (asked and asked.issuperset(can))

    @property
    def unasked_brokers(self) -> bool:
        """Whether a source reads from a broker that nobody has asked, or that did not answer."""
        asks = {source.key: source.kind.asks for source in self.sources}
        return bool(self.connectors.not_asked(asks, "broker"))

    @property
    def platform(self) -> str:
        """Where the pipeline runs: the answer, else Lakeflow for a Lakeflow table, else PySpark."""
        return self.answers.get("platform") or ("lakeflow" if self.sink == "lakeflow_table" else "pyspark")

    @property
    def flow(self) -> PipelineFlow | None:
        """The flow of a declarative pipeline of open-source Spark that the checkpoint belongs to."""
        return None if self.platform == "lakeflow" else pipeline_flow(self.spark_path)

    @property
    def is_pipeline(self) -> bool:
        """Whether a pipeline owns the checkpoint and fills the table, so that no script writes there."""
        return self.platform == "lakeflow" or self.flow is not None

    @property
    def pending_is_next(self) -> bool:
        """Whether the batch without a commit follows directly on the last committed one."""
        return (
            self.pending is not None
            and self.last_committed is not None
            and self.pending == self.last_committed + 1
        )


def read_recovery_context(
    ck: Checkpoint,
    answers: Answers,
    connectors: ConnectorAnswers | None = None,
    restart: Forecast | None = None,
    sink: SinkState | None = None,
    query: Query | None = None,
) -> RecoveryContext:
    """Reads what a recovery needs: the newest two log entries, the source logs and, where there is state, its
    listing.

    ``connectors`` is what the connectors of the query said: exact positions, what has expired, what kind of
    sink it is. ``restart`` and ``sink`` are the forecast and the sink's state where they were judged already,
    ``query`` is the query that was judged, else the one that the answers describe. Once somebody says that
    the checkpoint is damaged, the state files are decoded for the forecast.
    Raises :class:`StorageError` when the location cannot be read.
    """
    connectors = connectors or ConnectorAnswers()
    query = query or asked_query(ck, answers, Query())
    restart = restart or forecast(ck, query=query, connectors=connectors)
    intact, altered = None, frozenset[int]()
    if answers.get("what_happened") == "damaged" and ck.has_state:
        restart, intact, altered = _decoded(ck, connectors, restart, query)
    if sink is None and connectors.sink is not None:
        sink = sink_state(ck, connectors.sink)
    committed, pending = ck.last_committed_batch, ck.uncommitted_batch
    points, trouble = _resume(ck, connectors)
    seen, seen_why, place = _seen_sink(ck, connectors)
    fits = answers.get("sink") in (None, seen) or (seen is None and answers.get("sink") in AT_A_PLACE)
    is_named = seen is not None or ck.door.is_nothing or answers.get("sink") == "delta"
    if place is not None and answers.get("sink_path") is None and fits and is_named:
        answers = answers.having(sink_path=place)
    if isinstance(connectors.sink, FileSinkLog) and answers.get("sink_format") is None and fits:
        written_as = common_format(connectors.sink.newest_files)
        answers = answers if written_as is None else answers.having(sink_format=written_as)
    if not ck.sources or restart.reads_elsewhere:
        answers = _with_places(answers, connectors)
    keeps_log = committed is not None and (answers.get("sink") or seen) in ("file", "delta")
    gone = _log_gone(connectors, sink) if keeps_log else ""
    entry = None if committed is None else ck.offset(committed)
    known = entry if isinstance(entry, OffsetEntry) else None
    without_log = without_own_log(ck.sources, connectors.urls)
    inventory = state_inventory(ck) if ck.has_state else None
    operators = inventory.operators if inventory is not None else ()
    keys = [source.key for source in ck.sources]
    newest = ck.offset_ids[-1] if ck.offset_ids else None
    return RecoveryContext(
        name=ck.name,
        url=ck.door.origin.url,
        spark_path=spark_path(ck.door.origin.url),
        query_id=ck.query_id,
        last_committed=committed,
        pending=pending,
        newest_offset=newest,
        is_async=ck.is_async,
        named_sources=any(not key.isdecimal() for key in keys),
        offset_version=known.format_version if known is not None else 1,
        watermark_ms=_watermark_in_force(ck, committed, known),
        sources=tuple(
            _source(ck, source, i, known, points.get(source.key), has_log=source.key not in without_log)
            for i, source in enumerate(ck.sources)
        )
        or answered_sources(answers),
        has_state=bool(operators),
        operators=tuple(operator.name for operator in operators),
        state_bytes=inventory.size_bytes if operators and inventory is not None else None,
        unreadable=_unreadable(ck, committed, known, trouble),
        answers=answers,
        ck=ck,
        connectors=connectors,
        seen_sink=seen,
        seen_sink_why=seen_why,
        forecast=restart,
        sink_trouble=gone or ("" if sink is None else _trouble(sink)),
        is_sink_log_gone=bool(gone),
        sink_state=sink,
        place_in_use=place_in_use(ck),
        intact_batch=intact,
        altered_batches=altered,
        lacks_records=why_not_from_start(ck, connectors) or why_files_gone(ck, connectors) or "",
        changed_files=changed_since_read(ck, connectors) or "",
        other_writers=_other_writers(ck, connectors, answers.get("sink") or seen),
    )


def _other_writers(ck: Checkpoint, connectors: ConnectorAnswers, sink: str | None) -> tuple[OtherWriter, ...]:
    """Who else has written to the table of the sink."""
    log = connectors.sink
    if not isinstance(log, DeltaLog) or sink not in ("delta", *FOREACH):
        return ()
    return other_writers(log, ck.query_id, sink)


def _watermark_in_force(ck: Checkpoint, committed: int | None, entry: OffsetEntry | None) -> int:
    """The watermark with which the last committed batch was planned: what the commit before names, because
    people change the offset entry; 0 for none."""
    if committed is None or entry is None:
        return 0
    before = ck.commit(committed - 1)
    named = before.next_watermark_ms if isinstance(before, CommitEntry) else None
    return (entry.watermark_ms if named is None else named) or 0


def _decoded(
    ck: Checkpoint, connectors: ConnectorAnswers, restart: Forecast, query: Query
) -> tuple[Forecast, int | None, frozenset[int]]:
    """The forecast with the state files decoded, the newest batch whose state is intact where they stop the
    start, and the batches whose state rests on a file that Spark loads though it is, or may be, another one.
    """
    reading = read_forecast(ck, restart.spark, query, "deep", connectors)
    if reading.contents is None:
        return reading.forecast, None, frozenset()
    spark = parse_version(reading.forecast.spark) or OLDEST
    damage = judge_contents(reading.checkpoint, reading.contents, spark).damage
    stops = [each for each in damage if each.severity == "blocks_restart" and each.id in OF_ONE_FILE]
    intact = [-1 if each.intact_batch is None else each.intact_batch for each in stops]
    altered = {str(each.evidence[0].path) for each in damage if each.id == ALTERED}
    stores = reading.contents.stores
    wrong = (batch for batch in rewind(ck).batches if altered & needed_files(stores, batch + 1))
    return reading.forecast, min(intact, default=None), frozenset(wrong if altered else ())


AT_A_PLACE = ("delta", "foreach_txn", "foreach_merge", "foreach_append")
"""Sinks that may be a Delta table without a mark of this query in it."""

LOG_DAMAGE: tuple[ConcernKind, ...] = ("log_hole", "log_damaged", "entry_damaged")

UNFIT: tuple[ConcernKind, ...] = ("behind", "changed", "ahead", "never_written", *LOG_DAMAGE, "forgotten")
"""Concerns about the sink after which no option may continue into it as if nothing had happened."""


def _trouble(sink: SinkState) -> str:
    return next((sentence for kind, sentence in sink.concerns if kind in UNFIT), "")


def _log_gone(connectors: ConnectorAnswers, sink: SinkState | None) -> str:
    """Why the place that was given for a sink with a log of its batches has none; empty when it has."""
    if sink is None:
        return "" if "sink" in connectors.refused else connectors.troubles.get("sink", "")
    return next((sentence for kind, sentence in sink.concerns if kind in ("no_log", "log_gone")), "")


def _seen_sink(ck: Checkpoint, connectors: ConnectorAnswers) -> tuple[str | None, str, str | None]:
    """The kind of sink at the place that was given, how it is known, and the place as Spark names it."""
    sink = connectors.sink
    if isinstance(sink, FileSinkLog):
        return "file", say("recovery.sink_seen_file", url=sink.url), spark_path(sink.url)
    if isinstance(sink, DeltaLog) and ck.door.is_nothing:
        return None, "", spark_path(sink.url)  # which query wrote it nobody knows without the checkpoint
    if not isinstance(sink, DeltaLog):
        return None, "", None
    if ck.query_id not in sink.transactions:
        return None, "", spark_path(sink.url)  # the place that was named, whoever wrote to it
    if any(commit.query_id == ck.query_id for commit in sink.commits().commits):
        return "delta", say("recovery.sink_seen_delta", url=sink.url), spark_path(sink.url)
    return "foreach_txn", say("recovery.sink_seen_txn", url=sink.url), spark_path(sink.url)


def _resume(ck: Checkpoint, connectors: ConnectorAnswers) -> tuple[dict[str, SourceResume], str | None]:
    """The start position of every source by its key, or the sentence why there is none."""
    try:
        return {
            source.key: source for source in resume_points(ck, ck.last_committed_batch, connectors).sources
        }, None
    except ResumeError as error:
        return {}, str(error)


def _unreadable(
    ck: Checkpoint, committed: int | None, entry: OffsetEntry | None, trouble: str | None
) -> str | None:
    if committed is None:
        return say("recovery.nothing_committed")
    if entry is None and committed not in ck.offset_files:
        return say("recovery.offset_unreadable", batch=committed)
    if entry is None:
        return trouble or say("recovery.offset_unreadable", batch=committed)
    if not entry.sources:
        return say("recovery.offset_without_source", batch=committed)
    return None


def _source(
    ck: Checkpoint,
    source: Source,
    index: int,
    entry: OffsetEntry | None,
    resume: SourceResume | None,
    *,
    has_log: bool,
) -> SourcePosition:
    kind = resume.kind if resume is not None else source.kind
    line = entry.source(source.key) if entry is not None else None
    position = line.raw if line is not None else None
    try:
        context = source.context if has_log else None
    except StorageError:
        context = None
    read_so_far = None
    log: Sequence[FileLogEntry] = ()
    complete = False
    if position is not None and context is not None:
        offset = parse(position)
        first = kind.first_start(context)
        if first is not None:
            read_so_far = kind.advance(first, offset, context)
        if kind.has_own_log:
            value = kind.positions(offset).get("log id", -1)
            complete = context.file_log_reaches(value)
            log = context.file_log[: bisect_right(context.file_log, value, key=_log_id)]
    paths = [item.path for item in log[-2000:]]
    pending = ck.uncommitted_batch
    return SourcePosition(
        index=index,
        key=source.key,
        kind=kind,
        label=kind.label,
        directory=source.directory if has_log else None,
        position=position,
        says=kind.describe(parse(position)) if position is not None else say("recovery.position_not_known"),
        point=resume.point if resume is not None and position is not None else None,
        read_so_far=read_so_far,
        pending=ck.advance(pending, source.key) if pending is not None else None,
        pending_position=ck.source_texts(pending, source.key)[1] if pending is not None else None,
        files_read=len({item.path for item in log}) if complete else None,
        newest_file_ms=max((item.timestamp_ms for item in log), default=None),
        path_guess=_common_directory(paths),
        format_guess=common_format(paths),
        topics=_topics(position) if kind.takes_topics else (),
    )


def _with_places(answers: Answers, connectors: ConnectorAnswers) -> Answers:
    """The answers with the places of sources that were named beside them (``--source 0=...``)."""
    found: dict[str, str] = {}
    for key, table in connectors.tables.items():
        found |= {f"source.{key}.path": spark_path(table.url) or "", f"source.{key}.format": DELTA.name}
    for key, place in connectors.places.items():
        found[f"source.{key}.path"] = spark_path(place.url) or ""
    return answers.having(**{name: text for name, text in found.items() if answers.get(name) is None})


def answered_sources(answers: Answers) -> tuple[SourcePosition, ...]:
    """The sources that a person names where no offset does (``source.0.format=json``), in the order of their
    keys; their positions are not known."""
    keys = sorted(
        {key.split(".", 2)[1] for key in answers.values if key.startswith("source.")},
        key=lambda key: (not key.isdecimal(), int(key) if key.isdecimal() else 0, key),
    )
    return tuple(_answered_source(answers, key, index) for index, key in enumerate(keys))


def _answered_source(answers: Answers, key: str, index: int) -> SourcePosition:
    kind = kind_read_with(answers.source(key, "format"), answers.source(key, "topics"))
    topics = answers.source(key, "topics") or answers.source_options(key).get("subscribe") or ""
    return SourcePosition(
        index=index,
        key=key,
        kind=kind,
        label=kind.label,
        directory=None,
        position=None,
        says=say("recovery.position_not_known"),
        point=None,
        read_so_far=None,
        pending=None,
        pending_position=None,
        files_read=None,
        newest_file_ms=None,
        path_guess=None,
        format_guess=None,
        topics=tuple(topic.strip() for topic in topics.split(",") if topic.strip())
        if kind.takes_topics
        else (),
    )


def _topics(position: str | None) -> tuple[str, ...]:
    offset = parse(position) if position is not None else None
    return tuple(sorted(offset)) if isinstance(offset, dict) else ()


def _common_directory(paths: Sequence[str]) -> str | None:
    """The one directory that all files lie in, decoded, or the one above several partition directories
    (``day=1``, ``day=2``); None when they lie in others, or in one partition directory, which may itself be
    what the query reads.

    The source log holds URI-encoded paths, a reader option takes plain ones.
    """
    parents = {path.rpartition("/")[0] for path in paths}
    above = {re.sub(r"(/[^/=]+=[^/]*)+$", "", parent) for parent in parents}
    if len(above) != 1 or (len(parents) == 1 and above != parents):
        return None
    if len({parent.count("/") for parent in parents}) > 1:
        return None
    parent = unquote(above.pop())
    if not parent or re.search(r"[*?\[\]{}]", parent):
        return None
    return re.sub(r"^file:/+", "/", parent)


def common_format(paths: Sequence[str]) -> str | None:
    """The one format that the names of these files show; None when they show several or none."""
    found = set()
    for path in paths:
        suffixes = [suffix.lstrip(".").lower() for suffix in PurePosixPath(unquote(path)).suffixes]
        while suffixes and suffixes[-1] in COMPRESSIONS:
            suffixes.pop()
        found.add(FORMATS.get(suffixes[-1]) if suffixes else None)
    return found.pop() if len(found) == 1 else None


def spark_path(url: str) -> str | None:
    """The checkpoint's location as Spark's file systems name it; None for a place that only exists in this
    process (``memory://``)."""
    if url.startswith(("memory:", "nothing:")):
        return None
    return "s3a://" + url.removeprefix("s3://") if url.startswith("s3://") else url
