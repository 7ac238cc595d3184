"""The deep check against fact: a state file is damaged, the check says whether the start fails, and real
Spark starts the same query."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.analysis.findings import findings
from core.checkpoint import Checkpoint
from tests.support.oracle import Oracle
from tests.support.sst import flip_part
from tests.support.state_files import (
    cut,
    flip,
    flip_a_value,
    newest,
    pack_lz4,
    records_of,
    rewrite_records,
    unpacked,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Damage = Callable[[Path], object]
"""A change to the directory of one store."""


@pytest.fixture(scope="module")
def oracle(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """The bases, made on first use, and the restarts."""
    spark_session.sparkContext.setLogLevel("OFF")
    yield Oracle(spark_session, tmp_path_factory.mktemp("deep"))
    spark_session.sparkContext.setLogLevel("ERROR")


def without_checksum(path: Path) -> Path:
    """As in an object store: nothing beside the file."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    return path


def hidden(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")


def visible(path: Path) -> Path:
    return without_checksum(Path(f"{path}.crc"))


def other_value(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "value": content["value"] ^ 1}), encoding="utf-8")


def every_sst(store: Path, damage: Damage) -> None:
    for path in sorted((store / "SSTs").glob("*.sst")):
        damage(path)


def rows_of_another_key(store: Path) -> None:
    """As many rows as the counting store names, one of them of another key."""
    path = without_checksum(store / "left-keyWithIndexToValue/3.delta")
    records = records_of(path).records
    first, last = records[0][1], records[-1][1]
    moved = first[:-8] + (1).to_bytes(8, "little")
    rewrite_records(path, [(kind, moved if key == last else key, value) for kind, key, value in records])


CASES: list[tuple[str, str, Damage, bool]] = [
    ("windows", "bit flipped", lambda s: flip(newest(s, "delta"), 40), True),
    ("windows", "without its end mark", lambda s: cut(newest(s, "delta"), -22), True),
    ("windows", "without the empty block", lambda s: cut(newest(s, "delta"), -21), False),
    (
        "windows",
        "bytes at the end",
        lambda s: newest(s, "delta").write_bytes(newest(s, "delta").read_bytes() + b"abc"),
        False,
    ),
    (
        "windows",
        "packed by the tests",
        lambda s: rewrite_records(newest(s, "delta"), records_of(newest(s, "delta")).records),
        False,
    ),
    (
        "windows",
        "checksum of another block",
        lambda s: newest(s, "delta").write_bytes(bad_block(newest(s, "delta"))),
        True,
    ),
    ("windows", "stale hidden checksum", lambda s: flip(hidden(newest(s, "delta")), -1), False),
    ("windows_rocksdb", "member broken", lambda s: flip(without_checksum(newest(s, "zip")), 300), True),
    ("windows_rocksdb", "half", lambda s: cut(without_checksum(newest(s, "zip")), 1500), True),
    ("windows_rocksdb", "without its table", lambda s: cut(without_checksum(newest(s, "zip")), -60), False),
    ("windows_rocksdb", "stale hidden checksum", lambda s: flip(hidden(newest(s, "zip")), -1), True),
    (
        "windows_rocksdb",
        "hidden checksum without a header",
        lambda s: hidden(newest(s, "zip")).write_bytes(b"hello"),
        False,
    ),
    (
        "windows_rocksdb",
        "sst cut",
        lambda s: every_sst(s, lambda path: cut(without_checksum(path), -10)),
        True,
    ),
    ("windows_rocksdb", "sst missing", lambda s: every_sst(s, Path.unlink), True),
    (
        "windows_rocksdb",
        "stale hidden checksum of sst",
        lambda s: every_sst(s, lambda path: flip(hidden(path), -1)),
        True,
    ),
    ("windows_rocksdb", "sst index flipped", lambda s: every_sst(s, lambda p: flip_part(p, "index")), True),
    (
        "windows_rocksdb",
        "sst filter flipped",
        lambda s: every_sst(s, lambda p: flip_part(p, "filter")),
        False,
    ),
    ("windows_changelog", "bit flipped", lambda s: flip(newest(s, "changelog"), 40), True),
    ("windows_changelog", "without the empty block", lambda s: cut(newest(s, "changelog"), -21), False),
    ("windows_format_2", "other checksum", lambda s: other_value(visible(newest(s, "changelog"))), True),
    (
        "windows_format_2",
        "checksum file is no JSON",
        lambda s: visible(newest(s, "changelog")).write_text("hello", encoding="utf-8"),
        True,
    ),
    ("join", "rows of another key", rows_of_another_key, True),
    ("windows_format_2", "checksum file missing", lambda s: visible(newest(s, "changelog")).unlink(), False),
]


def bad_block(path: Path) -> bytes:
    """The same content, with a wrong checksum in the header of its block."""
    data = bytearray(pack_lz4(unpacked(path).content))
    data[17] ^= 1
    return bytes(data)


@pytest.mark.parametrize(
    ("base", "what", "damage", "fails"), CASES, ids=[f"{base}: {what}" for base, what, _, _ in CASES]
)
def test_the_deep_check_says_whether_spark_fails(
    oracle: Oracle, base: str, what: str, damage: Damage, fails: bool
) -> None:
    made = oracle.base(base)
    copy = oracle.copy(made)
    damage(copy / "state/0/1")
    report = findings(Checkpoint.open(str(copy)), "deep")
    fact = oracle.restart(made, copy)
    said = any(finding.severity == "blocks_restart" for finding in report.findings)
    assert (said, fact.outcome == "fail") == (fails, fails), (
        report.sentence,
        [cause.message[:200] for cause in fact.causes],
    )
    if not fails:
        assert fact.delivered == made.undisturbed


def test_rows_that_are_lost_without_an_error_are_a_data_risk(oracle: Oracle) -> None:
    """Spark restarts on a damaged data block and delivers other rows than an undisturbed run."""
    made = oracle.base("windows_rocksdb")
    copy = oracle.copy(made)
    every_sst(copy / "state/0/1", lambda path: flip_part(path, "rows"))
    report = findings(Checkpoint.open(str(copy)), "deep")
    fact = oracle.restart(made, copy)
    assert (fact.outcome, fact.delivered == made.undisturbed) == ("resume", False)
    assert "data_risk" in {f.severity for f in report.findings if f.id == "STATE_FILE_DAMAGED"}
    assert "blocks_restart" not in {finding.severity for finding in report.findings}


@pytest.mark.parametrize("with_checksum", [True, False], ids=["with .crc", "without .crc"])
def test_another_value_in_a_zstd_file_is_read_by_spark_and_is_a_data_risk(
    oracle: Oracle, with_checksum: bool
) -> None:
    """zstd keeps no checksum as Spark uses it: the restart runs, with other values."""
    made = oracle.base("windows_zstd")
    copy = oracle.copy(made)
    deltas = sorted((copy / "state/0/1").glob("*.delta"), key=lambda path: int(path.stem), reverse=True)
    changed = flip_a_value(deltas)
    if not with_checksum:
        without_checksum(changed)
    report = findings(Checkpoint.open(str(copy)), "deep")
    fact = oracle.restart(made, copy)
    assert fact.outcome == "resume"
    shown = {finding.id: finding.severity for finding in report.findings}
    if with_checksum:
        assert shown.get("STATE_FILE_ALTERED") == "data_risk"
    else:
        assert "STATE_FILE_ALTERED" not in shown
        assert any("packed with zstd or snappy" in item for item in report.not_checked)


@pytest.mark.parametrize(
    ("what", "fails"), [("damaged", True), ("cut", False), ("whole", False)], ids=["damaged", "cut", "whole"]
)
def test_spark_reads_past_the_end_of_an_empty_changelog(oracle: Oracle, what: str, fails: bool) -> None:
    """The first two bytes of the end mark are a length of 65,535 to the reader that looks for the version: it
    meets damage behind the last record, but not a file that ends there."""
    made = oracle.base("windows_changelog")
    copy = oracle.copy(made)
    path = without_checksum(newest(copy / "state/0/1", "changelog"))
    path.write_bytes(pack_lz4(b"\xff\xff\xff\xff"))
    if what == "damaged":
        flip(path, 40)
    if what == "cut":
        cut(path, -10)
    report = findings(Checkpoint.open(str(copy)), "deep")
    fact = oracle.restart(made, copy)
    said = any(finding.severity == "blocks_restart" for finding in report.findings)
    assert (said, fact.outcome == "fail") == (fails, fails), (report.sentence, fact.causes)
