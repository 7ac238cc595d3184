"""The query that the recovery answers describe, for the forecast of a plain start with it."""

from __future__ import annotations

from dataclasses import replace

from core.analysis.forecast import Query
from core.checkpoint import Checkpoint
from core.connectors.requested import read_topics
from core.recovery.answers import Answers

_LOSS = "failondataloss"


def asked_query(ck: Checkpoint, answers: Answers, query: Query) -> Query:
    """``query`` with what the answers say of the sources of this checkpoint: the topics that a Kafka source
    subscribes to, and the options of one that is given failOnDataLoss."""
    topics, options = dict(query.topics), dict(query.options)
    for source in ck.sources:
        given = answers.source_options(source.key)
        named = answers.source(source.key, "topics") or given.get("subscribe")
        if named is not None and source.kind.takes_topics:
            topics[source.key] = read_topics(named)
        if any(name.lower() == _LOSS for name in given):
            options[source.key] = given
    if topics == dict(query.topics) and options == dict(query.options):
        return query
    return replace(query, topics=topics, options=options)
