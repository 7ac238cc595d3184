"""Errors of Kafka's connector and client, plain and deep inside a Python traceback of a foreachBatch
function: the same one is found."""

from __future__ import annotations

import pytest

from core.analysis.errors import explain

HEAD = """Some data may have been lost because they are not available in Kafka any more;
either the data was aged out by Kafka or the topic may have been deleted before all the data in the
topic was processed.
If you don't want your streaming query to fail on such cases, set the source
option failOnDataLoss to false.
Reason: """
ID = "5a51d2d6-e91d-41ca-ab6e-687a5c9650f5"
QUERY = f"[STREAM_FAILED] Query [id = {ID}, runId = {ID}] terminated with exception: "
IN_PYTHON = """[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach batch sink. \
Reason: An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/py4j/clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
  File "/app/job.py", line 52, in write
    frame.write.mode("append").json("/out")
py4j.protocol.Py4JJavaError: An error occurred while calling o123.json.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: \
Lost task 0.0 in stage 3.0 (TID 6) (localhost executor driver): {error}
\tat org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer.get(KafkaDataConsumer.scala:361)
\t... 20 more
 SQLSTATE: 39000 SQLSTATE: XXKST
"""
LOSS, CLIENT = "org.apache.spark.sql.kafka010.KafkaIllegalStateException: ", "org.apache.kafka."
OTHERS = "Specified: Set(t-0) Assigned: Set(t-0, t-1)"
TEXTS = {
    "range": (
        LOSS + HEAD + "Could not read records in offset [10, 20) for topic partition t-0\nwith consumer group"
        " x-executor.",
        "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE",
    ),
    "changed": (
        LOSS + HEAD + "Partition t-0 offset was changed from 10 to 5.\nThis could be",
        "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED",
    ),
    "deleted": (LOSS + HEAD + "Partitions Set(t-1) have been deleted.", "KAFKA_DATA_LOSS.PARTITIONS_DELETED"),
    "added": (
        LOSS + HEAD + "Added partition t-2 starts from 3 instead of 0.",
        "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
    ),
    "out_of_range": (
        CLIENT
        + "clients.consumer.OffsetOutOfRangeException: Fetch position FetchPosition{offset=10} is out of"
        " range for partition t-0",
        "KAFKA_POSITION_OUT_OF_RANGE",
    ),
    "no_reset_policy": (
        CLIENT
        + "clients.consumer.OffsetOutOfRangeException: Offsets out of range with no configured reset policy"
        " for partitions: {t-0=7}",
        "KAFKA_POSITION_OUT_OF_RANGE",
    ),
    "topic_gone": (
        CLIENT
        + "common.errors.UnknownTopicOrPartitionException: This server does not host this topic-partition.",
        "KAFKA_TOPIC_GONE",
    ),
    "position_timeout": (
        CLIENT
        + "common.errors.TimeoutException: Timeout of 60000ms expired before the position for partition t-1"
        " could be determined",
        "KAFKA_POSITION_TIMEOUT",
    ),
    "no_node": (
        CLIENT + "common.errors.TimeoutException: Timed out waiting for a node assignment. Call: listNodes",
        "KAFKA_UNREACHABLE",
    ),
    "no_name": (
        CLIENT + "common.config.ConfigException: No resolvable bootstrap urls given in bootstrap.servers",
        "KAFKA_UNREACHABLE",
    ),
    "setup": (CLIENT + "common.KafkaException: Failed to create new KafkaAdminClient", "KAFKA_CLIENT_SETUP"),
    "timeouts": (
        CLIENT
        + "common.config.ConfigException: The specified value of default.api.timeout.ms must be no smaller"
        " than the value of request.timeout.ms.",
        "KAFKA_CLIENT_SETUP",
    ),
    "incomplete": (
        (
            "java.lang.AssertionError: assertion failed: If startingOffsets contains specific offsets, you"
            " must specify all TopicPartitions."
        ),
        "KAFKA_START_OFFSETS_INCOMPLETE",
    ),
    "not_json": (
        (
            'java.lang.IllegalArgumentException: Expected e.g. {"topicA":{"0":23,"1":-1},"topicB":{"0":-2}},'
            " got {x"
        ),
        "KAFKA_START_OFFSETS_JSON",
    ),
    "negative": (
        "java.lang.AssertionError: assertion failed: earliest offset -3 does not equal -2",
        "KAFKA_START_OFFSET_NEGATIVE",
    ),
    "too_late": (
        (
            "java.lang.IllegalArgumentException: No offset matched from request of topic-partition t-1 and"
            " timestamp 1700000006000."
        ),
        "KAFKA_NO_OFFSET_FOR_TIMESTAMP",
    ),
    "no_number": (
        "java.lang.IllegalArgumentException: Expected a single long value, got 2023-11-14",
        "KAFKA_START_TIMESTAMP",
    ),
    "batch_start": (
        "java.lang.IllegalArgumentException: starting offset can't be latest for batch queries on Kafka",
        "KAFKA_BATCH_BOUNDS",
    ),
    "batch_end": (
        "java.lang.IllegalArgumentException: ending offset can't be earliest for batch queries on Kafka",
        "KAFKA_BATCH_BOUNDS",
    ),
    "assigned": (
        LOSS + "Partitions specified for Kafka start offsets don't match what are assigned. Maybe topic"
        f" partitions changed.\n{OTHERS}",
        "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED",
    ),
}


@pytest.mark.parametrize("text", ["plain", "query", "python"])
@pytest.mark.parametrize("case", list(TEXTS))
def test_a_kafka_error_is_found_however_deep_it_sits(case: str, text: str) -> None:
    error, name = TEXTS[case]
    deep = QUERY + IN_PYTHON.replace("{error}", error)
    assert (
        explain({"plain": error, "query": f"{QUERY}{error} SQLSTATE: XXKST", "python": deep}[text]).name
        == name
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "Partition t-0's offset was changed from 10 to 5, some data may have been missed.",
            "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED",
        ),
        ("Set(t-1) are gone. Some data may have been missed.", "KAFKA_DATA_LOSS.PARTITIONS_DELETED"),
        ("Cannot fetch offset 10 (GroupId: x-executor, TopicPartition: t-0).", "KAFKA_POSITION_OUT_OF_RANGE"),
        (
            "Added partition t-2 starts from 3 instead of 0. Some data may have been missed.",
            "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
        ),
    ],
)
def test_the_words_of_connectors_before_4_0_are_known(text: str, name: str) -> None:
    assert explain(f"{QUERY}java.lang.IllegalStateException: {text}").name == name


def test_the_whole_trace_of_connectors_before_4_0_does_not_ask_for_the_whole_trace() -> None:
    """The connector's own error is there, and the client's bare one below it."""
    answer = explain(
        f"{QUERY}Job aborted due to stage failure: Task 1 in stage 0.0 failed 4 times, most recent failure: Lost"
        " task 1.3 in stage 0.0 (TID 7): java.lang.IllegalStateException: Cannot fetch offset 184 (GroupId:"
        " spark-kafka-source-92ab-1, TopicPartition: orders-1).\nSome data may have been lost because they are"
        " not available in Kafka any more; either the\n data was aged out by Kafka or the topic may have been"
        " deleted before all the data in the\n topic was processed. If you don't want your streaming query to"
        ' fail on such cases, set the\n source option "failOnDataLoss" to "false".\n'
        "\tat org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer.get(KafkaDataConsumer.scala:750)\n"
        "Caused by: org.apache.kafka.clients.consumer.OffsetOutOfRangeException: Fetch position"
        " FetchPosition{offset=184} is out of range for partition orders-1\n"
    )
    assert answer.name == "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"
    assert "failOnDataLoss=false" in answer.action and "Paste" not in answer.action


def test_a_warning_about_skipped_records_is_not_taken_for_an_error_that_stops() -> None:
    line = (
        "WARN KafkaDataConsumer: Cannot fetch offset 10(GroupId: spark-kafka-source-x-executor,"
        " TopicPartition: t-0).\n"
    )
    assert (
        explain(line + "Some data may be lost. Recovering from the earliest offset: 15").name
        == "KAFKA_RECORDS_SKIPPED"
    )
