"""``python -m core recover``: the ways out of a broken pipeline with their price, and the plan and code of
the chosen one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from core.checkpoint import Checkpoint
from core.documents.recover import recover_document
from core.judgement import judge
from core.recovery import (
    OPTION_IDS,
    Answers,
    DeletionImpact,
    Option,
    OptionId,
    RecoveryContext,
    generate,
    options,
    plan,
    questions,
    why_no_code,
)
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._connectors import add_connector_options, connectors_of, impact_lines
from core.verbs._text import clean


def add_arguments(parser: ArgumentParser) -> None:
    """What ``recover`` takes beside the location."""
    parser.add_argument("--option", choices=OPTION_IDS, help="print the plan and the code of this option")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="answers",
        help="an answer, for example sink=file",
    )
    add_connector_options(parser)


def run(args: Namespace, settings: Settings) -> Answer:
    """Questions and options; with ``--option`` also its plan and code."""
    answers = Answers.parse(args.answers)
    ck = Checkpoint.open(args.location, settings)
    judgement = judge(ck, connectors_of(ck, args))
    context, impacts = judgement.recovery(answers), judgement.impacts
    return Answer(
        recover_document(context, args.option, impacts),
        "\n".join(_text(context, args.option, impacts)) + "\n",
    )


def _text(context: RecoveryContext, chosen: OptionId | None, impacts: Sequence[DeletionImpact]) -> list[str]:
    lines = impact_lines(impacts)
    lines += ["Questions (answer with --set)"]
    for question in questions(context):
        told = (
            f" (from the {'sink' if question.id == 'sink' else 'checkpoint'})"
            if question.from_checkpoint
            else ""
        )
        given = f"{question.answer}{told}" if question.answer else "not answered"
        lines.append(
            f"  {question.id}: {question.text} {clean(given)}"
            f" [{', '.join(choice.value for choice in question.choices)}]"
        )
    for option in options(context):
        if chosen in (None, option.id):
            lines += ["", *_option(option)]
    if chosen is not None:
        lines += ["", *_plan(context, chosen), "", *_code(context, chosen)]
    return lines


def _option(option: Option) -> list[str]:
    mark = (
        "recommended: " + option.reason
        if option.recommended
        else "can be done"
        if option.possible
        else "cannot be done"
    )
    lines = [f"{option.title} (--option {option.id}): {clean(mark, 1000)}", f"  {clean(option.why, 2000)}"]
    cells = {
        "complexity": option.complexity,
        "cost": option.cost,
        "data loss": option.loss,
        "duplicates": option.duplicates,
        "needs initial snapshot": option.initial_snapshot,
        "full reset of the table": option.full_reset,
    }
    lines += [
        f"  {name:<24} {clean(cell.text, 2000)}{' [corrected for this checkpoint]' if cell.corrected else ''}"
        for name, cell in cells.items()
    ]
    for each in option.consequences:
        lines.append(f"  {each.label}{' (yours)' if each.is_yours else ''}")
        lines += [
            f"    repeats  {clean(each.repeats, 2000)}",
            f"    loses    {clean(each.loses, 2000)}",
            f"    beware   {clean(each.trap, 2000)}",
        ]
    return lines


def _plan(context: RecoveryContext, chosen: OptionId) -> list[str]:
    option = next(each for each in options(context) if each.id == chosen)
    made = plan(context, option.recipe)
    lines = ["Plan"] + [
        f"  {number}. {clean(f'{step.title} {step.why}', 4000)}" for number, step in enumerate(made.steps, 1)
    ]
    lines += [f"  Mind: {clean(sentence, 2000)}" for sentence in made.caution]
    return lines if made.steps else []


def _code(context: RecoveryContext, chosen: OptionId) -> list[str]:
    blocks = generate(context, chosen)
    lines = [] if blocks else [f"No code: {clean(why_no_code(context, chosen), 2000)}"]
    for block in blocks:
        # Every value in the text is an escaped literal, so it can be printed as it is.
        lines += [f"----- {block.title} ({block.file_name})", block.text]
    return lines


VERB = Verb(
    "recover", "the ways out with their price, and the plan and code of the chosen one", add_arguments, run
)
