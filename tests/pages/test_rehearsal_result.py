"""The answer of a rehearsal on the page Integrity: from an upload, from a file that is named, and from evidence.

The answer is a real one, of a sum in place of the count of the sample ``purged-to-newest-10``; only its paths are
filled in here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.cli import main
from core.documents.base import to_json
from core.documents.rehearse_words import MOST_BYTES, happened, headline, is_good, read_result
from core.errors import UsageError
from core.settings import PREFIX, get_settings
from tests.pages.conftest import PROJECT, OpenPage, assert_no_error, words_of

PLACE = PROJECT / "sample_checkpoints/purged-to-newest-10/checkpoint"
RECORDED = PROJECT / "tests/support/rehearsal_of_a_sum.json"


def result(**other: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return {**answer, "location": str(PLACE), **other}


def uploaded(at: AppTest, data: bytes) -> str:
    at.file_uploader(key="rehearsal-upload").set_value(("result.json", data, "application/json"))
    at.run()
    assert_no_error(at)
    return words_of(at)


def test_an_upload_is_shown_with_its_rows(open_page: OpenPage) -> None:
    shown = uploaded(open_page("integrity", PLACE), json.dumps(result()).encode())
    assert "▲ The new query gives other rows, or another state, than today's." in shown
    assert "Spark resumed with batch 26." in shown
    assert "Only today's query gave 2 output rows, only the new one 2 output rows." in shown
    assert 'batch 26, {"store": "Berlin"}' in shown and '"count": 900' in shown
    assert "checkpoint: unchanged" in shown
    assert "is the answer of a rehearsal of" not in shown


def test_a_file_that_is_named_is_read_and_one_of_another_checkpoint_says_so(
    open_page: OpenPage, tmp_path: Path
) -> None:
    file = tmp_path / "result.json"
    file.write_text(json.dumps(result(location="/elsewhere/ck")), encoding="utf-8")
    at = open_page("integrity", PLACE)
    field = next(field for field in at.text_input if field.key == "pick_rehearsal")
    field.set_value(str(file)).run()
    assert_no_error(at)
    shown = words_of(at)
    assert (
        "is the answer of a rehearsal of /elsewhere/ck" in shown and "Spark resumed with batch 26." in shown
    )
    assert str(file) not in str(dict(at.query_params))
    for place, words in (
        (str(tmp_path / "none.json"), "cannot be read: nothing is there"),
        ("nonsense://x/y", "nonsense"),
    ):
        field.set_value(place).run()
        assert_no_error(at)
        assert words in words_of(at)


def test_a_server_reads_no_file_outside_its_roots(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "result.json"
    file.write_text(json.dumps(result()), encoding="utf-8")
    monkeypatch.setenv(f"{PREFIX}ADDRESS", "0.0.0.0")
    monkeypatch.setenv(f"{PREFIX}ROOTS", json.dumps({"samples": str(PROJECT / "sample_checkpoints")}))
    get_settings.cache_clear()
    try:
        at = open_page("integrity", "samples/purged-to-newest-10/checkpoint")
        assert not [each for each in at.file_uploader if each.key == "rehearsal-upload"]
        next(field for field in at.text_input if field.key == "pick_rehearsal").set_value(str(file)).run()
        assert_no_error(at)
        assert "Spark resumed with batch 26." not in words_of(at)
    finally:
        monkeypatch.undo()
        get_settings.cache_clear()


HOSTILE = {
    "no JSON": b"<script>alert(1)</script>",
    "a list": b"[1, 2]",
    "another answer": b'{"schema_version": 1, "findings": []}',
    "a field of another type": json.dumps(
        {**json.loads(RECORDED.read_text()), "batches": "<b>x</b>"}
    ).encode(),
    "deep": b'{"as_forecast":' + b"[" * 100_000,
    "too large": b" " * (MOST_BYTES + 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_no_answer_is_one_sentence(name: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_result(HOSTILE[name])
    assert str(refused.value).startswith("The file is") and "\n" not in str(refused.value)


def test_what_is_read_is_what_was_written() -> None:
    answer = read_result(json.dumps(result()).encode())
    assert to_json(answer) == result() and not is_good(answer)
    older = result()
    del older["skipped_by_sink"]
    for row in older["state_rows"]:
        del row["dropped_as_late"]  # the answers that people have kept do not count them
    assert read_result(json.dumps(older).encode()).state_rows[0].dropped_as_late is None
    error = {
        "at": "batch", "batch": 26, "output_rows": None, "name": None, "condition": None, "class": "IOException",
        "message": "m", "text": "t", "means": "", "action": "",
    }  # fmt: skip
    with_error = result(error=error, against=None)
    assert to_json(read_result(json.dumps(with_error).encode())) == with_error
    alone = read_result(json.dumps(result(against=None)).encode())
    assert is_good(alone) and headline(alone) == happened(alone)
    changed = read_result(json.dumps(result(original_unchanged=False)).encode())
    assert not is_good(changed) and headline(changed).startswith("Something of the original has changed")


def test_an_answer_without_a_batch_is_no_success(open_page: OpenPage) -> None:
    against = {**result()["against"], "equal": True, "output": [], "state": [], "examples": []}
    against = {**against, "only_old": 0, "only_new": 0, "old": {**against["old"], "batches": []}}
    untried = result(batch_id=None, batches=[], state_rows=[], rows_written=0, against=against)
    answer = read_result(json.dumps(untried).encode())
    assert not is_good(answer) and headline(answer) == happened(answer)
    shown = uploaded(open_page("integrity", PLACE), json.dumps(untried).encode())
    assert "◐ Spark started and found nothing to do: no batch ran, so the query was not tried." in shown
    assert "As forecast" not in shown and "The forecast for the query as it is: Spark will resume" in shown
    assert (
        "No row went through either query, so nothing was compared." in shown and "the same rows" not in shown
    )


def test_a_batch_that_the_sink_skips_is_no_success() -> None:
    batch = {"id": 26, "input_rows": 0, "output_rows": 0, "seconds": 0.1, "watermark": None}
    skipped = result(outcome="rerun", batches=[batch], skipped_by_sink=[26], against=None)
    answer = read_result(json.dumps(skipped).encode())
    assert not is_good(answer) and "no row went through the query" in headline(answer)
    assert is_good(read_result(json.dumps({**skipped, "skipped_by_sink": []}).encode()))


def test_text_in_an_answer_is_never_markup(open_page: OpenPage) -> None:
    evil = "![x](http://evil) <b>bold</b> :red[x] $x$"
    answer = result(query_file=evil, not_checked=[evil])
    answer["sink"]["note"] = evil
    at = open_page("integrity", PLACE)
    assert evil in uploaded(at, json.dumps(answer).encode())
    assert not [each for each in at.markdown if "evil" in each.value]


def test_evidence_keeps_the_answer_and_the_page_shows_it(
    open_page: OpenPage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, target = tmp_path / "result.json", tmp_path / "evidence.zip"
    asked = ["evidence", str(PLACE), "--to", str(target), "--rehearsal", str(file)]
    for text, words in (
        (None, "cannot be read: No such file"),
        ("{}", "is not the answer of rehearse"),
        (json.dumps(result(location="/elsewhere")), "of a rehearsal of /elsewhere, not of"),
    ):
        if text is not None:
            file.write_text(text, encoding="utf-8")
        assert main(asked) == 2
        assert words in capsys.readouterr().err and not target.exists()
    secret = "sk-4711-verysecret"
    answer = result(query_file=f"new.py password={secret}")
    file.write_text(json.dumps(answer), encoding="utf-8")
    assert main([*asked, "--json"]) == 0
    assert "rehearse" in json.loads(capsys.readouterr().out)["answers"]
    again = ["evidence", str(target), "--to", str(tmp_path / "b.zip"), "--rehearsal", str(file)]
    assert main(again) == 2
    at = open_page("integrity", target)
    assert_no_error(at)
    shown = words_of(at)
    assert "The rehearsal that was kept with this evidence:" in shown
    assert "Spark resumed with batch 26." in shown and '"count": 900' in shown
    assert secret not in shown and "is the answer of a rehearsal of" not in shown
    assert not [each for each in at.file_uploader if each.key == "rehearsal-upload"]
