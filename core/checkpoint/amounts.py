"""How much batches read from a source. Where that is a plain difference of two offsets of the form topic ->
partition -> number (Kafka, Event Hubs), thousands of batches without a look at each partition by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from operator import le
from typing import NamedTuple

from core.checkpoint.sources.base import Advance, SourceKind
from core.checkpoint.sources.forms import parsed
from core.sparklogs.json_text import kept_counts

NOT_KNOWN = -1  # as an amount; what moved back by one counts as not known, too
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


class AmountCounter:
    """Answers for the offsets of one source, batch after batch; those of many batches have the same
    partitions, which are looked at once. ``unit``: what it counted so far."""

    def __init__(self, kind: SourceKind, advance: Callable[[object | None, object], Advance | None]) -> None:
        self.unit = ""
        self._kind, self._advance = kind, advance
        self._names: list[tuple[str, list[str]]] = []
        self._newest: tuple[str, _Plain | None] = ("", None)

    def between(self, start: str | None, end: str) -> int | None:
        """How far the source moved; None where the files do not tell."""
        if self.unit and (moved := self._plain_difference(start, end)) is not None:
            return moved
        advance = self._advance(None if start is None else parsed(start), parsed(end))
        if advance is None:
            return None
        amount = advance.amount
        if amount is not None or not self.unit:
            self.unit = advance.unit
        return None if amount is None or amount == NOT_KNOWN or abs(amount) >= 2**63 else amount

    def _plain_difference(self, start: str | None, end: str) -> int | None:
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
        numbers = list(chain.from_iterable(parts.values() for parts in counts.values()))
        return _Plain(self._names, numbers, sum(numbers))
