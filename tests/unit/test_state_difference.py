"""What differs between the state after two batches, from the files of the samples."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.state_content.state_difference import read_difference
from core.checkpoint.state_content.state_rows import RowsAnswer, RowsQuestion, read_rows
from core.cli import main
from core.errors import UsageError
from tests.support.build import SAMPLES
from tests.support.spy import spy_file_system

HOT = SAMPLES / "windowed-aggregation-hot-partition/checkpoint"
JOIN = SAMPLES / "join-watermark-held-back/checkpoint"
TIMERS = SAMPLES / "transform-with-state-timers/checkpoint"
FORMAT_2 = SAMPLES / "state-format-2/checkpoint"
MISSING = SAMPLES / "missing-delta-file/checkpoint"


def compare(root: Path, earlier: int, later: int | None = None, **asked: Any) -> RowsAnswer:
    question = RowsQuestion(**{"batch_id": later, "limit": 100_000, **asked})
    return read_difference(Checkpoint.open(str(root)), question, earlier)


@pytest.mark.parametrize(
    ("root", "asked"),
    [(HOT, {}), (FORMAT_2, {}), (TIMERS, {"variable": "totals"}), (TIMERS, {"variable": "amounts"})],
    ids=["hdfs", "format-2", "value", "list"],
)
def test_the_rows_before_and_the_difference_give_the_rows_after(root: Path, asked: dict[str, Any]) -> None:
    ck = Checkpoint.open(str(root))
    last = ck.last_committed_batch
    assert last is not None
    seen = 0
    for earlier in range(last - 3, last):
        before, after = (
            {
                (row.partition_id, json.dumps(row.key)): row.value
                for row in read_rows(ck, RowsQuestion(batch_id=batch, limit=100_000, **asked)).rows
            }
            for batch in (earlier, last)
        )
        found = compare(root, earlier, **asked)
        assert found.difference is not None
        for row in found.rows:
            key = row.partition_id, json.dumps(row.key)
            assert row.change == ("changed" if key in before and row.value is not None else row.change)
            assert before.pop(key, None) == row.before
            if row.change != "removed":
                before[key] = row.value
        assert before == after
        seen += len(found.rows)
        changes = [row.change for row in found.rows]
        counted = found.difference
        assert [changes.count(word) for word in ("added", "changed", "removed")] == [
            counted.added,
            counted.changed,
            counted.removed,
        ]
        assert counted.unchanged + counted.added + counted.changed == len(after)
    assert seen


def test_rows_of_a_join_are_added_and_removed() -> None:
    found = compare(JOIN, 2, 5, side="left")
    assert found.difference is not None
    assert (found.difference.added, found.difference.changed) == (75, 0)


def test_the_numbers_are_of_everything_and_the_rows_are_limited() -> None:
    found = compare(HOT, 1, 3, limit=5)
    assert found.difference is not None
    assert (len(found.rows), found.difference.changed, found.is_truncated) == (5, 49, True)


def test_one_key_and_one_partition() -> None:
    row = compare(HOT, 1, 3).rows[0]
    found = compare(HOT, 1, 3, key=row.key)
    assert (found.rows, found.partitions_read) == ((row,), 1)
    partition = compare(HOT, 1, 3, partition_id=row.partition_id)
    assert {other.partition_id for other in partition.rows} == {row.partition_id}


def test_files_that_both_versions_need_are_read_once() -> None:
    with spy_file_system() as spy:
        ck = Checkpoint.open(spy.url(HOT))
        found = read_difference(ck, RowsQuestion(batch_id=3), 1)
        reads = [path for path in found.files if sum(path in call for call in spy.calls) != 1]
    assert found.files and not reads
    assert len(set(found.files)) == len(found.files)


def test_a_partition_that_cannot_be_compared_is_named_with_the_batch() -> None:
    found = compare(MISSING, 0, 4)
    assert [(part.partition_id, part.reason) for part in found.not_read] == [
        (2, "after batch 4: state/0/2/4.delta is missing")
    ]
    assert found.partitions_read == 3
    assert {row.partition_id for row in found.rows} == {0, 1, 3}


def test_a_version_that_is_gone_is_one_sentence(tmp_path: Path) -> None:
    root = tmp_path / "ck"
    shutil.copytree(MISSING, root)
    for path in root.glob("state/0/*/2.delta"):
        path.unlink()
    said = r"^The state after batch 1 cannot be rebuilt: state/0/0/2.delta is missing\.$"
    with pytest.raises(UsageError, match=said):
        compare(root, 1, 4)


@pytest.mark.parametrize(("earlier", "later"), [(3, 3), (4, 3)])
def test_the_earlier_batch_comes_first(earlier: int, later: int) -> None:
    with pytest.raises(UsageError, match="are compared with those of an earlier batch"):
        compare(HOT, earlier, later)


def test_somebody_cancels() -> None:
    ck = Checkpoint.open(str(HOT))
    found = read_difference(ck, RowsQuestion(batch_id=3), 1, lambda: True)
    assert (found.is_stopped, found.total, found.rows) == (True, None, ())


def test_the_command_line_hides_values_and_names_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rows", str(HOT), "--difference", "1..3", "--limit", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["difference"] == {
        "since_batch": 1,
        "added": 0,
        "changed": 49,
        "removed": 0,
        "unchanged": 0,
    }
    assert {row["change"] for row in document["rows"]} == {"changed"}
    assert {row["before"]["count"] for row in document["rows"]} == {"***"}
    assert all((HOT / path).is_file() for path in document["files_read"])
    assert main(["rows", str(HOT), "--difference", "1..3", "--reveal", "--limit", "1"]) == 0
    shown = capsys.readouterr().out
    assert "after batch 3 compared with after batch 1" in shown
    assert "Since batch 1: 0 added, 49 changed, 0 removed, 0 unchanged. The first 1 are shown." in shown


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--difference", "3"], "--difference takes two batches as 7..9, not 3"),
        (["--difference", "1..3", "--batch", "3"], "--difference names its batches itself"),
        (["--difference", "1..3", "--largest", "keys"], "--difference names its batches itself"),
        (["--difference", "1..3", "--engine", "spark"], "answered by --engine files"),
        (["--difference", "1..77"], "Batch 77 is not committed"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(
    more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rows", str(HOT), *more]) == 2
    assert said in capsys.readouterr().err
