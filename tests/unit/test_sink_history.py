"""Why are there duplicates or gaps? What the log of the sink tells of the past, and the legal sinks next to it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.analysis.findings import Finding, findings
from core.checkpoint import Checkpoint
from core.cli import main
from core.connectors.delta.log import DeltaLog
from core.connectors.file_sink_log import FileSinkLog
from core.connectors.model import ConnectorAnswers
from core.connectors.sink_history import sink_history
from core.judgement import judge
from core.recovery import Answers, Option, options
from core.settings import Settings
from tests.support.build import QUERY_ID, SAMPLES, kafka_checkpoint, sample_names
from tests.support.delta_tables import TIME, add, batch, commit, info, metadata, txn

OTHER = "00000000-1111-4222-8333-444444444444"
PAST = ("SINK_OTHER_QUERY", "SINK_BATCH_TWICE", "SINK_BATCH_GAP", "SINK_BATCHES_SKIPPED", "SINK_FILES_GONE")
Written = Sequence[tuple[str, int] | str]


def table(root: Path, written: Written, rows: Sequence[int] = ()) -> DeltaLog:
    """A table: version 0 creates it, then one version for each batch (query ID, batch ID) or operation."""
    commit(root, 0, [info("CREATE TABLE"), metadata()])
    for version, what in enumerate(written, 1):
        if isinstance(what, str):
            commit(root, version, [info(what, version)])
            continue
        count = rows[version - 1] if version <= len(rows) else 10
        commit(root, version, batch(what[0], what[1], version, count))
    return DeltaLog.open(str(root))


def past(tmp_path: Path, sink: DeltaLog | FileSinkLog, batches: int = 3) -> dict[str, Finding]:
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path / "ck", range(batches))))
    report = findings(ck, connectors=ConnectorAnswers(sink=sink))
    return {item.id: item for item in report.findings if item.id.startswith("SINK_")}


def mine(*ids: int) -> list[tuple[str, int]]:
    return [(QUERY_ID, batch_id) for batch_id in ids]


def others(*ids: int) -> list[tuple[str, int]]:
    return [(OTHER, batch_id) for batch_id in ids]


# Another query ID


def test_a_checkpoint_that_was_deleted_and_created_again_shows_in_the_table(tmp_path: Path) -> None:
    found = past(tmp_path, table(tmp_path / "t", [*others(0, 1, 2), *mine(0, 1, 2)]))
    item = found.pop("SINK_OTHER_QUERY")
    assert found == {} and (item.severity, item.certainty) == ("attention", "inferred")
    for part in (OTHER, QUERY_ID, "batches 0 to 2, 30 rows, versions 1 to 3", "versions 4 to 6", "twice"):
        assert part in item.sentence
    assert [str(e).rsplit("/", 1)[-1] for e in item.evidence] == [f"{v:020d}.json" for v in (3, 4)]


def test_other_numbers_of_rows_are_only_a_note(tmp_path: Path) -> None:
    """A new checkpoint that started at the exact position writes the same numbers with other rows."""
    sink = table(tmp_path / "t", [*others(0, 1, 2), *mine(0, 1, 2)], rows=[10, 10, 10, 4, 7, 3])
    item = past(tmp_path, sink)["SINK_OTHER_QUERY"]
    assert (item.severity, item.certainty) == ("note", "needs_input") and "twice" not in item.sentence


@pytest.mark.parametrize(("first_rows", "severity"), [(34, "attention"), (30, "attention"), (29, "note")])
def test_a_first_batch_that_may_have_all_rows_of_the_query_before_is_for_attention(
    tmp_path: Path, first_rows: int, severity: str
) -> None:
    """A deleted checkpoint: the file source reads everything in batch 0, and 16 rows were there twice."""
    sink = table(tmp_path / "t", [*others(0, 1, 2), *mine(0)], rows=[10, 10, 10, first_rows])
    item = past(tmp_path, sink)["SINK_OTHER_QUERY"]
    assert (item.severity, item.certainty) == (severity, "needs_input")
    assert ("these rows are in the table twice" in item.sentence) is (severity == "attention")


def test_queries_that_write_side_by_side_are_legal(tmp_path: Path) -> None:
    written = [pair for ids in range(3) for pair in (*others(ids), *mine(ids))]
    assert past(tmp_path, table(tmp_path / "t", written)) == {}


@pytest.mark.parametrize("operation", ["RESTORE", "REPLACE TABLE"])
def test_a_table_that_was_emptied_in_between_has_no_duplicates(tmp_path: Path, operation: str) -> None:
    written: Written = [*others(0, 1, 2), operation, *mine(0, 1, 2)]
    assert past(tmp_path, table(tmp_path / "t", written)) == {}


def test_a_query_that_continues_the_numbers_of_another_is_none(tmp_path: Path) -> None:
    """The ID in metadata was changed on purpose and the checkpoint went on."""
    assert past(tmp_path, table(tmp_path / "t", [*others(0, 1), *mine(2)])) == {}


def test_two_other_queries_are_not_the_business_of_this_one(tmp_path: Path) -> None:
    third = "11111111-1111-4222-8333-444444444444"
    written = [*others(7, 8), (third, 7), (third, 8), *mine(10, 11, 12)]
    assert "SINK_OTHER_QUERY" not in past(tmp_path, table(tmp_path / "t", written))


def test_the_checkpoint_that_was_replaced_by_another_learns_of_it_too(tmp_path: Path) -> None:
    item = past(tmp_path, table(tmp_path / "t", [*mine(0, 1, 2), *others(0, 1, 2)]))["SINK_OTHER_QUERY"]
    assert "the earlier one is the query of this checkpoint" in item.sentence


# Numbers of this query


def test_a_batch_that_two_versions_have_is_there_twice(tmp_path: Path) -> None:
    item = past(tmp_path, table(tmp_path / "t", mine(0, 1, 2, 2)))["SINK_BATCH_TWICE"]
    assert item.batch_id == 2 and "versions 3 and 4" in item.sentence


def test_a_batch_that_is_written_again_after_a_restore_is_there_once(tmp_path: Path) -> None:
    found = past(tmp_path, table(tmp_path / "t", [*mine(0, 1, 2), "RESTORE", *mine(2)]))
    assert "SINK_BATCH_TWICE" not in found


def test_a_number_that_is_missing_between_others_is_a_gap(tmp_path: Path) -> None:
    item = past(tmp_path, table(tmp_path / "t", mine(0, 1, 3, 4)), batches=5)["SINK_BATCH_GAP"]
    assert item.batch_id == 2 and "has no version for batch 2 " in item.sentence


def test_versions_that_were_not_read_are_no_gap(tmp_path: Path) -> None:
    log = table(tmp_path / "t", mine(0, 1, 2, 3, 4))
    (tmp_path / "t" / "_delta_log" / f"{3:020d}.json").unlink()
    log = DeltaLog.open(log.url)
    assert "SINK_BATCH_GAP" not in past(tmp_path, log, batches=5)


def test_batches_that_were_planned_after_the_sink_had_them_were_skipped(tmp_path: Path) -> None:
    """The clock of the checkpoint is a day behind that of the table here, so it is put forward."""
    log = table(tmp_path / "t", mine(0, 1, 2))
    root = kafka_checkpoint(tmp_path / "ck", range(3))
    for number in (1, 2):
        file = root / "offsets" / str(number)
        text = file.read_text(encoding="utf-8").replace("17951760", "17953460")
        file.write_text(text, encoding="utf-8")
    history = sink_history(Checkpoint.open(str(root)), log)
    assert history is not None and history.skipped == (1, 2)


def test_the_clocks_of_two_hosts_may_differ(tmp_path: Path) -> None:
    log = table(tmp_path / "t", mine(0, 1, 2))
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path / "ck", range(3))), Settings(clock_slack_ms=10**9))
    history = sink_history(ck, log)
    assert history is not None and history.skipped == ()


def test_a_foreach_batch_sink_shows_by_its_application(tmp_path: Path) -> None:
    root = tmp_path / "t"
    commit(root, 0, [info("CREATE TABLE"), metadata()])
    for version in (1, 2):
        commit(root, version, [info("WRITE", version, 10), txn("orders-v1", version - 1), add(f"{version}")])
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path / "ck", range(2))))
    history = sink_history(ck, DeltaLog.open(str(root)))
    assert history is not None and TIME
    assert [(run.writer, run.writer_id, run.first_batch, run.last_batch) for run in history.runs] == [
        ("application", "orders-v1", 0, 1)
    ]


# The file sink


def output(root: Path, batches: int = 3) -> Path:
    (root / "_spark_metadata").mkdir(parents=True)
    for number in range(batches):
        body = {"path": (root / f"part-{number}").as_uri(), "size": 1, "isDir": False, "action": "add"}
        (root / "_spark_metadata" / str(number)).write_text(f"v1\n{json.dumps(body)}", encoding="utf-8")
        (root / f"part-{number}").write_bytes(b"x")
    return root


def test_a_whole_output_gives_nothing(tmp_path: Path) -> None:
    assert past(tmp_path, FileSinkLog.open(str(output(tmp_path / "out")))) == {}


def test_files_that_are_gone_and_files_without_an_entry_are_named(tmp_path: Path) -> None:
    root = output(tmp_path / "out")
    (root / "part-1").rename(root / "part-9")
    found = past(tmp_path, FileSinkLog.open(str(root)))
    assert (found["SINK_FILES_GONE"].severity, found["SINK_FILES_WITHOUT_ENTRY"].severity) == (
        "attention",
        "note",
    )
    assert "part-1" in found["SINK_FILES_GONE"].sentence
    assert "part-9" in found["SINK_FILES_WITHOUT_ENTRY"].sentence


@pytest.mark.parametrize(("complete", "best"), [("yes", "full_refresh"), ("no", "restart")])
def test_an_output_that_lacks_files_is_refreshed_where_the_source_has_everything(
    complete: str, best: str, tmp_path: Path
) -> None:
    """A plain start works, and the rows stay gone: it was recommended as one that loses nothing."""
    root = output(tmp_path / "out")
    ck = Checkpoint.open(str(kafka_checkpoint(tmp_path / "ck", range(3))))
    answers = Answers({"what_happened": "damaged", "source_complete": complete, "sink": "file"})

    def recommended() -> Option:
        judged = judge(ck, ConnectorAnswers(sink=FileSinkLog.open(str(root))))
        return next(each for each in options(judged.recovery(answers)) if each.recommended)

    assert recommended().id == "restart" and "part-1" not in recommended().reason
    (root / "part-1").unlink()
    assert recommended().id == best
    assert best == "full_refresh" or "does not bring back what the output lacks" in recommended().reason


def test_a_new_checkpoint_under_an_old_output_was_skipped(tmp_path: Path) -> None:
    root = output(tmp_path / "out")
    for number in (0, 1):
        os.utime(root / "_spark_metadata" / str(number), (1_795_000_000, 1_795_000_000))
    item = past(tmp_path, FileSinkLog.open(str(root)))["SINK_BATCHES_SKIPPED"]
    assert item.batch_id == 0 and "batches 0 and 1" in item.sentence and item.certainty == "inferred"


@pytest.mark.parametrize("seconds", [1, 3])
@pytest.mark.parametrize("copied", [False, True])
def test_seconds_count_where_sink_and_checkpoint_have_one_clock(
    tmp_path: Path, seconds: int, copied: bool
) -> None:
    """A copy without its times has offset files that are younger than what they stand for."""
    root = output(tmp_path / "out")
    place = kafka_checkpoint(tmp_path / "ck", range(3))
    for number in range(3):
        planned_ms = json.loads((place / "offsets" / str(number)).read_text().splitlines()[1])
        planned = planned_ms["batchTimestampMs"] / 1000
        entry, plan = root / "_spark_metadata" / str(number), place / "offsets" / str(number)
        os.utime(entry, (planned - seconds, planned - seconds))
        if not copied:
            os.utime(plan, (planned, planned))
    history = sink_history(Checkpoint.open(str(place)), FileSinkLog.open(str(root)))
    assert history is not None and bool(history.skipped) == (seconds == 3 and not copied)


# All samples, and the answer as JSON


@pytest.mark.parametrize("name", [name for name in sample_names() if (SAMPLES / name / "sink").is_dir()])
def test_no_sample_has_duplicates_or_gaps_in_its_sink(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    place = SAMPLES / name
    main(["check", str(place / "checkpoint"), "--sink", str(place / "sink"), "--json"])
    answer = json.loads(capsys.readouterr().out)
    found = {item["id"]: item["severity"] for item in answer["findings"] if item["id"] in PAST}
    assert set(found.values()) <= {"note"} and set(found) <= {"SINK_FILES_GONE"}  # the log alone is kept


def test_the_history_is_in_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(tmp_path / "t", [*others(0, 1), *mine(0, 1, 2)])
    root = kafka_checkpoint(tmp_path / "ck", range(3))
    assert main(["check", str(root), "--sink", str(tmp_path / "t"), "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["sink_history"]
    assert [(r["writer_id"], r["is_own"], r["first_batch"], r["last_batch"], r["rows"]) for r in runs] == [
        (OTHER, False, 0, 1, 20),
        (QUERY_ID, True, 0, 2, 30),
    ]
    assert main(["check", str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sink_history"] is None
