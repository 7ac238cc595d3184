"""The answer of ``python -m core state``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from core.checkpoint import Checkpoint
from core.checkpoint.families import counted_families, list_families
from core.checkpoint.model import OperatorState, Provider
from core.checkpoint.state_content.counts import PartitionCount
from core.checkpoint.state_content.replay import How
from core.documents.base import Document, Part

CountedStores = Mapping[str, Sequence[PartitionCount]]


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionPart(Part):
    """The rows of one partition of a store."""

    id: int
    keys: int | None
    """The number of rows, when it is known exactly."""
    at_least: int | None
    at_most: int | None
    how: How
    elements: int | None
    """Of all lists together where rows are lists; null when that is not known, and where rows are none."""
    size_bytes: int | None
    """Of the files of all versions that are kept; null where the store gives no sizes."""
    files: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SkewPart(Part):
    """How unevenly the store is spread over its partitions."""

    by: Literal["keys", "size_bytes"]
    max_over_median: float | None
    heaviest_partition: int | None
    empty_partitions: int | None
    """null when the rows are not known in every partition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StorePart(Part):
    """One store of an operator."""

    name: str
    column_families: tuple[str, ...]
    """The column families whose rows are added up here; empty for a store without them."""
    lists: tuple[str, ...]
    """Those of them in which a row is a list: it counts 1, however long."""
    partitions: tuple[PartitionPart, ...]
    keys_total: int | None
    """null when the rows are not known in every partition."""
    elements_total: int | None
    """Of the lists of all partitions, where they are known in every one."""
    skew: SkewPart


@dataclass(frozen=True, kw_only=True, slots=True)
class OperatorPart(Part):
    """One stateful operator."""

    id: int
    name: str | None
    provider: Provider
    stores: tuple[StorePart, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class StateDocument(Document):
    """Rows per partition of every store, after a batch."""

    batch: int
    state_version: int
    operators: tuple[OperatorPart, ...]


def state_document(
    ck: Checkpoint, batch_id: int, counted: Sequence[tuple[OperatorState, CountedStores]]
) -> StateDocument:
    """The counted stores of every operator after ``batch_id``."""
    return StateDocument(
        location=ck.location.url,
        batch=batch_id,
        state_version=batch_id + 1,
        operators=tuple(
            OperatorPart(
                id=operator.operator_id,
                name=operator.name,
                provider=operator.provider,
                stores=tuple(store_part(operator, name, partitions) for name, partitions in stores.items()),
            )
            for operator, stores in counted
        ),
    )


def store_part(operator: OperatorState, name: str, partitions: Sequence[PartitionCount]) -> StorePart:
    """One store: its partitions, their sum where all are known, and how unevenly they are filled."""
    rows = [partition.count.keys for partition in partitions]
    known = [keys for keys in rows if keys is not None]
    elements = [partition.elements for partition in partitions if partition.elements is not None]
    return StorePart(
        name=name,
        column_families=counted_families(operator),
        lists=list_families(operator),
        partitions=tuple(
            PartitionPart(
                id=partition.partition_id,
                keys=partition.count.keys,
                at_least=partition.count.at_least,
                at_most=partition.count.at_most,
                how=partition.count.how,
                elements=partition.elements,
                size_bytes=partition.size_bytes,
                files=partition.file_count,
            )
            for partition in partitions
        ),
        keys_total=sum(known) if len(known) == len(rows) else None,
        elements_total=sum(elements) if len(elements) == len(partitions) else None,
        skew=_skew(partitions),
    )


def _skew(partitions: Sequence[PartitionCount]) -> SkewPart:
    """By rows when all are known, else by bytes of files, which say less: they are of all kept versions."""
    by_keys = all(partition.count.keys is not None for partition in partitions)
    found = {p.partition_id: p.count.keys if by_keys else p.size_bytes for p in partitions}
    known = {i: weight for i, weight in found.items() if weight is not None}
    weights = known if len(known) == len(found) else {}  # a size that is not known: nothing to compare
    middle = median(weights.values()) if weights else 0
    return SkewPart(
        by="keys" if by_keys else "size_bytes",
        max_over_median=round(max(weights.values()) / middle, 2) if middle else None,
        heaviest_partition=max(weights, key=lambda p: (weights[p], -p)) if any(weights.values()) else None,
        empty_partitions=sum(weight == 0 for weight in weights.values()) if by_keys else None,
    )
