"""The keys of an unpacked state file without its values, many at once: all that counting rows needs.

Most records of a file have keys and values of the same lengths as their neighbours. Such records follow each
other at one distance, so that their keys are cut out by one call instead of one by one.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

import numpy as np

_INT = Struct(">i")
_END_OF_RECORDS = -1

# After so many neighbours of the same lengths it is looked how many more there are.
ENOUGH_ALIKE = 16
# So many are looked at first, and then eight times as many each time.
FIRST_LOOK = 64


class KeyRun(NamedTuple):
    """Keys of records that follow each other, all put or all deleted."""

    is_put: bool
    keys: list[bytes]


def key_runs(content: bytes, at: int) -> list[KeyRun] | None:
    """The keys of all records from ``at`` on, in their order: ``keyLen key valueLen value`` up to the end
    mark, as deltas and snapshots have them, and changelogs without column families.

    None where the end mark is not reached: what is wrong then, :mod:`.records` says.
    """
    runs: list[KeyRun] = []
    keys: list[bytes] = []
    size, read = len(content), _INT.unpack_from
    last_key_size = last_value_size = alike = 0
    while at + 4 <= size:
        (key_size,) = read(content, at)
        if key_size < 0:
            return runs if key_size == _END_OF_RECORDS else None
        key_end = at + 4 + key_size
        if key_end + 4 > size:
            return None
        (value_size,) = read(content, key_end)
        end = key_end + 4 + value_size if value_size >= 0 else key_end + 4
        if end > size:
            return None
        if key_size == last_key_size and value_size == last_value_size and runs:
            alike += 1
        else:
            last_key_size, last_value_size, alike = key_size, value_size, 0
            is_put = value_size >= 0
            if not runs or runs[-1].is_put is not is_put:
                keys = []
                runs.append(KeyRun(is_put, keys))
        if alike == ENOUGH_ALIKE and key_size:
            alike, count = 0, _alike(content, at, key_size, end - at)
            keys += np.ndarray((count,), f"V{key_size}", content, at + 4, (end - at,)).tolist()
            at += count * (end - at)
        else:
            keys.append(content[at + 4 : key_end])
            at = end
    return None


def _alike(content: bytes, at: int, key_size: int, distance: int) -> int:
    """How many whole records from ``at`` on, that one among them, have the same two lengths as it."""
    most = (len(content) - at) // distance
    found, look = 0, FIRST_LOOK
    while found < most:
        count = min(look, most - found)
        start = at + found * distance
        of_keys = np.ndarray((count,), "<u4", content, start, (distance,))
        of_values = np.ndarray((count,), "<u4", content, start + 4 + key_size, (distance,))
        if not found:
            key_length, value_length = of_keys[0], of_values[0]
        differs = (of_keys != key_length) | (of_values != value_length)
        if differs.any():
            return found + int(differs.argmax())
        found, look = found + count, look * 8
    return found
