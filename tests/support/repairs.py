"""File pipelines for the repairs of a checkpoint: any query, any sink, and the truth to compare with."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from core.recovery import OptionId
from tests.support.recovery import SCHEMA, script_for

Sink = Literal["file", "append", "merge"]
Transform = Callable[[DataFrame], DataFrame]


def plain_rows(frame: DataFrame) -> list[dict[str, object]]:
    """The rows of a frame as JSON has them."""
    rows: list[dict[str, object]] = json.loads(
        json.dumps([row.asDict(recursive=True) for row in frame.collect()], default=str)
    )
    return rows


def _run_until(query: StreamingQuery, until: Callable[[], bool]) -> None:
    try:
        query.processAllAvailable()
        end = time.monotonic() + 60
        while not until():
            assert time.monotonic() < end, "what the query was to wait for did not happen"
            time.sleep(0.05)
    finally:
        query.stop()


class RepairPipeline:
    """A file source and a sink below one directory. ``append`` is a foreachBatch that writes one line of JSON
    per row, ``merge`` one that keeps the newest row of each key."""

    def __init__(
        self,
        spark: SparkSession,
        place: Path,
        transform: Transform,
        sink: Sink,
        *,
        mode: str = "append",
        key: str = "id",
        confs: Mapping[str, str] | None = None,
    ) -> None:
        self.spark, self.place, self.transform, self.sink = spark, place, transform, sink
        self.mode, self.key, self.confs = mode, key, dict(confs or {})
        self.source, self.output, self.checkpoint = place / "in", place / "out", place / "checkpoint"
        place.mkdir(parents=True)

    def run(self, checkpoint: Path | None = None, until: Callable[[], bool] | None = None) -> None:
        """Reads everything that is there, one file a batch. ``until``: what the running query waits for, for
        at most a minute, before it is stopped."""
        before = {name: self.spark.conf.get(name, None) for name in self.confs}
        for name, value in self.confs.items():
            self.spark.conf.set(name, value)
        try:
            reader = self.spark.readStream.format("json").schema(SCHEMA).option("maxFilesPerTrigger", 1)
            writer = self.transform(reader.load(str(self.source))).writeStream.outputMode(self.mode)
            writer = writer.option("checkpointLocation", str(checkpoint or self.checkpoint))
            if self.sink == "file":
                writer = writer.format("parquet").option("path", str(self.output))
            else:
                writer = writer.foreachBatch(self._write)
            if until is None:
                writer.trigger(availableNow=True).start().awaitTermination()
            else:
                _run_until(writer.start(), until)
        finally:
            for name, value in before.items():
                self.spark.conf.unset(name) if value is None else self.spark.conf.set(name, value)

    def _write(self, frame: DataFrame, batch_id: int) -> None:
        rows = plain_rows(frame)
        self.output.mkdir(exist_ok=True)
        if self.sink == "append":
            with (self.output / "rows.json").open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(row, sort_keys=True) + "\n" for row in rows)
            return
        kept = {json.dumps(row[self.key]): row for row in [*self.rows(), *rows]}
        (self.output / "rows.json").write_text(
            "".join(json.dumps(row, sort_keys=True) + "\n" for row in kept.values()), encoding="utf-8"
        )

    def rows(self) -> list[dict[str, object]]:
        """The rows in the sink, as its readers see them."""
        if self.sink == "file":
            rows = plain_rows(self.spark.read.parquet(str(self.output)))
        else:
            path = self.output / "rows.json"
            texts = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
            rows = [json.loads(text) for text in texts]
        return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))

    def forget_commits(self, batches: Iterable[int]) -> None:
        """Deletes commits with Hadoop's checksum files, as after a crash."""
        for batch in batches:
            (self.checkpoint / "commits" / str(batch)).unlink()
            (self.checkpoint / "commits" / f".{batch}.crc").unlink(missing_ok=True)

    def script(self, option: OptionId, **answers: str) -> Path:
        """The script of a repair."""
        kind = {"file": "file", "append": "foreach_append", "merge": "foreach_merge"}[self.sink]
        given = {"sink": kind, **({"sink_path": str(self.output)} if self.sink == "file" else {}), **answers}
        return script_for(self.checkpoint, option, given, self.place)
