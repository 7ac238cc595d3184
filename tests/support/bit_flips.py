"""One flipped bit in a state file that the next start needs: what the deep check says, and what real Spark
does.

Spark's answer is the rows that the restarted query hands out, compared with a restart of the undamaged
checkpoint: an aggregation in complete mode hands out every row of its state, so that no changed value stays
unseen. Which files a start needs is worked out from the names here, not by the code that is tested.
"""

from __future__ import annotations

import json
import random
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]

from core.checkpoint import Checkpoint
from core.judgement import judge
from tests.support.copies import copy_of
from tests.support.oracle import CHANGELOG, FORMAT_2, ROCKSDB, delivered, ids, join, source, write_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Truth = Literal["fails", "other rows", "same rows"]
Said = Literal["blocks", "data risk", "cannot tell", "nothing"]

FILES = 5  # batches of the first run; one more file waits for the restart
KEYS = 300
SNAPSHOTS = {
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    "spark.sql.streaming.stateStore.maintenanceInterval": "50ms",
}


# Every plan here runs once: nothing is compiled for it.
CHEAP = {
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def codec(name: str) -> dict[str, str]:
    """The codec of deltas, snapshots and changelogs."""
    return {"spark.sql.streaming.stateStore.compression.codec": name}


@dataclass(frozen=True)
class Store:
    """How the state of a base is kept. ``has_snapshots``: the maintenance thread writes them."""

    name: str
    conf: Mapping[str, str]
    has_snapshots: bool = False
    is_join: bool = False

    @property
    def is_guarded(self) -> bool:
        """Whether every file carries a checksum of its content. Without one, Spark can take a flipped bit for a
        length of gigabytes, and the JVM ends (seen with snappy)."""
        return not self.name.endswith(("-zstd", "-snappy")) and self.name != "format-2-zip"


STORES = (
    Store("delta-lz4", {}),
    Store("delta-zstd", codec("zstd")),
    Store("delta-snappy", codec("snappy")),
    Store("snapshot-lz4", SNAPSHOTS, has_snapshots=True),
    Store("snapshot-zstd", {**SNAPSHOTS, **codec("zstd")}, has_snapshots=True),
    Store("rocksdb", ROCKSDB),
    Store("changelog-lz4", CHANGELOG),
    Store("changelog-zstd", {**CHANGELOG, **codec("zstd")}),
    Store("changelog-snappy", {**CHANGELOG, **codec("snappy")}),
    Store("changelog-zip", {**CHANGELOG, **SNAPSHOTS}, has_snapshots=True),
    Store("format-2-lz4", FORMAT_2),
    Store("format-2-zip", {**FORMAT_2, **SNAPSHOTS, **codec("zstd")}, has_snapshots=True),
    Store("join-rocksdb", ROCKSDB, is_join=True),
    Store("join-delta", {}, is_join=True),
)


@dataclass(frozen=True)
class Flip:
    """One bit of one file; ``with_checksum`` is False where the hidden ``.crc`` beside it is removed, as on an
    object store."""

    store: str
    path: str
    byte: int
    bit: int
    with_checksum: bool

    def apply(self, checkpoint: Path) -> None:
        """Flips the bit."""
        path = checkpoint / self.path
        data = bytearray(path.read_bytes())
        data[self.byte] ^= 1 << self.bit
        path.write_bytes(data)
        if not self.with_checksum:
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


@dataclass(frozen=True)
class Result:
    """What the deep check said to one flip, and what Spark did."""

    flip: Flip
    said: Said
    truth: Truth
    detail: str

    @property
    def is_missed(self) -> bool:
        """Spark fails or hands out other rows, and the check does not say so. Where nothing beside the file
        tells, saying that nothing can tell is the answer."""
        if self.truth == "same rows":
            return False
        return self.said == "nothing" or (self.said == "cannot tell" and self.flip.with_checksum)

    @property
    def is_false_alarm(self) -> bool:
        """Said to block a start that Spark makes."""
        return self.said == "blocks" and self.truth != "fails"

    def __str__(self) -> str:
        beside = "with .crc" if self.flip.with_checksum else "no .crc"
        verdict = "MISSED" if self.is_missed else "FALSE ALARM" if self.is_false_alarm else "ok"
        where = f"{self.flip.store} {self.flip.path} byte {self.flip.byte} bit {self.flip.bit} {beside}"
        return f"{verdict:11} said {self.said:11} was {self.truth:10} {where}: {self.detail}"


def said_of(checkpoint: Path, spark: str | None = None) -> Said:
    """The judgement at the level deep in one word: forecast and findings together."""
    found = judge(Checkpoint.open(str(checkpoint)), level="deep", spark=spark)
    severities = {item.severity for item in found.findings.findings}
    if found.forecast.outcome == "fail" or "blocks_restart" in severities:
        return "blocks"
    if found.forecast.is_data_risk or "data_risk" in severities:
        return "data risk"
    tells_not = any(getattr(text, "key", "") == NO_CHECKSUM for text in found.findings.not_checked)
    return "cannot tell" if tells_not else "nothing"


NO_CHECKSUM = "findings_checks.unchecked_values"


def needed_files(checkpoint: Path) -> list[str]:
    """The state files that the next start reads, by their names: in each store the newest full file, what it
    names, and the changes after it."""
    version = ids(checkpoint / "offsets")[-1] + 1
    found: list[str] = []
    for directory in sorted(_stores(checkpoint / "state")):
        files = {
            (int(path.name.partition(".")[0].partition("_")[0]), path.suffix[1:]): path
            for path in directory.iterdir()
            if path.is_file() and path.name[0].isdecimal() and path.suffix != ".crc"
        }
        full = max((v for v, kind in files if kind in ("snapshot", "zip") and v <= version), default=0)
        needed = [path for (v, kind), path in files.items() if v == full and kind in ("snapshot", "zip")]
        needed += [path for (v, kind), path in files.items() if v > full and kind in ("delta", "changelog")]
        needed += [file for path in needed if path.suffix == ".zip" for file in _named(path)]
        found += [str(path.relative_to(checkpoint)) for path in sorted(needed)]
    return found


def _stores(state: Path) -> Iterator[Path]:
    for partition in state.glob("*/[0-9]*"):
        inner = [path for path in partition.iterdir() if path.is_dir() and "-key" in path.name]
        yield from inner or [partition]


def _named(path: Path) -> list[Path]:
    text = zipfile.ZipFile(path).read("metadata").decode()
    return [
        path.parent / "SSTs" / item["dfsSstFileName"]
        for item in json.loads(text.split("\n", 1)[1]).get("sstFiles", ())
    ]


def flips_of(store: str, checkpoint: Path, count: int, seed: int) -> list[Flip]:
    """Random bits, the same for the same seed and the same file sizes; every kind of file in turn, every
    second one without its hidden checksum."""
    chance = random.Random(f"{store} {seed}")
    by_kind: dict[str, list[str]] = {}
    for path in needed_files(checkpoint):
        by_kind.setdefault(Path(path).suffix, []).append(path)
    kinds = sorted(by_kind)
    found = []
    for i in range(count):
        path = chance.choice(by_kind[kinds[i // 2 % len(kinds)]])
        byte = chance.randrange((checkpoint / path).stat().st_size)
        found.append(Flip(store, path, byte, chance.randrange(8), with_checksum=i % 2 == 0))
    return found


class Flipping:
    """Makes the bases, flips bits in copies of them, asks and restarts. ``restart``: makes a new session where a
    start has ended the JVM; without it that is an error."""

    def __init__(
        self, session: SparkSession, scratch: Path, restart: Callable[[], SparkSession] | None = None
    ) -> None:
        self._session = session
        self._restart = restart
        self._scratch = scratch
        self._count = 0
        self._undamaged: dict[str, Counter[str]] = {}

    @property
    def session(self) -> SparkSession:
        """The session that is used now."""
        return self._session

    def base(self, store: Store) -> Path:
        """The checkpoint of a query that stopped cleanly, with one input file waiting."""
        root = self._scratch / store.name
        if store.name in self._undamaged:
            return root / "ck"
        for number in range(FILES):
            self._write(store, root, number)
        if store.has_snapshots:
            self._stop_maintenance()
        self._start(store, root, root / "ck")
        if store.has_snapshots:
            self._stop_maintenance()
        self._write(store, root, FILES)
        rows = self._start(store, root, self._copy(root / "ck"))
        assert isinstance(rows, Counter), rows
        assert rows
        self._undamaged[store.name] = rows
        return root / "ck"

    def results(self, store: Store, count: int, seed: int, spark: str | None = None) -> Iterator[Result]:
        """What was said to each flip, and what Spark did then."""
        base = self.base(store)
        for flip in flips_of(store.name, base, count, seed):
            copy = self._copy(base)
            flip.apply(copy)
            said = said_of(copy, spark)
            rows = self._started(store, base.parent, copy)
            truth: Truth = "fails"
            detail = rows if isinstance(rows, str) else ""
            if isinstance(rows, Counter):
                expected = self._undamaged[store.name]
                truth = "same rows" if rows == expected else "other rows"
                gone, new = (expected - rows).total(), (rows - expected).total()
                detail = f"{gone} of {expected.total()} rows gone, {new} others"
            shutil.rmtree(copy.parent)
            yield Result(flip, said, truth, detail)

    def _started(self, store: Store, root: Path, checkpoint: Path) -> Counter[str] | str:
        """The rows, or what Spark failed with; also where it took the JVM with it."""
        try:
            return self._start(store, root, checkpoint)
        except (ConnectionError, EOFError, Py4JNetworkError):
            if self._restart is None:
                raise
            self._session = self._restart()
            return "the JVM ended"

    def _copy(self, checkpoint: Path) -> Path:
        self._count += 1
        target = self._scratch / "copies" / str(self._count) / "ck"
        return copy_of(checkpoint, target)

    def _write(self, store: Store, root: Path, number: int) -> None:
        if store.is_join:
            for directory in ("in", "in2"):
                write_file(root / directory, number)
            return
        (root / "in").mkdir(parents=True, exist_ok=True)
        # The file that waits touches every key, the others every third.
        rows = [
            {"k": f"key-{i:04d}", "id": i, "t": "2026-01-01T00:00:00", "v": i * 7 + number}
            for i in range(KEYS)
            if number == FILES or i % 3 == number % 3
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (root / "in" / f"{number:04d}.json").write_text(text, encoding="utf-8")

    def _start(self, store: Store, root: Path, checkpoint: Path) -> Counter[str] | str:
        """The rows that the sink got, or what Spark failed with."""
        session = self._session.newSession()
        for key, value in {**CHEAP, **store.conf}.items():
            session.conf.set(key, value)
        self._count += 1
        output = self._scratch / "out" / str(self._count)
        name = f"flips_{self._count}"
        frame = join(session, root) if store.is_join else totals(session, root)
        writer = frame.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        writer = (
            writer.format("json").option("path", str(output))
            if store.is_join
            else writer.format("memory").queryName(name).outputMode("complete")
        )
        query = writer.start()
        try:
            query.awaitTermination()
        except Exception:
            error = query._jsq.exception().get().cause()
            while error.getCause() is not None:
                error = error.getCause()
            return f"{error.getClass().getSimpleName()}: {(error.getMessage() or '')[:120]}"
        if store.is_join:
            return Counter(row for rows in delivered(output).values() for row in rows)
        found = Counter(str(tuple(row)) for row in session.table(name).collect())
        session.catalog.dropTempView(name)
        return found

    def _stop_maintenance(self) -> None:
        """Ends the maintenance thread of the state stores: its interval is that of the first stateful query
        after it."""
        jvm = self._session._jvm
        assert jvm is not None
        jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()


def totals(spark: SparkSession, root: Path) -> DataFrame:
    """Counts and sums per key; in complete mode every row of the state is handed out in each batch."""
    from pyspark.sql import functions as F  # noqa: N812

    frame = source(spark, root / "in").groupBy("k")
    return frame.agg(F.count("*").alias("n"), F.sum(F.col("v") / 3).alias("s"), F.max("v").alias("m"))


def table(results: Sequence[Result]) -> str:
    """How many flips of each truth were said to be what."""
    counts = Counter((result.truth, result.said) for result in results)
    lines = [f"{truth:10} {said:11} {count:4}" for (truth, said), count in sorted(counts.items())]
    missed = sum(result.is_missed for result in results)
    alarms = sum(result.is_false_alarm for result in results)
    return "\n".join([*lines, f"{len(results)} flips, {missed} missed, {alarms} false alarms"])
