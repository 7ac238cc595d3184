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
from core.messages.words import CERTAINTY
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._text import clean

NEWEST_READ = 20  # log entries: enough for the newest batches, which an error is about
LARGEST_READ = (
    4 * LONGEST_TEXT
)  # bytes from each end of a file; the translator itself looks at LONGEST_TEXT characters
_SHOWN = {
    "yes": "the files show it",
    "no": "the files do not show it (any more)",
    "unknown": "the files cannot tell",
}


def add_arguments(parser: ArgumentParser) -> None:
    """What ``explain`` takes beside the location."""
    parser.add_argument(
        "--error",
        required=True,
        metavar="FILE",
        help="a file with the error or stack trace; - reads it from standard input",
    )


def run(args: Namespace, settings: Settings) -> Answer:
    """Explains; the problem (exit status 1) is a text in which no error was recognised."""
    text = _read(args.error)
    ck = Checkpoint.open(args.location, settings, newest=NEWEST_READ)
    answer = explain(text, ck)
    return Answer(
        explain_document(ck, answer), "\n".join(_text(answer)) + "\n", has_problems=answer.name is None
    )


def _read(place: str) -> str:
    """The text; of a very large file only its beginning and its end. Raises UsageError."""
    try:
        data = sys.stdin.buffer.read() if place == "-" else _ends_of(Path(place))
    except OSError as error:
        raise UsageError(
            f"--error {clean(place)} cannot be read ({error.strerror}); give a file with the error, or - for"
            " standard input."
        ) from error
    if not data.strip():
        raise UsageError(f"--error {clean(place)} is empty; paste the whole error with its stack trace.")
    return data.decode("utf-8", "replace")


def _ends_of(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(LARGEST_READ)
        rest = path.stat().st_size - len(data)
        if rest > LARGEST_READ:
            file.seek(-LARGEST_READ, os.SEEK_END)
        return data + file.read()


def _text(answer: Explanation) -> list[str]:
    if answer.name is None:
        return [clean(answer.sentence, 1000), f"  what to do: {clean(answer.action, 600)}", *_others(answer)]
    what = ", ".join(
        filter(
            None,
            (
                answer.error_class,
                f"SQLSTATE {answer.sqlstate}" if answer.sqlstate else "",
                f"line {answer.line}",
            ),
        )
    )
    lines = [
        f"{clean(answer.name)} ({clean(what)}; {CERTAINTY[answer.certainty]})",
        f"  {clean(answer.means, 1000)}",
        f"  the text: {clean(answer.message, 400)}",
    ]
    lines += [
        "",
        (
            "In this checkpoint"
            f" ({'it is of another query' if answer.other_checkpoint else _SHOWN[answer.shown]})"
        ),
    ]
    for statement in answer.here:
        proof = ", ".join(map(str, statement.evidence))
        lines.append(
            f"  {clean(statement.sentence, 1000)} ({CERTAINTY[statement.certainty]})"
            + (f" [{clean(proof, 300)}]" if proof else "")
        )
    if answer.unseen:
        lines.append(f"  cannot be seen from the files: {clean(answer.unseen, 400)}")
    if answer.reasons:
        lines += [
            "",
            "Likely reasons, the first first",
            *(f"  {clean(reason, 600)}" for reason in answer.reasons),
        ]
    lines += ["", "What to do", f"  {clean(answer.action, 1000)}"]
    lines += [f"  {option}: {OPTION_TITLES[option]}" for option in answer.options]
    lines += _others(answer)
    if answer.not_checked:
        lines += ["", "Not checked", *(f"  {clean(item, 400)}" for item in answer.not_checked)]
    if answer.is_cut:
        lines += ["", f"The text is longer than {LONGEST_TEXT:,} characters: its middle was not looked at."]
    return lines


def _others(answer: Explanation) -> list[str]:
    if not answer.others:
        return []
    return [
        "",
        "Other errors in the text",
        *(
            f"  line {other.line}: {clean(other.name)}: {clean(other.message, 200)}"
            for other in answer.others[:8]
        ),
    ]


VERB = Verb(
    "explain", "what an error or a stack trace means for this checkpoint, and what to do", add_arguments, run
)
