"""Checkpoints for tests: copies of samples, entries of the corpus as directories, small trees written as
Spark writes them, and damage."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
SAMPLES = PROJECT / "sample_checkpoints"
CORPUS = PROJECT / "tests" / "corpus"
CORPUS_CHECKPOINTS, CORPUS_SINGLE_FILES = 24, "spark-single-files"  # the second is no checkpoint

QUERY_ID = "730aa211-41ff-4ee3-b1b9-9e62ed047c5f"

# What Spark 4.3.0 pins (17 settings), in the order it writes them.
CONF_4_3 = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    ),
    "spark.sql.dropDuplicates.deterministicKeyOrder.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion": "2",
    "spark.sql.streaming.stateStore.rocksdb.formatVersion": "5",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "false",
    "spark.sql.streaming.stateStore.encodingFormat": "unsaferow",
    "spark.sql.streaming.statefulOperator.useStrictDistribution": "true",
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion": "2",
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    "spark.sql.streaming.stateStore.rowChecksum.enabled": "false",
    "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled": "true",
    "spark.sql.streaming.aggregation.stateFormatVersion": "2",
    "spark.sql.function.protobufExtensions.enabled": "false",
    "spark.sql.shuffle.partitions": "200",
    "spark.sql.streaming.join.stateFormatVersion": "2",
    "spark.sql.streaming.stateStore.compression.codec": "lz4",
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan": "false",
}


def sample_names() -> list[str]:
    """The committed samples that hold a checkpoint. Raises when none is there: a missing test cannot fail."""
    found = sorted(path.parent.name for path in SAMPLES.glob("*/checkpoint") if path.is_dir())
    if not found:
        raise AssertionError("there is no sample in sample_checkpoints: git checkout sample_checkpoints")
    return found


def copy_sample(name: str, target: Path) -> Path:
    """A copy of the checkpoint of a sample, to be damaged."""
    return Path(shutil.copytree(SAMPLES / name / "checkpoint", target / "checkpoint"))


def corpus_names() -> list[str]:
    """The corpus entries that are a checkpoint. Raises when some are missing: a missing test cannot fail."""
    found = sorted(path.stem for path in CORPUS.glob("*.json") if path.stem != CORPUS_SINGLE_FILES)
    if len(found) != CORPUS_CHECKPOINTS:
        raise AssertionError(
            f"tests/corpus has {len(found)} checkpoints, not {CORPUS_CHECKPOINTS}: git checkout tests/corpus"
        )
    return found


def corpus_entry(name: str) -> dict[str, Any]:
    """A corpus entry as it stands in its file."""
    return dict(json.loads((CORPUS / f"{name}.json").read_text(encoding="utf-8")))


def unpack_corpus(name: str, target: Path) -> Path:
    """A corpus entry as a directory. Binary files without content become empty files: only their names are
    known."""
    root = target / name
    root.mkdir(parents=True)
    for path, file in corpus_entry(name)["files"].items():
        place = root / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(
            file["text"].encode() if "text" in file else base64.b64decode(file.get("base64", ""))
        )
    return root


def offset_text(
    sources: Sequence[str] | Mapping[str, str],
    *,
    conf: Mapping[str, str] | None = None,
    watermark_ms: int = 0,
    timestamp_ms: int = 1_795_176_000_000,
) -> str:
    """An offset log entry as Spark 4.3 writes it: version 1 for a list of offset texts, version 2 for a
    mapping by source id."""
    head = {
        "batchWatermarkMs": watermark_ms,
        "batchTimestampMs": timestamp_ms,
        "conf": dict(CONF_4_3 if conf is None else conf),
    }
    if isinstance(sources, Mapping):
        lines = ["v2", json.dumps({**head, "sourceMetadataInfo": {}}, separators=(",", ":"))]
        return "\n".join(lines + [f"{key}:{text}" for key, text in sources.items()])
    return "\n".join(["v1", json.dumps(head, separators=(",", ":")), *sources])


def commit_text(next_watermark_ms: int = 0) -> str:
    """A commit log entry, version 1."""
    return f'v1\n{{"nextBatchWatermarkMs":{next_watermark_ms}}}'


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Writes files below ``root``; gives ``root`` back."""
    for path, content in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def kafka_offset(position: int, partitions: int = 2, topic: str = "orders") -> str:
    """A Kafka offset with every partition at ``position``."""
    return json.dumps({topic: {str(p): position for p in range(partitions)}}, separators=(",", ":"))


def kafka_checkpoint(
    root: Path, batches: Sequence[int], commits: Sequence[int] | None = None, step: int = 5
) -> Path:
    """A Kafka query: batch N ends at ``(N + 1) * step`` on both partitions and began at 0. ``commits``
    default to all batches."""
    files: dict[str, str | bytes] = {
        "metadata": json.dumps({"id": QUERY_ID}, separators=(",", ":")),
        "sources/0/0": b"\0v1\n" + kafka_offset(0).encode(),
    }
    for batch in batches:
        time_ms = 1_795_176_000_000 + batch * 10_000
        files[f"offsets/{batch}"] = offset_text([kafka_offset((batch + 1) * step)], timestamp_ms=time_ms)
    for batch in batches if commits is None else commits:
        files[f"commits/{batch}"] = commit_text()
    return write(root, files)


def truncate(path: Path, size_bytes: int) -> None:
    """Keeps the first bytes of a file."""
    path.write_bytes(path.read_bytes()[:size_bytes])


def remove(root: Path, *paths: str) -> None:
    """Removes files or directories below ``root``."""
    for path in paths:
        place = root / path
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()
