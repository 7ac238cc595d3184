"""``python -m core resume``: the start position of a new checkpoint that goes on after a batch."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from core.checkpoint import Checkpoint
from core.documents.resume import resume_document
from core.errors import ResumeError, UsageError
from core.judgement import judge
from core.recovery import ResumeAnswer, as_pyspark
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._connectors import add_connector_options, connectors_of
from core.verbs._text import clean


def add_arguments(parser: ArgumentParser) -> None:
    """What ``resume`` takes beside the location."""
    parser.add_argument(
        "--batch",
        type=_batch_id,
        metavar="N",
        help="go on after this batch (default: the last committed one)",
    )
    add_connector_options(parser)


def _batch_id(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise ArgumentTypeError(f"{text!r} is no batch id")
    return int(text)


def run(args: Namespace, settings: Settings) -> Answer:
    """The position after a batch, for each source. When the files give none, the answer says why (exit status
    1)."""
    ck = Checkpoint.open(args.location, settings)
    try:
        points = judge(ck, connectors_of(ck, args)).resume(args.batch)
    except ResumeError as error:
        if args.batch is not None and args.batch not in ck.offset_files:
            raise UsageError(str(error)) from error
        batch = ck.last_committed_batch if args.batch is None else args.batch
        unknown = ResumeAnswer(batch, batch in ck.commit_ids, (), str(error))
        return Answer(resume_document(ck, unknown), clean(error, 1000) + "\n", has_problems=True)
    return Answer(resume_document(ck, points), "\n".join(_text(points)) + "\n")


def _text(answer: ResumeAnswer) -> list[str]:
    after = "where the query began" if answer.batch is None else f"after batch {answer.batch}"
    lines = [f"A new checkpoint that goes on {after}"]
    lines += [clean(answer.note, 2000)] if answer.note else []
    for source in answer.sources:
        point = source.point
        lines += [
            "",
            f"Source {clean(source.key)} ({source.kind.label}): {'exact' if point.exact else 'not exact'}",
        ]
        if (
            point.options is not None
        ):  # to be pasted, so never cut; as_pyspark escapes everything that is not plain text
            lines += [f"  {line}" for line in as_pyspark(point, source.kind).splitlines()]
        lines += [f"  repeats  {clean(point.repeats, 1000)}", f"  skips    {clean(point.skips, 1000)}"]
        lines += [f"  note     {clean(point.note, 2000)}"] if point.note else []
        if point.code:
            lines += [
                "  or, in a query that cannot take the options:",
                *(f"    {line}" for line in point.code.splitlines()),
            ]
    return lines


VERB = Verb("resume", "the start position of a new checkpoint that goes on after a batch", add_arguments, run)
