"""A checkpoint directory that was emptied, or that has a part of a checkpoint alone, on every page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.analysis.forecast import forecast
from core.checkpoint import Checkpoint
from tests.pages.conftest import PAGES, OpenPage, assert_no_error, words_of
from tests.support.build import copy_sample, write
from tests.support.forecasting import METADATA, files_entry

LEFT: dict[str, dict[str, str | bytes]] = {
    "nothing": {},
    "sources": {"sources/0/0": files_entry(0), "sources/0/1": files_entry(1)},
    "state": {"state/0/0/1.delta": b"x"},
    "metadata": {"metadata": METADATA},
}


@pytest.mark.parametrize("left", LEFT)
def test_every_page_shows_what_the_next_start_does(open_page: OpenPage, tmp_path: Path, left: str) -> None:
    root = tmp_path / "orders"
    root.mkdir()
    write(root, LEFT[left])
    sentence = forecast(Checkpoint.open(str(root))).sentence
    at = open_page("overview", root)
    for page in PAGES:
        at = at.switch_page(f"pages/{page}.py").run()
        assert_no_error(at)
        assert sentence in words_of(at), page


def test_a_sink_and_a_source_may_be_given_there(open_page: OpenPage, tmp_path: Path, samples: Path) -> None:
    place = samples / "files-died-mid-batch"
    root = tmp_path / "orders"
    root.mkdir()
    at = open_page("overview", root, sink=str(place / "sink"), at_0=str(place / "source"))
    assert_no_error(at)
    assert "Batches 0 to 6 will be skipped" in words_of(at)


def test_a_place_that_is_not_there_says_what_a_start_means(open_page: OpenPage, tmp_path: Path) -> None:
    at = open_page("overview", tmp_path / "gone")
    assert_no_error(at)
    assert "starts from scratch with batch 0; if it has run before" in words_of(at)


def test_recovery_of_a_checkpoint_that_was_deleted(open_page: OpenPage, tmp_path: Path) -> None:
    at = open_page("recovery", tmp_path / "gone", a_sink="file", a_source_complete="yes")
    assert_no_error(at)
    shown = words_of(at)
    assert "Nothing found at" in shown and "Without a checkpoint" in shown and "Name its sources" in shown
    at.selectbox(key="t_source.0.format").select("json").run()
    at.text_input(key="t_source.0.path").input("/data/in").run()
    assert_no_error(at)
    assert f'"checkpointLocation": "{tmp_path / "gone"}"' in words_of(at)


@pytest.mark.parametrize("left", ["commits", "nothing"])
def test_recovery_asks_for_the_source_where_no_offset_file_names_one(
    open_page: OpenPage, tmp_path: Path, left: str
) -> None:
    """Somebody removed offsets/, or everything: every option was impossible, and nothing was asked."""
    root = copy_sample("files-died-mid-batch", tmp_path)
    for directory in ("offsets", "sources") if left == "commits" else ("offsets", "sources", "commits"):
        shutil.rmtree(root / directory)
    at = open_page("recovery", root, a_sink="file", a_source_complete="yes")
    assert_no_error(at)
    assert "No offset file says what the query reads" in words_of(at)
    at.selectbox(key="t_source.0.format").select("json").run()
    at.text_input(key="t_source.0.path").input("/data/in").run()
    assert_no_error(at)
    assert "Full table refresh" in words_of(at) and "recover_full_refresh.py" in words_of(at)


def test_recovery_without_any_checkpoint(open_page: OpenPage) -> None:
    at = open_page("recovery", a_sink="lakeflow_table", a_source_complete="yes")
    assert_no_error(at)
    assert "Without a checkpoint" in words_of(at) and "start_update.py" in words_of(at)
