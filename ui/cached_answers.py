"""What the screens ask core/ about an open checkpoint, made once per reading and shared between viewers."""

from __future__ import annotations

import time

from core.analysis.changes import AskedChange, ChangesReport, SinkName, judge_changes
from core.analysis.comparison import Comparison, compare
from core.analysis.findings import FindingsReport, Level
from core.analysis.findings.liveness import Liveness
from core.analysis.findings.liveness import second_look as look_twice
from core.analysis.forecast import Forecast, Query
from core.analysis.forecast.contents import CONTENTS
from core.analysis.forecast.verdict import in_few_words
from core.analysis.open_parts import open_parts
from core.analysis.pace import Pace, Paces, paces, state_pace
from core.analysis.recorded_contents import lacks_contents, recorded_contents
from core.analysis.timeline import Timeline, build_timeline
from core.checkpoint import Checkpoint, Source
from core.checkpoint.model import OperatorState, StateInventory
from core.checkpoint.recovery_copies import recovery_copy
from core.checkpoint.state import state_inventory
from core.checkpoint.state_content.row_target import Choice
from core.checkpoint.state_content.state_difference import read_difference
from core.checkpoint.state_content.state_rows import RowsAnswer, RowsQuestion, read_rows, row_choices
from core.connectors import ConnectorAnswers
from core.errors import NotACheckpoint, ResumeError, StorageError, UsageError
from core.judgement import Judgement, judge
from core.messages import say, say_of, words
from core.recovery import Advice, Answers, DeletionImpact, ResumeAnswer
from core.recovery.asked_query import asked_sink
from core.rehearsal.command import rehearse_command as filled_in
from ui import cards, connectors, readings, recovery_answers
from ui.open_checkpoints import MOST_OPEN, Opened
from ui.readings import Reading

TONES: dict[str, cards.Tone] = {
    "resume": "done",
    "rerun": "doubt",
    "fail": "blocked",
    "fresh_start": "plain",
}
CERTAINTY = words.CERTAINTY


def timeline(opened: Opened, ck: Checkpoint) -> Timeline:
    """The timeline with all that has been read so far."""
    return _timeline(opened.key, len(ck.loaded_ids), ck)


@readings.cached(2 * MOST_OPEN)
def _timeline(key: Reading, read_count: int, _ck: Checkpoint) -> Timeline:
    return build_timeline(_ck)


def pace_of_logs(opened: Opened, ck: Checkpoint) -> Paces:
    """Input, duration and watermark of the newest batches, by all that has been read so far."""
    return _pace_of_logs(opened.key, len(ck.loaded_ids), ck)


@readings.cached(2 * MOST_OPEN)
def _pace_of_logs(key: Reading, read_count: int, _ck: Checkpoint) -> Paces:
    return paces(_ck, _timeline(key, read_count, _ck))


def pace_of_state(opened: Opened, ck: Checkpoint) -> Pace | str | None:
    """Size, spread and growth of the state; None: the query keeps none; a text: why it cannot be listed."""
    found = state(ck) if ck.has_state else None
    return found if found is None or isinstance(found, str) else _pace_of_state(opened.key, found)


@readings.cached(2 * MOST_OPEN)
def _pace_of_state(key: Reading, _inventory: StateInventory) -> Pace | None:
    return state_pace(_inventory)


def deepest(ck: Checkpoint) -> Level | None:
    """The level deep once the contents of the state files were checked, in this reading or when the evidence
    was taken: from then on every page speaks of them. None before."""
    if lacks_contents(ck.door):
        return "deep" if recorded_contents(ck) is not None else None
    return "deep" if ck.is_kept(CONTENTS) else None


def judgement(
    opened: Opened, ck: Checkpoint, level: Level | None = None, with_kafka: bool = True
) -> Judgement:
    """The judgement with what source and sink said, where they were given; ``with_kafka`` False does not wait
    for the broker. Without a level it rests on what the first view has read, and on the contents of the state
    files once they were checked; these are never looked for in evidence that does not have them."""
    level = level or deepest(ck)
    if level == "deep" and lacks_contents(ck.door):
        level = deepest(ck) or "normal"
    asked = connectors.answers(opened, ck, with_kafka)
    topics, sink = connectors.topics(ck), asked_sink(recovery_answers.choices(), asked.connectors)
    key = (opened.key, asked.key, tuple(sorted(topics.items())), sink, level)
    return _judgement(key, ck, asked.connectors, Query(topics=topics, sink=sink), level)


@readings.cached(4 * MOST_OPEN)
def _judgement(
    key: tuple[object, ...],
    _ck: Checkpoint,
    _connectors: ConnectorAnswers | None,
    _query: Query,
    _level: Level | None,
) -> Judgement:
    if _level is None:
        return judge(_ck, _connectors, query=_query, newest=_ck.settings.first_view_batches)
    seconds = _ck.settings.deep_check_seconds if _level == "deep" else None
    return judge(_ck, _connectors, level=_level, query=_query, seconds=seconds)


def next_start(opened: Opened, ck: Checkpoint) -> Forecast | str:
    """What Spark does at the next start, or one sentence why that cannot be said."""
    try:
        return judgement(opened, ck).forecast
    except StorageError as error:
        return say("screen_start.start_not_known", reason=error)


def start_of(opened: Opened, ck: Checkpoint, spark: str | None, query: str, loss: str) -> Forecast | str:
    """The next start of another Spark, of the query without its stateful operators ("stateless"), or with
    failOnDataLoss "false"."""
    if spark is None and query == "same" and loss == "true":
        return next_start(opened, ck)
    operators = () if query == "stateless" else None
    try:
        said = connectors.answers(opened, ck).connectors
        topics, sink = connectors.topics(ck), asked_sink(recovery_answers.choices(), said)
        started = Query(operators=operators, topics=topics, fail_on_data_loss=loss != "false", sink=sink)
        level, seconds = deepest(ck) or "normal", ck.settings.deep_check_seconds
        return judge(ck, said, level=level, spark=spark, query=started, seconds=seconds).forecast
    except StorageError as error:
        return say("screen_start.start_not_known", reason=error)


def findings(opened: Opened, ck: Checkpoint, level: Level | None = None) -> FindingsReport | str:
    """What stands out, or one sentence why it cannot be checked. Without a level: in what the first view has
    read."""
    try:
        return judgement(opened, ck, level).actions(recovery_answers.choices())
    except (StorageError, NotACheckpoint) as error:
        return say("screen_start.check_not_finished", reason=error)


def not_checked(opened: Opened, ck: Checkpoint) -> tuple[str, ...]:
    """What was not looked at or could not be read, as the report has it: each part once."""
    forecast, found = next_start(opened, ck), findings(opened, ck)
    known = None if isinstance(forecast, str) else forecast
    report = None if isinstance(found, str) else found
    return open_parts(ck, known, report, judgement(opened, ck).not_read)


def impacts(opened: Opened, ck: Checkpoint) -> tuple[DeletionImpact, ...] | str:
    """What deleting the checkpoint costs; or one sentence why that cannot be said, or why it is nothing."""
    try:
        judged = judgement(opened, ck)
        return judged.impacts_at(recovery_answers.choices().get("sink")) or judged.why_no_impact
    except StorageError as error:
        return say("screen_start.impact_not_known", reason=error)


def advice(opened: Opened, ck: Checkpoint, level: Level | None = None) -> Advice | None:
    """What to do, by the answers given on Recovery; None where the files it rests on cannot be read. Without
    a level: by what the first view has read."""
    asked, answers = connectors.answers(opened, ck), recovery_answers.choices()
    key = (opened.key, asked.key, level or deepest(ck), tuple(sorted(answers.values.items())))
    try:
        return _advice(key, judgement(opened, ck, level), answers)
    except (StorageError, UsageError):
        return None


@readings.cached(2 * MOST_OPEN)
def _advice(key: tuple[object, ...], _judgement: Judgement, _answers: Answers) -> Advice:
    return _judgement.advice(_answers)


def changes(
    opened: Opened,
    ck: Checkpoint,
    asked: tuple[AskedChange, ...],
    spark: str | None,
    sink: SinkName | None,
) -> ChangesReport | str:
    """What changes of the query do to this checkpoint, or one sentence why that cannot be said."""
    try:
        return _changes(opened.key, asked, spark, sink, ck)
    except (StorageError, UsageError) as error:
        return say("screen_changes.not_known", reason=error)


def rehearse_command(opened: Opened, ck: Checkpoint, sink: SinkName | None) -> str:
    """The command that tries a restart on a copy; empty where it cannot be filled in."""
    answers = Answers({"sink": "foreach_append" if sink == "foreach" else sink} if sink is not None else {})
    try:
        return filled_in(judgement(opened, ck).recovery(answers))
    except (StorageError, UsageError):
        return ""


@readings.cached(20 * MOST_OPEN)
def _changes(
    key: Reading,
    asked: tuple[AskedChange, ...],
    spark: str | None,
    sink: SinkName | None,
    _ck: Checkpoint,
) -> ChangesReport:
    return judge_changes(_ck, asked, spark, sink)


def second_look(ck: Checkpoint, seconds: float) -> Liveness | str:
    """Whether a query writes now, or one sentence why that cannot be told."""
    try:
        return look_twice(ck, seconds)
    except (StorageError, NotACheckpoint) as error:
        return say("screen_start.look_failed", reason=error)


def state(ck: Checkpoint) -> StateInventory | str:
    """The state inventory, or one sentence why it cannot be listed. The checkpoint keeps it."""
    try:
        return state_inventory(ck)
    except StorageError as error:
        return str(error)


def row_kinds(ck: Checkpoint, operator: OperatorState) -> dict[str, Choice] | str:
    """The kinds of rows of an operator, or one sentence why they are not known."""
    try:
        return row_choices(ck, operator)
    except StorageError as error:
        return str(error)


def rows(
    opened: Opened, ck: Checkpoint, question: RowsQuestion, since_batch: int | None = None
) -> RowsAnswer | str:
    """Rows of the state, or what differs from those after an earlier batch; or one sentence why there are
    none. For as long as the setting allows."""
    try:
        return _rows(opened.key, repr(question), since_batch, question, ck)
    except (StorageError, NotACheckpoint, UsageError) as error:
        return str(error)


@readings.cached(4 * MOST_OPEN)
def _rows(
    key: Reading, asked: str, since_batch: int | None, _question: RowsQuestion, _ck: Checkpoint
) -> RowsAnswer:
    until = time.monotonic() + _ck.settings.deep_check_seconds
    if since_batch is not None:
        return read_difference(_ck, _question, since_batch, lambda: time.monotonic() > until)
    return read_rows(_ck, _question, lambda: time.monotonic() > until)


def comparison(a: Opened, b: Opened, with_state_bytes: bool) -> Comparison | str:
    """Where two opened checkpoints differ, or one sentence why they cannot be compared. Bytes of state files
    are read for as long as the setting allows."""
    if a.ck is None or b.ck is None:
        return str(a.problem or b.problem)
    try:
        return _comparison((a.key, b.key), with_state_bytes, a.ck, b.ck)
    except (StorageError, NotACheckpoint) as error:
        return say("screen_compare.not_finished", reason=error)


@readings.cached(2 * MOST_OPEN)
def _comparison(
    keys: tuple[Reading, Reading], with_state_bytes: bool, _a: Checkpoint, _b: Checkpoint
) -> Comparison:
    until = time.monotonic() + _a.settings.deep_check_seconds
    newest = _a.settings.first_view_batches
    return compare(
        _a, _b, newest, with_state_bytes=with_state_bytes, is_over=lambda: time.monotonic() > until
    )


def resume(opened: Opened, ck: Checkpoint, batch_id: int | None = None) -> ResumeAnswer | str:
    """The start positions for a new checkpoint; or one sentence why there are none."""
    try:
        return judgement(opened, ck).resume(batch_id)
    except (ResumeError, StorageError) as error:
        return str(error)


MOST_IN_HEADER = 100
"""A longer sentence about the next start is cut in the header; it stands in a box below it."""


def tone_of(found: Forecast) -> cards.Tone:
    """The shape and colour of a forecast; a start that works and loses or repeats rows is in doubt, and so is
    one that depends on what only the user knows. One that nobody makes is neither good nor bad."""
    if found.is_unused:
        return "plain"
    tone = TONES[found.outcome]
    is_open = found.is_data_risk or found.certainty == "needs_input"
    return "doubt" if tone == "done" and is_open else tone


def verdict(opened: Opened) -> cards.Tone:
    """The shape and colour of what is known about the next start of a checkpoint."""
    if opened.ck is None:
        return "blocked"
    found = next_start(opened, opened.ck)
    return "plain" if isinstance(found, str) else tone_of(found)


def start_sentence(opened: Opened, ck: Checkpoint) -> str:
    """The sentence about the next start, which stands above everything else; empty when there is none."""
    found = next_start(opened, ck)
    return "" if isinstance(found, str) else str(found.sentence)


def in_header(opened: Opened, is_shown_below: bool) -> None:
    """The forecast in the one line that stays in view: mark and sentence, or a few words where the sentence
    stands below."""
    if opened.ck is None:
        return
    found = next_start(opened, opened.ck)
    if isinstance(found, str):
        cards.text(f"{cards.MARKS['plain']} {in_few_words(None)}", "verdict")
        return
    shown = in_few_words(found) if is_shown_below or stands_out(found) else found.sentence
    cards.text(f"{cards.MARKS[tone_of(found)]} {shown}", "verdict")


def judged_later(opened: Opened) -> None:
    """That the forecast is of a later reading than the page: what looks wrong is looked at twice, and a query
    that runs has written in between."""
    if opened.ck is None:
        return
    try:
        later = judgement(opened, opened.ck).rests_on
    except (StorageError, UsageError):
        return
    if later.offset_ids[-1:] == opened.ck.offset_ids[-1:] or not later.offset_ids:
        return
    moment, batch = later.read_at_ms, later.offset_ids[-1]
    cards.text(say("screens.judged_later", moment=moment, batch=batch), "small")


def line(opened: Opened) -> None:
    """The forecast in a box with certainty and proof, where it is more than one line in the header says: a
    start that fails, repeats or risks data, or is not known."""
    if opened.ck is None:
        return
    found = next_start(opened, opened.ck)
    if isinstance(found, str):
        cards.message("plain", found)
    elif stands_out(found):
        # Overview and Integrity have the error in full
        because = words.one_line(found.because if found.error is None else _error_of(found), 300)
        proof = say("screen_start.proof", certainty=CERTAINTY[found.certainty], because=because)
        cards.message(tone_of(found), found.sentence, proof)


def _error_of(found: Forecast) -> str:
    """How Spark calls the error; its text where it has no name."""
    error = found.error
    named = error and (error.condition or error.error_class)
    return str(named or found.because)


def stands_out(found: Forecast) -> bool:
    """Whether a forecast is more than that the query resumes or starts, or longer than the header shows."""
    return tone_of(found) in ("doubt", "blocked") or len(found.sentence) > MOST_IN_HEADER


def source_words(source: Source) -> str:
    """``Kafka, 12 partitions``."""
    parts = source.partitions
    return (
        source.kind.label
        if parts is None or parts < 2
        else f"{source.kind.label}, {words.counted(parts, 'partition')}"
    )


def what_it_is(ck: Checkpoint) -> str:
    """One line: the sources, whether there is state, which Spark wrote it, and whether a recovery script left
    it behind. Costs no request."""
    sources = " + ".join(source_words(source) for source in ck.sources) or say("screens.no_source_short")
    kept = "stateful" if ck.has_state else "no state/" if ck.offset_ids or ck.commit_ids else ""
    spark = spark_words(ck)
    copy = recovery_copy(ck.location.url, ck.last_committed_batch)
    left = say_of("survey", "RECOVERY_COPIES", copy) if copy is not None else ""
    return " · ".join(part for part in (sources + (f" → {kept}" if kept else ""), spark, left) if part)


def spark_words(ck: Checkpoint) -> str:
    """``Spark 4.0 or newer``, as far as the files tell."""
    by = ck.written_by
    if by.at_least and by.at_most:
        return f"Spark {by.at_least}" if by.at_least == by.at_most else f"Spark {by.at_least} to {by.at_most}"
    if by.at_least:
        return f"Spark {by.at_least} or newer"
    return f"Spark {by.at_most} or older" if by.at_most else ""
