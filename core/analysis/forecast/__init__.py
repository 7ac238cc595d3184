"""What Spark will do at the next start of this checkpoint, said before it does it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.analysis.forecast.beside import not_in_use
from core.analysis.forecast.contents import (
    CONTENTS,
    ContentFacts,
    judge_contents,
    loaded_version,
    read_contents,
)
from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.fresh_start import FROM_SCRATCH, NOT_FROM_SCRATCH
from core.analysis.forecast.model import (
    LEVELS,
    DataEffect,
    Forecast,
    Level,
    Outcome,
    Query,
    SparkError,
    Step,
    StepStatus,
    least_sure,
)
from core.analysis.forecast.not_read import without_the_unread
from core.analysis.forecast.sentence import (
    because,
    fail_sentences,
    not_checked,
    rerun_sentences,
    resume_sentence,
    scratch_sentence,
    sink_sentence,
    unless_stateful,
    what_then,
)
from core.analysis.forecast.start import StepResults, take_steps
from core.analysis.forecast.versions import SUPPORTED, V41, choose_spark
from core.checkpoint.state_content.inspection import Progress
from core.connectors.model import ConnectorAnswers
from core.connectors.sink import sink_state
from core.messages import Sentence, say

if TYPE_CHECKING:
    from core.checkpoint import Checkpoint

LOOKS = 4  # how often a checkpoint that changes while it is read is read at most
SUPPORTED_SPARK: tuple[str, ...] = tuple(str(version) for version in SUPPORTED)


@dataclass(frozen=True, slots=True)
class Reading:
    """A forecast, and the reading of the checkpoint that it is about: the one that was given, or a later one.

    ``contents``: what is in the state files, at the level deep. ``is_settled`` is False when a running query
    changed the files between every two looks, so that what looks wrong may only be what was listed later.
    """

    checkpoint: Checkpoint
    forecast: Forecast
    contents: ContentFacts | None = None
    is_settled: bool = True


def forecast(
    checkpoint: Checkpoint,
    spark: str | None = None,
    query: Query | None = None,
    level: Level = "normal",
    connectors: ConnectorAnswers | None = None,
) -> Forecast:
    """What the next start of the query does, under the rules of one Spark version.

    ``spark`` ("3.5"): default is the version that wrote the newest files as far as they tell, else the newest
    supported. ``query`` describes the query that will be started where it differs from the one that wrote the
    checkpoint. ``level``: ``quick`` lists no state file, ``deep`` decodes those that a start loads.
    ``connectors`` is what Kafka, the Delta log, the sink and the directories of file sources answered
    (:func:`core.connectors.connect.ask_connectors`). The answer is about the first batch; what is known to
    stop a later one is in ``then``. Reads the newest two offset entries, the newest commit, the names of the
    source logs and of the state files; no JVM. Raises UnsupportedSparkError for a version whose restarts were
    not observed, ValueError for an unknown level.
    """
    return read_forecast(checkpoint, spark, query, level, connectors).forecast


def read_forecast(
    checkpoint: Checkpoint,
    spark: str | None = None,
    query: Query | None = None,
    level: Level = "normal",
    connectors: ConnectorAnswers | None = None,
    *,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Reading:
    """The forecast with the reading of the checkpoint that it is about.

    Writers and retention change the directory between two listings; what is damaged stays so. Something wrong
    is said only when two looks, one after the other, say the same. ``seconds`` is the time that the level
    deep may take, ``progress`` gets the state files done and all of them.
    """
    if level not in LEVELS:
        raise ValueError(say("findings_checks.unknown_level", level=level, levels=LEVELS))

    def look(ck: Checkpoint) -> Reading:
        contents = _contents(ck, connectors, seconds, progress) if level == "deep" else None
        return Reading(ck, _forecast(ck, spark, query, level, connectors, contents), contents)

    reading = look(checkpoint)
    for _ in range(LOOKS - 1):
        if not _is_doubtful(reading.forecast):
            return reading
        fresh = _looked_at_again(reading)
        before, reading = reading, look(fresh)
        checkpoint.doubt()
        fresh.doubt()
        if _says_the_same(before.forecast, reading.forecast):
            return reading
    if not _is_doubtful(reading.forecast):
        return reading
    open_ends = (say("forecast.open_running"), *reading.forecast.not_checked)
    unsure = replace(reading.forecast, certainty="needs_input", not_checked=open_ends)
    return replace(reading, forecast=unsure, is_settled=False)


def _contents(
    ck: Checkpoint,
    connectors: ConnectorAnswers | None,
    seconds: float | None,
    progress: Progress | None,
) -> ContentFacts:
    """What is in the state files, read once for each version that may be loaded first: a sink that is asked
    later may skip the pending batch."""
    held = connectors.sink if connectors is not None else None
    sink = sink_state(ck, held) if held is not None else None
    version = loaded_version(ck, sink)

    def read() -> ContentFacts:
        return read_contents(ck, sink, seconds=seconds, progress=progress)

    facts = ck.kept(CONTENTS, read)
    return facts if facts.version in (None, version) else ck.kept(f"{CONTENTS} to {version}", read)


def _looked_at_again(reading: Reading) -> Checkpoint:
    """The checkpoint listed again. The state files are not decoded again while no batch was planned."""
    before, contents = reading.checkpoint, reading.contents
    fresh = before.refresh()
    if contents is not None and fresh.next_batch == before.next_batch:
        fresh.kept(CONTENTS, lambda: contents)
    return fresh


def _is_doubtful(answer: Forecast) -> bool:
    return answer.outcome == "fail" or bool(answer.risks)


def _says_the_same(one: Forecast, other: Forecast) -> bool:
    def verdict(answer: Forecast) -> object:
        failure = answer.evidence if answer.outcome == "fail" else ()
        risks = {(risk.id, risk.evidence) for risk in answer.risks}
        return answer.outcome, answer.batch_id, answer.reason, failure, risks

    return verdict(one) == verdict(other)


def _forecast(
    checkpoint: Checkpoint,
    spark: str | None,
    query: Query | None,
    level: Level,
    connectors: ConnectorAnswers | None,
    contents: ContentFacts | None,
) -> Forecast:
    chosen = choose_spark(checkpoint, spark)
    s = RestartContext(
        checkpoint,
        chosen.version,
        query or Query(),
        level,
        connectors or ConnectorAnswers(),
        chosen.is_writer,
        contents=None if contents is None else judge_contents(checkpoint, contents, chosen.version),
    )
    result = take_steps(s)
    outcome: Outcome
    said: tuple[Sentence, ...]
    if result.failure is not None:
        outcome, said = "fail", fail_sentences(s, result)
    elif s.from_scratch:
        outcome, said = "fresh_start", (scratch_sentence(result),)
    elif s.runs_again:
        outcome, said = "rerun", (*rerun_sentences(s), *unless_stateful(s))
    else:
        outcome, said = "resume", (resume_sentence(s, result), *unless_stateful(s))
    data = result.data
    failed_as = result.failure.reason if result.failure is not None else None
    is_open = s.n is None and failed_as in NOT_FROM_SCRATCH and chosen.oldest < V41 <= chosen.version
    if is_open:
        said = (*said, say("forecast.older_from_scratch"))
        data = FROM_SCRATCH
    unused = tuple(not_in_use(s))  # says first that the rest is about a start that nobody makes
    parts: list[str] = [*(risk.sentence for risk in unused), *said, *sink_sentence(s, result)]
    proof, evidence = because(s, result)
    runs = (outcome != "fail" or result.fails_at == "batch") and not s.nothing_runs
    certainties = (
        [c for c in result.certainties if c != "certain"]
        if result.failure is None
        else [result.failure.certainty]
    )
    certainties += [risk.certainty for risk in unused]
    certainties += ["inferred"] if s.checkpoint.is_continuous else []
    certainties += ["needs_input"] if is_open else []
    for risk in result.risks:
        if result.failure is None and risk.sentence not in parts:
            parts.append(risk.sentence)  # a risk of the sink has the words of the sink
    then = what_then(s, result)
    if then is None and s.nothing_runs and s.query.new_data == "no":  # said before somebody relies on it
        asked = replace(s.query, new_data="unknown")
        later = _forecast(checkpoint, spark, asked, level, connectors, contents)
        then = later.sentence if later.outcome == "fail" or later.is_data_risk else None
    answer = Forecast(
        spark=str(chosen.version),
        spark_why=chosen.why,
        outcome=outcome,
        batch_id=_batch_of(s, result) if runs else None,
        fails_at=result.fails_at,
        error=result.failure.error if result.failure is not None else None,
        data=data,
        certainty=least_sure(*certainties),
        evidence=evidence,
        steps=tuple(result.steps),
        sentence=" ".join(parts),
        because=proof,
        then=then,
        not_checked=not_checked(s, result),
        risks=(*unused, *result.risks),
        reason=result.failure.reason if result.failure is not None else None,
        sink=s.sink,
    )
    return without_the_unread(s, answer)


def _batch_of(s: RestartContext, result: StepResults) -> int:
    """The first batch that is run; of a failure the batch that fails, which may be one behind those that the
    sink skips."""
    found = result.failure.batch_id if result.failure is not None else None
    return s.first_batch if found is None else found


__all__ = [
    "SUPPORTED_SPARK",
    "DataEffect",
    "Forecast",
    "Level",
    "Query",
    "Reading",
    "SparkError",
    "Step",
    "StepStatus",
    "forecast",
    "read_forecast",
]
