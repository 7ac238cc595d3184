"""xxHash32 of many blocks at once: the checksum that Spark's lz4 keeps for each block of a state file.

No library that the project has knows it with a seed of one's own. All blocks walk side by side in numpy, so
that a wave of files costs little more than its longest block (32 KiB: 2,048 steps).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_P1, _P2, _P3, _P4, _P5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
_MASK = 0xFFFFFFFF
_STRIPE = 16

_Words = NDArray[np.uint32]


def xxhash32(blocks: Sequence[bytes], seed: int) -> list[int]:
    """The hash of each block, in order."""
    stripes = np.array([len(block) // _STRIPE for block in blocks], dtype=np.int64)
    accumulated = _accumulate(blocks, stripes, seed)
    return [
        _finish(block, int(stripes[i]) * _STRIPE, accumulated[i] if stripes[i] else (seed + _P5) & _MASK)
        for i, block in enumerate(blocks)
    ]


def _accumulate(blocks: Sequence[bytes], stripes: NDArray[np.int64], seed: int) -> list[int]:
    """The four running sums of each block over its whole stripes of 16 bytes, merged into one."""
    order = np.argsort(-stripes, kind="stable")
    whole = b"".join(block[: len(block) // _STRIPE * _STRIPE] for block in blocks)
    words = np.frombuffer(whole, dtype="<u4").astype(np.uint32, copy=False).reshape(-1, 4)
    first = (np.cumsum(stripes) - stripes)[order]
    lengths = stripes[order]
    sums: _Words = np.tile(
        np.array([(seed + _P1 + _P2) & _MASK, (seed + _P2) & _MASK, seed, (seed - _P1) & _MASK], np.uint32),
        (len(order), 1),
    )
    p1, p2 = np.uint32(_P1), np.uint32(_P2)
    for step in range(int(lengths[0]) if len(lengths) else 0):
        active = int(np.searchsorted(-lengths, -step))  # blocks that are longer than this step come first
        running = sums[:active]
        running += words[first[:active] + step] * p2
        sums[:active] = _rotated(running, 13) * p1
    merged = (
        _rotated(sums[:, 0], 1)
        + _rotated(sums[:, 1], 7)
        + _rotated(sums[:, 2], 12)
        + _rotated(sums[:, 3], 18)
    )
    found = np.zeros(len(order), dtype=np.uint32)
    found[order] = merged
    return [int(value) for value in found]


def _rotated(values: _Words, bits: int) -> _Words:
    return (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))


def _finish(block: bytes, at: int, value: int) -> int:
    """The bytes behind the last whole stripe, and the final mixing."""
    value = (value + len(block)) & _MASK
    while at + 4 <= len(block):
        value = (
            _turned((value + int.from_bytes(block[at : at + 4], "little") * _P3) & _MASK, 17) * _P4 & _MASK
        )
        at += 4
    for byte in block[at:]:
        value = _turned((value + byte * _P5) & _MASK, 11) * _P1 & _MASK
    value = (value ^ value >> 15) * _P2 & _MASK
    value = (value ^ value >> 13) * _P3 & _MASK
    return value ^ value >> 16


def _turned(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK
