"""Samples from Delta to Delta: Spark 4.2 in the second environment. The data files stay behind, both
`_delta_log` come along."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time

from scripts.samples.stage import PATIENCE_SECONDS, Stage
from tests.support.delta import DeltaEngine, start_worker

ATTEMPTS = 10

# One version per batch of rows, each in `files` files.
FILL = """
from pyspark.sql import functions as sf
for version in args["versions"]:
    rows = spark.range(version * 40, version * 40 + 40, numPartitions=args["files"])
    rows = rows.withColumn("store", sf.concat(sf.lit("store-"), (sf.col("id") % 8).cast("string")))
    rows.withColumn("amount", sf.round(sf.rand(version) * 200, 2)).write.format("delta").mode("append").save(args["table"])
"""

START = """
reader = spark.readStream.format("delta").option("maxFilesPerTrigger", 1)
if args["starting_version"] is not None:
    reader = reader.option("startingVersion", args["starting_version"])
query = (
    reader.load(args["table"]).where("amount > 1").writeStream.format("delta")
    .option("checkpointLocation", args["checkpoint"]).trigger(processingTime="2 seconds").start(args["sink"])
)
"""

RUN = START + "query.awaitTermination()"

STOP_AFTER = (
    START
    + """
import time
while query.isActive and (query.lastProgress is None or query.lastProgress.batchId < args["last_batch"]):
    time.sleep(0.05)
query.stop()
if query.exception() is not None:
    raise query.exception()
"""
)


def _places(stage: Stage) -> dict[str, str]:
    return {"table": str(stage.source), "sink": str(stage.sink), "checkpoint": str(stage.checkpoint)}


def _die_between_table_and_commit(stage: Stage, batch: int) -> bool:
    """Kill the query as soon as the sink's log has the version of this batch. True when the commit had not
    been written by then."""
    version = stage.sink / "_delta_log" / f"{batch:020}.json"
    process = start_worker(stage.root / "scratch")
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps({"script": RUN, "args": {**_places(stage), "starting_version": 0}}) + "\n")
    process.stdin.flush()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not version.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            break
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    return version.exists() and stage.last_commit == batch - 1 and stage.last_offset == batch


def delta_batch_already_in_table(stage: Stage) -> str:
    """Killed after the sink's version of batch 5 and before `commits/5`."""
    engine = DeltaEngine(stage.root / "scratch")
    engine.run(FILL, versions=list(range(8)), files=1, table=str(stage.source))
    engine.stop()
    batch = 5
    for _ in range(ATTEMPTS):
        if _die_between_table_and_commit(stage, batch):
            break
        for place in (stage.sink, stage.checkpoint):
            shutil.rmtree(place, ignore_errors=True)
    else:
        raise RuntimeError(f"{stage.name}: the moment between table and commit was missed {ATTEMPTS} times")
    return f"""
# A Delta batch that is in the table but not in the checkpoint

From one Delta table to another, one version of the source per batch. The driver was killed (SIGKILL) in the short moment after Delta had
written version {batch} of the target and before Spark wrote `commits/{batch}`. The checkpoint calls batch {batch} planned, not committed.

What the engineer knows: the target table has the rows of that batch already; both tables' logs lie beside the checkpoint (`source` and
`sink`). The fear is that a restart writes them twice.

## Expected answers (for tests)

The newest `txn` of this query in the target's log is batch {batch}. Spark runs batch {batch} again, Delta
recognises the query id and the batch id and skips it; nothing is written twice. That holds only while the query id stays the same:
with a new checkpoint the same rows would be appended again, unless it starts exactly after batch {batch}.
"""


def delta_stopped_in_first_snapshot(stage: Stage) -> str:
    """A table of three versions and six files, read one file at a time, stopped after three of them; the
    source goes on meanwhile."""
    engine = DeltaEngine(stage.root / "scratch")
    try:
        engine.run(FILL, versions=[0, 1, 2], files=2, table=str(stage.source))
        engine.run(STOP_AFTER, last_batch=2, starting_version=None, **_places(stage))
        engine.run(FILL, versions=[3, 4], files=2, table=str(stage.source))
    finally:
        engine.stop()
    offset: dict[str, int] = json.loads(
        (stage.checkpoint / "offsets" / str(stage.last_commit)).read_text(encoding="utf-8").splitlines()[-1]
    )
    version, done = offset["reservoirVersion"], offset["index"] + 1
    return f"""
# A Delta pipeline that stopped inside the source's first snapshot

The query reads a Delta table from its beginning, one file at a time. The first thing Spark reads from a Delta table is the snapshot of
the version it found, here version {version} with six files. It was stopped when only the first {done} files were done.

What the engineer knows: stopped cleanly after batch {stage.last_commit}. Since then two more versions were written to the source. Its log
is kept for 30 days, `VACUUM` runs every week. Both tables' logs lie beside the checkpoint.

## Expected answers (for tests)

`isStartingVersion` is true and the index is {offset["index"]}: {6 - done} of six files of the first snapshot are
still to be read, and they must not be vacuumed before. A new checkpoint with `startingVersion` cannot go on from here: {version + 1} would
lose the rest of the snapshot, {version} reads only that one commit and the later ones. The old checkpoint is the exact way.
"""
