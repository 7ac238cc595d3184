"""What has to be known before anyone can choose: a few plain questions, answered by the checkpoint
where it tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from core.messages import say, say_of
from core.messages.recovery import PLATFORMS, SINKS, SOURCE_COMPLETE, STATEFUL, WHAT_HAPPENED
from core.recovery.answers import CHOICES, OPTION_IDS, Answers, OptionId
from core.recovery.context import RecoveryContext
from core.recovery.recipe import recipe

LABELS: Mapping[str, Mapping[str, str]] = {
    "what_happened": WHAT_HAPPENED,
    "sink": SINKS,
    "source_complete": SOURCE_COMPLETE,
    "stateful": STATEFUL,
    "platform": PLATFORMS,
}
"""The answers in words, by question and value."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One possible answer. ``rules_out``: the options that this answer makes impossible, each with the
    reason."""

    value: str
    label: str
    rules_out: tuple[tuple[OptionId, str], ...]

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
    answer = given or known
    return Question(
        question,
        say_of("recovery", "QUESTIONS", question),
        tuple(_choices(context, question)),
        answer,
        given is None and known is not None,
        why if given is None else "",
    )


def _choices(context: RecoveryContext, question: str) -> Iterator[Choice]:
    """What happened decides which option comes first and rules none out: to try its answers would decode the
    state, which is done once somebody says that it is damaged."""
    is_tried = question != "what_happened"
    before = _impossible(_answered(context, question, None)) if is_tried else {}
    for value in CHOICES[question]:
        after = _impossible(_answered(context, question, value)) if is_tried else {}
        out = tuple((option, why) for option, why in after.items() if option not in before)
        yield Choice(value, LABELS[question][value], out)


def _impossible(context: RecoveryContext) -> dict[OptionId, str]:
    recipes = [recipe(context, option) for option in OPTION_IDS]
    return {made.option: made.why for made in recipes if not made.possible}


def _known(context: RecoveryContext, question: str) -> tuple[str | None, str]:
    """What the checkpoint or the sink answers, and how it is known."""
    if question == "what_happened":
        return None, say("recovery.what_happened_not_known")
    if question == "source_complete":
        known = context.known_source_complete
        if known is None:
            return None, say("recovery.source_not_known")
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
