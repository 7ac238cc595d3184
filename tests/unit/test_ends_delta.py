"""A checkpoint against hand-written logs of its Delta tables and its file sink: what the ends, the forecast
and resume say, without an engine.

tests/delta runs the same rules on Spark."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from core.analysis.findings import CATALOGUE
from core.analysis.forecast import Forecast, Query, forecast
from core.checkpoint import Checkpoint
from core.checkpoint.sources.base import SourceContext
from core.checkpoint.sources.delta import DELTA
from core.connectors import ConnectorAnswers
from core.connectors.delta.log import DeltaLog
from core.connectors.delta.source import delta_source_state
from core.connectors.file_sink_log import FileSinkLog
from core.connectors.sink import sink_state
from core.judgement import judge
from core.recovery import Answers, options
from core.recovery.asked_query import asked_sink
from core.recovery.resume_delta import done_files, exclude_regex, filter_code, with_table
from core.storage import parse_location
from tests.support.build import QUERY_ID, commit_text, offset_text, write
from tests.support.delta_tables import (
    TABLE_ID,
    TIME,
    add,
    appends,
    batch,
    commit,
    info,
    log_path,
    metadata,
    parquet,
    taken,
)

OTHER = "11111111-2222-4333-8444-000000000002"


def offset(
    version: int, index: int = -1, snapshot: bool = False, table: str = TABLE_ID, source_version: int = 1
) -> dict[str, Any]:
    return {
        "sourceVersion": source_version,
        "reservoirId": table,
        "reservoirVersion": version,
        "index": index,
        "isStartingVersion": snapshot,
    }


def checkpoint(root: Path, *offsets: dict[str, Any], commits: int | None = None) -> Checkpoint:
    """Batch N ends at the N-th offset; ``commits`` of them are committed (default: all)."""
    tree: dict[str, str | bytes] = {"metadata": json.dumps({"id": QUERY_ID})}
    for number, end in enumerate(offsets):
        tree[f"offsets/{number}"] = offset_text([json.dumps(end)], timestamp_ms=TIME + 10_000_000 + number)
    for number in range(len(offsets) if commits is None else commits):
        tree[f"commits/{number}"] = commit_text()
    return Checkpoint.open(str(write(root / "ck", tree)))


def said(ck: Checkpoint, table: Path | None = None, sink: Path | None = None, **query: Any) -> Forecast:
    tables = {"0": DeltaLog.open(str(table))} if table is not None else {}
    connectors = ConnectorAnswers(tables=tables, sink=DeltaLog.open(str(sink)) if sink is not None else None)
    return forecast(ck, spark="4.2", query=Query(**query), connectors=connectors)


def risks(answer: Forecast) -> list[str]:
    return [risk.id for risk in answer.risks]


# The source against its table


def test_a_caught_up_query_has_no_lag(tmp_path: Path) -> None:
    table = appends(tmp_path / "t", 5)
    end = delta_source_state(checkpoint(tmp_path, offset(4), offset(5)), "0", DeltaLog.open(str(table)))
    assert (end.lag_versions, end.lag_rows, end.is_available, end.same_table) == (0, 0, True, True)
    assert end.sentence == "The query has read everything up to version 4, the newest."


def test_a_lag_counts_from_the_last_committed_batch_in_versions_files_bytes_and_rows(tmp_path: Path) -> None:
    table = appends(tmp_path / "t", 8)
    end = delta_source_state(
        checkpoint(tmp_path, offset(2), offset(4), offset(5), commits=2), "0", DeltaLog.open(str(table))
    )
    assert (end.position, end.lag_versions, end.lag_files, end.lag_bytes, end.lag_rows) == (4, 4, 4, 400, 40)
    assert end.sentence == "The query is 4 versions behind (versions 4 to 7): 4 files, 40 rows."


def test_inside_a_commit_only_the_files_that_are_left_count(tmp_path: Path) -> None:
    table = appends(tmp_path / "t", 2)
    commit(table, 2, [add("a", 1), add("b", 2), add("c", 4)])
    end = delta_source_state(checkpoint(tmp_path, offset(2), offset(2, 0)), "0", DeltaLog.open(str(table)))
    assert (end.lag_files, end.lag_rows) == (2, 6)


def test_inside_the_first_snapshot_what_is_left_of_it_counts_too(tmp_path: Path) -> None:
    table = appends(tmp_path / "t", 5)
    end = delta_source_state(
        checkpoint(tmp_path, offset(2, 0, True), offset(2, 1, True)), "0", DeltaLog.open(str(table))
    )
    assert (end.lag_files, end.lag_rows) == (1 + 2, 30)


def test_the_version_of_the_offset_before_the_newest_decides_whether_the_log_is_long_enough(
    tmp_path: Path,
) -> None:
    table = appends(tmp_path / "t", 8)
    ck = checkpoint(tmp_path, offset(2), offset(3), offset(5))
    for before, available in ((3, True), (4, False)):
        log_path(table, before - 1).unlink()
        end = delta_source_state(ck, "0", DeltaLog.open(str(table)))
        assert (end.needed_from, end.is_available) == (3, available)
    assert "needs the log from version 3 on" in end.sentence


def test_another_table_and_an_older_copy_are_told(tmp_path: Path) -> None:
    table = appends(tmp_path / "t", 4)
    other = delta_source_state(
        checkpoint(tmp_path / "a", offset(2, table=OTHER), offset(3, table=OTHER)),
        "0",
        DeltaLog.open(str(table)),
    )
    assert other.same_table is False and "another one than the query read" in other.sentence
    older = delta_source_state(
        checkpoint(tmp_path / "b", offset(7), offset(8)), "0", DeltaLog.open(str(table))
    )
    assert older.is_available is False and "an older copy" in older.sentence


def test_without_the_table_its_log_stays_under_not_checked_and_with_it_the_line_goes(tmp_path: Path) -> None:
    table = appends(tmp_path / "t", 5)
    ck = checkpoint(tmp_path, offset(3), offset(4))
    assert any("the Delta log of source 0" in line for line in said(ck).not_checked)
    assert not any("the Delta log" in line for line in said(ck, table).not_checked)


# The forecast


def test_files_that_vacuum_may_have_removed_stand_under_not_checked_while_some_wait(tmp_path: Path) -> None:
    """Versions 0 to 4: nothing looked for the data files of what the next batch reads."""
    table = appends(tmp_path / "t", 5)
    line = "whether the data files that batch 2 reads of source 0 are still there (VACUUM)"
    waiting = said(checkpoint(tmp_path / "a", offset(2), offset(3)), table)
    done = said(checkpoint(tmp_path / "b", offset(4), offset(5)), table)
    assert (waiting.outcome, line in waiting.not_checked) == ("resume", True)
    assert (done.outcome, line in done.not_checked) == ("resume", False)


def test_every_finding_about_the_ends_is_in_the_catalogue() -> None:
    assert len([name for name in CATALOGUE if name.startswith(("DELTA_", "SINK_"))]) >= 15


def test_a_cleaned_log_fails_at_start_when_the_batch_is_committed_and_in_the_batch_otherwise(
    tmp_path: Path,
) -> None:
    table = appends(tmp_path / "t", 8)
    parquet(log_path(table, 7, "checkpoint.parquet"), [metadata()])
    for version in range(4):
        log_path(table, version).unlink()
    committed = said(checkpoint(tmp_path / "a", offset(3), offset(5)), table)
    pending = said(checkpoint(tmp_path / "b", offset(3), offset(5), commits=1), table)
    assert (committed.reason, committed.fails_at, committed.batch_id) == ("DELTA_LOG_CLEANED", "start", None)
    assert (pending.reason, pending.fails_at, pending.batch_id) == ("DELTA_LOG_CLEANED", "batch", 1)
    assert committed.error is not None and committed.error.message.endswith(
        "cannot resume from version 3; transaction log starts at 4."
    )


@pytest.mark.parametrize(
    ("before", "newest", "words"),
    [
        (offset(5), offset(2), "version from 5 to 2"),
        (offset(2, 3), offset(2, 0), "index from 3 to 0"),
        (offset(2, 3, snapshot=True), offset(2, 1, snapshot=True), "index from 3 to 1"),
        (offset(2, 3, snapshot=True), offset(2), "index from 3 to -1"),
        (offset(2, 3, snapshot=True), offset(3), None),
        (offset(2, 3), offset(3), None),
        (offset(2), offset(2, -20, source_version=3), None),
        (offset(5), offset(2, table=OTHER), None),
    ],
)
@pytest.mark.parametrize("commits", [1, 2])
def test_a_position_before_the_one_of_the_batch_before_is_read_from_again(
    tmp_path: Path, before: dict[str, Any], newest: dict[str, Any], words: str | None, commits: int
) -> None:
    said = forecast(checkpoint(tmp_path, before, newest, commits=commits), spark="4.2")
    assert [risk.id for risk in said.risks] == (["OFFSET_WENT_BACK"] if words else [])
    if words:
        assert words in said.risks[0].sentence
        assert (said.data.skip, said.data.is_sure("skip")) == ("duplicates", False)


def test_waiting_deletes_are_inferred_without_the_options_and_certain_with_them(tmp_path: Path) -> None:
    table = appends(tmp_path / "t", 3)
    commit(table, 3, [info("DELETE", 3), taken("part-0.parquet")])
    ck = checkpoint(tmp_path, offset(2), offset(3))
    assert (said(ck, table).reason, said(ck, table).certainty) == ("DELTA_CHANGES_WAIT", "inferred")
    assert said(ck, table, options={"0": {}}).certainty == "certain"
    for option in ("ignoreDeletes", "skipChangeCommits", "ignoreChanges", "readChangeFeed"):
        assert said(ck, table, options={"0": {option: "true"}}).outcome == "resume"


def test_a_delete_that_the_query_let_pass_before_leaves_the_next_one_open(tmp_path: Path) -> None:
    table = appends(tmp_path / "t", 3)
    commit(table, 3, [info("DELETE", 3), taken("part-0.parquet")])
    commit(table, 4, [info("WRITE", 4), add("part-4.parquet")])
    commit(table, 5, [info("DELETE", 5), taken("part-1.parquet")])
    ck = checkpoint(tmp_path, offset(2), offset(4), offset(5))
    assert said(ck, table).outcome == "resume" and any(
        "it let version 3 pass" in text for text in said(ck, table).not_checked
    )
    commit(
        table, 5, [info("UPDATE", 5), taken("part-1.parquet"), add("part-5.parquet")]
    )  # ignoreDeletes would not let this one pass
    assert said(ck, table).reason == "DELTA_CHANGES_WAIT"


@pytest.mark.parametrize("commits", [1, 2])
@pytest.mark.parametrize("seconds", [-5, 1, 2, 59, 61])
@pytest.mark.parametrize("was_copied", [False, True])
def test_a_version_that_counts_as_read_and_is_younger_than_its_batch_leaves_the_answer_inferred(
    tmp_path: Path, seconds: int, was_copied: bool, commits: int
) -> None:
    """An older copy of the table that new commits had filled up within a minute was "certain". So was any in
    a checkpoint whose files were copied later, without their times."""
    checkpoint(tmp_path, offset(2), offset(4), commits=commits)
    planned_ms = TIME + 10_000_001  # of batch 1
    written = planned_ms / 1000 + (86_400 if was_copied else 0)
    os.utime(tmp_path / "ck/offsets/1", (written, written))
    table = appends(tmp_path / "t", 5)
    late = info("WRITE", 3)
    late["commitInfo"]["timestamp"] = planned_ms + seconds * 1000
    commit(table, 3, [late, add("part-3.parquet")])
    answer = said(Checkpoint.open(str(tmp_path / "ck")), table)
    is_refilled = seconds > 60 and not was_copied
    assert risks(answer) == (["DELTA_TABLE_REFILLED"] if is_refilled else [])
    assert answer.certainty == ("inferred" if seconds > 1 else "certain")
    is_rest = answer.outcome == ("rerun" if commits == 1 else "resume")
    assert is_rest and answer.data.is_sure("overwrite") != is_refilled
    told = [line for line in answer.not_checked if "was rolled back and its versions taken again" in line]
    assert bool(told) == (seconds > 1 and not is_refilled)
    assert not told or ("version 3 was written" in told[0] and "after batch 1, which counts it" in told[0])
    if is_refilled:
        judged = judge(
            Checkpoint.open(str(tmp_path / "ck")), ConnectorAnswers(tables={"0": DeltaLog.open(str(table))})
        )
        exact = next(each for each in judged.impacts if each.start == "exact position")
        assert exact.loses_rows is None and "some are never read" in exact.sentence


def test_after_a_pending_batch_a_waiting_delete_stops_the_next_one(tmp_path: Path) -> None:
    table = appends(tmp_path / "t", 3)
    commit(table, 3, [info("DELETE", 3), taken("part-0.parquet")])
    answer = said(checkpoint(tmp_path, offset(2), offset(3), commits=1), table)
    assert (
        answer.outcome == "rerun"
        and answer.then is not None
        and answer.then.startswith("The batch after it fails: version 3 of the table")
    )


def test_an_error_of_delta_has_its_condition_class_and_state(tmp_path: Path) -> None:
    table = appends(tmp_path / "t", 3)
    answer = said(checkpoint(tmp_path, offset(2, table=OTHER), offset(3, table=OTHER)), table)
    assert answer.error is not None
    assert (answer.error.condition, answer.error.sqlstate) == (
        "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
        "55019",
    )
    assert answer.error.error_class == "DeltaIllegalStateException" and TABLE_ID in answer.error.message


# The sink


def sink(place: Path, batches: int, query_id: str = QUERY_ID) -> Path:
    commit(place, 0, [info("CREATE TABLE"), metadata()])
    for number in range(batches):
        commit(place, number + 1, batch(query_id, number, number + 1))
    return place


@pytest.mark.parametrize(
    ("batches", "offsets", "commits", "pending", "skips", "sentence", "found"),
    [
        (5, 5, 5, None, None, "The table has batches of this query up to 4. Nothing is pending.", []),
        (5, 5, 4, "skipped", 4, "Pending batch 4 is already in the table and will be skipped", []),
        (4, 5, 4, "written", None, "Pending batch 4 will be written.", []),
        (
            3,
            5,
            5,
            None,
            None,
            "Batches 3 and 4 are committed in the checkpoint but not in the table",
            ["SINK_BEHIND"],
        ),
        (4, 5, 5, None, None, "Batch 4 is committed in the checkpoint but not in the table", ["SINK_BEHIND"]),
        (
            3,
            5,
            4,
            "written",
            None,
            "Batch 3 is committed in the checkpoint but not in the table",
            ["SINK_BEHIND"],
        ),
        (7, 5, 5, "skipped", 6, "batches 5 and 6 will be skipped, regardless of content", ["SINK_AHEAD"]),
        (7, 5, 4, "skipped", 6, "batches 4 to 6 will be skipped, regardless of content", ["SINK_AHEAD"]),
        (6, 5, 5, "skipped", 5, "batch 5 will be skipped, regardless", ["SINK_AHEAD"]),
        (0, 5, 4, "written", None, "has no batch of this query", ["SINK_UNKNOWN"]),
        (0, 1, 0, "written", None, "has no batch of this query", []),
        (3, 0, 0, "skipped", 2, "Batches 0 to 2 will be skipped", ["SINK_AHEAD"]),
    ],
)
def test_what_a_delta_sink_holds(
    tmp_path: Path,
    batches: int,
    offsets: int,
    commits: int,
    pending: str | None,
    skips: int | None,
    sentence: str,
    found: list[str],
) -> None:
    table = sink(tmp_path / "s", batches)
    ck = checkpoint(tmp_path, *(offset(n + 1) for n in range(offsets)), commits=commits)
    end = sink_state(ck, DeltaLog.open(str(table)))
    assert (end.pending, end.skips_up_to, end.holds_up_to_batch) == (
        pending,
        skips,
        batches - 1 if batches else None,
    )
    assert sentence in end.sentence and end.certainty == "certain"
    answer = said(ck, sink=table)
    assert [risk for risk in risks(answer) if risk.startswith("SINK")] == found
    assert answer.sentence.count(end.sentence) == 1


def test_rows_of_a_sink_show_written_foreign_and_missing(tmp_path: Path) -> None:
    table = sink(tmp_path / "s", 3)
    commit(table, 4, [info("MERGE", 4), add("x", 5)])
    end = sink_state(
        checkpoint(tmp_path, *(offset(n + 1) for n in range(5)), commits=4), DeltaLog.open(str(table))
    )
    assert [(row.batch_id, row.version, row.fate) for row in end.batches] == [
        (None, 0, "foreign"),
        (0, 1, "written"),
        (1, 2, "written"),
        (2, 3, "written"),
        (None, 4, "foreign"),
        (3, None, "missing"),
        (4, None, "uncommitted"),
    ]
    assert any("1 commit of others (MERGE)" in text for text in end.warnings)


@pytest.mark.parametrize(
    ("operation", "words"),
    [("RESTORE", "survives a RESTORE"), ("CREATE OR REPLACE TABLE AS SELECT", "CREATE OR REPLACE")],
)
def test_a_commit_that_took_rows_away_since_is_a_risk(tmp_path: Path, operation: str, words: str) -> None:
    table = sink(tmp_path / "s", 3)
    commit(table, 4, [info(operation, 4), taken("part-3.parquet")])
    answer = said(checkpoint(tmp_path, *(offset(n + 1) for n in range(3))), sink=table)
    assert risks(answer) == ["SINK_CHANGED"] and words in answer.sentence


def test_a_planned_batch_in_a_table_that_was_restored_since_is_not_said_to_be_there(tmp_path: Path) -> None:
    table = sink(tmp_path / "s", 3)
    commit(table, 4, [info("RESTORE", 4), taken("part-3.parquet")])
    end = sink_state(
        checkpoint(tmp_path, *(offset(n + 1) for n in range(3)), commits=2), DeltaLog.open(str(table))
    )
    assert end.pending == "skipped" and "No loss" not in end.sentence
    assert "whatever of its rows the table still has" in end.sentence


def put_back(version: int, to: int) -> dict[str, Any]:
    """A RESTORE to a version."""
    action = info("RESTORE", version)
    action["commitInfo"]["operationParameters"] = {"version": str(to)}
    return action


@pytest.mark.parametrize(
    ("since", "batch_id"),
    [
        ([put_back(4, 2)], 1),
        ([put_back(4, 1), info("OPTIMIZE", 5)], 0),
        ([put_back(4, 1), put_back(5, 3)], 2),
        ([put_back(4, 1), put_back(5, 4)], 0),
        ([put_back(4, 0)], None),  # before the first batch
        ([info("RESTORE", 4)], None),  # by time
        ([put_back(4, 2), info("WRITE", 5, mode="Overwrite")], None),
        ([info("WRITE", 4, mode="Overwrite"), put_back(5, 2)], 1),
        ([], None),
    ],
)
def test_the_batch_to_which_a_table_was_put_back(
    tmp_path: Path, since: list[dict[str, Any]], batch_id: int | None
) -> None:
    table = sink(tmp_path / "s", 3)
    for version, action in enumerate(since, 4):
        commit(table, version, [action])
    end = sink_state(checkpoint(tmp_path, *(offset(n + 1) for n in range(3))), DeltaLog.open(str(table)))
    assert end.restored_to_batch == batch_id


@pytest.mark.parametrize(
    ("answer", "others", "is_whole", "finding"),
    [
        ("delta", False, True, "SINK_NEVER_WRITTEN"),
        (None, False, True, "SINK_UNKNOWN"),
        ("foreach_merge", False, True, "SINK_UNKNOWN"),
        ("delta", True, True, "SINK_UNKNOWN"),
        ("delta", False, False, "SINK_UNKNOWN"),
    ],
)
def test_a_table_that_no_query_has_written_is_not_the_sink_of_committed_batches(
    tmp_path: Path, answer: str | None, others: bool, is_whole: bool, finding: str
) -> None:
    """A table that was dropped and made again: the rows of all batches are missing, and the restart was
    recommended, the reset "lost nothing"."""
    table = sink(tmp_path / "s", 2, query_id="nightly-load") if others else appends(tmp_path / "s", 2)
    if not is_whole:
        next((table / "_delta_log").glob("*0.json")).unlink()
    ck = checkpoint(tmp_path, *(offset(n + 1) for n in range(3)))
    connectors = ConnectorAnswers(sink=DeltaLog.open(str(table)))
    answers = Answers({} if answer is None else {"sink": answer})
    judged = judge(ck, connectors, query=Query(sink=asked_sink(answers, connectors)))
    assert finding in {item.id for item in judged.findings.findings}
    found = {each.id: each for each in options(judged.recovery(answers))}
    assert found["reset"].possible is (finding != "SINK_NEVER_WRITTEN")
    if finding == "SINK_NEVER_WRITTEN":
        assert "dropped and made again" in found["reset"].why and "not in it" in found["restart"].loses


def test_a_commit_before_the_newest_batch_is_not_told_as_one_since(tmp_path: Path) -> None:
    table = sink(tmp_path / "s", 2)
    commit(table, 3, [info("RESTORE", 3)])
    commit(table, 4, batch(QUERY_ID, 2, 4))
    assert said(checkpoint(tmp_path, *(offset(n + 1) for n in range(3))), sink=table).risks == ()


def test_another_application_with_such_a_number_leaves_the_answer_open(tmp_path: Path) -> None:
    table = sink(tmp_path / "s", 5, query_id="nightly-load")
    end = sink_state(
        checkpoint(tmp_path, *(offset(n + 1) for n in range(5)), commits=4), DeltaLog.open(str(table))
    )
    assert (end.pending, end.certainty) == (None, "needs_input") and "nightly-load" in end.sentence


def test_transactions_that_could_not_all_be_read_leave_the_answer_open(tmp_path: Path) -> None:
    table = appends(tmp_path / "s", 3, first=7)
    end = sink_state(checkpoint(tmp_path, offset(1), offset(2), commits=1), DeltaLog.open(str(table)))
    assert end.certainty == "needs_input" and any("Not every file" in text for text in end.warnings)


def test_a_sink_whose_batches_are_not_in_its_whole_log_was_recreated(tmp_path: Path) -> None:
    table = tmp_path / "s"
    commit(table, 0, [metadata(), *batch(QUERY_ID, 4, 0)])
    checkpoint(tmp_path, *(offset(n + 1) for n in range(5)))
    for seconds, found in ((-60, ["SINK_BEHIND"]), (60, [])):  # committed before and after the table was made
        for path in (tmp_path / "ck" / "commits").iterdir():
            os.utime(path, (TIME / 1000 + seconds, TIME / 1000 + seconds))
        answer = said(Checkpoint.open(str(tmp_path / "ck")), sink=table)
        assert risks(answer) == found and answer.sink is not None
        assert any("batches 0 to 3" in text for text in answer.sink.warnings)


def test_a_directory_without_any_log_says_so(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    end = sink_state(checkpoint(tmp_path, offset(1)), parse_location(str(tmp_path / "plain")))
    assert (end.kind, end.pending, end.certainty) == ("plain", None, "needs_input")


# The file sink


def output(place: Path, *names: str) -> FileSinkLog:
    for name in names:
        path = place / "_spark_metadata" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("v1", encoding="utf-8")
    return FileSinkLog.open(str(place))


def test_the_trap_of_the_file_sink_is_said_with_its_number(tmp_path: Path) -> None:
    log = output(tmp_path / "out", *(str(i) for i in range(42)))
    end = sink_state(checkpoint(tmp_path, *(offset(n + 1) for n in range(3))), log)
    assert (end.pending, end.skips_up_to) == (
        "skipped",
        41,
    ) and "new batches up to 41 will be skipped" in end.sentence


def test_a_pending_batch_in_the_log_of_the_file_sink_is_skipped(tmp_path: Path) -> None:
    log = output(tmp_path / "out", "0", "1", "2")
    end = sink_state(checkpoint(tmp_path, *(offset(n + 1) for n in range(3)), commits=2), log)
    assert end.pending == "skipped" and "Pending batch 2 is already in the output" in end.sentence


def test_an_output_whose_entries_are_older_than_all_batches_is_another_one(tmp_path: Path) -> None:
    log = output(tmp_path / "out", "0", "1")
    ck = checkpoint(tmp_path, *(offset(n + 1) for n in range(3)))
    assert [kind for kind, _ in sink_state(ck, log).concerns] == ["behind"]
    for name, age_seconds in (("0", 90), ("1", 0)):  # one of them, then both
        planned = (TIME + 10_000_000) / 1000
        os.utime(tmp_path / "out" / "_spark_metadata" / name, (planned - 3600 + age_seconds,) * 2)
        end = sink_state(ck, FileSinkLog.open(str(tmp_path / "out")))
        is_other = name == "1"
        assert [kind for kind, _ in end.concerns] == ["unknown" if is_other else "behind"]
        assert ("the output of another query" in end.sentence) == is_other


def test_a_hole_in_the_log_of_the_file_sink_is_a_risk(tmp_path: Path) -> None:
    output(tmp_path / "out", "0", "1", "3")
    ck = checkpoint(tmp_path, *(offset(n + 1) for n in range(4)))
    answer = forecast(
        ck, spark="4.2", connectors=ConnectorAnswers(sink=FileSinkLog.open(str(tmp_path / "out")))
    )
    assert risks(answer) == ["SINK_LOG_HOLE"] and "_spark_metadata/2 doesn't exist" in answer.sentence


@pytest.mark.parametrize(("batches", "is_said"), [(19, True), (18, False)])
def test_a_hole_that_the_next_batch_meets_is_said_with_its_number(
    batches: int, is_said: bool, tmp_path: Path
) -> None:
    output(tmp_path / "out", *(str(i) for i in range(10, batches)))  # 9.compact was removed
    ck = checkpoint(tmp_path, *(offset(n + 1) for n in range(batches)))
    log = FileSinkLog.open(str(tmp_path / "out"))
    answer = forecast(ck, spark="4.2", connectors=ConnectorAnswers(sink=log))
    assert risks(answer) == ([] if is_said else ["SINK_LOG_HOLE"])
    assert (answer.outcome, answer.reason) == (("fail", "SINK_LOG_HOLE") if is_said else ("resume", None))
    assert (f"fail in batch {batches}" in answer.sentence) == is_said
    assert answer.sink is not None
    warned = " ".join(answer.sink.warnings)
    assert (f"Batch {batches}, the next one, compacts it, so it fails." in warned) == is_said


@pytest.mark.parametrize("text", ["", "v2\n{}", 'v1\n{"path":"file:///out/a.pa', "v1\n{}"])
@pytest.mark.parametrize(("name", "commits"), [("9.compact", 12), ("11", 12), ("11", 11), ("9.compact", 11)])
def test_a_damaged_file_in_the_log_of_the_file_sink_is_a_risk(
    tmp_path: Path, name: str, commits: int, text: str
) -> None:
    output(tmp_path / "out", "8", "9.compact", "10", "11")
    ck = checkpoint(tmp_path, *(offset(n + 1) for n in range(12)), commits=commits)

    def said() -> Forecast:
        log = FileSinkLog.open(str(tmp_path / "out"))
        return forecast(ck, spark="4.2", connectors=ConnectorAnswers(sink=log))

    assert risks(said()) == []
    (tmp_path / "out" / "_spark_metadata" / "8").write_text("")  # no reader needs it
    assert risks(said()) == []
    (tmp_path / "out" / "_spark_metadata" / name).write_text(text)
    answer = said()
    assert risks(answer) == ["SINK_LOG_DAMAGED"] and f"_spark_metadata/{name}" in answer.risks[0].sentence
    is_lost = (name, commits) == ("11", 11)
    assert answer.data.skip == ("loss" if is_lost else "exact")
    assert answer.sink is not None and ("No loss" in answer.sink.sentence) == (name != "11" and commits == 11)


def test_an_output_that_was_emptied_is_told(tmp_path: Path) -> None:
    (tmp_path / "out" / "_spark_metadata").mkdir(parents=True)
    end = sink_state(checkpoint(tmp_path, offset(1), offset(2)), FileSinkLog.open(str(tmp_path / "out")))
    assert [kind for kind, _ in end.concerns] == ["unknown"] and "Spark cannot read" in end.warnings[0]


# Resume


def resume(position: dict[str, Any], table: Path) -> Any:
    point = DELTA.resume(position, SourceContext("0"))
    return with_table(point, position, DeltaLog.open(str(table)))


def test_a_version_in_the_log_is_an_exact_start(tmp_path: Path) -> None:
    point = resume(offset(3), appends(tmp_path / "t", 5))
    assert (point.exact, dict(point.options), point.certainty) == (True, {"startingVersion": "3"}, "certain")


def test_a_schema_change_is_an_exact_start_at_its_version(tmp_path: Path) -> None:
    point = resume(offset(3, -19, source_version=3), appends(tmp_path / "t", 5))
    assert point.exact and dict(point.options) == {"startingVersion": "3"} and "schema change" in point.note


def test_a_caught_up_query_gets_words_and_no_option(tmp_path: Path) -> None:
    point = resume(offset(5), appends(tmp_path / "t", 5))
    assert (
        not point.exact
        and point.options is None
        and "timestampOutOfRange" in point.note
        and point.seed == "transplant"
    )


def test_inside_a_commit_the_done_files_are_left_out_by_name_and_dots_are_escaped(tmp_path: Path) -> None:
    table = appends(tmp_path / "t", 1)
    commit(
        table,
        1,
        [
            add("a=1/part-0.c000.parquet"),
            add("x.parquet", data_change=False),
            add("part-1.parquet"),
            add("part-2.parquet"),
        ],
    )
    point = resume(offset(1, 1), table)
    assert dict(point.options) == {
        "startingVersion": "1",
        "excludeRegex": r"part-0\.c000\.parquet|part-1\.parquet",
    }
    assert done_files(offset(1, 1), DeltaLog.open(str(table))) == ("part-0.c000.parquet", "part-1.parquet")


def test_inside_the_first_snapshot_the_done_files_must_still_be_in_the_table(tmp_path: Path) -> None:
    table = appends(tmp_path / "t", 4)
    point = resume(offset(2, 1, True), table)
    assert dict(point.options) == {"excludeRegex": r"part-0\.parquet|part-1\.parquet"}
    commit(table, 4, [info("OPTIMIZE", 4), taken("part-0.parquet", False), add("joined.parquet", 10, False)])
    assert not resume(offset(2, 1, True), table).exact


def test_names_of_files_never_become_code() -> None:
    hostile = "x');import os;('"
    compile(filter_code([hostile, 'y"\n\\']), "code", "exec")
    assert "import os" in filter_code([hostile]) and f"    {hostile!a},\n" in filter_code([hostile])
    assert exclude_regex(["a.b|c(d)"]) == r"a\.b\|c\(d\)"


def test_a_sample_whose_pending_batch_is_in_the_table_says_so_everywhere(
    samples: Path, tmp_path: Path
) -> None:
    root = samples / "delta-batch-already-in-table"
    shutil.copytree(root / "checkpoint", tmp_path / "ck")
    answer = said(Checkpoint.open(str(tmp_path / "ck")), root / "source", root / "sink")
    assert (
        answer.outcome == "rerun"
        and "Pending batch 5 is already in the table and will be skipped" in answer.sentence
    )
    assert (
        answer.sink is not None
        and answer.sink.evidence == ("_delta_log/00000000000000000005.json",)
        and not answer.risks
    )
