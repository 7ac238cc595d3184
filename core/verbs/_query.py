"""The options that say which query will be started: the same for the forecast and for the check."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import cast

from core.analysis.forecast import SUPPORTED_SPARK, Level, Query
from core.analysis.forecast.model import LEVELS
from core.checkpoint import Checkpoint
from core.connectors.requested import read_topics, topics_of_options
from core.errors import UsageError
from core.messages import say
from core.verbs._connectors import source_keys
from core.verbs._text import clean


def add_query_options(parser: ArgumentParser) -> None:
    """``--level``, ``--spark`` and what describes the query."""
    parser.add_argument(
        "--level", default="normal", metavar="LEVEL", help=say("cli.help_level", levels=" or ".join(LEVELS))
    )
    add_spark_option(parser)
    parser.add_argument("--sources", type=int, metavar="N", help=say("cli.help_sources"))
    parser.add_argument("--operators", metavar="NAMES", help=say("cli.help_operators"))
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help=say("cli.help_set_query")
    )
    parser.add_argument(
        "--fail-on-data-loss",
        choices=("true", "false"),
        default="true",
        help=say("cli.help_fail_on_data_loss"),
    )


def add_spark_option(parser: ArgumentParser) -> None:
    """``--spark``."""
    parser.add_argument(
        "--spark", metavar="VERSION", help=say("cli.help_spark", versions=", ".join(SUPPORTED_SPARK))
    )


def level_of(args: Namespace) -> Level:
    """The level that was asked for. Raises UsageError."""
    if args.level not in LEVELS:
        raise UsageError(say("cli.no_level", level=clean(args.level, 40), levels=", ".join(LEVELS)))
    return cast(Level, args.level)


def query_of(args: Namespace) -> Query:
    """The query that the arguments describe. Raises UsageError."""
    if args.sources is not None and args.sources < 1:
        raise UsageError(say("cli.sources_out_of_range", number=args.sources))
    operators, options = None, _options(args.set)
    if args.operators is not None:
        operators = tuple(name.strip() for name in args.operators.split(",") if name.strip())
    return Query(
        sources=args.sources,
        operators=operators,
        topics={**_subscribed(options), **_topics(args.set)},
        new_data=getattr(args, "new_data", "unknown"),
        fail_on_data_loss=args.fail_on_data_loss == "true",
        options=options,
    )


def require_sources(query: Query, ck: Checkpoint) -> None:
    """Raises UsageError when the query names a source that the checkpoint does not have. One that names no
    source takes what is given."""
    unknown = sorted((set(query.topics) | set(query.options)) - {source.key for source in ck.sources})
    if unknown and ck.sources:
        raise UsageError(say("cli.no_source", key=clean(", ".join(unknown)), known=source_keys(ck)))


def _topics(settings: Sequence[str]) -> dict[str, tuple[str, ...]]:
    topics: dict[str, tuple[str, ...]] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        parts = name.split(".")
        if equals and _is_option(parts):
            continue
        if not equals or len(parts) != 3 or parts[0] != "source" or parts[2] != "topics":
            raise UsageError(say("cli.set_query", setting=clean(setting)))
        topics[parts[1]] = read_topics(value)
    return topics


def _subscribed(options: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, ...]]:
    named = {key: topics_of_options(given) for key, given in options.items()}
    return {key: topics for key, topics in named.items() if topics is not None}


def _is_option(parts: Sequence[str]) -> bool:
    return len(parts) >= 4 and parts[0] == "source" and parts[2] == "option"


def _options(settings: Sequence[str]) -> dict[str, dict[str, str]]:
    options: dict[str, dict[str, str]] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        parts = name.split(".")
        if equals and _is_option(parts):
            options.setdefault(parts[1], {})[".".join(parts[3:])] = value.strip()
    return options
