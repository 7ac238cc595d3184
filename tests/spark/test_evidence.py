"""Evidence of a query that runs: when the query has removed everything that is in it, every verb answers from
the file as it answered at the time; what must stay secret is not in it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from core.checkpoint import Checkpoint
from core.checkpoint.state_content.framing import Unpacked, unpack
from core.cli import main
from core.incident import take
from core.settings import PREFIX, Settings
from core.storage import Door
from core.storage.evidence import read_archive

PLANTED = "PLANTED-SECRET-4711"
HELD, LATER = 6, 22  # the batch that stays in flight while evidence is taken, and how far the query gets
SECONDS = 120
VERBS = (
    ("inspect", "--all"),
    ("resume",),
    ("forecast",),
    ("check", "--level", "normal"),
    ("check", "--level", "deep"),
    ("state",),
    ("rows", "--limit", "20", "--reveal"),
    ("recover",),
    ("changes",),
)
OF_THE_FILE = ("location", "name", "requests", "read")


def answers(capsys: pytest.CaptureFixture[str], place: Path | str) -> list[tuple[int, Any]]:
    found = []
    for verb, *options in VERBS:
        status = main([verb, str(place), *options, "--json"])
        output = capsys.readouterr()
        assert output.err == "", (verb, output.err)
        found.append((status, without(json.loads(output.out), OF_THE_FILE)))
    return found


def without(value: Any, names: Iterable[str]) -> Any:
    if isinstance(value, dict):
        return {key: without(item, names) for key, item in value.items() if key not in names}
    return [without(item, names) for item in value] if isinstance(value, list) else value


def wait_until(happened: Any, what: str) -> None:
    end = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def names_in(checkpoint: Path) -> set[str]:
    return {
        path.relative_to(checkpoint).as_posix()
        for top in ("offsets", "commits", "state")
        for path in (checkpoint / top).rglob("*")
        if path.is_file() and not path.name.startswith(".") and "_metadata" not in path.parts
    }


def test_all_verbs_answer_as_at_the_time_when_everything_was_purged(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    checkpoint, store = tmp_path / "ck", tmp_path / "store"
    store.mkdir()
    monkeypatch.setenv(f"{PREFIX}INCIDENT_STORE", str(store))
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", "2")
    spark.conf.set("spark.sql.streaming.stateStore.maintenanceInterval", "200ms")
    spark.conf.set("spark.planted.password", PLANTED)
    begun, may_end = threading.Event(), threading.Event()

    def write(frame: DataFrame, batch_id: int) -> None:
        frame.write.format("noop").mode("append").save()
        if batch_id == HELD:
            begun.set()
            assert may_end.wait(SECONDS)

    read = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    person = F.concat(F.lit(f"{PLANTED}-"), (F.col("value") % 7).cast("string"))  # a key of the state
    counted = read.groupBy(person.alias("person")).count()
    writer = counted.writeStream.outputMode("update").foreachBatch(write)
    query = (
        writer.option("checkpointLocation", str(checkpoint)).trigger(processingTime="50 milliseconds").start()
    )
    try:
        assert begun.wait(SECONDS), query.exception()
        taken_of = names_in(checkpoint)
        now = time.time_ns()
        with monkeypatch.context() as held:
            held.setattr("core.storage.door.time.time_ns", lambda: now)
            before = answers(capsys, checkpoint)
            assert main(["evidence", str(checkpoint), "--to-store", "--with-state-contents", "--json"]) == 0
            name = json.loads(capsys.readouterr().out)["opens_as"]
            plain = take(Door.open(str(checkpoint)), tmp_path / "plain.zip").path
        may_end.set()
        wait_until(lambda: (checkpoint / "commits" / str(LATER)).exists(), "the query did not continue")
        wait_until(lambda: not taken_of & names_in(checkpoint), "not everything was purged")
        with monkeypatch.context() as held:
            held.setattr("core.storage.door.time.time_ns", lambda: now)
            after = answers(capsys, name)
        for (verb, *options), was, is_ in zip(VERBS, before, after, strict=True):
            assert is_ == was, (verb, options)
        assert Checkpoint.open(str(plain)).pending_batch == HELD
        assert (Checkpoint.open(str(checkpoint)).last_committed_batch or 0) >= LATER - 1
        assert main(["compare", name, str(checkpoint), "--json"]) == 1
        assert len(json.loads(capsys.readouterr().out)["differences"]) > HELD
    finally:
        may_end.set()
        query.stop()
    state = {str(path): path.read_bytes() for path in (checkpoint / "state").rglob("*.delta")}
    unpacked = [each.content for each in unpack(state, "lz4").values() if isinstance(each, Unpacked)]
    assert any(PLANTED.encode() in content for content in unpacked), "it is in the state"
    archive = read_archive(plain.read_bytes(), Settings().evidence_bytes)
    everything = archive.manifest.to_bytes() + b"".join(
        content for path in archive.files if isinstance(content := archive.read(path), bytes)
    )
    assert PLANTED.encode() not in everything
    for form in ("html", "markdown", "chat"):
        assert main(["report", str(plain), "--format", form]) in (0, 1, 10)
        assert PLANTED not in capsys.readouterr().out
