"""Rows of the state: counted by following their changes, and looked for in the partition that their key
belongs to."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.checkpoint import Checkpoint
from core.checkpoint.model import OperatorState
from core.checkpoint.operator_metadata import StateSchema
from core.checkpoint.state import committed_ids, read_schemas, state_inventory
from core.checkpoint.state_content.counts import PartitionCount, count_keys
from core.checkpoint.state_content.partitioning import hashable_columns, partition_ids
from core.checkpoint.state_content.placement import Placement, placement
from core.checkpoint.state_content.records import Record
from core.checkpoint.state_content.replay import KeyCount, Replay
from core.checkpoint.state_content.rocksdb_zip import ZipContent, read_zip
from core.checkpoint.state_content.state_rows import RowsQuestion, read_rows
from core.checkpoint.state_content.stores import BYTES_PER_WAVE, FILES_PER_WAVE, Wanted, read_in_waves, stores
from core.cli import main
from core.storage import FileInfo
from tests.support.build import SAMPLES, copy_sample
from tests.support.state_files import cut, newest, records_of

STATEFUL = (
    "dropduplicates-removed",
    "join-watermark-held-back",
    "kafka-topic-gained-partitions",
    "purged-to-newest-10",
    "state-format-2",
    "windowed-aggregation-hot-partition",
)

keys = st.sampled_from([bytes([i]) for i in range(8)])
changes = st.lists(
    st.one_of(
        st.tuples(st.just("put"), keys, st.binary(max_size=3)),
        st.tuples(st.just("merge"), keys, st.binary(max_size=3)),
        st.tuples(st.just("delete"), keys, st.none()),
        st.tuples(st.just("delete_range"), keys, keys),
    ),
    max_size=12,
)


def plainly(rows: set[bytes], records: list[Record]) -> set[bytes]:
    """The rows after these changes, without the code under test."""
    rows = set(rows)
    for kind, key, value in records:
        if kind in ("put", "merge"):
            rows.add(key)
        elif kind == "delete":
            rows.discard(key)
        else:
            assert value is not None
            rows = {row for row in rows if not key <= row < value}
    return rows


@given(changes, changes)
def test_a_replay_from_the_empty_state_is_exact(first: list[Record], second: list[Record]) -> None:
    walk = Replay()
    walk.apply(first)
    walk.apply(second)
    rows = plainly(plainly(set(), first), second)
    assert walk.count() == KeyCount(len(rows), len(rows), len(rows), "replayed")
    assert set(walk.rows) == rows


@given(st.sets(keys), changes)
def test_what_follows_a_number_gives_bounds_that_hold(base: set[bytes], records: list[Record]) -> None:
    walk = Replay()
    walk.start_from(len(base))
    walk.apply(records)
    count, rows = walk.count(), plainly(base, records)
    assert count.at_least is not None and count.at_most is not None
    assert count.at_least <= len(rows) <= count.at_most
    assert count.keys in (None, len(rows))


def test_without_a_number_before_it_a_replay_gives_a_lower_bound() -> None:
    walk = Replay()
    walk.forget()
    assert walk.count().how == "unknown"
    walk.apply([("put", b"a", b"1"), ("put", b"b", b"1"), ("delete", b"a", None)])
    assert walk.count() == KeyCount(None, 1, None, "bounds")


def test_a_snapshot_is_the_same_only_with_the_same_keys_and_values() -> None:
    walk = Replay()
    rows: list[Record] = [("put", b"a", b"12345678"), ("put", b"b", b"12345678")]
    walk.apply(rows)
    assert walk.holds(rows) and walk.holds(list(reversed(rows)))
    assert not walk.holds(rows[:1])
    assert not walk.holds([rows[0], ("put", b"b", b"12345679")])
    walk.forget()
    assert walk.holds(rows[:1])  # not known, so no difference is told


def test_four_bytes_too_many_of_old_spark_are_no_difference() -> None:
    walk = Replay()
    walk.apply([("put", b"a", b"12345678wxyz")])
    assert walk.holds([("put", b"a", b"12345678")])


def test_a_deleted_key_carries_a_checksum_when_rows_have_them() -> None:
    walk = Replay(has_row_checksums=True)
    walk.apply([("put", b"key", b"1"), ("delete", b"\1\2\3\4key", None)])
    assert walk.count().keys == 0


def test_rows_of_sparks_own_column_families_do_not_count() -> None:
    walk = Replay()
    walk.apply([("put", b"\x01\x00a", b"1"), ("put", b"\x02\x00a", b"1"), ("put", b"\x02\x00b", b"1")])
    assert walk.count().keys == 3
    assert walk.count({2}).keys == 1


# Partitions


def schema(*types: object) -> dict[str, object]:
    return {
        "type": "struct",
        "fields": [
            {"name": f"c{i}", "type": kind, "nullable": True, "metadata": {}} for i, kind in enumerate(types)
        ],
    }


def operators(name: str) -> tuple[Checkpoint, tuple[OperatorState, ...]]:
    ck = Checkpoint.open(str(SAMPLES / name / "checkpoint"))
    return ck, state_inventory(ck).operators


@pytest.mark.parametrize("name", STATEFUL)
def test_every_row_of_the_samples_lies_where_the_hash_of_its_key_says(name: str) -> None:
    ck, found = operators(name)
    looked_at = 0
    for operator in found:
        schemas = {s.store: s for s in read_schemas(ck, operator.operator_id) if isinstance(s, StateSchema)}
        for partition in operator.partitions:
            place = placement(operator, partition.store, schemas[partition.store], ck.conf)
            assert isinstance(place, Placement)
            for file in partition.files:
                if file.kind in ("delta", "snapshot", "changelog"):
                    records = records_of(SAMPLES / name / "checkpoint" / file.path)
                    seen = place.look(
                        partition.partition_id, [key for kind, key, _ in records.records if kind == "put"]
                    )
                    assert seen is not None and seen.rows == 0, file.path
                    looked_at += seen.looked_at
    assert looked_at > 50


def test_rows_of_another_partition_are_told_by_the_partition_they_belong_to() -> None:
    ck, found = operators("dropduplicates-removed")
    place = placement(
        found[0], "default", next(s for s in read_schemas(ck, 0) if isinstance(s, StateSchema)), ck.conf
    )
    assert isinstance(place, Placement)
    rows = records_of(newest(SAMPLES / "dropduplicates-removed/checkpoint/state/0/1", "snapshot")).records
    seen = place.look(0, [key for _, key, _ in rows])
    assert seen is not None and dict(seen.by_partition) == {1: len(rows)} and seen.looked_at == len(rows)


def test_bytes_that_are_no_row_of_the_schema_are_not_judged() -> None:
    columns = hashable_columns(schema("long", "string"))
    assert columns is not None
    for row in (b"", b"12345678", bytes(23), bytes(16) + b"\xff" * 8):
        assert partition_ids([row], columns, 4) is None


@pytest.mark.parametrize(
    "kind",
    [
        "double",
        "float",
        "decimal(10,2)",
        "string collate UTF8_LCASE",
        "interval month",
        "variant",
        {"type": "array"},
        7,
    ],
)
def test_a_type_whose_hash_is_not_computed_is_refused(kind: object) -> None:
    assert hashable_columns(schema("long", kind)) is None


def test_a_collated_text_is_refused() -> None:
    field = {
        "name": "c",
        "type": "string",
        "nullable": True,
        "metadata": {"__COLLATIONS": {"c": "icu.UNICODE_CI"}},
    }
    assert hashable_columns({"type": "struct", "fields": [field]}) is None


def test_placement_says_why_it_is_not_computed() -> None:
    ck, found = operators("dropduplicates-removed")
    operator, known = found[0], next(s for s in read_schemas(ck, 0) if isinstance(s, StateSchema))
    before_3_3 = {key: value for key, value in ck.conf.items() if "StrictDistribution" not in key}
    assert "before Spark 3.3" in str(placement(operator, "default", known, before_3_3))
    assert "no state schema" in str(placement(operator, "default", None, ck.conf))
    tws, others = operators("transform-with-state-timers")
    family = next(s for s in read_schemas(tws, 0) if isinstance(s, StateSchema))
    assert "layout of the keys" in str(placement(others[0], "default", family, tws.conf))


# Counting


def counted(root: Path, batch: int | None = None, *, replay: bool = True) -> dict[str, list[PartitionCount]]:
    ck = Checkpoint.open(str(root))
    last = ck.last_committed_batch
    assert last is not None
    version = (last if batch is None else batch) + 1
    (operator,) = state_inventory(ck).operators
    found = count_keys(ck.door, operator, version, committed_ids(ck), replay=replay)
    return {store: list(partitions) for store, partitions in found.items()}


def test_a_zip_of_the_version_tells_the_number_without_a_replay() -> None:
    found = counted(SAMPLES / "state-format-2/checkpoint", replay=False)["default"]
    store = SAMPLES / "state-format-2/checkpoint/state/0"
    for partition in found:
        content = read_zip(newest(store / str(partition.partition_id), "zip").read_bytes())
        assert isinstance(content, ZipContent)
        assert partition.count == KeyCount.exact(content.num_keys or 0, "recorded")


@pytest.mark.parametrize(
    "name",
    [
        "kafka-topic-gained-partitions",
        "windowed-aggregation-hot-partition",
        "state-format-2",
        "transform-with-state-timers",
    ],
)
def test_replaying_all_changelogs_gives_the_number_that_each_zip_records(name: str, tmp_path: Path) -> None:
    root = copy_sample(name, tmp_path)
    for path in sorted(root.glob("state/0/*/*.zip")):
        content, number = read_zip(path.read_bytes()), int(path.stem.partition("_")[0])
        assert isinstance(content, ZipContent)
        alone = copy_sample(name, tmp_path / f"{path.parent.name}-{number}")
        for other in alone.glob(f"state/0/*/{number}[._]*zip"):
            other.unlink()  # so that the number comes from the changes
        found = counted(alone, number - 1)["default"][int(path.parent.name)]
        assert found.count == KeyCount.exact(content.num_keys or 0, "replayed")


def test_a_zip_its_sst_files_and_the_changelogs_after_it_give_the_number(tmp_path: Path) -> None:
    whole = counted(SAMPLES / "kafka-topic-gained-partitions/checkpoint")["default"]
    root = copy_sample("kafka-topic-gained-partitions", tmp_path)
    for path in root.glob("state/0/*/1.changelog"):
        path.unlink()
    assert [partition.count for partition in counted(root)["default"]] == [
        KeyCount.exact(partition.count.keys or 0, "replayed") for partition in whole
    ]


def test_a_zip_in_which_no_number_of_rows_is_recorded_is_counted(tmp_path: Path) -> None:
    name, version = "kafka-topic-gained-partitions", 12
    whole = counted(SAMPLES / name / "checkpoint", version - 1)["default"]
    root = copy_sample(name, tmp_path)
    for path in root.glob("state/0/*/*.changelog"):
        path.unlink()
    zips = sorted(root.glob(f"state/0/*/{version}.zip"))
    for path in zips:
        with zipfile.ZipFile(path) as old:
            members = {member: old.read(member) for member in old.namelist()}
        members["metadata"] = re.sub(rb'"numKeys":[0-9]+', b'"numKeys":-1', members["metadata"])
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for member, content in members.items():
                new.writestr(member, content)
    assert zips and sum(part.count.keys or 0 for part in whole) > 0
    assert {part.count.keys for part in counted(root, version - 1, replay=False)["default"]} == {None}
    assert [part.count.keys for part in counted(root, version - 1)["default"]] == [
        p.count.keys for p in whole
    ]


def test_where_rows_are_lists_the_rows_count_and_not_what_a_zip_records(tmp_path: Path) -> None:
    """Spark 4.0.5 was seen to record 17 rows in a zip with 15, which its own reader shows, too."""
    root = copy_sample("transform-with-state-timers", tmp_path)
    version = max(int(path.stem) for path in root.glob("state/0/0/*.zip"))
    whole = counted(root, version - 1)["default"]
    for path in root.glob("state/0/*/*.changelog"):
        path.unlink()
    for path in root.glob(f"state/0/*/{version}.zip"):
        with zipfile.ZipFile(path) as old:
            members = {member: old.read(member) for member in old.namelist()}
        members["metadata"] = re.sub(rb'"numKeys":[0-9]+', b'"numKeys":99', members["metadata"])
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for member, content in members.items():
                new.writestr(member, content)
    assert [part.count.keys for part in counted(root, version - 1)["default"]] == [
        p.count.keys for p in whole
    ]
    rows = read_rows(Checkpoint.open(str(root)), RowsQuestion(batch_id=version - 1, variable="totals"))
    assert rows.rows and not rows.not_read


def test_the_elements_of_lists_are_counted_in_sst_files_too(tmp_path: Path) -> None:
    root = copy_sample("transform-with-state-timers", tmp_path)
    kept = {int(path.stem) for path in root.glob("state/0/0/*.zip")}
    whole = [counted(root, version - 1)["default"] for version in sorted(kept)]
    for path in root.glob("state/0/*/*.changelog"):
        path.unlink()  # only what the zips hold is left
    alone = [counted(root, version - 1)["default"] for version in sorted(kept)]
    elements = [[partition.elements for partition in parts] for parts in whole]
    assert len(kept) >= 1 and sum(map(sum, elements)) > 0
    assert [[partition.elements for partition in parts] for parts in alone] == elements


def test_without_the_sst_files_a_zip_and_the_changelogs_after_it_give_bounds(tmp_path: Path) -> None:
    whole = counted(SAMPLES / "kafka-topic-gained-partitions/checkpoint")["default"]
    root = copy_sample("kafka-topic-gained-partitions", tmp_path)
    for path in (*root.glob("state/0/*/1.changelog"), *root.glob("state/0/*/SSTs/*.sst")):
        path.unlink()
    for before, after in zip(whole, counted(root)["default"], strict=True):
        assert before.count.keys is not None
        assert (
            after.count.how in ("bounds", "replayed")
            and after.count.at_least is not None
            and after.count.at_most is not None
        )
        assert after.count.at_least <= before.count.keys <= after.count.at_most


def test_a_missing_or_damaged_file_makes_one_partition_unknown(tmp_path: Path) -> None:
    counts = counted(SAMPLES / "missing-delta-file/checkpoint")["default"]
    assert [partition.count.how for partition in counts] == ["replayed", "replayed", "unknown", "replayed"]
    root = copy_sample("missing-delta-file", tmp_path)
    cut(root / "state/0/0/5.delta", 40)
    shutil.rmtree(root / "state/0/3")
    assert [partition.count.how for partition in counted(root)["default"]] == [
        "unknown",
        "replayed",
        "unknown",
        "unknown",
    ]


def test_the_verb_state_answers_as_the_contract_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["state", str(SAMPLES / "join-watermark-held-back/checkpoint"), "--replay", "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert set(answer) == {
        "schema_version",
        "version",
        "location",
        "batch",
        "state_version",
        "operators",
        "not_read",
    }
    assert answer["state_version"] == answer["batch"] + 1
    (operator,) = answer["operators"]
    assert set(operator) == {"id", "name", "provider", "stores"}
    assert {store["name"] for store in operator["stores"]} == {
        f"{a}-key{b}" for a in ("left", "right") for b in ("ToNumValues", "WithIndexToValue")
    }
    for store in operator["stores"]:
        assert {"name", "partitions", "keys_total", "skew"} <= set(store)
        assert {"max_over_median", "heaviest_partition", "empty_partitions"} <= set(store["skew"])
        for partition in store["partitions"]:
            assert {"id", "keys", "at_least", "at_most", "how", "size_bytes", "files"} <= set(partition)
        assert store["keys_total"] == sum(partition["keys"] for partition in store["partitions"])


def test_the_verb_state_names_the_batches_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["state", str(SAMPLES / "purged-to-newest-10/checkpoint"), "--batch", "3"]) == 2
    assert "Batch 3 is not committed; the commit log has batches" in capsys.readouterr().err
    assert main(["state", str(SAMPLES / "files-stopped-cleanly/checkpoint")]) == 0
    assert "the query is stateless" in capsys.readouterr().out


def test_the_verb_state_says_how_to_count_what_is_not_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["state", str(SAMPLES / "purged-to-newest-10/checkpoint")]) == 0
    assert "rows not known in 2 of 2 partitions (--replay counts them)" in capsys.readouterr().out


def test_files_are_read_in_waves_of_bounded_size(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id":"730aa211-41ff-4ee3-b1b9-9e62ed047c5f"}', encoding="utf-8")
    ck = Checkpoint.open(str(tmp_path))
    sizes = [1] * (FILES_PER_WAVE + 5) + [BYTES_PER_WAVE + 1, BYTES_PER_WAVE // 2, BYTES_PER_WAVE // 2 + 1, 1]
    wanted = [Wanted(i, (FileInfo(f"state/0/0/{i}.delta", size),)) for i, size in enumerate(sizes)]
    waves = [[key for key, _ in wave] for wave in read_in_waves(ck.door, wanted)]
    assert [key for wave in waves for key in wave] == list(range(len(sizes)))
    for wave in waves:
        assert len(wave) <= FILES_PER_WAVE and (
            len(wave) == 1 or sum(sizes[key] for key in wave) <= BYTES_PER_WAVE
        )


def test_of_several_files_with_one_version_the_commit_names_the_right_one(tmp_path: Path) -> None:
    root = copy_sample("state-format-2", tmp_path)
    original = next((root / "state/0/0").glob("3_*.changelog"))
    other = original.with_name("3_00000000-0000-0000-0000-000000000000.changelog")
    shutil.copy(original, other)
    ck = Checkpoint.open(str(root))
    paths = {
        file.path
        for store in stores(state_inventory(ck).operators, 8, committed_ids(ck))
        for file in store.files
    }
    assert f"state/0/0/{original.name}" in paths and f"state/0/0/{other.name}" not in paths
    (root / "commits/2").unlink()
    ck = Checkpoint.open(str(root))
    steps = next(iter(stores(state_inventory(ck).operators, 8, committed_ids(ck)))).steps
    assert [step.version for step in steps if step.is_ambiguous] == [3]
