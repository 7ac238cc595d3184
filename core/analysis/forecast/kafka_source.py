"""A Kafka source with its broker at hand: what the planned batch and the next one meet, per partition.

Rules observed with Spark 4.3 (connector 4.2.0) and a broker 4.3.1, in the order in which Spark takes them:
topics that are not there, new partitions that do not begin at 0, partitions that are gone, an end below the
position, and in the tasks records that have expired. A planned batch keeps its range whatever the broker
shows; only new partitions in it are looked at while it is planned. ``core/connectors/kafka/judgement.py``
judges each position; this module says what Spark makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from core.analysis.forecast.context import Range, RestartContext
from core.analysis.forecast.kafka_positions import EARLIEST, batch_start, before_start
from core.analysis.forecast.kafka_subscription import way_of
from core.analysis.forecast.model import DUPLICATES, EXACT, LOSS, UNKNOWN, DataEffect, Risk
from core.analysis.forecast.offset_lines import set_back
from core.analysis.forecast.step_verdict import Verdict, failed
from core.checkpoint.sources.kafka import positions_read
from core.connectors.answers import BrokerAnswer
from core.connectors.kafka.judgement import (
    JudgedPartition,
    Positions,
    judge_partition,
    lacking_partitions,
    recreated,
)
from core.connectors.kafka.partitions import (
    batch_time_ms,
    entries_at_hand,
    is_outdated,
    kafka_partition_states,
    recreated_sentence,
    similar_names,
)
from core.messages import Sentence, say
from core.messages.words import listed, near_moment
from core.sparklogs.evidence import Certainty, Evidence

PART_OF_PLAN = DataEffect("unknown", "loss", "loss").may(("skip",))
"""A planned batch runs with a part of its records (failOnDataLoss=false). Whether it has reached the sink
before is not known: if so, a sink that appends has the rest twice and lacks nothing, one that skips keeps the
whole; one that overwrites is left with the rest in either case."""
_SHOWN = 3  # names in a sentence; how many more there are is said


def broker_of(s: RestartContext, key: str) -> BrokerAnswer | None:
    """What the broker of this source said; None when it was not asked, could not be, or a batch was planned
    since."""
    answer = s.connectors.brokers.get(key)
    return (
        answer
        if answer is not None and answer.trouble is None and not is_outdated(s.checkpoint, answer)
        else None
    )


def why_not_asked(s: RestartContext, key: str) -> str | None:
    """Why nothing is known of the broker of this source; None when nobody was to be asked."""
    answer = s.connectors.brokers.get(key)
    if answer is not None and answer.trouble is None:
        return say("forecast_kafka.planned_since")
    reason = answer.trouble if answer is not None else s.connectors.troubles.get("kafka")
    return reason.rstrip(".") if reason else None


def check_planned(s: RestartContext, part: Range, answer: BrokerAnswer) -> Verdict:
    """The planned batch that runs (again): its range is fixed."""
    start, end = batch_start(s, part)[0], positions_read(part.end_text)
    before = before_start(s, part)[0]
    if part.end is None or not end:
        return Verdict()
    at = part.end.evidence
    judged = [
        judge_partition(answer, topic, p, start.get(topic, {}).get(p), last)
        for topic, ps in end.items()
        for p, last in ps.items()
    ]
    risks: list[Risk] = []
    late = [each for each in judged if each.starts_late]
    if late:
        verdict = _added_late(s, part, late, at, before)
        if verdict.ok is False:
            return verdict
        risks += verdict.risks
    reads = [each for each in judged if (each.planned or 0) > (each.position or 0)]
    gone = [each for each in reads if each.state == "deleted" and each.position is not None]
    if gone:
        return _planned_gone(s, gone, at)
    for each in reads:
        if each.state == "behind_log_start":
            verdict = _expired_in_plan(s, part, each, at, before)
        elif each.ends_before_plan and each.bounds is not None:
            verdict = _planned_short(s, part, each, at)
        else:
            continue
        if verdict.ok is False:
            return verdict
        risks += verdict.risks
    risks += _younger(s, answer, start, at, skip=[each.topic for each in reads if each.ends_before_plan])
    same = _same_topic_not_proven(part.key, judged, risks)
    certainty: Certainty = "inferred" if same else "certain"
    open_ends = (*same, *_not_told(judged))
    return Verdict(risks=tuple(risks), not_checked=open_ends, certainty=certainty, evidence=(at,))


def check_next(
    s: RestartContext, part: Range, answer: BrokerAnswer, wanted: tuple[str, ...] | None
) -> Verdict:
    """The batch that is planned next, from offsets/N. ``wanted``: the topics of today's query; None = those
    of the checkpoint."""
    known, earlier = positions_read(part.end_text), batch_start(s, part)[0]
    if part.end is None or part.end_text is None:
        return Verdict()
    at = part.end.evidence
    topics = wanted if wanted is not None else tuple(known or earlier)
    absent = [topic for topic in topics if topic in answer.absent]
    way = way_of(s.query, part.key)
    if way == "subscribePattern" and not topics and known:
        return _nothing_matches(s, part, at, known)
    if absent and way is None and (len(absent) == len(topics) or not s.query.stops_on_loss(part.key)):
        return _maybe_gone(s, part, answer, absent, at)
    if absent:
        return topic_gone(s, answer, absent, at)
    batch_ms = _batch_ms(s)
    every = [
        judge_partition(answer, topic, p, position, batch_ms=batch_ms)
        for topic, ps in known.items()
        for p, position in ps.items()
    ]
    new = [
        judge_partition(answer, topic, p, None)
        for topic, p in answer.partitions
        if topic in topics and p not in known.get(topic, {})
    ]
    removed = [each for each in every if each.topic not in topics]
    judged = [each for each in every if each.topic in topics]
    gone = [each for each in judged if each.state == "deleted"]
    short = [each for each in judged if each.state == "beyond_end"]
    short_topics = {each.topic for each in short}
    cut_topics = {topic for topic in short_topics if _is_cut(s, answer, topic, known)}
    cut = [each for each in short if each.topic in cut_topics]
    # One partition that ends before its position proves it for its whole topic.
    others = [each for each in judged if each not in short and each.topic in short_topics]
    replaced = [each for each in (*short, *others) if each.topic not in cut_topics]
    risks: list[Risk] = []
    late = [each for each in new if each.starts_late]
    checks: tuple[tuple[list[JudgedPartition], Callable[..., Verdict]], ...] = (
        (late, partial(_added_late, earlier=earlier)),
        ([*removed, *gone], partial(_partitions_gone, answer=answer)),
        (replaced, _offset_changed),
        (cut, _cut_short),
    )
    for affected, check in checks:
        if affected:
            verdict = check(s, part, affected, at)
            if verdict.ok is False:
                return verdict
            risks += verdict.risks
    expired = [each for each in judged if each.state == "behind_log_start"]
    for each in expired:
        others = [other for other in expired if other is not each]
        verdict = _expired_behind(s, part, each, at, others, earlier)
        if verdict.ok is False:
            return verdict
        risks += verdict.risks
    from_earliest = [each for each in judged if each.position == EARLIEST and _is_past(each, earlier)]
    risks += [_maybe_expired("KAFKA_RECORDS_EXPIRED", each, at) for each in from_earliest[:1]]
    risks += _younger(s, answer, known, at, skip=short_topics, earlier=earlier)
    still_there = {
        each.topic for each in new if each.bounds is not None and (each.earliest or 0) < (each.latest or 0)
    }
    risks += read_again(s, part, [topic for topic in topics if topic not in known and topic in still_there])
    risks += _soon(s, part.key, answer, at)
    unasked = [topic for topic in topics if topic not in answer.topics]
    begins = (
        (say("forecast_kafka.whether_topic_begins_at_0", topics=listed(unasked, _SHOWN), key=part.key),)
        if unasked
        else ()
    )
    close = _close_in_time(judged)
    same = () if close else _same_topic_not_proven(part.key, judged, risks)
    open_ends = (*close, *same, *begins, *_not_told([*judged, *new]))
    certainty: Certainty = "inferred" if close or same else "certain"
    return Verdict(risks=tuple(risks), not_checked=open_ends, certainty=certainty, evidence=(at,))


def read_again(s: RestartContext, part: Range, added: Iterable[str]) -> list[Risk]:
    """Topics that the query subscribes to and that the newest position of this source lacks, although a batch
    of this checkpoint has read them: a topic that was left out for a while, or one that another source read
    (two sources that changed places). Spark reads them from offset 0 again, without an error."""
    risks = []
    for topic in added:
        before = _read_before(s, topic)
        if before is not None:
            at, position = before
            sentence = say("forecast_kafka.topic_read_again", topic=topic, at=str(at), position=position)
            evidence = (at, *part.evidence)
            risks.append(Risk("KAFKA_TOPIC_READ_AGAIN", sentence, evidence, DUPLICATES, "inferred"))
    return risks


def _read_before(s: RestartContext, topic: str) -> tuple[Evidence, int] | None:
    """The newest offset file that has a position of the topic, and the highest one in it."""
    for entry in entries_at_hand(s.checkpoint):
        for source in entry.sources:
            at = max(positions_read(source.raw).get(topic, {}).values(), default=0)
            if at > 0:
                return source.evidence, at
    return None


def repair_of_plan(s: RestartContext, part: Range, answer: BrokerAnswer) -> str:
    """What the broker makes certain about a plan that a failed start left: the repair that works, in
    sentences."""
    before, after = positions_read(part.start_text), positions_read(part.end_text)
    lower = [(t, p) for t, ps in before.items() for p, at in ps.items() if after.get(t, {}).get(p, at) < at]
    gone = [(t, p) for t, ps in before.items() for p in ps if p not in after.get(t, {})]
    # A topic that is there and has lost partitions is a new one.
    lacking = {t for t, _ in [*lower, *gone] if lacking_partitions(answer, t, before[t])}
    missing = [
        judged.name
        for judged in (judge_partition(answer, t, p, before[t][p]) for t, p in [*lower, *gone])
        if judged.state == "deleted" and judged.topic not in lacking
    ]
    if missing:
        return say("forecast_kafka.plan_needs_new_checkpoint", names=listed(missing, _SHOWN), n=s.n)
    topics = {t for t, p in lower if _was_recreated(s, answer, t, p, before[t][p])} | lacking
    replaced = [
        f"{t}-{p}"
        for t, ps in before.items()
        for p in ps
        if t in topics and judge_partition(answer, t, p, ps[p]).state != "deleted"
    ]
    if replaced:
        return say("forecast_kafka.plan_reset_to_0", names=listed(replaced, _SHOWN))
    return say("forecast_kafka.plan_rewind", n=s.n, previous=s.previous)


def _was_recreated(
    s: RestartContext, answer: BrokerAnswer, topic: str, partition: int, position: int
) -> bool:
    """Whether the lower end of a plan that a failed start left was that of a new topic, which may have grown
    past the position by now. It was, unless the topic has records from before the batch that read up to
    there."""
    judged = judge_partition(answer, topic, partition, position, batch_ms=_batch_ms(s))
    return judged.age != "older"


# ------------------------------------------------------------------------------------------- where Spark
# fails


def topic_gone(s: RestartContext, answer: BrokerAnswer, absent: list[str], at: Evidence) -> Verdict:
    similar = [name for topic in absent for name in similar_names(topic, answer.all_topics)]
    names, count = listed(absent, _SHOWN), len(absent)
    why = (
        say(
            "forecast_kafka.topic_absent_but_similar",
            names=names,
            count=count,
            servers=answer.servers,
            similar=listed(similar, _SHOWN),
        )
        if similar
        else say("forecast_kafka.topic_absent", names=names, count=count, servers=answer.servers)
    )
    then = say("forecast_kafka.topic_absent_then")
    return failed(s, "kafka_topic_gone", "KAFKA_TOPIC_GONE", why, at, then=then)


def _maybe_gone(
    s: RestartContext, part: Range, answer: BrokerAnswer, absent: list[str], at: Evidence
) -> Verdict:
    """A topic is gone, and nobody says whether the query names its topics or has a pattern, with which Spark
    goes on."""
    verdict = topic_gone(s, answer, absent, at)
    values = {"key": part.key, "names": listed(absent, _SHOWN), "count": len(absent)}
    then = say("forecast_kafka.topic_absent_then_open", **values)
    return replace(verdict, certainty="inferred", then=then)


def _nothing_matches(s: RestartContext, part: Range, at: Evidence, known: Positions) -> Verdict:
    """No topic is left for a pattern: Spark plans no batch, with either value of failOnDataLoss."""
    pattern = s.query.option(part.key, "subscribePattern")
    names = listed((f"{topic}-{p}" for topic, ps in known.items() for p in ps), _SHOWN)
    sentence = say("forecast_kafka.nothing_matches", at=at, pattern=pattern, names=names)
    return Verdict(risks=(Risk("KAFKA_PARTITIONS_GONE", sentence, (at,), UNKNOWN),), evidence=(at,))


def _planned_gone(s: RestartContext, gone: list[JudgedPartition], at: Evidence) -> Verdict:
    why = say("forecast_kafka.planned_gone", at=at, names=_names(gone), count=len(gone))
    then = say("forecast_kafka.planned_gone_then", n=s.n)
    details = {"partition": gone[0].name}
    return failed(s, "kafka_position_timeout", "KAFKA_PARTITIONS_GONE", why, at, details=details, then=then)


def _planned_short(s: RestartContext, part: Range, judged: JudgedPartition, at: Evidence) -> Verdict:
    assert judged.bounds is not None and judged.planned is not None
    start, last = max(judged.position or 0, judged.bounds[0]), judged.bounds[1]
    values = {"at": at, "name": judged.name, "planned": judged.planned, "end": last}
    if not s.query.stops_on_loss(part.key):
        sentence = (
            say("forecast_kafka.planned_short_reads_nothing", n=s.n, **values)
            if last <= start
            else say("forecast_kafka.planned_short_reads_others", n=s.n, first=start, last=last - 1, **values)
        )
        return Verdict(risks=(Risk("KAFKA_TOPIC_RECREATED", sentence, (at,), PART_OF_PLAN),))
    why = (
        say("forecast_kafka.planned_short", **values)
        if last < start
        else say("forecast_kafka.planned_short_waits", **values)
    )
    details = {"partition": judged.name, "start": max(start, last), "end": judged.planned}
    return failed(
        s, "kafka_range_unreadable", "KAFKA_TOPIC_RECREATED", why, at, details=details, then=_pending(s)
    )


def _is_past(judged: JudgedPartition, earlier: Positions) -> bool:
    """Whether more has expired than an earlier entry shows to have been read."""
    return (judged.earliest or 0) > max(earlier.get(judged.topic, {}).get(judged.partition, 0), 0)


def _maybe_expired(finding: str, judged: JudgedPartition, at: Evidence) -> Risk:
    """The position was set back by hand: what was read between is not known, and may be what has expired."""
    sentence = say("forecast_kafka.expired_set_back", at=at, name=judged.name, earliest=judged.earliest)
    return Risk(finding, sentence, (at,), LOSS.may(), "inferred")


def _expired_in_plan(
    s: RestartContext, part: Range, judged: JudgedPartition, at: Evidence, before: Positions
) -> Verdict:
    """Records of the planned range have expired. Where it begins before the batch before it did, they are
    some that were read."""
    values = {
        "at": at,
        "name": judged.name,
        "earliest": judged.earliest,
        "n": s.n,
        "position": judged.position,
        "lost": judged.lost_of_plan,
    }
    if not s.query.stops_on_loss(part.key):
        sentence = say("forecast_kafka.expired_in_plan_left_out", **values)
        is_back = before.get(judged.topic, {}).get(judged.partition, 0) > (judged.position or 0)
        effect = UNKNOWN if is_back else PART_OF_PLAN
        return Verdict(risks=(Risk("KAFKA_RECORDS_EXPIRED", sentence, (at,), effect),))
    why = say("forecast_kafka.expired_in_plan", **values)
    details = {"partition": judged.name, "start": judged.position, "end": judged.planned}
    return failed(
        s, "kafka_range_unreadable", "KAFKA_RECORDS_EXPIRED", why, at, details=details, then=_pending(s)
    )


def _expired_behind(
    s: RestartContext,
    part: Range,
    judged: JudgedPartition,
    at: Evidence,
    others: list[JudgedPartition],
    earlier: Positions,
) -> Verdict:
    """Records behind the position of the next batch have expired. Where the position was set back by hand,
    they may be records that were read."""
    values = {
        "at": at,
        "name": judged.name,
        "earliest": judged.earliest,
        "position": judged.position,
        "lost": judged.lost,
    }
    is_back = earlier.get(judged.topic, {}).get(judged.partition, 0) > (judged.position or 0)
    if not s.query.stops_on_loss(part.key) and is_back and not _is_past(judged, earlier):
        return Verdict()
    if not s.query.stops_on_loss(part.key) and (is_back or set_back(s, (part,)) is not None):
        return Verdict(risks=(_maybe_expired("KAFKA_RECORDS_EXPIRED", judged, at),))
    if not s.query.stops_on_loss(part.key):
        sentence = say("forecast_kafka.expired_left_out", **values)
        return Verdict(risks=(Risk("KAFKA_RECORDS_EXPIRED", sentence, (at,), LOSS),))
    why = (
        say("forecast_kafka.expired_with_others", others=_names(others), **values)
        if others
        else say("forecast_kafka.expired", **values)
    )
    details = {"partition": judged.name, "start": judged.position, "end": judged.latest}
    then = say("forecast_kafka.failed_batch_leaves_plan", batch=s.first_batch)
    return failed(s, "kafka_range_unreadable", "KAFKA_RECORDS_EXPIRED", why, at, details=details, then=then)


def _added_late(
    s: RestartContext, part: Range, late: list[JudgedPartition], at: Evidence, earlier: Positions
) -> Verdict:
    """``earlier``: what the entry before has. A partition in it is not new, its position was taken out."""
    known = [each for each in late if each.partition in earlier.get(each.topic, {})]
    first = next((each for each in late if each not in known), late[0])
    if not s.query.stops_on_loss(part.key) and first in known:
        past = [each for each in known if _is_past(each, earlier)]
        return Verdict(risks=tuple(_maybe_expired("KAFKA_NEW_PARTITION_LATE", each, at) for each in past[:1]))
    if not s.query.stops_on_loss(part.key):
        sentence = say("forecast_kafka.added_late_left_out", name=first.name, earliest=first.earliest)
        return Verdict(risks=(Risk("KAFKA_NEW_PARTITION_LATE", sentence, (at,), LOSS),))
    why = say("forecast_kafka.added_late", name=first.name, earliest=first.earliest)
    details = {"partition": first.name, "start": first.earliest}
    return failed(
        s, "kafka_added_late", "KAFKA_NEW_PARTITION_LATE", why, at, details=details, then=_plan_stays(s)
    )


def _partitions_gone(
    s: RestartContext, part: Range, gone: list[JudgedPartition], at: Evidence, answer: BrokerAnswer
) -> Verdict:
    names, count = _names(gone), len(gone)
    details = {"partitions": ", ".join(each.name for each in gone)}
    if all(each.is_on_broker for each in gone):
        if not s.query.stops_on_loss(part.key):  # what a query no longer reads is not lost to it
            return Verdict()
        why = say("forecast_kafka.partitions_not_read", at=at, names=names)
        return failed(
            s,
            "kafka_partitions_deleted",
            "KAFKA_TOPIC_REMOVED",
            why,
            at,
            details=details,
            then=_plan_stays(s),
        )
    if not s.query.stops_on_loss(part.key):
        sentence = say("forecast_kafka.partitions_gone_left_out", at=at, names=names, count=count)
        return Verdict(risks=(Risk("KAFKA_PARTITIONS_GONE", sentence, (at,), UNKNOWN),))
    why = say("forecast_kafka.partitions_gone", at=at, names=names, count=count)
    if any(each.state == "deleted" and each.topic in answer.topics for each in gone):
        why = say("forecast_kafka.partitions_gone_recreated", at=at, names=names, count=count)
    return failed(
        s, "kafka_partitions_deleted", "KAFKA_PARTITIONS_GONE", why, at, details=details, then=_plan_stays(s)
    )


def _offset_changed(s: RestartContext, part: Range, replaced: list[JudgedPartition], at: Evidence) -> Verdict:
    """``replaced``: the partitions of the topics that were recreated, those that end before their position
    first."""
    first = replaced[0]
    values = {"at": at, "name": first.name, "end": first.latest, "position": first.position}
    if not s.query.stops_on_loss(part.key):
        never_read = sum(each.retained or 0 for each in replaced)
        sentence = say("forecast_kafka.offset_changed_left_out", never_read=never_read, **values)
        effect = LOSS if never_read else EXACT
        return Verdict(risks=(Risk("KAFKA_TOPIC_RECREATED", sentence, (at,), effect),))
    why = say("forecast_kafka.offset_changed", **values)
    details = {"partition": first.name, "before": first.position, "after": first.latest}
    then = say(
        "forecast_kafka.offset_changed_then", plan=_plan_stays(s), names=_names(replaced), path=at.path
    )
    return failed(s, "kafka_offset_changed", "KAFKA_TOPIC_RECREATED", why, at, details=details, then=then)


def _is_cut(s: RestartContext, answer: BrokerAnswer, topic: str, positions: Positions) -> bool:
    """Whether a topic that ends before a position still has records from before the batch that read them."""
    proof = recreated(answer, topic, positions.get(topic, {}), {}, _batch_ms(s))
    return proof is not None and proof.shown_by == "cut_short"


def _cut_short(s: RestartContext, part: Range, cut: list[JudgedPartition], at: Evidence) -> Verdict:
    """``cut``: the partitions that end before their position, of topics that were not recreated."""
    first = cut[0]
    values = {"at": at, "name": first.name, "end": first.latest, "position": first.position}
    if not s.query.stops_on_loss(part.key):
        sentence = say("forecast_kafka.cut_short_left_out", **values)
        return Verdict(risks=(Risk("KAFKA_TOPIC_CUT_SHORT", sentence, (at,), LOSS.may(), "inferred"),))
    why = say("forecast_kafka.cut_short", **values)
    details = {"partition": first.name, "before": first.position, "after": first.latest}
    then = _plan_stays(s)
    return failed(s, "kafka_offset_changed", "KAFKA_TOPIC_CUT_SHORT", why, at, details=details, then=then)


# ------------------------------------------------------- what Spark does not notice


def _younger(
    s: RestartContext,
    answer: BrokerAnswer,
    positions: Positions,
    at: Evidence,
    skip: Iterable[str],
    earlier: Positions | None = None,
) -> list[Risk]:
    """A topic that was recreated and has grown past the position, or was not read to its end: read from the
    old position on, without an error. A partition that it lacks is a proof where ``earlier`` positions name
    it, too: a single entry may have been changed by hand."""
    risks = []
    for topic, ps in positions.items():
        proof = recreated(answer, topic, ps, {}, _batch_ms(s)) if topic not in set(skip) else None
        if proof is None or proof.shown_by in ("ends_below", "cut_short"):
            continue
        parts = (
            [p for p in ps if (topic, p) in answer.partitions]
            if proof.shown_by == "lacks"
            else proof.partitions
        )
        never_read = sum(max(0, min(ps[p], answer.partitions[topic, p].log_end or 0)) for p in parts)
        if proof.shown_by == "lacks" and not never_read:
            continue
        sentence = say(
            "forecast_kafka.recreated_and_grown",
            proof=recreated_sentence(proof, answer),
            never_read=never_read,
        )
        certainty = proof.certainty
        if proof.shown_by == "lacks" and earlier is not None:
            is_read = any(p in earlier.get(topic, {}) for p in proof.partitions)
            certainty = certainty if is_read else "inferred"
        risks.append(Risk("KAFKA_TOPIC_RECREATED", sentence, (at,), LOSS, certainty))
    return risks


def _soon(s: RestartContext, key: str, answer: BrokerAnswer, at: Evidence) -> list[Risk]:
    rows = [row for row in kafka_partition_states(s.checkpoint, key, answer) if row.state == "ok" and row.lag]
    due = [
        row
        for row in rows
        if row.safety == "edge" and row.safe_until_ms is not None and row.safe_until_ms <= answer.asked_at_ms
    ]
    soon = due or [row for row in rows if row.safety == "soon" and row.safe_until_ms is not None]
    if not soon:
        return []
    first = min(soon, key=lambda row: row.safe_until_ms or 0)
    assert first.safe_until_ms is not None
    until, count = near_moment(first.safe_until_ms, answer.asked_at_ms), len(soon)
    if due:
        sentence = (
            say("forecast_kafka.due_first_of", name=first.name, count=count)
            if count > 1
            else say("forecast_kafka.due", name=first.name)
        )
    elif count > 1:
        sentence = say("forecast_kafka.expire_soon_first_of", name=first.name, count=count, until=until)
    else:
        sentence = say("forecast_kafka.expire_soon", name=first.name, until=until)
    return [Risk("KAFKA_RECORDS_EXPIRE_SOON", sentence, (at,), EXACT, "certain", "attention")]


# ---------------------------------------------------------------------------------------------------- helpers


def _batch_ms(s: RestartContext) -> int | None:
    """The time of the newest batch whose end is a position that was read, not only planned."""
    if s.runs_again:
        entry = s.offset_entry(s.previous)
        return entry.timestamp_ms if entry is not None else None
    return s.newest.timestamp_ms if s.newest is not None else batch_time_ms(s.checkpoint)


def _not_told(judged: Iterable[JudgedPartition]) -> tuple[str, ...]:
    """The partitions that the broker has and whose offsets it does not return."""
    untold = [each for each in judged if each.is_on_broker and each.bounds is None]
    if not untold:
        return ()
    reason = next((each.reason for each in untold if each.reason), None)
    names = _names(untold)
    if reason is None:
        return (say("forecast_kafka.offsets_not_returned", names=names),)
    return (say("forecast_kafka.offsets_not_returned_because", names=names, reason=reason),)


def _close_in_time(judged: Iterable[JudgedPartition]) -> tuple[str, ...]:
    """The partitions whose oldest record is a little younger than the batch that had read past it: a topic
    that was recreated within a minute looks so, and clocks that differ."""
    close = [each for each in judged if each.age == "close"]
    return (say("forecast_kafka.close_in_time", names=_names(close)),) if close else ()


def _same_topic_not_proven(
    key: str, judged: Iterable[JudgedPartition], risks: Iterable[Risk]
) -> tuple[Sentence, ...]:
    """The topics that were read before, where nothing shows that they are others: a checkpoint keeps no id of
    a topic or a cluster, and the records of a topic that was made again by a replay or a mirror have their
    old times (seen with Spark 4.3: its first records are never read, without an error)."""
    topics = list(dict.fromkeys(each.topic for each in judged if (each.position or 0) > 0))
    if not topics or any(risk.id == "KAFKA_TOPIC_RECREATED" for risk in risks):
        return ()
    return (say("forecast_kafka.same_topic", topics=listed(topics, _SHOWN), key=key, count=len(topics)),)


def _names(judged: Iterable[JudgedPartition]) -> str:
    return listed((each.name for each in judged), _SHOWN)


def _pending(s: RestartContext) -> str:
    return say("forecast_kafka.stays_planned", n=s.n)


def _plan_stays(s: RestartContext) -> str:
    return (
        _pending(s) if s.runs_again else say("forecast_kafka.failed_start_leaves_plan", batch=s.first_batch)
    )
