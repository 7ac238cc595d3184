"""Query files for rehearsals, and the rows that Spark really writes to hold them against."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.support.changed_queries import SCHEMA, SILENT, Change, Changes

HEAD = "from pyspark.sql import functions as F\n\n\n"


def single(body: str) -> str:
    """A query file with one source."""
    return f"{HEAD}def transform(df):\n    return {body}\n"


def several(body: str) -> str:
    """A query file with several sources."""
    return f"{HEAD}def transform(sources):\n    return {body}\n"


def _totals(first: str, second: str, key: str = "k") -> str:
    key = f"F.expr({key!r}).alias('key')"
    return single(f"df.groupBy({key}).agg(F.{first}.alias('a0'), F.{second}.alias('a1'))")


def _windows(*window: str) -> str:
    shown = "F.col('window.start').cast('string').alias('w'), F.col('window.end').cast('string').alias('e')"
    made = f"F.window('t', {', '.join(map(repr, window))})"
    counted = f"df.withWatermark('t', '10 hours').groupBy({made}, 'k').agg(F.count('*').alias('n'))"
    return single(f"{counted}.select({shown}, 'k', 'n')")


def _rates(first: str, second: str) -> str:
    rows = {"0": 5, "1": 7}
    parts = [f"sources[{k!r}].selectExpr('value', '{rows[k]} as origin')" for k in (first, second)]
    return several(f"{parts[0]}.union({parts[1]})")


TOTALS = _totals("sum('v')", "count('*')")
ROWS = single("df.select('id', 'k', 'v')")
OLD: Mapping[str, str] = {
    "totals": TOTALS,
    "dedup": single("df.dropDuplicates(['id']).select('id', 'k', 'g')"),
    "windows": _windows("10 minutes"),
    "rates": _rates("0", "1"),
}
"""The queries of the bases, as files."""

NEW: Mapping[str, str] = {
    "totals: sum becomes max": _totals("max('v')", "count('*')"),
    "totals: two aggregates swapped": _totals("count('*')", "sum('v')"),
    "totals: sum of another expression": _totals("sum(F.col('v') * 2)", "count('*')"),
    "totals: another key column of the type": _totals("sum('v')", "count('*')", "k2"),
    "totals: another key expression": _totals("sum('v')", "count('*')", "if(v > 20, k, 'b')"),
    "dedup: another column of the type": single("df.dropDuplicates(['g']).select('id', 'k', 'g')"),
    "windows: longer windows": _windows("20 minutes"),
    "windows: sliding windows": _windows("10 minutes", "5 minutes"),
    "rates: two sources with like offsets swapped": _rates("1", "0"),
}
"""The nine silent changes, as files."""

ANSWERS: Mapping[str, tuple[str, ...]] = {
    "rates": (
        "source.0.format=rate-micro-batch",
        "source.0.option.rowsPerBatch=5",
        "source.0.option.startTimestamp=0",
        "source.1.format=rate-micro-batch",
        "source.1.option.rowsPerBatch=7",
        "source.1.option.startTimestamp=0",
    ),
}
FILES = (f"source.0.schema={SCHEMA}", "source.0.option.maxFilesPerTrigger=10")


def answers_of(base: str) -> list[str]:
    """What a checkpoint does not tell, as options of the command line."""
    return [part for answer in ANSWERS.get(base, FILES) for part in ("--set", answer)]


def silent(name: str) -> Change:
    """One of the nine."""
    return next(change for change in SILENT if change.name == name)


def really_written(changes: Changes, change: Change) -> tuple[Counter[str], Counter[str]]:
    """The rows that Spark writes when the old and the new query are started on plain copies."""
    found = []
    for query in (replace(change, build=None), change):
        error, rows = changes.restarted(query)
        assert error is None, error
        found.append(Counter(canonical(json.loads(row)) for row in rows))
    return found[0], found[1]


def canonical(row: Mapping[str, object]) -> str:
    """A row as text, without what is null."""
    return json.dumps({name: row[name] for name in sorted(row) if row[name] is not None})


def tree(root: Path) -> dict[str, tuple[str, int, int]]:
    """Content, size and time of all files below a directory."""
    return {
        str(path.relative_to(root)): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_size,
            path.stat().st_mtime_ns,
        )
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
