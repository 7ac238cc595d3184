"""The place where one sample is made, and what every sample needs: input, a session, a crash, the way into
the repository."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

PROJECT = Path(__file__).resolve().parents[2]
PUBLISHED = PROJECT / "sample_checkpoints"
# Spark writes absolute paths into file source logs, file sink logs and Delta offsets. The queries run here,
# so that no path of somebody's machine gets into the samples.
STAGE_ROOT = Path("/data")
PATIENCE_SECONDS = 300
MAINTENANCE = {"spark.sql.streaming.stateStore.maintenanceInterval": "2s"}

STORES = ("amsterdam", "berlin", "cairo", "dublin", "essen", "florence", "geneva", "hamburg")
ORDER_SCHEMA = "order_id long, store string, amount double, ordered_at timestamp"


@dataclass
class Stage:
    """One sample's directories below `/data/<name>`. Only `checkpoint` and what is named in `keep` is
    committed."""

    name: str

    def __post_init__(self) -> None:
        # Seeded by the name: the same input every time, so that what a story says stays true.
        self.random = random.Random(self.name)
        self.started = datetime.now(UTC)
        self._next_order = 1000
        self._session: SparkSession | None = None

    @property
    def root(self) -> Path:
        return STAGE_ROOT / self.name

    @property
    def checkpoint(self) -> Path:
        return self.root / "checkpoint"

    @property
    def source(self) -> Path:
        return self.root / "source"

    @property
    def sink(self) -> Path:
        return self.root / "sink"

    @property
    def marker(self) -> Path:
        """Made by a query when it is in the middle of the batch that will not end."""
        return self.root / "busy"

    def open(self) -> None:
        """Make the place. What is there already belongs to somebody: FileExistsError."""
        self.root.mkdir()
        self.source.mkdir()

    def close(self) -> None:
        """Remove the place; what is worth keeping has been published."""
        shutil.rmtree(self.root, ignore_errors=True)

    # ----------------------------------------------------------------- input

    def orders(self, count: int, minutes_ago: float, spread_seconds: int = 50) -> list[dict[str, Any]]:
        """Orders with rising numbers whose event time lies `minutes_ago` before the start of this run, a
        little out of order."""
        rows = []
        base_ms = self.started.timestamp() * 1000 - minutes_ago * 60_000
        for _ in range(count):
            self._next_order += 1
            at = datetime.fromtimestamp((base_ms + self.random.randrange(spread_seconds * 1000)) / 1000, UTC)
            rows.append(
                {
                    "order_id": self._next_order,
                    "store": self.random.choice(STORES),
                    "amount": round(self.random.uniform(3, 250), 2),
                    "ordered_at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                }
            )
        return rows

    def drop(self, name: str, rows: Iterable[dict[str, Any]]) -> Path:
        """Put a JSON file into the source directory in one step, as a careful producer does."""
        target = self.source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        hidden = target.with_name(f".{target.name}.part")
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        hidden.rename(target)
        return target

    def pause(self, shortest: float = 0.3, longest: float = 2.0) -> None:
        """Input does not arrive like clockwork."""
        time.sleep(self.random.uniform(shortest, longest))

    # ----------------------------------------------------------------- Spark

    @property
    def spark(self) -> SparkSession:
        """Settings of this sample's own in the one JVM of this process."""
        from pyspark.sql import SparkSession

        if self._session is None:
            shared = SparkSession.getActiveSession() or start_shared_session()
            self._session = shared.newSession()
        return self._session

    def set(self, **settings: str | int) -> None:
        """Set `spark.sql.streaming...` settings; dots are written as two underscores."""
        for key, value in settings.items():
            self.spark.conf.set(key.replace("__", "."), str(value))

    def use_rocksdb(self) -> None:
        """State in RocksDB with changelog files, as most large queries have it."""
        prefix = "spark.sql.streaming.stateStore"
        self.spark.conf.set(
            f"{prefix}.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        self.spark.conf.set(f"{prefix}.rocksdb.changelogCheckpointing.enabled", "true")

    def read_orders(self, folder: str = "", files_per_batch: int = 1) -> Any:
        """The stream of orders in `source/<folder>`."""
        reader = self.spark.readStream.schema(ORDER_SCHEMA).option("maxFilesPerTrigger", files_per_batch)
        return reader.json(str(self.source / folder))

    def into_nothing(self, rows: DataFrame) -> DataStreamWriter:
        """For a query of which only the checkpoint counts."""
        return rows.writeStream.format("noop")

    def feed(self, query: StreamingQuery, batches: Iterable[tuple[str, list[dict[str, Any]]]]) -> None:
        """One file after the other, each taken before the next one comes."""
        for name, rows in batches:
            self.drop(name, rows)
            query.processAllAvailable()
            self.pause()

    def die_in(self, function: Callable[[Stage], None], until: Callable[[], bool] | None = None) -> None:
        """Run `function(stage)` in a process of its own and kill that with SIGKILL as soon as `until()` holds
        (default: the marker)."""
        wait_for = until or self.marker.exists
        command = [
            sys.executable,
            "-m",
            "scripts.samples.child",
            function.__module__,
            function.__name__,
            self.name,
        ]
        process = subprocess.Popen(command, cwd=PROJECT, start_new_session=True, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_SECONDS
        try:
            while not wait_for():
                if process.poll() is not None:
                    raise RuntimeError(
                        f"{self.name}: the query ended with {process.returncode} before it could be killed"
                    )
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{self.name}: nothing to kill within {PATIENCE_SECONDS} s")
                time.sleep(0.05)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    # ------------------------------------------------------------- look back

    def log_ids(self, kind: str) -> list[int]:
        """The batch ids in `offsets` or `commits`, ascending."""
        folder = self.checkpoint / kind
        return (
            sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())
            if folder.exists()
            else []
        )

    @property
    def last_commit(self) -> int:
        return self.log_ids("commits")[-1]

    @property
    def last_offset(self) -> int:
        return self.log_ids("offsets")[-1]

    # --------------------------------------------------------------- publish

    def settle(self) -> None:
        """Unload the state stores: their maintenance goes on writing snapshots for a while after the query
        has stopped."""
        if self._session is not None:
            jvm = self._session.sparkContext._jvm
            assert jvm is not None
            jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()

    def publish(self, story: str, keep: Iterable[str]) -> None:
        """Put checkpoint, story and the kept directories into `sample_checkpoints/<name>` in one step."""
        self.settle()
        fresh = PUBLISHED / f".{self.name}.new"
        if fresh.exists():
            shutil.rmtree(fresh)
        fresh.mkdir(parents=True)
        for part in ("checkpoint", *keep):
            shutil.copytree(self.root / part, fresh / part)
        (fresh / "story.md").write_text(story.strip() + "\n", encoding="utf-8")
        times = {
            str(path.relative_to(fresh)): path.stat().st_mtime_ns // 1_000_000
            for path in sorted(fresh.rglob("*"))
            if path.is_file() and path.suffix != ".crc" and path.name != "story.md"
        }
        (fresh / "times.json").write_text(json.dumps(times, indent=0) + "\n", encoding="utf-8")
        final = PUBLISHED / self.name
        if final.exists():
            shutil.rmtree(final)
        fresh.rename(final)


def start_shared_session() -> SparkSession:
    """The JVM of this process: maintenance of the state stores every two seconds instead of every minute,
    since the runs are short."""
    from tests.support.spark import start_session

    return start_session("samples", extra=MAINTENANCE, as_installed=True)
