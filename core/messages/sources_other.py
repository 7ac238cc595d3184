"""What the offsets of message systems, Kinesis, document stores and other table formats mean."""

from __future__ import annotations

_COPY_THE_LOGS = (
    " A new checkpoint directory with a new ID in `metadata` and a copy of the last two offset log"
    " entries, the last commit and all of `sources/` should resume at the same place; that was not tried"
    " with this source."
)

SENTENCES: dict[str, str] = {
    "sequence_numbers": ("Sequence numbers are not counts."),
    "shards_moved": ("{moved} of {shards:counted shard} moved; sequence numbers are not counts."),
    "kinesis_repeats": (
        "with a time: the records from it to the last committed position; with trim_horizon: all that the"
        " stream still retains"
    ),
    "kinesis_skips": ("with latest: everything not yet read; with a time that is early enough: nothing"),
    "shard": ("{shard} {place}"),
    "shards": ("{count:counted shard}: {places:listed 2}"),
    "kinesis_qubole": (
        "Kinesis has no start per shard: initialPosition is latest, trim_horizon or one time for all"
        " shards. Choose a time a little before the last committed batch and remove the repeats at the"
        " target. The offset log has where the batch started; what was read of each shard is below"
        " `sources/<n>/shard-commit`."
    ),
    "kinesis_awslabs": (
        "Kinesis has no start per shard: initialPosition is latest, trim_horizon or one time for all"
        " shards. Choose a time a little before the last committed batch and remove the repeats at the"
        " target. The offset log has where the batch started; what was read of each shard is below"
        " `sources/<n>/shard-commit` or in DynamoDB."
    ),
    "kinesis_databricks": (
        "Kinesis has no start per shard: initialPosition is latest, trim_horizon or one time for all"
        " shards. Choose a time a little before the last committed batch and remove the repeats at the"
        " target. A copy of the offsets into a new checkpoint was not tried on Databricks."
    ),
    "shard_after": ("after {last}"),
    "shard_closed": ("after {last}, closed"),
    "shard_behind": ("after {last}, {behind} ms behind"),
    "shard_closed_behind": ("after {last}, closed, {behind} ms behind"),
    "pubsub_resume": (
        "The offset counts fetches, not messages: it is not a position. Seek the subscription to a"
        " snapshot or a time first, and remove repeats at the target."
    ),
    "pubsub_repeats": ("messages delivered but not acknowledged, and all after the time you seek to"),
    "skips_nothing_if_early": ("nothing when the time is early enough"),
    "not_pubsub": ("Not a Pub/Sub offset."),
    "pubsub": ("Fetch {fetch} of epoch {epoch}"),
    "pubsub_lite_resume": (
        "The connector has no start option: seek the subscription before the start. Next messages by"
        " partition: {following:listed 20}." + _COPY_THE_LOGS
    ),
    "depends_on_subscription": ("depends on the position of the subscription"),
    "not_pubsub_lite": ("Not a Pub/Sub Lite offset."),
    "pubsub_lite": ("Last messages read: {read:listed 5}"),
    "pulsar_other_ledger": ("Another ledger: only Pulsar knows the distance."),
    "pulsar_repeats": (
        "the last message already read of each topic (a start given by the user includes its message;"
        " older connectors exclude it)"
    ),
    "pulsar_resume": (
        "Applies only to a new, empty checkpoint. Every topic must be named. The ledger of each ID must"
        " still be retained by Pulsar."
    ),
    "pulsar_id": ("{topic} ledger {ledger} entry {entry}"),
    "pulsar": ("Last message IDs read: {ids:listed 2}"),
    "not_pulsar": ("Not a Pulsar offset."),
    "redis_resume": (
        "Resets the consumer groups named in it, so the old query must be stopped. Entries trimmed from"
        " the stream since are gone."
    ),
    "not_redis": ("Not a Redis streams offset."),
    "redis": ("Last IDs read: {ids:listed 3}"),
    "mongodb_resume": (
        "Needs connector 10.2 or newer (the option names may have the prefix spark.mongodb.read.). Applies"
        " only to a new, empty checkpoint. The time must still be in the oplog."
    ),
    "mongodb_token_resume": (
        "This offset is a resume token, and no option takes one; a start at a time needs the time of the"
        " last change read." + _COPY_THE_LOGS
    ),
    "mongodb_token_repeats": ("with an earlier time: the changes between it and the token"),
    "mongodb_token_skips": ("with a later time: the changes between the token and it"),
    "mongodb": ("Changes before cluster time {time}"),
    "mongodb_token": ("Resume token {token}"),
    "not_mongodb": ("Not a MongoDB offset."),
    "cosmos_resume": (
        "spark.cosmos.changeFeed.startFrom takes Beginning, Now or one time, not this position. Choose a"
        " time a little before the last committed batch and remove the repeats at the target."
        + _COPY_THE_LOGS
    ),
    "cosmos_repeats": ("the changes between that time and the last committed position"),
    "cosmos_skips": (
        "nothing when the time is early enough; deletes and intermediate versions are not in the feed by"
        " default"
    ),
    "not_cosmos": ("Not a Cosmos DB offset."),
    "cosmos_not_decoded": ("Continuation state that could not be decoded"),
    "cosmos_range": ("{name} at {token}"),
    "cosmos": ("{count:counted feed range}: {ranges:listed 2}"),
    "iceberg_moved": ("Moved on to snapshot {snapshot} ({files:counted file} of it)."),
    "iceberg_nothing_read": (
        "Nothing was read yet: the table was empty, or stream-from-timestamp was in the future. Start with"
        " the query's own options."
    ),
    "skips_nothing_same_options": ("nothing, with the same options as before"),
    "iceberg_whole_snapshot": (
        "Set stream-from-timestamp to the commit time of snapshot {snapshot}: exact, for nothing of it was"
        " read yet. Commit times are in the table's history, not in the checkpoint; start-snapshot-id is"
        " ignored without a message."
    ),
    "iceberg_whole_repeats": (
        "nothing with that time; without an option: everything from the oldest snapshot on"
    ),
    "iceberg_whole_skips": ("nothing with that time"),
    "iceberg_inside_snapshot": (
        "Taken of snapshot {snapshot} so far: {files:counted file}. If it added no more than that, set"
        " stream-from-timestamp to its commit time + 1 ms: exact. If it added more, no option fits. Commit"
        " times are in the table's history, not in the checkpoint; start-snapshot-id is ignored without a"
        " message." + _COPY_THE_LOGS
    ),
    "iceberg_inside_repeats": (
        "with the commit time of snapshot {snapshot}: its files already taken; without an option: all from"
        " the oldest on"
    ),
    "iceberg_inside_skips": ("with that time + 1 ms: the files of snapshot {snapshot} not yet taken"),
    "not_iceberg": ("Not an Iceberg offset."),
    "iceberg_no_snapshot": ("Iceberg table without a snapshot yet"),
    "iceberg": ("Iceberg snapshot {snapshot}, {files:counted file} of it taken"),
    "iceberg_first_snapshot": (
        "Iceberg snapshot {snapshot}, {files:counted file} of it taken, reading the first snapshot in full"
    ),
    "paimon_resume": (
        "Paimon starts at whole snapshots (scan.snapshot-id), and the checkpoint does not always show"
        " whether snapshot {snapshot} was finished. Compare with the table." + _COPY_THE_LOGS
    ),
    "paimon_repeats": ("with the same snapshot: the splits of it already read"),
    "paimon_skips": ("with the next snapshot: the splits of this one not yet read"),
    "not_paimon": ("Not a Paimon offset."),
    "paimon": ("Paimon snapshot {snapshot}, {splits} splits done"),
    "paimon_of": ("Paimon snapshot {snapshot}, {splits} of {total} splits done"),
    "hudi_distance": ("How many commits are between is in the table's timeline only."),
    "hudi_resume": (
        "Needs Hudi 0.12.2 or newer; older ones always start at the earliest instant. Applies only to a"
        " new, empty checkpoint. The instant must still be in the active timeline."
    ),
    "not_hudi": ("Not a Hudi offset."),
    "hudi_before_first": ("Before the first commit"),
    "hudi": ("Commits up to {instant} were read"),
}
