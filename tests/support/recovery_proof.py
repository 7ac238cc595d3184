"""One cell of the recovery proof: a query is run and really broken, the script of an option is run as it is
handed out, the query continues with new data, and its rows are compared with those of an undisturbed run.

Every query reads one file of JSON per batch. Six files: four before the damage, one that waits for the
recovery, and two after it. Each file has ten rows of its own and two that repeat rows of the file before.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from core.checkpoint import Checkpoint
from core.connectors import ConnectorSettings
from core.connectors.connect import ask_connectors
from core.judgement import judge
from core.messages import say
from core.recovery import Answers, Option, OptionId, RecoveryContext, generate, options
from core.recovery.places import new_checkpoint, new_output
from core.storage import parse_location
from tests.support import damage
from tests.support.delta import RUN_SCRIPT, DeltaError
from tests.support.kit_parts import kit_of
from tests.support.recovery import Outcome, directory_times, fingerprint
from tests.support.recovery_cells import CHAINED, POISON, SCHEMA, STORES, Cell, SinkName, Store
from tests.support.script_processes import Scripts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = tuple[object, ...]
Rows = Counter[Row]
Word = Literal["exact", "as stated", "refused", "not offered", "not made", "WRONG"]
WORDS: tuple[Word, ...] = ("exact", "as stated", "refused", "WRONG")
FIRST, WAITING, AFTER = range(4), range(4, 5), range(5, 7)

DELTA_CONFS: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
}

# Compiling each of many tiny queries costs more than it saves.
TINY_QUERIES: Mapping[str, str] = {
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}

# The texts below run in the session of this process, or in the one that has Delta.
SESSION = f"""
spark = spark.newSession()
for name, value in {{**{dict(TINY_QUERIES)!r}, **args["confs"]}}.items():
    spark.conf.set(name, value)
"""
RUN = """
names = {"__name__": "proof_query"}
with open(args["query"]) as file:
    exec(file.read(), names)
frames = {}
for key, path in args["sources"].items():
    reader = spark.readStream.format("json").schema(args["schema"])
    reader = reader.option("maxFilesPerTrigger", args["files"])
    frames[key] = reader.load(path)
frame = names["transform"](next(iter(frames.values())) if len(frames) == 1 else frames)
writer = frame.writeStream.outputMode(args["mode"]).option("checkpointLocation", args["checkpoint"])
if "write_batch" in names:
    writer = writer.foreachBatch(names["write_batch"])
else:
    writer = writer.format(args["format"]).option("path", args["output"])
    if args["partition_by"]:
        writer = writer.partitionBy(args["partition_by"])
try:
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    result = None
except Exception as error:
    result = str(error)[:2000]
"""
READ = """
import os
result = []
for place in args["places"]:
    if any(not name.startswith((".", "_")) for name in (os.listdir(place) if os.path.isdir(place) else [])):
        reader = spark.read.format(args["format"])
        if args["format"] == "json":
            reader = reader.schema("id long, n long, p long")
        frame = reader.load(place).selectExpr("cast(id as long)", "cast(n as long)", "cast(p as long)")
        result += [list(row) for row in frame.collect()]
"""
REHEARSE = RUN_SCRIPT.replace('module.carry_out(run, args["execute"], True)', 'module.rehearse(run, "")')
assert REHEARSE != RUN_SCRIPT
# The same, cut off in the middle: nothing of the script runs after so many calls that write.
CUT_OFF = (
    """
class CutOff(BaseException):
    pass

def cut_off(module):
    left = [args["kill_after"]]
    def counted(call):
        def counting(*given, **named):
            left[0] -= 1
            if left[0] < 0:
                raise CutOff
            return call(*given, **named)
        return counting
    for name in ("write", "replace", "rename", "put_aside", "copy", "make"):
        if hasattr(module.Files, name):
            setattr(module.Files, name, counted(getattr(module.Files, name)))

try:
"""
    + "".join(
        f"    {line}\n"
        for line in RUN_SCRIPT.replace(
            "spec.loader.exec_module(module)", "spec.loader.exec_module(module)\ncut_off(module)"
        ).splitlines()
    )
    + """
except CutOff:
    result = [-9, "cut off"]
"""
)


class Engine(Protocol):
    """Runs a text with a session of Spark at hand, and gives its ``result``."""

    def run(self, script: str, **args: Any) -> Any: ...


class Here:
    """The session of this process."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def run(self, script: str, **args: Any) -> Any:
        scope: dict[str, Any] = {"spark": self._spark, "args": args, "result": None, "__name__": "proof"}
        exec(compile(script, "<proof>", "exec"), scope)
        return scope["result"]


@dataclass(frozen=True)
class Trial:
    """How one cell ended. ``note`` says what was stated, refused or wrong; ``kit``: the beginning of the checksum
    of what its script has of the kit; ``day``: when it ran."""

    cell: Cell
    word: Word
    note: str
    option: str = ""
    broken: str = ""
    statuses: tuple[int, ...] = ()
    repeated: int = 0
    missing: int = 0
    seconds: float = 0.0
    as_processes: bool = True
    kit: str = ""
    day: str = ""


class EndedError(Exception):
    """The cell is judged."""

    def __init__(self, word: Word, note: str) -> None:
        super().__init__(note)
        self.word: Word = word


class NotMadeError(Exception):
    """The query could not be run up to where it is broken: nothing is known about the recovery."""


@dataclass
class Pipeline:
    """One query with its places. ``delivered``: the rows that came with a file; ``held``: those in the output
    when the operators were removed; both only where a verdict counts them. ``is_at_once``: it reads all files
    that are there in one batch."""

    engine: Engine
    place: Path
    cell: Cell
    seed: int
    delivered: dict[int, Rows] = field(default_factory=dict)
    held: Rows = field(default_factory=Counter)
    after: range = AFTER
    is_at_once: bool = False

    def __post_init__(self) -> None:
        self.place.mkdir(parents=True)
        self.output, self.checkpoint = self.place / "output", self.place / "checkpoint"
        self.query = self.place / "query.py"
        self.confs = dict(STORES[self.cell.store])
        two = self.cell.is_of_two
        self.sources = {str(number): self.place / f"in{number}" for number in range(1 + two)}
        self.write_query("first")

    def write_query(self, kind: Literal["first", "later"]) -> None:
        text = self.cell.query(kind)
        self.query.write_text(f"TARGET = {str(self.output)!r}\n{text}", encoding="utf-8")

    @property
    def format(self) -> str:
        """Of the output."""
        return "json" if self.cell.sink == "keyed" else "delta" if self.cell.is_delta else "parquet"

    @property
    def partition_by(self) -> str:
        """The column by which the output is partitioned; empty for none."""
        return "p" if self.cell.sink.endswith("by p") else ""

    def put(self, number: int) -> None:
        """One more input file."""
        for key, directory in self.sources.items():
            put_file(directory, number, later=key == "1")

    def start(self, checkpoint: Path | None = None, output: Path | None = None) -> str | None:
        """Runs the query until everything is read; what it died of, None when it did not."""
        found = self.engine.run(
            SESSION + RUN,
            confs=self.confs,
            query=str(self.query),
            sources={key: str(path) for key, path in self.sources.items()},
            schema=SCHEMA,
            files=1000 if self.is_at_once else 1,
            mode=self.cell.mode,
            checkpoint=str(checkpoint or self.checkpoint),
            output=str(output or self.output),
            format=self.format,
            partition_by=self.partition_by,
        )
        return cast("str | None", found)

    def read(self, *more: Path) -> Rows:
        """The rows in the output."""
        found = self.engine.run(
            SESSION + READ,
            confs={},
            format=self.format,
            places=[str(place) for place in (self.output, *more)],
        )
        return Counter(tuple(row) for row in found)

    def step(self, number: int) -> str | None:
        """One more file, read; what the query died of."""
        is_counted = self.cell.sink == "append" and number == FIRST[-1]
        before = self.read() if is_counted else Rows()
        self.put(number)
        failed = self.start()
        if is_counted:
            self.delivered[number] = self.read() - before
        return failed


def put_file(directory: Path, number: int, *, later: bool) -> None:
    """Ten rows with ids of their own, and two that repeat the first ones of the file before; minutes are file
    numbers. ``later``: the other side of a join, whose rows come a file and a minute later."""
    directory.mkdir(parents=True, exist_ok=True)
    first = (number - later) * 10
    rows = [(first + i, f"00:{number:02d}:{i:02d}") for i in range(10)]
    rows += [(first - 10 + i, f"00:{number:02d}:30") for i in range(2) if number > 0]
    path = directory / f"part {number:03d}.json"
    path.write_text(
        "".join(json.dumps({"id": i, "key": i % 15, "at": f"2026-01-01T{at}Z"}) + "\n" for i, at in rows),
        encoding="utf-8",
    )
    os.utime(path, (1_790_000_000 + number * 10, 1_790_000_000 + number * 10))


class Truths:
    """Undisturbed runs, each made once; with ``log`` also for later calls."""

    def __init__(self, engine: Engine, place: Path, log: Path | None = None) -> None:
        self._engine, self._place, self._log = engine, place, log
        self._made: dict[str, Rows] = {}

    def of(self, cell: Cell, seed: int, *, is_at_once: bool = False) -> Rows:
        """The rows after all files; ``is_at_once``: those after the damage came in one batch."""
        kind: SinkName = "keyed" if cell.sink == "keyed" else "file"
        store: Store = "RocksDB" if cell.operator == "transformWithState" else "HDFS"
        name = f"{cell.operator} {kind}{' at once' if is_at_once else ''}"
        if name not in self._made:
            like = Cell("restart", cell.operator, kind, store)
            key = f"{name} {hashlib.sha256(f'{like.query()}{RUN}'.encode()).hexdigest()[:16]}"
            found = self._logged().get(key)
            if found is None:
                found = sorted(self._undisturbed(name, like, seed, is_at_once).elements())
                self._write(key, found)
            self._made[name] = Counter(tuple(row) for row in found)
        return self._made[name]

    def _undisturbed(self, name: str, like: Cell, seed: int, is_at_once: bool) -> Rows:
        pipeline = Pipeline(self._engine, self._place / name.replace(" ", "-"), like, seed)
        for number in (*FIRST, *WAITING, *AFTER):
            pipeline.put(number)
            if is_at_once and number in (*WAITING, *AFTER[:-1]):
                continue
            pipeline.is_at_once = is_at_once and number in AFTER
            failed = pipeline.start()
            assert failed is None, failed
        return pipeline.read()

    def _logged(self) -> dict[str, Any]:
        if self._log is None or not self._log.exists():
            return {}
        return cast("dict[str, Any]", json.loads(self._log.read_text(encoding="utf-8")))

    def _write(self, key: str, rows: list[Row]) -> None:
        if self._log is not None:
            new = self._log.with_name(f"{self._log.name}.{os.getpid()}")
            new.write_text(json.dumps({**self._logged(), key: rows}), encoding="utf-8")
            new.replace(self._log)


class Kept:
    """Queries that have read their first files, run once for all cells that begin with the same one. Such cells
    run in the same place, because checkpoints and logs name their places."""

    def __init__(self, place: Path) -> None:
        self._place, self._base = place, ""
        self._delivered: dict[int, Rows] = {}

    def place_of(self, cell: Cell) -> Path:
        """Where a cell runs."""
        return self._place / base_of(cell) / "run"

    def bring(self, pipeline: Pipeline, files: int) -> None:
        """The pipeline as it is after so many files of the first ones (all of them, or all but one)."""
        if self._base != base_of(pipeline.cell):
            for old in self._place.iterdir():
                if old.name != base_of(pipeline.cell):
                    shutil.rmtree(old)
            for number in FIRST:
                if number == FIRST[-1]:
                    self._keep(pipeline, number)
                first_step(pipeline, number)
            self._keep(pipeline, len(FIRST))
            self._base, self._delivered = base_of(pipeline.cell), dict(pipeline.delivered)
        put_back(pipeline.engine, pipeline.place, self.at(pipeline, files), is_delta=pipeline.cell.is_delta)
        pipeline.delivered = dict(self._delivered)

    def at(self, pipeline: Pipeline, files: int) -> Path:
        """Where everything lies as it was after so many files."""
        return pipeline.place.with_name(f"after-{files}")

    def _keep(self, pipeline: Pipeline, files: int) -> None:
        shutil.rmtree(self.at(pipeline, files), ignore_errors=True)
        shutil.copytree(pipeline.place, self.at(pipeline, files), symlinks=True)


def base_of(cell: Cell) -> str:
    """What cells that begin with the same query have in common."""
    parts = [cell.operator, cell.sink, cell.store, *(["poisoned"] if cell.asked == "skip_batch" else [])]
    return "-".join(parts).replace(" ", "-")


def put_back(engine: Engine, place: Path, kept: Path, *, is_delta: bool) -> None:
    """Every file with its content and times as it was kept."""
    shutil.rmtree(place)
    shutil.copytree(kept, place, symlinks=True)
    if is_delta:  # the tables at these paths are others than those that the session knows
        engine.run("spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()")


# ---------------------------------------------------------------- the damage


def prepare(
    pipeline: Pipeline, broken: str, kept: Kept | None = None, scripts: Scripts | None = None
) -> None:
    """Runs the query and breaks it, and a file waits."""
    cell, last = pipeline.cell, FIRST[-1]
    stop_maintenance(pipeline.engine)
    keeps_output = cell.asked == "rewind" and cell.sink.startswith("file")
    if kept is not None and broken != "backup":
        kept.bring(pipeline, len(FIRST))
        if keeps_output:
            shutil.copytree(kept.at(pipeline, last) / "output", pipeline.place / "kept output")
    else:
        if kept is not None:
            kept.bring(pipeline, last)
        else:
            for number in FIRST[:-1]:
                first_step(pipeline, number)
        if keeps_output:
            shutil.copytree(pipeline.output, pipeline.place / "kept output")
        if broken == "backup":
            back_up(pipeline, scripts)
        if broken != "backup" or cell.sink in ("append", "keyed"):
            first_step(pipeline, last)  # a sink that skips batch IDs has to end with the backup
    break_it(pipeline, broken)
    stop_maintenance(pipeline.engine)


def stop_maintenance(engine: Engine) -> None:
    """A state store of a query that has ended would write its snapshot later, into what is compared."""
    engine.run("spark._jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()")


def first_step(pipeline: Pipeline, number: int) -> None:
    """A file before the damage. The row that always fails may be in it."""
    failed = pipeline.step(number)
    if failed is not None and not (pipeline.cell.asked == "skip_batch" and number * 10 + 10 > POISON):
        raise NotMadeError(f"the query failed before it was broken: {failed}")


def break_it(pipeline: Pipeline, broken: str) -> None:
    """Breaks the checkpoint (or the query, or the source)."""
    ck = pipeline.checkpoint
    newest = damage.newest(ck)
    if broken == "commit is gone":
        damage.remove(ck / "commits" / str(newest))
    elif broken in ("state is gone", "backup"):
        remove_newest_state(pipeline)
    elif broken == "planned offsets are empty":
        damage.rewrite(ck / "offsets" / str(newest + 1), "")
    elif broken == "commit is empty":
        damage.rewrite(ck / "commits" / str(newest), "")
    elif broken == "older offsets are gone":
        damage.remove(ck / "offsets" / str(newest - 1))
    elif broken == "metadata is gone":
        damage.remove(ck / "metadata")
    elif broken == "operators were removed":
        pipeline.write_query("later")
        pipeline.held = pipeline.read()
    elif broken == "an input file is gone":
        (pipeline.sources["0"] / "part 001.json").unlink()
        remove_newest_state(pipeline)
    else:
        assert broken in ("a row always fails", "nothing"), broken
    for number in (FIRST[-1], *WAITING):
        pipeline.put(number)
    if broken in ("state is gone", "operators were removed", "a row always fails"):
        failed = pipeline.start()  # as a user sees it; a planned batch stays behind
        stateless = pipeline.cell.operator == "stateless" and broken != "a row always fails"
        assert (failed is not None) or stateless, "the query was not broken"
    if pipeline.cell.asked == "rewind" and (pipeline.place / "kept output").exists():
        shutil.rmtree(pipeline.output)
        shutil.copytree(pipeline.place / "kept output", pipeline.output, copy_function=shutil.copy2)


def remove_newest_state(pipeline: Pipeline) -> None:
    """The newest version of one store is gone; of a stateless query the newest commit."""
    state = pipeline.checkpoint / "state" / "0"
    if not state.exists():
        damage.remove(pipeline.checkpoint / "commits" / str(damage.newest(pipeline.checkpoint, "commits")))
        return
    version = damage.newest(pipeline.checkpoint, "commits") + 1
    lost = [
        path
        for pattern in (f"{version}.*", f"{version}_*")
        for path in sorted((state / "0").rglob(pattern))
        if path.suffix in (".delta", ".zip", ".changelog", ".snapshot")
    ]
    assert lost, f"no state of version {version}"
    for path in lost:
        damage.remove(path)


def back_up(pipeline: Pipeline, scripts: Scripts | None) -> None:
    """A backup by the script of that option."""
    script = script_of(pipeline, context_of(pipeline, {"backup_to": str(pipeline.place / "kept")}), "backup")
    if scripts is not None:
        done = scripts.run(script, pipeline.confs, "--execute")
    else:
        done = in_session(pipeline, script, execute=True)
    assert done.status in (0, 5), done.output


# ---------------------------------------------------------------- what the tool says


def context_of(pipeline: Pipeline, more: Mapping[str, str] | None = None) -> RecoveryContext:
    """The facts and the answers of somebody who knows the query."""
    cell = pipeline.cell
    sink = {"append": "foreach_append", "keyed": "foreach_merge"}.get(cell.sink, cell.sink.split()[0])
    answers = {
        "platform": "pyspark",
        "sink": sink,
        "sink_path": str(pipeline.output),
        "sink_format": pipeline.format,
        "query_file": str(pipeline.query),
        "output_mode": cell.mode,
        "source_complete": "no" if cell.asked == "backup_and_backfill" else "yes",
        **{f"source.{key}.schema": SCHEMA for key in pipeline.sources},
        **{f"source.{key}.option.maxFilesPerTrigger": "1" for key in pipeline.sources},
        **({"stateful": "removed"} if cell.asked == "drop_state" else {}),
        **({"stateful": "unchanged"} if cell.operator != "stateless" and cell.asked != "drop_state" else {}),
        **({"what_happened": "batch_fails"} if cell.asked == "skip_batch" else {}),
        **({"backfill_keys": "id"} if cell.asked == "backup_and_backfill" else {}),
        **({"partitions": "5"} if cell.asked == "repartition" else {}),
        **(more or {}),
    }
    ck = Checkpoint.open(str(pipeline.checkpoint))
    given = ConnectorSettings(sink=parse_location(str(pipeline.output)))
    connectors = ask_connectors(ck, given) if sink in ("file", "delta") else None
    return judge(ck, connectors).recovery(Answers(answers))


def script_of(pipeline: Pipeline, context: RecoveryContext, option: OptionId) -> Path:
    """The script as it is handed out."""
    blocks = [block for block in generate(context, option) if block.platform == "pyspark"]
    assert blocks, f"{option} has no code"
    script = pipeline.place / "script" / blocks[0].file_name
    script.parent.mkdir(exist_ok=True)
    script.write_text(blocks[0].text, encoding="utf-8")
    return script


# ---------------------------------------------------------------- the script


def in_session(pipeline: Pipeline, script: Path, *, execute: bool) -> Outcome:
    """The text, executed on a session that is there."""
    with quiet():
        found = pipeline.engine.run(
            SESSION + RUN_SCRIPT, confs=pipeline.confs, path=str(script), execute=execute
        )
    return Outcome(*found)


def rehearsed(pipeline: Pipeline, script: Path) -> Outcome:
    """The text with ``--rehearse``: all steps on copies. Status 4 where a rehearsal has no copy of the sink."""
    with quiet():
        found = pipeline.engine.run(SESSION + REHEARSE, confs=pipeline.confs, path=str(script), execute=False)
    outcome = Outcome(*found)
    print(f"rehearsal: {outcome.status} {tail(outcome.output)}")
    return outcome


def cut_off(pipeline: Pipeline, script: Path, kill_after: int) -> Outcome:
    """The text on a session that is there, cut off after so many calls that write (status -9)."""
    with quiet():
        found = pipeline.engine.run(
            SESSION + CUT_OFF,
            confs=pipeline.confs,
            path=str(script),
            execute=True,
            kill_after=kill_after,
        )
    return Outcome(*found)


@contextmanager
def quiet() -> Iterator[None]:
    """No bytecode beside what is loaded."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


EXECUTE = ("--execute", "--query-is-stopped")


def killed(pipeline: Pipeline, script: Path, scripts: Scripts, after: int) -> Outcome:
    """The text as a process of its own, which gets a kill -9 with its Spark as soon as so many files and
    directories are new below the place (status -9)."""
    before = names_in(pipeline.place)
    return scripts.run_and_kill(
        script, pipeline.confs, lambda: len(names_in(pipeline.place) - before) >= after, *EXECUTE
    )


def names_in(place: Path) -> set[str]:
    """Everything below the place."""
    return {
        f"{root}/{name}" for root, directories, files in os.walk(place) for name in (*directories, *files)
    }


# ---------------------------------------------------------------- the verdict


def prove(
    engine: Engine,
    truths: Truths,
    place: Path,
    cell: Cell,
    seed: int,
    *,
    scripts: Scripts | None = None,
    kept: Kept | None = None,
) -> Trial:
    """Runs one cell, the script as a process of its own; without ``scripts`` its text runs in the session that is
    there."""
    began = time.monotonic()
    if kept is not None:
        shutil.rmtree(place, ignore_errors=True)
    proof = Proof(Pipeline(engine, place, cell, seed), truths, seed, scripts)
    try:
        proof.run(kept)
        word, note = proof.judge()
    except EndedError as ended:
        word, note = ended.word, str(ended)
    except (NotMadeError, DeltaError) as error:
        word, note = "not made", str(error)[-500:]
    except Exception as error:
        lines = str(error).splitlines() or [""]
        word, note = "WRONG", f"the proof stopped: {type(error).__name__}: {lines[0][:500]}"
    return Trial(
        cell,
        word,
        note,
        proof.option.id if proof.option else "",
        proof.broken,
        tuple(proof.statuses),
        sum(proof.extra.values()),
        sum(proof.missing.values()),
        round(time.monotonic() - began, 1),
        scripts is not None,
        kit_of(proof.option.id) if proof.option else "",
        f"{datetime.now(UTC):%Y-%m-%d}",
    )


class Proof:
    """The steps of one cell, in order. Not ``is_disturbed``: the script is neither rehearsed nor killed nor run
    a second time."""

    def __init__(
        self,
        pipeline: Pipeline,
        truths: Truths,
        seed: int,
        scripts: Scripts | None = None,
        *,
        is_disturbed: bool = True,
    ) -> None:
        self.pipeline, self.truths, self.seed = pipeline, truths, seed
        self.scripts, self.is_disturbed = scripts, is_disturbed
        self.cell = pipeline.cell
        self.broken: str = self.cell.broken(seed)
        self.option: Option | None = None
        self.statuses: list[int] = []
        self.extra, self.missing = Counter[Row](), Counter[Row]()
        self.killed_late = False
        self.checkpoint: Path = pipeline.checkpoint
        self.output: Path | None = None
        self.beside: tuple[Path, ...] = ()

    def run(self, kept: Kept | None = None) -> None:
        """From the first batch to the last one."""
        pipeline, cell = self.pipeline, self.cell
        prepare(pipeline, self.broken, kept, self.scripts)
        more = {}
        if self.broken == "backup":
            more = {"backup_to": str(pipeline.place / "kept")}
        context = context_of(pipeline, more)
        found = options(context)
        if cell.asked == "recommended":
            self.option = next((each for each in found if each.recommended), None)
            if self.option is None:
                raise EndedError("not offered", "nothing is recommended")
        else:
            self.option = next(each for each in found if each.id == cell.asked)
        if not self.option.possible:
            raise EndedError("not offered", self.option.why)
        self.take(context, self.option)

    def take(self, context: RecoveryContext, option: Option) -> None:
        """The option as it is handed out, and the query with new data."""
        pipeline, self.option = self.pipeline, option
        if option.id != "restart":
            self.carry_out(context, option)
        for number in pipeline.after if pipeline.is_at_once else ():
            pipeline.put(number)
        for number in WAITING if pipeline.is_at_once else (*WAITING, *pipeline.after):
            if number in pipeline.after:
                pipeline.put(number)
            failed = pipeline.start(self.checkpoint, self.output)
            if failed is not None:
                raise EndedError("WRONG", f"the query did not start again: {failed[:300]}")

    def carry_out(self, context: RecoveryContext, option: Option) -> None:
        """Dry run, then the run itself."""
        pipeline = self.pipeline
        script = script_of(pipeline, context, option.id)
        before = fingerprint(pipeline.checkpoint, pipeline.output, *pipeline.sources.values())
        whole, times = fingerprint(pipeline.place), self.times()
        dry = self.start(script, execute=False)
        if dry.status == 4 and "First run: RESTORE TABLE" in dry.output:
            statement = dry.output.split("First run: ")[1].splitlines()[0].strip()
            pipeline.engine.run("spark.sql(args['statement'])", statement=statement)
            before = fingerprint(pipeline.checkpoint, pipeline.output, *pipeline.sources.values())
            whole, times = fingerprint(pipeline.place), self.times()
            dry = self.start(script, execute=False)
        self.statuses.append(dry.status)
        if fingerprint(pipeline.place) != whole:
            raise EndedError("WRONG", "the dry run changed something")
        if self.times() != times:
            raise EndedError("WRONG", "the dry run made a file that is gone again")
        if dry.status == 4:
            raise EndedError("refused", reason_of(dry.output))
        if dry.status != 0:
            raise EndedError("WRONG", f"the dry run ended with {dry.status}: {tail(dry.output)}")
        if self.is_disturbed:
            self.disturb(script, before, whole)
        else:
            self.execute(script)
        self.find_places(context, option, before)

    def times(self) -> dict[str, int]:
        """Of the directories that are the user's."""
        pipeline = self.pipeline
        return directory_times(pipeline.checkpoint, pipeline.output, *pipeline.sources.values())

    def start(self, script: Path, *, execute: bool) -> Outcome:
        """The text as a process of its own, or in the session that is there."""
        if self.scripts is None:
            return in_session(self.pipeline, script, execute=execute)
        return self.scripts.run(script, self.pipeline.confs, *(EXECUTE if execute else ()))

    def disturb(self, script: Path, before: Mapping[str, Any], whole: Mapping[str, Any]) -> None:
        """Rehearsed, killed, executed, executed again."""
        pipeline, times = self.pipeline, self.times()
        tried = rehearsed(pipeline, script)
        if fingerprint(pipeline.place) != whole:
            raise EndedError("WRONG", "the rehearsal changed something")
        if self.times() != times:
            raise EndedError("WRONG", "the rehearsal made a file that is gone again")
        chance = self.cell.random(self.seed)
        dead = (
            killed(pipeline, script, self.scripts, chance.choice((1, 2, 4, 8, 15, 30, 50)))
            if self.scripts is not None
            else cut_off(pipeline, script, chance.choice((0, 1, 2, 3, 5, 8)))
        )
        self.statuses.append(dead.status)
        # Where it died, batches may already be in the sink without a commit.
        self.killed_late = fingerprint(pipeline.output) != fingerprint_of(before, pipeline.output)
        for attempt in range(2):
            done = self.start(script, execute=True)
            self.statuses.append(done.status)
            if done.status == 4 and dead.status == -9 and attempt == 0:
                raise EndedError("refused", f"after the kill: {reason_of(done.output)}")
            # A run after a complete one can find less to compare: rows that a backfill has added since.
            if attempt == 0 and tried.status not in (4, 5, done.status):
                note = f"the rehearsal ended with {tried.status}, the run with {done.status}"
                raise EndedError("WRONG", f"{note}: {tail(tried.output)}")
            if done.status not in (0, 5):
                raise EndedError("WRONG", f"run {attempt + 1} ended with {done.status}: {tail(done.output)}")

    def execute(self, script: Path) -> None:
        """Executed once."""
        done = self.start(script, execute=True)
        self.statuses.append(done.status)
        if done.status == 4:
            raise EndedError("refused", reason_of(done.output))
        if done.status not in (0, 5):
            raise EndedError("WRONG", f"the run ended with {done.status}: {tail(done.output)}")

    def find_places(self, context: RecoveryContext, option: Option, before: Mapping[str, Any]) -> None:
        """Where the query goes on, and where its rows are; the old checkpoint must be as it was."""
        pipeline, made = self.pipeline, option.recipe
        new = new_checkpoint(context, made, "pyspark")
        assert new is not None
        self.checkpoint = Path(new)
        there = new_output(context, made)
        self.output = Path(there) if there is not None and self.cell.sink.startswith("file") else None
        if option.id not in ("full_refresh", "backup_and_backfill"):
            kept = fingerprint(pipeline.checkpoint)
            if kept != fingerprint_of(before, pipeline.checkpoint):
                raise EndedError("WRONG", "the old checkpoint was changed")
        if option.id == "backup_and_backfill":
            self.beside = tuple(sorted(pipeline.place.glob(f"{pipeline.output.name}.backfill-*")))

    def judge(self) -> tuple[Word, str]:
        """The rows against the truth and against what was stated."""
        places = [*([self.output] if self.output else []), *self.beside]
        rows, truth = self.pipeline.read(*places), self.truth()
        self.extra, self.missing = rows - truth, truth - rows
        if not self.extra and not self.missing:
            return "exact", ""
        assert self.option is not None
        repeats, loses = self.option.repeats, self.option.loses
        nothing = str(say("recovery_effects.nothing"))
        counts = f"{sum(self.extra.values())} more, {sum(self.missing.values())} less"
        unstated = []
        extra = self.extra - self.by_the_kill()
        may_change = self.may_change()
        if may_change and nothing in (loses, f"{repeats} {loses}"):
            unstated.append("the loss of the state is not stated")
        if extra and repeats == nothing and not may_change:
            unstated.append(f"rows that nothing states: {sorted(extra)[:4]}")
        expected = self.stated_repeats()
        if expected is not None and extra != expected and not may_change:
            unstated.append(f"other repeats than stated: {sorted(extra)[:4]}, not {sorted(expected)[:4]}")
        lost = self.missing
        if self.option.id == "backup_and_backfill":  # "if the key is unique": of equal rows one is enough
            lost = Counter({row: count for row, count in lost.items() if not rows[row]})
        if lost and not may_change and not (repeats != nothing and self.cell.sink == "keyed"):
            unstated.append(f"rows that are lost: {sorted(lost)[:4]}")
        if unstated:
            return "WRONG", f"{counts}; {'; '.join(unstated)}. Stated: {repeats} / {loses}"
        return "as stated", f"{counts}. Stated: {repeats} / {loses}"

    def truth(self) -> Rows:
        """What the output must have."""
        if self.broken == "a row always fails":  # the rows of that file are lost, which is counted
            later = (i for number in (*range(3), *WAITING, *AFTER) for i in rows_of(number))
            return Counter((i, i % 15, i % 3) for i in (set(later) if self.cell.sink == "keyed" else later))
        if self.broken == "operators were removed":
            kept = self.pipeline.held
            numbers = (*WAITING, *AFTER)
            new = [i for number in numbers for i in rows_of(number)]
            if self.cell.is_of_two:
                new += [i - 10 for number in numbers for i in rows_of(number)]
            plain = Counter((i, i % 15, i % 3) for i in new)
            if self.cell.sink != "keyed":
                return kept + plain
            merged = {row[0]: row for row in (*kept, *plain)}
            return Counter(merged.values())
        return self.truths.of(self.cell, self.seed, is_at_once=self.pipeline.is_at_once)

    def may_change(self) -> bool:
        """Whether the state is lost, or rows come in other batches to operators that look at batches."""
        assert self.option is not None
        if self.option.id == "reset" and self.cell.operator != "stateless":
            return self.option.recipe.method != "warm_up"
        if self.option.id == "backup_and_backfill":  # computed without the rows that are gone
            return self.cell.operator in ("windows", "session", "transformWithState", *CHAINED)
        batchwise = ("dedup within watermark", "session", "transformWithState")
        return self.option.id == "rewind" and self.cell.operator in batchwise

    def by_the_kill(self) -> Rows:
        """What a sink that appends may have twice because the script died while the query was writing."""
        if self.cell.sink != "append" or not self.killed_late:
            return Rows()
        return self.extra & self.truth()

    def stated_repeats(self) -> Rows | None:
        """The rows that must be there twice; None where they cannot be known beforehand."""
        assert self.option is not None
        if self.cell.sink != "append" or self.cell.operator not in ("stateless", "dedup", "join"):
            return None
        if self.option.id in ("rewind", "restore_backup"):
            return None if self.option.id == "rewind" else self.pipeline.delivered[FIRST[-1]]
        if self.broken == "commit is gone" and self.option.id in ("restart", "reset"):
            return self.pipeline.delivered[FIRST[-1]] if self.cell.operator != "join" else None
        return None


def rows_of(number: int) -> list[int]:
    """The ids in an input file."""
    return [*(number * 10 + i for i in range(10)), *((number - 1) * 10 + i for i in range(2) if number > 0)]


def fingerprint_of(all_files: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """The part of a fingerprint below a directory."""
    return {path: value for path, value in all_files.items() if path.startswith(f"{directory}/")}


def reason_of(output: str) -> str:
    """The sentence of a refusal."""
    lines = [line for line in output.splitlines() if "Refused" in line]
    return lines[0].removeprefix("Refused: ")[:300] if lines else tail(output)


def tail(output: str) -> str:
    """The last lines that say something."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return " / ".join(lines[-6:])[-700:]
