"""Bounds for what files say and weigh: ranges, amounts and reads. A file may claim any number and have any
size; memory and time are spent within these bounds only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from core.sparklogs.evidence import Problem, readable, too_large
from core.storage import Content, Door, FileInfo

MOST_IDS = 1_000
"""So many ids of a range that a file claims are written out; a message of Spark that is compared names fewer.
"""

MOST_MISSING_PARTITIONS = 20_000
"""So many missing partitions are looked at one by one; hardly a query has as many at all."""


def first_ids(first: int, last: int, most: int = MOST_IDS) -> range:
    """The ids from ``first`` to ``last``, both included, at most ``most`` of them."""
    return range(first, min(last + 1, first + most))


def ids_written(first: int, last: int, most: int = MOST_IDS) -> str:
    """``4, 5, 6``; a longer range ends in ``...``."""
    ids = first_ids(first, last, most)
    return ", ".join(map(str, ids)) + (", ..." if ids and ids[-1] < last else "")


def has_all(found: Collection[int], first: int, last: int) -> bool:
    """Whether ``found`` (distinct ids) has every id from ``first`` to ``last``. Never counts further than
    ``found`` is long."""
    if last - first + 1 > len(found):
        return False
    return all(i in found for i in range(first, last + 1))


def within(found: Iterable[int], first: int, last: int) -> list[int]:
    """Those of ``found`` from ``first`` to ``last``, ascending: for a range that may be long of ids that are
    few."""
    return sorted(i for i in found if first <= i <= last)


def expected_ids(count: int, found: Collection[int], most_missing: int = MOST_MISSING_PARTITIONS) -> range:
    """The ids from 0 to ``count`` - 1, cut where ``most_missing`` of them are certainly not in ``found``."""
    return range(min(count, len(found) + most_missing))


def read_within(door: Door, files: Iterable[FileInfo], limit_bytes: int) -> dict[str, bytes | Problem | None]:
    """The contents by path. A file above the limit is a :class:`Problem` that says so and is not read; a file
    that cannot be read is one as well; None for one that was removed since it was listed."""
    wanted = list(files)
    contents = door.read(info for info in wanted if (info.size_bytes or 0) <= limit_bytes)
    found = {info.path: content_within(info.path, info.size_bytes, contents, limit_bytes) for info in wanted}
    for path, content in found.items():
        if isinstance(content, Problem) and path not in contents:
            door.note_not_read(path, content.clause)
    return found


def content_within(
    path: str, size_bytes: int | None, contents: Mapping[str, Content], limit_bytes: int
) -> bytes | Problem | None:
    """What a read within a limit gave for one file; a path without content was left out because of its size.
    A store that gives no sizes has none that could be too large."""
    content = contents.get(path)
    if isinstance(content, bytes):
        return content
    return too_large(path, size_bytes or 0, limit_bytes) if content is None else readable(content, path)
