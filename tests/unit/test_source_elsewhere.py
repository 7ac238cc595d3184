"""A file source that is to read another place than its log names. What Spark does was seen in restarts of 3.5,
4.1 and 4.3 (tests/spark/test_source_elsewhere.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.connectors import ConnectorSettings
from core.connectors.connect import ask_connectors
from core.connectors.input_files import above_pattern, is_below, is_outside
from core.judgement import judge
from core.settings import Settings
from core.storage import parse_location
from tests.support.build import offset_text, write
from tests.support.forecasting import files_checkpoint, said_of


def checkpoint_of(directory: str, root: Path, commits: range = range(5)) -> Path:
    """Five batches, each of one file that the log names in ``directory``."""
    files_checkpoint(root, commits=commits)
    for log_id in range(5):
        line = {"path": f"{directory}/{log_id}.json", "timestamp": 1_795_176_000_000, "batchId": log_id}
        write(root, {f"sources/0/{log_id}": "v1\n" + json.dumps(line)})
    return root


def checkpoint_over(folder: Path, root: Path, commits: range = range(5), **changes: str) -> Path:
    """The same with files that are there."""
    folder.mkdir(exist_ok=True)
    for log_id in range(5):
        (folder / f"{log_id}.json").write_text("{}")
    return write(checkpoint_of(f"file://{folder}", root, commits), changes)


@pytest.mark.parametrize(("commits", "fails_at"), [(range(5), "start"), (range(4), "batch")])
@pytest.mark.parametrize("name", ["beside", "in/new"])
def test_files_that_are_asked_for_again_and_lie_elsewhere(
    tmp_path: Path, commits: range, fails_at: str, name: str
) -> None:
    root = checkpoint_over(tmp_path / "in", tmp_path / "ck", commits)
    (tmp_path / name).mkdir()
    answer = said_of(root, tmp_path / name)
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", fails_at, "SOURCE_PATH_MOVED")
    assert answer.error is not None and answer.error.message == "Wrong basePath"
    assert answer.certainty == "inferred" and str(tmp_path / name) in answer.sentence
    assert [str(each) for each in answer.evidence] == ["sources/0/4"]


@pytest.mark.parametrize("name", ["in", "in/", "i", "i*", "in/*.json", "i[mn]", "{in,other}"])
def test_a_path_that_begins_as_the_files_do_and_a_glob_are_not_refused(tmp_path: Path, name: str) -> None:
    """Spark compares texts: ``/i`` is above ``/in/f`` to it; a glob is compared with nothing."""
    root = checkpoint_over(tmp_path / "in", tmp_path / "ck")
    (tmp_path / "i").mkdir()
    answer = said_of(root, f"{tmp_path}/{name}")
    assert answer.outcome == "resume"
    unread = [text for text in answer.not_checked if "wildcard" in text]
    assert len(unread) == any(sign in name for sign in "*[{")


def test_a_link_to_the_directory_is_not_judged(tmp_path: Path) -> None:
    """Spark refuses it, where the query names it so; a person may name the place otherwise than the query."""
    root = checkpoint_over(tmp_path / "in", tmp_path / "ck")
    (tmp_path / "link").symlink_to(tmp_path / "in")
    assert said_of(root, tmp_path / "link").outcome == "resume"


def test_a_start_that_asks_for_no_file_takes_moved_ones_for_new(tmp_path: Path) -> None:
    last = offset_text(['{"logOffset":3}'])
    root = checkpoint_over(tmp_path / "in", tmp_path / "ck", **{"offsets/4": last})
    (root / "sources/0/4").unlink()
    (tmp_path / "beside").mkdir()
    assert "SOURCE_FILES_ELSEWHERE" not in [risk.id for risk in said_of(root, tmp_path / "in").risks]
    answer = said_of(root, tmp_path / "beside")
    assert "SOURCE_FILES_ELSEWHERE" in [risk.id for risk in answer.risks]
    assert answer.data.append == "duplicates" and not answer.data.is_sure("append")


@pytest.mark.parametrize("name", ["", "i*", "{in,other}"])
def test_files_that_were_moved_below_the_place_are_taken_for_new(tmp_path: Path, name: str) -> None:
    """Seen on 4.3, with a directory above and recursiveFileLookup, and with a glob: every row came again."""
    last = offset_text(['{"logOffset":3}'])
    root = checkpoint_over(tmp_path / "in", tmp_path / "ck", **{"offsets/4": last})
    (root / "sources/0/4").unlink()
    place = f"{tmp_path}/{name}"
    assert not said_of(root, place).reads_elsewhere
    (tmp_path / "in").rename(tmp_path / "in2")
    answer = said_of(root, place)
    assert answer.outcome == "resume" and answer.reads_elsewhere
    (risk,) = [risk for risk in answer.risks if risk.id == "SOURCE_FILES_ELSEWHERE"]
    assert risk.certainty == "needs_input" and f"{tmp_path}/in, where the newest file" in risk.sentence
    assert answer.data.append == "duplicates" and not answer.data.is_sure("append")


@pytest.mark.parametrize("directory", ["file:///nowhere/at/all", "s3a://bucket/in", "dbfs:/mnt/in"])
def test_a_place_that_cannot_be_compared_with_the_log_is_not_checked(tmp_path: Path, directory: str) -> None:
    root = checkpoint_of(directory, tmp_path / "ck")
    (tmp_path / "here").mkdir()
    answer = said_of(root, tmp_path / "here")
    assert answer.outcome == "resume" and not answer.reads_elsewhere
    (said,) = [text for text in answer.not_checked if "nothing here tells whether" in text]
    assert str(tmp_path / "here") in said and f"{directory}/4.json" in said
    here = checkpoint_over(tmp_path / "in", tmp_path / "other")
    for place in ("in", "i*"):
        assert not any("nothing here tells" in text for text in said_of(here, tmp_path / place).not_checked)


@pytest.mark.parametrize("commits", [range(5), range(4)])  # fails at the start; fails in the pending batch
def test_an_exact_position_repeats_what_was_moved_to_the_other_place(tmp_path: Path, commits: range) -> None:
    ck = Checkpoint.open(str(checkpoint_over(tmp_path / "in", tmp_path / "ck", commits)))
    (tmp_path / "beside").mkdir()
    exact = {}
    for name in ("in", "beside"):
        place = parse_location(str(tmp_path / name))
        answers = ask_connectors(ck, ConnectorSettings(sources={"0": place}))
        exact[name] = next(each for each in judge(ck, answers).impacts if each.start == "exact position")
    assert exact["in"].repeats_rows == (0 if len(commits) == 5 else None)
    assert "moved" not in exact["in"].sentence and "moved or copied there" in exact["beside"].sentence
    assert (exact["beside"].repeats_rows, exact["beside"].certainty) == (None, "needs_input")


def test_planned_files_are_looked_for_above_the_wildcard(tmp_path: Path) -> None:
    root = checkpoint_over(tmp_path / "in", tmp_path / "ck", range(4))
    (tmp_path / "in" / "4.json").unlink()
    answer = said_of(root, f"{tmp_path}/in/*.json")
    assert [risk.id for risk in answer.risks] == ["INPUT_GONE"]


@pytest.mark.parametrize("directory", ["file:///not/here/in", "dbfs:/mnt/in"])
def test_files_of_another_machine_and_of_a_mount_are_not_judged(tmp_path: Path, directory: str) -> None:
    """A checkpoint that was copied here with its input: the query itself reads where its log says. Of a mount
    the log names one place, and a person names what is mounted."""
    root = checkpoint_of(directory, tmp_path / "ck", range(4))
    (tmp_path / "in").mkdir()
    answer = said_of(root, tmp_path / "in")
    assert answer.outcome == "rerun"
    assert any("names outside of the directory that was given" in text for text in answer.not_checked)


def test_files_in_a_bucket_are_judged_by_their_names() -> None:
    home, place = parse_location("s3://bucket/ck"), parse_location("s3://bucket/new")
    assert is_outside("s3a://bucket/in/0.json", place, home, Settings())
    assert not is_outside("s3a://bucket/new/0.json", place, home, Settings())
    assert is_outside("s3a://other/new/0.json", place, home, Settings())
    assert not is_outside("dbfs:/mnt/in/0.json", place, home, Settings())


@pytest.mark.parametrize(
    ("path", "above"),
    [
        ("/in/2026-*/x", "/in"),
        ("/in/[0-9].json", "/in"),
        ("/in/{a,b}", "/in"),
        ("/in/a?c/d", "/in"),
        ("/in/new", "/in/new"),
        ("bucket/day=*/part", "bucket"),
    ],
)
def test_the_path_above_the_first_wildcard(path: str, above: str) -> None:
    assert above_pattern(path) == above


def test_a_bucket_is_part_of_the_path() -> None:
    place = parse_location("s3a://bucket/in/day=*")
    assert is_below("s3a://bucket/in/day=1/0.json", place)
    assert not is_below("s3a://other/in/day=1/0.json", place)
