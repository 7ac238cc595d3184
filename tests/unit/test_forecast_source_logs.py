"""What a start of Spark reads of a file source's log and of a rate source, and the input files that the log
names."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from core.analysis.forecast import Forecast, forecast
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers, ConnectorSettings
from core.connectors.connect import ask_connectors
from core.judgement import judge
from core.recovery import Answers, options, read_recovery_context
from core.recovery.resume import resume_points
from core.settings import Settings
from core.sparklogs.compactible import compactible_log
from core.storage import Door, parse_location
from tests.support.build import commit_text, kafka_checkpoint, kafka_offset, offset_text, remove, write
from tests.support.forecasting import METADATA, files_checkpoint, files_entry, said, said_of

ENTRY = "sources/0/4"


def compacted(root: Path, compact: int, batches: int) -> Path:
    """A query over one file source whose log has one compact file."""
    files_checkpoint(root, batches=batches)
    lines = [files_entry(i).split("\n", 1)[1] for i in range(compact + 1)]
    remove(root, *(f"sources/0/{i}" for i in range(compact + 1)))
    return write(root, {f"sources/0/{compact}.compact": "\n".join(["v1", *lines])})


# A file of the log that cannot be read


@pytest.mark.parametrize(
    ("content", "condition", "error_class", "message"),
    [
        ("", None, "IllegalStateException", "sources/0/4. Incomplete log file"),
        (
            "v9\n{}",
            "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION",
            "SparkIllegalStateException",
            "maximum supported log version is v1, but encountered v9",
        ),
        ("{}", "MALFORMED_LOG_FILE", "SparkIllegalStateException", "failed to read correct log version"),
        (files_entry(4)[:40], None, "JsonEOFException", "Unexpected end-of-input"),
        ("v1\n{hello", None, "JsonParseException", "Un"),
        (f"{files_entry(4)}\nxyz\n", None, "JsonParseException", "Un"),
        ("v1\n{}", None, "MappingException", "No usable value for path"),
        (f"{files_entry(4)}\n\n", None, "MismatchedInputException", "No content to map due to end-of-input"),
    ],
)
@pytest.mark.parametrize("commits", [range(5), range(4)])
def test_a_damaged_entry_stops_the_start_whether_or_not_the_batch_is_committed(
    tmp_path: Path, content: str, condition: str | None, error_class: str, message: str, commits: range
) -> None:
    write(files_checkpoint(tmp_path, commits=commits), {ENTRY: content})
    answer = said(tmp_path)
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "start", "SOURCE_LOG_UNREADABLE")
    assert answer.error is not None
    assert (answer.error.condition, answer.error.error_class) == (condition, error_class)
    assert message in answer.error.message and str(answer.evidence[0]).startswith(ENTRY)


def test_a_damaged_entry_stops_the_start_also_without_offsets(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"sources/0/2": ""})
    remove(tmp_path, *(f"{log}/{i}" for log in ("offsets", "commits") for i in range(5)))
    assert said(tmp_path).reason == "SOURCE_LOG_UNREADABLE"


def test_of_two_damaged_entries_the_newest_is_met_first(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"sources/0/1": "", ENTRY: "v9\n{}"})
    assert str(said(tmp_path).evidence[0]).startswith(ENTRY)


def test_a_damaged_entry_is_met_before_a_gap_behind_it(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"sources/0/1": ""})
    remove(tmp_path, "sources/0/3")
    assert said(tmp_path).reason == "SOURCE_LOG_UNREADABLE"


def test_a_damaged_file_before_the_newest_compact_file_does_not_matter(tmp_path: Path) -> None:
    write(compacted(tmp_path, 9, 12), {"sources/0/3": "", "sources/0/8": "v9"})
    assert said(tmp_path).outcome == "resume"


def test_a_damaged_compact_file_stops_the_start(tmp_path: Path) -> None:
    write(compacted(tmp_path, 9, 12), {"sources/0/9.compact": ""})
    assert said(tmp_path).reason == "SOURCE_LOG_UNREADABLE"


def test_a_name_with_leading_zeros_stops_the_start(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"sources/0/09.compact": "v1\n"})
    answer = said(tmp_path)
    assert (answer.outcome, answer.reason) == ("fail", "LOG_FILE_NAME")
    assert answer.error is not None and answer.error.message.endswith("/sources/0/9.compact does not exist")


def test_a_log_that_is_longer_than_the_limit_is_named_as_not_read(tmp_path: Path) -> None:
    write(compacted(tmp_path, 9, 12), {"sources/0/9.compact": "v1\n" + "x" * 2000})
    checkpoint = Checkpoint.open(str(tmp_path), Settings(restart_log_bytes=1024))
    answer = forecast(checkpoint)
    assert answer.outcome == "resume"
    assert any("sources/0/9.compact" in item for item in answer.not_checked)


# A file of the log that names no input file


def test_an_entry_without_files_is_a_data_risk(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {ENTRY: "v1"})
    answer = said(tmp_path, new_data="yes")
    assert answer.outcome == "resume" and [risk.id for risk in answer.risks] == ["SOURCE_LOG_INCOMPLETE"]
    assert answer.data.append == "duplicates" and not answer.data.is_sure("append")
    assert "when there is new data, and at once where files that were read before" in said(tmp_path).sentence


def test_a_compact_file_without_its_last_lines_is_a_data_risk(tmp_path: Path) -> None:
    path = compacted(tmp_path, 9, 12) / "sources/0/9.compact"
    write(tmp_path, {"sources/0/9.compact": "\n".join(path.read_text().split("\n")[:-2])})
    assert [risk.id for risk in said(tmp_path).risks] == ["SOURCE_LOG_INCOMPLETE"]
    judgement = judge(Checkpoint.open(str(tmp_path)))
    context = judgement.recovery(Answers({"sink": "foreach_append"}))
    reset = next(option for option in options(context) if option.id == "reset")
    assert reset.possible and not reset.recommended and reset.why.startswith("The position is not exact.")
    assert (
        reset.repeats == "Files that were read and that their log no longer names, if they are still there."
    )
    exact = next(each for each in judgement.impacts if each.start == "exact position")
    assert exact.repeats_rows is None and "has lost entries" in exact.sentence


# The names of the log


def test_the_interval_is_the_distance_of_the_two_newest_compact_files(tmp_path: Path) -> None:
    write(tmp_path, {f"s/{name}": "v1\n" for name in ("29.compact", "39.compact", "40", "41")})
    log = compactible_log(Door.open(str(tmp_path)).list(["s"])["s"])
    assert log.interval == 10 and not log.missing and list(log.files) == [39, 40, 41]


def test_a_compact_file_that_is_missing_between_two_others_changes_the_interval(tmp_path: Path) -> None:
    write(tmp_path, {f"s/{name}": "v1\n" for name in ("2.compact", "8.compact", "9", "10")})
    log = compactible_log(Door.open(str(tmp_path)).list(["s"])["s"])
    assert log.interval == 6 and log.missing[0] == 5 and log.path_of(5) == "s/5.compact"


# The last entry is gone and no range asks for it


def test_files_that_count_as_done_start_no_batch(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    write(tmp_path, {"offsets/5": offset_text(['{"logOffset":4}']), "commits/5": commit_text()})
    remove(tmp_path, ENTRY)
    answer = said(tmp_path, new_data="yes")
    assert (answer.outcome, answer.batch_id) == ("resume", None)
    assert "SOURCE_LOG_BEHIND" in [risk.id for risk in answer.risks]


# A rate source


def rate_checkpoint(root: Path, start: str | None) -> Path:
    """A rate source with one committed batch that ends at second 115."""
    tree: dict[str, str | bytes] = {
        "metadata": METADATA,
        "offsets/0": offset_text(["115"]),
        "commits/0": commit_text(),
        "sources/0/.0.crc": b"crc",
    }
    return write(root, tree | ({} if start is None else {"sources/0/0": start}))


@pytest.mark.parametrize(
    ("start", "error_class"),
    [
        ("", "AssertionError"),
        ("v1", "IllegalStateException"),
        ("v9\n5", "SparkIllegalStateException"),
        ("v1\nhello", "NumberFormatException"),
    ],
)
def test_a_damaged_start_time_stops_the_start(tmp_path: Path, start: str, error_class: str) -> None:
    answer = said(rate_checkpoint(tmp_path, start))
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "start", "SOURCE_START_LOST")
    assert answer.error is not None and answer.error.error_class == error_class


def test_a_missing_start_time_fails_in_the_next_batch(tmp_path: Path) -> None:
    answer = said(rate_checkpoint(tmp_path, None), new_data="yes")
    assert (answer.outcome, answer.fails_at, answer.batch_id) == ("fail", "batch", 1)
    assert answer.error is not None and "startSeconds(115) > endSeconds(" in answer.error.message


# The first offsets of a Kafka source


@pytest.mark.parametrize(
    ("content", "error_class"),
    [
        (b"", "IllegalArgumentException"),
        (b"\0", "IllegalArgumentException"),
        (b"\0v1\n{", "IllegalArgumentException"),
        (b"\0v2\n" + kafka_offset(0).encode(), "SparkIllegalStateException"),
    ],
)
def test_damaged_first_offsets_stop_the_batch_while_batch_0_is_not_committed(
    tmp_path: Path, content: bytes, error_class: str
) -> None:
    answer = said(write(kafka_checkpoint(tmp_path, [0], commits=[]), {"sources/0/0": content}))
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "batch", "SOURCE_START_LOST")
    assert answer.error is not None and answer.error.error_class == error_class


@pytest.mark.parametrize("content", [b"\0v1\n" + kafka_offset(0).encode(), b"\0" + kafka_offset(0).encode()])
def test_first_offsets_that_spark_reads_are_fine(tmp_path: Path, content: bytes) -> None:
    root = write(kafka_checkpoint(tmp_path, [0], commits=[]), {"sources/0/0": content})
    assert said(root).outcome == "rerun"


def test_damaged_first_offsets_do_not_matter_once_batch_0_is_committed(tmp_path: Path) -> None:
    assert said(write(kafka_checkpoint(tmp_path, range(2)), {"sources/0/0": b""})).outcome == "resume"


# The input files of the batch that runs next


def pending(root: Path, place: Path) -> tuple[Path, list[Path]]:
    """A checkpoint whose batch 4 is pending, and its five input files, each of which has the time of its
    entry."""
    files_checkpoint(root, commits=range(4))
    place.mkdir(parents=True)
    files = []
    for i in range(5):
        path = place / f"{i:04d}.json"
        path.write_text("{}")
        entry = json.loads(files_entry(i).split("\n", 1)[1]) | {"path": path.as_uri()}
        os.utime(path, ns=(entry["timestamp"] * 1_000_000, entry["timestamp"] * 1_000_000))
        write(root, {f"sources/0/{i}": "v1\n" + json.dumps(entry)})
        files.append(path)
    return root, files


def risks(answer: Forecast) -> list[str]:
    return [risk.id for risk in answer.risks]


def test_inputs_that_are_there_leave_the_rows_exact(tmp_path: Path) -> None:
    root, _ = pending(tmp_path / "ck", tmp_path / "in put")
    answer = said(root)
    assert (answer.data.overwrite, answer.data.skip, risks(answer)) == ("exact", "exact", [])


def test_an_input_that_is_gone_is_looked_for_without_being_told(tmp_path: Path) -> None:
    root, files = pending(tmp_path / "ck", tmp_path / "in")
    files[4].unlink()
    answer = said(root)
    assert risks(answer) == ["INPUT_GONE"] and answer.data.overwrite == "loss"
    assert answer.data.is_sure("overwrite") and not answer.data.is_sure("append")


def test_an_input_that_may_have_been_renamed_may_come_later(tmp_path: Path) -> None:
    root, files = pending(tmp_path / "ck", tmp_path / "in")
    files[4].rename(tmp_path / "in" / "other.json")
    answer = said(root)
    assert risks(answer) == ["INPUT_GONE"] and not answer.data.is_sure("overwrite")


def test_an_input_with_another_time_has_changed(tmp_path: Path) -> None:
    root, files = pending(tmp_path / "ck", tmp_path / "in")
    files[4].write_text("{}\n{}")
    assert risks(said(root)) == ["INPUT_CHANGED"]


def test_a_folder_in_which_every_file_has_another_time_is_a_copy(tmp_path: Path) -> None:
    root, files = pending(tmp_path / "ck", tmp_path / "in")
    for path in files:
        os.utime(path, (1, 1))
    answer = said(root)
    assert risks(answer) == [] and (answer.data.overwrite, answer.data.skip) == ("unknown", "unknown")
    assert any(str(files[4]) in item for item in answer.not_checked)


def test_inputs_on_another_machine_are_named_as_not_looked_at(tmp_path: Path) -> None:
    root, files = pending(tmp_path / "ck", tmp_path / "in")
    (tmp_path / "in").rename(tmp_path / "away")
    answer = said(root)
    assert risks(answer) == [] and answer.data.overwrite == "unknown"
    assert any(files[4].name in item for item in answer.not_checked)


def test_inputs_outside_of_the_directory_that_was_given_are_said_to_be_so(tmp_path: Path) -> None:
    root, files = pending(tmp_path / "ck", tmp_path / "in")
    files[4].unlink()
    (tmp_path / "copy").mkdir()
    for name, wanted in (("copy", []), ("in", ["INPUT_GONE"])):
        places = {"0": parse_location(str(tmp_path / name))}
        answer = forecast(Checkpoint.open(str(root)), connectors=ConnectorAnswers(places=places))
        assert risks(answer) == wanted
        assert answer.reason == (None if wanted else "SOURCE_PATH_MOVED")


def test_a_server_looks_only_below_its_roots(tmp_path: Path) -> None:
    root, files = pending(tmp_path / "ck", tmp_path / "in")
    files[4].unlink()
    settings = Settings(address="0.0.0.0", roots={"ck": str(root)})  # type: ignore[dict-item]
    answer = forecast(Checkpoint.open(str(root), settings))
    assert risks(answer) == [] and answer.data.overwrite == "unknown"
    wider = Settings(address="0.0.0.0", roots={"all": str(tmp_path)})  # type: ignore[dict-item]
    assert risks(forecast(Checkpoint.open(str(root), wider))) == ["INPUT_GONE"]


def test_a_reset_loses_the_rows_of_planned_input_files_that_are_gone(tmp_path: Path) -> None:
    """Seen on Spark 4.3: the new checkpoint runs the planned batch, without an error and without the rows."""
    root, files = pending(tmp_path / "ck", tmp_path / "in")
    files[4].unlink()
    answers = Answers({"sink": "file", "source_complete": "no"})
    offered = options(read_recovery_context(Checkpoint.open(str(root)), answers))
    reset = next(each for each in offered if each.id == "reset")
    assert "0004.json" in reset.loses and "is gone" in reset.loses
    assert reset.recommended and "nothing is lost" not in reset.reason


def test_no_more_inputs_than_the_setting_allows_are_looked_for(tmp_path: Path) -> None:
    root, files = pending(tmp_path / "ck", tmp_path / "in")
    files[4].unlink()
    answer = forecast(Checkpoint.open(str(root), Settings(input_files=0)))
    assert risks(answer) == [] and answer.data.overwrite == "unknown"


def test_a_pending_batch_without_data_runs_before_a_log_that_is_behind_stops_the_query(
    tmp_path: Path,
) -> None:
    files_checkpoint(tmp_path)
    write(tmp_path, {"offsets/5": offset_text(['{"logOffset":4}'])})
    remove(tmp_path, ENTRY, "sources/0/3")
    answer = said(tmp_path, new_data="yes")
    assert (answer.outcome, answer.batch_id) == ("rerun", 5) and answer.then


def test_an_entry_that_was_replaced_by_an_older_one_names_no_file_of_its_own(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {ENTRY: files_entry(3)})
    assert [risk.id for risk in said(tmp_path).risks] == ["SOURCE_LOG_INCOMPLETE"]


# The directory that a source reads


def test_two_sources_of_two_places_do_not_share_the_only_log(tmp_path: Path) -> None:
    """Their lines are equal in every entry. Seen on Spark 4.3: batch 4 doesn't exist."""
    root = files_checkpoint(tmp_path / "ck")
    for number in range(5):
        line = json.dumps({"logOffset": number})
        file = {"path": f"file://{tmp_path}/a/{number}.json", "timestamp": 1, "batchId": number}
        write(root, {f"offsets/{number}": offset_text([line, line])})
        write(root, {f"sources/0/{number}": "v1\n" + json.dumps(file)})
    ck = Checkpoint.open(str(root))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    for number in range(5):
        (tmp_path / "a" / f"{number}.json").write_text("{}", encoding="utf-8")

    def connected(other: str) -> ConnectorAnswers:
        places = {"0": parse_location(str(tmp_path / "a")), "1": parse_location(str(tmp_path / other))}
        return ask_connectors(ck, ConnectorSettings(sources=places))

    once = forecast(ck, connectors=connected("a"))
    assert (once.outcome, once.certainty) == ("resume", "inferred")  # one DataFrame, used twice
    two = forecast(ck, connectors=connected("b"))
    assert (two.outcome, two.fails_at, two.reason) == ("fail", "start", "SOURCE_LOG_END_MISSING")
    assert "sources/1/4 is missing" in two.sentence
    context = read_recovery_context(ck, Answers({"source_complete": "yes"}), connected("b"))
    offered = {each.id: each for each in options(context)}
    assert not offered["restart"].possible and not offered["reset"].possible
    assert offered["full_refresh"].recommended
    _, other = resume_points(ck, connectors=connected("b")).sources
    assert "no log of its own" in other.point.note


def test_a_directory_that_is_named_and_gone_stops_the_start(tmp_path: Path) -> None:
    root, _ = pending(tmp_path / "ck", tmp_path / "in")
    shutil.rmtree(tmp_path / "in")
    answer = said_of(root, tmp_path / "in")
    assert (answer.outcome, answer.fails_at, answer.reason) == ("fail", "start", "SOURCE_PATH_GONE")
    assert answer.error is not None and answer.error.condition == "PATH_NOT_FOUND"
    assert str(tmp_path / "in") in answer.sentence


def test_a_directory_that_is_there_lets_the_start_go_on(tmp_path: Path) -> None:
    root, _ = pending(tmp_path / "ck", tmp_path / "in")
    answer = said_of(root, tmp_path / "in")
    step = next(step for step in answer.steps if step.id == "source_path")
    assert (answer.outcome, step.status) == ("rerun", "passes")


def test_without_its_name_nobody_says_whether_the_directory_is_there(tmp_path: Path) -> None:
    root, _ = pending(tmp_path / "ck", tmp_path / "in")
    shutil.rmtree(tmp_path / "in")
    answer = said(root)
    assert answer.outcome == "rerun" and "source_path" not in [step.id for step in answer.steps]


def test_a_pending_batch_that_keeps_some_of_its_inputs_may_repeat_or_lose_rows(tmp_path: Path) -> None:
    root, files = pending(tmp_path / "ck", tmp_path / "in")
    other = tmp_path / "in" / "0005.json"
    other.write_text("{}")
    os.utime(other, (5, 5))
    entries = (root / "sources" / "0" / "4").read_text()
    entry = json.loads(entries.split("\n", 1)[1]) | {"path": other.as_uri(), "timestamp": 5_000}
    (root / "sources" / "0" / "4").write_text(f"{entries}\n{json.dumps(entry)}")
    files[4].unlink()
    answer = said(root)
    assert risks(answer) == ["INPUT_GONE"]
    assert (answer.data.append, answer.data.overwrite) == ("unknown", "loss")


# Gaps and ends of the log in Spark's words


def test_a_range_of_which_nothing_is_left_is_said_by_its_first_entry(tmp_path: Path) -> None:
    root = files_checkpoint(tmp_path)
    text = (root / "offsets/4").read_text().replace('{"logOffset":4}', '{"logOffset":7}')
    (root / "offsets/4").write_text(text)
    remove(root, "sources/0/4")
    answer = said(root)
    assert answer.error is not None and answer.error.message == "batch 4 doesn't exist"


@pytest.mark.parametrize("lost", [range(3), (1, 3)])
def test_a_gap_that_may_have_been_a_compact_file_names_no_file(tmp_path: Path, lost: range) -> None:
    root = remove(files_checkpoint(tmp_path), *(f"sources/0/{i}" for i in lost)) or tmp_path
    answer = said(root)
    assert answer.reason == "SOURCE_LOG_GAP" and answer.error is not None
    assert answer.error.message == "doesn't exist (latestId: 4"


# Equal lines with one log


def test_equal_lines_with_one_log_are_not_said_for_sure_to_be_one_source(tmp_path: Path) -> None:
    files_checkpoint(tmp_path)
    for number in range(5):
        write(tmp_path, {f"offsets/{number}": offset_text([f'{{"logOffset":{number}}}'] * 2)})
    answer = said(tmp_path)
    assert (answer.outcome, answer.certainty) == ("resume", "inferred")
    assert any("sources/0 alone" in text for text in answer.not_checked)
    write(tmp_path, {f"sources/1/{number}": files_entry(number) for number in range(5)})
    assert said(tmp_path).certainty == "certain"


@pytest.mark.parametrize("commits", [range(5), range(4)])
def test_a_log_that_may_be_one_of_several_lines_is_not_missed(tmp_path: Path, commits: range) -> None:
    """``a.union(b).union(a)``: three equal lines, two directories (seen with 4.3)."""
    files_checkpoint(tmp_path, commits=commits)
    for number in range(5):
        write(tmp_path, {f"offsets/{number}": offset_text([f'{{"logOffset":{number}}}'] * 3)})
        write(tmp_path, {f"sources/1/{number}": files_entry(number)})
    for new_data in ("yes", "no"):
        answer = said(tmp_path, new_data=new_data)
        assert (answer.outcome, answer.certainty) == (
            "rerun" if len(commits) == 4 else "resume",
            "inferred",
        )
        assert any("that of source 2" in text for text in answer.not_checked)
        assert answer.data.overwrite == ("unknown" if len(commits) == 4 else "exact")
    shutil.rmtree(tmp_path / "sources/1")
    assert said(tmp_path).outcome != "fail"  # all three may be one DataFrame


@pytest.mark.parametrize("content", [files_entry(4), "v1\n"])
@pytest.mark.parametrize("commits", [range(5), range(4)])
def test_an_entry_after_the_newest_offset_that_names_no_file_repeats_nothing(
    tmp_path: Path, content: str, commits: range
) -> None:
    write(files_checkpoint(tmp_path, commits=commits), {"sources/0/5": content})
    answer = said(tmp_path, new_data="yes")
    assert [(risk.id, risk.weight) for risk in answer.risks] == [("SOURCE_LOG_ONE_AHEAD", "note")]


def test_an_entry_before_the_newest_offset_counts_also_beside_one_after_it(tmp_path: Path) -> None:
    write(files_checkpoint(tmp_path), {"sources/0/2": "v1", "sources/0/5": "v1"})
    risk = next(risk for risk in said(tmp_path).risks if risk.id == "SOURCE_LOG_INCOMPLETE")
    assert "sources/0/2 names no input file for entry 2:" in risk.sentence
