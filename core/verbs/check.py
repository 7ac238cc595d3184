"""``python -m core check``: the integrity check."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import cast

from core.analysis.findings import LEVELS, Finding, FindingsReport, Level, findings
from core.analysis.forecast import SUPPORTED_SPARK, UnsupportedSparkError
from core.checkpoint import Checkpoint
from core.storage import Requests
from core.verbs import Answer, UsageError, Verb
from core.verbs.words import clean

NEWEST_READ = 20  # of the quick level, which reads no more than opening does
_WORDS = {"blocks_restart": "blocks restart", "data_risk": "data risk", "attention": "attention", "note": "note"}


def add_arguments(parser: ArgumentParser) -> None:
    """What ``check`` takes beside the location."""
    parser.add_argument("--level", default="normal", metavar="LEVEL", help=f"{' or '.join(LEVELS)} (default normal)")
    parser.add_argument("--spark", metavar="VERSION", help=f"the Spark that will be started: {', '.join(SUPPORTED_SPARK)}")


def run(args: Namespace) -> Answer:
    """Checks; problems are findings that block the restart or risk data."""
    if args.level == "deep":
        raise UsageError("The level deep (decoding every state file) is not available in this version; use --level normal.")
    if args.level not in LEVELS:
        raise UsageError(f"There is no level {clean(args.level, 40)}; choose one of {', '.join(LEVELS)}.")
    level = cast(Level, args.level)
    ck = Checkpoint.open(args.location, newest=NEWEST_READ)
    try:
        report = findings(ck, level=level, spark=args.spark)
    except UnsupportedSparkError as error:
        raise UsageError(str(error)) from error
    read = ck.door.requests
    document: dict[str, object] = {
        "schema_version": 1,
        "location": ck.location.url,
        "level": report.level,
        "findings": [finding.to_json() for finding in report.findings],
        "checked": list(report.checked),
        "not_checked": list(report.not_checked),
        "read": {"list": read.list, "get": read.get, "head": read.head, "bytes": read.bytes},
    }
    return Answer(document, "\n".join(_text(report, read)) + "\n", has_problems=report.has_problems)


def _text(report: FindingsReport, read: Requests) -> list[str]:
    lines = [clean(report.sentence, 1000)]
    for finding in report.findings:
        lines += ["", *_finding(finding)]
    return [*lines, "", f"Looked at {', '.join(report.checked)}: {read.list:,} listings, {read.get:,} files, {read.bytes:,} bytes."]


def _finding(finding: Finding) -> list[str]:
    proof = ", ".join(map(str, finding.evidence))
    return [
        f"{_WORDS[finding.severity]}: {finding.id} ({finding.certainty})",
        f"  {clean(finding.sentence, 1000)}",
        f"  evidence: {clean(proof, 400)}",
        f"  what to do: {clean(finding.action, 600)}",
    ]


VERB = Verb("check", "the integrity check: what is wrong, what it means, what to do", add_arguments, run)
