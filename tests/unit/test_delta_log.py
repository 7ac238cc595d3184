"""The light reader of Delta logs: versions, gaps, transactions from every place they can stand in, commits,
amounts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from core.connectors.delta.actions import number, parse_commit
from core.connectors.delta.log import DeltaLog
from core.connectors.delta.log_names import log_names
from core.connectors.delta.properties import interval_ms, retention_words
from core.errors import DeltaLogError, LocationNotFound
from core.settings import Settings
from core.storage import FileInfo
from tests.support.delta_tables import (
    TABLE_ID,
    TIME,
    add,
    appends,
    batch,
    checksum,
    commit,
    info,
    log_path,
    metadata,
    parquet,
    taken,
    txn,
)

QUERY = "11111111-2222-4333-8444-000000000001"
OTHER = "11111111-2222-4333-8444-000000000002"
UUID = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"


# Names


def test_names_that_are_no_part_of_the_log_are_passed_over() -> None:
    names = [
        "00000000000000000000.json",
        "00000000000000000001.json",
        "00000000000000000001.crc",
        "_last_checkpoint",
        ".00000000000000000001.json.crc",
        "00000000000000000000.00000000000000000001.compacted.json",
        "0000000000000000002.json",
        "00000000000000000003.json.tmp",
        "00000000000000000009.checkpoint.0000000001.0000000002.parquet",
    ]
    found = log_names(FileInfo(f"_delta_log/{name}", 1) for name in names)
    assert list(found.commits) == [0, 1] and list(found.checksums) == [1] and found.checkpoints == ()


def test_a_checkpoint_in_parts_counts_only_when_all_parts_are_there() -> None:
    parts = [
        FileInfo(f"_delta_log/00000000000000000010.checkpoint.{i:010d}.0000000003.parquet", 5)
        for i in (1, 2, 3)
    ]
    assert log_names(parts[:2]).checkpoints == ()
    (whole,) = log_names(parts).checkpoints
    assert whole.version == 10 and whole.parts == tuple(parts) and whole.size_bytes == 15


def test_the_oldest_version_is_that_of_the_unbroken_run_up_to_the_newest(tmp_path: Path) -> None:
    appends(tmp_path, 8)
    log_path(tmp_path, 3).unlink()
    log = DeltaLog.open(str(tmp_path))
    assert (log.newest, log.oldest, log.gaps) == (7, 4, ((3, 3),))


def test_a_version_can_be_rebuilt_from_the_beginning_or_from_a_checkpoint_without_a_hole_after_it(
    tmp_path: Path,
) -> None:
    appends(tmp_path, 8)
    assert all(DeltaLog.open(str(tmp_path)).can_rebuild(v) for v in range(8))
    log_path(tmp_path, 0).unlink()
    assert not any(DeltaLog.open(str(tmp_path)).can_rebuild(v) for v in range(8))
    parquet(log_path(tmp_path, 4, "checkpoint.parquet"), [metadata()])
    assert [v for v in range(8) if DeltaLog.open(str(tmp_path)).can_rebuild(v)] == [4, 5, 6, 7]
    log_path(tmp_path, 6).unlink()
    assert [v for v in range(8) if DeltaLog.open(str(tmp_path)).can_rebuild(v)] == [4, 5]


# Opening


def test_a_directory_without_a_log_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        DeltaLogError, match=r"No Delta table at .*: _delta_log is not there; give the directory of the table"
    ):
        DeltaLog.open(str(tmp_path))
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(DeltaLogError, match="_delta_log has no commit in it"):
        DeltaLog.open(str(tmp_path))


def test_a_place_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises((DeltaLogError, LocationNotFound), match="nothing-here"):
        DeltaLog.open(str(tmp_path / "nothing-here"))


def test_the_log_directory_itself_may_be_given(tmp_path: Path) -> None:
    appends(tmp_path, 2)
    assert DeltaLog.open(str(tmp_path / "_delta_log")).url == str(tmp_path)


def test_opening_costs_one_listing_and_one_read_when_the_checksum_is_there(tmp_path: Path) -> None:
    appends(tmp_path, 30)
    checksum(tmp_path, 29, [txn(QUERY, 4)])
    log = DeltaLog.open(str(tmp_path))
    assert log.transactions[QUERY].version == 4 and log.table_id == TABLE_ID
    assert (log.requests.list, log.requests.get) == (1, 1)


# Transactions


def test_transactions_without_a_checksum_come_from_the_commits(tmp_path: Path) -> None:
    appends(tmp_path, 1)
    commit(tmp_path, 1, batch(QUERY, 0, 1))
    commit(tmp_path, 2, batch(OTHER, 7, 2))
    commit(tmp_path, 3, batch(QUERY, 1, 3))
    log = DeltaLog.open(str(tmp_path))
    assert {app: found.version for app, found in log.transactions.items()} == {QUERY: 1, OTHER: 7}
    assert log.transactions_known


FORMS = ["classic", "multi", "v2 parquet", "v2 json"]


@pytest.mark.parametrize("form", FORMS)
def test_transactions_come_from_every_form_of_log_checkpoint_and_later_commits_win(
    tmp_path: Path, form: str
) -> None:
    appends(tmp_path, 12)
    actions = [
        metadata(**{"delta.logRetentionDuration": "interval 2 days"}),
        txn(QUERY, 3),
        txn(OTHER, 8),
        add("part-0.parquet"),
    ]
    if form == "classic":
        parquet(log_path(tmp_path, 10, "checkpoint.parquet"), actions)
    elif form == "multi":
        parquet(log_path(tmp_path, 10, "checkpoint.0000000001.0000000002.parquet"), actions[:2])
        parquet(log_path(tmp_path, 10, "checkpoint.0000000002.0000000002.parquet"), actions[2:])
    elif form == "v2 parquet":
        parquet(log_path(tmp_path, 10, f"checkpoint.{UUID}.parquet"), actions)
    else:
        log_path(tmp_path, 10, f"checkpoint.{UUID}.json").write_text(
            "\n".join(map(json.dumps, actions)), encoding="utf-8"
        )
    for version in range(10):
        log_path(tmp_path, version).unlink()
    commit(tmp_path, 11, batch(QUERY, 4, 11))
    log = DeltaLog.open(str(tmp_path))
    assert {app: found.version for app, found in log.transactions.items()} == {QUERY: 4, OTHER: 8}
    assert log.table_id == TABLE_ID and log.configuration == {"delta.logRetentionDuration": "interval 2 days"}
    assert log.transactions_known and log.problems == ()


def test_a_checksum_without_transactions_still_tells_the_id_and_the_commits_tell_the_rest(
    tmp_path: Path,
) -> None:
    appends(tmp_path, 1)
    commit(tmp_path, 1, batch(QUERY, 0, 1))
    checksum(tmp_path, 1, None, **{"delta.setTransactionRetentionDuration": "interval 1 hours"})
    log = DeltaLog.open(str(tmp_path))
    assert log.transactions[QUERY].version == 0 and log.transaction_retention_ms == 3_600_000
    assert log.is_expired(log.transactions[QUERY], TIME + 3_600_000)
    assert not log.is_expired(log.transactions[QUERY], TIME + 3_599_999)


def test_without_a_retention_no_transaction_expires(tmp_path: Path) -> None:
    appends(tmp_path, 1)
    commit(tmp_path, 1, batch(QUERY, 0, 1))
    log = DeltaLog.open(str(tmp_path))
    assert not log.is_expired(log.transactions[QUERY], TIME * 2)


def test_a_log_that_begins_in_the_middle_without_a_checkpoint_does_not_know_all_transactions(
    tmp_path: Path,
) -> None:
    appends(tmp_path, 3, first=5)
    log = DeltaLog.open(str(tmp_path))
    assert not log.transactions_known and log.oldest == 5 and log.table_id is None


def test_more_commits_than_the_limit_are_not_read_for_transactions_and_it_is_said(tmp_path: Path) -> None:
    appends(tmp_path, 20)
    commit(tmp_path, 19, batch(QUERY, 5, 19))
    log = DeltaLog.open(str(tmp_path), Settings(table_versions=4))
    assert log.transactions[QUERY].version == 5 and not log.transactions_known
    assert "Only the newest 4 of 20 commits" in log.problems[0]


def test_a_log_checkpoint_beyond_the_limit_is_not_read_and_it_is_said(tmp_path: Path) -> None:
    appends(tmp_path, 3)
    path = parquet(log_path(tmp_path, 1, "checkpoint.parquet"), [metadata(), txn(QUERY, 3)])
    log_path(tmp_path, 0).unlink()
    limit = path.stat().st_size - 1
    log = DeltaLog.open(str(tmp_path), Settings(log_checkpoint_bytes=limit))
    assert not log.transactions_known and "were not read (setting log_checkpoint_bytes)" in log.problems[0]


# Commits


@pytest.mark.parametrize(
    ("operation", "parameters", "kind"),
    [
        ("STREAMING UPDATE", {"queryId": QUERY, "epochId": "3"}, "batch"),
        ("WRITE", {"mode": "Append"}, "other"),
        ("WRITE", {"mode": "Overwrite"}, "overwrite"),
        ("RESTORE", {}, "restore"),
        ("OPTIMIZE", {}, "optimize"),
        ("CLONE", {}, "clone"),
        ("CREATE OR REPLACE TABLE AS SELECT", {}, "replace"),
        ("REPLACE TABLE", {}, "replace"),
        ("CREATE TABLE", {}, "other"),
        ("MERGE", {}, "other"),
    ],
)
def test_the_kind_of_a_commit_is_told_by_its_operation(
    tmp_path: Path, operation: str, parameters: dict[str, str], kind: str
) -> None:
    commit(tmp_path, 0, [info(operation, **parameters)])
    (found,) = DeltaLog.open(str(tmp_path)).commits().commits
    assert (found.kind, found.operation) == (kind, operation)
    assert found.batch_id == (3 if kind == "batch" else None)


def test_a_commit_tells_files_rows_removes_and_transactions(tmp_path: Path) -> None:
    actions = [
        info("MERGE", 0),
        txn("app", 5),
        add("a", 10),
        add("b", 5),
        add("c", 99, data_change=False),
        taken("d"),
        taken("e", False),
    ]
    commit(tmp_path, 0, [*actions, metadata()])
    (found,) = DeltaLog.open(str(tmp_path)).commits().commits
    assert (found.adds, found.add_bytes, found.add_rows, found.removes) == (2, 200, 15, 1)
    assert found.transactions == (("app", 5),) and found.metadata_changed and found.timestamp_ms == TIME
    assert found.path == "_delta_log/00000000000000000000.json"


def test_rows_that_a_deletion_vector_hides_do_not_count(tmp_path: Path) -> None:
    action = add("a", 10)
    action["add"]["deletionVector"] = {"storageType": "u", "cardinality": 4}
    commit(tmp_path, 0, [action])
    assert DeltaLog.open(str(tmp_path)).rows_between(0, 0).rows == 6


def test_commits_come_newest_first_and_a_limit_is_said(tmp_path: Path) -> None:
    appends(tmp_path, 10)
    log = DeltaLog.open(str(tmp_path))
    found = log.commits(limit=3)
    assert [c.version for c in found.commits] == [9, 8, 7]
    assert found.limit_words == "Only the newest 3 of 10 versions were read (setting table_versions)."
    assert log.commits([2, 99]).commits[0].version == 2 and log.commits([99]).commits == ()


def test_a_commit_is_read_once(tmp_path: Path) -> None:
    appends(tmp_path, 5)
    log = DeltaLog.open(str(tmp_path))
    before = log.requests.get
    log.commits()
    log.rows_between(0, 4)
    assert log.requests.get == before == 5


# Amounts


def test_rows_between_versions_are_those_added_with_data_change(tmp_path: Path) -> None:
    appends(tmp_path, 5)
    amount = DeltaLog.open(str(tmp_path)).rows_between(2, 4)
    assert (amount.files, amount.size_bytes, amount.rows, amount.words) == (3, 300, 30, "")


def test_rows_after_an_index_leave_out_the_files_that_are_done(tmp_path: Path) -> None:
    commit(tmp_path, 0, [metadata(), *(add(name, rows) for name, rows in (("a", 1), ("b", 2), ("c", 4)))])
    commit(tmp_path, 1, [add("d", 8)])
    assert DeltaLog.open(str(tmp_path)).rows_between(0, 1, after_index=0).rows == 14


def test_a_file_without_statistics_makes_the_rows_unknown_and_says_so(tmp_path: Path) -> None:
    commit(tmp_path, 0, [metadata(), add("a", None), add("b", 5)])
    amount = DeltaLog.open(str(tmp_path)).rows_between(0, 0)
    assert (amount.files, amount.rows) == (2, None) and "no row numbers" in amount.words


def test_more_versions_than_the_limit_are_not_counted(tmp_path: Path) -> None:
    appends(tmp_path, 10)
    amount = DeltaLog.open(str(tmp_path), Settings(table_versions=3)).rows_between(0, 9)
    assert amount.rows is None and amount.words.startswith("more than 3 versions")


@pytest.mark.parametrize("with_checkpoint", [False, True])
def test_what_the_table_holds_now_is_worked_out_from_adds_and_removes(
    tmp_path: Path, with_checkpoint: bool
) -> None:
    appends(tmp_path, 4)
    commit(tmp_path, 4, [info("DELETE", 4), taken("part-1.parquet"), add("part-9.parquet", 3)])
    if with_checkpoint:
        parquet(
            log_path(tmp_path, 3, "checkpoint.parquet"),
            [metadata(), *(add(f"part-{v}.parquet", time_ms=TIME + v) for v in range(4))],
        )
        for version in range(4):
            log_path(tmp_path, version).unlink()
    log = DeltaLog.open(str(tmp_path))
    assert (log.rows_now().files, log.rows_now().rows) == (4, 33)
    files = log.snapshot_files(3)
    assert files is not None and [f.name for f in files] == [f"part-{v}.parquet" for v in range(4)]


def test_files_in_sidecars_are_not_guessed(tmp_path: Path) -> None:
    appends(tmp_path, 3)
    actions = [metadata(), {"sidecar": {"path": "x.parquet", "sizeInBytes": 1, "modificationTime": 1}}]
    log_path(tmp_path, 2, f"checkpoint.{UUID}.json").write_text(
        "\n".join(map(json.dumps, actions)), encoding="utf-8"
    )
    log = DeltaLog.open(str(tmp_path))
    assert log.snapshot_files(2) is None and log.rows_now().rows is None and log.rows_now().words


# Properties


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("interval 30 days", 2_592_000_000),
        ("interval 1 week", 604_800_000),
        ("2 days 3 hours", 183_600_000),
        ("interval 1.5 seconds", 1500),
        ("interval 1 month", None),
        ("soon", None),
        ("", None),
    ],
)
def test_intervals_are_read_as_delta_writes_them(text: str, milliseconds: int | None) -> None:
    assert interval_ms(text) == milliseconds


def test_the_retention_is_said_in_words() -> None:
    assert retention_words({}) == "30 days (Delta's default)"
    assert (
        retention_words({"delta.logRetentionDuration": "interval 2 days"})
        == "2 days (delta.logRetentionDuration)"
    )
    assert "off" in retention_words({"delta.enableExpiredLogCleanup": "false"})
    assert retention_words(None) == ""


def test_numbers_may_be_written_as_text() -> None:
    assert [number(value) for value in (5, "5", "-1", "", "x", 1.5, True, None, "9" * 30)] == [
        5,
        5,
        -1,
        None,
        None,
        None,
        None,
        None,
        None,
    ]


# The samples, written by real Delta


def test_the_samples_are_read_as_delta_wrote_them(samples: Path) -> None:
    root = samples / "delta-batch-already-in-table"
    source, sink = DeltaLog.open(str(root / "source")), DeltaLog.open(str(root / "sink"))
    query_id = json.loads((root / "checkpoint" / "metadata").read_text(encoding="utf-8"))["id"]
    assert (source.newest, source.oldest, source.gaps, dict(source.transactions)) == (7, 0, (), {})
    assert {app: found.version for app, found in sink.transactions.items()} == {query_id: 5}
    assert [(c.version, c.batch_id, c.kind) for c in sink.commits().commits] == [
        (v, v, "batch") for v in range(5, -1, -1)
    ]
    assert source.rows_now().rows == 320 == source.rows_between(0, 7).rows
    assert sink.rows_now().rows == sum(c.rows or 0 for c in sink.commits().commits)


@pytest.mark.parametrize(
    "table", ["delta-batch-already-in-table/sink", "delta-stopped-in-first-snapshot/sink"]
)
def test_the_commits_of_a_sample_tell_the_same_as_its_checksum(
    samples: Path, tmp_path: Path, table: str
) -> None:
    with_checksum = DeltaLog.open(str(samples / table))
    shutil.copytree(samples / table, tmp_path / "table")
    for path in (tmp_path / "table" / "_delta_log").glob("*.crc"):
        path.unlink()
    without = DeltaLog.open(str(tmp_path / "table"))
    assert without.transactions == with_checksum.transactions and without.metadata == with_checksum.metadata
    assert without.rows_now() == with_checksum.rows_now()


# Damage


def test_a_cut_commit_keeps_what_came_before_the_cut_and_names_the_file(tmp_path: Path) -> None:
    appends(tmp_path, 3)
    path = commit(tmp_path, 2, batch(QUERY, 0, 2))
    path.write_bytes(path.read_bytes()[:-20])
    log = DeltaLog.open(str(tmp_path))
    assert log.transactions[QUERY].version == 0
    assert log.problems == (f"{tmp_path}/_delta_log/00000000000000000002.json line 3 is not valid JSON.",)
    assert log.rows_between(0, 2).rows is None


def test_a_broken_checksum_is_told_and_the_commits_are_read_instead(tmp_path: Path) -> None:
    appends(tmp_path, 1)
    commit(tmp_path, 1, batch(QUERY, 0, 1))
    checksum(tmp_path, 1, []).write_text('{"setTransactions":[', encoding="utf-8")
    log = DeltaLog.open(str(tmp_path))
    assert log.transactions[QUERY].version == 0 and log.transactions_known
    assert log.problems == (
        f"{tmp_path}/_delta_log/00000000000000000001.crc is not valid JSON; the commits are read instead.",
    )


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\x00" * 40 + b"PAR1", b"not parquet at all"])
def test_a_broken_log_checkpoint_is_told_and_transactions_are_not_claimed_to_be_known(
    tmp_path: Path, content: bytes
) -> None:
    appends(tmp_path, 3)
    log_path(tmp_path, 1, "checkpoint.parquet").write_bytes(content)
    log_path(tmp_path, 0).unlink()
    log = DeltaLog.open(str(tmp_path))
    assert not log.transactions_known and len(log.problems) == 1
    assert "checkpoint.parquet is not a readable parquet file" in log.problems[0]


def test_an_empty_commit_is_told() -> None:
    assert parse_commit(b"", 3, "x").problem == "is empty"
