"""``python -m core <verb> LOCATION``: the same answers as the pages, as JSON or text. No verb of this table
starts a JVM.

Exit status: 0 answered, 1 answered and problems found, 2 wrong usage, 10 the location cannot be read or is
not a checkpoint, or a file that the answer needs could not be read (what could be is answered all the same).
Errors are one sentence on stderr; one that nobody foresaw ends with 1 and shows its trace where
CHECKPOINT_EXPLORER_TRACE=true.
"""

from __future__ import annotations

import os
import sys
import traceback
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NoReturn

from core import __version__
from core.documents.base import Document, NotReadPart, to_chunks, to_text, utf8
from core.errors import CheckpointExplorerError, StorageError, UsageError, place_of
from core.messages import say, say_of
from core.settings import DEFAULTS, load_settings
from core.verbs import MAY_LACK_LOCATION, MODULES, OF_ROOTS, PIECE_BYTES, Answer, LongField, verb_named
from core.verbs._text import clean

ANSWERED, PROBLEMS_FOUND, UNKNOWN_ERROR = 0, 1, 1  # 2 and 10 are in core/errors.py
NOT_READ = StorageError.exit_status
MOST_NOT_READ = 20  # lines about files that could not be read; the JSON names all


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(say("cli.usage", command=self.prog, problem=message))


def build_parser(asked: str | None) -> ArgumentParser:
    """The parser with all verbs, and the arguments of the one that is ``asked`` for; no other is imported."""
    parser = _Parser(prog="python -m core", description=say("cli.description"))
    parser.add_argument("--version", action="version", version=f"checkpoint-explorer {__version__}")
    commands = parser.add_subparsers(dest="verb", metavar="verb", required=True)
    for name in MODULES:
        help_text = say_of("cli", "VERBS", name)
        command = commands.add_parser(
            name, help=help_text, description=say("cli.verb_description", help=help_text)
        )
        if name in OF_ROOTS:
            command.add_argument("location", metavar="ROOT", nargs="+", help=say("cli.help_roots"))
        elif name in MAY_LACK_LOCATION:
            command.add_argument("location", metavar="LOCATION", nargs="?", help=say("cli.help_location"))
        else:
            command.add_argument("location", metavar="LOCATION", help=say("cli.help_location"))
        command.add_argument("--json", action="store_true", help=say("cli.help_json"))
        if name == asked:
            verb_named(name).add_arguments(command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb and returns the exit status. Answers go to stdout, everything else to stderr."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    asked = next((text for text in arguments if not text.startswith("-")), None)
    settings = DEFAULTS
    try:
        args = build_parser(asked).parse_args(arguments)
        settings = load_settings()
        answer = verb_named(args.verb).run(args, settings)
        _write(_as_json(answer) if args.json else (utf8(_as_text(answer)),))
    except CheckpointExplorerError as error:
        return _fail(error, error.exit_status)
    except KeyboardInterrupt:
        return _fail(say("cli.stopped"), 130)
    except Exception as error:
        return _unknown(error, settings.trace)
    if answer.has_problems:
        return PROBLEMS_FOUND
    return NOT_READ if answer.not_read else ANSWERED


def _as_json(answer: Answer) -> Iterable[bytes]:
    parts = tuple(NotReadPart(path=item.path, reason=item.reason) for item in answer.not_read)
    document = replace(answer.document, not_read=parts)
    if answer.long_field is None:
        return (utf8(to_text(document) + "\n"),)
    return _in_pieces(document, answer.long_field)


def _in_pieces(document: Document, field: LongField) -> Iterable[bytes]:
    with field.items as items:
        items.seek(0)
        yield from to_chunks(document, field.name, iter(lambda: items.read(PIECE_BYTES), b""))
    yield b"\n"


def _as_text(answer: Answer) -> str:
    """The text, with what could not be read at its end."""
    if not answer.not_read or answer.is_whole:
        return answer.text
    shown = [f"  {clean(item.sentence, 400)}" for item in answer.not_read[:MOST_NOT_READ]]
    title = say("cli.not_read", count=len(answer.not_read))
    return "\n".join([answer.text, title, *shown]) + "\n"


def _write(pieces: Iterable[bytes]) -> None:
    try:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except (
        BrokenPipeError
    ):  # the reader of the pipe has seen enough; keep the interpreter from complaining at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unknown(error: Exception, is_traced: bool) -> int:
    """The last resort: an error that nobody foresaw is one sentence as well."""
    sentence = say("errors_program.command", error=type(error).__name__, place=place_of(error))
    if is_traced:
        traceback.print_exception(error, file=sys.stderr)
    return _fail(sentence, UNKNOWN_ERROR)


def _fail(error: object, status: int) -> int:
    print(clean(error, 1000), file=sys.stderr)
    return status
