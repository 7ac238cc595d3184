"""What has to be known before anyone can choose: a few plain questions, answered by the checkpoint
where it tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from core.messages import say, say_of
from core.messages.recovery import (
    PLATFORMS,
    SINKS,
    SOURCE_COMPLETE,
    STATEFUL,
    STATEFUL_UNSEEN,
    WHAT_HAPPENED,
)
from core.recovery.answers import CHOICES, OPTION_IDS, Answers, OptionId
from core.recovery.context import RecoveryContext
from core.recovery.options import recommended
from core.recovery.recipe import recipe

LABELS: Mapping[str, Mapping[str, str]] = {
    "what_happened": WHAT_HAPPENED,
    "sink": SINKS,
    "source_complete": SOURCE_COMPLETE,
    "stateful": STATEFUL,
    "stateful_unseen": STATEFUL_UNSEEN,
    "platform": PLATFORMS,
}
"""The answers in words, by question and value; ``stateful`` has other words where no state is seen."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One possible answer. ``rules_out``: the options that this answer makes impossible, each with the
    reason. ``leads_to``: the option that is recommended with it, None where none is or it was not tried."""

    value: str
    label: str
    rules_out: tuple[tuple[OptionId, str], ...]
    leads_to: OptionId | None

    @property
    def effect(self) -> str:
        """What the answer rules out, in one line; empty when nothing."""
        return " ".join(
            say("recovery.rules_out", title=say_of("recovery", "TITLES", option), why=why)
            for option, why in self.rules_out
        )


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``answer`` is what was answered, or what the checkpoint tells (``from_checkpoint``, with
    ``why``), else None."""

    id: str
    text: str
    choices: tuple[Choice, ...]
    answer: str | None
    from_checkpoint: bool
    why: str

    @property
    def leads_to(self) -> dict[OptionId, tuple[Choice, ...]]:
        """The answers by the option that is recommended with them; empty when the question is answered, or
        when its answer decides nothing."""
        found: dict[OptionId, tuple[Choice, ...]] = {}
        for choice in self.choices if self.answer is None else ():
            if choice.leads_to is not None:
                found[choice.leads_to] = (*found.get(choice.leads_to, ()), choice)
        return found if len(found) > 1 else {}


def first_deciding(asked: tuple[Question, ...]) -> Question | None:
    """The first open question whose answer decides which option is recommended. Where the query runs decides
    nothing once its sink is known: a pipeline writes its own tables."""
    sink = next((question.answer for question in asked if question.id == "sink"), None)
    is_no_pipeline = sink not in (None, "lakeflow_table", "other")
    found = (question for question in asked if not (is_no_pipeline and question.id == "platform"))
    return next((question for question in found if question.leads_to), None)


def questions(context: RecoveryContext) -> tuple[Question, ...]:
    """The questions for this checkpoint, in the order to ask."""
    asked = ["sink", "source_complete"] if context.is_lost else ["what_happened", "sink", "source_complete"]
    may_be_gone = context.is_state_lost or context.what_happened == "damaged"
    if context.has_state or may_be_gone or context.answers.get("stateful") is not None:
        asked.append("stateful")
    asked.append("platform")
    return tuple(_question(context, question) for question in asked)


def _question(context: RecoveryContext, question: str) -> Question:
    given = context.answers.get(question)
    known, why = _known(context, question)
    if question == "source_complete" and context.lacks_records:
        given = None  # what the source itself says counts
    answer = given or known
    return Question(
        question,
        say_of("recovery", "QUESTIONS", _wording(context, question)),
        tuple(_choices(context, question)),
        answer,
        given is None and known is not None,
        why if given is None else "",
    )


def _wording(context: RecoveryContext, question: str) -> str:
    """Whose words a question has. Where the files show no state, "it does not change" would be the answer of
    a query that keeps none."""
    is_unseen = question == "stateful" and not context.has_state and not context.is_state_loss_seen
    return "stateful_unseen" if is_unseen else question


def _choices(context: RecoveryContext, question: str) -> Iterator[Choice]:
    """What happened decides which option comes first and rules none out: to try its answers would decode the
    state, which is done once somebody says that it is damaged."""
    is_tried = question != "what_happened"
    before = _tried(_answered(context, question, None))[0] if is_tried else {}
    for value in CHOICES[question]:
        after, first = _tried(_answered(context, question, value)) if is_tried else ({}, None)
        out = tuple((option, why) for option, why in after.items() if option not in before)
        yield Choice(value, LABELS[_wording(context, question)][value], out, first)


def _tried(context: RecoveryContext) -> tuple[dict[OptionId, str], OptionId | None]:
    """The options that are impossible, each with the reason, and the recommended one."""
    recipes = {option: recipe(context, option) for option in OPTION_IDS}
    impossible = {option: made.why for option, made in recipes.items() if not made.possible}
    return impossible, recommended(context, recipes)[0]


def _known(context: RecoveryContext, question: str) -> tuple[str | None, str]:
    """What the checkpoint or the sink answers, and how it is known."""
    if question == "what_happened":
        return None, say("recovery.what_happened_not_known")
    if question == "source_complete":
        known = context.known_source_complete
        if known is None:
            return None, say("recovery.source_not_known")
        if context.lacks_records:
            return known, context.lacks_records
        return known, say("recovery.never_replayed" if known == "no" else "recovery.always_replayed")
    if question == "stateful":
        return None, say("recovery.state_found", n=len(context.operators)) if context.has_state else ""
    if question == "platform":
        if context.sink == "lakeflow_table":
            return "lakeflow", say("recovery.lakeflow_by_sink")
        return None, ""
    if context.seen_sink is not None:
        return context.seen_sink, context.seen_sink_why
    return None, say("recovery.sink_not_known")


def _answered(context: RecoveryContext, question: str, value: str | None) -> RecoveryContext:
    values = {key: old for key, old in context.answers.values.items() if key != question}
    if value is not None:
        values[question] = value
    return replace(context, answers=Answers(values))
