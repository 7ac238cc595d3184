"""``python -m core changes``: what a changed query does to this checkpoint, before it is deployed."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from core.analysis.changes import AskedChange, ChangesReport, Judged, SinkName, judge_changes, parse_change
from core.analysis.changes.sentences import headline, was_lines
from core.checkpoint import Checkpoint
from core.documents.changes import changes_document
from core.errors import UsageError
from core.messages import say
from core.messages.words import CERTAINTY
from core.recovery import Answers
from core.rehearsal import PlansQuestion, plans_of
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._conf import parse_conf
from core.verbs._query import add_spark_option
from core.verbs._text import clean, listed_files

NEWEST_READ = 2  # log entries: the start of a query reads no others
SINKS: tuple[SinkName, ...] = get_args(SinkName)


def add_arguments(parser: ArgumentParser) -> None:
    """What ``changes`` takes beside the location."""
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help=say("changes.set_help")
    )
    parser.add_argument("--old", type=Path, metavar="FILE", help=say("changes.help_old"))
    parser.add_argument("--new", type=Path, metavar="FILE", help=say("changes.help_new"))
    parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help=say("rehearse.help_conf")
    )
    parser.add_argument("--python", metavar="FILE", help=say("rehearse.help_python"))
    add_spark_option(parser)


def run(args: Namespace, settings: Settings) -> Answer:
    """Judges; problems are changes that fail or are silently wrong, of those that were asked for."""
    asked, sink, answers = _asked(args.set)
    if (args.old is None) != (args.new is None):
        raise UsageError(say("changes.both_files"))
    if args.old is None and (args.conf or args.python or answers):
        raise UsageError(say("changes.only_with_files"))
    conf = parse_conf(args.conf)
    ck = Checkpoint.open(args.location, settings, newest=NEWEST_READ)
    compared = None
    if args.old is not None:
        question = PlansQuestion(args.old, args.new, Answers.parse(answers), conf, args.python)
        compared = plans_of(ck, question, args.spark)
    report = judge_changes(ck, asked, args.spark, sink, compared=compared)
    return Answer(
        changes_document(ck, report),
        "\n".join(_text(ck, report, args)) + "\n",
        has_problems=(bool(asked) or compared is not None) and report.has_problems,
        not_read=ck.not_read,
    )


def _asked(given: Sequence[str]) -> tuple[list[AskedChange], SinkName | None, list[str]]:
    """The changes, the sink, and what is said about sources."""
    sink: SinkName | None = None
    asked: list[AskedChange] = []
    answers: list[str] = []
    for setting in given:
        name, _, value = setting.partition("=")
        if name == "sink":
            sink = next((each for each in SINKS if each == value), None)
            if sink is None:
                raise UsageError(say("changes.sink_usage", value=clean(value, 60), known=SINKS))
        elif name.startswith("source."):
            answers.append(setting)
        else:
            asked.append(parse_change(clean(setting, 2000)))
    return asked, sink, answers


def _text(ck: Checkpoint, report: ChangesReport, args: Namespace) -> list[str]:
    lines: list[str] = [say("changes.head", location=clean(ck.location.url, 400))]
    lines += [clean(report.today, 600)] if report.today_fails else []
    lines += [clean(line, 2000) for line in was_lines(report.query)]
    if report.compared is not None:
        lines += ["", clean(say("changes.files_head", old=args.old, new=args.new), 600)]
        lines += [clean(say("changes.files_remark", remark=each), 600) for each in report.compared.remarks]
        if not report.changes:
            lines.append(say("changes.files_equal"))
    for change in report.changes:
        lines += ["", *_change(change, report)]
    if report.checklist:
        lines += ["", say("changes.checklist")]
        lines += [f"  {number}. {clean(item, 600)}" for number, item in enumerate(report.checklist, start=1)]
    lines += ["", *([] if report.today_fails else [clean(report.today, 600)]), clean(report.spark_why, 600)]
    return [*lines, say("cli.not_checked"), *(f"  {clean(item, 400)}" for item in report.not_checked)]


def _change(change: Judged, report: ChangesReport) -> list[str]:
    lines: list[str] = [clean(headline(change), 600)]
    difference = report.difference(change)
    if difference is not None and difference.old != difference.new:
        nothing = say("changes.files_nothing")
        lines.append(f"  {clean(say('changes.files_was', old=difference.old or nothing), 400)}")
        lines.append(f"  {clean(say('changes.files_becomes', new=difference.new or nothing), 400)}")
    lines += [
        f"  {clean(change.sentence, 1500)}",
        f"  {say('changes.what_to_do', action=change.action)}",
        f"  {say('changes.way_back', rollback=change.rollback)}",
    ]
    if change.recipe is not None:
        lines.append(f"  {say('changes.option', recipe=change.recipe)}")
    why = say("changes.because", certainty=CERTAINTY[change.certainty], rule=change.rule, spark=report.spark)
    return [*lines, f"  {why} [{listed_files(change.evidence)}]"]


VERB = Verb("changes", add_arguments, run)
