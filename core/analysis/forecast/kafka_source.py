"""A Kafka source with its broker at hand: what the planned batch and the next one meet, per partition.

Rules observed with Spark 4.3 (connector 4.2.0) and a broker 4.3.1, in the order in which Spark takes them:
topics that are not there, new partitions that do not begin at 0, partitions that are gone, an end below the
position, and in the tasks records that have expired. A planned batch keeps its range whatever the broker
shows; only new partitions in it are looked at while it is planned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.analysis.forecast.context import Range, RestartContext, Verdict, failed
from core.analysis.forecast.model import EXACT, UNKNOWN, DataEffect, Risk
from core.checkpoint.sources.forms import counted, listed, parse
from core.checkpoint.sources.kafka import topics_of
from core.connectors.answers import BrokerAnswer, BrokerPartition
from core.connectors.kafka.partitions import (
    batch_time_ms,
    clock,
    is_outdated,
    kafka_partition_states,
    recreated,
    similar_names,
)
from core.sparklogs.evidence import Evidence

LOST = DataEffect("loss", "loss", "loss")
Positions = dict[str, dict[int, int]]

STAYS_PENDING = "Batch {n} stays planned, so every later start fails in the same way{or_else}."
ONCE_FALSE = "; one start with failOnDataLoss=false reads what is left"


@dataclass(frozen=True, slots=True)
class _Spot:
    """One partition of a range: where it begins, where it ends (None: wherever the broker ends) and what the
    broker has of it."""

    topic: str
    partition: int
    start: int | None
    end: int | None
    here: BrokerPartition | None

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Log start and log end; None when the broker does not tell them."""
        if self.here is None or self.here.log_start is None or self.here.log_end is None:
            return None
        return self.here.log_start, self.here.log_end


def broker_of(s: RestartContext, key: str) -> BrokerAnswer | None:
    """What the broker of this source said; None when it was not asked, could not be, or a batch was planned
    since."""
    answer = s.connectors.brokers.get(key)
    return (
        answer
        if answer is not None and answer.trouble is None and not is_outdated(s.checkpoint, answer)
        else None
    )


def why_not_asked(s: RestartContext, key: str) -> str:
    """The reason behind "not checked: the Kafka broker" in brackets; empty when nobody was to be asked."""
    answer = s.connectors.brokers.get(key)
    trouble = answer.trouble if answer is not None else s.connectors.troubles.get("kafka")
    if answer is not None and answer.trouble is None:
        trouble = "a batch was planned since it was asked"
    return f" ({trouble.rstrip('.')})" if trouble else ""


def check_planned(s: RestartContext, part: Range, answer: BrokerAnswer) -> Verdict:
    """The planned batch that runs (again): its range is fixed."""
    start, end = _positions(part.start_text), _positions(part.end_text)
    if part.end is None or not end:
        return Verdict()
    if s.n == 0 and part.start_text is None:
        source = s.checkpoint.source(part.key)
        start = _positions(source.context.initial) if source is not None else {}
    at = part.end.evidence
    spots = [
        _Spot(topic, p, start.get(topic, {}).get(p), last, answer.partitions.get((topic, p)))
        for topic, ps in end.items()
        for p, last in ps.items()
    ]
    risks: list[Risk] = []
    late = [spot for spot in spots if spot.start is None and spot.bounds is not None and spot.bounds[0] > 0]
    if late:
        verdict = _added_late(s, late, at)
        if verdict.ok is False:
            return verdict
        risks += verdict.risks
    reads = [spot for spot in spots if (spot.end or 0) > (spot.start or 0)]
    gone = [spot for spot in reads if _is_gone(answer, spot)]
    if gone:
        return _planned_gone(s, gone, at)
    for spot in reads:
        if spot.bounds is None or spot.start is None or spot.end is None:
            continue
        begin, last = spot.bounds
        if begin > spot.start:
            verdict = _expired(
                s,
                spot,
                at,
                f"{spot.name} of {at} begins at {begin:,} now, and batch {s.n} reads from {spot.start:,}",
            )
        elif last < spot.end:
            verdict = _planned_short(s, spot, at)
        else:
            continue
        if verdict.ok is False:
            return verdict
        risks += verdict.risks
    risks += _younger(s, answer, part.key, start, at, skip=[spot.topic for spot in reads if _is_short(spot)])
    return Verdict(risks=tuple(risks), not_checked=_untold(spots), evidence=(at,))


def check_next(
    s: RestartContext, part: Range, answer: BrokerAnswer, wanted: tuple[str, ...] | None
) -> Verdict:
    """The batch that is planned next, from offsets/N. ``wanted``: the topics of today's query; None = those
    of the checkpoint."""
    known = _positions(part.end_text)
    if part.end is None or not known:
        return Verdict()
    at = part.end.evidence
    topics = wanted if wanted is not None else tuple(known)
    absent = [topic for topic in topics if topic in answer.absent]
    if absent:
        return _topic_gone(s, answer, absent, at)
    spots = [
        _Spot(topic, p, start, None, answer.partitions.get((topic, p)))
        for topic, ps in known.items()
        for p, start in ps.items()
    ]
    new = [
        _Spot(topic, p, None, None, here)
        for (topic, p), here in answer.partitions.items()
        if topic in topics and p not in known.get(topic, {})
    ]
    removed = [spot for spot in spots if spot.topic not in topics]
    spots = [spot for spot in spots if spot.topic in topics]
    gone = [spot for spot in spots if _is_gone(answer, spot)]
    short = [
        spot
        for spot in spots
        if spot.bounds is not None and spot.start is not None and spot.bounds[1] < spot.start
    ]
    expired = [
        spot
        for spot in spots
        if spot.bounds is not None and spot.start is not None and spot.bounds[0] > spot.start
    ]
    late = [spot for spot in new if spot.bounds is not None and spot.bounds[0] > 0]
    risks: list[Risk] = []
    # One partition that ends before its position proves it for its whole topic.
    anew = [
        *short,
        *(spot for spot in spots if spot not in short and spot.topic in {other.topic for other in short}),
    ]
    for found, check in ((late, _added_late), ([*removed, *gone], _partitions_gone), (anew, _offset_changed)):
        if found:
            verdict = check(s, found, at)
            if verdict.ok is False:
                return verdict
            risks += verdict.risks
    expired = [spot for spot in expired if spot not in short]
    for spot in expired:
        assert spot.bounds is not None
        verdict = _expired(
            s,
            spot,
            at,
            f"{spot.name} begins at {spot.bounds[0]:,} now, and {at} goes on from {spot.start:,}",
            expired,
        )
        if verdict.ok is False:
            return verdict
        risks += verdict.risks
    risks += _younger(s, answer, part.key, known, at, skip=[spot.topic for spot in short])
    risks += _soon(s, part.key, answer, at)
    unasked = [topic for topic in topics if topic not in answer.topics]
    begins = (
        (f"whether topic {listed(unasked)} of source {part.key} begins at offset 0 (it is read from there)",)
        if unasked
        else ()
    )
    return Verdict(risks=tuple(risks), not_checked=(*begins, *_untold([*spots, *new])), evidence=(at,))


def repair_of_plan(s: RestartContext, part: Range, answer: BrokerAnswer) -> str:
    """What the broker makes certain about a plan that a failed start left: the repair that works, in
    sentences."""
    before, after = _positions(part.start_text), _positions(part.end_text)
    delete = f"Delete offsets/{s.n} and its .crc"
    lower = [(t, p) for t, ps in before.items() for p, at in ps.items() if after.get(t, {}).get(p, at) < at]
    gone = [(t, p) for t, ps in before.items() for p in ps if p not in after.get(t, {})]
    missing = [
        f"{t}-{p}"
        for t, p in [*lower, *gone]
        if (t, p) not in answer.partitions and (t in answer.topics or t in answer.absent)
    ]
    if missing:
        return (
            f"The broker has no {listed(missing)}: deleting offsets/{s.n} is not enough, the next plan would"
            " fail in the same way. Begin a new checkpoint with startingOffsets for what is left."
        )
    topics = {t for t, p in lower if _was_made_anew(s, answer, t, p, before[t][p])}
    anew = [(t, p) for t, ps in before.items() for p in ps if t in topics]
    if anew:
        names = listed(f"{t}-{p}" for t, p in anew)
        return (
            f"{delete}, set {names} to 0 in offsets/{s.previous} and delete its .crc: then the new topic is"
            " read from its first record. Without the second step records before the old position are never"
            " read."
        )
    return (
        f"{delete} and start the query with the topics it had: the broker still holds these positions, so"
        " nothing is lost or repeated."
    )


def _was_made_anew(
    s: RestartContext, answer: BrokerAnswer, topic: str, partition: int, position: int
) -> bool:
    """Not only an end below the position: by now the new topic may have grown past it. Then only its age
    tells."""
    here = answer.partitions.get((topic, partition))
    if here is None or here.log_end is None or here.log_end < position:
        return True
    found = recreated(answer, topic, {partition: position}, {}, _batch_ms(s))
    return found is not None or here.first_record_ms is None


# -------------------------------------------------------------------------------------------------------------
# what Spark stops at


def _topic_gone(s: RestartContext, answer: BrokerAnswer, absent: list[str], at: Evidence) -> Verdict:
    similar = [name for topic in absent for name in similar_names(topic, answer.all_topics)]
    looks_like = f" (there is {listed(similar)})" if similar else ""
    are = f"topic {absent[0]} is" if len(absent) == 1 else f"topics {listed(absent)} are"
    why = f"{are} not on the broker {answer.servers}{looks_like}"
    then = (
        "Nothing is written to the checkpoint, and failOnDataLoss=false does not help. (subscribePattern"
        " leaves the topic out instead.)"
    )
    return failed(s, "kafka_topic_gone", "KAFKA_TOPIC_GONE", why, at, then=then)


def _planned_gone(s: RestartContext, gone: list[_Spot], at: Evidence) -> Verdict:
    are = "is" if len(gone) == 1 else "are"
    why = (
        f"{at} reads {_names(gone)}, which {are} not on the broker any more: the tasks wait until a time-out"
        " of one to five minutes"
    )
    then = f"{STAYS_PENDING.format(n=s.n, or_else='')} failOnDataLoss=false does not help."
    details = {"partition": gone[0].name}
    return failed(s, "kafka_position_timeout", "KAFKA_PARTITIONS_GONE", why, at, details=details, then=then)


def _planned_short(s: RestartContext, spot: _Spot, at: Evidence) -> Verdict:
    assert spot.bounds is not None and spot.start is not None and spot.end is not None
    _, last = spot.bounds
    waits = (
        "" if last < spot.start else ", after the tasks have waited kafkaConsumer.pollTimeoutMs (two minutes)"
    )
    why = (
        f"{at} reads {spot.name} up to {spot.end:,}, and it ends at {last:,}: the topic was created"
        f" anew{waits}"
    )
    if not s.query.fail_on_data_loss:
        reads = (
            "nothing of it"
            if last <= spot.start
            else f"only {spot.start:,} to {last - 1:,}, which are other records"
        )
        sentence = f"{why}. With failOnDataLoss=false batch {s.n} reads {reads} and is committed."
        return Verdict(risks=(Risk("KAFKA_TOPIC_RECREATED", sentence, (at,), LOST),))
    details = {"partition": spot.name, "start": max(spot.start, last), "end": spot.end}
    return failed(
        s, "kafka_range_unreadable", "KAFKA_TOPIC_RECREATED", why, at, details=details, then=_pending(s)
    )


def _expired(
    s: RestartContext, spot: _Spot, at: Evidence, where: str, every: Iterable[_Spot] = ()
) -> Verdict:
    assert spot.bounds is not None and spot.start is not None
    begin, last = spot.bounds
    lost = min(begin, spot.end if spot.end is not None else begin) - spot.start
    others = [other for other in every if other is not spot]
    more = f", and records of {_names(others)} have expired too" if others else ""
    why = f"{where}: {counted(lost, 'offsets')} have expired unread{more}"
    if not s.query.fail_on_data_loss:
        sentence = (
            f"{where}: {counted(lost, 'offsets')} have expired unread; with failOnDataLoss=false they are"
            " left out without an error."
        )
        return Verdict(risks=(Risk("KAFKA_RECORDS_EXPIRED", sentence, (at,), LOST),))
    details = {"partition": spot.name, "start": spot.start, "end": spot.end if spot.end is not None else last}
    then = _pending(s)
    if spot.end is None:
        batch = s.first_batch
        then = (
            f"The failed batch leaves its plan in offsets/{batch}, so every later start fails in the same"
            f" way{ONCE_FALSE}."
        )
    return failed(s, "kafka_range_unreadable", "KAFKA_RECORDS_EXPIRED", why, at, details=details, then=then)


def _added_late(s: RestartContext, late: list[_Spot], at: Evidence) -> Verdict:
    first = late[0]
    assert first.bounds is not None
    why = f"{first.name} is new to the checkpoint and begins at {first.bounds[0]:,} instead of 0"
    if not s.query.fail_on_data_loss:
        sentence = (
            f"{why}: with failOnDataLoss=false it is read from there; its earlier records are left out"
            " without an error."
        )
        return Verdict(risks=(Risk("KAFKA_NEW_PARTITION_LATE", sentence, (at,), LOST),))
    details = {"partition": first.name, "start": first.bounds[0]}
    return failed(
        s, "kafka_added_late", "KAFKA_NEW_PARTITION_LATE", why, at, details=details, then=_plan_stays(s)
    )


def _partitions_gone(s: RestartContext, gone: list[_Spot], at: Evidence) -> Verdict:
    on_broker = [spot for spot in gone if spot.here is not None]
    reason = "KAFKA_TOPIC_REMOVED" if len(on_broker) == len(gone) else "KAFKA_PARTITIONS_GONE"
    is_one = "is" if len(gone) == 1 else "are"
    what = (
        "which the query does not read any more"
        if reason == "KAFKA_TOPIC_REMOVED"
        else f"which {is_one} not on the broker any more"
    )
    why = f"{at} has positions for {_names(gone)}, {what}"
    if not s.query.fail_on_data_loss:
        if reason == "KAFKA_TOPIC_REMOVED":  # what a query no longer reads is not lost to it
            return Verdict()
        sentence = (
            f"{why}: with failOnDataLoss=false Spark goes on without them; what was not read of them is lost."
        )
        return Verdict(risks=(Risk(reason, sentence, (at,), UNKNOWN),))
    details = {"partitions": ", ".join(spot.name for spot in gone)}
    return failed(s, "kafka_partitions_deleted", reason, why, at, details=details, then=_plan_stays(s))


def _offset_changed(s: RestartContext, anew: list[_Spot], at: Evidence) -> Verdict:
    """``anew``: the partitions of the topics that were made anew, those that end before their position first."""
    first = anew[0]
    assert first.bounds is not None
    _, last = first.bounds
    why = (
        f"{first.name} ends at {last:,}, before the position {first.start:,} of {at}: the topic was created"
        " anew"
    )
    if not s.query.fail_on_data_loss:
        known = [(*spot.bounds, spot.start or 0) for spot in anew if spot.bounds is not None]
        held = sum(max(0, min(end, position) - start) for start, end, position in known)
        sentence = (
            f"{why}. With failOnDataLoss=false an empty batch takes over the lower end, and the other"
            f" partitions go on at the old position: {counted(held, 'offsets')} that are there now are never"
            " read."
        )
        effect = LOST if held else EXACT
        return Verdict(risks=(Risk("KAFKA_TOPIC_RECREATED", sentence, (at,), effect),))
    details = {"partition": first.name, "before": first.start, "after": last}
    then = (
        f"{_plan_stays(s)} To read the new topic from its first record set {_names(anew)} to 0 in {at.path}"
        " (without its .crc) before."
    )
    return failed(s, "kafka_offset_changed", "KAFKA_TOPIC_RECREATED", why, at, details=details, then=then)


# ------------------------------------------------------------------------------------------------------ what
# Spark does not notice


def _younger(
    s: RestartContext, answer: BrokerAnswer, key: str, positions: Positions, at: Evidence, skip: Iterable[str]
) -> list[Risk]:
    """A topic that was made anew and has grown past the position: read from the old position on, without an
    error."""
    risks = []
    for topic, ps in positions.items():
        found = recreated(answer, topic, ps, {}, _batch_ms(s)) if topic not in set(skip) else None
        if found is None or found.ends_below:
            continue
        count = sum(min(ps[p], answer.partitions[topic, p].log_end or 0) for p in found.partitions)
        sentence = (
            f"{found.sentence} It goes on at the old positions: up to {counted(count, 'offsets')} of the new"
            " topic are never read."
        )
        risks.append(Risk("KAFKA_TOPIC_RECREATED", sentence, (at,), LOST, found.certainty))
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
    others = f" (the first of {len(soon)} partitions)" if len(soon) > 1 else ""
    if due:
        sentence = (
            f"Unread records of {first.name}{others} are past their retention: they may go at any moment."
        )
    else:
        sentence = (
            f"Unread records of {first.name}{others} expire not before"
            f" {clock(first.safe_until_ms, answer.asked_at_ms)}."
        )
    return [Risk("KAFKA_RECORDS_EXPIRE_SOON", sentence, (at,), EXACT, "certain", "attention")]


# -------------------------------------------------------------------------------------------------------------------------
# helpers


def _positions(text: str | None) -> Positions:
    return (topics_of(parse(text)) or {}) if text is not None else {}


def _batch_ms(s: RestartContext) -> int | None:
    """The time of the newest batch whose end is a position that was read, not only planned."""
    if s.runs_again:
        entry = s.offset_entry(s.previous)
        return entry.timestamp_ms if entry is not None else None
    return s.newest.timestamp_ms if s.newest is not None else batch_time_ms(s.checkpoint)


def _is_gone(answer: BrokerAnswer, spot: _Spot) -> bool:
    return spot.here is None and (spot.topic in answer.absent or spot.topic in answer.topics)


def _is_short(spot: _Spot) -> bool:
    return spot.bounds is not None and spot.end is not None and spot.bounds[1] < spot.end


def _untold(spots: Iterable[_Spot]) -> tuple[str, ...]:
    names = [spot for spot in spots if spot.bounds is None and spot.here is not None]
    if not names:
        return ()
    why = next((spot.here.trouble for spot in names if spot.here is not None and spot.here.trouble), None)
    return (f"the offsets of {_names(names)}, which the broker does not tell" + (f" ({why})" if why else ""),)


def _names(spots: Iterable[_Spot]) -> str:
    return listed(spot.name for spot in spots)


def _pending(s: RestartContext) -> str:
    return STAYS_PENDING.format(n=s.n, or_else=ONCE_FALSE)


def _plan_stays(s: RestartContext) -> str:
    if s.runs_again:
        return _pending(s)
    return (
        f"The failed start leaves offsets/{s.first_batch}, planned with what the broker shows then; every"
        " later start keeps that plan, so delete it (and its .crc) before anything else."
    )
