"""The answer of ``python -m core recover``: questions, options, and the plan and code of a chosen option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.documents.base import Document, Part, Texts
from core.documents.forecast import ImpactPart, impact_parts
from core.recovery import (
    Cell,
    CodeBlock,
    DeletionImpact,
    Option,
    OptionId,
    Question,
    RecoveryContext,
    forms,
    options,
    plan,
    questions,
    why_no_code,
)
from core.recovery.code import Form, Language
from core.recovery.model import Level
from core.recovery.places import Platform
from core.recovery.sinks import Behaviour


@dataclass(frozen=True, kw_only=True, slots=True)
class RuledOutPart(Part):
    """An option that an answer rules out."""

    option: OptionId
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionPart(Part):
    """A question that decides which options are possible."""

    id: str
    text: str
    choices: Texts
    answer: str | None
    from_checkpoint: bool
    """The answer is known without being given."""
    why: str
    rules_out: Mapping[str, tuple[RuledOutPart, ...]]
    """By choice; choices that rule nothing out are absent."""
    leads_to: Mapping[str, OptionId]
    """By choice, the option that is recommended with it; empty when the answer does not decide that."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CellPart(Part):
    """One property of an option: common advice, and what is true of this checkpoint."""

    general: str
    facts: str
    corrected: bool
    """The facts contradict the common advice."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CellsPart(Part):
    """The properties of an option."""

    complexity: CellPart
    cost: CellPart
    potential_data_loss: CellPart
    potential_duplicates: CellPart
    needs_initial_snapshot: CellPart
    full_reset_of_the_table: CellPart


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsequencePart(Part):
    """What an option repeats and loses at one kind of sink."""

    sink: Behaviour
    repeats: str
    loses: str
    trap: str
    """What the common mistake would do."""
    yours: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionPart(Part):
    """One recovery option for this checkpoint."""

    id: OptionId
    title: str
    possible: bool
    why: str
    complexity: Level
    cost: str
    loses: str
    repeats: str
    needs_full_source: bool
    recommended: bool
    reason: str
    """Why it is recommended; empty for the others."""
    cells: CellsPart
    consequences: tuple[ConsequencePart, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanStepPart(Part):
    """One thing to do, and why."""

    title: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class BeforeAfterPart(Part):
    """One source: its position in this checkpoint and its start in the new one."""

    source: str
    before: Mapping[str, object]
    after: Mapping[str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanPart(Part):
    """What the code of the chosen option does, in order."""

    option: OptionId
    steps: tuple[PlanStepPart, ...]
    before_after: tuple[BeforeAfterPart, ...]
    caution: Texts


@dataclass(frozen=True, kw_only=True, slots=True)
class CodePart(Part):
    """One piece of code to copy or download."""

    kind: Form
    """``snippet``: what a person pastes, at most 25 lines; ``file``: ready to run; ``runbook``: Markdown;
    ``plan``: JSON."""
    platform: Platform
    language: Language
    title: str
    file_name: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RecoverDocument(Document):
    """The recovery options; with ``--option`` also the plan and the code of one."""

    answers: Mapping[str, str]
    questions: tuple[QuestionPart, ...]
    options: tuple[OptionPart, ...]
    """The recommended one first, impossible ones last."""
    plan: PlanPart | None
    code: tuple[CodePart, ...]
    price_of_deleting: tuple[ImpactPart, ...]
    """The impact of deleting the checkpoint; empty when no batch was planned."""
    no_code: str
    """Why there is no file to run for the chosen option."""
    not_checked: Texts = ()
    """What the forecast of the plain start, which the options follow, did not look at."""


def recover_document(
    context: RecoveryContext,
    option: OptionId | None = None,
    impacts: Sequence[DeletionImpact] = (),
    kind: Form | None = None,
) -> RecoverDocument:
    """Everything that is needed to choose. Without ``option`` the plan is null and the code empty; with
    ``kind`` the code is only of that form."""
    found = options(context)
    chosen = next((each for each in found if each.id == option), None)
    blocks = forms(context, option) if option is not None else ()
    return RecoverDocument(
        location=context.url,
        answers=context.answers.values,
        questions=tuple(_question(question) for question in questions(context)),
        options=tuple(_option(each) for each in found),
        plan=_plan(context, chosen) if chosen is not None and chosen.possible else None,
        code=tuple(_code(block) for block in blocks if kind in (None, block.form)),
        price_of_deleting=impact_parts(impacts),
        no_code=why_no_code(context, option) if option is not None else "",
        not_checked=context.forecast.not_checked if context.forecast is not None else (),
    )


def _question(question: Question) -> QuestionPart:
    return QuestionPart(
        id=question.id,
        text=question.text,
        choices=tuple(choice.value for choice in question.choices),
        answer=question.answer,
        from_checkpoint=question.from_checkpoint,
        why=question.why,
        rules_out={
            choice.value: tuple(RuledOutPart(option=option, why=why) for option, why in choice.rules_out)
            for choice in question.choices
            if choice.rules_out
        },
        leads_to={
            choice.value: option for option, choices in question.leads_to.items() for choice in choices
        },
    )


def _cell(cell: Cell) -> CellPart:
    return CellPart(general=cell.general, facts=cell.facts, corrected=cell.corrected)


def _option(option: Option) -> OptionPart:
    return OptionPart(
        id=option.id,
        title=option.title,
        possible=option.possible,
        why=option.why,
        complexity=option.level,
        cost=option.cost.text,
        loses=option.loses,
        repeats=option.repeats,
        needs_full_source=option.needs_full_source,
        recommended=option.recommended,
        reason=option.reason,
        cells=CellsPart(
            complexity=_cell(option.complexity),
            cost=_cell(option.cost),
            potential_data_loss=_cell(option.loss),
            potential_duplicates=_cell(option.duplicates),
            needs_initial_snapshot=_cell(option.initial_snapshot),
            full_reset_of_the_table=_cell(option.full_reset),
        ),
        consequences=tuple(
            ConsequencePart(
                sink=each.behaviour,
                repeats=each.repeats,
                loses=each.loses,
                trap=each.trap,
                yours=each.is_yours,
            )
            for each in option.consequences
        ),
    )


def _plan(context: RecoveryContext, option: Option) -> PlanPart:
    made = plan(context, option.recipe)
    return PlanPart(
        option=made.option,
        steps=tuple(PlanStepPart(title=step.title, why=step.why) for step in made.steps),
        before_after=tuple(
            BeforeAfterPart(source=each.source, before=each.before, after=each.after)
            for each in made.before_after
        ),
        caution=made.caution,
    )


def _code(block: CodeBlock) -> CodePart:
    return CodePart(
        kind=block.form,
        platform=block.platform,
        language=block.language,
        title=block.title,
        file_name=block.file_name,
        text=block.text,
    )
