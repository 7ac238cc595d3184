"""The page Compare: equal and different checkpoints, what the link says, and places that cannot be compared with."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import cli
from core.analysis.comparison import compare
from core.checkpoint import Checkpoint
from core.settings import PREFIX, get_settings
from tests.pages.conftest import OpenPage, assert_no_error, words_of
from tests.pages.test_hostile import assert_only_plain, hostile_checkpoint
from tests.support.build import SAMPLES, copy_sample, kafka_checkpoint
from tests.support.damage import rewrite
from ui import comparison_tables, open_checkpoints, tables

CLEAN = "samples/files-stopped-cleanly/checkpoint"
DIED = "samples/files-died-mid-batch/checkpoint"
HOT = "samples/windowed-aggregation-hot-partition/checkpoint"


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Settings of this test alone: set variables, then open a page."""
    get_settings.cache_clear()
    yield monkeypatch
    get_settings.cache_clear()


def compared(open_page: OpenPage, ck: str | Path, other: str | Path, **parameters: str) -> AppTest:
    """The page Compare as its link shows it: no error, and no box that says an exception."""
    at = open_page("compare", ck, **{"with": str(other)}, **parameters)
    assert_no_error(at)
    return at


def asked(at: AppTest, name: str = "with") -> str:
    """What the address says under ``name``; the test client gives a list or a text."""
    value = at.query_params[name]
    return value if isinstance(value, str) else value[-1]


def rows_of(at: AppTest) -> list[tuple[str, str, str]]:
    """What, A and B of all tables, in order."""
    return [tuple(row) for table in at.dataframe for row in table.value.itertuples(index=False)]


OTHER_QUERY = "The query IDs differ: A and B are checkpoints of two queries"


def test_checkpoints_of_two_queries_are_said_to_be_that(open_page: OpenPage, tmp_path: Path) -> None:
    assert OTHER_QUERY in words_of(compared(open_page, CLEAN, DIED))
    copied = copy_sample("files-stopped-cleanly", tmp_path)
    (copied / "commits" / "13").unlink()
    shown = words_of(compared(open_page, CLEAN, copied))
    assert "A and B differ in" in shown and OTHER_QUERY not in shown


def test_a_row_that_no_window_shows_whole_stands_in_lines(open_page: OpenPage) -> None:
    """The class of the state store of B was cut at the edge of a window of 1,280 pixels."""
    kafka = "samples/kafka-{}/checkpoint"
    at = compared(open_page, kafka.format("pipeline-died-mid-batch"), kafka.format("topic-gained-partitions"))
    assert "  B: org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider" in words_of(at)
    assert not [row for row in rows_of(at) if "spark.sql.streaming.stateStore.providerClass" in row[0]]
    assert [row for row in rows_of(at) if row[0] == "query ID"]


def test_without_a_second_checkpoint_the_page_says_what_to_do(open_page: OpenPage) -> None:
    at = open_page("compare", CLEAN)
    assert_no_error(at)
    assert "Choose a checkpoint to compare this one with." in words_of(at)
    field = next(box for box in at.selectbox if box.key == "pick_with")
    assert DIED in field.options and CLEAN not in field.options


def test_an_equal_copy_has_no_difference_and_says_what_was_left_out(
    open_page: OpenPage, tmp_path: Path
) -> None:
    copy = copy_sample("windowed-aggregation-hot-partition", tmp_path)
    at = compared(open_page, HOT, copy)
    assert "○ A and B do not differ in what was compared." in words_of(at)
    assert "the bytes of" in words_of(at) and "level deep reads them" in words_of(at)
    assert not at.dataframe
    assert at.expander[0].proto.expanded, "what was left out is not folded below an answer that says equal"


def test_an_equal_copy_is_called_equal_without_doubt_once_the_bytes_were_read(
    open_page: OpenPage, tmp_path: Path
) -> None:
    copy = copy_sample("windowed-aggregation-hot-partition", tmp_path)
    shown = words_of(compared(open_page, HOT, copy, depth="bytes"))
    assert "● A and B do not differ in what was compared." in shown
    assert "compared byte by byte" in shown


def test_a_changed_copy_differs_where_it_was_changed(open_page: OpenPage, tmp_path: Path) -> None:
    copy = copy_sample("files-stopped-cleanly", tmp_path)
    (copy / "commits" / "13").unlink()
    (copy / "commits" / ".13.crc").unlink(missing_ok=True)
    text = (copy / "offsets" / "13").read_text()
    rewrite(
        copy / "offsets" / "13",
        text.replace('"spark.sql.shuffle.partitions":"', '"spark.sql.shuffle.partitions":"9'),
    )
    at = compared(open_page, CLEAN, copy)
    assert "◐ A and B differ in 2 places: 1 in the commit log and 1 in the pinned settings." in words_of(at)
    assert "Commit log: 1 difference\nPinned settings: 1 difference" in words_of(at)
    first, second = rows_of(at)
    assert first == ("batch 13", "only in A", "not there")
    assert second[0] == "spark.sql.shuffle.partitions in batch 13" and second[2] == "9" + second[1]


def test_a_file_of_one_side_is_only_there(open_page: OpenPage, tmp_path: Path) -> None:
    copy = copy_sample("files-stopped-cleanly", tmp_path)
    (copy / "sources" / "0" / "99").write_text("v1\n")
    assert rows_of(compared(open_page, CLEAN, copy)) == [("sources/0/99", "not there", "only in B")]
    assert rows_of(compared(open_page, copy, CLEAN)) == [("sources/0/99", "only in A", "not there")]


def test_what_one_side_cannot_read_is_named_and_no_difference(
    open_page: OpenPage, settings: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A server does not follow a link that leads out of its root."""
    copy = copy_sample("files-stopped-cleanly", tmp_path / "root")
    (copy / "offsets" / "9").rename(tmp_path / "elsewhere")
    (copy / "offsets" / "9").symlink_to(tmp_path / "elsewhere")
    settings.setenv(f"{PREFIX}ADDRESS", "192.0.2.1")
    settings.setenv(f"{PREFIX}ROOTS", json.dumps({"samples": str(SAMPLES), "b": str(tmp_path / "root")}))
    at = compared(open_page, CLEAN, "b/checkpoint")
    assert "○ A and B do not differ in what was compared." in words_of(at)
    assert not at.dataframe and at.expander[0].proto.expanded
    assert "in B, offsets/9 could not be read" in words_of(at)


def test_bytes_of_state_files_are_read_on_request_and_the_cost_is_said_before(
    open_page: OpenPage, tmp_path: Path
) -> None:
    copy = copy_sample("windowed-aggregation-hot-partition", tmp_path)
    changed = sorted((copy / "state").rglob("*.changelog"))[0]
    changed.write_bytes(bytes(changed.stat().st_size))
    at = compared(open_page, HOT, copy)
    files = [path for path in (copy / "state").rglob("*") if path.is_file() and path.name[0] != "."]
    assert f"Comparing bytes reads {len(files)} state files of the same name and size, " in words_of(at)
    assert "do not differ" in words_of(at)
    next(box for box in at.selectbox if box.key == "pick_depth").select("bytes").run()
    assert_no_error(at)
    (row,) = rows_of(at)
    assert row[0] == f"{changed.relative_to(copy)}, from byte 0 on" and row[1] == row[2]
    assert asked(at, "depth") == "bytes"
    again = compared(open_page, HOT, copy, depth="bytes")
    assert rows_of(again) == [row]


def test_bytes_for_which_no_time_is_left_are_named(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = copy_sample("windowed-aggregation-hot-partition", tmp_path)
    moments = iter(range(0, 10**6, 1_000))
    monkeypatch.setattr("ui.cached_answers.time.monotonic", lambda: float(next(moments)))
    shown = words_of(compared(open_page, HOT, copy, depth="bytes"))
    assert "could not be read within 60 s" in shown and "for which no time was left" in shown
    assert "○ A and B do not differ" in shown


def test_a_checkpoint_is_not_compared_with_itself(open_page: OpenPage) -> None:
    for name in (CLEAN, str(SAMPLES / "files-stopped-cleanly" / "checkpoint")):
        at = compared(open_page, CLEAN, name)
        assert "A and B are the same place." in words_of(at)
        assert "do not differ" not in words_of(at) and not at.dataframe


def test_the_choice_is_in_the_address_and_a_link_alone_restores_it(open_page: OpenPage) -> None:
    at = open_page("compare", CLEAN)
    next(box for box in at.selectbox if box.key == "pick_with").select(DIED).run()
    assert_no_error(at)
    assert asked(at) == DIED
    shown = rows_of(at)
    assert len(shown) > 5
    assert rows_of(compared(open_page, CLEAN, DIED)) == shown


def test_the_choice_comes_back_with_the_page_and_goes_with_the_checkpoint(open_page: OpenPage) -> None:
    at = compared(open_page, CLEAN, DIED)
    del at.query_params["with"]  # what a click in the menu does
    at = at.switch_page("pages/state.py").run().switch_page("pages/compare.py").run()
    assert "A and B differ in" in words_of(at) and asked(at) == DIED
    next(box for box in at.selectbox if box.key == "ck").select(HOT).run()
    assert_no_error(at)
    assert "with" not in at.query_params
    assert "Choose a checkpoint to compare this one with." in words_of(at)


def test_a_and_b_change_places(open_page: OpenPage) -> None:
    at = compared(open_page, CLEAN, DIED)
    first = rows_of(at)
    next(button for button in at.button if button.label == "Swap A and B").click().run()
    assert_no_error(at)
    assert at.session_state["ck"] == DIED and asked(at) == CLEAN
    turned = {"only in A": "only in B", "only in B": "only in A"}
    assert [(what, turned.get(b, b), turned.get(a, a)) for what, a, b in rows_of(at)] == first


def test_b_is_read_again_on_request(open_page: OpenPage, tmp_path: Path) -> None:
    copy = copy_sample("files-stopped-cleanly", tmp_path)
    at = compared(open_page, CLEAN, copy)
    assert "do not differ" in words_of(at)
    (copy / "commits" / "13").unlink()
    at.run()
    assert "do not differ" in words_of(at)
    next(button for button in at.button if button.label == "Read B again").click().run()
    assert_no_error(at)
    assert ("batch 13", "only in A", "not there") in rows_of(at)


def test_drawing_again_reads_nothing(open_page: OpenPage, tmp_path: Path) -> None:
    at = compared(open_page, HOT, copy_sample("windowed-aggregation-hot-partition", tmp_path), depth="bytes")
    doors = [ck.door for _, ck in open_checkpoints._latest().values()]
    assert len(doors) == 2 and any(door.requests.get for door in doors)
    before = [repr(door.requests) for door in doors]
    at.run()
    assert [repr(door.requests) for door in doors] == before


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ("samples/nothing-there", "Nothing found"),
        ("samples/../../etc", "leads out of the root"),
        ("nonsense://x/y", "nonsense"),
        ("samples/files-stopped-cleanly", "is not a checkpoint"),
        ("s3://key:secret@bucket/ck", "This location contains a password"),
        ("![x](http://evil.example/x.png)<script>", "Nothing found"),
    ],
)
def test_a_place_that_cannot_be_compared_with_gets_one_sentence(
    open_page: OpenPage, other: str, told: str
) -> None:
    at = compared(open_page, DIED, other)
    problems = [text.value for text in at.text if text.value.startswith("▲")]
    assert len(problems) == 1 and told in problems[0]
    assert "Spark will re-run batch 7" in words_of(at), "the page stays"
    assert not at.dataframe and not at.markdown
    assert "secret" not in asked(at)


def test_a_directory_around_a_checkpoint_offers_what_may_have_been_meant(open_page: OpenPage) -> None:
    at = compared(open_page, DIED, "samples/files-stopped-cleanly")
    next(button for button in at.button if button.key == "with-suggested").click().run()
    assert_no_error(at)
    assert asked(at) == CLEAN and "A and B differ in" in words_of(at)


def test_a_depth_that_does_not_exist_is_named(open_page: OpenPage) -> None:
    for ck, other in ((HOT, DIED), (CLEAN, DIED), (CLEAN, "samples/nothing-there")):
        at = compared(open_page, ck, other, depth="bottomless")
        assert "This link asks for the comparison of 'bottomless'. Available: names and bytes." in words_of(
            at
        )


def test_a_place_outside_the_roots_is_refused_on_a_server(
    open_page: OpenPage, settings: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.setenv(f"{PREFIX}ADDRESS", "192.0.2.1")
    settings.setenv(f"{PREFIX}ROOTS", json.dumps({"samples": str(SAMPLES)}))
    copy = copy_sample("files-stopped-cleanly", tmp_path)
    at = compared(open_page, CLEAN, copy)
    assert "lies outside the configured roots" in words_of(at)
    assert "do not differ" not in words_of(at)


def test_the_command_line_on_the_page_gives_the_same(
    open_page: OpenPage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "a place with 'quotes'"
    place.mkdir()
    copy = copy_sample("windowed-aggregation-hot-partition", place)
    (copy / "commits" / "3").unlink()
    at = compared(open_page, HOT, copy, depth="bytes")
    (command,) = [code.value for code in at.code if code.value.startswith("python -m core ")]
    assert command.endswith("--level deep")
    assert cli.main([*shlex.split(command)[3:], "--json"]) == 1
    told = json.loads(capsys.readouterr().out)["differences"]
    absent = {None: "not there"}
    assert [(one["what"], absent.get(one["a"], one["a"]), one["b"]) for one in told] == [
        (what, {"only in A": "has it"}.get(a, a), {"not there": None}.get(b, b)) for what, a, b in rows_of(at)
    ]


def test_the_download_holds_every_difference_with_its_part(tmp_path: Path) -> None:
    a = kafka_checkpoint(tmp_path / "a", range(90), commits=range(90))
    b = kafka_checkpoint(tmp_path / "b", range(90), commits=range(89))
    rewrite(b / "metadata", '{"id":"=1+1"}')
    found = compare(Checkpoint.open(str(a)), Checkpoint.open(str(b)), 100)
    columns = comparison_tables.whole(found)
    lines = list(csv.reader(tables.to_csv(columns).splitlines()))
    assert lines[0] == ["area", "what", "A", "B"]
    assert lines[1][:2] == ["metadata", "query ID"] and lines[1][3] == "'=1+1"
    assert lines[-1] == ["commits", "batch 89", "only in A", ""]
    assert len(lines) - 1 == len(json.loads(tables.to_json(columns))) == len(found.differences)


def test_hostile_text_of_both_sides_is_drawn_as_plain_text(open_page: OpenPage, tmp_path: Path) -> None:
    hostile = hostile_checkpoint(tmp_path / "![x](http:evil.example)<b>")
    for ck, other in ((CLEAN, hostile), (hostile, CLEAN)):
        at = compared(open_page, ck, other)
        assert_only_plain(at, "compare")
        assert any("evil.example" in cell for row in rows_of(at) for cell in row)


def test_times_are_moments_and_names_are_in_the_order_of_their_numbers(open_page: OpenPage) -> None:
    rows = rows_of(compared(open_page, HOT, "samples/join-watermark-held-back/checkpoint"))
    file = (SAMPLES / HOT.removeprefix("samples/") / "offsets" / "1").read_text(encoding="utf-8")
    planned_ms = json.loads(file.splitlines()[1])["batchTimestampMs"]
    when = datetime.fromtimestamp(planned_ms / 1000, UTC)
    time = next(row for row in rows if row[0] == "batch 1, time")
    assert time[1] == f"{when:%Y-%m-%d %H:%M:%S.}{when.microsecond // 1000:03d} UTC"
    assert not [row for row in rows if row[0].endswith("(ms)")]
    names = [row[0] for row in rows if row[0].startswith("state/0/0/") and row[0].endswith(".changelog")]
    assert names == [f"state/0/0/{version}.changelog" for version in range(1, 11)]


def test_a_value_cannot_pose_as_another_line_of_a_table() -> None:
    columns = {"what": ["a\nb", "c"], "A": ["1\n  B: 2", None], "B": ["3", "4"]}
    assert tables.as_lines(columns, "not there") == "a b\n  A: 1   B: 2\n  B: 3\nc\n  A: not there\n  B: 4"


def test_the_next_start_of_both_is_said(open_page: OpenPage, tmp_path: Path) -> None:
    copy = copy_sample("windowed-aggregation-hot-partition", tmp_path)
    (copy / "state" / "0" / "1" / "9.changelog").unlink()
    shown = words_of(compared(open_page, HOT, copy))
    assert "▲ Next start: A resumes with batch 10; B fails in batch 10." in shown
    assert "Spark will start and fail in batch 10" in shown and "9.changelog is missing" in shown
    shown = words_of(compared(open_page, copy, HOT))
    assert "● Next start: A fails in batch 10; B resumes with batch 10." in shown
    same = copy_sample("windowed-aggregation-hot-partition", tmp_path / "same")
    (same / "state" / "0" / "1" / "9.changelog").unlink()
    shown = words_of(compared(open_page, copy, same))
    assert "▲ Next start: A fails in batch 10; B fails in batch 10." in shown
    assert shown.count("Spark will start and fail in batch 10") == 1, "it stands above"
