"""``python -m core recover``: the recovery options and their impact, and the plan and code of one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import PurePath

from core.analysis.forecast import Query
from core.checkpoint import Checkpoint
from core.checkpoint.lost import lost_checkpoint
from core.documents.recover import recover_document
from core.errors import UsageError
from core.judgement import judge
from core.messages import say
from core.messages.words import CERTAINTY
from core.recovery import (
    OPTION_IDS,
    Advice,
    Answers,
    CodeBlock,
    DeletionImpact,
    Option,
    OptionId,
    Question,
    RecoveryContext,
    forms,
    generate,
    options,
    plan,
    questions,
    why_no_code,
)
from core.recovery.asked_query import asked_query
from core.recovery.code import BESIDE, FORMS, Form
from core.recovery.places import platform_of
from core.settings import Settings
from core.verbs import Answer, Verb
from core.verbs._connectors import add_connector_options, connectors_of, impact_lines
from core.verbs._query import add_spark_option
from core.verbs._text import clean, listed_files
from core.verbs._to_file import write_new_file


def add_arguments(parser: ArgumentParser) -> None:
    """What ``recover`` takes beside the location."""
    parser.add_argument("--option", choices=OPTION_IDS, help=say("verb_recover.option_help"))
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="answers",
        help=say("verb_recover.set_help"),
    )
    parser.add_argument("--form", choices=FORMS, help=say("verb_recover.form_help"))
    parser.add_argument("--to", metavar="FILE", help=say("verb_recover.to_help"))
    parser.add_argument("--without-checkpoint", action="store_true", help=say("verb_recover.lost_help"))
    add_spark_option(parser)
    add_connector_options(parser)


def run(args: Namespace, settings: Settings) -> Answer:
    """Questions and options; with ``--option`` also its plan and code, with ``--form`` only that form."""
    answers = Answers.parse(args.answers)
    if args.option is None and (args.form is not None or args.to is not None):
        raise UsageError(say("verb_recover.needs_option"))
    if args.location is None and not args.without_checkpoint:
        raise UsageError(say("verb_recover.needs_location"))
    lost = args.without_checkpoint
    ck = lost_checkpoint(args.location, settings) if lost else Checkpoint.open(args.location, settings)
    query = asked_query(ck, answers, Query())
    ends = connectors_of(ck, args, query.topics)
    judgement = judge(ck, ends, spark=args.spark, query=query)
    context, impacts = judgement.recovery(answers), judgement.impacts_at(answers.get("sink"))
    lines = _form(context, args.option, args.form) if args.form else _text(context, args.option, impacts)
    if args.to is not None:
        lines = _written(context, args)
    return Answer(
        recover_document(context, args.option, impacts, args.form),
        "\n".join(lines) + "\n",
        not_read=judgement.not_read,
    )


def _form(context: RecoveryContext, chosen: OptionId, kind: Form) -> list[str]:
    """One form and nothing else, to be piped; several files with their names between them."""
    blocks = _of_form(context, chosen, kind)
    if len(blocks) == 1:
        return [blocks[0].text.rstrip("\n")]
    return [line for block in blocks for line in (f"----- {block.file_name}", block.text)]


def _of_form(context: RecoveryContext, chosen: OptionId, kind: Form) -> list[CodeBlock]:
    """The pieces of one form; wrong usage when there are none."""
    made = forms(context, chosen)
    blocks = [block for block in made if block.form == kind]
    if blocks:
        return blocks
    if any(block.form == "file" for block in made):
        raise UsageError(say("verb_recover.no_such_form", form=kind))
    raise UsageError(say("verb_recover.no_code", why=clean(why_no_code(context, chosen), 2000)))


def _written(context: RecoveryContext, args: Namespace) -> list[str]:
    """Writes one form (the file to run, unless another was asked for) and says where it is."""
    kind: Form = args.form or "file"
    blocks = _of_form(context, args.option, kind)
    named = [each for each in blocks if each.file_name == PurePath(args.to).name]
    of_platform = [each for each in blocks if each.platform == platform_of(context)]
    chosen = named or [each for each in of_platform if each.file_name not in BESIDE]
    if len(chosen) != 1 and not named:
        raise UsageError(say("verb_recover.to_which", names=[each.file_name for each in blocks]))
    sources = [source.path_guess for source in context.sources]
    answered = [context.answers.get("sink_path"), context.answers.get("checkpoint_new")]
    places = [context.url, args.sink, *answered, *sources]
    path = write_new_file(chosen[0].text, args.to, places)
    return [say("verb_recover.written", path=clean(path, 400), title=chosen[0].title)]


def _text(context: RecoveryContext, chosen: OptionId | None, impacts: Sequence[DeletionImpact]) -> list[str]:
    lines = _forecast(context)
    lines += _snippet(context, chosen) if chosen is not None else []
    lines += impact_lines(impacts)
    lines += [say("verb_recover.questions_title")]
    asked = questions(context)
    for question in asked:
        values = ", ".join(choice.value for choice in question.choices)
        if question.id == "stateful":  # whose values say little by themselves
            values = "; ".join(f"{choice.value}: {choice.label}" for choice in question.choices)
        lines.append(f"  {question.id}: {question.text} {_answer(question)} [{values}]")
    found = options(context)
    if (deciding := Advice.of(context, found=found, asked=asked).question) is not None:
        lines.append(f"  {say('recovery.decided_by', question=deciding.id)}:")
        for leading, choices in deciding.leads_to.items():
            answers = ", ".join(choice.value for choice in choices)
            lines.append(f"    {say('recovery.leads_to', title=leading, answers=answers)}")
    shown = [option for option in found if chosen in (None, option.id)]
    for option in shown:
        lines += ["", *_option(option)]
    if chosen is not None and shown[0].possible:
        lines += ["", *_plan(context, chosen), "", *_code(context, chosen)]
    return lines


def _forecast(context: RecoveryContext) -> list[str]:
    """What the next start does as things are; nothing without a checkpoint to forecast."""
    answer = context.forecast
    if answer is None:
        return []
    why, files = clean(answer.because, 1000), listed_files(answer.evidence)
    because = say("cli.because", certainty=CERTAINTY[answer.certainty], why=why, files=files)
    lines = [clean(answer.sentence, 2000), f"  {because}"]
    if answer.not_checked:
        lines += [say("cli.not_checked"), *(f"  {clean(item, 400)}" for item in answer.not_checked)]
    return [*lines, ""]


def _snippet(context: RecoveryContext, chosen: OptionId) -> list[str]:
    """What to paste comes first; every value in it is an escaped literal."""
    return [
        line
        for block in forms(context, chosen)
        if block.form == "snippet"
        for line in (f"----- {block.title}", block.text)
    ]


def _answer(question: Question) -> str:
    if not question.answer:
        return say("verb_recover.not_answered")
    answer = clean(question.answer)
    if not question.from_checkpoint:
        return answer
    if question.id == "sink":
        return say("verb_recover.from_sink", answer=answer)
    return say("verb_recover.from_checkpoint", answer=answer)


def _option(option: Option) -> list[str]:
    mark = "possible" if option.possible else "not possible"
    if option.recommended:
        mark = say("verb_recover.recommended", reason=clean(option.reason, 1000))
    title = say("verb_recover.option_title", title=option.title, option=option.id, mark=mark)
    lines = [title, f"  {clean(option.why, 2000)}"]
    if not option.possible:
        return lines  # what it would cost is said of no option that cannot be taken
    cells = {
        "complexity": option.complexity,
        "cost": option.cost,
        "data loss": option.loss,
        "duplicates": option.duplicates,
        "needs initial snapshot": option.initial_snapshot,
        "full table reset": option.full_reset,
    }
    for name, cell in cells.items():
        text = clean(cell.text, 2000)
        lines.append(f"  {name:<24} {say('verb_recover.corrected', text=text) if cell.corrected else text}")
    yours = [each for each in option.consequences if each.is_yours]
    for each in yours or option.consequences:
        lines.append(f"  {say('verb_recover.your_sink', sink=each.label) if each.is_yours else each.label}")
        lines += [
            f"    repeats         {clean(each.repeats, 2000)}",
            f"    loses           {clean(each.loses, 2000)}",
            f"    common mistake  {clean(each.trap, 2000)}",
        ]
    return lines


def _plan(context: RecoveryContext, chosen: OptionId) -> list[str]:
    option = next(each for each in options(context) if each.id == chosen)
    made = plan(context, option.recipe)
    lines = ["Plan"] + [
        f"  {number}. {clean(f'{step.title} {step.why}', 4000)}" for number, step in enumerate(made.steps, 1)
    ]
    lines += [f"  {say('verb_recover.caution', sentence=clean(each, 2000))}" for each in made.caution]
    return lines if made.steps else []


def _code(context: RecoveryContext, chosen: OptionId) -> list[str]:
    blocks = generate(context, chosen)
    lines: list[str] = (
        [] if blocks else [say("verb_recover.no_code", why=clean(why_no_code(context, chosen), 2000))]
    )
    for block in blocks:
        # Every value in the text is an escaped literal, so it can be printed as it is.
        lines += [f"----- {block.title} ({block.file_name})", block.own_text]
        if block.own_text != block.text:
            lines += [say("verb_recover.kit_folded"), ""]
    if forms(context, chosen):
        lines.append(say("verb_recover.other_forms"))
    return lines


VERB = Verb("recover", add_arguments, run)
