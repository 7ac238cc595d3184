"""The queries of ``changed_queries`` as programs: whole files that read, transform and start, as people deploy
them. Each old one wrote the checkpoint of its base, each new one is a change of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.support.changed_queries import BASES, CONFS, SCHEMA, WIDER, Change

_HEAD = """from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
"""


@dataclass(frozen=True)
class Program:
    """The lines that make ``frame``, and how it is written. ``{root}``: where the input of the base lies."""

    lines: tuple[str, ...]
    mode: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    out: str | None = None
    code: str = "print(batch)"
    once: bool = False
    query_name: str | None = None

    def text(self, root: Path, checkpoint: Path, mode: str, conf: Mapping[str, str], out: str | None) -> str:
        """The whole file."""
        settings = [f"spark.conf.set({key!r}, {value!r})" for key, value in {**conf, **self.conf}.items()]
        target = self.out or out
        how = "once=True" if self.once else "availableNow=True"
        named = f".queryName({self.query_name!r})" if self.query_name else ""
        lines = [
            *settings,
            *(line.replace("{root}", str(root)) for line in self.lines),
            f"writer = frame.writeStream.outputMode({self.mode or mode!r}).trigger({how}){named}",
            f"writer = writer.option('checkpointLocation', {str(checkpoint)!r})",
        ]
        if target is None:
            lines += ["", "", "def write(rows, batch):", f"    {self.code}", "", ""]
            lines.append("query = writer.foreachBatch(write).start()")
        else:
            lines.append(f"query = writer.format('json').start({target.replace('{root}', str(root))!r})")
        return "\n".join([_HEAD, *lines, "query.awaitTermination()", ""])


def files(name: str = "df", at: str = "in", schema: str = SCHEMA, per_batch: int = 10) -> str:
    """A line that reads a directory."""
    return (
        f"{name} = spark.readStream.schema({schema!r})"
        f".option('maxFilesPerTrigger', {per_batch}).json('{{root}}/{at}')"
    )


def rate(name: str, rows: int) -> str:
    """A line that makes rows."""
    return (
        f"{name} = spark.readStream.format('rate-micro-batch').option('rowsPerBatch', {rows})"
        ".option('startTimestamp', 0).load()"
    )


def over(
    frame: str, *, at: str = "in", schema: str = SCHEMA, mode: str | None = None, out: str | None = None
) -> Program:
    """One frame over the files."""
    return Program((files("df", at, schema), f"frame = {frame}"), mode=mode, out=out)


def agg(key: str, *columns: str, where: str = "", mode: str | None = None) -> Program:
    made = ", ".join(f"{column}.alias('a{at}')" for at, column in enumerate(columns))
    kept = f".where({where!r})" if where else ""
    return over(f"df{kept}.groupBy(F.expr({key!r}).alias('key')).agg({made})", mode=mode)


def windows(*window: str, delay: str | None = "10 hours") -> Program:
    marked = f".withWatermark('t', {delay!r})" if delay else ""
    shown = "F.col('window.start').cast('string').alias('w'), F.col('window.end').cast('string').alias('e')"
    return over(
        f"(df{marked}.groupBy(F.window('t', {', '.join(map(repr, window))}), 'k')"
        f".agg(F.count('*').alias('n')).select({shown}, 'k', 'n'))"
    )


def dedup(*columns: str) -> Program:
    return over(f"df.dropDuplicates({list(columns)!r}).select('id', 'k', 'g')")


def join(
    how: str = "inner", minutes: int = 30, more: tuple[str, ...] = (), key: str = "id", r: str = "v"
) -> Program:
    near = (
        f"l.{key} = r.{key} and r.t between l.t - interval {minutes} minutes"
        f" and l.t + interval {minutes} minutes"
    )
    columns = ", ".join(map(repr, ("l.id", f"r.{r}", *more)))
    return Program(
        (
            files("left", "in"),
            files("right", "in2"),
            "left = left.withWatermark('t', '10 hours').alias('l')",
            "right = right.withWatermark('t', '10 hours').alias('r')",
            f"frame = left.join(right, F.expr({near!r}), {how!r}).selectExpr({columns})",
        )
    )


def union(*names: str) -> Program:
    made = [f"of_{name}.selectExpr('id', \"'{name}' as origin\")" for name in names]
    frame = made[0] + "".join(f".union({each})" for each in made[1:])
    return Program((*(files(f"of_{name}", name) for name in names), f"frame = {frame}"))


def rates(*rows: int) -> Program:
    made = [f"r{number}.selectExpr('value', '{number} as origin')" for number in rows]
    frame = made[0] + "".join(f".union({each})" for each in made[1:])
    return Program((*(rate(f"r{number}", number) for number in rows), f"frame = {frame}"))


SUM, COUNT, MAX, MEAN = "F.sum('v')", "F.count('*')", "F.max('v')", "F.avg('v')"
TOTALS = agg("k", SUM, COUNT)
ROWS = over("df.select('id', 'k', 'v')")
OLD: Mapping[str, Program] = {
    "rows": ROWS,
    "to_files": ROWS,
    "totals": TOTALS,
    "totals_rocksdb": TOTALS,
    "one_total": agg("k", SUM),
    "one_total_rocksdb": agg("k", SUM),
    "windows": windows("10 minutes"),
    "windows_rocksdb": windows("10 minutes"),
    "dedup": dedup("id"),
    "dedup_rocksdb": dedup("id"),
    "join": join(),
    "join_rocksdb": join(),
    "union": union("in", "in2"),
    "rates": rates(5, 7),
}
"""The programs of the bases."""

_STATE: Mapping[str, Program] = {
    "sum becomes max": agg("k", MAX, COUNT),
    "two aggregates swapped": agg("k", COUNT, SUM),
    "sum of another expression": agg("k", "F.sum(F.col('v') * 2)", COUNT),
    "another key column of the type": agg("k2", SUM, COUNT),
    "another key expression": agg("if(v > 20, k, 'b')", SUM, COUNT),
    "another column of the type": dedup("g"),
    "longer windows": windows("20 minutes"),
    "sliding windows": windows("10 minutes", "5 minutes"),
    "a filter on the result": over(
        f"df.groupBy(F.col('k').alias('key')).agg({SUM}.alias('a0'), {COUNT}.alias('a1')).where('a0 > 0')"
    ),
    "another name of the result": over(
        f"df.groupBy(F.col('k').alias('name')).agg({SUM}.alias('total'), {COUNT}.alias('n'))"
    ),
    "more shuffle partitions": TOTALS,
    "another provider": TOTALS,
    "changelogs": TOTALS,
    "another checkpoint format": TOTALS,
    "another aggregation state format": TOTALS,
    "a filter before the state": agg("k", SUM, COUNT, where="v % 2 = 0"),
    "a shorter delay": windows("10 minutes", delay="1 minute"),
    "no watermark": windows("10 minutes", delay=None),
    "complete instead of update": agg("k", SUM, COUNT, mode="complete"),
    "left outer instead of inner": join("left_outer"),
    "a longer interval": join(minutes=50),
    "the aggregation removed": ROWS,
    "a deduplication instead": dedup("id"),
    "one aggregate more": agg("k", SUM, COUNT, MAX),
    "a sum becomes a mean": agg("k", MEAN, COUNT),
    "an expression of another type": agg("k", "F.sum(F.col('v').cast('double'))"),
    "one key more": over(f"df.groupBy('k', 'k2').agg({SUM}, {COUNT})"),
    "a key of another type": agg("id", SUM, COUNT),
    "one column more": dedup("id", "k"),
    "keys of another type": join(key="k"),
    "one carried column more": join(more=("l.v as lv",)),
    "another carried column of the type": join(r="g as v"),
    "append without a watermark": agg("k", SUM, COUNT, mode="append"),
}


def _windows_by(key: str, column: str = "t", made: str = "t") -> Program:
    marked = f".withColumn({column!r}, F.expr({made!r})).withWatermark({column!r}, '10 hours')"
    shown = "F.col('window.start').cast('string').alias('w'), F.col('window.end').cast('string').alias('e')"
    return over(
        f"(df{marked}.groupBy(F.window('t', '10 minutes'), {key!r})"
        f".agg(F.count('*').alias('n')).select({shown}, {key!r}, 'n'))"
    )


_MORE: Mapping[str, Program] = {
    "rows: another trigger": replace(ROWS, once=True),
    "rows: another name of the query": replace(ROWS, query_name="renamed"),
    "rows: another name of a column": over("df.selectExpr('id as number', 'k', 'v')"),
    "another trigger": replace(TOTALS, once=True),
    "another type of a column": over("df.selectExpr('string(id) as id', 'k', 'v')"),
    "windows: another key column of the type": _windows_by("k2"),
    "windows_rocksdb: another key column of the type": _windows_by("k2"),
    "the window after the other key": over(
        "(df.withWatermark('t', '10 hours').groupBy('k', F.window('t', '10 minutes'))"
        ".agg(F.count('*').alias('n')).select(F.col('window.start').cast('string').alias('w'),"
        " F.col('window.end').cast('string').alias('e'), 'k', 'n'))"
    ),
    "the watermark on another column": _windows_by("k", "u"),
    "a watermark added": over(
        f"df.withWatermark('t', '1 hour').groupBy(F.col('k').alias('key')).agg({SUM}.alias('a0'), {COUNT}.alias('a1'))"
    ),
    "append instead of update": replace(windows("10 minutes"), mode="append"),
    "dedup: a filter before the state": over(
        "df.where('v % 2 = 0').dropDuplicates(['id']).select('id', 'k', 'g')"
    ),
    "dedup_rocksdb: a filter before the state": over(
        "df.where('v % 2 = 0').dropDuplicates(['id']).select('id', 'k', 'g')"
    ),
    "an aggregation instead": replace(TOTALS, mode="update"),
    "one aggregate more without the check of schemas": agg("k", SUM, COUNT, MAX),
}
_PLAIN: Mapping[str, Program] = {
    "two sources with like offsets swapped": rates(7, 5),
    "a filter": over("df.where('id % 2 = 0').select('id', 'k', 'v')"),
    "a projection": over("df.selectExpr('id', 'v * 2 as v')"),
    "a wider reader schema": over("df.select('id', 'k', 'v')", schema=WIDER),
    "a rate limit": Program((files(per_batch=5), "frame = df.select('id', 'k', 'v')")),
    "an expression": over("df.selectExpr('id', 'k', 'v + 1 as v')"),
    "a wider glob": over("df.select('id', 'k', 'v')", at="i[n]"),
    "more shuffle partitions, no state": ROWS,
    "one source more": union("in", "in2"),
    "one source less": union("in"),
    "two file sources swapped": union("in2", "in"),
    "another kind of source": Program((rate("df", 5), "frame = df")),
    "the directory moved": over("df.select('id', 'k', 'v')", at="moved"),
    "an aggregation added": agg("k", SUM, COUNT, mode="update"),
    "complete without an aggregation": over("df.select('id', 'k', 'v')", mode="complete"),
    "another directory of the file sink": over("df.select('id', 'k', 'v')", out="{root}/other"),
    "a file sink instead": over("df.select('id', 'k', 'v')", out="{root}/other"),
}


def programs(change: Change, root: Path, checkpoint: Path) -> tuple[str, str]:
    """The old and the new program of one change, on a checkpoint of its base."""
    base = BASES[change.base]
    name = change.name.partition(": ")[2]
    found = _MORE.get(change.name) or {**_STATE, **_PLAIN, **_MORE}[name]
    out = "{root}/out" if base.sink == "files" else None
    old = OLD[change.base].text(root, checkpoint, base.mode, base.conf, out)
    conf = {**base.conf, **change.conf, **CONFS.get(change.name, {})}
    return old, found.text(root, checkpoint, change.mode or base.mode, conf, out)
