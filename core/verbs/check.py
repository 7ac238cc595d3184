"""``python -m core check``: the integrity check."""

from __future__ import annotations

import shlex
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence

from core.analysis.findings import Finding, FindingsReport, Severity
from core.analysis.findings.liveness import Liveness, second_look
from core.checkpoint import Checkpoint
from core.documents.check import check_document
from core.errors import UsageError
from core.judgement import judge
from core.messages import say, say_of
from core.messages.words import CERTAINTY
from core.recovery import Answers
from core.settings import Settings
from core.storage import Requests
from core.verbs import Answer, Verb
from core.verbs._connectors import add_connector_options, connectors_of, recover_command
from core.verbs._query import add_query_options, level_of, query_of, require_sources
from core.verbs._text import clean, listed_files

NEWEST_READ = 20  # of the quick level, which reads no more than opening does
PROGRESS_EVERY_SECONDS = 2.0
FAIL_ON: tuple[Severity, ...] = ("attention", "data_risk", "blocks_restart")


def add_arguments(parser: ArgumentParser) -> None:
    """What ``check`` takes beside the location."""
    add_query_options(parser)
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="N",
        help=say("cli.help_seconds"),
    )
    parser.add_argument(
        "--watch",
        type=float,
        metavar="SECONDS",
        help=say("cli.help_watch"),
    )
    parser.add_argument(
        "--fail-on",
        default="data_risk",
        metavar="SEVERITY",
        help=say("cli.help_fail_on", severities=" or ".join(FAIL_ON)),
    )
    add_connector_options(parser)


def run(args: Namespace, settings: Settings) -> Answer:
    """Checks; problems are findings that block the restart or risk data, or what ``--fail-on`` says."""
    query, level = query_of(args), level_of(args)
    fail_on = next((severity for severity in FAIL_ON if severity == args.fail_on), None)
    if fail_on is None:
        raise UsageError(say("cli.no_severity", asked=clean(args.fail_on, 40), severities=", ".join(FAIL_ON)))
    for name in ("seconds", "watch"):
        number = getattr(args, name)
        if number is not None and not 0 < number <= 86_400:
            raise UsageError(say("cli.seconds_out_of_range", option=name))
    ck = Checkpoint.open(args.location, settings, newest=NEWEST_READ)
    require_sources(query, ck)
    judgement = judge(
        ck,
        connectors_of(ck, args, query.topics),
        level=level,
        spark=args.spark,
        query=query,
        seconds=args.seconds,
        progress=_progress(),
    )
    report = judgement.actions(Answers())
    liveness = second_look(ck, args.watch) if args.watch is not None else None
    size = f"{judgement.size.sentence} {judgement.size.retention}"
    recover = recover_command(ck, args)
    text = "\n".join(_text(report, liveness, size, ck.door.requests, recover)) + "\n"
    return Answer(
        check_document(judgement, liveness),
        text,
        has_problems=report.reaches(fail_on),
        not_read=judgement.not_read,
    )


def _progress() -> Callable[[int, int], None] | None:
    """Says on stderr how far the level deep is, every two seconds, when somebody is watching."""
    if not sys.stderr.isatty():
        return None
    told = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told >= PROGRESS_EVERY_SECONDS:
            told = time.monotonic()
            sys.stderr.write(f"{say('cli.progress', done=done, total=total)}\n")

    return tell


def _text(
    report: FindingsReport, liveness: Liveness | None, size: str, read: Requests, recover: Sequence[str]
) -> list[str]:
    lines = [clean(report.sentence, 1000)]
    lines += [clean(liveness.sentence, 1000)] if liveness is not None else []
    for finding in report.findings:
        lines += ["", *_finding(finding, recover)]
    return [
        *lines,
        "",
        clean(size, 600),
        clean(
            say(
                "cli.read",
                checked=report.checked,
                listings=read.list,
                files=read.get,
                size_bytes=read.bytes,
            ),
            2000,
        ),
    ]


def _finding(finding: Finding, recover: Sequence[str]) -> list[str]:
    head = say(
        "cli.finding",
        severity=say_of("cli", "SEVERITIES", finding.severity),
        id=finding.id,
        certainty=CERTAINTY[finding.certainty],
    )
    return [
        head,
        f"  {clean(finding.sentence, 1000)}",
        f"  {say('cli.evidence', files=listed_files(finding.evidence))}",
        f"  {say('cli.action', action=clean(finding.action, 600))}",
        *([f"  {finding.decision}"] if finding.decision is not None else []),
        *([f"  {_to_recipe(finding, recover)}"] if finding.recipe is not None else []),
    ]


def _to_recipe(finding: Finding, recover: Sequence[str]) -> str:
    """The command that gives plan and code of the option that the action leads to."""
    option = ["--option", finding.recipe or ""]
    if finding.recipe == "rewind" and finding.rewind_to is not None:
        option += ["--set", f"to_batch={finding.rewind_to}"]
    return say("cli.to_recipe", command=clean(shlex.join([*recover, *option]), 2000))


VERB = Verb("check", add_arguments, run)
