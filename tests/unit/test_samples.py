"""Every committed sample is what its story says: read from the files, without the code that the app uses."""

from __future__ import annotations

import io
import json
import re
import shutil
import statistics
import zipfile
from pathlib import Path
from typing import Any

import pytest

from scripts.make_samples import SAMPLES
from scripts.restore_times import restore

ROOT = Path(__file__).resolve().parents[2] / "sample_checkpoints"
NAMES = sorted(SAMPLES)


def checkpoint(name: str) -> Path:
    return ROOT / name / "checkpoint"


def ids(name: str, kind: str) -> list[int]:
    return sorted(int(path.name) for path in (checkpoint(name) / kind).iterdir() if path.name.isdigit())


def lines(name: str, kind: str, batch: int) -> list[str]:
    return (checkpoint(name) / kind / str(batch)).read_text(encoding="utf-8").splitlines()


def header(name: str, batch: int) -> dict[str, Any]:
    return dict(json.loads(lines(name, "offsets", batch)[1]))


def source_lines(name: str, batch: int) -> list[str]:
    return lines(name, "offsets", batch)[2:]


def files(directory: Path) -> list[str]:
    return sorted(
        path.name for path in directory.iterdir() if path.is_file() and not path.name.startswith(".")
    )


def delta_actions(log: Path, version: int) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (log / f"{version:020}.json").read_text(encoding="utf-8").splitlines()
    ]


# ---------------------------------------------------------------------------------------------- all of them


def test_every_sample_of_the_maker_is_there_and_no_other() -> None:
    assert sorted(path.name for path in ROOT.iterdir() if path.is_dir()) == NAMES
    assert len(NAMES) >= 16


def test_together_they_are_small() -> None:
    assert sum(path.stat().st_size for path in ROOT.rglob("*") if path.is_file()) < 8_000_000


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_story_and_a_checkpoint_with_an_id(name: str) -> None:
    story = (ROOT / name / "story.md").read_text(encoding="utf-8")
    assert story.startswith("# ")
    assert "What the engineer knows" in story
    assert "Expected answers (for tests)" in story
    assert 5 <= len(story.splitlines()) <= 20
    assert re.fullmatch(
        r'\{"id":"[0-9a-f-]{36}"\}', (checkpoint(name) / "metadata").read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("name", NAMES)
def test_each_was_written_by_spark_4_2_or_4_3(name: str) -> None:
    conf = header(name, ids(name, "offsets")[-1])["conf"]
    # This key came with Spark 4.2.
    assert "spark.sql.streaming.queryEvolution.enableSourceEvolution" in conf


def contents(path: Path) -> list[bytes]:
    """The bytes of a file, and of what a RocksDB snapshot holds inside."""
    raw = path.read_bytes()
    found = [raw]
    if path.suffix == ".zip":
        archive = zipfile.ZipFile(io.BytesIO(raw))
        found += [archive.read(entry) for entry in archive.namelist()]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_no_path_of_anybodys_machine_and_no_secret(name: str) -> None:
    private = re.compile(
        rb"/(?:home|root|Users|work|tmp|var)/|[A-Z]:\\\\|AKIA[0-9A-Z]{16}|password|secret|BEGIN [A-Z"
        rb" ]*PRIVATE",
        re.IGNORECASE,
    )
    located = re.compile(rb"file:/+([^\"\s]*)")
    for path in (ROOT / name).rglob("*"):
        if not path.is_file():
            continue
        for raw in contents(path):
            assert not private.search(raw), path
            for found in located.findall(raw):
                assert found.startswith(f"data/{name}/".encode()), path


@pytest.mark.parametrize("name", NAMES)
def test_the_times_of_writing_are_recorded_for_every_file(name: str) -> None:
    recorded = json.loads((ROOT / name / "times.json").read_text(encoding="utf-8"))
    there = {
        str(path.relative_to(ROOT / name))
        for path in (ROOT / name).rglob("*")
        if path.is_file() and path.suffix != ".crc" and path.name not in ("times.json", "story.md")
    }
    assert set(recorded) == there
    last = ids(name, "commits")[-1]
    planned = header(name, last)["batchTimestampMs"]
    # A batch is committed after it began, and within minutes: the times are those of the run.
    assert 0 < recorded[f"checkpoint/commits/{last}"] - planned < 300_000


def test_restoring_times_gives_a_fresh_clone_the_times_of_the_run(tmp_path: Path) -> None:
    copy = tmp_path / "files-stopped-cleanly"
    shutil.copytree(ROOT / "files-stopped-cleanly", copy, copy_function=shutil.copy)
    recorded = json.loads((copy / "times.json").read_text(encoding="utf-8"))
    assert restore(tmp_path) > 0
    assert {name: (copy / name).stat().st_mtime_ns // 1_000_000 for name in recorded} == recorded
    assert restore(tmp_path) == 0


# ---------------------------------------------------------------------------------------------- how they end

DIED = {
    "files-died-mid-batch",
    "kafka-pipeline-died-mid-batch",
    "delta-batch-already-in-table",
    "dropduplicates-removed",
}


@pytest.mark.parametrize("name", NAMES)
def test_exactly_the_ones_that_died_have_a_batch_without_a_commit(name: str) -> None:
    offsets, commits = ids(name, "offsets"), ids(name, "commits")
    assert offsets == list(range(offsets[0], offsets[-1] + 1))
    assert commits == (offsets[:-1] if name in DIED else offsets)


# ---------------------------------------------------------------------------------------------- one by one


def test_stopped_cleanly_is_long_enough_for_compacted_source_and_sink_logs() -> None:
    name = "files-stopped-cleanly"
    assert "9.compact" in files(checkpoint(name) / "sources" / "0")
    assert "9.compact" in files(ROOT / name / "sink" / "_spark_metadata")
    assert not (checkpoint(name) / "state").exists()


def test_the_file_pipeline_died_with_its_sink_one_batch_behind_the_plan() -> None:
    name = "files-died-mid-batch"
    pending = ids(name, "offsets")[-1]
    assert max(map(int, files(ROOT / name / "sink" / "_spark_metadata"))) == pending - 1
    entry = (checkpoint(name) / "sources" / "0" / str(pending)).read_text(encoding="utf-8")
    assert "orders-007.json" in entry
    waiting = {path.name for path in (ROOT / name / "source").iterdir()}
    assert "orders-008.json" in waiting


def test_the_kafka_pipeline_has_two_topics_with_six_partitions() -> None:
    name = "kafka-pipeline-died-mid-batch"
    for batch in ids(name, "offsets"):
        [line] = source_lines(name, batch)
        assert {topic: sorted(parts) for topic, parts in json.loads(line).items()} == {
            "orders": ["0", "1", "2"],
            "refunds": ["0", "1", "2"],
        }
    assert (checkpoint(name) / "sources" / "0" / "0").read_bytes().startswith(b"\0v1\n")


def test_the_kafka_topic_gained_partitions_and_the_state_is_rocksdb() -> None:
    name = "kafka-topic-gained-partitions"
    counts = [len(json.loads(source_lines(name, batch)[0])["orders"]) for batch in ids(name, "offsets")]
    assert counts[0] == 2
    assert counts[-1] == 4
    assert counts == sorted(counts)
    last = header(name, ids(name, "offsets")[-1])
    assert last["conf"]["spark.sql.streaming.stateStore.providerClass"].endswith("RocksDBStateStoreProvider")
    assert last["batchWatermarkMs"] > 0
    assert any(found.endswith(".changelog") for found in files(checkpoint(name) / "state" / "0" / "0"))


def test_the_pending_delta_batch_is_in_the_sinks_log() -> None:
    name = "delta-batch-already-in-table"
    pending = ids(name, "offsets")[-1]
    query = json.loads((checkpoint(name) / "metadata").read_text(encoding="utf-8"))["id"]
    log = ROOT / name / "sink" / "_delta_log"
    newest = max(int(path.stem) for path in log.glob("[0-9]*.json"))
    [txn] = [action["txn"] for action in delta_actions(log, newest) if "txn" in action]
    assert (txn["appId"], txn["version"]) == (query, pending)


def test_the_delta_snapshot_is_half_read_and_the_source_has_moved_on() -> None:
    name = "delta-stopped-in-first-snapshot"
    [line] = source_lines(name, ids(name, "commits")[-1])
    offset = json.loads(line)
    log = ROOT / name / "source" / "_delta_log"
    adds = [
        action
        for version in range(offset["reservoirVersion"] + 1)
        for action in delta_actions(log, version)
        if "add" in action
    ]
    assert offset["isStartingVersion"] is True
    assert 0 <= offset["index"] < len(adds) - 1
    [table] = [action["metaData"]["id"] for action in delta_actions(log, 0) if "metaData" in action]
    assert offset["reservoirId"] == table
    assert max(int(path.stem) for path in log.glob("[0-9]*.json")) > offset["reservoirVersion"]


@pytest.mark.parametrize("name", ["delta-batch-already-in-table", "delta-stopped-in-first-snapshot"])
def test_delta_samples_have_both_logs_and_no_data_files(name: str) -> None:
    assert (ROOT / name / "source" / "_delta_log").is_dir()
    assert (ROOT / name / "sink" / "_delta_log").is_dir()
    assert not list((ROOT / name).rglob("*.parquet"))


def test_the_removed_deduplication_is_still_in_the_state_metadata() -> None:
    name = "dropduplicates-removed"
    text = (checkpoint(name) / "state" / "0" / "_metadata" / "metadata").read_text(encoding="utf-8")
    assert json.loads(text.splitlines()[1])["operatorInfo"]["operatorName"] == "dedupe"
    pending = ids(name, "offsets")[-1]
    assert source_lines(name, pending) != source_lines(name, pending - 1)
    # No state was written for the batch that the failed start planned.
    versions = {int(found.split(".")[0]) for found in files(checkpoint(name) / "state" / "0" / "0")}
    assert max(versions) == pending


def test_one_partition_of_the_windowed_aggregation_holds_ten_times_the_median() -> None:
    state = checkpoint("windowed-aggregation-hot-partition") / "state" / "0"
    newest = max(int(found.split(".")[0]) for found in files(state / "0") if found.endswith(".changelog"))
    partitions = [path for path in state.iterdir() if path.name.isdigit()]
    total = {
        path.name: sum(each.stat().st_size for each in path.rglob("*") if each.suffix != ".crc")
        for path in partitions
        if path.is_dir()
    }
    changes = {path.name: (path / f"{newest}.changelog").stat().st_size for path in partitions}
    for sizes in (total, changes):
        assert max(sizes.values()) >= 10 * statistics.median(sizes.values())
    assert max(total, key=lambda name: total[name]) == max(changes, key=lambda name: changes[name])
    assert any(found.endswith(".zip") for found in files(state / "0"))


def test_the_joins_watermark_stands_still_while_only_one_source_moves() -> None:
    name = "join-watermark-held-back"
    batches = ids(name, "offsets")
    positions = [[json.loads(line)["logOffset"] for line in source_lines(name, batch)] for batch in batches]
    idle = [batch for batch in batches if positions[batch][1] == positions[-1][1]]
    assert len(idle) >= 5
    assert positions[-1][0] > positions[idle[0]][0]
    # The watermark of the last record of source 1 counts from the batch after it.
    assert len({header(name, batch)["batchWatermarkMs"] for batch in idle[2:]}) == 1
    assert len({header(name, batch)["batchWatermarkMs"] for batch in batches}) > 2


def test_the_purged_query_keeps_ten_batches_before_its_newest() -> None:
    name = "purged-to-newest-10"
    offsets = ids(name, "offsets")
    assert offsets[0] > 10
    assert 10 <= len(offsets) <= 11
    versions = [int(found.split(".")[0]) for found in files(checkpoint(name) / "state" / "0" / "0")]
    assert min(versions) > 1


def test_state_format_2_names_its_files_by_the_ids_of_the_commit() -> None:
    name = "state-format-2"
    last = ids(name, "commits")[-1]
    version, body = lines(name, "commits", last)
    assert version == "v2"
    for partition, [unique] in enumerate(json.loads(body)["stateUniqueIds"]["0"]):
        assert f"{last + 1}_{unique}.changelog" in files(checkpoint(name) / "state" / "0" / str(partition))


def test_named_sources_have_offset_log_version_2() -> None:
    name = "named-sources"
    last = ids(name, "offsets")[-1]
    assert lines(name, "offsets", last)[0] == "v2"
    assert {line.split(":", 1)[0] for line in source_lines(name, last)} == {"orders", "returns"}
    assert {path.name for path in (checkpoint(name) / "sources").iterdir()} == {"orders", "returns"}


def test_transform_with_state_has_a_timer_among_its_variables() -> None:
    text = (checkpoint("transform-with-state-timers") / "state" / "0" / "_metadata" / "v2" / "0").read_text(
        encoding="utf-8"
    )
    properties = json.loads(json.loads(text.splitlines()[1])["operatorPropertiesJson"])
    assert {each["stateName"]: each["stateVariableType"] for each in properties["stateVariables"]} == {
        "amounts": "ListState",
        "totals": "ValueState",
        "$eventTimers_keyToTimestamp": "TimerState",
    }


def test_the_second_source_of_the_union_has_no_offset_at_first() -> None:
    name = "union-of-two-sources"
    assert source_lines(name, 0)[1] == "-"
    assert all(json.loads(line)["logOffset"] >= 0 for line in source_lines(name, ids(name, "offsets")[-1]))


def test_exactly_one_delta_file_is_missing_and_no_snapshot_makes_up_for_it() -> None:
    name = "missing-delta-file"
    newest = ids(name, "commits")[-1] + 1
    missing = [
        (path.name, version)
        for path in (checkpoint(name) / "state" / "0").iterdir()
        if path.name.isdigit()
        for version in range(1, newest + 1)
        if f"{version}.delta" not in files(path)
    ]
    assert missing == [("2", 4)]
    assert not list((checkpoint(name) / "state").rglob("*.snapshot"))


def test_state_and_source_log_are_ahead_of_the_rewound_logs() -> None:
    name = "hand-made-rewind"
    last = ids(name, "commits")[-1]
    assert last == ids(name, "offsets")[-1] == 5
    versions = [int(found.split(".")[0]) for found in files(checkpoint(name) / "state" / "0" / "0")]
    assert max(versions) > last + 1
    snapshots = [
        int(path.name.split(".")[0]) for path in (checkpoint(name) / "state").rglob("[0-9]*.snapshot")
    ]
    assert max(snapshots) > last + 1
    entries = [int(found.split(".")[0]) for found in files(checkpoint(name) / "sources" / "0")]
    assert max(entries) > last
