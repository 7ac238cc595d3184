"""The order in which dropDuplicates puts the columns of its key when it is given five or more.

Until 4.2, and in a checkpoint that does not pin another rule, Spark takes the columns from a Scala hash set
of their names. Sets of up to four keep the order in which they were given. From five on a set is a trie over
five bits of the hash at a time, from the lowest: Scala 2.12 (Spark 3) walks it depth first, Scala 2.13
(Spark 4) takes the names of a node before it goes down. Compared with 204 plans each of Spark 3.5.9 and
4.0.5: equal in all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.analysis.forecast.versions import V40, Version

HASHED_FROM = 5  # columns
_BITS = 5
_WORD = 0xFFFFFFFF
_Hashed = Sequence[tuple[int, str]]


def hashed_order(names: Sequence[str], spark: Version) -> tuple[str, ...] | None:
    """The order of these columns in the hash set of a Spark version; None when two of them have the same
    hash."""
    if len(names) < HASHED_FROM:
        return tuple(names)
    hashed = [(_hash(name), name) for name in names]
    if len({code for code, _ in hashed}) < len(hashed):
        return None
    return tuple((_node_first if spark >= V40 else _depth_first)(hashed, 0))


def _hash(name: str) -> int:
    """Java's hash of a string, spread as Scala does."""
    code = 0
    units = name.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[at : at + 2])) & _WORD
    code = (code + (~(code << 9) & _WORD)) & _WORD
    code ^= code >> 14
    code = (code + (code << 4)) & _WORD
    return code ^ (code >> 10)


def _branches(hashed: _Hashed, shift: int) -> list[_Hashed]:
    found: dict[int, list[tuple[int, str]]] = {}
    for code, name in hashed:
        found.setdefault((code >> shift) & ((1 << _BITS) - 1), []).append((code, name))
    return [found[index] for index in sorted(found)]


def _depth_first(hashed: _Hashed, shift: int) -> Iterator[str]:
    for branch in _branches(hashed, shift):
        if len(branch) == 1:
            yield branch[0][1]
        else:
            yield from _depth_first(branch, shift + _BITS)


def _node_first(hashed: _Hashed, shift: int) -> Iterator[str]:
    branches = _branches(hashed, shift)
    yield from (branch[0][1] for branch in branches if len(branch) == 1)
    for branch in branches:
        if len(branch) > 1:
            yield from _node_first(branch, shift + _BITS)
