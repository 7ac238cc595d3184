"""``python -m core evidence``: one zip that keeps what a checkpoint shows now. Every verb opens it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path

from core.checkpoint import Checkpoint
from core.documents.evidence import EvidenceDocument, evidence_document
from core.documents.recorded import recorded_answers, recorded_rehearsal
from core.documents.rehearse_words import MOST_BYTES
from core.errors import UsageError
from core.incident import Kept, keep, take, target_of
from core.judgement import judge
from core.messages import say, say_of
from core.settings import Settings
from core.sparklogs.evidence import NotRead
from core.storage import Door
from core.verbs import Answer, Verb
from core.verbs._connectors import add_connector_options, connectors_of
from core.verbs._text import clean


def add_arguments(parser: ArgumentParser) -> None:
    """What ``evidence`` takes beside the location."""
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--to", metavar="FILE.zip", help=say("evidence.help_to"))
    where.add_argument("--to-store", action="store_true", help=say("incident_store.help_to_store"))
    parser.add_argument("--with-state-contents", action="store_true", help=say("evidence.help_contents"))
    parser.add_argument("--rehearsal", type=Path, metavar="FILE", help=say("rehearse.help_result"))
    parser.add_argument("--overwrite", action="store_true", help=say("evidence.help_overwrite"))
    add_connector_options(parser)


def run(args: Namespace, settings: Settings) -> Answer:
    """Takes the evidence; what could not be read is named."""
    door = Door.open(args.location, settings)
    kept: Kept | None = None
    contents: bool = args.with_state_contents
    target = None if args.to_store else target_of(args.to, door, may_overwrite=args.overwrite)
    ck = Checkpoint.open(args.location, settings)  # only of a checkpoint
    answers: dict[str, bytes] = {}
    if ck.door.evidence is None:
        answers = recorded_answers(judge(ck, connectors_of(ck, args)))
        if args.rehearsal is not None:
            answers["rehearse"] = recorded_rehearsal(_content(args.rehearsal), ck)
    elif args.rehearsal is not None:
        raise UsageError(say("rehearse.result_of_evidence"))
    if target is None:
        kept = keep(door, with_state_contents=contents, answers=answers)
        taken = kept.taken
    else:
        taken = take(door, target, with_state_contents=contents, answers=answers)
    document = evidence_document(taken, door.location.without_credentials(), kept)
    failed = [NotRead(part.path, part.reason) for part in document.left_out if part.reason is not None]
    failed += [NotRead(f"{path}/", reason) for path, reason in taken.manifest.not_listed.items()]
    return Answer(document, "\n".join(_text(document)) + "\n", not_read=tuple(failed))


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(say("rehearse.result_not_read", path=path, reason=reason)) from error


def _text(document: EvidenceDocument) -> list[str]:
    lines: list[str] = [
        say(
            "evidence.taken",
            moment=document.moment_ms,
            taken=document.files_taken,
            listed=document.files_listed,
            size_bytes=document.taken_bytes,
        ),
        say("evidence.no_secrets"),
        say("evidence.written", path=clean(document.file, 400), size_bytes=document.size_bytes)
        if document.opens_as is None
        else say("incident_store.kept", name=document.opens_as, size_bytes=document.size_bytes),
        say("evidence.sha256", sha256=document.sha256),
    ]
    if document.opens_as is not None:
        lines.append(say("incident_store.opens", name=document.opens_as))
    if document.gone:
        lines.append(say("evidence.now_gone", count=len(document.gone)))
    counts = Counter(part.why for part in document.left_out)
    if counts:
        lines += [
            say("evidence.left_out"),
            *(f"  {say_of('evidence', 'LEFT_OUT', why, count=n)}" for why, n in counts.items()),
        ]
    return lines


VERB = Verb("evidence", add_arguments, run)
