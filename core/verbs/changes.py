"""``python -m core changes``: what a changed query does to this checkpoint, before it is deployed."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import get_args

from core.analysis.changes import AskedChange, ChangesReport, Judged, SinkName, judge_changes, parse_change
from core.analysis.changes.context import columns_text
from core.analysis.forecast import SUPPORTED_SPARK
from core.checkpoint import Checkpoint
from core.documents.changes import changes_document
from core.errors import UsageError
from core.messages import Sentence, say, say_of
from core.messages.changes import VALUES
from core.messages.words import CERTAINTY
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._text import clean, listed_files

NEWEST_READ = 2  # log entries: the start of a query reads no others
SINKS: tuple[SinkName, ...] = get_args(SinkName)


def add_arguments(parser: ArgumentParser) -> None:
    """What ``changes`` takes beside the location."""
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help=say("changes.set_help")
    )
    parser.add_argument(
        "--spark", metavar="VERSION", help=say("cli.help_spark", versions=", ".join(SUPPORTED_SPARK))
    )


def run(args: Namespace, settings: Settings) -> Answer:
    """Judges; problems are changes that fail or are silently wrong, of those that were asked for."""
    asked, sink = _asked(args.set)
    ck = Checkpoint.open(args.location, settings, newest=NEWEST_READ)
    report = judge_changes(ck, asked, args.spark, sink)
    return Answer(
        changes_document(ck, report),
        "\n".join(_text(ck, report)) + "\n",
        has_problems=bool(asked) and report.has_problems,
        not_read=ck.not_read,
    )


def _asked(given: Sequence[str]) -> tuple[list[AskedChange], SinkName | None]:
    sink: SinkName | None = None
    asked: list[AskedChange] = []
    for setting in given:
        name, _, value = setting.partition("=")
        if name == "sink":
            sink = next((each for each in SINKS if each == value), None)
            if sink is None:
                raise UsageError(say("changes.sink_usage", value=clean(value, 60), known=SINKS))
        else:
            asked.append(parse_change(clean(setting, 2000)))
    return asked, sink


def _text(ck: Checkpoint, report: ChangesReport) -> list[str]:
    lines = _was(ck, report)
    for change in report.changes:
        lines += ["", *_change(change, report.spark)]
    if report.checklist:
        lines += ["", say("changes.checklist")]
        lines += [f"  {number}. {clean(item, 600)}" for number, item in enumerate(report.checklist, start=1)]
    lines += ["", clean(report.today, 600), clean(report.spark_why, 600)]
    return [*lines, say("cli.not_checked"), *(f"  {clean(item, 400)}" for item in report.not_checked)]


def _was(ck: Checkpoint, report: ChangesReport) -> list[str]:
    query, unknown = report.query, say("changes.not_known")
    lines: list[str] = [say("changes.head", location=clean(ck.location.url, 400))]
    for source in query.sources:
        place = say("changes.place", places=[clean(each) for each in source.place]) if source.place else ""
        lines.append(say("changes.source", key=clean(source.key), label=source.label, place=place))
    if not query.sources:
        lines.append(say("changes.no_source"))
    for op in query.operators:
        keys, columns = (clean(columns_text(op, keys=each), 600) for each in (True, False))
        name = clean(op.name or say("changes.unnamed"))
        lines.append(say("changes.operator", id=op.id, name=name, keys=keys, columns=columns))
    if not query.operators:
        lines.append(say("changes.stateless"))
    provider = (
        say("changes.provider_of", provider=query.provider)
        if query.is_stateful
        else say("changes.no_provider")
    )
    delay = query.watermark_delay_ms
    lines.append(
        say(
            "changes.pinned",
            partitions=query.partitions if query.partitions is not None else unknown,
            provider=provider,
            delay=unknown if delay is None else say("changes.delay", ms=delay),
            mode=query.output_mode or unknown,
            sink=query.sink or unknown,
        )
    )
    last = query.last_committed_batch
    pending = say("changes.pending_too") if query.pending_batch is not None else ""
    lines.append(
        say(
            "changes.next",
            last=unknown if last is None else last,
            batch=query.next_batch,
            pending=pending,
        )
    )
    return lines


def _change(change: Judged, spark: str) -> list[str]:
    lines = [
        headline(change),
        f"  {clean(change.sentence, 1500)}",
        f"  {say('changes.what_to_do', action=change.action)}",
        f"  {say('changes.way_back', rollback=change.rollback)}",
    ]
    if change.recipe is not None:
        lines.append(f"  {say('changes.option', recipe=change.recipe)}")
    why = say("changes.because", certainty=CERTAINTY[change.certainty], rule=change.rule, spark=spark)
    return [*lines, f"  {why} [{listed_files(change.evidence)}]"]


def headline(change: Judged) -> Sentence:
    """``silently wrong · aggregates: same number and types``."""
    verdict = say_of("changes", "VERDICTS", change.verdict)
    if change.fails_at is not None:
        phase = say("changes.phase_start" if change.fails_at == "start" else "changes.phase_batch")
        verdict = say("changes.failing", verdict=verdict, phase=phase)
    if change.condition is not None:
        verdict = say("changes.with_condition", failing=verdict, condition=change.condition)
    what = say_of("changes", "WHATS", change.what)
    if change.value in ("", "changed"):
        return say("changes.title_plain", verdict=verdict, what=what)
    value = say_of("changes", "VALUES", change.value) if change.value in VALUES else clean(change.value)
    return say("changes.title", verdict=verdict, what=what, value=value)


VERB = Verb("changes", add_arguments, run)
