"""What was read of a checkpoint is given back when no page shows it any more."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.media_file_manager import MediaFileManager

from tests.pages.conftest import PAGES, OpenPage, assert_no_error, words_of
from tests.support.build import commit_text, kafka_checkpoint, kafka_offset, offset_text, write
from ui import open_checkpoints, readings


def test_what_no_page_shows_is_let_go_of_with_all_that_rests_on_it(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = kafka_checkpoint(tmp_path, range(3))
    at = open_page("overview", root)
    seen = weakref.ref(open_checkpoints._latest()[str(root)][1])
    assert seen() is not None
    assert str(root) not in {name for name, _ in readings.put_away(600)}
    assert str(root) in {name for name, _ in readings.put_away(0)}
    assert str(root) not in open_checkpoints._latest()
    write(root, {"offsets/3": offset_text([kafka_offset(20)]), "commits/3": commit_text()})
    at.run()  # the page is still there: it reads again
    assert_no_error(at)
    assert "Last committed\nbatch 3" in words_of(at)
    del at
    readings.put_away(0)
    gc.collect()
    assert seen() is None


def test_nothing_that_streamlit_keeps_of_a_page_refers_to_the_checkpoint(
    open_page: OpenPage, samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps what buttons, fragments and downloads were given for minutes after the tab was closed."""
    kept: list[object] = []

    def keeps(owner: type, name: str) -> None:
        original = getattr(owner, name)

        def keeping(self: object, *args: object, **more: object) -> object:
            kept.append((args, more))
            return original(self, *args, **more)

        monkeypatch.setattr(owner, name, keeping)

    keeps(MemoryFragmentStorage, "register")
    keeps(MediaFileManager, "add_deferred")
    root = samples / "windowed-aggregation-hot-partition" / "checkpoint"
    pages = [open_page(page, root) for page in PAGES]  # the sessions are kept too
    before = len(kept)
    assert before > 3
    seen = [weakref.ref(ck) for _, ck in open_checkpoints._latest().values()]
    assert seen
    readings.put_away(0)
    gc.collect()
    assert [place() for place in seen] == [None] * len(seen)
    assert len(pages) == len(PAGES)


def test_a_page_that_redraws_its_age_keeps_its_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1_000.0
    monkeypatch.setattr(readings.time, "monotonic", lambda: now)
    monkeypatch.setattr(readings, "_kept", readings._Kept())
    monkeypatch.setattr(readings, "_start_timer", lambda: None)
    readings.look_at(("a", 1))
    readings.look_at(("b", 1))
    now = 1_800.0
    readings.look_at(("a", 1))
    now = 1_950.0
    assert readings.put_away(900) == [("b", 1)]
    now = 2_700.0
    assert readings.put_away(900) == [("a", 1)]
