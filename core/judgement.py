"""The one place that turns a checkpoint, what its sources and sink say, and the question into the judgement:
forecast, findings, the state of each source and of the sink, start positions, the impact of deleting.

Verbs and pages carry one :class:`Judgement` and read its parts. A part is made when it is first asked for,
and once: a page that shows the forecast lists no state file for the findings. What could not be read stays so
for this judgement, which is about one reading of the checkpoint. Only what depends on a further answer (a
batch to resume after, the recovery answers) is made again each time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from core.analysis.checkpoint_size import CheckpointSize, checkpoint_size
from core.analysis.errors import Explanation
from core.analysis.findings import (
    SEVERITIES,
    FindingsReport,
    findings,
    log_checks,
    next_batch_of,
    with_way,
)
from core.analysis.forecast import Forecast, Level, Query, Reading, read_forecast
from core.analysis.recorded_contents import RecordedContents, recorded_contents
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.answers import BrokerAnswer
from core.connectors.delta.source import delta_source_state
from core.connectors.kafka.partitions import kafka_partition_states, kafka_topic_states
from core.connectors.model import DeltaSourceState, KafkaPartitionState, KafkaTopicState, SinkState
from core.connectors.sink import as_answered, sink_state
from core.connectors.sink_history import SinkHistory, sink_history
from core.errors import CheckpointExplorerError, FileNotRead, StorageError
from core.messages import Sentence, say
from core.recovery import (
    Advice,
    Answers,
    DeletionImpact,
    RecoveryContext,
    ResumeAnswer,
    impact_of_deleting,
    read_recovery_context,
    resume_points,
)
from core.recovery.asked_query import asked_query, asked_sink
from core.recovery.context import ALTERED, OF_ONE_FILE
from core.recovery.repair_actions import possible_ways, with_possible, with_repairs
from core.sparklogs.evidence import NotRead

T = TypeVar("T")
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class KafkaSourceState:
    """A Kafka source against its broker; partitions in the most danger first."""

    key: str
    broker: BrokerAnswer
    topics: tuple[KafkaTopicState, ...]
    partitions: tuple[KafkaPartitionState, ...]


@dataclass(frozen=True, slots=True)
class FailedSource:
    """A source that was named and could not be asked: ``trouble`` says why."""

    key: str
    kind: str
    trouble: str


SourceState = KafkaSourceState | DeltaSourceState | FailedSource


@dataclass(frozen=True, slots=True)
class Question:
    """What is judged: how much is read, under which Spark, for which query.

    ``newest``: of so many batches the findings read the log files (None: the setting ``checked_batches``);
    ``seconds``: so long may the level deep take; ``progress`` gets the state files done and all of them.
    """

    level: Level = "normal"
    spark: str | None = None
    query: Query = field(default_factory=Query)
    newest: int | None = None
    seconds: float | None = None


def judge(
    ck: Checkpoint,
    connectors: ConnectorAnswers | None = None,
    *,
    level: Level = "normal",
    spark: str | None = None,
    query: Query | None = None,
    newest: int | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Judgement:
    """The judgement of a checkpoint. Reads nothing yet: its parts do."""
    question = Question(level, spark, query or Query(), newest, seconds)
    return Judgement(ck, connectors or ConnectorAnswers(), question, progress)


class Judgement:
    """One checkpoint, what source and sink said, one question. Safe to share between threads."""

    def __init__(
        self,
        ck: Checkpoint,
        connectors: ConnectorAnswers,
        question: Question,
        progress: Progress | None = None,
    ) -> None:
        self.ck = ck
        self.connectors = connectors
        self.question = question
        self._progress = progress
        self._made: dict[str, Any] = {}
        self._lock = threading.RLock()

    @property
    def forecast(self) -> Forecast:
        """What Spark does at the next start. Raises UnsupportedSparkError and StorageError."""
        return self._reading(self.question.query).forecast

    @property
    def rests_on(self) -> Checkpoint:
        """The reading that the forecast is about: a later one where something looked wrong and was looked at
        again. Raises UnsupportedSparkError and StorageError."""
        return self._reading(self.question.query).checkpoint

    @property
    def findings(self) -> FindingsReport:
        """What is wrong with the checkpoint. Raises UnsupportedSparkError and StorageError."""
        return self._once("findings", self._findings)

    def _findings(self) -> FindingsReport:
        asked, reading = self.question, self._reading(next_batch_of(self.question.query))
        recorded = self._recorded(asked.query)
        report = findings(
            self.ck,
            level=asked.level if recorded is None else "normal",
            spark=asked.spark,
            newest=asked.newest,
            query=asked.query,
            connectors=self.connectors,
            reading=reading,
        )
        report = report if recorded is None else recorded.in_report(report)
        return with_repairs(report, reading.checkpoint, reading.forecast, self.connectors)

    def actions(self, answers: Answers) -> FindingsReport:
        """The findings with actions that the recovery options allow under these answers; as they are where
        what the options rest on could not be read, which is then a finding too. Raises what :attr:`findings`
        raises."""
        return self._once(f"actions {sorted(answers.values.items())}", lambda: self._actions(answers))

    def _actions(self, answers: Answers) -> FindingsReport:
        report = self.findings
        if report.level == "quick" or all(item.recipe is None for item in report.findings):
            return report
        try:
            return with_possible(report, self.recovery(answers))
        except StorageError:
            is_said = any(item.id == "FILE_NOT_READ" for item in report.findings)
            more = () if is_said else tuple(map(with_way, log_checks.not_read(self.not_read)))
            both = sorted((*report.findings, *more), key=lambda item: SEVERITIES.index(item.severity))
            return replace(report, findings=tuple(both))

    def ways(self, answer: Explanation, answers: Answers | None = None) -> Explanation:
        """The explanation of an error of this checkpoint with the ways that the recovery options allow; as it
        is for the error of another query, and where what the options rest on could not be read."""
        if answer.other_checkpoint or not answer.options:
            return answer
        try:
            return possible_ways(answer, self.recovery(answers or Answers({})))
        except (CheckpointExplorerError, ValueError):
            return answer

    def _reading(self, query: Query) -> Reading:
        """The forecast with the reading that it rests on: one for the forecast and for the findings."""
        return self._once(f"forecast {query}", lambda: self._read(query))

    def _read(self, query: Query) -> Reading:
        asked, recorded = self.question, self._recorded(query)
        reading = read_forecast(
            self.ck,
            asked.spark,
            query,
            asked.level if recorded is None else "normal",
            self.connectors,
            seconds=asked.seconds,
            progress=self._progress,
        )
        if recorded is None:
            return reading
        return replace(reading, forecast=recorded.in_forecast(reading.forecast))

    def _recorded(self, query: Query) -> RecordedContents | None:
        """At the level deep of evidence without the contents of the state files: what they showed when it was
        taken, for the Spark and the query of then."""
        is_then = self.question.spark is None and query.operators is None
        return recorded_contents(self.ck) if self.question.level == "deep" and is_then else None

    @property
    def sources(self) -> tuple[SourceState, ...]:
        """The sources that were asked, in the order of the checkpoint."""
        return self._once("sources", self._sources)

    def source(self, key: str) -> SourceState | None:
        """One source; None when it was not asked."""
        return next((source for source in self.sources if source.key == key), None)

    @property
    def sink(self) -> SinkState | None:
        """What the sink says about this query; None when it was not asked, or could not be."""
        there = self.connectors.sink
        found = None if there is None else self._once("sink", lambda: sink_state(self.ck, there))
        return self._as_asked(found, self.question.query)

    def _as_asked(self, found: SinkState | None, query: Query) -> SinkState | None:
        there = self.connectors.sink
        return None if found is None else as_answered(self.ck, found, there, query.sink)

    @property
    def sink_history(self) -> SinkHistory | None:
        """Who wrote which batches to the sink; None when it was not asked or keeps no log."""
        return self._once("sink_history", lambda: sink_history(self.ck, self.connectors.sink))

    @property
    def size(self) -> CheckpointSize:
        """How large the checkpoint is and what Spark removes next. Raises StorageError."""
        with_state = self.question.level != "quick"
        return self._once("size", lambda: checkpoint_size(self.ck, with_state=with_state))

    @property
    def impacts(self) -> tuple[DeletionImpact, ...]:
        """What deleting the checkpoint repeats and loses; nothing when something it rests on could not be
        read (:attr:`why_no_impact` says so). Raises StorageError."""
        return self.impacts_at(None)

    def impacts_at(self, sink_kind: str | None) -> tuple[DeletionImpact, ...]:
        """The same, at a kind of sink that somebody has answered."""
        return self._once(f"impacts {sink_kind}", lambda: self._impacts(sink_kind))

    @property
    def why_no_impact(self) -> Sentence:
        """Why :attr:`impacts` is empty: nothing was planned, or it is not known. Raises StorageError."""
        if self.not_read:
            paths = [item.path for item in self.not_read]
            reason = self.not_read[0].reason.rstrip(".")
            return say("screen_start.impact_not_read", paths=paths, reason=reason)
        if self.ck.commit_ids and not self.ck.offset_ids:
            return say("screen_start.impact_no_offsets", last=self.ck.commit_ids[-1])
        return say("screen_start.impact_none")

    @property
    def not_read(self) -> tuple[NotRead, ...]:
        """What could not be read so far: of the checkpoint, the sources and the sink."""
        return (*self.ck.not_read, *self.connectors.not_read)

    def resume(self, batch_id: int | None = None) -> ResumeAnswer:
        """The start positions for a new checkpoint after a batch. Raises ResumeError and StorageError."""
        return resume_points(self.ck, batch_id, self.connectors)

    def recovery(self, answers: Answers) -> RecoveryContext:
        """The facts that the recovery options rest on, with these answers. Raises FileNotRead when one of
        them could not be read, and StorageError."""
        query = asked_query(self.ck, answers, self.question.query)
        query = replace(query, sink=asked_sink(answers, self.connectors) or query.sink)
        said = self._reading(query).forecast
        sink = self._as_asked(self.sink, query)
        context = read_recovery_context(self.ck, answers, self.connectors, said, sink, query)
        context = self._with_intact(context)
        context = self._with_output(context)
        if self.not_read:
            paths = [item.path for item in self.not_read]
            raise FileNotRead(
                say("recovery.not_read", paths=paths, reason=self.not_read[0].reason.rstrip(".")),
                self.ck.location.url,
            )
        return context

    def advice(self, answers: Answers) -> Advice:
        """What to do, with these answers. Raises what :meth:`recovery` and :attr:`findings` raise."""
        return Advice.of(self.recovery(answers), self.findings.findings)

    def _with_intact(self, context: RecoveryContext) -> RecoveryContext:
        """The same, with the newest batch whose state is intact where the level deep found files that stop
        the start (-1: none) or give other rows."""
        if self.question.level != "deep" or context.intact_batch is not None:
            return context
        found = self.findings.findings
        stops = [item for item in found if item.id in OF_ONE_FILE and item.severity == "blocks_restart"]
        altered = [item for item in found if item.id == ALTERED and item.rewind_to is not None]
        intact = [-1 if item.rewind_to is None else item.rewind_to for item in (*stops, *altered)]
        return replace(context, intact_batch=min(intact, default=None))

    def _with_output(self, context: RecoveryContext) -> RecoveryContext:
        """The same, with the data files that the output lacks once somebody says that something was damaged:
        nothing that continues into it brings them back, and where the source has everything a refresh
        does."""
        history = self.sink_history if context.what_happened == "damaged" else None
        if history is None or not history.gone or not history.has_data_files:
            return context
        gone = say("findings_health.sink_files_gone", files=len(history.gone), example=history.gone[0])
        is_refreshed = context.source_complete == "yes" and not context.sink_trouble
        return replace(
            context, lacks_output=gone, sink_trouble=gone if is_refreshed else context.sink_trouble
        )

    def _impacts(self, sink_kind: str | None) -> tuple[DeletionImpact, ...]:
        said = self.forecast
        found = impact_of_deleting(
            self.ck,
            self.connectors,
            files_again=said.files_again,
            rolled_back=said.rolled_back,
            lost_input=said.lost_input,
            never_read=said.never_read,
            sink_kind=sink_kind,
            with_state=self.question.level != "quick",
        )
        return () if self.not_read else found

    def _sources(self) -> tuple[SourceState, ...]:
        ck, said = self.ck, self.connectors
        found: list[SourceState] = []
        for source in ck.sources:
            key = source.key
            trouble = said.troubles.get(f"source {key}")
            if (broker := said.brokers.get(key)) is not None:
                topics, rows = kafka_topic_states(ck, key, broker), kafka_partition_states(ck, key, broker)
                found.append(KafkaSourceState(key, broker, topics, rows))
            elif (table := said.tables.get(key)) is not None:
                found.append(delta_source_state(ck, key, table))
            elif trouble is not None:
                found.append(FailedSource(key, source.kind.name, trouble))
        return tuple(found)

    def _once(self, name: str, make: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._made:
                try:
                    self._made[name] = make()
                except CheckpointExplorerError as error:
                    self._made[name] = error
            found = self._made[name]
        if isinstance(found, CheckpointExplorerError):
            raise found.with_traceback(None)
        made: T = found
        return made
