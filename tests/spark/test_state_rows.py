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
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from core.checkpoint import Checkpoint
from core.checkpoint.model import OffsetEntry
from core.checkpoint.state import state_inventory
from core.checkpoint.state_content.state_rows import RowsAnswer, RowsQuestion, StateRow, read_rows
from core.spark import StateQuestion
from core.spark.staging import stage
from tests.spark.cases import EVERY_CASE
from tests.support.bit_flips import SNAPSHOTS
from tests.support.build import SAMPLES
from tests.support.copies import with_its_own_schemas
from tests.support.oracle import CHANGELOG, NO_EMPTY_BATCHES, ROCKSDB, join, source, write_file
from tests.support.spark import OLDER_SPARK, PROJECT, older_environment
from tests.support.state_queries import BATCHES, QUERIES, Build, run, write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

MICROS = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with batches that follow each other at once."""
    spark.conf.set("spark.sql.streaming.pollingDelay", "1ms")
    yield spark


def by_spark(spark: SparkSession, root: Path, batch: int, **options: str) -> Counter[str]:
    """Spark's rows, each as one text."""
    from pyspark.sql import functions as F  # noqa: N812

    said = {"ignoreNullFields": "false", "timestampFormat": MICROS, "timeZone": "UTC"}
    frame = spark.read.format("statestore").option("batchId", batch).options(**options).load(str(root))
    if set(frame.columns) != {"partition_id", "key", "value"}:  # lists, maps, timers
        texts = frame.select(F.to_json(F.struct("*"), said).alias("row")).collect()
        return Counter(text_of(json.loads(row["row"], parse_float=Decimal)) for row in texts)
    if "joinSide" in options:
        # Rows of a join come with one column more than their schema, which to_json trips over (Spark 4.3).
        # In state format 4 the event time in the key is not what the files hold.
        parts = {name: frame.schema[name].dataType.names for name in ("key", "value")}
        parts["key"] = [name for name in parts["key"] if name != "__event_time"]
        rebuilt = [F.struct(*(F.col(f"{n}.{c}") for c in columns)).alias(n) for n, columns in parts.items()]
        frame = frame.select("partition_id", *rebuilt)
    texts = frame.select(F.to_json(F.struct("partition_id", "key", "value"), said).alias("row")).collect()
    return Counter(
        text_of(json.loads(row["row"], parse_float=Decimal, object_pairs_hook=labelled)) for row in texts
    )


def labelled(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which a name stands twice: the second is numbered."""
    found: dict[str, Any] = {}
    seen: Counter[str] = Counter()
    for name, value in pairs:
        seen[name] += 1
        found[name if seen[name] == 1 else f"{name}#{seen[name]}"] = value
    return found


def by_files(root: Path, batch: int, **asked: Any) -> Counter[str]:
    """Our rows, each as one text."""
    return Counter(text_of(plain(row)) for row in everything(root, batch, **asked).rows)


def everything(root: Path, batch: int, **asked: Any) -> RowsAnswer:
    """All rows of a batch; every partition could be read."""
    answer = read_rows(Checkpoint.open(str(root)), RowsQuestion(batch_id=batch, limit=100_000, **asked))
    assert not answer.not_read
    assert answer.total == len(answer.rows)
    return answer


def plain(row: StateRow) -> dict[str, Any]:
    return {"partition_id": row.partition_id, "key": row.key, "value": row.value}


def text_of(row: Mapping[str, Any]) -> str:
    """One text for equal rows: times and numbers in one form."""
    return json.dumps(_same(row), sort_keys=True)


def _same(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _same(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_same(inner) for inner in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal):
        return str(Decimal(str(value)).normalize())
    try:
        return str(Decimal(value).normalize())
    except ArithmeticError:
        pass
    try:
        return datetime.fromisoformat(value).isoformat()
    except ValueError:
        return value


def variants(build: Build) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """Options of Spark's reader and of ours that ask for the same."""
    if build is join:
        return [({"joinSide": side}, {"side": side}) for side in ("left", "right")]
    return [({}, {})]


@pytest.mark.parametrize("name", QUERIES)
def test_spark_reads_the_same_rows(name: str, session: SparkSession, tmp_path: Path) -> None:
    root = write(session, name, tmp_path)
    compare(session, root, QUERIES[name][0], is_every_batch=bool(os.environ.get(EVERY_CASE)))


# What 3.5 does not have: state format 2, row checksums, the state of joins in column families; and functions over
# pandas, which its environment here does without.
NOT_IN_OLDER = {
    "group-state",
    "windows-hdfs-zstd-row-checksums",
    "windows-changelog-snappy-row-checksums",
    "windows-format-2",
    "join-3",
    "join-4",
}
OF_OLDER = [name for name in QUERIES if name not in NOT_IN_OLDER]
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

    compare(session, root, QUERIES[name][0], is_every_batch=True, spark_reads=staged)


def compare(
    session: SparkSession,
    root: Path,
    build: Build,
    *,
    is_every_batch: bool,
    spark_reads: Callable[[int], Path] | None = None,
) -> None:
    """The rows of the last batch, or of the first, the last and one between."""
    last = Checkpoint.open(str(root)).last_committed_batch
    assert last is not None
    compared = 0
    for batch in sorted({0, last // 2, last}) if is_every_batch else (last,):
        for theirs, ours in variants(build):
            place = root if spark_reads is None else spark_reads(batch)
            expected = by_spark(session, place, batch, **theirs)
            assert by_files(root, batch, **ours) == expected, (batch, ours)
            compared += expected.total()
    assert compared >= 1


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
            text_of(
                {
                    "partition_id": row.partition_id,
                    "key": row.key["key"],
                    "expiration_timestamp_ms": row.key["expiryTimestampMs"],
                }
            )
            for row in registered
        )


@pytest.mark.parametrize("name", ["windows-hdfs", "windows-format-2", "dedup"])
def test_spark_s_change_feed_has_the_same_changes(name: str, session: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    build, conf = QUERIES[name]
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


def every_kind(spark: SparkSession, root: Path) -> DataFrame:
    """transformWithState with a variable of each kind."""
    from tests.support.state_processor import EveryKind

    return (
        source(spark, root / "in")
        .groupBy("k")
        .transformWithState(
            statefulProcessor=EveryKind(),
            outputStructType="k string, n long",
            outputMode="Update",
            timeMode="ProcessingTime",
        )
    )


VARIABLES = ("count", "brief", "ids", "brief_ids", "sums", "brief_sums")


@pytest.mark.parametrize("conf", [ROCKSDB, CHANGELOG], ids=["zips", "changelogs"])
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
        parts = [part for row in found for part in as_spark_shows(row, variable)]
        assert by_spark(session, root, last, stateVarName=variable) == Counter(map(text_of, parts)), variable
    timers = everything(root, last, is_timers=True).rows
    assert by_spark(session, root, last, readRegisteredTimers="true").total() == len(timers) > 0


def as_spark_shows(row: StateRow, variable: str) -> list[dict[str, Any]]:
    """Spark's reader gives an element of a list or a map by itself, and names its parts."""
    common = {"partition_id": row.partition_id}
    if variable.endswith("ids"):
        assert isinstance(row.value, list)
        return [{**common, "key": row.key, "list_element": element} for element in row.value]
    if variable.endswith("sums"):
        key, user_key = row.key["key"], row.key["userKey"]
        return [{**common, "key": key, "user_map_key": user_key, "user_map_value": row.value}]
    return [{**common, "key": row.key, "value": row.value}]
