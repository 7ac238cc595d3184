"""What was asked for beside the checkpoint: read once for the command line and for the pages, which only take
the words from their arguments or their address.

A key that names no such source is a refusal (``unknown_source``, ``no_place``, ``no_broker``), never a guess;
who asked says it in words that fit the place where it was typed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

from core.checkpoint import Checkpoint, Source
from core.connectors.model import ConnectorAnswers, ConnectorSettings

Refusal = Literal["unknown_source", "no_place", "no_broker"]


def sources_with_place(ck: Checkpoint) -> tuple[Source, ...]:
    """The sources that read a directory or a table, whose place can be given."""
    return tuple(source for source in ck.sources if source.kind.has_place)


def sources_with_broker(ck: Checkpoint) -> tuple[Source, ...]:
    """The sources that read from a broker."""
    return tuple(source for source in ck.sources if source.kind.asks == "broker")


def place_refused(ck: Checkpoint, key: str) -> Refusal | None:
    """Why a place cannot be given for the source ``key``; None when it can. A checkpoint that names no source
    takes what is given."""
    source = ck.source(key)
    if not ck.sources and key:
        return None
    if source is None:
        return "unknown_source"
    return None if source.kind.has_place else "no_place"


def topics_refused(ck: Checkpoint, key: str) -> Refusal | None:
    """Why topics cannot be given for the source ``key``; None when they can."""
    source = ck.source(key)
    if source is None:
        return "unknown_source"
    return None if source.kind.asks == "broker" else "no_broker"


def read_topics(text: str) -> tuple[str, ...]:
    """``orders, refunds`` as names, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def topics_of_options(options: Mapping[str, str]) -> tuple[str, ...] | None:
    """The topics that the reader options of a Kafka source name; None where they name none, or a pattern."""
    given = {name.lower(): value for name, value in options.items()}
    if "subscribe" in given:
        return read_topics(given["subscribe"])
    try:
        assigned = json.loads(given["assign"]) if "assign" in given else None
    except ValueError:
        return None
    return tuple(assigned) if isinstance(assigned, dict) else None


def of_files(wanted: ConnectorSettings) -> ConnectorSettings:
    """What can be read without a broker, which may take seconds."""
    return replace(wanted, kafka=None)


def of_broker(wanted: ConnectorSettings) -> ConnectorSettings:
    """The broker alone."""
    return replace(wanted, sink=None, sources={})


def joined(wanted: ConnectorSettings, parts: Iterable[ConnectorAnswers]) -> ConnectorAnswers:
    """One answer out of several that were asked for apart."""
    whole = ConnectorAnswers(given=wanted)
    for part in parts:
        whole = replace(
            whole,
            brokers={**whole.brokers, **part.brokers},
            tables={**whole.tables, **part.tables},
            places={**whole.places, **part.places},
            sink=whole.sink if part.sink is None else part.sink,
            troubles={**whole.troubles, **part.troubles},
            refused={**whole.refused, **part.refused},
        )
    return whole


def identity(wanted: ConnectorSettings) -> tuple[object, ...]:
    """What tells two requests apart in a cache, without anything that is secret."""
    places = tuple(
        sorted((key, location.url, location.options_token) for key, location in wanted.sources.items())
    )
    sink = None if wanted.sink is None else (wanted.sink.url, wanted.sink.options_token)
    topics = tuple(sorted(wanted.topics.items()))
    return (None if wanted.kafka is None else str(wanted.kafka), sink, places, wanted.isolation, topics)
