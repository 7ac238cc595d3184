"""Rows of the state from the files of the samples: what can be asked, what damage is said of which partition, and
what cannot be told."""

from __future__ import annotations

import json
import random
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.state import committed_ids, state_inventory
from core.checkpoint.state_content.counts import count_keys
from core.checkpoint.state_content.rocksdb_zip import ZipContent, read_zip
from core.checkpoint.state_content.state_rows import (
    RowsAnswer,
    RowsQuestion,
    StateRow,
    key_partition,
    read_rows,
    row_choices,
)
from core.cli import main
from core.documents.rows import hidden
from core.errors import UsageError
from tests.support.build import SAMPLES
from tests.support.sst import flip_part

HOT = SAMPLES / "windowed-aggregation-hot-partition/checkpoint"
JOIN = SAMPLES / "join-watermark-held-back/checkpoint"
TIMERS = SAMPLES / "transform-with-state-timers/checkpoint"
FORMAT_2 = SAMPLES / "state-format-2/checkpoint"
MISSING = SAMPLES / "missing-delta-file/checkpoint"
STATEFUL = sorted(path for path in SAMPLES.glob("*/checkpoint") if (path / "state").is_dir())


def ask(root: Path, **asked: Any) -> RowsAnswer:
    return read_rows(Checkpoint.open(str(root)), RowsQuestion(**{"limit": 100_000, **asked}))


def by_key(rows: tuple[StateRow, ...]) -> dict[str, StateRow]:
    return {json.dumps(row.key, sort_keys=True): row for row in rows}


@pytest.mark.parametrize("root", STATEFUL, ids=lambda path: path.parent.name)
def test_as_many_rows_as_are_counted_in_each_partition(root: Path) -> None:
    ck = Checkpoint.open(str(root))
    last = ck.last_committed_batch
    assert last is not None
    compared = 0
    for operator in state_inventory(ck).operators:
        counted = count_keys(ck.door, operator, last + 1, committed_ids(ck), replay=True)
        for choice in row_choices(ck, operator).values():
            if choice.is_timers or choice.variable:
                continue
            found = ask(root, operator_id=operator.operator_id, store=choice.store, side=choice.side)
            store = found.target.store
            missing = {part.partition_id for part in found.not_read}
            for partition in counted[store]:
                rows = sum(row.partition_id == partition.partition_id for row in found.rows)
                if partition.partition_id in missing:
                    assert partition.count.keys is None
                else:
                    assert rows == partition.count.keys
                    compared += 1
    assert compared or "transform" in str(root)


def test_one_key_is_looked_for_in_its_partition_alone() -> None:
    everything = ask(HOT)
    row = max(everything.rows, key=lambda found: found.value_bytes)
    ck = Checkpoint.open(str(HOT))
    found = read_rows(ck, RowsQuestion(key=row.key))
    assert (found.rows, found.total, found.partitions_read) == ((row,), 1, 1)
    assert found.rows[0].partition_id == 1
    nobody = ask(HOT, key={**row.key, "store": "nowhere"})
    assert (nobody.rows, nobody.total, nobody.partitions_read) == ((), 0, 1)


@pytest.mark.parametrize(
    ("root", "asked"),
    [
        (HOT, {}),
        (JOIN, {"side": "left"}),
        (JOIN, {"side": "right"}),
        (TIMERS, {"variable": "totals"}),
        (FORMAT_2, {}),
    ],
    ids=["aggregation", "left", "right", "variable", "dedup"],
)
def test_every_row_lies_in_the_partition_that_its_key_is_looked_for_in(
    root: Path, asked: dict[str, Any]
) -> None:
    found = ask(root, **asked)
    conf = Checkpoint.open(str(root)).conf
    assert found.rows
    for row in found.rows:
        assert key_partition(found.operator, found.target, row.key, conf) == row.partition_id
        assert row in ask(root, **asked, key=row.key).rows


def test_a_key_needs_its_columns_and_their_types() -> None:
    with pytest.raises(UsageError, match="exactly these columns: window and store"):
        ask(HOT, key={"store": "web"})
    with pytest.raises(UsageError, match="window is struct, and the value given is not"):
        ask(HOT, key={"store": "web", "window": 3})


def test_the_largest_come_first() -> None:
    everything = ask(HOT)
    found = ask(HOT, largest="values", limit=5)
    sizes = sorted((row.value_bytes for row in everything.rows), reverse=True)
    assert [row.value_bytes for row in found.rows] == sizes[:5]
    assert (found.total, found.is_truncated) == (len(sizes), True)


def test_the_first_rows_do_not_claim_to_be_all() -> None:
    found = ask(HOT, limit=3)
    assert (len(found.rows), found.total, found.is_truncated) == (3, None, True)
    assert ask(HOT, limit=49).is_truncated is False


def test_one_partition() -> None:
    found = ask(HOT, partition_id=1)
    assert {row.partition_id for row in found.rows} == {1}
    assert found.partitions_read == 1
    with pytest.raises(UsageError, match="There is no partition 99"):
        ask(HOT, partition_id=99)


def test_what_a_batch_changed_leads_from_the_rows_before_to_those_after() -> None:
    ck = Checkpoint.open(str(FORMAT_2))
    last = ck.last_committed_batch
    assert last is not None
    before, after = (by_key(ask(FORMAT_2, batch_id=batch).rows) for batch in (last - 2, last))
    changes = ask(FORMAT_2, changes=(last - 1, last))
    assert {change.batch_id for change in changes.rows} <= {last - 1, last}
    for change in changes.rows:
        key = json.dumps(change.key, sort_keys=True)
        if change.change == "delete":
            before.pop(key, None)
        else:
            before[key] = change
    assert {key: row.value for key, row in before.items()} == {key: row.value for key, row in after.items()}
    one = read_rows(Checkpoint.open(str(FORMAT_2)), RowsQuestion(is_of_batch=True, limit=100_000))
    assert {row.batch_id for row in one.rows} == {last}


def test_rows_that_the_watermark_has_passed() -> None:
    root = SAMPLES / "state-format-2/checkpoint"
    found = ask(root, is_past_watermark=True)
    watermark_ms = Checkpoint.open(str(root)).offset(found.batch_id).watermark_ms  # type: ignore[union-attr]
    expected = [row for row in ask(root).rows if row.value["expiresAtMicros"] <= watermark_ms * 1000]  # type: ignore[index,call-overload,operator]
    assert list(found.rows) == expected
    with pytest.raises(UsageError, match="no column that tells"):
        ask(JOIN, side="left", is_past_watermark=True)


def test_lists_and_timers() -> None:
    amounts = ask(TIMERS, variable="amounts")
    assert all(isinstance(row.value, list) and row.value for row in amounts.rows)
    timers = ask(TIMERS, is_timers=True)
    assert {tuple(row.key) for row in timers.rows} == {("key", "expiryTimestampMs")}
    with pytest.raises(UsageError, match="Choose one: --variable amounts"):
        ask(TIMERS)
    with pytest.raises(UsageError, match="There are: "):
        ask(TIMERS, variable="nothing")


def test_a_join_asks_for_its_side() -> None:
    with pytest.raises(UsageError, match="--side left and --side right"):
        ask(JOIN)
    with pytest.raises(UsageError, match="is no stream-stream join"):
        ask(HOT, side="left")


def test_a_stateless_query_has_no_rows() -> None:
    with pytest.raises(UsageError, match="keeps no state"):
        ask(SAMPLES / "kafka-pipeline-died-mid-batch/checkpoint")


# damage: one test for each kind


def damaged(root: Path, target: Path) -> Path:
    copy = target / "ck"
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".*.crc"))
    return copy


def test_a_missing_file_is_said_of_its_partition() -> None:
    found = ask(MISSING)
    ((partition_id, reason),) = [(part.partition_id, part.reason) for part in found.not_read]
    assert partition_id == 2 and reason == "state/0/2/4.delta is missing"
    assert found.total is None and found.is_truncated
    assert {row.partition_id for row in found.rows} == {0, 1, 3}


def needed_zip(root: Path, partition: int) -> tuple[Path, list[Path]]:
    """The newest zip of a partition, and the SST files that it names."""
    newest = max(root.glob(f"state/0/{partition}/*.zip"), key=lambda path: int(path.stem))
    content = read_zip(newest.read_bytes())
    assert isinstance(content, ZipContent)
    return newest, [newest.parent / "SSTs" / file.name for file in content.sst_files]


@pytest.mark.parametrize("part", ["index", "rows"])
def test_a_flipped_bit_in_an_sst_file_hides_no_row(part: Any, tmp_path: Path) -> None:
    root = damaged(HOT, tmp_path)
    _, files = needed_zip(root, 1)
    flip_part(files[0], part)
    found = ask(root)
    (broken,) = found.not_read
    assert broken.partition_id == 1 and f"{files[0].name}: " in broken.reason
    assert list(found.rows) == [row for row in ask(HOT).rows if row.partition_id != 1]
    assert found.total is None


def test_a_missing_sst_file(tmp_path: Path) -> None:
    root = damaged(HOT, tmp_path)
    _, files = needed_zip(root, 0)
    files[0].unlink()
    (broken,) = ask(root).not_read
    assert broken.partition_id == 0 and files[0].name in broken.reason


def test_a_cut_zip(tmp_path: Path) -> None:
    root = damaged(HOT, tmp_path)
    newest, _ = needed_zip(root, 1)
    newest.write_bytes(newest.read_bytes()[:200])
    (broken,) = ask(root).not_read
    assert broken.partition_id == 1 and f"{newest.name}: " in broken.reason


@pytest.mark.parametrize(
    ("root", "kind"), [(HOT, "changelog"), (MISSING, "delta")], ids=["changelog", "delta"]
)
def test_damaged_changes(root: Path, kind: str, tmp_path: Path) -> None:
    copy = damaged(root, tmp_path)
    newest = max(copy.glob(f"state/0/1/*.{kind}"), key=lambda path: (path.stat().st_size, path.name))
    if kind == "changelog":
        newest = max(copy.glob("state/0/1/*.changelog"), key=lambda path: int(path.stem))
    data = bytearray(newest.read_bytes())
    data[30] ^= 1
    newest.write_bytes(data)
    found = ask(copy)
    assert 1 in [part.partition_id for part in found.not_read]
    assert all(row.partition_id != 1 for row in found.rows)
    assert newest.name in next(part.reason for part in found.not_read if part.partition_id == 1)


def test_a_damaged_snapshot(tmp_path: Path) -> None:
    root = damaged(SAMPLES / "purged-to-newest-10/checkpoint", tmp_path)
    for file in root.glob("state/0/1/*.snapshot"):
        data = bytearray(file.read_bytes())
        data[30] ^= 1
        file.write_bytes(data)
    (broken,) = ask(root).not_read
    assert broken.partition_id == 1 and ".snapshot: " in broken.reason


def test_a_zip_that_records_more_rows_than_its_files_hold(tmp_path: Path) -> None:
    root = damaged(HOT, tmp_path)
    newest, _ = needed_zip(root, 0)
    with zipfile.ZipFile(newest) as before:
        members = {name: before.read(name) for name in before.namelist()}
    members["metadata"] = members["metadata"].replace(b'"numKeys":8', b'"numKeys":9')
    with zipfile.ZipFile(newest, "w", zipfile.ZIP_DEFLATED) as after:
        for name, content in members.items():
            after.writestr(name, content)
    found = ask(root, batch_id=int(newest.stem) - 1, partition_id=0)
    assert not found.rows
    assert "records 9 rows, its files hold 8" in found.not_read[0].reason


def test_no_state_schema(tmp_path: Path) -> None:
    root = damaged(HOT, tmp_path)
    (root / "state/0/0/_metadata/schema").unlink()
    with pytest.raises(UsageError, match="has no state schema that can be read"):
        ask(root)


def test_a_schema_of_another_width_is_said(tmp_path: Path) -> None:
    root = damaged(HOT, tmp_path)
    other = next((MISSING / "state/0/0/_metadata").glob("schema"))
    shutil.copyfile(other, root / "state/0/0/_metadata/schema")
    found = ask(root)
    assert not found.rows and len(found.not_read) == 6


@pytest.mark.parametrize("seed", range(40))
def test_random_damage_never_raises_and_never_invents_rows(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    source, asked = rng.choice(
        [(HOT, {}), (JOIN, {"side": "left"}), (TIMERS, {"variable": "amounts"}), (FORMAT_2, {})]
    )
    root = damaged(source, tmp_path)
    whole = {json.dumps([row.partition_id, row.key, row.value]) for row in ask(root, **asked).rows}
    files = [path for path in root.glob("state/*/[0-9]*/**/*") if path.is_file() and path.name != "schema"]
    for file in rng.sample(files, 12):
        data = bytearray(file.read_bytes())
        if rng.random() < 0.3 or not data:
            data = data[: rng.randrange(len(data) + 1)]
        else:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        file.write_bytes(data)
    found = ask(root, **asked)
    shown = {json.dumps([row.partition_id, row.key, row.value]) for row in found.rows}
    read = {part.partition_id for part in found.not_read}
    assert shown <= whole
    assert {text for text in whole if json.loads(text)[0] not in read} == shown


# the command line


def test_values_are_hidden_until_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rows", str(HOT), "--json"]) == 0
    hidden = capsys.readouterr().out
    assert "web" not in hidden and "2026" not in hidden.replace(str(HOT), "")
    assert main(["rows", str(HOT), "--json", "--reveal"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert any(row["key"]["store"] == "web" for row in shown["rows"])
    assert [row["key_bytes"] for row in shown["rows"]] == [
        row["key_bytes"] for row in json.loads(hidden)["rows"]
    ]


def test_a_setting_forbids_to_reveal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CHECKPOINT_EXPLORER_REVEAL_STATE", "false")
    assert main(["rows", str(HOT), "--reveal"]) == 2
    assert "CHECKPOINT_EXPLORER_REVEAL_STATE" in capsys.readouterr().err
    assert main(["rows", str(HOT)]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--key", "[1]"], "--key takes a JSON object"),
        (["--changes", "3-4"], "--changes takes two batches"),
        (["--changes", "9..8"], "the first batch comes first"),
        (["--limit", "0"], "--limit must be between"),
        (["--operator", "7"], "There is no operator 7. There are: 0"),
        (["--batch", "77"], "Batch 77 is not committed"),
        (["--store", "nothing"], "There is no store nothing"),
        (["--timers"], "Operator 0 has no timers"),
        (["--changes", "1..2", "--batch", "2"], "--changes names its batches itself"),
        (["--sql", "select 1"], "--sql needs --engine spark"),
        (["--engine", "spark", "--largest", "keys"], "are answered by --engine files"),
        (["--engine", "spark", "--side", "left"], "no sides"),
    ],
)
def test_what_cannot_be_asked(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rows", str(HOT), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_partition_that_cannot_be_read_gives_exit_status_10(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rows", str(MISSING), "--json"]) == 10
    found = json.loads(capsys.readouterr().out)
    assert found["partitions_not_read"] == [2]
    assert found["not_read"][0]["path"] == "state/0/2/"


def test_the_keys_of_a_map_are_hidden_too() -> None:
    value = {"by_name": {"ada": 1}, "nothing": None, "window": {"start": "2026-01-01", "end": "2026-01-02"}}
    row = StateRow(0, {"names": {"grace": {"ada": 1}}}, [value], 8, 8, before=value)
    found = hidden(row)
    of_value = {"by_name": "***", "nothing": None, "window": "***"}
    assert (found.key, found.value, found.before) == ({"names": "***"}, [of_value], of_value)
