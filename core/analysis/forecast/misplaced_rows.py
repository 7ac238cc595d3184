"""Rows of the state that lie in another partition than that of their key: Spark looks for them elsewhere.

How Spark spreads rows was seen on 4.3 (``Murmur3Hash`` of the key modulo the number of partitions). Rows that
disagree are inferred to be damage where their pattern shows that this rule holds for the store. Where many
rows lie as they would by chance, another rule holds, and the store is said to be not checked. Between both
the user has to say it: since Spark 3.3 this rule is the only one of Spark's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from core.analysis.forecast.damaged_files import SHOWN
from core.analysis.forecast.model import DUPLICATES, LOSS, Damage, DataEffect
from core.checkpoint.model import OperatorState
from core.checkpoint.state_content.inspection import StoreFacts
from core.checkpoint.state_content.placement import Misplaced
from core.messages import say
from core.sparklogs.evidence import Evidence

# How many rows have to agree with an exchange of partitions, and how unlikely that is by another rule.
_FEW_AGREEMENTS = 4
_CHANCE_OF_ANOTHER_RULE = 10_000
# From how many rows on their spread shows another rule, and how far from chance it may be, in standard
# deviations.
_MANY_ROWS = 30
_FAR_FROM_CHANCE = 3

_Looked = tuple[StoreFacts, Misplaced]
"""A partition store with its rows by the partition of their key."""


def wrong_state(operator: OperatorState) -> DataEffect:
    """What wrong rows in the state can do: a deduplication lets rows through again, any other operator counts
    or joins without them."""
    return (DUPLICATES if (operator.name or "").startswith("dedupe") else LOSS).may()


def misplaced_rows(facts: Sequence[StoreFacts]) -> tuple[list[Damage], list[str]]:
    """One damage for each store that holds rows which Spark will look for in another partition; and what was
    not checked: stores whose rows lie as another rule would put them."""
    found: list[Damage] = []
    open_ends: list[str] = []
    for items in _by_store(facts):
        rows = _rows_elsewhere(items)
        if not rows:
            continue
        if _is_plausible(items):
            found.append(_damage(items, "inferred"))
        elif not _is_by_chance(items):
            found.append(_damage(items, "needs_input"))
        else:
            operator_id = items[0][0].store.operator.operator_id
            open_ends.append(
                say(
                    "findings_checks.unchecked_placement",
                    operator=operator_id,
                    rows=rows,
                    looked_at=_looked_at(items),
                )
            )
    return found, open_ends


def _by_store(facts: Sequence[StoreFacts]) -> Iterator[list[_Looked]]:
    """The partitions of each store in which the rule could be applied."""
    by_store: dict[tuple[int, str], list[_Looked]] = {}
    for item in facts:
        if item.misplaced is not None and item.misplaced.looked_at:
            key = item.store.operator.operator_id, item.store.partition.store
            by_store.setdefault(key, []).append((item, item.misplaced))
    yield from by_store.values()


def _rows_elsewhere(items: Sequence[_Looked]) -> int:
    return sum(found.rows for _, found in items)


def _looked_at(items: Sequence[_Looked]) -> int:
    return sum(found.looked_at for _, found in items)


def _damage(items: Sequence[_Looked], certainty: Literal["inferred", "needs_input"]) -> Damage:
    wrong = [(item, found) for item, found in items if found.rows]
    first, of_first = wrong[0]
    target, count = max(of_first.by_partition.items(), key=lambda pair: pair[1])
    sentence = say(
        "findings_checks.wrong_partition"
        if certainty == "inferred"
        else "findings_checks.wrong_partition_or_rule",
        rows=_rows_elsewhere(items),
        looked_at=_looked_at(items),
        count=count,
        directory=first.store.directory,
        target=target,
    )
    return Damage(
        "ROWS_IN_WRONG_PARTITION",
        "data_risk",
        sentence,
        tuple(Evidence(item.store.directory) for item, _ in wrong[:SHOWN]),
        certainty,
        first.store.place,
        wrong_state(first.store.operator),
    )


def _is_by_chance(items: Sequence[_Looked]) -> bool:
    """Whether many rows agree with the hash no more often than they would by another rule."""
    partitions = items[0][0].store.operator.expected_partitions or 1
    looked_at = _looked_at(items)
    right = looked_at - _rows_elsewhere(items)
    by_chance, spread = looked_at / partitions, math.sqrt(looked_at * (partitions - 1)) / partitions
    return looked_at >= _MANY_ROWS and right <= by_chance + _FAR_FROM_CHANCE * spread


def _is_plausible(items: Sequence[_Looked]) -> bool:
    """Whether most rows lie where the hash says, or whole partitions were exchanged: each holds the rows of
    one other.

    Anything else may mean that this query's engine spreads its rows by another rule, which is no damage.
    """
    seen = {item.store.partition.partition_id: found for item, found in items}
    looked_at = _looked_at(items)
    right = looked_at - _rows_elsewhere(items)
    if right >= 0.9 * looked_at:
        return True
    exchanged = {place: found for place, found in seen.items() if found.rows}
    if any(len(found.by_partition) != 1 or found.rows != found.looked_at for found in exchanged.values()):
        return False
    rows = sum(found.looked_at for found in exchanged.values())
    if rows >= 8 * len(exchanged):
        return True
    # Few rows. By another rule, a row agrees with the hash, or with the row before it in an exchanged
    # directory, in one case of as many as there are partitions.
    targets = {target for found in exchanged.values() for target in found.by_partition}
    if len(targets) < len(exchanged) or any(target in seen and target not in exchanged for target in targets):
        return False  # no exchange: two hold the rows of one, or those of a partition that has its own
    agreements = right + rows - len(exchanged)
    partitions = items[0][0].store.operator.expected_partitions or 1
    return agreements >= _FEW_AGREEMENTS and partitions**agreements >= _CHANCE_OF_ANOTHER_RULE
