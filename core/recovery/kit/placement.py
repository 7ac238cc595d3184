"""Whether the rows of the state lie in the partitions where the query looks for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from core.recovery.kit.files import Files
from core.recovery.kit.reading_state import reader_settings, root_cause, session_settings
from core.recovery.kit.run import Run
from core.recovery.kit.session import PARTITIONS_CONF, PROVIDER_CONF
from core.recovery.kit.starting import newest_in, offset_file, state_format_of, stores
from core.recovery.kit.words import Checks, Refused, first_line

ALL_ROWS = "_readAllColumnFamilies"
"""The option of the state reader with which Spark itself repartitions: every row of a store in RocksDB, as
bytes (4.2 and later)."""
ROW = ("column_family_name", "key_bytes", "value_bytes")


class Part(NamedTuple):
    """One store of an operator, as the state reader is asked for it."""

    operator: int
    name: str | None
    store: str

    def __str__(self) -> str:
        return f"operator {self.operator} ({self.name or 'not named'}), {self.store}"

    @property
    def options(self) -> dict[str, str]:
        """Those of the state reader."""
        return {"operatorId": str(self.operator), "storeName": self.store}

    @property
    def is_transform(self) -> bool:
        """Whether the rows cannot be read without the names of its variables, but with ``ALL_ROWS``."""
        return (self.name or "").startswith("transformWithState")


class Placed(NamedTuple):
    """What was found in one store: its rows, how many of them lie in a partition that is not that of their
    key, and how many keys lie in two partitions; or why that is not known."""

    part: Part
    rows: int = 0
    misplaced: int = 0
    twice: int = 0
    why_not: str = ""

    def line(self) -> tuple[bool | None, str]:
        """For the verdict."""
        part = self.part
        if self.why_not:
            return None, f"that the rows of {part} lie where the query looks for them: {self.why_not}"
        if self.twice:
            return False, self.damage()
        if self.misplaced:
            return None, (
                f"{self.misplaced} of {self.rows} rows of {part} lie in a partition that is not that of "
                "their key by Spark's usual rule: partitions may have been exchanged, and then the query "
                "does not find these rows; or it follows another rule"
            )
        return True, self.by_the_rule()

    def by_the_rule(self) -> str:
        """How many rows lie elsewhere, where Spark itself has placed them."""
        return f"{self.misplaced} rows of {self.part} lie in a partition that is not that of their key"

    def damage(self) -> str:
        """What no rule of any engine gives."""
        keys = "1 key lies" if self.twice == 1 else f"{self.twice} keys lie"
        return (
            f"{keys} in two partitions of {self.part}: an older state file of another partition may have "
            "been copied into its place"
        )


def parts_of(operators: Iterable[Mapping[str, Any]]) -> Iterator[Part]:
    """Every store of these operators (id, name and stores of each)."""
    for operator in operators:
        for store in operator["stores"] or ["default"]:
            yield Part(int(operator["id"]), operator["name"], store)


def all_rows(spark: Any, place: str, batch: int, part: Part) -> Any:
    """The rows of a store after a batch with the key by which Spark spreads them. The reader plans one task
    for each partition, in their order, and gives no partition of its own."""
    reader = spark.read.format("statestore").option("batchId", str(batch))
    return reader.option(ALL_ROWS, "true").options(**part.options).load(place)


def compared_rows(was: Any, now: Any, before: int, what: object) -> tuple[bool, str]:
    """Whether two places have the same rows of a store, whatever partition they are in."""
    after, missing = int(now.count()), int(was.select(*ROW).exceptAll(now.select(*ROW)).count())
    text = f"{what} has the same rows: {before} before, {after} after, {missing} lost"
    return before == after and not missing, text


def columns_of_key(key: Any, part: Part) -> str:
    """The columns of a key by whose hash Spark spreads the rows; empty when the operator has no keys. What
    stands behind them in the key was seen on 4.3."""
    behind = {
        "symmetricHashJoin": {"__event_time"},
        "sessionWindowStateStoreSaveExec": {"sessionStartTime"},
        "sessionWindowStateStoreRestoreExec": {"sessionStartTime"},
    }.get(part.name or "", set())
    if part.store.endswith("-keyWithIndexToValue"):
        behind = behind | {"index"}
    fields = list(key.dataType.fields)
    last = fields[-1:] if fields and fields[-1].name in behind else []
    hashed = [field for field in fields if field not in last and field.dataType.typeName() != "void"]
    if len(hashed) == len(fields):
        return f"{key.name}.*" if fields else ""
    return ", ".join(f"{key.name}.`{field.name.replace('`', '``')}`" for field in hashed)


def look_at(frame: Any, part: Part, partitions: int) -> Placed:
    """How the rows of a store are spread, from the state reader. Spark takes the hash of the key modulo the
    number of partitions; an operator without keys looks at partition 0 only."""
    is_whole = "key_bytes" in frame.columns
    columns = columns_of_key(frame.schema["partition_key" if is_whole else "key"], part)
    at = "spark_partition_id()" if is_whole else "partition_id"
    right = f"pmod(hash({columns}), {partitions})" if columns else "0"
    key = ["column_family_name", "key_bytes"] if is_whole else ["key"]
    counted = frame.selectExpr(f"{at} != {right} AS is_wrong")
    rows, misplaced = counted.selectExpr("count(1)", "count_if(is_wrong)").head()
    twice = 0
    if misplaced:  # by the usual rule a key in two partitions has a row in a wrong one; another rule has many
        from pyspark.sql.functions import expr

        by_key = frame.selectExpr(f"{at} AS at", *key).groupBy(*key)
        twice = by_key.agg(expr("max(at) > min(at)").alias("is_twice")).where("is_twice").count()
    return Placed(part, int(rows), int(misplaced), int(twice))


def version_of_spark(spark: Any) -> tuple[int, ...]:
    """The feature version."""
    return tuple(int(part) for part in re.findall(r"[0-9]+", spark.version)[:2])


def placed(run: Run, place: str, batch: int, parts: Iterable[Part], state_format: int) -> list[Placed]:
    """How the rows of these stores are spread after a batch. Never refuses."""
    parts = list(parts)
    try:
        conf = offset_file(run.files, place, batch)[0].get("conf") or {}
    except Exception as error:
        return [Placed(part, why_not=first_line(error)) for part in parts]
    if not str(conf.get(PARTITIONS_CONF, "")).isdigit():
        why_not = f"offsets/{batch} does not have {PARTITIONS_CONF}"
        return [Placed(part, why_not=why_not) for part in parts]
    is_rocksdb = "RocksDB" in str(conf.get(PROVIDER_CONF, ""))
    with session_settings(run.spark, reader_settings(state_format)):
        partitions = int(conf[PARTITIONS_CONF])
        return [placed_part(run.spark, place, batch, part, partitions, is_rocksdb) for part in parts]


def placed_part(spark: Any, place: str, batch: int, part: Part, partitions: int, is_rocksdb: bool) -> Placed:
    """The same for one store: with every row of it, or else with those that the state reader decodes."""
    has_all_rows = is_rocksdb and version_of_spark(spark) >= (4, 2)
    why_not = ""
    if has_all_rows:
        try:
            return look_at(all_rows(spark, place, batch, part), part, partitions)
        except Exception as error:
            why_not = root_cause(error)
    if part.is_transform:
        return Placed(part, why_not=why_not or f"Spark {spark.version} does not read rows of it as they are")
    try:
        reader = spark.read.format("statestore").option("batchId", str(batch)).options(**part.options)
        return look_at(reader.load(place), part, partitions)
    except Exception as error:
        return Placed(part, why_not=why_not or root_cause(error))


def refuse_twice(found: Sequence[Placed], batch: int, instead: str) -> None:
    """Refuses a state in which a key lies in two partitions: one of its rows is old."""
    damaged = [each for each in found if each.twice]
    if damaged:
        raise Refused(f"After batch {batch} {'; '.join(each.damage() for each in damaged)}. {instead}")


def known_parts(run: Run, place: str) -> list[Part]:
    """Every store that the operator metadata of a checkpoint names, else every one that has files."""
    try:
        rows = run.spark.read.format("state-metadata").load(place).collect()
    except Exception:
        rows = []
    found = {Part(int(row["operatorId"]), row["operatorName"], row["stateStoreName"]) for row in rows}
    named = {part.operator for part in found}
    for operator, _, name, _ in stores(run.files, place):
        if int(operator) not in named:
            found.add(Part(int(operator), None, name or "default"))
    return sorted(found, key=lambda part: (part.operator, part.store))


def placed_in(run: Run, place: str) -> list[Placed]:
    """How the rows of every store of a checkpoint are spread after its newest commit; nothing where there is
    no state, or no state reader."""
    files: Files = run.files
    committed = newest_in(files, place, "commits")
    if committed is None or not files.names(f"{place}/state") or version_of_spark(run.spark) < (4, 0):
        return []
    return placed(run, place, committed, known_parts(run, place), state_format_of(files, place))


def check_placed(run: Run, place: str, found: Sequence[Placed] = ()) -> Checks:
    """For the verdict. ``found``: what was seen in a place of which this one is a copy; asked again where a
    store could not be read there."""
    known = found if found and not any(each.why_not for each in found) else placed_in(run, place)
    return [each.line() for each in known]
