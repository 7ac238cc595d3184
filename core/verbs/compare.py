"""``python -m core compare A B``: where two checkpoints differ."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from itertools import groupby

from core.analysis.comparison import Comparison, compare
from core.checkpoint import Checkpoint
from core.documents.compare import compare_document
from core.errors import UsageError
from core.messages import say, say_of
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._text import clean

LEVELS = ("normal", "deep")
LINES_SHOWN = 40  # of one area; the JSON has all


def add_arguments(parser: ArgumentParser) -> None:
    """What ``compare`` takes beside the first checkpoint."""
    parser.add_argument("other", metavar="OTHER", help=say("comparison.help_other"))
    parser.add_argument("--last", type=int, metavar="N", help=say("comparison.help_last", n=100))
    parser.add_argument("--level", choices=LEVELS, default="normal", help=say("comparison.help_level"))


def run(args: Namespace, settings: Settings) -> Answer:
    """Compares; a difference is a problem."""
    newest = settings.first_view_batches if args.last is None else args.last
    if newest < 1:
        raise UsageError(say("comparison.last_least", given=newest))
    a, b = (Checkpoint.open(place, settings, newest=newest) for place in (args.location, args.other))
    found = compare(a, b, newest, with_state_bytes=args.level == "deep")
    return Answer(
        compare_document(a, b, found),
        "\n".join(_text(a, b, found)) + "\n",
        has_problems=not found.is_equal,
        not_read=(*a.not_read, *b.not_read),
    )


def _text(a: Checkpoint, b: Checkpoint, found: Comparison) -> list[str]:
    one, other = clean(a.location.url), clean(b.location.url)
    if found.is_equal:
        lines: list[str] = [say("comparison.equal", a=one, b=other)]
    else:
        lines = [say("comparison.different", n=len(found.differences), a=one, b=other)]
    for area, group in groupby(found.differences, key=lambda difference: difference.area):
        differences = list(group)
        lines += ["", say_of("comparison", "AREAS", area)]
        for each in differences[:LINES_SHOWN]:
            sides = [
                say("comparison.absent") if side is None else clean(side, 160) for side in (each.a, each.b)
            ]
            lines.append(
                f"  {say('comparison.line', what=clean(each.what_with_unit), a=sides[0], b=sides[1])}"
            )
        if len(differences) > LINES_SHOWN:
            lines.append(f"  {say('cli.more', count=len(differences) - LINES_SHOWN)}")
    if found.not_compared:
        lines += [
            "",
            say("comparison.not_compared"),
            *(f"  {clean(each, 400)}" for each in found.not_compared),
        ]
    return lines


VERB = Verb("compare", add_arguments, run)
