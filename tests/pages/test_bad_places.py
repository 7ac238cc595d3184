"""Places that cannot be opened get one clear sentence, and the rest of the app stays usable."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from core.settings import PREFIX, get_settings
from tests.pages.conftest import PAGES, OpenPage, assert_no_error, words_of
from tests.support.build import SAMPLES, copy_sample, kafka_checkpoint


def sentence_of(open_page: OpenPage, ck: str | Path) -> str:
    """What Overview says about a bad place; every other page says the same and nothing breaks."""
    at = open_page("overview", ck)
    assert_no_error(at)
    problem = next(text.value for text in at.text if text.value.startswith("▲"))
    for page in PAGES[1:]:
        at = at.switch_page(f"pages/{page}.py").run()
        assert_no_error(at)
        assert problem in words_of(at)
    return str(problem)


def test_nothing_there(open_page: OpenPage, tmp_path: Path) -> None:
    told = sentence_of(open_page, tmp_path / "gone")
    assert str(tmp_path / "gone") in told and "Nothing found" in told


def test_a_directory_that_is_no_checkpoint(open_page: OpenPage, tmp_path: Path) -> None:
    (tmp_path / "part-0.parquet").write_bytes(b"PAR1")
    told = sentence_of(open_page, tmp_path)
    assert "is not a checkpoint" in told and "checkpointLocation" in told


def test_a_file_instead_of_a_directory(open_page: OpenPage, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    assert "is a file" in sentence_of(open_page, tmp_path / "file")


def test_no_permission(open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, listed = kafka_checkpoint(tmp_path, range(2)), os.scandir

    def refuse(path: Any = ".") -> Any:
        if str(path).startswith(str(root)):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert "No permission" in sentence_of(open_page, root)


def test_a_directory_of_several_checkpoints_opens_one_of_them(open_page: OpenPage, tmp_path: Path) -> None:
    hostile = "**b** <img src=x>"
    for name in ("orders", "refunds", hostile):
        kafka_checkpoint(tmp_path / "all" / name, range(2))
    at = open_page("overview", tmp_path / "all")
    assert_no_error(at)
    field = next(box for box in at.selectbox if box.label == "Checkpoints in this directory")
    assert field.value is None and len(field.options) == 3
    field.set_value(str(tmp_path / "all" / hostile)).run()
    assert_no_error(at)
    assert at.session_state["ck"] == str(tmp_path / "all" / hostile)
    assert "Last committed\nbatch 1" in words_of(at)
    assert not [box for box in at.selectbox if box.label == "Checkpoints in this directory"]


def test_of_an_empty_directory_nobody_knows_whether_the_query_keeps_state(
    open_page: OpenPage, tmp_path: Path
) -> None:
    shown = words_of(open_page("overview", tmp_path))
    assert "Spark will start from scratch" in shown
    assert "State\nnone\nno batch is planned" in shown and "keeps no state" not in shown
    assert "→ stateless" not in shown


def test_without_a_state_directory_nobody_says_that_the_query_keeps_none(
    open_page: OpenPage, tmp_path: Path
) -> None:
    for page in ("state", "watermark"):
        shown = words_of(open_page(page, kafka_checkpoint(tmp_path / page, range(2))))
        assert "This query keeps no state" not in shown and "There is no directory state/" in shown, page
    shutil.copytree(SAMPLES / "missing-delta-file/checkpoint", tmp_path / "gone")
    shutil.rmtree(tmp_path / "gone/state")
    shown = words_of(open_page("state", tmp_path / "gone"))
    assert "The state of this query is gone" in shown and "keeps no state" not in shown


def test_the_watermark_page_says_that_a_batch_is_not_there(open_page: OpenPage) -> None:
    shown = words_of(open_page("watermark", "samples/join-watermark-held-back/checkpoint", batch="7777"))
    assert "This link asks for batch 7777. It is not written yet" in shown


def test_a_part_of_a_checkpoint_offers_the_whole(open_page: OpenPage) -> None:
    at = open_page("overview", "samples/files-died-mid-batch/checkpoint/offsets")
    assert_no_error(at)
    at.button[0].click().run()
    assert at.session_state["ck"] == "samples/files-died-mid-batch/checkpoint"
    assert "Spark will re-run batch 7" in words_of(at)


def test_a_root_that_does_not_exist_is_a_place_on_this_machine(open_page: OpenPage) -> None:
    found = sentence_of(open_page, "prod/orders")
    assert "Nothing found" in found and 'this server has no root "prod" (it has: samples)' in found
    assert "is gone" not in words_of(open_page("recovery", "prod/orders")), "nobody looked where it lies"


@pytest.mark.parametrize("path", ["samples/../../etc", "samples/./x", "samples/a/../../../b"])
def test_a_link_cannot_leave_its_root(open_page: OpenPage, path: str) -> None:
    assert "leads out of the root" in sentence_of(open_page, path)


@pytest.mark.parametrize("text", ["nonsense://x/y", "s3:/one-slash", "https://", "file://other-host/x"])
def test_a_text_that_is_no_location(open_page: OpenPage, text: str) -> None:
    assert sentence_of(open_page, text).startswith("▲ ")


def test_a_location_with_storage_secrets_in_it_is_not_asked_for(open_page: OpenPage) -> None:
    """fsspec chains locations with ``::``; such a text could carry options of another store."""
    assert "::" in sentence_of(open_page, "simplecache::s3://bucket/ck")


def test_a_server_that_others_can_reach_refuses_to_work_without_roots(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from streamlit import config

    before = config.get_option("server.address")
    config.set_option("server.address", "0.0.0.0")
    try:
        at = open_page("checkpoints", "samples/files-died-mid-batch/checkpoint")
    finally:
        config.set_option("server.address", before)
    assert_no_error(at)
    assert "which others can reach" in words_of(at)
    assert not at.dataframe and not at.selectbox


def test_pasting_a_location_below_a_root_gives_the_short_name(open_page: OpenPage) -> None:
    at = open_page("checkpoints")
    at.text_input(key="pasted").set_value(str(SAMPLES / "files-died-mid-batch" / "checkpoint"))
    next(button for button in at.button if button.label == "Open").click().run()
    assert_no_error(at)
    assert at.session_state["ck"] == "samples/files-died-mid-batch/checkpoint"


def test_pasting_a_location_elsewhere_opens_it(open_page: OpenPage, tmp_path: Path) -> None:
    kafka_checkpoint(tmp_path, range(3), commits=range(2))
    at = open_page("overview", tmp_path)
    assert_no_error(at)
    assert "Spark will re-run batch 2" in words_of(at)


def test_the_impact_is_not_said_to_be_nothing_where_a_file_could_not_be_read(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches are committed; deleting the checkpoint costs what nobody knows here."""
    root = copy_sample("files-died-mid-batch", tmp_path / "prod")
    newest = max(
        (root / "offsets").iterdir(), key=lambda path: (path.name.isdigit(), len(path.name), path.name)
    )
    newest.rename(tmp_path / "elsewhere")
    newest.symlink_to(tmp_path / "elsewhere")  # a server does not follow it
    monkeypatch.setenv(f"{PREFIX}ADDRESS", "10.0.0.1")
    monkeypatch.setenv(f"{PREFIX}ROOTS", json.dumps({"prod": str(tmp_path / "prod")}))
    get_settings.cache_clear()
    try:
        for page in ("overview", "recovery"):
            shown = words_of(open_page(page, "prod/checkpoint"))
            assert "Nothing is planned or committed yet" not in shown, page
            told = f"The impact of deleting is not known, because offsets/{newest.name} could not be read"
            assert told in shown, page
    finally:
        get_settings.cache_clear()


def test_the_impact_is_not_nothing_where_only_the_offsets_are_gone(
    open_page: OpenPage, tmp_path: Path
) -> None:
    root = copy_sample("files-stopped-cleanly", tmp_path)
    shutil.rmtree(root / "offsets")
    shown = words_of(open_page("overview", root))
    assert "commits/ has batches up to 13, and offsets/ has no file" in shown
    assert "so nothing would be repeated or lost" not in shown
    (tmp_path / "new" / "offsets").mkdir(parents=True)
    (tmp_path / "new" / "metadata").write_text('{"id":"730aa211-41ff-4ee3-b1b9-9e62ed047c5f"}')
    shown = words_of(open_page("overview", tmp_path / "new"))
    assert "Nothing is planned or committed yet, so nothing would be repeated or lost." in shown
