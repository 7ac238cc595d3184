"""A stream-stream join whose stores do not fit together: one of them is older than its partner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from core.analysis.forecast.model import LOSS, Damage
from core.checkpoint.restore_chain import store_directory
from core.checkpoint.state_content.inspection import StoreFacts
from core.checkpoint.state_content.join_pairs import UnequalPair, unequal_pairs
from core.messages import say
from core.sparklogs.evidence import Evidence

SHOWN = 20  # stores cited by one finding


def unequal_joins(stores: Iterable[StoreFacts]) -> Iterator[Damage]:
    """One damage per operator and direction: more rows named than there are (Spark fails when it looks them
    up, which eviction by the watermark does in every batch), or fewer (it does not see the others)."""
    groups: dict[tuple[int, bool], list[UnequalPair]] = {}
    for pair in unequal_pairs(stores):
        key = (pair.counting.store.operator.operator_id, pair.named > pair.rows)
        groups.setdefault(key, []).append(pair)
    for (_, too_many), pairs in groups.items():
        first = pairs[0]
        sentence = say(
            "findings_checks.join_names_more" if too_many else "findings_checks.join_names_fewer",
            counting=_directory(first.counting),
            named=first.named,
            counted=_directory(first.counted),
            rows=first.rows,
        )
        yield Damage(
            "JOIN_STATE_INCONSISTENT",
            "blocks_restart" if too_many else "data_risk",
            sentence,
            tuple(Evidence(_directory(item)) for p in pairs for item in (p.counting, p.counted))[:SHOWN],
            "inferred",
            first.counting.store.place,
            LOSS.may(),
            error="join_inconsistent",
            because=sentence,
        )


def _directory(facts: StoreFacts) -> str:
    partition = facts.store.partition
    return store_directory(facts.store.operator.operator_id, partition.partition_id, partition.store)
