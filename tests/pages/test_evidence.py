"""An evidence file opens on every page in place of the checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.cli import main
from core.incident import take
from core.judgement import judge
from core.messages import say
from core.storage import Door
from tests.pages.conftest import PAGES, OpenPage, assert_no_error, words_of
from tests.support.build import SAMPLES
from ui import evidence_file


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_evidence(open_page: OpenPage, tmp_path: Path, page: str) -> None:
    file = tmp_path / "taken.zip"
    take(Door.open(str(SAMPLES / "windowed-aggregation-hot-partition" / "checkpoint")), file)
    at = open_page(page, file)
    assert_no_error(at)
    shown = words_of(at)
    assert "taken.zip" in shown and "Evidence of " in shown


def test_overview_hands_out_the_file_and_it_opens(open_page: OpenPage, tmp_path: Path) -> None:
    at = open_page("overview", "samples/files-died-mid-batch/checkpoint")
    assert_no_error(at)
    assert say("evidence.title") in [expander.label for expander in at.expander]
    ck = Checkpoint.open(str(SAMPLES / "files-died-mid-batch" / "checkpoint"))
    file = tmp_path / "handed-out.zip"
    file.write_bytes(evidence_file._taken(judge(ck)))
    assert Checkpoint.open(str(file)).pending_batch == ck.pending_batch == 7
    again = open_page("overview", file)
    assert say("evidence.title") not in [expander.label for expander in again.expander]


def test_overview_gives_the_report_to_download_and_to_paste(open_page: OpenPage) -> None:
    at = open_page("overview", "samples/kafka-pipeline-died-mid-batch/checkpoint")
    assert "report-html" not in [button.key for button in at.get("download_button")]
    at.session_state["report"] = True
    at.run()
    assert_no_error(at)
    labels = [button.proto.label for button in at.get("download_button")]
    assert "Report (HTML)" in labels and "Report (Markdown)" in labels
    chat = next(code.value for code in at.code if code.value.startswith("**"))
    assert "kafka-pipeline-died-mid-batch: Re-runs batch 8" in chat and "startingOffsets" in chat


def test_what_source_and_sink_said_is_shown_again_without_asking_them(
    open_page: OpenPage, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    shutil.copytree(SAMPLES / "delta-batch-already-in-table", place)
    file = tmp_path / "taken.zip"
    given = ["--sink", str(place / "sink"), "--source", f"0={place / 'source'}"]
    assert main(["evidence", str(place / "checkpoint"), "--to", str(file), *given]) == 0
    shutil.rmtree(place)
    at = open_page("ends", file)
    assert_no_error(at)
    shown = words_of(at)
    assert "What source and sink said when the evidence was taken" in shown
    assert "Pending batch 5 is already in the table and will be skipped." in shown
    assert "The query is 3 versions behind" in shown
    assert "What source and sink said" not in words_of(open_page("overview", file))
