"""``python -m core forecast``: what Spark does at the next start."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from core.analysis.forecast import DataEffect, Forecast, Step, StepStatus
from core.analysis.forecast.model import SINK_KINDS, SinkKind
from core.checkpoint import Checkpoint
from core.documents.forecast import forecast_document
from core.judgement import Judgement, judge
from core.messages import say
from core.messages.words import CERTAINTY
from core.recovery import DeletionImpact
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._connectors import add_connector_options, connectors_of, impact_lines
from core.verbs._query import add_query_options, level_of, query_of, require_sources
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
    add_query_options(parser)
    parser.add_argument(
        "--new-data",
        choices=("yes", "no", "unknown"),
        default="unknown",
        help=say("cli.help_new_data"),
    )
    add_connector_options(parser)


def run(args: Namespace, settings: Settings) -> Answer:
    """Forecasts; problems are an outcome of fail or a risk for the data."""
    query, level = query_of(args), level_of(args)
    ck = Checkpoint.open(args.location, settings, newest=NEWEST_READ)
    require_sources(query, ck)
    judgement = judge(ck, connectors_of(ck, args, query.topics), level=level, spark=args.spark, query=query)
    answer = judgement.forecast
    return Answer(
        forecast_document(judgement),
        "\n".join(_text(answer, judgement.impacts, _not_asked(judgement))) + "\n",
        has_problems=answer.outcome == "fail" or answer.is_data_risk,
        not_read=judgement.not_read,
    )


def _not_asked(judgement: Judgement) -> list[str]:
    """The keys of the sources whose broker or table nobody has asked."""
    asks = {source.key: source.kind.asks for source in judgement.ck.sources}
    return judgement.connectors.not_asked(asks, "broker", "table")


def _text(answer: Forecast, impacts: Sequence[DeletionImpact], not_asked: Sequence[str]) -> list[str]:
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
    effects = {kind: _effect(answer.data, kind) for kind in SINK_KINDS}
    gets_none = answer.outcome == "fail" and answer.data.is_exact
    rows = say("cli.rows_none") if gets_none else say("cli.rows", **effects)
    if not_asked and answer.data.is_exact and not gets_none:
        rows = say("cli.rows_not_asked", rows=rows, keys=list(not_asked), n=len(not_asked))
    lines.append(f"  {rows}")
    lines.append(f"  {say('cli.rules', spark=answer.spark, why=clean(answer.spark_why, 600))}")
    lines += ["", say("cli.steps")]
    lines += [_step(step) for step in answer.steps]
    if answer.sink is not None and answer.sink.warnings:
        lines += ["", say("cli.sink"), *(f"  {clean(warning, 1000)}" for warning in answer.sink.warnings)]
    lines += ["", *impact_lines(impacts)]
    return [*lines, say("cli.not_checked"), *(f"  {clean(item, 400)}" for item in answer.not_checked)]


def _effect(data: DataEffect, kind: SinkKind) -> str:
    effect = data.at(kind)
    return effect if effect == "unknown" or data.is_sure(kind) else say("cli.effect_possible", effect=effect)


def _step(step: Step) -> str:
    note = f" ({clean(step.note, 400)})" if step.note else ""
    return f"  {_MARKS[step.status]} {clean(step.what)}{note}"


VERB = Verb("forecast", add_arguments, run)
