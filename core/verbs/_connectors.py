"""The options that name what lies beside the checkpoint: ``--kafka``, ``--sink``, ``--source``. Without them
nobody else is asked."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.checkpoint import Checkpoint
from core.connectors import ConnectorAnswers, ConnectorSettings
from core.connectors.connect import ask_connectors
from core.connectors.kafka.properties import read_properties
from core.connectors.requested import place_refused, sources_with_broker
from core.errors import FileNotRead, UsageError
from core.messages import say, words
from core.recovery import DeletionImpact
from core.storage import Location, parse_location
from core.verbs._text import clean


def add_connector_options(parser: ArgumentParser) -> None:
    """What ``forecast``, ``check``, ``resume`` and ``recover`` take to ask the sources and the sink."""
    parser.add_argument(
        "--kafka",
        type=Path,
        metavar="FILE",
        help=say("cli.help_kafka"),
    )
    parser.add_argument(
        "--isolation",
        choices=("read_uncommitted", "read_committed"),
        default="read_uncommitted",
        help=say("cli.help_isolation"),
    )
    parser.add_argument("--sink", metavar="LOCATION", help=say("cli.help_sink"))
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="KEY=LOCATION",
        help=say("cli.help_source"),
    )


def recover_command(ck: Checkpoint, args: Namespace) -> list[str]:
    """The command ``recover`` for the same checkpoint, source, sink and Spark as this one, without
    credentials."""
    given: list[tuple[str, str]] = []
    if args.spark is not None:
        given.append(("--spark", args.spark))
    if args.kafka is not None:
        given += [("--kafka", str(args.kafka)), ("--isolation", args.isolation)]
    if args.sink is not None:
        given.append(("--sink", parse_location(args.sink).without_credentials()))
    for key, source in _places(ck, args.source).items():
        given.append(("--source", f"{key}={source.without_credentials()}"))
    place = ck.door.origin.without_credentials()
    return ["python", "-m", "core", "recover", place, *(text for pair in given for text in pair)]


def connectors_of(
    ck: Checkpoint, args: Namespace, topics: Mapping[str, tuple[str, ...]] | None = None
) -> ConnectorAnswers:
    """What the sources and the sink that were named say; ``topics``: what today's query subscribes to, by
    source key.

    Raises UsageError for an unknown source, StorageError for a text that is no location.
    """
    given = ConnectorSettings(
        kafka=args.kafka,
        sink=parse_location(args.sink) if args.sink is not None else None,
        sources=_places(ck, args.source),
        isolation=args.isolation,
        topics=topics or {},
    )
    if given.kafka is not None and not sources_with_broker(ck):
        raise UsageError(say("cli.no_kafka_source"))
    if given.kafka is not None:
        read_properties(given.kafka)  # a file that cannot be used is wrong usage, not a broker without answer
    return ask_connectors(ck, given)


def source_keys(ck: Checkpoint) -> str:
    """The keys of the sources, in words."""
    return clean(words.listed(source.key for source in ck.sources))


def impact_lines(impacts: Sequence[DeletionImpact]) -> list[str]:
    """What deleting the checkpoint repeats and loses, for a person, with an empty line behind it; nothing for
    an empty checkpoint."""
    if not impacts:
        return []
    return [
        say("verb_recover.impact_title"),
        *(f"  {clean(impact.sentence, 1000)} ({words.CERTAINTY[impact.certainty]})" for impact in impacts),
        *dict.fromkeys(f"  {clean(impact.caveat)}" for impact in impacts if impact.caveat),
        "",
    ]


def _places(ck: Checkpoint, given: Sequence[str]) -> dict[str, Location]:
    places: dict[str, Location] = {}
    for text in given:
        key, equals, location = text.partition("=")
        refused = place_refused(ck, key) if equals else "unknown_source"
        source = ck.source(key)
        if source is None and not ck.sources and ck.not_read:
            # The sources stand in the offset log: where that was not read, the key may be right.
            raise FileNotRead(
                say("cli.sources_not_read", reason=ck.not_read[0].sentence.rstrip(".")), ck.location.url
            )
        if refused == "unknown_source":
            raise UsageError(say("cli.source_unknown", known=source_keys(ck)))
        if refused is not None and source is not None:
            raise UsageError(say("cli.source_no_place", key=clean(key), kind=source.kind.label))
        places[key] = parse_location(location)
    return places
