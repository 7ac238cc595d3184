"""The cells of the recovery proof: which query, sink, state store and option, and what is broken for it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from core.recovery import OptionId
from tests.support.oracle import CHANGELOG, FORMAT_2, ROCKSDB

Operator = Literal[
    "stateless",
    "dedup",
    "dedup within watermark",
    "windows",
    "session",
    "join",
    "transformWithState",
    "dedup, windows",
    "join, windows",
]
SinkName = Literal["append", "keyed", "file", "file by p", "delta", "delta by p"]
Store = Literal["HDFS", "RocksDB", "changelog", "format 2"]
Asked = OptionId | Literal["recommended"]

OPERATORS: tuple[Operator, ...] = (
    "stateless",
    "dedup",
    "dedup within watermark",
    "windows",
    "session",
    "join",
    "transformWithState",
    "dedup, windows",
    "join, windows",
)
CHAINED: tuple[Operator, ...] = ("dedup, windows", "join, windows")
"""Two stateful operators, one after the other."""
SINKS: tuple[SinkName, ...] = ("append", "keyed", "file", "file by p", "delta", "delta by p")
STORES: Mapping[Store, Mapping[str, str]] = {
    "HDFS": {},
    "RocksDB": ROCKSDB,
    "changelog": CHANGELOG,
    "format 2": FORMAT_2,
}
ASKED: tuple[Asked, ...] = (
    "recommended",
    "restart",
    "repair_files",
    "rewind",
    "drop_state",
    "restore_backup",
    "skip_batch",
    "repartition",
    "reset",
    "full_refresh",
    "backup_and_backfill",
)
"""A backup is made by its own script before each restore_backup."""

SCHEMA = "id long, key long, at timestamp"

# Every query hands out the columns id, n and p, so that every sink can be partitioned by p.
PLAIN = '    return df.selectExpr("id", "key as n", "id % 3 as p")\n'
QUERIES: Mapping[Operator, str] = {
    "stateless": f"def transform(df):\n{PLAIN}",
    "dedup": f'def transform(df):\n    df = df.dropDuplicates(["id"])\n{PLAIN}',
    "dedup within watermark": (
        'def transform(df):\n    df = df.withWatermark("at", "30 seconds").dropDuplicatesWithinWatermark(["id"])\n'
        f"{PLAIN}"
    ),
    "windows": """def transform(df):
    df = df.withWatermark("at", "30 seconds").groupBy(F.window("at", "1 minute"), F.expr("key % 3 as p"))
    df = df.agg(F.sum("id").alias("n"))
    return df.select((F.col("window.start").cast("long") + F.col("p")).alias("id"), "n", "p")
""",
    "session": """def transform(df):
    df = df.withWatermark("at", "30 seconds").groupBy(F.session_window("at", "4 seconds"), F.expr("key % 3 as p"))
    df = df.agg(F.sum("id").alias("n"))
    return df.select((F.col("session_window.start").cast("long") * 10 + F.col("p")).alias("id"), "n", "p")
""",
    "join": """def transform(sources):
    left = sources["0"].withWatermark("at", "1 minute").alias("l")
    right = sources["1"].withWatermark("at", "1 minute").alias("r")
    near = F.expr("l.id = r.id and r.at between l.at and l.at + interval 90 seconds")
    return left.join(right, near).selectExpr("l.id as id", "r.key as n", "l.id % 3 as p")
""",
    "transformWithState": """from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

class Seen(StatefulProcessor):
    def init(self, handle):
        self.seen = handle.getValueState("seen", "n long")

    def handleInputRows(self, key, rows, timerValues):
        total = (self.seen.get() or (0,))[0] + sum(1 for _ in rows)
        self.seen.update((total,))
        return iter([Row(id=key[0], n=total, p=key[0] % 3)])

    def close(self):
        pass

def transform(df):
    return df.groupBy("key").transformWithState(Seen(), "id long, n long, p long", MODE, "None")
""",
    "dedup, windows": """def transform(df):
    df = df.withWatermark("at", "30 seconds").dropDuplicates(["id"])
    df = df.groupBy(F.window("at", "1 minute"), F.expr("key % 3 as p")).agg(F.sum("id").alias("n"))
    return df.select((F.col("window.start").cast("long") + F.col("p")).alias("id"), "n", "p")
""",
    "join, windows": """def transform(sources):
    left = sources["0"].withWatermark("at", "1 minute").alias("l")
    right = sources["1"].withWatermark("at", "1 minute").alias("r")
    near = F.expr("l.id = r.id and r.at between l.at and l.at + interval 90 seconds")
    df = left.join(right, near).selectExpr("l.at as at", "l.id as id", "r.key as key")
    df = df.groupBy(F.window("at", "1 minute"), F.expr("key % 3 as p")).agg(F.sum("id").alias("n"))
    return df.select((F.col("window.start").cast("long") + F.col("p")).alias("id"), "n", "p")
""",
}
WITHOUT_STATE: Mapping[bool, str] = {
    False: f"def transform(df):\n{PLAIN}",
    True: f'def transform(sources):\n    df = sources["0"].union(sources["1"])\n{PLAIN}',
}
"""The query after its stateful operators were removed; with two sources for the join."""
POISON = 35  # a row of the fourth file
POISONED = f"""def transform(df):
    def checked(number):
        if number == {POISON}:
            raise ValueError("a poisoned row")
        return number
    df = df.withColumn("id", F.udf(checked, "long", useArrow=False)("id"))
{PLAIN}"""

HEAD = "from pyspark.sql import functions as F\n"
APPEND = """
def write_batch(df, batch_id):
    df.write.mode("append").parquet(TARGET)
"""
KEYED = """
def write_batch(df, batch_id):
    import json, os
    os.makedirs(TARGET, exist_ok=True)
    path = os.path.join(TARGET, "rows.json")
    kept = {}
    if os.path.exists(path):
        with open(path) as file:
            kept = {row["id"]: row for row in map(json.loads, file)}
    kept.update({row["id"]: row.asDict() for row in df.collect()})
    with open(os.path.join(TARGET, "_next"), "w") as file:
        file.writelines(json.dumps(row) + "\\n" for row in kept.values())
    os.replace(os.path.join(TARGET, "_next"), path)
"""

Broken = Literal[
    "commit is gone",
    "state is gone",
    "planned offsets are empty",
    "commit is empty",
    "older offsets are gone",
    "metadata is gone",
    "operators were removed",
    "a row always fails",
    "an input file is gone",
    "backup",
    "nothing",
]
OF_FILES: tuple[Broken, ...] = (
    "planned offsets are empty",
    "commit is empty",
    "older offsets are gone",
    "metadata is gone",
)


@dataclass(frozen=True)
class Cell:
    """One cell: the option that is tried (or the one that comes first), on what."""

    asked: Asked
    operator: Operator
    sink: SinkName
    store: Store

    @property
    def id(self) -> str:
        """Readable and unique."""
        return f"{self.asked} | {self.operator} | {self.sink} | {self.store}"

    @property
    def is_delta(self) -> bool:
        """Whether it needs the Spark that has Delta."""
        return self.sink.startswith("delta")

    @property
    def is_of_two(self) -> bool:
        """Whether it reads two sources."""
        return self.operator.startswith("join")

    @property
    def mode(self) -> str:
        """The output mode."""
        updates = self.sink == "keyed" and self.operator in ("windows", "transformWithState")
        return "update" if updates else "append"

    def random(self, seed: int) -> random.Random:
        """Chance of its own: the same for the same seed, whichever cells run."""
        return random.Random(f"{seed} {self.id}")

    def broken(self, seed: int) -> Broken:
        """What happens to the checkpoint."""
        has_state = self.operator != "stateless"
        if self.asked in ("restart",):
            return "commit is gone"
        if self.asked == "repair_files":
            return self.random(seed).choice(OF_FILES)
        if self.asked == "drop_state":
            return "operators were removed"
        if self.asked == "skip_batch":
            return "a row always fails"
        if self.asked == "restore_backup":
            return "backup"
        if self.asked == "backup_and_backfill":
            return "an input file is gone"
        if self.asked == "repartition":
            return "nothing"
        if self.asked == "recommended":
            some: list[Broken] = ["commit is gone", *OF_FILES]
            lost: list[Broken] = ["state is gone"] * 3 if has_state else []
            return self.random(seed).choice([*some, *lost])
        return "state is gone" if has_state else "commit is gone"

    def query(self, kind: Literal["first", "later"] = "first") -> str:
        """The text of the query file, without its target; ``later``: after the change that breaks it."""
        text = QUERIES[self.operator]
        if self.asked == "skip_batch":
            text = POISONED
        if self.asked == "drop_state" and kind == "later":
            text = WITHOUT_STATE[self.is_of_two]
        write = {"append": APPEND, "keyed": KEYED}.get(self.sink, "")
        return f"MODE = {self.mode.capitalize()!r}\n{HEAD}{text}{write}"


def cells() -> list[Cell]:
    """Every cell that can be."""
    return [
        Cell(asked, operator, sink, store)
        for asked in ASKED
        for operator in OPERATORS
        for sink in SINKS
        for store in STORES
        if can_be(asked, operator, sink, store)
    ]


def can_be(asked: Asked, operator: Operator, sink: SinkName, store: Store) -> bool:
    """Whether there is such a cell."""
    if asked == "repartition" and (store == "HDFS" or sink.startswith("file")):
        return False  # Spark cannot, or leaves a sink that nobody can read
    if operator == "stateless":
        return store == "HDFS" and asked not in ("drop_state", "repartition")
    if operator == "transformWithState":  # Spark keeps it in RocksDB only; Delta's environment lacks pyarrow
        if sink.startswith("delta"):
            return False
        return store != "HDFS" and asked != "skip_batch"
    if operator in CHAINED and (sink not in ("append", "delta by p") or store == "RocksDB"):
        return False  # enough to see what a second operator changes
    return asked != "skip_batch"
