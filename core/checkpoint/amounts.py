"""How far a source moved between two offsets of the form topic -> partition -> number (Kafka, Event Hubs),
where that is a plain difference: thousands of batches without a look at each partition by its name."""

from __future__ import annotations

from collections.abc import Mapping
from operator import le
from typing import NamedTuple

from core.checkpoint.sources.base import SourceKind
from core.sparklogs.json_text import kept_counts

_LARGEST = 2**63 - 1

Counts = Mapping[str, Mapping[str, int]]


def plain_positions(kind: SourceKind, counts: Counts) -> dict[str, int] | None:
    """The positions in this offset, when the kind names partitions ``topic-partition`` and reads the numbers
    as they stand; None otherwise."""
    plain = {
        f"{topic}-{partition}": number
        for topic, parts in counts.items()
        for partition, number in parts.items()
    }
    if not plain or len(plain) != sum(map(len, counts.values())) or dict(kind.positions(counts)) != plain:
        return None
    return plain


class _Plain(NamedTuple):
    """An offset in columns; ``names`` is one object for all with the same partitions in this order."""

    names: list[tuple[str, list[str]]]
    numbers: list[int]
    total: int


class PlainAmounts:
    """Answers for the offsets of one source; those of many batches have the same partitions, which are looked
    at once."""

    def __init__(self, kind: SourceKind) -> None:
        self._kind = kind
        self._names: list[tuple[str, list[str]]] = []
        self._newest: tuple[str, _Plain | None] = ("", None)

    def between(self, start: str | None, end: str) -> int | None:
        """The sum over the partitions, when both offsets have the same ones in the same order and none went
        down. None for all others: ask the kind."""
        before = None if start is None else self._plain(start)
        after = self._plain(end)
        if before is None or after is None or before.names is not after.names:
            return None
        if after.total > _LARGEST:
            return None
        return after.total - before.total if all(map(le, before.numbers, after.numbers)) else None

    def _plain(self, text: str) -> _Plain | None:
        if text != self._newest[0]:  # the end of a batch is the start of the next one
            self._newest = text, self._read(text)
        return self._newest[1]

    def _read(self, text: str) -> _Plain | None:
        counts = kept_counts(text)
        if counts is None:
            return None
        names = [(topic, list(parts)) for topic, parts in counts.items()]
        if names != self._names:
            if plain_positions(self._kind, counts) is None:
                return None
            self._names = names
        numbers = [number for parts in counts.values() for number in parts.values()]
        return _Plain(self._names, numbers, sum(numbers))
