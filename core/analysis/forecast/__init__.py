"""What Spark will do at the next start of this checkpoint, said before it does it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.analysis.forecast.context import RestartContext
from core.analysis.forecast.model import (
    DataEffect,
    Forecast,
    Outcome,
    Query,
    SparkError,
    Step,
    StepStatus,
    least_sure,
)
from core.analysis.forecast.sentence import (
    because,
    fail_sentences,
    not_checked,
    rerun_sentences,
    resume_sentence,
    scratch_sentence,
    sink_sentence,
    what_then,
)
from core.analysis.forecast.start import take_steps
from core.analysis.forecast.versions import SUPPORTED, choose_spark
from core.checkpoint.log_directory import read_log_directory
from core.connectors.model import ConnectorAnswers
from core.messages import Sentence, say

if TYPE_CHECKING:
    from core.checkpoint import Checkpoint

LOOKS = 2  # how often a checkpoint that changes while it is read is read again
SUPPORTED_SPARK: tuple[str, ...] = tuple(str(version) for version in SUPPORTED)


def forecast(
    checkpoint: Checkpoint,
    spark: str | None = None,
    query: Query | None = None,
    with_state: bool = True,
    connectors: ConnectorAnswers | None = None,
) -> Forecast:
    """What the next start of the query does, under the rules of one Spark version.

    ``spark`` ("3.5"): default is the version that wrote the newest files as far as they tell, else the newest
    supported. ``query`` describes the query that will be started where it differs from the one that wrote the
    checkpoint. ``connectors`` is what Kafka, the Delta log, the sink and the directories of file sources
    answered (:func:`core.connectors.connect.ask_connectors`). The answer is about the first batch; what is
    known to stop a later one is in ``then``. Reads the newest two offset entries, the newest commit, the
    names of the source logs and, unless ``with_state`` is False, of the state files; no JVM. Raises
    UnsupportedSparkError for a version whose restarts were not observed.
    """
    answer = _forecast(checkpoint, spark, query, with_state, connectors)
    for _ in range(LOOKS):
        if (answer.outcome != "fail" and not answer.risks) or not _has_moved_on(checkpoint):
            return answer
        # A running query has written on between two listings: what looks wrong may only be what was listed
        # later.
        checkpoint = checkpoint.refresh()
        answer = _forecast(checkpoint, spark, query, with_state, connectors)
    if answer.outcome != "fail" and not answer.risks:
        return answer
    return replace(
        answer, certainty="needs_input", not_checked=(say("forecast.open_running"), *answer.not_checked)
    )


def _has_moved_on(checkpoint: Checkpoint) -> bool:
    """Whether a newer batch has been planned since the checkpoint was listed: one more listing."""
    now = read_log_directory(checkpoint.door.list(["offsets"])["offsets"]).ids
    return max(now, default=-1) > max(checkpoint.offset_ids, default=-1)


def _forecast(
    checkpoint: Checkpoint,
    spark: str | None,
    query: Query | None,
    with_state: bool,
    connectors: ConnectorAnswers | None,
) -> Forecast:
    chosen = choose_spark(checkpoint, spark)
    s = RestartContext(
        checkpoint,
        chosen.version,
        query or Query(),
        with_state,
        connectors or ConnectorAnswers(),
        chosen.is_writer,
    )
    result = take_steps(s)
    outcome: Outcome
    said: tuple[Sentence, ...]
    if result.failure is not None:
        outcome, said = "fail", fail_sentences(s, result)
    elif s.from_scratch:
        outcome, said = "fresh_start", (scratch_sentence(result),)
    elif s.runs_again:
        outcome, said = "rerun", rerun_sentences(s)
    else:
        outcome, said = "resume", (resume_sentence(s),)
    parts: list[str] = [*said, *sink_sentence(s, result)]
    proof, evidence = because(s, result)
    runs = (outcome != "fail" or result.fails_at == "batch") and not s.nothing_runs
    certainties = (
        [c for c in result.certainties if c != "certain"]
        if result.failure is None
        else [result.failure.certainty]
    )
    for risk in result.risks:
        if result.failure is None and risk.id != "METADATA_MISSING" and risk.sentence not in parts:
            parts.append(risk.sentence)  # a risk of the sink has the words of the sink
    return Forecast(
        spark=str(chosen.version),
        spark_why=chosen.why,
        outcome=outcome,
        batch_id=s.first_batch if runs else None,
        fails_at=result.fails_at,
        error=result.failure.error if result.failure is not None else None,
        data=result.data,
        certainty=least_sure(*certainties),
        evidence=evidence,
        steps=tuple(result.steps),
        sentence=" ".join(parts),
        because=proof,
        then=what_then(s, result),
        not_checked=not_checked(s, result),
        risks=tuple(result.risks),
        reason=result.failure.reason if result.failure is not None else None,
        sink=s.sink,
    )


__all__ = [
    "SUPPORTED_SPARK",
    "DataEffect",
    "Forecast",
    "Query",
    "SparkError",
    "Step",
    "StepStatus",
    "forecast",
]
