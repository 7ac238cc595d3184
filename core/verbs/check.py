"""``python -m core check``: the integrity check."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import cast

from core.analysis.findings import LEVELS, Finding, FindingsReport, Level
from core.analysis.findings.liveness import Liveness, second_look
from core.analysis.forecast import SUPPORTED_SPARK
from core.checkpoint import Checkpoint
from core.documents.check import check_document
from core.errors import UsageError
from core.judgement import judge
from core.messages.words import CERTAINTY
from core.settings import Settings
from core.storage import Requests
from core.verbs import Answer, Verb
from core.verbs._connectors import add_connector_options, connectors_of
from core.verbs._text import clean

NEWEST_READ = 20  # of the quick level, which reads no more than opening does
PROGRESS_EVERY_SECONDS = 2.0
_WORDS = {
    "blocks_restart": "blocks restart",
    "data_risk": "data risk",
    "attention": "attention",
    "note": "note",
}


def add_arguments(parser: ArgumentParser) -> None:
    """What ``check`` takes beside the location."""
    parser.add_argument(
        "--level", default="normal", metavar="LEVEL", help=f"{' or '.join(LEVELS)} (default normal)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="N",
        help="the time that the level deep may take; what was not reached is named",
    )
    parser.add_argument(
        "--watch",
        type=float,
        metavar="SECONDS",
        help="look again after so many seconds: is a query writing here now?",
    )
    parser.add_argument(
        "--spark", metavar="VERSION", help=f"the Spark that will be started: {', '.join(SUPPORTED_SPARK)}"
    )
    add_connector_options(parser)


def run(args: Namespace, settings: Settings) -> Answer:
    """Checks; problems are findings that block the restart or risk data."""
    if args.level not in LEVELS:
        raise UsageError(f"There is no level {clean(args.level, 40)}; choose one of {', '.join(LEVELS)}.")
    for name in ("seconds", "watch"):
        number = getattr(args, name)
        if number is not None and not 0 < number <= 86_400:
            raise UsageError(f"--{name} must be a number of seconds above 0 and at most 86400.")
    level = cast(Level, args.level)
    ck = Checkpoint.open(args.location, settings, newest=NEWEST_READ)
    connectors = connectors_of(ck, args)
    judgement = judge(
        ck, connectors, level=level, spark=args.spark, seconds=args.seconds, progress=_progress()
    )
    report = judgement.findings
    liveness = second_look(ck, args.watch) if args.watch is not None else None
    text = "\n".join(_text(report, liveness, ck.door.requests)) + "\n"
    return Answer(check_document(judgement, liveness), text, has_problems=report.has_problems)


def _progress() -> Callable[[int, int], None] | None:
    """Says on stderr how far the level deep is, every two seconds, when somebody is watching."""
    if not sys.stderr.isatty():
        return None
    told = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told >= PROGRESS_EVERY_SECONDS:
            told = time.monotonic()
            sys.stderr.write(f"{done:,} of {total:,} state files\n")

    return tell


def _text(report: FindingsReport, liveness: Liveness | None, read: Requests) -> list[str]:
    lines = [clean(report.sentence, 1000)]
    lines += [clean(liveness.sentence, 1000)] if liveness is not None else []
    for finding in report.findings:
        lines += ["", *_finding(finding)]
    return [
        *lines,
        "",
        (
            f"Looked at {', '.join(report.checked)}: {read.list:,} listings, {read.get:,} files,"
            f" {read.bytes:,} bytes."
        ),
    ]


def _finding(finding: Finding) -> list[str]:
    proof = ", ".join(map(str, finding.evidence))
    return [
        f"{_WORDS[finding.severity]}: {finding.id} ({CERTAINTY[finding.certainty]})",
        f"  {clean(finding.sentence, 1000)}",
        f"  evidence: {clean(proof, 400)}",
        f"  what to do: {clean(finding.action, 600)}",
    ]


VERB = Verb("check", "the integrity check: what is wrong, what it means, what to do", add_arguments, run)
