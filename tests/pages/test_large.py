"""Large checkpoints: the pages open, say which part they show, and send little."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.pages.conftest import OpenPage, assert_no_error, charts_of, elements, words_of
from tests.support.build import kafka_checkpoint, write

pytestmark = pytest.mark.slow

BATCHES = 20_000
MOST_BYTES = 300_000


@pytest.fixture(scope="module")
def long_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20,000 batches with the file times that a running query leaves; the newest is not committed."""
    root = kafka_checkpoint(tmp_path_factory.mktemp("long"), range(BATCHES), commits=range(BATCHES - 1))
    start = 1_795_176_000_000
    for log, after in (("offsets", 40), ("commits", 3_040)):
        for path in (root / log).iterdir():
            ms = start + int(path.name) * 10_000 + after
            os.utime(path, ns=(ms * 1_000_000, ms * 1_000_000))
    return root


def size_of(at: object) -> int:
    """Bytes of all messages of the page."""
    return sum(proto.ByteSize() for _, proto in elements(at) if hasattr(proto, "ByteSize"))  # type: ignore[arg-type]


@pytest.mark.parametrize("page", ["overview", "timeline", "watermark", "recovery"])
def test_a_page_about_20_000_batches_opens_and_stays_small(
    open_page: OpenPage, long_one: Path, page: str
) -> None:
    at = open_page(page, long_one)
    assert_no_error(at)
    assert f"Spark will re-run batch {BATCHES - 1}" in words_of(at)
    assert size_of(at) < MOST_BYTES


def test_the_timeline_of_20_000_batches_shows_all_in_bins_and_the_newest_one_by_one(
    open_page: OpenPage, long_one: Path
) -> None:
    at = open_page("timeline", long_one)
    shown = words_of(at)
    assert f"Duration of all {BATCHES:,} batches, in bins of 50." in shown
    assert f"Batches {BATCHES - 100} to {BATCHES - 1} of {BATCHES:,} batches" in shown
    assert len(charts_of(at)) == 3


def test_a_linked_batch_outside_the_newest_window_brings_its_own_window(
    open_page: OpenPage, long_one: Path
) -> None:
    shown = words_of(open_page("timeline", long_one, batch="777"))
    assert "Batches 728 to 827 of 20,000 batches" in shown and "Batch 777" in shown


def test_a_linked_window_is_shown(open_page: OpenPage, long_one: Path) -> None:
    assert "Batches 4701 to 5000 of 20,000 batches" in words_of(
        open_page("timeline", long_one, last="5000", size="300")
    )


def test_a_state_of_many_partitions_opens_and_stays_small(open_page: OpenPage, tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(11))
    files: dict[str, str | bytes] = {}
    for partition in range(1_000):
        for version in range(1, 12):
            files[f"state/0/{partition}/{version}.delta"] = b"x" * (
                2_000 if partition == 17 else 100 + partition % 7
            )
    at = open_page("state", write(root, files), partition="17")
    assert_no_error(at)
    assert "Partition 17 holds" in words_of(at) and "Partition 17, store default" in words_of(at)
    assert size_of(at) < MOST_BYTES
