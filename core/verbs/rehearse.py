"""``python -m core rehearse``: a restart on a copy of the checkpoint, before it is done on the checkpoint."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from core.checkpoint import Checkpoint
from core.documents.rehearse import RehearseDocument, rehearse_document
from core.documents.rehearse_words import (
    COLUMNS,
    against_forecast,
    against_lines,
    batch_rows,
    copy_lines,
    error_lines,
    happened,
    is_good,
    stopped_lines,
)
from core.errors import UsageError
from core.messages import say, say_of
from core.recovery import Answers
from core.rehearsal import RehearsalQuestion, rehearse
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._conf import parse_conf
from core.verbs._connectors import add_connector_options, connectors_of
from core.verbs._text import clean, table

MOST_BATCHES = 100


def add_arguments(parser: ArgumentParser) -> None:
    """What ``rehearse`` takes beside the location."""
    parser.add_argument("--query", type=Path, required=True, metavar="FILE", help=say("rehearse.help_query"))
    parser.add_argument("--against", type=Path, metavar="FILE", help=say("rehearse.help_against"))
    parser.add_argument("--batches", type=int, default=3, metavar="N", help=say("rehearse.help_batches"))
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="answers",
        help=say("rehearse.help_set"),
    )
    parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help=say("rehearse.help_conf")
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help=say("rehearse.help_keep"))
    parser.add_argument("--allow-side-effects", action="store_true", help=say("rehearse.help_side_effects"))
    parser.add_argument("--python", metavar="FILE", help=say("rehearse.help_python"))
    parser.add_argument("--master", metavar="URL", help=say("rehearse.help_master"))
    parser.add_argument("--remote", metavar="URL", help=say("rehearse.help_remote"))
    parser.add_argument("--reveal", action="store_true", help=say("rehearse.help_reveal"))
    add_connector_options(parser)


def run(args: Namespace, settings: Settings) -> Answer:
    """Rehearses; problems are an outcome that is not the forecast one, no batch that ran, rows that differ
    from those of the query it is held against, and an original that has changed."""
    question = _question(args)
    if args.reveal and not settings.reveal_state:
        raise UsageError(say("state_rows.reveal_forbidden"))
    chosen = {"spark_master": args.master, "spark_remote": args.remote}
    settings = settings.model_copy(update={name: url for name, url in chosen.items() if url is not None})
    ck = Checkpoint.open(args.location, settings)
    found = rehearse(ck, question, connectors_of(ck, args), on_progress=_Progress())
    document = rehearse_document(ck, question, found, is_revealed=args.reveal)
    return Answer(
        document,
        "\n".join(_text(document)) + "\n",
        has_problems=not is_good(document),
        not_read=ck.not_read,
    )


def _question(args: Namespace) -> RehearsalQuestion:
    if not 1 <= args.batches <= MOST_BATCHES:
        raise UsageError(say("rehearse.batches_out_of_range", most=MOST_BATCHES, given=args.batches))
    if args.against is not None and args.against.absolute() == args.query.absolute():
        raise UsageError(say("rehearse.same_file"))
    return RehearsalQuestion(
        query_file=args.query,
        answers=Answers.parse(args.answers),
        against=args.against,
        batches=args.batches,
        conf=parse_conf(args.conf),
        keep=args.keep,
        own_code=args.allow_side_effects,
        python=args.python,
    )


class _Progress:
    """One line for each thing that is done, on standard error."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, what: str, done: int, known: int) -> None:
        if what != self._last or (what == "copying" and done == known):
            self._last = what
            print(say_of("rehearse", "PHASES", what, done=done, known=known), file=sys.stderr)  # noqa: T201


def _text(answer: RehearseDocument) -> list[str]:
    lines: list[str] = [
        say(
            "rehearse.head",
            path=clean(answer.query_file, 200),
            location=clean(answer.location, 400),
            spark=answer.spark,
        ),
        happened(answer),
    ]
    if answer.error is not None:
        lines += [f"  {line}" for line in error_lines(answer.error)]
    lines.append(against_forecast(answer))
    if answer.batches:
        header = [say_of("rehearse", "COLUMNS", name) for name in COLUMNS]
        lines += ["", *table(header, batch_rows(answer))]
    lines += ["", *stopped_lines(answer)]
    if answer.against is not None:
        lines += ["", *against_lines(answer, answer.against)]
    lines += ["", *copy_lines(answer), "", say("cli.not_checked")]
    lines += [f"  {clean(item, 400)}" for item in answer.not_checked]
    return [*lines, say("rehearse.took", ms=round(answer.seconds * 1000))]


VERB = Verb("rehearse", add_arguments, run)
