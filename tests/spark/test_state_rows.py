"""Rows of the state as they are decoded from the files, against Spark's own state reader: the same rows in each
store, side, variable and partition, after the last batch; with CHECKPOINT_EXPLORER_EVERY_CASE=1 also after the
first and one between."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from core.analysis.forecast.versions import V35
from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry
from core.checkpoint.state import state_inventory
from core.checkpoint.state_content.state_difference import read_difference
from core.checkpoint.state_content.state_rows import RowsQuestion, read_rows
from core.documents.rows import hidden
from core.spark import StateQuestion
from core.spark.staging import stage
from tests.spark.cases import EVERY_CASE
from tests.support.bit_flips import SNAPSHOTS
from tests.support.build import SAMPLES
from tests.support.copies import with_its_own_schemas
from tests.support.oracle import CHANGELOG, NO_EMPTY_BATCHES, ROCKSDB, join, source, write_file
from tests.support.spark import OLDER_SPARK, PROJECT, older_environment
from tests.support.state_proof import (
    MICROS,
    by_files,
    by_spark,
    compare_checkpoint,
    everything,
    of_timer,
    of_variable,
    plain,
    text_of,
)
from tests.support.state_queries import (
    AVRO,
    BATCHES,
    QUERIES,
    ROW_CHECKSUMS,
    Build,
    every_kind,
    group_state,
    own_session,
    run,
    since,
    write,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with batches that follow each other at once."""
    spark.conf.set("spark.sql.streaming.pollingDelay", "1ms")
    yield spark


@pytest.fixture
def session_with_times(session: SparkSession, spark_session: SparkSession) -> Iterator[SparkSession]:
    """The session where columns may be of the type TIME; Spark looks at the session that was there first."""
    for each in (session, spark_session):
        each.conf.set("spark.sql.timeType.enabled", "true")
    yield session
    spark_session.conf.unset("spark.sql.timeType.enabled")


def variants(build: Build) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """Options of Spark's reader and of ours that ask for the same."""
    if build is join:
        return [({"joinSide": side}, {"side": side}) for side in ("left", "right")]
    return [({}, {})]


# Of which the plain run compares every batch and their difference: rows by key, rows of a join.
AT_EVERY_BATCH = ("windows-format-2", "join-4")


@pytest.mark.parametrize("name", QUERIES)
def test_spark_reads_the_same_rows(name: str, session: SparkSession, tmp_path: Path) -> None:
    root = write(session, name, tmp_path)
    is_every_batch = name in AT_EVERY_BATCH or bool(os.environ.get(EVERY_CASE))
    compare(session, root, QUERIES[name].build, is_every_batch=is_every_batch)


# Of each type values that are written in a way of their own, as SQL.
VALUES = {
    "ym": (
        "interval '1-2' year to month",
        "interval '-100-11' year to month",
        "interval '0-0' year to month",
    ),
    "years": ("interval '7' year", "interval '-7' year"),
    "months": ("interval '-17' month", "interval '0' month"),
    "ds": ("interval '1 02:03:04.000005' day to second", "interval '-1 02:03:04.5' day to second"),
    "days": ("interval '-3' day", "interval '100' day"),
    "hm": ("interval '-3:05' hour to minute", "interval '100:00' hour to minute"),
    "seconds": ("interval '3.25' second", "interval '-0.000001' second", "interval '0' second"),
    "calendar": (
        "make_interval(1, 2, 0, -3, 4, 5, 6.5)",
        "make_interval(0, 0, 0, 0, -4, 0, -0.25)",
        "make_interval()",
    ),
    "time": ("time'00:00:00'", "time'23:59:59.999999'", "time'01:02:03.4'"),
    "day": ("date'0001-01-01'", "date_add(date'9999-12-31', 1)", "date_add(date'0001-01-01', -500)"),
    "moment": ("timestamp'+10000-01-01 00:00:00.000001Z'", "timestamp'-0001-02-03 04:05:06.000001Z'"),
    "local": ("timestamp_ntz'1969-12-31 23:59:59.999999'", "timestamp_ntz'0001-01-01 00:00:00'"),
    "exact": ("-12345678901234567890.123456789012345678BD", "cast('1E-18' as decimal(38, 18))"),
    "real": ("double('NaN')", "-0.0D", "double('-Infinity')"),
    "variant": (
        """parse_json('{"a": [1, 2.5, null, "x", [], {}], "é": {"": true, "b": 1e300}}')""",
        "parse_json('[12345678901234567890, -0.5, 300, 70000, 9000000000]')",
        "parse_json(to_json(sequence(1, 300)))",
        "to_variant_object(named_struct('t', timestamp'1969-12-31 23:59:59.5Z', 'd', date'1500-01-01', 'n',"
        " timestamp_ntz'2020-01-01 00:00:00', 'b', X'00FF', 'f', float(0.1), 's', repeat('é', 100)))",
        "parse_json('null')",
    ),
}
KEYS = ("ym", "ds", "time", "day", "moment", "local", "exact", "real")


@pytest.mark.parametrize("conf", [{}, ROCKSDB], ids=["hdfs", "rocksdb"])
def test_values_of_each_type_are_shown_as_spark_shows_them(
    conf: dict[str, str], session_with_times: SparkSession, tmp_path: Path
) -> None:
    """Intervals, times, days and moments of other centuries, variants, alone and in arrays; and each row is found by
    its key as it is shown."""
    from pyspark.sql import functions as F  # noqa: N812

    session = session_with_times
    for key, value in conf.items():
        session.conf.set(key, value)
    write_file(tmp_path / "in", 0)
    frame = source(session, tmp_path / "in")
    chosen = {
        name: F.expr(f"element_at(array({', '.join(values)}), cast(id % {len(values)} as int) + 1)")
        for name, values in VALUES.items()
    }
    frame = frame.select("id", *(column.alias(name) for name, column in chosen.items()))
    firsts = [F.first(each) for name in VALUES for each in (name, F.array(name, F.lit(None)))]
    root = tmp_path / "ck"
    query = frame.groupBy(*KEYS, F.array("days")).agg(*firsts).writeStream.format("noop").outputMode("update")
    query.option("checkpointLocation", str(root)).trigger(availableNow=True).start().awaitTermination()
    assert by_files(root, 0) == by_spark(session, root, 0)
    rows = everything(root, 0).rows
    assert len(rows) > 1
    for row in rows:
        assert set(hidden(row).key.values()) <= {"***", None}
        assert [found.value for found in everything(root, 0, key=row.key).rows] == [row.value]


# What 3.5 has; without functions over pandas, which its environment here does without.
OF_OLDER = [name for name, query in QUERIES.items() if since(query) <= V35 and query.build is not group_state]
# Of a plain run: a value of each type, both sides of a join.
FEW_OF_OLDER = ("all-types-rocksdb", "join-2-rocksdb")


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints that the older Spark has written, each below its name."""
    python = older_environment() / "bin" / "python"
    assert python.exists(), f"{python.parents[1]} is missing: scripts/setup tests makes it"
    place = tmp_path_factory.mktemp("older-states")
    names = OF_OLDER if os.environ.get(EVERY_CASE) else FEW_OF_OLDER
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
    command = [python, "-m", "tests.support.state_queries", place, *names]
    done = subprocess.run(
        command, cwd=PROJECT, env=clean, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [OLDER_SPARK]
    return place


@pytest.mark.spark_3_5
@pytest.mark.parametrize("name", OF_OLDER if os.environ.get(EVERY_CASE) else FEW_OF_OLDER)
def test_the_rows_that_an_older_spark_wrote(
    name: str, older: Path, session: SparkSession, tmp_path: Path
) -> None:
    """Spark has a reader of the state since 4.0. It reads a copy as this project stages it: without the metadata
    of the operator, which 3.5 does not write, it cannot load session windows from RocksDB."""
    root = older / name / "ck"
    ck = Checkpoint.open(str(root))
    (operator,) = state_inventory(ck).operators

    def staged(batch: int) -> Path:
        return stage(ck, operator, StateQuestion(batch), tmp_path)

    compare(session, root, QUERIES[name].build, is_every_batch=True, spark_reads=staged)


def compare(
    session: SparkSession,
    root: Path,
    build: Build,
    *,
    is_every_batch: bool,
    spark_reads: Callable[[int], Path] | None = None,
) -> None:
    """The rows of the last batch, or of the first, the last and one between, and what differs between
    these."""
    last = Checkpoint.open(str(root)).last_committed_batch
    assert last is not None
    compared = 0
    for theirs, ours in variants(build):
        found: dict[int, Counter[str]] = {}
        for batch in sorted({0, last // 2, last}) if is_every_batch else (last,):
            place = root if spark_reads is None else spark_reads(batch)
            found[batch] = by_spark(session, place, batch, **theirs)
            assert by_files(root, batch, **ours) == found[batch], (batch, ours)
            compared += found[batch].total()
        for earlier, later in combinations(found, 2):
            assert_same_difference(root, earlier, later, found, ours)
    assert compared >= 1


def assert_same_difference(
    root: Path, earlier: int, later: int, by_batch: Mapping[int, Counter[str]], ours: Mapping[str, Any]
) -> None:
    """What differs between two batches of Spark's rows is what is told from the files."""
    question = RowsQuestion(batch_id=later, limit=100_000, **ours)
    found = read_difference(Checkpoint.open(str(root)), question, earlier)
    assert not found.not_read and found.total == len(found.rows)
    expected = differing(by_batch[earlier], by_batch[later], is_by_key="side" not in ours)
    assert expected == Counter(
        (row.change, text_of({**plain(row), "value": [row.before, row.value]})) for row in found.rows
    )
    assert found.difference is not None
    unchanged = (by_batch[earlier] & by_batch[later]).total()
    assert (found.difference.unchanged, found.difference.since_batch) == (unchanged, earlier)


def differing(
    before: Counter[str], after: Counter[str], *, is_by_key: bool
) -> Counter[tuple[str | None, str]]:
    """The rows that were added, changed and removed, each with its value before and after."""
    gone = [json.loads(text) for text in (before - after).elements()]
    new = [json.loads(text) for text in (after - before).elements()]
    old: dict[str, Any] = {}
    if is_by_key:
        old = {text_of({**row, "value": None}): row for row in gone}
    rows: list[tuple[str, dict[str, Any], Any, Any]] = []
    for row in new:
        was = old.pop(text_of({**row, "value": None}), None)
        rows.append(("changed" if was else "added", row, was["value"] if was else None, row["value"]))
    rest = old.values() if is_by_key else gone
    rows += [("removed", row, row["value"], None) for row in rest]
    return Counter((change, text_of({**row, "value": [a, b]})) for change, row, a, b in rows)


def test_rows_from_before_a_change_of_an_avro_schema(spark_session: SparkSession, tmp_path: Path) -> None:
    """Columns that were added, removed, moved and widened, in values, lists and maps: after each batch as Spark's
    reader shows them, and what differs between a batch before and one after the change."""
    own = own_session(spark_session)
    root = write(own, "changed-avro-zips", tmp_path)
    found = compare_checkpoint(own, "changed-avro-zips", root)
    assert found.different == []
    assert (found.only_files, found.neither, len(found.stores)) == (0, 0, 6)
    assert found.batches == 8 and found.rows > 200
    first, last = everything(root, 3, variable="count"), everything(root, 7, variable="count")
    assert [column.name for column in first.columns] == ["id", "n", "text", "ratio"]
    assert [column.name for column in last.columns] == ["id", "ratio", "n", "added"]
    old = {row.key["id"] for row in first.rows}
    kept = [row.value for row in last.rows if row.key["id"] in old]
    assert kept and all(isinstance(value, dict) and value["added"] is None for value in kept)
    changed = read_difference(
        Checkpoint.open(str(root)), RowsQuestion(batch_id=7, variable="count", limit=1_000), 3
    )
    assert changed.difference is not None
    assert (changed.difference.unchanged, changed.difference.added) == (len(old), len(last.rows) - len(old))


@pytest.fixture
def timers(tmp_path: Path) -> Path:
    """The sample of transformWithState; Spark opens the schemas at the absolute paths in its metadata."""
    root = tmp_path / "ck"
    shutil.copytree(SAMPLES / "transform-with-state-timers/checkpoint", root)
    return with_its_own_schemas(root)


def test_values_lists_and_timers_of_transform_with_state(session: SparkSession, timers: Path) -> None:
    last = Checkpoint.open(str(timers)).last_committed_batch
    assert last is not None
    for batch in (last - 3, last):
        assert by_files(timers, batch, variable="totals") == by_spark(
            session, timers, batch, stateVarName="totals"
        )
        lists = everything(timers, batch, variable="amounts").rows
        expected = by_spark(session, timers, batch, stateVarName="amounts", flattenCollectionTypes="true")
        assert expected.total() > len(lists)
        assert expected == Counter(
            text_of({"partition_id": row.partition_id, "key": row.key, "list_element": element})
            for row in lists
            for element in row.value  # type: ignore[union-attr]
        )
        registered = everything(timers, batch, is_timers=True).rows
        assert by_spark(session, timers, batch, readRegisteredTimers="true") == Counter(
            text_of(of_timer(row)) for row in registered
        )


@pytest.mark.parametrize("name", ["windows-hdfs", "windows-format-2", "dedup"])
def test_spark_s_change_feed_has_the_same_changes(name: str, session: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    build, conf = QUERIES[name][:2]
    for number in range(BATCHES):
        write_file(tmp_path / "in", number)
    for key, value in conf.items():
        session.conf.set(key, value)
    root = tmp_path / "ck"
    run(session, build(session, tmp_path), root)
    last = Checkpoint.open(str(root)).last_committed_batch
    assert last is not None
    reader = session.read.format("statestore").options(
        readChangeFeed="true", changeStartBatchId=1, changeEndBatchId=last
    )
    said = {"ignoreNullFields": "false", "timestampFormat": MICROS, "timeZone": "UTC"}
    texts = reader.load(str(root)).select(F.to_json(F.struct("*"), said).alias("row")).collect()
    expected = Counter(text_of(json.loads(row["row"], parse_float=Decimal)) for row in texts)
    found = read_rows(Checkpoint.open(str(root)), RowsQuestion(changes=(1, last), limit=100_000))
    assert not found.not_read
    assert expected == Counter(
        text_of({**plain(row), "batch_id": row.batch_id, "change_type": row.change}) for row in found.rows
    )


def test_rows_that_the_watermark_has_passed_stay_in_complete_mode(
    session: SparkSession, tmp_path: Path
) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    for number in range(BATCHES):
        write_file(tmp_path / "in", number)
    for mode in ("complete", "append"):
        root = tmp_path / mode
        frame = source(session, tmp_path / "in").withWatermark("t", "5 minutes")
        counts = frame.groupBy(F.window("t", "10 minutes"), "k").count()
        query = counts.writeStream.format("noop").outputMode(mode).trigger(availableNow=True)
        query.option("checkpointLocation", str(root)).start().awaitTermination()
        ck = Checkpoint.open(str(root))
        last = ck.last_committed_batch
        assert last is not None
        entry = ck.offset(last)
        assert isinstance(entry, OffsetEntry) and entry.watermark_ms
        passed = read_rows(ck, RowsQuestion(is_past_watermark=True))
        state = session.read.format("statestore").option("batchId", last).load(str(root))
        expected = state.where(F.unix_millis("key.window.end") <= entry.watermark_ms).count()
        assert passed.total == expected
        assert (expected > 0) == (mode == "complete")


VARIABLES = ("count", "brief", "ids", "brief_ids", "sums", "brief_sums")


@pytest.mark.parametrize(
    "conf",
    [
        ROCKSDB,
        CHANGELOG,
        {**CHANGELOG, **AVRO},
        {**CHANGELOG, **ROW_CHECKSUMS},
        {**CHANGELOG, **AVRO, **ROW_CHECKSUMS},
    ],
    ids=["zips", "changelogs", "avro", "row-checksums", "avro-row-checksums"],
)
def test_every_kind_of_state_variable(conf: dict[str, str], session: SparkSession, tmp_path: Path) -> None:
    for number in range(BATCHES):
        write_file(tmp_path / "in", number)
    # Without no-data batches: processing time goes on, and so would the query.
    for key, value in {**conf, **SNAPSHOTS, **NO_EMPTY_BATCHES}.items():
        session.conf.set(key, value)
    root = tmp_path / "ck"
    query = every_kind(session, tmp_path).writeStream.format("noop").outputMode("update")
    query.option("checkpointLocation", str(root)).trigger(availableNow=True).start().awaitTermination()
    last = Checkpoint.open(str(root)).last_committed_batch
    assert last is not None
    for variable in VARIABLES:
        found = everything(root, last, variable=variable).rows
        assert found
        kind = "ListState" if variable.endswith("ids") else "MapState" if variable.endswith("sums") else ""
        parts = [part for row in found for part in of_variable(row, kind)]
        assert by_spark(session, root, last, stateVarName=variable) == Counter(map(text_of, parts)), variable
    timers = everything(root, last, is_timers=True).rows
    assert by_spark(session, root, last, readRegisteredTimers="true").total() == len(timers) > 0
