"""Samples without state that read files."""

from __future__ import annotations

import time

from scripts.samples.stage import ORDER_SCHEMA, Stage


def files_stopped_cleanly(stage: Stage) -> str:
    """JSON files to a Parquet directory; enough batches that source and sink logs are compacted; stopped by
    `query.stop()`."""
    query = (
        stage.read_orders()
        .where("amount > 5")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(stage.checkpoint))
        .trigger(processingTime="300 milliseconds")
        .start(str(stage.sink))
    )
    stage.feed(
        query,
        ((f"orders-{number:03}.json", stage.orders(12, minutes_ago=14 - number)) for number in range(14)),
    )
    query.stop()
    return f"""
# A file pipeline that stopped cleanly

The nightly job reads order files from `/data/{stage.name}/source` and appends them as Parquet to `/data/{stage.name}/sink`.
It was stopped for a release with `query.stop()` after batch {stage.last_commit}. Nothing went wrong.

What the engineer knows: no new file has arrived since. The sink is Spark's own file sink, its log lies in `sink/_spark_metadata`.

## Expected answers (for tests)

The last committed batch is {stage.last_commit}, no batch is in doubt, the next start goes on with the first
new file and repeats nothing. It raises no alarm.
"""


def _slow_writer(stage: Stage) -> None:
    """Runs in the process that is killed: a function in the query hangs on one order, in the middle of
    writing."""
    from pyspark.sql import functions as sf
    from pyspark.sql.types import DoubleType

    marker = stage.marker

    def with_tax(amount: float) -> float:
        if amount < 0:
            marker.touch()
            time.sleep(3600)
        return amount * 1.19

    tax = sf.udf(with_tax, DoubleType(), useArrow=False)
    query = (
        stage.read_orders()
        .withColumn("amount", tax("amount"))
        .writeStream.format("parquet")
        .option("checkpointLocation", str(stage.checkpoint))
        .trigger(processingTime="1 second")
        .start(str(stage.sink))
    )
    query.awaitTermination()


def files_died_mid_batch(stage: Stage) -> str:
    """The process is killed while a task of batch 7 writes."""
    for number in range(9):
        rows = stage.orders(15, minutes_ago=9 - number)
        if number == 7:
            rows[-1]["amount"] = -1.0
        stage.drop(f"orders-{number:03}.json", rows)
        time.sleep(0.02)
    stage.die_in(_slow_writer)
    stage.marker.unlink()
    pending, committed = stage.last_offset, stage.last_commit
    return f"""
# A file pipeline that died in the middle of a batch

The job reads order files one at a time and appends them as Parquet. At the file `orders-007.json` it hung on one order and the
machine was switched off while batch {pending} was being written.

What the engineer knows: the process got SIGKILL, nothing could be cleaned up. One more file (`orders-008.json`) is waiting.

## Expected answers (for tests)

Batch {pending} is planned and not committed, the last committed batch is {committed}. The next start runs batch
{pending} again with exactly the file it planned. The Parquet directory has its own log, so a reader that honours it sees no repeats;
a reader that lists the files may. Batch {pending + 1} follows with the waiting file.
"""


def named_sources(stage: Stage) -> str:
    """Two sources with names, offset log version 2."""
    stage.spark.conf.set("spark.sql.streaming.queryEvolution.enableSourceEvolution", "true")
    for folder in ("orders", "returns"):
        (stage.source / folder).mkdir()
    streams = [
        stage.spark.readStream.name(name)
        .schema(ORDER_SCHEMA)
        .option("maxFilesPerTrigger", 1)
        .json(str(stage.source / name))
        for name in ("orders", "returns")
    ]
    query = (
        streams[0]
        .unionByName(streams[1])
        .writeStream.format("parquet")
        .option("checkpointLocation", str(stage.checkpoint))
        .trigger(processingTime="300 milliseconds")
        .start(str(stage.sink))
    )
    for number in range(7):
        batch = [(f"orders/{number:03}.json", stage.orders(10, minutes_ago=7 - number))]
        if number % 3 == 0:
            stage.drop(f"returns/{number:03}.json", stage.orders(2, minutes_ago=7 - number))
        stage.feed(query, batch)
    query.stop()
    return f"""
# Sources with names

A query on Spark 4.3 that unites two directories. Both sources were given a name with `.name("orders")` and `.name("returns")` and
source evolution is on, so the offset log has version 2: each line begins with the name, and the folders are `sources/orders` and
`sources/returns`.

What the engineer knows: the team wants to add a third source tomorrow. The query was stopped cleanly after batch {stage.last_commit}.

## Expected answers (for tests)

Two sources, called by their names, both of kind file; offset log v2; nothing is in doubt. Names, not positions,
decide which offset belongs to which source, so the order in the code may change, a name may not.
"""


def union_of_two_sources(stage: Stage) -> str:
    """Two unnamed sources in one query; the second has nothing at first (its offset is `-`)."""
    for folder in ("shop", "web"):
        (stage.source / folder).mkdir()
    query = (
        stage.read_orders("shop")
        .union(stage.read_orders("web"))
        .writeStream.format("parquet")
        .option("checkpointLocation", str(stage.checkpoint))
        .trigger(processingTime="300 milliseconds")
        .start(str(stage.sink))
    )
    for number in range(9):
        if number >= 4:
            stage.drop(f"web/{number:03}.json", stage.orders(6, minutes_ago=9 - number))
        stage.feed(query, [(f"shop/{number:03}.json", stage.orders(10, minutes_ago=9 - number))])
    query.stop()
    return f"""
# A union of two sources, one of which came late

One query appends the orders of the shops and of the web site to one Parquet directory. The web site delivered its first file only
after some batches; until then its line in the offset log is `-`.

What the engineer knows: the query was stopped cleanly after batch {stage.last_commit}. Somebody asks whether the two inputs may
change places in the code.

## Expected answers (for tests)

Two file sources, 0 and 1, told apart only by their position in the query; source 1 starts later than
source 0; nothing is in doubt. Changing their order would give each the other's position.
"""
