"""A stream-stream join whose stores do not fit together: one of them is older than its partner, or the two
changed places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from core.analysis.forecast.model import LOSS, Damage
from core.checkpoint.operator_metadata import StateSchema
from core.checkpoint.state_content.inspection import COUNTED, COUNTING, StoreFacts
from core.checkpoint.state_content.join_pairs import UnequalPair, unequal_pairs
from core.checkpoint.state_content.unsafe_row import NotDecodedError, accounted_bytes
from core.messages import Sentence, say
from core.sparklogs.evidence import Evidence

SHOWN = 20  # stores cited by one finding


Schemas = Mapping[tuple[int, str], StateSchema]
"""By operator id and store."""


def damaged_joins(stores: Sequence[StoreFacts], schemas: Schemas, *, evicts: bool) -> Iterator[Damage]:
    """What is wrong between the two stores of the sides. ``evicts``: the query has a watermark, or may have
    one, so that every batch looks up rows to drop; without one only new rows look others up."""
    swapped = [pair for pair in _pairs(stores) if _are_swapped(pair, schemas)]
    places = {item.store.place for pair in swapped for item in pair}
    for pair in swapped[:1]:
        sentence = say(
            "findings_checks.join_stores_swapped",
            counting=pair[0].store.directory,
            counted=pair[1].store.directory,
        )
        yield Damage(
            "JOIN_STATE_INCONSISTENT",
            "blocks_restart",
            sentence,
            tuple(Evidence(item.store.directory) for pair in swapped for item in pair)[:SHOWN],
            place=pair[0].store.place,
            data=LOSS.may(),
            error="key_of_another_layout",
            because=sentence,
        )
    yield from _unequal((item for item in stores if item.store.place not in places), evicts)


def _pairs(stores: Sequence[StoreFacts]) -> Iterator[tuple[StoreFacts, StoreFacts]]:
    """The counting store of each side in each partition, and the other one."""
    places = {item.store.place: item for item in stores}
    for place, counting in places.items():
        counted = places.get(place.removesuffix(COUNTING) + COUNTED)
        if place.endswith(COUNTING) and counted is not None:
            yield counting, counted


def _are_swapped(pair: tuple[StoreFacts, StoreFacts], schemas: Schemas) -> bool:
    """Whether the keys of each are those of the other (HDFS-backed; how they lie in RocksDB's files is
    another matter)."""
    operator = pair[0].store.operator
    mine = [schemas.get((operator.operator_id, item.store.partition.store)) for item in pair]
    if mine[1] is None or mine[1].key_columns[-1:] != ("index",):
        return False  # the schemas changed places, which is seen without the keys
    return operator.provider != "rocksdb" and all(
        item.is_settled
        and item.a_key is not None
        and not _fits(own, item.a_key)
        and _fits(partner, item.a_key)
        for item, own, partner in zip(pair, mine, reversed(mine), strict=True)
    )


def _fits(schema: StateSchema | None, key: bytes) -> bool:
    try:
        return schema is None or accounted_bytes(schema.key, key) == len(key)
    except NotDecodedError:
        return True


def _unequal(stores: Iterable[StoreFacts], evicts: bool) -> Iterator[Damage]:
    """One damage per operator and direction: more rows named than there are (Spark fails when it looks them
    up, which eviction by the watermark does in every batch; without a watermark Spark 4.3 ran on exactly
    until a row with such a key came), or fewer (it does not see the others)."""
    groups: dict[tuple[int, bool], list[UnequalPair]] = {}
    for pair in unequal_pairs(stores):
        is_met = pair.named > pair.rows or pair.has_other_keys
        key = (pair.counting.store.operator.operator_id, is_met)
        groups.setdefault(key, []).append(pair)
    for (_, too_many), pairs in groups.items():
        first = pairs[0]
        sentence = _unequal_in_words(first)
        if too_many and not evicts:
            sentence = say("findings_checks.join_until_met", inequality=sentence)
        yield Damage(
            "JOIN_STATE_INCONSISTENT",
            "blocks_restart" if too_many and evicts else "data_risk",
            sentence,
            tuple(Evidence(item.store.directory) for p in pairs for item in (p.counting, p.counted))[:SHOWN],
            "inferred",
            first.counting.store.place,
            LOSS.may(),
            error="join_inconsistent",
            because=sentence,
        )


def _unequal_in_words(pair: UnequalPair) -> Sentence:
    counting, counted = pair.counting.store.directory, pair.counted.store.directory
    if pair.has_other_keys:
        return say("findings_checks.join_names_others", counting=counting, counted=counted, rows=pair.rows)
    return say(
        "findings_checks.join_names_more" if pair.named > pair.rows else "findings_checks.join_names_fewer",
        counting=counting,
        named=pair.named,
        counted=counted,
        rows=pair.rows,
    )
