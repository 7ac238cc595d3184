"""A valid older file in the place of the right one: the same bytes, and a time that does not fit."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from core.analysis.findings import Finding, findings
from core.checkpoint import Checkpoint
from core.checkpoint.rewind import rewind
from core.judgement import judge
from core.recovery import Answers
from core.recovery.recipe import recipe
from tests.support.build import copy_sample

START_S, STEP_S = 1_767_225_600, 10


def timed(sample: str, kind: str, tmp_path: Path) -> Path:
    """A sample whose state files of one kind and whose commits have the times of a query that runs every ten
    seconds: first the state of a batch, then its commit."""
    root = copy_sample(sample, tmp_path)
    for path in (root / "state").rglob(f"*.{kind}"):
        moment = START_S + int(path.stem) * STEP_S
        os.utime(path, (moment, moment))
    for path in (root / "commits").iterdir():
        if path.name.isdigit():
            moment = START_S + (int(path.name) + 1) * STEP_S + 3
            os.utime(path, (moment, moment))
    return root


def timed_copy(tmp_path: Path) -> Path:
    """The sample with snapshots and deltas."""
    return timed("dropduplicates-removed", "delta", tmp_path)


def delta(root: Path, version: int) -> Path:
    return root / "state" / "0" / "0" / f"{version}.delta"


def replace_by_copy(root: Path, version: int, older: int) -> None:
    (root / "state/0/0" / f".{version}.delta.crc").unlink(missing_ok=True)
    shutil.copy(delta(root, older), delta(root, version))


def replace_with_its_time(root: Path, version: int, older: int) -> None:
    (root / "state/0/0" / f".{version}.delta.crc").unlink(missing_ok=True)
    shutil.copy2(delta(root, older), delta(root, version))


def altered(root: Path) -> list[Finding]:
    report = findings(Checkpoint.open(str(root)), "deep")
    return [item for item in report.findings if item.id == "STATE_FILE_ALTERED"]


def with_rows(root: Path) -> int:
    """A version whose delta holds rows and is not the first one of its store."""
    sizes = {int(path.stem): path.stat().st_size for path in delta(root, 1).parent.glob("*.delta")}
    return max(version for version in sorted(sizes)[:-4] if sizes[version] > 60)


@pytest.mark.parametrize("replace", [replace_by_copy, replace_with_its_time])
def test_an_older_file_in_the_middle_of_the_changes_is_said_to_be_one(
    tmp_path: Path, replace: Callable[[Path, int, int], None]
) -> None:
    root = timed_copy(tmp_path)
    older = with_rows(root)
    replace(root, older + 3, older)
    (item,) = altered(root)
    assert item.certainty == "inferred"
    assert [at.path for at in item.evidence] == [
        f"state/0/0/{older + 3}.delta",
        f"state/0/0/{older}.delta",
    ]


def test_the_newest_file_is_held_against_the_commit_of_its_batch(tmp_path: Path) -> None:
    root = timed_copy(tmp_path)
    newest = max(int(path.stem) for path in delta(root, 1).parent.glob("*.delta"))
    replace_by_copy(root, newest, with_rows(root))
    assert len(altered(root)) == 1


def test_equal_changes_whose_times_are_in_order_are_no_damage(tmp_path: Path) -> None:
    root = timed_copy(tmp_path)
    older = with_rows(root)
    written = delta(root, older + 3).stat().st_mtime
    replace_by_copy(root, older + 3, older)
    os.utime(delta(root, older + 3), (written, written))
    assert altered(root) == []


def test_a_copy_whose_times_mean_nothing_shows_nothing(tmp_path: Path) -> None:
    root = timed_copy(tmp_path)
    older = with_rows(root)
    replace_by_copy(root, older + 3, older)
    first, second = delta(root, older + 1), delta(root, older + 2)
    one, two = first.stat().st_mtime, second.stat().st_mtime
    os.utime(first, (two, two))
    os.utime(second, (one, one))
    assert altered(root) == []


def timed_zips(tmp_path: Path) -> Path:
    """The sample with RocksDB snapshots, each written before the commit of its batch."""
    return timed("kafka-topic-gained-partitions", "zip", tmp_path)


@pytest.mark.parametrize(
    ("version", "older", "copy"),
    [
        (12, 8, shutil.copy),
        (16, 12, shutil.copy),
        (16, 4, shutil.copy),
        (12, 4, shutil.copy2),
        (16, 8, shutil.copy2),
    ],
)
def test_an_older_zip_in_the_place_of_a_newer_one_is_said_to_be_one(
    tmp_path: Path, version: int, older: int, copy: Callable[[Path, Path], object]
) -> None:
    root = timed_zips(tmp_path)
    store = root / "state/0/0"
    (store / f".{version}.zip.crc").unlink(missing_ok=True)
    copy(store / f"{older}.zip", store / f"{version}.zip")
    (item,) = altered(root)
    assert item.certainty == "inferred"
    assert [at.path for at in item.evidence] == [f"state/0/0/{version}.zip", f"state/0/0/{older}.zip"]
    assert item.rewind_to in (version - 2, None)


def test_zips_that_are_alike_and_in_order_are_no_damage(tmp_path: Path) -> None:
    root = timed_zips(tmp_path)
    store = root / "state/0/0"
    written = (store / "12.zip").stat().st_mtime
    (store / ".12.zip.crc").unlink(missing_ok=True)
    shutil.copy(store / "8.zip", store / "12.zip")
    os.utime(store / "12.zip", (written, written))
    assert altered(root) == []


def test_a_rollback_stands_before_the_file_that_is_another_one(tmp_path: Path) -> None:
    root = timed_copy(tmp_path)
    older = with_rows(root)
    replace_by_copy(root, older + 3, older)
    ck = Checkpoint.open(str(root))
    found = rewind(ck).batches
    damaged = judge(ck).recovery(Answers({"what_happened": "damaged"}))
    wrong = damaged.altered_batches
    assert older + 2 in wrong and older + 1 not in wrong
    for batch in found:
        answers = Answers({"what_happened": "damaged", "to_batch": str(batch)})
        made = recipe(judge(ck).recovery(answers), "rewind")
        assert ("rests on a file" in made.why) == (batch in wrong)
