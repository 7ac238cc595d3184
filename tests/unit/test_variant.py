"""Values of the type ``variant`` that nobody can have written: refused, and at once. What Spark writes is compared with
its state reader in ``tests/spark/test_state_rows.py``."""

from __future__ import annotations

import struct

import pytest

from core.checkpoint.state_content.variant import variant_value

NO_NAMES = bytes([1, 0, 0])
ARRAY, TEXT = 3, 1
NUMBER = bytes([3 << 2, 7])


def column(value: bytes, metadata: bytes = NO_NAMES) -> bytes:
    return struct.pack("<I", len(value)) + value + metadata


def array(*starts: int, parts: bytes) -> bytes:
    return bytes([ARRAY, len(starts), *starts, len(parts) % 256]) + parts


def test_a_list_of_numbers() -> None:
    assert variant_value(column(array(0, 2, parts=NUMBER * 2))) == [7, 7]


def test_parts_that_lie_in_one_place_are_not_read_again_and_again() -> None:
    value = NUMBER
    for _ in range(40):
        value = array(0, 0, parts=value)
    with pytest.raises(ValueError, match="too many parts"):
        variant_value(column(value))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        column(b""),
        column(NUMBER, b""),
        column(NUMBER, bytes([2, 0, 0])),  # another version
        column(bytes([63 << 2])),  # no such type
        column(bytes([20 << 2 | TEXT]) + b"short"),
        column(bytes([ARRAY | 1 << 4]) + b"\xff" * 4),
        struct.pack("<I", 1000) + NUMBER + NO_NAMES,
        column(NUMBER, bytes([1, 1, 0, 200])),  # a name outside
    ],
    ids=str,
)
def test_bytes_that_are_no_variant_are_refused(data: bytes) -> None:
    with pytest.raises((ValueError, IndexError)):
        variant_value(data)
