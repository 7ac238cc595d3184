"""What is read when: a session keeps its view until Refresh, stores of every kind open, and a store that
stops answering is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import pytest

from core.errors import StorageError
from core.settings import Settings
from core.storage import Door
from core.storage.local import LocalStore
from core.storage.roots import FoundCheckpoints
from tests.pages.conftest import OpenPage, assert_no_error, words_of
from tests.support.build import commit_text, copy_sample, kafka_checkpoint, kafka_offset, offset_text, write
from ui import freshness, open_checkpoints, root_listings


def test_a_session_keeps_its_view_until_refresh(open_page: OpenPage, tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(3))
    at = open_page("overview", root)
    assert "Last committed\nbatch 2" in words_of(at)
    write(
        root,
        {
            "offsets/3": offset_text([kafka_offset(20)]),
            "commits/3": commit_text(),
            "offsets/4": offset_text([kafka_offset(25)]),
        },
    )
    at.run()
    assert "Last committed\nbatch 2" in words_of(at)
    at.button(key="refresh").click().run()
    assert_no_error(at)
    shown = words_of(at)
    assert "Last committed\nbatch 3" in shown and "batch 4 is planned and not committed" in shown


def test_the_age_of_a_reading_is_true_until_the_line_is_drawn_again(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = open_page("overview", kafka_checkpoint(tmp_path, range(3)), follow="true")
    assert_no_error(at)
    shown = words_of(at)
    assert "read at " in shown and "UTC, just now" not in shown
    assert "followed: looked at every 30 s" in shown
    monkeypatch.setattr(freshness, "time", SimpleNamespace(time=lambda: time.time() + 130))
    at.run()
    assert "UTC, 2 min ago" in words_of(at)


def test_a_new_session_does_not_get_what_another_one_read_long_ago(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_checkpoints, "SHARED_MS", -1)
    root = kafka_checkpoint(tmp_path, range(3))
    assert "Last committed\nbatch 2" in words_of(open_page("overview", root))
    write(root, {"offsets/3": offset_text([kafka_offset(20)]), "commits/3": commit_text()})
    assert "Last committed\nbatch 3" in words_of(open_page("overview", root))


def test_a_checkpoint_that_is_gone_at_refresh_is_told(open_page: OpenPage, tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path / "ck", range(3))
    at = open_page("timeline", root)
    root.rename(tmp_path / "away")
    at.button(key="refresh").click().run()
    assert_no_error(at)
    assert "Nothing found" in words_of(at)


def test_a_store_of_another_kind_opens_the_same(open_page: OpenPage, tmp_path: Path) -> None:
    root = kafka_checkpoint(tmp_path, range(4), commits=range(3))
    memory = fsspec.filesystem("memory")
    for path in root.rglob("*"):
        if path.is_file():
            memory.pipe(f"/explorer-pages/{path.relative_to(root)}", path.read_bytes())
    at = open_page("overview", "memory://explorer-pages")
    assert_no_error(at)
    assert "Spark will re-run batch 3" in words_of(at)


def in_memory(root: Path, name: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """A copy in a store that is not on this machine."""
    memory = fsspec.filesystem("memory")
    for path in root.rglob("*"):
        if path.is_file():
            memory.pipe(f"/{name}/{path.relative_to(root)}", path.read_bytes())
    return memory, f"memory://{name}"


def test_a_refresh_without_news_keeps_what_was_listed_and_says_so(
    open_page: OpenPage, tmp_path: Path
) -> None:
    memory, place = in_memory(kafka_checkpoint(tmp_path, range(4)), "explorer-kept")
    at = open_page("overview", place)
    before = open_checkpoints._latest()[place]
    sent = before[1].door.requests
    at.button(key="refresh").click().run()
    assert_no_error(at)
    assert open_checkpoints._latest()[place] == before
    now = before[1].door.requests
    assert (now.list - sent.list, now.get - sent.get) == (3, 0)
    assert "state and older files not listed again" in words_of(at)
    at.button(key="refresh-all").click().run()
    assert "not listed again" not in words_of(at) and open_checkpoints._latest()[place] != before
    memory.pipe("/explorer-kept/offsets/4", offset_text([kafka_offset(25)]).encode())
    at.button(key="refresh").click().run()
    assert "batch 4" in words_of(at) and "not listed again" not in words_of(at)


def test_a_second_viewer_shares_the_reading_after_a_look(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_checkpoints, "SHARED_MS", -1)
    memory, place = in_memory(kafka_checkpoint(tmp_path, range(4)), "explorer-shared")
    assert "Last committed\nbatch 3" in words_of(open_page("overview", place))
    before = open_checkpoints._latest()[place]
    sent = before[1].door.requests
    assert "Last committed\nbatch 3" in words_of(
        open_page("timeline", place).switch_page("pages/overview.py").run()
    )
    now = before[1].door.requests
    assert open_checkpoints._latest()[place] == before
    assert (now.list - sent.list, now.get - sent.get, now.head - sent.head) == (3, 0, 0)
    memory.pipe("/explorer-shared/offsets/4", offset_text([kafka_offset(25)]).encode())
    memory.pipe("/explorer-shared/commits/4", commit_text().encode())
    assert "Last committed\nbatch 4" in words_of(open_page("overview", place))


@pytest.mark.parametrize("page", ["timeline", "watermark", "state", "recovery"])
def test_a_store_that_stops_answering_gets_a_sentence(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    root = kafka_checkpoint(tmp_path, range(300))
    write(root, {"state/0/0/1.delta": b"x"})
    at = open_page("checkpoints", root)

    def broken(*_: object, **__: object) -> object:
        raise StorageError("The store does not answer; check the connection, then refresh.")

    monkeypatch.setattr(Door, "read", broken)
    monkeypatch.setattr(Door, "list", broken)
    at.query_params["last"] = "50"
    at.switch_page(f"pages/{page}.py").run()
    assert_no_error(at)
    assert "The store does not answer" in words_of(at)


def test_a_location_with_a_password_is_not_opened_and_never_repeated(open_page: OpenPage) -> None:
    at = open_page("checkpoints")
    at.text_input(key="pasted").set_value("s3://key:verysecret@bucket/ck")
    next(button for button in at.button if button.label == "Open").click().run()
    assert_no_error(at)
    assert "verysecret" not in str(at.session_state["ck"]) and "contains a password" in words_of(at)


def test_the_story_beside_a_sample_is_shown_as_plain_text(open_page: OpenPage) -> None:
    at = open_page("overview", "samples/files-died-mid-batch/checkpoint")
    assert "The job reads order files one at a time" in words_of(at)


def test_no_page_waits_for_the_listing_of_a_root(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sidebar offers the names once they are known."""
    found, is_free = root_listings.find_checkpoints, threading.Event()

    def slow(root: str, settings: Settings, on_found: Callable[[tuple[str, ...]], None]) -> FoundCheckpoints:
        is_free.wait()
        return found(root, settings, on_found)

    monkeypatch.setattr(root_listings, "find_checkpoints", slow)
    monkeypatch.setattr(root_listings, "FIRST_SECONDS", 0.01)
    at = open_page("overview", kafka_checkpoint(tmp_path, range(3)))
    assert "Last committed\nbatch 2" in words_of(at)
    assert not any(name.startswith("samples/") for name in at.sidebar.selectbox(key="ck").options)
    is_free.set()
    while not root_listings.offered():
        time.sleep(0.01)
    at.run()
    assert any(name.startswith("samples/") for name in at.sidebar.selectbox(key="ck").options)


@pytest.mark.parametrize(
    ("kind", "pages"),
    [
        ("a long log", ("overview", "timeline", "watermark", "integrity", "recovery")),
        ("state", ("overview", "state", "ends", "compare")),
    ],
)
def test_a_page_that_was_shown_before_asks_the_store_for_nothing(
    kind: str,
    pages: tuple[str, ...],
    open_page: OpenPage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A log of more batches than are read at first: nothing creeps back batch by batch either."""
    if kind == "state":
        root = copy_sample("windowed-aggregation-hot-partition", tmp_path / "ck")
    else:
        root = kafka_checkpoint(tmp_path / "ck", range(150))
    at = open_page("overview", root)
    asked: list[str] = []
    for once in range(3):
        if once == 2:
            for name in ("list", "read", "look"):
                real = getattr(LocalStore, name)

                def counted(*args: object, _real: Any = real, **more: object) -> object:
                    asked.append(str(args[1]))
                    return _real(*args, **more)

                monkeypatch.setattr(LocalStore, name, counted)
        for page in pages:
            at.switch_page(f"pages/{page}.py").run()
            assert_no_error(at)
    assert asked == []
    open_page("overview", copy_sample("files-died-mid-batch", tmp_path))
    assert asked, "and what is asked is seen"
