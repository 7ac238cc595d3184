"""``python -m core forecast``: what Spark does at the next start."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from core.analysis.forecast import SUPPORTED_SPARK, Forecast, Query, Step, StepStatus
from core.checkpoint import Checkpoint
from core.connectors.requested import read_topics
from core.documents.forecast import forecast_document
from core.errors import UsageError
from core.judgement import judge
from core.messages import say
from core.messages.words import CERTAINTY
from core.recovery import DeletionImpact
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._connectors import add_connector_options, connectors_of, impact_lines, source_keys
from core.verbs._text import clean, listed_files

NEWEST_READ = 2  # log entries: the start of a query reads no others
_MARKS: Mapping[StepStatus, str] = {
    "passes": "ok  ",
    "fails": "FAIL",
    "does_not_apply": "n/a ",
    "cannot_be_judged": "?   ",
    "not_checked": "-   ",
    "not_reached": "-   ",
}


def add_arguments(parser: ArgumentParser) -> None:
    """What ``forecast`` takes beside the location."""
    parser.add_argument(
        "--spark", metavar="VERSION", help=say("cli.help_spark", versions=", ".join(SUPPORTED_SPARK))
    )
    parser.add_argument(
        "--new-data",
        choices=("yes", "no", "unknown"),
        default="unknown",
        help=say("cli.help_new_data"),
    )
    parser.add_argument("--sources", type=int, metavar="N", help=say("cli.help_sources"))
    parser.add_argument(
        "--operators",
        metavar="NAMES",
        help=say("cli.help_operators"),
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help=say("cli.help_set_query"),
    )
    parser.add_argument(
        "--fail-on-data-loss",
        choices=("true", "false"),
        default="true",
        help=say("cli.help_fail_on_data_loss"),
    )
    add_connector_options(parser)


def query_of(args: Namespace) -> Query:
    """The query that the arguments describe. Raises UsageError."""
    if args.sources is not None and args.sources < 1:
        raise UsageError(say("cli.sources_out_of_range", number=args.sources))
    operators = None
    if args.operators is not None:
        operators = tuple(name.strip() for name in args.operators.split(",") if name.strip())
    return Query(
        sources=args.sources,
        operators=operators,
        topics=_topics(args.set),
        new_data=args.new_data,
        fail_on_data_loss=args.fail_on_data_loss == "true",
        options=_options(args.set),
    )


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


def run(args: Namespace, settings: Settings) -> Answer:
    """Forecasts; problems are an outcome of fail or a risk for the data."""
    query = query_of(args)
    ck = Checkpoint.open(args.location, settings, newest=NEWEST_READ)
    unknown = sorted((set(query.topics) | set(query.options)) - {source.key for source in ck.sources})
    if unknown:
        raise UsageError(say("cli.no_source", key=clean(", ".join(unknown)), known=source_keys(ck)))
    judgement = judge(ck, connectors_of(ck, args, query.topics), spark=args.spark, query=query)
    answer = judgement.forecast
    return Answer(
        forecast_document(judgement),
        "\n".join(_text(answer, judgement.impacts)) + "\n",
        has_problems=answer.outcome == "fail" or answer.is_data_risk,
    )


def _text(answer: Forecast, impacts: Sequence[DeletionImpact]) -> list[str]:
    lines = [
        clean(answer.sentence, 2000),
        "  "
        + say(
            "cli.because",
            certainty=CERTAINTY[answer.certainty],
            why=clean(answer.because, 1000),
            files=listed_files(answer.evidence),
        ),
    ]
    if answer.then:
        lines.append(f"  {say('cli.then', sentence=clean(answer.then, 1000))}")
    data = answer.data
    lines.append("  " + say("cli.rows", append=data.append, overwrite=data.overwrite, skip=data.skip))
    lines.append(f"  {say('cli.rules', spark=answer.spark, why=clean(answer.spark_why, 600))}")
    lines += ["", say("cli.steps")]
    lines += [_step(step) for step in answer.steps]
    if answer.sink is not None and answer.sink.warnings:
        lines += ["", say("cli.sink"), *(f"  {clean(warning, 1000)}" for warning in answer.sink.warnings)]
    lines += ["", *impact_lines(impacts)]
    return [*lines, say("cli.not_checked"), *(f"  {clean(item, 400)}" for item in answer.not_checked)]


def _step(step: Step) -> str:
    note = f" ({clean(step.note, 400)})" if step.note else ""
    return f"  {_MARKS[step.status]} {clean(step.what)}{note}"


VERB = Verb("forecast", add_arguments, run)
