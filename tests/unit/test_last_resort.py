"""An error that nobody foresaw is one sentence, on the command line and on the pages."""

from __future__ import annotations

import logging

import pytest
from streamlit.testing.v1 import AppTest

from core.checkpoint import Checkpoint
from core.cli import main
from tests.support.build import PROJECT, SAMPLES

PLACE = SAMPLES / "files-stopped-cleanly" / "checkpoint"


def broken(*_: object, **__: object) -> None:
    raise ZeroDivisionError("nobody foresaw this")


@pytest.mark.parametrize("is_traced", [False, True])
def test_the_command_line_says_one_sentence(
    is_traced: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Checkpoint, "open", broken)
    monkeypatch.setenv("CHECKPOINT_EXPLORER_TRACE", str(is_traced))
    assert main(["inspect", str(PLACE)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    last = shown.err.splitlines()[-1]
    assert "unexpected error stopped the answer (ZeroDivisionError in test_last_resort.py, line" in last
    assert "CHECKPOINT_EXPLORER_TRACE=true" in last
    assert ("Traceback" in shown.err) is is_traced


def test_an_answer_that_cannot_be_written_is_one_as_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("core.cli.to_text", broken)
    assert main(["inspect", str(PLACE), "--json"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_page_says_one_sentence_and_the_log_has_the_trace(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("ui.cached_answers.line", broken)
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    app.session_state["ck"] = "samples/files-stopped-cleanly/checkpoint"
    app.switch_page("pages/timeline.py")
    with caplog.at_level(logging.ERROR, logger="ui.shell"):
        app.run()
    assert not app.exception
    assert any(
        "An unexpected error stopped this page (ZeroDivisionError in" in each.value for each in app.text
    )
    assert any(record.exc_info for record in caplog.records)
