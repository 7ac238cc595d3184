"""The cells of the recovery proof that were run, in their file."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from core.recovery import OPTION_IDS
from scripts.prove_recovery import KEPT, by_base, chosen, table, wanted
from tests.support.kept_cells import is_of_today, newest, read_cells, write_cells
from tests.support.kit_parts import KIT, STEPS, kit_of, modules_of
from tests.support.recovery_cells import Cell, cells
from tests.support.recovery_proof import Trial, base_of

CELL = Cell("reset", "dedup within watermark", "file by p", "format 2")
TODAY = Trial(
    CELL,
    "as stated",
    "",
    "reset",
    "state is gone",
    (0, -9, 0, 0),
    3,
    1,
    12.5,
    True,
    kit_of("reset"),
    "2026-11-24",
)
BEFORE = replace(TODAY, word="exact", kit="0123456789ab", day="2026-11-20")


def test_a_file_gives_back_what_was_written_without_the_notes(tmp_path: Path) -> None:
    other = replace(TODAY, cell=Cell("restart", "join", "delta", "HDFS"), statuses=(), as_processes=False)
    write_cells(tmp_path / "cells.csv", [replace(TODAY, note="/a/place"), other])
    text = (tmp_path / "cells.csv").read_text(encoding="utf-8")
    assert read_cells(tmp_path / "cells.csv") == {CELL.id: TODAY, other.cell.id: other}
    assert "/a/place" not in text and len(text.splitlines()) == 3
    assert read_cells(tmp_path / "absent.csv") == {}


def test_a_trial_with_the_steps_that_are_here_counts_before_a_later_one_with_another_kit() -> None:
    assert is_of_today(TODAY) and not is_of_today(BEFORE)
    for some in ([{CELL.id: BEFORE}, {CELL.id: TODAY}], [{CELL.id: TODAY}, {CELL.id: BEFORE}]):
        assert newest(*some) == {CELL.id: TODAY}
    again = replace(TODAY, word="exact")
    assert newest({CELL.id: TODAY}, {CELL.id: again}) == {CELL.id: again}


def test_the_table_says_how_many_ran_with_the_scripts_as_they_are() -> None:
    other = replace(BEFORE, cell=Cell("restart", "join", "delta", "HDFS"))
    told = table([TODAY, other])
    assert f"2 of {len(cells())} cells were run: 1 exact, 1 as stated" in told
    assert "1 of them with the scripts as they are now." in told
    assert "2026-11-20 to 2026-11-24" in told


def test_cells_whose_scripts_have_changed_come_again_unless_only_those_never_run_are_asked() -> None:
    new = Cell("restart", "join", "delta", "HDFS")
    asked = Namespace(cover=None, random=None, seed=1, never_run=False, only_in_session=False)
    assert {cell.id for cell in wanted([CELL, new], asked, {CELL.id: BEFORE})} == {CELL.id, new.id}
    assert {cell.id for cell in wanted([CELL, new], asked, {CELL.id: TODAY})} == {new.id}
    asked.never_run = True
    assert {cell.id for cell in wanted([CELL, new], asked, {CELL.id: BEFORE})} == {new.id}


def test_cells_that_ran_in_a_session_come_again_as_processes() -> None:
    asked = Namespace(cover=None, random=None, seed=1, never_run=False, only_in_session=True)
    in_session, needed_none = (
        replace(TODAY, as_processes=False),
        replace(BEFORE, as_processes=False, statuses=()),
    )
    for trial, comes in (
        (in_session, True),
        (replace(BEFORE, as_processes=True), False),
        (needed_none, False),
    ):
        assert bool(list(wanted([CELL], asked, {CELL.id: trial}))) == comes


def test_cells_that_begin_with_the_same_query_come_behind_one_another() -> None:
    found = chosen(cells(), None, 1)
    assert sorted(cell.id for cell in found) == sorted(cell.id for cell in cells())
    changes = sum(base_of(one) != base_of(two) for one, two in pairwise(found))
    assert changes == len(by_base(cells())) - 1


def test_the_kept_cells_are_cells_and_none_of_them_is_wrong() -> None:
    kept, known = read_cells(KEPT), {cell.id for cell in cells()}
    assert set(kept) <= known
    assert [trial.cell.id for trial in kept.values() if trial.word == "WRONG"] == []


def test_a_part_of_the_kit_concerns_the_options_whose_scripts_need_it() -> None:
    assert set(STEPS) == {*OPTION_IDS} - {"restart"} and kit_of("restart") == ""
    for option, steps in STEPS.items():
        assert {*steps, "carrying_out", "run", "files", "words"} <= modules_of(option)
    needing = {option for option in STEPS if "backfill" in modules_of(option)}
    assert needing == {"backup_and_backfill"} and "query" in modules_of("rewind")
    assert len({kit_of(option) for option in STEPS}) == len(STEPS)
    named = {name for option in STEPS for name in modules_of(option)}
    assert named == {path.stem for path in KIT.glob("*.py")} - {"__init__"}
