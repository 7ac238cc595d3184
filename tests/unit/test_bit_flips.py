"""The proof by flipped bits: which files it takes, and what counts as missed or as a false alarm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.bit_flips import Flip, Result, Said, Truth, flips_of, needed_files
from tests.support.build import SAMPLES

AGGREGATION = SAMPLES / "windowed-aggregation-hot-partition" / "checkpoint"


def result(said: Said, truth: Truth, *, with_checksum: bool = True) -> Result:
    return Result(Flip("delta-zstd", "state/0/0/1.delta", 3, 1, with_checksum), said, truth, "")


@pytest.mark.parametrize(
    ("said", "truth", "is_missed"),
    [
        ("nothing", "fails", True),
        ("nothing", "other rows", True),
        ("cannot tell", "other rows", True),
        ("nothing", "same rows", False),
        ("data risk", "fails", False),
        ("blocks", "fails", False),
    ],
)
def test_what_is_missed(said: Said, truth: Truth, is_missed: bool) -> None:
    assert result(said, truth).is_missed is is_missed


def test_without_any_checksum_it_is_an_answer_that_nothing_can_tell() -> None:
    assert not result("cannot tell", "other rows", with_checksum=False).is_missed
    assert result("nothing", "other rows", with_checksum=False).is_missed


def test_what_is_called_blocking_and_restarts_is_a_false_alarm() -> None:
    assert result("blocks", "same rows").is_false_alarm and result("blocks", "other rows").is_false_alarm
    assert not result("data risk", "same rows").is_false_alarm


def test_the_needed_files_begin_at_the_newest_full_one() -> None:
    needed = needed_files(AGGREGATION)
    assert needed and all((AGGREGATION / path).is_file() for path in needed)
    by_store: dict[str, list[int]] = {}
    for path in (path for path in needed if "/SSTs/" not in path):
        by_store.setdefault(str(Path(path).parent), []).append(int(Path(path).name.split(".")[0]))
    assert all(max(versions) - min(versions) == len(versions) - 1 for versions in by_store.values())


def test_a_seed_gives_the_same_flips() -> None:
    first, second = (flips_of("delta-lz4", AGGREGATION, 6, 1) for _ in range(2))
    assert first == second != flips_of("delta-lz4", AGGREGATION, 6, 2)
    assert [flip.with_checksum for flip in first] == [True, False] * 3
