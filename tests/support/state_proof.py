"""Rows and counts that are read from state files, against Spark's own state reader: one text for each row, and the
comparison of whole checkpoints, batch by batch, for `scripts/prove-state-rows`."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core.checkpoint import Checkpoint
from core.checkpoint.conf import ROW_CHECKSUM_KEY
from core.checkpoint.families import counted_families, list_families, state_variables
from core.checkpoint.model import OperatorState
from core.checkpoint.state import committed_ids, state_inventory
from core.checkpoint.state_content.counts import PartitionCount, count_keys
from core.checkpoint.state_content.state_rows import RowsAnswer, RowsQuestion, StateRow, read_rows
from core.errors import StagingError
from core.spark import StateQuestion
from core.spark.staging import stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MICROS = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
JOIN = "symmetricHashJoin"
ALL = 1_000_000
_LAYOUT = {
    "ignoreNullFields": "false",
    "timestampFormat": MICROS,
    "timestampNTZFormat": MICROS.removesuffix("XXX"),
    "timeZone": "UTC",
}


def by_spark(spark: SparkSession, root: Path, batch: int, **options: str) -> Counter[str]:
    """Spark's rows, each as one text."""
    return _by_batch(_texts(spark, root, batch, options))[batch]


def _texts(spark: SparkSession, root: Path, batch: int, options: Mapping[str, str]) -> DataFrame:
    """The batch and the JSON of each row."""
    from pyspark.sql import functions as F  # noqa: N812

    frame = spark.read.format("statestore").option("batchId", batch).options(**options).load(str(root))
    number = F.lit(batch).alias("batch")
    if set(frame.columns) != {"partition_id", "key", "value"}:  # lists, maps, timers
        return frame.select(number, F.to_json(F.struct("*"), _LAYOUT).alias("row"))
    if "joinSide" in options:
        # Rows of a join come with one column more than their schema, which to_json trips over (Spark 4.3).
        # In state format 4 the event time in the key is not what the files hold.
        parts = {name: frame.select(f"{name}.*").columns for name in ("key", "value")}
        parts["key"] = [name for name in parts["key"] if name != "__event_time"]
        rebuilt = [F.struct(*(F.col(f"{n}.{c}") for c in columns)).alias(n) for n, columns in parts.items()]
        frame = frame.select("partition_id", *rebuilt)
    return frame.select(number, F.to_json(F.struct("partition_id", "key", "value"), _LAYOUT).alias("row"))


def _by_batch(texts: DataFrame) -> defaultdict[int, Counter[str]]:
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for row in texts.collect():
        read = json.loads(row["row"], parse_float=Decimal, object_pairs_hook=labelled)
        found[row["batch"]][text_of(read)] += 1
    return found


def of_batches(
    spark: SparkSession, places: Mapping[int, Path | str], options: Mapping[str, str]
) -> dict[int, Counter[str] | str]:
    """Spark's rows of each batch, or why its reader failed: all in one job, and one by one where that fails."""
    roots = {batch: place for batch, place in places.items() if isinstance(place, Path)}
    if len(roots) < len(places):
        failed = {batch: place for batch, place in places.items() if isinstance(place, str)}
        return {**failed, **(of_batches(spark, roots, options) if roots else {})}
    try:
        parts = [_texts(spark, root, batch, options) for batch, root in roots.items()]
        found = _by_batch(reduce(type(parts[0]).unionAll, parts))
        return {batch: found[batch] for batch in roots}
    except Exception as error:
        if len(roots) > 1:
            return {
                b: r
                for batch, root in roots.items()
                for b, r in of_batches(spark, {batch: root}, options).items()
            }
        return dict.fromkeys(roots, str(error).strip().splitlines()[0][:200])


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
    answer = read_rows(Checkpoint.open(str(root)), RowsQuestion(batch_id=batch, limit=ALL, **asked))
    assert not answer.not_read
    assert answer.total == len(answer.rows)
    return answer


def plain(row: StateRow) -> dict[str, Any]:
    """What Spark's reader gives of a row."""
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


def of_variable(row: StateRow, kind: str) -> list[dict[str, Any]]:
    """Spark's reader gives an element of a list or a map by itself, and names its parts."""
    common = {"partition_id": row.partition_id}
    if kind == "ListState":
        assert isinstance(row.value, list)
        return [{**common, "key": row.key, "list_element": element} for element in row.value]
    if kind == "MapState":
        key, user_key = row.key["key"], row.key["userKey"]
        return [{**common, "key": key, "user_map_key": user_key, "user_map_value": row.value}]
    return [{**common, "key": row.key, "value": row.value}]


def of_join(row: StateRow) -> list[dict[str, Any]]:
    """The rows of a join of one key and one time, which are stored together, each by itself."""
    values = row.value if isinstance(row.value, list) else [row.value]
    return [{**plain(row), "value": value} for value in values]


def of_timer(row: StateRow) -> dict[str, Any]:
    """A registered timer as Spark's reader gives it."""
    return {
        "partition_id": row.partition_id,
        "key": row.key["key"],
        "expiration_timestamp_ms": row.key["expiryTimestampMs"],
    }


@dataclass(frozen=True)
class View:
    """Some rows of an operator: what asks Spark's reader for them, what asks the files, and the kind of the
    variable that they are (``timers`` for timers, ``several`` where rows may be stored together)."""

    name: str
    options: Mapping[str, str]
    asked: Mapping[str, Any]
    kind: str = ""

    def by_files(self, answer: RowsAnswer) -> Counter[str]:
        """The rows as Spark gives them."""
        if self.kind == "timers":
            return Counter(text_of(of_timer(row)) for row in answer.rows)
        if self.kind == "several":
            return Counter(text_of(part) for row in answer.rows for part in of_join(row))
        return Counter(text_of(part) for row in answer.rows for part in of_variable(row, self.kind))


def views(operator: OperatorState) -> Iterator[View]:
    """Everything that Spark's reader shows of an operator."""
    number = {"operatorId": str(operator.operator_id)}
    asked: dict[str, Any] = {"operator_id": operator.operator_id}
    if operator.name == JOIN:
        for side in ("left", "right"):
            yield View(side, {**number, "joinSide": side}, {**asked, "side": side})
        names = [name for name in operator.column_families if name != "default"]
        for name in names:
            yield View(name, {**number, "storeName": name}, {**asked, "variable": name}, "several")
        for name in () if names else operator.stores:
            yield View(name, {**number, "storeName": name}, {**asked, "store": name})
        return
    variables = state_variables(operator)
    for name, kind in variables.items():
        if kind != "TimerState" and not name.startswith("$"):
            yield View(name, {**number, "stateVarName": name}, {**asked, "variable": name}, kind)
    if any("Timers_" in name for name in operator.column_families):
        timers = {**number, "readRegisteredTimers": "true"}
        yield View("timers", timers, {**asked, "is_timers": True}, "timers")
    if not variables:
        yield View("default", number, asked)


@dataclass
class Comparison:
    """What was compared of one checkpoint or of several. ``stores``: operator, view and partition with rows.
    ``only_files``: times that Spark's reader failed and the files gave all rows; ``neither``: that both failed.
    ``bounds``: partitions for which the files tell two numbers, between which Spark's lies."""

    stores: set[tuple[str, int, str, int]] = field(default_factory=set)
    batches: int = 0
    rows: int = 0
    counts: int = 0
    bounds: int = 0
    only_files: int = 0
    neither: int = 0
    different: list[str] = field(default_factory=list)

    def add(self, other: Comparison) -> None:
        """Takes what another one compared."""
        self.stores |= other.stores
        for name in ("batches", "rows", "counts", "bounds", "only_files", "neither"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.different += other.different


def compare_checkpoint(spark: SparkSession, name: str, root: Path, staged: Path | None = None) -> Comparison:
    """Every row and every count of all operators, after each batch that has a commit. ``staged``: Spark reads
    copies that are made there as the app makes them (state of a Spark before 4.0)."""
    found = Comparison()
    ck = Checkpoint.open(str(root))
    found.batches = len(ck.commit_ids)
    for operator in state_inventory(ck).operators:
        places = {
            batch: root if staged is None else _staged(ck, operator, batch, staged) for batch in ck.commit_ids
        }
        _Operator(spark, name, ck, operator, places, found).compare()
    return found


def _staged(ck: Checkpoint, operator: OperatorState, batch: int, directory: Path) -> Path | str:
    """The copy, or why there is none: files of the batch are purged."""
    try:
        return stage(ck, operator, StateQuestion(batch), directory)
    except StagingError as error:
        return str(error)


@dataclass
class _Operator:
    spark: SparkSession
    name: str
    ck: Checkpoint
    operator: OperatorState
    places: Mapping[int, Path | str]
    found: Comparison

    def compare(self) -> None:
        by_view: dict[int, dict[str, Counter[str]]] = {batch: {} for batch in self.places}
        for view in views(self.operator):
            for batch, theirs in of_batches(self.spark, self.places, view.options).items():
                question = RowsQuestion(batch_id=batch, limit=ALL, **view.asked)
                answer = read_rows(Checkpoint.open(self.ck.location.path), question)
                if isinstance(theirs, str):
                    if answer.not_read:
                        self.found.neither += 1
                    else:
                        self.found.only_files += 1
                        print(f"  {self._where(batch, view.name)}: only the files; {theirs}", flush=True)
                elif answer.not_read:
                    self._differs(batch, view.name, f"not read here: {answer.not_read[0].reason}")
                else:
                    by_view[batch][view.name] = theirs
                    self._compare_rows(batch, view, answer, theirs)
        families = self._families([batch for batch, read in by_view.items() if read])
        for batch, read in by_view.items():
            for is_replayed in (False, True):
                self._compare_counts(batch, is_replayed, read, families)

    def _compare_rows(self, batch: int, view: View, answer: RowsAnswer, theirs: Counter[str]) -> None:
        self.found.rows += theirs.total()
        if answer.total != len(answer.rows):
            self._differs(batch, view.name, f"{answer.total} rows counted, {len(answer.rows)} given")
        for text in theirs:
            place = int(json.loads(text)["partition_id"])
            self.found.stores.add((self.name, self.operator.operator_id, view.name, place))
        ours = view.by_files(answer)
        if ours != theirs:
            missing, surplus = theirs - ours, ours - theirs
            self._differs(
                batch,
                view.name,
                f"{missing.total()} rows of Spark's are missing, {surplus.total()} are surplus:"
                f" {next(iter(missing), None)} / {next(iter(surplus), None)}",
            )

    def _compare_counts(
        self,
        batch: int,
        is_replayed: bool,
        by_view: Mapping[str, Counter[str]],
        families: Mapping[int, Mapping[int, _Counts]],
    ) -> None:
        counted = count_keys(
            self.ck.door,
            self.operator,
            batch + 1,
            committed_ids(self.ck),
            replay=is_replayed,
            has_row_checksums=self.ck.conf.get(ROW_CHECKSUM_KEY) == "true",
        )
        if batch in families:
            for part in counted["default"]:
                theirs = families[batch].get(part.partition_id, _Counts(0, 0))
                self._compare_number(batch, "default", part, theirs.keys)
                if part.elements is not None:
                    self.found.counts += 1
                    if part.elements != theirs.elements:
                        message = f"{part.elements} elements, Spark has {theirs.elements}"
                        self._differs(batch, f"partition {part.partition_id}", message)
            return
        for store, parts in counted.items():
            if store in by_view:
                rows = Counter(int(json.loads(text)["partition_id"]) for text in by_view[store].elements())
                for part in parts:
                    self._compare_number(batch, store, part, rows[part.partition_id])

    def _families(self, batches: list[int]) -> dict[int, dict[int, _Counts]]:
        """By batch and partition what Spark counts of the column families of a user: keys, where a list counts
        once, and the elements of the lists. Nothing for a store without families."""
        from pyspark.sql import functions as F  # noqa: N812

        own, lists = counted_families(self.operator), list_families(self.operator)
        if not own or not batches:
            return {}
        options = {"operatorId": str(self.operator.operator_id), "_readAllColumnFamilies": "true"}
        parts = []
        for batch in batches:
            reader = self.spark.read.format("statestore").option("batchId", batch).options(**options)
            # One task for each partition, in their order.
            place = F.spark_partition_id().alias("place")
            frame = reader.load(str(self.places[batch]))
            columns = (F.lit(batch).alias("batch"), place, "column_family_name", "key_bytes")
            parts.append(frame.select(*columns).coalesce(1))
        found: dict[int, dict[int, _Counts]] = {batch: {} for batch in batches}
        keys: defaultdict[tuple[int, int, str], Counter[bytes]] = defaultdict(Counter)
        for row in reduce(type(parts[0]).unionAll, parts).collect():
            keys[row["batch"], row["place"], row["column_family_name"]][bytes(row["key_bytes"])] += 1
        for (batch, partition, family), of_family in keys.items():
            counts = found[batch].get(partition, _Counts(0, 0))
            found[batch][partition] = _Counts(
                counts.keys + (len(of_family) if family in own else 0),
                counts.elements + (of_family.total() if family in lists else 0),
            )
        return found

    def _compare_number(self, batch: int, store: str, part: PartitionCount, theirs: int) -> None:
        count = part.count
        if count.keys is not None:
            self.found.counts += 1
        elif count.at_least is not None or count.at_most is not None:
            self.found.bounds += 1
        fewest = count.at_least if count.at_least is not None else 0
        most = count.at_most if count.at_most is not None else theirs
        if not fewest <= theirs <= most:
            self._differs(batch, f"{store}, partition {part.partition_id}", f"{count}, Spark has {theirs}")

    def _where(self, batch: int, view: str) -> str:
        return f"{self.name}, batch {batch}, operator {self.operator.operator_id}, {view}"

    def _differs(self, batch: int, view: str, what: str) -> None:
        self.found.different.append(f"{self._where(batch, view)}: {what}")
        print(f"  DIFFERENT {self.found.different[-1]}", flush=True)


class _Counts(NamedTuple):
    keys: int
    elements: int
