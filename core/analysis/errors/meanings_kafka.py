"""What the errors of Kafka's connector and client mean."""

from __future__ import annotations

from collections.abc import Mapping

from core.analysis.errors.model import GENERAL, Meaning, RecoveryOption

_BROKER = "What the broker holds today is not in the files."
_PLAN = " The failed start has left an offset file without a commit; every later start keeps its plan."
_NO_HELP = " failOnDataLoss=false does not help here."
_LOSE: tuple[RecoveryOption, ...] = ("reset", "backup_and_backfill", "full_refresh")
_RESTART: tuple[RecoveryOption, ...] = ("restart",)


def _loss(
    what: str,
    reasons: tuple[str, ...],
    action: str,
    options: tuple[RecoveryOption, ...] = _LOSE,
    finding: str | None = None,
) -> Meaning:
    return Meaning(what, reasons, action, options, finding, look=("kafka", "pending"), unseen=_BROKER)


def _moved(what: str) -> Meaning:
    return Meaning(
        what,
        ("Topics or partitions were created or removed while the query planned a batch.",),
        "Start again; if it comes back, compare the topics with the positions in the checkpoint.",
        ("restart", "reset"),
        look=("kafka", "pending"),
        unseen=_BROKER,
    )


KAFKA_ERRORS: Mapping[str, Meaning] = {
    "KAFKA_DATA_LOSS": Meaning(
        "Records that the query still had to read are not in Kafka any more; with failOnDataLoss=true the"
        " query stops.",
        (
            "The retention of the topic removed them while the query was down or behind.",
            "The topic was deleted and created again.",
        ),
        "See the line after 'Reason'.",
        _LOSE,
        weight=GENERAL,
        look=("kafka", "pending"),
        unseen=_BROKER,
    ),
    "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE": _loss(
        "Records of the planned batch are not in Kafka any more. The batch stays pending with its plan, so"
        " every start fails the same way.",
        (
            "The retention of the topic removed them while the query was down or behind.",
            "The topic was deleted and created again, and its end is below the planned range.",
        ),
        "If the lost records exist elsewhere, backfill them. Then start once with failOnDataLoss=false: what"
        " is left is read, the rest of the range is skipped. For a topic that was created again, delete the"
        " uncommitted offset file with its .crc and set the positions of that topic to 0.",
        ("backup_and_backfill", "restart", "reset"),
    ),
    "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED": _loss(
        "A partition ends below the position of the checkpoint: what Kafka has now is not what the query"
        " read." + _PLAN,
        (
            "The topic was deleted and created again.",
            "Batch 0 is pending, sources/<n>/0 is gone and was written anew from today's startingOffsets.",
        ),
        "Delete the offset file without a commit and its .crc, and set the partition to 0 in the newest"
        " committed offset file (without its .crc); or begin a new checkpoint with startingOffsets."
        " failOnDataLoss=false would leave out the first records of the new topic.",
        ("repair", "reset"),
        "FAILED_PLAN_LEFT",
    ),
    "KAFKA_DATA_LOSS.PARTITIONS_DELETED": _loss(
        "Partitions that the checkpoint has positions for are not among those the query reads now." + _PLAN,
        (
            "A topic was taken out of the subscription, or replaced by another.",
            "The topic was created again with fewer partitions.",
            "Two Kafka sources without names were swapped in the query.",
        ),
        "Delete the offset file without a commit and its .crc, and start the query with the topics it had. If"
        " the topic is to go: start once with failOnDataLoss=false; should it come back later, it is read"
        " from the beginning.",
        ("repair", "change_query", "reset"),
        "KAFKA_TOPIC_REMOVED",
    ),
    "KAFKA_DATA_LOSS.PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT": _loss(
        "Partitions that the checkpoint has positions for are not among those the query reads now, and"
        " kafka.group.id is set." + _PLAN,
        (
            "Another consumer with the same group id took the partitions.",
            "A topic was taken out of the subscription or created again.",
        ),
        "Remove kafka.group.id, delete the offset file without a commit and its .crc, and start again.",
        ("repair", "change_query"),
        "KAFKA_TOPIC_REMOVED",
    ),
    "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO": _loss(
        "A partition is new to the checkpoint, and its first records are gone already. New partitions are"
        " read from 0 whatever startingOffsets says.",
        (
            "A topic with history was added to the subscription.",
            "The partition was added long ago and the query was down since.",
        ),
        "If the records before its start are not needed, start once with failOnDataLoss=false. Else backfill"
        " them first.",
        ("restart", "backup_and_backfill"),
    ),
    "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS": _loss(
        "Kafka gave no start position for new partitions: they were gone again at once.",
        ("A topic was created and deleted, or created again, while the query ran.",),
        "Start again; if it comes back, compare the topics with the subscription.",
        ("restart", "reset"),
    ),
    "KAFKA_DATA_LOSS.START_OFFSET_RESET": _loss(
        "A start position that the query asked for is not in Kafka, so the consumer would begin elsewhere.",
        ("startingOffsets names records that retention has removed, or that were never written.",),
        "Give startingOffsets that are between the start and the end of each partition.",
        ("change_query",),
    ),
    "KAFKA_POSITION_OUT_OF_RANGE": Meaning(
        "A position is not between the start and the end of its partition. This is the bare cause; the"
        " connector says more around it.",
        ("Retention removed the records.", "The topic was deleted and created again."),
        "See the error around it.",
        _LOSE,
        weight=GENERAL,
        look=("kafka", "pending"),
        unseen=_BROKER,
    ),
    "KAFKA_TOPIC_GONE": Meaning(
        "A topic that the query subscribes to is not on the broker. Nothing was written to the checkpoint."
        + _NO_HELP,
        ("The topic was deleted or renamed.", "bootstrap.servers names another cluster."),
        "Create the topic again only if losing its positions is understood: the old positions do not fit a"
        " new topic. Else take it out of the subscription and begin a new checkpoint for the others.",
        ("reset", "change_query"),
        look=("kafka",),
        unseen=_BROKER,
    ),
    "KAFKA_POSITION_TIMEOUT": Meaning(
        "The tasks of a pending batch waited for a partition that does not answer. The planned range is"
        " fixed, so every start waits again. " + _NO_HELP,
        (
            "The topic was deleted while a batch was pending.",
            "The brokers, or the one that leads the partition, cannot be reached.",
        ),
        "If the brokers cannot be reached: wait for them. If the topic is gone: delete the offset file"
        " without a commit and its .crc, then see to the topic.",
        ("restart", "repair", "reset"),
        look=("kafka", "pending"),
        unseen=_BROKER,
    ),
    "KAFKA_UNREACHABLE": Meaning(
        "No broker answered. Nothing was read and nothing was written to the checkpoint.",
        (
            "Network, firewall or DNS.",
            "Wrong bootstrap.servers or security.protocol.",
            "The brokers are down.",
        ),
        "Start again when the brokers can be reached. The checkpoint needs nothing.",
        _RESTART,
        look=("kafka",),
        unseen="The address of the brokers and the network are not in the files.",
    ),
    "KAFKA_CLIENT_SETUP": Meaning(
        "Kafka's client could not be set up; the cause in the trace says which setting it refused.",
        (
            "A host in bootstrap.servers does not resolve.",
            "Two settings contradict each other.",
            "A keystore or login module is missing.",
        ),
        "Correct the settings and start again. The checkpoint needs nothing.",
        _RESTART,
        weight=GENERAL,
        look=("kafka",),
        unseen="The options of the source are in the query's code.",
    ),
    "KAFKA_NOT_ALLOWED": Meaning(
        "Kafka refused: the user is not known, or may not read the topic or use the consumer group.",
        (
            "A password or certificate ran out.",
            "Rights on the topic, or on groups that begin with spark-kafka-source, are missing.",
        ),
        "Mend the credentials or the rights and start again. The checkpoint needs nothing.",
        _RESTART,
        look=("kafka",),
        unseen="Credentials and rights are not in the files.",
    ),
    "KAFKA_START_OFFSETS_JSON": Meaning(
        "A text that should be Kafka positions is not.",
        (
            "startingOffsets in the code is not JSON of that form.",
            "The offset in the checkpoint is one of another kind of source: the source's type was changed.",
            "Batch 0 is pending and sources/<n>/0, where it begins, is damaged.",
        ),
        "Correct startingOffsets. If the text is an offset of another source, put the sources back as they"
        " were. A damaged sources/<n>/0 has to be restored.",
        ("change_query", "reset"),
        look=("sources",),
        unseen="The options of the source are in the query's code.",
    ),
    "KAFKA_START_OFFSETS_INCOMPLETE": Meaning(
        "startingOffsets as JSON must name every partition of every topic, and some are missing.",
        ("Partitions were added since the positions were noted.",),
        "Add the missing partitions: -2 is the earliest record, -1 the latest.",
        ("change_query",),
        look=("kafka",),
        unseen=_BROKER,
    ),
    "KAFKA_START_OFFSET_NEGATIVE": Meaning(
        "A position is negative and not -2 or -1. Batch 0 has been planned with it, so a corrected option"
        " alone does not help.",
        (
            "startingOffsets holds a number below -2.",
            (
                "A file of the checkpoint was written by hand with -2 or -1: special values work in the"
                " option only."
            ),
        ),
        "Correct the number and start with an empty checkpoint directory: sources/<n>/0 of the failed start"
        " holds the wrong position.",
        ("change_query", "reset"),
        look=("kafka", "pending"),
        unseen="The options of the source are in the query's code.",
    ),
    "KAFKA_NO_OFFSET_FOR_TIMESTAMP": Meaning(
        "A partition has no record as late as the start time that the query asks for. Nothing was written to"
        " the checkpoint.",
        ("startingTimestamp lies after the last record of a partition.",),
        "Choose an earlier time, or set startingOffsetsByTimestampStrategy=latest, which starts such a"
        " partition at its end.",
        ("change_query",),
        look=("kafka",),
        unseen=_BROKER,
    ),
    "KAFKA_START_TIMESTAMP": Meaning(
        "startingTimestamp is not a number of milliseconds since 1970.",
        ("A date or a text was given.",),
        "Give milliseconds. Seconds are accepted without an error and start at the first record.",
        ("change_query",),
        unseen="The options of the source are in the query's code.",
    ),
    "KAFKA_BATCH_BOUNDS": Meaning(
        "A batch read of Kafka cannot start at latest or end at earliest.",
        ("An option of a streaming query was used for a backfill.",),
        "Give startingOffsets and endingOffsets that name every partition.",
        ("change_query",),
        unseen="The options of the source are in the query's code.",
    ),
    "KAFKA_RECORDS_SKIPPED": Meaning(
        "A warning: records were not in Kafka any more and were left out, because failOnDataLoss is false."
        " The query goes on.",
        (
            "The retention of the topic removed them before they were read.",
            "A new partition no longer began at offset 0.",
        ),
        "Compare the positions in the checkpoint with the range that the warning names, and backfill it if"
        " the records exist elsewhere.",
        ("backup_and_backfill",),
        look=("kafka",),
        unseen=_BROKER,
    ),
    "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED": Meaning(
        "The partitions in startingOffsets are not those that exist.",
        (
            "Partitions were added since the positions were noted.",
            "A topic was created again with another number of partitions.",
        ),
        "Name exactly the partitions that exist: -2 is the earliest record, -1 the latest.",
        ("change_query",),
        look=("kafka",),
        unseen=_BROKER,
    ),
    "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED": Meaning(
        "The partitions in startingOffsetsByTimestamp are not those that exist.",
        ("Partitions were added since the times were noted.",),
        "Name exactly the partitions that exist, or use startingTimestamp.",
        ("change_query",),
        look=("kafka",),
        unseen=_BROKER,
    ),
    "KAFKA_DATA_SOURCE_NOT_ENABLED": Meaning(
        "Kafka's connector is not on the class path. The checkpoint was not touched.",
        ("The package was left out when the query was submitted.", "Its version does not fit this Spark."),
        "Add org.apache.spark:spark-sql-kafka-0-10 of the same version as Spark, and start again.",
        _RESTART,
        unseen="The libraries of the cluster are not in the files.",
    ),
    "KAFKA_NULL_TOPIC_IN_DATA": Meaning(
        "A row that is written to Kafka has no topic.",
        ("No topic option and an empty topic column.",),
        "Set the option topic of the sink, or fill the column, and start again: the batch runs again.",
        ("change_query", "restart"),
        look=("pending",),
        unseen="The rows of the query are not in the checkpoint.",
    ),
    "KAFKA_MALFORMED_RECORD_TIMESTAMP": Meaning(
        "A record in Kafka has a time that is not in milliseconds. The batch stays pending, so every start"
        " meets the record again.",
        ("The producer writes microseconds or nanoseconds.",),
        "Correct the producer. To get past the record, begin a new checkpoint with a start position"
        " after it.",
        ("reset",),
        look=("kafka", "pending"),
        unseen=_BROKER,
    ),
    "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED": _moved(
        "The partitions changed while availableNow planned a batch."
    ),
    "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_START_OFFSET_AND_END_OFFSET": _moved(
        "The start and the end of a range name other partitions."
    ),
    "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED": _moved(
        "A batch would end behind the end that availableNow noted at its start."
    ),
    "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW": _moved(
        "Partitions were lost while availableNow ran."
    ),
    "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW": _moved(
        "A partition ends below the end of the batch: the topic was created again, or a broker lost records."
    ),
    "RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET": _moved(
        "The start position of a range is behind its end."
    ),
    "UNRESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET": _moved(
        "The start position that was asked for is behind the end."
    ),
}
