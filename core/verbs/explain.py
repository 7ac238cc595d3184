"""``python -m core explain``: what a pasted error means for this checkpoint."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from core.analysis.errors import LONGEST_TEXT, OPTION_TITLES, Explanation, explain
from core.checkpoint import Checkpoint
from core.documents.explain import explain_document
from core.errors import UsageError
from core.judgement import judge
from core.messages import say, say_of
from core.messages.words import CERTAINTY
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._text import clean, listed_files

NEWEST_READ = 20  # log entries: enough for the newest batches, which an error is about
LARGEST_READ = (
    4 * LONGEST_TEXT
)  # bytes from each end of a file; the translator itself looks at LONGEST_TEXT characters


def add_arguments(parser: ArgumentParser) -> None:
    """What ``explain`` takes beside the location."""
    parser.add_argument(
        "--error",
        required=True,
        metavar="FILE",
        help=say("cli.help_error"),
    )


def run(args: Namespace, settings: Settings) -> Answer:
    """Explains; the problem (exit status 1) is a text in which no error was recognised."""
    text = _read(args.error)
    ck = Checkpoint.open(args.location, settings, newest=NEWEST_READ)
    answer = judge(ck).ways(explain(text, ck))
    return Answer(
        explain_document(ck, answer),
        "\n".join(_text(answer)) + "\n",
        has_problems=answer.name is None,
        not_read=ck.not_read,
    )


def _read(place: str) -> str:
    """The text; of a very large file only its beginning and its end. Raises UsageError."""
    try:
        data = sys.stdin.buffer.read() if place == "-" else _ends_of(Path(place))
    except OSError as error:
        raise UsageError(
            say("cli.error_file_unreadable", place=clean(place), reason=error.strerror)
        ) from error
    if not data.strip():
        raise UsageError(say("cli.error_file_empty", place=clean(place)))
    return data.decode("utf-8", "replace")


def _ends_of(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(LARGEST_READ)
        rest = path.stat().st_size - len(data)
        if rest > LARGEST_READ:
            file.seek(-LARGEST_READ, os.SEEK_END)
        return data + file.read()


def _here(answer: Explanation) -> list[str]:
    lines = []
    for statement in answer.here:
        files = listed_files(statement.evidence)
        lines.append(
            f"  {clean(statement.sentence, 1000)} ({CERTAINTY[statement.certainty]})"
            + (f" [{files}]" if files else "")
        )
    return lines


def _text(answer: Explanation) -> list[str]:
    if answer.name is None:
        return [
            clean(answer.sentence, 1000),
            *_here(answer),
            f"  {say('cli.action', action=clean(answer.action, 1000))}",
            *_others(answer),
        ]
    lines = [
        f"{clean(answer.name)} ({clean(_class(answer))}; {CERTAINTY[answer.certainty]})",
        f"  {clean(answer.means, 1000)}",
        f"  {say('cli.error_text', text=clean(answer.message, 400))}",
    ]
    lines += ["", say("cli.other_query") if answer.other_checkpoint else say_of("cli", "SHOWN", answer.shown)]
    lines += _here(answer)
    if answer.unseen:
        lines.append(f"  {say('cli.not_in_files', why=clean(answer.unseen, 400))}")
    if answer.reasons:
        lines += [
            "",
            say("cli.causes"),
            *(f"  {clean(reason, 600)}" for reason in answer.reasons),
        ]
    lines += ["", say("cli.what_to_do"), f"  {clean(answer.action, 1000)}"]
    lines += [f"  {option}: {OPTION_TITLES[option]}" for option in answer.options]
    lines += [
        f"  {say('cli.way_not_possible', title=OPTION_TITLES[option], why=clean(why, 600))}"
        for option, why in answer.not_possible.items()
    ]
    lines += _others(answer)
    if answer.not_checked:
        lines += ["", say("cli.not_checked"), *(f"  {clean(item, 400)}" for item in answer.not_checked)]
    if answer.is_cut:
        lines += ["", say("cli.text_cut", count=LONGEST_TEXT)]
    return lines


def _class(answer: Explanation) -> str:
    """The class of the error, its SQLSTATE and its line, as far as they are known."""
    line, sqlstate, error_class = answer.line, answer.sqlstate, answer.error_class
    if error_class and sqlstate:
        return say("cli.error_class_sqlstate", error_class=error_class, sqlstate=sqlstate, line=line)
    if error_class:
        return say("cli.error_class", error_class=error_class, line=line)
    return (
        say("cli.error_sqlstate", sqlstate=sqlstate, line=line)
        if sqlstate
        else say("cli.error_line", line=line)
    )


def _others(answer: Explanation) -> list[str]:
    if not answer.others:
        return []
    return [
        "",
        say("cli.other_errors"),
        *(
            "  "
            + say(
                "cli.other_error",
                line=other.line,
                name=clean(other.name),
                message=clean(other.message, 200),
            )
            for other in answer.others[:8]
        ),
    ]


VERB = Verb("explain", add_arguments, run)
