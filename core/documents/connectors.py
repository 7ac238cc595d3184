"""What the ends told, as the fields ``sources`` and ``sink`` of ``python -m core forecast``."""

from __future__ import annotations

from core.checkpoint import Checkpoint
from core.connectors.delta.source import delta_source_state
from core.connectors.kafka.partitions import kafka_partition_states, kafka_topic_states
from core.connectors.model import ConnectorAnswers, SinkState


def sources_json(ck: Checkpoint, connectors: ConnectorAnswers) -> list[dict[str, object]]:
    """One object for each source whose end was asked; a source that could not be asked has its ``trouble``."""
    found: list[dict[str, object]] = []
    for source in ck.sources:
        if source.key in connectors.brokers:
            found.append(_kafka(ck, source.key, connectors))
        elif source.key in connectors.tables:
            found.append(_delta(ck, source.key, connectors))
        elif (trouble := connectors.troubles.get(f"source {source.key}")) is not None:
            found.append({"key": source.key, "kind": source.kind.name, "partitions": [], "trouble": trouble})
    return found


def sink_json(sink: SinkState | None) -> dict[str, object] | None:
    """The sink; None when it was not asked."""
    if sink is None:
        return None
    return {
        "kind": sink.kind,
        "holds_up_to_batch": sink.holds_up_to_batch,
        "pending": sink.pending,
        "skips_up_to": sink.skips_up_to,
        "sentence": sink.sentence,
        "certainty": sink.certainty,
        "warnings": list(sink.warnings),
        "evidence": list(sink.evidence),
        "trouble": sink.trouble,
    }


def _kafka(ck: Checkpoint, key: str, connectors: ConnectorAnswers) -> dict[str, object]:
    broker = connectors.brokers[key]
    return {
        "key": key,
        "kind": "kafka",
        "servers": broker.servers,
        "asked_at_ms": broker.asked_at_ms,
        "seconds": round(broker.seconds, 3),
        "requests": broker.requests,
        "trouble": broker.trouble,
        "topics": [
            {
                "name": topic.name,
                "exists": topic.exists,
                "retention": topic.retention_words,
                "is_recreated": topic.is_recreated,
                "sentence": topic.sentence,
                "similar": list(topic.similar),
            }
            for topic in kafka_topic_states(ck, key, broker)
        ],
        "partitions": [
            {
                "name": row.name,
                "state": row.state,
                "earliest": row.earliest,
                "position": row.position,
                "planned": row.planned,
                "latest": row.latest,
                "lag": row.lag,
                "lost": row.lost,
                "safety": row.safety,
                "safe_until_ms": row.safe_until_ms,
                "sentence": row.sentence,
            }
            for row in kafka_partition_states(ck, key, broker)
        ],
    }


def _delta(ck: Checkpoint, key: str, connectors: ConnectorAnswers) -> dict[str, object]:
    end = delta_source_state(ck, key, connectors.tables[key])
    return {
        "key": key,
        "kind": "delta",
        "partitions": [],
        "table_id": end.table_id,
        "same_table": end.same_table,
        "oldest": end.oldest,
        "newest": end.newest,
        "position": end.position,
        "needed_from": end.needed_from,
        "is_available": end.is_available,
        "lag_versions": end.lag_versions,
        "lag_files": end.lag_files,
        "lag_bytes": end.lag_bytes,
        "lag_rows": end.lag_rows,
        "sentence": end.sentence,
        "certainty": end.certainty,
        "trouble": end.trouble,
    }
