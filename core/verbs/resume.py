"""``python -m core resume``: the start position of a new checkpoint that resumes after a batch."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from core.checkpoint import Checkpoint
from core.documents.resume import resume_document
from core.errors import ResumeError, UsageError
from core.judgement import judge
from core.messages import say
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
        help=say("verb_recover.batch_help"),
    )
    add_connector_options(parser)


def _batch_id(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise ArgumentTypeError(say("verb_recover.not_a_batch", text=text))
    return int(text)


def run(args: Namespace, settings: Settings) -> Answer:
    """The position after a batch, for each source. When the files give none, the answer says why (exit status
    1)."""
    ck = Checkpoint.open(args.location, settings)
    try:
        judgement = judge(ck, connectors_of(ck, args))
        points = judgement.resume(args.batch)
    except ResumeError as error:
        if args.batch is not None and args.batch not in ck.offset_files:
            raise UsageError(str(error)) from error
        batch = ck.last_committed_batch if args.batch is None else args.batch
        unknown = ResumeAnswer(batch, batch in ck.commit_ids, (), str(error))
        return Answer(resume_document(ck, unknown), clean(error, 1000) + "\n", has_problems=True)
    return Answer(resume_document(ck, points), "\n".join(_text(points)) + "\n", not_read=judgement.not_read)


def _text(answer: ResumeAnswer) -> list[str]:
    begins = answer.batch is None
    title = (
        say("verb_recover.starts_over") if begins else say("verb_recover.resumes_after", batch=answer.batch)
    )
    lines: list[str] = [title]
    lines += [clean(answer.note, 2000)] if answer.note else []
    for source in answer.sources:
        point = source.point
        about = say(
            "verb_recover.source_exact" if point.exact else "verb_recover.source_not_exact",
            key=clean(source.key),
            kind=source.kind.label,
        )
        lines += ["", about]
        if (
            point.options is not None
        ):  # to be pasted, so never cut; as_pyspark escapes everything that is not plain text
            lines += [f"  {line}" for line in as_pyspark(point, source.kind).splitlines()]
        lines += [f"  repeats  {clean(point.repeats, 1000)}", f"  skips    {clean(point.skips, 1000)}"]
        lines += [f"  note     {clean(point.note, 2000)}"] if point.note else []
        if point.code:
            lines += [
                f"  {say('verb_recover.or_in_code')}",
                *(f"    {line}" for line in point.code.splitlines()),
            ]
    return lines


VERB = Verb("resume", add_arguments, run)
