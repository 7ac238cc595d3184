"""SST files of real checkpoints: every block fits its checksum, and every flipped bit in a block is found."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from core.checkpoint.state_content.sst import FOOTER_BYTES, SstVerdict, verify_sst
from tests.support.build import SAMPLES

FILES = sorted(SAMPLES.glob("*/checkpoint/state/**/*.sst"))
LARGEST = max(FILES, key=lambda path: path.stat().st_size)


def test_there_are_files_of_several_blocks() -> None:
    assert len(FILES) >= 30
    assert verify_sst(LARGEST.read_bytes()).blocks >= 6


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-7]}-{path.name[:6]}")
def test_what_rocksdb_wrote_fits(path: Path) -> None:
    verdict = verify_sst(path.read_bytes())
    assert (verdict.damage, verdict.not_checked) == (None, None)
    assert verdict.blocks >= 4  # the list of meta blocks, properties, index, rows


def test_every_flipped_bit_in_front_of_the_footer_is_found() -> None:
    chance = random.Random(8)
    parts = set()
    for path in FILES:
        data = bytearray(path.read_bytes())
        for _ in range(30):
            at, bit = chance.randrange(len(data) - FOOTER_BYTES), 1 << chance.randrange(8)
            data[at] ^= bit
            verdict = verify_sst(bytes(data))
            data[at] ^= bit
            assert verdict.damage is not None, (path.name, at, bit)
            parts.add(verdict.part)
    assert parts == {"index", "rows", "filter"}


def test_a_flipped_bit_in_the_first_block_is_damage_in_rows() -> None:
    data = bytearray(LARGEST.read_bytes())
    data[20] ^= 4
    verdict = verify_sst(bytes(data))
    assert verdict.part == "rows"
    assert verdict.damage is not None and "at byte 0 (" in verdict.damage


@pytest.mark.parametrize("size", [0, 1, FOOTER_BYTES - 1, FOOTER_BYTES, 200])
def test_a_cut_file_is_damaged(size: int) -> None:
    assert verify_sst(LARGEST.read_bytes()[:size]).part == "index"


def test_a_file_without_its_end_is_damaged() -> None:
    verdict = verify_sst(LARGEST.read_bytes()[:-1])
    assert verdict.damage == "its footer is not that of an SST file"


def test_an_unknown_format_is_not_called_damaged() -> None:
    data = bytearray(LARGEST.read_bytes())
    data[-12] = 6
    assert verify_sst(bytes(data)) == SstVerdict(not_checked="SST format version 6 is not known here")


def test_any_bytes_in_front_of_a_footer_end_in_a_verdict() -> None:
    chance = random.Random(3)
    footer = LARGEST.read_bytes()[-FOOTER_BYTES:]
    for _ in range(300):
        middle = bytearray(footer)
        for _ in range(3):
            middle[chance.randrange(1, 41)] = chance.randrange(256)
        assert verify_sst(chance.randbytes(chance.randrange(0, 400)) + bytes(middle)).damage is not None
