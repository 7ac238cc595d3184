"""One rule judges a Delta position against the table's log; checks, forecast, start positions and impact read
its value, numbers as fields."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from core.checkpoint.sources.delta import TablePosition
from core.connectors.delta.judgement import Hole, find_hole, judge_position, judge_range
from core.connectors.delta.log import DeltaLog
from tests.support.delta_tables import TABLE_ID, appends, log_path

PRODUCT = Path(__file__).parents[2] / "core"


def at(version: int, index: int = -1, snapshot: bool = False, table: str = TABLE_ID) -> TablePosition:
    return TablePosition(table, version, index, snapshot)


def log_with(root: Path, versions: int, *without: int) -> DeltaLog:
    """A table whose log lacks some versions; without a log checkpoint."""
    table = appends(root / "t", versions)
    for version in without:
        log_path(table, version).unlink()
    return DeltaLog.open(str(table))


@pytest.mark.parametrize(
    ("position", "state", "lag"),
    [
        (at(3), "ok", 2),
        (at(5), "caught_up", 0),
        (at(6), "beyond_newest", 0),
        (at(5, 0), "beyond_newest", 0),
        (at(2, 0, True), "in_snapshot", 3),
        (at(3, table="another"), "other_table", 2),
    ],
)
def test_a_position_is_judged_once(tmp_path: Path, position: TablePosition, state: str, lag: int) -> None:
    judged = judge_position(log_with(tmp_path, 5), position)
    assert (judged.state, judged.lag, judged.lost, judged.hole) == (state, lag, None, None)
    assert judged.is_table_older is (state == "beyond_newest")


def test_versions_that_are_gone_are_numbers(tmp_path: Path) -> None:
    log = log_with(tmp_path, 8, 0, 1, 2, 3)
    judged = judge_position(log, at(2))
    assert (judged.state, judged.lost, judged.hole) == ("cleaned", (2, 3), Hole(2, 4))
    judged_range = judge_range(log, at(1), at(6))
    assert (judged_range.state, judged_range.hole, judged_range.lost) == ("hole", Hole(1, 4), (1, 3))
    assert not judged_range.is_end_missing


@pytest.mark.parametrize(
    ("start", "end", "state", "seen"),
    [
        (at(2), at(5), "ok", 4),
        (at(5), at(5), "ok", 4),
        (at(2), at(6), "table_older", 4),
        (at(2, 0, True), at(4), "ok", 3),
        (None, at(5, 0), "table_older", 4),
    ],
)
def test_a_range_is_judged_once(
    tmp_path: Path, start: TablePosition | None, end: TablePosition, state: str, seen: int
) -> None:
    judged = judge_range(log_with(tmp_path, 5), start, end)
    assert judged.state == state
    assert judged.is_end_missing is (state == "table_older")
    if judged.is_end_missing:
        assert judged.seen == seen


def test_the_end_of_a_range_may_be_gone_as_well(tmp_path: Path) -> None:
    judged = judge_range(log_with(tmp_path, 8, 0, 1, 2, 3), at(1), at(3))
    assert (judged.state, judged.seen, judged.last, judged.lost) == ("hole", 0, 2, None)
    assert judged.is_end_missing


def test_a_start_option_before_the_log_and_a_snapshot_that_cannot_be_rebuilt(tmp_path: Path) -> None:
    log = log_with(tmp_path, 8, 0, 1, 2, 3)
    assert judge_range(log, None, at(6), starting_version=2).state == "start_gone"
    assert judge_range(log, None, at(6), starting_version=4).state == "ok"
    gone = judge_range(log, at(2, 0, True), at(6))
    assert (gone.state, gone.snapshot) == ("snapshot_gone", 2)


def test_a_hole_at_the_end_has_no_next_version(tmp_path: Path) -> None:
    assert find_hole(log_with(tmp_path, 5), 3, 6) == Hole(5, None)


def test_no_other_module_compares_a_position_with_the_bounds_of_the_log() -> None:
    """``log.oldest`` and ``log.newest`` are compared in the judgement; elsewhere they are shown."""
    found = [
        f"{path.name}:{node.lineno}"
        for room in ("analysis", "recovery")
        for path in sorted((PRODUCT / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        if ast.unparse(side) == "log.oldest"
    ]
    assert found == []
