"""The inventory of ``state/``: from listings made by hand, from real samples, from the corpus, and from a
large generated checkpoint."""

from __future__ import annotations

import json
import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.model import OperatorState, StateInventory
from core.checkpoint.operator_metadata import StateSchema, parse_operator_metadata
from core.checkpoint.restore_chain import CommittedIds
from core.checkpoint.state import StateContext, inventory, read_schemas, state_inventory
from core.sparklogs.evidence import Problem
from core.storage import Door, FileInfo
from scripts.bench import large_checkpoint
from tests.support.build import (
    CONF_4_3,
    SAMPLES,
    commit_text,
    copy_sample,
    corpus_entry,
    corpus_names,
    offset_text,
    sample_names,
    write,
)

HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
DATABRICKS = "com.databricks.sql.streaming.state.RocksDBStateStoreProvider"
ID = "713bb905-9ba4-4cdd-8eb0-9dbbdf60e075"
OTHER = "2d9d4dbd-7fc6-41a2-b185-823a12365b21"
METADATA = (
    'v1\n{"operatorInfo":{"operatorId":0,"operatorName":"NAME"},'
    '"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":2}]}'
)


def taken(listing: Mapping[str, int] | Iterable[str], **context: object) -> StateInventory:
    """The inventory of {path: bytes}, or of paths with 100 bytes each; two committed batches unless said
    otherwise."""
    sizes = listing if isinstance(listing, Mapping) else dict.fromkeys(listing, 100)
    said: dict[str, object] = {
        "provider_class": HDFS,
        "shuffle_partitions": 2,
        "last_committed_batch": 1,
        "newest_planned_batch": 1,
    }
    said |= context
    return inventory([FileInfo(path, size, 1_000) for path, size in sizes.items()], StateContext(**said), 5)  # type: ignore[arg-type]


def one(listing: Mapping[str, int] | Iterable[str], **context: object) -> OperatorState:
    (operator,) = taken(listing, **context).operators
    return operator


def plain(partitions: int = 2, kind: str = "delta", versions: Iterable[int] = (1, 2)) -> list[str]:
    return [f"state/0/{p}/{v}.{kind}" for p in range(partitions) for v in versions]


def schema_file(key: list[tuple[str, str]], value: list[tuple[str, str]]) -> bytes:
    def part(columns: list[tuple[str, str]]) -> bytes:
        fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns]
        text = json.dumps({"type": "struct", "fields": fields}).encode()
        return struct.pack(">iH", 1, len(text)) + text

    return b"\0\x02v2" + part(key) + part(value)


def checkpoint(root: Path, state: Mapping[str, str | bytes], batches: int = 2, **conf: str) -> Checkpoint:
    """A checkpoint on disk with two committed batches and these files below ``state/``."""
    pinned = {
        **CONF_4_3,
        "spark.sql.shuffle.partitions": "2",
        **{f"spark.sql.{key.replace('_', '.')}": v for key, v in conf.items()},
    }
    files: dict[str, str | bytes] = {"metadata": '{"id":"730aa211-41ff-4ee3-b1b9-9e62ed047c5f"}'}
    for batch in range(batches):
        files[f"offsets/{batch}"] = offset_text(['{"logOffset":0}'], conf=pinned)
        files[f"commits/{batch}"] = commit_text()
    write(root, files)
    return Checkpoint.open(str(write(root, {f"state/{path}": content for path, content in state.items()})))


# What is counted


def test_files_bytes_and_versions_are_counted_per_partition_and_store() -> None:
    operator = one(
        {
            "state/0/0/1.delta": 10,
            "state/0/0/2.delta": 20,
            "state/0/0/2.snapshot": 300,
            "state/0/1/1.delta": 40,
        }
    )
    first, second = operator.partitions
    assert (first.partition_id, first.store, first.size_bytes, first.newest_version) == (0, "default", 330, 2)
    assert first.bytes_by_version == {1: 10, 2: 320}
    assert (second.size_bytes, second.newest_version) == (40, 1)
    assert (operator.size_bytes, operator.file_count) == (370, 4)


def test_the_inventory_sums_up_its_operators() -> None:
    state = taken({"state/0/0/1.delta": 10, "state/1/0/1.delta": 30, "state/1/_metadata/metadata": 5})
    assert [operator.operator_id for operator in state.operators] == [0, 1]
    assert (state.size_bytes, state.file_count, state.read_at_ms) == (45, 3, 5)


def test_operators_and_partitions_are_in_the_order_of_numbers() -> None:
    state = taken(["state/10/0/1.delta", "state/2/10/1.delta", "state/2/9/1.delta"], shuffle_partitions=11)
    assert [operator.operator_id for operator in state.operators] == [2, 10]
    assert [partition.partition_id for partition in state.operators[0].partitions] == [9, 10]


def test_ssts_and_rocksdb_logs_count_as_data_without_a_version() -> None:
    operator = one(
        {"state/0/0/1.zip": 5, f"state/0/0/SSTs/000008-{ID}.sst": 70, f"state/0/0/logs/000004-{ID}.log": 6},
        provider_class=ROCKSDB,
    )
    (partition,) = operator.partitions
    assert partition.size_bytes == 81
    assert partition.bytes_by_version == {1: 5}
    assert [file.kind for file in partition.files] == ["zip", "sst", "rocksdb_log"]


def test_schemas_metadata_and_checksums_are_files_but_no_data_of_a_partition() -> None:
    operator = one(
        {
            "state/0/0/1.delta": 10,
            "state/0/0/1.delta.crc": 3,
            "state/0/0/_metadata/schema": 50,
            "state/0/_metadata/metadata": 7,
        }
    )
    assert operator.partitions[0].size_bytes == 10
    assert (operator.size_bytes, operator.file_count) == (70, 4)
    assert [file.path for file in operator.own_files] == ["state/0/_metadata/metadata"]


def test_checksum_side_files_of_hadoop_are_no_part_of_the_inventory() -> None:
    side_files = {"state/0/0/.1.delta.crc": 12, "state/0/_metadata/.metadata.crc": 12}
    state = taken({"state/0/0/1.delta": 10, "state/0/_metadata/metadata": 7, **side_files})
    assert (state.file_count, state.size_bytes, state.leftovers) == (2, 17, ())


def test_directory_markers_of_old_s3_connectors_are_not_files() -> None:
    assert taken(["state/0/0/1.delta", "state/0/0_$folder$", "state/0/0/SSTs_$folder$"]).leftovers == ()


def test_no_state_gives_an_inventory_without_operators(tmp_path: Path) -> None:
    state = state_inventory(checkpoint(tmp_path, {}))
    assert (state.operators, state.leftovers, state.file_count) == ((), (), 0)


# Leftovers


def leftovers(state: StateInventory) -> list[tuple[str, str]]:
    return [(item.path, item.kind) for item in state.leftovers]


def test_unfinished_writes_are_temporary_leftovers() -> None:
    names = [f"state/0/0/.3.delta.{ID}.TID6.tmp", f"state/0/_metadata/.metadata.{ID}.tmp"]
    assert leftovers(taken([*plain(), *names])) == [(name, "temporary") for name in names]


def test_a_checksum_whose_file_is_gone_is_a_temporary_leftover() -> None:
    assert leftovers(taken([*plain(), "state/0/0/.9.delta.crc"])) == [("state/0/0/.9.delta.crc", "temporary")]


def test_names_spark_does_not_write_are_foreign_and_keep_their_size() -> None:
    paths = [
        "state/0/0/README",
        "state/0/notes.txt",
        "state/0/x/1.delta",
        "state/backup/0/1.delta",
        "state/todo",
    ]
    state = taken({**dict.fromkeys(plain(), 100), **dict.fromkeys(paths, 7)})
    assert sorted(leftovers(state)) == sorted((path, "foreign") for path in paths)
    assert {item.size_bytes for item in state.leftovers} == {7}
    assert state.file_count == 4


def test_the_pending_batch_may_have_written_its_state_already() -> None:
    assert taken(plain(versions=(1, 2, 3)), newest_planned_batch=2).leftovers == ()


def test_versions_of_no_planned_batch_are_orphans() -> None:
    state = taken(plain(versions=(1, 2, 3, 4)), newest_planned_batch=2)
    assert leftovers(state) == [("state/0/0/4.delta", "orphan_state"), ("state/0/1/4.delta", "orphan_state")]


def test_without_any_log_entry_all_state_is_orphaned() -> None:
    state = taken(plain(versions=(1,)), last_committed_batch=None, newest_planned_batch=None)
    assert [kind for _, kind in leftovers(state)] == ["orphan_state", "orphan_state"]


def test_a_commit_without_its_offset_file_keeps_its_state_from_being_orphaned() -> None:
    assert taken(plain(versions=(1, 2)), newest_planned_batch=0).leftovers == ()


def test_state_written_after_the_logs_were_listed_is_no_orphan() -> None:
    files = [
        FileInfo("state/0/0/1.delta", 10, 1_000),
        FileInfo("state/0/0/9.delta", 10, 3_000),
        FileInfo("state/0/0/8.delta", 10, 2_000),
    ]
    context = StateContext(last_committed_batch=0, newest_planned_batch=0, logs_read_at_ms=2_000)
    assert leftovers(inventory(files, context, 4_000)) == [("state/0/0/8.delta", "orphan_state")]


def test_attempts_that_were_not_committed_are_orphans_in_format_2() -> None:
    names = [
        f"state/0/0/1_{ID}.zip",
        f"state/0/0/2_{ID}.zip",
        f"state/0/0/2_{OTHER}.zip",
        f"state/0/0/3_{OTHER}.zip",
    ]
    committed = CommittedIds({0: {"0": ((ID,),)}, 1: {"0": ((ID,),)}})
    state = taken(
        names, provider_class=ROCKSDB, shuffle_partitions=1, committed=committed, newest_planned_batch=2
    )
    assert leftovers(state) == [
        (f"state/0/0/2_{OTHER}.zip", "orphan_state")
    ]  # 3 belongs to the pending batch


def test_ids_whose_commit_was_not_read_are_not_called_orphans() -> None:
    names = [f"state/0/0/1_{OTHER}.zip", f"state/0/0/2_{ID}.zip"]
    committed = CommittedIds({1: {"0": ((ID,),)}})
    assert taken(names, provider_class=ROCKSDB, shuffle_partitions=1, committed=committed).leftovers == ()


def test_partitions_past_the_expected_number_are_one_leftover_each() -> None:
    state = taken(
        {
            **dict.fromkeys(plain(), 100),
            "state/0/2/1.delta": 5,
            "state/0/2/9.delta": 6,
            "state/0/3/1.delta": 7,
        }
    )
    assert [(item.path, item.kind, item.size_bytes) for item in state.leftovers] == [
        ("state/0/2", "orphan_state", 11),
        ("state/0/3", "orphan_state", 7),
    ]
    assert {partition.partition_id for partition in state.operators[0].partitions} == {0, 1, 2, 3}


# Provider and format


@pytest.mark.parametrize(
    ("provider_class", "kind", "provider", "certainty"),
    [
        (HDFS, "delta", "hdfs", "certain"),
        (ROCKSDB, "zip", "rocksdb", "certain"),
        (DATABRICKS, "changelog", "rocksdb", "certain"),
        (None, "delta", "hdfs", "inferred"),
        (None, "snapshot", "hdfs", "inferred"),
        (None, "zip", "rocksdb", "inferred"),
        (None, "changelog", "rocksdb", "inferred"),
        ("com.example.Store", "delta", "hdfs", "inferred"),
    ],
)
def test_the_provider_comes_from_the_conf_and_else_from_the_files(
    provider_class: str | None, kind: str, provider: str, certainty: str
) -> None:
    operator = one(plain(kind=kind), provider_class=provider_class)
    assert (operator.provider, operator.provider_certainty) == (provider, certainty)
    assert operator.problems == ()


def test_an_operator_without_data_has_the_provider_of_the_conf() -> None:
    operator = one(["state/0/_metadata/metadata"], provider_class=ROCKSDB)
    assert (operator.provider, operator.provider_certainty) == ("rocksdb", "certain")


def test_without_conf_and_data_the_provider_is_unknown() -> None:
    operator = one(["state/0/_metadata/metadata"], provider_class=None)
    assert (operator.provider, operator.provider_certainty) == ("unknown", "inferred")


def test_files_of_another_provider_than_the_conf_says_are_a_problem() -> None:
    operator = one(plain(kind="delta"), provider_class=ROCKSDB)
    assert (operator.provider, operator.provider_certainty) == ("hdfs", "inferred")
    (problem,) = operator.problems
    assert (problem.condition, problem.evidence.path) == ("mismatch", "state/0/0/1.delta")


def test_ids_in_names_or_in_a_commit_mean_format_2() -> None:
    assert one(plain()).format_version == 1
    assert one([f"state/0/0/1_{ID}.zip"], provider_class=ROCKSDB, shuffle_partitions=1).format_version == 2
    assert (
        one(
            plain(kind="zip"), provider_class=ROCKSDB, committed=CommittedIds({1: {"0": ((ID,), (ID,))}})
        ).format_version
        == 2
    )


# Names, schemas and the number of partitions (read from disk)


def test_the_name_comes_from_the_metadata(tmp_path: Path) -> None:
    ck = checkpoint(
        tmp_path,
        {
            "0/_metadata/metadata": METADATA.replace("NAME", "dedupe"),
            "0/0/1.delta": b"x",
            "0/1/1.delta": b"x",
        },
    )
    (operator,) = state_inventory(ck).operators
    assert (operator.name, operator.name_certainty) == ("dedupe", "certain")
    assert operator.metadata_raw == METADATA.replace("NAME", "dedupe")
    assert operator.codec == "lz4"


def test_before_4_0_a_join_is_known_by_its_stores() -> None:
    operator = one(["state/0/0/left-keyToNumValues/1.delta", "state/0/0/right-keyToNumValues/1.delta"])
    assert (operator.name, operator.name_certainty) == ("symmetricHashJoin", "inferred")
    assert operator.stores == ("left-keyToNumValues", "right-keyToNumValues")


def test_without_metadata_the_columns_of_the_schema_tell_the_name(tmp_path: Path) -> None:
    schema = schema_file([("user", "string")], [("__dummy__", "void")])
    ck = checkpoint(tmp_path, {"0/0/_metadata/schema": schema, "0/0/1.delta": b"x", "0/1/1.delta": b"x"})
    (operator,) = state_inventory(ck).operators
    assert (operator.name, operator.name_certainty) == ("dedupe", "inferred")


def test_without_metadata_and_schema_the_name_is_not_known() -> None:
    operator = one(plain())
    assert (operator.name, operator.name_certainty) == (None, "needs_input")


@pytest.mark.parametrize("content", ["", "v1\n{", "v7\n{}"])
def test_damaged_metadata_is_a_problem_and_the_schema_tells_the_name(tmp_path: Path, content: str) -> None:
    schema = schema_file([("user", "string")], [("count", "long")])
    ck = checkpoint(
        tmp_path,
        {
            "0/_metadata/metadata": content,
            "0/0/_metadata/schema": schema,
            "0/0/1.delta": b"x",
            "0/1/1.delta": b"x",
        },
    )
    (operator,) = state_inventory(ck).operators
    assert (operator.name, operator.name_certainty) == ("stateStoreSave", "inferred")
    (problem,) = operator.problems
    assert problem.evidence.path == "state/0/_metadata/metadata"


def test_metadata_of_another_operator_is_a_problem(tmp_path: Path) -> None:
    content = METADATA.replace('"operatorId":0', '"operatorId":1')
    (operator,) = state_inventory(
        checkpoint(tmp_path, {"0/_metadata/metadata": content, "0/0/1.delta": b"x", "0/1/1.delta": b"x"})
    ).operators
    (problem,) = operator.problems
    assert (problem.condition, problem.evidence.path) == ("mismatch", "state/0/_metadata/metadata")


def test_version_2_metadata_of_the_newest_batch_counts(tmp_path: Path) -> None:
    old, new = (METADATA.replace("v1", "v2", 1).replace("NAME", name) for name in ("old", "new"))
    ck = checkpoint(
        tmp_path, {"0/_metadata/v2/9": old, "0/_metadata/v2/10": new, "0/0/1.zip": b"x", "0/1/1.zip": b"x"}
    )
    assert state_inventory(ck).operators[0].name == "new"


@pytest.mark.parametrize(
    ("name", "key", "expected"),
    [
        ("globalLimit", [("key", "void")], 1),
        ("stateStoreSave", [], 1),
        ("stateStoreSave", [("user", "string")], 2),
        ("dedupe", [("user", "string")], 2),
    ],
)
def test_only_partition_0_is_right_for_a_limit_and_an_aggregation_without_keys(
    tmp_path: Path, name: str, key: list[tuple[str, str]], expected: int
) -> None:
    files: dict[str, str | bytes] = {"0/_metadata/metadata": METADATA.replace("NAME", name)}
    files |= {
        "0/0/_metadata/schema": schema_file(key, [("value", "long")]),
        "0/0/1.delta": b"x",
        "0/0/2.delta": b"x",
    }
    (operator,) = state_inventory(checkpoint(tmp_path, files)).operators
    assert operator.expected_partitions == expected
    assert operator.restorable.broken_partitions == (
        () if expected == 1 else (("0/1/default", "state/0/1/"),)
    )


def test_only_partition_0_without_a_schema_raises_no_alarm() -> None:
    operator = one(plain(partitions=1), shuffle_partitions=200)
    assert operator.expected_partitions is None
    assert operator.restorable.broken_partitions == ()
    assert "how many partitions there should be" in operator.restorable.not_checked


def test_schemas_are_read_on_request_with_the_watermark_delay() -> None:
    ck = Checkpoint.open(str(SAMPLES / "windowed-aggregation-hot-partition" / "checkpoint"))
    (schema,) = read_schemas(ck, 0)
    assert isinstance(schema, StateSchema)
    assert schema.watermark_delay_ms is not None
    assert "window" in schema.key_columns
    assert read_schemas(ck, 7) == ()


def test_a_damaged_schema_is_a_problem_in_its_place(tmp_path: Path) -> None:
    root = copy_sample("join-watermark-held-back", tmp_path)
    (root / "state/0/0/left-keyToNumValues/_metadata/schema").write_bytes(b"\0\x02v2\0")
    found = read_schemas(Checkpoint.open(str(root)), 0)
    assert [type(item) for item in found] == [Problem, StateSchema, StateSchema, StateSchema]


# Requests


def test_the_inventory_reads_one_metadata_file_per_operator(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(copy_sample("join-watermark-held-back", tmp_path)))
    before = ck.door.requests.get
    state_inventory(ck)
    assert ck.door.requests.get - before == 1


def test_asking_again_sends_no_request(tmp_path: Path) -> None:
    ck = Checkpoint.open(str(copy_sample("state-format-2", tmp_path)))
    state_inventory(ck)
    before = ck.door.requests
    state_inventory(ck)
    assert ck.door.requests == before


# Real samples


def by_hand(root: Path) -> dict[tuple[int, int, str], dict[str, int]]:
    """Names and bytes per operator, partition and store, by walking the directory."""
    found: dict[tuple[int, int, str], dict[str, int]] = defaultdict(dict)
    for path in root.glob("state/*/*/**/*"):
        parts = path.relative_to(root).parts
        if not path.is_file() or path.name.startswith(".") or not parts[2].isdigit():
            continue
        inner = [part for part in parts[3:-1] if part not in ("SSTs", "logs", "_metadata")]
        found[int(parts[1]), int(parts[2]), inner[0] if inner else "default"]["/".join(parts)] = (
            path.stat().st_size
        )
    return found


STATEFUL = [name for name in sample_names() if (SAMPLES / name / "checkpoint" / "state").is_dir()]


@pytest.mark.parametrize("name", STATEFUL)
def test_the_inventory_of_a_sample_holds_every_file_with_its_size(name: str) -> None:
    root = SAMPLES / name / "checkpoint"
    state = state_inventory(Checkpoint.open(str(root)))
    found = {
        (operator.operator_id, p.partition_id, p.store): {f.path: f.size_bytes for f in p.files}
        for operator in state.operators
        for p in operator.partitions
    }
    assert found == by_hand(root)
    assert not [item for item in state.leftovers if item.kind == "foreign"]


@pytest.mark.parametrize("name", STATEFUL)
def test_the_operators_of_a_sample_are_those_of_its_metadata(name: str) -> None:
    root = SAMPLES / name / "checkpoint"
    for operator in state_inventory(Checkpoint.open(str(root))).operators:
        directory = root / "state" / str(operator.operator_id) / "_metadata"
        (file,) = [
            path
            for path in [*directory.glob("metadata"), *directory.glob("v2/[0-9]*")]
            if not path.name.endswith(".crc")
        ]
        parsed = parse_operator_metadata(file.read_bytes(), "metadata")
        assert not isinstance(parsed, Problem)
        assert (operator.name, operator.name_certainty) == (parsed.name, "certain")
        assert operator.stores == tuple(sorted(store.name for store in parsed.stores))
        assert operator.provider_certainty == "certain"
        assert operator.problems == ()


@pytest.mark.parametrize("name", STATEFUL)
def test_a_sample_can_rebuild_what_it_needs_unless_its_story_is_a_missing_file(name: str) -> None:
    ck = Checkpoint.open(str(SAMPLES / name / "checkpoint"))
    for operator in state_inventory(ck).operators:
        assert operator.restorable.needed_version == (ck.last_committed_batch or 0) + 1
        broken = [missing for _, missing in operator.restorable.broken_partitions]
        if name == "missing-delta-file":
            (missing,) = broken
            assert not (SAMPLES / name / "checkpoint" / missing).exists()
        else:
            assert broken == []
            assert operator.restorable.newest_common_version is not None
            assert operator.restorable.newest_common_version >= operator.restorable.needed_version


def test_state_beyond_a_hand_made_rewind_is_orphaned() -> None:
    ck = Checkpoint.open(str(SAMPLES / "hand-made-rewind" / "checkpoint"))
    state = state_inventory(ck)
    versions = {
        int(Path(item.path).name.split(".")[0]) for item in state.leftovers if item.kind == "orphan_state"
    }
    assert versions
    assert min(versions) == ck.offset_ids[-1] + 2


def test_deleting_any_needed_file_of_a_sample_breaks_its_partition(tmp_path: Path) -> None:
    for name in ("state-format-2", "purged-to-newest-10", "windowed-aggregation-hot-partition"):
        root = copy_sample(name, tmp_path / name)
        (operator,) = state_inventory(Checkpoint.open(str(root))).operators
        newest = operator.restorable.needed_version
        for file in operator.partitions[0].files:
            if file.version == newest and file.kind != "checksum":
                (root / file.path).unlink()
        (after,) = state_inventory(Checkpoint.open(str(root))).operators
        assert [where for where, _ in after.restorable.broken_partitions] == ["0/0/default"]


# The corpus


def corpus_state(name: str) -> dict[str, int]:
    """The state files of a corpus entry by size; 100 where the entry does not say."""
    found = {}
    for path, file in corpus_entry(name)["files"].items():
        if path.startswith("state/") and not path.endswith("/"):
            found[path] = len(file["text"]) if "text" in file else file.get("size", 100)
    return found


EXPECTED = {  # operator id -> name, provider, stores, format version
    "kafka-aggregation-watermark": (None, "rocksdb", 1, 1),
    "kafka-real-time-dedup": (None, "rocksdb", 1, 2),
    "s3-rocksdb-changelog-killed": (None, "rocksdb", 1, 1),
    "spark-2.1.0-aggregation": (None, "hdfs", 1, 1),
    "spark-2.2-stateful-inflight": (None, "hdfs", 1, 1),
    "spark-2.3.1-flatmapgroupswithstate-v1": (None, "hdfs", 1, 1),
    "spark-2.4.0-stream-stream-join": ("symmetricHashJoin", "hdfs", 4, 1),
    "spark-3.0.0-statestore-codec": (None, "hdfs", 1, 1),
    "spark-3.2.0-deduplication": (None, "hdfs", 1, 1),
    "spark-4.0.0-hdfs-snapshots": (None, "hdfs", 1, 1),
    "spark-4.0.0-preview-transformwithstate": (None, "rocksdb", 1, 1),
    "spark-4.0.0-rocksdb-join": ("symmetricHashJoin", "rocksdb", 4, 1),
    "spark-4.0.0-state-format-v2-dedup": (None, "rocksdb", 1, 2),
}


@pytest.mark.parametrize("name", corpus_names())
def test_every_state_file_of_the_corpus_is_recognised(name: str) -> None:
    listing = corpus_state(name)
    state = inventory(
        [FileInfo(path, size, 1) for path, size in listing.items()],
        StateContext(newest_planned_batch=10**6),
        0,
    )
    assert [item for item in state.leftovers if item.kind == "foreign"] == []
    temporary = {item.path for item in state.leftovers if item.kind == "temporary"}
    plain_files = [
        path for path in listing if not path.rpartition("/")[2].startswith(".") and path not in temporary
    ]
    assert state.file_count == len(plain_files)
    assert state.size_bytes == sum(listing[path] for path in plain_files)
    if name in EXPECTED:
        (operator,) = state.operators
        assert (operator.name, operator.provider, len(operator.stores), operator.format_version) == EXPECTED[
            name
        ]
    else:
        assert state.operators == ()


@pytest.mark.parametrize("name", corpus_names())
def test_operator_metadata_of_the_corpus_is_read(name: str) -> None:
    for path, file in corpus_entry(name)["files"].items():
        parts = path.split("/")
        if (
            parts[0] == "state"
            and "_metadata" in parts
            and not parts[-1].startswith(".")
            and "text" in file
            and file["text"]
        ):
            assert not isinstance(parse_operator_metadata(file["text"].encode(), path), Problem), path


# Many files


def test_a_large_state_is_complete_and_restorable() -> None:
    shape = large_checkpoint.Shape(stores=4, partitions=100)
    sizes = {
        path: size for path, size in large_checkpoint.listing(shape).items() if path.startswith("state/")
    }
    operator = one(sizes, shuffle_partitions=100, last_committed_batch=99, newest_planned_batch=99)
    assert operator.file_count == len(sizes) == 44_005
    assert len(operator.partitions) == 400
    assert operator.restorable.newest_common_version == operator.restorable.needed_version == 100


def test_the_door_is_only_listed_and_read(tmp_path: Path) -> None:
    root = copy_sample("transform-with-state-timers", tmp_path)
    door = Door.open(str(root))
    ck = Checkpoint.open(door)
    before = door.requests
    operators = state_inventory(ck).operators
    assert operators[0].column_families
    assert door.requests.head == 0
    assert door.requests.get - before.get == 2  # the metadata and the schema of its one store


def test_a_commit_ahead_of_the_offsets_asks_for_no_version_of_its_own() -> None:
    """Spark runs the newest planned batch again, and loads the version before it."""
    for committed, planned, needed in ((6, 6, 7), (5, 6, 6), (50, 6, 6), (3, None, 4), (None, 2, None)):
        context = StateContext(last_committed_batch=committed, newest_planned_batch=planned)
        assert context.needed_version == needed
