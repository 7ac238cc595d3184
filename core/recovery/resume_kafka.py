"""The start position of a Kafka source once the broker has been asked: partitions that are new, gone or
expired since.

``startingOffsets`` as JSON must name exactly the partitions that exist, or the query does not start; -2
stands for the earliest record and is resolved at the start, so it still works when more has expired by then
(observed with Spark 4.3 and a broker 4.3.1). ``core/connectors/kafka/judgement.py`` judges each position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from core.checkpoint.sources.base import ResumePoint
from core.checkpoint.sources.forms import compact, no_option, parse
from core.checkpoint.sources.kafka import topics_of
from core.connectors.kafka.judgement import JudgedPartition, Positions, judge_partition, recreated
from core.connectors.kafka.partitions import recreated_sentence, similar_names
from core.messages import Sentence, say
from core.messages.words import listed, near_moment

if TYPE_CHECKING:
    from core.connectors.answers import BrokerAnswer
    from core.sparklogs.evidence import Certainty

EARLIEST = -2
_SHOWN = 3  # names in a sentence; how many more there are is said


@dataclass
class _StartOffsets:
    """The start offset of each partition on the broker, and the partitions whose position does not fit."""

    options: dict[str, dict[str, int]] = field(default_factory=dict)
    new: list[JudgedPartition] = field(default_factory=list)
    expired: list[JudgedPartition] = field(default_factory=list)
    gone: list[JudgedPartition] = field(default_factory=list)
    recreated: list[JudgedPartition] = field(default_factory=list)
    younger: list[JudgedPartition] = field(default_factory=list)
    cut: list[JudgedPartition] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)
    not_told: list[JudgedPartition] = field(default_factory=list)
    close: list[JudgedPartition] = field(default_factory=list)

    @property
    def is_exact(self) -> bool:
        """Whether no record is skipped."""
        return not (self.expired or self.gone or self.recreated or self.younger or self.cut)


def with_broker(
    point: ResumePoint,
    offset: str | Positions,
    answer: BrokerAnswer,
    batch_ms: int | None = None,
    before: Positions | None = None,
    recreated_by_plan: frozenset[str] = frozenset(),
    left_out: Sequence[str] = (),
) -> ResumePoint:
    """``point`` (what the checkpoint alone says about ``offset``, its positions by topic, with the topics of
    today's query) fitted to what the broker has.

    Exact: every position is inside what the broker keeps; partitions that are new start at -2, their
    beginning. Not exact: the ``options`` still start a query, and ``skips`` says what it can no longer read,
    in offsets; None when nothing of the source is left. ``batch_ms`` is when the batch of ``offset`` was
    planned: a topic whose oldest record is younger was recreated. ``before``: positions in older batches of
    partitions that ``offset`` lacks: as new ones they are read again. ``recreated_by_plan``: topics that
    the plan of a failed start shows to have been recreated. ``left_out``: partitions that the query no longer
    reads, of topics that are gone: what was not read of them is named, and the rest is exact. A broker
    that could not be asked leaves the options as they are and says so.
    """
    topics = topics_of(parse(offset)) if isinstance(offset, str) else offset
    if topics is None or point.options is None:
        return point
    if answer.trouble is not None:
        return replace(point, note=say("resume_kafka.not_compared", reason=answer.trouble, note=point.note))
    starts = _start_offsets(topics, answer, batch_ms, recreated_by_plan)
    starts.left_out = list(left_out)
    if not starts.options:
        return no_option(
            say(
                "resume_kafka.nothing_is_left",
                gone=_gone_sentence(starts.gone, answer),
                servers=answer.servers,
            ),
            repeats="nothing",
            skips=say("resume_kafka.skips_everything"),
        )
    options = {"startingOffsets": compact(starts.options)}
    if not starts.is_exact:
        return _inexact(starts, answer, options)
    certainty: Certainty = "inferred" if starts.not_told or starts.close else "certain"
    notes = [
        say("resume_kafka.new_checkpoint_only"),
        say("resume_kafka.names_every_partition", topics=listed(topics, _SHOWN), servers=answer.servers),
    ]
    if starts.new:
        notes.append(say("resume_kafka.new_partitions", names=_names(starts.new), count=len(starts.new)))
    if starts.close:
        notes.append(say("resume_kafka.close_in_time", names=_names(starts.close)))
    repeats = "nothing"
    if (read := _read_before(starts, before or {})) is not None:
        repeats, certainty = read, "inferred"
        notes.append(say("resume_kafka.position_of_older_batch"))
    skips = "nothing"
    if left_out:
        skips = say("resume_kafka.skips_gone", names=listed(left_out, _SHOWN))
        notes.append(say("resume_kafka.left_out", names=listed(left_out, _SHOWN), count=len(left_out)))
    return ResumePoint(True, options, repeats, skips, " ".join([*notes, *_not_told(starts)]), certainty)


def _read_before(starts: _StartOffsets, before: Positions) -> Sentence | None:
    """That partitions which count as new were read by an older batch."""
    known = [
        say("resume_kafka.position_before", name=each.name, position=before[each.topic][each.partition])
        for each in starts.new
        if each.partition in before.get(each.topic, {})
    ]
    return say("resume_kafka.repeats_read_before", partitions=listed(known, _SHOWN)) if known else None


def _start_offsets(
    topics: Positions, answer: BrokerAnswer, batch_ms: int | None, recreated_by_plan: frozenset[str]
) -> _StartOffsets:
    starts = _StartOffsets()
    for topic, positions in topics.items():
        known = answer.topics.get(topic)
        here = positions if known is None else known.partitions
        judged = [
            judge_partition(answer, topic, p, positions.get(p), batch_ms=batch_ms)
            for p in sorted({*here, *positions})
        ]
        if topic in answer.absent:
            starts.gone += judged
            continue
        proof = recreated(answer, topic, positions, {}, batch_ms)
        short = [each for each in judged if each.state == "beyond_end"]
        is_cut = proof is not None and proof.shown_by == "cut_short"
        # One partition that ends before its position proves it for the whole topic.
        is_other = proof is not None and proof.shown_by in ("ends_below", "lacks", "other_id")
        lacks = False
        if proof is not None and proof.shown_by == "lacks":
            lacks = True
            starts.lacking.append(recreated_sentence(proof, answer))
        is_recreated = is_other or topic in recreated_by_plan
        begin = {
            each.partition: _start(starts, each, is_recreated=is_recreated, lacks=lacks) for each in judged
        }
        starts.cut += short if is_cut else []
        starts.recreated += [] if is_cut else short
        starts.recreated += [
            each
            for each in judged
            if is_recreated and each.state == "ok" and (lacks or not each.is_younger) and each.position
        ]
        starts.options[topic] = {str(p): at for p, at in begin.items() if p in here and at is not None}
    return starts


def _start(starts: _StartOffsets, judged: JudgedPartition, *, is_recreated: bool, lacks: bool) -> int | None:
    """Where this partition has to start; what does not fit is collected. ``lacks``: the topic has lost
    partitions, which proves without any time that it is a new one."""
    if judged.state == "deleted":
        starts.gone.append(judged)
        return None
    if judged.position is None:
        starts.new.append(judged)
        if judged.starts_late:
            starts.expired.append(judged)
        return EARLIEST
    if judged.bounds is None:
        starts.not_told.append(judged)
        return judged.position
    if judged.state == "beyond_end":
        return EARLIEST
    if judged.state == "behind_log_start":
        starts.expired.append(judged)
        return EARLIEST
    if lacks:
        return EARLIEST
    if judged.is_younger:
        starts.younger.append(judged)
        return EARLIEST
    if judged.age == "close":
        starts.close.append(judged)
    return EARLIEST if is_recreated and judged.position else judged.position


def _inexact(starts: _StartOffsets, answer: BrokerAnswer, options: dict[str, str]) -> ResumePoint:
    skipped: list[str] = []
    why: list[str] = []
    if starts.expired:
        skipped.append(_expired(starts, answer))
        why.append(say("resume_kafka.expired", names=_names(starts.expired), count=len(starts.expired)))
    if starts.gone:
        skipped.append(say("resume_kafka.skips_gone", names=_names(starts.gone)))
        why.append(_gone_sentence(starts.gone, answer))
    if starts.recreated:
        skipped.append(say("resume_kafka.skips_old_topic", names=_names(starts.recreated)))
        ends = [
            say("resume_kafka.end_and_position", name=each.name, end=each.latest, position=each.position)
            for each in starts.recreated
        ]
        why += starts.lacking
        why.append(say("resume_kafka.recreated", partitions=listed(ends, _SHOWN)))
    if starts.younger:
        skipped.append(say("resume_kafka.skips_old_topic", names=_names(starts.younger)))
        why.append(say("resume_kafka.younger", names=_names(starts.younger)))
    repeated: list[str] = [say("resume_kafka.repeats_if_it_is_the_old_topic")] if starts.younger else []
    if starts.cut:
        again = sum(each.retained or 0 for each in starts.cut)
        skipped.append(say("resume_kafka.skips_lost_by_broker", names=_names(starts.cut)))
        repeated.append(say("resume_kafka.repeats_what_is_left", names=_names(starts.cut), offsets=again))
        ends = [
            say("resume_kafka.end_and_position", name=each.name, end=each.latest, position=each.position)
            for each in starts.cut
        ]
        why.append(say("resume_kafka.cut_short", partitions=listed(ends, _SHOWN)))
    if starts.left_out:
        skipped.append(say("resume_kafka.skips_gone", names=listed(starts.left_out, _SHOWN)))
    skips = "; ".join(skipped)
    new = [say("resume_kafka.new_from_beginning", names=_names(starts.new))] if starts.new else []
    notes = [
        say("resume_kafka.not_exact", skips=skips),
        *why,
        *new,
        *_not_told(starts),
        say("resume_kafka.new_checkpoint_only"),
        say("resume_kafka.earliest_and_backfill"),
    ]
    repeats = "; ".join(repeated) or "nothing"
    only_inferred = (starts.younger or starts.cut) and not (starts.expired or starts.gone or starts.recreated)
    certainty: Certainty = "inferred" if only_inferred or starts.not_told else "certain"
    return ResumePoint(False, options, repeats, skips, " ".join(notes), certainty)


def _expired(starts: _StartOffsets, answer: BrokerAnswer) -> str:
    """How many offsets have expired, in which ranges, and the time before which all of them were written."""
    missing = [(each.name, each.missing) for each in starts.expired if each.missing is not None]
    lost = sum(last - first + 1 for _, (first, last) in missing)
    ranges = listed((f"{name} {first} to {last}" for name, (first, last) in missing), _SHOWN)
    times = [
        each.first_record_ms
        for each in starts.expired
        if each.first_record_ms is not None and each.position is not None
    ]
    if not times:
        return say("resume_kafka.skips_expired", lost=lost, ranges=ranges)
    oldest = near_moment(max(times), answer.asked_at_ms)
    return say("resume_kafka.skips_expired_older_than", lost=lost, ranges=ranges, oldest=oldest)


def _not_told(starts: _StartOffsets) -> list[str]:
    if not starts.not_told:
        return []
    return [say("resume_kafka.offsets_not_returned", names=_names(starts.not_told))]


def _gone_sentence(gone: list[JudgedPartition], answer: BrokerAnswer) -> str:
    names, count = _names(gone), len(gone)
    absent = sorted({each.topic for each in gone} & set(answer.absent))
    similar = [other for topic in absent for other in similar_names(topic, answer.all_topics)]
    if not absent:
        return say("resume_kafka.gone", names=names, count=count)
    if not similar:
        return say("resume_kafka.topic_gone", names=names, count=count, topics=listed(absent, _SHOWN))
    return say(
        "resume_kafka.topic_gone_but_similar",
        names=names,
        count=count,
        topics=listed(absent, _SHOWN),
        similar=listed(similar, _SHOWN),
    )


def _names(judged: Iterable[JudgedPartition]) -> str:
    return listed((each.name for each in judged), _SHOWN)
