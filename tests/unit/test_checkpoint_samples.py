"""Every sample and every corpus entry: the answer of ``inspect`` against what a few lines of plain Python
read from the same files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.checkpoint import Checkpoint
from core.documents.base import to_json
from core.documents.inspect import inspect_document
from tests.support.build import SAMPLES, corpus_entry, corpus_names, sample_names, unpack_corpus

# Corpus entries in which whole batches are absent, by what their notes say.
CORPUS_MISSING = {"spark-4.0.0-hdfs-snapshots": list(range(1, 29))}
CORPUS_KINDS = {
    "delta-initial-snapshot-midway": ["delta"],
    "delta-pending-batch-already-in-table": ["delta"],
    "delta-schema-tracking": ["delta"],
    "delta-to-delta": ["delta"],
    "iceberg-to-iceberg": ["iceberg"],
    "kafka-named-source-offset-log-v2": ["kafka", "kafka"],
    "s3-rocksdb-changelog-killed": ["rate_micro_batch"],
}


def numbers(directory: Path) -> list[int]:
    """The batch ids in a log directory, ascending."""
    if not directory.is_dir():
        return []
    return sorted(int(path.name) for path in directory.iterdir() if path.is_file() and path.name.isdigit())


def lines_of(path: Path) -> list[str]:
    """The lines of a log file without empty ones at its end."""
    return path.read_text().rstrip("\n").split("\n")


def as_json(text: str) -> Any:
    return None if text == "-" else json.loads(text)


def expected(root: Path) -> dict[str, Any]:
    """What the files say, read without the code under test."""
    offsets, commits = numbers(root / "offsets"), numbers(root / "commits")
    batches: dict[int, dict[str, Any]] = {}
    for batch in sorted({*offsets, *commits}):
        found: dict[str, Any] = {
            "committed": batch in commits,
            "timestamp_ms": None,
            "watermark_ms": None,
            "next_watermark_ms": None,
            "ends": {},
        }
        if batch in offsets:
            version, head, *sources = lines_of(root / "offsets" / str(batch))
            metadata = json.loads(head) if head else {}
            found |= {
                "timestamp_ms": metadata.get("batchTimestampMs"),
                "watermark_ms": metadata.get("batchWatermarkMs"),
            }
            pairs = (
                [line.split(":", 1) for line in sources]
                if version == "v2"
                else [[str(i), line] for i, line in enumerate(sources)]
            )
            found |= {
                "ends": {key: as_json(text) for key, text in pairs},
                "conf": metadata.get("conf", {}),
                "version": int(version[1:]),
            }
        if batch in commits:
            commit_lines = lines_of(root / "commits" / str(batch))
            found["next_watermark_ms"] = (
                json.loads(commit_lines[1]).get("nextBatchWatermarkMs") if len(commit_lines) > 1 else None
            )
        batches[batch] = found
    operators = {}
    for directory in (root / "state").iterdir() if (root / "state").is_dir() else []:
        name = None
        for metadata_file in [
            directory / "_metadata" / "metadata",
            *sorted((directory / "_metadata" / "v2").glob("[0-9]*")),
        ]:
            if metadata_file.is_file():
                name = json.loads(lines_of(metadata_file)[1])["operatorInfo"]["operatorName"]
        partitions = [p for p in directory.iterdir() if p.name.isdigit()]
        if partitions:
            operators[int(directory.name)] = (name, len(partitions))
    return {"offsets": offsets, "commits": commits, "batches": batches, "operators": operators}


def compare(root: Path, answer: dict[str, Any], missing: list[int] | None = None) -> None:
    """The answer equals what the files say."""
    facts = expected(root)
    metadata = root / "metadata"
    assert answer["query_id"] == (json.loads(metadata.read_text())["id"] if metadata.is_file() else None)
    for log in ("offsets", "commits"):
        ids = facts[log]
        assert answer[log]["ids"] == ids
        assert (answer[log]["first"], answer[log]["last"]) == ((ids[0], ids[-1]) if ids else (None, None))
        assert answer[log]["unreadable"] == []
    assert answer["last_committed_batch"] == max(facts["commits"], default=None)
    newest = max(facts["offsets"], default=None)
    assert answer["pending_batch"] == (newest if newest not in facts["commits"] else None)
    assert [batch["id"] for batch in answer["batches"]] == list(facts["batches"])
    for batch in answer["batches"]:
        fact = facts["batches"][batch["id"]]
        for field in ("committed", "timestamp_ms", "watermark_ms", "next_watermark_ms"):
            assert batch[field] == fact[field], (batch["id"], field)
        assert {source["key"]: source["end"] for source in batch["sources"]} == fact["ends"]
        earlier = [i for i in facts["offsets"] if i < batch["id"]]
        if earlier:
            before = facts["batches"][earlier[-1]]["ends"]
            for source in batch["sources"]:
                if before.get(source["key"]) is not None:
                    assert source["start"] == before[source["key"]]
        repeated = (
            bool(earlier) and bool(fact["ends"]) and facts["batches"][earlier[-1]]["ends"] == fact["ends"]
        )
        assert batch["no_data"] == repeated
    assert [source["key"] for source in answer["sources"]] == list(
        facts["batches"][newest]["ends"] if newest is not None else []
    )
    assert answer["conf"] == (facts["batches"][newest]["conf"] if newest is not None else {})
    assert {
        operator["id"]: (operator["name"], operator["partitions"])
        for operator in answer["operators"]
        if operator["partitions"]
    } == {
        i: (name if name is not None else next(o["name"] for o in answer["operators"] if o["id"] == i), count)
        for i, (name, count) in facts["operators"].items()
    }
    assert answer["offsets"]["missing"] == (missing or [])
    json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize("name", sample_names())
def test_every_sample_is_read_as_its_files_say(name: str) -> None:
    root = SAMPLES / name / "checkpoint"
    ck = Checkpoint.open(str(root))
    compare(root, to_json(inspect_document(ck, all_batches=True)))
    assert ck.problems == ()
    assert all(source.kind.name != "unknown" for source in ck.sources)


@pytest.mark.parametrize("name", sample_names())
def test_every_sample_advances_by_the_difference_of_its_offsets(name: str) -> None:
    ck = Checkpoint.open(str(SAMPLES / name / "checkpoint"))
    for source in ck.sources:
        progress = ck.progress(source.key, ck.offset_ids)
        for batch, total in zip(progress.batch_ids.tolist(), progress.total.tolist(), strict=True):
            advance = ck.advance(batch, source.key)
            assert total == (-1 if advance is None or advance.amount is None else advance.amount)
        if source.kind.name == "file":
            log = source.context.file_log
            ends = [
                json.loads(text)["logOffset"]
                for i in ck.offset_ids
                if (text := ck.source_texts(i, source.key)[1])
            ]
            starts = [
                json.loads(text)["logOffset"]
                for i in ck.offset_ids
                if (text := ck.source_texts(i, source.key)[0])
            ]
            assert progress.total[progress.total >= 0].sum() == sum(
                starts[0] < entry.log_id <= ends[-1] for entry in log
            )


@pytest.mark.parametrize("name", corpus_names())
def test_every_corpus_entry_is_read_as_its_files_say(name: str, tmp_path: Path) -> None:
    root = unpack_corpus(name, tmp_path)
    ck = Checkpoint.open(str(root))
    compare(root, to_json(inspect_document(ck, all_batches=True)), CORPUS_MISSING.get(name))
    assert ck.is_async == (name == "kafka-async-progress")
    kinds = [source.kind.name for source in ck.sources]
    assert kinds == CORPUS_KINDS.get(
        name, ["kafka"] if name.startswith("kafka") else ["counter"] * len(kinds)
    )
    logs = [
        problem
        for problem in ck.problems
        if problem.evidence.path.startswith(("metadata", "offsets", "commits"))
    ]
    assert logs == []


@pytest.mark.parametrize(
    ("name", "at_least", "at_most"),
    [
        ("spark-2.1.0-aggregation", "2.1", "2.1"),
        ("spark-2.2-stateful-inflight", "2.2", "2.2"),
        ("spark-2.3.1-flatmapgroupswithstate-v1", "2.3", "2.3"),
        ("spark-2.4.0-stream-stream-join", "2.4", "2.4"),
        ("spark-3.0.0-statestore-codec", "3.0", "3.0"),
        ("spark-3.2.0-deduplication", "3.2", "3.2"),
        ("spark-4.0.0-state-format-v2-dedup", "4.0", "4.1"),
        ("iceberg-to-iceberg", "4.0", "4.1"),
        ("delta-to-delta", "4.2", "4.2"),
        ("kafka-two-topics", "4.3", None),
    ],
)
def test_the_version_that_wrote_a_corpus_entry_is_told(
    name: str, at_least: str, at_most: str | None, tmp_path: Path
) -> None:
    writer = Checkpoint.open(str(unpack_corpus(name, tmp_path))).written_by
    assert (writer.at_least, writer.at_most) == (at_least, at_most)


def test_the_corpus_of_s3_has_no_markers_among_its_files(tmp_path: Path) -> None:
    name = "s3-rocksdb-changelog-killed"
    assert any(path.endswith("/") for path in corpus_entry(name)["files"])
    ck = Checkpoint.open(str(unpack_corpus(name, tmp_path)))
    assert (ck.leftovers, ck.pending_batch) == ((), 6)


def test_named_sources_of_the_corpus_start_at_their_own_initial_offset(tmp_path: Path) -> None:
    name = "kafka-named-source-offset-log-v2"
    ck = Checkpoint.open(str(unpack_corpus(name, tmp_path)))
    assert ck.source_texts(0, "orders")[0] == '{"orders2":{"0":0,"1":0,"2":0}}'
    assert ck.source_texts(0, "refunds")[0] == '{"refunds2":{"0":0,"1":0}}'
