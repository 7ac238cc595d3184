"""Broken JSON in each kind of file: a clear sentence, no exception on any page, and the rest still shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages.conftest import PAGES, OpenPage, assert_no_error, elements, words_of
from tests.support.build import copy_sample
from tests.support.damage import rewrite

BROKEN = {
    "metadata": "metadata",
    "the newest offset": "offsets/{newest}",
    "an old offset": "offsets/2",
    "the newest commit": "commits/{committed}",
    "an old commit": "commits/1",
    "a source log": "sources/0/1",
    "the operator metadata": "state/0/_metadata/metadata",
}
CONTENTS = {
    "broken JSON": '{"id": "',
    "nothing": "",
    "half a line": 'v1\n{"batchWater',
    "no text at all": b"\xff\xfe\x00\x01",
    "another version": "v99\n{}\n{}",
}


def newest(root: Path, log: str) -> int:
    return max(int(path.name) for path in (root / log).iterdir() if path.name.isdigit())


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_of_each_kind(open_page: OpenPage, tmp_path: Path, kind: str) -> None:
    root = copy_sample("windowed-aggregation-hot-partition", tmp_path)
    name = BROKEN[kind].format(newest=newest(root, "offsets"), committed=newest(root, "commits"))
    path = root / name
    if not path.exists():  # the operator's metadata file has a version in its path since Spark 4.0
        path = next(
            p
            for p in sorted((root / "state" / "0" / "_metadata").rglob("*"))
            if p.is_file() and not p.name.startswith(".")
        )
    rewrite(path, '{"id": "')
    at = open_page("overview", root)
    assert_no_error(at)
    if kind not in ("a source log", "the operator metadata"):
        assert name in words_of(at), f"Overview does not name {name}"
        assert not re.search(re.escape(name) + r"(:\d+)?: " + re.escape(name), words_of(at)), "named twice"
    for page in PAGES[1:]:
        at = at.switch_page(f"pages/{page}.py").run()
        assert_no_error(at)


@pytest.mark.parametrize("content", CONTENTS)
def test_a_newest_offset_with_any_content_is_shown_raw(
    open_page: OpenPage, tmp_path: Path, content: str
) -> None:
    root = copy_sample("files-died-mid-batch", tmp_path)
    rewrite(root / "offsets" / "7", CONTENTS[content])
    at = open_page("timeline", root, batch="7")
    assert_no_error(at)
    assert re.search(r"offsets/7(:\d+)? cannot be understood", words_of(at))
    assert "Batches 0 to 7" in words_of(at), "the rest is still shown"
    for page in ("overview", "watermark", "recovery"):
        at = at.switch_page(f"pages/{page}.py").run()
        assert_no_error(at)


def test_a_checkpoint_without_any_batch(open_page: OpenPage, tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id":"730aa211-41ff-4ee3-b1b9-9e62ed047c5f"}')
    (tmp_path / "offsets").mkdir()
    at = open_page("overview", tmp_path)
    assert_no_error(at)
    assert "Last committed\nnone" in words_of(at)
    for page in PAGES[1:]:
        at = at.switch_page(f"pages/{page}.py").run()
        assert_no_error(at)


def test_commits_without_offsets(open_page: OpenPage, tmp_path: Path) -> None:
    root = copy_sample("files-stopped-cleanly", tmp_path)
    for path in (root / "offsets").iterdir():
        path.unlink()
    at = open_page("overview", root)
    assert_no_error(at)
    for page in PAGES[1:]:
        at = at.switch_page(f"pages/{page}.py").run()
        assert_no_error(at)


def test_a_file_that_vanishes_between_listing_and_reading_counts_as_purged(
    open_page: OpenPage, tmp_path: Path
) -> None:
    root = copy_sample("files-stopped-cleanly", tmp_path)
    at = open_page("timeline", root, batch="3")
    (root / "offsets" / "0").unlink()
    at.number_input(key="batch").set_value(0).run()
    assert_no_error(at)


def test_a_finding_whose_sentence_stands_above_has_a_title_and_the_way_for_its_batch(
    open_page: OpenPage, tmp_path: Path
) -> None:
    root = copy_sample("files-stopped-cleanly", tmp_path)
    rewrite(root / "offsets" / "13", 'v1\n{"batchWatermarkMs":0,')
    for page in ("overview", "integrity"):
        at = open_page(page, root)
        assert_no_error(at)
        lines = words_of(at).split("\n")
        assert "▲ A log file that Spark reads at start cannot be read" in lines
        assert not any(line.startswith("▲ What to do") for line in lines)
        assert "Batch 13 is committed, and its offset file cannot be made again" in words_of(at)
        labels = [proto.label for kind, proto in elements(at) if kind == "page_link"]
        assert "Recovery: rewind to batch 12" in labels
        assert not [label for label in labels if "Repair single files" in label]


def test_an_empty_directory_says_on_every_page_all_of_what_the_next_start_does(
    open_page: OpenPage, tmp_path: Path
) -> None:
    end = "a Kafka source whose startingOffsets is latest (the default) skips what came in between."
    for page in PAGES:
        at = open_page(page, tmp_path)
        assert_no_error(at)
        shown = words_of(at)
        assert end in shown, page
        assert "○ starts from scratch" in shown.split("\n"), page  # the header has one line
        assert "file times" not in shown, page
