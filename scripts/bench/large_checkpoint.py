"""Writes a large checkpoint that is built as Spark 4.3 builds it, in seconds.

The logs are written as Spark writes them (version line, one JSON line with the configuration, one JSON line
per source, no line break at the end). State files are small real files of ``state_files/``, copied under the
right names: good for names, sizes and listings, not for looking at keys. Every 50th partition is larger, so
that a page about balance has something to show.

    python -m scripts.bench.large_checkpoint OUT --batches 100 --partitions 200 --versions 100
    python -m scripts.bench.large_checkpoint OUT --batches 20000 --partitions 0 --topic-partitions 100
    python -m scripts.bench.large_checkpoint OUT.tsv --stores 4 --partitions 1000 --listing  # 440,000 names
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

STATE_FILES = Path(__file__).parent / "state_files"
START_MS = 1_795_176_000_000
WATERMARK_DELAY_MS = 600_000
JOIN_STORES = (
    "left-keyToNumValues",
    "left-keyWithIndexToValue",
    "right-keyToNumValues",
    "right-keyWithIndexToValue",
)
STATE = "org.apache.spark.sql.execution.streaming.state."
PROVIDERS = {
    "hdfs": STATE + "HDFSBackedStateStoreProvider",
    "rocksdb": STATE + "RocksDBStateStoreProvider",
    "changelog": STATE + "RocksDBStateStoreProvider",
}
STREAMING = "spark.sql.streaming."
Layout = Literal["hdfs", "rocksdb", "changelog"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the checkpoint is like. Without ``partitions`` it has no state; with 4 ``stores`` it is a join."""

    batches: int = 100
    first: int = 0
    operators: int = 1
    stores: int = 1
    partitions: int = 200
    versions: int = 100
    sources: int = 1
    topics: int = 1
    topic_partitions: int = 10
    layout: Layout = "hdfs"
    pending: bool = False


def files(shape: Shape) -> Iterator[tuple[str, bytes]]:
    """Path below the checkpoint and content of every file."""
    yield "metadata", b'{"id":"730aa211-41ff-4ee3-b1b9-9e62ed047c5f"}'
    yield from _logs(shape)
    if shape.partitions:
        yield from _state(shape)


def write(root: Path, shape: Shape, *, crc: bool = False) -> int:
    """Writes the checkpoint and returns the number of its files.

    ``crc``: also the hidden siblings that Hadoop's local file system writes.
    """
    made: set[Path] = set()
    sums: dict[bytes, bytes] = {}
    count = 0
    for name, content in files(shape):
        path = root / name
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        path.write_bytes(content)
        count += 1
        if crc:
            if content not in sums:
                sums = sums if len(sums) < 64 else {}
                sums[content] = checksums(content)
            path.with_name(f".{path.name}.crc").write_bytes(sums[content])
    return count


def checksums(content: bytes) -> bytes:
    """A ``.crc`` file of Hadoop: a CRC-32 for each 512 bytes."""
    pieces = [content[at : at + 512] for at in range(0, len(content), 512)]
    return (
        b"crc\0" + struct.pack(">i", 512) + b"".join(struct.pack(">I", zlib.crc32(piece)) for piece in pieces)
    )


def listing(shape: Shape) -> dict[str, int]:
    """Names and sizes alone, in the order of their bytes: millions of them where files would take minutes."""
    return dict(
        sorted(((name, len(content)) for name, content in files(shape)), key=lambda item: item[0].encode())
    )


def write_listing(out: Path, shape: Shape, is_real: Callable[[str], bool] = lambda name: False) -> int:
    """Writes ``names.tsv`` with key<TAB>size lines, and into the folder ``names`` the files that are real."""
    sizes = {}
    for name, content in files(shape):
        sizes[name] = len(content)
        if is_real(name):
            path = out.with_suffix("") / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    rows = sorted(sizes.items(), key=lambda item: item[0].encode())
    out.write_text("".join(f"{name}\t{size}\n" for name, size in rows), encoding="utf-8")
    return len(rows)


# ---------------------------------------------------------------- logs


def _conf(shape: Shape) -> str:
    conf = {
        STREAMING + "stateStore.providerClass": PROVIDERS[shape.layout],
        "spark.sql.dropDuplicates.deterministicKeyOrder.enabled": "true",
        STREAMING + "stateStore.rocksdb.mergeOperatorVersion": "2",
        STREAMING + "stateStore.rocksdb.formatVersion": "5",
        STREAMING + "queryEvolution.enableSourceEvolution": "false",
        STREAMING + "stateStore.encodingFormat": "unsaferow",
        STREAMING + "statefulOperator.useStrictDistribution": "true",
        STREAMING + "flatMapGroupsWithState.stateFormatVersion": "2",
        STREAMING + "multipleWatermarkPolicy": "min",
        STREAMING + "stateStore.rowChecksum.enabled": "false",
        STREAMING + "statefulOperator.alwaysNullableOutput.enabled": "true",
        STREAMING + "aggregation.stateFormatVersion": "2",
        "spark.sql.function.protobufExtensions.enabled": "false",
        "spark.sql.shuffle.partitions": str(shape.partitions or 200),
        STREAMING + "join.stateFormatVersion": "2",
        STREAMING + "stateStore.compression.codec": "lz4",
        "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan": "false",
    }
    return json.dumps(conf, separators=(",", ":"))


def _source_line(source: int, topics: list[list[int]]) -> str:
    ends = {
        f"topic-{source}-{at}": {str(p): end for p, end in enumerate(parts)}
        for at, parts in enumerate(topics)
    }
    return json.dumps(ends, separators=(",", ":"))


def _logs(shape: Shape) -> Iterator[tuple[str, bytes]]:
    """offsets/, commits/ and sources/ of a Kafka query; the same for the same shape."""
    chance = random.Random(7)  # the same numbers every time
    conf = _conf(shape)
    ends = [
        [[chance.randrange(10**9) for _ in range(shape.topic_partitions)] for _ in range(shape.topics)]
        for _ in range(shape.sources)
    ]
    for source, topics in enumerate(ends):
        # Kafka's initial offset begins with a zero byte, for very old Spark.
        yield f"sources/{source}/0", b"\0v1\n" + _source_line(source, topics).encode()
    steps = [chance.randrange(1, 5000) for _ in range(997)]
    step, now, last = 0, START_MS, shape.first + shape.batches - 1
    for batch in range(shape.first, shape.first + shape.batches):
        pause = 600_000 if batch % 500 == 499 else 0
        now += 10_000 + steps[batch % 997] * 3 + pause
        for topics in ends:
            for parts in topics:
                for at in range(len(parts)):
                    parts[at] += steps[step]
                    step = (step + 1) % 997
        watermark = now - WATERMARK_DELAY_MS
        head = f'{{"batchWatermarkMs":{watermark},"batchTimestampMs":{now},"conf":{conf}}}'
        lines = [_source_line(source, topics) for source, topics in enumerate(ends)]
        yield f"offsets/{batch}", "\n".join(["v1", head, *lines]).encode()
        if batch < last or not shape.pending:
            yield f"commits/{batch}", f'v1\n{{"nextBatchWatermarkMs":{watermark}}}'.encode()


# --------------------------------------------------------------- state


@cache
def _state_file(name: str) -> bytes:
    return (STATE_FILES / name).read_bytes()


def _state(shape: Shape) -> Iterator[tuple[str, bytes]]:
    """``state/<operator>/<partition>/[<store>/]<files>`` of the newest versions."""
    stores = (
        [""]
        if shape.stores == 1
        else [*JOIN_STORES, *(f"store{at}" for at in range(4, shape.stores))][: shape.stores]
    )
    operator_name = "symmetricHashJoin" if shape.stores == 4 else "stateStoreSave"
    schema = _state_file("schema")
    for operator in range(shape.operators):
        infos = [
            {"storeName": store or "default", "numColsPrefixKey": 0, "numPartitions": shape.partitions}
            for store in stores
        ]
        document = {
            "operatorInfo": {"operatorId": operator, "operatorName": operator_name},
            "stateStoreInfo": infos,
        }
        yield (
            f"state/{operator}/_metadata/metadata",
            f"v1\n{json.dumps(document, separators=(',', ':'))}".encode(),
        )
        for partition in range(shape.partitions):
            for store in stores:
                place = f"state/{operator}/{partition}/" + (f"{store}/" if store else "")
                if partition == 0:
                    yield place + "_metadata/schema", schema
                for name, content in _store(shape, partition):
                    yield place + name, content


def _store(shape: Shape, partition: int) -> Iterator[tuple[str, bytes]]:
    """The files of one store of one partition."""
    size = "large" if partition % 50 == 0 else "medium" if partition % 2 else "small"
    last = shape.first + shape.batches
    archive = _state_file("version.zip")
    if shape.layout == "rocksdb":  # all versions name the same files
        yield from (
            (f"SSTs/{path.name}", _state_file(path.name)) for path in sorted(STATE_FILES.glob("*.sst"))
        )
    for version in range(max(1, last - shape.versions + 1), last + 1):
        if shape.layout == "rocksdb":
            yield f"{version}.zip", archive
        elif shape.layout == "changelog":
            yield f"{version}.changelog", _state_file(f"{size}.changelog")
            if version % 10 == 0:
                yield f"{version}.zip", archive
        else:
            yield f"{version}.delta", _state_file(f"{size}.delta")
            if version % 10 == 0:
                yield f"{version}.snapshot", _state_file("large.delta")


# ------------------------------------------------------- command line


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "out", type=Path, help="the directory of the checkpoint; with --listing the file of names"
    )
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="id of the oldest retained batch")
    parser.add_argument("--operators", type=int, default=1)
    parser.add_argument("--stores", type=int, default=1, help="4 for a stream-stream join")
    parser.add_argument("--partitions", type=int, default=200, help="0 for a query without state")
    parser.add_argument("--versions", type=int, default=100)
    parser.add_argument("--sources", type=int, default=1)
    parser.add_argument("--topics", type=int, default=1)
    parser.add_argument("--topic-partitions", type=int, default=10)
    parser.add_argument("--layout", choices=sorted(PROVIDERS), default="hdfs")
    parser.add_argument("--pending", action="store_true", help="leave the last batch uncommitted")
    parser.add_argument("--crc", action="store_true", help="also write .crc siblings")
    parser.add_argument(
        "--listing", action="store_true", help="write no checkpoint, only a sorted file of key<TAB>size"
    )
    given = vars(parser.parse_args())
    out, crc, names_only = given.pop("out"), given.pop("crc"), given.pop("listing")
    shape = Shape(**given)
    if names_only:
        print(f"{write_listing(out, shape)} files listed")
    else:
        print(f"{write(out, shape, crc=crc)} files" + (" (and as many .crc)" if crc else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
