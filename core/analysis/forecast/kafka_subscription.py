"""How a Kafka source names its topics, as far as somebody says it: what a topic that is gone does depends on
that (observed with 4.3; docs/findings.md, KAFKA_TOPIC_GONE)."""

from __future__ import annotations

import re
from typing import Literal

from core.analysis.forecast.model import Query
from core.connectors.answers import BrokerAnswer

Way = Literal["subscribe", "assign", "subscribePattern"]
_WAYS: tuple[Way, ...] = ("subscribePattern", "assign", "subscribe")


def way_of(query: Query, key: str) -> Way | None:
    """The option that names the topics of source ``key``; None where nobody says it."""
    given = next((way for way in _WAYS if query.option(key, way) is not None), None)
    return "subscribe" if given is None and key in query.topics else given


def wanted_topics(query: Query, key: str, answer: BrokerAnswer | None) -> tuple[str, ...] | None:
    """The topics that today's query reads; None where nobody says it. A pattern takes what the broker has."""
    pattern = query.option(key, "subscribePattern")
    if pattern is None:
        return query.topics.get(key)
    if answer is None:
        return None
    try:
        matches = re.compile(pattern).fullmatch
    except re.error:  # a form that only Java knows
        return None
    there = dict.fromkeys((*answer.topics, *answer.all_topics))
    return tuple(name for name in there if matches(name) and not name.startswith("__"))
