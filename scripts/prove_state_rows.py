"""Rows and counts of the state that are read from the files, against Spark's own state reader, on checkpoints
that are written for this by several Sparks: every operator, store, compression and encoding. Called by
`scripts/prove-state-rows`.

The reader is that of the newest Spark (there is none before 4.0). Of state that 3.5.9 wrote it reads copies
as the app makes them, without which it cannot read session windows. What the environments of older Sparks
lack for functions over pandas is taken from this one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from core.analysis.forecast.versions import V40, parse_version
from scripts.bench.table import PROJECT, put
from tests.support.copies import copy_of
from tests.support.oracle import CHANGELOG, FORMAT_2, ROCKSDB
from tests.support.scratch import scratch_root
from tests.support.spark import older_environment, start_session, stop_session
from tests.support.state_proof import Comparison, compare_checkpoint
from tests.support.state_queries import (
    AVRO,
    CODEC,
    EVERY,
    JOIN_FORMAT,
    OF_OPERATORS,
    ROW_CHECKSUMS,
    SST_COMPRESSION,
    WRITTEN,
    StateQuery,
    own_session,
    since,
    write,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = "4.3.0"
VERSIONS = (HERE, "4.0.5", "3.5.9")
DOCUMENT = PROJECT / "docs/state.md"
# Of this environment, for the Python workers of older Sparks.
BORROWED = ("pandas", "dateutil", "pytz", "six.py", "tzdata", "google")


class Line(NamedTuple):
    """What a line of the table is about."""

    written_by: str
    operator: str
    store: str
    compression: str
    encoding: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes, compares, prints the table."""
    parser = argparse.ArgumentParser(prog="scripts/prove-state-rows", description=__doc__)
    parser.add_argument("--written-by", default=",".join(VERSIONS), metavar="RELEASE,...")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="NAME", help="names of queries, or their beginning"
    )
    parser.add_argument("--keep", metavar="DIR", help="where the checkpoints are written, and stay")
    parser.add_argument(
        "--log",
        nargs="+",
        default=[],
        metavar="FILE",
        help="what was compared is added to the first; what stands in one of them is not compared again",
    )
    parser.add_argument("--write", action="store_true", help="put the table into docs/state.md")
    args = parser.parse_args(arguments)
    done = {key: one for file in args.log for key, one in _logged(Path(file))}
    with tempfile.TemporaryDirectory(
        prefix="state-rows-", dir=scratch_root(), ignore_cleanup_errors=True
    ) as scratch:
        place = Path(args.keep or scratch)
        session = start_session("state-rows", scratch=Path(scratch) / "spark")
        try:
            for release in args.written_by.split(","):
                names = [
                    name
                    for name in EVERY
                    if is_asked(name, release, args.only) and (release, name) not in done
                ]
                for name, root in written(session, release, names, place / release):
                    one = compared(session, release, name, root, Path(scratch))
                    done[release, name] = one
                    if args.log:
                        _log(Path(args.log[0]), release, name, one)
        finally:
            stop_session(session)
    found: dict[Line, Comparison] = {}
    for release in VERSIONS:
        for name in EVERY:
            if (release, name) in done:
                line = line_of(release, EVERY[name])
                found.setdefault(line, Comparison()).add(done[release, name])
    lines = [*table(found), "", summary(found)]
    print("\n".join(lines))
    if args.write:
        put("state rows proof", lines, DOCUMENT)
    return int(any(one.different for one in found.values()) or not found)


def is_asked(name: str, release: str, only: Sequence[str]) -> bool:
    """Whether a query is one of those asked for, and one that the release can run."""
    version = parse_version(release)
    is_named = not only or any(name.startswith(start) for start in only)
    return is_named and version is not None and since(EVERY[name]) <= version


def written(
    session: SparkSession, release: str, names: Sequence[str], place: Path
) -> Iterator[tuple[str, Path]]:
    """The checkpoints of these queries by name, written by a Spark of this release."""
    place.mkdir(parents=True, exist_ok=True)
    if release == HERE:
        for name in names:
            # A copy: Spark's maintenance goes on and purges what one of both has just read.
            yield name, copy_of(write(own_session(session), name, place / name), place / name / "copy")
        return
    missing = [name for name in names if not (place / name / WRITTEN).exists()]
    if missing:
        write_there(release, missing, place)
    for name in names:
        yield name, place / name / "ck"


def write_there(release: str, names: Sequence[str], place: Path) -> None:
    """Lets another Spark write checkpoints, each below its name."""
    python = older_environment(release) / "bin/python"
    if not python.exists():
        raise SystemExit(f"{python} is not there: scripts/test --spark {release} makes its environment.")
    borrowed = place / "borrowed"
    if not borrowed.exists():
        borrowed.mkdir()
        for module in BORROWED:
            (borrowed / module).symlink_to(Path(packages()) / module)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
    command = [str(python), "-m", "tests.support.state_queries", str(place), *names]
    environment = {**clean, "PYTHONPATH": os.pathsep.join((str(PROJECT), str(borrowed)))}
    done = subprocess.run(command, cwd=PROJECT, env=environment, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise SystemExit(f"Spark {release} did not write its checkpoints.")


def packages() -> str:
    """Where the packages of this Python are."""
    import pandas

    return str(Path(pandas.__file__).parents[1])


def compared(session: SparkSession, release: str, name: str, root: Path, scratch: Path) -> Comparison:
    """One checkpoint, in a session with the settings it was written with."""
    own = own_session(session)
    for key, value in EVERY[name].conf.items():
        own.conf.set(key, value)
    version = parse_version(release)
    staged = None
    if version is not None and version < V40:
        staged = scratch / "staged"
        staged.mkdir(exist_ok=True)
    began = time.monotonic()
    one = compare_checkpoint(own, f"{release} {name}", root, staged)
    print(
        f"{release} {name}: {len(one.stores)} stores, {one.batches} batches, {one.rows} rows,"
        f" {one.counts} counts, {len(one.different)} different, {time.monotonic() - began:.0f} s",
        flush=True,
    )
    return one


def _log(file: Path, release: str, name: str, one: Comparison) -> None:
    """One line of JSON."""
    with file.open("a", encoding="utf-8") as log:
        log.write(json.dumps([release, name, {**asdict(one), "stores": sorted(one.stores)}]) + "\n")


def _logged(file: Path) -> Iterator[tuple[tuple[str, str], Comparison]]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    for line in lines:
        release, name, one = json.loads(line)
        stores = {(where, operator, view, place) for where, operator, view, place in one.pop("stores")}
        yield (release, name), Comparison(stores, **one)


def line_of(release: str, query: StateQuery) -> Line:
    """The line of the table that a query belongs to."""
    conf = query.conf
    operator = OF_OPERATORS[query.build]
    if JOIN_FORMAT in conf or "join" in operator:
        operator += f", format {conf.get(JOIN_FORMAT, '2')}"
    return Line(release, operator, store_of(conf), compression_of(conf), encoding_of(conf))


def store_of(conf: Mapping[str, str]) -> str:
    """How the state is stored."""
    for name, settings in (
        ("RocksDB, format 2", FORMAT_2),
        ("RocksDB, changelogs", CHANGELOG),
        ("RocksDB, zips", ROCKSDB),
    ):
        if settings.items() <= conf.items():
            return name
    return "HDFS-backed"


def compression_of(conf: Mapping[str, str]) -> str:
    """How its files are packed: zips hold SST files, which RocksDB packs."""
    if store_of(conf) == "RocksDB, zips":
        return f"SST {conf.get(SST_COMPRESSION, 'lz4')}"
    return conf.get(CODEC, "lz4")


def encoding_of(conf: Mapping[str, str]) -> str:
    """How its rows are encoded."""
    name = "Avro" if AVRO.items() <= conf.items() else "UnsafeRow"
    return f"{name}, row checksums" if ROW_CHECKSUMS.items() <= conf.items() else name


def table(found: Mapping[Line, Comparison]) -> list[str]:
    """Markdown: one line for each combination."""
    head = (*Line._fields, "stores", "batches", "rows", "counts", "different")
    lines = [f"| {' | '.join(head).replace('_', ' ')} |", "|---" * len(head) + "|"]
    for line, one in found.items():
        numbers = (len(one.stores), one.batches, one.rows, one.counts, len(one.different))
        lines.append(f"| {' | '.join(line)} | {' | '.join(f'{number:,}' for number in numbers)} |")
    return lines


def summary(found: Mapping[Line, Comparison]) -> str:
    """All lines together."""
    total = Comparison()
    for one in found.values():
        total.add(one)
    return (
        f"Together {len(total.stores):,} stores with rows, {total.batches:,} batches, {total.rows:,} rows and"
        f" {total.counts:,} counts, of which {len(total.different):,} differ. Of {total.bounds:,} partitions"
        f" the files tell two numbers, and Spark's lies between. {total.only_files:,} times only the files"
        f" gave the rows and Spark's reader failed, {total.neither:,} times neither did."
    )


if __name__ == "__main__":
    sys.exit(main())
