"""How much was read, in words: ``3 files``, ``at most 10 offsets``."""

from __future__ import annotations

from collections.abc import Iterable

from core.checkpoint.sources.base import Advance
from core.messages import say_of, words


def amount(advance: Advance | None) -> str | None:
    """``at most 10 offsets``, ``3 files``; None when the number is not known."""
    if advance is None or advance.amount is None:
        return None
    return say_of("recovery", "AMOUNTS", advance.bound, amount=words.amount(advance.amount, advance.unit))


def amounts(advances: Iterable[tuple[str, Advance | None]], several: bool) -> str | None:
    """The amounts of all sources in one phrase, None when none is known; ``several`` adds which source each
    belongs to."""
    parts = [(key, text) for key, advance in advances if (text := amount(advance)) is not None]
    if not parts:
        return None
    if not several:
        return parts[0][1]
    return words.listed(
        say_of("recovery", "AMOUNTS", "of_source", amount=text, key=key) for key, text in parts
    )
