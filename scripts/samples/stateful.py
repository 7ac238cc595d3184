"""Samples with state: aggregations, deduplication, a join, transformWithState; and damage done to real
checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scripts.samples.sessions import ShopVisits
from scripts.samples.stage import Stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

Batches = Iterator[tuple[str, list[dict[str, Any]]]]


def _start(stage: Stage, rows: DataFrame, mode: str = "append") -> StreamingQuery:
    """Run the query: what counts here is the checkpoint."""
    writer = stage.into_nothing(rows).outputMode(mode).option("checkpointLocation", str(stage.checkpoint))
    return writer.trigger(processingTime="200 milliseconds").start()


def _without_empty_batches(stage: Stage) -> None:
    """No batch without new data: fewer files to commit. The other samples have such batches."""
    stage.spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")


def _steady_orders(stage: Stage, files: int, rows: int = 20, minutes_apart: float = 1.0) -> Batches:
    for number in range(files):
        yield f"orders-{number:03}.json", stage.orders(rows, minutes_ago=(files - number) * minutes_apart)


def dropduplicates_removed(stage: Stage) -> str:
    """A deduplicating query is stopped, `dropDuplicates` is taken out of the code, and the start that fails
    is really run."""
    from pyspark.errors import StreamingQueryException

    stage.spark.conf.set("spark.sql.shuffle.partitions", "3")
    orders = stage.read_orders().withWatermark("ordered_at", "10 minutes")
    query = _start(stage, orders.dropDuplicates(["order_id", "ordered_at"]))
    stage.feed(query, _steady_orders(stage, 6))
    query.stop()
    committed = stage.last_commit
    stage.drop("orders-006.json", stage.orders(20, minutes_ago=0))
    changed = _start(stage, orders)
    try:
        changed.processAllAvailable()
    except StreamingQueryException as problem:
        text = str(problem)
    else:
        raise RuntimeError("the changed query did not fail")
    finally:
        changed.stop()
    condition = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
    if condition not in text:
        raise RuntimeError(f"expected {condition}, got: {text[:300]}")
    return f"""
# dropDuplicates was removed from the query

The query removed repeated orders with `dropDuplicates`. In a release somebody took that line out, since the producer no longer sends
repeats. The start after the release failed:
`[{condition}]`: the checkpoint holds the state of a `dedupe` operator, the new query has no stateful operator.

What the engineer knows: before the release the query was stopped cleanly after batch {committed}. The failed start has left
`offsets/{stage.last_offset}` behind, without a commit.

## Expected answers (for tests)

The state of one operator (`dedupe`) must be there, so the query in its new form can never start from this
checkpoint. Batch {stage.last_offset} was planned by the failed start; nothing of it was written. Either the line comes back, or a new
checkpoint starts at the end of batch {committed}, which loses the memory of the orders already seen.
"""


def windowed_aggregation_hot_partition(stage: Stage) -> str:
    """One store has most of the visitors, and its set of visitors is one growing row of state in one
    partition."""
    from pyspark.sql import functions as sf

    stage.use_rocksdb()
    stage.spark.conf.set("spark.sql.shuffle.partitions", "6")
    _without_empty_batches(stage)
    stage.spark.conf.set("spark.sql.streaming.stateStore.minDeltasForSnapshot", "4")
    visits = (
        stage.spark.readStream.schema("store string, visitor long, seen_at timestamp")
        .option("maxFilesPerTrigger", 1)
        .json(str(stage.source))
        .withWatermark("seen_at", "30 minutes")
        .groupBy(sf.window("seen_at", "1 day"), "store")
        .agg(sf.count("*").alias("visits"), sf.collect_set("visitor").alias("visitors"))
    )
    query = _start(stage, visits, "update")

    def batches() -> Batches:
        shops = [f"shop-{number:02}" for number in range(48)]
        for number in range(10):
            at = stage.orders(1, minutes_ago=10 - number)[0]["ordered_at"]
            rows = [
                {"store": shop, "visitor": stage.random.randrange(10**9), "seen_at": at}
                for shop in shops
                for _ in range(2)
            ]
            rows += [
                {"store": "web", "visitor": stage.random.randrange(10**9), "seen_at": at} for _ in range(700)
            ]
            yield f"visits-{number:03}.json", rows

    stage.feed(query, batches())
    query.stop()
    return f"""
# A windowed aggregation with one hot partition

Unique visitors per day and store, collected in a set, state in RocksDB with changelog files, 6 partitions. The web shop has some
hundred times the visitors of any other store, so one partition of the state holds nearly everything and one task of six does the work.

What the engineer knows: "it gets slower every day, more executors do not help". The query was stopped cleanly after batch
{stage.last_commit} to look into it.

## Expected answers (for tests)

The checkpoint is in order; the state of operator 0 is not balanced: the largest partition is at least ten times
the median. It names that partition. More partitions would not help, because one key cannot be split; salting the key would.
"""


def join_watermark_held_back(stage: Stage) -> str:
    """The payments stop arriving; the join's watermark is the smaller of the two and stands still while
    orders pile up in state."""
    from pyspark.sql import functions as sf

    stage.spark.conf.set("spark.sql.shuffle.partitions", "2")
    _without_empty_batches(stage)
    for folder in ("orders", "payments"):
        (stage.source / folder).mkdir()
    orders = stage.read_orders("orders").withWatermark("ordered_at", "10 minutes")
    payments = (
        stage.spark.readStream.schema("paid_order long, paid_at timestamp")
        .option("maxFilesPerTrigger", 1)
        .json(str(stage.source / "payments"))
        .withWatermark("paid_at", "20 minutes")
    )
    matched = orders.join(
        payments,
        sf.expr(
            "paid_order = order_id AND paid_at >= ordered_at AND paid_at <= ordered_at + interval 1 hour"
        ),
    )
    query = _start(stage, matched)

    def batches() -> Batches:
        for number in range(10):
            rows = stage.orders(25, minutes_ago=150 - 15 * number)
            if number < 4:
                paid = [{"paid_order": row["order_id"], "paid_at": row["ordered_at"]} for row in rows[::2]]
                stage.drop(f"payments/{number:03}.json", paid)
            yield f"orders/{number:03}.json", rows

    stage.feed(query, batches())
    query.stop()
    return f"""
# A join whose watermark is held back by an idle source

Orders are joined with payments. Both have a watermark (10 and 20 minutes); Spark uses the smaller one for the whole query. After the
fourth file the payment provider's export stopped. Orders kept coming.

What the engineer knows: the query runs without an error, but the state grows with every batch and nobody sees why. It was stopped
cleanly after batch {stage.last_commit}.

## Expected answers (for tests)

Source 1 (payments) has not moved for several batches while source 0 has; the watermark stands still since then,
and with it the clean-up of the state. The checkpoint is in order. The remedy is at the payments' side: bring the source back or
feed it heartbeat records.
"""


def purged_to_newest_10(stage: Stage) -> str:
    """`minBatchesToRetain` = 10 and 26 batches: the log begins in the middle, the state's old versions are
    gone."""
    stage.spark.conf.set("spark.sql.shuffle.partitions", "2")
    stage.spark.conf.set("spark.sql.streaming.minBatchesToRetain", "10")
    query = _start(stage, stage.read_orders().groupBy("store").count(), "update")
    stage.feed(query, _steady_orders(stage, 26, rows=8))
    query.stop()
    oldest, newest = stage.log_ids("offsets")[0], stage.last_commit
    return f"""
# A query purged to its newest ten batches

A running count per store. `spark.sql.streaming.minBatchesToRetain` was set to 10 to save objects on the store, so Spark has removed the
older offsets, commits and state versions by itself. The log now begins with batch {oldest}.

What the engineer knows: a bug in the counting was found and somebody wants to go back to the numbers of batch 5.

## Expected answers (for tests)

The gap at the beginning is Spark's own retention, no damage; stopped cleanly after batch {newest}. A rewind
needs the offsets of its target and of the batch before, so it reaches back to batch {oldest + 1} and no further; batch 5 is gone for
good. For older numbers the source has to be read again.
"""


def state_format_2(stage: Stage) -> str:
    """State checkpoint format 2: unique ids in the file names and in the commits."""
    stage.use_rocksdb()
    stage.spark.conf.set("spark.sql.shuffle.partitions", "2")
    stage.spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "2")
    _without_empty_batches(stage)
    stage.spark.conf.set("spark.sql.streaming.stateStore.minDeltasForSnapshot", "4")
    orders = (
        stage.read_orders()
        .withWatermark("ordered_at", "15 minutes")
        .dropDuplicatesWithinWatermark(["order_id"])
    )
    query = _start(stage, orders)
    stage.feed(query, _steady_orders(stage, 8))
    query.stop()
    return f"""
# State in checkpoint format 2

A deduplicating query (`dropDuplicatesWithinWatermark`) on Spark 4.3 with `stateStore.checkpointFormatVersion` = 2. The names of the
state files carry unique ids, each commit says which id is the right one per partition, and state files have Spark's own checksums.

What the engineer knows: the query was stopped cleanly after batch {stage.last_commit}. It shall be moved to a cluster with Spark 3.5.

## Expected answers (for tests)

Commits have version 2, state format 2 in RocksDB with changelog; the ids of the newest commit all have their
files; nothing is in doubt. A Spark that does not know this format cannot go on from here.
"""


def transform_with_state_timers(stage: Stage) -> str:
    """transformWithState in Python: a value, a list and event-time timers."""
    stage.use_rocksdb()
    stage.spark.conf.set("spark.sql.shuffle.partitions", "2")
    stage.spark.conf.set("spark.sql.streaming.stateStore.minDeltasForSnapshot", "4")
    sessions = (
        stage.read_orders()
        .withWatermark("ordered_at", "2 minutes")
        .groupBy("store")
        .transformWithState(
            statefulProcessor=ShopVisits(),
            outputStructType="store string, orders long, total double",
            outputMode="Append",
            timeMode="EventTime",
        )
    )
    query = _start(stage, sessions)
    stage.feed(query, _steady_orders(stage, 9, rows=6, minutes_apart=4))
    query.stop()
    return f"""
# transformWithState with timers

Sessions per store, written with `transformWithState` in Python: a value (`totals`), a list (`amounts`) and a timer per store that
closes the session five minutes after its last order, in event time.

What the engineer knows: some sessions were never closed and the question is whether their timers are still in the state. The query
was stopped cleanly after batch {stage.last_commit}.

## Expected answers (for tests)

One operator, `transformWithStateInPySparkExec`, in RocksDB, with the state variables named above and its
event-time timers; nothing is in doubt. It names the variables from the operator's own metadata.
"""


def missing_delta_file(stage: Stage) -> str:
    """A clean-up job has removed one delta file that the newest version still needs."""
    stage.spark.conf.set("spark.sql.shuffle.partitions", "4")
    orders = (
        stage.read_orders()
        .withWatermark("ordered_at", "30 minutes")
        .dropDuplicates(["order_id", "ordered_at"])
    )
    query = _start(stage, orders)
    stage.feed(query, _steady_orders(stage, 5))
    query.stop()
    partition = stage.checkpoint / "state" / "0" / "2"
    if list(partition.glob("*.snapshot")):
        raise RuntimeError("a snapshot was written: the missing delta would not matter")
    for name in ("4.delta", ".4.delta.crc"):
        (partition / name).unlink()
    return f"""
# A delta file is missing

Deduplication with the state in Spark's own (HDFS-backed) store, 4 partitions. Somebody's clean-up job removed "old" files from the
bucket; among them was `state/0/2/4.delta`. No snapshot has been written yet, so every delta from the first on is needed.

What the engineer knows: the query was stopped cleanly after batch {stage.last_commit}; since the clean-up it does not start.

## Expected answers (for tests)

Offsets and commits are in order, but version {stage.last_commit + 1} of operator 0, partition 2 cannot be rebuilt,
because 4.delta is missing; the other three partitions can. The newest version that all partitions can still give is 3, which is the
state after batch 2.
"""


def hand_made_rewind(stage: Stage) -> str:
    """Offsets and commits above batch 5 were deleted by hand; state and the source's log still hold
    everything."""
    stage.spark.conf.set("spark.sql.shuffle.partitions", "2")
    query = _start(stage, stage.read_orders().groupBy("store").count(), "update")
    stage.feed(query, _steady_orders(stage, 14, rows=10))
    query.stop()
    newest = stage.last_commit
    for kind in ("offsets", "commits"):
        for batch in range(6, newest + 1):
            for name in (f"{batch}", f".{batch}.crc"):
                (stage.checkpoint / kind / name).unlink()
    return f"""
# A rewind made by hand

A wrong price list was used from batch 6 on. To have those batches computed again, somebody deleted the files 6 to {newest} from `offsets`
and `commits` (with their `.crc`) and left everything else as it was.

What the engineer knows: the sink has the results up to batch {newest}. The query has not been started since.

## Expected answers (for tests)

By its logs the checkpoint stands at batch {stage.last_commit}, but the state reaches up to version {newest + 1} and
the file source's own log up to entry {newest}: somebody has rewound it. The next start takes all files of the later batches at once as
batch 6, whatever `maxFilesPerTrigger` says, so batch 6 will hold other rows than before, and a sink that remembers
batch ids would drop them. A snapshot of the abandoned time line (version above {stage.last_commit + 1}) may be loaded later and must be
removed first.
"""
