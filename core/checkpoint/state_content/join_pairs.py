"""The two stores of each side of a stream-stream join: one counts the rows of each key, the other holds them.

Spark looks up as many rows as the first one names. Where that is more than there are, it meets a row that is
null and fails; where it is fewer, it does not see the others (both observed with Spark 3.5 and 4.3, where one
of the two stores was put back to an older version).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.checkpoint.state_content.inspection import COUNTED, COUNTING, StoreFacts


@dataclass(frozen=True, slots=True)
class UnequalPair:
    """A side of a join in one partition whose stores do not fit together.

    ``named``: rows that the counting store names, or its keys where only their number is known; ``is_exact``
    tells which. ``rows``: rows that the other store holds. ``has_other_keys``: as many as are named, but of
    other keys.
    """

    counting: StoreFacts
    counted: StoreFacts
    named: int
    rows: int
    is_exact: bool
    has_other_keys: bool = False


def _is_damaged(facts: StoreFacts) -> bool:
    """Whether rows are missing or changed; a checksum beside a file that does not fit says nothing of its
    rows."""
    return any(fault.kind in ("content", "rows", "altered") for fault in facts.faults)


def _have_other_keys(counting: StoreFacts, counted: StoreFacts) -> bool:
    digests = counting.keys_digest, counted.keys_digest
    return None not in digests and digests[0] != digests[1]


def unequal_pairs(facts: Iterable[StoreFacts]) -> list[UnequalPair]:
    """The pairs that do not fit, among stores that could be read to the asked version."""
    places = {
        (item.store.operator.operator_id, item.store.partition.partition_id, item.store.partition.store): item
        for item in facts
        if item.is_settled and item.is_complete and not _is_damaged(item)
    }
    found = []
    for (operator_id, partition_id, name), counting in places.items():
        counted = places.get((operator_id, partition_id, name.removesuffix(COUNTING) + COUNTED))
        if not name.endswith(COUNTING) or counted is None or counted.count.keys is None:
            continue
        rows, keys = counted.count.keys, counting.count.keys
        if counting.named_rows is not None:
            if counting.named_rows != rows:
                found.append(UnequalPair(counting, counted, counting.named_rows, rows, is_exact=True))
            elif _have_other_keys(counting, counted):
                found.append(UnequalPair(counting, counted, rows, rows, is_exact=True, has_other_keys=True))
        elif keys is not None and (keys > rows or (keys == 0) != (rows == 0)):  # each key has a row at least
            found.append(UnequalPair(counting, counted, keys, rows, is_exact=False))
    return found
