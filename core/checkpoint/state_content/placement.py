"""Whether the rows of a store lie in the partition that their key belongs to, where that can be computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from core.checkpoint.model import OperatorState
from core.checkpoint.operator_metadata import AGGREGATES, StateSchema
from core.checkpoint.state_content.partitioning import Column, hashable_columns, key_hashes, partition_ids
from core.messages import say

STRICT_DISTRIBUTION_KEY = "spark.sql.streaming.statefulOperator.useStrictDistribution"

# Operators whose rows Spark 4.3 was seen to spread by all columns of the key.
_BY_WHOLE_KEY = frozenset(
    {
        *AGGREGATES,
        "dedupe",
        "dedupeWithinWatermark",
        "flatMapGroupsWithState",
        "applyInPandasWithState",
    }
)
_JOIN = "symmetricHashJoin"
_JOIN_STORES = {
    "keyToNumValues": 0,
    "keyWithIndexToValue": 1,
}  # columns behind the key that do not count: the index
_MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_ENCODING_BYTES = 1  # RocksDB puts one byte before the row


@dataclass(frozen=True, slots=True)
class Misplaced:
    """Rows of one store by the partition that their key belongs to."""

    looked_at: int
    by_partition: Mapping[int, int]

    @property
    def rows(self) -> int:
        """How many rows lie in a wrong partition."""
        return sum(self.by_partition.values())


@dataclass(frozen=True, slots=True)
class Placement:
    """How one store of an operator is spread over ``partitions`` partitions."""

    columns: tuple[Column, ...]
    width: int
    partitions: int
    skip_bytes: int

    def look(self, partition_id: int, keys: Collection[bytes]) -> Misplaced | None:
        """Which of these keys belong to another partition. None when the keys are not laid out as the schema
        says."""
        rows = [key[self.skip_bytes :] for key in keys] if self.skip_bytes else list(keys)
        if not rows:
            return Misplaced(0, {})
        found = partition_ids(rows, self.columns, self.partitions, self.width)
        if found is None:
            return None
        wrong = Counter(int(where) for where in found[found != partition_id])
        return Misplaced(len(rows), wrong)

    def keys_digest(self, rows: Mapping[bytes, int]) -> int | None:
        """One number for how many rows each key has (``rows``: key -> how many), by the hash of the columns
        that count: two stores with the same rows by key have the same one. None when the keys are not laid
        out as the schema says."""
        keys = [key[self.skip_bytes :] for key in rows] if self.skip_bytes else list(rows)
        hashes = key_hashes(keys, self.columns, self.width)
        if hashes is None:
            return None
        mixed = hashes.astype(np.uint64) * _MIX_1  # the sum of plain hashes could stay the same by chance
        mixed = (mixed ^ (mixed >> np.uint64(31))) * _MIX_2
        counts = np.fromiter(rows.values(), dtype=np.int64, count=len(rows)).astype(np.uint64)
        return int((mixed * counts).sum(dtype=np.uint64))


def placement(
    operator: OperatorState, store: str, schema: StateSchema | None, conf: Mapping[str, str]
) -> Placement | str:
    """How the rows of a store are spread, or why that cannot be computed (one clause).

    ``conf`` is the newest pinned conf; the number of partitions must not have changed over the versions that
    are looked at.
    """
    if operator.expected_partitions is None:
        return say("state_files.place_partitions")
    if conf.get(STRICT_DISTRIBUTION_KEY) != "true":
        return say("state_files.place_old")
    if schema is None or schema.format_version == 3:
        return say("state_files.place_no_schema" if schema is None else "state_files.place_layout")
    surplus = 0
    if operator.name == _JOIN:
        kind = store.partition("-")[2]
        if kind not in _JOIN_STORES:
            return say("state_files.place_layout")
        surplus = _JOIN_STORES[kind]
    elif operator.name not in _BY_WHOLE_KEY:
        if operator.name is None:
            return say("state_files.place_operator")
        return say("state_files.place_named_operator", operator=operator.name)
    columns = hashable_columns(schema.key)
    if columns is None or len(columns) <= surplus:
        return say("state_files.place_hash")
    skip = _ENCODING_BYTES if operator.provider == "rocksdb" else 0
    return Placement(columns[: len(columns) - surplus], len(columns), operator.expected_partitions, skip)
