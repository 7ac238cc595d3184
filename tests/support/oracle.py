"""The oracle: real checkpoints, real damage, a real restart; what Spark did is compared with what the
forecast said.

A base is made once per run: a small query reads five files, one per batch, and stops. Two more files wait for
the restart. Every start writes to an output directory of its own (Spark's JSON file sink), which shows
exactly which rows the sink got in which batch; the three kinds of sink (one that appends, one that overwrites
by batch id, one that skips ids up to the newest it has seen) are worked out from that.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlparse

from core.analysis.forecast.versions import NEWEST, OLDEST, V35, V40, V41, V42, V43, Version
from tests.support.copies import copy_of
from tests.support.spark import spark_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "k string, id long, t timestamp, v long"
FIRST_RUN, WAITING = 5, 2  # input files of the first run, and those that are there at the restart
ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}
CHANGELOG = {**ROCKSDB, "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true"}
FORMAT_2 = {**CHANGELOG, "spark.sql.streaming.stateStore.checkpointFormatVersion": "2"}
NAMED = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
ROW_CHECKSUM = {"spark.sql.streaming.stateStore.rowChecksum.enabled": "true"}
NO_EMPTY_BATCHES = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}

# What runs while a batch is planned or run; up to 3.5 the two steps are called from the outermost loop.
IN_A_BATCH = ("executeOneBatch", "constructNextBatch", "runBatch")
# Up to 3.5 what a task died of lies below these words, which have no condition.
JOB_FAILED = ("Job aborted", "Writing job aborted", "Task failed while writing rows")

# The newest Spark is what a forecast comes to by itself; of the older ones some look alike (3.3 and 3.4, 4.0
# and 4.1).
ASKED = None if spark_version() == NEWEST else str(spark_version())

STARTED_SECONDS_AGO = 30  # of the rate source

Rows = tuple[str, ...]
Build = Callable[["SparkSession", Path], "DataFrame"]


def write_file(directory: Path, number: int) -> Path:
    """One input file of two rows, ten minutes of event time after the one before; its own time goes up with
    its number. It appears whole."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{number:04d}.json"
    minute = number * 10
    rows = [
        {
            "k": k,
            "id": number * 10 + i,
            "t": f"2026-01-01T{(minute + i) // 60:02d}:{(minute + i) % 60:02d}:00",
            "v": number + i,
        }
        for i, k in enumerate("ab")
    ]
    unfinished = path.with_name(f".{path.name}")  # a query that runs must not list it before it has its time
    unfinished.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    moment = 1_767_225_600 + number * 60
    os.utime(unfinished, (moment, moment))
    return unfinished.replace(path)


def write_files(root: Path, numbers: range) -> None:
    """Input files for both sources."""
    for number in numbers:
        for directory in ("in", "in2"):
            write_file(root / directory, number)


def source(spark: SparkSession, directory: Path, name: str | None = None) -> DataFrame:
    """A stream of the files, one per batch."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    if name is not None:
        reader = reader.name(name)
    return reader.json(str(directory))


def stateless(spark: SparkSession, root: Path) -> DataFrame:
    """Rows as they come."""
    return source(spark, root / "in")


def watermarked(spark: SparkSession, root: Path) -> DataFrame:
    """Rows as they come, with a watermark that nothing uses."""
    return source(spark, root / "in").withWatermark("t", "5 minutes")


def windows(spark: SparkSession, root: Path) -> DataFrame:
    """Counts per window of ten minutes and key, handed out when the watermark closes the window."""
    from pyspark.sql import functions as F  # noqa: N812

    frame = (
        source(spark, root / "in").withWatermark("t", "5 minutes").groupBy(F.window("t", "10 minutes"), "k")
    )
    return frame.agg(F.count("*").alias("n"), F.sum("v").alias("s")).select(
        "k", F.col("window.start").cast("string").alias("w"), "n", "s"
    )


def dedup(spark: SparkSession, root: Path) -> DataFrame:
    """The first row of each id; ids repeat in no file, so every row comes through once."""
    return source(spark, root / "in").dropDuplicates(["id"])


def two_operators(spark: SparkSession, root: Path) -> DataFrame:
    """Counts per window and key of rows without duplicates: operator 0 counts, operator 1 deduplicates."""
    from pyspark.sql import functions as F  # noqa: N812

    unique = source(spark, root / "in").withWatermark("t", "5 minutes").dropDuplicates(["id", "t"])
    counted = unique.groupBy(F.window("t", "10 minutes"), "k").agg(F.count("*").alias("n"))
    return counted.select("k", F.col("window.start").cast("string").alias("w"), "n")


def dedup_many(spark: SparkSession, root: Path) -> DataFrame:
    """The first row of each of six columns; one of three rows comes again in every file."""
    from pyspark.sql import functions as F  # noqa: N812

    columns = ["user", "page", "device", "country", "browser", "os"]
    frame = source(spark, root / "in").withColumn("n", F.col("id") % 5)
    for number, column in enumerate(columns):
        frame = frame.withColumn(column, F.concat(F.lit(f"{column}-"), F.col("n") + number))
    return frame.dropDuplicates(columns).select("n", *columns)


def dedup_mixed(spark: SparkSession, root: Path) -> DataFrame:
    """The same with columns of several types."""
    from pyspark.sql import functions as F  # noqa: N812

    n = F.col("id") % 5
    frame = source(spark, root / "in").select(
        n.alias("a"),
        n.cast("string").alias("b"),
        n.cast("double").alias("c"),
        (n > 2).alias("d"),
        n.cast("int").alias("e"),
    )
    return frame.dropDuplicates(["a", "b", "c", "d", "e"])


def limited(spark: SparkSession, root: Path) -> DataFrame:
    """The first five rows."""
    return source(spark, root / "in").limit(5)


def join(spark: SparkSession, root: Path) -> DataFrame:
    """An inner join of two streams within twenty minutes."""
    from pyspark.sql import functions as F  # noqa: N812

    left = source(spark, root / "in").withWatermark("t", "5 minutes").alias("l")
    right = source(spark, root / "in2").withWatermark("t", "5 minutes").alias("r")
    near = F.expr("l.id = r.id and r.t between l.t - interval 20 minutes and l.t + interval 20 minutes")
    return left.join(right, near).select("l.id", "l.v", F.col("r.k").alias("rk"))


def transform(spark: SparkSession, root: Path) -> DataFrame:
    """transformWithState in Python: a running count per key."""
    from tests.support.oracle_processor import Counter as Seen

    grouped = source(spark, root / "in").groupBy("k")
    return grouped.transformWithState(
        statefulProcessor=Seen(), outputStructType="k string, n long", outputMode="Append", timeMode="None"
    )


def rate(spark: SparkSession, root: Path) -> DataFrame:
    """Rows by the clock, of a query that has started some time ago: no two runs hand out the same."""
    start = root / "ck" / "sources" / "0" / "0"
    if not (root / "ck").exists():
        start.parent.mkdir(parents=True)
        started_ms = int((time.time() - STARTED_SECONDS_AGO) * 1000)
        start.write_text(f"v1\n{started_ms}", encoding="utf-8")
    return spark.readStream.format("rate").option("rowsPerSecond", 20).load()


def union(spark: SparkSession, root: Path) -> DataFrame:
    """Two sources, one after the other in the plan."""
    return source(spark, root / "in").union(source(spark, root / "in2"))


def named(spark: SparkSession, root: Path) -> DataFrame:
    """Two sources with names (offset log version 2)."""
    return source(spark, root / "in", "orders").union(source(spark, root / "in2", "refunds"))


def named_swapped(spark: SparkSession, root: Path) -> DataFrame:
    """The same two sources in the other order."""
    return source(spark, root / "in2", "refunds").union(source(spark, root / "in", "orders"))


class Feature(NamedTuple):
    """Something that not every Spark has, and the first version that has it."""

    name: str
    since: Version

    @property
    def is_here(self) -> bool:
        """Whether the installed Spark has it."""
        return spark_version() >= self.since

    @property
    def why_not(self) -> str:
        """The reason why a case is skipped."""
        return f"Spark {spark_version()} does not have {self.name}, which came with {self.since}"


EVERYWHERE = Feature("Structured Streaming", OLDEST)
CHANGELOGS = Feature("changelog checkpointing", V35)
OPERATOR_METADATA = Feature("operator metadata in the checkpoint", V40)
STATE_FORMAT_2 = Feature("state checkpoint format 2", V40)
VISIBLE_CHECKSUMS = Feature("checksum files of Spark's own", V41)
TRANSFORM = Feature("transformWithState on rows", V41)
NAMED_SOURCES = Feature("named sources in the offset log", V43)
OFFSET_LOG_2 = Feature("offset log version 2", V42)
FORMAT_OF_THE_LOG = Feature("the rule that the commit log decides the state format", V43)
ROW_CHECKSUMS = Feature("row checksums", V42)


@dataclass(frozen=True)
class Recipe:
    """How a base is made: the query, and the settings of the session at its first start and at every later
    one.

    ``with_maintenance``: the state stores write snapshots while the base is made, every few versions.
    ``needs``: a feature that not every Spark has. ``backup_after``: the query stops after so many files, a
    backup of the checkpoint is made, and the query goes on.
    """

    name: str
    build: Build
    conf: Mapping[str, str] = field(default_factory=dict)
    files: int = FIRST_RUN
    with_maintenance: bool = False
    needs: Feature = EVERYWHERE
    backup_after: int | None = None

    @property
    def restart_conf(self) -> dict[str, str]:
        """The same settings: a restart with others is a case of its own."""
        return dict(self.conf)


ZSTD = {"spark.sql.streaming.stateStore.compression.codec": "zstd"}
SNAPSHOTS = {
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    "spark.sql.streaming.stateStore.maintenanceInterval": "50ms",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}
SHORT_LOG = {
    "spark.sql.streaming.fileSource.log.compactInterval": "3",
    "spark.sql.streaming.minBatchesToRetain": "2",
}
RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe("stateless", stateless),
        Recipe("watermarked", watermarked),
        Recipe("windows", windows),
        Recipe("windows_zstd", windows, ZSTD),
        Recipe("windows_with_data", windows, NO_EMPTY_BATCHES),
        Recipe("one_batch", windows, NO_EMPTY_BATCHES, files=1),
        Recipe("windows_rocksdb", windows, ROCKSDB),
        Recipe("windows_changelog", windows, CHANGELOG, needs=CHANGELOGS),
        Recipe("windows_format_2", windows, FORMAT_2, needs=STATE_FORMAT_2),
        Recipe("dedup", dedup),
        Recipe("two_operators", two_operators),
        Recipe("two_operators_changelog", two_operators, CHANGELOG, needs=CHANGELOGS),
        Recipe("two_operators_format_2", two_operators, FORMAT_2, needs=STATE_FORMAT_2),
        Recipe("join", join),
        Recipe("join_changelog", join, CHANGELOG, needs=CHANGELOGS),
        Recipe("union", union),
        Recipe("named", named, NAMED, needs=NAMED_SOURCES),
        Recipe("purged", windows, SHORT_LOG, files=8),
        Recipe("snapshots", windows, SNAPSHOTS, files=8, with_maintenance=True),
        Recipe(
            "snapshots_changelog",
            windows,
            {**CHANGELOG, **SNAPSHOTS},
            files=8,
            with_maintenance=True,
            needs=CHANGELOGS,
        ),
        Recipe(
            "snapshots_format_2",
            windows,
            {**FORMAT_2, **SNAPSHOTS},
            files=8,
            with_maintenance=True,
            needs=STATE_FORMAT_2,
        ),
        Recipe("limited", limited, CHANGELOG, needs=CHANGELOGS),
        Recipe("rate", rate),
        Recipe("dedup_many", dedup_many),
        Recipe("dedup_mixed", dedup_mixed),
        Recipe("row_checksum", windows, ROW_CHECKSUM, needs=ROW_CHECKSUMS),
        Recipe("row_checksum_rocksdb", windows, {**ROCKSDB, **ROW_CHECKSUM}, needs=ROW_CHECKSUMS),
        Recipe(
            "offset_log_2",
            stateless,
            {"spark.sql.streaming.offsetLog.formatVersion": "2"},
            needs=OFFSET_LOG_2,
        ),
        Recipe(
            "windows_offset_log_2",
            windows,
            {"spark.sql.streaming.offsetLog.formatVersion": "2"},
            needs=OFFSET_LOG_2,
        ),
        Recipe("transform", transform, ROCKSDB, needs=TRANSFORM),
        Recipe("compacted", stateless, {"spark.sql.streaming.fileSource.log.compactInterval": "3"}, files=8),
    )
}


@dataclass(frozen=True)
class Cause:
    """One exception of a chain: class without package, condition, SQLSTATE, message."""

    error_class: str
    condition: str | None
    sqlstate: str | None
    message: str


@dataclass(frozen=True)
class Fact:
    """What Spark did. ``delivered``: batch id -> rows, in the order in which the sink got them."""

    outcome: str
    first_batch: int | None
    fails_at: str | None
    causes: tuple[Cause, ...]
    delivered: Mapping[int, Rows]
    failed_batch: int | None

    @property
    def error(self) -> Cause | None:
        """The first exception below Spark's own wrapper that has a condition, else the first that says more
        than that a job failed."""
        plain = [cause for cause in self.causes if not cause.message.startswith(JOB_FAILED)] or self.causes
        return next((cause for cause in self.causes if cause.condition), plain[0] if plain else None)


@dataclass(frozen=True)
class Base:
    """A real checkpoint that stopped cleanly, what its sink got, and what an undisturbed restart hands out."""

    recipe: Recipe
    root: Path
    delivered: Mapping[int, Rows]
    undisturbed: Mapping[int, Rows]

    @property
    def checkpoint(self) -> Path:
        """The checkpoint directory; never change it, copy it."""
        return self.root / "ck"

    @property
    def backup(self) -> Path:
        """An older state of the checkpoint, where the recipe asks for one."""
        return self.root / "backup"


class Oracle:
    """Makes bases on first use and restarts damaged copies of them, all in one session."""

    def __init__(self, session: SparkSession, scratch: Path) -> None:
        self.session = session
        self.scratch = scratch  # bases that an earlier session has made here are used again
        self._bases: dict[str, Base] = {}
        self._copies = 0

    def base(self, name: str) -> Base:
        """The base with this name, made on first use."""
        return self.base_of(RECIPES[name])

    def base_of(self, recipe: Recipe) -> Base:
        """The base of this recipe, made on first use."""
        if recipe.name not in self._bases:
            self._bases[recipe.name] = self._make(recipe)
        return self._bases[recipe.name]

    def _make(self, recipe: Recipe) -> Base:
        root = self.scratch / recipe.name
        made = root / "made.json"
        if made.exists():
            return _made(recipe, root, made)
        if recipe.with_maintenance:
            self.stop_maintenance()
        first: dict[int, Rows] = {}
        if recipe.backup_after is not None:
            first = self._first_run(recipe, root, range(recipe.backup_after))
            copy_of(root / "ck", root / "backup")
        first |= self._first_run(recipe, root, range(recipe.backup_after or 0, recipe.files))
        if recipe.with_maintenance:
            self.stop_maintenance()
        write_files(root, range(recipe.files, recipe.files + WAITING))
        base = Base(recipe, root, first, {})
        clean = self.restart(base, self.copy(base))
        assert not clean.causes, clean
        made.write_text(json.dumps({"delivered": first, "undisturbed": clean.delivered}), encoding="utf-8")
        return _made(recipe, root, made)

    def _first_run(self, recipe: Recipe, root: Path, numbers: range) -> dict[int, Rows]:
        write_files(root, numbers)
        # The output goes on where a start before this one has stopped.
        fact = self._run(recipe.build, root, root / "ck", root / "out", recipe.conf)
        assert not fact.causes, fact
        return dict(fact.delivered)

    def stop_maintenance(self) -> None:
        """Ends the maintenance thread of the state stores: its interval is that of the first stateful query
        after it."""
        jvm: Any = self.session._jvm
        package = jvm.org.apache.spark.sql.execution.streaming.state
        if spark_version() == V40:
            # Its stop() waits five minutes for threads that need the lock it holds, when they have a store to
            # unload.
            getattr(getattr(package, "StateStore$"), "MODULE$").unloadAll()
            while any(thread.getState().toString() != "WAITING" for thread in _pool(jvm)):
                pass
        package.StateStore.stop()

    def copy(self, base: Base) -> Path:
        """A copy of the base's checkpoint to damage."""
        self._copies += 1
        target = self.scratch / "copies" / f"{self._copies}-{base.recipe.name}"
        return copy_of(base.checkpoint, target / "ck")

    def restart(
        self,
        base: Base,
        checkpoint: Path,
        build: Build | None = None,
        conf: Mapping[str, str] | None = None,
        output: Path | None = None,
    ) -> Fact:
        """Starts the query on a copy and waits until it ends. ``output``: a directory that has seen batches
        before."""
        self._copies += 1
        output = output or checkpoint.parent / f"out-{self._copies}"
        settings = base.recipe.restart_conf if conf is None else conf
        return self._run(build or base.recipe.build, base.root, checkpoint, output, settings)

    def _run(self, build: Build, root: Path, checkpoint: Path, output: Path, conf: Mapping[str, str]) -> Fact:
        # Each start has a session of its own, so that no setting reaches the next one. Most starts here are
        # meant to fail: no log.
        self.session.sparkContext.setLogLevel("OFF")
        try:
            return self._start(self.session.newSession(), build, root, checkpoint, output, conf)
        finally:
            self.session.sparkContext.setLogLevel("ERROR")

    def _start(
        self,
        session: SparkSession,
        build: Build,
        root: Path,
        checkpoint: Path,
        output: Path,
        conf: Mapping[str, str],
    ) -> Fact:
        session.conf.set("spark.sql.streaming.fileSink.log.compactInterval", "100000")
        session.conf.set("spark.sql.streaming.pollingDelay", "1ms")
        for key, value in conf.items():
            session.conf.set(key, value)
        offsets = ids(checkpoint / "offsets")
        try:
            # A reader without its path fails before there is a query: to a user that is a start that fails.
            writer = (
                build(session, root)
                .writeStream.format("json")
                .option("path", str(output))
                .option("checkpointLocation", str(checkpoint))
            )
            query = writer.trigger(availableNow=True).start()
        except Exception as error:
            return Fact("fail", None, "start", _causes(_java_error(error)), {}, None)
        try:
            query.awaitTermination()
        except Exception as error:
            assert query._jsq.exception().isDefined(), error
        return _fact(query, output, offsets)

    def waiting(self, base: Base) -> tuple[str, ...]:
        """The input files that are new at a restart."""
        return tuple(f"{d}/{base.recipe.files + i:04d}.json" for d in ("in", "in2") for i in range(WAITING))

    @contextmanager
    def away(self, base: Base, names: Sequence[str]) -> Iterator[None]:
        """Takes input files away for a while."""
        paths = [base.root / name for name in names]
        hidden = [path.with_name("_" + path.name) for path in paths]
        for path, other in zip(paths, hidden, strict=True):
            path.rename(other)
        try:
            yield
        finally:
            for path, other in zip(paths, hidden, strict=True):
                other.rename(path)


def _made(recipe: Recipe, root: Path, made: Path) -> Base:
    """A base as it stands on disk, with what was noted when it was made."""
    noted = json.loads(made.read_text(encoding="utf-8"))
    delivered, undisturbed = (
        {int(batch_id): tuple(rows) for batch_id, rows in noted[name].items()}
        for name in ("delivered", "undisturbed")
    )
    return Base(recipe, root, delivered, undisturbed)


def _pool(jvm: Any) -> list[Any]:
    """The threads that look after the state stores."""
    return [
        thread
        for thread in jvm.java.lang.Thread.getAllStackTraces().keySet()
        if "maintenance-thread" in thread.getName()
    ]


def _java_error(error: Exception) -> Any:
    """The Java exception behind what ``start()`` raised."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    if isinstance(error, Py4JJavaError):
        return error.java_exception
    origin = getattr(error, "_origin", None)  # PySpark's own exceptions keep it there
    assert origin is not None, error
    return origin


def _causes(error: Any) -> tuple[Cause, ...]:
    found: list[Cause] = []
    while error is not None and len(found) < 8:
        name = error.getClass().getName().rsplit(".", 1)[-1]
        condition = _call(error, "getCondition") or _call(error, "getErrorClass")  # the name up to 3.5
        found.append(Cause(name, condition, _call(error, "getSqlState"), error.getMessage() or ""))
        error = error.getCause()
    return tuple(found)


def _call(error: Any, method: str) -> str | None:
    try:
        value = getattr(error, method)()
    except Exception:  # not a SparkThrowable
        return None
    return None if value is None or str(value).startswith("_LEGACY") else str(value)


def _fact(query: Any, output: Path, offsets: Sequence[int]) -> Fact:
    java = query._jsq.exception()
    causes: tuple[Cause, ...] = ()
    failed_batch: int | None = None
    fails_at: str | None = None
    if java.isDefined():
        error = java.get().cause()
        causes = _causes(error)
        frames = [frame.getMethodName() for frame in error.getStackTrace()]
        fails_at = "batch" if any(method in frame for frame in frames for method in IN_A_BATCH) else "start"
        if fails_at == "batch":
            execution = query._jsq.streamingQuery()
            failed_batch = (
                execution.getLatestExecutionContext().batchId()
                if spark_version() >= V40
                else execution.currentBatchId()
            )
    rows = delivered(output)
    first = min([*rows, *([failed_batch] if failed_batch is not None else [])], default=None)
    if causes and (fails_at == "start" or first == failed_batch):
        outcome = "fail"
    elif first is None:
        outcome = "resume"
    elif first in offsets:
        outcome, fails_at = "rerun", None
    elif first == 0 and not offsets:
        outcome, fails_at = "fresh_start", None
    else:
        outcome, fails_at = "resume", None
    return Fact(outcome, first, fails_at, causes, rows, failed_batch)


def ids(directory: Path) -> list[int]:
    """The batch ids in a log directory, ascending."""
    if not directory.is_dir():
        return []
    return sorted(int(path.name) for path in directory.iterdir() if path.is_file() and path.name.isdecimal())


def delivered(output: Path) -> dict[int, Rows]:
    """What one start handed to its sink: batch id -> rows, read from the file sink's own log."""
    found: dict[int, Rows] = {}
    for batch_id in ids(output / "_spark_metadata"):
        rows: list[str] = []
        for line in (output / "_spark_metadata" / str(batch_id)).read_text(encoding="utf-8").splitlines()[1:]:
            rows += (
                Path(unquote(urlparse(json.loads(line)["path"]).path))
                .read_text(encoding="utf-8")
                .splitlines()
            )
        found[batch_id] = tuple(sorted(rows))
    return found


@dataclass(frozen=True)
class Effects:
    """What happened to the rows at the three kinds of sink."""

    append: str
    overwrite: str
    skip: str


def effects(base: Base, fact: Fact, expected_after: Mapping[int, Rows], ended_early: bool) -> Effects:
    """Compares all that the sinks hold after the restart with an undisturbed run.

    ``ended_early``: the restart failed, so rows that were not delivered yet are not lost; only repeated ones
    count.
    """
    expected = _rows([base.delivered, expected_after])
    seen = max(base.delivered, default=-1)
    kept = {i: rows for i, rows in fact.delivered.items() if i > seen}
    return Effects(
        _effect(expected, _rows([base.delivered, fact.delivered]), ended_early),
        _effect(expected, _rows([{**base.delivered, **fact.delivered}]), ended_early),
        _effect(expected, _rows([base.delivered, kept]), ended_early),
    )


def _rows(parts: Sequence[Mapping[int, Rows]]) -> Counter[str]:
    return Counter(row for part in parts for rows in part.values() for row in rows)


def _effect(expected: Counter[str], actual: Counter[str], ended_early: bool) -> str:
    if expected - actual and not ended_early:
        return "loss"
    return "duplicates" if actual - expected else "exact"
