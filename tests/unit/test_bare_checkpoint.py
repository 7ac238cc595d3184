"""A directory that was emptied, or that has a part of a checkpoint alone: what a start does there. Seen with
Spark 3.5 and 4.3."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.analysis.forecast import Query
from core.checkpoint import Checkpoint
from core.cli import main
from core.connectors import ConnectorSettings
from core.connectors.connect import ask_connectors
from core.errors import LocationNotFound, NotACheckpoint
from core.judgement import judge
from core.recovery import Answers
from core.storage import parse_location
from tests.support.build import copy_sample, write
from tests.support.forecasting import METADATA, files_entry, said

Run = Callable[..., tuple[int, dict[str, Any]]]
LEFT: dict[str, dict[str, str | bytes]] = {
    "nothing": {},
    "sources": {"sources/0/0": files_entry(0), "sources/0/1": files_entry(1)},
    "state": {"state/0/0/1.delta": b"x"},
    "metadata": {"metadata": METADATA},
}


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    def call(*arguments: object) -> tuple[int, dict[str, Any]]:
        status = main([*(str(argument) for argument in arguments), "--json"])
        return status, json.loads(capfdbinary.readouterr()[0] or b"{}")

    return call


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize("verb", ["forecast", "check", "inspect", "resume", "recover"])
def test_every_verb_answers(tmp_path: Path, run: Run, left: str, verb: str) -> None:
    status, answer = run(verb, write(tmp_path, LEFT[left]))
    assert status in (0, 1) and answer["schema_version"] == 1


def test_an_empty_directory_may_be_an_emptied_checkpoint(tmp_path: Path) -> None:
    answer = said(tmp_path)
    assert (answer.outcome, answer.batch_id) == ("fresh_start", 0)
    assert [(risk.id, risk.weight) for risk in answer.risks] == [("FRESH_START", "attention")]
    assert (answer.data.append, answer.data.is_sure("append")) == ("duplicates", False)
    assert not answer.is_data_risk
    assert Checkpoint.open(str(tmp_path)).is_bare


def test_empty_log_directories_are_a_query_before_its_first_batch(tmp_path: Path) -> None:
    write(tmp_path, LEFT["metadata"])
    for log in ("offsets", "commits"):
        (tmp_path / log).mkdir()
    assert [(risk.id, risk.weight) for risk in said(tmp_path).risks] == [("FRESH_START", "note")]


def first_write(tmp_path: Path, age_seconds: int) -> Path:
    """A new query that writes offsets/0, or was killed while it did."""
    name = ".0.7d3c1f2e-0f4a-4b7e-9d52-1c6a8e4b9f10.tmp"
    write(tmp_path, {**LEFT["metadata"], f"offsets/{name}": "v1", f"offsets/.{name}.crc": b"crc"})
    (tmp_path / "commits").mkdir()
    moment = time.time() - age_seconds
    os.utime(tmp_path / "offsets" / name, (moment, moment))
    return tmp_path


def test_a_first_batch_that_may_be_being_written_is_no_failure(tmp_path: Path) -> None:
    answer = said(first_write(tmp_path, age_seconds=1))
    assert (answer.outcome, answer.batch_id) == ("fresh_start", 0)
    assert "may be writing its first batch" in answer.not_checked[0]


def test_an_old_unfinished_write_stops_batch_0(tmp_path: Path) -> None:
    answer = said(first_write(tmp_path, age_seconds=120))
    assert (answer.outcome, answer.reason) == ("fail", "OLD_FILES_BEFORE_BATCH_0")


def test_hidden_checksums_alone_are_no_old_files(tmp_path: Path) -> None:
    write(tmp_path, {**LEFT["metadata"], "offsets/.notes.txt.crc": b"crc"})
    (tmp_path / "commits").mkdir()
    assert said(tmp_path).outcome == "fresh_start"


def starting(root: Path, age_seconds: int, entries: int = 1) -> Path:
    """What a query has written before it plans batch 0, or more ``entries`` of its source."""
    files = {f"sources/0/{number}": files_entry(number) for number in range(entries)}
    write(root, {**LEFT["metadata"], **files})
    for log in ("offsets", "commits"):
        (root / log).mkdir()
    for path in root.rglob("*"):
        os.utime(path, (time.time() - age_seconds,) * 2)
    return root


def test_a_query_that_starts_for_the_first_time_is_no_alarm(tmp_path: Path) -> None:
    answer = said(starting(tmp_path, age_seconds=10))
    assert answer.outcome == "fresh_start" and not answer.is_data_risk
    assert [(risk.id, risk.weight, risk.certainty) for risk in answer.risks] == [
        ("FRESH_START", "note", "needs_input")
    ]
    assert "a query may be starting for the first time" in answer.sentence
    assert "has been used" not in answer.sentence


@pytest.mark.parametrize(("age_seconds", "entries"), [(120, 1), (10, 2)])
def test_older_files_and_later_entries_show_that_it_was_used(
    tmp_path: Path, age_seconds: int, entries: int
) -> None:
    answer = said(starting(tmp_path, age_seconds, entries))
    assert answer.is_data_risk and "sources/0 shows that this checkpoint has been used" in answer.sentence


def test_metadata_alone_is_for_attention(tmp_path: Path) -> None:
    answer = said(write(tmp_path, LEFT["metadata"]))
    assert [(risk.id, risk.weight) for risk in answer.risks] == [("FRESH_START", "attention")]
    assert "Only metadata is left" in answer.sentence


def test_sources_alone_show_that_it_was_used(tmp_path: Path) -> None:
    answer = said(write(tmp_path, LEFT["sources"]))
    assert answer.outcome == "fresh_start" and answer.is_data_risk
    assert (answer.data.append, answer.data.overwrite, answer.data.skip) == (
        "duplicates",
        "duplicates",
        "loss",
    )


@pytest.mark.parametrize(("spark", "outcome"), [("4.3", "fail"), ("4.1", "fail"), ("4.0", "fresh_start")])
def test_state_alone_is_refused_from_4_1_on_for_every_query(tmp_path: Path, spark: str, outcome: str) -> None:
    write(tmp_path, LEFT["state"])
    for operators in (None, (), ("stateStoreSave",)):
        assert said(tmp_path, spark, operators=operators).outcome == outcome


def test_another_file_beside_it_makes_it_something_else(tmp_path: Path) -> None:
    with pytest.raises(NotACheckpoint):
        Checkpoint.open(str(write(tmp_path, {"notes.txt": "x", **LEFT["state"]})))


def test_a_place_that_is_not_there_says_what_a_start_means(tmp_path: Path) -> None:
    with pytest.raises(LocationNotFound) as caught:
        Checkpoint.open(str(tmp_path / "gone"))
    assert "starts from scratch with batch 0; if it has run before" in str(caught.value)


# With source and sink


def test_the_batches_that_a_file_sink_will_skip(tmp_path: Path, run: Run, samples: Path) -> None:
    status, answer = run("forecast", tmp_path, "--sink", samples / "files-died-mid-batch/sink")
    assert (status, answer["sink"]["holds_up_to_batch"]) == (1, 6)
    assert "Batches 0 to 6 will be skipped" in answer["sentence"]
    assert (answer["data"]["skip"], answer["data_sure"]["skip"]) == ("loss", False)


def test_a_delta_table_skips_nothing_because_the_query_gets_a_new_id(
    tmp_path: Path, run: Run, samples: Path
) -> None:
    status, answer = run("forecast", tmp_path, "--sink", samples / "delta-batch-already-in-table/sink")
    assert status == 1
    assert "SINK_NEW_QUERY_ID" in [risk["id"] for risk in answer["risks"]]
    assert answer["data"]["skip"] != "exact"


def test_a_delta_table_skips_by_the_old_id_when_metadata_was_kept(
    tmp_path: Path, run: Run, samples: Path
) -> None:
    sample = samples / "delta-batch-already-in-table"
    write(tmp_path, {"metadata": (sample / "checkpoint/metadata").read_bytes()})
    _, answer = run("forecast", tmp_path, "--sink", sample / "sink")
    assert "SINK_AHEAD" in [risk["id"] for risk in answer["risks"]]
    assert "will be skipped, regardless of content" in answer["sentence"]


def test_a_new_output_has_nothing_to_skip_or_to_repeat(tmp_path: Path, run: Run) -> None:
    place, output = tmp_path / "ck", tmp_path / "out"
    place.mkdir()
    write(output, {"_spark_metadata/.keep": ""})
    _, answer = run("forecast", place, "--sink", output)
    assert answer["outcome"] == "fresh_start"


def test_a_source_may_be_given_although_the_checkpoint_names_none(
    tmp_path: Path, run: Run, samples: Path
) -> None:
    source = samples / "delta-batch-already-in-table/source"
    for verb in ("forecast", "check", "resume", "recover"):
        assert run(verb, tmp_path, "--source", f"0={source}")[0] in (0, 1)


def test_a_sink_without_a_log_under_a_checkpoint_with_batches(
    tmp_path: Path, run: Run, samples: Path
) -> None:
    status, answer = run("check", samples / "files-stopped-cleanly/checkpoint", "--sink", tmp_path)
    found = next(item for item in answer["findings"] if item["id"] == "SINK_NO_LOG")
    assert (status, found["severity"]) == (0, "attention")
    assert "a new output directory under an old checkpoint" in found["sentence"]
    assert sum("sink" in item for item in answer["not_checked"]) == 1
    assert not any("log of the sink" in item for item in answer["checked"])


def test_a_sink_that_is_not_there_under_a_checkpoint_with_batches(
    tmp_path: Path, run: Run, samples: Path
) -> None:
    """Seen on Spark 4.3: the output was deleted, two batches were written on, and nobody could read them."""
    place = samples / "files-stopped-cleanly/checkpoint"
    _, answer = run("forecast", place, "--sink", tmp_path / "gone")
    assert [risk["id"] for risk in answer["risks"]] == ["SINK_NO_LOG"]
    assert "committed batches up to 13" in answer["sentence"] and answer["data"]["skip"] == "unknown"
    _, fresh = run("forecast", tmp_path, "--sink", tmp_path / "gone")
    assert "SINK_NO_LOG" not in [risk["id"] for risk in fresh["risks"]], "nothing was written yet"


def test_a_broken_newest_offset_is_not_called_a_batch_that_runs_again(
    tmp_path: Path, run: Run, samples: Path
) -> None:
    root = copy_sample("files-died-mid-batch", tmp_path / "s")
    newest = max(int(path.name) for path in (root / "offsets").iterdir() if path.name.isdecimal())
    (root / f"offsets/{newest}").write_bytes(b"v1\n{")
    (root / f"offsets/.{newest}.crc").unlink(missing_ok=True)
    ids = [item["id"] for item in run("check", root)[1]["findings"]]
    assert "LOG_FILE_UNREADABLE" in ids and "BATCH_NOT_COMMITTED" not in ids


@pytest.mark.parametrize("is_there", [True, False])
def test_the_log_of_a_file_sink_that_is_gone_is_a_risk_once_somebody_says_what_the_sink_is(
    tmp_path: Path, samples: Path, is_there: bool
) -> None:
    """The start was "resumes", and nobody could read the output after it."""
    place = tmp_path / "out"
    if is_there:
        place.mkdir()
    ck = Checkpoint.open(str(samples / "files-stopped-cleanly" / "checkpoint"))
    connectors = ask_connectors(ck, ConnectorSettings(sink=parse_location(str(place))))
    judged = judge(ck, connectors)
    assert [risk.id for risk in judged.forecast.risks] == ["SINK_NO_LOG"]
    assert not judged.forecast.is_data_risk
    for start in (
        judge(ck, connectors, query=Query(sink="file")).forecast,
        judged.recovery(Answers({"sink": "file"})).forecast,
    ):
        assert start is not None and start.outcome == "resume" and start.is_data_risk
        assert [risk.id for risk in start.risks] == ["SINK_LOG_GONE"]
        assert "cannot read the output then" in start.sentence
        assert "Delta" not in start.sentence and "ther sink" not in start.sentence
    assert judged.recovery(Answers({"sink": "file"})).is_sink_log_gone
    other = judged.recovery(Answers({"sink": "foreach_append"})).forecast
    assert other is not None and [risk.id for risk in other.risks] == ["SINK_NO_LOG"]
