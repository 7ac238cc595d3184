"""Positions of a Kafka source against what the broker still has: the only place that judges them.

Sink and source checks, forecast, start positions and the impact of deleting read the values made here.
Generated code asks the broker again and takes the same rule, ``position_state`` in
``core/recovery/kit/kafka.py`` (a test compares both).

Rules (observed with Spark 4.3, a broker 4.3.1 and connector 4.2.0): the offset log has the NEXT offset to
read, so a log start above it means expired records and a log end below it a topic that was deleted and
recreated (or cut short). Retention removes whole segments from the oldest on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from core.connectors.answers import BrokerAnswer
from core.connectors.model import PartitionState
from core.sparklogs.evidence import Certainty

Positions = dict[str, dict[int, int]]
Age = Literal["older", "close", "younger"]

# the clocks of broker, producers and driver may differ by this much without a topic being called younger
CLOCKS_MS = 60_000


@dataclass(frozen=True, slots=True)
class JudgedPartition:
    """One position against one partition of the broker. All numbers are offsets, None where nobody tells
    them.

    ``position``: the next offset to read (None: the partition is new to the checkpoint); ``planned``: the end
    of a planned batch that reads from there (None: wherever the partition ends). ``earliest`` and ``latest``
    are both known or both None. ``is_on_broker``: the broker has a partition of this number, also when it
    does not tell its offsets (``reason``). ``age``: when the oldest record that is there was written, against
    the batch that ended at the position, which lies behind that record: "younger" than it, or "older" as it
    has to be; "close" where clocks that differ by less than ``CLOCKS_MS`` explain a younger one; None where
    nobody tells.
    """

    topic: str
    partition: int
    position: int | None
    planned: int | None
    state: PartitionState
    earliest: int | None
    latest: int | None
    is_on_broker: bool
    first_record_ms: int | None = None
    age: Age | None = None
    reason: str | None = None

    @property
    def name(self) -> str:
        """``orders-0``."""
        return f"{self.topic}-{self.partition}"

    @property
    def is_younger(self) -> bool:
        """Whether records that the query should have read were written after it had read past them."""
        return self.age == "younger"

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The oldest offset and the next one to be written."""
        return None if self.earliest is None or self.latest is None else (self.earliest, self.latest)

    @property
    def starts_late(self) -> bool:
        """Whether a partition that is new to the checkpoint has already lost its first records."""
        return self.position is None and bool(self.earliest)

    @property
    def missing(self) -> tuple[int, int] | None:
        """The first and the last offset that were not read and have expired; None when nothing has."""
        if self.earliest is None or self.state not in ("behind_log_start", "new"):
            return None
        first = self.position or 0
        return (first, self.earliest - 1) if self.earliest > first else None

    @property
    def lost(self) -> int:
        """How many offsets ``missing`` spans, of the records that were written since the position."""
        return 0 if self.missing is None or self.position is None else self.missing[1] - self.missing[0] + 1

    @property
    def lost_of_plan(self) -> int:
        """The same, of the planned range alone."""
        if self.missing is None or self.position is None:
            return 0
        return min(self.missing[1] + 1, self.planned if self.planned is not None else self.missing[1] + 1) - (
            self.position
        )

    @property
    def retained(self) -> int | None:
        """How many offsets before the position the broker still has; None when it does not tell."""
        if self.bounds is None:
            return None
        return max(0, min(self.position or 0, self.bounds[1]) - self.bounds[0])

    @property
    def waiting(self) -> int | None:
        """How many offsets from the position on the broker still has; None when it does not tell."""
        if self.bounds is None:
            return None
        return max(0, self.bounds[1] - max(self.position or 0, self.bounds[0]))

    @property
    def lag(self) -> int | None:
        """From the position to the end, expired offsets included; None when the broker does not tell."""
        if self.latest is None:
            return None
        return self.latest - (self.position if self.position is not None else self.earliest or 0)

    @property
    def ends_before_plan(self) -> bool:
        """Whether the planned range reaches beyond the end of the partition."""
        return self.latest is not None and self.planned is not None and self.latest < self.planned


def judge_partition(
    answer: BrokerAnswer,
    topic: str,
    partition: int,
    position: int | None,
    planned: int | None = None,
    batch_ms: int | None = None,
) -> JudgedPartition:
    """One position against the broker. ``batch_ms`` is when the batch that ended at the position was
    planned."""
    here = answer.partitions.get((topic, partition))
    earliest = here.log_start if here is not None and here.log_end is not None else None
    latest = here.log_end if earliest is not None and here is not None else None
    first_ms = here.first_record_ms if here is not None else None
    if answer.trouble is not None:
        state: PartitionState = "unknown"
    elif topic in answer.absent or (here is None and topic in answer.topics):
        state = "deleted"
    else:
        state = position_state(position, earliest, latest)
    return JudgedPartition(
        topic=topic,
        partition=partition,
        position=position,
        planned=planned,
        state=state,
        earliest=earliest,
        latest=latest,
        is_on_broker=here is not None,
        first_record_ms=first_ms,
        age=_age(position, earliest, first_ms, batch_ms),
        reason=here.trouble if here is not None else None,
    )


def _age(
    position: int | None, earliest: int | None, first_ms: int | None, batch_ms: int | None
) -> Age | None:
    if not position or earliest is None or earliest >= position or first_ms is None or batch_ms is None:
        return None
    if first_ms <= batch_ms:
        return "older"
    return "younger" if first_ms > batch_ms + CLOCKS_MS else "close"


def position_state(position: int | None, earliest: int | None, latest: int | None) -> PartitionState:
    """The rule itself, on the numbers of a partition that is there. A number below 0, which only an editor
    writes, is no place in it: nothing before the log start was left out."""
    if earliest is None or latest is None:
        return "unknown"
    if position is None:
        return "new"
    if position > latest:
        return "beyond_end"
    return "behind_log_start" if 0 <= position < earliest else "ok"


def judge_partitions(
    answer: BrokerAnswer,
    positions: Positions,
    planned: Positions | None = None,
    batch_ms: int | None = None,
) -> Iterator[JudgedPartition]:
    """Every partition of ``positions`` and ``planned``, and those that the broker has beside them in the same
    topics."""
    planned = planned or {}
    names = dict.fromkeys(
        (topic, p) for known in (positions, planned) for topic, ps in known.items() for p in ps
    )
    names |= dict.fromkeys(
        (topic, p) for topic, p in answer.partitions if topic in positions or topic in planned
    )
    for topic, p in names:
        yield judge_partition(
            answer,
            topic,
            p,
            positions.get(topic, {}).get(p),
            planned.get(topic, {}).get(p),
            batch_ms,
        )


@dataclass(frozen=True, slots=True)
class Recreated:
    """That a topic is not the one that was read: how that is known, and the numbers behind it.

    Kafka never removes a partition from a topic, so one that "lacks" partitions is a new topic, whatever the
    times of its records are. It was deleted and recreated, except where it is "cut_short": it ends below a
    position, and still has records from before the batch that had read up to there, so that the broker lost
    its newest ones, another copy of it is asked, or the position was changed by hand. ``partitions`` show
    it.
    ``earlier_id`` and ``topic_id`` belong to "other_id", ``first_ms`` (the oldest record that is there) and
    ``batch_ms`` to "younger".
    """

    topic: str
    shown_by: Literal["ends_below", "lacks", "cut_short", "other_id", "younger"]
    partitions: tuple[int, ...]
    earlier_id: str | None = None
    topic_id: str | None = None
    first_ms: int | None = None
    batch_ms: int | None = None

    @property
    def certainty(self) -> Certainty:
        """Producers may set times as they like; an end, a partition that is gone or an id proves it."""
        return "inferred" if self.shown_by == "younger" else "certain"


def other_id(answer: BrokerAnswer, topic: str) -> tuple[str, str] | None:
    """The id of the topic in an earlier answer and the one it has now, where they differ."""
    here, earlier = answer.topics.get(topic), answer.earlier_topic_ids.get(topic)
    if here is None or here.topic_id is None or earlier is None or earlier == here.topic_id:
        return None
    return earlier, here.topic_id


def lacking_partitions(answer: BrokerAnswer, topic: str, named: Iterable[int]) -> tuple[int, ...]:
    """The partitions that the checkpoint names and a topic that is there has not, ascending: it is a new
    one."""
    if answer.trouble is not None or topic not in answer.topics:
        return ()
    return tuple(sorted(p for p in named if (topic, p) not in answer.partitions))


def recreated(
    answer: BrokerAnswer,
    topic: str,
    committed: Mapping[int, int],
    planned: Mapping[int, int],
    batch_ms: int | None,
) -> Recreated | None:
    """Whether the topic of this name is another one than the query read; None when nothing shows it.

    Certain: an end below a position that was read, a partition that a topic which is there no longer has, or
    another topic id than in an earlier answer. Inferred: the oldest record that is there is younger than the
    batch that had already read past it.
    """
    judged = [
        judge_partition(answer, topic, p, committed.get(p), planned.get(p), batch_ms)
        for p in {**planned, **committed}
    ]
    short = [
        each.partition
        for each in judged
        if each.latest is not None and each.latest < max(each.position or 0, each.planned or 0)
    ]
    ids = other_id(answer, topic)
    if lacking := lacking_partitions(answer, topic, {**planned, **committed}):
        return Recreated(topic, "lacks", lacking)
    if short:
        is_cut = ids is None and any(each.age == "older" for each in judged)
        return Recreated(topic, "cut_short" if is_cut else "ends_below", tuple(short))
    if ids is not None:
        read = tuple(each.partition for each in judged if each.position and each.is_on_broker)
        return Recreated(topic, "other_id", read, *ids)
    young = [each for each in judged if each.is_younger]
    if not young:
        return None
    first = min(each.first_record_ms or 0 for each in young)
    return Recreated(
        topic, "younger", tuple(each.partition for each in young), first_ms=first, batch_ms=batch_ms
    )
