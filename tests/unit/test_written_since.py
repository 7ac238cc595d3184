"""Whether a checkpoint was written since it was read."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.written_since import written_since
from core.incident import take
from core.storage import Door, Look, ReadFailure
from core.storage.store import Tally
from tests.support.build import copy_sample, sample_names, unpack_corpus

CLEAN = "files-stopped-cleanly"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copy_sample(CLEAN, tmp_path / CLEAN)


def taken_away(root: Path, *paths: str) -> list[tuple[Path, Path]]:
    """Moves files out of a checkpoint; :func:`put_back` writes them again, as Spark would."""
    moved = []
    for path in paths:
        kept = root.parent / path.replace("/", "-")
        shutil.move(root / path, kept)
        moved.append((kept, root / path))
    return moved


def put_back(moved: list[tuple[Path, Path]]) -> None:
    for kept, place in moved:
        shutil.move(kept, place)


@pytest.mark.parametrize("name", sample_names())
def test_nothing_was_written_to_a_checkpoint_that_rests(name: str, tmp_path: Path) -> None:
    copied = copy_sample(name, tmp_path / name)
    assert written_since(Checkpoint.open(str(copied))) is None


def test_a_batch_that_was_planned(root: Path) -> None:
    newest = Checkpoint.open(str(root)).offset_ids[-1]
    moved = taken_away(root, f"offsets/{newest}", f"commits/{newest}")
    ck = Checkpoint.open(str(root))
    assert written_since(ck) is None
    put_back(moved[:1])
    seen = written_since(ck)
    assert seen is not None and (seen.what, seen.batch_id) == ("planned", newest)
    assert written_since(ck.refresh()) is None


def test_a_batch_that_was_committed(root: Path) -> None:
    newest = Checkpoint.open(str(root)).offset_ids[-1]
    moved = taken_away(root, f"commits/{newest}")
    ck = Checkpoint.open(str(root))
    put_back(moved)
    seen = written_since(ck)
    assert seen is not None and (seen.what, seen.batch_id) == ("committed", newest)


def test_the_first_batch_of_a_query_that_had_planned_none(root: Path) -> None:
    every = Checkpoint.open(str(root)).offset_ids
    moved = taken_away(root, *(f"{log}/{i}" for i in every for log in ("offsets", "commits")))
    ck = Checkpoint.open(str(root))
    assert written_since(ck) is None
    put_back(moved[:1])
    seen = written_since(ck)
    assert seen is not None and (seen.what, seen.batch_id) == ("planned", 0)


@pytest.mark.parametrize("log", ["offsets", "commits"])
def test_a_newest_entry_that_was_removed(root: Path, log: str) -> None:
    ck = Checkpoint.open(str(root))
    newest = ck.offset_ids[-1]
    taken_away(root, f"{log}/{newest}")
    seen = written_since(ck)
    assert seen is not None and (seen.what, seen.batch_id) == ("removed", newest)


def test_so_many_batches_later_that_the_following_one_was_purged(root: Path) -> None:
    every = Checkpoint.open(str(root)).offset_ids
    later = [f"{log}/{i}" for i in every[3:] for log in ("offsets", "commits")]
    moved = taken_away(root, *later)
    ck = Checkpoint.open(str(root))
    put_back(moved)
    taken_away(root, *(f"{log}/{i}" for i in every[:4] for log in ("offsets", "commits")))
    seen = written_since(ck)
    assert seen is not None and (seen.what, seen.batch_id) == ("removed", every[2])


def test_asynchronous_progress_leaves_numbers_out(tmp_path: Path) -> None:
    root = unpack_corpus("kafka-async-progress", tmp_path / "async")
    found = Checkpoint.open(str(root))
    assert found.is_async
    newest = found.offset_ids[-1]
    moved = taken_away(
        root, f"offsets/{newest}", *([f"commits/{newest}"] if newest in found.commit_ids else [])
    )
    ck = Checkpoint.open(str(root))
    assert ck.is_async and ck.offset_ids[-1] + 1 < newest
    put_back(moved)
    seen = written_since(ck)
    assert seen is not None and (seen.what, seen.batch_id) == ("planned", newest)


def test_an_evidence_file_never_changes(root: Path, tmp_path: Path) -> None:
    taken = tmp_path / "evidence.zip"
    take(Door.open(str(root)), taken)
    assert written_since(Checkpoint.open(str(taken))) is None


def test_a_look_lists_nothing_and_reads_nothing(root: Path) -> None:
    ck = Checkpoint.open(str(root))
    before = ck.door.requests
    written_since(ck)
    after = ck.door.requests
    assert (after.list, after.get) == (before.list, before.get)


def test_a_look_that_fails_is_no_change(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ck = Checkpoint.open(str(root))
    real = ck.door._store.look

    def denied(paths: Sequence[str], tally: Tally) -> dict[str, Look]:
        return {path: ReadFailure("access denied") for path in real(paths, tally)}

    monkeypatch.setattr(ck.door._store, "look", denied)
    seen = written_since(ck)
    assert seen is not None and (seen.what, seen.reason) == ("unknown", "access denied")
