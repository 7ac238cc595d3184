"""The query that the recovery answers describe, for the forecast of a plain start with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from core.analysis.forecast import Query
from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers
from core.connectors.delta.log import DeltaLog
from core.connectors.requested import read_topics, topics_of_options
from core.recovery.answers import Answers


def asked_query(ck: Checkpoint, answers: Answers, query: Query) -> Query:
    """``query`` with what the answers say of the sources of this checkpoint: the topics that a Kafka source
    subscribes to, and the reader options, as the forecast takes them from its own arguments."""
    topics, options = dict(query.topics), dict(query.options)
    for source in ck.sources:
        given = answers.source_options(source.key)
        named = answers.source(source.key, "topics")
        read = topics_of_options(given) if named is None else read_topics(named)
        if read is not None and source.kind.takes_topics:
            topics[source.key] = read
        if given:
            options[source.key] = given
    if topics == dict(query.topics) and options == dict(query.options):
        return query
    return replace(query, topics=topics, options=options)


def asked_sink(answers: Answers, connectors: ConnectorAnswers | None) -> Literal["file", "delta"] | None:
    """That the query writes to a file sink or a Delta table, where somebody says so and it matters: the place
    that was given for a file sink shows no log, that of a table may show no batch."""
    answer = answers.get("sink")
    if connectors is None:
        return None
    if answer == "file" and connectors.shows_no_sink_log:
        return "file"
    return "delta" if answer == "delta" and isinstance(connectors.sink, DeltaLog) else None
