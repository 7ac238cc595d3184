"""What to do, in one sentence that is the same wherever it stands: the recommended option, or which answer
decides between which options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.analysis.findings import Finding
from core.analysis.findings.liveness import just_planned
from core.checkpoint import Checkpoint
from core.messages import say, say_of
from core.messages.recovery import GIVEN, NAMES
from core.recovery.answers import Answers
from core.recovery.context import RecoveryContext
from core.recovery.options import Option, options
from core.recovery.questions import Question, first_deciding, questions
from core.recovery.repairs.repair_files import unless_held


@dataclass(frozen=True, slots=True)
class Advice:
    """``option`` is recommended so far, None where none is. ``question`` is open, and its answer decides
    which option is recommended; None where none does. ``first``: what a person has to do outside of the
    checkpoint before any option helps; empty where nothing. ``running``: a query may be running, which has to
    be stopped first; empty where nothing shows that. ``is_nothing``: no fault is known, so that a start needs
    nothing. ``condition``: what has to be looked at before the option is taken; empty where nothing."""

    option: Option | None
    question: Question | None
    first: str = ""
    running: str = ""
    is_nothing: bool = False
    condition: str = ""

    @classmethod
    def of(
        cls,
        context: RecoveryContext,
        findings: Iterable[Finding] = (),
        *,
        found: Sequence[Option] | None = None,
        asked: tuple[Question, ...] | None = None,
    ) -> Advice:
        """What to do about this checkpoint. ``findings``: of its check; one that blocks the restart and leads
        to no option, because only a person can act (a table that is not there), comes first. ``found`` and
        ``asked``: the options and questions of this context, where somebody has them."""
        best = next((each for each in found or options(context) if each.recommended), None)
        is_start = best is not None and best.id == "restart"  # which needs no answer
        deciding = None if is_start else first_deciding(asked or questions(context))
        found_here = tuple(findings)
        blocking = next((item for item in found_here if item.severity == "blocks_restart"), None)
        first = blocking.action if blocking is not None and blocking.recipe is None else ""
        is_nothing = is_start and _is_in_order(context, found_here)
        named = set(deciding.leads_to) if deciding is not None else {best.id if best is not None else None}
        condition = _condition(context) if "repair_files" in named else ""
        return cls(best, deciding, first, _running(context.ck), is_nothing, condition)

    @property
    def sentence(self) -> str:
        """What to do."""
        return " ".join(part for part in (self.running, self.first or self.of_recovery) if part)

    @property
    def of_recovery(self) -> str:
        """The option, or the options by the answer that decides, and what they depend on."""
        return " ".join(part for part in (self._by_answer, self.condition) if part)

    @property
    def _by_answer(self) -> str:
        if self.question is not None:
            return say(
                "recovery.advice_depends", about=_about(self.question), ways=" ".join(_ways(self.question))
            )
        if self.option is None:
            return say("recovery.advice_none")
        if self.is_nothing:
            return say("recovery.advice_nothing_else" if self.running else "recovery.advice_nothing")
        return say("recovery.advice", title=self.option.title.rstrip("."))


def _condition(context: RecoveryContext) -> str:
    """What a repair of single files depends on."""
    batch = unless_held(context)
    return say("recovery.advice_if_not_held", batch=batch) if batch is not None else ""


def _running(ck: Checkpoint) -> str:
    """What to do about a query that may be running, or that was when the evidence was taken; empty where
    nothing shows one."""
    planned = just_planned(ck, of_evidence=True)
    if planned is None:
        return ""
    if ck.door.evidence is not None:
        return say("recovery.may_have_run", batch=planned.batch_id, age_ms=planned.age_ms)
    return say("recovery.may_run", batch=planned.batch_id, age_ms=planned.age_ms)


def _is_in_order(context: RecoveryContext, findings: Sequence[Finding]) -> bool:
    """Whether neither the files nor the user know of a fault that matters to a start, and no batch is left
    over from one."""
    start = context.forecast
    if start is None or start.outcome not in ("resume", "fresh_start") or start.certainty == "needs_input":
        return False
    is_told = context.what_happened is not None or context.stateful != "unchanged"
    is_serious = any(item.severity in ("blocks_restart", "data_risk") for item in findings)
    return not (is_told or start.risks or is_serious)


def by_answers(answers: Answers) -> str:
    """Which answers the advice rests on; empty where none was given."""
    given = [
        say_of("recovery", "GIVEN", name, answer=NAMES.get(name, {}).get(value) or value.replace("_", " "))
        for name, value in answers.values.items()
        if name in GIVEN
    ]
    return say("recovery.by_answers", given=given) if given else ""


def _about(question: Question) -> str:
    return say_of("recovery", "DECIDES", question.id)


def _ways(question: Question) -> Iterable[str]:
    names = NAMES[question.id]
    for option, choices in question.leads_to.items():
        answers = ", ".join(names[choice.value] for choice in choices)
        yield say("recovery.advice_way", answers=answers, title=say_of("recovery", "TITLES", option))
