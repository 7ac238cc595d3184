"""The plan of a Kafka batch that runs again, looked at while it is planned: partitions that are new in it and
nowhere to be found, and what a failed start (or an editor) leaves: partitions missing, or an end below the
start. In the order in which Spark looks (observed with 4.3)."""

from __future__ import annotations

from core.analysis.forecast.context import Range, RestartContext
from core.analysis.forecast.kafka_positions import SHOWN, batch_start
from core.analysis.forecast.kafka_source import topic_gone
from core.analysis.forecast.model import UNKNOWN, Risk
from core.analysis.forecast.step_verdict import Verdict, failed
from core.checkpoint.sources.kafka import positions_read
from core.connectors.answers import BrokerAnswer
from core.connectors.kafka.judgement import judge_partition
from core.messages import say
from core.messages.words import listed
from core.sparklogs.evidence import Certainty


def new_and_missing(
    s: RestartContext, part: Range, answer: BrokerAnswer | None, wanted: tuple[str, ...] | None
) -> Verdict:
    """Partitions of which the batch is the first to have a position and that Spark does not find where the
    query reads: it asks for their first offsets, and dies where a topic of the query is not there. With
    failOnDataLoss=false it leaves them out."""
    start, where = batch_start(s, part)
    end = positions_read(part.end_text)
    new = [(topic, p) for topic, ps in end.items() for p in ps if p not in start.get(topic, {})]
    if part.end is None or not new or (where is None and s.n != 0):
        return Verdict()
    absent = [topic for topic in wanted or () if answer is not None and topic in answer.absent]
    if absent and answer is not None:
        return topic_gone(s, answer, absent, part.end.evidence)
    if not s.query.stops_on_loss(part.key):
        return Verdict()
    names = [
        f"{topic}-{p}"
        for topic, p in new
        if (wanted is not None and topic not in wanted)
        or (answer is not None and judge_partition(answer, topic, p, None).state == "deleted")
    ]
    if not names:
        return Verdict()
    at = part.end.evidence
    why = say("forecast_kafka.initial_missing", at=str(at), names=listed(names, SHOWN), count=len(names))
    details = {"partitions": ", ".join(names)}
    return failed(
        s,
        "kafka_initial_missing",
        "KAFKA_PARTITIONS_GONE",
        why,
        at,
        details=details,
        certainty="certain" if wanted is not None else "inferred",
        then=say("forecast_kafka.stays_planned", n=s.n),
    )


def failed_plan(s: RestartContext, part: Range, answer: BrokerAnswer | None) -> Verdict:
    """A batch that failed while Kafka planned it has left its plan: partitions missing, or an end below the
    start; a partition that is new begins at 0. Without the broker nobody knows whether Spark gets beyond the
    partitions that are new in the plan."""
    start, where = batch_start(s, part)
    if where is None or part.end is None or part.end_text is None:
        return Verdict()
    end = positions_read(part.end_text)
    gone = [f"{t}-{p}" for t, ps in start.items() for p in ps if p not in end.get(t, {})]
    lower = [
        (f"{t}-{p}", start.get(t, {}).get(p, 0), position)
        for t, ps in end.items()
        for p, position in ps.items()
        if position < start.get(t, {}).get(p, 0)
    ]
    at = part.end.evidence
    if gone:
        why = say("forecast_steps.plan_partitions_gone", at=str(at), partitions=gone, previous=where.path)
        details: dict[str, object] = {"partitions": ", ".join(gone)}
        error = "kafka_partitions_deleted"
    elif lower:
        name, first, last = lower[0]
        why = say("forecast_steps.plan_back", at=str(at), partition=name, start=first, end=last)
        details = {"partition": name, "before": first, "after": last}
        error = "kafka_offset_changed"
    else:
        return Verdict()
    if s.query.stops_on_loss(part.key):
        is_new = any(p not in start.get(t, {}) for t, ps in end.items() for p in ps)
        certainty: Certainty = "inferred" if is_new and answer is None else "certain"
        return failed(s, error, "FAILED_PLAN_LEFT", why, at, details=details, certainty=certainty)
    sentence = say("forecast.failed_plan_without_check", why=why)
    return Verdict(risks=(Risk("FAILED_PLAN_LEFT", sentence, (at,), UNKNOWN),))
