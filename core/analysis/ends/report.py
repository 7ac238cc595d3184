"""What the ends told, as the fields ``sources`` and ``sink`` of ``python -m core forecast``."""

from __future__ import annotations

from core.analysis.ends.delta_source import delta_source_end
from core.analysis.ends.kafka import partition_ends, topic_ends
from core.analysis.ends.model import Ends, SinkEnd
from core.checkpoint import Checkpoint


def sources_json(ck: Checkpoint, ends: Ends) -> list[dict[str, object]]:
    """One object for each source whose end was asked; a source that could not be asked has its ``trouble``."""
    found: list[dict[str, object]] = []
    for source in ck.sources:
        if source.key in ends.brokers:
            found.append(_kafka(ck, source.key, ends))
        elif source.key in ends.tables:
            found.append(_delta(ck, source.key, ends))
        elif (trouble := ends.troubles.get(f"source {source.key}")) is not None:
            found.append({"key": source.key, "kind": source.kind.name, "partitions": [], "trouble": trouble})
    return found


def sink_json(sink: SinkEnd | None) -> dict[str, object] | None:
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


def _kafka(ck: Checkpoint, key: str, ends: Ends) -> dict[str, object]:
    broker = ends.brokers[key]
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
            for topic in topic_ends(ck, key, broker)
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
            for row in partition_ends(ck, key, broker)
        ],
    }


def _delta(ck: Checkpoint, key: str, ends: Ends) -> dict[str, object]:
    end = delta_source_end(ck, key, ends.tables[key])
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
