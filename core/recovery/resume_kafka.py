"""The start position of a Kafka source once the broker has been asked: partitions that are new, gone or
expired since.

``startingOffsets`` as JSON must name exactly the partitions that exist, or the query does not start; -2
stands for the earliest record and is resolved at the start, so it still works when more has expired by then
(observed with Spark 4.3 and a broker 4.3.1).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from core.checkpoint.sources.base import ResumePoint
from core.checkpoint.sources.forms import compact, counted, listed, no_option, parse
from core.checkpoint.sources.kafka import topics_of
from core.connectors.kafka.partitions import CLOCKS_MS, clock, similar_names

if TYPE_CHECKING:
    from core.connectors.answers import BrokerAnswer
    from core.sparklogs.evidence import Certainty

EARLIEST = -2
NEW_CHECKPOINT = "Counts only in a new, empty checkpoint."


@dataclass
class _Fit:
    """The positions that work with what the broker has, and what does not fit."""

    options: dict[str, dict[str, int]] = field(default_factory=dict)
    new: list[str] = field(default_factory=list)
    expired: list[tuple[str, int, int]] = field(default_factory=list)
    gone: list[tuple[str, int]] = field(default_factory=list)
    anew: list[tuple[str, int, int]] = field(default_factory=list)
    younger: list[tuple[str, int]] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    oldest_left_ms: int | None = None


def with_broker(
    point: ResumePoint, offset: str | object, answer: BrokerAnswer, batch_ms: int | None = None
) -> ResumePoint:
    """``point`` (what the checkpoint alone says about ``offset``) fitted to what the broker has.

    Exact: every position is inside what the broker keeps; partitions that are new start at -2, their
    beginning. Not exact: the ``options`` still start a query, and ``skips`` says what it can no longer read,
    in offsets; None when nothing of the source is left. ``batch_ms`` is when the batch of ``offset`` was
    planned: a topic whose record 0 is younger was made anew. A broker that could not be asked leaves the
    options as they are and says so.
    """
    topics = topics_of(parse(offset) if isinstance(offset, str) else offset)
    if topics is None or point.options is None:
        return point
    if answer.trouble is not None:
        return replace(point, note=f"Not compared with the broker: {answer.trouble} {point.note}")
    fit = _fit(topics, answer, batch_ms)
    if not fit.options:
        return no_option(
            f"{_gone_words(fit, answer)} Nothing of this source is on the broker {answer.servers}.",
            repeats="nothing",
            skips="everything after this position",
        )
    options = {"startingOffsets": compact(fit.options)}
    if fit.expired or fit.gone or fit.anew or fit.younger:
        return _inexact(fit, answer, options)
    certainty: Certainty = "inferred" if fit.untold else "certain"
    return ResumePoint(True, options, "nothing", "nothing", " ".join(_notes(fit, topics, answer)), certainty)


def _fit(topics: dict[str, dict[int, int]], answer: BrokerAnswer, batch_ms: int | None) -> _Fit:
    fit = _Fit()
    for topic, positions in topics.items():
        if topic in answer.absent:
            fit.gone += [(f"{topic}-{p}", position) for p, position in positions.items()]
            continue
        known = answer.topics.get(topic)
        here = known.partitions if known is not None else tuple(positions)
        before = len(fit.anew)
        starts = {
            p: _start(fit, answer, topic, p, positions.get(p), batch_ms) for p in sorted({*here, *positions})
        }
        other_id = known is not None and answer.earlier_topic_ids.get(topic, known.topic_id) != known.topic_id
        if (
            len(fit.anew) > before or other_id
        ):  # one partition that ends before its position proves it for the whole topic
            told = {name for name, _, _ in fit.anew}
            for p in here:
                end = answer.partitions[topic, p].log_end if (topic, p) in answer.partitions else None
                if (
                    positions.get(p)
                    and starts[p] != EARLIEST
                    and f"{topic}-{p}" not in told
                    and end is not None
                ):
                    fit.anew.append((f"{topic}-{p}", positions[p], end))
                    starts[p] = EARLIEST
        fit.options[topic] = {str(p): start for p, start in starts.items() if p in here and start is not None}
    return fit


def _start(
    fit: _Fit, answer: BrokerAnswer, topic: str, partition: int, position: int | None, batch_ms: int | None
) -> int | None:
    """Where this partition has to start; what does not fit is noted."""
    name, here = f"{topic}-{partition}", answer.partitions.get((topic, partition))
    if here is None and topic in answer.topics:
        fit.gone.append((name, position or 0))
        return None
    if position is None:
        fit.new.append(name)
        if here is not None and here.log_start:
            fit.expired.append((name, 0, here.log_start))
        return EARLIEST
    if here is None or here.log_start is None or here.log_end is None:
        fit.untold.append(name)
        return position
    if here.log_end < position:
        fit.anew.append((name, position, here.log_end))
        return EARLIEST
    if here.log_start > position:
        fit.expired.append((name, position, here.log_start))
        if here.first_record_ms is not None:
            fit.oldest_left_ms = max(here.first_record_ms, fit.oldest_left_ms or here.first_record_ms)
        return EARLIEST
    first_ms = here.first_record_ms
    if (
        batch_ms is not None
        and first_ms is not None
        and here.log_start == 0
        and position > 0
        and first_ms > batch_ms + CLOCKS_MS
    ):
        fit.younger.append((name, position))
        return EARLIEST
    return position


def _inexact(fit: _Fit, answer: BrokerAnswer, options: dict[str, str]) -> ResumePoint:
    skipped, why = [], []
    if fit.expired:
        lost = sum(start - position for _, position, start in fit.expired)
        ranges = listed(f"{name} {position} to {start - 1}" for name, position, start in fit.expired)
        since = (
            f", all older than {clock(fit.oldest_left_ms, answer.asked_at_ms)}"
            if fit.oldest_left_ms is not None
            else ""
        )
        skipped.append(f"{counted(lost, 'offsets')} that have expired ({ranges}{since})")
        why.append(
            f"{listed(name for name, _, _ in fit.expired)} can no longer start at the position: its records"
            " have expired."
        )
    if fit.gone:
        skipped.append(
            f"what was after the position in {listed(name for name, _ in fit.gone)}, no longer on the broker"
        )
        why.append(_gone_words(fit, answer))
    if fit.anew:
        names = listed(f"{name} (ends at {end}, position {position})" for name, position, end in fit.anew)
        skipped.append(f"what was not read of the old topic in {listed(name for name, _, _ in fit.anew)}")
        why.append(f"The topic was created anew: {names}. The new one is read from its first record.")
    if fit.younger:
        names = listed(name for name, _ in fit.younger)
        skipped.append(f"what was not read of the old topic in {names}")
        why.append(
            f"The topic seems to have been created anew: record 0 of {names} is younger than the batch that"
            " had read past it. The new one is read from its first record; if it is the old topic after all,"
            " put the logged positions there, or records come twice."
        )
    head = f"NOT EXACT, skips {'; '.join(skipped)}."
    rest = (
        f"{NEW_CHECKPOINT} -2 is the earliest record that is left when the query starts. Backfill what is"
        " missing if it exists elsewhere."
    )
    new = [f"New partitions ({listed(fit.new)}) are read from their beginning."] if fit.new else []
    repeats = (
        "records of the new topic that were read before, if it is the old one after all"
        if fit.younger
        else "nothing"
    )
    only_inferred = fit.younger and not (fit.expired or fit.gone or fit.anew)
    certainty: Certainty = "inferred" if only_inferred or fit.untold else "certain"
    return ResumePoint(
        False,
        options,
        repeats,
        "; ".join(skipped),
        " ".join([head, *why, *new, *_untold(fit), rest]),
        certainty,
    )


def _notes(fit: _Fit, topics: dict[str, dict[int, int]], answer: BrokerAnswer) -> list[str]:
    names = listed(topics)
    notes = [NEW_CHECKPOINT, f"Names every partition that {names} has on the broker {answer.servers} now."]
    if fit.new:
        notes.append(
            f"{listed(fit.new)} {'is' if len(fit.new) == 1 else 'are'} new since and begin at -2, the"
            " earliest record."
        )
    return [*notes, *_untold(fit)]


def _untold(fit: _Fit) -> list[str]:
    return (
        [f"The broker does not tell the offsets of {listed(fit.untold)}, so these were not compared."]
        if fit.untold
        else []
    )


def _gone_words(fit: _Fit, answer: BrokerAnswer) -> str:
    names = listed(name for name, _ in fit.gone)
    absent = sorted({name.rpartition("-")[0] for name, _ in fit.gone} & set(answer.absent))
    similar = [other for topic in absent for other in similar_names(topic, answer.all_topics)]
    looks_like = f" (there is {listed(similar)})" if similar else ""
    leave = f" Take {listed(absent)} out of the subscription." if absent else ""
    return f"{names} {'is' if len(fit.gone) == 1 else 'are'} not on the broker any more{looks_like}.{leave}"
