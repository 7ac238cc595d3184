"""What lies at the source and the sink of a query: Kafka brokers, the logs of Delta tables, the log of the
file sink. Asked only on request.

``connect`` asks each of them once; the modules beside it judge each position once: ``kafka/partitions``,
``delta/source``, ``sink``. Nothing is consumed, committed, created or written; secrets stay inside the
client.
"""

from core.connectors.model import (
    ConnectorAnswers,
    ConnectorSettings,
    DeltaSourceState,
    KafkaPartitionState,
    KafkaTopicState,
    SinkBatch,
    SinkState,
)

__all__ = [
    "ConnectorAnswers",
    "ConnectorSettings",
    "DeltaSourceState",
    "KafkaPartitionState",
    "KafkaTopicState",
    "SinkBatch",
    "SinkState",
]
