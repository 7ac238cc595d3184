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
from core.messages.words import CERTAINTY
from core.recovery import DeletionImpact
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._connectors import add_connector_options, connectors_of, impact_lines
from core.verbs._text import clean

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
        "--spark", metavar="VERSION", help=f"the Spark that will be started: {', '.join(SUPPORTED_SPARK)}"
    )
    parser.add_argument(
        "--new-data",
        choices=("yes", "no", "unknown"),
        default="unknown",
        help="whether a source has new data",
    )
    parser.add_argument(
        "--sources", type=int, metavar="N", help="how many streaming sources the query has now"
    )
    parser.add_argument(
        "--operators",
        metavar="NAMES",
        help="its stateful operators now, operator 0 first: dedupe,stateStoreSave; '' for none",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help=(
            "source.<key>.topics=a,b: what it subscribes to now; source.<key>.option.<name>=value: a reader"
            " option"
        ),
    )
    parser.add_argument(
        "--fail-on-data-loss",
        choices=("true", "false"),
        default="true",
        help="the option of the Kafka or Delta source",
    )
    add_connector_options(parser)


def query_of(args: Namespace) -> Query:
    """The query that the arguments describe. Raises UsageError."""
    if args.sources is not None and args.sources < 1:
        raise UsageError(f"--sources takes the number of streaming sources, at least 1, not {args.sources}.")
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
            raise UsageError(
                "--set takes source.<key>.topics=a,b or source.<key>.option.<name>=value here, not"
                f" {clean(setting)}."
            )
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
        raise UsageError(
            f"The checkpoint has no source {clean(', '.join(unknown))}; it has"
            f" {', '.join(s.key for s in ck.sources) or 'none'}."
        )
    judgement = judge(ck, connectors_of(ck, args, query.topics), spark=args.spark, query=query)
    answer = judgement.forecast
    return Answer(
        forecast_document(judgement),
        "\n".join(_text(answer, judgement.impacts)) + "\n",
        has_problems=answer.outcome == "fail" or answer.is_data_risk,
    )


def _text(answer: Forecast, impacts: Sequence[DeletionImpact]) -> list[str]:
    proof = ", ".join(map(str, answer.evidence))
    lines = [
        clean(answer.sentence, 2000),
        f"  {CERTAINTY[answer.certainty]}: {clean(answer.because, 1000)} [{clean(proof, 400)}]",
    ]
    if answer.then:
        lines.append(f"  then: {clean(answer.then, 1000)}")
    data = answer.data
    lines.append(
        f"  rows: {data.append} in a sink that appends, {data.overwrite} in one that overwrites by batch id,"
        f" {data.skip} in one that skips"
    )
    lines.append(f"  rules of Spark {answer.spark}: {clean(answer.spark_why, 600)}")
    lines += ["", "Steps of the start"]
    lines += [_step(step) for step in answer.steps]
    if answer.sink is not None and answer.sink.warnings:
        lines += ["", "The sink", *(f"  {clean(warning, 1000)}" for warning in answer.sink.warnings)]
    lines += ["", *impact_lines(impacts)]
    return [*lines, "Not checked", *(f"  {clean(item, 400)}" for item in answer.not_checked)]


def _step(step: Step) -> str:
    note = f" ({clean(step.note, 400)})" if step.note else ""
    return f"  {_MARKS[step.status]} {clean(step.what)}{note}"


VERB = Verb("forecast", "what Spark will do at the next start, and why", add_arguments, run)
