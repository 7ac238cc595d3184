"""What the errors of Kafka's connector and client mean."""

from __future__ import annotations

from core.messages.error_text import ErrorText

_BROKER = "What the broker has today is not in the files."


def _moved(means: str) -> ErrorText:
    """Partitions or offsets that changed while the source was planned."""
    return ErrorText(
        means,
        ("Topics or partitions were created or removed while the query planned a batch.",),
        action=(
            "Restart the query; if it comes back, compare the topics with the positions in the checkpoint."
        ),
        unseen=_BROKER,
    )


TEXTS: dict[str, ErrorText] = {
    "KAFKA_DATA_LOSS": ErrorText(
        "Records that the query still had to read are not in Kafka any more; with failOnDataLoss=true the"
        " query stops.",
        (
            "The retention of the topic removed them while the query was down or behind.",
            "The topic was deleted and recreated.",
        ),
        action="Paste the whole message: the line after 'Reason' says which records are gone.",
        unseen=_BROKER,
    ),
    "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE": ErrorText(
        "Records of the planned batch are not in Kafka any more. The batch stays pending with its plan, so"
        " every start fails the same way.",
        (
            "The retention of the topic removed them while the query was down or behind.",
            "The topic was deleted and recreated, and its end is below the planned range.",
        ),
        action=(
            "If the lost records exist elsewhere, backfill them. Then start once with"
            " failOnDataLoss=false: what is left is read, the rest of the range is skipped. For a topic"
            " that was recreated, start the query with a new checkpoint location (reset) and"
            " startingOffsets 0 for its partitions."
        ),
        unseen=_BROKER,
    ),
    "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED": ErrorText(
        "A partition ends below the position of the checkpoint: what Kafka has now is not what the query"
        " read. The failed start has left an uncommitted offset file; every later start keeps its plan.",
        (
            "The topic was deleted and recreated.",
            "Batch 0 is pending, sources/<n>/0 is gone and was rewritten from today's startingOffsets.",
        ),
        action=(
            "Start the query with a new checkpoint location (reset) and startingOffsets."
            " failOnDataLoss=false would leave out the first records of the new topic."
        ),
        unseen=_BROKER,
    ),
    "KAFKA_DATA_LOSS.PARTITIONS_DELETED": ErrorText(
        "Partitions that the checkpoint has positions for are not among those the query reads now. The failed"
        " start has left an uncommitted offset file; every later start keeps its plan.",
        (
            "A topic was taken out of the subscription, or replaced by another.",
            "The topic was recreated with fewer partitions.",
            "Two Kafka sources without names were swapped in the query.",
        ),
        action=(
            "Roll back to the newest committed batch (rewind), which leaves that plan out, and start the"
            " query with the topics it had. If the topic is to go: start once with failOnDataLoss=false;"
            " should it come back later, it is read from the beginning."
        ),
        unseen=_BROKER,
    ),
    "KAFKA_DATA_LOSS.PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT": ErrorText(
        "Partitions that the checkpoint has positions for are not among those the query reads now, and"
        " kafka.group.id is set. The failed start has left an uncommitted offset file; every later start"
        " keeps its plan.",
        (
            "Another consumer with the same group id took the partitions.",
            "A topic was taken out of the subscription or recreated.",
        ),
        action=(
            "Take kafka.group.id out of the query. Roll back to the newest committed batch (rewind),"
            " which leaves that plan out, and start the query with the copy."
        ),
        unseen=_BROKER,
    ),
    "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO": ErrorText(
        "A partition is new to the checkpoint, and its first records are gone already. New partitions are"
        " read from 0 whatever startingOffsets says.",
        (
            "A topic with history was added to the subscription.",
            "The partition was added long ago and the query was down since.",
        ),
        action=(
            "If the records before its start are not needed, start once with failOnDataLoss=false. Else"
            " backfill them first."
        ),
        unseen=_BROKER,
    ),
    "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS": ErrorText(
        "Kafka gave no start position for new partitions: they were gone again at once.",
        ("A topic was created and deleted, or recreated, while the query ran.",),
        action="Restart the query; if it comes back, compare the topics with the subscription.",
        unseen=_BROKER,
    ),
    "KAFKA_DATA_LOSS.START_OFFSET_RESET": ErrorText(
        "A start position that the query asked for is not in Kafka, so the consumer would begin elsewhere.",
        ("startingOffsets names records that retention has removed, or that were never written.",),
        action="Give startingOffsets that are between the start and the end of each partition.",
        unseen=_BROKER,
    ),
    "KAFKA_POSITION_OUT_OF_RANGE": ErrorText(
        "A position is not between the start and the end of its partition. This is the bare cause; the"
        " connector says more around it.",
        (
            "Retention removed the records.",
            "The topic was deleted and recreated.",
        ),
        action=(
            "Paste the whole stack trace: the connector's own error around this one says which range of"
            " which batch it is."
        ),
        unseen=_BROKER,
    ),
    "KAFKA_TOPIC_GONE": ErrorText(
        "A topic that the query subscribes to is not on the broker. Nothing was written to the checkpoint."
        " failOnDataLoss=false does not help here.",
        (
            "The topic was deleted or renamed.",
            "bootstrap.servers names another cluster.",
        ),
        action=(
            "Create the topic again only if losing its positions is understood: the old positions do not fit"
            " a new topic. Else take it out of the subscription and start the query with a new checkpoint"
            " location for the others."
        ),
        unseen=_BROKER,
    ),
    "KAFKA_POSITION_TIMEOUT": ErrorText(
        "The tasks of a pending batch waited for a partition that does not answer. The planned range is"
        " fixed, so every start waits again.  failOnDataLoss=false does not help here.",
        (
            "The topic was deleted while a batch was pending.",
            "The brokers, or the one that leads the partition, cannot be reached.",
        ),
        action=(
            "If the brokers cannot be reached: wait for them. If the topic is gone: decide whether the"
            " query resumes without it, and start it with a new checkpoint location (reset)."
        ),
        unseen=_BROKER,
    ),
    "KAFKA_POLL_TIMEOUT": ErrorText(
        "The broker has the record, and it did not arrive within kafkaConsumer.pollTimeoutMs. The batch is"
        " not committed.",
        (
            "The brokers or the network are slow, or a broker was restarted.",
            "pollTimeoutMs is small: in Spark 2.x it was 512 ms.",
        ),
        action="Restart the query; if it comes back, set kafkaConsumer.pollTimeoutMs to 120000 or more.",
        unseen="Brokers and network are not in the files.",
    ),
    "KAFKA_UNREACHABLE": ErrorText(
        "No broker answered. Nothing was read and nothing was written to the checkpoint.",
        (
            "Network, firewall or DNS.",
            "Wrong bootstrap.servers or security.protocol.",
            "The brokers are down.",
        ),
        action="Restart the query when the brokers can be reached. The checkpoint needs nothing.",
        unseen="The address of the brokers and the network are not in the files.",
    ),
    "KAFKA_CLIENT_SETUP": ErrorText(
        "Kafka's client could not be set up; the cause in the trace says which setting it refused.",
        (
            "A host in bootstrap.servers does not resolve.",
            "Two settings contradict each other.",
            "A keystore or login module is missing.",
        ),
        action="Correct the settings and restart the query. The checkpoint needs nothing.",
        unseen="The options of the source are in the query's code.",
    ),
    "KAFKA_NOT_ALLOWED": ErrorText(
        "Kafka refused: the user is not known, or may not read the topic or use the consumer group.",
        (
            "A password or certificate ran out.",
            "Rights on the topic, or on groups that begin with spark-kafka-source, are missing.",
        ),
        action="Fix the credentials or the rights and restart the query. The checkpoint needs nothing.",
        unseen="Credentials and rights are not in the files.",
    ),
    "KAFKA_START_OFFSETS_JSON": ErrorText(
        "A text that should be Kafka positions is not.",
        (
            "startingOffsets in the code is not JSON of that form.",
            "The offset in the checkpoint is one of another kind of source: the source's type was changed.",
            "Batch 0 is pending and sources/<n>/0, where it begins, is damaged.",
        ),
        action=(
            "Correct startingOffsets. If the text is an offset of another source, put the sources back as"
            " they were. A damaged sources/<n>/0 has to be restored."
        ),
        unseen="The options of the source are in the query's code.",
    ),
    "KAFKA_START_OFFSETS_INCOMPLETE": ErrorText(
        "startingOffsets as JSON must name every partition of every topic, and some are missing.",
        ("Partitions were added since the positions were noted.",),
        action="Add the missing partitions: -2 is the earliest record, -1 the latest.",
        unseen=_BROKER,
    ),
    "KAFKA_START_OFFSET_NEGATIVE": ErrorText(
        "A position is negative and not -2 or -1. Batch 0 has been planned with it, so a corrected option"
        " alone does not help.",
        (
            "startingOffsets holds a number below -2.",
            (
                "A file of the checkpoint was written by hand with -2 or -1: special values work in the"
                " option only."
            ),
        ),
        action=(
            "Correct the number and start with an empty checkpoint directory: sources/<n>/0 of the failed"
            " start holds the wrong position."
        ),
        unseen="The options of the source are in the query's code.",
    ),
    "KAFKA_NO_OFFSET_FOR_TIMESTAMP": ErrorText(
        "A partition has no record as late as the start time that the query asks for. Nothing was written to"
        " the checkpoint.",
        ("startingTimestamp lies after the last record of a partition.",),
        action=(
            "Choose an earlier time, or set startingOffsetsByTimestampStrategy=latest, which starts such a"
            " partition at its end."
        ),
        unseen=_BROKER,
    ),
    "KAFKA_START_TIMESTAMP": ErrorText(
        "startingTimestamp is not a number of milliseconds since 1970.",
        ("A date or a text was given.",),
        action="Give milliseconds. Seconds are accepted without an error and start at the first record.",
        unseen="The options of the source are in the query's code.",
    ),
    "KAFKA_BATCH_BOUNDS": ErrorText(
        "A batch read of Kafka cannot start at latest or end at earliest.",
        ("An option of a streaming query was used for a backfill.",),
        action="Give startingOffsets and endingOffsets that name every partition.",
        unseen="The options of the source are in the query's code.",
    ),
    "KAFKA_RECORDS_SKIPPED": ErrorText(
        "A warning: records were not in Kafka any more and were left out, because failOnDataLoss is false."
        " The query resumes.",
        (
            "The retention of the topic removed them before they were read.",
            "A new partition no longer began at offset 0.",
        ),
        action=(
            "Compare the positions in the checkpoint with the range that the warning names, and backfill it"
            " if the records exist elsewhere."
        ),
        unseen=_BROKER,
    ),
    "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED": ErrorText(
        "The partitions in startingOffsets are not those that exist.",
        (
            "Partitions were added since the positions were noted.",
            "A topic was recreated with another number of partitions.",
        ),
        action="Name exactly the partitions that exist: -2 is the earliest record, -1 the latest.",
        unseen=_BROKER,
    ),
    "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED": ErrorText(
        "The partitions in startingOffsetsByTimestamp are not those that exist.",
        ("Partitions were added since the times were noted.",),
        action="Name exactly the partitions that exist, or use startingTimestamp.",
        unseen=_BROKER,
    ),
    "KAFKA_DATA_SOURCE_NOT_ENABLED": ErrorText(
        "Kafka's connector is not on the class path. The checkpoint was not touched.",
        (
            "The package was left out when the query was submitted.",
            "Its version does not fit this Spark.",
        ),
        action=(
            "Add org.apache.spark:spark-sql-kafka-0-10 of the same version as Spark, and restart the query."
        ),
        unseen="The libraries of the cluster are not in the files.",
    ),
    "KAFKA_NULL_TOPIC_IN_DATA": ErrorText(
        "A row that is written to Kafka has no topic.",
        ("No topic option and an empty topic column.",),
        action=(
            "Set the option topic of the sink, or fill the column, and restart the query: the batch is"
            " re-run."
        ),
        unseen="The rows of the query are not in the checkpoint.",
    ),
    "KAFKA_MALFORMED_RECORD_TIMESTAMP": ErrorText(
        "A record in Kafka has a time that is not in milliseconds. The batch stays pending, so every start"
        " meets the record again.",
        ("The producer writes microseconds or nanoseconds.",),
        action=(
            "Correct the producer. To get past the record, start the query with a new checkpoint location"
            " with a start position after it."
        ),
        unseen=_BROKER,
    ),
    "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED": _moved(
        "The partitions changed while availableNow planned a batch."
    ),
    "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_START_OFFSET_AND_END_OFFSET": _moved(
        "The start and the end of a range name other partitions."
    ),
    "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED": _moved(
        "A batch would end beyond the end that availableNow noted at its start."
    ),
    "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW": _moved(
        "Partitions were lost while availableNow ran."
    ),
    "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW": _moved(
        "A partition ends below the end of the batch: the topic was created again, or a broker lost records."
    ),
    "RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET": _moved("The start of an offset range is after its end."),
    "UNRESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET": _moved(
        "The start position that was asked for is beyond the end."
    ),
}
