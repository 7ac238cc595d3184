"""Numbers and batch ids in words, the same on every line about an end."""

from __future__ import annotations

from collections.abc import Iterable


def counted(amount: int, noun: str) -> str:
    """``1 version``, ``1,200 versions``."""
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"


def span(first: int, last: int, noun: str = "batch") -> str:
    """``batch 5`` or ``batches 5 to 9``."""
    plural = f"{noun}es" if noun.endswith("h") else f"{noun}s"
    return f"{noun} {first}" if first == last else f"{plural} {first} to {last}"


def are(first: int, last: int) -> str:
    """``is`` for one, ``are`` for several."""
    return "is" if first == last else "are"


def listed(ids: Iterable[int], most: int = 5) -> str:
    """``3, 4 and 6``; with many only the first ones and how many more."""
    known = sorted(set(ids))
    shown = [str(i) for i in known[:most]]
    if len(known) > most:
        return f"{', '.join(shown)} and {len(known) - most:,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"


def capital(sentence: str) -> str:
    """The first letter large."""
    return sentence[:1].upper() + sentence[1:]
