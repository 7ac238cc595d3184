"""Batches that only a history of surveys knows, on Timeline, and the course of the state on Checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.cli import main
from core.settings import get_settings
from tests.pages.conftest import OpenPage, assert_no_error, charts_of, words_of
from tests.support.build import SAMPLES, copy_sample
from tests.unit.test_survey_past import survey, team
from ui import survey_table


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("CHECKPOINT_EXPLORER_HISTORY", str(tmp_path / "kept"))
    get_settings.cache_clear()
    yield tmp_path / "kept"
    get_settings.cache_clear()


def test_the_timeline_shows_what_was_purged(open_page: OpenPage, kept: Path, tmp_path: Path) -> None:
    ck = tmp_path / "ck"
    for ids in (range(0, 100), range(90, 190), range(150, 250)):
        survey(team(ck, ids), kept)
    team(ck, range(250, 350))
    at = open_page("timeline", ck, size="1000", last="349")
    assert_no_error(at)
    shown = words_of(at)
    assert "Batches 0 to 349 of 350 batches." in shown
    assert "250 batches before batch 250 are known from the history of surveys only" in shown
    assert any("known from the history" in chart.spec for chart in charts_of(at))
    at = open_page("timeline", ck, batch="7")
    assert_no_error(at)
    shown = words_of(at)
    assert "The files of batch 7 were removed by retention." in shown and "· history" in shown
    at = open_page("timeline", ck, whole="true")
    assert_no_error(at)


def test_without_the_setting_nothing_changes(open_page: OpenPage, tmp_path: Path) -> None:
    ck = tmp_path / "ck"
    survey(team(ck, range(0, 100)), tmp_path / "kept")
    team(ck, range(50, 150))
    shown = words_of(open_page("timeline", ck))
    assert "Batches 50 to 149: 100 of 100 batches in the logs." in shown and "history" not in shown


def test_emptied_logs_still_have_their_history(open_page: OpenPage, kept: Path, tmp_path: Path) -> None:
    ck = tmp_path / "ck"
    survey(team(ck, range(0, 10)), kept)
    team(ck, range(0))
    at = open_page("timeline", ck)
    assert_no_error(at)
    assert "Batches 0 to 9 of 10 batches." in words_of(at)


def test_a_history_that_cannot_be_read_is_one_sentence(
    open_page: OpenPage, kept: Path, tmp_path: Path
) -> None:
    kept.mkdir()
    (kept / "cut.parquet").write_bytes(b"PAR1")
    at = open_page("timeline", team(tmp_path / "ck", range(0, 10)))
    assert_no_error(at)
    assert "1 file of the history of surveys could not be read: cut.parquet." in words_of(at)


def test_state_and_lag_from_survey_to_survey(open_page: OpenPage, kept: Path, tmp_path: Path) -> None:
    ck = copy_sample("windowed-aggregation-hot-partition", tmp_path / "ck")
    for _ in range(3):
        main(["survey", str(ck), "--to", str(kept)])
    at = open_page("timeline", ck)
    assert_no_error(at)
    assert "3 surveys since " in words_of(at) and "State: " in words_of(at)


def test_checkpoints_draws_the_course_of_the_state(open_page: OpenPage, kept: Path) -> None:
    for _ in range(2):
        main(["survey", str(SAMPLES), "--to", str(kept)])
    at = open_page("checkpoints")
    assert_no_error(at)
    table = at.dataframe[0].value.set_index("checkpoint")
    assert len(table.loc["windowed-aggregation-hot-partition"][survey_table.COURSE]) == 2
    assert len(table.loc["files-stopped-cleanly"][survey_table.COURSE]) == 0
    shutil.rmtree(kept)
