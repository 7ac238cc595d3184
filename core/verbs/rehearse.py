"""``python -m core rehearse``: a restart on a copy of the checkpoint, before it is done on the checkpoint."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from core.checkpoint import Checkpoint
from core.documents.rehearse import (
    AgainstPart,
    ExamplePart,
    PlacePart,
    RehearsedErrorPart,
    RehearseDocument,
    is_equal,
    rehearse_document,
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
COLUMNS = ("batch", "input", "output", "seconds", "state")
CELL = 300  # characters of a row in the text; the JSON has all


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
    """Rehearses; problems are an outcome that is not the forecast one, rows that differ from those of the
    query it is held against, and an original that has changed."""
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
        has_problems=not (found.as_forecast and found.original_unchanged and is_equal(found)),
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
        _happened(answer),
    ]
    if answer.error is not None:
        lines += _error(answer.error)
    if answer.as_forecast:
        lines.append(clean(say("rehearse.as_forecast", sentence=answer.forecast.sentence), 800))
    else:
        lines.append(clean(say("rehearse.not_as_forecast", differs=answer.differs), 800))
    if answer.batches:
        lines += ["", *_batches(answer)]
    stopped = say_of("rehearse", "STOPPED", answer.stopped, batches=len(answer.batches))
    written = say(
        "rehearse.written", rows=answer.rows_written, batches=len(answer.batches), note=answer.sink.note
    )
    lines += ["", stopped, written]
    if answer.against is not None:
        lines += ["", *_against(answer, answer.against)]
    lines += ["", say("rehearse.copied", files=answer.copied.files, size_bytes=answer.copied.bytes)]
    if answer.copied.left_out:
        lines.append(say("rehearse.left_out", files=answer.copied.left_out))
    lines += [clean(_place(place), 600) for place in answer.places]
    if answer.kept is not None:
        lines.append(say("rehearse.kept", path=clean(answer.kept, 400)))
    lines += ["", say("cli.not_checked"), *(f"  {clean(item, 400)}" for item in answer.not_checked)]
    return [*lines, say("rehearse.took", ms=round(answer.seconds * 1000))]


def _happened(answer: RehearseDocument) -> str:
    name: str = answer.outcome
    if name == "fail":
        name = "fail_start" if answer.batch_id is None else "fail_batch"
    elif answer.batch_id is None:
        name = "nothing"
    return say_of("rehearse", "OUTCOMES", name, batch=answer.batch_id)


def _error(error: RehearsedErrorPart) -> list[str]:
    first = error.message or next(iter(error.text.splitlines()), "")
    lines: list[str] = [f"  {say('rehearse.error', text=clean(first, 600))}"]
    if error.name is not None:
        lines.append(f"  {say('rehearse.means', means=clean(error.means, 800))}")
        lines.append(f"  {say('rehearse.to_do', action=clean(error.action, 800))}")
    return lines


def _batches(answer: RehearseDocument) -> list[str]:
    state: dict[int, list[str]] = {}
    for row in answer.state_rows:
        state.setdefault(row.batch, []).append(f"{clean(row.name, 40)} {row.rows}")
    header = [say_of("rehearse", "COLUMNS", name) for name in COLUMNS]
    return table(
        header,
        (
            (
                str(each.id),
                str(each.input_rows),
                "?" if each.output_rows is None else str(each.output_rows),
                f"{each.seconds:.1f}",
                ", ".join(state.get(each.id, ())),
            )
            for each in answer.batches
        ),
    )


def _against(answer: RehearseDocument, against: AgainstPart) -> list[str]:
    if against.equal:
        return [say("rehearse.against_equal")]
    lines: list[str] = []
    if answer.error is not None or against.old.error is not None:
        old = _short(against.old.error, len(against.old.batches))
        lines.append(say("rehearse.against_failed", old=old, new=_short(answer.error, len(answer.batches))))
    lines.append(say("rehearse.against_differs", old=against.only_old, new=against.only_new))
    lines += [
        say("rehearse.against_state", place=clean(each.place, 80), old=each.only_old, new=each.only_new)
        for each in against.state
        if each.only_old or each.only_new
    ]
    lines += [f"  {_example(each)}" for each in against.examples]
    if against.examples and not against.revealed:
        lines.append(say("rehearse.masked"))
    if against.input_differs:
        lines.append(say("rehearse.against_input", batches=against.input_differs))
    return lines


def _short(error: RehearsedErrorPart | None, batches: int) -> str:
    if error is None:
        return say("rehearse.run_ran", batches=batches)
    return say("rehearse.run_failed", condition=clean(error.condition or error.name or error.class_, 120))


def _example(each: ExamplePart) -> str:
    where = (
        say("rehearse.example_state", place=clean(each.place, 80))
        if each.where == "state"
        else say("rehearse.example_output", batch=each.batch)
    )
    if each.key:
        where = say("rehearse.example_key", where=where, key=_json(each.key))
    return say("rehearse.example", where=where, old=_row(each.old), new=_row(each.new))


def _row(row: object) -> str:
    return say("rehearse.no_row") if row is None else _json(row)


def _json(value: object) -> str:
    return clean(json.dumps(value, ensure_ascii=False, default=str), CELL) if value else ""


def _place(each: PlacePart) -> str:
    if each.files is None:
        return say("rehearse.place_unknown", place=each.place, how=each.how)
    if each.changed:
        return say(
            "rehearse.place_changed", place=each.place, changed=len(each.changed), files=list(each.changed)
        )
    if each.added:
        return say("rehearse.place_added", place=each.place, added=len(each.added))
    return say("rehearse.place_unchanged", place=each.place, how=each.how)


VERB = Verb("rehearse", add_arguments, run)
