"""Queries that are changed on an existing checkpoint: for each change the old query runs on real Spark, the new
one is started on a copy of its checkpoint, and what happens is kept beside what the new query should have
said.

A base runs once, over three input files in one batch. A fourth file waits for the restart. ``right`` is worked
out by Spark as well: the new query as a batch over the same files, so that "the numbers are wrong" is never a
matter of opinion.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tests.support.copies import copy_of
from tests.support.oracle import CHANGELOG, ROCKSDB, ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "k string, k2 string, id long, g long, v long, t timestamp"
FIRST_FILES = (1, 2, 3)
NEXT_FILE = 4
FORMAT_2 = {"spark.sql.streaming.stateStore.checkpointFormatVersion": "2"}

Seen = Literal["any", "among", "exactly"]
"""How the rows of the restart are compared with the right ones: not, each of them is among them, or they are
the same."""


def write_file(directory: Path, number: int, ids_of: int | None = None) -> None:
    """Two rows, three minutes of event time after those of the file before, all inside a few windows.

    ``ids_of``: the file whose ids they have (default: their own)."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{number:04d}.json"
    rows = [
        {
            "k": "ab"[i],
            "k2": "ba"[i],
            "id": (ids_of or number) * 2 + i,
            "g": number * 2 + i - 2,
            "v": number * 10 + i,
            "t": f"2026-01-01T00:{number * 3 + i:02d}:00",
        }
        for i in range(2)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    os.utime(path, (1_767_225_600 + number * 60,) * 2)


@dataclass(frozen=True)
class Reader:
    """What a query reads: as a stream, or (``numbers``) these files as a batch."""

    session: SparkSession
    root: Path
    numbers: tuple[int, ...] = ()

    def files(self, name: str, schema: str = SCHEMA, at: str | None = None, per_batch: int = 10) -> DataFrame:
        """The JSON files of a directory; ``at`` is another path of the stream."""
        if self.numbers:
            paths = [str(self.root / name / f"{number:04d}.json") for number in self.numbers]
            return self.session.read.schema(schema).json(paths)
        reader = self.session.readStream.schema(schema).option("maxFilesPerTrigger", per_batch)
        return reader.json(str(self.root / (at or name)))

    def rate(self, rows: int) -> DataFrame:
        """So many rows per batch, numbered from 0."""
        if self.numbers:
            from pyspark.sql import functions as F  # noqa: N812

            frame = self.session.range(rows * len(self.numbers))
            return frame.select(F.lit(None).cast("timestamp").alias("timestamp"), F.col("id").alias("value"))
        reader = self.session.readStream.format("rate-micro-batch").option("rowsPerBatch", rows)
        return reader.option("startTimestamp", 0).load()


Build = Callable[[Reader], "DataFrame"]


@dataclass(frozen=True)
class Base:
    """The query that wrote the checkpoint. ``mode`` is its output mode, ``conf`` the settings of its
    session."""

    name: str
    build: Build
    mode: str = "update"
    conf: Mapping[str, str] = field(default_factory=dict)
    sink: Literal["rows", "files"] = "rows"


@dataclass(frozen=True)
class Change:
    """One change: what ``python -m core changes`` is asked, and the query that is then started."""

    name: str
    base: str
    asked: Mapping[str, str]
    build: Build | None = None
    mode: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    sink: Literal["rows", "files", "other files"] | None = None
    once: bool = False
    query_name: str | None = None
    seen: Seen = "any"
    right: Callable[[Reader], DataFrame] | None = None

    @property
    def written_to(self) -> Literal["file"] | None:
        """The sink as it is named when the change is asked about."""
        return "file" if BASES[self.base].sink == "files" else None


@dataclass(frozen=True)
class Happened:
    """What the restart did. ``phase``: when it failed; ``conditions``: every condition in its error;
    ``as_right``: whether the rows are the right ones, None when that was not asked.
    """

    error: str | None
    phase: Literal["start", "batch"] | None
    conditions: tuple[str, ...]
    rows: tuple[str, ...]
    right: tuple[str, ...]
    as_right: bool | None


def _functions() -> Any:
    from pyspark.sql import functions

    return functions


def agg(key: str, *columns: Callable[[Any], Any], where: str | None = None) -> Build:
    """Totals per key."""

    def build(read: Reader) -> DataFrame:
        functions = _functions()
        frame = read.files("in")
        if where is not None:
            frame = frame.where(where)
        made = [column(functions).alias(f"a{at}") for at, column in enumerate(columns)]
        return frame.groupBy(functions.expr(key).alias("key")).agg(*made)

    return build


def windowed(length: str, slide: str | None = None, delay: str | None = "10 hours") -> Build:
    """Counts per window and key."""

    def build(read: Reader) -> DataFrame:
        functions = _functions()
        frame = read.files("in")
        if delay is not None:
            frame = frame.withWatermark("t", delay)
        window = functions.window("t", length, slide)
        counted = frame.groupBy(window, "k").agg(functions.count("*").alias("n"))
        return counted.select(
            functions.col("window.start").cast("string").alias("w"),
            functions.col("window.end").cast("string").alias("e"),
            "k",
            "n",
        )

    return build


def windowed_by(key: str) -> Build:
    """Counts per window and another key."""

    def build(read: Reader) -> DataFrame:
        functions = _functions()
        frame = read.files("in").withWatermark("t", "10 hours")
        counted = frame.groupBy(functions.window("t", "10 minutes"), key).agg(functions.count("*").alias("n"))
        return counted.select(
            functions.col("window.start").cast("string").alias("w"),
            functions.col("window.end").cast("string").alias("e"),
            key,
            "n",
        )

    return build


def key_then_window(read: Reader) -> DataFrame:
    """Counts per key and window: the same keys in the other order."""
    functions = _functions()
    frame = read.files("in").withWatermark("t", "10 hours")
    counted = frame.groupBy("k", functions.window("t", "10 minutes")).agg(functions.count("*").alias("n"))
    return counted.select(
        functions.col("window.start").cast("string").alias("w"),
        functions.col("window.end").cast("string").alias("e"),
        "k",
        "n",
    )


def filtered_dedup(read: Reader) -> DataFrame:
    """The first row of each id, of half of the rows."""
    return read.files("in").where("v % 2 = 0").dropDuplicates(["id"]).select("id", "k", "g")


def timed_totals(read: Reader) -> DataFrame:
    """Totals per key, with a watermark that no key carries."""
    functions = _functions()
    frame = read.files("in").withWatermark("t", "1 hour")
    return frame.groupBy(functions.expr("k").alias("key")).agg(
        functions.sum("v").alias("a0"), functions.count("*").alias("a1")
    )


def deduplicated(*columns: str) -> Build:
    """The first row of each."""
    return lambda read: read.files("in").dropDuplicates(list(columns)).select("id", "k", "g")


def joined(
    how: str = "inner", minutes: int = 30, more: tuple[str, ...] = (), key: str = "id", value: str = "v"
) -> Build:
    """Two streams within so many minutes."""

    def build(read: Reader) -> DataFrame:
        functions = _functions()
        left = read.files("in").withWatermark("t", "10 hours").alias("l")
        right = read.files("in2").withWatermark("t", "10 hours").alias("r")
        near = functions.expr(
            f"l.{key} = r.{key} and r.t between l.t - interval {minutes} minutes"
            f" and l.t + interval {minutes} minutes"
        )
        return left.join(right, near, how).selectExpr("l.id", f"r.{value}", *more)

    return build


def semi_join(read: Reader) -> DataFrame:
    """Rows of the left with a match; of the right nothing else is needed."""
    left = read.files("in").withWatermark("t", "10 hours").alias("l")
    right = read.files("in2").withWatermark("t", "10 hours").alias("r")
    near = "l.id = r.id and r.t between l.t - interval 30 minutes and l.t + interval 30 minutes"
    return left.join(right, _functions().expr(near), "left_semi").select("l.id")


def plain(*columns: str, where: str = "true", schema: str = SCHEMA, at: str | None = None) -> Build:
    """Rows as they come."""
    return lambda read: read.files("in", schema, at).where(where).selectExpr(*columns)


def union(*names: str) -> Build:
    """The files of these directories, in this order."""

    def build(read: Reader) -> DataFrame:
        frames = [read.files(name).selectExpr("id", f"'{name}' as origin") for name in names]
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.union(frame)
        return whole

    return build


def rates(*rows: int) -> Build:
    """Numbered rows of several generators, in this order."""

    def build(read: Reader) -> DataFrame:
        frames = [read.rate(number).selectExpr("value", f"{number} as origin") for number in rows]
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.union(frame)
        return whole

    return build


def total(f: Any) -> Any:
    return f.sum("v")


def count(f: Any) -> Any:
    return f.count("*")


def largest(f: Any) -> Any:
    return f.max("v")


def doubled(f: Any) -> Any:
    return f.sum(f.col("v") * 2)


def mean(f: Any) -> Any:
    return f.avg("v")


TOTALS = agg("k", total, count)
ROWS = plain("id", "k", "v")
CLOSING = windowed("5 minutes", delay="10 seconds")
"""Of its windows the first three files close the first one, leave the second open, and begin the third."""
BASES = {
    base.name: base
    for base in (
        Base("rows", ROWS, "append"),
        Base("to_files", ROWS, "append", sink="files"),
        Base("totals", TOTALS),
        Base("totals_rocksdb", TOTALS, conf=ROCKSDB),
        Base("one_total", agg("k", total)),
        Base("windows", windowed("10 minutes")),
        Base("closing_windows", CLOSING, "append"),
        Base("dedup", deduplicated("id"), "append"),
        Base("join", joined(), "append"),
        Base("windows_rocksdb", windowed("10 minutes"), conf=ROCKSDB),
        Base("one_total_rocksdb", agg("k", total), conf=ROCKSDB),
        Base("dedup_rocksdb", deduplicated("id"), "append", conf=ROCKSDB),
        Base("join_rocksdb", joined(), "append", conf=ROCKSDB),
        Base("union", union("in", "in2"), "append"),
        Base("rates", rates(5, 7), "append"),
    )
}

ALL = (*FIRST_FILES, NEXT_FILE)


def over_all(build: Build) -> Callable[[Reader], DataFrame]:
    """The new query as if it had always been there."""
    return lambda read: build(Reader(read.session, read.root, ALL))


def over_next(build: Build) -> Callable[[Reader], DataFrame]:
    """The new query on what is new."""
    return lambda read: build(Reader(read.session, read.root, (NEXT_FILE,)))


def new_groups(read: Reader) -> DataFrame:
    """Rows of the new file whose ``g`` was in no file before."""
    old = Reader(read.session, read.root, FIRST_FILES).files("in").select("g")
    new = Reader(read.session, read.root, (NEXT_FILE,)).files("in")
    return new.join(old, "g", "left_anti").select("id", "k", "g")


def second_batches(read: Reader) -> DataFrame:
    """The second batch of both generators."""
    second = "(value >= 5 and origin = 5) or (value >= 7 and origin = 7)"
    return rates(5, 7)(Reader(read.session, read.root, (1, 2))).where(second)


def _on(base: str, name: str, what: str, value: str, build: Build | None = None, **more: Any) -> Change:
    return Change(f"{base}: {name}", base, {what: value}, build, **more)


def _totals(name: str, what: str, value: str, build: Build, base: str = "totals") -> Change:
    return _on(base, name, what, value, build, seen="among", right=over_all(build))


def _windows(name: str, what: str, value: str, build: Build) -> Change:
    return _on("windows", name, what, value, build, seen="among", right=over_all(build))


def _rows(name: str, what: str, value: str, build: Build, **more: Any) -> Change:
    return _on("rows", name, what, value, build, seen="exactly", right=over_next(build), **more)


WIDER = "k string, k2 string, id long, g long, v long, t timestamp, fresh string"
SILENT: tuple[Change, ...] = (
    _totals("sum becomes max", "aggregates", "same_types", agg("k", largest, count)),
    _totals("two aggregates swapped", "aggregates", "same_types", agg("k", count, total)),
    _totals("sum of another expression", "expressions", "same_types", agg("k", doubled, count)),
    _totals("another key column of the type", "keys", "same_types", agg("k2", total, count)),
    _totals("another key expression", "keys", "same_types", agg("if(v > 20, k, 'b')", total, count)),
    _on(
        "dedup",
        "another column of the type",
        "dedup_columns",
        "same_types",
        deduplicated("g"),
        seen="exactly",
        right=new_groups,
    ),
    _windows("longer windows", "window", "length", windowed("20 minutes")),
    _windows("sliding windows", "window", "slide", windowed("10 minutes", "5 minutes")),
    _on(
        "rates",
        "two sources with like offsets swapped",
        "source_order",
        "swapped",
        rates(7, 5),
        seen="exactly",
        right=second_batches,
    ),
)
"""The nine that no error shows."""

OTHERS: tuple[Change, ...] = (
    # fine
    _rows("a filter", "filter", "changed", plain("id", "k", "v", where="id % 2 = 0")),
    _rows("a projection", "projection", "changed", plain("id", "v * 2 as v")),
    _rows("a wider reader schema", "reader_schema", "more_columns", plain("id", "k", "v", schema=WIDER)),
    _rows(
        "a rate limit",
        "rate_limit",
        "changed",
        lambda read: read.files("in", per_batch=5).select("id", "k", "v"),
    ),
    _rows("an expression", "expressions", "same_types", plain("id", "k", "v + 1 as v")),
    _rows("a wider glob", "source_path", "glob", plain("id", "k", "v", at="i[n]")),
    _rows(
        "more shuffle partitions, no state",
        "partitions",
        "5",
        ROWS,
        conf={"spark.sql.shuffle.partitions": "5"},
    ),
    _on(
        "totals",
        "a filter on the result",
        "filter",
        "after_state",
        lambda read: TOTALS(read).where("a0 > 0"),
        seen="among",
        right=over_all(TOTALS),
    ),
    # pinned
    _totals("more shuffle partitions", "partitions", "5", TOTALS),
    _totals("another provider", "provider", "rocksdb", TOTALS),
    _totals("another aggregation state format", "provider", "aggregation_format", TOTALS),
    _totals("changelogs", "provider", "changelog", TOTALS, base="totals_rocksdb"),
    _totals("another checkpoint format", "provider", "checkpoint_format", TOTALS, base="totals_rocksdb"),
    # fine, but
    _on(
        "totals",
        "a filter before the state",
        "filter",
        "before_state",
        agg("k", total, count, where="v % 2 = 0"),
    ),
    _on("windows", "a shorter delay", "watermark", "delay", windowed("10 minutes", delay="1 minute")),
    _on("windows", "no watermark", "watermark", "removed", windowed("10 minutes", delay=None)),
    _on("totals", "complete instead of update", "output_mode", "complete", TOTALS, mode="complete"),
    _on("join", "left outer instead of inner", "join_type", "left_outer", joined("left_outer")),
    _on("join", "a longer interval", "join_interval", "longer", joined(minutes=50)),
    # fails
    _on("rows", "one source more", "sources", "2", union("in", "in2")),
    _on("union", "one source less", "sources", "1", union("in")),
    _on("union", "two file sources swapped", "source_order", "swapped", union("in2", "in")),
    _on("rows", "another kind of source", "source_kind", "rate", lambda read: read.rate(5)),
    _on("rows", "the directory moved", "source_path", "other", plain("id", "k", "v", at="moved")),
    _on("rows", "an aggregation added", "operators", "stateStoreSave", TOTALS, mode="update"),
    _on("totals", "the aggregation removed", "operators", "none", ROWS),
    _on("totals", "a deduplication instead", "operators", "dedupe", deduplicated("id")),
    _on("totals", "one aggregate more", "aggregates", "other_types", agg("k", total, count, largest)),
    _on("totals", "a sum becomes a mean", "aggregates", "other_types", agg("k", mean, count)),
    _on(
        "one_total",
        "an expression of another type",
        "expressions",
        "other_types",
        agg("k", lambda f: f.sum(f.col("v").cast("double"))),
    ),
    _on(
        "totals",
        "one key more",
        "keys",
        "other_types",
        lambda read: read.files("in").groupBy("k", "k2").agg(total(_functions()), count(_functions())),
    ),
    _on("totals", "a key of another type", "keys", "other_types", agg("id", total, count)),
    _on("dedup", "one column more", "dedup_columns", "other_types", deduplicated("id", "k")),
    _on("join", "keys of another type", "keys", "other_types", joined(key="k")),
    _on("join", "one carried column more", "projection", "before_state", joined(more=("l.v as lv",))),
    _on("totals", "append without a watermark", "output_mode", "append", TOTALS, mode="append"),
    _on("rows", "complete without an aggregation", "output_mode", "complete", ROWS, mode="complete"),
    _on("to_files", "another directory of the file sink", "sink_path", "other", ROWS, sink="other files"),
    _on("rows", "a file sink instead", "sink_kind", "file", ROWS, sink="files"),
)
CHANGES = (*SILENT, *OTHERS)


def marked(column: str, delay: str, build_from: str = "t") -> Build:
    """Counts per window of ``t`` and key, with a watermark on another column."""

    def build(read: Reader) -> DataFrame:
        functions = _functions()
        frame = read.files("in").withColumn(column, functions.expr(build_from)).withWatermark(column, delay)
        counted = frame.groupBy(functions.window("t", "10 minutes"), "k").agg(functions.count("*").alias("n"))
        return counted.select(
            functions.col("window.start").cast("string").alias("w"),
            functions.col("window.end").cast("string").alias("e"),
            "k",
            "n",
        )

    return build


MORE: tuple[Change, ...] = (
    _rows("another trigger", "trigger", "available_now", ROWS, once=True),
    _rows("another name of the query", "query_name", "changed", ROWS, query_name="renamed"),
    _rows("another name of a column", "projection", "changed", plain("id as number", "k", "v")),
    _on("totals", "another trigger", "trigger", "available_now", TOTALS, once=True),
    _on(
        "totals",
        "another name of the result",
        "projection",
        "after_state",
        lambda read: TOTALS(read).toDF("name", "total", "n"),
        seen="among",
        right=over_all(lambda read: TOTALS(read).toDF("name", "total", "n")),
    ),
    _on(
        "to_files", "another type of a column", "output_types", "changed", plain("string(id) as id", "k", "v")
    ),
    _on(
        "windows",
        "another key column of the type",
        "keys",
        "same_types",
        windowed_by("k2"),
        seen="among",
        right=over_all(windowed_by("k2")),
    ),
    _on("windows", "the window after the other key", "keys", "other_types", key_then_window),
    _on("windows", "the watermark on another column", "watermark", "column", marked("u", "10 hours", "t")),
    _on("totals", "a watermark added", "watermark", "added", timed_totals),
    _on(
        "windows", "append instead of update", "output_mode", "append", windowed("10 minutes"), mode="append"
    ),
    _on("dedup", "a filter before the state", "filter", "before_state", filtered_dedup),
    _on("dedup", "an aggregation instead", "operators", "stateStoreSave", TOTALS, mode="update"),
    _on(
        "totals",
        "one aggregate more without the check of schemas",
        "aggregates",
        "other_types",
        agg("k", total, count, largest),
        conf={"spark.sql.streaming.stateStore.stateSchemaCheck": "false"},
    ),
    _on(
        "join",
        "another carried column of the type",
        "projection",
        "same_types",
        joined(value="g"),
        seen="among",
        right=over_all(joined(value="g")),
    ),
)
"""More of what people change, for the whole proof."""

NEW_MODES: tuple[Change, ...] = (
    _on(
        "closing_windows",
        "update instead of append",
        "output_mode",
        "update_after_append",
        CLOSING,
        mode="update",
        seen="exactly",
        right=lambda read: over_all(CLOSING)(read).where("w >= '2026-01-01 00:05'"),
    ),
    _on(
        "closing_windows",
        "complete instead of append",
        "output_mode",
        "complete",
        CLOSING,
        mode="complete",
        seen="exactly",
        right=over_all(CLOSING),
    ),
)
"""Modes under which windows are missing: those that append had not handed out, those that were removed."""


CONFS: Mapping[str, Mapping[str, str]] = {
    "totals: more shuffle partitions": {"spark.sql.shuffle.partitions": "5"},
    "totals: another provider": ROCKSDB,
    "totals: another aggregation state format": {"spark.sql.streaming.aggregation.stateFormatVersion": "1"},
    "totals_rocksdb: changelogs": CHANGELOG,
    "totals_rocksdb: another checkpoint format": {**ROCKSDB, **FORMAT_2},
}
"""Settings of the session that is started with the new query, where they are the change."""


def on_rocksdb(change: Change) -> Change | None:
    """The same change of the same query with its state in RocksDB; None where it keeps none, or has one already."""
    base = f"{change.base}_rocksdb"
    if base not in BASES or change.name == "totals: another provider":
        return None
    conf = {**change.conf, **CONFS.get(change.name, {})}
    return replace(change, name=change.name.replace(change.base, base, 1), base=base, conf=conf)


PROVEN = tuple(
    each for change in (*CHANGES, *MORE) for each in (change, on_rocksdb(change)) if each is not None
)

SHORT_SINK_LOG = {"spark.sql.streaming.fileSink.log.compactInterval": "2"}
"""The file sink compacts its log in batch 1, the first batch of the restart."""


QUICK = {
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""A few rows are not worth a compiler."""


def as_json(frame: DataFrame) -> list[str]:
    """The rows of a frame."""
    functions = _functions()
    return [row[0] for row in frame.select(functions.to_json(functions.struct("*"))).collect()]


class Changes:
    """Makes the bases on first use and starts changed queries on copies of them."""

    def __init__(self, session: SparkSession, scratch: Path) -> None:
        self.session, self.scratch = session, scratch
        self._made: dict[str, tuple[Path, Path]] = {}
        self._number = 0

    def try_change(self, change: Change) -> Happened:
        """The old query runs, the new one is started on its checkpoint."""
        copy = self._copy(change)
        before = ids(copy / "ck" / "offsets")
        error, rows = self._start(change, copy)
        root = self._base(BASES[change.base])[0]
        right = self._right(change, root)
        phase: Literal["start", "batch"] | None = None
        if error is not None:
            phase = "start" if ids(copy / "ck" / "offsets") == before else "batch"
        as_right = None
        if change.seen != "any" and error is None:
            as_right = set(rows) <= set(right) if change.seen == "among" else sorted(rows) == sorted(right)
            as_right = as_right and bool(rows)
        conditions = tuple(re.findall(r"\[([A-Z_]+(?:\.[A-Z_]+)*)\]", error or ""))
        return Happened(error, phase, conditions, tuple(rows), tuple(right), as_right)

    def back_again(self, change: Change) -> tuple[list[str], list[str]]:
        """What the old query hands out after the failed start of the new one, and what it would have handed
        out without it."""
        old = replace(change, build=None, mode=None, sink=None)
        copy = self._copy(change)
        error, _rows = self._start(change, copy)
        assert error is not None
        again, undisturbed = self._start(old, copy), self._start(old, self._copy(change))
        assert again[0] is None and undisturbed[0] is None, (again, undisturbed)
        return again[1], undisturbed[1]

    def restarted(self, change: Change) -> tuple[str | None, list[str]]:
        """The error and the rows of a start on a copy."""
        return self._start(change, self._copy(change))

    def restart_at(self, change: Change, checkpoint: Path) -> tuple[str | None, list[str]]:
        """The same on this checkpoint."""
        return self._start(change, checkpoint.parent, checkpoint)

    def _copy(self, change: Change) -> Path:
        """A place of its own with a copy of the checkpoint."""
        self._number += 1
        place = self.scratch / str(self._number)
        copy_of(self._base(BASES[change.base])[1], place / "ck")
        return place

    def _start(
        self, change: Change, place: Path, checkpoint: Path | None = None
    ) -> tuple[str | None, list[str]]:
        base = BASES[change.base]
        root = self._base(base)[0]
        output = None
        if (sink := change.sink or base.sink) != "rows":
            output = root / "out" if sink == "files" and base.sink == "files" else place / "out"
        conf = {**base.conf, **change.conf, **CONFS.get(change.name, {})}
        mode = change.mode or base.mode
        return self._run(
            change.build or base.build, root, checkpoint or place / "ck", mode, conf, output, change
        )

    def _session(self, conf: Mapping[str, str]) -> SparkSession:
        session = self.session.newSession()
        for key, value in {**QUICK, **SHORT_SINK_LOG, **conf}.items():
            session.conf.set(key, value)
        return session

    def _right(self, change: Change, root: Path) -> list[str]:
        if change.right is None:
            return []
        return as_json(change.right(Reader(self._session({}), root)))

    def checkpoint(self, name: str) -> Path:
        """The checkpoint that the old query of a base wrote."""
        return self._base(BASES[name])[1]

    def _base(self, base: Base) -> tuple[Path, Path]:
        if base.name not in self._made:
            root = self.scratch / base.name
            for directory in ("in", "in2"):
                for number in FIRST_FILES:
                    write_file(root / directory, number)
            write_file(root / "moved", NEXT_FILE)
            output = root / "out" if base.sink == "files" else None
            error, _rows = self._run(base.build, root, root / "ck", base.mode, base.conf, output)
            assert error is None, error
            for directory in ("in", "in2"):
                write_file(root / directory, NEXT_FILE)
            if base.name.startswith(
                "join"
            ):  # the next rows of the left match those of the right in the state
                write_file(root / "in", NEXT_FILE, ids_of=NEXT_FILE - 1)
            self._made[base.name] = root, root / "ck"
        return self._made[base.name]

    def _run(
        self,
        build: Build,
        root: Path,
        checkpoint: Path,
        mode: str,
        conf: Mapping[str, str],
        output: Path | None,
        change: Change | None = None,
    ) -> tuple[str | None, list[str]]:
        session = self._session(conf)
        rows: list[str] = []
        self.session.sparkContext.setLogLevel("OFF")
        try:
            writer = build(Reader(session, root)).writeStream.outputMode(mode)
            writer = writer.option("checkpointLocation", str(checkpoint))
            is_once = change is not None and change.once
            writer = writer.trigger(once=True) if is_once else writer.trigger(availableNow=True)
            if change is not None and change.query_name is not None:
                writer = writer.queryName(change.query_name)
            if output is not None:
                query = writer.format("json").start(str(output))
            else:
                query = writer.foreachBatch(lambda frame, _: rows.extend(as_json(frame))).start()
            query.awaitTermination()
        except Exception as error:
            return str(error), rows
        finally:
            self.session.sparkContext.setLogLevel("ERROR")
        return None, rows
